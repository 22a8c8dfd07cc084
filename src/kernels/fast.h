/* fast.h -- names and prototypes of the fast kernels.
 *
 * Every *_fast.c is one text compiled once for each instruction set, with
 * -DVT_ISA=portable, avx2, avx512, neon or wasm; FAST(gelu_forward) is then
 * fast_gelu_forward_avx512.  ops_fast.c puts one set's kernels into a table,
 * ops.c picks a table.  What a kernel means, ops.h says; how it is cut into
 * tasks and why it is right, its own file.
 *
 * A kernel that needs scratch memory says so in its FAST(NAME_scratch), which
 * raises *worker and *shared (bytes) to what it needs at these sizes, by
 * fast_raise; ops_fast.c calls them all.  Dimensions are >= 1 except P.
 */
#ifndef FAST_H
#define FAST_H

#include <stddef.h>
#include "base/threads.h"
#include "kernels/ops.h"

#define FAST_PASTE(name, isa)  fast_##name##_##isa
#define FAST_EXPAND(name, isa) FAST_PASTE(name, isa)
#define FAST(name)             FAST_EXPAND(name, VT_ISA)
#define FAST_STRING(isa)       #isa
#define FAST_QUOTE(isa)        FAST_STRING(isa)
#define FAST_ISA               FAST_QUOTE(VT_ISA)   /* "avx512" */

/* Whether this build trains: what only a backward pass needs is left out of a page's
 * module, which has to be small. */
#ifdef VT_INFERENCE
enum { FAST_BACKWARD = 0 };
#else
enum { FAST_BACKWARD = 1 };
#endif

/* One set: its table and its need of scratch memory. */
typedef struct fast_set {
    ops table;
    void (*scratch)(const ops_sizes *z, size_t *worker, size_t *shared);
} fast_set;

extern const fast_set fast_set_portable, fast_set_avx2, fast_set_avx512, fast_set_neon,
                      fast_set_wasm;

/* *at = max(*at, count * bytes), SIZE_MAX where that does not fit. */
static inline void fast_raise(size_t *at, size_t count, size_t bytes)
{
    size_t n;
    if (!size_mul(count, bytes, &n)) n = (size_t)-1;
    if (n > *at) *at = n;
}

#ifdef VT_ISA
void FAST(embedding_forward)(team *, float *out, const int *tokens,
                             const float *wte, const float *wpe,
                             int B, int T, int P, int C);
void FAST(embedding_backward)(team *, float *dwte, float *dwpe,
                              const float *dout, const int *tokens,
                              int B, int T, int P, int C);

void FAST(layernorm_forward)(team *, float *out, float *mean, float *rstd,
                             const float *x, const float *w, const float *b,
                             int N, int C);
void FAST(layernorm_backward)(team *, float *dx, float *dw, float *db,
                              const float *dout, const float *x, const float *w,
                              const float *mean, const float *rstd, int N, int C);
void FAST(layernorm_scratch)(const ops_sizes *z, size_t *worker, size_t *shared);

void FAST(linear_forward)(team *, float *out, const float *x, const float *w,
                          const float *bias, int N, int C, int OC);
void FAST(linear_backward)(team *, float *dx, float *dw, float *dbias,
                           const float *dout, const float *x, const float *w,
                           int N, int C, int OC);
void FAST(linear_gelu_forward)(team *, float *out, float *y, const float *x, const float *w,
                               const float *bias, int N, int C, int OC);
void FAST(linear_residual_forward)(team *, float *out, const float *a, const float *x,
                                   const float *w, const float *bias, int N, int C, int OC);
void FAST(linear_set_backward)(team *, float *dx, float *dw, float *dbias, const float *dout,
                               const float *x, const float *w, const float *pre,
                               int N, int C, int OC);
void FAST(tied_forward)(team *, float *out, const float *x, const float *w, int N, int C, int OC);
void FAST(tied_set_backward)(team *, float *dx, float *dw, const float *dout, const float *x,
                             const float *w, int N, int C, int OC);
void FAST(linear_scratch)(const ops_sizes *z, size_t *worker, size_t *shared);

void FAST(attention_forward)(team *, float *out, float *lse,
                             const float *q, size_t ldq,
                             const float *k, const float *v, size_t ldkv,
                             int B, int T, int P, int NH, int HS);
void FAST(attention_backward)(team *, float *dq, float *dk, float *dv,
                              const float *dout, const float *out, const float *lse,
                              const float *q, size_t ldq,
                              const float *k, const float *v, size_t ldkv,
                              int B, int T, int P, int NH, int HS);
void FAST(attention_scratch)(const ops_sizes *z, size_t *worker, size_t *shared);

void FAST(gelu_forward)(team *, float *out, const float *x, size_t n);
void FAST(gelu_backward)(team *, float *dx, const float *dout, const float *x, size_t n);

void FAST(residual_forward)(team *, float *out, const float *a, const float *b, size_t n);
void FAST(residual_backward)(team *, float *da, float *db, const float *dout, size_t n);

void FAST(crossentropy_forward)(team *, float *loss, float *lse,
                                const float *logits, const int *target,
                                float temperature, int N, int V);
void FAST(crossentropy_backward)(team *, float *dlogits, const float *dloss,
                                 const float *lse, const float *logits,
                                 const int *target, float temperature, int N, int V);

void FAST(crossentropy_learn)(team *, float *loss, float *lse, float *logits,
                              const float *dloss, const int *target, int N, int V);

void FAST(logit_extremes)(const float *x, size_t n, float *low, float *high, bool *odd);
size_t FAST(logits_between)(size_t *ids, const float *x, size_t n, float low, float high);
void FAST(weight_tally)(weight_range *ranges, const float *logits, size_t n, double max,
                        double temperature, int shift);

double FAST(sum_squares)(team *, const float *x, size_t n);
void   FAST(adamw)(team *, float *w, float *m, float *v, const float *g, size_t n,
                   float clip, float lr, float beta1, float beta2, float eps,
                   float decay, int t);
void   FAST(adamw_spans)(team *, float *w, float *m, float *v, float *g, size_t n,
                         const adamw_span *spans, size_t nspans, bool clear,
                         float clip, float lr, float beta1, float beta2, float eps, int t);
#endif

#endif

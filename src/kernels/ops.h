/* ops.h -- the table of float32 kernels that a trained model runs on.
 *
 * Three roles: the definition (ref.h's float compilation, the text to read),
 * the portable fast kernel, and the fast kernel of an instruction set.  Each set
 * has a whole table, compiled from one text; ops_pick() chooses one.  A kernel
 * takes a team of threads first (NULL: the caller
 * alone) and means exactly what the definition of the same name means: shapes,
 * argument order, what is written, what is added to.
 *
 * Results depend on the shape alone, never on the team's size.  No kernel
 * allocates: scratch memory comes from the team, which was made with at least
 * ops_scratch() of the sizes in use.  layernorm_backward and attention need it,
 * and so a team, be it of one thread.
 */
#ifndef OPS_H
#define OPS_H

#include <stdbool.h>
#include "base/threads.h"
#include "kernels/weights.h"

/* Weights from `begin` to where the next span begins. */
typedef struct adamw_span { size_t begin; float decay; } adamw_span;

typedef struct ops {
    const char *name;                       /* "portable", "avx2", "avx512", "neon" */

    /* x = wte[token] + wpe[P + t], (B, T, C) */
    void (*embedding_forward)(team *, float *out, const int *tokens,
                              const float *wte, const float *wpe,
                              int B, int T, int P, int C);
    void (*embedding_backward)(team *, float *dwte, float *dwpe,
                               const float *dout, const int *tokens,
                               int B, int T, int P, int C);

    void (*layernorm_forward)(team *, float *out, float *mean, float *rstd,
                              const float *x, const float *w, const float *b,
                              int N, int C);
    void (*layernorm_backward)(team *, float *dx, float *dw, float *db,
                               const float *dout, const float *x, const float *w,
                               const float *mean, const float *rstd, int N, int C);

    /* out = x W + bias, W (C, OC); bias, dbias may be NULL. */
    void (*linear_forward)(team *, float *out, const float *x, const float *w,
                           const float *bias, int N, int C, int OC);
    void (*linear_backward)(team *, float *dx, float *dw, float *dbias,
                            const float *dout, const float *x, const float *w,
                            int N, int C, int OC);

    /* What the wiring joins; the bits are those of the kernels one by one.
     * y = x W + bias, out = gelu(y); out = a + (x W + bias). */
    void (*linear_gelu_forward)(team *, float *out, float *y, const float *x, const float *w,
                                const float *bias, int N, int C, int OC);
    void (*linear_residual_forward)(team *, float *out, const float *a, const float *x,
                                    const float *w, const float *bias, int N, int C, int OC);
    /* linear_backward, but dx is set, not added to.  Where x = gelu(pre) and pre is
     * not NULL, dx is the gradient at pre: (dout W^T) gelu'(pre). */
    void (*linear_set_backward)(team *, float *dx, float *dw, float *dbias, const float *dout,
                                const float *x, const float *w, const float *pre,
                                int N, int C, int OC);
    /* out = x W^T, W (OC, C): a tied head reads the embedding as it lies.  dx is set. */
    void (*tied_forward)(team *, float *out, const float *x, const float *w,
                         int N, int C, int OC);
    void (*tied_set_backward)(team *, float *dx, float *dw, const float *dout, const float *x,
                              const float *w, int N, int C, int OC);

    /* Causal attention, no stage stored: lse[b,h,t] = log sum_u exp(scaled)
     * takes the place of the four (T, S) stages.  Rows of q are at
     * q + (b*T + t)*ldq + h*HS, rows of k and v at k + (b*S + u)*ldkv + h*HS,
     * so that q, k, v may lie inside one (B, T, 3C) tensor or in a cache of
     * which S rows are in use (B = 1).  out and dout are (B, T, NH*HS). */
    void (*attention_forward)(team *, float *out, float *lse,
                              const float *q, size_t ldq,
                              const float *k, const float *v, size_t ldkv,
                              int B, int T, int P, int NH, int HS);
    /* Adds into dq (rows like q), dk, dv (rows like k). */
    void (*attention_backward)(team *, float *dq, float *dk, float *dv,
                               const float *dout, const float *out, const float *lse,
                               const float *q, size_t ldq,
                               const float *k, const float *v, size_t ldkv,
                               int B, int T, int P, int NH, int HS);

    void (*gelu_forward)(team *, float *out, const float *x, size_t n);
    void (*gelu_backward)(team *, float *dx, const float *dout, const float *x, size_t n);

    void (*residual_forward)(team *, float *out, const float *a, const float *b, size_t n);
    void (*residual_backward)(team *, float *da, float *db, const float *dout, size_t n);

    /* loss of softmax(logits / temperature); an ignored target (VT_IGNORE) has
     * loss 0 and gradient 0. */
    void (*crossentropy_forward)(team *, float *loss, float *lse,
                                 const float *logits, const int *target,
                                 float temperature, int N, int V);
    void (*crossentropy_backward)(team *, float *dlogits, const float *dloss,
                                  const float *lse, const float *logits,
                                  const int *target, float temperature, int N, int V);

    /* Both at once, temperature 1: logits become their gradient, set, not added to. */
    void (*crossentropy_learn)(team *, float *loss, float *lse, float *logits,
                               const float *dloss, const int *target, int N, int V);

    /* Of ids that may be drawn next (sample/filters.h), by the caller alone.  The smallest
     * and the largest of n >= 1 logits, -Inf among them or not; `odd` where one is no number
     * or +Inf. */
    void (*logit_extremes)(const float *x, size_t n, float *low, float *high, bool *odd);
    /* ids, in order, of those from `low` to `high`; returns how many. */
    size_t (*logits_between)(size_t *ids, const float *x, size_t n, float low, float high);
    /* Adds each weight exp((logits - max) / temperature), logits <= max, to its range
     * (weights.h), in the order of ids; those of 0 are counted behind the ranges. */
    void (*weight_tally)(weight_range *ranges, const float *logits, size_t n, double max,
                         double temperature, int shift);

    /* Sum of squares of n floats, in double, where it cannot overflow; NaN or Inf shows in the result. */
    double (*sum_squares)(team *, const float *x, size_t n);
    /* One AdamW step t (from 1), gradients first multiplied by `clip`. */
    void (*adamw)(team *, float *w, float *m, float *v, const float *g, size_t n,
                  float clip, float lr, float beta1, float beta2, float eps,
                  float decay, int t);
    /* The same of n numbers that are cut into spans, each with its own decay; the first
     * begins at 0, the others in order.  With `clear` g is 0 afterwards. */
    void (*adamw_spans)(team *, float *w, float *m, float *v, float *g, size_t n,
                        const adamw_span *spans, size_t nspans, bool clear,
                        float clip, float lr, float beta1, float beta2, float eps, int t);
} ops;

typedef struct ops_sizes { int B, T, P, C, NH, HS, FF, V; } ops_sizes;

/* Scratch that a team needs for every kernel at these sizes. */
void ops_scratch(const ops_sizes *z, size_t *worker_bytes, size_t *shared_bytes);

/* The best table for this processor, or the one named (see `name`
 * above); NULL when it is unknown or the processor cannot run it. */
const ops *ops_pick(const char *isa);
/* Table i of those that this processor can run, best first; NULL behind the last. */
const ops *ops_runs(size_t i);
/* The same as ops_pick for a user's choice: VT_USAGE says what was expected. */
VT_MUST_CHECK vt_status ops_choose(const ops **out, const char *isa, vt_error *err);

#endif

/* definitions.h -- the prototypes of every definition, for the scalar that
 * VT_SCALAR names: 32 float, 64 double, 128 double complex; 113 _Float128, by
 * the bits of its significand, where the build has it (VT_FLOAT128).
 *
 * It has no guard: a file that needs several scalars includes it once for
 * each, with another VT_SCALAR.  `scalar` and REF(name) mean the last one
 * included.  ref.h includes it, so the compiler holds every definition to the
 * prototype given here.
 *
 * Shapes are row-major, in each definition's header.  Outputs are written,
 * gradients are added to; no input is written.  Dimensions are at least 1.
 */
#include <stddef.h>

#undef scalar
#undef REF
#if   VT_SCALAR == 32
#define scalar float
#define REF(name) ref_##name##_f32
#elif VT_SCALAR == 64
#define scalar double
#define REF(name) ref_##name##_f64
#elif VT_SCALAR == 128
#define scalar double _Complex
#define REF(name) ref_##name##_c128
#elif VT_SCALAR == 113
#define scalar _Float128
#define REF(name) ref_##name##_f128
#else
#error "VT_SCALAR must be 32, 64, 128 or 113"
#endif

/* embedding.c: out (B, T, C), tokens (B, T), wte (V, C), wpe (positions, C) */
void REF(embedding_forward)(scalar *out, const int *tokens, const scalar *wte,
                            const scalar *wpe, int B, int T, int P, int C);
void REF(embedding_backward)(scalar *dwte, scalar *dwpe, const scalar *dout,
                             const int *tokens, int B, int T, int P, int C);

/* linear.c: out (N, OC), x (N, C), w (C, OC), bias (OC) or NULL */
void REF(linear_forward)(scalar *out, const scalar *x, const scalar *w,
                         const scalar *bias, int N, int C, int OC);
void REF(linear_backward)(scalar *dx, scalar *dw, scalar *dbias,
                          const scalar *dout, const scalar *x, const scalar *w,
                          int N, int C, int OC);
/* linear_in_order.c: the same bits, sooner */
void REF(in_order_linear_forward)(scalar *out, const scalar *x, const scalar *w,
                                  const scalar *bias, int N, int C, int OC);
void REF(in_order_linear_backward)(scalar *dx, scalar *dw, scalar *dbias,
                                   const scalar *dout, const scalar *x, const scalar *w,
                                   int N, int C, int OC);

/* softmax.c: out, x (N, V) */
void REF(softmax_forward)(scalar *out, const scalar *x, int N, int V);
void REF(softmax_backward)(scalar *dx, const scalar *dout, const scalar *out,
                           int N, int V);

/* layernorm.c: out, x (N, C); mean, rstd (N); w, b (C) */
void REF(layernorm_forward)(scalar *out, scalar *mean, scalar *rstd,
                            const scalar *x, const scalar *w, const scalar *b,
                            int N, int C);
void REF(layernorm_backward)(scalar *dx, scalar *dw, scalar *db,
                             const scalar *dout, const scalar *x,
                             const scalar *w, const scalar *mean,
                             const scalar *rstd, int N, int C);

/* gelu.c, residual.c: n numbers */
void REF(gelu_forward)(scalar *out, const scalar *x, size_t n);
void REF(gelu_backward)(scalar *dx, const scalar *dout, const scalar *x, size_t n);
void REF(residual_forward)(scalar *out, const scalar *a, const scalar *b, size_t n);
void REF(residual_backward)(scalar *da, scalar *db, const scalar *dout, size_t n);

/* attention.c: q, out (B, T, NH, HS); k, v (B, S, NH, HS), S = P + T; the
 * stages (B, NH, T, S).  Backward writes da and ds, adds into dq, dk, dv. */
void REF(attention_forward)(scalar *out, scalar *scores, scalar *scaled,
                            scalar *masked, scalar *att, const scalar *q,
                            const scalar *k, const scalar *v,
                            int B, int T, int P, int NH, int HS);
void REF(attention_backward)(scalar *dq, scalar *dk, scalar *dv,
                             scalar *da, scalar *ds, const scalar *dout,
                             const scalar *att, const scalar *q,
                             const scalar *k, const scalar *v,
                             int B, int T, int P, int NH, int HS);

/* attention_masked.c: the same of any S keys and a mask (T, S), 0: not seen */
void REF(attention_masked_forward)(scalar *out, scalar *scores, scalar *att,
                                   const scalar *q, const scalar *k,
                                   const scalar *v, const int *mask,
                                   int B, int T, int S, int NH, int HS);
void REF(attention_masked_backward)(scalar *dq, scalar *dk, scalar *dv,
                                    scalar *da, scalar *ds, const scalar *dout,
                                    const scalar *att, const scalar *q,
                                    const scalar *k, const scalar *v,
                                    const int *mask,
                                    int B, int T, int S, int NH, int HS);

/* crossentropy.c: loss, lse, dloss, target (N); logits (N, V); temperature
 * above 0; a target is 0 .. V-1 or VT_IGNORE */
void REF(crossentropy_forward)(scalar *loss, scalar *lse, const scalar *logits,
                               const int *target, scalar temperature,
                               int N, int V);
void REF(crossentropy_backward)(scalar *dlogits, const scalar *dloss,
                                const scalar *lse, const scalar *logits,
                                const int *target, scalar temperature,
                                int N, int V);

/* gradclip.c: of double complex numbers the real parts count */
double REF(sum_squares)(const scalar *x, size_t n);
double REF(clip_factor)(double sum_squares, double max_norm);

/* adamw.c: w, m, v, g of n numbers; step t from 1 */
void REF(adamw)(scalar *w, scalar *m, scalar *v, const scalar *g, size_t n,
                scalar clip, scalar lr, scalar beta1, scalar beta2, scalar eps,
                scalar decay, int t);

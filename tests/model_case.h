/* model_case.h -- a small random model and window for tests of the wiring.
 *
 * Away from initialisation: every parameter, gains and biases too, is random,
 * all sizes are distinct, tokens repeat, one target is ignored, and the
 * upstream gradient of each row's loss is random.
 */
#ifndef MODEL_CASE_H
#define MODEL_CASE_H

#include "model/gpt.h"

typedef struct model_case {
    gpt_config z;
    int B, T;
    size_t count;               /* parameters */
    double *params, *dloss;     /* (count), (B, T) */
    int *tokens, *targets;      /* (B, T) */
} model_case;

void model_case_make(model_case *c, const gpt_config *z, int B, int T, uint64_t seed);
void model_case_free(model_case *c);

/* sum_n dloss[n] loss[n] of the double definitions, and its gradient (may be
 * NULL), both from fresh memory filled with NaN. */
double model_case_f64(const model_case *c, double *grads);
/* The complex-step derivative with respect to parameter i. */
double model_case_step(const model_case *c, size_t i);
/* Float wirings: logits (N, V) and gradients (both may be NULL), in double. */
double model_case_f32(const model_case *c, double *logits, double *grads);
double model_case_fast(const model_case *c, const ops *kernels, int threads,
                       double *logits, double *grads);

#endif

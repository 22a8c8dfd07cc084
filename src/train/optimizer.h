/* optimizer.h -- one update of all parameters: global norm, clipping, AdamW in
 * two groups.
 */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include "kernels/ops.h"
#include "model/config.h"

typedef struct optimizer {
    const gpt_tensor *tensors;      /* borrowed, as all pointers here */
    size_t ntensors;
    const adamw_span *spans;        /* optimizer_spans() of them */
    size_t nspans;
    float *w, *g, *m, *v;           /* parameters, gradient, moments */
    double beta1, beta2, eps, decay;
    double clip;                    /* largest global norm; 0 = no clipping */
    bool   keep;                    /* a step leaves g as it is; else g is 0 after it */
    const ops *kernels;
    team *crew;
} optimizer;

/* Neighbours among the tensors that share a decay, as one span each: at most ntensors.
 * The tensors are all of a block, in its order. */
size_t optimizer_spans(adamw_span *out, const gpt_tensor *tensors, size_t ntensors, double decay);

/* Step t (from 1) at rate lr.  Matrices are decayed, vectors are not: see
 * `decay` in tensors.def.  *norm is the global norm before clipping.  VT_NAN
 * where a gradient is NaN or Inf: the first such tensor is named; or where the
 * norm, after clipping, is so large that a second moment would be Inf.  Then
 * neither weights nor moments are touched. */
VT_MUST_CHECK vt_status optimizer_step(const optimizer *o, long long t, double lr,
                                       double *norm, vt_error *err);

/* Two lines (allocated: free() them), one a group: its decay, its tensors by
 * name with layers folded, how many tensors and parameters.  NULL without
 * memory. */
char *optimizer_groups(const optimizer *o);

#endif

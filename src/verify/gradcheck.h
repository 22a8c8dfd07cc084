/* gradcheck.h -- the gradient of a whole model, proven by complex step.
 *
 * f(p) = sum_n weight[n] loss[n](p) over one window of tokens.  For an entry i,
 *
 *     df/dp_i = Im f(p + i h e_i) / h,   h = 1e-30
 *
 * has no subtraction and so no cancellation: it is right to rounding (Squire,
 * Trapp, "Using complex variables to estimate derivatives of real functions",
 * 1998).  It is compared with the hand-written backward of the definitions in
 * double, along one random direction over all parameters and entry by entry;
 * and the fast kernels' gradient is compared with the definitions'.
 *
 * Bounds.  Definitions: each of the two results is a chain of at most K
 * roundings, K the additions on the longest path through the model and back;
 * an error is allowed K eps times the tensor's largest gradient.  Fast kernels:
 * four times the error that the float definitions show on the same window,
 * plus 8 ulp of the tensor's largest gradient.  A comparison with NaN fails.
 */
#ifndef GRADCHECK_H
#define GRADCHECK_H

#include "model/gpt.h"
#include "vitrine.h"

typedef struct gradcheck_case {
    const gpt_config *z;
    const gpt_tensor *tensors;
    size_t ntensors;
    const float *params;
    const int *tokens, *targets;    /* (B, T) */
    int B, T;
    const ops *kernels;             /* fast kernels to compare */
    int threads;
} gradcheck_case;

/* Fills the report (rows allocated: vt_check_free).  VT_OK or VT_CHECK_FAILED,
 * with one line that names the first tensor that failed. */
VT_MUST_CHECK vt_status gradcheck_run(vt_check_report *report, const gradcheck_case *c,
                                      const vt_check_options *o, vt_check_progress *progress,
                                      void *context, vt_error *err);

#endif

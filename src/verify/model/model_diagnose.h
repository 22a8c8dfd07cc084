/* model_diagnose.h -- which fault explains why a model's gradient fails its check.
 *
 * The model and its window are put as a case of the operator gpt (op_case.h), the
 * gradient that fails is what was "found", and diagnose.h runs its wrong kernels on it.
 * What may be off by rounding is the larger of two bounds: the case's, of each element,
 * and the check's, of each tensor (gradcheck.h).
 *
 * What is right is the definitions' gradient.  Where the definitions themselves fail, a
 * graph of the same definitions fails alike and nothing differs; then complex step says
 * what is right, entry by entry, as in the check; of a large model not of it, but of a
 * small random one, since a wrong definition is wrong in both.
 *
 * Gradients start from 0 here, so a gradient that is assigned and one that lacks what
 * was there before look the same where it is the first part that is lost.
 *
 * A diagnosis runs the model some hundred times.  With more than MODEL_DIAGNOSE_MOST
 * numbers (parameters, activations) none is made, and it is said that this is why.
 */
#ifndef MODEL_DIAGNOSE_H
#define MODEL_DIAGNOSE_H

#include "verify/model/gradcheck.h"
#include "verify/op/op_case.h"

#define MODEL_DIAGNOSE_MOST 1000000

/* The model as a case: in[2 + i] is tensor i, upstream gradients are g->weight.  Bounds
 * of float64 are those of the definitions, of float32 those of the fast kernels.  Free it
 * where the status is VT_OK.  VT_TOO_LARGE: more than MODEL_DIAGNOSE_MOST numbers. */
VT_MUST_CHECK vt_status model_op_case(op_case *out, const gradcheck_case *c,
                                      const gradcheck_grads *g, precision p, vt_error *err);

/* After gradcheck_judge has failed: report->diagnosis, of the definitions' gradient where
 * that fails, else of the fast kernels'.  kind "": sentence says why there is none. */
void model_diagnose(vt_check_report *report, const gradcheck_case *c, const gradcheck_grads *g);

#endif

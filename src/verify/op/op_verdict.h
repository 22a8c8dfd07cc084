/* op_verdict.h -- a kernel against itself: is its backward pass that of its forward pass?
 *
 * The definitions say whether a kernel computes the operator.  These verdicts need no
 * definition, only the kernel:
 *
 *   own forward   d/ds <dout, out(x + s u)>  at s = 0  by adaptive differences of the
 *                 kernel's forward pass, u random, against <din, u> of its backward pass
 *   adjoint       <v, J u> = <J^T v, u>: the same with another cotangent v, J u from the
 *                 forward pass, J^T v from the backward pass
 *   other upstream    J^T v of that v, element by element with the definitions': a backward
 *                 pass has to be linear in what comes from above
 *
 * A backward pass that is right for another forward pass fails these; a kernel whose two
 * passes agree on something else than the operator passes them and fails the rest.
 *
 * A difference has an error bar, which is an estimate: a kernel whose outputs and
 * gradients are all within their bounds fails only where it is far beyond the bar.
 *
 * Differences need digits: in float32 the rows say that they could not tell.
 */
#ifndef OP_VERDICT_H
#define OP_VERDICT_H

#include "verify/op/op_call.h"

/* Three rows, of a kernel that has both passes.  `ended` as in op_exact.h. */
VT_MUST_CHECK vt_status op_verdict_judge(vt_op_case *out, op_call *call, const op_kernel *k,
                                         const op_found *f, kernel_outcome *ended, vt_error *err);

#endif

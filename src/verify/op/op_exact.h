/* op_exact.h -- what needs no bound: bits of a kernel that have to be equal.
 *
 *   two runs       the same call in a new process gives the same bits, and so does its
 *                  backward pass in a process that did not run the forward pass
 *   causality      other keys, values and inputs where a query may not look: the output
 *                  of that query keeps its bits
 *   hidden NaN     attention: NaN and Inf in their place
 *   unseen NaN     likewise in keys that no query sees: outputs and gradients keep theirs
 *   the future     an upstream gradient at the first queries alone: what they may not
 *                  see gets a gradient of exactly 0
 *   exact zeros    a query that sees no key has output 0 and gradient 0; a key that no
 *                  query sees, a position that no token has, an ignored target: gradient 0
 */
#ifndef OP_EXACT_H
#define OP_EXACT_H

#include "verify/op/op_call.h"

/* Rows for all that this case can tell, of a kernel whose forward and backward pass were
 * just run through `call`, with the result f.  VT_OK, also where a row fails; *ended is
 * what the kernel's process did where it did not end well (then no row is made). */
VT_MUST_CHECK vt_status op_exact_judge(vt_op_case *out, op_call *call, const op_kernel *k,
                                       const op_found *f, kernel_outcome *ended, vt_error *err);

/* Only "exact zeros": of what was computed elsewhere (a dump).  No row where the case has
 * none. */
VT_MUST_CHECK vt_status op_exact_zeros(vt_op_case *out, const op_case *c, const op_found *f,
                                       vt_error *err);

#endif

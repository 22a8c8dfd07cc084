/* exact.h -- what must hold of a model bit for bit, of the double definitions and of
 * the fast kernels:
 *
 *     causality        another suffix leaves every bit of the prefix's logits
 *     no gradient      of the prefix's loss by a later position's input: exactly 0
 *       to the future
 *     repeatable       two runs give the same bits: logits, losses, gradients
 *     threads          so do 1, 2, 3 and 7 of them (fast kernels)
 *     inputs unwritten parameters, tokens, targets and the upstream gradient
 *     doubling         twice the upstream gradient is twice the gradient: backward is
 *                      linear, and a power of two rounds nowhere (but below the
 *                      smallest normal number, which bounds the difference there)
 *     accumulates      backward into a gradient that is there adds: g, then g again, is
 *                      2 g within twice the tensor's bound (gradcheck.h): the sums
 *                      are as long and at most twice as large.  Overwriting gives g.
 *
 * A row that compared nothing (one position has no suffix) says why.
 */
#ifndef EXACT_H
#define EXACT_H

#include "verify/model/gradcheck.h"

/* Appends its rows to report->exact (allocated).  VT_OK also where one fails: that is for
 * gradcheck_run to say. */
VT_MUST_CHECK vt_status exact_checks(vt_check_report *report, const gradcheck_case *c,
                                     const gradcheck_grads *g, uint64_t seed, vt_error *err);

#endif

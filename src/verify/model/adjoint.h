/* adjoint.h -- the adjoint identity of one part of a model: the embedding, a layer,
 * or the head.
 *
 *     <v, J u> = <J^T v, u>                                     (diff.adjoint)
 *
 * for the Jacobian J of the part's output by its input and its parameters, a random
 * direction u and a random v.  J u is the complex step along u through the part's
 * forward pass alone; J^T v is its hand-written backward pass.  Where a gradient of
 * the whole model is wrong, this says which part is.  One direction over all sees
 * every entry: a wrong one would have to be orthogonal to u.
 *
 * u is +-1 times the size of its tensor, v is +- a number of 0.5 to 1.5: signs so
 * that errors do not add up to a bias, and no two alike.  (A positive v with a
 * bound that grows with the number of entries accepts a reversed gradient.)
 *
 * Bound.  An entry of J^T v in double is wrong by at most 64 (r e/f + e g), as
 * gradcheck.h derives, r measured here: the largest difference of the part's float
 * backward pass from the double one at points around; errors with random signs add
 * as the root of the sum of squares.  To it 8 e of the terms of <v, J u> likewise.
 *
 * Griewank, Walther, "Evaluating derivatives" (2nd ed., 2008), section 3.3: the
 * identity ("dot-product test").
 */
#ifndef ADJOINT_H
#define ADJOINT_H

#include "verify/model/gradcheck.h"

/* The two sides, not yet compared. */
typedef struct adjoint {
    size_t  n;                  /* entries of the part's input and parameters */
    double *direction;          /* (n): u */
    double *gradient;           /* (n): J^T v */
    double *bound;              /* (n): of each entry's error */
    double  forward;            /* <v, J u> */
    double  forward_bound;
} adjoint;

/* Part -1 .. L, as in gpt_decl.h, with the inputs that it has in this window.  Free it
 * either way. */
VT_MUST_CHECK vt_status adjoint_compute(adjoint *a, const gradcheck_case *c, int part,
                                        uint64_t seed, vt_error *err);
void adjoint_free(adjoint *a);

/* Fills expected, found, budget_used and pass. */
void adjoint_judge(vt_check_layer *out, const adjoint *a);

/* Every part in turn into report->layers (allocated).  VT_OK also where one fails:
 * that is for gradcheck_run to say. */
VT_MUST_CHECK vt_status adjoint_all(vt_check_report *report, const gradcheck_case *c,
                                    uint64_t seed, vt_error *err);

#endif

/* bounds.h -- how far rounding may take a correct kernel from the exact result.
 *
 * Bounds, not tolerances: each is what running error analysis derives for that element
 * of that tensor from the numbers themselves (bounds_forward.c, bounds_backward.c say how
 * and what a kernel may do).  An element whose bound is 0 must be exact.
 *
 * All blocks have the graph's layout (graph.h).
 */
#ifndef BOUNDS_H
#define BOUNDS_H

#include "verify/graph.h"

/* x: every tensor, as exactly as is known.  u: unit roundoff of the kernel's type; tiny:
 * its smallest normal number.  ex: written; inputs are taken as exact (0). */
void bounds_forward(const graph *g, const double *x, const int *ints, double u, double tiny,
                    double *ex);

/* dx: the gradients without `start`, as graph_backward_f64 leaves them (the gradients of
 * stages, too).  start: what they held before (NULL: zeros); ex: of bounds_forward.
 * edx: written, a bound for start + dx, at inputs, inner tensors and outputs. */
void bounds_backward(const graph *g, const double *dx, const double *x, const int *ints,
                     const double *start, double u, double tiny, const double *ex, double *edx);

#endif

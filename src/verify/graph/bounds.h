/* bounds.h -- how far rounding may take a correct kernel from the exact result.
 *
 * Bounds, not tolerances: each is what running error analysis derives for that element of
 * that tensor from the numbers themselves (Wilkinson 1963; Higham, "Accuracy and Stability
 * of Numerical Algorithms", 2002, sections 3.1 to 3.4).  A rounding is at most u of its
 * result; n of them in a row are at most
 *
 *     gamma_n = n u / (1 - n u)                                   (Higham, lemma 3.1)
 *
 * and a sum of n terms, in whatever order it is added up, is off by what its terms are off
 * and gamma_n sum |terms|.  Products take the errors of their factors along, crossed
 * terms too.  Nothing is left out as small, nothing is divided by as unlikely.
 *
 * A kernel may: add in any order, in tiles, pairwise, with fused multiply-adds, in a wider
 * type; compute exp, log, tanh and 1/sqrt to 2 ulp; take a softmax in one go or running
 * with rescaling (over tiles from either end, or merged as a tree); make the probabilities
 * again from lse, in base e or 2; take the row sum of the softmax's gradient as
 * sum_u a da or sum_i do o; subtract the mean first or last; find the variance by two
 * passes or by Welford's; add biases first or last; divide or multiply by 1/sqrt(HS), before
 * the scores or behind; use either form of GELU's logistic function; flush subnormals.
 * It may not: take the variance as E[x^2] - E[x]^2; compute in a narrower type than its
 * own (TF32).  A type narrower than float adds up in float, and rounds each tensor, and
 * each step from one number to another, to itself.
 *
 * Where scores are so large that rounding decides about whole factors of a probability
 * (lse or a score uncertain by more than 1/4), the bounds hold for kernels that make the
 * same score again in the backward pass, in base e; a bound stays finite there: computed
 * probabilities of a softmax are between 0 and 1, tanh between -1 and 1, normalised
 * channels within sqrt(C), rstd at most 1/sqrt(eps).
 *
 * An element whose bound is 0 must be exact: what no query sees, the gradient of a row of
 * a table that nobody uses.
 *
 * All blocks have the graph's layout (graph.h).
 */
#ifndef BOUNDS_H
#define BOUNDS_H

#include "verify/graph/graph.h"

/* x: every tensor, as exactly as is known.  u: unit roundoff of the kernel's type; tiny:
 * its smallest normal number.  ex: written; inputs are taken as exact (0).  Of the stages,
 * att, mean and rstd have their own; the others hold nothing. */
void bounds_forward(const graph *g, const double *x, const int *ints, double u, double tiny,
                    double *ex);

/* dx: the gradients without `start`, as graph_backward_f64 leaves them.  start: what they
 * held before (NULL: zeros); ex: of bounds_forward.  edx: written, a bound for start + dx,
 * at inputs and inner tensors; 0 at outputs with an upstream gradient, which is exact. */
void bounds_backward(const graph *g, const double *dx, const double *x, const int *ints,
                     const double *start, double u, double tiny, const double *ex, double *edx);

/* The same of each node alone: as if all that it reads, but its own stages, were exact. */
void bounds_alone_forward(const graph *g, const double *x, const int *ints, double u, double tiny,
                          double *ex);
void bounds_alone_backward(const graph *g, const double *dx, const double *x, const int *ints,
                           const double *start, double u, double tiny, const double *ex,
                           double *edx);

#endif

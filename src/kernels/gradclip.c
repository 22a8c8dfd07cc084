/* gradclip.c -- clipping by the global norm: the definition.
 *
 *  sum    = sum_i g[i]^2                                          (clip.sum)
 *  norm   = sqrt(sum)                                            (clip.norm)
 *  factor = min(1, max_norm / norm)                            (clip.factor)
 *
 * The sum runs over all tensors: the caller adds what each gives.  It is kept
 * in double, where the square of any float fits (3.5e38^2 < 1.8e308), so it
 * cannot overflow for float gradients; NaN or Inf among them shows in the sum
 * and the caller refuses the step.  For double gradients the sum is Inf where
 * one exceeds 1e154.  A size is no analytic function, so of double complex
 * gradients the real parts count.
 */
#include "ref.h"

double REF(sum_squares)(const scalar *g, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)re(g[i]) * (double)re(g[i]);              /* clip.sum */
    return sum;
}

/* A norm of 0 gives 1, a norm of NaN gives NaN. */
double REF(clip_factor)(double sum_squares, double max_norm)
{
    const double norm = sqrt(sum_squares);                      /* clip.norm */
    return norm <= max_norm ? 1 : max_norm / norm;            /* clip.factor */
}

/* differences.h -- the derivative of a function of one number by differences,
 * with an error bar, and with word on whether there is one.
 *
 * Central difference, for teaching:
 *
 *     D3(h) = (f(x+h) - f(x-h)) / 2h                            (diff.central)
 *
 * with an error of about h^2 f''' / 6.  Adaptive: the five-point stencil
 *
 *     D5(h) = (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h    (diff.five)
 *
 * with an error of about h^4 f^(5) / 30, at steps h, each twice the next, from
 * u^(1/5) of x's scale downwards and upwards for as long as the error bar falls.
 * The bar is the sum of
 *
 *     truncation   max(|D5(h) - D5(2h)|, |D5(2h) - D5(4h)| / 16): 15 times the error
 *                  where D5 converges as h^4, and two of them, since one may be
 *                  small by luck
 *     rounding     3/2 n F / h: n the relative error of f (the caller knows it), F
 *                  the largest |f| on the stencil; and what x + h loses, u (|x| + 2h)
 *                  times 3/2 |D5| / h
 *
 * so that it is honest: the derivative is within it where f is smooth.  It says
 * when the check and not the function is at fault:
 *
 *     no resolution    the bar is above the value: f does not change, or changes by
 *                      less than it rounds; the value is right within its bar
 *     not smooth       left and right derivative differ by what does not shrink with
 *                      h (for a smooth f it halves with h)
 *     undefined        f is NaN or Inf at x, or at every step
 *
 * and records a step that left f's domain (then h shrinks) and branches that were
 * taken otherwise than at x.
 *
 * Abramowitz, Stegun, "Handbook of mathematical functions" (1964), 25.3.6: the
 * stencil.  Lyness, Moler, "Numerical differentiation of analytic functions" (1967):
 * step and cancellation.
 */
#ifndef DIFFERENCES_H
#define DIFFERENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct differences_function {
    double (*at)(void *context, double x);
    /* A hash of the branches that the last call of at() took; or NULL. */
    uint64_t (*branches)(void *context);
    void  *context;
    double noise;           /* relative error of a value of f; 0: one rounding, 2^-53 */
    double scale;           /* over which f varies; 0: |x|, or 1 where x is 0 */
    double enough;          /* a bar of this share of the value ends the search: f may
                               be dear; 0: the least bar is sought */
} differences_function;

typedef enum differences_verdict {
    DIFFERENCES_FINE,
    DIFFERENCES_NO_RESOLUTION,
    DIFFERENCES_NOT_SMOOTH,
    DIFFERENCES_UNDEFINED
} differences_verdict;

typedef struct differences {
    double value, bar;          /* NaN, Inf where undefined */
    double step;                /* h */
    double truncation, rounding;    /* the parts of the bar */
    double left, right;         /* one-sided derivatives at h */
    differences_verdict verdict;
    bool   unchanged;           /* f is the same at every point of the stencil */
    bool   left_domain;         /* a larger step met NaN or Inf */
    bool   branch_flip;         /* a point of the stencil took other branches than x */
    int    evaluations;
} differences;

double differences_central(const differences_function *f, double x, double h);
differences differences_adaptive(const differences_function *f, double x);

/* "fine", "no resolution at this scale", "not smooth here", "undefined". */
const char *differences_words(differences_verdict v);

#endif

/* growth.h -- how cost grows with a size: a power law fitted to what was measured.
 *
 *     log t = log c + e log x        least squares over all sizes
 *
 * Of time on a size the exponent e is what one reads in books (T^2, d^2); of the work
 * that is counted (work.h), by threads, it is what the sizes of a curve predict: T (T + 1) / 2
 * is no power of T.  Time on that work has the exponent 1 where cost grows as predicted.
 */
#ifndef GROWTH_H
#define GROWTH_H

#include "vitrine.h"

typedef struct growth_law {
    double exponent, factor;        /* y = factor x^exponent */
    double deviation;               /* the largest y / (factor x^exponent), or its inverse */
} growth_law;

/* False where n numbers above 0 hold no two different x. */
bool growth_fit(growth_law *out, const double *x, const double *y, size_t n);

/* The curves of a report's rows that were measured, in their order: fills curves and
 * ncurves. */
VT_MUST_CHECK vt_status growth_find(vt_bench_report *r, vt_error *err);

#endif

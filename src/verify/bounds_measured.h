/* bounds_measured.h -- the bounds of a block and of a whole model.
 *
 * Derived bounds take each error at its worst, of the worst sign, through |W| instead of
 * W: one operator later that is a factor of a few, ten operators later it is all of the
 * gradient (a block in float: half of its size; two layers: 1e12 times it).  What rounding
 * does to such a graph is measured instead, as gradcheck.h does for a model: r, of each
 * tensor, is the largest difference of the definitions in the kernel's type from those in
 * double, at the inputs and at four points an ulp around them.  With g the tensor's
 * largest element and s the largest scaled score (probabilities made again from lse are
 * off by u s),
 *
 *     8 (r + u g (1 + s))
 *
 * bounds what another order of adding, or another formula, can make of it; for double
 * r is that of float, scaled, and the factor 64.  An element keeps its derived bound
 * where that is smaller; so what must be exact still must.
 */
#ifndef BOUNDS_MEASURED_H
#define BOUNDS_MEASURED_H

#include "verify/op_case.h"

/* Narrows c->ex and c->edx; everything else of the case is there. */
VT_MUST_CHECK vt_status bounds_measured(op_case *c, vt_error *err);

#endif

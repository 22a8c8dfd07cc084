/* bounds_measured.h -- the bounds of a block and of a whole model.
 *
 * Derived bounds take each error at its worst, of the worst sign, through |W| instead of
 * W: one operator later that is a factor of a few, ten operators later it is all of the
 * gradient (a block in float: half of its size; two layers: 1e12 times it).  For such a
 * graph only what a node does by itself is derived: the bound on each element of its
 * output, and of its inputs' gradients, as if all that it reads were exact.  How far
 * errors of that size, of random sign, take everything behind it is measured, in double,
 * SAMPLES times; with r, of each tensor, the largest difference,
 *
 *     4 r
 *
 * is the bound (8 r in double, where the definitions round, too).  Signs are no kernel's
 * worst, but sizes are: real roundings are a tenth of theirs.
 *
 * An element keeps its derived bound where that is smaller; so what must be exact still
 * must.
 */
#ifndef BOUNDS_MEASURED_H
#define BOUNDS_MEASURED_H

#include "verify/op/op_case.h"

/* Narrows c->ex and c->edx, where the case is a block or a GPT; everything else of it is
 * there. */
VT_MUST_CHECK vt_status bounds_measured(op_case *c, vt_error *err);

/* Likewise ex and edx, derived bounds on the definitions' own rounding in double (edx of dx
 * without `start`), of every graph of more than one node. */
VT_MUST_CHECK vt_status bounds_measured_definitions(const op_case *c, double *ex, double *edx,
                                                    vt_error *err);

#endif

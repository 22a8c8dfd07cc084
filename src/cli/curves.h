/* curves.h -- how cost grows, as lines of a table and as a picture: SVG, in light and
 * dark, without a script. */
#ifndef CURVES_H
#define CURVES_H

#include "base/bytes.h"
#include "vitrine.h"

/* "as predicted", "more than predicted", "less than predicted", "not known". */
const char *curve_words(const vt_bench_curve *c);

/* Appends the picture; `date` stands in its title.  A report without curves: a title alone. */
VT_MUST_CHECK vt_status curves_svg(bytes *out, const vt_bench_report *r, const char *date,
                                   vt_error *err);

#endif

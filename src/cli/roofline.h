/* roofline.h -- a bench as a picture: SVG, in light and dark, without a script. */
#ifndef ROOFLINE_H
#define ROOFLINE_H

#include "base/bytes.h"
#include "vitrine.h"

/* Appends the picture; `date` stands in its title. */
VT_MUST_CHECK vt_status roofline_svg(bytes *out, const vt_bench_report *r, const char *date,
                                     vt_error *err);

#endif

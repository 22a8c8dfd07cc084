/* plot_svg.h -- trainings as a picture: SVG, in light and dark, without a script. */
#ifndef PLOT_SVG_H
#define PLOT_SVG_H

#include "base/bytes.h"
#include "train/plot_run.h"

enum { PLOT_RUNS = 8, PLOT_COLUMNS = 720 };     /* columns: points of a curve at most */

/* Appends the picture of n runs, 1 .. PLOT_RUNS.  log_steps: the axis of steps is
 * logarithmic.  The same runs give the same bytes. */
VT_MUST_CHECK vt_status plot_svg(bytes *out, const plot_run *runs, size_t n, bool log_steps,
                                 vt_error *err);

#endif

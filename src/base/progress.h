/* progress.h -- how training is shown: text into a buffer, never printed here.
 *
 * A number that is not known is NaN and shown as "-".  `utf8` chooses block
 * and braille characters; without it everything is ASCII.  A column is one
 * character: none used here is wide or combining.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "base/io.h"

typedef struct progress {
    size_t step, steps;         /* done, of how many */
    double loss, val_loss;      /* nats per token */
    double lr, grad_norm, tokens_per_s, seconds_left;
} progress;

enum { PROGRESS_BYTES = 1024 }; /* enough for any line below */

/* The terminal's line, exactly `width` columns (at most 250) and no newline:
 * step, a bar and numbers; what does not fit is left out, the least needed
 * first. */
void progress_bar(char out[PROGRESS_BYTES], const progress *p, size_t width, bool utf8);

/* The line for a log: all numbers, no bar, no newline. */
void progress_line(char out[PROGRESS_BYTES], const progress *p);

/* "0.4 s", "12 s", "3 min 04 s", "2 h 05 min", "3 d 04 h"; "-" when unknown. */
void progress_duration(char *out, size_t size, double seconds);

/* "812", "21.3k", "1.24M", "3.5G"; "-" when unknown. */
void progress_count(char *out, size_t size, double count);

/* "0 bytes", "1 byte", "21.3 kB", "1.24 MB", "3.5 GB", by thousands; "-" when unknown. */
void progress_bytes(char *out, size_t size, double n);

typedef struct progress_curve_data {
    const double *loss;         /* n values; those that are not finite are left out */
    const double *val_loss;     /* n values, NaN where not measured; or NULL */
    size_t        n, first;     /* loss[i] belongs to step first + i */
} progress_curve_data;

/* Appends `height` lines (5 .. 100; others are moved there) of at most `width`
 * columns (30 .. 250): the losses over the steps, with axes.  Columns that
 * hold several steps show their mean.  Appends one line that says so where
 * there is nothing to draw.  VT_TOO_LARGE without memory. */
VT_MUST_CHECK vt_status progress_curve(bytes *out, const progress_curve_data *data, size_t width,
                                       size_t height, bool utf8, vt_error *err);

#endif

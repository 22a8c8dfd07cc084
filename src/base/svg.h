/* svg.h -- what the pictures share: text of XML, places on an axis, colours.
 *
 * Appends to bytes; the first failure stays, and all that follows is ignored, so that a
 * picture is drawn without a test behind each line.
 */
#ifndef SVG_H
#define SVG_H

#include <stdbool.h>
#include "base/bytes.h"

typedef struct svg {
    bytes    *out;
    vt_error *err;
    vt_status status;           /* the first failure; then all is ignored */
} svg;

#define SVG_PUT(s, ...) do { if ((s)->status == VT_OK) \
        (s)->status = bytes_printf((s)->out, (s)->err, __VA_ARGS__); } while (0)

/* An axis from `low` to `high`, drawn from `at` on over `length`. */
typedef struct svg_axis { double low, high, at, length; bool log; } svg_axis;
double svg_place(const svg_axis *a, double v);

/* As text of XML: markup is text, and what XML 1.0 has no place for becomes U+FFFD. */
void svg_text(svg *s, const char *text);

#endif

/* svg.c -- see svg.h. */
#include "base/svg.h"
#include <math.h>
#include <string.h>
#include "base/utf8.h"

double svg_place(const svg_axis *a, double v)
{
    const double low = a->log ? log(a->low) : a->low, high = a->log ? log(a->high) : a->high;
    const double x = a->log ? log(v) : v;
    return a->at + (high > low ? (x - low) / (high - low) : 0.5) * a->length;
}

/* XML has no U+FFFE and no U+FFFF (XML 1.0, production 2); of controls the names that are
 * shown have none. */
void svg_text(svg *s, const char *text)
{
    while (*text) {
        uint32_t c = 0;
        const size_t n = utf8_decode((const unsigned char *)text, strlen(text), &c);
        if (n == 0 || c == 0xFFFE || c == 0xFFFF) SVG_PUT(s, "%s", UTF8_REPLACEMENT);
        else if (c == '&') SVG_PUT(s, "&amp;");
        else if (c == '<') SVG_PUT(s, "&lt;");
        else if (c == '>') SVG_PUT(s, "&gt;");
        else if (c == '"') SVG_PUT(s, "&quot;");
        else SVG_PUT(s, "%.*s", (int)n, text);
        text += n ? n : 1;
    }
}

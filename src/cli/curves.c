/* curves.c -- see curves.h.
 *
 * A panel for each curve: seconds of a call over the size, both logarithmic, so that a
 * power is a straight line and its exponent the slope.  Discs are what was measured; the
 * dashed line is the work that is counted, at the height that fits best (the mean of the
 * logarithms' distance); the thin one below is the least time by the measured limits.
 */
#include "cli/curves.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/svg.h"

enum { WIDTH = 980, LEFT = 74, TOP = 84, PANEL_WIDTH = 386, PANEL_HEIGHT = 240, ACROSS = 478, DOWN = 346,
       HEAD = 48, LABELS = 6 };

typedef struct picture {
    svg      s;
    svg_axis x, y;
    const vt_bench_report *r;
} picture;

#define PUT(p, ...) SVG_PUT(&(p)->s, __VA_ARGS__)

const char *curve_words(const vt_bench_curve *c)
{
    if (!isfinite(c->growth)) return "not known";
    return c->agrees ? "as predicted" : c->growth > 1 ? "more than predicted" : "less than predicted";
}

/* The rows of a curve from number `from` on; NULL behind the last. */
static const vt_bench_row *next_row(const vt_bench_report *r, const vt_bench_curve *c, size_t *from)
{
    while (*from < r->nrows) {
        const vt_bench_row *row = &r->rows[(*from)++];
        if (row->curve && strcmp(row->curve, c->name) == 0 && row->verdict == VT_BENCH_MEASURED) return row;
    }
    return NULL;
}

/* ---- axes ---------------------------------------------------------------------- */

/* The size from end to end; seconds in whole powers of ten. */
static void set_axes(picture *p, const vt_bench_curve *c, double left, double top)
{
    double small = HUGE_VAL, large = 0, low = HUGE_VAL, high = 0;
    const vt_bench_row *row;
    for (size_t i = 0; (row = next_row(p->r, c, &i)) != NULL; ) {
        small = fmin(small, row->size);
        large = fmax(large, row->size);
        low = fmin(low, isfinite(row->limit_seconds) ? fmin(row->limit_seconds, row->seconds) : row->seconds);
        high = fmax(high, row->seconds);
    }
    p->x = (svg_axis){ .low = small / 1.2, .high = large * 1.2, .at = left, .length = PANEL_WIDTH, .log = true };
    p->y = (svg_axis){ .low = pow(10, floor(log10(low))), .high = pow(10, ceil(log10(high * 1.05))),
                       .at = top + PANEL_HEIGHT, .length = -PANEL_HEIGHT, .log = true };
}

/* A power of ten: "10 us". */
static void power_text(char *out, size_t size, int power)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    const int unit = power < -9 ? 0 : power >= 0 ? 3 : (power + 9) / 3;
    snprintf(out, size, "%g %s", pow(10, power + 9 - 3 * unit), units[unit]);
}

static void grid(picture *p, const vt_bench_curve *c)
{
    const double left = p->x.at, right = left + p->x.length, bottom = p->y.at, top = bottom + p->y.length;
    const size_t skip = (c->sizes + LABELS - 1) / LABELS;
    char text[32];
    const vt_bench_row *row;
    size_t k = 0;
    for (int power = (int)lround(log10(p->y.low)); power <= (int)lround(log10(p->y.high)); power++) {
        const double y = svg_place(&p->y, pow(10, power));
        power_text(text, sizeof text, power);
        PUT(p, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
            "text-anchor=\"end\">%s</text>\n", left, right, y, y, left - 6, y + 4, text);
    }
    for (size_t i = 0; (row = next_row(p->r, c, &i)) != NULL; k++) {
        const double x = svg_place(&p->x, row->size);
        PUT(p, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x, x, top, bottom);
        if (k % skip == 0)
            PUT(p, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n", x, bottom + 18, row->size);
    }
    PUT(p, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", (left + right) / 2, bottom + 36);
    svg_text(&p->s, c->of);
    PUT(p, "</text>\n");
}

/* ---- lines --------------------------------------------------------------------- */

static double work_of(const vt_bench_row *row) { return row->flop / (double)row->threads; }

/* Seconds of a unit of work, in the middle of all sizes. */
static double pace(const picture *p, const vt_bench_curve *c)
{
    double sum = 0;
    const vt_bench_row *row;
    for (size_t i = 0; (row = next_row(p->r, c, &i)) != NULL; ) sum += log(row->seconds / work_of(row));
    return exp(sum / (double)c->sizes);
}

typedef enum line { TAKEN, PREDICTED, LEAST } line;

static void draw(picture *p, const vt_bench_curve *c, line which)
{
    static const char *const classes[] = { [TAKEN] = "taken", [PREDICTED] = "predicted", [LEAST] = "least" };
    const double per_work = pace(p, c);
    const vt_bench_row *row;
    const char *sign = "M";
    PUT(p, "<path class=\"%s\" d=\"", classes[which]);
    for (size_t i = 0; (row = next_row(p->r, c, &i)) != NULL; ) {
        const double y = which == TAKEN ? row->seconds : which == LEAST ? row->limit_seconds : per_work * work_of(row);
        if (!(y > 0)) continue;
        /* A line may leave its panel below or above by what the fit is off: it ends at the edge. */
        PUT(p, "%s%.1f %.1f", sign, svg_place(&p->x, row->size), svg_place(&p->y, fmin(fmax(y, p->y.low), p->y.high)));
        sign = "L";
    }
    PUT(p, "\"/>\n");
}

static void discs(picture *p, const vt_bench_curve *c)
{
    const vt_bench_row *row;
    for (size_t i = 0; (row = next_row(p->r, c, &i)) != NULL; ) {
        PUT(p, "<circle class=\"size\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>", svg_place(&p->x, row->size),
            svg_place(&p->y, row->seconds));
        svg_text(&p->s, row->name);
        PUT(p, ": %.3g s, %.0f %% of its limit</title></circle>\n", row->seconds,
            isfinite(row->share) ? 100 * row->share : 0);
    }
}

static void panel(picture *p, const vt_bench_curve *c, double left, double top)
{
    PUT(p, "<g class=\"curve %s\"><text class=\"head\" x=\"%.1f\" y=\"%.1f\">", c->agrees ? "agrees" : "differs",
        left, top);
    svg_text(&p->s, c->name);
    PUT(p, "</text>\n<text class=\"verdict\" x=\"%.1f\" y=\"%.1f\">", left, top + 20);
    if (!isfinite(c->growth))
        PUT(p, "%zu size%s: no line can be drawn</text></g>\n", c->sizes, c->sizes == 1 ? "" : "s");
    else {
        PUT(p, "time ~ ");
        svg_text(&p->s, c->of);
        PUT(p, "^%.2f, predicted ^%.2f: %s</text>\n", c->exponent, c->predicted, curve_words(c));
        set_axes(p, c, left, top + HEAD - 16);
        grid(p, c);
        draw(p, c, LEAST);
        draw(p, c, PREDICTED);
        draw(p, c, TAKEN);
        discs(p, c);
        PUT(p, "</g>\n");
    }
}

/* ---- the picture ----------------------------------------------------------------- */

static void style(picture *p)
{
    PUT(p, "<style>\nsvg { background: #fff; color: #222; font: 13px sans-serif; max-width: 100%%; height: auto; }\n"
        "text { fill: currentColor; }\n.title { font-size: 18px; font-weight: bold; }\n.head { font-weight: bold; }\n"
        ".grid { stroke: currentColor; stroke-opacity: 0.15; }\npath { fill: none; }\n"
        ".taken { stroke: #0072b2; stroke-width: 2; }\n.size { fill: #0072b2; }\n"
        ".predicted { stroke: #8a6d00; stroke-width: 2; stroke-dasharray: 7 4; }\n"
        ".least { stroke: currentColor; stroke-opacity: 0.6; }\n"
        ".differs .verdict { fill: #c0392b; }\n"
        "@media (prefers-color-scheme: dark) {\nsvg { background: #16181d; color: #ddd; }\n"
        ".taken { stroke: #56b4e9; }\n.size { fill: #56b4e9; }\n.predicted { stroke: #f0e442; }\n"
        ".differs .verdict { fill: #ff8a7a; }\n}\n</style>\n");
}

static void title(picture *p, const char *date, int height)
{
    const vt_version_info v = vt_version();
    const char *cpu = p->r->machine.cpu[0] ? p->r->machine.cpu : "a processor";
    PUT(p, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
        "aria-labelledby=\"t d\">\n<title id=\"t\">How cost grows on ", WIDTH, height, WIDTH, height);
    svg_text(&p->s, cpu);
    PUT(p, "</title>\n<desc id=\"d\">Seconds over size of %zu curves.</desc>\n", p->r->ncurves);
    style(p);
    PUT(p, "<text class=\"title\" x=\"%d\" y=\"26\">", LEFT);
    svg_text(&p->s, cpu);
    PUT(p, ", %d cores, kernels %s</text>\n<text x=\"%d\" y=\"46\">vitrine %s, commit %s, ", p->r->machine.cores,
        p->r->isa ? p->r->isa : "?", LEFT, v.version, v.commit);
    svg_text(&p->s, date);
    PUT(p, "</text>\n<g transform=\"translate(%d,64)\"><path class=\"taken\" d=\"M0 0h30\"/><circle class=\"size\" "
        "cx=\"15\" r=\"4\"/><text x=\"38\" y=\"4\">seconds of a call</text><path class=\"predicted\" "
        "d=\"M180 0h30\"/><text x=\"218\" y=\"4\">the work that is counted</text><path class=\"least\" "
        "d=\"M400 0h30\"/><text x=\"438\" y=\"4\">least, by the machine's limits</text></g>\n", LEFT);
}

vt_status curves_svg(bytes *out, const vt_bench_report *r, const char *date, vt_error *err)
{
    picture p = { .s = { .out = out, .err = err }, .r = r };
    title(&p, date, TOP + 20 + DOWN * (int)((r->ncurves + 1) / 2));
    for (size_t i = 0; i < r->ncurves; i++)
        panel(&p, &r->curves[i], LEFT + ACROSS * (double)(i % 2), TOP + 20 + DOWN * (double)(i / 2));
    PUT(&p, "</svg>\n");
    return p.s.status;
}

/* roofline.c -- see roofline.h.
 *
 * Rate against arithmetic intensity, both logarithmic (Williams, Waterman, Patterson,
 * "Roofline", 2009): of each row that multiplies, FLOP per byte that it must move and the
 * FLOP/s that it reached.  Above them what the same run measured: the multiply-adds of
 * one thread and of all (level), and memory and the caches (slanted: bytes/s times FLOP
 * per byte).  A row is a disc; where its target is met it is filled, where it is missed it
 * is a cross.  Below, the share of its limit of every row that has one, multiply-adds or
 * not, with its target as a tick.
 *
 * A label stands at the first place around its point that is free, and a line leads there
 * where that is far; a row for which no place is free has its name as a tooltip alone.
 */
#include "cli/roofline.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/svg.h"

enum { WIDTH = 980, LEFT = 80, RIGHT = 30, TOP = 84, HEIGHT = 560, LIST_LEFT = 220, ROW = 20,
       BOXES = 256 };
static const double char_width = 7.0, line_height = 14;

typedef struct box { double x, y, w, h; } box;

typedef struct picture {
    svg      s;
    svg_axis x, y;
    box      taken[BOXES];
    size_t   ntaken;
    const vt_bench_report *r;
} picture;

#define PUT(p, ...) SVG_PUT(&(p)->s, __VA_ARGS__)

static bool on_roof(const vt_bench_row *row)
{
    return row->verdict == VT_BENCH_MEASURED && row->flop > 0 && row->bytes > 0 && !row->curve;
}

/* The points of a curve have a picture of their own (curves.h). */
static bool has_share(const vt_bench_row *row) { return isfinite(row->share) && !row->curve; }

static bool is_free(const picture *p, const box *b)
{
    if (b->x < LEFT || b->x + b->w > WIDTH - RIGHT || b->y < TOP || b->y + b->h > TOP + HEIGHT)
        return false;
    for (size_t i = 0; i < p->ntaken; i++) {
        const box *o = &p->taken[i];
        if (b->x < o->x + o->w && o->x < b->x + b->w && b->y < o->y + o->h && o->y < b->y + b->h)
            return false;
    }
    return true;
}

static void take(picture *p, box b)
{
    if (p->ntaken < BOXES) p->taken[p->ntaken++] = b;
}

/* Powers of ten that hold all rows and roofs. */
static void set_axes(picture *p)
{
    double low = HUGE_VAL, high = 0, slow = HUGE_VAL, fast = 0;
    for (size_t i = 0; i < p->r->nrows; i++) {
        const vt_bench_row *row = &p->r->rows[i];
        if (!on_roof(row)) continue;
        low = fmin(low, row->flop / row->bytes);
        high = fmax(high, row->flop / row->bytes);
        slow = fmin(slow, row->flop / row->seconds);
    }
    for (size_t i = 0; i < p->r->nlimits; i++)
        if (strcmp(p->r->limits[i].name, "fma") == 0) fast = fmax(fast, p->r->limits[i].median);
    if (!(high > 0)) low = 0.1, high = 1000;
    if (!(fast > 0)) fast = 1e12;
    if (!(slow < fast)) slow = fast / 100;
    p->x = (svg_axis){ .low = pow(10, floor(log10(fmin(low, 1)))), .high = pow(10, ceil(log10(high * 1.5))),
                       .at = LEFT, .length = WIDTH - LEFT - RIGHT, .log = true };
    p->y = (svg_axis){ .low = pow(10, floor(log10(fmin(slow, fast / 30)))),
                       .high = pow(10, ceil(log10(fast * 1.2))), .at = TOP + HEIGHT, .length = -HEIGHT,
                       .log = true };
}

static void grid(picture *p)
{
    for (double v = p->x.low; v <= p->x.high * 1.01; v *= 10)
        PUT(p, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text x=\"%.1f\" "
            "y=\"%d\" text-anchor=\"middle\">%g</text>\n", svg_place(&p->x, v), svg_place(&p->x, v), TOP,
            TOP + HEIGHT, svg_place(&p->x, v), TOP + HEIGHT + 20, v);
    for (double v = p->y.low; v <= p->y.high * 1.01; v *= 10)
        PUT(p, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" "
            "y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT, WIDTH - RIGHT, svg_place(&p->y, v),
            svg_place(&p->y, v), LEFT - 6, svg_place(&p->y, v) + 4, v / 1e9);
    PUT(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">FLOP for each byte that is moved</text>\n"
        "<text x=\"22\" y=\"%d\" transform=\"rotate(-90 22 %d)\" text-anchor=\"middle\">GFLOP/s</text>\n",
        (LEFT + WIDTH - RIGHT) / 2, TOP + HEIGHT + 44, TOP + HEIGHT / 2, TOP + HEIGHT / 2);
}

/* ---- roofs -------------------------------------------------------------------- */

static double best(const vt_bench_report *r, const char *const *names, size_t n, int threads)
{
    double most = 0;
    for (size_t i = 0; i < r->nlimits; i++)
        for (size_t k = 0; k < n; k++)
            if (r->limits[i].threads == threads && strcmp(r->limits[i].name, names[k]) == 0)
                most = fmax(most, r->limits[i].median);
    return most;
}

/* A name beside its roof, at the first place of `n` that is free; without one its tooltip
 * has it. */
static void roof_label(picture *p, const box *places, size_t n, const char *line)
{
    for (size_t i = 0; i < n; i++) {
        box b = places[i];
        b.w = char_width * (double)strlen(line);
        b.h = line_height + 2;
        if (!is_free(p, &b)) continue;
        take(p, b);
        PUT(p, "<text class=\"halo roofname\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", b.x,
            b.y + line_height - 3, line);
        return;
    }
}

static void roof_words(char *line, size_t size, const char *what, int threads, double rate)
{
    snprintf(line, size, "%s, %d thread%s: %.3g G", what, threads, threads == 1 ? "" : "s", rate / 1e9);
}

/* Slanted up to where the multiply-adds end it. */
static void roofs_of(picture *p, int threads, const char *class)
{
    static const char *const memory[] = { "read", "copy", "triad" }, *const fma[] = { "fma" };
    static const char *const caches[] = { "l1", "l2", "l3" };
    const double peak = best(p->r, fma, 1, threads);
    if (!(peak > 0)) return;
    const double y = svg_place(&p->y, peak);
    char line[80];
    double widest = 0;
    for (size_t i = 0; i < 4; i++) {
        const char *const *names = i < 3 ? &caches[i] : memory;
        const double rate = best(p->r, names, i < 3 ? 1 : 3, threads);
        if (!(rate > 0)) continue;
        widest = fmax(widest, rate);
        const double from = fmax(p->x.low, p->y.low / rate), to = fmin(p->x.high, peak / rate);
        if (from >= to) continue;
        PUT(p, "<line class=\"%s%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"><title>%s, %d "
            "threads: %.3g GB/s</title></line>\n", class, i < 3 ? " cache" : "", svg_place(&p->x, from),
            svg_place(&p->y, from * rate), svg_place(&p->x, to), svg_place(&p->y, to * rate),
            i < 3 ? caches[i] : "memory", threads, rate / 1e9);
        if (threads != p->r->machine.threads) continue;
        roof_words(line, sizeof line, i < 3 ? caches[i] : "memory", threads, rate);
        box places[12];                             /* below the slope, from its foot up */
        for (size_t k = 0; k < 12; k++) {
            const double at = from * pow(to / from, 0.12 + 0.06 * (double)k);
            places[k] = (box){ .x = svg_place(&p->x, at) + 6, .y = svg_place(&p->y, at * rate) + 2 };
        }
        roof_label(p, places, 12, line);
    }
    const double from = widest > 0 ? fmax(p->x.low, peak / widest) : p->x.low;
    PUT(p, "<line class=\"%s\" x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", class,
        svg_place(&p->x, from), WIDTH - RIGHT, y, y);
    roof_words(line, sizeof line, "multiply-adds", threads, peak);
    box places[6];                                  /* above it, below it, further left */
    for (size_t k = 0; k < 6; k++)
        places[k] = (box){ .x = WIDTH - RIGHT - 240 * (1 + (double)(k / 2)),
                           .y = k % 2 == 0 ? y - 2 - line_height : y + 2 };
    roof_label(p, places, 6, line);
}

/* ---- points --------------------------------------------------------------------- */

static const char *state_of(const vt_bench_row *row)
{
    return !isfinite(row->target) ? "plain" : row->met ? "met" : "missed";
}

static void mark(picture *p, const vt_bench_row *row, double x, double y)
{
    PUT(p, "<g class=\"point %s\">", state_of(row));
    if (isfinite(row->target) && !row->met)
        PUT(p, "<path d=\"M%.1f %.1fl10 10m0 -10l-10 10\"/>", x - 5, y - 5);
    else
        PUT(p, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>", x, y);
    PUT(p, "<title>");
    svg_text(&p->s, row->name);
    PUT(p, ": %.3g GFLOP/s, %.0f %% of its limit, %s</title></g>\n", row->flop / row->seconds / 1e9,
        100 * row->share, isfinite(row->target) ? row->met ? "target met" : "target missed" : "no target");
}

/* Rings of places, the nearest first. */
static void label(picture *p, const vt_bench_row *row, double x, double y)
{
    const double w = char_width * (double)strlen(row->name), pi = acos(-1);
    for (int ring = 0; ring < 14; ring++)
        for (int k = 0; k < 16; k++) {
            const double far = 9 + 13 * ring, angle = pi / 8 * k;
            const double dx = far * cos(angle), dy = far * sin(angle);
            const box b = { x + dx - (dx < -1e-9 ? w : fabs(dx) < 1e-9 ? w / 2 : 0), y + dy - line_height / 2,
                            w, line_height };
            if (!is_free(p, &b)) continue;
            take(p, b);
            if (ring > 0)
                PUT(p, "<line class=\"lead\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", x, y, x + dx, y + dy);
            PUT(p, "<text class=\"halo label\" x=\"%.1f\" y=\"%.1f\">", b.x, b.y + 11);
            svg_text(&p->s, row->name);
            PUT(p, "</text>\n");
            return;
        }
}

static void points(picture *p)
{
    for (int pass = 0; pass < 2; pass++)            /* all points, then what is beside them */
        for (size_t i = 0; i < p->r->nrows; i++) {
            const vt_bench_row *row = &p->r->rows[i];
            if (!on_roof(row)) continue;
            const double x = svg_place(&p->x, row->flop / row->bytes);
            const double y = svg_place(&p->y, row->flop / row->seconds);
            if (pass == 0) {
                mark(p, row, x, y);
                take(p, (box){ x - 5, y - 5, 10, 10 });
            } else
                label(p, row, x, y);
        }
}

/* ---- shares --------------------------------------------------------------------- */

static int shares(picture *p, int top)
{
    const svg_axis a = { .low = 0, .high = 1, .at = LIST_LEFT, .length = WIDTH - LIST_LEFT - 60 };
    int y = top + 40, count = 0;
    for (size_t i = 0; i < p->r->nrows; i++) count += has_share(&p->r->rows[i]) ? 1 : 0;
    if (count == 0) return top;
    PUT(p, "<text class=\"head\" x=\"%d\" y=\"%d\">share of the limit</text>\n", LIST_LEFT, top + 8);
    for (int k = 0; k <= 10; k += 2)
        PUT(p, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" "
            "text-anchor=\"middle\">%d %%</text>\n", svg_place(&a, k / 10.0), svg_place(&a, k / 10.0), top + 30,
            y + count * ROW, svg_place(&a, k / 10.0), top + 26, 10 * k);
    for (size_t i = 0; i < p->r->nrows; i++) {
        const vt_bench_row *row = &p->r->rows[i];
        if (!has_share(row)) continue;
        const double x = svg_place(&a, fmin(row->share, 1.05));
        PUT(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LIST_LEFT - 10, y + 5);
        svg_text(&p->s, row->name);
        PUT(p, "</text><line class=\"bar\" x1=\"%d\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", LIST_LEFT, x, y, y);
        if (row->goal == VT_BENCH_SHARE && isfinite(row->target))
            PUT(p, "<line class=\"target\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>",
                svg_place(&a, row->target), svg_place(&a, row->target), y - 8, y + 8);
        mark(p, row, x, y);
        y += ROW;
    }
    return y;
}

/* ---- the picture ------------------------------------------------------------------ */

static void style(picture *p)
{
    PUT(p, "<style>\nsvg { background: #fff; color: #222; font: 13px sans-serif; max-width: 100%%; height: auto; }\n"
        "text { fill: currentColor; }\n.title { font-size: 18px; font-weight: bold; }\n.head { font-weight: bold; }\n"
        ".grid { stroke: currentColor; stroke-opacity: 0.15; }\n.lead { stroke: currentColor; stroke-opacity: 0.45; }\n"
        ".all { stroke: #0072b2; stroke-width: 2; }\n.one { stroke: #8a6d00; stroke-width: 2; stroke-dasharray: 7 4; }\n"
        ".cache { stroke-width: 1; }\n.bar { stroke: currentColor; stroke-opacity: 0.3; stroke-width: 6; }\n"
        ".target { stroke: currentColor; stroke-width: 2; }\n"
        ".plain circle { fill: none; stroke: currentColor; stroke-width: 1.5; }\n.met circle { fill: #007a5a; }\n"
        ".missed path { stroke: #c0392b; stroke-width: 2.5; fill: none; }\n.label { font-size: 12px; }\n"
        ".roofname { font-size: 12px; font-style: italic; }\n"
        ".halo { stroke: #fff; stroke-width: 3px; paint-order: stroke; }\n"
        "@media (prefers-color-scheme: dark) {\nsvg { background: #16181d; color: #ddd; }\n"
        ".halo { stroke: #16181d; }\n.all { stroke: #56b4e9; }\n.one { stroke: #f0e442; }\n"
        ".met circle { fill: #3fd0a4; }\n.missed path { stroke: #ff8a7a; }\n}\n</style>\n");
}

static void legend(picture *p)
{
    PUT(p, "<g transform=\"translate(%d,64)\"><g class=\"point met\"><circle r=\"4.5\"/></g><text x=\"12\" y=\"4\">target "
        "met</text><g class=\"point missed\"><path d=\"M115 -5l10 10m0 -10l-10 10\"/></g><text x=\"132\" y=\"4\">target "
        "missed</text><g class=\"point plain\"><circle cx=\"250\" r=\"4.5\"/></g><text x=\"262\" y=\"4\">no target</text>"
        "<line class=\"all\" x1=\"350\" x2=\"380\"/><text x=\"388\" y=\"4\">%d threads</text>", LEFT + 6,
        p->r->machine.threads);
    if (p->r->machine.threads > 1)
        PUT(p, "<line class=\"one\" x1=\"490\" x2=\"520\"/><text x=\"528\" y=\"4\">one thread</text>");
    PUT(p, "</g>\n");
}

vt_status roofline_svg(bytes *out, const vt_bench_report *r, const char *date, vt_error *err)
{
    const vt_version_info v = vt_version();
    picture *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(err, sizeof *p, "a picture");
    p->s = (svg){ .out = out, .err = err };
    p->r = r;
    int rows = 0;
    for (size_t i = 0; i < r->nrows; i++) rows += has_share(&r->rows[i]) ? 1 : 0;
    const int below = TOP + HEIGHT + 80, height = below + (rows ? 60 + rows * ROW : 0);
    set_axes(p);
    PUT(p, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
        "aria-labelledby=\"t d\">\n<title id=\"t\">Roofline of ", WIDTH, height, WIDTH, height);
    svg_text(&p->s, r->machine.cpu[0] ? r->machine.cpu : "a processor");
    PUT(p, "</title>\n<desc id=\"d\">Rates and shares of %zu cases; %zu targets, %zu missed, %zu not shown.</desc>\n",
        r->nrows, r->targets, r->missed, r->unshown);
    style(p);
    PUT(p, "<text class=\"title\" x=\"%d\" y=\"26\">", LEFT);
    svg_text(&p->s, r->machine.cpu[0] ? r->machine.cpu : "a processor");
    PUT(p, ", %d cores, kernels %s</text>\n<text x=\"%d\" y=\"46\">vitrine %s, commit %s, ", r->machine.cores,
        r->isa ? r->isa : "?", LEFT, v.version, v.commit);
    svg_text(&p->s, date);
    PUT(p, "</text>\n");
    legend(p);
    grid(p);
    if (r->machine.threads > 1) roofs_of(p, 1, "one");
    roofs_of(p, r->machine.threads, "all");
    points(p);
    (void)shares(p, below);
    PUT(p, "</svg>\n");
    const vt_status s = p->s.status;
    free(p);
    return s;
}

/* plot_svg.c -- see plot_svg.h.
 *
 * Above, the loss in nats per token over the steps: of each step (thin), smoothed, what
 * was measured on the validation part (dots), and where they are known what to compare
 * with: the loss of a blind guess, ln V, and that of the best bigram model, each with its
 * number at its right end; below, the learning rate.  A curve of more steps than the
 * picture has columns shows the mean of each column's steps; so do the dots.
 *
 *     smoothed_i = mean of loss_(i-w) .. loss_(i+w),  w = n / 50, fewer near an end
 *
 * so that it lies amid the points and lags behind none, where the loss falls fast, too; of
 * fewer than 50 points it would say nothing, and is left out.
 */
#include "train/plot_svg.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/svg.h"

enum { WIDTH = 870, LEFT = 100, TOP = 72, HEIGHT = 330, LR_TOP = 446, LR_HEIGHT = 80,
       BOTTOM = 64, LEGEND_ROW = 28, SMOOTHED_FROM = 50 };

/* Light, dark: readable on either, also for who does not see red and green apart
 * (Okabe, Ito 2008). */
static const char *const colors[PLOT_RUNS][2] = {
    { "#0072b2", "#56b4e9" }, { "#d55e00", "#e69f00" }, { "#009e73", "#3fd0a4" },
    { "#a83f7f", "#cc79a7" }, { "#7a6a00", "#f0e442" }, { "#5b4bb5", "#a99cff" },
    { "#444444", "#cccccc" }, { "#8c2d04", "#ff9b7a" },
};

typedef svg_axis axis;

typedef struct picture {
    svg  s;
    axis x, y, lr;
} picture;

#define PUT(p, ...) SVG_PUT(&(p)->s, __VA_ARGS__)

static double place(const axis *a, double v) { return svg_place(a, v); }
static void put_text(picture *p, const char *text) { svg_text(&p->s, text); }

/* ---- ranges and ticks ----------------------------------------------------- */

#define LEAST 1e-280            /* what is below is drawn as 0 is */

static void include(axis *a, double v)
{
    if (!isfinite(v)) return;
    if (v < a->low) a->low = v;
    if (v > a->high) a->high = v;
}

/* 1, 2 or 5 times a power of ten: about `count` of them in the range. */
static double tick_step(double range, int count)
{
    const double rough = range / count, power = pow(10, floor(log10(rough)));
    const double r = rough / power;
    return power * (r <= 1 ? 1 : r <= 2 ? 2 : r <= 5 ? 5 : 10);
}

/* Widens to whole ticks, and a range of nothing to one: also one that the ten digits of a
 * tick's label do not show, or that a double has no ticks in. */
static void round_out(axis *a, int count)
{
    if (a->high - a->low <= 1e-9 * a->high || a->high < LEAST) {
        const double half = a->high >= LEAST ? a->high / 10 : 0.5;
        a->low -= half;
        a->high += half;
    }
    const double step = tick_step(a->high - a->low, count);
    a->low = floor(a->low / step + 1e-9) * step;
    a->high = ceil(a->high / step - 1e-9) * step;
}

static void set_axes(picture *p, const plot_run *runs, size_t n, bool log_steps)
{
    p->x = (axis){ .low = HUGE_VAL, .high = -HUGE_VAL, .at = LEFT, .length = PLOT_COLUMNS,
                   .log = log_steps };
    p->y = (axis){ .low = HUGE_VAL, .high = -HUGE_VAL, .at = TOP + HEIGHT, .length = -HEIGHT };
    p->lr = (axis){ .low = 0, .high = 0, .at = LR_TOP + LR_HEIGHT, .length = -LR_HEIGHT };
    for (size_t k = 0; k < n; k++) {
        const plot_run *r = &runs[k];
        include(&p->x, r->step[0]);
        include(&p->x, r->step[r->n - 1]);
        include(&p->y, r->uniform);
        include(&p->y, r->bigram);
        for (size_t i = 0; i < r->n; i++) {
            include(&p->y, r->loss[i]);
            include(&p->y, r->val[i]);
            include(&p->lr, r->lr[i]);
        }
    }
    round_out(&p->y, 6);
    if (p->lr.high < LEAST) p->lr.high = 1;
    else round_out(&p->lr, 2);
}

static void tick(picture *p, const axis *a, double v, bool vertical, const char *group)
{
    const double at = place(a, v);
    if (vertical)
        PUT(p, "<line class=\"grid\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%d\" y2=\"%d\"/>"
            "<text class=\"%s\" x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%.10g</text>\n", at, at,
            TOP, LR_TOP + LR_HEIGHT, group, at, LR_TOP + LR_HEIGHT + 24, v);
    else
        PUT(p, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.2f\" y2=\"%.2f\"/>"
            "<text class=\"%s\" x=\"%d\" y=\"%.2f\" text-anchor=\"end\">%.10g</text>\n", LEFT,
            LEFT + PLOT_COLUMNS, at, at, group, LEFT - 8, at + 4, v);
}

/* Powers of ten; of less than two decades 2 and 5 times these, too. */
static void log_ticks(picture *p, const axis *a, bool vertical, const char *group)
{
    static const int times[] = { 1, 2, 5 };
    const size_t count = a->high < 100 * a->low ? 3 : 1;
    for (double power = 1; power <= a->high; power *= 10)
        for (size_t i = 0; i < count; i++)
            if (power * times[i] >= a->low && power * times[i] <= a->high)
                tick(p, a, power * times[i], vertical, group);
}

static void ticks(picture *p, const axis *a, int count, bool vertical, const char *group)
{
    if (a->high <= a->low) {
        tick(p, a, a->low, vertical, group);
        return;
    }
    if (a->log) {
        log_ticks(p, a, vertical, group);
        return;
    }
    double step = tick_step(a->high - a->low, count);
    if (vertical && step < 1) step = 1;                 /* steps are whole */
    const double first = ceil(a->low / step - 1e-9);
    const int n = 1 + (int)floor((a->high - first * step) / step + 1e-9);
    for (int i = 0; i < n; i++) {
        const double at = (first + i) * step;
        tick(p, a, at == 0 ? 0 : at, vertical, group);          /* no -0 */
    }
}

/* ---- curves --------------------------------------------------------------- */

/* Points first .. last - 1 become one: the mean of their columns. */
static size_t columns(const plot_run *r) { return r->n < PLOT_COLUMNS ? r->n : PLOT_COLUMNS; }

static double mean(const double *v, const plot_run *r, size_t column, size_t count)
{
    const size_t first = r->n * column / count, last = r->n * (column + 1) / count;
    double sum = 0;
    for (size_t i = first; i < last; i++) sum += v[i];
    return sum / (double)(last - first);
}

static void curve(picture *p, const plot_run *r, const double *v, const axis *y, size_t k,
                  const char *what)
{
    const size_t count = columns(r);
    if (count == 1) {
        PUT(p, "<circle class=\"%s dot c%zu\" r=\"2.5\" cx=\"%.2f\" cy=\"%.2f\"/>\n", what, k,
            place(&p->x, r->step[0]), place(y, v[0]));
        return;
    }
    PUT(p, "<polyline class=\"%s c%zu\" points=\"", what, k);
    for (size_t i = 0; i < count; i++)
        PUT(p, "%s%.2f,%.2f", i ? " " : "", place(&p->x, mean(r->step, r, i, count)),
            place(y, mean(v, r, i, count)));
    PUT(p, "\"/>\n");
}

/* A point for each column, at the middle one of its steps. */
static void smoothed(picture *p, const plot_run *r, size_t k)
{
    const size_t count = columns(r), n = r->n;
    if (n < SMOOTHED_FROM) return;
    PUT(p, "<polyline class=\"smooth c%zu\" points=\"", k);
    for (size_t column = 0; column < count; column++) {
        const size_t i = (n * column / count + n * (column + 1) / count - 1) / 2;
        const size_t end = i < n - 1 - i ? i : n - 1 - i, w = n / 50 < end ? n / 50 : end;
        double sum = 0;
        for (size_t j = i - w; j <= i + w; j++) sum += r->loss[j];
        PUT(p, "%s%.2f,%.2f", column ? " " : "", place(&p->x, r->step[i]),
            place(&p->y, sum / (double)(2 * w + 1)));
    }
    PUT(p, "\"/>\n");
}

/* Of more dots than columns each is a mean, too. */
static void dots(picture *p, const plot_run *r, size_t k)
{
    size_t measured = 0, seen = 0, first = 0, shown = 0;
    double step = 0, val = 0;
    for (size_t i = 0; i < r->n; i++) measured += isfinite(r->val[i]) ? 1 : 0;
    const size_t count = measured < PLOT_COLUMNS ? measured : PLOT_COLUMNS;
    for (size_t i = 0; i < r->n; i++) {
        if (!isfinite(r->val[i])) continue;
        step += r->step[i];
        val += r->val[i];
        if (++seen < measured * (shown + 1) / count) continue;
        const double n = (double)(seen - first);
        PUT(p, "<circle class=\"val c%zu\" r=\"4\" cx=\"%.2f\" cy=\"%.2f\"><title>step %.0f: "
            "%.4f</title></circle>\n", k, place(&p->x, step / n), place(&p->y, val / n), step / n, val / n);
        step = val = 0;
        first = seen;
        shown++;
    }
}

static void draw_run(picture *p, const plot_run *r, size_t k)
{
    PUT(p, "<g>\n<title>");
    put_text(p, r->name);
    PUT(p, "</title>\n");
    curve(p, r, r->loss, &p->y, k, "loss");
    smoothed(p, r, k);
    dots(p, r, k);
    curve(p, r, r->lr, &p->lr, k, "lr");
    PUT(p, "</g>\n");
}

/* ---- what to compare with ------------------------------------------------- */

/* Whether an earlier run has the same line. */
static bool drawn(const plot_run *runs, size_t k, bool bigram)
{
    for (size_t i = 0; i < k; i++)
        if (bigram ? runs[i].bigram == runs[k].bigram : runs[i].uniform == runs[k].uniform)
            return true;
    return false;
}

static void mark_line(picture *p, double v, size_t k, const char *class)
{
    PUT(p, "<line class=\"%s c%zu\" x1=\"%d\" x2=\"%d\" y1=\"%.2f\" y2=\"%.2f\"/>\n", class, k,
        LEFT, LEFT + PLOT_COLUMNS, place(&p->y, v), place(&p->y, v));
}

/* Above its line, at the end where a falling curve is far; at the upper edge, below it.
 * Those of several runs stand side by side. */
static void mark_text(picture *p, double v, size_t k, bool left, const char *text)
{
    const double at = place(&p->y, v), shift = 6 + 200.0 * (double)(k % 3);
    PUT(p, "<text class=\"mark t%zu\" x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", k,
        left ? LEFT + shift : LEFT + PLOT_COLUMNS - shift, at < TOP + 26 ? at + 20 : at - 7,
        left ? "start" : "end");
    put_text(p, text);
    PUT(p, "</text>\n");
}

/* All lines, then all text, so that none is crossed out. */
static void marks(picture *p, const plot_run *runs, size_t n)
{
    char text[100];
    for (size_t k = 0; k < n; k++) {
        const plot_run *r = &runs[k];
        if (isfinite(r->uniform) && !drawn(runs, k, false)) mark_line(p, r->uniform, k, "uniform");
        if (isfinite(r->bigram) && !drawn(runs, k, true)) mark_line(p, r->bigram, k, "bigram");
    }
    for (size_t k = 0; k < n; k++) {
        const plot_run *r = &runs[k];
        snprintf(text, sizeof text, n == 1 ? "blind guess, ln V: %.4f" : "ln V %.4f", r->uniform);
        if (isfinite(r->uniform) && !drawn(runs, k, false))
            mark_text(p, r->uniform, k, false, text);
        if (n > 1) snprintf(text, sizeof text, "bigram %.4f", r->bigram);
        else snprintf(text, sizeof text, "best bigram, add-k, k = %g: %.4f", r->bigram_k, r->bigram);
        if (isfinite(r->bigram) && !drawn(runs, k, true))
            mark_text(p, r->bigram, k, p->x.log, text);
    }
}

/* ---- the picture ---------------------------------------------------------- */

static void style(picture *p, size_t n)
{
    static const char *const schemes[] = { "", "@media (prefers-color-scheme: dark) {\n" };
    PUT(p, "<style>\nsvg { background: #fff; color: #222; font: 15px sans-serif; max-width: 100%%; "
        "height: auto; }\ntext { fill: currentColor; }\n"
        ".title { font-size: 18px; font-weight: bold; }\n"
        ".grid { stroke: currentColor; stroke-opacity: 0.15; }\n"
        "polyline { fill: none; }\n.loss { stroke-width: 1; stroke-opacity: 0.7; }\n"
        ".smooth { stroke-width: 2.5; }\n.lr { stroke-width: 1.5; }\n"
        ".uniform { stroke-dasharray: 8 5; }\n"
        ".bigram { stroke-width: 1.5; stroke-dasharray: 2 4; }\n"
        ".mark { stroke: #fff; stroke-width: 5px; paint-order: stroke; }\n.val { stroke-width: 1; }\n");
    for (int dark = 0; dark < 2; dark++) {
        PUT(p, "%s", schemes[dark]);
        if (dark)
            PUT(p, "svg { background: #16181d; color: #ddd; }\n.mark { stroke: #16181d; }\n");
        for (size_t k = 0; k < n; k++)
            PUT(p, ".c%zu { stroke: %s; }\n.val.c%zu, .dot.c%zu, .t%zu { fill: %s; }\n", k,
                colors[k][dark], k, k, k, colors[k][dark]);
    }
    /* As wide as a telephone, all is drawn at half its size: but for the text. */
    PUT(p, "}\n@media (max-width: 560px) {\nsvg { font-size: 24px; }\n"
        ".title { font-size: 28px; }\n}\n</style>\n");
}

static void key(picture *p, int x, int y, const char *shape, const char *text)
{
    PUT(p, "<g transform=\"translate(%d,%d)\">%s<text x=\"32\" y=\"5\">", x, y, shape);
    put_text(p, text);
    PUT(p, "</text></g>\n");
}

/* Of several runs each has a row, since names can be long. */
static void legend(picture *p, const plot_run *runs, size_t n)
{
    const int y = TOP - 22;
    char shape[160];
    if (n == 1) {
        const bool smooth = runs[0].n >= SMOOTHED_FROM;
        bool measured = false;
        for (size_t i = 0; i < runs[0].n; i++) measured = measured || isfinite(runs[0].val[i]);
        key(p, LEFT, y, "<line class=\"loss c0\" x2=\"24\"/>", "training");
        if (smooth)
            key(p, LEFT + 180, y, "<line class=\"smooth c0\" x2=\"24\"/>", "smoothed");
        if (measured)
            key(p, LEFT + (smooth ? 360 : 180), y, "<circle class=\"val c0\" cx=\"12\" r=\"4\"/>",
                "validation");
        return;
    }
    for (size_t k = 0; k < n; k++) {
        snprintf(shape, sizeof shape, "<line class=\"smooth c%zu\" x2=\"24\"/>", k);
        key(p, LEFT, y - LEGEND_ROW * (int)(n - 1 - k), shape, runs[k].name);
    }
}

static void titles(picture *p, const plot_run *runs, size_t n)
{
    PUT(p, "<title id=\"t\">Loss of ");
    for (size_t k = 0; k < n; k++) {
        if (k) PUT(p, ", ");
        put_text(p, runs[k].name);
    }
    PUT(p, "</title>\n<desc id=\"d\">");
    for (size_t k = 0; k < n; k++) {
        const plot_run *r = &runs[k];
        double val = (double)NAN;
        for (size_t i = 0; i < r->n; i++)
            if (isfinite(r->val[i])) val = r->val[i];
        put_text(p, r->name);
        PUT(p, ": training loss %.4f nats per token at step %.0f, %.4f at step %.0f", r->loss[0],
            r->step[0], r->loss[r->n - 1], r->step[r->n - 1]);
        if (isfinite(val)) PUT(p, "; validation loss, last measured, %.4f", val);
        if (isfinite(r->uniform)) PUT(p, "; a blind guess has ln V, %.4f", r->uniform);
        if (isfinite(r->bigram))
            PUT(p, "; the best add-k bigram model, k = %g, has %.4f", r->bigram_k, r->bigram);
        PUT(p, ". ");
    }
    PUT(p, "Below, the learning rate.</desc>\n");
}

vt_status plot_svg(bytes *out, const plot_run *runs, size_t n, bool log_steps, vt_error *err)
{
    picture p = { .s = { .out = out, .err = err } };
    const int bottom = LR_TOP + LR_HEIGHT + BOTTOM, top = -LEGEND_ROW * (int)(n - 1);
    const int height = bottom - top;
    set_axes(&p, runs, n, log_steps);
    PUT(&p, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 %d %d %d\" width=\"%d\" "
        "height=\"%d\" role=\"img\" aria-labelledby=\"t d\">\n", top, WIDTH, height, WIDTH, height);
    titles(&p, runs, n);
    style(&p, n);
    PUT(&p, "<text class=\"title\" x=\"%d\" y=\"%d\">", LEFT, top + 30);
    put_text(&p, n == 1 ? runs[0].name : "loss of several runs");
    PUT(&p, "</text>\n");
    legend(&p, runs, n);
    ticks(&p, &p.y, 6, false, "ytick");
    ticks(&p, &p.lr, 2, false, "lrtick");
    ticks(&p, &p.x, 8, true, "xtick");
    PUT(&p, "<text x=\"%d\" y=\"%d\" transform=\"rotate(-90 22 %d)\" text-anchor=\"middle\">loss, "
        "nats per token</text>\n", 22, TOP + HEIGHT / 2, TOP + HEIGHT / 2);
    PUT(&p, "<text x=\"%d\" y=\"%d\">learning rate</text>\n", LEFT, LR_TOP - 8);
    PUT(&p, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n",
        LEFT + PLOT_COLUMNS / 2, bottom - 10);
    for (size_t k = 0; k < n; k++) draw_run(&p, &runs[k], k);
    marks(&p, runs, n);
    PUT(&p, "</svg>\n");
    return p.s.status;
}

/* progress_curve.c -- the loss curve as text: see progress.h.
 *
 *     loss 3.5702  o val 3.6423 (least 3.6411)
 *     6 |:
 *       |':.
 *     4 +   ''::....o....
 *       +--------------------
 *        1              4000
 *
 * The plot is a grid of dots, several to a character: 2 x 4 in braille, 1 x 2
 * in ASCII (' . :).  Each column of dots shows the mean of its steps, or a
 * point between two steps, joined to the column before.
 *
 * References: Unicode 15, block "Braille Patterns" (the dots' bits).
 */
#include "base/progress.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 9 };             /* columns left of the axis */

typedef struct plot {
    size_t columns, rows;       /* characters */
    size_t sx, sy;              /* dots in one, across and down */
    double low, high;           /* the losses of the lowest and highest dot */
    unsigned *cells;            /* columns x rows: a bit for each dot, and MARK */
    bool   utf8;
} plot;

static const unsigned MARK = 0x100;     /* a validation loss lies here: 'o' */

/* The dot row of a loss, 0 at the top. */
static size_t dot_row(const plot *p, double value)
{
    /* Halves, so that no difference of finite numbers overflows. */
    const double range = p->high / 2 - p->low / 2;
    const double share = (p->high / 2 - value / 2) / range;
    const double last = (double)(p->rows * p->sy - 1);
    if (!(share > 0)) return 0;
    return share >= 1 ? (size_t)last : (size_t)(share * last + 0.5);
}

static void set_dot(plot *p, size_t x, size_t y)
{
    static const unsigned braille[4][2] = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } };
    unsigned *cell = &p->cells[y / p->sy * p->columns + x / p->sx];
    *cell |= p->utf8 ? braille[y % 4][x % 2] : 1u << (y % 2);
}

/* The loss that dot column x of `dots` shows; NaN where there is none. */
static double column_value(const progress_curve_data *d, size_t x, size_t dots)
{
    if (d->n >= dots) {
        /* n / dots steps each, the first n % dots columns one more. */
        const size_t each = d->n / dots, more = d->n % dots;
        const size_t from = x * each + (x < more ? x : more);
        const size_t to = from + each + (x < more ? 1 : 0);
        double mean = 0;
        size_t count = 0;
        for (size_t i = from; i < to; i++)
            if (isfinite(d->loss[i])) mean += (d->loss[i] - mean) / (double)++count;
        return count > 0 ? mean : (double)NAN;
    }
    if (d->n == 1) return x == 0 ? d->loss[0] : (double)NAN;
    const double at = (double)x * (double)(d->n - 1) / (double)(dots - 1);
    size_t i = (size_t)at;
    if (i > d->n - 2) i = d->n - 2;
    const double part = at - (double)i, a = d->loss[i], b = d->loss[i + 1];
    return part <= 0 ? a : part >= 1 ? b : a * (1 - part) + b * part;
}

/* Widens low .. high by a finite value. */
static void widen(plot *p, double value)
{
    if (!isfinite(value)) return;
    if (!(value >= p->low)) p->low = value;
    if (!(value <= p->high)) p->high = value;
}

/* False when there is nothing to draw. */
static bool find_range(plot *p, const progress_curve_data *d)
{
    p->low = p->high = (double)NAN;             /* compares false: the first is taken */
    const size_t dots = p->columns * p->sx;
    for (size_t x = 0; d->n > 0 && x < dots; x++) widen(p, column_value(d, x, dots));
    for (size_t i = 0; d->val_loss && i < d->n; i++) widen(p, d->val_loss[i]);
    if (!(p->low <= p->high)) return false;
    const double least = 1e-9 * (fabs(p->high) > 1 ? fabs(p->high) : 1);
    if (!(p->high - p->low > least)) {          /* a flat line: in the middle */
        const double half = fabs(p->high) < 1 ? 0.5 : 0.05 * fabs(p->high);
        p->high += half;
        p->low -= half;
    }
    return isfinite(p->low) && isfinite(p->high);
}

static void draw(plot *p, const progress_curve_data *d)
{
    const size_t dots = p->columns * p->sx;
    bool joined = false;
    size_t before = 0;
    for (size_t x = 0; x < dots; x++) {
        const double value = column_value(d, x, dots);
        if (!isfinite(value)) {
            joined = false;
            continue;
        }
        const size_t y = dot_row(p, value);
        size_t from = joined ? before : y;      /* up to the neighbour's, without it */
        if (joined && from < y) from++;
        if (joined && from > y) from--;
        for (size_t k = from < y ? from : y; k <= (from > y ? from : y); k++) set_dot(p, x, k);
        before = y;
        joined = true;
    }
    for (size_t i = 0; d->val_loss && i < d->n; i++) {
        if (!isfinite(d->val_loss[i])) continue;
        const double share = d->n > 1 ? (double)i / (double)(d->n - 1) : 0;
        const size_t column = (size_t)(share * (double)(p->columns - 1) + 0.5);
        p->cells[dot_row(p, d->val_loss[i]) / p->sy * p->columns + column] |= MARK;
    }
}

static vt_status put_cell(bytes *out, const plot *p, unsigned cell, vt_error *err)
{
    if (cell & MARK) return bytes_append(out, "o", 1, err);
    if (cell == 0) return bytes_append(out, " ", 1, err);
    if (!p->utf8) return bytes_append(out, cell == 1 ? "'" : cell == 2 ? "." : ":", 1, err);
    const unsigned char text[3] = {             /* U+2800 + cell */
        0xE2, (unsigned char)(0xA0 | cell >> 6), (unsigned char)(0x80 | (cell & 0x3F))
    };
    return bytes_append(out, text, 3, err);
}

/* The distance of labels: 1, 2 or 5 times a power of ten, at least `least`. */
static double nice_step(double least)
{
    const double power = pow(10, floor(log10(least)));
    const double factors[] = { 1, 2, 5, 10 };
    for (int i = 0; i < 3; i++)
        if (factors[i] * power >= least) return factors[i] * power;
    return 10 * power;
}

/* The label of a row: the multiple of `step` that lies in it, if any. */
static bool row_label(const plot *p, size_t row, double step, char text[32])
{
    const double first = ceil(p->low / step);
    for (int k = 0; k < 64; k++) {
        const double value = (first + k) * step;
        if (!(value <= p->high)) return false;
        if (dot_row(p, value) / p->sy != row) continue;
        const int decimals = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
        if (decimals > 5 || fabs(value) >= 1e7) snprintf(text, 32, "%.2g", value);
        else snprintf(text, 32, "%.*f", decimals, value == 0 ? 0.0 : value);
        return true;
    }
    return false;
}

static vt_status put_rows(bytes *out, const plot *p, vt_error *err)
{
    const double gap = 4.0 / (double)(p->rows > 4 ? p->rows : 4);
    const double step = nice_step((p->high - p->low) * gap);
    vt_status status = VT_OK;
    for (size_t row = 0; row < p->rows && status == VT_OK; row++) {
        char text[32] = "";
        const bool labelled = row_label(p, row, step, text);
        const char *axis = p->utf8 ? (labelled ? "\xE2\x94\xA4" : "\xE2\x94\x82")
                                   : (labelled ? "+" : "|");
        status = bytes_printf(out, err, "%*s %s", LABEL - 1, text, axis);
        size_t columns = p->columns;
        const unsigned *cells = p->cells + row * p->columns;
        while (columns > 0 && cells[columns - 1] == 0) columns--;
        for (size_t c = 0; c < columns && status == VT_OK; c++)
            status = put_cell(out, p, cells[c], err);
        if (status == VT_OK) status = bytes_append(out, "\n", 1, err);
    }
    return status;
}

static vt_status put_axis(bytes *out, const plot *p, const progress_curve_data *d, vt_error *err)
{
    vt_status status = bytes_printf(out, err, "%*s%s", LABEL, "", p->utf8 ? "\xE2\x94\x94" : "+");
    for (size_t c = 0; c < p->columns && status == VT_OK; c++)
        status = bytes_printf(out, err, "%s", p->utf8 ? "\xE2\x94\x80" : "-");
    char left[32], right[32];
    const int a = snprintf(left, sizeof left, "%zu", d->first);
    const int b = snprintf(right, sizeof right, "%zu", d->first + d->n - 1);
    if (status != VT_OK) return status;
    if (d->n == 1 || a + b + 1 > (int)p->columns)
        return bytes_printf(out, err, "\n%*s %s\n", LABEL, "", left);
    return bytes_printf(out, err, "\n%*s %s%*s\n", LABEL, "", left, (int)p->columns - a, right);
}

/* The last losses; the least of validation where it is another, and there is room. */
static vt_status put_title(bytes *out, const plot *p, const progress_curve_data *d, vt_error *err)
{
    const size_t begin = out->len;
    double last = (double)NAN, val = (double)NAN, least = (double)NAN;
    for (size_t i = 0; i < d->n; i++) {
        if (isfinite(d->loss[i])) last = d->loss[i];
        if (!d->val_loss || !isfinite(d->val_loss[i])) continue;
        val = d->val_loss[i];
        if (!(val >= least)) least = val;
    }
    vt_status status = isnan(last) ? bytes_printf(out, err, "loss")
                                   : bytes_printf(out, err, "loss %.4g", last);
    if (status == VT_OK && !isnan(val)) status = bytes_printf(out, err, "  o val %.4g", val);
    const size_t room = p->columns + LABEL + 1 - (out->len - begin);
    char more[32];
    const int n = snprintf(more, sizeof more, " (least %.4g)", least);
    if (status == VT_OK && val > least && (size_t)n <= room) status = bytes_append(out, more, (size_t)n, err);
    return status == VT_OK ? bytes_append(out, "\n", 1, err) : status;
}

static size_t within(size_t n, size_t least, size_t most)
{
    return n < least ? least : n > most ? most : n;
}

vt_status progress_curve(bytes *out, const progress_curve_data *data, size_t width, size_t height,
                         bool utf8, vt_error *err)
{
    plot p;
    memset(&p, 0, sizeof p);
    p.utf8 = utf8;
    p.sx = utf8 ? 2 : 1;
    p.sy = utf8 ? 4 : 2;
    p.columns = within(width, 30, 250) - LABEL - 1;
    p.rows = within(height, 5, 100) - 3;        /* title, axis, steps */
    if (!find_range(&p, data)) return bytes_printf(out, err, "no losses to draw\n");
    const size_t size = p.columns * p.rows;
    p.cells = calloc(size, sizeof *p.cells);
    if (!p.cells) return fail_memory(err, size * sizeof *p.cells, "a curve");
    draw(&p, data);
    vt_status status = put_title(out, &p, data, err);
    if (status == VT_OK) status = put_rows(out, &p, err);
    if (status == VT_OK) status = put_axis(out, &p, data, err);
    free(p.cells);
    return status;
}

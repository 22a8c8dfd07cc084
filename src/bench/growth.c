/* growth.c -- see growth.h. */
#include "bench/growth.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/status.h"

/* The means are subtracted first: a size's logarithm is large beside its spread. */
bool growth_fit(growth_law *out, const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > 0 && y[i] > 0)) return false;
        mx += log(x[i]) / (double)n;
        my += log(y[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double dx = log(x[i]) - mx;
        xx += dx * dx;
        xy += dx * (log(y[i]) - my);
    }
    if (!(xx > 1e-12)) return false;            /* equal sizes, but for the logarithm's rounding */
    out->exponent = xy / xx;
    out->factor = exp(my - out->exponent * mx);
    double far = 0;
    for (size_t i = 0; i < n; i++)
        far = fmax(far, fabs(log(y[i]) - my - out->exponent * (log(x[i]) - mx)));
    out->deviation = exp(far);
    return true;
}

static void fill(vt_bench_curve *c, const double *size, const double *work, const double *seconds, size_t n)
{
    const double none = (double)NAN;
    growth_law time = { none, none, none }, predicted = time, growth = time;
    if (growth_fit(&time, size, seconds, n) && growth_fit(&predicted, size, work, n))
        (void)growth_fit(&growth, work, seconds, n);
    c->sizes = n;
    c->exponent = time.exponent;
    c->predicted = predicted.exponent;
    c->growth = growth.exponent;
    c->deviation = growth.deviation;
    c->agrees = fabs(c->growth - 1) <= VT_BENCH_GROWTH;     /* what is not known does not */
}

vt_status growth_find(vt_bench_report *r, vt_error *err)
{
    double *x = malloc(3 * (r->nrows + 1) * sizeof *x);
    r->curves = calloc(r->nrows + 1, sizeof *r->curves);
    if (!x || !r->curves) {
        free(x);
        return fail_memory(err, r->nrows * sizeof *r->curves, "curves");
    }
    double *work = x + r->nrows, *seconds = work + r->nrows;
    for (size_t i = 0; i < r->nrows; i++) {
        const vt_bench_row *first = &r->rows[i];
        bool known = !first->curve;
        for (size_t k = 0; k < r->ncurves && !known; k++) known = strcmp(r->curves[k].name, first->curve) == 0;
        if (known) continue;
        size_t n = 0;
        for (size_t k = i; k < r->nrows; k++) {
            const vt_bench_row *row = &r->rows[k];
            if (!row->curve || strcmp(row->curve, first->curve) != 0 || row->verdict != VT_BENCH_MEASURED) continue;
            x[n] = row->size;
            work[n] = row->flop / (double)row->threads;
            seconds[n++] = row->seconds;
        }
        vt_bench_curve *c = &r->curves[r->ncurves++];
        *c = (vt_bench_curve){ .name = first->curve, .of = first->size_of };
        fill(c, x, work, seconds, n);
    }
    free(x);
    return VT_OK;
}

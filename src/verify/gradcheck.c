/* gradcheck.c -- the whole check of a model, and what its parts share.  See
 * gradcheck.h.
 */
#include "verify/gradcheck.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void *gradcheck_acts(size_t bytes)
{
    return bytes > SIZE_MAX - 63 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

double gradcheck_share(double error, double bound)
{
    if (error == 0 && bound >= 0) return 0;
    const double used = error / bound;
    return isfinite(used) && isfinite(bound) ? used : (double)INFINITY;
}

double gradcheck_largest(const double *x, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n && !isnan(largest); i++)
        if (!(fabs(x[i]) <= largest)) largest = fabs(x[i]);
    return largest;
}

void gradcheck_raise(double *largest, double x)
{
    if (!(x <= *largest) && !isnan(*largest)) *largest = x;
}

void exact_add(exact_sum *s, double x)
{
    const double sum = s->sum + x;
    s->lost += fabs(s->sum) >= fabs(x) ? (s->sum - sum) + x : (x - sum) + s->sum;
    s->sum = sum;
}

void gradcheck_note(vt_check_report *report, const char *format, ...)
{
    if (report->nnotes == VT_CHECK_NOTES) return;
    va_list args;
    va_start(args, format);
    vsnprintf(report->notes[report->nnotes++], sizeof report->notes[0], format, args);
    va_end(args);
}

vt_status gradcheck_run(vt_check_report *report, const gradcheck_case *c,
                        const vt_check_options *o, vt_check_progress *progress, void *context,
                        vt_error *err)
{
    gradcheck_grads g;
    *report = (vt_check_report){ .rows = NULL };
    vt_status s = gradcheck_compute(&g, c, o->seed, err);
    if (s) return s;
    s = gradcheck_judge(report, c, &g, o, progress, context, err);
    gradcheck_free(&g);
    return s;
}

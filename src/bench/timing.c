/* timing.c -- see timing.h. */
#include "bench/timing.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

#ifndef CLOCK_MONOTONIC_RAW             /* Linux's; elsewhere the plain one */
#define CLOCK_MONOTONIC_RAW CLOCK_MONOTONIC
#endif

double timing_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double timing_quantile(const double *ascending, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    if (i + 1 >= n) return ascending[n - 1];
    return ascending[i] + (at - (double)i) * (ascending[i + 1] - ascending[i]);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void timing_sum_up(timing *t)
{
    qsort(t->all, t->samples, sizeof *t->all, ascending);
    t->median = timing_quantile(t->all, t->samples, 0.5);
    t->low = timing_quantile(t->all, t->samples, 0.25);
    t->high = timing_quantile(t->all, t->samples, 0.75);
}

static vt_status sample(double *seconds, size_t repeats, vt_status (*call)(void *, vt_error *),
                        void *state, vt_error *err)
{
    vt_status s = VT_OK;
    const double start = timing_now();
    for (size_t i = 0; i < repeats && s == VT_OK; i++) s = call(state, err);
    *seconds = timing_now() - start;
    return s;
}

vt_status timing_measure(timing *t, const timing_plan *p, vt_status (*call)(void *, vt_error *),
                         void *state, vt_error *err)
{
    double last;
    *t = (timing){ .repeats = 1 };
    vt_status s = sample(&last, 1, call, state, err);       /* warms; its time counts for nothing */
    const double start = timing_now();
    while (s == VT_OK) {
        if (p->stop && p->stop(p->context)) return fail(err, VT_INTERRUPTED, "interrupted");
        s = sample(&last, t->repeats, call, state, err);
        if (s || last >= 0.7 * p->least) break;
        const double factor = 1.2 * p->least / fmax(last, 1e-7);
        t->repeats *= factor < 2 ? 2 : factor > 1000 ? 1000 : (size_t)factor;
    }
    double shortest = INFINITY;         /* a short call may be held up: then one is long, not all */
    while (s == VT_OK && t->samples < TIMING_SAMPLES &&
           (t->samples < (shortest > 1 ? TIMING_LEAST_LONG : TIMING_LEAST) || timing_now() - start < p->budget)) {
        if (p->stop && p->stop(p->context)) return fail(err, VT_INTERRUPTED, "interrupted");
        s = sample(&last, t->repeats, call, state, err);
        t->all[t->samples++] = last / (double)t->repeats;
        shortest = fmin(shortest, last / (double)t->repeats);
    }
    if (s == VT_OK) timing_sum_up(t);
    return s;
}

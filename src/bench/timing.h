/* timing.h -- how long a call takes: repeats, median, quartiles.
 *
 * The clock is CLOCK_MONOTONIC_RAW, which nobody adjusts.  A call is first made once
 * (memory is touched, the processor speeds up), then as often in a row as a sample needs
 * to last `least` seconds, so that the clock's grain and its own cost vanish; samples
 * are taken until the budget is spent, and never fewer than five, or three where each call
 * lasted longer than a second.  The median stands for
 * all: it forgives what disturbs less than half of the samples.  Between samples the
 * caller may stop it.
 */
#ifndef TIMING_H
#define TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

enum { TIMING_SAMPLES = 256, TIMING_LEAST = 5, TIMING_LEAST_LONG = 3 };

typedef struct timing {
    size_t samples, repeats;            /* calls in each sample */
    double median, low, high;           /* seconds of one call; low, high: quartiles */
    double all[TIMING_SAMPLES];         /* ascending */
} timing;

typedef struct timing_plan {
    double least;                       /* seconds that a sample lasts */
    double budget;                      /* seconds for all */
    bool (*stop)(void *context);        /* may be NULL */
    void *context;
} timing_plan;

double timing_now(void);                /* seconds from some start */

/* Number q (0 .. 1) of the way through n ascending values, between neighbours linearly:
 * NumPy's quantile. */
double timing_quantile(const double *ascending, size_t n, double q);

/* Sorts the samples and fills in the figures. */
void timing_sum_up(timing *t);

/* The first failure of `call` ends it.  VT_INTERRUPTED: stop() said so. */
VT_MUST_CHECK vt_status timing_measure(timing *t, const timing_plan *p,
                                       vt_status (*call)(void *state, vt_error *err),
                                       void *state, vt_error *err);

#endif

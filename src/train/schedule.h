/* schedule.h -- the learning rate of a step: warm-up, cosine, then the lowest
 * rate for ever.  The equations are in schedule.c.
 *
 * Steps count from 0.  `total` is the schedule's length, not the run's: it is
 * stored with the checkpoint, and a resumed run goes on with it.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "base/status.h"

typedef struct schedule {
    double lr_max, lr_min;
    size_t warmup, total;       /* steps */
} schedule;

/* The warm-up of a run of `steps`: as asked, or, where that is below 0, its
 * amount but no more than the run has. */
long long schedule_warmup(long long asked, long long steps);

/* VT_USAGE unless 0 <= lr_min <= lr_max, lr_max is finite and positive, and
 * warmup <= total. */
VT_MUST_CHECK vt_status schedule_check(const schedule *s, vt_error *err);

/* The rate of step `step`, of a schedule that schedule_check accepts. */
double schedule_lr(const schedule *s, size_t step);

#endif

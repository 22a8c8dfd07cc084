/* clock.h -- seconds of a clock that only goes forward: for progress and time limits.
 * What measures speed has its own (bench/timing.h), which nothing adjusts.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

static inline double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif

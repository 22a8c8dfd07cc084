/* limits.h -- what this machine can do: multiply-adds, bytes, exponentials per second.
 *
 *     fma     on registers alone, each instruction set that the processor has, one thread
 *             and all
 *     read, copy, triad   on arrays of four times the last cache, 64 to 256 MiB each, the
 *             most where it is not known (STREAM's rule: McCalpin 1995), counted as STREAM counts: 4, 8 and 12 bytes
 *             an element; what a store reads first is not counted
 *     l1, l2, l3   on arrays that fill half of a cache: the best of these loops and of two
 *             that change what they read, as kernels do
 *     exp     our own vec_exp on 16 KiB: no limit of the machine, but of any kernel that
 *             calls it for each element
 *
 * Each loop's result is compared with what algebra says before it is timed.
 */
#ifndef LIMITS_H
#define LIMITS_H

#include "base/arena.h"
#include "base/threads.h"
#include "bench/timing.h"
#include "vitrine.h"

enum { LIMITS_MOST = 32 };

typedef struct limits {
    vt_bench_limit all[LIMITS_MOST];
    size_t  n;
    int     threads;                /* "all" */
    team   *one, *crew;             /* of 1 and of `threads` */
    arena   block;                  /* three arrays of `count` floats */
    float  *array[3];
    size_t  count;
} limits;

/* Measures all; `last_cache` in bytes (0: not known).  VT_CHECK_FAILED: a loop is wrong. */
VT_MUST_CHECK vt_status limits_measure(limits *l, int threads, size_t last_cache, bool quick,
                                       bool (*stop)(void *), void *context, vt_error *err);
void limits_free(limits *l);        /* also of a zeroed one */

/* The median of the best set for 1 or `threads` threads (others: scaled from one, and not
 * above all); NaN where it was not measured. */
double limits_flop(const limits *l, int threads);
double limits_exp(const limits *l, int threads);
double limits_read(const limits *l, int threads);
double limits_memory(const limits *l, int threads);     /* the best of read, copy, triad */

/* Bytes per second from and to wherever `bytes` fit: the best of all loops over arrays
 * that take so much together, measured at each call; the second only reads. */
VT_MUST_CHECK vt_status limits_resident(limits *l, size_t bytes, int threads, double *rate,
                                        vt_error *err);
VT_MUST_CHECK vt_status limits_reread(limits *l, size_t bytes, int threads, double *rate,
                                      vt_error *err);
/* Appends the caches' rates; bytes of each level, the first two of each core (0: not
 * known, a usual size is taken). */
VT_MUST_CHECK vt_status limits_caches(limits *l, const size_t bytes[3], vt_error *err);

#endif

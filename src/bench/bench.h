/* bench.h -- a bench with a given table of kernels: vt_bench() and the tests call it.
 *
 * A test hands in a table with a wrong kernel and sees that the case is named, and not
 * timed.
 */
#ifndef BENCH_H
#define BENCH_H

#include "bench/cases.h"
#include "bench/limits.h"

/* The cases that are meant: each by its name or its group, in the tables' order; none
 * given: those that are always taken.  chosen[BENCH_MOST]; VT_USAGE names the word. */
enum { BENCH_MOST = 128 };
VT_MUST_CHECK vt_status bench_pick(const bench_case *chosen[BENCH_MOST], size_t *n,
                                   const vt_bench_options *o, vt_error *err);
/* Number i of all tables; NULL behind the last. */
const bench_case *bench_case_at(size_t i);
/* The target of a case: the options' own, else the table's; NaN: none. */
VT_MUST_CHECK vt_status bench_target(double *out, vt_bench_goal *goal, const bench_case *c,
                                     const vt_bench_options *o, vt_error *err);
/* Every target of the options names one of the n cases that are chosen and gives a number
 * above 0; where one is required, a case has one. */
VT_MUST_CHECK vt_status bench_targets_check(const vt_bench_options *o,
                                            const bench_case *const *chosen, size_t n,
                                            vt_error *err);

/* Makes the case ready, verifies it, times it where it is right, and fills the row.  l may
 * be NULL: no limit.  VT_OK: measured, or skipped (too large for this machine).
 * VT_CHECK_FAILED: wrong, row->note and the line say what. */
VT_MUST_CHECK vt_status bench_one(vt_bench_row *row, const bench_case *c, const bench_setting *s,
                                  limits *l, const timing_plan *plan, vt_error *err);

#endif

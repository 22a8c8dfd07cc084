/* bench_show.h -- what a bench found, as a table or as JSON. */
#ifndef BENCH_SHOW_H
#define BENCH_SHOW_H

#include "vitrine.h"

VT_MUST_CHECK vt_status bench_show_text(const vt_bench_report *r, vt_error *err);
VT_MUST_CHECK vt_status bench_show_json(const vt_bench_report *r, vt_error *err);
/* "80 % of the limit", "400000 tokens/s", "at most 2.00 s". */
void bench_target_text(char *out, size_t size, vt_bench_goal goal, double target,
                       const char *unit);
/* A target that was missed, and by how much: "gemm-512: 74.1 % of the limit, for 80 %: 7.4 %
 * short". */
void bench_missed_text(char *out, size_t size, const vt_bench_row *row);
VT_MUST_CHECK vt_status bench_show_svg(const vt_bench_report *r, const char *path, vt_error *err);
/* The growth of the curves. */
VT_MUST_CHECK vt_status bench_show_curves(const vt_bench_report *r, const char *path, vt_error *err);
VT_MUST_CHECK vt_status bench_show_list(bool json, vt_error *err);

#endif

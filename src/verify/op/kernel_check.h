/* kernel_check.h -- a kernel put to the test, case by case.
 *
 * A case is an operator at the sizes of op_case_shapes, in a precision and at a scale: at
 * scale 1 for all sizes, then a few again with small and large inputs, and, where a
 * variance is computed, with rows whose mean is large beside it.  Of each: forward
 * and backward, outputs and gradients (op_judge.h), exact checks (op_exact.h), the kernel
 * against itself (op_verdict.h).  A failing case is diagnosed.
 *
 * Cases come with the small ones first, so that what is found first is what is read most
 * easily.  After two failing cases of a precision the rest of it is left out, unless all
 * are asked for.
 */
#ifndef KERNEL_CHECK_H
#define KERNEL_CHECK_H

#include "verify/op/op_call.h"

typedef struct kernel_check_options {
    int      op;
    bool     f32, f64;          /* precisions to try */
    bool     must;              /* a precision that the kernel has not is an error */
    bool     all;
    bool     quick;             /* as in kernel_check_one */
    bool     first;             /* stop at the first failing case */
    int      only;              /* a case's number; 0: all */
    uint64_t seed;
    const char *name;           /* of the kernel, for messages */
} kernel_check_options;

/* Case number `number` of an operator: sizes, scale and precision; false: there is none. */
bool kernel_check_case(int op, int number, uint64_t seed, graph_sizes *z, double *scale,
                       precision *p);
int  kernel_check_cases(int op, uint64_t seed);

/* One case.  out is filled; VT_OK, also where it fails.  `quick`: the definitions are
 * proven along one direction only, whatever the size. */
VT_MUST_CHECK vt_status kernel_check_one(vt_op_case *out, const op_kernel *k, const graph_sizes *z,
                                         precision p, double scale, uint64_t seed, bool quick,
                                         vt_error *err);

/* All.  VT_CHECK_FAILED with one line; VT_BAD_INPUT: it has not the operator; the report
 * is filled either way.  VT_INTERRUPTED: progress said so. */
VT_MUST_CHECK vt_status kernel_check(vt_op_report *report, const op_kernel *k,
                                     const kernel_check_options *o, vt_check_progress *progress,
                                     void *context, vt_error *err);

/* One line on what is wrong with a failing case; returns VT_CHECK_FAILED. */
vt_status kernel_check_say(const vt_op_case *c, const char *name, const char *op, vt_error *err);

#endif

/* op_judge.h -- what a kernel computed, compared with the definitions, row by row.
 *
 * Outputs and gradients: an element passes where
 *
 *     |found - expected| <= bound
 *
 * expected: the definitions in double (gradients: what was in the buffer, plus theirs);
 * bound: what rounding may do to a correct kernel of that precision (bounds.h).  NaN and
 * Inf are beyond every bound.  A case in which nothing was compared does not pass.
 *
 * The definitions themselves are proven in the same run: their gradient against the
 * complex step, df/dx = Im f(x + ih) / h with h = 1e-30, which subtracts nothing (Squire,
 * Trapp 1998): every entry of a small case, one random direction of a large one, or where
 * it has to be quick.
 */
#ifndef OP_JUDGE_H
#define OP_JUDGE_H

#include "verify/op/op_case.h"

/* A new row at the end of the case; NULL without memory (then *status is set). */
vt_op_row *op_row(vt_op_case *out, const char *name, vt_row_kind kind, vt_status *status,
                  vt_error *err);
VT_PRINTF(2, 3) void op_row_note(vt_op_row *row, const char *format, ...);

/* A row of what is not there: undecided, and why; of so many elements. */
VT_MUST_CHECK vt_status op_row_lacking(vt_op_case *out, const char *name, vt_row_kind kind,
                                       size_t of, const char *why, vt_error *err);
/* Row "not degenerate", where the case is; a failure unless that is allowed. */
VT_MUST_CHECK vt_status op_judge_degenerate(vt_op_case *out, const op_case *c, bool allowed,
                                            vt_error *err);

/* The share of its bound that an error is; Inf where `found` is NaN or Inf. */
double op_share(double expected, double found, double bound);

/* Compares one element, and keeps it in the row if it is worse than what is there. */
void op_row_meet(vt_op_row *row, const graph_tensor *t, size_t i, double expected, double found,
                 double bound);

/* Sizes, precision and scale of a case, as text. */
void op_judge_head(vt_op_case *out, const op_case *c);

/* A row for each output and gradient that was computed.  `names` of gradients: "dq". */
VT_MUST_CHECK vt_status op_judge_tensors(vt_op_case *out, const op_case *c, const op_found *f,
                                         vt_error *err);
/* Rows "definitions", and "backward adds": what kernels that overwrite a gradient fail. */
VT_MUST_CHECK vt_status op_judge_definitions(vt_op_case *out, const op_case *c, bool quick,
                                             vt_error *err);
/* Row "other upstream": gradients alone, of op_case_again(). */
VT_MUST_CHECK vt_status op_judge_again(vt_op_case *out, const op_case *c, const double *dx,
                                       vt_error *err);
VT_MUST_CHECK vt_status op_judge_adds(vt_op_case *out, const op_case *c, const op_found *f,
                                      vt_error *err);

/* Sums the rows up: pass, compared, of, worst, failed. */
void op_judge_end(vt_op_case *out);

/* The row that says most: the failing output or gradient nearest to the loss, else the
 * first failing row; NULL where none fails. */
const vt_op_row *op_judge_first(const vt_op_case *out);

#endif

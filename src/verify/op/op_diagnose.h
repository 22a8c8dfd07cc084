/* op_diagnose.h -- the diagnosis of a failing case, put into its report.
 *
 * Numbers are explained by diagnose.h; what the kernel's process did, and bits that differ
 * between two runs, say themselves what they are.
 */
#ifndef OP_DIAGNOSE_H
#define OP_DIAGNOSE_H

#include "verify/op/op_case.h"

/* Fills out->diagnosis; `f` NULL: the kernel did not come to an end.  out->rows and
 * out->finding are read. */
VT_MUST_CHECK vt_status op_diagnose(vt_op_case *out, const op_case *c, const op_found *f,
                                    vt_error *err);

#endif

/* check_op_show.h -- the report of an operator's check, as text, JSON, JUnit. */
#ifndef CHECK_OP_SHOW_H
#define CHECK_OP_SHOW_H

#include "cli/check_op.h"

VT_MUST_CHECK vt_status check_op_text(const vt_op_report *r, const check_op_args *a, vt_error *err);
VT_MUST_CHECK vt_status check_op_json(const vt_op_report *r, const char *name, vt_error *err);
VT_MUST_CHECK vt_status check_op_junit(const char *path, const vt_op_report *r, const char *name,
                                       vt_error *err);
VT_MUST_CHECK vt_status check_self_text(const vt_self_report *r, vt_error *err);
VT_MUST_CHECK vt_status check_self_json(const vt_self_report *r, vt_error *err);
VT_MUST_CHECK vt_status check_self_junit(const char *path, const vt_self_report *r, vt_error *err);

#endif

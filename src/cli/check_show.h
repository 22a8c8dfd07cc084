/* check_show.h -- the report of `vitrine check DIR`: for people, as JSON, as JUnit's
 * XML. */
#ifndef CHECK_SHOW_H
#define CHECK_SHOW_H

#include "cli/check_torch.h"

/* torch: PyTorch's verdict, NULL where it was not asked. */
VT_MUST_CHECK vt_status check_show_text(const vt_check_report *r, const check_torch *torch,
                                        vt_error *err);
VT_MUST_CHECK vt_status check_show_json(const vt_check_report *r, const check_torch *torch,
                                        vt_error *err);
/* One case a verdict of a tensor, a part, a row of what is exact; `line` is the check's
 * own where it failed.  Replaces the file. */
VT_MUST_CHECK vt_status check_show_junit(const vt_check_report *r, const check_torch *torch,
                                         const char *line, const char *path, vt_error *err);

#endif

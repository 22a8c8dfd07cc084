/* lab_show.h -- the code lab's report for a reader: pictures and numbers, at most
 * 80 columns. */
#ifndef LAB_SHOW_H
#define LAB_SHOW_H

#include <stdio.h>
#include "cli/lab_torch.h"

/* torch: NULL where it was not asked.  utf8: bars of block characters; otherwise ASCII.  Colours where f takes them. */
VT_MUST_CHECK vt_status lab_show(FILE *f, const vt_lab_report *r, const lab_torch *torch,
                                bool utf8, vt_error *err);

#endif

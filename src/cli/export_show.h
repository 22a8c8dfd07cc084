/* export_show.h -- an export's report, for people and as JSON. */
#ifndef EXPORT_SHOW_H
#define EXPORT_SHOW_H

#include "cli/cli.h"

void export_show_text(FILE *out, const char *as, const vt_export_report *r);
/* The fields of an open object. */
void export_show_json(js_writer *w, const vt_export_report *r);
/* Which part of a text that is longer than the window is taken: on standard error. */
void export_show_note(const char *as, const vt_export_report *r);

#endif

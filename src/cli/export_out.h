/* export_out.h -- vitrine export --out FILE: a window's tensors as a file. */
#ifndef EXPORT_OUT_H
#define EXPORT_OUT_H

#include "cli/cli.h"

/* Writes the file, with its progress and notes on standard error, and its report, as text
 * or JSON, on standard output. */
VT_MUST_CHECK vt_status export_out(const vt_window_options *o, bool json, vt_error *err);

#endif

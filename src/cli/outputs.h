/* outputs.h -- a file that a command writes at its end, looked at when it starts. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "base/io.h"

/* Whether `path`, which `option` named, can be written; NULL: was not asked, VT_OK.
 * VT_USAGE: it is a file that the command reads (`reads`, may be NULL), or the one that
 * standard output goes to; VT_IO: it cannot be written. */
VT_MUST_CHECK vt_status output_ready(const char *option, const char *path, const char *reads,
                                     vt_error *err);
/* Likewise, of a model's folder: none of its files, nor the name of one that is not there. */
VT_MUST_CHECK vt_status output_outside(const char *option, const char *path, const char *folder,
                                       vt_error *err);

#endif

/* outputs.h -- files that a command needs only after long work, looked at when it starts. */
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
/* VT_USAGE: two options name one file, or one name in one folder; either may be NULL. */
VT_MUST_CHECK vt_status outputs_differ(const char *option, const char *path, const char *other,
                                       const char *second, vt_error *err);
/* Whether a file that is read much later is there, and may be read: VT_IO.  Not asked of what is
 * neither a regular file nor a folder. */
VT_MUST_CHECK vt_status input_ready(const char *path, vt_error *err);

#endif

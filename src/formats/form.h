/* form.h -- which form a file is written in: its name's extension says it, here alone.
 *
 * What is read is told by its first bytes instead (tensors.h).
 */
#ifndef FORM_H
#define FORM_H

#include "base/status.h"

/* Bits: a writer says which it has. */
typedef enum form {
    FORM_NPZ = 1, FORM_SAFETENSORS = 2, FORM_JSON = 4, FORM_CSV = 8
} form;

const char *form_extension(form f);     /* ".npz" */

/* The form of `path` among those that are `allowed`.  VT_USAGE: another extension, or
 * none; the line names those that are, and the one that is likely meant. */
VT_MUST_CHECK vt_status form_of(form *out, const char *path, unsigned allowed, vt_error *err);

#endif

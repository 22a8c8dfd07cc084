/* status.h -- how a function of the library fails.
 *
 *     return fail(err, VT_BAD_INPUT, "%s: line %zu: expected ...", path, line);
 *
 * `err` may be NULL.  A message names what, where (file, line, byte, field) and
 * what was expected; it has no newline and no final full stop.
 */
#ifndef STATUS_H
#define STATUS_H

#include <stdbool.h>
#include "vitrine.h"

/* Writes the line (cut at the buffer's end, on a character's boundary; what
 * utf8_plain replaces as '?') and returns `status`. */
VT_PRINTF(3, 4)
vt_status fail(vt_error *err, vt_status status, const char *format, ...);

/* "out of memory: %zu bytes for %s". */
vt_status fail_memory(vt_error *err, size_t bytes, const char *what);

/* Of a system call that failed: VT_TOO_LARGE where there was no memory, else VT_IO. */
vt_status status_of(int error_number);

/* a * b and a + b into *out; false when the result does not fit. */
bool size_mul(size_t a, size_t b, size_t *out);
bool size_add(size_t a, size_t b, size_t *out);

#endif

/* target.h -- where the target of a request leads.
 *
 *     /attention.html?x=1   ->  "attention.html"
 *     /data/lab/            ->  "data/lab/"
 *
 * Decoded once, then looked at: what is left can only name something beneath the
 * root.  The query stays with the caller.
 */
#ifndef TARGET_H
#define TARGET_H

#include <stddef.h>

enum { TARGET_MOST = 1024 };

/* The path of `target` as bytes in out[], without its first slash.  Returns NULL, or
 * what is wrong with it: it has no slash at its start, is too long, is not
 * percent-encoded properly, holds a NUL, a control character, a backslash, an encoded
 * slash, an empty segment, or a segment "." or "..". */
const char *target_path(char out[TARGET_MOST], const char *target);

#endif

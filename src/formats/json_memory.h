/* json_memory.h -- jansson's parser where memory runs out.
 *
 *     if ((s = json_memory_begin(text, n, name, err))) return s;
 *     root = json_loadb(...);
 *     if (json_memory_end(&root)) return fail_memory(...);
 */
#ifndef JSON_MEMORY_H
#define JSON_MEMORY_H

#include <jansson.h>
#include "base/status.h"

/* Before jansson parses text[n], in this thread.  VT_TOO_LARGE: no memory even for that. */
VT_MUST_CHECK vt_status json_memory_begin(const void *text, size_t n, const char *name,
                                          vt_error *err);
/* Behind it: whether a request was refused; then *root is released, and NULL. */
bool json_memory_end(json_t **root);

#endif

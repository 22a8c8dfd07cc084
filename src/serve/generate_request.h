/* generate_request.h -- the body of POST /api/generate: JSON that anybody may send.
 *
 *     {"prompt": "It was", "max_tokens": 40, "temperature": 0.8, "top_k": 0,
 *      "top_p": 1, "seed": 42}
 *
 * Apart from the answer (answer_generate.c), so that it can be tried without a server.
 */
#ifndef GENERATE_REQUEST_H
#define GENERATE_REQUEST_H

#include "base/bytes.h"
#include "vitrine.h"

/* Fields that are left out, or null, have the defaults of vt_generate_defaults; the
 * prompt alone is required.  It is appended to `prompt`, to which o->prompt then points.
 * VT_BAD_INPUT names the field, also one that is not known. */
VT_MUST_CHECK vt_status generate_request_read(vt_generate_options *o, bytes *prompt,
                                              const void *text, size_t n, vt_error *err);

#endif

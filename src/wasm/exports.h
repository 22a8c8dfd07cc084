/* exports.h -- what the files of the WebAssembly module share.
 *
 * The page's side is site/src/engine: it puts arrays into the module's memory
 * (page_alloc), calls, and copies results out.  It checks nothing that is checked
 * here: every size that comes from it is checked before memory is touched, and a
 * function that can fail returns a vt_status, or NULL, and leaves one line in
 * page_error.  Pointers and handles are the page's own: a wrong one harms nothing
 * outside the module's memory.
 *
 * A definition is exported as it is (ref_softmax_forward_f64, ...): wasm.cmake has
 * the list.  Everything else is page_NAME.
 */
#ifndef EXPORTS_H
#define EXPORTS_H

#include "base/status.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* The last failure's line; the functions below share it. */
extern vt_error page_error_line;

/* A seed that came as a double: an integer of 0 .. 2^53. */
VT_MUST_CHECK vt_status page_seed(uint64_t *out, double seed);

#endif

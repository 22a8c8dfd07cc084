/* piece_text.h -- a token's bytes as text on one line, so that every byte can be read. */
#ifndef PIECE_TEXT_H
#define PIECE_TEXT_H

#include "base/bytes.h"

/* Appends the piece in quotation marks: \n, \" and \\ for a newline, a quotation mark and a
 * backslash, \xHH for each byte that is no character, or one that a terminal obeys. */
VT_MUST_CHECK vt_status piece_text(bytes *out, const void *piece, size_t n, vt_error *err);

#endif

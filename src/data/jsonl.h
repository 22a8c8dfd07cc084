/* jsonl.h -- one text of each line of a JSON Lines file.
 *
 *     jsonl j;
 *     jsonl_open(&j, data, len, "text", false, path, err);
 *     while (jsonl_next(&j, &more, err) == VT_OK && more)
 *         use(j.text);
 *     jsonl_close(&j);
 */
#ifndef JSONL_H
#define JSONL_H

#include "base/slice.h"
#include "base/status.h"

typedef struct jsonl {
    const char *name;       /* of the file, for messages; borrowed */
    const char *field;      /* borrowed */
    unsigned char *data;    /* borrowed; escapes are undone in place */
    size_t      len, pos;   /* pos: where the next line begins */
    size_t      line;       /* number of the line read last, from 1 */
    slice       text;       /* of that line's field */
    bool        replace;    /* lone surrogates become U+FFFD; false: refused */
    size_t      replaced;   /* how many did, where the first is: line, byte offset */
    size_t      replaced_line, replaced_at;
    /* inside: the line's end, the place in it, a name without escapes */
    size_t      end, at;
    unsigned char *key;
} jsonl;

/* Starts at data[0 .. len-1], well-formed UTF-8 or nearly so, which the reader changes
 * and which must outlive every text.  A byte order mark is passed over. */
VT_MUST_CHECK vt_status jsonl_open(jsonl *j, unsigned char *data, size_t len, const char *field,
                                   bool replace, const char *name, vt_error *err);
void jsonl_close(jsonl *j);     /* also of a zeroed jsonl */

/* The next line that is not blank; *more is false at the end.  VT_BAD_INPUT names line
 * and byte: no JSON object (RFC 8259), another thing behind it, the field absent (those
 * that are there are listed), twice, or no string, a lone surrogate in it. */
VT_MUST_CHECK vt_status jsonl_next(jsonl *j, bool *more, vt_error *err);

#endif

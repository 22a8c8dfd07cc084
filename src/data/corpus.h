/* corpus.h -- a file of text as documents: what a model is trained on.
 *
 * A plain text file is one document; of a CSV file each record's cell in one
 * column is one.  Documents are slices of one block of memory.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include "base/io.h"
#include "base/slice.h"

typedef struct corpus_options {
    const char *column;     /* of a CSV file; NULL: "text" where the file's name
                             * ends in .csv, otherwise the file is plain text */
    size_t      max_rows;   /* records to read at most; 0: all */
} corpus_options;

typedef struct corpus {
    bytes  block;           /* the file, with doubled quotes undone */
    slice *docs;            /* count documents, none of them empty */
    size_t count;
    size_t empty;           /* empty cells left out */
    size_t bytes;           /* of all documents */
    char   sha256[65];      /* of the file as it is stored */
} corpus;

/* Reads `path` whole.  `o` may be NULL.  VT_IO: no such file, a folder, not
 * readable.  VT_TOO_LARGE: larger than the machine's memory.  VT_USAGE: a limit
 * of rows for a plain text.  VT_BAD_INPUT: not UTF-8 (byte and line named),
 * malformed CSV, no such column (the columns are listed), no text in it.  On
 * failure *out is zeroed.  Free with corpus_free. */
VT_MUST_CHECK vt_status corpus_load(corpus *out, const char *path,
                                    const corpus_options *o, vt_error *err);
void corpus_free(corpus *c);    /* also of a zeroed corpus */

#endif

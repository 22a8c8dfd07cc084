/* corpus.h -- files of text as documents: what a model is trained on.
 *
 * A plain text file is one document; of a CSV file each record's cell in one column
 * is one, of JSON Lines each line's text in one field.  Documents are slices of blocks
 * of memory, one block a file.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include "base/io.h"
#include "base/slice.h"
#include "vitrine.h"

typedef struct corpus_file {
    bytes  block;           /* the file, with doubled quotes and escapes undone */
    bytes  repaired;        /* its documents in which something was replaced */
    char   sha256[65];      /* of the file as it is stored */
    size_t documents;       /* that it gave */
    size_t replaced;        /* sequences that are no UTF-8, surrogates alone */
    size_t line, at;        /* where the first is: line, from 1, and byte offset */
    const char *read_as;    /* how it was read, where its name does not say; NULL: it does */
} corpus_file;

typedef struct corpus {
    corpus_file *files;     /* nfiles, in the order given */
    size_t nfiles;
    slice *docs;            /* count documents, none of them empty */
    size_t count;
    size_t empty;           /* empty ones left out */
    size_t bytes;           /* of all documents */
    char   sha256[65];      /* of one file: the file's; of several: see below */
} corpus;

/* Reads all files whole.  VT_IO: no such file, a folder, not readable.  VT_TOO_LARGE:
 * larger than the machine's memory.  VT_USAGE: no file; a separator that is none; one, a
 * limit of rows, or no header, for a file without rows.  VT_BAD_INPUT: not text in UTF-8
 * (encoding.h), malformed CSV or JSON Lines, another JSON, no such column (those there
 * are listed), no text in a file.
 * VT_INTERRUPTED: base/interrupt.h.
 * Each message names its file.  On failure *out is zeroed.  Free with corpus_free.
 *
 * The sha256 of several files is that of their own ones as text, a line of 64 digits
 * and LF for each, in order:  sha256sum FILE... | cut -c 1-64 | sha256sum */
VT_MUST_CHECK vt_status corpus_load(corpus *out, const vt_corpus *what, vt_error *err);
void corpus_free(corpus *c);    /* also of a zeroed corpus */

/* The first file before file i that holds the same bytes; i where there is none. */
size_t corpus_same_file(const corpus *c, size_t i);

#endif

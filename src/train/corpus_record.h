/* corpus_record.h -- what a checkpoint says of the files that it learnt from, beyond
 * the one hash of all: of several files each one's, so that a wrong one can be named.
 *
 *     "corpus": {"sha256": ..., "files": [{"sha256": ..., "documents": ...}, ...],
 *                "replaced": ..., ...}
 *
 * `files` only where there are several, `replaced` only where something was.  No names:
 * where a file lies does not determine a run.
 */
#ifndef CORPUS_RECORD_H
#define CORPUS_RECORD_H

#include "data/corpus.h"
#include "formats/json.h"

typedef struct corpus_file_record { char sha256[65]; size_t documents; } corpus_file_record;

/* A list of c->nfiles, to be freed. */
VT_MUST_CHECK vt_status corpus_record_new(corpus_file_record **out, const corpus *c, vt_error *err);
void corpus_record_write(js_writer *w, const corpus_file_record *files, size_t n, size_t replaced);
/* Whether the list in the object "corpus", if there is one, is what it should be. */
VT_MUST_CHECK vt_status corpus_record_check(const json_t *stored, const char *where, vt_error *err);

/* How many of the corpus's files are among the stored ones. */
size_t corpus_record_known(const json_t *stored, const corpus *c);

/* Why a corpus is not the stored one, whose hash differs: an unknown file, a missing one,
 * the number, the order. */
typedef struct corpus_why { char text[400]; } corpus_why;
corpus_why corpus_record_differs(const json_t *stored, const corpus *c, const vt_corpus *what);

/* "a.csv", or "a.csv and 2 more". */
typedef struct corpus_name { char text[300]; } corpus_name;
corpus_name corpus_record_name(const vt_corpus *what);

#endif

/* run_record.h -- what a checkpoint knows of its run, as the JSON text "run" of
 * state.safetensors:
 *
 *     {"step": 250, "kernels": "avx2", "model": {sizes}, "settings": {settings.def},
 *      "corpus": {"sha256": ..., "tokens_sha256": ..., "documents": ...,
 *                 "train_tokens": ..., "val_tokens": ...},     and see corpus_record.h
 *      "tokenizer": {"from": "corpus" or "given", "sha256": ...}}
 *
 * "tokenizer" came later: older states have none, and stay without it when resumed.
 *
 * No time, host, path or commit: the same run with the same kernels writes the
 * same bytes anywhere.  Kernels of different instruction sets add in different
 * orders; each set has bits of its own.
 */
#ifndef RUN_RECORD_H
#define RUN_RECORD_H

#include "model/checkpoint.h"
#include "train/corpus_record.h"
#include "vitrine.h"

typedef struct run_record {
    long long step;
    char   kernels[16];             /* that took the latest step: "portable", ... */
    vt_train_options settings;      /* the fields of settings.def */
    char   corpus_sha256[65];       /* of the corpus (data/corpus.h) */
    const corpus_file_record *files;    /* nfiles, borrowed; not set by run_record_read */
    size_t nfiles, replaced;
    char   tokens_sha256[65];       /* of all token ids, as 32-bit little-endian */
    size_t documents, train_tokens, val_tokens;
    const char *tokenizer_from;     /* "corpus": learnt from it; "given"; NULL: not known */
    char   tokenizer_sha256[65];    /* of the text of tokenizer.json, where that is known */
} run_record;

/* The fields of the text into an open object. */
void run_record_fields(js_writer *w, const run_record *r, const gpt_config *z);

/* Appends the text and a NUL. */
VT_MUST_CHECK vt_status run_record_write(const run_record *r, const gpt_config *z, bytes *out,
                                         vt_error *err);
VT_MUST_CHECK vt_status run_record_read(run_record *r, const json_t *run, const char *where,
                                        vt_error *err);

#endif

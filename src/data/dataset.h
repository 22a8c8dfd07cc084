/* dataset.h -- documents -> two rows of token ids, for training and validation.
 *
 * 1. dataset_split chooses the documents (or, under ten, the bytes) that the
 *    tokenizer may learn from;
 * 2. the caller trains a tokenizer on split.train, or loads one;
 * 3. dataset_encode makes the tokens.
 */
#ifndef DATASET_H
#define DATASET_H

#include "base/threads.h"
#include "data/corpus.h"

struct bpe;

typedef struct dataset_split {
    slice *train, *valid;       /* documents in the order of the corpus */
    size_t ntrain, nvalid;
    bool   by_document;         /* false: fewer than ten documents.  Then train
                                 * holds the first 90 % of the bytes, what the
                                 * tokenizer learns from; valid is the rest; the
                                 * tokens are cut by their own number. */
} dataset_split;

enum { DATASET_DOCUMENTS = 10 };    /* from so many on, documents are split whole */

VT_MUST_CHECK vt_status dataset_split_new(dataset_split *s, const corpus *c,
                                          uint64_t seed, vt_error *err);
void dataset_split_free(dataset_split *s);

/* Marks those of `count` documents (all false before) that validate. */
VT_MUST_CHECK vt_status dataset_validates(bool *validates, size_t count, uint64_t seed,
                                          vt_error *err);

typedef struct dataset {
    int   *block;               /* train, then valid */
    int   *train, *valid;       /* slices of block */
    size_t ntrain, nvalid;
} dataset;

/* Encodes each document alone, ends it with <|endoftext|>, joins them. */
VT_MUST_CHECK vt_status dataset_encode(dataset *d, const corpus *c,
                                       const dataset_split *s, const struct bpe *t,
                                       team *crew, vt_error *err);
void dataset_free(dataset *d);

/* sha256 of all token ids, as 32-bit little-endian integers. */
void dataset_sha256(char hash[65], const dataset *d);

/* Windows of seq inputs and as many targets in n tokens: starts 0, stride,
 * 2*stride ...: (n - seq - 1) / stride + 1, or 0 where n <= seq. */
size_t dataset_windows(size_t n, size_t seq, size_t stride);

/* VT_BAD_INPUT where n tokens hold no window: says how many there are and how
 * many are needed.  `what` names the part ("training"). */
VT_MUST_CHECK vt_status dataset_check(size_t n, size_t seq, const char *what,
                                      vt_error *err);

#endif

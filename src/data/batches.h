/* batches.h -- which windows a step is trained on: a pure function of
 * (tokens, seq, stride, batch, seed, step).
 */
#ifndef BATCHES_H
#define BATCHES_H

#include "base/status.h"

typedef struct batches {
    const int *tokens;          /* borrowed */
    size_t     ntokens;
    size_t     seq, stride, batch;
    size_t     windows;         /* starts 0, stride, ... */
    size_t     per_epoch;       /* ceil(windows / batch) */
    uint64_t   seed;
    size_t    *order;           /* the permutation of `epoch`, kept */
    uint64_t   epoch;
    bool       have_order;
} batches;

/* stride 0 means seq.  VT_BAD_INPUT where the tokens hold no window. */
VT_MUST_CHECK vt_status batches_new(batches *b, const int *tokens, size_t ntokens,
                                    size_t seq, size_t stride, size_t batch,
                                    uint64_t seed, vt_error *err);
void batches_free(batches *b);

/* Batch number `step` (from 0): x (batch, seq) inputs, y (batch, seq) targets,
 * y[r][t] the token behind x[r][t].  Returns the rows in use: `batch`, or less in
 * an epoch's last batch, whose other rows are x = 0, y = VT_IGNORE.  The tokens
 * counted are rows * seq. */
size_t batches_get(batches *b, uint64_t step, int *x, int *y);

/* The same of windows in their order, without a permutation: window first,
 * first+1, ... (for validation); 0 behind the last one. */
size_t batches_in_order(const batches *b, size_t first, int *x, int *y);

#endif

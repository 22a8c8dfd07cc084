/* batches.c -- see batches.h.
 *
 *     x[r][t] = tokens[w stride + t],  w the window of row r    (batch.window)
 *     y[r][t] = tokens[w stride + t + 1]                        (batch.target)
 *     order = permutation(W) of stream(seed, RNG_BATCHES, e)   (batch.shuffle)
 *
 * W = (N - seq - 1) / stride + 1 windows, one epoch e = step / ceil(W / batch);
 * row r of batch j of the epoch is window w = order[j batch + r].
 *
 * Nothing is carried from step to step but a copy of the epoch's order, which
 * any step can make again: a resumed run sees the batches of an uninterrupted
 * one.
 */
#include "data/batches.h"
#include "base/rng.h"
#include "data/dataset.h"
#include <stdlib.h>

vt_status batches_new(batches *b, const int *tokens, size_t ntokens, size_t seq, size_t stride,
                      size_t batch, uint64_t seed, vt_error *err)
{
    *b = (batches){ 0 };
    if (stride == 0) stride = seq;
    if (seq == 0 || batch == 0)
        return fail(err, VT_USAGE, "a window of %zu tokens in batches of %zu: expected at least 1 "
                    "of each", seq, batch);
    const vt_status status = dataset_check(ntokens, seq, "training", err);
    if (status) return status;
    const size_t windows = dataset_windows(ntokens, seq, stride);
    size_t size;
    if (!size_mul(windows, sizeof *b->order, &size))
        return fail_memory(err, SIZE_MAX, "the order of the windows");
    size_t *order = malloc(size);
    if (!order) return fail_memory(err, size, "the order of the windows");
    *b = (batches){ .tokens = tokens, .ntokens = ntokens, .seq = seq, .stride = stride,
                    .batch = batch, .windows = windows,
                    .per_epoch = windows / batch + (windows % batch != 0),
                    .seed = seed, .order = order };
    return VT_OK;
}

void batches_free(batches *b)
{
    free(b->order);
    *b = (batches){ 0 };
}

static void fill_row(const batches *b, size_t window, int *x, int *y)
{
    const int *s = b->tokens + window * b->stride;                      /* batch.window */
    for (size_t t = 0; t < b->seq; t++) {
        x[t] = s[t];                                                    /* batch.window */
        y[t] = s[t + 1];                                                /* batch.target */
    }
}

/* Rows that a batch does not use: nothing in them is counted. */
static void clear_rows(const batches *b, size_t rows, int *x, int *y)
{
    for (size_t i = rows * b->seq; i < b->batch * b->seq; i++) {
        x[i] = 0;
        y[i] = VT_IGNORE;
    }
}

static size_t rows_from(const batches *b, size_t first)
{
    const size_t left = first < b->windows ? b->windows - first : 0;
    return left < b->batch ? left : b->batch;
}

size_t batches_get(batches *b, uint64_t step, int *x, int *y)
{
    const uint64_t epoch = step / b->per_epoch;
    if (!b->have_order || b->epoch != epoch) {
        rng r;
        rng_stream_seed(&r, b->seed, RNG_BATCHES, epoch);               /* batch.shuffle */
        rng_permutation(&r, b->order, b->windows);                      /* batch.shuffle */
        b->epoch = epoch;
        b->have_order = true;
    }
    const size_t first = (size_t)(step % b->per_epoch) * b->batch, rows = rows_from(b, first);
    for (size_t r = 0; r < rows; r++)
        fill_row(b, b->order[first + r], x + r * b->seq, y + r * b->seq);
    clear_rows(b, rows, x, y);
    return rows;
}

size_t batches_in_order(const batches *b, size_t first, int *x, int *y)
{
    const size_t rows = rows_from(b, first);
    for (size_t r = 0; r < rows; r++) fill_row(b, first + r, x + r * b->seq, y + r * b->seq);
    clear_rows(b, rows, x, y);
    return rows;
}

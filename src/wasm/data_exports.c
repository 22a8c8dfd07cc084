/* data_exports.c -- what a step is trained on, in the page: which documents are set
 * apart, which windows a batch holds.  See exports.h, data/batches.h and
 * data/dataset.h. */
#include "wasm/exports.h"
#include "data/batches.h"
#include "data/dataset.h"

vt_status page_batch(int *x, int *y, double out[3], const int *tokens, size_t ntokens, size_t seq,
                     size_t stride, size_t batch, double seed, double step);
vt_status page_split_documents(bool *validates, size_t count, double seed);

/* Batch number `step`: x and y (batch, seq), of as many rows as out[0] says; out[1]
 * windows, out[2] batches an epoch. */
EXPORT(page_batch)
vt_status page_batch(int *x, int *y, double out[3], const int *tokens, size_t ntokens, size_t seq,
                     size_t stride, size_t batch, double seed, double step)
{
    batches b;
    uint64_t seed_number, step_number;
    vt_status s = page_seed(&seed_number, seed);
    if (!s) s = page_seed(&step_number, step);
    if (!s) s = batches_new(&b, tokens, ntokens, seq, stride, batch, seed_number, &page_error_line);
    if (s) return s;
    out[0] = (double)batches_get(&b, step_number, x, y);
    out[1] = (double)b.windows;
    out[2] = (double)b.per_epoch;
    batches_free(&b);
    return VT_OK;
}

/* Of so many documents (all 0 before), 1 for those that validate. */
EXPORT(page_split_documents)
vt_status page_split_documents(bool *validates, size_t count, double seed)
{
    uint64_t number;
    if (count < DATASET_DOCUMENTS)
        return fail(&page_error_line, VT_USAGE, "%zu documents: expected %d", count,
                    DATASET_DOCUMENTS);
    const vt_status s = page_seed(&number, seed);
    return s ? s : dataset_validates(validates, count, number, &page_error_line);
}

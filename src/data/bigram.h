/* bigram.h -- the loss of the best bigram model: what a trained model must beat.
 *
 *     p(b | a) = (n(a, b) + k) / (n(a) + k V),   k in 0.01, 0.1, 1
 */
#ifndef BIGRAM_H
#define BIGRAM_H

#include "base/status.h"

typedef struct bigram {
    double k;               /* the k of the lowest loss */
    double loss;            /* nats per token */
    size_t targets;         /* tokens predicted */
} bigram;

/* Counts pairs in train; predicts the targets of the windows of seq tokens in
 * valid with stride seq, which a model's validation loss is the mean of.
 * VT_BAD_INPUT where valid holds no window, train no pair, or an id is outside
 * 0 .. vocab-1. */
VT_MUST_CHECK vt_status bigram_best(bigram *out, const int *train, size_t ntrain,
                                    const int *valid, size_t nvalid, size_t seq,
                                    size_t vocab, vt_error *err);
#endif

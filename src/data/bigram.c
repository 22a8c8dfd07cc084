/* bigram.c -- see bigram.h.
 *
 *     n(a, b)  pairs (train[i], train[i+1]) = (a, b);   n(a) = sum over b
 *     loss(k)  = mean over the validation pairs of  -log p(b | a)
 *
 * Tokens are sorted by what stands before them (a counting sort of the pairs),
 * so that one row of V counts serves all a in turn: time and memory are linear
 * in the tokens and in V, where a table of V V counts would not fit for a large
 * vocabulary.  Sums run in the order of a, then of the text.
 *
 * Jurafsky and Martin, Speech and Language Processing, 3rd ed., section 3.6
 * (add-k smoothing).
 */
#include "data/bigram.h"
#include "data/dataset.h"
#include <stdlib.h>
#include "base/elementary.h"

/* The tokens behind each token a are next[begin[a] .. begin[a+1]-1]. */
typedef struct followers { size_t *begin; int *next; } followers;

static void followers_free(followers *f)
{
    free(f->begin);
    free(f->next);
}

static vt_status followers_new(followers *f, const int *tokens, size_t pairs, size_t vocab,
                               vt_error *err)
{
    f->begin = calloc(vocab + 2, sizeof *f->begin);
    f->next = calloc(pairs, sizeof *f->next);
    if (!f->begin || !f->next)
        return fail_memory(err, (vocab + 2) * sizeof *f->begin + pairs * sizeof *f->next,
                           "the pairs of tokens");
    for (size_t i = 0; i <= pairs; i++)
        if (tokens[i] < 0 || (size_t)tokens[i] >= vocab)
            return fail(err, VT_BAD_INPUT, "token %zu of a text has the id %d: expected 0 .. %zu",
                        i, tokens[i], vocab - 1);
    /* begin[a+2] counts, then is summed to begin[a+1] = where a's begin, which
     * filling moves to where they end: the beginning of a+1's. */
    for (size_t i = 0; i < pairs; i++) f->begin[tokens[i] + 2]++;
    for (size_t a = 0; a < vocab; a++) f->begin[a + 2] += f->begin[a + 1];
    for (size_t i = 0; i < pairs; i++) f->next[f->begin[tokens[i] + 1]++] = tokens[i + 1];
    return VT_OK;
}

enum { KS = 3 };
static const double ks[KS] = { 0.01, 0.1, 1.0 };

vt_status bigram_best(bigram *out, const int *train, size_t ntrain, const int *valid,
                      size_t nvalid, size_t seq, size_t vocab, vt_error *err)
{
    *out = (bigram){ 0 };
    const size_t targets = dataset_windows(nvalid, seq, seq) * seq;
    vt_status status = dataset_check(nvalid, seq, "validation", err);
    if (status) return status;
    if (seq == 0) return fail(err, VT_USAGE, "windows of 0 tokens: expected at least 1");
    if (ntrain < 2)
        return fail(err, VT_BAD_INPUT, "a bigram model of %zu tokens: expected at least 2", ntrain);

    followers seen = { 0 }, wanted = { 0 };
    size_t *count = calloc(vocab + 1, sizeof *count);
    if (!count) status = fail_memory(err, (vocab + 1) * sizeof *count, "counts of tokens");
    if (status == VT_OK) status = followers_new(&seen, train, ntrain - 1, vocab, err);
    if (status == VT_OK) status = followers_new(&wanted, valid, targets, vocab, err);
    if (status) goto done;

    double sum[KS] = { 0 };
    for (size_t a = 0; a < vocab; a++) {
        const size_t from = seen.begin[a], to = seen.begin[a + 1];
        for (size_t i = from; i < to; i++) count[seen.next[i]]++;
        for (size_t i = wanted.begin[a]; i < wanted.begin[a + 1]; i++)
            for (int j = 0; j < KS; j++)
                sum[j] -= log_f64(((double)count[wanted.next[i]] + ks[j]) /
                                  ((double)(to - from) + ks[j] * (double)vocab));
        for (size_t i = from; i < to; i++) count[seen.next[i]]--;
    }
    int best = 0;
    for (int j = 1; j < KS; j++)
        if (sum[j] < sum[best]) best = j;
    *out = (bigram){ ks[best], sum[best] / (double)targets, targets };
done:
    followers_free(&seen);
    followers_free(&wanted);
    free(count);
    return status;
}

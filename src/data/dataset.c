/* dataset.c -- see dataset.h.
 *
 *     order     = permutation(documents) of stream(seed, RNG_SPLIT, 0)
 *     validates = order[0 .. ceil(documents / 10) - 1]           (batch.split)
 *
 * where there are ten documents or more; the others train.  Each part keeps the
 * order of the corpus, so that chapters of a novel follow one another.
 *
 * Fewer: all are encoded and joined; of N tokens the last ceil(N / 10) validate.
 * The tokenizer must not learn from what validates, but where the tokens are cut
 * is known only with a tokenizer.  It therefore learns from the first 90 % of
 * the *bytes* (less the last ceil(10 %), back to a character's beginning).  Both
 * cuts fall within a few words of one another where the text is much the same
 * all along; merges may have counted those words.
 *
 * Each document is encoded alone, so no merge crosses documents; windows may.
 */
#include "data/dataset.h"
#include "base/rng.h"
#include "tokenizer/bpe.h"
#include <stdlib.h>
#include <string.h>

static size_t tenth(size_t n) { return n / 10 + (n % 10 != 0); }

vt_status dataset_validates(bool *validates, size_t count, uint64_t seed, vt_error *err)
{
    size_t *order = calloc(count, sizeof *order);
    if (!order) return fail_memory(err, count * sizeof *order, "the split of documents");
    rng r;
    rng_stream_seed(&r, seed, RNG_SPLIT, 0);
    rng_permutation(&r, order, count);
    for (size_t i = 0; i < tenth(count); i++)
        validates[order[i]] = true;                                     /* batch.split */
    free(order);
    return VT_OK;
}

static vt_status split_by_document(dataset_split *s, const corpus *c, uint64_t seed,
                                   vt_error *err)
{
    bool *validates = calloc(c->count, sizeof *validates);
    if (!validates)
        return fail_memory(err, c->count * sizeof *validates, "the split of documents");
    const vt_status status = dataset_validates(validates, c->count, seed, err);
    for (size_t i = 0; i < c->count && status == VT_OK; i++) {
        if (validates[i]) s->valid[s->nvalid++] = c->docs[i];
        else s->train[s->ntrain++] = c->docs[i];
    }
    free(validates);
    return status;
}

/* Where the bytes before `cut` end and the others begin. */
static void split_by_byte(dataset_split *s, const corpus *c, size_t cut)
{
    size_t before = 0;                      /* bytes of earlier documents */
    for (size_t i = 0; i < c->count; i++) {
        const slice d = c->docs[i];
        size_t n = cut <= before ? 0 : cut - before < d.len ? cut - before : d.len;
        while (n > 0 && n < d.len && (d.data[n] & 0xC0) == 0x80) n--;
        if (n > 0) s->train[s->ntrain++] = (slice){ d.data, n };
        if (n < d.len) s->valid[s->nvalid++] = (slice){ d.data + n, d.len - n };
        before += d.len;
    }
}

vt_status dataset_split_new(dataset_split *s, const corpus *c, uint64_t seed, vt_error *err)
{
    *s = (dataset_split){ .by_document = c->count >= DATASET_DOCUMENTS };
    vt_status status = VT_OK;
    s->train = calloc(c->count + 1, sizeof *s->train);
    s->valid = calloc(c->count + 1, sizeof *s->valid);
    if (!s->train || !s->valid)
        status = fail_memory(err, 2 * (c->count + 1) * sizeof *s->train, "the split of documents");
    else if (s->by_document)
        status = split_by_document(s, c, seed, err);
    else
        split_by_byte(s, c, c->bytes - tenth(c->bytes));
    if (status) dataset_split_free(s);
    return status;
}

void dataset_split_free(dataset_split *s)
{
    free(s->train);
    free(s->valid);
    *s = (dataset_split){ 0 };
}

/* Documents are dealt out in groups of neighbours, by their number alone. */
typedef struct encode_job {
    const slice *docs;
    size_t       count, groups;
    const bpe   *tokenizer;
    bpe_ids     *ids;               /* of each group */
    vt_status   *status;
    vt_error    *errors;
} encode_job;

static void encode_group(void *context, size_t g, int worker)
{
    (void)worker;
    const encode_job *job = context;
    bpe_cache *cache = NULL;
    vt_error *err = &job->errors[g];
    vt_status status = bpe_cache_new(&cache, err);
    const size_t begin = job->count * g / job->groups, end = job->count * (g + 1) / job->groups;
    for (size_t i = begin; i < end && status == VT_OK; i++) {
        const slice d = job->docs[i];
        status = bpe_encode_cached(job->tokenizer, cache, d.data, d.len, &job->ids[g], err);
        if (status == VT_OK) status = bpe_ids_append(&job->ids[g], bpe_end(job->tokenizer), err);
    }
    bpe_cache_free(cache);
    job->status[g] = status;
}

enum { GROUPS = 16 };

/* Appends the ids of `count` documents to `out`. */
static vt_status encode_all(bpe_ids *out, const slice *docs, size_t count, const bpe *tokenizer,
                            team *crew, vt_error *err)
{
    bpe_ids ids[GROUPS] = { { 0 } };
    vt_status statuses[GROUPS] = { VT_OK }, status = VT_OK;
    vt_error *errors = calloc(GROUPS, sizeof *errors);
    if (!errors) return fail_memory(err, GROUPS * sizeof *errors, "messages");
    encode_job job = { docs, count, count < GROUPS ? count : GROUPS, tokenizer, ids, statuses,
                       errors };
    if (job.groups) team_run(crew, job.groups, encode_group, &job);

    size_t total = out->len;
    for (size_t g = 0; g < job.groups && status == VT_OK; g++) {
        status = statuses[g];
        if (status) fail(err, status, "%s", errors[g].text);
        total += ids[g].len;
    }
    if (status) goto done;
    int *grown = realloc(out->data, (total + 1) * sizeof *grown);
    if (!grown) {
        status = fail_memory(err, (total + 1) * sizeof *grown, "the corpus as tokens");
        goto done;
    }
    out->data = grown;
    out->cap = total + 1;
    for (size_t g = 0; g < job.groups; g++) {
        if (ids[g].len) memcpy(out->data + out->len, ids[g].data, ids[g].len * sizeof *grown);
        out->len += ids[g].len;
    }
done:
    for (size_t g = 0; g < GROUPS; g++) bpe_ids_free(&ids[g]);
    free(errors);
    return status;
}

vt_status dataset_encode(dataset *d, const corpus *c, const dataset_split *s,
                         const struct bpe *t, team *crew, vt_error *err)
{
    *d = (dataset){ 0 };
    bpe_ids all = { 0 };
    vt_status status;
    if (s->by_document) {
        status = encode_all(&all, s->train, s->ntrain, t, crew, err);
        d->ntrain = all.len;
        if (status == VT_OK) status = encode_all(&all, s->valid, s->nvalid, t, crew, err);
    } else {
        status = encode_all(&all, c->docs, c->count, t, crew, err);
        d->ntrain = all.len - tenth(all.len);
    }
    if (status) {
        bpe_ids_free(&all);
        *d = (dataset){ 0 };
        return status;
    }
    d->block = all.data;
    d->train = all.data;
    d->valid = all.data + d->ntrain;
    d->nvalid = all.len - d->ntrain;
    return VT_OK;
}

void dataset_free(dataset *d)
{
    free(d->block);
    *d = (dataset){ 0 };
}

_Static_assert(sizeof(int) == 4, "the ids are hashed as they stand");

void dataset_sha256(char hash[65], const dataset *d)
{
    sha256_hex(hash, d->block, (d->ntrain + d->nvalid) * sizeof *d->block);
}

size_t dataset_windows(size_t n, size_t seq, size_t stride)
{
    if (n <= seq || seq == 0 || stride == 0) return 0;
    return (n - seq - 1) / stride + 1;
}

vt_status dataset_check(size_t n, size_t seq, const char *what, vt_error *err)
{
    if (n > seq) return VT_OK;
    return fail(err, VT_BAD_INPUT, "the %s text is too short: %zu token%s, expected at least %zu "
                "(a window of %zu and the token behind it)", what, n, n == 1 ? "" : "s", seq + 1,
                seq);
}

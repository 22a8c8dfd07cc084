/* bpe.c -- a tokenizer as a value: building it, looking at it, decoding.
 *
 * bpe_train.c learns one, bpe_encode.c applies it, bpe_json.c is its file.
 * Tokens' bytes lie one after the other in one block; the 256 bytes are tokens
 * of length one, and a merge's are its two parts' joined.
 *
 *     text = bytes(id_0) bytes(id_1) ...                         (bpe.decode)
 */
#include "tokenizer/bpe_internal.h"
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void *bpe_grow(void *old, size_t *cap, size_t need, size_t item)
{
    if (need <= *cap && old) return old;
    size_t want = *cap > SIZE_MAX / 2 ? SIZE_MAX : *cap * 2, bytes_wanted;
    if (want < need) want = need;
    if (want < 16) want = 16;
    if (!size_mul(want, item, &bytes_wanted)) return NULL;
    void *p = realloc(old, bytes_wanted);
    if (p) *cap = want;
    return p;
}

void bpe_ids_free(bpe_ids *ids)
{
    free(ids->data);
    *ids = (bpe_ids){ 0 };
}

vt_status bpe_ids_append(bpe_ids *ids, int id, vt_error *err)
{
    if (ids->len == ids->cap) {
        int *data = bpe_grow(ids->data, &ids->cap, ids->len + 1, sizeof *data);
        if (!data) return fail_memory(err, (ids->len + 1) * sizeof *data, "token ids");
        ids->data = data;
    }
    ids->data[ids->len++] = id;
    return VT_OK;
}

/* ---- pairs ---- */

/* Spreads neighbouring ids over the table: the finaliser of splitmix64
 * (Steele, Lea and Flood, 2014). */
static size_t pair_hash(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (size_t)(x ^ x >> 31);
}

/* The slot of the key, or the empty one where it would be. */
static size_t pair_slot(const pairmap *m, uint64_t key)
{
    size_t i = pair_hash(key) & (m->cap - 1);
    while (m->slot[i].value != PAIRMAP_NONE && m->slot[i].key != key) i = (i + 1) & (m->cap - 1);
    return i;
}

uint32_t pairmap_get(const pairmap *m, int left, int right)
{
    if (m->cap == 0) return PAIRMAP_NONE;
    return m->slot[pair_slot(m, pairmap_key(left, right))].value;
}

static vt_status pairmap_double(pairmap *m, vt_error *err)
{
    pairmap wide = { NULL, m->cap ? m->cap * 2 : 256, m->used };
    size_t size;
    if (!size_mul(wide.cap, sizeof *wide.slot, &size)) size = SIZE_MAX;
    wide.slot = malloc(size);
    if (!wide.slot) return fail_memory(err, size, "pairs of tokens");
    for (size_t i = 0; i < wide.cap; i++) wide.slot[i] = (struct pairmap_slot){ 0, PAIRMAP_NONE };
    for (size_t i = 0; i < m->cap; i++)
        if (m->slot[i].value != PAIRMAP_NONE) wide.slot[pair_slot(&wide, m->slot[i].key)] = m->slot[i];
    free(m->slot);
    *m = wide;
    return VT_OK;
}

vt_status pairmap_get_or_put(pairmap *m, int left, int right, uint32_t fresh,
                             uint32_t *value, vt_error *err)
{
    assert(fresh != PAIRMAP_NONE);
    if (m->used >= m->cap / 2) {                /* half full at most: short probes */
        const vt_status status = pairmap_double(m, err);
        if (status) return status;
    }
    const uint64_t key = pairmap_key(left, right);
    struct pairmap_slot *s = &m->slot[pair_slot(m, key)];
    if (s->value == PAIRMAP_NONE) {
        *s = (struct pairmap_slot){ key, fresh };
        m->used++;
    }
    *value = s->value;
    return VT_OK;
}

void pairmap_free(pairmap *m)
{
    free(m->slot);
    *m = (pairmap){ 0 };
}

/* ---- building ---- */

vt_status bpe_new(bpe **out, size_t ids, vt_error *err)
{
    *out = NULL;
    if (ids > INT_MAX)
        return fail(err, VT_TOO_LARGE, "a tokenizer of %zu tokens: at most %d", ids, INT_MAX);
    bpe *b = calloc(1, sizeof *b);
    if (!b) return fail_memory(err, sizeof *b, "a tokenizer");
    b->piece_cap = ids;
    b->piece = calloc(ids ? ids : 1, sizeof *b->piece);
    if (!b->piece) {
        free(b);
        return fail_memory(err, ids * sizeof *b->piece, "tokens");
    }
    *out = b;
    return VT_OK;
}

void bpe_free(bpe *b)
{
    if (!b) return;
    free(b->piece);
    free(b->merge);
    free(b->text);
    pairmap_free(&b->rank_of);
    free(b);
}

/* A place of `len` bytes for the token `id`. */
static vt_status place(bpe *b, int id, size_t len, unsigned char **at, vt_error *err)
{
    assert(id >= 0 && (size_t)id < b->piece_cap && b->piece[id].len == 0);
    size_t need;
    if (!size_add(b->text_len, len, &need))
        return fail(err, VT_TOO_LARGE, "token %d: its %zu bytes do not fit in memory", id, len);
    unsigned char *text = bpe_grow(b->text, &b->text_cap, need, 1);
    if (!text) return fail_memory(err, need, "the bytes of tokens");
    b->text = text;
    *at = text + b->text_len;
    b->piece[id] = (struct bpe_piece){ b->text_len, len };
    b->text_len = need;
    return VT_OK;
}

vt_status bpe_set_byte(bpe *b, unsigned byte, int id, vt_error *err)
{
    assert(byte < 256);
    unsigned char *at = NULL;
    const vt_status status = place(b, id, 1, &at, err);
    if (status) return status;
    *at = (unsigned char)byte;
    b->byte_id[byte] = id;
    return VT_OK;
}

vt_status bpe_add_merge(bpe *b, int left, int right, int made, vt_error *err)
{
    const struct bpe_piece l = b->piece[left], r = b->piece[right];
    assert(l.len > 0 && r.len > 0);
    size_t len;
    if (!size_add(l.len, r.len, &len))
        return fail(err, VT_TOO_LARGE, "token %d: its length does not fit in memory", made);
    unsigned char *at = NULL;
    uint32_t rank;
    vt_status status = place(b, made, len, &at, err);
    if (status) return status;
    /* after place(): the block may move */
    memcpy(at, b->text + l.at, l.len);                                  /* bpe.merge */
    memcpy(at + l.len, b->text + r.at, r.len);                          /* bpe.merge */

    struct bpe_merge *merge = bpe_grow(b->merge, &b->merge_cap, (size_t)b->merges + 1, sizeof *merge);
    if (!merge) return fail_memory(err, ((size_t)b->merges + 1) * sizeof *merge, "merges");
    b->merge = merge;
    b->merge[b->merges] = (bpe_merge){ left, right, made, 0 };
    status = pairmap_get_or_put(&b->rank_of, left, right, (uint32_t)b->merges, &rank, err);
    if (status) return status;
    assert(rank == (uint32_t)b->merges);        /* callers give a pair once */
    b->merges++;
    return VT_OK;
}

vt_status bpe_finish(bpe *b, int end, vt_error *err)
{
    unsigned char *at = NULL;
    const vt_status status = place(b, end, sizeof BPE_END_TEXT - 1, &at, err);
    if (status) return status;
    memcpy(at, BPE_END_TEXT, sizeof BPE_END_TEXT - 1);
    b->end = end;
    b->vocab = 256 + b->merges + 1;
    assert((size_t)b->vocab <= b->piece_cap);
    return VT_OK;
}

int bpe_compare(const bpe *b, int x, int y)
{
    const struct bpe_piece p = b->piece[x], q = b->piece[y];
    const int order = memcmp(b->text + p.at, b->text + q.at, p.len < q.len ? p.len : q.len);
    if (order) return order;
    return p.len < q.len ? -1 : p.len > q.len;
}

/* ---- looking ---- */

int bpe_vocab(const bpe *b)  { return b->vocab; }
int bpe_merges(const bpe *b) { return b->merges; }
int bpe_end(const bpe *b)    { return b->end; }
int bpe_id_bytes(const bpe *b) { return b->vocab - 1 <= 0xFFFF ? 2 : 4; }

bpe_merge bpe_merge_at(const bpe *b, int rank)
{
    assert(rank >= 0 && rank < b->merges);
    return b->merge[rank];
}

const unsigned char *bpe_piece(const bpe *b, int id, size_t *len)
{
    *len = 0;
    if (id < 0 || id >= b->vocab) return NULL;
    *len = b->piece[id].len;
    return b->text + b->piece[id].at;
}

vt_status bpe_decode(const bpe *b, const int *ids, size_t n, bytes *append_to, vt_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= b->vocab)
            return fail(err, VT_BAD_INPUT, "token %d at position %zu: expected an id of 0 .. %d",
                        ids[i], i, b->vocab - 1);
    const size_t before = append_to->len;
    for (size_t i = 0; i < n; i++) {
        const struct bpe_piece p = b->piece[ids[i]];
        const unsigned char *text = b->text + p.at;
        const vt_status status = bytes_append(append_to, text, p.len, err); /* bpe.decode */
        if (status) {
            append_to->len = before;
            return status;
        }
    }
    return VT_OK;
}

/* bpe_encode.c -- applies merges to a text.
 *
 *     token[i] = id(byte[i]),  one token a byte to begin with        (bpe.byte)
 *     i = argmin rank(token[i], token[i+1]), the leftmost of several (bpe.rank)
 *     token[i] token[i+1] -> the token that this merge made         (bpe.encode)
 *
 * Inside each word, of all adjacent pairs that have a merge, the one of lowest
 * rank is joined, the leftmost of several, until none is left.  A heap of
 * (rank, position) finds it; the word is a doubly linked list, and a joined
 * position gives its two new pairs to the heap.  A word of n bytes costs at most
 * n - 1 joins and 3 n entries, so O(n log n) whatever it holds: a million equal
 * letters as well.  An entry is stale when the tokens there are no longer its
 * merge's two.
 *
 * For merges that were learned (a merge's parts are older than itself) this
 * equals joining all occurrences of the lowest pair at once, as GPT-2's
 * encoder.py does and as training did.  For files with another order it is what
 * Hugging Face's library does.
 *
 * Words up to CACHED bytes are remembered with their ids; language repeats
 * itself.  Special tokens are not looked for: a caller that wants one adds
 * bpe_end() to the ids itself.
 */
#include "base/interrupt.h"
#include "tokenizer/bpe_internal.h"
#include "tokenizer/presplit.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CACHED = 64, CACHE_WORDS = 1 << 20, WORDS_AT_ONCE = 4096 };
#define NOWHERE UINT32_MAX
enum { DEAD = -1 };

struct bpe_cache {
    /* Words seen: their bytes in `text`, their ids in `ids`. */
    struct seen { uint64_t hash; size_t text, ids; uint32_t len, count; } *slot;
    size_t   cap, used;                         /* count 0: an empty slot */
    bytes    text;
    bpe_ids  ids;
    /* The word at hand, by position. */
    int      *token;
    uint32_t *prev, *next;
    uint64_t *heap;                             /* rank << 32 | position, smallest first */
    size_t    token_cap, prev_cap, next_cap, heap_cap, heap_len;
    uint64_t  steps;
};

vt_status bpe_cache_new(bpe_cache **out, vt_error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? VT_OK : fail_memory(err, sizeof **out, "a cache of words");
}

void bpe_cache_free(bpe_cache *c)
{
    if (!c) return;
    free(c->slot);
    bytes_free(&c->text);
    bpe_ids_free(&c->ids);
    free(c->token);
    free(c->prev);
    free(c->next);
    free(c->heap);
    free(c);
}

uint64_t bpe_cache_steps(const bpe_cache *c) { return c->steps; }

/* ---- one word ---- */

static void heap_down(bpe_cache *c, size_t i)
{
    uint64_t *heap = c->heap;
    const uint64_t x = heap[i];
    for (size_t child; (child = 2 * i + 1) < c->heap_len; i = child) {
        if (child + 1 < c->heap_len && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= x) break;
        heap[i] = heap[child];
        c->steps++;
    }
    heap[i] = x;
}

static void heap_up(bpe_cache *c, size_t i)
{
    uint64_t *heap = c->heap;
    const uint64_t x = heap[i];
    for (; i > 0 && heap[(i - 1) / 2] > x; i = (i - 1) / 2) {
        heap[i] = heap[(i - 1) / 2];
        c->steps++;
    }
    heap[i] = x;
}

/* Appends the pair that begins at `i` if it has a merge; the caller restores
 * the heap's order. */
static bool offer(const bpe *b, bpe_cache *c, uint32_t i)
{
    if (i == NOWHERE || c->next[i] == NOWHERE) return false;
    const uint32_t rank = pairmap_get(&b->rank_of, c->token[i], c->token[c->next[i]]);
    c->steps++;
    if (rank == PAIRMAP_NONE) return false;
    assert(c->heap_len < c->heap_cap);
    c->heap[c->heap_len++] = (uint64_t)rank << 32 | i;                  /* bpe.rank */
    return true;
}

/* Arrays for a word of n bytes; the heap holds at most n - 1 pairs at first and
 * one more per join. */
static vt_status room(bpe_cache *c, size_t n, vt_error *err)
{
    size_t twice;
    if (n >= NOWHERE || !size_mul(n, 2, &twice))
        return fail(err, VT_TOO_LARGE, "a word of %zu bytes, at most %u", n, NOWHERE - 1);
    void *p;
    if (!(p = bpe_grow(c->token, &c->token_cap, n, sizeof *c->token))) goto none;
    c->token = p;
    if (!(p = bpe_grow(c->prev, &c->prev_cap, n, sizeof *c->prev))) goto none;
    c->prev = p;
    if (!(p = bpe_grow(c->next, &c->next_cap, n, sizeof *c->next))) goto none;
    c->next = p;
    if (!(p = bpe_grow(c->heap, &c->heap_cap, twice, sizeof *c->heap))) goto none;
    c->heap = p;
    return VT_OK;
none:
    return fail_memory(err, n, "a word");
}

/* Appends the ids of the word text[0..n-1], n >= 1. */
static vt_status encode_word(const bpe *b, bpe_cache *c, const unsigned char *text, size_t n,
                             bpe_ids *out, vt_error *err)
{
    vt_status status = room(c, n, err);
    if (status) return status;
    for (uint32_t i = 0; i < n; i++) {
        c->token[i] = b->byte_id[text[i]];                              /* bpe.byte */
        c->prev[i] = i - 1;                     /* NOWHERE for the first */
        c->next[i] = i + 1 < n ? i + 1 : NOWHERE;
    }
    c->heap_len = 0;
    for (uint32_t i = 0; i < n; i++) (void)offer(b, c, i);
    for (size_t i = c->heap_len / 2; i-- > 0;) heap_down(c, i);

    while (c->heap_len > 0) {
        const uint64_t top = c->heap[0];
        c->heap[0] = c->heap[--c->heap_len];
        if (c->heap_len > 0) heap_down(c, 0);
        c->steps++;
        const struct bpe_merge m = b->merge[top >> 32];
        const uint32_t i = (uint32_t)(top & UINT32_MAX), j = c->next[i];
        if (c->token[i] != m.left || j == NOWHERE || c->token[j] != m.right) continue;
        c->token[i] = m.made;                                           /* bpe.encode */
        c->token[j] = DEAD;
        c->next[i] = c->next[j];
        if (c->next[i] != NOWHERE) c->prev[c->next[i]] = i;
        if (offer(b, c, c->prev[i])) heap_up(c, c->heap_len - 1);
        if (offer(b, c, i)) heap_up(c, c->heap_len - 1);
    }
    for (uint32_t i = 0; i != NOWHERE && !status; i = c->next[i])
        status = bpe_ids_append(out, c->token[i], err);
    return status;
}

/* ---- the cache ---- */

static struct seen *seen_slot(const bpe_cache *c, uint64_t hash, const unsigned char *at, size_t len)
{
    size_t i = (size_t)hash & (c->cap - 1);
    for (;; i = (i + 1) & (c->cap - 1)) {
        struct seen *s = &c->slot[i];
        if (s->count == 0) return s;
        if (s->hash == hash && s->len == len && memcmp(c->text.data + s->text, at, len) == 0)
            return s;
    }
}

static vt_status cache_double(bpe_cache *c, vt_error *err)
{
    const size_t old_cap = c->cap;
    struct seen *old = c->slot;
    const size_t cap = old_cap ? old_cap * 2 : 64;
    struct seen *slot = calloc(cap, sizeof *slot);
    if (!slot) return fail_memory(err, cap * sizeof *slot, "a cache of words");
    c->slot = slot;
    c->cap = cap;
    for (size_t k = 0; k < old_cap; k++) {
        if (old[k].count == 0) continue;
        size_t i = (size_t)old[k].hash & (cap - 1);
        while (slot[i].count) i = (i + 1) & (cap - 1);
        slot[i] = old[k];
    }
    free(old);
    return VT_OK;
}

/* Remembers the ids out[from ..] of a word that is not in the cache. */
static vt_status remember(bpe_cache *c, struct seen *empty, uint64_t hash, const unsigned char *at,
                          size_t len, const bpe_ids *out, size_t from, vt_error *err)
{
    const struct seen s = { hash, c->text.len, c->ids.len, (uint32_t)len, (uint32_t)(out->len - from) };
    vt_status status = bytes_append(&c->text, at, len, err);
    for (size_t i = from; i < out->len && !status; i++)
        status = bpe_ids_append(&c->ids, out->data[i], err);
    if (status) return status;
    *empty = s;
    c->used++;
    return VT_OK;
}

static vt_status encode_cached_word(const bpe *b, bpe_cache *c, const unsigned char *at, size_t len,
                                    bpe_ids *out, vt_error *err)
{
    if (len == 1) return bpe_ids_append(out, b->byte_id[*at], err);
    if (len > CACHED) return encode_word(b, c, at, len, out, err);
    if (c->used >= c->cap / 2 && c->used < CACHE_WORDS) {
        const vt_status status = cache_double(c, err);
        if (status) return status;
    }
    const uint64_t hash = word_hash(at, len);
    struct seen *s = seen_slot(c, hash, at, len);
    vt_status status = VT_OK;
    if (s->count > 0) {
        for (uint32_t i = 0; i < s->count && !status; i++)
            status = bpe_ids_append(out, c->ids.data[s->ids + i], err);
        return status;
    }
    const size_t from = out->len;
    status = encode_word(b, c, at, len, out, err);
    if (!status && c->used < CACHE_WORDS) status = remember(c, s, hash, at, len, out, from, err);
    return status;
}

vt_status bpe_encode_cached(const bpe *b, bpe_cache *c, const void *text, size_t n,
                            bpe_ids *append_to, vt_error *err)
{
    const size_t before = append_to->len;
    const unsigned char *p = text;
    for (size_t words = 0; n > 0; words++) {
        const size_t len = presplit_next(p, n);
        vt_status status = words % WORDS_AT_ONCE == 0 ? interrupt_check(err) : VT_OK;
        if (!status) status = encode_cached_word(b, c, p, len, append_to, err);
        if (status) {
            append_to->len = before;
            return status;
        }
        p += len;
        n -= len;
    }
    return VT_OK;
}

vt_status bpe_encode(const bpe *b, const void *text, size_t n, bpe_ids *append_to, vt_error *err)
{
    bpe_cache *c;
    vt_status status = bpe_cache_new(&c, err);
    if (status) return status;
    status = bpe_encode_cached(b, c, text, n, append_to, err);
    bpe_cache_free(c);
    return status;
}

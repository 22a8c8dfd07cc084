/* tokenizer_exports.c -- byte-pair encoding in the page: training, encoding, and
 * how one word became tokens.  See exports.h and tokenizer/bpe.h. */
#include "wasm/exports.h"
#include <stdlib.h>
#include <string.h>
#include "tokenizer/bpe_internal.h"
#include "tokenizer/presplit.h"

bpe *page_bpe_new(const int *merges, size_t n, const int *bytes_, const int *made, int end);
bpe *page_bpe_train(const void *text, size_t n, int merges);
void page_bpe_free(bpe *b);
int  page_bpe_vocab(const bpe *b);
int  page_bpe_merges(const bpe *b);
int  page_bpe_end(const bpe *b);
int  page_bpe_merge(const bpe *b, int rank, double out[4]);
const unsigned char *page_bpe_piece(const bpe *b, int id, size_t *len);
int *page_bpe_encode(const bpe *b, const void *text, size_t n, size_t *count);
unsigned char *page_bpe_decode(const bpe *b, const int *ids, size_t n, size_t *len);
size_t page_split(const unsigned char *text, size_t n, uint32_t *lengths);
int  page_bpe_step(const bpe *b, int *ids, size_t n, int *rank);

/* n merges as pairs of ids, in the order of training.  Where bytes_ is NULL the ids
 * are ours: a byte's value, then 256 + rank, then the special token.  Else bytes_ has
 * the id of each of the 256 bytes, made (n) those of the merges, end the special one.
 * NULL with a line where that is no tokenizer. */
EXPORT(page_bpe_new)
bpe *page_bpe_new(const int *merges, size_t n, const int *bytes_, const int *made, int end)
{
    bpe *b = NULL;
    const size_t vocab = n + 257;
    unsigned char *there = n < INT32_MAX - 257 ? calloc(vocab, 1) : NULL;
    vt_status s = there ? bpe_new(&b, vocab, &page_error_line)
                        : fail(&page_error_line, VT_TOO_LARGE, "a tokenizer of %zu merges is too large", n);
    for (unsigned i = 0; i < 256 && !s; i++) {
        const int id = bytes_ ? bytes_[i] : (int)i;
        if (id < 0 || (size_t)id >= vocab || there[id])
            s = fail(&page_error_line, VT_BAD_INPUT, "byte %u has id %d: expected one of 0 to %zu of its "
                     "own", i, id, vocab - 1);
        else {
            there[id] = 1;
            s = bpe_set_byte(b, i, id, &page_error_line);
        }
    }
    for (size_t i = 0; i < n && !s; i++) {
        const int left = merges[2 * i], right = merges[2 * i + 1];
        const int id = bytes_ ? made[i] : (int)(256 + i);
        if (left < 0 || (size_t)left >= vocab || !there[left] || right < 0 ||
            (size_t)right >= vocab || !there[right])
            s = fail(&page_error_line, VT_BAD_INPUT, "merge %zu joins %d and %d: expected ids that are "
                     "there", i, left, right);
        else if (id < 0 || (size_t)id >= vocab || there[id])
            s = fail(&page_error_line, VT_BAD_INPUT, "merge %zu makes id %d: expected one of 0 to %zu of "
                     "its own", i, id, vocab - 1);
        else if (pairmap_get(&b->rank_of, left, right) != PAIRMAP_NONE)
            s = fail(&page_error_line, VT_BAD_INPUT, "merge %zu joins %d and %d again", i, left, right);
        else {
            there[id] = 1;
            s = bpe_add_merge(b, left, right, id, &page_error_line);
        }
    }
    const int last = bytes_ ? end : (int)(vocab - 1);
    if (!s && (last < 0 || (size_t)last >= vocab || there[last]))
        s = fail(&page_error_line, VT_BAD_INPUT, "the special token has id %d: expected one of 0 to %zu of "
                 "its own", last, vocab - 1);
    if (!s) s = bpe_finish(b, last, &page_error_line);
    free(there);
    if (!s) return b;
    bpe_free(b);
    return NULL;
}

/* Learns from one text; NULL with a line. */
EXPORT(page_bpe_train) bpe *page_bpe_train(const void *text, size_t n, int merges)
{
    const bpe_text doc = { text, n };
    bpe *b;
    return bpe_train(&b, &doc, 1, merges, NULL, &page_error_line) ? NULL : b;
}

EXPORT(page_bpe_free)   void page_bpe_free(bpe *b)         { bpe_free(b); }
EXPORT(page_bpe_vocab)  int page_bpe_vocab(const bpe *b)   { return bpe_vocab(b); }
EXPORT(page_bpe_merges) int page_bpe_merges(const bpe *b)  { return bpe_merges(b); }
EXPORT(page_bpe_end)    int page_bpe_end(const bpe *b)     { return bpe_end(b); }

/* left, right, made, count of a merge; 0 beyond the last. */
EXPORT(page_bpe_merge) int page_bpe_merge(const bpe *b, int rank, double out[4])
{
    if (rank < 0 || rank >= bpe_merges(b)) return 0;
    const bpe_merge m = bpe_merge_at(b, rank);
    out[0] = m.left; out[1] = m.right; out[2] = m.made; out[3] = (double)m.count;
    return 1;
}

/* A token's bytes; NULL for an id that is none. */
EXPORT(page_bpe_piece) const unsigned char *page_bpe_piece(const bpe *b, int id, size_t *len)
{
    return bpe_piece(b, id, len);
}

/* The page frees it; NULL with a line. */
EXPORT(page_bpe_encode)
int *page_bpe_encode(const bpe *b, const void *text, size_t n, size_t *count)
{
    bpe_ids ids = { 0 };
    *count = 0;
    vt_status s = bpe_encode(b, text, n, &ids, &page_error_line);
    if (!s && !ids.data && !(ids.data = calloc(1, sizeof *ids.data)))   /* no text: no ids */
        s = fail_memory(&page_error_line, sizeof *ids.data, "token ids");
    if (s) {
        bpe_ids_free(&ids);
        return NULL;
    }
    *count = ids.len;
    return ids.data;
}

EXPORT(page_bpe_decode)
unsigned char *page_bpe_decode(const bpe *b, const int *ids, size_t n, size_t *len)
{
    bytes text = { 0 };
    *len = 0;
    vt_status s = bytes_room(&text, 0, &page_error_line);
    if (!s) s = bpe_decode(b, ids, n, &text, &page_error_line);
    if (s) {
        bytes_free(&text);
        return NULL;
    }
    *len = text.len;
    return text.data;
}

/* The lengths of the words that the pre-splitting makes, at most n of them. */
EXPORT(page_split) size_t page_split(const unsigned char *text, size_t n, uint32_t *lengths)
{
    size_t words = 0;
    for (size_t at = 0; at < n; words++) {
        const size_t len = presplit_next(text + at, n - at);
        lengths[words] = (uint32_t)len;
        at += len;
    }
    return words;
}

/* The next merge inside one word, n ids that are there: where the pair of the least
 * rank is, the leftmost of them; -1: none.  Its rank into *rank. */
EXPORT(page_bpe_step) int page_bpe_step(const bpe *b, int *ids, size_t n, int *rank)
{
    int at = -1;
    uint32_t best = PAIRMAP_NONE;
    for (size_t i = 0; i + 1 < n; i++) {
        const uint32_t r = pairmap_get(&b->rank_of, ids[i], ids[i + 1]);
        if (r < best) {
            best = r;
            at = (int)i;
        }
    }
    if (at < 0) return -1;
    *rank = (int)best;
    ids[at] = b->merge[best].made;
    memmove(ids + at + 1, ids + at + 2, (n - (size_t)at - 2) * sizeof *ids);
    return at;
}

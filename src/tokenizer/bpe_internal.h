/* bpe_internal.h -- what the files of the tokenizer share.
 *
 * A bpe is built by bpe_new, the 256 byte ids, bpe_add_merge in order of rank,
 * and bpe_finish; after that nothing in it changes.
 */
#ifndef BPE_INTERNAL_H
#define BPE_INTERNAL_H

#include "tokenizer/bpe.h"

/* Room for `need` items of `item` bytes: the array, moved or not, with *cap
 * raised; NULL without memory, and then `old` is still good. */
void *bpe_grow(void *old, size_t *cap, size_t need, size_t item);

/* ---- pairs of ids -> a number (open addressing, linear probing) ---- */

typedef struct pairmap {
    struct pairmap_slot { uint64_t key; uint32_t value; } *slot;
    size_t cap, used;                       /* cap: 0 or a power of two */
} pairmap;

enum { PAIRMAP_NONE = UINT32_MAX };         /* no value is this */

static inline uint64_t pairmap_key(int left, int right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}
uint32_t pairmap_get(const pairmap *m, int left, int right);
/* *value = what is there, or `fresh` which is then put there. */
VT_MUST_CHECK vt_status pairmap_get_or_put(pairmap *m, int left, int right, uint32_t fresh,
                                           uint32_t *value, vt_error *err);
void pairmap_free(pairmap *m);

/* ---- distinct words with their counts ---- */

typedef struct word {
    const unsigned char *at;                /* in the documents; NULL: empty slot */
    size_t               len;
    uint64_t             hash, count;
} word;

typedef struct wordset {
    word  *slot;
    size_t cap, used;                       /* cap: 0 or a power of two */
} wordset;

uint64_t word_hash(const unsigned char *at, size_t len);
/* Counts the words of all documents; the order of slots has no meaning. */
VT_MUST_CHECK vt_status wordset_count(wordset *out, const bpe_text *docs, size_t ndocs,
                                      team *t, vt_error *err);
void wordset_free(wordset *s);

/* ---- the tokenizer ---- */

struct bpe {
    int vocab, merges, end;
    int byte_id[256];
    struct bpe_piece { size_t at, len; } *piece;            /* by id, in text */
    struct bpe_merge *merge;                                /* by rank */
    unsigned char *text;
    size_t text_len, text_cap, merge_cap, piece_cap;
    pairmap rank_of;                                        /* (left, right) -> rank */
};

/* Room for `ids` ids, all unused (len 0). */
VT_MUST_CHECK vt_status bpe_new(bpe **out, size_t ids, vt_error *err);
VT_MUST_CHECK vt_status bpe_set_byte(bpe *b, unsigned byte, int id, vt_error *err);
/* Joins two tokens that are there into the unused id `made`. */
VT_MUST_CHECK vt_status bpe_add_merge(bpe *b, int left, int right, int made, vt_error *err);
VT_MUST_CHECK vt_status bpe_finish(bpe *b, int end, vt_error *err);
/* memcmp order of two tokens' bytes, a prefix first. */
int bpe_compare(const bpe *b, int x, int y);

#endif

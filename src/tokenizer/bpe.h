/* bpe.h -- byte-level byte-pair encoding with GPT-2's pre-splitting.
 *
 * A text is cut into words by presplit.h; inside a word, bytes are joined by
 * merges in the order in which training found them.  Every byte is a token, so
 * that any bytes can be encoded and decode(encode(x)) = x.
 *
 * Ids: a byte's value for 0 .. 255, then one per merge, and last the special
 * token <|endoftext|>.  A tokenizer that was read from a file may order its ids
 * otherwise (GPT-2's does): ask bpe_end() and bpe_piece(), do not compute.
 *
 * A bpe does not change once it is made: threads may share it.
 *
 * References: Sennrich, Haddow and Birch, Neural Machine Translation of Rare
 * Words with Subword Units, 2016, section 3.2; Radford et al., Language Models
 * are Unsupervised Multitask Learners, 2019, section 2.2.
 */
#ifndef BPE_H
#define BPE_H

#include "base/bytes.h"
#include "base/slice.h"
#include "base/threads.h"

/* The spelling of the special token. */
#define BPE_END_TEXT "<|endoftext|>"

typedef struct bpe bpe;

typedef slice bpe_text;

typedef struct bpe_ids { int *data; size_t len, cap; } bpe_ids;     /* growable */
void bpe_ids_free(bpe_ids *ids);                            /* and zeroes *ids */
VT_MUST_CHECK vt_status bpe_ids_append(bpe_ids *ids, int id, vt_error *err);

/* Learns at most `merges` merges from `ndocs` texts (not kept).  Each step joins
 * the pair of adjacent tokens inside words that occurs most often; a run of
 * equal tokens holds floor(length / 2) of its pair; among equals the pair whose
 * left token's bytes are smallest, then whose right token's bytes are (memcmp
 * order, a prefix first).  So the merges depend neither on the order of the
 * texts nor on the team (NULL: the caller alone).  A pair must occur twice:
 * training may end early, bpe_merges() says how many were learned; an empty
 * corpus learns none.  VT_USAGE for a negative or unusable `merges`; VT_INTERRUPTED where
 * a signal asks to stop (interrupt.h). */
VT_MUST_CHECK vt_status bpe_train(bpe **out, const bpe_text *docs, size_t ndocs,
                                  int merges, team *t, vt_error *err);
void bpe_free(bpe *b);                                      /* also NULL */

int  bpe_vocab(const bpe *b);           /* V = 256 + merges + 1 */
int  bpe_merges(const bpe *b);
int  bpe_end(const bpe *b);             /* id of <|endoftext|> */
/* Bytes that an id takes in a file of ids: 2 while the largest id (the special
 * one counts) is at most 65535, else 4. */
int  bpe_id_bytes(const bpe *b);

/* Appends the ids of n bytes.  Text never becomes a special token, whatever it
 * spells.  Work is O(n log n) also for a single word of n bytes. */
VT_MUST_CHECK vt_status bpe_encode(const bpe *b, const void *text, size_t n,
                                   bpe_ids *append_to, vt_error *err);

/* The same with the caller's memory of words already seen: for many texts, one
 * per thread.  It must be used with one bpe only. */
typedef struct bpe_cache bpe_cache;
VT_MUST_CHECK vt_status bpe_cache_new(bpe_cache **out, vt_error *err);
void     bpe_cache_free(bpe_cache *c);                      /* also NULL */
uint64_t bpe_cache_steps(const bpe_cache *c);   /* heap moves so far, for tests */
VT_MUST_CHECK vt_status bpe_encode_cached(const bpe *b, bpe_cache *c, const void *text,
                                          size_t n, bpe_ids *append_to, vt_error *err);

/* Merge number `rank`, 0 .. bpe_merges()-1. */
typedef struct bpe_merge {
    int      left, right, made;         /* ids */
    uint64_t count;                     /* of the pair when it was learned; 0: read, not learned */
} bpe_merge;
bpe_merge bpe_merge_at(const bpe *b, int rank);

/* The bytes of a token, owned by `b`; of the special one its spelling.  NULL
 * (and *len = 0) for an id outside 0 .. V-1. */
const unsigned char *bpe_piece(const bpe *b, int id, size_t *len);

/* Appends the bytes of n ids (the special token by its spelling); an id outside
 * 0 .. V-1 is VT_BAD_INPUT and names it, and nothing is appended. */
VT_MUST_CHECK vt_status bpe_decode(const bpe *b, const int *ids, size_t n,
                                   bytes *append_to, vt_error *err);

/* Hugging Face's tokenizer.json; the same tokenizer gives the same bytes. */
VT_MUST_CHECK vt_status bpe_to_json(const bpe *b, bytes *out, vt_error *err);
/* Reads one: ours, or one like GPT-2's (a byte-level BPE with GPT-2's
 * pre-splitting and <|endoftext|> as its only special token; ids in any order;
 * merges as "a b" or ["a", "b"]).  All else is VT_BAD_INPUT with the field in
 * one line; `name` is the file's name in messages. */
VT_MUST_CHECK vt_status bpe_from_json(bpe **out, const void *data, size_t n,
                                      const char *name, vt_error *err);

#endif

/* bpe_train.c -- learns merges without ever counting the corpus again.
 *
 * Byte-pair encoding joins the pair of adjacent tokens that occurs most often,
 * and begins again:
 *
 *     count(a,b) = sum_w weight(w) (pairs a, b in the word w)     (bpe.count)
 *     a, b       = argmax count; of equal ones the smallest bytes  (bpe.best)
 *     a b -> z,    the next id; bytes(z) = bytes(a) bytes(b)      (bpe.merge)
 *
 * Here the distinct words lie one after the other in arrays
 * of positions, each word a doubly linked list of tokens with a weight (how
 * often it occurs); every pair keeps its count and the list of positions where
 * it stood when its newer token was made; a heap gives the pair of greatest
 * count.  A merge walks the list of its pair alone and corrects the counts of
 * the neighbours:
 *
 *     .. p  a b  r ..     (p,a) and (b,r) lose the word's weight,
 *     .. p   z   r ..     (p,z) and (z,r) gain it.
 *
 * What keeps it small:
 *   - A pair gets all its positions during the merge that makes the newer of
 *     its tokens, in ascending order; later merges only take from it.  So lists
 *     need no order kept, stale positions are seen by looking at the tokens
 *     there, and a heap entry that is too high is put back lower when it comes
 *     up.  Positions in lists: at most the letters of the distinct words plus
 *     two per position joined, three times the letters in all.
 *   - Counts do not overlap: a run of L equal tokens x holds floor(L / 2) pairs
 *     (x,x), those that joining from left to right will find.  So a position
 *     at an even offset of its run counts.  When a run loses a token at an end
 *     its count falls where L was even; L is found by walking.  Such a walk at
 *     the merge (x,y) is paid for: count(x,x) >= floor(L / 2), and (x,y) was
 *     chosen, so it occurs as often, and each occurrence shortens the corpus by
 *     one token.  All walks together are linear in the corpus.
 *   - Between occurrences that touch, (z,a) is not added only to be taken away:
 *     whether a b follows is looked up first, and (z,z) are counted at the end.
 *
 * Two merges never make the same bytes, so tokens' bytes identify them in the
 * tie rule (and in the file): joining is a function of the bytes joined, since
 * until a token is whole no merge crosses its ends, and within them merges go
 * left to right as in any other place; so the same bytes are cut the same way
 * everywhere, at every step, and are joined by the same pair.
 *
 * References: Sennrich, Haddow and Birch, 2016, algorithm 1, which recounts;
 * incremental counts as in their published implementation's learn_bpe.
 */
#include "tokenizer/bpe_internal.h"
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include "base/interrupt.h"

#define NOWHERE UINT32_MAX              /* no position, no list entry */
enum { DEAD = -1 };                         /* token of a position that was joined */

typedef struct pair {
    int      left, right;
    uint64_t count;
    uint32_t first, last;                   /* of its list, in `entry` */
} pair;

typedef struct trainer {
    bpe      *b;
    uint32_t  n;                            /* positions */
    int      *token;                        /* by position, as the next three */
    uint32_t *prev, *next, *word_of;
    uint64_t *weight;                       /* by word */
    pair     *pair;
    struct list_entry { uint32_t at, next; } *entry;
    struct heap_entry { uint64_t count; uint32_t pair; } *heap;
    uint32_t *joined;                       /* positions of the merge at hand */
    size_t    pairs, entries, heap_len, joined_len;
    size_t    pair_cap, entry_cap, heap_cap, joined_cap;
    pairmap   index;                        /* (left, right) -> place in `pair` */
} trainer;

/* ---- pairs and their positions ---- */

/* The pair that begins at `at` gains `count` and the position. */
static vt_status add_pair(trainer *t, uint32_t at, uint64_t count, vt_error *err)
{
    const int left = t->token[at], right = t->token[t->next[at]];
    uint32_t k;
    if (t->pairs >= NOWHERE - 1 || t->entries >= NOWHERE - 1)
        return fail(err, VT_TOO_LARGE, "training text: more than %u pairs of tokens", UINT32_MAX - 2);
    const vt_status status = pairmap_get_or_put(&t->index, left, right, (uint32_t)t->pairs, &k, err);
    if (status) return status;
    if (k == t->pairs) {
        pair *more = bpe_grow(t->pair, &t->pair_cap, t->pairs + 1, sizeof *more);
        if (!more) return fail_memory(err, (t->pairs + 1) * sizeof *more, "pairs of tokens");
        t->pair = more;
        t->pair[t->pairs++] = (pair){ left, right, 0, NOWHERE, NOWHERE };
    }
    struct list_entry *list = bpe_grow(t->entry, &t->entry_cap, t->entries + 1, sizeof *list);
    if (!list) return fail_memory(err, (t->entries + 1) * sizeof *list, "positions of pairs");
    t->entry = list;
    const uint32_t e = (uint32_t)t->entries++;
    list[e] = (struct list_entry){ at, NOWHERE };
    pair *p = &t->pair[k];
    p->count += count;                                                  /* bpe.count */
    if (p->first == NOWHERE) p->first = e;
    else list[p->last].next = e;
    p->last = e;
    return VT_OK;
}

static void take_from_pair(trainer *t, int left, int right, uint64_t count)
{
    const uint32_t k = pairmap_get(&t->index, left, right);
    assert(k != PAIRMAP_NONE && t->pair[k].count >= count);
    t->pair[k].count -= count;                                          /* bpe.count */
}

/* Is the length of the run of equal tokens that ends (begins) at `at` even? */
static bool run_is_even(const trainer *t, const uint32_t *step, uint32_t at)
{
    bool even = true;
    for (uint32_t i = at; i != NOWHERE && t->token[i] == t->token[at]; i = step[i]) even = !even;
    return even;
}

/* ---- the heap: greatest count first, then the tie rule ---- */

static bool before(const trainer *t, struct heap_entry x, struct heap_entry y)
{
    if (x.count != y.count) return x.count > y.count;                   /* bpe.best */
    const pair *p = &t->pair[x.pair], *q = &t->pair[y.pair];
    const int order = bpe_compare(t->b, p->left, q->left);
    if (order) return order < 0;                                        /* bpe.best */
    return bpe_compare(t->b, p->right, q->right) < 0;                   /* bpe.best */
}

static void heap_down(trainer *t, size_t i)
{
    const struct heap_entry x = t->heap[i];
    for (size_t child; (child = 2 * i + 1) < t->heap_len; i = child) {
        if (child + 1 < t->heap_len && before(t, t->heap[child + 1], t->heap[child])) child++;
        if (!before(t, t->heap[child], x)) break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = x;
}

static vt_status heap_push(trainer *t, uint32_t k, vt_error *err)
{
    struct heap_entry *heap = bpe_grow(t->heap, &t->heap_cap, t->heap_len + 1, sizeof *heap);
    if (!heap) return fail_memory(err, (t->heap_len + 1) * sizeof *heap, "a queue of pairs");
    t->heap = heap;
    const struct heap_entry x = { t->pair[k].count, k };
    size_t i = t->heap_len++;
    for (; i > 0 && before(t, x, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = x;
    return VT_OK;
}

/* New pairs enter when their counts are whole; a pair below 2 never rises. */
static vt_status push_new_pairs(trainer *t, size_t from, vt_error *err)
{
    for (size_t k = from; k < t->pairs; k++)
        if (t->pair[k].count >= 2) {
            const vt_status status = heap_push(t, (uint32_t)k, err);
            if (status) return status;
        }
    return VT_OK;
}

/* Takes the best pair of count 2 or more out of the heap; false: none. */
static bool best_pair(trainer *t, uint32_t *best)
{
    while (t->heap_len > 0) {
        struct heap_entry *top = &t->heap[0];
        const uint64_t count = t->pair[top->pair].count;
        const bool current = top->count == count;
        *best = top->pair;                                              /* bpe.best */
        if (!current && count >= 2) top->count = count;
        else *top = t->heap[--t->heap_len];
        if (t->heap_len > 0) heap_down(t, 0);
        if (current) return true;
    }
    return false;
}

/* ---- one merge ---- */

/* Joins the tokens at i and next[i], a pair (a, b), into z. */
static vt_status join(trainer *t, uint32_t i, int a, int b, int z, vt_error *err)
{
    const uint32_t j = t->next[i], p = t->prev[i], r = t->next[j];
    const uint64_t weight = t->weight[t->word_of[i]];
    vt_status status = VT_OK;

    /* Where p is a z already, (z,a) was never added. */
    const bool left = p != NOWHERE && t->token[p] != z;
    if (left && (t->token[p] != a || run_is_even(t, t->prev, i)))
        take_from_pair(t, t->token[p], a, weight);
    /* (b,b) where a = b is the pair at hand, which nobody counts any more. */
    if (r != NOWHERE && (t->token[r] != b || (a != b && run_is_even(t, t->next, j))))
        take_from_pair(t, b, t->token[r], weight);

    t->token[i] = z;                                                    /* bpe.merge */
    t->token[j] = DEAD;
    t->next[i] = r;
    if (r != NOWHERE) t->prev[r] = i;

    if (left) status = add_pair(t, p, weight, err);
    const bool again = r != NOWHERE && t->token[r] == a && t->next[r] != NOWHERE
                       && t->token[t->next[r]] == b;
    if (!status && r != NOWHERE && !again) status = add_pair(t, i, weight, err);
    if (status) return status;

    uint32_t *joined = bpe_grow(t->joined, &t->joined_cap, t->joined_len + 1, sizeof *joined);
    if (!joined) return fail_memory(err, (t->joined_len + 1) * sizeof *joined, "positions joined");
    t->joined = joined;
    joined[t->joined_len++] = i;
    return VT_OK;
}

/* Counts the pairs (z,z) among the positions just joined: even offsets count. */
static vt_status add_runs(trainer *t, int z, vt_error *err)
{
    size_t offset = 0;
    for (size_t k = 0; k < t->joined_len; k++) {
        const uint32_t i = t->joined[k], j = t->next[i];
        if (j == NOWHERE || t->token[j] != z) {
            offset = 0;
            continue;
        }
        const uint64_t weight = t->weight[t->word_of[i]];
        const vt_status status = add_pair(t, i, offset++ % 2 == 0 ? weight : 0, err);
        if (status) return status;
    }
    return VT_OK;
}

static vt_status merge(trainer *t, uint32_t best, vt_error *err)
{
    const int a = t->pair[best].left, b = t->pair[best].right, z = 256 + t->b->merges;
    vt_status status = bpe_add_merge(t->b, a, b, z, err);
    if (status) return status;
    t->b->merge[t->b->merges - 1].count = t->pair[best].count;
    const size_t old_pairs = t->pairs;
    t->joined_len = 0;
    for (uint32_t e = t->pair[best].first; e != NOWHERE; e = t->entry[e].next) {
        const uint32_t i = t->entry[e].at;
        if (t->token[i] != a || t->next[i] == NOWHERE || t->token[t->next[i]] != b) continue;
        status = join(t, i, a, b, z, err);
        if (status) return status;
    }
    status = add_runs(t, z, err);
    return status ? status : push_new_pairs(t, old_pairs, err);
}

/* ---- before the first merge ---- */

/* Lays the words out as lists of bytes. */
static vt_status lay_out(trainer *t, const wordset *words, vt_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < words->cap; i++)
        if (words->slot[i].at && !size_add(n, words->slot[i].len, &n)) n = SIZE_MAX;
    if (n >= NOWHERE)
        return fail(err, VT_TOO_LARGE, "training text: its distinct words have %zu bytes, at most %u",
                    n, NOWHERE - 1);
    t->n = (uint32_t)n;
    const size_t room = n ? n : 1;
    t->token = calloc(room, sizeof *t->token);
    t->prev = calloc(room, sizeof *t->prev);
    t->next = calloc(room, sizeof *t->next);
    t->word_of = calloc(room, sizeof *t->word_of);
    t->weight = calloc(words->used ? words->used : 1, sizeof *t->weight);
    if (!t->token || !t->prev || !t->next || !t->word_of || !t->weight)
        return fail_memory(err, room * 16, "the letters of distinct words");
    uint32_t at = 0, w = 0;
    for (size_t i = 0; i < words->cap; i++) {
        const word *it = &words->slot[i];
        if (!it->at) continue;
        t->weight[w] = it->count;
        for (size_t k = 0; k < it->len; k++, at++) {
            t->token[at] = t->b->byte_id[it->at[k]];
            t->prev[at] = k == 0 ? NOWHERE : at - 1;
            t->next[at] = k + 1 == it->len ? NOWHERE : at + 1;
            t->word_of[at] = w;
        }
        w++;
    }
    return VT_OK;
}

static vt_status first_counts(trainer *t, vt_error *err)
{
    size_t offset = 0;                          /* in a run of equal bytes */
    for (uint32_t i = 0; i < t->n; i++) {
        const uint32_t j = t->next[i];
        if (j == NOWHERE) {
            offset = 0;
            continue;
        }
        const bool equal = t->token[i] == t->token[j];
        const uint64_t weight = t->weight[t->word_of[i]];
        const vt_status status = add_pair(t, i, equal && offset % 2 ? 0 : weight, err);
        if (status) return status;
        offset = equal ? offset + 1 : 0;
    }
    return push_new_pairs(t, 0, err);
}

static void trainer_free(trainer *t)
{
    bpe_free(t->b);
    free(t->token);
    free(t->prev);
    free(t->next);
    free(t->word_of);
    free(t->weight);
    free(t->pair);
    free(t->entry);
    free(t->heap);
    free(t->joined);
    pairmap_free(&t->index);
}

vt_status bpe_train(bpe **out, const bpe_text *docs, size_t ndocs, int merges, team *team_,
                    vt_error *err)
{
    enum { MOST = INT_MAX - 257 };
    trainer t = { 0 };
    wordset words = { 0 };
    *out = NULL;
    if (merges < 0 || merges > MOST)
        return fail(err, VT_USAGE, "merges: %d, expected 0 .. %d", merges, MOST);
    vt_status status = wordset_count(&words, docs, ndocs, team_, err);
    if (status) goto done;
    size_t letters = 0;                         /* each merge uses one up at least */
    for (size_t i = 0; i < words.cap; i++) letters += words.slot[i].len;
    const size_t most = (size_t)merges < letters ? (size_t)merges : letters;
    status = bpe_new(&t.b, 256 + most + 1, err);
    for (unsigned byte = 0; byte < 256 && !status; byte++)
        status = bpe_set_byte(t.b, byte, (int)byte, err);
    if (!status) status = lay_out(&t, &words, err);
    wordset_free(&words);
    if (!status) status = first_counts(&t, err);
    for (uint32_t best; !status && t.b->merges < merges && best_pair(&t, &best);)
        status = interrupt_asked() ? interrupt_fail(err) : merge(&t, best, err);
    if (!status) status = bpe_finish(t.b, 256 + t.b->merges, err);
    if (status) goto done;
    *out = t.b;
    t.b = NULL;
done:
    wordset_free(&words);
    trainer_free(&t);
    return status;
}

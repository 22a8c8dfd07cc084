/* novelty.c -- see novelty.h.
 *
 * Words.  A word is a run of letters (Unicode's L) that may hold apostrophes
 * (U+0027, U+2019) between its letters: don't, Emma's.  The text's distinct words
 * go into a hash table, the training text is read once, and what it meets is
 * marked.
 *
 * The longest copied run.  The suffix automaton of the text is the smallest one
 * that has a path for every run of bytes in it and for nothing else; it has fewer
 * than two states a byte.  A training document walks through it: at each byte the
 * state stands for the longest run that ends there and occurs in the text.  Where
 * the walk cannot go on, the suffix link leads to the longest shorter run that
 * might.  Each byte lengthens the run by one and links only shorten it, so a walk
 * is linear.  Building it from the generated text, not from the corpus, keeps it
 * small: 1 kB against 4 MB takes some 50 ms.
 *
 * Lengths are in characters; a run that begins or ends inside a character counts
 * the whole ones.
 *
 * Blumer et al., The Smallest Automaton Recognizing the Subwords of a Text, 1985.
 */
#include "data/novelty.h"
#include "base/utf8.h"
#include "tokenizer/presplit.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---------------------------------------------------------------- */

enum kind { OUTSIDE, LETTER, APOSTROPHE };

static enum kind kind_at(slice t, size_t at, size_t *used)
{
    const unsigned char c = t.data[at];
    uint32_t point;
    *used = 1;
    if ((c | 32) >= 'a' && (c | 32) <= 'z') return LETTER;
    if (c == '\'') return APOSTROPHE;
    if (c < 0x80) return OUTSIDE;
    const size_t n = utf8_decode(t.data + at, t.len - at, &point);
    if (n == 0) return OUTSIDE;
    *used = n;
    if (point == 0x2019) return APOSTROPHE;
    return presplit_class_of(point) == PRESPLIT_LETTER ? LETTER : OUTSIDE;
}

/* The next word from *at on, which moves behind it. */
static bool next_word(slice t, size_t *at, slice *word)
{
    size_t used, begin, end;
    for (begin = *at; begin < t.len; begin += used)
        if (kind_at(t, begin, &used) == LETTER) break;
    if (begin >= t.len) return false;
    for (size_t i = end = begin; i < t.len; i += used) {
        const enum kind k = kind_at(t, i, &used);
        if (k == OUTSIDE) break;
        if (k == LETTER) end = i + used;
    }
    *word = (slice){ t.data + begin, end - begin };
    *at = end;
    return true;
}

typedef struct entry { slice word; size_t times; bool known; } entry;

/* The word's place in a table of mask + 1 entries that is never full. */
static entry *find(entry *table, size_t mask, slice word)
{
    uint64_t h = 14695981039346656037u;                 /* FNV-1a */
    for (size_t i = 0; i < word.len; i++) h = (h ^ word.data[i]) * 1099511628211u;
    for (size_t i = (size_t)(h ^ h >> 32) & mask;; i = (i + 1) & mask) {
        entry *e = &table[i];
        if (e->times == 0) return e;
        if (e->word.len == word.len && memcmp(e->word.data, word.data, word.len) == 0) return e;
    }
}

static vt_status count_words(novelty *out, slice text, const slice *docs, size_t ndocs,
                             vt_error *err)
{
    size_t cap = 16, at = 0;
    slice word;
    while (cap < text.len) cap *= 2;    /* fewer than text.len / 2 + 1 words */
    entry *table = calloc(cap, sizeof *table);
    if (!table) return fail_memory(err, cap * sizeof *table, "the words of a text");
    while (next_word(text, &at, &word)) {
        entry *e = find(table, cap - 1, word);
        e->word = word;
        e->times++;
        out->words++;
    }
    for (size_t d = 0; d < ndocs; d++)
        for (at = 0; next_word(docs[d], &at, &word);) {
            entry *e = find(table, cap - 1, word);
            if (e->times) e->known = true;
        }
    for (size_t i = 0; i < cap; i++)
        if (table[i].known) out->known += table[i].times;
    free(table);
    out->share = out->words ? (double)out->known / (double)out->words : 1.0;
    return VT_OK;
}

/* ---- the suffix automaton -------------------------------------------------- */

typedef struct state {
    size_t  len;        /* of the longest run that leads here */
    size_t  end;        /* where one such run ends in the text */
    int32_t link;       /* the longest suffix that leads elsewhere; -1: none */
} state;

typedef struct automaton {
    size_t   letters;   /* distinct bytes of the text */
    int16_t  letter[256];   /* byte -> 0 .. letters-1, or -1 */
    state   *states;
    int32_t *next;      /* (states, letters); 0: no way (none leads to the start) */
    int32_t  count, last;
} automaton;

static int32_t *way(automaton *a, int32_t s, size_t c)
{
    return &a->next[(size_t)s * a->letters + c];
}

static void extend(automaton *a, size_t c)
{
    const int32_t s = a->count++;
    int32_t p = a->last;
    a->states[s] = (state){ .len = a->states[p].len + 1, .end = a->states[p].len + 1 };
    a->last = s;
    for (; p >= 0 && *way(a, p, c) == 0; p = a->states[p].link) *way(a, p, c) = s;
    if (p < 0) return;                                  /* link = 0, the start */
    const int32_t q = *way(a, p, c);
    if (a->states[q].len == a->states[p].len + 1) {
        a->states[s].link = q;
        return;
    }
    const int32_t clone = a->count++;                   /* q's shorter runs part from it */
    a->states[clone] = a->states[q];
    a->states[clone].len = a->states[p].len + 1;
    memcpy(way(a, clone, 0), way(a, q, 0), a->letters * sizeof *a->next);
    a->states[q].link = a->states[s].link = clone;
    for (; p >= 0 && *way(a, p, c) == q; p = a->states[p].link) *way(a, p, c) = clone;
}

static vt_status automaton_new(automaton *a, slice text, vt_error *err)
{
    size_t states, ways;
    *a = (automaton){ .count = 1 };
    for (int b = 0; b < 256; b++) a->letter[b] = -1;
    for (size_t i = 0; i < text.len; i++)
        if (a->letter[text.data[i]] < 0) a->letter[text.data[i]] = (int16_t)a->letters++;
    if (!size_mul(text.len, 2, &states) || states > INT32_MAX ||
        !size_mul(states, a->letters, &ways) || !size_mul(ways, sizeof *a->next, &ways))
        return fail(err, VT_TOO_LARGE, "a text of %zu bytes is too long to be compared", text.len);
    a->states = malloc(states * sizeof *a->states);
    a->next = calloc(states, a->letters * sizeof *a->next);
    if (!a->states || !a->next)
        return fail_memory(err, ways + states * sizeof *a->states, "the runs of a text");
    a->states[0] = (state){ .link = -1 };
    for (size_t i = 0; i < text.len; i++) extend(a, (size_t)a->letter[text.data[i]]);
    return VT_OK;
}

static bool inside_character(slice t, size_t at)
{
    return at < t.len && (t.data[at] & 0xC0) == 0x80;
}

/* Walks through one document.  chars[i & mask] counts the characters that begin
 * before byte i, for as many i as the text is long. */
static void walk(novelty *out, automaton *a, slice text, slice doc, size_t *chars, size_t mask)
{
    int32_t s = 0;
    size_t len = 0, count = 0;
    chars[0] = 0;
    for (size_t i = 0; i < doc.len; i++) {
        count += (doc.data[i] & 0xC0) != 0x80;
        chars[(i + 1) & mask] = count;
        const int c = a->letter[doc.data[i]];
        if (c < 0) {
            s = 0;
            len = 0;
            continue;
        }
        while (s > 0 && *way(a, s, (size_t)c) == 0) {
            s = a->states[s].link;
            len = a->states[s].len;
        }
        s = *way(a, s, (size_t)c);
        len = s ? len + 1 : 0;
        if (len <= out->longest || inside_character(doc, i + 1)) continue;
        const size_t run = count - chars[(i + 1 - len) & mask];
        if (run <= out->longest) continue;
        out->longest = run;
        out->run = (slice){ text.data + a->states[s].end - len, len };
        while (inside_character(out->run, 0)) {
            out->run.data++;
            out->run.len--;
        }
    }
}

vt_status novelty_measure(novelty *out, slice text, const slice *docs, size_t ndocs, vt_error *err)
{
    *out = (novelty){ .share = 1.0 };
    if (text.len == 0) return VT_OK;
    automaton a = { 0 };
    size_t mask = 1, *chars = NULL;
    vt_status status = count_words(out, text, docs, ndocs, err);
    if (status == VT_OK) status = automaton_new(&a, text, err);
    if (status) goto done;
    while (mask <= text.len) mask = 2 * mask + 1;
    chars = malloc((mask + 1) * sizeof *chars);
    if (!chars) {
        status = fail_memory(err, (mask + 1) * sizeof *chars, "counts of characters");
        goto done;
    }
    for (size_t d = 0; d < ndocs; d++) walk(out, &a, text, docs[d], chars, mask);
done:
    free(a.states);
    free(a.next);
    free(chars);
    if (status) *out = (novelty){ 0 };
    return status;
}

/* bpe_words.c -- counts the distinct words of a corpus, once: training works on
 * them, not on the text (the novels: 700,000 words, 22,000 distinct).
 *
 * Documents are cut into spans of about a megabyte, where a word surely ends;
 * each worker counts spans into a set of its own, and the sets are added up.
 * Sums do not depend on who counted what, and nothing reads the order of slots.
 * Words point into the documents; only the table takes memory.
 */
#include "base/interrupt.h"
#include "tokenizer/bpe_internal.h"
#include "tokenizer/presplit.h"
#include <stdlib.h>
#include <string.h>

enum { SPAN = 1 << 20 };

/* FNV-1a's scheme on eight bytes at a time, then a finaliser.  The length is
 * part of it, since the last step pads with zeros. */
uint64_t word_hash(const unsigned char *at, size_t len)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325) ^ len, eight;
    while (len > 0) {
        const size_t n = len < sizeof eight ? len : sizeof eight;
        eight = 0;
        memcpy(&eight, at, n);
        h = (h ^ eight) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
        at += n;
        len -= n;
    }
    h *= UINT64_C(0xBF58476D1CE4E5B9);
    return h ^ h >> 32;
}

static word *word_slot(const wordset *s, const word *w)
{
    size_t i = (size_t)w->hash & (s->cap - 1);
    for (;; i = (i + 1) & (s->cap - 1)) {
        word *have = &s->slot[i];
        if (!have->at) return have;
        if (have->hash == w->hash && have->len == w->len && memcmp(have->at, w->at, w->len) == 0)
            return have;
    }
}

static vt_status wordset_double(wordset *s, vt_error *err)
{
    wordset wide = { NULL, s->cap ? s->cap * 2 : 1024, s->used };
    size_t size;
    if (!size_mul(wide.cap, sizeof *wide.slot, &size)) size = SIZE_MAX;
    wide.slot = calloc(wide.cap, sizeof *wide.slot);
    if (!wide.slot) return fail_memory(err, size, "distinct words");
    for (size_t i = 0; i < s->cap; i++)
        if (s->slot[i].at) *word_slot(&wide, &s->slot[i]) = s->slot[i];
    free(s->slot);
    *s = wide;
    return VT_OK;
}

static vt_status wordset_add(wordset *s, const word *w, vt_error *err)
{
    if (s->used >= s->cap / 2) {
        const vt_status status = wordset_double(s, err);
        if (status) return status;
    }
    word *have = word_slot(s, w);
    if (have->at) {
        have->count += w->count;
    } else {
        *have = *w;
        s->used++;
    }
    return VT_OK;
}

void wordset_free(wordset *s)
{
    free(s->slot);
    *s = (wordset){ 0 };
}

typedef struct counting {
    bpe_text  *span;
    wordset   *set;                             /* one per worker, as all below */
    vt_status *status;
    vt_error  *error;
} counting;

static void count_span(void *context, size_t i, int worker)
{
    counting *c = context;
    const unsigned char *p = c->span[i].data;
    size_t n = c->span[i].len;
    if (c->status[worker] == VT_OK) c->status[worker] = interrupt_check(&c->error[worker]);
    while (n > 0 && c->status[worker] == VT_OK) {
        const size_t len = presplit_next(p, n);
        const word w = { p, len, word_hash(p, len), 1 };
        c->status[worker] = wordset_add(&c->set[worker], &w, &c->error[worker]);
        p += len;
        n -= len;
    }
}

/* *spans = new array of the spans of all documents. */
static vt_status cut_spans(bpe_text **spans, size_t *count, const bpe_text *docs, size_t ndocs,
                           vt_error *err)
{
    size_t cap = 0, n = 0;
    bpe_text *span = NULL;
    for (size_t d = 0; d < ndocs; d++) {
        const unsigned char *p = docs[d].data;
        size_t left = docs[d].len;
        while (left > 0) {
            size_t len = presplit_cut(p, left, SPAN);
            if (len == 0) len = left;           /* no sure place: the rest at once */
            bpe_text *more = bpe_grow(span, &cap, n + 1, sizeof *more);
            if (!more) {
                free(span);
                return fail_memory(err, (n + 1) * sizeof *more, "spans of text");
            }
            span = more;
            span[n++] = (bpe_text){ p, len };
            p += len;
            left -= len;
        }
    }
    *spans = span;
    *count = n;
    return VT_OK;
}

vt_status wordset_count(wordset *out, const bpe_text *docs, size_t ndocs, team *t, vt_error *err)
{
    *out = (wordset){ 0 };
    const size_t workers = t ? (size_t)team_size(t) : 1;
    counting c = { 0 };
    size_t spans = 0;
    vt_status status = cut_spans(&c.span, &spans, docs, ndocs, err);
    if (status) return status;
    c.set = calloc(workers, sizeof *c.set);
    c.status = calloc(workers, sizeof *c.status);
    c.error = calloc(workers, sizeof *c.error);
    if (!c.set || !c.status || !c.error) {
        status = fail_memory(err, workers * sizeof *c.error, "workers that count");
        goto done;
    }
    if (t) team_run(t, spans, count_span, &c);
    else for (size_t i = 0; i < spans; i++) count_span(&c, i, 0);

    for (size_t w = 0; w < workers; w++)
        if (c.status[w]) {
            status = c.status[w];
            if (err) *err = c.error[w];
            goto done;
        }
    *out = c.set[0];
    c.set[0] = (wordset){ 0 };
    for (size_t w = 1; w < workers; w++)
        for (size_t i = 0; i < c.set[w].cap; i++)
            if (c.set[w].slot[i].at) {
                status = wordset_add(out, &c.set[w].slot[i], err);
                if (status) goto done;
            }
done:
    for (size_t w = 0; c.set && w < workers; w++) wordset_free(&c.set[w]);
    free(c.set);
    free(c.status);
    free(c.error);
    free(c.span);
    if (status) wordset_free(out);
    return status;
}

/* test_bpe.c -- training, encoding and decoding against naive versions that
 * recount everything, and against results worked out by hand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "support.h"
#include "base/interrupt.h"
#include "base/rng.h"
#include "tokenizer/bpe.h"
#include "tokenizer/bpe_internal.h"
#include "tokenizer/presplit.h"

static bpe_text text_of(const char *s) { return (bpe_text){ (const unsigned char *)s, strlen(s) }; }

static bpe *train(const bpe_text *docs, size_t n, int merges, int threads)
{
    bpe *b = NULL;
    team *t = NULL;
    if (threads > 0) assert_ok(team_new(&t, threads, 64, 64, &test_error));
    assert_ok(bpe_train(&b, docs, n, merges, t, &test_error));
    team_free(t);
    assert_non_null(b);
    assert_int_equal(bpe_vocab(b), 256 + bpe_merges(b) + 1);
    assert_int_equal(bpe_end(b), bpe_vocab(b) - 1);
    return b;
}

static void check_piece(const bpe *b, int id, const char *expected)
{
    size_t len;
    const unsigned char *p = bpe_piece(b, id, &len);
    assert_non_null(p);
    if (len != strlen(expected) || memcmp(p, expected, len) != 0)
        fail_msg("token %d: \"%.*s\", expected \"%s\"", id, (int)len, (const char *)p, expected);
}

/* ---- the naive reference: words as arrays, every count from scratch ---- */

enum { LETTERS = 4096, WORDS = 1024, MERGES = 64, LONGEST = 512 };

typedef struct naive {
    int    merges, left[MERGES], right[MERGES];
    size_t count[MERGES];
    size_t len[256 + MERGES];
    unsigned char bytes[256 + MERGES][LONGEST];
    int    word[WORDS][LETTERS / 8];
    size_t word_len[WORDS], words;
} naive;

static int naive_compare(const naive *m, int x, int y)
{
    const size_t a = m->len[x], b = m->len[y];
    const int order = memcmp(m->bytes[x], m->bytes[y], a < b ? a : b);
    return order ? order : a < b ? -1 : a > b;
}

/* Joins left to right; returns how many were joined. */
static size_t naive_join(int *w, size_t *len, int left, int right, int made)
{
    size_t to = 0, joined = 0;
    for (size_t i = 0; i < *len; i++)
        if (i + 1 < *len && w[i] == left && w[i + 1] == right) {
            w[to++] = made;
            joined++;
            i++;
        } else w[to++] = w[i];
    *len = to;
    return joined;
}

/* How often joining the pair would join: not overlapping. */
static size_t naive_count(const naive *m, int left, int right)
{
    size_t n = 0;
    for (size_t k = 0; k < m->words; k++)
        for (size_t i = 0; i + 1 < m->word_len[k]; i++)
            if (m->word[k][i] == left && m->word[k][i + 1] == right) { n++; i++; }
    return n;
}

static void naive_train(naive *m, const bpe_text *docs, size_t ndocs, int merges)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < 256; i++) {
        m->len[i] = 1;
        m->bytes[i][0] = (unsigned char)i;
    }
    for (size_t d = 0; d < ndocs; d++)
        for (size_t at = 0; at < docs[d].len;) {
            const size_t len = presplit_next(docs[d].data + at, docs[d].len - at);
            assert_true(m->words < WORDS && len <= LETTERS / 8);
            for (size_t i = 0; i < len; i++) m->word[m->words][i] = docs[d].data[at + i];
            m->word_len[m->words++] = len;
            at += len;
        }
    while (m->merges < merges) {
        size_t best = 1;
        int left = -1, right = -1;
        for (size_t k = 0; k < m->words; k++)
            for (size_t i = 0; i + 1 < m->word_len[k]; i++) {
                const int x = m->word[k][i], y = m->word[k][i + 1];
                if (x == left && y == right) continue;
                const size_t n = naive_count(m, x, y);
                if (n < 2 || n < best) continue;
                const int order = left < 0 ? -1 : naive_compare(m, x, left) ? naive_compare(m, x, left)
                                                                            : naive_compare(m, y, right);
                if (n > best || order < 0) { best = n; left = x; right = y; }
            }
        if (left < 0) return;
        const int made = 256 + m->merges;
        m->len[made] = m->len[left] + m->len[right];
        assert_true(m->len[made] <= LONGEST);
        memcpy(m->bytes[made], m->bytes[left], m->len[left]);
        memcpy(m->bytes[made] + m->len[left], m->bytes[right], m->len[right]);
        m->left[m->merges] = left;
        m->count[m->merges] = best;
        m->right[m->merges++] = right;
        for (size_t k = 0; k < m->words; k++)
            (void)naive_join(m->word[k], &m->word_len[k], left, right, made);
    }
}

/* Each rank in turn, all occurrences: what encoder.py's loop comes to. */
static size_t naive_encode(const naive *m, const bpe_text text, int *out)
{
    size_t n = 0;
    for (size_t at = 0; at < text.len;) {
        size_t len = presplit_next(text.data + at, text.len - at);
        int *w = out + n;
        for (size_t i = 0; i < len; i++) w[i] = text.data[at + i];
        at += len;
        for (;;) {
            int best = m->merges;
            for (size_t i = 0; i + 1 < len; i++)
                for (int r = 0; r < best; r++)
                    if (w[i] == m->left[r] && w[i + 1] == m->right[r]) best = r;
            if (best == m->merges) break;
            (void)naive_join(w, &len, m->left[best], m->right[best], 256 + best);
        }
        n += len;
    }
    return n;
}

static void check_same(const bpe *b, const naive *m)
{
    assert_int_equal(bpe_merges(b), m->merges);
    for (int rank = 0; rank < m->merges; rank++) {
        const bpe_merge x = bpe_merge_at(b, rank);
        assert_true(x.left == m->left[rank] && x.right == m->right[rank] && x.made == 256 + rank);
        assert_int_equal(x.count, m->count[rank]);
    }
    for (int id = 0; id < 256 + m->merges; id++) {
        size_t len;
        const unsigned char *p = bpe_piece(b, id, &len);
        assert_int_equal(len, m->len[id]);
        assert_memory_equal(p, m->bytes[id], len);
    }
}

static void check_encoding(const bpe *b, const naive *m, bpe_text text)
{
    int *expected = malloc((text.len + 1) * sizeof *expected);
    assert_non_null(expected);
    const size_t n = naive_encode(m, text, expected);
    bpe_ids ids = { 0 };
    assert_ok(bpe_encode(b, text.data, text.len, &ids, &test_error));
    assert_int_equal(ids.len, n);
    for (size_t i = 0; i < n; i++) assert_int_equal(ids.data[i], expected[i]);
    bytes back = { 0 };
    assert_ok(bpe_decode(b, ids.data, ids.len, &back, &test_error));
    assert_int_equal(back.len, text.len);
    if (text.len) assert_memory_equal(back.data, text.data, text.len);
    bytes_free(&back);
    bpe_ids_free(&ids);
    free(expected);
}

static void fill(rng *r, unsigned char *text, size_t n, const char *letters)
{
    for (size_t i = 0; i < n; i++)
        text[i] = (unsigned char)letters[rng_integers(r, 0, (int64_t)strlen(letters))];
}

/* ---- training ---- */

/* Random corpora over few letters: runs, ties and touching pairs everywhere. */
/* proves bpe.count bpe.best bpe.merge bpe.byte bpe.rank bpe.encode */
static void test_train_equals_naive(void **unused)
{
    (void)unused;
    static const char *const alphabets[] = { "a", "ab", "aab", "aaab ", "abc", "abcd ", "ab \n'sl1-",
                                             "aaaaaaaab", "abababac" };
    static naive m;
    static unsigned char text[LETTERS];
    rng r;
    rng_seed(&r, 1);
    int learned = 0;
    for (int round = 0; round < 450; round++) {
        const char *letters = alphabets[round % 9];
        bpe_text docs[4];
        size_t used = 0;
        for (int d = 0; d < 4; d++) {
            const size_t n = (size_t)rng_integers(&r, 0, 80);
            fill(&r, text + used, n, letters);
            docs[d] = (bpe_text){ text + used, n };
            used += n;
        }
        naive_train(&m, docs, 4, 40);
        bpe *b = train(docs, 4, 40, 0);
        check_same(b, &m);
        fill(&r, text + used, 200, letters);
        check_encoding(b, &m, (bpe_text){ text, used + 200 });
        learned += m.merges;
        bpe_free(b);
    }
    assert_true(learned > 5000);
}

/* TOK-01: a pair must occur twice. */
/* proves bpe.count */
static void test_tiny_corpora(void **unused)
{
    (void)unused;
    static const struct { const char *text; int merges; } rows[] = {
        { "", 0 }, { "a", 0 }, { "aa", 0 }, { "aaa", 0 }, { "aaaa", 1 }, { "ab", 0 }, { "abab", 1 },
        { "ab cab", 1 },        /* " cab": the words are "ab" and " cab" */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bpe_text doc = text_of(rows[i].text);
        bpe *b = train(&doc, 1, 44, 0);         /* a vocabulary of 300, not counting the last */
        if (bpe_merges(b) != rows[i].merges)
            fail_msg("\"%s\": %d merges, expected %d", rows[i].text, bpe_merges(b), rows[i].merges);
        bpe_free(b);
    }
    bpe *b = train(NULL, 0, 44, 0);
    assert_int_equal(bpe_vocab(b), 257);
    size_t len;
    assert_null(bpe_piece(b, 257, &len));
    assert_null(bpe_piece(b, -1, &len));
    check_piece(b, 256, "<|endoftext|>");
    assert_true(bpe_end(b) == 256);
    bpe_free(b);

    const bpe_text doc = text_of("abab");
    b = train(&doc, 1, 0, 0);                   /* none wanted: none learned */
    assert_int_equal(bpe_merges(b), 0);
    bpe_free(b);
    assert_int_equal(bpe_train(&b, &doc, 1, -1, NULL, &test_error), VT_USAGE);
    assert_contains(test_error.text, "merges: -1");
    assert_null(b);
    assert_int_equal(bpe_train(&b, &doc, 1, INT32_MAX, NULL, &test_error), VT_USAGE);
    assert_ok(bpe_train(&b, &doc, 1, INT32_MAX - 257, NULL, &test_error));  /* allocates by the text */
    assert_int_equal(bpe_merges(b), 1);
    bpe_free(b);
}

/* TOK-02: aaaababab: overlapping, (a,a) = 3 ties with (a,b) = 3 and would win the
 * tie; without overlap (a,a) = 2, so the first merge is (a,b). */
/* proves bpe.count bpe.best */
static void test_overlap(void **unused)
{
    (void)unused;
    const bpe_text doc = text_of("aaaababab");
    bpe *b = train(&doc, 1, 1, 0);
    check_piece(b, 256, "ab");
    bpe_free(b);
    /* The same with the run behind: b = 1, c = 2 in cbcbcbbbb: (b,b): 2, (c,b): 3. */
    const bpe_text mirror = text_of("cbcbcbbbb");
    b = train(&mirror, 1, 1, 0);
    check_piece(b, 256, "cb");
    bpe_free(b);
}

static void same_merges(const bpe *x, const bpe *y)
{
    assert_int_equal(bpe_merges(x), bpe_merges(y));
    for (int id = 0; id < bpe_vocab(x); id++) {
        size_t n, k;
        const unsigned char *p = bpe_piece(x, id, &n), *q = bpe_piece(y, id, &k);
        assert_int_equal(n, k);
        assert_memory_equal(p, q, n);
    }
}

/* TOK-03: the tie rule, any order of texts, any team. */
static void test_ties_and_order(void **unused)
{
    (void)unused;
    /* Counts: ccc 1+1 (4 letters: 2), ddd 2, aa and bb 1: by hand, (c,c) and
     * (d,d) have 2, c's bytes are smaller. */
    const bpe_text one = text_of("bbbaaaddddcccc"), other = text_of("aaabbbccccdddd");
    bpe *x = train(&one, 1, 10, 0), *y = train(&other, 1, 10, 0);
    same_merges(x, y);
    assert_int_equal(bpe_merges(x), 2);
    check_piece(x, 256, "cc");
    check_piece(x, 257, "dd");
    bpe_free(x);
    bpe_free(y);
    /* One left token: the right one decides, wherever it stands. */
    const bpe_text right = text_of("ai1ag2ae3ac4ab5ad6af7ah8ai1ag2ae3ac4ab5ad6af7ah");
    x = train(&right, 1, 10, 0);
    assert_int_equal(bpe_merges(x), 8);
    for (int i = 0; i < 8; i++) check_piece(x, 256 + i, ((char[]){ 'a', (char)('b' + i), 0 }));
    bpe_free(x);
    /* A token comes before its continuations: after "ab" (3), (ab,x) and (a,y) have
     * 2, and "a" is smaller than "ab", though "abx" is smaller than "ay".  Digits
     * keep the words apart. */
    const bpe_text prefix = text_of("abx1abx2ab3ay4ay");
    x = train(&prefix, 1, 10, 0);
    assert_int_equal(bpe_merges(x), 3);
    check_piece(x, 256, "ab");
    check_piece(x, 257, "ay");
    check_piece(x, 258, "abx");
    bpe_free(x);
    /* Bytes are unsigned: C3 after 7A. */
    const bpe_text high = text_of("\xC3\xA9""1zz2\xC3\xA9""3zz");
    x = train(&high, 1, 1, 0);
    check_piece(x, 256, "zz");
    bpe_free(x);

    /* Four texts of several spans each, shuffled, with 1, 2, 3 and 7 threads. */
    enum { DOCS = 4, EACH = 5 << 18 };
    unsigned char *text = malloc((size_t)DOCS * EACH);
    assert_non_null(text);
    rng r;
    rng_seed(&r, 3);
    char syllable[16][4];
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 4; k++) syllable[i][k] = (char)('a' + rng_integers(&r, 0, 26));
    for (size_t at = 0; at < (size_t)DOCS * EACH;) {
        const uint64_t u = rng_u64(&r);
        const char *s = syllable[(u & 15) * (u >> 6 & 15) / 16];
        for (int k = 0; k < 1 + (int)(u >> 12 & 3) && at < (size_t)DOCS * EACH; k++)
            text[at++] = (unsigned char)s[k];
        if ((u >> 14 & 3) && at < (size_t)DOCS * EACH) text[at++] = ' ';
    }
    bpe_text docs[DOCS];
    for (size_t d = 0; d < DOCS; d++) docs[d] = (bpe_text){ text + d * EACH, EACH };
    bpe *alone = train(docs, DOCS, 200, 0);
    assert_int_equal(bpe_merges(alone), 200);
    static const int threads[] = { 1, 2, 3, 7 };
    for (int k = SWEEP(0, 2); k < 4; k++) {
        const bpe_text first = docs[0];
        docs[0] = docs[k];
        docs[k] = first;
        bpe *b = train(docs, DOCS, 200, threads[k]);
        same_merges(alone, b);
        bpe_free(b);
    }
    bpe_free(alone);
    free(text);
}

/* Merges do not cross words or documents. */
static void test_borders(void **unused)
{
    (void)unused;
    const bpe_text docs[] = { text_of("xy"), text_of("zx"), text_of("yz") };
    bpe *b = train(docs, 3, 10, 0);             /* x|y z|x y|z: no pair twice */
    assert_int_equal(bpe_merges(b), 0);
    bpe_free(b);
    const bpe_text doc = text_of("q1q1q1q1");   /* letters and numbers are apart */
    b = train(&doc, 1, 10, 0);
    assert_int_equal(bpe_merges(b), 0);
    bpe_free(b);
}

/* Texts are counted in spans of 2^20 bytes: nothing is lost at their ends, and no
 * word is cut.  "zyxw" stands twice, across such an end and last of all. */
static void test_spans(void **unused)
{
    (void)unused;
    enum { SPAN = 1 << 20, N = SPAN + SPAN / 2 };
    unsigned char *text = malloc(N);
    assert_non_null(text);
    for (size_t i = 0; i < N; i++) text[i] = i % 8 == 7 ? ' ' : 'a';
    memcpy(text + SPAN - 2, "zyxw", 4);
    memcpy(text + N - 4, "zyxw", 4);
    const bpe_text docs[] = { { text, N }, { text, 7 } };
    bpe *b = train(docs, 2, 100, 2);
    size_t found = 0, len;
    for (int id = 256; id < bpe_end(b); id++) {
        const unsigned char *p = bpe_piece(b, id, &len);
        found += len == 4 && memcmp(p, "zyxw", 4) == 0;
    }
    assert_int_equal(found, 1);
    bpe_free(b);
    free(text);
}

/* ---- encoding ---- */

static uint64_t steps_of(const bpe *b, const unsigned char *text, size_t n, size_t *ids_len)
{
    bpe_cache *c = NULL;
    bpe_ids ids = { 0 };
    assert_ok(bpe_cache_new(&c, &test_error));
    assert_ok(bpe_encode_cached(b, c, text, n, &ids, &test_error));
    const uint64_t steps = bpe_cache_steps(c);
    *ids_len = ids.len;
    bytes back = { 0 };
    assert_ok(bpe_decode(b, ids.data, ids.len, &back, &test_error));
    assert_int_equal(back.len, n);
    assert_memory_equal(back.data, text, n);
    bytes_free(&back);
    bpe_ids_free(&ids);
    bpe_cache_free(c);
    return steps;
}

/* TOK-06: the counted work of 10^6 characters in one word is at most 2.3 times
 * that of half of them: n log n, where doubling costs 2 + 2 / log2(n) = 2.1. */
static void test_long_words(void **unused)
{
    (void)unused;
    enum { N = SWEEP(1000000, 100000) };
    static naive m;
    unsigned char *text = malloc(N);
    assert_non_null(text);
    rng r;
    rng_seed(&r, 6);
    unsigned char sample[900];
    fill(&r, sample, 300, "^a");
    fill(&r, sample + 300, 300, "aaa^");
    fill(&r, sample + 600, 300, "abcdefgh");
    const bpe_text doc = { sample, sizeof sample };
    naive_train(&m, &doc, 1, 60);
    assert_true(m.merges > 40);
    bpe *b = train(&doc, 1, 60, 0);
    check_same(b, &m);
    static const char *const alphabets[] = { "a", "^", "abcdefghijklmnopqrstuvwxyz", "abcdefgh", "aaaab" };
    for (int k = 0; k < 5; k++) {
        fill(&r, text, N, alphabets[k]);
        assert_int_equal(presplit_next(text, N), N);        /* one word */
        check_encoding(b, &m, (bpe_text){ text, 2000 });
        size_t half_ids, ids;
        const uint64_t half = steps_of(b, text, N / 2, &half_ids);
        const clock_t start = clock();
        const uint64_t whole = steps_of(b, text, N, &ids);
        print_message("# %d of \"%s\": %.2f s, %llu steps, %.3f times those of half\n", N, alphabets[k],
                      (double)(clock() - start) / CLOCKS_PER_SEC, (unsigned long long)whole,
                      (double)whole / (double)half);
        assert_true(half >= N / 2 - 1 && ids > half_ids);
        if (!((double)whole <= 2.3 * (double)half))
            fail_msg("\"%s\": %llu steps, half the text %llu", alphabets[k],
                     (unsigned long long)whole, (unsigned long long)half);
        assert_true((double)whole <= 80.0 * N);             /* 3 n entries of log2(2 n) = 21 moves */
    }
    bpe_free(b);
    free(text);
}

/* A million equal letters train as well, and their tokens double in length. */
static void test_long_run_trains(void **unused)
{
    (void)unused;
    enum { N = 1 << 20 };
    unsigned char *text = malloc(N);
    assert_non_null(text);
    memset(text, 'a', N);
    const bpe_text doc = { text, N };
    bpe *b = train(&doc, 1, 1000, 0);
    assert_int_equal(bpe_merges(b), 19);        /* 2, 4, .. 2^19 = N / 2 letters, twice */
    size_t len;
    (void)bpe_piece(b, 256 + 18, &len);
    assert_int_equal(len, N / 2);
    bpe_free(b);
    free(text);
}

/* TOK-08: random bytes round-trip, with merges that cut characters apart. */
/* proves bpe.byte bpe.decode bpe.encode bpe.merge */
static void test_round_trip(void **unused)
{
    (void)unused;
    rng r;
    rng_seed(&r, 8);
    unsigned char sample[3000], text[257];
    fill(&r, sample, sizeof sample, "\xC3\xA9\xE2\x80\x99 a'\xFF\n\xF0\x9F\x98\x80z");
    const bpe_text doc = { sample, sizeof sample };
    bpe *b = train(&doc, 1, 300, 0);
    assert_true(bpe_merges(b) > 100);
    bpe_cache *cache = NULL;
    assert_ok(bpe_cache_new(&cache, &test_error));
    for (int round = 0; round < 3000; round++) {
        const size_t n = (size_t)rng_integers(&r, 0, 257);
        for (size_t i = 0; i < n; i++)
            text[i] = round % 2 ? (unsigned char)rng_integers(&r, 0, 256)
                                : sample[rng_integers(&r, 0, sizeof sample)];
        bpe_ids ids = { 0 }, again = { 0 };
        assert_ok(bpe_encode(b, text, n, &ids, &test_error));
        assert_ok(bpe_encode_cached(b, cache, text, n, &again, &test_error));
        assert_int_equal(ids.len, again.len);
        if (ids.len) assert_memory_equal(ids.data, again.data, ids.len * sizeof *ids.data);
        bytes back = { 0 };
        assert_ok(bpe_decode(b, ids.data, ids.len, &back, &test_error));
        assert_int_equal(back.len, n);
        if (n) assert_memory_equal(back.data, text, n);
        for (size_t i = 0; i < ids.len; i++) assert_true(ids.data[i] != bpe_end(b));
        bytes_free(&back);
        bpe_ids_free(&ids);
        bpe_ids_free(&again);
    }
    bpe_cache_free(cache);
    bpe_free(b);
}

/* TOK-07: typed by a user, the special token's spelling is text. */
static void test_special_text(void **unused)
{
    (void)unused;
    const char *typed = "a<|endoftext|>b <|endoftext|>";
    const bpe_text docs[] = { text_of("<|endoftext|> <|endoftext|><|endoftext|>"), text_of(typed) };
    bpe *b = train(docs, 2, 100, 0);
    bpe_ids ids = { 0 };
    assert_ok(bpe_encode(b, typed, strlen(typed), &ids, &test_error));
    for (size_t i = 0; i < ids.len; i++) assert_true(ids.data[i] < bpe_end(b));
    assert_true(ids.len >= 8);                  /* "a" "<|" "endoftext" "|>" "b" " <|" .. */
    assert_ok(bpe_ids_append(&ids, bpe_end(b), &test_error));   /* only so */
    bytes back = { 0 };
    assert_ok(bpe_decode(b, ids.data, ids.len, &back, &test_error));
    assert_int_equal(back.len, strlen(typed) + strlen(BPE_END_TEXT));
    assert_memory_equal(back.data, typed, strlen(typed));
    assert_memory_equal(back.data + strlen(typed), BPE_END_TEXT, strlen(BPE_END_TEXT));
    bytes_free(&back);
    bpe_ids_free(&ids);
    bpe_free(b);
}

static void test_bad_ids(void **unused)
{
    (void)unused;
    bpe *b = train(NULL, 0, 0, 0);
    bytes out = { 0 };
    assert_ok(bytes_append(&out, "kept", 4, &test_error));
    static const int bad[] = { -1, 257, 70000, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int ids[] = { 'o', 'k', bad[i] };
        char line[80];
        snprintf(line, sizeof line, "token %d at position 2: expected an id of 0 .. 256", bad[i]);
        assert_int_equal(bpe_decode(b, ids, 3, &out, &test_error), VT_BAD_INPUT);
        assert_string_equal(test_error.text, line);
        assert_int_equal(out.len, 4);
    }
    bytes_free(&out);
    bpe_free(b);
}

/* A signal ends the training; once the wish is taken back it is as before. */
static void test_interrupted(void **state)
{
    (void)state;
    static const unsigned char text[] = "the cat sat on the mat, the cat sat";
    const bpe_text doc = { text, sizeof text - 1 };
    bpe *b;
    interrupt_ask(2);
    assert_int_equal(bpe_train(&b, &doc, 1, 5, NULL, &test_error), VT_INTERRUPTED);
    assert_null(b);
    assert_string_equal(test_error.text, "interrupted by signal 2; nothing is left behind");
    interrupt_ask(0);
    assert_ok(bpe_train(&b, &doc, 1, 5, NULL, &test_error));
    assert_int_equal(bpe_merges(b), 5);

    /* Encoding and counting alone, which take long for a long text. */
    bpe_ids ids = { 0 };
    wordset words;
    interrupt_ask(15);
    assert_int_equal(bpe_encode(b, text, doc.len, &ids, &test_error), VT_INTERRUPTED);
    assert_int_equal(ids.len, 0);
    assert_int_equal(wordset_count(&words, &doc, 1, NULL, &test_error), VT_INTERRUPTED);
    assert_null(words.slot);
    interrupt_ask(0);
    assert_ok(bpe_encode(b, text, doc.len, &ids, &test_error));
    assert_ok(wordset_count(&words, &doc, 1, NULL, &test_error));
    wordset_free(&words);
    bpe_ids_free(&ids);
    bpe_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_equals_naive),
        cmocka_unit_test(test_tiny_corpora),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_ties_and_order),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_long_run_trains),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_special_text),
        cmocka_unit_test(test_bad_ids),
        cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

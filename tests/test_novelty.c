/* test_novelty.c -- words and copied runs, by hand and against every pair of
 * places compared.
 */
#include "support.h"
#include "data/novelty.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static slice s_of(const char *text)
{
    return (slice){ (const unsigned char *)text, strlen(text) };
}

static novelty measured(const char *text, const char *a, const char *b)
{
    const slice docs[2] = { s_of(a), s_of(b) };
    novelty n;
    memset(&n, 0xA5, sizeof n);
    assert_ok(novelty_measure(&n, s_of(text), docs, 2, &test_error));
    return n;
}

static void words(const char *text, const char *training, size_t total, size_t known)
{
    const novelty n = measured(text, training, "");
    if (n.words != total || n.known != known)
        fail_msg("\"%s\" in \"%s\": %zu of %zu words, expected %zu of %zu", text, training, n.known,
                 n.words, known, total);
    assert_near(n.share, total ? (double)known / (double)total : 1, 0);
}

static void words_that_occur_in_training(void **state)
{
    (void)state;
    words("", "the cat", 0, 0);
    words("... 12 --", "the cat", 0, 0);
    words("the cat", "", 2, 0);
    words("the cat sat", "the cat", 3, 2);
    words("the the the dog", "the", 4, 3);                  /* each time it stands */
    words("The the", "the", 2, 1);                          /* case is kept */
    words("he", "the hen", 1, 0);                           /* a part is no word */
    words("don't", "don't", 1, 1);
    words("don't", "don t", 1, 0);
    words("'don't'", "he said don't!", 1, 1);               /* quotes around it */
    words("''a''b'' c'", "a''b c", 2, 2);
    words("well--no", "no--well", 2, 2);
    words("_them_ x1y", "them x y", 3, 3);                  /* neither _ nor digits */
    words("caf\xC3\xA9 \xC3\x89ire", "caf\xC3\xA9", 2, 1);
    words("caf\xC3\xA9", "caf", 1, 0);
    words("a\xE2\x80\x94" "b", "b a", 2, 2);                /* a dash parts words */
    words("it\xE2\x80\x99s", "it\xE2\x80\x99s", 1, 1);      /* U+2019 between letters */
    words("\xE2\x80\x99tis\xE2\x80\x99", "tis", 1, 1);
    words("ab\x80" "cd\xC3", "ab cd", 2, 2);                /* broken bytes are no letters */
    words("\xCE\xBB\xCF\x8C\xCE\xB3\xCE\xBF\xCF\x82", "\xCE\xBB\xCF\x8C\xCE\xB3\xCE\xBF\xCF\x82", 1, 1);
    words("a b c d e f g h i j k l m n o p q r s t u v w x y z", "a c e", 26, 3);
}

static void runs(const char *text, const char *a, const char *b, size_t longest, const char *run)
{
    const novelty n = measured(text, a, b);
    if (n.longest != longest)
        fail_msg("\"%s\": longest run %zu, expected %zu", text, n.longest, longest);
    assert_int_equal(n.run.len, strlen(run));
    assert_memory_equal(n.run.data ? (const char *)n.run.data : "", run, n.run.len);
    if (n.run.len)                                          /* it lies in the text */
        assert_true((const char *)n.run.data >= text &&
                    (const char *)n.run.data + n.run.len <= text + strlen(text));
}

static void the_longest_copied_run(void **state)
{
    (void)state;
    runs("", "abc", "", 0, "");
    runs("xyz", "abc", "", 0, "");
    runs("abc", "", "", 0, "");
    runs("xabcy", "zabcd", "", 3, "abc");
    runs("abcdef", "abcdef", "", 6, "abcdef");
    runs("aaaa", "aaaaaaaaa", "", 4, "aaaa");
    runs("abab", "cabac", "", 3, "aba");
    runs("one two", "one", " two", 4, " two");              /* not across documents */
    runs("the cat sat", "a cat sat on", "the c", 8, " cat sat");
    /* Characters are counted, not bytes; a shared lead byte is no character. */
    runs("\xC3\xA9\xC3\xA8x", "\xC3\xA9\xC3\xA8y", "ab", 2, "\xC3\xA9\xC3\xA8");
    runs("\xC3\xA9", "\xC3\xA8", "", 0, "");
    runs("\xC4\xA9q", "\xC3\xA9q", "", 1, "q");             /* the same last byte */
    runs("\xC3\xA9\xC3\xA8\xC3\xA9.abcd", "\xC3\xA9\xC3\xA8\xC3\xA9", "abcd", 4, "abcd");
}

/* Longest common run of characters, comparing every pair of places. */
static size_t naive(slice text, slice doc)
{
    size_t best = 0;
    for (size_t i = 0; i < text.len; i++)
        for (size_t j = 0; j < doc.len; j++) {
            if ((text.data[i] & 0xC0) == 0x80) continue;
            size_t n = 0, k = 0;
            while (i + k < text.len && j + k < doc.len && text.data[i + k] == doc.data[j + k]) {
                k++;
                const bool whole = (i + k == text.len || (text.data[i + k] & 0xC0) != 0x80) &&
                                   (j + k == doc.len || (doc.data[j + k] & 0xC0) != 0x80);
                if (!whole) continue;
                size_t chars = 0;
                for (size_t m = 0; m < k; m++) chars += (text.data[i + m] & 0xC0) != 0x80;
                n = chars;
            }
            if (n > best) best = n;
        }
    return best;
}

static void random_texts_as_every_pair_of_places(void **state)
{
    (void)state;
    static const char *const pieces[] = { "a", "b", "\xC3\xA9", "\xC3\xA8", "\xC4\xA9", "c d",
                                          "\xE2\x82\xAC", "\xE2\x82\xA0" };
    uint32_t s = 99;
    size_t sum = 0;
    for (int trial = 0; trial < 400; trial++) {
        char text[400] = "", doc[2][900] = { "", "" };
        const uint32_t kinds = 1 + (uint32_t)trial % 8;
#define DRAW (s = s * 1664525u + 1013904223u, s >> 20)
        for (uint32_t n = DRAW % 100; n > 0; n--) strcat(text, pieces[DRAW % kinds]);
        for (int d = 0; d < 2; d++)
            for (uint32_t n = DRAW % 200; n > 0; n--) strcat(doc[d], pieces[DRAW % kinds]);
        const novelty got = measured(text, doc[0], doc[1]);
        const size_t a = naive(s_of(text), s_of(doc[0])), b = naive(s_of(text), s_of(doc[1]));
        assert_int_equal(got.longest, a > b ? a : b);
        sum += got.longest;
    }
    assert_true(sum > 2000);
}

/* Long texts, one of them all equal: nothing here may be quadratic. */
static void long_texts(void **state)
{
    (void)state;
    enum { N = 4 << 20, T = 1000 };
    unsigned char *doc = malloc(N), *text = malloc(T);
    assert_true(doc && text);
    memset(doc, 'a', N);
    memset(text, 'a', T);
    const slice docs = { doc, N };
    novelty n;
    assert_ok(novelty_measure(&n, (slice){ text, T }, &docs, 1, &test_error));
    assert_int_equal(n.longest, T);
    assert_int_equal(n.known, 0);
    uint32_t s = 1;
    for (size_t i = 0; i < N; i++) {
        s = s * 1664525u + 1013904223u;
        doc[i] = (unsigned char)"abcdefghijklmnopqrstuvwxyz    .\n"[s >> 27];
    }
    memcpy(text, doc + N / 2, T);
    text[0] = text[300] = text[999] = '#';
    assert_ok(novelty_measure(&n, (slice){ text, T }, &docs, 1, &test_error));
    assert_int_equal(n.longest, 698);
    assert_ptr_equal(n.run.data, text + 301);
    free(doc);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_occur_in_training),
        cmocka_unit_test(the_longest_copied_run),
        cmocka_unit_test(random_texts_as_every_pair_of_places),
        cmocka_unit_test(long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

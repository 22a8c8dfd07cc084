/* test_utf8_text.c -- whole texts of UTF-8 against utf8.c's walk by characters (which
 * test_utf8.c holds to Python), and repair against Python's own decoder.
 */
#include "support.h"
#include "base/rng.h"
#include "base/utf8_text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "scratch.h"

/* Every pair and many longer sequences of bytes, at every place of a block and across
 * its end, in ASCII. */
static void finds_what_the_walk_finds(void **state)
{
    (void)state;
    static const unsigned char edges[] = { 0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0,
        0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF };
    enum { N = sizeof edges, LENGTH = 100 };
    unsigned char text[LENGTH];
    size_t bad = 0, compared = 0;
    for (size_t code = 0; code < N * N * N * N; code += code % 7 + 1) {
        const size_t at = code % 71, n = at + 4 + code % 25;
        memset(text, 'x', LENGTH);
        size_t c = code;
        for (size_t i = 0; i < 4; i++, c /= N) text[at + i] = edges[c % N];
        const size_t want = utf8_first_bad(text, n);
        if (utf8_text_bad(text, n) != want) fail_msg("code %zu", code);
        bad += want < n;
        compared++;
    }
    assert_true(compared > 90000 && bad > 80000 && bad < compared);
}

static void finds_it_in_dense_text(void **state)
{
    (void)state;
    static const char *const letters[] = { "a", "\xC3\xA9", "\xD0\x96", "\xE4\xB8\xAD", "\xEF\xBF\xBD",
                                           "\xED\x9F\xBF", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF" };
    unsigned char text[600];
    rng r;
    rng_seed(&r, 5);
    for (int trial = 0; trial < 4000; trial++) {
        size_t n = 0;
        while (n < sizeof text - 4) {
            const char *letter = letters[rng_integers(&r, 0, 8)];
            memcpy(text + n, letter, strlen(letter));
            n += strlen(letter);
        }
        assert_int_equal(utf8_text_bad(text, n), n);
        text[rng_integers(&r, 0, (int64_t)n)] = (unsigned char)rng_integers(&r, 0, 256);
        const size_t cut = (size_t)rng_integers(&r, 0, (int64_t)n);
        assert_int_equal(utf8_text_bad(text, n), utf8_first_bad(text, n));
        assert_int_equal(utf8_text_bad(text, cut), utf8_first_bad(text, cut));
    }
}

/* bytes.decode('utf-8', 'replace') of the same random bytes. */
static void repairs_as_python_does(void **state)
{
    (void)state;
    enum { N = 200000 };
    static const unsigned char some[] = { 'a', 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80,
                                          0xED, 0xA0, 0xF4, 0x90, 0xE0, 0x9F, 0xC0, 0xFE, '\n', 0xBF };
    unsigned char *text = malloc(N), *to = malloc(3 * N);
    size_t replaced, counted;
    char program[400];
    rng r;
    rng_seed(&r, 6);
    for (size_t i = 0; i < N; i++)
        text[i] = rng_integers(&r, 0, 4) ? some[rng_integers(&r, 0, sizeof some)]
                                         : (unsigned char)rng_integers(&r, 0, 256);
    const size_t length = utf8_text_repair(to, text, N, &replaced);
    assert_int_equal(utf8_text_repair(NULL, text, N, &counted), length);
    assert_int_equal(counted, replaced);
    assert_true(replaced > N / 10);
    scratch_file("raw", text, N);
    scratch_file("repaired", to, length);
    snprintf(program, sizeof program,
             "raw = open('raw', 'rb').read(); s = raw.decode('utf-8', 'replace')\n"
             "assert s.encode() == open('repaired', 'rb').read()\n"
             "own = raw.count(b'\\xEF\\xBF\\xBD')\n"          /* U+FFFD may stand there already */
             "assert s.count(chr(0xFFFD)) - own == %zu\n"
             "print('compared', len(raw))\n", replaced);
    python(program, N);
    free(text);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_the_walk_finds),
        cmocka_unit_test(finds_it_in_dense_text),
        cmocka_unit_test(repairs_as_python_does),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

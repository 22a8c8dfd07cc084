/* test_presplit.c -- the scanner against PCRE2 running GPT-2's expression, and
 * against a table worked out by hand.
 *
 * PCRE2's Unicode may be older than the table's: code points that it does not
 * know (\p{Cn}) are left out, and U+180E, which PCRE2 counts as white space for
 * Perl's sake though Unicode does not since 6.3.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"
#include "base/utf8.h"
#include "tokenizer/presplit.h"

static const char *const expression =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static pcre2_code *compile(const char *pattern)
{
    int number;
    PCRE2_SIZE offset;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_UCP, &number, &offset, NULL);
    if (!code) fail_msg("pcre2: error %d at %zu", number, (size_t)offset);
    return code;
}

/* A small generator of its own: these tests need variety, not quality. */
static uint64_t state = 42;
static uint32_t draw(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

static size_t put_utf8(unsigned char *out, uint32_t c)
{
    if (c < 0x80) { out[0] = (unsigned char)c; return 1; }
    if (c < 0x800) {
        out[0] = (unsigned char)(0xC0 | c >> 6);
        out[1] = (unsigned char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (unsigned char)(0xE0 | c >> 12);
        out[1] = (unsigned char)(0x80 | (c >> 6 & 63));
        out[2] = (unsigned char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (unsigned char)(0xF0 | c >> 18);
    out[1] = (unsigned char)(0x80 | (c >> 12 & 63));
    out[2] = (unsigned char)(0x80 | (c >> 6 & 63));
    out[3] = (unsigned char)(0x80 | (c & 63));
    return 4;
}

static bool matches(const pcre2_code *code, pcre2_match_data *found, uint32_t c)
{
    unsigned char text[4];
    const size_t n = put_utf8(text, c);
    return pcre2_match(code, text, n, 0, PCRE2_ANCHORED, found, NULL) >= 0;
}

/* Classes of every code point that both know. */
static void test_classes(void **unused)
{
    (void)unused;
    pcre2_code *letter = compile("\\p{L}"), *number = compile("\\p{N}"),
               *space = compile("\\s"), *unknown = compile("\\p{Cn}");
    pcre2_match_data *found = pcre2_match_data_create(4, NULL);
    size_t compared = 0, letters = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if ((c >= 0xD800 && c <= 0xDFFF) || c == 0x180E || matches(unknown, found, c)) continue;
        const enum presplit_class expected =
            matches(letter, found, c) ? PRESPLIT_LETTER :
            matches(number, found, c) ? PRESPLIT_NUMBER :
            matches(space, found, c) ? PRESPLIT_SPACE : PRESPLIT_OTHER;
        if (presplit_class_of(c) != expected)
            fail_msg("U+%04X: class %d, expected %d", c, (int)presplit_class_of(c), (int)expected);
        compared++;
        letters += expected == PRESPLIT_LETTER;
    }
    assert_true(compared > 280000 && letters > 130000);
    assert_int_equal(presplit_class_of(0x180E), PRESPLIT_OTHER);
    assert_int_equal(presplit_class_of(0x110000), PRESPLIT_OTHER);
    assert_int_equal(presplit_class_of(UINT32_MAX), PRESPLIT_OTHER);
    assert_int_equal(presplit_class_of(0x0378), PRESPLIT_OTHER);        /* not assigned */
    pcre2_match_data_free(found);
    pcre2_code_free(letter);
    pcre2_code_free(number);
    pcre2_code_free(space);
    pcre2_code_free(unknown);
}

/* What every string of a random walk through the classes must agree on. */
static size_t compare(const pcre2_code *code, pcre2_match_data *found,
                      const unsigned char *text, size_t n)
{
    size_t at = 0, words = 0;
    while (at < n) {
        assert_true(pcre2_match(code, text, n, at, 0, found, NULL) >= 0);
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(found);
        assert_int_equal(ends[0], at);
        const size_t got = presplit_next(text + at, n - at);
        if (got != ends[1] - at) {
            print_error("text of %zu bytes:", n);
            for (size_t i = 0; i < n; i++) print_error(" %02X", text[i]);
            fail_msg("\nat %zu: a word of %zu bytes, expected %zu", at, got,
                     (size_t)(ends[1] - at));
        }
        at += got;
        words++;
    }
    return words;
}

/* proves bpe.split */
static void test_random_strings(void **unused)
{
    (void)unused;
    static const uint32_t pool[] = {
        ' ', ' ', ' ', '\n', '\n', '\t', '\r', 0x0B, 0x0C, 0x1C, 0x1F, 0x85, 0xA0, 0x1680, 0x2003,
        0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0x200B, 0xFEFF, 0,
        '\'', '\'', '\'', 's', 't', 'r', 'e', 'v', 'm', 'l', 'l', 'd', 'S', 'T', 'a', 'Z', '_',
        '0', '9', 0xB2, 0xBD, 0x0661, 0x2167, 0x3007, 0x4E00, 0xAC00, 0xE9, 0x3B1, 0x430, 0x5D0,
        0x301, 0x20DD, '-', '.', '!', '=', 0x2019, 0x20AC, 0x1F600, 0x1D11E, 0x10400, 0x1D7CE,
        0x20000, 0xE000, 0x10FFFF
    };
    pcre2_code *code = compile(expression);
    pcre2_match_data *found = pcre2_match_data_create(4, NULL);
    pcre2_code *unknown = compile("\\p{Cn}");
    size_t words = 0;
    for (int round = 0; round < 60000; round++) {
        unsigned char text[64];
        size_t n = 0;
        const uint32_t want = 1 + draw(15);
        while (n < 4 * want && n + 4 <= sizeof text) {
            uint32_t c = pool[draw(sizeof pool / sizeof *pool)];
            if (round % 3 == 2 && draw(2)) c = draw(0x32000);
            if ((c >= 0xD800 && c <= 0xDFFF) || c == 0x180E || matches(unknown, found, c)) continue;
            n += put_utf8(text + n, c);
        }
        words += compare(code, found, text, n);
    }
    assert_true(words > 300000);
    pcre2_match_data_free(found);
    pcre2_code_free(code);
    pcre2_code_free(unknown);
}

/* All strings of up to six characters over nine that the expression tells
 * apart: every path of the scanner. */
/* proves bpe.split */
static void test_all_short_strings(void **unused)
{
    (void)unused;
    static const unsigned char letters[] = { ' ', '\n', '\'', 's', 'r', 'e', 'l', '1', '-' };
    enum { KINDS = sizeof letters };
    pcre2_code *code = compile(expression);
    pcre2_match_data *found = pcre2_match_data_create(4, NULL);
    size_t strings = 0;
    for (size_t n = 1; n <= 6; n++) {
        size_t all = 1;
        for (size_t i = 0; i < n; i++) all *= KINDS;
        for (size_t k = 0; k < all; k++) {
            unsigned char text[6];
            for (size_t i = 0, rest = k; i < n; i++, rest /= KINDS) text[i] = letters[rest % KINDS];
            compare(code, found, text, n);
            strings++;
        }
    }
    assert_int_equal(strings, 9 + 81 + 729 + 6561 + 59049 + 531441);
    pcre2_match_data_free(found);
    pcre2_code_free(code);
}

/* TOK-08: worked out by hand from the expression; words end at '|'. */
/* proves bpe.split */
static void test_table(void **unused)
{
    (void)unused;
    static const char *const rows[] = {
        "a| | b", "a|  | b", "\n| =", " |\xC2\xA0|x", "it|'s", "it|'|S", "I|'ll| we|'ve|'d",
        " '|s", "''|s", "don|'t|1|a", "x|1234|y", " 12|ab| 3", "a| \n", "a|\n |\n|b", "a|   ",
        "   ", "Hello|,| world|!!", "\r\n|\r|a", " \n| a", "caf\xC3\xA9| 2\xC2\xBD", " ...|a",
        "\xE2\x80\x99|s", "a|\xE3\x80\x80|b", "a|\xE3\x80\x80| b",
        NULL
    };
    for (size_t r = 0; rows[r]; r++) {
        unsigned char text[64];
        size_t ends[16], words = 0, n = 0;
        for (const char *p = rows[r]; *p; p++)
            if (*p == '|') ends[words++] = n;
            else text[n++] = (unsigned char)*p;
        ends[words++] = n;
        size_t at = 0;
        for (size_t w = 0; w < words; w++) {
            at += presplit_next(text + at, n - at);
            if (at != ends[w]) fail_msg("\"%s\": word %zu ends at %zu, expected %zu",
                                        rows[r], w, at, ends[w]);
        }
    }
    /* (a text that holds '|' itself) */
    const unsigned char special[] = "<|endoftext|>";
    assert_int_equal(presplit_next(special, 13), 2);
    assert_int_equal(presplit_next(special + 2, 11), 9);
    assert_int_equal(presplit_next(special + 11, 2), 2);
}

/* A byte that is not UTF-8 is one character of the class "other". */
static void test_invalid_bytes(void **unused)
{
    (void)unused;
    static const struct { const char *text; size_t n, first; } rows[] = {
        { "\xFF", 1, 1 },               { "\xFF\xFE""a", 3, 2 },
        { " \xFF!a", 4, 3 },            { "a\xC3", 2, 1 },
        { "\xC3", 1, 1 },               { "\xC3 a", 3, 1 },
        { "\xED\xA0\x80x", 4, 3 },      /* a surrogate: three bytes */
        { "\xC1\x81z", 3, 2 },          /* overlong A is not a letter */
        { "\xF4\x90\x80\x80z", 5, 4 },  /* beyond U+10FFFF */
        { "\xE3\x80 x", 4, 2 },         /* U+3000 cut short is not a space */
        { "  \x80", 3, 1 },             /* and it ends a run of spaces as \S */
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        assert_int_equal(presplit_next((const unsigned char *)rows[r].text, rows[r].n),
                         rows[r].first);
    /* Random bytes: words are not empty and end inside; guarded: no byte behind
     * the text is read. */
    for (int round = 0; round < 500; round++) {
        const size_t n = 16 * (1 + draw(4));
        unsigned char *text = guarded(n);
        for (size_t i = 0; i < n; i++) text[i] = (unsigned char)draw(256);
        for (size_t at = 0; at < n;) {
            const size_t w = presplit_next(text + at, n - at);
            assert_true(w >= 1 && w <= n - at);
            at += w;
        }
        guarded_free(text);
    }
}

/* Words of the two sides of a cut are the words of the whole. */
static void test_cut(void **unused)
{
    (void)unused;
    size_t cuts = 0;
    for (int round = 0; round < 20000; round++) {
        unsigned char text[24];
        const size_t n = 1 + draw(24);
        for (size_t i = 0; i < n; i++) text[i] = (unsigned char)" \n'slre1-\xC3\xA9Z"[draw(12)];
        const size_t at = draw(26), cut = presplit_cut(text, n, at);
        assert_true(cut <= n && (cut <= at || cut == n));
        if (cut == 0 || cut == n) continue;
        cuts++;
        size_t whole = 0, left = 0;
        while (whole < cut) whole += presplit_next(text + whole, n - whole);
        assert_int_equal(whole, cut);               /* a word ends at the cut */
        for (whole = 0; left < cut;) {
            const size_t w = presplit_next(text + whole, n - whole);
            assert_int_equal(presplit_next(text + left, cut - left), w);
            left += w;
            whole += w;
        }
    }
    assert_true(cuts > 2000);
    assert_int_equal(presplit_cut((const unsigned char *)"aaaa", 4, 2), 0);
    assert_int_equal(presplit_cut((const unsigned char *)"ab cd", 5, 4), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_random_strings),
        cmocka_unit_test(test_all_short_strings),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_invalid_bytes),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

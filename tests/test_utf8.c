/* test_utf8.c -- the strict decoder against the definition of UTF-8.
 *
 * The oracle is the definition turned round: encode every scalar value
 * (U+0000..U+10FFFF without surrogates) by the bit table of RFC 3629, section
 * 3, and mark the sequence as good; a sequence that is no such encoding is
 * bad.  So all sequences of 1 to 3 bytes are checked, and all of 4 bytes whose
 * last byte is one of six.
 */
#include "support.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

static size_t encode(uint32_t c, unsigned char out[4])
{
    if (c < 0x80) { out[0] = (unsigned char)c; return 1; }
    if (c < 0x800) {
        out[0] = (unsigned char)(0xC0 | c >> 6);
        out[1] = (unsigned char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (unsigned char)(0xE0 | c >> 12);
        out[1] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (unsigned char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (unsigned char)(0xF0 | c >> 18);
    out[1] = (unsigned char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (unsigned char)(0x80 | (c & 0x3F));
    return 4;
}

static size_t pack(const unsigned char *p, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k = k << 8 | p[i];
    return k;
}

/* code[n][packed bytes]: 1 + the scalar value, 0 for no character. */
static uint32_t *code[4];

static int setup(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 3; n++) {
        code[n] = calloc((size_t)1 << 8 * n, sizeof *code[n]);
        if (!code[n]) return 1;
    }
    for (uint32_t c = 0; c <= 0xFFFF; c++) {
        unsigned char b[4];
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        const size_t n = encode(c, b);
        code[n][pack(b, n)] = 1 + c;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 3; n++) free(code[n]);
    return 0;
}

static void every_sequence_of_one_to_three_bytes(void **state)
{
    (void)state;
    size_t characters = 0, compared = 0;
    for (size_t n = 1; n <= 3; n++)
        for (size_t k = 0; k < (size_t)1 << 8 * n; k++) {
            unsigned char b[3];
            for (size_t i = 0; i < n; i++) b[i] = (unsigned char)(k >> 8 * (n - 1 - i));
            size_t whole = 0;                   /* length of the character at b */
            uint32_t want = 0;
            for (size_t m = 1; m <= n && !whole; m++)
                if (code[m][pack(b, m)]) { whole = m; want = code[m][pack(b, m)] - 1; }
            uint32_t got = 0;
            const size_t used = utf8_decode(b, n, &got);
            if (used != whole || (whole && got != want))
                fail_msg("%02X %02X %02X (%zu bytes): used %zu, U+%04X; expected %zu, U+%04X",
                         b[0], n > 1 ? b[1] : 0, n > 2 ? b[2] : 0, n, used, (unsigned)got,
                         whole, (unsigned)want);
            characters += whole == n;
            /* first_bad: walk by the table. */
            size_t at = 0;
            while (at < n) {
                size_t m = 1;
                while (m <= n - at && !code[m][pack(b + at, m)]) m++;
                if (m > n - at) break;
                at += m;
            }
            if (utf8_first_bad(b, n) != at)
                fail_msg("%06zX (%zu bytes): first bad %zu, expected %zu", k, n,
                         utf8_first_bad(b, n), at);
            compared++;
        }
    assert_int_equal(characters, 0x80 + 0x780 + 0x10000 - 0x800 - 0x800);
    assert_int_equal(compared, 256 + 65536 + 16777216);
}

static void every_sequence_of_four_bytes_with_some_last_bytes(void **state)
{
    (void)state;
    static const unsigned char last[6] = { 0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF };
    size_t characters = 0;
    for (uint32_t k = (uint32_t)0xE0 << 16; k < (uint32_t)1 << 24; k++)
        for (size_t e = 0; e < 6; e++) {
            const unsigned char b[4] = { (unsigned char)(k >> 16), (unsigned char)(k >> 8),
                                         (unsigned char)k, last[e] };
            uint32_t cp = 0;
            const size_t used = utf8_decode(b, 4, &cp);
            /* Good with 4 bytes: re-encoding the value gives these bytes, and
             * the value is a scalar beyond the three-byte ones. */
            const uint32_t value = (uint32_t)(b[0] & 7) << 18 | (uint32_t)(b[1] & 0x3F) << 12 |
                                   (uint32_t)(b[2] & 0x3F) << 6 | (b[3] & 0x3F);
            unsigned char again[4];
            const int four = value >= 0x10000 && value <= 0x10FFFF && encode(value, again) == 4 &&
                             memcmp(again, b, 4) == 0;
            const size_t want = four ? 4 : code[3][k] ? 3 : 0;
            if (used != want || (four && cp != value))
                fail_msg("%02X %02X %02X %02X: used %zu, expected %zu", b[0], b[1], b[2], b[3],
                         used, want);
            characters += (size_t)four;
        }
    assert_int_equal(characters, 0x100000 / 64 * 2);    /* 80 and BF end one each */
}

static void kinds_and_their_lengths(void **state)
{
    (void)state;
    /* The example of Unicode 15, table 3-8 and its neighbours: bytes, then the
     * kind and length at the start. */
    static const struct { const char *b; size_t n; utf8_kind kind; size_t used; } row[] = {
        { "\xF0\x9F\x98\x8A", 4, UTF8_GOOD, 4 },
        { "\xF0\x9F\x98", 3, UTF8_CUT, 3 },
        { "\xF0\x9F", 2, UTF8_CUT, 2 },
        { "\xF0", 1, UTF8_CUT, 1 },
        { "\xF0\x9F\x98" "A", 4, UTF8_BAD, 3 },
        { "\xF0\x9F" "A", 3, UTF8_BAD, 2 },
        { "\xF0\x80\x80", 3, UTF8_BAD, 1 },     /* overlong: F0 alone */
        { "\xED\xA0\x80", 3, UTF8_BAD, 1 },     /* a surrogate */
        { "\xF4\x90\x80\x80", 4, UTF8_BAD, 1 }, /* U+110000 */
        { "\x80", 1, UTF8_BAD, 1 },
        { "\xC0\x80", 2, UTF8_BAD, 1 },
        { "\xC2", 1, UTF8_CUT, 1 },
        { "\xC2" "A", 2, UTF8_BAD, 1 },
        { "\xE2\x82", 2, UTF8_CUT, 2 },
        { "\xE2\x82" "A", 3, UTF8_BAD, 2 },
        { "\xFF", 1, UTF8_BAD, 1 },
        { "", 1, UTF8_GOOD, 1 },                /* NUL is a character */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        size_t used = 99;
        unsigned char *b = guarded(row[i].n);   /* A5, a continuation byte, follows */
        memcpy(b, row[i].b, row[i].n);
        assert_int_equal(utf8_next(b, row[i].n, &used, NULL), row[i].kind);
        assert_int_equal(used, row[i].used);
        guarded_free(b);
    }
    assert_int_equal(utf8_decode((const unsigned char *)"", 0, NULL), 0);
}

static void the_first_bad_byte_is_found_at_every_place(void **state)
{
    (void)state;
    assert_int_equal(utf8_first_bad("", 0), 0);
    assert_int_equal(utf8_first_bad(NULL, 0), 0);
    char text[64];
    for (size_t n = 1; n <= 40; n++)
        for (size_t at = 0; at < n; at++) {
            memset(text, 'a', sizeof text);
            assert_int_equal(utf8_first_bad(text, n), n);
            text[at] = '\xFF';
            assert_int_equal(utf8_first_bad(text, n), at);
            text[at] = '\xC3';                      /* good with A9 behind it */
            text[at + 1] = '\xA9';
            assert_int_equal(utf8_first_bad(text, n), at + 1 < n ? n : at);
        }
}

/* By Unicode's own properties (DerivedGeneralCategory: Cc, Zl, Zp; Bidi_Control without the
 * marks, which turn nothing around). */
static void what_a_terminal_obeys_is_replaced(void **state)
{
    (void)state;
    static const uint32_t ranges[][2] = { { 0, 0x1F }, { 0x7F, 0x9F }, { 0x2028, 0x2029 },
                                          { 0x202A, 0x202E }, { 0x2066, 0x2069 } };
    size_t hidden = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        bool in = false;
        for (size_t i = 0; i < 5; i++) in |= c >= ranges[i][0] && c <= ranges[i][1];
        hidden += in;
        if (utf8_is_shown(c) == in) fail_msg("U+%04X", (unsigned)c);
    }
    assert_int_equal(hidden, 32 + 33 + 2 + 5 + 4);
    static const struct { const char *text, *plain, *lines; } row[] = {
        { "", "", "" }, { "a\nb\n", "a?b?", "a\nb\n" }, { "\x1B[1m\r", "?[1m?", "?[1m?" },
        { "\xC2\x85\xE2\x80\xAA\xC3\xA9", "??\xC3\xA9", "??\xC3\xA9" },
        { "\x9B\xFF\xE2\x82", "????", "????" }, { "\xF0\x9F\x98\x8A", "\xF0\x9F\x98\x8A", "\xF0\x9F\x98\x8A" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[32];
        strcpy(text, row[i].text);
        utf8_plain(text, false);
        assert_string_equal(text, row[i].plain);
        strcpy(text, row[i].text);
        utf8_plain(text, true);
        assert_string_equal(text, row[i].lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence_of_one_to_three_bytes),
        cmocka_unit_test(every_sequence_of_four_bytes_with_some_last_bytes),
        cmocka_unit_test(kinds_and_their_lengths),
        cmocka_unit_test(the_first_bad_byte_is_found_at_every_place),
        cmocka_unit_test(what_a_terminal_obeys_is_replaced),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

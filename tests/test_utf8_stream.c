/* test_utf8_stream.c -- streams against whole decodes.
 *
 * Oracle: Python's bytes.decode('utf-8', 'replace'), which follows the same
 * rule of maximal subparts.
 */
#include "support.h"
#include "scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "sample/utf8_stream.h"

/* Pushes the pieces between the cuts (bit i: a cut before byte i + 1), each in
 * memory of its exact size; every output so far must be whole characters. */
static bytes streamed(const unsigned char *text, size_t n, unsigned cuts)
{
    bytes out = { 0 };
    utf8_stream s = { 0 };
    size_t begin = 0;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && !(cuts >> (i - 1) & 1)) continue;
        unsigned char *piece = malloc(i - begin);
        assert_non_null(piece);
        memcpy(piece, text + begin, i - begin);
        assert_ok(utf8_stream_push(&s, piece, i - begin, &out, &test_error));
        free(piece);
        begin = i;
        assert_int_equal(utf8_first_bad(out.data, out.len), out.len);
    }
    assert_ok(utf8_stream_push(&s, text, 0, &out, &test_error));    /* an empty token */
    assert_ok(utf8_stream_end(&s, &out, &test_error));
    assert_ok(utf8_stream_end(&s, &out, &test_error));              /* once only */
    return out;
}

/* GEN-02 */
static void gen02_by_hand(void **state)
{
    (void)state;
#define R UTF8_REPLACEMENT
    static const struct { const char *text, *want; } row[] = {
        { "\xF0\x9F\x98\x8A", "\xF0\x9F\x98\x8A" },
        { "a\xF0\x9F\x98\x8A" "b", "a\xF0\x9F\x98\x8A" "b" },
        { "\x80", R },
        { "a\x80" "b", "a" R "b" },
        { "\xF0\x9F", R },                              /* the tail, once */
        { "x\xF0\x9F\x98", "x" R },
        { "\xF0\x9F" "A", R "A" },
        { "\xF0\x9F\xF0\x9F\x98\x8A", R "\xF0\x9F\x98\x8A" },
        { "\xE2\x82\xE2\x82\xAC", R "\xE2\x82\xAC" },
        { "\xED\xA0\x80", R R R },                      /* a surrogate */
        { "\xC0\xAF", R R },
        { "\xF4\x90\x80\x80", R R R R },
        { "\xC3\xA9\xC3", "\xC3\xA9" R },
        { "\xFF\xFE", R R },
    };
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        const size_t n = strlen(row[r].text);
        for (unsigned cuts = 0; cuts < 1u << (n - 1); cuts++) {
            bytes out = streamed((const unsigned char *)row[r].text, n, cuts);
            assert_int_equal(out.len, strlen(row[r].want));
            assert_memory_equal(out.data, row[r].want, out.len);
            bytes_free(&out);
        }
    }
}

/* GEN-02 */
static void a_begun_character_waits(void **state)
{
    (void)state;
    bytes out = { 0 };
    utf8_stream s = { 0 };
    assert_ok(utf8_stream_push(&s, "ok \xF0\x9F", 5, &out, &test_error));
    assert_int_equal(out.len, 3);                       /* "ok ", no more */
    assert_ok(utf8_stream_push(&s, "\x98", 1, &out, &test_error));
    assert_int_equal(out.len, 3);
    assert_ok(utf8_stream_push(&s, "\x8A!", 2, &out, &test_error));
    assert_int_equal(out.len, 8);                       /* at once when whole */
    assert_memory_equal(out.data, "ok \xF0\x9F\x98\x8A!", 8);
    assert_ok(utf8_stream_end(&s, &out, &test_error));
    assert_int_equal(out.len, 8);
    bytes_free(&out);
}

static void random_bytes_and_every_cut_equal_pythons_decode(void **state)
{
    (void)state;
    static const unsigned char some[] = { 0xF0, 0x9F, 0x98, 0x8A, 0xE2, 0x82, 0xAC, 0xC3, 0xA9,
                                          0xED, 0xA0, 0xF4, 0x8F, 0x90, 0xBF, 0xE0, 0xC0, 0x41, 0 };
    bytes raw = { 0 }, got = { 0 };
    uint64_t seed = 3;
    enum { TEXTS = 4000 };
    for (int t = 0; t < TEXTS; t++) {
        unsigned char text[10];
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const size_t n = 1 + (seed >> 33) % (t % 8 == 0 ? 10 : 6);
        for (size_t i = 0; i < n; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            text[i] = seed >> 63 ? (unsigned char)(seed >> 40) : some[(seed >> 33) % sizeof some];
        }
        bytes whole = streamed(text, n, 0);
        for (unsigned cuts = 1; cuts < 1u << (n - 1); cuts++) {
            bytes out = streamed(text, n, cuts);
            if (out.len != whole.len || memcmp(out.data, whole.data, out.len) != 0)
                fail_msg("text %d: cuts %x change the stream", t, cuts);
            bytes_free(&out);
        }
        for (size_t i = 0; i < n; i++)
            assert_ok(bytes_printf(&raw, &test_error, "%02x", text[i]));
        assert_ok(bytes_append(&raw, "\n", 1, &test_error));
        for (size_t i = 0; i < whole.len; i++)
            assert_ok(bytes_printf(&got, &test_error, "%02x", whole.data[i]));
        assert_ok(bytes_append(&got, "\n", 1, &test_error));
        bytes_free(&whole);
    }
    static const char program[] =
        "raw = [bytes.fromhex(l) for l in open('raw')]\n"
        "got = [bytes.fromhex(l) for l in open('got')]\n"
        "assert len(raw) == len(got)\n"
        "for r, g in zip(raw, got): assert r.decode('utf-8', 'replace').encode() == g, (r, g)\n"
        "print('compared', len(raw))\n";
    scratch_file("raw", raw.data, raw.len);
    scratch_file("got", got.data, got.len);
    python(program, TEXTS);
    bytes_free(&raw);
    bytes_free(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gen02_by_hand),
        cmocka_unit_test(a_begun_character_waits),
        cmocka_unit_test(random_bytes_and_every_cut_equal_pythons_decode),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

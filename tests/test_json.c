/* test_json.c -- JSON in and out.
 *
 * Oracles: Python's json, float and repr (an independent reader and the
 * shortest digits); RFC 8259; WHATWG's replacement as Python's
 * bytes.decode('utf-8', 'replace') does it.
 */
#include "support.h"
#include "scratch.h"
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "formats/json.h"

static uint64_t next_bits(uint64_t *s)      /* splitmix64 */
{
    uint64_t z = (*s += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* --- numbers ------------------------------------------------------------ */

static void numbers_read_back_to_the_same_bits(void **state)
{
    (void)state;
    static const double special[] = {
        0.0, -0.0, 1, -1, 0.1, 0.5, 1.0 / 3, 1e22, 1e23, 123456789012345678.0, 9007199254740993.0,
        9223372036854775808.0, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308,
        1.7976931348623157e308, 1e-5, 3e-5, 1e15, 1e16, 1e17, 123456.75, 0.30000000000000004
    };
    bytes out = { 0 };
    long count = 0;
    uint64_t seed = 1;
    for (int i = 0; i < 6000; i++) {
        double x;
        uint64_t bits;
        if (i < (int)(sizeof special / sizeof *special)) x = special[i];
        else if (i < 2000) x = (double)(int64_t)(next_bits(&seed) % 2000001) / 1000 - 1000;
        else if (i < 4000) x = ldexp((double)next_bits(&seed), -64);
        else { bits = next_bits(&seed); memcpy(&x, &bits, sizeof x); }
        if (!isfinite(x)) continue;
        char text[JS_NUMBER_MAX];
        memcpy(&bits, &x, sizeof bits);
        size_t length = js_format_number(text, x);
        assert_int_equal(length, strlen(text));
        assert_ok(bytes_printf(&out, &test_error, "d %016" PRIx64 " %s\n", bits, text));
        count++;
        float f = (float)x;                     /* inf where x is beyond */
        uint32_t fbits = (uint32_t)bits;        /* raw bits: all exponents */
        if (i >= 4000) memcpy(&f, &fbits, sizeof f);
        if (!isfinite(f)) continue;
        memcpy(&fbits, &f, sizeof fbits);
        length = js_format_float(text, f);
        assert_int_equal(length, strlen(text));
        assert_ok(bytes_printf(&out, &test_error, "f %08x %s\n", (unsigned)fbits, text));
        count++;
    }
    scratch_file("numbers", out.data, out.len);
    bytes_free(&out);
    /* float("...") rounds to double first: a float's text has at most 9 digits
     * and double rounding cannot hurt below 2 * 24 + 2 bits.  repr is the
     * shortest; %.16g may need a digit more beside a power of two only. */
    python("import struct, json, re\n"
           "n = 0\n"
           "def digits(t): return len(re.sub('[.]|e.*|-', '', t).strip('0'))\n"
           "for line in open('numbers'):\n"
           "    kind, bits, text = line.split()\n"
           "    x = float(json.loads(text))\n"
           "    if text == '-0.0' or text[0] == '-': assert str(x)[0] == '-', line\n"
           "    if kind == 'd':\n"
           "        assert struct.pack('>d', x).hex() == bits, line\n"
           "        want = struct.unpack('>d', bytes.fromhex(bits))[0]\n"
           "        if int(bits, 16) & (2**52 - 1): assert digits(text) <= digits(repr(want)), line\n"
           "        assert digits(text) <= 17, line\n"
           "    else:\n"
           "        assert struct.pack('>f', x).hex() == bits, line\n"
           "        assert digits(text) <= 9, line\n"
           "    n += 1\n"
           "print('compared', n)\n", count);
    assert_true(count > 9000);
}

static void floats_are_written_short(void **state)
{
    (void)state;
    static const struct { float x; const char *text; } row[] = {
        { 0.1f, "0.1" }, { 1e-5f, "1e-05" }, { 3.4028235e38f, "3.4028235e+38" },
        { 16777216.0f, "16777216" }, { 1.0f, "1" }, { -2.5f, "-2.5" }, { 1e-45f, "1e-45" },
        { -0.0f, "-0.0" }, { (float)INFINITY, "inf" }, { -(float)INFINITY, "-inf" }, { (float)NAN, "nan" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[JS_NUMBER_MAX];
        js_format_float(text, row[i].x);
        assert_string_equal(text, row[i].text);
    }
}

/* --- layout ------------------------------------------------------------- */

static char *sample(js_style style)
{
    bytes out = { 0 };
    js_writer w;
    js_begin(&w, &out, style);
    js_open_object(&w);
    js_field_int(&w, "step", -10);
    js_field_number(&w, "loss", 2.5);
    js_field_null(&w, "val");
    js_key(&w, "shape");
    js_open_array(&w);
    js_uint(&w, UINT64_MAX);
    js_float(&w, 0.1f);
    js_number(&w, -(double)INFINITY);
    js_close_array(&w);
    js_key(&w, "empty");
    js_open_object(&w);
    js_close_object(&w);
    js_key(&w, "none");
    js_open_array(&w);
    js_close_array(&w);
    js_field_bool(&w, "ok", true);
    js_field_string(&w, "a\"b", "c\\\n\x01");
    js_field_string(&w, "no", NULL);
    js_close_object(&w);
    assert_ok(js_end(&w, &test_error));
    assert_ok(bytes_append(&out, "", 1, &test_error));
    return (char *)out.data;
}

static void layouts_are_exact(void **state)
{
    (void)state;
    char *text = sample(JS_COMPACT);
    assert_string_equal(text,
        "{\"step\":-10,\"loss\":2.5,\"val\":null,\"shape\":[18446744073709551615,0.1,\"-inf\"],"
        "\"empty\":{},\"none\":[],\"ok\":true,\"a\\\"b\":\"c\\\\\\n\\u0001\",\"no\":null}");
    free(text);
    text = sample(JS_LINE);
    assert_string_equal(text,
        "{\"step\": -10, \"loss\": 2.5, \"val\": null, \"shape\": [18446744073709551615, 0.1, \"-inf\"], "
        "\"empty\": {}, \"none\": [], \"ok\": true, \"a\\\"b\": \"c\\\\\\n\\u0001\", \"no\": null}");
    free(text);
    text = sample(JS_PRETTY);
    assert_string_equal(text,
        "{\n  \"step\": -10,\n  \"loss\": 2.5,\n  \"val\": null,\n  \"shape\": [\n"
        "    18446744073709551615,\n    0.1,\n    \"-inf\"\n  ],\n  \"empty\": {},\n  \"none\": [],\n"
        "  \"ok\": true,\n  \"a\\\"b\": \"c\\\\\\n\\u0001\",\n  \"no\": null\n}\n");
    free(text);
}

/* --- text (GEN-03) ------------------------------------------------------ */

static void any_bytes_give_valid_json(void **state)
{
    (void)state;
    bytes raw = { 0 }, out = { 0 };
    js_writer w;
    js_begin(&w, &out, JS_COMPACT);
    js_open_array(&w);
    uint64_t seed = 7;
    static const char *known[] = { "\x90", "\xE5\x5C", "\xF0\x9F\x98\x8A", "\xF0\x9F", "\xED\xA0\x80",
                                   "\"\\/\b\f\n\r\t\x7F", "\xE2\x80\xA8", "\xF0\x9F\x98\x41\x80" };
    enum { ROWS = 3000 };
    for (int i = 0; i < ROWS; i++) {
        unsigned char text[40];
        size_t n = next_bits(&seed) % 24;
        if (i < 8) {
            n = strlen(known[i]);
            memcpy(text, known[i], n);
        } else {
            for (size_t k = 0; k < n; k++) {        /* half of it lead bytes and such */
                const uint64_t r = next_bits(&seed);
                static const unsigned char some[] = { 0xF0, 0x9F, 0x98, 0x8A, 0xE2, 0x82, 0xC3, 0xA9,
                                                      0xED, 0xA0, 0xF4, 0x8F, 0xBF, 0, '"', '\\' };
                text[k] = r & 1 ? (unsigned char)(r >> 8) : some[r >> 8 & 15];
            }
        }
        js_text(&w, text, n);
        for (size_t k = 0; k < n; k++)
            assert_ok(bytes_printf(&raw, &test_error, "%02x", text[k]));
        assert_ok(bytes_append(&raw, "\n", 1, &test_error));
    }
    js_close_array(&w);
    assert_ok(js_end(&w, &test_error));
    scratch_file("text.json", out.data, out.len);
    scratch_file("text.raw", raw.data, raw.len);
    python("import json\n"
           "got = json.loads(open('text.json', 'rb').read().decode('utf-8'))\n"
           "want = [bytes.fromhex(l) for l in open('text.raw')]\n"
           "assert len(got) == len(want)\n"
           "for g, w in zip(got, want): assert g == w.decode('utf-8', 'replace'), (g, w)\n"
           "print('compared', len(got))\n", ROWS);
    /* and our own reader takes it */
    json_t *root = NULL;
    assert_ok(js_parse(&root, out.data, out.len, "text.json", &test_error));
    assert_int_equal(json_array_size(root), ROWS);
    assert_string_equal(json_string_value(json_array_get(root, 0)), "\xEF\xBF\xBD");
    json_decref(root);
    bytes_free(&raw);
    bytes_free(&out);
}

/* --- locale (NUM-02) ---------------------------------------------------- */

/* A locale whose decimal mark is `mark`, in glibc's format: magic, number of
 * items, their offsets; then decimal_point, thousands_sep, grouping, the first
 * two as code points, codeset.  No installed locale is needed. */
static void make_locale(const char *name, const char *mark, uint32_t code)
{
    unsigned char file[128] = { 0 };
    uint32_t head[8] = { 0x20031115u ^ (uint32_t)LC_NUMERIC, 6 };
    size_t n = sizeof head;
    const size_t m = strlen(mark) + 1;
    head[2] = (uint32_t)n; memcpy(file + n, mark, m); n += m;
    head[3] = (uint32_t)n; n += 1;
    head[4] = (uint32_t)n; n += 1;
    n = (n + 3) / 4 * 4;
    head[5] = (uint32_t)n; memcpy(file + n, &code, 4); n += 4;
    head[6] = (uint32_t)n; n += 4;
    head[7] = (uint32_t)n; memcpy(file + n, "UTF-8", 6); n += 6;
    memcpy(file, head, sizeof head);
    char path[256];
    assert_int_equal(mkdir(scratch(name), 0700), 0);
    snprintf(path, sizeof path, "%s/LC_NUMERIC", name);
    scratch_file(path, file, n);
}

static void the_locale_changes_no_byte(void **state)
{
    (void)state;
    char *before = sample(JS_PRETTY), text[JS_NUMBER_MAX], probe[32];
    static const struct { const char *name, *mark, *half; uint32_t code; } row[] = {
        { "comma", ",", "0,5", ',' },                   /* as de_DE */
        { "arabic", "\xD9\xAB", "0\xD9\xAB" "5", 0x66B },   /* as fa_IR: two bytes */
    };
    assert_int_equal(setenv("LOCPATH", scratch(NULL), 1), 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        make_locale(row[i].name, row[i].mark, row[i].code);
        if (!setlocale(LC_NUMERIC, row[i].name)) fail_msg("locale %s is not taken", row[i].name);
        snprintf(probe, sizeof probe, "%.1f", 0.5);
        assert_string_equal(probe, row[i].half);        /* the locale is in force */

        char *after = sample(JS_PRETTY);
        assert_string_equal(after, before);
        free(after);
        js_format_number(text, 1.0 / 3);
        assert_string_equal(text, "0.3333333333333333");
        js_format_number(text, 0.5);
        assert_string_equal(text, "0.5");
        js_format_number(text, -1.25e-300);
        assert_string_equal(text, "-1.25e-300");
        js_format_float(text, 0.1f);
        assert_string_equal(text, "0.1");

        static const char source[] = "{\"a\":1,\"b\":2,\"c\":0.5,\"d\":1.25e-3}";
        json_t *root = NULL;
        double c = 0, d = 0;
        int64_t a = 0, b = 0;
        assert_ok(js_parse(&root, source, strlen(source), "x", &test_error));
        assert_ok(js_get_int(root, "a", "x", 0, 9, &a, &test_error));
        assert_ok(js_get_int(root, "b", "x", 0, 9, &b, &test_error));
        assert_ok(js_get_number(root, "c", "x", 0, 1, &c, &test_error));
        assert_ok(js_get_number(root, "d", "x", 0, 1, &d, &test_error));
        assert_int_equal(a, 1);
        assert_int_equal(b, 2);
        assert_near(c, 0.5, 0);
        assert_near(d, 0.00125, 0);
        json_decref(root);
        snprintf(probe, sizeof probe, "%.1f", 0.5);
        assert_string_equal(probe, row[i].half);        /* the caller's locale is untouched */
        assert_int_equal(js_parse(&root, "[1,5.]", 6, "x", &test_error), VT_BAD_INPUT);
    }
    assert_non_null(setlocale(LC_ALL, "C"));
    assert_int_equal(unsetenv("LOCPATH"), 0);
    free(before);
}

/* --- errors ------------------------------------------------------------- */

#define BYTES(text) text, sizeof text - 1

static void what_is_not_json_is_refused(void **state)
{
    (void)state;
    static const struct { const char *text; size_t n; const char *says; } row[] = {
        { BYTES(""), "line 1, column 1 (byte 0)" },
        { BYTES("{\"a\": 1"), "line 1, column 8 (byte 7)" },
        { BYTES("{\"a\": 1,\n \"b\": }"), "line 2, column 7" },
        { BYTES("{\"a\": 1} x"), "end of file expected" },
        { BYTES("{\"a\": 1, \"a\": 2}"), "duplicate object key" },
        { BYTES("[1, NaN]"), "near 'NaN'" },
        { BYTES("[Infinity]"), "near 'Infinity'" },
        { BYTES("[1e400]"), "real number overflow" },
        { BYTES("[9223372036854775808]"), "too big integer" },
        { BYTES("[01]"), "column" },
        { BYTES("[1.]"), "column" },
        { BYTES("[.5]"), "column" },
        { BYTES("[+5]"), "column" },
        { BYTES("[1,]"), "column" },
        { BYTES("{'a': 1}"), "column" },
        { BYTES("7"), "expected" },
        { BYTES("[\"a\nb\"]"), "line 1" },
        { BYTES("[\"a\x00""b\"]"), "line 1, column 4 (byte 3): expected JSON, found byte 00" },
        { BYTES("[7\x00]"), "(byte 2): expected JSON, found byte 00" },     /* found by fuzzing: */
        { BYTES("[\n1.5\x00, 2]"), "line 2, column 4" },                 /* jansson takes these */
        { BYTES("[true\x00]"), "(byte 5)" },
        { BYTES("[]\x00"), "(byte 2)" },
        { BYTES("[\x00\xFF]"), "(byte 1): expected JSON" },
        { BYTES("[\xFF\x00]"), "(byte 1): expected UTF-8" },
        { BYTES("[\"\\ud800\"]"), "invalid Unicode" },
        { BYTES("{\"a\\u0000b\": 1}"), "NUL" },
        { BYTES("\xEF\xBB\xBF{}"), "byte order mark" },
        { BYTES("[\n\"ab\xE5\x5C\"]"), "line 2, column 4 (byte 5): expected UTF-8, found byte E5" },
        { BYTES("[\"\xED\xA0\x80\"]"), "(byte 2): expected UTF-8, found byte ED" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        json_t *root = NULL;
        unsigned char *copy = malloc(row[i].n + 1);     /* exact, for the sanitizer */
        assert_non_null(copy);
        memcpy(copy, row[i].text, row[i].n);
        if (js_parse(&root, copy, row[i].n, "bad.json", &test_error) != VT_BAD_INPUT)
            fail_msg("row %zu was not refused: %s", i, row[i].text);
        free(copy);
        assert_null(root);
        assert_contains(test_error.text, "bad.json: ");
        assert_contains(test_error.text, row[i].says);
        assert_null(strchr(test_error.text, '\n'));
    }
    char deep[4000];
    memset(deep, '[', sizeof deep);
    json_t *root = NULL;
    assert_int_equal(js_parse(&root, deep, sizeof deep, "deep", &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "depth");
}

static void a_missing_or_wrong_field_is_named(void **state)
{
    (void)state;
    static const char text[] = "{\"n\": 4, \"r\": 4.0, \"s\": \"four\", \"z\": null, \"b\": true, "
                               "\"o\": {}, \"a\": [1], \"nul\": \"a\\u0000b\", "
                               "\"long\": \"0123456789012345678901234567890123456789\\n\"}";
    json_t *root = NULL;
    int64_t n = 0;
    size_t size = 0;
    double x = 0;
    bool flag = false;
    const char *s = NULL;
    const json_t *part = NULL;
    assert_ok(js_parse(&root, text, strlen(text), "c.json", &test_error));

    assert_ok(js_get_int(root, "n", "c.json", 4, 4, &n, &test_error));
    assert_int_equal(n, 4);
    assert_ok(js_get_size(root, "n", "c.json", 0, SIZE_MAX, &size, &test_error));
    assert_int_equal(size, 4);
    assert_ok(js_get_number(root, "r", "c.json", 0, 5, &x, &test_error));
    assert_near(x, 4, 0);
    assert_ok(js_get_number(root, "n", "c.json", 0, 5, &x, &test_error));
    assert_ok(js_get_bool(root, "b", "c.json", &flag, &test_error));
    assert_true(flag);
    assert_ok(js_get_string(root, "s", "c.json", &s, &test_error));
    assert_string_equal(s, "four");
    assert_ok(js_get_array(root, "a", "c.json", &part, &test_error));
    assert_ok(js_to_int(json_array_get(part, 0), "c.json: a[0]", 0, 1, &n, &test_error));
    assert_ok(js_get_object(root, "o", "c.json", &part, &test_error));
    assert_true(js_has(root, "n") && !js_has(root, "z") && !js_has(root, "y"));

#define REFUSED(call, message) do { assert_int_equal(call, VT_BAD_INPUT); \
        assert_string_equal(test_error.text, message); } while (0)
    REFUSED(js_get_int(root, "n", "c.json", 5, 9, &n, &test_error),
            "c.json: field \"n\": expected an integer in 5..9, found 4");
    REFUSED(js_get_int(root, "n", "c.json", -9, 3, &n, &test_error),
            "c.json: field \"n\": expected an integer in -9..3, found 4");
    REFUSED(js_get_int(root, "r", "c.json", 0, 9, &n, &test_error),
            "c.json: field \"r\": expected an integer in 0..9, found 4.0");
    REFUSED(js_get_size(root, "y", "c.json", 1, SIZE_MAX, &size, &test_error),
            "c.json: field \"y\": expected an integer in 1..9223372036854775807, found nothing");
    REFUSED(js_get_number(root, "s", "c.json", 0, 0.5, &x, &test_error),
            "c.json: field \"s\": expected a number in 0..0.5, found \"four\"");
    REFUSED(js_get_number(root, "n", "c.json", 0, 0.5, &x, &test_error),
            "c.json: field \"n\": expected a number in 0..0.5, found 4");
    REFUSED(js_get_number(root, "n", "c.json", 0, (double)NAN, &x, &test_error),
            "c.json: field \"n\": expected a number in 0..nan, found 4");
    REFUSED(js_get_bool(root, "z", "c.json", &flag, &test_error),
            "c.json: field \"z\": expected true or false, found null");
    REFUSED(js_get_string(root, "a", "c.json", &s, &test_error),
            "c.json: field \"a\": expected a string, found an array");
    REFUSED(js_get_string(root, "nul", "c.json", &s, &test_error),
            "c.json: field \"nul\": expected a string without U+0000, found \"a...\"");
    REFUSED(js_get_object(root, "long", "c.json", &part, &test_error),
            "c.json: field \"long\": expected an object, found \"0123456789012345678901234567890...\"");
    REFUSED(js_get_array(root, "o", "c.json", &part, &test_error),
            "c.json: field \"o\": expected an array, found an object");
    REFUSED(js_to_int(json_object_get(root, "b"), "c.json: item 3", 0, 1, &n, &test_error),
            "c.json: item 3: expected an integer in 0..1, found true");
    REFUSED(js_to_int(NULL, "c.json: item 4", 0, 1, &n, &test_error),
            "c.json: item 4: expected an integer in 0..1, found nothing");
    json_decref(root);
}

static void a_file_is_read_within_its_limit(void **state)
{
    (void)state;
    json_t *root = NULL;
    scratch_file("ok.json", "{\"a\": [1, 2]}", 13);
    assert_ok(js_read(&root, scratch("ok.json"), 13, &test_error));
    assert_int_equal(json_array_size(json_object_get(root, "a")), 2);
    json_decref(root);
    assert_int_not_equal(js_read(&root, scratch("ok.json"), 12, &test_error), VT_OK);
    assert_contains(test_error.text, "ok.json");
    assert_null(root);
    assert_int_equal(js_read(&root, scratch("missing.json"), 12, &test_error), VT_IO);
    assert_contains(test_error.text, "missing.json");
}

/* A terminal obeys none of it, and a reader gets the same text. */
static void what_a_terminal_obeys_is_escaped(void **state)
{
    (void)state;
    bytes out = { 0 };
    js_writer w;
    js_begin(&w, &out, JS_LINE);
    js_string(&w, "\x1B[1m \x7F \xC2\x9B \xE2\x80\xAE \xE2\x81\xA6 \xC3\xA9");
    assert_ok(js_end(&w, &test_error));
    assert_string_equal((const char *)out.data,
                        "\"\\u001b[1m \\u007f \\u009b \\u202e \\u2066 \xC3\xA9\"");
    bytes_free(&out);
}

static void a_tree_is_written_back(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [1, -2.5, true, false, null, []], \"b\": {\"\u00e9\": "
                               "\"x\\u0000y\", \"big\": 9223372036854775807}, \"c\": 0.1}";
    json_t *tree;
    bytes out = { 0 };
    js_writer w;
    assert_ok(js_parse(&tree, text, sizeof text - 1, "text", &test_error));
    js_begin(&w, &out, JS_LINE);
    js_value(&w, tree);
    assert_ok(js_end(&w, &test_error));
    assert_string_equal((char *)out.data, text);
    out.len = 0;
    js_begin(&w, &out, JS_LINE);
    js_value(&w, NULL);
    assert_ok(js_end(&w, &test_error));
    assert_string_equal((char *)out.data, "null");
    json_decref(tree);
    bytes_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_written_back),
        cmocka_unit_test(numbers_read_back_to_the_same_bits),
        cmocka_unit_test(floats_are_written_short),
        cmocka_unit_test(layouts_are_exact),
        cmocka_unit_test(any_bytes_give_valid_json),
        cmocka_unit_test(what_a_terminal_obeys_is_escaped),
        cmocka_unit_test(the_locale_changes_no_byte),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(a_missing_or_wrong_field_is_named),
        cmocka_unit_test(a_file_is_read_within_its_limit),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

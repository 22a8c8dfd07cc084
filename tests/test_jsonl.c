/* test_jsonl.c -- texts of JSON Lines: by hand, every refusal with its line and byte,
 * and random lines, good and spoiled, against Python's json module.
 */
#include "support.h"
#include "base/rng.h"
#include "data/jsonl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "scratch.h"

/* The texts of all lines, each ended by '|'; "E" and the rest in test_error where a line
 * is refused.  The bytes end at a page without access. */
static char *read_all(const char *text, size_t n, bool replace)
{
    static char out[70000];
    size_t used = 0;
    bool more = true;
    jsonl j;
    unsigned char *data = guarded(n);
    if (n) memcpy(data, text, n);
    assert_ok(jsonl_open(&j, data, n, "text", replace, "t.jsonl", &test_error));
    vt_status s = VT_OK;
    while ((s = jsonl_next(&j, &more, &test_error)) == VT_OK && more) {
        assert_true(used + j.text.len + 2 < sizeof out);
        if (j.text.len) memcpy(out + used, j.text.data, j.text.len);
        used += j.text.len;
        out[used++] = '|';
    }
    out[used] = 0;
    if (s) {
        assert_int_equal(s, VT_BAD_INPUT);
        strcpy(out, "E");
    }
    jsonl_close(&j);
    guarded_free(data);
    return out;
}
#define reads(text, want) assert_string_equal(read_all(text, sizeof(text) - 1, false), want)

static void refuses(const char *text, const char *part)
{
    assert_string_equal(read_all(text, strlen(text), false), "E");
    assert_contains(test_error.text, "t.jsonl: line ");
    assert_contains(test_error.text, part);
}

static void a_line_is_a_document(void **state)
{
    (void)state;
    reads("", "");
    reads("{\"text\":\"a\"}\n{\"text\":\"b\"}\n", "a|b|");
    reads("{\"id\":1,\"text\":\"a\"}\n{\"text\":\"b\",\"id\":[{}]}", "a|b|");     /* no newline */
    reads("\xEF\xBB\xBF{\"text\":\"a\"}\n", "a|");
    reads("{\"text\":\"a\"}\r\n{ \"text\" : \"b\" }\t\r\n", "a|b|");
    reads("\n{\"text\":\"a\"}\n \t\r\n\n{\"text\":\"\"}\n", "a||");        /* blank; empty */
    reads("{\"t\\u0065xt\":\"by its name\"}", "by its name|");
    reads("{\"\\u0074\\u0065\\u0078\\u0074\":\"all escaped\"}", "all escaped|");
    reads("{\"Text\":1,\"text \":2,\"\":3,\"text\":\"a\"}", "a|");
    reads("{\"x\":{\"text\":\"no\",\"text\":1},\"text\":\"a\"}", "a|");
    reads("{\"a\":[[],{},[1,-0.5e+3,true,false,null,\"]\"]],\"b\":{\"c\":{}},\"text\":\"a\"}", "a|");
}

static void escapes_are_undone(void **state)
{
    (void)state;
    reads("{\"text\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "\"\\/\b\f\n\r\t|");
    reads("{\"text\":\"\\u0041\\u00e9\\u00DF\\u20AC\\ud83d\\ude00\\uFFFF\"}",
          "A\xC3\xA9\xC3\x9F\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBF|");
    reads("{\"text\":\"plain \\n then a long run of plain text \\u0041 and more of it\"}",
          "plain \n then a long run of plain text A and more of it|");
    /* U+0000 is a character of a text like others. */
    jsonl j;
    bool more;
    unsigned char data[] = "{\"text\":\"a\\u0000b\"}";
    assert_ok(jsonl_open(&j, data, sizeof data - 1, "text", false, "t.jsonl", &test_error));
    assert_ok(jsonl_next(&j, &more, &test_error));
    assert_int_equal(j.text.len, 3);
    assert_memory_equal(j.text.data, "a\0b", 3);
    jsonl_close(&j);
}

static void surrogates_alone(void **state)
{
    (void)state;
    static const char text[] = "{\"text\":\"\"}\n{\"text\":\"a\\ud83d\\ud83d\\ude00\\ude00\"}\n{\"text\":\"\\uDfff\"}";
    jsonl j;
    bool more;
    unsigned char data[sizeof text];
    refuses(text, "line 2, byte offset 22: field \"text\" has a surrogate alone: expected a pair");
    assert_string_equal(read_all(text, sizeof text - 1, true),
                        "|a\xEF\xBF\xBD\xF0\x9F\x98\x80\xEF\xBF\xBD|\xEF\xBF\xBD|");
    memcpy(data, text, sizeof text);
    assert_ok(jsonl_open(&j, data, sizeof text - 1, "text", true, "t.jsonl", &test_error));
    for (int i = 0; i < 3; i++) assert_ok(jsonl_next(&j, &more, &test_error));
    assert_int_equal(j.replaced, 3);
    assert_int_equal(j.replaced_line, 2);
    assert_int_equal(j.replaced_at, 22);
    jsonl_close(&j);
    reads("{\"other\":\"\\ud800\",\"text\":\"a\"}", "a|");     /* what is not read */
}

static void refused_by_line_and_byte(void **state)
{
    (void)state;
    refuses("{\"text\":\"a\"}\n\n[\"text\"]\n", "line 3, byte offset 14: expected a JSON object");
    refuses("text\n", "line 1, byte offset 0: expected a JSON object");
    refuses("{\"text\":\"a\"}\n{\"id\":5,\"b\\\"\":\"x\"}\n", "line 2: no field \"text\": expected one of: id, b");
    refuses("{}\n", "line 1: no field \"text\": expected it; the object is empty");
    refuses("{\"text\":null}", "line 1, byte offset 8: field \"text\": expected a string, found null");
    refuses("{\"text\":5}", "found a number");
    refuses("{\"text\":[\"a\"]}", "found a list");
    refuses("{\"text\":{}}", "found an object");
    refuses("{\"text\":true}", "found true or false");
    refuses("{\"text\":}", "found no value");
    refuses("{\"text\":\"a\",\"x\":1,\"text\":\"a\"}", "line 1, byte offset 18: field \"text\" is there twice");
    refuses("{\"text\":\"a\",\"\\u0074ext\":\"a\"}", "is there twice");
    refuses("{\"text\":\"a\"}\n{\"text\":\"b", "line 2, byte offset 21: a string that is not closed");
    refuses("{\"text\":\"a\"}\n{\"text\":\"b\"", "line 2, byte offset 24: the line ends: expected , or }");
    refuses("{\"text\":\"a\"}\n{\"text\"", "the line ends: expected :");
    refuses("{\"text\":\"a\"}\n{", "the line ends: expected a field's name");
    refuses("{\"text\":\"a\nb\"}", "line 1, byte offset 8: a string that is not closed on its line");
    refuses("{\"text\":\"a\tb\"}", "byte offset 10: a control character in a string");
    refuses("{\"text\":\"a\\x\"}", "byte offset 10: expected \\\" \\\\");
    refuses("{\"text\":\"\\u12g4\"}", "byte offset 9: expected");
    refuses("{\"text\":\"\\u12", "byte offset 9: expected");
    refuses("{\"text\":\"\\", "byte offset 9: expected");
    refuses("{\"text\":\"a\"} {\"text\":\"b\"}", "byte offset 13: more behind the object");
    refuses("{\"text\":\"a\",}", "byte offset 12: expected a field's name");
    refuses("{,\"text\":\"a\"}", "byte offset 1: expected a field's name");
    refuses("{\"a\":01,\"text\":\"a\"}", "byte offset 5: expected a number as JSON writes it");
    refuses("{\"a\":1.,\"text\":\"a\"}", "expected a number as JSON");
    refuses("{\"a\":-,\"text\":\"a\"}", "expected a number as JSON");
    refuses("{\"a\":NaN,\"text\":\"a\"}", "byte offset 5: expected a value");
    refuses("{\"a\":[1 2],\"text\":\"a\"}", "byte offset 8: expected , or ]");
    refuses("{\"a\":[1},\"text\":\"a\"}", "byte offset 7: expected , or ]");
    refuses("{\"a\":{\"b\":1],\"text\":\"a\"}", "byte offset 11: expected , or }");
    refuses("{\"a\":[1,],\"text\":\"a\"}", "byte offset 8: expected a value");
    refuses("{'text':'a'}", "expected a field's name");
    refuses("{\"text\":\"a\"}\x01", "more behind the object");
    /* Escapes undone in place move no later line. */
    refuses("{\"text\":\"\\n\\n\\n\\n\"}\n{\"text\":\"b\"}\n?", "line 3, byte offset 33");
}

/* Each byte below 0x20, a quote and a backslash, at each place of a word of eight. */
static void what_ends_plain_text_is_seen_at_each_place(void **state)
{
    (void)state;
    for (int c = 0; c < 0x80; c++)
        for (size_t at = 0; at < 20; at++) {
            char text[] = "{\"text\":\"aaaaaaaaaaaaaaaaaaaaaaaa\"}";
            text[9 + at] = (char)c;
            const bool refused = c < 0x20 || c == '"' || c == '\\';
            const char *got = read_all(text, sizeof text - 1, false);
            if (refused != (strcmp(got, "E") == 0)) fail_msg("byte %d at %zu: read %s", c, at, got);
            if (c < 0x20 && c != '\n') assert_contains(test_error.text, "a control character in a string");
        }
}

static void nesting_has_a_bound(void **state)
{
    (void)state;
    enum { DEEP = 1000000 };
    char *text = malloc(2 * DEEP + 40);
    static const int depths[] = { 1, 64, 65, 2047 };
    for (size_t i = 0; i < 4; i++) {
        char *p = text + sprintf(text, "{\"a\":");
        memset(p, '[', (size_t)depths[i]);
        memset(p + depths[i], ']', (size_t)depths[i]);
        strcpy(p + 2 * depths[i], ",\"text\":\"x\"}");
        assert_string_equal(read_all(text, strlen(text), false), "x|");
    }
    memset(text, '[', DEEP);
    memcpy(text, "{\"a\":", 5);
    text[DEEP] = 0;
    refuses(text, "line 1, byte offset 2052: brackets nested too deeply: expected at most 2048");
    free(text);
}

static void a_line_of_a_hundred_megabytes(void **state)
{
    (void)state;
    const size_t n = 100000000;
    jsonl j;
    bool more;
    unsigned char *data = malloc(n);
    assert_non_null(data);
    memset(data, 'a', n);
    memcpy(data, "{\"text\":\"", 9);
    memcpy(data + n - 2, "\"}", 2);
    assert_ok(jsonl_open(&j, data, n, "text", false, "t.jsonl", &test_error));
    assert_ok(jsonl_next(&j, &more, &test_error));
    assert_int_equal(j.text.len, n - 11);
    assert_ok(jsonl_next(&j, &more, &test_error));
    assert_false(more);
    jsonl_close(&j);
    assert_ok(jsonl_open(&j, data, n - 2, "text", false, "t.jsonl", &test_error));
    assert_int_equal(jsonl_next(&j, &more, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "line 1, byte offset 8: a string that is not closed");
    jsonl_close(&j);
    free(data);
}

/* ---- against Python ------------------------------------------------------ */

static const char *one_of(rng *r, const char *const *list, int64_t n)
{
    return list[rng_integers(r, 0, n)];
}

static void random_string(FILE *f, rng *r)
{
    static const char *const pieces[] = { "a", "b c", "\xC3\xA9", "\xF0\x9F\x98\x80", "\\n", "\\\"", "\\\\",
        "\\/", "\\u0041", "\\u00e9", "\\uD83D\\uDE00", "\\ud83d", "\\ude00", "\\u0000", "]", "}", ",",
        "some words that are longer than a block", "\\b\\f\\r\\t", "\\u20ac", ":", "{", "text" };
    fputc('"', f);
    for (int64_t k = rng_integers(r, 0, 6); k > 0; k--)
        fputs(one_of(r, pieces, sizeof pieces / sizeof *pieces), f);
    fputc('"', f);
}

static void space(FILE *f, rng *r)
{
    static const char *const spaces[] = { "", "", "", " ", "\t", "\r" };
    fputs(one_of(r, spaces, 6), f);
}

static void random_value(FILE *f, rng *r, int depth)
{
    static const char *const scalars[] = { "0", "-0", "1", "-12.5", "1e9", "2E-3", "3.25e+07", "true",
        "false", "null", "01", "1.", ".5", "+1", "NaN", "1e", "tru", "123456789012345678901234567890" };
    const int64_t kind = rng_integers(r, 0, depth > 0 ? 10 : 6);
    if (kind < 3) {
        random_string(f, r);
    } else if (kind < 6) {
        /* seldom one that is none */
        fputs(one_of(r, scalars, rng_integers(r, 0, 30) ? 10 : sizeof scalars / sizeof *scalars), f);
    } else {
        const bool object = kind < 8;
        fputc(object ? '{' : '[', f);
        for (int64_t k = rng_integers(r, 0, 4), first = 1; k > 0; k--, first = 0) {
            if (!first) fputc(',', f);
            space(f, r);
            if (object) {
                random_string(f, r);
                space(f, r);
                fputc(':', f);
            }
            random_value(f, r, depth - 1);
            space(f, r);
        }
        fputc(object ? '}' : ']', f);
    }
}

/* An object, mostly with the field; one in three has a byte changed. */
static void random_line(FILE *f, rng *r)
{
    static const char *const names[] = { "\"id\"", "\"a\"", "\"te\\u0078t\"", "\"\"", "\"x\\\"\"" };
    static const char spoilers[] = "\"\\{}[],:0a \t\x01nu";
    char *line = NULL;
    size_t n = 0;
    FILE *g = open_memstream(&line, &n);
    const int64_t members = rng_integers(r, 0, 5), at = rng_integers(r, 0, members + 1);
    space(g, r);
    fputc('{', g);
    for (int64_t i = 0; i < members; i++) {
        if (i > 0) fputc(',', g);
        space(g, r);
        fputs(i == at ? "\"text\"" : one_of(r, names, 5), g);
        space(g, r);
        fputc(':', g);
        space(g, r);
        if (i == at && rng_integers(r, 0, 12)) random_string(g, r);
        else random_value(g, r, 3);
        space(g, r);
    }
    fputc('}', g);
    space(g, r);
    fclose(g);
    for (size_t i = 0, spoilt = rng_integers(r, 0, 3) ? n : (size_t)rng_integers(r, 0, (int64_t)n); i < n; i++) {
        if (i != spoilt || (line[i] & 0x80)) {
            fputc(line[i], f);
            continue;
        }
        const int64_t how = rng_integers(r, 0, 3);          /* leave out, put before, replace */
        if (how > 0) fputc(spoilers[rng_integers(r, 0, sizeof spoilers - 1)], f);
        if (how == 1) fputc(line[i], f);
    }
    fputc('\n', f);
    free(line);
}

static void show_line(FILE *f, const char *line, size_t n, bool replace)
{
    const char *got = read_all(line, n, replace);
    if (*got == 'E' && !got[1]) {
        fputs("E", f);
        return;
    }
    jsonl j;
    bool more;
    unsigned char *data = guarded(n);
    memcpy(data, line, n);
    assert_ok(jsonl_open(&j, data, n, "text", replace, "t.jsonl", &test_error));
    assert_ok(jsonl_next(&j, &more, &test_error));
    assert_true(more);
    fputc('=', f);
    for (size_t i = 0; i < j.text.len; i++) fprintf(f, "%02x", j.text.data[i]);
    jsonl_close(&j);
    guarded_free(data);
}

static void random_lines_as_python_reads_them(void **state)
{
    (void)state;
    enum { LINES = 6000 };
    char *text = NULL, *shown = NULL;
    size_t n = 0, m = 0, good = 0;
    rng r;
    rng_seed(&r, 20260730);
    FILE *f = open_memstream(&text, &n);
    for (int i = 0; i < LINES; i++) random_line(f, &r);
    fclose(f);
    f = open_memstream(&shown, &m);
    const char *line = text;
    for (int i = 0; i < LINES; i++) {
        const char *end = strchr(line, '\n');
        show_line(f, line, (size_t)(end - line), false);
        fputc(' ', f);
        show_line(f, line, (size_t)(end - line), true);
        fputc('\n', f);
        line = end + 1;
    }
    fclose(f);
    for (size_t i = 0; i < m; i++) good += shown[i] == '=';
    assert_true(good > LINES / 2 && good < 2 * LINES - LINES / 4);      /* both kinds, often */
    scratch_file("lines.jsonl", text, n);
    scratch_file("ours", shown, m);
    free(text);
    free(shown);
    python("import json, re\n"
           "class Members(list): pass\n"
           "def no(name): raise ValueError(name)\n"
           "def read(line, replace):\n"
           "    try: o = json.loads(line, object_pairs_hook=Members, parse_constant=no)\n"
           "    except ValueError: return 'E'\n"
           "    if not isinstance(o, Members): return 'E'\n"
           "    found = [v for k, v in o if k == 'text']\n"
           "    if len(found) != 1 or not isinstance(found[0], str): return 'E'\n"
           "    lone = re.compile('[\\ud800-\\udfff]')\n"
           "    if lone.search(found[0]) and not replace: return 'E'\n"
           "    return '=' + lone.sub('\\ufffd', found[0]).encode().hex()\n"
           "lines = open('lines.jsonl', 'rb').read().decode().split('\\n')[:-1]\n"
           "ours = open('ours').read().split('\\n')[:-1]\n"
           "assert len(lines) == len(ours)\n"
           "for i, line in enumerate(lines):\n"
           "    want = read(line, False) + ' ' + read(line, True)\n"
           "    assert ours[i] == want, (line, ours[i], want)\n"
           "print('compared', len(lines))\n", LINES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_document),
        cmocka_unit_test(escapes_are_undone),
        cmocka_unit_test(surrogates_alone),
        cmocka_unit_test(refused_by_line_and_byte),
        cmocka_unit_test(what_ends_plain_text_is_seen_at_each_place),
        cmocka_unit_test(nesting_has_a_bound),
        cmocka_unit_test(a_line_of_a_hundred_megabytes),
        cmocka_unit_test(random_lines_as_python_reads_them),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

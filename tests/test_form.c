/* test_form.c -- the form that an extension names, and the one that is likely meant; a
 * token's bytes as text on one line. */
#include "support.h"
#include <string.h>
#include "base/piece_text.h"
#include "formats/form.h"

enum { ALL = FORM_NPZ | FORM_SAFETENSORS | FORM_JSON | FORM_CSV };

static void an_extension_names_a_form(void **state)
{
    (void)state;
    static const struct { const char *path; form f; } good[] = {
        { "a.npz", FORM_NPZ }, { "b/c.d/a.safetensors", FORM_SAFETENSORS }, { "a.csv.json", FORM_JSON },
        { "..csv", FORM_CSV }, { "a b.csv", FORM_CSV },
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        form f;
        assert_ok(form_of(&f, good[i].path, ALL, &test_error));
        assert_int_equal(f, good[i].f);
        assert_true(strstr(good[i].path, form_extension(f)) != NULL);
    }
}

/* Each line exactly. */
static void another_is_refused_with_what_is_meant(void **state)
{
    (void)state;
    static const struct { const char *path; unsigned allowed; const char *line; } bad[] = {
        { "a.npy", ALL, "a.npy: expected a name that ends in .npz, .safetensors, .json or .csv; "
                        "is a.npz meant?" },
        { "x/y.a.NPZ", FORM_NPZ | FORM_SAFETENSORS,
          "x/y.a.NPZ: expected a name that ends in .npz or .safetensors; is y.a.npz meant?" },
        { "a.st", ALL, "a.st: expected a name that ends in .npz, .safetensors, .json or .csv; "
                       "is a.safetensors meant?" },
        { "a.csv", FORM_NPZ | FORM_SAFETENSORS,
          "a.csv: expected a name that ends in .npz or .safetensors" },
        { "a.txt", FORM_JSON, "a.txt: expected a name that ends in .json" },
        { "a.", FORM_JSON, "a.: expected a name that ends in .json" },
        { "json", FORM_JSON, "json: expected a name that ends in .json" },
        { "x/.json", FORM_JSON, "x/.json: expected a name that ends in .json" },
        { "x.json/", FORM_JSON, "x.json/: expected a name that ends in .json" },
        { "", FORM_CSV, ": expected a name that ends in .csv" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        form f;
        assert_int_equal(form_of(&f, bad[i].path, bad[i].allowed, &test_error), VT_USAGE);
        assert_string_equal(test_error.text, bad[i].line);
    }
}

static void a_piece_is_one_line(void **state)
{
    (void)state;
    static const struct { const char *piece; size_t n; const char *text; } cases[] = {
        { "", 0, "\"\"" },
        { " and", 4, "\" and\"" },
        { "a\"b\\c\nd", 7, "\"a\\\"b\\\\c\\nd\"" },
        { "\t\0\x7f", 3, "\"\\x09\\x00\\x7F\"" },
        { "\xc3\xa4\xff\xe2\x82", 5, "\"\xc3\xa4\\xFF\\xE2\\x82\"" },      /* whole, none, cut */
        { "\xe2\x80\xae", 3, "\"\\xE2\\x80\\xAE\"" },                      /* turns the direction */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes out = { 0 };
        assert_ok(piece_text(&out, cases[i].piece, cases[i].n, &test_error));
        assert_string_equal((const char *)out.data, cases[i].text);
        bytes_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_extension_names_a_form),
        cmocka_unit_test(another_is_refused_with_what_is_meant),
        cmocka_unit_test(a_piece_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

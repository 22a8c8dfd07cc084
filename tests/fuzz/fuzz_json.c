/* fuzz_json.c -- the JSON reader against RFC 8259's grammar, and what it accepts
 * through the writer and back.
 *
 * The grammar (json_grammar.c) only says yes or no.  Where it says yes and js_parse no, the
 * line must name one of the further rules that json.h states.
 */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "formats/json.h"
#include "json_grammar.h"

/* --- through the writer ------------------------------------------------------ */

static void write(bytes *out, const json_t *tree, js_style style)
{
    js_writer w;
    js_begin(&w, out, style);
    js_value(&w, tree);
    WORKS(js_end(&w, &fuzz_error));
}

/* A number without a fraction comes back as an integer: 4.0 is written 4. */
static bool same(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b)) {
        const double x = json_number_value(a), y = json_number_value(b);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (json_typeof(a) != json_typeof(b)) return false;
    if (json_is_object(a)) {
        if (json_object_size(a) != json_object_size(b)) return false;
        json_object_foreach((json_t *)(uintptr_t)a, key, item)
            if (!json_object_get(b, key) || !same(item, json_object_get(b, key))) return false;
        return true;
    }
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b)) return false;
        json_array_foreach(a, i, item)
            if (!same(item, json_array_get(b, i))) return false;
        return true;
    }
    if (json_is_real(a)) {              /* -0.0 is not 0.0 */
        const double x = json_real_value(a), y = json_real_value(b);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    return json_equal(a, b);
}

static void round_trip(const json_t *tree)
{
    for (int style = JS_COMPACT; style <= JS_PRETTY; style++) {
        bytes first = { 0 }, second = { 0 };
        json_t *again = NULL;
        write(&first, tree, (js_style)style);
        WORKS(js_parse(&again, first.data, first.len, "again", &fuzz_error));
        HOLDS(same(tree, again));
        write(&second, again, (js_style)style);
        HOLDS(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
        json_decref(again);
        bytes_free(&first);
        bytes_free(&second);
    }
}

static bool further_rule(const char *line)
{
    static const char *const rules[] = { "duplicate object key", "too big integer",
        "too big negative integer", "real number overflow", "NUL byte in object key",
        "maximum parsing depth", "'[' or '{' expected", "byte order mark", "expected UTF-8" };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strstr(line, rules[i])) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *tree = NULL;
    unsigned char *copy = fuzz_copy(data, size);
    int deepest;
    const bool grammar = utf8_first_bad(data, size) == size &&
                         json_grammar(data, size, false, &deepest);
    const vt_status s = js_parse(&tree, copy, size, "x.json", &fuzz_error);
    if (s != VT_OK) {
        fuzz_refused(s, 1u << VT_BAD_INPUT, "x.json: ");
        HOLDS(!tree);
        HOLDS(!grammar || further_rule(fuzz_error.text));
    } else {
        HOLDS(grammar && (json_is_object(tree) || json_is_array(tree)));
        if (deepest <= JS_DEPTH) round_trip(tree);
        json_decref(tree);
    }
    free(copy);
    return 0;
}

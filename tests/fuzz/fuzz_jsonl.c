/* fuzz_jsonl.c -- the scanner of JSON Lines against jansson, which builds the tree, and
 * against the grammar.
 *
 * A line that jansson reads as an object without doubled names, with a text in the
 * field, must be read, and to the same text.  One that is read must be JSON by the
 * grammar: jansson refuses more (doubled names, numbers too large to convert, surrogates
 * alone, bytes that are no UTF-8), none of which the scanner looks at.
 */
#include "fuzz.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "data/jsonl.h"
#include "json_grammar.h"

/* What jansson says of one line: its tree, or NULL, and the field's value.  It is not asked
 * of a line with a byte 0, which JSON has nowhere: behind a literal or a number jansson
 * 2.14 passes over it. */
static json_t *judged(const uint8_t *line, size_t n, const json_t **text)
{
    json_t *tree = memchr(line, 0, n) ? NULL :
                   json_loadb((const char *)line, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    *text = json_object_get(tree, "text");
    return tree;
}

static void one_line(const uint8_t *line, size_t n)
{
    const json_t *text;
    int deepest;
    json_t *tree = judged(line, n, &text);
    unsigned char *copy = fuzz_copy(line, n);
    jsonl j;
    bool more = false;
    WORKS(jsonl_open(&j, copy, n, "text", false, "x.jsonl", &fuzz_error));
    const vt_status s = jsonl_next(&j, &more, &fuzz_error);
    const bool mark = n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0;   /* jansson knows none */
    if (s != VT_OK) {
        fuzz_refused(s, 1u << VT_BAD_INPUT, "x.jsonl: line 1");
        HOLDS(!json_is_string(text));
    } else if (more && !mark) {
        HOLDS(json_grammar(line, n, true, &deepest) && deepest <= 2048);
        HOLDS(j.text.data >= copy && j.text.data + j.text.len <= copy + n);
        if (tree) {
            HOLDS(json_is_string(text) && json_string_length(text) == j.text.len);
            HOLDS(memcmp(json_string_value(text), j.text.data, j.text.len) == 0);
        }
        if (utf8_first_bad(line, n) == n) HOLDS(utf8_first_bad(j.text.data, j.text.len) == j.text.len);
    }
    jsonl_close(&j);
    free(copy);
    json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        const size_t n = end ? (size_t)(end - (data + at)) : size - at;
        one_line(data + at, n);
        at += n + 1;
    }
    /* All of it, surrogates replaced: as many lines as there are, or one refused. */
    unsigned char *copy = fuzz_copy(data, size);
    jsonl j;
    bool more = true;
    vt_status s = VT_OK;
    WORKS(jsonl_open(&j, copy, size, "text", true, "x.jsonl", &fuzz_error));
    while (s == VT_OK && more)
        if ((s = jsonl_next(&j, &more, &fuzz_error)) == VT_OK && more && utf8_first_bad(data, size) == size)
            HOLDS(utf8_first_bad(j.text.data, j.text.len) == j.text.len);
    if (s) fuzz_refused(s, 1u << VT_BAD_INPUT, "x.jsonl: line ");
    jsonl_close(&j);
    free(copy);
    return 0;
}

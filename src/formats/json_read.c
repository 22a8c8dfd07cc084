/* json_read.c -- parsing and getters; see json.h.
 *
 * jansson turns numbers over with the C library, whose decimal mark follows
 * the locale; it undoes a mark of one byte, not one of two (Arabic's U+066B).
 * So parsing runs in the C locale, for this thread alone.
 *
 * Reference: RFC 8259 (The JavaScript Object Notation Data Interchange Format).
 */
#include "formats/json.h"
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include "base/utf8.h"
#include "formats/json_memory.h"

/* A message on one line: jansson quotes what it read, newlines and half
 * characters included. */
static void one_line(char *out, size_t cap, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = strlen(text), at = 0;
    while (n > 0 && at + 5 < cap) {
        size_t used;
        if (utf8_next(p, n, &used, NULL) != UTF8_GOOD || *p < 0x20 || *p == 0x7F) {
            out[at++] = '?';
        } else {
            memcpy(out + at, p, used);
            at += used;
        }
        p += used;
        n -= used;
    }
    out[at] = 0;
}

/* Line and column (in bytes, both from 1) of a place in a text. */
static void place(const unsigned char *text, size_t at, size_t *line, size_t *column)
{
    size_t begin = 0;
    *line = 1;
    for (size_t i = 0; i < at; i++)
        if (text[i] == '\n') { (*line)++; begin = i + 1; }
    *column = at - begin + 1;
}

/* "line 3, column 5 (byte 20)" of a text of lines; of one line only its column. */
static const char *place_text(char out[80], const void *text, size_t at, bool lines)
{
    size_t line, column;
    place(text, at, &line, &column);
    if (lines) snprintf(out, 80, "line %zu, column %zu (byte %zu)", line, column, at);
    else snprintf(out, 80, "column %zu", column);
    return out;
}

static vt_status parse(json_t **out, const void *text, size_t n, const char *name, bool lines,
                       vt_error *err)
{
    char where[80];
    *out = NULL;
    /* A NUL is never JSON, but jansson passes over one behind a number or a word. */
    const unsigned char *nul = n ? memchr(text, 0, n) : NULL;
    const size_t not_utf8 = utf8_first_bad(text, n);
    const size_t at_nul = nul ? (size_t)(nul - (const unsigned char *)text) : n;
    const size_t bad = at_nul < not_utf8 ? at_nul : not_utf8;
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        return fail(err, VT_BAD_INPUT, "%s: byte 0: expected JSON, found a byte order mark", name);
    if (bad < n) {
        return fail(err, VT_BAD_INPUT, "%s: %s: expected %s, found byte %02X", name,
                    place_text(where, text, bad, lines), bad == at_nul ? "JSON" : "UTF-8", ((const unsigned char *)text)[bad]);
    }
    const vt_status s = json_memory_begin(text, n, name, err);
    if (s) return s;
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        (void)json_memory_end(out);
        return fail_memory(err, sizeof plain, "the C locale");
    }
    const locale_t before = uselocale(plain);
    json_error_t error;
    json_t *root = json_loadb(n ? text : "", n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    uselocale(before);
    freelocale(plain);
    if (json_memory_end(&root)) return fail_memory(err, n, name);
    if (!root) {
        char what[JSON_ERROR_TEXT_LENGTH];
        one_line(what, sizeof what, error.text);
        /* jansson's position is the number of bytes read: name the last. */
        size_t at = error.position > 0 ? (size_t)error.position : 0;
        if (at > n || json_error_code(&error) == json_error_premature_end_of_input) at = n;
        else if (at > 0) at--;
        return fail(err, VT_BAD_INPUT, "%s: %s: %s", name, place_text(where, text, at, lines), what);
    }
    *out = root;
    return VT_OK;
}

vt_status js_parse(json_t **out, const void *text, size_t n, const char *name, vt_error *err)
{
    return parse(out, text, n, name, true, err);
}

vt_status js_parse_line(json_t **out, const void *text, size_t n, const char *name, vt_error *err)
{
    return parse(out, text, n, name, false, err);
}

vt_status js_read(json_t **out, const char *path, size_t limit, vt_error *err)
{
    bytes text = { 0 };
    *out = NULL;
    vt_status status = io_read_regular(&text, path, limit, err);
    if (status == VT_OK) status = js_parse(out, text.data, text.len, path, err);
    bytes_free(&text);
    return status;
}

/* --- what was found ----------------------------------------------------- */

enum { FOUND_MAX = 64 };

static const char *found(char out[FOUND_MAX], const json_t *value)
{
    if (!value) return "nothing";
    char text[36];
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: return "null";
    case JSON_INTEGER:
        snprintf(out, FOUND_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return out;
    case JSON_REAL:
        js_format_number(out, json_real_value(value));
        if (!strpbrk(out, ".e")) strcat(out, ".0");     /* 4.0, not the integer 4 */
        return out;
    case JSON_STRING: break;
    }
    one_line(text, sizeof text, json_string_value(value));
    const bool whole = strlen(text) == json_string_length(value);
    snprintf(out, FOUND_MAX, "\"%s%s\"", text, whole ? "" : "...");
    return out;
}

/* `key` NULL: the value itself is named by `where`. */
static vt_status expected(vt_error *err, const char *where, const char *key, const json_t *value,
                          const char *what)
{
    char buffer[FOUND_MAX];
    if (!key)
        return fail(err, VT_BAD_INPUT, "%s: expected %s, found %s", where, what,
                    found(buffer, value));
    return fail(err, VT_BAD_INPUT, "%s: field \"%s\": expected %s, found %s", where, key, what,
                found(buffer, value));
}

/* --- one getter per type ------------------------------------------------ */

static vt_status to_int(const json_t *value, const char *where, const char *key, int64_t min,
                        int64_t max, int64_t *out, vt_error *err)
{
    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max) {
        char what[80];
        snprintf(what, sizeof what, "an integer in %" PRId64 "..%" PRId64, min, max);
        return expected(err, where, key, value, what);
    }
    *out = json_integer_value(value);
    return VT_OK;
}

static vt_status to_number(const json_t *value, const char *where, const char *key, double min,
                           double max, double *out, vt_error *err)
{
    const double x = json_number_value(value);
    if (!json_is_number(value) || !(x >= min && x <= max)) {
        char what[2 * JS_NUMBER_MAX + 24], low[JS_NUMBER_MAX], high[JS_NUMBER_MAX];
        js_format_number(low, min);
        js_format_number(high, max);
        snprintf(what, sizeof what, "a number in %s..%s", low, high);
        return expected(err, where, key, value, what);
    }
    *out = x;
    return VT_OK;
}

static vt_status to_string(const json_t *value, const char *where, const char *key,
                           const char **out, vt_error *err)
{
    if (!json_is_string(value)) return expected(err, where, key, value, "a string");
    if (strlen(json_string_value(value)) != json_string_length(value))
        return expected(err, where, key, value, "a string without U+0000");
    *out = json_string_value(value);
    return VT_OK;
}

vt_status js_to_int(const json_t *value, const char *where, int64_t min, int64_t max,
                    int64_t *out, vt_error *err)
{
    return to_int(value, where, NULL, min, max, out, err);
}

vt_status js_get_int(const json_t *object, const char *key, const char *where, int64_t min,
                     int64_t max, int64_t *out, vt_error *err)
{
    return to_int(json_object_get(object, key), where, key, min, max, out, err);
}

vt_status js_get_size(const json_t *object, const char *key, const char *where, size_t min,
                      size_t max, size_t *out, vt_error *err)
{
    int64_t value = 0;
    const int64_t top = max > INT64_MAX ? INT64_MAX : (int64_t)max;
    const int64_t low = min > INT64_MAX ? INT64_MAX : (int64_t)min;
    const vt_status status = js_get_int(object, key, where, low, top, &value, err);
    if (status == VT_OK) *out = (size_t)value;
    return status;
}

vt_status js_get_number(const json_t *object, const char *key, const char *where, double min,
                        double max, double *out, vt_error *err)
{
    return to_number(json_object_get(object, key), where, key, min, max, out, err);
}

vt_status js_get_bool(const json_t *object, const char *key, const char *where, bool *out,
                      vt_error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value)) return expected(err, where, key, value, "true or false");
    *out = json_is_true(value);
    return VT_OK;
}

vt_status js_get_string(const json_t *object, const char *key, const char *where,
                        const char **out, vt_error *err)
{
    return to_string(json_object_get(object, key), where, key, out, err);
}

vt_status js_get_object(const json_t *object, const char *key, const char *where,
                        const json_t **out, vt_error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_object(value)) return expected(err, where, key, value, "an object");
    *out = value;
    return VT_OK;
}

vt_status js_get_array(const json_t *object, const char *key, const char *where,
                       const json_t **out, vt_error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_array(value)) return expected(err, where, key, value, "an array");
    *out = value;
    return VT_OK;
}

bool js_has(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value);
}

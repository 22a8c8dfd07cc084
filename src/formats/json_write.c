/* json_write.c -- the writer; see json.h.
 *
 * Shortest numbers: a decimal of at most 15 digits survives the way to a
 * double and back (DBL_DIG), so if any such decimal denotes the value, %.15g
 * prints it; else 16 digits are tried, else 17 (DBL_DECIMAL_DIG) always do.
 * Below DBL_MIN the precision fades and fewer digits are tried in turn.  The
 * same for float with 6 and 9.
 *
 * Reference: C11 5.2.4.2.2; W. Clinger, "How to Read Floating Point Numbers
 * Accurately", 1990.
 */
#include "formats/json.h"
#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"

/* --- numbers ------------------------------------------------------------ */

/* The locale's decimal mark, of one byte or more, becomes a full stop. */
static size_t plain_decimal(char *text)
{
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        if ((*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e') text[n++] = *p;
        else if (n > 0 && text[n - 1] != '.') text[n++] = '.';
    }
    text[n] = 0;
    return n;
}

static size_t no_number(char *out, double value)
{
    strcpy(out, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return strlen(out);
}

size_t js_format_number(char out[JS_NUMBER_MAX], double value)
{
    if (!isfinite(value)) return no_number(out, value);
    if (value == 0) {           /* "-0" would be read as the integer 0 */
        strcpy(out, signbit(value) ? "-0.0" : "0");
        return strlen(out);
    }
    int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
    for (; digits < DBL_DECIMAL_DIG; digits++) {
        snprintf(out, JS_NUMBER_MAX, "%.*g", digits, value);
        if (strtod(out, NULL) == value) return plain_decimal(out);
    }
    snprintf(out, JS_NUMBER_MAX, "%.*g", DBL_DECIMAL_DIG, value);
    return plain_decimal(out);
}

size_t js_format_float(char out[JS_NUMBER_MAX], float value)
{
    if (!isfinite(value) || value == 0) return js_format_number(out, (double)value);
    int digits = fabsf(value) < FLT_MIN ? 1 : FLT_DIG;
    for (; digits < FLT_DECIMAL_DIG; digits++) {
        snprintf(out, JS_NUMBER_MAX, "%.*g", digits, (double)value);
        if (strtof(out, NULL) == value) return plain_decimal(out);
    }
    snprintf(out, JS_NUMBER_MAX, "%.*g", FLT_DECIMAL_DIG, (double)value);
    return plain_decimal(out);
}

/* --- the writer --------------------------------------------------------- */

static void put(js_writer *w, const void *data, size_t n)
{
    if (w->status == VT_OK) w->status = bytes_append(w->out, data, n, &w->error);
}

static void puts_(js_writer *w, const char *text)
{
    put(w, text, strlen(text));
}

static void new_line(js_writer *w)
{
    puts_(w, "\n");
    for (int i = 0; i < w->depth; i++) puts_(w, "  ");
}

void js_begin(js_writer *w, bytes *out, js_style style)
{
    *w = (js_writer){ .out = out, .style = style };
}

vt_status js_end(js_writer *w, vt_error *err)
{
    assert(w->depth == 0 && !w->key);
    if (w->style == JS_PRETTY) puts_(w, "\n");
    if (w->status != VT_OK) return fail(err, w->status, "%s", w->error.text);
    return VT_OK;
}

/* What stands before an item: a comma, a line. */
static void before_item(js_writer *w)
{
    const int d = w->depth;
    if (d == 0) return;
    if (w->filled[d - 1]) puts_(w, w->style == JS_LINE && !w->line ? ", " : ",");
    w->filled[d - 1] = true;
    if (w->line && w->style != JS_PRETTY) puts_(w, "\n");
    w->line = false;
    if (w->style == JS_PRETTY) new_line(w);
}

static void before_value(js_writer *w)
{
    assert(w->key || w->depth == 0 || !w->object[w->depth - 1]);
    if (!w->key) before_item(w);
    w->key = false;
}

static void open_(js_writer *w, bool object)
{
    before_value(w);
    assert(w->depth < JS_DEPTH);
    puts_(w, object ? "{" : "[");
    w->object[w->depth] = object;
    w->filled[w->depth] = false;
    w->depth++;
}

static void close_(js_writer *w, bool object)
{
    assert(w->depth > 0 && w->object[w->depth - 1] == object && !w->key);
    w->depth--;
    if (w->filled[w->depth] && w->style == JS_PRETTY) new_line(w);
    puts_(w, object ? "}" : "]");
}

void js_open_object(js_writer *w)  { open_(w, true); }
void js_close_object(js_writer *w) { close_(w, true); }
void js_open_array(js_writer *w)   { open_(w, false); }
void js_close_array(js_writer *w)  { close_(w, false); }

/* Runs of characters that stand for themselves are appended whole. */
static void quoted(js_writer *w, const unsigned char *p, size_t n)
{
    puts_(w, "\"");
    size_t run = 0, i = 0;
    while (i < n) {
        size_t used;
        uint32_t c = 0;
        const utf8_kind kind = utf8_next(p + i, n - i, &used, &c);
        if (kind == UTF8_GOOD && utf8_is_shown(c) && c != '"' && c != '\\') {
            i += used;
            continue;
        }
        put(w, p + run, i - run);
        char escape[8];
        if (kind != UTF8_GOOD) puts_(w, UTF8_REPLACEMENT);
        else if (p[i] == '"') puts_(w, "\\\"");
        else if (p[i] == '\\') puts_(w, "\\\\");
        else if (p[i] == '\n') puts_(w, "\\n");
        else if (p[i] == '\r') puts_(w, "\\r");
        else if (p[i] == '\t') puts_(w, "\\t");
        else {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c & 0xFFFF);
            puts_(w, escape);
        }
        i += used;
        run = i;
    }
    if (n > run) put(w, p + run, n - run);
    puts_(w, "\"");
}

void js_key(js_writer *w, const char *key)
{
    assert(w->depth > 0 && w->object[w->depth - 1] && !w->key);
    before_item(w);
    quoted(w, (const unsigned char *)key, strlen(key));
    puts_(w, w->style == JS_COMPACT ? ":" : ": ");
    w->key = true;
}

void js_break(js_writer *w) { w->line = true; }

static void word(js_writer *w, const char *text)
{
    before_value(w);
    puts_(w, text);
}

void js_int(js_writer *w, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    word(w, text);
}

void js_uint(js_writer *w, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    word(w, text);
}

void js_number(js_writer *w, double value)
{
    char text[JS_NUMBER_MAX];
    js_format_number(text, value);
    if (isfinite(value)) word(w, text);
    else js_string(w, text);
}

void js_float(js_writer *w, float value)
{
    char text[JS_NUMBER_MAX];
    js_format_float(text, value);
    if (isfinite(value)) word(w, text);
    else js_string(w, text);
}

void js_bool(js_writer *w, bool value) { word(w, value ? "true" : "false"); }
void js_null(js_writer *w)             { word(w, "null"); }

void js_text(js_writer *w, const void *text, size_t n)
{
    before_value(w);
    quoted(w, text, n);
}

void js_string(js_writer *w, const char *text)
{
    if (text) js_text(w, text, strlen(text));
    else js_null(w);
}

/* The reader's trees are no deeper than its own limit; what is deeper than the
 * writer's is no value of ours. */
void js_value(js_writer *w, const json_t *tree)
{
    json_t *t = (json_t *)(uintptr_t)tree;      /* its iterators want it so */
    if (w->depth == JS_DEPTH) {
        js_null(w);
        return;
    }
    switch (t ? json_typeof(t) : JSON_NULL) {
    case JSON_OBJECT:
        js_open_object(w);
        for (void *i = json_object_iter(t); i; i = json_object_iter_next(t, i)) {
            js_key(w, json_object_iter_key(i));
            js_value(w, json_object_iter_value(i));
        }
        js_close_object(w);
        break;
    case JSON_ARRAY:
        js_open_array(w);
        for (size_t i = 0; i < json_array_size(t); i++) js_value(w, json_array_get(t, i));
        js_close_array(w);
        break;
    case JSON_STRING:  js_text(w, json_string_value(t), json_string_length(t)); break;
    case JSON_INTEGER: js_int(w, json_integer_value(t)); break;
    case JSON_REAL:    js_number(w, json_real_value(t)); break;
    case JSON_TRUE:    js_bool(w, true); break;
    case JSON_FALSE:   js_bool(w, false); break;
    case JSON_NULL:    js_null(w); break;
    }
}

void js_field_int(js_writer *w, const char *key, int64_t value)
{
    js_key(w, key);
    js_int(w, value);
}

void js_field_uint(js_writer *w, const char *key, uint64_t value)
{
    js_key(w, key);
    js_uint(w, value);
}

void js_field_number(js_writer *w, const char *key, double value)
{
    js_key(w, key);
    js_number(w, value);
}

void js_field_bool(js_writer *w, const char *key, bool value)
{
    js_key(w, key);
    js_bool(w, value);
}

void js_field_null(js_writer *w, const char *key)
{
    js_key(w, key);
    js_null(w);
}

void js_field_string(js_writer *w, const char *key, const char *text)
{
    js_key(w, key);
    js_string(w, text);
}

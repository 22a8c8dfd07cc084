/* jsonl.c -- see jsonl.h.
 *
 * A line is one JSON object (RFC 8259), ended by LF; a CR before it is white space to
 * JSON.  Inside a string a newline must be escaped, so that lines can be cut before
 * they are read.  A line of white space alone is passed over.
 *
 * Of each object one member is wanted.  The others are read strictly, by the grammar,
 * but nothing of them is built: a parser that makes a tree of each line takes several
 * times as long.  No recursion: what is open is a row of bits, so that no text can
 * exhaust the stack.
 *
 * Undoing escapes only shortens a text (\n 2 to 1 byte, \u00e9 6 to 2, a pair of
 * surrogates 12 to 4), so it is done in place, once the line was found good.
 *
 * Not done: other members of the same name are not looked for, but for the wanted one;
 * numbers are not converted, so that none is too large.
 *
 * T. Bray (ed.), RFC 8259, 2017: section 7, strings; 8.2, lone surrogates.
 * https://jsonlines.org
 */
#include "data/jsonl.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"

enum { DEEPEST = 2048 };

/* "FILE: line 3, byte offset 57: WHAT"; at the end of the line it says that it ended. */
static vt_status refuse(const jsonl *j, size_t at, const char *what, vt_error *err)
{
    return fail(err, VT_BAD_INPUT, "%s: line %zu, byte offset %zu: %s%s", j->name, j->line, at,
                at == j->end ? "the line ends: " : "", what);
}

static int here(const jsonl *j) { return j->at < j->end ? j->data[j->at] : -1; }

static void skip_space(jsonl *j)
{
    while (j->at < j->end) {
        const unsigned char c = j->data[j->at];
        if (c != ' ' && c != '\t' && c != '\r') return;
        j->at++;
    }
}

/* ---- strings ------------------------------------------------------------ */

/* Whether some byte of the word is below 0x20, a quote or a backslash (a borrow from a
 * lower byte that is may add another: the answer is the same). */
static bool is_special(uint64_t w)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    const uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';
    return (((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops;
}

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The escape at j->at, a backslash, which moves behind it. */
static vt_status skip_escape(jsonl *j, vt_error *err)
{
    static const char want[] = "expected \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u and four hexadecimal digits";
    const size_t open = j->at++;
    const int c = here(j);
    j->at++;
    if (c == 'u') {
        for (int i = 0; i < 4; i++, j->at++)
            if (here(j) < 0 || hex_digit(here(j)) < 0) return refuse(j, open, want, err);
    } else if (c <= 0 || !strchr("\"\\/bfnrt", c)) {
        return refuse(j, open, want, err);
    }
    return VT_OK;
}

/* The string whose opening quote is at j->at, which moves behind the closing one; its
 * bytes, escapes and all, into *raw. */
static vt_status read_string(jsonl *j, slice *raw, bool *escapes, vt_error *err)
{
    const size_t open = j->at++;
    *escapes = false;
    for (;;) {
        uint64_t w;
        while (j->end - j->at >= sizeof w) {
            memcpy(&w, j->data + j->at, sizeof w);
            if (is_special(w)) break;
            j->at += sizeof w;
        }
        const int c = here(j);
        if (c == '"') break;
        if (c == '\\') {
            const vt_status s = skip_escape(j, err);
            if (s) return s;
            *escapes = true;
        } else if (c < 0) {
            return refuse(j, open, "a string that is not closed on its line", err);
        } else if (c < 0x20) {
            return refuse(j, j->at, "a control character in a string: expected it as \\u and four "
                          "digits", err);
        } else {
            j->at++;
        }
    }
    *raw = (slice){ j->data + open + 1, j->at - open - 1 };
    j->at++;
    return VT_OK;
}

static uint32_t hex4(const unsigned char *p)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) v = v << 4 | (uint32_t)hex_digit(p[i]);
    return v;
}

static size_t put_utf8(unsigned char *to, uint32_t c)
{
    size_t n = 0;
    if (c < 0x80) {
        to[n++] = (unsigned char)c;
        return n;
    }
    if (c < 0x800) {
        to[n++] = (unsigned char)(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            to[n++] = (unsigned char)(0xE0 | c >> 12);
        } else {
            to[n++] = (unsigned char)(0xF0 | c >> 18);
            to[n++] = (unsigned char)(0x80 | (c >> 12 & 0x3F));
        }
        to[n++] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    }
    to[n++] = (unsigned char)(0x80 | (c & 0x3F));
    return n;
}

/* The character of a \u escape at p (of n bytes, checked before), and the bytes that it
 * takes: 6, or 12 of a pair.  A surrogate that stays alone is returned as it is. */
static uint32_t unicode_escape(const unsigned char *p, size_t n, size_t *used)
{
    const uint32_t high = hex4(p + 2);
    *used = 6;
    if (high < 0xD800 || high > 0xDBFF || n < 12 || p[6] != '\\' || p[7] != 'u') return high;
    const uint32_t low = hex4(p + 8);
    if (low < 0xDC00 || low > 0xDFFF) return high;
    *used = 12;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

/* The string without escapes into to[], which may be where it is; its length.  Lone
 * surrogates become U+FFFD: *lone counts them, *first is the first one's place. */
static size_t undo_escapes(unsigned char *to, slice raw, size_t *lone, size_t *first)
{
    static const char named[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;
    *lone = 0;
    for (size_t i = 0; i < raw.len;) {
        const unsigned char *p = raw.data + i, *slash = memchr(p, '\\', raw.len - i);
        const size_t plain = slash ? (size_t)(slash - p) : raw.len - i;
        if (to + n != p) memmove(to + n, p, plain);
        n += plain;
        i += plain;
        if (!slash) break;
        if (slash[1] != 'u') {
            to[n++] = (unsigned char)meant[strchr(named, slash[1]) - named];
            i += 2;
            continue;
        }
        size_t used;
        uint32_t c = unicode_escape(slash, raw.len - i, &used);
        if (c >= 0xD800 && c <= 0xDFFF) {
            if ((*lone)++ == 0) *first = i;
            c = 0xFFFD;
        }
        n += put_utf8(to + n, c);
        i += used;
    }
    return n;
}

/* Whether a name, escapes and all, is the field's. */
static bool is_field(const jsonl *j, slice raw, bool escapes)
{
    const size_t len = strlen(j->field);
    size_t lone, first;
    if (!escapes) return raw.len == len && memcmp(raw.data, j->field, len) == 0;
    if (raw.len > 6 * len) return false;            /* six bytes make one, at most */
    return undo_escapes(j->key, raw, &lone, &first) == len && memcmp(j->key, j->field, len) == 0;
}

/* ---- other values -------------------------------------------------------- */

static size_t digits(jsonl *j)
{
    const size_t from = j->at;
    while (here(j) >= '0' && here(j) <= '9') j->at++;
    return j->at - from;
}

static vt_status skip_number(jsonl *j, vt_error *err)
{
    const size_t from = j->at;
    if (here(j) == '-') j->at++;
    const bool zero = here(j) == '0';
    const size_t whole = digits(j);
    bool good = whole > 0 && !(zero && whole > 1);
    if (good && here(j) == '.') {
        j->at++;
        good = digits(j) > 0;
    }
    if (good && (here(j) == 'e' || here(j) == 'E')) {
        j->at++;
        if (here(j) == '+' || here(j) == '-') j->at++;
        good = digits(j) > 0;
    }
    return good ? VT_OK : refuse(j, from, "expected a number as JSON writes it", err);
}

static vt_status skip_word(jsonl *j, vt_error *err)
{
    static const char *const words[] = { "true", "false", "null" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i]);
        if (j->end - j->at >= n && memcmp(j->data + j->at, words[i], n) == 0) {
            j->at += n;
            return VT_OK;
        }
    }
    return refuse(j, j->at, "expected a value: a string, a number, true, false, null, [ or {", err);
}

/* "name": and what stands between. */
static vt_status read_name(jsonl *j, slice *raw, bool *escapes, vt_error *err)
{
    skip_space(j);
    if (here(j) != '"') return refuse(j, j->at, "expected a field's name in quotes", err);
    const vt_status s = read_string(j, raw, escapes, err);
    if (s) return s;
    skip_space(j);
    if (here(j) != ':') return refuse(j, j->at, "expected : behind a field's name", err);
    j->at++;
    skip_space(j);
    return VT_OK;
}

static vt_status skip_scalar(jsonl *j, vt_error *err)
{
    slice raw;
    bool escapes;
    const int c = here(j);
    return c == '"' ? read_string(j, &raw, &escapes, err)
         : c == '-' || (c >= '0' && c <= '9') ? skip_number(j, err) : skip_word(j, err);
}

/* What is open around a value: bit d is 1 where level d is an object. */
typedef struct levels { uint64_t is_object[DEEPEST / 64]; size_t depth; } levels;

static bool in_object(const levels *l)
{
    const size_t d = l->depth - 1;
    return l->is_object[d / 64] >> d % 64 & 1;
}

/* The bracket at j->at, behind which a value is to come; *empty: it closes at once. */
static vt_status open_level(jsonl *j, levels *l, bool *empty, vt_error *err)
{
    slice raw;
    bool escapes;
    const bool object = here(j) == '{';
    if (l->depth == DEEPEST - 1)
        return refuse(j, j->at, "brackets nested too deeply: expected at most 2048", err);
    const size_t d = l->depth++;
    l->is_object[d / 64] &= ~(UINT64_C(1) << d % 64);
    l->is_object[d / 64] |= (uint64_t)object << d % 64;
    j->at++;
    skip_space(j);
    *empty = here(j) == (object ? '}' : ']');
    return !*empty && object ? read_name(j, &raw, &escapes, err) : VT_OK;
}

/* Behind a value: closes what ends there; *more: a comma, and another value comes. */
static vt_status close_levels(jsonl *j, levels *l, bool *more, vt_error *err)
{
    slice raw;
    bool escapes;
    for (*more = false; l->depth > 0; l->depth--, j->at++) {
        skip_space(j);
        if (here(j) == ',') {
            *more = true;
            j->at++;
            skip_space(j);
            return in_object(l) ? read_name(j, &raw, &escapes, err) : VT_OK;
        }
        if (here(j) != (in_object(l) ? '}' : ']'))
            return refuse(j, j->at, in_object(l) ? "expected , or }" : "expected , or ]", err);
    }
    return VT_OK;
}

static vt_status skip_value(jsonl *j, vt_error *err)
{
    if (here(j) != '{' && here(j) != '[') return skip_scalar(j, err);
    levels l = { .depth = 0 };
    for (bool more = true; more;) {
        bool empty = false;
        vt_status s;
        if (here(j) == '{' || here(j) == '[') {
            if ((s = open_level(j, &l, &empty, err))) return s;
            if (!empty) continue;
        } else if ((s = skip_scalar(j, err))) {
            return s;
        }
        if ((s = close_levels(j, &l, &more, err))) return s;
    }
    return VT_OK;
}

/* ---- a line ------------------------------------------------------------- */

static vt_status not_a_string(const jsonl *j, vt_error *err)
{
    const int c = here(j);
    const char *found = c == '{' ? "an object" : c == '[' ? "a list" : c == 'n' ? "null"
                      : c == 't' || c == 'f' ? "true or false" : c < 0 ? "nothing"
                      : c == '-' || (c >= '0' && c <= '9') ? "a number" : "no value";
    return fail(err, VT_BAD_INPUT, "%s: line %zu, byte offset %zu: field \"%s\": expected a string, "
                "found %s", j->name, j->line, j->at, j->field, found);
}

/* The fields of the object from `from` on, which was read once and found good. */
static vt_status missing(jsonl *j, size_t from, vt_error *err)
{
    char names[300] = "";
    size_t n = 0;
    j->at = from + 1;
    for (skip_space(j); here(j) == '"'; skip_space(j)) {
        slice raw;
        bool escapes;
        vt_status s = read_name(j, &raw, &escapes, err);
        if (s == VT_OK) s = skip_value(j, err);
        if (s) return s;
        const int length = raw.len < 200 ? (int)raw.len : 200;
        if (n + (size_t)length + 8 > sizeof names) {
            snprintf(names + n, sizeof names - n, ", ...");
            break;
        }
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%.*s", n ? ", " : "", length,
                              (const char *)raw.data);
        skip_space(j);
        if (here(j) == ',') j->at++;
    }
    return fail(err, VT_BAD_INPUT, "%s: line %zu: no field \"%s\": expected %s%s", j->name, j->line,
                j->field, n ? "one of: " : "it; the object is empty", names);
}

/* The members of the object at j->at: the wanted one's string into *text. */
static vt_status read_members(jsonl *j, slice *text, bool *found, bool *escapes, vt_error *err)
{
    vt_status s;
    *found = false;
    j->at++;
    skip_space(j);
    if (here(j) == '}') {
        j->at++;
        return VT_OK;
    }
    for (;;) {
        slice name;
        bool in_name;
        const size_t from = j->at;
        if ((s = read_name(j, &name, &in_name, err))) return s;
        if (!is_field(j, name, in_name)) {
            if ((s = skip_value(j, err))) return s;
        } else {
            if (*found)
                return fail(err, VT_BAD_INPUT, "%s: line %zu, byte offset %zu: field \"%s\" is there "
                            "twice: expected it once", j->name, j->line, from, j->field);
            if (here(j) != '"') return not_a_string(j, err);
            if ((s = read_string(j, text, escapes, err))) return s;
            *found = true;
        }
        skip_space(j);
        const int c = here(j);
        if (c != ',' && c != '}') return refuse(j, j->at, "expected , or }", err);
        j->at++;
        if (c == '}') return VT_OK;
        skip_space(j);
    }
}

static vt_status plain_text(jsonl *j, slice raw, bool escapes, vt_error *err)
{
    size_t lone, first = 0;
    j->text = raw;
    if (!escapes) return VT_OK;
    unsigned char *to = j->data + (raw.data - j->data);
    j->text.len = undo_escapes(to, raw, &lone, &first);
    if (lone == 0) return VT_OK;
    const size_t at = (size_t)(raw.data - j->data) + first;
    if (!j->replace)
        return fail(err, VT_BAD_INPUT, "%s: line %zu, byte offset %zu: field \"%s\" has a surrogate "
                    "alone: expected a pair (--replace-invalid makes it U+FFFD)", j->name, j->line,
                    at, j->field);
    if (j->replaced == 0) {
        j->replaced_line = j->line;
        j->replaced_at = at;
    }
    j->replaced += lone;
    return VT_OK;
}

static vt_status read_line(jsonl *j, vt_error *err)
{
    const size_t from = j->at;
    slice raw = { NULL, 0 };
    bool found, escapes = false;
    vt_status s;
    if (here(j) != '{') return refuse(j, j->at, "expected a JSON object, { ... }, on each line", err);
    if ((s = read_members(j, &raw, &found, &escapes, err))) return s;
    skip_space(j);
    if (j->at < j->end)
        return refuse(j, j->at, "more behind the object: expected one object on a line", err);
    return found ? plain_text(j, raw, escapes, err) : missing(j, from, err);
}

vt_status jsonl_next(jsonl *j, bool *more, vt_error *err)
{
    while (j->pos < j->len) {
        const unsigned char *nl = memchr(j->data + j->pos, '\n', j->len - j->pos);
        j->end = nl ? (size_t)(nl - j->data) : j->len;
        j->at = j->pos;
        j->pos = nl ? j->end + 1 : j->len;
        j->line++;
        skip_space(j);
        if (j->at == j->end) continue;
        *more = true;
        return read_line(j, err);
    }
    *more = false;
    return VT_OK;
}

vt_status jsonl_open(jsonl *j, unsigned char *data, size_t len, const char *field, bool replace,
                     const char *name, vt_error *err)
{
    size_t size;
    *j = (jsonl){ .name = name, .field = field, .data = data, .len = len, .replace = replace };
    if (len >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0) j->pos = 3;
    if (!size_mul(strlen(field), 6, &size)) return fail_memory(err, SIZE_MAX, "a field's name");
    j->key = malloc(size + 1);
    return j->key ? VT_OK : fail_memory(err, size + 1, "a field's name");
}

void jsonl_close(jsonl *j)
{
    free(j->key);
    *j = (jsonl){ .name = NULL };
}

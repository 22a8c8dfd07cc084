/* csv.c -- see csv.h.
 *
 * RFC 4180, section 2:
 *     file   = [BOM] header *(newline record) [newline]
 *     record = field *("," field)
 *     field  = "..." with " written twice inside, or bytes without , " CR LF
 * where another separator may stand for the comma: spreadsheets write ; where a comma is
 * the decimal point, and tabs.
 *
 * A newline is CR LF or LF, each line as it comes; inside quotes it is text and
 * its bytes stay.  A cell is bytes: no trimming, no types.
 *
 * Beyond the RFC: a line with nothing on it is skipped where records have more
 * than one column (with one column it is a record: an empty cell).  Not read:
 * a CR alone as newline, a quote inside an unquoted cell; they are refused by
 * place, since guessing would lose or merge cells.  The separator is not guessed
 * either: what looks like one is named where something else is wrong.
 *
 * A cell is a slice of the text itself.  Undoing doubled quotes only shortens a
 * cell, so it is done in place; the bytes that come free are filled with quotes,
 * which keeps the count of newlines before any place, and so csv_line, right.
 * Quoted text is scanned by memchr: a corpus is mostly long quoted cells.  What ends
 * other cells is found for 64 bytes at once: a byte at a time costs five times as much
 * where they are short.
 *
 * Y. Shafranovich, RFC 4180: Common Format and MIME Type for CSV Files, 2005.
 */
#include "data/csv.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/nearest.h"

size_t csv_line(const csv *c, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at && i < c->len; i++) line += c->data[i] == '\n';
    return line;
}

/* Bytes of the newline at p: 0 where there is none. */
static inline size_t newline(const csv *c, size_t p)
{
    if (p < c->len && c->data[p] == '\n') return 1;
    if (p + 1 < c->len && c->data[p] == '\r' && c->data[p + 1] == '\n') return 2;
    return 0;
}

/* The cell that opens with a quote at c->pos, which moves behind the closing
 * one. */
static vt_status quoted(csv *c, slice *cell, vt_error *err)
{
    const size_t open = c->pos;
    size_t in = open + 1, out = in;         /* read from, written to */
    c->opened = open;
    for (;;) {
        const unsigned char *quote = in < c->len ? memchr(c->data + in, '"', c->len - in) : NULL;
        if (!quote)
            return fail(err, VT_BAD_INPUT, "%s: line %zu: the quote that opens here (byte "
                        "offset %zu) is never closed", c->name, csv_line(c, open), open);
        const size_t n = (size_t)(quote - (c->data + in));
        if (out != in) memmove(c->data + out, c->data + in, n);
        out += n;
        in += n + 1;
        if (in == c->len || c->data[in] != '"') break;
        c->data[out++] = '"';
        in++;
    }
    memset(c->data + out, '"', in - out);
    *cell = (slice){ c->data + open + 1, out - open - 1 };
    c->pos = in;
    return VT_OK;
}

/* ---- where an unquoted cell ends ----------------------------------------- */

enum { BLOCK = 64 };

static inline uint64_t eight(const unsigned char *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* Bit 7 of each byte of the word: whether it is not b.  (x ^ b) has 0 where it is, and
 * only 0 + 7F leaves bit 7 clear; the bytes' own bit 7 is kept out of the sum, which
 * then carries nothing into the next byte. */
static inline uint64_t is_not(uint64_t w, unsigned char b)
{
    const uint64_t low = UINT64_C(0x7F7F7F7F7F7F7F7F), x = w ^ UINT64_C(0x0101010101010101) * b;
    return ((x & low) + low) | x;
}

/* Which of the 64 bytes at `block` are separators, " CR LF: bit i is byte i.  The product moves
 * bit 0 of byte i to bit 56 + i: of its terms 2^(8i) 2^(7k) no others meet up there. */
static uint64_t find_ends(const csv *c, size_t block)
{
    unsigned char copy[BLOCK] = { 0 };
    const unsigned char *p = c->data + block, separator = (unsigned char)c->separator;
    uint64_t ends = 0;
    if (c->len - block < BLOCK) p = memcpy(copy, p, c->len - block);
    for (int i = 0; i < BLOCK; i += 8) {
        const uint64_t w = eight(p + i);
        const uint64_t other = is_not(w, separator) & is_not(w, '"') & is_not(w, '\r') & is_not(w, '\n');
        const uint64_t hit = ~other >> 7 & UINT64_C(0x0101010101010101);
        ends |= (hit * UINT64_C(0x0102040810204080) >> 56) << i;
    }
    return ends;
}

static size_t lowest_bit(uint64_t w)
{
#if defined(__GNUC__)
    return (size_t)__builtin_ctzll(w);
#else
    size_t n = 0;
    for (; !(w & 1); w >>= 1) n++;
    return n;
#endif
}

/* The first place from `at` on that ends an unquoted cell, c->len for none.  Most cells
 * are shorter than a block: the block's answer is kept. */
static inline size_t cell_end(csv *c, size_t at)
{
    size_t block = at - at % BLOCK;
    if (at >= c->len) return c->len;
    if (block != c->block) c->ends = find_ends(c, c->block = block);
    uint64_t ends = c->ends & (UINT64_MAX << at % BLOCK);
    while (!ends) {
        block += BLOCK;
        if (block >= c->len) return c->len;
        ends = c->ends = find_ends(c, c->block = block);
    }
    return block + lowest_bit(ends);
}

/* ---- what is said where it is malformed ---------------------------------- */

enum { HINT = 160 };
typedef struct hint { char text[HINT]; } hint;

/* "; is ; the separator? ..." where the text has what often is one, else "". */
static hint separator_hint(const csv *c, slice text)
{
    static const char often[] = ";\t|,";
    hint h = { "" };
    for (const char *s = often; *s; s++) {
        if (*s == c->separator || !text.len || !memchr(text.data, *s, text.len)) continue;
        if (*s == '\t') snprintf(h.text, HINT, "; is a tab the separator? (--separator tab)");
        else snprintf(h.text, HINT, "; is %c the separator? (--separator '%c')", *s, *s);
        return h;
    }
    return h;
}

/* A table of one column may be one of several that something else parts. */
static hint one_column_hint(const csv *c)
{
    return separator_hint(c, c->columns == 1 ? c->header[0] : (slice){ NULL, 0 });
}

/* What is wrong at `at`, behind a cell. */
static vt_status refuse(const csv *c, size_t at, bool opened, vt_error *err)
{
    char what[200];
    const char *separator = c->separator == ',' ? "a comma" : "the separator";
    const unsigned char *line = c->data + at;
    const size_t here = csv_line(c, at), from = opened ? csv_line(c, c->opened) : here;
    /* An unknown separator stands behind a quoted cell, or before one. */
    const hint h = separator_hint(c, opened ? (slice){ c->data + at, 1 }
                                     : (slice){ c->data + at - (at > 0), 1 });
    while (line > c->data && line[-1] != '\n') line--;
    if (opened && from < here)
        snprintf(what, sizeof what, "text behind a closing quote, of the cell that opens at line %zu: "
                 "expected %s or a newline", from, separator);
    else if (opened)
        snprintf(what, sizeof what, "text behind a closing quote: expected %s or a newline", separator);
    else
        snprintf(what, sizeof what, "%s", c->data[at] == '"' ? "a quote inside a cell that does not begin with one: "
                                        "expected \"...\" with \"\" for each quote in it"
                 : "a carriage return without a line feed: expected CR LF, or quotes around it");
    return fail(err, VT_BAD_INPUT, "%s: line %zu, column %zu (byte offset %zu): %s%s", c->name, here,
                (size_t)(c->data + at - line) + 1, at, what, h.text);
}

/* One cell and the separator or newline behind it; *last: the record ends there. */
static inline vt_status next_field(csv *c, slice *cell, bool *last, vt_error *err)
{
    const bool opened = c->pos < c->len && c->data[c->pos] == '"';
    if (opened) {
        const vt_status status = quoted(c, cell, err);
        if (status) return status;
    } else {
        const size_t end = cell_end(c, c->pos);
        *cell = (slice){ c->data + c->pos, end - c->pos };
        c->pos = end;
    }
    const size_t at = c->pos;
    if (at < c->len && c->data[at] == (unsigned char)c->separator) {
        c->pos++;
        *last = false;
        return VT_OK;
    }
    const size_t nl = newline(c, at);
    *last = true;
    c->pos += nl;
    return at == c->len || nl > 0 ? VT_OK : refuse(c, at, opened, err);
}

static vt_status read_header(csv *c, vt_error *err)
{
    size_t cap = 0;
    bool last = false;
    while (!last) {
        if (c->columns == cap) {
            size_t size;
            cap = cap ? 2 * cap : 8;
            if (!size_mul(cap, sizeof *c->header, &size))
                return fail_memory(err, SIZE_MAX, "the columns' names");
            slice *grown = realloc(c->header, size);
            if (!grown) return fail_memory(err, size, "the columns' names");
            c->header = grown;
        }
        const vt_status status = next_field(c, &c->header[c->columns], &last, err);
        if (status) return status;
        c->columns++;
    }
    if (c->columns == 1 && c->header[0].len == 0)
        return fail(err, VT_BAD_INPUT, "%s: line 1 is empty: expected %s", c->name,
                    c->no_header ? "a record" : "the columns' names");
    c->fields = calloc(c->columns, sizeof *c->fields);
    if (!c->fields) return fail_memory(err, c->columns * sizeof *c->fields, "a record's cells");
    return VT_OK;
}

bool csv_separator(const char *text, char *separator)
{
    if (strcmp(text, "tab") == 0) text = "\t";
    *separator = *text;
    return *text > 0 && *text < 0x7F && text[1] == 0 && !strchr("\"\r\n", *text);
}

vt_status csv_open(csv *c, unsigned char *data, size_t len, char separator, bool no_header,
                   const char *name, vt_error *err)
{
    *c = (csv){ .name = name, .separator = separator, .no_header = no_header, .held = no_header,
                .data = data, .len = len, .block = SIZE_MAX };
    if (len >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0) c->pos = 3;
    if (c->pos == len)
        return fail(err, VT_BAD_INPUT, "%s: empty: expected %s", name,
                    no_header ? "records" : "a line of columns' names");
    const vt_status status = read_header(c, err);
    if (status) csv_close(c);
    return status;
}

void csv_close(csv *c)
{
    free(c->header);
    free(c->fields);
    *c = (csv){ 0 };
}

vt_status csv_next(csv *c, bool *more, vt_error *err)
{
    if (c->held) {
        memcpy(c->fields, c->header, c->columns * sizeof *c->fields);
        c->held = false;
        *more = true;
        return VT_OK;
    }
    if (c->columns > 1)
        for (size_t n; (n = newline(c, c->pos)) > 0; c->pos += n) { }
    c->record = c->pos;
    *more = c->pos < c->len;
    if (!*more) return VT_OK;

    size_t n = 0;
    for (bool last = false; !last; n++) {
        slice cell = { NULL, 0 };
        const vt_status status = next_field(c, &cell, &last, err);
        if (status) return status;
        if (n < c->columns) c->fields[n] = cell;
    }
    if (n != c->columns)
        return fail(err, VT_BAD_INPUT, "%s: line %zu: %zu field%s, expected %zu as in the %s%s",
                    c->name, csv_line(c, c->record), n, n == 1 ? "" : "s", c->columns,
                    c->no_header ? "first line" : "header", one_column_hint(c).text);
    return VT_OK;
}

/* ---- columns --------------------------------------------------------------- */

enum { NAME_SHOWN = 40 };       /* bytes of a column's name: a longer one is hardly a name */

/* How many bytes of the name are shown: whole characters. */
static size_t name_shown(slice name)
{
    size_t n = name.len < NAME_SHOWN ? name.len : NAME_SHOWN;
    while (n < name.len && n > 0 && (name.data[n] & 0xC0) == 0x80) n--;
    return n;
}

void csv_list_columns(const csv *c, char *text, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < c->columns; i++) {
        const slice name = c->header[i];
        const size_t shown = name_shown(name), dots = shown < name.len ? 3 : 0;
        if (shown + dots + 2 + sizeof ", ..." > cap - n) {
            memcpy(text + n, i ? ", ..." : "...", i ? 6 : 4);
            return;
        }
        if (i) {
            memcpy(text + n, ", ", 2);
            n += 2;
        }
        for (size_t k = 0; k < shown; k++) {        /* a message is one line */
            const unsigned char b = name.data[k];
            text[n++] = b < 0x20 || b == 0x7F ? '?' : (char)b;
        }
        memcpy(text + n, "...", dots);
        n += dots;
    }
    text[n] = 0;
}

/* The number that the text is, 0 where it is none (from 1, of a column there is). */
static size_t column_number(const csv *c, const char *text)
{
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || n > c->columns) return 0;
        n = 10 * n + (size_t)(*p - '0');
    }
    return n <= c->columns ? n : 0;
}

static size_t columns_called(const csv *c, const char *name, size_t *first)
{
    const size_t len = strlen(name);
    size_t found = 0;
    for (size_t i = 0; i < c->columns; i++) {
        if (c->header[i].len != len || memcmp(c->header[i].data, name, len) != 0) continue;
        if (found++ == 0) *first = i;
    }
    return found;
}

static bool begins(slice s, const char *with)
{
    const size_t n = strlen(with);
    return s.len >= n && memcmp(s.data, with, n) == 0;
}

/* Names are short, of one line, and begin with no digit; what is written is not. */
static bool looks_like_data(const csv *c)
{
    for (size_t i = 0; i < c->columns; i++) {
        const slice s = c->header[i];
        if (s.len > NAME_SHOWN || memchr(s.data, '\n', s.len)) return true;
        if (s.len > 0 && s.data[0] >= '0' && s.data[0] <= '9') return true;
    }
    return false;
}

/* The column whose name is nearest to what was asked for; c->columns for none. */
static size_t nearest_column(const csv *c, const char *name)
{
    const size_t letters = strlen(name);
    size_t nearest = c->columns, best = (letters / 2 < 2 ? letters / 2 : 2) + 1;
    for (size_t i = 0; i < c->columns; i++) {
        const char *at = (const char *)c->header[i].data;
        const size_t d = nearest_distance(name, letters, at, c->header[i].len);
        if (d >= best) continue;
        best = d;
        nearest = i;
    }
    return nearest;
}

/* Why there may be no such column: the likeliest reason alone. */
static hint column_hint(const csv *c, const char *name)
{
    const slice first = c->header[0];
    const size_t meant = nearest_column(c, name);
    hint h = one_column_hint(c);
    if (begins(first, "sep=")) {
        const int n = snprintf(h.text, HINT, "; line 1 is a note of Excel's: remove it");
        if (first.len == 5 && first.data[4] > ' ' && first.data[4] < 0x7F)
            snprintf(h.text + n, HINT - (size_t)n, ", and give --separator '%c'", first.data[4]);
    } else if (begins(first, "{") || begins(first, "[")) {
        snprintf(h.text, HINT, "; is it JSON? (JSON Lines, one object a line, are named .jsonl)");
    } else if (h.text[0] == 0 && meant < c->columns) {
        const slice s = c->header[meant];
        snprintf(h.text, HINT, "; is %.*s meant?", (int)s.len, (const char *)s.data);
    } else if (h.text[0] == 0 && looks_like_data(c)) {
        snprintf(h.text, HINT, "; is line 1 data? (--no-header)");
    }
    return h;
}

vt_status csv_column(const csv *c, const char *column, size_t *index, vt_error *err)
{
    const char *name = column ? column : c->no_header ? "1" : "text";
    const size_t found = c->no_header ? 0 : columns_called(c, name, index);
    if (found == 1) return VT_OK;
    if (found > 1)
        return fail(err, VT_BAD_INPUT, "%s: %zu columns are called \"%s\": expected one, or "
                    "a number (%zu is the first of them)", c->name, found, name, *index + 1);
    const size_t number = column_number(c, name);
    if (number > 0) {
        *index = number - 1;
        return VT_OK;
    }
    char names[300];
    if (c->no_header)
        return fail(err, VT_USAGE, "%s: no column \"%s\": expected its number, from 1 to %zu, where "
                    "there is no line of names (--no-header)%s", c->name, name, c->columns,
                    one_column_hint(c).text);
    csv_list_columns(c, names, sizeof names);
    if (!column)
        return fail(err, VT_BAD_INPUT, "%s: which column holds the text? there is none called "
                    "\"text\": expected one of: %s%s", c->name, names, column_hint(c, name).text);
    return fail(err, VT_BAD_INPUT, "%s: no column \"%s\": expected one of: %s, or a number from 1 to "
                "%zu%s", c->name, name, names, c->columns, column_hint(c, name).text);
}

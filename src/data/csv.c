/* csv.c -- see csv.h.
 *
 * RFC 4180, section 2:
 *     file   = [BOM] header *(newline record) [newline]
 *     record = field *("," field)
 *     field  = "..." with " written twice inside, or bytes without , " CR LF
 * A newline is CR LF or LF, each line as it comes; inside quotes it is text and
 * its bytes stay.  A cell is bytes: no trimming, no types.
 *
 * Beyond the RFC: a line with nothing on it is skipped where records have more
 * than one column (with one column it is a record: an empty cell).  Not read:
 * other separators, a CR alone as newline, a quote inside an unquoted cell;
 * they are refused by place, since guessing would lose or merge cells.
 *
 * A cell is a slice of the text itself.  Undoing doubled quotes only shortens a
 * cell, so it is done in place; the bytes that come free are filled with quotes,
 * which keeps the count of newlines before any place, and so csv_line, right.
 * Quoted text is scanned by memchr: a corpus is mostly long quoted cells.
 *
 * Y. Shafranovich, RFC 4180: Common Format and MIME Type for CSV Files, 2005.
 */
#include "data/csv.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t csv_line(const csv *c, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at && i < c->len; i++) line += c->data[i] == '\n';
    return line;
}

/* Bytes of the newline at p: 0 where there is none. */
static size_t newline(const csv *c, size_t p)
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

/* The cell without quotes at c->pos, which moves to the byte that ends it. */
static void unquoted(csv *c, slice *cell)
{
    static const bool ends[256] = { [','] = true, ['\n'] = true, ['\r'] = true, ['"'] = true };
    const unsigned char *begin = c->data + c->pos, *end = c->data + c->len, *p = begin;
    while (p < end && !ends[*p]) p++;
    *cell = (slice){ begin, (size_t)(p - begin) };
    c->pos = (size_t)(p - c->data);
}

/* One cell and the comma or newline behind it; *last: the record ends there. */
static vt_status next_field(csv *c, slice *cell, bool *last, vt_error *err)
{
    const bool opened = c->pos < c->len && c->data[c->pos] == '"';
    if (opened) {
        const vt_status status = quoted(c, cell, err);
        if (status) return status;
    } else {
        unquoted(c, cell);
    }
    const size_t at = c->pos, nl = newline(c, at);
    *last = at == c->len || nl > 0;
    if (*last) {
        c->pos += nl;
        return VT_OK;
    }
    if (c->data[at] == ',') {
        c->pos++;
        return VT_OK;
    }
    const char *what = opened ? "text behind a closing quote: expected a comma or a newline"
                     : c->data[at] == '"' ? "a quote inside a cell that does not begin with one: "
                                            "expected \"...\" with \"\" for each quote in it"
                     : "a carriage return without a line feed: expected CR LF, or quotes around it";
    const unsigned char *line = c->data + at;
    while (line > c->data && line[-1] != '\n') line--;
    return fail(err, VT_BAD_INPUT, "%s: line %zu, column %zu (byte offset %zu): %s", c->name,
                csv_line(c, at), (size_t)(c->data + at - line) + 1, at, what);
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
        return fail(err, VT_BAD_INPUT, "%s: line 1 is empty: expected the columns' names", c->name);
    c->fields = calloc(c->columns, sizeof *c->fields);
    if (!c->fields) return fail_memory(err, c->columns * sizeof *c->fields, "a record's cells");
    return VT_OK;
}

vt_status csv_open(csv *c, unsigned char *data, size_t len, const char *name, vt_error *err)
{
    *c = (csv){ .name = name, .data = data, .len = len };
    if (len >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0) c->pos = 3;
    if (c->pos == len)
        return fail(err, VT_BAD_INPUT, "%s: empty: expected a line of columns' names", name);
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
    if (c->columns > 1)
        for (size_t n; (n = newline(c, c->pos)) > 0; c->pos += n) { }
    c->record = c->pos;
    *more = c->pos < c->len;
    if (!*more) return VT_OK;

    size_t n = 0;
    for (bool last = false; !last; n++) {
        slice cell;
        const vt_status status = next_field(c, &cell, &last, err);
        if (status) return status;
        if (n < c->columns) c->fields[n] = cell;
    }
    if (n != c->columns)
        return fail(err, VT_BAD_INPUT, "%s: line %zu: %zu field%s, expected %zu as in the header",
                    c->name, csv_line(c, c->record), n, n == 1 ? "" : "s", c->columns);
    return VT_OK;
}

vt_status csv_column(const csv *c, const char *column, size_t *index, vt_error *err)
{
    const size_t len = strlen(column);
    size_t found = 0;
    for (size_t i = 0; i < c->columns; i++) {
        if (c->header[i].len != len || memcmp(c->header[i].data, column, len) != 0) continue;
        if (found++ == 0) *index = i;
    }
    if (found == 1) return VT_OK;
    if (found > 1)
        return fail(err, VT_BAD_INPUT, "%s: %zu columns are called \"%s\": expected one",
                    c->name, found, column);
    char names[300];
    csv_list_columns(c, names, sizeof names);
    return fail(err, VT_BAD_INPUT, "%s: no column \"%s\": expected one of: %s", c->name, column,
                names);
}

void csv_list_columns(const csv *c, char *text, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < c->columns; i++) {
        const slice name = c->header[i];
        if (name.len + 2 + sizeof ", ..." > cap - n) {
            memcpy(text + n, i ? ", ..." : "...", i ? 6 : 4);
            return;
        }
        if (i) {
            memcpy(text + n, ", ", 2);
            n += 2;
        }
        for (size_t k = 0; k < name.len; k++) {     /* a message is one line */
            const unsigned char b = name.data[k];
            text[n++] = b < 0x20 || b == 0x7F ? '?' : (char)b;
        }
    }
    text[n] = 0;
}

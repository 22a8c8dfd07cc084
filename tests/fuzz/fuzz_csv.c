/* fuzz_csv.c -- the CSV reader against a plain one, one byte at a time.
 *
 * `plain` below is RFC 4180 as csv.c states it, written as a machine of states
 * that copies: no memchr, nothing in place.  Both must accept the same texts and
 * find the same cells.  Then the cells, each in quotes, must read back the same.
 * Each text is read with commas and with another separator, which its length chooses.
 */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include "data/csv.h"

/* Records as one text: each cell ends with a byte 1, each record with a byte 2;
 * bytes 0 to 2 of a cell have a byte 0 before them. */
typedef struct table { bytes text; size_t columns, records; char separator; } table;

static void put(table *t, int c)
{
    const unsigned char two[2] = { 0, (unsigned char)c };
    WORKS(bytes_append(&t->text, c < 3 ? two : two + 1, c < 3 ? 2 : 1, &fuzz_error));
}

static void put_end(table *t, unsigned char mark)
{
    WORKS(bytes_append(&t->text, &mark, 1, &fuzz_error));
}

/* The cells of one record from p[*at]; false where it is no CSV. */
static bool plain_record(table *t, const uint8_t *p, size_t n, size_t *at, size_t *cells,
                         size_t *length)
{
    for (*cells = 0, *length = 0;;) {
        size_t i = *at;
        if (i < n && p[i] == '"') {
            for (i++;; i++) {
                if (i == n) return false;
                if (p[i] == '"') {
                    if (i + 1 == n || p[i + 1] != '"') break;
                    i++;
                }
                put(t, p[i]);
                ++*length;
            }
            i++;
        } else {
            for (; i < n && p[i] != t->separator && !strchr("\r\n\"", p[i] ? p[i] : 'x'); i++, ++*length)
                put(t, p[i]);
        }
        put_end(t, 1);
        ++*cells;
        *at = i;
        if (i == n) break;
        if (p[i] == t->separator) { *at = i + 1; continue; }
        if (p[i] == '\n') { *at = i + 1; break; }
        if (p[i] == '\r' && i + 1 < n && p[i + 1] == '\n') { *at = i + 2; break; }
        return false;
    }
    put_end(t, 2);
    return true;
}

static bool plain(table *t, const uint8_t *p, size_t n)
{
    size_t at = n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0, length;
    if (at == n || !plain_record(t, p, n, &at, &t->columns, &length)) return false;
    if (t->columns == 1 && length == 0) return false;
    for (;;) {
        while (t->columns > 1 && at < n &&
               (p[at] == '\n' || (p[at] == '\r' && at + 1 < n && p[at + 1] == '\n')))
            at += p[at] == '\n' ? 1 : 2;
        if (at == n) return true;
        size_t cells;
        if (!plain_record(t, p, n, &at, &cells, &length) || cells != t->columns) return false;
        t->records++;
    }
}

static void take(table *t, const slice *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < cells[i].len; k++) put(t, cells[i].data[k]);
        put_end(t, 1);
    }
    put_end(t, 2);
}

static bool read_all(table *t, const uint8_t *p, size_t n)
{
    csv c;
    unsigned char *copy = fuzz_copy(p, n);
    bool more = true;
    vt_status s = csv_open(&c, copy, n, t->separator, false, "x.csv", &fuzz_error);
    if (s == VT_OK) {
        t->columns = c.columns;
        take(t, c.header, c.columns);
        for (s = csv_next(&c, &more, &fuzz_error); s == VT_OK && more;
             s = csv_next(&c, &more, &fuzz_error), t->records++)
            take(t, c.fields, c.columns);
        csv_close(&c);
    }
    if (s != VT_OK) fuzz_refused(s, 1u << VT_BAD_INPUT, "x.csv: ");
    free(copy);
    return s == VT_OK;
}

/* The same cells, all in quotes. */
static void quote(bytes *out, const table *t)
{
    const unsigned char *p = t->text.data;
    bool first = true;
    for (size_t i = 0; i < t->text.len; i++) {
        if (p[i] == 2) {
            WORKS(bytes_append(out, "\r\n", 2, &fuzz_error));
            first = true;
            continue;
        }
        const char opening[2] = { t->separator, '"' };
        WORKS(bytes_append(out, opening, 2, &fuzz_error));
        if (first) {
            memmove(out->data + out->len - 2, "\"", 1);
            out->len--;
        }
        first = false;
        for (; p[i] != 1; i++) {
            if (p[i] == 0) i++;
            WORKS(bytes_append(out, "\"\"", p[i] == '"' ? 2 : 0, &fuzz_error));
            if (p[i] != '"') WORKS(bytes_append(out, p + i, 1, &fuzz_error));
        }
        WORKS(bytes_append(out, "\"", 1, &fuzz_error));
    }
}

static void same(const table *a, const table *b)
{
    HOLDS(a->columns == b->columns);
    HOLDS(a->records == b->records);
    HOLDS(a->text.len == b->text.len && memcmp(a->text.data, b->text.data, a->text.len) == 0);
}

static void read_with(char separator, const uint8_t *data, size_t size)
{
    table expected = { .separator = separator }, found = expected, again = expected;
    bytes quoted = { 0 };
    const bool good = plain(&expected, data, size);
    HOLDS(read_all(&found, data, size) == good);
    if (good) {
        same(&found, &expected);
        quote(&quoted, &found);
        HOLDS(read_all(&again, quoted.data, quoted.len));
        same(&again, &found);
    }
    bytes_free(&expected.text);
    bytes_free(&found.text);
    bytes_free(&again.text);
    bytes_free(&quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_with(',', data, size);
    read_with(";\t|a"[size % 4], data, size);
    return 0;
}

/* corpus.c -- see corpus.h.
 *
 * The file is read whole and its hash taken before anything changes it.  All of
 * it must be UTF-8, other columns too: a file in another encoding is a mistake
 * that is better named here, by byte, than met as odd tokens.  A byte order mark
 * is not text and is left out.  Empty cells hold nothing to learn: left out and
 * counted.
 *
 * Not done: decompression, guessing of encodings or separators, streaming of
 * files larger than memory.
 */
#include "data/corpus.h"
#include "base/cpu.h"
#include "base/utf8.h"
#include "data/csv.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static vt_status check_utf8(const corpus *c, const char *path, vt_error *err)
{
    const size_t bad = utf8_first_bad(c->block.data, c->block.len);
    if (bad == c->block.len) return VT_OK;
    size_t line = 1;
    for (size_t i = 0; i < bad; i++) line += c->block.data[i] == '\n';
    return fail(err, VT_BAD_INPUT, "%s: line %zu, byte offset %zu: 0x%02X is not UTF-8 there: "
                "expected text in UTF-8", path, line, bad, c->block.data[bad]);
}

static vt_status add_document(corpus *c, size_t *cap, slice doc, vt_error *err)
{
    if (doc.len == 0) {
        c->empty++;
        return VT_OK;
    }
    if (c->count == *cap) {
        size_t size;
        const size_t grown = *cap ? 2 * *cap : 64;
        if (!size_mul(grown, sizeof *c->docs, &size))
            return fail_memory(err, SIZE_MAX, "the list of documents");
        slice *docs = realloc(c->docs, size);
        if (!docs) return fail_memory(err, size, "the list of documents");
        c->docs = docs;
        *cap = grown;
    }
    c->docs[c->count++] = doc;
    c->bytes += doc.len;
    return VT_OK;
}

static vt_status read_plain(corpus *c, size_t *cap, vt_error *err)
{
    slice all = { c->block.data, c->block.len };
    if (all.len >= 3 && memcmp(all.data, "\xEF\xBB\xBF", 3) == 0) {
        all.data += 3;
        all.len -= 3;
    }
    return add_document(c, cap, all, err);
}

/* `column` NULL: the one called "text". */
static vt_status read_csv(corpus *c, size_t *cap, const char *path, const char *column,
                          size_t max_rows, vt_error *err)
{
    csv table;
    vt_status status = csv_open(&table, c->block.data, c->block.len, path, err);
    if (status) return status;

    size_t index = 0;
    bool there = false;
    for (size_t i = 0; i < table.columns; i++)
        there = there || (table.header[i].len == 4 && memcmp(table.header[i].data, "text", 4) == 0);
    status = csv_column(&table, column ? column : "text", &index, err);
    if (status && !column && !there && err) {
        char names[300];
        csv_list_columns(&table, names, sizeof names);
        status = fail(err, VT_BAD_INPUT, "%s: which column holds the text? there is none called "
                      "\"text\": expected one of: %s", path, names);
    }
    if (status) goto done;
    bool more = true;
    for (size_t row = 0; max_rows == 0 || row < max_rows; row++) {
        status = csv_next(&table, &more, err);
        if (status || !more) goto done;
        status = add_document(c, cap, table.fields[index], err);
        if (status) goto done;
    }
done:
    csv_close(&table);
    return status;
}

static bool named_csv(const char *path)
{
    const size_t n = strlen(path);
    return n >= 4 && strcasecmp(path + n - 4, ".csv") == 0;
}

vt_status corpus_load(corpus *out, const char *path, const corpus_options *o, vt_error *err)
{
    static const corpus_options plain = { 0 };
    if (!o) o = &plain;
    *out = (corpus){ 0 };
    const bool table = o->column || named_csv(path);
    if (!table && o->max_rows > 0)
        return fail(err, VT_USAGE, "%s: a plain text has no rows: a limit of %zu rows needs a CSV "
                    "file and its column", path, o->max_rows);

    const size_t memory = cpu_memory();                 /* 0: not known */
    size_t cap = 0;
    vt_status status = io_read(&out->block, path, memory ? memory : SIZE_MAX / 2, err);
    if (status) goto done;
    if (out->block.len == 0) {
        status = fail(err, VT_BAD_INPUT, "%s: the corpus is empty: expected text", path);
        goto done;
    }
    sha256_hex(out->sha256, out->block.data, out->block.len);
    status = check_utf8(out, path, err);
    if (status) goto done;
    status = table ? read_csv(out, &cap, path, o->column, o->max_rows, err)
                   : read_plain(out, &cap, err);
    if (status == VT_OK && out->count == 0)
        status = fail(err, VT_BAD_INPUT, "%s: no text in it (%zu empty document%s): expected at "
                      "least one that is not empty", path, out->empty, out->empty == 1 ? "" : "s");
done:
    if (status) corpus_free(out);
    return status;
}

void corpus_free(corpus *c)
{
    bytes_free(&c->block);
    free(c->docs);
    *c = (corpus){ 0 };
}

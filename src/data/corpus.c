/* corpus.c -- see corpus.h.
 *
 * A file is read whole and its hash taken before anything changes it.  All of
 * it must be text in UTF-8, other columns too: a file in another encoding is a
 * mistake that is better named here (encoding.c) than met as odd tokens.  A byte
 * order mark is not text and is left out.  Empty cells hold nothing to learn: left
 * out and counted.
 *
 * How a file is read is said by its name alone, and by whether a column is named; what
 * it holds is not looked at, so that the same call does the same with the next file.
 * JSON that is not lines would be read as plain text, brackets and all: a .json is
 * refused, also one that holds lines, since nothing says so before its end.
 *
 * With replace_invalid what is no UTF-8 is counted in the whole file, then replaced
 * in the documents, once they are cut: no delimiter is a byte of 80 or more, so that
 * the cut is the same, and the places that messages name are the file's.
 *
 * Files behind the one in which max_rows was reached are read, checked and hashed,
 * but no row of them: what they are belongs to what the corpus is.
 *
 * Not done: decompression, guessing of encodings or separators, streaming of
 * files larger than memory.
 */
#include "data/corpus.h"
#include "base/cpu.h"
#include "base/huge.h"
#include "base/interrupt.h"
#include "base/sha256.h"
#include "base/utf8_text.h"
#include "data/csv.h"
#include "data/encoding.h"
#include "data/jsonl.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What is being read. */
typedef struct reading {
    const vt_corpus *what;
    corpus      *c;
    corpus_file *f;
    const char  *path;
    size_t       cap;       /* of c->docs */
    size_t       rows;      /* read so far, of all files */
    char         separator; /* asked for; 0: the one of the file's name */
} reading;

static vt_status check_text(reading *r, vt_error *err)
{
    corpus_file *f = r->f;
    encoding_bad bad;
    const vt_status s = encoding_check(&bad, &f->block, r->what->replace_invalid, r->path, err);
    f->replaced = bad.count;
    f->line = bad.line;
    f->at = bad.at;
    return s;
}

static vt_status add_document(reading *r, slice doc, vt_error *err)
{
    corpus *c = r->c;
    if (doc.len == 0) {
        c->empty++;
        return VT_OK;
    }
    if (c->count == r->cap) {
        size_t size;
        const size_t grown = r->cap ? 2 * r->cap : 64;
        if (!size_mul(grown, sizeof *c->docs, &size))
            return fail_memory(err, SIZE_MAX, "the list of documents");
        slice *docs = realloc(c->docs, size);
        if (!docs) return fail_memory(err, size, "the list of documents");
        huge_advise(docs, size);
        c->docs = docs;
        r->cap = grown;
    }
    c->docs[c->count++] = doc;
    r->f->documents++;
    c->bytes += doc.len;
    return VT_OK;
}

static vt_status read_plain(reading *r, vt_error *err)
{
    slice all = { r->f->block.data, r->f->block.len };
    if (all.len >= 3 && memcmp(all.data, "\xEF\xBB\xBF", 3) == 0) {
        all.data += 3;
        all.len -= 3;
    }
    return add_document(r, all, err);
}

static bool rows_left(const reading *r)
{
    return r->what->max_rows == 0 || r->rows < r->what->max_rows;
}

static bool named(const char *path, const char *end)
{
    const size_t n = strlen(path), k = strlen(end);
    return n >= k && strcasecmp(path + n - k, end) == 0;
}

static vt_status read_csv(reading *r, vt_error *err)
{
    const bytes *b = &r->f->block;
    csv table;
    size_t index = 0;
    bool more = true;
    const char separator = r->separator ? r->separator : named(r->path, ".tsv") ? '\t' : ',';
    vt_status s = csv_open(&table, b->data, b->len, separator, r->what->no_header, r->path, err);
    if (s == VT_OK) s = csv_column(&table, r->what->column, &index, err);
    for (; s == VT_OK && rows_left(r); r->rows++) {
        if ((s = interrupt_check(err)) || (s = csv_next(&table, &more, err)) || !more) break;
        s = add_document(r, table.fields[index], err);
    }
    csv_close(&table);
    return s;
}

static vt_status read_jsonl(reading *r, vt_error *err)
{
    const char *field = r->what->column ? r->what->column : "text";
    corpus_file *f = r->f;
    jsonl j;
    bool more = true;
    vt_status s = jsonl_open(&j, f->block.data, f->block.len, field, r->what->replace_invalid,
                             r->path, err);
    for (; s == VT_OK && rows_left(r); r->rows++) {
        if ((s = interrupt_check(err)) || (s = jsonl_next(&j, &more, err)) || !more) break;
        s = add_document(r, j.text, err);
    }
    if (j.replaced > 0 && (f->replaced == 0 || j.replaced_at < f->at)) {
        f->line = j.replaced_line;
        f->at = j.replaced_at;
    }
    f->replaced += j.replaced;
    jsonl_close(&j);
    return s;
}

/* The file's documents, from the `first` of the corpus on, as UTF-8 again. */
static vt_status repair(reading *r, size_t first, vt_error *err)
{
    corpus *c = r->c;
    size_t total = 0, replaced;
    for (size_t i = first; i < c->count; i++) {
        const slice d = c->docs[i];
        if (utf8_text_bad(d.data, d.len) < d.len &&
            !size_add(total, utf8_text_repair(NULL, d.data, d.len, &replaced), &total))
            return fail_memory(err, SIZE_MAX, "repaired text");
    }
    const vt_status s = bytes_room(&r->f->repaired, total, err);
    for (size_t i = first; i < c->count && s == VT_OK; i++) {
        slice *d = &c->docs[i];
        if (utf8_text_bad(d->data, d->len) == d->len) continue;
        unsigned char *to = r->f->repaired.data + r->f->repaired.len;
        const size_t length = utf8_text_repair(to, d->data, d->len, &replaced);
        r->f->repaired.len += length;
        c->bytes += length - d->len;            /* modulo 2^64, as the sum is */
        *d = (slice){ to, length };
    }
    return s;
}

/* A text that is no CSV by its name may be none: what was wrong with it says why it was
 * taken for one. */
static vt_status read_as_csv(reading *r, vt_error *err)
{
    const vt_status s = read_csv(r, err);
    r->f->read_as = "CSV, since a column is named";
    if (s == VT_BAD_INPUT && err) {
        const size_t n = strlen(err->text);
        snprintf(err->text + n, sizeof err->text - n, " (read as CSV, since a column is named)");
    }
    return s;
}

/* A plain text has no records, and JSON Lines have no names above theirs. */
static vt_status check_how(const reading *r, bool table, bool lines, vt_error *err)
{
    const vt_corpus *w = r->what;
    const char *as = lines ? "JSON Lines" : "a plain text";
    if (w->no_header && !table)
        return fail(err, VT_USAGE, "%s: %s has no line of names: --no-header needs a CSV file and its "
                    "column", r->path, as);
    if (w->separator && !table)
        return fail(err, VT_USAGE, "%s: %s has no cells: --separator needs a CSV file and its column",
                    r->path, as);
    if (w->max_rows > 0 && !table && !lines)
        return fail(err, VT_USAGE, "%s: a plain text has no rows: a limit of %zu rows needs a CSV "
                    "file and its column, or JSON Lines", r->path, w->max_rows);
    return VT_OK;
}

static vt_status read_documents(reading *r, vt_error *err)
{
    const bool lines = named(r->path, ".jsonl") || named(r->path, ".ndjson");
    const bool table = named(r->path, ".csv") || named(r->path, ".tsv");
    const bool column = !lines && !table && r->what->column;
    if (named(r->path, ".json"))
        return fail(err, VT_BAD_INPUT, "%s: JSON is not read: expected JSON Lines, which have one object "
                    "a line, in a file named .jsonl", r->path);
    const vt_status s = check_how(r, table || column, lines, err);
    if (s) return s;
    if (table) return read_csv(r, err);
    if (lines) return read_jsonl(r, err);
    if (column) return read_as_csv(r, err);
    if (!named(r->path, ".txt")) r->f->read_as = "plain text, 1 document";
    return read_plain(r, err);
}

/* Of the file as it is stored, in pieces: a signal is seen in between. */
static vt_status hash_block(corpus_file *f, vt_error *err)
{
    enum { PIECE = 1 << 24 };
    sha256 h;
    vt_status s = VT_OK;
    sha256_begin(&h);
    for (size_t at = 0; at < f->block.len && s == VT_OK; at += PIECE) {
        const size_t left = f->block.len - at;
        sha256_add(&h, f->block.data + at, left < PIECE ? left : PIECE);
        s = interrupt_check(err);
    }
    sha256_end(&h, f->sha256);
    return s;
}

static vt_status read_file(reading *r, size_t limit, vt_error *err)
{
    corpus *c = r->c;
    corpus_file *f = r->f;
    const size_t first = c->count, empty = c->empty;
    const bool started = rows_left(r);
    vt_status s = io_read(&f->block, r->path, limit, err);
    if (s) return s;
    if (f->block.len == 0)
        return fail(err, VT_BAD_INPUT, "%s: the corpus is empty: expected text", r->path);
    if ((s = hash_block(f, err)) || (s = check_text(r, err)) || (s = read_documents(r, err))) return s;
    if (c->count == first && started) {
        const size_t left_out = c->empty - empty;
        return fail(err, VT_BAD_INPUT, "%s: no text in it (%zu empty document%s): expected at least "
                    "one that is not empty", r->path, left_out, left_out == 1 ? "" : "s");
    }
    return f->replaced > 0 ? repair(r, first, err) : VT_OK;
}

static void hash_files(corpus *c)
{
    sha256 h;
    if (c->nfiles == 1) {
        memcpy(c->sha256, c->files[0].sha256, sizeof c->sha256);
        return;
    }
    sha256_begin(&h);
    for (size_t i = 0; i < c->nfiles; i++) {
        sha256_add(&h, c->files[i].sha256, 64);
        sha256_add(&h, "\n", 1);
    }
    sha256_end(&h, c->sha256);
}

vt_status corpus_load(corpus *out, const vt_corpus *what, vt_error *err)
{
    const size_t memory = cpu_memory();                 /* 0: not known */
    size_t limit = memory ? memory : SIZE_MAX / 2;
    vt_status s = VT_OK;
    *out = (corpus){ .count = 0 };
    if (what->nfiles == 0) return fail(err, VT_USAGE, "no text to read: expected a file");
    char separator = 0;
    if (what->separator && !csv_separator(what->separator, &separator))
        return fail(err, VT_USAGE, "--separator %s: expected one ASCII character, no quote and no "
                    "newline, or the word tab", what->separator);
    out->files = calloc(what->nfiles, sizeof *out->files);
    if (!out->files) return fail_memory(err, what->nfiles * sizeof *out->files, "the files");
    out->nfiles = what->nfiles;
    reading r = { .what = what, .c = out, .separator = separator };
    for (size_t i = 0; i < what->nfiles && s == VT_OK; i++) {
        r.f = &out->files[i];
        r.path = what->files[i];
        s = read_file(&r, limit, err);
        limit -= s ? 0 : r.f->block.len;
    }
    if (s) corpus_free(out);
    else hash_files(out);
    return s;
}

void corpus_free(corpus *c)
{
    for (size_t i = 0; i < c->nfiles; i++) {
        bytes_free(&c->files[i].block);
        bytes_free(&c->files[i].repaired);
    }
    free(c->files);
    free(c->docs);
    *c = (corpus){ .count = 0 };
}

size_t corpus_same_file(const corpus *c, size_t i)
{
    size_t k = 0;
    while (k < i && strcmp(c->files[k].sha256, c->files[i].sha256) != 0) k++;
    return k;
}

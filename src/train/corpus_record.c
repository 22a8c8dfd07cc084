/* corpus_record.c -- see corpus_record.h. */
#include "train/corpus_record.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

vt_status corpus_record_new(corpus_file_record **out, const corpus *c, vt_error *err)
{
    *out = calloc(c->nfiles, sizeof **out);
    if (!*out) return fail_memory(err, c->nfiles * sizeof **out, "the files of a corpus");
    for (size_t i = 0; i < c->nfiles; i++) {
        memcpy((*out)[i].sha256, c->files[i].sha256, 65);
        (*out)[i].documents = c->files[i].documents;
    }
    return VT_OK;
}

void corpus_record_write(js_writer *w, const corpus_file_record *files, size_t n, size_t replaced)
{
    if (n > 1) {
        js_key(w, "files");
        js_open_array(w);
        for (size_t i = 0; i < n; i++) {
            js_open_object(w);
            js_field_string(w, "sha256", files[i].sha256);
            js_field_uint(w, "documents", files[i].documents);
            js_close_object(w);
        }
        js_close_array(w);
    }
    if (replaced > 0) js_field_uint(w, "replaced", replaced);
}

vt_status corpus_record_check(const json_t *stored, const char *where, vt_error *err)
{
    const json_t *files;
    vt_status s = VT_OK;
    if (!json_object_get(stored, "files")) return VT_OK;
    if ((s = js_get_array(stored, "files", where, &files, err))) return s;
    if (json_array_size(files) < 2)
        return fail(err, VT_BAD_INPUT, "%s: field \"files\": expected two or more", where);
    for (size_t i = 0; i < json_array_size(files) && s == VT_OK; i++) {
        const char *hash;
        size_t documents;
        const json_t *file = json_array_get(files, i);
        if ((s = js_get_string(file, "sha256", where, &hash, err)) == VT_OK &&
            (strlen(hash) != 64 || strspn(hash, "0123456789abcdef") != 64))
            s = fail(err, VT_BAD_INPUT, "%s: field \"sha256\": expected 64 hexadecimal digits", where);
        if (s == VT_OK)
            s = js_get_size(file, "documents", where, 0, SIZE_MAX / 2, &documents, err);
    }
    return s;
}

/* ---- differences --------------------------------------------------------- */

static size_t stored_count(const json_t *stored)
{
    const json_t *files = json_object_get(stored, "files");
    return files ? json_array_size(files) : 1;
}

static const char *stored_hash(const json_t *stored, size_t i)
{
    const json_t *files = json_object_get(stored, "files");
    return json_string_value(json_object_get(files ? json_array_get(files, i) : stored, "sha256"));
}

/* Where the hash is among the stored ones, from 0; their number where it is not. */
static size_t find_stored(const json_t *stored, const char *hash)
{
    const size_t n = stored_count(stored);
    for (size_t i = 0; i < n; i++)
        if (strcmp(stored_hash(stored, i), hash) == 0) return i;
    return n;
}

size_t corpus_record_known(const json_t *stored, const corpus *c)
{
    size_t known = 0;
    for (size_t i = 0; i < c->nfiles; i++)
        known += find_stored(stored, c->files[i].sha256) < stored_count(stored) ? 1 : 0;
    return known;
}

static size_t find_given(const corpus *c, const char *hash)
{
    for (size_t i = 0; i < c->nfiles; i++)
        if (strcmp(c->files[i].sha256, hash) == 0) return i;
    return c->nfiles;
}

corpus_why corpus_record_differs(const json_t *stored, const corpus *c, const vt_corpus *what)
{
    corpus_why w;
    const size_t n = stored_count(stored);
    for (size_t i = 0; i < c->nfiles; i++)
        if (find_stored(stored, c->files[i].sha256) == n) {
            snprintf(w.text, sizeof w.text, "%.200s (sha256 %.16s...) is none of the %zu file%s that it "
                     "learnt from", what->files[i], c->files[i].sha256, n, n == 1 ? "" : "s");
            return w;
        }
    for (size_t i = 0; i < n; i++)
        if (find_given(c, stored_hash(stored, i)) == c->nfiles) {
            snprintf(w.text, sizeof w.text, "file %zu of the %zu that it learnt from (sha256 %.16s...) is "
                     "not given", i + 1, n, stored_hash(stored, i));
            return w;
        }
    if (n != c->nfiles) {
        snprintf(w.text, sizeof w.text, "it learnt from %zu file%s, %zu are given", n, n == 1 ? "" : "s",
                 c->nfiles);
        return w;
    }
    for (size_t i = 0; i < n; i++)
        if (strcmp(stored_hash(stored, i), c->files[i].sha256) != 0) {
            snprintf(w.text, sizeof w.text, "the files are in another order: %.200s was number %zu of "
                     "%zu, now it is number %zu", what->files[i],
                     find_stored(stored, c->files[i].sha256) + 1, n, i + 1);
            return w;
        }
    snprintf(w.text, sizeof w.text, "its files are the same, its sha256 is not");
    return w;
}

corpus_name corpus_record_name(const vt_corpus *what)
{
    corpus_name name;
    if (what->nfiles == 1) snprintf(name.text, sizeof name.text, "%.280s", what->files[0]);
    else snprintf(name.text, sizeof name.text, "%.260s and %zu more", what->files[0], what->nfiles - 1);
    return name;
}

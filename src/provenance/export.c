/* export.c -- see export.h. */
#include "provenance/export.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "provenance/manifest.h"

#define METRICS "metrics.jsonl"
#define SEAL    "manifest.sha256"

static const char *const files[VT_EXPORT_FILES] = {
    "model.safetensors", "tokenizer.json", "config.json", METRICS, WINDOW_FILE, EXPORT_MODULE
};
enum { COPIED = 4, MOST_MANIFEST = 1 << 26, SEAL_SIZE = 96 };

char *export_folder(const char *site, const char *as)
{
    char *data = io_join(site, "data");
    char *folder = data ? io_join(data, as) : NULL;
    free(data);
    return folder;
}

vt_status export_name_check(const char *as, vt_error *err)
{
    if (as && (strcmp(as, "lab") == 0 || strcmp(as, "playground") == 0)) return VT_OK;
    return fail(err, VT_USAGE, "--as %.60s: expected lab or playground", as ? as : "");
}

/* ---- files -------------------------------------------------------------- */

/* A log may be missing: a foreign model has none. */
static bool may_miss(const char *name) { return strcmp(name, METRICS) == 0; }

static vt_status copy_file(const char *to, const char *from, const char *name, vt_error *err)
{
    char *source = io_join(from, name), *target = io_join(to, name);
    bytes content = { 0 };
    vt_status s = VT_OK;
    if (!source || !target) s = fail_memory(err, strlen(to), "a file's name");
    else if (may_miss(name) && access(source, F_OK) != 0 && errno == ENOENT) (void)unlink(target);
    else if ((s = io_read(&content, source, SIZE_MAX / 4, err)) == VT_OK)
        s = io_replace(target, content.data, content.len, err);
    bytes_free(&content);
    free(source);
    free(target);
    return s;
}

vt_status export_clear(const char *folder, vt_error *err)
{
    enum { NAMES = VT_EXPORT_FILES + 2 };
    const char *names[NAMES] = { MANIFEST_NAME, SEAL };
    memcpy(names + 2, files, sizeof files);
    return io_remove_temporaries(folder, names, NAMES, err);
}

vt_status export_copy(const char *to, const char *model, vt_error *err)
{
    vt_status s = VT_OK;
    for (size_t i = 0; i < COPIED && s == VT_OK; i++) s = copy_file(to, model, files[i], err);
    return s;
}

vt_status export_hash(vt_export_report *r, const char *folder, vt_error *err)
{
    vt_status s = VT_OK;
    r->nfiles = 0;
    for (size_t i = 0; i < VT_EXPORT_FILES && s == VT_OK; i++) {
        char *path = io_join(folder, files[i]);
        struct stat info;
        vt_export_file *f = &r->files[r->nfiles];
        if (!path) return fail_memory(err, strlen(folder), "a file's name");
        if (!may_miss(files[i]) || access(path, F_OK) == 0) {
            f->name = files[i];
            if ((s = sha256_hex_file(f->sha256, path, err)) == VT_OK && stat(path, &info) == 0)
                f->bytes = (size_t)info.st_size;
            r->nfiles++;
        }
        free(path);
    }
    return s;
}

/* ---- the manifest ------------------------------------------------------- */

static void write_build(js_writer *w)
{
    static const char mark[] = "-modified";
    const vt_version_info v = vt_version();
    const size_t n = strlen(v.commit), m = sizeof mark - 1;
    const bool modified = n > m && strcmp(v.commit + n - m, mark) == 0;
    js_key(w, "vitrine");
    js_open_object(w);
    js_field_string(w, "version", v.version);
    js_key(w, "commit");
    js_text(w, v.commit, modified ? n - m : n);
    js_field_string(w, "tree", strcmp(v.commit, "unknown") == 0 ? "unknown"
                               : modified ? "modified" : "clean");
    js_field_string(w, "build", v.build);
    js_close_object(w);
}

static void write_model(js_writer *w, const export_facts *f)
{
    const gpt_config *z = &f->window->z;
    js_key(w, "model");
    js_open_object(w);
    js_field_int(w, "layers", z->L);
    js_field_int(w, "channels", z->C);
    js_field_int(w, "heads", z->NH);
    js_field_int(w, "ff", z->FF);
    js_field_int(w, "context", z->T);
    js_field_int(w, "vocabulary", z->V);
    js_field_bool(w, "tied", z->tied);
    js_field_uint(w, "parameters", f->parameters);
    js_close_object(w);
    js_field_string(w, "state_sha256", f->state_sha256[0] ? f->state_sha256 : NULL);
    static const char *const of_run[] = { "settings", "step", "kernels", "corpus" };
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++) {
        js_key(w, of_run[i]);
        js_value(w, json_object_get(f->run, of_run[i]));
    }
}

static void write_ids(js_writer *w, const char *key, const int *ids, int n)
{
    js_key(w, key);
    js_open_array(w);
    for (int i = 0; i < n; i++) js_int(w, ids[i]);
    js_close_array(w);
}

static void write_rebuilt(js_writer *w, const vt_export_report *r)
{
    js_key(w, "tokenizer_rebuilt");
    js_open_object(w);
    js_key(w, "equal");
    if (r->rebuilt < 0) js_null(w);
    else js_bool(w, r->rebuilt > 0);
    js_field_string(w, "why", r->rebuilt_why);
    js_close_object(w);
}

void export_write_window(js_writer *w, const export_facts *f)
{
    js_key(w, "text");
    js_text(w, f->text, f->text_length);
    js_field_uint(w, "text_tokens", f->text_tokens);
    write_ids(w, "tokens", f->tokens, f->window->T);
    write_ids(w, "targets", f->targets, f->window->T);
    js_key(w, "loss");
    if (isnan(f->window->loss)) js_null(w);     /* no target counts */
    else js_number(w, f->window->loss);
}

void export_write_origin(js_writer *w, const export_facts *facts)
{
    write_build(w);
    js_field_string(w, "source", "actual-model-output");
    write_model(w, facts);
}

static void write_hashes(js_writer *w, const vt_export_report *r, const gpt_window *window)
{
    js_key(w, "files");
    js_open_object(w);
    for (size_t i = 0; i < r->nfiles; i++) {
        js_key(w, r->files[i].name);
        js_open_object(w);
        js_field_string(w, "sha256", r->files[i].sha256);
        js_field_uint(w, "bytes", r->files[i].bytes);
        js_close_object(w);
    }
    js_close_object(w);
    js_key(w, "tensors");
    js_open_object(w);
    js_field_string(w, "sha256", r->tensors_sha256);
    js_field_uint(w, "count", r->tensors);
    js_key(w, "names");
    js_open_array(w);
    for (size_t i = 0; i < window->count; i++) js_string(w, window->stages[i].name);
    js_close_array(w);
    js_close_object(w);
}

/* What sha256sum prints of the manifest: so that one wrong byte of it is found, too. */
static void seal_text(char out[SEAL_SIZE], const bytes *manifest)
{
    char hash[65];
    sha256_hex(hash, manifest->data, manifest->len);
    snprintf(out, SEAL_SIZE, "%s  " MANIFEST_NAME "\n", hash);
}

static vt_status write_seal(const char *folder, const bytes *manifest, vt_error *err)
{
    char line[SEAL_SIZE];
    char *path = io_join(folder, SEAL);
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    seal_text(line, manifest);
    const vt_status s = io_replace(path, line, strlen(line), err);
    free(path);
    return s;
}

vt_status export_write_manifest(const char *folder, const vt_export_report *r,
                                const export_facts *facts, vt_error *err)
{
    char *path = io_join(folder, MANIFEST_NAME);
    bytes text = { 0 };
    js_writer w;
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    export_write_origin(&w, facts);
    write_rebuilt(&w, r);
    export_write_window(&w, facts);
    write_hashes(&w, r, facts->window);
    js_key(&w, "checks");
    js_open_object(&w);
    js_field_number(&w, "row_sum_gap", r->row_sum_gap);
    js_field_uint(&w, "masked_nonzero", r->masked_nonzero);
    js_field_uint(&w, "masked_cells", r->masked_cells);
    js_field_string(&w, "shapes", "ok");        /* window_compare found them so */
    js_field_number(&w, "largest_dbk", r->largest_dbk);
    js_close_object(&w);
    js_close_object(&w);
    vt_status s = js_end(&w, err);
    if (s == VT_OK) s = bytes_append(&text, "\n", 1, err);
    if (s == VT_OK) s = write_seal(folder, &text, err);
    if (s == VT_OK) s = io_replace(path, text.data, text.len, err);
    bytes_free(&text);
    free(path);
    return s;
}

/* ---- back --------------------------------------------------------------- */

static vt_status check_seal(const char *folder, const bytes *manifest, vt_error *err)
{
    char expected[SEAL_SIZE];
    bytes line = { 0 };
    char *path = io_join(folder, SEAL);
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    seal_text(expected, manifest);
    vt_status s = io_read(&line, path, SEAL_SIZE, err);
    if (s == VT_OK && (line.len != strlen(expected) || memcmp(line.data, expected, line.len) != 0))
        s = fail(err, VT_CHECK_FAILED, "%s: " MANIFEST_NAME " has sha256 %.16s..., this file says "
                 "another", path, expected);
    bytes_free(&line);
    free(path);
    return s;
}

vt_status export_read_manifest(json_t **out, const char *folder, vt_error *err)
{
    bytes text = { 0 };
    char *path = io_join(folder, MANIFEST_NAME);
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    vt_status s = io_read(&text, path, MOST_MANIFEST, err);
    if (s == VT_OK) s = check_seal(folder, &text, err);
    if (s == VT_OK) s = js_parse(out, text.data, text.len, path, err);
    bytes_free(&text);
    free(path);
    return s;
}

vt_status export_compare_files(const json_t *manifest, const char *folder,
                               const vt_export_report *r, vt_error *err)
{
    const json_t *list, *entry;
    const char *expected;
    vt_status s = js_get_object(manifest, "files", folder, &list, err);
    if (s) return s;
    if (json_object_size(list) != r->nfiles)
        return fail(err, VT_CHECK_FAILED, "%s: the manifest names %zu files, of which %zu are "
                    "known and there", folder, json_object_size(list), r->nfiles);
    for (size_t i = 0; i < r->nfiles; i++) {
        const vt_export_file *f = &r->files[i];
        if ((s = js_get_object(list, f->name, folder, &entry, err)) ||
            (s = js_get_string(entry, "sha256", f->name, &expected, err)))
            return s;
        if (strcmp(expected, f->sha256) != 0)
            return fail(err, VT_CHECK_FAILED, "%s/%s: has sha256 %.16s..., the manifest says "
                        "%.16s...", folder, f->name, f->sha256, expected);
    }
    return VT_OK;
}

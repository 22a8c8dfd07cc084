/* manifest.c -- see manifest.h. */
#include "provenance/manifest.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "vitrine.h"

static const char *const files[MANIFEST_FILES] = { "state.safetensors", "model.safetensors", "config.json",
                                     "tokenizer.json" };
enum { MOST_MANIFEST = 1 << 22 };

typedef struct manifest_verdict { size_t match, differ, missing; } manifest_verdict;

void manifest_write_build(js_writer *w)
{
    const vt_version_info v = vt_version();
    js_key(w, "vitrine");
    js_open_object(w);
    js_field_string(w, "version", v.version);
    js_field_string(w, "commit", v.commit);
    js_field_string(w, "build", v.build);
    js_close_object(w);
}

static vt_status hash_file(char hash[65], const char *folder, const char *name, vt_error *err)
{
    char *path = io_join(folder, name);
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    const vt_status s = sha256_hex_file(hash, path, err);
    free(path);
    return s;
}

void manifest_write_files(js_writer *w, const char *const hashes[MANIFEST_FILES])
{
    js_key(w, "files");
    js_open_object(w);
    for (size_t i = 0; i < MANIFEST_FILES; i++) js_field_string(w, files[i], hashes[i]);
    js_close_object(w);
}

/* Appends to `text` what is wrong with a file, and counts it in `v`. */
static vt_status judge(manifest_verdict *v, char *text, size_t size, const char *folder,
                       const char *name, const char *expected, vt_error *err)
{
    struct stat info;
    char hash[65], *path = io_join(folder, name);
    const size_t n = strlen(text);
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    const bool there = stat(path, &info) == 0 || errno != ENOENT;
    free(path);
    if (!there) {
        v->missing++;
        snprintf(text + n, size - n, "%s%s is not there", n ? "; " : "", name);
        return VT_OK;
    }
    const vt_status s = hash_file(hash, folder, name, err);
    if (s) return s;
    if (strcmp(expected, hash) == 0) {
        v->match++;
        return VT_OK;
    }
    v->differ++;
    snprintf(text + n, size - n, "%s%s has sha256 %.16s..., the manifest says %.16s...",
             n ? "; " : "", name, hash, expected);
    return VT_OK;
}

/* The files from the `first` on, against the list of an open manifest. */
static vt_status compare(const json_t *root, const char *folder, const char *path, size_t first,
                         vt_error *err)
{
    manifest_verdict v = { .match = 0 };
    char text[460] = "";
    const json_t *list;
    vt_status s = js_get_object(root, "files", path, &list, err);
    for (size_t i = first; i < MANIFEST_FILES && s == VT_OK; i++) {
        const char *expected;
        if ((s = js_get_string(list, files[i], path, &expected, err)) == VT_OK)
            s = judge(&v, text, sizeof text, folder, files[i], expected, err);
    }
    if (s || v.differ + v.missing == 0) return s;
    return fail(err, v.differ ? VT_BAD_INPUT : VT_IO, "%.200s: %s%s", path, text,
                v.match ? "; the others match" : "");
}

vt_status manifest_verify(const char *folder, vt_error *err)
{
    char *path = io_join(folder, MANIFEST_NAME);
    json_t *root = NULL;
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    vt_status s = js_read(&root, path, MOST_MANIFEST, err);
    if (s == VT_OK) s = compare(root, folder, path, 0, err);
    json_decref(root);
    free(path);
    return s;
}

/* A site's manifest.json has other entries for its files. */
static bool of_a_run(const json_t *root)
{
    return json_is_object(json_object_get(root, "vitrine")) &&
           json_is_string(json_object_get(json_object_get(root, "files"), files[1]));
}

vt_status manifest_of_model(json_t **root, const char *folder, vt_error *err)
{
    struct stat info;
    char *path = io_join(folder, MANIFEST_NAME);
    vt_status s = VT_OK;
    *root = NULL;
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    if (stat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) goto done;
    if ((s = js_read(root, path, MOST_MANIFEST, err))) goto done;
    if (of_a_run(*root)) s = compare(*root, folder, path, 1, err);
    else {
        json_decref(*root);
        *root = NULL;
    }
    if (s) {
        json_decref(*root);
        *root = NULL;
    }
done:
    free(path);
    return s;
}

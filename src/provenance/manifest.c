/* manifest.c -- see manifest.h. */
#include "provenance/manifest.h"
#include <stdlib.h>
#include <string.h>
#include "vitrine.h"

static const char *const files[] = { "state.safetensors", "model.safetensors", "config.json",
                                     "tokenizer.json" };
enum { FILES = sizeof files / sizeof *files, MOST_MANIFEST = 1 << 22 };

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

vt_status manifest_write_files(js_writer *w, const char *folder, vt_error *err)
{
    js_key(w, "files");
    js_open_object(w);
    for (size_t i = 0; i < FILES; i++) {
        char hash[65];
        const vt_status s = hash_file(hash, folder, files[i], err);
        if (s) return s;
        js_field_string(w, files[i], hash);
    }
    js_close_object(w);
    return VT_OK;
}

vt_status manifest_verify(const char *folder, vt_error *err)
{
    char *path = io_join(folder, MANIFEST_NAME);
    json_t *root = NULL;
    const json_t *list;
    vt_status s;
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    if ((s = js_read(&root, path, MOST_MANIFEST, err)) ||
        (s = js_get_object(root, "files", path, &list, err)))
        goto done;
    for (size_t i = 0; i < FILES; i++) {
        const char *expected;
        char hash[65];
        if ((s = js_get_string(list, files[i], path, &expected, err)) ||
            (s = hash_file(hash, folder, files[i], err)))
            goto done;
        if (strcmp(expected, hash) != 0) {
            s = fail(err, VT_BAD_INPUT, "%s: %s has sha256 %.16s..., the manifest says %.16s...",
                     path, files[i], hash, expected);
            goto done;
        }
    }
done:
    json_decref(root);
    free(path);
    return s;
}

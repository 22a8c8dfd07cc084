/* fuzz_manifest.c -- a folder's manifest: it matches only where each file's sha256
 * stands in it.  The files are empty but for one that holds "x".
 */
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "formats/json.h"
#include "provenance/manifest.h"

static const char *const names[] = { "state.safetensors", "model.safetensors", "config.json",
                                     "tokenizer.json" };
/* FIPS 180-4: of no bytes, and of the letter x. */
static const char nothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char an_x[] = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

static const char *folder;

static void remove_files(void)
{
    char path[400];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    /* the link and the folder were registered before, so they go after */
}

static void make_files(void)
{
    char path[400];
    folder = fuzz_folder(MANIFEST_NAME);
    HOLDS(atexit(remove_files) == 0);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *f = fopen(path, "wb");
        HOLDS(f && (i != 3 || fputc('x', f) == 'x') && fclose(f) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)fuzz_file(data, size);
    if (!folder) make_files();
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                              NULL);
    const json_t *files = json_object_get(root, "files");
    bool matches = true;
    for (size_t i = 0; i < 4 && matches; i++) {
        const json_t *text = json_object_get(files, names[i]);
        matches = json_string_length(text) == 64 &&
                  strcmp(json_string_value(text), i == 3 ? an_x : nothing) == 0;
    }
    const vt_status s = manifest_verify(folder, &fuzz_error);
    if (s != VT_OK) fuzz_refused(s, 1u << VT_BAD_INPUT, folder);
    HOLDS((s == VT_OK) == matches);
    json_decref(root);
    return 0;
}

/* outputs.c -- see outputs.h.  Files are the same where device and number are. */
#include "cli/outputs.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

vt_status output_ready(const char *option, const char *path, const char *reads, vt_error *err)
{
    struct stat to, other;
    if (!path) return VT_OK;
    if (stat(path, &to) == 0) {
        if (reads && stat(reads, &other) == 0 && same(&to, &other))
            return fail(err, VT_USAGE, "%s %s: is the file that is to be checked", option, path);
        if (fstat(STDOUT_FILENO, &other) == 0 && S_ISREG(other.st_mode) && same(&to, &other))
            return fail(err, VT_USAGE, "%s %s: is where standard output goes", option, path);
    }
    vt_error why;
    const vt_status s = io_writable(path, &why);
    return s ? fail(err, s, "%s: %s", option, why.text) : VT_OK;
}

vt_status output_outside(const char *option, const char *path, const char *folder, vt_error *err)
{
    static const char *const files[] = { "state.safetensors", "model.safetensors", "config.json",
                                         "tokenizer.json", "manifest.json", "metrics.jsonl" };
    vt_status s = VT_OK;
    for (size_t i = 0; i < sizeof files / sizeof *files && path && s == VT_OK; i++) {
        char *file = io_join(folder, files[i]);
        s = file ? output_ready(option, path, file, err) : fail_memory(err, 1, "a path");
        free(file);
    }
    return s;
}

/* outputs.c -- see outputs.h.  Files are the same where device and number are; names
 * that are not there yet, where their folders are. */
#include "cli/outputs.h"
#include <stdlib.h>
#include <string.h>
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
            return fail(err, VT_USAGE, "%s %s: is the file that is read", option, path);
        if (fstat(STDOUT_FILENO, &other) == 0 && S_ISREG(other.st_mode) && same(&to, &other))
            return fail(err, VT_USAGE, "%s %s: is where standard output goes", option, path);
    }
    vt_error why;
    const vt_status s = io_writable(path, &why);
    return s ? fail(err, s, "%s: %s", option, why.text) : VT_OK;
}

/* Whether `path` leads to the name `file` in the folder.  Also where no such file is yet: a
 * model of another maker has no state.safetensors, and would not be read with one. */
static bool leads_to(const char *path, const char *folder, const char *file)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat at, of;
    if (strcmp(name, file) != 0 || stat(folder, &of) != 0) return false;
    char *parent = slash == path ? strdup("/") : slash ? strndup(path, (size_t)(slash - path))
                                                       : strdup(".");
    const bool there = parent && stat(parent, &at) == 0 && same(&at, &of);
    free(parent);
    return there;
}

vt_status output_outside(const char *option, const char *path, const char *folder, vt_error *err)
{
    static const char *const files[] = { "state.safetensors", "model.safetensors", "config.json",
                                         "tokenizer.json", "manifest.json", "metrics.jsonl" };
    for (size_t i = 0; i < sizeof files / sizeof *files && path; i++) {
        struct stat to, other;
        char *file = io_join(folder, files[i]);
        if (!file) return fail_memory(err, strlen(folder), "a path");
        const bool of_model = leads_to(path, folder, files[i]) ||
                              (stat(path, &to) == 0 && stat(file, &other) == 0 && same(&to, &other));
        free(file);
        if (of_model) return fail(err, VT_USAGE, "%s %s: is a file of the model", option, path);
    }
    return output_ready(option, path, NULL, err);
}

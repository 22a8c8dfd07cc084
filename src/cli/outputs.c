/* outputs.c -- see outputs.h.  Files are the same where device and number are; names
 * that are not there yet, where their folders are. */
#include "cli/outputs.h"
#include <errno.h>
#include <fcntl.h>
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

/* The folder that `path` lies in. */
static bool parent_of(const char *path, struct stat *out)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash == path ? strdup("/") : slash ? strndup(path, (size_t)(slash - path))
                                                       : strdup(".");
    const bool there = parent && stat(parent, out) == 0;
    free(parent);
    return there;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether `path` leads to the name `file` in the folder.  Also where no such file is yet: a
 * model of another maker has no state.safetensors, and would not be read with one. */
static bool leads_to(const char *path, const char *folder, const char *file)
{
    struct stat at, of;
    return strcmp(name_of(path), file) == 0 && stat(folder, &of) == 0 && parent_of(path, &at) &&
           same(&at, &of);
}

vt_status outputs_differ(const char *option, const char *path, const char *other, const char *second,
                         vt_error *err)
{
    struct stat a, b;
    if (!path || !second) return VT_OK;
    const bool one = (stat(path, &a) == 0 && stat(second, &b) == 0 && same(&a, &b)) ||
                     (strcmp(name_of(path), name_of(second)) == 0 && parent_of(path, &a) &&
                      parent_of(second, &b) && same(&a, &b));
    return one ? fail(err, VT_USAGE, "%s %s: is the file of %s, too", other, second, option) : VT_OK;
}

vt_status input_ready(const char *path, vt_error *err)
{
    struct stat at;
    if (stat(path, &at) == 0) {
        if (S_ISDIR(at.st_mode)) return fail(err, VT_IO, "%s: is a folder, expected a file", path);
        if (!S_ISREG(at.st_mode)) return VT_OK;
    }
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return fail(err, VT_IO, "%s: cannot open: %s", path, strerror(errno));
    close(file);
    return VT_OK;
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

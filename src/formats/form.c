/* form.c -- see form.h. */
#include "formats/form.h"
#include <stdio.h>
#include <string.h>

static const char *const extensions[] = { ".npz", ".safetensors", ".json", ".csv" };
enum { FORMS = sizeof extensions / sizeof *extensions };

const char *form_extension(form f)
{
    size_t i = 0;
    while (i < FORMS - 1 && !((unsigned)f >> i & 1)) i++;
    return extensions[i];
}

/* A file that is named ".npz" has no extension. */
static bool ends_in(const char *path, const char *extension)
{
    const size_t n = strlen(path), m = strlen(extension);
    return n > m && strcmp(path + n - m, extension) == 0 && path[n - m - 1] != '/';
}

/* ".npz, .safetensors or .csv" */
static void list(char *out, size_t size, unsigned allowed)
{
    size_t left = 0, n = 0;
    for (size_t i = 0; i < FORMS; i++) left += allowed >> i & 1;
    out[0] = 0;
    for (size_t i = 0; i < FORMS; i++) {
        if (!(allowed >> i & 1)) continue;
        left--;
        const int some = snprintf(out + n, size - n, "%s%s", extensions[i],
                                  left > 1 ? ", " : left == 1 ? " or " : "");
        if (some > 0 && (size_t)some < size - n) n += (size_t)some;
    }
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

/* No two of them begin alike: .npy, .NPZ, .jsonl, .st and .cvs say what is meant. */
static const char *meant(const char *dot, unsigned allowed)
{
    for (size_t i = 0; dot && i < FORMS; i++)
        if (allowed >> i & 1 && lower(dot[1]) == extensions[i][1]) return extensions[i];
    return NULL;
}

vt_status form_of(form *out, const char *path, unsigned allowed, vt_error *err)
{
    char names[64];
    for (size_t i = 0; i < FORMS; i++)
        if (allowed >> i & 1 && ends_in(path, extensions[i])) {
            *out = (form)(1u << i);
            return VT_OK;
        }
    list(names, sizeof names, allowed);
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const char *dot = *file ? strrchr(file + 1, '.') : NULL, *near = meant(dot, allowed);
    if (near)
        return fail(err, VT_USAGE, "%.300s: expected a name that ends in %s; is %.*s%s meant?", path,
                    names, dot - file < 100 ? (int)(dot - file) : 100, file, near);
    return fail(err, VT_USAGE, "%.300s: expected a name that ends in %s", path, names);
}

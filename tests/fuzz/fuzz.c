/* fuzz.c -- see fuzz.h. */
#define _GNU_SOURCE         /* memfd_create: ten times as many runs as with a disk's file */
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/utf8.h"

vt_error fuzz_error;

_Noreturn void fuzz_broken(const char *file, int line, const char *what, const char *why)
{
    fprintf(stderr, "%s:%d: does not hold: %s%s%s\n", file, line, what, why ? ": " : "",
            why ? why : "");
    abort();
}

void fuzz_works(const char *file, int line, const char *call, vt_status status)
{
    if (status != VT_OK) fuzz_broken(file, line, call, fuzz_error.text);
}

void fuzz_refused(vt_status status, unsigned may, const char *name)
{
    char plain[sizeof fuzz_error.text];
    const char *text = fuzz_error.text;
    HOLDS(status != VT_OK && (may >> status & 1) != 0);
    HOLDS(strlen(text) < sizeof plain);
    strcpy(plain, text);
    utf8_plain(plain, false);
    HOLDS(strcmp(plain, text) == 0);
    HOLDS(strncmp(text, name, strlen(name)) == 0);
}

unsigned char *fuzz_copy(const void *data, size_t n)
{
    unsigned char *copy = malloc(n ? n : 1);
    if (!copy) fuzz_broken(__FILE__, __LINE__, "memory", NULL);
    if (n > 0) memcpy(copy, data, n);
    return copy;
}

/* --- files --------------------------------------------------------------- */

static char file_path[64], folder_path[300], link_path[400];

const char *fuzz_file(const void *data, size_t n)
{
    static int file = -1;
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        HOLDS(file >= 0);
        snprintf(file_path, sizeof file_path, "/proc/self/fd/%d", file);
    }
    HOLDS(ftruncate(file, 0) == 0);
    HOLDS(pwrite(file, data, n, 0) == (ssize_t)n);
    return file_path;
}

static void remove_folder(void)
{
    (void)unlink(link_path);
    (void)rmdir(folder_path);
}

const char *fuzz_folder(const char *name)
{
    if (!folder_path[0]) {
        const char *tmp = getenv("TMPDIR");
        snprintf(folder_path, sizeof folder_path, "%.200s/vitrine-fuzz-XXXXXX", tmp ? tmp : "/tmp");
        HOLDS(mkdtemp(folder_path) != NULL);
        snprintf(link_path, sizeof link_path, "%s/%s", folder_path, name);
        HOLDS(symlink(file_path, link_path) == 0);
        HOLDS(atexit(remove_folder) == 0);
    }
    return folder_path;
}

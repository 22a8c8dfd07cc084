/* tokenizer_given.c -- see tokenizer_given.h. */
#include "train/tokenizer_given.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/io.h"

enum { MOST_BYTES = 1 << 28 };

vt_status tokenizer_given(bpe **out, const char *path, vt_error *err)
{
    struct stat info;
    bytes text = { 0 };
    const bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    char *file = folder ? io_join(path, "tokenizer.json") : strdup(path);
    *out = NULL;
    if (!file) return fail_memory(err, strlen(path), "a file's name");
    vt_status s = io_read_written(&text, file, MOST_BYTES, err);
    if (s == VT_OK) s = bpe_from_json(out, text.data, text.len, file, err);
    bytes_free(&text);
    free(file);
    return s;
}

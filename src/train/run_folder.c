/* run_folder.c -- see run_folder.h. */
#include "train/run_folder.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/io.h"
#include "base/progress.h"
#include "model/checkpoint.h"
#include "provenance/manifest.h"
#include "train/memory_plan.h"
#include "train/metrics.h"

/* The state first: where it is there, all others are its. */
static const char *const names[] = { CHECKPOINT_STATE, CHECKPOINT_MODEL, "config.json",
                                     "tokenizer.json", MANIFEST_NAME, METRICS_NAME };
enum { FILES = sizeof names / sizeof *names };

/* *there: of a name in the folder, also of a link to nowhere. */
static vt_status look(bool *there, const char *path, vt_error *err)
{
    struct stat info;
    *there = lstat(path, &info) == 0;
    if (*there || errno == ENOENT || errno == ENOTDIR) return VT_OK;
    return fail(err, status_of(errno), "%s: cannot be looked for: %s", path, strerror(errno));
}

/* ---- a new run ----------------------------------------------------------- */

/* Whether a log begins as ours do.  Its first line may be torn: then as far as it goes. */
static vt_status is_log(bool *ours, const char *path, vt_error *err)
{
    static const char begin[] = "{\"step\": 1, \"loss\": ";
    struct stat info;
    bytes head = { 0 };
    int file = -1;
    size_t size;
    *ours = false;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return VT_OK;
    vt_status s = io_open_regular(&file, &size, path, SIZE_MAX, err);
    const size_t n = s == VT_OK && size < sizeof begin - 1 ? size : sizeof begin - 1;
    if (s == VT_OK && (s = io_read_more(&head, file, n, path, err)) == VT_OK)
        *ours = n == 0 || memcmp(head.data, begin, n) == 0;
    if (file >= 0) (void)close(file);
    bytes_free(&head);
    return s;
}

static vt_status keep_file(const char *folder, const char *name, vt_error *err)
{
    bool there, ours = false;
    char *path = io_join(folder, name);
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    vt_status s = look(&there, path, err);
    if (s == VT_OK && there && strcmp(name, METRICS_NAME) == 0) s = is_log(&ours, path, err);
    if (s || !there || ours) goto done;
    s = strcmp(name, CHECKPOINT_STATE) == 0
      ? fail(err, VT_USAGE, "%s: a checkpoint is there already; --resume goes on with it, another "
             "--out keeps it", path)
      : fail(err, VT_USAGE, "%s: is there already, and of no checkpoint; training would replace "
             "it: another --out keeps it", path);
done:
    free(path);
    return s;
}

vt_status run_folder_new(const char *folder, vt_error *err)
{
    vt_status s = VT_OK;
    for (size_t i = 0; i < FILES && s == VT_OK; i++) s = keep_file(folder, names[i], err);
    return s;
}

/* ---- a run that goes on --------------------------------------------------- */

vt_status run_folder_old(const char *folder, vt_error *err)
{
    struct stat info;
    bool state = false, model = false;
    char *first = io_join(folder, CHECKPOINT_STATE), *second = io_join(folder, CHECKPOINT_MODEL);
    vt_status s = VT_OK;
    if (!first || !second) s = fail_memory(err, strlen(folder), "a file's name");
    else if (stat(folder, &info) != 0 && errno == ENOENT)
        s = fail(err, VT_IO, "%s: no such folder: expected that of the run to resume; a new run "
                 "begins without --resume", folder);
    else if (stat(folder, &info) == 0 && !S_ISDIR(info.st_mode))
        s = fail(err, VT_IO, "%s: is a file, expected the folder of the run to resume", folder);
    else if ((s = look(&state, first, err)) == VT_OK && !state)
        s = look(&model, second, err);
    if (s) goto done;
    if (model)
        s = fail(err, VT_BAD_INPUT, "%s: expected " CHECKPOINT_STATE ": without it a run cannot be "
                 "resumed", folder);
    else if (!state)
        s = fail(err, VT_IO, "%s: nothing was saved there yet: leave --resume out, and the run "
                 "begins", folder);
done:
    free(first);
    free(second);
    return s;
}

/* ---- the disk ------------------------------------------------------------ */

/* The folder, or the nearest of its parents that is there. */
static vt_status nearest_folder(char **out, const char *folder, vt_error *err)
{
    struct stat info;
    char *path = *out = strdup(folder);
    if (!path) return fail_memory(err, strlen(folder) + 1, "a path");
    while (path[0] && stat(path, &info) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return fail(err, status_of(errno), "%s: cannot be looked for: %s", folder,
                        strerror(errno));
        size_t n = strlen(path);
        while (n > 1 && path[n - 1] == '/') n--;
        while (n > 0 && path[n - 1] != '/') n--;
        while (n > 1 && path[n - 1] == '/') n--;
        path[n] = 0;
    }
    if (path[0]) return VT_OK;
    free(path);
    *out = strdup(".");
    return *out ? VT_OK : fail_memory(err, 2, "a path");
}

vt_status run_folder_writable(const char *folder, vt_error *err)
{
    struct stat info;
    char *there = NULL;
    vt_status s = nearest_folder(&there, folder, err);
    if (s == VT_OK && stat(there, &info) == 0 && !S_ISDIR(info.st_mode))
        s = fail(err, VT_IO, "%s: cannot make the folder: a file of that name is there", there);
    else if (s == VT_OK && access(there, W_OK | X_OK) != 0)
        s = strcmp(there, folder) == 0
          ? fail(err, VT_IO, "%s: cannot be written: %s", folder, strerror(errno))
          : fail(err, VT_IO, "%s: cannot make the folder: %s", folder, strerror(errno));
    free(there);
    return s;
}

/* Of the state and the model that are there. */
static size_t held(const char *folder)
{
    size_t sum = 0;
    for (size_t i = 0; i < 2; i++) {
        struct stat info;
        char *path = io_join(folder, names[i]);
        if (path && stat(path, &info) == 0 && info.st_size > 0) sum += (size_t)info.st_size;
        free(path);
    }
    return sum;
}

vt_status run_folder_room(const char *folder, size_t parameters, bool again, vt_error *err)
{
    size_t stays, beside, needed;
    char *there = NULL, *file = NULL;
    memory_plan_disk(&stays, &beside, parameters);
    if (!size_add(stays, again ? beside : 0, &needed))
        return fail(err, VT_TOO_LARGE, "the files' sizes overflow");
    const size_t old = held(folder);
    needed = needed > old ? needed - old : 0;
    vt_status s = nearest_folder(&there, folder, err);
    if (s == VT_OK && !(file = io_join(there, CHECKPOINT_STATE)))
        s = fail_memory(err, strlen(there), "a file's name");
    const uint64_t left = s == VT_OK ? io_free(file) : 0;
    if (s == VT_OK && left < needed) {
        char takes[24], has[24];
        progress_bytes(takes, sizeof takes, (double)needed);
        progress_bytes(has, sizeof has, (double)left);
        s = fail(err, VT_IO, "%s: No space left there for %s: it takes %s, and %s are free", folder,
                 again ? "the checkpoint and the next beside it" : "the checkpoint", takes, has);
    }
    free(file);
    free(there);
    return s;
}

vt_status run_folder_clean(const char *folder, vt_error *err)
{
    return io_remove_temporaries(folder, names, FILES, err);
}

/* io.c -- see io.h.
 *
 * A temporary is named PATH.tmp-PID-K and made only if no such file is there.
 * A process killed in mid-write leaves it behind (io_remove_temporaries); the
 * file at PATH is then still the old one.  A symbolic link at PATH is followed, and
 * stays: what it leads to is replaced.
 *
 * References: POSIX.1-2017 rename() ("if newpath names an existing file it is
 * replaced, and a link named newpath remains visible throughout"), fsync().
 */
#define _GNU_SOURCE             /* getdents64 */
#include "base/io.h"
#include "base/huge.h"
#include "base/interrupt.h"
#include "base/sha256.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The most one read or write is asked for: POSIX leaves more than SSIZE_MAX
 * open, and Linux moves at most 2 GiB.  Less, so that a signal is seen in between. */
static size_t one_call(size_t n)
{
    const size_t most = (size_t)1 << 26;
    return n < most ? n : most;
}

static vt_status too_long(const char *path, size_t limit, vt_error *err)
{
    return fail(err, VT_TOO_LARGE, "%s: the file is longer than the %zu bytes allowed here",
                path, limit);
}

static vt_status read_all(bytes *out, int file, size_t expected, const char *path,
                          size_t limit, vt_error *err)
{
    vt_status status = bytes_room(out, expected, err);
    if (status == VT_OK) huge_advise(out->data, out->cap);
    while (status == VT_OK && (status = interrupt_check(err)) == VT_OK) {
        if (out->len == out->cap - 1) {         /* full: is there more? */
            const size_t grow = out->cap < 65536 ? 65536 : out->cap;
            status = bytes_room(out, grow, err);
            if (status != VT_OK) break;
            huge_advise(out->data, out->cap);
        }
        const ssize_t n = read(file, out->data + out->len, one_call(out->cap - 1 - out->len));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(err, status_of(errno), "%s: cannot read: %s", path, strerror(errno));
        if (n == 0) break;
        out->len += (size_t)n;
        if (out->len > limit) return too_long(path, limit, err);
    }
    if (status == VT_OK) out->data[out->len] = 0;
    return status;
}

/* Opens; a signal that asks to stop ends the wait for a pipe's writer. */
static vt_status open_to_read(int *file, const char *path, int flags, vt_error *err)
{
    for (;;) {
        *file = open(path, O_RDONLY | O_CLOEXEC | flags);
        if (*file >= 0) return VT_OK;
        if (errno != EINTR)
            return fail(err, status_of(errno), "%s: cannot open: %s", path, strerror(errno));
        const vt_status status = interrupt_check(err);
        if (status) return status;
    }
}

/* What a pipe holds already, of a file opened with O_NONBLOCK, which is taken back.  A pipe
 * without a writer is at its end at once; one with a writer has bytes, or says EAGAIN. */
static vt_status read_first(bytes *out, int file, const char *path, vt_error *err)
{
    vt_status status = bytes_room(out, 65536, err);
    if (status) return status;
    const ssize_t n = read(file, out->data, 65536);
    if (n == 0)
        return fail(err, VT_IO, "%s: a pipe that nobody writes to: expected a file, or a pipe with "
                    "its writer", path);
    if (n > 0) out->len = (size_t)n;
    return VT_OK;                               /* other failures come again, and are told */
}

static vt_status read_path(bytes *out, const char *path, size_t limit, bool waits, vt_error *err)
{
    memset(out, 0, sizeof *out);
    int file;
    vt_status status = open_to_read(&file, path, waits ? 0 : O_NONBLOCK, err);
    if (status) return status;
    struct stat info;
    const bool known = fstat(file, &info) == 0;
    const int why = errno;
    if (known && !waits && S_ISFIFO(info.st_mode)) status = read_first(out, file, path, err);
    if (!waits) (void)fcntl(file, F_SETFL, 0);
    if (status) {
        /* told */
    } else if (!known) {
        status = fail(err, status_of(why), "%s: cannot stat: %s", path, strerror(why));
    } else if (S_ISDIR(info.st_mode)) {
        status = fail(err, VT_IO, "%s: is a folder, expected a file", path);
    } else if (out->len > limit || (S_ISREG(info.st_mode) && (uintmax_t)info.st_size > limit)) {
        status = too_long(path, limit, err);
    } else {
        /* One byte more than the file's length: the read that ends it needs
         * no growth. */
        const bool regular = S_ISREG(info.st_mode);
        const size_t expected = regular ? (size_t)info.st_size + 1 : 65536;
        if (!regular && limit > IO_STREAM_MOST) limit = IO_STREAM_MOST;
        status = read_all(out, file, expected, path, limit, err);
    }
    (void)close(file);
    if (status != VT_OK) bytes_free(out);
    return status;
}

vt_status io_read(bytes *out, const char *path, size_t limit, vt_error *err)
{
    return read_path(out, path, limit, true, err);
}

vt_status io_read_written(bytes *out, const char *path, size_t limit, vt_error *err)
{
    return read_path(out, path, limit, false, err);
}

vt_status io_open_regular(int *file, size_t *size, const char *path, size_t limit, vt_error *err)
{
    struct stat info;
    vt_status status = VT_OK;
    /* O_NONBLOCK: the opening of a pipe would wait for its writer. */
    do *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); while (*file < 0 && errno == EINTR);
    if (*file < 0) return fail(err, VT_IO, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(*file, &info) != 0)
        status = fail(err, VT_IO, "%s: cannot stat: %s", path, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        status = fail(err, VT_IO, "%s: is a folder, expected a file", path);
    else if (!S_ISREG(info.st_mode))
        status = fail(err, VT_IO, "%s: expected a regular file", path);
    else if ((uintmax_t)info.st_size > limit)
        status = too_long(path, limit, err);
    if (status == VT_OK) {
        *size = (size_t)info.st_size;
        return VT_OK;
    }
    (void)close(*file);
    *file = -1;
    return status;
}

vt_status io_read_more(bytes *out, int file, size_t n, const char *path, vt_error *err)
{
    vt_status status = bytes_room(out, n, err);
    while (status == VT_OK && n > 0) {
        const ssize_t got = read(file, out->data + out->len, one_call(n));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(err, VT_IO, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0) return fail(err, VT_IO, "%s: became shorter while it was read", path);
        out->len += (size_t)got;
        n -= (size_t)got;
    }
    if (status == VT_OK) out->data[out->len] = 0;
    return status;
}

vt_status io_read_regular(bytes *out, const char *path, size_t limit, vt_error *err)
{
    int file;
    size_t size;
    memset(out, 0, sizeof *out);
    vt_status status = io_open_regular(&file, &size, path, limit, err);
    if (status != VT_OK) return status;
    status = io_read_more(out, file, size, path, err);
    (void)close(file);
    if (status != VT_OK) bytes_free(out);
    return status;
}

static vt_status write_all(int file, const void *data, size_t n, const char *path, vt_error *err)
{
    const char *at = data;
    while (n > 0) {
        const ssize_t written = write(file, at, one_call(n));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail(err, status_of(errno), "%s: cannot write: %s", path,
                                     strerror(errno));
        if (written == 0) return fail(err, VT_IO, "%s: cannot write: no progress", path);
        at += written;
        n -= (size_t)written;
    }
    return VT_OK;
}

static int sync_file(int file)
{
    int result;
    do result = fsync(file); while (result != 0 && errno == EINTR);
    return result;
}

/* Makes a rename in `path`'s folder last.  Some file systems cannot (EINVAL). */
static vt_status sync_folder(const char *path, vt_error *err)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    char *folder = malloc(n + 2);
    if (!folder) return fail_memory(err, n + 2, "a path");
    memcpy(folder, n > 0 ? path : ".", n > 0 ? n : 1);
    folder[n > 0 ? n : 1] = 0;
    vt_status status = VT_OK;
    const int file = open(folder, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        /* A folder may be writable without being readable. */
        if (errno != EACCES)
            status = fail(err, status_of(errno), "%s: cannot open the folder: %s", folder,
                          strerror(errno));
    } else {
        if (sync_file(file) != 0 && errno != EINVAL)
            status = fail(err, status_of(errno), "%s: cannot sync the folder: %s", folder,
                          strerror(errno));
        (void)close(file);
    }
    free(folder);
    return status;
}

/* A new file beside `path`; its name in *name (free it). */
static vt_status open_beside(const char *path, int *file, char **name, vt_error *err)
{
    size_t size;
    if (!size_add(strlen(path), 64, &size)) return fail(err, VT_TOO_LARGE, "path too long");
    *name = malloc(size);
    if (!*name) return fail_memory(err, size, "a path");
    for (int k = 0; k < 100; k++) {
        snprintf(*name, size, "%s.tmp-%ld-%d", path, (long)getpid(), k);
        *file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*file >= 0) return VT_OK;
        if (errno == EINTR) k--;
        else if (errno != EEXIST) break;
    }
    const int why = errno;
    free(*name);
    *name = NULL;
    return fail(err, status_of(why), "%s: cannot create a file beside it: %s", path, strerror(why));
}

/* The file that is meant by `path`, behind all links, in *target (free it); it need not
 * be there.  /dev/stdout is a link too: to a pipe, or a terminal. */
static vt_status target_of(const char *path, char **target, vt_error *err)
{
    struct stat info;
    const bool link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return fail(err, VT_IO, "%s: is not a regular file and is not replaced", path);
    *target = link ? realpath(path, NULL) : strdup(path);
    if (*target) return VT_OK;
    if (errno == ENOMEM) return fail_memory(err, strlen(path), "a path");
    return fail(err, status_of(errno), "%s: is a link to what is not there: %s", path,
                strerror(errno));
}

vt_status io_writable(const char *path, vt_error *err)
{
    char *target = NULL, *name = NULL;
    int file = -1;
    vt_status status = target_of(path, &target, err);
    if (status == VT_OK) status = open_beside(target, &file, &name, err);
    if (file >= 0) (void)close(file);
    if (name) (void)unlink(name);
    free(name);
    free(target);
    return status;
}

vt_status io_output_begin(io_output *o, const char *path, vt_error *err)
{
    *o = (io_output){ .file = -1 };
    vt_status status = target_of(path, &o->target, err);
    if (status == VT_OK) status = open_beside(o->target, &o->file, &o->name, err);
    if (status == VT_OK) return VT_OK;
    free(o->target);
    o->target = NULL;
    return status;
}

vt_status io_output_write(io_output *o, const void *data, size_t n, vt_error *err)
{
    return write_all(o->file, data, n, o->target, err);
}

vt_status io_output_end(io_output *o, vt_status so_far, vt_error *err)
{
    vt_status status = so_far;
    if (o->file < 0) return status;
    if (status == VT_OK && sync_file(o->file) != 0)
        status = fail(err, status_of(errno), "%s: cannot sync: %s", o->target, strerror(errno));
    if (close(o->file) != 0 && status == VT_OK)
        status = fail(err, status_of(errno), "%s: cannot close: %s", o->target, strerror(errno));
    if (status == VT_OK && rename(o->name, o->target) != 0)
        status = fail(err, status_of(errno), "%s: cannot rename the new file: %s", o->target,
                      strerror(errno));
    if (status != VT_OK) (void)unlink(o->name);
    else status = sync_folder(o->target, err);
    free(o->name);
    free(o->target);
    *o = (io_output){ .file = -1 };
    return status;
}

vt_status io_replace_pieces(const char *path, const io_piece *pieces, size_t count, vt_error *err)
{
    io_output o;
    vt_status status = io_output_begin(&o, path, err);
    for (size_t i = 0; i < count && status == VT_OK; i++)
        status = io_output_write(&o, pieces[i].data, pieces[i].n, err);
    return io_output_end(&o, status, err);
}

vt_status io_replace(const char *path, const void *data, size_t n, vt_error *err)
{
    const io_piece piece = { data, n };
    return io_replace_pieces(path, &piece, 1, err);
}

uint64_t io_free(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
    struct statvfs info;
    const bool known = folder && statvfs(*folder ? folder : ".", &info) == 0;
    free(folder);
    if (!known || info.f_bavail > UINT64_MAX / (info.f_frsize + 1)) return UINT64_MAX;
    return (uint64_t)info.f_bavail * info.f_frsize;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

vt_status io_mkdir(const char *path, vt_error *err)
{
    if (path[0] == 0) return fail(err, VT_IO, "cannot make a folder without a name");
    const size_t n = strlen(path);
    char *part = malloc(n + 1);
    if (!part) return fail_memory(err, n + 1, "a path");
    memcpy(part, path, n + 1);
    vt_status status = VT_OK;
    for (size_t i = 1; i <= n && status == VT_OK; i++) {
        if (path[i] != '/' && path[i] != 0) continue;
        part[i] = 0;
        /* EEXIST alone does not say that it is a folder; and where a parent
         * is read-only, mkdir may say so (EROFS, EACCES) of one that is. */
        if (mkdir(part, 0777) != 0) {
            const int why = errno;
            if (!is_folder(part))
                status = fail(err, status_of(why), "%s: cannot make the folder: %s", part,
                              why == EEXIST ? "a file of that name is there" : strerror(why));
        }
        part[i] = path[i];
    }
    free(part);
    return status;
}

vt_status io_lock(int *lock, const char *folder, vt_error *err)
{
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0 && errno == EACCES) return VT_OK;     /* it may be writable still */
    if (*lock < 0)
        return fail(err, status_of(errno), "%s: cannot open the folder: %s", folder,
                    strerror(errno));
    int result;
    do result = flock(*lock, LOCK_EX | LOCK_NB); while (result != 0 && errno == EINTR);
    if (result == 0) return VT_OK;
    const bool held = errno == EWOULDBLOCK;
    io_unlock(lock);
    if (!held) return VT_OK;
    return fail(err, VT_IO, "%s: another process is writing to this folder", folder);
}

void io_unlock(int *lock)
{
    if (*lock >= 0) (void)close(*lock);
    *lock = -1;
}

/* NAME.tmp-PID-K, as open_beside makes it */
static bool is_temporary(const char *file, const char *name)
{
    const size_t n = strlen(name);
    if (strncmp(file, name, n) != 0 || strncmp(file + n, ".tmp-", 5) != 0) return false;
    const char *p = file + n + 5;
    const size_t pid = strspn(p, "0123456789");
    if (pid == 0 || p[pid] != '-') return false;
    p += pid + 1;
    const size_t k = strspn(p, "0123456789");
    return k > 0 && p[k] == 0;
}

vt_status io_remove_temporaries(const char *folder, const char *const *names, size_t count,
                                vt_error *err)
{
    DIR *dir = opendir(folder);
    if (!dir && errno == EACCES) return VT_OK;
    if (!dir) return fail(err, status_of(errno), "%s: cannot open the folder: %s", folder,
                          strerror(errno));
    vt_status status = VT_OK;
    for (const struct dirent *e; status == VT_OK && (e = readdir(dir)); ) {
        bool ours = false;
        for (size_t i = 0; i < count && !ours; i++) ours = is_temporary(e->d_name, names[i]);
        struct stat info;
        if (!ours || fstatat(dirfd(dir), e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        if (unlinkat(dirfd(dir), e->d_name, 0) != 0 && errno != ENOENT)
            status = fail(err, status_of(errno), "%s/%s: cannot be removed: %s", folder, e->d_name,
                          strerror(errno));
    }
    (void)closedir(dir);
    return status;
}

/* Leaves a folder that is deeper: nobody of ours made it. */
enum { DEEPEST = 64 };

static void empty_folder(int file, int depth);

/* One thing in the folder that `folder` is open on. */
static void remove_entry(int folder, const char *name, int depth)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    if (unlinkat(folder, name, 0) == 0 || depth == DEEPEST) return;
    empty_folder(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), depth + 1);
    (void)unlinkat(folder, name, AT_REMOVEDIR);
}

/* Everything in the folder that `file` (closed here) is open on.  opendir would ask for
 * memory; the kernel writes its entries, each with its own length, into any block. */
static void empty_folder(int file, int depth)
{
    enum { AT_ONCE = 4096 };
    union { struct dirent64 entry; char bytes[AT_ONCE + sizeof(struct dirent64)]; } found;
    ssize_t n;
    if (file < 0) return;
    while ((n = getdents64(file, &found, AT_ONCE)) > 0)
        for (ssize_t at = 0; at < n; ) {
            const struct dirent64 *e = (const void *)(found.bytes + at);
            at += e->d_reclen;
            remove_entry(file, e->d_name, depth);
        }
    (void)close(file);
}

void io_remove_folder(const char *folder)
{
    empty_folder(open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0);
    (void)rmdir(folder);
}

char *io_join(const char *folder, const char *name)
{
    const size_t a = strlen(folder), b = strlen(name);
    const bool slash = a > 0 && folder[a - 1] != '/';
    size_t size;
    if (!size_add(a, b, &size) || !size_add(size, 2, &size)) return NULL;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s%s%s", folder, slash ? "/" : "", name);
    return path;
}

vt_status sha256_hex_file(char out[65], const char *path, vt_error *err)
{
    enum { PIECE = 1 << 16 };
    sha256 h;
    int file;
    do file = open(path, O_RDONLY | O_CLOEXEC); while (file < 0 && errno == EINTR);
    if (file < 0) return fail(err, status_of(errno), "%s: cannot open: %s", path, strerror(errno));
    unsigned char *piece = malloc(PIECE);
    struct stat info;
    vt_status status = VT_OK;
    if (!piece) status = fail_memory(err, PIECE, "a piece of a file");
    else if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        status = fail(err, VT_IO, "%s: expected a regular file", path);
    sha256_begin(&h);
    while (status == VT_OK) {
        const ssize_t n = read(file, piece, PIECE);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = fail(err, status_of(errno), "%s: cannot read: %s", path,
                                 strerror(errno));
        if (n <= 0) break;
        sha256_add(&h, piece, (size_t)n);
    }
    if (status == VT_OK) sha256_end(&h, out);
    free(piece);
    (void)close(file);
    return status;
}

void sha256_hex_pieces(char out[65], const io_piece *pieces, size_t count)
{
    sha256 h;
    sha256_begin(&h);
    for (size_t i = 0; i < count; i++)
        sha256_add(&h, pieces[i].data, pieces[i].n);
    sha256_end(&h, out);
}

void sha256_hex(char out[65], const void *data, size_t n)
{
    const io_piece piece = { data, n };
    sha256_hex_pieces(out, &piece, 1);
}

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
#include "base/io.h"
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
#include <unistd.h>
#include <sha2.h>

/* The most one read or write is asked for: POSIX leaves more than SSIZE_MAX
 * open, and Linux moves at most 2 GiB. */
static size_t one_call(size_t n)
{
    const size_t most = (size_t)1 << 30;
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
    while (status == VT_OK) {
        if (out->len == out->cap - 1) {         /* full: is there more? */
            const size_t grow = out->cap < 65536 ? 65536 : out->cap;
            status = bytes_room(out, grow, err);
            if (status != VT_OK) break;
        }
        const ssize_t n = read(file, out->data + out->len, one_call(out->cap - 1 - out->len));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(err, VT_IO, "%s: cannot read: %s", path, strerror(errno));
        if (n == 0) break;
        out->len += (size_t)n;
        if (out->len > limit) return too_long(path, limit, err);
    }
    if (status == VT_OK) out->data[out->len] = 0;
    return status;
}

vt_status io_read(bytes *out, const char *path, size_t limit, vt_error *err)
{
    memset(out, 0, sizeof *out);
    vt_status status = VT_OK;
    int file;
    do file = open(path, O_RDONLY | O_CLOEXEC); while (file < 0 && errno == EINTR);
    if (file < 0) return fail(err, VT_IO, "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    if (fstat(file, &info) != 0) {
        status = fail(err, VT_IO, "%s: cannot stat: %s", path, strerror(errno));
    } else if (S_ISDIR(info.st_mode)) {
        status = fail(err, VT_IO, "%s: is a folder, expected a file", path);
    } else if (S_ISREG(info.st_mode) && (uintmax_t)info.st_size > limit) {
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

static vt_status write_all(int file, const void *data, size_t n, const char *path, vt_error *err)
{
    const char *at = data;
    while (n > 0) {
        const ssize_t written = write(file, at, one_call(n));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail(err, VT_IO, "%s: cannot write: %s", path, strerror(errno));
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
            status = fail(err, VT_IO, "%s: cannot open the folder: %s", folder, strerror(errno));
    } else {
        if (sync_file(file) != 0 && errno != EINVAL)
            status = fail(err, VT_IO, "%s: cannot sync the folder: %s", folder, strerror(errno));
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
    return fail(err, VT_IO, "%s: cannot create a file beside it: %s", path, strerror(why));
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
    return fail(err, VT_IO, "%s: is a link to what is not there: %s", path, strerror(errno));
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

static vt_status replace(const char *path, const io_piece *pieces, size_t count, vt_error *err)
{
    int file = -1;
    char *name = NULL;
    vt_status status = open_beside(path, &file, &name, err);
    if (status != VT_OK) return status;
    for (size_t i = 0; i < count && status == VT_OK; i++)
        status = write_all(file, pieces[i].data, pieces[i].n, path, err);
    if (status == VT_OK && sync_file(file) != 0)
        status = fail(err, VT_IO, "%s: cannot sync: %s", path, strerror(errno));
    if (close(file) != 0 && status == VT_OK)
        status = fail(err, VT_IO, "%s: cannot close: %s", path, strerror(errno));
    if (status == VT_OK && rename(name, path) != 0)
        status = fail(err, VT_IO, "%s: cannot rename the new file: %s", path, strerror(errno));
    if (status != VT_OK) (void)unlink(name);
    else status = sync_folder(path, err);
    free(name);
    return status;
}

vt_status io_replace_pieces(const char *path, const io_piece *pieces, size_t count, vt_error *err)
{
    char *target = NULL;
    vt_status status = target_of(path, &target, err);
    if (status == VT_OK) status = replace(target, pieces, count, err);
    free(target);
    return status;
}

vt_status io_replace(const char *path, const void *data, size_t n, vt_error *err)
{
    const io_piece piece = { data, n };
    return io_replace_pieces(path, &piece, 1, err);
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
                status = fail(err, VT_IO, "%s: cannot make the folder: %s", part,
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
        return fail(err, VT_IO, "%s: cannot open the folder: %s", folder, strerror(errno));
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
    if (!dir) return fail(err, VT_IO, "%s: cannot open the folder: %s", folder, strerror(errno));
    vt_status status = VT_OK;
    for (const struct dirent *e; status == VT_OK && (e = readdir(dir)); ) {
        bool ours = false;
        for (size_t i = 0; i < count && !ours; i++) ours = is_temporary(e->d_name, names[i]);
        struct stat info;
        if (!ours || fstatat(dirfd(dir), e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        if (unlinkat(dirfd(dir), e->d_name, 0) != 0 && errno != ENOENT)
            status = fail(err, VT_IO, "%s/%s: cannot be removed: %s", folder, e->d_name,
                          strerror(errno));
    }
    (void)closedir(dir);
    return status;
}

/* Leaves a folder that is deeper: nobody of ours made it. */
enum { DEEPEST = 64 };

/* Everything in the folder that `file` (closed here) is open on. */
static void empty_folder(int file, int depth)
{
    DIR *dir = file >= 0 ? fdopendir(file) : NULL;
    if (!dir) {
        if (file >= 0) (void)close(file);
        return;
    }
    for (const struct dirent *e; (e = readdir(dir)); ) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (unlinkat(file, e->d_name, 0) == 0 || depth == DEEPEST) continue;
        empty_folder(openat(file, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                     depth + 1);
        (void)unlinkat(file, e->d_name, AT_REMOVEDIR);
    }
    (void)closedir(dir);
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

static void sha256_end(char out[65], SHA2_CTX *context)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Final(digest, context);
    for (size_t i = 0; i < sizeof digest; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

vt_status sha256_hex_file(char out[65], const char *path, vt_error *err)
{
    enum { PIECE = 1 << 16 };
    SHA2_CTX context;
    int file;
    do file = open(path, O_RDONLY | O_CLOEXEC); while (file < 0 && errno == EINTR);
    if (file < 0) return fail(err, VT_IO, "%s: cannot open: %s", path, strerror(errno));
    unsigned char *piece = malloc(PIECE);
    struct stat info;
    vt_status status = VT_OK;
    if (!piece) status = fail_memory(err, PIECE, "a piece of a file");
    else if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        status = fail(err, VT_IO, "%s: expected a regular file", path);
    SHA256Init(&context);
    while (status == VT_OK) {
        const ssize_t n = read(file, piece, PIECE);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = fail(err, VT_IO, "%s: cannot read: %s", path, strerror(errno));
        if (n <= 0) break;
        SHA256Update(&context, piece, (size_t)n);
    }
    if (status == VT_OK) sha256_end(out, &context);
    free(piece);
    (void)close(file);
    return status;
}

void sha256_hex_pieces(char out[65], const io_piece *pieces, size_t count)
{
    SHA2_CTX context;
    SHA256Init(&context);
    for (size_t i = 0; i < count; i++)
        if (pieces[i].n > 0) SHA256Update(&context, pieces[i].data, pieces[i].n);
    sha256_end(out, &context);
}

void sha256_hex(char out[65], const void *data, size_t n)
{
    const io_piece piece = { data, n };
    sha256_hex_pieces(out, &piece, 1);
}

/* fault_shim.c -- preloaded into a program: one of its calls fails, or is its last.
 *
 *     VT_FAULT=write:5:ENOSPC VT_FAULT_UNDER=$PWD/model LD_PRELOAD=fault_shim.so vitrine ...
 *
 *   VT_FAULT        KIND:N:HOW: call N, from 1, of that kind; N+: that one and all later
 *     KIND          write, sync, rename, open (for writing), input (opened for reading), close,
 *                   mkdir, unlink, lock, read, memory; several functions each, below
 *     HOW           kill     the process ends before the call, as by kill -9
 *                   short    half of the bytes are written, then it ends
 *                   half     half of the bytes are written, and it goes on
 *                   term     SIGTERM comes right before the call, which goes on
 *                   ENOSPC, EIO, EDQUOT, EACCES, EROFS, ENOTSUP, EINTR: the call fails with that
 *   VT_FAULT_UNDER  only files and folders below this one count (an absolute path without
 *                   links); without it all do.  Memory has no path.
 *   VT_FAULT_MARK   the file in which the shim says that it came to call N, and on what
 *
 *   VT_FAULT_COUNT  the file that holds, when the program exits, how many calls of that kind
 *                   it made
 *
 * Calls that the C library makes for itself (the write behind fwrite) are not seen.
 * Nothing is done through the C library that could come back here: all are system calls.
 */
#define _GNU_SOURCE                 /* O_TMPFILE, renameat2 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "fault_memory.h"

enum { WRITE, SYNC, RENAME, OPEN, INPUT, CLOSE, MKDIR, UNLINK, LOCK, READ, MEMORY, KINDS };
static const char *const kinds[KINDS] = { "write", "sync", "rename", "open", "input", "close",
                                          "mkdir", "unlink", "lock", "read", "memory" };
enum { KILL = -1, SHORT = -2, HALF = -3, TERM = -4 };      /* others: errno */
static const struct { const char *name; int how; } hows[] = {
    { "kill", KILL }, { "short", SHORT }, { "half", HALF }, { "term", TERM }, { "ENOSPC", ENOSPC }, { "EIO", EIO },
    { "EDQUOT", EDQUOT }, { "EACCES", EACCES }, { "EROFS", EROFS }, { "ENOTSUP", ENOTSUP },
    { "EINTR", EINTR }, { "ENOMEM", ENOMEM },
};

static int kind = KINDS, how;
static long first;
static bool later;
static atomic_long calls;
static const char *under, *mark, *tally;

/* ---- what is meant ------------------------------------------------------ */

static void say(const char *text)
{
    (void)!syscall(SYS_write, STDERR_FILENO, text, strlen(text));
}

static void write_line(const char *into, long n, const char *path)
{
    char line[PATH_MAX + 64];
    const int length = snprintf(line, sizeof line, "%s %ld %s\n", kinds[kind], n, path);
    const int file = (int)syscall(SYS_openat, AT_FDCWD, into, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0) return;
    (void)!syscall(SYS_write, file, line, (size_t)length);
    (void)syscall(SYS_close, file);
}

static void write_mark(long n, const char *path)
{
    if (mark && (n == first || !later)) write_line(mark, n, path);
}

__attribute__((destructor)) static void write_count(void)
{
    if (tally && kind < KINDS) write_line(tally, kind == MEMORY ? fault_memory_disarm() : calls, "-");
}

static void memory_fires(long n)
{
    write_mark(n, "-");
    if (how == KILL) (void)syscall(SYS_kill, getpid(), SIGKILL);
}

__attribute__((constructor)) static void read_plan(void)
{
    const char *plan = getenv("VT_FAULT");
    char word[16], manner[16], plus = 0;
    under = getenv("VT_FAULT_UNDER");
    mark = getenv("VT_FAULT_MARK");
    tally = getenv("VT_FAULT_COUNT");
    if (!plan) return;
    int which = KINDS;
    bool known = false;
    if (sscanf(plan, "%15[a-z]:%ld:%15s", word, &first, manner) == 3 ||
        (sscanf(plan, "%15[a-z]:%ld%c:%15s", word, &first, &plus, manner) == 4 && plus == '+')) {
        for (which = 0; which < KINDS && strcmp(word, kinds[which]) != 0;) which++;
        for (size_t i = 0; i < sizeof hows / sizeof *hows; i++)
            if (strcmp(manner, hows[i].name) == 0) how = hows[i].how, known = true;
    }
    if (which == KINDS || !known || first < 1) {
        say("fault_shim: VT_FAULT: expected KIND:N:HOW\n");
        _exit(99);
    }
    kind = which;
    later = plus == '+';
    fault_memory_fires = memory_fires;
    if (kind == MEMORY) fault_memory_arm(first, later);
}

static bool counts(const char *path)
{
    const size_t n = under ? strlen(under) : 0;
    return n == 0 || (strncmp(path, under, n) == 0 && (path[n] == '/' || path[n] == 0));
}

/* Whether this call of kind `k` on `path` is the one; it may not return. */
static bool fires(int k, const char *path)
{
    if (k != kind || !counts(path)) return false;
    const long n = ++calls;
    if (n < first || (n > first && !later)) return false;
    write_mark(n, path);
    if (how == KILL) (void)syscall(SYS_kill, getpid(), SIGKILL);
    if (how == TERM) (void)syscall(SYS_kill, getpid(), SIGTERM);
    if (how > 0) errno = how;
    return how != TERM;
}

static void path_of_file(char out[PATH_MAX], int file)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const long n = syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = 0;
}

/* `path` as an absolute one; what is seen from the folder `at`. */
static void path_from(char out[PATH_MAX], int at, const char *path)
{
    char folder[PATH_MAX] = "";
    if (path[0] != '/') {
        if (at == AT_FDCWD) (void)!syscall(SYS_getcwd, folder, sizeof folder);
        else path_of_file(folder, at);
    }
    size_t n = strlen(folder);
    while (strncmp(path, "./", 2) == 0) path += 2;
    if (n > 0) folder[n++] = '/';
    snprintf(out, PATH_MAX, "%.*s%.*s", (int)n, folder, (int)(PATH_MAX - n - 1), path);
}

static bool fires_file(int k, int file)
{
    char path[PATH_MAX];
    if (k != kind) return false;
    path_of_file(path, file);
    return fires(k, path);
}

static bool fires_at(int k, int at, const char *name)
{
    char path[PATH_MAX];
    if (k != kind) return false;
    path_from(path, at, name);
    return fires(k, path);
}

/* ---- the calls ---------------------------------------------------------- */

ssize_t write(int file, const void *data, size_t n)
{
    if (!fires_file(WRITE, file)) return syscall(SYS_write, file, data, n);
    if (how > 0) return -1;
    const ssize_t written = syscall(SYS_write, file, data, n > 1 ? n / 2 : n);
    if (how == SHORT) (void)syscall(SYS_kill, getpid(), SIGKILL);
    return written;
}

ssize_t pwrite(int file, const void *data, size_t n, off_t at)
{
    if (fires_file(WRITE, file) && how > 0) return -1;
    return syscall(SYS_pwrite64, file, data, n, at);
}

ssize_t writev(int file, const struct iovec *pieces, int count)
{
    if (fires_file(WRITE, file) && how > 0) return -1;
    return syscall(SYS_writev, file, pieces, count);
}

ssize_t read(int file, void *data, size_t n)
{
    if (fires_file(READ, file)) {
        if (how > 0) return -1;
        if (n > 1) n /= 2;
    }
    return syscall(SYS_read, file, data, n);
}

int fsync(int file)
{
    return fires_file(SYNC, file) && how > 0 ? -1 : (int)syscall(SYS_fsync, file);
}

int fdatasync(int file)
{
    return fires_file(SYNC, file) && how > 0 ? -1 : (int)syscall(SYS_fdatasync, file);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    if (fires_at(RENAME, to_at, to) && how > 0) return -1;
    return (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
    return renameat2(from_at, from, to_at, to, 0);
}

int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

static int open_file(int at, const char *path, int flags, mode_t mode)
{
    const int k = (flags & O_ACCMODE) == O_RDONLY ? INPUT : OPEN;
    if (fires_at(k, at, path) && how > 0) return -1;
    return (int)syscall(SYS_openat, at, path, flags, mode);
}

/* The mode is an argument only where a file may be made. */
#define MODE(flags, mode) do { \
    if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) { \
        va_list args; \
        va_start(args, flags); \
        (mode) = va_arg(args, mode_t); \
        va_end(args); \
    } } while (0)

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    MODE(flags, mode);
    return open_file(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    mode_t mode = 0;
    MODE(flags, mode);
    return open_file(at, path, flags, mode);
}

/* The descriptor is gone in any case: what a later write left undone is told here. */
int close(int file)
{
    const bool fails = fires_file(CLOSE, file) && how > 0;
    const int result = (int)syscall(SYS_close, file);
    if (!fails) return result;
    errno = how;
    return -1;
}

int mkdir(const char *path, mode_t mode)
{
    return fires_at(MKDIR, AT_FDCWD, path) && how > 0 ? -1
           : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int unlinkat(int at, const char *path, int flags)
{
    return fires_at(UNLINK, at, path) && how > 0 ? -1 : (int)syscall(SYS_unlinkat, at, path, flags);
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int flock(int file, int operation)
{
    return fires_file(LOCK, file) && how > 0 ? -1 : (int)syscall(SYS_flock, file, operation);
}

int ftruncate(int file, off_t n)
{
    return fires_file(WRITE, file) && how > 0 ? -1 : (int)syscall(SYS_ftruncate, file, n);
}

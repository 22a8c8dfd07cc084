/* site_folder.c -- see site_folder.h. */
#define _GNU_SOURCE             /* renameat2 */
#include "provenance/site_folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/interrupt.h"

enum { DEEPEST = 16, MOST_FILE = 1 << 30 };

/* ---- the place ---------------------------------------------------------- */

/* `out` as an absolute path without links: of itself where it is there, else of its parent,
 * which is made. */
static vt_status find_place(char **place, const char *out, vt_error *err)
{
    size_t n = strlen(out);
    *place = realpath(out, NULL);
    if (*place) return VT_OK;
    if (errno != ENOENT) return fail(err, status_of(errno), "%s: %s", out, strerror(errno));
    while (n > 1 && out[n - 1] == '/') n--;
    char *path = strndup(out, n);
    if (!path) return fail_memory(err, n, "a path");
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (slash) *slash = 0;
    const char *folder = !slash ? "." : *path ? path : "/";
    vt_status s = VT_OK;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        s = fail(err, VT_USAGE, "--out %s: expected the name of a folder", out);
    if (s == VT_OK) s = io_mkdir(folder, err);
    char *parent = s == VT_OK ? realpath(folder, NULL) : NULL;
    if (parent && !(*place = io_join(parent, name))) s = fail_memory(err, n, "a path");
    if (s == VT_OK && !parent)
        s = fail(err, status_of(errno), "%s: %s", folder, strerror(errno));
    free(parent);
    free(path);
    return s;
}

/* Nothing in it, or the mark's temporary, of a process that was killed while it wrote that. */
static bool is_empty(const char *folder)
{
    static const char temporary[] = SITE_MARK ".tmp-";
    DIR *dir = opendir(folder);
    size_t others = 0;
    if (!dir) return false;
    for (const struct dirent *e; (e = readdir(dir)); )
        others += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
                  strncmp(e->d_name, temporary, sizeof temporary - 1) != 0;
    (void)closedir(dir);
    return others == 0;
}

static bool has_mark(const char *folder)
{
    char *mark = io_join(folder, SITE_MARK);
    const bool there = mark && access(mark, F_OK) == 0;
    free(mark);
    return there;
}

/* ---- what killed processes left ----------------------------------------- */

/* `name` is PLACE.new-PID or PLACE.old-PID, of which `own` is the PLACE: 'n' or 'o', and
 * the PID; or 0. */
static char left_by(const char *name, const char *own, long *pid)
{
    const size_t n = strlen(own);
    if (strncmp(name, own, n) != 0) return 0;
    const char *kind = name + n;
    if (strncmp(kind, ".new-", 5) != 0 && strncmp(kind, ".old-", 5) != 0) return 0;
    const char *digits = kind + 5;
    const size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 9 || digits[count] || digits[0] == '0') return 0;
    *pid = strtol(digits, NULL, 10);
    return kind[1];
}

/* A folder of ours, whose maker is gone: no process has that number, and, as it may be
 * another machine's number, or another container's, none holds the lock either. */
static bool is_left(const char *folder, long pid)
{
    struct stat info;
    int lock = -1;
    if (lstat(folder, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) return false;
    if (!has_mark(folder) && !is_empty(folder)) return false;
    if (kill((pid_t)pid, 0) == 0 || errno != ESRCH) return false;
    const bool is_free = io_lock(&lock, folder, NULL) == VT_OK;
    io_unlock(&lock);
    return is_free;
}

/* Of a system that cannot exchange: one killed between its two renames. */
static bool put_back(const char *folder, const char *place)
{
    struct stat info;
    return has_mark(folder) && lstat(place, &info) != 0 && errno == ENOENT && rename(folder, place) == 0;
}

static void clear_left(const char *place)
{
    const char *own = strrchr(place, '/') + 1;          /* an absolute path */
    char *parent = strndup(place, (size_t)(own - place));
    DIR *dir = parent ? opendir(parent) : NULL;
    long pid = 0;
    for (const struct dirent *e; dir && (e = readdir(dir)); ) {
        const char kind = left_by(e->d_name, own, &pid);
        char *folder = kind ? io_join(parent, e->d_name) : NULL;
        if (folder && is_left(folder, pid) && !(kind == 'o' && put_back(folder, place)))
            io_remove_folder(folder);
        free(folder);
    }
    if (dir) (void)closedir(dir);
    free(parent);
}

static vt_status may_replace(site_folder *f, const char *out, vt_error *err)
{
    struct stat info;
    if (lstat(f->place, &info) != 0) return VT_OK;
    if (!S_ISDIR(info.st_mode)) return fail(err, VT_USAGE, "--out %s: is a file; expected a folder", out);
    f->replaces = has_mark(f->place);
    if (f->replaces || is_empty(f->place)) return VT_OK;
    return fail(err, VT_USAGE, "--out %s: holds something, and no " SITE_MARK ": it is no site that "
                "vitrine wrote, and is not replaced", out);
}

/* Whether `inner` is `outer`, or lies in it. */
static bool lies_in(const char *inner, const char *outer)
{
    const size_t n = strlen(outer);
    return strncmp(inner, outer, n) == 0 &&
           (inner[n] == 0 || inner[n] == '/' || (n > 0 && outer[n - 1] == '/'));
}

static vt_status apart(const char *place, const char *shell, const char *out, vt_error *err)
{
    char *from = realpath(shell, NULL);
    if (!from) return fail(err, status_of(errno), "%s: cannot be opened: %s", shell,
                           strerror(errno));
    vt_status s = VT_OK;
    if (lies_in(place, from) || lies_in(from, place))
        s = fail(err, VT_USAGE, "--out %s and %s: one lies in the other; expected two folders apart",
                 out, shell);
    free(from);
    return s;
}

vt_status site_folder_begin(site_folder *f, const char *out, const char *shell, vt_error *err)
{
    *f = (site_folder){ .lock = -1 };
    vt_status s = find_place(&f->place, out, err);
    if (s || (s = apart(f->place, shell, out, err))) return s;
    clear_left(f->place);
    if ((s = may_replace(f, out, err))) return s;
    bytes name = { 0 };
    if ((s = bytes_printf(&name, err, "%s.new-%ld", f->place, (long)getpid()))) return s;
    f->made = (char *)name.data;
    io_remove_folder(f->made);                  /* of a killed process with our number */
    if (mkdir(f->made, 0777) != 0)
        return fail(err, status_of(errno), "%s: cannot be made: %s", f->made, strerror(errno));
    if ((s = io_lock(&f->lock, f->made, err))) return s;
    static const char text[] = "A site that vitrine wrote; it is replaced as a whole.\n";
    char *mark = io_join(f->made, SITE_MARK);
    s = mark ? io_replace(mark, text, sizeof text - 1, err) : fail_memory(err, 1, "a path");
    free(mark);
    return s;
}

/* ---- the copy ----------------------------------------------------------- */

typedef struct copying {
    size_t files, bytes;
    vt_error *err;
} copying;

static vt_status copy_folder(copying *c, const char *to, const char *from, int depth);

static vt_status copy_entry(copying *c, const char *to, const char *from, int depth)
{
    struct stat info;
    bytes content = { 0 };
    if (interrupt_asked()) return interrupt_fail(c->err);
    if (stat(from, &info) != 0)
        return fail(c->err, status_of(errno), "%s: cannot be read: %s", from, strerror(errno));
    if (S_ISDIR(info.st_mode)) return copy_folder(c, to, from, depth + 1);
    if (!S_ISREG(info.st_mode))
        return fail(c->err, VT_BAD_INPUT, "%s: expected a file or a folder", from);
    vt_status s = io_read(&content, from, MOST_FILE, c->err);
    if (s == VT_OK) s = io_replace(to, content.data, content.len, c->err);
    c->files++;
    c->bytes += content.len;
    bytes_free(&content);
    return s;
}

static vt_status copy_folder(copying *c, const char *to, const char *from, int depth)
{
    if (depth > DEEPEST)
        return fail(c->err, VT_BAD_INPUT, "%s: is deeper than %d folders", from, DEEPEST);
    vt_status s = io_mkdir(to, c->err);
    if (s) return s;
    DIR *dir = opendir(from);
    if (!dir) return fail(c->err, status_of(errno), "%s: cannot be opened: %s", from,
                          strerror(errno));
    for (const struct dirent *e; s == VT_OK && (e = readdir(dir)); ) {
        if (e->d_name[0] == '.') continue;
        if (depth == 0 && strcmp(e->d_name, "data") == 0) continue;     /* models of another */
        char *source = io_join(from, e->d_name), *target = io_join(to, e->d_name);
        s = source && target ? copy_entry(c, target, source, depth)
                             : fail_memory(c->err, strlen(from), "a path");
        free(source);
        free(target);
    }
    (void)closedir(dir);
    return s;
}

vt_status site_folder_copy(const site_folder *f, const char *shell, size_t *files, size_t *bytes_,
                           vt_error *err)
{
    copying c = { .err = err };
    const vt_status s = copy_folder(&c, f->made, shell, 0);
    *files = c.files;
    *bytes_ = c.bytes;
    return s;
}

/* ---- the end ------------------------------------------------------------ */

/* The two change names at once, so that there is a site at every moment; false where the
 * system or the file system cannot, or nothing is there yet. */
static bool exchange(const char *one, const char *other)
{
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0;
}

vt_status site_folder_take_place(site_folder *f, vt_error *err)
{
    if (interrupt_asked()) return interrupt_fail(err);
    if (exchange(f->made, f->place)) return VT_OK;      /* f->made is the old one */
    bytes old = { 0 };
    vt_status s = bytes_printf(&old, err, "%s.old-%ld", f->place, (long)getpid());
    if (s) return s;
    const char *aside = (const char *)old.data;
    const bool moved = rename(f->place, aside) == 0;
    if (!moved && errno != ENOENT) {
        s = fail(err, status_of(errno), "%s: cannot be moved aside: %s", f->place, strerror(errno));
    } else if (rename(f->made, f->place) != 0) {
        s = fail(err, status_of(errno), "%s: cannot be renamed: %s", f->made, strerror(errno));
        if (moved && rename(aside, f->place) != 0)
            s = fail(err, VT_IO, "%s: cannot be put back; it is now %s: %s", f->place, aside,
                     strerror(errno));
    } else {
        free(f->made);
        f->made = NULL;
        if (moved) io_remove_folder(aside);
    }
    bytes_free(&old);
    return s;
}

void site_folder_end(site_folder *f)
{
    if (f->made) io_remove_folder(f->made);
    if (f->place) io_unlock(&f->lock);
    free(f->made);
    free(f->place);
    *f = (site_folder){ .lock = -1 };
}

/* site_file.c -- see site_file.h. */
#include "serve/site_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "serve/target.h"

static const struct { const char *extension, *type; } types[] = {
    { ".html", "text/html; charset=utf-8" },
    { ".js",   "text/javascript; charset=utf-8" },
    { ".mjs",  "text/javascript; charset=utf-8" },
    { ".css",  "text/css; charset=utf-8" },
    { ".wasm", "application/wasm" },
    { ".json", "application/json" },
    { ".map",  "application/json" },
    { ".jsonl", "application/x-ndjson" },
    { ".webmanifest", "application/manifest+json" },
    { ".svg",  "image/svg+xml" },
    { ".png",  "image/png" },
    { ".ico",  "image/x-icon" },
    { ".pdf",  "application/pdf" },
    { ".woff2", "font/woff2" },
    { ".xml",  "application/xml" },
    { ".txt",  "text/plain; charset=utf-8" },
    { ".md",   "text/plain; charset=utf-8" },
    { ".c",    "text/plain; charset=utf-8" },
    { ".h",    "text/plain; charset=utf-8" },
};

const char *site_type(const char *name)
{
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot, types[i].extension) == 0) return types[i].type;
    return "application/octet-stream";
}

static int open_again(int at, const char *name, int flags)
{
    int file;
    do file = openat(at, name, flags | O_CLOEXEC); while (file < 0 && errno == EINTR);
    return file;
}

/* The folder or file at the end of `path`, of which no part is a link. */
static int walk(const char *root, const char *path)
{
    char name[TARGET_MOST];
    int at = open_again(AT_FDCWD, root, O_RDONLY | O_DIRECTORY);
    while (at >= 0 && *path) {
        const size_t n = strcspn(path, "/");
        const bool last = path[n] == 0;
        int next = -1;
        if (n > 0 && n < sizeof name && path[0] != '.') {
            memcpy(name, path, n);
            name[n] = 0;
            /* O_NONBLOCK: a pipe would wait for its writer. */
            next = open_again(at, name, O_RDONLY | O_NOFOLLOW | (last ? O_NONBLOCK : O_DIRECTORY));
        }
        (void)close(at);
        at = next;
        path += n + !last;
    }
    return at;
}

/* RFC 9110, section 5.6.7; the names are not those of a locale. */
static void date_text(char out[SITE_DATE], time_t when)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm t = { .tm_year = 70 };
    (void)gmtime_r(&when, &t);
    snprintf(out, SITE_DATE, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", days + 3 * t.tm_wday,
             t.tm_mday, months + 3 * t.tm_mon, t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

bool site_open(site_file *f, const char *root, const char *path)
{
    static const char index[] = "index.html";
    char full[TARGET_MOST + sizeof index];
    const size_t n = strlen(path);
    const bool in_folder = n == 0 || path[n - 1] == '/';
    struct stat info;
    *f = (site_file){ .file = -1 };
    if (n >= TARGET_MOST) return false;
    snprintf(full, sizeof full, "%s%s", path, in_folder ? index : "");
    const int file = walk(root, full);
    if (file < 0) return false;
    if (fstat(file, &info) != 0 || (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))) {
        (void)close(file);
        return false;
    }
    if (S_ISDIR(info.st_mode)) {
        (void)close(file);
        f->folder = !in_folder;
        return f->folder;
    }
    f->file = file;
    f->size = (uint64_t)info.st_size;
    f->type = site_type(full);
    snprintf(f->tag, sizeof f->tag, "\"%llx-%llx-%llx.%lx\"", (unsigned long long)info.st_ino,
             (unsigned long long)info.st_size, (unsigned long long)info.st_mtim.tv_sec,
             (unsigned long)info.st_mtim.tv_nsec);
    date_text(f->modified, info.st_mtim.tv_sec);
    return true;
}

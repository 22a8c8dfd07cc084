/* site_file.h -- a file beneath the root of a site, opened safely.
 *
 * The path is walked folder by folder, each opened from the one before, and no
 * symbolic link is followed: so nothing outside the root is ever opened, whatever
 * lies in it, and however it changes meanwhile.  Names that begin with a dot are
 * not there.
 */
#ifndef SITE_FILE_H
#define SITE_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { SITE_TAG = 64, SITE_DATE = 40 };

typedef struct site_file {
    int      file;              /* open for reading; -1: none */
    uint64_t size;
    bool     folder;            /* it is a folder, and the path lacks its last slash */
    const char *type;           /* "text/html; charset=utf-8" */
    char     tag[SITE_TAG];     /* entity tag, with its quotes: of number, size and time */
    char     modified[SITE_DATE];       /* "Sun, 06 Nov 1994 08:49:37 GMT" */
} site_file;

/* A path ending in a slash, or empty, means the index.html there.  False where
 * there is no regular file. */
bool site_open(site_file *f, const char *root, const char *path);

/* By the name's extension; "application/octet-stream" for others. */
const char *site_type(const char *name);

#endif

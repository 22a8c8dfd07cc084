/* site_folder.h -- a folder that is built beside its place, and then takes it.
 *
 * A site of ours has a file .vitrine-site in it: only a folder that has one, or an
 * empty one, is ever replaced.
 */
#ifndef SITE_FOLDER_H
#define SITE_FOLDER_H

#include "base/io.h"

#define SITE_MARK ".vitrine-site"

typedef struct site_folder {
    char *place;                /* where it is to be; a link is followed */
    char *made;                 /* the new one, beside it */
    int   lock;                 /* on the new one: its maker lives */
    bool  replaces;             /* a site is there */
} site_folder;

/* Looks at the place `out`, and makes the new folder beside it, with its mark.  What killed
 * processes left beside it is removed, or, where one had moved the old site aside and no new
 * one is there, put back.  VT_USAGE: what is there is no site of ours, or `shell` and `out`
 * lie one in the other. */
VT_MUST_CHECK vt_status site_folder_begin(site_folder *f, const char *out, const char *shell,
                                          vt_error *err);

/* Copies the built pages into it, without the shell's data/: regular files and folders;
 * a link is followed to a file.  Names that begin with a dot are left out.
 * VT_INTERRUPTED: as base/interrupt.h says. */
VT_MUST_CHECK vt_status site_folder_copy(const site_folder *f, const char *shell, size_t *files,
                                         size_t *bytes_, vt_error *err);

/* The new folder takes the place, at once where the system can exchange two; the old one is
 * removed. */
VT_MUST_CHECK vt_status site_folder_take_place(site_folder *f, vt_error *err);

/* Removes the new folder, where it has not taken the place; also of a zeroed one. */
void site_folder_end(site_folder *f);

#endif

/* io.h -- whole files in, whole files out.
 *
 * A file is replaced by one rename: temporary beside it, fsync, rename, fsync
 * of the folder.  Until the rename the old file is untouched; a failed write
 * leaves no temporary behind.
 */
#ifndef IO_H
#define IO_H

#include "base/bytes.h"
#include "base/status.h"

/* Reads a regular file (or a pipe) whole into *out, which is overwritten (free
 * it; zeroed on failure).  `limit` is the most bytes it may have, and what is no
 * regular file, and may never end, at most IO_STREAM_MOST: VT_TOO_LARGE beyond;
 * all else is VT_IO: missing, unreadable, a folder. */
#define IO_STREAM_MOST ((size_t)1 << 28)
VT_MUST_CHECK vt_status io_read(bytes *out, const char *path, size_t limit, vt_error *err);
/* VT_IO where it fails, also where a folder or a device is at `path`.  A link there is
 * followed, and stays. */
VT_MUST_CHECK vt_status io_replace(const char *path, const void *data, size_t n, vt_error *err);
/* Several pieces one after the other into one file. */
typedef struct io_piece { const void *data; size_t n; } io_piece;
VT_MUST_CHECK vt_status io_replace_pieces(const char *path, const io_piece *pieces,
                                          size_t count, vt_error *err);
/* Whether io_replace would find what it needs: VT_IO, with its line, where it would not.
 * Says it before a long computation; the disk may still fill meanwhile. */
VT_MUST_CHECK vt_status io_writable(const char *path, vt_error *err);
/* Makes a folder and its parents; fine when it is there. */
VT_MUST_CHECK vt_status io_mkdir(const char *path, vt_error *err);
/* Keeps other callers out of a folder until io_unlock() or the process's end, by
 * an advisory lock on the folder itself: no file is made.  VT_IO where another
 * holds it, or the folder cannot be opened.  *lock is -1, with VT_OK, where the
 * file system has no such locks, or the folder is not readable. */
VT_MUST_CHECK vt_status io_lock(int *lock, const char *folder, vt_error *err);
void io_unlock(int *lock);              /* also of -1; *lock is -1 then */
/* Removes what killed writers of these files (names in the folder) left behind.
 * For the folder's only writer: a living one's would go too. */
VT_MUST_CHECK vt_status io_remove_temporaries(const char *folder, const char *const *names,
                                              size_t count, vt_error *err);
/* Removes a temporary folder and what is in it, as far as that goes; follows no link. */
void io_remove_folder(const char *folder);
/* Joins into a new string (free it), NULL without memory. */
char *io_join(const char *folder, const char *name);

/* Lower-case hex of SHA-256, 64 characters and a NUL. */
void sha256_hex(char out[65], const void *data, size_t n);
/* Of a file, read piece by piece: its size takes no memory.  VT_IO, as io_read. */
VT_MUST_CHECK vt_status sha256_hex_file(char out[65], const char *path, vt_error *err);
/* The same of several pieces. */
void sha256_hex_pieces(char out[65], const io_piece *pieces, size_t count);

#endif

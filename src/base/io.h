/* io.h -- whole files in, whole files out.
 *
 * A file is replaced by one rename: temporary beside it, fsync, rename, fsync
 * of the folder.  Until the rename the old file is untouched; a failed write
 * leaves no temporary behind.
 */
#ifndef IO_H
#define IO_H

#include <stdint.h>
#include "base/bytes.h"
#include "base/status.h"

/* Reads a regular file (or a pipe) whole into *out, which is overwritten (free
 * it; zeroed on failure).  `limit` is the most bytes it may have, and what is no
 * regular file, and may never end, at most IO_STREAM_MOST: VT_TOO_LARGE beyond;
 * all else is VT_IO: missing, unreadable, a folder.  A named pipe is waited for until
 * somebody writes to it.  VT_INTERRUPTED: base/interrupt.h. */
#define IO_STREAM_MOST ((size_t)1 << 28)
VT_MUST_CHECK vt_status io_read(bytes *out, const char *path, size_t limit, vt_error *err);
/* The same, but a pipe that nobody writes to is refused (VT_IO) instead of waited for; what
 * a shell hands over (`<(...)`, /dev/stdin) has its writer. */
VT_MUST_CHECK vt_status io_read_written(bytes *out, const char *path, size_t limit, vt_error *err);
/* For a reader that looks at a file's beginning before it asks for memory for the rest:
 * a regular file (VT_IO: anything else, which may never end, or wait for its writer) of
 * at most `limit` bytes (VT_TOO_LARGE), and how many it has.  The caller closes *file. */
VT_MUST_CHECK vt_status io_open_regular(int *file, size_t *size, const char *path, size_t limit,
                                        vt_error *err);
/* Appends exactly the next n bytes. */
VT_MUST_CHECK vt_status io_read_more(bytes *out, int file, size_t n, const char *path,
                                     vt_error *err);
/* Such a file whole, as io_read: for the files of a model. */
VT_MUST_CHECK vt_status io_read_regular(bytes *out, const char *path, size_t limit, vt_error *err);
/* VT_IO where it fails, also where a folder or a device is at `path`.  A link there is
 * followed, and stays. */
VT_MUST_CHECK vt_status io_replace(const char *path, const void *data, size_t n, vt_error *err);
/* Several pieces one after the other into one file. */
typedef struct io_piece { const void *data; size_t n; } io_piece;
VT_MUST_CHECK vt_status io_replace_pieces(const char *path, const io_piece *pieces,
                                          size_t count, vt_error *err);
/* The same for a file that is made bit by bit: nothing is at `path` before the end. */
typedef struct io_output {
    int   file;                 /* -1: none is open */
    char *target, *name;        /* what is replaced, behind links; the temporary */
} io_output;
VT_MUST_CHECK vt_status io_output_begin(io_output *o, const char *path, vt_error *err);
VT_MUST_CHECK vt_status io_output_write(io_output *o, const void *data, size_t n, vt_error *err);
/* Puts it in its place where `so_far` is VT_OK; removes it, and returns `so_far`, where it
 * is not.  Once after each begin, also one that failed. */
VT_MUST_CHECK vt_status io_output_end(io_output *o, vt_status so_far, vt_error *err);
/* Whether io_replace would find what it needs: VT_IO, with its line, where it would not.
 * Says it before a long computation; the disk may still fill meanwhile. */
VT_MUST_CHECK vt_status io_writable(const char *path, vt_error *err);
/* Bytes that are free for a file at `path`; UINT64_MAX where the system does not say. */
uint64_t io_free(const char *path);
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
/* Removes a temporary folder and what is in it, as far as that goes; follows no link, and
 * asks for no memory, since that may be why it is to go. */
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

/* npz.h -- NumPy's .npz: a zip archive with one .npy for each array.
 *
 *     for each member    local header, its name, extra fields, the data
 *     central directory  an entry for each: name, sizes, CRC-32, place
 *     end                record(s) with the place of the directory
 *
 * The directory says what is there, and the local headers must agree with it.
 * Sizes and places of 4 GiB and more stand in 64-bit fields ("zip64"), which
 * NumPy also writes for small members.  All numbers are little-endian.
 *
 * Reading takes its input as hostile: each length is compared with the file
 * before it is used; members may not overlap each other or the directory;
 * names are texts and never paths, nothing is extracted; a deflated member is
 * inflated to its declared size and no further; the CRC-32 is compared after the
 * last byte.  Encrypted members, methods other than stored and deflated, archives
 * of several parts and duplicate names are refused.  A plain .npy file is opened
 * as one member named "".
 *
 * Writing stores the members uncompressed, in the order of the items, dated
 * 1980-01-01: the bytes depend on nothing but the arguments.
 *
 * References: PKWARE, APPNOTE.TXT 6.3.10 (4.3 records, 4.5.3 zip64); numpy.savez.
 */
#ifndef NPZ_H
#define NPZ_H

#include "formats/npy.h"

/* --- reading ------------------------------------------------------------ */

typedef struct npz_member {
    char      *name;                /* without its ".npy" */
    npy_header npy;
    uint64_t   local;               /* offset of the local header in the file */
    uint64_t   data;                /* of the member's bytes */
    uint64_t   packed, size;        /* their number in the file, and inflated */
    uint32_t   crc;
    bool       deflated, has_crc;   /* a plain .npy has none */
} npz_member;

typedef struct npz_file {
    char       *path;
    int         file;               /* -1 when closed */
    uint64_t    size;
    npz_member *members;            /* in the order of the directory */
    size_t      count;
} npz_file;

/* Reads the directory and every array's header; no data.  On failure *f is
 * closed; VT_BAD_INPUT for a fault of the format. */
VT_MUST_CHECK vt_status npz_open(npz_file *f, const char *path, vt_error *err);
void npz_close(npz_file *f);        /* also of a closed one */

/* The bytes of a member from its first, header included, in pieces. */
typedef struct npz_stream npz_stream;
VT_MUST_CHECK vt_status npz_stream_new(npz_stream **out, const npz_file *f, const npz_member *m,
                                       vt_error *err);
/* Exactly the next n bytes; VT_BAD_INPUT where there are fewer. */
VT_MUST_CHECK vt_status npz_stream_read(npz_stream *s, void *out, size_t n, vt_error *err);
/* After the last byte: that it is the last, and that the CRC-32 is right. */
VT_MUST_CHECK vt_status npz_stream_end(npz_stream *s, vt_error *err);
void npz_stream_free(npz_stream *s);

/* --- writing ------------------------------------------------------------ */

/* A file as pieces, for io_replace_pieces and sha256_hex_pieces.  The pieces
 * point into the items' data, which is read once here, for its CRC-32. */
typedef struct npz_image {
    bytes     text;                 /* all that is not data */
    io_piece *pieces;
    size_t    count;
    uint64_t  nbytes;               /* of the whole file */
} npz_image;

/* Types are those that NumPy has: not BF16, not 8-bit floats. */
VT_MUST_CHECK vt_status npz_image_new(npz_image *image, const st_item *items, size_t count,
                                      vt_error *err);
void npz_image_free(npz_image *image);  /* also of a zeroed one */

/* Replaces the file at `path` by one rename. */
VT_MUST_CHECK vt_status npz_write(const char *path, const st_item *items, size_t count,
                                  vt_error *err);

#endif

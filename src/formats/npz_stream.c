/* npz_stream.c -- the bytes of one member, stored or deflated; see npz.h.
 *
 * Memory is one piece of the file, whatever sizes the archive declares.
 *
 * Reference: zlib.h, "Advanced Functions" (raw inflate: negative windowBits).
 */
#include "formats/npz.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "formats/npz_read.h"

enum { PIECE_FIRST = 1 << 10, PIECE_MOST = 1 << 16 };
/* zlib counts in unsigned ints. */
enum { CALL_MOST = 1 << 30 };

struct npz_stream {
    const npz_file   *f;
    const npz_member *m;
    uint64_t at, packed_left;   /* in the file */
    uint64_t left;              /* of the member's bytes */
    uint32_t crc;
    size_t   piece_bytes;       /* grows: a header alone takes a small piece */
    bool     inflating, ended;  /* z is set up; it met the end of its data */
    z_stream z;
    unsigned char piece[PIECE_MOST];
};

static vt_status broken(const npz_stream *s, const char *what, vt_error *err)
{
    return fail(err, VT_BAD_INPUT, "%.*s: array \"%.*s\": %s", st_path_shown(s->f->path), s->f->path,
                st_shown(s->m->name), s->m->name, what);
}

vt_status npz_pread(const npz_file *f, uint64_t at, void *out, size_t n, vt_error *err)
{
    unsigned char *p = out;
    while (n > 0) {
        const ssize_t got = pread(f->file, p, n < CALL_MOST ? n : CALL_MOST, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(err, status_of(errno), "%s: cannot read: %s", f->path,
                                 strerror(errno));
        if (got == 0)
            return fail(err, VT_BAD_INPUT, "%s: the file ends at byte %llu, %zu more were there "
                        "when it was opened", f->path, (unsigned long long)at, n);
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return VT_OK;
}

vt_status npz_stream_new(npz_stream **out, const npz_file *f, const npz_member *m, vt_error *err)
{
    npz_stream *s = malloc(sizeof *s);
    *out = s;
    if (!s) return fail_memory(err, sizeof *s, "a piece of a file");
    s->f = f;
    s->m = m;
    s->at = m->data;
    s->packed_left = m->packed;
    s->left = m->size;
    s->crc = (uint32_t)crc32(0, NULL, 0);
    s->piece_bytes = PIECE_FIRST;
    s->inflating = s->ended = false;
    memset(&s->z, 0, sizeof s->z);
    if (!m->deflated) return VT_OK;
    if (inflateInit2(&s->z, -MAX_WBITS) != Z_OK) {
        npz_stream_free(s);
        *out = NULL;
        return fail_memory(err, sizeof *s, "zlib");
    }
    s->inflating = true;
    return VT_OK;
}

void npz_stream_free(npz_stream *s)
{
    if (!s) return;
    if (s->inflating) inflateEnd(&s->z);
    free(s);
}

/* The next piece of the packed data, where the last is used up and there is one. */
static vt_status refill(npz_stream *s, vt_error *err)
{
    if (s->z.avail_in > 0 || s->packed_left == 0) return VT_OK;
    const size_t n = s->packed_left < s->piece_bytes ? (size_t)s->packed_left : s->piece_bytes;
    const vt_status status = npz_pread(s->f, s->at, s->piece, n, err);
    if (status != VT_OK) return status;
    s->at += n;
    s->packed_left -= n;
    s->z.next_in = s->piece;
    s->z.avail_in = (uInt)n;
    s->piece_bytes = s->piece_bytes < PIECE_MOST / 4 ? s->piece_bytes * 4 : PIECE_MOST;
    return VT_OK;
}

/* n bytes, at most CALL_MOST, to `out`; *made of them, fewer at the data's end. */
static vt_status inflate_some(npz_stream *s, unsigned char *out, size_t n, size_t *made,
                              vt_error *err)
{
    s->z.next_out = out;
    s->z.avail_out = (uInt)n;
    while (s->z.avail_out > 0 && !s->ended) {
        const vt_status status = refill(s, err);
        if (status != VT_OK) return status;
        const int code = inflate(&s->z, Z_NO_FLUSH);
        if (code == Z_STREAM_END) s->ended = true;
        else if (code == Z_MEM_ERROR) return fail_memory(err, PIECE_MOST, "zlib");
        else if (code == Z_BUF_ERROR && s->z.avail_in == 0 && s->packed_left == 0)
            return broken(s, "the compressed data is cut off", err);
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return broken(s, "the compressed data is damaged", err);
    }
    *made = n - s->z.avail_out;
    return VT_OK;
}

vt_status npz_stream_read(npz_stream *s, void *out, size_t n, vt_error *err)
{
    unsigned char *p = out;
    if (n > s->left) return broken(s, "fewer bytes than its shape needs", err);
    s->left -= n;
    while (n > 0) {
        const size_t some = n < CALL_MOST ? n : CALL_MOST;
        size_t made = some;
        vt_status status;
        if (s->m->deflated) {
            status = inflate_some(s, p, some, &made, err);
            if (status == VT_OK && made < some)
                status = broken(s, "the compressed data ends before the size that is declared", err);
        } else {
            status = npz_pread(s->f, s->at, p, some, err);
            s->at += some;
        }
        if (status != VT_OK) return status;
        s->crc = (uint32_t)crc32(s->crc, p, (uInt)some);
        p += some;
        n -= some;
    }
    return VT_OK;
}

vt_status npz_stream_end(npz_stream *s, vt_error *err)
{
    if (s->left > 0) return broken(s, "more bytes than its shape needs", err);
    if (s->m->deflated) {
        unsigned char more;
        size_t made;
        const vt_status status = inflate_some(s, &more, 1, &made, err);
        if (status != VT_OK) return status;
        if (made > 0 || s->z.avail_in > 0 || s->packed_left > 0)
            return broken(s, "the compressed data goes on behind the size that is declared", err);
    }
    if (s->m->has_crc && s->crc != s->m->crc)
        return fail(err, VT_BAD_INPUT, "%.*s: array \"%.*s\": CRC-32 %08x, the archive says %08x: "
                    "the data is damaged", st_path_shown(s->f->path), s->f->path,
                    st_shown(s->m->name), s->m->name, (unsigned)s->crc, (unsigned)s->m->crc);
    return VT_OK;
}

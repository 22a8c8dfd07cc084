/* npz_read.c -- the archive's directory; see npz.h.
 *
 * In this order, each before what it guards is used: the end record reaches the
 * file's last byte; the directory reaches the end record and is in memory; its
 * entries fill it; each member's bytes lie before it; the local headers say the
 * same; no two members share a byte; a deflated one is no larger than its bytes
 * can make; each is an array whose header and shape fill it.
 */
#include "formats/npz_read.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/utf8.h"
#include "formats/npz_layout.h"

/* The directory is held in memory; of 64 MiB it has half a million arrays. */
enum { DIRECTORY_MOST = 1 << 26 };
/* Deflate makes at most 258 bytes of 2 bits. */
enum { DEFLATE_MOST = 1032 };

typedef struct zip_end { uint64_t count, bytes, begin; } zip_end;

static unsigned long long ull(uint64_t x)
{
    return x;
}

/* --- the end ------------------------------------------------------------ */

static vt_status several_parts(const npz_file *f, vt_error *err)
{
    return fail(err, VT_BAD_INPUT, "%s: a part of an archive of several files", f->path);
}

/* What the end record at `at` leaves to the 64-bit one, where there is one;
 * *stop is where the directory has to end. */
static vt_status read_end64(const npz_file *f, uint64_t at, zip_end *end, uint64_t *stop,
                            vt_error *err)
{
    unsigned char p[END64_BYTES];
    *stop = at;
    if (at < LOCATOR_BYTES) return VT_OK;
    vt_status status = npz_pread(f, at - LOCATOR_BYTES, p, LOCATOR_BYTES, err);
    if (status != VT_OK || zip_u32(p) != ZIP_LOCATOR) return status;
    const uint64_t locator = at - LOCATOR_BYTES, begin = zip_u64(p + LOCATOR_OFFSET);
    if (zip_u32(p + LOCATOR_DISK) != 0 || zip_u32(p + LOCATOR_DISKS) > 1)
        return several_parts(f, err);
    if (begin > locator || locator - begin < END64_BYTES)
        return fail(err, VT_BAD_INPUT, "%s: byte %llu: the zip64 end record at byte %llu is not "
                    "before its locator", f->path, ull(locator), ull(begin));
    status = npz_pread(f, begin, p, END64_BYTES, err);
    if (status != VT_OK) return status;
    if (zip_u32(p) != ZIP_END64 || zip_u64(p + END64_LENGTH) != locator - begin - 12)
        return fail(err, VT_BAD_INPUT, "%s: byte %llu: expected a zip64 end record of %llu bytes",
                    f->path, ull(begin), ull(locator - begin));
    if (zip_u32(p + END64_DISK) != 0 || zip_u32(p + END64_DISK_CD) != 0 ||
        zip_u64(p + END64_HERE) != zip_u64(p + END64_COUNT))
        return several_parts(f, err);
    const zip_end wide = { zip_u64(p + END64_COUNT), zip_u64(p + END64_SIZE),
                           zip_u64(p + END64_OFFSET) };
    if ((end->count != ZIP_IN_64_U16 && end->count != wide.count) ||
        (end->bytes != ZIP_IN_64 && end->bytes != wide.bytes) ||
        (end->begin != ZIP_IN_64 && end->begin != wide.begin))
        return fail(err, VT_BAD_INPUT, "%s: byte %llu: the zip64 end record and the end record at "
                    "byte %llu say different things", f->path, ull(begin), ull(at));
    *end = wide;
    *stop = begin;
    return VT_OK;
}

/* The end record is the last one whose comment ends with the file. */
static vt_status read_end(const npz_file *f, zip_end *end, vt_error *err)
{
    const uint64_t most = END_BYTES + 0xFFFF;
    const size_t n = (size_t)(f->size < most ? f->size : most);
    unsigned char *tail = malloc(n + 1);
    if (!tail) return fail_memory(err, n + 1, "the end of a file");
    vt_status status = npz_pread(f, f->size - n, tail, n, err);
    const unsigned char *p = NULL;
    for (size_t i = n < END_BYTES ? 0 : n - END_BYTES + 1; status == VT_OK && !p && i-- > 0; )
        if (zip_u32(tail + i) == ZIP_END && i + END_BYTES + zip_u16(tail + i + END_COMMENT) == n)
            p = tail + i;
    if (status == VT_OK && !p)
        status = fail(err, VT_BAD_INPUT, "%s: an archive without its end record (is it cut off?)",
                      f->path);
    if (status == VT_OK) {
        const uint64_t at = f->size - n + (uint64_t)(p - tail);
        uint64_t stop = at;
        *end = (zip_end){ zip_u16(p + END_COUNT), zip_u32(p + END_SIZE), zip_u32(p + END_OFFSET) };
        if ((zip_u16(p + END_DISK) != 0 && zip_u16(p + END_DISK) != ZIP_IN_64_U16) ||
            (zip_u16(p + END_DISK_CD) != 0 && zip_u16(p + END_DISK_CD) != ZIP_IN_64_U16) ||
            zip_u16(p + END_HERE) != zip_u16(p + END_COUNT))
            status = several_parts(f, err);
        else status = read_end64(f, at, end, &stop, err);
        if (status == VT_OK && (end->begin > stop || end->bytes != stop - end->begin))
            status = fail(err, VT_BAD_INPUT, "%s: the directory, %llu bytes from byte %llu, does "
                          "not end at byte %llu (is there something before the archive, or is it "
                          "cut off?)", f->path, ull(end->bytes), ull(end->begin), ull(stop));
    }
    free(tail);
    return status;
}

/* --- entries ------------------------------------------------------------ */

typedef struct zip_sizes { uint64_t size, packed, local; } zip_sizes;

/* Takes those of the values that are ZIP_IN_64 from the zip64 field among the
 * extra fields p[0..n-1]. */
static bool widen(zip_sizes *z, const unsigned char *p, size_t n)
{
    uint64_t *wanted[3];
    size_t count = 0;
    if (z->size == ZIP_IN_64) wanted[count++] = &z->size;
    if (z->packed == ZIP_IN_64) wanted[count++] = &z->packed;
    if (z->local == ZIP_IN_64) wanted[count++] = &z->local;
    while (count > 0 && n >= EXTRA_HEAD) {
        const size_t length = zip_u16(p + 2);
        if (length > n - EXTRA_HEAD) return false;
        if (zip_u16(p) == EXTRA_ZIP64) {
            if (length < 8 * count) return false;
            for (size_t i = 0; i < count; i++) *wanted[i] = zip_u64(p + EXTRA_HEAD + 8 * i);
            return true;
        }
        p += EXTRA_HEAD + length;
        n -= EXTRA_HEAD + length;
    }
    return count == 0;
}

/* A copy of the name without ".npy".  (Archives of old name what is not ASCII in
 * code page 437; NumPy flags it as UTF-8, and nothing else is taken.) */
static vt_status copy_name(const npz_file *f, const unsigned char *p, size_t n, char **out,
                           vt_error *err)
{
    const unsigned char *const nul = memchr(p, 0, n);
    const size_t good = utf8_first_bad(p, nul ? (size_t)(nul - p) : n);
    if (good != n)
        return fail(err, VT_BAD_INPUT, "%s: the name of a member is not UTF-8 after \"%.*s\"",
                    f->path, (int)(good < 100 ? good : 0), (const char *)p);
    if (n >= 4 && memcmp(p + n - 4, ".npy", 4) == 0) n -= 4;
    *out = malloc(n + 1);
    if (!*out) return fail_memory(err, n + 1, "a name");
    memcpy(*out, p, n);
    (*out)[n] = 0;
    return VT_OK;
}

/* The member's local header must say what its entry p says; the data is behind
 * it, and before `stop`. */
static vt_status read_local(const npz_file *f, npz_member *m, const unsigned char *p,
                            uint64_t stop, const char *where, vt_error *err)
{
    const size_t name = zip_u16(p + CENTRAL_NAME);
    unsigned char q[LOCAL_BYTES];
    if (m->local > stop || stop - m->local < LOCAL_BYTES)
        return fail(err, VT_BAD_INPUT, "%s: its header at byte %llu is not before the directory",
                    where, ull(m->local));
    vt_status status = npz_pread(f, m->local, q, LOCAL_BYTES, err);
    if (status != VT_OK) return status;
    const size_t extra = zip_u16(q + LOCAL_EXTRA);
    if (zip_u32(q) != ZIP_LOCAL || zip_u16(q + LOCAL_NAME) != name ||
        zip_u16(q + LOCAL_METHOD) != zip_u16(p + CENTRAL_METHOD) ||
        zip_u16(q + LOCAL_FLAGS) != zip_u16(p + CENTRAL_FLAGS))
        return fail(err, VT_BAD_INPUT, "%s: its header at byte %llu is not that of the directory",
                    where, ull(m->local));
    m->data = m->local + LOCAL_BYTES + name + extra;
    if (m->data > stop || stop - m->data < m->packed)
        return fail(err, VT_BAD_INPUT, "%s: its %llu bytes from byte %llu are not before the "
                    "directory at byte %llu", where, ull(m->packed), ull(m->data), ull(stop));
    unsigned char *more = malloc(name + extra + 1);
    if (!more) return fail_memory(err, name + extra + 1, "a name");
    status = npz_pread(f, m->local + LOCAL_BYTES, more, name + extra, err);
    if (status == VT_OK) {
        zip_sizes z = { zip_u32(q + LOCAL_SIZE), zip_u32(q + LOCAL_PACKED), 0 };
        bool same = memcmp(more, p + CENTRAL_BYTES, name) == 0;
        if (same && !(zip_u16(q + LOCAL_FLAGS) & FLAG_SIZES_BEHIND))
            same = widen(&z, more + name, extra) && z.size == m->size && z.packed == m->packed &&
                   zip_u32(q + LOCAL_CRC) == m->crc;
        if (!same)
            status = fail(err, VT_BAD_INPUT, "%s: name, sizes or CRC-32 in its header at byte %llu "
                          "are not those of the directory", where, ull(m->local));
    }
    free(more);
    return status;
}

/* The header of the array, and that header and shape fill the member. */
static vt_status read_array(const npz_file *f, npz_member *m, const char *where, vt_error *err)
{
    unsigned char prelude[NPY_PRELUDE], *header = NULL;
    size_t begin = 0, n = m->size < NPY_PRELUDE ? (size_t)m->size : NPY_PRELUDE;
    npz_stream *s;
    vt_status status = npz_stream_new(&s, f, m, err);
    if (status == VT_OK) status = npz_stream_read(s, prelude, n, err);
    if (status == VT_OK) status = npy_header_bytes(&begin, prelude, n, where, err);
    if (status == VT_OK && begin > m->size)
        status = fail(err, VT_BAD_INPUT, "%s: a header of %zu bytes in an array's %llu", where,
                      begin, ull(m->size));
    if (status == VT_OK) {
        header = malloc(begin + NPY_PRELUDE);
        if (!header) status = fail_memory(err, begin + NPY_PRELUDE, "an array's header");
    }
    if (status == VT_OK) {
        memcpy(header, prelude, n);
        if (begin > n) status = npz_stream_read(s, header + n, begin - n, err);
    }
    if (status == VT_OK) status = npy_parse(&m->npy, header, begin, where, err);
    if (status == VT_OK && m->size - begin != m->npy.nbytes) {
        char shape[200];
        status = fail(err, VT_BAD_INPUT, "%s: shape %s of %s needs %zu bytes, %llu are there", where,
                      st_shape_text(shape, sizeof shape, m->npy.rank, m->npy.shape),
                      st_dtype_name(m->npy.dtype), m->npy.nbytes, ull(m->size - begin));
    }
    free(header);
    npz_stream_free(s);
    return status;
}

/* The entry at p, whose fixed part and texts are in the directory, into *m;
 * `stop` is where the directory begins. */
static vt_status read_entry(const npz_file *f, npz_member *m, const unsigned char *p,
                            uint64_t stop, vt_error *err)
{
    const size_t name = zip_u16(p + CENTRAL_NAME);
    vt_status status = copy_name(f, p + CENTRAL_BYTES, name, &m->name, err);
    if (status != VT_OK) return status;
    char where[400];
    snprintf(where, sizeof where, "%.*s: array \"%.*s\"", st_path_shown(f->path), f->path,
             st_shown(m->name), m->name);
    const uint32_t flags = zip_u16(p + CENTRAL_FLAGS), method = zip_u16(p + CENTRAL_METHOD);
    if (flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED))
        return fail(err, VT_BAD_INPUT, "%s: is encrypted", where);
    if ((method != METHOD_STORED && method != METHOD_DEFLATED) || (flags & FLAG_PATCH))
        return fail(err, VT_BAD_INPUT, "%s: zip method %u, expected 0 (stored) or 8 (deflated)",
                    where, (unsigned)method);
    if (zip_u16(p + CENTRAL_DISK) != 0 && zip_u16(p + CENTRAL_DISK) != ZIP_IN_64_U16)
        return several_parts(f, err);
    zip_sizes z = { zip_u32(p + CENTRAL_SIZE), zip_u32(p + CENTRAL_PACKED),
                    zip_u32(p + CENTRAL_LOCAL) };
    if (!widen(&z, p + CENTRAL_BYTES + name, zip_u16(p + CENTRAL_EXTRA)))
        return fail(err, VT_BAD_INPUT, "%s: its zip64 sizes are missing in the directory", where);
    m->size = z.size;
    m->packed = z.packed;
    m->local = z.local;
    m->crc = zip_u32(p + CENTRAL_CRC);
    m->has_crc = true;
    m->deflated = method == METHOD_DEFLATED;
    if (m->deflated ? m->size / DEFLATE_MOST > m->packed : m->size != m->packed)
        return fail(err, VT_BAD_INPUT, "%s: %llu bytes, which the %llu in the file cannot hold",
                    where, ull(m->size), ull(m->packed));
    status = read_local(f, m, p, stop, where, err);
    if (status == VT_OK) status = read_array(f, m, where, err);
    return status;
}

static vt_status read_directory(npz_file *f, const unsigned char *p, const zip_end *end,
                                vt_error *err)
{
    size_t left = (size_t)end->bytes;
    for (uint64_t i = 0; i < end->count; i++) {
        const size_t fixed = left < CENTRAL_BYTES ? 0 : CENTRAL_BYTES;
        if (!fixed || zip_u32(p) != ZIP_CENTRAL)
            return fail(err, VT_BAD_INPUT, "%s: byte %llu: expected entry %llu of the %llu in the "
                        "directory", f->path, ull(end->begin + end->bytes - left), ull(i),
                        ull(end->count));
        const size_t name = zip_u16(p + CENTRAL_NAME);
        const size_t whole = fixed + name + zip_u16(p + CENTRAL_EXTRA) + zip_u16(p + CENTRAL_COMMENT);
        if (whole > left)
            return fail(err, VT_BAD_INPUT, "%s: byte %llu: entry %llu of the directory is longer "
                        "than it", f->path, ull(end->begin + end->bytes - left), ull(i));
        /* A folder's entry is a name and nothing more: no array. */
        const bool folder = name > 0 && p[CENTRAL_BYTES + name - 1] == '/' &&
                            zip_u32(p + CENTRAL_SIZE) == 0;
        if (!folder) {
            const vt_status status = read_entry(f, &f->members[f->count++], p, end->begin, err);
            if (status != VT_OK) return status;
        }
        p += whole;
        left -= whole;
    }
    if (left > 0)
        return fail(err, VT_BAD_INPUT, "%s: byte %llu: %zu bytes behind the %llu entries of the "
                    "directory", f->path, ull(end->begin + end->bytes - left), left,
                    ull(end->count));
    return VT_OK;
}

/* --- the whole ---------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const npz_member *const *p = a, *const *q = b;
    return ((*p)->local > (*q)->local) - ((*p)->local < (*q)->local);
}

static int by_name(const void *a, const void *b)
{
    const npz_member *const *p = a, *const *q = b;
    return strcmp((*p)->name, (*q)->name);
}

static vt_status check_members(const npz_file *f, vt_error *err)
{
    vt_status status = VT_OK;
    const npz_member **sorted = calloc(f->count + 1, sizeof *sorted);
    if (!sorted) return fail_memory(err, f->count * sizeof *sorted, f->path);
    for (size_t i = 0; i < f->count; i++) sorted[i] = &f->members[i];
    qsort(sorted, f->count, sizeof *sorted, by_place);
    for (size_t i = 1; i < f->count && status == VT_OK; i++) {
        const npz_member *a = sorted[i - 1], *b = sorted[i];
        if (a->data + a->packed > b->local)
            status = fail(err, VT_BAD_INPUT, "%s: array \"%.*s\" at byte %llu is inside \"%.*s\", "
                          "which ends at byte %llu", f->path, st_shown(b->name), b->name,
                          ull(b->local), st_shown(a->name), a->name, ull(a->data + a->packed));
    }
    qsort(sorted, f->count, sizeof *sorted, by_name);
    for (size_t i = 1; i < f->count && status == VT_OK; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status = fail(err, VT_BAD_INPUT, "%s: two arrays are named \"%.*s\"", f->path,
                          st_shown(sorted[i]->name), sorted[i]->name);
    free(sorted);
    return status;
}

static vt_status open_archive(npz_file *f, vt_error *err)
{
    zip_end end = { 0, 0, 0 };
    unsigned char *directory = NULL;
    vt_status status = read_end(f, &end, err);
    if (status != VT_OK) return status;
    if (end.bytes > DIRECTORY_MOST)
        return fail(err, VT_TOO_LARGE, "%s: a directory of %llu bytes, expected at most %d", f->path,
                    ull(end.bytes), (int)DIRECTORY_MOST);
    if (end.count > end.bytes / CENTRAL_BYTES)
        return fail(err, VT_BAD_INPUT, "%s: a directory of %llu bytes has no room for %llu entries",
                    f->path, ull(end.bytes), ull(end.count));
    directory = malloc((size_t)end.bytes + 1);
    f->members = calloc((size_t)end.count + 1, sizeof *f->members);
    if (!directory || !f->members)
        status = fail_memory(err, (size_t)end.count * sizeof *f->members, f->path);
    if (status == VT_OK) status = npz_pread(f, end.begin, directory, (size_t)end.bytes, err);
    if (status == VT_OK) status = read_directory(f, directory, &end, err);
    if (status == VT_OK) status = check_members(f, err);
    free(directory);
    return status;
}

/* One array without a name, its own file. */
static vt_status open_array(npz_file *f, vt_error *err)
{
    f->members = calloc(1, sizeof *f->members);
    if (!f->members) return fail_memory(err, sizeof *f->members, f->path);
    f->count = 1;
    npz_member *m = &f->members[0];
    m->name = calloc(1, 1);
    if (!m->name) return fail_memory(err, 1, "a name");
    m->packed = m->size = f->size;
    return read_array(f, m, f->path, err);
}

vt_status npz_open(npz_file *f, const char *path, vt_error *err)
{
    struct stat info;
    unsigned char head[8];
    *f = (npz_file){ .file = -1 };
    f->path = malloc(strlen(path) + 1);
    if (!f->path) return fail_memory(err, strlen(path) + 1, "a path");
    strcpy(f->path, path);
    vt_status status = VT_OK;
    /* O_NONBLOCK: the opening of a pipe would wait for its writer. */
    do f->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (f->file < 0 && errno == EINTR);
    if (f->file < 0) status = fail(err, status_of(errno), "%s: cannot open: %s", path,
                                   strerror(errno));
    else if (fstat(f->file, &info) != 0)
        status = fail(err, status_of(errno), "%s: cannot stat: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = fail(err, VT_IO, "%s: expected a regular file", path);
    else f->size = (uint64_t)info.st_size;
    const size_t n = f->size < sizeof head ? (size_t)f->size : sizeof head;
    if (status == VT_OK) status = npz_pread(f, 0, head, n, err);
    if (status == VT_OK && npy_is(head, n)) status = open_array(f, err);
    else if (status == VT_OK && n >= 2 && head[0] == 'P' && head[1] == 'K')
        status = open_archive(f, err);
    else if (status == VT_OK)
        status = fail(err, VT_BAD_INPUT, "%s: expected an .npz (\"PK\") or an .npy (\"\\x93NUMPY\")",
                      path);
    if (status != VT_OK) npz_close(f);
    return status;
}

void npz_close(npz_file *f)
{
    for (size_t i = 0; f->members && i < f->count; i++) free(f->members[i].name);
    free(f->members);
    free(f->path);
    if (f->path && f->file >= 0) (void)close(f->file);
    *f = (npz_file){ .file = -1 };
}

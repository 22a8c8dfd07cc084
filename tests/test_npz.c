/* test_npz.c -- .npy and .npz: the reader against what NumPy writes and against
 * hostile files, the writer against NumPy and unzip.
 *
 * NumPy's files are made by /usr/bin/python3 in the test's own folder; archives
 * that no program would write are made there by hand, from struct alone.
 */
#include "support.h"
#include "scratch.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "formats/tensors.h"

enum { LIMIT = 1 << 20 };

static tensors opened(const char *name)
{
    tensors f;
    assert_ok(tensors_open(&f, scratch(name), LIMIT, &test_error));
    return f;
}

/* The tensor has exactly this shape, and these values in row-major order. */
static void holds(const tensors *f, const char *name, size_t rank, const size_t *shape,
                  const double *values)
{
    const tensor *t = tensors_find(f, name);
    if (!t) fail_msg("%s: no tensor \"%s\"", tensors_path(f), name);
    size_t count = 1;
    assert_int_equal(t->rank, rank);
    for (size_t d = 0; d < rank; d++) {
        assert_int_equal(t->shape[d], shape[d]);
        count *= shape[d];
    }
    assert_int_equal(t->count, count);
    double *x = malloc((count + 1) * sizeof *x);
    assert_non_null(x);
    assert_ok(tensors_read_f64(f, t, x, &test_error));
    for (size_t i = 0; i < count; i++)
        if (!(x[i] == values[i]))
            fail_msg("%s: \"%s\": element %zu is %g, expected %g", tensors_path(f), name, i, x[i],
                     values[i]);
    free(x);
}

static const double six[] = { 1, 2, 3, 4, 5, 6 };
static const size_t two_three[] = { 2, 3 }, three_two[] = { 3, 2 }, three[] = { 3 };

/* --- known faults ------------------------------------------------------- */

/* NPZ-01: order of dimensions, and one dimension */
static void npz01_order_and_one_dimension(void **state)
{
    (void)state;
    python("import numpy as np\n"
           "a = np.array([[1., 2, 3], [4, 5, 6]])\n"
           "f = np.asfortranarray(a)\n"
           "np.save('c.npy', a); np.save('f.npy', f); np.save('t.npy', f.T); np.save('v.npy', a[0])\n"
           "np.savez('o.npz', c=a, f=f, t=a.T, v=a[0], s=a[1, 1], one=a[:1, :1])\n"
           "assert b\"'fortran_order': True\" in open('f.npy', 'rb').read()\n"
           "assert b'(3,)' in open('v.npy', 'rb').read()\n"
           "print('compared', 6)\n", 6);
    static const double turned[] = { 1, 4, 2, 5, 3, 6 };
    static const struct { const char *file; const double *values; size_t rank;
                          const size_t *shape; } alone[] = {
        { "c.npy", six, 2, two_three }, { "f.npy", six, 2, two_three },
        { "t.npy", turned, 2, three_two }, { "v.npy", six, 1, three },
    };
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        tensors f = opened(alone[i].file);
        assert_int_equal(f.count, 1);
        holds(&f, "", alone[i].rank, alone[i].shape, alone[i].values);
        tensors_close(&f);
    }
    tensors f = opened("o.npz");
    assert_int_equal(f.count, 6);
    const size_t ones[] = { 1, 1 };
    holds(&f, "c", 2, two_three, six);
    holds(&f, "f", 2, two_three, six);
    holds(&f, "t", 2, three_two, turned);
    holds(&f, "v", 1, three, six);
    holds(&f, "s", 0, NULL, six + 4);
    holds(&f, "one", 2, ones, six);
    tensors_close(&f);

    /* and ours, with the shapes that other writers got wrong */
    const st_item items[] = { { "v", ST_F64, 1, { 3 }, six }, { "a", ST_F64, 2, { 2, 3 }, six },
                              { "s", ST_F64, 0, { 0 }, six + 4 } };
    assert_ok(tensors_write(scratch("ours.npz"), items, 3, &test_error));
    python("import numpy as np\n"
           "f = np.load('ours.npz', allow_pickle=False)\n"
           "assert f.files == ['v', 'a', 's']\n"
           "assert f['v'].shape == (3,) and f['v'].tolist() == [1, 2, 3]\n"
           "assert f['a'].tolist() == [[1, 2, 3], [4, 5, 6]] and f['a'].flags.c_contiguous\n"
           "assert f['s'].shape == () and f['s'] == 5\n"
           "print('compared', 3)\n", 3);
}

/* The fields of 64 bits where the values are small: NumPy's local headers, which
 * have them; as Python from 3.11.4 on writes them, with the 32-bit ones out of
 * use; and everywhere, by an archiver whose limit is lowered. */
static void npz03_zip64_of_small_members(void **state)
{
    (void)state;
    python("import numpy as np, zipfile, struct\n"
           "a = np.array([[1., 2, 3], [4, 5, 6]])\n"
           "np.savez('small.npz', a=a, b=a[0])\n"
           "raw = open('small.npz', 'rb').read()\n"
           "assert raw[28:30] == b'\\x14\\0' and raw[35:39] == b'\\1\\0\\x10\\0', 'NumPy has a zip64 field'\n"
           "at = raw.index(b'PK\\3\\4', 4)\n"
           "marked = bytearray(raw)\n"
           "marked[18:26] = marked[at + 18:at + 26] = b'\\xff' * 8\n"
           "open('marked.npz', 'wb').write(marked)\n"
           "assert np.load('marked.npz')['b'].tolist() == [1, 2, 3]\n"
           "zipfile.ZIP64_LIMIT = 30\n"
           "np.savez('wide.npz', a=a, b=a[0])\n"
           "np.savez_compressed('widec.npz', a=a, b=a[0])\n"
           "for name in 'wide.npz', 'widec.npz':\n"
           "    raw = open(name, 'rb').read()\n"
           "    assert b'PK\\x06\\x06' in raw and b'PK\\x06\\x07' in raw\n"
           "    at = raw.index(b'PK\\x01\\x02')\n"
           "    assert raw[at + 20:at + 28] == b'\\xff' * 8, 'and in the directory'\n"
           "print('compared', 3)\n", 3);
    static const char *const names[] = { "small.npz", "marked.npz", "wide.npz", "widec.npz" };
    for (size_t i = 0; i < 4; i++) {
        tensors f = opened(names[i]);
        assert_int_equal(f.count, 2);
        holds(&f, "a", 2, two_three, six);
        holds(&f, "b", 1, three, six);
        tensors_close(&f);
    }
}

/* The pieces of an image into a file, zeros as a hole: the disk has no room for
 * gigabytes of them. */
static void write_sparse(const char *path, const npz_image *image, const void *zeros)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(file >= 0);
    off_t at = 0;
    for (size_t i = 0; i < image->count; i++) {
        const io_piece *p = &image->pieces[i];
        if (p->n > 0 && p->data != zeros)
            assert_true(pwrite(file, p->data, p->n, at) == (ssize_t)p->n);
        at += (off_t)p->n;
    }
    assert_true((uint64_t)at == image->nbytes);
    assert_int_equal(close(file), 0);
}

/* The CRC-32 of a header and n MiB of zeros behind it, from those of the parts: zlib
 * combines them by powers of x in GF(2), without a look at gigabytes. */
static uint32_t crc_before_zeros(const unsigned char *header, size_t length, size_t n)
{
    enum { MIB = 1 << 20 };
    unsigned char *zeros = calloc(1, MIB);
    assert_non_null(zeros);
    const uLong part = crc32(0, zeros, MIB);
    uLong whole = crc32(0, header, (uInt)length);
    for (size_t i = 0; i < n; i++) whole = crc32_combine(whole, part, MIB);
    free(zeros);
    return (uint32_t)whole;
}

/* Zeros to read, n MiB: one MiB of a file again and again.  Where a kernel has no page of
 * zeros for everyone (under some hypervisors), anonymous ones would be memory. */
static void *map_zeros(size_t n)
{
    enum { MIB = 1 << 20 };
    const int file = open(scratch("zeros"), O_RDWR | O_CREAT, 0666);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, MIB), 0);
    char *at = mmap(NULL, n * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(at != MAP_FAILED);
    for (size_t i = 0; i < n; i++)
        assert_true(mmap(at + i * MIB, MIB, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED);
    assert_int_equal(close(file), 0);
    return at;
}

/* From now on the process may have `more` bytes of memory beyond what it has. */
static void limit_memory(rlim_t more)
{
    char line[200];
    unsigned long long kib = 0;
    struct rlimit limit;
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmData: %llu", &kib) == 1) break;
    assert_int_equal(fclose(status), 0);
    assert_true(kib > 0);
    assert_int_equal(getrlimit(RLIMIT_DATA, &limit), 0);
    limit.rlim_cur = more == RLIM_INFINITY ? limit.rlim_max : kib * 1024 + more;
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
}

/* NPZ-03: a member of 4.1 GiB, and one that stands behind it */
static void npz03_four_gigabytes(void **state)
{
    (void)state;
    const size_t big = (size_t)4100 << 20;
    void *zeros = map_zeros(big >> 20);
    const st_item items[] = { { "before", ST_F64, 1, { 3 }, six },
                              { "big", ST_F32, 2, { big / 4096, 1024 }, zeros },
                              { "behind", ST_F64, 2, { 2, 3 }, six } };
    limit_memory((rlim_t)100 << 20);                    /* the size is no memory */
    npz_image image;
    assert_ok(npz_image_new(&image, items, 3, &test_error));
    assert_true(image.nbytes > big && image.nbytes < big + 2000);
    write_sparse(scratch("big.npz"), &image, zeros);
    npz_image_free(&image);

    tensors f = opened("big.npz");
    holds(&f, "before", 1, three, six);
    holds(&f, "behind", 2, two_three, six);
    const tensor *t = tensors_find(&f, "big");
    assert_non_null(t);
    assert_int_equal(t->count, big / 4);
    float *nowhere = malloc(1);
    assert_int_equal(tensors_read_f32(&f, t, nowhere, &test_error), VT_TOO_LARGE);
    assert_contains(test_error.text, "tensor \"big\": 4299161600 bytes, at most 1048576");
    free(nowhere);
    npz_stream *s;
    unsigned char header[128];
    assert_ok(npz_stream_new(&s, &f.npz, t->npz, &test_error));
    assert_ok(npz_stream_read(s, header, sizeof header, &test_error));
    assert_true(t->npz->crc == crc_before_zeros(header, sizeof header, big >> 20));
#if SWEEP(1, 0)                         /* its bytes, all of them: length and CRC-32 */
    enum { PIECE = 1 << 22 };
    unsigned char *piece = malloc(PIECE);
    assert_non_null(piece);
    for (uint64_t left = t->npz->size - sizeof header, n; left > 0; left -= n) {
        n = left < PIECE ? left : PIECE;
        assert_ok(npz_stream_read(s, piece, (size_t)n, &test_error));
    }
    assert_ok(npz_stream_end(s, &test_error));
    free(piece);
#endif
    npz_stream_free(s);
    tensors_close(&f);
    munmap(zeros, big);
#if SWEEP(1, 0)                         /* the sanitizer ends what has no memory */
    assert_null(malloc((size_t)200 << 20));             /* the limit was one */
#endif
    limit_memory(RLIM_INFINITY);
    python("import numpy as np, zipfile\n"
           "z = zipfile.ZipFile('big.npz')\n"
           "before, big, behind = z.infolist()\n"
           "assert big.file_size > 2**32 - 1 and 4299161600 + 128 == big.compress_size\n"
           "assert behind.header_offset > 2**32 and before.header_offset == 0\n"
           "with z.open('big.npy') as m:\n"
           "    assert np.lib.format.read_magic(m) == (1, 0)\n"
           "    assert np.lib.format.read_array_header_1_0(m) == ((1049600, 1024), False, np.dtype('<f4'))\n"
           "f = np.load('big.npz')\n"
           "assert f['before'].tolist() == [1, 2, 3] and f['behind'].tolist() == [[1, 2, 3], [4, 5, 6]]\n"
           "print('compared', 3)\n", 3);
}

/* The directory, and what stands before and behind; of big.npy its CRC-32 is known. */
static void npz03_unzip_finds_its_way(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "unzip -t '%s' before.npy behind.npy >'%s' 2>&1",
             scratch("big.npz"), scratch("unzip.log"));
    const int rc = system(command);
    bytes log;
    assert_ok(io_read(&log, scratch("unzip.log"), LIMIT, &test_error));
    if (rc != 0) fail_msg("unzip -t: status %d: %s", rc, (const char *)log.data);
    assert_contains((const char *)log.data, "before.npy");
    assert_contains((const char *)log.data, "behind.npy");
    assert_contains((const char *)log.data, "No errors detected");
    bytes_free(&log);
}

/* More members than 16 bits count. */
static void npz03_seventy_thousand_members(void **state)
{
    (void)state;
    enum { MANY = 70000 };
    st_item *items = calloc(MANY, sizeof *items);
    char (*names)[8] = calloc(MANY, sizeof *names);
    uint8_t *data = calloc(MANY, 1);
    assert_true(items && names && data);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        data[i] = (uint8_t)(i % 251);
        items[i] = (st_item){ .name = names[i], .dtype = ST_U8, .rank = 0, .data = &data[i] };
    }
    assert_ok(npz_write(scratch("many.npz"), items, MANY, &test_error));
    tensors f = opened("many.npz");
    assert_int_equal(f.count, MANY);
    for (size_t i = 0; i < MANY; i += 9973) {
        const double x = (double)data[i];
        holds(&f, names[i], 0, NULL, &x);
    }
    tensors_close(&f);
    free(items);
    free(names);
    free(data);
    python("import numpy as np\n"
           "f = np.load('many.npz')\n"
           "assert f.files == ['n%d' % i for i in range(70000)]\n"
           "for i in 0, 65535, 65536, 69999: assert f['n%d' % i] == i % 251\n"
           "print('compared', len(f.files))\n", MANY);
}

/* --- every type, order and shape ---------------------------------------- */

/* Element k of type d in the arrays that NumPy writes below. */
static double element_of(const char *d, size_t k)
{
    const double x = (double)k;
    return d[0] == 'b' ? (double)(k % 3 == 0) : d[0] == 'u' ? 10 * x
         : d[0] == 'i' ? 10 * x - 115 : (x - 11) * 0.375;
}

static void every_type_that_numpy_writes(void **state)
{
    (void)state;
    python("import numpy as np\n"
           "k = np.arange(24).reshape(2, 3, 4)\n"
           "all = {}\n"
           "for d in 'b1 u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8'.split():\n"
           "    a = k % 3 == 0 if d == 'b1' else k * 10 if d[0] == 'u' else k * 10 - 115 if d[0] == 'i' else (k - 11) * .375\n"
           "    for order in '<>':\n"
           "        b = a.astype(order + d)\n"
           "        assert (b == a).all()\n"
           "        all[order + d + 'C'] = b\n"
           "        all[order + d + 'F'] = np.asfortranarray(b)\n"
           "        all[order + d + 'e'] = b[:, :0]\n"
           "np.savez('types.npz', **all); np.savez_compressed('typesc.npz', **all)\n"
           "print('compared', len(all))\n", 72);
    static const char *const types[] = { "b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2",
                                         "f4", "f8" };
    static const char *const ours[] = { "BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64",
                                        "F16", "F32", "F64" };
    static const size_t shape[] = { 2, 3, 4 }, none[] = { 2, 0, 4 };
    static const char *const files[] = { "types.npz", "typesc.npz" };
    size_t compared = 0;
    for (size_t n = 0; n < 2; n++) {
        tensors f = opened(files[n]);
        assert_int_equal(f.count, 72);
        for (size_t d = 0; d < 12; d++)
            for (size_t v = 0; v < 6; v++) {
                char name[8];
                double values[24];
                for (size_t k = 0; k < 24; k++) values[k] = element_of(types[d], k);
                snprintf(name, sizeof name, "%c%s%c", "<>"[v / 3], types[d], "CFe"[v % 3]);
                holds(&f, name, 3, v % 3 == 2 ? none : shape, values);
                assert_string_equal(st_dtype_name(tensors_find(&f, name)->dtype), ours[d]);
                compared++;
            }
        tensors_close(&f);
    }
    assert_int_equal(compared, 144);
}

static void numpy_loads_every_type_of_ours(void **state)
{
    (void)state;
    static const float    f32[] = { 1.5f, -0.0f, 3e-45f, 3.4028235e38f, 0.1f, 7 };
    static const double   f64[] = { 0.1, -1e300, 5e-324, 0, 1, 2 };
    static const int32_t  i32[] = { INT32_MIN, -1, INT32_MAX };
    static const int64_t  i64[] = { INT64_MIN, -1, INT64_MAX };
    static const uint64_t u64[] = { UINT64_MAX };
    static const uint8_t  u8[] = { 0, 1, 200 }, yes[] = { 1, 0, 1 };
    static const uint16_t f16[] = { 0x3C00, 0xC100 };       /* 1, -2.5 */
    const st_item items[] = {
        { "h.0.att", ST_F32, 3, { 1, 2, 3 }, f32 }, { "f64", ST_F64, 2, { 3, 2 }, f64 },
        { "i32", ST_I32, 1, { 3 }, i32 }, { "i64", ST_I64, 1, { 3 }, i64 },
        { "u64", ST_U64, 0, { 0 }, u64 }, { "u8", ST_U8, 2, { 1, 3 }, u8 },
        { "mask", ST_BOOL, 2, { 3, 1 }, yes }, { "none", ST_F32, 2, { 0, 5 }, NULL },
        { "\xC3\xA9 \xE4\xB8\x80", ST_F16, 1, { 2 }, f16 },
        { "deep", ST_U8, 8, { 1, 1, 1, 1, 1, 1, 1, 3 }, u8 },
    };
    enum { ITEMS = sizeof items / sizeof *items };
    assert_ok(tensors_write(scratch("all.npz"), items, ITEMS, &test_error));
    python("import numpy as np, zipfile, struct\n"
           "f = np.load('all.npz', allow_pickle=False)\n"
           "want = {'h.0.att': np.array([[[1.5, -0.0, 3e-45], [3.4028235e38, 0.1, 7]]], 'f4'),\n"
           "  'f64': np.array([[.1, -1e300], [5e-324, 0], [1, 2]]),\n"
           "  'i32': np.array([-2**31, -1, 2**31 - 1], 'i4'), 'i64': np.array([-2**63, -1, 2**63 - 1], 'i8'),\n"
           "  'u64': np.array(2**64 - 1, 'u8'), 'u8': np.array([[0, 1, 200]], 'u1'),\n"
           "  'mask': np.array([[True], [False], [True]]), 'none': np.zeros((0, 5), 'f4'),\n"
           "  '\\u00e9 \\u4e00': np.array([1, -2.5], 'f2'),\n"
           "  'deep': np.array([0, 1, 200], 'u1').reshape(1, 1, 1, 1, 1, 1, 1, 3)}\n"
           "assert f.files == list(want)\n"
           "for name, a in want.items():\n"
           "    b = f[name]\n"
           "    assert b.dtype == a.dtype and b.shape == a.shape and b.tobytes() == a.tobytes(), name\n"
           "z = zipfile.ZipFile('all.npz')\n"
           "assert z.testzip() is None\n"
           "for i in z.infolist():\n"
           "    assert i.date_time == (1980, 1, 1, 0, 0, 0) and i.compress_type == 0 and i.extract_version == 20\n"
           "    head = z.read(i)[:10]\n"
           "    assert (10 + struct.unpack('<H', head[8:])[0]) % 64 == 0\n"
           "print('compared', len(want))\n", ITEMS);
    char command[300];
    snprintf(command, sizeof command, "unzip -tqq '%s' >/dev/null", scratch("all.npz"));
    assert_int_equal(system(command), 0);
    /* the bytes depend on the arguments alone */
    npz_image image;
    char first[65], again[65];
    assert_ok(sha256_hex_file(first, scratch("all.npz"), &test_error));
    assert_ok(npz_image_new(&image, items, ITEMS, &test_error));
    sha256_hex_pieces(again, image.pieces, image.count);
    npz_image_free(&image);
    assert_string_equal(first, again);
    /* and come back */
    tensors f = opened("all.npz");
    assert_int_equal(f.count, ITEMS);
    for (size_t i = 0; i < ITEMS; i++) assert_string_equal(f.items[i].name, items[i].name);
    tensors_close(&f);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    npz_image image;
    const st_item twice[] = { { "a", ST_F64, 1, { 1 }, six }, { "a", ST_F64, 1, { 1 }, six } };
    const st_item odd[] = {
        { "a\xFF", ST_F64, 1, { 1 }, six },
        { "b", ST_BF16, 1, { 1 }, six },
        { "c", ST_F64, 9, { 1, 1, 1, 1, 1, 1, 1, 1 }, six },
        { "d", ST_F64, 2, { (size_t)1 << 32, (size_t)1 << 32 }, six },
        { "e", ST_U8, 1, { SIZE_MAX - 100 }, six },
    };
    static const char *const says[] = { "is not UTF-8", "\"b\": NumPy has no type BF16",
                                        "\"c\": more than 8 dimensions",
                                        "\"d\": more bytes than a size can hold", "" };
    assert_int_equal(npz_image_new(&image, twice, 2, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "tensor \"a\" is given twice");
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(npz_image_new(&image, &odd[i], 1, &test_error),
                         i < 3 ? VT_BAD_INPUT : VT_TOO_LARGE);
        assert_contains(test_error.text, says[i]);
        assert_null(image.pieces);
    }
    char *name = malloc(65536);
    assert_non_null(name);
    memset(name, 'n', 65535);
    name[65535] = 0;
    const st_item item = { name, ST_F64, 1, { 1 }, six }, fits = { name + 4, ST_F64, 1, { 1 }, six };
    assert_int_equal(npz_image_new(&image, &item, 1, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "a name of 65535 bytes, expected at most 65531");
    assert_ok(npz_write(scratch("name.npz"), &fits, 1, &test_error));
    tensors f = opened("name.npz");
    assert_string_equal(f.items[0].name, name + 4);
    tensors_close(&f);
    free(name);
    assert_ok(npz_write(scratch("nothing.npz"), NULL, 0, &test_error));
    f = opened("nothing.npz");
    assert_int_equal(f.count, 0);
    tensors_close(&f);
    python("import numpy as np\n"
           "assert np.load('nothing.npz').files == [] and len(np.load('name.npz').files[0]) == 65531\n"
           "print('compared', 2)\n", 2);
}

/* --- headers by hand ---------------------------------------------------- */

static bytes npy_by_hand(int version, const char *dict, size_t n)
{
    bytes b = { 0 };
    const size_t length = strlen(dict);
    const unsigned char head[] = { 0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0,
                                   (unsigned char)length, (unsigned char)(length >> 8), 0, 0 };
    assert_ok(bytes_append(&b, head, version == 1 ? 10 : 12, &test_error));
    assert_ok(bytes_append(&b, dict, length, &test_error));
    for (size_t i = 0; i < n; i++) assert_ok(bytes_append(&b, "\0", 1, &test_error));
    return b;
}

/* What the opening says of such a file; "" where it takes it. */
static const char *verdict(int version, const char *dict, size_t n)
{
    bytes b = npy_by_hand(version, dict, n);
    tensors f;
    FILE *out = fopen(scratch("hand.npy"), "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(b.data, 1, b.len, out), b.len);
    assert_int_equal(fclose(out), 0);
    bytes_free(&b);
    const vt_status status = tensors_open(&f, scratch("hand.npy"), LIMIT, &test_error);
    if (status == VT_OK) {
        tensors_close(&f);
        return "";
    }
    if (status != VT_BAD_INPUT) fail_msg("status %d: %s", (int)status, test_error.text);
    assert_null(f.items);
    assert_contains(test_error.text, "hand.npy: ");
    return test_error.text;
}

#define DICT(descr, order, shape) \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

static void headers_that_are_taken(void **state)
{
    (void)state;
    static const struct { int version; const char *dict; size_t nbytes; } row[] = {
        { 1, DICT("'<f8'", "False", "(2, 3)") "    \n", 48 },
        { 2, DICT("'<f8'", "False", "(2, 3)") "\n", 48 },
        { 3, DICT("'<f8'", "True", "(2, 3)"), 48 },
        { 1, "{'shape': (2, 3), 'fortran_order': False, 'descr': '>f8'}", 48 },
        { 1, "  {\"descr\":\"<f8\",\"fortran_order\":False,\"shape\":(2,3,)}", 48 },
        { 1, DICT("'<f8'", "False", "()"), 8 },
        { 1, DICT("'<f8'", "False", "( 3 , )"), 24 },
        { 1, DICT("'<f8'", "False", "(3L, 2L)"), 48 },
        { 1, DICT("'<f8'", "False", "(0, 3)"), 0 },
        { 1, DICT("'<u1'", "False", "(3,)"), 3 },
        { 1, DICT("'>b1'", "False", "(3,)"), 3 },
        { 1, DICT("'|u1'", "False", "(1,1,1,1,1,1,1,2)"), 2 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *says = verdict(row[i].version, row[i].dict, row[i].nbytes);
        if (says[0]) fail_msg("%s: %s", row[i].dict, says);
    }
}

static void headers_that_are_refused(void **state)
{
    (void)state;
    static const struct { const char *dict, *says; } row[] = {
        { DICT("'<f8'", "False", "(3)"), "the shape (3) is a number to Python, expected (3,)" },
        { DICT("'|O'", "False", "(3,)"), "dtype '|O' (Python objects" },
        { DICT("'|O'", "False", "(3,)"), "allow_pickle=False" },
        { DICT("'<U5'", "False", "(3,)"), "dtype '<U5' (text)" },
        { DICT("'|S5'", "False", "(3,)"), "dtype '|S5' (text)" },
        { DICT("'<c8'", "False", "(3,)"), "dtype '<c8' (complex numbers)" },
        { DICT("'<M8[ns]'", "False", "(3,)"), "dtype '<M8[ns]' (dates)" },
        { DICT("'|V2'", "False", "(3,)"), "dtype '|V2' (raw bytes, as of bfloat16" },
        { DICT("'<f16'", "False", "(3,)"), "dtype '<f16' (unknown here)" },
        { DICT("'=f8'", "False", "(3,)"), "dtype '=f8'" },
        { DICT("'|f8'", "False", "(3,)"), "dtype '|f8'" },
        { DICT("'f8'", "False", "(3,)"), "dtype 'f8'" },
        { DICT("''", "False", "(3,)"), "dtype ''" },
        { DICT("'<b4'", "False", "(3,)"), "dtype '<b4'" },
        { DICT("[('x', '<f8')]", "False", "(3,)"), "structured dtype" },
        { DICT("'<f8'", "false", "(3,)"), "expected True or False, found 'f'" },
        { DICT("'<f8'", "0", "(3,)"), "expected True or False, found '0'" },
        { DICT("'<f8'", "False", "3"), "expected a shape, for example (2, 3), found '3'" },
        { DICT("'<f8'", "False", "[3]"), "expected a shape" },
        { DICT("'<f8'", "False", "(-3,)"), "expected a size, found '-'" },
        { DICT("'<f8'", "False", "(3.0,)"), "expected ',' or ')', found '.'" },
        { DICT("'<f8'", "False", "(,)"), "expected a size, found ','" },
        { DICT("'<f8'", "False", "(3 3)"), "expected ',' or ')', found '3'" },
        { DICT("'<f8'", "False", "(1,1,1,1,1,1,1,1,1)"), "more than 8 dimensions" },
        { DICT("'<f8'", "False", "(99999999999999999999,)"), "a size that this machine can hold" },
        { DICT("'<f8'", "False", "(4294967296, 4294967296)"), "more bytes than a size can hold" },
        { DICT("'<f8'", "False", "(2,)"), "shape [2] of F64 needs 16 bytes, 24 are there" },
        { DICT("'<f8'", "False", "(4,)"), "shape [4] of F64 needs 32 bytes, 24 are there" },
        { "{'descr': '<f8', 'fortran_order': False}", "key 'shape' is missing" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'x': 1}", "key 'x' is none of" },
        { "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3,)}",
          "key 'descr' stands twice" },
        { DICT("'<f8'", "False", "(3,)") " x", "expected spaces after the dict, found 'x'" },
        { "{'descr': '<f8' 'fortran_order': False, 'shape': (3,)}", "expected ',' or '}'" },
        { "{'descr' '<f8'}", "expected ':'" },
        { "{'descr': '<f\\x38'}", "expected a dtype" },
        { "{'descr': '<f8", "expected a closing quote, found its end" },
        { "{'descr': '", "expected a closing quote" },
        { "{,}", "expected 'descr', 'fortran_order' or 'shape', found ','" },
        { "[]", "expected '{', found '['" },
        { "", "expected '{', found its end" },
        { "{\x01}", "found byte 1" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_contains(verdict(1, row[i].dict, 24), row[i].says);
    static const char good[] = DICT("'<f8'", "False", "(3,)");
    assert_contains(verdict(4, good, 24), "version 4.0, expected 1.0, 2.0 or 3.0");
    assert_contains(verdict(0, good, 24), "version 0.0");
    assert_string_equal(verdict(1, good, 24), "");
}

/* --- hostile archives --------------------------------------------------- */

/* Archives from struct alone: fields can lie. */
#define ARCHIVER \
    "import struct, zlib, numpy as np, io\n" \
    "def npy(a):\n" \
    "    b = io.BytesIO(); np.save(b, a); return b.getvalue()\n" \
    "A = npy(np.array([1., 2, 3])); N = len(A)\n" \
    "def deflated(d):\n" \
    "    c = zlib.compressobj(9, 8, -15); return c.compress(d) + c.flush()\n" \
    "class M:\n" \
    "    def __init__(s, name='a.npy', data=A, packed=None, **k):\n" \
    "        s.name = name.encode() if isinstance(name, str) else name\n" \
    "        s.raw = data if packed is None else packed\n" \
    "        s.v = dict(flags=0, method=0 if packed is None else 8, crc=zlib.crc32(data), npacked=len(s.raw),\n" \
    "                   size=len(data), lname=s.name, lextra=b'', extra=b'', disk=0, comment=b'', at=None)\n" \
    "        s.v.update(k)\n" \
    "def archive(path, *ms, before=b'', behind=b'', gap=b'', comment=b'', **e):\n" \
    "    out, cd = before, b''\n" \
    "    for m in ms:\n" \
    "        v, at = m.v, len(out)\n" \
    "        out += struct.pack('<IHHHHHIIIHH', 0x04034b50, 20, v.get('lflags', v['flags']), v.get('lmethod', v['method']), 0, 33,\n" \
    "            v.get('lcrc', v['crc']), v.get('lpacked', v['npacked']), v.get('lsize', v['size']), len(v['lname']), len(v['lextra']))\n" \
    "        out += v['lname'] + v['lextra'] + m.raw + gap\n" \
    "        cd += struct.pack('<IHHHHHHIIIHHHHHII', 0x02014b50, 20, 20, v['flags'], v['method'], 0, 33, v['crc'], v['npacked'], v['size'],\n" \
    "            len(m.name), len(v['extra']), len(v['comment']), v['disk'], 0, 0, at if v['at'] is None else v['at'])\n" \
    "        cd += m.name + v['extra'] + v['comment']\n" \
    "    n = e.get('count', len(ms))\n" \
    "    end = struct.pack('<IHHHHIIH', 0x06054b50, e.get('disk', 0), e.get('disk_cd', 0), e.get('here', n), n,\n" \
    "        e.get('bytes', len(cd)), e.get('begin', len(out)), e.get('clen', len(comment)))\n" \
    "    at = len(out) + len(cd)\n" \
    "    if 'wide' in e: end = e['wide'](at, len(ms), len(cd), len(out)) + end\n" \
    "    open(path, 'wb').write(out + cd + end + comment + behind)\n" \
    "def end64(a, c, s, b, **k):\n" \
    "    return struct.pack('<IQHHIIQQQQ', k.get('sig', 0x06064b50), k.get('len', 44), 45, 45, k.get('disk', 0), 0, k.get('here', c), k.get('n', c),\n" \
    "        k.get('size', s), k.get('begin', b)) + struct.pack('<IIQI', 0x07064b50, k.get('ldisk', 0), k.get('at', a), k.get('disks', 1))\n" \
    "X = lambda *v: struct.pack('<HH', 1, 8 * len(v)) + struct.pack('<%dQ' % len(v), *v)\n" \
    "F = 0xFFFFFFFF\n"

static void archives_that_are_taken(void **state)
{
    (void)state;
    python(ARCHIVER
           "archive('t0.npz', M())\n"
           "archive('t1.npz', M(), comment=b'a comment PK\\x05\\x06 with a signature in it, long enough to be a record')\n"
           "archive('t2.npz', M(), before=b'PK\\x03\\x04' + bytes(96), gap=b'between')\n"
           "archive('t3.npz', M(packed=deflated(A)))\n"
           "archive('t4.npz', M(flags=8, lcrc=0, lpacked=0, lsize=0), gap=struct.pack('<IIII', 0x08074b50, zlib.crc32(A), N, N))\n"
           "archive('t5.npz', M(size=F, extra=struct.pack('<HHI', 0x5455, 4, 7) + X(N), lextra=X(N, N), lsize=F, lpacked=F))\n"
           "archive('t6.npz', M(at=F, extra=X(0)), wide=end64, begin=F, bytes=F, count=0xFFFF, disk=0xFFFF)\n"
           "archive('t7.npz', M(comment=b'its own'), M('folder/', b''), M('folder/b.npy'))\n"
           "archive('t8.npz', M('a', A))\n"
           "archive('t9.npz', M(), wide=end64)\n"
           "archive('paths.npz', M('../../up.npy'), M('/tmp/vitrine_test_absolute.npy'), M('C:\\\\x.npy'), M('.npy'),\n"
           "        M('a/../b.npy'), M('a.npy.npy'))\n"
           "for i in 0, 2, 3, 4, 5, 6, 7, 8, 9: assert np.load('t%d.npz' % i)['a'].tolist() == [1, 2, 3], i\n"
           "print('compared', 9)\n", 9);
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d.npz", i);
        tensors f = opened(name);
        assert_int_equal(f.count, i == 7 ? 2 : 1);
        holds(&f, "a", 1, three, six);
        if (i == 7) holds(&f, "folder/b", 1, three, six);
        tensors_close(&f);
    }
    /* A name that looks like a path is a name. */
    static const char *const paths[] = { "../../up", "/tmp/vitrine_test_absolute", "C:\\x", "",
                                         "a/../b", "a.npy" };
    tensors f = opened("paths.npz");
    assert_int_equal(f.count, 6);
    for (size_t i = 0; i < 6; i++) holds(&f, paths[i], 1, three, six);
    tensors_close(&f);
    assert_int_not_equal(access("/tmp/vitrine_test_absolute.npy", F_OK), 0);
}

/* Each of these archives has one fault; the file's name is the row's number. */
static const struct { const char *python, *says; } faults[] = {
    { "M(flags=1)", "\"a\": is encrypted" },
    { "M(flags=0x41)", "is encrypted" },
    { "M(flags=0x2000)", "is encrypted" },
    { "M(method=12)", "zip method 12, expected 0 (stored) or 8 (deflated)" },
    { "M(method=9)", "zip method 9" },
    { "M(flags=0x20)", "zip method 0" },
    { "M(), M()", "two arrays are named \"a\"" },
    { "M('a', A), M('a.npy', A)", "two arrays are named \"a\"" },
    { "M(disk=1)", "part of an archive of several files" },
    { "M(), disk=1", "part of an archive of several files" },
    { "M(), disk_cd=1", "part of an archive of several files" },
    { "M(), here=0", "part of an archive of several files" },
    { "M('a\\0b.npy')", "name of a member is not UTF-8 after \"a\"" },
    { "M(b'a\\xff.npy')", "name of a member is not UTF-8 after \"a\"" },
    { "M('readme.txt', b'read me, if you like')", "\"readme.txt\": expected an array that begins with" },
    { "M('e.npy', b'')", "\"e\": expected an array that begins with" },
    { "M('p.npy', A[:8])", "\"p\": 8 bytes, expected an array's header" },
    { "M('p.npy', A[:11])", "\"p\": a header of 128 bytes in an array's 11" },
    { "M('p.npy', A[:100])", "\"p\": a header of 128 bytes in an array's 100" },
    { "M('p.npy', A[:-1])", "shape [3] of F64 needs 24 bytes, 23 are there" },
    { "M('p.npy', A + b'x')", "shape [3] of F64 needs 24 bytes, 25 are there" },
    { "M('p.npy', b'\\x93NUMPY\\2\\0\\xff\\xff\\xff\\xff' + A)", "a header of 4294967295 bytes" },
    { "M('o.npy', npy(np.array([None, 1])))", "\"o\": dtype '|O' (Python objects" },
    { "M('c.npy', npy(np.array([1j])))", "\"c\": dtype '<c16' (complex numbers)" },
    { "M('r.npy', npy(np.zeros(2, 'i4,f8')))", "\"r\": a structured dtype" },
    { "M('s.npy', npy(np.array(['text'])))", "\"s\": dtype '<U4' (text)" },
    { "M(at=1)", "its header at byte 1 is not that of the directory" },
    { "M(at=100000)", "its header at byte 100000 is not before the directory" },
    { "M(lname=b'b.npy')", "name, sizes or CRC-32 in its header at byte 0" },
    { "M(lname=b'bb.npy')", "its header at byte 0 is not that of the directory" },
    { "M(lmethod=8)", "its header at byte 0 is not that of the directory" },
    { "M(lflags=2)", "its header at byte 0 is not that of the directory" },
    { "M(lcrc=1)", "name, sizes or CRC-32" },
    { "M(lsize=N - 1)", "name, sizes or CRC-32" },
    { "M(lpacked=N + 1)", "name, sizes or CRC-32" },
    { "M(lsize=F)", "name, sizes or CRC-32" },
    { "M(lsize=F, lextra=X(N + 1))", "name, sizes or CRC-32" },
    { "M(lsize=F, lpacked=F, lextra=X(N))", "name, sizes or CRC-32" },
    { "M(size=F)", "its zip64 sizes are missing in the directory" },
    { "M(size=F, extra=X())", "its zip64 sizes are missing" },
    { "M(size=F, extra=X(N)[:-1])", "its zip64 sizes are missing" },
    { "M(size=F, at=F, extra=X(N))", "its zip64 sizes are missing" },
    { "M(size=F, extra=struct.pack('<HH', 2, 60000))", "its zip64 sizes are missing" },
    { "M(size=N + 1)", "153 bytes, which the 152 in the file cannot hold" },
    { "M(size=F, extra=X(1 << 63))", "9223372036854775808 bytes, which the 152 in the file cannot hold" },
    { "M(size=F, npacked=F, extra=X((1 << 64) - 1, (1 << 64) - 1))", "are not before the directory" },
    { "M(packed=deflated(A), size=10 ** 9)", "1000000000 bytes, which the" },
    { "M(size=N + 200, npacked=N + 200)", "352 bytes from byte 35 are not before the directory" },
    { "M(), before=b'PK', begin=0", "does not end at byte" },
    { "M(), begin=F", "does not end at byte" },
    { "M(), bytes=1", "does not end at byte" },
    { "M(), count=0", "bytes behind the 0 entries" },
    { "M(), count=2", "has no room for 2 entries" },
    { "M(comment=bytes(100)), count=2", "expected entry 1 of the 2" },
    { "M(comment=bytes(20)), count=1, bytes=60", "does not end at byte" },
    { "M(), behind=b'x'", "without its end record" },
    { "M(), clen=1", "without its end record" },
    { "M(), wide=lambda *v: end64(*v, n=2)", "part of an archive of several files" },
    { "M(), wide=lambda *v: end64(*v, n=2, here=2)", "say different things" },
    { "M(), wide=lambda *v: end64(*v, size=1)", "say different things" },
    { "M(), wide=lambda *v: end64(*v, begin=1)", "say different things" },
    { "M(), wide=lambda *v: end64(*v, begin=1), begin=F", "does not end at byte" },
    { "M(), wide=lambda *v: end64(*v, begin=(1 << 64) - 1), begin=F", "does not end at byte" },
    { "M(), wide=lambda *v: end64(*v, n=1 << 60, here=1 << 60), count=0xFFFF",
      "has no room for 1152921504606846976 entries" },
    { "M(), wide=lambda *v: end64(*v, sig=1)", "expected a zip64 end record of 56 bytes" },
    { "M(), wide=lambda *v: end64(*v, len=45)", "expected a zip64 end record of 56 bytes" },
    { "M(), wide=lambda *v: end64(*v, at=1 << 63)", "is not before its locator" },
    { "M(), wide=lambda *v: end64(*v, at=v[0] + 1)", "is not before its locator" },
    { "M(), wide=lambda *v: end64(*v, ldisk=1)", "part of an archive of several files" },
    { "M(), wide=lambda *v: end64(*v, disks=2)", "part of an archive of several files" },
    { "M(), wide=lambda *v: end64(*v, disk=1)", "part of an archive of several files" },
};
enum { FAULTS = sizeof faults / sizeof *faults };

static void archives_that_are_refused(void **state)
{
    (void)state;
    bytes program = { 0 };
    assert_ok(bytes_printf(&program, &test_error, "%s", ARCHIVER));
    for (size_t i = 0; i < FAULTS; i++)
        assert_ok(bytes_printf(&program, &test_error, "archive('r%zu.npz', %s)\n", i,
                               faults[i].python));
    /* two entries for one place; an array within another's bytes */
    assert_ok(bytes_printf(&program, &test_error,
        "inner = io.BytesIO(); z = M('b.npy')\n"
        "local = struct.pack('<IHHHHHIIIHH', 0x04034b50, 20, 0, 0, 0, 33, z.v['crc'], N, N, 5, 0) + b'b.npy' + A\n"
        "outer = npy(np.frombuffer(local, 'u1'))\n"
        "archive('inside.npz', M('a.npy', outer), M('b.npy', at=35 + outer.index(b'PK')))\n"
        "archive('same.npz', M(), M(at=0))\n"
        "print('compared', %zu)\n", (size_t)FAULTS));
    python((const char *)program.data, FAULTS);
    bytes_free(&program);
    tensors f;
    for (size_t i = 0; i < FAULTS + 2; i++) {
        char name[16];
        if (i < FAULTS) snprintf(name, sizeof name, "r%zu.npz", i);
        const char *file = i < FAULTS ? name : i == FAULTS ? "inside.npz" : "same.npz";
        const char *says = i < FAULTS ? faults[i].says
                         : i == FAULTS ? "array \"b\" at byte 163 is inside \"a\"" : "is inside \"a\"";
        const vt_status status = tensors_open(&f, scratch(file), LIMIT, &test_error);
        if (status == VT_OK)
            fail_msg("%s is taken: %s", file, i < FAULTS ? faults[i].python : "");
        if (!strstr(test_error.text, says) || status != VT_BAD_INPUT)
            fail_msg("%s: status %d: %s\n(expected %s)", i < FAULTS ? faults[i].python : file,
                     (int)status, test_error.text, says);
        assert_contains(test_error.text, file);
        assert_null(f.items);
    }
}

/* Faults of the data, which show when it is read. */
static void data_that_is_refused(void **state)
{
    (void)state;
    python(ARCHIVER
           "Z = npy(np.zeros(100000)); D = deflated(A); L = len(D)\n"
           "archive('d0.npz', M(crc=7))\n"
           "archive('d1.npz', M(packed=D, crc=7))\n"
           "archive('d2.npz', M(data=A, packed=deflated(A[:-1]), crc=zlib.crc32(A)))\n"
           "archive('d3.npz', M(data=A, packed=deflated(A + b'x'), crc=zlib.crc32(A)))\n"
           "archive('d4.npz', M(data=A, packed=D + b'x'))\n"
           "archive('d5.npz', M(data=A, packed=D[:-2]))\n"
           "c = zlib.compressobj(0, 8, -15); S = c.compress(A) + c.flush()\n"
           "archive('d6.npz', M(data=A, packed=S[:140] ))\n"
           "archive('d7.npz', M(data=A, packed=S[:5 + 130] + b'\\x07' * (len(S) - 135)))\n"
           "archive('bomb.npz', M(data=Z, packed=deflated(Z)), M('b.npy', A))\n"
           "big = npy(np.zeros(10 ** 7))\n"
           "archive('large.npz', M(data=big, packed=deflated(big)), M('b.npy', A))\n"
           "print('compared', 8)\n", 8);
    static const char *const says[] = {
        "array \"a\": CRC-32 ", "CRC-32 ", "the compressed data ends before the size",
        "the compressed data goes on behind", "the compressed data goes on behind", "is cut off",
        "is cut off", "CRC-32 " };
    tensors f;
    double x[3];
    for (size_t i = 0; i < 8; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%zu.npz", i);
        assert_ok(tensors_open(&f, scratch(name), LIMIT, &test_error));
        const vt_status status = tensors_read_f64(&f, &f.items[0], x, &test_error);
        if (status != VT_BAD_INPUT || !strstr(test_error.text, says[i]))
            fail_msg("%s: status %d: %s (expected %s)", name, (int)status,
                     status ? test_error.text : "", says[i]);
        tensors_close(&f);
    }
    /* What inflates to more than the limit is not read; its neighbour is. */
    f = opened("bomb.npz");
    double *zeros = malloc(100000 * sizeof *zeros);
    assert_non_null(zeros);
    assert_ok(tensors_read_f64(&f, &f.items[0], zeros, &test_error));
    for (size_t i = 0; i < 100000; i++) assert_true(zeros[i] == 0);
    free(zeros);
    tensors_close(&f);
    f = opened("large.npz");
    assert_int_equal(tensors_read_f64(&f, &f.items[0], x, &test_error), VT_TOO_LARGE);
    assert_contains(test_error.text, "tensor \"a\": 80000000 bytes, at most 1048576 are allowed");
    holds(&f, "b", 1, three, six);
    tensors_close(&f);
}

/* --- damage ------------------------------------------------------------- */

/* Opens damaged.npz and reads all: true where nothing is refused, and then all
 * is as it was (arrays a, [[1, 2, 3], [4, 5, 6]], and b, [1, 2, 3]). */
static bool taken(bool proven)
{
    tensors f;
    bool good = true;
    vt_status status = tensors_open(&f, scratch("damaged.npz"), LIMIT, &test_error);
    if (status != VT_OK) {
        if (status != VT_BAD_INPUT && status != VT_TOO_LARGE)
            fail_msg("status %d: %s", (int)status, test_error.text);
        assert_null(f.items);
        return false;
    }
    for (size_t i = 0; i < f.count; i++) {
        const tensor *t = &f.items[i];
        assert_true(t->count <= 48);                    /* bounded by the file */
        double x[48];
        status = tensors_read_f64(&f, t, x, &test_error);
        if (status != VT_OK) good = false;
        if (status != VT_OK && status != VT_BAD_INPUT)
            fail_msg("status %d: %s", (int)status, test_error.text);
    }
    if (good && proven) {
        assert_int_equal(f.count, 2);
        holds(&f, "a", 2, two_three, six);
        holds(&f, "b", 1, three, six);
    }
    tensors_close(&f);
    return good;
}

static void damage_is_refused_or_harmless(void **state)
{
    (void)state;
    python("import numpy as np, zipfile\n"
           "a = np.array([[1., 2, 3], [4, 5, 6]])\n"
           "np.savez('w0.npz', a=a, b=a[0].astype('>i4')); np.savez_compressed('w1.npz', a=a.copy('F'), b=a[0])\n"
           "zipfile.ZIP64_LIMIT = 30\n"
           "np.savez_compressed('w2.npz', a=a, b=a[0])\n"
           "np.save('w4.npy', a)\n"
           "print('compared', 3)\n", 3);
    const st_item items[] = { { "a", ST_F64, 2, { 2, 3 }, six }, { "b", ST_F64, 1, { 3 }, six } };
    assert_ok(tensors_write(scratch("w3.npz"), items, 2, &test_error));
    static const char *const files[] = { "w0.npz", "w1.npz", "w2.npz", "w3.npz", "w4.npy" };
    for (size_t n = 0; n < 5; n++) {
        const bool proven = n < 4;                      /* a plain .npy has no CRC-32 */
        size_t refused = 0, harmless = 0;
        bytes whole;
        assert_ok(io_read(&whole, scratch(files[n]), LIMIT, &test_error));
        scratch_file("damaged.npz", whole.data, whole.len);
        const int file = open(scratch("damaged.npz"), O_WRONLY);
        assert_true(file >= 0);
        if (proven) assert_true(taken(true));
        for (size_t k = 0; k < whole.len; k++) {        /* every bit, and every byte to 0xFF */
            for (int bit = 0; bit < 9; bit++) {
                const unsigned char damaged = (unsigned char)(bit < 8 ? whole.data[k] ^ 1 << bit
                                                                      : 0xFF);
                assert_true(pwrite(file, &damaged, 1, (off_t)k) == 1);
                if (taken(proven)) harmless++;
                else refused++;
            }
            assert_true(pwrite(file, &whole.data[k], 1, (off_t)k) == 1);
        }
        for (size_t k = whole.len; k-- > 0; ) {         /* every truncation */
            assert_int_equal(ftruncate(file, (off_t)k), 0);
            assert_false(taken(true));
        }
        assert_int_equal(close(file), 0);
        assert_int_equal(refused + harmless, 9 * whole.len);
        assert_true(refused > whole.len && harmless > 100);     /* both kinds were met */
        bytes_free(&whole);
    }
}

/* The stream gives the member's bytes, neither fewer nor more. */
static void the_stream_ends_with_the_member(void **state)
{
    (void)state;
    python(ARCHIVER
           "archive('s.npz', M(), M('b.npy', packed=deflated(A)))\n"
           "assert N == 152\n"
           "open('s.raw', 'wb').write(A)\n"
           "print('compared', 1)\n", 1);
    bytes raw;
    assert_ok(io_read(&raw, scratch("s.raw"), LIMIT, &test_error));
    assert_int_equal(raw.len, 152);
    tensors f = opened("s.npz");
    for (size_t i = 0; i < 2; i++) {
        npz_stream *s;
        unsigned char piece[152 + 1] = { 0 };
        assert_ok(npz_stream_new(&s, &f.npz, &f.npz.members[i], &test_error));
        assert_ok(npz_stream_read(s, piece, 151, &test_error));
        assert_int_equal(npz_stream_end(s, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, "more bytes than its shape needs");
        assert_int_equal(npz_stream_read(s, piece + 151, 2, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, "fewer bytes than its shape needs");
        assert_int_equal(piece[152], 0);
        assert_ok(npz_stream_read(s, piece + 151, 1, &test_error));
        assert_memory_equal(piece, raw.data, 152);
        assert_ok(npz_stream_end(s, &test_error));
        assert_int_equal(npz_stream_read(s, piece, 1, &test_error), VT_BAD_INPUT);
        npz_stream_free(s);
    }
    tensors_close(&f);
    bytes_free(&raw);
}

/* A file that shrinks under the reader. */
static void a_file_that_is_cut_while_open(void **state)
{
    (void)state;
    const st_item item = { "a", ST_F64, 2, { 2, 3 }, six };
    double x[6];
    assert_ok(tensors_write(scratch("cut.npz"), &item, 1, &test_error));
    tensors f = opened("cut.npz");
    assert_int_equal(truncate(scratch("cut.npz"), 100), 0);
    assert_int_equal(tensors_read_f64(&f, &f.items[0], x, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "the file ends at byte 100");
    tensors_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npz01_order_and_one_dimension),
        cmocka_unit_test(npz03_zip64_of_small_members),
        cmocka_unit_test(npz03_four_gigabytes),
        cmocka_unit_test(npz03_unzip_finds_its_way),
        cmocka_unit_test(npz03_seventy_thousand_members),
        cmocka_unit_test(every_type_that_numpy_writes),
        cmocka_unit_test(numpy_loads_every_type_of_ours),
        cmocka_unit_test(what_cannot_be_written_is_refused),
        cmocka_unit_test(headers_that_are_taken),
        cmocka_unit_test(headers_that_are_refused),
        cmocka_unit_test(archives_that_are_taken),
        cmocka_unit_test(archives_that_are_refused),
        cmocka_unit_test(data_that_is_refused),
        cmocka_unit_test(damage_is_refused_or_harmless),
        cmocka_unit_test(the_stream_ends_with_the_member),
        cmocka_unit_test(a_file_that_is_cut_while_open),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

/* test_tensors.c -- named tensors out of any dump: which file is which, and every
 * element of every type in the type that is asked for.
 *
 * The layers below have tests of their own: test_npz.c, test_safetensors.c.
 */
#include "support.h"
#include "scratch.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "formats/tensors.h"

enum { LIMIT = 1 << 20 };

static tensors opened(const char *name)
{
    tensors f;
    assert_ok(tensors_open(&f, scratch(name), LIMIT, &test_error));
    return f;
}

static const tensor *need(const tensors *f, const char *name)
{
    const tensor *t = NULL;
    assert_ok(tensors_need(f, name, &t, &test_error));
    return t;
}

static const double  f64[] = { 0.1, -2.5, 3, 1e-300, 5, -0.0 };
static const float   f32[] = { 0.1f, -2.5f, 3 };
static const int64_t i64[] = { -2147483648, 2147483647, 0 };
static const uint8_t yes[] = { 1, 0 };
static const st_item items[] = { { "x", ST_F64, 2, { 2, 3 }, f64 }, { "y", ST_F32, 1, { 3 }, f32 },
                                 { "ids", ST_I64, 1, { 3 }, i64 }, { "mask", ST_BOOL, 1, { 2 }, yes } };

/* The same tensors in either format, known by content and not by name. */
static void content_decides(void **state)
{
    (void)state;
    assert_ok(tensors_write(scratch("a.npz"), items, 4, &test_error));
    assert_ok(tensors_write(scratch("a.safetensors"), items, 4, &test_error));
    assert_int_equal(rename(scratch("a.npz"), scratch("b.safetensors")), 0);
    assert_int_equal(rename(scratch("a.safetensors"), scratch("b.npz")), 0);
    static const char *const files[] = { "b.npz", "b.safetensors" };
    for (size_t n = 0; n < 2; n++) {
        tensors f = opened(files[n]);
        double x[6];
        float y[3];
        int32_t ids[3], mask[2];
        assert_int_equal(f.count, 4);
        assert_string_equal(tensors_path(&f), scratch(files[n]));
        const tensor *t = need(&f, "x");
        assert_true(t->dtype == ST_F64 && t->rank == 2 && t->shape[0] == 2 && t->shape[1] == 3);
        assert_int_equal(t->count, 6);
        assert_true((t->st == NULL) != (t->npz == NULL));
        assert_ok(tensors_read_f64(&f, t, x, &test_error));
        assert_memory_equal(x, f64, sizeof x);
        assert_ok(tensors_read_f32(&f, need(&f, "y"), y, &test_error));
        assert_memory_equal(y, f32, sizeof y);
        assert_ok(tensors_read_i32(&f, need(&f, "ids"), ids, &test_error));
        assert_true(ids[0] == INT32_MIN && ids[1] == INT32_MAX && ids[2] == 0);
        assert_ok(tensors_read_i32(&f, need(&f, "mask"), mask, &test_error));
        assert_true(mask[0] == 1 && mask[1] == 0);
        assert_null(tensors_find(&f, "z"));
        assert_int_equal(tensors_need(&f, "z", &t, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, "tensor \"z\" is missing; there are \"");
        assert_contains(test_error.text, "\"mask\"");
        assert_null(t);
        tensors_close(&f);
        tensors_close(&f);                              /* of a zeroed one */
    }
}

static void what_is_no_dump_is_refused(void **state)
{
    (void)state;
    tensors f;
    scratch_file("text.npz", "these are no tensors at all\n", 28);
    scratch_file("empty.npz", "", 0);
    scratch_file("pk.npz", "PK", 2);
    assert_int_equal(tensors_open(&f, scratch("text.npz"), LIMIT, &test_error), VT_BAD_INPUT);
    assert_null(f.items);
    assert_int_equal(tensors_open(&f, scratch("empty.npz"), LIMIT, &test_error), VT_BAD_INPUT);
    assert_int_equal(tensors_open(&f, scratch("pk.npz"), LIMIT, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "without its end record (is it cut off?)");
    assert_int_equal(tensors_open(&f, scratch("nowhere.npz"), LIMIT, &test_error), VT_IO);
    assert_contains(test_error.text, "nowhere.npz: cannot open");
    assert_int_equal(tensors_open(&f, scratch(NULL), LIMIT, &test_error), VT_IO);
    assert_contains(test_error.text, "is a folder");
    npz_file npz;
    assert_int_equal(npz_open(&npz, scratch("text.npz"), &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "expected an .npz (\"PK\") or an .npy");
    assert_int_equal(mkfifo(scratch("pipe"), 0600), 0);         /* and it does not wait */
    assert_int_equal(npz_open(&npz, scratch("pipe"), &test_error), VT_IO);
    assert_contains(test_error.text, "expected a regular file");
    assert_int_equal(tensors_open(&f, scratch("pipe"), LIMIT, &test_error), VT_IO);
    assert_contains(test_error.text, "pipe: expected a regular file");
}

static void the_extension_decides_what_is_written(void **state)
{
    (void)state;
    static const char *const others[] = { "a", "a.npy", "a.NPZ", "a.npz.txt", ".npz", "npz" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct stat info;
        assert_int_equal(tensors_write(scratch(others[i]), items, 4, &test_error), VT_USAGE);
        assert_contains(test_error.text, "expected a name that ends in .npz or .safetensors");
        assert_int_equal(stat(scratch(others[i]), &info), -1);
    }
    assert_int_equal(tensors_write(".npz", items, 4, &test_error), VT_USAGE);
    assert_int_equal(tensors_write(scratch("no/a.npz"), items, 4, &test_error), VT_IO);
    /* a refusal leaves the file that is there */
    const st_item twice[] = { items[0], items[0] };
    assert_ok(tensors_write(scratch("kept.npz"), items, 4, &test_error));
    assert_int_equal(tensors_write(scratch("kept.npz"), twice, 2, &test_error), VT_BAD_INPUT);
    tensors f = opened("kept.npz");
    assert_int_equal(f.count, 4);
    tensors_close(&f);
}

/* All 65536 patterns of 16-bit floats, NumPy's values of them beside. */
static void every_half_is_numpys(void **state)
{
    (void)state;
    enum { ALL = 65536 };
    python("import numpy as np\n"
           "bits = np.arange(65536, dtype='u2')\n"
           "half = bits.view('f2')\n"
           "with np.errstate(all='ignore'): np.savez('half.npz', half=half, wide=half.astype('f8'))\n"
           "print('compared', len(half))\n", ALL);
    tensors f = opened("half.npz");
    double *x = malloc(ALL * sizeof *x), *wide = malloc(ALL * sizeof *wide);
    assert_true(x && wide);
    assert_ok(tensors_read_f64(&f, need(&f, "half"), x, &test_error));
    assert_ok(tensors_read_f64(&f, need(&f, "wide"), wide, &test_error));
    size_t numbers = 0;
    for (size_t i = 0; i < ALL; i++) {
        if (isnan(wide[i])) assert_true(isnan(x[i]));
        else {
            if (!(x[i] == wide[i]) || signbit(x[i]) != signbit(wide[i]))
                fail_msg("half %04zx: %a, expected %a", i, x[i], wide[i]);
            numbers++;
        }
    }
    assert_int_equal(numbers, ALL - 2 * 1023);
    free(x);
    free(wide);
    tensors_close(&f);
}

/* bfloat16 is the upper half of a float: 1 sign, 8 exponent, 7 fraction. */
static void bfloat16(void **state)
{
    (void)state;
    static const uint16_t bits[] = { 0x3F80, 0xC000, 0x4049, 0x0001, 0x7F7F, 0xFF80, 0x8000, 0x7FC0 };
    const double want[] = { 1, -2, 3.140625, ldexp(1, -133), ldexp(255, 120), -(double)INFINITY,
                            -0.0 };
    const st_item item = { "b", ST_BF16, 1, { 8 }, bits };
    double x[8];
    float y[8];
    assert_ok(tensors_write(scratch("b.safetensors"), &item, 1, &test_error));
    tensors f = opened("b.safetensors");
    assert_ok(tensors_read_f64(&f, need(&f, "b"), x, &test_error));
    assert_ok(tensors_read_f32(&f, need(&f, "b"), y, &test_error));
    for (size_t i = 0; i < 7; i++) assert_true(x[i] == want[i] && (double)y[i] == want[i]);
    assert_true(signbit(x[6]) && isnan(x[7]));
    tensors_close(&f);
}

/* What a type cannot hold is refused, by tensor and element. */
static void ranges(void **state)
{
    (void)state;
    python("import numpy as np\n"
           "np.savez('range.npz',\n"
           "  long=np.array([[0, 2**31 - 1], [2**31, 0]]), low=np.array([-2**31 - 1]), u8=np.array(2**64 - 1, 'u8'),\n"
           "  u4=np.array([2**31], '>u4'), turned=np.asfortranarray([[0, 1, 2], [3, 4, 2**40]]), f=np.array([1.]),\n"
           "  exact=np.array([2**53 + 1, -2**63]), i1=np.array([-128, 127], 'i1'), u2=np.array([65535], '>u2'))\n"
           "big = np.array([2.**128 - 2.**103 - 2.**75, 2.**128 - 2.**103, -1e39, np.inf, -np.inf, np.nan, 1e-60])\n"
           "np.savez('float.npz', fits=big[:1], **{'x%d' % i: big[i:i + 1] for i in range(7)})\n"
           "print('compared', 17)\n", 17);
    tensors f = opened("range.npz");
    int32_t i[6];
    double x[2];
    float y[2];
    static const struct { const char *name, *says; } row[] = {
        { "long", "tensor \"long\": element [1, 0] is 2147483648, which a 32-bit integer cannot hold" },
        { "low", "element [0] is -2147483649, which" },
        { "u8", "element [] is 18446744073709551615, which" },
        { "u4", "element [0] is 2147483648, which" },
        { "turned", "element [1, 2] is 1099511627776, which" },
        { "f", "tensor \"f\": expected integers, found F64" },
        { "exact", "element [0] is 9007199254740993, which" },
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        assert_int_equal(tensors_read_i32(&f, need(&f, row[k].name), i, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, row[k].says);
        assert_contains(test_error.text, "range.npz: ");
    }
    assert_ok(tensors_read_i32(&f, need(&f, "i1"), i, &test_error));
    assert_true(i[0] == -128 && i[1] == 127);
    assert_ok(tensors_read_i32(&f, need(&f, "u2"), i, &test_error));
    assert_true(i[0] == 65535);
    assert_ok(tensors_read_f64(&f, need(&f, "exact"), x, &test_error));
    assert_true(x[0] == 9007199254740992.0 && x[1] == -9223372036854775808.0);
    tensors_close(&f);

    f = opened("float.npz");
    assert_ok(tensors_read_f32(&f, need(&f, "fits"), y, &test_error));
    assert_true(y[0] == FLT_MAX);               /* the last that is rounded to it */
    for (size_t k = 1; k <= 2; k++) {           /* half an ulp above FLT_MAX; beyond */
        assert_int_equal(tensors_read_f32(&f, need(&f, k == 1 ? "x1" : "x2"), y, &test_error),
                         VT_BAD_INPUT);
        assert_contains(test_error.text, "which a float32 cannot hold");
    }
    assert_ok(tensors_read_f32(&f, need(&f, "x3"), y, &test_error));
    assert_true(isinf(y[0]) && y[0] > 0);
    assert_ok(tensors_read_f32(&f, need(&f, "x4"), y, &test_error));
    assert_true(isinf(y[0]) && y[0] < 0);
    assert_ok(tensors_read_f32(&f, need(&f, "x5"), y, &test_error));
    assert_true(isnan(y[0]));
    assert_ok(tensors_read_f32(&f, need(&f, "x6"), y, &test_error));
    assert_true(y[0] == 0);
    tensors_close(&f);

    const uint8_t small[] = { 0x38 };
    const st_item item = { "f8", ST_F8_E4M3, 1, { 1 }, small };
    assert_ok(tensors_write(scratch("f8.safetensors"), &item, 1, &test_error));
    f = opened("f8.safetensors");
    assert_int_equal(tensors_read_f64(&f, need(&f, "f8"), x, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "tensor \"f8\": F8_E4M3 is not read");
    assert_int_equal(tensors_read_i32(&f, need(&f, "f8"), i, &test_error), VT_BAD_INPUT);
    tensors_close(&f);
}

/* More than one piece of 64 KiB, in every order: element [i, j, k] is told by its
 * place. */
static void larger_than_a_piece(void **state)
{
    (void)state;
    enum { A = 37, B = 41, C = 53, N = A * B * C };
    python("import numpy as np\n"
           "a = np.arange(37 * 41 * 53, dtype='f8').reshape(37, 41, 53)\n"
           "np.savez_compressed('large.npz', c=a, f=np.asfortranarray(a), s=np.asfortranarray(a.astype('>i4')))\n"
           "print('compared', a.size)\n", N);
    static const char *const names[] = { "c", "f", "s" };
    double *x = malloc(N * sizeof *x);
    assert_non_null(x);
    tensors f = opened("large.npz");
    for (size_t n = 0; n < 3; n++) {
        assert_ok(tensors_read_f64(&f, need(&f, names[n]), x, &test_error));
        for (size_t i = 0; i < N; i++)
            if (!(x[i] == (double)i)) fail_msg("%s: element %zu is %g", names[n], i, x[i]);
    }
    tensors_close(&f);
    assert_ok(tensors_open(&f, scratch("large.npz"), N * 8, &test_error));
    assert_ok(tensors_read_f64(&f, need(&f, "f"), x, &test_error));
    tensors_close(&f);
    assert_ok(tensors_open(&f, scratch("large.npz"), N * 8 - 1, &test_error));
    assert_int_equal(tensors_read_f64(&f, need(&f, "f"), x, &test_error), VT_TOO_LARGE);
    assert_ok(tensors_read_f64(&f, need(&f, "s"), x, &test_error));
    tensors_close(&f);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_decides),
        cmocka_unit_test(what_is_no_dump_is_refused),
        cmocka_unit_test(the_extension_decides_what_is_written),
        cmocka_unit_test(every_half_is_numpys),
        cmocka_unit_test(bfloat16),
        cmocka_unit_test(ranges),
        cmocka_unit_test(larger_than_a_piece),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

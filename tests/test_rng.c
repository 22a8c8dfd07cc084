/* test_rng.c -- NumPy's numbers, bit for bit: its recorded streams, its tables,
 * and, where Debian's python3-numpy is installed, NumPy itself on list seeds. */
#include "support.h"
#include "base/io.h"
#include "base/rng.h"
#include "base/ziggurat.inc"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t as_u64(const json_t *value)
{
    if (json_is_integer(value)) return (uint64_t)json_integer_value(value);
    assert_true(json_is_string(value));
    char *end = NULL;
    const uint64_t u = strtoull(json_string_value(value), &end, 10);
    assert_int_equal(*end, 0);
    return u;
}

/* default_rng of a decimal seed of any size: its 32-bit words, low first. */
static void seed_decimal(rng *r, const char *digits)
{
    uint64_t words[8] = { 0 };
    for (; *digits; digits++) {
        uint64_t carry = (uint64_t)(*digits - '0');
        for (int i = 0; i < 8; i++) {
            words[i] = words[i] * 10 + carry;
            carry = words[i] >> 32;
            words[i] &= UINT32_MAX;
        }
        assert_true(carry == 0);
    }
    size_t n = 8;
    while (n > 1 && words[n - 1] == 0) n--;
    rng_seed_list(r, words, n);
}

static size_t compared;

static const json_t *field(const json_t *stream, const char *name, size_t count)
{
    const json_t *value = json_object_get(stream, name);
    assert_non_null(value);
    if (count > 0) assert_int_equal(json_array_size(value), count);
    compared++;
    return value;
}

static void same(double a, const json_t *b)
{
    assert_true(json_is_number(b));
    const double expected = json_number_value(b);
    if (memcmp(&a, &expected, sizeof a) != 0) fail_msg("%.17g, expected %.17g", a, expected);
}

static void check_integers(const json_t *stream, const char *seed, const char *name,
                           int64_t high, size_t count)
{
    rng r;
    seed_decimal(&r, seed);
    const json_t *list = field(stream, name, count);
    for (size_t i = 0; i < count; i++)
        assert_true(rng_integers(&r, 0, high) == (int64_t)as_u64(json_array_get(list, i)));
}

static void check_normals(const json_t *stream, const char *seed)
{
    rng r;
    seed_decimal(&r, seed);
    double sum = 0, most = 0, x = 0;
    const json_t *first = field(stream, "standard_normal_first_12", 12);
    for (size_t i = 0; i < 20000; i++) {
        x = rng_normal(&r);
        if (i < 12) same(x, json_array_get(first, i));
        sum += fabs(x);
        if (fabs(x) > most) most = fabs(x);
    }
    same(most, field(stream, "standard_normal_20000_max_abs", 0));
    same(x, field(stream, "standard_normal_20000_last", 0));
    const double expected =
        json_number_value(field(stream, "standard_normal_20000_sum_of_abs", 0));
    assert_near(sum, expected, 1e-12 * expected);       /* NumPy sums pairwise */
}

static void check_mixed(const json_t *stream, const char *seed)
{
    rng r;
    seed_decimal(&r, seed);
    const json_t *mixed = field(stream, "mixed_normal3_integers3_random2", 3);
    const json_t *normals = json_array_get(mixed, 0), *integers = json_array_get(mixed, 1);
    const json_t *doubles = json_array_get(mixed, 2);
    assert_int_equal(json_array_size(normals), 3);
    assert_int_equal(json_array_size(integers), 3);
    assert_int_equal(json_array_size(doubles), 2);
    for (size_t i = 0; i < 3; i++) same(rng_normal(&r), json_array_get(normals, i));
    for (size_t i = 0; i < 3; i++)
        assert_true(rng_integers(&r, 0, 10) == (int64_t)as_u64(json_array_get(integers, i)));
    for (size_t i = 0; i < 2; i++) same(rng_double(&r), json_array_get(doubles, i));
}

static void numpys_recorded_streams(void **state)
{
    (void)state;
    json_t *root = golden("numpy_rng.json");
    const json_t *streams = json_object_get(root, "streams");
    assert_int_equal(json_array_size(streams), 5);
    size_t fields = 0;
    compared = 0;
    for (size_t s = 0; s < 5; s++) {
        const json_t *stream = json_array_get(streams, s), *list;
        const char *seed = json_string_value(json_object_get(stream, "seed"));
        assert_non_null(seed);
        fields += json_object_size(stream) - 1;
        rng r;
        seed_decimal(&r, seed);
        list = field(stream, "pcg64_raw_uint64", 8);
        for (size_t i = 0; i < 8; i++)
            assert_true(rng_u64(&r) == as_u64(json_array_get(list, i)));
        seed_decimal(&r, seed);
        list = field(stream, "random", 8);
        for (size_t i = 0; i < 8; i++) same(rng_double(&r), json_array_get(list, i));
        seed_decimal(&r, seed);
        list = field(stream, "uniform_minus1_1_size_6", 6);
        for (size_t i = 0; i < 6; i++) same(rng_uniform(&r, -1, 1), json_array_get(list, i));
        check_integers(stream, seed, "integers_0_10_size_12", 10, 12);
        check_integers(stream, seed, "integers_0_575_size_12", 575, 12);
        check_integers(stream, seed, "integers_0_2pow40_size_4", (int64_t)1 << 40, 4);
        check_normals(stream, seed);
        check_mixed(stream, seed);
        size_t items[10];
        seed_decimal(&r, seed);
        rng_permutation(&r, items, 10);
        list = field(stream, "permutation_10", 10);
        for (size_t i = 0; i < 10; i++)
            assert_true(items[i] == as_u64(json_array_get(list, i)));
    }
    assert_int_equal(compared, fields);         /* nothing in the file is left out */
    assert_int_equal(compared, 5 * 12);
    json_decref(root);
}

static void put(unsigned char *at, uint64_t value)
{
    for (int i = 0; i < 8; i++) at[i] = (unsigned char)(value >> (8 * i) & 0xff);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void the_tables_are_numpys(void **state)
{
    (void)state;
    json_t *root = golden("numpy_ziggurat_tables.json");
    static unsigned char all[3][256][8];
    for (size_t i = 0; i < 256; i++) {
        put(all[0][i], bits_of(ZIGGURAT_WI[i]));
        put(all[1][i], ziggurat_ki(i));
        put(all[2][i], bits_of(ZIGGURAT_FI[i]));
        const char *ki = json_string_value(json_array_get(json_object_get(root, "ki"), i));
        const char *wi = json_string_value(json_array_get(json_object_get(root, "wi"), i));
        const char *fi = json_string_value(json_array_get(json_object_get(root, "fi"), i));
        assert_true(strtoull(ki, NULL, 16) == ziggurat_ki(i));
        assert_true(bits_of(strtod(wi, NULL)) == bits_of(ZIGGURAT_WI[i]));
        assert_true(bits_of(strtod(fi, NULL)) == bits_of(ZIGGURAT_FI[i]));
    }
    char hex[65];
    sha256_hex(hex, all, sizeof all);
    assert_string_equal(hex, json_string_value(
        json_object_get(root, "sha256_of_wi_ki_fi_little_endian")));
    assert_string_equal(hex, "f72629f9d6069f03293380151882f5d820f61eda502cb24d41d2d2cd13c0bde5");
    assert_true(strtod(json_string_value(json_object_get(root, "nor_r")), NULL) == ZIGGURAT_R);
    assert_true(strtod(json_string_value(json_object_get(root, "nor_inv_r")), NULL) ==
                ZIGGURAT_INV_R);
    json_decref(root);
}

/* What NumPy is asked: for each seed list everything this library draws, long
 * enough for some 500 tails and 30,000 wedges in all, printed exactly. */
static const char *const ORACLE =
    "import sys, hashlib, numpy as np\n"
    "for line in sys.stdin:\n"
    "    seed = [int(w) for w in line.split()]\n"
    "    g = lambda: np.random.default_rng(seed)\n"
    "    z = g().standard_normal(200000)\n"
    "    print('normals', hashlib.sha256(z.astype('<f8').tobytes()).hexdigest())\n"
    "    assert (abs(z) > 3.6541528853610088).sum() > 10\n"
    "    r = g(); out = []\n"
    "    for low, high in SPANS:\n"
    "        out += [int(r.integers(low, high)) for k in range(20)]\n"
    "        out += [int(r.random() * 2.0**53)]\n"
    "        out += [int(v) for v in r.integers(low, high, size=3)]\n"
    "    print('integers', *out)\n"
    "    r = g(); p = r.permutation(1000); a = np.arange(70000) * 3; r.shuffle(a)\n"
    "    print('shuffles', hashlib.sha256(p.astype('<u8').tobytes() + a.astype('<u8').tobytes())"
    ".hexdigest(), r.integers(1000))\n"
    "    u = g().uniform(-0.3, 1.7, 1000)\n"
    "    print('uniform', hashlib.sha256(u.astype('<f8').tobytes()).hexdigest())\n";

static const int64_t SPANS[][2] = {
    { 0, 1 }, { 0, 2 }, { -5, 5 }, { 0, 3 }, { 10, 1010 }, { 0, 0x80000001 },
    { 0, 0xFFFFFFFE }, { 0, 0xFFFFFFFF }, { 0, INT64_C(0x100000000) },
    { 0, INT64_C(0x100000001) }, { -7, INT64_C(0x300000000) },
    { 0, INT64_C(0x4000000000000001) }, { 0, INT64_C(0x6000000000000000) },
    { INT64_C(-0x4000000000000000), INT64_C(0x4000000000000000) },
    { INT64_MIN, INT64_MAX }
};
enum { NSPANS = sizeof SPANS / sizeof SPANS[0] };

static const struct { size_t n; uint64_t list[6]; } SEEDS[] = {
    { 3, { 42, 0, 3 } }, { 3, { 42, 0, 0 } }, { 3, { 0, 0, 0 } }, { 1, { 0 } },
    { 1, { UINT64_MAX } }, { 3, { UINT64_MAX, 4, UINT64_MAX } }, { 2, { 1, 2 } },
    { 3, { 0x100000000, 2, 7 } }, { 4, { 1, 2, 3, 4 } }, { 6, { 9, 8, 7, 6, 5, 0x700000006 } }
};
enum { NSEEDS = sizeof SEEDS / sizeof SEEDS[0] };

static void ours(bytes *out, size_t seed)
{
    enum { MANY = 200000, SHUFFLED = 70000 };
    rng r;
    char hex[65];
    unsigned char *flat = malloc(8 * (size_t)MANY);
    size_t *items = malloc(SHUFFLED * sizeof *items);
    assert_true(flat && items);
    rng_seed_list(&r, SEEDS[seed].list, SEEDS[seed].n);
    for (size_t i = 0; i < MANY; i++) put(flat + 8 * i, bits_of(rng_normal(&r)));
    sha256_hex(hex, flat, 8 * (size_t)MANY);
    assert_ok(bytes_printf(out, &test_error, "normals %s\nintegers", hex));

    rng_seed_list(&r, SEEDS[seed].list, SEEDS[seed].n);
    for (size_t s = 0; s < NSPANS; s++)
        for (size_t k = 0; k < 24; k++) {
            const int64_t v = k == 20 ? (int64_t)(rng_double(&r) * 0x1p53)
                                      : rng_integers(&r, SPANS[s][0], SPANS[s][1]);
            assert_ok(bytes_printf(out, &test_error, " %" PRId64, v));
        }

    rng_seed_list(&r, SEEDS[seed].list, SEEDS[seed].n);
    rng_permutation(&r, items, 1000);
    for (size_t i = 0; i < 1000; i++) put(flat + 8 * i, items[i]);
    for (size_t i = 0; i < SHUFFLED; i++) items[i] = 3 * i;
    rng_shuffle(&r, items, SHUFFLED);
    for (size_t i = 0; i < SHUFFLED; i++) put(flat + 8 * (1000 + i), items[i]);
    sha256_hex(hex, flat, 8 * (1000 + (size_t)SHUFFLED));
    assert_ok(bytes_printf(out, &test_error, "\nshuffles %s %" PRId64 "\n", hex,
                           rng_integers(&r, 0, 1000)));

    rng_seed_list(&r, SEEDS[seed].list, SEEDS[seed].n);
    for (size_t i = 0; i < 1000; i++) put(flat + 8 * i, bits_of(rng_uniform(&r, -0.3, 1.7)));
    sha256_hex(hex, flat, 8000);
    assert_ok(bytes_printf(out, &test_error, "uniform %s\n", hex));
    free(items);
    free(flat);
}

static void write_file(const char *folder, const char *name, const bytes *text)
{
    char *path = io_join(folder, name);
    assert_non_null(path);
    assert_ok(io_replace(path, text->data, text->len, &test_error));
    free(path);
}

static void numpy_itself_agrees_on_lists(void **state)
{
    (void)state;
    if (system("/usr/bin/python3 -c 'import numpy' >/dev/null 2>&1") != 0) {
        print_message("python3-numpy is missing: list seeds are not compared with NumPy\n");
        skip();
    }
    char folder[] = "/tmp/vt_rng_XXXXXX", command[256];
    assert_non_null(mkdtemp(folder));
    bytes script = { NULL, 0, 0 }, seeds = { NULL, 0, 0 }, expected = { NULL, 0, 0 };
    assert_ok(bytes_printf(&script, &test_error, "SPANS = ["));
    for (size_t s = 0; s < NSPANS; s++)
        assert_ok(bytes_printf(&script, &test_error, "(%" PRId64 ", %" PRId64 "), ",
                               SPANS[s][0], SPANS[s][1]));
    assert_ok(bytes_printf(&script, &test_error, "]\n%s", ORACLE));
    for (size_t s = 0; s < NSEEDS; s++) {
        for (size_t i = 0; i < SEEDS[s].n; i++)
            assert_ok(bytes_printf(&seeds, &test_error, "%" PRIu64 " ", SEEDS[s].list[i]));
        assert_ok(bytes_append(&seeds, "\n", 1, &test_error));
        ours(&expected, s);
    }
    write_file(folder, "oracle.py", &script);
    write_file(folder, "seeds", &seeds);
    snprintf(command, sizeof command, "/usr/bin/python3 %s/oracle.py < %s/seeds > %s/out",
             folder, folder, folder);
    assert_int_equal(system(command), 0);
    char *path = io_join(folder, "out");
    bytes out;
    assert_ok(io_read(&out, path, 1 << 20, &test_error));
    size_t lines = 0;
    char *a = (char *)expected.data, *b = (char *)out.data;
    while (*a && *b) {
        const size_t na = strcspn(a, "\n"), nb = strcspn(b, "\n");
        if (na != nb || memcmp(a, b, na) != 0)
            fail_msg("seed %zu:\n%.*s\nNumPy:\n%.*s", lines / 4, (int)na, a, (int)nb, b);
        a += na + 1;
        b += nb + 1;
        lines++;
    }
    assert_int_equal(lines, 4 * NSEEDS);
    assert_true(*a == 0 && *b == 0);
    free(path);
    bytes_free(&out);
    bytes_free(&script);
    bytes_free(&seeds);
    bytes_free(&expected);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void streams_are_lists(void **state)
{
    (void)state;
    const uint64_t list[3] = { 42, RNG_SAMPLE, 7 };
    rng a, b, c;
    rng_stream_seed(&a, 42, RNG_SAMPLE, 7);
    rng_seed_list(&b, list, 3);
    rng_stream_seed(&c, 42, RNG_SAMPLE, 8);
    const uint64_t x = rng_u64(&a);
    assert_true(x == rng_u64(&b));
    assert_true(x != rng_u64(&c));
    rng_permutation(&a, NULL, 0);               /* nothing drawn, nothing touched */
    size_t one = 9;
    rng_shuffle(&a, &one, 1);
    assert_true(one == 9 && rng_u64(&a) == rng_u64(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_are_numpys),
        cmocka_unit_test(numpys_recorded_streams),
        cmocka_unit_test(streams_are_lists),
        cmocka_unit_test(numpy_itself_agrees_on_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

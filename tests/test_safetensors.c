/* test_safetensors.c -- the reader against hostile files, the writer against an
 * independent reader (Python: struct and json alone).
 *
 * The rows of files of tensors in docs/known-faults.md are here by name.
 */
#include "support.h"
#include "scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/safetensors.h"

/* A file by hand: a length that may lie, a header, n bytes 0, 1, 2, ... */
static bytes by_hand(uint64_t length, const char *header, size_t n)
{
    bytes b = { 0 };
    assert_ok(bytes_append(&b, &length, sizeof length, &test_error));
    assert_ok(bytes_append(&b, header, strlen(header), &test_error));
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)i;
        assert_ok(bytes_append(&b, &byte, 1, &test_error));
    }
    /* exact size, so that the sanitizer sees a read behind the end */
    unsigned char *exact = malloc(b.len ? b.len : 1);
    assert_non_null(exact);
    memcpy(exact, b.data, b.len);
    const size_t len = b.len;
    bytes_free(&b);
    return (bytes){ exact, len, len };
}

static void refused(const char *header, size_t n, const char *says)
{
    bytes b = by_hand(strlen(header), header, n);
    st_file f;
    const vt_status status = st_open_bytes(&f, &b, "hand.st", &test_error);
    if (status != VT_BAD_INPUT)
        fail_msg("status %d, expected a refusal: %s", (int)status, header);
    assert_null(f.tensors);
    assert_null(b.data);
    assert_contains(test_error.text, "hand.st: ");
    assert_contains(test_error.text, says);
    assert_null(strchr(test_error.text, '\n'));
}

static st_file accepted(const char *header, size_t n)
{
    bytes b = by_hand(strlen(header), header, n);
    st_file f;
    assert_ok(st_open_bytes(&f, &b, "hand.st", &test_error));
    return f;
}

#define E(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* --- known faults ------------------------------------------------------- */

/* ST-01 */
static void st01_duplicate_names(void **state)
{
    (void)state;
    refused("{" E("a", "U8", "[8]", "[0,8]") "," E("a", "U8", "[4]", "[8,12]") "}", 12,
            "duplicate object key near '\"a\"'");
    refused("{" E("a", "U8", "[8]", "[0,8]") "," E("\\u0061", "U8", "[4]", "[8,12]") "}", 12,
            "duplicate");
    refused("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "duplicate");
    refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
            "duplicate");
}

/* ST-02 */
static void st02_ranges_tile_the_data(void **state)
{
    (void)state;
    refused("{" E("a", "U8", "[8]", "[0,8]") "," E("b", "U8", "[8]", "[4,12]") "}", 12,
            "tensor \"b\" begins at byte ");
    refused("{" E("a", "U8", "[8]", "[0,8]") "," E("b", "U8", "[8]", "[0,8]") "}", 8,
            "inside \"a\"");
    refused("{" E("a", "U8", "[8]", "[0,8]") "," E("b", "U8", "[4]", "[12,16]") "}", 16,
            "before tensor \"b\" belong to no tensor");
    refused("{" E("a", "U8", "[4]", "[4,8]") "}", 8, "before tensor \"a\"");
    refused("{" E("a", "U8", "[8]", "[0,8]") "}", 12, "4 bytes from byte ");
    refused("{}", 1, "1 bytes from byte 10 to the end");
    refused("{" E("a", "U8", "[8]", "[0,8]") "}", 7, "bytes 0..8 are not within the 7 bytes");
    refused("{" E("a", "U8", "[0]", "[3,3]") "," E("b", "U8", "[8]", "[0,8]") "}", 8,
            "\"a\" begins at byte ");
    /* any order in the header; empty tensors stand anywhere between others */
    st_file f = accepted("{" E("b", "U8", "[2]", "[3,5]") "," E("z", "F32", "[0,7]", "[3,3]") ","
                         E("a", "U8", "[3]", "[0,3]") "}", 5);
    assert_int_equal(f.count, 3);
    assert_string_equal(f.tensors[0].name, "a");
    assert_string_equal(f.tensors[1].name, "z");
    assert_string_equal(f.tensors[2].name, "b");
    assert_int_equal(st_find(&f, "b")->data[0], 3);
    assert_int_equal(st_find(&f, "z")->nbytes, 0);
    assert_null(st_find(&f, "c"));
    assert_null(st_find(&f, "__metadata__"));
    st_close(&f);
    f = accepted("{}", 0);
    assert_int_equal(f.count, 0);
    assert_null(st_find(&f, ""));
    st_close(&f);
}

/* ST-03 */
static void st03_header_length(void **state)
{
    (void)state;
    static const char header[] = "{" E("a", "U8", "[8]", "[0,8]") "}";
    const size_t whole = 8 + sizeof header - 1 + 8;
    const struct { uint64_t length; const char *says; } row[] = {
        { 0, "header of 0 bytes, expected a JSON object" },
        { 1, "header of 1 bytes, expected a JSON object" },
        { (uint64_t)1 << 63, "header of 9223372036854775808 bytes, expected at most 100000000" },
        { UINT64_MAX, "header of 18446744073709551615 bytes, expected at most 100000000" },
        { 100000001, "header of 100000001 bytes, expected at most 100000000" },
        { 100000000, "header of 100000000 bytes, the file has" },
        { whole - 7, "bytes, the file has" },
        { whole - 8, "(byte 53): expected JSON, found byte 00" },   /* the data is none */
        { sizeof header - 2, "header" },                /* ends before the brace */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        bytes b = by_hand(row[i].length, header, 8);
        assert_int_equal(b.len, whole);
        st_file f;
        assert_int_equal(st_open_bytes(&f, &b, "hand.st", &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, row[i].says);
    }
    for (size_t n = 0; n < 8; n++) {                    /* a file of 0 .. 7 bytes */
        bytes b = by_hand(2, "", 0);
        b.len = n;
        st_file f;
        char says[40];
        snprintf(says, sizeof says, "the file has %zu bytes", n);
        assert_int_equal(st_open_bytes(&f, &b, "hand.st", &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, says);
    }
    refused(" {}", 0, "expected a JSON object");
    refused("[]", 0, "expected a JSON object");
    refused("{\"a\"", 0, "header: line 1, column");
    refused("{\"\xFF\":1}", 0, "expected UTF-8");
}

/* ST-04 */
static void st04_shape_times_type(void **state)
{
    (void)state;
    refused("{" E("a", "F32", "[2,3]", "[0,20]") "}", 20,
            "tensor \"a\": shape [2, 3] of F32 needs 24 bytes, data_offsets 0..20");
    refused("{" E("a", "F32", "[2,3]", "[0,28]") "}", 28, "needs 24 bytes");
    refused("{" E("a", "U8", "[4294967296,4294967296]", "[0,0]") "}", 0,
            "shape [4294967296, 4294967296] of U8 has more bytes than a size can hold");
    refused("{" E("a", "F64", "[2305843009213693952]", "[0,0]") "}", 0, "more bytes");
    refused("{" E("a", "U8", "[-1]", "[0,1]") "}", 1, "shape[0]: expected an integer in 0..");
    refused("{" E("a", "U8", "[1.0]", "[0,1]") "}", 1, "shape[0]: expected an integer");
    refused("{" E("a", "U8", "[18446744073709551615]", "[0,1]") "}", 1, "too big integer");
    refused("{" E("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "at most 8 numbers, found 9");
    refused("{" E("a", "U8", "1", "[0,1]") "}", 1, "field \"shape\": expected an array");
    refused("{" E("a", "U8", "[1]", "[1,0]") "}", 1, "bytes 1..0 are not within");
    refused("{" E("a", "U8", "[1]", "[0]") "}", 1, "expected two numbers, found 1");
    refused("{" E("a", "U8", "[1]", "[0,1,2]") "}", 1, "at most 2 numbers, found 3");
    refused("{" E("a", "U8", "[1]", "[-1,0]") "}", 1, "data_offsets[0]: expected an integer in 0..");
    refused("{" E("a", "F33", "[1]", "[0,1]") "}", 1, "found \"F33\"");
    refused("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "\"dtype\": expected a string, found nothing");
    refused("{\"a\":7}", 0, "tensor \"a\": expected an object");
    refused("{\"__metadata__\":[]}", 0, "__metadata__: expected an object");
    refused("{\"__metadata__\":{\"step\":7}}", 0, "field \"step\": expected a string, found 7");
    refused("{\"a\\n\\u001b\":7}", 0, "tensor \"a??\"");        /* one line */

    /* F64 read as F32, and other shapes */
    st_file f = accepted("{" E("a", "F64", "[2,3]", "[0,48]") "}", 48);
    float x[12];
    double y[6];
    const size_t shape[3] = { 2, 3, 1 }, turned[2] = { 3, 2 };
    assert_int_equal(st_copy_f32(&f, "a", 2, shape, x, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "hand.st: tensor \"a\" (byte ");
    assert_contains(test_error.text, "expected F32 [2, 3], found F64 [2, 3]");
    assert_int_equal(st_copy(&f, "a", ST_F64, 2, turned, y, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "expected F64 [3, 2], found F64 [2, 3]");
    assert_int_equal(st_copy(&f, "a", ST_F64, 3, shape, y, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "expected F64 [2, 3, 1], found F64 [2, 3]");
    assert_int_equal(st_copy(&f, "a", ST_F64, 1, shape, y, &test_error), VT_BAD_INPUT);
    assert_int_equal(st_copy(&f, "b", ST_F64, 2, shape, y, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "tensor \"b\" is missing, expected F64 [2, 3]");
    assert_ok(st_copy(&f, "a", ST_F64, 2, shape, y, &test_error));
    st_close(&f);
    f = accepted("{" E("s", "I64", "[]", "[0,8]") "}", 8);      /* a scalar */
    int64_t scalar = 0;
    assert_ok(st_copy(&f, "s", ST_I64, 0, NULL, &scalar, &test_error));
    assert_true(scalar == INT64_C(0x0706050403020100));
    st_close(&f);
}

/* ST-05 */
static void st05_data_at_any_address(void **state)
{
    (void)state;
    for (size_t length = 65; length <= 72; length++) {      /* every phase of 8 */
        char header[100];
        int n = snprintf(header, sizeof header, "{" E("x", "F32", "[2]", "[0,8]") "}");
        while ((size_t)n < length) header[n++] = ' ';
        header[n] = 0;
        st_file f = accepted(header, 8);
        float x[2];
        const size_t shape[1] = { 2 };
        assert_ok(st_copy_f32(&f, "x", 1, shape, x, &test_error));
        assert_memory_equal(x, "\0\1\2\3\4\5\6\7", 8);
        st_close(&f);
    }
    st_file f = accepted("{" E("u", "U8", "[1]", "[0,1]") "," E("x", "F32", "[1]", "[1,5]") ","
                         E("y", "F64", "[1]", "[5,13]") "}", 13);
    float x;
    double y;
    const size_t one[1] = { 1 };
    assert_ok(st_copy_f32(&f, "x", 1, one, &x, &test_error));
    assert_ok(st_copy(&f, "y", ST_F64, 1, one, &y, &test_error));
    assert_memory_equal(&x, "\1\2\3\4", 4);
    assert_memory_equal(&y, "\5\6\7\10\11\12\13\14", 8);
    st_close(&f);
}

/* --- the writer --------------------------------------------------------- */

static const float    wte[6] = { 1.5f, -2.25f, 0.0f, 3e-45f, 3.4028235e38f, -0.0f };
static const double   moment[2] = { 0.1, -1e300 };
static const int32_t  ids[3] = { -1, 0, 2147483647 };
static const uint64_t state64[1] = { UINT64_MAX };
static const uint8_t  one_byte[1] = { 200 };
static const st_item items[] = {
    { "wte.weight", ST_F32, 2, { 2, 3 }, wte },
    { "a \"quoted\" name \xC3\xA9", ST_U8, 1, { 1 }, one_byte },
    { "moment", ST_F64, 3, { 1, 2, 1 }, moment },
    { "ids", ST_I32, 1, { 3 }, ids },
    { "none", ST_F32, 2, { 0, 5 }, NULL },
    { "state", ST_U64, 0, { 0 }, state64 },
};
enum { ITEMS = sizeof items / sizeof *items };
static const st_pair meta[] = { { "format", "pt" }, { "step", "200" }, { "note", "line\n\"two\"" } };

static void what_is_written_python_reads(void **state)
{
    (void)state;
    assert_ok(st_write(scratch("ours.st"), items, ITEMS, meta, 3, &test_error));
    python("import json, struct\n"
           "raw = open('ours.st', 'rb').read()\n"
           "n, = struct.unpack('<Q', raw[:8])\n"
           "assert n % 8 == 0\n"
           "text = raw[8:8 + n].decode('utf-8')\n"
           "assert text[0] == '{' and text.rstrip(' ')[-1] == '}' and len(text) - len(text.rstrip(' ')) < 8\n"
           "head = json.loads(text)\n"
           "assert head.pop('__metadata__') == {'format': 'pt', 'step': '200', 'note': 'line\\n\"two\"'}\n"
           "assert list(head) == ['wte.weight', 'a \"quoted\" name \\u00e9', 'moment', 'ids', 'none', 'state']\n"
           "code = {'F32': 'f', 'F64': 'd', 'I32': 'i', 'U8': 'B', 'U64': 'Q'}\n"
           "at, got, shapes = 0, [], []\n"
           "for name, t in head.items():\n"
           "    begin, end = t['data_offsets']\n"
           "    assert begin == at\n"
           "    at = end\n"
           "    count = 1\n"
           "    for s in t['shape']: count *= s\n"
           "    shapes.append(t['shape'])\n"
           "    got += struct.unpack('<%d%s' % (count, code[t['dtype']]), raw[8 + n + begin:8 + n + end])\n"
           "assert 8 + n + at == len(raw)\n"
           "f = lambda x: struct.unpack('f', struct.pack('f', x))[0]\n"
           "want = [1.5, -2.25, 0.0, f(3e-45), f(3.4028235e38), -0.0, 200, 0.1, -1e300, -1, 0, 2147483647, 2**64 - 1]\n"
           "assert list(map(repr, got)) == list(map(repr, want)), got\n"
           "assert shapes == [[2, 3], [1], [1, 2, 1], [3], [0, 5], []]\n"
           "print('compared', len(got))\n", 13);
}

static void the_header_is_padded_to_eight(void **state)
{
    (void)state;
    for (int n = 1; n <= 16; n++) {
        char name[17];
        memset(name, 'n', sizeof name);
        name[n] = 0;
        const st_item item = { .name = name, .dtype = ST_U8, .rank = 1, .shape = { 1 },
                               .data = one_byte };
        st_image image;
        assert_ok(st_image_new(&image, &item, 1, NULL, 0, &test_error));
        const char *text = (const char *)image.header.data + 8;
        const size_t bare = strlen("{\"\":{\"dtype\":\"U8\",\"shape\":[1],"
                                   "\"data_offsets\":[0,1]}}") + (size_t)n;
        assert_int_equal(image.header.len, 8 + (bare + 7) / 8 * 8);
        assert_int_equal(text[bare - 1], '}');
        for (size_t i = bare; i < image.header.len - 8; i++) assert_int_equal(text[i], ' ');
        st_image_free(&image);
    }
}

static void what_python_writes_is_read(void **state)
{
    (void)state;
    /* keys in another order than the data, no padding, unknown fields */
    python("import json, struct\n"
           "data = struct.pack('<B', 7) + struct.pack('<4f', 1, 2, 3, 0.1) + struct.pack('<q', -5)\n"
           "head = {'q': {'dtype': 'I64', 'shape': [], 'data_offsets': [17, 25], 'more': {'x': [1]}},\n"
           "        'h.0.w': {'data_offsets': [1, 17], 'shape': [2, 2], 'dtype': 'F32'},\n"
           "        '__metadata__': {'k\\u00e9y': 'v\\u4e00\\U0001f60a'},\n"
           "        'b': {'dtype': 'U8', 'shape': [1, 1], 'data_offsets': [0, 1]}}\n"
           "text = json.dumps(head).encode()\n"
           "open('theirs.st', 'wb').write(struct.pack('<Q', len(text)) + text + data)\n"
           "print('compared', len(head))\n", 4);
    st_file f;
    assert_ok(st_open(&f, scratch("theirs.st"), 4096, &test_error));
    assert_int_equal(f.count, 3);
    const size_t shape[2] = { 2, 2 }, one[2] = { 1, 1 };
    float w[4];
    uint8_t b = 0;
    int64_t q = 0;
    assert_ok(st_copy_f32(&f, "h.0.w", 2, shape, w, &test_error));
    assert_true(w[0] == 1 && w[1] == 2 && w[2] == 3 && w[3] == 0.1f);
    assert_ok(st_copy(&f, "b", ST_U8, 2, one, &b, &test_error));
    assert_ok(st_copy(&f, "q", ST_I64, 0, NULL, &q, &test_error));
    assert_int_equal(b, 7);
    assert_true(q == -5);
    const char *text = NULL;
    assert_ok(st_need_meta(&f, "k\xC3\xA9y", &text, &test_error));
    assert_string_equal(text, "v\xE4\xB8\x80\xF0\x9F\x98\x8A");
    assert_null(st_meta(&f, "other"));
    assert_int_equal(st_need_meta(&f, "other", &text, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "theirs.st: __metadata__: field \"other\" is missing");
    st_close(&f);
    assert_int_equal(st_open(&f, scratch("theirs.st"), 100, &test_error), VT_TOO_LARGE);
    assert_int_equal(st_open(&f, scratch("missing.st"), 100, &test_error), VT_IO);
    assert_null(f.path);
}

static void a_file_comes_back_and_every_cut_is_refused(void **state)
{
    (void)state;
    bytes whole;
    st_image image;
    char written[65], planned[65];
    assert_ok(st_write(scratch("ours.st"), items, ITEMS, meta, 3, &test_error));
    assert_ok(io_read(&whole, scratch("ours.st"), 100000, &test_error));
    assert_ok(st_image_new(&image, items, ITEMS, meta, 3, &test_error));
    assert_int_equal(image.nbytes, whole.len);
    sha256_hex_pieces(planned, image.pieces, image.count);
    sha256_hex(written, whole.data, whole.len);
    assert_string_equal(planned, written);
    st_image_free(&image);

    st_file f;
    for (size_t n = 0; n <= whole.len; n++) {
        unsigned char *copy = malloc(n + 1);
        assert_non_null(copy);
        memcpy(copy, whole.data, n);
        bytes b = { copy, n, n };
        const vt_status status = st_open_bytes(&f, &b, "cut.st", &test_error);
        assert_int_equal(status, n == whole.len ? VT_OK : VT_BAD_INPUT);
    }
    assert_int_equal(f.count, ITEMS);
    for (size_t i = 0; i < ITEMS; i++) {
        const st_tensor *t = NULL;
        assert_ok(st_need(&f, items[i].name, items[i].dtype, items[i].rank, items[i].shape, &t,
                          &test_error));
        if (t->nbytes > 0) assert_memory_equal(t->data, items[i].data, t->nbytes);
    }
    assert_string_equal(st_meta(&f, "note"), meta[2].value);
    st_close(&f);
    bytes_free(&whole);
}

/* Damaged headers: whatever is accepted keeps the promises of st_open. */
static void damage_never_breaks_the_reader(void **state)
{
    (void)state;
    st_image image;
    uint64_t seed = 42;
    size_t taken = 0, tried = 0;
    assert_ok(st_image_new(&image, items, ITEMS, meta, 3, &test_error));
    for (int round = 0; round < 20000; round++) {
        unsigned char *copy = malloc(image.nbytes);
        assert_non_null(copy);
        size_t n = 0;
        for (size_t i = 0; i < image.count; i++) {
            if (image.pieces[i].n > 0) memcpy(copy + n, image.pieces[i].data, image.pieces[i].n);
            n += image.pieces[i].n;
        }
        for (int k = 0; k <= round % 3; k++) {
            static const char some[] = "0123456789\"{}[],:-\\ eF\xFF";
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            copy[(seed >> 33) % image.header.len] = (unsigned char)some[(seed >> 20) % (sizeof some - 1)];
        }
        bytes b = { copy, n, n };
        st_file f;
        const vt_status status = st_open_bytes(&f, &b, "damaged.st", &test_error);
        tried++;
        if (status != VT_OK) {
            assert_int_equal(status, VT_BAD_INPUT);
            continue;
        }
        taken++;
        size_t sum = 0, end = f.count ? f.tensors[0].begin : n;
        for (size_t i = 0; i < f.count; i++) {
            size_t nbytes = 0;
            const st_tensor *t = &f.tensors[i];
            assert_true(st_bytes(t->dtype, t->rank, t->shape, &nbytes));
            assert_int_equal(nbytes, t->nbytes);
            assert_int_equal(t->begin, end);
            assert_ptr_equal(t->data, f.content.data + t->begin);
            for (size_t j = 0; j < t->nbytes; j++) sum += t->data[j];
            end += t->nbytes;
            assert_ptr_equal(st_find(&f, t->name), t);
        }
        assert_int_equal(end, n);
        assert_true(sum > 0 || f.count == 0);
        st_close(&f);
    }
    assert_int_equal(tried, 20000);
    assert_true(taken > 100 && taken < 19000);      /* both kinds were met */
    st_image_free(&image);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    st_image image;
    const float x[1] = { 1 };
    const st_item twice[2] = { { "a", ST_F32, 1, { 1 }, x }, { "a", ST_F32, 1, { 1 }, x } };
    assert_int_equal(st_image_new(&image, twice, 2, NULL, 0, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "tensor \"a\" is given twice");
    const st_item reserved = { "__metadata__", ST_F32, 1, { 1 }, x };
    assert_int_equal(st_image_new(&image, &reserved, 1, NULL, 0, &test_error), VT_BAD_INPUT);
    const st_item broken = { "a\xFF", ST_F32, 1, { 1 }, x };
    assert_int_equal(st_image_new(&image, &broken, 1, NULL, 0, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "not UTF-8");
    const st_item huge = { "a", ST_F32, 2, { (size_t)1 << 32, (size_t)1 << 32 }, x };
    assert_int_equal(st_image_new(&image, &huge, 1, NULL, 0, &test_error), VT_TOO_LARGE);
    const st_item two_huge[2] = { { "a", ST_U8, 1, { SIZE_MAX - 4 }, x }, { "b", ST_U8, 1, { 8 }, x } };
    assert_int_equal(st_image_new(&image, two_huge, 2, NULL, 0, &test_error), VT_TOO_LARGE);
    assert_int_equal(st_image_new(&image, two_huge, 1, NULL, 0, &test_error), VT_TOO_LARGE);
    const st_item deep = { "a", ST_U8, 9, { 1, 1, 1, 1, 1, 1, 1, 1 }, x };
    assert_int_equal(st_image_new(&image, &deep, 1, NULL, 0, &test_error), VT_BAD_INPUT);
    const st_pair keys[2] = { { "k", "1" }, { "k", "2" } }, odd = { "k", "\x80" };
    assert_int_equal(st_image_new(&image, NULL, 0, keys, 2, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "metadata \"k\" is given twice");
    assert_int_equal(st_image_new(&image, NULL, 0, &odd, 1, &test_error), VT_BAD_INPUT);
    assert_null(image.pieces);
    /* a refusal leaves the file that is there */
    assert_ok(st_write(scratch("kept.st"), items, ITEMS, NULL, 0, &test_error));
    assert_int_equal(st_write(scratch("kept.st"), twice, 2, NULL, 0, &test_error), VT_BAD_INPUT);
    st_file f;
    assert_ok(st_open(&f, scratch("kept.st"), 100000, &test_error));
    assert_int_equal(f.count, ITEMS);
    st_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(st01_duplicate_names),
        cmocka_unit_test(st02_ranges_tile_the_data),
        cmocka_unit_test(st03_header_length),
        cmocka_unit_test(st04_shape_times_type),
        cmocka_unit_test(st05_data_at_any_address),
        cmocka_unit_test(what_is_written_python_reads),
        cmocka_unit_test(the_header_is_padded_to_eight),
        cmocka_unit_test(what_python_writes_is_read),
        cmocka_unit_test(a_file_comes_back_and_every_cut_is_refused),
        cmocka_unit_test(damage_never_breaks_the_reader),
        cmocka_unit_test(what_cannot_be_written_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

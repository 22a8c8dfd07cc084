/* test_hostile_files.c -- files whose lengths, counts or depths are made to be believed.
 *
 * Memory is watched: under a limit on the address space (RLIMIT_AS, in a child, without
 * sanitizers, which need more than all of it), so that an allocation by a claimed length
 * fails, and by the resident size.
 *
 * Numbers: Python's float and repr are the oracle, RFC 8259 says what is a number.
 */
#include "support.h"
#include "scratch.h"
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "formats/json.h"
#include "formats/tensors.h"
#include "model/checkpoint.h"

#define GB ((off_t)1000 * 1000 * 1000)

/* A file of `size` bytes that takes none: the head, then a hole.  False where the disk's
 * format has no files of that length. */
static bool sparse(const char *name, const void *head, size_t n, off_t size)
{
    scratch_file(name, head, n);
    return truncate(scratch(name), size) == 0;
}

/* --- memory ------------------------------------------------------------------ */

typedef void attempt(void);

#ifndef __SANITIZE_ADDRESS__
/* Of the address space, in bytes: the first number of /proc/self/statm, in pages. */
static size_t address_space(void)
{
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%zu", &pages) != 1) _exit(98);
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}
#endif

/* Runs it in a child with 256 MiB of address space besides what there is. */
static void in_little_memory(attempt *run)
{
    fflush(stdout);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
#ifndef __SANITIZE_ADDRESS__
        const rlim_t most = address_space() + ((size_t)1 << 28);
        const struct rlimit limit = { most, most };
        if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(99);
#endif
        run();
        _exit(0);
    }
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child);
    if (status != 0) fail_msg("the child's status is %d: %s", status, test_error.text);
}

/* In a child: a wrong answer ends it, with the line on standard error. */
static void want(vt_status status, vt_status expected, const char *part)
{
    if (status == expected && strstr(test_error.text, part) && !strchr(test_error.text, '\n')) return;
    fprintf(stderr, "# status %d, expected %d with \"%s\": %s\n", (int)status, (int)expected, part,
            test_error.text);
    _exit(1);
}

static const char one_tensor[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}}";

/* --- lengths ------------------------------------------------------------------- */

static void open_sparse(void)
{
    st_file f;
    tensors t;
    /* ST-03: nothing of the data is read before the header is checked */
    want(st_open(&f, scratch("zeros.st"), SIZE_MAX / 4, &test_error), VT_BAD_INPUT,
         "zeros.st: byte 8: header of 0 bytes");
    want(st_open(&f, scratch("behind.st"), SIZE_MAX / 4, &test_error), VT_BAD_INPUT,
         "behind.st: 99999999931 bytes from byte 69 to the end belong to no tensor");
    want(st_open(&f, scratch("huge.st"), SIZE_MAX / 4, &test_error), VT_BAD_INPUT,
         "huge.st: byte 0: header of 100000001 bytes, expected at most 100000000");
    want(st_open(&f, scratch("zeros.st"), 1 << 20, &test_error), VT_TOO_LARGE,
         "zeros.st: the file is longer than the 1048576 bytes allowed here");
    want(tensors_open(&t, scratch("zeros.st"), SIZE_MAX / 4, &test_error), VT_BAD_INPUT, "zeros.st: ");
    want(tensors_open(&t, scratch("zip.npz"), SIZE_MAX / 4, &test_error), VT_BAD_INPUT,
         "zip.npz: an archive without its end record");
    want(tensors_open(&t, scratch("array.npy"), SIZE_MAX / 4, &test_error), VT_BAD_INPUT, "array.npy: ");
    json_t *root;
    want(js_read(&root, scratch("zeros.st"), 1 << 20, &test_error), VT_TOO_LARGE, "zeros.st: ");
#ifndef __SANITIZE_ADDRESS__
    want(st_open(&f, scratch("whole.st"), SIZE_MAX / 4, &test_error), VT_TOO_LARGE, "out of memory");
#endif
}

static void a_hundred_gigabytes_that_are_not_there(void **state)
{
    (void)state;
    unsigned char head[400];
    uint64_t n = sizeof one_tensor - 1;
    memcpy(head, &n, 8);
    memcpy(head + 8, one_tensor, (size_t)n);
    if (!sparse("zeros.st", "", 0, 100 * GB)) {
        print_message("# no files of 100 GB here\n");
        skip();
    }
    assert_int_equal(8 + n + 8, 69);
    assert_true(sparse("behind.st", head, 8 + (size_t)n, 100 * GB));
    n = 100000001;
    memcpy(head, &n, 8);
    assert_true(sparse("huge.st", head, 100, 100 * GB));
    assert_true(sparse("zip.npz", "PK\3\4", 4, 100 * GB));
    assert_true(sparse("array.npy", "\x93NUMPY\1\0\x10\0{}", 12, 100 * GB));
    /* all of it promised: good, but more than there is */
    const int m = snprintf((char *)head + 8, sizeof head - 8, "{\"a\":{\"dtype\":\"U8\",\"shape\":"
                           "[100000000000],\"data_offsets\":[0,100000000000]}}");
    n = (uint64_t)m;
    memcpy(head, &n, 8);
    assert_true(sparse("whole.st", head, 8 + (size_t)n, 100 * GB + 8 + (off_t)n));
    in_little_memory(open_sparse);
}

static void a_header_of_spaces(void **state)
{
    (void)state;
    const size_t n = 100000000;                 /* the most a header may have */
    unsigned char *p = malloc(8 + n);
    assert_non_null(p);
    const uint64_t length = n;
    memcpy(p, &length, 8);
    memset(p + 8, ' ', n);
    p[8] = '{';
    p[8 + n - 1] = '}';
    bytes b = { p, 8 + n, 8 + n };
    st_file f;
    assert_ok(st_open_bytes(&f, &b, "spaces.st", &test_error));
    assert_int_equal(f.count, 0);
    st_close(&f);
    const uint64_t short_length = 1000;         /* and never closed */
    p = malloc(1008);
    assert_non_null(p);
    memcpy(p, &short_length, 8);
    memset(p + 8, ' ', 1000);
    p[8] = '{';
    b = (bytes){ p, 1008, 1008 };
    assert_int_equal(st_open_bytes(&f, &b, "spaces.st", &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "spaces.st: header: line 1, column 1001 (byte 1000)");
}

/* --- counts --------------------------------------------------------------------- */

static void many_tensors(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    enum { MANY = 20000 };
#else
    enum { MANY = 1000000 };
#endif
    bytes b = { 0 }, header = { 0 };
    assert_ok(bytes_append(&header, "{", 1, &test_error));
    for (int i = 0; i < MANY; i++)
        assert_ok(bytes_printf(&header, &test_error, "%s\"%d\":{\"dtype\":\"U8\",\"shape\":[],"
                               "\"data_offsets\":[%d,%d]}", i ? "," : "", i, i, i + 1));
    assert_ok(bytes_append(&header, "}", 1, &test_error));
    const uint64_t n = header.len;
    assert_ok(bytes_append(&b, &n, 8, &test_error));
    assert_ok(bytes_append(&b, header.data, header.len, &test_error));
    for (int i = 0; i < MANY; i++) assert_ok(bytes_append(&b, i % 2 ? "x" : "y", 1, &test_error));
    st_file f;
    assert_ok(st_open_bytes(&f, &b, "many.st", &test_error));
    assert_int_equal(f.count, MANY);
    for (int i = 0; i < MANY; i += 997) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        const st_tensor *t = st_find(&f, name);
        assert_non_null(t);
        assert_int_equal(*t->data, i % 2 ? 'x' : 'y');
    }
    st_close(&f);
    bytes_free(&header);
}

static void parse_deep(void)
{
    enum { DEEP = 1000000 };
    static const char *const open[] = { "[", "{\"a\":", "[{\"a\":" };
    for (size_t k = 0; k < 3; k++) {
        bytes text = { 0 };
        json_t *root;
        const size_t n = strlen(open[k]);
        for (int i = 0; i < DEEP; i++)
            if (bytes_append(&text, open[k], n, &test_error)) _exit(2);
        want(js_parse(&root, text.data, text.len, "deep.json", &test_error), VT_BAD_INPUT,
             "maximum parsing depth reached");
        bytes_free(&text);
    }
    /* as a header, and in a field that is passed over */
    bytes b = { 0 };
    st_file f;
    uint64_t n = DEEP;
    if (bytes_append(&b, &n, 8, &test_error) || bytes_append(&b, "{\"a\":", 5, &test_error)) _exit(2);
    for (int i = 5; i < DEEP; i++) if (bytes_append(&b, "[", 1, &test_error)) _exit(2);
    want(st_open_bytes(&f, &b, "deep.st", &test_error), VT_BAD_INPUT, "depth reached");
}

static void nesting_is_not_the_stack(void **state)
{
    (void)state;
    in_little_memory(parse_deep);
}

/* --- what is no file --------------------------------------------------------------- */

static void what_never_ends_or_waits(void **state)
{
    (void)state;
    st_file f;
    tensors t;
    json_t *root;
    checkpoint c;
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    assert_int_equal(mkdir(scratch("folder"), 0700), 0);
    /* would wait for a writer: an alarm ends the program then */
    alarm(60);
    static const struct { const char *name, *says; } row[] = {
        { "fifo", "fifo: expected a regular file" }, { "/dev/zero", "/dev/zero: expected a regular file" },
        { "folder", "folder: " }, { "none", "none: cannot open" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *path = row[i].name[0] == '/' ? row[i].name : scratch(row[i].name);
        assert_int_equal(st_open(&f, path, SIZE_MAX / 4, &test_error), VT_IO);
        assert_contains(test_error.text, row[i].says);
        assert_int_equal(tensors_open(&t, path, 1 << 20, &test_error), VT_IO);
        assert_contains(test_error.text, row[i].says);
        assert_int_equal(js_read(&root, path, 1 << 20, &test_error), VT_IO);
        assert_contains(test_error.text, row[i].says);
    }
    /* each file of a model */
    assert_int_equal(mkdir(scratch("model"), 0700), 0);
    assert_int_equal(mkfifo(scratch("model/state.safetensors"), 0600), 0);
    assert_int_equal(checkpoint_open(&c, scratch("model"), &test_error), VT_IO);
    assert_contains(test_error.text, "model/state.safetensors: expected a regular file");
    assert_int_equal(unlink(scratch("model/state.safetensors")), 0);
    assert_int_equal(mkfifo(scratch("model/model.safetensors"), 0600), 0);
    assert_int_equal(mkfifo(scratch("model/config.json"), 0600), 0);
    assert_int_equal(checkpoint_open(&c, scratch("model"), &test_error), VT_IO);
    assert_contains(test_error.text, "model/config.json: expected a regular file");
    alarm(0);
}

/* --- texts ---------------------------------------------------------------------------- */

/* Names and texts of a header: bytes that are no text, and texts that are no names. */
static void odd_names(void **state)
{
    (void)state;
    static const struct { const char *name; const char *says; } row[] = {
        { "a\\u0000b", "NUL byte in object key" },
        { "a\xC0\x80", "expected UTF-8, found byte C0" },       /* overlong NUL */
        { "a\xE0\x80\xAF", "expected UTF-8, found byte E0" },   /* overlong slash */
        { "a\xF0\x80\x80\xAF", "expected UTF-8, found byte F0" },
        { "a\xED\xA0\x80", "expected UTF-8, found byte ED" },   /* a surrogate */
        { "a\xF4\x90\x80\x80", "expected UTF-8, found byte F4" },
        { "a\xFF", "expected UTF-8, found byte FF" },
        { "a\xC3", "expected UTF-8, found byte C3" },           /* cut off by the quote */
        { "\\ud800", "invalid Unicode" },
        { "\\uDC00\\uD800", "invalid Unicode" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        bytes b = { 0 };
        st_file f;
        char header[200];
        const uint64_t n = (uint64_t)snprintf(header, sizeof header, "{\"%s\":{\"dtype\":\"U8\","
                                              "\"shape\":[1],\"data_offsets\":[0,1]}}", row[i].name);
        assert_ok(bytes_append(&b, &n, 8, &test_error));
        assert_ok(bytes_append(&b, header, (size_t)n, &test_error));
        assert_ok(bytes_append(&b, "x", 1, &test_error));
        assert_int_equal(st_open_bytes(&f, &b, "odd.st", &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, "odd.st: header: line 1, column ");
        assert_contains(test_error.text, row[i].says);
    }
}

/* --- numbers ---------------------------------------------------------------------------- */

/* Each text: a number of Python's json, or refused by us for the reason given. */
static void numbers_at_the_edges(void **state)
{
    (void)state;
    static const struct { const char *text, *refused; } row[] = {
        { "1e999", "real number overflow" }, { "-1e999", "real number overflow" },
        { "1e308", NULL }, { "1.7976931348623157e308", NULL }, { "1.7976931348623159e308", "overflow" },
        { "-0", NULL }, { "-0.0", NULL }, { "-0e5", NULL }, { "1e-400", NULL }, { "-1e-400", NULL },
        { "5e-324", NULL }, { "2.4703282292062327e-324", NULL }, { "2.4703282292062328e-324", NULL },
        { "9223372036854775807", NULL }, { "9223372036854775808", "too big integer" },
        { "-9223372036854775808", NULL }, { "-9223372036854775809", "too big negative integer" },
        { "99999999999999999999999999", "too big integer" }, { "1E400", "overflow" },
        { "01", "column" }, { "-01", "column" }, { "00", "column" }, { "1.", "column" }, { ".1", "column" },
        { "+1", "column" }, { "0x10", "column" }, { "1e", "column" }, { "1e+", "column" }, { "-", "column" },
        { "--1", "column" }, { "1_000", "column" }, { "1,5", NULL }, { "NaN", "near" }, { "nan", "near" },
        { "-Infinity", "near" }, { "1e0000000000000000000000000000000001", NULL },
        { "0.1000000000000000055511151231257827021181583404541015625", NULL },
        { "123456789012345678901234567890e-10", NULL }, { "0e999999999", NULL },
    };
    bytes out = { 0 };
    long good = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[100];
        json_t *root = NULL;
        const int n = snprintf(text, sizeof text, "[%s]", row[i].text);
        const vt_status s = js_parse(&root, text, (size_t)n, "n.json", &test_error);
        if (row[i].refused) {
            if (s != VT_BAD_INPUT) fail_msg("%s was taken", row[i].text);
            assert_contains(test_error.text, row[i].refused);
            continue;
        }
        if (s != VT_OK) fail_msg("%s was refused: %s", row[i].text, test_error.text);
        const double x = json_number_value(json_array_get(root, 0));
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        /* "-0" is an integer to jansson, and integers have one 0 */
        assert_ok(bytes_printf(&out, &test_error, "%016" PRIx64 " %s\n", bits, text));
        good++;
        json_decref(root);
    }
    scratch_file("edges", out.data, out.len);
    bytes_free(&out);
    python("import json, struct\n"
           "n = 0\n"
           "for line in open('edges'):\n"
           "    bits, text = line.split(' ', 1)\n"
           "    want = struct.pack('>d', float(json.loads(text)[0])).hex()\n"
           "    assert bits == want, (line, want)\n"
           "    n += 1\n"
           "print('compared', n)\n", good);
    assert_true(good >= 16);
}

/* NUM-02, in a locale of the system's own making (a comma, and points between
 * thousands), where it has one: the locale of test_json.c is made by hand. */
static void in_german(void **state)
{
    (void)state;
    char command[500];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s' >'%s' 2>&1", scratch("de_DE"),
             scratch("localedef.log"));
    const bool made = system(command) == 0 && setenv("LOCPATH", scratch(NULL), 1) == 0 &&
                      setlocale(LC_ALL, "de_DE");
    if (!made) {
        print_message("# no locale de_DE: package locales\n");
        (void)unsetenv("LOCPATH");
        skip();
    }
    char probe[32], text[JS_NUMBER_MAX];
    snprintf(probe, sizeof probe, "%.1f", 0.5);
    assert_string_equal(probe, "0,5");
    js_format_number(text, 0.5);
    assert_string_equal(text, "0.5");
    js_format_float(text, -1234567.5f);
    assert_string_equal(text, "-1234567.5");
    json_t *root = NULL;
    int64_t a = 0, b = 0;
    double half = 0;
    static const char source[] = "{\"a\":1,\"b\":2,\"half\":0.5}";
    assert_ok(js_parse(&root, source, sizeof source - 1, "x", &test_error));
    assert_ok(js_get_int(root, "a", "x", 0, 9, &a, &test_error));
    assert_ok(js_get_int(root, "b", "x", 0, 9, &b, &test_error));
    assert_ok(js_get_number(root, "half", "x", 0, 9, &half, &test_error));
    assert_true(a == 1 && b == 2 && half == 0.5);
    bytes out = { 0 };
    js_writer w;
    js_begin(&w, &out, JS_COMPACT);
    js_value(&w, root);
    assert_ok(js_end(&w, &test_error));
    assert_string_equal((char *)out.data, source);
    bytes_free(&out);
    json_decref(root);
    /* numbers in messages */
    assert_int_equal(js_parse(&root, "[1,5.]", 6, "x", &test_error), VT_BAD_INPUT);
    assert_ok(js_parse(&root, source, sizeof source - 1, "x", &test_error));
    assert_int_equal(js_get_int(root, "half", "x", 0, 9, &a, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "found 0.5");
    json_decref(root);
    assert_non_null(setlocale(LC_ALL, "C"));
    assert_int_equal(unsetenv("LOCPATH"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_gigabytes_that_are_not_there),
        cmocka_unit_test(a_header_of_spaces),
        cmocka_unit_test(many_tensors),
        cmocka_unit_test(nesting_is_not_the_stack),
        cmocka_unit_test(what_never_ends_or_waits),
        cmocka_unit_test(odd_names),
        cmocka_unit_test(numbers_at_the_edges),
        cmocka_unit_test(in_german),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

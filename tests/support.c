/* support.c -- see support.h; its guarded buffers are guarded.c. */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

vt_error test_error;

/* VITRINE_TEST=NAME runs that test of a program alone: tools/knockout asks for the tests
 * of one label. */
__attribute__((constructor)) static void choose_test(void)
{
    const char *name = getenv("VITRINE_TEST");
    if (name) cmocka_set_test_filter(name);
}

/* Tests of edge sizes take and free megabytes thousands of times: the pages stay. */
__attribute__((constructor)) static void keep_pages(void)
{
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

void check_near(double a, double b, double bound, const char *what, size_t index,
                const char *file, int line)
{
    if (!(fabs(a - b) <= bound)) {
        print_error("%s[%zu]: %.17g, expected %.17g, differs by %.3g, bound %.3g\n",
                    what, index, a, b, fabs(a - b), bound);
        _fail(file, line);
    }
}

void check_contains(const char *text, const char *part, const char *file, int line)
{
    if (!strstr(text, part)) {
        print_error("\"%s\" does not contain \"%s\"\n", text, part);
        _fail(file, line);
    }
}

#ifndef VT_CROSS
json_t *golden(const char *name)
{
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s", VT_GOLDEN, name);
    json_t *root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s: line %d: %s", path, error.line, error.text);
    return root;
}

static void collect(const json_t *value, double *out, size_t cap, size_t *n)
{
    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++)
            collect(json_array_get(value, i), out, cap, n);
        return;
    }
    assert_true(*n < cap);
    if (json_is_string(value)) {
        assert_string_equal(json_string_value(value), "-inf");
        out[(*n)++] = -(double)INFINITY;
    } else {
        assert_true(json_is_number(value));
        out[(*n)++] = json_number_value(value);
    }
}

size_t golden_numbers(const json_t *array, double *out, size_t cap)
{
    size_t n = 0;
    collect(array, out, cap, &n);
    return n;
}
#endif

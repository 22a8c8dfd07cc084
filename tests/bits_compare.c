/* bits_compare.c -- see bits.h: what two builds computed. */
#include "bits.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"

/* As many ulp as complex steps may differ by. */
enum { ULPS = 4, MOST_BYTES = 1 << 30 };

static vt_status read_file(bytes *out, const char *folder, const char *name, vt_error *err)
{
    char *path = io_join(folder, name);
    if (!path) return fail_memory(err, strlen(folder) + strlen(name) + 2, "a path");
    const vt_status s = io_read(out, path, MOST_BYTES, err);
    free(path);
    return s;
}

/* Numbers and their names, of one folder. */
typedef struct side { bytes numbers, names; } side;

static vt_status read_side(side *x, const char *folder, const char *numbers, const char *names,
                           vt_error *err)
{
    const vt_status s = read_file(&x->numbers, folder, numbers, err);
    return s ? s : read_file(&x->names, folder, names, err);
}

static void side_free(side *x)
{
    bytes_free(&x->numbers);
    bytes_free(&x->names);
}

static double number(const bytes *b, size_t i)
{
    uint64_t bits = 0;
    double x;
    for (size_t k = 8; k-- > 0;) bits = bits << 8 | b->data[8 * i + k];
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The same names in the same order, and as many numbers. */
static vt_status same_names(const side *a, const side *b, const char *what, vt_error *err)
{
    if (a->names.len == 0 || a->names.len != b->names.len ||
        memcmp(a->names.data, b->names.data, a->names.len) != 0)
        return fail(err, VT_CHECK_FAILED, "the names of %s differ, or there are none", what);
    if (a->numbers.len == 0 || a->numbers.len % 8 != 0 || a->numbers.len != b->numbers.len)
        return fail(err, VT_CHECK_FAILED, "%s: %zu and %zu bytes: expected as many, of whole numbers", what,
                    a->numbers.len, b->numbers.len);
    return VT_OK;
}

/* The first number that differs, in a line. */
static vt_status compare_tensors(const char *const folder[2], vt_error *err)
{
    side a = { 0 }, b = { 0 };
    vt_status s = read_side(&a, folder[0], "tensors.f64", "tensors.txt", err);
    if (!s) s = read_side(&b, folder[1], "tensors.f64", "tensors.txt", err);
    if (!s) s = same_names(&a, &b, "tensors", err);
    if (s) goto done;
    size_t at = 0;
    char *line = (char *)a.names.data;
    for (char *end; !s && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char of[16], name[64];
        size_t count;
        *end = '\0';
        if (sscanf(line, "%15s %63s %zu", of, name, &count) != 3 || count > a.numbers.len / 8 - at) {
            s = fail(err, VT_CHECK_FAILED, "a tensor's line \"%s\": expected a name and a count", line);
            break;
        }
        for (size_t i = 0; i < count && !s; i++, at++)
            if (memcmp(a.numbers.data + 8 * at, b.numbers.data + 8 * at, 8) != 0)
                s = fail(err, VT_CHECK_FAILED, "%s, %s[%zu]: %a and %a", of, name, i, number(&a.numbers, at),
                         number(&b.numbers, at));
    }
    if (!s && at != a.numbers.len / 8)
        s = fail(err, VT_CHECK_FAILED, "%zu numbers have no name", a.numbers.len / 8 - at);
done:
    side_free(&a);
    side_free(&b);
    return s;
}

/* |a - b| in ulp of the larger; NaN stays NaN. */
static double ulps(double a, double b)
{
    if (a == b) return 0;
    const double size = fmax(fabs(a), fabs(b));
    return fabs(a - b) / (nextafter(size, (double)INFINITY) - size);
}

static vt_status compare_steps(const char *const folder[2], vt_error *err)
{
    side a = { 0 }, b = { 0 };
    double worst = 0;
    vt_status s = read_side(&a, folder[0], "steps.f64", "steps.txt", err);
    if (!s) s = read_side(&b, folder[1], "steps.f64", "steps.txt", err);
    if (!s) s = same_names(&a, &b, "complex steps", err);
    if (s) goto done;
    const size_t n = a.numbers.len / 8;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = ulps(number(&a.numbers, i), number(&b.numbers, i));
        if (!isnan(worst) && !(off <= worst)) worst = off, at = i;     /* NaN stays */
    }
    const char *line = (const char *)a.names.data;
    for (size_t i = 0; i < at; i++) {
        const char *end = strchr(line, '\n');
        line = end ? end + 1 : "";
    }
    printf("%zu complex steps, largest difference %g ulp", n, worst);
    if (!(worst <= 0)) printf(" (%.*s)", (int)strcspn(line, "\n"), line);
    printf("\n");
    if (!(worst <= ULPS))
        s = fail(err, VT_CHECK_FAILED, "complex steps differ by %g ulp: expected %d at most", worst, ULPS);
done:
    side_free(&a);
    side_free(&b);
    return s;
}

int bits_compare(int argc, char **argv)
{
    vt_error err = { "" };
    if (argc != 4) {
        fprintf(stderr, "usage: bits compare FOLDER FOLDER\n");
        return 2;
    }
    const char *const folder[2] = { argv[2], argv[3] };
    vt_status tensors = compare_tensors(folder, &err);
    if (tensors) fprintf(stderr, "bits: %s\n", err.text);
    const vt_status steps = compare_steps(folder, &err);
    if (steps) fprintf(stderr, "bits: %s\n", err.text);
    return (int)(tensors ? tensors : steps);
}

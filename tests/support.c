/* support.c -- see support.h. */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

vt_error test_error;

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

/* Layout: [guard page][canary ... the piece][guard page]; the piece ends at
 * the second guard page, up to its alignment of 16. */
enum { PIECES = 4096 };
static struct piece { char *map, *at; size_t map_bytes, bytes; } pieces[PIECES];
enum { CANARY = 0xA5, ALIGN = 16 };

void *guarded(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t want = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    const size_t data = want / page * page + 2 * page;
    char *map = mmap(NULL, page + data + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    memset(map + page, CANARY, data);
    assert_int_equal(mprotect(map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(map + page + data, page, PROT_NONE), 0);
    char *at = map + page + data - want;
    for (size_t i = 0; i < PIECES; i++)
        if (!pieces[i].map) {
            pieces[i] = (struct piece){ map, at, page + data + page, bytes };
            return at;
        }
    fail_msg("too many guarded buffers");
    return NULL;
}

void guarded_free(void *p)
{
    if (!p) return;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t k = 0; k < PIECES; k++) {
        if (!pieces[k].map || pieces[k].at != p) continue;
        const struct piece it = pieces[k];
        const unsigned char *c = (const unsigned char *)it.map + page;
        const unsigned char *begin = (const unsigned char *)it.at, *end = begin + it.bytes;
        const unsigned char *stop = (const unsigned char *)it.map + it.map_bytes - page;
        for (; c < begin; c++)
            if (*c != CANARY) fail_msg("byte %zu before a buffer was written", (size_t)(begin - c));
        for (c = end; c < stop; c++)
            if (*c != CANARY) fail_msg("byte %zu behind a buffer was written", (size_t)(c - end));
        pieces[k].map = NULL;
        munmap(it.map, it.map_bytes);
        return;
    }
    fail_msg("guarded_free of a buffer that guarded() did not make");
}

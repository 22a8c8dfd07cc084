/* small_cmocka.c -- see cmocka.h beside it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmocka.h"

static const char *only, *running = "set-up";
static size_t count;                    /* tests so far */

void cmocka_set_test_filter(const char *name) { only = name; }

/* Both go to standard error, as cmocka's print_error does: standard output is TAP's. */
void print_message(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}
void print_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

noreturn void _fail(const char *file, int line)
{
    print_error("%s:%d: error: Failure!\n", file, line);
    printf("not ok %zu - %s\n", count + 1, running);
    exit(1);
}

void small_check(int holds, const char *what, const char *file, int line)
{
    if (holds) return;
    print_error("expected: %s\n", what);
    _fail(file, line);
}

void small_same(const void *a, const void *b, size_t n, int same, const char *file, int line)
{
    if ((memcmp(a, b, n) == 0) == (same != 0)) return;
    print_error("%zu bytes, expected %s\n", n, same ? "the same" : "others");
    _fail(file, line);
}

void small_strings(const char *a, const char *b, const char *file, int line)
{
    if (strcmp(a, b) == 0) return;
    print_error("\"%s\", expected \"%s\"\n", a, b);
    _fail(file, line);
}

static void fixture(CMFixtureFunction f, void **state, const char *name)
{
    running = name;
    if (f && f(state) != 0) _fail(name, 0);
}

int small_run(const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup,
              CMFixtureFunction teardown)
{
    void *state = NULL;
    fixture(setup, &state, "set-up");
    for (size_t i = 0; i < n; i++) {
        if (only && strcmp(only, tests[i].name) != 0) continue;
        running = tests[i].name;
        tests[i].test(&state);
        printf("ok %zu - %s\n", ++count, running);
        fflush(stdout);
    }
    fixture(teardown, &state, "tear-down");
    printf("1..%zu\n", count);
    return 0;
}

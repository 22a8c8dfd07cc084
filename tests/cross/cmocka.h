/* cmocka.h -- as much of cmocka as the tests of fast kernels use, where cmocka itself is
 * not there (cross.cmake).  The same names mean the same; the output is TAP, and a test
 * that fails ends the program, before its plan: WebAssembly has no longjmp. */
#ifndef SMALL_CMOCKA_H
#define SMALL_CMOCKA_H

#include <stddef.h>
#include <stdnoreturn.h>

typedef int (*CMFixtureFunction)(void **state);
struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
};
#define cmocka_unit_test(f) { #f, f }
#define cmocka_run_group_tests(tests, setup, teardown) \
    small_run(tests, sizeof (tests) / sizeof (tests)[0], setup, teardown)
int  small_run(const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup,
               CMFixtureFunction teardown);
void cmocka_set_test_filter(const char *name);

void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
noreturn void _fail(const char *file, int line);

void small_check(int holds, const char *what, const char *file, int line);
void small_same(const void *a, const void *b, size_t n, int same, const char *file, int line);
void small_strings(const char *a, const char *b, const char *file, int line);
#define assert_true(x)         small_check((x) != 0, #x, __FILE__, __LINE__)
#define assert_false(x)        small_check((x) == 0, "not " #x, __FILE__, __LINE__)
#define assert_non_null(p)     small_check((p) != NULL, #p " is not NULL", __FILE__, __LINE__)
#define assert_null(p)         small_check((p) == NULL, #p " is NULL", __FILE__, __LINE__)
#define assert_int_equal(a, b) small_check((a) == (b), #a " == " #b, __FILE__, __LINE__)
#define assert_memory_equal(a, b, n)     small_same(a, b, n, 1, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, n) small_same(a, b, n, 0, __FILE__, __LINE__)
#define assert_string_equal(a, b)        small_strings(a, b, __FILE__, __LINE__)

#endif

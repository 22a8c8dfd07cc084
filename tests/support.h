/* support.h -- what the tests share: cmocka with doubles, golden files,
 * guarded buffers.
 *
 * A comparison is written so that NaN fails.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#ifndef VT_CROSS
#include <setjmp.h>
#endif
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>
#undef fail             /* the name is status.h's; tests say fail_msg() */
#undef fail_msg
#define fail_msg(...) do { print_error(__VA_ARGS__); print_error("\n"); \
                           _fail(__FILE__, __LINE__); } while (0)
#ifndef VT_CROSS
#include <jansson.h>
#endif
#include "base/status.h"

/* How far a sweep goes that runs the same code on other numbers: in full; under the
 * sanitizers, which look at the code and take several times as long, a first part.  What
 * is only about numbers (how many faults are named rightly) the other builds assert.
 * So is an emulated processor (VT_CROSS: tests/cross).  Also for the preprocessor: #if SWEEP(1, 0). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(VT_CROSS)
#define SWEEP(full, sanitized) (sanitized)
#else
#define SWEEP(full, sanitized) (full)
#endif

/* Fails unless |a - b| <= bound (NaN fails), naming the place. */
void check_near(double a, double b, double bound, const char *what, size_t index,
                const char *file, int line);
#define assert_near(a, b, bound) check_near(a, b, bound, #a, 0, __FILE__, __LINE__)
#define assert_near_at(a, b, bound, what, i) check_near(a, b, bound, what, i, __FILE__, __LINE__)
/* Fails with the error's text unless the status is VT_OK. */
#define assert_ok(call) do { vt_status s_ = (call); \
    if (s_ != VT_OK) fail_msg("%s: status %d: %s", #call, (int)s_, test_error.text); } while (0)
extern vt_error test_error;             /* pass &test_error to what you call */
#define assert_contains(text, part) check_contains(text, part, __FILE__, __LINE__)
void check_contains(const char *text, const char *part, const char *file, int line);

#ifndef VT_CROSS
/* A golden file by name; fails the test when it cannot be read. */
json_t *golden(const char *name);
/* The numbers of a nested JSON array, in order ("-inf" is the string); returns
 * how many there are; `out` holds `cap`. */
size_t golden_numbers(const json_t *array, double *out, size_t cap);
#endif

/* n bytes that end at an inaccessible page and start after one (as near as
 * alignment allows: canaries are checked by guarded_free).  Filled with 0xA5
 * bytes first. */
void *guarded(size_t bytes);
void  guarded_free(void *p);

#endif

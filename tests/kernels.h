/* kernels.h -- what the tests of the definitions share: guarded numbers, the
 * complex step, bounds for float.
 *
 * Every buffer lies between guard pages, and lives until the test ends: then
 * canaries are checked, and inputs must have the bytes they had at first.
 * Random numbers are exact in float, so that a float and a double compilation
 * can be given the same inputs.
 *
 * The comment `proves LABEL ...` before a test is read by tools/eqmap.awk: a test
 * that carries an equation's label must fail when a line of that equation is
 * knocked out (tools/knockout).  A comparison of ours with ours proves none.
 */
#ifndef TEST_KERNELS_H
#define TEST_KERNELS_H

#include "support.h"
#include "vitrine.h"

#define VT_SCALAR 32
#include "kernels/definitions.h"
#undef VT_SCALAR
#define VT_SCALAR 64
#include "kernels/definitions.h"
#undef VT_SCALAR
#define VT_SCALAR 128
#include "kernels/definitions.h"
#undef VT_SCALAR
#undef scalar
#undef REF

typedef double _Complex c128;

#define kernel_test(f) cmocka_unit_test_setup_teardown(f, kernel_begin, kernel_end)
int kernel_begin(void **state);         /* the same random numbers for each test */
int kernel_end(void **state);           /* canaries and inputs checked, all freed */

/* A float drawn evenly from low to high. */
double draw(double low, double high);

/* Inputs: checked to be unwritten when the test ends. */
double *input(size_t n, double low, double high);           /* random */
void   *input_bytes(const void *bytes, size_t n);           /* a copy */
float  *input_f32(const double *x, size_t n);               /* x must be exact in float */
c128   *input_c128(const double *x, size_t n);

/* Outputs: NaN in every cell. */
double *output(size_t n);
float  *output_f32(size_t n);
c128   *output_c128(size_t n);

/* Gradients to be added to: a copy of x. */
double *gradient(const double *x, size_t n);
float  *gradient_f32(const double *x, size_t n);
c128   *gradient_c128(const double *x, size_t n);

/* |got - want| <= bound in every one of n cells. */
void all_near(const double *got, const double *want, size_t n, double bound, const char *what);
/* The same numbers bit for bit. */
void all_same(const double *got, const double *want, size_t n, const char *what);
/* Real parts within `bound`, imaginary parts 0. */
void all_near_c128(const c128 *got, const double *want, size_t n, double bound, const char *what);
/* |got - want| <= bound[i], where got is a float; counts cells. */
void within(const float *got, const double *want, const double *bound, size_t n, const char *what);

/* Rounding: a float operation is right to U32 of its result, a double one to
 * U64.  gamma32(k) bounds k of them in a row (Higham, Accuracy and Stability,
 * lemma 3.1). */
#define U32 (1.0 / (1 << 24))
#define U64 (1.0 / 9007199254740992.0)
double gamma32(double k);

/* An argument whose every entry is stepped in turn. */
typedef struct step_arg {
    const char   *name;
    c128         *at;           /* the input that loss() reads */
    size_t        n;
    const double *start;        /* what the gradient held before backward */
    const double *grad;         /* and after */
    double        scale;        /* size of the terms, where they may all cancel */
} step_arg;

/* For every entry of every argument: start + Im loss(x + ih) / h == grad within
 * `terms` roundings of (|start| + scale + the tensor's largest derivative);
 * h = 1e-30.
 * Returns how many entries were compared. */
size_t complex_step(c128 (*loss)(const void *), const void *context,
                    const step_arg *args, size_t nargs, double terms);

/* sum dout[i] out[i]. */
c128 dot_c128(const double *dout, const c128 *out, size_t n);

#endif

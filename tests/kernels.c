/* kernels.c -- see kernels.h. */
#include "kernels.h"
#include "base/rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double H = 1e-30;

static rng numbers;

enum { MOST = 1024 };
static struct held { void *at, *first; size_t bytes; } held[MOST];
static size_t holds;

int kernel_begin(void **state)
{
    (void)state;
    rng_stream_seed(&numbers, 42, RNG_VERIFY, 0);
    holds = 0;              /* what a failed test left is not this one's fault */
    return 0;
}

int kernel_end(void **state)
{
    (void)state;
    while (holds) {
        const struct held it = held[--holds];
        if (it.first && memcmp(it.at, it.first, it.bytes) != 0) {
            free(it.first);
            fail_msg("an input of %zu bytes was written", it.bytes);
        }
        free(it.first);
        guarded_free(it.at);
    }
    return 0;
}

double draw(double low, double high)
{
    return (double)(float)rng_uniform(&numbers, low, high);
}

static void *hold(size_t bytes, bool frozen)
{
    assert_true(holds < MOST);
    void *at = guarded(bytes);
    held[holds++] = (struct held){ at, frozen ? malloc(bytes) : NULL, bytes };
    return at;
}

/* The last buffer is filled: from now on it must stay so. */
static void freeze(void)
{
    struct held *it = &held[holds - 1];
    assert_non_null(it->first);
    memcpy(it->first, it->at, it->bytes);
}

void *input_bytes(const void *bytes, size_t n)
{
    void *at = hold(n, true);
    memcpy(at, bytes, n);
    freeze();
    return at;
}

double *input(size_t n, double low, double high)
{
    double *x = hold(n * sizeof *x, true);
    for (size_t i = 0; i < n; i++) x[i] = draw(low, high);
    freeze();
    return x;
}

static float exact(double x)
{
    const float f = (float)x;
    assert_true((double)f == x || isnan(x));
    return f;
}

float *input_f32(const double *x, size_t n)
{
    float *f = hold(n * sizeof *f, true);
    for (size_t i = 0; i < n; i++) f[i] = exact(x[i]);
    freeze();
    return f;
}

c128 *input_c128(const double *x, size_t n)
{
    c128 *z = hold(n * sizeof *z, true);
    for (size_t i = 0; i < n; i++) z[i] = x[i];
    freeze();
    return z;
}

double *output(size_t n)
{
    double *x = hold(n * sizeof *x, false);
    for (size_t i = 0; i < n; i++) x[i] = (double)NAN;
    return x;
}

float *output_f32(size_t n)
{
    float *f = hold(n * sizeof *f, false);
    for (size_t i = 0; i < n; i++) f[i] = NAN;
    return f;
}

c128 *output_c128(size_t n)
{
    c128 *z = hold(n * sizeof *z, false);
    for (size_t i = 0; i < n; i++) z[i] = (double)NAN;
    return z;
}

double *gradient(const double *x, size_t n)
{
    double *g = output(n);
    memcpy(g, x, n * sizeof *g);
    return g;
}

float *gradient_f32(const double *x, size_t n)
{
    float *g = output_f32(n);
    for (size_t i = 0; i < n; i++) g[i] = exact(x[i]);
    return g;
}

c128 *gradient_c128(const double *x, size_t n)
{
    c128 *g = output_c128(n);
    for (size_t i = 0; i < n; i++) g[i] = x[i];
    return g;
}

void all_near(const double *got, const double *want, size_t n, double bound, const char *what)
{
    for (size_t i = 0; i < n; i++) assert_near_at(got[i], want[i], bound, what, i);
}

void all_same(const double *got, const double *want, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&got[i], &want[i], sizeof got[i]) != 0)
            fail_msg("%s[%zu]: %.17g, expected the same bits as %.17g", what, i, got[i], want[i]);
}

static double real_of(c128 z) { double part[2]; memcpy(part, &z, sizeof part); return part[0]; }
static double imag_of(c128 z) { double part[2]; memcpy(part, &z, sizeof part); return part[1]; }

void all_near_c128(const c128 *got, const double *want, size_t n, double bound, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        assert_near_at(real_of(got[i]), want[i], bound, what, i);
        assert_near_at(imag_of(got[i]), 0.0, 0.0, what, i);
    }
}

void within(const float *got, const double *want, const double *bound, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        assert_near_at((double)got[i], want[i], bound[i], what, i);
}

double gamma32(double k)
{
    assert_true(k * U32 < 0.5);
    return k * U32 / (1 - k * U32);
}

size_t complex_step(c128 (*loss)(const void *), const void *context,
                    const step_arg *args, size_t nargs, double terms)
{
    size_t compared = 0;
    for (size_t k = 0; k < nargs; k++) {
        const step_arg *a = &args[k];
        double *slope = malloc(a->n * sizeof *slope), largest = 0;
        assert_non_null(slope);
        for (size_t i = 0; i < a->n; i++) {
            const c128 keep = a->at[i];
            c128 step;
            memcpy(&step, (double[]){ real_of(keep), H }, sizeof step);
            a->at[i] = step;
            slope[i] = imag_of(loss(context)) / H;
            a->at[i] = keep;
            if (!(fabs(slope[i]) <= largest)) largest = fabs(slope[i]);
        }
        for (size_t i = 0; i < a->n; i++, compared++)
            assert_near_at(a->grad[i], a->start[i] + slope[i],
                           terms * U64 * (fabs(a->start[i]) + a->scale + largest), a->name, i);
        free(slope);
    }
    return compared;
}

c128 dot_c128(const double *dout, const c128 *out, size_t n)
{
    c128 sum = 0;
    for (size_t i = 0; i < n; i++) sum += dout[i] * out[i];
    return sum;
}

/* case_scaling.c -- one kernel at many sizes: how its cost grows (growth.h).  The cases are
 * those of case_attention.c and case_gemm.c at other sizes, and verified as they are:
 *
 *     T          attention of one window, 12 heads of 64, forward, and backward too;
 *                all threads                                             T (T + 1) / 2
 *     d          a layer's product, 1024 x d by d x d; one thread        d^2
 *     V          the head's product, 256 x 128 by 128 x V; one thread    V
 *     threads    1024 x 1024 by 1024 x 1024                              1 / threads
 *
 * A size is not measured by itself but to see what lies between: so none has a target.
 */
#include <math.h>
#include "base/cpu.h"
#include "bench/cases.h"

typedef enum scaled { FORWARD, BOTH, WIDTH, WORDS, THREADS } scaled;
static const struct { const char *curve, *of; } curves[] = {
    [FORWARD] = { "attention", "T" }, [BOTH] = { "attention-both", "T" }, [WIDTH] = { "linear", "d" },
    [WORDS] = { "head", "V" }, [THREADS] = { "threads", "threads" },
};

/* Each case's number is its curve and its size. */
enum { SIZES = 1 << 20 };
#define NUMBER(curve, size) ((curve) * SIZES + (size))

void bench_scaling(const bench_case *c, vt_bench_row *row)
{
    const bool one = c->make == bench_scalings[0].make;
    row->curve = one ? curves[c->number / SIZES].curve : NULL;
    row->size_of = one ? curves[c->number / SIZES].of : NULL;
    row->size = one ? (double)(c->number % SIZES) : (double)NAN;
}

static vt_status make(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    const int size = c->number % SIZES;
    switch ((scaled)(c->number / SIZES)) {
    case FORWARD: return bench_make_attention(w, 1, size, 12, 64, false, s, err);
    case BOTH:    return bench_make_attention(w, 1, size, 12, 64, true, s, err);
    case WIDTH:   return bench_make_gemm(w, 1024, (size_t)size, (size_t)size, s, err);
    case WORDS:   return bench_make_gemm(w, 256, 128, (size_t)size, s, err);
    default:      break;
    }
    if (size <= cpu_count()) return bench_make_gemm(w, 1024, 1024, 1024, s, err);
    *w = (bench_work){ .unit = c->unit, .absent = true };
    return fail(err, VT_USAGE, "needs %d cores, there are %d", size, cpu_count());
}

#define SCALED(name, what, threads, cost, curve, size) \
    { "scaling-" name, "scaling", what, "FLOP/s", threads, 0, false, cost, (cost) / 3, make, NUMBER(curve, size), \
      false, VT_BENCH_SHARE }
#define TIMES(T, cost) \
    SCALED("T" #T, "B 1, T " #T ", 12 heads of 64", 0, cost, FORWARD, T)
#define TIMES_BOTH(T, cost) \
    SCALED("T" #T "-both", "B 1, T " #T ", 12 heads of 64, backward too", 0, cost, BOTH, T)
#define ACROSS(d) SCALED("d" #d, "1024 x " #d " by " #d " x " #d, 1, 1.6, WIDTH, d)
#define HEAD(V) SCALED("V" #V, "256 x 128 by 128 x " #V, 1, 1.7, WORDS, V)
#define CORES(n) SCALED("threads" #n, "1024 x 1024 by 1024 x 1024", n, 1.8, THREADS, n)
const bench_case bench_scalings[] = {
    TIMES(64, 1.6), TIMES(128, 1.6), TIMES(256, 1.6), TIMES(512, 1.6), TIMES(1024, 1.6), TIMES(2048, 1.7),
    TIMES(4096, 1.8), TIMES(8192, 2), TIMES(16384, 5),
    TIMES_BOTH(64, 1.6), TIMES_BOTH(128, 1.6), TIMES_BOTH(256, 1.6), TIMES_BOTH(512, 1.6),
    TIMES_BOTH(1024, 1.6), TIMES_BOTH(2048, 1.8), TIMES_BOTH(4096, 2), TIMES_BOTH(8192, 5), TIMES_BOTH(16384, 14),
    ACROSS(32), ACROSS(64), ACROSS(128), ACROSS(256), ACROSS(512), ACROSS(1024),
    HEAD(1024), HEAD(2048), HEAD(4096), HEAD(8192), HEAD(16384), HEAD(32768), HEAD(65536),
    CORES(1), CORES(2), CORES(4), CORES(8), CORES(16),
    { .name = NULL },
};

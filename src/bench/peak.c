/* peak.c -- see peak.h.
 *
 * Twelve chains: a fused multiply-add takes 4 cycles and two start in each, so eight keep
 * the units busy; the portable set, which multiplies and adds, needs twelve.  With the
 * constant they fit the 16 registers of AVX2.
 *
 * `copy` turns the sign, for a compiler replaces a plain copy by memcpy, whose stores may
 * go past the caches: another limit than that of a kernel that computes something.
 */
#include "bench/peak.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

#define PEAK_PASTE(name, isa)  name##_##isa
#define PEAK_EXPAND(name, isa) PEAK_PASTE(name, isa)
#define PEAK(name)             PEAK_EXPAND(name, VT_ISA)
#define PEAK_STRING(isa)       #isa
#define PEAK_QUOTE(isa)        PEAK_STRING(isa)

enum { CHAINS = 12, SUMS = 8 };

static float fma_loop(size_t steps)
{
    const vec half = vec_set1(0.5f);
    vec at[CHAINS];
    VEC_UNROLL
    for (int c = 0; c < CHAINS; c++) at[c] = vec_set1((float)(c + 2));
    for (size_t s = 0; s < steps; s++) {
        VEC_UNROLL
        for (int c = 0; c < CHAINS; c++) at[c] = vec_fma(at[c], half, half);
    }
    for (int c = 1; c < CHAINS; c++) at[0] = vec_add(at[0], at[c]);
    return vec_sum(at[0]);
}

static void exp_loop(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 4 * VEC_LANES) {
        VEC_UNROLL
        for (size_t j = 0; j < 4; j++)
            vec_store(y + i + j * VEC_LANES, vec_exp(vec_load(x + i + j * VEC_LANES)));
    }
}

static float read_loop(const float *a, size_t n)
{
    vec sum[SUMS];
    VEC_UNROLL
    for (int c = 0; c < SUMS; c++) sum[c] = vec_zero();
    for (size_t i = 0; i < n; i += SUMS * VEC_LANES) {
        VEC_UNROLL
        for (int c = 0; c < SUMS; c++)
            sum[c] = vec_add(sum[c], vec_load(a + i + (size_t)c * VEC_LANES));
    }
    for (int c = 1; c < SUMS; c++) sum[0] = vec_add(sum[0], sum[c]);
    return vec_sum(sum[0]);
}

static void copy_loop(float *b, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i += 4 * VEC_LANES) {
        VEC_UNROLL
        for (size_t j = 0; j < 4; j++)
            vec_store(b + i + j * VEC_LANES, vec_neg(vec_load(a + i + j * VEC_LANES)));
    }
}

static void triad_loop(float *a, const float *b, const float *c, size_t n)
{
    const vec three = vec_set1(3);
    for (size_t i = 0; i < n; i += 4 * VEC_LANES) {
        VEC_UNROLL
        for (size_t j = 0; j < 4; j++) {
            const size_t at = i + j * VEC_LANES;
            vec_store(a + at, vec_fma(vec_load(c + at), three, vec_load(b + at)));
        }
    }
}

static void both_loop(float *a, float *c, const float *b, size_t n)
{
    const vec half = vec_set1(0.5f);
    for (size_t i = 0; i < n; i += 2 * VEC_LANES) {
        VEC_UNROLL
        for (size_t j = 0; j < 2; j++) {
            const size_t at = i + j * VEC_LANES;
            const vec x = vec_load(b + at);
            vec_store(a + at, vec_fma(x, half, vec_neg(vec_load(a + at))));
            vec_store(c + at, vec_fma(x, half, vec_neg(vec_load(c + at))));
        }
    }
}

static void update_loop(float *a, const float *b, size_t n)
{
    const vec half = vec_set1(0.5f);
    for (size_t i = 0; i < n; i += 4 * VEC_LANES) {
        VEC_UNROLL
        for (size_t j = 0; j < 4; j++) {
            const size_t at = i + j * VEC_LANES;
            vec_store(a + at, vec_fma(vec_load(b + at), half, vec_neg(vec_load(a + at))));
        }
    }
}

const peak_set PEAK(peak_set) = {
    .isa = PEAK_QUOTE(VT_ISA), .fma = fma_loop, .flop_per_step = 2.0 * CHAINS * VEC_LANES,
    .exp = exp_loop, .read = read_loop, .copy = copy_loop, .triad = triad_loop,
    .both = both_loop, .update = update_loop,
};

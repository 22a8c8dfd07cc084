/* simd_avx2.h -- simd.h's words on AVX2 with FMA: 8 lanes. */
#ifndef SIMD_AVX2_H
#define SIMD_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VEC_LANES = 8 };
typedef __m256  vec;
typedef __m256d vecd;
typedef __m256  vmask;                  /* all bits of a lane, or none */

/* Eight set lanes, then eight clear: read from place 8 - n on. */
static inline __m256i vec_first_i(size_t n)
{
    static const int32_t lanes[16] = { -1, -1, -1, -1, -1, -1, -1, -1 };
    return _mm256_loadu_si256((const void *)(lanes + (8 - n)));
}
static inline vmask vec_first(size_t n)                    { return _mm256_castsi256_ps(vec_first_i(n)); }

static inline vec  vec_load(const float *p)                { return _mm256_loadu_ps(p); }
static inline void vec_store(float *p, vec a)              { _mm256_storeu_ps(p, a); }
static inline vec  vec_load_n(const float *p, size_t n)    { return _mm256_maskload_ps(p, vec_first_i(n)); }
static inline void vec_store_n(float *p, vec a, size_t n)  { _mm256_maskstore_ps(p, vec_first_i(n), a); }
static inline vec  vec_zero(void)                          { return _mm256_setzero_ps(); }
static inline vec  vec_set1(float x)                       { return _mm256_set1_ps(x); }

static inline vec vec_add(vec a, vec b)         { return _mm256_add_ps(a, b); }
static inline vec vec_sub(vec a, vec b)         { return _mm256_sub_ps(a, b); }
static inline vec vec_mul(vec a, vec b)         { return _mm256_mul_ps(a, b); }
static inline vec vec_div(vec a, vec b)         { return _mm256_div_ps(a, b); }
static inline vec vec_fma(vec a, vec b, vec c)  { return _mm256_fmadd_ps(a, b, c); }
static inline vec vec_fnma(vec a, vec b, vec c) { return _mm256_fnmadd_ps(a, b, c); }
static inline vec vec_max(vec a, vec b)         { return _mm256_max_ps(a, b); }
static inline vec vec_min(vec a, vec b)         { return _mm256_min_ps(a, b); }
static inline vec vec_sqrt(vec a)               { return _mm256_sqrt_ps(a); }
static inline vec vec_abs(vec a)                { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
static inline vec vec_neg(vec a)                { return _mm256_xor_ps(_mm256_set1_ps(-0.0f), a); }
static inline vec vec_round(vec a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* 2^n from its exponent field, in two factors: one alone has no room for the
 * exponents of subnormal results and of 2^128. */
static inline vec vec_scale2(vec a, vec n)
{
    const __m256i e = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(e, 1);
    const __m256i rest = _mm256_sub_epi32(e, half), bias = _mm256_set1_epi32(127);
    const __m256i f = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i g = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(a, _mm256_castsi256_ps(f)), _mm256_castsi256_ps(g));
}

static inline vmask vec_lt(vec a, vec b)        { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
static inline vmask vec_le(vec a, vec b)        { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
static inline vmask vec_eq(vec a, vec b)        { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
static inline vec   vec_select(vmask m, vec a, vec b) { return _mm256_blendv_ps(b, a, m); }
static inline bool  vec_any(vmask m)            { return _mm256_movemask_ps(m) != 0; }

static inline float vec_sum(vec a)
{
    const __m128 c = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 d = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}
static inline float vec_hmax(vec a)
{
    const __m128 c = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 d = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}

/* In halves (4 x 4 blocks) first, then the halves among each other. */
static inline void vec_transpose(vec r[VEC_LANES])
{
    vec t[8], u[8];
    VEC_UNROLL
    for (int i = 0; i < 8; i += 2) {
        t[i]     = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    VEC_UNROLL
    for (int i = 0; i < 8; i += 4) {    /* u[4g+c], half h: rows 4g .. of column 4h+c */
        u[i]     = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
        u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
    VEC_UNROLL
    for (int c = 0; c < 4; c++) {
        r[c]     = _mm256_permute2f128_ps(u[c], u[4 + c], 0x20);
        r[4 + c] = _mm256_permute2f128_ps(u[c], u[4 + c], 0x31);
    }
}

static inline vecd vecd_low(vec a)      { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
static inline vecd vecd_high(vec a)     { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
static inline vecd vecd_zero(void)      { return _mm256_setzero_pd(); }
static inline vecd vecd_add(vecd a, vecd b)         { return _mm256_add_pd(a, b); }
static inline vecd vecd_mul(vecd a, vecd b)         { return _mm256_mul_pd(a, b); }
static inline vecd vecd_fma(vecd a, vecd b, vecd c) { return _mm256_fmadd_pd(a, b, c); }
static inline double vecd_sum(vecd a)
{
    const __m128d c = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
}

#endif

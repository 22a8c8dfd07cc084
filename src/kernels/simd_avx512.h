/* simd_avx512.h -- simd.h's words on AVX-512 (F, VL, DQ, BW): 16 lanes. */
#ifndef SIMD_AVX512_H
#define SIMD_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

enum { VEC_LANES = 16 };
typedef __m512    vec;
typedef __m512d   vecd;
typedef __mmask16 vmask;

static inline vmask vec_first(size_t n) { return (vmask)((1u << n) - 1u); }

static inline vec  vec_load(const float *p)                { return _mm512_loadu_ps(p); }
static inline void vec_store(float *p, vec a)              { _mm512_storeu_ps(p, a); }
static inline vec  vec_load_n(const float *p, size_t n)    { return _mm512_maskz_loadu_ps(vec_first(n), p); }
static inline void vec_store_n(float *p, vec a, size_t n)  { _mm512_mask_storeu_ps(p, vec_first(n), a); }
static inline vec  vec_zero(void)                          { return _mm512_setzero_ps(); }
static inline vec  vec_set1(float x)                       { return _mm512_set1_ps(x); }

static inline vec vec_add(vec a, vec b)         { return _mm512_add_ps(a, b); }
static inline vec vec_sub(vec a, vec b)         { return _mm512_sub_ps(a, b); }
static inline vec vec_mul(vec a, vec b)         { return _mm512_mul_ps(a, b); }
static inline vec vec_div(vec a, vec b)         { return _mm512_div_ps(a, b); }
static inline vec vec_fma(vec a, vec b, vec c)  { return _mm512_fmadd_ps(a, b, c); }
static inline vec vec_fnma(vec a, vec b, vec c) { return _mm512_fnmadd_ps(a, b, c); }
static inline vec vec_max(vec a, vec b)         { return _mm512_max_ps(a, b); }
static inline vec vec_min(vec a, vec b)         { return _mm512_min_ps(a, b); }
static inline vec vec_sqrt(vec a)               { return _mm512_sqrt_ps(a); }
static inline vec vec_abs(vec a)                { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
static inline vec vec_neg(vec a)                { return _mm512_xor_ps(_mm512_set1_ps(-0.0f), a); }
/* As in simd_portable.h: gcc's roundscale is a macro that -Wconversion refuses
 * at -O0. */
static inline vec vec_round(vec a)
{
    const vec big = _mm512_set1_ps(12582912.0f);
    return _mm512_sub_ps(_mm512_add_ps(a, big), big);
}
static inline vec vec_scale2(vec a, vec n)      { return _mm512_scalef_ps(a, n); }

static inline vmask vec_lt(vec a, vec b)        { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline vmask vec_le(vec a, vec b)        { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
static inline vmask vec_eq(vec a, vec b)        { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline vec   vec_select(vmask m, vec a, vec b) { return _mm512_mask_blend_ps(m, b, a); }
static inline bool  vec_any(vmask m)            { return m != 0; }

static inline float vec_sum(vec a)
{
    const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    const __m128 d = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}
static inline float vec_hmax(vec a)
{
    const __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    const __m128 d = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}

static inline __m512 vec_unpack_pairs(bool high, vec a, vec b)
{
    const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
    return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(x, y) : _mm512_unpacklo_pd(x, y));
}

/* In quarters (4 x 4 blocks) first, then the quarters among each other. */
static inline void vec_transpose(vec r[VEC_LANES])
{
    vec t[16], u[16];
    VEC_UNROLL
    for (int i = 0; i < 16; i += 2) {
        t[i]     = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    VEC_UNROLL
    for (int i = 0; i < 16; i++)        /* u[4g+c], quarter q: rows 4g .. of column 4q+c */
        u[i] = vec_unpack_pairs(i % 2, t[i / 4 * 4 + i % 4 / 2], t[i / 4 * 4 + i % 4 / 2 + 2]);
    VEC_UNROLL
    for (int c = 0; c < 4; c++) {
        const vec a = _mm512_shuffle_f32x4(u[c], u[4 + c], 0x44);
        const vec b = _mm512_shuffle_f32x4(u[c], u[4 + c], 0xEE);
        const vec d = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0x44);
        const vec e = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0xEE);
        r[c]      = _mm512_shuffle_f32x4(a, d, 0x88);
        r[4 + c]  = _mm512_shuffle_f32x4(a, d, 0xDD);
        r[8 + c]  = _mm512_shuffle_f32x4(b, e, 0x88);
        r[12 + c] = _mm512_shuffle_f32x4(b, e, 0xDD);
    }
}

static inline vecd vecd_low(vec a)      { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
static inline vecd vecd_high(vec a)     { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
static inline vecd vecd_zero(void)      { return _mm512_setzero_pd(); }
static inline vecd vecd_add(vecd a, vecd b)         { return _mm512_add_pd(a, b); }
static inline vecd vecd_mul(vecd a, vecd b)         { return _mm512_mul_pd(a, b); }
static inline vecd vecd_fma(vecd a, vecd b, vecd c) { return _mm512_fmadd_pd(a, b, c); }
static inline double vecd_sum(vecd a)
{
    const __m256d b = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    const __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
    return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
}

#endif

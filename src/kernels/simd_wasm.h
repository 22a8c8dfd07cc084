/* simd_wasm.h -- simd.h's words on WebAssembly's fixed-width SIMD: 4 lanes.
 *
 * There is no fused multiply-add (only the relaxed one, whose bits depend on the
 * machine): vec_fma rounds twice, as in the portable set.
 */
#ifndef SIMD_WASM_H
#define SIMD_WASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

enum { VEC_LANES = 4 };
typedef v128_t vec;
typedef v128_t vecd;
typedef v128_t vmask;                   /* all bits of a lane, or none */

static inline vec  vec_load(const float *p)                { return wasm_v128_load(p); }
static inline void vec_store(float *p, vec a)              { wasm_v128_store(p, a); }
static inline vec  vec_load_n(const float *p, size_t n)
{
    float r[VEC_LANES] = { 0 };
    memcpy(r, p, n * sizeof *r);
    return wasm_v128_load(r);
}
static inline void vec_store_n(float *p, vec a, size_t n)
{
    float r[VEC_LANES];
    wasm_v128_store(r, a);
    memcpy(p, r, n * sizeof *r);
}
static inline vec vec_zero(void)                { return wasm_f32x4_splat(0); }
static inline vec vec_set1(float x)             { return wasm_f32x4_splat(x); }

static inline vec vec_add(vec a, vec b)         { return wasm_f32x4_add(a, b); }
static inline vec vec_sub(vec a, vec b)         { return wasm_f32x4_sub(a, b); }
static inline vec vec_mul(vec a, vec b)         { return wasm_f32x4_mul(a, b); }
static inline vec vec_div(vec a, vec b)         { return wasm_f32x4_div(a, b); }
static inline vec vec_fma(vec a, vec b, vec c)  { return vec_add(vec_mul(a, b), c); }
static inline vec vec_fnma(vec a, vec b, vec c) { return vec_sub(c, vec_mul(a, b)); }
/* pmax(a, b) is a < b ? b : a, pmin(a, b) is b < a ? b : a. */
static inline vec vec_max(vec a, vec b)         { return wasm_f32x4_pmax(b, a); }
static inline vec vec_min(vec a, vec b)         { return wasm_f32x4_pmin(b, a); }
static inline vec vec_sqrt(vec a)               { return wasm_f32x4_sqrt(a); }
static inline vec vec_abs(vec a)                { return wasm_f32x4_abs(a); }
static inline vec vec_neg(vec a)                { return wasm_f32x4_neg(a); }
static inline vec vec_round(vec a)              { return wasm_f32x4_nearest(a); }

/* 2^n from its exponent field, in two factors: one alone has no room for the
 * exponents of subnormal results and of 2^128. */
static inline vec vec_scale2(vec a, vec n)
{
    const v128_t e = wasm_i32x4_trunc_sat_f32x4(n), half = wasm_i32x4_shr(e, 1);
    const v128_t rest = wasm_i32x4_sub(e, half), bias = wasm_i32x4_splat(127);
    const v128_t f = wasm_i32x4_shl(wasm_i32x4_add(half, bias), 23);
    const v128_t g = wasm_i32x4_shl(wasm_i32x4_add(rest, bias), 23);
    return vec_mul(vec_mul(a, f), g);
}

static inline vmask vec_lt(vec a, vec b)        { return wasm_f32x4_lt(a, b); }
static inline vmask vec_le(vec a, vec b)        { return wasm_f32x4_le(a, b); }
static inline vmask vec_eq(vec a, vec b)        { return wasm_f32x4_eq(a, b); }
static inline vmask vec_first(size_t n)
{
    return wasm_i32x4_lt(wasm_i32x4_const(0, 1, 2, 3), wasm_i32x4_splat((int32_t)n));
}
static inline vec   vec_select(vmask m, vec a, vec b) { return wasm_v128_bitselect(a, b, m); }
static inline bool  vec_any(vmask m)            { return wasm_v128_any_true(m); }

static inline float vec_sum(vec a)
{
    const vec b = vec_add(a, wasm_i32x4_shuffle(a, a, 2, 3, 2, 3));
    return wasm_f32x4_extract_lane(b, 0) + wasm_f32x4_extract_lane(b, 1);
}
static inline float vec_hmax(vec a)
{
    const vec b = vec_max(a, wasm_i32x4_shuffle(a, a, 2, 3, 2, 3));
    const float even = wasm_f32x4_extract_lane(b, 0), odd = wasm_f32x4_extract_lane(b, 1);
    return even > odd ? even : odd;
}

static inline void vec_transpose(vec r[VEC_LANES])
{
    const vec a = wasm_i32x4_shuffle(r[0], r[1], 0, 4, 1, 5);
    const vec b = wasm_i32x4_shuffle(r[0], r[1], 2, 6, 3, 7);
    const vec c = wasm_i32x4_shuffle(r[2], r[3], 0, 4, 1, 5);
    const vec d = wasm_i32x4_shuffle(r[2], r[3], 2, 6, 3, 7);
    r[0] = wasm_i64x2_shuffle(a, c, 0, 2);
    r[1] = wasm_i64x2_shuffle(a, c, 1, 3);
    r[2] = wasm_i64x2_shuffle(b, d, 0, 2);
    r[3] = wasm_i64x2_shuffle(b, d, 1, 3);
}

static inline vecd vecd_low(vec a)  { return wasm_f64x2_promote_low_f32x4(a); }
static inline vecd vecd_high(vec a)
{
    return wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(a, a, 2, 3, 2, 3));
}
static inline vecd vecd_zero(void)                  { return wasm_f64x2_splat(0); }
static inline vecd vecd_add(vecd a, vecd b)         { return wasm_f64x2_add(a, b); }
static inline vecd vecd_mul(vecd a, vecd b)         { return wasm_f64x2_mul(a, b); }
static inline vecd vecd_fma(vecd a, vecd b, vecd c) { return vecd_add(vecd_mul(a, b), c); }
static inline double vecd_sum(vecd a)
{
    return wasm_f64x2_extract_lane(a, 0) + wasm_f64x2_extract_lane(a, 1);
}

#endif

/* simd_neon.h -- simd.h's words on NEON, which every aarch64 processor has: 4 lanes. */
#ifndef SIMD_NEON_H
#define SIMD_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VEC_LANES = 4 };
typedef float32x4_t vec;
typedef float64x2_t vecd;
typedef uint32x4_t  vmask;              /* all bits of a lane, or none */

static inline vmask vec_first(size_t n)
{
    static const uint32_t lanes[VEC_LANES] = { 0, 1, 2, 3 };
    return vcltq_u32(vld1q_u32(lanes), vdupq_n_u32((uint32_t)n));
}

static inline vec  vec_load(const float *p)                { return vld1q_f32(p); }
static inline void vec_store(float *p, vec a)              { vst1q_f32(p, a); }
static inline vec  vec_load_n(const float *p, size_t n)
{
    float r[VEC_LANES] = { 0 };
    memcpy(r, p, n * sizeof *r);
    return vld1q_f32(r);
}
static inline void vec_store_n(float *p, vec a, size_t n)
{
    float r[VEC_LANES];
    vst1q_f32(r, a);
    memcpy(p, r, n * sizeof *r);
}
static inline vec vec_zero(void)                { return vdupq_n_f32(0); }
static inline vec vec_set1(float x)             { return vdupq_n_f32(x); }

static inline vec vec_add(vec a, vec b)         { return vaddq_f32(a, b); }
static inline vec vec_sub(vec a, vec b)         { return vsubq_f32(a, b); }
static inline vec vec_mul(vec a, vec b)         { return vmulq_f32(a, b); }
static inline vec vec_div(vec a, vec b)         { return vdivq_f32(a, b); }
static inline vec vec_fma(vec a, vec b, vec c)  { return vfmaq_f32(c, a, b); }
static inline vec vec_fnma(vec a, vec b, vec c) { return vfmsq_f32(c, a, b); }
/* Not vmaxq_f32: where one is NaN its result is NaN, whichever it is. */
static inline vec vec_max(vec a, vec b)         { return vbslq_f32(vcgtq_f32(a, b), a, b); }
static inline vec vec_min(vec a, vec b)         { return vbslq_f32(vcltq_f32(a, b), a, b); }
static inline vec vec_sqrt(vec a)               { return vsqrtq_f32(a); }
static inline vec vec_abs(vec a)                { return vabsq_f32(a); }
static inline vec vec_neg(vec a)                { return vnegq_f32(a); }
static inline vec vec_round(vec a)              { return vrndnq_f32(a); }

/* 2^n from its exponent field, in two factors: one alone has no room for the
 * exponents of subnormal results and of 2^128. */
static inline vec vec_scale2(vec a, vec n)
{
    const int32x4_t e = vcvtq_s32_f32(n), half = vshrq_n_s32(e, 1);
    const int32x4_t rest = vsubq_s32(e, half), bias = vdupq_n_s32(127);
    const int32x4_t f = vshlq_n_s32(vaddq_s32(half, bias), 23);
    const int32x4_t g = vshlq_n_s32(vaddq_s32(rest, bias), 23);
    return vmulq_f32(vmulq_f32(a, vreinterpretq_f32_s32(f)), vreinterpretq_f32_s32(g));
}

static inline vmask vec_lt(vec a, vec b)        { return vcltq_f32(a, b); }
static inline vmask vec_le(vec a, vec b)        { return vcleq_f32(a, b); }
static inline vmask vec_eq(vec a, vec b)        { return vceqq_f32(a, b); }
static inline vec   vec_select(vmask m, vec a, vec b) { return vbslq_f32(m, a, b); }
static inline bool  vec_any(vmask m)            { return vmaxvq_u32(m) != 0; }

static inline float vec_sum(vec a)
{
    const float32x2_t b = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(b, 0) + vget_lane_f32(b, 1);
}
static inline float vec_hmax(vec a)
{
    const vec b = vec_max(a, vextq_f32(a, a, 2));
    const float even = vgetq_lane_f32(b, 0), odd = vgetq_lane_f32(b, 1);
    return even > odd ? even : odd;
}

static inline void vec_transpose(vec r[VEC_LANES])
{
    const float32x4x2_t a = vtrnq_f32(r[0], r[1]), b = vtrnq_f32(r[2], r[3]);
    r[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
    r[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
    r[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
    r[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}

static inline vecd vecd_low(vec a)                  { return vcvt_f64_f32(vget_low_f32(a)); }
static inline vecd vecd_high(vec a)                 { return vcvt_high_f64_f32(a); }
static inline vecd vecd_zero(void)                  { return vdupq_n_f64(0); }
static inline vecd vecd_add(vecd a, vecd b)         { return vaddq_f64(a, b); }
static inline vecd vecd_mul(vecd a, vecd b)         { return vmulq_f64(a, b); }
static inline vecd vecd_fma(vecd a, vecd b, vecd c) { return vfmaq_f64(c, a, b); }
static inline double vecd_sum(vecd a)               { return vgetq_lane_f64(a, 0) + vgetq_lane_f64(a, 1); }

#endif

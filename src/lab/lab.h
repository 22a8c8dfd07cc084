/* lab.h -- code lab 01: attention and backprop by hand, at a size where every
 * number can be looked at.
 *
 * The pass is lab_pass.c; here are its inputs, its checks and its experiments.
 *
 * Checks.  Each of the LAB_ENTRIES gradients by two other ways:
 *
 *     central differences   (f(x + e) - f(x - e)) / 2e,  e = 1e-6
 *     complex step          Im f(x + i h) / h,           h = 1e-30
 *
 * The relative error shown is |found - expected| / (|found| + |expected|), as the
 * published lab has it.  It grows without limit where a gradient happens to be
 * near 0, so it does not decide: PASS compares each error with a bound,
 *
 *     central   the difference to the same with step 2e, which is three times
 *               the error of truncation; plus the rounding of two losses, each
 *               by 4 u (loss + 2 max|logits| / temperature), over 2e, u = 2^-53.
 *               The rounding of x + e, u |x| of the gradient over e, is of a
 *               logit's size and has room there
 *     complex   of a tensor: 64 (r e/f + e g), as gradcheck.h derives: g its
 *               largest gradient, r what float does to it, and what an ulp of a
 *               float in lse does, scaled from float's f = 2^-24 to e = 2^-53
 *
 * A NaN fails.
 *
 * In float.  With --dtype float32 inputs, pass, gradient and central differences are
 * floats, u is 2^-24 and e of the second bound is f: that check passes, since it has
 * no subtraction.  Of the first, the rounding of two losses over 2e is then larger than
 * LAB_RESOLUTION of the largest gradient: within such a bound anything would pass, so it
 * fails, and vt_lab() says why.
 */
#ifndef LAB_H
#define LAB_H

#include "vitrine.h"

#undef VT_SCALAR
#define VT_SCALAR 32
#include "lab/lab_pass.h"
#undef VT_SCALAR
#define VT_SCALAR 128
#include "lab/lab_pass.h"
#undef VT_SCALAR
#define VT_SCALAR 64
#include "lab/lab_pass.h"

typedef struct lab_case {
    double at[LAB_ENTRIES];
    int    target[VT_LAB_T];
    int    heads;
    double temperature;
    bool   in_float;                    /* the numbers are floats, and are to stay so */
} lab_case;

/* As NumPy's default_rng(seed): Wq, Wk, Wv, Wo standard_normal * 0.5, X
 * standard_normal, then integers(0, V, size=T). */
void lab_draw(lab_case *c, uint64_t seed, int heads, double temperature);

/* Rounds inputs and temperature to float: what follows is computed in float. */
void lab_in_float(lab_case *c);

/* The tensor that entry i belongs to ("Wq"), and where in it. */
const char *lab_entry(size_t i, int *row, int *col);

/* ---- checks: out[LAB_ENTRIES] ------------------------------------------ */

#define LAB_EPS  1e-6
#define LAB_STEP 1e-30

void lab_differences(double *out, const lab_case *c, double eps);
void lab_differences_f32(double *out, const lab_case *c, double eps);
void lab_complex_step(double *out, const lab_case *c);

/* The bounds do not depend on the gradient by hand, which is on trial: `expected`
 * is the complex step's; `twice` are the differences with 2 LAB_EPS. */
void lab_complex_bound(double *bound, const double *expected, const lab_case *c);
void lab_differences_bound(double *bound, const double *differences, const double *twice,
                           const lab_case *c);

/* A rounding of the case's numbers. */
double lab_unit(const lab_case *c);
/* What rounding the losses alone may do to a difference over 2 LAB_EPS. */
double lab_loss_rounding(const lab_case *c);
#define LAB_RESOLUTION 1e-3

/* `hand` against `expected`, every entry.  Leaves name and step as they are. */
void lab_judge(vt_lab_check *out, const double *hand, const double *expected,
               const double *bound);

/* All of them, of the gradient `hand`: central differences and complex step into
 * checks[0] and [1]; central differences in float into *in_float. */
void lab_check(vt_lab_check checks[VT_LAB_CHECKS], vt_lab_float_check *in_float,
               const double *hand, const lab_case *c);

/* ---- files -------------------------------------------------------------- */

/* All tensors of the pass, forward and back, as .npz or .safetensors: the names of
 * docs/command-line.md, float32 where the case is. */
VT_MUST_CHECK vt_status lab_dump(const lab_case *c, const char *path, vt_error *err);

/* ---- experiments ------------------------------------------------------- */

/* Fills all but the published figures, for out->d_head. */
VT_MUST_CHECK vt_status lab_scaling(vt_lab_scaling *out, uint64_t seed, vt_error *err);
/* The size of the softmax's Jacobian at p, n probabilities: its Frobenius norm. */
double lab_jacobian(const double *p, size_t n);
/* softmax(logits[V] / out->temperature), and its entropy. */
void lab_soften(vt_lab_soft *out, const double *logits);

#endif

/* lab_check.c -- see lab.h: the gradient found by hand, against differences and
 * the complex step. */
#include <complex.h>
#include <math.h>
#include "base/rng.h"
#include "lab/lab.h"

#define EPS64 1.1102230246251565e-16    /* 2^-53: one rounding in double */
#define EPS32 5.9604644775390625e-08    /* 2^-24 */
enum { NEIGHBOURS = 4 };

void lab_differences(double *out, const lab_case *c, double eps)
{
    lab_stages_f64 s;
    double at[LAB_ENTRIES];
    for (size_t i = 0; i < LAB_ENTRIES; i++) at[i] = c->at[i];
    for (size_t i = 0; i < LAB_ENTRIES; i++) {
        at[i] = c->at[i] + eps;
        const double up = lab_forward_f64(&s, at, c->target, c->heads, c->temperature);
        at[i] = c->at[i] - eps;
        const double down = lab_forward_f64(&s, at, c->target, c->heads, c->temperature);
        at[i] = c->at[i];
        out[i] = (up - down) / (2 * eps);                               /* diff.central */
    }
}

/* Everything in float, as a program that knows no other would do it. */
void lab_differences_f32(double *out, const lab_case *c, double step)
{
    lab_stages_f32 s;
    float at[LAB_ENTRIES];
    const float eps = (float)step, temperature = (float)c->temperature;
    for (size_t i = 0; i < LAB_ENTRIES; i++) at[i] = (float)c->at[i];
    for (size_t i = 0; i < LAB_ENTRIES; i++) {
        const float x = at[i];
        at[i] = x + eps;
        const float up = lab_forward_f32(&s, at, c->target, c->heads, temperature);
        at[i] = x - eps;
        const float down = lab_forward_f32(&s, at, c->target, c->heads, temperature);
        at[i] = x;
        const float slope = (up - down) / (2 * eps);
        out[i] = (double)slope;
    }
}

void lab_complex_step(double *out, const lab_case *c)
{
    lab_stages_c128 s;
    double _Complex at[LAB_ENTRIES];
    for (size_t i = 0; i < LAB_ENTRIES; i++) at[i] = c->at[i];
    for (size_t i = 0; i < LAB_ENTRIES; i++) {
        at[i] = c->at[i] + LAB_STEP * (double _Complex)I;
        const double _Complex f = lab_forward_c128(&s, at, c->target, c->heads, c->temperature);
        out[i] = cimag(f) / LAB_STEP;                                   /* diff.complex */
        at[i] = c->at[i];
    }
}

/* ---- bounds ------------------------------------------------------------ */

/* Of the sizes of the numbers of each tensor into all of its entries; NaN where
 * one is NaN. */
static void largest_of_tensors(double *out, const double *x)
{
    static const size_t bounds[] = { LAB_WQ, LAB_WK, LAB_WV, LAB_WO, LAB_X, LAB_ENTRIES };
    for (size_t k = 0; k + 1 < sizeof bounds / sizeof *bounds; k++) {
        double largest = 0;
        for (size_t i = bounds[k]; i < bounds[k + 1] && !isnan(largest); i++)
            if (!(fabs(x[i]) <= largest)) largest = fabs(x[i]);
        for (size_t i = bounds[k]; i < bounds[k + 1]; i++) out[i] = largest;
    }
}

/* The gradient in float less the one in double, both at the same floats: the
 * inputs, or each moved to its next float. */
static void float_error(double *out, const lab_case *c, rng *move)
{
    lab_stages_f32 s32;
    lab_stages_f64 s64;
    float at32[LAB_ENTRIES], g32[LAB_ENTRIES];
    double at64[LAB_ENTRIES], g64[LAB_ENTRIES];
    const float temperature = (float)c->temperature;
    for (size_t i = 0; i < LAB_ENTRIES; i++) {
        at32[i] = (float)c->at[i];
        if (move) at32[i] = nextafterf(at32[i], rng_integers(move, 0, 2) ? INFINITY : -INFINITY);
        at64[i] = (double)at32[i];
    }
    (void)lab_forward_f32(&s32, at32, c->target, c->heads, temperature);
    lab_backward_f32(g32, &s32, at32, c->target, c->heads, temperature);
    (void)lab_forward_f64(&s64, at64, c->target, c->heads, (double)temperature);
    lab_backward_f64(g64, &s64, at64, c->target, c->heads, (double)temperature);
    for (size_t i = 0; i < LAB_ENTRIES; i++) out[i] = (double)g32[i] - g64[i];
}

/* The gradient in double with each row's lse moved by about an ulp of a float,
 * less the one without: where p is 1 in float, its error does not show there. */
static void shaken(double *out, const lab_case *c, rng *move)
{
    lab_stages_f64 s;
    double plain[LAB_ENTRIES], moved[LAB_ENTRIES];
    (void)lab_forward_f64(&s, c->at, c->target, c->heads, c->temperature);
    lab_backward_f64(plain, &s, c->at, c->target, c->heads, c->temperature);
    for (size_t t = 0; t < VT_LAB_T; t++)
        s.lse[t] *= rng_integers(move, 0, 2) ? 1 + EPS32 : 1 - EPS32;
    lab_backward_f64(moved, &s, c->at, c->target, c->heads, c->temperature);
    for (size_t i = 0; i < LAB_ENTRIES; i++) out[i] = moved[i] - plain[i];
}

/* Takes what is larger, but keeps a NaN. */
static void raise_all(double *largest, const double *x)
{
    for (size_t i = 0; i < LAB_ENTRIES; i++)
        if (!(x[i] <= largest[i]) && !isnan(largest[i])) largest[i] = x[i];
}

double lab_unit(const lab_case *c)
{
    return c->in_float ? EPS32 : EPS64;
}

/* At one point roundings may cancel by luck: so at its neighbours too. */
void lab_complex_bound(double *bound, const double *expected, const lab_case *c)
{
    double error[LAB_ENTRIES], largest[LAB_ENTRIES];
    double in_float[LAB_ENTRIES] = { 0 }, by_lse[LAB_ENTRIES] = { 0 };
    rng r;
    rng_seed(&r, 0);
    largest_of_tensors(largest, expected);
    for (int k = 0; k <= NEIGHBOURS; k++) {
        float_error(error, c, k ? &r : NULL);
        largest_of_tensors(error, error);
        raise_all(in_float, error);
        shaken(error, c, &r);
        largest_of_tensors(error, error);
        raise_all(by_lse, error);
    }
    for (size_t i = 0; i < LAB_ENTRIES; i++) {
        /* No more than the gradient itself, where float shows nothing of it. */
        if (in_float[i] > largest[i]) in_float[i] = largest[i];
        bound[i] = 64 * ((in_float[i] + by_lse[i]) * (lab_unit(c) / EPS32) + lab_unit(c) * largest[i]);
    }
}

double lab_loss_rounding(const lab_case *c)
{
    lab_stages_f64 s;
    const double loss = lab_forward_f64(&s, c->at, c->target, c->heads, c->temperature);
    double logit = 0;
    for (size_t i = 0; i < VT_LAB_T * VT_LAB_V; i++)
        if (!(fabs(s.logits[i]) <= logit)) logit = fabs(s.logits[i]);
    return 4 * lab_unit(c) * (loss + 2 * logit / c->temperature) / LAB_EPS;
}

void lab_differences_bound(double *bound, const double *differences, const double *twice,
                           const lab_case *c)
{
    const double rounding = lab_loss_rounding(c);
    for (size_t i = 0; i < LAB_ENTRIES; i++)
        bound[i] = fabs(twice[i] - differences[i]) + rounding;
}

/* ---- verdicts ---------------------------------------------------------- */

static void place(vt_lab_entry *e, size_t i, const double *hand, const double *expected)
{
    e->tensor = lab_entry(i, &e->row, &e->col);
    e->found = hand[i];
    e->expected = expected[i];
}

static double relative_error(double a, double b)
{
    return a == b ? 0 : fabs(a - b) / (fabs(a) + fabs(b));
}

void lab_judge(vt_lab_check *out, const double *hand, const double *expected,
               const double *bound)
{
    double largest[LAB_ENTRIES];
    largest_of_tensors(largest, expected);
    out->compared = 0;
    out->of = LAB_ENTRIES;
    out->worst = out->worst_of_largest = out->budget_used = 0;
    out->pass = true;
    place(&out->worst_at, 0, hand, expected);
    place(&out->budget_at, 0, hand, expected);
    for (size_t i = 0; i < LAB_ENTRIES; i++, out->compared++) {
        const double gap = fabs(hand[i] - expected[i]), share = gap == 0 ? 0 : gap / bound[i];
        const double relative = relative_error(hand[i], expected[i]);
        const double scaled = gap == 0 ? 0 : gap / largest[i];
        if (!(scaled <= out->worst_of_largest) && !isnan(out->worst_of_largest))
            out->worst_of_largest = scaled;
        if (!(gap <= bound[i]) || !isfinite(bound[i])) out->pass = false;
        /* The first NaN stays. */
        if (!(relative <= out->worst) && !isnan(out->worst)) {
            out->worst = relative;
            place(&out->worst_at, i, hand, expected);
        }
        if (!(share <= out->budget_used) && !isnan(out->budget_used)) {
            out->budget_used = share;
            place(&out->budget_at, i, hand, expected);
        }
    }
}

static void check_in_float(vt_lab_float_check *out, const double *hand, const double *bound,
                           const lab_case *c)
{
    double found[LAB_ENTRIES], errors = 0;
    lab_differences_f32(found, c, LAB_EPS);
    out->check = (vt_lab_check){ .name = "central differences in float", .step = LAB_EPS };
    lab_judge(&out->check, hand, found, bound);
    out->zero = out->within = 0;
    for (size_t i = 0; i < LAB_ENTRIES; i++) {
        out->zero += found[i] == 0;
        out->within += fabs(hand[i] - found[i]) <= bound[i];
        errors += relative_error(hand[i], found[i]);
    }
    out->mean = errors / LAB_ENTRIES;

    lab_stages_f32 s;
    float at[LAB_ENTRIES];
    for (size_t i = 0; i < LAB_ENTRIES; i++) at[i] = (float)c->at[i];
    const float loss = lab_forward_f32(&s, at, c->target, c->heads, (float)c->temperature);
    out->loss = (double)loss;
    out->spacing = (double)(nextafterf(loss, INFINITY) - loss);
}

/* The largest of all; NaN where one is NaN. */
static double largest_of(const double *x)
{
    double most = 0;
    for (size_t i = 0; i < LAB_ENTRIES && !isnan(most); i++)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    return most;
}

void lab_check(vt_lab_check checks[VT_LAB_CHECKS], vt_lab_float_check *in_float,
               const double *hand, const lab_case *c)
{
    double differences[LAB_ENTRIES], twice[LAB_ENTRIES], complex_step[LAB_ENTRIES];
    double bound[LAB_ENTRIES], complex_bound[LAB_ENTRIES];
    lab_case wide = *c;                         /* the same numbers, differences in double */
    wide.in_float = false;
    lab_differences(differences, &wide, LAB_EPS);
    lab_differences(twice, &wide, 2 * LAB_EPS);
    lab_complex_step(complex_step, c);
    lab_complex_bound(complex_bound, complex_step, c);
    lab_differences_bound(bound, differences, twice, &wide);
    check_in_float(in_float, hand, bound, c);

    if (c->in_float) {
        lab_differences_f32(differences, c, LAB_EPS);
        lab_differences_f32(twice, c, 2 * LAB_EPS);
        lab_differences_bound(bound, differences, twice, c);
    }
    checks[0] = (vt_lab_check){ .name = "central differences", .step = LAB_EPS };
    lab_judge(&checks[0], hand, differences, bound);
    if (c->in_float && !(lab_loss_rounding(c) <= LAB_RESOLUTION * largest_of(complex_step)))
        checks[0].pass = false;                 /* within such a bound all is right */
    checks[1] = (vt_lab_check){ .name = "complex step", .step = LAB_STEP };
    lab_judge(&checks[1], hand, complex_step, complex_bound);
}

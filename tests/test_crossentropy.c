/* test_crossentropy.c -- loss of a softmax against a target token. */
#include "kernels.h"
#include <math.h>

enum { X = VT_IGNORE, MOST = 21 };
static const struct { int N, V, target[4]; double temperature; } cases[] = {
    { 4, 5, { 2, X, 0, 4 }, 0.75 }, { 3, 7, { 6, 6, 1 }, 1 }, { 1, 3, { 0 }, 2.5 },
    { 4, 2, { X, 1, X, 0 }, 1.25 }, { 2, 1, { 0, X }, 1 }, { 1, 1, { 0 }, 0.5 },
};
enum { CASES = sizeof cases / sizeof *cases };

struct problem {
    int N, V;
    size_t nn, nl;
    double temperature;
    const int *target;
    const double *l, *dloss, *dl0;
    c128 *lc, *loss, *lse;
};

static struct problem problem(int c)
{
    struct problem p = { .N = cases[c].N, .V = cases[c].V, .temperature = cases[c].temperature };
    p.nn = (size_t)p.N, p.nl = (size_t)(p.N * p.V);
    p.target = input_bytes(cases[c].target, p.nn * sizeof(int));
    p.l = input(p.nl, -4, 4), p.dloss = input(p.nn, -1, 1), p.dl0 = input(p.nl, -1, 1);
    p.lc = input_c128(p.l, p.nl), p.loss = output_c128(p.nn), p.lse = output_c128(p.nn);
    return p;
}

/* proves ce.lse ce.loss ce.z */
static void the_formula_in_long_double(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        const struct problem p = problem(c);
        double *loss = output(p.nn), *lse = output(p.nn);
        ref_crossentropy_forward_f64(loss, lse, p.l, p.target, p.temperature, p.N, p.V);
        for (int n = 0; n < p.N; n++) {
            long double sum = 0;
            const long double tau = p.temperature;
            for (int v = 0; v < p.V; v++) sum += expl(p.l[n * p.V + v] / tau);
            assert_near_at(lse[n], (double)logl(sum), 100 * U64, "lse", (size_t)n);
            const int y = p.target[n];
            const double want = y == VT_IGNORE ? 0 : (double)-logl(expl(p.l[n * p.V + y] / tau) / sum);
            assert_near_at(loss[n], want, y == VT_IGNORE ? 0 : 100 * U64, "loss", (size_t)n);
        }
    }
}

/* proves ce.lse ce.loss */
static void limits(void **state)
{
    (void)state;
    const double l[] = { 0, 2000, -2000,  1e4, 1e4, 1e4,  -(double)INFINITY, 5, -(double)INFINITY };
    const int target[] = { 0, 2, 1 };
    double *loss = output(3), *lse = output(3);
    ref_crossentropy_forward_f64(loss, lse, input_bytes(l, sizeof l), input_bytes(target, sizeof target), 1, 3, 3);
    assert_near(loss[0], 2000, 0);                  /* its p rounds to 0 */
    assert_near(lse[0], 2000, 0);
    assert_near(loss[1], log(3.0), 1e4 * 2 * U64);  /* 1e4 + log 3 - 1e4 */
    assert_near(loss[2], 0, 0);                     /* -inf: impossible tokens */
}

/* Halving and doubling are exact, so these agree bit for bit:
 * loss(l, 1/2) = loss(2 l, 1), loss(l, 2) = loss(l/2, 1). */
static void temperature_divides_the_logits(void **state)
{
    (void)state;
    const double temperatures[] = { 0.5, 2 };
    const struct problem p = problem(0);
    for (int k = 0; k < 2; k++) {
        const double tau = temperatures[k];
        double scaled[MOST], dscaled[MOST];
        for (size_t i = 0; i < p.nl; i++) scaled[i] = p.l[i] / tau;
        for (size_t i = 0; i < p.nl; i++) dscaled[i] = p.dl0[i] * tau;
        double *loss = output(p.nn), *lse = output(p.nn), *dl = gradient(p.dl0, p.nl);
        double *loss1 = output(p.nn), *lse1 = output(p.nn), *dl1 = gradient(dscaled, p.nl);
        ref_crossentropy_forward_f64(loss, lse, p.l, p.target, tau, p.N, p.V);
        ref_crossentropy_forward_f64(loss1, lse1, scaled, p.target, 1, p.N, p.V);
        all_same(loss, loss1, p.nn, "loss");
        all_same(lse, lse1, p.nn, "lse");
        ref_crossentropy_backward_f64(dl, p.dloss, lse, p.l, p.target, tau, p.N, p.V);
        ref_crossentropy_backward_f64(dl1, p.dloss, lse, scaled, p.target, 1, p.N, p.V);
        for (size_t i = 0; i < p.nl; i++) dl1[i] /= tau;
        all_same(dl, dl1, p.nl, "dl");
    }
}

/* LOSS-01: nothing is counted, whatever the row holds; no gradient moves. */
static void ignored_targets_give_nothing(void **state)
{
    (void)state;
    const double l[] = { 1, 2, (double)NAN,  (double)INFINITY, 0, 3 }, up[] = { (double)NAN, 1 };
    const int target[] = { VT_IGNORE, VT_IGNORE };
    const double *dl0 = input(6, -1, 1), *logits = input_bytes(l, sizeof l);
    const int *y = input_bytes(target, sizeof target);
    double *loss = output(2), *lse = output(2), *dl = gradient(dl0, 6);
    ref_crossentropy_forward_f64(loss, lse, logits, y, 1, 2, 3);
    assert_near(loss[0], 0, 0);
    assert_near(loss[1], 0, 0);
    ref_crossentropy_backward_f64(dl, input_bytes(up, sizeof up), lse, logits, y, 1, 2, 3);
    all_same(dl, dl0, 6, "dl");
}

static c128 loss_sum(const void *context)
{
    const struct problem *p = context;
    ref_crossentropy_forward_c128(p->loss, p->lse, p->lc, p->target, p->temperature, p->N, p->V);
    return dot_c128(p->dloss, p->loss, p->nn);
}

/* LOSS-02, the kernel's side: targets 0 and V-1 are in use and the logits end
 * at a guard page; other targets are refused before a kernel runs. */
/* proves ce.z ce.dl */
static void every_entry_by_complex_step(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        const struct problem p = problem(c);
        double *loss = output(p.nn), *written = output(p.nn), *dl = gradient(p.dl0, p.nl);
        ref_crossentropy_forward_f64(loss, written, p.l, p.target, p.temperature, p.N, p.V);
        const double *lse = input_bytes(written, p.nn * sizeof *written);
        ref_crossentropy_backward_f64(dl, p.dloss, lse, p.l, p.target, p.temperature, p.N, p.V);

        const step_arg args[] = { { "dl", p.lc, p.nl, p.dl0, dl, 0 } };
        assert_int_equal(complex_step(loss_sum, &p, args, 1, 100), p.nl);
        for (int n = 0; n < p.N; n++)
            if (p.target[n] == VT_IGNORE)
                all_same(dl + n * p.V, p.dl0 + n * p.V, (size_t)p.V, "dl of an ignored row");

        c128 *dlc = gradient_c128(p.dl0, p.nl);
        ref_crossentropy_backward_c128(dlc, input_c128(p.dloss, p.nn), input_c128(lse, p.nn), p.lc,
                                       p.target, p.temperature, p.N, p.V);
        all_near_c128(dlc, dl, p.nl, 0, "dl in c128");
    }
}

/* sum_v (p[v] - [v == y]) = 1 - 1. */
/* proves ce.dl */
static void gradient_rows_sum_to_zero(void **state)
{
    (void)state;
    const double zero[MOST] = { 0 };
    const struct problem p = problem(0);
    double *loss = output(p.nn), *lse = output(p.nn), *dl = gradient(zero, p.nl);
    ref_crossentropy_forward_f64(loss, lse, p.l, p.target, p.temperature, p.N, p.V);
    ref_crossentropy_backward_f64(dl, p.dloss, lse, p.l, p.target, p.temperature, p.N, p.V);
    for (int n = 0; n < p.N; n++) {
        double sum = 0, size = 0;
        for (int v = 0; v < p.V; v++) sum += dl[n * p.V + v], size += fabs(dl[n * p.V + v]);
        assert_near_at(sum, 0.0, 40 * U64, "sum of a row", (size_t)n);
        assert_true((size > 0.01) == (p.target[n] != VT_IGNORE));
    }
}

/* Forward: (l - max)/tau is off by 2 u of itself (at most D), exp by that and
 * 2 u, the sum by (V + 2 + 2 D) u of itself, which log makes absolute; log is
 * off by 2 u of itself, the quotients by u, the sum and difference by u. */
static void float_within_its_bound(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        const struct problem p = problem(c);
        const double tau = p.temperature;
        const float *lf = input_f32(p.l, p.nl);
        double *loss = output(p.nn), *lse = output(p.nn), *dl = gradient(p.dl0, p.nl);
        float *lossf = output_f32(p.nn), *lsef = output_f32(p.nn), *dlf = gradient_f32(p.dl0, p.nl);
        double lse_bound[4], loss_bound[4], bound[MOST];
        ref_crossentropy_forward_f64(loss, lse, p.l, p.target, tau, p.N, p.V);
        ref_crossentropy_forward_f32(lossf, lsef, lf, p.target, (float)tau, p.N, p.V);
        for (int n = 0; n < p.N; n++) {
            double max = -4;
            for (int v = 0; v < p.V; v++) max = fmax(max, p.l[n * p.V + v]);
            const double D = 8 / tau;
            lse_bound[n] = gamma32(p.V + 2 + 2 * D) + gamma32(3) * log(p.V)
                         + gamma32(2) * fabs(max / tau);
            loss_bound[n] = 0;
            if (p.target[n] == VT_IGNORE) continue;
            const double z = p.l[n * p.V + p.target[n]] / tau;
            loss_bound[n] = lse_bound[n] + U32 * fabs(z) + U32 * (fabs(loss[n]) + lse_bound[n]);
        }
        within(lsef, lse, lse_bound, p.nn, "lse");
        within(lossf, loss, loss_bound, p.nn, "loss");

        /* Backward: lse is given; z - lse is off by u |z| and u of itself. */
        for (size_t n = 0; n < p.nn; n++) lse[n] = (double)lsef[n];
        ref_crossentropy_backward_f64(dl, p.dloss, lse, p.l, p.target, tau, p.N, p.V);
        ref_crossentropy_backward_f32(dlf, input_f32(p.dloss, p.nn), lsef, lf, p.target, (float)tau, p.N, p.V);
        for (int n = 0; n < p.N; n++)
        for (int v = 0; v < p.V; v++) {
            const int i = n * p.V + v;
            const double z = p.l[i] / tau, prob = exp(z - lse[n]);
            const double off = gamma32(fabs(z) + fabs(z - lse[n]) + 3) * prob;
            const double g = fabs(p.dloss[n]) / tau, hit = v == p.target[n];
            bound[i] = p.target[n] == VT_IGNORE ? 0
                     : g * off + gamma32(4) * (g * (prob + hit) + fabs(p.dl0[i]));
        }
        within(dlf, dl, bound, p.nl, "dl");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(the_formula_in_long_double),
        kernel_test(limits),
        kernel_test(temperature_divides_the_logits),
        kernel_test(ignored_targets_give_nothing),
        kernel_test(every_entry_by_complex_step),
        kernel_test(gradient_rows_sum_to_zero),
        kernel_test(float_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

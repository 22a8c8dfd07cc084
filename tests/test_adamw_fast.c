/* test_adamw_fast.c -- AdamW in vectors against the double definition.
 *
 * Relative roundings in u = 2^-24, counted along the way:
 *
 *  m     4 u (|beta1 m| + |(1 - beta1) g|)
 *  v     5 u (beta2 v + (1 - beta2) g^2), and 2^-148 where squares are subnormal
 *  move  |mhat| / (root + eps) (em / |m| + ev / (2 v) + 8 u)
 *  w     lr (move's + 3 u (|move| + decay |w|)) + u |w|
 */
#include "fast_check.h"
#define VT_SCALAR 64
#include "kernels/definitions.h"

static share s_w = { .what = "adamw w" }, s_m = { .what = "adamw m" }, s_v = { .what = "adamw v" };

typedef struct setting { float clip, lr, beta1, beta2, eps, decay; int t; } setting;

static void run(const ops *o, size_t n, setting s, double scale, bool teams)
{
    float *w0 = fc_random_buffer(n, 1), *m0 = fc_random_buffer(n, scale);
    float *v0 = fc_random_buffer(n, scale), *g = fc_random_buffer(n, scale), *g2 = fc_copy(g, n);
    float *first[3] = { 0 };
    for (size_t i = 0; i < n; i++) {
        v0[i] = (float)((double)v0[i] * (double)v0[i]);
        if (s.t == 1) m0[i] = v0[i] = 0;
    }
    for (int k = 0; k < (teams ? FC_TEAMS : 1); k++) {
        float *w = fc_copy(w0, n), *m = fc_copy(m0, n), *v = fc_copy(v0, n);
        o->adamw(fc_team[k], w, m, v, g, n, s.clip, s.lr, s.beta1, s.beta2, s.eps, s.decay, s.t);
        float *now[3] = { w, m, v };
        if (k == 0) { memcpy(first, now, sizeof first); continue; }
        for (int j = 0; j < 3; j++) {
            FC_SAME(now[j], first[j], n);
            guarded_free(now[j]);
        }
    }
    double *w = fc_doubles(w0, n), *m = fc_doubles(m0, n), *v = fc_doubles(v0, n), *gd = fc_doubles(g, n);
    const double b1 = (double)s.beta1, b2 = (double)s.beta2, lr = (double)s.lr, eps = (double)s.eps;
    ref_adamw_f64(w, m, v, gd, n, (double)s.clip, lr, b1, b2, eps, (double)s.decay, s.t);
    for (size_t i = 0; i < n; i++) {
        const double gc = (double)s.clip * gd[i], old = fabs((double)w0[i]);
        const double em = 4 * U * (fabs(b1 * (double)m0[i]) + fabs((1 - b1) * gc)) + 0x1p-148;
        const double ev = 5 * U * v[i] + 0x1p-148;
        const double mhat = m[i] / (1 - pow(b1, s.t)), vhat = v[i] / (1 - pow(b2, s.t));
        const double move = fabs(mhat) / (sqrt(vhat) + eps);
        const double em_hat = em / (1 - pow(b1, s.t));
        const double e_move = em_hat / (sqrt(vhat) + eps) + move * (ev / (2 * v[i] + 0x1p-140) + 8 * U);
        FC_NEAR(&s_m, first[1][i], m[i], em, i);
        FC_NEAR(&s_v, first[2][i], v[i], ev, i);
        FC_NEAR(&s_w, first[0][i], w[i],
                lr * (e_move + 3 * U * (move + (double)s.decay * old)) + U * fabs(w[i]), i);
    }
    FC_SAME(g, g2, n);
    free(w), free(m), free(v), free(gd);
    float *all[] = { w0, m0, v0, g, g2, first[0], first[1], first[2] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

static void sizes(const ops *o)
{
    const setting usual = { 1, 1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f, 10 };
    const setting first = { 0.3f, 1e-2f, 0.9f, 0.999f, 1e-8f, 0.1f, 1 };
    const setting late = { 0.01f, 6e-4f, 0.8f, 0.95f, 1e-6f, 0, 100000 };
    fc_make_teams((ops_sizes){ 1, 1, 0, 1, 1, 1, 1, 1 });
    for (size_t n = 1; n <= FC_SMALL; n++) {
        run(o, n, usual, 1, false);
        run(o, n, first, 1e-3, false);
        run(o, n, late, 10, false);
    }
    for (size_t i = 0; i < FC_EDGES; i++) run(o, fc_edge(i, 16384), usual, 1, false);
    run(o, 16383, usual, 1, true);
    run(o, 16384, first, 1e-4, true);
    run(o, 16385, late, 1, true);
    run(o, 70001, usual, 1e-2, true);
    fc_report(&s_w);
    fc_report(&s_m);
    fc_report(&s_v);
}

/* Spans in one launch are the spans one by one, wherever chunks of 16384 end; and the
 * gradient is 0 afterwards, or as it was. */
static void spans(const ops *o, const adamw_span *all, size_t nspans, size_t n)
{
    float *w0 = fc_random_buffer(n, 1), *m0 = fc_random_buffer(n, 1), *v0 = fc_random_buffer(n, 1);
    float *g0 = fc_random_buffer(n, 1), *zero = fc_copy(g0, n);
    float *w = fc_copy(w0, n), *m = fc_copy(m0, n), *v = fc_copy(v0, n);
    for (size_t i = 0; i < n; i++) zero[i] = 0, v0[i] = v[i] = fabsf(v0[i]);
    for (size_t i = 0; i < nspans; i++) {
        const size_t at = all[i].begin, count = (i + 1 < nspans ? all[i + 1].begin : n) - at;
        o->adamw(NULL, w + at, m + at, v + at, g0 + at, count, 0.5f, 0.1f, 0.9f, 0.99f, 1e-8f,
                 all[i].decay, 3);
    }
    for (int k = 0; k < 2 * FC_TEAMS; k++) {
        float *w1 = fc_copy(w0, n), *m1 = fc_copy(m0, n), *v1 = fc_copy(v0, n), *g = fc_copy(g0, n);
        o->adamw_spans(fc_team[k / 2], w1, m1, v1, g, n, all, nspans, k % 2 == 1, 0.5f, 0.1f, 0.9f,
                       0.99f, 1e-8f, 3);
        FC_SAME(w1, w, n);
        FC_SAME(m1, m, n);
        FC_SAME(v1, v, n);
        FC_SAME(g, k % 2 == 1 ? zero : g0, n);
        guarded_free(w1), guarded_free(m1), guarded_free(v1), guarded_free(g);
    }
    float *rest[] = { w0, m0, v0, g0, zero, w, m, v };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) guarded_free(rest[i]);
}

static void launch_of_spans(const ops *o)
{
    static const adamw_span far[] = { { 0, 0.1f }, { 5, 0 }, { 16384, 0.01f }, { 16385, 0.3f },
                                      { 16400, 0 }, { 49152, 0.2f }, { 50002, 0.4f } };
    adamw_span near[FC_SMALL];                  /* of 1, 2, 3 ... weights */
    fc_make_teams((ops_sizes){ 1, 1, 0, 1, 1, 1, 1, 1 });
    for (size_t i = 0; i < FC_SMALL; i++)
        near[i] = (adamw_span){ i * (i + 1) / 2, (float)(i % 7) / 10 };
    spans(o, far, sizeof far / sizeof *far, 50003);
    spans(o, near, FC_SMALL, FC_SMALL * (FC_SMALL + 1) / 2);
}

static float one_step(const ops *o, float w, float g, float clip, float eps, float decay)
{
    float m = 0, v = 0;
    o->adamw(NULL, &w, &m, &v, &g, 1, clip, 0.1f, 0.9f, 0.999f, eps, decay, 1);
    return w;
}

/* OPT-01 .. OPT-03, CLIP-01's clipped gradient. */
static void known_faults(const ops *o)
{
    assert_near((double)one_step(o, 1, 0.1f, 1, 1e-8f, 0.1f), 0.890000010, 1.2e-7);
    assert_near((double)one_step(o, 1, 1e-8f, 1, 1e-8f, 0), 0.95, 1.2e-7);
    assert_near((double)one_step(o, 2, 0, 1, 1e-8f, 0.1f), 2 * (1 - 0.01), 2.4e-7);
    assert_true(one_step(o, 2, 0, 1, 1e-8f, 0) == 2);
    /* 1e20 * (1 / 1e21): the clip comes before the square, which would overflow. */
    float w = 1, m = 0, v = 0;
    const float g = 1e20f;
    o->adamw(NULL, &w, &m, &v, &g, 1, 1e-21f, 0.1f, 0.9f, 0.999f, 1e-8f, 0, 1);
    assert_near((double)m, (1 - (double)0.9f) * 0.1, 1e-9);
    assert_near((double)v, (1 - (double)0.999f) * 0.01, 1e-12);
    assert_near((double)w, 0.9, 1.2e-7);
    assert_true(isnan(one_step(o, 1, NAN, 1, 1e-8f, 0)));
}

static void against_the_definition(void **state) { (void)state; fc_each_table(sizes); fc_free_teams(); }
static void as_one_launch(void **state) { (void)state; fc_each_table(launch_of_spans); fc_free_teams(); }
static void faults_of_others(void **state)       { (void)state; fc_each_table(known_faults); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_the_definition),
        cmocka_unit_test(as_one_launch),
        cmocka_unit_test(faults_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

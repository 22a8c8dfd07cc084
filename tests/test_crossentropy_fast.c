/* test_crossentropy_fast.c -- the loss in vectors against the double definition.
 *
 * With i = 1 / temperature and a[v] = (l[v] - max) i (u = 2^-24, first order):
 *
 *  log sum  es = sum_v p (3 |a| + 2.04) u + (V + 2) u + 2 u |log sum|
 *  lse      es + u (2 |max i| + |lse|)
 *  loss     es + 3 u |max - l[y]| i + u |loss|
 *  dl       |g| p (2 u |l i| + u |l i - lse| + 2.04 u) + 3 u |g| (p + [v == y])
 *           + u (|dl before| + |g| p) + u |dl|,  g = dloss i; p of the given lse
 */
#include "fast_check.h"
#include "vitrine.h"
#define VT_SCALAR 64
#include "kernels/definitions.h"

static share s_loss = { .what = "crossentropy loss" }, s_lse = { .what = "crossentropy lse" };
static share s_dl = { .what = "crossentropy dl" };

static void forward_bounds(const float *l, const int *target, double temperature, size_t N, size_t V,
                           const float *loss, const float *lse)
{
    double *ld = fc_doubles(l, N * V), *wloss = fc_zeros(N), *wlse = fc_zeros(N);
    ref_crossentropy_forward_f64(wloss, wlse, ld, target, temperature, (int)N, (int)V);
    for (size_t n = 0; n < N; n++) {
        const double *row = ld + n * V, i = 1 / temperature;
        double max = row[0], es = 0;
        for (size_t v = 1; v < V; v++) if (row[v] > max) max = row[v];
        for (size_t v = 0; v < V; v++)
            es += exp(row[v] * i - wlse[n]) * (3 * (max - row[v]) * i + 2.04) * U;
        const double log_sum = wlse[n] - max * i;
        es += ((double)V + 2) * U + 2 * U * fabs(log_sum);
        FC_NEAR(&s_lse, lse[n], wlse[n], es + U * (2 * fabs(max * i) + fabs(wlse[n])), n);
        if (target[n] == VT_IGNORE) {
            assert_true(loss[n] == 0);
            continue;
        }
        const double far = (max - row[target[n]]) * i;
        FC_NEAR(&s_loss, loss[n], wloss[n], es + 3 * U * far + U * fabs(wloss[n]), n);
    }
    free(ld), free(wloss), free(wlse);
}

static void backward_bounds(const float *l, const int *target, double temperature, size_t N,
                            size_t V, const float *lse, const float *dloss, const float *before,
                            const float *dl)
{
    double *ld = fc_doubles(l, N * V), *lsed = fc_doubles(lse, N), *g = fc_doubles(dloss, N);
    double *want = fc_doubles(before, N * V);
    ref_crossentropy_backward_f64(want, g, lsed, ld, target, temperature, (int)N, (int)V);
    for (size_t n = 0; n < N; n++)
        for (size_t v = 0; v < V; v++) {
            const size_t at = n * V + v;
            if (target[n] == VT_IGNORE) {
                assert_true(dl[at] == before[at]);
                continue;
            }
            const double z = ld[at] / temperature, p = exp(z - lsed[n]), s = fabs(g[n] / temperature);
            const double hit = target[n] == (int)v;
            const double bound = s * p * (2 * fabs(z) + fabs(z - lsed[n]) + 2.04) * U
                + 3 * U * s * (p + hit) + U * (fabs((double)before[at]) + s * p) + U * fabs(want[at]);
            FC_NEAR(&s_dl, dl[at], want[at], bound, at);
        }
    free(ld), free(lsed), free(g), free(want);
}

/* What backward adds to 0, in the place of the logits; loss and lse as forward's. */
static void learn(const ops *o, const float *l, const float *dloss, const int *target, int N,
                  int V, const float *loss, const float *lse, bool teams)
{
    const size_t rows = (size_t)N, n = rows * (size_t)V;
    float *want = fc_copy(l, n);
    for (size_t i = 0; i < n; i++) want[i] = 0;
    o->crossentropy_backward(NULL, want, dloss, lse, l, target, 1, N, V);
    for (int i = 0; i < (teams ? FC_TEAMS : 1); i++) {
        float *now = fc_copy(l, n), *loss2 = fc_nan_buffer(rows), *lse2 = fc_nan_buffer(rows);
        o->crossentropy_learn(fc_team[i], loss2, lse2, now, dloss, target, N, V);
        FC_SAME(now, want, n);
        FC_SAME(loss2, loss, rows);
        FC_SAME(lse2, lse, rows);
        guarded_free(now), guarded_free(loss2), guarded_free(lse2);
    }
    guarded_free(want);
}

static void run(const ops *o, int N, int V, float temperature, double scale, bool teams)
{
    const size_t rows = (size_t)N, cols = (size_t)V, n = rows * cols;
    float *l = fc_random_buffer(n, scale), *l2 = fc_copy(l, n), *first[3] = { 0 };
    float *dloss = fc_random_buffer(rows, 1), *dloss2 = fc_copy(dloss, rows);
    float *before = fc_random_buffer(n, 0.1);
    int *target = guarded(rows * sizeof *target), *target2 = guarded(rows * sizeof *target);
    for (size_t i = 0; i < rows; i++)
        target2[i] = target[i] = i % 5 == 3 ? VT_IGNORE
                   : i == 0 ? V - 1 : (int)((double)V * (0.5 + 0.499 * (double)fc_random()));
    const size_t count[3] = { rows, rows, n };
    for (int i = 0; i < (teams ? FC_TEAMS : 1); i++) {
        float *loss = fc_nan_buffer(rows), *lse = fc_nan_buffer(rows), *dl = fc_copy(before, n);
        o->crossentropy_forward(fc_team[i], loss, lse, l, target, temperature, N, V);
        o->crossentropy_backward(fc_team[i], dl, dloss, lse, l, target, temperature, N, V);
        float *now[3] = { loss, lse, dl };
        if (i == 0) {
            memcpy(first, now, sizeof first);
            forward_bounds(l, target, (double)temperature, rows, cols, loss, lse);
            backward_bounds(l, target, (double)temperature, rows, cols, lse, dloss, before, dl);
        } else {
            for (int j = 0; j < 3; j++) {
                FC_SAME(now[j], first[j], count[j]);
                guarded_free(now[j]);
            }
        }
    }
    FC_SAME(l, l2, n);
    FC_SAME(dloss, dloss2, rows);
    if (temperature == 1) learn(o, l, dloss, target, N, V, first[0], first[1], teams);
    FC_SAME(target, target2, rows);
    void *all[] = { l, l2, dloss, dloss2, before, target, target2, first[0], first[1], first[2] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

static void sizes(const ops *o)
{
    fc_make_teams((ops_sizes){ 1, 1, 0, 1, 1, 1, 1, 1 });
    for (int V = 1; V <= FC_SMALL; V++) run(o, 5, V, 1, 4, false);
    for (int N = 1; N <= 2 * 8 + 1; N++) run(o, N, 3, 0.7f, 2, false);  /* rows of a task */
    for (int N = 1; N <= 2 * 8 + 1; N++) run(o, N, 3, 1, 2, false);     /* and of learn's */
    run(o, 30, 1281, 1, 3, true);
    run(o, 70, 757, 2.5f, 10, true);
    run(o, 9, 100, 1, 80, true);                 /* peaked: p near 0 and 1 */
    run(o, 9, 100, 0.05f, 2, false);
    run(o, 9, 64, 1, 1e4, false);
    fc_report(&s_loss);
    fc_report(&s_lse);
    fc_report(&s_dl);
}

/* Large logits do not overflow and lose no digit of the loss; equal logits
 * give log V; NaN and Inf show; rows of the gradient sum to 0. */
static void properties(const ops *o)
{
    float l[40], loss[4], lse[4];
    const int target[4] = { 0, 9, VT_IGNORE, 3 };
    for (size_t i = 0; i < 40; i++) l[i] = 3e38f;
    o->crossentropy_forward(NULL, loss, lse, l, target, 1, 4, 10);
    for (size_t n = 0; n < 4; n++) {
        assert_near((double)loss[n], n == 2 ? 0 : log(10), 3e-7);
        assert_true(lse[n] == 3e38f);
    }
    for (size_t i = 0; i < 40; i++) l[i] = -3e38f;              /* nor do they vanish */
    o->crossentropy_forward(NULL, loss, lse, l, target, 1, 4, 10);
    for (size_t n = 0; n < 4; n++) {
        assert_near((double)loss[n], n == 2 ? 0 : log(10), 3e-7);
        assert_true(lse[n] == -3e38f);
    }
    for (size_t i = 0; i < 40; i++) l[i] = 3e38f;
    l[0] = -INFINITY, l[15] = NAN, l[25] = NAN, l[39] = INFINITY;
    o->crossentropy_forward(NULL, loss, lse, l, target, 1, 4, 10);
    assert_true(loss[0] == INFINITY && isnan(loss[1]) && loss[2] == 0 && isnan(loss[3]));

    fc_fill(l, 40, 5);
    float dl[40] = { 0 };
    const float dloss[4] = { 0.25f, -1, 8, 0.5f };
    o->crossentropy_forward(NULL, loss, lse, l, target, 2, 4, 10);
    o->crossentropy_backward(NULL, dl, dloss, lse, l, target, 2, 4, 10);
    for (size_t n = 0; n < 4; n++) {
        double sum = 0;
        for (size_t v = 0; v < 10; v++) sum += (double)dl[n * 10 + v];
        assert_near(sum, 0, 40 * U * fabs((double)dloss[n]));
        if (n == 2) for (size_t v = 0; v < 10; v++) assert_true(dl[n * 10 + v] == 0);
        else assert_true(dl[n * 10 + (size_t)target[n]] * dloss[n] < 0);
    }
}

/* LOSS-01: whatever an ignored row holds, and whatever comes from above, its
 * loss is 0 and its gradient keeps its bits. */
static void ignored_rows(const ops *o)
{
    const float bad[] = { NAN, INFINITY, -INFINITY };
    const int target[3] = { VT_IGNORE, 2, VT_IGNORE };
    for (int V = 3; V <= 40; V += 37)
        for (size_t k = 0; k < 3; k++) {
            float l[120], dl[120], before[120], loss[3], lse[3];
            const float dloss[3] = { bad[k], 1, bad[(k + 1) % 3] };
            const size_t cols = (size_t)V, last = 2 * cols;
            fc_fill(l, 3 * cols, 2);
            fc_fill(before, 3 * cols, 1);
            l[1] = bad[k], l[last] = bad[(k + 2) % 3];
            memcpy(dl, before, sizeof dl);
            o->crossentropy_forward(NULL, loss, lse, l, target, 1, 3, V);
            assert_true(loss[0] == 0 && loss[1] > 0 && loss[2] == 0);
            o->crossentropy_backward(NULL, dl, dloss, lse, l, target, 1, 3, V);
            FC_SAME(dl, before, cols);
            FC_SAME(dl + last, before + last, cols);
            assert_true(isfinite(dl[cols]) && dl[cols + 2] < before[cols + 2]);
        }
}

static void against_the_definition(void **state) { (void)state; fc_each_table(sizes); fc_free_teams(); }
static void known_properties(void **state)       { (void)state; fc_each_table(properties); }
static void ignored_targets(void **state)        { (void)state; fc_each_table(ignored_rows); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_the_definition),
        cmocka_unit_test(known_properties),
        cmocka_unit_test(ignored_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_layernorm_fast.c -- layer normalisation in vectors against the double
 * definition.
 *
 * Forward, with d = x - x[0] and c = d - avg (u = 2^-24, first order):
 *
 *  avg   ea = (C + 1) u sum |d| / C           mean: ea + u |mean|
 *  c     ec = u |d| + ea + u |c|
 *  var   ev = 2 sum |c| ec / C + (C + 2) u var
 *  rstd  er = rstd^3 (ev + u (var + eps)) / 2 + 2 u rstd
 *  y     |w| (ec rstd + |c| er + u |c| rstd) + u (|w c rstd| + |b|)
 *
 * Nothing grows with the mean itself, which is NORM-01.  Backward is given the
 * same mean and rstd as the definition; its bounds are the sums' (terms + 4) u
 * times the sums of magnitudes, and one rounding of what is added to.
 */
#include "fast_check.h"
#define VT_SCALAR 64
#include "kernels/definitions.h"

static share s_y = { .what = "layernorm y" }, s_mean = { .what = "layernorm mean" };
static share s_rstd = { .what = "layernorm rstd" }, s_dx = { .what = "layernorm dx" };
static share s_dw = { .what = "layernorm dw" }, s_db = { .what = "layernorm db" };

typedef struct call {
    int N, C;
    float *x, *w, *b, *dout, *dx0, *dw0, *db0;
} call;

static void forward_bounds(const call *z, const float *y, const float *mean, const float *rstd)
{
    const size_t N = (size_t)z->N, C = (size_t)z->C;
    double *x = fc_doubles(z->x, N * C), *w = fc_doubles(z->w, C), *b = fc_doubles(z->b, C);
    double *want = fc_zeros(N * C), *wm = fc_zeros(N), *wr = fc_zeros(N), *ec = fc_zeros(C);
    ref_layernorm_forward_f64(want, wm, wr, x, w, b, z->N, z->C);
    for (size_t n = 0; n < N; n++) {
        const double *row = x + n * C, r = wr[n], rows = (double)C;
        double ea = 0, var = 0, ev = 0;
        for (size_t i = 0; i < C; i++) ea += (rows + 1) * U * fabs(row[i] - row[0]) / rows;
        for (size_t i = 0; i < C; i++) {
            const double c = row[i] - wm[n];
            ec[i] = U * fabs(row[i] - row[0]) + ea + U * fabs(c);
            var += c * c / rows;
            ev += 2 * fabs(c) * ec[i] / rows;
        }
        ev += (rows + 2) * U * var;
        const double er = r * r * r * (ev + U * (var + 1e-5)) / 2 + 2 * U * r;
        FC_NEAR(&s_mean, mean[n], wm[n], ea + U * fabs(wm[n]), n);
        FC_NEAR(&s_rstd, rstd[n], r, er, n);
        for (size_t i = 0; i < C; i++) {
            const double c = row[i] - wm[n];
            const double bound = fabs(w[i]) * (ec[i] * r + fabs(c) * er + U * fabs(c) * r)
                               + U * (fabs(w[i] * c * r) + fabs(b[i]));
            FC_NEAR(&s_y, y[n * C + i], want[n * C + i], bound, n * C + i);
        }
    }
    free(x), free(w), free(b), free(want), free(wm), free(wr), free(ec);
}

static void backward_bounds(const call *z, const float *mean, const float *rstd, const float *dx,
                            const float *dw, const float *db)
{
    const size_t N = (size_t)z->N, C = (size_t)z->C;
    double *x = fc_doubles(z->x, N * C), *w = fc_doubles(z->w, C), *dy = fc_doubles(z->dout, N * C);
    double *m = fc_doubles(mean, N), *r = fc_doubles(rstd, N), *want = fc_doubles(z->dx0, N * C);
    double *wdw = fc_doubles(z->dw0, C), *wdb = fc_doubles(z->db0, C);
    double *ew = fc_zeros(C), *eb = fc_zeros(C);
    ref_layernorm_backward_f64(want, wdw, wdb, dy, x, w, m, r, z->N, z->C);
    for (size_t n = 0; n < N; n++) {
        const double cols = (double)C;
        double sum = 0, sum_xhat = 0, avg = 0, avg_xhat = 0;
        for (size_t i = 0; i < C; i++) {
            const double xhat = (x[n * C + i] - m[n]) * r[n], g = dy[n * C + i], d = w[i] * g;
            avg += d / cols, avg_xhat += d * xhat / cols;
            sum += fabs(d) / cols, sum_xhat += fabs(d * xhat) / cols;
            ew[i] += fabs(g * xhat) * ((double)N + 4) * U;
            eb[i] += fabs(g) * ((double)N + 4) * U;
        }
        for (size_t i = 0; i < C; i++) {
            const double xhat = (x[n * C + i] - m[n]) * r[n], d = w[i] * dy[n * C + i];
            const double bound = r[n] * (U * fabs(d) + (cols + 4) * U * sum
                + fabs(xhat) * (cols + 4) * U * sum_xhat + 2 * U * fabs(xhat * avg_xhat)
                + 3 * U * (fabs(d) + fabs(avg) + fabs(xhat * avg_xhat))) + U * fabs(want[n * C + i]);
            FC_NEAR(&s_dx, dx[n * C + i], want[n * C + i], bound, n * C + i);
        }
    }
    for (size_t i = 0; i < C; i++) {
        FC_NEAR(&s_dw, dw[i], wdw[i], ew[i] + U * (fabs(wdw[i]) + fabs((double)z->dw0[i])), i);
        FC_NEAR(&s_db, db[i], wdb[i], eb[i] + U * (fabs(wdb[i]) + fabs((double)z->db0[i])), i);
    }
    free(x), free(w), free(dy), free(m), free(r), free(want), free(wdw), free(wdb), free(ew), free(eb);
}

static void run(const ops *o, int N, int C, double shift, bool teams)
{
    const size_t rows = (size_t)N, cols = (size_t)C, n = rows * cols;
    fc_make_teams_of((ops_sizes){ 1, N, 0, C, 1, C, 1, 1 }, teams ? FC_TEAMS : 1);
    call z = { N, C, fc_random_buffer(n, 2), fc_random_buffer(cols, 1), fc_random_buffer(cols, 1),
               fc_random_buffer(n, 1), fc_random_buffer(n, 1), fc_random_buffer(cols, 1),
               fc_random_buffer(cols, 1) };
    for (size_t i = 0; i < n; i++) z.x[i] = (float)((double)z.x[i] + shift);
    float *x2 = fc_copy(z.x, n), *w2 = fc_copy(z.w, cols), *b2 = fc_copy(z.b, cols);
    float *dout2 = fc_copy(z.dout, n), *first[6] = { 0 };
    const size_t count[6] = { n, rows, rows, n, cols, cols };
    for (int i = 0; i < (teams ? FC_TEAMS : 1); i++) {
        float *y = fc_nan_buffer(n), *mean = fc_nan_buffer(rows), *rstd = fc_nan_buffer(rows);
        float *dx = fc_copy(z.dx0, n), *dw = fc_copy(z.dw0, cols), *db = fc_copy(z.db0, cols);
        memset(team_shared(fc_team[i]), 0xFF, team_shared_bytes(fc_team[i]));     /* NaN */
        o->layernorm_forward(fc_team[i], y, mean, rstd, z.x, z.w, z.b, N, C);
        o->layernorm_backward(fc_team[i], dx, dw, db, z.dout, z.x, z.w, mean, rstd, N, C);
        float *now[6] = { y, mean, rstd, dx, dw, db };
        if (i == 0) {
            memcpy(first, now, sizeof first);
            forward_bounds(&z, y, mean, rstd);
            backward_bounds(&z, mean, rstd, dx, dw, db);
        } else {
            for (int j = 0; j < 6; j++) {
                FC_SAME(now[j], first[j], count[j]);
                guarded_free(now[j]);
            }
        }
    }
    FC_SAME(z.x, x2, n);
    FC_SAME(z.w, w2, cols);
    FC_SAME(z.b, b2, cols);
    FC_SAME(z.dout, dout2, n);
    float *all[] = { z.x, z.w, z.b, z.dout, z.dx0, z.dw0, z.db0, x2, w2, b2, dout2, first[0],
                     first[1], first[2], first[3], first[4], first[5] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

static void sizes(const ops *o)
{
    share *all[] = { &s_y, &s_mean, &s_rstd, &s_dx, &s_dw, &s_db };
    for (int C = 1; C <= 2 * 128 + 1; C++) run(o, 3, C, 0, false);      /* columns of a task */
    for (int N = 1; N <= 2 * 32 + 1; N++) run(o, N, 5, 1, false);       /* rows of a chunk */
    static const int wide[] = { 64, 127, 128, 257, 768 };
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) run(o, 2, wide[i], 1000, false);
    for (size_t i = 0; i < FC_EDGES; i++) run(o, (int)fc_edge(i, 64 * 32), 2, 0, false);
    run(o, 70, 33, 0, true);
    run(o, 64, 128, 3, true);
    run(o, 2048, 20, 0, true);                  /* 64 chunks of 32 rows */
    run(o, 2049, 3, 0, true);                   /* chunks of 33 rows */
    run(o, 300, 260, -5, true);                 /* three tasks of columns */
    for (size_t i = 0; i < 6; i++) fc_report(all[i]);
}

/* NORM-01: a large mean; constant rows give b exactly; NORM-02: eps stands
 * under the root. */
static void large_means(const ops *o)
{
    const float x[4] = { 40000, 40001, 40002, 40003 }, one[4] = { 1, 1, 1, 1 }, zero[4] = { 0 };
    const double want[4] = { -1.3416354, -0.4472118, 0.4472118, 1.3416354 };
    float y[4], mean, rstd;
    o->layernorm_forward(NULL, y, &mean, &rstd, x, one, zero, 1, 4);
    for (size_t i = 0; i < 4; i++) assert_near_at((double)y[i], want[i], 2e-7, "y", i);
    assert_true(mean == 40001.5f);

    float row[300], w[300], b[300], out[300];
    static const float constant[] = { 1234, 0.1f, -3e7f, 1e-20f, 0 };
    for (size_t c = 0; c < sizeof constant / sizeof *constant; c++) {
        for (int C = 1; C <= 300; C += 13) {
            for (size_t i = 0; i < (size_t)C; i++)
                row[i] = constant[c], w[i] = fc_random(), b[i] = fc_random(), out[i] = NAN;
            o->layernorm_forward(NULL, out, &mean, &rstd, row, w, b, 1, C);
            FC_SAME(out, b, (size_t)C);
            assert_true(mean == constant[c]);
            assert_near((double)rstd, 1 / sqrt((double)1e-5f), 1e-4);
        }
    }
    for (size_t i = 0; i < 300; i++) row[i] = fc_random();
    row[299] = NAN;
    o->layernorm_forward(NULL, out, &mean, &rstd, row, w, b, 1, 300);
    assert_true(isnan(mean) && isnan(rstd) && isnan(out[0]) && isnan(out[299]));
}

static void against_the_definition(void **state) { (void)state; fc_each_table(sizes); fc_free_teams(); }
static void rows_far_from_0(void **state)        { (void)state; fc_each_table(large_means); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_the_definition),
        cmocka_unit_test(rows_far_from_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

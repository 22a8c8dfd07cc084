/* test_attention_fast.c -- tiled attention against the double definition.
 *
 * The bounds, with |.| over the same terms in double (first order, u = 2^-24):
 *
 *  scores  es[t,u]   = (HS + 3) u sum_i |q k| / sqrt(HS)
 *  weights rho[t,u]  = es + u (|s - max| + 4)               relative, before the
 *                      normaliser, whose error is their mean, sum_u a rho
 *  out     sum_u a |v| (rho + mean rho + (n + 3 tiles + 4) u)
 *  lse     sum_u a rho + (n + 3 tiles + 4) u + 3 u (|max| + |lse|)
 *  backward's weights: alpha = es + dlse + u (|s| + 2 |lse| + 4)
 *  da      (HS + 1) u sum_i |do v|,   D: sum_i |do| dout + (HS + 1) u sum |do out|
 *  ds      a (alpha |da - D| + e(da) + e(D) + 2 u (|da| + |D|))
 *  dv, dq, dk: these through the last sums, (terms + 4) u for adding them, and
 *  u times what they are added to, for each block of LEAST that is added to it.
 *
 * 2^(s log2 e) in place of e^s: log2 e is rounded once, with 1/sqrt(HS), in es;
 * lse log2 e is rounded once more, u |lse|, which alpha has beside its subtraction.
 */
#include "fast_check.h"
#define VT_SCALAR 64
#include "kernels/definitions.h"

enum { LEAST = 128 };               /* the smallest block of attention_fast.c */

typedef struct shape { int B, T, P, NH, HS, gap; } shape;
typedef struct sizes { size_t B, T, S, NH, HS, C, ldq, ldkv, nq, nkv, nout, nlse, nstage; } sizes;

static sizes sizes_of(shape z)
{
    sizes r = { .B = (size_t)z.B, .T = (size_t)z.T, .S = (size_t)(z.P + z.T),
                .NH = (size_t)z.NH, .HS = (size_t)z.HS };
    r.C = r.NH * r.HS;
    r.ldq = r.C + (size_t)z.gap;
    r.ldkv = r.C + 2 * (size_t)z.gap;
    r.nq = (r.B * r.T - 1) * r.ldq + r.C;           /* ends with the last number */
    r.nkv = (r.B * r.S - 1) * r.ldkv + r.C;
    r.nout = r.B * r.T * r.C;
    r.nlse = r.B * r.NH * r.T;
    r.nstage = r.nlse * r.S;
    return r;
}

/* Random rows, NaN in the gaps between them. */
static float *rows(size_t n, size_t C, size_t ld, double scale)
{
    float *x = fc_random_buffer(n, scale);
    for (size_t i = 0; i < n; i++) if (i % ld >= C) x[i] = NAN;
    return x;
}

/* Rows without gaps, in double. */
static double *dense(const float *x, size_t count, size_t C, size_t ld)
{
    double *y = fc_zeros(count * C);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < C; i++) y[r * C + i] = (double)x[r * ld + i];
    return y;
}

static share s_out = { .what = "attention out" }, s_lse = { .what = "attention lse" };
static share s_dq = { .what = "attention dq" }, s_dk = { .what = "attention dk" }, s_dv = { .what = "attention dv" };

typedef struct truth {              /* the definition's tensors, and bounds */
    double *q, *k, *v, *dout, *out, *scores, *scaled, *masked, *att, *da, *ds, *dq, *dk, *dv;
    double *lse, *bound_out, *bound_lse, *bound_dq, *bound_dk, *bound_dv;
} truth;

static void truth_free(truth *r)
{
    double *all[] = { r->q, r->k, r->v, r->dout, r->out, r->scores, r->scaled, r->masked, r->att,
                      r->da, r->ds, r->dq, r->dk, r->dv, r->lse, r->bound_out, r->bound_lse,
                      r->bound_dq, r->bound_dk, r->bound_dv };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* The bounds of one query row. */
static void bound_row(truth *r, const sizes *z, size_t b, size_t h, size_t t, size_t n)
{
    const size_t row = (b * z->NH + h) * z->T + t, HS = z->HS, C = z->C;
    const double root = sqrt((double)HS), tiles = (double)(z->S / 64 + 1);
    const double *a = r->att + row * z->S, *s = r->scaled + row * z->S;
    const double *da = r->da + row * z->S, *ds = r->ds + row * z->S;
    const double *q = r->q + (b * z->T + t) * C + h * HS, *out = r->out + (b * z->T + t) * C + h * HS;
    const double *dout = r->dout + (b * z->T + t) * C + h * HS;
    double *eo = r->bound_out + (b * z->T + t) * C + h * HS;
    double *eq = r->bound_dq + (b * z->T + t) * C + h * HS;
    double es[1024], max = s[0], mean = 0, sum = 0, eD = 0, D = 0;
    assert_true(n <= 1024);

    for (size_t u = 1; u < n; u++) if (s[u] > max) max = s[u];
    for (size_t u = 0; u < n; u++) {
        const double *k = r->k + (b * z->S + u) * C + h * HS;
        double terms = 0;
        for (size_t i = 0; i < HS; i++) terms += fabs(q[i] * k[i]);
        es[u] = ((double)HS + 3) * U * terms / root;
        mean += a[u] * (es[u] + U * (fabs(s[u] - max) + 4));
        sum += exp(s[u] - max);
    }
    const double adding = ((double)n + 3 * tiles + 4) * U;
    r->lse[row] = max + log(sum);
    r->bound_lse[row] = mean + adding + 3 * U * (fabs(max) + fabs(r->lse[row]));
    for (size_t i = 0; i < HS; i++) {
        eo[i] = 0x1p-126;
        for (size_t u = 0; u < n; u++) {
            const double v = r->v[(b * z->S + u) * C + h * HS + i];
            eo[i] += a[u] * fabs(v) * (es[u] + U * (fabs(s[u] - max) + 4) + mean + adding);
        }
        D += dout[i] * out[i];
        eD += fabs(dout[i]) * eo[i] + ((double)HS + 1) * U * fabs(dout[i] * out[i]);
    }
    for (size_t u = 0; u < n; u++) {
        const double *k = r->k + (b * z->S + u) * C + h * HS;
        const double *v = r->v + (b * z->S + u) * C + h * HS;
        double *ek = r->bound_dk + (b * z->S + u) * C + h * HS;
        double *ev = r->bound_dv + (b * z->S + u) * C + h * HS;
        const double alpha = es[u] + r->bound_lse[row] + U * (fabs(s[u]) + 2 * fabs(r->lse[row]) + 4);
        double eda = 0;
        for (size_t i = 0; i < HS; i++) eda += ((double)HS + 1) * U * fabs(dout[i] * v[i]);
        const double eds = a[u] * (alpha * fabs(da[u] - D) + eda + eD + 2 * U * (fabs(da[u]) + fabs(D)));
        for (size_t i = 0; i < HS; i++) {
            eq[i] += fabs(k[i]) / root * (eds + ((double)n + 4) * U * fabs(ds[u]));
            ek[i] += fabs(q[i]) / root * (eds + ((double)z->T + 4) * U * fabs(ds[u]));
            ev[i] += fabs(dout[i]) * a[u] * (alpha + ((double)z->T + 4) * U);
        }
    }
}

static truth truth_of(shape z, const float *q, const float *k, const float *v, const float *dout,
                      const float *dq, const float *dk, const float *dv)
{
    const sizes n = sizes_of(z);
    truth r = { .q = dense(q, n.B * n.T, n.C, n.ldq), .k = dense(k, n.B * n.S, n.C, n.ldkv),
                .v = dense(v, n.B * n.S, n.C, n.ldkv), .dout = fc_doubles(dout, n.nout),
                .dq = dense(dq, n.B * n.T, n.C, n.ldq), .dk = dense(dk, n.B * n.S, n.C, n.ldkv),
                .dv = dense(dv, n.B * n.S, n.C, n.ldkv), .out = fc_zeros(n.nout),
                .scores = fc_zeros(n.nstage), .scaled = fc_zeros(n.nstage),
                .masked = fc_zeros(n.nstage), .att = fc_zeros(n.nstage), .da = fc_zeros(n.nstage),
                .ds = fc_zeros(n.nstage), .lse = fc_zeros(n.nlse), .bound_lse = fc_zeros(n.nlse),
                .bound_out = fc_zeros(n.nout), .bound_dq = fc_zeros(n.nout),
                .bound_dk = fc_zeros(n.B * n.S * n.C), .bound_dv = fc_zeros(n.B * n.S * n.C) };
    const double adds = U * (double)((n.S + LEAST - 1) / LEAST);
    for (size_t i = 0; i < n.nout; i++) r.bound_dq[i] = adds * fabs(r.dq[i]) + 0x1p-126;
    for (size_t i = 0; i < n.B * n.S * n.C; i++) {
        r.bound_dk[i] = adds * fabs(r.dk[i]) + 0x1p-126;
        r.bound_dv[i] = adds * fabs(r.dv[i]) + 0x1p-126;
    }
    ref_attention_forward_f64(r.out, r.scores, r.scaled, r.masked, r.att, r.q, r.k, r.v,
                              z.B, z.T, z.P, z.NH, z.HS);
    ref_attention_backward_f64(r.dq, r.dk, r.dv, r.da, r.ds, r.dout, r.att, r.q, r.k, r.v,
                               z.B, z.T, z.P, z.NH, z.HS);
    for (size_t b = 0; b < n.B; b++)
        for (size_t h = 0; h < n.NH; h++)
            for (size_t t = 0; t < n.T; t++) bound_row(&r, &n, b, h, t, (size_t)z.P + t + 1);
    return r;
}

/* Rows with gaps against dense ones; the gaps still hold their NaN. */
static void compare(share *s, const float *got, const double *want, const double *bound,
                    size_t n, size_t C, size_t ld)
{
    for (size_t i = 0; i < n; i++) {
        const size_t at = i / ld * C + i % ld;
        if (i % ld >= C) assert_true(isnan(got[i]));
        else FC_NEAR(s, got[i], want[at], bound[at], i);
    }
}

/* One shape, forward and backward; with other teams where `teams`. */
static void run_shape(const ops *o, shape z, bool teams)
{
    const sizes n = sizes_of(z);
    fc_make_teams_of((ops_sizes){ .B = z.B, .T = z.T, .P = z.P, .NH = z.NH, .HS = z.HS,
                                  .C = z.NH * z.HS, .FF = 1, .V = 1 }, teams ? FC_TEAMS : 1);
    float *q = rows(n.nq, n.C, n.ldq, 2), *k = rows(n.nkv, n.C, n.ldkv, 2);
    float *v = rows(n.nkv, n.C, n.ldkv, 1), *dout = fc_random_buffer(n.nout, 1);
    float *dq0 = rows(n.nq, n.C, n.ldq, 1), *dk0 = rows(n.nkv, n.C, n.ldkv, 1);
    float *dv0 = rows(n.nkv, n.C, n.ldkv, 1);
    float *q2 = fc_copy(q, n.nq), *k2 = fc_copy(k, n.nkv), *v2 = fc_copy(v, n.nkv);
    float *dout2 = fc_copy(dout, n.nout), *first[5] = { 0 };
    truth r = truth_of(z, q, k, v, dout, dq0, dk0, dv0);

    for (int i = 0; i < (teams ? FC_TEAMS : 1); i++) {
        float *out = fc_nan_buffer(n.nout), *lse = fc_nan_buffer(n.nlse);
        float *dq = fc_copy(dq0, n.nq), *dk = fc_copy(dk0, n.nkv), *dv = fc_copy(dv0, n.nkv);
        o->attention_forward(fc_team[i], out, lse, q, n.ldq, k, v, n.ldkv,
                             z.B, z.T, z.P, z.NH, z.HS);
        float *out2 = fc_copy(out, n.nout), *lse2 = fc_copy(lse, n.nlse);
        o->attention_backward(fc_team[i], dq, dk, dv, dout, out, lse, q, n.ldq, k, v, n.ldkv,
                              z.B, z.T, z.P, z.NH, z.HS);
        FC_SAME(out, out2, n.nout);
        FC_SAME(lse, lse2, n.nlse);
        guarded_free(out2);
        guarded_free(lse2);
        float *now[5] = { out, lse, dq, dk, dv };
        const size_t count[5] = { n.nout, n.nlse, n.nq, n.nkv, n.nkv };
        if (i > 0) {
            for (int j = 0; j < 5; j++) {
                FC_SAME(now[j], first[j], count[j]);
                guarded_free(now[j]);
            }
            continue;
        }
        memcpy(first, now, sizeof first);
        compare(&s_out, out, r.out, r.bound_out, n.nout, n.C, n.C);
        compare(&s_lse, lse, r.lse, r.bound_lse, n.nlse, 1, 1);
        compare(&s_dq, dq, r.dq, r.bound_dq, n.nq, n.C, n.ldq);
        compare(&s_dk, dk, r.dk, r.bound_dk, n.nkv, n.C, n.ldkv);
        compare(&s_dv, dv, r.dv, r.bound_dv, n.nkv, n.C, n.ldkv);
    }
    FC_SAME(q, q2, n.nq);
    FC_SAME(k, k2, n.nkv);
    FC_SAME(v, v2, n.nkv);
    FC_SAME(dout, dout2, n.nout);
    float *all[] = { q, k, v, dout, dq0, dk0, dv0, q2, k2, v2, dout2,
                     first[0], first[1], first[2], first[3], first[4] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
    truth_free(&r);
}

static void edge_sizes(const ops *o)
{
    for (int T = 1; T <= 66; T++) run_shape(o, (shape){ 1, T, 0, 1, 5, 0 }, false);
    static const int around[] = { 95, 96, 97, 126, 127, 128, 129, 130, 191, 192, 193, 255, 257 };
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        run_shape(o, (shape){ 1, around[i], 0, 1, 16, 3 }, false);
    for (int HS = 1; HS <= 33; HS++) run_shape(o, (shape){ 1, 9, 0, 2, HS, 1 }, false);
    for (int HS = 1; HS <= 33; HS++) run_shape(o, (shape){ 1, 2, 1, 2, HS, 0 }, false);
    static const int sides[] = { 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65 };
    const size_t count = sizeof sides / sizeof *sides;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            for (int HS = 3; HS <= 16; HS += 13)            /* 16: rows of whole vectors */
                if (HS == 3 || SWEEP(1, (i + j) % 3 == 0))
                    run_shape(o, (shape){ 1, sides[i], sides[j], 1, HS, 2 }, false);
    run_shape(o, (shape){ 2, 40, 0, 2, 64, 128 }, false);
    run_shape(o, (shape){ 1, 70, 70, 1, 128, 0 }, false);
    run_shape(o, (shape){ 1, 70, 0, 1, 127, 1 }, false);
    run_shape(o, (shape){ 1, 300, 0, 1, 8, 0 }, false);
    run_shape(o, (shape){ 1, 150, 270, 1, 6, 0 }, false);       /* more blocks of keys than of queries */
    run_shape(o, (shape){ 2, 3, 250, 2, 5, 0 }, false);         /* few queries, three blocks of keys */
    run_shape(o, (shape){ 2, 515, 0, 4, 2, 0 }, false);         /* many heads: the largest blocks */
    /* The same where results are written by the last product: rows are whole vectors, and
     * as many as fill the blocks in registers. */
    run_shape(o, (shape){ 1, 152, 272, 1, 16, 3 }, false);
    run_shape(o, (shape){ SWEEP(2, 1), 516, 0, SWEEP(4, 1), 16, 0 }, false);
    if (SWEEP(1, 0)) run_shape(o, (shape){ 1, 256, 0, 2, 64, 128 }, false);
    share *all[] = { &s_out, &s_lse, &s_dq, &s_dk, &s_dv };
    for (size_t i = 0; i < 5; i++) fc_report(all[i]);
}

static void teams_agree(const ops *o)
{
    run_shape(o, (shape){ 3, 16, 0, 2, 16, 32 }, true);
    run_shape(o, (shape){ 2, 128, 0, 4, 32, 256 }, true);
    run_shape(o, (shape){ 1, 400, 32, 1, 16, 0 }, true);
    run_shape(o, (shape){ 2, 3, 5, 5, 7, 0 }, true);
    run_shape(o, (shape){ 1, 1, 100, 5, 32, 0 }, true);
    run_shape(o, (shape){ 1, 400, 30, 1, 4, 0 }, true);         /* one head in several tasks */
}

/* Scratch memory does not grow with T: forward and backward of one head of 64 at T = 65536,
 * their eight (T, 64) tensors and lse included, take less than 200 MB on two threads. */
static void memory(void **state)
{
    (void)state;
    size_t worker[2], shared[2];
    const ops_sizes small = { .B = 1, .T = 1024, .C = 64, .NH = 1, .HS = 64, .FF = 1, .V = 1 };
    ops_sizes large = small;
    large.T = 65536;
    ops_scratch(&small, &worker[0], &shared[0]);
    ops_scratch(&large, &worker[1], &shared[1]);
    assert_int_equal(worker[0], worker[1]);
    const double tensors = (8 * 64 + 1) * 65536.0 * sizeof(float);
    assert_true(tensors + 2 * (double)worker[1] + (double)shared[1] < 200e6);
}

/* ---- properties -------------------------------------------------------- */

/* q, k, v inside one (B, T, 3C) tensor; B = 1. */
static void forward_of(const ops *o, float *out, float *lse, const float *qkv, int T, int NH, int HS)
{
    const size_t C = (size_t)(NH * HS);
    o->attention_forward(fc_team[0], out, lse, qkv, 3 * C, qkv + C, qkv + 2 * C, 3 * C,
                         1, T, 0, NH, HS);
}

/* ATT-03: NaN and Inf behind the mask reach no output and no gradient. */
static void masked_nan(const ops *o)
{
    static const int sizes_t[] = { 3, 6, 40, 100, 6, 40, 100 };
    for (size_t c = 0; c < 7; c++) {
        const int T = sizes_t[c], NH = 2, HS = c < 4 ? 20 : 16, last = T - 1;
        const size_t C = (size_t)(NH * HS), n = (size_t)T * 3 * C, at = (size_t)last * 3 * C;
        fc_make_teams((ops_sizes){ 1, T, 0, (int)C, NH, HS, 1, 1 });
        float *x = fc_random_buffer(n, 1), *out[2], *lse[2], *d[2];
        float *dout = fc_random_buffer((size_t)T * C, 1);
        for (size_t i = 0; i < C; i++) dout[(size_t)last * C + i] = 0;
        for (int bad = 0; bad < 2; bad++) {
            for (size_t i = 0; i < C; i++) {
                x[at + C + i] = bad ? (i % 3 ? INFINITY : -INFINITY) : 0;
                x[at + 2 * C + i] = bad ? (i % 2 ? NAN : INFINITY) : 0;
            }
            out[bad] = fc_nan_buffer((size_t)T * C);
            lse[bad] = fc_nan_buffer((size_t)(T * NH));
            d[bad] = fc_nan_buffer(n);
            memset(d[bad], 0, n * sizeof(float));
            forward_of(o, out[bad], lse[bad], x, T, NH, HS);
            o->attention_backward(fc_team[0], d[bad], d[bad] + C, d[bad] + 2 * C, dout, out[bad],
                                  lse[bad], x, 3 * C, x + C, x + 2 * C, 3 * C, 1, T, 0, NH, HS);
        }
        FC_SAME(out[0], out[1], (size_t)last * C);
        for (size_t h = 0; h < (size_t)NH; h++)
            FC_SAME(lse[0] + h * (size_t)T, lse[1] + h * (size_t)T, (size_t)last);
        for (size_t i = 0; i < (size_t)last * C; i++) assert_true(isfinite(out[1][i]));
        for (size_t i = 0; i < C; i++) assert_true(isnan(out[1][(size_t)last * C + i]));
        /* The last row's own gradients are NaN through its own NaN weights;
         * dq of the rows before it is untouched. */
        for (size_t t = 0; t < (size_t)last; t++) {
            FC_SAME(d[0] + t * 3 * C, d[1] + t * 3 * C, C);
            for (size_t i = 0; i < C; i++) assert_true(isfinite(d[1][t * 3 * C + i]));
        }
        guarded_free(x);
        guarded_free(dout);
        for (int bad = 0; bad < 2; bad++)
            guarded_free(out[bad]), guarded_free(lse[bad]), guarded_free(d[bad]);
    }
}

/* The other side of the mask: a query's NaN, and its gradient's, reach no key
 * that it does not see. */
static void masked_nan_backward_of(const ops *o, int T, int HS)
{
    const int NH = 2;
    const size_t C = (size_t)(NH * HS), n = (size_t)T * 3 * C;
    fc_make_teams((ops_sizes){ 1, T, 0, (int)C, NH, HS, 1, 1 });
    float *x = fc_random_buffer(n, 1), *dout = fc_random_buffer((size_t)T * C, 1);
    float *out = fc_nan_buffer((size_t)T * C), *lse = fc_nan_buffer((size_t)(T * NH)), *d[2];
    d[0] = fc_nan_buffer(n), d[1] = fc_nan_buffer(n);
    for (size_t t = 0; t + 1 < (size_t)T; t++) {
        for (int bad = 0; bad < 2; bad++) {
            float *q = x + t * 3 * C, *g = dout + t * C;
            float q0[40], g0[40];
            memcpy(q0, q, C * sizeof *q0);
            memcpy(g0, g, C * sizeof *g0);
            for (size_t i = 0; i < C; i++) q[i] = g[i] = bad ? NAN : 0;
            memset(d[bad], 0, n * sizeof(float));
            forward_of(o, out, lse, x, T, NH, HS);
            o->attention_backward(fc_team[0], d[bad], d[bad] + C, d[bad] + 2 * C, dout, out, lse,
                                  x, 3 * C, x + C, x + 2 * C, 3 * C, 1, T, 0, NH, HS);
            memcpy(q, q0, C * sizeof *q0);
            memcpy(g, g0, C * sizeof *g0);
        }
        FC_SAME(d[0] + (t + 1) * 3 * C, d[1] + (t + 1) * 3 * C, n - (t + 1) * 3 * C);
        for (size_t i = (t + 1) * 3 * C; i < n; i++) assert_true(isfinite(d[1][i]));
        assert_true(isnan(d[1][t * 3 * C + C]) && isnan(d[1][t * 3 * C + 2 * C]));
    }
    float *all[] = { x, dout, out, lse, d[0], d[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

static void masked_nan_backward(const ops *o)
{
    masked_nan_backward_of(o, 70, 20);
    masked_nan_backward_of(o, 72, 16);
}

/* ATT-04: prefill 4 and then 1 cached; chunks of 2; against one forward of 5. */
static void cached_steps(const ops *o)
{
    static const int cuts[][6] = { { 4, 1 }, { 2, 2, 1 }, { 1, 1, 1, 1, 1 }, { 1, 4 }, { 3, 2 } };
    const int NH = 2, HS = 20;
    const size_t C = 40, scale[2] = { 1, 14 };      /* 5 positions, and 70 */
    for (int big = 0; big < 2; big++) {
        const size_t S = 5 * scale[big];
        fc_make_teams((ops_sizes){ 1, (int)S, 0, (int)C, NH, HS, 1, 1 });
        float *x = fc_random_buffer(S * 3 * C, 1);
        float *whole = fc_nan_buffer(S * C), *lse = fc_nan_buffer(S * 2);
        forward_of(o, whole, lse, x, (int)S, NH, HS);
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
            size_t P = 0;
            for (int j = 0; P < S; j++) {
                const size_t T = (size_t)cuts[c][j] * scale[big];
                float *out = fc_nan_buffer(T * C), *l = fc_nan_buffer(T * 2);
                o->attention_forward(fc_team[0], out, l, x + P * 3 * C, 3 * C, x + C, x + 2 * C,
                                     3 * C, 1, (int)T, (int)P, NH, HS);
                for (size_t i = 0; i < T * C; i++)
                    assert_near_at((double)out[i], (double)whole[P * C + i], 1e-6, "out", i);
                guarded_free(out);
                guarded_free(l);
                P += T;
            }
            assert_int_equal(P, S);
        }
        guarded_free(x);
        guarded_free(whole);
        guarded_free(lse);
    }
}

/* ATT-06: another suffix leaves the prefix bit-identical; a gradient of a
 * prefix's outputs reaches nothing behind it. */
static void causal(const ops *o)
{
    const int T = 64, NH = 2, HS = 16;
    const size_t C = 32, n = (size_t)T * 3 * C;
    fc_make_teams((ops_sizes){ 1, T, 0, (int)C, NH, HS, 1, 1 });
    static const size_t prefix[] = { 1, 3, 7, 15, 31, 32, 63 };
    float *x = fc_random_buffer(n, 1), *y = fc_copy(x, n);
    float *a = fc_nan_buffer((size_t)T * C), *b = fc_nan_buffer((size_t)T * C);
    float *lse = fc_nan_buffer((size_t)(T * NH)), *d = fc_random_buffer(n, 0);
    float *dout = fc_random_buffer((size_t)T * C, 1);
    forward_of(o, a, lse, x, T, NH, HS);
    for (size_t c = 0; c < sizeof prefix / sizeof *prefix; c++) {
        const size_t p = prefix[c];
        memcpy(y, x, n * sizeof *y);
        fc_fill(y + p * 3 * C, n - p * 3 * C, 3);
        forward_of(o, b, lse, y, T, NH, HS);
        FC_SAME(a, b, p * C);
        assert_memory_not_equal(a, b, (size_t)T * C * sizeof *a);

        fc_fill(dout, (size_t)T * C, 1);
        for (size_t i = p * C; i < (size_t)T * C; i++) dout[i] = 0;
        memset(d, 0, n * sizeof *d);
        o->attention_backward(fc_team[0], d, d + C, d + 2 * C, dout, b, lse, y, 3 * C, y + C,
                              y + 2 * C, 3 * C, 1, T, 0, NH, HS);
        double seen = 0;
        for (size_t i = 0; i < p * 3 * C; i++) seen += fabs((double)d[i]);
        assert_true(seen > 0);
        for (size_t i = p * 3 * C; i < n; i++) assert_true(d[i] == 0);
    }
    float *all[] = { x, y, a, b, lse, d, dout };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

/* Equal keys give the mean of the values seen; scores of -Inf weigh nothing,
 * also where a whole tile of them comes first. */
static void means_and_infinities(const ops *o)
{
    const int T = 150, HS = 4;
    fc_make_teams((ops_sizes){ 1, T, 0, HS, 1, HS, 1, 1 });
    float *x = fc_random_buffer((size_t)T * 12, 1), *out = fc_nan_buffer((size_t)T * 4);
    float *lse = fc_nan_buffer((size_t)T);
    for (size_t t = 0; t < (size_t)T; t++)
        for (size_t i = 0; i < 4; i++) x[t * 12 + 4 + i] = 0.5f;
    forward_of(o, out, lse, x, T, 1, HS);
    double sum = 0, size = 0;
    for (size_t t = 0; t < (size_t)T; t++) {
        sum += (double)x[t * 12 + 8];
        size += fabs((double)x[t * 12 + 8]);
        assert_near_at((double)out[t * 4], sum / (double)(t + 1),
                       ((double)t + 12) * U * size / (double)(t + 1), "mean", t);
    }
    for (size_t t = 0; t < (size_t)T; t++) {
        for (size_t i = 0; i < 4; i++) x[t * 12 + i] = 1;
        if (t < 140) x[t * 12 + 4] = -INFINITY;      /* keys 0..139 score -Inf */
    }
    forward_of(o, out, lse, x, T, 1, HS);
    for (size_t t = 0; t < (size_t)T; t++)
        for (size_t i = 0; i < 4; i++) {
            sum = 0, size = 0;
            for (size_t u = 140; u <= t; u++) {
                sum += (double)x[u * 12 + 8 + i];
                size += fabs((double)x[u * 12 + 8 + i]);
            }
            if (t < 140) assert_true(isnan(out[t * 4 + i]));        /* 0 / 0 */
            else assert_near_at((double)out[t * 4 + i], sum / (double)(t - 139),
                                24 * U * size, "out", t * 4 + i);
        }
    guarded_free(x);
    guarded_free(out);
    guarded_free(lse);
}

/* One score is 200 above all others, whose weights are then below 2^-280: who sees that
 * key reads its value alone, and nothing overflows on the way there, wherever it lies. */
static void one_score_above_all(const ops *o)
{
    enum { S = 204, HS = 4 };           /* three blocks of keys */
    static const int queries[] = { 1, 3, S };
    for (size_t c = 0; c < sizeof queries / sizeof *queries; c++) {
        const int T = queries[c], P = S - T;
        fc_make_teams((ops_sizes){ 1, T, P, HS, 1, HS, 1, 1 });
        float *q = fc_random_buffer((size_t)T * HS, 0), *k = fc_random_buffer(S * HS, 1);
        float *v = fc_random_buffer(S * HS, 1), *out = fc_nan_buffer((size_t)T * HS), *lse = fc_nan_buffer((size_t)T);
        for (int t = 0; t < T; t++) q[t * HS] = 2;              /* / sqrt(HS): a score is k[u, 0] */
        for (int w = 0; w < S; w += T < S ? 1 : SWEEP(5, 37)) {
            const float was = k[w * HS];
            k[w * HS] = 202;
            o->attention_forward(fc_team[0], out, lse, q, HS, k, v, HS, 1, T, P, 1, HS);
            for (int t = w < P ? 0 : w - P; t < T; t++) {
                assert_near_at((double)lse[t], 202, 202 * 4 * U, "lse", (size_t)t);
                for (int i = 0; i < HS; i++)
                    assert_near_at((double)out[t * HS + i], (double)v[w * HS + i], 2 * U, "out",
                                   (size_t)(t * HS + i));
            }
            k[w * HS] = was;
        }
        float *all[] = { q, k, v, out, lse };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
    }
}

#define ON_EVERY_TABLE(name) \
    static void all_##name(void **state) { (void)state; fc_each_table(name); fc_free_teams(); }
ON_EVERY_TABLE(edge_sizes)
ON_EVERY_TABLE(teams_agree)
ON_EVERY_TABLE(masked_nan)
ON_EVERY_TABLE(masked_nan_backward)
ON_EVERY_TABLE(cached_steps)
ON_EVERY_TABLE(causal)
ON_EVERY_TABLE(means_and_infinities)
ON_EVERY_TABLE(one_score_above_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_edge_sizes),
        cmocka_unit_test(all_teams_agree),
        cmocka_unit_test(memory),
        cmocka_unit_test(all_masked_nan),
        cmocka_unit_test(all_masked_nan_backward),
        cmocka_unit_test(all_cached_steps),
        cmocka_unit_test(all_causal),
        cmocka_unit_test(all_means_and_infinities),
        cmocka_unit_test(all_one_score_above_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

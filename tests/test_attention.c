/* test_attention.c -- causal multi-head attention.
 *
 * The golden example (published numbers, P = 0), a naive implementation on flat
 * indices (P > 0, every stage), complex step, and the properties: masked keys
 * and values are never read into a result, cached decoding equals the full
 * forward, no position sees a later one.
 */
#include "kernels.h"
#include <math.h>
#include <string.h>

static const struct { int B, T, P, NH, HS; } sizes[] = {
    { 2, 4, 3, 5, 6 }, { 3, 5, 0, 2, 1 }, { 1, 1, 4, 3, 2 }, { 2, 1, 0, 1, 3 }, { 1, 3, 1, 1, 1 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct problem {
    int B, T, P, NH, HS, S;
    size_t nq, nk, na;                          /* like q, like k, like a stage */
    const double *q, *k, *v, *dout;
    c128 *qc, *kc, *vc, *out, *scores, *scaled, *masked, *att;
};

static struct problem problem(int B, int T, int P, int NH, int HS)
{
    struct problem p = { .B = B, .T = T, .P = P, .NH = NH, .HS = HS, .S = P + T };
    p.nq = (size_t)(B * T * NH * HS), p.nk = (size_t)(B * p.S * NH * HS);
    p.na = (size_t)(B * NH * T * p.S);
    p.q = input(p.nq, -2, 2), p.k = input(p.nk, -2, 2), p.v = input(p.nk, -2, 2);
    p.dout = input(p.nq, -1, 1);
    p.qc = input_c128(p.q, p.nq), p.kc = input_c128(p.k, p.nk), p.vc = input_c128(p.v, p.nk);
    p.out = output_c128(p.nq);
    p.scores = output_c128(p.na), p.scaled = output_c128(p.na);
    p.masked = output_c128(p.na), p.att = output_c128(p.na);
    return p;
}

typedef struct stages { double *out, *scores, *scaled, *masked, *att; } stages;

static stages forward(const struct problem *p, const double *q, const double *k, const double *v)
{
    const stages s = { output(p->nq), output(p->na), output(p->na), output(p->na), output(p->na) };
    ref_attention_forward_f64(s.out, s.scores, s.scaled, s.masked, s.att, q, k, v,
                              p->B, p->T, p->P, p->NH, p->HS);
    return s;
}

/* Flat places of q[b][t][h][i], k[b][u][h][i] and a stage's [b][h][t][u]. */
static size_t at_q(const struct problem *p, int b, int t, int h, int i)
{ return (size_t)(((b * p->T + t) * p->NH + h) * p->HS + i); }
static size_t at_k(const struct problem *p, int b, int u, int h, int i)
{ return (size_t)(((b * p->S + u) * p->NH + h) * p->HS + i); }
static size_t at_a(const struct problem *p, int b, int h, int t, int u)
{ return (size_t)(((b * p->NH + h) * p->T + t) * p->S + u); }

/* ---- the golden example -------------------------------------------------- */

enum { GT = 6, GD = 4, GH = 2, GHS = 2, GX = GT * GD, GW = GD * GD, GA = GH * GT * GT };

static const double *values(json_t *root, const char *group, const char *name, size_t n)
{
    double x[GA];
    assert_int_equal(golden_numbers(json_object_get(json_object_get(root, group), name), x, GA), n);
    return input_bytes(x, n * sizeof *x);
}

/* Ours is (T, NH, HS), the golden ones have heads first; -inf must be -inf. */
static void heads_near(const double *ours, const double *want, const char *what)
{
    for (int h = 0; h < GH; h++)
    for (int t = 0; t < GT; t++)
    for (int i = 0; i < GHS; i++)
        assert_near_at(ours[(t * GH + h) * GHS + i], want[(h * GT + t) * GHS + i], 1e-15, what,
                       (size_t)((h * GT + t) * GHS + i));
}

static void stage_near(const double *ours, const double *want, const char *what)
{
    for (size_t i = 0; i < GA; i++) {
        if (isinf(want[i])) assert_true(ours[i] == want[i]);
        else assert_near_at(ours[i], want[i], 1e-15, what, i);
    }
}

static double *project(const double *x, const double *w, const double *b)
{
    double *y = output(GX);
    ref_linear_forward_f64(y, x, w, b, GT, GD, GD);
    return y;
}

/* proves attn.split attn.scores attn.scaled attn.masked attn.softmax attn.values attn.merge */
static void golden_forward(void **state)
{
    (void)state;
    json_t *root = golden("attention_example.json");
    const double *x = values(root, "inputs", "Xn", GX);
    const double *q = project(x, values(root, "inputs", "wq", GW), values(root, "inputs", "bq", GD));
    const double *k = project(x, values(root, "inputs", "wk", GW), values(root, "inputs", "bk", GD));
    const double *v = project(x, values(root, "inputs", "wv", GW), values(root, "inputs", "bv", GD));
    all_near(q, values(root, "forward", "Q", GX), GX, 1e-15, "Q");
    all_near(k, values(root, "forward", "K", GX), GX, 1e-15, "K");
    all_near(v, values(root, "forward", "V", GX), GX, 1e-15, "V");
    heads_near(q, values(root, "forward", "Qh", GX), "Qh");
    heads_near(k, values(root, "forward", "Kh", GX), "Kh");
    heads_near(v, values(root, "forward", "Vh", GX), "Vh");

    const struct problem p = { .B = 1, .T = GT, .P = 0, .NH = GH, .HS = GHS, .S = GT, .nq = GX, .na = GA };
    const stages s = forward(&p, q, k, v);
    stage_near(s.scores, values(root, "forward", "QKt", GA), "QKt");
    stage_near(s.scaled, values(root, "forward", "S_scaled", GA), "S_scaled");
    stage_near(s.masked, values(root, "forward", "S_masked", GA), "S_masked");
    stage_near(s.att, values(root, "forward", "A", GA), "A");
    for (int h = 0; h < GH; h++)
    for (int t = 0; t < GT; t++)
    for (int u = t + 1; u < GT; u++)
        assert_true(s.att[at_a(&p, 0, h, t, u)] == 0);
    heads_near(s.out, values(root, "forward", "AV", GX), "AV");
    all_near(s.out, values(root, "forward", "O", GX), GX, 1e-15, "O");
    const double *out = project(s.out, values(root, "inputs", "wo", GW), values(root, "inputs", "bo", GD));
    all_near(out, values(root, "forward", "out", GX), GX, 1e-15, "out");
    json_decref(root);
}

/* dx is added to: the three projections share it. */
static void unproject(json_t *root, double *dx, const double *dy, const double *x, const char *letter)
{
    const double zero[GW] = { 0 };
    char w[3] = "w?", dw[4] = "dw?", db[4] = "db?";
    w[1] = dw[2] = db[2] = *letter;
    double *dweight = gradient(zero, GW), *dbias = gradient(zero, GD);
    ref_linear_backward_f64(dx, dweight, dbias, dy, x, values(root, "inputs", w, GW), GT, GD, GD);
    all_near(dweight, values(root, "backward", dw, GW), GW, 1e-15, dw);
    const double *want = values(root, "backward", db, GD);
    for (size_t i = 0; i < GD; i++)         /* dbk is 0 by algebra, both are round-off */
        if (*letter == 'k') assert_near_at(dbias[i], 0.0, 1e-16, db, i);
        else assert_near_at(dbias[i], want[i], 1e-15, db, i);
}

/* proves attn.da attn.ds attn.dv attn.dq attn.dk */
static void golden_backward(void **state)
{
    (void)state;
    json_t *root = golden("attention_example.json");
    const double *x = values(root, "inputs", "Xn", GX);
    const double *q = project(x, values(root, "inputs", "wq", GW), values(root, "inputs", "bq", GD));
    const double *k = project(x, values(root, "inputs", "wk", GW), values(root, "inputs", "bk", GD));
    const double *v = project(x, values(root, "inputs", "wv", GW), values(root, "inputs", "bv", GD));
    const struct problem p = { .B = 1, .T = GT, .P = 0, .NH = GH, .HS = GHS, .S = GT, .nq = GX, .na = GA };
    const stages s = forward(&p, q, k, v);

    const double zero[GX] = { 0 };
    double *dout = gradient(zero, GX), *dx = gradient(zero, GX);
    unproject(root, dout, values(root, "inputs", "dOut", GX), s.out, "o");
    heads_near(dout, values(root, "backward", "dOh", GX), "dOh");

    double *dq = gradient(zero, GX), *dk = gradient(zero, GX), *dv = gradient(zero, GX);
    double *da = output(GA), *ds = output(GA);
    ref_attention_backward_f64(dq, dk, dv, da, ds, dout, s.att, q, k, v, 1, GT, 0, GH, GHS);
    stage_near(da, values(root, "backward", "dA", GA), "dA");
    stage_near(ds, values(root, "backward", "dS", GA), "dS");
    for (int h = 0; h < GH; h++)
    for (int t = 0; t < GT; t++)
    for (int u = t + 1; u < GT; u++)
        assert_true(ds[at_a(&p, 0, h, t, u)] == 0);
    heads_near(dq, values(root, "backward", "dQh", GX), "dQh");
    heads_near(dk, values(root, "backward", "dKh", GX), "dKh");
    heads_near(dv, values(root, "backward", "dVh", GX), "dVh");
    unproject(root, dx, dq, x, "q");
    unproject(root, dx, dk, x, "k");
    unproject(root, dx, dv, x, "v");
    all_near(dx, values(root, "backward", "dXn", GX), GX, 1e-15, "dXn");
    json_decref(root);
}

/* ---- P cached positions, B > 1: a naive implementation -------------------- */

/* Every stage at one (b, h, t, u), each from its equation alone. */
/* proves attn.split attn.scores attn.scaled attn.masked attn.softmax attn.values attn.merge */
static void naive_stages(void **state)
{
    (void)state;
    for (int c = 0; c < SIZES; c++) {
        const struct problem p = problem(sizes[c].B, sizes[c].T, sizes[c].P, sizes[c].NH, sizes[c].HS);
        const stages s = forward(&p, p.q, p.k, p.v);
        for (int b = 0; b < p.B; b++)
        for (int h = 0; h < p.NH; h++)
        for (int t = 0; t < p.T; t++) {
            long double y[16], sum = 0;
            for (int u = 0; u < p.S; u++) {
                long double x = 0;
                for (int i = 0; i < p.HS; i++)
                    x += (long double)p.q[at_q(&p, b, t, h, i)] * p.k[at_k(&p, b, u, h, i)];
                y[u] = x / sqrtl(p.HS);
                if (u <= p.P + t) sum += expl(y[u]);
                const size_t j = at_a(&p, b, h, t, u);      /* |x| <= 4 HS */
                assert_near_at(s.scores[j], (double)x, 4 * p.HS * p.HS * U64, "scores", j);
                assert_near_at(s.scaled[j], (double)y[u], 4 * (p.HS + 3) * p.HS * U64, "scaled", j);
                if (u <= p.P + t) assert_near_at(s.masked[j], s.scaled[j], 0, "masked", j);
                else assert_true(s.masked[j] == -(double)INFINITY);
            }
            for (int u = 0; u < p.S; u++) {
                const size_t j = at_a(&p, b, h, t, u);
                if (u <= p.P + t) assert_near_at(s.att[j], (double)(expl(y[u]) / sum), 500 * U64, "att", j);
                else assert_true(s.att[j] == 0);
            }
            for (int i = 0; i < p.HS; i++) {
                long double o = 0;
                for (int u = 0; u <= p.P + t; u++) o += expl(y[u]) / sum * p.v[at_k(&p, b, u, h, i)];
                const size_t j = at_q(&p, b, t, h, i);
                assert_near_at(s.out[j], (double)o, 2000 * U64, "out", j);
            }
        }
    }
}

/* Backward on flat indices.  With `sizes_only` every term counts by its size,
 * which is what a bound of rounding errors needs. */
static void naive_backward(const struct problem *p, const double *att, bool sizes_only,
                           double *dq, double *dk, double *dv, double *da, double *ds)
{
#define TERM(x) (sizes_only ? fabs(x) : (x))
    for (int b = 0; b < p->B; b++)
    for (int h = 0; h < p->NH; h++)
    for (int t = 0; t < p->T; t++) {
        double row = 0;
        for (int u = 0; u < p->S; u++) {
            const size_t j = at_a(p, b, h, t, u);
            da[j] = ds[j] = 0;
            for (int i = 0; i < p->HS; i++)
                da[j] += TERM(p->dout[at_q(p, b, t, h, i)] * p->v[at_k(p, b, u, h, i)]);
            if (u <= p->P + t) row += att[j] * da[j];
        }
        for (int u = 0; u <= p->P + t; u++) {
            const size_t j = at_a(p, b, h, t, u);
            ds[j] = att[j] * (sizes_only ? da[j] + row : da[j] - row);
            for (int i = 0; i < p->HS; i++) {
                const size_t iq = at_q(p, b, t, h, i), ik = at_k(p, b, u, h, i);
                dv[ik] += TERM(att[j] * p->dout[iq]);
                dq[iq] += TERM(ds[j] * p->k[ik]) / sqrt(p->HS);
                dk[ik] += TERM(ds[j] * p->q[iq]) / sqrt(p->HS);
            }
        }
    }
#undef TERM
}

typedef struct grads { double *dq, *dk, *dv, *da, *ds; } grads;

static grads grads_from(const struct problem *p, const double *dq0, const double *dk0, const double *dv0)
{
    return (grads){ gradient(dq0, p->nq), gradient(dk0, p->nk), gradient(dv0, p->nk),
                    output(p->na), output(p->na) };
}

static void backward(const struct problem *p, const grads *g, const double *att)
{
    ref_attention_backward_f64(g->dq, g->dk, g->dv, g->da, g->ds, p->dout, att, p->q, p->k, p->v,
                               p->B, p->T, p->P, p->NH, p->HS);
}

/* proves attn.da attn.ds attn.dv attn.dq attn.dk */
static void naive_gradients(void **state)
{
    (void)state;
    for (int c = 0; c < SIZES; c++) {
        const struct problem p = problem(sizes[c].B, sizes[c].T, sizes[c].P, sizes[c].NH, sizes[c].HS);
        const double *dq0 = input(p.nq, -1, 1), *dk0 = input(p.nk, -1, 1), *dv0 = input(p.nk, -1, 1);
        const double *att = input_bytes(forward(&p, p.q, p.k, p.v).att, p.na * sizeof *att);
        const grads g = grads_from(&p, dq0, dk0, dv0), want = grads_from(&p, dq0, dk0, dv0);
        backward(&p, &g, att);
        naive_backward(&p, att, false, want.dq, want.dk, want.dv, want.da, want.ds);
        all_near(g.da, want.da, p.na, 200 * U64, "da");     /* sums of HS terms below 2 */
        all_near(g.ds, want.ds, p.na, 400 * U64, "ds");
        all_near(g.dq, want.dq, p.nq, 2000 * U64, "dq");
        all_near(g.dk, want.dk, p.nk, 2000 * U64, "dk");
        all_near(g.dv, want.dv, p.nk, 200 * U64, "dv");
    }
}

/* ---- complex step ---------------------------------------------------------- */

static c128 loss(const void *context)
{
    const struct problem *p = context;
    ref_attention_forward_c128(p->out, p->scores, p->scaled, p->masked, p->att, p->qc, p->kc, p->vc,
                               p->B, p->T, p->P, p->NH, p->HS);
    return dot_c128(p->dout, p->out, p->nq);
}

/* proves attn.ds attn.dv attn.dq attn.dk */
static void every_entry_by_complex_step(void **state)
{
    (void)state;
    for (int c = 0; c < SIZES; c++) {
        const struct problem p = problem(sizes[c].B, sizes[c].T, sizes[c].P, sizes[c].NH, sizes[c].HS);
        const double *dq0 = input(p.nq, -1, 1), *dk0 = input(p.nk, -1, 1), *dv0 = input(p.nk, -1, 1);
        const double *att = input_bytes(forward(&p, p.q, p.k, p.v).att, p.na * sizeof *att);
        const grads g = grads_from(&p, dq0, dk0, dv0);
        backward(&p, &g, att);

        const double scale = 4 * p.HS;          /* ds k: da is below 2 HS, k below 2 */
        const step_arg args[] = { { "dq", p.qc, p.nq, dq0, g.dq, scale },
                                  { "dk", p.kc, p.nk, dk0, g.dk, scale },
                                  { "dv", p.vc, p.nk, dv0, g.dv, 0 } };
        assert_int_equal(complex_step(loss, &p, args, 3, 100), p.nq + 2 * p.nk);

        c128 *dq = gradient_c128(dq0, p.nq), *dk = gradient_c128(dk0, p.nk), *dv = gradient_c128(dv0, p.nk);
        c128 *da = output_c128(p.na), *ds = output_c128(p.na);
        ref_attention_backward_c128(dq, dk, dv, da, ds, input_c128(p.dout, p.nq), input_c128(att, p.na),
                                    p.qc, p.kc, p.vc, p.B, p.T, p.P, p.NH, p.HS);
        all_near_c128(da, g.da, p.na, 0, "da in c128");
        all_near_c128(ds, g.ds, p.na, 0, "ds in c128");
        all_near_c128(dv, g.dv, p.nk, 0, "dv in c128");
        all_near_c128(dq, g.dq, p.nq, 0, "dq in c128");
        all_near_c128(dk, g.dk, p.nk, 0, "dk in c128");
    }
}

/* ---- properties ------------------------------------------------------------ */

/* ATT-03: what a query may not see is not multiplied by 0, it is not read. */
/* proves attn.values */
static void nan_and_inf_behind_the_mask_stay_there(void **state)
{
    (void)state;
    const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    for (int P = 0; P <= 2; P += 2)
    for (int kind = 0; kind < 3; kind++) {
        struct problem p = problem(2, 3, P, 2, 3);
        const double *zero = gradient(input(p.nq, 0, 0), p.nq);
        double *k0 = gradient(p.k, p.nk), *v0 = gradient(p.v, p.nk);
        double *k1 = gradient(p.k, p.nk), *v1 = gradient(p.v, p.nk);
        for (int b = 0; b < p.B; b++)
        for (int h = 0; h < p.NH; h++)
        for (int i = 0; i < p.HS; i++) {        /* the last key: of the last query only */
            const size_t j = at_k(&p, b, p.S - 1, h, i);
            k0[j] = v0[j] = 0;
            k1[j] = bad[(kind + 1) % 3], v1[j] = bad[kind];
        }
        const stages clean = forward(&p, p.q, k0, v0), dirty = forward(&p, p.q, k1, v1);
        const double *none = gradient(input(p.nk, 0, 0), p.nk);
        const grads g0 = grads_from(&p, zero, none, none), g1 = grads_from(&p, zero, none, none);
        p.k = k0, p.v = v0;
        backward(&p, &g0, clean.att);
        p.k = k1, p.v = v1;
        backward(&p, &g1, dirty.att);
        const size_t row = (size_t)(p.NH * p.HS), S = (size_t)p.S;
        for (int b = 0; b < p.B; b++)
        for (int t = 0; t < p.T - 1; t++) {
            const size_t j = at_q(&p, b, t, 0, 0);
            all_same(dirty.out + j, clean.out + j, row, "out");
            all_same(g1.dq + j, g0.dq + j, row, "dq");
            for (int h = 0; h < p.NH; h++) {
                const size_t r = at_a(&p, b, h, t, 0);
                all_same(dirty.att + r, clean.att + r, S, "att");
                all_same(dirty.masked + r, clean.masked + r, S, "masked");
                all_same(g1.ds + r, g0.ds + r, S, "ds");
            }
        }
        assert_true(isnan(dirty.out[at_q(&p, 0, p.T - 1, 0, 0)]));      /* who sees it, shows it */
    }
}

/* Rows [from, from + n) of each batch of x (B, rows, NH * HS), as an input. */
static const double *rows_of(const double *x, int B, int rows, int from, int n, size_t width)
{
    double *part = output((size_t)(B * n) * width);
    for (int b = 0; b < B; b++)
        memcpy(part + (size_t)(b * n) * width, x + (size_t)(b * rows + from) * width,
               (size_t)n * width * sizeof *x);
    return part;
}

/* ATT-04: the queries of a chunk stand at P .. P+T-1, so cached decoding gives
 * the rows of the full forward: here bit for bit, as no sum runs otherwise. */
static void chunks_equal_the_full_forward(void **state)
{
    (void)state;
    const int chunkings[][5] = { { 4, 1 }, { 2, 2, 1 }, { 1, 1, 1, 1, 1 }, { 1, 3, 1 } };
    enum { B = 2, T = 5, NH = 3, HS = 4, WIDTH = NH * HS };
    const struct problem full = problem(B, T, 0, NH, HS);
    const stages want = forward(&full, full.q, full.k, full.v);
    for (size_t c = 0; c < sizeof chunkings / sizeof *chunkings; c++)
        for (int P = 0, i = 0; P < T; P += chunkings[c][i++]) {
            const int n = chunkings[c][i];
            const struct problem p = { .B = B, .T = n, .P = P, .NH = NH, .HS = HS, .S = P + n,
                                       .nq = (size_t)(B * n * WIDTH), .na = (size_t)(B * NH * n * (P + n)) };
            const stages s = forward(&p, rows_of(full.q, B, T, P, n, WIDTH),
                                     rows_of(full.k, B, T, 0, P + n, WIDTH),
                                     rows_of(full.v, B, T, 0, P + n, WIDTH));
            all_same(s.out, rows_of(want.out, B, T, P, n, WIDTH), p.nq, "a chunk's out");
        }
}

/* ATT-06: a changed suffix leaves the prefix bit-identical, and the derivative
 * of a row by anything later is exactly 0. */
/* proves attn.softmax attn.values */
static void no_position_sees_a_later_one(void **state)
{
    (void)state;
    enum { T = 64, NH = 2, HS = 3, WIDTH = NH * HS, NX = T * WIDTH };
    const int cuts[] = { 1, 3, 7, 15, 31, 32, 63 };
    const struct problem p = problem(1, T, 0, NH, HS);
    const stages whole = forward(&p, p.q, p.k, p.v);
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        const size_t prefix = (size_t)cuts[c] * WIDTH;
        double *q = gradient(p.q, NX), *k = gradient(p.k, NX), *v = gradient(p.v, NX);
        for (size_t j = prefix; j < NX; j++)
            q[j] = draw(-9, 9), k[j] = draw(-9, 9), v[j] = draw(-9, 9);
        const stages s = forward(&p, q, k, v);
        all_same(s.out, whole.out, prefix, "out before the change");
        assert_true(memcmp(s.out + prefix, whole.out + prefix, WIDTH * sizeof(double)) != 0);

        const double step[2] = { 0, 1e-30 };
        c128 ih, *kc = gradient_c128(p.k, NX), *vc = gradient_c128(p.v, NX), *qc = gradient_c128(p.q, NX);
        memcpy(&ih, step, sizeof ih);
        for (size_t j = prefix; j < NX; j++) qc[j] += ih, kc[j] += ih, vc[j] += ih;
        ref_attention_forward_c128(p.out, p.scores, p.scaled, p.masked, p.att, qc, kc, vc, 1, T, 0, NH, HS);
        double parts[2 * NX], later = 0;
        memcpy(parts, p.out, sizeof parts);
        for (size_t j = 0; j < prefix; j++) assert_true(parts[2 * j + 1] == 0);
        for (size_t j = prefix; j < NX; j++) later += fabs(parts[2 * j + 1]);
        assert_true(later > 0);
    }
}

/* Equal keys share the attention equally: the mean of the values seen. */
/* proves attn.softmax attn.values */
static void equal_keys_give_the_mean(void **state)
{
    (void)state;
    const struct problem p = problem(2, 4, 3, 2, 3);
    double *k = gradient(p.k, p.nk);
    for (size_t j = 0; j < p.nk; j++) k[j] = p.k[j % (size_t)p.HS];
    const stages s = forward(&p, p.q, k, p.v);
    for (int b = 0; b < p.B; b++)
    for (int t = 0; t < p.T; t++)
    for (int h = 0; h < p.NH; h++)
    for (int i = 0; i < p.HS; i++) {
        const int n = p.P + t + 1;
        double mean = 0;
        for (int u = 0; u < n; u++) mean += p.v[at_k(&p, b, u, h, i)] / n;
        assert_near_at(s.out[at_q(&p, b, t, h, i)], mean, 2 * 20 * U64, "out", at_q(&p, b, t, h, i));
    }
}

/* Softmax of large scores: the largest is taken off first. */
/* proves attn.softmax */
static void large_scores_do_not_overflow(void **state)
{
    (void)state;
    const struct problem p = problem(1, 3, 2, 2, 3);
    double *q = gradient(p.q, p.nq);
    for (size_t j = 0; j < p.nq; j++) q[j] = 1e4 * p.q[j];
    const stages s = forward(&p, q, p.k, p.v);
    for (int h = 0; h < p.NH; h++)
    for (int t = 0; t < p.T; t++) {
        double sum = 0;
        for (int u = 0; u < p.S; u++) sum += s.att[at_a(&p, 0, h, t, u)];
        assert_near_at(sum, 1.0, 10 * U64, "sum of a row", (size_t)(h * p.T + t));
    }
}

/* ---- float ----------------------------------------------------------------- */

/* Forward: a score is a sum of HS products, scaled by two more roundings: off by
 * e = gamma(HS + 4) sum|q k| / sqrt(HS).  exp's argument y - max by 2 e and u of
 * itself, exp by that and 2 u, the quotient by twice that and (n + 2) u: r, a
 * share of each weight.  Backward: given att, every gradient is a sum of
 * products of inputs, none of which passes through more than HS + 2 S + 8
 * roundings, so naive_backward() of sizes times gamma of that bounds it. */
static void float_within_its_bound(void **state)
{
    (void)state;
    for (int c = 0; c < SIZES; c++) {
        const struct problem p = problem(sizes[c].B, sizes[c].T, sizes[c].P, sizes[c].NH, sizes[c].HS);
        const float *q = input_f32(p.q, p.nq), *k = input_f32(p.k, p.nk), *v = input_f32(p.v, p.nk);
        const stages s = forward(&p, p.q, p.k, p.v);
        float *out = output_f32(p.nq), *att = output_f32(p.na), *scores = output_f32(p.na);
        float *scaled = output_f32(p.na), *masked = output_f32(p.na);
        ref_attention_forward_f32(out, scores, scaled, masked, att, q, k, v, p.B, p.T, p.P, p.NH, p.HS);
        double *bound = output(p.nq);
        for (int b = 0; b < p.B; b++)
        for (int h = 0; h < p.NH; h++)
        for (int t = 0; t < p.T; t++) {
            double e = 0, low = INFINITY, high = -(double)INFINITY;
            const int n = p.P + t + 1;
            for (int u = 0; u < n; u++) {
                double terms = 0;
                for (int i = 0; i < p.HS; i++)
                    terms += fabs(p.q[at_q(&p, b, t, h, i)] * p.k[at_k(&p, b, u, h, i)]);
                e = fmax(e, gamma32(p.HS + 4) * terms / sqrt(p.HS));
                low = fmin(low, s.scaled[at_a(&p, b, h, t, u)]);
                high = fmax(high, s.scaled[at_a(&p, b, h, t, u)]);
            }
            const double r = 2.02 * (2 * e + gamma32(high - low + 2)) + gamma32(n + 2);
            for (int i = 0; i < p.HS; i++) {
                double terms = 0;
                for (int u = 0; u < n; u++)
                    terms += s.att[at_a(&p, b, h, t, u)] * fabs(p.v[at_k(&p, b, u, h, i)]);
                bound[at_q(&p, b, t, h, i)] = (r + gamma32(n + 1) * 1.01) * terms;
            }
        }
        within(out, s.out, bound, p.nq, "out");

        const double *dq0 = input(p.nq, -1, 1), *dk0 = input(p.nk, -1, 1), *dv0 = input(p.nk, -1, 1);
        double *given = output(p.na);
        for (size_t j = 0; j < p.na; j++) given[j] = (double)att[j];
        const grads g = grads_from(&p, dq0, dk0, dv0);
        backward(&p, &g, given);
        float *dq = gradient_f32(dq0, p.nq), *dk = gradient_f32(dk0, p.nk), *dv = gradient_f32(dv0, p.nk);
        float *da = output_f32(p.na), *ds = output_f32(p.na);
        ref_attention_backward_f32(dq, dk, dv, da, ds, input_f32(p.dout, p.nq), input_f32(given, p.na),
                                   q, k, v, p.B, p.T, p.P, p.NH, p.HS);

        const grads size = grads_from(&p, dq0, dk0, dv0);
        for (size_t j = 0; j < p.nq; j++) size.dq[j] = fabs(dq0[j]);
        for (size_t j = 0; j < p.nk; j++) size.dk[j] = fabs(dk0[j]), size.dv[j] = fabs(dv0[j]);
        naive_backward(&p, given, true, size.dq, size.dk, size.dv, size.da, size.ds);
        const double roundings = gamma32(p.HS + 2 * p.S + 8);
        for (size_t j = 0; j < p.na; j++) size.da[j] *= roundings, size.ds[j] *= roundings;
        for (size_t j = 0; j < p.nq; j++) size.dq[j] *= roundings;
        for (size_t j = 0; j < p.nk; j++) size.dk[j] *= roundings, size.dv[j] *= roundings;
        within(da, g.da, size.da, p.na, "da");
        within(ds, g.ds, size.ds, p.na, "ds");
        within(dq, g.dq, size.dq, p.nq, "dq");
        within(dk, g.dk, size.dk, p.nk, "dk");
        within(dv, g.dv, size.dv, p.nk, "dv");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(golden_forward),
        kernel_test(golden_backward),
        kernel_test(naive_stages),
        kernel_test(naive_gradients),
        kernel_test(every_entry_by_complex_step),
        kernel_test(nan_and_inf_behind_the_mask_stay_there),
        kernel_test(chunks_equal_the_full_forward),
        kernel_test(no_position_sees_a_later_one),
        kernel_test(equal_keys_give_the_mean),
        kernel_test(large_scores_do_not_overflow),
        kernel_test(float_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

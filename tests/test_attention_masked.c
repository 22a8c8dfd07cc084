/* test_attention_masked.c -- attention under any boolean mask.
 *
 * A naive implementation on flat indices, complex step, and the properties: a causal mask
 * gives attention.c's bits, a query without keys has output and gradient 0 and takes
 * nothing from the others, and what nobody sees is not read.
 */
#include "kernels.h"
#include <math.h>
#include <string.h>

enum { MOST = 64 };                             /* cells of a mask */

static const struct { int B, T, S, NH, HS; const char *mask; } cases[] = {
    /* rows of the mask, one query each */
    { 2, 4, 7, 3, 5, "1011001" "0000000" "0110111" "0000100" },
    { 3, 5, 2, 2, 1, "10" "11" "01" "00" "11" },
    { 1, 1, 4, 3, 2, "0101" },
    { 2, 2, 3, 1, 3, "111" "001" },
    { 1, 3, 3, 2, 4, "100" "110" "111" },
    { 1, 1, 1, 1, 1, "1" },
    { 1, 2, 1, 1, 2, "0" "1" },
};
enum { CASES = sizeof cases / sizeof *cases };

struct problem {
    int B, T, S, NH, HS;
    size_t nq, nk, na;                          /* like q, like k, like a stage */
    const int *mask;
    const double *q, *k, *v, *dout;
    c128 *qc, *kc, *vc, *out, *scores, *att;
};

static struct problem problem(int B, int T, int S, int NH, int HS, const char *mask)
{
    int cells[MOST];
    struct problem p = { .B = B, .T = T, .S = S, .NH = NH, .HS = HS };
    p.nq = (size_t)(B * T * NH * HS), p.nk = (size_t)(B * S * NH * HS), p.na = (size_t)(B * NH * T * S);
    assert_int_equal(strlen(mask), T * S);
    for (int i = 0; i < T * S; i++) cells[i] = mask[i] == '1' ? i + 1 : 0;      /* not 0: seen */
    p.mask = input_bytes(cells, (size_t)(T * S) * sizeof *cells);
    p.q = input(p.nq, -2, 2), p.k = input(p.nk, -2, 2), p.v = input(p.nk, -2, 2);
    p.dout = input(p.nq, -1, 1);
    p.qc = input_c128(p.q, p.nq), p.kc = input_c128(p.k, p.nk), p.vc = input_c128(p.v, p.nk);
    p.out = output_c128(p.nq), p.scores = output_c128(p.na), p.att = output_c128(p.na);
    return p;
}

static struct problem case_of(int c)
{
    return problem(cases[c].B, cases[c].T, cases[c].S, cases[c].NH, cases[c].HS, cases[c].mask);
}

typedef struct stages { double *out, *scores, *att; } stages;

static stages forward(const struct problem *p, const double *k, const double *v)
{
    const stages s = { output(p->nq), output(p->na), output(p->na) };
    ref_attention_masked_forward_f64(s.out, s.scores, s.att, p->q, k, v, p->mask,
                                     p->B, p->T, p->S, p->NH, p->HS);
    return s;
}

typedef struct grads { double *dq, *dk, *dv, *da, *ds; } grads;

static grads grads_from(const struct problem *p, const double *dq0, const double *dk0, const double *dv0)
{
    return (grads){ gradient(dq0, p->nq), gradient(dk0, p->nk), gradient(dv0, p->nk),
                    output(p->na), output(p->na) };
}

static void backward(const struct problem *p, const grads *g, const double *att, const double *k,
                     const double *v)
{
    ref_attention_masked_backward_f64(g->dq, g->dk, g->dv, g->da, g->ds, p->dout, att, p->q, k, v,
                                      p->mask, p->B, p->T, p->S, p->NH, p->HS);
}

/* Flat places of q[b][t][h][i], k[b][u][h][i] and a stage's [b][h][t][u]. */
static size_t at_q(const struct problem *p, int b, int t, int h, int i)
{ return (size_t)(((b * p->T + t) * p->NH + h) * p->HS + i); }
static size_t at_k(const struct problem *p, int b, int u, int h, int i)
{ return (size_t)(((b * p->S + u) * p->NH + h) * p->HS + i); }
static size_t at_a(const struct problem *p, int b, int h, int t, int u)
{ return (size_t)(((b * p->NH + h) * p->T + t) * p->S + u); }
static bool sees(const struct problem *p, int t, int u) { return p->mask[t * p->S + u] != 0; }

/* ---- a naive implementation -------------------------------------------------- */

static void naive_row(const struct problem *p, const stages *s, int b, int h, int t)
{
    long double y[16], sum = 0;
    for (int u = 0; u < p->S; u++) {
        y[u] = 0;
        for (int i = 0; i < p->HS; i++)
            y[u] += p->q[at_q(p, b, t, h, i)] * (long double)p->k[at_k(p, b, u, h, i)] / sqrtl(p->HS);
        if (sees(p, t, u)) sum += expl(y[u]);
    }
    for (int u = 0; u < p->S; u++) {
        const size_t j = at_a(p, b, h, t, u);           /* |y| <= 4 HS */
        if (sees(p, t, u)) {
            assert_near_at(s->scores[j], (double)y[u], 4 * (p->HS + 3) * p->HS * U64, "scores", j);
            assert_near_at(s->att[j], (double)(expl(y[u]) / sum), 500 * U64, "att", j);
        } else assert_true(s->scores[j] == 0 && s->att[j] == 0);
    }
    for (int i = 0; i < p->HS; i++) {
        long double o = 0;
        for (int u = 0; u < p->S; u++)
            if (sees(p, t, u)) o += expl(y[u]) / sum * p->v[at_k(p, b, u, h, i)];
        assert_near_at(s->out[at_q(p, b, t, h, i)], (double)o, 2000 * U64, "out", at_q(p, b, t, h, i));
    }
}

/* proves amask.scores amask.softmax amask.values */
static void naive_stages(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        const struct problem p = case_of(c);
        const stages s = forward(&p, p.k, p.v);
        for (int b = 0; b < p.B; b++)
        for (int h = 0; h < p.NH; h++)
        for (int t = 0; t < p.T; t++) naive_row(&p, &s, b, h, t);
    }
}

static void naive_backward(const struct problem *p, const double *att, const grads *g)
{
    for (int b = 0; b < p->B; b++)
    for (int h = 0; h < p->NH; h++)
    for (int t = 0; t < p->T; t++) {
        double row = 0;
        for (int u = 0; u < p->S; u++) {
            const size_t j = at_a(p, b, h, t, u);
            g->da[j] = g->ds[j] = 0;
            for (int i = 0; i < p->HS && sees(p, t, u); i++)
                g->da[j] += p->dout[at_q(p, b, t, h, i)] * p->v[at_k(p, b, u, h, i)];
            if (sees(p, t, u)) row += att[j] * g->da[j];
        }
        for (int u = 0; u < p->S; u++) {
            const size_t j = at_a(p, b, h, t, u);
            if (!sees(p, t, u)) continue;
            g->ds[j] = att[j] * (g->da[j] - row);
            for (int i = 0; i < p->HS; i++) {
                const size_t iq = at_q(p, b, t, h, i), ik = at_k(p, b, u, h, i);
                g->dv[ik] += att[j] * p->dout[iq];
                g->dq[iq] += g->ds[j] * p->k[ik] / sqrt(p->HS);
                g->dk[ik] += g->ds[j] * p->q[iq] / sqrt(p->HS);
            }
        }
    }
}

/* proves amask.da amask.ds amask.dv amask.dq amask.dk */
static void naive_gradients(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        const struct problem p = case_of(c);
        const double *dq0 = input(p.nq, -1, 1), *dk0 = input(p.nk, -1, 1), *dv0 = input(p.nk, -1, 1);
        const double *att = input_bytes(forward(&p, p.k, p.v).att, p.na * sizeof *att);
        const grads g = grads_from(&p, dq0, dk0, dv0), want = grads_from(&p, dq0, dk0, dv0);
        backward(&p, &g, att, p.k, p.v);
        naive_backward(&p, att, &want);
        all_near(g.da, want.da, p.na, 200 * U64, "da");     /* sums of HS terms below 2 */
        all_near(g.ds, want.ds, p.na, 400 * U64, "ds");
        all_near(g.dq, want.dq, p.nq, 2000 * U64, "dq");
        all_near(g.dk, want.dk, p.nk, 2000 * U64, "dk");
        all_near(g.dv, want.dv, p.nk, 200 * U64, "dv");
    }
}

/* ---- complex step -------------------------------------------------------------- */

static c128 loss(const void *context)
{
    const struct problem *p = context;
    ref_attention_masked_forward_c128(p->out, p->scores, p->att, p->qc, p->kc, p->vc, p->mask,
                                      p->B, p->T, p->S, p->NH, p->HS);
    return dot_c128(p->dout, p->out, p->nq);
}

/* proves amask.da amask.ds amask.dv amask.dq amask.dk */
static void every_entry_by_complex_step(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        const struct problem p = case_of(c);
        const double *dq0 = input(p.nq, -1, 1), *dk0 = input(p.nk, -1, 1), *dv0 = input(p.nk, -1, 1);
        const double *att = input_bytes(forward(&p, p.k, p.v).att, p.na * sizeof *att);
        const grads g = grads_from(&p, dq0, dk0, dv0);
        backward(&p, &g, att, p.k, p.v);

        const double scale = 4 * p.HS;          /* ds k: da is below 2 HS, k below 2 */
        const step_arg args[] = { { "dq", p.qc, p.nq, dq0, g.dq, scale },
                                  { "dk", p.kc, p.nk, dk0, g.dk, scale },
                                  { "dv", p.vc, p.nk, dv0, g.dv, 0 } };
        assert_int_equal(complex_step(loss, &p, args, 3, 100), p.nq + 2 * p.nk);

        c128 *dq = gradient_c128(dq0, p.nq), *dk = gradient_c128(dk0, p.nk), *dv = gradient_c128(dv0, p.nk);
        c128 *da = output_c128(p.na), *ds = output_c128(p.na);
        ref_attention_masked_backward_c128(dq, dk, dv, da, ds, input_c128(p.dout, p.nq),
                                           input_c128(att, p.na), p.qc, p.kc, p.vc, p.mask,
                                           p.B, p.T, p.S, p.NH, p.HS);
        all_near_c128(da, g.da, p.na, 0, "da in c128");
        all_near_c128(ds, g.ds, p.na, 0, "ds in c128");
        all_near_c128(dv, g.dv, p.nk, 0, "dv in c128");
        all_near_c128(dq, g.dq, p.nq, 0, "dq in c128");
        all_near_c128(dk, g.dk, p.nk, 0, "dk in c128");
    }
}

/* ---- properties ------------------------------------------------------------------ */

/* With keys P + t and before, and S = P + T, it is attention.c, bit for bit; da behind the
 * diagonal apart, which that one shows. */
static void a_causal_mask_gives_the_causal_bits(void **state)
{
    (void)state;
    for (int P = 0; P <= 3; P += 3) {
        const struct problem p = problem(2, 4, P + 4, 3, 5, P ? "1111000" "1111100" "1111110" "1111111"
                                                              : "1000" "1100" "1110" "1111");
        const double *dq0 = input(p.nq, -1, 1), *dk0 = input(p.nk, -1, 1), *dv0 = input(p.nk, -1, 1);
        const stages s = forward(&p, p.k, p.v);
        double *out = output(p.nq), *scores = output(p.na), *scaled = output(p.na);
        double *masked = output(p.na), *att = output(p.na);
        ref_attention_forward_f64(out, scores, scaled, masked, att, p.q, p.k, p.v, p.B, p.T, P, p.NH, p.HS);
        all_same(s.out, out, p.nq, "out");
        all_same(s.att, att, p.na, "att");
        const grads g = grads_from(&p, dq0, dk0, dv0), want = grads_from(&p, dq0, dk0, dv0);
        backward(&p, &g, att, p.k, p.v);
        ref_attention_backward_f64(want.dq, want.dk, want.dv, want.da, want.ds, p.dout, att, p.q, p.k, p.v,
                                   p.B, p.T, P, p.NH, p.HS);
        all_same(g.dq, want.dq, p.nq, "dq");
        all_same(g.dk, want.dk, p.nk, "dk");
        all_same(g.dv, want.dv, p.nk, "dv");
        for (size_t j = 0; j < p.na; j++) {
            const bool seen = p.mask[j % (size_t)(p.T * p.S)] != 0;
            if (!seen) {
                assert_true(g.da[j] == 0 && g.ds[j] == 0 && s.scores[j] == 0);
                continue;
            }
            all_same(g.da + j, want.da + j, 1, "da");
            all_same(g.ds + j, want.ds + j, 1, "ds");
            all_same(s.scores + j, scaled + j, 1, "scores");
        }
    }
}

/* ATT-01: a query that may see no key has weights 0 and output 0, takes no gradient and
 * gives none: all else is what it is without that query, bit for bit. */
/* proves amask.softmax amask.values amask.ds */
static void a_query_without_keys_is_not_there(void **state)
{
    (void)state;
    const struct problem p = problem(1, 2, 2, 1, 3, "00" "11");
    const double zero[6] = { 0 };
    const stages s = forward(&p, p.k, p.v);
    const grads g = grads_from(&p, zero, zero, zero);
    backward(&p, &g, s.att, p.k, p.v);
    for (int i = 0; i < 3; i++) assert_true(s.out[i] == 0 && g.dq[i] == 0);
    for (int u = 0; u < 2; u++) assert_true(s.att[u] == 0 && g.ds[u] == 0 && g.da[u] == 0);

    struct problem one = problem(1, 1, 2, 1, 3, "11");
    one.q = p.q + 3, one.k = p.k, one.v = p.v, one.dout = p.dout + 3;
    const stages s1 = forward(&one, p.k, p.v);
    const grads g1 = grads_from(&one, zero, zero, zero);
    backward(&one, &g1, s1.att, p.k, p.v);
    all_same(s.out + 3, s1.out, 3, "out");
    all_same(g.dq + 3, g1.dq, 3, "dq");
    all_same(g.dk, g1.dk, 6, "dk");
    all_same(g.dv, g1.dv, 6, "dv");

    double o = 0, dv = 0;                               /* and it is right, by hand */
    for (int u = 0; u < 2; u++) o += s1.att[u] * p.v[3 * u];
    dv = s1.att[1] * p.dout[3];
    assert_near(s.att[2] + s.att[3], 1.0, 4 * U64);
    assert_near(s.out[3], o, 8 * U64);
    assert_near(g.dv[3], dv, 8 * U64);
    assert_true(fabs(g.ds[2]) > 1e-3);
    assert_near(g.ds[2] + g.ds[3], 0.0, 40 * U64);      /* a softmax does not feel a shift */
}

/* ATT-03: NaN and infinity in a key or value that nobody sees reach nothing, nor in one
 * that others see a query that does not. */
/* proves amask.values */
static void what_is_not_seen_is_not_read(void **state)
{
    (void)state;
    const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    for (int kind = 0; kind < 3; kind++) {
        const struct problem p = problem(2, 3, 4, 2, 3, "1001" "0101" "0000");     /* nobody sees key 2 */
        double k[48], v[48];
        const double zero[48] = { 0 };
        assert_true(p.nk == 48);
        memcpy(k, p.k, sizeof k);
        memcpy(v, p.v, sizeof v);
        const stages s = forward(&p, p.k, p.v);
        const grads g = grads_from(&p, zero, zero, zero), g2 = grads_from(&p, zero, zero, zero);
        for (int b = 0; b < 2; b++)
        for (int h = 0; h < 2; h++)
        for (int i = 0; i < 3; i++) k[at_k(&p, b, 2, h, i)] = v[at_k(&p, b, 2, h, i)] = bad[kind];
        const double *kb = input_bytes(k, sizeof k), *vb = input_bytes(v, sizeof v);
        const stages s2 = forward(&p, kb, vb);
        backward(&p, &g, s.att, p.k, p.v);
        backward(&p, &g2, s.att, kb, vb);
        all_same(s2.out, s.out, p.nq, "out");
        all_same(s2.att, s.att, p.na, "att");
        all_same(g2.dq, g.dq, p.nq, "dq");
        all_same(g2.dk, g.dk, p.nk, "dk");
        all_same(g2.dv, g.dv, p.nk, "dv");
        for (size_t j = 0; j < p.nq; j++) assert_true(isfinite(s2.out[j]));

        for (int i = 0; i < 3; i++) k[at_k(&p, 0, 1, 0, i)] = v[at_k(&p, 0, 1, 0, i)] = bad[kind];
        const stages s3 = forward(&p, input_bytes(k, sizeof k), input_bytes(v, sizeof v));
        all_same(s3.out, s.out, 6, "out of query 0");       /* it does not see key 1 */
        assert_true(!isfinite(s3.out[at_q(&p, 0, 1, 0, 0)]));      /* query 1 does */
        double o = 0;
        for (int u = 0; u < 4; u += 3) o += s.att[u] * p.v[at_k(&p, 0, u, 0, 0)];
        assert_near(s3.out[0], o, 8 * U64);
    }
}

static void float_and_double_agree(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        const struct problem p = case_of(c);
        const double *dq0 = input(p.nq, -1, 1), *dk0 = input(p.nk, -1, 1), *dv0 = input(p.nk, -1, 1);
        const float *q = input_f32(p.q, p.nq), *k = input_f32(p.k, p.nk), *v = input_f32(p.v, p.nk);
        float *out = output_f32(p.nq), *scores = output_f32(p.na), *att = output_f32(p.na);
        float *dq = gradient_f32(dq0, p.nq), *dk = gradient_f32(dk0, p.nk), *dv = gradient_f32(dv0, p.nk);
        float *da = output_f32(p.na), *ds = output_f32(p.na);
        const stages s = forward(&p, p.k, p.v);
        const grads g = grads_from(&p, dq0, dk0, dv0);
        backward(&p, &g, s.att, p.k, p.v);
        ref_attention_masked_forward_f32(out, scores, att, q, k, v, p.mask, p.B, p.T, p.S, p.NH, p.HS);
        ref_attention_masked_backward_f32(dq, dk, dv, da, ds, input_f32(p.dout, p.nq), att, q, k, v,
                                          p.mask, p.B, p.T, p.S, p.NH, p.HS);
        /* Scores are below 4 sqrt(HS) <= 9: a weight is off by (HS + 20) u at most, twice;
         * sums over S and HS follow.  test_bounds.c has the sharp bounds. */
        for (size_t i = 0; i < p.nq; i++) {
            assert_near_at((double)out[i], s.out[i], 400 * U32, "out", i);
            assert_near_at((double)dq[i], g.dq[i], 4000 * U32, "dq", i);
        }
        for (size_t i = 0; i < p.nk; i++) {
            assert_near_at((double)dk[i], g.dk[i], 4000 * U32, "dk", i);
            assert_near_at((double)dv[i], g.dv[i], 400 * U32, "dv", i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(naive_stages),
        kernel_test(naive_gradients),
        kernel_test(every_entry_by_complex_step),
        kernel_test(a_causal_mask_gives_the_causal_bits),
        kernel_test(a_query_without_keys_is_not_there),
        kernel_test(what_is_not_seen_is_not_read),
        kernel_test(float_and_double_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_specimens.c -- the example kernels by which the verification engine is tested:
 * the correct ones are right, the faulty ones are wrong.
 *
 * Right is what the definitions give in double, on compositions that are written here.
 * How far rounding may take a result is measured: the reference is computed again with
 * every number that goes in moved by an ulp of the kernel's type, up or down; a kernel
 * may be off by SLACK times as much, plus SLACK ulp of the tensor's largest number.
 * Nothing here knows which of a fault's tensors is wrong: one of them must be.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "model/gpt.h"
#include "support.h"
#include "verify/diagnosis/faults.h"
#include "verify/host/kernel_host.h"
#include "verify/selftest/specimens.h"

#define VT_SCALAR 64
#include "kernels/definitions.h"

enum { MOST = 32, SHAKES = 4 };
static const double SLACK = 64;

/* ---- memory: all of a problem's numbers, freed at its end ----------------- */

static struct { void **item; size_t n, cap; } held;
static rng random_numbers;

static void *hold(size_t n, size_t size)
{
    if (held.n == held.cap) {
        held.cap = held.cap ? 2 * held.cap : 256;
        held.item = realloc(held.item, held.cap * sizeof *held.item);
        assert_non_null(held.item);
    }
    void *p = calloc(n ? n : 1, size);
    assert_non_null(p);
    return held.item[held.n++] = p;
}

static double *numbers(size_t n) { return hold(n, sizeof(double)); }

static void release(void)
{
    while (held.n) free(held.item[--held.n]);
    free(held.item);
    held.item = NULL, held.cap = 0;
}

/* ---- problems ------------------------------------------------------------- */

typedef struct shape {
    int op;
    size_t N, C, OC, V, B, T, S, NH, HS, FF, L;
    bool causal, masked;
    double scale, temperature;          /* 0: 1 */
} shape;

typedef enum part_kind { REAL, INTEGERS, MASK } part_kind;
typedef struct part { part_kind kind; size_t n; double *x; } part;  /* integers too are in x */

typedef struct problem {
    shape z;
    part in[MOST];
    size_t nin, nouts, outs[4];         /* outs: elements of each output */
    size_t nout, ndout;                 /* of all, and of the last, which has a gradient */
    double *dout, *start[MOST];         /* start: what the gradients hold before */
} problem;

typedef struct result { double *out, *grad[MOST]; bool wrote; } result;

static double uniform(double low, double high)
{
    return (double)(float)rng_uniform(&random_numbers, low, high);
}

static double *uniforms(size_t n, double scale)
{
    double *x = numbers(n);
    for (size_t i = 0; i < n; i++) x[i] = uniform(-scale, scale);
    return x;
}

static void add_real(problem *p, size_t n)
{
    assert_true(p->nin < MOST);
    p->in[p->nin++] = (part){ REAL, n, uniforms(n, p->z.scale) };
}

/* 0 .. limit-1; `ignored`: every fourth is -1. */
static void add_integers(problem *p, size_t n, size_t limit, bool ignored)
{
    double *x = numbers(n);
    for (size_t i = 0; i < n; i++)
        x[i] = ignored && i % 4 == 2 ? -1 : (double)rng_integers(&random_numbers, 0, (int64_t)limit);
    p->in[p->nin++] = (part){ INTEGERS, n, x };
}

/* The second query sees nothing. */
static void add_mask(problem *p, size_t T, size_t S)
{
    double *x = numbers(T * S);
    for (size_t i = 0; i < T * S; i++)
        x[i] = i / S != 1 && rng_integers(&random_numbers, 0, 3) != 0;
    p->in[p->nin++] = (part){ MASK, p->z.masked ? T * S : 0, x };
}

static void add_layer(problem *p, size_t C, size_t FF)
{
    const size_t n[] = { C, C, C * 3 * C, 3 * C, C * C, C, C, C, C * FF, FF, FF * C, C };
    for (size_t j = 0; j < sizeof n / sizeof *n; j++) add_real(p, n[j]);
}

static problem problem_new(const shape *shape_)
{
    problem p = { .z = *shape_ };
    shape *z = &p.z;
    const size_t N = z->N, C = z->C, V = z->V, BT = z->B * z->T, H = z->NH * z->HS;
    switch (z->op) {
    case VT_OP_SOFTMAX:   add_real(&p, N * V), p.nout = N * V; break;
    case VT_OP_LINEAR:    add_real(&p, N * C), add_real(&p, C * z->OC), add_real(&p, z->OC);
                          p.nout = N * z->OC; break;
    case VT_OP_LAYERNORM: add_real(&p, N * C), add_real(&p, C), add_real(&p, C), p.nout = N * C; break;
    case VT_OP_GELU:      add_real(&p, N), p.nout = N; break;
    case VT_OP_ATTENTION: add_real(&p, BT * H), add_real(&p, z->B * z->S * H);
                          add_real(&p, z->B * z->S * H), add_mask(&p, z->T, z->S), p.nout = BT * H; break;
    case VT_OP_PROJECTED: add_real(&p, BT * C);
                          for (int i = 0; i < 3; i++) add_real(&p, C * H), add_real(&p, H);
                          add_real(&p, H * C), add_real(&p, C), add_mask(&p, z->T, z->T);
                          p.nout = BT * C; break;
    case VT_OP_CROSSENTROPY: add_real(&p, N * V), add_integers(&p, N, V, true), p.nout = N; break;
    case VT_OP_BLOCK:     add_real(&p, BT * C), add_layer(&p, C, z->FF), p.nout = BT * C; break;
    case VT_OP_GPT:       add_integers(&p, BT, V, false), add_integers(&p, BT, V, true);
                          add_real(&p, V * C), add_real(&p, z->S * C);
                          for (size_t l = 0; l < z->L; l++) add_layer(&p, C, z->FF);
                          add_real(&p, C), add_real(&p, C), p.nout = BT; break;
    case VT_OP_LAB:       add_real(&p, z->T * C);
                          for (int i = 0; i < 3; i++) add_real(&p, C * H);
                          add_real(&p, H * V), add_integers(&p, z->T, V, false);
                          p.outs[0] = z->NH * z->T * z->T, p.outs[1] = z->T * H, p.outs[2] = z->T * V;
                          p.nouts = 3, p.nout = 1; break;
    default:              fail_msg("op %d has no problem here", z->op);
    }
    p.ndout = p.outs[p.nouts++] = p.nout;
    p.nout = 0;
    for (size_t i = 0; i < p.nouts; i++) p.nout += p.outs[i];
    p.dout = uniforms(p.ndout, 1);
    for (size_t i = 0; i < p.nin; i++)
        p.start[i] = p.in[i].kind == REAL ? uniforms(p.in[i].n, 1) : NULL;
    return p;
}

static result result_new(const problem *p)
{
    result r = { .out = numbers(p->nout) };
    for (size_t i = 0; i < p->nin; i++) {
        if (p->in[i].kind != REAL) continue;
        r.grad[i] = numbers(p->in[i].n);
        memcpy(r.grad[i], p->start[i], p->in[i].n * sizeof(double));
    }
    return r;
}

/* ---- the reference: compositions of definitions --------------------------- */

/* x moved by an ulp, up or down. */
static double shake(double x, double ulp)
{
    return ulp == 0 ? x : x * (1 + ulp * (double)(2 * rng_integers(&random_numbers, 0, 2) - 1));
}

/* Of the probabilities too, between the passes, by (1 + |score|) ulp: a kernel may have
 * them again as exp(score - lse), and da - rowsum(a da) may cancel wholly. */
static double probability_ulp;

static int *to_int(const part *a)
{
    int *x = hold(a->n, sizeof *x);
    for (size_t i = 0; i < a->n; i++) x[i] = (int)a->x[i];
    return x;
}

/* Attention, a query at a time: the definition, with that query at the end of the keys
 * that it sees.  A query without keys stays 0.  mask NULL: none. */
static void attention(double *o, double *dq, double *dk, double *dv, const double *dout,
                      const double *q, const double *k, const double *v, const double *mask,
                      size_t B, size_t T, size_t S, size_t NH, size_t HS, bool causal)
{
    const size_t H = NH * HS;
    size_t *seen = hold(S, sizeof *seen);
    double *kk = numbers(S * H), *vv = numbers(S * H), *dkk = numbers(S * H), *dvv = numbers(S * H);
    double *stage[6];
    for (int i = 0; i < 6; i++) stage[i] = numbers(NH * S);
    for (size_t b = 0; b < B; b++)
    for (size_t t = 0; t < T; t++) {
        size_t n = 0;
        for (size_t u = 0; u < S; u++)
            if ((!causal || u + T <= S + t) && (!mask || mask[t * S + u] != 0)) seen[n++] = u;
        if (n == 0) continue;
        for (size_t i = 0; i < n; i++) {
            memcpy(kk + i * H, k + (b * S + seen[i]) * H, H * sizeof *k);
            memcpy(vv + i * H, v + (b * S + seen[i]) * H, H * sizeof *v);
        }
        const size_t row = (b * T + t) * H;
        ref_attention_forward_f64(o + row, stage[0], stage[1], stage[2], stage[3], q + row, kk, vv,
                                  1, 1, (int)n - 1, (int)NH, (int)HS);
        for (size_t i = 0; i < NH * n; i++)
            stage[3][i] = shake(stage[3][i], probability_ulp * (1 + fabs(stage[1][i])));
        memset(dkk, 0, n * H * sizeof *dkk);
        memset(dvv, 0, n * H * sizeof *dvv);
        ref_attention_backward_f64(dq + row, dkk, dvv, stage[4], stage[5], dout + row, stage[3],
                                   q + row, kk, vv, 1, 1, (int)n - 1, (int)NH, (int)HS);
        for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < H; j++) {
            dk[(b * S + seen[i]) * H + j] += dkk[i * H + j];
            dv[(b * S + seen[i]) * H + j] += dvv[i * H + j];
        }
    }
}

static void projected(const problem *p, const double *const *x, const double *dout, result *r)
{
    const shape *z = &p->z;
    const size_t H = z->NH * z->HS, BT = z->B * z->T;
    const int N = (int)BT, C = (int)z->C, K = (int)H;
    double *y[3], *dy[3], *o = numbers(BT * H), *d = numbers(BT * H);
    for (int i = 0; i < 3; i++) {
        y[i] = numbers(BT * H), dy[i] = numbers(BT * H);
        ref_linear_forward_f64(y[i], x[0], x[1 + 2 * i], x[2 + 2 * i], N, C, K);
    }
    const double *mask = z->masked ? x[VT_PROJECTED_MASK] : NULL;
    double *unused = numbers(3 * BT * H);
    attention(o, unused, unused + BT * H, unused + 2 * BT * H, d, y[0], y[1], y[2], mask,
              z->B, z->T, z->T, z->NH, z->HS, z->causal);
    ref_linear_forward_f64(r->out, o, x[7], x[8], N, K, C);
    ref_linear_backward_f64(d, r->grad[7], r->grad[8], dout, o, x[7], N, K, C);
    attention(o, dy[0], dy[1], dy[2], d, y[0], y[1], y[2], mask, z->B, z->T, z->T, z->NH, z->HS,
              z->causal);
    for (int i = 0; i < 3; i++)
        ref_linear_backward_f64(r->grad[0], r->grad[1 + 2 * i], r->grad[2 + 2 * i], dy[i], x[0],
                                x[1 + 2 * i], N, C, K);
}

static void block(const problem *p, const double *const *x, const double *dout, result *r)
{
    const shape *z = &p->z;
    const size_t NC = z->B * z->T * z->C, NF = z->B * z->T * z->FF;
    const int N = (int)(z->B * z->T), C = (int)z->C, FF = (int)z->FF;
    double *a[20];
    for (int i = 0; i < 20; i++) a[i] = numbers(i < 4 ? (size_t)N : 3 * NC);
    double *mean1 = a[0], *rstd1 = a[1], *mean2 = a[2], *rstd2 = a[3], *ln1 = a[4], *qkv = a[5];
    double *o = a[6], *proj = a[7], *res = a[8], *ln2 = a[9], *fc2 = a[10], *d = a[11], *dln = a[12];
    double *dqkv = a[13], *dpart[3] = { a[14], a[15], a[16] }, *part_[3] = { a[17], a[18], a[19] };
    double *fc = numbers(NF), *act = numbers(NF), *dfc = numbers(NF), *dact = numbers(NF);
    double *dres = numbers(NC), *dval = numbers(NC);
    ref_layernorm_forward_f64(ln1, mean1, rstd1, x[0], x[1], x[2], N, C);
    ref_linear_forward_f64(qkv, ln1, x[3], x[4], N, C, 3 * C);
    for (size_t n = 0; n < (size_t)N; n++)
        for (int j = 0; j < 3; j++)
            memcpy(part_[j] + n * z->C, qkv + (3 * n + (size_t)j) * z->C, z->C * sizeof *qkv);
    attention(o, dpart[0], dpart[1], dpart[2], dval, part_[0], part_[1], part_[2], NULL, z->B, z->T,
              z->T, z->NH, z->HS, true);
    ref_linear_forward_f64(proj, o, x[5], x[6], N, C, C);
    ref_residual_forward_f64(res, x[0], proj, NC);
    ref_layernorm_forward_f64(ln2, mean2, rstd2, res, x[7], x[8], N, C);
    ref_linear_forward_f64(fc, ln2, x[9], x[10], N, C, FF);
    ref_gelu_forward_f64(act, fc, NF);
    ref_linear_forward_f64(fc2, act, x[11], x[12], N, FF, C);
    ref_residual_forward_f64(r->out, res, fc2, NC);

    ref_linear_backward_f64(dact, r->grad[11], r->grad[12], dout, act, x[11], N, FF, C);
    ref_gelu_backward_f64(dfc, dact, fc, NF);
    ref_linear_backward_f64(d, r->grad[9], r->grad[10], dfc, ln2, x[9], N, C, FF);
    memcpy(dres, dout, NC * sizeof *dres);
    ref_layernorm_backward_f64(dres, r->grad[7], r->grad[8], d, res, x[7], mean2, rstd2, N, C);
    ref_linear_backward_f64(dval, r->grad[5], r->grad[6], dres, o, x[5], N, C, C);
    attention(o, dpart[0], dpart[1], dpart[2], dval, part_[0], part_[1], part_[2], NULL, z->B, z->T,
              z->T, z->NH, z->HS, true);
    for (size_t n = 0; n < (size_t)N; n++)
        for (int j = 0; j < 3; j++)
            memcpy(dqkv + (3 * n + (size_t)j) * z->C, dpart[j] + n * z->C, z->C * sizeof *dqkv);
    ref_linear_backward_f64(dln, r->grad[3], r->grad[4], dqkv, ln1, x[3], N, C, 3 * C);
    for (size_t i = 0; i < NC; i++) r->grad[0][i] += dres[i];
    ref_layernorm_backward_f64(r->grad[0], r->grad[1], r->grad[2], dln, x[0], x[1], mean1, rstd1, N, C);
}

static void gpt(const problem *p, const double *const *x, const double *dout, result *r)
{
    const shape *s = &p->z;
    const gpt_config z = { .L = (int)s->L, .C = (int)s->C, .NH = (int)s->NH, .FF = (int)s->FF,
                           .T = (int)s->S, .V = (int)s->V, .tied = true };
    const int B = (int)s->B, T = (int)s->T;
    double *params = numbers(gpt_parameter_count(&z)), *grads = numbers(gpt_parameter_count(&z));
    size_t at = 0;
    for (size_t i = VT_GPT_WTE; i < p->nin; at += p->in[i++].n) {
        memcpy(params + at, x[i], p->in[i].n * sizeof *params);
        memcpy(grads + at, r->grad[i], p->in[i].n * sizeof *grads);
    }
    assert_int_equal(at, gpt_parameter_count(&z));
    gpt_model_f64 m = { .z = z, .params = params, .head = numbers(s->C * s->V) };
    gpt_acts_f64 a;
    gpt_acts_place_f64(&a, hold(gpt_acts_bytes_f64(&z, B, T, T, true) + 64, 1), &z, B, T, T, true);
    const int *tokens = to_int(&p->in[0]), *targets = to_int(&p->in[1]);
    gpt_prepare_f64(&m);
    gpt_forward_f64(&m, &a, tokens, NULL, B, T);
    gpt_loss_f64(&m, &a, targets, 1, B, T);
    gpt_backward_f64(&m, &a, grads, tokens, targets, dout, B, T);
    memcpy(r->out, a.loss, p->nout * sizeof *r->out);
    at = 0;
    for (size_t i = VT_GPT_WTE; i < p->nin; at += p->in[i++].n)
        memcpy(r->grad[i], grads + at, p->in[i].n * sizeof *grads);
}

static void lab(const problem *p, const double *const *x, const double *dout, result *r)
{
    const shape *z = &p->z;
    const size_t H = z->NH * z->HS, TH = z->T * H, TV = z->T * z->V, TT = z->NH * z->T * z->T;
    const int T = (int)z->T, C = (int)z->C, V = (int)z->V, K = (int)H, *target = to_int(&p->in[5]);
    double *y[3], *dy[3], *P = r->out, *o = P + TT, *logits = o + TH, *stage = numbers(5 * TT);
    double *lse = numbers(z->T), *loss = numbers(z->T), *dloss = numbers(z->T);
    double *dlogits = numbers(TV), *d = numbers(TH);
    for (int j = 0; j < 3; j++) {
        y[j] = numbers(TH), dy[j] = numbers(TH);
        ref_linear_forward_f64(y[j], x[0], x[1 + j], NULL, T, C, K);
    }
    ref_attention_forward_f64(o, stage, stage + TT, stage + 2 * TT, P, y[0], y[1], y[2], 1, T, 0,
                              (int)z->NH, (int)z->HS);
    ref_linear_forward_f64(logits, o, x[4], NULL, T, K, V);
    ref_crossentropy_forward_f64(loss, lse, logits, target, z->temperature, T, V);
    for (size_t t = 0; t < z->T; t++) {
        logits[TV] += loss[t] / T;                      /* the last output */
        dloss[t] = dout[0] / T;
    }
    ref_crossentropy_backward_f64(dlogits, dloss, lse, logits, target, z->temperature, T, V);
    ref_linear_backward_f64(d, r->grad[4], NULL, dlogits, o, x[4], T, K, V);
    double *att = numbers(TT);
    for (size_t i = 0; i < TT; i++) att[i] = shake(P[i], probability_ulp * (1 + fabs(stage[TT + i])));
    ref_attention_backward_f64(dy[0], dy[1], dy[2], stage + 3 * TT, stage + 4 * TT, d, att,
                               y[0], y[1], y[2], 1, T, 0, (int)z->NH, (int)z->HS);
    for (int j = 0; j < 3; j++)
        ref_linear_backward_f64(r->grad[0], r->grad[1 + j], NULL, dy[j], x[0], x[1 + j], T, C, K);
}

static result reference(const problem *p, const double *const *x, const double *dout)
{
    const shape *z = &p->z;
    const int N = (int)z->N, C = (int)z->C, V = (int)z->V;
    result r = result_new(p);
    double *a = numbers(z->N + 1), *b = numbers(z->N + 1);
    switch (z->op) {
    case VT_OP_SOFTMAX:
        ref_softmax_forward_f64(r.out, x[0], N, V);
        ref_softmax_backward_f64(r.grad[0], dout, r.out, N, V);
        break;
    case VT_OP_LINEAR:
        ref_linear_forward_f64(r.out, x[0], x[1], x[2], N, C, (int)z->OC);
        ref_linear_backward_f64(r.grad[0], r.grad[1], r.grad[2], dout, x[0], x[1], N, C, (int)z->OC);
        break;
    case VT_OP_LAYERNORM:
        ref_layernorm_forward_f64(r.out, a, b, x[0], x[1], x[2], N, C);
        ref_layernorm_backward_f64(r.grad[0], r.grad[1], r.grad[2], dout, x[0], x[1], a, b, N, C);
        break;
    case VT_OP_GELU:
        ref_gelu_forward_f64(r.out, x[0], z->N);
        ref_gelu_backward_f64(r.grad[0], dout, x[0], z->N);
        break;
    case VT_OP_CROSSENTROPY:
        ref_crossentropy_forward_f64(r.out, a, x[0], to_int(&p->in[1]), z->temperature, N, V);
        ref_crossentropy_backward_f64(r.grad[0], dout, a, x[0], to_int(&p->in[1]), z->temperature, N, V);
        break;
    case VT_OP_ATTENTION:
        attention(r.out, r.grad[0], r.grad[1], r.grad[2], dout, x[0], x[1], x[2],
                  z->masked ? x[3] : NULL, z->B, z->T, z->S, z->NH, z->HS, z->causal);
        break;
    case VT_OP_PROJECTED: projected(p, x, dout, &r); break;
    case VT_OP_BLOCK:     block(p, x, dout, &r); break;
    case VT_OP_LAB:       lab(p, x, dout, &r); break;
    default:              gpt(p, x, dout, &r); break;
    }
    return r;
}

/* ---- bounds --------------------------------------------------------------- */

typedef struct expected { result want; double out, grad[MOST]; } expected;  /* and the bounds */

static double largest(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(b ? a[i] - b[i] : a[i]));
    return most;
}

static double *shaken(const double *x, size_t n, double ulp)
{
    double *y = numbers(n);
    for (size_t i = 0; i < n; i++) y[i] = shake(x[i], ulp);
    return y;
}

static expected expect(const problem *p, int dtype)
{
    const double ulp = dtype == VT_KERNEL_F32 ? FLT_EPSILON : DBL_EPSILON;
    const double *x[MOST];
    expected e = { 0 };
    for (size_t i = 0; i < p->nin; i++) x[i] = p->in[i].x;
    e.want = reference(p, x, p->dout);
    e.out = ulp * largest(e.want.out, NULL, p->nout);
    for (size_t i = 0; i < p->nin; i++)
        if (p->start[i]) e.grad[i] = ulp * (largest(e.want.grad[i], NULL, p->in[i].n) + 1);
    double out = 0, grad[MOST] = { 0 };
    probability_ulp = ulp;
    for (int shake = 0; shake < SHAKES; shake++) {
        for (size_t i = 0; i < p->nin; i++)
            x[i] = p->in[i].kind == REAL ? shaken(p->in[i].x, p->in[i].n, ulp) : p->in[i].x;
        const result r = reference(p, x, shaken(p->dout, p->ndout, ulp));
        out = fmax(out, largest(r.out, e.want.out, p->nout));
        for (size_t i = 0; i < p->nin; i++)
            if (p->start[i]) grad[i] = fmax(grad[i], largest(r.grad[i], e.want.grad[i], p->in[i].n));
    }
    probability_ulp = 0;
    e.out = SLACK * (e.out + out);
    for (size_t i = 0; i < p->nin; i++) e.grad[i] = SLACK * (e.grad[i] + grad[i]);
    return e;
}

/* Names the first number beyond its bound (NaN is); false: there is none. */
static bool beyond(const problem *p, const expected *e, const result *r, char *text, size_t size)
{
    for (size_t i = 0; i < p->nout; i++)
        if (!(fabs(r->out[i] - e->want.out[i]) <= e->out)) {
            snprintf(text, size, "out[%zu] = %.17g, expected %.17g +- %.2g", i, r->out[i], e->want.out[i], e->out);
            return true;
        }
    for (size_t t = 0; t < p->nin; t++)
        for (size_t i = 0; p->start[t] && i < p->in[t].n; i++)
            if (!(fabs(r->grad[t][i] - e->want.grad[t][i]) <= e->grad[t])) {
                snprintf(text, size, "din[%zu][%zu] = %.17g, expected %.17g +- %.2g", t, i, r->grad[t][i],
                         e->want.grad[t][i], e->grad[t]);
                return true;
            }
    return false;
}

/* ---- running a kernel ----------------------------------------------------- */

static size_t width_of(part_kind kind, int dtype)
{
    return kind == REAL ? (size_t)dtype / 8 : kind == INTEGERS ? 4 : 1;
}

static void *pack(const double *x, size_t n, part_kind kind, int dtype)
{
    void *raw = guarded(n * width_of(kind, dtype));
    for (size_t i = 0; i < n; i++) {
        if (kind == MASK) ((unsigned char *)raw)[i] = x[i] != 0;
        else if (kind == INTEGERS) ((int32_t *)raw)[i] = (int32_t)x[i];
        else if (dtype == VT_KERNEL_F32) ((float *)raw)[i] = (float)x[i];
        else ((double *)raw)[i] = x[i];
    }
    return raw;
}

static void unpack(double *x, const void *raw, size_t n, int dtype)
{
    for (size_t i = 0; i < n; i++)
        x[i] = dtype == VT_KERNEL_F32 ? (double)((const float *)raw)[i] : ((const double *)raw)[i];
}

static vt_kernel_call call_of(const problem *p, int dtype)
{
    const shape *z = &p->z;
    return (vt_kernel_call){
        .abi = VT_KERNEL_ABI, .bytes = sizeof(vt_kernel_call), .op = z->op, .dtype = dtype,
        .causal = z->causal, .temperature = z->temperature, .N = z->N, .C = z->C, .OC = z->OC,
        .V = z->V, .B = z->B, .T = z->T, .S = z->S, .NH = z->NH, .HS = z->HS, .FF = z->FF,
        .L = z->L, .nin = p->nin, .nout = p->nouts,
    };
}

/* save as large as the interface promises, no larger */
static size_t save_bytes(const problem *p)
{
    size_t n = p->nout;
    const size_t S = p->z.S ? p->z.S : p->z.T;
    for (size_t i = 0; i < p->nin; i++) n += p->in[i].n;
    return 8 * (n + 4 * p->z.B * p->z.NH * p->z.T * S * (p->z.L ? p->z.L : 1));
}

static result run(const specimen *s, const problem *p, int dtype)
{
    vt_kernel_call c = call_of(p, dtype);
    result r = result_new(p);
    void *in[MOST] = { NULL }, *din[MOST] = { NULL }, *out[4] = { NULL };
    void *dout = pack(p->dout, p->ndout, REAL, dtype), *save = guarded(save_bytes(p));
    for (size_t i = 0; i < p->nouts; i++) out[i] = guarded(p->outs[i] * width_of(REAL, dtype));
    for (size_t i = 0; i < p->nin; i++) {
        const part *a = &p->in[i];
        if (a->n) in[i] = pack(a->x, a->n, a->kind, dtype);
        if (p->start[i]) din[i] = pack(p->start[i], a->n, REAL, dtype);
    }
    const void *in_[MOST], *dout_[4] = { NULL };
    memcpy(in_, in, sizeof in);
    dout_[p->nouts - 1] = dout;
    c.in = in_, c.out = out, c.save = save, c.save_bytes = save_bytes(p);
    c.pass = VT_KERNEL_FORWARD;
    assert_int_equal(s->run(&c, s->fault), 0);
    for (size_t i = 0, at = 0; i < p->nouts; at += p->outs[i++]) unpack(r.out + at, out[i], p->outs[i], dtype);
    c.pass = VT_KERNEL_BACKWARD, c.dout = dout_, c.din = din;
    assert_int_equal(s->run(&c, s->fault), 0);
    for (size_t i = 0; i < p->nin; i++) {
        const part *a = &p->in[i];
        if (din[i]) unpack(r.grad[i], din[i], a->n, dtype), guarded_free(din[i]);
        if (!in[i]) continue;
        void *before = pack(a->x, a->n, a->kind, dtype);
        if (memcmp(before, in[i], a->n * width_of(a->kind, dtype)) != 0) r.wrote = true;
        guarded_free(before);
        guarded_free(in[i]);
    }
    for (size_t i = 0; i < p->nouts; i++) guarded_free(out[i]);
    guarded_free(dout), guarded_free(save);
    return r;
}

static bool same_bits(const problem *p, const result *a, const result *b)
{
    bool same = memcmp(a->out, b->out, p->nout * sizeof(double)) == 0;
    for (size_t i = 0; i < p->nin; i++)
        if (p->start[i]) same = same && memcmp(a->grad[i], b->grad[i], p->in[i].n * sizeof(double)) == 0;
    return same;
}

/* ---- the problems --------------------------------------------------------- */

static const shape shapes[] = {
    { VT_OP_GPT, .B = 2, .T = 5, .S = 7, .NH = 2, .HS = 3, .C = 6, .FF = 9, .V = 4, .L = 2, .scale = 0.8 },
    { VT_OP_GPT, .B = 3, .T = 4, .S = 4, .NH = 3, .HS = 2, .C = 6, .FF = 5, .V = 11, .L = 1, .scale = 1 },
    { VT_OP_GPT, .B = 1, .T = 1, .S = 2, .NH = 1, .HS = 4, .C = 4, .FF = 3, .V = 5, .L = 2, .scale = 1 },
    { VT_OP_GPT, .B = 2, .T = 3, .S = 3, .NH = 2, .HS = 1, .C = 2, .FF = 1, .V = 1, .L = 1, .scale = 1 },

    { VT_OP_BLOCK, .B = 2, .T = 5, .NH = 2, .HS = 3, .C = 6, .FF = 9, .scale = 0.8 },
    { VT_OP_BLOCK, .B = 3, .T = 4, .NH = 3, .HS = 2, .C = 6, .FF = 4, .scale = 1 },
    { VT_OP_BLOCK, .B = 1, .T = 1, .NH = 1, .HS = 1, .C = 1, .FF = 1, .scale = 1 },
    { VT_OP_BLOCK, .B = 1, .T = 3, .NH = 2, .HS = 2, .C = 4, .FF = 17, .scale = 1e4 },
    { VT_OP_BLOCK, .B = 2, .T = 2, .NH = 2, .HS = 2, .C = 4, .FF = 3, .scale = 1e-4 },

    { VT_OP_LAB, .T = 6, .C = 8, .NH = 2, .HS = 2, .V = 10, .scale = 1, .temperature = 0.5 },
    { VT_OP_LAB, .T = 3, .C = 5, .NH = 1, .HS = 4, .V = 3, .scale = 2, .temperature = 2 },
    { VT_OP_LAB, .T = 1, .C = 1, .NH = 1, .HS = 1, .V = 1, .scale = 1 },
    { VT_OP_LAB, .T = 5, .C = 3, .NH = 3, .HS = 1, .V = 7, .scale = 1e-4 },

    { VT_OP_SOFTMAX, .N = 5, .V = 7, .scale = 1 },
    { VT_OP_SOFTMAX, .N = 3, .V = 17, .scale = 10 },
    { VT_OP_SOFTMAX, .N = 17, .V = 1, .scale = 1 },
    { VT_OP_SOFTMAX, .N = 1, .V = 2, .scale = 1e-4 },
    { VT_OP_SOFTMAX, .N = 4, .V = 6, .scale = 1e4 },

    { VT_OP_CROSSENTROPY, .N = 5, .V = 7, .scale = 1, .temperature = 0.7 },
    { VT_OP_CROSSENTROPY, .N = 9, .V = 3, .scale = 5, .temperature = 2 },
    { VT_OP_CROSSENTROPY, .N = 1, .V = 17, .scale = 1e-4 },
    { VT_OP_CROSSENTROPY, .N = 6, .V = 5, .scale = 1e4, .temperature = 0.5 },
    { VT_OP_CROSSENTROPY, .N = 3, .V = 1, .scale = 1 },

    { VT_OP_LINEAR, .N = 5, .C = 3, .OC = 6, .scale = 1 },
    { VT_OP_LINEAR, .N = 17, .C = 8, .OC = 9, .scale = 1e4 },
    { VT_OP_LINEAR, .N = 1, .C = 1, .OC = 1, .scale = 1 },
    { VT_OP_LINEAR, .N = 4, .C = 16, .OC = 4, .scale = 1e-4 },
    { VT_OP_LINEAR, .N = 9, .C = 5, .OC = 17, .scale = 1 },

    { VT_OP_LAYERNORM, .N = 5, .C = 7, .scale = 1 },
    { VT_OP_LAYERNORM, .N = 3, .C = 2, .scale = 1 },
    { VT_OP_LAYERNORM, .N = 4, .C = 1, .scale = 1 },
    { VT_OP_LAYERNORM, .N = 1, .C = 17, .scale = 1e4 },
    { VT_OP_LAYERNORM, .N = 6, .C = 5, .scale = 1e-2 },
    { VT_OP_LAYERNORM, .N = 6, .C = 5, .scale = 1e-4 },

    { VT_OP_GELU, .N = 17, .scale = 3 },
    { VT_OP_GELU, .N = 1, .scale = 1 },
    { VT_OP_GELU, .N = 14, .scale = 1e4 },
    { VT_OP_GELU, .N = 11, .scale = 1 },
    { VT_OP_GELU, .N = 7, .scale = 1e-4 },

    { VT_OP_ATTENTION, .B = 2, .T = 5, .S = 5, .NH = 2, .HS = 3, .causal = true, .scale = 1 },
    { VT_OP_ATTENTION, .B = 2, .T = 3, .S = 7, .NH = 3, .HS = 2, .causal = true, .scale = 1 },
    { VT_OP_ATTENTION, .B = 1, .T = 7, .S = 4, .NH = 1, .HS = 5, .causal = true, .scale = 1 },
    { VT_OP_ATTENTION, .B = 2, .T = 4, .S = 6, .NH = 2, .HS = 4, .masked = true, .scale = 1 },
    { VT_OP_ATTENTION, .B = 2, .T = 6, .S = 9, .NH = 2, .HS = 3, .causal = true, .masked = true, .scale = 1 },
    { VT_OP_ATTENTION, .B = 3, .T = 2, .S = 5, .NH = 2, .HS = 2, .scale = 1 },
    { VT_OP_ATTENTION, .B = 2, .T = 1, .S = 1, .NH = 2, .HS = 1, .causal = true, .scale = 1 },
    { VT_OP_ATTENTION, .B = 1, .T = 17, .S = 17, .NH = 2, .HS = 4, .causal = true, .scale = 5 },
    { VT_OP_ATTENTION, .B = 2, .T = 3, .S = 8, .NH = 2, .HS = 3, .masked = true, .scale = 100 },
    { VT_OP_ATTENTION, .B = 2, .T = 5, .S = 5, .NH = 1, .HS = 2, .causal = true, .scale = 1e4 },
    { VT_OP_ATTENTION, .B = 3, .T = 4, .S = 4, .NH = 3, .HS = 3, .causal = true, .scale = 1e3 },
    { VT_OP_ATTENTION, .B = 1, .T = 4, .S = 4, .NH = 2, .HS = 17, .causal = true, .scale = 1e-4 },

    { VT_OP_PROJECTED, .B = 2, .T = 5, .C = 7, .NH = 2, .HS = 3, .causal = true, .scale = 1 },
    { VT_OP_PROJECTED, .B = 2, .T = 4, .C = 3, .NH = 2, .HS = 2, .masked = true, .scale = 1 },
    { VT_OP_PROJECTED, .B = 1, .T = 6, .C = 4, .NH = 2, .HS = 2, .causal = true, .masked = true, .scale = 1 },
    { VT_OP_PROJECTED, .B = 3, .T = 1, .C = 2, .NH = 1, .HS = 3, .causal = true, .scale = 2 },
    { VT_OP_PROJECTED, .B = 2, .T = 3, .C = 5, .NH = 3, .HS = 1, .scale = 1e-2 },
    { VT_OP_PROJECTED, .B = 1, .T = 3, .C = 2, .NH = 1, .HS = 2, .causal = true, .scale = 1e4 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const int types[] = { VT_KERNEL_F32, VT_KERNEL_F64 };

/* By specimen and type: whether a fault has shown. */
static struct { bool shown[2]; } seen[400];

static bool is_kind(const specimen *s, const char *kind) { return strcmp(s->kind, kind) == 0; }

/* What the specimen makes of the problem in one type.  A correct one must be right, the
 * same twice, and leave its inputs alone; a fault must not do what its kind does not say. */
static bool shows(const specimen *s, const problem *p, const expected *e, int dtype, size_t number)
{
    char text[200] = "";
    const result r = run(s, p, dtype), again = run(s, p, dtype);
    const bool wrong = beyond(p, e, &r, text, sizeof text), differs = !same_bits(p, &r, &again);
    if (s->fault == 0 && wrong) fail_msg("%s, float%d, problem %zu: %s", s->name, dtype, number, text);
    if (differs && !is_kind(s, "nondeterministic"))
        fail_msg("%s, float%d, problem %zu: not the same bits twice", s->name, dtype, number);
    if (r.wrote && !is_kind(s, "input_written"))
        fail_msg("%s, float%d, problem %zu: writes its input", s->name, dtype, number);
    return is_kind(s, "nondeterministic") ? differs : is_kind(s, "input_written") ? r.wrote : wrong;
}

static void try_problem(const shape *z_, size_t number, bool faults)
{
    shape z = *z_;
    if (z.temperature == 0) z.temperature = 1;
    size_t n, tried = 0;
    const specimen *table = specimen_table(&n);
    const problem p = problem_new(&z);
    for (int type = 0; type < 2; type++) {
        const expected e = expect(&p, types[type]);
        for (size_t i = 0; i < n; i++) {
            const specimen *s = &table[i];
            if (graph_op_of(s->op) != z.op || !(s->dtypes & types[type]) || (s->fault && !faults)) continue;
            tried++;
            if (shows(s, &p, &e, types[type], number)) seen[i].shown[type] = true;
        }
    }
    assert_true(tried >= 2);
    release();
}

static void correct_ones_and_faults(void **state)
{
    (void)state;
    size_t n, faults = 0, missed = 0;
    const specimen *table = specimen_table(&n);
    assert_true(n <= sizeof seen / sizeof *seen);
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < SHAPES; i++) {
        rng_seed(&random_numbers, i);
        try_problem(&shapes[i], i, true);
    }
    for (size_t i = 0; i < n; i++)
        for (int type = 0; type < 2; type++) {
            if (!table[i].fault || !(table[i].dtypes & types[type])) continue;
            faults++;
            if (seen[i].shown[type]) continue;
            print_error("%s, float%d: the same as the correct one in every problem\n", table[i].name, types[type]);
            missed++;
        }
    assert_true(faults > 0);
    if (missed) fail_msg("%zu of %zu faults (a type each) do not show", missed, faults);
}

/* Sizes 1 .. 17 (a model's 1 .. 6), scales 1e-4 .. 1e4 (a model's to 10: its matrices
 * multiply them), masks or none. */
static void correct_ones_at_random_sizes(void **state)
{
    (void)state;
    enum { CASES = 240 };
    for (size_t i = 0; i < CASES; i++) {
        rng_seed(&random_numbers, 1000 + i);
        const int op = VT_OP_SOFTMAX + (int)(i % VT_OP_LAB);
        const bool model = op == VT_OP_BLOCK || op == VT_OP_GPT, deep = model || op == VT_OP_LAB;
        size_t size[10];
        for (int j = 0; j < 10; j++) size[j] = (size_t)rng_integers(&random_numbers, 1, model ? 7 : 18);
        shape z = { op, .N = size[0], .C = size[1], .OC = size[2], .V = size[3], .B = 1 + size[4] % 3,
                    .T = size[5], .S = size[6], .NH = 1 + size[7] % 3, .HS = size[8], .FF = size[9],
                    .L = 1 + size[0] % 2, .causal = size[1] % 2, .masked = size[2] % 3 == 0,
                    .scale = pow(10, uniform(-4, deep ? 1 : 4)), .temperature = uniform(0.25, 2) };
        if (model) z.C = z.NH * z.HS, z.causal = true, z.masked = false, z.temperature = 1;
        if (op == VT_OP_LAB) z.causal = true;
        if (op == VT_OP_GPT) z.S = z.T + size[6] % 3;
        try_problem(&z, 1000 + i, false);
    }
}

/* ---- rules that hold exactly ---------------------------------------------- */

/* ATT-01: a query that sees no key has output 0, adds nothing anywhere, and leaves the
 * others as they are without it. */
static void a_query_without_keys(void **state)
{
    (void)state;
    enum { T = 2, S = 2, HS = 3 };
    size_t n, tried = 0;
    const specimen *table = specimen_table(&n);
    rng_seed(&random_numbers, 3);
    const shape both = { VT_OP_ATTENTION, .B = 1, .T = T, .S = S, .NH = 1, .HS = HS, .masked = true, .scale = 1,
                         .temperature = 1 };
    problem p = problem_new(&both), one = p;            /* `one`: its second query alone */
    const double first_hidden[T * S] = { 0, 0, 1, 1 };
    memcpy(p.in[VT_ATTENTION_MASK].x, first_hidden, sizeof first_hidden);
    one.z.T = 1, one.nout = one.ndout = one.outs[0] = HS, one.dout = p.dout + HS;
    one.in[VT_ATTENTION_Q].n = HS, one.in[VT_ATTENTION_Q].x += HS, one.start[VT_ATTENTION_Q] += HS;
    one.in[VT_ATTENTION_MASK].n = S, one.in[VT_ATTENTION_MASK].x += S;
    for (size_t i = 0; i < n; i++) {
        if (table[i].fault || strcmp(table[i].op, "attention") != 0) continue;
        for (int type = 0; type < 2; type++, tried++) {
            const result r = run(&table[i], &p, types[type]), alone = run(&table[i], &one, types[type]);
            for (size_t j = 0; j < HS; j++) {
                assert_true(r.out[j] == 0);
                assert_true(r.grad[VT_ATTENTION_Q][j] == p.start[VT_ATTENTION_Q][j]);
            }
            assert_memory_equal(r.out + HS, alone.out, HS * sizeof(double));
            assert_memory_equal(r.grad[VT_ATTENTION_Q] + HS, alone.grad[VT_ATTENTION_Q], HS * sizeof(double));
            assert_memory_equal(r.grad[VT_ATTENTION_K], alone.grad[VT_ATTENTION_K], S * HS * sizeof(double));
            assert_memory_equal(r.grad[VT_ATTENTION_V], alone.grad[VT_ATTENTION_V], S * HS * sizeof(double));
        }
    }
    assert_int_equal(tried, 8);
    release();
}

/* ATT-03: NaN and infinity where no query may look reach nothing. */
static void hidden_keys_are_not_read(void **state)
{
    (void)state;
    enum { T = 3, S = 4, NH = 2, HS = 3, H = NH * HS };
    size_t n, tried = 0;
    const specimen *table = specimen_table(&n);
    for (int masked = 0; masked < 2; masked++) {
        rng_seed(&random_numbers, 4);
        const shape z = { VT_OP_ATTENTION, .B = 2, .T = T, .S = S, .NH = NH, .HS = HS, .masked = masked,
                          .causal = !masked, .scale = 1, .temperature = 1 };
        problem clean = problem_new(&z), dirty = clean;
        const size_t last = S - 1;                      /* seen by the last query only, or by none */
        for (size_t t = 0; t < T; t++) clean.in[VT_ATTENTION_MASK].x[t * S + last] = 0;
        for (int j = VT_ATTENTION_K; j <= VT_ATTENTION_V; j++) {
            double *x = dirty.in[j].x = numbers(clean.in[j].n);
            memcpy(x, clean.in[j].x, clean.in[j].n * sizeof *x);
            for (size_t i = 0; i < H; i++) x[last * H + i] = j == VT_ATTENTION_V ? NAN : INFINITY;
        }
        for (size_t i = 0; i < n; i++) {
            if (table[i].fault || strcmp(table[i].op, "attention") != 0) continue;
            for (int type = 0; type < 2; type++, tried++) {
                const result r = run(&table[i], &clean, types[type]), other = run(&table[i], &dirty, types[type]);
                const size_t rows = masked ? T : T - 1;
                assert_memory_equal(r.out, other.out, rows * H * sizeof(double));
                assert_memory_equal(r.grad[0], other.grad[0], rows * H * sizeof(double));
            }
        }
        release();
    }
    assert_int_equal(tried, 16);
}

/* ---- the table ------------------------------------------------------------ */

static void the_table_is_whole(void **state)
{
    (void)state;
    static const char *const study[] = {
        "ln_forget_gamma", "ln_rstd_no_eps", "ln_rstd_unbiased", "ln_drop_mean", "ln_drop_var",
        "bias_first_batch_only", "ce_scale_1pct", "ce_last_pos_no_onehot", "dlogits_to_f32",
        "tie_drop_head", "tie_drop_embed", "wte_assign_repeat", "gelu_erf_deriv", "gelu_k0_trunc",
        "gelu_k1_trunc", "residual_drop", "proj_transposed", "softmax_drop_sum", "dq_no_scale",
        "dk_skip_last_query", "dq_heads_swapped", "one_entry_1pct", "one_entry_zero",
        "wpe_last_batch_only", "wpe_last_pos_zero",
    };
    size_t n, gpt_faults = 0, planted[2] = { 0 };
    const specimen *table = specimen_table(&n);
    for (size_t i = 0; i < n; i++) {
        const specimen *s = &table[i];
        const bool first = i == 0 || strcmp(table[i - 1].kernel, s->kernel) != 0;
        assert_true(first == (s->fault == 0));
        assert_true(first == (s->kind[0] == 0));
        assert_true(first == (strcmp(s->name, s->kernel) == 0));
        assert_true(graph_op_of(s->op) != 0);
        assert_true(first || fault_kind_of(s->kind) != FAULT_NONE);
        assert_non_null(s->run);
        assert_ptr_equal(specimen_find(s->name), s);    /* names stand once */
        if (s->fault && strcmp(s->kernel, "gpt") == 0) gpt_faults++;
        else if (s->fault)
            for (int type = 0; type < 2; type++) planted[type] += (s->dtypes & types[type]) != 0;
    }
    assert_null(specimen_find("nothing"));
    assert_int_equal(gpt_faults, sizeof study / sizeof *study);
    for (size_t i = 0; i < gpt_faults; i++) {
        const specimen *s = specimen_find(study[i]);
        if (!s) fail_msg("%s is missing", study[i]);
        assert_string_equal(s->kernel, "gpt");
        assert_true(s->dtypes & VT_KERNEL_F64);
    }
    assert_true(planted[0] >= 30 && planted[1] >= 30);
}

static void others_are_not_supported(void **state)
{
    (void)state;
    size_t n;
    const specimen *table = specimen_table(&n);
    for (size_t i = 0; i < n; i++) {
        const int op = graph_op_of(table[i].op);
        const vt_kernel_call right = { .abi = VT_KERNEL_ABI, .bytes = sizeof right, .op = op,
                                       .dtype = VT_KERNEL_F64, .pass = VT_KERNEL_FORWARD };
        vt_kernel_call c = right;
        c.op = op == VT_OP_LAB ? VT_OP_GELU : VT_OP_LAB;
        assert_int_equal(table[i].run(&c, 0), VT_KERNEL_UNSUPPORTED);
        c = right, c.dtype = 16;
        assert_int_equal(table[i].run(&c, 0), VT_KERNEL_UNSUPPORTED);
        c = right, c.pass = 3;
        assert_int_equal(table[i].run(&c, 0), VT_KERNEL_UNSUPPORTED);
        c = right, c.abi = VT_KERNEL_ABI + 1;
        assert_int_equal(table[i].run(&c, 0), VT_KERNEL_UNSUPPORTED);
    }
}

/* ---- as somebody else's library -------------------------------------------- */

enum { SOFTMAX_N = 3, SOFTMAX_V = 5, SOFTMAX_ALL = SOFTMAX_N * SOFTMAX_V };

static kernel_outcome softmax_in_library(const char *name, double *p, double *x)
{
    kernel_host *h = NULL;
    kernel_outcome outcome;
    const kernel_host_options o = { .seconds = 60 };
    const kernel_buffer in = { "x", x, SOFTMAX_ALL, 8 }, out = { "p", p, SOFTMAX_ALL, 8 };
    const kernel_request r = {
        .call = { .op = VT_OP_SOFTMAX, .dtype = VT_KERNEL_F64, .pass = VT_KERNEL_FORWARD, .temperature = 1,
                  .N = SOFTMAX_N, .V = SOFTMAX_V, .nin = 1, .nout = 1, .save_bytes = 16 * SOFTMAX_ALL },
        .in = &in, .out = &out,
    };
    assert_int_equal(setenv("VT_SPECIMEN", name, 1), 0);
    assert_ok(kernel_host_open(&h, VT_SPECIMENS, &o, &test_error));
    assert_ok(kernel_host_call(h, &r, &outcome, &test_error));
    kernel_host_free(h);
    assert_int_equal(unsetenv("VT_SPECIMEN"), 0);
    return outcome;
}

static void the_library_runs_the_one_that_is_named(void **state)
{
    (void)state;
    rng_seed(&random_numbers, 5);
    const shape z = { VT_OP_SOFTMAX, .N = SOFTMAX_N, .V = SOFTMAX_V, .scale = 2, .temperature = 1 };
    const problem p = problem_new(&z);
    double *out = numbers(SOFTMAX_ALL);
    static const char *const names[] = { "softmax_rows", "softmax_online", "softmax_online_no_rescale" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(softmax_in_library(names[i], out, p.in[0].x).end, KERNEL_OK);
        const result r = run(specimen_find(names[i]), &p, VT_KERNEL_F64);
        assert_memory_equal(out, r.out, SOFTMAX_ALL * sizeof *out);
    }
    const kernel_outcome wrote = softmax_in_library("softmax_writes_input", out, p.in[0].x);
    assert_int_equal(wrote.end, KERNEL_CRASHED);
    assert_string_equal(wrote.buffer, "x");
    assert_int_equal(softmax_in_library("attention_online", out, p.in[0].x).end, KERNEL_UNSUPPORTED);
    const kernel_outcome none = softmax_in_library("nothing", out, p.in[0].x);
    assert_int_equal(none.end, KERNEL_RETURNED);
    assert_int_equal(none.code, 2);
    release();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(correct_ones_and_faults),
        cmocka_unit_test(correct_ones_at_random_sizes),
        cmocka_unit_test(a_query_without_keys),
        cmocka_unit_test(hidden_keys_are_not_read),
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(others_are_not_supported),
        cmocka_unit_test(the_library_runs_the_one_that_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

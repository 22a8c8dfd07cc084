/* test_bounds.c -- the budgets: no correct kernel is ever beyond its bound, and a bound is
 * not so wide that it would hide something.
 *
 * Correct kernels are the definitions in float, in double (against _Float128) and with
 * every tensor rounded to bfloat16; and, written here, what bounds.h says that a kernel
 * may do: a running softmax from the last key to the first, probabilities made again from
 * lse in base e and base 2, D = sum do o, Welford's variance, layer norm with the mean
 * taken off last, the logistic form of GELU.  Sizes 1 .. 17, scales 1e-4 .. 1e4.
 */
#include "verify/op/op_case.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "support.h"

enum { OPS = VT_OP_LAB + 1 };

/* How much of the bounds was used. */
typedef struct used { double worst, total; size_t n; } used;

static void compare(used *s, const op_case *c, size_t i, double found, double want, double bound,
                    const char *what)
{
    const double off = fabs(found - want);
    if (!(off <= bound)) {
        char place[96] = "?";
        for (int k = 0; k < c->g.ntensors; k++) {
            const graph_tensor *t = &c->g.tensor[k];
            if (t->role < GRAPH_INTEGERS && i >= t->at && i < t->at + t->count)
                graph_index(place, sizeof place, t, i - t->at);
        }
        const graph_sizes *z = &c->z;
        fail_msg("%s, %s, seed %llu, scale %g: %s%s is %.17g, expected %.17g: off by %.3g, bound %.3g\n"
                 "N %d C %d OC %d V %d B %d T %d S %d NH %d HS %d FF %d L %d causal %d masked %d temperature %g",
                 graph_op_name(z->op), precision_name(c->p), (unsigned long long)c->seed, c->scale,
                 what, place, found, want, off, bound, z->N, z->C, z->OC, z->V, z->B, z->T, z->S,
                 z->NH, z->HS, z->FF, z->L, z->causal, z->masked, z->temperature);
    }
    if (bound > 0) {
        s->worst = fmax(s->worst, off / bound);
        s->total += off / bound;
    }
    s->n++;
}

static void report(const used s[OPS], const char *what)
{
    for (int op = 1; op < OPS; op++)
        if (s[op].n)
            print_message("# %-22s %-12s %9zu compared, worst uses %.4f of its bound, mean %.5f\n", what,
                          graph_op_name(op), s[op].n, s[op].worst, s[op].total / (double)s[op].n);
}

/* ---- cases ------------------------------------------------------------------------- */

/* Sizes 1 .. 17 (a model's smaller), a scale of 1e-4 .. 1e4. */
static void random_sizes(graph_sizes *z, double *scale, int op, rng *r)
{
    const bool whole = op == VT_OP_BLOCK || op == VT_OP_GPT;
    const int most = whole ? 7 : 17;
    *z = (graph_sizes){ .op = op };
    int *const size[] = { &z->N, &z->C, &z->OC, &z->V, &z->T, &z->S, &z->FF, &z->HS };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) *size[i] = (int)rng_integers(r, 1, most + 1);
    z->B = (int)rng_integers(r, 1, 4);
    z->NH = (int)rng_integers(r, 1, 4);
    z->L = (int)rng_integers(r, 1, 3);
    z->causal = rng_u32(r) & 1;
    z->masked = rng_u32(r) & 1;
    z->temperature = rng_u32(r) & 1 ? 1 : rng_uniform(r, 0.3, 3);
    if (z->S < z->T && (whole || (z->causal && !z->masked))) z->S = z->T;
    *scale = pow(10, rng_uniform(r, -4, 4));
}

/* Compares outputs, and the gradients of inputs.  x, dx: what was found. */
static void compare_all(used *s, const op_case *c, const double *x, const double *dx)
{
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t k = t->at; k < t->at + t->count; k++) compare(s, c, k, x[k], c->x[k], c->ex[k], "");
    }
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        if (t->role != GRAPH_INPUT) continue;
        for (size_t k = t->at; k < t->at + t->count; k++)
            compare(s, c, k, dx[k], c->start[k] + c->dx[k], c->edx[k], "d");
    }
}

/* ---- the definitions in float, and with tensors in bfloat16 -------------------------- */

static void round_tensor(float *x, const graph *g, int tensor, precision p)
{
    if (tensor < 0) return;
    const graph_tensor *t = &g->tensor[tensor];
    for (size_t k = t->at; k < t->at + t->count; k++) x[k] = (float)precision_round(p, (double)x[k]);
}

/* Runs a case in float, each node by `forward` and `backward`. */
typedef struct kernels {
    void (*forward)(const graph *, const graph_node *, float *, const int *);
    void (*backward)(const graph *, const graph_node *, float *, const float *, const int *);
} kernels;
static const kernels definitions = { graph_node_forward_f32, graph_node_backward_f32 };

static void float_case(used *s, const op_case *c, const kernels *kn)
{
    const graph *g = &c->g;
    const bool narrow = c->p == PRECISION_BF16 || c->p == PRECISION_F16;
    float *x = malloc(g->reals * sizeof *x), *dx = malloc(g->reals * sizeof *dx);
    double *xd = malloc(g->reals * sizeof *xd), *dxd = malloc(g->reals * sizeof *dxd);
    assert_true(x && dx && xd && dxd);
    for (size_t k = 0; k < g->reals; k++) x[k] = NAN, dx[k] = (float)(c->start[k] + c->dout[k]);
    for (int i = 0; i < g->nin; i++) {
        const graph_tensor *t = &g->tensor[g->in[i]];
        for (size_t k = t->at; t->role == GRAPH_INPUT && k < t->at + t->count; k++) x[k] = (float)c->x[k];
    }
    for (int i = 0; i < g->nnodes; i++) {
        const graph_node *n = &g->node[i];
        kn->forward(g, n, x, c->ints);
        if (narrow) round_tensor(x, g, n->out, c->p);
        if (narrow && n->kind == GRAPH_ATTENTION) round_tensor(x, g, n->stage[0], c->p);
    }
    for (int i = g->nnodes; i-- > 0;) {
        kn->backward(g, &g->node[i], dx, x, c->ints);
        for (int k = 0; k < GRAPH_INS && narrow; k++)
            if (g->node[i].in[k] >= 0 && g->tensor[g->node[i].in[k]].role < GRAPH_INTEGERS)
                round_tensor(dx, g, g->node[i].in[k], c->p);
    }
    for (size_t k = 0; k < g->reals; k++) xd[k] = (double)x[k], dxd[k] = (double)dx[k];
    compare_all(s, c, xd, dxd);
    free(x);
    free(dx);
    free(xd);
    free(dxd);
}

static bool base2;      /* the other kernels' softmax, below */

/* `floor`: the least that the worst share of each operator must reach. */
static void many(const kernels *kn, precision p, int cases, int stream, double floor, const char *what)
{
    used s[OPS] = { { 0 } };
    for (int op = 1; op < OPS; op++)
    for (int i = 0; i < cases; i++) {
        graph_sizes z;
        op_case c;
        double scale;
        rng r;
        rng_stream_seed(&r, (uint64_t)i, RNG_VERIFY, (uint64_t)(stream + op));
        random_sizes(&z, &scale, op, &r);
        if (p == PRECISION_F16) scale = 1;              /* 65504 is its largest number */
        if (base2) scale = fmin(scale, 100);            /* beyond: see bounds.h */
        assert_ok(op_case_draw(&c, &z, p, scale, (uint64_t)i, &test_error));
        float_case(&s[op], &c, kn);
        op_case_free(&c);
    }
    report(s, what);
    for (int op = 1; op < OPS; op++) {
        assert_true(s[op].n >= (size_t)cases * 2);
        assert_true(s[op].worst > floor);
    }
}

static void float_within_bounds(void **state)
{
    (void)state;
    many(&definitions, PRECISION_F32, SWEEP(400, 40), 32, 1e-3, "float32");
}

static void narrow_within_bounds(void **state)
{
    (void)state;
    many(&definitions, PRECISION_BF16, SWEEP(150, 20), 32, 1e-3, "bfloat16");
    many(&definitions, PRECISION_F16, 60, 32, 1e-3, "float16");
}

/* ---- other correct kernels, in float ------------------------------------------------------ */

/* The last term first, in four partial sums. */
static float dot(const float *a, size_t da, const float *b, size_t db, size_t n)
{
    float part[4] = { 0, 0, 0, 0 };
    for (size_t i = n; i-- > 0;) part[i % 4] = fmaf(a[i * da], b[i * db], part[i % 4]);
    return (part[3] + part[1]) + (part[2] + part[0]);
}

static void other_linear(const graph_node *n, float *out, const float *x, const float *w, const float *bias)
{
    const size_t C = (size_t)n->C, OC = (size_t)n->OC;
    for (size_t r = 0; r < (size_t)n->N; r++)
    for (size_t o = 0; o < OC; o++)
        out[r * OC + o] = dot(x + r * C, 1, w + o, OC, C) + (bias ? bias[o] : 0);
}

static void other_linear_back(const graph_node *n, float *dx, float *dw, float *db, const float *dy,
                              const float *x, const float *w)
{
    const size_t N = (size_t)n->N, C = (size_t)n->C, OC = (size_t)n->OC;
    const float one = 1;
    for (size_t r = 0; r < N; r++)
    for (size_t i = 0; i < C; i++) dx[r * C + i] += dot(dy + r * OC, 1, w + i * OC, 1, OC);
    for (size_t i = 0; i < C; i++)
    for (size_t o = 0; o < OC; o++) dw[i * OC + o] += dot(x + i, C, dy + o, OC, N);
    for (size_t o = 0; db && o < OC; o++) db[o] += dot(dy + o, OC, &one, 0, N);
}

/* Welford's mean and variance; y = x (rstd w) + (b - mean rstd w). */
static void other_layernorm(const graph_node *n, float *out, float *mean, float *rstd, const float *x,
                            const float *w, const float *b)
{
    const size_t C = (size_t)n->C;
    for (size_t r = 0; r < (size_t)n->N; r++) {
        float m = 0, squares = 0;
        for (size_t i = 0; i < C; i++) {
            const float d = x[r * C + i] - m;
            m += d / (float)(i + 1);
            squares += d * (x[r * C + i] - m);
        }
        mean[r] = m;
        rstd[r] = 1 / sqrtf(squares / (float)C + 1e-5f);
        for (size_t i = 0; i < C; i++)
            out[r * C + i] = (x[r * C + i] * rstd[r] + -m * rstd[r]) * w[i] + b[i];
    }
}

/* dx = rstd w dy + k x + c, with two sums that are not centred. */
static void other_layernorm_back(const graph_node *n, float *dx, float *dw, float *db, const float *dy,
                                 const float *x, const float *w, const float *mean, const float *rstd)
{
    const size_t C = (size_t)n->C;
    for (size_t r = 0; r < (size_t)n->N; r++) {
        const float m = mean[r], a = rstd[r], *g = dy + r * C, *y = x + r * C;
        float with = 0, plain = 0;
        for (size_t i = 0; i < C; i++) {
            with += g[i] * w[i] * y[i];
            plain += g[i] * w[i];
        }
        const float k = (plain * m - with) * a * a * a / (float)C, c = -k * m - plain * a / (float)C;
        for (size_t i = 0; i < C; i++) {
            dx[r * C + i] += a * g[i] * w[i] + k * y[i] + c;
            dw[i] += g[i] * (y[i] - m) * a;
            db[i] += g[i];
        }
    }
}

static float logistic(float x) { return 1 / (1 + expf(-x)); }
static float gelu_z(float x) { return 2 * 0.7978845608f * x * (1 + 0.044715f * x * x); }

static void other_gelu(float *out, const float *x, int n)
{
    for (int i = 0; i < n; i++) out[i] = x[i] * logistic(gelu_z(x[i]));
}

static void other_gelu_back(float *dx, const float *dy, const float *x, int n)
{
    for (int i = 0; i < n; i++) {
        const float s = logistic(gelu_z(x[i])), rest = logistic(-gelu_z(x[i]));
        dx[i] += dy[i] * (s + x[i] * s * rest * (2 * 0.7978845608f * (1 + 3 * 0.044715f * x[i] * x[i])));
    }
}

/* A running softmax from the last number to the first: m and l of those seen. */
static void running(float *m, float *l, const float *x, const int *see, int n, float by)
{
    *m = -INFINITY;
    *l = 0;
    for (int v = n; v-- > 0;) {
        if (see && !see[v]) continue;
        const float s = x[v] * by, more = fmaxf(*m, s);
        *l = *l * expf(*m - more) + expf(s - more);
        *m = more;
    }
}

static void other_softmax(const graph_node *n, float *p, const float *x)
{
    for (int r = 0; r < n->N; r++, p += n->V, x += n->V) {
        float m, l;
        running(&m, &l, x, NULL, n->V, 1);
        for (int v = 0; v < n->V; v++) p[v] = expf(x[v] - m) * (1 / l);
    }
}

static void other_crossentropy(const graph_node *n, float *loss, float *lse, const float *x, const int *y)
{
    for (int r = 0; r < n->N; r++, x += n->V) {
        float m, l;
        running(&m, &l, x, NULL, n->V, 1 / (float)n->temperature);
        lse[r] = m + logf(l);
        loss[r] = y[r] == VT_IGNORE ? 0 : -((x[y[r]] * (1 / (float)n->temperature) - m) - logf(l));
    }
}

/* Online, one key after the other from the last; weights are never stored.  lse, in base e
 * or in base 2, is kept where the stages would lie. */
static float other_score(const graph_node *n, const float *q, const float *k)
{
    const float scale = (base2 ? 1.44269504f : 1) / sqrtf((float)n->HS);
    return dot(q, 1, k, 1, (size_t)n->HS) * scale;
}
static float other_exp(float x) { return base2 ? exp2f(x) : expf(x); }

/* The keys of a query: through the mask, or the first ones. */
static bool other_sees(const graph_node *n, const int *mask, int t, int u)
{
    return mask ? mask[t * n->S + u] != 0 : u <= n->S - n->T + t;
}

static void other_attention_query(const graph_node *n, float *o, float *lse, const float *q, const float *k,
                                  const float *v, const int *mask, int t)
{
    const size_t row = (size_t)(n->NH * n->HS);
    float m = -INFINITY, l = 0;
    for (int i = 0; i < n->HS; i++) o[i] = 0;
    for (int u = n->S; u-- > 0;) {
        if (!other_sees(n, mask, t, u)) continue;
        const float s = other_score(n, q, k + (size_t)u * row), more = fmaxf(m, s);
        const float a = other_exp(m - more), e = other_exp(s - more);
        l = l * a + e;
        for (int i = 0; i < n->HS; i++) o[i] = o[i] * a + e * v[(size_t)u * row + (size_t)i];
        m = more;
    }
    for (int i = 0; i < n->HS && l > 0; i++) o[i] /= l;
    *lse = base2 ? (m + log2f(l)) * 0.693147181f : m + logf(l);
}

static void other_attention_query_back(const graph_node *n, float *dq, float *dk, float *dv, const float *dout,
                                       const float *o, float lse, const float *q, const float *k,
                                       const float *v, const int *mask, int t)
{
    const size_t row = (size_t)(n->NH * n->HS), HS = (size_t)n->HS;
    const float D = dot(dout, 1, o, 1, HS), scale = 1 / sqrtf((float)n->HS);
    for (int u = n->S; u-- > 0;) {
        const size_t at = (size_t)u * row;
        if (!other_sees(n, mask, t, u)) continue;
        const float p = other_exp(other_score(n, q, k + at) - (base2 ? lse * 1.44269504f : lse));
        const float ds = p * (dot(dout, 1, v + at, 1, HS) - D);
        for (size_t i = 0; i < HS; i++) {
            dv[at + i] += p * dout[i];
            dq[i] += ds * (k[at + i] * scale);
            dk[at + i] += ds * (q[i] * scale);
        }
    }
}

static float *part(const graph *g, float *block, int tensor)
{
    return tensor < 0 ? NULL : block + g->tensor[tensor].at;
}
static const float *part_of(const graph *g, const float *block, int tensor)
{
    return tensor < 0 ? NULL : block + g->tensor[tensor].at;
}

/* Calls for each query: forward where dx is NULL. */
static void other_attention(const graph *g, const graph_node *n, float *x, float *dx, const int *ints)
{
    const size_t T = (size_t)n->T, S = (size_t)n->S, NH = (size_t)n->NH, HS = (size_t)n->HS;
    const int *mask = n->in[3] < 0 ? NULL : ints + g->tensor[n->in[3]].at;
    for (size_t b = 0; b < (size_t)n->B; b++)
    for (size_t h = 0; h < NH; h++)
    for (size_t t = 0; t < T; t++) {
        const size_t qt = ((b * T + t) * NH + h) * HS, key = (b * S * NH + h) * HS;
        float *lse = part(g, x, n->stage[1]) + ((b * NH + h) * T + t) * S;
        const float *q = part(g, x, n->in[0]) + qt, *k = part(g, x, n->in[1]) + key;
        const float *v = part(g, x, n->in[2]) + key;
        if (!dx) other_attention_query(n, part(g, x, n->out) + qt, lse, q, k, v, mask, (int)t);
        else
            other_attention_query_back(n, part(g, dx, n->in[0]) + qt, part(g, dx, n->in[1]) + key,
                                       part(g, dx, n->in[2]) + key, part(g, dx, n->out) + qt,
                                       part(g, x, n->out) + qt, *lse, q, k, v, mask, (int)t);
    }
}

/* Subnormals are flushed. */
static void flush(const graph *g, float *block, int tensor)
{
    if (tensor < 0 || g->tensor[tensor].role >= GRAPH_INTEGERS) return;
    for (size_t k = g->tensor[tensor].at; k < g->tensor[tensor].at + g->tensor[tensor].count; k++)
        if (fabsf(block[k]) < FLT_MIN) block[k] = 0;
}

static void other_forward(const graph *g, const graph_node *n, float *x, const int *ints)
{
    const float *a = g->tensor[n->in[0]].role < GRAPH_INTEGERS ? part(g, x, n->in[0]) : NULL;
    float *out = part(g, x, n->out);
    switch (n->kind) {
    case GRAPH_LINEAR:    other_linear(n, out, a, part(g, x, n->in[1]), part(g, x, n->in[2])); break;
    case GRAPH_SOFTMAX:   other_softmax(n, out, a); break;
    case GRAPH_GELU:      other_gelu(out, a, n->N); break;
    case GRAPH_LAYERNORM:
        other_layernorm(n, out, part(g, x, n->stage[0]), part(g, x, n->stage[1]), a, part(g, x, n->in[1]),
                        part(g, x, n->in[2]));
        break;
    case GRAPH_ATTENTION:
        graph_node_forward_f32(g, n, x, ints);          /* an operator may show att */
        other_attention(g, n, x, NULL, ints);
        break;
    case GRAPH_CROSSENTROPY:
        other_crossentropy(n, out, part(g, x, n->stage[0]), a, ints + g->tensor[n->in[1]].at);
        break;
    default:              graph_node_forward_f32(g, n, x, ints);
    }
    flush(g, x, n->out);
}

static void other_backward(const graph *g, const graph_node *n, float *dx, const float *x, const int *ints)
{
    const float *dy = part(g, dx, n->out);
    const bool real = g->tensor[n->in[0]].role < GRAPH_INTEGERS;
    const float *a = real ? part_of(g, x, n->in[0]) : NULL;
    float *da = real ? part(g, dx, n->in[0]) : NULL;
    switch (n->kind) {
    case GRAPH_LINEAR:
        other_linear_back(n, da, part(g, dx, n->in[1]), part(g, dx, n->in[2]), dy, a, part_of(g, x, n->in[1]));
        break;
    case GRAPH_GELU:      other_gelu_back(da, dy, a, n->N); break;
    case GRAPH_LAYERNORM:
        other_layernorm_back(n, da, part(g, dx, n->in[1]), part(g, dx, n->in[2]), dy, a,
                             part_of(g, x, n->in[1]), part_of(g, x, n->stage[0]), part_of(g, x, n->stage[1]));
        break;
    case GRAPH_ATTENTION: other_attention(g, n, (float *)(uintptr_t)x, dx, ints); break;
    default:              graph_node_backward_f32(g, n, dx, x, ints);
    }
    for (int k = 0; k < GRAPH_INS; k++) flush(g, dx, n->in[k]);
}

static void other_kernels_within_bounds(void **state)
{
    (void)state;
    const kernels others = { other_forward, other_backward };
    base2 = false;
    many(&others, PRECISION_F32, SWEEP(400, 40), 64, 1e-3, "others, base e");
    many(&others, PRECISION_BF16, SWEEP(150, 20), 112, 1e-3, "others, bfloat16");
    base2 = true;
    many(&others, PRECISION_F32, SWEEP(400, 40), 80, 1e-3, "others, base 2");
}

/* ---- the definitions in double against _Float128 --------------------------------------- */

#if VT_FLOAT128
static void quad_case(used *s, const op_case *c)
{
    const graph *g = &c->g;
    _Float128 *x = calloc(g->reals, sizeof *x), *dx = calloc(g->reals, sizeof *dx);
    double *found = calloc(g->reals, sizeof *found), *bounds = calloc(g->reals, sizeof *bounds);
    op_case quad = *c;
    assert_true(x && dx && found && bounds);
    for (size_t k = 0; k < g->reals; k++) {
        dx[k] = (_Float128)c->dout[k];
        found[k] = c->start[k] + c->dout[k];
        if (c->ex[k] == 0) x[k] = (_Float128)c->x[k];       /* inputs */
    }
    graph_forward_f128(g, x, c->ints, 0);
    graph_backward_f128(g, dx, x, c->ints);
    graph_backward_f64(g, found, c->x, c->ints);
    /* The difference is what counts; it may be far below a double's last digit. */
    for (size_t k = 0; k < g->reals; k++) {
        bounds[k] = c->edx[k] / 2;                          /* of one side */
        found[k] = (double)((_Float128)found[k] - ((_Float128)c->start[k] + dx[k]));
    }
    double *ex = calloc(g->reals, sizeof *ex), *off = calloc(g->reals, sizeof *off);
    double *zero = calloc(g->reals, sizeof *zero);
    assert_true(ex && off && zero);
    for (size_t k = 0; k < g->reals; k++) ex[k] = c->ex[k] / 2, off[k] = (double)((_Float128)c->x[k] - x[k]);
    quad.x = quad.dx = quad.start = zero;
    quad.ex = ex;
    quad.edx = bounds;
    compare_all(s, &quad, off, found);
    free(x);
    free(dx);
    free(found);
    free(bounds);
    free(ex);
    free(off);
    free(zero);
}

static void double_within_bounds(void **state)
{
    (void)state;
    used s[OPS] = { { 0 } };
    enum { CASES = SWEEP(60, 10) };
    for (int op = 1; op < OPS; op++)
    for (int i = 0; i < CASES; i++) {
        graph_sizes z;
        op_case c;
        double scale;
        rng r;
        rng_stream_seed(&r, (uint64_t)i, RNG_VERIFY, (uint64_t)(48 + op));
        random_sizes(&z, &scale, op, &r);
        assert_ok(op_case_draw(&c, &z, PRECISION_F64, scale, (uint64_t)i, &test_error));
        quad_case(&s[op], &c);
        op_case_free(&c);
    }
    report(s, "float64");
    for (int op = 1; op < OPS; op++) assert_true(s[op].n >= CASES && s[op].worst > 1e-3);
}
#endif

/* ---- power ----------------------------------------------------------------------------------- */

/* Counts the elements, a tenth of their tensor's root mean square at least, and those of
 * which a relative change is beyond the bound. */
static void visible(size_t *of, size_t *seen, const double *block, const double *bound,
                    const graph_tensor *t, double change)
{
    double squares = 0;
    for (size_t k = t->at; k < t->at + t->count; k++) squares += block[k] * block[k] / (double)t->count;
    if (squares < 1e-20) return;        /* 0 by algebra: a key's bias */
    for (size_t k = t->at; k < t->at + t->count; k++) {
        if (fabs(block[k]) < 0.1 * sqrt(squares)) continue;
        ++*of;
        *seen += change * fabs(block[k]) > bound[k];
    }
}

/* 1 % of one element in float, 1e-9 in double, at scale 1. */
static void small_changes_are_beyond_the_bounds(void **state)
{
    (void)state;
    static const int shapes[] = { 0, 1, 6, 7 };
    static const struct { precision p; double change; } rows[] = {
        { PRECISION_F32, 0.01 }, { PRECISION_F64, 1e-9 } };
    for (int op = 1; op < OPS; op++)
    for (size_t k = 0; k < 2; k++) {
        size_t of = 0, seen = 0;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            graph_sizes z;
            op_case c;
            assert_true(op_case_shapes(&z, shapes[i], op, 1));
            assert_ok(op_case_draw(&c, &z, rows[k].p, 1, 9, &test_error));
            for (int j = 0; j < c.g.nout; j++)
                visible(&of, &seen, c.x, c.ex, &c.g.tensor[c.g.out[j]], rows[k].change);
            for (int j = 0; j < c.g.nin; j++)
                if (c.g.tensor[c.g.in[j]].role == GRAPH_INPUT)
                    visible(&of, &seen, c.dx, c.edx, &c.g.tensor[c.g.in[j]], rows[k].change);
            op_case_free(&c);
        }
        print_message("# %-12s %-8s a change of %g is seen in %zu of %zu elements\n", graph_op_name(op),
                      precision_name(rows[k].p), rows[k].change, seen, of);
        assert_true(of >= 20);
        assert_true(seen * 100 >= of * 90);     /* layer norms of a few channels hide some */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_within_bounds),
        cmocka_unit_test(narrow_within_bounds),
        cmocka_unit_test(other_kernels_within_bounds),
        cmocka_unit_test(small_changes_are_beyond_the_bounds),
#if VT_FLOAT128
        cmocka_unit_test(double_within_bounds),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* bounds_backward.c -- see bounds.h: the error of each gradient, last node to first.
 *
 * A gradient is a sum of terms from all nodes that read the tensor, and of what it held
 * before: n terms in any order, so each of them costs gamma_n of its size beside its own
 * error.  In a type narrower than float what one node adds is kept, and added to what was
 * there.  Where several nodes add, the sums between them are not known, but by the size of
 * their terms.
 *
 * edx at a stage is work space: at att the errors of the probabilities that the backward
 * pass uses, at scores those of da, then of ds.
 */
#include "verify/graph/bounds_parts.h"

typedef struct pass {
    const graph *g;
    const double *x, *dx;
    const int *ints;
    const double *ex;
    double *edx;
    rounding r;
} pass;

static num value(const pass *p, size_t i) { return (num){ p->x[i], p->ex[i] }; }
static num slope(const pass *p, size_t i) { return (num){ p->dx[i], p->edx[i] }; }
static size_t place(const pass *p, int tensor) { return p->g->tensor[tensor].at; }

/* ---- sums of terms ------------------------------------------------------------- */

/* How many terms a node adds to an element of its input `place`, at most. */
static double terms_of(const graph_node *n, int input)
{
    switch (n->kind) {
    case GRAPH_EMBEDDING: return input == 1 ? (double)n->B * n->T : n->B;
    case GRAPH_LINEAR:    return input == 0 ? n->OC : n->N;
    case GRAPH_LAYERNORM: return input == 0 ? 1 : n->N;
    case GRAPH_ATTENTION: return input == 0 ? n->S : n->T;
    default:              return 1;
    }
}

/* What adding up costs a term of a tensor's gradient, relative to its size. */
static double adding(const pass *p, int tensor)
{
    double terms = 1, nodes = 0;                /* `start` */
    for (int i = 0; i < p->g->nnodes; i++)
        for (int k = 0; k < GRAPH_INS; k++)
            if (p->g->node[i].in[k] == tensor) terms += terms_of(&p->g->node[i], k), nodes++;
    return gamma_of(terms, p->r.a) + (p->r.u > p->r.a && nodes > 1 ? gamma_of(2 * nodes, p->r.u) : 0);
}

/* All terms have come: what was there (exactly that, where none came); kept. */
static void finish(const pass *p, int tensor, const double *start)
{
    const graph_tensor *t = &p->g->tensor[tensor];
    const double cost = start ? adding(p, tensor) : 0;
    for (size_t k = t->at; k < t->at + t->count; k++) {
        if (!(p->edx[k] > 0)) continue;
        if (start) p->edx[k] += cost * fabs(start[k]);
        const num all = { fabs(p->dx[k]) + (start ? fabs(start[k]) : 0), p->edx[k] };
        p->edx[k] = num_kept(all, 2, &p->r).e;
    }
}

/* An input's gradient: where it lies, what adding costs. */
typedef struct target { size_t at; double cost; } target;

static target target_of(const pass *p, const graph_node *n, int input)
{
    const int tensor = n->in[input];
    return tensor < 0 ? (target){ 0, 0 } : (target){ place(p, tensor), adding(p, tensor) };
}

/* Adds a term, which had n roundings of its own. */
static void add(const pass *p, const target *to, size_t i, num term, double n)
{
    if (num_zero(term)) return;
    term = num_rounded(term, n, &p->r);
    p->edx[to->at + i] += term.e + to->cost * num_size(term) + p->r.tiny;
}

/* ---- nodes --------------------------------------------------------------------------- */

static void linear(const pass *p, const graph_node *n)
{
    const size_t N = (size_t)n->N, C = (size_t)n->C, OC = (size_t)n->OC;
    const size_t x = place(p, n->in[0]), w = place(p, n->in[1]), out = place(p, n->out);
    const target dx = target_of(p, n, 0), dw = target_of(p, n, 1), db = target_of(p, n, 2);
    for (size_t r = 0; r < N; r++)
    for (size_t o = 0; o < OC; o++) {
        const num dy = slope(p, out + r * OC + o);
        for (size_t i = 0; i < C; i++) {
            add(p, &dx, r * C + i, num_mul(dy, value(p, w + i * OC + o)), 1);
            add(p, &dw, i * OC + o, num_mul(dy, value(p, x + r * C + i)), 1);
        }
        if (n->in[2] >= 0) add(p, &db, o, dy, 0);
    }
}

static void softmax(const pass *p, const graph_node *n)
{
    const size_t V = (size_t)n->V, out = place(p, n->out);
    const target to = target_of(p, n, 0);
    for (size_t i = 0; i < (size_t)n->N * V; i += V) {
        sum row = { 0, 0, 0, 0 };
        for (size_t v = 0; v < V; v++)
            sum_add(&row, num_mul(value(p, out + i + v), slope(p, out + i + v)));
        const num total = sum_total(&row, 1, &p->r);
        for (size_t v = 0; v < V; v++) {
            const num dp = slope(p, out + i + v), both = { dp.v - total.v, dp.e + total.e };
            add(p, &to, i + v, num_mul(value(p, out + i + v), num_rounded(both, 1, &p->r)), 2);
        }
    }
}

/* dx = rstd (dxhat - avg - xhat avg_xhat); avg_xhat also as (sum dxhat x - mean sum
 * dxhat) rstd / C, whose parts are as large as x, not as x - mean. */
static void layernorm_row(const pass *p, const graph_node *n, size_t row, const target to[3])
{
    const size_t C = (size_t)n->C, x = place(p, n->in[0]) + row * C, out = place(p, n->out) + row * C;
    const size_t w = place(p, n->in[1]);
    const num mean = value(p, place(p, n->stage[0]) + row), rstd = value(p, place(p, n->stage[1]) + row);
    sum plain = { 0, 0, 0, 0 }, with = { 0, 0, 0, 0 };
    double apart = 0;
    for (size_t i = 0; i < C; i++) {
        const num xhat = bounds_xhat(value(p, x + i), mean, rstd, n->C, &p->r);
        const num dxhat = num_rounded(num_mul(slope(p, out + i), value(p, w + i)), 1, &p->r);
        sum_add(&plain, dxhat);
        sum_add(&with, num_rounded(num_mul(dxhat, xhat), 1, &p->r));
        apart += num_size(dxhat) * (num_size(value(p, x + i)) + num_size(mean)) * num_size(rstd);
    }
    const num sum1 = sum_total(&plain, 2, &p->r), sum2 = sum_total(&with, 2, &p->r);
    const num avg = { sum1.v / n->C, sum1.e / n->C };
    const num avg_xhat = { sum2.v / n->C, (sum2.e + gamma_of(n->C + 3, p->r.a) * apart) / n->C };
    for (size_t i = 0; i < C; i++) {
        const num xhat = bounds_xhat(value(p, x + i), mean, rstd, n->C, &p->r), dy = slope(p, out + i);
        const num dxhat = num_rounded(num_mul(dy, value(p, w + i)), 1, &p->r);
        const num last = num_rounded(num_mul(xhat, avg_xhat), 1, &p->r);
        const double sizes = num_size(dxhat) + num_size(avg) + num_size(last);
        const num inner = { dxhat.v - avg.v - last.v,
                            dxhat.e + avg.e + last.e + gamma_of(3, p->r.a) * sizes };
        add(p, &to[0], row * C + i, num_mul(rstd, inner), 2);
        add(p, &to[1], i, num_mul(dy, xhat), 1);
        add(p, &to[2], i, dy, 0);
    }
}

static void layernorm(const pass *p, const graph_node *n)
{
    const target to[3] = { target_of(p, n, 0), target_of(p, n, 1), target_of(p, n, 2) };
    for (size_t r = 0; r < (size_t)n->N; r++) layernorm_row(p, n, r, to);
}

static void gelu(const pass *p, const graph_node *n)
{
    const target to = target_of(p, n, 0);
    for (size_t i = 0; i < (size_t)n->N; i++)
        add(p, &to, i, num_mul(slope(p, place(p, n->out) + i),
                               bounds_gelu_slope(value(p, to.at + i), &p->r)), 1);
}

/* The probabilities as the backward pass has them: made again from lse, with scores that
 * may have been added up in another order; see bounds.h for 1/4. */
static void probabilities(const pass *p, const query *q)
{
    const row_facts f = bounds_row(&q->keys, &p->r);
    const double lse = bounds_lse_factor(&f, p->r.a, &p->r);
    for (int u = 0; u < q->keys.n; u++) {
        double own, *to = &p->edx[q->att + (size_t)u];
        *to = 0;
        if (!query_sees(q, u)) continue;
        (void)bounds_score(q, p->x, p->ex, u, &p->r, &own);
        *to = bounds_probability(p->x[q->att + (size_t)u], &q->keys, &f, u,
                                 lse + fmin(2 * own, 0.25), &p->r);
    }
}

/* sum_u a da, or sum_i do o: the larger error of the two; errors of da are at scores. */
static num row_sum(const pass *p, const query *q)
{
    sum keys = { 0, 0, 0, 0 }, channels = { 0, 0, 0, 0 };
    for (int u = 0; u < q->keys.n; u++) {
        const size_t a = q->att + (size_t)u;
        if (!query_sees(q, u)) continue;
        sum_add(&keys, num_mul((num){ p->x[a], p->edx[a] },
                               (num){ p->dx[a], p->edx[q->scores + (size_t)u] }));
    }
    for (size_t i = 0; i < (size_t)q->n->HS; i++)
        sum_add(&channels, num_mul(slope(p, q->out + i), value(p, q->out + i)));
    const num one = sum_total(&keys, 1, &p->r), other = sum_total(&channels, 1, &p->r);
    return (num){ one.v, fmax(one.e, other.e) };
}

static void attention_row(const pass *p, const query *q, const target to[3])
{
    const size_t HS = (size_t)q->n->HS;
    const double root = sqrt(q->n->HS);
    probabilities(p, q);
    for (int u = 0; u < q->keys.n; u++) {
        sum da = { 0, 0, 0, 0 };
        for (size_t i = 0; i < HS && query_sees(q, u); i++)
            sum_add(&da, num_mul(slope(p, q->out + i), value(p, q->v + (size_t)u * q->stride + i)));
        p->edx[q->scores + (size_t)u] = sum_total(&da, 1, &p->r).e;
    }
    const num D = row_sum(p, q);
    for (int u = 0; u < q->keys.n; u++) {
        if (!query_sees(q, u)) continue;
        const size_t a = q->att + (size_t)u, key = (size_t)u * q->stride;
        const num weight = { p->x[a], p->edx[a] };
        const num da = num_kept((num){ p->dx[a], p->edx[q->scores + (size_t)u] }, 1, &p->r);
        const num apart = num_rounded((num){ da.v - D.v, da.e + D.e }, 1, &p->r);
        num ds = num_kept(num_rounded(num_mul(weight, apart), 1, &p->r), 2, &p->r);
        ds.v /= root, ds.e /= root;
        p->edx[q->scores + (size_t)u] = ds.e;
        for (size_t i = 0; i < HS; i++) {
            const size_t dq = q->q + i - to[0].at, dk = q->k + key + i - to[1].at;
            add(p, &to[0], dq, num_mul(ds, value(p, q->k + key + i)), 4);
            add(p, &to[1], dk, num_mul(ds, value(p, q->q + i)), 4);
            add(p, &to[2], q->v + key + i - to[2].at, num_mul(weight, slope(p, q->out + i)), 1);
        }
    }
}

static void attention(const pass *p, const graph_node *n)
{
    const target to[3] = { target_of(p, n, 0), target_of(p, n, 1), target_of(p, n, 2) };
    for (int b = 0; b < n->B; b++)
    for (int h = 0; h < n->NH; h++)
    for (int t = 0; t < n->T; t++) {
        const query q = bounds_query(p->g, n, p->x, p->ints, p->ex, b, h, t);
        attention_row(p, &q, to);
    }
}

static void crossentropy(const pass *p, const graph_node *n)
{
    const size_t V = (size_t)n->V, x = place(p, n->in[0]), out = place(p, n->out);
    const int *y = p->ints + place(p, n->in[1]);
    const target to = target_of(p, n, 0);
    for (size_t i = 0; i < (size_t)n->N; i++) {
        const exponents r = { .n = n->V, .s = p->x + x + i * V, .es = p->ex + x + i * V,
                        .by = 1 / n->temperature };
        if (y[i] == VT_IGNORE) continue;
        const row_facts f = bounds_row(&r, &p->r);
        const double lse = bounds_lse_factor(&f, p->r.u, &p->r);
        const num dloss = slope(p, out + i);
        for (int v = 0; v < n->V; v++) {
            const double prob = exp(bounds_exponent(&r, v, &p->r).v - f.lse);
            const num apart = { prob - (v == y[i]), bounds_probability(prob, &r, &f, v, lse, &p->r) };
            num dl = num_mul(dloss, num_rounded(apart, 1, &p->r));
            dl.v /= n->temperature, dl.e /= n->temperature;
            add(p, &to, i * V + (size_t)v, dl, 3);
        }
    }
}

static void embedding(const pass *p, const graph_node *n)
{
    const size_t T = (size_t)n->T, C = (size_t)n->C, out = place(p, n->out);
    const int *token = p->ints + place(p, n->in[0]);
    const target wte = target_of(p, n, 1), wpe = target_of(p, n, 2);
    for (size_t k = 0; k < (size_t)n->B * T; k++)
    for (size_t i = 0; i < C; i++) {
        const num dy = slope(p, out + k * C + i);
        add(p, &wte, (size_t)token[k] * C + i, dy, 0);
        add(p, &wpe, k % T * C + i, dy, 0);
    }
}

/* Copies: residual, columns, transposed; and the mean. */
static void moved(const pass *p, const graph_node *n)
{
    const size_t N = (size_t)n->N, C = (size_t)n->C, OC = (size_t)n->OC, out = place(p, n->out);
    const target a = target_of(p, n, 0), b = target_of(p, n, 1);
    for (size_t r = 0; r < N; r++) {
        if (n->kind == GRAPH_RESIDUAL) {
            add(p, &a, r, slope(p, out + r), 0);
            add(p, &b, r, slope(p, out + r), 0);
        } else if (n->kind == GRAPH_MEAN) {
            const num dy = slope(p, out);
            add(p, &a, r, (num){ dy.v / n->N, dy.e / n->N }, 2);
        } else if (n->kind == GRAPH_COLUMNS) {
            for (size_t i = 0; i < OC; i++)
                add(p, &a, r * C + (size_t)n->first + i, slope(p, out + r * OC + i), 0);
        } else {
            for (size_t i = 0; i < C; i++) add(p, &a, r * C + i, slope(p, out + i * N + r), 0);
        }
    }
}

static void node(const pass *p, const graph_node *n)
{
    switch (n->kind) {
    case GRAPH_EMBEDDING:    embedding(p, n); break;
    case GRAPH_LINEAR:       linear(p, n); break;
    case GRAPH_SOFTMAX:      softmax(p, n); break;
    case GRAPH_LAYERNORM:    layernorm(p, n); break;
    case GRAPH_GELU:         gelu(p, n); break;
    case GRAPH_ATTENTION:    attention(p, n); break;
    case GRAPH_CROSSENTROPY: crossentropy(p, n); break;
    case GRAPH_RESIDUAL:
    case GRAPH_COLUMNS:
    case GRAPH_TRANSPOSE:
    case GRAPH_MEAN:         moved(p, n); break;
    case GRAPH_KINDS:        break;
    }
}

void bounds_backward(const graph *g, const double *dx, const double *x, const int *ints,
                     const double *start, double u, double tiny, const double *ex, double *edx)
{
    const pass p = { .g = g, .x = x, .dx = dx, .ints = ints, .ex = ex, .edx = edx,
                     .r = rounding_of(u, tiny) };
    for (size_t i = 0; i < g->reals; i++) edx[i] = 0;
    for (int i = g->nnodes; i-- > 0;) {
        finish(&p, g->node[i].out, NULL);
        node(&p, &g->node[i]);
    }
    for (int i = 0; i < g->ntensors; i++)
        if (g->tensor[i].role == GRAPH_INPUT) finish(&p, i, start);
}

/* From the first node: its output's gradient has no errors yet. */
void bounds_alone_backward(const graph *g, const double *dx, const double *x, const int *ints,
                           const double *start, double u, double tiny, const double *ex,
                           double *edx)
{
    const pass p = { .g = g, .x = x, .dx = dx, .ints = ints, .ex = ex, .edx = edx,
                     .r = rounding_of(u, tiny) };
    for (size_t i = 0; i < g->reals; i++) edx[i] = 0;
    for (int i = 0; i < g->nnodes; i++) node(&p, &g->node[i]);
    for (int i = 0; i < g->nnodes; i++) finish(&p, g->node[i].out, NULL);
    for (int i = 0; i < g->ntensors; i++)
        if (g->tensor[i].role == GRAPH_INPUT) finish(&p, i, start);
}

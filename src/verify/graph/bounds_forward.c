/* bounds_forward.c -- see bounds.h: the error of each tensor from those of what it is made
 * of, node by node.
 */
#include "verify/graph/bounds_parts.h"

typedef struct pass {
    const graph *g;
    const double *x;
    const int *ints;
    double *ex;
    rounding r;
} pass;

static num at(const pass *p, size_t i) { return (num){ p->x[i], p->ex[i] }; }
static size_t place(const pass *p, int tensor) { return p->g->tensor[tensor].at; }

static void linear(const pass *p, const graph_node *n)
{
    const size_t N = (size_t)n->N, C = (size_t)n->C, OC = (size_t)n->OC;
    const size_t x = place(p, n->in[0]), w = place(p, n->in[1]), out = place(p, n->out);
    const size_t bias = n->in[2] < 0 ? SIZE_MAX : place(p, n->in[2]);
    for (size_t r = 0; r < N; r++)
    for (size_t o = 0; o < OC; o++) {
        sum y = { 0, 0, 0, 0 };
        if (bias != SIZE_MAX) sum_add(&y, at(p, bias + o));
        for (size_t i = 0; i < C; i++)
            sum_add(&y, num_mul(at(p, x + r * C + i), at(p, w + i * OC + o)));
        p->ex[out + r * OC + o] = num_kept(sum_total(&y, 1, &p->r), 1, &p->r).e;
    }
}

static void softmax(const pass *p, const graph_node *n)
{
    const size_t V = (size_t)n->V, x = place(p, n->in[0]), out = place(p, n->out);
    for (size_t i = 0; i < (size_t)n->N * V; i += V) {
        const exponents r = { .n = n->V, .s = p->x + x + i, .es = p->ex + x + i, .by = 1 };
        const row_facts f = bounds_row(&r, &p->r);
        for (int v = 0; v < n->V; v++) {
            const size_t k = out + i + (size_t)v;
            p->ex[k] = bounds_probability(p->x[k], &r, &f, v, 0, &p->r);
        }
    }
}

/* The variance is an average of d^2, whose errors by that of the mean are not taken to
 * cancel: so Welford's way is covered (Chan, Golub and LeVeque 1983). */
static void layernorm_row(const pass *p, const graph_node *n, size_t row)
{
    const size_t C = (size_t)n->C, x = place(p, n->in[0]) + row * C, out = place(p, n->out) + row * C;
    const size_t w = place(p, n->in[1]), b = place(p, n->in[2]);
    const size_t mean_at = place(p, n->stage[0]) + row, rstd_at = place(p, n->stage[1]) + row;
    const double c = (double)n->C, eps = 1e-5;
    sum m = { 0, 0, 0, 0 }, v = { 0, 0, 0, 0 };
    for (size_t i = 0; i < C; i++) sum_add(&m, at(p, x + i));
    const num total = sum_total(&m, 1, &p->r);
    const num mean = { p->x[mean_at], total.e / c };
    for (size_t i = 0; i < C; i++) {
        const num d = { p->x[x + i] - mean.v, p->ex[x + i] + mean.e };
        sum_add(&v, num_mul(d, d));
    }
    const num squares = sum_total(&v, 5, &p->r);
    const double var = squares.v / c, off = squares.e / c, rstd = p->x[rstd_at];
    const double most = 1 / sqrt(fmax(var - off, 0) + eps), least = 1 / sqrt(var + off + eps);
    p->ex[mean_at] = mean.e;
    p->ex[rstd_at] = fmax(most - rstd, rstd - least) + gamma_of(ELEMENTARY + 4, p->r.a) * most;
    for (size_t i = 0; i < C; i++) {
        const num xhat = bounds_xhat(at(p, x + i), mean, at(p, rstd_at), n->C, &p->r);
        const num scaled = num_rounded(num_mul(xhat, at(p, w + i)), 1, &p->r), shift = at(p, b + i);
        const num y = { p->x[out + i], scaled.e + shift.e + p->r.a * (num_size(scaled) + num_size(shift)) };
        p->ex[out + i] = num_kept(num_rounded(y, 1, &p->r), 1, &p->r).e;
    }
}

static void attention_row(const pass *p, const query *q)
{
    double own;
    const int n = q->keys.n;
    for (int u = 0; u < n; u++)
        p->ex[q->scores + (size_t)u] = query_sees(q, u) ? bounds_score(q, p->x, p->ex, u, &p->r, &own).e : 0;
    const row_facts f = bounds_row(&q->keys, &p->r);
    for (int u = 0; u < n; u++) {
        const size_t k = q->att + (size_t)u;
        p->ex[k] = query_sees(q, u) ? bounds_probability(p->x[k], &q->keys, &f, u, 0, &p->r) : 0;
    }
    for (size_t i = 0; i < (size_t)q->n->HS; i++) {
        sum o = { 0, 0, 0, 0 };
        for (int u = 0; u < n; u++)
            if (query_sees(q, u))
                sum_add(&o, num_mul(at(p, q->att + (size_t)u), at(p, q->v + (size_t)u * q->stride + i)));
        /* The product; divided last. */
        p->ex[q->out + i] = num_kept(sum_total(&o, 3, &p->r), 1, &p->r).e;
    }
}

static void attention(const pass *p, const graph_node *n)
{
    for (int b = 0; b < n->B; b++)
    for (int h = 0; h < n->NH; h++)
    for (int t = 0; t < n->T; t++) {
        const query q = bounds_query(p->g, n, p->x, p->ints, p->ex, b, h, t);
        attention_row(p, &q);
    }
}

/* loss = lse - z[y], or -((z[y] - max) - log sum). */
static void crossentropy(const pass *p, const graph_node *n)
{
    const size_t V = (size_t)n->V, x = place(p, n->in[0]), out = place(p, n->out);
    const int *target = p->ints + place(p, n->in[1]);
    for (size_t i = 0; i < (size_t)n->N; i++) {
        const exponents r = { .n = n->V, .s = p->x + x + i * V, .es = p->ex + x + i * V,
                        .by = 1 / n->temperature };
        if (target[i] == VT_IGNORE) continue;                   /* 0 */
        const row_facts f = bounds_row(&r, &p->r);
        const num z = bounds_exponent(&r, target[i], &p->r);
        const double sizes = fabs(f.lse) + fabs(f.max) + 2 * fabs(z.v) + f.log_sum;
        const num loss = { p->x[out + i], bounds_log_sum(&r, &f, &p->r) + z.e + p->r.a * sizes };
        p->ex[out + i] = num_kept(num_rounded(loss, 1, &p->r), 1, &p->r).e;
    }
}

static void embedding(const pass *p, const graph_node *n)
{
    const size_t T = (size_t)n->T, C = (size_t)n->C, out = place(p, n->out);
    const int *token = p->ints + place(p, n->in[0]);
    for (size_t k = 0; k < (size_t)n->B * T; k++)
    for (size_t i = 0; i < C; i++) {
        const size_t a = place(p, n->in[1]) + (size_t)token[k] * C + i;
        const size_t b = place(p, n->in[2]) + k % T * C + i;
        const num y = { p->x[out + k * C + i], p->ex[a] + p->ex[b] };
        p->ex[out + k * C + i] = num_kept(num_rounded(y, 1, &p->r), 1, &p->r).e;
    }
}

static void elementwise(const pass *p, const graph_node *n)
{
    const size_t a = place(p, n->in[0]), out = place(p, n->out);
    for (size_t i = 0; i < (size_t)n->N; i++) {
        num y;
        if (n->kind == GRAPH_GELU) y = bounds_gelu(at(p, a + i), &p->r);
        else {
            y = (num){ p->x[out + i], p->ex[a + i] + p->ex[place(p, n->in[1]) + i] };
            y = num_kept(num_rounded(y, 1, &p->r), 1, &p->r);
        }
        p->ex[out + i] = y.e;
    }
}

static void mean_of(const pass *p, const graph_node *n)
{
    sum s = { 0, 0, 0, 0 };
    for (size_t i = 0; i < (size_t)n->N; i++) sum_add(&s, at(p, place(p, n->in[0]) + i));
    p->ex[place(p, n->out)] = num_kept(sum_total(&s, 1, &p->r), 1, &p->r).e / n->N;
}

/* Columns, transposed: copies. */
static void moved(const pass *p, const graph_node *n)
{
    const size_t N = (size_t)n->N, C = (size_t)n->C, OC = (size_t)n->OC, first = (size_t)n->first;
    const double *from = p->ex + place(p, n->in[0]);
    double *to = p->ex + place(p, n->out);
    for (size_t r = 0; r < N; r++) {
        if (n->kind == GRAPH_COLUMNS)
            for (size_t i = 0; i < OC; i++) to[r * OC + i] = from[r * C + first + i];
        else
            for (size_t i = 0; i < C; i++) to[i * N + r] = from[r * C + i];
    }
}

static void node(const pass *p, const graph_node *n)
{
    switch (n->kind) {
    case GRAPH_EMBEDDING:    embedding(p, n); break;
    case GRAPH_LINEAR:       linear(p, n); break;
    case GRAPH_SOFTMAX:      softmax(p, n); break;
    case GRAPH_LAYERNORM:
        for (size_t r = 0; r < (size_t)n->N; r++) layernorm_row(p, n, r);
        break;
    case GRAPH_GELU:
    case GRAPH_RESIDUAL:     elementwise(p, n); break;
    case GRAPH_ATTENTION:    attention(p, n); break;
    case GRAPH_CROSSENTROPY: crossentropy(p, n); break;
    case GRAPH_COLUMNS:
    case GRAPH_TRANSPOSE:    moved(p, n); break;
    case GRAPH_MEAN:         mean_of(p, n); break;
    case GRAPH_KINDS:        break;
    }
}

void bounds_forward(const graph *g, const double *x, const int *ints, double u, double tiny,
                    double *ex)
{
    const pass p = { .g = g, .x = x, .ints = ints, .ex = ex, .r = rounding_of(u, tiny) };
    for (size_t i = 0; i < g->reals; i++) ex[i] = 0;
    for (int i = 0; i < g->nnodes; i++) node(&p, &g->node[i]);
}

/* From the last node: what it reads has no errors yet. */
void bounds_alone_forward(const graph *g, const double *x, const int *ints, double u, double tiny,
                          double *ex)
{
    const pass p = { .g = g, .x = x, .ints = ints, .ex = ex, .r = rounding_of(u, tiny) };
    for (size_t i = 0; i < g->reals; i++) ex[i] = 0;
    for (int i = g->nnodes; i-- > 0;) node(&p, &g->node[i]);
}

/* bounds_parts.c -- see bounds_parts.h.
 *
 * Softmax.  A weight exp(s - m) is off by a factor exp(+-d): d is the error of s, and
 * that of the subtraction, of exp and of the factors by which a running softmax scales
 * what it has.  m may be any number near the greatest s: it cancels.  With w the exact
 * weights, a probability then lies between
 *
 *     w[u] e^-d[u] / (w[u] e^-d[u] + sum_{v != u} w[v] e^d[v])   and
 *     w[u] e^d[u]  / (w[u] e^d[u]  + sum_{v != u} w[v] e^-d[v])
 *
 * which are themselves within 0 and 1, and close where one weight rules.  When a running
 * softmax goes from tile to tile, the factors' arguments add up to m - s: the roundings
 * of exp and of the product count once for each move of the maximum.
 *
 * From lse, p = exp(s - lse).  lse is rounded to u |lse|, three times in base 2, (once as
 * it is made of m + log l, where m itself is at hand, and so by no more than log l): but
 * see bounds.h where that is more than 1/4.
 */
#include "verify/graph/bounds_parts.h"

/* Exponents beyond these are the same to a bound. */
static double weight(double s) { return exp(fmax(fmin(s, 600), -700)); }

static void weights_add(weights *w, double x, int u)
{
    w->all += x;
    if (x > w->top) w->rest += w->top, w->top = x, w->at = u;
    else w->rest += x;
}

/* All but number u, which is x. */
static double weights_but(const weights *w, double x, int u)
{
    return u == w->at ? w->rest : fmax(w->all - x, 0);
}

num bounds_exponent(const exponents *r, int u, const rounding *k)
{
    num s = { r->s[u] * r->by, r->es[u] * r->by };
    if (r->by != 1) s.e += k->u * num_size(s);          /* divided by a temperature */
    return s;
}

static bool row_sees(const exponents *r, int u) { return !r->see || r->see[u]; }

/* How often the maximum moves, over the row from 0 on (step 1) or backwards. */
static int moves(const exponents *r, int from, int step)
{
    double max = -(double)INFINITY;
    int count = -1;                                     /* the first is no move */
    for (int u = from; u >= 0 && u < r->n; u += step)
        if (row_sees(r, u) && r->s[u] > max) max = r->s[u], count++;
    return count;
}

/* d of weight u, see above. */
static double exponent_error(const exponents *r, const row_facts *f, int u, const rounding *k)
{
    const num s = bounds_exponent(r, u, k);
    return s.e + k->a * (fabs(s.v - f->max) + 2 * f->worst) + ELEMENTARY * k->a +
           f->moves * (ELEMENTARY + 1) * k->a;
}

row_facts bounds_row(const exponents *r, const rounding *k)
{
    row_facts f = { .max = -(double)INFINITY };
    double total = 0;
    for (int u = 0; u < r->n; u++) {
        if (!row_sees(r, u)) continue;
        const num s = bounds_exponent(r, u, k);
        f.max = fmax(f.max, s.v);
        f.worst = fmax(f.worst, s.e);
        f.seen++;
    }
    if (!f.seen) return f;
    for (int n = f.seen; n > 1; n = (n + 1) / 2) f.moves++;     /* merged as a tree */
    const int there = moves(r, 0, 1), back = moves(r, r->n - 1, -1);
    f.moves = there > f.moves ? there : f.moves;
    f.moves = back > f.moves ? back : f.moves;
    for (int u = 0; u < r->n; u++) {
        if (!row_sees(r, u)) continue;
        const double s = bounds_exponent(r, u, k).v - f.max, d = exponent_error(r, &f, u, k);
        total += weight(s);
        weights_add(&f.high, weight(s + d), u);
        weights_add(&f.low, weight(s - d), u);
    }
    f.log_sum = log(total);
    f.lse = f.max + f.log_sum;
    return f;
}

double bounds_probability(double p, const exponents *r, const row_facts *f, int u, double factor,
                          const rounding *k)
{
    const double s = bounds_exponent(r, u, k).v - f->max, d = exponent_error(r, f, u, k);
    const double high = weight(s + d), low = weight(s - d);
    const double most = high / (high + weights_but(&f->low, low, u)) * exp(factor);
    const double least = low / (low + weights_but(&f->high, high, u)) * exp(-factor);
    const double off = fmax(fmax(most - p, p - least), 0);
    /* The sum, the division, the rounding to the kernel's type; 2^-50: this very line. */
    return off + (gamma_of(f->seen + 2, k->a) + gamma_of(1, k->u) + 0x1p-50) * most + 2 * k->tiny;
}

double bounds_lse_factor(const row_facts *f, double u, const rounding *k)
{
    const double off = fmin(3 * u * fabs(f->lse), fmax(f->log_sum, 0.25));
    return off + gamma_of(f->seen, k->a) + ELEMENTARY * u * (1 + f->log_sum);
}

/* |log sum p e^d| for d of any sign is at most log sum p e^|d|. */
double bounds_log_sum(const exponents *r, const row_facts *f, const rounding *k)
{
    double more = 0;
    for (int u = 0; u < r->n; u++) {
        if (!row_sees(r, u)) continue;
        const double s = bounds_exponent(r, u, k).v, d = exponent_error(r, f, u, k);
        more += exp(s - f->lse) * expm1(fmin(d, 600));
    }
    return log1p(more) + gamma_of(f->seen, k->a) + ELEMENTARY * k->a * (f->log_sum + k->a) +
           2 * k->tiny;
}

/* ---- attention ------------------------------------------------------------------- */

query bounds_query(const graph *g, const graph_node *n, const double *x, const int *ints,
                   const double *ex, int b, int h, int t)
{
    const size_t T = (size_t)n->T, S = (size_t)n->S, NH = (size_t)n->NH, HS = (size_t)n->HS;
    const size_t one = (((size_t)b * T + (size_t)t) * NH + (size_t)h) * HS;
    const size_t key = ((size_t)b * S * NH + (size_t)h) * HS;
    const size_t cell = (((size_t)b * NH + (size_t)h) * T + (size_t)t) * S;
    const bool masked = n->in[3] >= 0;
    query q = { .n = n, .stride = NH * HS };
    q.q = g->tensor[n->in[0]].at + one;
    q.out = g->tensor[n->out].at + one;
    q.k = g->tensor[n->in[1]].at + key;
    q.v = g->tensor[n->in[2]].at + key;
    q.att = g->tensor[n->stage[0]].at + cell;
    q.scores = g->tensor[n->stage[1]].at + cell;
    q.keys = (exponents){ .n = masked ? n->S : n->S - n->T + t + 1, .es = ex + q.scores, .by = 1 };
    q.keys.s = x + g->tensor[n->stage[masked ? 1 : 2]].at + cell;       /* the scaled ones */
    q.keys.see = masked ? ints + g->tensor[n->in[3]].at + (size_t)t * S : NULL;
    return q;
}

num bounds_score(const query *q, const double *x, const double *ex, int u, const rounding *k,
                 double *own)
{
    const size_t key = q->k + (size_t)u * q->stride;
    const double root = sqrt(q->n->HS);
    sum dot = { 0, 0, 0, 0 };
    for (size_t i = 0; i < (size_t)q->n->HS; i++)
        sum_add(&dot, num_mul((num){ x[q->q + i], ex[q->q + i] }, (num){ x[key + i], ex[key + i] }));
    if (dot.n == 0) return (num){ *own = 0, 0 };
    /* The product; 1/sqrt(HS) in q, in k, or behind, made and multiplied; both scores kept. */
    const num plain = { dot.v, gamma_of(dot.n + 4, k->a) * dot.size + dot.n * k->tiny };
    num s = num_kept(plain, 2, k);
    if (k->u > k->a) s.e += gamma_of(2, k->u) * dot.size;
    *own = plain.e / root + k->tiny;
    return (num){ dot.v / root, (dot.e + s.e) / root + k->tiny };
}

/* ---- layer norm -------------------------------------------------------------------- */

/* (x - mean) rstd, or x rstd - mean rstd.  What is computed as a difference that the
 * variance was made of is within sqrt(C). */
num bounds_xhat(num x, num mean, num rstd, int C, const rounding *k)
{
    const num d = { x.v - mean.v, x.e + mean.e };
    num xhat = num_mul(d, rstd);
    xhat.e = fmin(xhat.e, fabs(xhat.v) + sqrt(C));
    xhat.e += 3 * k->a * (num_size(x) + num_size(mean)) * num_size(rstd);
    return num_rounded(xhat, 2, k);
}

/* ---- GELU ---------------------------------------------------------------------------- */

static const double K = 0.79788456080286535588, A = 0.044715;

typedef struct gelu_parts {
    double z, th, sech2;        /* sech^2 z = 1 - tanh^2 z */
    double e_th, e_sech2;       /* by rounding alone */
} gelu_parts;

/* z is a sum of terms of one sign: 8 roundings, constants included.  Where tanh is so near
 * to +-1 that it rounds to it, it is that, or as near as the exact one: its error is that
 * distance. */
static gelu_parts parts_of(num x, const rounding *k)
{
    const double u = k->a, least = fmax(fabs(x.v) - x.e, 0), most = num_size(x);
    const double z_least = K * (least + A * least * least * least) * (1 - 8 * u);
    const double z_most = K * (most + A * most * most * most);
    const double flat = 1 / (cosh(z_least) * cosh(z_least)), tail = 2 / (exp(2 * z_least) + 1);
    gelu_parts g = { .z = K * (x.v + A * x.v * x.v * x.v) };
    const double c = cosh(g.z);
    g.th = tanh(g.z);
    g.sech2 = 1 / (c * c);
    if (tail < u / 16) {            /* where double still knows it from 1, it rounds, too */
        g.e_th = 2 * tail + (tail < 0x1p-57 ? 0 : 0x1p-50);
        g.e_sech2 = 2 * g.e_th;
    }
    else {
        g.e_th = ELEMENTARY * u + gamma_of(8, u) * z_most * flat;
        g.e_sech2 = 2 * g.e_th + g.e_th * g.e_th + 2 * u;
    }
    return g;
}

/* |gelu'| is below 1.13, |gelu''| below 0.81 and, beyond 2, below
 * sech^2 z (z' + x z'' / 2 + x z'^2), which falls. */
static double curvature(double least)
{
    const double x = fmax(least, 0), z = K * (x + A * x * x * x), c = cosh(z);
    const double z1 = K * (1 + 3 * A * x * x), z2 = K * 6 * A * x;
    const double there = c < 1e100 ? (z1 + x * z2 / 2 + x * z1 * z1) / (c * c) : 0;
    return x > 2 ? fmin(0.81, there) : 0.81;
}

static double slope(double x, const gelu_parts *g)
{
    const double dz = K * (1 + 3 * A * x * x);
    return (1 + g->th) / 2 + (g->sech2 > 0 ? x * g->sech2 * dz / 2 : 0);
}

num bounds_gelu(num x, const rounding *k)
{
    const gelu_parts g = parts_of(x, k);
    const double bend = curvature(fabs(x.v) - x.e), steep = fabs(slope(x.v, &g)) + bend * x.e;
    num y = { x.v * (1 + g.th) / 2, fmin(steep, 1.13) * x.e };
    y.e += num_size(x) / 2 * (g.e_th + k->a * (1 + g.th));      /* the sum 1 + th, too */
    return num_kept(num_rounded(y, 3, k), 1, k);
}

num bounds_gelu_slope(num x, const rounding *k)
{
    const gelu_parts g = parts_of(x, k);
    const double most = num_size(x), dz = K * (1 + 3 * A * most * most);
    num y = { slope(x.v, &g), fmin(curvature(fabs(x.v) - x.e) * x.e, 1.5) };
    y.e += (g.e_th + k->a * (1 + g.th)) / 2;
    y.e += most * dz / 2 * (g.e_sech2 + gamma_of(5, k->a) * g.sech2);
    return num_rounded(y, 2, k);
}

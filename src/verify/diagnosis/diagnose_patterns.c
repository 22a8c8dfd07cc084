/* diagnose_patterns.c -- what single tensors show, where no hypothesis explains all.
 *
 * Each pattern is looked for in every tensor that is wrong; the one that most of them
 * share is told, with the count.  Found and right are compared without `start` where a
 * gradient is concerned.
 */
#include "verify/diagnosis/diagnose_search.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool near(const search *s, const element *e, double value, double size)
{
    return fabs(e->found - value) <= 2 * e->bound + 16 * s->u * fmax(fabs(value), size);
}

static double start_of(const search *s, int tensor, bool gradient, size_t i)
{
    return gradient ? s->c->start[s->g->tensor[tensor].at + i] : 0;
}

static double largest(const search *s, int tensor, bool gradient)
{
    double most = 0;
    for (size_t i = 0; i < s->g->tensor[tensor].count; i++)
        most = fmax(most, fabs(search_element(s, tensor, gradient, i).right));
    return most;
}

/* ---- the patterns: whether a tensor shows it ------------------------------------------ */

/* found == right without what the gradient held before. */
static bool overwritten(const search *s, int t, bool gradient)
{
    if (!gradient) return false;
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, true, i);
        if (!near(s, &e, e.right - start_of(s, t, true, i), 0)) return false;
    }
    return true;
}

/* found == start: nothing was added. */
static bool untouched(const search *s, int t, bool gradient)
{
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, gradient, i);
        if (!near(s, &e, start_of(s, t, gradient, i), 0)) return false;
    }
    return true;
}

static bool all_zero(const search *s, int t, bool gradient)
{
    for (size_t i = 0; i < s->g->tensor[t].count; i++)
        if (!(search_element(s, t, gradient, i).found == 0)) return false;
    return true;
}

/* Attention, and whether query t of it sees key u. */
static const graph_node *attention_of(const graph *g)
{
    for (int i = 0; i < g->nnodes; i++) if (g->node[i].kind == GRAPH_ATTENTION) return &g->node[i];
    return NULL;
}

static bool sees(const search *s, const graph_node *n, size_t t, size_t u)
{
    if (n->in[3] < 0) return u + (size_t)n->T <= (size_t)n->S + t;
    return s->c->ints[s->g->tensor[n->in[3]].at + t * (size_t)n->S + u] != 0;
}

/* The query to which an element of q's gradient or of the output belongs; -1: neither. */
static int query_of(const graph_node *n, int t, bool gradient, size_t i)
{
    if (t != (gradient ? n->in[0] : n->out)) return -1;
    return (int)(i / ((size_t)n->NH * (size_t)n->HS) % (size_t)n->T);
}

static bool sees_none(const search *s, const graph_node *n, size_t t)
{
    for (size_t u = 0; u < (size_t)n->S; u++) if (sees(s, n, t, u)) return false;
    return true;
}

/* Whether o and dq, as far as they are wrong, are so in queries that see no key alone. */
static bool none_but_dead_rows(const search *s, const graph_node *n)
{
    bool any = false;
    for (int gradient = 0; gradient < 2; gradient++) {
        const int t = gradient ? n->in[0] : n->out;
        if (!(gradient ? s->bad_dx : s->bad_x)[t]) continue;
        for (size_t i = 0; i < s->g->tensor[t].count; i++) {
            const element e = search_element(s, t, gradient, i);
            if (!element_bad(&e)) continue;
            if (!sees_none(s, n, (size_t)query_of(n, t, gradient, i))) return false;
            any = true;
        }
    }
    return any;
}

/* NaN or Inf from queries that see no key: nothing else is wrong in o and dq. */
static bool nan_where_masked(const search *s, int t, bool gradient)
{
    const graph_node *n = attention_of(s->g);
    if (!n || !none_but_dead_rows(s, n)) return false;
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, gradient, i);
        if (!isfinite(e.found) && isfinite(e.right)) return true;
    }
    return false;
}

/* The largest |x| of which a row's softmax takes exp, without its maximum subtracted. */
static double row_exponent(const search *s, const graph_node *n, size_t i)
{
    const graph *g = s->g;
    const double *x = s->c->x + g->tensor[n->in[0]].at;
    double most = 0;
    if (n->kind == GRAPH_ATTENTION) {           /* i: of its output, (b, t, h, i) */
        const size_t HS = (size_t)n->HS, NH = (size_t)n->NH, T = (size_t)n->T, S = (size_t)n->S;
        const double *q = x + i / HS * HS, *k = s->c->x + g->tensor[n->in[1]].at;
        const size_t h = i / HS % NH, b = i / HS / NH / T;
        for (size_t u = 0; u < S; u++) {
            double dot = 0;
            for (size_t c = 0; c < HS; c++) dot += q[c] * k[((b * S + u) * NH + h) * HS + c];
            most = fmax(most, fabs(dot) / sqrt((double)HS));
        }
        return most;
    }
    const size_t row = n->kind == GRAPH_SOFTMAX ? i / (size_t)n->V : i;
    for (size_t v = 0; v < (size_t)n->V; v++)
        most = fmax(most, fabs(x[row * (size_t)n->V + v]) / n->temperature);
    return most;
}

/* An output with NaN or Inf in no rows but those where exp would overflow. */
static bool nan_where_large(const search *s, int t, bool gradient)
{
    const graph *g = s->g;
    const graph_node *n = NULL;
    bool any = false;
    for (int i = 0; i < g->nnodes; i++)
        if (g->node[i].out == t && (g->node[i].kind == GRAPH_ATTENTION || g->node[i].kind == GRAPH_SOFTMAX
                                    || g->node[i].kind == GRAPH_CROSSENTROPY)) n = &g->node[i];
    if (!n || gradient) return false;
    for (size_t i = 0; i < g->tensor[t].count; i++) {
        const element e = search_element(s, t, false, i);
        if (isfinite(e.found)) continue;
        if (!(row_exponent(s, n, i) > 0.98 * log(s->work.most))) return false;
        any = true;
    }
    return any;
}

/* The largest score of the keys that the query of o's element sees. */
static double row_maximum(const search *s, const graph_node *n, size_t i)
{
    const graph *g = s->g;
    const size_t HS = (size_t)n->HS, NH = (size_t)n->NH, T = (size_t)n->T, S = (size_t)n->S;
    const size_t h = i / HS % NH, t = i / HS / NH % T, b = i / HS / NH / T;
    const double *q = s->c->x + g->tensor[n->in[0]].at + i / HS * HS;
    double most = -(double)INFINITY;
    for (size_t u = 0; u < S; u++) {
        const double *k = s->c->x + g->tensor[n->in[1]].at + ((b * S + u) * NH + h) * HS;
        double dot = 0;
        for (size_t c = 0; c < HS; c++) dot += q[c] * k[c];
        if (sees(s, n, t, u)) most = fmax(most, dot / sqrt((double)HS));
    }
    return most;
}

/* o or dq is wrong in rows alone whose scores are all so low that exp underflows. */
static bool wrong_where_low(const search *s, int t, bool gradient)
{
    const graph_node *n = attention_of(s->g);
    bool any = false;
    if (!n || t != (gradient ? n->in[0] : n->out)) return false;
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, gradient, i);
        if (!element_bad(&e)) continue;
        if (!(row_maximum(s, n, i) < 0.8 * log(s->work.least))) return false;
        any = true;
    }
    return any;
}

static bool not_finite(const search *s, int t, bool gradient)
{
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, gradient, i);
        if (!isfinite(e.found) && isfinite(e.right)) return true;
    }
    return false;
}

/* Off by what computing in a lower precision would give: beyond the bound and within that of
 * that precision; nearly everywhere, for what is confined to some rows has another cause; as
 * large as a few roundings are, neither much more nor much less; and of either sign. */
static bool rounded_to(const search *s, int t, bool gradient, precision p)
{
    const double more = precision_u(p) / s->u, most = largest(s, t, gradient);
    double squares = 0, errors = 0;
    size_t values = 0, wrong = 0, larger = 0;
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, gradient, i);
        const double d = e.found - e.right;
        if (!(fabs(d) <= fmin(e.bound * more, 8 * precision_u(p) * most))) return false;
        if (e.right == 0 && d == 0) continue;
        values++;
        wrong += element_bad(&e);
        larger += element_bad(&e) && (d > 0) == (e.right > 0);
        squares += e.right * e.right;
        errors += d * d;
    }
    const double size = sqrt(errors / squares) / precision_u(p);
    if (!(size > 0.02 && size < 30) || 3 * wrong < values) return false;
    return wrong < 10 || (10 * larger > wrong && 10 * larger < 9 * wrong);
}

static bool rounded_single(const search *s, int t, bool gradient)
{
    return s->u < precision_u(PRECISION_F32) && rounded_to(s, t, gradient, PRECISION_F32);
}

static bool rounded_half(const search *s, int t, bool gradient)
{
    return s->u < precision_u(PRECISION_F16) && rounded_to(s, t, gradient, PRECISION_F16);
}

static bool rounded_brain(const search *s, int t, bool gradient)
{
    return s->u < precision_u(PRECISION_BF16) && rounded_to(s, t, gradient, PRECISION_BF16);
}

typedef struct pattern {
    bool      (*shows)(const search *, int tensor, bool gradient);
    fault_kind  kind;
    const char *says, *hint;            /* the tensor's name comes in front */
} pattern;

static const pattern patterns[] = {
    { overwritten, FAULT_OVERWRITTEN, "is assigned where it should be added to: what was there before is lost",
      "backward adds: dx += ..., not dx = ..." },
    { nan_where_large, FAULT_SOFTMAX_UNSTABLE, "has NaN or Inf in rows where exp of a score overflows",
      "subtract the row's maximum before exp" },
    { wrong_where_low, FAULT_SOFTMAX_UNSTABLE, "is wrong in rows whose scores are all far below 0: exp underflows",
      "subtract the row's own maximum before exp; a running maximum begins at -inf, not at 0 or -1e4" },
    { nan_where_masked, FAULT_MASKED_ROW, "has NaN or Inf from a query that sees no key",
      "a query that sees no key sums over nothing: its output and its gradients are 0" },
    { not_finite, FAULT_NOT_FINITE, "has NaN or Inf where numbers are expected",
      "exp of a score without the row's maximum subtracted, a division by a sum of 0, a root of a negative variance" },
    { untouched, FAULT_ZERO, "is not written", "each output is to be written, each gradient to be added into din[]" },
    { all_zero, FAULT_ZERO, "is 0 everywhere", "each output is to be written, each gradient to be added into din[]" },
    { rounded_single, FAULT_ROUNDED, "is off by as much as float32 rounds", "keep sums and intermediate values in the kernel's own precision" },
    { rounded_half, FAULT_ROUNDED, "is off by as much as float16 rounds", "keep sums and intermediate values in the kernel's own precision" },
    { rounded_brain, FAULT_ROUNDED, "is off by as much as bfloat16 rounds", "keep sums and intermediate values in the kernel's own precision" },
};

/* The failing tensors in the order in which they are told; k from 0. */
static bool failing_at(const search *s, int k, int *tensor, bool *gradient)
{
    const graph *g = s->g;
    for (int i = 0; i < g->nout + g->nin; i++) {
        *gradient = i >= g->nout;
        *tensor = *gradient ? g->in[i - g->nout] : g->out[i];
        if ((*gradient ? s->bad_dx : s->bad_x)[*tensor] && k-- == 0) return true;
    }
    return false;
}

static bool told(const search *s, diagnosis *d, fault_kind kind, int count, int tensor, bool gradient,
                 const char *says, const char *hint)
{
    char name[80];
    search_name(name, sizeof name, s, tensor, gradient);
    d->kind = kind;
    d->explained = count;
    const int n = snprintf(d->sentence, sizeof d->sentence, "%s %.120s", name, says);
    if (count > 1 && n > 0 && (size_t)n < sizeof d->sentence)
        snprintf(d->sentence + n, sizeof d->sentence - (size_t)n, " (%d more likewise)", count - 1);
    snprintf(d->hint, sizeof d->hint, "%s", hint);
    return true;
}

/* One factor for all elements of a tensor. */
static bool factor_of(const search *s, int t, bool gradient, double *c, double *spread)
{
    double dr = 0, dd = 0;
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, gradient, i);
        const double start = start_of(s, t, gradient, i), w = e.bound + s->u * fabs(e.right) + 1e-300;
        if (!isfinite(e.found)) return false;
        dr += (e.found - start) / w * ((e.right - start) / w);
        dd += (e.right - start) / w * ((e.right - start) / w);
    }
    if (!(dd > 0)) return false;
    *c = dr / dd;
    *spread = 8 / sqrt(dd) + 64 * s->u * fabs(*c);
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, gradient, i);
        const double start = start_of(s, t, gradient, i), d = e.right - start;
        if (!(fabs(e.found - start - *c * d) <= 2 * e.bound * fmax(1, fabs(*c)) + 16 * s->u * (fabs(*c * d) + fabs(start))))
            return false;
    }
    return s->g->tensor[t].count > 1;
}

static bool factors(const search *s, diagnosis *d)
{
    int tensor;
    bool gradient;
    for (int k = 0; failing_at(s, k, &tensor, &gradient); k++) {
        double c, spread, value;
        char name[40] = "", says[160];
        fault_kind kind = FAULT_SCALE_WRONG;
        int node = -1, slot = 0;
        if (!factor_of(s, tensor, gradient, &c, &spread) || !(fabs(c - 1) > spread)) continue;
        for (int i = 0; i < s->g->nnodes; i++)
            for (int j = 0; j < GRAPH_INS; j++)
                if (s->g->node[i].in[j] == tensor) node = i, slot = j;
        if (search_factor(s, gradient ? node : -1, slot, c, spread, &value, &kind, name, sizeof name))
            snprintf(says, sizeof says, "is off by a factor: found/expected = %.9g = %s", c, name);
        else snprintf(says, sizeof says, "is off by a factor: found/expected = %.9g", c);
        return told(s, d, kind, 1, tensor, gradient, says,
                    "look at the factors of this tensor: which does it lack, or have twice");
    }
    return false;
}

/* The gradient of one tensor found in another's place. */
static bool exchanged(const search *s, int a, int b)
{
    const graph_tensor *x = &s->g->tensor[a], *y = &s->g->tensor[b];
    if (x->count != y->count) return false;
    for (size_t i = 0; i < x->count; i++) {
        const element e = search_element(s, a, true, i), o = search_element(s, b, true, i);
        if (!near(s, &e, o.right - s->c->start[y->at + i] + s->c->start[x->at + i], fabs(o.bound / (16 * s->u)))
            && !near(s, &e, o.right - s->c->start[y->at + i], fabs(o.bound / (16 * s->u)))) return false;
    }
    return true;
}

static bool exchanges(const search *s, diagnosis *d)
{
    const graph *g = s->g;
    for (int i = 0; i < g->nin; i++)
    for (int j = 0; j < g->nin; j++) {
        const int a = g->in[i], b = g->in[j];
        char says[160];
        if (a == b || !s->bad_dx[a] || !s->f->has_dx[a] || g->tensor[b].role >= GRAPH_INTEGERS) continue;
        if (!exchanged(s, a, b)) continue;
        snprintf(says, sizeof says, "holds the gradient of %s", g->tensor[b].name);
        return told(s, d, FAULT_SWAPPED, 1 + exchanged(s, b, a), a, true, says, "look at the order of the tensors in din[]");
    }
    return false;
}

/* One index of an axis, or a few that follow each other, hold all that is wrong. */
typedef struct part { int axis; size_t low, high, length, inner; } part;

static bool in_part(const part *p, size_t i)
{
    const size_t at = i / p->inner % p->length;
    return at >= p->low && at <= p->high;
}

static bool part_of(const search *s, int tensor, bool gradient, int axis, part *p)
{
    const graph_tensor *t = &s->g->tensor[tensor];
    bool any = false;
    *p = (part){ .axis = axis };
    fault_axis(t, axis, &p->length, &p->inner);
    p->low = p->length;
    for (size_t i = 0; i < t->count; i++) {
        const element e = search_element(s, tensor, gradient, i);
        const size_t at = i / p->inner % p->length;
        if (!element_bad(&e)) continue;
        any = true;
        if (at < p->low) p->low = at;
        if (at > p->high) p->high = at;
    }
    return any && 2 * (p->high - p->low + 1) <= p->length;
}

static bool fits_part(const search *s, int t, bool gradient, const part *p, double c)
{
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, gradient, i);
        const double start = start_of(s, t, gradient, i), d = e.right - start;
        if (!in_part(p, i)) continue;
        if (!(fabs(e.found - start - c * d) <= 2 * e.bound * fmax(1, fabs(c)) + 16 * s->u * (fabs(c * d) + fabs(start))))
            return false;
    }
    return true;
}

/* One factor for all elements of the part, of as few digits as explain them; what lies
 * outside is right. */
static bool factor_of_part(const search *s, int t, bool gradient, const part *p, double *c)
{
    double dr = 0, dd = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < s->g->tensor[t].count; i++) {
        const element e = search_element(s, t, gradient, i);
        const double start = start_of(s, t, gradient, i), w = e.bound + s->u * fabs(e.right) + 1e-300;
        if (!in_part(p, i)) continue;
        if (!isfinite(e.found)) return false;
        wrong += element_bad(&e);
        dr += (e.found - start) / w * ((e.right - start) / w);
        dd += (e.right - start) / w * ((e.right - start) / w);
    }
    if (!(dd > 0) || wrong < 2) return false;
    const double estimated = dr / dd;
    for (int digits = 1; digits < 17; digits++) {
        char text[40];
        snprintf(text, sizeof text, "%.*g", digits, estimated);
        if (fabs(estimated) < 1e-12) snprintf(text, sizeof text, "0");
        if (sscanf(text, "%lf", c) == 1 && *c != 1 && fits_part(s, t, gradient, p, *c)) return true;
    }
    return false;
}

/* "o is 1.01 times too large in query 2 alone": of the tensor that is told. */
static bool factor_in_part(const search *s, diagnosis *d)
{
    const graph_tensor *t = &s->g->tensor[d->tensor];
    for (int axis = 0; axis < t->rank; axis++) {
        char what[60], where[60], says[160];
        double c;
        part p;
        if (!part_of(s, d->tensor, d->gradient, axis, &p) || !factor_of_part(s, d->tensor, d->gradient, &p, &c)) continue;
        const bool none = c == 0;
        if (p.low == p.high) snprintf(where, sizeof where, "%.24s %zu alone", t->axis[axis], p.low);
        else snprintf(where, sizeof where, "%.20s %zu to %zu alone", t->axis[axis], p.low, p.high);
        if (none && d->gradient) snprintf(what, sizeof what, "gets no share");
        else if (none) snprintf(what, sizeof what, "is 0");
        else snprintf(what, sizeof what, "is %.9g times what it should be", c);
        snprintf(says, sizeof says, "%.50s in %.50s", what, where);
        return told(s, d, none ? FAULT_ROWS_MISSING : c == -1 ? FAULT_SIGN : FAULT_SCALE_WRONG, 1, d->tensor, d->gradient, says,
                    "what is treated otherwise there: a first or last tile, a loop's bound, a factor for one head or row?");
    }
    return false;
}

bool search_patterns(const search *s, diagnosis *d)
{
    int tensor;
    bool gradient;
    if (factor_in_part(s, d)) return true;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        int count = 0, first = -1;
        bool first_gradient = false;
        for (int k = 0; failing_at(s, k, &tensor, &gradient); k++) {
            if (!patterns[i].shows(s, tensor, gradient)) continue;
            if (first < 0) {
                first = tensor;
                first_gradient = gradient;
            }
            count++;
        }
        if (count == 0) continue;
        if (patterns[i].kind == FAULT_ROUNDED && count < s->failing) continue;
        return told(s, d, patterns[i].kind, count, first, first_gradient, patterns[i].says, patterns[i].hint);
    }
    return exchanges(s, d) || factors(s, d);
}

/* "dq, dk and dv are" of all that failed; longer lists are cut to the first and a count. */
static void name_all(const search *s, int count, char *out, size_t size)
{
    int tensor;
    bool gradient;
    out[0] = '\0';
    for (int k = 0; k < count && k < 4; k++) {
        char name[80];
        const size_t used = strlen(out);
        if (!failing_at(s, k, &tensor, &gradient)) break;
        search_name(name, sizeof name, s, tensor, gradient);
        if (count > 4 && k == 1) {
            snprintf(out + used, size - used, " and %d more", count - 1);
            break;
        }
        snprintf(out + used, size - used, "%s%.50s", k == 0 ? "" : k + 1 == count ? " and " : ", ", name);
    }
}

/* All outputs that are wrong are 0 everywhere, and are more than a few numbers. */
static bool outputs_zero(const search *s, diagnosis *d)
{
    const graph_node *n = attention_of(s->g);
    int tensor, count = 0;
    bool gradient;
    if (n && n->S < 2) return false;        /* of one key, masks leave all or nothing */
    for (; failing_at(s, count, &tensor, &gradient) && !gradient; count++)
        if (s->g->tensor[tensor].count < 16 || !all_zero(s, tensor, false)) return false;
    if (count == 0) return false;
    failing_at(s, 0, &tensor, &gradient);
    return told(s, d, FAULT_ZERO, count, tensor, false, "is 0 everywhere", "each output is to be written");
}

/* A bias: what a linear layer or a layer norm adds. */
static bool is_bias(const graph *g, int tensor)
{
    for (int i = 0; i < g->nnodes; i++) {
        const graph_kind k = g->node[i].kind;
        if ((k == GRAPH_LINEAR || k == GRAPH_LAYERNORM) && g->node[i].in[2] == tensor) return true;
    }
    return false;
}

bool search_untouched(const search *s, diagnosis *d)
{
    int tensor, count = 0;
    bool gradient, biases = true;
    char names[240];
    if (outputs_zero(s, d)) return true;
    for (; failing_at(s, count, &tensor, &gradient); count++) {
        for (size_t i = 0; i < s->g->tensor[tensor].count; i++)
            if (!gradient || search_element(s, tensor, true, i).found != start_of(s, tensor, true, i)) return false;
        biases = biases && is_bias(s->g, tensor);
    }
    if (count == 0) return false;
    d->kind = biases ? FAULT_BIAS_FORGOTTEN : FAULT_ZERO;
    d->explained = count;
    name_all(s, count, names, sizeof names);
    snprintf(d->sentence, sizeof d->sentence, "%s %s not written", names, count > 1 ? "are" : "is");
    snprintf(d->hint, sizeof d->hint, "%s", biases ? "a bias is added to each row, so its gradient is the sum of dy over the rows"
             : "each input has a gradient of its own; the kernel is to add it into din[]");
    return true;
}

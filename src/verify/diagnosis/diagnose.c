/* diagnose.c -- see diagnose.h: comparing, where the wrong entries lie, and which of the
 * explanations is told.
 */
#include "verify/diagnosis/diagnose_search.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 11, ROOM = 128 };       /* x, dx, begin, kept, x2, dx2, five of scratch */

/* ---- set-up --------------------------------------------------------------------------- */

static vt_status search_new(search *s, const op_case *c, const op_found *f, vt_error *err)
{
    const graph *g = &c->g;
    const size_t nt = (size_t)g->ntensors, nn = (size_t)g->nnodes, n = g->reals;
    size_t reals, pairs, flags;
    *s = (search){ .c = c, .f = f, .g = g, .u = precision_u(c->p), .kept_at = -1, .most = 1.2e9 };
    if (!size_mul(n, BLOCKS, &reals) || !size_mul(reals, sizeof *s->block, &reals)
        || !size_mul(nt, nt, &pairs) || !size_add(pairs, 2 * nt + nn, &flags))
        return fail(err, VT_TOO_LARGE, "a diagnosis: the case is too large");
    s->block = calloc(1, reals + ROOM * sizeof *s->block);
    s->flags = calloc(flags, sizeof *s->flags);
    s->done = calloc(nt, sizeof *s->done);
    if (!s->block || !s->flags || !s->done) return fail_memory(err, reals, "a diagnosis");
    double **const blocks[] = { &s->x, &s->dx, &s->begin, &s->kept, &s->x2, &s->dx2, &s->work.scratch };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) *blocks[i] = s->block + i * n;
    s->bad_x = s->flags;
    s->bad_dx = s->bad_x + nt;
    s->member = s->bad_dx + nt;
    s->reach = s->member + nn;
    s->work.most = fault_largest(c->p);
    s->work.least = fault_smallest(c->p);
    return VT_OK;
}

static void search_free(search *s)
{
    free(s->block);
    free(s->flags);
    free(s->done);
}

/* Whose gradients a gradient flows to, and after which node each is complete. */
static void flows(search *s)
{
    const graph *g = s->g;
    const int nt = g->ntensors;
    for (int t = 0; t < nt; t++) {
        s->reach[t * nt + t] = true;
        s->done[t] = -1;
    }
    for (int i = 0; i < g->nnodes; i++)
        for (int j = 0; j < GRAPH_INS; j++) {
            const int in = g->node[i].in[j], out = g->node[i].out;
            if (in < 0) continue;
            if (s->done[in] < 0) s->done[in] = i;
            for (int t = 0; t < nt; t++)
                if (s->reach[in * nt + t]) s->reach[out * nt + t] = true;
        }
}

/* What the gradients hold before the backward pass. */
static void begin(search *s)
{
    const graph *g = s->g;
    for (int i = 0; i < g->ntensors; i++) {
        const graph_tensor *t = &g->tensor[i];
        const double *from = t->role == GRAPH_INPUT ? s->c->start : t->upstream ? s->c->dout : NULL;
        if (from) memcpy(s->begin + t->at, from + t->at, t->count * sizeof *from);
    }
}

/* ---- what is wrong ----------------------------------------------------------------------- */

/* By how much an element is beyond its bound; Inf where it is not a number. */
static double beyond(const search *s, const element *e)
{
    const double d = fabs(e->found - e->right);
    if (!isfinite(d)) return (double)INFINITY;
    return d / (e->bound + s->u * fabs(e->right) + 1e-300);
}

static size_t count_bad(const search *s, int tensor, bool gradient, size_t *first, size_t *worst)
{
    size_t bad = 0;
    double most = -1;
    for (size_t i = 0; i < s->g->tensor[tensor].count; i++) {
        const element e = search_element(s, tensor, gradient, i);
        if (!element_bad(&e)) continue;
        if (bad++ == 0) *first = i;
        if (beyond(s, &e) > most) {
            most = beyond(s, &e);
            *worst = i;
        }
    }
    return bad;
}

/* Marks what is wrong; *total: wrong elements of all tensors. */
static void compare(search *s, size_t *total)
{
    const graph *g = s->g;
    size_t first, worst;
    *total = 0;
    for (int i = 0; i < g->nout + g->nin; i++) {
        const bool gradient = i >= g->nout;
        const int t = gradient ? g->in[i - g->nout] : g->out[i];
        if (g->tensor[t].role >= GRAPH_INTEGERS) continue;
        if (!(gradient ? s->f->has_dx : s->f->has_x)[t]) continue;
        const size_t bad = count_bad(s, t, gradient, &first, &worst);
        if (gradient) s->found_dx = true;
        else s->found_x = true;
        if (bad == 0) continue;
        (gradient ? s->bad_dx : s->bad_x)[t] = true;
        s->failing_x += !gradient;
        s->failing_dx += gradient;
        *total += bad;
    }
    s->failing = s->failing_x + s->failing_dx;
}

/* The failing tensor nearest to the loss: an output by the order of the forward pass
 * (what comes first made the later ones wrong), else the gradient that the backward pass
 * completes first. */
static void nearest(const search *s, diagnosis *d)
{
    const graph *g = s->g;
    int best = -1;
    for (int i = 0; i < g->nnodes && best < 0; i++)
        for (int j = 0; j < g->nout && best < 0; j++)
            if (s->bad_x[g->out[j]] && (g->node[i].out == g->out[j] || g->node[i].stage[0] == g->out[j]))
                best = g->out[j];
    d->gradient = best < 0;
    for (int j = 0; j < g->nin && d->gradient; j++)
        if (s->bad_dx[g->in[j]] && (best < 0 || s->done[g->in[j]] > s->done[best])) best = g->in[j];
    d->tensor = best;
    if (best < 0) return;
    d->wrong = count_bad(s, best, d->gradient, &d->first, &d->worst);
    const element e = search_element(s, best, d->gradient, d->worst);
    const double start = d->gradient ? s->c->start[g->tensor[best].at + d->worst] : 0;
    d->expected = e.right - start;
    d->found = e.found - start;
    d->ratio = d->found / d->expected;
}

/* ---- where ----------------------------------------------------------------------------------- */

/* Indices of an axis at which something is wrong: "3", "1, 4", "2 .. 5". */
static int wrong_indices(const search *s, const diagnosis *d, int axis, int *low, int *high)
{
    const graph_tensor *t = &s->g->tensor[d->tensor];
    size_t length, inner;
    int count = 0;
    fault_axis(t, axis, &length, &inner);
    for (size_t at = 0; at < length; at++) {
        bool wrong = false;
        for (size_t i = at * inner; i < t->count && !wrong; i++) {
            if (i / inner % length != at) continue;
            const element e = search_element(s, d->tensor, d->gradient, i);
            wrong = element_bad(&e);
        }
        if (!wrong) continue;
        if (count++ == 0) *low = (int)at;
        *high = (int)at;
    }
    return count;
}

static void locate(const search *s, diagnosis *d)
{
    const graph_tensor *t = &s->g->tensor[d->tensor];
    char name[80];
    bool any = false;
    search_name(name, sizeof name, s, d->tensor, d->gradient);
    snprintf(d->location, sizeof d->location, "%zu of %zu entries of %s are wrong", d->wrong, t->count, name);
    for (int axis = 0; axis < t->rank; axis++) {
        int low = 0, high = 0;
        const int count = wrong_indices(s, d, axis, &low, &high);
        const size_t used = strlen(d->location);
        char where[60];
        if (count == 0 || count == t->shape[axis]) continue;
        if (count == 1) snprintf(where, sizeof where, "%d", low);
        else if (count == high - low + 1) snprintf(where, sizeof where, "%d to %d", low, high);
        else snprintf(where, sizeof where, "%d .. %d (%d of %d)", low, high, count, t->shape[axis]);
        snprintf(d->location + used, sizeof d->location - used, "%s%s %s", any ? ", " : ", all of them in ",
                 t->axis[axis], where);
        any = true;
    }
}

/* ---- which explanation ------------------------------------------------------------------------ */

/* One wrong number in all, in a tensor whose rows are more than single numbers. */
static bool one_entry(search *s, diagnosis *d, size_t total)
{
    const graph_tensor *t = &s->g->tensor[d->tensor];
    char at[120], name[80];
    if (total != 1 || t->count < 4) return false;
    graph_entry(at, sizeof at, t, d->worst);
    search_name(name, sizeof name, s, d->tensor, d->gradient);
    d->kind = FAULT_ONE_ENTRY;
    d->explained = 1;
    snprintf(d->sentence, sizeof d->sentence, "one entry of %.75s is wrong, and nothing else: %.110s", name, at);
    snprintf(d->hint, sizeof d->hint, "a single index is treated otherwise: a first or last element, a tile's edge, a race");
    return true;
}

static bool all_overwritten(search *s, diagnosis *d)
{
    diagnosis other = *d;
    if (s->failing_x || !search_patterns(s, &other) || other.kind != FAULT_OVERWRITTEN
        || other.explained < s->failing) return false;
    *d = other;
    return true;
}

static void explain(search *s, diagnosis *d, size_t total)
{
    if (search_untouched(s, d) || all_overwritten(s, d)) return;
    search_hypotheses(s);
    /* A single wrong number: what knows the node may explain it (a row's one-hot); a part
     * of some tensor that happens to be one number does not. */
    if (!(s->has_best && s->best.rank < SEARCH_FIRST_GENERIC) && one_entry(s, d, total)) return;
    if (s->has_best) {
        d->kind = s->best.kind;
        d->other = s->has_other ? s->other.kind : FAULT_NONE;
        d->node = s->best.nodes == 1 ? s->best.node : -1;
        d->explained = d->failing;
        search_words(s, &s->best, d);
        return;
    }
    if (search_patterns(s, d)) return;
    d->kind = FAULT_UNKNOWN;
    snprintf(d->sentence, sizeof d->sentence, "no known fault explains it: %s", d->location);
    snprintf(d->hint, sizeof d->hint, "begin with the tensor nearest to the loss, and there with where the wrong entries lie");
}

vt_status diagnose(diagnosis *out, const op_case *c, const op_found *f, vt_error *err)
{
    search s;
    size_t total;
    *out = (diagnosis){ .node = -1, .tensor = -1 };
    vt_status status = search_new(&s, c, f, err);
    if (status) goto done;
    flows(&s);
    begin(&s);
    compare(&s, &total);
    out->failing = s.failing;
    if (s.failing == 0) goto done;
    nearest(&s, out);
    locate(&s, out);
    explain(&s, out, total);
done:
    search_free(&s);
    return status;
}

size_t diagnose_choose(const diagnosis *d, size_t n)
{
    size_t best = 0;
    int most = -1;
    for (size_t i = 0; i < n; i++) {
        const fault_kind k = d[i].kind;
        const bool weak = k == FAULT_ZERO || k == FAULT_ONE_ENTRY || k == FAULT_NOT_FINITE;
        int votes = weak ? 0 : 1;
        if (k == FAULT_NONE) continue;
        for (size_t j = 0; j < n; j++) votes += 2 * (d[j].kind == k || d[j].other == k);
        if (k == FAULT_UNKNOWN) votes = 0;
        if (votes <= most) continue;
        most = votes;
        best = i;
    }
    return best;
}

/* ---- the check at fault ---------------------------------------------------------------------------- */

const char *check_fault_name(check_fault f)
{
    static const char *const names[] = { "fine", "no_resolution", "out_of_domain", "not_smooth" };
    return names[f];
}

check_fault diagnose_check(const op_case *c, int tensor, bool gradient, char *why, size_t size)
{
    const graph_tensor *t = &c->g.tensor[tensor];
    const double *x = (gradient ? c->dx : c->x) + t->at, *bound = (gradient ? c->edx : c->ex) + t->at;
    double most = 0, most_bound = 0;
    size_t above = 0;
    snprintf(why, size, "%s", "");
    for (size_t i = 0; i < t->count; i++) {
        if (!isfinite(x[i]) || fabs(x[i]) > fault_largest(c->p) || !isfinite(bound[i])) {
            char at[120];
            graph_index(at, sizeof at, t, i);
            snprintf(why, size, "%s%s is %g: outside of what %s holds", gradient ? "d" : "", at, x[i], precision_name(c->p));
            return CHECK_OUT_OF_DOMAIN;
        }
        most = fmax(most, fabs(x[i]));
        most_bound = fmax(most_bound, bound[i]);
        above += bound[i] >= fabs(x[i]) && bound[i] > 0;
    }
    if (most_bound == 0 || above < t->count) return CHECK_FINE;
    snprintf(why, size, "%s%s: values up to %.3g, rounding of a correct %s kernel up to %.3g: no resolution at this scale",
             gradient ? "d" : "", t->name, most, precision_name(c->p), most_bound);
    return CHECK_NO_RESOLUTION;
}

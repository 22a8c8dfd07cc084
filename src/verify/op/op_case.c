/* op_case.c -- see op_case.h: problems drawn or given, and computed.
 *
 * What is drawn, from stream(seed, RNG_VERIFY, 64 + op), tensor by tensor in the order of
 * in[], then the upstream gradients:
 *
 *     data            scale (normal + 0.5 + mean): x, q, k, v, logits, embeddings; mean is
 *                     0 but where it says otherwise (kernel_check.c)
 *     matrices        normal / sqrt(rows), so that sums keep the size of their terms
 *     gains           uniform, 0.5 .. 1.5, of either sign
 *     biases          uniform, 0.25 .. 1, of either sign
 *     upstream        uniform, 0.25 .. 1.25, of either sign
 *     tokens          one id of three or more is never used; the second is the first again
 *     targets         each id alike; of cross-entropy's rows, where there are three, one
 *                     is VT_IGNORE
 *     masks           three cells of five seen; where T > 2 one query sees nothing and
 *                     every other at least one key; where S > 2 no query sees one of them
 *     start           uniform, 0.5 .. 1.5 of the gradient's root mean square, of either
 *                     sign; 1 in its place where the gradient is 0, or nearly subnormal
 *
 * each rounded to the kernel's precision.  Only data feels `scale`: with every matrix of
 * a deep model scaled too, softmaxes would saturate and show nothing.
 */
#include "verify/op/op_case.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "verify/graph/bounds.h"
#include "verify/graph/bounds_measured.h"

enum { STREAM = 64 };               /* + op: n of RNG_VERIFY */

/* ---- precisions ------------------------------------------------------------ */

/* bits: of the significand; least: 2^least is the smallest normal number; largest finite. */
static const struct { const char *name; int bits, least; double largest; } precisions[] = {
    [PRECISION_F64]  = { "float64",  53, -1022, DBL_MAX },
    [PRECISION_F32]  = { "float32",  24, -126,  FLT_MAX },
    [PRECISION_BF16] = { "bfloat16",  8, -126,  0x1.fep127 },
    [PRECISION_F16]  = { "float16",  11, -14,   65504 },
};

double precision_u(precision p)         { return ldexp(1, -precisions[p].bits); }
double precision_tiny(precision p)      { return ldexp(1, precisions[p].least); }
const char *precision_name(precision p) { return precisions[p].name; }

double precision_round(precision p, double x)
{
    int e;
    if (p == PRECISION_F64 || x == 0 || !isfinite(x)) return x;
    frexp(x, &e);                       /* 2^(e-1) <= |x| < 2^e */
    if (e < precisions[p].least + 1) e = precisions[p].least + 1;   /* subnormal */
    const int ulp = e - precisions[p].bits;
    const double y = ldexp(nearbyint(ldexp(x, -ulp)), ulp);         /* half to even */
    return fabs(y) > precisions[p].largest ? copysign((double)INFINITY, x) : y;
}

/* ---- blocks ---------------------------------------------------------------- */

static bool is_real(const graph_tensor *t) { return t->role < GRAPH_INTEGERS; }

static vt_status reals(double **block, size_t count, vt_error *err)
{
    size_t bytes;
    if (!size_mul(count, sizeof **block, &bytes))
        return fail(err, VT_TOO_LARGE, "the tensors of a case: too large");
    *block = calloc(count, sizeof **block);     /* a graph has an input: count > 0 */
    return *block ? VT_OK : fail_memory(err, bytes, "the tensors of a case");
}

static vt_status make(op_case *c, const graph_sizes *z, precision p, vt_error *err)
{
    *c = (op_case){ .z = *z, .p = p, .scale = 1 };
    vt_status s = graph_build(&c->g, &c->z, err);
    double **const block[] = { &c->x, &c->dout, &c->start, &c->dx, &c->ex, &c->edx };
    for (size_t i = 0; s == VT_OK && i < sizeof block / sizeof *block; i++)
        s = reals(block[i], c->g.reals, err);
    if (s) return s;
    c->ints = calloc(c->g.ints + 1, sizeof *c->ints);
    if (!c->ints) return fail_memory(err, (c->g.ints + 1) * sizeof *c->ints, "the integers of a case");
    for (int i = 0; i < c->g.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[i];
        for (size_t k = 0; t->role == GRAPH_MASK && k < t->count; k++) c->ints[t->at + k] = 1;
    }
    return VT_OK;
}

void op_case_free(op_case *c)
{
    graph_free(&c->g);
    free(c->ints);
    free(c->x);
    free(c->dout);
    free(c->start);
    free(c->dx);
    free(c->ex);
    free(c->edx);
    *c = (op_case){ .ints = NULL };
}

/* ---- computing ------------------------------------------------------------- */

static vt_status check_integers(const op_case *c, vt_error *err)
{
    char place[96];
    for (int i = 0; i < c->g.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[i];
        if (is_real(t)) continue;
        for (size_t k = 0; k < t->count; k++) {
            const int value = c->ints[t->at + k];
            if (value >= 0 && value < t->limit) continue;
            if (t->role == GRAPH_TARGETS && value == VT_IGNORE) continue;
            graph_index(place, sizeof place, t, k);
            return fail(err, VT_BAD_INPUT, "%s is %d: expected 0 to %d%s", place, value, t->limit - 1,
                        t->role == GRAPH_TARGETS ? ", or -1" : "");
        }
    }
    return VT_OK;
}

static bool hidden(const graph_sizes *z, size_t cell)
{
    const size_t t = cell / (size_t)z->S, u = cell % (size_t)z->S;
    return z->causal && u + (size_t)z->T > t + (size_t)z->S;      /* u > S - T + t */
}

static void make_masks_causal(op_case *c)
{
    for (int i = 0; i < c->g.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[i];
        for (size_t k = 0; t->role == GRAPH_MASK && k < t->count; k++)
            if (hidden(&c->z, k)) c->ints[t->at + k] = 0;
    }
}

int op_case_mask(const op_case *c, size_t cell)
{
    const int mask = graph_find(&c->g, "mask");
    if (mask < 0 || hidden(&c->z, cell)) return 1;
    return c->ints[c->g.tensor[mask].at + cell];
}

static void take_upstream(op_case *c)
{
    for (int i = 0; i < c->g.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[i];
        if (t->upstream) memcpy(c->dx + t->at, c->dout + t->at, t->count * sizeof *c->dx);
    }
}

/* Outputs, stages and gradients by the definitions. */
static void compute(op_case *c)
{
    take_upstream(c);
    graph_forward_f64(&c->g, c->x, c->ints, 0);
    graph_backward_f64(&c->g, c->dx, c->x, c->ints);
}

/* In double the definitions round as the kernel does: both may be off by the bound.
 * Long chains have bounds of another kind besides (bounds_measured.h). */
static vt_status bound(op_case *c, vt_error *err)
{
    const double u = precision_u(c->p), tiny = precision_tiny(c->p);
    const double both = c->p == PRECISION_F64 ? 2 : 1 + 0x1p-20;
    bounds_forward(&c->g, c->x, c->ints, u, tiny, c->ex);
    bounds_backward(&c->g, c->dx, c->x, c->ints, c->start, u, tiny, c->ex, c->edx);
    for (size_t i = 0; i < c->g.reals; i++) c->ex[i] *= both, c->edx[i] *= both;
    return bounds_measured(c, err);
}

vt_status op_case_again(op_case *out, const op_case *c, const double *dout, vt_error *err)
{
    const size_t n = c->g.reals;
    *out = *c;
    out->dout = out->dx = out->ex = out->edx = NULL;
    double **const block[] = { &out->dout, &out->dx, &out->ex, &out->edx };
    vt_status s = VT_OK;
    for (size_t i = 0; s == VT_OK && i < sizeof block / sizeof *block; i++)
        s = reals(block[i], n, err);
    if (s == VT_OK) {
        memcpy(out->dout, dout, n * sizeof *dout);
        take_upstream(out);
        graph_backward_f64(&out->g, out->dx, out->x, out->ints);
        s = bound(out, err);
    }
    if (s) op_case_again_free(out);
    return s;
}

void op_case_again_free(op_case *out)
{
    free(out->dout);
    free(out->dx);
    free(out->ex);
    free(out->edx);
    *out = (op_case){ .ints = NULL };
}

vt_status op_case_given(op_case *c, const graph_sizes *z, precision p,
                        vt_status (*fill)(op_case *, void *, vt_error *), void *context,
                        vt_error *err)
{
    vt_status s = make(c, z, p, err);
    if (s == VT_OK) s = fill(c, context, err);
    if (s == VT_OK) s = check_integers(c, err);
    if (s) {
        op_case_free(c);
        return s;
    }
    make_masks_causal(c);
    compute(c);
    if ((s = bound(c, err))) op_case_free(c);
    return s;
}

/* ---- drawing --------------------------------------------------------------- */

/* Where a tensor is used first: the node's kind and the place among its inputs. */
static graph_kind first_use(const graph *g, int tensor, int *place)
{
    for (int i = 0; i < g->nnodes; i++)
        for (*place = 0; *place < GRAPH_INS; ++*place)
            if (g->node[i].in[*place] == tensor) return g->node[i].kind;
    return GRAPH_KINDS;
}

/* Away from 0, of either sign. */
static double away(rng *r, double low, double high)
{
    const double size = rng_uniform(r, low, high);
    return rng_u32(r) & 1 ? -size : size;
}

static void draw_reals(op_case *c, rng *r, int tensor)
{
    const graph_tensor *t = &c->g.tensor[tensor];
    int place;
    const graph_kind kind = first_use(&c->g, tensor, &place);
    const bool matrix = kind == GRAPH_LINEAR && place == 1;
    const bool bias = (kind == GRAPH_LINEAR || kind == GRAPH_LAYERNORM) && place == 2;
    const bool gain = kind == GRAPH_LAYERNORM && place == 1;
    for (size_t k = 0; k < t->count; k++) {
        double x;
        if (matrix)    x = rng_normal(r) / sqrt(t->shape[0]);
        else if (bias) x = away(r, 0.25, 1);
        else if (gain) x = away(r, 0.5, 1.5);
        else           x = c->scale * (rng_normal(r) + 0.5 + c->z.mean);
        c->x[t->at + k] = precision_round(c->p, x);
    }
}

static void draw_mask(int *mask, const graph_sizes *z, rng *r)
{
    const int T = z->T, S = z->S, blind = T > 2 ? (int)rng_integers(r, 0, T) : -1;
    const int unseen = S > 2 ? (int)rng_integers(r, 1, S) : -1;
    for (int t = 0; t < T; t++) {
        const int last = z->causal ? S - T + t : S - 1;     /* the last key it may see */
        int *see = mask + (size_t)t * (size_t)S;
        for (int u = 0; u < S; u++) see[u] = t != blind && rng_integers(r, 0, 5) < 3;
        if (unseen >= 0) see[unseen] = 0;
        if (t == blind || last < 0) continue;
        const int u = (int)rng_integers(r, 0, last + 1);
        see[u == unseen ? 0 : u] = 1;
    }
}

static void draw_integers(op_case *c, rng *r, const graph_tensor *t)
{
    int *out = c->ints + t->at;
    const int unused = t->limit > 2 ? (int)rng_integers(r, 0, t->limit) : -1;
    if (t->role == GRAPH_MASK) {
        draw_mask(out, &c->z, r);
        return;
    }
    for (size_t k = 0; k < t->count; k++)
        do out[k] = (int)rng_integers(r, 0, t->limit);
        while (t->role == GRAPH_TOKENS && out[k] == unused);
    if (t->role == GRAPH_TOKENS && t->count > 1) out[1] = out[0];
    if (t->role == GRAPH_TARGETS && c->z.op == VT_OP_CROSSENTROPY && t->count > 2)
        out[rng_integers(r, 0, (int64_t)t->count)] = VT_IGNORE;
}

static void draw_start(op_case *c, rng *r)
{
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        double largest = 0, sum = 0;            /* scaled: squares neither over- nor underflow */
        if (!is_real(t)) continue;
        for (size_t k = 0; k < t->count; k++) largest = fmax(largest, fabs(c->dx[t->at + k]));
        for (size_t k = 0; k < t->count && largest > 0; k++) {
            const double part = c->dx[t->at + k] / largest;
            sum += part * part;
        }
        const double least = precision_tiny(c->p) / precision_u(c->p);
        const double size = largest > least ? largest * sqrt(sum / (double)t->count) : 1;
        for (size_t k = 0; k < t->count; k++)
            c->start[t->at + k] = precision_round(c->p, size * away(r, 0.5, 1.5));
    }
}

vt_status op_case_draw(op_case *c, const graph_sizes *z, precision p, double scale, uint64_t seed,
                       vt_error *err)
{
    rng r;
    vt_status s = make(c, z, p, err);
    if (s) {
        op_case_free(c);
        return s;
    }
    c->seed = seed;
    c->scale = scale;
    rng_stream_seed(&r, seed, RNG_VERIFY, (uint64_t)(STREAM + z->op));
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        if (is_real(t)) draw_reals(c, &r, c->g.in[i]);
        else if (t->role != GRAPH_MASK || c->z.masked) draw_integers(c, &r, t);
    }
    make_masks_causal(c);
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t k = 0; t->upstream && k < t->count; k++)
            c->dout[t->at + k] = precision_round(p, away(&r, 0.25, 1.25));
    }
    compute(c);
    draw_start(c, &r);
    if ((s = bound(c, err))) op_case_free(c);
    return s;
}

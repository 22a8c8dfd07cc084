/* op_case_shapes.c -- see op_case.h: the sizes of a check, and what a case cannot show.
 *
 * A row of the table serves every operator: each takes the sizes that it has.  In the
 * first rows all sizes of an operator differ, C and FF from NH * HS too, so that nothing
 * fits in another's place.  A kernel's tiles end at powers of two: 15, 16, 17.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/rng.h"
#include "verify/op/op_case.h"

enum { STREAM = 96, DRAWN = 8 };    /* + op: n of RNG_VERIFY; how many shapes are drawn */

#define SIZES(n, c, oc, v, b, t, s, nh, hs, ff, l) \
    .N = n, .C = c, .OC = oc, .V = v, .B = b, .T = t, .S = s, .NH = nh, .HS = hs, .FF = ff, .L = l
static const graph_sizes table[] = {
    /*       N   C  OC   V  B   T    S  NH  HS  FF  L */
    { SIZES( 5,  7,  3, 11, 2,  5,   9,  3,  4, 13, 2), .causal = true, .temperature = 1 },
    { SIZES( 6,  4,  9,  5, 3,  7,   4,  2,  5, 11, 1), .masked = true, .temperature = 0.5 },
    { SIZES( 1,  9,  5,  7, 2,  1,   1,  3,  5,  7, 1), .causal = true, .temperature = 1 },
    { SIZES( 7,  1,  4,  1, 3,  4,   6,  2,  1,  5, 1), .temperature = 2 },
    { SIZES( 3,  5,  1,  2, 4,  3,   8,  1,  2,  1, 3), .causal = true, .temperature = 1 },
    { SIZES( 1,  1,  1,  1, 1,  1,   1,  1,  1,  1, 1), .causal = true, .temperature = 1 },
    { SIZES( 4,  6, 10,  3, 2,  6,  10,  3,  7,  4, 1), .causal = true, .masked = true, .temperature = 1.5 },
    { SIZES( 2,  2,  8,  9, 5,  1,   7,  2,  3,  2, 2), .temperature = 1 },
    { SIZES(15, 16, 17, 33, 1, 16,  17,  2, 15, 31, 1), .causal = true, .temperature = 1 },
    { SIZES(17, 15, 16, 31, 2, 17,  33,  1, 16, 33, 1), .masked = true, .temperature = 0.7 },
    { SIZES(16, 17, 15, 32, 1, 15,  16,  3, 17, 15, 2), .causal = true, .temperature = 1 },
    { SIZES(33, 65, 34, 67, 2, 65,  97,  2, 33, 70, 1), .causal = true, .temperature = 1 },
};
#undef SIZES
enum { ROWS = sizeof table / sizeof *table };

bool op_case_shapes(graph_sizes *z, int i, int op, uint64_t seed)
{
    if (i < 0 || i >= ROWS + DRAWN) return false;
    if (i < ROWS) *z = table[i];
    else {
        rng r;
        int *const size[] = { &z->N, &z->C, &z->OC, &z->V, &z->B, &z->T, &z->S, &z->NH, &z->HS, &z->FF };
        static const int most[] = { 17, 17, 17, 17, 3, 17, 17, 3, 9, 17 };
        rng_stream_seed(&r, seed, RNG_VERIFY, (uint64_t)(STREAM + op));
        *z = (graph_sizes){ .L = 1, .temperature = 1 };
        for (int k = 0; k <= i - ROWS; k++) {
            for (size_t j = 0; j < sizeof size / sizeof *size; j++)
                *size[j] = (int)rng_integers(&r, 1, most[j] + 1);
            z->causal = rng_u32(&r) & 1;
            z->masked = rng_u32(&r) & 1;
            z->temperature = rng_uniform(&r, 0.5, 2);
        }
    }
    z->op = op;
    /* The same key for all, or no key for some: where it is causal and has no mask. */
    if (op == VT_OP_GPT || (z->causal && !z->masked)) z->S = z->S < z->T ? z->T : z->S;
    return true;
}

/* ---- degenerate cases -------------------------------------------------------- */

typedef struct reasons {
    char  *text;
    size_t size;
    int    count;
} reasons;

VT_PRINTF(2, 3)
static void reason(reasons *r, const char *format, ...)
{
    size_t at = r->size ? strlen(r->text) : 0;
    va_list args;
    if (r->count++ && at + 3 < r->size) {
        memcpy(r->text + at, "; ", 3);
        at += 2;
    }
    va_start(args, format);
    if (at < r->size) vsnprintf(r->text + at, r->size - at, format, args);
    va_end(args);
}

enum { N_, C_, OC_, V_, B_, T_, S_, NH_, HS_, FF_, SIZES_ };
static const char *const size_name[SIZES_] = { "N", "C", "OC", "V", "B", "T", "S", "NH", "HS", "FF" };

/* Sizes that stand beside each other in a tensor's shape.  T and S are equal in every
 * self-attention, C and NH*HS in every block: those are no reason. */
static const int pairs[][3] = {
    { VT_OP_SOFTMAX, N_, V_ }, { VT_OP_LINEAR, N_, C_ }, { VT_OP_LINEAR, C_, OC_ },
    { VT_OP_LINEAR, N_, OC_ }, { VT_OP_LAYERNORM, N_, C_ }, { VT_OP_CROSSENTROPY, N_, V_ },
    { VT_OP_ATTENTION, B_, T_ }, { VT_OP_ATTENTION, T_, NH_ }, { VT_OP_ATTENTION, NH_, HS_ },
    { VT_OP_ATTENTION, B_, NH_ }, { VT_OP_ATTENTION, T_, HS_ }, { VT_OP_ATTENTION, S_, NH_ },
    { VT_OP_PROJECTED, B_, T_ }, { VT_OP_PROJECTED, T_, NH_ }, { VT_OP_PROJECTED, NH_, HS_ },
    { VT_OP_BLOCK, B_, T_ }, { VT_OP_BLOCK, T_, NH_ }, { VT_OP_BLOCK, NH_, HS_ },
    { VT_OP_GPT, B_, T_ }, { VT_OP_GPT, T_, NH_ }, { VT_OP_GPT, NH_, HS_ },
    { VT_OP_LAB, T_, C_ }, { VT_OP_LAB, T_, NH_ }, { VT_OP_LAB, NH_, HS_ },
};

static void equal_sizes(const op_case *c, reasons *r)
{
    const graph_sizes *z = &c->z;
    const int size[SIZES_] = { z->N, z->C, z->OC, z->V, z->B, z->T, z->S, z->NH, z->HS, z->FF };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const int a = pairs[i][1], b = pairs[i][2];
        if (pairs[i][0] == z->op && size[a] == size[b] && size[a] > 1)
            reason(r, "%s and %s are both %d", size_name[a], size_name[b], size[a]);
    }
}

static bool all_are(const double *x, size_t n, double value)
{
    for (size_t i = 0; i < n; i++) if (x[i] != value) return false;
    return true;
}

static void plain_parameters(const op_case *c, reasons *r)
{
    const graph *g = &c->g;
    for (int i = 0; i < g->nnodes; i++) {
        const graph_node *n = &g->node[i];
        const bool norm = n->kind == GRAPH_LAYERNORM;
        if (!norm && n->kind != GRAPH_LINEAR) continue;
        const graph_tensor *w = norm ? &g->tensor[n->in[1]] : NULL;
        const graph_tensor *b = n->in[2] < 0 ? NULL : &g->tensor[n->in[2]];
        if (w && all_are(c->x + w->at, w->count, 1)) reason(r, "the gains of %s are all 1", w->name);
        if (b && all_are(c->x + b->at, b->count, 0)) reason(r, "the biases of %s are all 0", b->name);
    }
}

static void plain_gradients(const op_case *c, reasons *r)
{
    const graph *g = &c->g;
    bool moved = false;
    for (int i = 0; i < g->ntensors; i++) {
        const graph_tensor *t = &g->tensor[i];
        for (size_t k = t->at; t->role == GRAPH_INPUT && k < t->at + t->count; k++)
            if (fabs(c->dx[k]) > c->edx[k]) moved = true;
        if (t->upstream && t->count > 1 && all_are(c->dout + t->at, t->count, c->dout[t->at]))
            reason(r, "the upstream gradient of %s is the same everywhere", t->name);
    }
    if (!moved) reason(r, "no gradient is larger than its rounding");
}

static void single_tokens(const op_case *c, reasons *r)
{
    for (int i = 0; i < c->g.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[i];
        bool twice = false;
        if (t->role != GRAPH_TOKENS) continue;
        for (size_t a = 0; a < t->count && !twice; a++)
            for (size_t b = 0; b < a && !twice; b++)
                twice = c->ints[t->at + a] == c->ints[t->at + b];
        if (!twice) reason(r, "no token comes twice");
    }
}

bool op_case_degenerate(const op_case *c, char *why, size_t size)
{
    reasons r = { .text = why, .size = size };
    bool single = true;
    for (int i = 0; i < c->g.ntensors; i++) single = single && c->g.tensor[i].count == 1;
    if (size) *why = 0;
    equal_sizes(c, &r);
    if (c->z.T == 1) reason(&r, "T is 1");
    if (single) reason(&r, "every size is 1");
    plain_parameters(c, &r);
    plain_gradients(c, &r);
    single_tokens(c, &r);
    return r.count > 0;
}

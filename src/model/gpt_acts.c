/* gpt_acts.c -- the activations of a forward and a backward pass in one block of memory.
 *
 * A function of the shape alone: without a block it only counts.  What they are is said
 * in gpt_decl.h, what they are for in gpt.h (gpt_use).  One text for several
 * compilations, as gpt.c.
 */
#include <limits.h>
#include <string.h>
#include "kernels/ref.h"
#include "model/gpt.h"
#include "model/gpt_name.h"

typedef struct plan {
    char  *base;            /* NULL: only count */
    size_t used;
    bool   overflow;
} plan;

static void *piece(plan *p, size_t size, size_t a, size_t b, size_t c, size_t d)
{
    size_t n = size;
    if (!size_mul(n, a, &n) || !size_mul(n, b, &n) || !size_mul(n, c, &n) ||
        !size_mul(n, d, &n) || n > SIZE_MAX - 64) {
        p->overflow = true;
        return NULL;
    }
    n = (n + 63) / 64 * 64;
    void *at = p->base ? p->base + p->used : NULL;
    if (!size_add(p->used, n, &p->used)) p->overflow = true;
    return at;
}

static scalar *take(plan *p, size_t a, size_t b, size_t c, size_t d)
{
    return piece(p, sizeof(scalar), a, b, c, d);
}

static void place_layer(GPT(layer_acts) *a, plan *p, const gpt_config *z,
                        size_t B, size_t T, size_t S)
{
    const size_t N = B * T, C = (size_t)z->C, FF = (size_t)z->FF, NH = (size_t)z->NH;
    a->ln1      = take(p, N, C, 1, 1);
    a->ln1_mean = take(p, N, 1, 1, 1);
    a->ln1_rstd = take(p, N, 1, 1, 1);
    a->qkv      = take(p, N, 3, C, 1);
#if VT_FAST                             /* what the fused kernels skip stays NULL */
    (void)S;
    a->lse      = take(p, N, NH, 1, 1);
#else
    a->attproj  = take(p, N, C, 1, 1);
    a->fcproj   = take(p, N, C, 1, 1);
    a->q        = take(p, N, C, 1, 1);
    a->k        = take(p, N, C, 1, 1);
    a->v        = take(p, N, C, 1, 1);
    a->scores   = take(p, B, NH, T, S);
    a->scaled   = take(p, B, NH, T, S);
    a->masked   = take(p, B, NH, T, S);
    a->att      = take(p, B, NH, T, S);
#endif
    a->values   = take(p, N, C, 1, 1);
    a->res1     = take(p, N, C, 1, 1);
    a->ln2      = take(p, N, C, 1, 1);
    a->ln2_mean = take(p, N, 1, 1, 1);
    a->ln2_rstd = take(p, N, 1, 1, 1);
    a->fc       = take(p, N, FF, 1, 1);
    a->gelu     = take(p, N, FF, 1, 1);
}

static void place_back(GPT(back) *g, plan *p, const gpt_config *z,
                       size_t B, size_t T, size_t S, enum gpt_use use)
{
    const size_t N = B * T, C = (size_t)z->C, FF = (size_t)z->FF, V = (size_t)z->V;
    if (use == GPT_BACKWARD) g->dlogits = take(p, N, V, 1, 1);
    g->dres    = take(p, N, C, 1, 1);
    g->dln     = take(p, N, C, 1, 1);
    g->dfc     = take(p, N, FF, 1, 1);
    g->dvalues = take(p, N, C, 1, 1);
    g->dqkv    = take(p, N, 3, C, 1);
#if VT_FAST
    (void)S;
#else
    const size_t NH = (size_t)z->NH;
    g->dres_in = take(p, N, C, 1, 1);
    g->dbranch = take(p, N, C, 1, 1);
    g->dgelu   = take(p, N, FF, 1, 1);
    g->dq      = take(p, N, C, 1, 1);
    g->dk      = take(p, N, C, 1, 1);
    g->dv      = take(p, N, C, 1, 1);
    g->da      = take(p, B, NH, T, S);
    g->ds      = take(p, B, NH, T, S);
    if (z->tied) g->dhead = take(p, C, V, 1, 1);
#endif
}

/* Rows whose logits are in memory at once.  In training a part of them, about equal
 * parts: the shape alone decides, and a product over rows goes on where the part before
 * ended, so that the bits are those of all rows at once. */
static size_t rows_at_once(const gpt_config *z, size_t N, enum gpt_use use)
{
    enum { MOST_LOGITS = 1 << 23 };     /* 32 MiB of float: 166 rows of GPT-2's vocabulary */
    if (use < GPT_LEARN || N == 0) return N;
    const size_t most = MOST_LOGITS / (size_t)z->V, fit = most < 1 ? 1 : most;
    const size_t parts = N / fit + (N % fit != 0);
    return N / parts + (N % parts != 0);
}

/* All but what a layer hands to the next can be the same memory for all of them. */
static void place_layers(GPT(acts) *a, plan *p, const gpt_config *z, size_t B, size_t T,
                         size_t S)
{
    const size_t N = B * T, C = (size_t)z->C;
    for (int l = 0; l < z->L; l++) {
        GPT(layer_acts) *h = &a->layers[l];
        if (a->again && l > 0) {
            *h = a->layers[0];
        } else {
            memset(h, 0, sizeof *h);
            place_layer(h, p, z, B, T, S);
        }
        h->res2 = take(p, N, C, 1, 1);
    }
}

/* The same counted: layers are alike, one is looked at. */
static void count_layers(const GPT(acts) *a, plan *p, const gpt_config *z, size_t B, size_t T,
                         size_t S)
{
    GPT(layer_acts) layer;
    plan one = { .used = 0 }, out = { .used = 0 };
    size_t all, outs;
    place_layer(&layer, &one, z, B, T, S);
    (void)take(&out, B * T, (size_t)z->C, 1, 1);
    if (one.overflow || out.overflow ||
        !size_mul(one.used, a->again ? 1 : (size_t)z->L, &all) ||
        !size_mul(out.used, (size_t)z->L, &outs) || !size_add(p->used, all, &p->used) ||
        !size_add(p->used, outs, &p->used))
        p->overflow = true;
}

static void place(GPT(acts) *a, plan *p, const gpt_config *z, int B_, int T_, int S_,
                  enum gpt_use use)
{
    const size_t B = (size_t)B_, T = (size_t)T_, S = (size_t)S_, N = B * T;
    const size_t C = (size_t)z->C, V = (size_t)z->V;
    if (N > INT_MAX || N > INT_MAX / (size_t)z->NH) p->overflow = true;  /* kernels' N */
    memset(a, 0, sizeof *a);
    a->again    = use == GPT_RECOMPUTE;
    a->rows     = rows_at_once(z, N, use);
    a->layers   = piece(p, sizeof *a->layers, (size_t)z->L, 1, 1, 1);
    a->embedded = take(p, N, C, 1, 1);
    if (p->base) place_layers(a, p, z, B, T, S);
    else         count_layers(a, p, z, B, T, S);
    a->lnf      = take(p, N, C, 1, 1);
    a->lnf_mean = take(p, N, 1, 1, 1);
    a->lnf_rstd = take(p, N, 1, 1, 1);
    a->logits   = take(p, a->rows, V, 1, 1);
    a->loss     = take(p, N, 1, 1, 1);
    a->lse      = take(p, N, 1, 1, 1);
    if (use != GPT_FORWARD) place_back(&a->back, p, z, B, T, S, use);
}

size_t GPT(acts_bytes)(const gpt_config *z, int B, int T, int S, enum gpt_use use)
{
    GPT(acts) a;
    plan p = { 0 };
    place(&a, &p, z, B, T, S, use);
    return p.overflow ? SIZE_MAX : p.used;
}

void GPT(acts_place)(GPT(acts) *a, void *block, const gpt_config *z,
                     int B, int T, int S, enum gpt_use use)
{
    plan p = { .base = block };
    place(a, &p, z, B, T, S, use);
}

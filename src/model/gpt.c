/* gpt.c -- the wiring of a GPT: which kernel feeds which, forward and backward.
 *
 *   x      = wte[token] + wpe[position]                        (gpt.embed)
 *
 * L pre-norm blocks: x is what comes in, r2 the next block's x,
 *
 *   Xn     = layernorm(x)                                      (block.ln1)
 *   Q      = Xn Wq + 1 bq^T                                       (attn.q)
 *   K      = Xn Wk + 1 bk^T                                       (attn.k)
 *   V      = Xn Wv + 1 bv^T                                       (attn.v)
 *   O      = attention(Q, K, V)                                (block.att)
 *   out    = O Wo + 1 bo^T                                      (attn.out)
 *   r1     = x + out                                          (block.res1)
 *   n      = layernorm(r1)                                     (block.ln2)
 *   f      = n Wfc + 1 bfc^T                                      (mlp.fc)
 *   g      = gelu(f)                                            (mlp.gelu)
 *   p      = g Wproj + 1 bproj^T                                (mlp.proj)
 *   p      = proj(gelu(fc(n)))                                 (block.mlp)
 *   r2     = r1 + p                                           (block.res2)
 *
 * and a head without a bias:
 *
 *   y      = layernorm(r2 of the last block)                     (head.ln)
 *   logits = y Whead,  Whead = wte^T where tied              (head.logits)
 *   loss   = cross-entropy(logits, next token)                 (head.loss)
 *
 * Backward meets them in the other order.  dA is d loss / d A; what adds, adds
 * into the gradients of earlier windows:
 *
 *   dlogits = (softmax(logits) - [next token]) dloss        (head.dlogits)
 *   dy      = dlogits Whead^T                                    (head.dy)
 *   dWhead += y^T dlogits                                    (head.dwhead)
 *   dwte   += dWhead^T where tied                              (head.dwte)
 *   dr2     = layernorm'(dy) of the last block                 (head.dres)
 *
 *   dr1, dp = dr2;  dx, dout = dr1: a sum hands it to both    (block.dres)
 *   dg      = dp Wproj^T                                          (mlp.dg)
 *   dWproj += g^T dp                                          (mlp.dwproj)
 *   dbproj += 1^T dp                                          (mlp.dbproj)
 *   df      = dg gelu'(f)                                         (mlp.df)
 *   dn      = df Wfc^T                                            (mlp.dn)
 *   dWfc   += n^T df                                            (mlp.dwfc)
 *   dbfc   += 1^T df                                            (mlp.dbfc)
 *   dr1    += layernorm'(dn)                                  (block.dln2)
 *   dO      = dout Wo^T                                          (attn.do)
 *   dWo    += O^T dout                                          (attn.dwo)
 *   dbo    += 1^T dout                                          (attn.dbo)
 *   dQ, dK, dV = attention'(dO)                               (block.datt)
 *   dXn     = dQ Wq^T + dK Wk^T + dV Wv^T                       (attn.dxn)
 *   dWq    += Xn^T dQ                                           (attn.dwq)
 *   dWk    += Xn^T dK                                           (attn.dwk)
 *   dWv    += Xn^T dV                                           (attn.dwv)
 *   dbq    += 1^T dQ                                            (attn.dbq)
 *   dbk    += 1^T dK = 0: softmax ignores what a row shares     (attn.dbk)
 *   dbv    += 1^T dV                                            (attn.dbv)
 *   dx     += layernorm'(dXn)                                 (block.dln1)
 *   dwte[token] += dx,  dwpe[position] += dx                  (gpt.dembed)
 *
 * q, k and v are the three column blocks of one tensor (C, 3C), made by one call
 * and differentiated by one.
 *
 * One text for several compilations: the definitions in float, double, double
 * complex and _Float128, and the fast float kernels (VT_FAST).  What differs between them is
 * how a kernel is called (CALL), and attention: the definition keeps its five
 * stages and wants q, k, v apart, the fast kernel reads them where they lie in
 * qkv and keeps one log-sum-exp a row.  The fast wiring hands the result of a product on
 * while it is in the cache (GELU, the sum of the residual stream), has gradients set
 * where the definitions clear and add, and so stores fewer stages: the same numbers.
 * A training step's pass (learn) has the logits of some rows only at a time, and may
 * compute a layer again instead of keeping it.
 *
 * A tied head is wte transposed: prepare() writes it, backward adds its
 * gradient back transposed.  The fast wiring reads wte as it lies where the caller
 * has no room for a head (training); with one, a single row is faster.
 *
 * A cache holds keys and values of the P earlier
 * positions; only attention knows of it:
 *
 *   k[P+t] = K[t],  v[P+t] = V[t]                            (cache.store)
 *   P      = P + T                                          (cache.length)
 *
 * Nothing here allocates or fails: sizes and token ids were checked before.
 *
 * Radford et al., "Language models are unsupervised multitask learners" (2019):
 * the architecture.  Press, Wolf, "Using the output embedding to improve
 * language models" (2017): the tied head.
 */
#include <string.h>
#include "kernels/ref.h"
#include "kernels/definitions.h"
#include "model/gpt.h"
#include "model/gpt_name.h"

#if VT_FAST
#define CALL(name, ...) m->kernels->name(m->team, __VA_ARGS__)
#else
#define CALL(name, ...) REF(name)(__VA_ARGS__)
#if !VT_WASM                    /* the definition's bits, sooner: see linear_in_order.c */
#define linear_forward  in_order_linear_forward
#define linear_backward in_order_linear_backward
#endif
#endif

/* ---- parameters by name ------------------------------------------------ */

/* Pointers into one block of parameters or of their gradients.  They are not
 * const so that one struct serves both; forward only reads through them. */
typedef struct layer_view {
#define LAYER(name, file, rows, cols, start, decay, transposed) scalar *name;
#include "model/tensors.def"
} layer_view;

typedef struct model_view {
    scalar *layers;
    size_t layer_size;
#define TENSOR(name, file, rows, cols, start, decay, transposed) scalar *name;
#define LAST(name, file, rows, cols, start, decay, transposed) scalar *name;
#define HEAD(name, file, rows, cols, start, decay, transposed) scalar *name;
#include "model/tensors.def"
} model_view;

static layer_view view_layer(const model_view *p, const gpt_config *z, int l)
{
    const size_t C = (size_t)z->C, FF = (size_t)z->FF;
    scalar *at = p->layers + (size_t)l * p->layer_size;
    layer_view v;
#define LAYER(name, file, rows, cols, start, decay, transposed) \
    v.name = at; at += (rows) * (cols);
#include "model/tensors.def"
    return v;
}

static model_view view_model(const scalar *block, const gpt_config *z)
{
    const size_t C = (size_t)z->C, FF = (size_t)z->FF, T = (size_t)z->T, V = (size_t)z->V;
    scalar *at = (scalar *)(uintptr_t)block;
    model_view v = { .layer_size = 0 };
#define TENSOR(name, file, rows, cols, start, decay, transposed) \
    v.name = at; at += (rows) * (cols);
#include "model/tensors.def"
    v.layers = at;
#define LAYER(name, file, rows, cols, start, decay, transposed) \
    v.layer_size += (rows) * (cols);
#include "model/tensors.def"
    at += (size_t)z->L * v.layer_size;
#define LAST(name, file, rows, cols, start, decay, transposed) \
    v.name = at; at += (rows) * (cols);
#include "model/tensors.def"
    v.headw = z->tied ? NULL : at;
    return v;
}

/* ---- forward ----------------------------------------------------------- */

void GPT(prepare)(const GPT(model) *m)
{
    if (!m->z.tied || !m->head) return;
    const size_t C = (size_t)m->z.C, V = (size_t)m->z.V;
    const scalar *wte = view_model(m->params, &m->z).wte;
    for (size_t v = 0; v < V; v++)
        for (size_t i = 0; i < C; i++) m->head[i * V + v] = wte[v * C + i];
}

/* Keys and values of these rows, where attention reads them: rows P .. P+N-1 of
 * the cache, or of the layer's own k and v (P = 0). */
static void store_keys(scalar *k, scalar *v, const scalar *qkv, size_t P, size_t N, size_t C)
{
    for (size_t n = 0; n < N; n++) {
        memcpy(k + (P + n) * C, qkv + n * 3 * C + C,     C * sizeof *k);    /* cache.store */
        memcpy(v + (P + n) * C, qkv + n * 3 * C + 2 * C, C * sizeof *v);    /* cache.store */
    }
}

static void attend_forward(const GPT(model) *m, GPT(layer_acts) *a, GPT(cache) *cache,
                           int l, int B, int T)
{
    const int NH = m->z.NH, HS = m->z.C / NH, P = cache ? cache->length : 0;
    const size_t C = (size_t)m->z.C, N = (size_t)B * (size_t)T;
    const size_t rows = (size_t)l * (size_t)m->z.T * C;      /* this layer's part */
    scalar *k = cache ? cache->k + rows : a->k, *v = cache ? cache->v + rows : a->v;
#if VT_FAST
    if (cache) {
        store_keys(k, v, a->qkv, (size_t)P, N, C);
        m->kernels->attention_forward(m->team, a->values, a->lse, a->qkv, 3 * C,
                                      k, v, C, B, T, P, NH, HS);
    } else {
        m->kernels->attention_forward(m->team, a->values, a->lse, a->qkv, 3 * C,
                                      a->qkv + C, a->qkv + 2 * C, 3 * C, B, T, P, NH, HS);
    }
#else
    for (size_t n = 0; n < N; n++) memcpy(a->q + n * C, a->qkv + n * 3 * C, C * sizeof *a->q);
    store_keys(k, v, a->qkv, (size_t)P, N, C);
    REF(attention_forward)(a->values, a->scores, a->scaled, a->masked, a->att,
                           a->q, k, v, B, T, P, NH, HS);    /* block.att */
#endif
}

/* All of a layer that its backward reads: what is before the last product. */
static void layer_inner(const GPT(model) *m, GPT(acts) *a, const layer_view *w,
                        GPT(cache) *cache, int l, int B, int T)
{
    const int N = B * T, C = m->z.C, FF = m->z.FF;
    const scalar *x = l ? a->layers[l - 1].res2 : a->embedded;
    GPT(layer_acts) *h = &a->layers[l];

    CALL(layernorm_forward, h->ln1, h->ln1_mean, h->ln1_rstd, x, w->ln1w, w->ln1b,
         N, C);                                                         /* block.ln1 */
    CALL(linear_forward, h->qkv, h->ln1, w->qkvw, w->qkvb, N, C, 3 * C); /* attn.q attn.k attn.v */
    attend_forward(m, h, cache, l, B, T);                               /* block.att */
#if VT_FAST
    CALL(linear_residual_forward, h->res1, x, h->values, w->attprojw, w->attprojb, N, C, C);
#else
    CALL(linear_forward, h->attproj, h->values, w->attprojw, w->attprojb,
         N, C, C);                                                      /* attn.out */
    CALL(residual_forward, h->res1, x, h->attproj,
         (size_t)N * (size_t)C);                                        /* block.res1 */
#endif
    CALL(layernorm_forward, h->ln2, h->ln2_mean, h->ln2_rstd, h->res1, w->ln2w, w->ln2b,
         N, C);                                                         /* block.ln2 */
#if VT_FAST
    CALL(linear_gelu_forward, h->gelu, h->fc, h->ln2, w->fcw, w->fcb, N, C, FF);
#else
    CALL(linear_forward, h->fc, h->ln2, w->fcw, w->fcb, N, C, FF);      /* block.mlp mlp.fc */
    CALL(gelu_forward, h->gelu, h->fc, (size_t)N * (size_t)FF);         /* block.mlp mlp.gelu */
#endif
}

static void layer_forward(const GPT(model) *m, GPT(acts) *a, const model_view *p,
                          GPT(cache) *cache, int l, int B, int T)
{
    const int N = B * T, C = m->z.C, FF = m->z.FF;
    GPT(layer_acts) *h = &a->layers[l];
    const layer_view w = view_layer(p, &m->z, l);

    layer_inner(m, a, &w, cache, l, B, T);
#if VT_FAST
    CALL(linear_residual_forward, h->res2, h->res1, h->gelu, w.fcprojw, w.fcprojb, N, FF, C);
#else
    CALL(linear_forward, h->fcproj, h->gelu, w.fcprojw, w.fcprojb,
         N, FF, C);                                                     /* block.mlp mlp.proj */
    CALL(residual_forward, h->res2, h->res1, h->fcproj,
         (size_t)N * (size_t)C);                                        /* block.res2 */
#endif
}

/* y of rows first .. N-1, to the front of lnf. */
static void head_norm(const GPT(model) *m, GPT(acts) *a, const model_view *p, int first, int N)
{
    const int C = m->z.C;
    const scalar *x = a->layers[m->z.L - 1].res2 + (size_t)first * (size_t)C;
    CALL(layernorm_forward, a->lnf, a->lnf_mean, a->lnf_rstd, x, p->lnfw, p->lnfb,
         N - first, C);                                                 /* head.ln */
}

/* N rows of y, at most a->rows -> their logits. */
static void head_logits(const GPT(model) *m, GPT(acts) *a, const model_view *p,
                        const scalar *y, int N)
{
    const int C = m->z.C, V = m->z.V;
#if VT_FAST
    if (m->z.tied && !m->head) {
        CALL(tied_forward, a->logits, y, p->wte, N, C, V);
        return;
    }
#endif
    CALL(linear_forward, a->logits, y, m->z.tied ? m->head : p->headw, NULL,
         N, C, V);                                                      /* head.logits */
}

/* The logits of rows `first` on. */
static void rows_forward(const GPT(model) *m, GPT(acts) *a, const int *tokens,
                         GPT(cache) *cache, int B, int T, int first)
{
    const model_view p = view_model(m->params, &m->z);
    const int P = cache ? cache->length : 0;
    CALL(embedding_forward, a->embedded, tokens, p.wte, p.wpe, B, T, P, m->z.C); /* gpt.embed */
    for (int l = 0; l < m->z.L; l++) layer_forward(m, a, &p, cache, l, B, T);
    head_norm(m, a, &p, first, B * T);
    head_logits(m, a, &p, a->lnf, B * T - first);
    if (cache) cache->length += T;                                      /* cache.length */
}

void GPT(forward)(const GPT(model) *m, GPT(acts) *a, const int *tokens,
                  GPT(cache) *cache, int B, int T)
{
    rows_forward(m, a, tokens, cache, B, T, 0);
}

void GPT(forward_last)(const GPT(model) *m, GPT(acts) *a, const int *tokens,
                       GPT(cache) *cache, int T)
{
    rows_forward(m, a, tokens, cache, 1, T, T - 1);
}

void GPT(part_forward)(const GPT(model) *m, GPT(acts) *a, const int *tokens, int part,
                       int B, int T)
{
    const model_view p = view_model(m->params, &m->z);
    if (part < 0) {
        CALL(embedding_forward, a->embedded, tokens, p.wte, p.wpe, B, T, 0, m->z.C);
    } else if (part < m->z.L) {
        layer_forward(m, a, &p, NULL, part, B, T);
    } else {
        head_norm(m, a, &p, 0, B * T);
        head_logits(m, a, &p, a->lnf, B * T);
    }
}

void GPT(forward_from)(const GPT(model) *m, GPT(acts) *a, const int *tokens, int first,
                       int B, int T)
{
    for (int part = first; part <= m->z.L; part++) GPT(part_forward)(m, a, tokens, part, B, T);
}

void GPT(loss)(const GPT(model) *m, GPT(acts) *a, const int *targets,
               scalar temperature, int B, int T)
{
    CALL(crossentropy_forward, a->loss, a->lse, a->logits, targets, temperature,
         B * T, m->z.V);                                                /* head.loss */
}

/* ---- backward ---------------------------------------------------------- */

#if VT_FAST
enum { CLEAR_CHUNK = 1 << 16 };
typedef struct clearing { scalar *p; size_t n; } clearing;

static void clear_chunk(void *context, size_t i, int worker)
{
    const clearing *c = context;
    const size_t begin = i * CLEAR_CHUNK;
    const size_t n = c->n - begin < CLEAR_CHUNK ? c->n - begin : CLEAR_CHUNK;
    (void)worker;
    memset(c->p + begin, 0, n * sizeof *c->p);
}

/* Backward kernels add; what they add into starts at 0. */
static void clear(const GPT(model) *m, scalar *p, size_t n)
{
    clearing c = { p, n };
    team_run(m->team, (n + CLEAR_CHUNK - 1) / CLEAR_CHUNK, clear_chunk, &c);
}
#else
static void clear(const GPT(model) *m, scalar *p, size_t n)
{
    (void)m;
    for (size_t i = 0; i < n; i++) p[i] = 0;
}
#endif

/* dvalues -> dqkv */
static void attend_backward(const GPT(model) *m, const GPT(layer_acts) *a, GPT(back) *g,
                            int B, int T)
{
    const int NH = m->z.NH, HS = m->z.C / NH;
    const size_t C = (size_t)m->z.C, N = (size_t)B * (size_t)T;
    clear(m, g->dqkv, N * 3 * C);
#if VT_FAST
    m->kernels->attention_backward(m->team, g->dqkv, g->dqkv + C, g->dqkv + 2 * C,
                                   g->dvalues, a->values, a->lse, a->qkv, 3 * C,
                                   a->qkv + C, a->qkv + 2 * C, 3 * C, B, T, 0, NH, HS);
#else
    clear(m, g->dq, N * C);
    clear(m, g->dk, N * C);
    clear(m, g->dv, N * C);
    REF(attention_backward)(g->dq, g->dk, g->dv, g->da, g->ds, g->dvalues, a->att,
                            a->q, a->k, a->v, B, T, 0, NH, HS);         /* block.datt */
    for (size_t n = 0; n < N; n++) {
        memcpy(g->dqkv + n * 3 * C,         g->dq + n * C, C * sizeof *g->dq);
        memcpy(g->dqkv + n * 3 * C + C,     g->dk + n * C, C * sizeof *g->dk);
        memcpy(g->dqkv + n * 3 * C + 2 * C, g->dv + n * C, C * sizeof *g->dv);
    }
#endif
}

/* g->dres is the gradient at the layer's output; it becomes the one at its
 * input x. */
static void layer_backward(const GPT(model) *m, const GPT(layer_acts) *h, GPT(back) *g,
                           const layer_view *w, const layer_view *d, const scalar *x,
                           int B, int T)
{
    const int N = B * T, C = m->z.C, FF = m->z.FF;
#if VT_FAST
    /* A sum hands its gradient to both terms: the branch's is read where it lies, and
     * becomes the one at the sum's other term when the layer norm adds to it. */
    CALL(linear_set_backward, g->dfc, d->fcprojw, d->fcprojb, g->dres, h->gelu, w->fcprojw,
         h->fc, N, FF, C);
    CALL(linear_set_backward, g->dln, d->fcw, d->fcb, g->dfc, h->ln2, w->fcw, NULL, N, C, FF);
    CALL(layernorm_backward, g->dres, d->ln2w, d->ln2b, g->dln, h->res1, w->ln2w,
         h->ln2_mean, h->ln2_rstd, N, C);
    CALL(linear_set_backward, g->dvalues, d->attprojw, d->attprojb, g->dres, h->values,
         w->attprojw, NULL, N, C, C);
    attend_backward(m, h, g, B, T);
    CALL(linear_set_backward, g->dln, d->qkvw, d->qkvb, g->dqkv, h->ln1, w->qkvw, NULL,
         N, C, 3 * C);
    CALL(layernorm_backward, g->dres, d->ln1w, d->ln1b, g->dln, x, w->ln1w,
         h->ln1_mean, h->ln1_rstd, N, C);
#else
    const size_t NC = (size_t)N * (size_t)C, NF = (size_t)N * (size_t)FF;
    scalar *swap;

    clear(m, g->dres_in, NC);
    clear(m, g->dbranch, NC);
    CALL(residual_backward, g->dres_in, g->dbranch, g->dres, NC);       /* block.dres */
    clear(m, g->dgelu, NF);
    CALL(linear_backward, g->dgelu, d->fcprojw, d->fcprojb, g->dbranch, h->gelu, w->fcprojw,
         N, FF, C);                                 /* mlp.dg mlp.dwproj mlp.dbproj */
    clear(m, g->dfc, NF);
    CALL(gelu_backward, g->dfc, g->dgelu, h->fc, NF);                   /* mlp.df */
    clear(m, g->dln, NC);
    CALL(linear_backward, g->dln, d->fcw, d->fcb, g->dfc, h->ln2, w->fcw,
         N, C, FF);                                 /* mlp.dn mlp.dwfc mlp.dbfc */
    CALL(layernorm_backward, g->dres_in, d->ln2w, d->ln2b, g->dln, h->res1, w->ln2w,
         h->ln2_mean, h->ln2_rstd, N, C);                               /* block.dln2 */

    swap = g->dres; g->dres = g->dres_in; g->dres_in = swap;   /* now at res1 */
    clear(m, g->dres_in, NC);
    clear(m, g->dbranch, NC);
    CALL(residual_backward, g->dres_in, g->dbranch, g->dres, NC);       /* block.dres */
    clear(m, g->dvalues, NC);
    CALL(linear_backward, g->dvalues, d->attprojw, d->attprojb, g->dbranch, h->values,
         w->attprojw, N, C, C);                     /* attn.do attn.dwo attn.dbo */
    attend_backward(m, h, g, B, T);                                     /* block.datt */
    clear(m, g->dln, NC);
    CALL(linear_backward, g->dln, d->qkvw, d->qkvb, g->dqkv, h->ln1, w->qkvw,
         N, C, 3 * C); /* attn.dxn attn.dwq attn.dwk attn.dwv attn.dbq attn.dbk attn.dbv */
    CALL(layernorm_backward, g->dres_in, d->ln1w, d->ln1b, g->dln, x, w->ln1w,
         h->ln1_mean, h->ln1_rstd, N, C);                               /* block.dln1 */
    swap = g->dres; g->dres = g->dres_in; g->dres_in = swap;   /* now at x */
#endif
}

/* dlogits of N rows, from row n on -> g->dln */
static void head_products(const GPT(model) *m, const GPT(acts) *a, GPT(back) *g,
                          const model_view *p, const model_view *d, const scalar *dlogits,
                          size_t n, int N)
{
    const gpt_config *z = &m->z;
    const int C = z->C;
    const size_t at = n * (size_t)C;
#if VT_FAST
    if (z->tied)
        CALL(tied_set_backward, g->dln + at, d->wte, dlogits, a->lnf + at, p->wte, N, C, z->V);
    else
        CALL(linear_set_backward, g->dln + at, d->headw, NULL, dlogits, a->lnf + at, p->headw,
             NULL, N, C, z->V);
#else
    if (z->tied) clear(m, g->dhead, (size_t)C * (size_t)z->V);
    clear(m, g->dln, (size_t)N * (size_t)C);
    CALL(linear_backward, g->dln + at, z->tied ? g->dhead : d->headw, NULL, dlogits, a->lnf + at,
         z->tied ? m->head : p->headw, N, C, z->V);         /* head.dy head.dwhead */
    if (z->tied)                        /* the head's part of wte's gradient */
        for (size_t v = 0; v < (size_t)z->V; v++)
            for (size_t i = 0; i < (size_t)C; i++)
                d->wte[v * (size_t)C + i] += g->dhead[i * (size_t)z->V + v]; /* head.dwte */
#endif
}

/* g->dln, of all rows -> g->dres */
static void head_norm_backward(const GPT(model) *m, const GPT(acts) *a, GPT(back) *g,
                               const model_view *p, const model_view *d, int N)
{
    clear(m, g->dres, (size_t)N * (size_t)m->z.C);
    CALL(layernorm_backward, g->dres, d->lnfw, d->lnfb, g->dln, a->layers[m->z.L - 1].res2,
         p->lnfw, a->lnf_mean, a->lnf_rstd, N, m->z.C);                 /* head.dres */
}

void GPT(part_backward)(const GPT(model) *m, GPT(acts) *a, scalar *grads, const int *tokens,
                        int part, int B, int T)
{
    const gpt_config *z = &m->z;
    const model_view p = view_model(m->params, z), d = view_model(grads, z);
    GPT(back) *g = &a->back;
    if (part >= z->L) {
        head_products(m, a, g, &p, &d, g->dlogits, 0, B * T);
        head_norm_backward(m, a, g, &p, &d, B * T);
    } else if (part >= 0) {
        const layer_view w = view_layer(&p, z, part), dw = view_layer(&d, z, part);
        const scalar *x = part ? a->layers[part - 1].res2 : a->embedded;
        layer_backward(m, &a->layers[part], g, &w, &dw, x, B, T);
    } else {
        CALL(embedding_backward, d.wte, d.wpe, g->dres, tokens, B, T, 0, z->C); /* gpt.dembed */
    }
}

void GPT(backward)(const GPT(model) *m, GPT(acts) *a, scalar *grads, const int *tokens,
                   const int *targets, const scalar *dloss, int B, int T)
{
    const int N = B * T, V = m->z.V;
    scalar *dlogits = a->back.dlogits;

    clear(m, dlogits, (size_t)N * (size_t)V);
    CALL(crossentropy_backward, dlogits, dloss, a->lse, a->logits, targets, 1,
         N, V);                                                         /* head.dlogits */
    for (int part = m->z.L; part >= -1; part--)
        GPT(part_backward)(m, a, grads, tokens, part, B, T);
}

/* ---- a training step's ---------------------------------------------------- */

#if VT_FAST
/* y of all rows -> loss, lse and, with grads, dy and the head's gradient; the logits of
 * a part of the rows become their gradient where they lie. */
static void head_learn(const GPT(model) *m, GPT(acts) *a, const model_view *p, scalar *grads,
                       const int *targets, const scalar *dloss, size_t N)
{
    const size_t C = (size_t)m->z.C;
    const int V = m->z.V;
    for (size_t n = 0; n < N; n += a->rows) {
        const int rows = (int)(N - n < a->rows ? N - n : a->rows);
        head_logits(m, a, p, a->lnf + n * C, rows);
        if (!grads) {
            CALL(crossentropy_forward, a->loss + n, a->lse + n, a->logits, targets + n, 1,
                 rows, V);
            continue;
        }
        const model_view d = view_model(grads, &m->z);
        CALL(crossentropy_learn, a->loss + n, a->lse + n, a->logits, dloss + n, targets + n,
             rows, V);
        head_products(m, a, &a->back, p, &d, a->logits, n, rows);
    }
}

void GPT(learn)(const GPT(model) *m, GPT(acts) *a, scalar *grads, const int *tokens,
                const int *targets, const scalar *dloss, int B, int T)
{
    const model_view p = view_model(m->params, &m->z);
    const int L = m->z.L, N = B * T;
    for (int part = -1; part < L; part++) GPT(part_forward)(m, a, tokens, part, B, T);
    head_norm(m, a, &p, 0, N);
    head_learn(m, a, &p, grads, targets, dloss, (size_t)N);
    if (!grads) return;
    const model_view d = view_model(grads, &m->z);
    head_norm_backward(m, a, &a->back, &p, &d, N);
    for (int part = L - 1; part >= -1; part--) {
        if (a->again && part >= 0 && part < L - 1) {
            const layer_view w = view_layer(&p, &m->z, part);
            layer_inner(m, a, &w, NULL, part, B, T);
        }
        GPT(part_backward)(m, a, grads, tokens, part, B, T);
    }
}
#endif

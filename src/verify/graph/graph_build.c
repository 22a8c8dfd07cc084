/* graph_build.c -- which nodes an operator is made of.
 *
 * An operator is written as its equations read: each line makes a node's output
 * from tensors.  Names are those of vitrine_kernel.h, which are also those of a
 * dump; a GPT's are those of its files, without the "transformer." in front.
 */
#include "verify/graph/graph.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
    graph      *g;
    int         room, node_room;        /* allocated */
    int         layer;
    vt_status   status;                 /* the first failure; then all is ignored */
    vt_error   *err;
    const char *prefix;                 /* of the names of a layer: "h.0." */
} builder;

/* What a tensor is made of: shape and the meaning of its axes. */
typedef struct form {
    int rank, shape[GRAPH_RANK];
    const char *axis[GRAPH_RANK];
} form;

static form of1(int a, const char *x) { return (form){ 1, { a }, { x } }; }
static form of2(int a, const char *x, int b, const char *y)
{
    return (form){ 2, { a, b }, { x, y } };
}
static form of3(int a, const char *x, int b, const char *y, int c, const char *z)
{
    return (form){ 3, { a, b, c }, { x, y, z } };
}
static form of4(int a, const char *x, int b, const char *y, int c, const char *z, int d,
                const char *w)
{
    return (form){ 4, { a, b, c, d }, { x, y, z, w } };
}

/* Room for one more: doubles the array. */
static bool grow(builder *b, void **array, int *room, int used, size_t size)
{
    if (b->status) return false;
    if (used < *room) return true;
    const int more = *room ? 2 * *room : 32;
    void *bigger = realloc(*array, (size_t)more * size);
    if (!bigger) {
        b->status = fail_memory(b->err, (size_t)more * size, "a graph");
        return false;
    }
    *array = bigger;
    *room = more;
    return true;
}

static int tensor(builder *b, graph_role role, const char *name, form f)
{
    graph *g = b->g;
    void *array = g->tensor;
    if (!grow(b, &array, &b->room, g->ntensors, sizeof *g->tensor)) return -1;
    g->tensor = array;
    graph_tensor *t = &g->tensor[g->ntensors];
    *t = (graph_tensor){ .role = role, .rank = f.rank, .count = 1, .layer = b->layer };
    snprintf(t->name, sizeof t->name, "%s%s", b->prefix, name);
    for (int i = 0; i < f.rank; i++) {
        t->shape[i] = f.shape[i];
        t->axis[i] = f.axis[i];
        if (!size_mul(t->count, (size_t)f.shape[i], &t->count) || t->count > INT_MAX) {
            b->status = fail(b->err, VT_TOO_LARGE, "%s: more than %d elements", t->name, INT_MAX);
            return -1;
        }
    }
    size_t *used = role < GRAPH_INTEGERS ? &g->reals : &g->ints;
    t->at = *used;
    if (!size_add(*used, t->count, used)) {
        b->status = fail(b->err, VT_TOO_LARGE, "the tensors of a graph: too large");
        return -1;
    }
    return g->ntensors++;
}

/* A tensor that the caller gives. */
static int given(builder *b, const char *name, form f)
{
    return tensor(b, GRAPH_INPUT, name, f);
}

static int integers(builder *b, graph_role role, const char *name, form f, int limit)
{
    const int t = tensor(b, role, name, f);
    if (t >= 0) b->g->tensor[t].limit = limit;
    return t;
}

/* ---- nodes: each returns its output --------------------------------------- */

static graph_node *node(builder *b, graph_kind kind, const char *name, int out)
{
    static graph_node spare;
    graph *g = b->g;
    void *array = g->node;
    if (!grow(b, &array, &b->node_room, g->nnodes, sizeof *g->node)) return &spare;
    g->node = array;
    graph_node *n = &g->node[g->nnodes++];
    *n = (graph_node){ .kind = kind, .out = out, .layer = b->layer, .temperature = 1 };
    snprintf(n->name, sizeof n->name, "%s%s", b->prefix, name);
    for (int i = 0; i < GRAPH_INS; i++) n->in[i] = -1;
    for (int i = 0; i < GRAPH_STAGES; i++) n->stage[i] = -1;
    return n;
}

static int stage(builder *b, const char *name, const char *what, form f)
{
    char full[GRAPH_NAME];
    snprintf(full, sizeof full, "%s.%s", name, what);
    return tensor(b, GRAPH_STAGE, full, f);
}

static int linear(builder *b, const char *name, form f, int x, int w, int bias, int N, int C,
                  int OC)
{
    const int out = tensor(b, GRAPH_INNER, name, f);
    graph_node *n = node(b, GRAPH_LINEAR, name, out);
    n->in[0] = x;
    n->in[1] = w;
    n->in[2] = bias;
    n->N = N;
    n->C = C;
    n->OC = OC;
    return out;
}

static int layernorm(builder *b, const char *name, form f, int x, int w, int bias, int N, int C)
{
    const int out = tensor(b, GRAPH_INNER, name, f);
    const int mean = stage(b, name, "mean", of1(N, "row")), rstd = stage(b, name, "rstd", of1(N, "row"));
    graph_node *n = node(b, GRAPH_LAYERNORM, name, out);
    n->in[0] = x;
    n->in[1] = w;
    n->in[2] = bias;
    n->stage[0] = mean;
    n->stage[1] = rstd;
    n->N = N;
    n->C = C;
    return out;
}

/* Softmax, GELU, residual: one number by another, N of them (rows of V). */
static int plain(builder *b, graph_kind kind, const char *name, form f, int x, int y, int N, int V)
{
    const int out = tensor(b, GRAPH_INNER, name, f);
    graph_node *n = node(b, kind, name, out);
    n->in[0] = x;
    n->in[1] = y;
    n->N = N;
    n->V = V;
    return out;
}

static int columns(builder *b, const char *name, form f, int x, int first, int N, int C, int OC)
{
    const int out = tensor(b, GRAPH_INNER, name, f);
    graph_node *n = node(b, GRAPH_COLUMNS, name, out);
    n->in[0] = x;
    n->first = first;
    n->N = N;
    n->C = C;
    n->OC = OC;
    return out;
}

static int attention(builder *b, const char *name, const graph_sizes *z, int S, int q, int k,
                     int v, int mask)
{
    const int B = z->B, T = z->T, NH = z->NH;
    const form cell = of4(B, "batch", NH, "head", T, "query", S, "key");
    const int out = tensor(b, GRAPH_INNER, name,
                           of4(B, "batch", T, "position", NH, "head", z->HS, "channel"));
    const int att = stage(b, name, "att", cell), scores = stage(b, name, "scores", cell);
    const int scaled = mask < 0 ? stage(b, name, "scaled", cell) : -1;
    const int masked = mask < 0 ? stage(b, name, "masked", cell) : -1;
    graph_node *n = node(b, GRAPH_ATTENTION, name, out);
    n->in[0] = q;
    n->in[1] = k;
    n->in[2] = v;
    n->in[3] = mask;
    n->stage[0] = att;
    n->stage[1] = scores;
    n->stage[2] = scaled;
    n->stage[3] = masked;
    n->B = B;
    n->T = T;
    n->S = S;
    n->NH = NH;
    n->HS = z->HS;
    return out;
}

static int crossentropy(builder *b, const char *name, form f, int logits, int target, int N,
                        int V, double temperature)
{
    const int out = tensor(b, GRAPH_INNER, name, f), lse = stage(b, name, "lse", f);
    graph_node *n = node(b, GRAPH_CROSSENTROPY, name, out);
    n->in[0] = logits;
    n->in[1] = target;
    n->stage[0] = lse;
    n->N = N;
    n->V = V;
    n->temperature = temperature;
    return out;
}

/* ---- operators ------------------------------------------------------------ */

/* Inputs in the order of in[] are those made so far. */
static void inputs(builder *b)
{
    graph *g = b->g;
    if (b->status) return;
    g->nin = g->ntensors;
    g->in = malloc(((size_t)g->nin + 1) * sizeof *g->in);
    if (!g->in) b->status = fail_memory(b->err, (size_t)g->nin * sizeof *g->in, "a graph");
    for (int i = 0; g->in && i < g->nin; i++) g->in[i] = i;
}

static void output(builder *b, int t, const char *name, bool upstream)
{
    graph *g = b->g;
    if (b->status) return;
    int *more = realloc(g->out, ((size_t)g->nout + 1) * sizeof *g->out);
    if (!more) {
        b->status = fail_memory(b->err, sizeof *more, "a graph");
        return;
    }
    g->out = more;
    g->out[g->nout++] = t;
    g->tensor[t].upstream = upstream;
    if (g->tensor[t].role == GRAPH_INNER) g->tensor[t].role = GRAPH_OUTPUT;
    if (name) snprintf(g->tensor[t].name, GRAPH_NAME, "%s", name);
}

/* A mask is there where it is asked for, or where nothing says causal: then the
 * caller fills it with ones. */
static int mask_of(builder *b, const graph_sizes *z, int T, int S)
{
    if (!z->masked && z->causal) return -1;
    return integers(b, GRAPH_MASK, "mask", of2(T, "query", S, "key"), 2);
}

static void build_softmax(builder *b, const graph_sizes *z)
{
    const form f = of2(z->N, "row", z->V, "class");
    const int x = given(b, "x", f);
    inputs(b);
    output(b, plain(b, GRAPH_SOFTMAX, "softmax", f, x, -1, z->N, z->V), "p", true);
}

static void build_linear(builder *b, const graph_sizes *z)
{
    const int x = given(b, "x", of2(z->N, "row", z->C, "input channel"));
    const int w = given(b, "w", of2(z->C, "input channel", z->OC, "output channel"));
    const int bias = given(b, "b", of1(z->OC, "output channel"));
    inputs(b);
    output(b, linear(b, "linear", of2(z->N, "row", z->OC, "output channel"), x, w, bias,
                     z->N, z->C, z->OC), "y", true);
}

static void build_layernorm(builder *b, const graph_sizes *z)
{
    const form f = of2(z->N, "row", z->C, "channel");
    const int x = given(b, "x", f), w = given(b, "w", of1(z->C, "channel"));
    const int bias = given(b, "b", of1(z->C, "channel"));
    inputs(b);
    output(b, layernorm(b, "layernorm", f, x, w, bias, z->N, z->C), "y", true);
}

static void build_gelu(builder *b, const graph_sizes *z)
{
    const int x = given(b, "x", of1(z->N, "element"));
    inputs(b);
    output(b, plain(b, GRAPH_GELU, "gelu", of1(z->N, "element"), x, -1, z->N, 0), "y", true);
}

static void build_attention(builder *b, const graph_sizes *z)
{
    const form keys = of4(z->B, "batch", z->S, "key", z->NH, "head", z->HS, "channel");
    const int q = given(b, "q", of4(z->B, "batch", z->T, "query", z->NH, "head", z->HS, "channel"));
    const int k = given(b, "k", keys), v = given(b, "v", keys);
    const int mask = mask_of(b, z, z->T, z->S);
    inputs(b);
    output(b, attention(b, "attention", z, z->S, q, k, v, mask), "o", true);
}

static void build_projected(builder *b, const graph_sizes *z)
{
    const int N = z->B * z->T, C = z->C, D = z->NH * z->HS;
    const form x_form = of3(z->B, "batch", z->T, "position", C, "channel");
    const form w_form = of2(C, "input channel", D, "column");
    const form heads = of4(z->B, "batch", z->T, "position", z->NH, "head", z->HS, "channel");
    const int x = given(b, "x", x_form);
    const int wq = given(b, "wq", w_form), bq = given(b, "bq", of1(D, "column"));
    const int wk = given(b, "wk", w_form), bk = given(b, "bk", of1(D, "column"));
    const int wv = given(b, "wv", w_form), bv = given(b, "bv", of1(D, "column"));
    const int wo = given(b, "wo", of2(D, "column", C, "channel"));
    const int bo = given(b, "bo", of1(C, "channel"));
    const int mask = mask_of(b, z, z->T, z->T);
    inputs(b);
    const int q = linear(b, "q", heads, x, wq, bq, N, C, D);
    const int k = linear(b, "k", heads, x, wk, bk, N, C, D);
    const int v = linear(b, "v", heads, x, wv, bv, N, C, D);
    const int o = attention(b, "attention", z, z->T, q, k, v, mask);
    output(b, linear(b, "projection", x_form, o, wo, bo, N, D, C), "y", true);
}

static void build_crossentropy(builder *b, const graph_sizes *z)
{
    const int logits = given(b, "logits", of2(z->N, "row", z->V, "class"));
    const int target = integers(b, GRAPH_TARGETS, "target", of1(z->N, "row"), z->V);
    inputs(b);
    output(b, crossentropy(b, "crossentropy", of1(z->N, "row"), logits, target, z->N, z->V,
                           z->temperature), "loss", true);
}

enum { LN1W, LN1B, QKVW, QKVB, ATTPROJW, ATTPROJB, LN2W, LN2B, FCW, FCB, FCPROJW, FCPROJB,
       LAYER_TENSORS };

static void layer_tensors(builder *b, const graph_sizes *z, int t[LAYER_TENSORS])
{
    const int C = z->C, FF = z->FF;
    const form c = of1(C, "channel");
    t[LN1W] = given(b, "ln_1.weight", c);
    t[LN1B] = given(b, "ln_1.bias", c);
    t[QKVW] = given(b, "attn.c_attn.weight", of2(C, "input channel", 3 * C, "column"));
    t[QKVB] = given(b, "attn.c_attn.bias", of1(3 * C, "column"));
    t[ATTPROJW] = given(b, "attn.c_proj.weight", of2(C, "input channel", C, "output channel"));
    t[ATTPROJB] = given(b, "attn.c_proj.bias", c);
    t[LN2W] = given(b, "ln_2.weight", c);
    t[LN2B] = given(b, "ln_2.bias", c);
    t[FCW] = given(b, "mlp.c_fc.weight", of2(C, "input channel", FF, "hidden unit"));
    t[FCB] = given(b, "mlp.c_fc.bias", of1(FF, "hidden unit"));
    t[FCPROJW] = given(b, "mlp.c_proj.weight", of2(FF, "hidden unit", C, "output channel"));
    t[FCPROJB] = given(b, "mlp.c_proj.bias", c);
}

/* GPT-2's block (Radford et al. 2019): normalised in front of each branch. */
static int layer(builder *b, const graph_sizes *z, int x, const int t[LAYER_TENSORS])
{
    const int N = z->B * z->T, C = z->C, FF = z->FF;
    const form f = of3(z->B, "batch", z->T, "position", C, "channel");
    const form wide = of3(z->B, "batch", z->T, "position", 3 * C, "column");
    const form heads = of4(z->B, "batch", z->T, "position", z->NH, "head", z->HS, "channel");
    const form hidden = of3(z->B, "batch", z->T, "position", FF, "hidden unit");
    const int ln1 = layernorm(b, "ln_1", f, x, t[LN1W], t[LN1B], N, C);
    const int qkv = linear(b, "attn.c_attn", wide, ln1, t[QKVW], t[QKVB], N, C, 3 * C);
    const int q = columns(b, "attn.q", heads, qkv, 0, N, 3 * C, C);
    const int k = columns(b, "attn.k", heads, qkv, C, N, 3 * C, C);
    const int v = columns(b, "attn.v", heads, qkv, 2 * C, N, 3 * C, C);
    const int o = attention(b, "attn", z, z->T, q, k, v, -1);
    const int attproj = linear(b, "attn.c_proj", f, o, t[ATTPROJW], t[ATTPROJB], N, C, C);
    const int res = plain(b, GRAPH_RESIDUAL, "attn.residual", f, x, attproj, N * C, 0);
    const int ln2 = layernorm(b, "ln_2", f, res, t[LN2W], t[LN2B], N, C);
    const int fc = linear(b, "mlp.c_fc", hidden, ln2, t[FCW], t[FCB], N, C, FF);
    const int gelu = plain(b, GRAPH_GELU, "mlp.gelu", hidden, fc, -1, N * FF, 0);
    const int fcproj = linear(b, "mlp.c_proj", f, gelu, t[FCPROJW], t[FCPROJB], N, FF, C);
    return plain(b, GRAPH_RESIDUAL, "mlp.residual", f, res, fcproj, N * C, 0);
}

static void build_block(builder *b, const graph_sizes *z)
{
    int t[LAYER_TENSORS];
    const int x = given(b, "x", of3(z->B, "batch", z->T, "position", z->C, "channel"));
    layer_tensors(b, z, t);
    inputs(b);
    output(b, layer(b, z, x, t), "y", true);
}

static int head(builder *b, const graph_sizes *z, int wte)
{
    const int out = tensor(b, GRAPH_INNER, "head", of2(z->C, "channel", z->V, "token"));
    graph_node *n = node(b, GRAPH_TRANSPOSE, "head", out);
    n->in[0] = wte;
    n->N = z->V;
    n->C = z->C;
    return out;
}

static void build_gpt(builder *b, const graph_sizes *z)
{
    const int N = z->B * z->T, C = z->C;
    const form ids = of2(z->B, "batch", z->T, "position");
    const form f = of3(z->B, "batch", z->T, "position", C, "channel");
    char prefix[24];
    int (*t)[LAYER_TENSORS] = malloc((size_t)z->L * sizeof *t);
    if (!t) {
        b->status = fail_memory(b->err, (size_t)z->L * sizeof *t, "a graph");
        return;
    }
    const int tokens = integers(b, GRAPH_TOKENS, "tokens", ids, z->V);
    const int targets = integers(b, GRAPH_TARGETS, "targets", ids, z->V);
    const int wte = given(b, "wte.weight", of2(z->V, "token", C, "channel"));
    const int wpe = given(b, "wpe.weight", of2(z->S, "position", C, "channel"));
    b->prefix = prefix;
    for (b->layer = 0; b->layer < z->L; b->layer++) {
        snprintf(prefix, sizeof prefix, "h.%d.", b->layer);
        layer_tensors(b, z, t[b->layer]);
    }
    b->prefix = "";
    b->layer = -1;
    const int lnfw = given(b, "ln_f.weight", of1(C, "channel"));
    const int lnfb = given(b, "ln_f.bias", of1(C, "channel"));
    const int own = z->untied ? given(b, "lm_head.weight", of2(C, "channel", z->V, "token")) : -1;
    inputs(b);

    int x = tensor(b, GRAPH_INNER, "embedded", f);
    graph_node *n = node(b, GRAPH_EMBEDDING, "embedding", x);
    n->in[0] = tokens;
    n->in[1] = wte;
    n->in[2] = wpe;
    n->B = z->B;
    n->T = z->T;
    n->C = C;
    b->prefix = prefix;
    for (b->layer = 0; b->layer < z->L; b->layer++) {
        snprintf(prefix, sizeof prefix, "h.%d.", b->layer);
        x = layer(b, z, x, t[b->layer]);
    }
    b->prefix = "";
    b->layer = -1;
    free(t);
    const int lnf = layernorm(b, "ln_f", f, x, lnfw, lnfb, N, C);
    const int w = z->untied ? own : head(b, z, wte);
    const int logits = linear(b, "logits", of3(z->B, "batch", z->T, "position", z->V, "token"),
                              lnf, w, -1, N, C, z->V);
    output(b, crossentropy(b, "crossentropy", ids, logits, targets, N, z->V, z->temperature),
           "loss", true);
}

static void build_lab(builder *b, const graph_sizes *z)
{
    const int T = z->T, C = z->C, D = z->NH * z->HS, V = z->V;
    const form heads = of3(T, "position", z->NH, "head", z->HS, "channel");
    const form w_form = of2(C, "row", D, "column");
    graph_sizes one = *z;
    one.B = 1;
    const int x = given(b, "x", of2(T, "position", C, "channel"));
    const int wq = given(b, "wq", w_form), wk = given(b, "wk", w_form), wv = given(b, "wv", w_form);
    const int wo = given(b, "wo", of2(D, "row", V, "column"));
    const int target = integers(b, GRAPH_TARGETS, "target", of1(T, "position"), V);
    inputs(b);
    const int q = linear(b, "q", heads, x, wq, -1, T, C, D);
    const int k = linear(b, "k", heads, x, wk, -1, T, C, D);
    const int v = linear(b, "v", heads, x, wv, -1, T, C, D);
    const int o = attention(b, "attention", &one, T, q, k, v, -1);
    const int logits = linear(b, "logits", of2(T, "position", V, "class"), o, wo, -1, T, D, V);
    const int each = crossentropy(b, "crossentropy", of1(T, "position"), logits, target, T, V,
                                  z->temperature);
    const int loss = plain(b, GRAPH_MEAN, "loss", of1(1, "element"), each, -1, T, 0);
    const int p = b->status ? -1 : b->g->node[b->g->nnodes - 4].stage[0];
    output(b, p, "p", false);
    output(b, o, "o", false);
    output(b, logits, "logits", false);
    output(b, loss, "loss", true);
}

/* ---- sizes ----------------------------------------------------------------- */

enum { SIZE_N = 1, SIZE_C = 2, SIZE_OC = 4, SIZE_V = 8, SIZE_B = 16, SIZE_T = 32, SIZE_S = 64,
       SIZE_NH = 128, SIZE_HS = 256, SIZE_FF = 512, SIZE_L = 1024 };

typedef struct recipe {
    int  sizes;
    void (*build)(builder *, const graph_sizes *);
} recipe;

static const recipe recipes[] = {
    [VT_OP_SOFTMAX]      = { SIZE_N | SIZE_V, build_softmax },
    [VT_OP_LINEAR]       = { SIZE_N | SIZE_C | SIZE_OC, build_linear },
    [VT_OP_LAYERNORM]    = { SIZE_N | SIZE_C, build_layernorm },
    [VT_OP_GELU]         = { SIZE_N, build_gelu },
    [VT_OP_ATTENTION]    = { SIZE_B | SIZE_T | SIZE_S | SIZE_NH | SIZE_HS, build_attention },
    [VT_OP_PROJECTED]    = { SIZE_B | SIZE_T | SIZE_C | SIZE_NH | SIZE_HS, build_projected },
    [VT_OP_CROSSENTROPY] = { SIZE_N | SIZE_V, build_crossentropy },
    [VT_OP_BLOCK]        = { SIZE_B | SIZE_T | SIZE_NH | SIZE_HS | SIZE_FF, build_block },
    [VT_OP_GPT]          = { SIZE_B | SIZE_T | SIZE_S | SIZE_NH | SIZE_HS | SIZE_FF | SIZE_V |
                             SIZE_L, build_gpt },
    [VT_OP_LAB]          = { SIZE_T | SIZE_C | SIZE_NH | SIZE_HS | SIZE_V, build_lab },
};

/* A size that is used must be at least 1; one that is not becomes 0. */
static vt_status check_size(int *size, int uses, int bit, const char *name, const char *op,
                            vt_error *err)
{
    if (!(uses & bit)) *size = 0;
    else if (*size < 1 || *size > 1 << 20)
        return fail(err, VT_USAGE, "%s: size %s is %d, expected 1 to %d", op, name, *size, 1 << 20);
    return VT_OK;
}

static vt_status check_sizes(graph_sizes *z, int uses, const char *op, vt_error *err)
{
    int *const size[] = { &z->N, &z->C, &z->OC, &z->V, &z->B, &z->T, &z->S, &z->NH, &z->HS,
                          &z->FF, &z->L };
    static const char *const name[] = { "N", "C", "OC", "V", "B", "T", "S", "NH", "HS", "FF", "L" };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        const vt_status s = check_size(size[i], uses, 1 << i, name[i], op, err);
        if (s) return s;
    }
    return VT_OK;
}

/* Rows and columns that are products of sizes are counted in an int. */
static vt_status check_products(const graph_sizes *z, vt_error *err)
{
    const size_t across = (size_t)z->NH * (size_t)z->HS, widths[] = {
        across, 3 * across, (size_t)z->C, (size_t)z->FF, (size_t)z->V, 1 };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (widths[i] > INT_MAX || (size_t)z->B * (size_t)z->T > INT_MAX / (widths[i] + 1))
            return fail(err, VT_TOO_LARGE, "%s: a tensor of more than %d elements",
                        graph_op_name(z->op), INT_MAX);
    return VT_OK;
}

static vt_status check_relations(graph_sizes *z, vt_error *err)
{
    const char *op = graph_op_name(z->op);
    if (z->op == VT_OP_BLOCK || z->op == VT_OP_GPT) z->C = z->NH * z->HS;
    if (z->op == VT_OP_BLOCK || z->op == VT_OP_GPT || z->op == VT_OP_LAB) {
        z->causal = true;
        z->masked = false;
    }
    if (z->op == VT_OP_PROJECTED || z->op == VT_OP_LAB) z->S = z->T;
    if (z->op == VT_OP_GPT && z->S < z->T)
        return fail(err, VT_USAGE, "%s: size S is %d, expected at least T = %d", op, z->S, z->T);
    if (z->op == VT_OP_ATTENTION && z->causal && !z->masked && z->S < z->T)
        return fail(err, VT_USAGE, "%s: size S is %d, expected at least T = %d where it is causal",
                    op, z->S, z->T);
    if (z->op != VT_OP_CROSSENTROPY && z->op != VT_OP_LAB) z->temperature = 1;
    if (!(z->temperature > 0) || z->temperature > 1e30)
        return fail(err, VT_USAGE, "%s: temperature %g: expected a number above 0", op,
                    z->temperature);
    return VT_OK;
}

vt_status graph_build(graph *g, graph_sizes *z, vt_error *err)
{
    *g = (graph){ .ntensors = 0 };
    const char *op = graph_op_name(z->op);
    if (!op) return fail(err, VT_USAGE, "operator %d: expected one of vitrine_kernel.h", z->op);
    vt_status s = check_sizes(z, recipes[z->op].sizes, op, err);
    if (s == VT_OK) s = check_products(z, err);
    if (s == VT_OK) s = check_relations(z, err);
    if (s) return s;
    builder b = { .g = g, .layer = -1, .err = err, .prefix = "" };
    recipes[z->op].build(&b, z);
    if (b.status) graph_free(g);
    return b.status;
}

void graph_free(graph *g)
{
    free(g->tensor);
    free(g->node);
    free(g->in);
    free(g->out);
    *g = (graph){ .ntensors = 0 };
}

/* gradcheck_chain.c -- see gradcheck_chain.h.
 *
 * An entry p moves one operation's output a, and f by way of a alone:
 *
 *     df/dp = sum_j df/da_j  Im a_j(p + i h e_p) / h              (diff.chain)
 *
 * so only that operation is run, the definition in complex numbers, with p moved.
 * df/da comes from above in the same way: one number of a operation's input is moved
 * by i h, the operation is run, and its output's derivatives are known already.  None
 * of the hand-written backward pass is used; a complex step has no truncation, so the
 * chain's numbers are those of a run of the whole model, to rounding.
 *
 * What is not run again is what an operation does not touch: a layer norm, a product
 * and the loss go row by row, GELU and sums number by number, attention head by head;
 * a weight of a product touches its column.  A product's derivative by its input is the
 * same in every row.  That these hold is what the directions prove: each tensor's is a
 * run of the whole model; and `--full` runs it for each entry.
 */
#include "verify/model/gradcheck_chain.h"
#include <complex.h>
#include <stdlib.h>
#include <string.h>
#undef VT_SCALAR
#define VT_SCALAR 128
#include "kernels/definitions.h"

typedef double _Complex c128;

static const c128 STEP = 1e-30 * I;

/* A layer's tensors, in their order in tensors.def. */
enum {
#define LAYER(name, file, rows, cols, start, decay, transposed) AT_##name,
#include "model/tensors.def"
    OF_LAYER, BEFORE_LAYERS = 2         /* wte, wpe */
};

/* d f / d activation, of one layer. */
typedef struct layer_slopes {
    double *ln1, *qkv, *values, *attproj, *res1, *ln2, *fc, *gelu, *fcproj, *res2;
} layer_slopes;

typedef struct chain {
    probes *w;
    const gradcheck_case *c;
    const check_model_c128 *x;
    size_t N, C, FF, V, T, HS;
    layer_slopes *layers;
    double *memory, *embedded, *lnf, *logits;
    unsigned char *column;              /* (V): wanted of logits */
    c128 *first;                        /* (N, C): the first layer's input */
    c128 *scratch;                      /* `each` of a worker */
    size_t each;
} chain;

/* sum_j g_j Im y_j / h */
static double along(const c128 *y, const double *g, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += g[i] * (cimag(y[i]) / cimag(STEP));   /* diff.chain */
    return sum;
}

static const c128 *tensor(const chain *k, size_t i) { return k->x->params + k->c->tensors[i].offset; }

static const c128 *of_layer(const chain *k, size_t l, size_t i)
{
    return tensor(k, BEFORE_LAYERS + l * OF_LAYER + i);
}

static const c128 *input_of(const chain *k, size_t l)
{
    return l ? k->x->a.layers[l - 1].res2 : k->first;
}

/* ---- df/da of an operation's input from that of its output --------------- */

/* An operation of rows: (N, in) -> (N, out). */
typedef struct factor {
    chain *k;
    const c128 *x, *weight, *bias;
    double *dx;
    const double *dy;
    size_t in, out;
} factor;

static c128 *scratch(const chain *k, int worker) { return k->scratch + (size_t)worker * k->each; }

/* Input i: of each row the same factor. */
static void product(void *context, size_t i, int worker)
{
    const factor *f = context;
    c128 *row = scratch(f->k, worker), *y = row + f->in;
    memcpy(row, f->x, f->in * sizeof *row);
    row[i] += STEP;
    ref_in_order_linear_forward_c128(y, row, f->weight, f->bias, 1, (int)f->in, (int)f->out);
    for (size_t n = 0; n < f->k->N; n++) f->dx[n * f->in + i] = along(y, f->dy + n * f->out, f->out);
}

/* Row n; adds. */
static void norm(void *context, size_t n, int worker)
{
    const factor *f = context;
    const size_t C = f->in;
    c128 *row = scratch(f->k, worker), *y = row + C, mean, rstd;
    memcpy(row, f->x + n * C, C * sizeof *row);
    for (size_t i = 0; i < C; i++) {
        const c128 before = row[i];
        row[i] += STEP;
        ref_layernorm_forward_c128(y, &mean, &rstd, row, f->weight, f->bias, 1, (int)C);
        f->dx[n * C + i] += along(y, f->dy + n * C, C);
        row[i] = before;
    }
}

static void gelu(void *context, size_t n, int worker)
{
    const factor *f = context;
    c128 *row = scratch(f->k, worker), *y = row + f->in;
    for (size_t i = 0; i < f->in; i++) row[i] = f->x[n * f->in + i] + STEP;
    ref_gelu_forward_c128(y, row, f->in);
    for (size_t i = 0; i < f->in; i++)
        f->dx[n * f->in + i] = along(y + i, f->dy + n * f->in + i, 1);
}

/* x + weight: the gradient at x, or with `out` 1 at weight. */
static void sum(void *context, size_t n, int worker)
{
    const factor *f = context;
    c128 *row = scratch(f->k, worker), *y = row + f->in;
    const c128 *moved = (f->out ? f->weight : f->x) + n * f->in;
    const c128 *other = (f->out ? f->x : f->weight) + n * f->in;
    for (size_t i = 0; i < f->in; i++) row[i] = moved[i] + STEP;
    ref_residual_forward_c128(y, f->out ? other : row, f->out ? row : other, f->in);
    for (size_t i = 0; i < f->in; i++)
        f->dx[n * f->in + i] = along(y + i, f->dy + n * f->in + i, 1);
}

/* Task i: q, k or v of one head of one window; x is qkv. */
static void attention(void *context, size_t i, int worker)
{
    const factor *f = context;
    const chain *k = f->k;
    const size_t T = k->T, HS = k->HS, C = k->C, NH = C / HS, cells = T * HS;
    const size_t h = i / 3 % NH, b = i / 3 / NH;
    c128 *q = scratch(k, worker), *y = q + 3 * cells, *stages = y + cells;
    for (size_t which = 0; which < 3; which++)
    for (size_t t = 0; t < T; t++)
        memcpy(q + which * cells + t * HS, f->x + (b * T + t) * 3 * C + which * C + h * HS,
               HS * sizeof *q);
    for (size_t at = 0; at < cells; at++) {
        c128 *moved = q + i % 3 * cells + at, before = *moved;
        double slope = 0;
        *moved += STEP;
        ref_attention_forward_c128(y, stages, stages + T * T, stages + 2 * T * T, stages + 3 * T * T,
                                   q, q + cells, q + 2 * cells, 1, (int)T, 0, 1, (int)HS);
        for (size_t t = 0; t < T; t++)
            slope += along(y + t * HS, f->dy + (b * T + t) * C + h * HS, HS);
        f->dx[(b * T + at / HS) * 3 * C + i % 3 * C + h * HS + at % HS] = slope;
        *moved = before;
    }
}

static double row_loss(const chain *k, const c128 *logits, size_t n)
{
    c128 loss, lse;
    ref_crossentropy_forward_c128(&loss, &lse, logits, k->c->targets + n, 1, 1, (int)k->V);
    return along(&loss, k->w->g->weight + n, 1);
}

/* Token v: the columns that entries want. */
static void loss_column(void *context, size_t v, int worker)
{
    const chain *k = context;
    c128 *row = scratch(k, worker);
    if (!k->column[v]) return;
    for (size_t n = 0; n < k->N; n++) {
        memcpy(row, k->x->a.logits + n * k->V, k->V * sizeof *row);
        row[v] += STEP;
        k->logits[n * k->V + v] = row_loss(k, row, n);
    }
}

/* Channel i of what the head multiplies: the logits that it moves, then each row's loss. */
static void head_channel(void *context, size_t i, int worker)
{
    const chain *k = context;
    c128 *row = scratch(k, worker), *y = row + k->C, *logits = y + k->V;
    const c128 *head = k->c->z->tied ? k->x->head
                                     : tensor(k, BEFORE_LAYERS + (size_t)k->c->z->L * OF_LAYER + 2);
    memcpy(row, k->x->a.lnf, k->C * sizeof *row);
    row[i] += STEP;
    ref_in_order_linear_forward_c128(y, row, head, NULL, 1, (int)k->C, (int)k->V);
    for (size_t n = 0; n < k->N; n++) {
        for (size_t v = 0; v < k->V; v++)
            logits[v] = creal(k->x->a.logits[n * k->V + v]) + cimag(y[v]) * I;
        k->lnf[n * k->C + i] = row_loss(k, logits, n);
    }
}

static void each(chain *k, size_t n, team_task *task, factor f)
{
    if (atomic_load(&k->w->stop)) return;
    f.k = k;
    team_run(k->w->crew, n, task, &f);
}

/* From the gradient at the layer's output to the one at its input. */
static void layer_down(chain *k, size_t l, double *dx)
{
    const gpt_layer_acts_c128 *a = &k->x->a.layers[l];
    const layer_slopes *d = &k->layers[l];
    const size_t N = k->N, C = k->C, FF = k->FF, heads = N / k->T * (C / k->HS);
    const c128 *x = input_of(k, l);
    each(k, N, sum, (factor){ .x = a->res1, .weight = a->fcproj, .dx = d->fcproj, .dy = d->res2, .in = C, .out = 1 });
    each(k, N, sum, (factor){ .x = a->res1, .weight = a->fcproj, .dx = d->res1, .dy = d->res2, .in = C });
    each(k, FF, product, (factor){ .x = a->gelu, .weight = of_layer(k, l, AT_fcprojw),
         .bias = of_layer(k, l, AT_fcprojb), .dx = d->gelu, .dy = d->fcproj, .in = FF, .out = C });
    each(k, N, gelu, (factor){ .x = a->fc, .dx = d->fc, .dy = d->gelu, .in = FF });
    each(k, C, product, (factor){ .x = a->ln2, .weight = of_layer(k, l, AT_fcw),
         .bias = of_layer(k, l, AT_fcb), .dx = d->ln2, .dy = d->fc, .in = C, .out = FF });
    each(k, N, norm, (factor){ .x = a->res1, .weight = of_layer(k, l, AT_ln2w),
         .bias = of_layer(k, l, AT_ln2b), .dx = d->res1, .dy = d->ln2, .in = C });
    each(k, N, sum, (factor){ .x = x, .weight = a->attproj, .dx = d->attproj, .dy = d->res1, .in = C, .out = 1 });
    each(k, N, sum, (factor){ .x = x, .weight = a->attproj, .dx = dx, .dy = d->res1, .in = C });
    each(k, C, product, (factor){ .x = a->values, .weight = of_layer(k, l, AT_attprojw),
         .bias = of_layer(k, l, AT_attprojb), .dx = d->values, .dy = d->attproj, .in = C, .out = C });
    each(k, 3 * heads, attention, (factor){ .x = a->qkv, .dx = d->qkv, .dy = d->values });
    each(k, C, product, (factor){ .x = a->ln1, .weight = of_layer(k, l, AT_qkvw),
         .bias = of_layer(k, l, AT_qkvb), .dx = d->ln1, .dy = d->qkv, .in = C, .out = 3 * C });
    each(k, N, norm, (factor){ .x = x, .weight = of_layer(k, l, AT_ln1w),
         .bias = of_layer(k, l, AT_ln1b), .dx = dx, .dy = d->ln1, .in = C });
}

static void down(chain *k)
{
    const size_t L = (size_t)k->c->z->L, last = BEFORE_LAYERS + L * OF_LAYER;
    if (atomic_load(&k->w->stop)) return;
    team_run(k->w->crew, k->V, loss_column, k);
    team_run(k->w->crew, k->C, head_channel, k);
    each(k, k->N, norm, (factor){ .x = k->x->a.layers[L - 1].res2, .weight = tensor(k, last),
         .bias = tensor(k, last + 1), .dx = k->layers[L - 1].res2, .dy = k->lnf, .in = k->C });
    for (size_t l = L; l-- > 0;) layer_down(k, l, l ? k->layers[l - 1].res2 : k->embedded);
}

/* ---- entries ----------------------------------------------------------- */

/* Of a product's weights and bias (NULL: none), entry `at` of the one or the other. */
static double product_entry(const chain *k, const c128 *x, const c128 *w, const c128 *bias, bool of_bias,
                            size_t at, size_t in, size_t out, const double *dy, c128 *column)
{
    const size_t o = at % out;
    c128 *y = column + in, b = bias ? bias[o] : 0;
    double slope = 0;
    for (size_t i = 0; i < in; i++) column[i] = w[i * out + o];
    if (of_bias) b += STEP;
    else column[at / out] += STEP;
    ref_linear_forward_c128(y, x, column, bias ? &b : NULL, (int)k->N, (int)in, 1);
    for (size_t n = 0; n < k->N; n++) slope += along(y + n, dy + n * out + o, 1);
    return slope;
}

static double norm_entry(const chain *k, const c128 *x, const c128 *w, const c128 *b, bool of_bias,
                         size_t at, const double *dy, c128 *moved)
{
    const size_t C = k->C;
    c128 *y = moved + C, *mean = y + k->N * C, *rstd = mean + k->N;
    memcpy(moved, of_bias ? b : w, C * sizeof *moved);
    moved[at] += STEP;
    ref_layernorm_forward_c128(y, mean, rstd, x, of_bias ? w : moved, of_bias ? moved : b, (int)k->N, (int)C);
    return along(y, dy, k->N * C);
}

/* A tied wte is the head, too: its column v. */
static double embedding_entry(const chain *k, size_t at, int worker)
{
    check_model_c128 *own = &k->w->stepped[worker];
    const gradcheck_case *c = k->c;
    const c128 before = own->params[at];
    const size_t C = k->C, v = at / C;
    check_move_c128(own, at, before + STEP);
    gpt_part_forward_c128(&own->m, &own->a, c->tokens, -1, c->B, c->T);
    double slope = along(own->a.embedded, k->embedded, k->N * C);
    if (c->z->tied && v < k->V) {
        c128 *column = scratch(k, worker), *y = column + C;
        for (size_t i = 0; i < C; i++) column[i] = own->head[i * k->V + v];
        ref_linear_forward_c128(y, k->x->a.lnf, column, NULL, (int)k->N, (int)C, 1);
        for (size_t n = 0; n < k->N; n++) slope += along(y + n, k->logits + n * k->V + v, 1);
    }
    check_move_c128(own, at, before);
    return slope;
}

static double layer_entry(const chain *k, size_t l, size_t which, size_t at, c128 *room)
{
    const gpt_layer_acts_c128 *a = &k->x->a.layers[l];
    const layer_slopes *d = &k->layers[l];
    const c128 *w = of_layer(k, l, which & ~(size_t)1), *b = of_layer(k, l, which | 1);
    const bool bias = which & 1;        /* they come in pairs */
    const size_t C = k->C, FF = k->FF;
    switch (which & ~(size_t)1) {
    case AT_ln1w:     return norm_entry(k, input_of(k, l), w, b, bias, at, d->ln1, room);
    case AT_qkvw:     return product_entry(k, a->ln1, w, b, bias, at, C, 3 * C, d->qkv, room);
    case AT_attprojw: return product_entry(k, a->values, w, b, bias, at, C, C, d->attproj, room);
    case AT_ln2w:     return norm_entry(k, a->res1, w, b, bias, at, d->ln2, room);
    case AT_fcw:      return product_entry(k, a->ln2, w, b, bias, at, C, FF, d->fc, room);
    default:          return product_entry(k, a->gelu, w, b, bias, at, FF, C, d->fcproj, room);
    }
}

static double slope_of(const chain *k, const probe *p, int worker)
{
    const size_t L = (size_t)k->c->z->L, last = BEFORE_LAYERS + L * OF_LAYER;
    const size_t at = p->at - k->c->tensors[p->tensor].offset;
    c128 *room = scratch(k, worker);
    if (p->tensor < BEFORE_LAYERS) return embedding_entry(k, p->at, worker);
    if (p->tensor < last) {
        const size_t i = p->tensor - BEFORE_LAYERS;
        return layer_entry(k, i / OF_LAYER, i % OF_LAYER, at, room);
    }
    if (p->tensor - last == 2)
        return product_entry(k, k->x->a.lnf, tensor(k, last + 2), NULL, false, at, k->C, k->V, k->logits, room);
    return norm_entry(k, k->x->a.layers[L - 1].res2, tensor(k, last), tensor(k, last + 1),
                      p->tensor > last, at, k->lnf, room);
}

static void chain_entry(void *context, size_t i, int worker)
{
    const chain *k = context;
    if (atomic_load(&k->w->stop)) return;
    k->w->at[i].step = slope_of(k, &k->w->at[i], worker);
    probes_done(k->w, worker);
}

/* ---- memory and order --------------------------------------------------- */

static size_t largest_of(size_t a, size_t b) { return a > b ? a : b; }

static vt_status chain_new(chain *k, probes *w, vt_error *err)
{
    const gradcheck_case *c = w->c;
    const gpt_config *z = c->z;
    *k = (chain){ .w = w, .c = c, .x = &w->stepped[0], .N = (size_t)c->B * (size_t)c->T,
                  .T = (size_t)c->T, .C = (size_t)z->C, .FF = (size_t)z->FF, .V = (size_t)z->V,
                  .HS = (size_t)(z->C / z->NH) };
    const size_t N = k->N, C = k->C, FF = k->FF, V = k->V, T = k->T, L = (size_t)z->L;
    const size_t layer = N * (10 * C + 2 * FF), numbers = L * layer + N * (2 * C + V);
    const size_t wide = largest_of(FF, 3 * C);
    k->each = largest_of(largest_of(2 * wide + N, C + 2 * V), 
                         largest_of((N + 1) * C + 2 * N, 4 * T * (k->HS + T)));
    k->layers = calloc(L, sizeof *k->layers);
    k->memory = calloc(numbers, sizeof *k->memory);
    k->column = calloc(V, 1);
    k->first = malloc(N * C * sizeof *k->first);
    k->scratch = malloc((size_t)w->nworkers * k->each * sizeof *k->scratch);
    if (!k->layers || !k->memory || !k->column || !k->first || !k->scratch)
        return fail_memory(err, numbers * sizeof *k->memory, "derivatives of activations");
    double *at = k->memory;
    for (size_t l = 0; l < L; l++) {
        layer_slopes *d = &k->layers[l];
        double **const rows[] = { &d->ln1, &d->values, &d->attproj, &d->res1, &d->ln2, &d->fcproj, &d->res2 };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) *rows[i] = at, at += N * C;
        d->qkv = at, at += 3 * N * C;
        d->fc = at, at += N * FF;
        d->gelu = at, at += N * FF;
    }
    k->embedded = at, at += N * C;
    k->lnf = at, at += N * C;
    k->logits = at;
    return VT_OK;
}

static void chain_free(chain *k)
{
    free(k->layers);
    free(k->memory);
    free(k->column);
    free(k->first);
    free(k->scratch);
}

/* The logits' columns that the entries move. */
static size_t columns(const probes *w, unsigned char *column)
{
    const gpt_config *z = w->c->z;
    const size_t V = (size_t)z->V, C = (size_t)z->C, head = w->c->ntensors - 1;
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        const probe *p = &w->at[i];
        if (p->tensor != (z->tied ? 0 : head)) continue;
        const size_t at = p->at - w->c->tensors[p->tensor].offset, v = z->tied ? at / C : at % V;
        n += !column[v];
        column[v] = 1;
    }
    return n;
}

/* In complex products, about: an exponential is 20. */
bool chain_pays(const probes *w)
{
    const gpt_config *z = w->c->z;
    const double N = (double)w->c->B * w->c->T, C = z->C, FF = z->FF, V = z->V, T = w->c->T;
    const double layer = N * (4 * C * C + 2 * C * FF) + N * T * (2 * C + 40 * z->NH);
    const double head = N * V * (C + 20);
    double runs = 0;
    unsigned char *column = calloc((size_t)z->V, 1);
    if (!column) return false;
    for (size_t i = 0; i < w->n; i++)
        runs += head + layer * (z->L - (w->at[i].part < 0 ? 0 : w->at[i].part));
    const double factors = (double)columns(w, column) * N * V * 20 + C * C * V + N * C * V * 20
        + z->L * (C * C * (4 * C + FF) + FF * FF * C + N * C * 10 * C
                  + 3 * N * C * T * T * (2.0 * C / z->NH + 40));
    free(column);
    return factors + (double)w->n * N * C * 4 < runs;
}

vt_status chain_run(probes *w, vt_error *err)
{
    const gradcheck_case *c = w->c;
    check_model_c128 *x = &w->stepped[0];
    chain k;
    const vt_status s = chain_new(&k, w, err);
    if (s == VT_OK) {
        gpt_forward_c128(&x->m, &x->a, c->tokens, NULL, c->B, c->T);
        memcpy(k.first, x->a.embedded, k.N * k.C * sizeof *k.first);
        columns(w, k.column);
        down(&k);
        team_run(w->crew, w->n, chain_entry, &k);
        for (int i = 0; i < w->nworkers; i++) w->stepped[i].moved = -1;
    }
    chain_free(&k);
    return s;
}

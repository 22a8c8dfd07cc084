/* case_kernels.c -- each fast kernel at the shapes of the preset `default`, as a training
 * step calls it: B 8, T 128, C 128, 4 heads, FF 512, V 1281 (the head's 1024 merges).
 *
 * Verified: an op_case (verify/op) draws the inputs, computes the definition in double and
 * the bound of each number by running error analysis (verify/graph/bounds.h); the same
 * inputs, exact in float, go to the kernel.  Embedding, residual, the sum of squares and
 * AdamW are no operators of that check: their bounds are below, at each.
 *
 * The limit of a kernel is the slowest of three, which could run side by side: its
 * multiply-adds, its exponentials, and its bytes at the speed of the cache that holds
 * them (limits_resident): a kernel's arrays are read again call after call here, as the
 * next kernel of a step would find them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "bench/cases.h"
#include "bench/work.h"
#include "verify/op/op_case.h"

enum { B = 8, T = 128, C = 128, NH = 4, HS = C / NH, FF = 512, V = 1281, N = B * T };
enum { FORWARD, BACKWARD };

typedef struct kernel_shape { int op, pass; graph_sizes z; } kernel_shape;

static const kernel_shape shapes[] = {
    { VT_OP_LINEAR, FORWARD,  { .op = VT_OP_LINEAR, .N = N, .C = C, .OC = FF } },
    { VT_OP_LINEAR, BACKWARD, { .op = VT_OP_LINEAR, .N = N, .C = C, .OC = FF } },
    { VT_OP_LINEAR, FORWARD,  { .op = VT_OP_LINEAR, .N = N, .C = C, .OC = V } },
    { VT_OP_LINEAR, BACKWARD, { .op = VT_OP_LINEAR, .N = N, .C = C, .OC = V } },
    { VT_OP_ATTENTION, FORWARD,  { .op = VT_OP_ATTENTION, .B = B, .T = T, .S = T, .NH = NH,
                                   .HS = HS, .causal = true } },
    { VT_OP_ATTENTION, BACKWARD, { .op = VT_OP_ATTENTION, .B = B, .T = T, .S = T, .NH = NH,
                                   .HS = HS, .causal = true } },
    { VT_OP_LAYERNORM, FORWARD,  { .op = VT_OP_LAYERNORM, .N = N, .C = C } },
    { VT_OP_LAYERNORM, BACKWARD, { .op = VT_OP_LAYERNORM, .N = N, .C = C } },
    { VT_OP_GELU, FORWARD,  { .op = VT_OP_GELU, .N = N * FF } },
    { VT_OP_GELU, BACKWARD, { .op = VT_OP_GELU, .N = N * FF } },
    { VT_OP_CROSSENTROPY, FORWARD,  { .op = VT_OP_CROSSENTROPY, .N = N, .V = V, .temperature = 1 } },
    { VT_OP_CROSSENTROPY, BACKWARD, { .op = VT_OP_CROSSENTROPY, .N = N, .V = V, .temperature = 1 } },
};

/* The blocks have the graph's layout: tensor i is at x + g.tensor[i].at. */
typedef struct kernel_state {
    const kernel_shape *shape;
    const ops *k;
    team    *crew;
    op_case  c;
    float   *x, *dx, *lse;
} kernel_state;

static void state_free(void *state)
{
    kernel_state *o = state;
    if (!o) return;
    team_free(o->crew);
    op_case_free(&o->c);
    free(o->x);
    free(o->dx);
    free(o->lse);
    free(o);
}

static float *at(const kernel_state *o, float *block, int tensor)
{
    return block + o->c.g.tensor[tensor].at;
}

static void forward(kernel_state *o)
{
    const graph *g = &o->c.g;
    const graph_node *n = &g->node[0];
    const float *in0 = at(o, o->x, g->in[0]);
    float *out = at(o, o->x, g->out[0]);
    switch (o->shape->op) {
    case VT_OP_LINEAR:
        o->k->linear_forward(o->crew, out, in0, at(o, o->x, g->in[1]), at(o, o->x, g->in[2]),
                             n->N, n->C, n->OC);
        break;
    case VT_OP_ATTENTION:
        o->k->attention_forward(o->crew, out, o->lse, in0, C, at(o, o->x, g->in[1]),
                                at(o, o->x, g->in[2]), C, n->B, n->T, 0, n->NH, n->HS);
        break;
    case VT_OP_LAYERNORM:
        o->k->layernorm_forward(o->crew, out, at(o, o->x, n->stage[0]), at(o, o->x, n->stage[1]),
                                in0, at(o, o->x, g->in[1]), at(o, o->x, g->in[2]), n->N, n->C);
        break;
    case VT_OP_GELU:
        o->k->gelu_forward(o->crew, out, in0, (size_t)n->N);
        break;
    default:
        o->k->crossentropy_forward(o->crew, out, at(o, o->x, n->stage[0]), in0,
                                   o->c.ints + g->tensor[g->in[1]].at, 1, n->N, n->V);
    }
}

static void backward(kernel_state *o)
{
    const graph *g = &o->c.g;
    const graph_node *n = &g->node[0];
    const float *in0 = at(o, o->x, g->in[0]), *out = at(o, o->x, g->out[0]);
    const float *dout = at(o, o->dx, g->out[0]);
    float *d0 = at(o, o->dx, g->in[0]);
    switch (o->shape->op) {
    case VT_OP_LINEAR:
        o->k->linear_backward(o->crew, d0, at(o, o->dx, g->in[1]), at(o, o->dx, g->in[2]), dout,
                              in0, at(o, o->x, g->in[1]), n->N, n->C, n->OC);
        break;
    case VT_OP_ATTENTION:
        o->k->attention_backward(o->crew, d0, at(o, o->dx, g->in[1]), at(o, o->dx, g->in[2]), dout,
                                 out, o->lse, in0, C, at(o, o->x, g->in[1]),
                                 at(o, o->x, g->in[2]), C, n->B, n->T, 0, n->NH, n->HS);
        break;
    case VT_OP_LAYERNORM:
        o->k->layernorm_backward(o->crew, d0, at(o, o->dx, g->in[1]), at(o, o->dx, g->in[2]), dout,
                                 in0, at(o, o->x, g->in[1]), at(o, o->x, n->stage[0]),
                                 at(o, o->x, n->stage[1]), n->N, n->C);
        break;
    case VT_OP_GELU:
        o->k->gelu_backward(o->crew, d0, dout, in0, (size_t)n->N);
        break;
    default:
        o->k->crossentropy_backward(o->crew, d0, dout, at(o, o->x, n->stage[0]), in0,
                                    o->c.ints + g->tensor[g->in[1]].at, 1, n->N, n->V);
    }
}

static vt_status run(void *state, vt_error *err)
{
    kernel_state *o = state;
    (void)err;
    if (o->shape->pass == FORWARD) forward(o);
    else backward(o);
    return VT_OK;
}

/* A backward pass reads what the kernel's own forward pass left. */
static vt_status verify(void *state, vt_bench_row *row, vt_error *err)
{
    kernel_state *o = state;
    const op_case *c = &o->c;
    const bool back = o->shape->pass == BACKWARD;
    forward(o);
    if (back) backward(o);
    for (int i = 0; i < (back ? c->g.nin : c->g.nout); i++) {
        const graph_tensor *t = &c->g.tensor[back ? c->g.in[i] : c->g.out[i]];
        char name[GRAPH_NAME + 1];
        snprintf(name, sizeof name, "%s%s", back ? "d" : "", t->name);
        for (size_t k = t->at; t->role < GRAPH_INTEGERS && k < t->at + t->count; k++) {
            const double want = back ? c->start[k] + c->dx[k] : c->x[k];
            const double found = (double)(back ? o->dx[k] : o->x[k]);
            if (!bench_meet(row, name, k - t->at, want, found, back ? c->edx[k] : c->ex[k]))
                return bench_wrong(row, err);
        }
    }
    return VT_OK;
}

static vt_status fill(kernel_state *o, vt_error *err)
{
    const graph *g = &o->c.g;
    o->x = bench_floats(g->reals);
    o->dx = bench_floats(g->reals);
    o->lse = bench_floats((size_t)N * NH);
    if (!o->x || !o->dx || !o->lse) return fail_memory(err, 8 * g->reals, "a kernel's tensors");
    for (size_t i = 0; i < g->reals; i++) {
        o->x[i] = (float)o->c.x[i];
        o->dx[i] = (float)o->c.start[i];
    }
    for (int i = 0; i < g->nout; i++) {             /* NaN: what is not written is seen */
        const graph_tensor *t = &g->tensor[g->out[i]];
        for (size_t k = t->at; k < t->at + t->count; k++) {
            o->x[k] = NAN;
            o->dx[k] = (float)o->c.dout[k];
        }
    }
    return VT_OK;
}

/* Work of one call: FLOP of products, exponentials, bytes in and out; and how many bytes
 * that are: a gradient that is added to is read and written, and is there once. */
static void count(bench_work *w, const kernel_shape *s)
{
    const bool back = s->pass == BACKWARD;
    const double n = s->z.N, c = s->z.C, oc = s->z.OC, v = s->z.V, f = sizeof(float);
    double held;
    switch (s->op) {
    case VT_OP_LINEAR:
        w->flop = work_linear(n, c, oc) * (back ? 2 : 1);
        w->bytes = f * (back ? 2 * (n * c + c * oc) + c * oc + n * c + n * oc + 2 * oc
                             : n * c + c * oc + oc + n * oc);
        held = f * (back ? 2 * (n * c + c * oc) + n * oc : n * c + c * oc + n * oc);
        break;
    case VT_OP_ATTENTION:
        w->flop = work_attention(B, T, NH, HS) * (back ? 2 : 1);
        w->exps = (double)B * NH * T * (T + 1) / 2;
        w->bytes = f * (back ? 11.0 : 4.0) * N * C;
        held = f * (back ? 8.0 : 4.0) * N * C;
        break;
    case VT_OP_LAYERNORM:
        w->bytes = f * n * c * (back ? 4 : 2);
        held = f * n * c * (back ? 3 : 2);
        break;
    case VT_OP_GELU:
        w->exps = n;
        w->bytes = f * n * (back ? 4 : 2);
        held = f * n * (back ? 3 : 2);
        break;
    default:
        w->exps = n * v;
        w->bytes = f * n * v * (back ? 3 : 1);
        held = f * n * v * (back ? 2 : 1);
    }
    w->resident = (size_t)held;
    w->limit = BENCH_ROOF;
    w->per_call = w->flop > 0 ? w->flop : w->bytes;
    w->unit = w->flop > 0 ? "FLOP/s" : "B/s";
}

static vt_status make(bench_work *w, const bench_case *bc, const bench_setting *s, vt_error *err)
{
    const kernel_shape *shape = &shapes[bc->number];
    const ops_sizes sizes = { .B = B, .T = T, .C = C, .NH = NH, .HS = HS, .FF = FF, .V = V };
    size_t worker, shared;
    kernel_state *o = calloc(1, sizeof *o);
    if (!o) return fail_memory(err, sizeof *o, "a case");
    *w = (bench_work){ .state = o, .verify = verify, .run = run, .free = state_free };
    o->shape = shape;
    o->k = s->kernels;
    ops_scratch(&sizes, &worker, &shared);
    vt_status status = team_new(&o->crew, s->threads, worker, shared, err);
    if (status == VT_OK) status = op_case_draw(&o->c, &shape->z, PRECISION_F32, 1, 42, err);
    if (status == VT_OK) status = fill(o, err);
    count(w, shape);
    return status;
}

/* ---- kernels without an op_case ---------------------------------------------- */

enum { EMBED_FORWARD, EMBED_BACKWARD, ADD_FORWARD, ADD_BACKWARD, SQUARES, ADAMW };
/* Parameters of `default`: 4 layers of 12 C^2, wte, wpe (vectors left out). */
enum { PARAMS = 4 * 12 * C * C + (V + T) * C };

typedef struct flat_state {
    int    number;
    const ops *k;
    team  *crew;
    size_t n, room;                 /* room: floats of each block, n or more */
    float *a, *b, *c, *d;           /* w, m, v, g of AdamW */
    int   *tokens;
    double sum;
} flat_state;

static void flat_free(void *state)
{
    flat_state *o = state;
    if (!o) return;
    team_free(o->crew);
    free(o->a);
    free(o->b);
    free(o->c);
    free(o->d);
    free(o->tokens);
    free(o);
}

#define LR 1e-3f
#define BETA1 0.9f
#define BETA2 0.99f
#define EPS 1e-8f
#define DECAY 0.1f

static vt_status flat_run(void *state, vt_error *err)
{
    flat_state *o = state;
    (void)err;
    switch (o->number) {
    case EMBED_FORWARD:
        o->k->embedding_forward(o->crew, o->a, o->tokens, o->b, o->c, B, T, 0, C);
        break;
    case EMBED_BACKWARD:
        o->k->embedding_backward(o->crew, o->b, o->c, o->a, o->tokens, B, T, 0, C);
        break;
    case ADD_FORWARD:  o->k->residual_forward(o->crew, o->a, o->b, o->c, o->n); break;
    case ADD_BACKWARD: o->k->residual_backward(o->crew, o->b, o->c, o->a, o->n); break;
    case SQUARES:      o->sum = o->k->sum_squares(o->crew, o->d, o->n); break;
    default:
        o->k->adamw(o->crew, o->a, o->b, o->c, o->d, o->n, 0.5f, LR, BETA1, BETA2, EPS, DECAY, 9);
    }
    return VT_OK;
}

/* One addition each: half an ulp. */
static bool flat_added(flat_state *o, vt_bench_row *row, const float *b0, const float *c0)
{
    const double u = precision_u(PRECISION_F32);
    for (size_t i = 0; i < o->n; i++) {
        const size_t tok = (size_t)o->tokens[i / C] * C + i % C, pos = i % ((size_t)T * C);
        double x, y;
        switch (o->number) {
        case EMBED_FORWARD:
            x = (double)b0[tok] + (double)c0[pos];
            if (!bench_meet(row, "out", i, x, (double)o->a[i], u * fabs(x))) return false;
            break;
        case ADD_FORWARD:
            x = (double)b0[i] + (double)c0[i];
            if (!bench_meet(row, "out", i, x, (double)o->a[i], u * fabs(x))) return false;
            break;
        default:
            x = (double)b0[i] + (double)o->a[i], y = (double)c0[i] + (double)o->a[i];
            if (!bench_meet(row, "da", i, x, (double)o->b[i], u * fabs(x)) ||
                !bench_meet(row, "db", i, y, (double)o->c[i], u * fabs(y)))
                return false;
        }
    }
    return true;
}

/* A sum of k + 1 terms in whatever order: gamma_k sum |terms|. */
static bool flat_scattered(flat_state *o, vt_bench_row *row, const float *b0, const float *c0,
                           double *sums)
{
    const double u = precision_u(PRECISION_F32);
    const float *starts[] = { b0, c0 }, *found[] = { o->b, o->c };
    for (int table = 0; table < 2; table++) {
        const size_t rows = table ? T : V, cells = rows * C;
        double *sum = sums, *size = sums + cells, *terms = sums + 2 * cells;
        for (size_t i = 0; i < cells; i++) {
            sum[i] = (double)starts[table][i];
            size[i] = fabs(sum[i]);
            terms[i] = 0;
        }
        for (size_t i = 0; i < (size_t)N * C; i++) {
            const size_t r = table ? i / C % T : (size_t)o->tokens[i / C], to = r * C + i % C;
            sum[to] += (double)o->a[i];
            size[to] += fabs((double)o->a[i]);
            terms[to]++;
        }
        for (size_t i = 0; i < cells; i++) {
            const double k = terms[i] * u;
            if (!bench_meet(row, table ? "dwpe" : "dwte", i, sum[i], (double)found[table][i],
                            k / (1 - k) * size[i]))
                return false;
        }
    }
    return true;
}

/* test_gradclip_fast.c: squares of floats are exact in double, partial sums are not. */
static bool flat_squared(flat_state *o, vt_bench_row *row)
{
    double sum = 0, lost = 0;                       /* Neumaier's sum: exact enough */
    for (size_t i = 0; i < o->n; i++) {
        const double x = (double)o->d[i] * (double)o->d[i], next = sum + x;
        lost += sum >= x ? (sum - next) + x : (x - next) + sum;
        sum = next;
    }
    return bench_meet(row, "sum", 0, sum + lost, o->sum,
                      sum * ((double)o->n / 2 + 256) * 0x1p-53);
}

/* test_adamw_fast.c's bounds, first order in u = 2^-24:
 *     m     4 u (|b1 m| + |(1 - b1) g|)         v     5 u v'
 *     w     lr (|move| (em / |m'| + ev / 2 v' + 8 u) + 3 u (|move| + decay |w|)) + u |w'|
 */
static bool flat_stepped(flat_state *o, vt_bench_row *row, const float *w0, const float *m0,
                         const float *v0)
{
    const double u = precision_u(PRECISION_F32), b1 = (double)BETA1, b2 = (double)BETA2;
    const double c1 = 1 - pow(b1, 9), c2 = 1 - pow(b2, 9);
    for (size_t i = 0; i < o->n; i++) {
        const double g = 0.5 * (double)o->d[i], w = (double)w0[i];
        const double m = b1 * (double)m0[i] + (1 - b1) * g, v = b2 * (double)v0[i] + (1 - b2) * g * g;
        const double root = sqrt(v / c2) + (double)EPS, move = m / c1 / root;
        const double want = w - (double)LR * (move + (double)DECAY * w);
        const double em = 4 * u * (fabs(b1 * (double)m0[i]) + fabs((1 - b1) * g)) + 0x1p-148;
        const double ev = 5 * u * v + 0x1p-148;
        const double emove = em / c1 / root + fabs(move) * (ev / (2 * v + 0x1p-140) + 8 * u);
        const double ew = (double)LR * (emove + 3 * u * (fabs(move) + (double)DECAY * fabs(w))) +
                          u * fabs(want);
        if (!bench_meet(row, "m", i, m, (double)o->b[i], em) ||
            !bench_meet(row, "v", i, v, (double)o->c[i], ev) ||
            !bench_meet(row, "w", i, want, (double)o->a[i], ew))
            return false;
    }
    return true;
}

static vt_status flat_verify(void *state, vt_bench_row *row, vt_error *err)
{
    flat_state *o = state;
    const size_t bytes = o->room * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    double *sums = malloc(3 * (size_t)V * C * sizeof *sums);
    vt_status s = VT_OK;
    bool right;
    if (!a || !b || !c || !sums) {
        s = fail_memory(err, 3 * bytes, "what a kernel started from");
        goto done;
    }
    memcpy(a, o->a, bytes);
    memcpy(b, o->b, bytes);
    memcpy(c, o->c, bytes);
    (void)flat_run(o, err);
    switch (o->number) {
    case EMBED_BACKWARD: right = flat_scattered(o, row, b, c, sums); break;
    case SQUARES:        right = flat_squared(o, row); break;
    case ADAMW:          right = flat_stepped(o, row, a, b, c); break;
    default:             right = flat_added(o, row, b, c);
    }
    if (!right) s = bench_wrong(row, err);
done:
    free(a);
    free(b);
    free(c);
    free(sums);
    return s;
}

static vt_status flat_make(bench_work *w, const bench_case *bc, const bench_setting *s,
                           vt_error *err)
{
    static const double moved[] = {         /* floats in and out for each of n */
        [EMBED_FORWARD] = 3, [EMBED_BACKWARD] = 5, [ADD_FORWARD] = 3, [ADD_BACKWARD] = 5,
        [SQUARES] = 1, [ADAMW] = 7,
    };
    static const double held[] = {          /* floats that they are */
        [EMBED_FORWARD] = 1, [EMBED_BACKWARD] = 1, [ADD_FORWARD] = 3, [ADD_BACKWARD] = 3,
        [SQUARES] = 1, [ADAMW] = 4,
    };
    flat_state *o = calloc(1, sizeof *o);
    rng r;
    if (!o) return fail_memory(err, sizeof *o, "a case");
    *w = (bench_work){ .state = o, .verify = flat_verify, .run = flat_run, .free = flat_free };
    o->number = bc->number;
    o->k = s->kernels;
    o->n = o->number >= SQUARES ? PARAMS : (size_t)N * C;
    /* The tables of the embedding, V C and T C floats, lie in b and c. */
    const size_t room = o->room = o->n > (size_t)V * C ? o->n : (size_t)V * C;
    float **const all[] = { &o->a, &o->b, &o->c, &o->d };
    for (size_t i = 0; i < 4; i++) {
        if (!(*all[i] = bench_floats(room))) return fail_memory(err, 4 * room, "a kernel's tensors");
        bench_fill(*all[i], room, 80 + i);
    }
    for (size_t i = 0; i < room && o->number == ADAMW; i++) o->c[i] *= o->c[i];
    o->tokens = malloc((size_t)N * sizeof *o->tokens);
    if (!o->tokens) return fail_memory(err, (size_t)N * sizeof *o->tokens, "tokens");
    rng_stream_seed(&r, 42, RNG_VERIFY, 90);
    for (int i = 0; i < N; i++) o->tokens[i] = (int)rng_integers(&r, 0, V);
    w->limit = BENCH_ROOF;
    w->bytes = w->per_call = moved[o->number] * (double)o->n * sizeof(float);
    w->resident = (size_t)(held[o->number] * (double)o->n * sizeof(float));
    if (o->number <= EMBED_BACKWARD) w->resident += (size_t)(V + T) * C * sizeof(float);    /* the tables */
    w->unit = "B/s";
    return team_new(&o->crew, s->threads, 0, 0, err);
}

#define KERNEL(name, what, unit, i, maker) \
    { name, "kernels", what, unit, 0, 0, true, 1.5, 0.9, maker, i, false, VT_BENCH_RATE }
const bench_case bench_kernels[] = {
    KERNEL("linear-forward",     "N 1024, C 128, OC 512", "FLOP/s", 0, make),
    KERNEL("linear-backward",    "N 1024, C 128, OC 512", "FLOP/s", 1, make),
    KERNEL("head-forward",       "N 1024, C 128, OC 1281", "FLOP/s", 2, make),
    KERNEL("head-backward",      "N 1024, C 128, OC 1281", "FLOP/s", 3, make),
    KERNEL("attention-forward",  "B 8, T 128, 4 heads of 32", "FLOP/s", 4, make),
    KERNEL("attention-backward", "B 8, T 128, 4 heads of 32", "FLOP/s", 5, make),
    KERNEL("layernorm-forward",  "N 1024, C 128", "B/s", 6, make),
    KERNEL("layernorm-backward", "N 1024, C 128", "B/s", 7, make),
    KERNEL("gelu-forward",       "524288 numbers", "B/s", 8, make),
    KERNEL("gelu-backward",      "524288 numbers", "B/s", 9, make),
    KERNEL("crossentropy-forward",  "N 1024, V 1281", "B/s", 10, make),
    KERNEL("crossentropy-backward", "N 1024, V 1281", "B/s", 11, make),
    KERNEL("embedding-forward",  "N 1024, C 128, V 1281", "B/s", EMBED_FORWARD, flat_make),
    KERNEL("embedding-backward", "N 1024, C 128, V 1281", "B/s", EMBED_BACKWARD, flat_make),
    KERNEL("residual-forward",   "131072 numbers", "B/s", ADD_FORWARD, flat_make),
    KERNEL("residual-backward",  "131072 numbers", "B/s", ADD_BACKWARD, flat_make),
    KERNEL("sum-squares",        "966784 parameters", "B/s", SQUARES, flat_make),
    KERNEL("adamw",              "966784 parameters", "B/s", ADAMW, flat_make),
    { .name = NULL },
};

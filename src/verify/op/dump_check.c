/* dump_check.c -- see dump_check.h. */
#include "verify/op/dump_check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/rng.h"
#include "formats/tensors.h"
#include "verify/op/op_diagnose.h"
#include "verify/op/op_exact.h"
#include "verify/op/op_judge.h"

#define DUMP_LIMIT ((size_t)1 << 32)

typedef struct dump {
    const dump_options *o;
    tensors     file;
    bool       *used;               /* by item */
    graph_sizes z;
    op_case     c;
    op_found    found;
    bool        gradients;          /* there is one to compare */
} dump;

/* ---- tensors by name -------------------------------------------------------- */

/* "q", else what differs in case alone; NULL. */
static const tensor *find(const dump *d, const char *name)
{
    const tensor *t = tensors_find(&d->file, name);
    for (size_t i = 0; !t && i < d->file.count; i++)
        if (strcasecmp(d->file.items[i].name, name) == 0) t = &d->file.items[i];
    if (t) d->used[t - d->file.items] = true;
    return t;
}

static vt_status need(const dump *d, const char *name, const tensor **t, vt_error *err)
{
    *t = find(d, name);
    return *t ? VT_OK : tensors_need(&d->file, name, t, err);
}

/* Whether the operator takes any axes in front as rows; gelu takes all. */
static bool by_rows(int op)
{
    return op == VT_OP_SOFTMAX || op == VT_OP_LINEAR || op == VT_OP_LAYERNORM ||
           op == VT_OP_GELU || op == VT_OP_CROSSENTROPY;
}

/* ---- sizes ------------------------------------------------------------------ */

enum { ROWS = -2, LAST = -1 };      /* axes: the product of all in front of the last */

typedef struct size_rule {
    int         op;
    const char *tensor;
    int         axis, rank;         /* rank 0: any */
    const char *name;
    size_t      at;                 /* offset in graph_sizes */
} size_rule;

#define SIZE(op, tensor, axis, rank, name) \
    { op, tensor, axis, rank, #name, offsetof(graph_sizes, name) }

static const size_rule rules[] = {
    SIZE(VT_OP_SOFTMAX, "x", ROWS, 0, N), SIZE(VT_OP_SOFTMAX, "x", LAST, 0, V),
    SIZE(VT_OP_LINEAR, "x", ROWS, 0, N), SIZE(VT_OP_LINEAR, "x", LAST, 0, C),
    SIZE(VT_OP_LINEAR, "w", 1, 2, OC),
    SIZE(VT_OP_LAYERNORM, "x", ROWS, 0, N), SIZE(VT_OP_LAYERNORM, "x", LAST, 0, C),
    SIZE(VT_OP_ATTENTION, "q", 0, 4, B), SIZE(VT_OP_ATTENTION, "q", 1, 4, T),
    SIZE(VT_OP_ATTENTION, "q", 2, 4, NH), SIZE(VT_OP_ATTENTION, "q", 3, 4, HS),
    SIZE(VT_OP_ATTENTION, "k", 1, 4, S),
    SIZE(VT_OP_PROJECTED, "x", 0, 3, B), SIZE(VT_OP_PROJECTED, "x", 1, 3, T),
    SIZE(VT_OP_PROJECTED, "x", 2, 3, C), SIZE(VT_OP_PROJECTED, "wq", 1, 2, HS),
    SIZE(VT_OP_CROSSENTROPY, "logits", ROWS, 0, N), SIZE(VT_OP_CROSSENTROPY, "logits", LAST, 0, V),
    SIZE(VT_OP_BLOCK, "x", 0, 3, B), SIZE(VT_OP_BLOCK, "x", 1, 3, T),
    SIZE(VT_OP_BLOCK, "x", 2, 3, HS), SIZE(VT_OP_BLOCK, "mlp.c_fc.weight", 1, 2, FF),
    SIZE(VT_OP_GPT, "tokens", 0, 2, B), SIZE(VT_OP_GPT, "tokens", 1, 2, T),
    SIZE(VT_OP_GPT, "wte.weight", 0, 2, V), SIZE(VT_OP_GPT, "wte.weight", 1, 2, HS),
    SIZE(VT_OP_GPT, "wpe.weight", 0, 2, S), SIZE(VT_OP_GPT, "h.0.mlp.c_fc.weight", 1, 2, FF),
    SIZE(VT_OP_LAB, "x", 0, 2, T), SIZE(VT_OP_LAB, "x", 1, 2, C),
    SIZE(VT_OP_LAB, "wq", 1, 2, HS), SIZE(VT_OP_LAB, "wo", 1, 2, V),
};
#undef SIZE

/* The tensor's shape with the heads behind the positions. */
static void shape_of(const dump *d, const tensor *t, size_t shape[ST_RANK_MAX])
{
    memcpy(shape, t->shape, ST_RANK_MAX * sizeof *shape);
    if (d->o->bhtd && t->rank == 4) {
        shape[1] = t->shape[2];
        shape[2] = t->shape[1];
    }
}

static vt_status apply(dump *d, const size_rule *r, vt_error *err)
{
    const tensor *t = NULL;
    size_t shape[ST_RANK_MAX], value = 1;
    char text[128];
    vt_status s = need(d, r->tensor, &t, err);
    if (s) return s;
    if (r->rank ? t->rank != (size_t)r->rank : t->rank < 1)
        return fail(err, VT_BAD_INPUT, "%s: tensor %s has shape %s: expected %d axes",
                    d->o->file, t->name, st_shape_text(text, sizeof text, t->rank, t->shape),
                    r->rank ? r->rank : 1);
    shape_of(d, t, shape);
    if (r->axis == ROWS) value = shape[t->rank - 1] ? t->count / shape[t->rank - 1] : 0;
    else value = shape[r->axis == LAST ? t->rank - 1 : (size_t)r->axis];
    if (value < 1 || value > 1 << 20)
        return fail(err, VT_BAD_INPUT, "%s: tensor %s has shape %s: expected sizes from 1 to %d",
                    d->o->file, t->name, st_shape_text(text, sizeof text, t->rank, t->shape),
                    1 << 20);
    *(int *)(void *)((char *)&d->z + r->at) = (int)value;
    return VT_OK;
}

/* HS stands for all heads so far. */
static vt_status split_heads(dump *d, vt_error *err)
{
    const int width = d->z.HS, heads = d->o->heads;
    const int op = d->z.op;
    if (op != VT_OP_PROJECTED && op != VT_OP_BLOCK && op != VT_OP_GPT && op != VT_OP_LAB) {
        if (heads)
            return fail(err, VT_USAGE, "--heads: %s takes its sizes from the shapes",
                        graph_op_name(op));
        return VT_OK;
    }
    if (heads < 1 || width % heads != 0)
        return fail(err, VT_USAGE, "--heads %d: expected a divisor of %d, the width of all heads "
                    "in %s", heads, width, d->o->file);
    d->z.NH = heads;
    d->z.HS = width / heads;
    return VT_OK;
}

/* A number in the file says it, too (`vitrine lab --dump` writes one). */
static vt_status take_temperature(dump *d, vt_error *err)
{
    const bool uses = d->z.op == VT_OP_CROSSENTROPY || d->z.op == VT_OP_LAB;
    const tensor *t = uses ? find(d, "temperature") : NULL;
    double value = 1;
    if (!t) return VT_OK;
    char text[128];
    if (t->count != 1)
        return fail(err, VT_BAD_INPUT, "%s: tensor temperature has shape %s: expected one number",
                    d->o->file, st_shape_text(text, sizeof text, t->rank, t->shape));
    const vt_status s = tensors_read_f64(&d->file, t, &value, err);
    if (s) return s;
    if (!(value >= 1e-30 && value <= 1e30))
        return fail(err, VT_BAD_INPUT, "%s: tensor temperature is %g: expected a number from 1e-30 "
                    "to 1e+30", d->o->file, value);
    if (d->z.temperature != 1 && d->z.temperature != value)
        return fail(err, VT_USAGE, "--temperature %g: %s says %g", d->z.temperature, d->o->file,
                    value);
    d->z.temperature = value;
    return VT_OK;
}

static vt_status take_sizes(dump *d, vt_error *err)
{
    const dump_options *o = d->o;
    char name[GRAPH_NAME];
    const tensor *t = NULL;
    vt_status s = VT_OK;
    d->z = (graph_sizes){ .op = o->op, .causal = o->causal, .temperature = o->temperature };
    if (o->op == VT_OP_GELU) {
        s = need(d, "x", &t, err);
        if (s) return s;
        if (t->count < 1 || t->count > 1 << 20)
            return fail(err, VT_BAD_INPUT, "%s: tensor x has %zu elements: expected 1 to %d",
                        o->file, t->count, 1 << 20);
        d->z.N = (int)t->count;
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules && s == VT_OK; i++)
        if (rules[i].op == o->op) s = apply(d, &rules[i], err);
    if (s == VT_OK) s = split_heads(d, err);
    if (s == VT_OK) s = take_temperature(d, err);
    if (s) return s;
    const bool attends = o->op == VT_OP_ATTENTION || o->op == VT_OP_PROJECTED;
    d->z.masked = attends && find(d, "mask");
    if (o->op == VT_OP_GPT)
        do snprintf(name, sizeof name, "h.%d.ln_1.weight", d->z.L);
        while (find(d, name) && ++d->z.L);
    if (o->op == VT_OP_GPT && d->z.L == 0) return need(d, "h.0.ln_1.weight", &t, err);
    return VT_OK;
}

/* ---- reading ----------------------------------------------------------------- */

static bool is_float(const tensor *t)
{
    return t->dtype == ST_F64 || t->dtype == ST_F32 || t->dtype == ST_F16 || t->dtype == ST_BF16;
}

/* The graph's shape as a file has it; returns the rank.  The lab's p and o are, in the
 * graph, attention's: p (1, NH, T, T), o (1, T, NH, HS), also as (T, NH*HS). */
static size_t shape_in_file(const dump *d, const graph_tensor *g, size_t shape[GRAPH_RANK])
{
    size_t rank = (size_t)g->rank, skip = 0;
    if (d->z.op == VT_OP_LAB && rank == 4) skip = 1;
    for (size_t i = skip; i < rank; i++) shape[i - skip] = (size_t)g->shape[i];
    rank -= skip;
    if (d->o->bhtd && rank == 4) {
        shape[1] = (size_t)g->shape[2];
        shape[2] = (size_t)g->shape[1];
    }
    return rank;
}

/* Shapes agree: axis by axis, or in rows of the last; masks without axes of 1 in front. */
static bool fits(const dump *d, const tensor *t, const graph_tensor *g)
{
    size_t expected[GRAPH_RANK], skip = 0;
    const size_t rank = shape_in_file(d, g, expected);
    if (t->count != g->count) return false;
    while (g->role == GRAPH_MASK && t->rank - skip > rank && t->shape[skip] == 1) skip++;
    bool same = t->rank - skip == rank;
    for (size_t i = 0; same && i < rank; i++) same = t->shape[skip + i] == expected[i];
    if (same) return true;
    if (d->z.op == VT_OP_LAB && strcmp(g->name, "o") == 0)
        return t->rank == 2 && t->shape[0] == expected[0];
    if (!by_rows(d->z.op) || g->role == GRAPH_MASK) return false;
    /* parameters keep their shape; what goes by rows has the last axis, or is one a row */
    if (strcmp(g->name, "w") == 0 || strcmp(g->name, "b") == 0) return false;
    return rank == 1 || (t->rank >= 1 && t->shape[t->rank - 1] == expected[rank - 1]);
}

static vt_status check_shape(const dump *d, const tensor *t, const graph_tensor *g, vt_error *err)
{
    size_t expected[GRAPH_RANK];
    char want[96], have[128];
    const size_t rank = shape_in_file(d, g, expected);
    if (fits(d, t, g)) return VT_OK;
    return fail(err, VT_BAD_INPUT, "%s: tensor %s has shape %s: expected %s", d->o->file, t->name,
                st_shape_text(have, sizeof have, t->rank, t->shape),
                st_shape_text(want, sizeof want, rank, expected));
}

/* (B, NH, T, HS) to (B, T, NH, HS); g has the latter shape. */
static vt_status turn(double *x, const graph_tensor *g, vt_error *err)
{
    const size_t B = (size_t)g->shape[0], T = (size_t)g->shape[1], NH = (size_t)g->shape[2];
    const size_t HS = (size_t)g->shape[3];
    double *copy = malloc(g->count * sizeof *copy);
    if (!copy) return fail_memory(err, g->count * sizeof *copy, g->name);
    memcpy(copy, x, g->count * sizeof *copy);
    for (size_t b = 0; b < B; b++)
    for (size_t t = 0; t < T; t++)
    for (size_t h = 0; h < NH; h++)
        memcpy(x + ((b * T + t) * NH + h) * HS, copy + ((b * NH + h) * T + t) * HS,
               HS * sizeof *x);
    free(copy);
    return VT_OK;
}

static vt_status read_reals(const dump *d, const tensor *t, const graph_tensor *g, double *out,
                            vt_error *err)
{
    if (!is_float(t))
        return fail(err, VT_BAD_INPUT, "%s: tensor %s is %s: expected F64, F32, F16 or BF16",
                    d->o->file, t->name, st_dtype_name(t->dtype));
    vt_status s = check_shape(d, t, g, err);
    if (s == VT_OK) s = tensors_read_f64(&d->file, t, out, err);
    if (s == VT_OK && d->o->bhtd && g->rank == 4) s = turn(out, g, err);
    return s;
}

/* Inputs and upstream gradients: finite, and numbers of the precision. */
static vt_status check_given(const dump *d, const tensor *t, const graph_tensor *g,
                             const double *x, vt_error *err)
{
    char place[96];
    for (size_t i = 0; i < g->count; i++) {
        if (isfinite(x[i]) && precision_round(d->c.p, x[i]) == x[i]) continue;
        graph_index(place, sizeof place, g, i);
        const char *bracket = strchr(place, '[');
        return fail(err, VT_BAD_INPUT, "%s: %s%s is %.17g: expected %s", d->o->file, t->name,
                    bracket ? bracket : "", x[i],
                    isfinite(x[i]) ? precision_name(d->c.p) : "a finite number");
    }
    return VT_OK;
}

static vt_status read_given(dump *d, const char *name, const graph_tensor *g, double *out,
                            vt_error *err)
{
    const tensor *t = NULL;
    vt_status s = need(d, name, &t, err);
    if (s == VT_OK) s = read_reals(d, t, g, out, err);
    return s ? s : check_given(d, t, g, out, err);
}

static vt_status read_integers(dump *d, const graph_tensor *g, int *out, vt_error *err)
{
    const tensor *t = NULL;
    _Static_assert(sizeof(int) == sizeof(int32_t), "integers of a graph are int32_t");
    vt_status s = need(d, g->name, &t, err);
    if (s == VT_OK) s = check_shape(d, t, g, err);
    return s ? s : tensors_read_i32(&d->file, t, out, err);
}

static void gradient_name(char out[GRAPH_NAME + 1], const graph_tensor *t)
{
    snprintf(out, GRAPH_NAME + 1, "d%s", t->name);
}

/* What no file says: any upstream gradient will do, since none is compared. */
static void draw_upstream(double *out, const graph_tensor *t, uint64_t seed, precision p)
{
    rng r;
    rng_stream_seed(&r, seed, RNG_VERIFY, 4005);
    for (size_t i = 0; i < t->count; i++) out[i] = precision_round(p, rng_normal(&r));
}

static vt_status fill(op_case *c, void *context, vt_error *err)
{
    dump *d = context;
    char name[GRAPH_NAME + 1];
    vt_status s = VT_OK;
    c->seed = d->o->seed;
    d->c.p = c->p;
    for (int i = 0; i < c->g.nin && s == VT_OK; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        if (t->role == GRAPH_INPUT) s = read_given(d, t->name, t, c->x + t->at, err);
        else if (t->role != GRAPH_MASK || c->z.masked) s = read_integers(d, t, c->ints + t->at, err);
        gradient_name(name, t);
        if (t->role == GRAPH_INPUT && find(d, name)) d->gradients = true;
    }
    for (int i = 0; i < c->g.nout && s == VT_OK; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        gradient_name(name, t);
        if (!t->upstream) continue;
        if (d->gradients || find(d, name)) s = read_given(d, name, t, c->dout + t->at, err);
        else draw_upstream(c->dout + t->at, t, d->o->seed, c->p);
    }
    return s;
}

/* ---- what was computed -------------------------------------------------------- */

static vt_status take_found(dump *d, vt_op_case *out, vt_error *err)
{
    const graph *g = &d->c.g;
    char name[GRAPH_NAME + 1];
    vt_status s = VT_OK;
    for (int i = 0; i < g->nout && s == VT_OK; i++) {
        const graph_tensor *t = &g->tensor[g->out[i]];
        const tensor *in = find(d, t->name);
        if (in) s = read_reals(d, in, t, d->found.x + t->at, err);
        else s = op_row_lacking(out, t->name, VT_ROW_OUTPUT, t->count,
                                "not in the file", err);
        d->found.has_x[g->out[i]] = in != NULL;
    }
    for (int i = 0; i < g->nin && s == VT_OK; i++) {
        const graph_tensor *t = &g->tensor[g->in[i]];
        if (t->role != GRAPH_INPUT) continue;
        gradient_name(name, t);
        const tensor *in = find(d, name);
        if (in) s = read_reals(d, in, t, d->found.dx + t->at, err);
        else s = op_row_lacking(out, name, VT_ROW_GRADIENT, t->count,
                                "not in the file", err);
        d->found.has_dx[g->in[i]] = in != NULL;
    }
    return s;
}

static void less_precise(precision *p, const tensor *t)
{
    if (!t) return;
    if (t->dtype == ST_F32 && *p == PRECISION_F64) *p = PRECISION_F32;
    if (t->dtype == ST_F16 && *p != PRECISION_BF16) *p = PRECISION_F16;
    if (t->dtype == ST_BF16) *p = PRECISION_BF16;
}

/* The least precise type of all that the operator names; what it does not know may be of
 * any. */
static vt_status precision_of(dump *d, precision *p, vt_error *err)
{
    graph g;
    graph_sizes z = d->z;
    char name[GRAPH_NAME + 1];
    *p = PRECISION_F64;
    vt_status s = graph_build(&g, &z, err);
    for (int i = 0; s == VT_OK && i < g.nin + g.nout; i++) {
        const graph_tensor *t = &g.tensor[i < g.nin ? g.in[i] : g.out[i - g.nin]];
        if (t->role >= GRAPH_INTEGERS) continue;
        gradient_name(name, t);
        less_precise(p, find(d, t->name));
        less_precise(p, find(d, name));
    }
    graph_free(&g);
    return s;
}

/* Indices in the order of the file's axes. */
static void turn_index(vt_op_row *row)
{
    size_t at[4];
    char *bracket = strchr(row->index, '[');
    if (!bracket || sscanf(bracket, "[%zu, %zu, %zu, %zu]", &at[0], &at[1], &at[2], &at[3]) != 4)
        return;
    snprintf(bracket, sizeof row->index - (size_t)(bracket - row->index), "[%zu, %zu, %zu, %zu]",
             at[0], at[2], at[1], at[3]);
}

static vt_status judge(dump *d, vt_op_case *out, vt_error *err)
{
    op_judge_head(out, &d->c);
    out->number = 1;
    out->supported = true;
    vt_status s = take_found(d, out, err);
    if (s == VT_OK) s = op_judge_tensors(out, &d->c, &d->found, err);
    if (s == VT_OK) s = op_exact_zeros(out, &d->c, &d->found, err);
    if (s == VT_OK) s = op_judge_degenerate(out, &d->c, d->o->degenerate, err);
    if (s == VT_OK) s = op_judge_definitions(out, &d->c, false, err);
    if (s) return s;
    op_judge_end(out);
    if (out->compared == 0)
        return fail(err, VT_BAD_INPUT, "%s: nothing to compare: expected outputs (%s) or gradients "
                    "(d%s) among its tensors", d->o->file, d->c.g.tensor[d->c.g.out[0]].name,
                    d->c.g.tensor[d->c.g.in[0]].name);
    if (!out->pass) s = op_diagnose(out, &d->c, &d->found, err);
    for (size_t i = 0; d->o->bhtd && i < out->nrows; i++) turn_index(&out->rows[i]);
    return s;
}

/* "dq" for a name that means it: "grad_q", "q.grad"; NULL. */
static const graph_tensor *meant(const dump *d, const char *name)
{
    static const char *const ways[] = { "grad_%s", "%s_grad", "%s.grad", "grad.%s", "grad%s", "%sgrad",
                                        "d_%s" };
    char text[GRAPH_NAME + 8];
    for (int i = 0; i < d->c.g.nin; i++) {
        const graph_tensor *t = &d->c.g.tensor[d->c.g.in[i]];
        if (t->role != GRAPH_INPUT || d->found.has_dx[d->c.g.in[i]]) continue;
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            const char *mark = strstr(ways[w], "%s");
            snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - ways[w]), ways[w], t->name, mark + 2);
            if (strcasecmp(text, name) == 0) return t;
        }
    }
    return NULL;
}

/* Names that others give an output. */
static bool means_output(const char *name)
{
    return strcasecmp(name, "out") == 0 || strcasecmp(name, "output") == 0 || strcasecmp(name, "y") == 0 ||
           strcasecmp(name, "o") == 0;
}

static void note_unused(const dump *d, char *note, size_t size)
{
    size_t used = 0;
    note[0] = '\0';
    for (size_t i = 0; i < d->file.count && used < size; i++)
        if (!d->used[i]) {
            const char *name = d->file.items[i].name;
            const int out = d->c.g.out[0];
            const graph_tensor *t = meant(d, name);
            const bool output = !d->found.has_x[out] && means_output(name);
            int n = snprintf(note + used, size - used, "%s%s", used ? ", " : "not used: ", name);
            used += n > 0 ? (size_t)n : 0;
            if (used >= size || (!t && !output)) continue;
            n = snprintf(note + used, size - used, " (is %s%s meant?)", t ? "d" : "",
                         t ? t->name : d->c.g.tensor[out].name);
            used += n > 0 ? (size_t)n : 0;
        }
}

vt_status dump_check(vt_op_case *out, const dump_options *o, char *note, size_t size,
                     vt_error *err)
{
    dump d = { .o = o };
    memset(out, 0, sizeof *out);
    if (o->bhtd && o->op != VT_OP_ATTENTION)
        return fail(err, VT_USAGE, "--layout bhtd: only attention has heads in its tensors");
    vt_status s = tensors_open(&d.file, o->file, DUMP_LIMIT, err);
    if (s) return s;
    d.used = calloc(d.file.count + 1, sizeof *d.used);
    if (!d.used) s = fail_memory(err, d.file.count, "the names of a dump");
    if (s == VT_OK) s = take_sizes(&d, err);
    precision p = o->p;
    if (s == VT_OK && !o->has_precision) s = precision_of(&d, &p, err);
    op_case c = { .ints = NULL };
    if (s == VT_OK) s = op_case_given(&c, &d.z, p, fill, &d, err);
    d.c = c;
    if (s == VT_OK) s = op_found_new(&d.found, &d.c, err);
    if (s == VT_OK) s = judge(&d, out, err);
    if (s == VT_OK) note_unused(&d, note, size);
    op_found_free(&d.found);
    op_case_free(&d.c);
    free(d.used);
    tensors_close(&d.file);
    return s ? s : out->pass ? VT_OK : VT_CHECK_FAILED;
}

/* model_diagnose.c -- see model_diagnose.h. */
#include "verify/model/model_diagnose.h"
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "verify/diagnosis/diagnose.h"
#include "verify/op/op_call.h"

/* ---- the model as a case ------------------------------------------------------- */

typedef struct source {
    const gradcheck_case  *c;
    const gradcheck_grads *g;
} source;

/* Tensor i of the model in the graph: tensors.def and vitrine_kernel.h have one order. */
static graph_tensor *tensor_of(const op_case *out, size_t i)
{
    return &out->g.tensor[out->g.in[VT_GPT_WTE + (int)i]];
}

/* The report speaks of tensors by the names that they have in code. */
static vt_status fill(op_case *out, void *context, vt_error *err)
{
    const source *s = context;
    const gradcheck_case *c = s->c;
    const size_t N = (size_t)c->B * (size_t)c->T;
    if ((size_t)out->g.nin != c->ntensors + VT_GPT_WTE)
        return fail(err, VT_BAD_INPUT, "a model of %zu tensors, expected %d", c->ntensors,
                    out->g.nin - VT_GPT_WTE);
    for (size_t i = 0; i < c->ntensors; i++) {
        const gpt_tensor *from = &c->tensors[i];
        graph_tensor *t = tensor_of(out, i);
        if (t->count != from->count)
            return fail(err, VT_BAD_INPUT, "%s has %zu entries, expected %zu", from->name,
                        from->count, t->count);
        snprintf(t->name, sizeof t->name, "%s", from->name);
        for (size_t k = 0; k < t->count; k++) out->x[t->at + k] = (double)c->params[from->offset + k];
    }
    const size_t tokens = out->g.tensor[out->g.in[VT_GPT_TOKENS]].at;
    const size_t targets = out->g.tensor[out->g.in[VT_GPT_TARGETS]].at;
    memcpy(out->ints + tokens, c->tokens, N * sizeof *out->ints);
    memcpy(out->ints + targets, c->targets, N * sizeof *out->ints);
    memcpy(out->dout + out->g.tensor[out->g.out[0]].at, s->g->weight, N * sizeof *out->dout);
    return VT_OK;
}

static void widen(op_case *out, const gradcheck_case *c, const gradcheck_grads *g)
{
    for (size_t i = 0; i < c->ntensors; i++) {
        const gradcheck_bounds b = gradcheck_bounds_of(c, g, i);
        const double bound = out->p == PRECISION_F64 ? b.definitions : b.fast;
        const graph_tensor *t = tensor_of(out, i);
        for (size_t k = t->at; k < t->at + t->count; k++) out->edx[k] = fmax(out->edx[k], bound);
    }
}

vt_status model_op_case(op_case *out, const gradcheck_case *c, const gradcheck_grads *g, precision p,
                        vt_error *err)
{
    const gpt_config *m = c->z;
    graph_sizes z = { .op = VT_OP_GPT, .B = c->B, .T = c->T, .S = m->T, .NH = m->NH,
                      .HS = m->C / m->NH, .FF = m->FF, .V = m->V, .L = m->L, .causal = true,
                      .untied = !m->tied, .temperature = 1 };
    source from = { c, g };
    graph size;
    vt_status s = graph_build(&size, &z, err);
    if (s) return s;
    const size_t reals = size.reals;
    graph_free(&size);
    if (reals > MODEL_DIAGNOSE_MOST)
        return fail(err, VT_TOO_LARGE, "too large to diagnose: %zu parameters and activations, "
                    "expected at most %d", reals, MODEL_DIAGNOSE_MOST);
    s = op_case_given(out, &z, p, fill, &from, err);
    if (s == VT_OK) widen(out, c, g);
    return s;
}

/* ---- what was found ------------------------------------------------------------- */

/* All gradients; of the definitions the losses, too, which are right: the fault is in the
 * backward pass. */
static vt_status take(op_found *f, const op_case *out, const gradcheck_case *c,
                      const gradcheck_grads *g, vt_error *err)
{
    const bool fast = out->p != PRECISION_F64;
    const graph_tensor *loss = &out->g.tensor[out->g.out[0]];
    const vt_status s = op_found_new(f, out, err);
    if (s) return s;
    for (size_t i = 0; i < c->ntensors; i++) {
        const graph_tensor *t = tensor_of(out, i);
        const size_t from = c->tensors[i].offset;
        for (size_t k = 0; k < t->count; k++)
            f->dx[t->at + k] = fast ? (double)g->fast[from + k] : g->hand[from + k];
        f->has_dx[t - out->g.tensor] = true;
    }
    memcpy(f->x + loss->at, g->losses, loss->count * sizeof *f->x);
    f->has_x[out->g.out[0]] = !fast;
    return VT_OK;
}

/* ---- what is right, where a definition is not ------------------------------------- */

enum { STEPS = 1 << 30 };               /* multiplications of all derivatives, about */

/* The first node that reads a tensor; the graph's last where none does. */
static int first_reader(const graph *g, int tensor)
{
    for (int i = 0; i < g->nnodes; i++)
        for (int j = 0; j < GRAPH_INS; j++)
            if (g->node[i].in[j] == tensor) return i;
    return g->nnodes - 1;
}

/* Each gradient by complex step, into c->dx.  From the last tensor that is read to the
 * first, so that what lies before its reader never moved. */
static void step_all(op_case *c, double _Complex *x)
{
    const graph *g = &c->g;
    const graph_tensor *loss = &g->tensor[g->out[0]];
    const double h = 1e-30;
    for (size_t i = 0; i < g->reals; i++) x[i] = c->x[i];
    for (int node = g->nnodes; node-- > 0;)
        for (int j = VT_GPT_WTE; j < g->nin; j++) {
            const graph_tensor *t = &g->tensor[g->in[j]];
            if (first_reader(g, g->in[j]) != node) continue;
            for (size_t k = t->at; k < t->at + t->count; k++) {
                double sum = 0;
                x[k] = c->x[k] + h * (double _Complex)I;
                graph_forward_c128(g, x, c->ints, node);
                for (size_t n = loss->at; n < loss->at + loss->count; n++)
                    sum += c->dout[n] * (cimag(x[n]) / h);
                x[k] = c->x[k];
                c->dx[k] = sum;
            }
        }
}

/* Each parameter meets each row once, the head's V C too; and each is a parameter. */
static bool few_steps(const op_case *c)
{
    const graph_sizes *z = &c->z;
    size_t parameters = 0, work = 0;
    for (int j = VT_GPT_WTE; j < c->g.nin; j++) parameters += c->g.tensor[c->g.in[j]].count;
    return size_mul(parameters + (size_t)z->V * (size_t)z->C, (size_t)z->B * (size_t)z->T, &work)
           && size_mul(work, parameters, &work) && work <= STEPS;
}

static vt_status right_by_step(op_case *c, vt_error *err)
{
    double _Complex *x = malloc(c->g.reals * sizeof *x);
    if (!x) return fail_memory(err, c->g.reals * sizeof *x, "a diagnosis");
    step_all(c, x);
    free(x);
    return VT_OK;
}

/* ---- the diagnosis ---------------------------------------------------------------- */

static void say(vt_op_diagnosis *out, const char *kind, const char *sentence, const char *hint)
{
    snprintf(out->kind, sizeof out->kind, "%s", kind);
    snprintf(out->sentence, sizeof out->sentence, "%.*s", (int)sizeof out->sentence - 1, sentence);
    snprintf(out->hint, sizeof out->hint, "%.*s", (int)sizeof out->hint - 1, hint);
}

static const char overflows[] = "nothing can be told of a model at such parameters: is the "
                                "checkpoint whole, did training diverge?";

/* A gradient that is a number, but none where it is computed in float or moved by a float's
 * rounding, has no bound. */
static bool no_bound(vt_op_diagnosis *out, const gradcheck_case *c, const gradcheck_grads *g)
{
    char why[200];
    for (size_t i = 0; i < c->ntensors; i++) {
        const gpt_tensor *t = &c->tensors[i];
        const bool bounded = !isnan(g->rounding[i]) && isfinite(g->shaken[i]);
        if (bounded || !isfinite(gradcheck_largest(g->hand + t->offset, t->count))) continue;
        snprintf(why, sizeof why, "the model overflows in float32, or where it is moved by as little as "
                 "float32 rounds: the gradient of %s has no bound", t->name);
        say(out, check_fault_name(CHECK_OUT_OF_DOMAIN), why, overflows);
        return true;
    }
    return false;
}

/* Numbers beyond what the precision holds explain everything, and are no fault of a
 * backward pass. */
static bool out_of_domain(vt_op_diagnosis *out, const op_case *c)
{
    char why[200];
    for (int i = 0; i < c->g.nin + c->g.nout; i++) {
        const bool gradient = i >= c->g.nout;
        const int t = gradient ? c->g.in[i - c->g.nout] : c->g.out[i];
        if (c->g.tensor[t].role >= GRAPH_INTEGERS) continue;
        if (diagnose_check(c, t, gradient, why, sizeof why) != CHECK_OUT_OF_DOMAIN) continue;
        say(out, check_fault_name(CHECK_OUT_OF_DOMAIN), why, overflows);
        return true;
    }
    return false;
}

static vt_status small_model(vt_op_diagnosis *out, const gradcheck_case *like, vt_error *err);

static vt_status explain(vt_op_diagnosis *out, const gradcheck_case *from, op_case *c,
                         const op_found *f, vt_error *err)
{
    diagnosis d;
    if (out_of_domain(out, c)) return VT_OK;
    vt_status s = diagnose(&d, c, f, err);
    if (s == VT_OK && d.kind == FAULT_NONE && c->p == PRECISION_F64) {
        if (!few_steps(c)) return small_model(out, from, err);
        s = right_by_step(c, err);
        if (s == VT_OK) s = diagnose(&d, c, f, err);
    }
    if (s) return s;
    if (d.kind == FAULT_NONE)
        return fail(err, VT_CHECK_FAILED, "no fault is seen: every entry agrees, within its bound, "
                    "with what the diagnosis takes to be right");
    say(out, fault_kind_name(d.kind), d.sentence, d.hint);
    snprintf(out->location, sizeof out->location, "%s", d.location);
    if (d.other != FAULT_NONE) snprintf(out->other, sizeof out->other, "%s", fault_kind_name(d.other));
    return VT_OK;
}

static vt_status diagnose_case(vt_op_diagnosis *out, const gradcheck_case *c,
                               const gradcheck_grads *g, precision p, vt_error *err)
{
    op_case as_op;
    op_found f = { .x = NULL };
    vt_status s = model_op_case(&as_op, c, g, p, err);
    if (s) return s;
    s = take(&f, &as_op, c, g, err);
    if (s == VT_OK) s = explain(out, c, &as_op, &f, err);
    op_found_free(&f);
    op_case_free(&as_op);
    return s;
}

/* A wrong definition is wrong in every model: where this one has too many entries for
 * complex step, a small random one is asked. */
static vt_status small_model(vt_op_diagnosis *out, const gradcheck_case *like, vt_error *err)
{
    enum { B = 2, T = 4, STREAM = 7 };
    const gpt_config z = { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11, .tied = like->z->tied };
    const size_t n = gpt_tensor_count(&z), count = gpt_parameter_count(&z);
    gpt_tensor *tensors = calloc(n, sizeof *tensors);
    float *params = calloc(count, sizeof *params);
    int ids[2 * B * T];
    char where[sizeof out->location];
    gradcheck_grads g = { .loss = 0 };
    rng r;
    vt_status s = VT_OK;
    if (!tensors || !params) {
        s = fail_memory(err, count * sizeof *params, "a small model");
        goto done;
    }
    rng_stream_seed(&r, 0, RNG_VERIFY, STREAM);
    gpt_tensor_list(&z, tensors);
    for (size_t i = 0; i < count; i++) params[i] = (float)(0.5 * rng_normal(&r));
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) ids[i] = (int)rng_integers(&r, 0, z.V - 1);
    ids[1] = ids[0];
    const gradcheck_case c = { .z = &z, .tensors = tensors, .ntensors = n, .params = params,
        .tokens = ids, .targets = ids + B * T, .B = B, .T = T, .kernels = like->kernels,
        .threads = like->threads };
    if ((s = gradcheck_compute(&g, &c, 0, err)) ||
        (s = diagnose_case(out, &c, &g, PRECISION_F64, err)))
        goto done;
    snprintf(where, sizeof where, "%s", out->location);
    snprintf(out->location, sizeof out->location, "in a small random model: %.*s",
             (int)sizeof where - 40, where);
done:
    gradcheck_free(&g);
    free(params);
    free(tensors);
    return s;
}

/* Whether it is the definitions' gradient that fails. */
static bool definitions_fail(const vt_check_report *r)
{
    bool fails = !(r->direction_budget_used <= 1);
    for (size_t i = 0; i < r->nrows; i++)
        fails = fails || !(r->rows[i].budget_used <= 1) || !(r->rows[i].differences_budget_used <= 1);
    return fails;
}

void model_diagnose(vt_check_report *report, const gradcheck_case *c, const gradcheck_grads *g)
{
    const bool definitions = definitions_fail(report);
    vt_error why;
    memset(&report->diagnosis, 0, sizeof report->diagnosis);
    report->diagnosed = NULL;
    if (!definitions && report->failed == 0) return;
    report->diagnosed = definitions ? "definitions" : report->isa;
    if (no_bound(&report->diagnosis, c, g)) return;
    const vt_status s = diagnose_case(&report->diagnosis, c, g,
                                      definitions ? PRECISION_F64 : PRECISION_F32, &why);
    if (s) say(&report->diagnosis, "", why.text, "");
}

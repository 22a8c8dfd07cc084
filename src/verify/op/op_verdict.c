/* op_verdict.c -- see op_verdict.h. */
#include "verify/op/op_verdict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "verify/differences.h"
#include "verify/op/op_judge.h"

typedef struct line {
    op_call         *call;
    const op_kernel *k;
    const double    *u;             /* the direction */
    const double    *v;             /* the cotangent */
    double          *x, *out;       /* x + s u; the outputs there */
    kernel_outcome  *ended;
    vt_error        *err;
    vt_status        status;
} line;

static double dot_outputs(const op_case *c, const double *v, const double *out)
{
    double sum = 0;
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t j = t->at; t->upstream && j < t->at + t->count; j++) sum += v[j] * out[j];
    }
    return sum;
}

/* <v, out(x + s u)>; NaN where the kernel did not end well. */
static double value_at(void *context, double s)
{
    line *l = context;
    const op_case *c = l->call->c;
    op_values v = op_values_of(c);
    if (l->status || !kernel_ended_well(l->ended)) return NAN;
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t j = t->at; t->role == GRAPH_INPUT && j < t->at + t->count; j++)
            l->x[j] = c->x[j] + s * l->u[j];
    }
    v.x = l->x;
    l->status = op_call_forward(l->call, l->k, &v, l->out, l->ended, l->err);
    return l->status || !kernel_ended_well(l->ended) ? NAN : dot_outputs(c, l->v, l->out);
}

/* Signs times the size of the tensor's entries. */
static void draw_direction(double *u, const op_case *c, uint64_t n)
{
    rng r;
    rng_stream_seed(&r, c->seed, RNG_VERIFY, n);
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        double squares = 0;
        if (t->role != GRAPH_INPUT) continue;
        for (size_t j = t->at; j < t->at + t->count; j++) squares += c->x[j] * c->x[j];
        const double size = squares > 0 ? sqrt(squares / (double)t->count) : 1;
        for (size_t j = t->at; j < t->at + t->count; j++)
            u[j] = rng_u64(&r) >> 63 ? size : -size;
    }
}

static void draw_cotangent(double *v, const op_case *c, uint64_t n)
{
    rng r;
    rng_stream_seed(&r, c->seed, RNG_VERIFY, n);
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t j = t->at; t->upstream && j < t->at + t->count; j++)
            v[j] = precision_round(c->p, rng_normal(&r));
    }
}

/* Signs are drawn, and the errors know nothing of them: a sum of n errors with such signs
 * is beyond this many times its root of squares once in 10^7 (Hoeffding 1963); and never
 * beyond the sum of sizes. */
enum { SIGMAS = 6 };

typedef struct error_sum { double squares, sizes; } error_sum;

static void add_error(error_sum *e, double size)
{
    e->squares = hypot(e->squares, size);
    e->sizes += fabs(size);
}

static double error_of(const error_sum *e)
{
    return fmin(SIGMAS * e->squares, e->sizes);
}

/* <dx - start, u>, and how far rounding may have taken it. */
static double dot_gradients(const op_case *c, const double *dx, const double *u, double *bound)
{
    double sum = 0;
    error_sum e = { 0, 0 };
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t j = t->at; t->role == GRAPH_INPUT && j < t->at + t->count; j++) {
            const double g = dx[j] - c->start[j];
            sum += g * u[j];
            add_error(&e, u[j] * (c->edx[j] + 0x1p-50 * (fabs(g) + fabs(c->start[j]))));
        }
    }
    *bound = error_of(&e);
    return sum;
}

/* The relative error of a value of the line: each output may be off by its bound. */
static double noise_of(const line *l, double value)
{
    const op_case *c = l->call->c;
    error_sum e = { 0, 0 };
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t j = t->at; t->upstream && j < t->at + t->count; j++)
            add_error(&e, l->v[j] * (c->ex[j] + 0x1p-50 * fabs(c->x[j])));
    }
    return value != 0 ? error_of(&e) / fabs(value) : 0;
}

/* A difference that is known to this share of the value can tell a fault. */
static const double RESOLVED = 1e-3;
/* The bar is an estimate: where all outputs and gradients are within their bounds, and
 * the difference is what is left to doubt, it has to be beyond it by much. */
enum { BAR = 4, DOUBT = 32 };

/* `doubtful`: an output or a gradient is beyond its bound. */
static void decide(vt_op_row *row, const differences *d, double found, double bound, bool doubtful)
{
    const double bar = BAR * (doubtful ? 1 : DOUBT) * d->bar + bound;
    row->expected = d->value;
    row->found = found;
    row->bound = bar;
    if (d->verdict == DIFFERENCES_UNDEFINED || d->verdict == DIFFERENCES_NOT_SMOOTH ||
        !(bar <= RESOLVED * fmax(fabs(d->value), fabs(found)))) {
        row->result = VT_ROW_UNDECIDED;
        op_row_note(row, "%s", d->verdict == DIFFERENCES_FINE
                                   ? differences_words(DIFFERENCES_NO_RESOLUTION)
                                   : differences_words(d->verdict));
        return;
    }
    row->budget_used = fabs(found - d->value) / bar;
    row->compared = 1;
    row->failed = !(row->budget_used <= 1);
    row->result = row->failed ? VT_ROW_FAIL : VT_ROW_PASS;
    op_row_note(row, row->failed ? "the backward pass is not that of the kernel's own forward pass"
                                 : "the backward pass is that of the kernel's own forward pass");
}

static vt_status one(vt_op_case *out, const char *name, line *l, const double *dx, vt_error *err)
{
    vt_status s;
    double bound;
    const double at = value_at(l, 0);
    const differences_function f = { .at = value_at, .context = l, .noise = noise_of(l, at),
                                     .scale = 1 };
    const differences d = differences_adaptive(&f, 0);
    if (l->status || !kernel_ended_well(l->ended)) return l->status;
    const double found = dot_gradients(l->call->c, dx, l->u, &bound);
    const bool doubtful = op_judge_first(out) != NULL;
    vt_op_row *row = op_row(out, name, VT_ROW_VERDICT, &s, err);
    if (!row) return s;
    row->of = 1;
    decide(row, &d, found, bound, doubtful);
    return VT_OK;
}

static vt_status no_digits(vt_op_case *out, const char *name, vt_error *err)
{
    vt_status s;
    vt_op_row *row = op_row(out, name, VT_ROW_VERDICT, &s, err);
    if (!row) return s;
    row->of = 1;
    row->result = VT_ROW_UNDECIDED;
    op_row_note(row, "no resolution: differences need more digits than float32 has");
    return VT_OK;
}

/* Both passes again, with the cotangent l->v as upstream gradient. */
static vt_status other_upstream(vt_op_case *out, line *l, double *dx, vt_error *err)
{
    op_case again = { .ints = NULL };
    op_values values = op_values_of(l->call->c);
    values.dout = l->v;
    vt_status s = op_call_forward(l->call, l->k, &values, l->out, l->ended, err);
    if (s == VT_OK && kernel_ended_well(l->ended))
        s = op_call_backward(l->call, l->k, &values, dx, l->ended, err);
    if (s || !kernel_ended_well(l->ended)) return s;
    s = op_case_again(&again, l->call->c, l->v, err);
    if (s == VT_OK) s = op_judge_again(out, &again, dx, err);
    op_case_again_free(&again);
    return s;
}

vt_status op_verdict_judge(vt_op_case *out, op_call *call, const op_kernel *k, const op_found *f,
                           kernel_outcome *ended, vt_error *err)
{
    const op_case *c = call->c;
    const size_t n = c->g.reals + 1;
    const bool digits = c->p == PRECISION_F64;
    if (call->passes != VT_KERNEL_FORWARD + VT_KERNEL_BACKWARD) return VT_OK;
    double *block = calloc(5 * n, sizeof *block);
    if (!block) return fail_memory(err, 5 * n * sizeof *block, "differences");
    double *u = block, *v = block + n, *dx = block + 2 * n;
    line l = { .call = call, .k = k, .u = u, .v = c->dout, .x = block + 3 * n,
               .out = block + 4 * n, .ended = ended, .err = err };
    draw_direction(u, c, 4002);
    vt_status s = digits ? one(out, "own forward", &l, f->dx, err)
                         : no_digits(out, "own forward", err);
    if (s || !kernel_ended_well(ended)) goto done;
    draw_direction(u, c, 4003);
    draw_cotangent(v, c, 4004);
    l.v = v;
    s = other_upstream(out, &l, dx, err);
    if (s || !kernel_ended_well(ended)) goto done;
    s = digits ? one(out, "adjoint", &l, dx, err) : no_digits(out, "adjoint", err);
done:
    free(block);
    return s;
}

/* op_verdict.c -- see op_verdict.h. */
#include "verify/op_verdict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "verify/differences.h"
#include "verify/op_judge.h"

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

static bool ended_well(const kernel_outcome *o)
{
    return o->end == KERNEL_OK || o->end == KERNEL_OVERWROTE;
}

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
    if (l->status || !ended_well(l->ended)) return NAN;
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t j = t->at; t->role == GRAPH_INPUT && j < t->at + t->count; j++)
            l->x[j] = c->x[j] + s * l->u[j];
    }
    v.x = l->x;
    l->status = op_call_forward(l->call, l->k, &v, l->out, l->ended, l->err);
    return l->status || !ended_well(l->ended) ? NAN : dot_outputs(c, l->v, l->out);
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

/* <dx - start, u>, and how far rounding may have taken it. */
static double dot_gradients(const op_case *c, const double *dx, const double *u, double *bound)
{
    double sum = 0;
    *bound = 0;
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t j = t->at; t->role == GRAPH_INPUT && j < t->at + t->count; j++) {
            const double g = dx[j] - c->start[j];
            sum += g * u[j];
            *bound += fabs(u[j]) * (c->edx[j] + 0x1p-50 * (fabs(g) + fabs(c->start[j])));
        }
    }
    return sum;
}

/* The relative error of a value of the line: each output may be off by its bound. */
static double noise_of(const line *l, double value)
{
    const op_case *c = l->call->c;
    double sum = 0;
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t j = t->at; t->upstream && j < t->at + t->count; j++)
            sum += fabs(l->v[j]) * (c->ex[j] + 0x1p-50 * fabs(c->x[j]));
    }
    return value != 0 ? sum / fabs(value) : 0;
}

/* A difference that is known to this share of the value can tell a fault. */
static const double RESOLVED = 1e-3;

/* `doubtful`: an output or a gradient is beyond its bound.  Where none is, the kernel is
 * right, and differences that disagree are what went wrong: their bar is an estimate. */
static void decide(vt_op_row *row, const differences *d, double found, double bound, bool doubtful)
{
    const double bar = 4 * d->bar + bound;      /* the bar is an estimate */
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
    if (row->failed && !doubtful) {
        row->failed = 0;
        row->result = VT_ROW_UNDECIDED;
        op_row_note(row, "differences disagree, but all that was computed is within its bound");
        return;
    }
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
    if (l->status || !ended_well(l->ended)) return l->status;
    const double found = dot_gradients(l->call->c, dx, l->u, &bound);
    const bool doubtful = op_judge_first(out) != NULL;
    vt_op_row *row = op_row(out, name, VT_ROW_VERDICT, &s, err);
    if (!row) return s;
    row->of = 1;
    decide(row, &d, found, bound, doubtful);
    return VT_OK;
}

static vt_status in_float32(vt_op_case *out, vt_error *err)
{
    static const char *const names[] = { "own forward", "adjoint" };
    for (size_t i = 0; i < 2; i++) {
        vt_status s;
        vt_op_row *row = op_row(out, names[i], VT_ROW_VERDICT, &s, err);
        if (!row) return s;
        row->of = 1;
        row->result = VT_ROW_UNDECIDED;
        op_row_note(row, "no resolution: differences need more digits than float32 has");
    }
    return VT_OK;
}

vt_status op_verdict_judge(vt_op_case *out, op_call *call, const op_kernel *k, const op_found *f,
                           kernel_outcome *ended, vt_error *err)
{
    const op_case *c = call->c;
    const size_t n = c->g.reals + 1;
    if (call->passes != VT_KERNEL_FORWARD + VT_KERNEL_BACKWARD) return VT_OK;
    if (c->p != PRECISION_F64) return in_float32(out, err);
    double *block = calloc(5 * n, sizeof *block);
    if (!block) return fail_memory(err, 5 * n * sizeof *block, "differences");
    double *u = block, *v = block + n, *dx = block + 2 * n;
    line l = { .call = call, .k = k, .u = u, .v = c->dout, .x = block + 3 * n,
               .out = block + 4 * n, .ended = ended, .err = err };
    draw_direction(u, c, 4002);
    vt_status s = one(out, "own forward", &l, f->dx, err);
    if (s || !ended_well(ended)) goto done;

    op_values values = op_values_of(c);
    draw_direction(u, c, 4003);
    draw_cotangent(v, c, 4004);
    l.v = values.dout = v;
    s = op_call_forward(call, k, &values, l.out, ended, err);
    if (s == VT_OK && ended_well(ended)) s = op_call_backward(call, k, &values, dx, ended, err);
    if (s == VT_OK && ended_well(ended)) s = one(out, "adjoint", &l, dx, err);
done:
    free(block);
    return s;
}

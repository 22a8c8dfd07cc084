/* grade_trial.c -- see grade_trial.h. */
#include "lab/grade_trial.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"

enum { DRAWN = 2 };

/* ---- cases ------------------------------------------------------------------ */

static size_t fixed_cases(const exercise *e)
{
    size_t n = 0;
    while (n < EXERCISE_CASES && (e->cases[n].N || e->cases[n].T)) n++;
    return n;
}

/* Case i; behind the fixed ones, sizes from 1 to 12. */
static exercise_sizes sizes_of(const grading *g, size_t i)
{
    if (i < fixed_cases(g->e)) return g->e->cases[i];
    exercise_sizes s = g->e->cases[0];
    rng r;
    rng_stream_seed(&r, g->seed, RNG_LAB, i);
    int *const size[] = { &s.N, &s.T, &s.H, &s.D, &s.C, &s.V };
    for (size_t k = 0; k < sizeof size / sizeof *size; k++)
        if (*size[k]) *size[k] = (int)rng_integers(&r, 1, 13);
    if (s.S) s.S = s.T + (int)rng_integers(&r, 0, 5);
    if (s.temperature > 0) s.temperature = rng_uniform(&r, 0.3, 3);
    return s;
}

static vt_status draw(op_case *c, const grading *g, size_t i, vt_error *err)
{
    const exercise_sizes s = sizes_of(g, i);
    const graph_sizes z = {
        .op = g->e->op, .causal = g->e->causal, .B = 1, .N = s.N, .T = s.T, .S = s.S ? s.S : s.T,
        .NH = s.H ? s.H : 1, .HS = s.D, .C = s.C, .V = s.V,
        .temperature = s.temperature > 0 ? s.temperature : 1,
    };
    return op_case_draw(c, &z, PRECISION_F64, s.scale > 0 ? s.scale : 1, g->seed + i, err);
}

vt_status trial_new(trial *t, const grading *g, size_t i, vt_error *err)
{
    *t = (trial){ .found = { .x = NULL } };
    const vt_status s = draw(&t->c, g, i, err);
    if (s) return s;
    const size_t reals = t->c.g.reals, tensors = (size_t)t->c.g.ntensors;
    t->found = (op_found){ .x = calloc(reals, sizeof(double)), .dx = calloc(reals, sizeof(double)),
                           .has_x = calloc(tensors, sizeof(bool)),
                           .has_dx = calloc(tensors, sizeof(bool)) };
    if (t->found.x && t->found.dx && t->found.has_x && t->found.has_dx) return VT_OK;
    return fail_memory(err, 2 * reals * sizeof(double), "a case");
}

void trial_free(trial *t)
{
    op_case_free(&t->c);
    free(t->found.x);
    free(t->found.dx);
    free(t->found.has_x);
    free(t->found.has_dx);
    *t = (trial){ .found = { .x = NULL } };
}

const graph_tensor *trial_tensor(const op_case *c, const exercise_tensor *t, int *number)
{
    *number = graph_find(&c->g, t->graph);
    assert(*number >= 0);               /* exercises.c names none that is not there */
    return &c->g.tensor[*number];
}

/* ---- one call --------------------------------------------------------------- */

typedef struct buffers {
    kernel_buffer in[EXERCISE_TENSORS], out[EXERCISE_TENSORS];
    kernel_buffer dout[EXERCISE_TENSORS], din[EXERCISE_TENSORS];
    size_t nin, nout;
} buffers;

static kernel_buffer reals_of(const char *name, double *block, const graph_tensor *t)
{
    return (kernel_buffer){ .name = name, .data = block + t->at, .count = t->count,
                            .element = sizeof(double) };
}

/* Where a call reads and writes: inputs and upstream in the case, results in `found`. */
static void make_buffers(buffers *b, const grading *g, trial *t)
{
    const exercise_function *f = g->f;
    op_case *c = &t->c;
    const kernel_buffer none = { .name = "", .element = sizeof(double) };
    int number;
    *b = (buffers){ .nin = 0 };
    for (; b->nin < EXERCISE_TENSORS && f->in[b->nin].name; b->nin++) {
        const exercise_tensor *in = &f->in[b->nin];
        const graph_tensor *at = trial_tensor(c, in, &number);
        b->in[b->nin] = at->role < GRAPH_INTEGERS
            ? reals_of(in->name, c->x, at)
            : (kernel_buffer){ .name = in->name, .data = c->ints + at->at, .count = at->count,
                               .element = sizeof(int) };
        b->din[b->nin] = in->gradient ? reals_of(in->gradient, t->found.dx, at) : none;
        if (in->gradient) t->found.has_dx[number] = true;
    }
    for (; b->nout < EXERCISE_TENSORS && f->out[b->nout].name; b->nout++) {
        const exercise_tensor *out = &f->out[b->nout];
        const graph_tensor *at = trial_tensor(c, out, &number);
        const bool forward = f->pass == VT_KERNEL_FORWARD;
        b->out[b->nout] = forward ? reals_of(out->name, t->found.x, at) : none;
        b->dout[b->nout] = reals_of(out->gradient, c->dout, at);
        if (forward) t->found.has_x[number] = true;
    }
    memcpy(t->found.dx, c->start, c->g.reals * sizeof *c->start);
}

vt_status trial_call(const grading *g, trial *t, vt_error *err)
{
    buffers b;
    const graph_sizes *z = &t->c.z;
    make_buffers(&b, g, t);
    const bool forward = g->f->pass == VT_KERNEL_FORWARD;
    const kernel_request r = {
        .symbol = g->symbol, .adapter = g->f->call,
        .call = { .op = z->op, .dtype = VT_KERNEL_F64, .pass = g->f->pass, .causal = z->causal,
                  .temperature = z->temperature, .N = (size_t)z->N, .C = (size_t)z->C,
                  .V = (size_t)z->V, .B = 1, .T = (size_t)z->T, .S = (size_t)z->S,
                  .NH = (size_t)z->NH, .HS = (size_t)z->HS, .nin = b.nin, .nout = b.nout,
                  .save_bytes = sizeof(double) },
        .in = b.in, .out = b.out, .dout = forward ? NULL : b.dout, .din = forward ? NULL : b.din,
    };
    return kernel_host_call(g->host, &r, &t->outcome, err);
}

const exercise_tensor *trial_results(const grading *g)
{
    return g->f->pass == VT_KERNEL_BACKWARD ? g->f->in : g->f->out;
}

bool trial_is_result(const grading *g, const exercise_tensor *e)
{
    return g->f->pass == VT_KERNEL_FORWARD || e->gradient;
}


double trial_expected(const grading *g, const trial *t, size_t at)
{
    return g->f->pass == VT_KERNEL_BACKWARD ? t->c.start[at] + t->c.dx[at] : t->c.x[at];
}

double trial_found(const grading *g, const trial *t, size_t at)
{
    return g->f->pass == VT_KERNEL_BACKWARD ? t->found.dx[at] : t->found.x[at];
}

double trial_bound(const grading *g, const trial *t, size_t at)
{
    return g->f->pass == VT_KERNEL_BACKWARD ? t->c.edx[at] : t->c.ex[at];
}

size_t trial_cases(const exercise *e)
{
    return fixed_cases(e) + DRAWN;
}

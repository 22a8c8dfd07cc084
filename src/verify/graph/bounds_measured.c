/* bounds_measured.c -- see bounds_measured.h. */
#include "verify/graph/bounds_measured.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "verify/graph/bounds.h"

enum { STREAM = 128, SAMPLES = 5 }; /* n of RNG_VERIFY */

typedef struct work {
    double *ex, *edx;                   /* what each node does by itself */
    double *x, *dx;                     /* with errors */
    double *r, *dr;                     /* [ntensors] */
    rng     random;
} work;

/* NaN is larger than all: then the derived bounds stay. */
static void raise(double *largest, double x)
{
    if (!(x <= *largest)) *largest = isnan(x) ? (double)INFINITY : x;
}

static bool measured(const graph_tensor *t)
{
    return t->role < GRAPH_INTEGERS && t->role != GRAPH_STAGE;
}

static void shake(work *w, double *block, const double *by, const graph_tensor *t)
{
    for (size_t k = t->at; k < t->at + t->count; k++)
        if (by[k] > 0) block[k] += rng_u32(&w->random) & 1 ? by[k] : -by[k];
}

static void sample(work *w, const op_case *c)
{
    const graph *g = &c->g;
    memcpy(w->x, c->x, g->reals * sizeof *w->x);
    for (size_t k = 0; k < g->reals; k++) w->dx[k] = c->dout[k];
    for (int i = 0; i < g->nnodes; i++) {
        graph_node_forward_f64(g, &g->node[i], w->x, c->ints);
        shake(w, w->x, w->ex, &g->tensor[g->node[i].out]);
    }
    for (int i = g->nnodes; i-- > 0;) {         /* its output's gradient is complete */
        shake(w, w->dx, w->edx, &g->tensor[g->node[i].out]);
        graph_node_backward_f64(g, &g->node[i], w->dx, w->x, c->ints);
    }
    for (int i = 0; i < g->ntensors; i++) {
        const graph_tensor *t = &g->tensor[i];
        if (!measured(t)) continue;
        if (t->role == GRAPH_INPUT) shake(w, w->dx, w->edx, t);
        for (size_t k = t->at; k < t->at + t->count; k++) {
            raise(&w->r[i], fabs(w->x[k] - c->x[k]));
            raise(&w->dr[i], fabs(w->dx[k] - c->dx[k]));
        }
    }
}

/* u: at which errors are measured; scale: what they are taken times. */
static void measure(work *w, const op_case *c, const double *start, double u, double scale)
{
    const double tiny = precision_tiny(c->p);
    bounds_alone_forward(&c->g, c->x, c->ints, u, tiny, w->ex);
    bounds_alone_backward(&c->g, c->dx, c->x, c->ints, start, u, tiny, w->ex, w->edx);
    for (int k = 0; k < SAMPLES; k++) sample(w, c);
    for (int i = 0; i < c->g.ntensors; i++) w->r[i] *= scale, w->dr[i] *= scale;
}

static vt_status narrow(const op_case *c, const double *start, double u, double scale,
                        uint64_t stream, double *ex, double *edx, vt_error *err)
{
    const size_t n = c->g.reals, nt = (size_t)c->g.ntensors;
    work w = { .x = calloc(n, sizeof *w.x), .dx = calloc(n, sizeof *w.dx),
               .ex = calloc(n, sizeof *w.ex), .edx = calloc(n, sizeof *w.edx),
               .r = calloc(nt, sizeof *w.r), .dr = calloc(nt, sizeof *w.dr) };
    vt_status status = VT_OK;
    if (!w.x || !w.dx || !w.ex || !w.edx || !w.r || !w.dr) {
        status = fail_memory(err, n * 32, "the bounds of a case");
        goto done;
    }
    rng_stream_seed(&w.random, c->seed, RNG_VERIFY, stream);
    measure(&w, c, start, u, scale);
    for (int i = 0; i < c->g.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[i];
        for (size_t k = t->at; measured(t) && k < t->at + t->count; k++) {
            ex[k] = fmin(ex[k], w.r[i]);
            edx[k] = fmin(edx[k], w.dr[i]);
        }
    }
done:
    free(w.x);
    free(w.dx);
    free(w.ex);
    free(w.edx);
    free(w.r);
    free(w.dr);
    return status;
}

/* In double the errors would drown in the definitions' own: they are measured larger. */
static const double LARGER = 0x1p-32;

vt_status bounds_measured(op_case *c, vt_error *err)
{
    const double u = precision_u(c->p);
    if (c->z.op != VT_OP_BLOCK && c->z.op != VT_OP_GPT) return VT_OK;
    return c->p == PRECISION_F64
               ? narrow(c, c->start, LARGER, 8 * u / LARGER, STREAM, c->ex, c->edx, err)
               : narrow(c, c->start, u, 4, STREAM, c->ex, c->edx, err);
}

vt_status bounds_measured_definitions(const op_case *c, double *ex, double *edx, vt_error *err)
{
    if (c->g.nnodes < 2) return VT_OK;
    return narrow(c, NULL, LARGER, 8 * 0x1p-53 / LARGER, STREAM + 1, ex, edx, err);
}

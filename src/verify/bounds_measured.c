/* bounds_measured.c -- see bounds_measured.h. */
#include "verify/bounds_measured.h"
#include <math.h>
#include <stdlib.h>
#include "base/rng.h"

enum { STREAM = 128, POINTS = 5 };  /* n of RNG_VERIFY; the first is the case itself */

typedef struct work {
    float  *x, *dx;                     /* the kernel's type, a float's at most */
    double *xd, *dxd;                   /* the same inputs, in double */
    double *r, *dr;                     /* [ntensors] */
    precision p;
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

static void round_tensor(const work *w, float *block, const graph *g, int tensor)
{
    if (tensor < 0 || g->tensor[tensor].role >= GRAPH_INTEGERS) return;
    const graph_tensor *t = &g->tensor[tensor];
    for (size_t k = t->at; k < t->at + t->count; k++)
        block[k] = (float)precision_round(w->p, (double)block[k]);
}

/* In float; of a narrower type each tensor is rounded to it, gradients after each node. */
static void run(const work *w, const op_case *c)
{
    const graph *g = &c->g;
    for (int i = 0; i < g->nnodes; i++) {
        graph_node_forward_f32(g, &g->node[i], w->x, c->ints);
        if (w->p == PRECISION_F32) continue;
        round_tensor(w, w->x, g, g->node[i].out);
        if (g->node[i].kind == GRAPH_ATTENTION) round_tensor(w, w->x, g, g->node[i].stage[0]);
    }
    for (int i = g->nnodes; i-- > 0;) {
        graph_node_backward_f32(g, &g->node[i], w->dx, w->x, c->ints);
        for (int k = 0; k < GRAPH_INS && w->p != PRECISION_F32; k++)
            round_tensor(w, w->dx, g, g->node[i].in[k]);
    }
}

static void measure(const work *w, const op_case *c, int point, rng *r)
{
    const graph *g = &c->g;
    const double ulp = 2 * precision_u(w->p);
    for (size_t k = 0; k < g->reals; k++) {
        w->x[k] = 0;
        w->dxd[k] = c->dout[k] + c->start[k];
        w->dx[k] = (float)w->dxd[k];
        w->dxd[k] = (double)w->dx[k];           /* double's own start is no float */
    }
    for (int i = 0; i < g->ntensors; i++) {
        const graph_tensor *t = &g->tensor[i];
        for (size_t k = t->at; t->role == GRAPH_INPUT && k < t->at + t->count; k++) {
            const double step = point ? (double)rng_integers(r, -1, 2) * ulp : 0;
            w->x[k] = (float)precision_round(w->p, c->x[k] * (1 + step));
            w->xd[k] = (double)w->x[k];
        }
    }
    run(w, c);
    graph_forward_f64(g, w->xd, c->ints, 0);
    graph_backward_f64(g, w->dxd, w->xd, c->ints);
    for (int i = 0; i < g->ntensors; i++) {
        const graph_tensor *t = &g->tensor[i];
        for (size_t k = t->at; measured(t) && k < t->at + t->count; k++) {
            raise(&w->r[i], fabs((double)w->x[k] - w->xd[k]));
            raise(&w->dr[i], fabs((double)w->dx[k] - w->dxd[k]));
        }
    }
}

/* The largest scaled score of all attention. */
static double largest_score(const op_case *c)
{
    double s = 0;
    for (int i = 0; i < c->g.nnodes; i++) {
        const graph_node *n = &c->g.node[i];
        if (n->kind != GRAPH_ATTENTION) continue;
        const graph_tensor *t = &c->g.tensor[n->stage[n->in[3] < 0 ? 2 : 1]];
        for (size_t k = t->at; k < t->at + t->count; k++) raise(&s, fabs(c->x[k]));
    }
    return s;
}

static void narrow(const work *w, op_case *c)
{
    const double u = precision_u(c->p), s = largest_score(c);
    const double scaled = u / precision_u(w->p), factor = scaled < 1 ? 64 : 8;
    for (int i = 0; i < c->g.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[i];
        double x = 0, dx = 0;
        if (!measured(t)) continue;
        for (size_t k = t->at; k < t->at + t->count; k++) {
            raise(&x, fabs(c->x[k]));
            raise(&dx, fabs(c->dx[k]) + fabs(c->start[k]));
        }
        const double ex = factor * (w->r[i] * scaled + u * x * (1 + s));
        const double edx = factor * (w->dr[i] * scaled + u * dx * (1 + s));
        for (size_t k = t->at; k < t->at + t->count; k++) {
            c->ex[k] = fmin(c->ex[k], ex);
            c->edx[k] = fmin(c->edx[k], edx);
        }
    }
}

vt_status bounds_measured(op_case *c, vt_error *err)
{
    const size_t n = c->g.reals, nt = (size_t)c->g.ntensors;
    work w = { .x = calloc(n, sizeof *w.x), .dx = calloc(n, sizeof *w.dx),
               .xd = calloc(n, sizeof *w.xd), .dxd = calloc(n, sizeof *w.dxd),
               .r = calloc(nt, sizeof *w.r), .dr = calloc(nt, sizeof *w.dr),
               .p = c->p == PRECISION_F64 ? PRECISION_F32 : c->p };
    vt_status status = VT_OK;
    rng r;
    if (!w.x || !w.dx || !w.xd || !w.dxd || !w.r || !w.dr) {
        status = fail_memory(err, n * 24, "the bounds of a case");
        goto done;
    }
    rng_stream_seed(&r, c->seed, RNG_VERIFY, STREAM);
    for (int point = 0; point < POINTS; point++) measure(&w, c, point, &r);
    narrow(&w, c);
done:
    free(w.x);
    free(w.dx);
    free(w.xd);
    free(w.dxd);
    free(w.r);
    free(w.dr);
    return status;
}

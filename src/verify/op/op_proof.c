/* op_proof.c -- the definitions, proven in the run that uses them: op_judge_definitions of
 * op_judge.h.
 *
 *     df/dx = Im f(x + ih) / h,   h = 1e-30        (Squire, Trapp 1998)
 *
 * subtracts nothing, so it is right to rounding, and it needs no backward pass.  A small
 * case is proven entry by entry.  A large one along one direction over all inputs: signs
 * that are drawn, times a weight w of each tensor that makes its gradient as large as
 * another's, or a tensor of small gradients would be proven by nothing.
 *
 * Bounds.  e, of each entry: how far rounding in double may take its gradient from the
 * exact one, derived (bounds.h), of graphs of several nodes measured (bounds_measured.h);
 * PROOF_SLACK e, since the complex step rounds, too, in products of complex numbers and
 * in another order.  Signs are random and the errors know nothing of them: along the
 * direction the bound is
 *
 *     PROOF_SLACK sqrt(sum (w e)^2)
 *
 * A plain sum would grow with the number of entries until a wrong gradient fits.  A bound
 * that is more than RESOLVED of the gradients' own root of squares proves nothing, and
 * the row says so: undecided.
 */
#include "verify/op/op_judge.h"
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "base/rng.h"
#include "verify/graph/bounds.h"
#include "verify/graph/bounds_measured.h"

enum { PROOF_SLACK = 16, PROOF_WORK = 20 * 1000 * 1000 };
static const double STEP = 1e-30, RESOLVED = 1e-6;

typedef struct proof {
    const op_case *c;
    double _Complex *x;
    double *ex, *edx;               /* bounds in double, of dx without `start` */
    double  size, bound;            /* roots of sums of squares: of the gradients and of
                                       their bounds, times the weights */
    double  lost;                   /* gradients that the step cannot show */
} proof;

/* Below this the step times the gradient is subnormal, and its digits are lost; on the
 * way there each part was multiplied by values and upstream gradients. */
static double lost_in_step(const op_case *c)
{
    double most = 1;
    for (size_t i = 0; i < c->g.reals; i++) {
        if (isfinite(c->x[i])) most = fmax(most, fabs(c->x[i]));        /* masked scores: -inf */
        if (isfinite(c->dout[i])) most = fmax(most, fabs(c->dout[i]));
    }
    return DBL_MIN / STEP * (double)c->g.reals * most;
}

/* <dout, d out> along what stands in x's imaginary parts. */
static double derivative(const proof *p)
{
    const op_case *c = p->c;
    double sum = 0;
    graph_forward_c128(&c->g, p->x, c->ints, 0);
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t j = t->at; t->upstream && j < t->at + t->count; j++)
            sum += c->dout[j] * (cimag(p->x[j]) / STEP);
    }
    return sum;
}

/* Root of the mean of squares. */
static double mean_size(const double *x, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += x[i] * x[i];
    return sqrt(squares / (double)n);
}

/* A power of two, so that products with it are exact, that takes the tensor's gradient to
 * `most`; less where that would make its rounding large, or the step. */
static double weight_of(const proof *p, const graph_tensor *t, double most)
{
    const double size = fmax(mean_size(p->c->dx + t->at, t->count),
                             mean_size(p->edx + t->at, t->count) * 1e9);
    int e = 0;
    if (!(size > 0) || !isfinite(most / size)) return 1;
    frexp(most / size, &e);
    return ldexp(1, e < 0 ? 0 : e > 40 ? 40 : e);
}

static double largest_mean(const op_case *c)
{
    double most = 0;
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        if (t->role == GRAPH_INPUT) most = fmax(most, mean_size(c->dx + t->at, t->count));
    }
    return most;
}

static void add_size(proof *p, size_t j, double weight)
{
    p->size = hypot(p->size, weight * p->c->dx[j]);
    p->bound = hypot(p->bound, weight * (PROOF_SLACK * p->edx[j] + p->lost +
                                         0x1p-52 * fabs(p->c->dx[j])));
}

static void prove_entries(vt_op_row *row, proof *p)
{
    const op_case *c = p->c;
    row->kind = VT_ROW_GRADIENT;            /* the index is a gradient's */
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t j = t->at; t->role == GRAPH_INPUT && j < t->at + t->count; j++) {
            const double _Complex kept = p->x[j];
            p->x[j] = kept + I * STEP;
            op_row_meet(row, t, j - t->at, derivative(p), c->dx[j],
                        PROOF_SLACK * p->edx[j] + p->lost);
            p->x[j] = kept;
            add_size(p, j, 1);
        }
    }
    row->kind = VT_ROW_VERDICT;
    op_row_note(row, "every entry against complex step");
}

static void prove_direction(vt_op_row *row, proof *p)
{
    const op_case *c = p->c;
    const double most = largest_mean(c);
    double found = 0;
    rng r;
    rng_stream_seed(&r, c->seed, RNG_VERIFY, 4001);
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        if (t->role != GRAPH_INPUT) continue;
        const double weight = weight_of(p, t, most);
        for (size_t j = t->at; j < t->at + t->count; j++) {
            const double u = rng_u64(&r) >> 63 ? weight : -weight;
            p->x[j] += I * (u * STEP);
            found += u * c->dx[j];
            add_size(p, j, weight);
        }
    }
    row->expected = derivative(p);
    row->found = found;
    row->bound = p->bound;
    row->budget_used = op_share(row->expected, found, p->bound);
    row->compared = 1;
    row->of = 1;
    row->failed = !(row->budget_used <= 1);
    op_row_note(row, "one direction over all inputs against complex step");
}

static size_t entries_of(const op_case *c)
{
    size_t n = 0;
    for (int i = 0; i < c->g.nin; i++)
        if (c->g.tensor[c->g.in[i]].role == GRAPH_INPUT) n += c->g.tensor[c->g.in[i]].count;
    return n;
}

/* Multiplications of one forward pass, about. */
static double work_of(const graph *g)
{
    double work = 0;
    for (int i = 0; i < g->nnodes; i++) {
        const graph_node *n = &g->node[i];
        work += n->kind == GRAPH_LINEAR ? (double)n->N * n->C * n->OC
              : n->kind == GRAPH_ATTENTION ? 2.0 * n->B * n->NH * n->T * n->S * n->HS
              : 4.0 * (double)g->tensor[n->out].count;
    }
    return work + (double)g->reals;
}

static void end_proof(vt_op_row *row, const proof *p)
{
    row->result = row->failed ? VT_ROW_FAIL : VT_ROW_PASS;
    if (row->failed) {
        op_row_note(row, "the definitions themselves differ from complex step");
        return;
    }
    if (p->bound <= RESOLVED * p->size) return;
    row->result = VT_ROW_UNDECIDED;
    op_row_note(row, "no resolution: gradients up to %.3g, their rounding in double up to %.3g",
                p->size, p->bound);
}

vt_status op_judge_definitions(vt_op_case *out, const op_case *c, bool quick, vt_error *err)
{
    const size_t n = c->g.reals, entries = entries_of(c);
    proof p = { .c = c, .x = calloc(n, sizeof *p.x), .ex = calloc(n, sizeof *p.ex),
                .edx = calloc(n, sizeof *p.edx) };
    vt_status s = VT_OK;
    vt_op_row *row = NULL;
    if (!p.x || !p.ex || !p.edx) s = fail_memory(err, 4 * n * sizeof(double), "the complex step");
    if (s == VT_OK) {
        bounds_forward(&c->g, c->x, c->ints, 0x1p-53, 0, p.ex);
        bounds_backward(&c->g, c->dx, c->x, c->ints, NULL, 0x1p-53, 0, p.ex, p.edx);
        s = bounds_measured_definitions(c, p.ex, p.edx, err);
    }
    if (s == VT_OK) row = op_row(out, "definitions", VT_ROW_VERDICT, &s, err);
    if (row) {
        for (size_t i = 0; i < n; i++) p.x[i] = c->x[i];
        p.lost = lost_in_step(c);
        row->of = entries;
        if (!quick && (double)entries * work_of(&c->g) <= PROOF_WORK) prove_entries(row, &p);
        else prove_direction(row, &p);
        end_proof(row, &p);
    }
    free(p.x);
    free(p.ex);
    free(p.edx);
    return s;
}

/* test_bounds.c -- the budgets: no correct kernel is ever beyond its bound, and a bound is
 * not so wide that it would hide something.
 *
 * Correct kernels are the definitions in float, in double (against _Float128) and with
 * every tensor rounded to bfloat16; and, written here, what bounds.h says that a kernel
 * may do: a running softmax from the last key to the first, probabilities made again from
 * lse in base e and base 2, D = sum do o, Welford's variance, layer norm with the mean
 * taken off last, the logistic form of GELU.  Sizes 1 .. 17, scales 1e-4 .. 1e4.
 */
#include "verify/op_case.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "support.h"

enum { OPS = VT_OP_LAB + 1 };

/* How much of the bounds was used. */
typedef struct used { double worst, total; size_t n; } used;

static void compare(used *s, const op_case *c, size_t i, double found, double want, double bound,
                    const char *what)
{
    const double off = fabs(found - want);
    if (!(off <= bound)) {
        char place[96] = "?";
        for (int k = 0; k < c->g.ntensors; k++) {
            const graph_tensor *t = &c->g.tensor[k];
            if (t->role < GRAPH_INTEGERS && i >= t->at && i < t->at + t->count)
                graph_index(place, sizeof place, t, i - t->at);
        }
        const graph_sizes *z = &c->z;
        fail_msg("%s, %s, seed %llu, scale %g: %s%s is %.17g, expected %.17g: off by %.3g, bound %.3g\n"
                 "N %d C %d OC %d V %d B %d T %d S %d NH %d HS %d FF %d L %d causal %d masked %d temperature %g",
                 graph_op_name(z->op), precision_name(c->p), (unsigned long long)c->seed, c->scale,
                 what, place, found, want, off, bound, z->N, z->C, z->OC, z->V, z->B, z->T, z->S,
                 z->NH, z->HS, z->FF, z->L, z->causal, z->masked, z->temperature);
    }
    if (bound > 0) {
        s->worst = fmax(s->worst, off / bound);
        s->total += off / bound;
    }
    s->n++;
}

static void report(const used s[OPS], const char *what)
{
    for (int op = 1; op < OPS; op++)
        if (s[op].n)
            print_message("# %-22s %-12s %9zu compared, worst uses %.4f of its bound, mean %.5f\n", what,
                          graph_op_name(op), s[op].n, s[op].worst, s[op].total / (double)s[op].n);
}

/* ---- cases ------------------------------------------------------------------------- */

/* Sizes 1 .. 17 (a model's smaller), a scale of 1e-4 .. 1e4. */
static void random_sizes(graph_sizes *z, double *scale, int op, rng *r)
{
    const bool whole = op == VT_OP_BLOCK || op == VT_OP_GPT;
    const int most = whole ? 7 : 17;
    *z = (graph_sizes){ .op = op };
    int *const size[] = { &z->N, &z->C, &z->OC, &z->V, &z->T, &z->S, &z->FF, &z->HS };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) *size[i] = (int)rng_integers(r, 1, most + 1);
    z->B = (int)rng_integers(r, 1, 4);
    z->NH = (int)rng_integers(r, 1, 4);
    z->L = (int)rng_integers(r, 1, 3);
    z->causal = rng_u32(r) & 1;
    z->masked = rng_u32(r) & 1;
    z->temperature = rng_u32(r) & 1 ? 1 : rng_uniform(r, 0.3, 3);
    if (z->S < z->T && (whole || (z->causal && !z->masked))) z->S = z->T;
    *scale = pow(10, rng_uniform(r, -4, 4));
}

/* Compares outputs, and the gradients of inputs.  x, dx: what was found. */
static void compare_all(used *s, const op_case *c, const double *x, const double *dx)
{
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t k = t->at; k < t->at + t->count; k++) compare(s, c, k, x[k], c->x[k], c->ex[k], "");
    }
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        if (t->role != GRAPH_INPUT) continue;
        for (size_t k = t->at; k < t->at + t->count; k++)
            compare(s, c, k, dx[k], c->start[k] + c->dx[k], c->edx[k], "d");
    }
}

/* ---- the definitions in float, and with tensors in bfloat16 -------------------------- */

static void round_tensor(float *x, const graph *g, int tensor, precision p)
{
    if (tensor < 0) return;
    const graph_tensor *t = &g->tensor[tensor];
    for (size_t k = t->at; k < t->at + t->count; k++) x[k] = (float)precision_round(p, (double)x[k]);
}

static void float_case(used *s, const op_case *c)
{
    const graph *g = &c->g;
    float *x = malloc(g->reals * sizeof *x), *dx = malloc(g->reals * sizeof *dx);
    double *xd = malloc(g->reals * sizeof *xd), *dxd = malloc(g->reals * sizeof *dxd);
    assert_true(x && dx && xd && dxd);
    for (size_t k = 0; k < g->reals; k++) x[k] = NAN, dx[k] = (float)(c->start[k] + c->dout[k]);
    for (int i = 0; i < g->ntensors; i++)
        for (size_t k = g->tensor[i].at; g->tensor[i].role == GRAPH_INPUT && k < g->tensor[i].at + g->tensor[i].count; k++)
            x[k] = (float)c->x[k];
    for (int i = 0; i < g->nnodes; i++) {
        graph_node_forward_f32(g, &g->node[i], x, c->ints);
        if (c->p == PRECISION_BF16) round_tensor(x, g, g->node[i].out, c->p);
        if (c->p == PRECISION_BF16 && g->node[i].kind == GRAPH_ATTENTION) round_tensor(x, g, g->node[i].stage[0], c->p);
    }
    for (int i = g->nnodes; i-- > 0;) {
        graph_node_backward_f32(g, &g->node[i], dx, x, c->ints);
        for (int k = 0; k < GRAPH_INS && c->p == PRECISION_BF16; k++)
            if (g->node[i].in[k] >= 0 && g->tensor[g->node[i].in[k]].role < GRAPH_INTEGERS)
                round_tensor(dx, g, g->node[i].in[k], c->p);
    }
    for (size_t k = 0; k < g->reals; k++) xd[k] = (double)x[k], dxd[k] = (double)dx[k];
    compare_all(s, c, xd, dxd);
    free(x);
    free(dx);
    free(xd);
    free(dxd);
}

static void many(precision p, int cases, double floor, const char *what)
{
    used s[OPS] = { { 0 } };
    size_t drawn = 0;
    for (int op = 1; op < OPS; op++)
    for (int i = 0; i < cases; i++, drawn++) {
        graph_sizes z;
        op_case c;
        double scale;
        rng r;
        rng_stream_seed(&r, (uint64_t)i, RNG_VERIFY, (uint64_t)(32 + op));
        random_sizes(&z, &scale, op, &r);
        assert_ok(op_case_draw(&c, &z, p, scale, (uint64_t)i, &test_error));
        float_case(&s[op], &c);
        op_case_free(&c);
    }
    report(s, what);
    assert_int_equal(drawn, (OPS - 1) * cases);
    for (int op = 1; op < OPS; op++) {
        assert_true(s[op].n >= (size_t)cases * 2);
        assert_true(s[op].worst > floor);
    }
}

static void float_within_bounds(void **state)
{
    (void)state;
    many(PRECISION_F32, 400, 1e-3, "float32");
}

static void bfloat16_within_bounds(void **state)
{
    (void)state;
    many(PRECISION_BF16, 150, 1e-3, "bfloat16");
}

/* ---- the definitions in double against _Float128 --------------------------------------- */

#if VT_FLOAT128
static void quad_case(used *s, const op_case *c)
{
    const graph *g = &c->g;
    _Float128 *x = calloc(g->reals, sizeof *x), *dx = calloc(g->reals, sizeof *dx);
    double *found = calloc(g->reals, sizeof *found), *bounds = calloc(g->reals, sizeof *bounds);
    op_case quad = *c;
    assert_true(x && dx && found && bounds);
    for (size_t k = 0; k < g->reals; k++) {
        dx[k] = (_Float128)c->dout[k];
        found[k] = c->start[k] + c->dout[k];
        if (c->ex[k] == 0) x[k] = (_Float128)c->x[k];       /* inputs */
    }
    graph_forward_f128(g, x, c->ints, 0);
    graph_backward_f128(g, dx, x, c->ints);
    graph_backward_f64(g, found, c->x, c->ints);
    /* The difference is what counts; it may be far below a double's last digit. */
    for (size_t k = 0; k < g->reals; k++) {
        bounds[k] = c->edx[k] / 2;                          /* of one side */
        found[k] = (double)((_Float128)found[k] - ((_Float128)c->start[k] + dx[k]));
    }
    double *ex = calloc(g->reals, sizeof *ex), *off = calloc(g->reals, sizeof *off);
    double *zero = calloc(g->reals, sizeof *zero);
    assert_true(ex && off && zero);
    for (size_t k = 0; k < g->reals; k++) ex[k] = c->ex[k] / 2, off[k] = (double)((_Float128)c->x[k] - x[k]);
    quad.x = quad.dx = quad.start = zero;
    quad.ex = ex;
    quad.edx = bounds;
    compare_all(s, &quad, off, found);
    free(x);
    free(dx);
    free(found);
    free(bounds);
    free(ex);
    free(off);
    free(zero);
}

static void double_within_bounds(void **state)
{
    (void)state;
    used s[OPS] = { { 0 } };
    enum { CASES = 60 };
    for (int op = 1; op < OPS; op++)
    for (int i = 0; i < CASES; i++) {
        graph_sizes z;
        op_case c;
        double scale;
        rng r;
        rng_stream_seed(&r, (uint64_t)i, RNG_VERIFY, (uint64_t)(48 + op));
        random_sizes(&z, &scale, op, &r);
        assert_ok(op_case_draw(&c, &z, PRECISION_F64, scale, (uint64_t)i, &test_error));
        quad_case(&s[op], &c);
        op_case_free(&c);
    }
    report(s, "float64");
    for (int op = 1; op < OPS; op++) assert_true(s[op].n >= CASES && s[op].worst > 1e-3);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_within_bounds),
        cmocka_unit_test(bfloat16_within_bounds),
#if VT_FLOAT128
        cmocka_unit_test(double_within_bounds),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* adjoint.c -- see adjoint.h. */
#include "verify/model/adjoint.h"
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "verify/model/check_passes.h"

#define STEP 1e-30

/* A run of numbers that share a bound: the part's input, or one of its tensors. */
typedef struct piece {
    size_t first, count;        /* in the adjoint's arrays */
    size_t offset;              /* in the parameters */
    bool   input;
} piece;

typedef struct sides {
    const gradcheck_case *c;
    int part;
    size_t in, out;             /* numbers of its input and output */
    piece *pieces;
    size_t npieces;
    check_model_c128 complex_;
    check_model_f64  real;
    check_model_f32  single;
    double *v;                  /* (out) */
    double *at;                 /* (n): input and parameters, values of floats */
    double *grads, *dx;         /* of parameters, of the input */
    float  *grads32, *dx32;
} sides;

static bool belongs(const gradcheck_case *c, int part, size_t k)
{
    const gpt_tensor *t = &c->tensors[k];
    if (k < 2) return part < 0 || (k == 0 && part == c->z->L && c->z->tied);
    return t->layer >= 0 ? t->layer == part : part == c->z->L;
}

static size_t lay_out(sides *s)
{
    size_t n = s->in;
    s->npieces = 0;
    if (s->in > 0) s->pieces[s->npieces++] = (piece){ .count = s->in, .input = true };
    for (size_t k = 0; k < s->c->ntensors; k++) {
        const gpt_tensor *t = &s->c->tensors[k];
        if (!belongs(s->c, s->part, k)) continue;
        s->pieces[s->npieces++] = (piece){ .first = n, .count = t->count, .offset = t->offset };
        n += t->count;
    }
    return n;
}

/* The models of all parts: those are to be taken from the last to the first, since one
 * leaves other numbers in its input and above it, and none below. */
static vt_status open_sides(sides *s, const gradcheck_case *c, vt_error *err)
{
    const size_t N = (size_t)c->B * (size_t)c->T, count = gpt_parameter_count(c->z);
    const size_t C = N * (size_t)c->z->C, V = N * (size_t)c->z->V;
    *s = (sides){ .c = c };
    vt_status status = check_model_new_c128(&s->complex_, c, false, err);
    if (status == VT_OK) status = check_model_new_f64(&s->real, c, true, err);
    if (status == VT_OK) status = check_model_new_f32(&s->single, c, true, err);
    if (status) return status;
    s->pieces = calloc(c->ntensors + 1, sizeof *s->pieces);
    s->v = calloc(C > V ? C : V, sizeof *s->v);
    s->at = calloc(count + C, sizeof *s->at);
    s->grads = calloc(count, sizeof *s->grads);
    s->dx = calloc(C, sizeof *s->dx);
    s->grads32 = calloc(count, sizeof *s->grads32);
    s->dx32 = calloc(C, sizeof *s->dx32);
    if (!s->pieces || !s->v || !s->at || !s->grads || !s->dx || !s->grads32 || !s->dx32)
        return fail_memory(err, count * 24, "the adjoint identity");
    return VT_OK;
}

static void close_sides(sides *s)
{
    check_model_free_c128(&s->complex_);
    check_model_free_f64(&s->real);
    check_model_free_f32(&s->single);
    free(s->pieces);
    free(s->v);
    free(s->at);
    free(s->grads);
    free(s->dx);
    free(s->grads32);
    free(s->dx32);
}

/* u and v, and where they start: the part's input in double, as floats. */
static void draw(sides *s, adjoint *a, uint64_t seed)
{
    rng r;
    rng_stream_seed(&r, seed, RNG_VERIFY, 16 + (uint64_t)(s->part + 1));
    for (size_t i = 0; i < s->out; i++) {
        const double size = (double)(float)rng_uniform(&r, 0.5, 1.5);
        s->v[i] = rng_integers(&r, 0, 2) ? size : -size;
    }
    const double *x = check_part_input_f64(&s->real, s->part);
    for (size_t k = 0; k < s->npieces; k++) {
        const piece *p = &s->pieces[k];
        double scale = 0;
        for (size_t i = 0; i < p->count; i++) {
            s->at[p->first + i] = p->input ? (double)(float)x[i]
                                           : (double)s->c->params[p->offset + i];
            gradcheck_raise(&scale, fabs(s->at[p->first + i]));
        }
        if (scale == 0) scale = 1;
        for (size_t i = 0; i < p->count; i++)
            a->direction[p->first + i] = rng_integers(&r, 0, 2) ? scale : -scale;
    }
}

/* J^T v in double and in float with everything at `at`. */
static void pull_back(sides *s, const double *at)
{
    double *x = check_part_input_f64(&s->real, s->part);
    float *x32 = check_part_input_f32(&s->single, s->part);
    for (size_t k = 0; k < s->npieces; k++) {
        const piece *p = &s->pieces[k];
        for (size_t i = 0; i < p->count; i++) {
            const double value = at[p->first + i];
            if (p->input) {
                x[i] = value;
                x32[i] = (float)value;
            } else {
                check_move_f64(&s->real, p->offset + i, value);
                check_move_f32(&s->single, p->offset + i, (float)value);
            }
        }
    }
    for (size_t k = 0; k < s->npieces; k++) {
        const piece *p = &s->pieces[k];
        if (p->input) continue;
        memset(s->grads + p->offset, 0, p->count * sizeof *s->grads);
        memset(s->grads32 + p->offset, 0, p->count * sizeof *s->grads32);
    }
    check_part_pullback_f64(&s->real, s->part, s->v, s->grads, s->dx);
    check_part_pullback_f32(&s->single, s->part, s->v, s->grads32, s->dx32);
}

/* The gradient, and its bounds from what float does to it here and around. */
static vt_status backward_side(sides *s, adjoint *a, uint64_t seed, vt_error *err)
{
    double *near = malloc(a->n * sizeof *near), *gap = calloc(s->npieces, sizeof *gap);
    rng r;
    if (!near || !gap) {
        free(near);
        free(gap);
        return fail_memory(err, a->n * sizeof *near, "points around");
    }
    rng_stream_seed(&r, seed, RNG_VERIFY, 15);
    for (int around = GRADCHECK_NEIGHBOURS; around >= 0; around--) {    /* the point itself last */
        for (size_t i = 0; i < a->n; i++)
            near[i] = around == 0 ? s->at[i]
                : (double)nextafterf((float)s->at[i],
                                     rng_integers(&r, 0, 2) ? INFINITY : -INFINITY);
        pull_back(s, near);
        for (size_t k = 0; k < s->npieces; k++) {
            const piece *p = &s->pieces[k];
            const double *g = p->input ? s->dx : s->grads + p->offset;
            const float *g32 = p->input ? s->dx32 : s->grads32 + p->offset;
            for (size_t i = 0; i < p->count; i++)
                gradcheck_raise(&gap[k], fabs((double)g32[i] - g[i]));
            if (around > 0) continue;
            const double largest = gradcheck_largest(g, p->count);
            memcpy(a->gradient + p->first, g, p->count * sizeof *g);
            for (size_t i = 0; i < p->count; i++)
                a->bound[p->first + i] = gradcheck_bound(gap[k] > largest ? largest : gap[k],
                                                         largest);
        }
    }
    free(near);
    free(gap);
    return VT_OK;
}

/* <v, J u> from Im y / h; leaves the parameters as they are. */
static void forward_side(sides *s, adjoint *a)
{
    check_model_c128 *m = &s->complex_;
    double _Complex *x = check_part_input_c128(m, s->part);
    for (size_t k = 0; k < s->npieces; k++) {
        const piece *p = &s->pieces[k];
        for (size_t i = 0; i < p->count; i++) {
            const double _Complex value = s->at[p->first + i] +
                STEP * a->direction[p->first + i] * (double _Complex)I;
            if (p->input) x[i] = value;
            else check_move_c128(m, p->offset + i, value);
        }
    }
    gpt_part_forward_c128(&m->m, &m->a, s->c->tokens, s->part, s->c->B, s->c->T);
    const double _Complex *y = check_part_output_c128(m, s->part);
    exact_sum sum = { 0 };
    double squares = 0;
    for (size_t i = 0; i < s->out; i++) {
        const double term = s->v[i] * (cimag(y[i]) / STEP);             /* diff.adjoint */
        exact_add(&sum, term);
        squares += term * term;
    }
    for (size_t k = 0; k < s->npieces; k++)
        for (size_t i = 0; i < s->pieces[k].count && !s->pieces[k].input; i++)
            check_move_c128(m, s->pieces[k].offset + i, s->at[s->pieces[k].first + i]);
    a->forward = sum.sum + sum.lost;
    a->forward_bound = 8 * GRADCHECK_EPS64 * sqrt(squares);
}

static vt_status compute(adjoint *a, sides *s, int part, uint64_t seed, vt_error *err)
{
    const size_t N = (size_t)s->c->B * (size_t)s->c->T, C = N * (size_t)s->c->z->C;
    *a = (adjoint){ .n = 0 };
    s->part = part;
    s->in = part < 0 ? 0 : C;
    s->out = part < s->c->z->L ? C : N * (size_t)s->c->z->V;
    a->n = lay_out(s);
    a->direction = calloc(a->n, sizeof *a->direction);
    a->gradient = calloc(a->n, sizeof *a->gradient);
    a->bound = calloc(a->n, sizeof *a->bound);
    if (!a->direction || !a->gradient || !a->bound)
        return fail_memory(err, a->n * 3 * sizeof(double), "the adjoint identity");
    draw(s, a, seed);
    forward_side(s, a);
    return backward_side(s, a, seed, err);
}

vt_status adjoint_compute(adjoint *a, const gradcheck_case *c, int part, uint64_t seed,
                          vt_error *err)
{
    sides s;
    *a = (adjoint){ .n = 0 };
    vt_status status = open_sides(&s, c, err);
    if (status == VT_OK) status = compute(a, &s, part, seed, err);
    close_sides(&s);
    return status;
}

void adjoint_free(adjoint *a)
{
    free(a->direction);
    free(a->gradient);
    free(a->bound);
    *a = (adjoint){ .n = 0 };
}

void adjoint_judge(vt_check_layer *out, const adjoint *a)
{
    exact_sum found = { 0 };
    double squares = 0;
    for (size_t i = 0; i < a->n; i++) {
        exact_add(&found, a->gradient[i] * a->direction[i]);            /* diff.adjoint */
        const double error = a->bound[i] * a->direction[i];
        squares += error * error;
    }
    out->expected = a->forward;
    out->found = found.sum + found.lost;
    out->budget_used = gradcheck_share(fabs(out->found - out->expected),
                                       sqrt(squares) + a->forward_bound);
    out->pass = a->n > 0 && out->budget_used <= 1;
}

vt_status adjoint_all(vt_check_report *report, const gradcheck_case *c, uint64_t seed,
                      vt_error *err)
{
    const size_t parts = (size_t)c->z->L + 2;
    sides s;
    report->layers = calloc(parts, sizeof *report->layers);
    if (!report->layers) return fail_memory(err, parts * sizeof *report->layers, "the report");
    vt_status status = open_sides(&s, c, err);
    for (int part = c->z->L; part >= -1 && status == VT_OK; part--) {
        vt_check_layer *out = &report->layers[part + 1];
        adjoint a;
        if (part < 0) snprintf(out->name, sizeof out->name, "embedding");
        else if (part < c->z->L) snprintf(out->name, sizeof out->name, "layer %d", part);
        else snprintf(out->name, sizeof out->name, "head");
        status = compute(&a, &s, part, seed, err);
        if (status == VT_OK) adjoint_judge(out, &a);
        adjoint_free(&a);
    }
    if (status == VT_OK) report->nlayers = parts;
    close_sides(&s);
    return status;
}

/* gradcheck_gradients.c -- the gradients that a check judges, and what rounding does
 * to them.  See gradcheck.h.
 */
#include "verify/model/gradcheck.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"

/* Of the differences from `right`; NaN where one is NaN. */
static double largest_gap(const float *x, const double *right, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n && !isnan(largest); i++) {
        const double gap = fabs((double)x[i] - right[i]);
        if (!(gap <= largest)) largest = gap;
    }
    return largest;
}

/* The definitions' gradient in double.  `losses` (of each row) and `score` (the
 * largest scaled score of attention) may be NULL; with `shake`, each row's lse is
 * first moved by about an ulp of a float. */
static vt_status gradient_f64(const gradcheck_case *c, const float *at, const double *weights,
                              double *grads, double *losses, double *score, rng *shake,
                              vt_error *err)
{
    const gpt_config *z = c->z;
    const size_t count = gpt_parameter_count(z), T = (size_t)c->T;
    const size_t cells = (size_t)c->B * (size_t)z->NH * T * T;
    const size_t acts = gpt_acts_bytes_f64(z, c->B, c->T, c->T, true);
    void *memory = gradcheck_acts(acts);
    double *head = malloc((size_t)z->C * (size_t)z->V * sizeof *head);
    double *params = malloc(count * sizeof *params);
    vt_status s = VT_OK;
    if (!memory || !head || !params) {
        s = fail_memory(err, acts, "the double model");
        goto done;
    }
    gpt_acts_f64 a;
    const gpt_model_f64 m = { .z = *z, .params = params, .head = head };
    for (size_t i = 0; i < count; i++) params[i] = (double)at[i];
    gpt_acts_place_f64(&a, memory, z, c->B, c->T, c->T, true);
    gpt_prepare_f64(&m);
    gpt_forward_f64(&m, &a, c->tokens, NULL, c->B, c->T);
    gpt_loss_f64(&m, &a, c->targets, 1, c->B, c->T);
    for (int n = 0; shake && n < c->B * c->T; n++)
        a.lse[n] *= rng_integers(shake, 0, 2) ? 1 + GRADCHECK_EPS32 : 1 - GRADCHECK_EPS32;
    gpt_backward_f64(&m, &a, grads, c->tokens, c->targets, weights, c->B, c->T);
    if (losses) memcpy(losses, a.loss, (size_t)(c->B * c->T) * sizeof *losses);
    for (int l = 0; score && l < z->L; l++) {
        const double largest = gradcheck_largest(a.layers[l].scaled, cells);
        if (!(largest <= *score)) *score = largest;
    }
done:
    free(params);
    free(head);
    free(memory);
    return s;
}

/* The float definitions' gradient (kernels NULL; `losses` is written then) or the fast
 * kernels'. */
static vt_status gradient_f32(const gradcheck_case *c, const float *at, const double *weights,
                              const ops *kernels, float *grads, double *losses, vt_error *err)
{
    const gpt_config *z = c->z;
    const int B = c->B, T = c->T;
    const size_t N = (size_t)(B * T);
    const size_t bytes = kernels ? gpt_acts_bytes_fast(z, B, T, T, true)
                                 : gpt_acts_bytes_f32(z, B, T, T, true);
    void *memory = gradcheck_acts(bytes);
    float *head = malloc((size_t)z->C * (size_t)z->V * sizeof *head);
    float *weight = malloc(N * sizeof *weight);
    const ops_sizes sizes = { .B = B, .T = T, .C = z->C, .NH = z->NH, .HS = z->C / z->NH,
                              .FF = z->FF, .V = z->V };
    size_t worker, shared;
    team *crew = NULL;
    vt_status s = VT_OK;
    if (!memory || !head || !weight) {
        s = fail_memory(err, bytes, "the float model");
        goto done;
    }
    for (size_t n = 0; n < N; n++) weight[n] = (float)weights[n];
    if (!kernels) {
        gpt_acts_f32 a;
        const gpt_model_f32 m = { .z = *z, .params = at, .head = head };
        gpt_acts_place_f32(&a, memory, z, B, T, T, true);
        gpt_prepare_f32(&m);
        gpt_forward_f32(&m, &a, c->tokens, NULL, B, T);
        gpt_loss_f32(&m, &a, c->targets, 1, B, T);
        gpt_backward_f32(&m, &a, grads, c->tokens, c->targets, weight, B, T);
        for (size_t n = 0; n < N; n++) losses[n] = (double)a.loss[n];
        goto done;
    }
    ops_scratch(&sizes, &worker, &shared);
    if ((s = team_new(&crew, c->threads, worker, shared, err))) goto done;
    gpt_acts_fast a;
    const gpt_model_fast m = { .z = *z, .params = at, .head = head, .kernels = kernels,
                               .team = crew };
    gpt_acts_place_fast(&a, memory, z, B, T, T, true);
    gpt_prepare_fast(&m);
    gpt_forward_fast(&m, &a, c->tokens, NULL, B, T);
    gpt_loss_fast(&m, &a, c->targets, 1, B, T);
    gpt_backward_fast(&m, &a, grads, c->tokens, c->targets, weight, B, T);
done:
    team_free(crew);
    free(weight);
    free(head);
    free(memory);
    return s;
}

/* What rounding does to the gradient in float, of each tensor the largest:
 * g->rounding, the float definitions against the double ones at the parameters
 * and at GRADCHECK_NEIGHBOURS points around them, each parameter its next float up or
 * down (at one point roundings may cancel by luck); g->shaken, the double
 * definitions with lse moved (where p is 1 in float, p - 1 shows no error); and
 * g->noise, from the losses there. */
static vt_status measure_rounding(gradcheck_grads *g, const gradcheck_case *c, uint64_t seed,
                                  vt_error *err)
{
    const size_t count = gpt_parameter_count(c->z), N = (size_t)(c->B * c->T);
    float *at = malloc(count * sizeof *at), *g32 = malloc(count * sizeof *g32);
    double *g64 = malloc(count * sizeof *g64), *moved = malloc(count * sizeof *moved);
    double *l32 = malloc(N * sizeof *l32), *l64 = malloc(N * sizeof *l64), largest = 0;
    rng r;
    vt_status s = VT_OK;
    if (!at || !g32 || !g64 || !moved || !l32 || !l64) {
        s = fail_memory(err, count * 24, "gradients");
        goto done;
    }
    rng_stream_seed(&r, seed, RNG_VERIFY, 4);
    for (int k = 0; k <= GRADCHECK_NEIGHBOURS; k++) {
        for (size_t i = 0; i < count; i++)
            at[i] = k == 0 ? c->params[i]
                  : nextafterf(c->params[i], rng_integers(&r, 0, 2) ? INFINITY : -INFINITY);
        memset(g32, 0, count * sizeof *g32);
        memset(g64, 0, count * sizeof *g64);
        memset(moved, 0, count * sizeof *moved);
        if ((s = gradient_f64(c, at, g->weight, g64, l64, NULL, NULL, err)) ||
            (s = gradient_f64(c, c->params, g->weight, moved, NULL, NULL, &r, err)) ||
            (s = gradient_f32(c, at, g->weight, NULL, g32, l32, err)))
            goto done;
        for (size_t i = 0; i < count; i++) moved[i] -= g->hand[i];
        for (size_t i = 0; i < c->ntensors; i++) {
            const gpt_tensor *t = &c->tensors[i];
            gradcheck_raise(&g->rounding[i],
                            largest_gap(g32 + t->offset, g64 + t->offset, t->count));
            gradcheck_raise(&g->shaken[i], gradcheck_largest(moved + t->offset, t->count));
        }
        double gap = 0, size = 0;
        for (size_t n = 0; n < N; n++) {
            gap += g->weight[n] * fabs(l32[n] - l64[n]);
            size += g->weight[n] * fabs(l64[n]);
        }
        gradcheck_raise(&largest, 8 * gap * (GRADCHECK_EPS64 / GRADCHECK_EPS32)
                                  + 4 * GRADCHECK_EPS64 * size);
    }
    g->noise = largest;
done:
    free(l64);
    free(l32);
    free(moved);
    free(g64);
    free(g32);
    free(at);
    return s;
}

vt_status gradcheck_check_ids(const gradcheck_case *c, vt_error *err)
{
    const size_t B = (size_t)c->B, T = (size_t)c->T;
    if (T > INT_MAX / B) return fail(err, VT_TOO_LARGE, "%d x %d tokens: too many", c->B, c->T);
    const vt_status s = gpt_check_ids(c->tokens, B, T, c->z->V, false, "tokens", err);
    return s ? s : gpt_check_ids(c->targets, B, T, c->z->V, true, "targets", err);
}

vt_status gradcheck_compute(gradcheck_grads *g, const gradcheck_case *c, uint64_t seed,
                            vt_error *err)
{
    const size_t count = gpt_parameter_count(c->z), B = (size_t)c->B, T = (size_t)c->T;
    rng r;
    vt_status s;
    *g = (gradcheck_grads){ .loss = 0 };
    if ((s = gradcheck_check_ids(c, err))) return s;
    g->losses = malloc(B * T * sizeof *g->losses);
    g->weight = malloc(B * T * sizeof *g->weight);
    g->hand = calloc(count, sizeof *g->hand);
    g->fast = calloc(count, sizeof *g->fast);
    g->rounding = calloc(c->ntensors, sizeof *g->rounding);
    g->shaken = calloc(c->ntensors, sizeof *g->shaken);
    if (!g->losses || !g->weight || !g->hand || !g->fast || !g->rounding || !g->shaken) {
        s = fail_memory(err, count * 12, "gradients");
        goto done;
    }
    rng_stream_seed(&r, seed, RNG_VERIFY, 2);           /* no two rows weigh the same */
    for (size_t n = 0; n < B * T; n++)
        g->weight[n] = (double)(float)(rng_uniform(&r, 0.5, 1.5) / (double)(B * T));
    if ((s = gradient_f64(c, c->params, g->weight, g->hand, g->losses, &g->score, NULL, err)) ||
        (s = gradient_f32(c, c->params, g->weight, c->kernels, g->fast, NULL, err)))
        goto done;
    for (size_t n = 0; n < B * T; n++) {
        g->loss += g->losses[n] / (double)(B * T);
        g->f += g->weight[n] * g->losses[n];
    }
    s = measure_rounding(g, c, seed, err);
done:
    if (s) gradcheck_free(g);
    return s;
}

void gradcheck_free(gradcheck_grads *g)
{
    free(g->weight);
    free(g->hand);
    free(g->fast);
    free(g->rounding);
    free(g->shaken);
    free(g->losses);
    *g = (gradcheck_grads){ .loss = 0 };
}


/* model_case.c -- see model_case.h. */
#include "model_case.h"
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "support.h"

void model_case_make(model_case *c, const gpt_config *z, int B, int T, uint64_t seed)
{
    const size_t N = (size_t)(B * T);
    rng r;
    rng_stream_seed(&r, seed, RNG_VERIFY, 0);
    *c = (model_case){ .z = *z, .B = B, .T = T, .count = gpt_parameter_count(z) };
    c->params = malloc(c->count * sizeof *c->params);
    c->dloss = malloc(N * sizeof *c->dloss);
    c->tokens = malloc(N * sizeof *c->tokens);
    c->targets = malloc(N * sizeof *c->targets);
    assert_true(c->params && c->dloss && c->tokens && c->targets);
    for (size_t i = 0; i < c->count; i++) c->params[i] = (double)(float)(0.5 * rng_normal(&r));
    for (size_t n = 0; n < N; n++) {
        c->dloss[n] = (double)(float)rng_uniform(&r, -1, 1);
        c->tokens[n] = (int)rng_integers(&r, 0, z->V - 1);      /* one row unused */
        c->targets[n] = (int)rng_integers(&r, 0, z->V);
    }
    if (N > 1) c->tokens[N - 1] = c->tokens[0];
    if (N > 2) c->targets[1] = VT_IGNORE;
}

void model_case_free(model_case *c)
{
    free(c->params);
    free(c->dloss);
    free(c->tokens);
    free(c->targets);
}

static void *block(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(p);
    memset(p, 0xFF, bytes);                                     /* NaN everywhere */
    return p;
}

double model_case_f64(const model_case *c, double *grads)
{
    const gpt_config *z = &c->z;
    gpt_acts_f64 a;
    void *memory = block(gpt_acts_bytes_f64(z, c->B, c->T, c->T, true));
    double *head = block((size_t)z->C * (size_t)z->V * sizeof *head);
    const gpt_model_f64 m = { .z = *z, .params = c->params, .head = head };
    double sum = 0;
    gpt_acts_place_f64(&a, memory, z, c->B, c->T, c->T, true);
    gpt_prepare_f64(&m);
    gpt_forward_f64(&m, &a, c->tokens, NULL, c->B, c->T);
    gpt_loss_f64(&m, &a, c->targets, 1, c->B, c->T);
    for (int n = 0; n < c->B * c->T; n++) sum += c->dloss[n] * a.loss[n];
    if (grads) {
        memset(grads, 0, c->count * sizeof *grads);
        gpt_backward_f64(&m, &a, grads, c->tokens, c->targets, c->dloss, c->B, c->T);
    }
    free(head);
    free(memory);
    return sum;
}

double model_case_step(const model_case *c, size_t i)
{
    const gpt_config *z = &c->z;
    const double h = 1e-30;
    gpt_acts_c128 a;
    void *memory = block(gpt_acts_bytes_c128(z, c->B, c->T, c->T, false));
    double _Complex *head = block((size_t)z->C * (size_t)z->V * sizeof *head);
    double _Complex *params = block(c->count * sizeof *params);
    const gpt_model_c128 m = { .z = *z, .params = params, .head = head };
    double _Complex sum = 0;
    for (size_t k = 0; k < c->count; k++) params[k] = c->params[k];
    params[i] += h * (double _Complex)I;
    gpt_acts_place_c128(&a, memory, z, c->B, c->T, c->T, false);
    gpt_prepare_c128(&m);
    gpt_forward_c128(&m, &a, c->tokens, NULL, c->B, c->T);
    gpt_loss_c128(&m, &a, c->targets, 1, c->B, c->T);
    for (int n = 0; n < c->B * c->T; n++) sum += c->dloss[n] * a.loss[n];
    free(params);
    free(head);
    free(memory);
    return cimag(sum) / h;
}

/* The two float wirings differ in names and in the team alone. */
#define FLOAT_WIRING(SET, KERNELS, TEAM)                                              \
    const gpt_config *z = &c->z;                                                      \
    const size_t N = (size_t)(c->B * c->T), NV = N * (size_t)z->V;                    \
    gpt_acts_##SET a;                                                                 \
    void *memory = block(gpt_acts_bytes_##SET(z, c->B, c->T, c->T, true));            \
    float *head = block((size_t)z->C * (size_t)z->V * sizeof *head);                  \
    float *params = block(c->count * sizeof *params), *g = block(c->count * sizeof *g); \
    float *dloss = block(N * sizeof *dloss);                                          \
    const gpt_model_##SET m = { .z = *z, .params = params, .head = head,              \
                                .kernels = KERNELS, .team = TEAM };                   \
    double sum = 0;                                                                   \
    for (size_t i = 0; i < c->count; i++) params[i] = (float)c->params[i];            \
    for (size_t n = 0; n < N; n++) dloss[n] = (float)c->dloss[n];                     \
    memset(g, 0, c->count * sizeof *g);                                               \
    gpt_acts_place_##SET(&a, memory, z, c->B, c->T, c->T, true);                      \
    gpt_prepare_##SET(&m);                                                            \
    gpt_forward_##SET(&m, &a, c->tokens, NULL, c->B, c->T);                           \
    gpt_loss_##SET(&m, &a, c->targets, 1, c->B, c->T);                                \
    gpt_backward_##SET(&m, &a, g, c->tokens, c->targets, dloss, c->B, c->T);          \
    for (size_t n = 0; n < N; n++) sum += c->dloss[n] * (double)a.loss[n];            \
    for (size_t i = 0; logits && i < NV; i++) logits[i] = (double)a.logits[i];        \
    for (size_t i = 0; grads && i < c->count; i++) grads[i] = (double)g[i];           \
    free(dloss); free(g); free(params); free(head); free(memory)

double model_case_f32(const model_case *c, double *logits, double *grads)
{
    FLOAT_WIRING(f32, NULL, NULL);
    return sum;
}

double model_case_fast(const model_case *c, const ops *kernels, int threads,
                       double *logits, double *grads)
{
    const ops_sizes sizes = { .B = c->B, .T = c->T, .C = c->z.C, .NH = c->z.NH,
                              .HS = c->z.C / c->z.NH, .FF = c->z.FF, .V = c->z.V };
    size_t worker, shared;
    team *t = NULL;
    ops_scratch(&sizes, &worker, &shared);
    assert_ok(team_new(&t, threads, worker, shared, &test_error));
    FLOAT_WIRING(fast, kernels, t);
    team_free(t);
    return sum;
}

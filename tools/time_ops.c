/* time_ops.c -- what each kernel costs in one training step.
 *
 *     cmake --build build --target time_ops
 *     build/time_ops [THREADS] [ISA] [SECONDS per kernel]
 *
 * For the presets `default` and `tiny` it prints each kernel's time for one
 * call, how often a step calls it, and its share of the step.  A time is the
 * best of many runs: what the code can do, not what a busy machine lets it.
 * AdamW and the sum of squares run over all parameters at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "kernels/ops.h"

typedef struct preset { const char *name; int B, T, L, C, NH, FF, V; } preset;
static const preset presets[] = {
    { "default",  8, 128, 4, 128, 4, 512, 1281 },
    { "tiny",    16,  16, 2,  32, 2, 128,  757 },
};

static const ops *k;
static team *tm;
static preset p;
static size_t N, C, FF, V, params;
static float *x, *y, *dx, *dy, *qkv, *dqkv, *w, *dw, *b, *db, *mean, *rstd, *lse, *h, *dh;
static float *logits, *dlogits, *loss, *weights, *m, *v, *g;
static int *tokens;
static double sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *filled(size_t n)
{
    float *a = aligned_alloc(64, (n * sizeof *a + 63) / 64 * 64);
    if (!a) exit(4);
    for (size_t i = 0; i < n; i++) a[i] = (float)(i * 2654435761u % 1000) * 1e-3f - 0.5f;
    return a;
}

static void embedding_forward(void)  { k->embedding_forward(tm, x, tokens, w, w, p.B, p.T, 0, p.C); }
static void embedding_backward(void) { k->embedding_backward(tm, dw, dw, dx, tokens, p.B, p.T, 0, p.C); }
static void layernorm_forward(void)  { k->layernorm_forward(tm, y, mean, rstd, x, w, b, (int)N, p.C); }
static void layernorm_backward(void)
{
    k->layernorm_backward(tm, dx, dw, db, dy, x, w, mean, rstd, (int)N, p.C);
}
static void attention_forward(void)
{
    k->attention_forward(tm, y, lse, qkv, 3 * C, qkv + C, qkv + 2 * C, 3 * C, p.B, p.T, 0, p.NH,
                         p.C / p.NH);
}
static void attention_backward(void)
{
    k->attention_backward(tm, dqkv, dqkv + C, dqkv + 2 * C, dy, y, lse, qkv, 3 * C, qkv + C,
                          qkv + 2 * C, 3 * C, p.B, p.T, 0, p.NH, p.C / p.NH);
}
static void gelu_forward(void)      { k->gelu_forward(tm, dh, h, N * FF); }
static void gelu_backward(void)     { k->gelu_backward(tm, dh, h, h, N * FF); }
static void residual_forward(void)  { k->residual_forward(tm, y, x, dy, N * C); }
static void residual_backward(void) { k->residual_backward(tm, dx, dy, x, N * C); }
static void loss_forward(void)
{
    k->crossentropy_forward(tm, loss, lse, logits, tokens, 1, (int)N, p.V);
}
static void loss_backward(void)
{
    k->crossentropy_backward(tm, dlogits, loss, lse, logits, tokens, 1, (int)N, p.V);
}
static void squares(void) { sink += k->sum_squares(tm, g, params); }
static void adamw(void)   { k->adamw(tm, weights, m, v, g, params, 1, 0, 0.9f, 0.99f, 1e-8f, 0.01f, 9); }
static void linear_forward(void)  { k->linear_forward(tm, dh, x, weights, b, (int)N, p.C, p.FF); }
static void linear_backward(void) { k->linear_backward(tm, dx, dw, db, h, x, weights, (int)N, p.C, p.FF); }

static void prepare(preset z)
{
    p = z;
    N = (size_t)(p.B * p.T), C = (size_t)p.C, FF = (size_t)p.FF, V = (size_t)p.V;
    params = (size_t)p.L * 12 * C * C + (V + (size_t)p.T) * C;
    float **const all[] = { &x, &y, &dx, &dy, &qkv, &dqkv, &w, &dw, &b, &db, &mean, &rstd, &lse, &h,
                            &dh, &logits, &dlogits, &loss, &weights, &m, &v, &g };
    const size_t size[] = { N * C, N * C, N * C, N * C, N * 3 * C, N * 3 * C, V * C, V * C, FF, FF,
                            N, N, N * (size_t)p.NH, N * FF, N * FF, N * V, N * V, N,
                            params, params, params, params };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(*all[i]);
        *all[i] = filled(size[i]);
    }
    for (size_t i = 0; i < params; i++) v[i] = 1;
    free(tokens);
    tokens = malloc(N * sizeof *tokens);
    if (!tokens) exit(4);
    for (size_t i = 0; i < N; i++) tokens[i] = (int)(i * 2654435761u % V);
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 2;
    const double seconds = argc > 3 ? atof(argv[3]) : 0.3;
    k = ops_pick(argc > 2 ? argv[2] : NULL);
    if (!k) return fprintf(stderr, "time_ops: no such kernels here\n"), 2;
    for (size_t j = 0; j < sizeof presets / sizeof *presets; j++) {
        prepare(presets[j]);
        size_t worker, shared;
        vt_error err;
        ops_scratch(&(ops_sizes){ p.B, p.T, 0, p.C, p.NH, p.C / p.NH, p.FF, p.V }, &worker, &shared);
        if (team_new(&tm, threads, worker, shared, &err) != VT_OK)
            return fprintf(stderr, "time_ops: %s\n", err.text), 2;
        const struct { const char *name; void (*run)(void); double calls; } list[] = {
            { "embedding forward", embedding_forward, 1 },
            { "embedding backward", embedding_backward, 1 },
            { "layernorm forward", layernorm_forward, 2 * p.L + 1 },
            { "layernorm backward", layernorm_backward, 2 * p.L + 1 },
            { "attention forward", attention_forward, p.L },
            { "attention backward", attention_backward, p.L },
            { "gelu forward", gelu_forward, p.L },
            { "gelu backward", gelu_backward, p.L },
            { "residual forward", residual_forward, 2 * p.L },
            { "residual backward", residual_backward, 2 * p.L },
            { "crossentropy forward", loss_forward, 1 },
            { "crossentropy backward", loss_backward, 1 },
            { "sum of squares", squares, 1 },
            { "adamw", adamw, 1 },
            /* The products as multiples of the layer C x FF: 12 C^2 a block, C V the head. */
            { "linear forward", linear_forward, p.L * 3 + (double)V / (double)FF },
            { "linear backward", linear_backward, p.L * 3 + (double)V / (double)FF },
        };
        enum { COUNT = sizeof list / sizeof *list };
        double best[COUNT], step = 0;
        for (size_t i = 0; i < COUNT; i++) {
            best[i] = 1e9;
            for (const double end = now() + seconds; now() < end; ) {
                const double start = now();
                list[i].run();
                const double t = now() - start;
                if (t < best[i]) best[i] = t;
            }
            step += best[i] * list[i].calls;
        }
        printf("%s, %s, %d threads: a step of %.2f ms, %.0f tokens/s\n", p.name, k->name, threads,
               1e3 * step, (double)N / step);
        for (size_t i = 0; i < COUNT; i++)
            printf("  %-22s %9.1f us  x %5.1f  %5.1f %%\n", list[i].name, 1e6 * best[i],
                   list[i].calls, 100 * best[i] * list[i].calls / step);
        team_free(tm);
    }
    return 0;
}

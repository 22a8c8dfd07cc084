/* time_gemm.c -- how near `linear` runs to the processor's arithmetic peak.
 *
 *     cmake --build build --target time_gemm
 *     build/time_gemm [THREADS] [ISA] [SECONDS per shape]
 *
 * For each linear layer of the presets `default` and `tiny` it prints GFLOP/s
 * of forward and of backward (two products) and their share of the peak, which
 * is measured in the same run by multiply-adds on registers alone.  A figure is
 * the best of many short runs: what the code can do, not what a busy machine
 * lets it.  Peak and product take turns, so that both see the same machine.
 * Built for the machine it is built on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__AVX512F__)
#define VT_ISA_avx512
#elif defined(__AVX2__)
#define VT_ISA_avx2
#endif
#include "kernels/ops.h"
#include "kernels/simd.h"

enum { CHAINS = 12, STEPS = 20000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void burn(void *context, size_t i, int worker)
{
    float *out = context;
    vec acc[CHAINS], x = vec_set1(0.999f), y = vec_set1(1e-3f);
    (void)worker;
    VEC_UNROLL
    for (int c = 0; c < CHAINS; c++) acc[c] = vec_set1((float)c);
    for (int s = 0; s < STEPS; s++) {
        VEC_UNROLL
        for (int c = 0; c < CHAINS; c++) acc[c] = vec_fma(acc[c], x, y);
    }
    for (int c = 1; c < CHAINS; c++) acc[0] = vec_add(acc[0], acc[c]);
    out[i * 16] = vec_sum(acc[0]);
}

static double peak_once(team *t)
{
    static float out[1024 * 16];
    const size_t tasks = (size_t)team_size(t);
    const double start = now();
    team_run(t, tasks, burn, out);
    return 2.0 * CHAINS * STEPS * VEC_LANES * (double)tasks / (now() - start);
}

static float *filled(size_t n)
{
    float *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);
    if (!p) exit(4);
    for (size_t i = 0; i < n; i++) p[i] = (float)(i * 2654435761u % 1000) * 1e-3f - 0.5f;
    return p;
}

static void shape(const ops *k, team *t, int N, int C, int OC, double seconds)
{
    const size_t n = (size_t)N, in = (size_t)C, to = (size_t)OC;
    float *x = filled(n * in), *w = filled(in * to), *b = filled(to), *y = filled(n * to);
    float *dx = filled(n * in), *dw = filled(in * to), *db = filled(to), *dy = filled(n * to);
    const double flop = 2.0 * (double)n * (double)in * (double)to;
    double peak = 0, forward = 0, backward = 0;
    for (const double end = now() + seconds; now() < end; ) {
        const double p = peak_once(t), s = now();
        k->linear_forward(t, y, x, w, b, N, C, OC);
        const double m = now();
        k->linear_backward(t, dx, dw, db, dy, x, w, N, C, OC);
        const double f = flop / (m - s), g = 2 * flop / (now() - m);
        if (p > peak) peak = p;
        if (f > forward) forward = f;
        if (g > backward) backward = g;
    }
    printf("N %5d C %4d OC %5d   forward %7.1f %4.0f %%   backward %7.1f %4.0f %%   peak %7.1f GFLOP/s\n",
           N, C, OC, forward * 1e-9, 100 * forward / peak, backward * 1e-9,
           100 * backward / peak, peak * 1e-9);
    free(x), free(w), free(b), free(y), free(dx), free(dw), free(db), free(dy);
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 2;
    const ops *k = ops_pick(argc > 2 ? argv[2] : NULL);
    const double seconds = argc > 3 ? atof(argv[3]) : 0.5;
    team *t;
    vt_error err;
    if (!k) return fprintf(stderr, "time_gemm: no such kernels here\n"), 2;
    if (team_new(&t, threads, 0, 0, &err) != VT_OK)
        return fprintf(stderr, "time_gemm: %s\n", err.text), 2;
    static const int shapes[][3] = {
        { 2048, 128, 384 }, { 2048, 128, 128 }, { 2048, 128, 512 }, { 2048, 512, 128 },
        { 2048, 128, 1281 }, { 256, 32, 96 }, { 256, 32, 32 }, { 256, 32, 128 },
        { 256, 128, 32 }, { 256, 32, 757 }, { 1, 128, 384 }, { 1, 512, 128 }, { 1, 128, 1281 },
    };
    printf("%s, %d threads\n", k->name, threads);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        shape(k, t, shapes[i][0], shapes[i][1], shapes[i][2], seconds);
    team_free(t);
    return 0;
}

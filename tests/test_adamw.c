/* test_adamw.c -- one step of AdamW. */
#include "kernels.h"
#include <math.h>

enum { N = 7, STEPS = 5 };

/* OPT-01: the decay acts on the old weight, outside the adaptive term.  After
 * the update it would give 0.891, inside the gradient 0.900000005. */
/* proves adamw.g adamw.m adamw.v adamw.mhat adamw.vhat adamw.w */
static void decay_is_decoupled(void **state)
{
    (void)state;
    double *w = gradient((double[]){ 1 }, 1), *m = gradient((double[]){ 0 }, 1);
    double *v = gradient((double[]){ 0 }, 1);
    const double *g = input_bytes((double[]){ 0.1 }, sizeof(double));
    ref_adamw_f64(w, m, v, g, 1, 1, 0.1, 0.9, 0.999, 1e-8, 0.1, 1);
    assert_near(w[0], 0.890000010, 0.6e-9);
    assert_near(m[0], 0.01, 4 * U64);
    assert_near(v[0], 1e-5, 4 * U64);
}

/* OPT-02: eps is added to the corrected root.  Added before the correction it
 * would give 0.99693466. */
/* proves adamw.vhat adamw.w */
static void eps_is_outside_the_corrected_root(void **state)
{
    (void)state;
    double *w = gradient((double[]){ 1 }, 1), *m = gradient((double[]){ 0 }, 1);
    double *v = gradient((double[]){ 0 }, 1);
    const double *g = input_bytes((double[]){ 1e-8 }, sizeof(double));
    ref_adamw_f64(w, m, v, g, 1, 1, 0.1, 0.9, 0.999, 1e-8, 0, 1);
    assert_near(w[0], 0.95, 1e-12);         /* 1 - 0.999 is off by 1e-13 of itself */
}

/* Without gradients and moments a weight only decays: w - lr decay w. */
/* proves adamw.w */
static void a_zero_gradient_only_decays(void **state)
{
    (void)state;
    const double zero[N] = { 0 }, *w0 = input(N, -2, 2);
    double *w = gradient(w0, N), *m = gradient(zero, N), *v = gradient(zero, N);
    ref_adamw_f64(w, m, v, input_bytes(zero, sizeof zero), N, 1, 0.1, 0.9, 0.999, 1e-8, 0, 1);
    all_same(w, w0, N, "w without decay");
    ref_adamw_f64(w, m, v, input_bytes(zero, sizeof zero), N, 1, 0.1, 0.9, 0.999, 1e-8, 0.1, 1);
    for (size_t i = 0; i < N; i++) assert_near_at(w[i], 0.99 * w0[i], 4 * U64, "w", i);
    all_same(m, zero, N, "m");
    all_same(v, zero, N, "v");
}

/* A factor that is a power of two multiplies the gradient exactly. */
static void the_clip_factor_multiplies_the_gradient(void **state)
{
    (void)state;
    const double *w0 = input(N, -2, 2), *m0 = input(N, -1, 1), *v0 = input(N, 0, 1), *g = input(N, -1, 1);
    double quarter[N];
    for (int i = 0; i < N; i++) quarter[i] = g[i] / 4;
    double *w = gradient(w0, N), *m = gradient(m0, N), *v = gradient(v0, N);
    double *w1 = gradient(w0, N), *m1 = gradient(m0, N), *v1 = gradient(v0, N);
    ref_adamw_f64(w, m, v, g, N, 0.25, 0.1, 0.9, 0.999, 1e-8, 0.1, 3);
    ref_adamw_f64(w1, m1, v1, input_bytes(quarter, sizeof quarter), N, 1, 0.1, 0.9, 0.999, 1e-8, 0.1, 3);
    all_same(w, w1, N, "w");
    all_same(m, m1, N, "m");
    all_same(v, v1, N, "v");
}

struct settings { double clip, lr, beta1, beta2, eps, decay; };

/* PyTorch's order of operations (torch.optim.AdamW), which is other algebra:
 * decay first as a factor, the corrections taken into step size and root. */
static void torch_step(long double *w, long double *m, long double *v, long double g,
                       const struct settings *s, int t)
{
    const long double b1 = s->beta1, b2 = s->beta2;
    long double p1 = 1, p2 = 1;
    for (int i = 0; i < t; i++) p1 *= b1, p2 *= b2;
    g *= s->clip;
    *w *= 1 - (long double)s->lr * s->decay;
    *m += (g - *m) * (1 - b1);
    *v = *v * b2 + g * g * (1 - b2);
    *w -= s->lr / (1 - p1) * *m / (sqrtl(*v) / sqrtl(1 - p2) + s->eps);
}

/* proves adamw.g adamw.m adamw.v adamw.mhat adamw.vhat adamw.w */
static void steps_as_in_pytorch(void **state)
{
    (void)state;
    const struct settings s = { 0.7, 0.01, 0.9, 0.95, 1e-3, 0.3 };
    for (size_t n = 1; n <= N; n++) {
        const double zero[N] = { 0 }, *w0 = input(n, -2, 2);
        double *w = gradient(w0, n), *m = gradient(zero, n), *v = gradient(zero, n);
        c128 *wc = gradient_c128(w0, n), *mc = gradient_c128(zero, n), *vc = gradient_c128(zero, n);
        long double W[N], M[N] = { 0 }, S[N] = { 0 };
        for (size_t i = 0; i < n; i++) W[i] = w0[i];
        for (int t = 1; t <= STEPS; t++) {
            const double *g = input(n, -1, 1);
            ref_adamw_f64(w, m, v, g, n, s.clip, s.lr, s.beta1, s.beta2, s.eps, s.decay, t);
            ref_adamw_c128(wc, mc, vc, input_c128(g, n), n, s.clip, s.lr, s.beta1, s.beta2, s.eps, s.decay, t);
            for (size_t i = 0; i < n; i++) {
                torch_step(&W[i], &M[i], &S[i], g[i], &s, t);
                assert_near_at(m[i], (double)M[i], t * 8 * U64, "m", i);
                assert_near_at(v[i], (double)S[i], t * 8 * U64, "v", i);
                assert_near_at(w[i], (double)W[i], t * 16 * U64, "w", i);     /* |w| <= 2 */
            }
            all_near_c128(mc, m, n, 0, "m in c128");
            all_near_c128(vc, v, n, 0, "v in c128");
            all_near_c128(wc, w, n, 0, "w in c128");
        }
    }
}

/* The same arguments to both.  1 - beta is exact (Sterbenz) or off by u; m and
 * v by 4 and 5 u of their terms; pow by 2 u, so that 1 - beta^t is off by 3 u
 * absolutely; the root halves what vhat brings. */
/* proves adamw.vhat */
static void float_within_its_bound(void **state)
{
    (void)state;
    const float clip = 0.7f, lr = 0.01f, b1 = 0.9f, b2 = 0.95f, tiny = 1e-3f, decay = 0.3f;
    for (int t = 1; t <= 40; t += 13) {
        const double *w0 = input(N, -2, 2), *m0 = input(N, -1, 1), *v0 = input(N, 0, 1), *g = input(N, -1, 1);
        double *w = gradient(w0, N), *m = gradient(m0, N), *v = gradient(v0, N);
        float *wf = gradient_f32(w0, N), *mf = gradient_f32(m0, N), *vf = gradient_f32(v0, N);
        double mb[N], vb[N], wb[N];
        ref_adamw_f64(w, m, v, g, N, clip, lr, b1, b2, tiny, decay, t);
        ref_adamw_f32(wf, mf, vf, input_f32(g, N), N, clip, lr, b1, b2, tiny, decay, t);
        for (int i = 0; i < N; i++) {
            const double gc = fabs(clip * g[i]), c1 = 1 - pow(b1, t), c2 = 1 - pow(b2, t);
            mb[i] = gamma32(4) * (b1 * fabs(m0[i]) + (1 - b1) * gc);
            vb[i] = gamma32(6) * v[i];
            const double mhat = fabs(m[i]) / c1, root = sqrt(v[i] / c2);
            const double m_off = mb[i] / c1 + mhat * (gamma32(3) / c1 + gamma32(1));
            const double r_off = gamma32(6) / 2 + gamma32(3) / c2 / 2 + gamma32(3);
            const double ratio = mhat / (root + tiny);
            wb[i] = lr * (m_off / (root + tiny) + ratio * 1.01 * (r_off + gamma32(2)))
                  + gamma32(4) * (fabs(w0[i]) * (1 + decay * lr) + lr * ratio);
        }
        within(mf, m, mb, N, "m");
        within(vf, v, vb, N, "v");
        within(wf, w, wb, N, "w");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(decay_is_decoupled),
        kernel_test(eps_is_outside_the_corrected_root),
        kernel_test(a_zero_gradient_only_decays),
        kernel_test(the_clip_factor_multiplies_the_gradient),
        kernel_test(steps_as_in_pytorch),
        kernel_test(float_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

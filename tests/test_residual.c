/* test_residual.c -- y = a + b. */
#include "kernels.h"
#include <math.h>

enum { N = 7 };

/* proves res.y */
static void the_sum(void **state)
{
    (void)state;
    for (size_t n = 1; n <= N; n++) {
        const double *a = input(n, -3, 3), *b = input(n, -3, 3);
        double *y = output(n);
        ref_residual_forward_f64(y, a, b, n);
        for (size_t i = 0; i < n; i++)          /* floats: their sum fits a double */
            assert_near_at(y[i], a[i] + b[i], 0.0, "y", i);
    }
}

struct problem { size_t n; c128 *a, *b, *y; const double *dy; };

static c128 loss(const void *context)
{
    const struct problem *p = context;
    ref_residual_forward_c128(p->y, p->a, p->b, p->n);
    return dot_c128(p->dy, p->y, p->n);
}

/* proves res.da res.db */
static void every_entry_by_complex_step(void **state)
{
    (void)state;
    for (size_t n = 1; n <= N; n++) {
        const double *a = input(n, -3, 3), *b = input(n, -3, 3), *dy = input(n, -1, 1);
        const double *da0 = input(n, -1, 1), *db0 = input(n, -1, 1);
        double *da = gradient(da0, n), *db = gradient(db0, n);
        ref_residual_backward_f64(da, db, dy, n);

        const struct problem p = { n, input_c128(a, n), input_c128(b, n), output_c128(n), dy };
        const step_arg args[] = { { "da", p.a, n, da0, da, 0 }, { "db", p.b, n, db0, db, 0 } };
        assert_int_equal(complex_step(loss, &p, args, 2, 4), 2 * n);

        c128 *dac = gradient_c128(da0, n), *dbc = gradient_c128(db0, n);
        ref_residual_backward_c128(dac, dbc, input_c128(dy, n), n);
        all_near_c128(dac, da, n, 0, "da in c128");
        all_near_c128(dbc, db, n, 0, "db in c128");
    }
}

static void float_rounds_once(void **state)
{
    (void)state;
    const double *a = input(N, -3, 3), *b = input(N, -3, 3), *dy = input(N, -1, 1);
    const double *da0 = input(N, -1, 1), *db0 = input(N, -1, 1);
    double *y = output(N), *da = gradient(da0, N), *db = gradient(db0, N), bound[N];
    float *yf = output_f32(N), *daf = gradient_f32(da0, N), *dbf = gradient_f32(db0, N);

    ref_residual_forward_f64(y, a, b, N);
    ref_residual_forward_f32(yf, input_f32(a, N), input_f32(b, N), N);
    ref_residual_backward_f64(da, db, dy, N);
    ref_residual_backward_f32(daf, dbf, input_f32(dy, N), N);
    for (int i = 0; i < N; i++) bound[i] = U32 * fabs(y[i]);
    within(yf, y, bound, N, "y");
    for (int i = 0; i < N; i++) bound[i] = U32 * fabs(da[i]);
    within(daf, da, bound, N, "da");
    for (int i = 0; i < N; i++) bound[i] = U32 * fabs(db[i]);
    within(dbf, db, bound, N, "db");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(the_sum),
        kernel_test(every_entry_by_complex_step),
        kernel_test(float_rounds_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

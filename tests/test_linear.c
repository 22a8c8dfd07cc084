/* test_linear.c -- y = x W + b. */
#include "kernels.h"
#include <math.h>

static const struct { int N, C, OC; } sizes[] = { { 3, 4, 5 }, { 1, 6, 2 }, { 2, 1, 3 }, { 4, 5, 1 }, { 1, 1, 1 } };
enum { SIZES = sizeof sizes / sizeof *sizes };

struct problem {
    int N, C, OC;
    size_t nx, nw, nb, ny;
    const double *x, *w, *b, *dy, *dx0, *dw0, *db0;
    c128 *xc, *wc, *bc, *yc;
};

static struct problem problem(int N, int C, int OC)
{
    struct problem p = { .N = N, .C = C, .OC = OC };
    p.nx = (size_t)(N * C), p.nw = (size_t)(C * OC), p.nb = (size_t)OC, p.ny = (size_t)(N * OC);
    p.x = input(p.nx, -2, 2), p.w = input(p.nw, -2, 2), p.b = input(p.nb, -2, 2);
    p.dy = input(p.ny, -1, 1);
    p.dx0 = input(p.nx, -1, 1), p.dw0 = input(p.nw, -1, 1), p.db0 = input(p.nb, -1, 1);
    p.xc = input_c128(p.x, p.nx), p.wc = input_c128(p.w, p.nw), p.bc = input_c128(p.b, p.nb);
    p.yc = output_c128(p.ny);
    return p;
}

/* proves linear.y */
static void a_product_by_hand(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 3,  4, 5, 6 };                   /* (2, 3) */
    const double w[] = { 1, -1,  0, 2,  3, 1 };                 /* (3, 2) */
    const double b[] = { 10, 20 };
    const double want[] = { 1 + 9 + 10, -1 + 4 + 3 + 20,  4 + 18 + 10, -4 + 10 + 6 + 20 };
    const double bare[] = { 10, 6, 22, 12 };                    /* the same without b */
    double *y = output(4);
    ref_linear_forward_f64(y, input_bytes(x, sizeof x), input_bytes(w, sizeof w),
                           input_bytes(b, sizeof b), 2, 3, 2);
    all_near(y, want, 4, 0, "y");
    ref_linear_forward_f64(y, input_bytes(x, sizeof x), input_bytes(w, sizeof w), NULL, 2, 3, 2);
    all_near(y, bare, 4, 0, "y without bias");
}

static c128 loss(const void *context)
{
    const struct problem *p = context;
    ref_linear_forward_c128(p->yc, p->xc, p->wc, p->bc, p->N, p->C, p->OC);
    return dot_c128(p->dy, p->yc, p->ny);
}

/* proves linear.dx linear.dw linear.db */
static void every_entry_by_complex_step(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const struct problem p = problem(sizes[s].N, sizes[s].C, sizes[s].OC);
        double *dx = gradient(p.dx0, p.nx), *dw = gradient(p.dw0, p.nw), *db = gradient(p.db0, p.nb);
        ref_linear_backward_f64(dx, dw, db, p.dy, p.x, p.w, p.N, p.C, p.OC);

        const step_arg args[] = { { "dx", p.xc, p.nx, p.dx0, dx, 0 }, { "dw", p.wc, p.nw, p.dw0, dw, 0 },
                                  { "db", p.bc, p.nb, p.db0, db, 0 } };
        assert_int_equal(complex_step(loss, &p, args, 3, 20), p.nx + p.nw + p.nb);

        double *dx2 = gradient(p.dx0, p.nx), *dw2 = gradient(p.dw0, p.nw);
        ref_linear_backward_f64(dx2, dw2, NULL, p.dy, p.x, p.w, p.N, p.C, p.OC);
        all_same(dx2, dx, p.nx, "dx without bias");
        all_same(dw2, dw, p.nw, "dw without bias");

        c128 *dxc = gradient_c128(p.dx0, p.nx), *dwc = gradient_c128(p.dw0, p.nw);
        c128 *dbc = gradient_c128(p.db0, p.nb);
        ref_linear_backward_c128(dxc, dwc, dbc, input_c128(p.dy, p.ny), p.xc, p.wc, p.N, p.C, p.OC);
        all_near_c128(dxc, dx, p.nx, 0, "dx in c128");
        all_near_c128(dwc, dw, p.nw, 0, "dw in c128");
        all_near_c128(dbc, db, p.nb, 0, "db in c128");
    }
}

/* A sum of m products and one start, each product rounded, then each addition:
 * no term passes through more than m + 1 roundings. */
static void float_within_its_bound(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const struct problem p = problem(sizes[s].N, sizes[s].C, sizes[s].OC);
        const float *xf = input_f32(p.x, p.nx), *wf = input_f32(p.w, p.nw);
        const float *bf = input_f32(p.b, p.nb), *dyf = input_f32(p.dy, p.ny);
        double *y = output(p.ny), *dx = gradient(p.dx0, p.nx), *dw = gradient(p.dw0, p.nw);
        double *db = gradient(p.db0, p.nb), bound[25];
        float *yf = output_f32(p.ny), *dxf = gradient_f32(p.dx0, p.nx);
        float *dwf = gradient_f32(p.dw0, p.nw), *dbf = gradient_f32(p.db0, p.nb);

        ref_linear_forward_f64(y, p.x, p.w, p.b, p.N, p.C, p.OC);
        ref_linear_forward_f32(yf, xf, wf, bf, p.N, p.C, p.OC);
        ref_linear_backward_f64(dx, dw, db, p.dy, p.x, p.w, p.N, p.C, p.OC);
        ref_linear_backward_f32(dxf, dwf, dbf, dyf, xf, wf, p.N, p.C, p.OC);

        for (int n = 0; n < p.N; n++)
        for (int o = 0; o < p.OC; o++) {
            double terms = fabs(p.b[o]);
            for (int i = 0; i < p.C; i++) terms += fabs(p.x[n * p.C + i] * p.w[i * p.OC + o]);
            bound[n * p.OC + o] = gamma32(p.C + 1) * terms;
        }
        within(yf, y, bound, p.ny, "y");
        for (int n = 0; n < p.N; n++)
        for (int i = 0; i < p.C; i++) {
            double terms = fabs(p.dx0[n * p.C + i]);
            for (int o = 0; o < p.OC; o++) terms += fabs(p.dy[n * p.OC + o] * p.w[i * p.OC + o]);
            bound[n * p.C + i] = gamma32(p.OC + 1) * terms;
        }
        within(dxf, dx, bound, p.nx, "dx");
        for (int i = 0; i < p.C; i++)
        for (int o = 0; o < p.OC; o++) {
            double terms = fabs(p.dw0[i * p.OC + o]);
            for (int n = 0; n < p.N; n++) terms += fabs(p.x[n * p.C + i] * p.dy[n * p.OC + o]);
            bound[i * p.OC + o] = gamma32(p.N + 1) * terms;
        }
        within(dwf, dw, bound, p.nw, "dw");
        for (int o = 0; o < p.OC; o++) {
            double terms = fabs(p.db0[o]);
            for (int n = 0; n < p.N; n++) terms += fabs(p.dy[n * p.OC + o]);
            bound[o] = gamma32(p.N) * terms;
        }
        within(dbf, db, bound, p.nb, "db");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(a_product_by_hand),
        kernel_test(every_entry_by_complex_step),
        kernel_test(float_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_embedding.c -- a token's row plus its position's row. */
#include "kernels.h"
#include <math.h>

/* 1 repeats in a row and between rows, 2 never occurs, 0 and V-1 do. */
enum { V = 5, C = 4, POSITIONS = 7, NWTE = V * C, NWPE = POSITIONS * C };
static const int text[] = { 1, 4, 1,  1, 0, 3 };

static const struct { int B, T, P; } sizes[] = { { 2, 3, 4 }, { 2, 3, 0 }, { 1, 1, 6 }, { 6, 1, 2 }, { 1, 1, 0 } };
enum { SIZES = sizeof sizes / sizeof *sizes };

struct problem {
    int B, T, P;
    size_t nx;
    const int *tokens;
    const double *wte, *wpe, *dx, *dwte0, *dwpe0;
    c128 *wtec, *wpec, *xc;
};

static struct problem problem(int B, int T, int P)
{
    struct problem p = { .B = B, .T = T, .P = P, .nx = (size_t)(B * T * C) };
    p.tokens = input_bytes(text, (size_t)(B * T) * sizeof *text);
    p.wte = input(NWTE, -2, 2), p.wpe = input(NWPE, -2, 2), p.dx = input(p.nx, -1, 1);
    p.dwte0 = input(NWTE, -1, 1), p.dwpe0 = input(NWPE, -1, 1);
    p.wtec = input_c128(p.wte, NWTE), p.wpec = input_c128(p.wpe, NWPE);
    p.xc = output_c128(p.nx);
    return p;
}

/* proves embed.x */
static void the_sum_of_two_rows(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const struct problem p = problem(sizes[s].B, sizes[s].T, sizes[s].P);
        double *x = output(p.nx);
        ref_embedding_forward_f64(x, p.tokens, p.wte, p.wpe, p.B, p.T, p.P, C);
        for (size_t j = 0; j < p.nx; j++) {
            const size_t row = j / C, i = j % C, t = row % (size_t)p.T;
            assert_near_at(x[j], p.wte[(size_t)text[row] * C + i] + p.wpe[((size_t)p.P + t) * C + i],
                           0, "x", j);
        }
    }
}

static c128 loss(const void *context)
{
    const struct problem *p = context;
    ref_embedding_forward_c128(p->xc, p->tokens, p->wtec, p->wpec, p->B, p->T, p->P, C);
    return dot_c128(p->dx, p->xc, p->nx);
}

/* Rows that no token or position names keep their bits: their derivative is 0. */
/* proves embed.dwte embed.dwpe */
static void every_entry_by_complex_step(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const struct problem p = problem(sizes[s].B, sizes[s].T, sizes[s].P);
        double *dwte = gradient(p.dwte0, NWTE), *dwpe = gradient(p.dwpe0, NWPE);
        ref_embedding_backward_f64(dwte, dwpe, p.dx, p.tokens, p.B, p.T, p.P, C);

        const step_arg args[] = { { "dwte", p.wtec, NWTE, p.dwte0, dwte, 0 },
                                  { "dwpe", p.wpec, NWPE, p.dwpe0, dwpe, 0 } };
        assert_int_equal(complex_step(loss, &p, args, 2, 10), NWTE + NWPE);

        all_same(dwte + 2 * C, p.dwte0 + 2 * C, C, "the row of an absent token");
        all_same(dwpe, p.dwpe0, (size_t)p.P * C, "the rows before P");
        const size_t end = (size_t)(p.P + p.T) * C;
        all_same(dwpe + end, p.dwpe0 + end, NWPE - end, "the rows behind P + T");

        c128 *dwtec = gradient_c128(p.dwte0, NWTE), *dwpec = gradient_c128(p.dwpe0, NWPE);
        ref_embedding_backward_c128(dwtec, dwpec, input_c128(p.dx, p.nx), p.tokens, p.B, p.T, p.P, C);
        all_near_c128(dwtec, dwte, NWTE, 0, "dwte in c128");
        all_near_c128(dwpec, dwpe, NWPE, 0, "dwpe in c128");
    }
}

static void float_within_its_bound(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const struct problem p = problem(sizes[s].B, sizes[s].T, sizes[s].P);
        double *x = output(p.nx), *dwte = gradient(p.dwte0, NWTE), *dwpe = gradient(p.dwpe0, NWPE);
        float *xf = output_f32(p.nx), *dwtef = gradient_f32(p.dwte0, NWTE), *dwpef = gradient_f32(p.dwpe0, NWPE);
        double bound[NWPE], terms[NWPE];

        ref_embedding_forward_f64(x, p.tokens, p.wte, p.wpe, p.B, p.T, p.P, C);
        ref_embedding_forward_f32(xf, p.tokens, input_f32(p.wte, NWTE), input_f32(p.wpe, NWPE), p.B, p.T, p.P, C);
        for (size_t j = 0; j < p.nx; j++) bound[j] = U32 * fabs(x[j]);
        within(xf, x, bound, p.nx, "x");

        ref_embedding_backward_f64(dwte, dwpe, p.dx, p.tokens, p.B, p.T, p.P, C);
        ref_embedding_backward_f32(dwtef, dwpef, input_f32(p.dx, p.nx), p.tokens, p.B, p.T, p.P, C);
        for (size_t j = 0; j < NWTE; j++) terms[j] = fabs(p.dwte0[j]);
        for (size_t j = 0; j < p.nx; j++) terms[(size_t)text[j / C] * C + j % C] += fabs(p.dx[j]);
        for (size_t j = 0; j < NWTE; j++) bound[j] = gamma32(p.B * p.T) * terms[j];
        within(dwtef, dwte, bound, NWTE, "dwte");
        for (size_t j = 0; j < NWPE; j++) terms[j] = fabs(p.dwpe0[j]);
        for (size_t j = 0; j < p.nx; j++)
            terms[((size_t)p.P + j / C % (size_t)p.T) * C + j % C] += fabs(p.dx[j]);
        for (size_t j = 0; j < NWPE; j++) bound[j] = gamma32(p.B) * terms[j];
        within(dwpef, dwpe, bound, NWPE, "dwpe");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(the_sum_of_two_rows),
        kernel_test(every_entry_by_complex_step),
        kernel_test(float_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

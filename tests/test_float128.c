/* test_float128.c -- the definitions in _Float128, where the build has it: 33
 * digits, so that it can judge between two gradients in double.
 *
 * Values by algebra to 1e-33; and the whole model's hand-written gradient
 * against five-point differences, both in _Float128: to 1e-24 they agree, where
 * differences in double reach 1e-11.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model_case.h"
#include "support.h"

#if VT_FLOAT128
#define VT_SCALAR 113
#include "kernels/definitions.h"

/* log 2 = 0.69314718055994530941723212145817656807550, as two doubles */
static void digits_of_log_2(void **state)
{
    (void)state;
    const scalar logits[2] = { 3, 3 };
    const int target[1] = { 1 };
    scalar loss[1], lse[1];
    REF(crossentropy_forward)(loss, lse, logits, target, 1, 1, 2);
    const scalar log2_ = (scalar)0x1.62e42fefa39efp-1 + (scalar)0x1.abc9e3b39803fp-56;
    assert_near((double)(loss[0] - log2_), 0, 1e-32);
    assert_true((double)(loss[0] - (scalar)0.6931471805599453) > 2e-17);    /* not double's */
}

/* tanh, sqrt, exp: gelu(0) = 0 and y(x) - y(-x) = x; softmax rows sum to 1;
 * a row of layer norm has square mean var / (var + eps). */
static void identities(void **state)
{
    (void)state;
    const scalar x[4] = { (scalar)1 / 3, -(scalar)1 / 3, (scalar)7 / 5, -(scalar)7 / 5 };
    scalar y[4], mean[1], rstd[1];
    REF(gelu_forward)(y, x, 4);
    assert_near((double)(y[0] - (x[0] + y[1])), 0, 1e-33);
    assert_near((double)(y[2] - (x[2] + y[3])), 0, 1e-33);
    REF(softmax_forward)(y, x, 1, 4);
    assert_near((double)(y[0] + y[1] + y[2] + y[3] - 1), 0, 1e-33);
    const scalar w[4] = { 1, 1, 1, 1 }, b[4] = { 0 };
    REF(layernorm_forward)(y, mean, rstd, x, w, b, 1, 4);
    const scalar var = (x[0] * x[0] + x[2] * x[2]) / 2;
    const scalar square = (y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3]) / 4;
    assert_near((double)(square - var / (var + (scalar)1e-5)), 0, 1e-32);
}

typedef struct quad_model {
    const model_case *c;
    gpt_model_f128 m;
    gpt_acts_f128 a;
    _Float128 *params, *head;
    void *memory;
} quad_model;

static void quad_make(quad_model *q, const model_case *c)
{
    const size_t bytes = gpt_acts_bytes_f128(&c->z, c->B, c->T, c->T, true);
    *q = (quad_model){ .c = c, .params = malloc(c->count * sizeof *q->params),
        .head = malloc((size_t)c->z.C * (size_t)c->z.V * sizeof *q->head),
        .memory = aligned_alloc(64, bytes) };
    assert_true(q->params && q->head && q->memory && bytes % 64 == 0);
    for (size_t i = 0; i < c->count; i++) q->params[i] = c->params[i];
    q->m = (gpt_model_f128){ .z = c->z, .params = q->params, .head = q->head };
    gpt_acts_place_f128(&q->a, q->memory, &c->z, c->B, c->T, c->T, true);
}

static void quad_free(quad_model *q)
{
    free(q->params);
    free(q->head);
    free(q->memory);
}

static _Float128 quad_loss(quad_model *q)
{
    _Float128 sum = 0;
    gpt_prepare_f128(&q->m);
    gpt_forward_f128(&q->m, &q->a, q->c->tokens, NULL, q->c->B, q->c->T);
    gpt_loss_f128(&q->m, &q->a, q->c->targets, 1, q->c->B, q->c->T);
    for (int n = 0; n < q->c->B * q->c->T; n++) sum += q->c->dloss[n] * q->a.loss[n];
    return sum;
}

/* (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h, h = 1e-6: truncation h^4,
 * rounding 1e-34 / h */
static _Float128 five_points(quad_model *q, size_t at)
{
    const _Float128 before = q->params[at], h = (_Float128)1e-6;
    _Float128 f[4];
    for (int k = 0; k < 4; k++) {
        q->params[at] = before + h * (k < 2 ? k - 2 : k - 1);
        f[k] = quad_loss(q);
    }
    q->params[at] = before;
    return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * h);
}

static void gradients_to_20_digits(void **state)
{
    (void)state;
    const gpt_config z = { .L = 1, .C = 4, .NH = 2, .FF = 5, .T = 3, .V = 7 };
    for (int tied = 0; tied < 2; tied++) {
        gpt_config tie = z;
        model_case c;
        quad_model q;
        tie.tied = tied;
        model_case_make(&c, &tie, 2, 3, 11);
        quad_make(&q, &c);
        _Float128 *grads = calloc(c.count, sizeof *grads), dloss[6];
        double *g64 = malloc(c.count * sizeof *g64);
        assert_true(grads && g64);
        for (int n = 0; n < 6; n++) dloss[n] = c.dloss[n];
        (void)quad_loss(&q);
        gpt_backward_f128(&q.m, &q.a, grads, c.tokens, c.targets, dloss, 2, 3);
        model_case_f64(&c, g64);
        size_t compared = 0;
        double beyond = 0;
        for (size_t i = 0; i < c.count; i++, compared++) {
            assert_near_at((double)(grads[i] - five_points(&q, i)), 0, 1e-20, "gradient", i);
            assert_near_at((double)(grads[i] - (_Float128)g64[i]), 0, 1e-13, "in double", i);
            beyond += fabs((double)(grads[i] - (_Float128)g64[i]));
        }
        assert_int_equal(compared, gpt_parameter_count(&tie));
        assert_true(beyond > 1e-18);        /* it holds more digits than double */
        free(g64);
        free(grads);
        quad_free(&q);
        model_case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_of_log_2),
        cmocka_unit_test(identities),
        cmocka_unit_test(gradients_to_20_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
static void no_float128(void **state)
{
    (void)state;
    print_message("# this compiler or C library has no _Float128\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_float128) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

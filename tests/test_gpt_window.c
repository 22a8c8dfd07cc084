/* test_gpt_window.c -- a window's stages, each under its name.
 *
 * The parameters' gradients have the bits of the model's one backward pass, whose
 * gradients test_gpt.c proves by complex step.  The gradients inside are held to
 * them by the chain rule: each is one side of an equation whose other side is
 * known.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/gpt_window.h"
#include "model_case.h"
#include "support.h"

static const gpt_config small = { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11 };
enum { SEQ = 4 };

typedef struct fixture {
    model_case c;
    float     *params;
    gpt_window w;
} fixture;

static void begin(fixture *f, const gpt_config *z)
{
    vt_error err;
    model_case_make(&f->c, z, 1, SEQ, 11);
    f->params = malloc(f->c.count * sizeof *f->params);
    for (size_t i = 0; i < f->c.count; i++) {           /* as a checkpoint holds them */
        f->params[i] = (float)f->c.params[i];
        f->c.params[i] = (double)f->params[i];
    }
    assert_int_equal(gpt_window_new(&f->w, z, f->params, SEQ, &err), VT_OK);
    assert_int_equal(gpt_window_run(&f->w, f->c.tokens, f->c.targets, &err), VT_OK);
}

static void end(fixture *f)
{
    gpt_window_free(&f->w);
    free(f->params);
    model_case_free(&f->c);
}

static const double *stage(const fixture *f, int layer, const char *name)
{
    char full[40];
    if (layer < 0) snprintf(full, sizeof full, "%s", name);
    else snprintf(full, sizeof full, "h.%d.%s", layer, name);
    const gpt_stage *s = gpt_window_find(&f->w, full);
    if (!s) fail_msg("no stage %s", full);
    return s->data;
}

static const double *gradient(const fixture *f, int layer, const char *name)
{
    char full[40];
    if (layer < 0) snprintf(full, sizeof full, "grad.%s", name);
    else snprintf(full, sizeof full, "grad.h.%d.%s", layer, name);
    return stage(f, -1, full);
}

/* out[i][j] = sum_t a[t][i] b[t][j]: what a weight's gradient is. */
static void assert_product(const double *out, const double *a, const double *b, int T, int n, int m)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int t = 0; t < T; t++) sum += a[t * n + i] * b[t * m + j];
            assert_near_at(out[i * m + j], sum, 1e-15, "a weight's gradient", (size_t)(i * m + j));
        }
}

static void the_loss_and_every_gradient_are_the_models(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        fixture f;
        gpt_config z = small;
        z.tied = tied;
        begin(&f, &z);
        size_t counted = 0;
        for (int t = 0; t < SEQ; t++) counted += f.c.targets[t] != VT_IGNORE;
        assert_int_equal(counted, SEQ - 1);
        for (int t = 0; t < SEQ; t++) f.c.dloss[t] = 1 / (double)counted;
        double *g = malloc(f.c.count * sizeof *g);
        const double loss = model_case_f64(&f.c, g);
        assert_near(f.w.loss, loss, 1e-15);
        assert_memory_equal(f.w.grads, g, f.c.count * sizeof *g);
        free(g);
        end(&f);
    }
}

static void gradients_inside_obey_the_chain_rule(void **state)
{
    (void)state;
    const int C = small.C, FF = small.FF, V = small.V;
    const size_t row = (size_t)SEQ * (size_t)small.C * sizeof(double);
    fixture f;
    begin(&f, &small);
    assert_product(gradient(&f, -1, "headw"), stage(&f, -1, "lnf"), stage(&f, -1, "dlogits"),
                   SEQ, C, V);
    for (int l = 0; l < small.L; l++) {
        assert_product(gradient(&f, l, "fcprojw"), stage(&f, l, "gelu"), stage(&f, l, "dfcproj"),
                       SEQ, FF, C);
        assert_product(gradient(&f, l, "fcw"), stage(&f, l, "ln2"), stage(&f, l, "dfc"), SEQ, C, FF);
        assert_product(gradient(&f, l, "attprojw"), stage(&f, l, "values"),
                       stage(&f, l, "dattproj"), SEQ, C, C);
        /* A sum hands its gradient on as it is. */
        assert_memory_equal(stage(&f, l, "dfcproj"), stage(&f, l, "dres2"), row);
        assert_memory_equal(stage(&f, l, "dattproj"), stage(&f, l, "dres1"), row);
        for (int i = 0; i < C; i++) {
            /* A bias gets the sum of its column. */
            double q = 0, k = 0, v = 0, b1 = 0, b2 = 0;
            for (int t = 0; t < SEQ; t++) {
                q += stage(&f, l, "dq")[t * C + i];
                k += stage(&f, l, "dk")[t * C + i];
                v += stage(&f, l, "dv")[t * C + i];
                b1 += stage(&f, l, "dln1")[t * C + i];
                b2 += stage(&f, l, "dln2")[t * C + i];
            }
            const double *b = gradient(&f, l, "qkvb");
            assert_near(b[i], q, 1e-15);
            assert_near(b[C + i], k, 1e-15);
            assert_near(b[2 * C + i], v, 1e-15);
            assert_near(gradient(&f, l, "ln1b")[i], b1, 1e-15);
            assert_near(gradient(&f, l, "ln2b")[i], b2, 1e-15);
        }
    }
    assert_memory_equal(stage(&f, 1, "dx"), stage(&f, 0, "dres2"), row);
    assert_memory_equal(stage(&f, 0, "dx"), stage(&f, -1, "dembedded"), row);
    assert_memory_equal(gradient(&f, -1, "wpe"), stage(&f, -1, "dembedded"), row);
    end(&f);
}

static void attention_keeps_its_laws(void **state)
{
    (void)state;
    const int C = small.C, NH = small.NH, HS = C / NH;
    fixture f;
    begin(&f, &small);
    for (int l = 0; l < small.L; l++)
        for (int h = 0; h < NH; h++)
            for (int t = 0; t < SEQ; t++) {
                const size_t at = (size_t)(h * SEQ + t) * SEQ;
                double weights = 0, scores = 0;
                for (int u = 0; u < SEQ; u++) {
                    weights += stage(&f, l, "att")[at + (size_t)u];
                    scores += stage(&f, l, "dscaled")[at + (size_t)u];
                    if (u > t) {
                        assert_true(stage(&f, l, "att")[at + (size_t)u] == 0);
                        assert_true(stage(&f, l, "dscaled")[at + (size_t)u] == 0);
                        assert_true(stage(&f, l, "masked")[at + (size_t)u] == (double)-INFINITY);
                    }
                    double dot = 0;
                    for (int i = h * HS; i < (h + 1) * HS; i++)
                        dot += stage(&f, l, "dvalues")[t * C + i] * stage(&f, l, "v")[u * C + i];
                    assert_near(stage(&f, l, "datt")[at + (size_t)u], dot, 1e-15);
                }
                assert_near(weights, 1, 1e-15);
                assert_near(scores, 0, 1e-16);
            }
    end(&f);
}

static void names_stand_once_and_in_order(void **state)
{
    (void)state;
    fixture f;
    begin(&f, &small);
    assert_int_equal(f.w.count, gpt_window_stages(&small));
    assert_string_equal(f.w.stages[0].name, "embedded");
    assert_string_equal(f.w.stages[1].name, "h.0.ln1");
    assert_string_equal(f.w.stages[21].name, "h.1.ln1");
    assert_string_equal(f.w.stages[46].name, "dlogits");
    assert_string_equal(f.w.stages[48].name, "h.1.dres2");
    assert_string_equal(f.w.stages[78].name, "dembedded");
    assert_string_equal(f.w.stages[79].name, "grad.wte");
    for (size_t i = 0; i < f.w.count; i++) {
        const gpt_stage *s = &f.w.stages[i];
        assert_ptr_equal(gpt_window_find(&f.w, s->name), s);
        assert_int_equal(s->count, s->shape[0] * s->shape[1] * s->shape[2]);
    }
    end(&f);
}

static void a_second_run_has_the_same_bits(void **state)
{
    (void)state;
    fixture f;
    vt_error err;
    begin(&f, &small);
    double *first = malloc(sizeof *first * f.c.count);
    const gpt_stage *s = gpt_window_find(&f.w, "h.0.dx");
    double *dx = malloc(s->count * sizeof *dx);
    memcpy(first, f.w.grads, sizeof *first * f.c.count);
    memcpy(dx, s->data, s->count * sizeof *dx);
    assert_int_equal(gpt_window_run(&f.w, f.c.tokens, f.c.targets, &err), VT_OK);
    assert_memory_equal(first, f.w.grads, sizeof *first * f.c.count);
    assert_memory_equal(dx, s->data, s->count * sizeof *dx);
    free(dx);
    free(first);
    end(&f);
}

static void what_cannot_be_run_is_refused(void **state)
{
    (void)state;
    fixture f;
    gpt_window other;
    vt_error err;
    const int none[SEQ] = { -1, -1, -1, -1 };
    begin(&f, &small);
    assert_int_equal(gpt_window_run(&f.w, f.c.tokens, none, &err), VT_BAD_INPUT);
    assert_non_null(strstr(err.text, "no targets"));
    f.c.tokens[2] = small.V;
    assert_int_equal(gpt_window_run(&f.w, f.c.tokens, f.c.targets, &err), VT_BAD_INPUT);
    assert_non_null(strstr(err.text, "position 2: id 11"));
    assert_int_equal(gpt_window_new(&other, &small, f.params, small.T + 1, &err), VT_USAGE);
    assert_int_equal(gpt_window_new(&other, &small, f.params, 0, &err), VT_USAGE);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_and_every_gradient_are_the_models),
        cmocka_unit_test(gradients_inside_obey_the_chain_rule),
        cmocka_unit_test(attention_keeps_its_laws),
        cmocka_unit_test(names_stand_once_and_in_order),
        cmocka_unit_test(a_second_run_has_the_same_bits),
        cmocka_unit_test(what_cannot_be_run_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

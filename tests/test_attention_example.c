/* test_attention_example.c -- the site's attention layer: every golden tensor,
 * every gradient by complex step, at the example's sizes and at others. */
#include "support.h"
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "lab/attention_example.h"

typedef struct layer { int T, C, H; size_t count; double *at; } layer;

static layer layer_new(int T, int C, int H)
{
    layer l = { T, C, H, attention_example_count(T, C, H), NULL };
    assert_true(l.count > 0);
    l.at = malloc(l.count * sizeof *l.at);
    assert_non_null(l.at);
    for (size_t i = 0; i < l.count; i++) l.at[i] = NAN;     /* what is not written shows */
    return l;
}

static attention_example_info info(const layer *l, const char *name)
{
    attention_example_info t;
    for (int i = 0; attention_example_tensor(&t, i, l->T, l->C, l->H); i++)
        if (strcmp(t.name, name) == 0) return t;
    fail_msg("no tensor %s", name);
    return t;
}

static double *tensor(const layer *l, const char *name) { return l->at + info(l, name).offset; }

static void run(layer *l)
{
    attention_example_forward_f64(l->at, l->T, l->C, l->H);
    attention_example_backward_f64(l->at, l->T, l->C, l->H);
}

/* ---- the golden tensors ------------------------------------------------ */

static const struct { const char *ours, *golden; } names[] = {
    { "Xn", "inputs.Xn" }, { "dOut", "inputs.dOut" }, { "Wq", "inputs.wq" }, { "bq", "inputs.bq" },
    { "Wk", "inputs.wk" }, { "bk", "inputs.bk" }, { "Wv", "inputs.wv" }, { "bv", "inputs.bv" },
    { "Wo", "inputs.wo" }, { "bo", "inputs.bo" },
    { "Q", "forward.Q" }, { "K", "forward.K" }, { "V", "forward.V" }, { "scores", "forward.QKt" },
    { "scaled", "forward.S_scaled" }, { "masked", "forward.S_masked" }, { "A", "forward.A" },
    { "O", "forward.O" }, { "out", "forward.out" },
    { "dWo", "backward.dwo" }, { "dbo", "backward.dbo" }, { "dA", "backward.dA" },
    { "dS", "backward.dS" }, { "dWq", "backward.dwq" }, { "dbq", "backward.dbq" },
    { "dWk", "backward.dwk" }, { "dbk", "backward.dbk" }, { "dWv", "backward.dwv" },
    { "dbv", "backward.dbv" }, { "dXn", "backward.dXn" },
};
enum { NAMES = sizeof names / sizeof *names, INPUTS = 10, GOLDEN_MOST = 128 };

/* Of the file, these are kept with the heads apart: (H, T, HS). */
static const struct { const char *ours, *golden; } by_head[] = {
    { "Q", "forward.Qh" }, { "K", "forward.Kh" }, { "V", "forward.Vh" }, { "O", "forward.AV" },
    { "dO", "backward.dOh" }, { "dQ", "backward.dQh" }, { "dK", "backward.dKh" },
    { "dV", "backward.dVh" },
};

static size_t numbers(const json_t *root, const char *path, double out[GOLDEN_MOST])
{
    char part[16];
    const char *dot = strchr(path, '.');
    snprintf(part, sizeof part, "%.*s", (int)(dot - path), path);
    const json_t *value = json_object_get(json_object_get(root, part), dot + 1);
    if (!value) fail_msg("the golden file has no %s", path);
    return golden_numbers(value, out, GOLDEN_MOST);
}

static layer golden_layer(json_t *root)
{
    layer l = layer_new((int)json_integer_value(json_object_get(root, "T")),
                        (int)json_integer_value(json_object_get(root, "d")),
                        (int)json_integer_value(json_object_get(root, "H")));
    for (size_t i = 0; i < INPUTS; i++) {
        const attention_example_info t = info(&l, names[i].ours);
        double values[GOLDEN_MOST];
        assert_int_equal(t.part, ATTENTION_INPUT);
        assert_int_equal(numbers(root, names[i].golden, values), t.count);
        memcpy(l.at + t.offset, values, t.count * sizeof *values);
    }
    return l;
}

/* proves attn.dwq attn.dbq attn.dwk attn.dwv attn.dbv attn.dxn */
/* proves attn.q attn.k attn.v block.att attn.out attn.do attn.dwo attn.dbo block.datt */
static void golden_tensors(void **state)
{
    (void)state;
    json_t *root = golden("attention_example.json");
    layer l = golden_layer(root);
    size_t compared = 0;
    run(&l);
    for (size_t i = 0; i < NAMES; i++) {
        const attention_example_info t = info(&l, names[i].ours);
        double expected[GOLDEN_MOST];
        assert_int_equal(numbers(root, names[i].golden, expected), t.count);
        for (size_t k = 0; k < t.count; k++, compared++) {
            const double ours = l.at[t.offset + k];
            /* dbk is round-off around 0: no digit of it is right or wrong. */
            if (strcmp(t.name, "dbk") == 0) assert_near_at(ours, 0, 1e-16, t.name, k);
            else if (isinf(expected[k])) assert_true(ours == expected[k]);
            else assert_near_at(ours, expected[k], 1e-15, t.name, k);
        }
    }
    const size_t rows = 24, weights = 16 + 4, cells = 72;
    assert_int_equal(compared, (2 * rows + 4 * weights) + (5 * rows + 4 * cells)
                               + (4 * weights + 2 * cells + rows));
    const int HS = l.C / l.H;
    for (size_t i = 0; i < sizeof by_head / sizeof *by_head; i++) {
        double expected[GOLDEN_MOST];
        assert_int_equal(numbers(root, by_head[i].golden, expected), l.T * l.C);
        for (int h = 0; h < l.H; h++) for (int t = 0; t < l.T; t++) for (int c = 0; c < HS; c++)
            assert_near_at(tensor(&l, by_head[i].ours)[t * l.C + h * HS + c],
                           expected[(h * l.T + t) * HS + c], 1e-15, by_head[i].ours, 0);
    }
    free(l.at);
    json_decref(root);
}

/* A masked cell has weight 0 and passes no gradient on, whatever dA says. */
static void masked_cells(void **state)
{
    (void)state;
    json_t *root = golden("attention_example.json");
    layer l = golden_layer(root);
    int masked = 0;
    run(&l);
    for (int h = 0; h < l.H; h++) for (int t = 0; t < l.T; t++) for (int u = t + 1; u < l.T; u++) {
        const int at = (h * l.T + t) * l.T + u;
        assert_true(tensor(&l, "masked")[at] == -(double)INFINITY);
        assert_true(tensor(&l, "A")[at] == 0 && tensor(&l, "dS")[at] == 0);
        assert_true(tensor(&l, "dA")[at] != 0);
        masked++;
    }
    assert_int_equal(masked, 30);
    free(l.at);
    json_decref(root);
}

/* ---- derivatives ------------------------------------------------------- */

static const struct { const char *input, *gradient; } pairs[] = {
    { "Xn", "dXn" }, { "Wq", "dWq" }, { "bq", "dbq" }, { "Wk", "dWk" }, { "bk", "dbk" },
    { "Wv", "dWv" }, { "bv", "dbv" }, { "Wo", "dWo" }, { "bo", "dbo" }, { "dOut", "out" },
};

/* Of every input, dOut among them: d loss / d dOut is out. */
static size_t complex_step(layer *l, double most)
{
    double _Complex *z = malloc(l->count * sizeof *z);
    size_t compared = 0;
    assert_non_null(z);
    for (size_t i = 0; i < l->count; i++) z[i] = NAN;
    for (size_t i = 0; i < info(l, "Q").offset; i++) z[i] = l->at[i];
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        const attention_example_info x = info(l, pairs[p].input), g = info(l, pairs[p].gradient);
        assert_int_equal(x.count, g.count);
        for (size_t i = 0; i < x.count; i++, compared++) {
            const double h = 1e-30;
            z[x.offset + i] = l->at[x.offset + i] + h * I;
            attention_example_forward_c128(z, l->T, l->C, l->H);
            assert_near_at(cimag(attention_example_loss_c128(z, l->T, l->C, l->H)) / h,
                           l->at[g.offset + i], most, g.name, i);
            z[x.offset + i] = l->at[x.offset + i];
        }
    }
    free(z);
    return compared;
}

/* proves attn.dwq attn.dbq attn.dwk attn.dbk attn.dwv attn.dbv attn.dxn attn.dwo attn.dbo attn.loss */
static void example_by_complex_step(void **state)
{
    (void)state;
    json_t *root = golden("attention_example.json");
    layer l = golden_layer(root);
    run(&l);
    assert_int_equal(complex_step(&l, 1e-15), 2 * 24 + 4 * 16 + 4 * 4);
    free(l.at);
    json_decref(root);
}

/* Inputs of size 1, up to 7 x 6: sums of some 40 terms, of size 10 at most. */
static void others_by_complex_step(void **state)
{
    static const int sizes[][3] = { { 1, 1, 1 }, { 1, 6, 2 }, { 5, 6, 3 }, { 7, 2, 1 }, { 3, 5, 5 } };
    (void)state;
    rng r;
    rng_seed(&r, 11);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        layer l = layer_new(sizes[k][0], sizes[k][1], sizes[k][2]);
        for (size_t i = 0; i < info(&l, "Q").offset; i++) l.at[i] = rng_normal(&r);
        run(&l);
        for (size_t i = 0; i < l.count; i++) assert_true(l.at[i] == l.at[i]);
        const int T = l.T, C = l.C;
        assert_int_equal(complex_step(&l, 1e-13), 2 * T * C + 4 * C * C + 4 * C);
        free(l.at);
    }
}

/* The three paths, by their own sums: dXq[t,i] = sum_o dQ[t,o] Wq[i,o]. */
/* proves attn.dxn */
static void paths(void **state)
{
    static const char *const of[][3] = { { "dXq", "dQ", "Wq" }, { "dXk", "dK", "Wk" },
                                         { "dXv", "dV", "Wv" } };
    (void)state;
    json_t *root = golden("attention_example.json");
    layer l = golden_layer(root);
    run(&l);
    for (int t = 0; t < l.T; t++) for (int i = 0; i < l.C; i++) {
        double all = 0;
        for (int p = 0; p < 3; p++) {
            double sum = 0;
            for (int o = 0; o < l.C; o++)
                sum += tensor(&l, of[p][1])[t * l.C + o] * tensor(&l, of[p][2])[i * l.C + o];
            assert_near_at(tensor(&l, of[p][0])[t * l.C + i], sum, 1e-15, of[p][0], 0);
            all += sum;
        }
        assert_near(tensor(&l, "dXn")[t * l.C + i], all, 1e-15);
    }
    free(l.at);
    json_decref(root);
}

/* In float: numbers below 2.6, each some 30 roundings of 2^-24 away. */
static void in_float(void **state)
{
    (void)state;
    json_t *root = golden("attention_example.json");
    layer l = golden_layer(root);
    float *f = malloc(l.count * sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < l.count; i++) f[i] = (float)l.at[i];
    run(&l);
    attention_example_forward_f32(f, l.T, l.C, l.H);
    attention_example_backward_f32(f, l.T, l.C, l.H);
    for (size_t i = 0; i < l.count; i++)
        if (isinf(l.at[i])) assert_true((double)f[i] == l.at[i]);
        else assert_near_at((double)f[i], l.at[i], 5e-6, "float", i);
    assert_near((double)attention_example_loss_f32(f, l.T, l.C, l.H),
                attention_example_loss_f64(l.at, l.T, l.C, l.H), 5e-6);
    free(f);
    free(l.at);
    json_decref(root);
}

/* ---- shapes ------------------------------------------------------------ */

static void shapes(void **state)
{
    (void)state;
    size_t at = 0;
    int n = 0;
    attention_example_info t;
    for (; attention_example_tensor(&t, n, 6, 4, 2); n++) {
        assert_int_equal(t.offset, at);
        size_t count = 1;
        for (int i = 0; i < t.rank; i++) count *= (size_t)t.shape[i];
        assert_int_equal(t.count, count);
        at += count;
    }
    assert_int_equal(n, ATTENTION_EXAMPLE_TENSORS);
    assert_int_equal(attention_example_count(6, 4, 2), at);
    assert_false(attention_example_tensor(&t, -1, 6, 4, 2));
}

static void refused_sizes(void **state)
{
    static const int sizes[][3] = { { 0, 4, 2 }, { 6, 0, 1 }, { 6, 4, 0 }, { 6, 4, 3 }, { -6, 4, 2 },
                                    { 6, -4, 2 }, { 6, 4, -2 }, { 1 << 16, 4, 2 },
                                    { 6, 1 << 16, 1 }, { INT32_MAX, INT32_MAX, 1 } };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_int_equal(attention_example_count(sizes[i][0], sizes[i][1], sizes[i][2]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_tensors),
        cmocka_unit_test(masked_cells),
        cmocka_unit_test(example_by_complex_step),
        cmocka_unit_test(others_by_complex_step),
        cmocka_unit_test(paths),
        cmocka_unit_test(in_float),
        cmocka_unit_test(shapes),
        cmocka_unit_test(refused_sizes),
    };
    return cmocka_run_group_tests_name("attention_example", tests, NULL, NULL);
}

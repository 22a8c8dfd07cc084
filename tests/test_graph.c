/* test_graph.c -- operators as graphs of definitions: their gradients by complex step, the
 * whole model against its wiring, the code lab against PyTorch's tensors; names and places
 * of elements, and what is refused.
 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model_case.h"
#include "support.h"
#include "verify/op/op_case.h"

typedef double _Complex c128;

/* ---- every entry by complex step --------------------------------------------------- */

static const graph_sizes shapes[] = {
    { .N = 3, .C = 5, .OC = 4, .V = 7, .B = 2, .T = 3, .S = 5, .NH = 2, .HS = 3, .FF = 5, .L = 2,
      .causal = true, .temperature = 1 },
    { .N = 4, .C = 3, .OC = 2, .V = 5, .B = 2, .T = 4, .S = 3, .NH = 3, .HS = 2, .FF = 7, .L = 1,
      .masked = true, .temperature = 0.5 },
    { .N = 5, .C = 2, .OC = 7, .V = 3, .B = 3, .T = 4, .S = 6, .NH = 2, .HS = 5, .FF = 3, .L = 1,
      .causal = true, .masked = true, .untied = true, .temperature = 2 },
    { .N = 2, .C = 7, .OC = 1, .V = 4, .B = 2, .T = 1, .S = 3, .NH = 2, .HS = 2, .FF = 3, .L = 2,
      .causal = true, .temperature = 0.7 },
    { .N = 1, .C = 1, .OC = 3, .V = 1, .B = 1, .T = 5, .S = 7, .NH = 1, .HS = 3, .FF = 1, .L = 1,
      .temperature = 1 },
    { .N = 1, .C = 1, .OC = 1, .V = 1, .B = 1, .T = 1, .S = 1, .NH = 1, .HS = 1, .FF = 1, .L = 1,
      .causal = true, .temperature = 1 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* sum dout out, with one element of the inputs moved by ih. */
static double slope(const op_case *c, c128 *x, size_t moved)
{
    const double h = 1e-30;
    c128 sum = 0;
    for (size_t k = 0; k < c->g.reals; k++) x[k] = (double)NAN;
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t k = t->at; t->role == GRAPH_INPUT && k < t->at + t->count; k++) x[k] = c->x[k];
    }
    x[moved] += h * (c128)I;
    graph_forward_c128(&c->g, x, c->ints, 0);
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t k = t->at; t->upstream && k < t->at + t->count; k++) sum += c->dout[k] * x[k];
    }
    return cimag(sum) / h;
}

/* Both sides round: the hand-written gradient by no more than its bound, which knows where
 * much cancels, and the complex step much as that; u of the largest derivative besides. */
static size_t every_entry(const op_case *c)
{
    const double u = 0x1p-53;
    size_t compared = 0;
    c128 *x = malloc(c->g.reals * sizeof *x);
    double *slopes = malloc(c->g.reals * sizeof *slopes);
    assert_true(x && slopes);
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t k = t->at; t->role == GRAPH_INPUT && k < t->at + t->count; k++)
            slopes[k] = slope(c, x, k);
    }
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        double most = 0;
        if (t->role != GRAPH_INPUT) continue;
        for (size_t k = t->at; k < t->at + t->count; k++) most = fmax(most, fabs(slopes[k]));
        for (size_t k = t->at; k < t->at + t->count; k++, compared++)
            assert_near_at(c->dx[k], slopes[k], 2 * c->edx[k] + 30 * u * most, t->name, k - t->at);
    }
    free(x);
    free(slopes);
    return compared;
}

static void every_gradient_by_complex_step(void **state)
{
    (void)state;
    for (int op = VT_OP_SOFTMAX; op <= VT_OP_LAB; op++) {
        size_t compared = 0;
        for (int i = 0; i < SHAPES; i++) {
            graph_sizes z = shapes[i];
            op_case c;
            size_t inputs = 0;
            z.op = op;
            if (op == VT_OP_ATTENTION && z.causal && !z.masked && z.S < z.T) z.S = z.T;
            if (op == VT_OP_GPT && z.S < z.T) z.S = z.T + 1;
            assert_ok(op_case_draw(&c, &z, PRECISION_F64, 1, (uint64_t)i, &test_error));
            for (int k = 0; k < c.g.nin; k++)
                if (c.g.tensor[c.g.in[k]].role == GRAPH_INPUT) inputs += c.g.tensor[c.g.in[k]].count;
            assert_int_equal(every_entry(&c), inputs);
            compared += inputs;
            op_case_free(&c);
        }
        print_message("# %-12s %zu entries\n", graph_op_name(op), compared);
        assert_true(compared > 10);
    }
}

/* Backward adds: from `start` on it ends at start + dx, to the rounding of the sums. */
static void backward_adds(void **state)
{
    (void)state;
    for (int op = VT_OP_SOFTMAX; op <= VT_OP_LAB; op++) {
        graph_sizes z = shapes[0];
        op_case c;
        z.op = op;
        assert_ok(op_case_draw(&c, &z, PRECISION_F64, 1, 3, &test_error));
        double *dx = malloc(c.g.reals * sizeof *dx);
        size_t moved = 0;
        assert_non_null(dx);
        for (size_t k = 0; k < c.g.reals; k++) dx[k] = c.start[k] + c.dout[k];
        graph_backward_f64(&c.g, dx, c.x, c.ints);
        for (int i = 0; i < c.g.nin; i++) {
            const graph_tensor *t = &c.g.tensor[c.g.in[i]];
            for (size_t k = t->at; t->role == GRAPH_INPUT && k < t->at + t->count; k++) {
                assert_near_at(dx[k], c.start[k] + c.dx[k], 1e-13 * (1 + fabs(c.start[k]) + fabs(c.dx[k])), t->name, k - t->at);
                moved += fabs(c.start[k]) > 1e-6;
            }
        }
        assert_true(moved > 2);
        free(dx);
        op_case_free(&c);
    }
}

/* ---- the whole model against its wiring ------------------------------------------------ */

static void a_gpt_has_its_wirings_bits(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        const gpt_config config = { .L = 2, .C = 6, .NH = 3, .FF = 5, .T = 7, .V = 11, .tied = tied };
        graph_sizes z = { .op = VT_OP_GPT, .B = 2, .T = 4, .S = 7, .NH = 3, .HS = 2, .FF = 5, .L = 2,
                          .V = 11, .untied = !tied, .temperature = 1 };
        graph g;
        model_case m;
        model_case_make(&m, &config, 2, 4, 17);
        assert_ok(graph_build(&g, &z, &test_error));
        assert_int_equal(z.C, 6);
        double *x = calloc(g.reals, sizeof *x), *dx = calloc(g.reals, sizeof *dx);
        double *grads = calloc(m.count, sizeof *grads), sum = 0;
        int *ints = calloc(g.ints, sizeof *ints);
        size_t p = 0;
        assert_true(x && dx && grads && ints);
        for (size_t k = 0; k < g.reals; k++) x[k] = (double)NAN;
        for (int i = 2; i < g.nin; i++)             /* behind tokens and targets: tensors.def's order */
            for (size_t k = 0; k < g.tensor[g.in[i]].count; k++) x[g.tensor[g.in[i]].at + k] = m.params[p++];
        assert_int_equal(p, m.count);
        memcpy(ints + g.tensor[g.in[VT_GPT_TOKENS]].at, m.tokens, 8 * sizeof *ints);
        memcpy(ints + g.tensor[g.in[VT_GPT_TARGETS]].at, m.targets, 8 * sizeof *ints);
        const graph_tensor *loss = &g.tensor[g.out[0]];
        memcpy(dx + loss->at, m.dloss, 8 * sizeof *dx);
        graph_forward_f64(&g, x, ints, 0);
        graph_backward_f64(&g, dx, x, ints);
        for (int n = 0; n < 8; n++) sum += m.dloss[n] * x[loss->at + (size_t)n];
        const double want = model_case_f64(&m, grads);
        assert_memory_equal(&sum, &want, sizeof sum);
        p = 0;
        for (int i = 2; i < g.nin; i++)
            for (size_t k = 0; k < g.tensor[g.in[i]].count; k++, p++)
                if (memcmp(&dx[g.tensor[g.in[i]].at + k], &grads[p], sizeof *grads) != 0)
                    fail_msg("%s[%zu]: %.17g, expected the bits of %.17g", g.tensor[g.in[i]].name, k,
                             dx[g.tensor[g.in[i]].at + k], grads[p]);
        assert_int_equal(p, m.count);
        free(x);
        free(dx);
        free(grads);
        free(ints);
        graph_free(&g);
        model_case_free(&m);
    }
}

/* ---- the code lab against PyTorch's tensors --------------------------------------------- */

static const double *numbers(const json_t *object, const char *name, size_t count)
{
    static double x[128];
    const json_t *value = json_object_get(object, name);
    assert_non_null(value);
    assert_true(count <= 128);
    assert_int_equal(golden_numbers(value, x, 128), count);
    return x;
}

static const char *const lab_inputs[] = { "X", "Wq", "Wk", "Wv", "Wo" };    /* in[] */

static vt_status fill_lab(op_case *c, void *context, vt_error *err)
{
    const json_t *golden_case = context;
    (void)err;
    for (int i = 0; i < 5; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        memcpy(c->x + t->at, numbers(json_object_get(golden_case, "inputs"), lab_inputs[i], t->count),
               t->count * sizeof *c->x);
    }
    for (size_t k = 0; k < 6; k++)
        c->ints[c->g.tensor[c->g.in[VT_LAB_OP_TARGET]].at + k] =
            (int)json_integer_value(json_array_get(json_object_get(golden_case, "targets"), k));
    c->dout[c->g.tensor[c->g.out[VT_LAB_OUT_LOSS]].at] = 1;
    return VT_OK;
}

static void the_lab_has_pytorchs_tensors(void **state)
{
    (void)state;
    static const char *const names[] = { "one_head", "two_heads", "temperature_half", "temperature_two" };
    json_t *root = golden("lab_seed0.json");
    size_t compared = 0;
    for (size_t n = 0; n < 4; n++) {
        json_t *it = json_object_get(root, names[n]);
        const int heads = (int)json_integer_value(json_object_get(it, "heads"));
        const graph_sizes z = { .op = VT_OP_LAB, .T = 6, .C = 8, .NH = heads, .HS = 4 / heads, .V = 10,
                                .temperature = json_number_value(json_object_get(it, "temperature")) };
        op_case c;
        assert_ok(op_case_given(&c, &z, PRECISION_F64, fill_lab, it, &test_error));
        const char *const outs[] = { "P", "O", "logits" };
        for (int i = 0; i < 3; i++) {
            const graph_tensor *t = &c.g.tensor[c.g.out[i]];
            const double *want = numbers(it, outs[i], t->count);
            for (size_t k = 0; k < t->count; k++, compared++) assert_near_at(c.x[t->at + k], want[k], 1e-12, outs[i], k);
        }
        const double loss = c.x[c.g.tensor[c.g.out[VT_LAB_OUT_LOSS]].at];
        assert_near(loss, json_number_value(json_object_get(it, "loss")), 1e-12);
        if (n == 0) assert_near(loss, 3.361272, 5e-7);
        for (int i = 0; i < 5; i++) {
            const graph_tensor *t = &c.g.tensor[c.g.in[i]];
            char name[8] = "d";
            strcat(name, lab_inputs[i]);
            const double *want = numbers(json_object_get(it, "gradients"), name, t->count);
            for (size_t k = 0; k < t->count; k++, compared++) assert_near_at(c.dx[t->at + k], want[k], 1e-12, name, k);
        }
        op_case_free(&c);
    }
    json_decref(root);
    assert_int_equal(compared, 4 * (184 + 24 + 60) + 5 * 36);
}

/* ---- names, places, layout ----------------------------------------------------------------- */

static void names_and_places(void **state)
{
    (void)state;
    graph_sizes z = { .op = VT_OP_ATTENTION, .B = 2, .T = 3, .S = 4, .NH = 5, .HS = 6 };
    graph g;
    char text[96], brief[8];
    assert_ok(graph_build(&g, &z, &test_error));
    const graph_tensor *q = &g.tensor[graph_find(&g, "q")], *k = &g.tensor[graph_find(&g, "k")];
    const size_t e = ((1 * 3 + 2) * 5 + 4) * 6 + 3;     /* b 1, t 2, h 4, i 3 */
    graph_entry(text, sizeof text, q, e);
    assert_string_equal(text, "batch 1, query 2, head 4, channel 3");
    graph_index(text, sizeof text, q, e);
    assert_string_equal(text, "q[1, 2, 4, 3]");
    graph_entry(text, sizeof text, k, k->count - 1);
    assert_string_equal(text, "batch 1, key 3, head 4, channel 5");
    graph_index(brief, sizeof brief, q, e);
    assert_string_equal(brief, "q[1, 2,");              /* cut, not overrun */
    graph_entry(brief, sizeof brief, q, e);
    assert_string_equal(brief, "batch 1");
    assert_int_equal(graph_find(&g, "nothing"), -1);
    assert_true(graph_find(&g, "mask") >= 0);           /* neither causal nor masked: all ones */
    assert_int_equal(g.in[VT_ATTENTION_MASK], graph_find(&g, "mask"));
    graph_free(&g);

    z = (graph_sizes){ .op = VT_OP_LAB, .T = 6, .C = 8, .NH = 1, .HS = 4, .V = 10, .temperature = 1 };
    assert_ok(graph_build(&g, &z, &test_error));
    graph_entry(text, sizeof text, &g.tensor[g.out[VT_LAB_OUT_LOSS]], 0);
    assert_string_equal(text, "its only element");
    graph_free(&g);

    z = (graph_sizes){ .op = VT_OP_GPT, .B = 1, .T = 2, .S = 3, .NH = 1, .HS = 2, .FF = 3, .V = 5, .L = 2 };
    z.temperature = 1;
    assert_ok(graph_build(&g, &z, &test_error));
    assert_int_equal(g.nin, VT_GPT_LAYERS + 2 * VT_GPT_LAYER_TENSORS + 2);
    assert_string_equal(g.tensor[g.in[VT_GPT_WTE]].name, "wte.weight");
    assert_string_equal(g.tensor[g.in[VT_GPT_LAYERS + VT_GPT_LAYER_TENSORS + 2]].name, "h.1.attn.c_attn.weight");
    assert_int_equal(g.tensor[g.in[VT_GPT_LAYERS + VT_GPT_LAYER_TENSORS + 2]].layer, 1);
    assert_int_equal(g.tensor[g.in[VT_GPT_WTE]].layer, -1);
    assert_string_equal(g.tensor[g.in[g.nin - 1]].name, "ln_f.bias");
    graph_free(&g);

    for (int op = VT_OP_SOFTMAX; op <= VT_OP_LAB; op++) assert_int_equal(graph_op_of(graph_op_name(op)), op);
    assert_null(graph_op_name(0));
    assert_null(graph_op_name(VT_OP_LAB + 1));
    assert_int_equal(graph_op_of("conv"), 0);
}

/* Tensors lie one behind the other; names are their own; nodes read what is made before. */
static void layout(void **state)
{
    (void)state;
    for (int op = VT_OP_SOFTMAX; op <= VT_OP_LAB; op++)
    for (int i = 0; i < SHAPES; i++) {
        graph_sizes z = shapes[i];
        graph g;
        size_t reals = 0, ints = 0;
        z.op = op;
        if (z.S < z.T) z.S = z.T;
        assert_ok(graph_build(&g, &z, &test_error));
        for (int a = 0; a < g.ntensors; a++) {
            const graph_tensor *t = &g.tensor[a];
            size_t *end = t->role < GRAPH_INTEGERS ? &reals : &ints, count = 1;
            for (int k = 0; k < t->rank; k++) count *= (size_t)t->shape[k];
            assert_int_equal(t->count, count);
            assert_int_equal(t->at, *end);
            *end += count;
            for (int b = 0; b < a; b++) assert_string_not_equal(t->name, g.tensor[b].name);
            for (int k = 0; k < t->rank; k++) assert_non_null(t->axis[k]);
            assert_true(t->role < GRAPH_INTEGERS || t->limit >= 1);
        }
        assert_int_equal(reals, g.reals);
        assert_int_equal(ints, g.ints);
        int *made = calloc((size_t)g.ntensors, sizeof *made);
        assert_non_null(made);
        for (int k = 0; k < g.nin; k++) made[g.in[k]] = 1;
        for (int n = 0; n < g.nnodes; n++) {
            for (int k = 0; k < GRAPH_INS; k++) assert_true(g.node[n].in[k] < 0 || made[g.node[n].in[k]]);
            assert_int_equal(made[g.node[n].out]++, 0);
            for (int k = 0; k < GRAPH_STAGES; k++) if (g.node[n].stage[k] >= 0) made[g.node[n].stage[k]]++;
        }
        for (int a = 0; a < g.ntensors; a++) assert_int_equal(made[a], 1);
        free(made);
        graph_free(&g);
    }
}

/* ---- refused -------------------------------------------------------------------------------- */

static void refuse(graph_sizes z, vt_status status, const char *part)
{
    graph g;
    if (graph_build(&g, &z, &test_error) != status) fail_msg("not refused: %s", part);
    assert_contains(test_error.text, part);
    assert_null(g.tensor);
}

static void refused_sizes(void **state)
{
    (void)state;
    const graph_sizes att = { .op = VT_OP_ATTENTION, .B = 1, .T = 3, .S = 3, .NH = 1, .HS = 1 };
    graph_sizes z = att;
    refuse((graph_sizes){ .op = 0 }, VT_USAGE, "operator 0");
    refuse((graph_sizes){ .op = VT_OP_LAB + 1 }, VT_USAGE, "operator 11");
    refuse((graph_sizes){ .op = VT_OP_SOFTMAX, .N = 0, .V = 3 }, VT_USAGE, "softmax: size N is 0, expected 1 to");
    refuse((graph_sizes){ .op = VT_OP_LINEAR, .N = 1, .C = -2, .OC = 3 }, VT_USAGE, "linear: size C is -2");
    refuse((graph_sizes){ .op = VT_OP_GELU, .N = (1 << 20) + 1 }, VT_USAGE, "size N is 1048577");
    z.causal = true, z.S = 2;
    refuse(z, VT_USAGE, "size S is 2, expected at least T = 3 where it is causal");
    z.masked = true;                                    /* then a query may see none */
    graph g;
    assert_ok(graph_build(&g, &z, &test_error));
    graph_free(&g);
    z = att, z.HS = 0;
    refuse(z, VT_USAGE, "attention: size HS is 0");
    refuse((graph_sizes){ .op = VT_OP_GPT, .V = 5, .B = 1, .T = 4, .S = 3, .NH = 1, .HS = 2, .FF = 2, .L = 1,
                          .temperature = 1 }, VT_USAGE, "gpt: size S is 3, expected at least T = 4");
    const double bad[] = { 0, -1, (double)NAN, (double)INFINITY };
    for (size_t i = 0; i < 4; i++)
        refuse((graph_sizes){ .op = VT_OP_CROSSENTROPY, .N = 1, .V = 2, .temperature = bad[i] }, VT_USAGE,
               "expected a number above 0");
}

/* NUM-01: products of sizes are never counted in an int that is too small. */
static void sizes_too_large(void **state)
{
    (void)state;
    enum { M = 1 << 20 };
    refuse((graph_sizes){ .op = VT_OP_LINEAR, .N = M, .C = M, .OC = 1 }, VT_TOO_LARGE, "more than 2147483647 elements");
    refuse((graph_sizes){ .op = VT_OP_ATTENTION, .B = M, .T = M, .S = M, .NH = M, .HS = M }, VT_TOO_LARGE, "elements");
    refuse((graph_sizes){ .op = VT_OP_PROJECTED, .B = M, .T = M, .C = 1, .NH = 1, .HS = 1 }, VT_TOO_LARGE, "elements");
    refuse((graph_sizes){ .op = VT_OP_PROJECTED, .B = 1, .T = 1, .C = 1, .NH = M, .HS = M }, VT_TOO_LARGE, "elements");
    refuse((graph_sizes){ .op = VT_OP_BLOCK, .B = 1, .T = M, .NH = 1, .HS = 1, .FF = M }, VT_TOO_LARGE, "elements");
    refuse((graph_sizes){ .op = VT_OP_BLOCK, .B = 1, .T = 1, .NH = 30000, .HS = 30000, .FF = 1 }, VT_TOO_LARGE, "elements");
    refuse((graph_sizes){ .op = VT_OP_GPT, .B = 2048, .T = M, .S = M, .NH = 1, .HS = 1, .FF = 1, .V = 1, .L = 1,
                          .temperature = 1 }, VT_TOO_LARGE, "elements");
    refuse((graph_sizes){ .op = VT_OP_LAB, .T = M, .C = M, .NH = 1, .HS = 1, .V = 1, .temperature = 1 },
           VT_TOO_LARGE, "elements");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_by_complex_step),
        cmocka_unit_test(backward_adds),
        cmocka_unit_test(a_gpt_has_its_wirings_bits),
        cmocka_unit_test(the_lab_has_pytorchs_tensors),
        cmocka_unit_test(names_and_places),
        cmocka_unit_test(layout),
        cmocka_unit_test(refused_sizes),
        cmocka_unit_test(sizes_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

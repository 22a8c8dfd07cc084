/* test_op_case.c -- the problems that are put to kernels: repeatable, exact in their
 * precision, away from everything degenerate, and what is degenerate is said.
 */
#include "verify/op/op_case.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"

enum { FIRST = VT_OP_SOFTMAX, LAST = VT_OP_LAB };
static char why[512];

/* bfloat16 and float16 by hand: 8 and 11 bits, ties to even, subnormals, overflow. */
static void rounding(void **state)
{
    (void)state;
    static const struct { precision p; double x, want; } rows[] = {
        { PRECISION_F64, 0.1, 0.1 },
        { PRECISION_F32, 0.1, (double)0.1f },
        { PRECISION_BF16, 1 + 0x1p-8, 1 }, { PRECISION_BF16, 1 + 0x3p-8, 1 + 0x1p-6 },
        { PRECISION_BF16, 1 + 0x1p-8 + 0x1p-20, 1 + 0x1p-7 }, { PRECISION_BF16, -0.1, -0.10009765625 },
        { PRECISION_BF16, 0x1p-134, 0 }, { PRECISION_BF16, 0x1.8p-134, 0x1p-133 },
        { PRECISION_F16, 0.1, 0.0999755859375 }, { PRECISION_F16, 65504, 65504 },
        { PRECISION_F16, 65519, 65504 }, { PRECISION_F16, 65520, INFINITY },
        { PRECISION_F16, -1e9, -(double)INFINITY }, { PRECISION_F16, 0x1p-24, 0x1p-24 },
        { PRECISION_F16, 0x1p-25, 0 }, { PRECISION_F16, 0x1.8p-24, 0x1p-23 },
        { PRECISION_F16, 1 + 0x1p-11, 1 }, { PRECISION_F16, 1 + 0x3p-11, 1 + 0x1p-9 },
        { PRECISION_F32, 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(precision_round(rows[i].p, rows[i].x) == rows[i].want);
    assert_true(isnan(precision_round(PRECISION_BF16, (double)NAN)));
    assert_true(precision_u(PRECISION_F64) == DBL_EPSILON / 2 && precision_tiny(PRECISION_F64) == DBL_MIN);
    assert_true(precision_u(PRECISION_F32) == (double)FLT_EPSILON / 2);
    assert_true(precision_tiny(PRECISION_F32) == (double)FLT_MIN);
    assert_true(precision_u(PRECISION_BF16) == 0x1p-8 && precision_u(PRECISION_F16) == 0x1p-11);
    assert_string_equal(precision_name(PRECISION_BF16), "bfloat16");
}

/* Every shape of every operator builds, and is within reach of a check. */
static void shapes(void **state)
{
    (void)state;
    for (int op = FIRST; op <= LAST; op++) {
        graph_sizes z;
        bool single = false, batch = false, longer = false, ones = false, large = false, mask = false;
        int count = 0;
        for (; op_case_shapes(&z, count, op, 7); count++) {
            graph g;
            assert_int_equal(z.op, op);
            assert_ok(graph_build(&g, &z, &test_error));
            graph_free(&g);
            single |= z.T == 1 && z.B > 1;
            batch |= z.B > 1 && z.T > 1;
            longer |= z.S > z.T && z.T > 1;
            mask |= z.masked;
            ones |= z.N <= 1 && z.C <= 1 && z.OC <= 1 && z.V <= 1 && z.B <= 1 && z.T <= 1 && z.HS <= 1;
            large |= (z.T >= 64 && z.HS >= 32) || z.N >= 33;
        }
        assert_in_range(count, 16, 40);
        assert_false(op_case_shapes(&z, -1, op, 7));
        assert_true(ones && large);
        if (op >= VT_OP_ATTENTION && op != VT_OP_CROSSENTROPY && op != VT_OP_LAB) assert_true(single && batch);
        if (op == VT_OP_ATTENTION) assert_true(longer && mask);
    }
}

/* The first shape has no two sizes equal that lie beside each other. */
static void the_first_shapes_show_everything(void **state)
{
    (void)state;
    for (int op = FIRST; op <= LAST; op++)
        for (int i = 0; i < 2; i++) {
            graph_sizes z;
            op_case c;
            assert_true(op_case_shapes(&z, i, op, 1));
            assert_ok(op_case_draw(&c, &z, PRECISION_F32, 1, 5, &test_error));
            if (op_case_degenerate(&c, why, sizeof why)) fail_msg("%s: %s", graph_op_name(op), why);
            assert_string_equal(why, "");
            op_case_free(&c);
        }
}

static void same_block(const double *a, const double *b, size_t n)
{
    assert_memory_equal(a, b, n * sizeof *a);
}

static void drawn_again_it_is_the_same(void **state)
{
    (void)state;
    for (int op = FIRST; op <= LAST; op++) {
        graph_sizes z;
        op_case a, b, other;
        assert_true(op_case_shapes(&z, 1, op, 1));
        assert_ok(op_case_draw(&a, &z, PRECISION_BF16, 0.01, 3, &test_error));
        assert_ok(op_case_draw(&b, &z, PRECISION_BF16, 0.01, 3, &test_error));
        assert_ok(op_case_draw(&other, &z, PRECISION_BF16, 0.01, 4, &test_error));
        const size_t n = a.g.reals;
        same_block(a.x, b.x, n);
        same_block(a.dx, b.dx, n);
        same_block(a.dout, b.dout, n);
        same_block(a.start, b.start, n);
        same_block(a.ex, b.ex, n);
        same_block(a.edx, b.edx, n);
        assert_memory_equal(a.ints, b.ints, a.g.ints * sizeof *a.ints);
        assert_true(memcmp(a.x, other.x, n * sizeof *a.x) != 0);
        op_case_free(&a);
        op_case_free(&b);
        op_case_free(&other);
    }
}

/* What a kernel is handed is exact in its type; start is of the gradient's size. */
static void exact_in_its_precision(void **state)
{
    (void)state;
    static const precision ps[] = { PRECISION_F64, PRECISION_F32, PRECISION_BF16, PRECISION_F16 };
    size_t compared = 0;
    for (int op = FIRST; op <= LAST; op++)
    for (size_t k = 0; k < 4; k++) {
        graph_sizes z;
        op_case c;
        assert_true(op_case_shapes(&z, 0, op, 1));
        assert_ok(op_case_draw(&c, &z, ps[k], 1, 11, &test_error));
        for (int i = 0; i < c.g.ntensors; i++) {
            const graph_tensor *t = &c.g.tensor[i];
            double squares = 0, least = INFINITY, most = 0;
            for (size_t j = t->at; j < t->at + t->count; j++) {
                if (t->role >= GRAPH_INTEGERS) break;
                if (t->role == GRAPH_INPUT) assert_true(precision_round(ps[k], c.x[j]) == c.x[j]);
                assert_true(precision_round(ps[k], c.start[j]) == c.start[j]);
                assert_true(precision_round(ps[k], c.dout[j]) == c.dout[j]);
                squares += c.dx[j] * c.dx[j] / (double)t->count;
                least = fmin(least, fabs(c.start[j]));
                most = fmax(most, fabs(c.start[j]));
                compared++;
            }
            if (t->role != GRAPH_INPUT || squares < 1e-20) continue;
            assert_true(least > 0.4 * sqrt(squares) && most < 1.6 * sqrt(squares));
        }
        op_case_free(&c);
    }
    assert_true(compared > 10000);
}

/* Tokens come twice, one id never; one target is ignored. */
static void integers(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        graph_sizes z = { .op = VT_OP_GPT, .V = 4, .B = 3, .T = 5, .S = 6, .NH = 2, .HS = 3, .FF = 5, .L = 1,
                          .temperature = 1 };
        op_case c;
        int used[4] = { 0 }, ids = 0, ignored = 0;
        assert_ok(op_case_draw(&c, &z, PRECISION_F32, 1, seed, &test_error));
        const graph_tensor *t = &c.g.tensor[graph_find(&c.g, "tokens")];
        for (size_t k = 0; k < t->count; k++) used[c.ints[t->at + k]]++;
        for (int v = 0; v < 4; v++) ids += used[v] > 0;
        assert_in_range(ids, 1, 3);
        assert_int_equal(c.ints[t->at], c.ints[t->at + 1]);
        op_case_free(&c);

        z = (graph_sizes){ .op = VT_OP_CROSSENTROPY, .N = 3, .V = 5, .temperature = 1 };
        assert_ok(op_case_draw(&c, &z, PRECISION_F32, 1, seed, &test_error));
        t = &c.g.tensor[graph_find(&c.g, "target")];
        for (size_t k = 0; k < t->count; k++) ignored += c.ints[t->at + k] == VT_IGNORE;
        assert_int_equal(ignored, 1);
        op_case_free(&c);
    }
}

/* One query sees nothing, the others something; `causal` is in the definition's mask and
 * not in the kernel's. */
static void masks(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++)
    for (int causal = 0; causal < 2; causal++) {
        const graph_sizes z = { .op = VT_OP_ATTENTION, .B = 1, .T = 4, .S = 6, .NH = 1, .HS = 2,
                                .masked = true, .causal = causal };
        op_case c;
        int blind = 0, behind = 0;
        assert_ok(op_case_draw(&c, &z, PRECISION_F64, 1, seed, &test_error));
        const graph_tensor *m = &c.g.tensor[graph_find(&c.g, "mask")];
        for (int t = 0; t < 4; t++) {
            int seen = 0;
            for (int u = 0; u < 6; u++) {
                const size_t cell = (size_t)(t * 6 + u);
                const int both = c.ints[m->at + cell], mask = op_case_mask(&c, cell);
                const bool visible = !causal || u <= 2 + t;
                seen += both;
                behind += !visible;
                assert_int_equal(both, mask && visible);
                if (!visible) assert_int_equal(mask, 1);
            }
            blind += !seen;
        }
        assert_int_equal(blind, 1);
        assert_int_equal(behind, causal ? 6 : 0);       /* 3 + 2 + 1 + 0 */
        op_case_free(&c);
    }
    const graph_sizes all = { .op = VT_OP_ATTENTION, .B = 1, .T = 3, .S = 2, .NH = 1, .HS = 2 };
    op_case c;
    assert_ok(op_case_draw(&c, &all, PRECISION_F64, 1, 1, &test_error));
    for (size_t cell = 0; cell < 6; cell++) assert_int_equal(op_case_mask(&c, cell), 1);
    op_case_free(&c);
}

/* ---- given ------------------------------------------------------------------- */

/* All ones and zeros: what a framework's untrained layer would dump. */
static vt_status untrained(op_case *c, void *context, vt_error *err)
{
    (void)err;
    const double upstream = *(const double *)context;
    for (int i = 0; i < c->g.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[i];
        for (size_t k = 0; k < t->count; k++) {
            if (t->role >= GRAPH_INTEGERS) c->ints[t->at + k] = t->role == GRAPH_MASK ? 1 : (int)k % t->limit;
            else if (t->upstream) c->dout[t->at + k] = upstream;
            else if (strcmp(t->name, "w") == 0) c->x[t->at + k] = 1;
            else if (strcmp(t->name, "b") != 0) c->x[t->at + k] = sin((double)(k + t->at));
        }
    }
    return VT_OK;
}

static const char *reasons_of(graph_sizes z, double upstream)
{
    op_case c;
    assert_ok(op_case_given(&c, &z, PRECISION_F64, untrained, &upstream, &test_error));
    const bool is = op_case_degenerate(&c, why, sizeof why);
    assert_int_equal(is, *why != 0);
    op_case_free(&c);
    return why;
}

/* VER-08: a uniform upstream gradient of a normalisation shows nothing. */
static void what_proves_little_is_said(void **state)
{
    (void)state;
    assert_string_equal(reasons_of((graph_sizes){ .op = VT_OP_LAYERNORM, .N = 4, .C = 4 }, 1),
                        "N and C are both 4; the gains of w are all 1; the biases of b are all 0; "
                        "the upstream gradient of y is the same everywhere");
    assert_string_equal(reasons_of((graph_sizes){ .op = VT_OP_SOFTMAX, .N = 3, .V = 5 }, 1),
                        "the upstream gradient of p is the same everywhere; no gradient is larger than its rounding");
    assert_string_equal(reasons_of((graph_sizes){ .op = VT_OP_LINEAR, .N = 1, .C = 3, .OC = 1 }, 0),
                        "the biases of b are all 0; no gradient is larger than its rounding");
    assert_contains(reasons_of((graph_sizes){ .op = VT_OP_ATTENTION, .B = 2, .T = 1, .S = 4, .NH = 3, .HS = 3 }, 1),
                    "NH and HS are both 3; T is 1");
    assert_contains(reasons_of((graph_sizes){ .op = VT_OP_GPT, .V = 50, .B = 1, .T = 5, .S = 5, .NH = 2,
                                              .HS = 3, .FF = 4, .L = 1 }, 1), "no token comes twice");
    op_case c;
    double one = 1;
    char brief[12];
    const graph_sizes z = { .op = VT_OP_LAYERNORM, .N = 4, .C = 4 };
    assert_ok(op_case_given(&c, &z, PRECISION_F64, untrained, &one, &test_error));
    assert_true(op_case_degenerate(&c, brief, sizeof brief));   /* cut, not overrun */
    assert_string_equal(brief, "N and C are");
    assert_true(op_case_degenerate(&c, NULL, 0));
    op_case_free(&c);
}

static vt_status wrong_id(op_case *c, void *context, vt_error *err)
{
    (void)err;
    const int *what = context;
    c->ints[c->g.tensor[graph_find(&c->g, "target")].at + 1] = *what;
    return VT_OK;
}

static vt_status refuses(op_case *c, void *context, vt_error *err)
{
    (void)c, (void)context;
    return fail(err, VT_BAD_INPUT, "no such tensor");
}

static void bad_integers_are_refused(void **state)
{
    (void)state;
    const graph_sizes z = { .op = VT_OP_CROSSENTROPY, .N = 3, .V = 5, .temperature = 1 };
    op_case c;
    static const int bad[] = { 5, -2, INT_MIN, INT_MAX };
    for (size_t i = 0; i < 4; i++) {
        int id = bad[i];
        assert_int_equal(op_case_given(&c, &z, PRECISION_F64, wrong_id, &id, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, "target[1] is ");
        assert_contains(test_error.text, "expected 0 to 4, or -1");
    }
    int ignored = VT_IGNORE;
    assert_ok(op_case_given(&c, &z, PRECISION_F64, wrong_id, &ignored, &test_error));
    op_case_free(&c);
    assert_int_equal(op_case_given(&c, &z, PRECISION_F64, refuses, NULL, &test_error), VT_BAD_INPUT);
    assert_string_equal(test_error.text, "no such tensor");
    const graph_sizes none = { .op = VT_OP_SOFTMAX, .N = 0, .V = 5 };
    assert_int_equal(op_case_draw(&c, &none, PRECISION_F64, 1, 1, &test_error), VT_USAGE);
    assert_int_equal(op_case_given(&c, &none, PRECISION_F64, refuses, NULL, &test_error), VT_USAGE);
    op_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding),
        cmocka_unit_test(shapes),
        cmocka_unit_test(the_first_shapes_show_everything),
        cmocka_unit_test(drawn_again_it_is_the_same),
        cmocka_unit_test(exact_in_its_precision),
        cmocka_unit_test(integers),
        cmocka_unit_test(masks),
        cmocka_unit_test(what_proves_little_is_said),
        cmocka_unit_test(bad_integers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

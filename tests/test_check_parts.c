/* test_check_parts.c -- the check of a model beside its entries: the adjoint
 * identity of each part, what is exact bit for bit, and models and windows that cannot
 * tell right from wrong.
 *
 * Each is shown to pass what is right and to find what is planted: a gradient with
 * one wrong entry, or kernels that look ahead, forget to add, write what they read,
 * or count their calls or threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "check_subject.h"
#include "verify/model/adjoint.h"
#include "verify/model/degenerate.h"
#include "verify/model/exact.h"

static const gpt_config small = { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11 };

/* ---- the adjoint identity ---------------------------------------------- */

/* proves diff.adjoint */
static void each_part_is_its_forward_pass_adjoint(void **state)
{
    (void)state;
    size_t parts = 0;
    for (int tied = 0; tied < 2; tied++) {
        gpt_config z = small;
        subject s;
        z.tied = tied;
        subject_make(&s, &z, 2, 4, 0.5, 1);
        for (int part = -1; part <= z.L; part++, parts++) {
            adjoint a;
            vt_check_layer row = { .pass = false };
            assert_ok(adjoint_compute(&a, &s.c, part, 42, &test_error));
            adjoint_judge(&row, &a);
            if (!row.pass) fail_msg("part %d: %.17g, expected %.17g", part, row.found, row.expected);
            assert_true(fabs(row.expected) > 1e-3);
            assert_near(row.found, row.expected, 1e-12 * fabs(row.expected) + 1e-13);
            /* its input and its parameters, all of them */
            const size_t in = part < 0 ? 0 : 8 * 6;
            const size_t own = part < 0 ? 11 * 6 + 5 * 6 : part < z.L
                ? 4 * 6 + 6 * 18 + 18 + 6 * 6 + 6 + 6 * 7 + 7 + 7 * 6 + 6
                : 2 * 6 + 6 * 11;
            assert_int_equal(a.n, in + own);
            adjoint_free(&a);
        }
        subject_free(&s);
    }
    assert_int_equal(parts, 8);
}

/* Any entry, by a millionth of the largest. */
static void a_wrong_entry_breaks_the_identity(void **state)
{
    (void)state;
    subject s;
    subject_make(&s, &small, 2, 4, 0.5, 2);
    size_t tried = 0;
    for (int part = -1; part <= small.L; part++) {
        adjoint a;
        vt_check_layer row = { .pass = false };
        assert_ok(adjoint_compute(&a, &s.c, part, 42, &test_error));
        const double largest = gradcheck_largest(a.gradient, a.n);
        for (size_t i = 0; i < a.n; i++, tried++) {
            const double before = a.gradient[i];
            a.gradient[i] += 1e-6 * largest;
            adjoint_judge(&row, &a);
            assert_false(row.pass);
            a.gradient[i] = (double)NAN;
            adjoint_judge(&row, &a);
            assert_false(row.pass);
            a.gradient[i] = before;
        }
        a.bound[0] = (double)NAN;               /* no bound is no pass */
        adjoint_judge(&row, &a);
        assert_false(row.pass);
        adjoint_free(&a);
    }
    assert_true(tried > 600);
    const adjoint nothing = { .n = 0 };         /* VER-04: and so are no comparisons */
    vt_check_layer row = { .pass = false };
    adjoint_judge(&row, &nothing);
    assert_false(row.pass);
    subject_free(&s);
}

/* VER-01: f(x) = 2x, whose backward is 2v; the one on trial gives it reversed.  With
 * projections drawn from [0, 1) and a tolerance that grows with n it is accepted. */
/* proves diff.adjoint */
static void a_reversed_gradient_of_2x_is_rejected(void **state)
{
    (void)state;
    enum { N = 8000 };
    double *u = malloc(3 * N * sizeof *u), *v = u + N, *g = v + N;
    double bound[N];
    assert_non_null(u);
    for (uint64_t seed = 0; seed < 100; seed++) {
        rng r;
        rng_seed(&r, seed);
        exact_sum forward = { 0 };
        for (size_t i = 0; i < N; i++) {
            const double size = rng_uniform(&r, 0.5, 1.5);
            v[i] = rng_integers(&r, 0, 2) ? size : -size;
            u[i] = rng_integers(&r, 0, 2) ? 1 : -1;
            exact_add(&forward, v[i] * 2 * u[i]);
            bound[i] = gradcheck_bound(0, 3);
        }
        for (int reversed = 0; reversed < 2; reversed++) {
            vt_check_layer row = { .pass = false };
            for (size_t i = 0; i < N; i++) g[i] = 2 * v[reversed ? N - 1 - i : i];
            const adjoint a = { .n = N, .direction = u, .gradient = g, .bound = bound,
                                .forward = forward.sum + forward.lost };
            adjoint_judge(&row, &a);
            assert_true(row.pass == !reversed);
        }
        size_t wrong = 0;                       /* and entry by entry */
        for (size_t i = 0; i < N; i++)
            wrong += !(gradcheck_share(fabs(2 * v[N - 1 - i] - 2 * v[i]), bound[i]) <= 1);
        assert_true(wrong > N * 9 / 10);
    }
    free(u);
}

/* ---- what is exact ----------------------------------------------------- */

static const vt_check_exact *exact_row(const vt_check_report *r, const char *name)
{
    for (size_t i = 0; i < r->nexact; i++)
        if (strncmp(r->exact[i].name, name, strlen(name)) == 0) return &r->exact[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void exact_of(const subject *s, vt_check_report *r)
{
    *r = (vt_check_report){ .rows = NULL };
    assert_ok(exact_checks(r, &s->c, &s->g, 42, &test_error));
}

static void a_right_model_is_exact(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        gpt_config z = small;
        subject s;
        vt_check_report r;
        z.tied = tied;
        subject_make(&s, &z, 2, 4, 0.5, 3);
        exact_of(&s, &r);
        assert_int_equal(r.nexact, 13);
        for (size_t i = 0; i < r.nexact; i++)
            if (!r.exact[i].pass) fail_msg("%s: %s", r.exact[i].name, r.exact[i].detail);
        const size_t count = gpt_parameter_count(&z), all = 8 * 11 + 8 + count;
        for (int fast = 0; fast < 2; fast++) {          /* prefixes of 1, 2 and 3 of 4 */
            const char *set = fast ? s.c.kernels->name : "definitions";
            const struct { const char *name; size_t compared; } rows[] = {
                { "causality", 2 * 11 * (1 + 2 + 3) },
                { "no gradient to the future", 2 * 6 * (3 + 2 + 1) },
                { "repeatable", all }, { "doubling", count }, { "backward accumulates", count },
                { "inputs unwritten", count + 3 * 8 },
            };
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                char name[100];
                snprintf(name, sizeof name, "%s, %s", rows[i].name, set);
                assert_int_equal(exact_row(&r, name)->compared, rows[i].compared);
            }
        }
        assert_int_equal(exact_row(&r, "1, 2, 3, 7 threads")->compared, 4 * all);
        vt_check_free(&r);
        subject_free(&s);
    }
}

/* With one position there is nothing to compare, and that is said. */
static void one_position_cannot_tell(void **state)
{
    (void)state;
    subject s;
    vt_check_report r;
    subject_make(&s, &small, 3, 1, 0.5, 4);
    exact_of(&s, &r);
    const vt_check_exact *row = exact_row(&r, "causality, definitions");
    assert_int_equal(row->compared, 0);
    assert_contains(row->detail, "one position");
    assert_int_equal(exact_row(&r, "no gradient to the future, definitions")->compared, 0);
    assert_true(exact_row(&r, "repeatable, definitions")->compared > 0);
    vt_check_free(&r);
    subject_free(&s);
}

static const ops *good;
static size_t calls;

/* Query 0 sees key 1. */
static void looks_ahead(team *t, float *out, float *lse, const float *q, size_t ldq,
                        const float *k, const float *v, size_t ldkv, int B, int T, int P, int NH,
                        int HS)
{
    good->attention_forward(t, out, lse, q, ldq, k, v, ldkv, B, T, P, NH, HS);
    out[0] += 1e-3f * v[ldkv];
}

static void leaks_backward(team *t, float *dq, float *dk, float *dv, const float *dout,
                           const float *out, const float *lse, const float *q, size_t ldq,
                           const float *k, const float *v, size_t ldkv, int B, int T, int P,
                           int NH, int HS)
{
    good->attention_backward(t, dq, dk, dv, dout, out, lse, q, ldq, k, v, ldkv, B, T, P, NH, HS);
    dv[(size_t)(T - 1) * ldkv] += 1e-3f * dout[0];
}

static void overwrites(team *t, float *dx, float *dw, float *dbias, const float *dout,
                       const float *x, const float *w, const float *pre, int N, int C, int OC)
{
    memset(dw, 0, (size_t)C * (size_t)OC * sizeof *dw);
    good->linear_set_backward(t, dx, dw, dbias, dout, x, w, pre, N, C, OC);
}

static void writes_its_weights(team *t, float *out, const float *x, const float *w,
                               const float *bias, int N, int C, int OC)
{
    good->linear_forward(t, out, x, w, bias, N, C, OC);
    ((float *)(uintptr_t)w)[3] = nextafterf(w[3], 9);
}

static void writes_its_tokens(team *t, float *out, const int *tokens, const float *wte,
                              const float *wpe, int B, int T, int P, int C)
{
    good->embedding_forward(t, out, tokens, wte, wpe, B, T, P, C);
    ((int *)(uintptr_t)tokens)[0] ^= 1;
}

static void counts_its_calls(team *t, float *out, float *y, const float *x, const float *w,
                             const float *bias, int N, int C, int OC)
{
    const size_t last = (size_t)N * (size_t)OC - 1;
    good->linear_gelu_forward(t, out, y, x, w, bias, N, C, OC);
    if (++calls % 5 == 0) out[last] = nextafterf(out[last], 9);
}

static void counts_its_threads(team *t, float *out, float *y, const float *x, const float *w,
                               const float *bias, int N, int C, int OC)
{
    good->linear_gelu_forward(t, out, y, x, w, bias, N, C, OC);
    if (team_size(t) == 3) out[0] = nextafterf(out[0], 9);
}

static void is_not_linear(team *t, float *dx, float *dw, float *dbias, const float *dout,
                          const float *x, const float *w, const float *pre, int N, int C, int OC)
{
    good->linear_set_backward(t, dx, dw, dbias, dout, x, w, pre, N, C, OC);
    if (pre) dx[0] += 1e-6f;
}

static void planted_kernels_are_found(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        subject s;
        vt_check_report r;
        subject_make(&s, &small, 2, 4, 0.5, 5);
        good = s.c.kernels;
        calls = 0;
        ops bad = *good;
        const char *row = "";
        switch (kind) {
        case 0: bad.attention_forward = looks_ahead;        row = "causality"; break;
        case 1: bad.attention_backward = leaks_backward;    row = "no gradient to the future"; break;
        case 2: bad.linear_set_backward = overwrites;       row = "backward accumulates"; break;
        case 3: bad.linear_forward = writes_its_weights;    row = "inputs unwritten"; break;
        case 4: bad.embedding_forward = writes_its_tokens;  row = "inputs unwritten"; break;
        case 5: bad.linear_gelu_forward = counts_its_calls; row = "repeatable"; break;
        case 6: bad.linear_gelu_forward = counts_its_threads; row = "1, 2, 3, 7 threads"; break;
        case 7: bad.linear_set_backward = is_not_linear;    row = "doubling"; break;
        }
        s.c.kernels = &bad;
        exact_of(&s, &r);
        char name[100];
        snprintf(name, sizeof name, "%s, %s", row, good->name);
        const vt_check_exact *found = exact_row(&r, name);
        /* what counts its calls may be seen by any row that runs twice */
        if (kind != 5 && found->pass) fail_msg("%s passes a kernel of kind %d", name, kind);
        size_t failed = 0;
        for (size_t i = 0; i < r.nexact; i++) {
            failed += !r.exact[i].pass;
            assert_true(r.exact[i].pass || strlen(r.exact[i].detail) > 5);
            if (strstr(r.exact[i].name, "definitions")) assert_true(r.exact[i].pass);
        }
        assert_true(failed >= 1);
        if (kind == 4) assert_string_equal(found->detail, "tokens");
        vt_check_free(&r);
        /* The whole check fails too, and says so in its line. */
        const vt_check_options few = { .entries = 2, .seed = 42 };
        calls = 0;
        assert_int_equal(gradcheck_run(&r, &s.c, &few, NULL, NULL, &test_error), VT_CHECK_FAILED);
        assert_false(r.pass);
        vt_check_free(&r);
        subject_free(&s);
    }
}

/* ---- what cannot tell -------------------------------------------------- */

static bool noted(const vt_check_report *r, const char *part)
{
    for (size_t i = 0; i < r->nnotes; i++)
        if (strstr(r->notes[i], part)) return true;
    return false;
}

static const vt_check_options ordinary = { .entries = 12, .seed = 42, .differences = 2 };

static void run_all(const subject *s, vt_check_report *r)
{
    assert_ok(gradcheck_run(r, &s->c, &ordinary, NULL, NULL, &test_error));
    assert_true(r->pass);
    assert_int_equal(r->nlayers, (size_t)s->z.L + 2);
    assert_int_equal(r->nexact, 13);
    assert_string_equal(r->layers[0].name, "embedding");
    assert_string_equal(r->layers[1].name, "layer 0");
    assert_string_equal(r->layers[r->nlayers - 1].name, "head");
    for (size_t i = 0; i < r->nrows; i++)
        assert_int_equal(r->rows[i].compared,
                         s->tensors[i].count < 12 ? s->tensors[i].count : 12);
}

static void a_usual_model_needs_no_second_point(void **state)
{
    (void)state;
    subject s;
    vt_check_report r;
    subject_make(&s, &small, 2, 4, 0.5, 6);
    s.tokens[5] = s.tokens[0];
    run_all(&s, &r);
    assert_int_equal(r.nnotes, 0);
    vt_check_free(&r);
    for (int i = 0; i < 8; i++) s.tokens[i] = i;
    run_all(&s, &r);
    assert_true(noted(&r, "no token occurs twice in the window"));
    assert_true(noted(&r, "at the second point "));
    assert_int_equal(r.nnotes, 2);
    vt_check_free(&r);
    subject_free(&s);
}

static void a_fresh_model_is_checked_elsewhere_too(void **state)
{
    (void)state;
    for (int scale = -1; scale <= 0; scale++) {
        subject s;
        vt_check_report r;
        second_point p;
        subject_make(&s, &small, 2, 4, scale, 7);
        run_all(&s, &r);
        assert_true(noted(&r, "a fresh model: all gains are 1 and all biases 0"));
        vt_check_free(&r);
        assert_ok(second_point_make(&p, &r, &s.c, 42, &test_error));
        assert_true(p.wanted);
        for (size_t k = 0; k < s.c.ntensors; k++) {     /* no constant is left, nothing else moved */
            const gpt_tensor *t = &s.tensors[k];
            size_t moved = 0;
            for (size_t i = t->offset; i < t->offset + t->count; i++)
                moved += p.params[i] != s.params[i];
            assert_int_equal(moved, t->start == GPT_ONES || t->start == GPT_ZEROS ? t->count : 0);
        }
        second_point_free(&p);
        s.params[subject_tensor(&s, "h.1.ln2w", NULL)->offset] = 1.25f;     /* not fresh */
        run_all(&s, &r);
        assert_false(noted(&r, "a fresh model"));
        assert_true(noted(&r, "tensors of one number throughout (h.0.ln1w, h.0.ln1b, h.0.qkvb, ...)"));
        vt_check_free(&r);
        subject_free(&s);
    }
}

static void one_position_is_checked_with_two(void **state)
{
    (void)state;
    subject s;
    vt_check_report r;
    subject_make(&s, &small, 2, 1, 0.5, 8);
    run_all(&s, &r);
    assert_true(noted(&r, "attention has one key, which tells nothing of its scores"));
    assert_int_equal(r.seq, 1);
    assert_true(exact_row(&r, "causality, definitions")->compared > 0);
    vt_check_free(&r);
    subject_free(&s);
    gpt_config z = small;
    z.T = 1;
    subject_make(&s, &z, 2, 1, 0.5, 9);
    run_all(&s, &r);
    assert_true(noted(&r, "the model has one position"));
    assert_int_equal(exact_row(&r, "causality, definitions")->compared, 0);
    vt_check_free(&r);
    subject_free(&s);
}

/* A fault that only the second point shows: with all biases 0 it adds nothing. */
static void forgets_biases(team *t, float *out, const float *x, const float *w, const float *bias,
                           int N, int C, int OC)
{
    (void)bias;
    good->linear_forward(t, out, x, w, NULL, N, C, OC);
}

static void the_second_point_finds_what_the_first_cannot(void **state)
{
    (void)state;
    subject s;
    vt_check_report r;
    subject_make(&s, &small, 2, 4, 0, 10);
    good = s.c.kernels;
    ops bad = *good;
    bad.linear_forward = forgets_biases;
    s.c.kernels = &bad;
    gradcheck_free(&s.g);
    assert_ok(gradcheck_compute(&s.g, &s.c, 42, &test_error));
    assert_ok(gradcheck_judge(&r, &s.c, &s.g, &ordinary, NULL, NULL, &test_error));
    vt_check_free(&r);
    assert_int_equal(gradcheck_run(&r, &s.c, &ordinary, NULL, NULL, &test_error), VT_CHECK_FAILED);
    assert_false(r.pass);
    assert_true(r.failed > 0);
    assert_contains(test_error.text, "at the second point: ");
    vt_check_free(&r);
    subject_free(&s);
}

/* ---- no false alarm ----------------------------------------------------- */

static void no_right_model_fails(void **state)
{
    (void)state;
    double highest = 0;
    for (uint64_t k = 0; k < 150; k++) {
        rng r;
        subject s;
        vt_check_report report;
        rng_seed(&r, 1000 + k);
        gpt_config z = { .NH = (int)rng_integers(&r, 1, 4), .L = (int)rng_integers(&r, 1, 3),
                         .FF = (int)rng_integers(&r, 1, 20), .T = (int)rng_integers(&r, 1, 9),
                         .V = (int)rng_integers(&r, 2, 24), .tied = rng_integers(&r, 0, 2) };
        z.C = z.NH * (int)rng_integers(&r, 1, 6);
        const int B = (int)rng_integers(&r, 1, 4), T = (int)rng_integers(&r, 1, z.T + 1);
        const double scale = k % 4 == 0 ? -1 : k % 4 == 1 ? 0
                           : 0.02 * pow(60, rng_uniform(&r, 0, 1));
        subject_make(&s, &z, B, T, scale, k);
        const vt_check_options o = { .entries = 3, .seed = k, .differences = 1 };
        if (gradcheck_run(&report, &s.c, &o, NULL, NULL, &test_error) != VT_OK)
            fail_msg("model %d (L %d C %d NH %d FF %d T %d V %d tied %d, B %d T %d, scale %g): %s",
                     (int)k, z.L, z.C, z.NH, z.FF, z.T, z.V, z.tied, B, T, scale, test_error.text);
        for (size_t i = 0; i < report.nlayers; i++)
            if (report.layers[i].budget_used > highest) highest = report.layers[i].budget_used;
        vt_check_free(&report);
        subject_free(&s);
    }
    print_message("# highest share of a layer's budget %.3g\n", highest);
    assert_true(highest > 0.003);       /* a bound that none comes near proves little */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_is_its_forward_pass_adjoint),
        cmocka_unit_test(a_wrong_entry_breaks_the_identity),
        cmocka_unit_test(a_reversed_gradient_of_2x_is_rejected),
        cmocka_unit_test(a_right_model_is_exact),
        cmocka_unit_test(one_position_cannot_tell),
        cmocka_unit_test(planted_kernels_are_found),
        cmocka_unit_test(a_usual_model_needs_no_second_point),
        cmocka_unit_test(a_fresh_model_is_checked_elsewhere_too),
        cmocka_unit_test(one_position_is_checked_with_two),
        cmocka_unit_test(the_second_point_finds_what_the_first_cannot),
        cmocka_unit_test(no_right_model_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

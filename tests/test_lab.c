/* test_lab.c -- the code lab: PyTorch's tensors and gradients, NumPy's numbers,
 * checks that pass what is right and find what is wrong, and experiments whose
 * errors are what they say. */
#include "support.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lab/lab.h"

static const double temperatures[] = { 0.01, 0.1, 0.5, 1, 2, 100 };
enum { NTEMPERATURES = sizeof temperatures / sizeof *temperatures };

static vt_lab_report *lab(uint64_t seed, int heads, double temperature)
{
    static vt_lab_report report;
    const vt_lab_options o = { .seed = seed, .heads = heads, .temperature = temperature };
    assert_ok(vt_lab(&o, &report, &test_error));
    return &report;
}

/* ---- golden tensors ---------------------------------------------------- */

static size_t compared;

static void same(const json_t *object, const char *name, const double *ours, size_t count)
{
    double expected[128];
    const json_t *value = json_object_get(object, name);
    assert_non_null(value);
    assert_true(count <= 128);
    assert_int_equal(golden_numbers(value, expected, 128), count);
    for (size_t i = 0; i < count; i++) assert_near_at(ours[i], expected[i], 1e-12, name, i);
    compared += count;
}

static void same_tensors(const json_t *object, const char *const names[5],
                         const vt_lab_tensors *t)
{
    assert_int_equal(json_object_size(object), 5);
    same(object, names[0], &t->Wq[0][0], 32);
    same(object, names[1], &t->Wk[0][0], 32);
    same(object, names[2], &t->Wv[0][0], 32);
    same(object, names[3], &t->Wo[0][0], 40);
    same(object, names[4], &t->X[0][0], 48);
}

/* proves lab.dlogits lab.do lab.datt lab.dx lab.dw */
/* proves lab.q lab.k lab.v lab.att lab.logits lab.loss */
static void pytorchs_tensors(void **state)
{
    static const char *const cases[] = { "one_head", "two_heads", "temperature_half",
                                         "temperature_two" };
    static const char *const inputs[] = { "Wq", "Wk", "Wv", "Wo", "X" };
    static const char *const gradients[] = { "dWq", "dWk", "dWv", "dWo", "dX" };
    (void)state;
    json_t *root = golden("lab_seed0.json");
    compared = 0;
    for (size_t i = 0; i < 4; i++) {
        const json_t *c = json_object_get(root, cases[i]), *targets = json_object_get(c, "targets");
        assert_non_null(c);
        const int heads = (int)json_integer_value(json_object_get(c, "heads"));
        const vt_lab_report *r =
            lab((uint64_t)json_integer_value(json_object_get(c, "seed")), heads,
                json_number_value(json_object_get(c, "temperature")));
        assert_near(r->loss, json_number_value(json_object_get(c, "loss")), 1e-12);
        assert_int_equal(json_array_size(targets), VT_LAB_T);
        for (size_t t = 0; t < VT_LAB_T; t++)
            assert_int_equal(r->targets[t], json_integer_value(json_array_get(targets, t)));
        same_tensors(json_object_get(c, "inputs"), inputs, &r->inputs);
        same_tensors(json_object_get(c, "gradients"), gradients, &r->gradients);
        same(c, "P", &r->P[0][0][0], (size_t)heads * 36);
        same(c, "O", &r->O[0][0], 24);
        same(c, "logits", &r->logits[0][0], 60);
    }
    assert_int_equal(compared, 4 * (184 + 184 + 24 + 60) + 5 * 36);
    json_decref(root);
}

/* The published run: six decimals, and its worst error within a factor of 10 (it
 * is rounding, which depends on the order of sums). */
static void the_published_run(void **state)
{
    (void)state;
    char text[32];
    const vt_lab_report *r = lab(0, 1, 1);
    snprintf(text, sizeof text, "%.6f", r->loss);
    assert_string_equal(text, "3.361272");
    assert_near(r->uniform, 2.302585092994045684, 1e-15);
    assert_true(r->checks[0].worst > 1.29e-8 && r->checks[0].worst < 1.29e-6);
}

/* S, and what follows from it alone. */
static void masked_cells(void **state)
{
    (void)state;
    for (int heads = 1; heads <= 2; heads++) {
        const vt_lab_report *r = lab(3, heads, 1);
        const int width = VT_LAB_D / heads;
        for (int h = 0; h < 2; h++)
        for (int t = 0; t < VT_LAB_T; t++)
        for (int u = 0; u < VT_LAB_T; u++) {
            double sum = 0;
            for (int i = h * width; h < heads && i < (h + 1) * width; i++)
                sum += r->Q[t][i] * r->K[u][i];
            if (h < heads && u > t) assert_true(r->S[h][t][u] == -(double)INFINITY);
            else assert_near(r->S[h][t][u], sum / sqrt(width), 1e-14);
            if (h >= heads || u > t) assert_true(r->P[h][t][u] == 0);
        }
    }
}

/* ---- NumPy ------------------------------------------------------------- */

static const char oracle[] =
    "import sys, numpy as np\n"
    "for seed in map(int, sys.argv[1:]):\n"
    "    r = np.random.default_rng(seed)\n"
    "    a = [r.standard_normal(s) * 0.5 for s in ((8, 4), (8, 4), (8, 4), (4, 10))]\n"
    "    a.append(r.standard_normal((6, 8)))\n"
    "    t = r.integers(0, 10, size=6)\n"
    "    for x in np.concatenate([x.ravel() for x in a]): print(x.hex())\n"
    "    for x in t: print(int(x))\n"
    "    for d in (16, 1024):\n"
    "        r = np.random.default_rng([seed, 5, d])\n"
    "        m = []\n"
    "        for trial in range(16):\n"
    "            q = r.standard_normal((8, d)); k = r.standard_normal((d, 16)); s = q @ k\n"
    "            row = [s.mean(), (s * s).mean()]\n"
    "            for z in (s, s / np.sqrt(d)):\n"
    "                p = np.exp(z - z.max(1, keepdims=True)); p /= p.sum(1, keepdims=True)\n"
    "                row.append(p.max(1).mean())\n"
    "                row.append(np.mean([np.linalg.norm(np.diag(x) - np.outer(x, x)) for x in p]))\n"
    "            m.append(row)\n"
    "        m = np.array(m); mean = m.mean(0); e = m.std(0, ddof=1) / 4\n"
    "        std = np.sqrt(mean[1] - mean[0] ** 2)\n"
    "        print(float(std)); print(float(e[1] / 2 / std))\n"
    "        for i in (2, 4, 3, 5): print(float(mean[i])); print(float(e[i]))\n";

static double number(FILE *f)
{
    char line[64], *end;
    assert_non_null(fgets(line, sizeof line, f));
    const double x = strtod(line, &end);
    assert_true(end > line && *end == '\n');
    return x;
}

static void same_experiment(FILE *f, uint64_t seed, int d)
{
    vt_lab_scaling s = { .d_head = d };
    assert_ok(lab_scaling(&s, seed, &test_error));
    assert_int_equal(s.rows, 128);
    const vt_lab_measure ours[] = { s.score_std, s.weight_raw, s.weight_scaled, s.gradient_raw,
                                    s.gradient_scaled };
    for (size_t i = 0; i < 5; i++) {
        assert_near_at(ours[i].value, number(f), 1e-11, "value", i);
        assert_near_at(ours[i].error, number(f), 1e-9, "error", i);
    }
}

static void numpy_itself(void **state)
{
    static const uint64_t seeds[] = { 0, 1, 2, 42, 12345, UINT32_MAX, UINT64_C(4294967296),
                                      UINT64_C(0x123456789abcdef0), UINT64_MAX };
    enum { NSEEDS = sizeof seeds / sizeof *seeds };
    (void)state;
    if (system("/usr/bin/python3 -c 'import numpy' >/dev/null 2>&1") != 0) {
        print_message("python3-numpy is missing: the lab's numbers are not compared with it\n");
        skip();
    }
    char command[sizeof oracle + 512];
    int n = snprintf(command, sizeof command, "/usr/bin/python3 -c '%s'", oracle);
    for (size_t s = 0; s < NSEEDS; s++)
        n += snprintf(command + n, sizeof command - (size_t)n, " %" PRIu64, seeds[s]);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    for (size_t s = 0; s < NSEEDS; s++) {
        lab_case c;
        lab_draw(&c, seeds[s], 2, 0.5);
        assert_true(c.heads == 2 && c.temperature == 0.5);
        for (size_t i = 0; i < LAB_ENTRIES; i++) {
            char line[64], ours[64];
            assert_non_null(fgets(line, sizeof line, f));
            const double x = strtod(line, NULL);        /* hexadecimal: exact */
            if (memcmp(&x, &c.at[i], sizeof x) != 0) {
                snprintf(ours, sizeof ours, "%a", c.at[i]);
                fail_msg("seed %" PRIu64 ", entry %zu: %s, NumPy: %s", seeds[s], i, ours, line);
            }
        }
        for (size_t t = 0; t < VT_LAB_T; t++) assert_true(c.target[t] == number(f));
        same_experiment(f, seeds[s], 16);
        same_experiment(f, seeds[s], 1024);
    }
    assert_int_equal(fgetc(f), EOF);
    assert_int_equal(pclose(f), 0);
}

/* ---- checks ------------------------------------------------------------ */

static void hand_of(double *hand, const lab_case *c)
{
    lab_stages_f64 s;
    for (size_t i = 0; i < LAB_ENTRIES; i++) hand[i] = (double)NAN;     /* it writes all */
    (void)lab_forward_f64(&s, c->at, c->target, c->heads, c->temperature);
    lab_backward_f64(hand, &s, c->at, c->target, c->heads, c->temperature);
}

/* proves diff.complex diff.central */
static void right_gradients_pass(void **state)
{
    (void)state;
    size_t cases = 0;
    for (uint64_t n = SWEEP(0, 23); n < 25; n++)
    for (int heads = 1; heads <= 2; heads++)
    for (size_t k = 0; k < NTEMPERATURES; k++, cases++) {
        const uint64_t seed = n < 24 ? n : 1032;        /* there p is 1 in float in all rows */
        lab_case c;
        double hand[LAB_ENTRIES];
        vt_lab_check checks[VT_LAB_CHECKS];
        vt_lab_float_check in_float;
        lab_draw(&c, seed, heads, temperatures[k]);
        hand_of(hand, &c);
        lab_check(checks, &in_float, hand, &c);
        for (size_t i = 0; i < VT_LAB_CHECKS; i++) {
            if (!checks[i].pass || !(checks[i].budget_used <= 1))
                fail_msg("seed %" PRIu64 ", %d heads, temperature %g: %s uses %g of its bound", seed,
                         heads, temperatures[k], checks[i].name, checks[i].budget_used);
            assert_int_equal(checks[i].compared, 184);
            assert_int_equal(checks[i].of, 184);
        }
        assert_true(checks[1].worst_of_largest < 1e-13);
        assert_true(checks[0].budget_used > 0 && checks[1].budget_used > 0);
        assert_false(in_float.check.pass);
        assert_true(in_float.within < 40 && in_float.mean > 0.2);
    }
    assert_int_equal(cases, SWEEP(25, 2) * 2 * NTEMPERATURES);
}

/* Both checks fail, and name the tensor (and the entry, where there is one). */
static void found(const lab_case *c, const double *hand, const char *tensor, int row, int col)
{
    vt_lab_check checks[VT_LAB_CHECKS];
    vt_lab_float_check in_float;
    lab_check(checks, &in_float, hand, c);
    for (size_t i = 0; i < VT_LAB_CHECKS; i++) {
        const vt_lab_entry *e = &checks[i].budget_at;
        if (checks[i].pass)
            fail_msg("%s passes a wrong d%s (%g of its bound)", checks[i].name, tensor,
                     checks[i].budget_used);
        assert_false(checks[i].budget_used <= 1);
        assert_string_equal(e->tensor, tensor);
        if (row < 0) continue;
        assert_int_equal(e->row, row);
        assert_int_equal(e->col, col);
    }
}

static void wrong_gradients_fail(void **state)
{
    static const struct { size_t at; const char *tensor; int row, col; } entries[] = {
        { LAB_WQ + 6, "Wq", 1, 2 }, { LAB_WK + 31, "Wk", 7, 3 }, { LAB_WV, "Wv", 0, 0 },
        { LAB_WO + 27, "Wo", 2, 7 }, { LAB_X, "X", 0, 0 }, { LAB_X + 47, "X", 5, 7 },
    };
    (void)state;
    for (int heads = 1; heads <= 2; heads++) {
        lab_case c;
        double hand[LAB_ENTRIES], spoiled[LAB_ENTRIES];
        lab_draw(&c, 7, heads, 1);
        hand_of(hand, &c);
        for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
            const double values[] = { hand[entries[k].at] * 1.001, -hand[entries[k].at], 0,
                                      (double)NAN, (double)INFINITY };
            for (size_t v = 0; v < 5; v++) {
                memcpy(spoiled, hand, sizeof hand);
                spoiled[entries[k].at] = values[v];
                found(&c, spoiled, entries[k].tensor, entries[k].row, entries[k].col);
            }
        }
        memcpy(spoiled, hand, sizeof hand);     /* the 1 / sqrt(HS) of dQ forgotten */
        for (size_t i = LAB_WQ; i < LAB_WK; i++) spoiled[i] *= sqrt(VT_LAB_D / heads);
        found(&c, spoiled, "Wq", -1, 0);
    }
}

/* Complex step alone sees what differences cannot. */
static void a_slip_of_a_billionth(void **state)
{
    (void)state;
    lab_case c;
    double hand[LAB_ENTRIES];
    vt_lab_check checks[VT_LAB_CHECKS];
    vt_lab_float_check in_float;
    lab_draw(&c, 0, 1, 1);
    hand_of(hand, &c);
    hand[LAB_WO + 37] *= 1 + 1e-10;
    lab_check(checks, &in_float, hand, &c);
    assert_true(checks[0].pass);
    assert_false(checks[1].pass);
    assert_string_equal(checks[1].budget_at.tensor, "Wo");
}

/* And it does not see much less: a bound that hides 3e-12 of a tensor's largest
 * gradient would be no bound of rounding. */
static void the_bound_is_tight(void **state)
{
    static const size_t ends[] = { LAB_WQ, LAB_WK, LAB_WV, LAB_WO, LAB_X, LAB_ENTRIES };
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        lab_case c;
        double expected[LAB_ENTRIES], bound[LAB_ENTRIES];
        lab_draw(&c, seed, 1 + (int)(seed % 2), 1);
        lab_complex_step(expected, &c);
        lab_complex_bound(bound, expected, &c);
        for (size_t k = 0; k < 5; k++) {
            double largest = 0;
            for (size_t i = ends[k]; i < ends[k + 1]; i++)
                largest = fmax(largest, fabs(expected[i]));
            for (size_t i = ends[k]; i < ends[k + 1]; i++)
                assert_true(bound[i] > 0 && bound[i] < 3e-12 * largest);
        }
    }
}

static void verdicts_refuse_nan(void **state)
{
    (void)state;
    double hand[LAB_ENTRIES] = { 0 }, expected[LAB_ENTRIES] = { 0 }, bound[LAB_ENTRIES];
    vt_lab_check c = { .name = "x" };
    for (size_t i = 0; i < LAB_ENTRIES; i++) bound[i] = 0;
    lab_judge(&c, hand, expected, bound);
    assert_true(c.pass && c.worst == 0 && c.budget_used == 0 && c.compared == 184);
    expected[9] = 1e-300;
    lab_judge(&c, hand, expected, bound);
    assert_true(!c.pass && c.worst == 1 && c.budget_used > 1);
    bound[9] = 1e-299;
    lab_judge(&c, hand, expected, bound);
    assert_true(c.pass && c.worst == 1);
    assert_near(c.budget_used, 0.1, 1e-15);
    hand[9] = 3e-300;
    lab_judge(&c, hand, expected, bound);
    assert_near(c.worst, 0.5, 1e-15);
    assert_near(c.worst_of_largest, 2, 1e-15);
    double *const all[] = { hand, expected, bound };
    for (size_t k = 0; k < 3; k++) {
        const double before = all[k][100];
        all[k][100] = (double)NAN;
        lab_judge(&c, hand, expected, bound);
        assert_false(c.pass);
        all[k][100] = before;
    }
    bound[100] = (double)INFINITY;
    lab_judge(&c, hand, expected, bound);
    assert_false(c.pass);
}

/* Where truncation rules, the error of central differences is quadratic in the
 * step: a one-sided difference would halve only. */
/* proves diff.central */
static void differences_are_central(void **state)
{
    (void)state;
    lab_case c;
    double hand[LAB_ENTRIES], fine[LAB_ENTRIES], coarse[LAB_ENTRIES], a = 0, b = 0;
    lab_draw(&c, 5, 2, 1);
    hand_of(hand, &c);
    lab_differences(fine, &c, 1e-3);
    lab_differences(coarse, &c, 2e-3);
    for (size_t i = 0; i < LAB_ENTRIES; i++) {
        a += fabs(fine[i] - hand[i]);
        b += fabs(coarse[i] - hand[i]);
    }
    assert_near(b / a, 4, 0.01);
}

static void why_float_fails(void **state)
{
    (void)state;
    const vt_lab_float_check *f = &lab(0, 1, 1)->in_float;
    assert_near(f->spacing, ldexp(1, -22), 0);          /* of floats from 2 to 4 */
    assert_near(f->loss, 3.361271821276071, 2e-6);
    assert_false(f->check.pass);
    assert_true(f->check.worst == 1);                   /* an entry that did not move */
    assert_true(f->zero > 50 && f->zero < 184);
    assert_true(f->within <= 184 - f->zero);
}

/* ---- float32 ----------------------------------------------------------- */

/* All in float: near the double pass of the same floats, and a float each. */
static void in_float_throughout(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++)
    for (int heads = 1; heads <= 2; heads++) {
        static vt_lab_report r;
        const vt_lab_options o = { .seed = seed, .heads = heads, .temperature = 0.7,
                                   .dtype = "float32" };
        assert_int_equal(vt_lab(&o, &r, &test_error), VT_CHECK_FAILED);
        assert_contains(test_error.text, "central differences in float32 tell nothing");
        assert_false(r.checks[0].pass);
        assert_true(r.checks[1].pass && r.checks[1].compared == 184);
        assert_true(r.checks[1].worst_of_largest > 1e-9 && r.checks[1].worst_of_largest < 1e-3);
        assert_string_equal(r.options.dtype, "float32");

        lab_case c;
        double hand[LAB_ENTRIES], found[LAB_ENTRIES];
        lab_draw(&c, seed, heads, 0.7);
        memcpy(found, &r.inputs, sizeof found);
        for (size_t i = 0; i < LAB_ENTRIES; i++) {
            assert_true(found[i] == (double)(float)c.at[i]);
            c.at[i] = found[i];
        }
        c.temperature = (double)0.7F;
        assert_true(r.options.temperature == c.temperature);
        hand_of(hand, &c);
        memcpy(found, &r.gradients, sizeof found);
        size_t other = 0;
        for (size_t i = 0; i < LAB_ENTRIES; i++) {
            assert_true(found[i] == (double)(float)found[i]);
            assert_near_at(found[i], hand[i], 1e-4, "gradient", i);
            other += found[i] != hand[i];
        }
        assert_true(other > 150);
        assert_true(r.loss == (double)(float)r.loss && r.S[0][0][1] == -(double)INFINITY);
        assert_true(heads == 2 || (r.P[1][3][1] == 0 && r.S[1][3][1] == 0));
    }
}

static void wrong_gradients_fail_in_float(void **state)
{
    (void)state;
    lab_case c;
    double hand[LAB_ENTRIES];
    vt_lab_check checks[VT_LAB_CHECKS];
    vt_lab_float_check in_float;
    lab_draw(&c, 7, 1, 1);
    lab_in_float(&c);
    hand_of(hand, &c);
    lab_check(checks, &in_float, hand, &c);
    assert_true(checks[1].pass);
    hand[LAB_WK + 5] *= 1.01;
    lab_check(checks, &in_float, hand, &c);
    assert_false(checks[1].pass);
    assert_string_equal(checks[1].budget_at.tensor, "Wk");
    assert_int_equal(checks[1].budget_at.row, 1);
    assert_int_equal(checks[1].budget_at.col, 1);
}

/* ---- another program's gradient ---------------------------------------- */

static void golden_gradients(vt_lab_tensors *t, double *loss)
{
    static const char *const names[] = { "dWq", "dWk", "dWv", "dWo", "dX" };
    double *const to[] = { &t->Wq[0][0], &t->Wk[0][0], &t->Wv[0][0], &t->Wo[0][0], &t->X[0][0] };
    json_t *root = golden("lab_seed0.json");
    const json_t *c = json_object_get(root, "one_head"), *g = json_object_get(c, "gradients");
    for (size_t k = 0; k < 5; k++)
        assert_true(golden_numbers(json_object_get(g, names[k]), to[k], 48) >= 32);
    *loss = json_number_value(json_object_get(c, "loss"));
    json_decref(root);
}

static void comparisons(void **state)
{
    (void)state;
    vt_lab_tensors t, spoiled;
    vt_lab_comparison c;
    double loss;
    const vt_lab_report *r = lab(0, 1, 1);
    golden_gradients(&t, &loss);
    assert_ok(vt_lab_compare(&c, r, "PyTorch", loss, &t, &test_error));
    assert_true(c.check.pass && c.check.compared == 184 && c.loss == loss);
    for (size_t k = 0; k < VT_LAB_TENSORS; k++)
        assert_true(c.difference[k] >= 0 && c.difference[k] < 1e-15);

    const double values[] = { t.Wo[1][7] + 1e-9, 0, (double)NAN, (double)INFINITY };
    for (size_t v = 0; v < 4; v++) {
        spoiled = t;
        spoiled.Wo[1][7] = values[v];
        assert_int_equal(vt_lab_compare(&c, r, "PyTorch", loss, &spoiled, &test_error),
                         VT_CHECK_FAILED);
        assert_contains(test_error.text, "PyTorch: dWo[1][7]: expected ");
        assert_false(c.check.pass || c.difference[3] < 9e-10);
        assert_true(c.difference[2] < 1e-15 && c.difference[4] < 1e-15);
    }
    const double losses[] = { loss + 1e-13, (double)NAN, 0 };
    for (size_t v = 0; v < 3; v++) {
        assert_int_equal(vt_lab_compare(&c, r, "PyTorch", losses[v], &t, &test_error),
                         VT_CHECK_FAILED);
        assert_contains(test_error.text, "PyTorch: loss: expected ");
    }
}

/* ---- experiments ------------------------------------------------------- */

static void jacobians(void **state)
{
    (void)state;
    const double even[] = { 0.25, 0.25, 0.25, 0.25 }, one[] = { 0, 1, 0 };
    const double x[] = { 0.5, -1, 2, 0.25, 0 };
    double p[5], squares = 0;
    assert_near(lab_jacobian(even, 4), sqrt(3) / 4, 1e-15);     /* I/n - 1/n^2: sqrt(n-1)/n */
    assert_true(lab_jacobian(one, 3) == 0);
    ref_softmax_forward_f64(p, x, 1, 5);
    for (size_t row = 0; row < 5; row++) {              /* the backward pass gives its rows */
        double up[5] = { 0 }, back[5] = { 0 };
        up[row] = 1;
        ref_softmax_backward_f64(back, up, p, 1, 5);
        for (size_t i = 0; i < 5; i++) squares += back[i] * back[i];
    }
    assert_near(lab_jacobian(p, 5), sqrt(squares), 1e-15);
}

/* A score has variance d; an error of one means one: over seeds the squares of
 * (estimate - truth) / error have mean 1 or, from 16 trials, little more. */
static void sampling_errors(void **state)
{
    (void)state;
    enum { SEEDS = 200 };
    for (int d = 16; d <= 64; d *= 4) {
        double sum = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            vt_lab_scaling s = { .d_head = d };
            assert_ok(lab_scaling(&s, seed, &test_error));
            const double z = (s.score_std.value - sqrt(d)) / s.score_std.error;
            assert_true(fabs(z) < 6);
            sum += z * z;
        }
        assert_true(sum / SEEDS > 0.8 && sum / SEEDS < 1.5);
    }
}

/* |a - b| within three errors of two samples of this size. */
static void agree(vt_lab_measure ours, double published)
{
    assert_near(ours.value, published, 3 * sqrt(2) * ours.error);
}

static void scaling(void **state)
{
    (void)state;
    static const double widths[] = { 16, 64, 256, 1024 };
    const vt_lab_report *r = lab(0, 1, 1);
    json_t *root = golden("lab_seed0.json");
    const json_t *list = json_object_get(json_object_get(root, "published"), "scaling");
    assert_int_equal(json_array_size(list), VT_LAB_SCALINGS);
    for (size_t i = 0; i < VT_LAB_SCALINGS; i++) {
        const vt_lab_scaling *s = &r->scaling[i];
        const json_t *p = json_array_get(list, i);
        assert_true(s->d_head == widths[i]);
        assert_int_equal(s->d_head, json_integer_value(json_object_get(p, "d_head")));
        assert_near(s->published_score_std, json_number_value(json_object_get(p, "score_std")), 0);
        assert_near(s->published_weight_raw,
                    json_number_value(json_object_get(p, "max_weight_raw")), 0);
        assert_near(s->published_weight_scaled,
                    json_number_value(json_object_get(p, "max_weight_scaled")), 0);
        agree(s->score_std, s->published_score_std);
        agree(s->weight_raw, s->published_weight_raw);
        agree(s->weight_scaled, s->published_weight_scaled);
        assert_true(s->score_std.error < 0.04 * s->score_std.value && s->weight_raw.error < 0.04);
        assert_near(s->gradient_scaled.value, r->scaling[0].gradient_scaled.value,
                    5 * s->gradient_scaled.error);
        if (i == 0) continue;
        assert_true(s->gradient_raw.value < 0.8 * s[-1].gradient_raw.value);
        assert_true(s->weight_raw.value > s[-1].weight_raw.value);
    }
    json_decref(root);
}

static void softened(void **state)
{
    (void)state;
    static const double expected[VT_LAB_SOFTS] = { 0.25, 0.7, 1, 1.5 };
    for (uint64_t seed = 0; seed < 8; seed++) {
        const vt_lab_report *r = lab(seed, 1, 2);       /* the loss's is another one */
        for (size_t k = 0; k < VT_LAB_SOFTS; k++) {
            const vt_lab_soft *s = &r->softs[k];
            long double sum = 0, bits = 0;
            assert_true(s->temperature == expected[k]);
            for (size_t v = 0; v < VT_LAB_V; v++)
                sum += expl((long double)r->logits[VT_LAB_T - 1][v] / (long double)expected[k]);
            for (size_t v = 0; v < VT_LAB_V; v++) {
                const long double p =
                    expl((long double)r->logits[VT_LAB_T - 1][v] / (long double)expected[k]) / sum;
                assert_near_at(s->probs[v], (double)p, 1e-15, "probability", v);
                bits -= p * log2l(p);
            }
            assert_near(s->entropy, (double)bits, 1e-14);
            if (k > 0) assert_true(s->entropy > s[-1].entropy);
        }
    }
    vt_lab_soft cold = { .temperature = 1e-3 };
    const double logits[VT_LAB_V] = { 0, 10 };          /* p of 0: no NaN */
    lab_soften(&cold, logits);
    assert_true(cold.probs[1] == 1 && cold.probs[0] == 0 && cold.entropy == 0);
}

/* ---- the rest ---------------------------------------------------------- */

static void entries_have_names(void **state)
{
    static const struct { size_t at; const char *tensor; int row, col; } expected[] = {
        { 0, "Wq", 0, 0 }, { 31, "Wq", 7, 3 }, { 32, "Wk", 0, 0 }, { 64, "Wv", 0, 0 },
        { 95, "Wv", 7, 3 }, { 96, "Wo", 0, 0 }, { 106, "Wo", 1, 0 }, { 135, "Wo", 3, 9 },
        { 136, "X", 0, 0 }, { 145, "X", 1, 1 }, { 183, "X", 5, 7 },
    };
    (void)state;
    assert_int_equal(LAB_ENTRIES, 184);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        int row, col;
        assert_string_equal(lab_entry(expected[i].at, &row, &col), expected[i].tensor);
        assert_int_equal(row, expected[i].row);
        assert_int_equal(col, expected[i].col);
    }
}

static void options_are_refused(void **state)
{
    static const struct { int heads; double temperature; const char *part; } bad[] = {
        { 0, 1, "--heads 0: expected 1 or 2" }, { 3, 1, "--heads 3" }, { -1, 1, "--heads -1" },
        { 4, 1, "--heads 4" }, { 1, 0, "--temperature 0: expected a number from 0.01 to 100" },
        { 1, -1, "--temperature -1" }, { 1, (double)NAN, "nan" },
        { 1, (double)INFINITY, "inf" }, { 1, 0.0099, "--temperature" }, { 1, 101, "--temperature" },
    };
    (void)state;
    static vt_lab_report r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const vt_lab_options o = { .heads = bad[i].heads, .temperature = bad[i].temperature };
        assert_int_equal(vt_lab(&o, &r, &test_error), VT_USAGE);
        assert_contains(test_error.text, bad[i].part);
        assert_int_equal(vt_lab(&o, &r, NULL), VT_USAGE);
    }
    const vt_lab_options half = { .heads = 1, .temperature = 1, .dtype = "float16" };
    assert_int_equal(vt_lab(&half, &r, &test_error), VT_USAGE);
    assert_contains(test_error.text, "--dtype float16: expected float64 or float32");
    assert_int_equal(vt_lab_dump(&half, "never.npz", &test_error), VT_USAGE);
    vt_lab_options o;
    vt_lab_defaults(&o);
    assert_true(o.seed == 0 && o.heads == 1 && o.temperature == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pytorchs_tensors),
        cmocka_unit_test(the_published_run),
        cmocka_unit_test(masked_cells),
        cmocka_unit_test(numpy_itself),
        cmocka_unit_test(right_gradients_pass),
        cmocka_unit_test(wrong_gradients_fail),
        cmocka_unit_test(a_slip_of_a_billionth),
        cmocka_unit_test(the_bound_is_tight),
        cmocka_unit_test(verdicts_refuse_nan),
        cmocka_unit_test(differences_are_central),
        cmocka_unit_test(why_float_fails),
        cmocka_unit_test(in_float_throughout),
        cmocka_unit_test(wrong_gradients_fail_in_float),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(jacobians),
        cmocka_unit_test(sampling_errors),
        cmocka_unit_test(scaling),
        cmocka_unit_test(softened),
        cmocka_unit_test(entries_have_names),
        cmocka_unit_test(options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

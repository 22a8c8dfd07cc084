/* test_growth.c -- how cost grows: exact power laws give their exponents, what grows
 * otherwise is named, and the picture shows what was measured.  Times are made up; none
 * is taken here.
 */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/growth.h"
#include "cli/curves.h"

enum { SIZES = 6 };

/* ---- the fit ----------------------------------------------------------------- */

static void a_power_law_gives_its_exponent(void **state)
{
    (void)state;
    static const double exponents[] = { -1, 0, 0.5, 1, 2, 3 };
    double x[SIZES], y[SIZES];
    growth_law g;
    for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
        for (int i = 0; i < SIZES; i++) {
            x[i] = 3 << 2 * i;
            y[i] = 5e-7 * pow(x[i], exponents[k]);
        }
        assert_true(growth_fit(&g, x, y, SIZES));
        assert_true(fabs(g.exponent - exponents[k]) < 1e-13);
        assert_true(fabs(g.factor / 5e-7 - 1) < 1e-12 && fabs(g.deviation - 1) < 1e-12);
    }
}

/* y = (1, 8, 4) at x = (1, 2, 4): in powers of 2, (0, 3, 2) at (0, 1, 2).  By hand the slope is
 * ((-1)(-5/3) + (1)(1/3)) / 2 = 1; the line is at 2/3, 5/3, 8/3, at most 4/3 away. */
static void a_fit_is_least_squares(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 4 }, y[] = { 1, 8, 4 };
    growth_law g;
    assert_true(growth_fit(&g, x, y, 3));
    assert_true(fabs(g.exponent - 1) < 1e-14);
    assert_true(fabs(g.factor - pow(2, 2.0 / 3)) < 1e-14);
    assert_true(fabs(g.deviation - pow(2, 4.0 / 3)) < 1e-13);
}

static void what_has_no_slope_is_refused(void **state)
{
    (void)state;
    const double same[] = { 7, 7, 7 }, x[] = { 1, 2, 4 }, y[] = { 1, 2, 3 }, zero[] = { 1, 0, 3 };
    const double nan[] = { 1, (double)NAN, 3 };
    growth_law g;
    assert_false(growth_fit(&g, same, y, 3));
    assert_false(growth_fit(&g, x, zero, 3));
    assert_false(growth_fit(&g, x, nan, 3));
    assert_false(growth_fit(&g, zero, y, 3));
    assert_false(growth_fit(&g, x, y, 1));
    assert_false(growth_fit(&g, x, y, 0));
}

/* ---- curves of a report -------------------------------------------------------- */

typedef struct made { vt_bench_report r; vt_bench_row rows[3 * SIZES]; } made;

/* SIZES rows whose work is that of size^predicted, and whose time grows as size^real. */
static void add(made *m, const char *name, const char *of, double predicted, double real, bool by_threads)
{
    for (int i = 0; i < SIZES; i++) {
        const double size = 1 << i;
        vt_bench_row *row = &m->rows[m->r.nrows++];
        *row = (vt_bench_row){ .verdict = VT_BENCH_MEASURED, .curve = name, .size_of = of, .size = size,
                               .threads = by_threads ? (int)size : 2,
                               .flop = 1e6 * (by_threads ? 1 : pow(size, predicted)), .seconds = 1e-4 * pow(size, real),
                               .limit_seconds = 1e-5 * pow(size, real), .share = 0.1 };
        snprintf(row->name, sizeof row->name, "%s<%g>", name, size);
    }
    m->r.rows = m->rows;
}

static void what_grows_otherwise_is_named(void **state)
{
    (void)state;
    made m = { .r = { .nrows = 0 } };
    add(&m, "linear", "d", 2, 2, false);
    add(&m, "head", "V", 1, 2, false);          /* a quadratic, planted */
    add(&m, "threads", "threads", -1, -0.5, true);
    m.rows[2].verdict = VT_BENCH_WRONG;         /* no point */
    m.rows[2].seconds = (double)NAN;
    assert_ok(growth_find(&m.r, &test_error));
    assert_int_equal(m.r.ncurves, 3);
    static const struct { const char *name, *of, *words; size_t sizes; double predicted, exponent, growth; } want[] = {
        { "linear", "d", "as predicted", SIZES - 1, 2, 2, 1 },
        { "head", "V", "more than predicted", SIZES, 1, 2, 2 },
        { "threads", "threads", "less than predicted", SIZES, -1, -0.5, 0.5 },
    };
    for (size_t i = 0; i < 3; i++) {
        const vt_bench_curve *c = &m.r.curves[i];
        assert_string_equal(c->name, want[i].name);
        assert_string_equal(c->of, want[i].of);
        assert_int_equal(c->sizes, want[i].sizes);
        assert_true(fabs(c->predicted - want[i].predicted) < 1e-12 && fabs(c->exponent - want[i].exponent) < 1e-12);
        assert_true(fabs(c->growth - want[i].growth) < 1e-12 && fabs(c->deviation - 1) < 1e-12);
        assert_string_equal(curve_words(c), want[i].words);
        assert_int_equal(c->agrees, i == 0);
    }
    free(m.r.curves);
}

/* Just inside and just outside of what is allowed, on both sides. */
static void a_tenth_is_allowed(void **state)
{
    (void)state;
    static const struct { double growth; bool agrees; } sides[] = {
        { 0.89, false }, { 0.91, true }, { 1.09, true }, { 1.11, false },
    };
    for (size_t i = 0; i < 4; i++) {
        made m = { .r = { .nrows = 0 } };
        add(&m, "attention", "T", 2, 2 * sides[i].growth, false);
        assert_ok(growth_find(&m.r, &test_error));
        assert_int_equal(m.r.curves[0].agrees, sides[i].agrees);
        free(m.r.curves);
    }
}

static void one_size_has_no_growth(void **state)
{
    (void)state;
    made m = { .r = { .nrows = 0 } };
    add(&m, "head", "V", 1, 1, false);
    m.r.nrows = 1;
    assert_ok(growth_find(&m.r, &test_error));
    assert_int_equal(m.r.ncurves, 1);
    assert_int_equal(m.r.curves[0].sizes, 1);
    assert_true(isnan(m.r.curves[0].growth) && isnan(m.r.curves[0].exponent) && !m.r.curves[0].agrees);
    assert_string_equal(curve_words(&m.r.curves[0]), "not known");
    free(m.r.curves);
}

/* ---- the cases ---------------------------------------------------------------- */

/* The issue's: T 64 to 16,384 and d 32 to 1024 by doubling, V, threads from 1. */
static void cases_are_points_of_curves(void **state)
{
    (void)state;
    static const struct { const char *curve, *of; double first, last; } want[] = {
        { "attention", "T", 64, 16384 }, { "attention-both", "T", 64, 16384 }, { "linear", "d", 32, 1024 },
        { "head", "V", 1024, 65536 }, { "threads", "threads", 1, 16 },
    };
    size_t at = 0;
    double before = 0;
    vt_bench_row row;
    for (const bench_case *c = bench_scalings; c->name; c++) {
        bench_scaling(c, &row);
        if (before > 0 && before == want[at].last) at++, before = 0;
        assert_string_equal(row.curve, want[at].curve);
        assert_string_equal(row.size_of, want[at].of);
        assert_true(row.size == (before > 0 ? 2 * before : want[at].first));
        before = row.size;
        assert_false(c->always);
    }
    assert_int_equal(at, 4);
    assert_true(before == want[4].last);
    bench_scaling(bench_case_at(0), &row);
    assert_true(row.curve == NULL && row.size_of == NULL && isnan(row.size));
}

/* ---- the picture --------------------------------------------------------------- */

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) n++;
    return n;
}

static void the_picture_has_each_size(void **state)
{
    (void)state;
    made m = { .r = { .machine = { .cpu = "a <processor>", .cores = 2 }, .isa = "avx2" } };
    bytes svg = { 0 };
    add(&m, "linear", "d", 2, 2, false);
    add(&m, "head", "V", 1, 2, false);
    assert_ok(growth_find(&m.r, &test_error));
    assert_ok(curves_svg(&svg, &m.r, "today", &test_error));
    const char *text = (const char *)svg.data;
    assert_int_equal(count(text, "<circle class=\"size\" cx=\""), 2 * SIZES + 1);       /* one in the legend */
    assert_int_equal(count(text, "<g class=\"curve agrees\">"), 1);
    assert_int_equal(count(text, "<g class=\"curve differs\">"), 1);
    assert_int_equal(count(text, "time ~ V^2.00, predicted ^1.00: more than predicted"), 1);
    assert_int_equal(count(text, "<title>head&lt;32&gt;: 0.102 s, 10 % of its limit</title>"), 1);  /* 1e-4 32^2 */
    assert_int_equal(count(text, "a &lt;processor&gt;, 2 cores, kernels avx2"), 1);
    assert_int_equal(count(text, "nan") + count(text, "inf"), 0);
    /* A power is a straight line: on axes that are both logarithmic, equal steps. */
    const char *line = strstr(strstr(text, "curve agrees"), "<path class=\"taken\" d=\"M");
    double x[SIZES], y[SIZES];
    assert_non_null(line);
    line += strlen("<path class=\"taken\" d=\"");
    for (int i = 0; i < SIZES; i++) {
        char *end;
        x[i] = strtod(line + 1, &end);          /* behind M or L */
        y[i] = strtod(end, &end);
        line = end;
    }
    for (int i = 2; i < SIZES; i++)             /* places have one decimal */
        assert_true(fabs(x[i] - 2 * x[i - 1] + x[i - 2]) < 0.21 && fabs(y[i] - 2 * y[i - 1] + y[i - 2]) < 0.21);
    assert_true(x[1] > x[0] + 20 && y[1] < y[0] - 20);
    bytes_free(&svg);
    free(m.r.curves);

    m.r.ncurves = 0;                            /* nothing measured */
    m.r.nrows = 1;
    assert_ok(growth_find(&m.r, &test_error));
    assert_ok(curves_svg(&svg, &m.r, "today", &test_error));
    assert_contains((const char *)svg.data, "1 size: no line can be drawn");
    bytes_free(&svg);
    free(m.r.curves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_power_law_gives_its_exponent),
        cmocka_unit_test(a_fit_is_least_squares),
        cmocka_unit_test(what_has_no_slope_is_refused),
        cmocka_unit_test(what_grows_otherwise_is_named),
        cmocka_unit_test(a_tenth_is_allowed),
        cmocka_unit_test(one_size_has_no_growth),
        cmocka_unit_test(cases_are_points_of_curves),
        cmocka_unit_test(the_picture_has_each_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

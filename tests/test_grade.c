/* test_grade.c -- the table of exercises against the graphs that it speaks of, what a grade
 * says, and the statuses of vt_grade.  What learners meet is in cli_grade.sh. */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lab/grade_trial.h"
#include "lab/grade_words.h"
#include "verify/op/op_case.h"

static size_t elements(const graph_sizes *z, const char *axes)
{
    size_t n = 1;
    for (; *axes; axes++) n *= (size_t)exercise_size(z, *axes);
    return n;
}

static void check_list(const exercise_tensor *list, const op_case *c)
{
    for (size_t k = 0; k < EXERCISE_TENSORS && list[k].name; k++) {
        int number;
        const graph_tensor *t = trial_tensor(c, &list[k], &number);
        if (!t) fail_msg("%s: the graph has no %s", list[k].name, list[k].graph);
        assert_int_equal(t->count, elements(&c->z, list[k].axes));
        assert_true(strlen(list[k].name) <= 6);
    }
}

/* Every tensor is one of the graph's and has its size, in every case. */
static void tables_fit_their_graphs(void **state)
{
    (void)state;
    size_t cases = 0;
    for (size_t i = 0; i < EXERCISES; i++) {
        vt_grade_report out;
        grading g = { .e = exercise_at(i), .seed = 3, .out = &out };
        for (size_t n = 0; n < trial_cases(g.e); n++, cases++) {
            trial t;
            assert_ok(trial_new(&t, &g, n, &test_error));
            for (size_t k = 0; k < EXERCISE_FUNCTIONS && g.e->function[k].name; k++) {
                check_list(g.e->function[k].in, &t.c);
                check_list(g.e->function[k].out, &t.c);
                assert_string_equal(g.e->function[k].name, g.e->shown->functions[k]);
            }
            trial_free(&t);
        }
    }
    assert_int_equal(cases, 8 + 7 + 8 + 8 + 8 + 8 + 7);
    assert_null(exercise_at(EXERCISES));
}

/* What a gradient is judged by would let nothing wrong pass: the bound is near rounding. */
static void bounds_are_of_rounding(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXERCISES; i++) {
        vt_grade_report out;
        grading g = { .e = exercise_at(i), .seed = 1, .out = &out };
        for (size_t k = 0; k < EXERCISE_FUNCTIONS && g.e->function[k].name; k++) {
            trial t;
            g.f = &g.e->function[k];
            assert_ok(trial_new(&t, &g, 0, &test_error));
            const exercise_tensor *list = trial_results(&g);
            for (size_t n = 0; n < EXERCISE_TENSORS && list[n].name; n++) {
                if (!trial_is_result(&g, &list[n])) continue;
                int number;
                const graph_tensor *at = trial_tensor(&t.c, &list[n], &number);
                double largest = 0;
                for (size_t e = at->at; e < at->at + at->count; e++)
                    if (fabs(trial_expected(&g, &t, e)) > largest)
                        largest = fabs(trial_expected(&g, &t, e));
                assert_true(largest > 0);
                for (size_t e = at->at; e < at->at + at->count; e++)
                    assert_true(trial_bound(&g, &t, e) < 1e-11 * (1 + largest));
            }
            trial_free(&t);
        }
    }
}

static void words(void **state)
{
    (void)state;
    const exercise *lab = exercise_at(2), *heads = exercise_at(3), *layernorm = exercise_at(6);
    char text[96];
    const graph_sizes z = { .T = 5, .NH = 3, .HS = 2, .C = 6, .V = 7 };
    grade_sizes(text, sizeof text, heads, &z);
    assert_string_equal(text, "T 5, heads 3, width 2");
    grade_sizes(text, sizeof text, lab, &z);
    assert_string_equal(text, "T 5, C 6, D 2, vocab 7");
    grade_index(text, sizeof text, "THD", &z, 1 * 6 + 2 * 2 + 1);
    assert_string_equal(text, "[1][2][1]");
    grade_index(text, sizeof text, "", &z, 0);
    assert_string_equal(text, "");
    grade_say(text, sizeof text, "1/sqrt(HS) is missing on dq and dk", heads, &heads->function[1]);
    assert_string_equal(text, "1/sqrt(width) is missing on dQ and dK");
    grade_say(text, sizeof text, "ds = a da: a row of dwq", lab, &lab->function[0]);
    assert_string_equal(text, "ds = P dP: a row of dWq");
    grade_say(text, sizeof text, "dw holds the gradient of b", layernorm, &layernorm->function[0]);
    assert_string_equal(text, "dw holds the gradient of b");
    grade_size_words(text, sizeof text, "Q of q, sqrt(HS)", lab);
    assert_string_equal(text, "Q of q, sqrt(D)");
    char narrow[8];
    grade_say(narrow, sizeof narrow, "abcd HS efgh", lab, &lab->function[0]);
    assert_true(strlen(narrow) < sizeof narrow);
}

static void exercises_are_complete(void **state)
{
    (void)state;
    size_t n, minutes = 0;
    const vt_exercise *e = vt_exercises(&n);
    assert_int_equal(n, 7);
    for (size_t i = 0; i < n; i++) {
        minutes += (size_t)e[i].minutes;
        assert_true(e[i].file[0] == (char)('1' + i) && strstr(e[i].file, e[i].name) != NULL);
        assert_non_null(e[i].functions[0]);
        assert_true(e[i].hints[0] && e[i].hints[1] && e[i].hints[2]);
        for (size_t k = 0; k < i; k++) assert_string_not_equal(e[i].name, e[k].name);
    }
    assert_true(minutes >= 80 && minutes <= 100);
}

static void the_library_answers(void **state)
{
    (void)state;
    static vt_grade_report r;
    const vt_grade_options o = { .seed = 1 }, other = { .exercise = "none" };
    char path[512];
    snprintf(path, sizeof path, "%s/exercises/solutions/2_softmax_solved.c", VT_SOURCE);
    assert_ok(vt_grade(path, &o, &r, &test_error));
    assert_true(r.verdict == VT_GRADE_SOLVED && r.cases == 7 && r.cases_of == 7);
    assert_true(r.nrows == 1 && r.compared == r.rows[0].compared && r.compared > 60);
    assert_true(r.rows[0].budget_used >= 0 && r.rows[0].budget_used <= 1 && !r.function);
    snprintf(path, sizeof path, "%s/exercises/2_softmax.c", VT_SOURCE);
    assert_int_equal(vt_grade(path, &o, &r, &test_error), VT_CHECK_FAILED);
    assert_true(r.verdict == VT_GRADE_NOTHING);
    assert_string_equal(r.function, "softmax_backward");
    assert_int_equal(vt_grade(path, &other, &r, &test_error), VT_USAGE);
    assert_contains(test_error.text, "no exercise 'none': expected one of forward, softmax");
    assert_int_equal(vt_grade("no/such.c", &o, &r, &test_error), VT_IO);
    assert_int_equal(vt_grade("no/such.c", &o, &r, NULL), VT_IO);
    assert_string_equal(vt_grade_verdict_name(VT_GRADE_STOPPED), "stopped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_fit_their_graphs),
        cmocka_unit_test(bounds_are_of_rounding),
        cmocka_unit_test(words),
        cmocka_unit_test(exercises_are_complete),
        cmocka_unit_test(the_library_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

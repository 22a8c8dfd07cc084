/* test_weights_fast.c -- the weights of a row of logits are exp_f64()'s, bit for bit:
 * whole and partial vectors and tasks, -Inf, results that are subnormal or 0.
 */
#include "fast_check.h"
#include <float.h>
#include "base/elementary.h"

static size_t compared;

static void run(const ops *o, size_t n, double temperature, bool teams)
{
    float *x = guarded(n * sizeof *x);
    double *first = NULL;
    for (size_t v = 0; v < n; v++)
        x[v] = v % 31 == 5 ? -(float)INFINITY : v % 29 == 3 ? 3
             : (float)(3 - 380 * (1 + (double)fc_random()));
    float *x2 = fc_copy(x, n);
    for (int i = 0; i < (teams ? FC_TEAMS : 1); i++) {
        double *w = guarded(n * sizeof *w);
        o->weights(fc_team[i], w, x, 3, temperature, n);
        for (size_t v = 0; v < n && i == 0; v++, compared++) {
            const double want = exp_f64(((double)x[v] - 3) / temperature);
            assert_memory_equal(&w[v], &want, sizeof want);
        }
        if (i == 0) { first = w; continue; }
        FC_SAME(w, first, n);
        guarded_free(w);
    }
    FC_SAME(x, x2, n);
    guarded_free(first), guarded_free(x), guarded_free(x2);
}

static void sizes(const ops *o)
{
    enum { CHUNK = 2048 };                      /* numbers of a task */
    static const double temperatures[] = { 1, 0.7, 1e-3, 4.9406564584124654e-324, DBL_MAX };
    size_t wanted = 0;
    compared = 0;
    fc_make_teams((ops_sizes){ 1, 1, 0, 1, 1, 1, 1, 1 });
    for (size_t k = 0; k < 5; k++) {
        for (size_t n = 1; n <= FC_SMALL; wanted += n++) run(o, n, temperatures[k], false);
        for (size_t i = k; i < FC_EDGES; wanted += fc_edge(i, CHUNK), i += 5)
            run(o, fc_edge(i, CHUNK), temperatures[k], i / 5 % 2 == 0);
        run(o, 5000, temperatures[k], true);
    }
    assert_true(wanted >= 5 * FC_SMALL * (FC_SMALL + 1) / 2 + 6 * CHUNK);
    assert_int_equal(compared, wanted + 5 * 5000);
    fc_free_teams();
}

static void bits_are_the_definitions(void **state) { (void)state; fc_each_table(sizes); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_the_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

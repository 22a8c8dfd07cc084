/* test_embedding_fast.c -- embedding and residual in vectors: their additions
 * are the definition's, in its order, so the bits are those of the float
 * definition.
 */
#include "fast_check.h"
#define VT_SCALAR 32
#include "kernels/definitions.h"

static void embed(const ops *o, int B, int T, int P, int C, int V, bool teams)
{
    const size_t n = (size_t)B * (size_t)T, out_n = n * (size_t)C;
    const size_t wte_n = (size_t)V * (size_t)C, wpe_n = (size_t)(P + T) * (size_t)C;
    float *wte = fc_random_buffer(wte_n, 1), *wpe = fc_random_buffer(wpe_n, 1);
    float *wte2 = fc_copy(wte, wte_n), *wpe2 = fc_copy(wpe, wpe_n), *dout = fc_random_buffer(out_n, 1);
    float *dout2 = fc_copy(dout, out_n), *want = fc_nan_buffer(out_n);
    float *dwte0 = fc_random_buffer(wte_n, 1), *dwpe0 = fc_random_buffer(wpe_n, 1);
    float *dwte_want = fc_copy(dwte0, wte_n), *dwpe_want = fc_copy(dwpe0, wpe_n);
    int *tokens = guarded(n * sizeof *tokens);
    for (size_t i = 0; i < n; i++)
        tokens[i] = i == 0 ? V - 1 : (int)((double)V * (0.5 + 0.499 * (double)fc_random()));
    ref_embedding_forward_f32(want, tokens, wte, wpe, B, T, P, C);
    ref_embedding_backward_f32(dwte_want, dwpe_want, dout, tokens, B, T, P, C);
    for (int i = 0; i < (teams ? FC_TEAMS : 1); i++) {
        float *out = fc_nan_buffer(out_n), *dwte = fc_copy(dwte0, wte_n), *dwpe = fc_copy(dwpe0, wpe_n);
        o->embedding_forward(fc_team[i], out, tokens, wte, wpe, B, T, P, C);
        o->embedding_backward(fc_team[i], dwte, dwpe, dout, tokens, B, T, P, C);
        FC_SAME(out, want, out_n);
        FC_SAME(dwte, dwte_want, wte_n);
        FC_SAME(dwpe, dwpe_want, wpe_n);
        guarded_free(out), guarded_free(dwte), guarded_free(dwpe);
    }
    FC_SAME(wte, wte2, wte_n);
    FC_SAME(wpe, wpe2, wpe_n);
    FC_SAME(dout, dout2, out_n);
    void *all[] = { wte, wpe, wte2, wpe2, dout, dout2, want, dwte0, dwpe0, dwte_want, dwpe_want, tokens };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

static void embeddings(const ops *o)
{
    fc_make_teams((ops_sizes){ 1, 1, 0, 1, 1, 1, 1, 1 });
    for (int C = 1; C <= 2 * 32 + 1; C++) embed(o, 2, 3, C % 4, C, 5, false);  /* columns of a task */
    for (int T = 1; T <= 2 * 64 + 1; T++) embed(o, 1, T, T % 3, 3, 4, false);   /* rows of a task */
    for (int B = 1; B <= 9; B++) embed(o, B, 16, 0, 17, 4, false);
    embed(o, 5, 30, 0, 100, 7, true);
    embed(o, 16, 128, 0, 128, 300, true);
    embed(o, 1, 1, 127, 128, 300, true);
}

static void add(const ops *o, size_t n, bool teams)
{
    float *a = fc_random_buffer(n, 1), *b = fc_random_buffer(n, 1), *a2 = fc_copy(a, n);
    float *b2 = fc_copy(b, n), *d = fc_random_buffer(n, 1), *d2 = fc_copy(d, n), *want = fc_nan_buffer(n);
    float *da_want = fc_copy(b, n), *db_want = fc_copy(a, n);
    ref_residual_forward_f32(want, a, b, n);
    ref_residual_backward_f32(da_want, db_want, d, n);
    for (int i = 0; i < (teams ? FC_TEAMS : 1); i++) {
        float *out = fc_nan_buffer(n), *da = fc_copy(b, n), *db = fc_copy(a, n);
        o->residual_forward(fc_team[i], out, a, b, n);
        o->residual_backward(fc_team[i], da, db, d, n);
        FC_SAME(out, want, n);
        FC_SAME(da, da_want, n);
        FC_SAME(db, db_want, n);
        /* Both gradients in one tensor: both are added. */
        memcpy(da, b, n * sizeof *da);
        memcpy(db, b, n * sizeof *db);
        ref_residual_backward_f32(db, db, d, n);
        o->residual_backward(fc_team[i], da, da, d, n);
        FC_SAME(da, db, n);
        guarded_free(out), guarded_free(da), guarded_free(db);
    }
    FC_SAME(a, a2, n);
    FC_SAME(b, b2, n);
    FC_SAME(d, d2, n);
    float *all[] = { a, b, a2, b2, d, d2, want, da_want, db_want };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

static void residuals(const ops *o)
{
    fc_make_teams((ops_sizes){ 1, 1, 0, 1, 1, 1, 1, 1 });
    for (size_t n = 1; n <= FC_SMALL; n++) add(o, n, false);
    for (size_t i = 0; i < FC_EDGES; i++) add(o, fc_edge(i, 16384), false);
    static const size_t more[] = { 16383, 16384, 16385, 70001 };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) add(o, more[i], true);
}

static void embedding_has_the_definitions_bits(void **state)
{
    (void)state;
    fc_each_table(embeddings);
    fc_free_teams();
}
static void residual_has_the_definitions_bits(void **state)
{
    (void)state;
    fc_each_table(residuals);
    fc_free_teams();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedding_has_the_definitions_bits),
        cmocka_unit_test(residual_has_the_definitions_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

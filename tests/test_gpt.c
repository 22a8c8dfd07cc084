/* test_gpt.c -- the wiring, on the definitions and on the fast kernels.
 *
 * Gradients of the whole model against complex step, every entry; the tie of
 * head and embedding; cached decoding against the full forward; causality; the
 * float wirings against the double one.
 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model_case.h"
#include "base/rng.h"
#include "support.h"

static const gpt_config small = { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11 };

/* Both errors are rounding of a computation a few hundred operations deep; the
 * scale is the largest gradient of the tensor's model (here of order 1). */
static void every_gradient(const gpt_config *z, int B, int T)
{
    model_case c;
    model_case_make(&c, z, B, T, 7);
    double *g = malloc(c.count * sizeof *g), largest = 0;
    model_case_f64(&c, g);
    for (size_t i = 0; i < c.count; i++) if (fabs(g[i]) > largest) largest = fabs(g[i]);
    assert_true(largest > 0.1);
    size_t compared = 0;
    for (size_t i = 0; i < c.count; i++, compared++)
        assert_near_at(g[i], model_case_step(&c, i), 256 * 2.3e-16 * largest, "gradient", i);
    assert_int_equal(compared, gpt_parameter_count(z));
    free(g);
    model_case_free(&c);
}

/* proves attn.dxn attn.dwq attn.dwk attn.dwv attn.dbq attn.dbk attn.dbv block.dln1 */
/* proves block.dres block.dln2 attn.do attn.dwo attn.dbo block.datt gpt.dembed */
/* proves mlp.dg mlp.dwproj mlp.dbproj mlp.df mlp.dn mlp.dwfc mlp.dbfc */
/* proves head.dlogits head.dy head.dwhead head.dres */
static void gradients_equal_complex_step(void **state)
{
    (void)state;
    gpt_config z = small;
    every_gradient(&z, 2, 4);           /* shorter than the context */
    every_gradient(&z, 1, z.T);
    every_gradient(&z, 3, 1);
    z.L = 1;
    every_gradient(&z, 2, 3);
}

/* OPT-04, CKPT-03: one parameter, the sum of both uses' gradients. */
/* proves head.dwte */
static void gradients_of_a_tied_model(void **state)
{
    (void)state;
    gpt_config z = small;
    z.tied = true;
    assert_int_equal(gpt_parameter_count(&z), gpt_parameter_count(&small) - 6 * 11);
    every_gradient(&z, 2, 4);
}

/* LOSS-04, OPT-04: backward adds to the gradients of earlier batches, in a tied
 * head's part of wte too. */
static void backward_adds(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        gpt_config z = small;
        z.tied = tied;
        model_case c;
        model_case_make(&c, &z, 2, 4, 7);
        double *once = malloc(c.count * sizeof *once), *twice = malloc(c.count * sizeof *twice);
        double *head = malloc((size_t)(z.C * z.V) * sizeof *head), largest = 0;
        const size_t bytes = gpt_acts_bytes_f64(&z, 2, 4, 4, true);
        void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
        assert_true(once && twice && head && memory);
        const gpt_model_f64 m = { .z = z, .params = c.params, .head = head };
        gpt_acts_f64 a;
        model_case_f64(&c, once);
        memcpy(twice, once, c.count * sizeof *once);
        gpt_acts_place_f64(&a, memory, &z, 2, 4, 4, true);
        gpt_prepare_f64(&m);
        gpt_forward_f64(&m, &a, c.tokens, NULL, 2, 4);
        gpt_loss_f64(&m, &a, c.targets, 1, 2, 4);
        gpt_backward_f64(&m, &a, twice, c.tokens, c.targets, c.dloss, 2, 4);
        for (size_t i = 0; i < c.count; i++) if (fabs(once[i]) > largest) largest = fabs(once[i]);
        for (size_t i = 0; i < c.count; i++)
            assert_near_at(twice[i], 2 * once[i], 64 * 2.3e-16 * largest, "gradient", i);
        free(memory);
        free(head);
        free(twice);
        free(once);
        model_case_free(&c);
    }
}

/* ATT-04: prefill, then one at a time and in chunks, equals the full forward. */
/* proves cache.store cache.length */
static void cached_forward_equals_the_full_one(void **state)
{
    (void)state;
    const int chunks[][5] = { { 4, 1 }, { 2, 2, 1 }, { 1, 1, 1, 1, 1 }, { 5 }, { 1, 3, 1 } };
    model_case c;
    model_case_make(&c, &small, 1, 5, 3);
    const size_t V = (size_t)small.V;
    void *m1 = malloc(gpt_acts_bytes_f64(&small, 1, 5, 5, false));
    void *m2 = malloc(gpt_acts_bytes_f64(&small, 1, 5, 5, false));
    double *kv = malloc(2 * 2 * 5 * 6 * sizeof *kv);
    assert_true(m1 && m2 && kv);
    gpt_acts_f64 full, part;
    const gpt_model_f64 m = { .z = small, .params = c.params };
    gpt_acts_place_f64(&full, m1, &small, 1, 5, 5, false);
    gpt_acts_place_f64(&part, m2, &small, 1, 5, 5, false);
    gpt_forward_f64(&m, &full, c.tokens, NULL, 1, 5);
    for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
        gpt_cache_f64 cache = { .k = kv, .v = kv + 2 * 5 * 6 };
        for (size_t i = 0; i < 120; i++) kv[i] = NAN;           /* nothing ahead is read */
        for (int j = 0, at = 0; at < 5; at += chunks[k][j++]) {
            const int T = chunks[k][j];
            gpt_forward_f64(&m, &part, c.tokens + at, &cache, 1, T);
            for (size_t i = 0; i < (size_t)T * V; i++)
                assert_near_at(part.logits[i], full.logits[(size_t)at * V + i], 1e-14,
                               "logit", i);
        }
        assert_int_equal(cache.length, 5);
    }
    free(kv);
    free(m2);
    free(m1);
    model_case_free(&c);
}

/* Each table of fast kernels that this machine runs; a team of two. */
static void each_fast(const gpt_config *z, void (*test)(const gpt_model_fast *, gpt_acts_fast *,
                                                        gpt_acts_fast *, const model_case *))
{
    const ops *kernels;
    const ops_sizes sizes = { .B = 1, .T = z->T, .P = z->T, .C = z->C, .NH = z->NH,
                              .HS = z->C / z->NH, .FF = z->FF, .V = z->V };
    const size_t bytes = gpt_acts_bytes_fast(z, 1, z->T, z->T, false);
    size_t worker, shared;
    int ran = 0;
    model_case c;
    model_case_make(&c, z, 1, z->T, 9);
    float *params = malloc(c.count * sizeof *params);
    void *m1 = aligned_alloc(64, (bytes + 63) / 64 * 64), *m2 = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_true(params && m1 && m2);
    for (size_t i = 0; i < c.count; i++) params[i] = (float)c.params[i];
    ops_scratch(&sizes, &worker, &shared);
    for (size_t i = 0; (kernels = ops_runs(i)) != NULL; i++) {
        gpt_model_fast m = { .z = *z, .params = params, .kernels = kernels };
        gpt_acts_fast a, b;
        assert_ok(team_new(&m.team, 2, worker, shared, &test_error));
        gpt_acts_place_fast(&a, m1, z, 1, z->T, z->T, false);
        gpt_acts_place_fast(&b, m2, z, 1, z->T, z->T, false);
        gpt_forward_fast(&m, &a, c.tokens, NULL, 1, z->T);
        test(&m, &a, &b, &c);
        team_free(m.team);
        ran++;
    }
    assert_true(ran >= 1);
    free(m2);
    free(m1);
    free(params);
    model_case_free(&c);
}

/* ATT-04 on the fast kernels.  1e-6 is of logits of size 1: theirs is taken. */
static void fast_chunks(const gpt_model_fast *m, gpt_acts_fast *full, gpt_acts_fast *part,
                        const model_case *c)
{
    static const int chunks[][6] = { { 36, 4 }, { 4, 1, 35 }, { 2, 2, 1, 17, 18 }, { 40 },
                                     { 1, 38, 1 } };
    const size_t V = (size_t)m->z.V, T = (size_t)m->z.T;
    const size_t half = (size_t)m->z.L * T * (size_t)m->z.C;
    float *kv = malloc(2 * half * sizeof *kv);
    double largest = 1;
    assert_non_null(kv);
    for (size_t i = 0; i < T * V; i++)
        if (fabs((double)full->logits[i]) > largest) largest = fabs((double)full->logits[i]);
    for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
        gpt_cache_fast cache = { .k = kv, .v = kv + half };
        for (size_t i = 0; i < 2 * half; i++) kv[i] = NAN;
        size_t at = 0;
        for (int j = 0; at < T; at += (size_t)chunks[k][j++]) {
            const int n = chunks[k][j];
            gpt_forward_fast(m, part, c->tokens + at, &cache, 1, n);
            for (size_t i = 0; i < (size_t)n * V; i++)
                assert_near_at((double)part->logits[i], (double)full->logits[at * V + i],
                               1e-6 * largest, "logit", at * V + i);
        }
        assert_int_equal(at, T);
    }
    free(kv);
}

/* ATT-06 on the fast kernels. */
static void fast_suffixes(const gpt_model_fast *m, gpt_acts_fast *a, gpt_acts_fast *b,
                          const model_case *c)
{
    static const int cuts[] = { 1, 3, 7, 15, 31, 32, 39 };
    int tokens[40];
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        for (int t = 0; t < 40; t++)
            tokens[t] = t < cuts[k] ? c->tokens[t] : (c->tokens[t] + 1 + t % 5) % m->z.V;
        gpt_forward_fast(m, b, tokens, NULL, 1, 40);
        const size_t n = (size_t)cuts[k] * (size_t)m->z.V;
        assert_memory_equal(a->logits, b->logits, n * sizeof *a->logits);
        assert_memory_not_equal(a->logits + n, b->logits + n, (size_t)m->z.V * sizeof *a->logits);
    }
}

/* proves cache.store cache.length */
static void the_fast_wiring_caches_and_is_causal(void **state)
{
    (void)state;
    const gpt_config z = { .L = 2, .C = 24, .NH = 3, .FF = 36, .T = 40, .V = 53 };
    each_fast(&z, fast_chunks);
    each_fast(&z, fast_suffixes);
}

/* ATT-06: the derivative of earlier logits by every later position's embedding
 * is exactly 0; by their own position's it is not. */
static void earlier_logits_have_no_later_derivative(void **state)
{
    (void)state;
    enum { T = 64, V = 13 };
    const gpt_config z = { .L = 2, .C = 8, .NH = 2, .FF = 9, .T = T, .V = V };
    model_case c;
    model_case_make(&c, &z, 1, T, 5);
    void *memory = malloc(gpt_acts_bytes_c128(&z, 1, T, T, false));
    double _Complex *params = malloc(c.count * sizeof *params);
    gpt_tensor *t = malloc(gpt_tensor_count(&z) * sizeof *t);
    assert_true(memory && params && t);
    gpt_tensor_list(&z, t);
    assert_string_equal(t[1].name, "wpe");
    gpt_acts_c128 a;
    const gpt_model_c128 m = { .z = z, .params = params };
    gpt_acts_place_c128(&a, memory, &z, 1, T, T, false);
    for (size_t p = 1; p < T; p++) {
        for (size_t i = 0; i < c.count; i++) params[i] = c.params[i];
        for (size_t i = p * 8; i < T * 8; i++)
            params[t[1].offset + i] += 1e-30 * (double)(i % 5 + 1) * (double _Complex)I;
        gpt_forward_c128(&m, &a, c.tokens, NULL, 1, T);
        double here = 0;
        for (size_t i = 0; i < p * V; i++) assert_true(cimag(a.logits[i]) == 0);
        for (size_t i = p * V; i < (p + 1) * V; i++) here += fabs(cimag(a.logits[i]));
        assert_true(here > 0);
    }
    free(t);
    free(params);
    free(memory);
    model_case_free(&c);
}

/* ATT-06: a changed suffix leaves the logits of the prefix alone, bit for bit. */
static void later_tokens_do_not_reach_earlier_logits(void **state)
{
    (void)state;
    const gpt_config z = { .L = 2, .C = 8, .NH = 2, .FF = 9, .T = 64, .V = 13 };
    const int cuts[] = { 1, 3, 7, 15, 31, 32, 63 };
    model_case c;
    model_case_make(&c, &z, 1, 64, 5);
    void *m1 = malloc(gpt_acts_bytes_f64(&z, 1, 64, 64, false));
    void *m2 = malloc(gpt_acts_bytes_f64(&z, 1, 64, 64, false));
    assert_true(m1 && m2);
    gpt_acts_f64 a, b;
    const gpt_model_f64 m = { .z = z, .params = c.params };
    gpt_acts_place_f64(&a, m1, &z, 1, 64, 64, false);
    gpt_acts_place_f64(&b, m2, &z, 1, 64, 64, false);
    gpt_forward_f64(&m, &a, c.tokens, NULL, 1, 64);
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        int tokens[64];
        for (int t = 0; t < 64; t++)
            tokens[t] = t < cuts[k] ? c.tokens[t] : (c.tokens[t] + 1 + t % 5) % z.V;
        gpt_forward_f64(&m, &b, tokens, NULL, 1, 64);
        const size_t n = (size_t)cuts[k] * 13;
        assert_memory_equal(a.logits, b.logits, n * sizeof *a.logits);
        assert_memory_not_equal(a.logits + n, b.logits + n, 13 * sizeof *a.logits);
    }
    free(m2);
    free(m1);
    model_case_free(&c);
}

/* The float definition's own error against the double one bounds what a fast
 * wiring may show: four times it, with a floor of a few ulp of the tensor's
 * largest entry: 8 u for the other order of sums, and 6 u for GELU's logistic
 * function, which is that far off in the fast kernels (simd_math.h), while the
 * definition's tanh is rounded from double. */
static void compare_fast(const gpt_config *z, int B, int T, const ops *kernels)
{
    model_case c;
    model_case_make(&c, z, B, T, 11);
    const size_t NV = (size_t)(B * T) * (size_t)z->V;
    double *g64 = malloc(c.count * sizeof *g64), *g32 = malloc(c.count * sizeof *g32);
    double *gf[2], *l32 = malloc(NV * sizeof *l32), *lf[2];
    for (int k = 0; k < 2; k++) {
        gf[k] = malloc(c.count * sizeof *gf[k]);
        lf[k] = malloc(NV * sizeof *lf[k]);
    }
    model_case_f64(&c, g64);
    model_case_f32(&c, l32, g32);
    model_case_fast(&c, kernels, 1, lf[0], gf[0]);
    gpt_tensor *t = malloc(gpt_tensor_count(z) * sizeof *t);
    gpt_tensor_list(z, t);
    size_t compared = 0;
    for (size_t i = 0; i < gpt_tensor_count(z); i++) {
        double largest = 0, error = 0;
        for (size_t k = t[i].offset; k < t[i].offset + t[i].count; k++) {
            if (fabs(g64[k]) > largest) largest = fabs(g64[k]);
            if (!(fabs(g32[k] - g64[k]) <= error)) error = fabs(g32[k] - g64[k]);
        }
        const double bound = 4 * error + (8 + 6) * 0x1p-24 * largest;
        for (size_t k = t[i].offset; k < t[i].offset + t[i].count; k++, compared++)
            assert_near_at(gf[0][k], g64[k], bound, t[i].name, k - t[i].offset);
    }
    assert_int_equal(compared, c.count);
    for (int threads = 2; threads <= 7; threads++) {            /* same bits */
        if (threads > 3 && threads < 7) continue;
        model_case_fast(&c, kernels, threads, lf[1], gf[1]);
        assert_memory_equal(lf[0], lf[1], NV * sizeof *lf[0]);
        assert_memory_equal(gf[0], gf[1], c.count * sizeof *gf[0]);
    }
    free(t);
    for (int k = 0; k < 2; k++) { free(gf[k]); free(lf[k]); }
    free(l32);
    free(g32);
    free(g64);
    model_case_free(&c);
}

static void fast_wirings_equal_the_definitions(void **state)
{
    (void)state;
    const ops *kernels;
    int ran = 0;
    for (size_t i = 0; (kernels = ops_runs(i)) != NULL; i++) {
        const gpt_config tied = { .L = 2, .C = 32, .NH = 2, .FF = 48, .T = 20, .V = 101,
                                  .tied = true };
        compare_fast(&small, 2, 4, kernels);
        compare_fast(&tied, 3, 17, kernels);
        ran++;
    }
    assert_true(ran >= 1);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    gpt_config z = small;
    assert_ok(gpt_config_check(&z, &test_error));
    z.NH = 4;
    assert_int_equal(gpt_config_check(&z, &test_error), VT_USAGE);
    assert_contains(test_error.text, "--heads 4 does not divide --d-model 6");
    z = small;
    z.L = 0;
    assert_int_equal(gpt_config_check(&z, &test_error), VT_USAGE);
    assert_contains(test_error.text, "--layers 0");
    z = small;
    z.C = z.NH = 2000000000;
    assert_int_equal(gpt_config_check(&z, &test_error), VT_TOO_LARGE);
    /* NUM-01: 48 x 1024 rows of 50257 logits do not fit an int, but a size. */
    z = (gpt_config){ .L = 12, .C = 768, .NH = 12, .FF = 3072, .T = 1024, .V = 50257 };
    assert_ok(gpt_config_check(&z, &test_error));
    gpt_config one = z;
    one.V = 1;
    const size_t logits = gpt_acts_bytes_fast(&z, 48, 1024, 1024, false)
                        - gpt_acts_bytes_fast(&one, 48, 1024, 1024, false);
    assert_true(logits == (2470232064u - 48 * 1024) * sizeof(float));
    assert_true(gpt_acts_bytes_fast(&z, 1 << 20, 1 << 20, 1 << 20, false) == SIZE_MAX);
    /* 2^30 rows of 2^30, twice a layer: 2^63 bytes and some, or 2^64. */
    z = (gpt_config){ .L = 1, .C = 1, .NH = 1, .FF = 1 << 30, .T = 1 << 15, .V = 1 };
    const size_t layer = gpt_acts_bytes_fast(&z, 1 << 15, 1 << 15, 1 << 15, false);
    assert_true(layer > (size_t)1 << 63 && layer != SIZE_MAX);
    z.L = 2;
    assert_true(gpt_acts_bytes_fast(&z, 1 << 15, 1 << 15, 1 << 15, false) == SIZE_MAX);
    z.FF = 1 << 29;
    assert_true(gpt_acts_bytes_fast(&z, 1 << 15, 1 << 15, 1 << 15, false) != SIZE_MAX);
}

/* A published count: GPT-2 small has 124,439,808 parameters. */
static void tensors_of_gpt2(void **state)
{
    (void)state;
    const gpt_config z = { .L = 12, .C = 768, .NH = 12, .FF = 3072, .T = 1024, .V = 50257,
                           .tied = true };
    assert_int_equal(gpt_parameter_count(&z), 124439808);
    assert_int_equal(gpt_tensor_count(&z), 148);
    gpt_tensor t[148];
    gpt_tensor_list(&z, t);
    assert_string_equal(t[4].name, "h.0.qkvw");
    assert_string_equal(t[4].file, "transformer.h.0.attn.c_attn.weight");
    assert_int_equal(t[4].cols, 2304);
    size_t at = 0;
    for (int i = 0; i < 148; i++) {
        assert_int_equal(t[i].offset, at);
        at += t[i].count;
        assert_int_equal(t[i].decay, !t[i].vector);     /* matrices only */
    }
}

/* Xavier's limit and GPT-2's deviations, from the formulas; a tensor's numbers
 * come from its own stream. */
static void initial_values(void **state)
{
    (void)state;
    const gpt_config z = { .L = 2, .C = 64, .NH = 2, .FF = 96, .T = 40, .V = 300 };
    const size_t n = gpt_tensor_count(&z);
    gpt_tensor *t = malloc(n * sizeof *t);
    float *w = malloc(gpt_parameter_count(&z) * sizeof *w);
    gpt_tensor_list(&z, t);
    for (int init = GPT_INIT_XAVIER; init <= GPT_INIT_GPT2; init++) {
        gpt_initialise(w, &z, t, n, (enum gpt_init)init, 42);
        for (size_t i = 0; i < n; i++) {
            double sum = 0, squares = 0, largest = 0;
            for (size_t k = 0; k < t[i].count; k++) {
                const double x = (double)w[t[i].offset + k];
                sum += x;
                squares += x * x;
                if (!(fabs(x) <= largest)) largest = fabs(x);
            }
            const double count = (double)t[i].count;
            if (t[i].vector) {
                const double all = t[i].start == GPT_ONES ? 1 : 0;
                assert_true(sum == all * count && squares == all * count);
                continue;
            }
            const double limit = sqrt(6.0 / (t[i].rows + t[i].cols));
            const bool residual = strstr(t[i].name, "projw") != NULL;
            const double deviation = init == GPT_INIT_XAVIER ? limit / sqrt(3)
                                   : residual ? 0.02 / 2 : 0.02;
            /* five standard errors of the estimates */
            assert_near(sum / count, 0, 5 * deviation / sqrt(count));
            assert_near(sqrt(squares / count), deviation, 5 * deviation / sqrt(2 * count));
            if (init == GPT_INIT_XAVIER) assert_true(largest <= limit && largest > 0.99 * limit);
        }
    }
    rng r;                                  /* tensor 1 is wpe, from [42, 0, 1] */
    const uint64_t list[] = { 42, 0, 1 };
    rng_seed_list(&r, list, 3);
    for (size_t k = 0; k < 100; k++)
        assert_true(w[t[1].offset + k] == (float)(0.02 * rng_normal(&r)));
    free(w);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_equal_complex_step),
        cmocka_unit_test(gradients_of_a_tied_model),
        cmocka_unit_test(backward_adds),
        cmocka_unit_test(cached_forward_equals_the_full_one),
        cmocka_unit_test(the_fast_wiring_caches_and_is_causal),
        cmocka_unit_test(earlier_logits_have_no_later_derivative),
        cmocka_unit_test(later_tokens_do_not_reach_earlier_logits),
        cmocka_unit_test(fast_wirings_equal_the_definitions),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(tensors_of_gpt2),
        cmocka_unit_test(initial_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

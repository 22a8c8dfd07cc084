/* test_learn.c -- a training step's pass: the logits of few rows at a time, layers that
 * are computed again, and no memory asked for.
 *
 * What is expected is the forward pass, loss and backward pass of the same kernels over
 * all rows at once, which test_gpt.c and test_trainer.c hold to the definitions: bit for
 * bit, since only the order of the work differs.
 */
#include "support.h"
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "fault_memory.h"
#include "model_case.h"
#include "train/trainer.h"

typedef struct pass {
    const gpt_config *z;
    gpt_model_fast m;
    gpt_acts_fast a;
    void *memory;
    float *grads;
    size_t count, N, bytes;
} pass;

static void pass_new(pass *p, const model_case *c, const float *params, const ops *kernels,
                     int threads, enum gpt_use use)
{
    const gpt_config *z = &c->z;
    const ops_sizes sizes = { .B = c->B, .T = c->T, .C = z->C, .NH = z->NH, .HS = z->C / z->NH,
                              .FF = z->FF, .V = z->V };
    size_t worker, shared;
    ops_scratch(&sizes, &worker, &shared);
    *p = (pass){ .z = z, .count = c->count, .N = (size_t)(c->B * c->T),
                 .m = { .z = *z, .params = params, .kernels = kernels } };
    assert_ok(team_new(&p->m.team, threads, worker, shared, &test_error));
    p->bytes = gpt_acts_bytes_fast(z, c->B, c->T, c->T, use);
    p->memory = malloc(p->bytes);
    p->grads = malloc(c->count * sizeof *p->grads);
    assert_true(p->memory && p->grads);
    memset(p->memory, 0xff, p->bytes);                      /* NaN */
    for (size_t i = 0; i < c->count; i++) p->grads[i] = 0.25f;      /* is added to */
    gpt_acts_place_fast(&p->a, p->memory, z, c->B, c->T, c->T, use);
}

static void pass_free(pass *p)
{
    team_free(p->m.team);
    free(p->memory);
    free(p->grads);
}

static void same(const pass *a, const pass *b)
{
    assert_memory_equal(a->a.loss, b->a.loss, a->N * sizeof(float));
    assert_memory_equal(a->a.lse, b->a.lse, a->N * sizeof(float));
    for (size_t i = 0; i < a->count; i++)
        if (memcmp(&a->grads[i], &b->grads[i], sizeof(float)) != 0)
            fail_msg("gradient %zu: %a, at once %a", i, (double)a->grads[i], (double)b->grads[i]);
}

/* With all logits at once; then with few of them, by teams of 1, 2, 3 and 7, layers kept
 * or computed again; `parts` of the rows. */
static void check(const gpt_config *z, int B, int T, const ops *kernels, int teams, size_t parts)
{
    static const int threads[] = { 1, 2, 3, 7 };
    model_case c;
    pass whole;
    model_case_make(&c, z, B, T, 5);
    float *params = malloc(c.count * sizeof *params), *dloss = malloc((size_t)(B * T) * sizeof *dloss);
    assert_true(params && dloss);
    for (size_t i = 0; i < c.count; i++) params[i] = (float)c.params[i];
    for (int n = 0; n < B * T; n++) dloss[n] = (float)c.dloss[n];
    pass_new(&whole, &c, params, kernels, 2, GPT_BACKWARD);
    gpt_forward_fast(&whole.m, &whole.a, c.tokens, NULL, B, T);
    gpt_loss_fast(&whole.m, &whole.a, c.targets, 1, B, T);
    gpt_backward_fast(&whole.m, &whole.a, whole.grads, c.tokens, c.targets, dloss, B, T);
    for (int i = 0; i < 2 * teams; i++) {
        pass p;
        pass_new(&p, &c, params, kernels, threads[i / 2], i % 2 ? GPT_RECOMPUTE : GPT_LEARN);
        assert_true((p.N + p.a.rows - 1) / p.a.rows == parts);
        assert_true(p.bytes < whole.bytes);
        gpt_learn_fast(&p.m, &p.a, p.grads, c.tokens, c.targets, dloss, B, T);
        same(&p, &whole);
        memset(p.a.loss, 0xff, p.N * sizeof(float));        /* the losses alone */
        gpt_learn_fast(&p.m, &p.a, NULL, c.tokens, c.targets, NULL, B, T);
        same(&p, &whole);
        pass_free(&p);
    }
    pass_free(&whole);
    free(params);
    free(dloss);
    model_case_free(&c);
}

static void the_bits_of_all_rows_at_once(void **state)
{
    (void)state;
    const ops *kernels;
    gpt_config z = { .L = 3, .C = 12, .NH = 3, .FF = 20, .T = 9, .V = 37 };
    for (size_t i = 0; (kernels = ops_runs(i)) != NULL; i++)
        for (int tied = 0; tied < 2; tied++) {
            z.tied = tied;
            check(&z, 5, 9, kernels, 4, 1);
        }
}

/* 32 MiB hold 166 rows of GPT-2's vocabulary, and 83 of one twice as large: 256 rows are
 * 2 x 128, and 171 are 3 x 57. */
static void in_parts_of_the_rows(void **state)
{
    (void)state;
    gpt_config z = { .L = 2, .C = 4, .NH = 2, .FF = 5, .T = 64, .V = 50257, .tied = true };
    check(&z, 4, 64, ops_pick(NULL), 1, 2);
    z.tied = false;
    z.V = 100003;
    check(&z, 3, 57, ops_pick(NULL), 1, 3);
}

/* A layer more costs its input, and its place in the list. */
static void what_is_kept(void **state)
{
    (void)state;
    gpt_config z = { .L = 12, .C = 768, .NH = 12, .FF = 3072, .T = 1024, .V = 50257 };
    const size_t N = 4 * 1024, logits = N * 50257 * sizeof(float);
    const size_t all = gpt_acts_bytes_fast(&z, 4, 1024, 1024, GPT_BACKWARD);
    const size_t few = gpt_acts_bytes_fast(&z, 4, 1024, 1024, GPT_LEARN);
    const size_t twelve = gpt_acts_bytes_fast(&z, 4, 1024, 1024, GPT_RECOMPUTE);
    z.L = 13;
    const size_t more = gpt_acts_bytes_fast(&z, 4, 1024, 1024, GPT_RECOMPUTE) - twelve;
    const size_t kept = gpt_acts_bytes_fast(&z, 4, 1024, 1024, GPT_LEARN) - few;
    const size_t input = N * 768 * sizeof(float), list = sizeof(gpt_layer_acts_fast) + 64;
    assert_true(all - few > 2 * logits - ((size_t)33 << 20) && all - few < 2 * logits);
    assert_true(more >= input && more <= input + list);
    /* ln1, qkv, values, res1, ln2, res2: 8 C; fc, gelu: 2 x 4 C; means, rstds, lse */
    assert_true(kept >= 16 * input + N * 16 * sizeof(float));
    assert_true(kept <= 16 * input + N * 16 * sizeof(float) + list);
}

static void options(vt_train_options *o, bool recompute)
{
    assert_ok(vt_train_preset(o, "tiny", &test_error));
    o->batch = 3;
    o->seq = 8;
    o->accumulate = 2;
    o->steps = 20;
    o->warmup = 2;
    o->recompute = recompute;
}

static void recomputed_steps_have_the_same_bits(void **state)
{
    (void)state;
    const gpt_config z = { .L = 4, .C = 12, .NH = 2, .FF = 24, .T = 8, .V = 31, .tied = true };
    int ids[200];
    for (int i = 0; i < 200; i++) ids[i] = i * i % 31;
    vt_train_options o;
    trainer kept, again;
    options(&o, false);
    assert_ok(trainer_new(&kept, &o, &z, 1, ids, 150, ids + 150, 50, &test_error));
    options(&o, true);
    assert_ok(trainer_new(&again, &o, &z, 3, ids, 150, ids + 150, 50, &test_error));
    for (int s = 0; s < 5; s++) {
        trainer_result r1, r2;
        double v1, v2;
        assert_ok(trainer_step(&kept, &r1, &test_error));
        assert_ok(trainer_step(&again, &r2, &test_error));
        assert_memory_equal(&r1.loss, &r2.loss, sizeof r1.loss);
        assert_memory_equal(&r1.grad_norm, &r2.grad_norm, sizeof r1.grad_norm);
        assert_memory_equal(kept.w, again.w, kept.count * sizeof *kept.w);
        assert_ok(trainer_validate(&kept, &v1, &test_error));
        assert_ok(trainer_validate(&again, &v2, &test_error));
        assert_memory_equal(&v1, &v2, sizeof v1);
    }
    trainer_free(&kept);
    trainer_free(&again);
}

/* Neither a step nor a validation asks for memory, whatever the thread. */
static void a_step_allocates_nothing(void **state)
{
    (void)state;
    const gpt_config all[] = { { .L = 2, .C = 12, .NH = 2, .FF = 24, .T = 8, .V = 31, .tied = true },
                               { .L = 1, .C = 65, .NH = 5, .FF = 130, .T = 8, .V = 301 } };
    int ids[400];
    for (int i = 0; i < 400; i++) ids[i] = i * i % 31;
    fault_memory_arm(0, false);
    void *volatile seen = malloc(64);
    assert_int_equal(fault_memory_disarm(), 1);             /* it does count */
    free(seen);
    for (int i = 0; i < 4; i++) {
        vt_train_options o;
        trainer t;
        options(&o, i % 2);
        assert_ok(trainer_new(&t, &o, &all[i / 2], 2, ids, 300, ids + 300, 100, &test_error));
        for (int s = 0; s < 12; s++) {                      /* more than an epoch: 6 windows a step */
            trainer_result r;
            double loss;
            fault_memory_arm(0, false);
            const vt_status stepped = trainer_step(&t, &r, NULL);
            const vt_status looked = trainer_validate(&t, &loss, NULL);
            const long asked = fault_memory_disarm();
            assert_true(stepped == VT_OK && looked == VT_OK);
            assert_int_equal(asked, 0);
        }
        trainer_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bits_of_all_rows_at_once),
        cmocka_unit_test(in_parts_of_the_rows),
        cmocka_unit_test(what_is_kept),
        cmocka_unit_test(recomputed_steps_have_the_same_bits),
        cmocka_unit_test(a_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_trainer.c -- one step of training, and the optimizer.
 *
 * Gradients and updates are held to a computation in double that shares no code
 * with the trainer: the definitions' gradient (proven in test_gpt.c) and AdamW
 * and clipping written out here.  Bounds are those of verify/model/gradcheck.h.
 */
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "model_case.h"
#include "train/trainer.h"
#include "verify/model/gradcheck.h"

static const gpt_config small = { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11 };
static const gpt_config square = { .L = 2, .C = 32, .NH = 2, .FF = 64, .T = 16, .V = 61,
                                   .tied = true };
static const gpt_config odd = { .L = 1, .C = 21, .NH = 3, .FF = 37, .T = 13, .V = 53 };

enum { MOST = 3000 };
static int stream[MOST];                /* random ids of any vocabulary from 11 on */

static int fill_stream(void **state)
{
    rng r;
    (void)state;
    rng_seed(&r, 5);
    for (int i = 0; i < MOST; i++) stream[i] = (int)rng_integers(&r, 0, 11);
    return 0;
}

static vt_train_options options(int batch, int seq, int accumulate)
{
    vt_train_options o;
    assert_ok(vt_train_preset(&o, "tiny", &test_error));
    o.batch = batch;
    o.seq = seq;
    o.accumulate = accumulate;
    o.steps = 100;
    o.warmup = 10;
    o.eps = 1e-3;       /* an error of g moves a weight by lr / eps times it */
    return o;
}

/* A trainer with every parameter random, biases and gains too; the gradient can be
 * looked at after a step. */
static void start(trainer *t, const vt_train_options *o, const gpt_config *z, int threads)
{
    rng r;
    assert_ok(trainer_new(t, o, z, threads, stream, 1000, stream + 1000, 100, &test_error));
    t->update.keep = true;
    rng_seed(&r, 77);
    for (size_t i = 0; i < t->count; i++) t->w[i] = (float)(0.3 * rng_normal(&r));
}

/* What the definitions say of the windows x, y (rows of them) at t's weights:
 * mean loss over `total`, the gradient in double, and how far a float gradient
 * may be from it, tensor by tensor. */
typedef struct exact { double loss, *grads, *bound; } exact;

static void exact_make(exact *e, const trainer *t, int *x, int *y, int rows, size_t total)
{
    const size_t N = (size_t)(rows * t->o.seq);
    model_case c = { .z = t->z, .B = rows, .T = t->o.seq, .count = t->count, .tokens = x,
                     .targets = y, .params = malloc(t->count * sizeof(double)),
                     .dloss = malloc(N * sizeof(double)) };
    *e = (exact){ .grads = malloc(t->count * sizeof(double)),
                  .bound = malloc(t->ntensors * sizeof(double)) };
    assert_true(c.params && c.dloss && e->grads && e->bound);
    for (size_t i = 0; i < t->count; i++) c.params[i] = (double)t->w[i];
    for (size_t n = 0; n < N; n++) c.dloss[n] = 1 / (double)total;
    e->loss = model_case_f64(&c, e->grads);
    free(c.params);
    free(c.dloss);
    const gradcheck_case g = { .z = &t->z, .tensors = t->tensors, .ntensors = t->ntensors,
        .params = t->w, .tokens = x, .targets = y, .B = rows, .T = t->o.seq,
        .kernels = t->model.kernels, .threads = 1 };
    gradcheck_grads rounding;
    assert_ok(gradcheck_compute(&rounding, &g, 1, &test_error));
    const double scale = (double)N / (double)total;         /* its rows weigh about 1 / N */
    for (size_t k = 0; k < t->ntensors; k++) {
        double largest = 0;
        for (size_t i = 0; i < t->tensors[k].count; i++)
            largest = fmax(largest, fabs(e->grads[t->tensors[k].offset + i]));
        e->bound[k] = 8 * (scale * (rounding.rounding[k] + rounding.shaken[k]) +
                           largest / (1 << 24) * (1 + rounding.score));
        assert_true(e->bound[k] < 1e-4 * largest && largest > 0);
    }
    gradcheck_free(&rounding);
}

static void exact_free(exact *e)
{
    free(e->grads);
    free(e->bound);
}

static void same_gradient(const trainer *t, const exact *e)
{
    size_t compared = 0;
    for (size_t k = 0; k < t->ntensors; k++)
        for (size_t i = 0; i < t->tensors[k].count; i++, compared++) {
            const size_t at = t->tensors[k].offset + i;
            assert_near_at((double)t->g[at], e->grads[at], e->bound[k], t->tensors[k].name, i);
        }
    assert_int_equal(compared, t->count);
}

/* ---- what a step weighs ------------------------------------------------- */

/* LOSS-04: 2 x 2 windows are one batch of 4; and with a short second batch, one
 * of 3, each token weighing 1 / 12. */
static void accumulation_weighs_tokens(void **state)
{
    (void)state;
    enum { T = 4 };
    const vt_train_options apart = options(2, T, 2), whole = options(4, T, 1);
    for (size_t rows = 4; rows >= 3; rows--) {
        trainer a, b;
        trainer_result ra, rb;
        exact e;
        start(&a, &apart, &small, 2);
        start(&b, &whole, &small, 2);
        for (size_t i = 0; i < 4 * T; i++) {
            a.x[i] = b.x[i] = stream[i];
            a.y[i] = b.y[i] = stream[i + 1];
        }
        a.rows[0] = 2;
        a.rows[1] = rows - 2;
        b.rows[0] = rows;
        exact_make(&e, &b, b.x, b.y, (int)rows, rows * T);
        assert_ok(trainer_take(&a, &ra, &test_error));
        assert_ok(trainer_take(&b, &rb, &test_error));
        assert_int_equal(ra.tokens, rows * T);
        assert_int_equal(rb.tokens, rows * T);
        assert_near(ra.loss, e.loss, 1e-6 * e.loss);
        assert_near(rb.loss, e.loss, 1e-6 * e.loss);
        same_gradient(&a, &e);
        same_gradient(&b, &e);
        for (size_t k = 0; k < a.ntensors; k++)             /* and so the update */
            for (size_t i = 0; i < a.tensors[k].count; i++) {
                const size_t at = a.tensors[k].offset + i;
                assert_near_at((double)a.w[at], (double)b.w[at],
                               ra.lr * 2 * e.bound[k] / 1e-3 + fabs((double)a.w[at]) / (1 << 23),
                               a.tensors[k].name, i);
            }
        exact_free(&e);
        trainer_free(&a);
        trainer_free(&b);
    }
}

/* LOSS-04: one target in the first batch, three in the second. */
static void ignored_targets_weigh_nothing(void **state)
{
    (void)state;
    enum { T = 4 };
    const vt_train_options o = options(1, T, 2);
    trainer t;
    trainer_result r;
    exact e;
    start(&t, &o, &small, 1);
    for (size_t i = 0; i < 2 * T; i++) {
        t.x[i] = stream[i];
        t.y[i] = i == 2 || i > T ? stream[i + 1] : VT_IGNORE;
    }
    t.rows[0] = t.rows[1] = 1;
    exact_make(&e, &t, t.x, t.y, 2, 4);
    assert_ok(trainer_take(&t, &r, &test_error));
    assert_int_equal(r.tokens, 4);
    assert_near(r.loss, e.loss, 1e-6 * e.loss);
    same_gradient(&t, &e);
    exact_free(&e);
    trainer_free(&t);
}

/* The batches of a real step: five windows, two a batch, two batches a step. */
static void a_short_batch_counts_what_it_holds(void **state)
{
    (void)state;
    vt_train_options o = options(2, 4, 2);
    trainer t;
    trainer_result r;
    o.steps = 0;
    o.epochs = 2;
    o.warmup = 0;
    assert_ok(trainer_new(&t, &o, &small, 1, stream, 5 * 4 + 1, stream, 0, &test_error));
    assert_int_equal(t.o.steps, 3);                         /* 2 x 3 batches */
    const size_t tokens[3] = { 16, 12, 12 };                /* 2+2, 1+2, 2+1 windows */
    for (size_t s = 0; s < 3; s++) {
        assert_ok(trainer_step(&t, &r, &test_error));
        assert_int_equal(r.tokens, tokens[s]);
        assert_int_equal(t.step, s + 1);
    }
    double loss;
    assert_int_equal(trainer_validate(&t, &loss, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "no window");
    trainer_free(&t);
}

typedef struct copy { float *w, *m, *v; long long step; } copy;

static copy keep(const trainer *t)
{
    const size_t n = t->count * sizeof(float);
    copy c = { malloc(n), malloc(n), malloc(n), t->step };
    assert_true(c.w && c.m && c.v);
    memcpy(c.w, t->w, n);
    memcpy(c.m, t->m, n);
    memcpy(c.v, t->v, n);
    return c;
}

static void unchanged(const trainer *t, copy *c)
{
    const size_t n = t->count * sizeof(float);
    assert_memory_equal(c->w, t->w, n);
    assert_memory_equal(c->m, t->m, n);
    assert_memory_equal(c->v, t->v, n);
    assert_int_equal(c->step, t->step);
    free(c->w);
    free(c->m);
    free(c->v);
}

/* LOSS-01 */
static void no_targets_is_no_step(void **state)
{
    (void)state;
    const vt_train_options o = options(2, 4, 1);
    trainer t;
    trainer_result r;
    start(&t, &o, &small, 1);
    assert_ok(trainer_step(&t, &r, &test_error));           /* moments that could decay */
    copy before = keep(&t);
    for (size_t i = 0; i < 8; i++) t.y[i] = VT_IGNORE;
    assert_int_equal(trainer_take(&t, &r, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "step 2: no targets");
    assert_true(isnan(r.loss));
    assert_int_equal(r.tokens, 0);
    for (size_t i = 0; i < t.count; i++) assert_true(t.g[i] == 0);
    unchanged(&t, &before);
    before = keep(&t);
    t.rows[0] = 0;
    assert_int_equal(trainer_take(&t, &r, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "no targets");
    unchanged(&t, &before);
    assert_ok(trainer_step(&t, &r, &test_error));
    assert_int_equal(t.step, 2);
    trainer_free(&t);
}

/* LOSS-02 */
static void ids_outside_the_vocabulary_are_refused(void **state)
{
    (void)state;
    const int bad[] = { -4, 11, 2147483647 };
    const vt_train_options o = options(2, 4, 1);
    char part[80];
    for (size_t k = 0; k < 3; k++) {
        trainer t;
        trainer_result r;
        int tokens[40];
        start(&t, &o, &small, 1);
        assert_ok(trainer_step(&t, &r, &test_error));
        copy before = keep(&t);
        t.y[5] = bad[k];
        assert_int_equal(trainer_take(&t, &r, &test_error), VT_BAD_INPUT);
        snprintf(part, sizeof part, "targets: row 1, position 1: id %d: expected 0 to 10, or -1",
                 bad[k]);
        assert_contains(test_error.text, part);
        t.y[5] = 0;
        t.x[3] = bad[k];
        assert_int_equal(trainer_take(&t, &r, &test_error), VT_BAD_INPUT);
        snprintf(part, sizeof part, "inputs: row 0, position 3: id %d: expected 0 to 10", bad[k]);
        assert_contains(test_error.text, part);
        unchanged(&t, &before);
        trainer_free(&t);

        memcpy(tokens, stream, sizeof tokens);
        tokens[33] = bad[k];
        assert_int_equal(trainer_new(&t, &o, &small, 1, tokens, 40, stream, 20, &test_error),
                         VT_BAD_INPUT);
        snprintf(part, sizeof part, "training tokens: row 0, position 33: id %d", bad[k]);
        assert_contains(test_error.text, part);
        assert_int_equal(trainer_new(&t, &o, &small, 1, stream, 40, tokens, 40, &test_error),
                         VT_BAD_INPUT);
        assert_contains(test_error.text, "validation tokens: row 0, position 33");
    }
}

/* LOSS-03: i -> i + 1 mod 10, learned by heart. */
static void an_overfit_answers_the_next_token(void **state)
{
    (void)state;
    enum { T = 8 };
    const gpt_config z = { .L = 1, .C = 16, .NH = 2, .FF = 32, .T = T, .V = 11 };
    vt_train_options o = options(4, T, 1);
    int numbers[201];
    trainer t;
    trainer_result r = { .loss = 0 };
    o.steps = 150;
    o.stride = 1;                       /* every digit at every position */
    o.lr = 1e-2;
    o.eps = 1e-8;
    for (int i = 0; i < 201; i++) numbers[i] = i % 10;
    assert_ok(trainer_new(&t, &o, &z, 2, numbers, 201, numbers, 0, &test_error));
    for (int s = 0; s < 150; s++) assert_ok(trainer_step(&t, &r, &test_error));
    assert_true(r.loss < 0.1);
    for (int first = 0; first < 10; first++) {
        int x[T];
        for (int i = 0; i < T; i++) x[i] = (first + i) % 10;
        gpt_prepare_fast(&t.model);
        gpt_forward_fast(&t.model, &t.acts, x, NULL, 1, T);
        for (int i = 0; i < T; i++) {
            const float *row = t.acts.logits + i * z.V;
            int best = 0;
            for (int v = 1; v < z.V; v++) if (row[v] > row[best]) best = v;
            assert_int_equal(best, (x[i] + 1) % 10);
        }
    }
    trainer_free(&t);
}

/* ---- the optimizer ------------------------------------------------------ */

static bool is_matrix(const char *name)
{
    static const char *const matrices[] = { "wte", "wpe", "qkvw", "attprojw", "fcw", "fcprojw",
                                            "headw" };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        if (strcmp(dot ? dot + 1 : name, matrices[i]) == 0) return true;
    return false;
}

/* OPT-03: gradients 0, decay 0.1, rate 0.1: matrices times 0.99, all else as it
 * was.  The factor's own roundings: 0.1 w and its product, 0.01 of the weight;
 * the difference. */
/* proves opt.decay */
static void only_matrices_decay(void **state)
{
    (void)state;
    vt_train_options o = options(2, 4, 1);
    o.decay = 0.1;
    trainer t;
    double norm;
    size_t matrices = 0;
    start(&t, &o, &small, 2);
    copy before = keep(&t);
    assert_ok(optimizer_step(&t.update, 1, 0.1, &norm, &test_error));
    assert_true(norm == 0);
    for (size_t k = 0; k < t.ntensors; k++) {
        const gpt_tensor *p = &t.tensors[k];
        if (!is_matrix(p->name)) {
            assert_memory_equal(t.w + p->offset, before.w + p->offset, p->count * sizeof(float));
            continue;
        }
        matrices++;
        for (size_t i = p->offset; i < p->offset + p->count; i++) {
            const double w = (double)before.w[i];
            assert_true(w != 0);
            assert_near_at((double)t.w[i], w * (1 - 0.01), fabs(w) * 1.05 / (1 << 24), p->name, i);
        }
    }
    assert_int_equal(matrices, 3 + 4 * 2);
    for (size_t i = 0; i < t.count; i++) assert_true(t.m[i] == 0 && t.v[i] == 0);
    memcpy(t.w, before.w, t.count * sizeof *t.w);
    unchanged(&t, &before);

    /* 11*6 + 5*6 + 2 (6*18 + 6*6 + 2*6*7) + 6*11; 2 (4*6 + 18 + 6 + 7 + 6) + 2*6 */
    char *groups = optimizer_groups(&t.update);
    assert_string_equal(groups,
        "decay 0.1: wte wpe h.*.qkvw h.*.attprojw h.*.fcw h.*.fcprojw headw "
        "(11 tensors, 618 parameters)\n"
        "no decay: h.*.ln1w h.*.ln1b h.*.qkvb h.*.attprojb h.*.ln2w h.*.ln2b h.*.fcb "
        "h.*.fcprojb lnfw lnfb (18 tensors, 134 parameters)");
    assert_int_equal(618 + 134, t.count);
    free(groups);
    trainer_free(&t);
}

/* CLIP-01: a norm that a float's square overflows. */
/* proves opt.norm opt.clip */
static void clipping_cannot_overflow(void **state)
{
    (void)state;
    static float w[100], g[100], m[100], v[100];
    const gpt_tensor tensor = { .name = "big", .rows = 1, .cols = 100, .count = 100 };
    const adamw_span span = { 0, 0 };
    optimizer o = { .tensors = &tensor, .ntensors = 1, .spans = &span, .nspans = 1, .w = w,
                    .g = g, .m = m, .v = v,
                    .eps = 1e-8, .clip = 1, .kernels = ops_pick(NULL) };    /* betas 0: m is g' */
    double norm;
    for (size_t i = 0; i < 100; i++) g[i] = 1e20f;
    assert_ok(optimizer_step(&o, 1, 0.5, &norm, &test_error));
    assert_near(norm, 1e21, 1e21 / (1 << 24));
    for (size_t i = 0; i < 100; i++) {
        assert_near_at((double)m[i], 0.1, 0.1 * 3 / (1 << 24), "clipped", i);
        assert_near_at((double)v[i], 0.01, 0.01 * 8 / (1 << 24), "its square", i);
        assert_near_at((double)w[i], -0.5, 0.5 * 8 / (1 << 24), "weight", i);   /* lr g'/|g'| */
    }
    /* Below the limit nothing is scaled. */
    for (size_t i = 0; i < 100; i++) g[i] = 0.05f;
    assert_ok(optimizer_step(&o, 2, 0.5, &norm, &test_error));
    assert_near(norm, 0.5, 0.5 / (1 << 24));
    for (size_t i = 0; i < 100; i++) assert_true(m[i] == 0.05f);
    /* Without clipping, 1e20 has no square. */
    float old[3][100];
    memcpy(old[0], w, sizeof w);
    memcpy(old[1], m, sizeof m);
    memcpy(old[2], v, sizeof v);
    o.clip = 0;
    for (size_t i = 0; i < 100; i++) g[i] = 1e20f;
    assert_int_equal(optimizer_step(&o, 3, 0.5, &norm, &test_error), VT_NAN);
    assert_contains(test_error.text, "norm is 1e+21");
    assert_memory_equal(old[0], w, sizeof w);
    assert_memory_equal(old[1], m, sizeof m);
    assert_memory_equal(old[2], v, sizeof v);
}

/* CLIP-01: NaN or Inf in any tensor refuses the step and names it. */
static void nan_refuses_the_step(void **state)
{
    (void)state;
    const float bad[] = { NAN, INFINITY, -INFINITY };
    const vt_train_options o = options(2, 4, 1);
    trainer t;
    trainer_result r;
    start(&t, &o, &small, 2);
    assert_ok(trainer_step(&t, &r, &test_error));
    for (size_t k = 0; k < t.ntensors; k++) {
        const gpt_tensor *p = &t.tensors[k];
        const size_t at = p->offset + (k * 7) % p->count;
        for (size_t j = 0; j < 3; j++) {
            char part[80];
            double norm;
            for (size_t i = 0; i < t.count; i++) t.g[i] = 1;
            t.g[at] = bad[j];
            copy before = keep(&t);
            assert_int_equal(optimizer_step(&t.update, 2, 0.1, &norm, &test_error), VT_NAN);
            snprintf(part, sizeof part, "step 2: the gradient of %s has NaN or Inf", p->name);
            assert_contains(test_error.text, part);
            unchanged(&t, &before);
        }
    }
    t.w[t.tensors[4].offset] = NAN;                         /* in a weight: the loss */
    copy before = keep(&t);
    assert_int_equal(trainer_step(&t, &r, &test_error), VT_NAN);
    assert_contains(test_error.text, "step 2: the loss is NaN or Inf");
    unchanged(&t, &before);
    trainer_free(&t);
}

/* Three steps from `first` on against clipping and AdamW written out in double,
 * from the float state before each.  OPT-04: a tied head is one tensor with the sum of both
 * gradients.  LR-01: the first step moves the weights. */
static void check_steps(const gpt_config *z, double clip, int first)
{
    vt_train_options o = options(3, 4, 1);
    trainer t;
    trainer_result r;
    o.clip = clip;
    o.decay = 0.1;
    start(&t, &o, z, 2);
    t.step = first;
    for (int step = first + 1; step <= first + 3; step++) {
        exact e;
        copy old = keep(&t);
        assert_int_equal(batches_get(&t.train, (uint64_t)(step - 1), t.x, t.y), 3);
        exact_make(&e, &t, t.x, t.y, 3, 12);
        assert_ok(trainer_step(&t, &r, &test_error));
        const double down = acos(-1.0) * (step - 11) / 90;      /* of 100, after the warm-up */
        const double lr = step <= 10 ? o.lr * step / 10
                        : o.lr_min + (o.lr - o.lr_min) * (1 + cos(down)) / 2;
        double squares = 0;
        for (size_t i = 0; i < t.count; i++) squares += e.grads[i] * e.grads[i];
        const double norm = sqrt(squares), factor = clip > 0 && norm > clip ? clip / norm : 1;
        assert_near(r.lr, lr, 1e-15 * o.lr);
        assert_near(r.grad_norm, norm, 1e-5 * norm);
        if (clip > 0) assert_true(factor < 0.9);            /* it does clip */
        for (size_t k = 0; k < t.ntensors; k++)
            for (size_t i = 0; i < t.tensors[k].count; i++) {
                const size_t at = t.tensors[k].offset + i;
                const double w = (double)old.w[at], g = factor * e.grads[at], u = 1.0 / (1 << 24);
                const double m = o.beta1 * (double)old.m[at] + (1 - o.beta1) * g;
                const double v = o.beta2 * (double)old.v[at] + (1 - o.beta2) * g * g;
                const double move = m / (1 - pow(o.beta1, step)) /
                                    (sqrt(v / (1 - pow(o.beta2, step))) + o.eps);
                const double decay = is_matrix(t.tensors[k].name) ? 0.1 : 0;
                /* 1 - beta is right to u / (1 - beta), 6e-5 for beta2 */
                const double b = factor * e.bound[k] + 2e-5 * fabs(g);
                const double bound = lr * (2 * b / o.eps + 2e-4 * fabs(move)) + 2 * u * fabs(w);
                assert_near_at((double)t.m[at], m, b + 4 * u * fabs(m), t.tensors[k].name, i);
                assert_near_at((double)t.v[at], v, 3 * (fabs(g) + b) * b + 2e-4 * v,
                               t.tensors[k].name, i);
                assert_near_at((double)t.w[at], w - lr * (move + decay * w), bound,
                               t.tensors[k].name, i);
            }
        assert_memory_not_equal(old.w, t.w, t.count * sizeof *t.w);
        exact_free(&e);
        free(old.w);
        free(old.m);
        free(old.v);
    }
    trainer_free(&t);
}

/* proves opt.norm opt.clip opt.decay */
static void a_step_is_what_is_written_here(void **state)
{
    (void)state;
    gpt_config tied = small;
    tied.tied = true;
    assert_int_equal(gpt_parameter_count(&tied), gpt_parameter_count(&small) - 6 * 11);
    assert_int_equal(gpt_tensor_count(&tied), gpt_tensor_count(&small) - 1);
    for (int first = 0; first <= 60; first += 30) {
        check_steps(&small, 0, first);
        check_steps(&small, 0.05, first);
        check_steps(&tied, 0, first);
        check_steps(&tied, 0.05, first);
    }
}

/* LR-01 from the initialised weights. */
static void the_first_step_moves_weights(void **state)
{
    (void)state;
    const vt_train_options o = options(2, 4, 1);
    trainer t;
    trainer_result r;
    assert_ok(trainer_new(&t, &o, &small, 1, stream, 100, stream, 0, &test_error));
    float *before = malloc(t.count * sizeof *before);
    memcpy(before, t.w, t.count * sizeof *before);
    assert_ok(trainer_step(&t, &r, &test_error));
    assert_near(r.lr, o.lr / 10, 1e-18);
    size_t moved = 0;
    for (size_t i = 0; i < t.count; i++) moved += before[i] != t.w[i];
    assert_true(moved > t.count / 2);
    free(before);
    trainer_free(&t);
}

/* ---- the same bits ------------------------------------------------------ */

static void same_bits_with_any_threads(void **state)
{
    (void)state;
    const gpt_config *all[] = { &small, &square, &odd };
    for (size_t k = 0; k < 3; k++) {
        const int seq = all[k]->T - 1, counts[] = { 2, 3, 7 };
        const vt_train_options o = options(3, seq, 2);
        trainer one, other;
        trainer_result r1, r2;
        start(&one, &o, all[k], 1);
        for (int s = 0; s < 4; s++) assert_ok(trainer_step(&one, &r1, &test_error));
        for (size_t i = 0; i < 3; i++) {
            start(&other, &o, all[k], counts[i]);
            for (int s = 0; s < 4; s++) {
                double loss;
                assert_ok(trainer_step(&other, &r2, &test_error));
                /* between steps: it must not change them */
                assert_ok(trainer_validate(&other, &loss, &test_error));
            }
            copy bits = keep(&one);
            unchanged(&other, &bits);
            assert_memory_equal(&r1.loss, &r2.loss, sizeof r1.loss);
            assert_memory_equal(&r1.grad_norm, &r2.grad_norm, sizeof r1.grad_norm);
            trainer_free(&other);
        }
        trainer_free(&one);
    }
}

/* An update that leaves the gradient 0 spares the next step its clearing, and nothing
 * else: also behind a step that was refused. */
static void a_cleared_gradient_has_the_same_bits(void **state)
{
    (void)state;
    const vt_train_options o = options(3, 4, 2);
    trainer kept, cleared;
    trainer_result r1, r2;
    start(&kept, &o, &small, 1);
    start(&cleared, &o, &small, 2);
    cleared.update.keep = false;
    for (int s = 0; s < 4; s++) {
        assert_ok(trainer_step(&kept, &r1, &test_error));
        assert_ok(trainer_step(&cleared, &r2, &test_error));
        for (size_t i = 0; i < cleared.count; i++) assert_true(cleared.g[i] == 0);
        copy bits = keep(&kept);
        unchanged(&cleared, &bits);
        assert_memory_equal(&r1.grad_norm, &r2.grad_norm, sizeof r1.grad_norm);
        if (s != 1) continue;
        const float w = cleared.w[cleared.tensors[4].offset];       /* refused; then as before */
        cleared.w[cleared.tensors[4].offset] = NAN;
        assert_int_equal(trainer_step(&cleared, &r2, &test_error), VT_NAN);
        cleared.w[cleared.tensors[4].offset] = w;
    }
    trainer_free(&kept);
    trainer_free(&cleared);
}

/* Mean over all validation windows, the short last batch included. */
static void validation_changes_nothing(void **state)
{
    (void)state;
    enum { T = 4, WINDOWS = 24 };                           /* of 100 tokens */
    const vt_train_options o = options(5, T, 1);
    trainer t;
    trainer_result r;
    double loss;
    start(&t, &o, &small, 2);
    assert_ok(trainer_step(&t, &r, &test_error));
    copy before = keep(&t);
    float *g = malloc(t.count * sizeof *g);
    memcpy(g, t.g, t.count * sizeof *g);
    assert_ok(trainer_validate(&t, &loss, &test_error));
    assert_memory_equal(g, t.g, t.count * sizeof *g);
    unchanged(&t, &before);
    free(g);
    int x[WINDOWS * T], y[WINDOWS * T];
    for (int i = 0; i < WINDOWS * T; i++) {
        x[i] = stream[1000 + i];
        y[i] = stream[1001 + i];
    }
    exact e;
    exact_make(&e, &t, x, y, WINDOWS, WINDOWS * T);
    assert_near(loss, e.loss, 1e-6 * e.loss);
    exact_free(&e);
    trainer_free(&t);
}

/* Sizes are refused before anything is allocated. */
static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    trainer t;
    vt_train_options o = options(2147483647, 5, 1);
    assert_int_equal(trainer_new(&t, &o, &small, 1, stream, 100, stream, 0, &test_error),
                     VT_TOO_LARGE);
    assert_contains(test_error.text, "--batch 2147483647");
    o = options(2, 4, 2147483647);
    assert_int_equal(trainer_new(&t, &o, &small, 1, stream, 100, stream, 0, &test_error),
                     VT_TOO_LARGE);
    gpt_config z = small;
    z.L = 2147483647;                       /* answered at once: no turn per layer */
    o = options(2, 4, 1);
    assert_int_equal(trainer_new(&t, &o, &z, 1, stream, 100, stream, 0, &test_error),
                     VT_TOO_LARGE);
    o.isa = "abacus";
    assert_int_equal(trainer_new(&t, &o, &small, 1, stream, 100, stream, 0, &test_error),
                     VT_USAGE);
    assert_contains(test_error.text, "--isa abacus");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulation_weighs_tokens),
        cmocka_unit_test(ignored_targets_weigh_nothing),
        cmocka_unit_test(a_short_batch_counts_what_it_holds),
        cmocka_unit_test(no_targets_is_no_step),
        cmocka_unit_test(ids_outside_the_vocabulary_are_refused),
        cmocka_unit_test(an_overfit_answers_the_next_token),
        cmocka_unit_test(only_matrices_decay),
        cmocka_unit_test(clipping_cannot_overflow),
        cmocka_unit_test(nan_refuses_the_step),
        cmocka_unit_test(a_step_is_what_is_written_here),
        cmocka_unit_test(the_first_step_moves_weights),
        cmocka_unit_test(same_bits_with_any_threads),
        cmocka_unit_test(a_cleared_gradient_has_the_same_bits),
        cmocka_unit_test(validation_changes_nothing),
        cmocka_unit_test(sizes_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, fill_stream, NULL);
}

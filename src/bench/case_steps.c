/* case_steps.c -- training steps as `vitrine train` takes them: batch, forward, backward,
 * global norm, clipping, AdamW.  Tokens are drawn from the project's random numbers: a
 * step's time does not depend on what they say.
 *
 * Verified, before the clock runs: the loss and every entry of the gradient of the fast
 * kernels against the definitions in double on the same weights and tokens.  Of the small
 * models that is a real step, the whole batch (and its norm); the large ones run
 * fewer tokens through the same buffers, so that it takes seconds.  The bound is that of
 * `vitrine check` (verify/model/gradcheck.h): of each tensor
 *
 *     8 (r + f g (1 + s))
 *
 * r how far the definitions in float are from those in double at this point, g the
 * tensor's largest gradient, s the largest scaled score, f = 2^-24.  The update is
 * verified as a kernel (`adamw`, `sum-squares`).
 *
 * The limit: the products of matrices at the peak, and 28 bytes for each parameter from
 * memory, one after the other (work.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "bench/cases.h"
#include "bench/work.h"
#include "train/trainer.h"
#include "verify/model/gradcheck.h"

typedef struct step_shape {
    const char *preset;             /* whose learning rates and so on are taken */
    gpt_config  z;
    int  B, T;
    int  vB, vT;                    /* verified with these */
    bool recompute;                 /* a layer's activations are computed twice */
} step_shape;

static const step_shape shapes[] = {
    { "tiny", { .L = 2, .C = 32, .NH = 2, .FF = 128, .T = 32, .V = 575 }, 16, 16, 16, 16, false },
    { "tiny", { .L = 2, .C = 32, .NH = 2, .FF = 128, .T = 32, .V = 757 }, 16, 16, 16, 16, false },
    { "default", { .L = 4, .C = 128, .NH = 4, .FF = 512, .T = 128, .V = 1281, .tied = true },
      8, 128, 1, 128, false },
    { "default", { .L = 6, .C = 384, .NH = 6, .FF = 1536, .T = 256, .V = 4096, .tied = true },
      4, 256, 1, 24, false },
    { "default", { .L = 12, .C = 768, .NH = 12, .FF = 3072, .T = 1024, .V = 50257, .tied = true },
      4, 64, 1, 4, false },
    { "default", { .L = 6, .C = 384, .NH = 6, .FF = 1536, .T = 256, .V = 4096, .tied = true },
      4, 256, 1, 24, true },
};

typedef struct step_state {
    const step_shape *shape;
    trainer t;
    int    *ids;
} step_state;

static void state_free(void *state)
{
    step_state *o = state;
    if (!o) return;
    trainer_free(&o->t);
    free(o->ids);
    free(o);
}

static vt_status run(void *state, vt_error *err)
{
    step_state *o = state;
    trainer_result r;
    return trainer_step(&o->t, &r, err);
}

/* ---- the same by the definitions --------------------------------------------- */

typedef struct truth {
    float  *w;                      /* the weights before the step */
    double *g64;
    float  *g32;
    double  loss64, loss32, score;
} truth;

static vt_status definitions_f64(truth *d, const trainer *t, int B, int T, vt_error *err)
{
    const size_t N = (size_t)B * (size_t)T, bytes = gpt_acts_bytes_f64(&t->z, B, T, T, true);
    const size_t cells = (size_t)B * (size_t)t->z.NH * (size_t)T * (size_t)T;
    double *params = malloc(t->count * sizeof *params), *dloss = malloc(N * sizeof *dloss);
    double *head = malloc((size_t)t->z.C * (size_t)t->z.V * sizeof *head);
    void *memory = gradcheck_acts(bytes);
    vt_status s = VT_OK;
    if (!params || !head || !memory || !dloss) {
        s = fail_memory(err, bytes, "the definitions in double");
        goto done;
    }
    gpt_acts_f64 a;
    const gpt_model_f64 m = { .z = t->z, .params = params, .head = head };
    for (size_t i = 0; i < t->count; i++) params[i] = (double)d->w[i];
    for (size_t n = 0; n < N; n++) dloss[n] = 1 / (double)N;
    gpt_acts_place_f64(&a, memory, &t->z, B, T, T, true);
    gpt_prepare_f64(&m);
    gpt_forward_f64(&m, &a, t->x, NULL, B, T);
    gpt_loss_f64(&m, &a, t->y, 1, B, T);
    gpt_backward_f64(&m, &a, d->g64, t->x, t->y, dloss, B, T);
    for (size_t n = 0; n < N; n++) d->loss64 += a.loss[n] / (double)N;
    for (int l = 0; l < t->z.L; l++)
        gradcheck_raise(&d->score, gradcheck_largest(a.layers[l].scaled, cells));
done:
    free(memory);
    free(head);
    free(dloss);
    free(params);
    return s;
}

static vt_status definitions_f32(truth *d, const trainer *t, int B, int T, vt_error *err)
{
    const size_t N = (size_t)B * (size_t)T, bytes = gpt_acts_bytes_f32(&t->z, B, T, T, true);
    float *head = bench_floats((size_t)t->z.C * (size_t)t->z.V), *dloss = bench_floats(N);
    void *memory = gradcheck_acts(bytes);
    vt_status s = VT_OK;
    if (!head || !memory || !dloss) {
        s = fail_memory(err, bytes, "the definitions in float");
        goto done;
    }
    gpt_acts_f32 a;
    const gpt_model_f32 m = { .z = t->z, .params = d->w, .head = head };
    for (size_t n = 0; n < N; n++) dloss[n] = 1 / (float)N;
    gpt_acts_place_f32(&a, memory, &t->z, B, T, T, true);
    gpt_prepare_f32(&m);
    gpt_forward_f32(&m, &a, t->x, NULL, B, T);
    gpt_loss_f32(&m, &a, t->y, 1, B, T);
    gpt_backward_f32(&m, &a, d->g32, t->x, t->y, dloss, B, T);
    for (size_t n = 0; n < N; n++) d->loss32 += (double)a.loss[n] / (double)N;
done:
    free(memory);
    free(head);
    free(dloss);
    return s;
}

/* The fast kernels' loss and gradient (t->g): a step, or fewer tokens without an update. */
static vt_status fast(step_state *o, double *loss, double *norm, vt_error *err)
{
    trainer *t = &o->t;
    const int B = o->shape->vB, T = o->shape->vT;
    const size_t N = (size_t)B * (size_t)T;
    trainer_result r;
    *norm = (double)NAN;
    if (B == t->o.batch && T == t->o.seq) {
        t->update.keep = true;              /* it is looked at */
        const vt_status s = trainer_step(t, &r, err);
        t->update.keep = false;
        *loss = r.loss;
        *norm = r.grad_norm;
        return s;
    }
    (void)batches_get(&t->train, 0, t->x, t->y);        /* the first B T ids and their next */
    memset(t->g, 0, t->count * sizeof *t->g);
    for (size_t n = 0; n < N; n++) t->dloss[n] = 1 / (float)N;
    gpt_learn_fast(&t->model, &t->acts, t->g, t->x, t->y, t->dloss, B, T);
    t->cleared = false;
    *loss = 0;
    for (size_t n = 0; n < N; n++) *loss += (double)t->acts.loss[n] / (double)N;
    return VT_OK;
}

static bool within(const step_state *o, const truth *d, double loss, double norm,
                   vt_bench_row *row)
{
    const trainer *t = &o->t;
    const double f = GRADCHECK_EPS32;
    double squares = 0;
    if (!bench_meet(row, "loss", 0, d->loss64, loss,
                    8 * (fabs(d->loss32 - d->loss64) + f * fabs(d->loss64))))
        return false;
    for (size_t k = 0; k < t->ntensors; k++) {
        const gpt_tensor *tensor = &t->tensors[k];
        const size_t from = tensor->offset, to = from + tensor->count;
        double r = 0, g = 0;
        char name[sizeof tensor->name + 1];
        for (size_t i = from; i < to; i++) {
            gradcheck_raise(&r, fabs((double)d->g32[i] - d->g64[i]));
            gradcheck_raise(&g, fabs(d->g64[i]));
            squares += d->g64[i] * d->g64[i];
        }
        snprintf(name, sizeof name, "d%s", tensor->name);
        for (size_t i = from; i < to; i++)
            if (!bench_meet(row, name, i - from, d->g64[i], (double)t->g[i],
                            8 * (r + f * g * (1 + d->score))))
                return false;
    }
    /* Each entry is within its bound, so is the norm; here its usual size of error. */
    return isnan(norm) || bench_meet(row, "norm", 0, sqrt(squares), norm, 1e-4 * sqrt(squares));
}

static vt_status verify(void *state, vt_bench_row *row, vt_error *err)
{
    step_state *o = state;
    const trainer *t = &o->t;
    const int B = o->shape->vB, T = o->shape->vT;
    truth d = { .w = bench_floats(t->count) };
    double loss, norm;
    vt_status s = VT_OK;
    d.g64 = calloc(t->count, sizeof *d.g64);
    d.g32 = calloc(t->count, sizeof *d.g32);
    if (!d.w || !d.g64 || !d.g32) {
        s = fail_memory(err, 16 * t->count, "gradients");
        goto done;
    }
    memcpy(d.w, t->w, t->count * sizeof *d.w);
    const bool partly = B < t->o.batch || T < t->o.seq;
    bench_verified(row, partly, "%s of %d x %d tokens (a call: %d x %d)",
                   partly ? "loss and gradient" : "loss, gradient and norm", B, T, t->o.batch,
                   t->o.seq);
    if ((s = fast(o, &loss, &norm, err)) || (s = definitions_f64(&d, t, B, T, err)) ||
        (s = definitions_f32(&d, t, B, T, err)))
        goto done;
    if (!within(o, &d, loss, norm, row)) s = bench_wrong(row, err);
done:
    free(d.w);
    free(d.g64);
    free(d.g32);
    return s;
}

static vt_status make(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    const step_shape *shape = &shapes[c->number];
    const size_t n = 64 * (size_t)shape->B * (size_t)shape->T + 1;
    vt_train_options o;
    rng r;
    step_state *state = calloc(1, sizeof *state);
    if (!state) return fail_memory(err, sizeof *state, "a case");
    *w = (bench_work){ .state = state, .verify = verify, .run = run, .free = state_free,
                       .limit = BENCH_SUM, .flop = work_step_flop(&shape->z, shape->B, shape->T),
                       .bytes = work_step_bytes(&shape->z),
                       .per_call = (double)shape->B * (double)shape->T, .unit = "tokens/s" };
    state->shape = shape;
    vt_status status = vt_train_preset(&o, shape->preset, err);
    if (status) return status;
    o.batch = shape->B;
    o.seq = shape->T;
    o.stride = 0;
    o.accumulate = 1;
    o.recompute = shape->recompute;
    o.steps = 1000000;                  /* the schedule's length: no run is so long */
    o.warmup = 100;
    o.seed = 42;
    o.isa = s->kernels->name;
    state->ids = malloc(n * sizeof *state->ids);
    if (!state->ids) return fail_memory(err, n * sizeof *state->ids, "tokens");
    rng_stream_seed(&r, 42, RNG_VERIFY, 94);
    for (size_t i = 0; i < n; i++) state->ids[i] = (int)rng_integers(&r, 0, shape->z.V);
    status = trainer_new(&state->t, &o, &shape->z, s->threads, state->ids, n, state->ids, 0, err);
    if (status == VT_OK) {
        state->t.model.kernels = s->kernels;
        state->t.update.kernels = s->kernels;
    }
    return status;
}

#define STEP(name, what, threads, goal, target, always, cost, quick, i) \
    { name, "steps", what, "tokens/s", threads, target, always, cost, quick, make, i, false, \
      VT_BENCH_##goal }
const bench_case bench_steps[] = {
    STEP("tiny-575", "2 layers, d 32, T 16, B 16, V 575", 1, RATE, 400000, true, 2.5, 1.2, 0),
    STEP("tiny", "the preset: 2 layers, d 32, T 16, B 16, V 757", 0, RATE, 0, true, 2.5, 1.2, 1),
    STEP("default", "the preset: 4 layers, d 128, T 128, B 8, V 1281", 0, RATE, 0, true, 3.5, 2, 2),
    STEP("L6", "6 layers, d 384, T 256, B 4, V 4096", 2, SHARE, 0.65, true, 8, 6, 3),
    STEP("L6-recompute", "the same, --recompute: memory and time", 2, SHARE, 0, false, 8, 6, 5),
    STEP("gpt2", "12 layers, d 768 (124M), T 64, B 4, V 50257", 0, SHARE, 0.60, false, 40, 30, 4),
    { .name = NULL },
};

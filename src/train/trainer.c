/* trainer.c -- see trainer.h.
 *
 * Gradient accumulation: a step's loss is the mean over all tokens that its
 * micro-batches count.  Each row's share 1/total is known before the first
 * backward pass, so gradients add up in place and a short batch at an epoch's
 * end weighs what it holds, no more.
 */
#include "train/trainer.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "train/schedule.h"

enum gpt_use trainer_use(const vt_train_options *o)
{
    return o->recompute ? GPT_RECOMPUTE : GPT_LEARN;
}

bool trainer_sizes(size_t out[TRAINER_PIECES], const vt_train_options *o, const gpt_config *z)
{
    const size_t count = gpt_parameter_count(z), micro = (size_t)o->accumulate;
    const size_t acts = gpt_acts_bytes_fast(z, o->batch, o->seq, o->seq, trainer_use(o));
    size_t rows, all, total = 0;
    if (acts == SIZE_MAX || !size_mul((size_t)o->batch, (size_t)o->seq, &rows) ||
        !size_mul(rows, micro, &all))
        return false;
    const size_t pieces[TRAINER_PIECES][2] = {
        [TRAINER_PARAMS]  = { count, sizeof(float) },
        [TRAINER_GRADS]   = { count, sizeof(float) },
        [TRAINER_MEANS]   = { count, sizeof(float) },
        [TRAINER_SQUARES] = { count, sizeof(float) },
        [TRAINER_DLOSS]   = { rows, sizeof(float) },
        [TRAINER_ROWS]    = { micro, sizeof(size_t) },
        [TRAINER_INPUTS]  = { all, sizeof(int) },
        [TRAINER_TARGETS] = { all, sizeof(int) },
        [TRAINER_ACTS]    = { acts, 1 },
    };
    for (size_t i = 0; i < TRAINER_PIECES; i++) {
        size_t n;
        if (!size_mul(pieces[i][0], pieces[i][1], &n)) return false;
        out[i] = arena_piece(n);
        if (out[i] < n || !size_add(total, out[i], &total)) return false;
    }
    return true;
}

void trainer_scratch(size_t *worker, size_t *shared, const vt_train_options *o,
                     const gpt_config *z)
{
    const ops_sizes sizes = { .B = o->batch, .T = o->seq, .C = z->C, .NH = z->NH,
                              .HS = z->C / z->NH, .FF = z->FF, .V = z->V };
    ops_scratch(&sizes, worker, shared);
}

static vt_status place(trainer *t, vt_error *err)
{
    const vt_train_options *o = &t->o;
    const gpt_config *z = &t->z;
    size_t sizes[TRAINER_PIECES], bytes = 0;
    void *at[TRAINER_PIECES];
    if (!trainer_sizes(sizes, o, z))
        return fail(err, VT_TOO_LARGE, "--batch %d --seq %d --accumulate %d: the activations' "
                    "size overflows", o->batch, o->seq, o->accumulate);
    for (size_t i = 0; i < TRAINER_PIECES; i++) bytes += sizes[i];
    vt_status s = arena_new(&t->block, bytes, "training", err);
    if (s) return s;
    for (size_t i = 0; i < TRAINER_PIECES; i++) at[i] = arena_take(&t->block, sizes[i]);
    t->w = at[TRAINER_PARAMS];
    t->g = at[TRAINER_GRADS];
    t->m = at[TRAINER_MEANS];
    t->v = at[TRAINER_SQUARES];
    t->dloss = at[TRAINER_DLOSS];
    t->rows = at[TRAINER_ROWS];
    t->x = at[TRAINER_INPUTS];
    t->y = at[TRAINER_TARGETS];
    gpt_acts_place_fast(&t->acts, at[TRAINER_ACTS], z, o->batch, o->seq, o->seq, trainer_use(o));
    return VT_OK;
}

static vt_status make_team(trainer *t, int threads, vt_error *err)
{
    size_t worker, shared;
    trainer_scratch(&worker, &shared, &t->o, &t->z);
    return team_new(&t->crew, threads, worker, shared, err);
}

static schedule rates_of(const vt_train_options *o)
{
    return (schedule){ .lr_max = o->lr, .lr_min = o->lr_min, .warmup = (size_t)o->warmup,
                       .total = (size_t)o->steps };
}

/* Steps of the whole run: as asked, or enough for the epochs. */
static vt_status resolve_steps(trainer *t, vt_error *err)
{
    vt_train_options *o = &t->o;
    if (o->steps == 0) {
        size_t all;
        if (!size_mul(t->train.per_epoch, (size_t)o->epochs, &all) || all > (size_t)1 << 40)
            return fail(err, VT_TOO_LARGE, "--epochs %d: too many steps", o->epochs);
        const size_t a = (size_t)o->accumulate;
        o->steps = (long long)((all + a - 1) / a);
    }
    o->warmup = schedule_warmup(o->warmup, o->steps);
    const schedule rates = rates_of(o);
    return schedule_check(&rates, err);
}

vt_status trainer_new(trainer *t, const vt_train_options *o, const gpt_config *z, int threads,
                      const int *train, size_t ntrain, const int *valid, size_t nvalid,
                      vt_error *err)
{
    enum gpt_init init;
    vt_status s;
    *t = (trainer){ .o = *o, .z = *z, .ntensors = gpt_tensor_count(z),
                    .count = gpt_parameter_count(z) };
    if ((s = gpt_init_named(&init, o->init, err)) ||
        (s = gpt_check_ids(train, 1, ntrain, z->V, false, "training tokens", err)) ||
        (s = gpt_check_ids(valid, 1, nvalid, z->V, false, "validation tokens", err)) ||
        (s = batches_new(&t->train, train, ntrain, (size_t)o->seq, (size_t)o->stride,
                         (size_t)o->batch, o->seed, err)) ||
        (nvalid > (size_t)o->seq &&
         (s = batches_new(&t->valid, valid, nvalid, (size_t)o->seq, 0, (size_t)o->batch,
                          o->seed, err))) ||
        (s = resolve_steps(t, err)) ||
        (s = place(t, err)) || (s = make_team(t, threads, err)))
        goto done;
    t->tensors = malloc(t->ntensors * sizeof *t->tensors);
    if (!t->tensors) {
        s = fail_memory(err, t->ntensors * sizeof *t->tensors, "the list of tensors");
        goto done;
    }
    t->spans = malloc(t->ntensors * sizeof *t->spans);
    if (!t->spans) {
        s = fail_memory(err, t->ntensors * sizeof *t->spans, "the list of tensors");
        goto done;
    }
    gpt_tensor_list(z, t->tensors);
    t->model.z = *z;
    t->model.params = t->w;
    t->model.team = t->crew;
    if ((s = ops_choose(&t->model.kernels, o->isa, err))) goto done;
    const size_t nspans = optimizer_spans(t->spans, t->tensors, t->ntensors, o->decay);
    t->update = (optimizer){ .tensors = t->tensors, .ntensors = t->ntensors,
        .spans = t->spans, .nspans = nspans, .w = t->w, .g = t->g, .m = t->m, .v = t->v,
        .beta1 = o->beta1, .beta2 = o->beta2, .eps = o->eps,
        .decay = o->decay, .clip = o->clip, .kernels = t->model.kernels, .crew = t->crew };
    gpt_initialise(t->w, z, t->tensors, t->ntensors, init, o->seed);
done:
    if (s) trainer_free(t);
    return s;
}

void trainer_free(trainer *t)
{
    batches_free(&t->train);
    batches_free(&t->valid);
    team_free(t->crew);
    arena_free(&t->block);
    free(t->tensors);
    free(t->spans);
    *t = (trainer){ .tensors = NULL };
}

typedef struct clearing { float *g; size_t n; } clearing;
enum { CLEARED = 1 << 16 };             /* of a task */

static void clear_task(void *context, size_t i, int worker)
{
    const clearing *c = context;
    const size_t begin = i * CLEARED, left = c->n - begin;
    (void)worker;
    memset(c->g + begin, 0, (left < CLEARED ? left : CLEARED) * sizeof *c->g);
}

/* Before the first step, and where an update did not leave the gradient 0. */
static void clear(trainer *t)
{
    clearing c = { t->g, t->count };
    team_run(t->crew, (c.n + CLEARED - 1) / CLEARED, clear_task, &c);
}

/* Summed loss of `rows` windows; their gradient is added to t->g, or with `learn` false
 * is not. */
static double pass(trainer *t, const int *x, const int *y, size_t rows, bool learn)
{
    double sum = 0;
    gpt_learn_fast(&t->model, &t->acts, learn ? t->g : NULL, x, y, t->dloss, (int)rows, t->o.seq);
    for (size_t n = 0; n < rows * (size_t)t->o.seq; n++) sum += (double)t->acts.loss[n];
    return sum;
}

/* Targets that count, of the batches in t->x and t->y. */
static vt_status count_targets(const trainer *t, size_t *total, vt_error *err)
{
    const size_t seq = (size_t)t->o.seq, size = (size_t)t->o.batch * seq;
    vt_status s;
    *total = 0;
    for (size_t j = 0; j < (size_t)t->o.accumulate; j++) {
        const int *x = t->x + j * size, *y = t->y + j * size;
        if ((s = gpt_check_ids(x, t->rows[j], seq, t->z.V, false, "inputs", err)) ||
            (s = gpt_check_ids(y, t->rows[j], seq, t->z.V, true, "targets", err)))
            return s;
        for (size_t n = 0; n < t->rows[j] * seq; n++) *total += y[n] != VT_IGNORE;
    }
    return VT_OK;
}

vt_status trainer_take(trainer *t, trainer_result *r, vt_error *err)
{
    const vt_train_options *o = &t->o;
    const size_t size = (size_t)o->batch * (size_t)o->seq;
    size_t total;
    double sum = 0;
    *r = (trainer_result){ .loss = (double)NAN };
    if (!t->cleared) clear(t);
    t->cleared = true;
    vt_status s = count_targets(t, &total, err);
    if (s) return s;
    if (total == 0)
        return fail(err, VT_BAD_INPUT, "step %lld: no targets: all of them are ignored; the step "
                    "was not taken", t->step + 1);
    for (size_t n = 0; n < size; n++) t->dloss[n] = 1 / (float)total;
    for (size_t j = 0; j < (size_t)o->accumulate; j++) {
        const int *x = t->x + j * size, *y = t->y + j * size;
        if (t->rows[j] == 0) continue;
        t->cleared = false;
        sum += pass(t, x, y, t->rows[j], true);
    }
    r->tokens = total;
    r->loss = sum / (double)total;
    if (!isfinite(r->loss))
        return fail(err, VT_NAN, "step %lld: the loss is NaN or Inf; the step was not taken",
                    t->step + 1);
    const schedule rates = rates_of(o);
    r->lr = schedule_lr(&rates, (size_t)t->step);
    s = optimizer_step(&t->update, t->step + 1, r->lr, &r->grad_norm, err);
    if (s) return s;
    t->cleared = !t->update.keep;
    t->step++;
    return VT_OK;
}

vt_status trainer_step(trainer *t, trainer_result *r, vt_error *err)
{
    const size_t size = (size_t)t->o.batch * (size_t)t->o.seq;
    const size_t micro = (size_t)t->o.accumulate;
    for (size_t j = 0; j < micro; j++)
        t->rows[j] = batches_get(&t->train, (uint64_t)t->step * micro + j, t->x + j * size,
                                 t->y + j * size);
    return trainer_take(t, r, err);
}

vt_status trainer_validate(trainer *t, double *loss, vt_error *err)
{
    double sum = 0;
    size_t first = 0, rows;
    if (t->valid.windows == 0)
        return fail(err, VT_BAD_INPUT, "validation: the tokens hold no window of %d + 1",
                    t->o.seq);
    while ((rows = batches_in_order(&t->valid, first, t->x, t->y)) > 0) {
        sum += pass(t, t->x, t->y, rows, false);
        first += rows;
    }
    *loss = sum / ((double)first * (double)t->o.seq);
    if (!isfinite(*loss))
        return fail(err, VT_NAN, "step %lld: the validation loss is NaN or Inf", t->step);
    return VT_OK;
}

/* evaluate.c -- see evaluate.h. */
#include "train/evaluate.h"
#include <math.h>
#include "base/arena.h"

/* Windows that are run at once: their logits may take so much. */
enum { MOST_ROWS = 8, MOST_LOGITS = 1 << 26 };

typedef struct evaluation {
    const evaluate_case *c;
    int   B, T;
    arena block;
    gpt_model_fast model;
    gpt_acts_fast  acts;
    int  *x, *y;                    /* (B, T) */
    size_t scored;                  /* tokens 1 .. scored are predicted */
} evaluation;

static vt_status begin(evaluation *e, vt_error *err)
{
    const evaluate_case *c = e->c;
    const gpt_config *z = c->z;
    const size_t seq = c->seq < c->n - 1 ? c->seq : c->n - 1;
    const size_t head = z->tied ? (size_t)z->C * (size_t)z->V : 0;
    size_t worker, shared, rows = MOST_LOGITS / (seq * (size_t)z->V);
    e->T = (int)seq;
    e->B = rows < 1 ? 1 : rows > MOST_ROWS ? MOST_ROWS : (int)rows;
    const size_t acts = gpt_acts_bytes_fast(z, e->B, e->T, e->T, false);
    const size_t ids = arena_piece((size_t)e->B * seq * sizeof *e->x);
    const ops_sizes sizes = { .B = e->B, .T = e->T, .C = z->C, .NH = z->NH,
                              .HS = z->C / z->NH, .FF = z->FF, .V = z->V };
    size_t total = arena_piece(head * sizeof(float));
    if (acts == SIZE_MAX || !size_add(total, arena_piece(acts), &total) ||
        !size_add(total, 2 * ids, &total))
        return fail(err, VT_TOO_LARGE, "the model's activations overflow a size");
    vt_status s = arena_new(&e->block, total, "an evaluation", err);
    if (s) return s;
    ops_scratch(&sizes, &worker, &shared);
    if ((s = team_new(&e->model.team, c->threads, worker, shared, err))) return s;
    e->model.z = *z;
    e->model.params = c->params;
    e->model.kernels = c->kernels;
    if (z->tied) e->model.head = arena_take(&e->block, head * sizeof(float));
    e->x = arena_take(&e->block, ids);
    e->y = arena_take(&e->block, ids);
    gpt_acts_place_fast(&e->acts, arena_take(&e->block, acts), z, e->B, e->T, e->T, false);
    gpt_prepare_fast(&e->model);
    return VT_OK;
}

/* The window from `start` on as a row of T; targets that were predicted do not count. */
static void fill(evaluation *e, int row, size_t start, size_t T)
{
    int *x = e->x + (size_t)row * T, *y = e->y + (size_t)row * T;
    for (size_t t = 0; t < T; t++) {
        x[t] = e->c->ids[start + t];
        y[t] = start + t + 1 > e->scored ? e->c->ids[start + t + 1] : VT_IGNORE;
    }
    e->scored = start + T;
}

/* Rows of T from `*start` on, as many as there are of that length; moves it on. */
static int gather(evaluation *e, size_t *start, size_t T)
{
    int rows = 0;
    while (rows < e->B && e->scored < e->c->n - 1 && e->c->n - 1 - *start >= T) {
        fill(e, rows++, *start, T);
        *start += e->c->stride;
    }
    return rows;
}

static vt_status run(evaluation *e, evaluate_result *out, vt_evaluate_progress *progress,
                     void *context, vt_error *err)
{
    const size_t last = e->c->n - 1;
    size_t start = 0;
    while (e->scored < last) {
        size_t T = (size_t)e->T;
        int rows = gather(e, &start, T);
        if (rows == 0) {                        /* the last window is shorter */
            if (e->c->whole) break;
            T = last - start;
            rows = gather(e, &start, T);
        }
        gpt_forward_fast(&e->model, &e->acts, e->x, NULL, rows, (int)T);
        gpt_loss_fast(&e->model, &e->acts, e->y, 1, rows, (int)T);
        for (size_t n = 0; n < (size_t)rows * T; n++)
            if (e->y[n] != VT_IGNORE) out->nats += (double)e->acts.loss[n];
        out->windows += (size_t)rows;
        out->predicted = e->scored;
        if (!isfinite(out->nats))
            return fail(err, VT_NAN, "the loss of tokens up to %zu is NaN or Inf", e->scored);
        if (progress && progress(context, e->scored, last))
            return fail(err, VT_INTERRUPTED, "interrupted at token %zu of %zu", e->scored, last);
    }
    return VT_OK;
}

vt_status evaluate_tokens(evaluate_result *out, const evaluate_case *c,
                          vt_evaluate_progress *progress, void *context, vt_error *err)
{
    evaluation e = { .c = c };
    *out = (evaluate_result){ .windows = 0 };
    vt_status s = begin(&e, err);
    if (s == VT_OK) s = run(&e, out, progress, context, err);
    team_free(e.model.team);
    arena_free(&e.block);
    return s;
}

/* trainer.h -- a run in memory: parameters, gradients, moments, activations,
 * batches, and one step of training.  It knows no files.
 */
#ifndef TRAINER_H
#define TRAINER_H

#include "base/arena.h"
#include "data/batches.h"
#include "model/gpt.h"
#include "train/optimizer.h"
#include "vitrine.h"

typedef struct trainer {
    vt_train_options o;             /* steps and warmup resolved */
    gpt_config  z;
    gpt_tensor *tensors;
    adamw_span *spans;
    size_t      ntensors, count;    /* count: parameters */
    team       *crew;
    arena       block;              /* everything below */
    float      *w, *g, *m, *v;      /* count each */
    gpt_model_fast model;
    gpt_acts_fast  acts;
    int        *x, *y;              /* (accumulate, batch, seq) */
    size_t     *rows;               /* (accumulate): windows in use */
    float      *dloss;              /* (batch, seq) */
    optimizer   update;             /* with .keep the gradient can be read after a step */
    bool        cleared;            /* g is 0: the last update left it so */
    batches     train, valid;       /* valid: stride seq; no windows where there
                                       are too few tokens */
    long long   step;               /* steps done */
} trainer;

/* The pieces of a run's one block. */
enum { TRAINER_PARAMS, TRAINER_GRADS, TRAINER_MEANS, TRAINER_SQUARES,
       TRAINER_DLOSS, TRAINER_ROWS, TRAINER_INPUTS, TRAINER_TARGETS, TRAINER_ACTS,
       TRAINER_PIECES };

enum gpt_use trainer_use(const vt_train_options *o);     /* of its activations */

/* Bytes of each; false where they overflow.  And of the team's scratch, for one
 * worker and for all.  Pure: a plan asks before anything is allocated. */
VT_MUST_CHECK bool trainer_sizes(size_t out[TRAINER_PIECES], const vt_train_options *o,
                                 const gpt_config *z);
void trainer_scratch(size_t *worker, size_t *shared, const vt_train_options *o,
                     const gpt_config *z);

/* The team's size and tokens (borrowed) are the caller's choice; `o` was
 * checked.  Sets up to the state before step 1: parameters initialised.  Steps
 * are those asked for, or the epochs' worth.  VT_BAD_INPUT where a token is
 * outside the vocabulary, VT_TOO_LARGE before anything is
 * allocated where sizes overflow or exceed the machine. */
VT_MUST_CHECK vt_status trainer_new(trainer *t, const vt_train_options *o,
                                    const gpt_config *z, int threads,
                                    const int *train, size_t ntrain,
                                    const int *valid, size_t nvalid, vt_error *err);
void trainer_free(trainer *t);      /* also of a zeroed one */

/* One step: `accumulate` batches, their gradients weighted by the tokens they
 * count, one update.  The results of the step: nats per token, rate, norm before
 * clipping, targets counted.  VT_NAN: neither weights nor moments nor t->step
 * were changed; a tensor or the loss is named. */
typedef struct trainer_result { double loss, lr, grad_norm; size_t tokens; } trainer_result;
VT_MUST_CHECK vt_status trainer_step(trainer *t, trainer_result *r, vt_error *err);

/* The same of the batches that stand in t->x and t->y, t->rows[j] windows (0 to
 * batch) of each.  A mean over nothing has no value: where every target is
 * VT_IGNORE this is VT_BAD_INPUT, "no targets"; the gradient t->g is 0, no update
 * is made, t->step stays, r->loss is NaN.  An id outside the vocabulary is
 * VT_BAD_INPUT before any kernel sees it. */
VT_MUST_CHECK vt_status trainer_take(trainer *t, trainer_result *r, vt_error *err);

/* Mean loss over all validation windows; VT_BAD_INPUT where there are none.
 * Neither weights, moments, gradient nor t->step are changed. */
VT_MUST_CHECK vt_status trainer_validate(trainer *t, double *loss, vt_error *err);

#endif

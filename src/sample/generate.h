/* generate.h -- tokens from a model, one after the other.
 *
 * While all positions fit the window, each token costs one row: keys and values
 * of earlier positions are cached.  Beyond it, each token is a fresh forward
 * pass over the last `window` tokens: every position has moved, and with it what
 * its position embedding adds, so no cached row is right any more.
 */
#ifndef GENERATE_H
#define GENERATE_H

#include "base/arena.h"
#include "model/gpt.h"
#include "sample/filters_fast.h"

typedef struct generator {
    gpt_model_fast model;           /* params, kernels borrowed; team owned */
    gpt_acts_fast  acts;
    gpt_cache_fast cache;           /* length -1: the window has moved, not used */
    int           *ids;             /* the last `window` tokens, oldest first */
    filter_room    room;
    const float   *row;             /* logits after the last id, where fresh is 0 */
    int            window, held;    /* ids held */
    int            fresh;           /* of them not yet run */
    arena          block;
} generator;

/* Bytes of the one block for windows of `window` tokens, SIZE_MAX where they overflow,
 * and of the team's scratch: for a plan. */
size_t generator_bytes(const gpt_config *z, int window);
void generator_scratch(size_t *worker, size_t *shared, const gpt_config *z, int window);

/* VT_TOO_LARGE before anything is allocated where it would not fit. */
VT_MUST_CHECK vt_status generator_new(generator *g, const gpt_config *z, const float *params,
                                      int window, const ops *kernels, int threads, vt_error *err);
void generator_free(generator *g);

/* Starts anew with these tokens (at least one; the last `window` count). */
void generator_start(generator *g, const int *ids, size_t n);

/* Draws the next token with u in [0, 1) and takes it in. */
VT_MUST_CHECK vt_status generator_next(generator *g, const filter_options *how, double u,
                                       int *id, vt_error *err);

/* The logits (V) that the next token will be drawn from. */
const float *generator_logits(generator *g);

#endif

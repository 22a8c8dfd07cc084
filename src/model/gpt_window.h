/* gpt_window.h -- one window of tokens through a model, in double, on the
 * definitions: every stage of the forward pass, and every gradient of the mean
 * next-token loss, each kept under a name.
 *
 * Training keeps one set of gradients and uses it again for each layer; here
 * each layer's are kept, for a reader who wants to see them.  Names, in the
 * order in which they are computed:
 *
 *   embedded
 *   h.L.{ln1, ln1_mean, ln1_rstd, q, k, v, scores, scaled, masked, att, values,
 *        attproj, res1, ln2, ln2_mean, ln2_rstd, fc, gelu, fcproj, res2}
 *   lnf, lnf_mean, lnf_rstd, logits, loss
 *   dlogits, dlnf, then from the last layer to the first
 *   h.L.{dres2, dfcproj, dgelu, dfc, dln2, dres1, dattproj, dvalues, datt,
 *        dscaled, dq, dk, dv, dln1, dx}
 *   dembedded, and grad.NAME of each parameter, as in tensors.def
 *
 * Shapes: (T, C), (T, FF) or (T, V) for rows; (T) for mean, rstd and loss;
 * (NH, T, T) for what attention has of each head.  datt is the gradient on the
 * weights, dscaled the one on the scores behind the scaling.
 */
#ifndef GPT_WINDOW_H
#define GPT_WINDOW_H

#include "model/gpt.h"

enum { GPT_WINDOW_RANK = 3 };

typedef struct gpt_stage {
    char    name[40];
    size_t  rank, shape[GPT_WINDOW_RANK], count;
    double *data;
} gpt_stage;

typedef struct gpt_window {
    gpt_config z;
    int        T;                   /* tokens of the window */
    gpt_stage *stages;
    size_t     count;
    double     loss;                /* mean over the targets that count */
    /* not for the reader */
    gpt_acts_f64 acts;
    double *params, *head, *grads, *scratch, *dloss;
    void   *block, *kept;
} gpt_window;

/* How many stages a model of these sizes has. */
size_t gpt_window_stages(const gpt_config *z);

/* Room for windows of T tokens, 1 .. z->T; the parameters are copied.
 * VT_TOO_LARGE where sizes overflow or there is no memory; VT_USAGE: T. */
VT_MUST_CHECK vt_status gpt_window_new(gpt_window *w, const gpt_config *z, const float *params,
                                       int T, vt_error *err);
void gpt_window_free(gpt_window *w);    /* also of a zeroed one */

/* Runs T tokens and targets (VT_IGNORE: not counted).  VT_BAD_INPUT where an id
 * is none of the vocabulary, or no target counts: then there is no mean. */
VT_MUST_CHECK vt_status gpt_window_run(gpt_window *w, const int *tokens, const int *targets,
                                       vt_error *err);

/* The same in pieces, in this order, for a caller who shows how far it is, may stop, or
 * wants the forward pass alone: the first gpt_window_forward_pieces().  Ids and targets
 * are checked before; where no target counts, the loss is NaN. */
size_t gpt_window_pieces(const gpt_window *w);
size_t gpt_window_forward_pieces(const gpt_window *w);
void   gpt_window_piece(gpt_window *w, const int *tokens, const int *targets, size_t piece);

/* The stage of that name; NULL where there is none. */
const gpt_stage *gpt_window_find(const gpt_window *w, const char *name);

#endif

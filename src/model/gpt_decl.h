/* gpt_decl.h -- the wiring's types and functions for one scalar; gpt.h
 * includes it once for each.
 *
 * Sizes: B sequences of T tokens are run at once, after P cached positions
 * (P = 0 without a cache); N = B*T rows.
 */

/* A model to run: nothing here is owned. */
typedef struct GPT(model) {
    gpt_config  z;
    const GPT_SCALAR *params;   /* gpt_parameter_count() scalars */
    GPT_SCALAR *head;           /* (C, V): see prepare; fast: may be NULL */
    const ops  *kernels;        /* used by the fast wiring only */
    team       *team;           /* likewise */
} GPT(model);

/* What forward computes for one layer and backward reads. */
typedef struct GPT(layer_acts) {
    GPT_SCALAR *ln1, *ln1_mean, *ln1_rstd;      /* (N, C), (N), (N) */
    GPT_SCALAR *qkv;                            /* (N, 3C) */
    GPT_SCALAR *q, *k, *v;                      /* definitions: (N, C) each */
    GPT_SCALAR *scores, *scaled, *masked, *att; /* definitions: (B, NH, T, S) */
    GPT_SCALAR *lse;                            /* fast: (B, NH, T) */
    GPT_SCALAR *values;                         /* (N, C): heads side by side */
    GPT_SCALAR *attproj;                        /* definitions: (N, C) */
    GPT_SCALAR *res1;                           /* (N, C) */
    GPT_SCALAR *ln2, *ln2_mean, *ln2_rstd;
    GPT_SCALAR *fc, *gelu;                      /* (N, FF) */
    GPT_SCALAR *fcproj;                         /* definitions: (N, C) */
    GPT_SCALAR *res2;                           /* (N, C) */
} GPT(layer_acts);

/* Gradients of activations: one set, used again by each layer. */
typedef struct GPT(back) {
    GPT_SCALAR *dlogits;                        /* (N, V); learn: NULL */
    GPT_SCALAR *dres, *dln;                     /* (N, C) */
    GPT_SCALAR *dres_in, *dbranch;              /* definitions: (N, C) */
    GPT_SCALAR *dfc;                            /* (N, FF) */
    GPT_SCALAR *dgelu;                          /* definitions: (N, FF) */
    GPT_SCALAR *dvalues, *dqkv;                 /* (N, C), (N, 3C) */
    GPT_SCALAR *dq, *dk, *dv;                   /* definitions: (N, C) */
    GPT_SCALAR *da, *ds;                        /* definitions: (B, NH, T, S) */
    GPT_SCALAR *dhead;                          /* definitions, tied: (C, V) */
} GPT(back);

typedef struct GPT(acts) {
    GPT_SCALAR *embedded;                       /* (N, C) */
    GPT(layer_acts) *layers;                    /* L of them */
    GPT_SCALAR *lnf, *lnf_mean, *lnf_rstd;
    GPT_SCALAR *logits;                         /* (rows, V) */
    GPT_SCALAR *loss, *lse;                     /* (N) */
    size_t      rows;                           /* N; learn: of a part */
    bool        again;                          /* layers share all but res2 */
    GPT(back)   back;
} GPT(acts);

/* Keys and values of the positions seen so far, B = 1. */
typedef struct GPT(cache) {
    GPT_SCALAR *k, *v;                          /* (L, T, C) of the config's T */
    int length;                                 /* positions in use */
} GPT(cache);

/* Bytes of one block for the activations of B x T tokens attending to at most
 * S positions (S = T without a cache), for that use; SIZE_MAX when that overflows. */
size_t GPT(acts_bytes)(const gpt_config *z, int B, int T, int S, enum gpt_use use);
/* Lays the activations out in a block of that many bytes, 64-byte aligned. */
void GPT(acts_place)(GPT(acts) *a, void *block, const gpt_config *z,
                     int B, int T, int S, enum gpt_use use);

/* After the parameters changed: a tied head is wte transposed into m->head,
 * C*V scalars of the caller's.  Untied, or fast without a head: nothing is done. */
void GPT(prepare)(const GPT(model) *m);

/* Token ids (B, T) -> a->logits.  With a cache (B = 1) the tokens continue it
 * and it grows by T; the caller keeps P + T <= context.  Ids are the caller's
 * to check: 0 .. V-1. */
void GPT(forward)(const GPT(model) *m, GPT(acts) *a, const int *tokens,
                  GPT(cache) *cache, int B, int T);

/* The same for one sequence, but only the last row's logits, as row 0 of a->logits: all
 * that the next token is drawn from. */
void GPT(forward_last)(const GPT(model) *m, GPT(acts) *a, const int *tokens,
                       GPT(cache) *cache, int T);

/* One part of it, without a cache: the embedding (part = -1, tokens -> a->embedded),
 * layer `part` (the residual stream before it -> a->layers[part].res2), or the
 * head (L, -> a->logits).  Its input is what lies in `a`.  For checks. */
void GPT(part_forward)(const GPT(model) *m, GPT(acts) *a, const int *tokens, int part,
                       int B, int T);

/* The parts from `first` on.  For derivatives of the forward pass: a parameter
 * moves nothing below its layer. */
void GPT(forward_from)(const GPT(model) *m, GPT(acts) *a, const int *tokens, int first,
                       int B, int T);

/* a->loss[n] of each row at a temperature (1 for training); a target is an id
 * or VT_IGNORE, whose loss is 0. */
void GPT(loss)(const GPT(model) *m, GPT(acts) *a, const int *targets,
               GPT_SCALAR temperature, int B, int T);

/* After forward and loss (no cache): adds into `grads` (laid out like params)
 * the gradient of sum_n dloss[n] loss[n], temperature 1. */
void GPT(backward)(const GPT(model) *m, GPT(acts) *a, GPT_SCALAR *grads,
                   const int *tokens, const int *targets,
                   const GPT_SCALAR *dloss, int B, int T);

/* Fast only, activations for GPT_LEARN or GPT_RECOMPUTE: forward, loss and backward, to
 * their bits, with the logits of a->rows rows at a time.  a->logits is not what they
 * were.  grads NULL: the losses alone (dloss is not read). */
void GPT(learn)(const GPT(model) *m, GPT(acts) *a, GPT_SCALAR *grads, const int *tokens,
                const int *targets, const GPT_SCALAR *dloss, int B, int T);

/* One part of it, after forward: a->back.dlogits (the head) or a->back.dres (the
 * others) is the gradient at the part's output; adds into `grads` what the part's
 * parameters get, and leaves in a->back.dres the gradient at its input (the
 * embedding has none). */
void GPT(part_backward)(const GPT(model) *m, GPT(acts) *a, GPT_SCALAR *grads,
                        const int *tokens, int part, int B, int T);

#undef GPT_SCALAR
#undef GPT

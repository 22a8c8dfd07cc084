/* faults.h -- what a node of a graph computes when one thing in it is wrong.
 *
 * A fault is a rule with parameters.  Some rules know one kind of node and write its
 * pass again with one line changed (the row sum of softmax's gradient left out); the
 * others know none: the backward of every definition is linear in the gradient of its
 * output, so its contribution to one input can be scaled, moved, cut to some of its
 * rows, rounded or assigned where it should be added, whatever the node.
 *
 * All in double.  The shares of a gradient that a node's several inputs get are
 * called contributions here; an input is a slot, graph_node.in[slot].
 *
 * What is not here: which node and which rule explain what a kernel computed
 * (diagnose.h), and how to say it.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "verify/op/op_case.h"

/* What a diagnosis can come to. */
#define FAULT_KIND_LIST(X) \
    X(SCALE_MISSING, scale_missing) X(SCALE_WRONG, scale_wrong) X(TRANSPOSED, transposed) \
    X(SOFTMAX_ROW_SUM_MISSING, softmax_row_sum_missing) X(PATH_MISSING, path_missing) \
    X(MASK_LEAK, mask_leak) X(MASK_AFTER_SOFTMAX, mask_after_softmax) \
    X(MASK_VALUE, mask_value) X(MASKED_ROW, masked_row) X(OVERWRITTEN, overwritten) \
    X(HEADS_SWAPPED, heads_swapped) X(POSITION_SHIFT, position_shift) \
    X(BIAS_FORGOTTEN, bias_forgotten) X(MEAN_FOR_SUM, mean_for_sum) \
    X(SUM_FOR_MEAN, sum_for_mean) X(SIGN, sign) X(CONSTANT, constant) \
    X(GAIN_MISSING, gain_missing) X(EPSILON, epsilon) X(VARIANCE_UNBIASED, variance_unbiased) \
    X(MEAN_TERM_MISSING, mean_term_missing) X(VARIANCE_TERM_MISSING, variance_term_missing) \
    X(ROWS_MISSING, rows_missing) X(ONEHOT_MISSING, onehot_missing) \
    X(IGNORED_TARGET, ignored_target) X(TEMPERATURE, temperature) X(GELU_FORM, gelu_form) \
    X(ROUNDED, rounded) X(ONE_ENTRY, one_entry) X(ZERO, zero) X(SWAPPED, swapped) \
    X(SOFTMAX_UNSTABLE, softmax_unstable) X(NONDETERMINISTIC, nondeterministic) \
    X(INPUT_WRITTEN, input_written) X(NOT_FINITE, not_finite) \
    X(SOFTMAX_ROW_SUM_WRONG, softmax_row_sum_wrong) X(MASK_NARROW, mask_narrow) \
    X(WRONG_FACTOR, wrong_factor) X(BATCH_MIXED, batch_mixed) \
    X(UPSTREAM_IGNORED, upstream_ignored) \
    X(VARIANCE_CANCELS, variance_cancels) X(UNKNOWN, unknown)

typedef enum fault_kind {
    FAULT_NONE,
#define FAULT_KIND_ENUM(NAME, name) FAULT_##NAME,
    FAULT_KIND_LIST(FAULT_KIND_ENUM)
#undef FAULT_KIND_ENUM
    FAULT_KINDS
} fault_kind;

const char *fault_kind_name(fault_kind k);          /* "scale_missing"; "none" */
fault_kind  fault_kind_of(const char *name);        /* FAULT_NONE: no such name */

/* Which of a kernel's passes have the fault.  Bits: a table says which are to be tried. */
enum {
    FAULT_IN_BACKWARD = 1,      /* backward alone */
    FAULT_IN_FORWARD  = 2,      /* forward alone; backward computes what it needs anew */
    FAULT_IN_SAVED    = 4,      /* forward; backward is right, but for the values that the
                                   wrong forward left */
    FAULT_IN_BOTH     = 8,
    FAULT_IN_OUT      = 16,     /* attention's output; backward is right but for the row sum,
                                   which it makes of that output */
    /* Of an attention that keeps no probabilities but lse, the log of each row's sum of
     * exp(s): its backward pass computes exp(s - lse), and the row sum is do . o. */
    FAULT_IN_BACKWARD_LSE = 32, /* backward, with a right lse and a right output */
    FAULT_IN_OUT_LSE  = 64,     /* forward; backward is right but for lse and output */
    FAULT_IN_BOTH_LSE = 128,
    FAULT_IN_LAST     = FAULT_IN_BOTH_LSE
};

typedef enum fault_rule {
    /* any node: its contributions to `slots` */
    RULE_SCALE,                 /* times `value` */
    RULE_ASSIGN,                /* assigned: what was there is lost */
    RULE_ROUND,                 /* rounded to precision `number` */
    RULE_KEEP,                  /* only some of its elements: `keep` of `axis` */
    RULE_KEEP_ROWS,             /* only from some rows of the output: likewise */
    RULE_MOVE,                  /* each element to another place: `move` of `axis` */
    RULE_MOVE_ROWS,             /* from other rows of the output */
    RULE_EXCHANGE,              /* that to `slot` with that to slot `number` */
    /* any node: what it reads and writes */
    RULE_READ_MOVED,            /* reads input `slot` at other places; `back`: and writes
                                   its gradient there, too */
    RULE_READ_MOVED_TWO,        /* so does the next input (keys and values) */
    RULE_READ_OTHER,            /* reads tensor `number` in place of input `slot`; `back`:
                                   and makes its stages (mean, rstd) from it, too */
    RULE_READ_SCALED,           /* reads input `slot` times `value` */
    RULE_READ_EXCHANGED,        /* reads inputs `slot` and `number` in each other's place */
    RULE_OUT_MOVED,             /* forward: writes its output to other places */
    RULE_OUT_KEEP,              /* forward: writes some rows only, 0 elsewhere */
    RULE_OUT_SCALE,             /* its output times `value` */

    RULE_FIRST_OF_NODES,        /* from here on: of one kind of node, see fault_table */
    RULE_ATT_SCALE_DQ = RULE_FIRST_OF_NODES, RULE_ATT_SCALE_DK, RULE_ATT_SCALE_BOTH,
    RULE_ATT_SCALE, RULE_ATT_SCALE_TWICE, RULE_ATT_SCALE_HS, RULE_ATT_SCALE_C,
    RULE_ATT_SCALE_TWICE_DQ, RULE_ATT_SCALE_TWICE_DK, RULE_ATT_SCALE_TWICE_BOTH,
    RULE_ATT_SCALE_C_BOTH,
    RULE_ATT_NO_ROW_SUM, RULE_ATT_ROW_SUM_QUERIES, RULE_ATT_ROW_SUM_PLAIN,
    RULE_ATT_ROW_SUM_MEAN, RULE_ATT_ROW_SUM_CHANNELS, RULE_ATT_ROW_SUM_DOUT,
    RULE_ATT_ROW_SUM_SQUARES, RULE_ATT_NO_SOFTMAX_BACKWARD, RULE_ATT_DIAGONAL, RULE_ATT_RESCORED,
    RULE_ATT_RESCORED_LSE,
    RULE_ATT_ONE_MORE, RULE_ATT_ONE_FEWER, RULE_ATT_NO_MASK, RULE_ATT_NO_CAUSAL, RULE_ATT_CAUSAL_ONLY,
    RULE_ATT_TOP_LEFT, RULE_ATT_MASK_TRANSPOSED, RULE_ATT_UNDERFLOW, RULE_ATT_MASK_INVERTED, RULE_ATT_FIRST_KEY_LEAKS,
    RULE_ATT_TILE_LEAK, RULE_ATT_WINDOW, RULE_ATT_NOT_FIRST_KEY,
    RULE_ATT_MASK_AFTER, RULE_ATT_MASK_AFTER_RENORMED,
    RULE_ATT_MASK_MINUS, RULE_ATT_MASK_ADD, RULE_ATT_MASK_ZERO,
    RULE_ATT_EMPTY_NAN, RULE_ATT_EMPTY_MEAN, RULE_ATT_EMPTY_ALL,
    RULE_ATT_DV_SCORES, RULE_ATT_DV_SCALED, RULE_ATT_DV_DS, RULE_ATT_DV_DA,
    RULE_ATT_NO_SUM, RULE_ATT_EXP2, RULE_ATT_KEYS_TWICE, RULE_ATT_ROW_SUM_PLUS, RULE_ATT_ROW_SUM_OTHER_ROW,
    RULE_ATT_DS_NO_A, RULE_ATT_DQ_EACH_TILE, RULE_ATT_DQ_READS_K_OF_QUERY,
    RULE_ATT_LSE_NO_SUM, RULE_ATT_LSE_OTHER_ROW, RULE_ATT_LSE_TRANSPOSED,
    RULE_ATT_LAYOUT, RULE_ATT_KEY_STRIDE, RULE_ATT_DV_TRANSPOSED, RULE_ATT_DS_TRANSPOSED,
    RULE_ATT_DQ_READS_Q, RULE_ATT_DK_READS_K, RULE_ATT_DQ_READS_OWN_Q, RULE_ATT_DK_READS_OWN_K,
    RULE_ATT_DQ_READS_V, RULE_ATT_DK_READS_V, RULE_ATT_DA_READS_K,
    RULE_ATT_KEY_TAIL, RULE_ATT_NOT_LAST_KEY, RULE_ATT_NO_MAX, RULE_ATT_NO_RESCALE, RULE_ATT_NO_RESCALE_SUM,
    RULE_ATT_LSE_NO_MAX, RULE_ATT_MAX_FROM_ZERO,
    RULE_ATT_ASSIGN_DQ, RULE_ATT_ASSIGN_DK, RULE_ATT_ASSIGN_DV, RULE_ATT_SCALE_VALUE, RULE_ATT_ROW_SUM_OF_OUT,
    RULE_SOFT_NO_ROW_SUM, RULE_SOFT_ROW_SUM_COLUMNS, RULE_SOFT_ROW_SUM_PLAIN,
    RULE_SOFT_ROW_SUM_MEAN, RULE_SOFT_ROW_SUM_UNSCALED, RULE_SOFT_NO_MAX, RULE_SOFT_NO_RESCALE, RULE_SOFT_NO_SUM, RULE_SOFT_DIAGONAL, RULE_SOFT_COLUMNS,
    RULE_LN_NO_GAIN, RULE_LN_NO_GAIN_DY, RULE_LN_NO_GAIN_MEANS, RULE_LN_GAIN_SHIFTED, RULE_LN_NO_GAIN_FORWARD, RULE_LN_NO_BIAS, RULE_LN_NO_EPS, RULE_LN_EPS_OUTSIDE, RULE_LN_EPS,
    RULE_LN_UNBIASED, RULE_LN_NO_MEAN, RULE_LN_NO_VAR, RULE_LN_NO_MEAN_NO_VAR,
    RULE_LN_MEAN_SIGN, RULE_LN_VAR_SIGN, RULE_LN_MEAN_SUM, RULE_LN_VAR_SUM, RULE_LN_SUMS,
    RULE_LN_VARIANCE_SUM, RULE_LN_NO_RSTD, RULE_LN_RSTD_TWICE, RULE_LN_GAIN_TWICE, RULE_LN_DW_NO_XHAT,
    RULE_LN_DW_NO_RSTD, RULE_LN_NOT_CENTRED, RULE_LN_MEAN_LEFT, RULE_LN_FIRST_ROW, RULE_LN_RSTD_TIMES,
    RULE_GELU_ERF, RULE_GELU_SIGMOID, RULE_GELU_K0, RULE_GELU_K1, RULE_GELU_NO_SECOND,
    RULE_GELU_NO_THREE, RULE_GELU_NO_DZ, RULE_GELU_NO_X, RULE_GELU_NOT_SQUARED, RULE_GELU_NO_TWO,
    RULE_LINEAR_W_MISREAD, RULE_LINEAR_DX_MISREAD, RULE_LINEAR_NO_BIAS,
    RULE_CE_NO_ONEHOT, RULE_CE_NO_ONEHOT_LAST, RULE_CE_NO_ONEHOT_LAST_POSITION,
    RULE_CE_NO_ONEHOT_FIRST, RULE_CE_ONEHOT_ONLY, RULE_CE_TEMPERATURE_LEFT,
    RULE_CE_TEMPERATURE_TWICE, RULE_CE_TEMPERATURE_NOT_IN_P, RULE_CE_NO_TEMPERATURE,
    RULE_CE_TEMPERATURE_TIMES,
    RULE_CE_IGNORED, RULE_CE_IGNORED_CLASS_0, RULE_CE_IGNORED_LAST_CLASS,
    RULE_CE_TARGET_NEXT, RULE_CE_TARGET_PREVIOUS, RULE_CE_NO_MAX, RULE_CE_NO_DLOSS,
    RULE_EMBED_ASSIGN, RULE_EMBED_ASSIGN_ALL, RULE_EMBED_TOKEN_NEXT, RULE_EMBED_TOKEN_PREVIOUS,
    RULE_COUNT
} fault_rule;

/* Which indices of an axis. */
typedef enum fault_keep {
    KEEP_NOT_LAST, KEEP_NOT_FIRST, KEEP_FIRST, KEEP_LAST,
    KEEP_TILES,                 /* whole tiles of `number` */
    KEEP_ONE_TILE,              /* the first `number` */
    KEEP_LAST_TILE,             /* the last tile of `number`, whole or not */
    KEEP_COUNT
} fault_keep;

/* From where an index of an axis is taken. */
typedef enum fault_move {
    MOVE_REVERSE, MOVE_NEXT, MOVE_PREVIOUS,     /* a missing neighbour: 0 */
    MOVE_NEXT_ROUND, MOVE_PREVIOUS_ROUND,       /* round the end */
    MOVE_NEXT_HELD, MOVE_PREVIOUS_HELD,         /* the end takes its own, too */
    MOVE_FIRST,                                 /* all take the first one's */
    MOVE_Q_K, MOVE_K_V, MOVE_Q_V,               /* thirds of the columns are exchanged */
    MOVE_SWAP, MOVE_SWAP_BACK,                  /* written with this axis and the next exchanged */
    MOVE_COUNT
} fault_move;

enum { FAULT_AXIS_ROWS = GRAPH_RANK };          /* all axes but the last, as one */

typedef struct fault {
    fault_rule rule;
    int    slot, axis, number;
    unsigned slots;             /* bits */
    bool   assign;              /* of RULE_KEEP_ROWS: what was there is lost */
    bool   of_lse;              /* backward computes exp(s - lse) ... */
    fault_rule lse;             /* ... with the lse of a forward pass with this rule */
    bool   back;                /* of RULE_READ_... */
    fault_keep keep;
    fault_move move;
    double value;
} fault;

/* Of a rule of one kind of node. */
typedef struct fault_info {
    fault_kind  kind;
    graph_kind  node;
    int         passes;         /* bits to try */
    const char *sentence;       /* with %s for "in the backward pass" and the like, once */
    const char *hint;
} fault_info;

/* NULL below RULE_FIRST_OF_NODES. */
const fault_info *fault_table(fault_rule rule);

/* Five blocks of graph.reals numbers each and 128 more, and the precision that is imitated where a sum
 * can overflow or underflow. */
typedef struct fault_work {
    double *scratch;
    double  most, least;        /* the largest and the smallest positive number */
} fault_work;

double fault_largest(precision p);
double fault_smallest(precision p);

/* As graph_node_forward_f64 and graph_node_backward_f64, with the fault. */
void fault_forward(const fault *f, const graph *g, const graph_node *n, double *x,
                   const int *ints, const fault_work *w);
void fault_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                    const double *x, const int *ints, const fault_work *w);

/* false: the parameters do not fit the node's tensors, or change nothing. */
bool fault_fits(const fault *f, const graph *g, const graph_node *n);

/* The parts, by file: rules of attention, of the other nodes, of any. */
void fault_attention_forward(const fault *f, const graph *g, const graph_node *n, double *x,
                             const int *ints, const fault_work *w);
void fault_attention_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                              const double *x, const int *ints, const fault_work *w);
/* Of RULE_ATT_LAYOUT and RULE_ATT_KEY_STRIDE. */
void fault_elsewhere_forward(const fault *f, const graph *g, const graph_node *n, double *x,
                             const int *ints, const fault_work *w);
void fault_elsewhere_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                              const double *x, const int *ints, const fault_work *w);
void fault_node_forward(const fault *f, const graph *g, const graph_node *n, double *x,
                        const int *ints, const fault_work *w);
void fault_node_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                         const double *x, const int *ints, const fault_work *w);

/* out = the tensor's elements, kept or moved; `out` is not `in`. */
void fault_keep_elements(double *out, const double *in, const graph_tensor *t, const fault *f);
/* The adjoint of a move: adds each element where it was taken from. */
void fault_move_back(double *out, const double *in, const graph_tensor *t, const fault *f);
void fault_move_elements(double *out, const double *in, const graph_tensor *t, const fault *f);
/* Length of an axis, and elements in front of the next index. */
void fault_axis(const graph_tensor *t, int axis, size_t *length, size_t *inner);

#endif

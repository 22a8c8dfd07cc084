/* evaluate.h -- the loss of a model on tokens that it did not learn from.
 *
 *   windows start at 0, stride, 2 stride ...; window w reads seq tokens from w stride
 *   on, or those that are left, and predicts the token behind each;
 *   of its targets those count that no earlier window predicted.
 *
 * So every token but the first is predicted once.  With stride = seq windows lie side
 * by side, as in training, and a window's first target is predicted from one token;
 * with a smaller stride every target beyond the first window has at least seq - stride
 * tokens before it, and the model is run seq / stride times as often.
 *
 * The order of windows is fixed, sums are in double: the same bits with any number of
 * threads.
 */
#ifndef EVALUATE_H
#define EVALUATE_H

#include "model/gpt.h"
#include "vitrine.h"

typedef struct evaluate_case {
    const gpt_config *z;
    const float *params;
    const ops   *kernels;
    int          threads;
    const int   *ids;               /* n of them, at least 2; each 0 .. V-1 */
    size_t       n, seq, stride;
    bool         whole;             /* only windows of seq tokens: the end is left out */
} evaluate_case;

typedef struct evaluate_result {
    size_t windows;
    size_t predicted;               /* the tokens 1 .. predicted */
    double nats;                    /* summed over them */
} evaluate_result;

/* VT_TOO_LARGE, VT_NAN; VT_INTERRUPTED where progress (may be NULL) says so. */
VT_MUST_CHECK vt_status evaluate_tokens(evaluate_result *out, const evaluate_case *c,
                                        vt_evaluate_progress *progress, void *context,
                                        vt_error *err);

#endif

/* degenerate.h -- a model or a window that cannot tell right from wrong, and a second
 * point that can.
 *
 *     all gains 1, all biases 0    a fresh model: the gradients of layer norms and the
 *                                  paths through biases are seen at one special value
 *     a constant tensor            rows, columns, heads exchanged make no difference
 *     T = 1                        attention has one key: its weight is 1, whatever the
 *                                  scores
 *     no token occurs twice        the sum over a token's positions is not seen
 *
 * The second point has normal numbers added to every constant tensor, at least two
 * positions where the model has them, and a repeated token where there is room for one.
 */
#ifndef DEGENERATE_H
#define DEGENERATE_H

#include "verify/model/gradcheck.h"

typedef struct second_point {
    gradcheck_case c;           /* its params, tokens and targets are below */
    bool   wanted;              /* the first point is degenerate, and this is not the same */
    float *params;
    int   *tokens, *targets;
} second_point;

/* Looks at the case, says in report->notes what it saw and what is done about it, and
 * makes the second point.  Free it either way. */
VT_MUST_CHECK vt_status second_point_make(second_point *p, vt_check_report *report,
                                          const gradcheck_case *c, uint64_t seed, vt_error *err);
void second_point_free(second_point *p);

#endif

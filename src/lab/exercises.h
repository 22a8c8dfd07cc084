/* exercises.h -- the exercises of the code lab, as the grader knows them.
 *
 * An exercise is one or two functions that a learner writes (exercises/NAME.c), on plain
 * arrays of double.  Each is a pass of an operator that the verification engine has as a
 * graph (verify/graph/graph.h): here stands which of the graph's tensors the function is handed
 * under which name, and how it is called.
 */
#ifndef EXERCISES_H
#define EXERCISES_H

#include "verify/graph/graph.h"
#include "verify/host/kernel_host.h"

enum { EXERCISE_TENSORS = 12, EXERCISE_FUNCTIONS = 2, EXERCISE_CASES = 7 };

/* A tensor under the learner's name.  `axes`: a letter for each index, outermost first:
 * N row, T token, S key, H head, D column of the head, C channel, V class; "" is one
 * number.  `graph`: its name there.  `gradient`: "dX", where backward adds to it; of what
 * a backward function has in `out`, the upstream gradient that it is given. */
typedef struct exercise_tensor {
    const char *name, *graph, *axes, *gradient;
    const char *slip;           /* what to look at where it alone is wrong */
} exercise_tensor;

typedef struct exercise_function {
    const char     *name;       /* the symbol */
    int             pass;       /* VT_KERNEL_FORWARD, VT_KERNEL_BACKWARD */
    kernel_adapter *call;       /* from in, out (forward) or dout (backward), din */
    /* in the order in which what is wrong is told; of backward, gradients nearest to the
     * loss first */
    exercise_tensor in[EXERCISE_TENSORS], out[EXERCISE_TENSORS];
} exercise_function;            /* lists end with a name of NULL */

typedef struct exercise_sizes {
    int    N, T, S, H, D, C, V;
    double scale, temperature;      /* of the data; 0: 1 */
} exercise_sizes;

typedef struct exercise {
    const vt_exercise *shown;   /* name, title, hints: vitrine.h */
    int         op;             /* enum vt_kernel_op */
    bool        causal;
    const char *sizes;          /* what the learner calls them, with their letters: "T T, vocab V" */
    exercise_function function[EXERCISE_FUNCTIONS];
    exercise_sizes cases[EXERCISE_CASES];       /* the first: all sizes differ; ends with T or N 0 */
} exercise;

enum { EXERCISES = 7 };

const exercise *exercise_at(size_t i);
/* The size that a letter stands for. */
int exercise_size(const graph_sizes *z, char letter);

/* exercise_text.c: names and hints. */
extern const vt_exercise exercise_texts[EXERCISES];

/* exercise_calls.c: the functions as they are declared in exercises/. */
kernel_adapter exercise_call_forward, exercise_call_softmax, exercise_call_backward,
    exercise_call_heads_forward, exercise_call_heads_backward, exercise_call_loss_forward,
    exercise_call_loss_backward, exercise_call_causal_forward, exercise_call_causal_backward,
    exercise_call_layernorm;

#endif

/* gradcheck.h -- the gradient of a whole model, proven by complex step.
 *
 * f(p) = sum_n weight[n] loss[n](p) over one window of tokens.  For an entry i,
 *
 *     df/dp_i = Im f(p + i h e_i) / h,   h = 1e-30              (diff.complex)
 *
 * has no subtraction and so no cancellation: it is right to rounding (Squire,
 * Trapp, "Using complex variables to estimate derivatives of real functions",
 * 1998).  It is compared with the hand-written backward of the definitions in
 * double, along one random direction over all parameters and entry by entry;
 * and the fast kernels' gradient is compared with the definitions'.
 *
 * Bounds.  How far rounding takes a gradient depends on the model (a layer norm
 * over two channels cancels nearly all of it), so it is measured: r, of each
 * tensor, is the largest difference of the definitions' float gradient from the
 * double one, at the parameters and at four points an ulp around them, but no
 * more than the tensor's largest gradient g; plus what moving lse by an ulp of a
 * float does to the double one.  With e = 2^-53, f = 2^-24:
 *
 *     definitions   64 (r e/f + e g)          rounding is r scaled from f to e;
 *                                             8 for one sample beyond the largest
 *                                             of five, times 8: two computations,
 *                                             one of them of complex products,
 *                                             and what saturates in float (a tanh
 *                                             of 1) shows no rounding there
 *     fast          8 (r + f g (1 + s))       s the largest scaled score: the fast
 *                                             attention computes exp(score - lse)
 *                                             again, and rounds by f s
 *     direction     sqrt(sum of squares) of the definitions' bounds, signs being
 *                   random; of all parameters, and of each tensor
 *
 *     differences   their own bar (differences.h) and the definitions' bound; the
 *                   noise of f, 8 times the largest difference of the float f from
 *                   the double one, scaled from f to e, and 4 e of its terms
 *
 * For a usual model the first is about 1e-14 of g.  A NaN, or a bound that is
 * none, fails.
 *
 * Where each thing is: gradcheck_gradients.c the gradients that are judged and what
 * rounding does to them; gradcheck_probes.c the derivatives they are compared with,
 * gradcheck_chain.c those of many entries; gradcheck_judge.c the comparison; adjoint.h the layers; exact.h what must be equal
 * bit for bit; degenerate.h what makes a check blind; model_diagnose.h which fault
 * explains a gradient that fails.
 */
#ifndef GRADCHECK_H
#define GRADCHECK_H

#include "model/gpt.h"
#include "vitrine.h"

typedef struct gradcheck_case {
    const gpt_config *z;
    const gpt_tensor *tensors;
    size_t ntensors;
    const float *params;
    const int *tokens, *targets;    /* (B, T) */
    int B, T;
    const ops *kernels;             /* fast kernels to compare */
    int threads;
} gradcheck_case;

/* The hand-written gradients of a case, each laid out like the parameters. */
typedef struct gradcheck_grads {
    double *weight;                 /* (B, T): of each row's loss, a float's value */
    double *hand;                   /* the definitions in double */
    float  *fast;                   /* the fast kernels */
    double *rounding, *shaken;      /* (ntensors): the parts of r, see above */
    double *losses;                 /* (B, T): each row's, the definitions in double */
    double  score;                  /* s */
    double  loss;                   /* mean over the window */
    double  f, noise;               /* f of the window in double, and its error */
} gradcheck_grads;

/* VT_BAD_INPUT where a token or target is outside the vocabulary. */
VT_MUST_CHECK vt_status gradcheck_check_ids(const gradcheck_case *c, vt_error *err);
/* Likewise. */
VT_MUST_CHECK vt_status gradcheck_compute(gradcheck_grads *g, const gradcheck_case *c,
                                          uint64_t seed, vt_error *err);
void gradcheck_free(gradcheck_grads *g);

/* The largest gradient of a tensor, and its bounds as they are derived above. */
typedef struct gradcheck_bounds { double definitions, fast, largest; } gradcheck_bounds;
gradcheck_bounds gradcheck_bounds_of(const gradcheck_case *c, const gradcheck_grads *g,
                                     size_t tensor);
/* 64 (r e/f + e g), see above. */
double gradcheck_bound(double rounding, double largest);

/* Compares them with complex step and differences, and the float ones with the double
 * one.  A table of tensors that is not gpt_tensor_list()'s, or an upstream gradient
 * (weights) that is the same for every row, is VT_CHECK_FAILED: nothing is proven. */
VT_MUST_CHECK vt_status gradcheck_judge(vt_check_report *report, const gradcheck_case *c,
                                        const gradcheck_grads *g, const vt_check_options *o,
                                        vt_check_progress *progress, void *context,
                                        vt_error *err);

/* All of it: both, the adjoint identity of each part, what is exact, and a second
 * point where this one is degenerate.  Fills the report (allocated: vt_check_free).
 * VT_OK or VT_CHECK_FAILED, with one line that names the failing tensor that the
 * backward pass meets first. */
VT_MUST_CHECK vt_status gradcheck_run(vt_check_report *report, const gradcheck_case *c,
                                      const vt_check_options *o, vt_check_progress *progress,
                                      void *context, vt_error *err);

/* error / bound, where 0 / 0 is a pass (0); NaN, and a bound that is none, are not:
 * infinity. */
double gradcheck_share(double error, double bound);
/* Of the sizes of n numbers; NaN where one is NaN. */
double gradcheck_largest(const double *x, size_t n);
/* Takes what is larger, but keeps a NaN. */
void gradcheck_raise(double *largest, double x);
/* A block for activations, whose size may be SIZE_MAX (it overflows); NULL without
 * memory. */
void *gradcheck_acts(size_t bytes);

/* A sum that keeps what rounding takes from it (Kahan 1965, Neumaier 1974): it is
 * sum + lost. */
typedef struct exact_sum { double sum, lost; } exact_sum;
void exact_add(exact_sum *s, double x);

/* One more line of report->notes, if there is room. */
VT_PRINTF(2, 3)
void gradcheck_note(vt_check_report *report, const char *format, ...);

#define GRADCHECK_EPS64 1.1102230246251565e-16  /* 2^-53: one rounding in double */
#define GRADCHECK_EPS32 5.9604644775390625e-08  /* 2^-24 */
enum { GRADCHECK_NEIGHBOURS = 4 };      /* points around one, where rounding is measured */

#endif

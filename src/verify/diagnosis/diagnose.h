/* diagnose.h -- what kind of fault explains what a kernel computed.
 *
 * Each hypothesis (a node or all nodes alike, a fault of faults.h) predicts every
 * output and gradient of the case.  A hypothesis explains when all that was found
 * agrees with it to rounding, what is wrong and what is right; so a diagnosis is
 * not a guess from a ratio but a wrong kernel that was run.  Parameters (a factor,
 * a constant) are estimated by least squares and then held to the same agreement.
 * Where none explains all, patterns of single tensors are told, and last where the
 * wrong entries lie.
 *
 * A case with two faults at once is told as unknown, or by one of the two where they
 * lie in different tensors.
 */
#ifndef DIAGNOSE_H
#define DIAGNOSE_H

#include "verify/diagnosis/faults.h"

typedef struct diagnosis {
    fault_kind kind;            /* FAULT_NONE: all is within its bounds */
    fault_kind other;           /* a second kind that explains equally; or FAULT_NONE */
    int  failing, explained;    /* tensors */
    int  node;                  /* of the graph; -1: none in particular */
    /* The failing tensor nearest to the loss (outputs first), -1: none. */
    int    tensor;
    bool   gradient;            /* it is a gradient */
    size_t wrong;               /* its elements beyond their bound */
    size_t first, worst;        /* elements: the first, and the one farthest beyond */
    double expected, found, ratio;      /* of the worst, `start` not counted */
    char sentence[300];         /* "1/sqrt(HS) is missing on dq, in the backward pass" */
    char hint[240];
    char location[240];         /* "all 6 wrong entries of dk lie in head 1, key 5" */
} diagnosis;

/* Compares, and explains what is beyond its bound.  VT_TOO_LARGE without memory. */
VT_MUST_CHECK vt_status diagnose(diagnosis *out, const op_case *c, const op_found *f,
                                 vt_error *err);

/* Which of n diagnoses of one kernel, of as many failing cases, is to be told: of the kind
 * that explains most of them.  At small sizes faults look alike (of three columns, all
 * lie behind the last whole tile of four: "not written"), so where as many cases say so,
 * zero, one_entry, not_finite and unknown give way.  0 where n is 0. */
size_t diagnose_choose(const diagnosis *d, size_t n);

/* Why a comparison may say nothing about a kernel: the check is at fault. */
typedef enum check_fault {
    CHECK_FINE,
    CHECK_NO_RESOLUTION,        /* the bound is above the values: a correct kernel's rounding
                                   may be as large as they are */
    CHECK_OUT_OF_DOMAIN,        /* the definitions give NaN or Inf, or more than the
                                   precision holds */
    CHECK_NOT_SMOOTH            /* differences.h: no derivative to compare with */
} check_fault;

/* Of a tensor's values or gradient; `why`, one line, "" where it is fine. */
check_fault diagnose_check(const op_case *c, int tensor, bool gradient, char *why, size_t size);
const char *check_fault_name(check_fault f);        /* "no_resolution" */

#endif

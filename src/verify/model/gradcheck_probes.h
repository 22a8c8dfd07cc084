/* gradcheck_probes.h -- derivatives of chosen entries of a model's parameters, which
 * gradcheck_judge.c compares with the hand-written gradient.
 */
#ifndef GRADCHECK_PROBES_H
#define GRADCHECK_PROBES_H

#include <stdatomic.h>
#include "verify/model/check_passes.h"
#include "verify/differences.h"
#include "verify/model/gradcheck.h"

/* One entry to differentiate. */
typedef struct probe {
    size_t at;                      /* in the block of parameters */
    size_t tensor;                  /* it belongs to */
    int    part;                    /* where a run starts: see gpt_decl.h */
    double scale;                   /* over which the loss varies: its tensor's size */
    double step;                    /* the complex step derivative */
    differences differences;        /* where it is one of the few */
} probe;

typedef struct probes {
    const gradcheck_case *c;
    const gradcheck_grads *g;       /* what is judged */
    const double *direction;        /* of all parameters */
    double *along;                  /* (tensors): the derivative along its part of it */
    probe  *at;                     /* n of them, last tensor first */
    size_t  n;
    size_t *few;                    /* nfew indices into `at`: also by differences */
    size_t  nfew;
    check_model_c128 *stepped;      /* nworkers of each */
    check_model_f64  *real;
    int     nworkers;
    team   *crew;
    bool    full;                   /* each entry by a run of all above its part */
    atomic_size_t done;
    atomic_bool stop;
    vt_check_progress *progress;
    void   *context;
} probes;

/* The workers' models; VT_TOO_LARGE.  To be freed either way. */
VT_MUST_CHECK vt_status probes_new(probes *w, vt_error *err);
void probes_free(probes *w);

/* The derivative along w->direction; and of each tensor's part of it, into w->along. */
double probes_direction(probes *w);
void probes_directions(probes *w);
/* Fills `step` of all and `differences` of the few.  VT_INTERRUPTED. */
VT_MUST_CHECK vt_status probes_run(probes *w, vt_error *err);
/* Where a run begins that moves this tensor: see gpt_decl.h. */
int probes_part(const gradcheck_case *c, size_t tensor);
/* One more is done: tells so.  Of the worker that did it. */
void probes_done(probes *w, int worker);
/* The derivative at p in _Float128; NaN where the build has none. */
VT_MUST_CHECK vt_status probes_arbitrate(const probes *w, const probe *p, double *value,
                                         vt_error *err);

#endif

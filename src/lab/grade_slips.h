/* grade_slips.h -- mistakes of one line that learners make and kernels do not. */
#ifndef GRADE_SLIPS_H
#define GRADE_SLIPS_H

#include "lab/grade_trial.h"
#include "verify/diagnosis/faults.h"

typedef struct grade_slip {
    fault_kind  kind;
    char        what[200];      /* in the learner's names */
    const char *hint;           /* NULL: what the line computes does */
} grade_slip;

/* Whether what was found of the tensor is just what such a mistake gives.  `first` is the
 * first wrong tensor of the call. */
bool grade_slip_of(const grading *g, const trial *t, const exercise_tensor *first,
                   grade_slip *out);

/* Whether the first half of the tensor's memory was written and the other half was not:
 * so a function writes that takes its arrays for float. */
bool grade_half_written(const grading *g, const trial *t, const exercise_tensor *first);

#endif

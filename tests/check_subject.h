/* check_subject.h -- a random model to be checked: its window and its gradients.
 */
#ifndef CHECK_SUBJECT_H
#define CHECK_SUBJECT_H

#include "support.h"
#include "verify/model/gradcheck.h"

typedef struct subject {
    gpt_config z;
    gpt_tensor *tensors;
    float *params;
    int *tokens, *targets;
    gradcheck_case c;
    gradcheck_grads g;
} subject;

/* Parameters scale * normal; scale 0: as "xavier" starts, below 0: as "gpt2".  The
 * gradients are computed; 1 thread. */
void subject_make(subject *s, const gpt_config *z, int B, int T, double scale, uint64_t seed);
void subject_free(subject *s);

/* A tensor by name; fails the test where there is none.  `index` may be NULL. */
const gpt_tensor *subject_tensor(const subject *s, const char *name, size_t *index);
/* The entry (in all parameters) of a tensor whose gradient is largest. */
size_t subject_top(const subject *s, const gpt_tensor *t);

#endif

/* grade_trial.h -- one call of a learner's function: a case drawn, its tensors handed to
 * the child process, what came back.  Used by grade.c, which judges, and grade_explain.c.
 */
#ifndef GRADE_TRIAL_H
#define GRADE_TRIAL_H

#include "lab/exercises.h"
#include "verify/op/op_case.h"

typedef struct grading {
    const exercise *e;
    const exercise_function *f;
    size_t       symbol;            /* f's number in the host's list */
    kernel_host *host;
    uint64_t     seed;
    vt_grade_report *out;
} grading;

/* A case, and what the function made of it. */
typedef struct trial {
    op_case        c;
    op_found       found;
    kernel_outcome outcome;
} trial;

/* Cases of each function: the exercise's own, then two drawn from the seed. */
size_t trial_cases(const exercise *e);

/* Case i, nothing called yet.  Free it also where this fails. */
VT_MUST_CHECK vt_status trial_new(trial *t, const grading *g, size_t i, vt_error *err);
void trial_free(trial *t);

/* Calls the function: t->found, t->outcome.  Gradients start from t->c.start. */
VT_MUST_CHECK vt_status trial_call(const grading *g, trial *t, vt_error *err);

/* The graph's tensor; *number is its place there. */
const graph_tensor *trial_tensor(const op_case *c, const exercise_tensor *t, int *number);

/* What the function computes: the entries of this list that are results. */
const exercise_tensor *trial_results(const grading *g);
bool trial_is_result(const grading *g, const exercise_tensor *e);

/* What a tensor's element should be, is, and may be off by; of a gradient with what was
 * there before. */
double trial_expected(const grading *g, const trial *t, size_t at);
double trial_found(const grading *g, const trial *t, size_t at);
double trial_bound(const grading *g, const trial *t, size_t at);

/* src/lab/grade_explain.c: fills kind, what and hint of g->out, for the first wrong tensor. */
VT_MUST_CHECK vt_status grade_explain(const grading *g, size_t i, const trial *t,
                                      const exercise_tensor *first, vt_error *err);

#endif

/* grade_words.h -- what a grade says, in the learner's names. */
#ifndef GRADE_WORDS_H
#define GRADE_WORDS_H

#include "lab/exercises.h"
#include "verify/diagnosis/diagnose.h"

/* "T 5, C 6, D 3, vocab 7" */
void grade_sizes(char *out, size_t size, const exercise *e, const graph_sizes *z);
/* "[2][0]" */
void grade_index(char *out, size_t size, const char *axes, const graph_sizes *z, size_t element);

/* `text` with the graph's names of tensors and sizes replaced by the exercise's. */
void grade_say(char *out, size_t size, const char *text, const exercise *e,
               const exercise_function *f);

/* Only the size of a head, HS, becomes the exercise's word. */
void grade_size_words(char *out, size_t size, const char *text, const exercise *e);

/* What `kind` says of what `f` computed: what is wrong, and what is to be looked at; NULL:
 * the diagnosis's own words do. */
typedef struct grade_hint {
    fault_kind  kind;
    int         op, pass;       /* enum vt_kernel_op or -1; 0: both passes */
    const char *what, *text;
} grade_hint;

const grade_hint *grade_hint_of(const exercise *e, const exercise_function *f, fault_kind kind);

#endif

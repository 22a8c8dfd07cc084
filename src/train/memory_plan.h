/* memory_plan.h -- what a training takes of memory and of the disk, block by block.
 *
 * No second formula: each number comes from the function that sizes or lays out the
 * block when it is made (trainer_sizes, gpt_acts_place, team_bytes, arena_size).
 */
#ifndef MEMORY_PLAN_H
#define MEMORY_PLAN_H

#include "model/config.h"
#include "vitrine.h"

/* What is not in the options. */
typedef struct memory_plan_run {
    int    threads;
    size_t tokens;              /* of the corpus */
    size_t old_state;           /* bytes of the file that is resumed; 0: a new run */
} memory_plan_run;

/* The options were checked.  VT_TOO_LARGE where sizes overflow. */
VT_MUST_CHECK vt_status memory_plan(vt_memory *out, const vt_train_options *o,
                                    const gpt_config *z, const memory_plan_run *run,
                                    vt_error *err);

/* Of the disk, for a model of so many parameters, in bytes: what stays there, and what is
 * beside it while a state takes the old one's place.  The tokenizer and the log, which are
 * small, are not counted. */
void memory_plan_disk(size_t *stays, size_t *beside, size_t parameters);

#endif

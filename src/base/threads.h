/* threads.h -- a team of threads that shares out numbered tasks.
 *
 * Work is cut into tasks by its shape alone, never by the number of threads,
 * so that results have the same bits with any team.  A team of one, or NULL,
 * runs everything in the caller.
 */
#ifndef THREADS_H
#define THREADS_H

#include "base/status.h"

typedef struct team team;

/* Runs task number `i`; `worker` is 0 .. threads-1, for scratch memory. */
typedef void team_task(void *context, size_t i, int worker);

/* `worker_bytes` of scratch for each worker and `shared_bytes` for all. */
VT_MUST_CHECK vt_status team_new(team **out, int threads, size_t worker_bytes,
                                 size_t shared_bytes, vt_error *err);
void team_free(team *t);
/* Bytes that such a team's scratch takes; false where they overflow. */
VT_MUST_CHECK bool team_bytes(size_t *out, int threads, size_t worker_bytes,
                              size_t shared_bytes);

int    team_size(const team *t);
void  *team_scratch(team *t, int worker);   /* 64-byte aligned */
size_t team_scratch_bytes(const team *t);
void  *team_shared(team *t);
size_t team_shared_bytes(const team *t);

/* Runs tasks 0 .. n-1, each once, in any order on any worker; returns when all
 * are done.  Not re-entrant. */
void team_run(team *t, size_t n, team_task *task, void *context);

#endif

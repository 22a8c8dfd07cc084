/* export_job.h -- what the two exports of a window share: a model, a text, its tokens.
 *
 * vt_export writes a folder of a site (export_api.c), vt_window_write a file of its own
 * (window_api.c).
 */
#ifndef API_EXPORT_JOB_H
#define API_EXPORT_JOB_H

#include "api/model.h"
#include "model/gpt_window.h"

typedef struct export_job {
    vt_model   *m;
    char       *folder;             /* site/data/AS; NULL: of no site */
    int        *ids, *targets;
    const char *text;               /* the caller's, or our own */
    size_t      text_length, count; /* bytes, ids */
    bytes       own;
    gpt_window  w;
} export_job;

void export_job_end(export_job *j);         /* also of a zeroed one */

/* A checkpoint's derived files must be of the state that was read: VT_BAD_INPUT. */
VT_MUST_CHECK vt_status export_job_open(export_job *j, const char *folder, int threads,
                                        vt_error *err);

/* The first tokens of a text, at most `most` of them: *T, and of each its target, the
 * next one.  Of no text (NULL): the beginning of what the model was not trained on, which
 * its checkpoint keeps.  VT_BAD_INPUT: no UTF-8, or fewer than `least` tokens. */
VT_MUST_CHECK vt_status export_job_text(export_job *j, const char *text, size_t length,
                                        int most, size_t least, int *T, vt_error *err);

/* VT_INTERRUPTED where a signal asked to stop. */
VT_MUST_CHECK vt_status export_job_go_on(vt_error *err);

#endif

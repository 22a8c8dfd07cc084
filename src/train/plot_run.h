/* plot_run.h -- what a picture of a training needs: its metrics.jsonl, and of its
 * manifest.json the name of the preset, the vocabulary and what the best bigram model gets
 * on the validation part, where there is one.
 */
#ifndef PLOT_RUN_H
#define PLOT_RUN_H

#include "base/status.h"

typedef struct plot_run {
    char    name[256];              /* of the folder, and the preset */
    char    preset[32];             /* "": not known */
    char   *path;                   /* of the folder, without links, . and .. */
    double *step, *loss, *val, *lr; /* n each; val: NaN where not measured */
    size_t  n, cap;
    double  uniform;                /* ln V; NaN: not known */
    double  bigram, bigram_k;       /* loss of the best add-k bigram; NaN: not known */
} plot_run;

/* VT_BAD_INPUT names the line that is no such line, or whose step is not behind the one
 * before; where there is none.  A last line without its end is one being written: it is
 * left out.  Free with plot_run_free, also after a failure. */
VT_MUST_CHECK vt_status plot_run_read(plot_run *r, const char *folder, vt_error *err);
/* Names them by the last part of their paths, and by as many before it as tell the folders
 * apart; of a long name the middle is left out. */
VT_MUST_CHECK vt_status plot_run_names(plot_run *runs, size_t n, vt_error *err);
void plot_run_free(plot_run *r);

#endif

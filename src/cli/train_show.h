/* train_show.h -- how training is shown: a bar on a terminal, lines elsewhere,
 * the loss curve at the end.
 */
#ifndef TRAIN_SHOW_H
#define TRAIN_SHOW_H

#include <stdio.h>
#include "cli/cli.h"

typedef struct train_show {
    FILE  *out;
    bool   terminal, utf8;
    bool   bar;                 /* a bar stands on the current line */
    double drawn;               /* seconds of the run when it was last shown */
    double speed;               /* tokens per second, smoothed; 0: none yet */
    double val_loss;            /* last measured */
    double *loss, *val;         /* of each step of this run, for the curve */
    size_t n, cap;
    long long first;            /* step before this run's first */
} train_show;

void train_show_new(train_show *s, FILE *out);
void train_show_free(train_show *s);
void train_show_note(train_show *s, const char *line);
void train_show_start(train_show *s, const vt_train_start *start);
void train_show_step(train_show *s, const vt_train_step *step);
/* Ends the line of the bar, where there is one. */
void train_show_end(train_show *s);
/* The curve and what came of it. */
void train_show_result(train_show *s, const vt_train_result *r, const char *folder);

#endif

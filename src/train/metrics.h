/* metrics.h -- metrics.jsonl: one line of JSON a step.
 *
 *     {"step": 10, "loss": 5.1, "val_loss": null, "lr": 0.001,
 *      "grad_norm": 1.2, "tokens_per_s": 21000, "steps": 2000}     (on one line)
 *
 * "steps" is how many the run is to have: who watches it knows how far it is before
 * the first save.
 * It is a log and never hashed; resume cuts it back to the checkpoint's step.
 */
#ifndef METRICS_H
#define METRICS_H

#include "base/io.h"

#define METRICS_NAME "metrics.jsonl"

typedef struct metrics {
    int   file;                 /* -1: closed */
    char *path;
    bytes line;
    size_t kept;                /* lines that were there already */
} metrics;

/* Opens `path` for appending after the lines of steps 1 .. step; later lines
 * and a torn last one are cut off.  step 0 starts an empty file. */
VT_MUST_CHECK vt_status metrics_open(metrics *m, const char *path, long long step, vt_error *err);
VT_MUST_CHECK vt_status metrics_write(metrics *m, const vt_train_step *s, vt_error *err);
void metrics_close(metrics *m);

#endif

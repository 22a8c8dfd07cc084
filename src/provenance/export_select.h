/* export_select.h -- which tensors of a window (model/gpt_window.h) go into a file.
 *
 * A choice narrows by the pass, by layer, by head and by names.  What is chosen is a
 * list before anything is computed, so that its size can be said and refused; when the
 * window has run, export_select_finish() makes the numbers what the list says, where they
 * lie: the window's own memory is the file's, and none is taken beside it.
 */
#ifndef EXPORT_SELECT_H
#define EXPORT_SELECT_H

#include "model/gpt_window.h"

typedef struct export_choice {
    const char *what;           /* "forward", "backward", "all"; NULL: forward, or, with
                                   `tensors`, all */
    const char *tensors;        /* names or patterns, with commas between; NULL: all */
    int  layer, head;           /* below 0: all */
    bool single;                /* float32 instead of float64 */
} export_choice;

typedef struct export_tensor {
    const char *name;
    int    layer, head;         /* -1: it is of none; head: only where one was chosen */
    size_t rank, shape[GPT_WINDOW_RANK], count;
    void  *data;                /* doubles; floats where the choice is `single` */
} export_tensor;

typedef struct export_set {
    export_tensor *at;          /* in the window's order */
    size_t count, numbers;      /* numbers: of all of them */
    bool   backward;            /* one is of the backward pass */
    bool   single;
} export_set;

/* VT_USAGE: a layer, head or name that the model has not, or nothing is left. */
VT_MUST_CHECK vt_status export_select(export_set *out, const gpt_window *w,
                                      const export_choice *choice, vt_error *err);
/* After the window ran, once: the window is of no other use then. */
void export_select_finish(export_set *set, const gpt_window *w);
void export_select_free(export_set *set);       /* also of a zeroed one */

#endif

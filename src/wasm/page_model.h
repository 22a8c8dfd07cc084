/* page_model.h -- a model that the page has opened: what model_exports.c and
 * generate_exports.c share. */
#ifndef PAGE_MODEL_H
#define PAGE_MODEL_H

#include "model/gpt_window.h"
#include "verify/model/check_passes.h"

typedef struct page_model {
    gpt_config  z;
    gpt_tensor *tensors;                /* ntensors */
    float      *params;                 /* count */
    size_t      ntensors, count;
    bool        ran;                    /* the rest is of one window */
    gpt_window  window;
    int        *ids;                    /* its ids, then its targets */
    double     *weight;                 /* of each row's loss; NULL: nothing has moved yet */
    gradcheck_case moving;
    check_model_f64  moved;
    check_model_c128 complex_moved;
} page_model;

#endif

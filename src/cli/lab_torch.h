/* lab_torch.h -- the lab's numbers once more, by PyTorch's automatic differentiation
 * in float64, in a Python interpreter of the system's. */
#ifndef LAB_TORCH_H
#define LAB_TORCH_H

#include "vitrine.h"

typedef struct lab_torch {
    char   version[40];                 /* "1.13.1" */
    vt_lab_comparison against;
} lab_torch;

/* Runs `python` (a program's path or name) and compares.  VT_IO as python_run, or where the
 * answer is no gradient; VT_CHECK_FAILED as vt_lab_compare. */
VT_MUST_CHECK vt_status lab_torch_run(lab_torch *out, const char *python, const vt_lab_report *r,
                                      vt_error *err);

#endif

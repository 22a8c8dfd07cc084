/* check_torch.h -- vitrine check --torch: the fourth verdict, by PyTorch's automatic
 * differentiation in float64, in a Python interpreter of the system's.
 *
 * The library writes a case, its gradients among its tensors (vt_check_write, vt_op_write);
 * torch_ops.py computes them again from the inputs; here they are compared.  An element may
 * differ by 1e-12 of the largest of its tensor.  Beyond that the tensor is said to cancel,
 * and passes, where rounding alone explains it: a gradient that is 0 by algebra (of LayerNorm
 * over one channel, of the keys' bias) is nothing but rounding.
 */
#ifndef CHECK_TORCH_H
#define CHECK_TORCH_H

#include "cli/cli.h"
#include "cli/junit.h"

#define CHECK_TORCH_BOUND 1e-12

typedef struct torch_row {
    char   name[72];                    /* "dq": of a case's tensors */
    size_t number;                      /* the case, from 1 */
    size_t compared, of;
    double difference;                  /* largest |found - expected|; NaN where one is */
    double relative;                    /* to the tensor's largest entry; 0 / 0 is 0 */
    double bound;                       /* of the difference */
    bool   cancels;                     /* it is beyond 1e-12 of the largest, and within
                                           what rounding may do */
    size_t entry;                       /* where it is */
    double expected, found;             /* there: PyTorch, Vitrine */
    bool   pass;
} torch_row;

typedef struct torch_case {
    char   sizes[128];
    size_t compared, of, failed;        /* failed: rows */
    size_t cancel;                      /* rows that cancel */
    double relative;                    /* the largest of the others */
} torch_case;

typedef struct check_torch {
    char   version[40];                 /* "1.13.1" */
    const char *python, *op;            /* op: NULL for a model */
    torch_case *cases;
    torch_row  *rows;                   /* in the order of cases, gradients and outputs */
    size_t ncases, nrows, room;
    size_t compared, of, failed, cancel;        /* failed, cancel: rows */
    double relative, loss;              /* as above; of a loss the largest difference, NaN:
                                           there is none */
    bool   pass;
} check_torch;

/* The whole model of vt_check's options, or every case of an operator.  VT_CHECK_FAILED:
 * the line names the first tensor that differs, and the report is filled.  VT_IO:
 * PyTorch could not be asked, and there is no report.  Free it either way. */
VT_MUST_CHECK vt_status check_torch_model(check_torch *out, const char *python, vt_model *m,
                                          const vt_check_options *o, vt_error *err);
VT_MUST_CHECK vt_status check_torch_op(check_torch *out, const char *python, const char *op,
                                       uint64_t seed, vt_error *err);
void check_torch_free(check_torch *t);

/* Lines of text; a JSON object, the value of a key; suites, a test for each tensor. */
void check_torch_text(const check_torch *t);
void check_torch_json(js_writer *w, const check_torch *t);
void check_torch_junit(junit *w, const check_torch *t);

/* An operator's report by itself: JSON or text, and JUnit's XML where there is a path. */
VT_MUST_CHECK vt_status check_torch_show(const check_torch *t, uint64_t seed, bool json,
                                         const char *path, vt_error *err);

#endif

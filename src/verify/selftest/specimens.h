/* specimens.h -- kernels with known faults, by which the verification engine is tested.
 *
 * A specimen is a kernel as a user would write it (vitrine_kernel.h), independent of
 * the definitions, with one fault that is switched on by a number: 0 is the correct
 * kernel.  A check that calls a faulty one right has missed it; one that calls a
 * correct one wrong has raised a false alarm.
 *
 * The correct ones are as good as a kernel of their precision can be expected to be:
 * the maximum is subtracted before exp, variances are sums of squares of differences;
 * any sizes of at least 1, T = 1, numbers from 1e-4 to 1e4.  All attention specimens
 * take causal and boolean masks, both together, and S != T.
 *
 * Faults stay within their buffers and end: what crashes or hangs is tested elsewhere.
 */
#ifndef SPECIMENS_H
#define SPECIMENS_H

#include <stddef.h>
#include "vitrine_kernel.h"

typedef struct specimen {
    const char *name;       /* of the fault, "dq_no_scale"; the kernel's where correct */
    const char *kernel;     /* "gpt", "attention_online" */
    const char *op;         /* "gpt", "attention": as graph_op_name() */
    int  dtypes;            /* VT_KERNEL_F32 | VT_KERNEL_F64, or one of them */
    int  fault;             /* to be handed to run(); 0: correct */
    const char *what;       /* "1/sqrt(HS) missing on dQ only"; "correct" */
    const char *kind;       /* the diagnosis that is expected; "" where correct */
    int (*run)(const vt_kernel_call *c, int fault);
} specimen;

/* All of them, *n; those of a kernel stand together, the correct one first.  A name
 * stands once.  run() returns as vt_kernel() does: VT_KERNEL_UNSUPPORTED for another
 * op or dtype.  It is safe to be called from several threads. */
const specimen *specimen_table(size_t *n);

/* By name; NULL: there is none. */
const specimen *specimen_find(const char *name);

#endif

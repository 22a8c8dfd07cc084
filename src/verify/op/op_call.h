/* op_call.h -- a kernel called with the tensors of a case.
 *
 * A case lies in blocks of double and int (graph.h); a kernel wants an array for each
 * tensor, of its own precision, masks as bytes.  The copies are made once for a case and
 * filled for each call.
 *
 * Where a case is causal and has a mask, the mask of the graph is both together.  The
 * kernel gets ones wherever causality alone hides a key: it has to apply both.
 *
 * A kernel is called through a function, so that one in a library runs in its child
 * (kernel_host.h) and a specimen (specimens.h) here.
 */
#ifndef OP_CALL_H
#define OP_CALL_H

#include "verify/host/kernel_host.h"
#include "verify/op/op_case.h"

typedef struct op_kernel {
    vt_status (*call)(void *context, const kernel_request *r, kernel_outcome *out, vt_error *err);
    void (*fresh)(void *context);       /* the next call in a new process; may be NULL */
    void  *context;
} op_kernel;

/* A function in this process.  `save` is kept in it; op_local_free() releases it.  What
 * writes its inputs ends as it would in a child. */
typedef struct op_local {
    int (*run)(const vt_kernel_call *c, int fault);
    int    fault;
    void  *save;
    size_t save_bytes;
} op_local;

op_kernel op_kernel_local(op_local *l);
void      op_local_free(op_local *l);
op_kernel op_kernel_hosted(kernel_host *h);

/* What a call starts from: blocks of the graph's layout. */
typedef struct op_values {
    const double *x;
    const int    *ints;
    const double *dout, *start;
} op_values;

op_values op_values_of(const op_case *c);

typedef struct op_call {
    const op_case *c;
    kernel_request r;
    kernel_buffer *in, *out, *dout, *din;
    char          *names;           /* "dq", "do" */
    unsigned char *block;           /* all data */
    size_t         element;         /* bytes of a real number */
    int            passes;          /* that the kernel has: VT_KERNEL_FORWARD, _BACKWARD */
} op_call;

/* Sizes of a kernel's call, without pointers. */
void op_call_sizes(vt_kernel_call *call, const graph_sizes *z);

/* VT_USAGE for a precision that a kernel cannot be called in. */
VT_MUST_CHECK vt_status op_call_new(op_call *call, const op_case *c, vt_error *err);
void op_call_free(op_call *call);       /* also of a zeroed one */

/* One pass.  Where it ended well, the outputs are in x, or the gradients in dx. */
VT_MUST_CHECK vt_status op_call_forward(op_call *call, const op_kernel *k, const op_values *v,
                                        double *x, kernel_outcome *out, vt_error *err);
/* After a forward pass of the same inputs: outputs and `save` are those it left. */
VT_MUST_CHECK vt_status op_call_backward(op_call *call, const op_kernel *k, const op_values *v,
                                         double *dx, kernel_outcome *out, vt_error *err);

/* Outputs by the definitions, for a kernel that has a backward pass only. */
void op_call_outputs(op_call *call);

/* The bytes of all outputs, or gradients, that the last such pass left. */
bool op_call_same(const op_call *call, int pass, const unsigned char *bytes_);
VT_MUST_CHECK vt_status op_call_keep(const op_call *call, int pass, unsigned char **bytes_,
                                     vt_error *err);

VT_MUST_CHECK vt_status op_found_new(op_found *f, const op_case *c, vt_error *err);
void op_found_free(op_found *f);        /* also of a zeroed one */

#endif

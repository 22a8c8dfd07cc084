/* op_hosted.c -- a kernel in a child process, called as op_call.h calls one. */
#include "verify/op/op_call.h"

static vt_status hosted_call(void *context, const kernel_request *r, kernel_outcome *out,
                             vt_error *err)
{
    return kernel_host_call(context, r, out, err);
}

static void hosted_fresh(void *context) { kernel_host_fresh(context); }

op_kernel op_kernel_hosted(kernel_host *h)
{
    return (op_kernel){ .call = hosted_call, .fresh = hosted_fresh, .context = h };
}

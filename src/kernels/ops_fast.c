/* ops_fast.c -- the table of one instruction set's kernels.
 *
 * One text for each set, like the kernels: all of them are there on every set.
 * Order as in ops.h.
 */
#include "kernels/fast.h"

static void scratch(const ops_sizes *z, size_t *worker, size_t *shared)
{
    (void)z, (void)worker, (void)shared;    /* no kernel of the table needs any */
}

const fast_set FAST(set) = {
    .table = {
        .name = FAST_ISA,
        .linear_forward  = FAST(linear_forward),
        .linear_backward = FAST(linear_backward),
    },
    .scratch = scratch,
};

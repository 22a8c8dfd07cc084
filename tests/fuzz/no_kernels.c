/* no_kernels.c -- in place of kernels/ops.c: the fuzz targets read, and compute nothing.
 * The names of the sets are all that a record of a run is checked against.
 */
#include <string.h>
#include "kernels/ops.h"

const ops *ops_runs(size_t i)
{
    static const ops portable = { .name = "portable" };
    return i == 0 ? &portable : NULL;
}

const ops *ops_pick(const char *isa)
{
    return !isa || strcmp(isa, "portable") == 0 ? ops_runs(0) : NULL;
}

vt_status ops_choose(const ops **out, const char *isa, vt_error *err)
{
    *out = ops_pick(isa);
    return *out ? VT_OK : fail(err, VT_USAGE, "--isa %s: expected portable", isa);
}

/* build_info.c -- vt_version, vt_isa: what this library was built from, and runs. */
#include "kernels/ops.h"
#include "version.h"
#include "vitrine.h"

vt_version_info vt_version(void)
{
    return (vt_version_info){ .version = VITRINE_VERSION, .commit = VITRINE_COMMIT,
                              .build = VITRINE_BUILD, .isa = ops_pick(NULL)->name };
}

const char *vt_isa(size_t i)
{
    const ops *kernels = ops_runs(i);
    return kernels ? kernels->name : NULL;
}

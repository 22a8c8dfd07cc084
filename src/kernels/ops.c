/* ops.c -- picks the table of kernels.  See ops.h. */
#include "kernels/ops.h"

#include <stdio.h>
#include <string.h>
#include "kernels/fast.h"

/* Runs everywhere that this library does.  WebAssembly's own set is part of its
 * standard, and the module is small because it has no other. */
#ifdef VT_WASM
#define LAST_SET fast_set_wasm
#else
#define LAST_SET fast_set_portable
#endif

/* Whether this processor (and its system) can run the set.  The flags are
 * those that CMakeLists.txt compiles it with. */
static bool can_run(const fast_set *s)
{
#ifdef VT_X86
    if (s == &fast_set_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (s == &fast_set_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
            && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
            && __builtin_cpu_supports("fma");
#endif
#ifdef VT_ARM64
    if (s == &fast_set_neon) return true;       /* part of every aarch64 */
#endif
    return s == &LAST_SET;
}

/* Best first. */
static const fast_set *const sets[] = {
#ifdef VT_X86
    &fast_set_avx512,
    &fast_set_avx2,
#endif
#ifdef VT_ARM64
    &fast_set_neon,
#endif
    &LAST_SET,
};
enum { SETS = sizeof sets / sizeof *sets };

const ops *ops_runs(size_t i)
{
    for (size_t k = 0; k < SETS; k++)
        if (can_run(sets[k]) && i-- == 0) return &sets[k]->table;
    return NULL;
}

const ops *ops_pick(const char *isa)
{
    const ops *o = NULL;
    for (size_t i = 0; (o = ops_runs(i)) != NULL; i++)
        if (!isa || strcmp(isa, o->name) == 0) break;
    return o;
}

vt_status ops_choose(const ops **out, const char *isa, vt_error *err)
{
    char list[100] = "";
    *out = ops_pick(isa);
    if (*out) return VT_OK;
    for (size_t i = 0; ops_runs(i) != NULL; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0 ? "" : ops_runs(i + 1) ? ", " : " or ", ops_runs(i)->name);
    }
    return fail(err, VT_USAGE, "--isa %s: expected %s: this processor runs no other", isa, list);
}

/* Enough for every set that this processor runs. */
void ops_scratch(const ops_sizes *z, size_t *worker_bytes, size_t *shared_bytes)
{
    *worker_bytes = *shared_bytes = 0;
    for (size_t i = 0; i < SETS; i++) {
        if (!can_run(sets[i])) continue;
        sets[i]->scratch(z, worker_bytes, shared_bytes);
    }
}

/* specimen_table.c -- specimens.def as a table, and the choice of the type. */
#include <string.h>
#include "verify/selftest/specimens.h"

#define CORRECT(kernel, op, name) \
    int specimen_##kernel##_f32(const vt_kernel_call *c, int fault); \
    int specimen_##kernel##_f64(const vt_kernel_call *c, int fault);
#include "verify/selftest/specimens/specimens.def"

enum specimen_bug {
    BUG_NONE,
#define FAULT(kernel, name, dtypes, kind, what) BUG_##name,
#include "verify/selftest/specimens/specimens.def"
    BUG_COUNT
};

typedef int run_function(const vt_kernel_call *c, int fault);

static int choose(const vt_kernel_call *c, int fault, int op, run_function *f32, run_function *f64)
{
    if (c->abi != VT_KERNEL_ABI || c->op != op) return VT_KERNEL_UNSUPPORTED;
    if (c->pass != VT_KERNEL_FORWARD && c->pass != VT_KERNEL_BACKWARD) return VT_KERNEL_UNSUPPORTED;
    if (c->dtype == VT_KERNEL_F32) return f32(c, fault);
    if (c->dtype == VT_KERNEL_F64) return f64(c, fault);
    return VT_KERNEL_UNSUPPORTED;
}

#define CORRECT(kernel, op, name) \
    static const char op_of_##kernel[] = name; \
    static int run_##kernel(const vt_kernel_call *c, int fault) \
    { return choose(c, fault, VT_OP_##op, specimen_##kernel##_f32, specimen_##kernel##_f64); }
#include "verify/selftest/specimens/specimens.def"

enum { F32 = VT_KERNEL_F32, F64 = VT_KERNEL_F64, BOTH = VT_KERNEL_F32 | VT_KERNEL_F64 };

static const specimen table[] = {
#define CORRECT(kernel, op, name) \
    { #kernel, #kernel, op_of_##kernel, BOTH, BUG_NONE, "correct", "", run_##kernel },
#define FAULT(kernel, name, dtypes, kind, what) \
    { #name, #kernel, op_of_##kernel, dtypes, BUG_##name, what, #kind, run_##kernel },
#include "verify/selftest/specimens/specimens.def"
};

const specimen *specimen_table(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}

const specimen *specimen_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0) return &table[i];
    return NULL;
}

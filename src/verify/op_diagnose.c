/* op_diagnose.c -- see op_diagnose.h. */
#include "verify/op_diagnose.h"
#include <stdio.h>
#include <string.h>
#include "verify/diagnose.h"

static void say(vt_op_diagnosis *d, fault_kind kind, const char *sentence, const char *hint)
{
    snprintf(d->kind, sizeof d->kind, "%s", fault_kind_name(kind));
    snprintf(d->sentence, sizeof d->sentence, "%.*s", (int)sizeof d->sentence - 1, sentence);
    snprintf(d->hint, sizeof d->hint, "%s", hint);
}

static const vt_op_row *failing(const vt_op_case *out, const char *name)
{
    for (size_t i = 0; i < out->nrows; i++)
        if (out->rows[i].result == VT_ROW_FAIL && strcmp(out->rows[i].name, name) == 0)
            return &out->rows[i];
    return NULL;
}

/* What the kernel's process did. */
static void say_finding(vt_op_case *out)
{
    vt_op_diagnosis *d = &out->diagnosis;
    if (strstr(out->finding, "wrote to its"))
        say(d, FAULT_INPUT_WRITTEN, out->finding, "work on a copy: inputs, upstream gradients and, "
            "in the backward pass, outputs belong to the caller");
    else say(d, FAULT_UNKNOWN, out->finding, "run this case alone (--case), and compile the kernel "
             "with -g -fsanitize=address in a program of your own");
}

/* Exact checks that fail though every number is within its bound. */
static void say_exact(vt_op_case *out)
{
    static const struct { const char *row; fault_kind kind; const char *hint; } kinds[] = {
        { "causality", FAULT_MASK_LEAK, "read no key behind the query, not even to multiply it by 0" },
        { "the future", FAULT_MASK_LEAK, "sum over the queries that see a key, and no others" },
        { "exact zeros", FAULT_MASKED_ROW, "a sum over nothing is 0: do not divide, do not add" },
        { "backward adds", FAULT_OVERWRITTEN, "add to what the gradient's buffer holds: +=" },
        { "own forward", FAULT_UNKNOWN, "does the backward pass read what the forward pass saved?" },
        { "adjoint", FAULT_UNKNOWN, "does the backward pass read what the forward pass saved?" },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const vt_op_row *row = failing(out, kinds[i].row);
        if (!row) continue;
        say(&out->diagnosis, kinds[i].kind, row->note, kinds[i].hint);
        return;
    }
}

vt_status op_diagnose(vt_op_case *out, const op_case *c, const op_found *f, vt_error *err)
{
    vt_op_diagnosis *d = &out->diagnosis;
    diagnosis found = { .kind = FAULT_NONE };
    if (out->finding[0] || !f) {
        say_finding(out);
        return VT_OK;
    }
    if (failing(out, "two runs")) {
        say(d, FAULT_NONDETERMINISTIC, "the same call gives other bits in another run",
            "initialise what you read, and add in an order that does not change");
        return VT_OK;
    }
    const vt_status s = diagnose(&found, c, f, err);
    if (s) return s;
    if (found.kind == FAULT_NONE) {
        say_exact(out);
        return VT_OK;
    }
    say(d, found.kind, found.sentence, found.hint);
    snprintf(d->location, sizeof d->location, "%s", found.location);
    if (found.other != FAULT_NONE)
        snprintf(d->other, sizeof d->other, "%s", fault_kind_name(found.other));
    return VT_OK;
}

/* op_diagnose.c -- see op_diagnose.h. */
#include "verify/op/op_diagnose.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "verify/diagnosis/diagnose.h"

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

static const char *finding_hint(const char *finding)
{
    static const struct { const char *part, *hint; } hints[] = {
        { "did not return", "look for a loop that does not end: a size of 1, a tile of 0, an unsigned index below 0" },
        { "exit", "a kernel returns: 0, or VT_KERNEL_UNSUPPORTED for what it does not have" },
        { "returned", "a kernel returns 0, or VT_KERNEL_UNSUPPORTED for what it does not have" },
        { "by zero", "sizes may be 1: does a division round one down to 0?" },
        { "null pointer", "a mask may be NULL; masks, targets and tokens have no gradient, so their din is NULL" },
        { "overflowed its stack", "keep what grows with the sizes on the heap, or in save" },
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strstr(finding, hints[i].part)) return hints[i].hint;
    return "run this case alone (--case), and compile the kernel with -g -fsanitize=address in a program of your own";
}

/* What the kernel's process did. */
static void say_finding(vt_op_case *out)
{
    vt_op_diagnosis *d = &out->diagnosis;
    if (strstr(out->finding, "wrote to its"))
        say(d, FAULT_INPUT_WRITTEN, out->finding, "work on a copy: inputs, upstream gradients and, "
            "in the backward pass, outputs belong to the caller");
    else say(d, FAULT_UNKNOWN, out->finding, finding_hint(out->finding));
}

/* Exact checks that fail though every number is within its bound. */
static void say_exact(vt_op_case *out)
{
    static const struct { const char *row; fault_kind kind; const char *hint; } kinds[] = {
        { "causality", FAULT_MASK_LEAK, "read no key behind the query, not even to multiply it by 0" },
        { "hidden NaN", FAULT_MASK_LEAK, "read no key behind the query, not even to multiply it by 0" },
        { "unseen NaN", FAULT_MASK_LEAK, "read no key that no query sees, not even to multiply it by 0" },
        { "the future", FAULT_MASK_LEAK, "sum over the queries that see a key, and no others" },
        { "exact zeros", FAULT_MASKED_ROW, "a sum over nothing is 0: do not divide, do not add" },
        { "backward adds", FAULT_OVERWRITTEN, "add to what the gradient's buffer holds: +=" },
        { "other upstream", FAULT_UNKNOWN, "is the backward pass linear in what comes from above, "
          "and does nothing stay from an earlier call?" },
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

/* ---- E[x^2] - mean^2 ---------------------------------------------------------- */

/* y - b of a row, found and expected: proportional, by another factor in each row, and no
 * farther from 1 than a variance could be that was computed as E[x^2] - mean^2 in the
 * precision: its rounding is u (mean^2 / variance) for each term.  That may be negative:
 * NaN.  0: the row is right; 1: it is this; -1: it is something else. */
static int row_cancels(const op_case *c, const op_found *f, const graph_node *n, size_t row)
{
    const size_t C = (size_t)n->C, x = c->g.tensor[n->in[0]].at + row * C;
    const size_t y = c->g.tensor[n->out].at + row * C, b = c->g.tensor[n->in[2]].at;
    double mean = 0, var = 0, ee = 0, ef = 0, most = 0;
    size_t wrong = 0, none = 0;
    for (size_t i = 0; i < C; i++) mean += c->x[x + i] / (double)C;
    for (size_t i = 0; i < C; i++) var += (c->x[x + i] - mean) * (c->x[x + i] - mean) / (double)C;
    for (size_t i = 0; i < C; i++) {
        const double e = c->x[y + i] - c->x[b + i], g = f->x[y + i] - c->x[b + i];
        wrong += fabs(f->x[y + i] - c->x[y + i]) <= c->ex[y + i] ? 0 : 1;
        none += isnan(g) ? 1 : 0;
        ee += e * e;
        ef += e * g;
        most = fmax(most, fabs(e));
    }
    const double loss = 4 * (double)C * precision_u(c->p) * mean * mean / (var + 1e-5);
    if (wrong == 0) return 0;
    if (C < 2 || !(mean * mean > 100 * var) || !(ee > 0)) return -1;
    if (none == C && loss > 0.25) return 1;
    const double factor = ef / ee, off = fabs(factor - 1);
    if (!(off <= loss || loss > 0.25)) return -1;
    for (size_t i = 0; i < C; i++) {
        const double e = c->x[y + i] - c->x[b + i], g = f->x[y + i] - c->x[b + i];
        if (!(fabs(g - factor * e) <= 8 * c->ex[y + i] + 0.01 * off * most)) return -1;
    }
    return 1;
}

/* Only where all that is wrong with the output is explained so. */
static bool variance_cancels(vt_op_case *out, const op_case *c, const op_found *f)
{
    const graph_node *n = c->g.nnodes == 1 ? &c->g.node[0] : NULL;
    size_t rows = 0;
    if (!n || n->kind != GRAPH_LAYERNORM || !f->has_x[n->out]) return false;
    for (size_t r = 0; r < (size_t)n->N; r++) {
        const int is = row_cancels(c, f, n, r);
        if (is < 0) return false;
        rows += is > 0;
    }
    if (rows == 0) return false;
    say(&out->diagnosis, FAULT_VARIANCE_CANCELS, "the variance as E[x^2] - mean^2: the squares of a "
        "row far from 0 cancel, and their rounding is left", "subtract the mean first: "
        "var = mean((x - mean)^2), in a second loop, or by Welford's way");
    snprintf(out->diagnosis.location, sizeof out->diagnosis.location,
             "%zu of %d rows, each by a factor of its own", rows, n->N);
    return true;
}

vt_status op_diagnose(vt_op_case *out, const op_case *c, const op_found *f, vt_error *err)
{
    vt_op_diagnosis *d = &out->diagnosis;
    diagnosis found = { .kind = FAULT_NONE };
    if (out->finding[0] || !f) {
        say_finding(out);
        return VT_OK;
    }
    const vt_op_row *runs = failing(out, "two runs");
    if (runs) {
        const bool apart = strstr(runs->note, "in another process") != NULL;
        say(d, FAULT_NONDETERMINISTIC, apart ? "the backward pass depends on what its process ran before"
                                             : "the same call gives other bits in another run",
            apart ? "leave in `save` what the backward pass needs: not in static or global variables" : "initialise what you read, and add in an order that does not change");
        return VT_OK;
    }
    if (variance_cancels(out, c, f)) return VT_OK;
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

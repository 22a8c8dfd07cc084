/* op_exact.c -- see op_exact.h. */
#include "verify/op/op_exact.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verify/op/op_judge.h"

/* ---- who sees what ---------------------------------------------------------- */

static size_t stride_behind(const graph_tensor *t, int axis)
{
    size_t n = 1;
    for (int i = axis + 1; i < t->rank; i++) n *= (size_t)t->shape[i];
    return n;
}

/* The element's coordinate along an axis. */
static int along(const graph_tensor *t, int axis, size_t element)
{
    return (int)(element / stride_behind(t, axis) % (size_t)t->shape[axis]);
}

static int axis_named(const graph_tensor *t, const char *a, const char *b)
{
    for (int i = 0; i < t->rank; i++)
        if (strcmp(t->axis[i], a) == 0 || strcmp(t->axis[i], b) == 0) return i;
    return -1;
}

static int mask_of(const op_case *c)
{
    for (int i = 0; i < c->g.nin; i++)
        if (c->g.tensor[c->g.in[i]].role == GRAPH_MASK) return c->g.in[i];
    return -1;
}

/* Whether query t may see key u: the graph's mask is causality and mask together. */
static bool sees(const op_case *c, int t, int u)
{
    const int mask = mask_of(c);
    const int S = c->z.S;
    if (mask < 0) return !c->z.causal || u <= S - c->z.T + t;
    return c->ints[c->g.tensor[mask].at + (size_t)t * (size_t)S + (size_t)u] != 0;
}

/* A set of queries: 0 .. last, or just one. */
typedef struct prefix {
    const op_case *c;
    int  last;
    bool one;
} prefix;

static bool has_query(const prefix *p, int t) { return p->one ? t == p->last : t <= p->last; }

static bool has_key(const prefix *p, int u)
{
    for (int t = p->one ? p->last : 0; t <= p->last; t++)
        if (sees(p->c, t, u)) return true;
    return false;
}

/* Whether the element belongs to what these queries may not see.  Tensors without an
 * axis of positions are seen by all. */
static bool outside(const prefix *p, const graph_tensor *t, size_t element)
{
    const int query = axis_named(t, "query", "position"), key = axis_named(t, "key", "key");
    if (query >= 0) return !has_query(p, along(t, query, element));
    return key >= 0 && !has_key(p, along(t, key, element));
}

/* Queries whose view says something; false: there are none. */
static bool prefix_of(const op_case *c, prefix *p)
{
    const bool causal = c->z.causal;
    if (c->z.T < 2) return false;
    switch (c->z.op) {
    case VT_OP_BLOCK: case VT_OP_GPT: case VT_OP_LAB:
        *p = (prefix){ .c = c, .last = (c->z.T - 1) / 2 };
        return true;
    case VT_OP_PROJECTED:
        *p = (prefix){ .c = c, .last = (c->z.T - 1) / 2 };
        return causal;
    case VT_OP_ATTENTION:
        *p = (prefix){ .c = c, .last = (c->z.T - 1) / 2, .one = !causal };
        return true;
    default:
        return false;
    }
}

/* ---- zeros ------------------------------------------------------------------ */

/* Whether algebra makes the output element, or its gradient, 0. */
static bool is_zero(const op_case *c, const graph_tensor *t, size_t element, bool gradient)
{
    if (c->z.op == VT_OP_ATTENTION) {
        const int query = axis_named(t, "query", "position"), key = axis_named(t, "key", "key");
        if (query >= 0) {
            for (int u = 0; u < c->z.S; u++)
                if (sees(c, along(t, query, element), u)) return false;
            return true;
        }
        if (!gradient || key < 0) return false;
        for (int q = 0; q < c->z.T; q++)
            if (sees(c, q, along(t, key, element))) return false;
        return true;
    }
    if (c->z.op == VT_OP_CROSSENTROPY) {
        const int target = c->ints[c->g.tensor[c->g.in[VT_CROSSENTROPY_TARGET]].at +
                                   (size_t)along(t, 0, element)];
        return target == VT_IGNORE;
    }
    if (c->z.op == VT_OP_GPT && gradient && strcmp(t->name, "wpe.weight") == 0)
        return along(t, 0, element) >= c->z.T;
    if (c->z.op == VT_OP_GPT && !gradient)
        return c->ints[c->g.tensor[c->g.in[VT_GPT_TARGETS]].at + element] == VT_IGNORE;
    return false;
}

typedef struct zeros {
    size_t compared, failed;
    char   index[96];
    double found, expected;
} zeros;

static void count_zeros(zeros *z, const op_case *c, const graph_tensor *t, const double *found,
                        const double *start, bool gradient)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!is_zero(c, t, i, gradient)) continue;
        const double expected = start ? start[t->at + i] : 0;
        z->compared++;
        if (found[t->at + i] == expected) continue;
        if (z->failed++) continue;
        char index[80];
        graph_index(index, sizeof index, t, i);
        snprintf(z->index, sizeof z->index, "%s%s", gradient ? "d" : "", index);
        z->found = found[t->at + i];
        z->expected = expected;
    }
}

vt_status op_exact_zeros(vt_op_case *out, const op_case *c, const op_found *f, vt_error *err)
{
    zeros z = { .compared = 0 };
    vt_status s = VT_OK;
    for (int i = 0; i < c->g.nout; i++)
        if (f->has_x[c->g.out[i]])
            count_zeros(&z, c, &c->g.tensor[c->g.out[i]], f->x, NULL, false);
    for (int i = 0; i < c->g.nin; i++)
        if (f->has_dx[c->g.in[i]])
            count_zeros(&z, c, &c->g.tensor[c->g.in[i]], f->dx, c->start, true);
    if (z.compared == 0) return VT_OK;
    vt_op_row *row = op_row(out, "exact zeros", VT_ROW_EXACT, &s, err);
    if (!row) return s;
    row->compared = row->of = z.compared;
    row->failed = z.failed;
    row->result = z.failed ? VT_ROW_FAIL : VT_ROW_PASS;
    if (z.failed) {
        snprintf(row->index, sizeof row->index, "%s", z.index);
        row->expected = z.expected;
        row->found = z.found;
        op_row_note(row, c->z.op == VT_OP_CROSSENTROPY || c->z.op == VT_OP_GPT
                             ? "what the loss does not see is not exactly 0"
                             : "what no query sees, or what sees no key, is not exactly 0");
    }
    return VT_OK;
}

/* ---- two runs --------------------------------------------------------------- */

/* The forward pass, in a process of its own where `fresh`, and the backward pass, likewise.
 * *same: bits of passes that are those that were kept. */
static vt_status both_again(op_call *call, const op_kernel *k, op_found *scratch, bool apart,
                            unsigned char *const kept[2], int *same, kernel_outcome *ended,
                            vt_error *err)
{
    const op_values v = op_values_of(call->c);
    vt_status s = VT_OK;
    *same = 0;
    if (k->fresh) k->fresh(k->context);
    if (call->passes & VT_KERNEL_FORWARD) {
        s = op_call_forward(call, k, &v, scratch->x, ended, err);
        if (s || !kernel_ended_well(ended)) return s;
        if (op_call_same(call, VT_KERNEL_FORWARD, kept[0])) *same |= VT_KERNEL_FORWARD;
    }
    if (call->passes & VT_KERNEL_BACKWARD) {
        if (apart && k->fresh) k->fresh(k->context);
        s = op_call_backward(call, k, &v, scratch->dx, ended, err);
        if (s || !kernel_ended_well(ended)) return s;
        if (op_call_same(call, VT_KERNEL_BACKWARD, kept[1])) *same |= VT_KERNEL_BACKWARD;
    }
    return VT_OK;
}

static const char elsewhere[] = "run in another process than the forward pass, the backward pass "
    "%s: what it needs of the forward pass goes into `save`, and stays nowhere else";

static vt_status again(vt_op_case *out, op_call *call, const op_kernel *k, op_found *scratch,
                       kernel_outcome *ended, vt_error *err)
{
    unsigned char *kept[2] = { NULL, NULL };
    int same = 0, together = 0;
    vt_status s = op_call_keep(call, VT_KERNEL_FORWARD, &kept[0], err);
    if (s == VT_OK) s = op_call_keep(call, VT_KERNEL_BACKWARD, &kept[1], err);
    if (s == VT_OK) s = both_again(call, k, scratch, true, kept, &same, ended, err);
    if (s) goto done;
    const bool ends = kernel_ended_well(ended);
    if ((!ends && ended->end != KERNEL_TIMED_OUT && call->r.call.pass == VT_KERNEL_BACKWARD) ||
        (ends && same != call->passes)) {           /* or is it that they ran apart? */
        kernel_outcome other = { .end = KERNEL_OK };
        s = both_again(call, k, scratch, false, kept, &together, &other, err);
        if (s || !kernel_ended_well(&other)) goto done;
        if (!ends && together == call->passes)
            snprintf(out->finding, sizeof out->finding, elsewhere, ended->text);
    }
    if (!ends) goto done;
    vt_op_row *row = op_row(out, "two runs", VT_ROW_EXACT, &s, err);
    if (!row) goto done;
    row->compared = row->of = call->passes == VT_KERNEL_FORWARD + VT_KERNEL_BACKWARD ? 2 : 1;
    row->failed = row->of - (size_t)((same & VT_KERNEL_FORWARD) != 0) -
                  (size_t)((same & VT_KERNEL_BACKWARD) != 0);
    row->result = row->failed ? VT_ROW_FAIL : VT_ROW_PASS;
    if (row->failed && together == call->passes && k->fresh)
        op_row_note(row, elsewhere, "gives other gradients");
    else if (row->failed)
        op_row_note(row, "the same call gave other %s: memory that was never written, or an "
                    "order of sums that changes", call->passes & ~same & VT_KERNEL_FORWARD
                                                      ? "outputs" : "gradients");
done:
    free(kept[0]);
    free(kept[1]);
    return s;
}

/* ---- causality -------------------------------------------------------------- */

/* Other numbers outside of the prefix: -2 x, another token. */
static void change_outside(const prefix *p, double *x, int *ints)
{
    const op_case *c = p->c;
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t j = 0; j < t->count; j++) {
            if (t->role == GRAPH_MASK || !outside(p, t, j)) continue;
            if (t->role == GRAPH_INPUT) x[t->at + j] *= -2;
            else if (ints[t->at + j] != VT_IGNORE)
                ints[t->at + j] = (ints[t->at + j] + 1) % t->limit;
        }
    }
}

/* What no sum may read there: NaN and infinities.  Of attention alone, whose keys and
 * values are the caller's; in a model they are made of the same x as all else. */
static void poison_outside(const prefix *p, double *x)
{
    static const double poison[] = { NAN, INFINITY, -INFINITY };
    const op_case *c = p->c;
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t j = 0; t->role == GRAPH_INPUT && j < t->count; j++)
            if (outside(p, t, j)) x[t->at + j] = poison[j % 3];
    }
}

/* Elements inside the prefix that differ, or outside whose gradient is not `start`. */
static void compare(vt_op_row *row, const prefix *p, const graph_tensor *t, const double *expected,
                    const double *found, bool inside)
{
    for (size_t j = 0; j < t->count; j++) {
        if (outside(p, t, j) == inside) continue;
        row->compared++;
        if (inside && memcmp(&expected[t->at + j], &found[t->at + j], sizeof *found) == 0) continue;
        if (!inside && expected[t->at + j] == found[t->at + j]) continue;   /* -0 + 0 is 0 */
        if (row->failed++) continue;
        char index[80];
        graph_index(index, sizeof index, t, j);
        snprintf(row->index, sizeof row->index, "%s%s", inside ? "" : "d", index);
        graph_entry(row->where, sizeof row->where, t, j);
        row->expected = expected[t->at + j];
        row->found = found[t->at + j];
    }
}

/* A row: outputs of the prefix, computed from other numbers outside. */
static vt_status changed_outside(vt_op_case *out, op_call *call, const op_kernel *k,
                                 const op_found *f, op_found *scratch, const prefix *p, bool poison,
                                 kernel_outcome *ended, vt_error *err)
{
    const op_case *c = call->c;
    double *x = malloc((c->g.reals + 1) * sizeof *x);
    int *ints = malloc((c->g.ints + 1) * sizeof *ints);
    op_values v = op_values_of(c);
    vt_status s = VT_OK;
    if (!x || !ints) {
        s = fail_memory(err, c->g.reals * sizeof *x, "a changed suffix");
        goto done;
    }
    memcpy(x, c->x, c->g.reals * sizeof *x);
    if (c->g.ints) memcpy(ints, c->ints, c->g.ints * sizeof *ints);
    if (poison) poison_outside(p, x);
    else change_outside(p, x, ints);
    v.x = x;
    v.ints = ints;
    s = op_call_forward(call, k, &v, scratch->x, ended, err);
    if (s || !kernel_ended_well(ended)) goto done;
    vt_op_row *row = op_row(out, poison ? "hidden NaN" : "causality", VT_ROW_EXACT, &s, err);
    if (!row) goto done;
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        if (axis_named(t, "query", "position") >= 0) compare(row, p, t, f->x, scratch->x, true);
    }
    row->of = row->compared;
    row->result = row->failed ? VT_ROW_FAIL : row->compared ? VT_ROW_PASS : VT_ROW_UNDECIDED;
    if (row->failed)
        op_row_note(row, poison ? "NaN or Inf where its query may not look changes an output: a weight "
                                  "of 0 times NaN is NaN"
                                : "an output changes with what its query may not see");
done:
    free(x);
    free(ints);
    return s;
}

/* ---- what nobody sees ---------------------------------------------------------- */

/* Keys that no query sees hold NaN and Inf: outputs and gradients keep their bits, both
 * passes.  No row where every key is seen. */
static vt_status unseen(vt_op_case *out, op_call *call, const op_kernel *k, const op_found *f,
                        op_found *scratch, kernel_outcome *ended, vt_error *err)
{
    const op_case *c = call->c;
    const prefix all = { .c = c, .last = c->z.T - 1 };
    bool any = false;
    for (int u = 0; u < c->z.S; u++) any = any || !has_key(&all, u);
    if (c->z.op != VT_OP_ATTENTION || !any) return VT_OK;
    double *x = malloc(c->g.reals * sizeof *x);
    if (!x) return fail_memory(err, c->g.reals * sizeof *x, "keys that are not seen");
    op_values v = op_values_of(c);
    memcpy(x, c->x, c->g.reals * sizeof *x);
    poison_outside(&all, x);
    v.x = x;
    vt_op_row *row = NULL;
    vt_status s = op_call_forward(call, k, &v, scratch->x, ended, err);
    if (s == VT_OK && kernel_ended_well(ended) && call->passes & VT_KERNEL_BACKWARD)
        s = op_call_backward(call, k, &v, scratch->dx, ended, err);
    if (s == VT_OK && kernel_ended_well(ended)) row = op_row(out, "unseen NaN", VT_ROW_EXACT, &s, err);
    if (row) {
        
        compare(row, &all, &c->g.tensor[c->g.out[0]], f->x, scratch->x, true);
        for (int i = 0; i < c->g.nin && call->passes & VT_KERNEL_BACKWARD; i++) {
            const graph_tensor *t = &c->g.tensor[c->g.in[i]];
            if (t->role != GRAPH_INPUT) continue;
            compare(row, &all, t, f->dx, scratch->dx, true);
            compare(row, &all, t, c->start, scratch->dx, false);
        }
        row->of = row->compared;
        row->result = row->failed ? VT_ROW_FAIL : VT_ROW_PASS;
        if (row->failed)
            op_row_note(row, "NaN or Inf in a key or value that no query sees: a weight of 0 times "
                        "NaN is NaN");
    }
    free(x);
    return s;
}

/* ---- the future -------------------------------------------------------------- */

static vt_status future(vt_op_case *out, op_call *call, const op_kernel *k, op_found *scratch,
                        const prefix *p, kernel_outcome *ended, vt_error *err)
{
    const op_case *c = call->c;
    op_values v = op_values_of(c);
    double *dout = malloc((c->g.reals + 1) * sizeof *dout);
    if (!dout) return fail_memory(err, c->g.reals * sizeof *dout, "an upstream gradient");
    memcpy(dout, c->dout, c->g.reals * sizeof *dout);
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t j = 0; j < t->count; j++)
            if (outside(p, t, j)) dout[t->at + j] = 0;
    }
    v.dout = dout;
    vt_status s = op_call_forward(call, k, &v, scratch->x, ended, err);
    if (s == VT_OK && kernel_ended_well(ended))
        s = op_call_backward(call, k, &v, scratch->dx, ended, err);
    free(dout);
    if (s || !kernel_ended_well(ended)) return s;
    vt_op_row *row = op_row(out, "the future", VT_ROW_EXACT, &s, err);
    if (!row) return s;
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        if (t->role == GRAPH_INPUT) compare(row, p, t, c->start, scratch->dx, false);
    }
    row->of = row->compared;
    row->result = row->failed ? VT_ROW_FAIL : row->compared ? VT_ROW_PASS : VT_ROW_UNDECIDED;
    if (row->failed)
        op_row_note(row, "what the queries with a gradient may not see gets a gradient: "
                    "expected is what the buffer held before");
    return VT_OK;
}

vt_status op_exact_judge(vt_op_case *out, op_call *call, const op_kernel *k, const op_found *f,
                         kernel_outcome *ended, vt_error *err)
{
    const op_case *c = call->c;
    op_found scratch;
    prefix p;
    vt_status s = op_found_new(&scratch, c, err);
    if (s) return s;
    s = op_exact_zeros(out, c, f, err);
    if (s == VT_OK) s = again(out, call, k, &scratch, ended, err);
    if (s || !kernel_ended_well(ended) || !prefix_of(c, &p)) goto done;
    if (!(call->passes & VT_KERNEL_FORWARD)) goto done;
    s = changed_outside(out, call, k, f, &scratch, &p, false, ended, err);
    if (s == VT_OK && kernel_ended_well(ended) && c->z.op == VT_OP_ATTENTION)
        s = changed_outside(out, call, k, f, &scratch, &p, true, ended, err);
    if (s == VT_OK && kernel_ended_well(ended)) s = unseen(out, call, k, f, &scratch, ended, err);
    if (s || !kernel_ended_well(ended) || !(call->passes & VT_KERNEL_BACKWARD)) goto done;
    if (c->z.op == VT_OP_LAB) goto done;            /* its loss is a mean over all positions */
    s = future(out, call, k, &scratch, &p, ended, err);
done:
    op_found_free(&scratch);
    return s;
}

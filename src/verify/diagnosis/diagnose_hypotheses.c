/* diagnose_hypotheses.c -- the hypotheses, in the order in which they are tried: rules that
 * know the kind of node (fault_table.c), then contributions to gradients, then what is
 * read and written elsewhere; each for one node, for those of one name in all layers, and
 * for all of a kind.  What knows nodes comes first, and nothing else is tried where it
 * explains as well as rounding allows.
 *
 * What a hypothesis predicts, and when that agrees: diagnose_search.c.
 */
#include "verify/diagnosis/diagnose_search.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the hypotheses of some nodes--------------------------------------------------- */

/* The numbers to try with a rule: tiles, values of masks, variants. */
static int numbers(fault_rule r, const int **list)
{
    static const int tiles[] = { 1, 2, 3, 4, 8, 16, 32, 64 };
    static const int minus[] = { 10000, 1000000000, 100, 1000, 100000, 30000,     /* not to q, k */
                                 -10000, -1000000000, -100, -1000, -100000, -30000 };
    static const int variants[] = { 0, 1, 2, 3 };
    static const int rows[] = { 1000000, 2, 3, 4, 8, 16, 32, 64, -1000000, -2, -3, -4, -8, -16, -32, -64 };
    static const int maxima[] = { 0, 1, 2, 100000, 100001, 100002, 10000, 10001, 10002, 1000, 1001, 1002 };
    switch (r) {
    case RULE_ATT_ROW_SUM_OTHER_ROW: case RULE_ATT_LSE_OTHER_ROW: case RULE_ATT_DQ_READS_K_OF_QUERY:
        *list = rows;
        return sizeof rows / sizeof *rows;
    case RULE_ATT_MAX_FROM_ZERO:
        *list = maxima;
        return sizeof maxima / sizeof *maxima;
    case RULE_ATT_LSE_TRANSPOSED:
        *list = variants;
        return 4;
    case RULE_ATT_KEYS_TWICE: case RULE_ATT_DQ_EACH_TILE:
    case RULE_ATT_KEY_TAIL: case RULE_ATT_TILE_LEAK: case RULE_ATT_NO_RESCALE:
    case RULE_ATT_NO_RESCALE_SUM: case RULE_SOFT_NO_RESCALE: case RULE_ATT_WINDOW:
        *list = tiles;
        return sizeof tiles / sizeof *tiles;
    case RULE_ATT_MASK_MINUS: case RULE_ATT_MASK_ADD:
        *list = minus;
        return sizeof minus / sizeof *minus;
    case RULE_CE_TARGET_NEXT: case RULE_CE_TARGET_PREVIOUS: case RULE_ATT_NO_MAX:
    case RULE_ATT_LAYOUT: case RULE_LN_FIRST_ROW:
        *list = variants;
        return 3;
    case RULE_ATT_NO_SUM: case RULE_SOFT_NO_SUM:
    case RULE_ATT_MASK_TRANSPOSED: case RULE_ATT_FIRST_KEY_LEAKS: case RULE_LN_GAIN_SHIFTED:
    case RULE_ATT_ONE_MORE: case RULE_ATT_MASK_INVERTED: case RULE_ATT_LSE_NO_MAX:
    case RULE_ATT_RESCORED: case RULE_ATT_RESCORED_LSE:
    case RULE_ATT_ASSIGN_DQ: case RULE_ATT_ASSIGN_DK: case RULE_ATT_ASSIGN_DV:
        *list = variants;
        return 2;
    default:
        *list = variants;
        return 1;
    }
}

/* A rule that knows the kind of node, in one mode. */
static void try_rule(search *s, hypothesis *h, fault_rule r)
{
    const int *list, count = numbers(r, &list);
    const int S = s->g->node[h->node].S ? s->g->node[h->node].S : s->g->node[h->node].V;
    h->fault = (fault){ .rule = r };
    h->kind = fault_table(r)->kind;
    h->rank = (int)r;
    h->named[0] = '\0';
    h->fault.value = r == RULE_LN_EPS ? 1e-5 : r == RULE_GELU_K0 ? 0.79788456080286535588
                     : r == RULE_GELU_K1 ? 0.044715 : r == RULE_LN_RSTD_TIMES ? 1
                     : r == RULE_ATT_SCALE_VALUE ? 1 / sqrt(s->g->node[h->node].HS) : 0;
    if (h->fault.value > 0) {
        search_try_value(s, h);
        return;
    }
    for (int i = 0; i < count; i++) {
        h->fault.number = list[i];
        const bool tail = r == RULE_ATT_KEY_TAIL || r == RULE_ATT_KEYS_TWICE;
        if (list[0] == 1 && (list[i] >= S || (tail && S % list[i] == 0))) continue;
        if (r == RULE_ATT_MAX_FROM_ZERO) snprintf(h->named, sizeof h->named, "%d", -(list[i] / 10));
        else snprintf(h->named, sizeof h->named, "%d", abs(list[i]));
        search_try(s, h);
    }
}

static void try_rules(search *s, hypothesis *h, graph_kind kind)
{
    /* An attention that computes its probabilities again, with the same fault, cannot be told
     * from one that keeps them; the first is what one meets, so it is told: "both" is first. */
    static const int modes[] = { FAULT_IN_BACKWARD, FAULT_IN_FORWARD, FAULT_IN_BOTH, FAULT_IN_SAVED,
                                 FAULT_IN_OUT, FAULT_IN_BACKWARD_LSE, FAULT_IN_OUT_LSE, FAULT_IN_BOTH_LSE };
    for (fault_rule r = RULE_FIRST_OF_NODES; r < RULE_COUNT; r++) {
        if (fault_table(r)->node != kind) continue;
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            h->mode = modes[i];
            if (kind != GRAPH_ATTENTION && i > 1 && i < 4) h->mode = modes[5 - i];
            if ((fault_table(r)->passes & h->mode) && search_possible(s, h->mode)) try_rule(s, h, r);
        }
    }
}

static fault_kind kind_of_move(const graph_tensor *t, const fault *f)
{
    const char *axis = f->axis < t->rank ? t->axis[f->axis] : "row";
    if (f->move == MOVE_SWAP || f->move == MOVE_SWAP_BACK) return FAULT_TRANSPOSED;
    if (f->move >= MOVE_Q_K && f->move <= MOVE_Q_V) return FAULT_SWAPPED;
    if (strcmp(axis, "head") == 0) return FAULT_HEADS_SWAPPED;
    return strcmp(axis, "batch") == 0 ? FAULT_BATCH_MIXED : FAULT_POSITION_SHIFT;
}

static void try_fit(search *s, hypothesis *h)
{
    const graph_node *n = &s->g->node[h->node];
    if (fault_fits(&h->fault, s->g, n)) search_try(s, h);
}

static void try_keeps(search *s, hypothesis *h, fault_rule rule, unsigned slots)
{
    static const int tiles[] = { 2, 3, 4, 8, 16, 32, 64 };
    for (int axis = 0; axis <= FAULT_AXIS_ROWS; axis++)
    for (fault_keep k = KEEP_NOT_LAST; k < KEEP_COUNT; k++) {
        const bool tiled = k >= KEEP_TILES;
        for (size_t i = 0; i < (tiled ? sizeof tiles / sizeof *tiles : 1); i++) {
            h->fault = (fault){ .rule = rule, .slots = slots, .axis = axis, .keep = k,
                                .number = tiled ? tiles[i] : 0 };
            h->kind = FAULT_ROWS_MISSING;
            try_fit(s, h);
            if (rule != RULE_KEEP_ROWS || (k != KEEP_LAST && k != KEEP_LAST_TILE)) continue;
            h->fault.assign = true;
            h->kind = FAULT_OVERWRITTEN;
            try_fit(s, h);
        }
    }
}

static void try_moves(search *s, hypothesis *h, fault_rule rule, int slot, unsigned slots)
{
    const graph_node *n = &s->g->node[h->node];
    const bool of_out = rule == RULE_MOVE_ROWS || rule == RULE_OUT_MOVED;
    const bool reads = rule == RULE_READ_MOVED || rule == RULE_READ_MOVED_TWO;
    const int ways = reads && h->mode != FAULT_IN_FORWARD ? 2 : 1;
    for (int axis = 0; axis <= FAULT_AXIS_ROWS; axis++)
    for (fault_move m = MOVE_REVERSE; m < MOVE_COUNT; m++)
    for (int back = 0; back < ways; back++) {
        h->fault = (fault){ .rule = rule, .slot = slot, .slots = slots, .axis = axis, .move = m, .back = back };
        if (axis == FAULT_AXIS_ROWS && m >= MOVE_Q_K) continue;
        if (!fault_fits(&h->fault, s->g, n)) continue;
        h->kind = kind_of_move(&s->g->tensor[of_out ? n->out : n->in[slot]], &h->fault);
        search_try(s, h);
    }
}

static void try_rounded(search *s, hypothesis *h, unsigned slots)
{
    static const precision lower[] = { PRECISION_F32, PRECISION_BF16, PRECISION_F16 };
    h->kind = FAULT_ROUNDED;
    for (size_t i = 0; i < sizeof lower / sizeof *lower; i++) {
        if (precision_u(lower[i]) <= precision_u(s->c->p)) continue;
        h->fault = (fault){ .rule = RULE_ROUND, .slots = slots, .number = (int)lower[i] };
        try_fit(s, h);
    }
}

/* A factor; of several nodes, which are not linear in it together, the likely ones. */
static void try_factors(search *s, hypothesis *h, unsigned slots)
{
    static const double values[] = { 0, -1, 2 };
    static const fault_kind kinds[] = { FAULT_PATH_MISSING, FAULT_SIGN, FAULT_SCALE_WRONG };
    const graph_kind kind = s->g->node[h->node].kind;
    const bool bias = slots == 4 && (kind == GRAPH_LINEAR || kind == GRAPH_LAYERNORM);
    if (h->nodes == 1) {
        search_try_factor(s, h, slots);
        return;
    }
    for (int i = 0; i < 3; i++) {
        h->fault = (fault){ .rule = RULE_SCALE, .slots = slots, .value = values[i] };
        h->kind = i == 0 && bias ? FAULT_BIAS_FORGOTTEN : kinds[i];
        snprintf(h->named, sizeof h->named, "%g", values[i]);
        try_fit(s, h);
    }
}

/* Rules for the contributions to some inputs. */
static void try_slots(search *s, hypothesis *h, unsigned slots)
{
    const int base = SEARCH_FIRST_GENERIC + 100 * (h->nodes > 1), slot = search_lowest(slots);
    h->mode = FAULT_IN_BACKWARD;
    if (!search_possible(s, h->mode)) return;
    h->rank = base;
    try_factors(s, h, slots);
    h->named[0] = '\0';
    h->rank = base + 2;
    h->kind = FAULT_OVERWRITTEN;
    h->fault = (fault){ .rule = RULE_ASSIGN, .slots = slots };
    try_fit(s, h);
    h->rank = base + 3;
    h->kind = FAULT_SWAPPED;
    for (int other = slot + 1; other < GRAPH_INS; other++) {
        h->fault = (fault){ .rule = RULE_EXCHANGE, .slot = slot, .number = other };
        if (slots == (1u << slot | 1u << other)) try_fit(s, h);
    }
    h->rank = base + 4;
    try_moves(s, h, RULE_MOVE, slot, slots);
    h->rank = base + 5;
    try_keeps(s, h, RULE_KEEP_ROWS, slots);
    h->rank = base + 6;
    try_keeps(s, h, RULE_KEEP, slots);
    h->rank = base + 7;
    try_moves(s, h, RULE_MOVE_ROWS, slot, slots);
    h->rank = base + 8;
    try_rounded(s, h, slots);
}

/* Inputs that are left out, subtracted, doubled; outputs with a factor. */
static void try_scaled(search *s, hypothesis *h)
{
    static const double values[] = { 0, -1, 2, 0.5 };
    const graph_node *n = &s->g->node[h->node];
    const bool reads = h->mode != FAULT_IN_BACKWARD && h->mode != FAULT_IN_OUT;
    h->rank = SEARCH_FIRST_GENERIC + 25;
    for (int slot = 0; slot < GRAPH_INS && reads; slot++)
    for (int i = 0; i < 4; i++) {
        const bool bias = slot == 2 && (n->kind == GRAPH_LINEAR || n->kind == GRAPH_LAYERNORM);
        h->fault = (fault){ .rule = RULE_READ_SCALED, .slot = slot, .value = values[i], .back = true };
        h->kind = values[i] < 0 ? FAULT_SIGN : values[i] > 0 ? FAULT_SCALE_WRONG
                  : bias ? FAULT_BIAS_FORGOTTEN : FAULT_PATH_MISSING;
        snprintf(h->named, sizeof h->named, "%g", values[i]);
        try_fit(s, h);
    }
    h->rank = SEARCH_FIRST_GENERIC + 24;
    h->kind = FAULT_SCALE_WRONG;
    h->fault = (fault){ .rule = RULE_OUT_SCALE, .value = 1 };
    if (h->mode != FAULT_IN_BACKWARD) search_try_value(s, h);
    h->named[0] = '\0';
}

/* Attention's inputs in each other's place. */
static void try_exchanged(search *s, hypothesis *h)
{
    const graph_node *n = &s->g->node[h->node];
    h->rank = SEARCH_FIRST_GENERIC + 19;
    h->kind = FAULT_SWAPPED;
    for (int slot = 0; slot < 2 && n->kind == GRAPH_ATTENTION; slot++)
    for (int other = slot + 1; other < 3; other++) {
        h->fault = (fault){ .rule = RULE_READ_EXCHANGED, .slot = slot, .number = other };
        try_fit(s, h);
    }
}

/* Outputs that are written elsewhere, or some of them. */
static void try_outputs(search *s, hypothesis *h)
{
    h->named[0] = '\0';
    h->rank = SEARCH_FIRST_GENERIC + 21;
    try_moves(s, h, RULE_OUT_MOVED, 0, 0);
    h->rank = SEARCH_FIRST_GENERIC + 22;
    try_keeps(s, h, RULE_OUT_KEEP, 0);
}

/* What is read or written elsewhere, in any pass. */
static void try_reads(search *s, hypothesis *h)
{
    const graph_node *n = &s->g->node[h->node];
    h->named[0] = '\0';
    for (h->mode = FAULT_IN_BACKWARD; h->mode <= FAULT_IN_OUT; h->mode *= 2) {
        if (!search_possible(s, h->mode)) continue;
        if (h->mode == FAULT_IN_OUT) {
            if (n->kind != GRAPH_ATTENTION) continue;
            try_scaled(s, h);
            try_outputs(s, h);
            continue;
        }
        try_exchanged(s, h);
        h->rank = SEARCH_FIRST_GENERIC + 20;
        for (int slot = 0; slot < GRAPH_INS; slot++)
            if (n->in[slot] >= 0 && s->g->tensor[n->in[slot]].role < GRAPH_INTEGERS)
                try_moves(s, h, RULE_READ_MOVED, slot, 0);
        if (n->kind == GRAPH_ATTENTION) try_moves(s, h, RULE_READ_MOVED_TWO, 1, 0);
        h->rank = SEARCH_FIRST_GENERIC + 23;
        h->kind = FAULT_WRONG_FACTOR;
        for (int slot = 0; slot < GRAPH_INS && h->nodes == 1; slot++)
            for (int t = 0; t < s->g->ntensors; t++) {
                h->fault = (fault){ .rule = RULE_READ_OTHER, .slot = slot, .number = t };
                try_fit(s, h);
                h->fault.back = true;
                if (n->stage[0] >= 0) try_fit(s, h);
            }
        try_scaled(s, h);
        if (h->mode == FAULT_IN_BACKWARD || h->mode == FAULT_IN_BOTH) continue;
        try_outputs(s, h);
    }
}

/* ---- which nodes ------------------------------------------------------------------------ */

/* A node's name without its layer: "ln_1" of "h.0.ln_1". */
static const char *role(const graph_node *n)
{
    const char *p = n->name;
    if (n->layer < 0 || strncmp(p, "h.", 2) != 0) return p;
    p = strchr(p + 2, '.');
    return p ? p + 1 : n->name;
}

typedef enum group { GROUP_NODE, GROUP_ROLE, GROUP_KIND } group;

/* Sets the members that go with node `i`; false where the group is not led by it (its last
 * node leads) or is no other than a smaller group. */
static bool set_members(search *s, group which, int i, int *count)
{
    const graph *g = s->g;
    const graph_node *n = &g->node[i];
    int alike = 0;
    *count = 0;
    for (int j = 0; j < g->nnodes; j++) {
        const bool same = g->node[j].kind == n->kind;
        const bool named = same && strcmp(role(&g->node[j]), role(n)) == 0;
        s->member[j] = which == GROUP_NODE ? j == i : which == GROUP_ROLE ? named : same;
        *count += s->member[j];
        alike += named;
        if (s->member[j] && j > i) return false;
    }
    if (which == GROUP_ROLE) return *count > 1;
    return which == GROUP_NODE || *count > alike;
}

/* Whether the members' gradients, of the output or of `slots`, flow to all that is wrong. */
static bool group_reaches(const search *s, unsigned slots)
{
    const graph *g = s->g;
    for (int j = 0; j < g->nin; j++) {
        bool some = !s->bad_dx[g->in[j]];
        for (int i = 0; i < g->nnodes && !some; i++) {
            if (s->member[i] && slots == 0) some = s->reach[g->node[i].out * g->ntensors + g->in[j]];
            for (int k = 0; k < GRAPH_INS && s->member[i] && !some; k++) {
                const int t = g->node[i].in[k];
                some = (slots >> k & 1) && t >= 0 && s->reach[t * g->ntensors + g->in[j]];
            }
        }
        if (!some) return false;
    }
    return true;
}

/* Whether each of the slots has a part in what is wrong: its gradient flows to a wrong one. */
static bool all_needed(const search *s, const graph_node *n, unsigned slots)
{
    const graph *g = s->g;
    for (int k = 0; k < GRAPH_INS; k++) {
        bool some = !(slots >> k & 1);
        if (!some && (n->in[k] < 0 || g->tensor[n->in[k]].role >= GRAPH_INTEGERS)) return false;
        for (int j = 0; j < g->nin && !some; j++)
            some = s->bad_dx[g->in[j]] && s->reach[n->in[k] * g->ntensors + g->in[j]];
        if (!some) return false;
    }
    return true;
}

static void try_group(search *s, group which, int phase)
{
    const graph *g = s->g;
    hypothesis h = { .rank = 0 };
    for (int i = g->nnodes; i-- > 0;) {
        const graph_node *n = &g->node[i];
        if (!set_members(s, which, i, &h.nodes)) continue;
        h.node = i;
        if (s->failing_x == 0 && !group_reaches(s, 0)) continue;
        if (phase == 0) try_rules(s, &h, n->kind);
        if (phase == 2) try_reads(s, &h);
        for (unsigned slots = 1; phase == 1 && slots < 1u << GRAPH_INS; slots++)
            if (all_needed(s, n, slots) && group_reaches(s, slots)) try_slots(s, &h, slots);
    }
}

void search_hypotheses(search *s)
{
    const double close = 0.25;          /* what no other could explain much better */
    for (int phase = 0; phase < 3 && !(s->has_best && s->best.residual < close); phase++)
        for (group which = GROUP_NODE; which <= GROUP_KIND; which++) try_group(s, which, phase);
}

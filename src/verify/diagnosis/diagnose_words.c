/* diagnose_words.c -- a hypothesis in words a reader can act on; and the names of the
 * factors that gradients are likely to be off by.
 */
#include "verify/diagnosis/diagnose_search.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends, cut at the end of the room. */
VT_PRINTF(3, 4)
static void append(char *out, size_t size, const char *format, ...)
{
    const size_t used = strlen(out);
    va_list args;
    if (used + 1 >= size) return;
    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

/* `text` with %s or %d in it, once, replaced. */
static void fill(char *out, size_t size, const char *text, const char *value)
{
    const char *mark = strchr(text, '%');
    if (!mark) append(out, size, "%s", text);
    else append(out, size, "%.*s%s%s", (int)(mark - text), text, value, mark + 2);
}

static int consumers(const graph *g, int tensor)
{
    int count = 0;
    for (int i = 0; i < g->nnodes; i++)
        for (int j = 0; j < GRAPH_INS; j++) count += g->node[i].in[j] == tensor;
    return count;
}

void search_name(char *out, size_t size, const search *s, int tensor, bool gradient)
{
    const char *name = s->g->tensor[tensor].name;
    const char *before = !gradient ? "" : strchr(name, '.') ? "the gradient of " : "d";
    snprintf(out, size, "%s%s", before, name);
}

/* ---- factors -------------------------------------------------------------------------- */

typedef struct factor { double value; fault_kind kind; const char *name; } factor;

bool search_factor(const search *s, int node, int slot, double c, double tolerance, double *value,
                   fault_kind *kind, char *name, size_t size)
{
    const graph_node *n = node < 0 ? NULL : &s->g->node[node];
    const graph_sizes *z = &s->c->z;
    const bool score = n && n->kind == GRAPH_ATTENTION && slot < 2;
    const bool entropy = n && n->kind == GRAPH_CROSSENTROPY, mean = n && n->kind == GRAPH_MEAN;
    const bool leaf = n && s->g->tensor[n->in[slot]].role == GRAPH_INPUT && consumers(s->g, n->in[slot]) == 1;
    const bool bias = n && slot == 2 && (n->kind == GRAPH_LINEAR || n->kind == GRAPH_LAYERNORM);
    const double HS = n && n->HS ? n->HS : z->HS, NH = n && n->NH ? n->NH : z->NH;
    const double N = n && n->N ? n->N : z->N, B = z->B, T = z->T, S = z->S, C = n ? n->C : z->C;
    const double tau = n && n->temperature > 0 ? n->temperature : 1;
    const factor all[] = {
        { 0, bias ? FAULT_BIAS_FORGOTTEN : leaf ? FAULT_ZERO : FAULT_PATH_MISSING, "0" },
        { -1, FAULT_SIGN, "-1" },
        { score ? sqrt(HS) : 0, FAULT_SCALE_MISSING, "sqrt(HS)" },
        { score ? 1 / sqrt(HS) : 0, FAULT_SCALE_WRONG, "1/sqrt(HS)" },
        { score ? HS : 0, FAULT_SCALE_WRONG, "HS" },
        { score ? 1 / HS : 0, FAULT_SCALE_WRONG, "1/HS" },
        { score ? 1 / sqrt(NH) : 0, FAULT_SCALE_WRONG, "1/sqrt(NH)" },
        { score ? sqrt(NH) : 0, FAULT_SCALE_WRONG, "sqrt(NH)" },
        { entropy ? tau : 0, FAULT_TEMPERATURE, "the temperature" },
        { entropy ? 1 / tau : 0, FAULT_TEMPERATURE, "1/temperature" },
        { mean ? N : 0, FAULT_SUM_FOR_MEAN, "N" },
        { N > 1 ? 1 / N : 0, FAULT_MEAN_FOR_SUM, "1/N" },
        { B > 1 ? 1 / B : 0, FAULT_MEAN_FOR_SUM, "1/B" },
        { T > 1 ? 1 / T : 0, FAULT_MEAN_FOR_SUM, "1/T" },
        { B * T > 1 ? 1 / (B * T) : 0, FAULT_MEAN_FOR_SUM, "1/(B T)" },
        { S > 1 ? 1 / S : 0, FAULT_MEAN_FOR_SUM, "1/S" },
        { C > 1 ? 1 / C : 0, FAULT_MEAN_FOR_SUM, "1/C" },
        { 2, FAULT_SCALE_WRONG, "2" },
        { 0.5, FAULT_SCALE_WRONG, "1/2" },
        { N > 1 ? N : 0, FAULT_SUM_FOR_MEAN, "N" },
        { B > 1 ? B : 0, FAULT_SUM_FOR_MEAN, "B" },
        { T > 1 ? T : 0, FAULT_SUM_FOR_MEAN, "T" },
        { B * T > 1 ? B * T : 0, FAULT_SUM_FOR_MEAN, "B T" },
        { C > 1 ? C : 0, FAULT_SUM_FOR_MEAN, "C" },
    };
    double least = tolerance;
    bool any = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {     /* the nearest; the first of equals */
        const double d = fabs(all[i].value - c);
        if (i > 0 && (all[i].value == 0 || all[i].value == 1)) continue;
        if (!(any ? d < least : d <= least)) continue;
        least = d;
        any = true;
        *value = all[i].value;
        *kind = all[i].kind;
        snprintf(name, size, "%s", all[i].name);
    }
    return any;
}

/* ---- sentences -------------------------------------------------------------------------- */

static const char *axis_name(const graph_tensor *t, int axis)
{
    return axis < t->rank ? t->axis[axis] : "row";
}

/* "the share of the last query is missing". */
static void keep_words(char *out, size_t size, const graph_tensor *t, const fault *f)
{
    const char *axis = axis_name(t, f->axis);
    switch (f->keep) {
    case KEEP_NOT_LAST:  append(out, size, "the share of the last %s is missing", axis); break;
    case KEEP_NOT_FIRST: append(out, size, "the share of the first %s is missing", axis); break;
    case KEEP_FIRST:     append(out, size, "only the first %s counts", axis); break;
    case KEEP_LAST:      append(out, size, "only the last %s counts", axis); break;
    case KEEP_TILES:
        append(out, size, "what lies behind the last whole tile of %d along %s is missing", f->number, axis);
        break;
    case KEEP_ONE_TILE: append(out, size, "only the first %d along %s count", f->number, axis); break;
    default: append(out, size, "only the last tile of %d along %s counts", f->number, axis); break;
    }
}

static void move_words(char *out, size_t size, const graph_tensor *t, const fault *f)
{
    const char *axis = axis_name(t, f->axis);
    switch (f->move) {
    case MOVE_REVERSE:  append(out, size, "in reverse order along %s", axis); break;
    case MOVE_NEXT: case MOVE_NEXT_ROUND: case MOVE_NEXT_HELD:
        append(out, size, "one %s too early: each takes what belongs to the next", axis);
        break;
    case MOVE_PREVIOUS: case MOVE_PREVIOUS_ROUND: case MOVE_PREVIOUS_HELD:
        append(out, size, "one %s too late: each takes what belongs to the one before", axis);
        break;
    case MOVE_Q_K: append(out, size, "with the columns of q and k exchanged"); break;
    case MOVE_K_V: append(out, size, "with the columns of k and v exchanged"); break;
    case MOVE_Q_V: append(out, size, "with the columns of q and v exchanged"); break;
    case MOVE_FIRST:    append(out, size, "from the first %s for every %s", axis, axis); break;
    default:
        append(out, size, "in the order of (%s, %s), not (%s, %s)", axis_name(t, f->axis + 1), axis,
               axis, axis_name(t, f->axis + 1));
        break;
    }
}

static void scale_words(char *out, size_t size, const hypothesis *h, const char *what, bool leaf)
{
    const unsigned slots = h->fault.slots;
    const bool several = (slots & (slots - 1)) != 0;
    const char *is = several ? "are" : "is", *has = several ? "have" : "has";
    if (h->fault.value == 0 && leaf) append(out, size, "%s %s not written", what, is);
    else if (h->fault.value == 0) append(out, size, "this path of %s is missing", what);
    else if (h->fault.value == -1) append(out, size, "%s %s the wrong sign", what, has);
    else if (h->kind == FAULT_SCALE_MISSING)
        append(out, size, "%s %s the factor 1/%s: found/expected = %.6g = %s", what, several ? "lack" : "lacks", h->named, h->fault.value, h->named);
    else if (h->named[0])
        append(out, size, "%s %s off by a factor: found/expected = %.6g = %s", what, is, h->fault.value, h->named);
    else append(out, size, "%s %s off by a factor: found/expected = %.6g", what, is, h->fault.value);
}

static const char *const precisions[] = { "float64", "float32", "bfloat16", "float16" };

/* Of a rule that any node can have. */
static void generic_words(const search *s, const hypothesis *h, char *out, size_t size)
{
    const graph *g = s->g;
    const graph_node *n = &g->node[h->node];
    const fault *f = &h->fault;
    const bool of_out = f->rule >= RULE_OUT_MOVED || f->rule == RULE_KEEP_ROWS || f->rule == RULE_MOVE_ROWS;
    const bool reads = f->rule >= RULE_READ_MOVED && f->rule < RULE_OUT_MOVED;
    int tensor = f->rule >= RULE_OUT_MOVED ? n->out : n->in[f->slot];
    char what[120] = "", name[80], other[80];
    for (int k = GRAPH_INS; k-- > 0;)                   /* the lowest last: it names the axes */
        if (!reads && f->rule < RULE_OUT_MOVED && (f->slots >> k & 1)) tensor = n->in[k];
    const graph_tensor *t = &g->tensor[of_out ? n->out : tensor];
    for (int k = 0; k < GRAPH_INS; k++) {
        if (!(f->slots >> k & 1)) continue;
        search_name(name, sizeof name, s, n->in[k], true);
        append(what, sizeof what, "%s%s", !what[0] ? "" : f->slots >> (k + 1) ? ", " : " and ", name);
    }
    if (!what[0]) search_name(what, sizeof what, s, tensor, f->rule < RULE_READ_MOVED);
    switch (f->rule) {
    case RULE_SCALE:
        scale_words(out, size, h, what, g->tensor[tensor].role == GRAPH_INPUT && consumers(g, tensor) == 1);
        break;
    case RULE_ASSIGN: append(out, size, "%s is assigned where it should be added to: what was there is lost", what); break;
    case RULE_ROUND:  append(out, size, "%s is rounded to %s on its way", what, precisions[f->number]); break;
    case RULE_KEEP: case RULE_KEEP_ROWS: case RULE_OUT_KEEP:
        if (f->assign) append(out, size, "%s: each %s overwrites what the one before added", what, f->keep == KEEP_LAST ? axis_name(t, f->axis) : "tile of rows");
        else {
            append(out, size, "%s: ", what);
            keep_words(out, size, t, f);
        }
        break;
    case RULE_MOVE: case RULE_OUT_MOVED:
        append(out, size, "%s is written ", what);
        move_words(out, size, t, f);
        break;
    case RULE_MOVE_ROWS:
        append(out, size, "%s is made from d%s read ", what, g->tensor[n->out].name);
        move_words(out, size, t, f);
        break;
    case RULE_READ_MOVED: case RULE_READ_MOVED_TWO:
        if (f->rule == RULE_READ_MOVED_TWO) append(what, sizeof what, " (and %s)", g->tensor[n->in[f->slot + 1]].name);
        if (f->move == MOVE_FIRST) {
            append(out, size, "every %s reads %s of the first %s", axis_name(t, f->axis), what, axis_name(t, f->axis));
            break;
        }
        append(out, size, "%s is read ", what);
        move_words(out, size, t, f);
        break;
    case RULE_READ_SCALED:
        if (f->value == 0) append(out, size, "%s is left out", what);
        else append(out, size, "%s is read %g times", what, f->value);
        break;
    case RULE_READ_EXCHANGED:
        append(out, size, "%s and %s are read in each other's place", what, g->tensor[n->in[f->number]].name);
        break;
    case RULE_READ_OTHER:
        append(out, size, "%s is read in place of %s", g->tensor[f->number].name, what);
        break;
    case RULE_EXCHANGE:
        search_name(other, sizeof other, s, n->in[f->number], true);
        append(out, size, "%s and %s are exchanged", what, other);
        break;
    default: append(out, size, "%s is off by a factor: found/expected = %.6g", what, f->value); break;
    }
}

static const char *generic_hint(const hypothesis *h)
{
    switch (h->kind) {
    case FAULT_PATH_MISSING:   return "a tensor that is used in several places gets the sum of a gradient from each of them";
    case FAULT_ZERO:           return "each input has a gradient of its own; the kernel is to add it into din[]";
    case FAULT_BIAS_FORGOTTEN: return "a bias is added to each row, so its gradient is the sum of dy over the rows";
    case FAULT_OVERWRITTEN:    return "backward adds: dx += ..., not dx = ...";
    case FAULT_ROWS_MISSING:   return "look at the bounds of the loop that adds it up: batches, positions, tiles at the end";
    case FAULT_HEADS_SWAPPED:  return "a row holds its heads side by side: head h, channel i lies at h * HS + i";
    case FAULT_TRANSPOSED:     return "tensors are row-major: (C, OC) holds w[i][o] at i * OC + o";
    case FAULT_POSITION_SHIFT: return "look at the index of the position, or of the batch row, where it is read and written";
    case FAULT_BATCH_MIXED:    return "look at the index of the batch row where it is read and written";
    case FAULT_WRONG_FACTOR:   return "backward takes the values of the forward pass: look at which tensor it reads";
    case FAULT_SWAPPED:        return "look at the order of the tensors in in[] and din[]";
    case FAULT_ROUNDED:        return "keep sums and gradients in the kernel's own precision";
    case FAULT_SCALE_MISSING:  return "the factor of the forward pass is also one of its gradient";
    case FAULT_MEAN_FOR_SUM:   return "the upstream gradient already holds the factor of a mean: gradients are sums over the rows";
    case FAULT_SUM_FOR_MEAN:   return "a mean over n has the gradient 1/n";
    case FAULT_SIGN:           return "look for a difference whose terms are exchanged";
    case FAULT_TEMPERATURE:    return "logits / temperature: the gradient is divided by the temperature once";
    default:                   return "look at the factors of this gradient: which of the forward pass's does it lack, or have twice";
    }
}

static const char *const plural[GRAPH_KINDS] = {
    [GRAPH_EMBEDDING] = "embeddings", [GRAPH_LINEAR] = "linear layers", [GRAPH_SOFTMAX] = "softmaxes",
    [GRAPH_LAYERNORM] = "layer norms", [GRAPH_GELU] = "GELUs", [GRAPH_RESIDUAL] = "residual sums",
    [GRAPH_ATTENTION] = "attentions", [GRAPH_CROSSENTROPY] = "cross-entropies",
    [GRAPH_COLUMNS] = "column blocks", [GRAPH_TRANSPOSE] = "transposes", [GRAPH_MEAN] = "means",
};

void search_words(const search *s, const hypothesis *h, diagnosis *d)
{
    const graph *g = s->g;
    const graph_node *n = &g->node[h->node];
    const fault_info *info = fault_table(h->fault.rule);
    d->sentence[0] = d->hint[0] = '\0';
    if (info) fill(d->sentence, sizeof d->sentence, info->sentence, h->named);
    else generic_words(s, h, d->sentence, sizeof d->sentence);
    if (h->mode & (FAULT_IN_FORWARD | FAULT_IN_SAVED | FAULT_IN_OUT | FAULT_IN_OUT_LSE))
        append(d->sentence, sizeof d->sentence, "%s", ", in the forward pass");
    else if (h->mode & (FAULT_IN_BOTH | FAULT_IN_BOTH_LSE)) append(d->sentence, sizeof d->sentence, "%s", ", in both passes");
    else if (info && info->passes != FAULT_IN_BACKWARD)
        append(d->sentence, sizeof d->sentence, "%s", ", in the backward pass");
    if (h->nodes > 1)
        append(d->sentence, sizeof d->sentence, " (in all %d %s alike)", h->nodes, plural[n->kind]);
    else if (g->nnodes > 1) append(d->sentence, sizeof d->sentence, " (in %s)", n->name);
    snprintf(d->hint, sizeof d->hint, "%s", info ? info->hint : generic_hint(h));
}

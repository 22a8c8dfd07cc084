/* graph.c -- tensors and their names; graph_build.c has the operators. */
#include "verify/graph/graph.h"
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [VT_OP_SOFTMAX] = "softmax", [VT_OP_LINEAR] = "linear", [VT_OP_LAYERNORM] = "layernorm",
    [VT_OP_GELU] = "gelu", [VT_OP_ATTENTION] = "attention", [VT_OP_PROJECTED] = "projected",
    [VT_OP_CROSSENTROPY] = "crossentropy", [VT_OP_BLOCK] = "block", [VT_OP_GPT] = "gpt",
    [VT_OP_LAB] = "lab",
};

const char *graph_op_name(int op)
{
    return op >= 1 && op < (int)(sizeof names / sizeof *names) ? names[op] : NULL;
}

int graph_op_of(const char *name)
{
    for (int op = 1; graph_op_name(op); op++)
        if (strcmp(name, names[op]) == 0) return op;
    return 0;
}

int graph_find(const graph *g, const char *name)
{
    for (int i = 0; i < g->ntensors; i++)
        if (strcmp(g->tensor[i].name, name) == 0) return i;
    return -1;
}

/* The element's coordinates. */
static void coordinates(size_t out[GRAPH_RANK], const graph_tensor *t, size_t element)
{
    for (int i = t->rank; i-- > 0;) {
        out[i] = element % (size_t)t->shape[i];
        element /= (size_t)t->shape[i];
    }
}

/* Appends, and stops at the end of the room. */
static void append(char *out, size_t size, const char *before, const char *text, size_t number,
                   const char *after)
{
    const size_t used = strlen(out);
    if (used < size) snprintf(out + used, size - used, "%s%s%zu%s", before, text, number, after);
}

void graph_entry(char *out, size_t size, const graph_tensor *t, size_t element)
{
    size_t at[GRAPH_RANK];
    char axis[40];
    coordinates(at, t, element);
    snprintf(out, size, "%s", t->rank == 0 || t->count == 1 ? "its only element" : "");
    if (t->count == 1) return;
    for (int i = 0; i < t->rank; i++) {
        snprintf(axis, sizeof axis, "%s ", t->axis[i]);
        append(out, size, i ? ", " : "", axis, at[i], "");
    }
}

void graph_index(char *out, size_t size, const graph_tensor *t, size_t element)
{
    size_t at[GRAPH_RANK];
    coordinates(at, t, element);
    snprintf(out, size, "%s", t->name);
    for (int i = 0; i < t->rank; i++)
        append(out, size, i ? ", " : "[", "", at[i], i + 1 == t->rank ? "]" : "");
}

/* case_file.c -- see case_file.h. */
#include "verify/op/case_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/tensors.h"

enum { NAME = 80 };                     /* "bound.d" and a tensor's name */

typedef struct entry { char name[NAME]; double number; } entry;

/* Items with room for their names, and for numbers that nobody else keeps. */
typedef struct list {
    st_item *item;
    entry   *entry;
    size_t   count, room;
    int      single;                    /* lab: the graph's first of four axes is 1, the
                                           file has none */
} list;

static vt_status list_new(list *l, size_t room, vt_error *err)
{
    *l = (list){ .room = room, .item = calloc(room, sizeof *l->item),
                 .entry = calloc(room, sizeof *l->entry) };
    return l->item && l->entry ? VT_OK
         : fail_memory(err, room * (sizeof *l->item + sizeof *l->entry), "the names of a file");
}

static void list_free(list *l)
{
    free(l->item);
    free(l->entry);
    *l = (list){ .count = 0 };
}

/* The next item, of rank 0; its name is prefix and name. */
static st_item *add(list *l, const char *prefix, const char *name, st_dtype dtype, const void *data)
{
    entry *e = &l->entry[l->count];
    st_item *item = &l->item[l->count++];
    snprintf(e->name, sizeof e->name, "%s%s", prefix, name);
    *item = (st_item){ .name = e->name, .dtype = dtype, .data = data };
    return item;
}

static void add_number(list *l, const char *prefix, const char *name, double x)
{
    entry *e = &l->entry[l->count];
    e->number = x;
    add(l, prefix, name, ST_F64, &e->number);
}

/* ---- an operator -------------------------------------------------------------- */

static void add_tensor(list *l, const char *prefix, const graph_tensor *t, st_dtype dtype,
                       const void *data)
{
    st_item *item = add(l, prefix, t->name, dtype, data);
    const int first = t->rank == GRAPH_RANK && l->single;
    item->rank = (size_t)(t->rank - first);
    for (int i = first; i < t->rank; i++) item->shape[i - first] = (size_t)t->shape[i];
}

static void add_bound(list *l, const char *prefix, const graph_tensor *t, const double *bound)
{
    add_number(l, prefix, t->name, gradcheck_largest(bound + t->at, t->count));
}

static void add_inputs(list *l, const op_case *c, const int32_t *ints)
{
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        if (t->role >= GRAPH_INTEGERS) {
            add_tensor(l, "", t, ST_I32, ints + t->at);
            continue;
        }
        add_tensor(l, "", t, ST_F64, c->x + t->at);
        add_tensor(l, "d", t, ST_F64, c->dx + t->at);
        add_bound(l, "bound.d", t, c->edx);
    }
}

vt_status case_file_op(const op_case *c, const char *path, vt_error *err)
{
    list l = { .count = 0 };
    int32_t *ints = malloc((c->g.ints + 1) * sizeof *ints);
    vt_status s = list_new(&l, 3 * (size_t)(c->g.nin + c->g.nout) + 3, err);
    l.single = c->z.op == VT_OP_LAB;
    if (s == VT_OK && !ints) s = fail_memory(err, (c->g.ints + 1) * sizeof *ints, "integers");
    if (s) goto done;
    for (size_t i = 0; i < c->g.ints; i++) ints[i] = c->ints[i];
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t k = 0; t->role == GRAPH_MASK && k < t->count; k++)
            ints[t->at + k] = op_case_mask(c, k);
    }
    add_inputs(&l, c, ints);
    for (int i = 0; i < c->g.nout; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        add_tensor(&l, "", t, ST_F64, c->x + t->at);
        add_bound(&l, "bound.", t, c->ex);
        if (t->upstream) add_tensor(&l, "d", t, ST_F64, c->dout + t->at);
    }
    add_number(&l, "", "causal", c->z.causal);
    add_number(&l, "", "temperature", c->z.temperature);
    add_number(&l, "", "heads", c->z.NH);
    s = tensors_write(path, l.item, l.count, err);
done:
    list_free(&l);
    free(ints);
    return s;
}

/* ---- a model ------------------------------------------------------------------- */

static void add_parameter(list *l, const gradcheck_case *c, const gradcheck_grads *g, size_t i)
{
    static const char in_files[] = "transformer.";
    const gpt_tensor *t = &c->tensors[i];
    const char *name = t->file;
    if (strncmp(name, in_files, sizeof in_files - 1) == 0) name += sizeof in_files - 1;
    st_item *item[] = { add(l, "", name, ST_F32, c->params + t->offset),
                        add(l, "d", name, ST_F64, g->hand + t->offset) };
    for (size_t k = 0; k < 2; k++) {
        item[k]->rank = t->vector ? 1 : 2;
        item[k]->shape[0] = (size_t)(t->vector ? t->cols : t->rows);
        item[k]->shape[1] = t->vector ? 0 : (size_t)t->cols;
    }
    add_number(l, "bound.d", name, gradcheck_bounds_of(c, g, i).definitions);
}

static void add_rows(list *l, const gradcheck_case *c, const char *name, st_dtype dtype,
                     const void *data)
{
    st_item *item = add(l, "", name, dtype, data);
    item->rank = 2;
    item->shape[0] = (size_t)c->B;
    item->shape[1] = (size_t)c->T;
}

vt_status case_file_model(const gradcheck_case *c, const gradcheck_grads *g, const char *path,
                          vt_error *err)
{
    const size_t N = (size_t)c->B * (size_t)c->T;
    list l;
    vt_status s = list_new(&l, 3 * c->ntensors + 8, err);
    if (s) goto done;
    _Static_assert(sizeof(int) == sizeof(int32_t), "tokens are int32_t");
    double least = INFINITY;            /* a row's share of the noise of f is its weight */
    for (size_t n = 0; n < N; n++) least = fmin(least, fabs(g->weight[n]));
    add_rows(&l, c, "tokens", ST_I32, c->tokens);
    add_rows(&l, c, "targets", ST_I32, c->targets);
    for (size_t i = 0; i < c->ntensors; i++) add_parameter(&l, c, g, i);
    add_rows(&l, c, "loss", ST_F64, g->losses);
    add_rows(&l, c, "dloss", ST_F64, g->weight);
    add_number(&l, "bound.", "loss", g->noise / least);
    add_number(&l, "", "causal", 1);
    add_number(&l, "", "temperature", 1);
    add_number(&l, "", "heads", c->z->NH);
    s = tensors_write(path, l.item, l.count, err);
done:
    list_free(&l);
    return s;
}

/* op_call.c -- see op_call.h. */
#include "verify/op/op_call.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a kernel in this process --------------------------------------------- */

/* Arrays of pointers for one call. */
typedef struct pointers {
    const void **in, **dout;
    void       **out, **din;
    void        *block;
} pointers;

static bool pointers_new(pointers *p, size_t nin, size_t nout)
{
    void **all = calloc(2 * (nin + nout) + 1, sizeof *all);
    *p = (pointers){ .block = all };
    if (!all) return false;
    p->out = all;
    p->din = all + nout;
    p->in = (const void **)(all + nout + nin);
    p->dout = (const void **)(all + nout + 2 * nin);
    return true;
}

static size_t bytes_of(const kernel_buffer *b, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += b[i].data ? b[i].count * b[i].element : 0;
    return sum;
}

static void gather(unsigned char *to, const kernel_buffer *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t size = b[i].data ? b[i].count * b[i].element : 0;
        if (size) memcpy(to, b[i].data, size);
        to += size;
    }
}

/* The first element that differs from what was kept; false: none does. */
static bool was_written(const unsigned char *kept, const kernel_buffer *b, size_t n,
                        const char *what, kernel_outcome *out)
{
    for (size_t i = 0; i < n; i++) {
        const size_t size = b[i].data ? b[i].count * b[i].element : 0;
        const unsigned char *now = b[i].data;
        for (size_t j = 0; j < size; j++) {
            if (kept[j] == now[j]) continue;
            out->end = KERNEL_CRASHED;
            out->code = 11;
            out->buffer = b[i].name;
            out->element = (long long)(j / b[i].element);
            snprintf(out->text, sizeof out->text, "wrote to its %s %s, element %lld", what,
                     b[i].name, out->element);
            return true;
        }
        kept += size;
    }
    return false;
}

/* As the host does: what is not written is seen. */
static void fill_nan(const kernel_buffer *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; b[i].data && j < b[i].count; j++) {
            if (b[i].element == sizeof(float)) ((float *)b[i].data)[j] = NAN;
            else ((double *)b[i].data)[j] = NAN;
        }
}

static vt_status local_save(op_local *l, size_t size, vt_error *err)
{
    if (size <= l->save_bytes) return VT_OK;
    void *more = realloc(l->save, size);
    if (!more) return fail_memory(err, size, "a kernel's save");
    l->save = more;
    l->save_bytes = size;
    return VT_OK;
}

static vt_status local_call(void *context, const kernel_request *r, kernel_outcome *out,
                            vt_error *err)
{
    op_local *l = context;
    vt_kernel_call c = r->call;
    const bool forward = c.pass == VT_KERNEL_FORWARD;
    const size_t in_bytes = bytes_of(r->in, c.nin);
    const size_t out_bytes = forward ? 0 : bytes_of(r->out, c.nout);
    pointers p = { .block = NULL };
    unsigned char *kept = malloc(in_bytes + out_bytes + 1);
    memset(out, 0, sizeof *out);
    vt_status s = local_save(l, c.save_bytes, err);
    if (s == VT_OK && (!kept || !pointers_new(&p, c.nin, c.nout)))
        s = fail_memory(err, in_bytes + out_bytes, "a kernel's call");
    if (s) goto done;
    for (size_t i = 0; i < c.nin; i++) {
        p.in[i] = r->in[i].data;
        p.din[i] = forward ? NULL : r->din[i].data;
    }
    for (size_t i = 0; i < c.nout; i++) {
        p.out[i] = r->out[i].data;
        p.dout[i] = forward ? NULL : r->dout[i].data;
    }
    if (forward) fill_nan(r->out, c.nout);
    gather(kept, r->in, c.nin);
    if (!forward) gather(kept + in_bytes, r->out, c.nout);
    c.abi = VT_KERNEL_ABI;
    c.bytes = sizeof c;
    c.in = p.in;
    c.out = p.out;
    c.dout = forward ? NULL : p.dout;
    c.din = forward ? NULL : p.din;
    c.save = l->save;
    const int code = l->run(&c, l->fault);
    if (code == VT_KERNEL_UNSUPPORTED) out->end = KERNEL_UNSUPPORTED;
    else if (code) {
        out->end = KERNEL_RETURNED;
        out->code = code;
        snprintf(out->text, sizeof out->text, "returned %d", code);
    } else if (!was_written(kept, r->in, c.nin, "input", out) && !forward)
        (void)was_written(kept + in_bytes, r->out, c.nout, "output", out);
done:
    free(kept);
    free(p.block);
    return s;
}

op_kernel op_kernel_local(op_local *l)
{
    return (op_kernel){ .call = local_call, .context = l };
}

void op_local_free(op_local *l)
{
    free(l->save);
    l->save = NULL;
    l->save_bytes = 0;
}

/* ---- the arrays ----------------------------------------------------------- */

op_values op_values_of(const op_case *c)
{
    return (op_values){ .x = c->x, .ints = c->ints, .dout = c->dout, .start = c->start };
}

void op_call_sizes(vt_kernel_call *call, const graph_sizes *z)
{
    *call = (vt_kernel_call){
        .op = z->op, .causal = z->causal, .temperature = z->temperature,
        .N = (size_t)z->N, .C = (size_t)z->C, .OC = (size_t)z->OC, .V = (size_t)z->V,
        .B = (size_t)z->B, .T = (size_t)z->T, .S = (size_t)z->S, .NH = (size_t)z->NH,
        .HS = (size_t)z->HS, .FF = (size_t)z->FF, .L = (size_t)z->L,
    };
}

/* The graph has no mask where it is causal only; a kernel's in[] has its place. */
static size_t inputs_of(const op_case *c)
{
    if (c->z.op == VT_OP_ATTENTION) return VT_ATTENTION_MASK + 1;
    if (c->z.op == VT_OP_PROJECTED) return VT_PROJECTED_MASK + 1;
    return (size_t)c->g.nin;
}

static const graph_tensor *input(const op_case *c, size_t i)
{
    return i < (size_t)c->g.nin ? &c->g.tensor[c->g.in[i]] : NULL;
}

static const graph_tensor *output(const op_case *c, size_t i)
{
    return &c->g.tensor[c->g.out[i]];
}

static size_t element_of(const op_call *call, const graph_tensor *t)
{
    if (t->role < GRAPH_INTEGERS) return call->element;
    return t->role == GRAPH_MASK ? 1 : sizeof(int32_t);
}

/* A mask that nobody asked for is NULL. */
static bool absent(const op_case *c, const graph_tensor *t)
{
    return !t || (t->role == GRAPH_MASK && !c->z.masked);
}

/* Places a buffer at `offset` of the block and moves it on, in steps of 8 bytes. */
static void place(kernel_buffer *b, const op_call *call, const graph_tensor *t, const char *name,
                  size_t *offset)
{
    *b = (kernel_buffer){ .name = name, .count = t->count, .element = element_of(call, t) };
    b->data = call->block ? call->block + *offset : NULL;
    *offset += (t->count * b->element + 7) / 8 * 8;
}

static size_t place_all(op_call *call)
{
    const op_case *c = call->c;
    const size_t nin = call->r.call.nin, nout = call->r.call.nout;
    size_t at = 0;
    char *name = call->names;
    for (size_t i = 0; i < nin; i++, name += GRAPH_NAME + 1) {
        const graph_tensor *t = input(c, i);
        call->in[i] = call->din[i] = (kernel_buffer){ .name = t ? t->name : "mask", .element = 1 };
        if (absent(c, t)) continue;
        place(&call->in[i], call, t, t->name, &at);
        if (t->role != GRAPH_INPUT) continue;
        snprintf(name, GRAPH_NAME + 1, "d%s", t->name);
        place(&call->din[i], call, t, name, &at);
    }
    for (size_t i = 0; i < nout; i++, name += GRAPH_NAME + 1) {
        const graph_tensor *t = output(c, i);
        place(&call->out[i], call, t, t->name, &at);
        snprintf(name, GRAPH_NAME + 1, "d%s", t->name);
        call->dout[i] = (kernel_buffer){ .name = name, .element = 1 };
        if (t->upstream) place(&call->dout[i], call, t, name, &at);
    }
    return at;
}

vt_status op_call_new(op_call *call, const op_case *c, vt_error *err)
{
    *call = (op_call){ .c = c, .passes = VT_KERNEL_FORWARD | VT_KERNEL_BACKWARD };
    if (c->p != PRECISION_F32 && c->p != PRECISION_F64)
        return fail(err, VT_USAGE, "precision %s: a kernel is called in float32 or float64",
                    precision_name(c->p));
    vt_kernel_call *k = &call->r.call;
    op_call_sizes(k, &c->z);
    call->element = c->p == PRECISION_F32 ? sizeof(float) : sizeof(double);
    k->dtype = c->p == PRECISION_F32 ? VT_KERNEL_F32 : VT_KERNEL_F64;
    k->nin = inputs_of(c);
    k->nout = (size_t)c->g.nout;
    const size_t layers = c->z.L > 0 ? (size_t)c->z.L : 1;
    const size_t cells = (size_t)c->z.B * (size_t)c->z.NH * (size_t)c->z.T * (size_t)c->z.S;
    k->save_bytes = sizeof(double) * (c->g.reals + c->g.ints + 4 * cells * layers);
    const size_t n = k->nin + k->nout;
    call->in = calloc(2 * n, sizeof *call->in);
    call->names = calloc(n, GRAPH_NAME + 1);
    size_t size = 0;
    if (call->in && call->names) {
        call->din = call->in + k->nin;
        call->out = call->din + k->nin;
        call->dout = call->out + k->nout;
        size = place_all(call);
        call->block = calloc(size + 1, 1);
    }
    if (!call->block) {
        op_call_free(call);
        return fail_memory(err, size, "a kernel's tensors");
    }
    (void)place_all(call);
    call->r.in = call->in;
    call->r.out = call->out;
    return VT_OK;
}

void op_call_free(op_call *call)
{
    free(call->in);
    free(call->names);
    free(call->block);
    *call = (op_call){ .c = NULL };
}

/* ---- a pass --------------------------------------------------------------- */

static void put_reals(const kernel_buffer *b, const double *from)
{
    if (!b->data) return;
    for (size_t i = 0; i < b->count; i++) {
        if (b->element == sizeof(float)) ((float *)b->data)[i] = (float)from[i];
        else ((double *)b->data)[i] = from[i];
    }
}

static void get_reals(double *to, const kernel_buffer *b)
{
    if (!b->data) return;
    for (size_t i = 0; i < b->count; i++)
        to[i] = b->element == sizeof(float) ? (double)((const float *)b->data)[i]
                                            : ((const double *)b->data)[i];
}

static void put_mask(const kernel_buffer *b, const op_case *c)
{
    unsigned char *to = b->data;
    for (size_t i = 0; i < b->count; i++) to[i] = (unsigned char)op_case_mask(c, i);
}

static void put_integers(const kernel_buffer *b, const int *from)
{
    int32_t *to = b->data;
    for (size_t i = 0; i < b->count; i++) to[i] = from[i];
}

static void put_inputs(op_call *call, const op_values *v)
{
    for (size_t i = 0; i < call->r.call.nin; i++) {
        const graph_tensor *t = input(call->c, i);
        const kernel_buffer *b = &call->in[i];
        if (!b->data) continue;
        if (t->role == GRAPH_INPUT) put_reals(b, v->x + t->at);
        else if (t->role == GRAPH_MASK) put_mask(b, call->c);
        else put_integers(b, v->ints + t->at);
    }
}

vt_status op_call_forward(op_call *call, const op_kernel *k, const op_values *v, double *x,
                          kernel_outcome *out, vt_error *err)
{
    put_inputs(call, v);
    call->r.call.pass = VT_KERNEL_FORWARD;
    call->r.dout = call->r.din = NULL;
    const vt_status s = k->call(k->context, &call->r, out, err);
    if (s || (out->end != KERNEL_OK && out->end != KERNEL_OVERWROTE)) return s;
    for (size_t i = 0; i < call->r.call.nout; i++)
        get_reals(x + output(call->c, i)->at, &call->out[i]);
    return VT_OK;
}

vt_status op_call_backward(op_call *call, const op_kernel *k, const op_values *v, double *dx,
                           kernel_outcome *out, vt_error *err)
{
    put_inputs(call, v);
    for (size_t i = 0; i < call->r.call.nin; i++)
        if (call->din[i].data) put_reals(&call->din[i], v->start + input(call->c, i)->at);
    for (size_t i = 0; i < call->r.call.nout; i++)
        put_reals(&call->dout[i], v->dout + output(call->c, i)->at);
    call->r.call.pass = VT_KERNEL_BACKWARD;
    call->r.dout = call->dout;
    call->r.din = call->din;
    const vt_status s = k->call(k->context, &call->r, out, err);
    if (s || (out->end != KERNEL_OK && out->end != KERNEL_OVERWROTE)) return s;
    for (size_t i = 0; i < call->r.call.nin; i++)
        if (call->din[i].data) get_reals(dx + input(call->c, i)->at, &call->din[i]);
    return VT_OK;
}

void op_call_outputs(op_call *call)
{
    for (size_t i = 0; i < call->r.call.nout; i++)
        put_reals(&call->out[i], call->c->x + output(call->c, i)->at);
}

/* ---- bits ----------------------------------------------------------------- */

static const kernel_buffer *results(const op_call *call, int pass, size_t *n)
{
    *n = pass == VT_KERNEL_FORWARD ? call->r.call.nout : call->r.call.nin;
    return pass == VT_KERNEL_FORWARD ? call->out : call->din;
}

bool op_call_same(const op_call *call, int pass, const unsigned char *kept)
{
    size_t n;
    const kernel_buffer *b = results(call, pass, &n);
    for (size_t i = 0; i < n; i++) {
        const size_t size = b[i].data ? b[i].count * b[i].element : 0;
        if (size && memcmp(kept, b[i].data, size) != 0) return false;
        kept += size;
    }
    return true;
}

vt_status op_call_keep(const op_call *call, int pass, unsigned char **kept, vt_error *err)
{
    size_t n;
    const kernel_buffer *b = results(call, pass, &n);
    const size_t size = bytes_of(b, n);
    *kept = malloc(size + 1);
    if (!*kept) return fail_memory(err, size, "a kernel's results");
    gather(*kept, b, n);
    return VT_OK;
}

vt_status op_found_new(op_found *f, const op_case *c, vt_error *err)
{
    const size_t n = (size_t)c->g.ntensors;
    *f = (op_found){
        .x = calloc(c->g.reals + 1, sizeof *f->x), .dx = calloc(c->g.reals + 1, sizeof *f->dx),
        .has_x = calloc(n, sizeof *f->has_x), .has_dx = calloc(n, sizeof *f->has_dx),
    };
    if (f->x && f->dx && f->has_x && f->has_dx) return VT_OK;
    op_found_free(f);
    return fail_memory(err, 2 * c->g.reals * sizeof *f->x, "a kernel's results");
}

void op_found_free(op_found *f)
{
    free(f->x);
    free(f->dx);
    free(f->has_x);
    free(f->has_dx);
    *f = (op_found){ .x = NULL };
}

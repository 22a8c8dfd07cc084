/* lab_dump.c -- see lab.h: the lab's tensors as a file that NumPy, PyTorch and
 * `vitrine check --dump FILE --op lab --heads N` read.
 *
 * Inputs, outputs and gradients have the names and shapes of vitrine_kernel.h's
 * VT_OP_LAB; what lies between is there too, under names of the same kind.  Heads
 * lie side by side in a row of q, k, v and o: shape (T, heads, width).
 */
#include "formats/tensors.h"
#include "lab/lab.h"

enum { T = VT_LAB_T, C = VT_LAB_C, D = VT_LAB_D, VOCABULARY = VT_LAB_V, ITEMS_MOST = 48 };

typedef struct items {
    st_item at[ITEMS_MOST];
    size_t  count;
    st_dtype dtype;
} items;

/* Sizes of 0 end the shape. */
static void item(items *l, const char *name, const void *data, size_t a, size_t b, size_t c)
{
    st_item *i = &l->at[l->count++];
    *i = (st_item){ .name = name, .dtype = l->dtype, .shape = { a, b, c }, .data = data };
    i->rank = c ? 3 : b ? 2 : a ? 1 : 0;
}

/* Where the numbers are, in either precision: addresses of arrays. */
typedef struct sources {
    const void *X, *Wq, *Wk, *Wv, *Wo, *dX, *dWq, *dWk, *dWv, *dWo;
    const void *Q, *K, *V, *scores, *scaled, *masked, *P, *O, *logits, *losses, *lse;
    const void *dlogits, *dO, *dP, *dS, *dQ, *dK, *dV;
    const void *loss, *dloss, *temperature;
} sources;

static void add_all(items *l, const sources *s, size_t heads)
{
    const size_t width = D / heads;
    item(l, "x", s->X, T, C, 0);
    item(l, "wq", s->Wq, C, D, 0);
    item(l, "wk", s->Wk, C, D, 0);
    item(l, "wv", s->Wv, C, D, 0);
    item(l, "wo", s->Wo, D, VOCABULARY, 0);
    item(l, "q", s->Q, T, heads, width);
    item(l, "k", s->K, T, heads, width);
    item(l, "v", s->V, T, heads, width);
    item(l, "scores", s->scores, heads, T, T);
    item(l, "scaled", s->scaled, heads, T, T);
    item(l, "masked", s->masked, heads, T, T);
    item(l, "p", s->P, heads, T, T);
    item(l, "o", s->O, T, heads, width);
    item(l, "logits", s->logits, T, VOCABULARY, 0);
    item(l, "lse", s->lse, T, 0, 0);
    item(l, "losses", s->losses, T, 0, 0);
    item(l, "loss", s->loss, 1, 0, 0);
    item(l, "dloss", s->dloss, 1, 0, 0);
    item(l, "dlogits", s->dlogits, T, VOCABULARY, 0);
    item(l, "dwo", s->dWo, D, VOCABULARY, 0);
    item(l, "do", s->dO, T, heads, width);
    item(l, "dp", s->dP, heads, T, T);
    item(l, "ds", s->dS, heads, T, T);
    item(l, "dq", s->dQ, T, heads, width);
    item(l, "dk", s->dK, T, heads, width);
    item(l, "dv", s->dV, T, heads, width);
    item(l, "dwq", s->dWq, C, D, 0);
    item(l, "dwk", s->dWk, C, D, 0);
    item(l, "dwv", s->dWv, C, D, 0);
    item(l, "dx", s->dX, T, C, 0);
    item(l, "temperature", s->temperature, 0, 0, 0);
}

/* The fields of the stages and slopes are called alike in every precision. */
#define SOURCES(at, grad, s, d, loss_, dloss_, temperature_)                                   \
    { .X = (at) + LAB_X, .Wq = (at) + LAB_WQ, .Wk = (at) + LAB_WK, .Wv = (at) + LAB_WV,         \
      .Wo = (at) + LAB_WO, .dX = (grad) + LAB_X, .dWq = (grad) + LAB_WQ,                        \
      .dWk = (grad) + LAB_WK, .dWv = (grad) + LAB_WV, .dWo = (grad) + LAB_WO,                   \
      .Q = (s)->Q, .K = (s)->K, .V = (s)->V, .scores = (s)->scores, .scaled = (s)->scaled,      \
      .masked = (s)->masked, .P = (s)->P, .O = (s)->O, .logits = (s)->logits,                   \
      .losses = (s)->loss, .lse = (s)->lse, .dlogits = (d)->dlogits, .dO = (d)->dO,             \
      .dP = (d)->dP, .dS = (d)->dS, .dQ = (d)->dQ, .dK = (d)->dK, .dV = (d)->dV,                \
      .loss = (loss_), .dloss = (dloss_), .temperature = (temperature_) }

static vt_status write(const lab_case *c, st_dtype dtype, const sources *s, const char *path,
                       vt_error *err)
{
    int32_t target[T];
    items l = { .dtype = dtype };
    add_all(&l, s, (size_t)c->heads);
    for (size_t t = 0; t < T; t++) target[t] = c->target[t];
    l.dtype = ST_I32;
    item(&l, "target", target, T, 0, 0);
    return tensors_write(path, l.at, l.count, err);
}

static vt_status dump_double(const lab_case *c, const char *path, vt_error *err)
{
    lab_stages_f64 s;
    lab_slopes_f64 d;
    double grad[LAB_ENTRIES];
    const double one = 1;
    const double loss = lab_forward_f64(&s, c->at, c->target, c->heads, c->temperature);
    lab_backward_slopes_f64(grad, &d, &s, c->at, c->target, c->heads, c->temperature);
    const sources from = SOURCES(c->at, grad, &s, &d, &loss, &one, &c->temperature);
    return write(c, ST_F64, &from, path, err);
}

static vt_status dump_float(const lab_case *c, const char *path, vt_error *err)
{
    lab_stages_f32 s;
    lab_slopes_f32 d;
    float at[LAB_ENTRIES], grad[LAB_ENTRIES];
    const float one = 1, temperature = (float)c->temperature;
    for (size_t i = 0; i < LAB_ENTRIES; i++) at[i] = (float)c->at[i];
    const float loss = lab_forward_f32(&s, at, c->target, c->heads, temperature);
    lab_backward_slopes_f32(grad, &d, &s, at, c->target, c->heads, temperature);
    const sources from = SOURCES(at, grad, &s, &d, &loss, &one, &temperature);
    return write(c, ST_F32, &from, path, err);
}

vt_status lab_dump(const lab_case *c, const char *path, vt_error *err)
{
    return c->in_float ? dump_float(c, path, err) : dump_double(c, path, err);
}

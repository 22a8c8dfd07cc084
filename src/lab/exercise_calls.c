/* exercise_calls.c -- how the functions of exercises/ are called, in the child process
 * that has loaded them: from the tensors in the order of exercises.c.
 *
 * A learner declares matrices as double X[T][C]; to the caller each is a pointer to its
 * first number.  None of the functions returns anything.
 */
#include <string.h>
#include "lab/exercises.h"

typedef const double *in_t;
typedef double *out_t;

static int size(size_t n) { return (int)n; }

/* A function's address out of dlsym's void pointer, as POSIX has it. */
#define FUNCTION(f, symbol) memcpy(&(f), &(symbol), sizeof(f))

int exercise_call_forward(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, int, int, out_t, out_t, out_t, out_t, out_t, out_t, out_t,
              in_t, in_t, in_t, in_t, in_t, const int *);
    FUNCTION(f, symbol);
    f(size(c->T), size(c->C), size(c->HS), size(c->V), c->out[0], c->out[1], c->out[2],
      c->out[3], c->out[4], c->out[5], c->out[6], c->in[0], c->in[1], c->in[2], c->in[3],
      c->in[4], c->in[5]);
    return 0;
}

int exercise_call_softmax(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, out_t, in_t, in_t);
    FUNCTION(f, symbol);
    f(size(c->N), size(c->V), c->din[0], c->dout[0], c->in[1]);
    return 0;
}

/* in: Wo, Wv, Wk, Wq, X, target, Q, K, V, P, O, logits */
int exercise_call_backward(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, int, int, out_t, out_t, out_t, out_t, out_t, double,
              in_t, in_t, in_t, in_t, in_t, const int *, in_t, in_t, in_t, in_t, in_t, in_t);
    const double *dloss = c->dout[0];
    FUNCTION(f, symbol);
    f(size(c->T), size(c->C), size(c->HS), size(c->V), c->din[4], c->din[3], c->din[2],
      c->din[1], c->din[0], *dloss, c->in[4], c->in[3], c->in[2], c->in[1], c->in[0], c->in[5],
      c->in[6], c->in[7], c->in[8], c->in[9], c->in[10], c->in[11]);
    return 0;
}

int exercise_call_heads_forward(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, int, out_t, out_t, in_t, in_t, in_t);
    FUNCTION(f, symbol);
    f(size(c->T), size(c->NH), size(c->HS), c->out[0], c->out[1], c->in[0], c->in[1], c->in[2]);
    return 0;
}

/* in: V, Q, K, P */
int exercise_call_heads_backward(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, int, out_t, out_t, out_t, in_t, in_t, in_t, in_t, in_t);
    FUNCTION(f, symbol);
    f(size(c->T), size(c->NH), size(c->HS), c->din[1], c->din[2], c->din[0], c->dout[0],
      c->in[3], c->in[1], c->in[2], c->in[0]);
    return 0;
}

int exercise_call_loss_forward(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, out_t, in_t, const int *, double);
    FUNCTION(f, symbol);
    f(size(c->N), size(c->V), c->out[0], c->in[0], c->in[1], c->temperature);
    return 0;
}

int exercise_call_loss_backward(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, out_t, in_t, in_t, const int *, double);
    FUNCTION(f, symbol);
    f(size(c->N), size(c->V), c->din[0], c->dout[0], c->in[0], c->in[1], c->temperature);
    return 0;
}

int exercise_call_causal_forward(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, int, out_t, out_t, in_t, in_t, in_t);
    FUNCTION(f, symbol);
    f(size(c->T), size(c->S), size(c->HS), c->out[0], c->out[1], c->in[0], c->in[1], c->in[2]);
    return 0;
}

/* in: V, Q, K, P */
int exercise_call_causal_backward(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, int, out_t, out_t, out_t, in_t, in_t, in_t, in_t, in_t);
    FUNCTION(f, symbol);
    f(size(c->T), size(c->S), size(c->HS), c->din[1], c->din[2], c->din[0], c->dout[0],
      c->in[3], c->in[1], c->in[2], c->in[0]);
    return 0;
}

/* in: b, w, x, mean, rstd; b is not handed on, its gradient is */
int exercise_call_layernorm(void *symbol, const vt_kernel_call *c)
{
    void (*f)(int, int, out_t, out_t, out_t, in_t, in_t, in_t, in_t, in_t);
    FUNCTION(f, symbol);
    f(size(c->N), size(c->C), c->din[2], c->din[1], c->din[0], c->dout[0], c->in[2], c->in[1],
      c->in[3], c->in[4]);
    return 0;
}

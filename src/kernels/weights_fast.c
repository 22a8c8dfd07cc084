/* weights_fast.c -- the weights of a row of logits, in double:
 *
 *     w[v] = exp((l[v] - max) / temperature)
 *
 * with l[v] <= max, bit for bit as sample/filters.c computes it with exp_f64(): the
 * same operations in the same order, but without the branches that keep a compiler
 * from doing several at a time.  A vocabulary has tens of thousands of them for each
 * token that is drawn.
 */
#include "kernels/fast.h"
#include "base/elementary_parts.h"

/* Numbers of a task.  e^LEAST is 0 in double: below it nothing changes. */
enum { CHUNK = 2048 };
static const double LEAST = -746;

typedef struct job { double *w; const float *logits; double max, temperature; size_t n; } job;

static void task(void *context, size_t i, int worker)
{
    const job *z = context;
    const size_t from = i * CHUNK, n = z->n - from < CHUNK ? z->n - from : CHUNK;
    const float *restrict logits = z->logits + from;
    double *restrict w = z->w + from;
    const double max = z->max, temperature = z->temperature;
    (void)worker;
    for (size_t v = 0; v < n; v++) w[v] = ((double)logits[v] - max) / temperature;
    for (size_t v = 0; v < n; v++) w[v] = w[v] > LEAST ? w[v] : LEAST;
    for (size_t v = 0; v < n; v++) {
        int k;
        const parts e = exp_parts(w[v], &k);
        w[v] = scale(e.hi, k);
    }
}

void FAST(weights)(team *t, double *w, const float *logits, double max, double temperature,
                   size_t n)
{
    job z = { .w = w, .logits = logits, .max = max, .temperature = temperature, .n = n };
    team_run(t, n / CHUNK + (n % CHUNK != 0), task, &z);
}

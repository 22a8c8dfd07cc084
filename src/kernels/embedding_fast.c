/* embedding_fast.c -- rows of the two embeddings, added in vectors.
 *
 * The same roundings and, in backward, the same order of additions as
 * embedding.c, hence the same bits.  Forward cuts the B*T rows into tasks.
 * Backward must not let two tasks add to one token's row: a task owns COLUMNS
 * columns of dwte and dwpe and takes all rows in order.
 */
#include "kernels/fast.h"
#include "kernels/simd.h"

enum { ROWS = 64, COLUMNS = 32 };

typedef struct job {
    float *out, *dwte, *dwpe;
    const float *wte, *wpe, *dout;
    const int *tokens;
    size_t N, T, P, C;
} job;

/* out = a + b, n numbers. */
static inline void add(float *out, const float *a, const float *b, size_t n)
{
    size_t j = 0;
    for (; j + VEC_LANES <= n; j += VEC_LANES)
        vec_store(out + j, vec_add(vec_load(a + j), vec_load(b + j)));
    for (; j < n; j++) out[j] = a[j] + b[j];
}

static void forward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t end = z->N - i * ROWS < ROWS ? z->N : (i + 1) * ROWS;
    for (size_t n = i * ROWS; n < end; n++)
        add(z->out + n * z->C, z->wte + (size_t)z->tokens[n] * z->C,
            z->wpe + (z->P + n % z->T) * z->C, z->C);
}

static void backward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t from = i * COLUMNS;
    const size_t width = z->C - from < COLUMNS ? z->C - from : COLUMNS;
    for (size_t n = 0; n < z->N; n++) {
        const float *d = z->dout + n * z->C + from;
        float *token = z->dwte + (size_t)z->tokens[n] * z->C + from;
        float *position = z->dwpe + (z->P + n % z->T) * z->C + from;
        add(token, token, d, width);
        add(position, position, d, width);
    }
}

void FAST(embedding_forward)(team *tm, float *out, const int *tokens,
                             const float *wte, const float *wpe,
                             int B, int T, int P, int C)
{
    job z = { .out = out, .wte = wte, .wpe = wpe, .tokens = tokens, .N = (size_t)B * (size_t)T,
              .T = (size_t)T, .P = (size_t)P, .C = (size_t)C };
    team_run(tm, (z.N + ROWS - 1) / ROWS, forward_task, &z);
}

void FAST(embedding_backward)(team *tm, float *dwte, float *dwpe, const float *dout,
                              const int *tokens, int B, int T, int P, int C)
{
    job z = { .dwte = dwte, .dwpe = dwpe, .dout = dout, .tokens = tokens,
              .N = (size_t)B * (size_t)T, .T = (size_t)T, .P = (size_t)P, .C = (size_t)C };
    team_run(tm, (z.C + COLUMNS - 1) / COLUMNS, backward_task, &z);
}

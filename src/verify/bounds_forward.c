/* bounds_forward.c -- see bounds.h. */
#include "verify/bounds.h"
#include <math.h>

void bounds_forward(const graph *g, const double *x, const int *ints, double u, double tiny,
                    double *ex)
{
    (void)ints;
    for (int i = 0; i < g->ntensors; i++) {
        const graph_tensor *t = &g->tensor[i];
        double largest = 0;
        if (t->role >= GRAPH_INTEGERS) continue;
        for (size_t k = 0; k < t->count; k++)
            if (isfinite(x[t->at + k])) largest = fmax(largest, fabs(x[t->at + k]));
        for (size_t k = 0; k < t->count; k++)
            ex[t->at + k] = t->role == GRAPH_INPUT ? 0 : 256 * u * largest + tiny;
    }
}

void bounds_backward(const graph *g, const double *dx, const double *x, const int *ints,
                     const double *start, double u, double tiny, const double *ex, double *edx)
{
    (void)ints, (void)ex, (void)x;
    for (int i = 0; i < g->ntensors; i++) {
        const graph_tensor *t = &g->tensor[i];
        double largest = 0;
        if (t->role >= GRAPH_INTEGERS) continue;
        for (size_t k = t->at; k < t->at + t->count; k++)
            largest = fmax(largest, fabs(dx[k]) + (start ? fabs(start[k]) : 0));
        for (size_t k = t->at; k < t->at + t->count; k++)
            edx[k] = t->upstream ? 0 : 256 * u * largest + tiny;
    }
}

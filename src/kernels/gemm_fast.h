/* gemm_fast.h -- the matrix product under `linear`: see gemm_fast.c. */
#ifndef GEMM_FAST_H
#define GEMM_FAST_H

#include "kernels/fast.h"

/* How c is cut into tasks, by panels of columns and by blocks of rows; steps of k at a time. */
typedef struct gemm_cut {
    size_t width, panels, rows, blocks, steps;
    bool single, in_place, copy, far, packed;
} gemm_cut;

/* c[i,j] = start[j] + sum_k a[i,k] b[k,j], or c[i,j] += the sum. */
typedef struct gemm {
    size_t m, n, k;             /* c is (m, n); all >= 1 */
    float       *c;
    size_t       c_row;         /* c[i,j] = c[i*c_row + j] */
    const float *a;
    size_t       a_row, a_step; /* a[i,k] = a[i*a_row + k*a_step], one is 1 */
    const float *b;
    size_t       b_row, b_step; /* b[k,j] = b[k*b_row + j*b_step], one is 1 */
    bool         add;           /* the sum starts from c */
    const float *start;         /* else from this (n), or from 0 if NULL */
    float       *sums;          /* if not NULL: sums[j] += sum_k b[k,j]; needs
                                   b_step = 1 */
    /* What happens to a finished sum s while it is near; all lie like c.  Not in a
     * page's module. */
    const float *plus;          /* if not NULL: c = plus + s */
    float       *gelu;          /* if not NULL: gelu(s), beside c = s */
    const float *slope_at;      /* if not NULL: c = s gelu'(slope_at) */
    gemm_cut     cut;           /* gemm_tasks()'s */
} gemm;

#ifdef VT_ISA
/* The number of tasks, a function of the shape, which is cut; each writes its own part of c
 * and sums.  They may run in any order.  `room`: gemm_room() floats of the caller's
 * own, or NULL, which is slower and has the same bits. */
size_t FAST(gemm_tasks)(gemm *g);
void   FAST(gemm_task)(const gemm *g, size_t i, float *room);
size_t FAST(gemm_room)(void);
#endif

#endif

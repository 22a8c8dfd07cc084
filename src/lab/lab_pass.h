/* lab_pass.h -- the lab's forward and backward pass for one scalar: VT_SCALAR
 * 32, 64, 128 or 113, as in definitions.h.  No guard: lab.h includes it for three.
 *
 * All numbers with a gradient lie in one array, at[LAB_ENTRIES]: Wq, Wk, Wv
 * (C, D), Wo (D, V), X (T, C), one behind the other; a gradient has the same
 * layout.  Sizes are vitrine.h's: T = VT_LAB_T and so on; heads divides D.
 */
#include "kernels/definitions.h"
#include "vitrine.h"

#undef LAB
#if   VT_SCALAR == 32
#define LAB(name) lab_##name##_f32
#elif VT_SCALAR == 64
#define LAB(name) lab_##name##_f64
#elif VT_SCALAR == 113
#define LAB(name) lab_##name##_f128
#else
#define LAB(name) lab_##name##_c128
#endif

#ifndef LAB_OFFSETS
#define LAB_OFFSETS
enum {
    LAB_WQ = 0,
    LAB_WK = LAB_WQ + VT_LAB_C * VT_LAB_D,
    LAB_WV = LAB_WK + VT_LAB_C * VT_LAB_D,
    LAB_WO = LAB_WV + VT_LAB_C * VT_LAB_D,
    LAB_X  = LAB_WO + VT_LAB_D * VT_LAB_V,
    LAB_ENTRIES = LAB_X + VT_LAB_T * VT_LAB_C
};
#endif

/* What forward computes and backward reads; heads lie side by side in a row of
 * Q, K, V and O. */
typedef struct LAB(stages) {
    scalar Q[VT_LAB_T * VT_LAB_D], K[VT_LAB_T * VT_LAB_D], V[VT_LAB_T * VT_LAB_D];
    scalar scores[VT_LAB_HEADS * VT_LAB_T * VT_LAB_T];      /* (heads, T, T), so too */
    scalar scaled[VT_LAB_HEADS * VT_LAB_T * VT_LAB_T];
    scalar masked[VT_LAB_HEADS * VT_LAB_T * VT_LAB_T];
    scalar P[VT_LAB_HEADS * VT_LAB_T * VT_LAB_T];
    scalar O[VT_LAB_T * VT_LAB_D];
    scalar logits[VT_LAB_T * VT_LAB_V];
    scalar loss[VT_LAB_T], lse[VT_LAB_T];                   /* of each position */
} LAB(stages);

/* The gradients on the way back, of the stages with the same letters. */
typedef struct LAB(slopes) {
    scalar dlogits[VT_LAB_T * VT_LAB_V];
    scalar dO[VT_LAB_T * VT_LAB_D];
    scalar dP[VT_LAB_HEADS * VT_LAB_T * VT_LAB_T];
    scalar dS[VT_LAB_HEADS * VT_LAB_T * VT_LAB_T];          /* of `masked`: 0 there */
    scalar dQ[VT_LAB_T * VT_LAB_D], dK[VT_LAB_T * VT_LAB_D], dV[VT_LAB_T * VT_LAB_D];
} LAB(slopes);

/* Fills *s; returns the mean of s->loss. */
scalar LAB(forward)(LAB(stages) *s, const scalar *at, const int *target, int heads,
                    scalar temperature);
/* Writes grad[LAB_ENTRIES], from what forward left in *s. */
void LAB(backward)(scalar *grad, const LAB(stages) *s, const scalar *at, const int *target,
                   int heads, scalar temperature);
/* And keeps what lies between in *d. */
void LAB(backward_slopes)(scalar *grad, LAB(slopes) *d, const LAB(stages) *s, const scalar *at,
                          const int *target, int heads, scalar temperature);

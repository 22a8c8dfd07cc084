/* adamw.c -- one step of AdamW (Loshchilov and Hutter 2019): the definition.
 *
 *  g'   = clip g                                                   (adamw.g)
 *  m    = beta1 m + (1 - beta1) g'                                 (adamw.m)
 *  v    = beta2 v + (1 - beta2) g'^2                               (adamw.v)
 *  mhat = m / (1 - beta1^t)                                     (adamw.mhat)
 *  vhat = v / (1 - beta2^t)                                     (adamw.vhat)
 *  w    = w - lr (mhat / (sqrt(vhat) + eps) + decay w)             (adamw.w)
 *
 * for each weight by itself.  clip is gradclip.c's factor, 1 for none; t counts
 * steps from 1.  The decay acts on the weight before the step and never enters
 * the moments.  eps stands outside the root and after the bias correction, as in
 * PyTorch.  Nothing here orders two numbers, so the double complex compilation is
 * the same function.
 */
#include "ref.h"

void REF(adamw)(scalar *w, scalar *m, scalar *v, const scalar *g, size_t n,
                scalar clip, scalar lr, scalar beta1, scalar beta2, scalar eps,
                scalar decay, int t)
{
    const scalar power1 = power(beta1, t), power2 = power(beta2, t);

    for (size_t i = 0; i < n; i++) {
        const scalar gc = clip * g[i];                            /* adamw.g */
        m[i] = beta1 * m[i] + (1 - beta1) * gc;                   /* adamw.m */
        v[i] = beta2 * v[i] + (1 - beta2) * gc * gc;              /* adamw.v */
        const scalar mhat = m[i] / (1 - power1);               /* adamw.mhat */
        const scalar vhat = v[i] / (1 - power2);               /* adamw.vhat */
        w[i] -= lr * (mhat / (sqrt(vhat) + eps) + decay * w[i]);  /* adamw.w */
    }
}

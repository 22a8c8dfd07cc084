/* embedding.c -- a token's row plus its position's row: the definition.
 *
 *  x[b,t,i]     = wte[k,i] + wpe[P+t,i],  k = token[b,t]            (embed.x)
 *  dwte[k,i]   += sum_{b,t: token[b,t] = k} dx[b,t,i]            (embed.dwte)
 *  dwpe[P+t,i] += sum_b dx[b,t,i]                                (embed.dwpe)
 *
 * wte is (V, C), wpe (positions, C).  P positions came before the first of
 * these T.  A token outside wte is refused by the caller.
 */
#include "ref.h"

void REF(embedding_forward)(scalar *out_, const int *tokens, const scalar *wte_,
                            const scalar *wpe_, int B, int T, int P, int C)
{
    scalar       (*x)[T][C] = VIEW(out_);            /* (B, T, C) */
    const scalar (*wte)[C]  = VIEW(wte_), (*wpe)[C] = VIEW(wpe_);
    const int    (*token)[T] = (const void *)tokens; /* (B, T) */

    for (int b = 0; b < B; b++)
    for (int t = 0; t < T; t++)
    for (int i = 0; i < C; i++) {
        const int k = token[b][t];
        x[b][t][i] = wte[k][i] + wpe[P + t][i];                   /* embed.x */
    }
}

/* Adds into dwte, dwpe. */
void REF(embedding_backward)(scalar *dwte_, scalar *dwpe_, const scalar *dout_,
                             const int *tokens, int B, int T, int P, int C)
{
    scalar       (*dwte)[C]  = VIEW(dwte_), (*dwpe)[C] = VIEW(dwpe_);
    const scalar (*dx)[T][C] = VIEW(dout_);
    const int    (*token)[T] = (const void *)tokens;

    for (int b = 0; b < B; b++)
    for (int t = 0; t < T; t++)
    for (int i = 0; i < C; i++) {
        const int k = token[b][t];
        dwte[k][i]     += dx[b][t][i];                         /* embed.dwte */
        dwpe[P + t][i] += dx[b][t][i];                         /* embed.dwpe */
    }
}

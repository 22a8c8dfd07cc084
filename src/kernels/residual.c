/* residual.c -- y = a + b: the definition.
 *
 *  y[i]   = a[i] + b[i]                                             (res.y)
 *  da[i] += dy[i]                                                   (res.da)
 *  db[i] += dy[i]                                                   (res.db)
 */
#include "ref.h"

void REF(residual_forward)(scalar *out, const scalar *a, const scalar *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];                                    /* res.y */
}

/* Adds into da, db. */
void REF(residual_backward)(scalar *da, scalar *db, const scalar *dout, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        da[i] += dout[i];                                        /* res.da */
        db[i] += dout[i];                                        /* res.db */
    }
}

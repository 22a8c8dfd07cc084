/* linear_in_order_pass.h -- one scalar of test_linear_in_order.c; no guard, as
 * definitions.h, which is included before.
 */

/* Numbers with many digits, so that another order of a sum shows. */
static scalar REF(drawn)(rng *r)
{
    scalar x = (scalar)rng_uniform(r, -2, 2);
#if VT_SCALAR == 128
    ((double *)&x)[1] = rng_uniform(r, -2, 2);
#endif
    return x;
}

static scalar *REF(draw)(size_t n, rng *r)
{
    scalar *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = REF(drawn)(r);
    return x;
}

static scalar *REF(copy)(const scalar *x, size_t n)
{
    scalar *y = malloc(n * sizeof *y);
    assert_non_null(y);
    memcpy(y, x, n * sizeof *y);
    return y;
}

/* By value: equal numbers of one sign have equal bits, and there is no NaN. */
static void REF(all_equal)(const scalar *a, const scalar *b, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) fail_msg("%s: number %zu differs", what, i);
}

/* How many numbers were compared. */
static size_t REF(same_linear)(int N, int C, int OC, rng *r)
{
    const size_t nx = (size_t)(N * C), nw = (size_t)(C * OC), ny = (size_t)(N * OC), nb = (size_t)OC;
    scalar *x = REF(draw)(nx, r), *w = REF(draw)(nw, r), *b = REF(draw)(nb, r), *dy = REF(draw)(ny, r);
    for (int bias = 0; bias < 2; bias++) {
        scalar *y = REF(draw)(ny, r), *y2 = REF(copy)(y, ny), *dx = REF(draw)(nx, r);
        scalar *dx2 = REF(copy)(dx, nx), *dw = REF(draw)(nw, r), *dw2 = REF(copy)(dw, nw);
        scalar *db = REF(draw)(nb, r), *db2 = REF(copy)(db, nb);
        REF(linear_forward)(y, x, w, bias ? b : NULL, N, C, OC);
        REF(in_order_linear_forward)(y2, x, w, bias ? b : NULL, N, C, OC);
        REF(all_equal)(y, y2, ny, "y");
        REF(linear_backward)(dx, dw, bias ? db : NULL, dy, x, w, N, C, OC);
        REF(in_order_linear_backward)(dx2, dw2, bias ? db2 : NULL, dy, x, w, N, C, OC);
        REF(all_equal)(dx, dx2, nx, "dx");
        REF(all_equal)(dw, dw2, nw, "dW");
        REF(all_equal)(db, db2, nb, "db");
        free(y), free(y2), free(dx), free(dx2), free(dw), free(dw2), free(db), free(db2);
    }
    free(x), free(w), free(b), free(dy);
    return 2 * (ny + nx + nw + nb);
}

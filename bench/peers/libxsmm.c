/* libxsmm.c -- libxsmm: with one thread a kernel that it makes for this size, with more its
 * tiled product (libxsmmext, OMP_NUM_THREADS).  It is linked without a BLAS, which it would
 * hand large products to.
 *
 * Its matrices are column-major: y' = w' x' is the same numbers as y = x w by rows.
 */
#include <libxsmm.h>
#include "peer.h"

static int threads = 1;

static void product(int n, const float *x, const float *w, float *y)
{
    static libxsmm_smmfunction kernel;
    static int of;
    const float one = 1, zero = 0;
    if (threads > 1) {
        libxsmm_xgemm_omp(LIBXSMM_GEMM_PRECISION_F32, LIBXSMM_GEMM_PRECISION_F32, "N", "N", &n, &n, &n,
                          &one, w, &n, x, &n, &zero, y, &n);
        return;
    }
    if (of != n) kernel = libxsmm_smmdispatch(of = n, n, n, NULL, NULL, NULL, &one, &zero, NULL, NULL);
    if (!kernel) peer_end("no kernel of this size", "libxsmm");
    kernel(w, x, y);
}

int main(int argc, char **argv)
{
    char version[120];
    if (argc > 1) threads = atoi(argv[1]);
    libxsmm_init();
    snprintf(version, sizeof version, "%s, target %s", LIBXSMM_VERSION, libxsmm_get_target_arch());
    return peer_gemm_answer(version);
}

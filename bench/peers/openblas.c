/* openblas.c -- OpenBLAS's cblas_sgemm.  Its threads: OPENBLAS_NUM_THREADS. */
#include <cblas.h>
#include "peer.h"

static void product(int n, const float *x, const float *w, float *y)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, x, n, w, n, 0, y, n);
}

int main(void)
{
    char version[200];
    snprintf(version, sizeof version, "%s, core %s", openblas_get_config(), openblas_get_corename());
    return peer_gemm_answer(version);
}

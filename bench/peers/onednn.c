/* onednn.c -- oneDNN's dnnl_sgemm, row-major.  Its threads: OMP_NUM_THREADS. */
#include <oneapi/dnnl/dnnl.h>
#include "peer.h"

static void product(int n, const float *x, const float *w, float *y)
{
    if (dnnl_sgemm('N', 'N', n, n, n, 1, x, n, w, n, 0, y, n) != dnnl_success)
        peer_end("dnnl_sgemm failed", "onednn");
}

int main(void)
{
    char version[80];
    const dnnl_version_t *v = dnnl_version();
    snprintf(version, sizeof version, "%d.%d.%d", v->major, v->minor, v->patch);
    return peer_gemm_answer(version);
}

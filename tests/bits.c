/* bits.c -- prints the sha256 of what the definitions and the fast kernels
 * compute for one random tiny model: logits, losses and gradients.
 *
 * tests/cli_bits.sh runs it in several builds and compares: the bits of the
 * definitions are those of the text, whoever compiled it; the bits of the fast
 * kernels do not depend on the number of threads.
 *
 *     definitions f64 HASH            fast ISA THREADS HASH
 *
 * With arguments it is tools/bits' program: see bits.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "bits.h"
#include "model_case.h"
#include "support.h"

static void print(const char *what, int threads, const double *logits, size_t nlogits,
                  const double *grads, size_t ngrads, double loss)
{
    const io_piece pieces[] = { { logits, nlogits * sizeof *logits },
                                { grads, ngrads * sizeof *grads }, { &loss, sizeof loss } };
    char hash[65];
    sha256_hex_pieces(hash, pieces, 3);
    if (threads) printf("fast %s %d %s\n", what, threads, hash);
    else printf("definitions %s %s\n", what, hash);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "dump") == 0) return bits_dump(argc, argv);
    if (argc > 1 && strcmp(argv[1], "compare") == 0) return bits_compare(argc, argv);
    const ops *kernels;
    static const int threads[] = { 1, 2, 3, 7 };
    const gpt_config z = { .L = 2, .C = 32, .NH = 2, .FF = 128, .T = 32, .V = 757 };
    model_case c;
    model_case_make(&c, &z, 3, 16, 42);
    const size_t n = 3 * 16 * (size_t)z.V;
    double *logits = calloc(n, sizeof *logits), *grads = calloc(c.count, sizeof *grads);
    if (!logits || !grads) return 1;
    double loss = model_case_f64(&c, grads);
    print("f64", 0, NULL, 0, grads, c.count, loss);
    loss = model_case_f32(&c, logits, grads);
    print("f32", 0, logits, n, grads, c.count, loss);
    loss = 0;
    for (size_t i = 0; i < 100; i++) loss += model_case_step(&c, i * (c.count / 100));
    print("c128", 0, NULL, 0, NULL, 0, loss);
    for (size_t i = 0; (kernels = ops_runs(i)) != NULL; i++)
        for (size_t k = 0; k < 4; k++) {
            loss = model_case_fast(&c, kernels, threads[k], logits, grads);
            print(kernels->name, threads[k], logits, n, grads, c.count, loss);
        }
    free(grads);
    free(logits);
    model_case_free(&c);
    return 0;
}

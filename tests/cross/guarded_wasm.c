/* guarded_wasm.c -- guarded buffers (support.h) where no page can be closed: canaries on
 * both sides.  What is read beyond a buffer is not seen, what is written is.
 */
#include "support.h"
#include <stdlib.h>
#include <string.h>

enum { PIECES = 4096, SIDE = 4096, CANARY = 0xA5 };
static struct piece { unsigned char *block, *at; size_t bytes; } pieces[PIECES];

void *guarded(size_t bytes)
{
    size_t k = 0;
    while (k < PIECES && pieces[k].block) k++;
    unsigned char *block = k < PIECES ? malloc(bytes + 2 * SIDE) : NULL;
    assert_non_null(block);
    memset(block, CANARY, bytes + 2 * SIDE);
    pieces[k] = (struct piece){ block, block + SIDE, bytes };
    return pieces[k].at;
}

void guarded_free(void *p)
{
    if (!p) return;
    for (size_t k = 0; k < PIECES; k++) {
        if (pieces[k].at != p) continue;
        const unsigned char *end = pieces[k].at + pieces[k].bytes;
        for (size_t i = 0; i < SIDE; i++) {
            if (pieces[k].block[i] != CANARY)
                fail_msg("byte %zu before a buffer was written", SIDE - i);
            if (end[i] != CANARY) fail_msg("byte %zu behind a buffer was written", i);
        }
        free(pieces[k].block);
        pieces[k] = (struct piece){ NULL, NULL, 0 };
        return;
    }
    fail_msg("guarded_free of a buffer that guarded() did not make");
}

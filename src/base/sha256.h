/* sha256.h -- SHA-256 (FIPS 180-4) of what comes piece by piece.
 *
 *     sha256 h;
 *     sha256_begin(&h);
 *     sha256_add(&h, data, n);    ...
 *     sha256_end(&h, hex);
 */
#ifndef SHA256_H
#define SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sha256 {
    bool     own;               /* by this processor's instructions; else by libmd */
    uint32_t state[8];
    uint64_t bytes;             /* so far */
    unsigned char block[64];    /* the last bytes % 64 of them */
    union { uint64_t align; unsigned char bytes[256]; } library;    /* libmd's context */
} sha256;

void sha256_begin(sha256 *h);
void sha256_add(sha256 *h, const void *data, size_t n);
void sha256_end(sha256 *h, char hex[65]);       /* lower case, and a NUL */

/* By libmd alone, whatever the processor has: for tests. */
void sha256_begin_plain(sha256 *h);

/* sha256_x86.c: `count` blocks of 64 bytes into the state.  Only where cpu_has_sha(). */
void sha256_x86(uint32_t state[8], const unsigned char *data, size_t count);

#endif

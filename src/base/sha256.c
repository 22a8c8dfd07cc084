/* sha256.c -- see sha256.h.
 *
 * libmd's function takes 2.7 ns a byte, which is longer than all else that is done
 * to read a corpus or a checkpoint; with the instructions it is 0.5.  x86 processors since 2017 have instructions for
 * it (sha256_x86.c); this file cuts the text into blocks and pads the last:
 *
 *     text, 80, 00 ..., length in bits as 64-bit big-endian      (a multiple of 64 bytes)
 *
 * FIPS PUB 180-4, Secure Hash Standard, 2015, sections 5.1.1, 5.3.3, 6.2.
 */
#include "base/sha256.h"
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include "base/cpu.h"

_Static_assert(sizeof(SHA2_CTX) <= sizeof ((sha256 *)0)->library, "libmd's context fits");

static SHA2_CTX *library(sha256 *h)
{
    return (SHA2_CTX *)(void *)&h->library;
}

void sha256_begin_plain(sha256 *h)
{
    h->own = false;
    SHA256Init(library(h));
}

#if defined(VT_X86)
void sha256_begin(sha256 *h)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    if (!cpu_has_sha()) {
        sha256_begin_plain(h);
        return;
    }
    h->own = true;
    h->bytes = 0;
    memcpy(h->state, first, sizeof first);
}

static void add_own(sha256 *h, const unsigned char *data, size_t n)
{
    const size_t held = (size_t)(h->bytes % 64), room = 64 - held;
    h->bytes += n;
    if (held > 0) {
        const size_t take = n < room ? n : room;
        memcpy(h->block + held, data, take);
        if (take < room) return;
        sha256_x86(h->state, h->block, 1);
        data += take;
        n -= take;
    }
    sha256_x86(h->state, data, n / 64);
    memcpy(h->block, data + n / 64 * 64, n % 64);
}

static void end_own(sha256 *h, unsigned char digest[32])
{
    static const unsigned char pad[64] = { 0x80 };
    const uint64_t bits = h->bytes * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
    const size_t held = (size_t)(h->bytes % 64);
    add_own(h, pad, held < 56 ? 56 - held : 120 - held);
    add_own(h, length, 8);
    for (int i = 0; i < 32; i++) digest[i] = (unsigned char)(h->state[i / 4] >> (24 - i % 4 * 8));
}
#else
void sha256_begin(sha256 *h) { sha256_begin_plain(h); }
static void add_own(sha256 *h, const unsigned char *data, size_t n) { (void)h; (void)data; (void)n; }
static void end_own(sha256 *h, unsigned char digest[32]) { (void)h; digest[0] = 0; }
#endif

void sha256_add(sha256 *h, const void *data, size_t n)
{
    if (n == 0) return;
    if (h->own) add_own(h, data, n);
    else SHA256Update(library(h), data, n);
}

void sha256_end(sha256 *h, char hex[65])
{
    unsigned char digest[32] = { 0 };
    if (h->own) end_own(h, digest);
    else SHA256Final(digest, library(h));
    for (size_t i = 0; i < sizeof digest; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

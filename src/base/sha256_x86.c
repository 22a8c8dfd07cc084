/* sha256_x86.c -- blocks of SHA-256 by the processor's SHA instructions.
 *
 * Four rounds are two sha256rnds2, each of two; the eight words of the state lie in
 * two registers as that instruction wants them, abef and cdgh.  sha256msg1 and
 * sha256msg2 compute four words of the schedule
 *
 *     w[t] = s1(w[t-2]) + w[t-7] + s0(w[t-15]) + w[t-16]         (FIPS 180-4, 6.2.2)
 *
 * of which alignr brings w[t-7] into place.  The rest is bytes in their order.
 *
 * Gulley et al., Intel SHA Extensions, 2013.
 */
#include "base/sha256.h"
#if defined(VT_X86) && defined(__SHA__)
#include <immintrin.h>

/* FIPS 180-4, 4.2.2: fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static __m128i load(const void *p) { return _mm_loadu_si128((const __m128i *)p); }

static void block(__m128i *abef, __m128i *cdgh, const unsigned char *data)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i abef_before = *abef, cdgh_before = *cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; i++) w[i] = _mm_shuffle_epi8(load(data + 16 * i), big_endian);
    for (int t = 0; t < 16; t++) {
        const __m128i now = w[t % 4], sum = _mm_add_epi32(now, load(k + 4 * t));
        *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
        *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0E));
        if (t >= 12) continue;
        /* w[t % 4] becomes the schedule's four words 4 (t + 4) .. */
        __m128i next = _mm_sha256msg1_epu32(now, w[(t + 1) % 4]);
        next = _mm_add_epi32(next, _mm_alignr_epi8(w[(t + 3) % 4], w[(t + 2) % 4], 4));
        w[t % 4] = _mm_sha256msg2_epu32(next, w[(t + 3) % 4]);
    }
    *abef = _mm_add_epi32(*abef, abef_before);
    *cdgh = _mm_add_epi32(*cdgh, cdgh_before);
}

void sha256_x86(uint32_t state[8], const unsigned char *data, size_t count)
{
    const __m128i badc = _mm_shuffle_epi32(load(state), 0xB1);         /* high: c d a b */
    const __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1B);
    __m128i abef = _mm_alignr_epi8(badc, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, badc, 0xF0);
    for (; count > 0; count--, data += 64) block(&abef, &cdgh, data);
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
void sha256_x86(uint32_t state[8], const unsigned char *data, size_t count)
{
    (void)state;
    (void)data;
    (void)count;
}
#endif

/* rng.c -- see rng.h.
 *
 * Seeding      SeedSequence: the seed's 32-bit words, low first, are hashed into
 *              a pool of four words, which gives the 256 bits of state and
 *              increment.
 * Generator    PCG64:  state' = state * M + inc  (mod 2^128),
 *              output  rotate_right(high xor low, top six bits of the state).
 * Normals      ziggurat of 256 layers: (layer, sign, 52-bit position) from one
 *              draw; 98.5 % end there; a wedge needs exp, the tail log1p.
 * Integers     Lemire: the high half of draw * span; for spans up to 2^32 on
 *              32-bit draws.  Shuffles mask and reject instead, as NumPy does.
 *
 * 128-bit products are made of 32-bit parts: C11 has no wider type, and the
 * same text runs in WebAssembly.
 *
 * Bits depend on this machine's log1p in the tail (one draw of 3,900) and, as
 * good as never, on its exp in a comparison.
 *
 * It does not have NumPy's other distributions, nor jumps or spawning.
 *
 * References: M. E. O'Neill, PCG: A Family of Simple Fast Space-Efficient
 * Statistically Good Algorithms for Random Number Generation, HMC-CS-2014-0905,
 * 6.3.2 (XSL-RR); M. E. O'Neill, Developing a seed_seq Alternative (2015);
 * G. Marsaglia, W. W. Tsang, The Ziggurat Method for Generating Random
 * Variables, J. Stat. Softw. 5(8), 2000; D. Lemire, Fast Random Integer
 * Generation in an Interval, ACM TOMACS 29(1), 2019, algorithm 5.
 */
#include "base/rng.h"
#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/ziggurat.inc"

/* SeedSequence's constants. */
static const uint32_t INIT_A = 0x43b0d7e5u, MULT_A = 0x931e8875u;
static const uint32_t INIT_B = 0x8b51f9ddu, MULT_B = 0x58f38dedu;
static const uint32_t MIX_L = 0xca01f9ddu, MIX_R = 0x4973f715u;
/* PCG64's multiplier. */
static const uint64_t PCG_LOW  = UINT64_C(4865540595714422341);
static const uint64_t PCG_HIGH = UINT64_C(2549297995355413924);

enum { POOL = 4 };

typedef struct seeder {
    uint32_t pool[POOL], hash;
    size_t   words;             /* absorbed so far */
} seeder;

static uint32_t hashmix(seeder *s, uint32_t value)
{
    value ^= s->hash;
    s->hash *= MULT_A;
    value *= s->hash;
    return value ^ value >> 16;
}

static uint32_t mix(uint32_t x, uint32_t y)
{
    const uint32_t r = MIX_L * x - MIX_R * y;
    return r ^ r >> 16;
}

/* The first four words fill the pool; then its words are mixed with each
 * other; each later word is mixed into all four. */
static void absorb(seeder *s, uint32_t word)
{
    if (s->words < POOL) {
        s->pool[s->words++] = hashmix(s, word);
        if (s->words < POOL) return;
        for (int from = 0; from < POOL; from++)
            for (int to = 0; to < POOL; to++)
                if (from != to) s->pool[to] = mix(s->pool[to], hashmix(s, s->pool[from]));
        return;
    }
    for (int to = 0; to < POOL; to++) s->pool[to] = mix(s->pool[to], hashmix(s, word));
}

/* Eight words from the pool, as four 64-bit numbers, low word first. */
static void generate(const seeder *s, uint64_t out[4])
{
    uint32_t hash = INIT_B;
    memset(out, 0, 4 * sizeof *out);
    for (int i = 0; i < 8; i++) {
        uint32_t value = s->pool[i % POOL] ^ hash;
        hash *= MULT_B;
        value *= hash;
        value ^= value >> 16;
        out[i / 2] |= (uint64_t)value << (i % 2 * 32);
    }
}

/* a * b = high * 2^64 + low. */
static uint64_t mul_64(uint64_t a, uint64_t b, uint64_t *high)
{
    const uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
    const uint64_t low = a0 * b0, cross = a1 * b0 + (low >> 32);
    const uint64_t middle = a0 * b1 + (cross & UINT32_MAX);
    *high = a1 * b1 + (cross >> 32) + (middle >> 32);
    return middle << 32 | (low & UINT32_MAX);
}

/* value += other (mod 2^128). */
static void add_128(uint64_t value[2], const uint64_t other[2])
{
    value[0] += other[0];
    value[1] += other[1] + (value[0] < other[0] ? 1u : 0u);
}

static void step(rng *r)
{
    uint64_t high;
    const uint64_t low = mul_64(r->state[0], PCG_LOW, &high);
    high += r->state[1] * PCG_LOW + r->state[0] * PCG_HIGH;
    r->state[0] = low;
    r->state[1] = high;
    add_128(r->state, r->inc);
}

static void start(rng *r, seeder *s)
{
    while (s->words < POOL) absorb(s, 0);
    uint64_t seed[4];
    generate(s, seed);
    const uint64_t initial[2] = { seed[1], seed[0] };   /* high half came first */
    memset(r, 0, sizeof *r);
    r->inc[0] = seed[3] << 1 | 1u;
    r->inc[1] = seed[2] << 1 | seed[3] >> 63;
    step(r);
    add_128(r->state, initial);
    step(r);
}

void rng_seed_list(rng *r, const uint64_t *list, size_t n)
{
    seeder s;
    memset(&s, 0, sizeof s);
    s.hash = INIT_A;
    for (size_t i = 0; i < n; i++) {
        absorb(&s, (uint32_t)(list[i] & UINT32_MAX));
        if (list[i] >> 32 != 0) absorb(&s, (uint32_t)(list[i] >> 32));
    }
    start(r, &s);
}

void rng_seed(rng *r, uint64_t seed)
{
    rng_seed_list(r, &seed, 1);
}

void rng_stream_seed(rng *r, uint64_t seed, enum rng_stream id, uint64_t n)
{
    const uint64_t list[3] = { seed, (uint64_t)id, n };
    rng_seed_list(r, list, 3);
}

uint64_t rng_u64(rng *r)
{
    step(r);
    const uint64_t value = r->state[0] ^ r->state[1];
    const unsigned turn = (unsigned)(r->state[1] >> 58);
    return value >> turn | value << ((64 - turn) & 63);
}

uint32_t rng_u32(rng *r)
{
    if (r->has_half) {
        r->has_half = false;
        return r->half;
    }
    const uint64_t value = rng_u64(r);
    r->has_half = true;
    r->half = (uint32_t)(value >> 32);
    return (uint32_t)(value & UINT32_MAX);
}

double rng_double(rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

double rng_uniform(rng *r, double low, double high)
{
    return low + (high - low) * rng_double(r);
}

/* Beyond ZIGGURAT_R: Marsaglia's tail (x from an exponential, accepted against
 * another). */
static double normal_tail(rng *r, bool negative)
{
    for (;;) {
        const double x = -ZIGGURAT_INV_R * log1p(-rng_double(r));
        const double y = -log1p(-rng_double(r));
        if (y + y > x * x) return negative ? -(ZIGGURAT_R + x) : ZIGGURAT_R + x;
    }
}

double rng_normal(rng *r)
{
    for (;;) {
        const uint64_t draw = rng_u64(r);
        const size_t layer = (size_t)(draw & 0xff);
        const uint64_t position = draw >> 9 & UINT64_C(0x000fffffffffffff);
        double x = (double)position * ZIGGURAT_WI[layer];
        if ((draw >> 8 & 1) != 0) x = -x;
        if (position < ziggurat_ki(layer)) return x;
        /* NumPy takes the tail's sign from another bit than the body's. */
        if (layer == 0) return normal_tail(r, (position >> 8 & 1) != 0);
        const double above = ZIGGURAT_FI[layer - 1], below = ZIGGURAT_FI[layer];
        if ((above - below) * rng_double(r) + below < exp(-0.5 * x * x)) return x;
    }
}

/* 0 .. most, most < 2^32 - 1, unbiased. */
static uint32_t bounded_32(rng *r, uint32_t most)
{
    const uint32_t span = most + 1;
    uint64_t product = (uint64_t)rng_u32(r) * span;
    if ((product & UINT32_MAX) < span) {
        const uint32_t threshold = (UINT32_MAX - most) % span;
        while ((product & UINT32_MAX) < threshold) product = (uint64_t)rng_u32(r) * span;
    }
    return (uint32_t)(product >> 32);
}

/* 0 .. most, most < 2^64 - 1, unbiased. */
static uint64_t bounded_64(rng *r, uint64_t most)
{
    const uint64_t span = most + 1;
    uint64_t high, low = mul_64(rng_u64(r), span, &high);
    if (low < span) {
        const uint64_t threshold = (UINT64_MAX - most) % span;
        while (low < threshold) low = mul_64(rng_u64(r), span, &high);
    }
    return high;
}

int64_t rng_integers(rng *r, int64_t low, int64_t high)
{
    assert(low < high);
    const uint64_t most = (uint64_t)high - 1u - (uint64_t)low;
    uint64_t value;
    if (most == 0) value = 0;                       /* draws nothing */
    else if (most < UINT32_MAX) value = bounded_32(r, (uint32_t)most);
    else if (most == UINT32_MAX) value = rng_u32(r);
    else value = bounded_64(r, most);
    const uint64_t sum = (uint64_t)low + value;
    return sum <= INT64_MAX ? (int64_t)sum : -1 - (int64_t)(UINT64_MAX - sum);
}

/* 0 .. most by masking and rejecting. */
static uint64_t interval(rng *r, uint64_t most)
{
    if (most == 0) return 0;
    uint64_t mask = most, value;
    for (unsigned shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
    do value = (most <= UINT32_MAX ? rng_u32(r) : rng_u64(r)) & mask; while (value > most);
    return value;
}

void rng_shuffle(rng *r, size_t *items, size_t n)
{
    for (size_t i = n; i-- > 1; ) {
        const size_t j = (size_t)interval(r, i), item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

void rng_permutation(rng *r, size_t *items, size_t n)
{
    for (size_t i = 0; i < n; i++) items[i] = i;
    rng_shuffle(r, items, n);
}

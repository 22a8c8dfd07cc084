/* utf8_text.c -- see utf8_text.h.
 *
 * ASCII is passed over 32 bytes at a time.  What is not goes through an automaton
 * whose step is one shift: a byte's row holds, 6 bits each, the state that follows
 * each state, and a state is the number of bits to shift by.
 *
 *     state = row[byte] >> state        (its low 6 bits)
 *
 * No branch depends on the text, so that Cyrillic and Chinese cost the same.  The
 * automaton only says that there is an error; where, utf8_first_bad finds, from the
 * character's beginning on.
 *
 * P. Vognsen, Shift-based DFAs, 2020; states: utf8.c's table (Unicode, table 3-7).
 */
#include "base/utf8_text.h"
#include <string.h>

/* Bytes expected next: none (a character begins); one, two, three of 80..BF; and of
 * four leads the second byte's own range. */
enum { BEGIN, ONE, TWO, THREE, AFTER_E0, AFTER_ED, AFTER_F0, AFTER_F4, BAD, STATES };
enum { BITS = 6, MASK = 63, BLOCK = 32 };

static int begins(unsigned b)
{
    return b < 0x80 ? BEGIN : b < 0xC2 ? BAD : b < 0xE0 ? ONE : b == 0xE0 ? AFTER_E0
         : b == 0xED ? AFTER_ED : b < 0xF0 ? TWO : b == 0xF0 ? AFTER_F0 : b < 0xF4 ? THREE
         : b == 0xF4 ? AFTER_F4 : BAD;
}

static int follows(int state, unsigned b)
{
    static const struct { unsigned low, high; int next; } range[STATES] = {
        [ONE] = { 0x80, 0xBF, BEGIN }, [TWO] = { 0x80, 0xBF, ONE }, [THREE] = { 0x80, 0xBF, TWO },
        [AFTER_E0] = { 0xA0, 0xBF, ONE }, [AFTER_ED] = { 0x80, 0x9F, ONE },
        [AFTER_F0] = { 0x90, 0xBF, TWO }, [AFTER_F4] = { 0x80, 0x8F, TWO },
        [BAD] = { 1, 0, BAD },
    };
    if (state == BEGIN) return begins(b);
    return b >= range[state].low && b <= range[state].high ? range[state].next : BAD;
}

static void make_rows(uint64_t row[256])
{
    for (unsigned b = 0; b < 256; b++) {
        row[b] = 0;
        for (int s = 0; s < STATES; s++)
            row[b] |= (uint64_t)(follows(s, b) * BITS) << (s * BITS);
    }
}

static bool ascii(const unsigned char *p)
{
    uint64_t w[BLOCK / 8];
    memcpy(w, p, BLOCK);
    return ((w[0] | w[1] | w[2] | w[3]) & UINT64_C(0x8080808080808080)) == 0;
}

size_t utf8_text_bad(const void *text, size_t n)
{
    const unsigned char *p = text;
    uint64_t row[256], state = BEGIN * BITS;
    size_t i = 0;
    make_rows(row);
    for (; n - i >= BLOCK; i += BLOCK) {
        if ((state & MASK) == BEGIN * BITS && ascii(p + i)) continue;
        const uint64_t before = state;
        for (size_t k = 0; k < BLOCK; k++) state = row[p[i + k]] >> (state & MASK);
        if ((state & MASK) == BAD * BITS) {
            state = before;
            break;
        }
    }
    if ((state & MASK) != BEGIN * BITS)         /* back to where the character began */
        do i--; while ((p[i] & 0xC0) == 0x80);
    return i + utf8_first_bad(p + i, n - i);
}

size_t utf8_text_repair(unsigned char *to, const void *text, size_t n, size_t *replaced)
{
    const unsigned char *p = text;
    size_t length = 0;
    *replaced = 0;
    for (size_t i = 0; i < n;) {
        const size_t good = utf8_text_bad(p + i, n - i);
        if (to) memcpy(to + length, p + i, good);
        length += good;
        i += good;
        if (i == n) break;
        size_t used;
        (void)utf8_next(p + i, n - i, &used, NULL);
        if (to) memcpy(to + length, UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN);
        length += UTF8_REPLACEMENT_LEN;
        ++*replaced;
        i += used;
    }
    return length;
}

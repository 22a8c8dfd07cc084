/* utf8.c -- see utf8.h.
 *
 * The table of well-formed sequences (Unicode, table 3-7) has one quirk: the
 * second byte's range depends on the first byte.  Everything after is 80..BF.
 *
 *     00..7F
 *     C2..DF  80..BF
 *     E0      A0..BF  80..BF              (below A0: overlong)
 *     E1..EF  80..BF  80..BF              (ED: 80..9F, else surrogates)
 *     F0      90..BF  80..BF  80..BF      (below 90: overlong)
 *     F1..F3  80..BF  80..BF  80..BF
 *     F4      80..8F  80..BF  80..BF      (above 8F: beyond U+10FFFF)
 *
 * Reference: The Unicode Standard 15.0, section 3.9, D92 and table 3-7;
 * "U+FFFD substitution of maximal subparts", same section.
 */
#include "base/utf8.h"
#include <string.h>

utf8_kind utf8_next(const unsigned char *p, size_t n, size_t *used, uint32_t *cp)
{
    const unsigned char lead = p[0];
    *used = 1;
    if (lead < 0x80) {
        if (cp) *cp = lead;
        return UTF8_GOOD;
    }
    if (lead < 0xC2 || lead > 0xF4) return UTF8_BAD;
    const size_t want = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    unsigned char low = 0x80, high = 0xBF;      /* of the second byte */
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;

    uint32_t c = lead & (0x7Fu >> want);
    for (size_t i = 1; i < want; i++) {
        *used = i;
        if (i == n) return UTF8_CUT;
        if (p[i] < low || p[i] > high) return UTF8_BAD;
        c = c << 6 | (p[i] & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    *used = want;
    if (cp) *cp = c;
    return UTF8_GOOD;
}

size_t utf8_decode(const unsigned char *p, size_t n, uint32_t *cp)
{
    size_t used;
    if (n == 0 || utf8_next(p, n, &used, cp) != UTF8_GOOD) return 0;
    return used;
}

size_t utf8_first_bad(const void *text, size_t n)
{
    const unsigned char *p = text;
    size_t i = 0;
    while (i < n) {
        uint64_t eight;                         /* runs of ASCII by eights */
        while (n - i >= sizeof eight) {
            memcpy(&eight, p + i, sizeof eight);
            if (eight & UINT64_C(0x8080808080808080)) break;
            i += sizeof eight;
        }
        if (i == n) break;
        const size_t used = utf8_decode(p + i, n - i, NULL);
        if (used == 0) return i;
        i += used;
    }
    return n;
}

bool utf8_is_shown(uint32_t cp)
{
    return cp >= 0x20 && !(cp >= 0x7F && cp <= 0x9F) && !(cp >= 0x2028 && cp <= 0x202E) &&
           !(cp >= 0x2066 && cp <= 0x2069);
}

void utf8_plain(char *text, bool lines)
{
    unsigned char *to = (unsigned char *)text;
    const unsigned char *p = to;
    size_t left = strlen(text);
    while (left > 0) {
        uint32_t cp = 0;
        size_t used = utf8_decode(p, left, &cp);
        if (used > 0 && (utf8_is_shown(cp) || (lines && cp == '\n'))) {
            memmove(to, p, used);
            to += used;
        } else {
            *to++ = '?';
            if (used == 0) used = 1;
        }
        p += used;
        left -= used;
    }
    *to = 0;
}

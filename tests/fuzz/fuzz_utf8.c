/* fuzz_utf8.c -- UTF-8 by code points instead of by tables.
 *
 * `plain` takes the bits of a character together and then asks whether the number
 * is a scalar value that needs so many bytes: another way to the same verdict.  A
 * text cut anywhere must come out of a stream as the whole does.
 */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "sample/utf8_stream.h"

/* Bytes of the character at p[0 .. n-1]; 0 where there is none. */
static size_t plain(const uint8_t *p, size_t n, uint32_t *cp)
{
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t len = 1;
    uint32_t c = p[0];
    if (c >= 0x80) {
        if ((c & 0xE0) == 0xC0) { len = 2; c &= 0x1F; }
        else if ((c & 0xF0) == 0xE0) { len = 3; c &= 0x0F; }
        else if ((c & 0xF8) == 0xF0) { len = 4; c &= 0x07; }
        else return 0;
    }
    if (len > n) return 0;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        c = c * 64 + (p[i] & 0x3F);
    }
    if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return 0;
    *cp = c;
    return len;
}

static void stream(bytes *out, const uint8_t *p, size_t n, unsigned cut)
{
    utf8_stream s = { .n = 0 };
    while (n > 0) {
        const size_t take = cut && cut < n ? cut : n;
        WORKS(utf8_stream_push(&s, p, take, out, &fuzz_error));
        HOLDS(utf8_first_bad(out->data, out->len) == out->len);
        p += take;
        n -= take;
    }
    WORKS(utf8_stream_end(&s, out, &fuzz_error));
}

static void is_plain(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1), *once;
    HOLDS(text != NULL);
    if (n > 0) memcpy(text, data, n);
    text[n] = 0;
    once = (char *)fuzz_copy(text, strlen(text) + 1);
    utf8_plain(text, false);
    HOLDS(strlen(text) <= strlen(once) && utf8_first_bad(text, strlen(text)) == strlen(text));
    for (const char *p = text; *p; p++) HOLDS((unsigned char)*p >= 0x20 && *p != 0x7F);
    strcpy(once, text);
    utf8_plain(once, false);
    HOLDS(strcmp(once, text) == 0);
    free(once);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = fuzz_copy(data, size);
    size_t good = 0, i = 0;
    bool all = true;
    while (i < size) {
        uint32_t a = 0, b = 0;
        const size_t want = plain(data + i, size - i, &a), got = utf8_decode(copy + i, size - i, &b);
        HOLDS(want == got && a == b);
        if (want == 0) all = false;
        else if (all) good = i + want;
        i += want ? want : 1;
    }
    HOLDS(utf8_first_bad(copy, size) == good);
    bytes whole = { 0 }, cut = { 0 };
    stream(&whole, copy, size, 0);
    for (unsigned c = 1; c <= 3; c++) {
        cut.len = 0;
        stream(&cut, copy, size, c);
        HOLDS(cut.len == whole.len && (cut.len == 0 || memcmp(cut.data, whole.data, cut.len) == 0));
    }
    HOLDS(!all || (whole.len == size && (size == 0 || memcmp(whole.data, copy, size) == 0)));
    bytes_free(&whole);
    bytes_free(&cut);
    is_plain(data, size);
    free(copy);
    return 0;
}

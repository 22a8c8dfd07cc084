/* target.c -- see target.h.  RFC 9112, section 3.2; RFC 3986, sections 2.1 and 3.3. */
#include "serve/target.h"
#include <stdbool.h>
#include <string.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static const char *decode(char out[TARGET_MOST], const char *p)
{
    size_t n = 0;
    for (; *p && *p != '?'; p++) {
        int c = (unsigned char)*p;
        if (c == '%') {
            const int high = digit(p[1]), low = high < 0 ? -1 : digit(p[2]);
            if (low < 0) return "a % without two hexadecimal digits";
            c = 16 * high + low;
            p += 2;
            if (c == '/') return "an encoded slash";
        }
        if (c < 32 || c == 127) return "a control character";
        if (c == '\\') return "a backslash";
        if (c == '#') return "a fragment";
        if (n == TARGET_MOST - 1) return "a path that is too long";
        out[n++] = (char)c;
    }
    out[n] = 0;
    return NULL;
}

const char *target_path(char out[TARGET_MOST], const char *target)
{
    if (target[0] != '/') return "no slash at its start";
    const char *why = decode(out, target + 1);
    if (why) return why;
    for (const char *p = out; *p; ) {
        const size_t n = strcspn(p, "/");
        if (n == 0) return "an empty segment";
        if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return "a dot segment";
        p += n;
        if (*p == '/') p++;
    }
    return NULL;
}

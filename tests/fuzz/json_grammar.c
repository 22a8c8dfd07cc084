/* json_grammar.c -- see json_grammar.h. */
#include "json_grammar.h"
#include <string.h>

typedef struct text { const uint8_t *p; size_t n, at; int depth, deepest; bool lone; } text;

static void space(text *t)
{
    while (t->at < t->n && t->p[t->at] && strchr(" \t\n\r", t->p[t->at])) t->at++;
}

static bool one(text *t, char c)
{
    if (t->at == t->n || t->p[t->at] != (uint8_t)c) return false;
    t->at++;
    return true;
}

static bool word(text *t, const char *w)
{
    while (*w) if (!one(t, *w++)) return false;
    return true;
}

static size_t digits(text *t)
{
    const size_t first = t->at;
    while (t->at < t->n && t->p[t->at] >= '0' && t->p[t->at] <= '9') t->at++;
    return t->at - first;
}

static bool number(text *t)
{
    (void)one(t, '-');
    if (!one(t, '0') && digits(t) == 0) return false;
    if (one(t, '.') && digits(t) == 0) return false;
    if (one(t, 'e') || one(t, 'E')) {
        if (!one(t, '+')) (void)one(t, '-');
        return digits(t) > 0;
    }
    return true;
}

/* Four hexadecimal digits; -1 where there are none. */
static long unit(text *t)
{
    long x = 0;
    for (int i = 0; i < 4; i++, t->at++) {
        static const char hex[] = "0123456789abcdef0123456789ABCDEF";
        const char *d = t->at < t->n && t->p[t->at] ? strchr(hex, t->p[t->at]) : NULL;
        if (!d) return -1;
        x = 16 * x + (d - hex) % 16;
    }
    return x;
}

static bool escape(text *t)
{
    if (t->at == t->n) return false;
    const int c = t->p[t->at++];
    if (c != 'u') return c && strchr("\"\\/bfnrt", c) != NULL;
    const long x = unit(t);
    if (x >= 0 && t->lone) return true;
    if (x < 0 || (x >= 0xDC00 && x <= 0xDFFF)) return false;
    if (x < 0xD800 || x > 0xDBFF) return true;
    if (!one(t, '\\') || !one(t, 'u')) return false;
    const long y = unit(t);
    return y >= 0xDC00 && y <= 0xDFFF;
}

static bool string(text *t)
{
    if (!one(t, '"')) return false;
    while (t->at < t->n) {
        const int c = t->p[t->at++];
        if (c == '"') return true;
        if (c < 0x20 || (c == '\\' && !escape(t))) return false;
    }
    return false;
}

static bool value(text *t);

static bool members(text *t, bool object)
{
    space(t);
    if (one(t, object ? '}' : ']')) return true;
    for (;;) {
        space(t);
        if (object) {
            if (!string(t)) return false;
            space(t);
            if (!one(t, ':')) return false;
        }
        if (!value(t)) return false;
        space(t);
        if (one(t, object ? '}' : ']')) return true;
        if (!one(t, ',')) return false;
    }
}

static bool value(text *t)
{
    space(t);
    if (t->at == t->n) return false;
    const int c = t->p[t->at];
    if (c == '{' || c == '[') {
        if (++t->depth > t->deepest) t->deepest = t->depth;
        if (t->depth > 5000) return false;      /* this grammar's own stack */
        t->at++;
        const bool good = members(t, c == '{');
        t->depth--;
        return good;
    }
    if (c == '"') return string(t);
    if (c == 't') return word(t, "true");
    if (c == 'f') return word(t, "false");
    if (c == 'n') return word(t, "null");
    return number(t);
}

bool json_grammar(const uint8_t *p, size_t n, bool lone, int *deepest)
{
    text t = { .p = p, .n = n, .lone = lone };
    const bool good = value(&t);
    space(&t);
    *deepest = t.deepest;
    return good && t.at == t.n;
}

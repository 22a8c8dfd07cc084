/* format_wasm.c -- snprintf for messages and names, a tenth of the C library's size,
 * which also imports a file to complain to.
 *
 * It knows what this library's formats have: %d %u %zu %s %c %g %%, a width or a
 * precision as digits or *, and the flag 0.  %g has 6 significant digits at most, of
 * a message's number: its last may be one off, and no number of a page is printed by
 * it.  Anything else in a format stops the module.
 */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct text { char *at; size_t room, length; } text;     /* room counts the NUL */

static void put(text *t, char c)
{
    if (t->length + 1 < t->room) t->at[t->length] = c;
    t->length++;
}

static void put_padded(text *t, const char *s, size_t n, size_t width, char pad)
{
    for (size_t i = n; i < width; i++) put(t, pad);
    for (size_t i = 0; i < n; i++) put(t, s[i]);
}

/* Digits of x, from the end of a buffer; where they begin. */
static char *digits(char *end, uint64_t x)
{
    do *--end = (char)('0' + x % 10); while ((x /= 10) > 0);
    return end;
}

static void put_integer(text *t, uint64_t size, bool negative, size_t width, char pad)
{
    char buffer[24], *end = buffer + sizeof buffer, *at = digits(end, size);
    if (negative) *--at = '-';
    put_padded(t, at, (size_t)(end - at), width, pad);
}

/* Six significant digits, trailing zeros left out: 0.0001234, 12.5, 1e+20. */
static void put_number(text *t, double x)
{
    char buffer[8], *at;
    int e = 0;
    if (isnan(x)) { put_padded(t, "nan", 3, 0, ' '); return; }
    if (signbit(x)) put(t, '-');
    x = fabs(x);
    if (isinf(x)) { put_padded(t, "inf", 3, 0, ' '); return; }
    if (x == 0) { put(t, '0'); return; }
    while (x >= 10) { x /= 10; e++; }
    while (x < 1) { x *= 10; e--; }
    uint64_t six = (uint64_t)(x * 100000 + 0.5);
    if (six >= 1000000) { six /= 10; e++; }
    int n = 6;
    while (n > 1 && six % 10 == 0) { six /= 10; n--; }
    at = digits(buffer + sizeof buffer, six);
    const bool scientific = e < -4 || e > 5;
    int point = scientific ? 1 : e + 1;         /* digits before the point */
    if (point <= 0) {
        put(t, '0'); put(t, '.');
        for (; point < 0; point++) put(t, '0');
        for (int i = 0; i < n; i++) put(t, at[i]);
    } else {
        for (int i = 0; i < n || i < point; i++) {
            if (i == point) put(t, '.');
            put(t, i < n ? at[i] : '0');
        }
    }
    if (scientific) {
        put(t, 'e');
        put(t, e < 0 ? '-' : '+');
        put_integer(t, (uint64_t)(e < 0 ? -e : e), false, 2, '0');
    }
}

/* A number of the format: digits or *; -1: none. */
static long number(const char **f, va_list *args)
{
    if (**f == '*') { ++*f; return va_arg(*args, int); }
    if (**f < '0' || **f > '9') return -1;
    long n = 0;
    while (**f >= '0' && **f <= '9') n = n * 10 + (*(*f)++ - '0');
    return n;
}

/* One conversion; f is behind the %. */
static const char *convert(text *t, const char *f, va_list *args)
{
    const char pad = *f == '0' ? '0' : ' ';
    const long wide = number(&f, args);
    const size_t width = wide > 0 ? (size_t)wide : 0;
    long precision = -1;
    if (*f == '.') { f++; precision = number(&f, args); }
    const bool size = *f == 'z';
    if (size) f++;
    switch (*f) {
    case 'd': {
        const int x = va_arg(*args, int);
        put_integer(t, x < 0 ? -(uint64_t)x : (uint64_t)x, x < 0, width, pad);
        break;
    }
    case 'u':
        put_integer(t, size ? va_arg(*args, size_t) : va_arg(*args, unsigned), false, width, pad);
        break;
    case 's': {
        const char *s = va_arg(*args, const char *);
        size_t n = 0;
        while ((precision < 0 || n < (size_t)precision) && s[n]) n++;
        put_padded(t, s, n, width, ' ');
        break;
    }
    case 'c': put(t, (char)va_arg(*args, int)); break;
    case 'g': put_number(t, va_arg(*args, double)); break;
    case '%': put(t, '%'); break;
    default: __builtin_trap();
    }
    return f + 1;
}

int vsnprintf(char *out, size_t n, const char *format, va_list args)
{
    text t = { out, n, 0 };
    va_list mine;
    va_copy(mine, args);
    for (const char *f = format; *f; )
        if (*f == '%') f = convert(&t, f + 1, &mine);
        else put(&t, *f++);
    va_end(mine);
    if (n > 0) out[t.length < n ? t.length : n - 1] = 0;
    return (int)t.length;
}

int snprintf(char *out, size_t n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(out, n, format, args);
    va_end(args);
    return length;
}

/* json_memory.c -- see json_memory.h.
 *
 * jansson keeps the characters of the token that it reads in a buffer of 16 bytes, which
 * doubles; whether it could is not looked at (2.14, lex_save): without memory a character
 * is lost, and an assertion ends the program, or the text is read as another.  All its
 * other requests are looked at.
 *
 * So while it parses, its requests come through here.  From the first that is refused
 * on, all are, which ends the parse soon; but those that may be that buffer's, powers of
 * two from 32 to what the longest token needs, are met from a reserve that was asked for
 * before.  Something else may have such a size, too, an array's table: each size is there
 * a few times, and what uses it is released before the parse is over.
 *
 * Other threads, and other users of jansson in the program, get what they had before.
 */
#include "formats/json_memory.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 32, TIMES = 4, CLASSES = 64 };

static json_malloc_t given_malloc;
static json_free_t   given_free;

/* Of the parse that this thread is in. */
typedef struct parse {
    bool   active, refused;
    char  *reserve;
    size_t size, used;
    size_t most;                /* the largest that the buffer becomes */
    unsigned char times[CLASSES];
} parse;
static _Thread_local parse now;

static void *from_reserve(size_t n)
{
    size_t class = 0;
    if (n < LEAST || n > now.most || (n & (n - 1)) != 0) return NULL;
    while ((size_t)LEAST << class < n) class++;
    if (now.times[class] == TIMES) return NULL;
    now.times[class]++;
    void *p = now.reserve + now.used;
    now.used += n;
    return p;
}

static void *ask(size_t n)
{
    if (!now.active) return given_malloc(n);
    void *p = now.refused ? NULL : given_malloc(n);
    if (p) return p;
    now.refused = true;
    return from_reserve(n);
}

static void give_back(void *p)
{
    const char *at = p;
    if (now.active && at >= now.reserve && at < now.reserve + now.size) return;
    given_free(p);
}

static void take_over(void)
{
    json_get_alloc_funcs(&given_malloc, &given_free);
    json_set_alloc_funcs(ask, give_back);
}

/* Bytes of the longest string, number or word, its quotes counted. */
static size_t longest_token(const char *text, size_t n)
{
    size_t most = 0, length = 0;
    bool string = false;
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        length++;
        if (string) {
            if (c == '\\' && i + 1 < n) i++, length++;
            else if (c == '"') string = false;
        } else if (c == '"') {
            string = true;
            length = 1;
        } else if (c <= ' ' || strchr("[]{},:", c)) {
            length = 0;
        }
        if (length > most) most = length;
    }
    return most;
}

vt_status json_memory_begin(const void *text, size_t n, const char *name, vt_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, take_over);
    now = (parse){ .most = LEAST };
    /* the token, the character behind it, which is looked at, and a NUL */
    const size_t token = longest_token(text, n) + 2;
    while (now.most < token && size_mul(now.most, 2, &now.most)) {}
    if (!size_mul(now.most, 2 * TIMES, &now.size))     /* 32 + 64 + ... + most < 2 most */
        return fail(err, VT_TOO_LARGE, "%s: %zu bytes are too many", name, n);
    now.reserve = malloc(now.size);
    if (!now.reserve) return fail_memory(err, now.size, name);
    now.active = true;
    return VT_OK;
}

bool json_memory_end(json_t **root)
{
    const bool refused = now.refused;
    if (refused) {
        json_decref(*root);
        *root = NULL;
    }
    free(now.reserve);
    now = (parse){ .active = false };
    return refused;
}

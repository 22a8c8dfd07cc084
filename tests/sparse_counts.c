/* sparse_counts.c -- the sanitized command leaves counts of the sources that ran, alone.
 *
 * libgcov writes a file for each of 340 objects whenever a program ends, which is a quarter of
 * what a refused word costs; most of these objects did nothing.  What counted nothing is taken
 * off libgcov's list before it writes: tools/coverage finds the same counts.  The list is no
 * interface: it is declared here as gcc 12's libgcc/libgcov.h has it, and with objects of another
 * version nothing is taken off.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GCC_12 = 'B' << 24 | '2' << 16, COUNTERS = 8 };

struct counter { unsigned num; int64_t *values; };
struct function {
    const struct object *key;               /* another object's: a duplicate that was left out */
    unsigned ident, line_checksum, graph_checksum;
    struct counter counters[];              /* of those kinds alone that have a merge function */
};
struct object {
    unsigned version;
    struct object *next;
    unsigned stamp, checksum;
    const char *filename;
    void (*merge[COUNTERS])(int64_t *, unsigned);
    unsigned functions_n;
    const struct function *const *functions;
};
struct root { struct object *list; };
#pragma GCC visibility push(hidden)
extern struct root __gcov_root;
#pragma GCC visibility pop

static bool counted(const struct object *o)
{
    for (unsigned f = 0; f < o->functions_n; f++) {
        const struct function *fn = o->functions[f];
        if (fn == NULL || fn->key != o) continue;
        const struct counter *c = fn->counters;
        for (int kind = 0; kind < COUNTERS; kind++) {
            if (o->merge[kind] == NULL) continue;
            for (unsigned i = 0; i < c->num; i++)
                if (c->values[i] != 0) return true;
            c++;
        }
    }
    return false;
}

/* Before libgcov's own, which has priority 100: those run in descending order. */
__attribute__((destructor)) static void drop(void)
{
    struct object **at = &__gcov_root.list;
    while (*at != NULL && ((*at)->version & 0xffff0000U) == GCC_12) {
        if (counted(*at)) at = &(*at)->next;
        else *at = (*at)->next;
    }
}

/* nearest.c -- see nearest.h. */
#include "base/nearest.h"
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t nearest_distance(const char *a, size_t na, const char *b, size_t nb)
{
    /* d[i % 3][j]: between the first i letters of a and the first j of b.  An
     * exchange looks two rows back. */
    size_t d[3][NEAREST_LONGEST + 1];
    if (na > NEAREST_LONGEST || nb > NEAREST_LONGEST) return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++) d[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = d[i % 3], *above = d[(i + 2) % 3], *two_above = d[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = least(above[j], row[j - 1]) + 1;
            row[j] = least(row[j], above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return d[na % 3][nb];
}

static size_t dashes(const char *word, size_t n)
{
    size_t i = 0;
    while (i < n && word[i] == '-') i++;
    return i;
}

const char *nearest_word(const char *word, size_t n, const char *(*at)(const void *set, size_t i),
                         const void *set, size_t *length)
{
    const char *nearest = NULL, *w;
    const size_t letters = n - dashes(word, n);
    size_t best = least(2, letters / 2) + 1;
    for (size_t i = 0; (w = at(set, i)) != NULL; i++) {
        const size_t k = strcspn(w, "|"), d = nearest_distance(word, n, w, k);
        if (d >= best || (d > 1 && word[n - letters] != w[dashes(w, k)])) continue;
        best = d;
        nearest = w;
        *length = k;
    }
    return nearest;
}

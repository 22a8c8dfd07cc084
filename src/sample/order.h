/* order.h -- ids by weight falling, then by id: made as far as it is looked at.
 *
 * A heap whose root is the first of the order gives it up and shrinks by one at its end,
 * where the given-up element goes (a heapsort stopped early).  So the i-th of the order
 * stands at c[n - 1 - i], and who looks at a few of n does not pay for the rest.
 */
#ifndef ORDER_H
#define ORDER_H

#include "sample/filters.h"

typedef struct order {
    filter_choice *c;           /* (n), the caller's */
    size_t         n, heap;     /* c[0 .. heap-1] is the heap */
} order;

static inline bool order_before(const filter_choice *a, const filter_choice *b)
{
    return a->weight > b->weight || (a->weight == b->weight && a->id < b->id);
}

static inline void order_sift(filter_choice *c, size_t i, size_t heap)
{
    const filter_choice moved = c[i];
    for (size_t child; (child = 2 * i + 1) < heap; i = child) {
        if (child + 1 < heap && order_before(&c[child + 1], &c[child])) child++;
        if (!order_before(&c[child], &moved)) break;
        c[i] = c[child];
    }
    c[i] = moved;
}

/* Takes c[0 .. n-1], in any order. */
static inline void order_begin(order *o, filter_choice *c, size_t n)
{
    *o = (order){ c, n, n };
    for (size_t i = n / 2; i-- > 0;) order_sift(c, i, n);
}

/* The i-th, i < n. */
static inline const filter_choice *order_at(order *o, size_t i)
{
    while (o->n - o->heap <= i) {
        const filter_choice first = o->c[0];
        o->heap--;
        o->c[0] = o->c[o->heap];
        order_sift(o->c, 0, o->heap);
        o->c[o->heap] = first;
    }
    return &o->c[o->n - 1 - i];
}

#endif

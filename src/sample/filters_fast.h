/* filters_fast.h -- the draw of filters.h, for vocabularies of tens of thousands.
 *
 * Draws the same id: the sums are the same numbers added in another order, so only a
 * u within about 1e-15 of where two ids meet may fall to the other one.  The number of
 * threads and the instruction set change nothing.
 *
 * A page's module has to be small, and so are its vocabularies: there it is the definition.
 */
#ifndef FILTERS_FAST_H
#define FILTERS_FAST_H

#include "kernels/ops.h"
#include "sample/filters.h"

/* Memory for a vocabulary of V, and who works; kernels and team are the caller's to set. */
typedef struct filter_room {
    filter_choice *choices;     /* (V) */
    size_t        *ids;         /* (V) */
    weight_range  *ranges;      /* of each part of the ids */
    const ops     *kernels;
    team          *team;        /* NULL: the caller alone */
} filter_room;

#ifndef VT_WASM
/* Bytes that filter_room_place() divides, 64-byte aligned; SIZE_MAX where they overflow. */
size_t filter_room_bytes(size_t V);
void   filter_room_place(filter_room *s, void *block, size_t V);

/* As filter_draw(). */
VT_MUST_CHECK vt_status filter_draw_fast(const float *logits, size_t V,
                                         const filter_options *options, double u,
                                         filter_room *room, size_t *id, vt_error *err);
#else
static inline size_t filter_room_bytes(size_t V)
{
    return V > SIZE_MAX / sizeof(filter_choice) ? SIZE_MAX : V * sizeof(filter_choice);
}
static inline void filter_room_place(filter_room *s, void *block, size_t V)
{
    (void)V;
    *s = (filter_room){ .choices = block };
}
static inline vt_status filter_draw_fast(const float *logits, size_t V,
                                         const filter_options *options, double u,
                                         filter_room *room, size_t *id, vt_error *err)
{
    return filter_draw(logits, V, options, u, room->choices, id, err);
}
#endif

#endif

/* generate.c -- see generate.h.
 *
 *     logits = forward(the last ids, `window` at most), its last row (gen.logits)
 *     ids    = ids, the drawn id                                    (gen.append)
 */
#include "sample/generate.h"
#include <string.h>

/* Activations of a window whose logits, a vocabulary for each row, are left out: one row
 * of them is needed, which has its own place. */
static gpt_config without_logits(const gpt_config *z)
{
    gpt_config rows = *z;
    rows.V = 1;
    return rows;
}

size_t generator_bytes(const gpt_config *z, int window)
{
    const size_t C = (size_t)z->C, V = (size_t)z->V, positions = (size_t)z->T;
    const gpt_config rows = without_logits(z);
    size_t cache, n, total = gpt_acts_bytes_fast(&rows, 1, window, window, false);
    if (total == SIZE_MAX || !size_mul(positions * C, 2 * (size_t)z->L, &cache)) return SIZE_MAX;
    const size_t pieces[][2] = {
        { cache, sizeof(float) }, { z->tied ? C * V : 0, sizeof(float) },
        { 1, filter_room_bytes(V) }, { V, sizeof(float) },
        { (size_t)window, sizeof(int) },
    };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (!size_mul(pieces[i][0], pieces[i][1], &n) || !size_add(total, n, &total) ||
            !size_add(total, 4 * 64, &total))
            return SIZE_MAX;
    return total;
}

void generator_scratch(size_t *worker, size_t *shared, const gpt_config *z, int window)
{
    const ops_sizes sizes = { .B = 1, .T = window, .P = window, .C = z->C, .NH = z->NH,
                              .HS = z->C / z->NH, .FF = z->FF, .V = z->V };
    ops_scratch(&sizes, worker, shared);
}

vt_status generator_new(generator *g, const gpt_config *z, const float *params, int window,
                        const ops *kernels, int threads, vt_error *err)
{
    const size_t C = (size_t)z->C, V = (size_t)z->V, bytes = generator_bytes(z, window);
    const size_t cache = (size_t)z->L * (size_t)z->T * C;
    size_t worker, shared;
    vt_status s;
    *g = (generator){ .window = window };
    if (bytes == SIZE_MAX)
        return fail(err, VT_TOO_LARGE, "the model's activations overflow a size");
    generator_scratch(&worker, &shared, z, window);
    if ((s = team_new(&g->model.team, threads, worker, shared, err)) ||
        (s = arena_new(&g->block, bytes, "generation", err))) {
        generator_free(g);
        return s;
    }
    g->model.z = *z;
    g->model.params = params;
    g->model.kernels = kernels;
    if (z->tied) g->model.head = arena_take(&g->block, C * V * sizeof(float));
    g->cache.k = arena_take(&g->block, cache * sizeof(float));
    g->cache.v = arena_take(&g->block, cache * sizeof(float));
    filter_room_place(&g->room, arena_take(&g->block, filter_room_bytes(V)), V);
    g->room.kernels = kernels;
    g->room.team = g->model.team;
    g->ids = arena_take(&g->block, (size_t)window * sizeof *g->ids);
    const gpt_config rows = without_logits(z);
    gpt_acts_place_fast(&g->acts, arena_take(&g->block,
                        gpt_acts_bytes_fast(&rows, 1, window, window, false)), &rows, 1, window,
                        window, false);
    g->acts.logits = arena_take(&g->block, V * sizeof *g->acts.logits);
    gpt_prepare_fast(&g->model);
    return VT_OK;
}

void generator_free(generator *g)
{
    team_free(g->model.team);
    arena_free(&g->block);
    *g = (generator){ .ids = NULL };
}

void generator_start(generator *g, const int *ids, size_t n)
{
    const size_t window = (size_t)g->window, from = n > window ? n - window : 0;
    memcpy(g->ids, ids + from, (n - from) * sizeof *ids);
    g->held = g->fresh = (int)(n - from);
    g->cache.length = 0;
}

const float *generator_logits(generator *g)
{
    const bool cached = g->cache.length >= 0;
    const int rows = cached ? g->fresh : g->held;
    if (g->fresh > 0) {
        gpt_forward_last_fast(&g->model, &g->acts, g->ids + g->held - rows,
                              cached ? &g->cache : NULL, rows);
        g->row = g->acts.logits;                                        /* gen.logits */
        g->fresh = 0;
    }
    return g->row;
}

vt_status generator_next(generator *g, const filter_options *how, double u, int *id,
                         vt_error *err)
{
    size_t drawn;
    const vt_status s = filter_draw_fast(generator_logits(g), (size_t)g->model.z.V, how, u,
                                         &g->room, &drawn, err);
    if (s) return s;
    *id = (int)drawn;
    if (g->held == g->window) {
        memmove(g->ids, g->ids + 1, (size_t)(g->window - 1) * sizeof *g->ids);
        g->held--;
        g->cache.length = -1;           /* the window moves: no cached position fits */
    }
    g->ids[g->held++] = *id;                                            /* gen.append */
    g->fresh = 1;
    return VT_OK;
}

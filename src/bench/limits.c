/* limits.c -- see limits.h. */
#include "bench/limits.h"
#include <math.h>
#include <string.h>
#include "base/cpu.h"
#include "bench/peak.h"

enum { EXPS = 4096, FMA_STEPS = 1 << 16, GRAIN = 128, PAD = 16 };

static size_t sets(const peak_set *out[3])
{
    const cpu_features f = cpu_detect();
    size_t n = 0;
    (void)f;
#ifdef VT_X86
    if (f.avx512) out[n++] = &peak_set_avx512;
    if (f.avx2) out[n++] = &peak_set_avx2;
#endif
#ifdef VT_ARM64
    if (f.neon) out[n++] = &peak_set_neon;
#endif
    out[n++] = &peak_set_portable;
    return n;
}

/* One loop on a team: task i does share i of `shares`. */
typedef enum kind { FMA, EXP, READ, COPY, TRIAD, UPDATE, BOTH } kind;
static const struct { const char *name, *unit; double per; size_t arrays; } kinds[] = {
    [FMA] = { "fma", "FLOP/s", 0, 0 }, [EXP] = { "exp", "exp/s", 1, 0 },
    [READ] = { "read", "B/s", 4, 1 }, [COPY] = { "copy", "B/s", 8, 2 },
    [TRIAD] = { "triad", "B/s", 12, 3 }, [UPDATE] = { "update", "B/s", 12, 2 },
    [BOTH] = { "both", "B/s", 20, 3 },
};

typedef struct loop {
    kind            what;
    const peak_set *set;
    team           *crew;
    float          *a, *b, *c;
    size_t          n;              /* floats of each array */
    size_t          again;          /* passes of one call: small arrays */
    float           result[256 * PAD];      /* of each task, in cache lines of their own */
} loop;

static void task(void *context, size_t i, int worker)
{
    loop *o = context;
    const size_t tasks = (size_t)team_size(o->crew);
    const size_t share = o->n / tasks / GRAIN * GRAIN, at = i * share;
    float *r = &o->result[i * PAD];
    (void)worker;
    for (size_t k = 0; k < o->again; k++)
        switch (o->what) {
        case FMA:   *r = o->set->fma(FMA_STEPS); break;
        case EXP:   o->set->exp(o->a + i * EXPS, o->b + i * EXPS, EXPS); break;
        case READ:  *r = o->set->read(o->b + at, share); break;
        case COPY:  o->set->copy(o->a + at, o->b + at, share); break;
        case TRIAD: o->set->triad(o->a + at, o->b + at, o->c + at, share); break;
        case UPDATE: o->set->update(o->a + at, o->b + at, share); break;
        case BOTH:  o->set->both(o->a + at, o->c + at, o->b + at, share); break;
        }
}

static vt_status once(void *state, vt_error *err)
{
    loop *o = state;
    (void)err;
    team_run(o->crew, (size_t)team_size(o->crew), task, o);
    return VT_OK;
}

/* What one call does, in FLOP, exps or bytes. */
static double work(const loop *o)
{
    const size_t tasks = (size_t)team_size(o->crew), share = o->n / tasks / GRAIN * GRAIN;
    const double all = (double)tasks * (double)o->again;
    if (o->what == FMA) return all * o->set->flop_per_step * FMA_STEPS;
    return all * kinds[o->what].per * (o->what == EXP ? EXPS : (double)share);
}

/* ---- the loops are what they say --------------------------------------------- */

/* Arrays b and c hold 1 and 2: a sum is the count where a float holds it, -1, and 7. */
static bool right(const loop *o)
{
    const size_t tasks = (size_t)team_size(o->crew), share = o->n / tasks / GRAIN * GRAIN;
    for (size_t i = 0; i < tasks; i++) {
        const float r = o->result[i * PAD];
        if (o->what == FMA && (double)r != o->set->flop_per_step / 2) return false;
        if (o->what == READ && !(fabs((double)r - (double)share) <= 1e-4 * (double)share))
            return false;
        for (size_t k = 0; o->what == EXP && k < EXPS; k++) {
            const double want = exp((double)o->b[i * EXPS + k]);
            if (!(fabs((double)o->a[i * EXPS + k] - want) <= 2e-7 * want)) return false;
        }
        for (size_t k = 0; (o->what == COPY || o->what == TRIAD) && k < share; k++)
            if (o->a[i * share + k] != (o->what == COPY ? -1.0f : 7.0f)) return false;
    }
    return true;
}

static vt_status measure(limits *l, kind what, const peak_set *set, team *crew,
                         const timing_plan *plan, vt_error *err)
{
    static const double exp_low = -10, exp_high = 1;
    loop o = { .what = what, .set = set, .crew = crew, .a = l->array[0], .b = l->array[1],
               .c = l->array[2], .n = l->count, .again = what == EXP ? 64 : 1 };
    timing t;
    if (l->n == LIMITS_MOST) return fail(err, VT_TOO_LARGE, "more than %d limits", LIMITS_MOST);
    const size_t exps = (size_t)team_size(crew) * EXPS;
    for (size_t i = 0; what == EXP && i < exps; i++)
        o.b[i] = (float)(exp_low + (exp_high - exp_low) * (double)i / (double)exps);
    vt_status s = once(&o, err);
    if (s == VT_OK && !right(&o))
        s = fail(err, VT_CHECK_FAILED, "limit %s, %s, %d threads: the loop's result is wrong: it "
                 "was not timed", kinds[what].name, set->isa, team_size(crew));
    if (s == VT_OK) s = timing_measure(&t, plan, once, &o, err);
    for (size_t i = 0; what == EXP && i < exps; i++) o.b[i] = 1;
    if (s) return s;
    const double n = work(&o);
    l->all[l->n++] = (vt_bench_limit){ .name = kinds[what].name, .isa = set->isa,
        .unit = kinds[what].unit, .threads = team_size(crew), .samples = t.samples,
        .median = n / t.median, .low = n / t.high, .high = n / t.low };
    return VT_OK;
}

static vt_status place(limits *l, size_t last_cache, vt_error *err)
{
    const size_t least = (size_t)192 << 20, most = (size_t)768 << 20, room = cpu_memory() / 8;
    /* All three together; where no last cache is known there may be one for each core. */
    size_t bytes = last_cache && last_cache < most / 12 ? 12 * last_cache : most;
    if (bytes < least) bytes = least;
    if (room && bytes > room) bytes = room;
    l->count = bytes / 3 / sizeof(float) / GRAIN * GRAIN;
    vt_status s = arena_new(&l->block, 3 * arena_piece(l->count * sizeof(float)),
                            "measuring bandwidth", err);
    if (s) return s;
    for (int i = 0; i < 3; i++) {
        l->array[i] = arena_take(&l->block, l->count * sizeof(float));
        for (size_t k = 0; k < l->count; k++) l->array[i][k] = (float)i;    /* 0, 1, 2 */
    }
    return VT_OK;
}

vt_status limits_measure(limits *l, int threads, size_t last_cache, bool quick,
                         bool (*stop)(void *), void *context, vt_error *err)
{
    const double budget = quick ? 0.12 : 0.5;
    const timing_plan plan = { .least = 0.005, .budget = budget, .stop = stop, .context = context };
    const timing_plan ramp = { .least = 0.005, .budget = 0.3, .stop = stop, .context = context };
    const peak_set *all[3];
    const size_t n = sets(all);
    vt_status s;
    *l = (limits){ .threads = threads };
    if ((s = team_new(&l->one, 1, 0, 0, err)) || (s = team_new(&l->crew, threads, 0, 0, err)) ||
        (s = place(l, last_cache, err)))
        goto done;
    /* The clock of the processor rises under load: a measurement that is not kept. */
    if ((s = measure(l, FMA, all[0], l->crew, &ramp, err))) goto done;
    l->n = 0;
    for (int many = 0; many < (threads > 1 ? 2 : 1) && s == VT_OK; many++) {
        team *crew = many ? l->crew : l->one;
        for (size_t i = 0; i < n && s == VT_OK; i++) s = measure(l, FMA, all[i], crew, &plan, err);
        for (kind k = EXP; k <= TRIAD && s == VT_OK; k++) s = measure(l, k, all[0], crew, &plan, err);
    }
done:
    if (s) limits_free(l);
    return s;
}

void limits_free(limits *l)
{
    team_free(l->one);
    team_free(l->crew);
    arena_free(&l->block);
    *l = (limits){ .n = 0 };
}

/* ---- asked for ---------------------------------------------------------------- */

static double best(const limits *l, const char *name, int threads)
{
    double most = (double)NAN;
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->all[i].name, name) == 0 && l->all[i].threads == threads &&
            !(l->all[i].median <= most))
            most = l->all[i].median;
    return most;
}

static double rate(const limits *l, const char *name, int threads)
{
    const double one = best(l, name, 1);
    if (threads == 1 || l->threads == 1) return one * threads;
    const double all = best(l, name, l->threads), scaled = one * threads;
    return threads == l->threads || !(scaled < all) ? all : scaled;
}

double limits_flop(const limits *l, int threads) { return rate(l, "fma", threads); }
double limits_exp(const limits *l, int threads)  { return rate(l, "exp", threads); }
double limits_read(const limits *l, int threads) { return rate(l, "read", threads); }

double limits_memory(const limits *l, int threads)
{
    return fmax(rate(l, "read", threads), fmax(rate(l, "copy", threads), rate(l, "triad", threads)));
}

/* The best of all loops over arrays that take `bytes` together. */
static vt_status resident(vt_bench_limit *out, limits *l, size_t bytes, team *crew, kind last,
                          vt_error *err)
{
    const timing_plan plan = { .least = 0.001, .budget = 0.02 };
    const size_t grain = GRAIN * (size_t)team_size(crew);
    const peak_set *all[3];
    (void)sets(all);
    *out = (vt_bench_limit){ .isa = all[0]->isa, .unit = "B/s", .threads = team_size(crew) };
    for (kind k = READ; k <= last; k++) {
        size_t n = bytes / kinds[k].arrays / sizeof(float) / grain * grain;
        if (n < grain) n = grain;
        if (n > l->count) n = l->count / grain * grain;
        loop o = { .what = k, .set = all[0], .crew = crew, .a = l->array[0], .b = l->array[1],
                   .c = l->array[2], .n = n, .again = 1 + ((size_t)1 << 18) / n };
        timing t;
        const vt_status s = timing_measure(&t, &plan, once, &o, err);
        if (s) return s;
        const double w = work(&o);
        out->samples += t.samples;
        if (w / t.median <= out->median) continue;
        out->median = w / t.median;
        out->low = w / t.high;
        out->high = w / t.low;
    }
    return VT_OK;
}

static team *crew_of(const limits *l, int threads) { return threads == 1 ? l->one : l->crew; }

vt_status limits_resident(limits *l, size_t bytes, int threads, double *out, vt_error *err)
{
    vt_bench_limit best;
    const vt_status s = resident(&best, l, bytes, crew_of(l, threads), BOTH, err);
    *out = best.median;
    return s;
}

vt_status limits_reread(limits *l, size_t bytes, int threads, double *out, vt_error *err)
{
    vt_bench_limit best;
    const vt_status s = resident(&best, l, bytes, crew_of(l, threads), READ, err);
    *out = best.median;
    return s;
}

vt_status limits_caches(limits *l, const size_t bytes[3], vt_error *err)
{
    static const char *const names[] = { "l1", "l2", "l3" };
    static const size_t usual[] = { (size_t)32 << 10, (size_t)512 << 10, (size_t)16 << 20 };
    vt_status s = VT_OK;
    for (int many = 0; many < (l->threads > 1 ? 2 : 1); many++)
        for (size_t i = 0; i < 3 && s == VT_OK; i++) {
            team *crew = many ? l->crew : l->one;
            const size_t own = (bytes[i] ? bytes[i] : usual[i]) / 2;
            const size_t each = i < 2 ? own * (size_t)team_size(crew) : own;    /* the last is shared */
            if (l->n == LIMITS_MOST) return fail(err, VT_TOO_LARGE, "more than %d limits", LIMITS_MOST);
            vt_bench_limit *next = &l->all[l->n];
            if ((s = resident(next, l, each, crew, BOTH, err))) break;
            next->name = names[i];
            l->n++;
        }
    return s;
}

/* threads.c -- see threads.h.
 *
 * A launch costs about a microsecond for the caller while the workers
 * still look out for it, and a wake-up of the system where they sleep.
 *
 * A launch is `n` tasks, a span of about equal length for each thread (affinity scheduling:
 * Markatos, LeBlanc 1994).  So a thread meets again the rows that it wrote in the last
 * launch, and the weights that it read for the last token, in its own caches.  Who has
 * finished its span takes from those of others; the caller then waits until all n are
 * finished, not until all workers have come: one that wakes late finds nothing left.
 *
 * What a worker has to know of its span lies in one cache line, at which it looks out: each
 * line that travels from one processor to another takes as long as a small task.
 *
 * A span's ticket holds (launch, next number), so that a late worker can not take a
 * number of one launch with the task of another.  The caller closes a
 * ticket before it changes task, context and numbers, and opens it afterwards:
 *
 *     caller                          worker
 *     ticket = (g, closed)            t = ticket
 *     task, context, end, ...         read task, context, end
 *     ticket = (g+1, start)           ticket: t -> t + some, only if still t
 *
 * If a worker read anything new, the ticket it read before is gone and the
 * exchange fails; if the exchange succeeds for a number below the span's end, the launch
 * can not end before that worker has finished.  For that a read of something new has to
 * show the closed ticket, too: stores release and loads acquire, in this order.
 *
 * Sleeping: a worker announces itself in `sleepers` and then looks at the
 * launch number; the caller raises the launch number and then looks at
 * `sleepers`.  One of the two sees the other.  The same between the last
 * worker to finish and a waiting caller.
 *
 * A worker that is woken may find itself on the caller's processor, and stay there: by turns
 * the two are never busy long enough for the system to move one, though another processor
 * idles.  So a worker that wakes beside the caller moves away.
 */
#include "base/threads.h"
#include "base/arena.h"
#include "base/cpu.h"
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1024 };
static const uint64_t CLOSED = UINT32_MAX;  /* as a number: none is left */

/* The span of tasks that one worker begins with; numbers are those of the launch. */
typedef struct span {
    _Atomic uint64_t     ticket;    /* launch << 32 | next number */
    _Atomic(team_task *) task;
    _Atomic(void *)      context;
    atomic_size_t        end, first;    /* number i is task first + i */
} span;

enum { APART = 128 };               /* no two in a cache line, or in neighbours */

/* Worker 0 is the caller. */
typedef struct member {
    _Alignas(APART) span span;
    _Alignas(APART) _Atomic uint64_t done;  /* tasks so far, in all launches; the caller looks here */
    team     *team;
    int       worker;
    pthread_t thread;
} member;

struct team {
    int      threads, started;      /* started: threads to join, members[1 .. started] */
    int      spin;                  /* looks before it sleeps */
    atomic_int caller;              /* the processor of who woke the workers */
    member  *members;
    arena    memory;
    char   **scratch;
    char    *shared;
    size_t   worker_bytes, shared_bytes;

    pthread_mutex_t lock;
    pthread_cond_t  start, done;
    bool            has_lock, has_start, has_done;

    uint64_t             given;     /* tasks so far, in all launches */
    _Atomic uint32_t     launch;
    atomic_int           sleepers;
    atomic_bool          waiting, quit, running;
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Takes numbers of span `w` of a launch until none is left; returns how many. */
static size_t take_span(team *t, int w, int worker, uint32_t launch)
{
    span *s = &t->members[w].span;
    size_t done = 0;
    for (;;) {
        uint64_t seen = atomic_load_explicit(&s->ticket, memory_order_acquire);
        team_task *task = atomic_load_explicit(&s->task, memory_order_acquire);
        void *context = atomic_load_explicit(&s->context, memory_order_acquire);
        const uint64_t number = seen & UINT32_MAX;
        const uint64_t end = atomic_load_explicit(&s->end, memory_order_acquire);
        const size_t first = atomic_load_explicit(&s->first, memory_order_acquire);
        /* The end may be of a launch that is just being made; but a ticket that is closed,
         * or of another launch, is none to wait for. */
        if (seen >> 32 != launch || number >= end) return done;
        /* Of its own several at once, for an exchange takes as long as a small task; the last
         * ones and those of others singly, so that all end together. */
        const uint64_t share = w == worker ? (end - number) / 4 : 1, taken = share > 1 ? share : 1;
        if (!atomic_compare_exchange_strong(&s->ticket, &seen, seen + taken)) continue;
        for (size_t i = 0; i < taken; i++) task(context, first + (size_t)number + i, worker);
        done += taken;
    }
}

/* `done` is counted when nothing is left: a launch does not end before. */
static void take_tasks(team *t, int worker, uint32_t launch)
{
    _Atomic uint64_t *mine = &t->members[worker].done;
    size_t done = 0;
    for (int i = 0; i < t->threads; i++)
        done += take_span(t, (worker + i) % t->threads, worker, launch);
    if (done == 0) return;
    atomic_store(mine, atomic_load_explicit(mine, memory_order_relaxed) + done);
    if (worker > 0 && atomic_load(&t->waiting)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_signal(&t->done);
        pthread_mutex_unlock(&t->lock);
    }
}

/* Returns when the launch number is no longer `seen`, with the new one. */
static uint32_t next_launch(team *t, int worker, uint32_t seen)
{
    const span *mine = &t->members[worker].span;
    for (int i = 0; i < t->spin; i++) {
        const uint64_t ticket = atomic_load_explicit(&mine->ticket, memory_order_acquire);
        if (ticket >> 32 != seen) return (uint32_t)(ticket >> 32);
        relax();
    }
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleepers, 1);
    while (atomic_load(&t->launch) == seen) pthread_cond_wait(&t->start, &t->lock);
    atomic_fetch_sub(&t->sleepers, 1);
    pthread_mutex_unlock(&t->lock);
    if (t->spin > 0) cpu_leave(atomic_load(&t->caller));    /* 0: fewer processors than threads */
    return atomic_load(&t->launch);
}

static void *worker_main(void *argument)
{
    member *m = argument;
    uint32_t seen = 0;
    for (;;) {
        seen = next_launch(m->team, m->worker, seen);
        if (atomic_load(&m->team->quit)) return NULL;
        take_tasks(m->team, m->worker, seen);
    }
}

static void wake(team *t, size_t wanted)
{
    if (atomic_load(&t->sleepers) == 0) return;
    atomic_store(&t->caller, cpu_current());
    pthread_mutex_lock(&t->lock);
    const int asleep = atomic_load(&t->sleepers);
    if (wanted >= (size_t)asleep) {
        pthread_cond_broadcast(&t->start);
    } else {
        for (size_t i = 0; i < wanted; i++) pthread_cond_signal(&t->start);
    }
    pthread_mutex_unlock(&t->lock);
}

static bool finished(const team *t)
{
    uint64_t done = 0;
    for (int w = 0; w < t->threads; w++) done += atomic_load(&t->members[w].done);
    return done == t->given;
}

static void wait_finished(team *t)
{
    for (int i = 0; i < t->spin; i++) {
        if (finished(t)) return;
        relax();
    }
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->waiting, true);
    while (!finished(t)) pthread_cond_wait(&t->done, &t->lock);
    atomic_store(&t->waiting, false);
    pthread_mutex_unlock(&t->lock);
}

/* Span w of `spans` over numbers 0 .. n-1. */
static void open_span(team *t, int w, int spans, uint32_t number, size_t first, size_t n,
                      team_task *task, void *context)
{
    span *s = &t->members[w].span;
    const uint64_t start = (uint64_t)n * (uint64_t)w / (uint64_t)spans;
    const uint64_t end = (uint64_t)n * (uint64_t)(w + 1) / (uint64_t)spans;
    const uint64_t before = atomic_load_explicit(&s->ticket, memory_order_relaxed);
    atomic_store_explicit(&s->ticket, before | CLOSED, memory_order_release);
    atomic_store_explicit(&s->task, task, memory_order_release);
    atomic_store_explicit(&s->context, context, memory_order_release);
    atomic_store_explicit(&s->end, (size_t)end, memory_order_release);
    atomic_store_explicit(&s->first, first, memory_order_release);
    atomic_store_explicit(&s->ticket, (uint64_t)number << 32 | start, memory_order_release);
}

/* One launch of 2 .. 2^32 - 2 tasks from number `first` on. */
static void launch(team *t, size_t first, size_t n, team_task *task, void *context)
{
    const uint32_t number = atomic_load(&t->launch) + 1;
    const int spans = n < (size_t)t->threads ? (int)n : t->threads;
    t->given += n;
    for (int w = spans; w-- > 0;) open_span(t, w, spans, number, first, n, task, context);
    atomic_store(&t->launch, number);
    wake(t, n - 1);
    take_tasks(t, 0, number);
    wait_finished(t);
}

void team_run(team *t, size_t n, team_task *task, void *context)
{
    if (!t || t->threads == 1 || n <= 1) {
        for (size_t i = 0; i < n; i++) task(context, i, 0);
        return;
    }
    const bool nested = atomic_exchange(&t->running, true);
    assert(!nested);
    (void)nested;
    const size_t most = (size_t)(CLOSED - 1);
    for (size_t first = 0; first < n; ) {
        const size_t part = n - first < most ? n - first : most;
        launch(t, first, part, task, context);
        first += part;
    }
    atomic_store(&t->running, false);
}

/* Signals are the caller's: a worker blocks them all. */
static vt_status start_workers(team *t, vt_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = 0;
    while (failed == 0 && t->started < t->threads - 1) {
        member *m = &t->members[t->started + 1];
        m->team = t;
        m->worker = t->started + 1;
        failed = pthread_create(&m->thread, NULL, worker_main, m);
        if (failed == 0) t->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0)
        return fail(err, VT_TOO_LARGE, "cannot start thread %d of %d: %s",
                    t->started + 2, t->threads, strerror(failed));
    return VT_OK;
}

bool team_bytes(size_t *out, int threads, size_t worker_bytes, size_t shared_bytes)
{
    const size_t piece = arena_piece(worker_bytes), shared = arena_piece(shared_bytes);
    return piece >= worker_bytes && shared >= shared_bytes &&
           size_mul(piece, (size_t)threads, out) && size_add(*out, shared, out);
}

static vt_status team_memory(team *t, vt_error *err)
{
    const size_t threads = (size_t)t->threads;
    size_t size;
    if (!team_bytes(&size, t->threads, t->worker_bytes, t->shared_bytes))
        return fail(err, VT_TOO_LARGE, "scratch of %zu bytes for each of %d threads and %zu "
                    "for all is too large", t->worker_bytes, t->threads, t->shared_bytes);
    const vt_status status = arena_new(&t->memory, size, "scratch memory", err);
    if (status != VT_OK) return status;
    for (size_t i = 0; i < threads; i++) t->scratch[i] = arena_take(&t->memory, t->worker_bytes);
    t->shared = arena_take(&t->memory, t->shared_bytes);
    return VT_OK;
}

vt_status team_new(team **out, int threads, size_t worker_bytes, size_t shared_bytes,
                   vt_error *err)
{
    *out = NULL;
    if (threads < 1 || threads > MAX_THREADS)
        return fail(err, VT_USAGE, "%d threads: expected 1 to %d", threads, MAX_THREADS);
    team *t = calloc(1, sizeof *t);
    if (!t) return fail_memory(err, sizeof *t, "a team of threads");
    t->threads = threads;
    t->worker_bytes = worker_bytes;
    t->shared_bytes = shared_bytes;
    /* Looking out pays only where every thread has a processor of its own:
     * about 30 microseconds of it, more than the gap between two kernels. */
    t->spin = threads <= cpu_count() ? 1000 : 0;
    atomic_init(&t->caller, -1);
    vt_status status = VT_OK;
    t->members = aligned_alloc(APART, (size_t)threads * sizeof *t->members);
    if (t->members) memset(t->members, 0, (size_t)threads * sizeof *t->members);
    t->scratch = calloc((size_t)threads, sizeof *t->scratch);
    if (!t->members || !t->scratch) {
        status = fail_memory(err, (size_t)threads * sizeof *t->members, "a team of threads");
        goto done;
    }
    if ((status = team_memory(t, err)) != VT_OK) goto done;
    t->has_lock = pthread_mutex_init(&t->lock, NULL) == 0;
    t->has_start = pthread_cond_init(&t->start, NULL) == 0;
    t->has_done = pthread_cond_init(&t->done, NULL) == 0;
    if (!t->has_lock || !t->has_start || !t->has_done)
        status = fail(err, VT_TOO_LARGE, "cannot make a lock for %d threads", threads);
    else
        status = start_workers(t, err);
done:
    if (status != VT_OK) team_free(t);
    else *out = t;
    return status;
}

void team_free(team *t)
{
    if (!t) return;
    if (t->started > 0) {
        pthread_mutex_lock(&t->lock);
        atomic_store(&t->quit, true);
        atomic_fetch_add(&t->launch, 1);
        pthread_cond_broadcast(&t->start);
        pthread_mutex_unlock(&t->lock);
    }
    for (int i = 1; i <= t->started; i++) pthread_join(t->members[i].thread, NULL);
    if (t->has_lock) pthread_mutex_destroy(&t->lock);
    if (t->has_start) pthread_cond_destroy(&t->start);
    if (t->has_done) pthread_cond_destroy(&t->done);
    arena_free(&t->memory);
    free(t->scratch);
    free(t->members);
    free(t);
}

int team_size(const team *t)
{
    return t ? t->threads : 1;
}

void *team_scratch(team *t, int worker)
{
    return t && worker >= 0 && worker < t->threads ? t->scratch[worker] : NULL;
}

size_t team_scratch_bytes(const team *t)
{
    return t ? t->worker_bytes : 0;
}

void *team_shared(team *t)
{
    return t ? t->shared : NULL;
}

size_t team_shared_bytes(const team *t)
{
    return t ? t->shared_bytes : 0;
}

/* test_threads.c -- the arena and the team: every task once, on any team. */
#include "support.h"
#include "base/arena.h"
#include "base/threads.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void pieces_are_aligned_zeroed_and_apart(void **state)
{
    (void)state;
    const size_t wanted[] = { 1, 63, 64, 65, 4096, 5000000 };
    size_t total = 0;
    for (size_t i = 0; i < 6; i++) total += arena_piece(wanted[i]);
    assert_int_equal(total, 64 + 64 + 64 + 128 + 4096 + 5000000 / 64 * 64);
    arena a;
    assert_ok(arena_new(&a, total, "a test", &test_error));
    assert_true(a.size >= total);
    for (size_t i = 0; i < 6; i++) {
        unsigned char *p = arena_take(&a, wanted[i]);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t k = 0; k < wanted[i]; k++) assert_int_equal(p[k], 0);
        memset(p, 0xFF, wanted[i]);
    }
    assert_int_equal(a.used, total);
    arena_free(&a);
    assert_null(a.base);
    arena_free(&a);
}

static void blocks_beyond_the_memory_are_refused(void **state)
{
    (void)state;
    arena a;
    const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2, (size_t)1 << 52 };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(arena_new(&a, sizes[i], "the moments", &test_error), VT_TOO_LARGE);
        assert_contains(test_error.text, "the moments needs ");
        assert_null(a.base);
    }
    assert_true(arena_piece(SIZE_MAX) == SIZE_MAX);
    assert_ok(arena_new(&a, 0, "nothing", &test_error));
    assert_null(arena_take(&a, 0));
    arena_free(&a);
}

enum { TASKS = 4097 };
struct count {
    atomic_int done[TASKS];
    atomic_int most;
    int        threads;
    int        sum[TASKS];
};

static void count_task(void *context, size_t i, int worker)
{
    struct count *c = context;
    if (i >= TASKS || worker < 0 || worker >= c->threads) abort();
    atomic_fetch_add(&c->done[i], 1);
    c->sum[i] += (int)i;            /* plain: the thread sanitizer looks here */
}

static void every_task_runs_once(void **state)
{
    (void)state;
    const int sizes[] = { 1, 2, 3, 7, 16 };
    const size_t tasks[] = { 0, 1, 2, 3, 7, 64, TASKS };
    struct count *c = calloc(1, sizeof *c);
    assert_non_null(c);
    for (size_t s = 0; s < 5; s++) {
        team *t = NULL;
        assert_ok(team_new(&t, sizes[s], 100, 10, &test_error));
        assert_int_equal(team_size(t), sizes[s]);
        c->threads = sizes[s];
        for (size_t k = 0; k < 7; k++) {
            memset(c, 0, offsetof(struct count, threads));
            memset(c->sum, 0, sizeof c->sum);
            for (int again = 0; again < 3; again++) team_run(t, tasks[k], count_task, c);
            for (size_t i = 0; i < TASKS; i++) {
                assert_int_equal(atomic_load(&c->done[i]), i < tasks[k] ? 3 : 0);
                assert_int_equal(c->sum[i], i < tasks[k] ? 3 * (int)i : 0);
            }
        }
        team_free(t);
    }
    free(c);
}

/* Many short launches, some after a sleep, each with a context of its own: a
 * late worker must not run one launch's number with another's task. */
struct launch { size_t n; int id; int seen[8]; };

static void launch_task(void *context, size_t i, int worker)
{
    (void)worker;
    struct launch *l = context;
    if (i >= l->n) abort();
    l->seen[i] += l->id;
}

static void odd_task(void *context, size_t i, int worker)
{
    struct launch *l = context;
    if (l->n % 2 == 0) abort();
    launch_task(context, i, worker);
}

static void launches_do_not_mix(void **state)
{
    (void)state;
    for (int threads = 2; threads <= 5; threads++) {
        team *t = NULL;
        assert_ok(team_new(&t, threads, 0, 0, &test_error));
        for (int k = 0; k < 3000; k++) {
            struct launch l;
            memset(&l, 0, sizeof l);
            l.n = 2 + (size_t)(k % 7);
            l.id = k + 1;
            team_run(t, l.n, l.n % 2 ? odd_task : launch_task, &l);
            for (size_t i = 0; i < 8; i++)
                assert_int_equal(l.seen[i], i < l.n ? k + 1 : 0);
            if (k % 500 == 0) {
                const struct timespec pause = { 0, 2000000 };
                nanosleep(&pause, NULL);
            }
        }
        team_free(t);
    }
}

static void sleepy_task(void *context, size_t i, int worker)
{
    (void)worker;
    atomic_int *done = context;
    const struct timespec pause = { 0, i % 2 ? 3000000 : 300000 };
    nanosleep(&pause, NULL);
    atomic_fetch_add(done, 1);
}

/* The caller, done with its own tasks, waits for those of others. */
static void a_run_ends_with_its_last_task(void **state)
{
    (void)state;
    team *t = NULL;
    assert_ok(team_new(&t, 3, 0, 0, &test_error));
    for (int k = 0; k < 20; k++) {
        atomic_int done;
        atomic_init(&done, 0);
        team_run(t, 6, sleepy_task, &done);
        assert_int_equal(atomic_load(&done), 6);
    }
    team_free(t);
}

/* Arrives, and waits for the others: that the workers sleep on is seen after
 * ten seconds. */
struct meeting { atomic_int here; int by[3]; };

static void meeting_task(void *context, size_t i, int worker)
{
    struct meeting *m = context;
    const struct timespec pause = { 0, 1000000 };
    m->by[i] = worker;
    atomic_fetch_add(&m->here, 1);
    for (int k = 0; atomic_load(&m->here) < 3; k++) {
        if (k == 10000) abort();
        nanosleep(&pause, NULL);
    }
}

/* And each begins with its own: no span is taken from before a worker is free. */
static void sleeping_workers_are_woken(void **state)
{
    (void)state;
    team *t = NULL;
    assert_ok(team_new(&t, 3, 0, 0, &test_error));
    for (int k = 0; k < 20; k++) {
        const struct timespec pause = { 0, 2000000 };
        struct meeting m = { .by = { -1, -1, -1 } };
        if (k % 2) nanosleep(&pause, NULL);
        team_run(t, 3, meeting_task, &m);
        assert_int_equal(atomic_load(&m.here), 3);
        for (int i = 0; i < 3; i++) assert_int_equal(m.by[i], i);
    }
    team_free(t);
}

static void scratch_task(void *context, size_t i, int worker)
{
    team *t = context;
    unsigned char *mine = team_scratch(t, worker);
    memset(mine, worker + 1, team_scratch_bytes(t));
    for (size_t k = 0; k < team_scratch_bytes(t); k++)
        if (mine[k] != worker + 1) abort();
    ((unsigned char *)team_shared(t))[i] = 1;
}

static void scratch_is_each_workers_own(void **state)
{
    (void)state;
    team *t = NULL;
    assert_ok(team_new(&t, 3, 1000, 50, &test_error));
    assert_int_equal(team_scratch_bytes(t), 1000);
    assert_int_equal(team_shared_bytes(t), 50);
    for (int w = 0; w < 3; w++) {
        assert_non_null(team_scratch(t, w));
        assert_int_equal((uintptr_t)team_scratch(t, w) % 64, 0);
    }
    assert_int_equal((uintptr_t)team_shared(t) % 64, 0);
    team_run(t, 50, scratch_task, t);
    for (size_t i = 0; i < 50; i++) assert_int_equal(((unsigned char *)team_shared(t))[i], 1);
    team_free(t);
}

static void order_task(void *context, size_t i, int worker)
{
    size_t *next = context;
    if (i != *next || worker != 0) abort();
    ++*next;
}

static void no_team_is_the_caller(void **state)
{
    (void)state;
    size_t next = 0;
    team_run(NULL, 10, order_task, &next);
    assert_int_equal(next, 10);
    assert_int_equal(team_size(NULL), 1);
    assert_null(team_scratch(NULL, 0));
    assert_int_equal(team_scratch_bytes(NULL), 0);
    team_free(NULL);
}

static void impossible_teams_are_refused(void **state)
{
    (void)state;
    team *t = NULL;
    const int bad[] = { 0, -1, 1025 };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(team_new(&t, bad[i], 0, 0, &test_error), VT_USAGE);
        assert_contains(test_error.text, "expected 1 to 1024");
        assert_null(t);
    }
    assert_int_equal(team_new(&t, 2, SIZE_MAX / 2, 0, &test_error), VT_TOO_LARGE);
    assert_int_equal(team_new(&t, 2, SIZE_MAX, 0, &test_error), VT_TOO_LARGE);
    assert_int_equal(team_new(&t, 2, 64, SIZE_MAX - 10, &test_error), VT_TOO_LARGE);
    assert_null(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_zeroed_and_apart),
        cmocka_unit_test(blocks_beyond_the_memory_are_refused),
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(launches_do_not_mix),
        cmocka_unit_test(a_run_ends_with_its_last_task),
        cmocka_unit_test(sleeping_workers_are_woken),
        cmocka_unit_test(scratch_is_each_workers_own),
        cmocka_unit_test(no_team_is_the_caller),
        cmocka_unit_test(impossible_teams_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

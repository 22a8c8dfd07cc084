/* test_kernel_host.c -- whatever a kernel does, the caller lives and is told in one line. */
#include "support.h"
#include "scratch.h"
#include "kernels/nasty.h"
#include "verify/host/kernel_host.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/interrupt.h"
#include "base/io.h"

enum { N = 7, MOST = 4096 };

/* One call of nasty.c: q (N), m (N) bytes, t (N); o (N); do, dq. */
typedef struct fixture {
    float q[MOST], o[MOST], dout[MOST], dq[MOST];
    unsigned char m[MOST];
    int32_t t[MOST];
    kernel_buffer in[3], out[1], up[1], din[3];
    kernel_request request;
} fixture;

static fixture *fixture_new(size_t n, enum nasty what, int pass)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < n; i++) {
        f->q[i] = 1 + (float)i;
        f->dout[i] = 3 * (float)i - 4;
        f->dq[i] = 100 + (float)i;
        f->o[i] = 9;
        f->m[i] = 1;
        f->t[i] = (int32_t)i;
    }
    f->in[0] = (kernel_buffer){ "q", f->q, n, 4 };
    f->in[1] = (kernel_buffer){ "mask", f->m, n, 1 };
    f->in[2] = (kernel_buffer){ "target", f->t, n, 4 };
    f->out[0] = (kernel_buffer){ "o", f->o, n, 4 };
    f->up[0] = (kernel_buffer){ "do", f->dout, n, 4 };
    f->din[0] = (kernel_buffer){ "dq", f->dq, n, 4 };
    f->din[1] = (kernel_buffer){ "dmask", NULL, n, 1 };
    f->din[2] = (kernel_buffer){ "dtarget", NULL, n, 4 };
    const bool backward = pass == VT_KERNEL_BACKWARD;
    f->request = (kernel_request){ .in = f->in, .out = f->out, .dout = backward ? f->up : NULL,
                                   .din = backward ? f->din : NULL };
    f->request.call = (vt_kernel_call){ .op = VT_OP_SOFTMAX, .dtype = VT_KERNEL_F32,
                                        .pass = pass, .N = n, .OC = (size_t)what,
                                        .nin = 3, .nout = 1, .save_bytes = 64 };
    return f;
}

static kernel_host *open_nasty(const char *name, double seconds)
{
    char path[600];
    kernel_host *h = NULL;
    const kernel_host_options o = { .seconds = seconds, .memory_bytes = (size_t)256 << 20 };
    snprintf(path, sizeof path, "%s/%s.so", VT_NASTY, name);
    assert_ok(kernel_host_open(&h, path, &o, &test_error));
    return h;
}

static kernel_outcome outcome;          /* of the last call */

static void call(kernel_host *h, const fixture *f)
{
    assert_ok(kernel_host_call(h, &f->request, &outcome, &test_error));
}

static void call_nasty(kernel_host *h, enum nasty what, int pass)
{
    fixture *f = fixture_new(N, what, pass);
    call(h, f);
    free(f);
}

static void expect_good(kernel_host *h)
{
    fixture *f = fixture_new(N, NASTY_NOT, VT_KERNEL_FORWARD);
    call(h, f);
    assert_string_equal(outcome.text, "");
    assert_int_equal(outcome.end, KERNEL_OK);
    for (size_t i = 0; i < N; i++) assert_true(f->o[i] == 2 * (1 + (float)i));
    free(f);
}

/* ---- what a good kernel gets --------------------------------------------- */

static void a_good_kernel_computes(void **state)
{
    (void)state;
    /* Around a page, which is 1024 floats, and its mask around 4096 bytes. */
    static const size_t sizes[] = { 1, 2, 3, 4, 5, 1023, 1024, 1025, 2048, 4095, 4096 };
    kernel_host *h = open_nasty("nasty", 20);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const size_t n = sizes[k];
        fixture *f = fixture_new(n, NASTY_NOT, VT_KERNEL_FORWARD);
        call(h, f);
        assert_int_equal(outcome.end, KERNEL_OK);
        assert_int_equal(outcome.said_bytes, 0);
        assert_int_equal(outcome.unwritten[0].count, 0);
        for (size_t i = 0; i < n; i++) assert_true(f->o[i] == 2 * (1 + (float)i));
        fixture *b = fixture_new(n, NASTY_NOT, VT_KERNEL_BACKWARD);
        call(h, b);                     /* finds save: it returns 55 if not */
        assert_int_equal(outcome.end, KERNEL_OK);
        for (size_t i = 0; i < n; i++) {
            assert_true(b->dq[i] == 100 + (float)i + 2 * (3 * (float)i - 4));
            assert_true(b->o[i] == 9 && b->q[i] == 1 + (float)i);
        }
        free(f);
        free(b);
    }
    kernel_host_free(h);
}

static void doubles_too(void **state)
{
    (void)state;
    double q[3] = { 1, -2.5, 1e300 }, o[3] = { 0, 0, 0 }, d[3] = { 1, 1, 1 }, dq[3] = { 5, 6, 7 };
    const kernel_buffer in[] = { { "q", q, 3, 8 } }, out[] = { { "o", o, 3, 8 } };
    const kernel_buffer up[] = { { "do", d, 3, 8 } }, din[] = { { "dq", dq, 3, 8 } };
    kernel_request r = { .in = in, .out = out };
    r.call = (vt_kernel_call){ .dtype = VT_KERNEL_F64, .pass = VT_KERNEL_FORWARD, .N = 3,
                               .nin = 1, .nout = 1 };
    kernel_host *h = open_nasty("nasty", 20);
    assert_ok(kernel_host_call(h, &r, &outcome, &test_error));
    assert_int_equal(outcome.end, KERNEL_OK);
    assert_true(o[0] == 2 && o[1] == -5 && o[2] == 2e300);
    r.call.pass = VT_KERNEL_BACKWARD;
    r.dout = up;
    r.din = din;
    assert_ok(kernel_host_call(h, &r, &outcome, &test_error));
    assert_int_equal(outcome.end, KERNEL_OK);
    assert_true(dq[0] == 7 && dq[1] == 8 && dq[2] == 9);
    kernel_host_free(h);
}

static void save_outlives_its_child(void **state)
{
    (void)state;
    kernel_host *h = open_nasty("nasty", 20);
    fixture *f = fixture_new(N, NASTY_NOT, VT_KERNEL_FORWARD);
    fixture *b = fixture_new(N, NASTY_NOT, VT_KERNEL_BACKWARD);
    call(h, f);
    kernel_host_fresh(h);
    call(h, b);
    assert_int_equal(outcome.end, KERNEL_OK);
    call(h, f);
    b->request.call.save_bytes = 128;   /* of another case: nothing was left there */
    call(h, b);
    assert_int_equal(outcome.end, KERNEL_RETURNED);
    assert_string_equal(outcome.text, "returned 55, expected 0");
    free(f);
    free(b);
    kernel_host_free(h);
}

static void large_tensors_get_larger_pages(void **state)
{
    (void)state;
    const size_t n = (size_t)12 << 20;
    float *q = calloc(n, sizeof *q), *o = calloc(n, sizeof *o);
    assert_non_null(q);
    assert_non_null(o);
    kernel_host *h = open_nasty("nasty", 60);
    q[0] = 1;
    q[n - 1] = 4;
    const kernel_buffer in[] = { { "q", q, n, 4 } }, out[] = { { "o", o, n, 4 } };
    kernel_request r = { .in = in, .out = out };
    r.call = (vt_kernel_call){ .dtype = VT_KERNEL_F32, .pass = VT_KERNEL_FORWARD, .N = n,
                               .nin = 1, .nout = 1, .save_bytes = 64 };
    assert_ok(kernel_host_call(h, &r, &outcome, &test_error));
    assert_int_equal(outcome.end, KERNEL_OK);
    assert_true(o[0] == 2 && o[n - 1] == 8);
    expect_good(h);
    kernel_host_free(h);
    free(q);
    free(o);
}

static void buffers_are_aligned_to_their_elements_alone(void **state)
{
    (void)state;
    kernel_host *h = open_nasty("nasty", 20);
    fixture *f = fixture_new(N, NASTY_ADDRESSES, VT_KERNEL_FORWARD);
    call(h, f);
    /* Seven elements before the end of a page. */
    assert_true(f->o[0] == 4096 - 28 && f->o[1] == 4096 - 7 && f->o[2] == 4096 - 28);
    free(f);
    kernel_host_free(h);
}

/* ---- what a bad one does ------------------------------------------------- */

typedef struct wrong {
    enum nasty what;
    int pass;
    kernel_end end;
    int code;
    const char *text, *buffer;
    long long element;
} wrong;

enum { FORE = VT_KERNEL_FORWARD, BACK = VT_KERNEL_BACKWARD };

static void expect_wrong(kernel_host *h, const wrong *w)
{
    fixture *f = fixture_new(N, w->what, w->pass), *same = fixture_new(N, w->what, w->pass);
    call(h, f);
    if (strcmp(outcome.text, w->text) != 0 || outcome.end != w->end ||
        (w->code != -1 && outcome.code != w->code))
        fail_msg("fault %d: end %d, code %d, \"%s\"; expected %d, %d, \"%s\"", (int)w->what,
                 (int)outcome.end, outcome.code, outcome.text, (int)w->end, w->code, w->text);
    if (w->buffer) {
        assert_string_equal(outcome.buffer, w->buffer);
        assert_int_equal(outcome.element, w->element);
    } else {
        assert_null(outcome.buffer);
    }
    if (w->end != KERNEL_OVERWROTE && w->end != KERNEL_OK) {    /* nothing comes back */
        assert_memory_equal(f->o, same->o, sizeof f->o);
        assert_memory_equal(f->dq, same->dq, sizeof f->dq);
    }
    assert_memory_equal(f->q, same->q, sizeof f->q);
    free(f);
    free(same);
    expect_good(h);                     /* and the next call is served */
}

static void accesses_out_of_bounds_are_named(void **state)
{
    (void)state;
    static const wrong all[] = {
        { NASTY_WRITE_INPUT, FORE, KERNEL_CRASHED, SIGSEGV,
          "wrote to its input q, element 3", "q", 3 },
        { NASTY_WRITE_INPUT, BACK, KERNEL_CRASHED, SIGSEGV,
          "wrote to its input q, element 3", "q", 3 },
        { NASTY_WRITE_OUTPUT_BACKWARD, BACK, KERNEL_CRASHED, SIGSEGV,
          "wrote to the forward pass's output o, element 2", "o", 2 },
        { NASTY_WRITE_UPSTREAM, BACK, KERNEL_CRASHED, SIGSEGV,
          "wrote to the upstream gradient do, element 0", "do", 0 },
        { NASTY_WRITE_CALL, FORE, KERNEL_CRASHED, SIGSEGV,
          "wrote to the vt_kernel_call, which is const", "the vt_kernel_call", 4 },
        { NASTY_READ_BEHIND, FORE, KERNEL_CRASHED, SIGSEGV,
          "read behind the end of its input q, at element 7 (it has 7)", "q", 7 },
        { NASTY_READ_BEHIND_MASK, FORE, KERNEL_CRASHED, SIGSEGV,
          "read behind the end of its input mask, at element 7 (it has 7)", "mask", 7 },
        { NASTY_WRITE_BEHIND, FORE, KERNEL_CRASHED, SIGSEGV,
          "wrote behind the end of o, at element 9 (it has 7)", "o", 9 },
        { NASTY_BEHIND_IN, FORE, KERNEL_CRASHED, SIGSEGV,
          "read behind the end of the array in[], at element 3 (it has 3)",
          "the array in[]", 3 },
        { NASTY_READ_FAR_BEFORE, FORE, KERNEL_CRASHED, SIGSEGV,
          "read before the start of its input q, at element -1024", "q", -1024 },
        { NASTY_WRITE_BEFORE_INPUT, FORE, KERNEL_CRASHED, SIGSEGV,
          "wrote before the start of its input q, at element -2", "q", -2 },
        { NASTY_WRITE_BEFORE, FORE, KERNEL_OVERWROTE, 0,
          "wrote before the start of o, at element -1", "o", -1 },
        { NASTY_WRITE_FAR_BEFORE, FORE, KERNEL_OVERWROTE, 0,
          "wrote before the start of o, to 5 elements from element -5 on", "o", -5 },
    };
    kernel_host *h = open_nasty("nasty", 20);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) expect_wrong(h, &all[i]);
    kernel_host_free(h);
}

static void what_stands_before_a_buffer_is_not_a_number(void **state)
{
    (void)state;
    kernel_host *h = open_nasty("nasty", 20);
    fixture *f = fixture_new(N, NASTY_READ_BEFORE, VT_KERNEL_FORWARD);
    call(h, f);
    assert_int_equal(outcome.end, KERNEL_OK);
    for (size_t i = 0; i < N; i++) assert_true(isnan(f->o[i]));
    assert_int_equal(outcome.unwritten[0].count, 0);    /* they were written */
    free(f);
    kernel_host_free(h);
}

static void crashes_are_named(void **state)
{
    (void)state;
    static const wrong all[] = {
        { NASTY_NULL, FORE, KERNEL_CRASHED, SIGSEGV, "read the null pointer", NULL, 0 },
        { NASTY_NEAR_NULL, FORE, KERNEL_CRASHED, SIGSEGV,
          "wrote to address 0x18, 24 bytes behind the null pointer", NULL, 0 },
        { NASTY_WILD, FORE, KERNEL_CRASHED, SIGSEGV,
          "read address 0x123456789000, which belongs to no buffer", NULL, 0 },
        { NASTY_ALIGNED, FORE, KERNEL_CRASHED, SIGSEGV,
          "crashed (SIGSEGV): an address that no memory can have, or a vector load or store "
          "that needs more alignment than an element has", NULL, 0 },
        { NASTY_JUMP, FORE, KERNEL_CRASHED, SIGSEGV, "jumped to the null pointer", NULL, 0 },
        { NASTY_RECURSION, FORE, KERNEL_CRASHED, SIGSEGV, "overflowed its stack", NULL, 0 },
        { NASTY_BIG_FRAME, FORE, KERNEL_CRASHED, SIGSEGV, "overflowed its stack", NULL, 0 },
        { NASTY_DIVISION, FORE, KERNEL_CRASHED, SIGFPE,
          "divided an integer by zero (SIGFPE)", NULL, 0 },
        { NASTY_ILLEGAL, FORE, KERNEL_CRASHED, SIGILL,
          "ran an instruction that this processor does not have, or a trap (SIGILL)", NULL, 0 },
        { NASTY_ABORT, FORE, KERNEL_CRASHED, SIGABRT, "aborted (SIGABRT)", NULL, 0 },
        { NASTY_RAISE, FORE, KERNEL_CRASHED, SIGSEGV,
          "ended by SIGSEGV, which was sent to it", NULL, 0 },
    };
    kernel_host *h = open_nasty("nasty", 20);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) expect_wrong(h, &all[i]);
    kernel_host_free(h);
}

static void ends_are_named(void **state)
{
    (void)state;
    static const wrong all[] = {
        { NASTY_EXIT, FORE, KERNEL_EXITED, 3, "called exit(3)", NULL, 0 },
        { NASTY_QUICK_EXIT, FORE, KERNEL_EXITED, 4, "ended its process with status 4", NULL, 0 },
        { NASTY_THREAD_EXIT, FORE, KERNEL_EXITED, 0, "called exit(0)", NULL, 0 },
        { NASTY_RETURN_7, FORE, KERNEL_RETURNED, 7, "returned 7, expected 0", NULL, 0 },
        { NASTY_UNSUPPORTED, BACK, KERNEL_UNSUPPORTED, 1,
          "does not support this operator, type or pass", NULL, 0 },
        { NASTY_KILL, FORE, KERNEL_KILLED, SIGKILL,
          "was killed by SIGKILL (9): by somebody, or for want of memory", NULL, 0 },
        { NASTY_TERM, FORE, KERNEL_KILLED, SIGTERM, "was killed by SIGTERM (15)", NULL, 0 },
        { NASTY_CLOSE_ALL, FORE, KERNEL_EXITED, -1,
          "closed a file descriptor that is not its own", NULL, 0 },
        { NASTY_WRITE_ALL, FORE, KERNEL_KILLED, 0,
          "wrote where only its host does: to a file descriptor that is not its own, or to "
          "the host's memory", NULL, 0 },
    };
    kernel_host *h = open_nasty("nasty", 20);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) expect_wrong(h, &all[i]);
    fixture *f = fixture_new(N, NASTY_TRAMPLE, VT_KERNEL_FORWARD);
    f->request.call.save_bytes = 4096;
    call(h, f);
    assert_int_equal(outcome.end, KERNEL_KILLED);
    assert_contains(outcome.text, "or to the host's memory");
    free(f);
    expect_good(h);
    kernel_host_free(h);
}

static void memory_has_a_limit(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return;         /* no limit there: kernel_host.h says so */
#endif
    static const wrong all[] = {
        { NASTY_MEMORY, FORE, KERNEL_OUT_OF_MEMORY, SIGSEGV,
          "an allocation failed, then it: wrote to address 0x1000, 4096 bytes behind the null "
          "pointer", NULL, 0 },
        { NASTY_MEMORY_RETURN, FORE, KERNEL_OUT_OF_MEMORY, -12,
          "an allocation failed, then it: returned -12, expected 0", NULL, 0 },
    };
    kernel_host *h = open_nasty("nasty", 60);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) expect_wrong(h, &all[i]);
    kernel_host_free(h);
}

/* ---- hangs --------------------------------------------------------------- */

/* Processes of a group that still run. */
static size_t alive_in_group(long group)
{
    DIR *dir = opendir("/proc");
    size_t n = 0;
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)); ) {
        char path[300], text[400] = "";
        char is = 0;
        long parent, its = -1;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (!f) continue;
        if (!fgets(text, sizeof text, f)) text[0] = 0;
        fclose(f);
        const char *end = strrchr(text, ')');
        if (end && sscanf(end + 1, " %c %ld %ld", &is, &parent, &its) == 3 && its == group &&
            is != 'Z' && is != 'X')
            n++;
    }
    closedir(dir);
    return n;
}

/* Killing takes its time; a process that stays is found by the test's time limit. */
static void expect_group_gone(long group)
{
    while (alive_in_group(group) > 0) usleep(1000);
}

static long child_of(kernel_host *h)
{
    fixture *f = fixture_new(N, NASTY_PID, VT_KERNEL_FORWARD);
    call(h, f);
    assert_int_equal(outcome.end, KERNEL_OK);
    const long pid = (long)f->o[0];
    assert_true(f->o[1] == f->o[0]);            /* a group of its own */
    assert_true(pid > 1 && pid != (long)getpid());
    free(f);
    return pid;
}

static void hangs_end_with_all_their_processes(void **state)
{
    (void)state;
    static const enum nasty all[] = { NASTY_LOOP, NASTY_SLEEP, NASTY_STOP, NASTY_DEAF_LOOP,
                                      NASTY_LOOP_GRANDCHILD };
    kernel_host *h = open_nasty("nasty", 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const long pid = child_of(h);
        assert_int_equal(alive_in_group(pid), 1);
        const wrong w = { all[i], FORE, KERNEL_TIMED_OUT, 0, "did not return within 1 s",
                          NULL, 0 };
        expect_wrong(h, &w);
        expect_group_gone(pid);
    }
    kernel_host_free(h);
}

static void grandchildren_end_with_the_host(void **state)
{
    (void)state;
    kernel_host *h = open_nasty("nasty", 20);
    const long pid = child_of(h);
    call_nasty(h, NASTY_GRANDCHILD_STAYS, VT_KERNEL_FORWARD);
    assert_int_equal(outcome.end, KERNEL_OK);
    assert_int_equal(alive_in_group(pid), 2);
    expect_good(h);
    kernel_host_free(h);
    expect_group_gone(pid);
}

static void a_death_is_seen_though_a_grandchild_holds_the_socket(void **state)
{
    (void)state;
    kernel_host *h = open_nasty("nasty", 600);
    const long pid = child_of(h);
    call_nasty(h, NASTY_GRANDCHILD_STAYS, VT_KERNEL_FORWARD);
    call_nasty(h, NASTY_QUICK_EXIT, VT_KERNEL_FORWARD);
    assert_string_equal(outcome.text, "ended its process with status 4");
    expect_group_gone(pid);
    kernel_host_free(h);
}

static void a_thread_that_crashes_later_is_told_at_the_next_call(void **state)
{
    (void)state;
    kernel_host *h = open_nasty("nasty", 20);
    const long pid = child_of(h);
    call_nasty(h, NASTY_CRASH_LATER, VT_KERNEL_FORWARD);
    assert_int_equal(outcome.end, KERNEL_OK);
    expect_group_gone(pid);
    call_nasty(h, NASTY_NOT, VT_KERNEL_FORWARD);
    assert_int_equal(outcome.end, KERNEL_CRASHED);
    assert_string_equal(outcome.text, "after it had returned: wrote to address 0x18, 24 bytes "
                                      "behind the null pointer");
    expect_good(h);
    kernel_host_free(h);
}

static void the_child_ends_with_its_caller(void **state)
{
    (void)state;
    int tell[2];
    long pid = 0;
    assert_int_equal(pipe(tell), 0);
    const pid_t caller = fork();
    if (caller == 0) {
        kernel_host *h = open_nasty("nasty", 600);
        pid = child_of(h);
        if (write(tell[1], &pid, sizeof pid) != (ssize_t)sizeof pid) _exit(1);
        call_nasty(h, NASTY_SLEEP, VT_KERNEL_FORWARD);
        _exit(2);
    }
    assert_int_equal(read(tell[0], &pid, sizeof pid), sizeof pid);
    assert_int_equal(alive_in_group(pid), 1);
    kill(caller, SIGKILL);
    assert_int_equal(waitpid(caller, NULL, 0), caller);
    expect_group_gone(pid);
    close(tell[0]);
    close(tell[1]);
}

/* ---- what it says -------------------------------------------------------- */

static void what_it_says_is_kept_apart(void **state)
{
    (void)state;
    /* In the caller's buffer while the child is made: it stays the caller's. */
    fputs("# kept by the caller", stdout);
    kernel_host *h = open_nasty("nasty", 60);
    call_nasty(h, NASTY_TALK, VT_KERNEL_FORWARD);
    assert_string_equal(outcome.said, "q[0] = 1\n?[1mto stderr\n");
    assert_int_equal(outcome.said_bytes, strlen(outcome.said));
    call_nasty(h, NASTY_TALK_AND_ABORT, VT_KERNEL_FORWARD);
    assert_string_equal(outcome.said, "half a line");
    assert_int_equal(outcome.end, KERNEL_CRASHED);
    call_nasty(h, NASTY_FLOOD, VT_KERNEL_FORWARD);
    assert_int_equal(outcome.end, KERNEL_OK);
    assert_int_equal(strlen(outcome.said), KERNEL_SAID - 1);
    assert_int_equal(strspn(outcome.said, "x\n"), KERNEL_SAID - 1);
    assert_int_equal(outcome.said_bytes, 20000 * 127);
    call_nasty(h, NASTY_EXIT, VT_KERNEL_FORWARD);
    assert_string_equal(outcome.said, "");
    kernel_host_free(h);
    fputs("\n", stdout);
}

/* ---- what it left out, and what it must not know ------------------------- */

static void what_was_not_written_is_counted(void **state)
{
    (void)state;
    kernel_host *h = open_nasty("nasty", 20);
    fixture *f = fixture_new(N, NASTY_PART, VT_KERNEL_FORWARD);
    call(h, f);
    assert_int_equal(outcome.end, KERNEL_OK);
    assert_int_equal(outcome.unwritten[0].count, 4);    /* 0, 2, 4, 6 */
    assert_int_equal(outcome.unwritten[0].first, 0);
    for (size_t i = 0; i < N; i++)
        assert_true(i % 2 ? f->o[i] == f->q[i] : (bool)isnan(f->o[i]));
    free(f);
    kernel_host_free(h);
}

static uint32_t first_bits(kernel_host *h, enum nasty what)
{
    uint32_t bits;
    fixture *f = fixture_new(N, what, VT_KERNEL_FORWARD);
    f->request.call.S = 7;
    call(h, f);
    assert_int_equal(outcome.end, KERNEL_OK);
    memcpy(&bits, f->o, sizeof bits);
    free(f);
    return bits;
}

static void a_fresh_child_shows_what_was_never_written(void **state)
{
    (void)state;
    kernel_host *h = open_nasty("nasty", 20);
    const uint32_t stack = first_bits(h, NASTY_UNWRITTEN_STACK);
    const uint32_t heap = first_bits(h, NASTY_UNWRITTEN_HEAP);
    const uint32_t good = first_bits(h, NASTY_NOT);
    assert_int_equal(first_bits(h, NASTY_GLOBAL), 0x3F800000);  /* 1 */
    assert_int_equal(first_bits(h, NASTY_GLOBAL), 0x40000000);  /* 2: it remembers */
    kernel_host_fresh(h);
    assert_int_equal(first_bits(h, NASTY_GLOBAL), 0x3F800000);
    assert_int_equal(first_bits(h, NASTY_NOT), good);
    assert_int_not_equal(first_bits(h, NASTY_UNWRITTEN_STACK), stack);
#if !defined(__SANITIZE_ADDRESS__)      /* its malloc fills with one byte */
    assert_int_not_equal(first_bits(h, NASTY_UNWRITTEN_HEAP), heap);
#endif
    (void)heap;
    kernel_host_free(h);
}

static void the_callers_memory_is_the_callers(void **state)
{
    (void)state;
    static volatile int mine = 42;
    kernel_host *h = open_nasty("nasty", 20), *other = open_nasty("nasty", 20);
    fixture *f = fixture_new(N, NASTY_WRITE_CALLER, VT_KERNEL_FORWARD);
    f->request.call.S = (size_t)(uintptr_t)&mine;
    call(h, f);
    assert_int_equal(outcome.end, KERNEL_OK);
    assert_int_equal(mine, 42);

    /* The pages that another host shares with its child are not there at all. */
    double where = 0;
    const kernel_buffer out[] = { { "o", &where, 1, 8 } };
    fixture *w = fixture_new(1, NASTY_WHERE, VT_KERNEL_FORWARD);
    w->request.out = out;
    call(other, w);
    assert_int_equal(outcome.end, KERNEL_OK);
    assert_true(where > 4096);
    kernel_host_fresh(h);               /* made while `other` has pages */
    f->request.call.S = (size_t)where;
    call(h, f);
    assert_int_equal(outcome.end, KERNEL_CRASHED);
    assert_contains(outcome.text, "which belongs to no buffer");
    free(f);
    free(w);
    kernel_host_free(h);
    kernel_host_free(other);
}

static void nothing_of_the_caller_is_open_there(void **state)
{
    (void)state;
    const int mine = open("/dev/null", O_RDONLY);
    kernel_host *h = open_nasty("nasty", 20), *other = open_nasty("nasty", 20);
    for (int i = 0; i < 2; i++) {
        fixture *f = fixture_new(N, NASTY_DESCRIPTORS, VT_KERNEL_FORWARD);
        call(i ? other : h, f);
        assert_true(f->o[0] == 4);      /* 0, 1, 2 and the host */
        free(f);
    }
    fixture *f = fixture_new(N, NASTY_INPUT, VT_KERNEL_FORWARD);
    call(h, f);
    assert_true(f->o[0] == 0);          /* the end of its standard input */
    free(f);
    f = fixture_new(N, NASTY_LIMITS, VT_KERNEL_FORWARD);
    call(h, f);
    assert_true(f->o[0] <= 1);          /* 0 where the caller's own limit is */
    free(f);
    kernel_host_free(h);
    kernel_host_free(other);
    close(mine);
}

/* ---- loading ------------------------------------------------------------- */

static void expect_refused(const char *path, const kernel_host_options *o, vt_status status,
                           const char *text)
{
    kernel_host *h = (kernel_host *)(void *)&outcome;
    const vt_status got = kernel_host_open(&h, path, o, &test_error);
    assert_null(h);
    if (got != status || strcmp(test_error.text, text) != 0)
        fail_msg("status %d, \"%s\"; expected %d, \"%s\"", (int)got, test_error.text,
                 (int)status, text);
}

static void faults_while_loading_are_named(void **state)
{
    (void)state;
    static const struct { const char *name, *text; } all[] = {
        { "nasty_load_null", "while it was loaded: read the null pointer, having said: loading" },
        { "nasty_load_sleep", "while it was loaded: not done within 0.5 s, having said: loading" },
        { "nasty_load_exit", "while it was loaded: called exit(3), having said: loading" },
        { "nasty_load_abort", "while it was loaded: aborted (SIGABRT), having said: loading" },
    };
    const kernel_host_options o = { .seconds = 0.5 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[600], text[1000];
        snprintf(path, sizeof path, "%s/%s.so", VT_NASTY, all[i].name);
        snprintf(text, sizeof text, "%s: %s", path, all[i].text);
        expect_refused(path, &o, VT_CHECK_FAILED, text);
    }
}

static void libraries_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const wanted[] = { "softmax_backward", "lab_forward" };
    char text[1000];
    const char *names = VT_NASTY "/nasty_names.so", *abi = VT_NASTY "/nasty_abi.so";
    const char *missing = scratch("missing.so"), *not_elf = scratch("not_elf.so");
    scratch_file("not_elf.so", "this is no library", 18);

    snprintf(text, sizeof text, "%s: No such file or directory", missing);
    expect_refused(missing, NULL, VT_IO, text);
    snprintf(text, sizeof text, "%s: expected a regular file", scratch(NULL));
    expect_refused(scratch(NULL), NULL, VT_IO, text);
    snprintf(text, sizeof text, "%s: cannot be loaded: it is no shared library, and no C source (its name does not "
                                "end in .c)", not_elf);
    expect_refused(not_elf, NULL, VT_BAD_INPUT, text);
    kernel_host *h = NULL;
    assert_int_equal(kernel_host_open(&h, names, NULL, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "has no function vt_kernel (it exports ");
    assert_contains(test_error.text, "first_half");
    assert_contains(test_error.text, "second_half");
    kernel_host_options o = { .symbols = wanted, .nsymbols = 2, .any = true };
    assert_int_equal(kernel_host_open(&h, names, &o, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "has no function softmax_backward or lab_forward (");
    o.any = false;
    assert_int_equal(kernel_host_open(&h, names, &o, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "has no function softmax_backward, lab_forward (");
    o.nsymbols = 0;
    assert_int_equal(kernel_host_open(&h, names, &o, &test_error), VT_USAGE);
    o.nsymbols = KERNEL_SYMBOLS + 1;
    assert_int_equal(kernel_host_open(&h, names, &o, &test_error), VT_USAGE);
    snprintf(text, sizeof text, "%s: built for version 2 of vitrine_kernel.h, expected 1", abi);
    expect_refused(abi, NULL, VT_BAD_INPUT, text);
    h = open_nasty("nasty_abi_same", 20);
    expect_good(h);
    kernel_host_free(h);
}

/* The loader maps what was cut off, and dies of SIGBUS on a page that is not there. */
static void libraries_that_are_cut_off_are_refused(void **state)
{
    (void)state;
    bytes whole;
    char path[300];
    assert_ok(io_read(&whole, VT_NASTY "/nasty.so", (size_t)1 << 24, &test_error));
    static const size_t some[] = { 4, 40, 63, 64, 100, 4096, 5000, 8192 };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        kernel_host *h = NULL;
        assert_true(some[i] < whole.len);
        scratch_file("cut.so", whole.data, some[i]);
        snprintf(path, sizeof path, "%s", scratch("cut.so"));
        assert_int_equal(kernel_host_open(&h, path, NULL, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, path);
        assert_contains(test_error.text, "is cut off");
    }
    bytes_free(&whole);
}

static int negate(void *symbol, const vt_kernel_call *c)
{
    int (*half)(const float *, float *, size_t);
    memcpy(&half, &symbol, sizeof half);
    return half(c->in[0], c->out[0], c->N);
}

static void other_functions_through_an_adapter(void **state)
{
    (void)state;
    static const char *const wanted[] = { "vt_kernel", "first_half", "third", "second_half" };
    const kernel_host_options o = { .symbols = wanted, .nsymbols = 4, .any = true };
    kernel_host *h = NULL;
    assert_ok(kernel_host_open(&h, VT_NASTY "/nasty_names.so", &o, &test_error));
    assert_false(kernel_host_has(h, 0));
    assert_true(kernel_host_has(h, 1));
    assert_false(kernel_host_has(h, 2));
    assert_true(kernel_host_has(h, 3));
    assert_false(kernel_host_has(h, 4));
    fixture *f = fixture_new(N, NASTY_NOT, VT_KERNEL_FORWARD);
    f->request.symbol = 1;
    f->request.adapter = negate;
    call(h, f);
    assert_int_equal(outcome.end, KERNEL_OK);
    for (size_t i = 0; i < N; i++) assert_true(f->o[i] == -f->q[i]);
    f->in[0].data = NULL;               /* NULL is handed over as NULL */
    call(h, f);
    assert_string_equal(outcome.text, "read the null pointer");
    f->in[0].data = f->q;
    f->request.symbol = 3;
    f->request.adapter = NULL;
    call(h, f);
    assert_int_equal(outcome.end, KERNEL_OK);
    for (size_t i = 0; i < N; i++) assert_true(f->o[i] == 2 * f->q[i]);
    f->request.symbol = 2;
    assert_int_equal(kernel_host_call(h, &f->request, &outcome, &test_error), VT_USAGE);
    free(f);
    kernel_host_free(h);
}

static void requests_are_looked_at(void **state)
{
    (void)state;
    kernel_host *h = open_nasty("nasty", 20);
    fixture *f = fixture_new(N, NASTY_NOT, VT_KERNEL_FORWARD);
    f->in[0].element = 2;
    assert_int_equal(kernel_host_call(h, &f->request, &outcome, &test_error), VT_USAGE);
    assert_string_equal(test_error.text, "q: an element of 2 bytes, expected 1, 4 or 8");
    f->in[0].element = 4;
    f->in[0].count = SIZE_MAX / 2;
    assert_int_equal(kernel_host_call(h, &f->request, &outcome, &test_error), VT_TOO_LARGE);
    f->in[0].count = SIZE_MAX / 4 - 4096;
    assert_int_equal(kernel_host_call(h, &f->request, &outcome, &test_error), VT_TOO_LARGE);
    f->in[0].count = N;
    f->request.call.pass = 3;
    assert_int_equal(kernel_host_call(h, &f->request, &outcome, &test_error), VT_USAGE);
    f->request.call.pass = VT_KERNEL_BACKWARD;
    assert_int_equal(kernel_host_call(h, &f->request, &outcome, &test_error), VT_USAGE);
    f->request.call.pass = VT_KERNEL_FORWARD;
    f->request.call.nout = KERNEL_OUTS + 1;
    assert_int_equal(kernel_host_call(h, &f->request, &outcome, &test_error), VT_USAGE);
    free(f);
    expect_good(h);
    kernel_host_free(h);
}

/* ---- compiling ----------------------------------------------------------- */

static const char good_source[] =
    "#include <math.h>\n#include <vitrine_kernel.h>\n"
    "int vt_kernel(const vt_kernel_call *c)\n{\n"
    "    const float *q = c->in[0];\n    float *o = c->out[0];\n"
    "    for (size_t i = 0; i < c->N; i++) o[i] = (float)(2 * q[i] + sin(M_PI * 0) + ZERO);\n"
    "    return 0;\n}\n";

static size_t files_in(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)); ) n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void sources_are_compiled(void **state)
{
    (void)state;
    const char *folder = scratch("compiled");
    const kernel_host_options o = { .compiler = "cc -DZERO=0 ", .include = VT_INCLUDE,
                                    .temporary = folder };
    kernel_host *h = NULL;
    assert_int_equal(mkdir(folder, 0700), 0);
    /* A shell would fall over this name. */
    scratch_file("a 'kernel' $(x).c", good_source, sizeof good_source - 1);
    assert_ok(kernel_host_open(&h, scratch("a 'kernel' $(x).c"), &o, &test_error));
    assert_int_equal(files_in(folder), 0);
    expect_good(h);
    kernel_host_fresh(h);               /* and is there to be loaded again */
    expect_good(h);
    kernel_host_free(h);
    assert_int_equal(files_in(folder), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void refuse_source(const char *source, const char *compiler, vt_status status,
                          const char *text)
{
    char path[300];
    const char *folder = scratch(NULL);
    const size_t before = files_in(folder);
    const kernel_host_options o = { .compiler = compiler, .include = VT_INCLUDE,
                                    .temporary = folder };
    kernel_host *h = NULL;
    scratch_file("refused.c", source, strlen(source));
    snprintf(path, sizeof path, "%s", scratch("refused.c"));
    const vt_status got = kernel_host_open(&h, path, &o, &test_error);
    assert_null(h);
    if (got != status || !strstr(test_error.text, text) ||
        (got != VT_USAGE && !strstr(test_error.text, path)))
        fail_msg("status %d, \"%s\"; expected %d, \"%s\"", (int)got, test_error.text,
                 (int)status, text);
    unlink(path);
    assert_int_equal(files_in(folder), before);
}

/* "sh FOLDER/NAME", where that holds `text`. */
static const char *script(const char *name, const char *text)
{
    static char words[400];
    scratch_file(name, text, strlen(text));
    snprintf(words, sizeof words, "sh %s", scratch(name));
    return words;
}

static void sources_that_do_not_compile_say_why(void **state)
{
    (void)state;
    refuse_source("#include <vitrine_kernel.h>\n\nint vt_kernel(const vt_kernel_call *c)\n"
                  "{ return c->nosuch; }\n", "cc", VT_BAD_INPUT, "refused.c:4:");
    assert_contains(test_error.text, " does not compile: ");
    assert_contains(test_error.text, "nosuch");
    refuse_source("#include <vitrine_kernel.h>\nint vt_kernel(const vt_kernel_call *c)\n"
                  "{ return surely(c); }\n", "cc", VT_BAD_INPUT, "surely");
    refuse_source("#include <vitrine_kernel.h>\nint vt_kernel(int c) { return c; }\n", "cc",
                  VT_BAD_INPUT, "conflicting types for");
    refuse_source("#include \"no_such_header.h\"\n", "cc", VT_BAD_INPUT,
                  "fatal error: no_such_header.h");
    refuse_source("#error half\x1b[1m of it\n", "cc", VT_BAD_INPUT, "#error half?[1m of it");
    refuse_source("int other(void) { return 0; }\n", "cc", VT_BAD_INPUT,
                  "has no function vt_kernel (it exports other)");
    refuse_source("static int x;\n", "cc", VT_BAD_INPUT, "it exports no function");
    refuse_source("int missing(void);\nint vt_kernel(const void *c) { return c || missing(); }\n",
                  "cc", VT_BAD_INPUT, "cannot be loaded: undefined symbol: missing");
    refuse_source("int x;\n", "no-such-compiler -x", VT_IO,
                  "there is no compiler 'no-such-compiler'");
    refuse_source("int x;\n", "/", VT_IO, "there is no compiler '/'");
    refuse_source("int vt_kernel;\n", "cc", VT_BAD_INPUT, "vt_kernel is no function");
    refuse_source("const char vt_kernel_abi = 1; int vt_kernel(void) { return 0; }\n", "cc",
                  VT_BAD_INPUT, "vt_kernel_abi is a variable of another size: expected const int");
    refuse_source("int vt_kernel_abi(void) { return 1; } int vt_kernel(void) { return 0; }\n", "cc",
                  VT_BAD_INPUT, "vt_kernel_abi is a function: expected const int");
    refuse_source("int x;\n", "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a",
                  VT_USAGE, "a compiler's command of more than ");
    refuse_source("int x;\n", script("killed.sh", "kill -9 $$\n"), VT_BAD_INPUT,
                  "the compiler was ended by signal 9");
    refuse_source("int x;\n", script("blank.sh", "echo; echo; echo so it is >&2; exit 1\n"),
                  VT_BAD_INPUT, "does not compile: so it is");
    refuse_source("int x;\n", "false", VT_BAD_INPUT, "the compiler says nothing");
    refuse_source("int x;\n", "true", VT_IO, "the compiler made no library");
    kernel_host *h = NULL;
    kernel_host_options o = { .compiler = "  " };
    scratch_file("refused.c", "int x;\n", 7);
    assert_int_equal(kernel_host_open(&h, scratch("refused.c"), &o, &test_error), VT_USAGE);
    o = (kernel_host_options){ .temporary = "/no/such/folder" };
    assert_int_equal(kernel_host_open(&h, scratch("refused.c"), &o, &test_error), VT_IO);
    assert_contains(test_error.text, "/no/such/folder");
}

static void a_compiler_that_hangs_is_ended(void **state)
{
    (void)state;
    /* With a child of its own, which holds the pipe: both end. */
    static const char hangs[] = "#!/bin/sh\necho $$ > half; mv half group\nsleep 1000 &\nsleep 1000\n";
    char words[300], path[300];
    long group = 0;
    scratch_file("hangs.sh", hangs, sizeof hangs - 1);
    scratch_file("slow.c", "int x;\n", 7);
    snprintf(words, sizeof words, "sh %s", scratch("hangs.sh"));
    snprintf(path, sizeof path, "%s", scratch("slow.c"));
    kernel_host_options o = { .compiler = words };
    char here[4096], text[600];
    FILE *f = NULL;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(scratch(NULL)), 0);
    /* On a busy machine a second may be too short to start a shell that says its number. */
    for (int seconds = 1; !f && seconds <= 64; seconds *= 4) {
        o.compile_seconds = seconds;
        snprintf(text, sizeof text, "%s: the compiler was not done within %d s", path, seconds);
        expect_refused(path, &o, VT_BAD_INPUT, text);
        f = fopen("group", "r");
    }
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &group), 1);
    fclose(f);
    assert_int_equal(chdir(here), 0);
    assert_true(group > 1);
    expect_group_gone(group);
}

/* A compiler that closed its output is waited for, and no longer than its time; one that
 * has ended is not waited for, though a process of its own holds the output. */
static void the_compilers_exit_is_its_end(void **state)
{
    (void)state;
    char path[300];
    kernel_host *h = NULL;
    scratch_file("plain.c", "int vt_kernel(const void *c) { return c != 0; }\n", 48);
    snprintf(path, sizeof path, "%s", scratch("plain.c"));
    kernel_host_options o = { .compile_seconds = 60 };
    o.compiler = script("closes.sh", "exec >/dev/null 2>&1\nsleep 0.3\nexec cc \"$@\"\n");
    assert_ok(kernel_host_open(&h, path, &o, &test_error));
    kernel_host_free(h);
    o.compiler = script("mute.sh", "exec >/dev/null 2>&1\nsleep 1000\n");
    o.compile_seconds = 0.5;
    assert_int_equal(kernel_host_open(&h, path, &o, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "the compiler was not done within 0.5 s");
    o.compiler = script("behind.sh", "sleep 1000 &\necho $$ > \"${0%/*}/group\"\nexec cc \"$@\"\n");
    o.compile_seconds = 500;                    /* a wait for the output's end would be seen */
    assert_ok(kernel_host_open(&h, path, &o, &test_error));
    kernel_host_free(h);
    long group = 0;
    FILE *f = fopen(scratch("group"), "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &group), 1);
    fclose(f);
    assert_true(group > 1);
    expect_group_gone(group);
    /* What it leaves in its folder goes, folders too. */
    const char *folder = scratch("untidy");
    assert_int_equal(mkdir(folder, 0700), 0);
    o.temporary = folder;
    o.compiler = script("untidy.sh", "mkdir -p \"$TMPDIR/a/b\"; echo x > \"$TMPDIR/a/b/c\"\nexec cc \"$@\"\n");
    assert_ok(kernel_host_open(&h, path, &o, &test_error));
    kernel_host_free(h);
    assert_int_equal(rmdir(scratch("untidy")), 0);
}

static void on_alarm(int number) { interrupt_ask(number); }

/* A handler's wish: the compiler and the kernel end, nothing stays. */
static void an_interrupt_ends_the_wait(void **state)
{
    (void)state;
    const char *folder = scratch("interrupted");
    struct sigaction act = { .sa_handler = on_alarm };
    char path[300];
    kernel_host *h = NULL;
    assert_int_equal(mkdir(folder, 0700), 0);
    scratch_file("never.c", "int x;\n", 7);
    snprintf(path, sizeof path, "%s", scratch("never.c"));
    kernel_host_options o = { .compile_seconds = 500, .temporary = folder };
    o.compiler = script("sleeps.sh", "kill -ALRM $PPID\nsleep 1000\n");
    assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
    assert_int_equal(kernel_host_open(&h, path, &o, &test_error), VT_INTERRUPTED);
    assert_null(h);
    assert_int_equal(rmdir(scratch("interrupted")), 0);
    interrupt_ask(0);

    h = open_nasty("nasty", 500);
    fixture *f = fixture_new(N, NASTY_SLEEP, VT_KERNEL_FORWARD);
    alarm(1);
    assert_int_equal(kernel_host_call(h, &f->request, &outcome, &test_error), VT_INTERRUPTED);
    interrupt_ask(0);
    signal(SIGALRM, SIG_DFL);
    expect_good(h);
    free(f);
    kernel_host_free(h);
}

/* Without descriptors it is the host that fails, not the kernel. */
static void want_of_descriptors_is_no_finding(void **state)
{
    (void)state;
    const pid_t pid = fork();
    if (pid == 0) {
        kernel_host *h = NULL;
        bool good = true;
        for (rlim_t n = 4; n <= 20; n++) {
            const struct rlimit few = { n, n };
            struct rlimit now;
            if (getrlimit(RLIMIT_NOFILE, &now) != 0) good = false;
            const struct rlimit soft = { few.rlim_cur, now.rlim_max };
            if (setrlimit(RLIMIT_NOFILE, &soft) != 0) good = false;
            const vt_status s = kernel_host_open(&h, VT_NASTY "/nasty.so", NULL, &test_error);
            if (s != VT_OK && s != VT_IO) {
                print_error("%d descriptors: status %d: %s\n", (int)n, (int)s, test_error.text);
                good = false;
            }
            if (n == 20 && s != VT_OK) good = false;
            kernel_host_free(h);
        }
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- many, others, and nothing left -------------------------------------- */

static size_t open_descriptors(void)
{
    size_t n = 0;
    for (int i = 0; i < 1024; i++) n += fcntl(i, F_GETFD) >= 0;
    return n;
}

static void nothing_is_left_behind(void **state)
{
    (void)state;
    enum { HOSTS = 12 };
    kernel_host *h[HOSTS];
    const size_t before = open_descriptors();
    for (size_t i = 0; i < HOSTS; i++) h[i] = open_nasty("nasty", 20);
    for (size_t i = 0; i < HOSTS; i += 2) {     /* one's death is not another's */
        call_nasty(h[i], i % 4 ? NASTY_NULL : NASTY_EXIT, VT_KERNEL_FORWARD);
        assert_int_equal(outcome.end, i % 4 ? KERNEL_CRASHED : KERNEL_EXITED);
    }
    for (size_t i = 0; i < HOSTS; i++) expect_good(h[i]);
    for (size_t i = 0; i < HOSTS; i++) kernel_host_free(h[(i * 5) % HOSTS]);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);   /* no child, not even a zombie */
    assert_int_equal(errno, ECHILD);
    kernel_host_free(NULL);
}

static void a_caller_that_ignores_its_children(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    kernel_host *h = open_nasty("nasty", 20);
    expect_good(h);
    call_nasty(h, NASTY_QUICK_EXIT, VT_KERNEL_FORWARD);
    assert_int_equal(outcome.end, KERNEL_KILLED);
    assert_contains(outcome.text, "another part of the program took its status");
    expect_good(h);
    kernel_host_free(h);
    signal(SIGCHLD, SIG_DFL);
}

static atomic_bool enough;

static void *keep_busy(void *unused)
{
    (void)unused;
    char text[64];
#if defined(__SANITIZE_ADDRESS__)       /* its allocator cannot be used behind a fork that */
    while (!enough) sched_yield();      /* another thread's malloc was in the middle of */
#endif
    while (!enough) {
        void *p = malloc(1000);
        snprintf(text, sizeof text, "%p %g", p, 1.5);
        FILE *f = fopen("/dev/null", "w");
        if (f) {
            fputs(text, f);
            fclose(f);
        }
        free(p);
    }
    return NULL;
}

static void a_caller_with_threads(void **state)
{
    (void)state;
    pthread_t threads[3];
    enough = false;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, NULL), 0);
    for (int i = 0; i < 20; i++) {
        kernel_host *h = open_nasty("nasty", 60);
        expect_good(h);
        if (i % 5 == 0) {
            call_nasty(h, NASTY_WRITE_INPUT, VT_KERNEL_FORWARD);
            assert_string_equal(outcome.text, "wrote to its input q, element 3");
        }
        kernel_host_free(h);
    }
    enough = true;
    for (size_t i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

static void an_ordinary_user_can(void **state)
{
    (void)state;
    bytes library = { NULL, 0, 0 };
    assert_ok(io_read(&library, VT_NASTY "/nasty.so", (size_t)64 << 20, &test_error));
    const pid_t user = fork();
    if (user == 0) {
        char folder[] = "/tmp/vitrine_test_XXXXXX", path[64];
        kernel_host *h = NULL;
        bool good = getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
        good = good && mkdtemp(folder);
        snprintf(path, sizeof path, "%s/nasty.so", folder);
        good = good && io_replace(path, library.data, library.len, NULL) == VT_OK &&
               kernel_host_open(&h, path, NULL, NULL) == VT_OK;
        unlink(path);
        if (good) {
            fixture *f = fixture_new(N, NASTY_NULL, VT_KERNEL_FORWARD);
            good = kernel_host_call(h, &f->request, &outcome, NULL) == VT_OK &&
                   outcome.end == KERNEL_CRASHED;
            free(f);
            kernel_host_free(h);
        }
        rmdir(folder);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(user, &status, 0), user);
    assert_int_equal(status, 0);
    bytes_free(&library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_kernel_computes),
        cmocka_unit_test(doubles_too),
        cmocka_unit_test(save_outlives_its_child),
        cmocka_unit_test(large_tensors_get_larger_pages),
        cmocka_unit_test(buffers_are_aligned_to_their_elements_alone),
        cmocka_unit_test(accesses_out_of_bounds_are_named),
        cmocka_unit_test(what_stands_before_a_buffer_is_not_a_number),
        cmocka_unit_test(crashes_are_named),
        cmocka_unit_test(ends_are_named),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(hangs_end_with_all_their_processes),
        cmocka_unit_test(grandchildren_end_with_the_host),
        cmocka_unit_test(a_death_is_seen_though_a_grandchild_holds_the_socket),
        cmocka_unit_test(a_thread_that_crashes_later_is_told_at_the_next_call),
        cmocka_unit_test(the_child_ends_with_its_caller),
        cmocka_unit_test(what_it_says_is_kept_apart),
        cmocka_unit_test(what_was_not_written_is_counted),
        cmocka_unit_test(a_fresh_child_shows_what_was_never_written),
        cmocka_unit_test(the_callers_memory_is_the_callers),
        cmocka_unit_test(nothing_of_the_caller_is_open_there),
        cmocka_unit_test(faults_while_loading_are_named),
        cmocka_unit_test(libraries_that_are_none_are_refused),
        cmocka_unit_test(libraries_that_are_cut_off_are_refused),
        cmocka_unit_test(other_functions_through_an_adapter),
        cmocka_unit_test(requests_are_looked_at),
        cmocka_unit_test(sources_are_compiled),
        cmocka_unit_test(sources_that_do_not_compile_say_why),
        cmocka_unit_test(a_compiler_that_hangs_is_ended),
        cmocka_unit_test(the_compilers_exit_is_its_end),
        cmocka_unit_test(an_interrupt_ends_the_wait),
        cmocka_unit_test(want_of_descriptors_is_no_finding),
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(a_caller_that_ignores_its_children),
        cmocka_unit_test(a_caller_with_threads),
        cmocka_unit_test(an_ordinary_user_can),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

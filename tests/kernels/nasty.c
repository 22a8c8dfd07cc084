/* nasty.c -- a kernel that does anything wrong that it is asked to: for test_kernel_host.c.
 *
 * vt_kernel_call.OC says what (nasty.h), S an element or an address.  in: q (N) of
 * float or double, m (N) bytes, t (N) int32; out: o (N); c->N elements of everything.
 *
 * NASTY_AT_LOAD, one of the same, is done while the library is loaded; NASTY_NAMES gives
 * functions instead of vt_kernel; NASTY_ABI another version.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>
#include <vitrine_kernel.h>
#include "nasty.h"

static volatile double sink;

static int deeper(volatile char *above)
{
    volatile char mine[512];
    mine[0] = *above;
    return deeper(mine) + mine[0];
}

static int big_frame(size_t n)
{
    volatile char frame[64 << 20];
    frame[n] = 1;
    frame[0] = 2;
    return frame[n] + frame[0];
}

static void *crash_soon(void *unused)
{
    (void)unused;
    usleep(20000);
    *(volatile int *)(uintptr_t)24 = 1;
    return NULL;
}

static int ends(const vt_kernel_call *c, int what)
{
    volatile int zero = 0;
    volatile int *null = NULL;
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    pthread_t thread;
    switch (what) {
    case NASTY_NULL:        return *null;
    case NASTY_NEAR_NULL:   ((volatile char *)(uintptr_t)24)[0] = 1; return 0;
    case NASTY_WILD:        return *(volatile int *)(uintptr_t)0x123456789000;
    case NASTY_ALIGNED:     return *(volatile int *)(uintptr_t)0x8000000000000000;
    case NASTY_JUMP:        ((void (*)(void))(uintptr_t)zero)(); return 0;
    case NASTY_RECURSION:   return deeper((volatile char *)&zero);
    case NASTY_BIG_FRAME:   return big_frame(c->N);
    case NASTY_DIVISION:    return 7 / zero;
    case NASTY_ILLEGAL:     __builtin_trap();
    case NASTY_ABORT:       abort();
    case NASTY_RAISE:       return raise(SIGSEGV);
    case NASTY_KILL:        return raise(SIGKILL);
    case NASTY_TERM:        return raise(SIGTERM);
    case NASTY_LOOP:        for (;;) sink = sink + 1;
    case NASTY_SLEEP:       for (;;) pause();
    case NASTY_STOP:        return raise(SIGSTOP);
    case NASTY_DEAF_LOOP:
        for (int i = 1; i < 65; i++) sigaction(i, &ignore, NULL);
        for (;;) sink = sink + 1;
    case NASTY_LOOP_GRANDCHILD:
        fork();
        for (;;) pause();
    case NASTY_EXIT:        exit(3);
    case NASTY_QUICK_EXIT:  _exit(4);
    case NASTY_THREAD_EXIT: pthread_exit(NULL);
    case NASTY_CLOSE_ALL:   for (int i = 0; i < 64; i++) close(i);
                            return 0;
    case NASTY_WRITE_ALL:   for (int i = 3; i < 64; i++) if (write(i, "x", 1) < 0) zero++;
                            for (;;) pause();
    case NASTY_GRANDCHILD_STAYS:
        if (fork() == 0) for (;;) pause();
        return 0;
    case NASTY_CRASH_LATER: return pthread_create(&thread, NULL, crash_soon, NULL);
    default:                return -1;
    }
}

static int touches(const vt_kernel_call *c, int what)
{
    volatile float *q = (volatile float *)(uintptr_t)c->in[0];
    volatile float *o = c->out[0];
    volatile unsigned char *m = (volatile unsigned char *)(uintptr_t)c->in[1];
    const size_t n = c->N;
    switch (what) {
    case NASTY_WRITE_INPUT:           q[3] = 1; return 0;
    case NASTY_WRITE_OUTPUT_BACKWARD: o[2] = 1; return 0;
    case NASTY_WRITE_UPSTREAM:        *(volatile float *)(uintptr_t)c->dout[0] = 1; return 0;
    case NASTY_WRITE_CALL:            ((vt_kernel_call *)(uintptr_t)c)->N = 1; return 0;
    case NASTY_READ_BEHIND:           sink = (double)q[n]; return 0;
    case NASTY_WRITE_BEHIND:          o[n + 2] = 1; return 0;
    case NASTY_READ_BEHIND_MASK:      sink = m[n]; return 0;
    case NASTY_BEHIND_IN:             sink = c->in[c->nin] != NULL; return 0;
    case NASTY_WRITE_BEFORE:          o[-1] = 1; return 0;
    case NASTY_WRITE_FAR_BEFORE:      for (int i = 1; i < 6; i++) o[-i] = 1;
                                      return 0;
    case NASTY_WRITE_BEFORE_INPUT:    q[-2] = 1; return 0;
    case NASTY_READ_FAR_BEFORE:       sink = (double)q[-1024]; return 0;
    case NASTY_READ_BEFORE:           for (size_t i = 0; i < n; i++) o[i] = q[i] + q[-1];
                                      return 0;
    default:                          return -1;
    }
}

static int memory(const vt_kernel_call *c, int what)
{
    for (int i = 0; i < 4096; i++) {
        volatile char *p = malloc((size_t)1 << 20);
        if (!p && what == NASTY_MEMORY_RETURN) return -12;
        p[0] = p[4096] = (char)c->N;
    }
    return 0;
}

static int says(const vt_kernel_call *c, int what)
{
    char line[128];
    switch (what) {
    case NASTY_TALK:
        printf("q[0] = %g\n", (double)((const float *)c->in[0])[0]);
        fprintf(stderr, "\033[1mto stderr\n");
        return 0;
    case NASTY_FLOOD:
        memset(line, 'x', sizeof line - 2);
        line[sizeof line - 2] = '\n';
        line[sizeof line - 1] = 0;
        for (int i = 0; i < 20000; i++) fputs(line, stdout);
        return 0;
    default:
        printf("half a line");
        abort();
    }
}

static int fills(const vt_kernel_call *c, int what)
{
    const float *q = c->in[0];
    float *o = c->out[0];
    volatile float *heap, stack[64];
    struct rlimit core;
    static volatile int counter;
    for (size_t i = 0; i < c->N && what != NASTY_PART; i++) o[i] = 0;
    switch (what) {
    case NASTY_PART:
        for (size_t i = 1; i < c->N; i += 2) o[i] = q[i];
        return 0;
    case NASTY_UNWRITTEN_HEAP:
        heap = malloc(4096 * sizeof *heap);
        if (!heap) return -1;
        o[0] = heap[1000];
        free((void *)(uintptr_t)heap);
        return 0;
    case NASTY_UNWRITTEN_STACK: o[0] = stack[c->S]; return 0;
    case NASTY_GLOBAL:          o[0] = (float)++counter; return 0;
    case NASTY_WRITE_CALLER:    *(volatile int *)(uintptr_t)c->S = 99; return 0;
    case NASTY_PID:             o[0] = (float)getpid(); o[1] = (float)getpgrp(); return 0;
    case NASTY_DESCRIPTORS:
        for (int i = 0; i < 256; i++) o[0] += fcntl(i, F_GETFD) >= 0;
        return 0;
    case NASTY_INPUT: { char byte; o[0] = (float)read(0, &byte, 1); return 0; }
    case NASTY_ADDRESSES:
        for (size_t i = 0; i < c->nin; i++) o[i] = (float)((uintptr_t)c->in[i] % 4096);
        return 0;
    case NASTY_WHERE: ((double *)c->out[0])[0] = (double)(uintptr_t)c->in[0]; return 0;
    case NASTY_LIMITS: getrlimit(RLIMIT_CORE, &core); o[0] = (float)core.rlim_max; return 0;
    default:           return -1;
    }
}

/* The host's own page, which begins 2^16 bytes and a gap of 16 pages before `save`. */
static int trample(const vt_kernel_call *c)
{
    memset((char *)c->save - 4096 * 16 - 65536, 0xFF, 65536);
    return 0;
}

static int twice_float(const vt_kernel_call *c)
{
    const float *q = c->in[0];
    double *save = c->save;
    if (c->pass == VT_KERNEL_FORWARD) {
        for (size_t i = 0; i < c->N; i++) ((float *)c->out[0])[i] = 2 * q[i];
        if (save) save[0] = (double)q[0];
        return 0;
    }
    if (save && !(save[0] == (double)q[0])) return 55;
    const float *dy = c->dout[0];
    for (size_t i = 0; i < c->N; i++) ((float *)c->din[0])[i] += 2 * dy[i];
    return 0;
}

static int twice_double(const vt_kernel_call *c)
{
    const double *q = c->in[0];
    if (c->pass == VT_KERNEL_FORWARD) {
        for (size_t i = 0; i < c->N; i++) ((double *)c->out[0])[i] = 2 * q[i];
        return 0;
    }
    const double *dy = c->dout[0];
    for (size_t i = 0; i < c->N; i++) ((double *)c->din[0])[i] += 2 * dy[i];
    return 0;
}

static int kernel(const vt_kernel_call *c)
{
    const int what = (int)c->OC;
    if (c->abi != VT_KERNEL_ABI || c->bytes != sizeof *c) return 77;
    if (what == NASTY_NOT) return c->dtype == VT_KERNEL_F64 ? twice_double(c) : twice_float(c);
    if (what <= NASTY_READ_BEFORE) return touches(c, what);
    if (what <= NASTY_THREAD_EXIT) return ends(c, what);
    if (what == NASTY_RETURN_7) return 7;
    if (what == NASTY_UNSUPPORTED) return VT_KERNEL_UNSUPPORTED;
    if (what <= NASTY_MEMORY_RETURN) return memory(c, what);
    if (what <= NASTY_CRASH_LATER) return ends(c, what);
    if (what <= NASTY_TALK_AND_ABORT) return says(c, what);
    if (what == NASTY_TRAMPLE) return trample(c);
    return fills(c, what);
}

#ifdef NASTY_NAMES
int first_half(const float *x, float *y, size_t n);
int second_half(const vt_kernel_call *c);
int first_half(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = -x[i];
    return 0;
}
int second_half(const vt_kernel_call *c) { return kernel(c); }
#else
int vt_kernel(const vt_kernel_call *c) { return kernel(c); }
#endif

#ifdef NASTY_ABI
const int vt_kernel_abi = NASTY_ABI;
#endif

#ifdef NASTY_AT_LOAD
__attribute__((constructor)) static void at_load(void)
{
    static vt_kernel_call c;
    puts("loading");
    if (NASTY_AT_LOAD == NASTY_TALK_AND_ABORT) says(&c, NASTY_AT_LOAD);
    else ends(&c, NASTY_AT_LOAD);
}
#endif

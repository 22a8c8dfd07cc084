/* kernel_child.c -- what a host's child does: it cuts itself off, loads, and serves.
 *
 * It is a copy of the caller made by fork() without exec, so that an adapter of the
 * caller's can run in it.  Other threads of the caller do not exist here; glibc makes
 * malloc, stdio and the dynamic loader usable after such a fork, and no more is used.
 *
 * Ends.  exit() reaches left() first, before any handler of the caller's, and goes no
 * further: nothing of the caller is flushed or torn down twice.
 *
 * References: signal(7), sigaction(2), core(5), prctl(2), mallopt(3), dlopen(3).
 */
#define _GNU_SOURCE             /* REG_ERR, REG_RSP */
#include "verify/host/kernel_child.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHILD_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHILD_SHADOW 1
#endif
#endif
#ifndef CHILD_SHADOW
#define CHILD_SHADOW 0
#endif

static child_page *shared;
static pid_t self;
static uintptr_t stack_top;
static void *symbol_at[KERNEL_SYMBOLS];

/* ---- ends ---------------------------------------------------------------- */

/* What the processor did, as far as it says so: the page fault's error code, Intel SDM
 * volume 3, "Interrupt 14": bit 1 a write, bit 4 an instruction. */
static page_access access_of(const ucontext_t *context, uintptr_t *stack)
{
#if defined(__x86_64__)
    const unsigned long long bits = (unsigned long long)context->uc_mcontext.gregs[REG_ERR];
    *stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    return bits & 16 ? PAGE_RUN : bits & 2 ? PAGE_WRITTEN : PAGE_READ;
#elif defined(__aarch64__)
    *stack = (uintptr_t)context->uc_mcontext.sp;
    return PAGE_TOUCHED;
#else
    (void)context;
    *stack = 0;
    return PAGE_TOUCHED;
#endif
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const bool out_of_memory = errno == ENOMEM;
    if (getpid() == self && !shared->crash.signal) {
        child_crash *c = &shared->crash;
        uintptr_t stack = 0;
        c->address = (uintptr_t)info->si_addr;
        c->code = info->si_code;
        c->access = PAGE_TOUCHED;
        if (number == SIGSEGV || number == SIGBUS) {
            c->access = (int)access_of(context, &stack);
            /* A frame's memory lies from the stack pointer up; a call's is just below. */
            c->stack = info->si_code > 0 && info->si_code != SI_KERNEL && stack &&
                       c->address + 65536 >= stack && c->address < stack_top;
        }
        shared->no_memory = out_of_memory;
        c->signal = number;
    }
    raise(number);              /* SA_RESETHAND: this time it kills */
}

/* Registered last, so called first but for handlers of the kernel's own. */
static void left(int status, void *unused)
{
    (void)unused;
    if (getpid() == self) {
        shared->exited = CHILD_CALLED_EXIT;
        fflush(stdout);
    }
    _exit(status);
}

static void catch_signals(void)
{
    static const int caught[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
    /* A mapping: AddressSanitizer unmaps a thread's at its end. */
    stack_t stack = { .ss_size = 1 << 16 };
    sigset_t none;
    for (int number = 1; number < 65; number++) signal(number, SIG_DFL);    /* some refuse */
    stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp != MAP_FAILED) sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        struct sigaction action = { .sa_sigaction = on_signal };
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        action.sa_flags |= (int)SA_RESETHAND;
        sigemptyset(&action.sa_mask);
        sigaction(caught[i], &action, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- cutting off --------------------------------------------------------- */

/* 0 is empty, 1 and 2 are the host's ears, 3 the host; of the caller's nothing stays. */
static void keep_descriptors(const child_setup *s)
{
    const int from[] = { open("/dev/null", O_RDONLY), s->said, s->said, s->socket, s->file };
    int high[5], kept = 3;
    bool all = from[0] >= 0;
    for (int i = 0; i < 5 && all; i++) {
        high[i] = from[i] < 0 ? -1 : fcntl(from[i], F_DUPFD, 5);
        all = high[i] >= 0 || from[i] < 0;
    }
    for (int i = 0; i < 5 && all; i++) {
        all = high[i] < 0 || dup2(high[i], i) == i;
        if (high[i] >= 0 && all) kept = i;
    }
    if (!all) {
        shared->refused = errno;
        shared->load = CHILD_NO_ROOM;
        _exit(127);
    }
    closefrom(kept + 1);
    __fpurge(stdout);           /* what the caller had not written yet is the caller's */
    __fpurge(stderr);
    setvbuf(stdout, NULL, _IONBF, 0);
}

static size_t mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void set_limits(const child_setup *s)
{
    /* 1, not 0: where cores go to a program's pipe, a limit of 0 does not stop them. */
    const struct rlimit core = { 1, 1 };
    setrlimit(RLIMIT_CORE, &core);
    size_t most = mapped_bytes();
    if (CHILD_SHADOW || most == 0 || !size_add(most, s->memory_bytes, &most)) return;
    const struct rlimit memory = { most, most };
    setrlimit(RLIMIT_AS, &memory);
}

/* Heap and stack hold bytes that are large numbers as floats, others in each of three
 * children one behind the other: two passes may run in two of them. */
static unsigned char filler(const child_setup *s)
{
    static const unsigned char bytes[] = { 0x7F, 0xFE, 0x7E };
    return bytes[s->generation % 3];
}

static void fill_below(unsigned char byte)
{
    static void *(*volatile fill)(void *, int, size_t) = memset;    /* not optimised away */
    char below[16384];
    fill(below, byte, sizeof below);
}
static void (*volatile fill_stack)(unsigned char) = fill_below;     /* a frame of its own */

static void cut_off(const child_setup *s)
{
    volatile char top = 0;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != s->parent) _exit(127);     /* it has died in between */
    shared = (child_page *)(void *)s->base;
    self = getpid();
    stack_top = (uintptr_t)&top + 65536;
    keep_descriptors(s);
    catch_signals();
    set_limits(s);
    mallopt(M_ARENA_MAX, 4);                    /* each takes 2^26 bytes of addresses */
    mallopt(M_PERTURB, filler(s) ^ 0xFF);       /* glibc fills with the complement */
    if (on_exit(left, NULL) != 0) _exit(127);
}

/* ---- loading ------------------------------------------------------------- */

static child_load load(const child_setup *s)
{
    size_t found = 0;
    void *library = dlopen(s->library, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        snprintf(shared->text, sizeof shared->text, "%s", why ? why : "it cannot be loaded");
        return CHILD_NO_LIBRARY;
    }
    const int *abi = dlsym(library, "vt_kernel_abi");
    if (abi && !child_is_variable(library, "vt_kernel_abi", sizeof *abi)) {
        const bool function = child_is_function(library, "vt_kernel_abi");
        snprintf(shared->text, sizeof shared->text, "%s",
                 function ? "a function" : "a variable of another size");
        return CHILD_NO_ABI;
    }
    if (abi && *abi != VT_KERNEL_ABI) {
        snprintf(shared->text, sizeof shared->text, "%d", *abi);
        return CHILD_OTHER_ABI;
    }
    for (size_t i = 0; i < s->nsymbols; i++) {
        symbol_at[i] = dlsym(library, s->symbols[i]);
        shared->has[i] = symbol_at[i] != NULL;
        if (symbol_at[i] && !child_is_function(library, s->symbols[i])) {
            snprintf(shared->text, sizeof shared->text, "%s", s->symbols[i]);
            return CHILD_NO_FUNCTION;
        }
        found += shared->has[i];
    }
    if (s->any ? found > 0 : found == s->nsymbols) return CHILD_LOADED;
    child_exports(library, shared->text, sizeof shared->text);
    return CHILD_NO_SYMBOL;
}

/* ---- serving ------------------------------------------------------------- */

static bool open_ranges(const child_setup *s)
{
    if (mprotect(s->base + CHILD_CONTROL, s->bytes - CHILD_CONTROL, PROT_NONE) != 0)
        return false;
    for (size_t i = 0; i < shared->nranges && i < CHILD_RANGES; i++) {
        const child_range *r = &shared->ranges[i];
        if (r->bytes && mprotect(s->base + r->from, r->bytes,
                                 r->writable ? PROT_READ | PROT_WRITE : PROT_READ) != 0)
            return false;
    }
    return true;
}

static void call(const child_setup *s)
{
    void *const symbol = shared->symbol < s->nsymbols ? symbol_at[shared->symbol] : NULL;
    kernel_adapter *const adapter = shared->adapter;
    int result;
    shared->refused = 0;
    if (!symbol || !open_ranges(s)) {
        shared->refused = symbol ? errno : EINVAL;
        return;
    }
    fill_stack(filler(s));
    shared->state = CHILD_CALLING;
    errno = 0;
    if (adapter) {
        result = adapter(symbol, shared->call);
    } else {
        int (*kernel)(const vt_kernel_call *);
        memcpy(&kernel, &symbol, sizeof kernel);    /* POSIX: the same representation */
        result = kernel(shared->call);
    }
    shared->no_memory = errno == ENOMEM;
    shared->state = CHILD_WAITING;
    shared->result = result;
    fflush(stdout);
}

/* Answers, and waits for the next; false: the host has gone. */
static bool next(void)
{
    char byte = 0;
    ssize_t n;
    shared->done = shared->serial;
    do n = send(3, &byte, 1, MSG_NOSIGNAL); while (n < 0 && errno == EINTR);
    if (n != 1) return false;
    do n = recv(3, &byte, 1, 0); while (n < 0 && errno == EINTR);
    return n == 1;
}

void child_run(const child_setup *s)
{
    cut_off(s);
    shared->load = (int)load(s);
    shared->state = CHILD_WAITING;
    while (next()) call(s);
    shared->exited = CHILD_LOST_HOST;
    _exit(127);
}

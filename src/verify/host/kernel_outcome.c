/* kernel_outcome.c -- see kernel_outcome.h. */
#include "verify/host/kernel_outcome.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "verify/host/kernel_child.h"

bool kernel_ended_well(const kernel_outcome *o)
{
    return o->end == KERNEL_OK || o->end == KERNEL_OVERWROTE;
}

void outcome_set(kernel_outcome *out, kernel_end end, int code, const char *text)
{
    out->end = end;
    out->code = code;
    snprintf(out->text, sizeof out->text, "%s", text);
}

static const char *signal_name(int number)
{
    switch (number) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS:  return "SIGBUS";
    case SIGFPE:  return "SIGFPE";
    case SIGILL:  return "SIGILL";
    case SIGABRT: return "SIGABRT";
    case SIGTRAP: return "SIGTRAP";
    case SIGSYS:  return "SIGSYS";
    case SIGKILL: return "SIGKILL";
    case SIGTERM: return "SIGTERM";
    case SIGPIPE: return "SIGPIPE";
    case SIGALRM: return "SIGALRM";
    case SIGXFSZ: return "SIGXFSZ";
    default:      return "a signal";
    }
}

static void say_bad_address(kernel_outcome *out, const child_crash *c)
{
    const char *did = c->access == PAGE_READ ? "read" : c->access == PAGE_WRITTEN ? "wrote to" :
                      c->access == PAGE_RUN ? "jumped to" : "touched";
    char *text = out->text;
    const size_t size = sizeof out->text;
    if (c->code == SI_KERNEL)
        snprintf(text, size, "crashed (%s): an address that no memory can have, or a vector "
                 "load or store that needs more alignment than an element has",
                 signal_name(c->signal));
    else if (c->address == 0)
        snprintf(text, size, "%s the null pointer", did);
    else if (c->address < 65536)
        snprintf(text, size, "%s address %#llx, %llu bytes behind the null pointer", did,
                 (unsigned long long)c->address, (unsigned long long)c->address);
    else
        snprintf(text, size, "%s address %#llx, which belongs to no buffer", did,
                 (unsigned long long)c->address);
}

/* A caught signal, in words. */
static void say_crash(kernel_outcome *out, const page_plan *plan, const char *base,
                      const child_crash *c)
{
    out->end = KERNEL_CRASHED;
    out->code = c->signal;
    const bool fault = c->signal == SIGSEGV || c->signal == SIGBUS;
    const page_access access = c->access >= PAGE_TOUCHED && c->access <= PAGE_RUN ?
                               (page_access)c->access : PAGE_TOUCHED;
    if (c->code <= 0 && c->signal != SIGABRT)           /* kill(), raise() */
        snprintf(out->text, sizeof out->text, "ended by %s, which was sent to it",
                 signal_name(c->signal));
    else if (fault && c->code != SI_KERNEL && pages_place(plan, base, c->address, access, out))
        return;
    else if (fault && c->stack)
        outcome_set(out, KERNEL_CRASHED, c->signal, "overflowed its stack");
    else if (fault)
        say_bad_address(out, c);
    else if (c->signal == SIGFPE)
        outcome_set(out, KERNEL_CRASHED, c->signal, c->code == FPE_INTDIV ?
            "divided an integer by zero (SIGFPE)" : "crashed by arithmetic (SIGFPE)");
    else if (c->signal == SIGILL)
        outcome_set(out, KERNEL_CRASHED, c->signal, "ran an instruction that this processor does not "
            "have, or a trap (SIGILL)");
    else if (c->signal == SIGABRT)
        outcome_set(out, KERNEL_CRASHED, c->signal, "aborted (SIGABRT)");
    else
        snprintf(out->text, sizeof out->text, "crashed (%s)", signal_name(c->signal));
}

/* Of a process that died: the record that it left, and the status that it was reaped
 * with, which alone is beyond the kernel's reach. */
static void say_death(kernel_outcome *out, const page_plan *plan, const char *base, int status)
{
    const child_page *page = (const child_page *)(const void *)base;
    const child_crash crash = page->crash;
    const bool signalled = status != -1 && WIFSIGNALED(status);
    const int number = signalled ? WTERMSIG(status) : 0;
    char *text = out->text;
    const size_t size = sizeof out->text;
    if (signalled && crash.signal == number) {
        say_crash(out, plan, base, &crash);
    } else if (signalled && (number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
                             number == SIGILL || number == SIGABRT)) {
        outcome_set(out, KERNEL_CRASHED, number, "");
        snprintf(text, size, "crashed (%s) in a way that left no trace", signal_name(number));
    } else if (signalled) {
        outcome_set(out, KERNEL_KILLED, number, "");
        snprintf(text, size, "was killed by %s (%d)%s", signal_name(number), number,
                 number == SIGKILL ? ": by somebody, or for want of memory" : "");
    } else if (status == -1) {
        outcome_set(out, KERNEL_KILLED, 0, "ended, and another part of the program took its status");
    } else if (page->exited == CHILD_LOST_HOST) {
        outcome_set(out, KERNEL_EXITED, WEXITSTATUS(status),
            "closed a file descriptor that is not its own");
    } else {
        outcome_set(out, KERNEL_EXITED, WEXITSTATUS(status), "");
        snprintf(text, size, page->exited == CHILD_CALLED_EXIT ? "called exit(%d)" :
                 "ended its process with status %d", WEXITSTATUS(status));
    }
}

static void prefix(kernel_outcome *out, const char *when)
{
    char text[sizeof out->text];
    memcpy(text, out->text, sizeof text);
    snprintf(out->text, sizeof out->text, "%s%.*s", when,
             (int)(sizeof text - 1 - strlen(when)), text);
}

void outcome_of_death(kernel_outcome *out, const page_plan *plan, const char *base, int status)
{
    const child_page *page = (const child_page *)(const void *)base;
    const int no_memory = page->no_memory;
    const int state = page->exited == CHILD_LOST_HOST ? CHILD_CALLING : page->state;
    say_death(out, plan, base, status);
    if (out->end == KERNEL_CRASHED && !out->buffer && state != CHILD_WAITING && no_memory == 1) {
        out->end = KERNEL_OUT_OF_MEMORY;
        prefix(out, "an allocation failed, then it: ");
    }
    if (state == CHILD_LOADING) prefix(out, "while it was loaded: ");
    if (state == CHILD_WAITING) prefix(out, "after it had returned: ");
}

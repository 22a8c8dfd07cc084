/* kernel_process.h -- a host's child as its parent sees it: started, awaited, ended. */
#ifndef KERNEL_PROCESS_H
#define KERNEL_PROCESS_H

#include "verify/host/kernel_child.h"

typedef struct kernel_process {
    pid_t pid;                  /* 0: there is none */
    int   socket, said;         /* -1 where there is no process */
} kernel_process;

typedef enum process_end {
    PROCESS_ANSWERED,           /* a byte came */
    PROCESS_DIED,               /* it is still to be reaped: process_end */
    PROCESS_LATE,               /* it had `seconds` */
    PROCESS_INTERRUPTED         /* base/interrupt.h */
} process_end;

/* Forks; the shared pages are inherited by this child alone.  VT_IO without a process. */
VT_MUST_CHECK vt_status process_start(kernel_process *p, child_setup *s, vt_error *err);

/* Whether it has died, without a word. */
bool process_is_dead(const kernel_process *p);

/* Sends the byte that starts a call; where it has gone, process_await says so. */
void process_ask(const kernel_process *p);

/* Waits for its answer and keeps what it says meanwhile.  `seconds` run while it runs or
 * sleeps, not while it waits for a processor, but for eight times as long at most. */
process_end process_await(const kernel_process *p, double seconds, kernel_outcome *out);

/* Kills it and its process group, reaps it, closes its descriptors; also where there is
 * none.  Returns its wait status, -1 where it is not known. */
int process_finish(kernel_process *p, kernel_outcome *out);

/* Fork and the making of descriptors are one step in this process, so that no child keeps
 * another's: around both, also where a compiler is started. */
void process_lock(void);
void process_unlock(void);

/* Seconds of a clock that only runs forward. */
double process_clock(void);

#endif

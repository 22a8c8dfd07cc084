/* kernel_child.h -- the child's side of a host, and what both sides write to each other.
 *
 * The parent fills the pages, counts `serial` up and sends a byte; the child opens the
 * ranges, calls, writes its answer and sends a byte.  The end of the stream means the
 * end of the other.  Whatever the child writes may be wrong, since the kernel can write
 * there too: the parent looks at each number before it uses it.
 */
#ifndef KERNEL_CHILD_H
#define KERNEL_CHILD_H

#include <sys/types.h>
#include "verify/host/kernel_pages.h"

enum { CHILD_CONTROL = 1 << 16 };       /* bytes of the control pages */
enum { CHILD_LIBRARY = 4 };             /* the descriptor of a compiled library there */

typedef enum child_state { CHILD_LOADING, CHILD_WAITING, CHILD_CALLING } child_state;
typedef enum child_load {
    CHILD_LOADED, CHILD_NO_LIBRARY, CHILD_NO_SYMBOL, CHILD_NO_FUNCTION, CHILD_NO_ABI,
    CHILD_OTHER_ABI,
    CHILD_NO_ROOM               /* no descriptors: `refused` is the errno; it ends */
} child_load;

typedef enum child_exit { CHILD_UNKNOWN, CHILD_CALLED_EXIT, CHILD_LOST_HOST } child_exit;

typedef struct child_range { size_t from, bytes; int writable; } child_range;

typedef struct child_crash {
    int       signal, code;             /* 0: none was caught; si_code */
    int       access;                   /* page_access */
    int       stack;                    /* 1: the stack's end was met */
    uintptr_t address;
} child_crash;

typedef struct child_page {
    /* the parent's */
    size_t serial;                      /* of the load or call that is wanted */
    size_t symbol, nranges;
    kernel_adapter *adapter;
    const vt_kernel_call *call;
    /* the child's */
    size_t done;                        /* serial of the last that was answered */
    int    state, load, result;
    int    refused;                     /* errno of opening the ranges, of CHILD_NO_ROOM */
    int    no_memory;                   /* an allocation had failed */
    int    exited;                      /* a child_exit */
    child_crash crash;
    bool   has[KERNEL_SYMBOLS];
    char   text[512];                   /* why it could not load, or what is wrong with it */
    child_range ranges[];
} child_page;

#define CHILD_RANGES ((CHILD_CONTROL - sizeof(child_page)) / sizeof(child_range))

typedef struct child_setup {
    const char *library;                /* for dlopen */
    const char *const *symbols;
    size_t nsymbols;
    bool   any;
    char  *base;                        /* the shared pages: control, then the rest */
    size_t bytes;
    size_t memory_bytes;
    unsigned generation;                /* children of this host before it */
    pid_t  parent;
    int    socket, said, file;          /* file: a compiled library, or -1 */
} child_setup;

/* In the new child; never returns. */
_Noreturn void child_run(const child_setup *s);

/* "attention, softmax": the first functions that a library which dlopen gave exports.
 * Walks its tables as they are: for the child alone. */
void child_exports(void *library, char *text, size_t size);

/* Whether `name` is a function of a library that dlopen gave, or something else that a
 * call may not go to; where the tables do not say, it is. */
bool child_is_function(void *library, const char *name);
/* Whether it is a variable of `bytes` bytes; likewise. */
bool child_is_variable(void *library, const char *name, size_t bytes);

#endif

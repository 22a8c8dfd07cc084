/* kernel_host.h -- the child process in which somebody else's kernel runs.
 *
 * A host loads one shared library (or compiles one .c file into one) in a child of its
 * own and calls functions of it there, on copies of the caller's tensors.  A crash, a
 * hang, an exit, a write out of bounds is then a line in the outcome; the caller lives.
 *
 *     kernel_host_open(&h, "gelu.c", &options, err)       compiles, loads
 *     kernel_host_call(h, &request, &outcome, err)        one pass
 *     kernel_host_free(h)
 *
 * This is no sandbox: a kernel runs with your rights, and can read and delete what you
 * can.  It keeps mistakes apart, not malice; nor is it a defence against a kernel that
 * cheats: the caller's memory, with what it expects, can be read through /proc by any
 * process of its user, and is in the child's own copy of it.
 *
 * Memory.  A buffer lies in shared pages, between pages that cannot be touched: it ends
 * exactly where the page behind it begins, aligned to its element and to nothing more.
 * What remains of its first page holds a pattern that is looked at after the call.  What
 * the kernel may only read (inputs, upstream gradients; outputs in the backward pass;
 * the call itself) is read-only to it.  Outputs are filled with a signalling NaN before
 * the forward pass; elements that still hold it are counted.  The child's heap and stack
 * are filled with other bytes in every child, so that a kernel that reads what it never
 * wrote gives other bits in a fresh child (kernel_host_fresh).
 *
 * Limits.  `seconds` of a call and of loading, in which the time that the child waited
 * for a processor does not count; memory beyond what is mapped at the start of the child
 * (not under AddressSanitizer, whose shadow has no limit).  A child that is ended takes
 * its process group with it: a process that left the group (setsid) stays.
 *
 * The child ends with the thread that made it.  One host is used by one thread at a time.
 */
#ifndef KERNEL_HOST_H
#define KERNEL_HOST_H

#include "base/status.h"
#include "vitrine_kernel.h"

typedef struct kernel_host kernel_host;

/* Runs in the child, instead of the function itself, where one has another signature
 * than vt_kernel: `symbol` is its address.  The result counts as the kernel's. */
typedef int kernel_adapter(void *symbol, const vt_kernel_call *call);

enum { KERNEL_SYMBOLS = 32, KERNEL_OUTS = 8, KERNEL_SAID = 2048 };

/* A zeroed one has the defaults. */
typedef struct kernel_host_options {
    double      seconds;            /* 0: 10 */
    size_t      memory_bytes;       /* 0: 2^31, of addresses: threads take much */
    const char *const *symbols;     /* functions that are wanted; NULL: vt_kernel */
    size_t      nsymbols;           /* at most KERNEL_SYMBOLS */
    bool        any;                /* one of them is enough; else all must be there */
    const char *compiler;           /* of a .c: a command and its words; NULL: "cc" */
    const char *include;            /* the folder of vitrine_kernel.h; NULL: none */
    double      compile_seconds;    /* 0: 300, of the wall's clock: a busy machine may need a minute */
    const char *temporary;          /* NULL: "/tmp"; nothing stays there */
} kernel_host_options;

/* A path that ends in .c is compiled (C11, -O2).  VT_IO: no such file; VT_BAD_INPUT: it
 * does not compile (the compiler's first error), is no library, lacks a function (the
 * line lists what it exports), or was built for another version (a variable
 * vt_kernel_abi that is not VT_KERNEL_ABI); VT_CHECK_FAILED: loading it crashes, hangs
 * or exits.  The strings of `o` need not outlive the call. */
VT_MUST_CHECK vt_status kernel_host_open(kernel_host **out, const char *path,
                                         const kernel_host_options *o, vt_error *err);
void kernel_host_free(kernel_host *h);              /* also NULL */

/* Whether the library has symbols[i]. */
bool kernel_host_has(const kernel_host *h, size_t i);

/* The next call gets a new child, in which the library is loaded again; `save` stays. */
void kernel_host_fresh(kernel_host *h);

typedef struct kernel_buffer {
    const char *name;               /* "q", "dq": for messages */
    void       *data;               /* the caller's; NULL: the kernel gets NULL */
    size_t      count, element;     /* elements, and bytes of one: 1, 4, 8 */
} kernel_buffer;

typedef struct kernel_request {
    size_t          symbol;         /* which of the options' symbols */
    kernel_adapter *adapter;        /* NULL: it is a vt_kernel */
    vt_kernel_call  call;           /* op, dtype, pass, sizes, nin, nout, save_bytes; the
                                       pointers, abi and bytes are filled in here */
    const kernel_buffer *in;        /* [nin]  copied in */
    const kernel_buffer *out;       /* [nout] forward: copied back; backward: copied in */
    const kernel_buffer *dout;      /* [nout] copied in; forward: NULL */
    const kernel_buffer *din;       /* [nin]  copied in and back; forward: NULL */
} kernel_request;

typedef enum kernel_end {
    KERNEL_OK,
    KERNEL_UNSUPPORTED,     /* returned VT_KERNEL_UNSUPPORTED */
    KERNEL_RETURNED,        /* returned another number than 0: `code` */
    KERNEL_OVERWROTE,       /* returned, but wrote before a buffer's start */
    KERNEL_CRASHED,         /* `code` is the signal */
    KERNEL_TIMED_OUT,
    KERNEL_OUT_OF_MEMORY,   /* crashed or returned an error after an allocation failed */
    KERNEL_EXITED,          /* exit(code) */
    KERNEL_KILLED           /* by a signal from elsewhere: `code` */
} kernel_end;

typedef struct kernel_outcome {
    kernel_end end;
    int        code;
    char       text[256];   /* "wrote to its input q, element 3"; "" where OK */
    const char *buffer;     /* the request's name of the buffer it concerns, or NULL */
    long long  element;     /* of it; below 0: before its start */
    struct { size_t count, first; } unwritten[KERNEL_OUTS];    /* forward: elements of
                               out[i] that still hold the pattern, and the first */
    char       said[KERNEL_SAID];   /* what it wrote to stdout and stderr, from the
                               beginning; as utf8_plain leaves it, in lines */
    size_t     said_bytes;  /* all of it */
} kernel_outcome;

/* Whether it returned 0: what it computed is there. */
bool kernel_ended_well(const kernel_outcome *o);

/* Runs one pass.  VT_OK: the outcome says how it ended; the caller's tensors are
 * written where it is OK or OVERWROTE, and else untouched.  A child that ended is
 * replaced by the next call.  Other statuses: the host itself could not. */
VT_MUST_CHECK vt_status kernel_host_call(kernel_host *h, const kernel_request *r,
                                         kernel_outcome *out, vt_error *err);

/* Of a number that a call left: whether it is the pattern that an output is filled with
 * before the forward pass; whether it is a NaN that arithmetic made of that pattern. */
bool kernel_host_unwritten(const double *x);
bool kernel_host_from_unwritten(const double *x);

#endif

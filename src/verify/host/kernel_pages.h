/* kernel_pages.h -- where a call's tensors lie in the pages that a host shares with its
 * child.
 *
 *     control | gap | save | gap | call | gap | in[] | gap | ... | q | gap | ... | dv | gap
 *
 * A piece takes whole pages and ends with the last of them; before it, in its first
 * page, stands a pattern.  Gaps are pages that nobody may touch.  Offsets are relative to
 * the shared pages' start, so that a plan can be made before they are mapped.
 */
#ifndef KERNEL_PAGES_H
#define KERNEL_PAGES_H

#include "verify/host/kernel_host.h"

typedef enum piece_role {
    PIECE_SAVE, PIECE_CALL, PIECE_POINTERS,     /* the host's own */
    PIECE_IN, PIECE_OUT, PIECE_DOUT, PIECE_DIN
} piece_role;

typedef struct piece {
    piece_role  role;
    const char *name;
    const kernel_buffer *source;    /* NULL: the host's own */
    size_t      index;              /* of in[], out[], ...; of POINTERS: whose they are */
    size_t      count, element, bytes;
    size_t      first, at, end;     /* its first page, itself, the page behind it */
    bool        writable;           /* by the kernel */
} piece;

typedef struct page_plan {
    piece  *pieces;
    size_t  n, cap;
    size_t  bytes;                  /* of the shared pages, from their start */
    size_t  page;
    bool    backward;
} page_plan;

enum { PAGES_GAP = 16 };            /* pages of a gap */

/* Lays a request out from offset `start`, a whole number of pages; `save` comes first, so
 * that it lies at one place in both passes.  VT_USAGE: a request that cannot be served. */
VT_MUST_CHECK vt_status pages_plan(page_plan *p, const kernel_request *r, size_t start,
                                   vt_error *err);
void pages_free(page_plan *p);

/* Writes everything: patterns, tensors, pointers, the call, whose address is returned.
 * `save` is left as it is with keep_save. */
const vt_kernel_call *pages_fill(const page_plan *p, const kernel_request *r, char *base,
                                 bool keep_save);

/* After a call that returned: looks at the patterns (true, and the outcome says where:
 * something was overwritten), copies back, counts what was not written. */
bool pages_overwritten(const page_plan *p, const char *base, kernel_outcome *out);
void pages_copy_back(const page_plan *p, const char *base, kernel_outcome *out);

/* How the child touched an address: "read", "wrote to". */
typedef enum page_access { PAGE_TOUCHED, PAGE_READ, PAGE_WRITTEN, PAGE_RUN } page_access;

/* Says in the outcome what stands at an address, or near it; false: it is none of the
 * shared pages' near a piece. */
bool pages_place(const page_plan *p, const char *base, uintptr_t address,
                 page_access access, kernel_outcome *out);

#endif

/* kernel_pages.c -- see kernel_pages.h.
 *
 * The pattern is a signalling NaN of the element's width: an operation on it gives a
 * quiet NaN, so that what was read before a buffer, or never written, shows as NaN in
 * the result, while the pattern itself still means "never written".
 */
#include "verify/host/kernel_pages.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint32_t pattern32 = UINT32_C(0x7FA5A5A5);
static const uint64_t pattern64 = UINT64_C(0x7FF5A5A5A5A5A5A5);
static const unsigned char pattern8 = 0xA5;

static const void *pattern_of(size_t element)
{
    return element == 8 ? (const void *)&pattern64 :
           element == 4 ? (const void *)&pattern32 : &pattern8;
}

static void pattern_fill(char *at, size_t bytes, size_t element)
{
    const void *pattern = pattern_of(element);
    for (size_t i = 0; i < bytes; i += element) memcpy(at + i, pattern, element);
}

bool kernel_host_unwritten(const double *x)
{
    return memcmp(x, &pattern64, sizeof *x) == 0;
}

/* The pattern with the bit that makes a NaN quiet; the sign is anyone's. */
bool kernel_host_from_unwritten(const double *x)
{
    const uint64_t quiet = UINT64_C(1) << 51, sign = UINT64_C(1) << 63;
    uint64_t bits;
    memcpy(&bits, x, sizeof bits);
    return (bits & ~sign) == (pattern64 | quiet);
}

/* ---- the plan ------------------------------------------------------------ */

static vt_status add(page_plan *p, piece it, vt_error *err)
{
    size_t pages, end;
    if (it.element != 1 && it.element != 4 && it.element != 8)
        return fail(err, VT_USAGE, "%s: an element of %zu bytes, expected 1, 4 or 8",
                    it.name, it.element);
    if (!size_mul(it.count, it.element, &it.bytes) ||
        !size_add(it.bytes, p->page - 1, &pages) ||
        !size_add(p->bytes, pages / p->page * p->page, &end) ||
        !size_add(end, PAGES_GAP * p->page, &pages))
        return fail(err, VT_TOO_LARGE, "%s: %zu elements are too many", it.name, it.count);
    if (p->n == p->cap) {
        const size_t cap = p->cap ? 2 * p->cap : 32;
        piece *grown = realloc(p->pieces, cap * sizeof *grown);
        if (!grown) return fail_memory(err, cap * sizeof *grown, "a call's buffers");
        p->pieces = grown;
        p->cap = cap;
    }
    it.first = p->bytes;
    it.end = end;
    it.at = end - it.bytes;
    p->pieces[p->n++] = it;
    p->bytes = pages;
    return VT_OK;
}

static vt_status add_pointers(page_plan *p, const char *name, piece_role whose, size_t count,
                              vt_error *err)
{
    return add(p, (piece){ .role = PIECE_POINTERS, .name = name, .index = whose,
                           .count = count, .element = sizeof(void *) }, err);
}

static vt_status add_buffers(page_plan *p, piece_role role, const kernel_buffer *b, size_t n,
                             bool writable, vt_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!b[i].data) continue;
        const piece it = { .role = role, .name = b[i].name, .source = &b[i], .index = i,
                           .count = b[i].count, .element = b[i].element,
                           .writable = writable };
        const vt_status status = add(p, it, err);
        if (status != VT_OK) return status;
    }
    return VT_OK;
}

vt_status pages_plan(page_plan *p, const kernel_request *r, size_t start, vt_error *err)
{
    const size_t nin = r->call.nin, nout = r->call.nout;
    const bool backward = r->call.pass == VT_KERNEL_BACKWARD;
    vt_status status = VT_OK;
    p->n = 0;
    p->page = (size_t)sysconf(_SC_PAGESIZE);
    p->backward = backward;
    if (!size_add(start, PAGES_GAP * p->page, &p->bytes))
        return fail(err, VT_TOO_LARGE, "the shared pages are too many");
    if (!backward && r->call.pass != VT_KERNEL_FORWARD)
        return fail(err, VT_USAGE, "a pass %d, expected VT_KERNEL_FORWARD or _BACKWARD",
                    r->call.pass);
    if (nout > KERNEL_OUTS)
        return fail(err, VT_USAGE, "%zu outputs, expected at most %d", nout, KERNEL_OUTS);
    if ((nin && !r->in) || (nout && !r->out) ||
        (backward && ((nin && !r->din) || (nout && !r->dout))))
        return fail(err, VT_USAGE, "a request without its buffers");

    const piece save = { .role = PIECE_SAVE, .name = "save", .element = 8, .writable = true,
                         .count = r->call.save_bytes / 8 + (r->call.save_bytes % 8 != 0) };
    if (save.count) status = add(p, save, err);
    if (status == VT_OK)
        status = add(p, (piece){ .role = PIECE_CALL, .name = "the vt_kernel_call", .element = 8,
                                 .count = sizeof(vt_kernel_call) / 8 }, err);
    if (status == VT_OK) status = add_pointers(p, "the array in[]", PIECE_IN, nin, err);
    if (status == VT_OK) status = add_pointers(p, "the array out[]", PIECE_OUT, nout, err);
    if (status == VT_OK && backward) {
        status = add_pointers(p, "the array dout[]", PIECE_DOUT, nout, err);
        if (status == VT_OK) status = add_pointers(p, "the array din[]", PIECE_DIN, nin, err);
    }
    if (status == VT_OK) status = add_buffers(p, PIECE_IN, r->in, nin, false, err);
    if (status == VT_OK) status = add_buffers(p, PIECE_OUT, r->out, nout, !backward, err);
    if (status == VT_OK && backward) {
        status = add_buffers(p, PIECE_DOUT, r->dout, nout, false, err);
        if (status == VT_OK) status = add_buffers(p, PIECE_DIN, r->din, nin, true, err);
    }
    return status;
}
_Static_assert(sizeof(vt_kernel_call) % 8 == 0, "the call ends where its page does");

void pages_free(page_plan *p)
{
    free(p->pieces);
    *p = (page_plan){ .pieces = NULL };
}

/* ---- before a call ------------------------------------------------------- */

static const piece *own_piece(const page_plan *p, piece_role role, size_t index)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->pieces[i].role == role && p->pieces[i].index == index) return &p->pieces[i];
    return NULL;
}

static void fill_piece(const page_plan *p, const piece *it, char *base, bool keep_save)
{
    char *at = base + it->at;
    pattern_fill(base + it->first, it->at - it->first, it->element);
    if (it->role == PIECE_POINTERS)
        memset(at, 0, it->bytes);
    else if (it->source && !(it->role == PIECE_OUT && !p->backward))
        memcpy(at, it->source->data, it->bytes);
    else if (it->role != PIECE_CALL && !(it->role == PIECE_SAVE && keep_save))
        pattern_fill(at, it->bytes, it->element);
    if (!it->source) return;
    const piece *pointers = own_piece(p, PIECE_POINTERS, it->role);
    memcpy(base + pointers->at + it->index * sizeof at, &at, sizeof at);
}

static void *address_of(const piece *it, char *base) { return it ? base + it->at : NULL; }

const vt_kernel_call *pages_fill(const page_plan *p, const kernel_request *r, char *base,
                                 bool keep_save)
{
    for (size_t i = 0; i < p->n; i++) fill_piece(p, &p->pieces[i], base, keep_save);
    const piece *save = own_piece(p, PIECE_SAVE, 0);
    vt_kernel_call call = r->call;
    call.abi = VT_KERNEL_ABI;
    call.bytes = sizeof call;
    call.in   = address_of(own_piece(p, PIECE_POINTERS, PIECE_IN), base);
    call.out  = address_of(own_piece(p, PIECE_POINTERS, PIECE_OUT), base);
    call.dout = address_of(own_piece(p, PIECE_POINTERS, PIECE_DOUT), base);
    call.din  = address_of(own_piece(p, PIECE_POINTERS, PIECE_DIN), base);
    call.save = address_of(save, base);
    call.save_bytes = save ? save->bytes : 0;
    return memcpy(base + own_piece(p, PIECE_CALL, 0)->at, &call, sizeof call);
}

/* ---- after it ------------------------------------------------------------ */

bool pages_overwritten(const page_plan *p, const char *base, kernel_outcome *out)
{
    for (size_t i = 0; i < p->n; i++) {
        const piece *it = &p->pieces[i];
        const void *pattern = pattern_of(it->element);
        long long lowest = 0;
        size_t changed = 0;
        if (!it->writable) continue;
        for (size_t at = it->at; at > it->first; at -= it->element)
            if (memcmp(base + at - it->element, pattern, it->element) != 0) {
                changed++;
                lowest = -(long long)((it->at - at) / it->element) - 1;
            }
        if (!changed) continue;
        out->end = KERNEL_OVERWROTE;
        out->buffer = it->name;
        out->element = lowest;
        if (changed == 1)
            snprintf(out->text, sizeof out->text,
                     "wrote before the start of %s, at element %lld", it->name, lowest);
        else
            snprintf(out->text, sizeof out->text,
                     "wrote before the start of %s, to %zu elements from element %lld on",
                     it->name, changed, lowest);
        return true;
    }
    return false;
}

void pages_copy_back(const page_plan *p, const char *base, kernel_outcome *out)
{
    for (size_t i = 0; i < p->n; i++) {
        const piece *it = &p->pieces[i];
        if (!it->source || !it->writable) continue;
        memcpy(it->source->data, base + it->at, it->bytes);
        if (it->role != PIECE_OUT) continue;
        const void *pattern = pattern_of(it->element);
        size_t count = 0, first = 0;
        for (size_t e = 0; e < it->count; e++)
            if (memcmp((const char *)it->source->data + e * it->element, pattern,
                       it->element) == 0 && count++ == 0)
                first = e;
        out->unwritten[it->index].count = count;
        out->unwritten[it->index].first = first;
    }
}

/* ---- of a crash ---------------------------------------------------------- */

/* "its input q": what a kernel only reads is called so. */
static void describe(char *text, size_t size, const page_plan *p, const piece *it)
{
    const char *what = it->role == PIECE_IN ? "its input " :
                       it->role == PIECE_DOUT ? "the upstream gradient " :
                       it->role == PIECE_OUT && p->backward ? "the forward pass's output " : "";
    snprintf(text, size, "%s%s", what, it->name);
}

/* The piece whose gap holds an offset: the nearer of the two that it parts. */
static const piece *nearest(const page_plan *p, size_t offset)
{
    const piece *best = NULL;
    size_t least = PAGES_GAP * p->page;
    for (size_t i = 0; i < p->n; i++) {
        const piece *it = &p->pieces[i];
        const size_t far = offset < it->at ? it->at - offset :
                           offset >= it->end ? offset - it->end : 0;
        if (offset >= it->first && offset < it->end) return it;
        if (far < least) {
            least = far;
            best = it;
        }
    }
    return best;
}

bool pages_place(const page_plan *p, const char *base, uintptr_t address,
                 page_access access, kernel_outcome *out)
{
    const uintptr_t from = (uintptr_t)base;
    if (address < from || address - from >= p->bytes) return false;
    const size_t offset = address - from;
    const piece *it = nearest(p, offset);
    if (!it) return false;
    const char *did = access == PAGE_READ ? "read" : access == PAGE_WRITTEN ? "wrote" :
                      access == PAGE_RUN ? "jumped" : "touched memory";
    char name[128];
    describe(name, sizeof name, p, it);
    out->buffer = it->name;
    if (offset < it->at) {
        out->element = -(long long)((it->at - offset - 1) / it->element) - 1;
        snprintf(out->text, sizeof out->text, "%s before the start of %s, at element %lld",
                 did, name, out->element);
    } else if (offset >= it->end) {
        out->element = (long long)((offset - it->at) / it->element);
        snprintf(out->text, sizeof out->text,
                 "%s behind the end of %s, at element %lld (it has %zu)",
                 did, name, out->element, it->count);
    } else {
        out->element = (long long)((offset - it->at) / it->element);
        if (it->role == PIECE_CALL)
            snprintf(out->text, sizeof out->text, "%s to %s, which is const", did, name);
        else
            snprintf(out->text, sizeof out->text, "%s to %s, element %lld",
                     did, name, out->element);
    }
    return true;
}

/* kernel_host.c -- see kernel_host.h: a host's life, and a call from its request to its
 * outcome.
 *
 * The pages are shared, not the tensors: what a kernel does to memory of the caller's
 * own, it does to its child's copy.  Pages of other hosts are not inherited at all.
 */
#include "verify/host/kernel_host.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/interrupt.h"
#include "base/utf8.h"
#include "verify/host/kernel_compile.h"
#include "verify/host/kernel_elf.h"
#include "verify/host/kernel_outcome.h"
#include "verify/host/kernel_process.h"

struct kernel_host {
    char  *path;                    /* as the caller calls it */
    char  *library;                 /* for dlopen */
    int    file;                    /* of what was compiled; -1 */
    char  *symbols[KERNEL_SYMBOLS];
    size_t nsymbols;
    bool   any, has[KERNEL_SYMBOLS];
    double seconds;
    size_t memory_bytes;
    kernel_process process;
    unsigned generation;
    size_t serial;                  /* of the last call: the page's can be overwritten */
    char  *base;                    /* the shared pages */
    size_t bytes;
    page_plan plan;
    size_t saved;                   /* bytes of `save` that a forward pass left; 0 */
};

static const size_t first_pages = (size_t)64 << 20;     /* of addresses; touched as needed */

static child_page *control(const kernel_host *h) { return (child_page *)(void *)h->base; }

/* ---- the end of a child -------------------------------------------------- */

static void end_child(kernel_host *h, kernel_outcome *out)
{
    const int status = process_finish(&h->process, out);
    outcome_of_death(out, &h->plan, h->base, status);
}

static void end_late(kernel_host *h, kernel_outcome *out)
{
    const bool loading = control(h)->state == CHILD_LOADING;
    process_finish(&h->process, out);
    outcome_set(out, KERNEL_TIMED_OUT, 0, "");
    snprintf(out->text, sizeof out->text, "%s %g s",
             loading ? "while it was loaded: not done within" : "did not return within",
             h->seconds);
}

/* Waits; true: it answered what it was asked. */
static bool await(kernel_host *h, kernel_outcome *out)
{
    const child_page *page = control(h);
    const process_end end = process_await(&h->process, h->seconds, out);
    if (end == PROCESS_ANSWERED && page->done == h->serial) {
        utf8_plain(out->said, true);
        return true;
    }
    if (end == PROCESS_INTERRUPTED) {
        process_finish(&h->process, out);
        outcome_set(out, KERNEL_KILLED, 0, "was interrupted");
    } else if (end == PROCESS_DIED) {
        end_child(h, out);
    } else if (end == PROCESS_LATE) {
        end_late(h, out);
    } else {                    /* a byte that the child did not send, or a page spoiled */
        process_finish(&h->process, out);
        outcome_set(out, KERNEL_KILLED, 0, "wrote where only its host does: to a file descriptor "
            "that is not its own, or to the host's memory");
    }
    utf8_plain(out->said, true);
    return false;
}

/* ---- children ------------------------------------------------------------ */

static vt_status map_pages(kernel_host *h, size_t bytes, vt_error *err)
{
    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return fail_memory(err, bytes, "a kernel's buffers");
    madvise(base, bytes, MADV_DONTFORK);
    h->base = base;
    h->bytes = bytes;
    return VT_OK;
}

/* Larger pages, with `save` in them; the child has the old ones, so it ends. */
static vt_status grow_pages(kernel_host *h, size_t bytes, vt_error *err)
{
    char *old = h->base;
    const size_t old_bytes = h->bytes;
    if (bytes < 2 * old_bytes) bytes = 2 * old_bytes;
    process_finish(&h->process, NULL);
    const vt_status status = map_pages(h, bytes, err);
    if (status != VT_OK) return status;
    const size_t end = h->plan.n ? h->plan.pieces[0].end : 0;   /* save is the first piece */
    if (h->saved && end <= old_bytes) memcpy(h->base + end - h->saved, old + end - h->saved, h->saved);
    munmap(old, old_bytes);
    return VT_OK;
}

/* A new child that has loaded the library, or an outcome that says why not. */
static vt_status start_child(kernel_host *h, bool *loaded, kernel_outcome *out, vt_error *err)
{
    child_page *page = control(h);
    memset(page, 0, sizeof *page);
    page->serial = ++h->serial;
    child_setup setup = {
        .library = h->library, .symbols = (const char *const *)h->symbols,
        .nsymbols = h->nsymbols, .any = h->any, .base = h->base, .bytes = h->bytes,
        .memory_bytes = h->memory_bytes, .generation = h->generation++, .file = h->file
    };
    vt_status status = process_start(&h->process, &setup, err);
    *loaded = status == VT_OK && await(h, out);
    if (status == VT_OK && !*loaded) {
        if (interrupt_asked()) status = interrupt_fail(err);
        else if (page->load == CHILD_NO_ROOM)
            status = fail(err, VT_IO, "cannot make a process for %s: descriptors: %s", h->path,
                          strerror(page->refused));
    }
    return status;
}

/* What is wrong with a library that answered. */
static vt_status judge_load(kernel_host *h, vt_error *err)
{
    const child_page *page = control(h);
    char text[sizeof page->text], missing[256] = "";
    memcpy(text, page->text, sizeof text);
    text[sizeof text - 1] = 0;
    /* The loader's words about a compiled one begin with the descriptor's name. */
    const size_t own = strlen(h->library);
    const char *why = strncmp(text, h->library, own) == 0 && text[own] == ':' ?
                      text + own + 1 + strspn(text + own + 1, " ") : text;
    for (size_t i = 0; i < h->nsymbols; i++) h->has[i] = page->has[i];
    for (size_t i = 0, n = 0; i < h->nsymbols && n < sizeof missing; i++)
        if (!h->has[i])
            n += (size_t)snprintf(missing + n, sizeof missing - n, "%s%s",
                                  n == 0 ? "" : h->any ? " or " : ", ", h->symbols[i]);
    switch (page->load) {
    case CHILD_LOADED:
        return VT_OK;
    case CHILD_NO_LIBRARY:
        return fail(err, VT_BAD_INPUT, "%s: cannot be loaded: %s", h->path, why);
    case CHILD_NO_FUNCTION:
        return fail(err, VT_BAD_INPUT, "%s: %s is no function", h->path, text);
    case CHILD_NO_ABI:
        return fail(err, VT_BAD_INPUT, "%s: vt_kernel_abi is %s: expected const int vt_kernel_abi",
                    h->path, text);
    case CHILD_OTHER_ABI:
        return fail(err, VT_BAD_INPUT, "%s: built for version %s of vitrine_kernel.h, expected %d",
                    h->path, text, VT_KERNEL_ABI);
    default:
        return fail(err, VT_BAD_INPUT, "%s: has no function %s (%s%s)", h->path, missing,
                    *text ? "it exports " : "it exports no function", text);
    }
}

/* ---- open and free ------------------------------------------------------- */

static bool ends_in_c(const char *path)
{
    const size_t n = strlen(path);
    return n > 2 && strcmp(path + n - 2, ".c") == 0;
}

static vt_status copy_options(kernel_host *h, const char *path, const kernel_host_options *o,
                              vt_error *err)
{
    static const char *const usual[] = { "vt_kernel" };
    const char *const *symbols = o->symbols ? o->symbols : usual;
    const size_t n = o->symbols ? o->nsymbols : 1;
    if (n < 1 || n > KERNEL_SYMBOLS)
        return fail(err, VT_USAGE, "%zu functions are wanted, expected 1 to %d", n, KERNEL_SYMBOLS);
    h->any = o->any;
    h->seconds = o->seconds > 0 ? o->seconds : 10;
    h->memory_bytes = o->memory_bytes ? o->memory_bytes : (size_t)1 << 31;
    h->path = strdup(path);
    if (!h->path) return fail_memory(err, strlen(path), "a path");
    for (size_t i = 0; i < n; i++) {
        h->symbols[i] = strdup(symbols[i]);
        if (!h->symbols[i]) return fail_memory(err, strlen(symbols[i]), "a name");
        h->nsymbols = i + 1;
    }
    return VT_OK;
}

/* Makes h->library; compiles where that is needed. */
static vt_status find_library(kernel_host *h, const kernel_host_options *o, vt_error *err)
{
    struct stat info;
    if (stat(h->path, &info) != 0)
        return fail(err, status_of(errno), "%s: %s", h->path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return fail(err, VT_IO, "%s: expected a regular file", h->path);
    h->library = realpath(h->path, NULL);       /* a bare name would be searched for */
    if (!h->library) return fail(err, status_of(errno), "%s: %s", h->path, strerror(errno));
    if (!ends_in_c(h->path)) return kernel_elf_check(h->path, err);

    /* As the caller calls it, for the compiler's messages, unless it would be an option. */
    const vt_status status =
        kernel_compile(&h->file, h->path[0] == '-' ? h->library : h->path,
                       o->compiler ? o->compiler : "cc", o->include,
                       o->temporary ? o->temporary : "/tmp",
                       o->compile_seconds > 0 ? o->compile_seconds : 300, err);
    if (status != VT_OK) return status;
    free(h->library);
    h->library = malloc(32);
    if (!h->library) return fail_memory(err, 32, "a path");
    snprintf(h->library, 32, "/proc/self/fd/%d", CHILD_LIBRARY);
    return VT_OK;
}

vt_status kernel_host_open(kernel_host **out, const char *path, const kernel_host_options *o,
                           vt_error *err)
{
    static const kernel_host_options usual;
    kernel_outcome outcome = { .end = KERNEL_OK };
    bool loaded = false;
    *out = NULL;
    kernel_host *h = calloc(1, sizeof *h);
    if (!h) return fail_memory(err, sizeof *h, "a kernel's host");
    h->file = -1;
    h->process = (kernel_process){ .pid = 0, .socket = -1, .said = -1 };
    if (!o) o = &usual;
    vt_status status = copy_options(h, path, o, err);
    if (status == VT_OK) status = find_library(h, o, err);
    if (status == VT_OK) status = map_pages(h, first_pages, err);
    if (status == VT_OK) status = start_child(h, &loaded, &outcome, err);
    if (status == VT_OK)
        status = loaded ? judge_load(h, err) :
                 fail(err, VT_CHECK_FAILED, "%s: %s%s%.*s", path, outcome.text,
                      *outcome.said ? ", having said: " : "",
                      (int)strcspn(outcome.said, "\n"), outcome.said);
    if (status != VT_OK) {
        kernel_host_free(h);
        return status;
    }
    *out = h;
    return VT_OK;
}

void kernel_host_free(kernel_host *h)
{
    if (!h) return;
    process_finish(&h->process, NULL);
    if (h->file >= 0) close(h->file);
    if (h->base) munmap(h->base, h->bytes);
    pages_free(&h->plan);
    for (size_t i = 0; i < h->nsymbols; i++) free(h->symbols[i]);
    free(h->library);
    free(h->path);
    free(h);
}

bool kernel_host_has(const kernel_host *h, size_t i) { return i < h->nsymbols && h->has[i]; }

void kernel_host_fresh(kernel_host *h) { process_finish(&h->process, NULL); }

/* ---- a call -------------------------------------------------------------- */

/* Plans the pages and fills them; *call is what the kernel gets. */
static vt_status prepare(kernel_host *h, const kernel_request *r, const vt_kernel_call **call,
                         vt_error *err)
{
    vt_status status = pages_plan(&h->plan, r, CHILD_CONTROL, err);
    if (status != VT_OK) return status;
    if (h->plan.n > CHILD_RANGES)
        return fail(err, VT_TOO_LARGE, "a call with %zu buffers, expected at most %zu",
                    h->plan.n, CHILD_RANGES);
    const size_t save = h->plan.pieces[0].role == PIECE_SAVE ? h->plan.pieces[0].bytes : 0;
    const bool keep = h->plan.backward && save == h->saved;
    if (!keep) h->saved = 0;
    if (h->plan.bytes > h->bytes) status = grow_pages(h, h->plan.bytes, err);
    if (status != VT_OK) return status;
    *call = pages_fill(&h->plan, r, h->base, keep);
    h->saved = save;
    return VT_OK;
}

static void set_ranges(kernel_host *h)
{
    child_page *page = control(h);
    page->nranges = h->plan.n;
    for (size_t i = 0; i < h->plan.n; i++) {
        const piece *it = &h->plan.pieces[i];
        page->ranges[i] = (child_range){ it->first, it->end - it->first, it->writable };
    }
}

static void judge_return(kernel_host *h, kernel_outcome *out)
{
    const child_page *page = control(h);
    const int result = page->result, no_memory = page->no_memory;
    if (pages_overwritten(&h->plan, h->base, out)) {
        pages_copy_back(&h->plan, h->base, out);
    } else if (result == 0) {
        pages_copy_back(&h->plan, h->base, out);
    } else if (result == VT_KERNEL_UNSUPPORTED) {
        outcome_set(out, KERNEL_UNSUPPORTED, result, "does not support this operator, type or pass");
    } else {
        outcome_set(out, no_memory == 1 ? KERNEL_OUT_OF_MEMORY : KERNEL_RETURNED, result, "");
        snprintf(out->text, sizeof out->text, "%sreturned %d, expected 0",
                 no_memory == 1 ? "an allocation failed, then it: " : "", result);
    }
}

vt_status kernel_host_call(kernel_host *h, const kernel_request *r, kernel_outcome *out,
                           vt_error *err)
{
    const vt_kernel_call *call = NULL;
    bool loaded = true;
    *out = (kernel_outcome){ .end = KERNEL_OK };
    if (r->symbol >= h->nsymbols || !h->has[r->symbol])
        return fail(err, VT_USAGE, "%s: function %zu is not there", h->path, r->symbol);
    if (h->process.pid && process_is_dead(&h->process)) {   /* since the last call */
        end_child(h, out);
        return VT_OK;
    }
    vt_status status = prepare(h, r, &call, err);
    if (status != VT_OK) return status;
    if (!h->process.pid) {
        status = start_child(h, &loaded, out, err);
        if (status == VT_OK && loaded) status = judge_load(h, err);
        if (status != VT_OK || !loaded) return status;
    }
    child_page *page = control(h);
    page->serial = ++h->serial;
    page->symbol = r->symbol;
    page->adapter = r->adapter;
    page->call = call;
    set_ranges(h);
    process_ask(&h->process);
    if (!await(h, out)) return interrupt_asked() ? interrupt_fail(err) : VT_OK;
    if (page->refused != 0)
        return fail(err, VT_IO, "%s: the pages of a call cannot be opened: %s", h->path,
                    strerror(page->refused));
    judge_return(h, out);
    return VT_OK;
}

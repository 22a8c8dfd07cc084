/* answer.c -- see answer.h: answers in one piece, and files. */
#include "serve/answer.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "formats/json.h"
#include "serve/site_file.h"
#include "serve/target.h"

/* The pages' own policy, and what only a header can say. */
static const char policy[] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; font-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

enum MHD_Result answer_send(const request *r, unsigned status, const char *type,
                            struct MHD_Response *response)
{
    if (!response) return MHD_NO;
    const struct { const char *name, *value; } headers[] = {
        { "Content-Type", type }, { "Content-Security-Policy", policy },
        { "X-Content-Type-Options", "nosniff" }, { "Referrer-Policy", "no-referrer" },
        { "Cross-Origin-Resource-Policy", "same-origin" }, { "Cache-Control", "no-cache" },
        { "Allow", r->allow },
    };
    enum MHD_Result good = MHD_YES;
    for (size_t i = 0; i < sizeof headers / sizeof *headers && good == MHD_YES; i++)
        if (headers[i].value)
            good = MHD_add_response_header(response, headers[i].name, headers[i].value);
    if (good == MHD_YES) good = MHD_queue_response(r->connection, status, response);
    MHD_destroy_response(response);
    return good;
}

enum MHD_Result answer_text(const request *r, unsigned status, const char *type,
                            const void *text, size_t n)
{
    void *copy = (void *)(uintptr_t)text;           /* which the response copies */
    struct MHD_Response *response = MHD_create_response_from_buffer(n, copy,
                                                                    MHD_RESPMEM_MUST_COPY);
    return answer_send(r, status, type, response);
}

enum MHD_Result answer_error(const request *r, unsigned status, const char *format, ...)
{
    char line[512];
    bytes text = { 0 };
    js_writer w;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_string(&w, "error", line);
    js_close_object(&w);
    enum MHD_Result good = MHD_NO;
    if (js_end(&w, NULL) == VT_OK && bytes_append(&text, "\n", 1, NULL) == VT_OK)
        good = answer_text(r, status, "application/json", text.data, text.len);
    bytes_free(&text);
    return good;
}

bool answer_gone(const request *r)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    char byte;
    if (!info) return true;
    const ssize_t n = recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool answer_wait(server *s, int milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)milliseconds * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&s->lock);
    int late = 0;
    while (!s->stopping && late == 0) late = pthread_cond_timedwait(&s->wake, &s->lock, &until);
    const bool stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

/* ---- files -------------------------------------------------------------- */

/* Whether one of the list's tags is ours; what is weak about a tag does not matter here
 * (RFC 9110, section 13.1.2). */
static bool has_tag(const char *list, const char *tag)
{
    const size_t n = strlen(tag);
    if (strcmp(list, "*") == 0) return true;
    for (const char *p = list; (p = strstr(p, tag)); p += n) {
        const char *before = p, *after = p + n;
        if (before - list >= 2 && before[-1] == '/' && before[-2] == 'W') before -= 2;
        if ((before == list || strchr(", \t", before[-1])) && (!*after || strchr(", \t", *after)))
            return true;
    }
    return false;
}

/* The copy that the client has is still the file. */
static bool has_it(const request *r, const site_file *f)
{
    const char *tags = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "If-None-Match");
    const char *since = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
                                                    "If-Modified-Since");
    if (tags) return has_tag(tags, f->tag);
    return since && strcmp(since, f->modified) == 0;
}

static enum MHD_Result send_file(const request *r, unsigned status, site_file *f)
{
    const bool same = status == MHD_HTTP_OK && has_it(r, f);
    struct MHD_Response *response;
    if (same) {
        (void)close(f->file);
        response = MHD_create_response_from_buffer(0, (void *)(uintptr_t)"", MHD_RESPMEM_PERSISTENT);
    } else {
        response = MHD_create_response_from_fd64(f->size, f->file);   /* closes it */
        if (!response) (void)close(f->file);
    }
    if (response && status == MHD_HTTP_OK &&
        (MHD_add_response_header(response, "ETag", f->tag) != MHD_YES ||
         MHD_add_response_header(response, "Last-Modified", f->modified) != MHD_YES)) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    return answer_send(r, same ? MHD_HTTP_NOT_MODIFIED : status, f->type, response);
}

/* A folder is named with a slash at its end, or the links of its page lead elsewhere.
 * The target starts with one slash and not two: the answer stays on this host. */
static enum MHD_Result send_slash(const request *r)
{
    const size_t n = strcspn(r->target, "?");
    bytes where = { 0 };
    enum MHD_Result good = MHD_NO;
    if (bytes_printf(&where, NULL, "%.*s/%s", (int)n, r->target, r->target + n) == VT_OK) {
        struct MHD_Response *response =
            MHD_create_response_from_buffer(0, (void *)(uintptr_t)"", MHD_RESPMEM_PERSISTENT);
        if (response) (void)MHD_add_response_header(response, "Location", (char *)where.data);
        good = answer_send(r, MHD_HTTP_MOVED_PERMANENTLY, "text/plain; charset=utf-8", response);
    }
    bytes_free(&where);
    return good;
}

enum MHD_Result answer_file(server *s, const request *r, const char *path)
{
    static const char nothing[] = "404: there is no such page here.\n";
    site_file f;
    if (site_open(&f, s->folder, path))
        return f.folder ? send_slash(r) : send_file(r, MHD_HTTP_OK, &f);
    if (site_open(&f, s->folder, "404.html") && !f.folder)
        return send_file(r, MHD_HTTP_NOT_FOUND, &f);
    return answer_text(r, MHD_HTTP_NOT_FOUND, "text/plain; charset=utf-8", nothing,
                       sizeof nothing - 1);
}

/* server.c -- see server.h: sockets, and which part answers what.
 *
 * libmicrohttpd, a thread for each connection: an answer that waits (a stream of
 * metrics, a generation) then holds up nobody else.  An answer is given on the second
 * call for a request: on the first the library would close the connection behind it.
 *
 * SIGPIPE: the library sends with MSG_NOSIGNAL.
 */
#include "serve/server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "serve/answer.h"
#include "serve/http_library.h"
#include "serve/site_file.h"
#include "serve/target.h"

/* A connection without a request soon gives its place back; one that is answered may stall.
 * Each connection has two descriptors, and a process 1024 as a rule. */
enum { CONNECTIONS = 256, SECONDS_IDLE = 10, SECONDS_STALLED = 60, BACKLOG = 64 };
/* Of a body in chunks that is too long, so much is read and dropped, to be answered 413. */
enum { DROPPED_MOST = 1 << 24 };

/* ---- who may ask -------------------------------------------------------- */

/* "127.0.0.1", "localhost" or "[::1]", with our port or none. */
static bool is_here(const char *host, int port)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char with_port[32];
        snprintf(with_port, sizeof with_port, "%s:%d", names[i], port);
        if (strcmp(host, with_port) == 0 || strcmp(host, names[i]) == 0)
            return true;
    }
    return false;
}

/* Headers that say where a request goes, or where it ends: two of one kind could be read
 * in two ways (RFC 9112, sections 3.2 and 6.3). */
static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    static const char *const single[] = { "Host", "Origin", "Content-Length", "Transfer-Encoding" };
    unsigned *counts = context;
    (void)kind, (void)value;
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (strcasecmp(name, single[i]) == 0) counts[i]++;
    return MHD_YES;
}

static const char *ambiguous(const request *r)
{
    unsigned counts[4] = { 0 };             /* as in count_header */
    (void)MHD_get_connection_values(r->connection, MHD_HEADER_KIND, count_header, counts);
    if (counts[0] > 1) return "Host";
    if (counts[1] > 1) return "Origin";
    if (counts[2] + counts[3] > 1) return "Content-Length, or Transfer-Encoding";
    return NULL;
}

/* NULL, or what is wrong.  A browser sends Origin with every POST, and nothing that a
 * page can do changes it, or Host. */
static const char *stranger(const server *s, const request *r)
{
    const char *host = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Host");
    const char *origin = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Origin");
    if (!host) return "no Host";
    if (!is_here(host, s->port)) return "Host";
    if (origin && (strncmp(origin, "http://", 7) != 0 || !is_here(origin + 7, s->port)))
        return "Origin";
    return NULL;
}

/* ---- one request -------------------------------------------------------- */

static enum MHD_Result not_allowed(request *r, const char *methods)
{
    r->allow = methods;
    return answer_error(r, MHD_HTTP_METHOD_NOT_ALLOWED, "method: expected %s", methods);
}

static enum MHD_Result dispatch(server *s, request *r, const char *method)
{
    char path[TARGET_MOST];
    const char *why = ambiguous(r);
    if (why) return answer_error(r, MHD_HTTP_BAD_REQUEST, "%s: stands twice; expected once", why);
    if ((why = stranger(s, r))) return answer_error(r, MHD_HTTP_FORBIDDEN, "%s: expected this machine, as "
                                 "127.0.0.1:%d or localhost:%d", why, s->port, s->port);
    if ((why = target_path(path, r->target)))
        return answer_error(r, MHD_HTTP_BAD_REQUEST, "the target has %s", why);
    if (strcmp(path, "api/generate") == 0)
        return strcmp(method, "POST") == 0 ? answer_generate(s, r) : not_allowed(r, "POST");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return not_allowed(r, "GET, HEAD");
    if (strcmp(path, "api/run") == 0) return answer_run(s, r);
    if (strcmp(path, "api/metrics") == 0) return answer_metrics(s, r);
    return answer_file(s, r, path);
}

/* The target as it was sent: what the library hands to on_request is decoded already. */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
    request *r = calloc(1, sizeof *r);
    (void)context;
    if (!r) return NULL;
    r->connection = connection;
    r->target = strdup(target);
    r->behind = (uintptr_t)target + strlen(target) + 1;
    return r;
}

/* The library takes a NUL in the request line for the target's end, and would answer for
 * what stands before it.  In its buffer the version comes right behind the target: so where
 * it begins later, something was cut.  (0.9.77 and later refuse such a line themselves.) */
static bool is_cut(const request *r, const char *version)
{
    enum { LINE_MOST = 1 << 16 };               /* the library's buffer is smaller */
    const uintptr_t at = (uintptr_t)version;
    return at > r->behind && at - r->behind < LINE_MOST;
}

static void on_end(void *context, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode why)
{
    request *r = *state;
    (void)context, (void)why;
    (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                    (unsigned)SECONDS_IDLE);
    if (!r) return;
    bytes_free(&r->body);
    free(r->target);
    free(r);
    *state = NULL;
}

/* A number: the library has checked it. */
static bool announces_too_much(const request *r)
{
    const char *length = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
                                                     "Content-Length");
    return length && strtoull(length, NULL, 10) > BODY_MOST;
}

static enum MHD_Result too_much(const request *r)
{
    return answer_error(r, MHD_HTTP_CONTENT_TOO_LARGE, "body: expected at most %d bytes", BODY_MOST);
}

/* The first call for a request: an answer here is the last of its connection, and the body
 * is not read. */
static enum MHD_Result begin(request *r, const char *version)
{
    r->begun = true;
    (void)MHD_set_connection_option(r->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                    (unsigned)SECONDS_STALLED);
    if (is_cut(r, version))
        return answer_error(r, MHD_HTTP_BAD_REQUEST, "the target has a control character");
    return announces_too_much(r) ? too_much(r) : MHD_YES;
}

static enum MHD_Result take_body(request *r, const char *data, size_t *n)
{
    if (r->dropped > 0 || *n > BODY_MOST - r->body.len) r->dropped += *n;   /* it is too long */
    if (r->dropped > DROPPED_MOST) return MHD_NO;
    if (r->dropped == 0 && bytes_append(&r->body, data, *n, NULL)) return MHD_NO;
    *n = 0;
    return MHD_YES;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version,
                                  const char *data, size_t *n, void **state)
{
    server *s = context;
    request *r = *state;
    (void)connection, (void)url;
    if (!r || !r->target) return MHD_NO;
    if (!r->begun) return begin(r, version);
    if (*n > 0) return take_body(r, data, n);
    return r->dropped > 0 ? too_much(r) : dispatch(s, r, method);
}

/* ---- the socket --------------------------------------------------------- */

static int listen_at(int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (file < 0) return -1;
    if (setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(file, (struct sockaddr *)&at, sizeof at) == 0 && listen(file, BACKLOG) == 0)
        return file;
    const int why = errno;
    (void)close(file);
    errno = why;
    return -1;
}

static vt_status open_socket(server *s, const server_options *o, int *file, vt_error *err)
{
    struct sockaddr_in at;
    socklen_t n = sizeof at;
    *file = listen_at(o->port);
    if (*file < 0 && errno == EADDRINUSE && o->or_another) *file = listen_at(0);
    if (*file < 0 && errno == EADDRINUSE)
        return fail(err, VT_IO, "port %d: is in use; expected one that is free (--port 0: any)",
                    o->port);
    if (*file < 0 || getsockname(*file, (struct sockaddr *)&at, &n) != 0)
        return fail(err, status_of(errno), "port %d: cannot listen on 127.0.0.1: %s", o->port,
                    strerror(errno));
    s->port = ntohs(at.sin_port);
    return VT_OK;
}

/* ---- start and stop ----------------------------------------------------- */

static vt_status folder_path(char **out, const char *folder, vt_error *err)
{
    struct stat info;
    *out = realpath(folder, NULL);
    if (!*out) return fail(err, status_of(errno), "%s: cannot be opened: %s", folder,
                           strerror(errno));
    if (stat(*out, &info) != 0 || !S_ISDIR(info.st_mode))
        return fail(err, VT_IO, "%s: expected a folder", folder);
    return VT_OK;
}

static vt_status is_site(const char *folder, const char *name, vt_error *err)
{
    site_file f;
    if (!site_open(&f, folder, "index.html") || f.folder)
        return fail(err, VT_IO, "%s: has no index.html; expected a site (vitrine site --out %s "
                    "makes one)", name, name);
    (void)close(f.file);
    return VT_OK;
}

static void say_nothing(void *context, const char *format, va_list args)
{
    (void)context, (void)format, (void)args;
}

vt_status server_start(server **out, const server_options *o, vt_error *err)
{
    int file = -1;
    *out = NULL;
    server *s = calloc(1, sizeof *s);
    if (!s) return fail_memory(err, sizeof *s, "a server");
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    s->model = o->model;
    vt_status status = folder_path(&s->folder, o->folder, err);
    if (status == VT_OK) status = is_site(s->folder, o->folder, err);
    if (status == VT_OK && o->run) status = folder_path(&s->run, o->run, err);
    if (status || (status = open_socket(s, o, &file, err))) goto done;
    if ((status = http_library_load(err))) goto done;
    s->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
            MHD_USE_ITC | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL,
        MHD_OPTION_LISTEN_SOCKET, file, MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SECONDS_IDLE, MHD_OPTION_END);
    if (!s->daemon) {
        status = fail(err, status_of(errno), "the server cannot be started: %s", strerror(errno));
        goto done;
    }
    file = -1;                                  /* the daemon's now */
    *out = s;
done:
    if (file >= 0) (void)close(file);
    if (status) server_stop(s);
    return status;
}

int server_port(const server *s) { return s->port; }

void server_stop(server *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (s->daemon) MHD_stop_daemon(s->daemon);  /* waits for all answers */
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s->folder);
    free(s->run);
    free(s);
}

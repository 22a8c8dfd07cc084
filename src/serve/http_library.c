/* http_library.c -- see http_library.h.
 *
 * libmicrohttpd brings GnuTLS and six more libraries with it, and to link them takes as
 * long as all else that a short command does: half of `vitrine --version`.  So it
 * is loaded by the one command that needs it.  The functions below have its names and
 * prototypes (the compiler compares them with its header) and call the loaded ones; what
 * the server calls and is not here, the linker misses.
 */
#include "serve/http_library.h"
#include <dlfcn.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

/* Its binary interface, the same from 0.9.39 (2014) to 1.0. */
static const char LIBRARY[] = "libmicrohttpd.so.12";

static struct {
    struct MHD_Daemon *(*start_daemon_va)(unsigned, uint16_t, MHD_AcceptPolicyCallback, void *,
                                          MHD_AccessHandlerCallback, void *, va_list);
    void (*stop_daemon)(struct MHD_Daemon *);
    enum MHD_Result (*set_connection_option)(struct MHD_Connection *, enum MHD_CONNECTION_OPTION,
                                             ...);
    const union MHD_ConnectionInfo *(*get_connection_info)(struct MHD_Connection *,
                                                           enum MHD_ConnectionInfoType, ...);
    int (*get_connection_values)(struct MHD_Connection *, enum MHD_ValueKind, MHD_KeyValueIterator,
                                 void *);
    const char *(*lookup_connection_value)(struct MHD_Connection *, enum MHD_ValueKind,
                                           const char *);
    enum MHD_Result (*queue_response)(struct MHD_Connection *, unsigned, struct MHD_Response *);
    enum MHD_Result (*add_response_header)(struct MHD_Response *, const char *, const char *);
    struct MHD_Response *(*create_response_from_buffer)(size_t, void *,
                                                        enum MHD_ResponseMemoryMode);
    struct MHD_Response *(*create_response_from_callback)(uint64_t, size_t,
                                                          MHD_ContentReaderCallback, void *,
                                                          MHD_ContentReaderFreeCallback);
    struct MHD_Response *(*create_response_from_fd64)(uint64_t, int);
    void (*destroy_response)(struct MHD_Response *);
} library;

static const struct { const char *name; void *pointer; } functions[] = {
    { "MHD_start_daemon_va", &library.start_daemon_va },
    { "MHD_stop_daemon", &library.stop_daemon },
    { "MHD_set_connection_option", &library.set_connection_option },
    { "MHD_get_connection_info", &library.get_connection_info },
    { "MHD_get_connection_values", &library.get_connection_values },
    { "MHD_lookup_connection_value", &library.lookup_connection_value },
    { "MHD_queue_response", &library.queue_response },
    { "MHD_add_response_header", &library.add_response_header },
    { "MHD_create_response_from_buffer", &library.create_response_from_buffer },
    { "MHD_create_response_from_callback", &library.create_response_from_callback },
    { "MHD_create_response_from_fd64", &library.create_response_from_fd64 },
    { "MHD_destroy_response", &library.destroy_response },
};
static char problem[300];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *found = handle;
    for (size_t i = 0; found && i < sizeof functions / sizeof *functions; i++)
        if ((found = dlsym(handle, functions[i].name)) != NULL)
            memcpy(functions[i].pointer, &found, sizeof found);
    if (found) return;
    const char *why = dlerror();
    strncpy(problem, why ? why : "a function is missing", sizeof problem - 1);
}

vt_status http_library_load(vt_error *err)
{
    if (pthread_once(&once, load) != 0 || problem[0])
        return fail(err, VT_IO, "the HTTP library cannot be loaded: %s (Debian's libmicrohttpd12 "
                    "has it)", problem);
    return VT_OK;
}

struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback policy,
                                    void *policy_context, MHD_AccessHandlerCallback handler,
                                    void *handler_context, ...)
{
    va_list options;
    va_start(options, handler_context);
    struct MHD_Daemon *d = library.start_daemon_va(flags, port, policy, policy_context, handler,
                                                   handler_context, options);
    va_end(options);
    return d;
}

void MHD_stop_daemon(struct MHD_Daemon *d) { library.stop_daemon(d); }

/* Each option that there is takes an unsigned. */
enum MHD_Result MHD_set_connection_option(struct MHD_Connection *c, enum MHD_CONNECTION_OPTION what,
                                          ...)
{
    va_list value;
    va_start(value, what);
    const unsigned number = va_arg(value, unsigned);
    va_end(value);
    return library.set_connection_option(c, what, number);
}

/* None that is asked for here takes more. */
const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *c,
                                                        enum MHD_ConnectionInfoType what, ...)
{
    return library.get_connection_info(c, what);
}

int MHD_get_connection_values(struct MHD_Connection *c, enum MHD_ValueKind kind,
                              MHD_KeyValueIterator each, void *context)
{
    return library.get_connection_values(c, kind, each, context);
}

const char *MHD_lookup_connection_value(struct MHD_Connection *c, enum MHD_ValueKind kind,
                                        const char *key)
{
    return library.lookup_connection_value(c, kind, key);
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
    return library.queue_response(c, status, r);
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *r, const char *name, const char *value)
{
    return library.add_response_header(r, name, value);
}

struct MHD_Response *MHD_create_response_from_buffer(size_t n, void *data,
                                                     enum MHD_ResponseMemoryMode mode)
{
    return library.create_response_from_buffer(n, data, mode);
}

struct MHD_Response *MHD_create_response_from_callback(uint64_t n, size_t block,
                                                       MHD_ContentReaderCallback read,
                                                       void *context,
                                                       MHD_ContentReaderFreeCallback end)
{
    return library.create_response_from_callback(n, block, read, context, end);
}

struct MHD_Response *MHD_create_response_from_fd64(uint64_t n, int file)
{
    return library.create_response_from_fd64(n, file);
}

void MHD_destroy_response(struct MHD_Response *r) { library.destroy_response(r); }

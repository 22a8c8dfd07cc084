/* answer.h -- what the parts of the server share: one request, and its answer.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include <microhttpd.h>
#include <pthread.h>
#include "base/io.h"
#include "serve/server.h"

enum { BODY_MOST = 1 << 16 };       /* bytes of a request's body */

struct server {
    char       *folder, *run;
    vt_model   *model;
    int         port;
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock;           /* of what follows */
    pthread_cond_t  wake;           /* `stopping` was set */
    bool        stopping;
    int         generating;         /* generations in progress */
};

typedef struct request {
    struct MHD_Connection *connection;
    char  *target;                  /* as it was sent, query and all */
    uintptr_t behind;               /* the end of the target, where the library keeps it */
    bool   begun;
    bytes  body;
    size_t dropped;                 /* bytes of a body that is too long */
    const char *allow;              /* the target's methods, where another was asked for */
} request;

/* Answers with a text; 0 or MHD_NO ends the connection. */
enum MHD_Result answer_text(const request *r, unsigned status, const char *type,
                            const void *text, size_t n);
/* {"error": "..."}, which is JSON whatever the text holds. */
VT_PRINTF(3, 4)
enum MHD_Result answer_error(const request *r, unsigned status, const char *format, ...);
/* The headers of every answer; then it is sent, and released. */
enum MHD_Result answer_send(const request *r, unsigned status, const char *type,
                            struct MHD_Response *response);

/* The client has closed its side: who waits for nothing needs no more of a stream. */
bool answer_gone(const request *r);
/* Waits that long, or until the server stops; true: it stops. */
bool answer_wait(server *s, int milliseconds);

/* The parts. */
enum MHD_Result answer_file(server *s, const request *r, const char *path);
enum MHD_Result answer_run(server *s, const request *r);
enum MHD_Result answer_metrics(server *s, const request *r);
enum MHD_Result answer_generate(server *s, const request *r);

#endif

/* server.h -- a site on this machine's own address, with what a static host lacks:
 * the run in progress, and generation by the native kernels.
 *
 *   GET  /...             a file of the folder; HEAD likewise
 *   GET  /api/run         what run is watched, and how far it is
 *   GET  /api/metrics     its lines, then each new one: text/event-stream
 *   POST /api/generate    a prompt in, lines of JSON out
 *
 * It listens on 127.0.0.1 only, and answers only requests whose Host, and Origin
 * where there is one, name this machine: a page of somebody else's cannot reach it
 * under another name.  docs/command-line.md describes requests and answers.
 */
#ifndef SERVER_H
#define SERVER_H

#include "base/status.h"

typedef struct server server;

enum { SERVER_PORT = 8173 };

typedef struct server_options {
    const char *folder;
    int  port;                  /* 0: any that is free */
    bool or_another;            /* where `port` is in use, any that is free */
    const char *run;            /* folder of a training run to watch, or NULL */
    vt_model *model;            /* that generates, or NULL; not owned */
} server_options;

/* Listens and answers, on threads of its own, until server_stop().  VT_IO: the folder is
 * none, or no site, or the port cannot be had.  Signals that the caller blocks stay blocked there. */
VT_MUST_CHECK vt_status server_start(server **out, const server_options *o, vt_error *err);
int  server_port(const server *s);
void server_stop(server *s);    /* ends all answers in progress; also NULL */

#endif

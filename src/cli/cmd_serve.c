/* cmd_serve.c -- vitrine serve: a site on this machine, until Ctrl-C.
 *
 * SIGINT, SIGTERM and SIGHUP are blocked before the server's threads start, so
 * that this thread alone waits for them; a second one ends the process at once.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "serve/server.h"

typedef struct serve_args {
    const char *run, *model, *isa;
    int  port, threads;
    bool json;
} serve_args;

#define AT(field) offsetof(serve_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_INT, "--port", AT(port), "N", 0, 65535, "0: any that is free [8173, or any if it is in use]" },
    { OPTION_FOLDER, "--run", AT(run), "MODEL_DIR", 0, 0, "a training run: the training page shows it as it\ngoes on" },
    { OPTION_FOLDER, "--model", AT(model), "MODEL_DIR", 0, 0, "what /api/generate runs [DIR/data/playground]" },
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "of a generation; 0: all cores [0]" },
    ISA_ROW(AT(isa), "kernels of it; else $VITRINE_ISA [the best]"),
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "the address as one JSON object" },
};

/* The model that was named, or the site's own where it has one. */
static vt_status open_model(vt_model **m, const serve_args *a, const char *folder, vt_error *err)
{
    if (a->model) return vt_model_open(m, a->model, a->threads, a->isa, err);
    vt_status s = VT_OK;
    char *own = io_join(folder, "data/playground");
    char *file = own ? io_join(own, "config.json") : NULL;
    if (!file) s = fail_memory(err, strlen(folder), "a path");
    else if (access(file, R_OK) == 0) s = vt_model_open(m, own, a->threads, a->isa, err);
    free(file);
    free(own);
    return s;
}

static vt_status print_address(const serve_args *a, const char *folder, int port, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    if (!a->json) {
        printf("http://127.0.0.1:%d/\n", port);
        const vt_status s = cli_flush(err);
        if (s == VT_OK) fprintf(stderr, "serving %s; Ctrl-C ends it\n", folder);
        return s;
    }
    char address[40];
    snprintf(address, sizeof address, "http://127.0.0.1:%d/", port);
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_string(&w, "address", address);
    js_field_int(&w, "port", port);
    js_field_string(&w, "folder", folder);
    js_field_string(&w, "run", a->run);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

/* Signals that are ignored (nohup) stay ignored: the kernel drops them. */
static void block(sigset_t *set, sigset_t *before)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, before);
}

static vt_status serve(const serve_args *a, bool port_given, const char *folder, vt_error *err)
{
    server_options o = { .folder = folder, .run = a->run, .port = port_given ? a->port : SERVER_PORT,
                         .or_another = !port_given };
    sigset_t set, before;
    server *running = NULL;
    int number;
    vt_status s = open_model(&o.model, a, folder, err);
    if (s) return s;
    block(&set, &before);
    if ((s = server_start(&running, &o, err)) ||
        (s = print_address(a, folder, server_port(running), err)))
        goto done;
    while (sigwait(&set, &number) != 0) continue;
    s = VT_INTERRUPTED;
done:
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    server_stop(running);
    vt_model_close(o.model);
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    serve_args a = { .port = SERVER_PORT };
    options_read read;
    vt_error err;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    vt_status s = VT_USAGE;
    if (read.noperands > 0 && read.operands[0][0])
        s = serve(&a, options_given(c, &read, "--port"), read.operands[0], &err);
    else (void)fail(&err, s, "expected the folder of a site: vitrine serve DIR");
    if (s && s != VT_INTERRUPTED) cli_error(c, s, &err);
    return (int)s;
}

const command cmd_serve = {
    .name = "serve",
    .summary = "shows a site on this machine",
    .usage = "vitrine serve DIR [option ...]",
    .about = "Serves the site in DIR (which `vitrine site` wrote) on 127.0.0.1, for this\n"
             "machine alone, and prints its address.  Beside the files it answers /api/run and\n"
             "/api/metrics (the run of --run, as it goes on) and /api/generate (the model, by\n"
             "the native kernels): docs/command-line.md.  Ctrl-C ends it.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1, .operand = OPTION_FOLDER,
    .examples =
        "  vitrine serve build/www\n"
        "  vitrine serve build/www --port 8080 --run build/models/mine\n"
        "  curl -d '{\"prompt\": \"She was\"}' http://127.0.0.1:8173/api/generate\n",
    .exits =
        "  2    an option cannot be used\n"
        "  3    the model is not what it should be\n"
        "  4    the folder cannot be read, or is no site, or the port is in use\n"
        "  130  ended by Ctrl-C, or another signal that asks to\n",
    .run = run,
};

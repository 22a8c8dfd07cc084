/* answer_run.c -- a training run in progress: its state, and its log as it grows.
 *
 * The log is metrics.jsonl.  Only whole lines that are JSON are passed on.  A run
 * that starts anew, or resumes, replaces the file or cuts it: then the stream says
 * so ("event: restart") and begins again.
 *
 * Server-sent events: WHATWG, HTML, section 9.2.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "formats/json.h"
#include "serve/answer.h"

enum { LINE_MOST = 1 << 14, PAUSE_MS = 250, HEARTBEAT = 20, MANIFEST_MOST = 1 << 22,
       PIECE = 1 << 15 };

/* A log that is read as it grows. */
typedef struct follower {
    char  *path;
    int    file;                    /* -1: none yet */
    struct stat info;               /* of it */
    off_t  at;                      /* bytes read */
    bytes  line;                    /* the beginning of one */
    bool   too_long;                /* and the rest of it is passed over */
} follower;

static bool follower_new(follower *f, const char *folder)
{
    *f = (follower){ .file = -1, .path = io_join(folder, "metrics.jsonl") };
    return f->path != NULL;
}

static void follower_free(follower *f)
{
    if (f->file >= 0) (void)close(f->file);
    bytes_free(&f->line);
    free(f->path);
}

/* Opens the file that is there now.  True: another than before, or cut. */
static bool follow(follower *f)
{
    struct stat now;
    if (f->file >= 0 && stat(f->path, &now) == 0 && now.st_dev == f->info.st_dev &&
        now.st_ino == f->info.st_ino && now.st_size >= f->at)
        return false;
    const int file = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    const bool again = f->file >= 0;
    if (again) (void)close(f->file);
    f->file = file;
    f->at = 0;
    f->line.len = 0;
    f->too_long = false;
    if (fstat(file, &f->info) != 0 || !S_ISREG(f->info.st_mode)) {
        (void)close(file);
        f->file = -1;
    }
    return again;
}

/* A line is whole: what it is, or nothing where it is no JSON. */
typedef bool line_sink(void *context, const char *line, size_t n);

static bool end_line(follower *f, line_sink *sink, void *context)
{
    json_t *tree = NULL;
    bool good = true;
    if (!f->too_long && js_parse(&tree, f->line.data, f->line.len, f->path, NULL) == VT_OK)
        good = sink(context, (const char *)f->line.data, f->line.len);
    json_decref(tree);
    f->line.len = 0;
    f->too_long = false;
    return good;
}

/* Reads at most a piece, and gives each whole line to the sink.  False: no memory. */
static bool read_lines(follower *f, line_sink *sink, void *context, size_t *got)
{
    char piece[PIECE];
    ssize_t n;
    *got = 0;
    if (f->file < 0) return true;
    do n = read(f->file, piece, sizeof piece); while (n < 0 && errno == EINTR);
    if (n <= 0) return true;
    *got = (size_t)n;
    f->at += n;
    for (const char *p = piece, *end = piece + n; p < end; ) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const size_t length = (size_t)((newline ? newline : end) - p);
        if (length > LINE_MOST - f->line.len) f->too_long = true;
        else if (bytes_append(&f->line, p, length, NULL)) return false;
        if (newline && !end_line(f, sink, context)) return false;
        p += length + (newline != NULL);
    }
    return true;
}

/* ---- /api/metrics ------------------------------------------------------- */

typedef struct stream {
    server        *s;
    const request *r;
    follower       log;
    bytes          ready;           /* to be sent */
    size_t         sent;
    int            quiet;           /* pauses since something was sent */
} stream;

static bool put_event(void *context, const char *line, size_t n)
{
    stream *t = context;
    const size_t begin = t->ready.len + 6;
    if (bytes_append(&t->ready, "data: ", 6, NULL) || bytes_append(&t->ready, line, n, NULL) ||
        bytes_append(&t->ready, "\n\n", 2, NULL))
        return false;
    /* A carriage return would end the event's line; in JSON it is a space between words. */
    for (size_t i = begin; i < begin + n; i++)
        if (t->ready.data[i] == '\r') t->ready.data[i] = ' ';
    return true;
}

/* Something to send, or false: the stream ends. */
static bool fill(stream *t)
{
    static const char restart[] = "event: restart\ndata: {}\n\n";
    t->ready.len = t->sent = 0;
    for (;;) {
        size_t got;
        if (follow(&t->log) && bytes_append(&t->ready, restart, sizeof restart - 1, NULL))
            return false;
        if (!read_lines(&t->log, put_event, t, &got)) return false;
        if (t->ready.len > 0) break;
        if (got > 0) continue;
        if (answer_gone(t->r) || answer_wait(t->s, PAUSE_MS)) return false;
        if (++t->quiet < HEARTBEAT) continue;
        if (bytes_append(&t->ready, ": \n\n", 4, NULL)) return false;
        break;
    }
    t->quiet = 0;
    return true;
}

static ssize_t next_piece(void *context, uint64_t position, char *out, size_t most)
{
    stream *t = context;
    (void)position;
    if (t->sent == t->ready.len && !fill(t)) return MHD_CONTENT_READER_END_OF_STREAM;
    size_t n = t->ready.len - t->sent;
    if (n > most) n = most;
    memcpy(out, t->ready.data + t->sent, n);
    t->sent += n;
    return (ssize_t)n;
}

static void end_stream(void *context)
{
    stream *t = context;
    follower_free(&t->log);
    bytes_free(&t->ready);
    free(t);
}

static enum MHD_Result no_run(const request *r)
{
    return answer_error(r, MHD_HTTP_NOT_FOUND, "no run is watched: vitrine serve DIR --run MODEL_DIR");
}

enum MHD_Result answer_metrics(server *s, const request *r)
{
    if (!s->run) return no_run(r);
    stream *t = calloc(1, sizeof *t);
    if (!t) return MHD_NO;
    t->s = s;
    t->r = r;
    if (!follower_new(&t->log, s->run)) {
        free(t);
        return MHD_NO;
    }
    /* A comment at once: the page learns that it is connected. */
    if (bytes_append(&t->ready, ": \n\n", 4, NULL)) {
        end_stream(t);
        return MHD_NO;
    }
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, next_piece, t, end_stream);
    if (!response) end_stream(t);
    return answer_send(r, MHD_HTTP_OK, "text/event-stream", response);
}

/* ---- /api/run ----------------------------------------------------------- */

static bool keep_line(void *context, const char *line, size_t n)
{
    bytes *last = context;
    last->len = 0;
    return bytes_append(last, line, n, NULL) == VT_OK;
}

/* The last line of the log that is JSON; the log may be empty, or not there yet. */
static bool last_line(const char *folder, bytes *last)
{
    follower f;
    size_t got = 1;
    if (!follower_new(&f, folder)) return false;
    bool good = true;
    (void)follow(&f);
    while (good && got > 0) good = read_lines(&f, keep_line, last, &got);
    follower_free(&f);
    return good;
}

static void put_field(js_writer *w, const char *key, const json_t *value)
{
    js_key(w, key);
    js_value(w, value);
}

enum MHD_Result answer_run(server *s, const request *r)
{
    json_t *manifest = NULL, *line = NULL;
    bytes last = { 0 }, out = { 0 };
    enum MHD_Result good = MHD_NO;
    if (!s->run) return no_run(r);
    char *path = io_join(s->run, "manifest.json");
    if (!path || !last_line(s->run, &last)) goto done;
    /* Written at the first save: until then only the log says how far it is. */
    if (js_read(&manifest, path, MANIFEST_MOST, NULL)) manifest = NULL;
    if (last.len == 0 || js_parse(&line, last.data, last.len, path, NULL)) line = NULL;
    const json_t *settings = json_object_get(manifest, "settings");
    const json_t *step = json_object_get(line, "step"), *steps = json_object_get(line, "steps");
    js_writer w;
    js_begin(&w, &out, JS_LINE);
    js_open_object(&w);
    put_field(&w, "step", step ? step : json_object_get(manifest, "step"));
    put_field(&w, "steps", steps ? steps : json_object_get(settings, "steps"));
    put_field(&w, "model", json_object_get(manifest, "model"));
    put_field(&w, "settings", settings);
    put_field(&w, "last", line);
    js_close_object(&w);
    if (js_end(&w, NULL) == VT_OK && bytes_append(&out, "\n", 1, NULL) == VT_OK)
        good = answer_text(r, MHD_HTTP_OK, "application/json", out.data, out.len);
done:
    json_decref(line);
    json_decref(manifest);
    bytes_free(&last);
    bytes_free(&out);
    free(path);
    return good;
}

/* answer_generate.c -- POST /api/generate: a prompt in, lines of JSON out as the
 * model speaks.
 *
 * A thread of its own generates and fills a queue; the connection's thread empties
 * it.  When the client goes away the queue is closed, and the next token is the
 * last.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "formats/json.h"
#include "serve/answer.h"
#include "serve/generate_request.h"

enum { QUEUE_MOST = 1 << 16, PAUSE_MS = 250, AT_ONCE = 2, PIECE = 1 << 14 };

typedef struct speech {
    server        *s;
    const request *r;
    vt_generate_options o;
    bytes          prompt;
    pthread_t      thread;
    pthread_mutex_t lock;           /* of what follows */
    pthread_cond_t  changed;
    bytes          queue;           /* lines to be sent */
    bool           ended, unwanted; /* nothing more comes; nobody reads any more */
} speech;

/* ---- the thread that generates ------------------------------------------ */

/* Waits while the reader is behind.  True: nobody reads any more. */
static bool put_line(speech *p, js_writer *w, const bytes *line)
{
    vt_status s = js_end(w, NULL);
    pthread_mutex_lock(&p->lock);
    while (!p->unwanted && p->queue.len > QUEUE_MOST) pthread_cond_wait(&p->changed, &p->lock);
    if (s == VT_OK) s = bytes_append(&p->queue, line->data, line->len, NULL);
    if (s == VT_OK) s = bytes_append(&p->queue, "\n", 1, NULL);
    if (s) p->unwanted = true;                  /* no memory: the answer ends */
    pthread_cond_broadcast(&p->changed);
    const bool unwanted = p->unwanted;
    pthread_mutex_unlock(&p->lock);
    return unwanted;
}

static bool say(void *context, int sample, const char *text, size_t n)
{
    speech *p = context;
    bytes line = { 0 };
    js_writer w;
    (void)sample;
    js_begin(&w, &line, JS_LINE);
    js_open_object(&w);
    js_key(&w, "text");
    js_text(&w, text, n);
    js_close_object(&w);
    const bool unwanted = put_line(p, &w, &line);
    bytes_free(&line);
    return unwanted;
}

static void *speak(void *context)
{
    speech *p = context;
    bytes line = { 0 };
    js_writer w;
    vt_error err;
    size_t tokens = 0;
    const vt_status s = vt_generate(p->s->model, &p->o, say, p, &tokens, &err);
    js_begin(&w, &line, JS_LINE);
    js_open_object(&w);
    if (s) {
        js_field_string(&w, "error", err.text);
    } else {
        js_field_bool(&w, "done", true);
        js_field_uint(&w, "tokens", tokens);
    }
    js_close_object(&w);
    (void)put_line(p, &w, &line);
    bytes_free(&line);
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the connection's thread -------------------------------------------- */

static bool stopping(server *s)
{
    pthread_mutex_lock(&s->lock);
    const bool is = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return is;
}

/* With the lock held: until the queue has something, or nothing more comes. */
static bool wait_for_words(speech *p)
{
    while (p->queue.len == 0 && !p->ended && !p->unwanted) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PAUSE_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&p->changed, &p->lock, &until);
        if (p->queue.len == 0 && (stopping(p->s) || answer_gone(p->r))) return false;
    }
    return p->queue.len > 0;
}

static ssize_t next_words(void *context, uint64_t position, char *out, size_t most)
{
    speech *p = context;
    ssize_t n = MHD_CONTENT_READER_END_OF_STREAM;
    (void)position;
    pthread_mutex_lock(&p->lock);
    if (wait_for_words(p) && !stopping(p->s)) {
        const size_t take = p->queue.len < most ? p->queue.len : most;
        memcpy(out, p->queue.data, take);
        memmove(p->queue.data, p->queue.data + take, p->queue.len - take);
        p->queue.len -= take;
        pthread_cond_broadcast(&p->changed);
        n = (ssize_t)take;
    }
    pthread_mutex_unlock(&p->lock);
    return n;
}

static void free_speech(speech *p)
{
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    bytes_free(&p->queue);
    bytes_free(&p->prompt);
    free(p);
}

static void count_generation(server *s, int by)
{
    pthread_mutex_lock(&s->lock);
    s->generating += by;
    pthread_mutex_unlock(&s->lock);
}

/* The answer is over, or its client is gone. */
static void end_speech(void *context)
{
    speech *p = context;
    pthread_mutex_lock(&p->lock);
    p->unwanted = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    count_generation(p->s, -1);
    free_speech(p);
}

/* ---- the request -------------------------------------------------------- */

/* A place among those that generate, or false: all are taken. */
static bool take_place(server *s)
{
    pthread_mutex_lock(&s->lock);
    const bool free_one = s->generating < AT_ONCE;
    if (free_one) s->generating++;
    pthread_mutex_unlock(&s->lock);
    return free_one;
}

enum MHD_Result answer_generate(server *s, const request *r)
{
    vt_error err;
    if (!s->model)
        return answer_error(r, MHD_HTTP_NOT_FOUND, "no model: vitrine serve DIR --model MODEL_DIR");
    speech *p = calloc(1, sizeof *p);
    if (!p) return MHD_NO;
    p->s = s;
    p->r = r;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    const vt_status bad = generate_request_read(&p->o, &p->prompt, r->body.data, r->body.len, &err);
    if (bad || !take_place(s)) {
        free_speech(p);
        return bad ? answer_error(r, MHD_HTTP_BAD_REQUEST, "%s", err.text)
                   : answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "busy: %d answers are being "
                                  "generated; expected to be asked again later", AT_ONCE);
    }
    if (pthread_create(&p->thread, NULL, speak, p) != 0) {
        count_generation(s, -1);
        free_speech(p);
        return answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no thread can be started");
    }
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, next_words, p, end_speech);
    if (!response) end_speech(p);
    return answer_send(r, MHD_HTTP_OK, "application/x-ndjson", response);
}

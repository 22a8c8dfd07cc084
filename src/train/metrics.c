/* metrics.c -- see metrics.h. */
#include "train/metrics.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/json.h"

enum { MOST_BYTES = 1 << 30 };

/* *length: of the leading lines that belong to steps 1 .. step, *lines of them.  VT_TOO_LARGE where there
 * is no memory to read them: then none may be cut off. */
static vt_status kept(size_t *length, size_t *lines, const bytes *old, const char *path,
                      long long step, vt_error *err)
{
    *length = *lines = 0;
    while (*length < old->len) {
        const unsigned char *from = old->data + *length;
        const unsigned char *end = memchr(from, '\n', old->len - *length);
        if (!end) break;                                /* a torn line */
        const size_t n = (size_t)(end - from);
        json_t *line = NULL;
        int64_t found = 0;
        const vt_status s = js_parse(&line, from, n, path, err);
        const bool good = s == VT_OK &&
                          js_get_int(line, "step", path, 1, step, &found, NULL) == VT_OK;
        json_decref(line);
        if (s == VT_TOO_LARGE) return s;
        if (!good) break;
        *length += n + 1;
        ++*lines;
    }
    return VT_OK;
}

vt_status metrics_open(metrics *m, const char *path, long long step, vt_error *err)
{
    bytes old = { 0 };
    size_t length = 0;
    vt_status s = VT_OK;
    *m = (metrics){ .file = -1, .path = strdup(path) };
    if (!m->path) return fail_memory(err, strlen(path) + 1, "a file's name");
    if (step > 0 && access(path, F_OK) == 0 && (s = io_read_regular(&old, path, MOST_BYTES, err)))
        goto done;
    if ((s = kept(&length, &m->kept, &old, path, step, err)) ||
        (s = io_replace(path, old.data, length, err)))
        goto done;
    m->file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (m->file < 0) s = fail(err, status_of(errno), "%s: cannot be opened: %s", path,
                              strerror(errno));
done:
    bytes_free(&old);
    if (s) metrics_close(m);
    return s;
}

vt_status metrics_write(metrics *m, const vt_train_step *step, vt_error *err)
{
    js_writer w;
    m->line.len = 0;
    js_begin(&w, &m->line, JS_LINE);
    js_open_object(&w);
    js_field_int(&w, "step", step->step);
    js_field_number(&w, "loss", step->loss);
    if (isnan(step->val_loss)) js_field_null(&w, "val_loss");
    else js_field_number(&w, "val_loss", step->val_loss);
    js_field_number(&w, "lr", step->lr);
    js_field_number(&w, "grad_norm", step->grad_norm);
    js_field_number(&w, "tokens_per_s", step->tokens_per_s);
    js_field_int(&w, "steps", step->steps);
    js_close_object(&w);
    vt_status s = js_end(&w, err);
    if (s || (s = bytes_append(&m->line, "\n", 1, err))) return s;
    for (size_t at = 0; at < m->line.len;) {
        const ssize_t n = write(m->file, m->line.data + at, m->line.len - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(err, status_of(errno), "%s: cannot be written: %s", m->path,
                               strerror(errno));
        at += (size_t)n;
    }
    return VT_OK;
}

void metrics_close(metrics *m)
{
    if (m->file >= 0) close(m->file);
    free(m->path);
    bytes_free(&m->line);
    *m = (metrics){ .file = -1 };
}

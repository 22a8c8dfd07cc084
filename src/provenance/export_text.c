/* export_text.c -- see export_text.h. */
#include "provenance/export_text.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/piece_text.h"
#include "formats/json.h"

enum { FULL = 1 << 16 };                /* bytes that are gathered before they are written */

typedef struct text_file {
    io_output *to;
    const export_file *e;
    bytes  text;
    size_t numbers, nbytes;             /* written so far */
} text_file;

static vt_status put_out(text_file *f, vt_error *err)
{
    const vt_status s = io_output_write(f->to, f->text.data, f->text.len, err);
    f->nbytes += f->text.len;
    f->text.len = 0;
    return s;
}

/* After each number: now and then it is written, and said how far it is. */
static vt_status one_more(text_file *f, vt_error *err)
{
    f->numbers++;
    if (f->text.len < FULL) return VT_OK;
    const vt_status s = f->e->step(f->e->context, f->numbers, f->e->set->numbers, err);
    return s ? s : put_out(f, err);
}

/* ---- JSON ---------------------------------------------------------------- */

static void write_tokens(js_writer *w, const export_file *e)
{
    static const char *const keys[] = { "ids", "targets", "pieces", "bytes" };
    js_key(w, "tokens");
    js_open_object(w);
    for (int k = 0; k < 4; k++) {
        js_key(w, keys[k]);
        js_open_array(w);
        for (int t = 0; t < e->T && w->status == VT_OK; t++) {
            size_t n;
            const unsigned char *p = bpe_piece(e->tokenizer, e->tokens[t], &n);
            bytes hex = { 0 };
            if (k < 2) js_int(w, k ? e->targets[t] : e->tokens[t]);
            else if (k == 2) js_text(w, p, n);
            else {
                for (size_t i = 0; i < n && w->status == VT_OK; i++)
                    w->status = bytes_printf(&hex, &w->error, "%02x", p[i]);
                js_text(w, hex.data, hex.len);
                bytes_free(&hex);
            }
        }
        js_close_array(w);
    }
    js_close_object(w);
}

/* The numbers as nested arrays, a row a line: a bracket opens where a dimension's span
 * begins, and closes where it ends. */
static vt_status write_nested(text_file *f, js_writer *w, const export_tensor *t, vt_error *err)
{
    size_t span[GPT_WINDOW_RANK], n = 1;
    vt_status s = VT_OK;
    for (size_t d = GPT_WINDOW_RANK; d-- > 0; span[d] = n) n *= d < t->rank ? t->shape[d] : 1;
    for (size_t i = 0; i < t->count && s == VT_OK; i++) {
        for (size_t d = 0; d < GPT_WINDOW_RANK && d < t->rank; d++) {
            if (i % span[d] != 0) continue;
            if (d > 0 && d + 1 == t->rank) js_break(w);
            js_open_array(w);
        }
        if (f->e->set->single) js_float(w, ((const float *)t->data)[i]);
        else js_number(w, ((const double *)t->data)[i]);
        for (size_t d = 0; d < GPT_WINDOW_RANK && d < t->rank; d++)
            if ((i + 1) % span[d] == 0) js_close_array(w);
        s = w->status ? fail(err, w->status, "%s", w->error.text) : one_more(f, err);
    }
    return s;
}

static vt_status write_json(text_file *f, js_writer *w, const json_t *provenance, vt_error *err)
{
    vt_status s;
    js_open_object(w);
    js_field_string(w, "format", EXPORT_FORMAT);
    js_break(w);
    js_key(w, "provenance");
    js_value(w, provenance);
    js_break(w);
    write_tokens(w, f->e);
    js_break(w);
    js_key(w, "tensors");
    js_open_object(w);
    for (size_t i = 0; i < f->e->set->count; i++) {
        const export_tensor *t = &f->e->set->at[i];
        js_break(w);
        js_key(w, t->name);
        js_open_object(w);
        js_key(w, "shape");
        js_open_array(w);
        for (size_t d = 0; d < t->rank; d++) js_uint(w, t->shape[d]);
        js_close_array(w);
        js_key(w, "data");
        if ((s = write_nested(f, w, t, err))) return s;     /* what is open stays so */
        js_close_object(w);
    }
    js_close_object(w);
    js_close_object(w);
    return VT_OK;
}

vt_status export_text_json(io_output *to, const export_file *e, size_t *nbytes, vt_error *err)
{
    text_file f = { .to = to, .e = e };
    json_t *provenance = NULL;
    js_writer w;
    vt_status s = js_parse(&provenance, e->provenance, strlen(e->provenance), "provenance", err);
    if (s) return s;
    js_begin(&w, &f.text, JS_LINE);
    if ((s = write_json(&f, &w, provenance, err)) == VT_OK && (s = js_end(&w, err)) == VT_OK &&
        (s = bytes_append(&f.text, "\n", 1, err)) == VT_OK)
        s = put_out(&f, err);
    *nbytes = f.nbytes;
    bytes_free(&f.text);
    json_decref(provenance);
    return s;
}

/* ---- CSV ----------------------------------------------------------------- */

/* A field in quotation marks, those within it doubled. */
static vt_status append_quoted(bytes *out, const void *text, size_t n, vt_error *err)
{
    const char *p = text;
    vt_status s = bytes_append(out, "\"", 1, err);
    for (size_t i = 0; i < n && s == VT_OK; i++)
        s = bytes_append(out, p[i] == '"' ? "\"\"" : p + i, p[i] == '"' ? 2 : 1, err);
    return s ? s : bytes_append(out, "\"", 1, err);
}

static vt_status csv_tokens(text_file *f, vt_error *err)
{
    const export_file *e = f->e;
    bytes piece = { 0 };
    vt_status s = VT_OK;
    for (int targets = 0; targets < 2 && s == VT_OK; targets++)
        for (int t = 0; t < e->T && s == VT_OK; t++) {
            size_t n;
            const int id = targets ? e->targets[t] : e->tokens[t];
            const unsigned char *p = bpe_piece(e->tokenizer, id, &n);
            piece.len = 0;
            if ((s = bytes_printf(&f->text, err, "%s,,,%d,,%d,", targets ? "targets" : "tokens", t,
                                  id)))
                break;
            if (p && (s = piece_text(&piece, p, n, err)) == VT_OK)
                s = append_quoted(&f->text, piece.data, piece.len, err);
            if (s == VT_OK) s = bytes_append(&f->text, "\r\n", 2, err);
        }
    bytes_free(&piece);
    return s;
}

/* "h.0.att,0,": what the lines of a tensor begin with. */
static size_t csv_begin(char *out, size_t size, const export_tensor *t)
{
    char layer[12] = "";
    if (t->layer >= 0) snprintf(layer, sizeof layer, "%d", t->layer);
    return (size_t)snprintf(out, size, "%s,%s,", t->name, layer);
}

/* Heads are the first of three dimensions; a tensor of one has rows alone. */
static vt_status csv_tensor(text_file *f, const export_tensor *t, vt_error *err)
{
    char line[160], head[24] = "";
    const size_t start = csv_begin(line, sizeof line, t);
    const size_t columns = t->rank > 1 ? t->shape[t->rank - 1] : 1;
    const size_t rows = t->rank > 2 ? t->shape[1] : t->shape[0];
    vt_status s = VT_OK;
    if (t->head >= 0) snprintf(head, sizeof head, "%d", t->head);
    for (size_t i = 0; i < t->count && s == VT_OK; i++) {
        char number[JS_NUMBER_MAX], column[24] = "";
        const size_t row = i / columns;
        if (t->rank > 2 && t->head < 0) snprintf(head, sizeof head, "%zu", row / rows);
        if (t->rank > 1) snprintf(column, sizeof column, "%zu", i % columns);
        if (f->e->set->single) js_format_float(number, ((const float *)t->data)[i]);
        else js_format_number(number, ((const double *)t->data)[i]);
        const int n = snprintf(line + start, sizeof line - start, "%s,%zu,%s,%s,\r\n", head,
                               row % rows, column, number);
        if ((s = bytes_append(&f->text, line, start + (size_t)n, err)) == VT_OK)
            s = one_more(f, err);
    }
    return s;
}

vt_status export_text_csv(io_output *to, const export_file *e, size_t *nbytes, vt_error *err)
{
    static const char header[] = "tensor,layer,head,row,column,value,text\r\nprovenance,,,,,,";
    text_file f = { .to = to, .e = e };
    vt_status s;
    if ((s = bytes_append(&f.text, header, sizeof header - 1, err)) ||
        (s = append_quoted(&f.text, e->provenance, strlen(e->provenance), err)) ||
        (s = bytes_append(&f.text, "\r\n", 2, err)) || (s = csv_tokens(&f, err)))
        goto done;
    for (size_t i = 0; i < e->set->count && s == VT_OK; i++) s = csv_tensor(&f, &e->set->at[i], err);
    if (s == VT_OK) s = put_out(&f, err);
done:
    *nbytes = f.nbytes;
    bytes_free(&f.text);
    return s;
}

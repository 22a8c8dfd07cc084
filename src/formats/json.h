/* json.h -- JSON in and out, on top of jansson: strict, one-line errors, the
 * same bytes in every locale.
 *
 * Reading.  js_parse makes a jansson tree; the getters fetch a required field,
 * check its type and range, and name the field and what was expected:
 *
 *     config.json: field "n_head": expected an integer in 1..1024, found "4"
 *
 * Writing.  A js_writer appends to a `bytes` as it is called, so keys stand in
 * the order of the calls.  Numbers are the shortest that read back to the same
 * bits (up to 17 digits); text that is not UTF-8 gets U+FFFD, so the result is
 * valid JSON whatever goes in.
 *
 *     js_writer w;
 *     js_begin(&w, &out, JS_LINE);
 *     js_open_object(&w);
 *     js_field_int(&w, "step", 10);
 *     js_field_number(&w, "loss", 2.5);
 *     js_close_object(&w);
 *     status = js_end(&w, err);           {"step": 10, "loss": 2.5}
 */
#ifndef JSON_H
#define JSON_H

#include <jansson.h>
#include "base/io.h"

/* --- reading ------------------------------------------------------------ */

/* Parses n bytes that hold one array or object and nothing else.  `name` (a
 * path) opens the error.  Refused: what RFC 8259 refuses, invalid UTF-8, a byte
 * order mark, duplicate keys, NUL in a key, numbers beyond a double or int64_t.
 * The caller releases *out with json_decref. */
VT_MUST_CHECK vt_status js_parse(json_t **out, const void *text, size_t n, const char *name,
                                 vt_error *err);
/* The same of one line of a file: `name` says which ("metrics.jsonl: line 5"), errors add
 * the column. */
VT_MUST_CHECK vt_status js_parse_line(json_t **out, const void *text, size_t n, const char *name,
                                      vt_error *err);
/* The same of a regular file of at most `limit` bytes. */
VT_MUST_CHECK vt_status js_read(json_t **out, const char *path, size_t limit, vt_error *err);

/* Required fields of `object`; `where` opens the error ("config.json").  A
 * result is valid as long as the tree.  Integers are JSON integers (4, not
 * 4.0); numbers may be either, and are finite. */
VT_MUST_CHECK vt_status js_get_int(const json_t *object, const char *key, const char *where,
                                   int64_t min, int64_t max, int64_t *out, vt_error *err);
VT_MUST_CHECK vt_status js_get_size(const json_t *object, const char *key, const char *where,
                                    size_t min, size_t max, size_t *out, vt_error *err);
VT_MUST_CHECK vt_status js_get_number(const json_t *object, const char *key, const char *where,
                                      double min, double max, double *out, vt_error *err);
VT_MUST_CHECK vt_status js_get_bool(const json_t *object, const char *key, const char *where,
                                    bool *out, vt_error *err);
/* Without a NUL inside: a C string. */
VT_MUST_CHECK vt_status js_get_string(const json_t *object, const char *key, const char *where,
                                      const char **out, vt_error *err);
VT_MUST_CHECK vt_status js_get_object(const json_t *object, const char *key, const char *where,
                                      const json_t **out, vt_error *err);
VT_MUST_CHECK vt_status js_get_array(const json_t *object, const char *key, const char *where,
                                     const json_t **out, vt_error *err);
/* The same of a value at hand (an array's item); `where` names it. */
VT_MUST_CHECK vt_status js_to_int(const json_t *value, const char *where, int64_t min,
                                  int64_t max, int64_t *out, vt_error *err);
/* True when the field is there and not null: for fields that may be left out. */
bool js_has(const json_t *object, const char *key);

/* --- writing ------------------------------------------------------------ */

typedef enum js_style {
    JS_COMPACT,     /* {"a":1,"b":[2,3]} */
    JS_LINE,        /* {"a": 1, "b": [2, 3]} */
    JS_PRETTY       /* a line each, two spaces a level; a newline at the end */
} js_style;

enum { JS_DEPTH = 64 };

typedef struct js_writer {
    bytes        *out;
    js_style      style;
    vt_status     status;               /* the first failure; then all is ignored */
    vt_error      error;
    int           depth;
    bool          key;                  /* a key waits for its value */
    bool          line;                 /* the next item begins a line */
    bool          object[JS_DEPTH];
    bool          filled[JS_DEPTH];     /* holds something: a comma is due */
} js_writer;

void js_begin(js_writer *w, bytes *out, js_style style);
/* Everything must be closed.  The first failure of all calls. */
VT_MUST_CHECK vt_status js_end(js_writer *w, vt_error *err);

void js_open_object(js_writer *w);
void js_close_object(js_writer *w);
void js_open_array(js_writer *w);
void js_close_array(js_writer *w);
void js_key(js_writer *w, const char *key);
/* The next item or key begins a line (in JS_LINE and JS_COMPACT). */
void js_break(js_writer *w);

void js_int(js_writer *w, int64_t value);
void js_uint(js_writer *w, uint64_t value);
/* The strings "nan", "inf", "-inf" stand for what JSON has no number for. */
void js_number(js_writer *w, double value);
/* The shortest that reads back to the same float. */
void js_float(js_writer *w, float value);
void js_bool(js_writer *w, bool value);
void js_null(js_writer *w);
void js_string(js_writer *w, const char *text);             /* NULL writes null */
void js_text(js_writer *w, const void *text, size_t n);     /* any bytes */
void js_value(js_writer *w, const json_t *tree);            /* NULL writes null */

void js_field_int(js_writer *w, const char *key, int64_t value);
void js_field_uint(js_writer *w, const char *key, uint64_t value);
void js_field_number(js_writer *w, const char *key, double value);
void js_field_bool(js_writer *w, const char *key, bool value);
void js_field_null(js_writer *w, const char *key);
void js_field_string(js_writer *w, const char *key, const char *text);

/* The shortest decimal text of a finite number that reads back to the same
 * bits, at most 17 (9 for a float) digits, with a full stop in every locale;
 * "nan", "inf", "-inf" otherwise.  Both return the length. */
enum { JS_NUMBER_MAX = 32 };
size_t js_format_number(char out[JS_NUMBER_MAX], double value);
size_t js_format_float(char out[JS_NUMBER_MAX], float value);

#endif

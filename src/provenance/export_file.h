/* export_file.h -- the chosen tensors of a window (export_select.h) as one file.
 *
 *     .safetensors   F64 or F32, and in __metadata__ "format" and "provenance"
 *     .npz           <f8 or <f4, and "provenance" as bytes
 *     .json          {"provenance": {...}, "tokens": {...}, "tensors": {"NAME":
 *                    {"shape": [...], "data": [...]}, ...}}
 *     .csv           a line for each number: tensor,layer,head,row,column,value,text
 *
 * All four hold the same tensors in the same order, with the ids of the window's tokens
 * and targets before them, and every number to its last bit: what is written in decimal is
 * the shortest that reads back to the same.  docs/formats.md describes them for readers.
 *
 * A file is written piece by piece and put in its place by one rename: no form is held in
 * memory beside the numbers.
 *
 * References: RFC 8259 (JSON), RFC 4180 (CSV); formats/safetensors.h, formats/npz.h.
 */
#ifndef EXPORT_FILE_H
#define EXPORT_FILE_H

#include "formats/form.h"
#include "provenance/export_select.h"
#include "tokenizer/bpe.h"

#define EXPORT_FORMAT "vitrine-window-1"
enum { EXPORT_FORMS = FORM_NPZ | FORM_SAFETENSORS | FORM_JSON | FORM_CSV };

typedef struct export_file {
    const export_set *set;
    const int *tokens, *targets;        /* T of each */
    int T;
    const bpe *tokenizer;               /* of the tokens' pieces */
    const char *provenance;             /* a JSON object */
    /* Called now and then with how far it is; a failure ends the writing. */
    vt_status (*step)(void *context, size_t done, size_t of, vt_error *err);
    void *context;
} export_file;

/* Bytes that so many numbers take, about; and at least, whatever they are. */
size_t export_file_about(form f, const export_set *set);
size_t export_file_least(form f, const export_set *set);

/* sha256 over the numbers in their order, each as a little-endian double (or float). */
VT_MUST_CHECK vt_status export_file_hash(char out[65], const export_set *set, vt_error *err);

/* Replaces the file at `path`; *nbytes is its size. */
VT_MUST_CHECK vt_status export_file_write(const char *path, form f, const export_file *e,
                                          size_t *nbytes, vt_error *err);

#endif

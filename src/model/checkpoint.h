/* checkpoint.h -- a model in a folder.
 *
 * state.safetensors is the checkpoint; it alone is needed to go on training:
 *     param.NAME, adam.m.NAME, adam.v.NAME    NAME as in Hugging Face's files,
 *                                             shapes as the code holds them
 *     check.window                            I32, the first validation tokens
 *     __metadata__: "format", "run" (JSON: step, sizes, settings, corpus),
 *                   "tokenizer" (the text of tokenizer.json),
 *                   "sha256" of all of it: the texts "run" and "tokenizer", then
 *                   of each tensor, in the order of the data, its name and its
 *                   bytes; a NUL ends each text and name
 * A bit that flips on a disk is no fault of the format: without the hash it would
 * be a weight like any other, and the next save would give it a good name.
 *
 * model.safetensors, config.json and tokenizer.json derive from it and are what
 * other programs read (Hugging Face's GPT-2 formats).
 */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "formats/json.h"
#include "formats/safetensors.h"
#include "model/config.h"

#define CHECKPOINT_STATE "state.safetensors"
#define CHECKPOINT_MODEL "model.safetensors"
#define CHECKPOINT_FORMAT "vitrine-state-1"

typedef struct checkpoint {
    gpt_config  z;
    gpt_tensor *tensors;
    size_t      ntensors, count;    /* count: parameters */
    float      *params;
    char       *tokenizer;          /* text of tokenizer.json */
    size_t      tokenizer_length;
    char       *path;               /* of the file the parameters came from */
    st_file     state;              /* open where has_state */
    bool        has_state;
    json_t     *run;                /* the "run" text as a tree; NULL without state */
    int        *window;             /* check.window, or NULL */
    size_t      nwindow;
} checkpoint;

/* Reads the state of a folder, or, without one, the three files of a GPT-2 in
 * Hugging Face's formats.  VT_BAD_INPUT where a file is cut short, is none, or
 * a tensor is missing or of another shape: nothing is filled in at random; where
 * a parameter or moment is NaN or Inf, or a second moment below 0; and where a
 * state's contents are not those that its sha256 was taken of. */
VT_MUST_CHECK vt_status checkpoint_open(checkpoint *c, const char *folder, vt_error *err);
void checkpoint_close(checkpoint *c);       /* also of a zeroed one */

/* Moments of an open state into memory laid out like the parameters. */
VT_MUST_CHECK vt_status checkpoint_moments(const checkpoint *c, float *m, float *v,
                                           vt_error *err);

/* The "sha256" of a state with these contents. */
VT_MUST_CHECK vt_status checkpoint_seal(char hash[65], const char *run, const char *tokenizer,
                                        const st_item *items, size_t count, vt_error *err);

/* What is written at a save. */
typedef struct checkpoint_parts {
    const gpt_config *z;
    const gpt_tensor *tensors;
    size_t ntensors;
    const float *params, *m, *v;
    const char *run;                /* JSON text */
    const char *tokenizer;          /* JSON text */
    const int *window;              /* may be NULL with nwindow 0 */
    size_t nwindow;
} checkpoint_parts;

/* Replaces state.safetensors by one rename; its sha256 into `hash`. */
VT_MUST_CHECK vt_status checkpoint_write_state(const char *folder, const checkpoint_parts *p,
                                               char hash[65], vt_error *err);

/* model.safetensors, config.json, tokenizer.json: those whose contents differ
 * are replaced.  Hashes in that order. */
VT_MUST_CHECK vt_status checkpoint_write_model(const char *folder, const checkpoint_parts *p,
                                               char hashes[3][65], vt_error *err);

/* The sizes as fields of an open JSON object, and back (checked). */
void checkpoint_write_sizes(js_writer *w, const gpt_config *z);
VT_MUST_CHECK vt_status checkpoint_read_sizes(gpt_config *z, const json_t *object,
                                              const char *where, vt_error *err);

#endif

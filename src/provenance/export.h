/* export.h -- a model's folder in a site: which files it has, and manifest.json.
 *
 * site/data/AS holds model.safetensors, tokenizer.json, config.json, metrics.jsonl
 * (where there is one), window.safetensors, and the manifest, which names the
 * site's module as well; manifest.sha256 is its own hash.
 */
#ifndef EXPORT_H
#define EXPORT_H

#include "formats/json.h"
#include "model/checkpoint.h"
#include "provenance/window_file.h"

#define EXPORT_MODULE "../../vitrine.wasm"

/* site/data/AS in a new string; NULL without memory. */
char *export_folder(const char *site, const char *as);

/* VT_USAGE unless it is "lab" or "playground". */
VT_MUST_CHECK vt_status export_name_check(const char *as, vt_error *err);

/* Removes what a killed export left there; for the folder's only writer. */
VT_MUST_CHECK vt_status export_clear(const char *folder, vt_error *err);
/* Copies the model's files from its folder; metrics.jsonl may be missing. */
VT_MUST_CHECK vt_status export_copy(const char *to, const char *model, vt_error *err);

/* Hash and length of each file of the folder into the report; of the module, too. */
VT_MUST_CHECK vt_status export_hash(vt_export_report *r, const char *folder, vt_error *err);

/* What the manifest says beside the report. */
typedef struct export_facts {
    const gpt_window *window;
    const json_t *run;              /* of the checkpoint; NULL: a foreign one */
    const char *state_sha256;       /* of state.safetensors; "": a foreign one */
    size_t parameters;
    const char *text;
    size_t text_length, text_tokens;
    const int *tokens, *targets;
} export_facts;

/* Fields of an open object: what computed it of which model and run; and the window. */
void export_write_origin(js_writer *w, const export_facts *facts);
void export_write_window(js_writer *w, const export_facts *facts);

VT_MUST_CHECK vt_status export_write_manifest(const char *folder, const vt_export_report *r,
                                              const export_facts *facts, vt_error *err);

/* The manifest of a folder against its hash, and the files against it: VT_CHECK_FAILED. */
VT_MUST_CHECK vt_status export_read_manifest(json_t **out, const char *folder, vt_error *err);
VT_MUST_CHECK vt_status export_compare_files(const json_t *manifest, const char *folder,
                                             const vt_export_report *r, vt_error *err);

#endif

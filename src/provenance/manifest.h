/* manifest.h -- manifest.json: where a checkpoint comes from.
 *
 *     {"vitrine": {"version": ..., "commit": ..., "build": ...},
 *      "step": 2600, "kernels": "avx2", "model": {sizes},
 *      "settings": {every flag that determines the run, seed and all},
 *      "corpus": {"sha256": ..., "documents": ..., "train_tokens": ..., ...},
 *      "files": {"state.safetensors": sha256, "model.safetensors": sha256,
 *                "config.json": sha256, "tokenizer.json": sha256}}
 *
 * No time, host or path.  Who writes it knows the middle part; this room gives
 * the first and the last, and checks a folder against them.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "formats/json.h"

#define MANIFEST_NAME "manifest.json"

/* The field "vitrine" of an open object. */
void manifest_write_build(js_writer *w);

/* The field "files": the sha256 of each of the four files in the folder. */
VT_MUST_CHECK vt_status manifest_write_files(js_writer *w, const char *folder, vt_error *err);

/* Compares the folder's files with its manifest.  VT_BAD_INPUT names the first
 * file whose hash differs; VT_IO where there is no manifest. */
VT_MUST_CHECK vt_status manifest_verify(const char *folder, vt_error *err);

#endif

/* manifest.h -- manifest.json: where a checkpoint comes from.
 *
 *     {"vitrine": {"version": ..., "commit": ..., "build": ...},
 *      "step": 2600, "kernels": "avx2", "model": {sizes},
 *      "settings": {every flag that determines the run, seed and all},
 *      "corpus": {"sha256": ..., "documents": ..., "train_tokens": ..., ...},
 *      "tokenizer": {"from": ..., "sha256": ...}, "bigram": {"loss": ..., "k": ...},
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

enum { MANIFEST_FILES = 4 };

/* The field "files": the sha256 of each of the four, in the order above, as whoever wrote
 * them computed it.  (To read them again would not tell what the disk has, but what the
 * system holds of it in memory, and takes seconds for a large model.) */
void manifest_write_files(js_writer *w, const char *const hashes[MANIFEST_FILES]);

/* Compares the folder's files with its manifest.  VT_BAD_INPUT names each file whose hash
 * differs, and each that is not there; VT_IO where some only are not there, or there is no
 * manifest. */
VT_MUST_CHECK vt_status manifest_verify(const char *folder, vt_error *err);

/* Of a model without its state: the manifest of the run beside it, whose hashes are those
 * of the three files that are left (VT_BAD_INPUT, as above, where they are not).  *root is
 * NULL where there is none, or it is not a run's; json_decref() it. */
VT_MUST_CHECK vt_status manifest_of_model(json_t **root, const char *folder, vt_error *err);

#endif

/* export_text.h -- the two forms of export_file.h that are text. */
#ifndef EXPORT_TEXT_H
#define EXPORT_TEXT_H

#include "base/io.h"
#include "provenance/export_file.h"

VT_MUST_CHECK vt_status export_text_json(io_output *to, const export_file *e, size_t *nbytes,
                                         vt_error *err);
VT_MUST_CHECK vt_status export_text_csv(io_output *to, const export_file *e, size_t *nbytes,
                                        vt_error *err);

#endif

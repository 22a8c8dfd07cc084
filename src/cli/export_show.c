/* export_show.c -- see export_show.h. */
#include "cli/export_show.h"
#include "base/progress.h"

void export_show_note(const char *as, const vt_export_report *r)
{
    if (r->tokens > r->window)
        fprintf(stderr, "note: data/%s: the text has %zu tokens; the first %zu are taken, as many as "
                "the windows that the model was trained on\n", as, r->tokens, r->window);
}

void export_show_text(FILE *out, const char *as, const vt_export_report *r)
{
    size_t total = 0;
    for (size_t i = 0; i < r->nfiles; i++) total += r->files[i].bytes;
    fprintf(out, "data/%s: a window of %zu tokens, loss %.4f nats per token\n", as, r->window,
            r->loss);
    char size[24];
    progress_bytes(size, sizeof size, (double)total);
    fprintf(out, "  files      %zu, %s\n", r->nfiles, size);
    fprintf(out, "  tensors    %zu, sha256 %s\n", r->tensors, r->tensors_sha256);
    /* That any other is not 0 would be an error. */
    fprintf(out, "  attention  rows sum to 1 within %.1e; %zu masked weights, all exactly 0; "
            "largest |dbk| %.1e\n", r->row_sum_gap, r->masked_cells, r->largest_dbk);
    if (r->rebuilt_why[0])
        fprintf(out, "  tokenizer  %s%s\n", r->rebuilt < 0 ? "not compared: " : "", r->rebuilt_why);
}

void export_show_json(js_writer *w, const vt_export_report *r)
{
    js_field_uint(w, "tokens", r->tokens);
    js_field_uint(w, "window", r->window);
    js_field_number(w, "loss", r->loss);
    js_field_uint(w, "tensors", r->tensors);
    js_field_string(w, "tensors_sha256", r->tensors_sha256);
    js_field_number(w, "row_sum_gap", r->row_sum_gap);
    js_field_uint(w, "masked_cells", r->masked_cells);
    js_field_uint(w, "masked_nonzero", r->masked_nonzero);
    js_field_number(w, "largest_dbk", r->largest_dbk);
    js_key(w, "tokenizer_rebuilt");
    if (r->rebuilt < 0) js_null(w);
    else js_bool(w, r->rebuilt > 0);
    js_key(w, "files");
    js_open_array(w);
    for (size_t i = 0; i < r->nfiles; i++) {
        js_open_object(w);
        js_field_string(w, "name", r->files[i].name);
        js_field_string(w, "sha256", r->files[i].sha256);
        js_field_uint(w, "bytes", r->files[i].bytes);
        js_close_object(w);
    }
    js_close_array(w);
}

/* export_out.c -- see export_out.h. */
#include "cli/export_out.h"
#include <string.h>
#include "base/clock.h"
#include "base/progress.h"
#include "cli/outputs.h"

/* A spreadsheet's most lines (LibreOffice, Excel); bytes that are worth a word before. */
enum { SHEET_LINES = 1 << 20, LARGE = 100000000 };

typedef struct shown {
    const vt_window_options *o;
    bool terminal;
    const char *what;           /* that is being done */
    size_t percent;
    double begun;
} shown;

static bool is_csv(const char *path)
{
    const size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".csv") == 0;
}

static void on_plan(void *context, const vt_window_plan *p)
{
    const shown *s = context;
    char numbers[24], file[24], memory[24];
    if (p->tokens > p->window)
        fprintf(stderr, "note: the text has %zu tokens; the first %zu are taken%s\n", p->tokens,
                p->window, s->o->window ? "" : ", as many as the windows that the model was "
                "trained on (--window N takes more or fewer)");
    if (is_csv(s->o->out) && p->numbers > SHEET_LINES)
        fprintf(stderr, "note: %zu lines; a spreadsheet opens %d (--tensor, --layer and --head take "
                "fewer)\n", p->numbers, (int)SHEET_LINES);
    if (!s->terminal && p->bytes < LARGE) return;
    progress_count(numbers, sizeof numbers, (double)p->numbers);
    progress_bytes(file, sizeof file, (double)p->bytes);
    progress_bytes(memory, sizeof memory, (double)p->memory);
    fprintf(stderr, "%zu tokens, %zu tensors, %s numbers: a file of about %s, computed in about "
            "%s of memory\n", p->window, p->tensors, numbers, file, memory);
}

static bool on_progress(void *context, const char *what, size_t done, size_t of)
{
    shown *s = context;
    const double share = of ? (double)done / (double)of : 1;
    const size_t percent = (size_t)(100 * share);
    char left[32];
    if (s->what != what) s->begun = clock_now();
    if (s->what == what && s->percent == percent) return false;
    s->what = what;
    s->percent = percent;
    if (share > 0) progress_duration(left, sizeof left, (clock_now() - s->begun) * (1 - share) / share);
    fprintf(stderr, "\r%-9s %3zu %%%s%-20s", what, percent, share > 0 ? ", left " : "",
            share > 0 ? left : "");
    fflush(stderr);
    return false;
}

static void print_text(const vt_window_options *o, const vt_window_report *r)
{
    char name[SHOWN], size[24], numbers[24];
    progress_bytes(size, sizeof size, (double)r->bytes);
    progress_count(numbers, sizeof numbers, (double)r->numbers);
    printf("%s: a window of %zu token%s", cli_shown(name, o->out), r->window,
           r->window == 1 ? "" : "s");
    if (r->loss == r->loss) printf(", loss %.4f nats per token\n", r->loss);
    else printf(", without a next token, so without a loss\n");
    printf("  file       %s\n", size);
    printf("  tensors    %zu, %s numbers, sha256 %s\n", r->tensors, numbers, r->tensors_sha256);
    printf("  attention  rows sum to 1 within %.1e; %zu masked weights, all exactly 0\n",
           r->row_sum_gap, r->masked_cells);
    printf("  model      model.safetensors has sha256 %s\n", r->model_sha256);
    if (r->state_sha256[0])
        printf("             state.safetensors has sha256 %s\n", r->state_sha256);
}

static vt_status print_json(const vt_window_options *o, const vt_window_report *r, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_string(&w, "out", o->out);
    js_field_uint(&w, "tokens", r->tokens);
    js_field_uint(&w, "window", r->window);
    cli_field_measured(&w, "loss", r->loss);
    js_field_uint(&w, "tensors", r->tensors);
    js_field_uint(&w, "numbers", r->numbers);
    js_field_uint(&w, "bytes", r->bytes);
    js_field_string(&w, "dtype", o->dtype);
    js_field_string(&w, "tensors_sha256", r->tensors_sha256);
    js_field_string(&w, "model_sha256", r->model_sha256);
    js_field_string(&w, "state_sha256", r->state_sha256[0] ? r->state_sha256 : NULL);
    js_field_number(&w, "row_sum_gap", r->row_sum_gap);
    js_field_uint(&w, "masked_cells", r->masked_cells);
    js_field_uint(&w, "masked_nonzero", r->masked_nonzero);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

vt_status export_out(const vt_window_options *o, bool json, vt_error *err)
{
    shown show = { .o = o, .terminal = cli_terminal(stderr) };
    const vt_window_events events = {
        .context = &show, .on_plan = on_plan, .on_progress = show.terminal ? on_progress : NULL,
    };
    vt_window_report r;
    vt_status s = output_outside("--out", o->out, o->model, err);
    if (s) return s;
    cli_begin_interrupts();
    s = vt_window_write(o, &events, &r, err);
    cli_end_interrupts();
    if (show.what) fprintf(stderr, "\r%*s\r", 45, "");
    if (s) return s;
    if (json) return print_json(o, &r, err);
    print_text(o, &r);
    return cli_flush(err);
}

/* train_show.c -- see train_show.h.
 *
 * The bar is one line that is written over (a carriage return, no escape
 * codes).  Nothing here stops training: a reader that has gone, or memory that
 * is lacking for the curve, cost the picture alone.
 */
#include "cli/train_show.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/progress.h"

static const double BAR_EVERY = 0.1, LINE_EVERY = 2;    /* seconds */
enum { CURVE_LINES = 12, MOST_WIDTH = 250 };

void train_show_new(train_show *s, FILE *out)
{
    *s = (train_show){ .out = out, .terminal = cli_terminal(out), .utf8 = cli_utf8(),
                       .val_loss = (double)NAN, .drawn = -1e9 };
}

void train_show_free(train_show *s)
{
    free(s->loss);
    free(s->val);
}

void train_show_end(train_show *s)
{
    if (s->bar) fputc('\n', s->out);
    s->bar = false;
    cli_flush_early(s->out);
}

void train_show_note(train_show *s, const char *line)
{
    train_show_end(s);
    fprintf(s->out, "%s\n", line);
    cli_flush_early(s->out);
}

/* Each line of a text, with blanks before it. */
static void print_indented(FILE *out, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        fprintf(out, "  %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

void train_show_start(train_show *s, const vt_train_start *t)
{
    char parameters[24], memory[24];
    progress_count(parameters, sizeof parameters, (double)t->parameters);
    progress_bytes(memory, sizeof memory, (double)t->memory_bytes);
    s->first = t->first_step;
    fprintf(s->out, "tokens: %zu to train on (%zu window%s), %zu to validate; vocabulary %d "
            "(256 bytes, %d merges, 1 special)\n", t->train_tokens, t->windows,
            t->windows == 1 ? "" : "s", t->val_tokens, t->vocabulary, t->merges);
    fprintf(s->out, "model: %zu parameters (%s), %s of memory\n", t->parameters, parameters,
            memory);
    print_indented(s->out, t->decay_groups);
    if (isfinite(t->bigram_loss))
        fprintf(s->out, "to beat: best bigram %.4f nats per token (add-k, k = %g)\n",
                t->bigram_loss, t->bigram_k);
    if (t->first_step >= t->steps)
        fprintf(s->out, "nothing to do: the run has its %lld step%s\n", t->steps,
                t->steps == 1 ? "" : "s");
    else
        fprintf(s->out, "steps %lld to %lld; %d thread%s, %s kernels\n", t->first_step + 1, t->steps,
                t->threads, t->threads == 1 ? "" : "s", t->isa);
    cli_flush_early(s->out);
}

/* Room for one more step; without memory the curve stays as it is. */
static bool room(train_show *s)
{
    if (s->n < s->cap) return true;
    const size_t cap = s->cap ? 2 * s->cap : 1024;
    double *loss = realloc(s->loss, cap * sizeof *loss);
    if (loss) s->loss = loss;
    double *val = loss ? realloc(s->val, cap * sizeof *val) : NULL;
    if (!val) return false;
    s->val = val;
    s->cap = cap;
    return true;
}

void train_show_step(train_show *s, const vt_train_step *t)
{
    char line[PROGRESS_BYTES];
    const bool validated = !isnan(t->val_loss), last = t->step == t->steps;
    if (room(s)) {
        s->loss[s->n] = t->loss;
        s->val[s->n++] = t->val_loss;
    }
    if (validated) s->val_loss = t->val_loss;
    s->speed = s->speed > 0 ? 0.9 * s->speed + 0.1 * t->tokens_per_s : t->tokens_per_s;
    const double every = s->terminal ? BAR_EVERY : LINE_EVERY;
    if (!validated && !last && t->seconds - s->drawn < every) return;
    s->drawn = t->seconds;
    const progress p = { .step = (size_t)t->step, .steps = (size_t)t->steps, .loss = t->loss,
        .val_loss = s->terminal ? s->val_loss : t->val_loss, .lr = t->lr,
        .grad_norm = t->grad_norm, .tokens_per_s = s->speed, .seconds_left = t->seconds_left };
    if (s->terminal) {
        /* One column less than the terminal has: some wrap a full line. */
        const size_t width = cli_width(s->out);
        progress_bar(line, &p, width > 1 ? width - 1 : 1, s->utf8);
        fprintf(s->out, "\r%s", line);
        s->bar = true;
    } else {
        progress_line(line, &p);
        fprintf(s->out, "%s\n", line);
    }
    cli_flush_early(s->out);
}

static void print_curve(train_show *s)
{
    bytes text = { 0 };
    vt_error err;
    size_t width = cli_width(s->out);
    if (width > 100) width = 100;
    const progress_curve_data d = { .loss = s->loss, .val_loss = s->val, .n = s->n,
                                    .first = (size_t)s->first + 1 };
    if (s->n > 0 && progress_curve(&text, &d, width, CURVE_LINES, s->utf8, &err) == VT_OK)
        fprintf(s->out, "\n%s\n", (const char *)text.data);
    bytes_free(&text);
}

void train_show_result(train_show *s, const vt_train_result *r, const char *folder)
{
    char time[32], speed[24];
    progress_duration(time, sizeof time, r->seconds);
    progress_count(speed, sizeof speed, r->tokens_per_s);
    train_show_end(s);
    print_curve(s);
    if (!isnan(r->val_loss)) {
        fprintf(s->out, "validation loss %.4f, best bigram ", r->val_loss);
        if (isnan(r->bigram_loss)) fprintf(s->out, "-\n");
        else fprintf(s->out, "%.4f (add-k, k = %g)\n", r->bigram_loss, r->bigram_k);
    }
    fprintf(s->out, "step %lld of %lld in %s", r->step, r->steps, time);
    if (isnan(r->tokens_per_s)) fprintf(s->out, "\n");
    else fprintf(s->out, ", %s tokens/s (median after warm-up)\n", speed);
    fprintf(s->out, "%s/state.safetensors: sha256 %s\n", folder, r->state_sha256);
    cli_flush_early(s->out);
}

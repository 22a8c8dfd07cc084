/* cmd_generate.c -- vitrine generate.
 *
 * For people the prompt is printed first, byte for byte, and the continuation
 * as its characters are complete.  One call of vt_generate per sample, so that
 * each has its count of tokens.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/corpus_args.h"

typedef struct generate_args {
    vt_generate_options o;
    const char *prompt, *prompt_file, *isa;
    corpus_args novelty;
    int  threads;
    bool json;
} generate_args;

#define AT(field) offsetof(generate_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_TEXT, "--prompt", AT(prompt), "TEXT", 0, 0, "the text to continue; any bytes [none]" },
    { OPTION_FILE, "--prompt-file", AT(prompt_file), "FILE", 0, 0, "a file that holds it; - is standard input" },
    { OPTION_INT, "--max-tokens", AT(o.max_tokens), "N", 0, 1e8, "tokens of each sample, at most" },
    { OPTION_REAL, "--temperature", AT(o.temperature), "X", 0, 1e30, "0: always the most probable token" },
    { OPTION_INT, "--top-k", AT(o.top_k), "N", 0, INT_MAX, "draw from the K most probable; 0: off" },
    { OPTION_REAL, "--top-p", AT(o.top_p), "X", 0, 1, "draw from those that make up this mass; 1: off" },
    { OPTION_SEED, "--seed", AT(o.seed), "N", 0, 0, "of the draws" },
    { OPTION_INT, "--samples", AT(o.samples), "N", 1, 1e6, "continuations of the same prompt" },
    CORPUS_ROWS(generate_args, novelty, "--novelty",
                "the text that the model was trained on, as it was\ngiven to train: says which share of the words\n"
                "(prompt and all) occurs in its training part, and\nhow long a run is copied from it"),
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "0: all cores" },
    ISA_ROW(AT(isa), "kernels; else $VITRINE_ISA [the best]"),
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object, at the end" },
};

static const void *defaults(int i, const char **label)
{
    static generate_args set;
    *label = "";
    if (i > 0) return NULL;
    vt_generate_defaults(&set.o);
    return &set;
}

typedef struct job {
    const command *c;
    generate_args  a;
    vt_model      *m;
    vt_training_text *learnt;       /* of --novelty */
    bytes          prompt;
    bytes          text;            /* of one sample: the prompt, what was written */
    bool           terminal;        /* standard output is one */
    bool           gone;            /* nobody reads standard output any more */
    vt_status      status;          /* of the sink, which can only stop */
    vt_error       error;
    js_writer      json;
    bytes          json_text;
} job;

static void put(job *j, const void *data, size_t n)
{
    if (j->a.json || j->gone) return;
    fwrite(data, 1, n, stdout);
    if (fflush(stdout) == 0) return;
    j->gone = true;
    if (errno != EPIPE)
        j->status = fail(&j->error, VT_IO, "standard output: %s", strerror(errno));
}

/* Whole characters that the model wrote.  To a terminal no control characters
 * go but tab and newline: they could move the cursor, or worse. */
static void put_written(job *j, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    if (!j->terminal) {
        put(j, text, n);
        return;
    }
    for (size_t i = 0, used; i < n; i += used) {
        uint32_t c = 0;
        (void)utf8_next(p + i, n - i, &used, &c);
        const bool control = (c < 32 && c != '\n' && c != '\t') || (c >= 127 && c < 160);
        if (control) put(j, UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN);
        else put(j, p + i, used);
    }
}

static bool sink(void *context, int sample, const char *text, size_t n)
{
    job *j = context;
    (void)sample;
    put_written(j, text, n);
    if (j->status == VT_OK) j->status = bytes_append(&j->text, text, n, &j->error);
    return j->gone || j->status != VT_OK;
}

static void show_novelty(const job *j, const vt_novelty_report *r, js_writer *w)
{
    const void *run = j->text.data ? j->text.data + r->run_start : j->text.data;
    if (w) {
        js_key(w, "novelty");
        js_open_object(w);
        js_field_uint(w, "words", r->words);
        js_field_uint(w, "known_words", r->known);
        cli_field_measured(w, "known_share", r->words ? r->share : (double)NAN);
        js_field_uint(w, "longest_run", r->longest);
        js_key(w, "run");
        js_text(w, run, r->run_length);
        js_close_object(w);
        return;
    }
    if (r->words == 0) fprintf(stderr, "novelty: the text has no words; longest run ");
    else fprintf(stderr, "novelty: %zu of %zu words (%.1f %%) occur in the training text; longest "
                 "run ", r->known, r->words, 100 * r->share);
    fprintf(stderr, "copied from it: %zu characters\n", r->longest);
}

static vt_status one_sample(job *j, int number, vt_error *err)
{
    vt_generate_options o = j->a.o;
    vt_novelty_report novelty;
    size_t tokens;
    vt_status s;
    o.first_sample = number;
    o.samples = 1;
    o.prompt = (const char *)j->prompt.data;
    o.prompt_length = j->prompt.len;
    j->text.len = 0;
    if ((s = bytes_append(&j->text, j->prompt.data, j->prompt.len, err))) return s;
    put(j, j->prompt.data, j->prompt.len);
    if ((s = vt_generate(j->m, &o, sink, j, &tokens, err))) return s;
    if (j->status) {
        *err = j->error;
        return j->status;
    }
    put(j, "\n", 1);
    if (j->gone) return VT_OK;
    js_writer *w = j->a.json ? &j->json : NULL;
    if (w) {
        js_open_object(w);
        js_field_int(w, "sample", number);
        js_key(w, "text");
        js_text(w, j->text.data + j->prompt.len, j->text.len - j->prompt.len);
        js_field_uint(w, "tokens", tokens);
    }
    if (j->learnt) {
        if ((s = vt_novelty(j->learnt, j->text.data, j->text.len, &novelty, err))) return s;
        show_novelty(j, &novelty, w);
    }
    if (w) js_close_object(w);
    return VT_OK;
}

static void json_head(job *j, size_t prompt_tokens)
{
    js_writer *w = &j->json;
    const vt_generate_options *o = &j->a.o;
    js_begin(w, &j->json_text, JS_LINE);
    js_open_object(w);
    js_key(w, "prompt");
    js_text(w, j->prompt.data, j->prompt.len);
    js_field_uint(w, "prompt_tokens", prompt_tokens);
    js_field_int(w, "max_tokens", o->max_tokens);
    js_field_number(w, "temperature", o->temperature);
    js_field_int(w, "top_k", o->top_k);
    js_field_number(w, "top_p", o->top_p);
    js_field_uint(w, "seed", o->seed);
    js_key(w, "samples");
    js_open_array(w);
}

static vt_status speak(job *j, vt_error *err)
{
    int *ids = NULL;
    size_t count = 0;
    vt_status s = vt_tokenize(j->m, j->prompt.data, j->prompt.len, &ids, &count, err);
    free(ids);
    /* Before a word is printed: it may not be what it should be. */
    if (s == VT_OK && j->a.novelty.what.nfiles)
        s = vt_training_text_open(&j->learnt, j->m, &j->a.novelty.what, err);
    if (s) return s;
    if (j->a.json) json_head(j, count);
    for (int i = 0; i < j->a.o.samples && !j->gone; i++) {
        if (i > 0) put(j, "\n----\n", 6);
        if ((s = one_sample(j, i, err))) return s;
    }
    if (!j->a.json) return VT_OK;
    js_close_array(&j->json);
    js_close_object(&j->json);
    return cli_print_json(&j->json, &j->json_text, err);
}

static vt_status read_prompt(job *j, vt_error *err)
{
    if (j->a.prompt && j->a.prompt_file)
        return fail(err, VT_USAGE, "--prompt and --prompt-file: expected one of them");
    if (j->a.prompt_file) return cli_read(&j->prompt, j->a.prompt_file, err);
    const char *text = j->a.prompt ? j->a.prompt : "";
    return bytes_append(&j->prompt, text, strlen(text), err);
}

static int run(const command *c, int argc, char **argv)
{
    job j = { .c = c, .terminal = cli_terminal(stdout) };
    options_read read;
    vt_error err;
    int code;
    vt_generate_defaults(&j.a.o);
    if (!cli_parse(c, argc, argv, &j.a, &read, &code)) return code;
    const char *folder = cli_folder(c, &read, &err);
    vt_status s = folder ? VT_OK : VT_USAGE;
    if (s == VT_OK) s = corpus_args_take(&j.a.novelty, "--novelty", &err);
    if (s == VT_OK && (s = read_prompt(&j, &err)) == VT_OK &&
        (s = vt_model_open(&j.m, folder, j.a.threads, j.a.isa, &err)) == VT_OK)
        s = speak(&j, &err);
    if (s == VT_OK) cli_note_windows(j.m, folder);
    if (s) cli_error(c, s, &err);
    vt_training_text_close(j.learnt);
    vt_model_close(j.m);
    bytes_free(&j.prompt);
    bytes_free(&j.text);
    bytes_free(&j.json_text);
    return (int)s;
}

const command cmd_generate = {
    .name = "generate",
    .summary = "lets a model continue a text",
    .usage = "vitrine generate DIR [option ...]",
    .about = "Prints the prompt and what the model makes of it, character by character.  The\n"
             "same seed gives the same text.  Bytes that the model writes and that are no\n"
             "UTF-8 are shown as U+FFFD.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1, .operand = OPTION_FOLDER,
    .examples =
        "  vitrine generate model --prompt \"She was\" --max-tokens 50\n"
        "  vitrine generate model --prompt \"It\" --temperature 0          # greedy\n"
        "  vitrine generate model --prompt \"A\" --samples 3 --top-k 40 --seed 7 --json\n"
        "  vitrine generate model --novelty novels.csv --column text\n",
    .exits =
        "  0  written\n"
        "  2  an option cannot be used\n"
        "  3  the model, or the file of --novelty, is not what it should be\n"
        "  4  reading or writing failed\n"
        "  5  sizes exceed memory, or a prompt 64 MiB\n"
        "  6  NaN or Inf among the logits: the weights are too large\n",
    .defaults = defaults,
    .run = run,
};

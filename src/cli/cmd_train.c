/* cmd_train.c -- vitrine train.
 *
 * Options are read twice: once to find what they stand on (a preset, or with
 * --resume the stored run), then over that, so that only what was given
 * replaces it.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/train_show.h"

typedef struct train_args {
    vt_train_options o;
    bool json;
} train_args;

#define AT(field) offsetof(train_args, o.field)
#define MOST 1099511627776.0        /* 2^40 steps */
#define INTS(low) low, INT_MAX

static const option_row rows[] = {
    { OPTION_GROUP, "text and result", 0, NULL, 0, 0, NULL },
    { OPTION_NAME, "--data", AT(data), "FILE", 0, 0,
      "the text: a .csv with a header line, or plain text;\nUTF-8" },
    { OPTION_TEXT, "--column", AT(column), "NAME", 0, 0,
      "the column of a .csv that holds the text [text]" },
    { OPTION_SIZE, "--max-rows", AT(max_rows), "N", 1, MOST, "read only the first N rows of a .csv" },
    { OPTION_NAME, "--out", AT(out), "DIR", 0, 0, "the folder of the model; made where it is not\nthere" },
    { OPTION_GROUP, "run", 0, NULL, 0, 0, NULL },
    { OPTION_NAME, "--preset", AT(preset), "NAME", 0, 0,
      "where the values below come from: tiny (seconds)\nor default (minutes) [default]" },
    { OPTION_LONG, "--steps", AT(steps), "N", 1, MOST, "length; without it, what --epochs makes" },
    { OPTION_INT, "--epochs", AT(epochs), "N", 1, 1e9, "passes over the text, where --steps is not given" },
    { OPTION_SEED, "--seed", AT(seed), "N", 0, 0, "of all random numbers" },
    { OPTION_LONG, "--stop-at", AT(stop_at), "N", 1, MOST,
      "save and end at step N, as an interruption would" },
    { OPTION_FLAG, "--resume", AT(resume), NULL, 0, 0,
      "go on from the checkpoint in DIR, with its options;\nthe result has the bits of an uninterrupted run with\nthe same kernels" },
    { OPTION_FLAG, "--reschedule", AT(reschedule), NULL, 0, 0,
      "with --resume: another schedule is meant: --steps,\nand with it --lr, --lr-min, --warmup" },
    { OPTION_LONG, "--eval-every", AT(eval_every), "N", 0, MOST, "steps between validations; 0: at the end" },
    { OPTION_LONG, "--save-every", AT(save_every), "N", 0, MOST, "steps between saves; 0: at the end" },
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "0: all cores; the result does not depend on it" },
    { OPTION_NAME, "--isa", AT(isa), "NAME", 0, 0, "kernels: portable, avx2, avx512 [the best]; each\nround in another order: other bits" },
    { OPTION_FLAG, "--json", offsetof(train_args, json), NULL, 0, 0,
      "one JSON object on standard output at the end;\nprogress goes to standard error" },
    { OPTION_GROUP, "model", 0, NULL, 0, 0, NULL },
    { OPTION_INT, "--layers", AT(layers), "N", INTS(1), "blocks" },
    { OPTION_INT, "--d-model", AT(d_model), "N", INTS(1), "channels" },
    { OPTION_INT, "--heads", AT(heads), "N", INTS(1), "attention heads; divides --d-model" },
    { OPTION_INT, "--ff", AT(ff), "N", INTS(1), "channels between a block's two layers;\n4 x --d-model, where that is given" },
    { OPTION_INT, "--context", AT(context), "N", INTS(1), "positions that the model has" },
    { OPTION_FLAG, "--tied", AT(tied), NULL, 0, 0, "the head is the token embedding (default)" },
    { OPTION_OFF, "--untied", AT(tied), NULL, 0, 0, "the head has its own weights (tiny)" },
    { OPTION_NAME, "--init", AT(init), "NAME", 0, 0, "xavier or gpt2" },
    { OPTION_NAME, "--activation", AT(activation), "NAME", 0, 0, "gelu_new, the tanh form; no other" },
    { OPTION_INT, "--merges", AT(merges), "N", INTS(0), "of the tokenizer; the vocabulary is 257 more" },
    { OPTION_GROUP, "batches", 0, NULL, 0, 0, NULL },
    { OPTION_INT, "--seq", AT(seq), "N", INTS(1), "tokens of a window, at most --context" },
    { OPTION_INT, "--stride", AT(stride), "N", INTS(0), "between the starts of windows; 0: --seq" },
    { OPTION_INT, "--batch", AT(batch), "N", INTS(1), "windows of a micro-batch" },
    { OPTION_INT, "--accumulate", AT(accumulate), "N", INTS(1), "micro-batches of a step" },
    { OPTION_GROUP, "optimizer (AdamW)", 0, NULL, 0, 0, NULL },
    { OPTION_REAL, "--lr", AT(lr), "X", 0, 1e3, "learning rate after the warm-up" },
    { OPTION_REAL, "--lr-min", AT(lr_min), "X", 0, 1e3, "at the end; --lr / 10, where only that is given" },
    { OPTION_LONG, "--warmup", AT(warmup), "N", 0, MOST, "steps of warm-up; no more than --steps (a preset's\nis cut to that)" },
    { OPTION_REAL, "--beta1", AT(beta1), "X", 0, 0.999999, "decay of the mean of gradients" },
    { OPTION_REAL, "--beta2", AT(beta2), "X", 0, 0.999999, "and of their squares" },
    { OPTION_REAL, "--eps", AT(eps), "X", 1e-30, 1, "added to the root of the squares" },
    { OPTION_REAL, "--decay", AT(decay), "X", 0, 1e3, "weight decay, of matrices only" },
    { OPTION_REAL, "--clip", AT(clip), "X", 0, 1e30, "largest norm of the gradient; 0: off" },
};

/* ---- options ------------------------------------------------------------ */

static const void *presets(int i, const char **label)
{
    static const char *const names[] = { "tiny", "default" };
    static train_args set;
    if (i > 1 || vt_train_preset(&set.o, names[i], NULL)) return NULL;
    *label = names[i];
    if (set.o.warmup < 0) set.o.warmup = -set.o.warmup;     /* "or as many as the run has" */
    set.o.preset = set.o.isa = NULL;        /* the help's own words say these */
    return &set;
}

typedef struct job {
    const command *c;
    train_args     a;
    options_read   read;
    int            argc;
    char         **argv;
    train_show     show;
    char           notes[400];      /* shown when training begins, so that a
                                       refusal stands alone */
} job;

static bool given(const job *j, const char *name)
{
    return options_given(j->c, &j->read, name);
}

VT_PRINTF(2, 3)
static void note(job *j, const char *format, ...)
{
    const size_t n = strlen(j->notes);
    va_list args;
    va_start(args, format);
    vsnprintf(j->notes + n, sizeof j->notes - n, format, args);
    va_end(args);
}

/* What follows from the options that were given, for those that were not. */
static void derive(job *j)
{
    vt_train_options *o = &j->a.o;
    if (given(j, "--epochs") && !given(j, "--steps")) o->steps = 0;
    if (given(j, "--d-model") && !given(j, "--ff") && o->d_model <= INT_MAX / 4)
        o->ff = 4 * o->d_model;
    if (given(j, "--context") && !given(j, "--seq") && o->seq > o->context) {
        note(j, "note: windows of %d tokens, as --context (the preset has %d)\n", o->context, o->seq);
        o->seq = o->context;
    }
    if (given(j, "--lr") && !given(j, "--lr-min")) o->lr_min = o->lr / 10;
}

static vt_status check_given(const job *j, vt_error *err)
{
    if (!j->a.o.data) return fail(err, VT_USAGE, "--data: expected the text to train on");
    if (strcmp(j->a.o.data, "-") == 0)
        return fail(err, VT_USAGE, "--data -: expected a file: standard input is not read (./- is "
                    "a file of that name)");
    if (!j->a.o.out) return fail(err, VT_USAGE, "--out: expected a folder for the model");
    if (given(j, "--tied") && given(j, "--untied"))
        return fail(err, VT_USAGE, "--tied and --untied: expected one of them");
    if (j->a.o.reschedule && !j->a.o.resume)
        return fail(err, VT_USAGE, "--reschedule: expected --resume with it");
    if (j->a.o.reschedule && !given(j, "--steps"))
        return fail(err, VT_USAGE, "--reschedule: expected --steps with it");
    return VT_OK;
}

static vt_status read_options(job *j, vt_error *err)
{
    const vt_train_options asked = j->a.o;
    vt_status s = check_given(j, err);
    if (s) return s;
    s = asked.resume ? vt_train_stored(&j->a.o, asked.out, err)
                     : vt_train_preset(&j->a.o, asked.preset ? asked.preset : "default", err);
    if (s) return s;
    if ((s = options_parse(j->c, j->argc, j->argv, &j->a, &j->read, err))) return s;
    if (j->a.o.reschedule && given(j, "--lr") && !given(j, "--lr-min")) j->a.o.lr_min = j->a.o.lr / 10;
    if (!asked.resume) derive(j);
    else if (given(j, "--epochs"))
        note(j, "note: --epochs says nothing with --resume: the run has %lld steps\n", j->a.o.steps);
    return VT_OK;
}

/* ---- signals ------------------------------------------------------------ */

static volatile sig_atomic_t stepping, stop_asked, on_bar;

/* Before the first step there is nothing to save, and a second signal means it:
 * both end at once.  Files are replaced by rename: none is left half-written. */
static void on_signal(int number)
{
    static const char stops[] = "\nvitrine train: stopping after this step; again to end at once\n";
    static const char ends[] = "\nvitrine train: interrupted; nothing new was saved\n";
    const bool at_once = stop_asked || !stepping;
    const char *text = at_once ? ends : stops;
    const size_t n = (at_once ? sizeof ends : sizeof stops) - 1;
    const size_t skip = on_bar ? 0 : 1;         /* a bar's line has to be ended */
    const int before = errno;
    (void)number;
    (void)!write(STDERR_FILENO, text + skip, n - skip);
    if (at_once) _exit(VT_INTERRUPTED);
    stop_asked = 1;
    errno = before;
}

static void catch_signals(void)
{
    struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    struct sigaction old;                       /* nohup has it ignored: so it stays */
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &a, NULL);
}

/* The same command with --resume; `drop_stop` leaves --stop-at out. */
static vt_status command_to_go_on(const job *j, bool drop_stop, bytes *out, vt_error *err)
{
    vt_status s = cli_quote(out, cli_program, err);
    if (s == VT_OK) s = bytes_append(out, " train", 6, err);
    for (int i = 0; i < j->argc && s == VT_OK; i++) {
        const char *word = j->argv[i];
        if (drop_stop && strcmp(word, "--stop-at") == 0) {
            i++;
            continue;
        }
        if (drop_stop && strncmp(word, "--stop-at=", 10) == 0) continue;
        if ((s = bytes_append(out, " ", 1, err)) == VT_OK) s = cli_quote(out, word, err);
    }
    if (s == VT_OK && !j->a.o.resume) s = bytes_append(out, " --resume", 9, err);
    return s;
}

/* ---- the run ------------------------------------------------------------ */

static void on_note(void *context, const char *line)
{
    job *j = context;
    if (j->notes[0]) fputs(j->notes, j->show.out);
    j->notes[0] = 0;
    train_show_note(&j->show, line);
}

static void on_start(void *context, const vt_train_start *start)
{
    job *j = context;
    train_show_start(&j->show, start);
    on_bar = j->show.terminal;
    stepping = 1;
}

static bool on_step(void *context, const vt_train_step *step)
{
    job *j = context;
    train_show_step(&j->show, step);
    return stop_asked != 0;
}

static vt_status print_json(const vt_train_result *r, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_int(&w, "step", r->step);
    js_field_int(&w, "steps", r->steps);
    cli_field_measured(&w, "loss", r->loss);
    cli_field_measured(&w, "val_loss", r->val_loss);
    cli_field_measured(&w, "bigram_loss", r->bigram_loss);
    cli_field_measured(&w, "bigram_k", isnan(r->bigram_loss) ? r->bigram_loss : r->bigram_k);
    cli_field_measured(&w, "tokens_per_s", r->tokens_per_s);
    js_field_number(&w, "seconds", r->seconds);
    js_field_uint(&w, "parameters", r->parameters);
    js_field_bool(&w, "finished", r->finished);
    js_field_bool(&w, "interrupted", r->interrupted);
    js_field_string(&w, "state_sha256", r->state_sha256);
    js_field_string(&w, "model_sha256", r->model_sha256);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

static vt_status report(job *j, const vt_train_result *r, vt_status trained, vt_error *err)
{
    bytes again = { 0 };
    const bool ended = trained == VT_OK;
    vt_error why;
    vt_status s = VT_OK;
    train_show_result(&j->show, r, j->a.o.out);
    if (!r->finished && (s = command_to_go_on(j, ended, &again, err))) goto done;
    if (ended && !r->finished)
        fprintf(j->show.out, "stopped at step %lld of %lld, as --stop-at says; go on with: %s\n",
                r->step, r->steps, (const char *)again.data);
    if (j->a.json) s = print_json(r, err);
    else if (ended) s = cli_flush(err);
    if (s == VT_OK && !ended) {
        fprintf(stderr, "vitrine train: interrupted at step %lld of %lld; saved to %s; go on with: "
                "%s\n", r->step, r->steps, j->a.o.out, (const char *)again.data);
        s = trained;
    }
done:
    if (s && s != trained) {
        why = *err;
        cli_error(j->c, s, &why);
    }
    bytes_free(&again);
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    job j = { .c = c, .argc = argc, .argv = argv };
    const vt_train_events events = { .context = &j, .on_note = on_note, .on_start = on_start,
                                     .on_step = on_step };
    vt_train_result result;
    vt_error err;
    int code;
    if (!cli_parse(c, argc, argv, &j.a, &j.read, &code)) return code;
    train_show_new(&j.show, j.a.json ? stderr : stdout);
    vt_status s = read_options(&j, &err);
    if (s == VT_OK) {
        catch_signals();
        s = vt_train(&j.a.o, &events, &result, &err);
        train_show_end(&j.show);
        if (s == VT_OK || s == VT_INTERRUPTED) s = report(&j, &result, s, &err);
        else cli_error(c, s, &err);
    } else {
        cli_error(c, s, &err);
    }
    train_show_free(&j.show);
    return (int)s;
}

const command cmd_train = {
    .name = "train",
    .summary = "trains a model on a text",
    .usage = "vitrine train --data FILE --out DIR [option ...]",
    .about = "Trains a GPT on a text and leaves in DIR: state.safetensors (the checkpoint),\n"
             "model.safetensors, config.json, tokenizer.json (GPT-2's formats of Hugging Face),\n"
             "manifest.json and metrics.jsonl (a line of JSON per step).  Ctrl-C saves and says\n"
             "how to go on; a second one ends at once.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 0,
    .examples =
        "  vitrine train --data novels.csv --column text --out model\n"
        "  vitrine train --data book.txt --preset tiny --steps 200 --seed 42 --out model\n"
        "  vitrine train --data book.txt --preset tiny --steps 200 --out model --resume\n"
        "  vitrine train --data book.txt --layers 6 --d-model 192 --heads 6 --out large\n",
    .exits =
        "  0    trained, or stopped at --stop-at\n"
        "  2    an option cannot be used, or DIR holds a checkpoint and --resume is missing\n"
        "  3    the text or the checkpoint is not what it should be\n"
        "  4    reading or writing failed, or another training writes to DIR; an old\n"
        "       checkpoint stays as it was\n"
        "  5    sizes overflow or exceed memory\n"
        "  6    NaN or Inf: the step was not taken, the last save stays\n"
        "  130  interrupted; the state was saved\n",
    .defaults = presets,
    .run = run,
};

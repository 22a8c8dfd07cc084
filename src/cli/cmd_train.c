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
#include "cli/train_options.h"
#include "cli/corpus_args.h"
#include "cli/train_show.h"

#define AT(field) offsetof(train_args, o.field)
#define MOST 1099511627776.0        /* 2^40 steps */

static const option_row rows[] = {
    { OPTION_GROUP, "text and result", 0, NULL, 0, 0, NULL },
    CORPUS_ROWS(train_args, text, "--data",
                "the text: .csv, .jsonl or plain, in UTF-8; given\nseveral times: one after the other"),
    CORPUS_OFF_ROWS(train_args, text),
    { OPTION_FOLDER, "--out", AT(out), "DIR", 0, 0, "the folder of the model; made where it is not\nthere" },
    { OPTION_GROUP, "run", 0, NULL, 0, 0, NULL },
    { OPTION_CHOICE, "--preset", AT(preset), "tiny|default|gpt2", 0, 0,
      "where the values below come from: tiny takes\nseconds, default minutes, gpt2 weeks [default]" },
    { OPTION_LONG, "--steps", AT(steps), "N", 1, MOST, "length; without it, what --epochs makes" },
    { OPTION_INT, "--epochs", AT(epochs), "N", 1, 1e9, "passes over the text, where --steps is not given" },
    { OPTION_SEED, "--seed", AT(seed), "N", 0, 0, "of all random numbers" },
    { OPTION_LONG, "--eval-every", AT(eval_every), "N", 0, MOST, "steps between validations; 0: at the end" },
    { OPTION_LONG, "--save-every", AT(save_every), "N", 0, MOST, "steps between saves; 0: at the end" },
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "0: all cores; the result does not depend on it" },
    ISA_ROW(AT(isa), "kernels; else $VITRINE_ISA [the best]; each round in\nanother order: other bits"),
#include "cli/model_rows.def"
    { OPTION_GROUP, "optimizer (AdamW)", 0, NULL, 0, 0, NULL },
    { OPTION_REAL, "--lr", AT(lr), "X", 0, 1e3, "learning rate after the warm-up" },
    { OPTION_REAL, "--lr-min", AT(lr_min), "X", 0, 1e3, "at the end; --lr / 10, where only that is given" },
    { OPTION_LONG, "--warmup", AT(warmup), "N", 0, MOST, "steps of warm-up; no more than --steps (a preset's\nis cut to that)" },
    { OPTION_REAL, "--beta1", AT(beta1), "X", 0, 0.999999, "decay of the mean of gradients" },
    { OPTION_REAL, "--beta2", AT(beta2), "X", 0, 0.999999, "and of their squares" },
    { OPTION_REAL, "--eps", AT(eps), "X", 1e-30, 1, "added to the root of the squares" },
    { OPTION_REAL, "--decay", AT(decay), "X", 0, 1e3, "weight decay, of matrices only" },
    { OPTION_REAL, "--clip", AT(clip), "X", 0, 1e30, "largest norm of the gradient; 0: off" },
    { OPTION_CALL_GROUP, "this call", 0, NULL, 0, 0, NULL },
    { OPTION_FILE, "--config", offsetof(train_args, config), "FILE", 0, 0,
      "options from a file, as --print-config prints them;\nthose above replace the preset's, those of the\ncommand line replace them" },
    { OPTION_FLAG, "--print-config", offsetof(train_args, print_config), NULL, 0, 0,
      "print all options above as they would be used, and\nend: nothing is trained or written" },
    { OPTION_FLAG, "--resume", AT(resume), NULL, 0, 0,
      "go on from the checkpoint in DIR, with its options;\nthe text (--data, --column ...) is to be named again;\nthe result has the bits of an uninterrupted run with\nthe same kernels" },
    { OPTION_FLAG, "--reschedule", AT(reschedule), NULL, 0, 0,
      "with --resume: another schedule is meant: --steps,\nand with it --lr, --lr-min, --warmup" },
    { OPTION_LONG, "--stop-at", AT(stop_at), "N", 1, MOST,
      "save and end at step N, as an interruption would" },
    { OPTION_FLAG, "--json", offsetof(train_args, json), NULL, 0, 0,
      "one JSON object on standard output at the end;\nprogress goes to standard error" },
};

/* ---- options ------------------------------------------------------------ */

static const void *presets(int i, const char **label)
{
    static train_args set;
    const vt_train_options *preset = train_options_presets(i, label);
    if (!preset) return NULL;
    set.o = *preset;
    return &set;
}

typedef struct job {
    const command *c;
    train_args     a;
    options_read   read;            /* what was given, in a file or here */
    config_file    file;            /* of --config */
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

static void derive(job *j)
{
    const int seq = j->a.o.seq;
    train_options_derive(&j->a.o, j->c, &j->read);
    if (j->a.o.seq != seq)
        note(j, "note: windows of %d tokens, as --context (the preset has %d)\n", j->a.o.seq, seq);
}

static vt_status read_words(job *j, vt_error *err)
{
    return train_options_read(&j->a, &j->read, &j->file, j->c, j->argc, j->argv, err);
}

static vt_status check_given(job *j, vt_error *err)
{
    vt_status s;
    if (j->a.print_config && j->a.json)
        return fail(err, VT_USAGE, "--print-config and --json: expected one of them");
    if (j->a.text.files.count || !j->a.print_config) {
        if ((s = corpus_args_take(&j->a.text, "--data", err))) return s;
        if (j->a.text.what.nfiles == 0)
            return fail(err, VT_USAGE, "--data: expected the text to train on");
    }
    if (!j->a.o.out && (j->a.o.resume || !j->a.print_config))
        return fail(err, VT_USAGE, "--out: expected a folder for the model");
    if (j->a.o.reschedule && !j->a.o.resume)
        return fail(err, VT_USAGE, "--reschedule: expected --resume with it");
    if (j->a.o.reschedule && !given(j, "--steps"))
        return fail(err, VT_USAGE, "--reschedule: expected --steps with it");
    return VT_OK;
}

static vt_status read_options(job *j, vt_error *err)
{
    vt_status s = j->a.config ? config_read(&j->file, j->c, j->a.config, err) : VT_OK;
    if (s || (s = read_words(j, err)) || (s = check_given(j, err))) return s;
    const vt_train_options asked = j->a.o;
    s = asked.resume ? vt_train_stored(&j->a.o, asked.out, err)
                     : vt_train_preset(&j->a.o, asked.preset ? asked.preset : "default", err);
    if (s || (s = read_words(j, err))) return s;
    j->a.o.corpus = j->a.text.what;
    if (j->a.o.reschedule && given(j, "--lr") && !given(j, "--lr-min")) j->a.o.lr_min = j->a.o.lr / 10;
    if (!asked.resume) derive(j);
    else if (given(j, "--epochs") && j->file.n == 0)
        note(j, "note: --epochs says nothing with --resume: the run has %lld steps\n", j->a.o.steps);
    return VT_OK;
}

/* A tokenizer that a stored run was given lies in its folder, in a copy that says the
 * same: that names it, wherever the first one is. */
static vt_status stored_tokenizer(bytes *text, char **copy, vt_train_options *o, vt_error *err)
{
    if (!o->tokenizer_from)
        return bytes_printf(text, err, "# an older run: a tokenizer that it was given is to be named "
                            "again\n\n");
    if (strcmp(o->tokenizer_from, "given") != 0) return VT_OK;
    o->tokenizer = *copy = io_join(o->out, "tokenizer.json");
    if (!*copy) return fail(err, VT_TOO_LARGE, "out of memory: a file's name");
    return bytes_printf(text, err, "# the run was given its tokenizer; this is its copy\n\n");
}

/* The options as the run would have them: what only the text will tell (the steps of
 * --epochs, a warm-up that they cut) stays open. */
static vt_status print_config(job *j, vt_error *err)
{
    vt_train_options *o = &j->a.o;
    bytes text = { 0 };
    if (o->warmup < 0 && o->steps > 0) o->warmup = -o->warmup < o->steps ? -o->warmup : o->steps;
    char *copy = NULL;
    vt_status s = VT_OK;
    if (o->resume && (s = stored_tokenizer(&text, &copy, o, err))) goto done;
    if (o->tokenizer) o->merges = -1;           /* it brings its own */
    s = config_text(&text, j->c, &j->a, err);
    if (s == VT_OK) {
        fwrite(text.data, 1, text.len, stdout);
        s = cli_flush(err);
    }
done:
    bytes_free(&text);
    free(copy);
    return s;
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
    if (s == VT_OK && j.a.print_config) {
        s = print_config(&j, &err);
        if (s) cli_error(c, s, &err);
    } else if (s == VT_OK) {
        catch_signals();
        s = config_blame(&j.file, c, vt_train(&j.a.o, &events, &result, &err), &err);
        train_show_end(&j.show);
        if (s == VT_OK || s == VT_INTERRUPTED) s = report(&j, &result, s, &err);
        else cli_error(c, s, &err);
    } else {
        cli_error(c, s, &err);
    }
    train_show_free(&j.show);
    config_free(&j.file);
    return (int)s;
}

const command cmd_train = {
    .name = "train",
    .summary = "trains a model on a text",
    .usage = "vitrine train --data FILE --out DIR [option ...]",
    .about = "Trains a GPT on a text and leaves in DIR: state.safetensors (the checkpoint),\n"
             "model.safetensors, config.json, tokenizer.json (GPT-2's formats of Hugging\n"
             "Face), manifest.json and metrics.jsonl (a line of JSON per step).  Ctrl-C saves\n"
             "and says how to go on; a second one ends at once.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 0,
    .examples =
        "  vitrine train --data novels.csv --column text --out model\n"
        "  vitrine train --data book.txt --preset tiny --steps 200 --seed 42 --out model\n"
        "  vitrine train --data book.txt --preset tiny --steps 200 --out model --resume\n"
        "  vitrine train --data book.txt --layers 6 --d-model 192 --heads 6 --out large\n"
        "  vitrine train --preset tiny --data book.txt --print-config > run.conf\n"
        "  vitrine train --config run.conf --seed 7 --out second\n",
    .exits =
        "  0    trained, or stopped at --stop-at\n"
        "  2    an option cannot be used, or DIR holds a checkpoint, without --resume,\n"
        "       or a file that training would replace\n"
        "  3    the text or the checkpoint is not what it should be\n"
        "  4    reading or writing failed, or another training writes to DIR; an old\n"
        "       checkpoint stays as it was\n"
        "  5    sizes overflow or exceed memory\n"
        "  6    NaN or Inf: the step was not taken, the last save stays\n"
        "  130  interrupted; the state was saved\n",
    .defaults = presets,
    .run = run,
};

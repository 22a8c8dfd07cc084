/* train.c -- vt_train: from a corpus file to a checkpoint.
 *
 *   corpus -> documents -> split -> tokenizer (trained, or given, or the
 *   checkpoint's on resume) -> tokens -> trainer; then step, validate, log, save.
 *
 * Whatever determines the result is in run_record.h; a resumed run reads it
 * back, refuses options that contradict it, and goes on with the same bits.
 * Nothing is written before the whole input has been found good.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "data/bigram.h"
#include "data/corpus.h"
#include "data/dataset.h"
#include "model/checkpoint.h"
#include "provenance/manifest.h"
#include "tokenizer/bpe.h"
#include "train/memory_plan.h"
#include "train/metrics.h"
#include "train/run_folder.h"
#include "train/run_record.h"
#include "train/settings.h"
#include "train/tokenizer_given.h"
#include "train/trainer.h"

enum { SPEEDS = 8192, WINDOW_TOKENS = 1025 };

typedef struct run {
    vt_train_options o;
    const vt_train_events *events;
    vt_train_result *result;
    int          threads;
    char         kernels[sizeof ((run_record *)NULL)->kernels];     /* in use now */
    int          lock;              /* of the folder; -1: none */
    checkpoint   old;               /* resume: where to go on */
    size_t       old_bytes;         /* of its file, which was in memory */
    size_t       memory;            /* that the run takes at most */
    run_record   record;
    corpus       text;
    corpus_file_record *files;      /* of it; record.files */
    dataset_split split;
    bpe         *tokenizer;
    bytes        tokenizer_json;    /* with a NUL */
    dataset      tokens;
    gpt_config   z;
    trainer      t;
    metrics      log;
    bigram       pairs;
    char        *groups;
    double       speeds[SPEEDS];    /* tokens per second of the latest steps */
    size_t       nspeeds;
    double       val_loss;          /* last measured */
    long long    saved;             /* step of the last save, -1: none */
} run;

VT_PRINTF(2, 3)
static void note(const run *r, const char *format, ...)
{
    char line[400];
    va_list args;
    if (!r->events->on_note) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    r->events->on_note(r->events->context, line);
}

/* ---- before the first step --------------------------------------------- */

/* What is there is never overwritten by a new run, nor made up by resume. */
static vt_status old_or_new(const run *r, vt_error *err)
{
    return r->o.resume ? run_folder_old(r->o.out, err) : run_folder_new(r->o.out, err);
}

/* One run at a time: two would overwrite each other's files, and both report
 * success.  A folder that is not there yet is made and locked in `begin`, so that
 * bad input leaves none. */
static vt_status lock_folder(run *r, vt_error *err)
{
    vt_error why;
    const vt_status s = io_lock(&r->lock, r->o.out, &why);
    return s ? fail(err, s, "%.400s; one training at a time", why.text) : VT_OK;
}

static vt_status look_for_checkpoint(run *r, vt_error *err)
{
    const vt_train_options *o = &r->o;
    struct stat info;
    vt_status s;
    if (stat(o->out, &info) == 0 && S_ISDIR(info.st_mode) && (s = lock_folder(r, err))) return s;
    if ((s = old_or_new(r, err)) || (s = run_folder_writable(o->out, err)) || !o->resume) return s;
    if ((s = checkpoint_open(&r->old, o->out, err)) ||
        (s = run_record_read(&r->record, r->old.run, r->old.path, err)) ||
        (s = settings_compare(o, &r->record.settings, err)))
        return s;
    if (o->steps == 0) r->o.steps = r->record.settings.steps;
    if (r->o.steps < r->record.step)
        return fail(err, VT_USAGE, "--steps %lld: expected at least %lld, the step that the run to "
                    "resume has reached", r->o.steps, r->record.step);
    if (o->stop_at > 0 && o->stop_at < r->record.step)
        return fail(err, VT_USAGE, "--stop-at %lld: expected at least %lld, the step that the run "
                    "to resume has reached", o->stop_at, r->record.step);
    return VT_OK;
}

static vt_status make_tokenizer(run *r, team *crew, vt_error *err)
{
    vt_status s;
    if (r->o.resume) {
        s = bpe_from_json(&r->tokenizer, r->old.tokenizer, r->old.tokenizer_length,
                          r->old.path, err);
    } else if (r->tokenizer) {                  /* it was given */
        r->o.merges = bpe_merges(r->tokenizer);
        s = VT_OK;
    } else {
        s = bpe_train(&r->tokenizer, r->split.train, r->split.ntrain, r->o.merges, crew, err);
        if (s == VT_OK && bpe_merges(r->tokenizer) < r->o.merges)
            note(r, "tokenizer: %d merges instead of %d: no other pair occurs twice",
                 bpe_merges(r->tokenizer), r->o.merges);
    }
    if (s || (s = bpe_to_json(r->tokenizer, &r->tokenizer_json, err))) return s;
    if (!r->o.resume) {
        r->record.tokenizer_from = r->o.tokenizer ? "given" : "corpus";
        sha256_hex(r->record.tokenizer_sha256, r->tokenizer_json.data, r->tokenizer_json.len);
    }
    return bytes_append(&r->tokenizer_json, "", 1, err);
}

static vt_status compare_corpus(const run *r, const char *tokens_sha256, vt_error *err)
{
    const size_t had = r->record.train_tokens + r->record.val_tokens;
    const bool one = r->o.corpus.nfiles == 1;
    const corpus_name name = corpus_record_name(&r->o.corpus);
    const json_t *stored;
    vt_status s;
    if (strcmp(tokens_sha256, r->record.tokens_sha256) == 0) {
        if (strcmp(r->text.sha256, r->record.corpus_sha256) != 0)
            note(r, "%s: not the files of the run to resume, but the same tokens; these files are "
                 "recorded from here on", name.text);
        return VT_OK;
    }
    if (strcmp(r->text.sha256, r->record.corpus_sha256) == 0)
        return fail(err, VT_BAD_INPUT, "%s: %s of the run to resume, but %s column or "
                    "%s rows are others: they hold %zu documents and %zu tokens, the run had %zu "
                    "and %zu (--column, --max-rows, --no-header, --separator)", name.text,
                    one ? "is the file" : "are the files", one ? "its" : "their", one ? "its" : "their",
                    r->text.count, r->tokens.ntrain + r->tokens.nvalid, r->record.documents, had);
    if ((s = js_get_object(r->old.run, "corpus", r->old.path, &stored, err))) return s;
    if (!one || json_object_get(stored, "files"))
        return fail(err, VT_BAD_INPUT, "%s: not the text of the run to resume: %s", name.text,
                    corpus_record_differs(stored, &r->text, &r->o.corpus).text);
    return fail(err, VT_BAD_INPUT, "%s: its tokens are not those of the run to resume (the "
                "corpus had sha256 %.16s..., this file has %.16s...)", name.text,
                r->record.corpus_sha256, r->text.sha256);
}

/* What is worth a word about the files. */
static void note_files(run *r)
{
    const char *const *paths = r->o.corpus.files;
    r->record.replaced = 0;
    for (size_t i = 0; i < r->text.nfiles; i++) {
        const corpus_file *f = &r->text.files[i];
        const size_t same = corpus_same_file(&r->text, i);
        r->record.replaced += f->replaced;
        if (f->replaced > 0)
            note(r, "%.200s: replaced %zu invalid sequence%s by U+FFFD, the first at line %zu, byte "
                 "offset %zu", paths[i], f->replaced, f->replaced == 1 ? "" : "s", f->line, f->at);
        if (f->read_as) note(r, "%.200s: read as %s", paths[i], f->read_as);
        if (same < i)
            note(r, "%.150s: has the bytes of %.150s; its documents are there twice, and validation "
                 "may see what was learnt", paths[i], paths[same]);
    }
}

/* The files -> r->tokens, r->z, r->record. */
static vt_status read_data(run *r, vt_error *err)
{
    const vt_train_options *o = &r->o;
    char hash[65];
    team *crew = NULL;
    vt_status s = o->tokenizer ? tokenizer_given(&r->tokenizer, o->tokenizer, err) : VT_OK;
    if (s) return s;                    /* first: a refusal stands alone */
    note(r, "reading %s", corpus_record_name(&o->corpus).text);
    if ((s = team_new(&crew, r->threads, 64, 64, err)) ||
        (s = corpus_load(&r->text, &o->corpus, err)) ||
        (s = dataset_split_new(&r->split, &r->text, o->seed, err)))
        goto done;
    note_files(r);
    note(r, "corpus: %zu document%s, %zu bytes, sha256 %s", r->text.count,
         r->text.count == 1 ? "" : "s", r->text.bytes, r->text.sha256);
    if ((s = make_tokenizer(r, crew, err))) goto done;
    r->z = (gpt_config){ .L = o->layers, .C = o->d_model, .NH = o->heads, .FF = o->ff,
                         .T = o->context, .V = bpe_vocab(r->tokenizer), .tied = o->tied };
    if ((s = gpt_config_check(&r->z, err)) ||
        (s = dataset_encode(&r->tokens, &r->text, &r->split, r->tokenizer, crew, err)) ||
        (s = dataset_check(r->tokens.ntrain, (size_t)o->seq, "training", err)))
        goto done;
    dataset_sha256(hash, &r->tokens);
    if (o->resume && (s = compare_corpus(r, hash, err))) goto done;
    if ((s = corpus_record_new(&r->files, &r->text, err))) goto done;
    r->record.files = r->files;
    r->record.nfiles = r->text.nfiles;
    memcpy(r->record.corpus_sha256, r->text.sha256, 65);
    memcpy(r->record.tokens_sha256, hash, 65);
    r->record.documents = r->text.count;
    r->record.train_tokens = r->tokens.ntrain;
    r->record.val_tokens = r->tokens.nvalid;
    r->pairs.loss = (double)NAN;
    if (dataset_windows(r->tokens.nvalid, (size_t)o->seq, (size_t)o->seq) == 0)
        note(r, "validation: %zu tokens hold no window of %d + 1; there will be no validation "
             "loss", r->tokens.nvalid, o->seq);
    else s = bigram_best(&r->pairs, r->tokens.train, r->tokens.ntrain, r->tokens.valid,
                         r->tokens.nvalid, (size_t)o->seq, (size_t)r->z.V, err);
    corpus_free(&r->text);              /* tokens are all that is read from here on */
    dataset_split_free(&r->split);
done:
    team_free(crew);
    return s;
}

/* The folder, ours, without what a killed run left. */
static vt_status take_folder(run *r, vt_error *err)
{
    const long long every = r->o.save_every, stop = r->o.stop_at, steps = r->t.o.steps;
    const bool again = r->o.resume || (every > 0 && every < (stop > 0 && stop < steps ? stop : steps));
    vt_status s = run_folder_room(r->o.out, r->t.count, again, err);
    if (s || (s = io_mkdir(r->o.out, err))) return s;
    if (r->lock < 0 && ((s = lock_folder(r, err)) || (s = old_or_new(r, err)))) return s;
    if (r->lock < 0)
        note(r, "%s: cannot be locked; nothing keeps another training out of it", r->o.out);
    return run_folder_clean(r->o.out, err);
}

static vt_status begin(run *r, vt_error *err)
{
    const vt_train_options *o = &r->o;
    vt_status s = trainer_new(&r->t, o, &r->z, r->threads, r->tokens.train, r->tokens.ntrain,
                              r->tokens.valid, r->tokens.nvalid, err);
    if (s) return s;
    if (-o->warmup > r->t.o.warmup)
        note(r, "warm-up of %lld steps, all of the run, instead of %lld", r->t.o.warmup,
             -o->warmup);
    r->o.steps = r->t.o.steps;
    r->o.warmup = r->t.o.warmup;
    r->record.settings = r->t.o;
    snprintf(r->kernels, sizeof r->kernels, "%s", r->t.model.kernels->name);
    if (o->resume) {
        if (strcmp(r->kernels, r->record.kernels) != 0 && r->record.step < r->t.o.steps)
            note(r, "kernels: %s, and %s until step %lld; the bits will be those of neither alone",
                 r->kernels, r->record.kernels, r->record.step);
        const gpt_config *a = &r->old.z, *b = &r->z;
        if (a->L != b->L || a->C != b->C || a->NH != b->NH || a->FF != b->FF || a->T != b->T ||
            a->V != b->V || a->tied != b->tied)
            return fail(err, VT_BAD_INPUT, "%s: its sizes are not those of its settings and "
                        "tokenizer", r->old.path);
        memcpy(r->t.w, r->old.params, r->t.count * sizeof *r->t.w);
        if ((s = checkpoint_moments(&r->old, r->t.m, r->t.v, err))) return s;
        r->t.step = r->record.step;
        r->saved = r->record.step;
        r->old_bytes = r->old.state.content.len;
        checkpoint_close(&r->old);
    }
    if (!(r->groups = optimizer_groups(&r->t.update)))
        return fail(err, VT_TOO_LARGE, "out of memory: the list of groups");
    char *path = io_join(o->out, METRICS_NAME);
    if (!path) return fail_memory(err, strlen(o->out), "a file's name");
    if ((s = take_folder(r, err)) == VT_OK) s = metrics_open(&r->log, path, r->t.step, err);
    if (s == VT_OK && r->log.kept < (size_t)r->t.step)
        note(r, "%s: has %zu of the %lld steps until here; a curve of the losses will have a gap",
             path, r->log.kept, r->t.step);
    free(path);
    return s;
}

static vt_status plan_memory(run *r, vt_error *err)
{
    vt_memory m;
    const memory_plan_run how = { .threads = r->threads, .old_state = r->old_bytes,
                                  .tokens = r->tokens.ntrain + r->tokens.nvalid };
    const vt_status s = memory_plan(&m, &r->t.o, &r->z, &how, err);
    r->memory = m.memory;
    return s;
}

static void report_start(const run *r)
{
    vt_train_start start = {
        .documents = r->record.documents, .train_tokens = r->tokens.ntrain,
        .val_tokens = r->tokens.nvalid, .windows = r->t.train.windows,
        .parameters = r->t.count, .vocabulary = r->z.V, .merges = bpe_merges(r->tokenizer),
        .first_step = r->t.step, .steps = r->t.o.steps, .threads = r->threads,
        .isa = r->t.model.kernels->name, .bigram_loss = r->pairs.loss,
        .bigram_k = r->pairs.k, .memory_bytes = r->memory, .decay_groups = r->groups,
    };
    memcpy(start.corpus_sha256, r->record.corpus_sha256, 65);
    if (r->events->on_start) r->events->on_start(r->events->context, &start);
}

/* ---- saving ------------------------------------------------------------ */

/* What the model is to beat: no part of the run, and the same whenever it is computed. */
static void write_bigram(js_writer *w, const bigram *b)
{
    if (!isfinite(b->loss)) {
        js_field_null(w, "bigram");
        return;
    }
    js_key(w, "bigram");
    js_open_object(w);
    js_field_number(w, "loss", b->loss);
    js_field_number(w, "k", b->k);
    js_close_object(w);
}

static vt_status write_manifest(const run *r, char hashes[3][65], vt_error *err)
{
    const char *const all[MANIFEST_FILES] = { r->result->state_sha256, hashes[0], hashes[1], hashes[2] };
    char *path = io_join(r->o.out, MANIFEST_NAME);
    bytes text = { 0 };
    js_writer w;
    if (!path) return fail_memory(err, strlen(r->o.out), "a file's name");
    js_begin(&w, &text, JS_PRETTY);
    js_open_object(&w);
    manifest_write_build(&w);
    run_record_fields(&w, &r->record, &r->z);
    write_bigram(&w, &r->pairs);
    manifest_write_files(&w, all);
    js_close_object(&w);
    vt_status s = js_end(&w, err);
    if (s == VT_OK) s = io_replace(path, text.data, text.len, err);
    bytes_free(&text);
    free(path);
    return s;
}

/* The state first: everything else derives from it. */
static vt_status save(run *r, vt_error *err)
{
    const bool valid = r->t.valid.windows > 0;
    const size_t available = valid ? r->tokens.nvalid : r->tokens.ntrain;
    bytes text = { 0 };
    char hashes[3][65];
    r->record.step = r->t.step;
    vt_status s = run_record_write(&r->record, &r->z, &text, err);
    if (s) goto done;
    const checkpoint_parts parts = {
        .z = &r->z, .tensors = r->t.tensors, .ntensors = r->t.ntensors, .params = r->t.w,
        .m = r->t.m, .v = r->t.v, .run = (const char *)text.data,
        .tokenizer = (const char *)r->tokenizer_json.data,
        .window = valid ? r->tokens.valid : r->tokens.train,
        .nwindow = available < WINDOW_TOKENS ? available : WINDOW_TOKENS,
    };
    if ((s = checkpoint_write_state(r->o.out, &parts, r->result->state_sha256, err)) ||
        (s = checkpoint_write_model(r->o.out, &parts, hashes, err)) ||
        (s = write_manifest(r, hashes, err)))
        goto done;
    r->saved = r->t.step;
    memcpy(r->result->model_sha256, hashes[0], 65);
done:
    bytes_free(&text);
    return s;
}

/* ---- steps ------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first tenth of this run's steps warms caches and clocks up. */
static void keep_speed(run *r, long long done, long long planned, double speed)
{
    if (done <= planned / 10) return;
    r->speeds[r->nspeeds++ % SPEEDS] = speed;
}

static double median_speed(run *r)
{
    const size_t n = r->nspeeds < SPEEDS ? r->nspeeds : SPEEDS;
    if (n == 0) return (double)NAN;
    qsort(r->speeds, n, sizeof *r->speeds, by_value);
    return n % 2 ? r->speeds[n / 2] : (r->speeds[n / 2 - 1] + r->speeds[n / 2]) / 2;
}

static bool due(long long step, long long every)
{
    return every > 0 && step % every == 0;
}

static vt_status steps(run *r, vt_error *err)
{
    const vt_train_options *o = &r->o;
    const long long first = r->t.step, total = r->t.o.steps;
    const long long last = o->stop_at > 0 && o->stop_at < total ? o->stop_at : total;
    const bool has_valid = r->t.valid.windows > 0;
    const double start = clock_now();
    vt_status s = VT_OK;
    while (r->t.step < last) {
        const double before = clock_now();
        trainer_result step;
        if ((s = trainer_step(&r->t, &step, err))) return s;
        memcpy(r->record.kernels, r->kernels, sizeof r->kernels);
        const double after = clock_now(), speed = (double)step.tokens / (after - before);
        const bool at_end = r->t.step == last;
        const long long done = r->t.step - first;
        keep_speed(r, done, last - first, speed);
        vt_train_step told = { .step = r->t.step, .steps = total, .loss = step.loss,
            .val_loss = (double)NAN, .lr = step.lr, .grad_norm = step.grad_norm,
            .tokens_per_s = speed };
        if (has_valid && (r->t.step == total || due(r->t.step, o->eval_every))) {
            if ((s = trainer_validate(&r->t, &told.val_loss, err))) return s;
            r->val_loss = told.val_loss;
        }
        told.seconds = clock_now() - start;
        told.seconds_left = told.seconds / (double)done * (double)(last - r->t.step);
        r->result->loss = step.loss;
        if ((s = metrics_write(&r->log, &told, err))) return s;
        const bool stop = r->events->on_step && r->events->on_step(r->events->context, &told);
        if ((due(r->t.step, o->save_every) || stop || at_end) && (s = save(r, err))) return s;
        if (stop && !at_end)
            return fail(err, VT_INTERRUPTED, "stopped at step %lld of %lld; saved", r->t.step,
                        total);
    }
    /* A run resumed at its end writes what is there once more, for its hashes. */
    return r->saved == r->t.step && r->result->state_sha256[0] ? VT_OK : save(r, err);
}

static void finish(run *r, double start, vt_status s)
{
    vt_train_result *out = r->result;
    out->step = r->t.step;
    out->steps = r->t.o.steps;
    out->val_loss = r->val_loss;
    out->bigram_loss = r->pairs.loss;
    out->bigram_k = r->pairs.k;
    out->tokens_per_s = median_speed(r);
    out->seconds = clock_now() - start;
    out->parameters = r->t.count;
    out->finished = s == VT_OK && r->t.step >= r->t.o.steps;
    out->interrupted = s == VT_INTERRUPTED;
}

vt_status vt_train_stored(vt_train_options *o, const char *folder, vt_error *err)
{
    checkpoint c;
    run_record record;
    vt_status s = run_folder_old(folder, err);
    if (s || (s = checkpoint_open(&c, folder, err))) return s;
    if ((s = run_record_read(&record, c.run, c.path, err)) == VT_OK &&
             (s = vt_train_preset(o, record.settings.preset, err)) == VT_OK) {
        record.settings.epochs = o->epochs;             /* what is not stored: the preset's */
        record.settings.eval_every = o->eval_every;
        record.settings.save_every = o->save_every;
        record.settings.warmup = -record.settings.warmup;   /* another schedule may cut it */
        *o = record.settings;
        o->tokenizer_from = record.tokenizer_from;
    }
    checkpoint_close(&c);
    return s;
}

vt_status vt_train(const vt_train_options *o, const vt_train_events *events,
                   vt_train_result *result, vt_error *err)
{
    static const vt_train_events silent = { .context = NULL };
    vt_train_result unused;
    const double start = clock_now();
    run *r = calloc(1, sizeof *r);
    vt_status s;
    if (!r) return fail_memory(err, sizeof *r, "a run");
    r->o = *o;
    r->events = events ? events : &silent;
    /* cppcheck-suppress uninitvar ; all of it is assigned below */
    r->result = result ? result : &unused;
    *r->result = (vt_train_result){ .loss = (double)NAN, .val_loss = (double)NAN };
    r->log.file = r->lock = -1;
    r->val_loss = (double)NAN;
    r->saved = -1;
    r->threads = o->threads > 0 ? o->threads : cpu_count();
    if ((s = settings_check(o, err))) goto done;
    if (o->resume && o->tokenizer) {
        s = fail(err, VT_USAGE, "--tokenizer %.200s: the run to resume has its own; leave the "
                 "option out", o->tokenizer);
        goto done;
    }
    if (o->corpus.nfiles == 0 || !o->out) {
        s = fail(err, VT_USAGE, "%s: expected a path", o->corpus.nfiles ? "--out" : "--data");
        goto done;
    }
    if ((s = look_for_checkpoint(r, err)) || (s = read_data(r, err)) || (s = begin(r, err)) ||
        (s = plan_memory(r, err)))
        goto done;
    report_start(r);
    s = steps(r, err);
    finish(r, start, s);
    if (s == VT_NAN && err && r->saved >= 0) {
        vt_error why = *err;
        s = fail(err, s, "%.400s; %s keeps step %lld", why.text, o->out, r->saved);
    }
done:
    metrics_close(&r->log);
    io_unlock(&r->lock);
    trainer_free(&r->t);
    dataset_free(&r->tokens);
    bpe_free(r->tokenizer);
    bytes_free(&r->tokenizer_json);
    dataset_split_free(&r->split);
    corpus_free(&r->text);
    free(r->files);
    checkpoint_close(&r->old);
    free(r->groups);
    free(r);
    return s;
}

/* test_train.c -- vt_train as a library: a run that goes on, its schedule, what
 * it says.  The command's tests do the same through other processes.
 */
#include "support.h"
#include "scratch.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "model/checkpoint.h"
#include "vitrine.h"

enum { STEPS = 12, MOST = 64 };

static int make(void **state)
{
    char text[6000];
    size_t n = 0;
    uint64_t seed = 3;
    static const char *const words[] = { "the ", "sea ", "was ", "calm ", "and ", "grey, ", "once ", "more.\n" };
    if (scratch_make(state)) return 1;
    while (n < sizeof text - 8) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const char *word = words[seed >> 61];
        memcpy(text + n, word, strlen(word));
        n += strlen(word);
    }
    scratch_file("text.txt", text, n);
    scratch_file("letters.txt", "abcdefghijklmnopqrstuvwxyz0123456789", 36);
    return 0;
}

/* What a run said, step by step. */
typedef struct said { double loss[MOST], lr[MOST]; size_t n; char notes[2000]; } said;

static bool on_step(void *context, const vt_train_step *step)
{
    said *s = context;
    assert_true(s->n < MOST);
    s->loss[s->n] = step->loss;
    s->lr[s->n++] = step->lr;
    return false;
}

static void on_note(void *context, const char *line)
{
    said *s = context;
    const size_t used = strlen(s->notes);
    snprintf(s->notes + used, sizeof s->notes - used, "%s\n", line);
}

static vt_train_options options(const char *data, const char *out)
{
    static char paths[64][256];             /* scratch()'s last for eight calls */
    static const char *files[64];
    static size_t next;
    vt_train_options o;
    assert_ok(vt_train_preset(&o, "tiny", &test_error));
    snprintf(paths[next % 64], sizeof *paths, "%s", scratch(data));
    files[next % 64] = paths[next % 64];
    o.corpus = (vt_corpus){ .files = &files[next++ % 64], .nfiles = 1 };
    snprintf(paths[next % 64], sizeof *paths, "%s", scratch(out));
    o.out = paths[next++ % 64];
    o.layers = 1, o.d_model = 16, o.ff = 24, o.context = o.seq = 8, o.batch = 4, o.merges = 20;
    o.steps = STEPS, o.warmup = 3, o.threads = 1;
    return o;
}

static vt_status run(const vt_train_options *o, said *s, vt_train_result *r)
{
    const vt_train_events events = { s, on_note, NULL, on_step };
    *s = (said){ .n = 0 };
    return vt_train(o, &events, r, &test_error);
}

static void state_hash(const char *folder, char hash[65])
{
    bytes b;
    char name[64];
    snprintf(name, sizeof name, "%s/state.safetensors", folder);
    assert_ok(io_read(&b, scratch(name), SIZE_MAX / 4, &test_error));
    sha256_hex(hash, b.data, b.len);
    bytes_free(&b);
}

/* CKPT-01: stopped at every step once, then resumed: the losses and the files of
 * the run that was not. */
static void a_resumed_run_is_the_uninterrupted_one(void **state)
{
    (void)state;
    said whole, first, rest;
    vt_train_result want, r;
    vt_train_options o = options("text.txt", "whole");
    assert_ok(run(&o, &whole, &want));
    assert_true(want.finished && whole.n == STEPS && whole.loss[STEPS - 1] < whole.loss[0]);
    for (int stop = 1; stop < STEPS; stop++) {
        char out[16], hash[65];
        snprintf(out, sizeof out, "part%d", stop);
        o = options("text.txt", out);
        o.stop_at = stop;
        assert_ok(run(&o, &first, &r));
        assert_true(!r.finished && r.step == stop);
        o.stop_at = 0;
        o.resume = true;
        assert_ok(run(&o, &rest, &r));
        assert_true(r.finished && r.steps == STEPS);
        assert_int_equal(first.n + rest.n, STEPS);
        assert_memory_equal(first.loss, whole.loss, first.n * sizeof(double));
        assert_memory_equal(rest.loss, whole.loss + stop, rest.n * sizeof(double));
        assert_memory_equal(rest.lr, whole.lr + stop, rest.n * sizeof(double));
        assert_string_equal(r.state_sha256, want.state_sha256);
        assert_string_equal(r.model_sha256, want.model_sha256);
        state_hash(out, hash);
        assert_string_equal(hash, want.state_sha256);
    }
}

/* LR-03: the length of the schedule is the stored one, whatever the caller's
 * epochs would make; another is meant only with `reschedule`. */
static void the_schedule_keeps_its_length(void **state)
{
    (void)state;
    said s, whole;
    vt_train_result r, want;
    char before[65], after[65];
    vt_train_options o = options("text.txt", "kept");
    assert_ok(run(&o, &whole, &want));
    o = options("text.txt", "length");
    o.stop_at = 4;
    assert_ok(run(&o, &s, &r));
    state_hash("length", before);

    o.stop_at = 0;
    o.resume = true;
    o.steps = STEPS + 8;
    assert_int_equal(run(&o, &s, &r), VT_USAGE);
    assert_contains(test_error.text, "--steps 20: the run to resume has 12");
    assert_int_equal(s.n, 0);
    state_hash("length", after);
    assert_string_equal(after, before);

    o.steps = 0;                            /* not said: the stored */
    o.epochs = 3;
    assert_ok(run(&o, &s, &r));
    assert_int_equal(r.steps, STEPS);
    assert_int_equal(s.n, STEPS - 4);
    assert_string_equal(r.state_sha256, want.state_sha256);

    o.steps = STEPS + 8;
    o.reschedule = true;
    assert_ok(run(&o, &s, &r));
    assert_int_equal(r.steps, STEPS + 8);
    assert_int_equal(s.n, 8);
    for (size_t i = 1; i < s.n; i++) assert_true(s.lr[i] < s.lr[i - 1]);
}

/* LR-02: a preset's warm-up fits itself to a short run, and says so; one that was
 * asked for does not. */
static void a_presets_warm_up_fits_the_run(void **state)
{
    (void)state;
    said s;
    vt_train_result r;
    vt_train_options preset, o = options("text.txt", "short"), stored;
    assert_ok(vt_train_preset(&preset, "tiny", &test_error));
    o.batch = 64, o.seq = o.context = 32, o.steps = 0, o.epochs = 3;
    o.warmup = 49;
    assert_int_equal(run(&o, &s, &r), VT_USAGE);
    assert_contains(test_error.text, "--warmup 49: expected at most ");
    o.warmup = preset.warmup;
    assert_ok(run(&o, &s, &r));
    char want[100];
    assert_true(r.finished && r.steps > 3 && r.steps < 49);
    snprintf(want, sizeof want, "warm-up of %lld steps, all of the run, instead of 50\n", r.steps);
    assert_contains(s.notes, want);
    for (size_t i = 0; i < s.n; i++)                        /* lr.warmup */
        assert_near(s.lr[i], o.lr * (double)(i + 1) / (double)r.steps, 1e-18);
    assert_ok(vt_train_stored(&stored, o.out, &test_error));
    assert_int_equal(stored.warmup, -r.steps);
    o.resume = true;                        /* the preset's again: the same */
    assert_ok(run(&o, &s, &r));

    o = options("text.txt", "fits");
    o.steps = 50, o.warmup = preset.warmup;
    assert_ok(run(&o, &s, &r));
    assert_null(strstr(s.notes, "warm-up"));
}

/* LR-03: another schedule, asked for: not one that has ended already; the rates
 * may change with it, and a longer warm-up has a way out. */
static void another_schedule_is_whole(void **state)
{
    (void)state;
    said s;
    vt_train_result r;
    char before[65], after[65];
    vt_train_options o = options("text.txt", "again"), stored;
    o.steps = 20, o.warmup = 15, o.stop_at = 8;
    assert_ok(run(&o, &s, &r));
    state_hash("again", before);
    assert_ok(vt_train_stored(&stored, o.out, &test_error));
    stored.corpus = o.corpus, stored.out = o.out, stored.resume = true;
    o = stored;
    o.stop_at = 7;
    assert_int_equal(run(&o, &s, &r), VT_USAGE);
    assert_contains(test_error.text, "--stop-at 7: expected at least 8, the step that the run to "
                    "resume has reached");
    o = stored;
    o.lr = 1e-2;
    assert_int_equal(run(&o, &s, &r), VT_USAGE);
    assert_contains(test_error.text, "--lr 0.01: the run to resume has 0.001");
    o.reschedule = true;
    o.steps = 7;
    assert_int_equal(run(&o, &s, &r), VT_USAGE);
    assert_contains(test_error.text, "--steps 7: expected at least 8, the step that the run to "
                    "resume has reached");
    o.steps = 14, o.warmup = 15;
    assert_int_equal(run(&o, &s, &r), VT_USAGE);
    assert_contains(test_error.text, "--warmup 15: expected at most 14");
    state_hash("again", after);
    assert_string_equal(before, after);

    o = stored;                             /* the stored warm-up is cut */
    o.reschedule = true, o.steps = 14, o.stop_at = 9;
    assert_ok(run(&o, &s, &r));
    assert_contains(s.notes, "warm-up of 14 steps, all of the run, instead of 15");
    assert_int_equal(s.n, 1);
    assert_near(s.lr[0], o.lr * 9 / 14, 1e-18);
    o.stop_at = 0, o.steps = 12, o.warmup = 2, o.lr = 1e-2, o.lr_min = 5e-3;
    assert_ok(run(&o, &s, &r));
    assert_true(r.finished && s.n == 3);
    assert_near(s.lr[0], 5e-3 + 5e-3 * (1 + cos(acos(-1) * 7 / 10)) / 2, 1e-17);
    assert_ok(vt_train_stored(&stored, o.out, &test_error));
    assert_true(stored.lr == 1e-2 && stored.lr_min == 5e-3 && stored.warmup == -2 && stored.steps == 12);
}

/* What differs is said in words that the command takes. */
static void the_tie_has_two_names(void **state)
{
    (void)state;
    said s;
    vt_train_result r;
    vt_train_options o = options("text.txt", "tie");
    o.steps = 3, o.tied = false;
    assert_ok(run(&o, &s, &r));
    o.resume = o.tied = true;
    assert_int_equal(run(&o, &s, &r), VT_USAGE);
    assert_contains(test_error.text, "--tied: the run to resume is untied; leave the option out");
    o = options("text.txt", "tie2");
    o.steps = 3, o.tied = true;
    assert_ok(run(&o, &s, &r));
    o.resume = true, o.tied = false;
    assert_int_equal(run(&o, &s, &r), VT_USAGE);
    assert_contains(test_error.text, "--untied: the run to resume is tied; leave the option out");
}

/* A second run into the folder of one that is under way: at its first note, or
 * at its first step. */
typedef struct second {
    vt_train_options o;
    bool at_note;
    vt_status status;
    char error[600];
} second;

static void start_second(second *x)
{
    vt_error err = { "" };
    if (x->status != VT_CHECK_FAILED) return;
    x->status = vt_train(&x->o, NULL, NULL, &err);
    snprintf(x->error, sizeof x->error, "%s", err.text);
}

static void note_second(void *context, const char *line)
{
    second *x = context;
    (void)line;
    if (x->at_note) start_second(x);
}

static bool step_second(void *context, const vt_train_step *step)
{
    second *x = context;
    (void)step;
    if (!x->at_note) start_second(x);
    return false;
}

/* CKPT-05 */
static void one_run_at_a_time(void **state)
{
    (void)state;
    vt_train_options o = options("text.txt", "shared");
    for (int k = 0; k < 4; k++) {           /* the first new or resumed, the second too */
        second x = { .o = o, .status = VT_CHECK_FAILED };
        const vt_train_events events = { &x, note_second, NULL, step_second };
        if (k == 1) x.o = o = options("text.txt", "shared2");
        o.resume = k >= 2;
        x.o.resume = k & 1;
        o.stop_at = 2 + k;
        assert_ok(vt_train(&o, &events, NULL, &test_error));
        assert_int_equal(x.status, VT_IO);
        assert_contains(x.error, "another process is writing to this folder");
        assert_contains(x.error, o.out);
    }
    /* Both found no folder; the second was quicker. */
    o = options("text.txt", "raced");
    second x = { .o = o, .status = VT_CHECK_FAILED, .at_note = true };
    const vt_train_events events = { &x, note_second, NULL, step_second };
    char before[65], after[65];
    assert_int_equal(vt_train(&o, &events, NULL, &test_error), VT_USAGE);
    assert_int_equal(x.status, VT_OK);
    assert_contains(test_error.text, "raced/state.safetensors: a checkpoint is there already");
    state_hash("raced", before);
    assert_ok(vt_verify(o.out, &test_error));
    o.resume = true;                                        /* the lock is gone */
    assert_ok(vt_train(&o, NULL, NULL, &test_error));
    state_hash("raced", after);
    assert_string_equal(before, after);
}

/* CKPT-05 */
static void what_a_killed_run_left_is_removed(void **state)
{
    (void)state;
    static const struct { const char *name; bool ours; } rows[] = {
        { "state.safetensors.tmp-123-0", true }, { "metrics.jsonl.tmp-9-12", true },
        { "manifest.json.tmp-4194304-99", true }, { "config.json.tmp-1-1", true },
        { "model.safetensors.tmp-1-1", true }, { "tokenizer.json.tmp-1-1", true },
        { "state.safetensors.tmp-x-0", false }, { "state.safetensors.tmp-1-", false },
        { "state.safetensors.tmp--0", false }, { "state.safetensors.tmp-1-0.txt", false },
        { "notes.tmp-1-0", false }, { "state.safetensors.tmp-1", false },
        { "my.state.safetensors.tmp-1-0", false },
    };
    said s;
    vt_train_result r;
    char name[100];
    vt_train_options o = options("text.txt", "left");
    o.stop_at = 2;
    assert_ok(run(&o, &s, &r));
    for (int k = 0; k < 2; k++) {                           /* a refused run removes nothing */
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            snprintf(name, sizeof name, "left/%s", rows[i].name);
            scratch_file(name, "half", 4);
        }
        assert_ok(io_mkdir(scratch("left/state.safetensors.tmp-7-7"), &test_error));
        o.resume = k;
        assert_int_equal(run(&o, &s, &r), k ? VT_OK : VT_USAGE);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            snprintf(name, sizeof name, "left/%s", rows[i].name);
            const bool there = access(scratch(name), F_OK) == 0;
            if (there != !(rows[i].ours && k)) fail_msg("%s: there: %d", name, there);
        }
        assert_int_equal(access(scratch("left/state.safetensors.tmp-7-7"), F_OK), 0);
    }
    assert_ok(vt_verify(o.out, &test_error));
}

/* The same file read another way has the same hash: what differs is said. */
static void other_columns_and_rows_are_named(void **state)
{
    (void)state;
    char text[4000] = "text,other\n";
    for (int i = 0; i < 30; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "the sea %d was calm and grey,"
                 "once more the grey sea %d\n", i, i);
    scratch_file("two.csv", text, strlen(text));
    said s;
    vt_train_result r;
    vt_train_options o = options("two.csv", "two");
    o.steps = 2, o.warmup = 0;
    assert_ok(run(&o, &s, &r));
    o.resume = true;
    o.corpus.column = "other";
    assert_int_equal(run(&o, &s, &r), VT_BAD_INPUT);
    assert_contains(test_error.text, "two.csv: is the file of the run to resume, but its column or its "
                    "rows are others: they hold 30 documents and ");
    assert_contains(test_error.text, "the run had 30 and ");
    o.corpus.column = NULL, o.corpus.max_rows = 20;
    assert_int_equal(run(&o, &s, &r), VT_BAD_INPUT);
    assert_contains(test_error.text, "they hold 20 documents and ");
    o.corpus.max_rows = 0;
    o.corpus = options("text.txt", "two").corpus;
    assert_int_equal(run(&o, &s, &r), VT_BAD_INPUT);
    assert_contains(test_error.text, "its tokens are not those of the run to resume (the corpus had");
    o.corpus = options("two.csv", "two").corpus;
    assert_ok(run(&o, &s, &r));
}

/* Writes the state again with another text of its run, all hashes right. */
static void edit_run(const char *folder, const char *from, const char *to)
{
    st_file f;
    st_item items[200];
    char name[64], text[4000], seal[65];
    snprintf(name, sizeof name, "%s/state.safetensors", folder);
    assert_ok(st_open(&f, scratch(name), 1 << 24, &test_error));
    assert_true(f.count <= 200);
    for (size_t i = 0; i < f.count; i++) {
        const st_tensor *t = &f.tensors[i];
        items[i] = (st_item){ .name = t->name, .dtype = t->dtype, .rank = t->rank, .data = t->data };
        memcpy(items[i].shape, t->shape, sizeof t->shape);
    }
    const char *run_text = st_meta(&f, "run"), *words = st_meta(&f, "tokenizer");
    const char *at = strstr(run_text, from);
    if (!at) fail_msg("no %s in %s", from, run_text);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - run_text), run_text, to, at + strlen(from));
    assert_ok(checkpoint_seal(seal, text, words, items, f.count, &test_error));
    const st_pair meta[] = { { "format", st_meta(&f, "format") }, { "sha256", seal },
                             { "run", text }, { "tokenizer", words } };
    assert_ok(st_write(scratch(name), items, f.count, meta, 4, &test_error));
    st_close(&f);
}

/* The same machine may run other kernels tomorrow: what is claimed of bits is
 * claimed of kernels, which are named. */
static void other_kernels_are_named(void **state)
{
    (void)state;
    said s;
    vt_train_result r, whole;
    vt_train_options o = options("text.txt", "portable");
    char before[65], after[65];
    bytes b;
    o.isa = "portable";
    assert_ok(run(&o, &s, &whole));
    assert_ok(io_read(&b, scratch("portable/manifest.json"), 1 << 20, &test_error));
    assert_contains((const char *)b.data, "\"kernels\": \"portable\"");
    bytes_free(&b);
    edit_run("portable", "\"kernels\": \"portable\"", "\"kernels\": \"neon\"");
    state_hash("portable", before);
    o.resume = true;                        /* no step is left: nothing changes */
    assert_ok(run(&o, &s, &r));
    assert_null(strstr(s.notes, "kernels:"));
    state_hash("portable", after);
    assert_string_equal(before, after);

    o = options("text.txt", "kernels");
    o.isa = "portable", o.stop_at = 5;
    assert_ok(run(&o, &s, &r));
    edit_run("kernels", "\"kernels\": \"portable\"", "\"kernels\": \"neon\"");
    o.resume = true, o.stop_at = 7;
    assert_ok(run(&o, &s, &r));
    assert_contains(s.notes, "kernels: portable, and neon until step 5; the bits will be those of "
                    "neither alone\n");
    o.stop_at = 0;
    assert_ok(run(&o, &s, &r));
    assert_null(strstr(s.notes, "kernels:"));
    assert_string_equal(r.state_sha256, whole.state_sha256);
    edit_run("kernels", "\"kernels\": \"portable\"", "\"kernels\": \"sixteen letters.\"");
    assert_int_equal(run(&o, &s, &r), VT_BAD_INPUT);
    assert_contains(test_error.text, "field \"kernels\"");
}

/* A stored option that no run can have is a fault of the file, not of the
 * command, for whoever reads it. */
static void what_no_run_can_have_stored_is_refused(void **state)
{
    (void)state;
    static const struct { const char *from, *to, *part; } rows[] = {
        { "\"beta1\": 0.9", "\"beta1\": 1.9", "field \"settings\": --beta1 1.9: expected" },
        { "\"seq\": 8", "\"seq\": 9", "field \"settings\": --seq 9: expected at most --context 8" },
        { "\"lr\": 0.001", "\"lr\": 0.00001", "--lr-min 0.0001: expected" },
        { "\"step\": 12", "\"step\": 13", "\"step\": 13: expected at most the run's 12 steps" },
        { "\"steps\": 12", "\"steps\": 11", "\"step\": 12: expected at most the run's 11 steps" },
        { "\"n_head\": 2", "\"n_head\": 4", "its sizes are not those of its settings" },
    };
    said s;
    vt_train_result r;
    vt_train_options o = options("text.txt", "stored"), stored;
    vt_model *m;
    assert_ok(run(&o, &s, &r));
    o.resume = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        edit_run("stored", rows[i].from, rows[i].to);
        assert_int_equal(run(&o, &s, &r), VT_BAD_INPUT);
        assert_contains(test_error.text, "stored/state.safetensors: ");
        assert_contains(test_error.text, rows[i].part);
        assert_int_equal(s.n, 0);
        if (strstr(rows[i].part, "field") || strstr(rows[i].part, "step")) {
            assert_int_equal(vt_train_stored(&stored, o.out, &test_error), VT_BAD_INPUT);
            assert_contains(test_error.text, rows[i].part);
            assert_int_equal(vt_model_open(&m, o.out, 1, NULL, &test_error), VT_BAD_INPUT);
            assert_contains(test_error.text, rows[i].part);
        }
        edit_run("stored", rows[i].to, rows[i].from);
    }
    assert_ok(run(&o, &s, &r));
}

/* The list of files that a run of several has. */
static void files_that_are_no_list_are_refused(void **state)
{
    (void)state;
    static const struct { const char *from, *to, *part; } rows[] = {
        { "\"files\": [", "\"files\": [[], ", "expected" },
        { "\"files\": [", "\"files\": 5, \"x\": [", "field \"files\": expected" },
        { "\"documents\": 1", "\"documents\": -1", "field \"documents\"" },
        { "[{\"sha256\": \"", "[{\"sha256\": \"X", "field \"sha256\": expected 64 hexadecimal digits" },
    };
    said s;
    vt_train_result r;
    vt_model *m;
    vt_train_options o = options("text.txt", "files"), other = options("letters.txt", "files");
    const char *const both[] = { o.corpus.files[0], other.corpus.files[0] };
    o.corpus = (vt_corpus){ .files = both, .nfiles = 2 };
    assert_ok(run(&o, &s, &r));
    o.resume = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        edit_run("files", rows[i].from, rows[i].to);
        assert_int_equal(run(&o, &s, &r), VT_BAD_INPUT);
        assert_contains(test_error.text, rows[i].part);
        assert_int_equal(vt_model_open(&m, o.out, 1, NULL, &test_error), VT_BAD_INPUT);
        edit_run("files", rows[i].to, rows[i].from);
    }
    assert_ok(run(&o, &s, &r));
}

/* CKPT-04: neither trained on nor given a new hash. */
static void a_damaged_state_stays_as_it_is(void **state)
{
    (void)state;
    said s;
    vt_train_result r;
    vt_train_options o = options("text.txt", "damaged");
    bytes b;
    char before[65], after[65];
    o.stop_at = 4;
    assert_ok(run(&o, &s, &r));
    assert_ok(io_read(&b, scratch("damaged/state.safetensors"), 1 << 24, &test_error));
    b.data[b.len / 2] ^= 1;
    scratch_file("damaged/state.safetensors", b.data, b.len);
    bytes_free(&b);
    state_hash("damaged", before);
    o.stop_at = 0;
    o.resume = true;
    assert_int_equal(run(&o, &s, &r), VT_BAD_INPUT);
    assert_contains(test_error.text, "damaged/state.safetensors: is damaged: its contents have sha256");
    assert_int_equal(s.n, 0);
    state_hash("damaged", after);
    assert_string_equal(before, after);
    assert_int_equal(vt_verify(o.out, &test_error), VT_BAD_INPUT);
}

/* TOK-01: fewer merges than asked for are said. */
static void missing_merges_are_said(void **state)
{
    (void)state;
    said s;
    vt_train_result r;
    vt_train_options o = options("letters.txt", "letters");
    o.merges = 44;
    assert_ok(run(&o, &s, &r));
    assert_contains(s.notes, "tokenizer: 0 merges instead of 44: no other pair occurs twice\n");
    o = options("text.txt", "words");
    assert_ok(run(&o, &s, &r));
    assert_null(strstr(s.notes, "instead of"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resumed_run_is_the_uninterrupted_one),
        cmocka_unit_test(the_schedule_keeps_its_length),
        cmocka_unit_test(a_presets_warm_up_fits_the_run),
        cmocka_unit_test(another_schedule_is_whole),
        cmocka_unit_test(the_tie_has_two_names),
        cmocka_unit_test(one_run_at_a_time),
        cmocka_unit_test(what_a_killed_run_left_is_removed),
        cmocka_unit_test(other_kernels_are_named),
        cmocka_unit_test(other_columns_and_rows_are_named),
        cmocka_unit_test(what_no_run_can_have_stored_is_refused),
        cmocka_unit_test(files_that_are_no_list_are_refused),
        cmocka_unit_test(a_damaged_state_stays_as_it_is),
        cmocka_unit_test(missing_merges_are_said),
    };
    return cmocka_run_group_tests(tests, make, scratch_remove);
}

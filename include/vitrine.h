/* vitrine.h -- the public API of libvitrine, and its manual.
 *
 * Contents, in the order of this file:
 *
 *   versions       vt_version, vt_isa
 *   texts          (vt_corpus: what is read, and how)
 *   training       vt_train_preset, vt_train_stored   the options of a run
 *                  vt_train           trains a GPT on a text and keeps its checkpoint
 *   memory         vt_memory_plan     what a training takes, before anything is allocated
 *   curve          vt_plot            the losses of trainings as SVG
 *   models         vt_model_open, vt_model_close
 *                  vt_info, vt_seq, vt_tensor   what a model is
 *                  vt_verify          whether its files belong together
 *   tokens         vt_tokenize        text to ids; vt_piece: an id's bytes
 *   generation     vt_generate, vt_generate_defaults   continues a prompt
 *                  vt_generate_memory what that takes
 *   training text  vt_training_text_open, vt_training_text_close
 *                  vt_novelty         how much of a text is copied from it
 *   evaluation     vt_evaluate, vt_evaluate_defaults   loss, perplexity and bits per byte
 *                                     of a model on a text
 *   proof          vt_check, vt_check_defaults, vt_check_free   the gradients of a model,
 *                                     by complex step
 *   operators      vt_op_name         those that can be checked
 *                  vt_check_kernel, vt_kernel_defaults   your function
 *                  vt_check_dump, vt_dump_defaults   tensors out of any program
 *                  vt_op_report_free
 *                  vt_check_self_test, vt_self_report_free   the proof itself
 *   others         vt_check_write, vt_op_write   what is proven, for another program
 *   windows        vt_window_write, vt_window_defaults   every tensor of a model on a
 *                                     text, or some of them, as a file
 *   site           vt_export          the same for a site; vt_export_verify: that it is
 *                                     what it says
 *                  vt_site            the whole site
 *   code lab       vt_lab, vt_lab_defaults   attention and its gradient by hand, checked
 *                  vt_lab_compare     with another program; vt_lab_dump: as a file
 *   exercises      vt_exercises       lists them
 *                  vt_grade           grades one; vt_grade_verdict_name
 *   speed          vt_bench, vt_bench_free   what this machine can do, and how near the
 *                                     kernels, a training step and generation come to it,
 *                                     each verified before it is timed
 *                  vt_bench_case      what may be measured
 *
 * Link with libvitrine.a, jansson, libmd, zlib, pthread and libm.
 *
 * Every fallible function returns a vt_status and, where the caller passes a
 * vt_error, writes one line that says what was wrong, where, and what was
 * expected.  The library never prints, exits, or reads the environment.
 */
#ifndef VITRINE_H
#define VITRINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VT_MUST_CHECK __attribute__((warn_unused_result))
#define VT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define VT_MUST_CHECK
#define VT_PRINTF(text, first)
#endif

/* The command's exit codes are these numbers. */
typedef enum vt_status {
    VT_OK           = 0,
    VT_CHECK_FAILED = 1,   /* a gradient check found a difference */
    VT_USAGE        = 2,   /* an option or argument cannot be used */
    VT_BAD_INPUT    = 3,   /* a file or text is not what it should be */
    VT_IO           = 4,   /* reading or writing failed */
    VT_TOO_LARGE    = 5,   /* sizes overflow or exceed memory */
    VT_NAN          = 6,   /* NaN or Inf in a gradient or loss: step refused */
    VT_INTERRUPTED  = 130  /* stopped by a signal; state was saved */
} vt_status;

/* One line of explanation, without a newline. */
typedef struct vt_error {
    char text[600];
} vt_error;

/* The target that cross-entropy does not count. */
#define VT_IGNORE (-1)

/* ---- versions ---------------------------------------------------------- */

typedef struct vt_version_info {
    const char *version;        /* "0.1.0" */
    const char *commit;         /* of the sources; "-modified" where they differ */
    const char *build;          /* compiler, its version, the kind of build, flags */
    const char *isa;            /* kernels that this processor gets by default */
} vt_version_info;

vt_version_info vt_version(void);

/* Kernels that this processor runs, the best first; NULL behind the last, "portable". */
const char *vt_isa(size_t i);

/* ---- texts ------------------------------------------------------------- */

/* A text to read: files in the order given, and how.  By its name's end a file is
 *     .csv, .tsv           CSV (RFC 4180): a record's cell in one column is a document
 *     .jsonl, .ndjson      JSON Lines: a line's text in one field is a document
 *     .json                refused
 *     anything else        CSV where `column` is given, otherwise one document
 * All of it is UTF-8, without NUL bytes.  Strings are the caller's and must outlive the call
 * (docs/corpora.md). */
typedef struct vt_corpus {
    const char *const *files;   /* nfiles paths */
    size_t      nfiles;
    const char *column;         /* the column's name or, where no column has it, its
                                   number from 1; the field's name; NULL: "text" */
    size_t      max_rows;       /* records to read, of all files together; 0 = all */
    bool        replace_invalid;    /* what is no UTF-8 becomes U+FFFD; false: refused */
    bool        no_header;      /* a CSV's first line is data; column NULL: the first */
    const char *separator;      /* of a CSV's cells: one ASCII character, or "tab"; NULL: a
                                   comma, in a .tsv a tab */
} vt_corpus;

/* ---- training ---------------------------------------------------------- */

/* Everything a run is determined by.  vt_train_preset() fills it; change what
 * should differ.  Strings are the caller's and must outlive the call. */
typedef struct vt_train_options {
    const char *preset;         /* its name, for the manifest */
    vt_corpus corpus;           /* what is learnt from */
    /* model; the vocabulary is 256 + merges + 1 */
    int  layers, d_model, heads, ff, context;
    bool tied;                  /* the head is the token embedding */
    const char *init;           /* "xavier" or "gpt2" */
    const char *activation;     /* "gelu_new" (the tanh form); others are refused */
    int  merges;
    const char *tokenizer;      /* a tokenizer.json, or a folder with one, that is taken
                                   instead of learning `merges`; NULL: none */
    const char *tokenizer_from; /* said by vt_train_stored: "corpus", "given"; NULL: not
                                   known.  vt_train does not read it */
    /* batches */
    int  seq;                   /* tokens of a window, at most context */
    int  stride;                /* between the starts of windows; 0 = seq */
    int  batch;                 /* windows of a micro-batch */
    int  accumulate;            /* micro-batches of a step */
    /* schedule: `steps` wins over `epochs` where it is above 0 */
    long long steps;
    int    epochs;
    double lr, lr_min;
    long long warmup;           /* steps, at most the run's; below 0: -warmup, or
                                   as many as the run has (and a note) */
    /* AdamW (Loshchilov, Hutter 2019) */
    double beta1, beta2, eps, decay, clip;
    uint64_t seed;
    /* the run */
    long long eval_every;       /* steps between validations; 0 = at the end */
    long long save_every;       /* steps between saves; 0 = at the end */
    int  threads;               /* 0 = all cores; results do not depend on it */
    bool recompute;             /* a layer's activations are computed twice, not kept:
                                   less memory, more time; results do not depend on it */
    const char *isa;            /* kernels: NULL = the best; each have their own bits */
    const char *out;            /* the checkpoint's folder */
    long long stop_at;          /* save and end at this step; 0 = run through */
    bool resume;                /* go on from the checkpoint in `out` */
    bool reschedule;            /* with resume: another schedule is meant (steps, lr,
                                   lr_min, warmup); not one that ends before the
                                   step reached */
} vt_train_options;

/* "tiny" (the teaching configuration), "default", or "gpt2" (GPT-2's smallest, 124
 * million parameters with GPT-2's tokenizer).  VT_USAGE for another. */
VT_MUST_CHECK vt_status vt_train_preset(vt_train_options *o, const char *name, vt_error *err);

/* The options of the checkpoint in `folder`, to resume it: change nothing that
 * determines the run, set corpus, out, resume and the run's options. */
VT_MUST_CHECK vt_status vt_train_stored(vt_train_options *o, const char *folder, vt_error *err);

/* What is known before the first step. */
typedef struct vt_train_start {
    size_t documents, train_tokens, val_tokens, windows, parameters;
    int    vocabulary, merges;      /* merges: fewer than asked for where no
                                       pair occurs twice */
    long long first_step, steps;    /* first_step > 0 after resume */
    int    threads;
    const char *isa;
    char   corpus_sha256[65];
    double bigram_loss, bigram_k;   /* best add-k bigram on the validation tokens */
    size_t memory_bytes;            /* at most, the old checkpoint's counted */
    const char *decay_groups;       /* one line a group: which tensors, how many */
} vt_train_start;

typedef struct vt_train_step {
    long long step, steps;          /* steps done, of */
    double loss;                    /* nats per token of this step's batch */
    double val_loss;                /* NaN where it was not measured */
    double lr, grad_norm;
    double tokens_per_s, seconds, seconds_left;
} vt_train_step;

typedef struct vt_train_result {
    long long step, steps;
    double loss, val_loss;          /* of the last step; NaN: none */
    double bigram_loss, bigram_k;
    double tokens_per_s;            /* median over steps, after the first tenth */
    double seconds;
    size_t parameters;
    bool   finished, interrupted;   /* not both; neither after stop_at */
    char   state_sha256[65], model_sha256[65];
} vt_train_result;

/* Any member may be NULL.  on_step returning true asks to save and stop. */
typedef struct vt_train_events {
    void *context;
    void (*on_note)(void *context, const char *line);       /* what it is doing */
    void (*on_start)(void *context, const vt_train_start *start);
    bool (*on_step)(void *context, const vt_train_step *step);
} vt_train_events;

/* Trains and leaves in o->out: state.safetensors (the checkpoint),
 * model.safetensors, config.json, tokenizer.json, manifest.json and
 * metrics.jsonl (docs/formats.md).  An old checkpoint there is refused
 * unless `resume` is set, and so is a folder that another run is writing to (VT_IO).
 * A resumed run ends with the bits of an uninterrupted one, with any number of
 * threads, where the kernels are the same: other instruction sets (isa) round in
 * another order.  The checkpoint names its kernels; on_note says where they differ.
 * VT_NAN: a step had NaN or Inf; it was not taken, the last save stays.
 * VT_INTERRUPTED after on_step asked to stop: state was saved. */
VT_MUST_CHECK vt_status vt_train(const vt_train_options *o, const vt_train_events *events,
                                 vt_train_result *result, vt_error *err);

/* ---- memory: the plan before anything is allocated ------------------------ */

enum { VT_MEMORY_ROWS = 32 };

typedef enum vt_memory_kind {
    VT_MEMORY_HELD,                 /* from the first step to the last */
    VT_MEMORY_PASSING,              /* at the beginning, or while it saves: only the largest
                                       of these counts */
    VT_MEMORY_DISK,                 /* a file of the folder */
    VT_MEMORY_DISK_PASSING          /* one beside it, until it takes its place */
} vt_memory_kind;

typedef struct vt_memory_row {
    char name[56];                  /* "gradients"; "activations: attention" */
    vt_memory_kind kind;
    size_t bytes;
} vt_memory_row;

typedef struct vt_memory {
    vt_memory_row rows[VT_MEMORY_ROWS];
    size_t nrows;
    size_t memory;                  /* what is held, and the largest of what passes */
    size_t disk;                    /* at most, during a save */
    size_t machine;                 /* memory there is; 0: not known */
    size_t parameters;
    int    vocabulary, threads;
    char   lever[32];               /* "--batch 4": what saves most, and the model stays the
                                       same; "" where nothing does */
    size_t lever_memory;            /* `memory` with it */
} vt_memory;

/* What vt_train(o) takes, computed by the functions that size its blocks.  Not in it: the
 * program itself, and what reads the corpus before the first step and is released then.
 * `tokens`: of the corpus, 4 bytes each; 0: left out.  Nothing is read, but the tokenizer
 * where o->tokenizer names one; otherwise the vocabulary is as large as o->merges says.
 * With o->resume, the old state beside it.  Also where it exceeds the machine's memory.
 * VT_USAGE: an option; VT_TOO_LARGE: the sizes overflow. */
VT_MUST_CHECK vt_status vt_memory_plan(const vt_train_options *o, size_t tokens,
                                       vt_memory *out, vt_error *err);

/* ---- the curve of a training ---------------------------------------------- */

/* Draws metrics.jsonl of 1 to 8 folders as SVG into the file `path`, which is replaced by
 * one rename: the loss of each step, smoothed, of the validation part, those of a blind
 * guess and of the best bigram model where manifest.json says them, and the learning rate;
 * several runs over one another.  log_steps: a logarithmic axis of steps.  The same metrics give the same
 * bytes.  VT_BAD_INPUT names the line that is none, or a folder without steps; VT_IO. */
VT_MUST_CHECK vt_status vt_plot(const char *const *folders, size_t n, bool log_steps,
                                const char *path, vt_error *err);

/* ---- models ------------------------------------------------------------ */

typedef struct vt_model vt_model;

/* Reads a folder that vt_train wrote, or one with model.safetensors,
 * config.json and tokenizer.json in Hugging Face's GPT-2 formats.
 * threads: 0 = all cores; isa: NULL = the best kernels of this processor. */
VT_MUST_CHECK vt_status vt_model_open(vt_model **out, const char *folder, int threads,
                                      const char *isa, vt_error *err);
void vt_model_close(vt_model *m);       /* also NULL */

typedef struct vt_info_data {
    int    layers, d_model, heads, ff, context, vocabulary, merges, seq;
    bool   seq_known;               /* false: seq is context, since neither a state nor a
                                       manifest says the windows of the training */
    bool   tied;
    size_t parameters, tensors;
    long long step, steps;          /* -1: not known (a foreign checkpoint) */
    uint64_t seed;
    const char *isa;                /* kernels in use */
    int    threads;
    const char *activation;
    char   corpus_sha256[65], tokenizer_sha256[65], state_sha256[65];   /* "" unknown */
    const char *tokenizer_from;     /* "corpus": learnt from it; "given"; NULL: not known */
} vt_info_data;

/* Takes the sha256 of the whole state. */
void vt_info(const vt_model *m, vt_info_data *out);

/* The window that the model was trained on, in tokens; *known false: no file says it, and
 * it is all its positions. */
int vt_seq(const vt_model *m, bool *known);

/* Compares the files of a folder with the sha256 that its manifest.json gives.
 * VT_BAD_INPUT names the first that differs; VT_IO where there is no manifest. */
VT_MUST_CHECK vt_status vt_verify(const char *folder, vt_error *err);

typedef struct vt_tensor_info {
    const char *name, *file_name;   /* the model's; valid while it is open */
    int    rows, cols;              /* rows 1 and is_vector: rank 1 */
    bool   is_vector, decay;
    size_t count;
} vt_tensor_info;

/* Tensor i of 0 .. vt_info_data.tensors - 1, in the order of tensors.def. */
vt_tensor_info vt_tensor(const vt_model *m, size_t i);

/* ---- tokens ------------------------------------------------------------ */

/* Token ids of n bytes of text, which never become a special token.  *ids is
 * allocated: free() it. */
VT_MUST_CHECK vt_status vt_tokenize(const vt_model *m, const void *text, size_t n,
                                    int **ids, size_t *count, vt_error *err);
/* The bytes of a token (not ended by NUL), NULL for an id that is none; *length, where
 * length is not NULL, becomes their number. */
const unsigned char *vt_piece(const vt_model *m, int id, size_t *length);

/* ---- generation -------------------------------------------------------- */

typedef struct vt_generate_options {
    const char *prompt;
    size_t   prompt_length;         /* bytes */
    int      max_tokens;            /* per sample */
    double   temperature;           /* 0 = the most probable token */
    int      top_k;                 /* 0 = off */
    double   top_p;                 /* 1 = off */
    uint64_t seed;
    int      samples;
    int      first_sample;          /* number of the first; its random numbers
                                       depend on the seed and this number */
} vt_generate_options;

/* max_tokens 50, temperature 0.7, top_k 0, top_p 0.8, seed 42, 1 sample (0). */
void vt_generate_defaults(vt_generate_options *o);

/* Whole characters of the continuation as they are decided (the prompt is not
 * repeated); bytes that are no UTF-8 become U+FFFD.  Returning true stops. */
typedef bool vt_text_sink(void *context, int sample, const char *text, size_t n);

/* Ends a sample at max_tokens or at <|endoftext|>.  An empty prompt starts
 * after <|endoftext|>.  Each token beyond the window that the model was trained
 * on comes from a fresh forward pass over the last window.  *tokens (may be
 * NULL) is the number drawn in all. */
VT_MUST_CHECK vt_status vt_generate(vt_model *m, const vt_generate_options *o,
                                    vt_text_sink *sink, void *context,
                                    size_t *tokens, vt_error *err);

/* What that takes, the opened model counted. */
VT_MUST_CHECK vt_status vt_generate_memory(const vt_model *m, vt_memory *out, vt_error *err);

/* ---- the text that a model learnt from, and what is copied from it ---------- */

/* The documents that a model learnt from, read again. */
typedef struct vt_training_text vt_training_text;

/* Of the text `what`, as in training (all rows may be given where max_rows took the
 * first ones); what validates is left out.  VT_BAD_INPUT where a file or the column is
 * not the one it was trained on: its tokens are compared; or where the model does not
 * say which (a foreign checkpoint). */
VT_MUST_CHECK vt_status vt_training_text_open(vt_training_text **out, const vt_model *m,
                                              const vt_corpus *what, vt_error *err);
void vt_training_text_close(vt_training_text *t);       /* also NULL */

/* How much of a text is the training text. */
typedef struct vt_novelty_report {
    size_t words, known;            /* words of the text; those that occur there */
    double share;                   /* known / words; 1 where there is no word */
    size_t longest;                 /* characters of the longest copied run */
    size_t run_start, run_length;   /* that run: bytes of the text */
} vt_novelty_report;

VT_MUST_CHECK vt_status vt_novelty(const vt_training_text *t, const void *text, size_t n,
                                   vt_novelty_report *out, vt_error *err);

/* ---- evaluation: how well a model predicts a text ------------------------- */

typedef struct vt_evaluate_options {
    int  seq;                       /* tokens of a window; 0: as it was trained */
    int  stride;                    /* between the starts of windows; 0: seq; less: every
                                       token has more context, and it takes longer */
    bool whole;                     /* whole windows only, as the validation of a training:
                                       up to seq tokens at the end are left out */
} vt_evaluate_options;

/* All 0. */
void vt_evaluate_defaults(vt_evaluate_options *o);

typedef struct vt_evaluate_report {
    size_t documents, bytes;        /* of the text */
    size_t tokens;                  /* of it, one <|endoftext|> a document counted */
    size_t windows;
    int    seq, stride;             /* as they were used */
    size_t predicted;               /* tokens: all but the first, or with `whole` some less */
    size_t predicted_bytes;         /* that they spell; <|endoftext|> spells none */
    double nats;                    /* -ln p of the predicted tokens, summed */
    double loss;                    /* nats / predicted */
    double perplexity;              /* exp(loss) */
    double bits_per_byte;           /* nats / ln 2 / predicted_bytes: does not depend on the
                                       tokenizer; the ends of documents cost nats too */
    double uniform;                 /* ln V: the loss of a blind guess */
    size_t files, training_files;   /* of the text; those with the sha256 of one that the model
                                       was trained on */
    char   corpus_sha256[65];
    const char *read_as;            /* how a file was read whose name does not say, e.g. "plain
                                       text, 1 document"; NULL: all names do */
    size_t read_as_file;            /* the first such */
} vt_evaluate_report;

/* Tokens predicted so far; true stops (VT_INTERRUPTED). */
typedef bool vt_evaluate_progress(void *context, size_t done, size_t of);

/* Loss on a text.  Documents are encoded as in training: each alone, <|endoftext|> behind
 * it, joined; windows may cross them.  Windows start at 0, stride, 2 stride ...; each
 * predicts the token behind each of its own, and those count that no earlier window
 * predicted: every token but the first, once.  The same bits with any number of threads.
 * VT_USAGE: seq or stride; VT_BAD_INPUT, VT_IO: the text; VT_NAN: the model. */
VT_MUST_CHECK vt_status vt_evaluate(const vt_model *m, const vt_corpus *what,
                                    const vt_evaluate_options *o,
                                    vt_evaluate_progress *progress, void *context,
                                    vt_evaluate_report *out, vt_error *err);

/* ---- proof ------------------------------------------------------------- */

typedef struct vt_check_options {
    bool     every;                 /* every entry, not `entries` of each tensor */
    bool     directions;            /* none: only one random direction of each tensor */
    bool     full;                  /* each entry's derivative by running all that lies
                                       above it, not by the chain rule: for proof */
    int      entries;
    int      batch, seq;            /* windows of seq tokens from the first
                                       validation tokens; 0: 2 x 8, or what the
                                       model and its window hold */
    uint64_t seed;                  /* of the directions and the entries */
    int      differences;           /* of those, entries also compared with adaptive
                                       finite differences; 0: none; below 0: 4, or 1
                                       of a large model (250,000 parameters) */
} vt_check_options;

/* 64 entries of each tensor, differences -1, batch 0, seq 0, seed 42. */
void vt_check_defaults(vt_check_options *o);

enum { VT_CHECK_NAME = 64, VT_CHECK_PLACE = 160, VT_CHECK_NOTES = 16 };

/* Which of two gradients _Float128 (33 digits) agrees with, where they differ. */
typedef enum vt_arbiter {
    VT_ARBITER_NONE,                /* not asked, or a build without _Float128 */
    VT_ARBITER_FOUND,               /* the hand-written gradient is right */
    VT_ARBITER_EXPECTED,            /* the complex step is right */
    VT_ARBITER_NEITHER
} vt_arbiter;

typedef struct vt_check_row {
    const char *name;               /* the tensor */
    size_t compared, of;
    double worst;                   /* largest |found - expected| / tensor's largest
                                       gradient, definitions against complex step */
    double budget_used;             /* largest error as a share of its bound */
    double fast_budget_used;        /* the fast float kernels' gradient likewise,
                                       against the definitions in double */
    size_t worst_entry;
    double expected, found;         /* there: complex step, definitions */
    char   worst_place[VT_CHECK_PLACE];     /* "layer 1, head 0, Wq, row 3 ..." */
    size_t fast_entry;              /* where the fast gradient is farthest off */
    double fast_expected, fast_found;   /* there: definitions, fast kernels */
    char   fast_place[VT_CHECK_PLACE];
    /* By adaptive finite differences, each within its own error bar. */
    size_t differences_compared;    /* of the entries above */
    size_t differences_resolved;    /* where the bar is below the derivative; of the
                                       others only that they are this small is known */
    double differences_budget_used;
    size_t differences_entry;       /* where the largest share is */
    double differences_value, differences_bar, differences_found;
    char   differences_place[VT_CHECK_PLACE];
    /* Along one random direction of all its entries: the whole model run once. */
    double direction_expected, direction_found, direction_budget_used;
    vt_arbiter arbiter;             /* of worst_entry, where that fails */
    double arbiter_value;           /* its derivative; NaN where not asked */
    bool   pass;
} vt_check_row;

/* <v, J u> = <J^T v, u> of one part, its parameters among its inputs. */
typedef struct vt_check_layer {
    char   name[VT_CHECK_NAME];     /* "embedding", "layer 0", "head" */
    double expected, found;         /* J u by complex step; J^T v by hand */
    double budget_used;
    bool   pass;
} vt_check_layer;

/* Equal bit for bit, or exactly 0. */
typedef struct vt_check_exact {
    char   name[VT_CHECK_NAME];
    size_t compared;                /* numbers; 0: the window cannot tell */
    char   detail[VT_CHECK_PLACE];  /* where it fails, or why nothing was compared */
    bool   pass;                    /* false where a number fails */
} vt_check_exact;

/* What kind of fault explains what fails; kind "" where none was looked for. */
typedef struct vt_op_diagnosis {
    char kind[32];                  /* "scale_missing" */
    char other[32];                 /* another that explains it as well, or "" */
    char sentence[240], hint[240], location[240];
} vt_op_diagnosis;

typedef struct vt_check_report {
    bool   pass;
    size_t compared, of;            /* entries, over all tensors */
    double worst;                   /* over all tensors */
    double loss;                    /* of the window, double */
    double direction_expected, direction_found, direction_budget_used;
    int    batch, seq;              /* as they were used */
    uint64_t seed;
    const char *isa;
    vt_check_row *rows;             /* in tensors' order; vt_check_free() */
    size_t nrows, failed;           /* failed: rows that do not pass */
    vt_check_layer *layers;         /* in the order of the forward pass */
    size_t nlayers;
    vt_check_exact *exact;
    size_t nexact;
    /* What made the check unable to tell, and what was done about it: a second
     * point, at which all is compared again; numbers above are the worse of both. */
    char   notes[VT_CHECK_NOTES][2 * VT_CHECK_PLACE];
    size_t nnotes;
    /* Where a gradient fails: which fault explains it, and whose gradient that is:
     * "definitions", or the fast kernels' name; NULL where none fails.  kind "": the
     * sentence says why there is none ("too large to diagnose": more than a million
     * parameters and activations). */
    const char *diagnosed;
    vt_op_diagnosis diagnosis;
} vt_check_report;

/* Called now and then with entries compared so far; true stops (VT_INTERRUPTED). */
typedef bool vt_check_progress(void *context, size_t done, size_t of);

/* Compares the hand-written gradient (definitions, double)
 *
 *   with the complex step derivative (h = 1e-30; Squire, Trapp 1998) of the same
 *   definitions, along one random Rademacher direction over all parameters, along
 *   that of each tensor, and entry by entry; some entries with adaptive differences; each layer alone by
 *   the adjoint identity;
 *
 * the fast kernels' float gradient with the definitions'; and what has to be equal
 * bit for bit: causality, runs, numbers of threads, inputs.  A failing entry is
 * differentiated again in _Float128, where the build has it, which says who is
 * right.  A degenerate model or window (untrained gains, T = 1, no token twice) is
 * said to be one, and a second point is checked where it is not.
 *
 * VT_CHECK_FAILED when any differs by more than its bound: the line names the
 * failing tensor whose gradient is computed first, the nearest to the cause; the
 * report is filled either way, then with a diagnosis. */
VT_MUST_CHECK vt_status vt_check(vt_model *m, const vt_check_options *o,
                                 vt_check_progress *progress, void *context,
                                 vt_check_report *report, vt_error *err);
void vt_check_free(vt_check_report *report);     /* also of a zeroed one, and NULL */

/* ---- proof of an operator: a kernel of yours, or tensors out of any program ---- */

/* What one line of such a check compares. */
typedef enum vt_row_kind {
    VT_ROW_OUTPUT,                  /* an output's elements, with the definitions' */
    VT_ROW_GRADIENT,                /* a gradient's, likewise */
    VT_ROW_EXACT,                   /* bit for bit */
    VT_ROW_VERDICT                  /* what else is asked: see its note */
} vt_row_kind;

typedef enum vt_row_result {
    VT_ROW_PASS,
    VT_ROW_FAIL,
    VT_ROW_UNDECIDED                /* the comparison could tell nothing: `note` says
                                       why; neither a pass nor a failure */
} vt_row_result;

typedef struct vt_op_row {
    char   name[48];                /* "o", "dq", "two runs" */
    vt_row_kind   kind;
    vt_row_result result;
    size_t compared, of;            /* elements, or bits that were compared whole */
    size_t failed;                  /* of them */
    double budget_used;             /* largest |found - expected| as a share of its
                                       bound; Inf where found is NaN or Inf */
    char   index[96];               /* there: "dq[1, 0, 2, 3]"; "" where no element */
    char   where[112];              /* "batch 1, query 0, head 2, channel 3" */
    double expected, found, bound;
    char   note[200];               /* what it means, or why it tells nothing */
} vt_op_row;

/* An operator at some sizes. */
typedef struct vt_op_case {
    int      number;                /* from 1: vt_kernel_options.only repeats it */
    char     sizes[128];            /* "B 2, T 3, S 5, NH 2, HS 4, causal" */
    char     precision[12];         /* "float32" */
    double   scale;                 /* of the inputs */
    bool     pass;                  /* no finding, no row that fails, and something was
                                       compared; undecided rows change nothing */
    bool     supported;             /* false: the kernel has not this precision */
    bool     hung;                  /* a call did not return in time: the cases behind it
                                       are left out */
    size_t   compared, of;
    double   worst;                 /* largest budget_used of outputs and gradients */
    char     finding[400];          /* of the kernel's process: it crashed, hung, wrote
                                       where it must not; "" where it ran */
    char     said[400];             /* what it printed, from the beginning */
    vt_op_row *rows;
    size_t   nrows, failed;
    vt_op_diagnosis diagnosis;
} vt_op_case;

typedef struct vt_op_report {
    bool     pass;
    char     op[16];                /* "attention" */
    uint64_t seed;
    vt_op_case *cases;              /* that were run */
    size_t   ncases, failed, planned;
    size_t   compared, of;
    double   worst;
    char     note[200];             /* a precision that the kernel has not */
    char     unchecked[200];        /* what a pass says nothing of: a pass that the kernel
                                       has not, masks that it refuses; "" where nothing */
} vt_op_report;

void vt_op_report_free(vt_op_report *r);        /* also of a zeroed one, and NULL */

/* Operator i from 0: its name and what it computes; NULL behind the last. */
const char *vt_op_name(int i, const char **meaning);

typedef struct vt_kernel_options {
    const char *kernel;             /* a shared library, or a .c file: vitrine_kernel.h */
    const char *op;                 /* "attention" */
    const char *precision;          /* "float32", "float64"; NULL: those that it has */
    uint64_t seed;
    bool     all;                   /* do not stop after the first failing cases */
    int      only;                  /* the case of this number; 0: all of them */
    double   seconds;               /* that a call may take */
    const char *compiler;           /* of a .c file; NULL: "cc" */
    const char *include;            /* the folder of vitrine_kernel.h; NULL: the
                                       compiler finds it */
    const char *temporary;          /* where a .c is compiled; NULL: /tmp; nothing stays */
} vt_kernel_options;

/* Seed 42, 10 seconds, the rest 0 or NULL. */
void vt_kernel_defaults(vt_kernel_options *o);

/* Runs the kernel at many sizes, in a process of its own, and compares outputs and
 * gradients with the definitions in double, which complex step proves in the same run.
 * What a correct kernel of its precision could show is no failure: each element has a
 * bound from the analysis of rounding.  VT_CHECK_FAILED: the line names the first
 * finding; the report is filled.  VT_BAD_INPUT: the file is no kernel, or it has not
 * this operator; VT_IO: it cannot be read; VT_USAGE: an option; VT_INTERRUPTED: progress
 * said so.  Whatever is returned, vt_op_report_free(report).  The kernel runs with the
 * caller's rights: this finds mistakes, and is no defence against one made to cheat. */
VT_MUST_CHECK vt_status vt_check_kernel(const vt_kernel_options *o, vt_check_progress *progress,
                                        void *context, vt_op_report *report, vt_error *err);

typedef struct vt_dump_options {
    const char *file;               /* .npz, or .safetensors */
    const char *op;
    const char *layout;             /* "bthd": (B, T, NH, HS), or "bhtd": (B, NH, T, HS) */
    const char *precision;          /* "float64", "float32", "bfloat16", "float16"; NULL:
                                       of the dumped tensors */
    bool     causal;
    double   temperature;
    int      heads;                 /* of projected, block, gpt, lab, whose shapes do not
                                       tell; 0 elsewhere */
    bool     degenerate;            /* a dump that proves little may pass */
    uint64_t seed;                  /* of the direction that proves the definitions */
} vt_dump_options;

/* Layout "bthd", temperature 1, seed 42. */
void vt_dump_defaults(vt_dump_options *o);

/* The same of tensors that another program computed and wrote to a file: inputs and
 * outputs by their names in vitrine_kernel.h ("q", "o"), upstream gradients ("do") and
 * gradients ("dq"), those starting from 0.  At least one output or gradient; what is
 * not there is not compared.  One case.  VT_CHECK_FAILED: the line names the first finding;
 * VT_BAD_INPUT: a tensor is missing, or has another shape or type; VT_USAGE: an option;
 * VT_IO: the file cannot be read; VT_TOO_LARGE.  Whatever is returned,
 * vt_op_report_free(report). */
VT_MUST_CHECK vt_status vt_check_dump(const vt_dump_options *o, vt_op_report *report,
                                      vt_error *err);

/* The check checked: kernels with known faults, and correct ones. */
typedef struct vt_self_row {
    char name[40], op[16], precision[12];
    char what[160];                 /* the fault */
    char expected[32], named[32];   /* kind of fault: planted, diagnosed */
    bool found, right;              /* the check failed; the kind is right */
    char first[112];                /* "dq[1, 0, 2, 3]": worst element, or what was found */
} vt_self_row;

typedef struct vt_self_report {
    bool   pass;                    /* all found, 9 of 10 kinds right, no false alarm */
    vt_self_row *rows;
    size_t faults, found, right;    /* faults: rows */
    size_t correct, alarms;         /* correct cases that ran; those that failed */
    char   alarm[700];              /* the first of them */
    uint64_t seed;
    double worst;                   /* largest share of a bound in a correct case */
} vt_self_report;

/* Every planted fault, and `correct` random cases of correct kernels, on that many threads
 * (0: all cores; the result does not depend on it).  VT_CHECK_FAILED where a fault was
 * missed, or a correct kernel was called wrong, or `correct` is 0: nothing was proven.
 * VT_INTERRUPTED: progress said so.  Whatever is returned, vt_self_report_free(report). */
VT_MUST_CHECK vt_status vt_check_self_test(size_t correct, uint64_t seed, int threads,
                                           vt_check_progress *progress, void *context,
                                           vt_self_report *report, vt_error *err);
void vt_self_report_free(vt_self_report *r);    /* also of a zeroed one, and NULL */

/* ---- for another program to compute again ------------------------------ */

/* What vt_check compares, as a file, .npz or .safetensors, which is replaced by one rename:
 * names as in vitrine_kernel.h's VT_OP_GPT: `tokens`, `targets`, parameters as in
 * model.safetensors without "transformer." (float32; a head of its own as (C, V)), `loss`
 * of each row, its upstream gradient `dloss`, and the hand-written gradients `dNAME`, of
 * sum(dloss loss), float64; `heads`, `causal`, `temperature`; and `bound.dNAME`: how far
 * rounding may take another correct computation in double from ours.  VT_USAGE: an option,
 * or another extension; VT_IO. */
VT_MUST_CHECK vt_status vt_check_write(vt_model *m, const vt_check_options *o, const char *path,
                                       vt_error *err);

typedef struct vt_op_written {
    char   sizes[128];              /* "B 2, T 5, S 9, NH 3, HS 4, causal" */
    size_t of;                      /* cases of the operator */
} vt_op_written;

/* Likewise case `number`, from 1, of an operator ("attention"), of vt_check_kernel's in
 * float64 at scale 1: its inputs, outputs, upstream gradients and gradients.  VT_USAGE: no such operator or number. */
VT_MUST_CHECK vt_status vt_op_write(vt_op_written *out, const char *op, size_t number,
                                    uint64_t seed, const char *path, vt_error *err);

/* ---- a window as a file ------------------------------------------------ */

typedef struct vt_window_options {
    const char *model;              /* a model's folder, of vt_train or of GPT-2's formats */
    const char *out;                /* NAME.safetensors, .npz, .json or .csv: the form */
    const char *text;               /* UTF-8; its first tokens are the window */
    size_t      text_length;
    int         window;             /* tokens, at most; 0: as the windows that the model was
                                       trained on */
    const char *what;               /* "forward", "backward" or "all"; NULL: forward, or,
                                       where `tensors` names some, all */
    const char *tensors;            /* names or the shell's patterns, with commas between,
                                       with or without layer ("att,h.0.*"); NULL: all */
    int         layer, head;        /* these alone; -1: all */
    const char *dtype;              /* "float64", or "float32": rounded; NULL: float64 */
} vt_window_options;

/* Everything of the forward pass, in float64. */
void vt_window_defaults(vt_window_options *o);

/* What is known before anything is computed. */
typedef struct vt_window_plan {
    size_t tokens, window, tensors, numbers;
    size_t bytes, memory;           /* of the file, about; of the run, about */
} vt_window_plan;

/* Any member may be NULL.  on_progress returning true asks to stop. */
typedef struct vt_window_events {
    void *context;
    void (*on_plan)(void *context, const vt_window_plan *plan);
    bool (*on_progress)(void *context, const char *what, size_t done, size_t of);
} vt_window_events;

typedef struct vt_window_report {
    size_t tokens, window;          /* of the text; of these, run */
    double loss;                    /* mean, nats per token; NaN: no token has a next */
    size_t tensors, numbers, bytes; /* bytes: of the file */
    char   tensors_sha256[65];      /* over the numbers written: docs/formats.md */
    char   model_sha256[65];        /* of model.safetensors */
    char   state_sha256[65];        /* of state.safetensors; "": there is none */
    double row_sum_gap;             /* attention: largest |sum of a row - 1| */
    size_t masked_cells, masked_nonzero;    /* the second is 0, or an error */
} vt_window_report;

/* Runs a window of text through the model in double, on the definitions, and replaces the
 * file at `out` by one rename: every stage of attention, all layers and heads, logits, and the gradients, each under
 * its name (docs/formats.md).  The bytes depend on model, text, options and build alone.
 * VT_USAGE: an option, or another extension; VT_BAD_INPUT: as vt_export, but one token is
 * enough for a forward pass; VT_IO: it cannot be written, or the disk has not the room;
 * VT_TOO_LARGE: more memory than there is; VT_INTERRUPTED: asked to stop, and then, as
 * after any failure, what was at `out` is as it was. */
VT_MUST_CHECK vt_status vt_window_write(const vt_window_options *o,
                                        const vt_window_events *events, vt_window_report *out,
                                        vt_error *err);

/* ---- a site ------------------------------------------------------------ */

enum { VT_EXPORT_FILES = 6 };

typedef struct vt_export_options {
    const char *model;              /* a model's folder, of vt_train or of GPT-2's formats */
    const char *site;               /* a site's folder: it holds vitrine.wasm */
    const char *as;                 /* "lab" or "playground": written to site/data/AS */
    const char *text;               /* UTF-8; its first tokens are the window; NULL: the
                                       first of what the model was not trained on */
    size_t      text_length;
    const vt_corpus *corpus;        /* to train the tokenizer again and compare; NULL: not
                                       done */
    int         threads;            /* of that; 0 = all cores */
} vt_export_options;

typedef struct vt_export_file {
    const char *name;               /* "model.safetensors"; "../../vitrine.wasm" */
    char   sha256[65];
    size_t bytes;
} vt_export_file;

typedef struct vt_export_report {
    size_t tokens, window;          /* of the text; of these, run: as many as the windows
                                       that the model was trained on, at most */
    double loss;                    /* mean, nats per token */
    size_t tensors;
    char   tensors_sha256[65];      /* over all their numbers: docs/formats.md */
    double row_sum_gap;             /* attention: largest |sum of a row - 1| */
    size_t masked_cells, masked_nonzero;    /* the second is 0, or an error */
    double largest_dbk;             /* of the keys' bias: 0 by algebra, so rounding */
    int    rebuilt;                 /* the tokenizer trained again is the model's: 1, 0;
                                       -1: not done */
    char   rebuilt_why[200];
    vt_export_file files[VT_EXPORT_FILES];  /* nfiles of them */
    size_t nfiles;
} vt_export_report;

/* Runs a window of text through the model in double, on the definitions, forward and
 * backward of the mean next-token loss, and writes to site/data/AS every tensor of it
 * (window.safetensors), copies of the model's files, and manifest.json, which says what
 * they are and came from (docs/formats.md).  VT_BAD_INPUT: the model's files are not those
 * of its manifest, the text has fewer than two tokens or is no UTF-8, or `corpus` is not
 * what it was trained on.  VT_IO: there is no site, or it cannot be written. */
VT_MUST_CHECK vt_status vt_export(const vt_export_options *o, vt_export_report *out,
                                  vt_error *err);

/* Whether site/data/AS is what its manifest says: the hash of every file, and every bit of
 * the window, computed again.  VT_CHECK_FAILED names the first that differs; VT_BAD_INPUT:
 * a file is not what it should be; VT_IO: it cannot be read. */
VT_MUST_CHECK vt_status vt_export_verify(const char *site, const char *as,
                                         vt_export_report *out, vt_error *err);

typedef struct vt_site_options {
    const char *shell;              /* the built pages, without models */
    const char *out;                /* where the site is to be */
    const char *lab, *playground;   /* models; NULL: none */
    const char *text;               /* of both windows; NULL: as in vt_export_options */
    size_t      text_length;
    const vt_corpus *corpus;        /* as in vt_export_options, for both models */
    int         threads;
} vt_site_options;

typedef struct vt_site_report {
    size_t files, bytes;            /* of the shell */
    bool   replaced;                /* an older site was there */
    vt_export_report lab, playground;       /* where given */
} vt_site_report;

/* Copies the pages and exports the models into a new folder, which then takes the place of
 * `out` by a rename.  VT_USAGE: `out` is there and neither empty nor a site that this
 * function wrote, or one folder lies in the other; then, and where anything fails, `out`
 * stays as it was.  VT_INTERRUPTED: a signal asked to stop; nothing is left behind. */
VT_MUST_CHECK vt_status vt_site(const vt_site_options *o, vt_site_report *out, vt_error *err);

/* ---- the code lab ------------------------------------------------------ */

/* One causal attention head (or two) at a size where every number can be looked
 * at: d_model C, d_head D in all, T tokens, an output projection to V logits, no
 * biases, mean cross-entropy, in double.  Inputs are NumPy's default_rng(seed):
 * Wq, Wk, Wv, Wo standard_normal * 0.5, X standard_normal, integers(0, V, size=T). */
enum {
    VT_LAB_C = 8, VT_LAB_D = 4, VT_LAB_T = 6, VT_LAB_V = 10, VT_LAB_HEADS = 2,
    VT_LAB_CHECKS = 2, VT_LAB_SCALINGS = 4, VT_LAB_SOFTS = 4, VT_LAB_KEYS = 16,
    VT_LAB_TENSORS = 5
};
#define VT_LAB_COLDEST 0.01     /* temperatures from here */
#define VT_LAB_HOTTEST 100.0    /* to here */

typedef struct vt_lab_options {
    uint64_t seed;
    int      heads;             /* 1, or 2 of width D / 2: each has its columns */
    double   temperature;       /* of the loss: logits / temperature */
    const char *dtype;          /* "float64"; "float32": inputs are rounded to float, pass
                                   and gradient computed in it; NULL: float64 */
} vt_lab_options;

/* Seed 0, one head, temperature 1, float64. */
void vt_lab_defaults(vt_lab_options *o);

/* The inputs, or their gradients.  dX is the sum of three paths. */
typedef struct vt_lab_tensors {
    double Wq[VT_LAB_C][VT_LAB_D], Wk[VT_LAB_C][VT_LAB_D], Wv[VT_LAB_C][VT_LAB_D];
    double Wo[VT_LAB_D][VT_LAB_V];
    double X[VT_LAB_T][VT_LAB_C];
} vt_lab_tensors;

typedef struct vt_lab_entry {
    const char *tensor;         /* "Wq"; the gradient is d loss / d of it */
    int    row, col;
    double expected, found;     /* the check's, the one by hand */
} vt_lab_entry;

typedef struct vt_lab_check {
    const char *name;           /* "central differences", "complex step" */
    double step;
    double worst;               /* largest |found - expected| / (|found| + |expected|) */
    vt_lab_entry worst_at;
    double worst_of_largest;    /* largest |found - expected| / the tensor's largest */
    double budget_used;         /* largest error as a share of what rounding and
                                   truncation can explain */
    vt_lab_entry budget_at;
    size_t compared, of;
    bool   pass;                /* every error is within its bound */
} vt_lab_check;

/* Central differences again, all in float: it is meant to fail. */
typedef struct vt_lab_float_check {
    vt_lab_check check;
    double mean;                /* of the relative errors */
    size_t within;              /* entries within the double check's bounds */
    size_t zero;                /* the loss did not move at all */
    double loss, spacing;       /* and the distance to the next float */
} vt_lab_float_check;

typedef struct vt_lab_measure {
    double value, error;        /* one standard error of sampling */
} vt_lab_measure;

/* Why divide by sqrt(d_head)?  q and VT_LAB_KEYS keys of standard normals. */
typedef struct vt_lab_scaling {
    int    d_head;
    size_t rows;                            /* queries drawn */
    vt_lab_measure score_std;               /* of q . k; sqrt(d_head) in theory */
    vt_lab_measure weight_raw, weight_scaled;       /* mean largest softmax weight */
    vt_lab_measure gradient_raw, gradient_scaled;   /* mean Frobenius norm of the
                                                       softmax's Jacobian */
    double published_score_std, published_weight_raw, published_weight_scaled;
} vt_lab_scaling;

/* softmax(logits / temperature) of the last position; exact, nothing is drawn. */
typedef struct vt_lab_soft {
    double temperature, probs[VT_LAB_V], entropy;   /* entropy in bits */
} vt_lab_soft;

typedef struct vt_lab_report {
    vt_lab_options options;
    double loss, uniform;                   /* uniform: ln V, of a blind guess */
    int    targets[VT_LAB_T];
    vt_lab_tensors inputs, gradients;
    double Q[VT_LAB_T][VT_LAB_D], K[VT_LAB_T][VT_LAB_D], V[VT_LAB_T][VT_LAB_D];
    double S[VT_LAB_HEADS][VT_LAB_T][VT_LAB_T];     /* scaled, -inf where masked; of
                                                       head 1 zeros if there is none */
    double P[VT_LAB_HEADS][VT_LAB_T][VT_LAB_T];     /* likewise */
    double O[VT_LAB_T][VT_LAB_D];
    double logits[VT_LAB_T][VT_LAB_V];              /* before the temperature */
    vt_lab_check checks[VT_LAB_CHECKS];
    vt_lab_float_check in_float;
    vt_lab_scaling scaling[VT_LAB_SCALINGS];        /* d_head 16, 64, 256, 1024 */
    vt_lab_soft softs[VT_LAB_SOFTS];                /* 0.25, 0.7, 1, 1.5 */
} vt_lab_report;

/* VT_CHECK_FAILED where a check does: the line names the entry that is farthest
 * beyond its bound, and the report is filled.  In float32 the first check always does:
 * it cannot tell right from wrong there, and the line says why.  VT_USAGE: an option. */
VT_MUST_CHECK vt_status vt_lab(const vt_lab_options *o, vt_lab_report *out, vt_error *err);

/* The report's gradients against another program's, of the same inputs. */
typedef struct vt_lab_comparison {
    double loss;                                    /* the other's */
    double loss_difference, loss_bound;
    double difference[VT_LAB_TENSORS];              /* largest |ours - its|: dWq, dWk, dWv,
                                                       dWo, dX; NaN where there is one */
    vt_lab_check check;                             /* every entry, within the bounds of the
                                                       complex step's check */
} vt_lab_comparison;

/* `name` is the other program's, and the caller's.  VT_CHECK_FAILED as vt_lab(). */
VT_MUST_CHECK vt_status vt_lab_compare(vt_lab_comparison *out, const vt_lab_report *r,
                                       const char *name, double loss,
                                       const vt_lab_tensors *gradients, vt_error *err);

/* Writes all tensors of the pass and its gradients to a .npz or .safetensors file, which
 * is replaced by one rename: names in docs/command-line.md.  VT_USAGE: an option, or
 * another extension; VT_IO. */
VT_MUST_CHECK vt_status vt_lab_dump(const vt_lab_options *o, const char *path, vt_error *err);

/* ---- exercises --------------------------------------------------------- */

enum { VT_EXERCISE_HINTS = 4, VT_EXERCISE_FUNCTIONS = 2 };

typedef struct vt_exercise {
    const char *name, *title, *file;    /* "softmax"; exercises/FILE is the one to copy */
    const char *needs;                  /* what comes before it */
    int         minutes;                /* about, for a learner */
    const char *functions[VT_EXERCISE_FUNCTIONS];       /* to be written; NULL: no more */
    const char *hints[VT_EXERCISE_HINTS];               /* likewise; one at a time */
} vt_exercise;

/* All of them, *n, in the order in which they are learnt. */
const vt_exercise *vt_exercises(size_t *n);

typedef struct vt_grade_options {
    const char *exercise;       /* its name; NULL: the one whose function the file has */
    uint64_t    seed;           /* of the numbers, and of the last cases' sizes */
    double      seconds;        /* of one call; 0: 5 */
    const char *compiler;       /* of a .c: a command and its words; NULL: "cc" */
    const char *temporary;      /* where it is compiled; NULL: /tmp; nothing stays */
} vt_grade_options;

/* How far it is. */
typedef enum vt_grade_verdict {
    VT_GRADE_SOLVED,
    VT_GRADE_NOTHING,           /* the function writes nothing yet */
    VT_GRADE_UNWRITTEN,         /* some elements were never written */
    VT_GRADE_WRONG,             /* a number is wrong: tensor, index, expected, found */
    VT_GRADE_UNSTEADY,          /* other numbers in another run of the same */
    VT_GRADE_STOPPED            /* crashed, did not end, wrote where it may not: `what` */
} vt_grade_verdict;

enum { VT_GRADE_ROWS = 16 };

/* One tensor that a function computes. */
typedef struct vt_grade_row {
    const char *function, *tensor;      /* "softmax_backward", "dx" */
    size_t compared, wrong;             /* elements, over the cases so far */
    double budget_used;                 /* largest error as a share of what rounding may do */
} vt_grade_row;

typedef struct vt_grade_report {
    const vt_exercise *exercise;        /* NULL: none was found */
    vt_grade_verdict verdict;
    size_t cases, cases_of;             /* right, of how many; each function's count */
    size_t compared;
    vt_grade_row rows[VT_GRADE_ROWS];
    size_t nrows;
    /* of what is not right: */
    const char *function;               /* NULL where it is solved */
    char   sizes[96];                   /* "T 5, C 6, D 3, vocab 7" */
    const char *tensor;                 /* the first that is wrong; or NULL */
    char   index[48];                   /* "[2][0]": its first wrong element */
    bool   adds;                        /* a gradient: the numbers are what was added */
    double expected, found;
    size_t wrong, of;                   /* elements of that tensor */
    const char *kind;                   /* "scale_missing"; "unknown"; NULL: not a number's */
    char   what[300];                   /* what is wrong, in a sentence */
    char   hint[400];                   /* what to look at */
    char   said[400];                   /* the beginning of what the function printed */
} vt_grade_report;

/* Compiles FILE.c, or takes a built .so, finds the exercise, and runs it in a child process
 * against cases of many shapes: forward and every gradient, within the bounds of what
 * rounding may do.  VT_OK: solved.  VT_CHECK_FAILED: not yet; the report and the line say
 * why.  VT_BAD_INPUT: it does not compile (the compiler's message), or there is no
 * exercise in it.  VT_USAGE: no exercise of that name.  VT_IO: no such file, no compiler. */
VT_MUST_CHECK vt_status vt_grade(const char *path, const vt_grade_options *o,
                                 vt_grade_report *out, vt_error *err);

const char *vt_grade_verdict_name(vt_grade_verdict v);      /* "wrong" */

/* ---- speed ------------------------------------------------------------- */

enum { VT_BENCH_NAME = 40, VT_BENCH_NOTE = 240 };

typedef struct vt_bench_options {
    const char *const *names;       /* cases or groups; none: all, but for those that
                                       take long or much memory; with `require`: those
                                       that have a target */
    size_t      nnames;
    const char *targets;            /* "NAME=RATE,NAME=80%" in place of the case's own, a
                                       rate or a share of its limit; NULL: none.  Each once,
                                       of a case that is measured */
    bool        require;            /* VT_USAGE where no case that is measured has one */
    bool        quick;              /* less time for each case */
    int         threads;            /* of the cases that name none; 0: all cores */
    const char *isa;                /* NULL: the best */
    const char *data;               /* a text for the cases of texts; NULL: one that is
                                       drawn from the project's own random numbers */
    const char *tokenizer;          /* GPT-2's tokenizer.json for bpe-encode-gpt2; NULL: that
                                       case is skipped */
} vt_bench_options;

/* One measured limit of the machine, a rate: FLOP/s, B/s or exp/s. */
typedef struct vt_bench_limit {
    const char *name;               /* "fma", "read", "copy", "triad", "exp" */
    const char *isa;                /* the instruction set of the loop */
    const char *unit;
    int         threads;
    size_t      samples;
    double      median, low, high;  /* low, high: the quartiles */
} vt_bench_limit;

typedef struct vt_bench_machine {
    char   cpu[96];
    int    cores, threads;          /* that may be used, that were */
    size_t l1d, l2, l3, memory;     /* bytes; 0: not known */
    double load_before, load_after; /* the system's mean over a minute; NaN: not known */
    int    others;                  /* threads of others that ran at the start; -1: not known */
} vt_bench_machine;

typedef enum vt_bench_verdict {
    VT_BENCH_MEASURED,
    VT_BENCH_WRONG,                 /* a result is beyond its bound: not timed; see note */
    VT_BENCH_SKIPPED                /* could not be made ready here; see note */
} vt_bench_verdict;

/* What a target is of.  A rate and a share of the case's limit are to be reached, seconds
 * and bytes of memory not to be exceeded. */
typedef enum vt_bench_goal {
    VT_BENCH_RATE, VT_BENCH_SHARE, VT_BENCH_SECONDS, VT_BENCH_MEMORY
} vt_bench_goal;

typedef struct vt_bench_row {
    char   name[VT_BENCH_NAME], group[VT_BENCH_NAME];
    const char *what;
    vt_bench_verdict verdict;
    char   note[VT_BENCH_NOTE];     /* WRONG: tensor, index, both numbers; SKIPPED: why */
    int    threads;
    char   verified[VT_BENCH_NAME * 2];     /* what was compared before the clock ran */
    bool   partly;                  /* that is less than what a call computes */
    size_t compared;                /* numbers */
    double bound_used;              /* the largest error as a share of its bound */
    size_t samples, repeats;        /* samples, and calls in each */
    double seconds, low, high;      /* of one call: median and quartiles; NaN: not timed */
    double spread;                  /* (high - low) / seconds */
    double rate;                    /* `per_call` / seconds */
    const char *unit;               /* of the rate: "tokens/s", "FLOP/s", "B/s" */
    double per_call;
    double flop, bytes, exps;       /* the work of one call that the limit counts */
    double limit_seconds, share;    /* least time by the measured limits, and that / seconds;
                                       NaN: the case has no limit */
    double memory;                  /* bytes that the process took more at its peak, from
                                       before the case was made ready; NaN: not known */
    vt_bench_goal goal;             /* what the target is of */
    double target;                  /* NaN: none */
    bool   met;                     /* no target is met, too; a wrong row meets none, nor
                                       does one that was skipped */
    const char *curve, *size_of;    /* of the group "scaling": the curve that it is a point of
                                       and what its size is, "T"; else NULL */
    double size;                    /* NaN: of none */
} vt_bench_row;

/* How cost grows with a size, by least squares of the logarithms over the rows of a curve
 * that were measured: time ~ size^exponent, where the work that is counted, by threads,
 * has size^predicted; time ~ work^growth.  NaN: less than two sizes. */
#define VT_BENCH_GROWTH 0.1         /* agrees: growth is 1 but for so much */
typedef struct vt_bench_curve {
    const char *name, *of;          /* "attention"; "T" */
    size_t sizes;
    double exponent, predicted, growth;
    double deviation;               /* the largest factor between a time and the last law */
    bool   agrees;
} vt_bench_curve;

typedef struct vt_bench_report {
    vt_bench_machine machine;
    const char      *isa;           /* of the kernels that were measured */
    bool             quick;
    vt_bench_limit  *limits;
    size_t           nlimits;
    vt_bench_row    *rows;
    size_t           nrows;
    vt_bench_curve  *curves;        /* of the rows that are points of one */
    size_t           ncurves;
    /* Rows.  noisy: a spread above 10 %; beyond: a share above 1, so that the machine was
     * slower when its limits were measured than it is. */
    size_t           wrong, missed, skipped, noisy, beyond;
    size_t           targets, unshown;      /* rows with one; of these, skipped: neither met
                                               nor missed */
    double           seconds;       /* of the whole run */
} vt_bench_report;

/* Of a run: what is next, and the time that is left by the cases' usual cost. */
typedef struct vt_bench_progress {
    const char *name;
    size_t      done, of;
    double      seconds_left;
} vt_bench_progress;

/* What may be measured: number i of the table, false behind the last. */
typedef struct vt_bench_case_info {
    const char *name, *group, *what, *unit;
    vt_bench_goal goal;
    double target;                  /* NaN: none */
    bool   always;                  /* taken where no names are given */
} vt_bench_case_info;
bool vt_bench_case(size_t i, vt_bench_case_info *out);

/* Measures the machine's limits, then verifies and times each case.  The report is
 * filled also where it fails; free it with vt_bench_free.  VT_CHECK_FAILED: a result was
 * wrong, the line names the case, the tensor and the index; a missed target is none.
 * VT_USAGE: no such case (one that is near is named), a target that is none or of a case
 * that is not measured, `require` without any.
 * VT_INTERRUPTED: on_progress, which is also asked between samples, returned true. */
VT_MUST_CHECK vt_status vt_bench(vt_bench_report *out, const vt_bench_options *o,
                                 bool (*on_progress)(void *, const vt_bench_progress *),
                                 void *context, vt_error *err);
void vt_bench_free(vt_bench_report *r);         /* also of a zeroed one, and NULL */

#ifdef __cplusplus
}
#endif

#endif

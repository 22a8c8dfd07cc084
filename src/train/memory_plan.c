/* memory_plan.c -- see memory_plan.h.
 *
 * The activations are one block to the trainer.  To say what they are, they are laid
 * out as it does, in address space that is reserved and not touched (but for the
 * list of layers at its beginning): the distance from one pointer to the next is a
 * piece's size.  One layer is laid out; the others are like it, or, where they are
 * computed again, share all of it but what they hand on.
 */
#include "train/memory_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/cpu.h"
#include "model/gpt.h"
#include "train/settings.h"
#include "train/tokenizer_given.h"
#include "train/trainer.h"

static void add(vt_memory *m, vt_memory_kind kind, size_t size, const char *name)
{
    if (size == 0 || m->nrows == VT_MEMORY_ROWS) return;
    vt_memory_row *row = &m->rows[m->nrows++];
    *row = (vt_memory_row){ .kind = kind, .bytes = size };
    snprintf(row->name, sizeof row->name, "%s", name);
}

/* ---- activations --------------------------------------------------------- */

enum { NORMS, ATTENTION, MLP, RESIDUALS, EMBEDDED, LOGITS, BACK, KINDS };

static const char *const kind_names[KINDS] = {
    [NORMS] = "activations: layer norms", [ATTENTION] = "activations: attention",
    [MLP] = "activations: feed-forward", [RESIDUALS] = "activations: residual stream",
    [EMBEDDED] = "activations: embedded, last layer norm",
    [LOGITS] = "activations: logits and loss", [BACK] = "gradients of activations",
};

typedef struct mark { const char *at; int kind; } mark;

static int by_place(const void *a, const void *b)
{
    const char *x = ((const mark *)a)->at, *y = ((const mark *)b)->at;
    return (x > y) - (x < y);
}

/* Where each kind begins; what follows is of that kind until the next. */
static size_t marks_of(mark *out, const gpt_acts_fast *a)
{
    const gpt_layer_acts_fast *l = &a->layers[0];
    const struct { const float *at; int kind; } all[] = {
        { a->embedded, EMBEDDED }, { l->ln1, NORMS }, { l->qkv, ATTENTION },
        { l->lse, ATTENTION }, { l->values, ATTENTION }, { l->res1, RESIDUALS },
        { l->ln2, NORMS }, { l->fc, MLP }, { l->gelu, MLP }, { l->res2, RESIDUALS },
        { a->lnf, EMBEDDED }, { a->logits, LOGITS }, { a->loss, LOGITS }, { a->lse, LOGITS },
        { a->back.dlogits, BACK }, { a->back.dres, BACK },
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].at) out[n++] = (mark){ (const char *)all[i].at, all[i].kind };
    qsort(out, n, sizeof *out, by_place);
    return n;
}

static void split(size_t kinds[KINDS], const gpt_config *z, const vt_train_options *o,
                  size_t total)
{
    gpt_config one = *z;
    gpt_acts_fast a;
    mark marks[32];
    one.L = 1;
    const size_t size = gpt_acts_bytes_fast(&one, o->batch, o->seq, o->seq, trainer_use(o));
    memset(kinds, 0, KINDS * sizeof *kinds);
    char *room = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        kinds[RESIDUALS] = total;           /* one row of all: see below */
        return;
    }
    gpt_acts_place_fast(&a, room, &one, o->batch, o->seq, o->seq, trainer_use(o));
    const size_t n = marks_of(marks, &a);
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        const char *end = i + 1 < n ? marks[i + 1].at : room + size;
        const bool each = marks[i].kind <= RESIDUALS &&
                          (!a.again || marks[i].at == (const char *)a.layers[0].res2);
        kinds[marks[i].kind] += (size_t)(end - marks[i].at) * (each ? (size_t)z->L : 1);
    }
    (void)munmap(room, size);
    for (size_t k = 0; k < KINDS; k++) known += kinds[k];
    kinds[EMBEDDED] += total - known;       /* the list of layers, and its rounding */
}

static void add_activations(vt_memory *m, const gpt_config *z, const vt_train_options *o,
                            size_t total)
{
    size_t kinds[KINDS];
    split(kinds, z, o, total);
    if (kinds[RESIDUALS] == total) add(m, VT_MEMORY_HELD, total, "activations and their gradients");
    else for (size_t k = 0; k < KINDS; k++) add(m, VT_MEMORY_HELD, kinds[k], kind_names[k]);
}

/* ---- the plan ------------------------------------------------------------ */

static void add_files(vt_memory *m, size_t count)
{
    const size_t model = count * sizeof(float), state = 3 * model;
    add(m, VT_MEMORY_DISK, state, "state.safetensors (and the tokenizer in it)");
    add(m, VT_MEMORY_DISK, model, "model.safetensors");
    add(m, VT_MEMORY_DISK_PASSING, state, "the new state, until it takes the old one's place");
}

void memory_plan_disk(size_t *stays, size_t *beside, size_t parameters)
{
    vt_memory m = { .nrows = 0 };
    add_files(&m, parameters);
    *stays = *beside = 0;
    for (size_t i = 0; i < m.nrows; i++)
        *(m.rows[i].kind == VT_MEMORY_DISK ? stays : beside) += m.rows[i].bytes;
}

static vt_status sum(vt_memory *m, vt_error *err)
{
    size_t passing = 0, beside = 0;
    m->memory = m->disk = 0;
    for (size_t i = 0; i < m->nrows; i++) {
        const vt_memory_row *row = &m->rows[i];
        bool fits = true;
        switch (row->kind) {
        case VT_MEMORY_HELD: fits = size_add(m->memory, row->bytes, &m->memory); break;
        case VT_MEMORY_DISK: fits = size_add(m->disk, row->bytes, &m->disk); break;
        case VT_MEMORY_PASSING: if (row->bytes > passing) passing = row->bytes; break;
        case VT_MEMORY_DISK_PASSING: if (row->bytes > beside) beside = row->bytes; break;
        }
        if (!fits) return fail(err, VT_TOO_LARGE, "the plan: its sizes overflow");
    }
    if (!size_add(m->memory, passing, &m->memory) || !size_add(m->disk, beside, &m->disk))
        return fail(err, VT_TOO_LARGE, "the plan: its sizes overflow");
    return VT_OK;
}

static vt_status plan(vt_memory *m, const vt_train_options *o, const gpt_config *z,
                      const memory_plan_run *run, vt_error *err)
{
    const size_t count = gpt_parameter_count(z);
    size_t sizes[TRAINER_PIECES], block = 0, worker, shared, scratch, tokens, old;
    *m = (vt_memory){ .machine = cpu_memory(), .parameters = count, .vocabulary = z->V,
                      .threads = run->threads };
    trainer_scratch(&worker, &shared, o, z);
    if (!trainer_sizes(sizes, o, z) || !team_bytes(&scratch, run->threads, worker, shared) ||
        !size_mul(run->tokens, sizeof(int), &tokens) ||
        !size_add(run->old_state, count * sizeof(float), &old))
        return fail(err, VT_TOO_LARGE, "--batch %d --seq %d --accumulate %d: the activations' "
                    "size overflows", o->batch, o->seq, o->accumulate);
    for (size_t i = 0; i < TRAINER_PIECES; i++) block += sizes[i];
    add(m, VT_MEMORY_HELD, sizes[TRAINER_PARAMS], "parameters");
    add(m, VT_MEMORY_HELD, sizes[TRAINER_GRADS], "gradients");
    add(m, VT_MEMORY_HELD, sizes[TRAINER_MEANS] + sizes[TRAINER_SQUARES], "moments of AdamW");
    add_activations(m, z, o, sizes[TRAINER_ACTS]);
    add(m, VT_MEMORY_HELD, sizes[TRAINER_DLOSS] + sizes[TRAINER_ROWS] + sizes[TRAINER_INPUTS] +
                           sizes[TRAINER_TARGETS], "a step's windows");
    add(m, VT_MEMORY_HELD, scratch, "scratch of the threads");
    add(m, VT_MEMORY_HELD, arena_size(block) - block + (arena_size(scratch) - scratch),
        "rounding up to pages");
    add(m, VT_MEMORY_HELD, tokens, "tokens of the text");
    if (run->old_state > 0) add(m, VT_MEMORY_PASSING, old, "the old state, when it is resumed");
    if (!z->tied)
        add(m, VT_MEMORY_PASSING, (size_t)z->C * (size_t)z->V * sizeof(float),
            "the head, turned, when it saves");
    add_files(m, count);
    return sum(m, err);
}

/* Half the windows, or windows of half the length: whichever saves more.  The model stays
 * the same, and with twice the micro-batches so does the step. */
static void find_lever(vt_memory *m, const vt_train_options *o, const gpt_config *z,
                       const memory_plan_run *run)
{
    const struct { const char *name; int batch, seq; } levers[] = {
        { "--batch", o->batch / 2, o->seq }, { "--seq", o->batch, o->seq / 2 },
    };
    size_t least = m->memory;
    for (size_t i = 0; i < sizeof levers / sizeof *levers; i++) {
        vt_train_options other = *o;
        vt_memory then;
        other.batch = levers[i].batch;
        other.seq = levers[i].seq;
        if (other.batch < 1 || other.seq < 1 || plan(&then, &other, z, run, NULL)) continue;
        if (then.memory >= least) continue;
        least = m->lever_memory = then.memory;
        snprintf(m->lever, sizeof m->lever, "%s %d", levers[i].name,
                 i == 0 ? other.batch : other.seq);
    }
}

vt_status memory_plan(vt_memory *out, const vt_train_options *o, const gpt_config *z,
                      const memory_plan_run *run, vt_error *err)
{
    const vt_status s = plan(out, o, z, run, err);
    if (s == VT_OK) find_lever(out, o, z, run);
    return s;
}

static vt_status vocabulary(int *V, const vt_train_options *o, vt_error *err)
{
    bpe *given = NULL;
    if (!o->tokenizer) {
        *V = 256 + o->merges + 1;
        return VT_OK;
    }
    const vt_status s = tokenizer_given(&given, o->tokenizer, err);
    if (s == VT_OK) *V = bpe_vocab(given);
    bpe_free(given);
    return s;
}

vt_status vt_memory_plan(const vt_train_options *o, size_t tokens, vt_memory *out, vt_error *err)
{
    gpt_config z = { .L = o->layers, .C = o->d_model, .NH = o->heads, .FF = o->ff,
                     .T = o->context, .tied = o->tied };
    memory_plan_run run = { .threads = o->threads ? o->threads : cpu_count(), .tokens = tokens };
    vt_status s = settings_check(o, err);
    if (s || (s = vocabulary(&z.V, o, err)) || (s = gpt_config_check(&z, err))) return s;
    if (o->resume) run.old_state = 3 * gpt_parameter_count(&z) * sizeof(float);
    return memory_plan(out, o, &z, &run, err);
}

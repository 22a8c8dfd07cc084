/* check_torch.c -- see check_torch.h: cases to PyTorch and back. */
#include "cli/check_torch.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/interrupt.h"
#include "cli/python.h"
#include "formats/tensors.h"

enum { LIMIT_GIB = 8 };
#define FILE_LIMIT ((size_t)LIMIT_GIB << 30)

static const char script[] =
#include "torch_ops.inc"
    ;

/* ---- a folder of cases ------------------------------------------------------ */

typedef struct folder { char path[512]; size_t cases; } folder;

static vt_status folder_new(folder *f, vt_error *err)
{
    const char *where = cli_temporary();
    *f = (folder){ .cases = 0 };
    const int n = snprintf(f->path, sizeof f->path, "%s/vitrine-XXXXXX", where);
    if (n < 0 || (size_t)n + 32 > sizeof f->path)       /* file names follow */
        return fail(err, VT_IO, "--torch: TMPDIR: expected a path of at most %zu bytes",
                    sizeof f->path - 48);
    if (mkdtemp(f->path)) return VT_OK;
    const vt_status s = fail(err, VT_IO, "--torch: a folder in %s: %s", where, strerror(errno));
    f->path[0] = '\0';
    return s;
}

/* Case `number`, or PyTorch's answer to it. */
static const char *file_of(char out[560], const folder *f, const char *prefix, size_t number)
{
    snprintf(out, 560, "%s/%s%zu.npz", f->path, prefix, number);
    return out;
}

/* The last of what a signal must not leave behind. */
static void folder_free(folder *f)
{
    if (f->path[0]) io_remove_folder(f->path);
    cli_end_interrupts();
}

static vt_status ask(check_torch *out, const folder *f, const char *op, vt_error *err)
{
    char count[24];
    bytes answer = { 0 };
    const char *at;
    snprintf(count, sizeof count, "%zu", f->cases);
    const char *words[] = { op, f->path, count, NULL };
    vt_status s = python_run(&answer, out->python, script, words, NULL, err);
    if (s == VT_OK && !python_torch(out->version, &at, &answer))
        s = fail(err, VT_IO, "--torch: %s: expected an answer that begins with torch and its "
                 "version", out->python);
    bytes_free(&answer);
    return s;
}

/* ---- comparing --------------------------------------------------------------- */

static torch_row *new_row(check_torch *t, vt_error *err)
{
    if (t->nrows == t->room) {
        const size_t room = t->room ? 2 * t->room : 64;
        torch_row *more = realloc(t->rows, room * sizeof *more);
        if (!more) {
            (void)fail_memory(err, room * sizeof *more, "a report");
            return NULL;
        }
        t->rows = more;
        t->room = room;
    }
    torch_row *row = &t->rows[t->nrows++];
    *row = (torch_row){ .name = "" };
    return row;
}

/* Rounding's share, "bound.NAME" of the case; VT_BAD_INPUT where it has none. */
static vt_status read_bound(double *bound, const tensors *ours, const char *name, vt_error *err)
{
    char full[96];
    const tensor *t;
    snprintf(full, sizeof full, "bound.%s", name);
    vt_status s = tensors_need(ours, full, &t, err);
    return s ? s : tensors_read_f64(ours, t, bound, err);
}

static void judge(torch_row *row, const double *found, const double *expected, double rounding)
{
    double largest = 0;
    for (size_t i = 0; i < row->of; i++) {
        const double size = fabs(expected[i]), gap = fabs(found[i] - expected[i]);
        if (!(size <= largest) && !isnan(largest)) largest = size;
        row->compared++;
        if (isnan(row->difference) || (i > 0 && gap <= row->difference)) continue;
        row->difference = gap;
        row->entry = i;
        row->expected = expected[i];
        row->found = found[i];
    }
    row->relative = row->difference == 0 ? 0 : row->difference / largest;
    row->cancels = row->difference > CHECK_TORCH_BOUND * largest && row->difference <= rounding;
    row->bound = row->cancels ? rounding : CHECK_TORCH_BOUND * largest;
    row->pass = row->compared > 0 && isfinite(largest) && isfinite(row->bound) &&
                row->difference <= row->bound;          /* a NaN is no agreement */
}

static vt_status compare(check_torch *out, const tensors *ours, const tensors *theirs,
                         const tensor *t, size_t number, vt_error *err)
{
    const tensor *own;
    double rounding = 0;
    vt_status s = tensors_need(ours, t->name, &own, err);
    if (s == VT_OK) s = read_bound(&rounding, ours, t->name, err);
    if (s) return s;
    if (t->rank != own->rank || memcmp(t->shape, own->shape, t->rank * sizeof *t->shape) != 0)
        return fail(err, VT_IO, "--torch: %s: its %s has another shape", out->python, t->name);
    double *found = malloc((t->count + 1) * sizeof *found);
    double *expected = malloc((t->count + 1) * sizeof *expected);
    torch_row *row = NULL;
    if (!found || !expected) s = fail_memory(err, 2 * t->count * sizeof *found, t->name);
    if (s == VT_OK) s = tensors_read_f64(ours, own, found, err);
    if (s == VT_OK) s = tensors_read_f64(theirs, t, expected, err);
    if (s == VT_OK && !(row = new_row(out, err))) s = VT_TOO_LARGE;
    if (s == VT_OK) {
        snprintf(row->name, sizeof row->name, "%s", t->name);
        row->number = number;
        row->of = t->count;
        judge(row, found, expected, rounding);
    }
    free(expected);
    free(found);
    return s;
}

/* Whatever has a bound in the case must be in the answer: nothing is left out unseen. */
static vt_status check_names(const check_torch *out, const tensors *ours, const tensors *theirs,
                             vt_error *err)
{
    static const char head[] = "bound.";
    for (size_t i = 0; i < ours->count; i++) {
        const char *name = ours->items[i].name;
        if (strncmp(name, head, sizeof head - 1) == 0 &&
            !tensors_find(theirs, name + sizeof head - 1))
            return fail(err, VT_IO, "--torch: %s: its answer has no %s", out->python,
                        name + sizeof head - 1);
    }
    return VT_OK;
}

static void add_up(check_torch *out, torch_case *c, size_t first)
{
    for (size_t i = first; i < out->nrows; i++) {
        const torch_row *row = &out->rows[i];
        c->compared += row->compared;
        c->of += row->of;
        c->failed += !row->pass;
        c->cancel += row->cancels;
        if (!row->cancels && !(row->relative <= c->relative) && !isnan(c->relative)) c->relative = row->relative;
        if (strcmp(row->name, "loss") == 0 && !(row->difference <= out->loss)) out->loss = row->difference;
    }
    out->compared += c->compared;
    out->of += c->of;
    out->failed += c->failed;
    out->cancel += c->cancel;
    if (!(c->relative <= out->relative) && !isnan(out->relative)) out->relative = c->relative;
}

static vt_status compare_case(check_torch *out, const folder *f, size_t number, vt_error *err)
{
    char name[560];
    tensors ours = { .count = 0 }, theirs = { .count = 0 };
    const size_t first = out->nrows;
    vt_status s = tensors_open(&ours, file_of(name, f, "", number), FILE_LIMIT, err);
    if (s == VT_OK) s = tensors_open(&theirs, file_of(name, f, "torch.", number), FILE_LIMIT, err);
    if (s == VT_OK) s = check_names(out, &ours, &theirs, err);
    for (size_t i = 0; i < theirs.count && s == VT_OK; i++)
        s = compare(out, &ours, &theirs, &theirs.items[i], number, err);
    if (s == VT_OK) add_up(out, &out->cases[number - 1], first);
    tensors_close(&theirs);
    tensors_close(&ours);
    return s == VT_BAD_INPUT ? VT_IO : s;       /* an answer is no file of the user's */
}

static vt_status first_failure(const check_torch *out, vt_error *err)
{
    for (size_t i = 0; i < out->nrows; i++) {
        const torch_row *row = &out->rows[i];
        if (row->pass) continue;
        return fail(err, VT_CHECK_FAILED, "PyTorch: %s%s%s entry %zu: expected %.17g, found %.17g",
                    out->op ? out->cases[row->number - 1].sizes : "", out->op ? ": " : "",
                    row->name, row->entry, row->expected, row->found);
    }
    return VT_OK;
}

/* The cases of the folder are there. */
static vt_status finish(check_torch *out, const folder *f, vt_error *err)
{
    if (interrupt_asked()) return interrupt_fail(err);
    vt_status s = ask(out, f, out->op ? out->op : "gpt", err);
    for (size_t i = 1; i <= f->cases && s == VT_OK; i++) s = compare_case(out, f, i, err);
    if (s) return s;
    out->pass = out->failed == 0 && out->compared > 0 && out->compared == out->of;
    if (interrupt_asked()) return interrupt_fail(err);
    return out->pass ? VT_OK : first_failure(out, err);
}

static vt_status begin(check_torch *out, folder *f, const char *python, const char *op,
                       vt_error *err)
{
    *out = (check_torch){ .python = python, .op = op, .loss = NAN };
    cli_begin_interrupts();
    return folder_new(f, err);
}

static vt_status make_room(check_torch *out, folder *f, size_t cases, vt_error *err)
{
    out->cases = calloc(cases, sizeof *out->cases);
    if (!out->cases) return fail_memory(err, cases * sizeof *out->cases, "a report");
    out->ncases = f->cases = cases;
    return VT_OK;
}

vt_status check_torch_model(check_torch *out, const char *python, vt_model *m,
                            const vt_check_options *o, vt_error *err)
{
    char name[560];
    folder f;
    vt_status s = begin(out, &f, python, NULL, err);
    if (s == VT_OK) s = make_room(out, &f, 1, err);
    if (s == VT_OK) s = vt_check_write(m, o, file_of(name, &f, "", 1), err);
    if (s == VT_OK) s = finish(out, &f, err);
    folder_free(&f);
    return s;
}

vt_status check_torch_op(check_torch *out, const char *python, const char *op, uint64_t seed,
                         vt_error *err)
{
    char name[560];
    folder f;
    vt_op_written w = { .of = 1 };
    vt_status s = begin(out, &f, python, op, err);
    for (size_t i = 1; i <= w.of && s == VT_OK; i++) {
        s = vt_op_write(&w, op, i, seed, file_of(name, &f, "", i), err);
        if (s == VT_OK && i == 1) s = make_room(out, &f, w.of, err);
        if (s == VT_OK) memcpy(out->cases[i - 1].sizes, w.sizes, sizeof w.sizes);
    }
    if (s == VT_OK) s = finish(out, &f, err);
    folder_free(&f);
    return s;
}

void check_torch_free(check_torch *t)
{
    free(t->cases);
    free(t->rows);
    *t = (check_torch){ .cases = NULL };
}

/* model_exports.c -- a checkpoint in the module's memory: every stage in double, the
 * gradient of one entry by three ways, attention and generation on the fast kernels.
 * See exports.h.
 */
#include "wasm/exports.h"
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/gpt_window.h"
#include "verify/differences.h"
#include "verify/model/check_passes.h"
#include "wasm/page_model.h"

page_model *page_model_new(int L, int C, int NH, int FF, int T, int V, int tied);
void page_model_free(page_model *m);
int  page_model_tensor(const page_model *m, size_t i, uint32_t out[11]);
vt_status page_model_set(page_model *m, size_t i, const float *data, size_t count);
vt_status page_model_window(page_model *m, const int *ids, const int *targets, int T);
double page_model_loss(const page_model *m);
int  page_model_stage(const page_model *m, size_t i, uint32_t out[8]);
vt_status page_model_derivative(page_model *m, double *hand, double *central, double *complex_,
                           const int *ids, const int *targets, int T, size_t tensor,
                           size_t entry, const double *steps, size_t n);

/* A zeroed model of these sizes, which a file named that may say anything; NULL with a
 * line where they are none, or more than 2^26 parameters (gpt_config_check). */
EXPORT(page_model_new)
page_model *page_model_new(int L, int C, int NH, int FF, int T, int V, int tied)
{
    const gpt_config z = { L, C, NH, FF, T, V, tied != 0 };
    if (gpt_config_check(&z, &page_error_line)) return NULL;
    const size_t n = gpt_tensor_count(&z), count = gpt_parameter_count(&z);
    page_model *m = calloc(1, sizeof *m);
    if (m) {
        *m = (page_model){ .z = z, .ntensors = n, .count = count };
        m->tensors = calloc(n, sizeof *m->tensors);
        m->params = calloc(count, sizeof *m->params);
        if (m->tensors && m->params) {
            gpt_tensor_list(&z, m->tensors);
            return m;
        }
    }
    page_model_free(m);
    (void)fail_memory(&page_error_line, count > SIZE_MAX / sizeof(float) ? SIZE_MAX
                      : count * sizeof(float), "a model's parameters");
    return NULL;
}

/* What was computed of the last window. */
static void forget(page_model *m)
{
    gpt_window_free(&m->window);
    check_model_free_f64(&m->moved);
    check_model_free_c128(&m->complex_moved);
    free(m->ids);
    free(m->weight);
    m->ids = NULL;
    m->weight = NULL;
    m->ran = false;
}

EXPORT(page_model_free) void page_model_free(page_model *m)
{
    if (!m) return;
    forget(m);
    free(m->tensors);
    free(m->params);
    free(m);
}

/* Parameter i: addresses of its name and of its name in files, layer, rows, columns,
 * whether a vector, whether transposed in files, how it starts, whether it decays,
 * offset, count.  0 beyond the last. */
EXPORT(page_model_tensor) int page_model_tensor(const page_model *m, size_t i, uint32_t out[11])
{
    if (i >= m->ntensors) return 0;
    const gpt_tensor *t = &m->tensors[i];
    const uint32_t words[11] = {
        (uint32_t)(uintptr_t)t->name, (uint32_t)(uintptr_t)t->file, (uint32_t)t->layer,
        (uint32_t)t->rows, (uint32_t)t->cols, t->vector, t->transposed, (uint32_t)t->start,
        t->decay, (uint32_t)t->offset, (uint32_t)t->count
    };
    memcpy(out, words, sizeof words);
    return 1;
}

/* Writes parameter i, which comes as files hold it. */
EXPORT(page_model_set)
vt_status page_model_set(page_model *m, size_t i, const float *data, size_t count)
{
    if (i >= m->ntensors)
        return fail(&page_error_line, VT_USAGE, "parameter %zu: expected 0 to %zu", i, m->ntensors - 1);
    const gpt_tensor *t = &m->tensors[i];
    if (count != t->count)
        return fail(&page_error_line, VT_BAD_INPUT, "%s: %zu numbers, expected %zu (%d x %d)", t->file,
                    count, t->count, t->rows, t->cols);
    float *w = m->params + t->offset;
    const size_t rows = (size_t)t->rows, cols = (size_t)t->cols;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            w[r * cols + c] = t->transposed ? data[c * rows + r] : data[r * cols + c];
    forget(m);
    return VT_OK;
}

/* ---- a window in double ------------------------------------------------ */

static bool same_window(const page_model *m, const int *ids, const int *targets, int T)
{
    const size_t n = (size_t)T;
    return m->ran && m->window.T == T && memcmp(m->ids, ids, n * sizeof *ids) == 0
        && memcmp(m->ids + n, targets, n * sizeof *targets) == 0;
}

/* Runs T ids and targets, unless they are the last ones. */
EXPORT(page_model_window)
vt_status page_model_window(page_model *m, const int *ids, const int *targets, int T)
{
    vt_status s;
    if (T > 0 && same_window(m, ids, targets, T)) return VT_OK;
    forget(m);
    s = gpt_window_new(&m->window, &m->z, m->params, T, &page_error_line);
    if (s) return s;
    if ((s = gpt_window_run(&m->window, ids, targets, &page_error_line))) goto done;
    const size_t n = (size_t)T;
    m->ids = malloc(2 * n * sizeof *m->ids);
    if (!m->ids) {
        s = fail_memory(&page_error_line, 2 * n * sizeof *m->ids, "a window's tokens");
        goto done;
    }
    memcpy(m->ids, ids, n * sizeof *ids);
    memcpy(m->ids + n, targets, n * sizeof *targets);
    m->ran = true;
done:
    if (s) forget(m);
    return s;
}

/* Of the window that ran: the mean loss, and stage i: addresses of its name and
 * numbers, rank, three sizes, count.  0 beyond the last. */
EXPORT(page_model_loss) double page_model_loss(const page_model *m) { return m->window.loss; }

EXPORT(page_model_stage) int page_model_stage(const page_model *m, size_t i, uint32_t out[8])
{
    if (!m->ran || i >= m->window.count) return 0;
    const gpt_stage *g = &m->window.stages[i];
    out[0] = (uint32_t)(uintptr_t)g->name;
    out[1] = (uint32_t)(uintptr_t)g->data;
    out[2] = (uint32_t)g->rank;
    for (size_t k = 0; k < 3; k++) out[3 + k] = (uint32_t)g->shape[k];
    out[6] = (uint32_t)g->count;
    out[7] = 0;
    return 1;
}

/* ---- one entry's derivative -------------------------------------------- */

/* Models of their own, whose parameters move: made once for a window. */
static vt_status make_moved(page_model *m)
{
    const size_t n = (size_t)m->window.T;
    size_t targets = 0;
    if (m->weight) return VT_OK;
    m->weight = malloc(n * sizeof *m->weight);
    if (!m->weight) return fail_memory(&page_error_line, n * sizeof *m->weight, "a window's weights");
    for (size_t t = 0; t < n; t++) targets += m->ids[n + t] != VT_IGNORE;
    for (size_t t = 0; t < n; t++) m->weight[t] = 1 / (double)targets;
    m->moving = (gradcheck_case){ .z = &m->z, .params = m->params, .tokens = m->ids,
                                  .targets = m->ids + n, .B = 1, .T = m->window.T };
    vt_status s = check_model_new_f64(&m->moved, &m->moving, false, &page_error_line);
    if (!s) s = check_model_new_c128(&m->complex_moved, &m->moving, false, &page_error_line);
    if (s) {
        check_model_free_f64(&m->moved);
        check_model_free_c128(&m->complex_moved);
        free(m->weight);
        m->weight = NULL;
    }
    return s;
}

/* The part whose parameters a tensor is, as in gpt_decl.h. */
static int part_of(const page_model *m, const gpt_tensor *t)
{
    if (t->layer >= 0) return t->layer;
    const bool embedding = strcmp(t->name, "wte") == 0 || strcmp(t->name, "wpe") == 0;
    return embedding ? -1 : m->z.L;
}

typedef struct entry { page_model *m; size_t at; int part; } entry;

static double loss_at(void *context, double x)
{
    const entry *e = context;
    check_move_f64(&e->m->moved, e->at, x);
    return check_loss_f64(&e->m->moved, e->m->weight, e->part);
}

/* Of the mean loss of the window by an entry of a parameter: *hand, and n numbers
 * each by central difference and by complex step. */
EXPORT(page_model_derivative)
vt_status page_model_derivative(page_model *m, double *hand, double *central, double *complex_,
                          const int *ids, const int *targets, int T, size_t tensor,
                          size_t entry_, const double *steps, size_t n)
{
    vt_status s;
    if (tensor >= m->ntensors || entry_ >= m->tensors[tensor].count)
        return fail(&page_error_line, VT_USAGE, "parameter %zu, entry %zu: there is none", tensor, entry_);
    if ((s = page_model_window(m, ids, targets, T)) || (s = make_moved(m))) return s;
    const gpt_tensor *t = &m->tensors[tensor];
    entry e = { m, t->offset + entry_, part_of(m, t) };
    const differences_function f = { .at = loss_at, .context = &e };
    const double x = (double)m->params[e.at];
    *hand = m->window.grads[e.at];
    for (size_t i = 0; i < n; i++) {
        central[i] = differences_central(&f, x, steps[i]);
        check_move_c128(&m->complex_moved, e.at, CMPLX(x, steps[i]));
        complex_[i] = cimag(check_loss_c128(&m->complex_moved, m->weight, e.part)) / steps[i];
    }
    check_move_f64(&m->moved, e.at, x);
    check_move_c128(&m->complex_moved, e.at, x);
    return VT_OK;
}

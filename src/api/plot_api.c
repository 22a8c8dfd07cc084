/* plot_api.c -- vt_plot: the curves of trainings as a file. */
#include "train/plot_svg.h"
#include "base/io.h"
#include "vitrine.h"

vt_status vt_plot(const char *const *folders, size_t n, bool log_steps, const char *path,
                  vt_error *err)
{
    plot_run runs[PLOT_RUNS] = { { .n = 0 } };
    bytes text = { 0 };
    vt_status s = VT_OK;
    if (n < 1 || n > PLOT_RUNS)
        return fail(err, VT_USAGE, "%zu runs: expected 1 to %d", n, PLOT_RUNS);
    for (size_t i = 0; i < n && s == VT_OK; i++) s = plot_run_read(&runs[i], folders[i], err);
    if (s == VT_OK) s = plot_run_names(runs, n, err);
    if (s == VT_OK) s = plot_svg(&text, runs, n, log_steps, err);
    if (s == VT_OK) s = io_replace(path, text.data, text.len, err);
    for (size_t i = 0; i < n; i++) plot_run_free(&runs[i]);
    bytes_free(&text);
    return s;
}

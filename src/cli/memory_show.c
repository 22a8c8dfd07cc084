/* memory_show.c -- see memory_show.h. */
#include "cli/memory_show.h"
#include "base/progress.h"

static const char *kind_text(vt_memory_kind kind)
{
    switch (kind) {
    case VT_MEMORY_HELD:    return "held";
    case VT_MEMORY_PASSING: return "passing";
    case VT_MEMORY_DISK:    return "disk";
    default:                return "disk_passing";
    }
}

static void line(FILE *out, const char *name, size_t size, const char *more)
{
    char count[24];
    progress_bytes(count, sizeof count, (double)size);
    fprintf(out, "  %-46s %18zu %10s%s\n", name, size, count, more);
}

static void rows(FILE *out, const vt_memory *m, vt_memory_kind kind, const char *more)
{
    for (size_t i = 0; i < m->nrows; i++)
        if (m->rows[i].kind == kind) line(out, m->rows[i].name, m->rows[i].bytes, more);
}

void memory_show(FILE *out, const char *what, const vt_memory *m)
{
    char count[24], share[64] = "";
    fprintf(out, "%s: %zu parameters, vocabulary %d, %d thread%s\n", what, m->parameters,
            m->vocabulary, m->threads, m->threads == 1 ? "" : "s");
    rows(out, m, VT_MEMORY_HELD, "");
    rows(out, m, VT_MEMORY_PASSING, "  passing");
    if (m->machine > 0) {
        progress_bytes(count, sizeof count, (double)m->machine);
        snprintf(share, sizeof share, "  %.1f %% of %s", 100 * (double)m->memory / (double)m->machine,
                 count);
    }
    line(out, "memory, at most", m->memory, share);
    if (m->machine > 0 && m->memory > m->machine)
        fprintf(out, "  more than this machine has: the run would be refused, or ended by the system\n");
    if (m->lever[0] && (m->machine == 0 || m->lever_memory <= m->machine || m->memory <= m->machine)) {
        progress_bytes(count, sizeof count, (double)m->lever_memory);
        fprintf(out, "  %s would take %s\n", m->lever, count);
    }
    if (m->disk == 0) return;
    rows(out, m, VT_MEMORY_DISK, "");
    rows(out, m, VT_MEMORY_DISK_PASSING, "  passing");
    line(out, "disk, at most", m->disk, "");
}

void memory_json(js_writer *w, const vt_memory *m)
{
    js_open_object(w);
    js_field_uint(w, "memory", m->memory);
    js_field_uint(w, "disk", m->disk);
    if (m->machine > 0) js_field_uint(w, "machine", m->machine);
    else js_field_null(w, "machine");
    js_field_uint(w, "parameters", m->parameters);
    js_field_int(w, "vocabulary", m->vocabulary);
    js_field_int(w, "threads", m->threads);
    js_field_string(w, "lever", m->lever[0] ? m->lever : NULL);
    if (m->lever[0]) js_field_uint(w, "lever_memory", m->lever_memory);
    else js_field_null(w, "lever_memory");
    js_key(w, "blocks");
    js_open_array(w);
    for (size_t i = 0; i < m->nrows; i++) {
        js_open_object(w);
        js_field_string(w, "name", m->rows[i].name);
        js_field_string(w, "kind", kind_text(m->rows[i].kind));
        js_field_uint(w, "bytes", m->rows[i].bytes);
        js_close_object(w);
    }
    js_close_array(w);
    js_close_object(w);
}

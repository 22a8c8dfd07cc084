/* site_api.c -- vt_site: the built pages and the models, as one folder. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "provenance/site_folder.h"
#include "vitrine.h"

static vt_status find_shell(const char *shell, vt_error *err)
{
    static const char *const files[] = { "index.html", "vitrine.wasm" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = io_join(shell, files[i]);
        if (!path) return fail_memory(err, strlen(shell), "a path");
        const bool there = access(path, R_OK) == 0;
        free(path);
        if (!there) return fail(err, VT_IO, "%s: has no %s; expected the built pages of a site "
                                "(./run builds them, in build/site)", shell, files[i]);
    }
    return VT_OK;
}

static vt_status add_model(const vt_site_options *o, const char *made, const char *model,
                           const char *as, vt_export_report *r, vt_error *err)
{
    const vt_export_options e = {
        .model = model, .site = made, .as = as, .text = o->text, .text_length = o->text_length,
        .corpus = o->corpus, .threads = o->threads,
    };
    *r = (vt_export_report){ .rebuilt = -1 };
    return model ? vt_export(&e, r, err) : VT_OK;
}

vt_status vt_site(const vt_site_options *o, vt_site_report *out, vt_error *err)
{
    site_folder f = { .place = NULL };
    vt_status s;
    *out = (vt_site_report){ .files = 0 };
    if ((s = find_shell(o->shell, err)) || (s = site_folder_begin(&f, o->out, o->shell, err)) ||
        (s = site_folder_copy(&f, o->shell, &out->files, &out->bytes, err)) ||
        (s = add_model(o, f.made, o->lab, "lab", &out->lab, err)) ||
        (s = add_model(o, f.made, o->playground, "playground", &out->playground, err)))
        goto done;
    out->replaced = f.replaces;
    s = site_folder_take_place(&f, err);
done:
    site_folder_end(&f);
    return s;
}

/* entry_name.c -- see entry_name.h. */
#include "verify/model/entry_name.h"
#include <stdio.h>
#include <string.h>

/* The name without its layer: "h.3.qkvw" -> "qkvw". */
static const char *base_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* q, k, v lie side by side in qkvw's columns and in qkvb, heads in each of them. */
static void qkv_name(char *out, size_t room, const gpt_config *z, size_t row, size_t col, bool bias)
{
    static const char letters[] = "qkv";
    const size_t C = (size_t)z->C, HS = C / (size_t)z->NH, within = col % C;
    const char letter = letters[col / C % 3];
    if (bias)
        snprintf(out, room, "head %zu, b%c, entry %zu", within / HS, letter, within % HS);
    else
        snprintf(out, room, "head %zu, W%c, row %zu (input channel), column %zu", within / HS,
                 letter, row, within % HS);
}

void entry_name(char out[VT_CHECK_PLACE], const gpt_config *z, const gpt_tensor *t, size_t entry)
{
    static const struct { const char *name, *format; } matrices[] = {
        { "wte",      "token %zu, channel %zu" },
        { "wpe",      "position %zu, channel %zu" },
        { "fcw",      "row %zu (input channel), column %zu (hidden unit)" },
        { "fcprojw",  "row %zu (hidden unit), column %zu (output channel)" },
        { "headw",    "row %zu (channel), column %zu (token)" },
    }, vectors[] = {
        { "ln1w",     "gain before attention, channel %zu" },
        { "ln1b",     "bias before attention, channel %zu" },
        { "ln2w",     "gain before the MLP, channel %zu" },
        { "ln2b",     "bias before the MLP, channel %zu" },
        { "lnfw",     "gain before the head, channel %zu" },
        { "lnfb",     "bias before the head, channel %zu" },
        { "attprojb", "bias of attention's projection, channel %zu" },
        { "fcb",      "bias of the MLP, hidden unit %zu" },
        { "fcprojb",  "bias of the MLP's projection, channel %zu" },
    };
    const size_t cols = t->cols > 0 ? (size_t)t->cols : 1, row = entry / cols, col = entry % cols;
    const size_t HS = (size_t)(z->C / z->NH);
    const char *name = base_name(t->name);
    char what[VT_CHECK_PLACE - 24];             /* behind "layer 2147483647, " */
    snprintf(what, sizeof what, "row %zu, column %zu", row, col);
    if (strcmp(name, "qkvw") == 0 || strcmp(name, "qkvb") == 0)
        qkv_name(what, sizeof what, z, row, col, name[3] == 'b');
    if (strcmp(name, "attprojw") == 0)
        snprintf(what, sizeof what, "Wo, row %zu (head %zu, value %zu), column %zu (output channel)",
                 row, row / HS, row % HS, col);
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        if (strcmp(name, matrices[i].name) == 0)
            snprintf(what, sizeof what, matrices[i].format, row, col);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (strcmp(name, vectors[i].name) == 0)
            snprintf(what, sizeof what, vectors[i].format, col);
    if (t->layer >= 0) snprintf(out, VT_CHECK_PLACE, "layer %d, %s", t->layer, what);
    else snprintf(out, VT_CHECK_PLACE, "%s", what);
}

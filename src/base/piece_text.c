/* piece_text.c -- see piece_text.h. */
#include "base/piece_text.h"
#include "base/utf8.h"

static vt_status append_hex(bytes *out, const unsigned char *p, size_t n, vt_error *err)
{
    vt_status s = VT_OK;
    for (size_t i = 0; i < n && s == VT_OK; i++) s = bytes_printf(out, err, "\\x%02X", p[i]);
    return s;
}

vt_status piece_text(bytes *out, const void *piece, size_t n, vt_error *err)
{
    const unsigned char *p = piece;
    vt_status s = bytes_append(out, "\"", 1, err);
    for (size_t i = 0, used; i < n && s == VT_OK; i += used) {
        uint32_t point = 0;
        const utf8_kind kind = utf8_next(p + i, n - i, &used, &point);
        if (kind == UTF8_CUT) used = n - i;
        if (kind == UTF8_GOOD && p[i] == '\n') s = bytes_append(out, "\\n", 2, err);
        else if (kind == UTF8_GOOD && (p[i] == '"' || p[i] == '\\'))
            s = bytes_printf(out, err, "\\%c", p[i]);
        else if (kind == UTF8_GOOD && utf8_is_shown(point)) s = bytes_append(out, p + i, used, err);
        else s = append_hex(out, p + i, used, err);
    }
    return s == VT_OK ? bytes_append(out, "\"", 1, err) : s;
}

/* generate_request.c -- see generate_request.h. */
#include "serve/generate_request.h"
#include <limits.h>
#include <string.h>
#include "formats/json.h"

enum { TOKENS_MOST = 4096 };

static vt_status known_fields(const json_t *body, vt_error *err)
{
    static const char *const known[] = { "prompt", "max_tokens", "temperature", "top_k", "top_p",
                                         "seed" };
    for (void *i = json_object_iter((json_t *)(uintptr_t)body); i;
         i = json_object_iter_next((json_t *)(uintptr_t)body, i)) {
        const char *key = json_object_iter_key(i);
        bool is = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) is |= strcmp(key, known[k]) == 0;
        if (!is) return fail(err, VT_BAD_INPUT, "body: field \"%.60s\": is not known; expected "
                             "prompt, max_tokens, temperature, top_k, top_p, seed", key);
    }
    return VT_OK;
}

static vt_status read_prompt(bytes *out, const json_t *body, vt_error *err)
{
    const json_t *prompt = json_object_get(body, "prompt");
    if (!json_is_string(prompt))
        return fail(err, VT_BAD_INPUT, "body: field \"prompt\": expected a text");
    return bytes_append(out, json_string_value(prompt), json_string_length(prompt), err);
}

vt_status generate_request_read(vt_generate_options *o, bytes *prompt, const void *text,
                                size_t n, vt_error *err)
{
    static const char where[] = "body";
    json_t *body = NULL;
    int64_t tokens, top_k, seed;
    vt_generate_defaults(o);
    tokens = o->max_tokens, top_k = o->top_k, seed = (int64_t)o->seed;
    vt_status s = js_parse(&body, n ? text : "", n, where, err);
    if (s == VT_OK && !json_is_object(body)) s = fail(err, VT_BAD_INPUT, "body: expected an object");
    if (s || (s = known_fields(body, err)) || (s = read_prompt(prompt, body, err)) ||
        (js_has(body, "max_tokens") &&
         (s = js_get_int(body, "max_tokens", where, 1, TOKENS_MOST, &tokens, err))) ||
        (js_has(body, "temperature") &&
         (s = js_get_number(body, "temperature", where, 0, 1e30, &o->temperature, err))) ||
        (js_has(body, "top_k") && (s = js_get_int(body, "top_k", where, 0, INT_MAX, &top_k, err))) ||
        (js_has(body, "top_p") && (s = js_get_number(body, "top_p", where, 0, 1, &o->top_p, err))) ||
        (js_has(body, "seed") && (s = js_get_int(body, "seed", where, 0, INT64_MAX, &seed, err))))
        goto done;
    o->max_tokens = (int)tokens;
    o->top_k = (int)top_k;
    o->seed = (uint64_t)seed;
    o->prompt = (const char *)prompt->data;
    o->prompt_length = prompt->len;
done:
    json_decref(body);
    return s;
}

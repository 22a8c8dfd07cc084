/* fuzz_body.c -- the body of POST /api/generate: what is accepted is within the ranges
 * that docs/command-line.md states, and is what the JSON says.
 */
#include "fuzz.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "formats/json.h"
#include "serve/generate_request.h"

/* In place of api/generate_api.c, which brings a model. */
void vt_generate_defaults(vt_generate_options *o)
{
    *o = (vt_generate_options){ .max_tokens = 7, .temperature = 0.75, .top_k = 3, .top_p = 0.5,
                                .seed = 11 };
}

/* A number of the tree, or the default. */
static double said(const json_t *root, const char *key, double otherwise)
{
    const json_t *value = json_object_get(root, key);
    return value && !json_is_null(value) ? json_number_value(value) : otherwise;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vt_generate_options o;
    bytes prompt = { 0 };
    unsigned char *copy = fuzz_copy(data, size);
    const vt_status s = generate_request_read(&o, &prompt, copy, size, &fuzz_error);
    if (s != VT_OK) {
        fuzz_refused(s, 1u << VT_BAD_INPUT, "body: ");
    } else {
        json_t *root = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
        const json_t *text = json_object_get(root, "prompt");
        HOLDS(json_is_string(text) && o.prompt_length == json_string_length(text));
        HOLDS(memcmp(o.prompt, json_string_value(text), o.prompt_length) == 0);
        HOLDS(o.max_tokens >= 1 && o.max_tokens <= 4096 && o.max_tokens == said(root, "max_tokens", 7));
        HOLDS(o.temperature >= 0 && isfinite(o.temperature));
        HOLDS(o.temperature == said(root, "temperature", 0.75));
        HOLDS(o.top_k >= 0 && o.top_k == said(root, "top_k", 3));
        HOLDS(o.top_p >= 0 && o.top_p <= 1 && o.top_p == said(root, "top_p", 0.5));
        HOLDS(o.seed <= INT64_MAX && (double)o.seed == said(root, "seed", 11));
        json_decref(root);
    }
    bytes_free(&prompt);
    free(copy);
    return 0;
}

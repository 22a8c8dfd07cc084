/* fuzz_target.c -- where a request's target may lead.
 *
 * `plain` decodes without looking, in a first pass; what target_path lets through
 * must be that, and name something beneath the root.
 */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include "serve/target.h"

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *d = c ? strchr(digits, c) : NULL;
    return d ? (int)((d - digits) % 16) : -1;
}

/* Every %XX undone, up to the query; NULL where one is not. */
static char *plain(const char *target)
{
    char *out = malloc(strlen(target) + 1);
    size_t n = 0;
    HOLDS(out != NULL);
    for (const char *p = target; *p && *p != '?'; p++) {
        if (*p != '%') { out[n++] = *p; continue; }
        const int high = hex(p[1]), low = high < 0 ? -1 : hex(p[2]);
        if (low < 0) { free(out); return NULL; }
        out[n++] = (char)(16 * high + low);
        p += 2;
    }
    out[n] = 0;
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *target = malloc(size + 1), path[TARGET_MOST];
    HOLDS(target != NULL);
    if (size > 0) memcpy(target, data, size);
    target[size] = 0;
    const char *why = target_path(path, target);
    char *decoded = plain(target);
    if (why) {
        HOLDS(*why && !strchr(why, '\n'));
    } else {
        HOLDS(target[0] == '/' && decoded && strcmp(path, decoded + 1) == 0);
        HOLDS(strlen(path) < TARGET_MOST && path[0] != '/' && !strstr(path, "//"));
        HOLDS(!strchr(path, '\\'));
        char *walk = (char *)fuzz_copy(path, strlen(path) + 1), *rest = walk;
        for (char *name = strtok_r(walk, "/", &rest); name; name = strtok_r(NULL, "/", &rest))
            HOLDS(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
        for (const char *p = path; *p; p++) HOLDS((unsigned char)*p >= 32 && *p != 127);
        free(walk);
    }
    free(decoded);
    free(target);
    return 0;
}

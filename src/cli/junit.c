/* junit.c -- see junit.h. */
#include "cli/junit.h"
#include <stdio.h>
#include <string.h>
#include "base/utf8.h"

static void put(junit *j, bytes *to, const char *text)
{
    if (j->status == VT_OK) j->status = bytes_append(to, text, strlen(text), &j->error);
}

/* Characters of XML 1.0, section 2.2, without those that a terminal obeys. */
static bool is_char(uint32_t c)
{
    return c == '\t' || c == '\n' || c == '\r' ||
           (utf8_is_shown(c) && c != 0xFFFE && c != 0xFFFF);
}

static const char *escape_of(uint32_t c)
{
    switch (c) {
    case '&':  return "&amp;";
    case '<':  return "&lt;";
    case '>':  return "&gt;";
    case '"':  return "&quot;";
    case '\n': return "&#10;";
    case '\r': return "&#13;";
    case '\t': return "&#9;";
    default:   return NULL;
    }
}

static void put_escaped(junit *j, bytes *to, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = strlen(text), used;
    uint32_t c = 0;
    for (; n > 0 && j->status == VT_OK; p += used, n -= used) {
        const bool good = utf8_next(p, n, &used, &c) == UTF8_GOOD && is_char(c);
        const char *escape = good ? escape_of(c) : UTF8_REPLACEMENT;
        if (escape) put(j, to, escape);
        else j->status = bytes_append(to, p, used, &j->error);
    }
}

static void put_attribute(junit *j, bytes *to, const char *name, const char *value)
{
    put(j, to, " ");
    put(j, to, name);
    put(j, to, "=\"");
    put_escaped(j, to, value);
    put(j, to, "\"");
}

void junit_open(junit *j, bytes *out, const char *name)
{
    *j = (junit){ .out = out };
    put(j, out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    put_attribute(j, out, "name", name);
    put(j, out, ">\n");
}

static void end_suite(junit *j)
{
    if (j->suite[0]) {
        put(j, j->out, "  <testsuite");
        put_attribute(j, j->out, "name", j->suite);
        if (j->status == VT_OK)
            j->status = bytes_printf(j->out, &j->error, " tests=\"%zu\" failures=\"%zu\" "
                                     "errors=\"0\" skipped=\"%zu\">\n", j->tests, j->failures,
                                     j->skipped);
        if (j->status == VT_OK && j->cases.len)
            j->status = bytes_append(j->out, j->cases.data, j->cases.len, &j->error);
        put(j, j->out, "  </testsuite>\n");
    }
    bytes_free(&j->cases);
    j->tests = j->failures = j->skipped = 0;
    j->suite[0] = '\0';
}

void junit_suite(junit *j, const char *name)
{
    end_suite(j);
    snprintf(j->suite, sizeof j->suite, "%s", name);
}

void junit_case(junit *j, const char *name, junit_result result, const char *message,
                const char *text)
{
    const char *tag = result == JUNIT_FAIL ? "failure" : "skipped";
    j->tests++;
    j->failures += result == JUNIT_FAIL;
    j->skipped += result == JUNIT_SKIP;
    put(j, &j->cases, "    <testcase");
    put_attribute(j, &j->cases, "classname", j->suite);
    put_attribute(j, &j->cases, "name", name);
    if (result == JUNIT_PASS) {
        put(j, &j->cases, "/>\n");
        return;
    }
    put(j, &j->cases, ">\n      <");
    put(j, &j->cases, tag);
    put_attribute(j, &j->cases, "message", message ? message : "");
    put(j, &j->cases, ">");
    if (text) put_escaped(j, &j->cases, text);
    put(j, &j->cases, "</");
    put(j, &j->cases, tag);
    put(j, &j->cases, ">\n    </testcase>\n");
}

vt_status junit_close(junit *j, vt_error *err)
{
    end_suite(j);
    put(j, j->out, "</testsuites>\n");
    if (j->status && err) *err = j->error;
    return j->status;
}

/* test_junit.c -- JUnit's XML: counts, suites, and that nothing put into it breaks it.
 * Every document is read by Python's parser (expat), which shares no code with ours.
 */
#include "support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/junit.h"
#include "scratch.h"

static void whole_document(void **state)
{
    (void)state;
    bytes out = { 0 };
    junit w;
    junit_open(&w, &out, "both");
    junit_suite(&w, "gradients");
    junit_case(&w, "wte", JUNIT_PASS, "not shown", "nor this");
    junit_case(&w, "a < b & \"c\"", JUNIT_FAIL, "1 > 0\nsecond line", "more <text>");
    junit_suite(&w, "exact");
    junit_case(&w, "causality", JUNIT_SKIP, "T = 1", NULL);
    junit_suite(&w, "empty");
    assert_ok(junit_close(&w, &test_error));
    assert_string_equal((const char *)out.data,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"both\">\n"
        "  <testsuite name=\"gradients\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\">\n"
        "    <testcase classname=\"gradients\" name=\"wte\"/>\n"
        "    <testcase classname=\"gradients\" name=\"a &lt; b &amp; &quot;c&quot;\">\n"
        "      <failure message=\"1 &gt; 0&#10;second line\">more &lt;text&gt;</failure>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "  <testsuite name=\"exact\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">\n"
        "    <testcase classname=\"exact\" name=\"causality\">\n"
        "      <skipped message=\"T = 1\"></skipped>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "  <testsuite name=\"empty\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\">\n"
        "  </testsuite>\n"
        "</testsuites>\n");
    bytes_free(&out);
    junit_open(&w, &out, "");                   /* nothing at all is a document too */
    assert_ok(junit_close(&w, &test_error));
    assert_contains((const char *)out.data, "<testsuites name=\"\">\n</testsuites>\n");
    bytes_free(&out);
}

/* Every byte and some characters at the edges, as a name and as a message: expat
 * reads back what XML can hold, and U+FFFD for what it cannot. */
static void hostile_text_is_read_back(void **state)
{
    (void)state;
    static const char script[] =
        "import sys, xml.etree.ElementTree as tree\n"
        "raw = open(sys.argv[2], 'rb').read().split(b'\\0')[:-1]\n"
        "bad = {*range(32)} - {9, 10, 13} | {0xFFFE, 0xFFFF} | {*range(0x7F, 0xA0)}\n"
        "bad |= {*range(0x2028, 0x202F)} | {*range(0x2066, 0x206A)}\n"
        "want = [''.join('\\ufffd' if ord(c) in bad else c for c in t.decode('utf-8', 'replace'))\n"
        "        for t in raw]\n"
        "cases = tree.parse(sys.argv[1]).getroot().findall('testsuite/testcase')\n"
        "assert [c.get('name') for c in cases] == want, [c.get('name') for c in cases]\n"
        "assert [c.find('failure').get('message') for c in cases] == want\n"
        "print(len(cases))\n";
    static const char *const edges[] = { "", "<![CDATA[", "]]>", "&amp;", "<!--", "'", "\r\n",
        "\xEF\xBF\xBE", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF", "\xC3", "\xE2\x82", "\xED\xA0\x80",
        "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x8A", "\x7F", "\xC2\x9B[31m", "\xE2\x80\xAE", "\xE2\x81\xA9",
        "\xE2\x80\xA7\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xAA\xC2\xA0" };
    enum { EDGES = sizeof edges / sizeof *edges };
    bytes out = { 0 }, raw = { 0 };
    junit w;
    junit_open(&w, &out, "");
    junit_suite(&w, "hostile");
    for (int i = 1; i < 256 + EDGES; i++) {
        char text[40];
        if (i < 256) snprintf(text, sizeof text, "x%cy", i);
        else snprintf(text, sizeof text, "%s", edges[i - 256]);
        junit_case(&w, text, JUNIT_FAIL, text, NULL);
        assert_ok(bytes_append(&raw, text, strlen(text) + 1, &test_error));
    }
    assert_ok(junit_close(&w, &test_error));
    assert_ok(io_replace(scratch("hostile.xml"), out.data, out.len, &test_error));
    assert_ok(io_replace(scratch("raw"), raw.data, raw.len, &test_error));
    assert_ok(io_replace(scratch("read.py"), script, strlen(script), &test_error));
    char command[1500], xml[400], texts[400];
    snprintf(xml, sizeof xml, "%s", scratch("hostile.xml"));
    snprintf(texts, sizeof texts, "%s", scratch("raw"));
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' '%s' '%s'", scratch("read.py"), xml, texts);
    FILE *p = popen(command, "r");
    int cases = 0;
    assert_non_null(p);
    assert_int_equal(fscanf(p, "%d", &cases), 1);
    assert_int_equal(pclose(p), 0);
    assert_int_equal(cases, 255 + EDGES);
    bytes_free(&raw);
    bytes_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_document),
        cmocka_unit_test(hostile_text_is_read_back),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}

/* test_roofline.c -- the picture of a bench: whatever was measured, no two of its labels
 * overlap, and each row has its mark.  Reports are made up; none is measured here, where
 * an unlucky moment would draw two roofs in one place.
 */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "cli/roofline.h"

enum { ROWS = 12, LIMITS = 14, LABELS = 64 };

typedef struct report {
    vt_bench_report r;
    vt_bench_limit  limits[LIMITS];
    vt_bench_row    rows[ROWS];
} report;

static void limit(report *m, const char *name, int threads, double rate)
{
    m->limits[m->r.nlimits++] = (vt_bench_limit){ .name = name, .isa = "avx2", .unit = "B/s", .threads = threads,
                                                  .median = rate, .low = rate, .high = rate };
}

/* Two threads as fast as one, and caches as slow as memory where near is 1. */
static void make(report *m, double near, uint64_t seed)
{
    static const char *const levels[] = { "read", "copy", "triad", "l1", "l2", "l3" };
    rng g;
    rng_seed(&g, seed);
    *m = (report){ .r = { .machine = { .cpu = "a processor", .cores = 2, .threads = 2 }, .isa = "avx2" } };
    m->r.limits = m->limits;
    m->r.rows = m->rows;
    for (int threads = 1; threads <= 2; threads++) {
        const double wider = threads == 1 ? 1 : 2 - near;
        limit(m, "fma", threads, 2e11 * wider);
        for (int i = 0; i < 6; i++)
            limit(m, levels[i], threads, 4e10 * wider * (i < 3 ? 1 : near + (1 - near) * (12 - 3 * i + 10)));
    }
    for (size_t i = 0; i < ROWS; i++) {
        vt_bench_row *row = &m->rows[m->r.nrows++];
        snprintf(row->name, sizeof row->name, "case-of-%zu", i);
        row->verdict = VT_BENCH_MEASURED;
        row->seconds = 1;
        row->bytes = 1e9;
        row->flop = 1e9 * pow(10, 2 * (1 - near) * rng_double(&g));
        row->share = 0.5 + 0.4 * rng_double(&g);
        row->target = i % 3 == 0 ? (double)NAN : 0.8;
        row->goal = VT_BENCH_SHARE;
        row->met = i % 3 == 1;
    }
}

typedef struct place { double x, y, w; char text[80]; } place;

/* Each <text class="halo ...">; its letters are at most 7 wide and 12 high. */
static size_t labels_of(const char *svg, place *out)
{
    size_t n = 0;
    for (const char *at = svg; (at = strstr(at, "<text class=\"halo ")) != NULL; at++) {
        assert_true(n < LABELS);
        assert_int_equal(sscanf(at, "<text class=\"halo %*[a-z]\" x=\"%lf\" y=\"%lf\">%79[^<]", &out[n].x,
                                &out[n].y, out[n].text), 3);
        out[n].w = 7 * (double)strlen(out[n].text);
        n++;
    }
    return n;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) n++;
    return n;
}

static void no_labels_overlap(void **state)
{
    (void)state;
    static const double nears[] = { 0, 0.3, 0.9, 0.99, 1 };
    for (size_t i = 0; i < sizeof nears / sizeof *nears; i++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            report m;
            place p[LABELS];
            bytes out = { 0 };
            make(&m, nears[i], seed);
            assert_ok(roofline_svg(&out, &m.r, "a day", &test_error));
            const char *svg = (const char *)out.data;
            const size_t n = labels_of(svg, p);
            assert_true(n >= 6);                            /* there is something to compare */
            for (size_t a = 0; a < n; a++)
                for (size_t b = 0; b < a; b++)
                    if (p[a].x < p[b].x + p[b].w && p[b].x < p[a].x + p[a].w && fabs(p[a].y - p[b].y) < 12)
                        fail_msg("near %g, seed %d: %s (%g, %g) and %s (%g, %g)", nears[i], (int)seed, p[a].text,
                                 p[a].x, p[a].y, p[b].text, p[b].x, p[b].y);
            /* Each row twice, as a point and in the list; and the legend. */
            assert_int_equal(count(svg, "class=\"point plain\""), 2 * 4 + 1);
            assert_int_equal(count(svg, "class=\"point met\""), 2 * 4 + 1);
            assert_int_equal(count(svg, "class=\"point missed\""), 2 * 4 + 1);
            assert_int_equal(count(svg, ">multiply-adds, 2 threads: "), 1);
            bytes_free(&out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_labels_overlap) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

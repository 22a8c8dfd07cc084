/* test_progress.c -- the lines that training shows: their width, what stays
 * when there is little room, and curves worked out by hand. */
#include "support.h"
#include "base/progress.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a line that ends at NUL or newline: characters, well formed. */
static size_t columns(const char *text)
{
    size_t n = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c && *c != '\n'; n++) {
        const size_t more = *c < 0x80 ? 0 : *c >= 0xE0 ? 2 : 1;
        assert_true(*c >= 0x20 && *c < 0xF0 && (*c < 0x80 || *c >= 0xC2));
        c++;
        for (size_t i = 0; i < more; i++, c++) assert_int_equal(*c & 0xC0, 0x80);
    }
    return n;
}

static bool ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80) return false;
    return true;
}

static void durations(void **state)
{
    (void)state;
    static const struct { double seconds; const char *text; } cases[] = {
        { 0, "0.0 s" }, { 0.44, "0.4 s" }, { 9.94, "9.9 s" }, { 9.96, "10 s" }, { 12, "12 s" },
        { 59.4, "59 s" }, { 59.6, "1 min 00 s" }, { 184, "3 min 04 s" },
        { 3599.4, "59 min 59 s" }, { 3599.6, "1 h 00 min" }, { 7500, "2 h 05 min" },
        { 86399, "23 h 59 min" }, { 86400, "1 d 00 h" }, { 273600, "3 d 04 h" }
    };
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        progress_duration(text, sizeof text, cases[i].seconds);
        assert_string_equal(text, cases[i].text);
    }
    const double unknown[] = { -1, (double)NAN, (double)INFINITY, 1e300 };
    for (size_t i = 0; i < 4; i++) {
        progress_duration(text, sizeof text, unknown[i]);
        assert_string_equal(text, "-");
    }
}

static void counts(void **state)
{
    (void)state;
    static const struct { double count; const char *text; } cases[] = {
        { 0, "0" }, { 812.3, "812" }, { 999.4, "999" }, { 999.6, "1.0k" }, { 21312, "21.3k" },
        { 99949, "99.9k" }, { 99951, "100k" }, { 999400, "999k" }, { 999600, "1.00M" },
        { 1.24e6, "1.24M" }, { 99.96e6, "100M" }, { 3.5e9, "3.5G" }, { 999.94e9, "999.9G" }, { 999.96e9, "1.0T" },
        { 1.927e15, "1.9P" }, { 18.4e18, "18.4E" },
        { (double)NAN, "-" }, { -5, "-" }, { (double)INFINITY, "-" }
    };
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        progress_count(text, sizeof text, cases[i].count);
        assert_string_equal(text, cases[i].text);
    }
}

/* As counts, in powers of 1000 (SI). */
static void sizes(void **state)
{
    (void)state;
    static const struct { double bytes; const char *text; } cases[] = {
        { 0, "0 bytes" }, { 1, "1 byte" }, { 2, "2 bytes" }, { 999, "999 bytes" }, { 1000, "1.0 kB" },
        { 21312, "21.3 kB" }, { 614400, "614 kB" }, { 1.24e6, "1.24 MB" }, { 3.5e9, "3.5 GB" },
        { (double)NAN, "-" }, { -5, "-" }, { (double)INFINITY, "-" }
    };
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        progress_bytes(text, sizeof text, cases[i].bytes);
        assert_string_equal(text, cases[i].text);
    }
}

static const progress HALF = { 100, 200, 3.57214, 4.01, 9.8e-4, 0.83, 21312, 83.2 };

static void a_bar_has_the_terminals_width(void **state)
{
    (void)state;
    const progress odd[] = {
        HALF,
        { 0, 0, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN },
        { SIZE_MAX, SIZE_MAX, 1e300, -1e300, 1e300, (double)INFINITY, 1e300, 1e300 },
        { 7, 3, 0, 0, 0, 0, 0, 0 }
    };
    char out[PROGRESS_BYTES];
    for (size_t i = 0; i < 4; i++)
        for (size_t width = 0; width <= 300; width++)
            for (int utf8 = 0; utf8 < 2; utf8++) {
                progress_bar(out, &odd[i], width, utf8 == 1);
                assert_int_equal(columns(out), width < 250 ? width : 250);
                if (!utf8) assert_true(ascii(out));
            }
}

static void little_room_shows_the_most_needed(void **state)
{
    (void)state;
    static const char *const order[] = {
        "100/200", "loss 3.5721", "1 min 23 s left", "21.3k tok/s", "val 4.0100", "lr 9.80e-04",
        "grad 0.8300"
    };
    char out[PROGRESS_BYTES];
    size_t most = 0;
    for (size_t width = 0; width <= 140; width++) {
        progress_bar(out, &HALF, width, false);
        size_t shown = 0;
        while (shown < 7 && strstr(out, order[shown])) shown++;
        for (size_t k = shown; k < 7; k++) assert_null(strstr(out, order[k]));
        assert_true(shown >= most);         /* more room never shows less */
        most = shown;
        if (width == 7) assert_int_equal(shown, 1);
        if (shown > 1) assert_contains(out, "  [##");
    }
    assert_int_equal(most, 7);
    progress_bar(out, &HALF, 80, false);
    assert_string_equal(out, "100/200  [####    ]  50%  loss 3.5721  val 4.0100  "
                             "21.3k tok/s   1 min 23 s left");
    /* A column less than the terminal has, thousands of steps, a long time. */
    const progress longest = { 1220, 2441, 3.57214, 4.01, 9.8e-4, 0.83, 21312, 754 };
    progress_bar(out, &longest, 79, false);
    for (size_t k = 0; k < 4; k++)
        assert_contains(out, ((const char *[]){ "loss 3.5721", "val 4.0100", "21.3k tok/s",
                                                "12 min 34 s left" })[k]);
    progress_bar(out, &longest, 99, false);
    assert_string_equal(out, "1220/2441  [#   ]  loss 3.5721  val 4.0100  lr 9.80e-04  "
                             "grad 0.8300  21.3k tok/s  12 min 34 s left");
    progress_line(out, &HALF);
    assert_string_equal(out, "step 100/200  loss 3.5721  val 4.0100  lr 9.80e-04  grad 0.8300  "
                             "21.3k tok/s  1 min 23 s left");
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

static void the_bar_fills_by_eighths(void **state)
{
    (void)state;
    progress p = HALF;
    char out[PROGRESS_BYTES];
    p.steps = 320;                  /* 40 columns of 8 parts */
    for (p.step = 0; p.step <= 320; p.step++) {
        progress_bar(out, &p, 200, true);
        assert_int_equal(count_of(out, "\xE2\x96\x88"), p.step / 8);    /* U+2588 */
        const char part[4] = { '\xE2', '\x96', (char)(0x90 - (int)(p.step % 8)), 0 };
        /* U+258F is the bar's end too. */
        if (p.step % 8 > 1) assert_int_equal(count_of(out, part), 1);
        else assert_int_equal(count_of(out, "\xE2\x96\x8F"), 1 + p.step % 8);
        progress_bar(out, &p, 200, false);
        assert_int_equal(count_of(out, "#"), p.step / 8);
        char percent[32];
        snprintf(percent, sizeof percent, "] %3zu%%", p.step * 100 / 320);
        assert_contains(out, percent);
    }
}

static char *curve(const double *loss, const double *val, size_t n, size_t first, size_t width,
                   size_t height, bool utf8)
{
    bytes out = { NULL, 0, 0 };
    const progress_curve_data d = { loss, val, n, first };
    assert_ok(progress_curve(&out, &d, width, height, utf8, &test_error));
    return (char *)out.data;
}

/* 20 columns, 2 rows of 2 dots: each column is one step, each loss one dot row. */
static void curves_worked_by_hand(void **state)
{
    (void)state;
    double loss[20], val[20];
    for (int i = 0; i < 20; i++) loss[i] = 3 - i / 5;
    char *text = curve(loss, NULL, 20, 1, 30, 5, false);
    assert_string_equal(text, "loss 0\n"
                              "         |'''''.....\n"
                              "       0 +          '''''.....\n"
                              "         +--------------------\n"
                              "          1                 20\n");
    free(text);
    for (int i = 0; i < 20; i++) {              /* a jump is joined upwards */
        loss[i] = i < 10 ? 0 : 3;
        val[i] = i == 4 ? 3.0 : (double)NAN;
    }
    text = curve(loss, val, 20, 101, 30, 5, false);
    assert_string_equal(text, "loss 3  o val 3\n"
                              "         |    o     :'''''''''\n"
                              "       0 +..........'\n"
                              "         +--------------------\n"
                              "          101              120\n");
    free(text);
    val[4] = 1.25, val[12] = 2.25;               /* the last that was measured, and the least */
    text = curve(loss, val, 20, 101, 40, 5, false);
    assert_contains(text, "loss 3  o val 2.25 (least 1.25)\n");
    free(text);
    text = curve(loss, val, 20, 101, 30, 5, false);     /* no room for that */
    assert_contains(text, "loss 3  o val 2.25\n");
    free(text);
    loss[9] = (double)NAN;                      /* a gap is not joined */
    text = curve(loss, NULL, 20, 1, 30, 5, false);
    assert_contains(text, "         |          ''''''''''\n       0 +.........\n");
    free(text);
    for (int i = 0; i < 20; i++) loss[i] = i == 0 ? 3 : i == 19 ? 0 : 2.4;  /* 0.6 of a dot */
    text = curve(loss, NULL, 20, 1, 30, 5, false);
    assert_contains(text, "         |'..................\n"
                          "       0 +                   :\n");
    free(text);
}

/* 20 columns and 2 rows of 2 x 4 dots: 40 steps go down a dot every 5 steps.
 * The bits of a braille cell: 1 8 / 2 10 / 4 20 / 40 80. */
static void a_braille_curve_worked_by_hand(void **state)
{
    (void)state;
    double loss[40];
    for (int i = 0; i < 40; i++) loss[i] = 7 - i / 5;
#define STAIRS "\u2809\u2809\u2811\u2812\u2812\u2824\u2824\u2884\u28C0\u28C0"
#define LINE5 "\u2500\u2500\u2500\u2500\u2500"
    char *text = curve(loss, NULL, 40, 5, 30, 5, true);
    assert_string_equal(text, "loss 0\n"
                              "         \u2502" STAIRS "\n"
                              "       0 \u2524          " STAIRS "\n"
                              "         \u2514" LINE5 LINE5 LINE5 LINE5 "\n"
                              "          5                 44\n");
    free(text);
}

static void many_steps_show_their_mean(void **state)
{
    (void)state;
    /* 2,000 steps in 20 columns: noise of +-1 around 5 and around 1 cancels in
     * each column; the picture is that of a step. */
    static double loss[2000];
    for (int i = 0; i < 2000; i++) loss[i] = (i < 1000 ? 5 : 1) + (i % 2 ? 1 : -1);
    char *text = curve(loss, NULL, 2000, 1, 30, 5, false);
    assert_string_equal(text, "loss 2\n"
                              "       5 +''''''''''.\n"
                              "         |          :.........\n"
                              "         +--------------------\n"
                              "          1               2000\n");
    free(text);
}

/* 50 steps in 20 columns: ten of three steps, ten of two; the steps of a column
 * differ, and their means are the stairs worked by hand above. */
static void columns_differ_by_one_step(void **state)
{
    (void)state;
    double loss[50];
    for (int i = 0; i < 30; i++) loss[i] = 3 - i / 3 / 5 + 2 * (i % 3 - 1);
    for (int i = 30; i < 50; i++) loss[i] = 1 - (i - 30) / 2 / 5 + 2 * (i % 2) - 1;
    char *text = curve(loss, NULL, 50, 1, 30, 5, false);
    assert_contains(text, "         |'''''.....\n"
                          "       0 +          '''''.....\n");
    free(text);
}

static void a_full_cell_is_no_mark(void **state)
{
    (void)state;
    double loss[40];
    for (int i = 0; i < 40; i++) loss[i] = i % 2;
    char *text = curve(loss, NULL, 40, 1, 30, 6, true);
    /* U+28FF in the middle row; the first column has no neighbour to be joined to. */
    assert_int_equal(count_of(text, "\xE2\xA3\xBF"), 19);
    assert_null(strstr(text + 5, "o"));
    free(text);
}

static void any_size_is_kept(void **state)
{
    (void)state;
    static double loss[700], val[700];
    const size_t steps[] = { 1, 2, 3, 39, 40, 41, 80, 699 };
    for (int i = 0; i < 700; i++) {
        loss[i] = 7 * exp(-i / 60.0) + 0.3 * sin(i * 1.7);
        val[i] = i % 9 ? (double)NAN : loss[i] + 0.1;
    }
    loss[5] = (double)INFINITY;
    for (size_t k = 0; k < 8; k++)
        for (size_t width = 0; width < 300; width += 23)
            for (size_t height = 0; height < 120; height += 7)
                for (int utf8 = 0; utf8 < 2; utf8++) {
                    char *text = curve(loss, val, steps[k], 1, width, height, utf8);
                    const size_t w = width < 30 ? 30 : width > 250 ? 250 : width;
                    size_t lines = 0;
                    for (const char *at = text; *at; at = strchr(at, '\n') + 1, lines++)
                        assert_true(columns(at) <= w);
                    assert_int_equal(lines, height < 5 ? 5 : height > 100 ? 100 : height);
                    if (!utf8) assert_true(ascii(text));
                    free(text);
                }
}

static void extreme_losses_are_drawn_or_refused(void **state)
{
    (void)state;
    double loss[30];
    for (int i = 0; i < 30; i++) loss[i] = (double)NAN;
    char *text = curve(loss, NULL, 30, 1, 60, 10, true);
    assert_string_equal(text, "no losses to draw\n");
    free(text);
    text = curve(loss, NULL, 0, 1, 60, 10, true);
    assert_string_equal(text, "no losses to draw\n");
    free(text);
    const double sets[][2] = { { 1e308, -1e308 }, { 1.7e308, 1.7e308 }, { 5e-324, 0 },
                               { 0, 0 }, { 1e17, 1e17 + 16 }, { -1e-300, 1e-300 } };
    for (size_t k = 0; k < 6; k++) {
        for (int i = 0; i < 30; i++) loss[i] = sets[k][i % 2];
        text = curve(loss, NULL, 30, 1, 60, 10, false);
        assert_true(count_of(text, "\n") == 10 || count_of(text, "\n") == 1);
        free(text);
    }
    for (int i = 0; i < 30; i++) loss[i] = 2.5;         /* flat: in the middle, labelled */
    text = curve(loss, NULL, 30, 1, 40, 10, false);
    assert_true(count_of(text, "'") == 30 || count_of(text, ".") >= 30);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(counts),
        cmocka_unit_test(sizes),
        cmocka_unit_test(a_bar_has_the_terminals_width),
        cmocka_unit_test(little_room_shows_the_most_needed),
        cmocka_unit_test(the_bar_fills_by_eighths),
        cmocka_unit_test(curves_worked_by_hand),
        cmocka_unit_test(many_steps_show_their_mean),
        cmocka_unit_test(a_braille_curve_worked_by_hand),
        cmocka_unit_test(columns_differ_by_one_step),
        cmocka_unit_test(a_full_cell_is_no_mark),
        cmocka_unit_test(any_size_is_kept),
        cmocka_unit_test(extreme_losses_are_drawn_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

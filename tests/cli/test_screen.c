/* What is drawn on a terminal while a command runs, at times that the test sets. */
#include "support/testing.h"

#include "base/base.h"
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_isatty(int fd);

static double clock_shows;
static bool on_terminal;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
    (void)clock;
    ts->tv_sec = (time_t)clock_shows;
    ts->tv_nsec = 0;
    return 0;
}

int __wrap_isatty(int fd)
{
    (void)fd;
    return on_terminal;
}

/* ---- what goes to standard error ---- */

static FILE *kept;
static int own_stderr;

static void catch_it(void)
{
    fflush(stderr);
    kept = tmpfile();
    own_stderr = dup(STDERR_FILENO);
    assert_non_null(kept);
    assert_true(own_stderr >= 0 && dup2(fileno(kept), STDERR_FILENO) >= 0);
}

static void let_go(char *out, size_t size)
{
    fflush(stderr);
    dup2(own_stderr, STDERR_FILENO);
    close(own_stderr);
    rewind(kept);
    size_t n = fread(out, 1, size - 1, kept);
    out[n] = 0;
    fclose(kept);
}

/* The last line that is drawn of a stage of `total` steps, `seconds` after it began. By then `done`
 * are done. It begins when the clock shows 1000 s. */
static void draw_units_after(double seconds, uint64_t done, uint64_t total, const char *unit,
                             char *out, size_t size)
{
    catch_it();
    struct screen *s = screen_open(false, false);
    const struct og_observer *o = screen_observer(s, 0);
    struct og_progress p = {.size = sizeof(p), .stage = "step", .unit = unit, .total = total};
    clock_shows = 1000;
    o->progress(o->arg, &p);
    clock_shows += seconds;
    p.done = done;
    o->progress(o->arg, &p);
    fputs("|", stderr); /* what follows clears it */
    screen_close(s);
    char all[1024];
    let_go(all, sizeof(all));
    char *end = strchr(all, '|');
    assert_non_null(end);
    *end = 0;
    snprintf(out, size, "%s", strrchr(all, 'K') + 1);
}

static void draw_after(double seconds, uint64_t done, uint64_t total, char *out, size_t size)
{
    draw_units_after(seconds, done, total, NULL, out, size);
}

static void rates_are_told(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        uint64_t done, total;
        const char *unit, *line;
    } cases[] = {
        {2, 3000, 6000, "edges", "step [===============>              ]  50%  1.5 k edges/s"},
        {4, 48000000, 96000000, "edges",
         "step [===============>              ]  50%  12 M edges/s  0:04 left"},
        {2, 6 << 20, 12 << 20, "bytes", "step [===============>              ]  50%  3.00 MiB/s"},
        {2, 10, 0, "lines", "step 10  5 lines/s"},
        {0.5, 20, 20, "edges", "step [==============================] 100%"}, /* too early */
    };
    char line[256];
    on_terminal = true;
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        draw_units_after(cases[i].seconds, cases[i].done, cases[i].total, cases[i].unit, line,
                         sizeof(line));
        assert_string_equal(line, cases[i].line);
    }
}

static void time_left_is_told(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        uint64_t done, total;
        const char *left;
    } cases[] = {
        {10, 10, 13, "0:03"},
        {10, 10, 69, "0:59"},
        {10, 10, 70, "1:00"},
        {10, 10, 197, "3:07"},
        {10, 10, 3609, "59:59"},
        {10, 10, 3610, "1:00:00"},
        {10, 10, 10 + 7384, "2:03:04"},
        {20, 10, 10 + 100 * 1800, "100:00:00"},
        {3, 3, 10, "0:07"},
        {2, 2, 10, NULL},
        {10, 0, 10, NULL},
        {10, 10, 10, NULL},
    };
    on_terminal = true;
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        char line[256], wanted[64];
        draw_after(cases[i].seconds, cases[i].done, cases[i].total, line, sizeof(line));
        snprintf(wanted, sizeof(wanted), "%%  %s left", cases[i].left ? cases[i].left : "");
        if (cases[i].left ? !strstr(line, wanted) : !!strstr(line, "left"))
            fail_msg("%s instead of %s", line, cases[i].left ? cases[i].left : "none");
    }
}

static void the_bar_is_as_long_as_what_is_done(void **state)
{
    (void)state;
    char line[256];
    on_terminal = true;
    draw_after(1, 1, 2, line, sizeof(line));
    assert_string_equal(line, "step [===============>              ]  50%");
    draw_after(1, 4, 4, line, sizeof(line));
    assert_string_equal(line, "step [==============================] 100%");
    draw_after(1, 4, 0, line, sizeof(line)); /* nobody knows of how many */
    assert_string_equal(line, "step 4");
}

static void nothing_is_drawn_elsewhere(void **state)
{
    (void)state;
    char said[256];
    const struct og_progress p = {.size = sizeof(p), .stage = "step", .done = 1, .total = 2};
    for (int quiet = 0; quiet < 2; quiet++) {
        on_terminal = quiet;
        catch_it();
        struct screen *s = screen_open(quiet, true);
        const struct og_observer *o = screen_observer(s, 3);
        o->progress(o->arg, &p);
        o->message(o->arg, 0, "take care");
        o->message(o->arg, 1, "by the way");
        o->message(o->arg, 2, "of no interest");
        o->epoch(o->arg, "{\"epoch\": 2, \"loss\": 0.5, \"rows\": 4, \"hits\": 1}");
        screen_close(s);
        let_go(said, sizeof(said));
        assert_non_null(strstr(said, "outgrow: take care\n"));
        assert_true(quiet == !strstr(said, "outgrow: by the way\n"));
        assert_true(quiet == !strstr(said, "epoch 2/3  loss 0.500000"));
        assert_true(quiet == !strstr(said, "hits 25.00%"));
        assert_null(strstr(said, "of no interest"));
        assert_null(strstr(said, "step"));
    }
}

/* The bar makes room for what is said, and comes back at the next step. */
static void a_message_is_no_part_of_the_bar(void **state)
{
    (void)state;
    char said[512];
    struct og_progress p = {.size = sizeof(p), .stage = "step", .done = 1, .total = 4};
    on_terminal = true;
    clock_shows = 1000;
    catch_it();
    struct screen *s = screen_open(false, false);
    const struct og_observer *o = screen_observer(s, 0);
    o->progress(o->arg, &p);
    o->message(o->arg, 0, "take care");
    o->message(o->arg, 0, "and again");
    clock_shows += 1;
    p.done = 2;
    o->progress(o->arg, &p);
    screen_close(s);
    let_go(said, sizeof(said));
    assert_string_equal(said, "\r\033[Kstep [=======>                      ]  25%"
                              "\r\033[Koutgrow: take care\noutgrow: and again\n"
                              "\r\033[Kstep [===============>              ]  50%"
                              "\r\033[K");
}

/* ---- signals ---- */

/* In a process of its own: what ends it when it gets the signals at these times. */
static int end_by(const int *numbers, const double *at, int n)
{
    int status;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct screen *s = screen_open(true, true);
        const struct og_observer *o = screen_observer(s, 1);
        for (int i = 0; i < n; i++) {
            clock_shows = at[i];
            raise(numbers[i]);
        }
        _exit(*o->stop ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void one_wish_may_come_as_several_signals(void **state)
{
    (void)state;
    static const struct {
        int numbers[3];
        double at[3];
        int n, ends_by;
    } cases[] = {
        {{SIGTERM}, {1000}, 1, 0},
        {{SIGTERM, SIGTERM, SIGINT}, {1000, 1000, 1000}, 3, 0}, /* to it, and to its group */
        {{SIGTERM, SIGTERM}, {1000, 1001}, 2, SIGTERM},
        {{SIGTERM, SIGINT}, {1000, 1020}, 2, SIGINT},
        {{SIGINT, SIGINT, SIGINT}, {1000, 1000, 1002}, 3, SIGINT},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++)
        assert_int_equal(end_by(cases[i].numbers, cases[i].at, cases[i].n), cases[i].ends_by);
    assert_int_equal(setenv("OUTGROW_WORKER", "1/2:-1,-1", 1), 0); /* others decide */
    assert_int_equal(end_by(cases[2].numbers, cases[2].at, cases[2].n), 0);
    assert_int_equal(unsetenv("OUTGROW_WORKER"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_left_is_told),
        cmocka_unit_test(rates_are_told),
        cmocka_unit_test(the_bar_is_as_long_as_what_is_done),
        cmocka_unit_test(nothing_is_drawn_elsewhere),
        cmocka_unit_test(a_message_is_no_part_of_the_bar),
        cmocka_unit_test(one_wish_may_come_as_several_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

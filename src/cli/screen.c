/* Progress on standard error: a bar on terminals, else a line per epoch; with --quiet warnings
 * only. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30, SECONDS_TOGETHER = 1 };

struct screen {
    bool quiet, terminal;
    bool is_train; /* the keys of an epoch's line are known */
    bool lines;    /* epochs go to standard output as JSON */
    int epochs;
    bool drawn;   /* a bar is on the current line */
    bool warned;  /* about the signal */
    double shown; /* when the bar was last drawn */
    const char *stage;
    double began;        /* start of the stage, */
    uint64_t done, from; /* last progress, and progress at the start */
    struct og_observer observer;
};

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* Signal handlers need global state. */
static volatile sig_atomic_t stop_asked;
static long long requested_at; /* nanoseconds; 0: no signal yet; used by the handler only */

/* The first signal requests a stop. Signals within the same second count as one: timeout(1) and
 * systemd send to a process and its group. A later signal kills. Workers are killed by their
 * launcher, whose signals may be late. Two threads may run this at once. */
static void on_signal(int number)
{
    const long long at = (long long)(1e9 * now());
    long long first = 0;
    if (__atomic_compare_exchange_n(&requested_at, &first, at, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
        __atomic_store_n(&stop_asked, 1, __ATOMIC_RELAXED);
    } else if (og_worker() < 0 && at - first >= SECONDS_TOGETHER * 1000000000LL) {
        signal(number, SIG_DFL);
        raise(number); /* as soon as this returns */
    }
}

static void clear_bar(struct screen *s)
{
    if (s->drawn)
        fputs("\r\033[K", stderr);
    s->drawn = false;
}

static void note_stage(struct screen *s, const struct og_progress *p)
{
    if (s->stage != p->stage || p->done < s->done) {
        s->stage = p->stage;
        s->began = now();
        s->from = p->done;
    }
    s->done = p->done;
}

/* Formats the rate of a stage after its first second, "  12.3 M edges/s"; "" without a unit. */
static void tell_rate(const struct screen *s, const struct og_progress *p, char *out, size_t size)
{
    char rate[SHOWN_MAX];
    double elapsed = now() - s->began;
    *out = 0;
    if (p->unit && elapsed >= 1 && p->done > s->from)
        snprintf(out, size, "  %s",
                 show_rate(rate, (double)(p->done - s->from) / elapsed, p->unit));
}

/* Formats the remaining time, "  3:07 left", likewise. */
static void estimate(const struct screen *s, const struct og_progress *p, char *out, size_t size)
{
    double elapsed = now() - s->began;
    *out = 0;
    if (elapsed < 3 || p->done <= s->from || p->done >= p->total)
        return;
    double left = elapsed * (double)(p->total - p->done) / (double)(p->done - s->from);
    unsigned long seconds = (unsigned long)left;
    if (seconds >= 3600)
        snprintf(out, size, "  %lu:%02lu:%02lu left", seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
    else
        snprintf(out, size, "  %lu:%02lu left", seconds / 60, seconds % 60);
}

static void draw_bar(struct screen *s, const struct og_progress *p)
{
    char left[48];
    char bar[BAR_WIDTH + 1];
    char epoch[32] = "";
    char loss[32] = "";
    char rate[48];
    double share = p->total ? (double)p->done / (double)p->total : 0;
    int full = (int)(share * BAR_WIDTH);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < full ? '=' : i == full ? '>' : ' ';
    bar[BAR_WIDTH] = 0;
    if (p->epochs > 0)
        snprintf(epoch, sizeof(epoch), " %d/%d", p->epoch, p->epochs);
    if (p->loss != 0)
        snprintf(loss, sizeof(loss), "  loss %.4f", p->loss);
    note_stage(s, p);
    tell_rate(s, p, rate, sizeof(rate));
    estimate(s, p, left, sizeof(left));
    if (p->total > 0)
        fprintf(stderr, "\r\033[K%s%s [%s] %3.0f%%%s%s%s", p->stage, epoch, bar, 100 * share, loss,
                rate, left);
    else
        fprintf(stderr, "\r\033[K%s %llu%s", p->stage, (unsigned long long)p->done, rate);
    fflush(stderr);
    s->drawn = true;
}

static void on_progress(void *arg, const struct og_progress *p)
{
    struct screen *s = arg;
    if (__atomic_load_n(&stop_asked, __ATOMIC_RELAXED) && !s->warned) {
        s->warned = true;
        clear_bar(s);
        fputs("outgrow: stopping after this batch; a signal after a second kills\n", stderr);
    }
    if (s->quiet || !s->terminal || (now() - s->shown < 0.1 && p->done < p->total))
        return;
    s->shown = now();
    draw_bar(s, p);
}

static void on_message(void *arg, int level, const char *text)
{
    struct screen *s = arg;
    if (level > 1 || (s->quiet && level > 0))
        return;
    clear_bar(s);
    fprintf(stderr, "outgrow: %s\n", text);
}

static void on_epoch(void *arg, const char *epoch_json)
{
    struct screen *s = arg;
    json_error_t why;
    char line[256];
    if ((s->quiet && !s->lines) || !s->is_train)
        return;
    json_t *epoch = json_loads(epoch_json, 0, &why);
    if (epoch && s->lines) {
        fputs("{\"progress\":", stdout);
        json_dumpf(epoch, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
        puts("}");
        fflush(stdout);
    }
    if (epoch && !s->quiet) {
        clear_bar(s);
        epoch_line(line, sizeof(line), epoch, s->epochs);
        fprintf(stderr, "%s\n", line);
    }
    json_decref(epoch);
}

struct screen *screen_open(bool quiet, bool is_train)
{
    struct screen *s = calloc(1, sizeof(*s));
    if (!s)
        abort();
    s->quiet = quiet;
    s->is_train = is_train;
    s->terminal = isatty(STDERR_FILENO) == 1;
    s->observer = (struct og_observer){.size = sizeof(struct og_observer),
                                       .arg = s,
                                       .message = on_message,
                                       .progress = on_progress,
                                       .epoch = on_epoch,
                                       .stop = &stop_asked};
    return s;
}

void screen_print_epochs(struct screen *s)
{
    s->lines = true;
}

void screen_close(struct screen *s)
{
    clear_bar(s);
    free(s);
}

const struct og_observer *screen_observer(struct screen *s, int epochs)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    static const int stops[] = {SIGINT, SIGTERM, SIGUSR1}; /* which mpirun forwards at once */
    for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
        sigaddset(&action.sa_mask, stops[i]);
    for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
        sigaction(stops[i], &action, NULL);
    s->epochs = epochs;
    return &s->observer;
}

void say_error(const struct og_err *err)
{
    fprintf(stderr, "outgrow: %s\n",
            err->message[0] ? err->message : "failed: no reason was given");
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
}

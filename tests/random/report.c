#include "report.h"

#include <outgrow/outgrow.h>

#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 120 }; /* seconds of a call that takes some hundredths */

/* ---- commands ---- */

static bool is_flag(const char *name)
{
    const struct og_option *option;
    for (size_t i = 0; (option = og_option(i)); i++)
        if (strcmp(option->name, name) == 0)
            return option->type == OG_OPTION_FLAG;
    return false;
}

void command_text(char out[MOST_COMMAND], const char *command, const char *arguments,
                  const struct settings *s)
{
    size_t n = (size_t)snprintf(out, MOST_COMMAND, "outgrow %s %s", command, arguments);
    for (int i = 0; i < s->n && n < MOST_COMMAND; i++)
        n += (size_t)snprintf(out + n, MOST_COMMAND - n, " --%s%s%s", s->at[i].name,
                              is_flag(s->at[i].name) ? "" : " ",
                              is_flag(s->at[i].name) ? "" : s->at[i].value);
}

/* ---- dying ---- */

static char under_way[MOST_COMMAND + 64];

void report_calling(uint64_t graph, const char *command)
{
    snprintf(under_way, sizeof(under_way), "graph %llu: %s\n", (unsigned long long)graph, command);
    alarm(LONGEST);
}

static void say_last_words(void)
{
    static const char words[] = "random_runs: ended by this call:\n";
    if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0 ||
        write(STDERR_FILENO, under_way, strlen(under_way)) < 0)
        _exit(2);
}

static void die(int number)
{
    say_last_words();
    signal(number, SIG_DFL);
    raise(number);
}

/* The sanitizers' runtime; not there without. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

void report_deaths(void)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    signal(SIGALRM, die);
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(say_last_words);
        return;
    }
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], die);
}

/* ---- counting ---- */

void tally_add(struct tally *t, const char *text, uint64_t graph, const char *command)
{
    int i = 0;
    while (i < t->n && strcmp(t->line[i].text, text) != 0)
        i++;
    if (i == MOST_LINES)
        i--; /* the last line is for all others */
    if (i == t->n) {
        snprintf(t->line[i].text, sizeof(t->line[i].text), "%s", text);
        snprintf(t->line[i].example, sizeof(t->line[i].example), "graph %llu: %s",
                 (unsigned long long)graph, command);
        t->n++;
    }
    t->line[i].times++;
}

static void tally_print(const struct tally *t, const char *kind, bool examples)
{
    for (int i = 0; i < t->n; i++)
        printf("%6ld %s: %s\n%s%s%s", t->line[i].times, kind, t->line[i].text,
               examples ? "         " : "", examples ? t->line[i].example : "",
               examples ? "\n" : "");
}

static void without_numbers(char *out, size_t size, const char *text)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++) {
        if (*text == '/') { /* of a path only its last name */
            while (n > 0 && !isspace((unsigned char)out[n - 1]))
                n--;
            continue;
        }
        if (!isdigit((unsigned char)*text))
            out[n++] = *text;
        else if (n == 0 || out[n - 1] != '#')
            out[n++] = '#';
    }
    out[n] = 0;
}

/* Reasons that follow from a graph or a size that was drawn. Options that do not go together are
 * not drawn (ways.c). */
static const char *const may_be_refused[] = {
    "no edges ", /* of links: all are held out, or there is none of the relation */
    "no edge is left to train on",
    "--disk: ",                   /* too little */
    "--edge-split: writes up to", /* the same */
    "--superbatch: ",             /* more batches than the least memory holds */
    " nodes or edges",            /* of a split that is evaluated */
    " nodes has a label",
    "--locality ", /* more than there are edges */
    NULL,
};

static bool may_refuse(const char *message)
{
    int i = 0;
    while (may_be_refused[i] && !strstr(message, may_be_refused[i]))
        i++;
    return may_be_refused[i] != NULL;
}

void report_refusal(struct report *r, const struct og_err *err, uint64_t graph, const char *command)
{
    char text[sizeof(r->reasons.line[0].text)];
    r->refused++;
    if (!err->message[0] || !err->hint[0] || err->code >= 0)
        report_wrong(r, graph, command, NULL, "refused without a hint: %d: %s", err->code,
                     err->message);
    else if (!may_refuse(err->message))
        report_wrong(r, graph, command, NULL, "refused: %s (%s)", err->message, err->hint);
    without_numbers(text, sizeof(text), err->message);
    tally_add(&r->reasons, text, graph, command);
}

/* ---- shares ---- */

static const struct {
    const char *name, *option; /* NULL: reported */
} shares[SHARES] = {
    [SHARE_TYPES] = {"types", NULL},
    [SHARE_DISK] = {"topology on disk", NULL},
    [SHARE_LINKS] = {"links", " --task link"},
    [SHARE_DEVICES] = {"devices", " --device virtual"},
    [SHARE_ROWS] = {"rows on devices", " --device-memory "},
    [SHARE_WORKERS] = {"workers", " --workers "},
    [SHARE_EXCHANGE] = {"exchange", " --exchange"},
    [SHARE_RESUME] = {"resumed", " --resume"},
    [SHARE_SAMPLES] = {"samples", " --samples "},
    [SHARE_TRAINERS] = {"trainers or executors", NULL},
    [SHARE_EDGE_FEATURES] = {"features of edges", " --edge-features on"},
    [SHARE_EDGE_LABELS] = {"labels of edges", " --task edge"},
    [SHARE_TIMES] = {"times", " --time "},
    [SHARE_TREES] = {"disjoint", "disjoint"},
    [SHARE_TIMED_EDGES] = {"edges at times", NULL},
    [SHARE_GIVEN] = {"given negatives", " --negative given"},
    [SHARE_LEARNT] = {"rows learnt on disk", " --embedding-optimizer "},
    [SHARE_SPARSE] = {"sparse rows", NULL},
    [SHARE_SEVERAL] = {"labels of several types", NULL},
};

void report_shares(struct report *r, const char *command, const bool of[SHARES])
{
    r->compared++;
    r->share[SHARE_TRAINERS] +=
        strstr(command, " --trainers ") != NULL || strstr(command, " --executors ") != NULL;
    for (int i = 0; i < SHARES; i++)
        r->share[i] += of[i] || (shares[i].option && strstr(command, shares[i].option));
}

/* ---- what is wrong ---- */

void report_wrong(struct report *r, uint64_t graph, const char *command, const char *beside,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("WRONG in graph %llu: ", (unsigned long long)graph);
    vprintf(format, args);
    va_end(args);
    printf("\n  %s\n", command);
    if (beside)
        printf("  beside\n  %s\n", beside);
    if (!r->kept)
        printf("  the graph: random_runs %llu 1 --first %llu --keep DIR\n",
               (unsigned long long)r->seed, (unsigned long long)graph);
    fflush(stdout);
    r->wrong++;
}

void report_print(const struct report *r, bool all)
{
    if (all)
        tally_print(&r->ways, "compared", false);
    tally_print(&r->reasons, "refused", all);
    printf("seed %llu: %ld graphs, %ld runs, %ld refused, %ld other calls, %ld wrong\n",
           (unsigned long long)r->seed, r->graphs, r->runs, r->refused, r->others, r->wrong);
    printf("of %ld that were compared:", r->compared);
    for (int i = 0; i < SHARES; i++)
        printf("%s %s %ld %%", i ? "," : "", shares[i].name,
               r->compared ? (100 * r->share[i] + r->compared / 2) / r->compared : 0);
    printf("\n");
}

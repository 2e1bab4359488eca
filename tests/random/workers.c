/* The axis of processes: workers, and a run that is killed. Each is this program once more, which
 * gets the options as words and leaves a file that says why it was refused. */
#include "workers.h"

#include "../support/runs.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = MOST_SETTINGS + 8, STOPPED = 130, REFUSED = 3, LONGEST = 110 };

/* ---- drawing ---- */

/* Workers share the mini-batches of a step out evenly, and an epoch has one for each at least. */
static bool takes_workers(const struct one *c, int n)
{
    const int steps = settings_int(&c->numbers, "accumulate");
    const int epochs = settings_int(&c->numbers, "epochs");
    return steps > 0 && steps % n == 0 && epochs > 0 && c->n_training / epochs >= n &&
           !settings_get(&c->numbers, "resample-every") &&
           !settings_get(&c->numbers, "embedding-optimizer");
}

void draw_workers(struct one *c, struct settings *way)
{
    const int most = draw_from(&c->draw, 2, 3);
    const int n = takes_workers(c, most) ? most : 5 - most; /* else the other */
    if (!takes_workers(c, n) || !draw_chance(&c->draw, 75))
        return;
    settings_put(way, "workers", "%d", n);
    settings_put(way, "memory", "%dM", n * plenty_of(&c->graph));
    if (draw_chance(&c->draw, 50))
        settings_put(way, "exchange", "true");
}

/* ---- in the process that is started ---- */

struct rank {
    int batches, at;
};

/* By a signal too, as the command: the others are stopped when one fails. */
static volatile sig_atomic_t stop_asked;

static void ask_stop(int number)
{
    (void)number;
    stop_asked = 1;
}

static void count_batch(void *arg, const struct og_progress *p)
{
    struct rank *r = arg;
    (void)p;
    r->batches++;
    if (r->at < 0 && r->batches == -r->at)
        raise(SIGKILL);
    if (r->batches == r->at)
        test_ask_stop(&stop_asked);
}

static int set_word(struct og_options *opt, char *word)
{
    struct og_err err = {0};
    char *value = strchr(word, '=');
    if (!value)
        return -EINVAL;
    *value++ = 0;
    return og_options_set(opt, word, value, &err);
}

static int say_refusal(const char *path, const struct og_err *err)
{
    FILE *f = err->message[0] ? fopen(path, "w") : NULL;
    if (!f)
        return REFUSED;
    fprintf(f, "%d\n%s\n%s\n", err->code, err->message, err->hint);
    return fclose(f) == 0 ? REFUSED : 1;
}

int rank_main(int argc, char **argv)
{
    struct rank r = {0};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &r, .progress = count_batch, .stop = &stop_asked};
    struct og_options *opt;
    struct og_err err = {0};
    if (argc < 5)
        return 2;
    alarm(LONGEST);
    signal(SIGTERM, ask_stop);
    r.at = (int)strtol(argv[3], NULL, 10);
    if (og_options_new(&opt, &err) < 0)
        return 2;
    for (int i = 5; i < argc; i++)
        if (set_word(opt, argv[i]) < 0)
            return 2;
    const int rc = og_train(argv[2], opt, &seen, NULL, &err);
    og_options_free(opt);
    if (rc == OG_INTERRUPTED)
        return STOPPED;
    return rc < 0 ? say_refusal(argv[4], &err) : 0;
}

/* ---- in this one ---- */

static void read_refusal(const char *path, struct og_err *err)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return;
    char code[16];
    if (fgets(code, sizeof(code), f) && fgets(err->message, sizeof(err->message), f) &&
        fgets(err->hint, sizeof(err->hint), f))
        err->code = (int)strtol(code, NULL, 10);
    err->message[strcspn(err->message, "\n")] = 0;
    err->hint[strcspn(err->hint, "\n")] = 0;
    fclose(f);
    remove(path);
}

/* As og_workers_run has it: an exit status, or an error of one that was killed. */
static int run_one(char *const *argv, struct og_err *err)
{
    pid_t pid;
    int status;
    if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid)
        return 1;
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    snprintf(err->message, sizeof(err->message), "ended by signal %d", WTERMSIG(status));
    return err->code = -ECONNABORTED;
}

int apart_train(const struct one *c, const struct settings *all, int stop_at, struct og_err *err)
{
    char words[MOST_SETTINGS][MOST_VALUE + 32];
    char at[16];
    char refusal[MOST_PATH];
    char dataset[MOST_PATH];
    char *argv[MOST_WORDS] = {"random_runs", "--rank", dataset, at, refusal};
    int n = 5;
    path_in(c, refusal, "refusal", -1);
    snprintf(dataset, sizeof(dataset), "%s", c->dataset);
    snprintf(at, sizeof(at), "%d", stop_at);
    for (int i = 0; i < all->n; i++, n++) {
        snprintf(words[i], sizeof(words[i]), "%s=%s", all->at[i].name, all->at[i].value);
        argv[n] = words[i];
    }
    const int workers = settings_int(all, "workers");
    int rc = workers > 0 ? og_workers_run(workers, argv, err) : run_one(argv, err);
    if (rc == STOPPED || (rc == -ECONNABORTED && stop_at < 0))
        rc = OG_INTERRUPTED;
    if (rc == REFUSED)
        read_refusal(refusal, err);
    else if (rc > 0)
        snprintf(err->message, sizeof(err->message), "a process ended with status %d", rc);
    return rc > 0 ? (err->code < 0 ? err->code : -1) : rc;
}

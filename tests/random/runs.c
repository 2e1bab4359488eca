/* Random tiny graphs, each trained on in several setups that must not change a bit.
 *
 *   random_runs SEED COUNT [--first GRAPH] [--keep DIR] [--all]
 *
 * COUNT graphs, numbered GRAPH [0], GRAPH + 1, .... Graph number i of a seed is the same whatever
 * came before. The first run on a graph is one process with everything in memory. The others draw
 * policy, cache, layout, engine, threads, place of the topology, preset, workers, devices' caches
 * and pre-sampled batches. Some are stopped or killed and resumed in another way. Losses, metrics
 * and checkpoints must be those of the first run, and counts must add up. Some graphs are used for
 * predictions, evaluations and the simulation as well. A refusal must say what to do and must
 * follow from a size or from the graph (report.c). Exit status 1 if anything was wrong. --keep DIR
 * leaves the graphs and the runs for the commands that are printed. Each graph has a process of its
 * own: its memory goes with it, and the others follow if it dies. */
#include "one.h"
#include "workers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- checking ---- */

struct findings {
    struct one *c;
    const char *command;
};

static void note_finding(void *arg, const char *text, const char *hint)
{
    const struct findings *f = arg;
    (void)hint;
    if (strstr(text, "another split") || strstr(text, "more like it"))
        return; /* they are drawn to be */
    report_wrong(f->c->report, f->c->number, f->command, NULL, "%s", text);
}

/* Nothing is wrong with the graph, nor with what was sampled and packed of it. */
static void verify(struct one *c)
{
    char samples[MOST_PATH];
    char command[MOST_COMMAND];
    const struct settings none = {0};
    struct findings f = {c, command};
    struct og_err err = {0};
    path_in(c, samples, "samples", -1);
    command_text(command, "verify", c->sampled ? samples : c->dataset, &none);
    report_calling(c->number, command);
    c->report->others++;
    int n = c->sampled ? og_verify_samples(samples, c->dataset, note_finding, &f, NULL, &err)
                       : og_verify(c->dataset, note_finding, &f, NULL, &err);
    if (n < 0)
        report_refusal(c->report, &err, c->number, command);
}

/* ---- a graph ---- */

static bool has_features(const struct graph *g)
{
    int types = g->n_types == 0;
    for (int t = 0; t < g->n_types; t++)
        types += g->type[t].dim > 0;
    return types > 0;
}

static void try_graph(struct one *c)
{
    struct settings plain = {0};
    struct outcome first = {0};
    char run[MOST_PATH];
    options_plain(&plain, &c->graph);
    path_in(c, run, "run", c->n_runs++);
    if (train(c, &plain, run, 0, &first) == 0) {
        c->first = &first;
        check_epochs(c, &first);
        if (!settings_are(&c->numbers, "epochs", "0") && draw_chance(&c->draw, 25))
            make_samples(c);
        if (c->sampled && has_features(&c->graph) && draw_chance(&c->draw, 60) &&
            !settings_are(&c->numbers, "edge-features", "on") &&
            !settings_get(&c->numbers, "embedding-optimizer"))
            pack_samples(c);
        verify(c);
        for (int ways = draw_from(&c->draw, 2, 3); ways > 0; ways--)
            train_another_way(c);
        if (draw_chance(&c->draw, 40) && !settings_are(&c->numbers, "epochs", "0"))
            simulate(c);
        use_model(c);
    }
    outcome_free(&first);
}

static void graph_run(struct report *r, const char *folder, uint64_t number)
{
    struct one c = {.report = r, .number = number};
    draw_start(&c.draw, r->seed, number);
    snprintf(c.folder, sizeof(c.folder), "%.200s/%llu", folder, (unsigned long long)number);
    if (mkdir(c.folder, 0777) < 0) {
        perror(c.folder);
        exit(2);
    }
    setenv("XDG_CACHE_HOME", c.folder, 1);
    path_in(&c, c.dataset, "graph", -1);
    graph_write(&c.graph, &c.draw, c.dataset);
    options_numbers(&c.numbers, &c.draw, &c.graph);
    try_graph(&c);
    if (!r->kept)
        remove_tree(c.folder);
}

/* As graph_run, in a process of its own, which has said why if it does not end well. */
static void graph_apart(struct report *r, const char *folder, uint64_t number)
{
    int status = 0;
    r->graphs++;
    const pid_t pid = fork();
    if (pid == 0) {
        report_deaths();
        graph_run(r, folder, number);
        exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("random_runs: a process for a graph");
        exit(2);
    }
    if (status != 0) {
        r->wrong++;
        printf("WRONG in graph %llu: its process ended %s %d\n", (unsigned long long)number,
               WIFSIGNALED(status) ? "by signal" : "with status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        fflush(stdout);
    }
}

/* ---- the program ---- */

static void usage(void)
{
    fprintf(stderr, "usage: random_runs SEED COUNT [--first GRAPH] [--keep DIR] [--all]\n");
    exit(2);
}

/* A new folder where fsync returns at once, since on a disk it takes most of a run. TMPDIR names
 * another place. */
static char *own_folder(char out[128])
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp)
        tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(out, 128, "%.100s/og-random-XXXXXX", tmp);
    return mkdtemp(out);
}

int main(int argc, char **argv)
{
    struct report *r =
        mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char own[128];
    const char *folder = NULL;
    uint64_t number = 0;
    bool all = false;
    if (argc > 1 && strcmp(argv[1], "--rank") == 0)
        return rank_main(argc, argv);
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            all = true;
        else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
            number = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--keep") == 0 && i + 1 < argc)
            folder = argv[++i];
        else
            usage();
    }
    if (argc < 3)
        usage();
    if (r == MAP_FAILED) {
        perror("random_runs: its counts");
        return 2;
    }
    r->seed = strtoull(argv[1], NULL, 10);
    r->kept = folder != NULL;
    const long count = strtol(argv[2], NULL, 10);
    if (r->kept ? mkdir(folder, 0777) < 0 && errno != EEXIST : !(folder = own_folder(own))) {
        perror("random_runs: its folder");
        return 2;
    }
    while (r->graphs < count && r->wrong < 20)
        graph_apart(r, folder, number++);
    if (!r->kept)
        remove_tree(folder);
    report_print(r, all);
    return r->wrong > 0;
}

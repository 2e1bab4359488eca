/* Pictures, drawn by gnuplot: it gets a script on its standard input and the open file as its
 * standard output, so that no file name ever stands in a script. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- files that appear when they are complete ---- */

static int file_error(struct og_err *err, const char *path)
{
    char reason[128];
    int code = errno ? errno : EIO;
    return failure(err, -code,
                   code == ENOSPC ? "free space on that disk, or write to another one"
                                  : "look at the name, and at the permissions of its folder",
                   "%.*s: %s", (int)(sizeof(err->message) - sizeof(reason) - 4), path,
                   strerror_r(code, reason, sizeof(reason)));
}

static int refuse_existing(struct og_err *err, const struct output *o)
{
    const char *path = o->path;
    struct stat st;
    if (o->replaces || lstat(path, &st) < 0)
        return 0;
    return failure(err, -EEXIST, "remove it or choose another name", "%.*s: exists already",
                   (int)sizeof(err->message) - 32, path);
}

static int open_output(struct output *o, struct og_err *err)
{
    if (!o->path)
        abort();
    int rc = refuse_existing(err, o);
    if (rc < 0)
        return rc;
    if (asprintf(&o->temporary, "%s.tmp-%d", o->path, (int)getpid()) < 0)
        abort();
    errno = 0;
    o->file = fopen(o->temporary, "wxe");
    return o->file ? 0 : file_error(err, o->path);
}

int output_open(struct output *o, const char *path, struct og_err *err)
{
    *o = (struct output){.path = strdup(path)};
    return open_output(o, err);
}

int output_replace(struct output *o, const char *path, struct og_err *err)
{
    *o = (struct output){.path = strdup(path), .replaces = true};
    return open_output(o, err);
}

int output_commit(struct output *o, struct og_err *err)
{
    errno = 0;
    bool written = fflush(o->file) == 0 && !ferror(o->file) && fsync(fileno(o->file)) == 0;
    if (!written)
        return file_error(err, o->path);
    int rc = refuse_existing(err, o); /* made meanwhile */
    if (rc < 0)
        return rc;
    if (rename(o->temporary, o->path) < 0)
        return file_error(err, o->path);
    fclose(o->file);
    o->file = NULL;
    return 0;
}

void output_abandon(struct output *o)
{
    if (o->file) {
        fclose(o->file);
        unlink(o->temporary);
    }
    free(o->path);
    free(o->temporary);
    *o = (struct output){0};
}

/* ---- gnuplot ---- */

static int plot_error(struct og_err *err, const char *what)
{
    return failure(err, -ENOENT, "install gnuplot-nox, or leave out --plot", "plot: %s", what);
}

/* gnuplot with these standard streams; its exit status, or -1 when it cannot be started. */
static int run_gnuplot(int in, int out, char *const argv[])
{
    posix_spawn_file_actions_t files;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    int failed = posix_spawnp(&child, "gnuplot", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed)
        return -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

int plot_possible(struct og_err *err)
{
    char *const argv[] = {(char[]){"gnuplot"}, (char[]){"--version"}, NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int status = null < 0 ? -1 : run_gnuplot(null, null, argv);
    if (null >= 0)
        close(null);
    return status == 0 ? 0 : plot_error(err, "gnuplot is not there");
}

/* ---- the picture of a simulation ---- */

enum { MOST_LINES = 64, MOST_POINTS = 256 };

struct line {
    const char *policy;
    double point[MOST_POINTS][2]; /* cache, hit rate */
    size_t n;
};

static int by_cache(const void *a, const void *b)
{
    const double *p = a;
    const double *q = b;
    return (p[0] > q[0]) - (p[0] < q[0]);
}

/* The key stands in the order in which the lines end. */
static int by_last(const void *a, const void *b)
{
    const struct line *p = *(struct line *const *)a;
    const struct line *q = *(struct line *const *)b;
    double x = p->point[p->n - 1][1];
    double y = q->point[q->n - 1][1];
    return (x < y) - (x > y);
}

/* One line a policy, in the order of the results. */
static size_t collect_lines(const json_t *root, struct line *line)
{
    const json_t *policies = json_object_get(root, "policies");
    const json_t *caches = json_object_get(root, "caches");
    double n_nodes = json_number_value(json_object_get(root, "num_nodes"));
    size_t n = 0;
    size_t next = 0;
    for (; n < json_array_size(policies) && n < MOST_LINES; n++) {
        struct line *l = &line[n];
        l->policy = json_string_value(json_array_get(policies, n));
        for (; l->n < json_array_size(caches) && l->n < MOST_POINTS; l->n++) {
            const json_t *r = json_array_get(json_object_get(root, "results"), next++);
            double rows = json_number_value(json_object_get(r, "cache_rows"));
            l->point[l->n][0] = 100 * rows / n_nodes;
            l->point[l->n][1] = 100 * json_number_value(json_object_get(r, "hit_rate"));
        }
        qsort(l->point, l->n, sizeof(l->point[0]), by_cache);
    }
    return n;
}

static const char head[] =
    "set terminal svg noenhanced size 860,500 font 'Helvetica,14' background '#ffffff'\n"
    "set border 3 linecolor rgb '#707070'\n"
    "set tics nomirror out scale 0.6 textcolor rgb '#303030'\n"
    "set grid xtics ytics linecolor rgb '#e4e4e4' linewidth 1\n"
    "set key outside right center Left reverse samplen 2 spacing 1.3 textcolor rgb '#303030'\n"
    "set xlabel 'cache, % of all rows' textcolor rgb '#303030'\n"
    "set ylabel 'hit rate, %' textcolor rgb '#303030'\n"
    "set xrange [0:*]\nset yrange [0:*]\n";

/* Eight colours that differ for every kind of eye; from the ninth line on they come again, dashed.
 */
static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#7f3c8d", "#555555"};
enum { N_COLORS = 8 };

static void write_script(FILE *f, const struct line *all, struct line *const *order, size_t n)
{
    fputs(head, f);
    for (size_t k = 0; k < n; k++) {
        fprintf(f, "$line%zu << end\n", k);
        for (size_t i = 0; i < order[k]->n; i++)
            fprintf(f, "%.9g %.9g\n", order[k]->point[i][0], order[k]->point[i][1]);
        fputs("end\n", f);
    }
    for (size_t k = 0; k < n; k++) {
        size_t look = (size_t)(order[k] - all); /* a policy keeps its colour */
        fprintf(f,
                "%s$line%zu using 1:2 with linespoints linewidth 2 dashtype %d pointtype 7 "
                "pointsize 0.5 linecolor rgb '%s' title '%s'",
                k ? ", \\\n  " : "plot ", k, look < N_COLORS ? 1 : 2, colors[look % N_COLORS],
                order[k]->policy);
    }
    fputc('\n', f);
}

int plot_hit_rates(const json_t *root, FILE *svg, struct og_err *err)
{
    char *const argv[] = {(char[]){"gnuplot"}, (char[]){"-"}, NULL};
    struct line *order[MOST_LINES];
    struct line *line = calloc(MOST_LINES, sizeof(*line));
    FILE *script = tmpfile();
    if (!line || !script) {
        free(line);
        if (script)
            fclose(script);
        return file_error(err, "plot");
    }
    size_t n = collect_lines(root, line);
    for (size_t k = 0; k < n; k++)
        order[k] = &line[k];
    qsort(order, n, sizeof(struct line *), by_last);
    write_script(script, line, order, n);
    rewind(script);
    int status = run_gnuplot(fileno(script), fileno(svg), argv);
    fclose(script);
    free(line);
    return status == 0 ? 0 : plot_error(err, "gnuplot failed");
}

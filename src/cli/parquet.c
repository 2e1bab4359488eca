/* What the Python package reads and writes: Parquet, and layouts of other projects. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool is_parquet_file(const char *name)
{
    return ends_with(name, ".parquet");
}

static bool has_file(const char *folder, const char *pattern)
{
    char path[4096];
    glob_t found = {0};
    size_t n = 0;
    for (const char *p = folder; *p && n + 2 < sizeof(path); p++) {
        if (strchr("*?[\\", *p))
            path[n++] = '\\';
        path[n++] = *p;
    }
    const size_t room = sizeof(path) - n;
    const bool fits = (size_t)snprintf(path + n, room, "/%s", pattern) < room;
    const bool has = fits && glob(path, 0, NULL, &found) == 0;
    globfree(&found);
    return has;
}

bool is_for_python(const char *format, const char *src)
{
    static const struct {
        const char *format, *file; /* format "": none of the library's */
    } layouts[] = {{"", "edges*.parquet"},
                   {"ogb", "split/*/train.pt"},
                   {"tgb", "*_edgelist*.csv"},
                   {"relbench", "train.parquet"},
                   {"relbench", "db/*.parquet"}};
    bool is = !format && is_parquet_file(src) && !has_file(src, "*");
    for (size_t i = 0; !is && i < sizeof(layouts) / sizeof(*layouts); i++)
        is = (!format || strcmp(format, layouts[i].format) == 0) && has_file(src, layouts[i].file);
    return is || (format && (strcmp(format, "parquet") == 0 || strcmp(format, "tgb") == 0 ||
                             strcmp(format, "relbench") == 0));
}

enum { MOST_WORDS = MAX_OWN + 8, ABSENT = 77 };

struct words {
    char *word[MOST_WORDS];
    size_t n;
};

static int add_option(void *arg, const char *name, const char *value, struct og_err *err)
{
    struct words *w = arg;
    char *word = NULL;
    (void)err;
    if (asprintf(&word, "--%s=%s", name, value) < 0)
        return -ENOMEM;
    w->word[w->n++] = word;
    return 0;
}

/* The interpreter: that of the calling package, of the active environment, or on the PATH. */
static const char *python_name(void)
{
    static char path[4096];
    const char *named = getenv("OUTGROW_PYTHON");
    const char *active = getenv("VIRTUAL_ENV");
    if (named && *named)
        return named;
    snprintf(path, sizeof(path), "%s/bin/python3", active ? active : "");
    return active && access(path, X_OK) == 0 ? path : "python3";
}

/* Runs Python, and reads what it prints. Returns its exit status, ABSENT if there is none. */
static int run_python(const struct words *w, char *said, size_t size)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    int status = 0;
    pid_t child;
    size_t n = 0;
    if (pipe(ends) < 0)
        return 1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    const int failed = posix_spawnp(&child, python_name(), &actions, NULL, w->word, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    for (ssize_t got = 1; !failed && n + 1 < size && got > 0; n += got > 0 ? (size_t)got : 0)
        got = read(ends[0], said + n, size - 1 - n);
    said[n] = 0;
    close(ends[0]);
    if (failed)
        return ABSENT;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Calls a function of the package with all words but the first three. They are freed. */
static int call_package(const char *function, struct words *w, const char *path, struct og_err *err)
{
    char said[1024] = "";
    char *program = NULL;
    const char *const start[] = {python_name(), "-c"};
    int rc = asprintf(&program,
                      "import sys\n"
                      "try:\n"
                      "    from outgrow._parquet import %s as run\n"
                      "except ImportError as error:\n"
                      "    print(error.name or 'outgrow')\n"
                      "    sys.exit(77)\n"
                      "run()\n",
                      function) < 0
                 ? -ENOMEM
                 : 0;
    for (size_t i = 0; i < 2; i++)
        w->word[i] = strdup(start[i]);
    w->word[2] = program;
    const int status = rc < 0 ? 1 : run_python(w, said, sizeof(said));
    for (size_t i = 0; i < w->n; i++)
        free(w->word[i]);
    if (rc < 0 || status == 0)
        return rc;
    if (status == ABSENT) {
        said[strcspn(said, "\n")] = 0;
        const bool itself = !*said || strncmp(said, "outgrow", strlen("outgrow")) == 0;
        char remedy[160];
        snprintf(remedy, sizeof(remedy),
                 "pip install %.40s for it, name another interpreter by OUTGROW_PYTHON, or use a "
                 ".csv file",
                 itself ? "./python and pyarrow" : said);
        return failure(err, -ENOENT, remedy, "%.300s: %s needs the Python package %.60s in %.300s",
                       path, is_parquet_file(path) ? "Parquet" : "this layout",
                       itself ? "outgrow" : said, python_name());
    }
    char *hint = strchr(said, '\n');
    if (hint)
        *hint++ = 0;
    if (hint)
        hint[strcspn(hint, "\n")] = 0;
    return failure(err, -EINVAL, hint ? hint : "", "%s", *said ? said : "Python failed");
}

int import_by_python(const struct invocation *in, struct og_err *err)
{
    const char *const *arg = in->arg + in->n_args - 2;
    struct words w = {.word = {[3] = strdup(in->n_args == 3 ? in->arg[0] : ""),
                               [4] = strdup(arg[0]),
                               [5] = strdup(arg[1])},
                      .n = 6};
    const int rc = own_set(in, add_option, &w, err);
    return rc < 0 ? rc : call_package("main", &w, arg[0], err);
}

int name_output(char **text, const char *out, struct og_err *err)
{
    json_t *result = json_loads(*text, 0, NULL);
    free(*text);
    if (result)
        json_object_set_new(result, "out", json_string(out));
    *text = result ? json_dumps(result, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(result);
    return *text ? 0 : no_result(err);
}

int read_parquet(const char *parquet, const char *csv, struct og_err *err)
{
    struct words w = {.word = {[3] = strdup(parquet), [4] = strdup(csv)}, .n = 5};
    return call_package("read", &w, parquet, err);
}

/* Refuses to replace the file, unless FILE.part says that a run to continue was to replace it. An
 * empty FILE in its place then makes the library refuse too, if it finds nothing to continue. */
static int spare_parquet(const char *out, const char *csv, bool resume, struct og_err *err)
{
    char *part = NULL;
    const bool began = resume && asprintf(&part, "%s.part", csv) > 0 && access(part, F_OK) == 0;
    free(part);
    const int fd = began ? open(csv, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0
                   : failure(err, -EEXIST, "give --overwrite to replace it", "%s: exists already%s",
                             out, resume ? ", and --resume finds nothing to continue" : "");
}

int check_parquet(const struct invocation *in, const char *input, const char *out, const char *csv,
                  struct og_err *err)
{
    struct words w = {.n = 3};
    struct stat a, b;
    int rc = 0;
    unlink(csv); /* of a killed run */
    if (stat(out, &a) == 0 && stat(input, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return failure(err, -EEXIST, "choose another name", "%s: %s is read for it", out, input);
    if (!own_flag(in, "overwrite") && access(out, F_OK) == 0)
        rc = spare_parquet(out, csv, option_flag(in, "resume"), err);
    return rc < 0 ? rc : call_package("check", &w, out, err);
}

int write_parquet(const char *dataset, const char *checkpoint, const char *csv, const char *out,
                  struct og_err *err)
{
    struct words w = {
        .word =
            {[3] = strdup(dataset), [4] = strdup(checkpoint), [5] = strdup(csv), [6] = strdup(out)},
        .n = 7};
    return call_package("write", &w, out, err);
}

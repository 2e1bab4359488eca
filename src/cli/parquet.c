/* Parquet: the Python package reads and writes it, by a library that is installed with it. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool is_parquet_file(const char *name)
{
    return ends_with(name, ".parquet");
}

bool is_parquet(const char *src)
{
    DIR *dir = opendir(src);
    const struct dirent *entry;
    bool is = !dir && is_parquet_file(src);
    while (dir && !is && (entry = readdir(dir)))
        is = strncmp(entry->d_name, "edges", 5) == 0 && is_parquet_file(entry->d_name);
    if (dir)
        closedir(dir);
    return is;
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

/* The interpreter with the package: that which runs this command, or the one on the PATH. */
static const char *python_name(void)
{
    const char *named = getenv("OUTGROW_PYTHON");
    return named && *named ? named : "python3";
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
                      "except ImportError:\n"
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
    if (status == ABSENT)
        return failure(err, -ENOENT,
                       "pip install ./python and pyarrow for it, name another interpreter by "
                       "OUTGROW_PYTHON, or use a .csv file",
                       "%.300s: Parquet needs the Python package outgrow in %.300s", path,
                       python_name());
    char *hint = strchr(said, '\n');
    if (hint)
        *hint++ = 0;
    if (hint)
        hint[strcspn(hint, "\n")] = 0;
    return failure(err, -EINVAL, hint ? hint : "", "%s", *said ? said : "Python failed");
}

int import_parquet(const struct invocation *in, struct og_err *err)
{
    struct words w = {.word = {[3] = strdup(in->arg[0]), [4] = strdup(in->arg[1])}, .n = 5};
    const int rc = own_set(in, add_option, &w, err);
    return rc < 0 ? rc : call_package("main", &w, in->arg[0], err);
}

int check_parquet(const char *out, struct og_err *err)
{
    struct words w = {.n = 3};
    if (access(out, F_OK) == 0)
        return failure(err, -EEXIST, "choose another name, or remove it", "%s: exists already",
                       out);
    return call_package("check", &w, out, err);
}

int write_parquet(const char *dataset, const char *csv, const char *out, struct og_err *err)
{
    struct words w = {.word = {[3] = strdup(dataset), [4] = strdup(csv), [5] = strdup(out)},
                      .n = 6};
    return call_package("write", &w, out, err);
}

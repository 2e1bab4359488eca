#include "run/rundir.h"

#include "base/file.h"
#include "base/file_lock.h"
#include "base/temporary.h"
#include "comm/comm.h"
#include "learn/rows_home.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int new_name(char **path, struct og_err *err)
{
    char date[16];
    time_t now = time(NULL);
    struct tm tm;
    strftime(date, sizeof(date), "%Y-%m-%d", localtime_r(&now, &tm));
    int rc = og__make_dirs("runs", err);
    if (rc < 0)
        return rc;
    for (int n = 1;; n++) {
        if (asprintf(path, "runs/%s-%d", date, n) < 0) {
            *path = NULL;
            return og__fail_errno(err, -ENOMEM, NULL, "runs");
        }
        if (mkdir(*path, 0777) == 0)
            return 0;
        if (errno != EEXIST)
            rc = og__fail_errno(err, -errno, NULL, "%s: cannot create folder", *path);
        free(*path);
        *path = NULL;
        if (rc < 0)
            return rc;
    }
}

/* One process a folder: the kernel drops the lock when it ends, however it ends. A file system that
 * has no locks is trusted. */
static int lock_folder(struct og_rundir *d, struct og_err *err)
{
    d->lock = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->lock < 0) {
        d->lock = 0;
        return og__fail_errno(err, -errno, NULL, "%s: cannot open", d->path);
    }
    if (og__file_lock(d->lock) != -EBUSY)
        return 0;
    return og__fail(err, -EBUSY, "wait until it ends, or choose another --run",
                    "%s: another process is training in this folder", d->path);
}

static void sweep(const struct og_rundir *d)
{
    const char *const names[] = {d->checkpoint, d->best, d->resume, d->summary, d->plan, d->config};
    for (size_t i = 0; i < OG_COUNT(names); i++)
        og__temporary_sweep(names[i]);
}

static int name_files(struct og_rundir *d, struct og_err *err)
{
    const struct {
        char **field;
        const char *name;
    } files[] = {{&d->checkpoint, "checkpoint.safetensors"},
                 {&d->best, "best.safetensors"},
                 {&d->resume, "resume.safetensors"},
                 {&d->summary, "summary.json"},
                 {&d->metrics, "metrics.jsonl"},
                 {&d->plan, "plan.json"},
                 {&d->config, "config.yaml"}};
    for (size_t i = 0; i < OG_COUNT(files); i++)
        if (!(*files[i].field = og__path_join(d->path, files[i].name)))
            return og__fail_errno(err, -ENOMEM, NULL, "%s", d->path);
    return 0;
}

/* 1 where there is such a file, a link that leads nowhere included. */
static int is_there(const char *path, struct og_err *err)
{
    struct stat st;
    if (lstat(path, &st) == 0)
        return 1;
    return errno == ENOENT ? 0 : og__fail_errno(err, -errno, NULL, "%s", path);
}

static int refuse_file(const char *path, struct og_err *err)
{
    return og__fail(err, -EEXIST,
                    "choose another --run, or remove it; --resume continues an interrupted run",
                    "%s: exists already", path);
}

/* A result, or what the user put there, is never replaced. */
static int refuse_files(const struct og_rundir *d, struct og_err *err)
{
    const char *const names[] = {d->summary, d->resume, d->best, d->checkpoint,
                                 d->metrics, d->config, d->plan};
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        int rc = is_there(names[i], err);
        if (rc < 0)
            return rc;
        const bool run = i < 2; /* of which there is more to say */
        if (rc > 0 && run)
            return og__fail(err, -EEXIST, "go on with --resume, or choose another --run",
                            "%s: holds a run already", d->path);
        if (rc > 0)
            return refuse_file(names[i], err);
    }
    for (int k = -1; k < OG_MOST_TYPES; k++) {
        char name[32];
        og__home_file(name, k);
        char *path = og__path_join(d->path, name);
        int rc = path ? is_there(path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", d->path);
        rc = rc > 0 ? refuse_file(path, err) : rc;
        free(path);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Does it hold a run, begun at least? A config.yaml alone may be the user's. */
static int holds_run(const struct og_rundir *d, struct og_err *err)
{
    char undo[32];
    int rc = is_there(d->resume, err);
    rc = rc == 0 ? is_there(d->plan, err) : rc;
    og__home_file(undo, -1);
    return rc == 0 ? og__exists(d->path, undo, err) : rc;
}

/* The folder is there: take it, unless it holds what must stay. */
static int take_folder(struct og_rundir *d, bool resume, struct og_err *err)
{
    int rc;
    OG_TRY(name_files(d, err));
    OG_TRY(lock_folder(d, err));
    if (resume)
        OG_TRY(holds_run(d, err));
out:
    return rc < 0 ? rc : rc > 0 ? 0 : refuse_files(d, err);
}

/* Is it one of the files that the run will write? */
static int spare_input(const struct og_rundir *d, const char *input, struct og_err *err)
{
    const char *const names[] = {d->best, d->checkpoint, d->resume};
    struct stat a;
    struct stat b;
    if (!input || stat(input, &a) < 0)
        return 0;
    for (size_t i = 0; i < OG_COUNT(names); i++)
        if (stat(names[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            return og__fail(err, -EEXIST, "choose another --run, or leave out --init",
                            "%s: --init is a file that this run would write", names[i]);
    return 0;
}

/* Files of a run do not belong among those of a dataset, and need a folder. */
static int refuse_dataset(const char *path, struct og_err *err)
{
    static const char *const names[] = {"indptr.npy", "rel0_indptr.npy"};
    struct stat st;
    int rc = 0;
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return og__fail(err, -ENOTDIR, "choose another --run", "%s: a file, no folder for a run",
                        path);
    for (size_t i = 0; rc == 0 && i < OG_COUNT(names); i++) {
        char *topology = og__path_join(path, names[i]);
        rc = topology ? is_there(topology, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", path);
        free(topology);
    }
    return rc <= 0 ? rc
                   : og__fail(err, -EEXIST, "choose another --run",
                              "%s: is a dataset, no folder for a run", path);
}

int og__rundir_check(const char *path, bool resume, const char *input, struct og_err *err)
{
    struct og_rundir d = {0};
    int rc = path ? og__exists(NULL, path, err) : 0;
    if (rc <= 0)
        return rc;
    rc = refuse_dataset(path, err);
    if (rc < 0)
        return rc;
    d.path = strdup(path);
    OG_TRY(d.path ? take_folder(&d, resume, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(spare_input(&d, input, err));
out:
    og__rundir_close(&d);
    return rc;
}

int og__rundir_open(struct og_rundir *d, const char *path, bool resume, struct og_err *err)
{
    *d = (struct og_rundir){0};
    int rc;
    if (!path && resume)
        return og__fail(err, -EINVAL, "name the run's folder with --run",
                        "--resume: which run should go on?");
    if (!path) {
        OG_TRY(new_name(&d->path, err));
        d->made = true;
    } else {
        OG_TRY(og__exists(NULL, path, err));
        d->made = rc == 0;
        OG_TRY((d->path = strdup(path)) ? og__make_dirs(path, err)
                                        : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    }
    OG_TRY(take_folder(d, resume, err));
    sweep(d);
    return 0;
out:
    og__rundir_close(d);
    return rc;
}

void og__rundir_close(struct og_rundir *d)
{
    char *const names[] = {d->path,    d->checkpoint, d->best, d->resume,
                           d->summary, d->metrics,    d->plan, d->config};
    for (size_t i = 0; i < OG_COUNT(names); i++)
        free(names[i]);
    if (d->lock > 0)
        close(d->lock);
    *d = (struct og_rundir){0};
}

/* What ranks above 0 said (ranks.h). */
static void remove_logs(const struct og_rundir *d)
{
    char name[32];
    for (int rank = 1; rank < OG__MOST_RANKS; rank++) {
        snprintf(name, sizeof(name), "worker-%d.log", rank);
        unlinkat(d->lock, name, 0);
    }
}

void og__rundir_abandon(struct og_rundir *d)
{
    const char *const names[] = {d->plan, d->config,     d->metrics, d->resume,
                                 d->best, d->checkpoint, d->summary};
    char name[32];
    for (size_t i = 0; i < OG_COUNT(names); i++)
        unlink(names[i]);
    remove_logs(d);
    for (int k = -1; k < OG_MOST_TYPES; k++) {
        og__home_file(name, k);
        unlinkat(d->lock, name, 0);
    }
    if (d->made)
        rmdir(d->path);
    og__rundir_close(d);
}

/* ---- metrics.jsonl ---- */

/* The one file that is written in place. Where its name is a link, what that leads to is none of
 * ours. */
FILE *og__rundir_metrics(const struct og_rundir *d, const char *mode, struct og_err *err)
{
    int flags =
        mode[0] == 'r' ? O_RDWR : O_WRONLY | O_CREAT | (mode[0] == 'a' ? O_APPEND : O_TRUNC);
    int fd = open(d->metrics, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, mode);
    if (f)
        return f;
    int why = errno;
    if (fd >= 0)
        close(fd);
    og__fail_errno(err, -why, why == ELOOP ? "a symbolic link: remove it" : NULL, "%s", d->metrics);
    errno = why;
    return NULL;
}

/* The number after `key`, which has quotes and colon; 0 where there is none. */
static uint64_t number_after(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Whether a line of a batch, or of an epoch, is whole and before this position. No parser: one that
 * lacks memory says that a line is none, and all that follow would be lost. */
static bool is_before(const char *line, uint32_t epoch, uint32_t batch)
{
    uint64_t e = number_after(line, "\"epoch\":");
    uint64_t b = number_after(line, "\"batch\":");
    size_t n = strlen(line);
    bool whole = e > 0 && n > 2 && strcmp(line + n - 2, "}\n") == 0;
    return whole && (e < epoch || (e == epoch && b > 0 && b < batch));
}

int og__rundir_cut_metrics(const struct og_rundir *d, uint32_t epoch, uint32_t batch,
                           struct og_err *err)
{
    int rc = og__exists(NULL, d->metrics, err);
    if (rc <= 0)
        return rc;
    FILE *f = og__rundir_metrics(d, "r+", err);
    if (!f)
        return -errno;
    char *line = NULL;
    size_t room = 0;
    off_t end = 0;
    ssize_t n;
    while ((n = getline(&line, &room, f)) > 0 && is_before(line, epoch, batch))
        end += n;
    og__count_reads(1, (uint64_t)end);
    rc = 0;
    if (n < 0 && !feof(f)) /* a want of memory is no error of the file's */
        rc = og__fail_errno(err, ferror(f) ? -EIO : -ENOMEM, NULL, "%s: cannot read", d->metrics);
    else if (ftruncate(fileno(f), end) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s: cannot cut", d->metrics);
    free(line);
    fclose(f);
    return rc;
}

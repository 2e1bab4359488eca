#include "train/rundir.h"

#include "base/file.h"

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
    for (int n = 1; rc == 0; n++) {
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
    }
    return rc;
}

int og__rundir_open(struct og_rundir *d, const char *path, bool resume, struct og_err *err)
{
    *d = (struct og_rundir){0};
    int rc = 0;
    if (!path && resume)
        return og__fail(err, -EINVAL, "name the run's folder with --run",
                        "--resume: which run should go on?");
    if (!path)
        rc = new_name(&d->path, err);
    else if (!(d->path = strdup(path)))
        rc = og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    else
        rc = og__make_dirs(path, err);
    if (rc < 0)
        return rc;
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
    for (size_t i = 0; rc == 0 && i < OG_COUNT(files); i++)
        if (!(*files[i].field = og__path_join(d->path, files[i].name)))
            rc = og__fail_errno(err, -ENOMEM, NULL, "%s", d->path);
    bool holds_run = rc == 0 && (access(d->summary, F_OK) == 0 || access(d->resume, F_OK) == 0);
    if (holds_run && !resume)
        rc = og__fail(err, -EEXIST, "go on with --resume, or choose another --run",
                      "%s: holds a run already", d->path);
    if (rc < 0)
        og__rundir_close(d);
    return rc;
}

void og__rundir_close(struct og_rundir *d)
{
    char *const names[] = {d->path,    d->checkpoint, d->best, d->resume,
                           d->summary, d->metrics,    d->plan, d->config};
    for (size_t i = 0; i < OG_COUNT(names); i++)
        free(names[i]);
    *d = (struct og_rundir){0};
}

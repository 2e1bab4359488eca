/* Files that appear under their names when complete. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    int rc = refuse_existing(err, o); /* created meanwhile */
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

bool ends_with(const char *name, const char *ending)
{
    const size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcmp(name + n - m, ending) == 0;
}

#include "infer/output_file.h"

#include "base/file.h"
#include "base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TRIES = 100 };

/* ---- names ---- */

char *og__absolute(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *given = og__folder_of(path), *folder = given ? realpath(given, NULL) : NULL;
    char *name = folder ? og__path_join(folder, slash ? slash + 1 : path) : NULL;
    free(folder);
    free(given);
    return name;
}

/* Creates the folder, and checks that it is writable. */
static int prepare_folder(const char *path, struct og_err *err)
{
    char *folder = og__folder_of(path);
    int rc;
    OG_TRY(folder ? og__make_dirs(folder, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s: cannot write in its folder", path));
out:
    free(folder);
    return rc;
}

int og__output_file_absent(const char *path, struct og_err *err)
{
    if (og__check_absent(path, NULL) != -EEXIST)
        return og__check_absent(path, err);
    return og__fail(err, -EEXIST, OG__HOW_TO_REPLACE, "%s: exists already", path);
}

int og__output_file_name(struct og_output_file *w, const char *path, bool replaces,
                         struct og_err *err)
{
    struct stat st;
    if (!path)
        return 0;
    OG_DO(og__check_target(path, err));
    if (!replaces)
        OG_DO(og__output_file_absent(path, err));
    OG_DO(prepare_folder(path, err));
    w->path = strdup(path);
    if (asprintf(&w->part, "%s.part", path) < 0)
        w->part = NULL;
    if (!w->path || !w->part)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    if (lstat(w->part, &st) < 0 && errno != ENOENT)
        return og__fail_errno(err, -errno, NULL, "%s", w->part);
    return 0;
}

int og__output_spare(const struct og_graph *g, const char *input, const char *what, const char *out,
                     struct og_err *err)
{
    struct stat a;
    struct stat b;
    if (out && input && lstat(out, &a) == 0 && stat(input, &b) == 0 && a.st_dev == b.st_dev &&
        a.st_ino == b.st_ino)
        return og__fail(err, -EEXIST, "choose another name", "%s: %s itself", out, what);
    return og__graph_spare(g, out, err);
}

/* ---- FILE.part ---- */

/* Whether the name still leads to the locked file. */
static bool is_named(const struct og_output_file *w)
{
    struct stat ours;
    struct stat named;
    return w->fd > 0 && fstat(w->fd, &ours) == 0 && lstat(w->part, &named) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/* Opens FILE.part, or returns -EAGAIN if it is a link. Opened for writing: some file systems do not
 * lock read-only files exclusively. */
static int open_part(const struct og_output_file *w, struct og_err *err)
{
    int fd = open(w->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0)
        return fd;
    if (errno == ELOOP && unlink(w->part) == 0)
        return -EAGAIN;
    return og__fail_errno(err, -errno, NULL, "%s: cannot create", w->part);
}

/* 0, or -EAGAIN if it was renamed or removed meanwhile. File systems without locks are trusted. */
static int lock_part(struct og_output_file *w, struct og_err *err)
{
    int fd = open_part(w, err);
    if (fd < 0)
        return fd;
    bool busy = og__file_lock(fd) == -EBUSY;
    w->fd = fd;
    if (!busy && is_named(w))
        return 0;
    w->fd = 0;
    close(fd);
    return busy ? og__fail(err, -EBUSY, "wait until it ends, or choose another name",
                           "%s: another process writes it", w->path)
                : -EAGAIN;
}

int og__output_file_differ(const struct og_output_file *out,
                           const struct og_output_file *embeddings, struct og_err *err)
{
    if (!out->path || !embeddings->path)
        return 0;
    char *one = og__absolute(out->path), *other = og__absolute(embeddings->path);
    int rc;
    OG_TRY(one && other ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", embeddings->path));
    if (strcmp(one, other) == 0)
        OG_TRY(og__fail(err, -EINVAL, "give two names", "--embeddings: the same file as --out"));
out:
    free(one);
    free(other);
    return rc;
}

int og__output_file_lock(struct og_output_file *w, struct og_err *err)
{
    int rc = w->path ? -EAGAIN : 0;
    for (int i = 0; rc == -EAGAIN && i < MAX_TRIES; i++)
        rc = lock_part(w, err);
    return rc == -EAGAIN ? og__fail_errno(err, rc, NULL, "%s: cannot make it", w->part) : rc;
}

void og__output_file_remove(const struct og_output_file *w)
{
    if (is_named(w))
        unlink(w->part);
}

int og__output_file_check(const struct og_output_file *w, struct og_err *err)
{
    if (!w->path || w->in_place || is_named(w))
        return 0;
    return og__fail(err, -ENOENT, "run again, and keep the file until the command ends",
                    "%s: was removed or replaced while it was written", w->part);
}

int og__output_file_deliver(const struct og_output_file *w, struct og_err *err)
{
    if (!w->path)
        return 0;
    if (w->in_place) {
        og__output_file_remove(w);
        return 0;
    }
    return rename(w->part, w->path) < 0
               ? og__fail_errno(err, -errno, NULL, "%s: cannot rename to it", w->path)
               : 0;
}

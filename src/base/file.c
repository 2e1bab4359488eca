#include "base/file.h"

#include "base/temporary.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

static const char disk_hint[] = "free space on that disk, or write to another one";

/* Opens the parent folder of `path`, to be synced once the name is in it. */
static int open_parent(const char *path, struct og_err *err)
{
    char *copy = strdup(path);
    if (!copy)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    return fd >= 0 ? fd : og__fail_errno(err, -errno, NULL, "%s: cannot open its folder", path);
}

/* Renames, then syncs the folder. Only the sync may fail after the rename. `fresh`: `path` did not
 * exist, so such a failure undoes the rename. */
static int put_in_place(const char *temporary, const char *path, bool fresh, struct og_err *err)
{
    int folder = open_parent(path, err);
    int rc = 0;
    if (folder < 0)
        return folder;
    if (rename(temporary, path) < 0)
        OG_TRY(
            og__fail_errno(err, -errno,
                           errno == ENOTEMPTY || errno == EEXIST
                               ? "something else made it meanwhile: remove it, or choose another "
                                 "name"
                               : NULL,
                           "%s: cannot rename into place", path));
    if (fsync(folder) < 0 && errno != EINVAL) { /* EINVAL: no such thing there */
        rc = og__fail_errno(err, -errno, disk_hint, "%s: cannot flush its folder", path);
        if (fresh)
            (void)!rename(path, temporary);
    }
out:
    close(folder);
    return rc;
}

/* ---- one file ---- */

int og__check_target(const char *path, struct og_err *err)
{
    struct stat st;
    size_t len = strlen(path);
    if (len + 32 >= PATH_MAX) /* with the end of a temporary's name */
        return og__fail_errno(err, -ENAMETOOLONG, NULL, "%s", path);
    if (len == 0 || path[len - 1] == '/' || (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return og__fail(err, len ? -EISDIR : -ENOENT, "name a file", "%s: %s", len ? path : "\"\"",
                        len ? "a folder" : "no name of a file");
    return 0;
}

int og__check_absent(const char *path, struct og_err *err)
{
    struct stat st;
    if (lstat(path, &st) == 0)
        return og__fail(err, -EEXIST, "remove it or choose another name", "%s: exists already",
                        path);
    return errno == ENOENT || errno == ENOTDIR ? 0 : og__fail_errno(err, -errno, NULL, "%s", path);
}

int og__check_apart(const char *in, const char *out, struct og_err *err)
{
    struct stat a;
    struct stat b;
    return stat(in, &a) < 0 || stat(out, &b) < 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino
               ? 0
               : og__fail(err, -EEXIST, "choose another name", "%s: is what is read", out);
}

int og__open_plain(const char *path, uint64_t *size, struct og_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot open", path);
    int rc = 0;
    if (fstat(fd, &st) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s", path);
    else if (!S_ISREG(st.st_mode))
        rc = og__fail(err, -EINVAL, "name a file: a folder, a pipe or a device will not do",
                      "%s: not a plain file", path);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *size = (uint64_t)st.st_size;
    return fd;
}

int og__newfile_open(struct og_newfile *f, const char *path, struct og_err *err)
{
    *f = (struct og_newfile){.fd = -1};
    int rc = og__check_target(path, err);
    if (rc < 0)
        return rc;
    f->path = strdup(path);
    if (!f->path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    rc = f->fd = og__temporary_make(path, false, &f->temporary, err);
    if (rc < 0)
        og__newfile_abandon(f);
    return OG_MIN(rc, 0);
}

int og__newfile_commit(struct og_newfile *f, struct og_err *err)
{
    int rc = 0;
    if (fsync(f->fd) < 0)
        OG_TRY(og__fail_errno(err, -errno, disk_hint, "%s: cannot flush", f->path));
    OG_TRY(put_in_place(f->temporary, f->path, false, err));
    free(f->temporary);
    f->temporary = NULL;
out:
    og__newfile_abandon(f);
    return rc;
}

void og__newfile_abandon(struct og_newfile *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    if (f->temporary)
        unlink(f->temporary);
    free(f->temporary);
    free(f->path);
    *f = (struct og_newfile){.fd = -1};
}

int og__file_link(const char *of, const char *path)
{
    char *name;
    int rc = asprintf(&name, "%s.tmp-%d-0", path, (int)getpid()) < 0 ? -ENOMEM : 0;
    if (rc < 0)
        return rc;
    unlink(name);
    rc = link(of, name) < 0 ? -errno : put_in_place(name, path, false, NULL);
    unlink(name); /* it stays where both were one file already */
    free(name);
    return rc;
}

int og__write_all(int fd, const void *data, size_t bytes, off_t offset, const char *path,
                  struct og_err *err)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t n = pwrite(fd, p, bytes, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return og__fail_errno(err, -errno, errno == ENOSPC ? disk_hint : NULL,
                                  "%s: cannot write at byte %lld", path, (long long)offset);
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int og__read_all(int fd, void *data, size_t bytes, off_t offset, const char *path,
                 struct og_err *err)
{
    char *p = data;
    while (bytes > 0) {
        ssize_t n = pread(fd, p, bytes, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return og__fail_errno(err, -errno, NULL, "%s: cannot read at byte %lld", path,
                                  (long long)offset);
        if (n == 0)
            return og__fail(err, -EIO, "the file was cut short: make it again",
                            "%s: ends at byte %lld, %zu bytes early", path, (long long)offset,
                            bytes);
        og__count_reads(1, (uint64_t)n);
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return 0;
}

void og__write_behind(int fd, uint64_t *from, uint64_t to)
{
    if (to < *from + 8 * OG_MIB)
        return;
    sync_file_range(fd, (off_t)*from, (off_t)(to - *from), SYNC_FILE_RANGE_WRITE);
    posix_fadvise(fd, 0, (off_t)*from, POSIX_FADV_DONTNEED);
    *from = to;
}

void og__free_behind(int fd, uint64_t *from, uint64_t to)
{
    enum { BLOCK = 4096, LEAST = 16 * BLOCK };
    const uint64_t first = (*from + BLOCK - 1) / BLOCK * BLOCK;
    const uint64_t end = to / BLOCK * BLOCK;
    if (end < first + LEAST)
        return;
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)first,
                  (off_t)(end - first)) < 0)
        posix_fadvise(fd, (off_t)first, (off_t)(end - first), POSIX_FADV_DONTNEED);
    *from = end;
}

static int hash_file(int fd, uint64_t size, const char *path, XXH3_state_t *state, uint64_t *hash,
                     struct og_err *err)
{
    enum { PIECE = 64 * 1024 };
    char *piece = malloc(PIECE);
    int rc;
    OG_TRY(piece ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    XXH3_64bits_reset(state);
    for (uint64_t at = 0; at < size; at += PIECE) {
        size_t n = (size_t)OG_MIN(size - at, (uint64_t)PIECE);
        OG_TRY(og__read_all(fd, piece, n, (off_t)at, path, err));
        XXH3_64bits_update(state, piece, n);
    }
    *hash = XXH3_64bits_digest(state);
out:
    free(piece);
    return rc;
}

int og__file_checksum(const char *path, uint64_t *hash, struct og_err *err)
{
    uint64_t size = 0;
    int fd = og__open_plain(path, &size, err);
    if (fd < 0)
        return fd;
    XXH3_state_t *state = XXH3_createState();
    int rc = state ? hash_file(fd, size, path, state, hash, err)
                   : og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    XXH3_freeState(state);
    close(fd);
    return rc;
}

int og__read_text(const char *path, size_t max, char **out, size_t *len, struct og_err *err)
{
    uint64_t size = 0;
    char *text = NULL;
    *out = NULL;
    int fd = og__open_plain(path, &size, err);
    if (fd < 0)
        return fd;
    int rc = 0;
    if (size > max)
        rc = og__fail(err, -EFBIG, "is it the right file?", "%s: %llu bytes, at most %zu expected",
                      path, (unsigned long long)size, max);
    else if (!(text = malloc((size_t)size + 1)))
        rc = og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    else
        rc = og__read_all(fd, text, (size_t)size, 0, path, err);
    close(fd);
    if (rc < 0) {
        free(text);
        return rc;
    }
    text[size] = 0;
    *out = text;
    *len = (size_t)size;
    return 0;
}

int og__write_text(const char *path, const char *text, size_t len, struct og_err *err)
{
    struct og_newfile f;
    int rc;
    OG_TRY(og__newfile_open(&f, path, err));
    OG_TRY(og__write_all(f.fd, text, len, 0, path, err));
    return og__newfile_commit(&f, err);
out:
    og__newfile_abandon(&f);
    return rc;
}

int og__exists(const char *folder, const char *name, struct og_err *err)
{
    char *path = folder ? og__path_join(folder, name) : strdup(name);
    int rc = path ? access(path, F_OK) == 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    if (rc == 0 && errno != ENOENT && errno != ENOTDIR)
        rc = og__fail_errno(err, -errno, NULL, "%s", path);
    free(path);
    return rc;
}

/* ---- folders ---- */

int og__make_dirs(const char *path, struct og_err *err)
{
    if (strlen(path) >= PATH_MAX) /* before half of it is made */
        return og__fail_errno(err, -ENAMETOOLONG, NULL, "%s", path);
    char *copy = strdup(path);
    if (!copy)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    int rc = 0;
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p != 0)
            continue;
        bool last = *p == 0;
        *p = 0;
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            OG_TRY(og__fail_errno(err, -errno, NULL, "%s: cannot create folder", copy));
        if (last)
            break;
        *p = '/';
    }
out:
    free(copy);
    return rc;
}

static int make_parents(const char *path, struct og_err *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    char *parent = strndup(path, (size_t)(slash - path));
    int rc = parent ? og__make_dirs(parent, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    free(parent);
    return rc;
}

int og__newdir_begin(struct og_newdir *d, const char *path, struct og_err *err)
{
    *d = (struct og_newdir){0};
    if (!*path)
        return og__fail(err, -ENOENT, "name a folder", "\"\": no name of a folder");
    int rc = og__check_absent(path, err);
    if (rc < 0)
        return rc;
    d->path = strdup(path);
    for (char *end = d->path ? d->path + strlen(d->path) - 1 : NULL; end > d->path && *end == '/';)
        *end-- = 0;
    OG_TRY(d->path ? make_parents(d->path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(d->lock = og__temporary_make(d->path, true, &d->temporary, err));
out:
    if (rc < 0)
        og__newdir_abandon(d);
    return OG_MIN(rc, 0);
}

int og__newdir_commit(struct og_newdir *d, struct og_err *err)
{
    int rc;
    OG_TRY(put_in_place(d->temporary, d->path, true, err));
    free(d->temporary);
    d->temporary = NULL;
out:
    og__newdir_abandon(d);
    return rc;
}

void og__newdir_abandon(struct og_newdir *d)
{
    if (!d || !d->path)
        return;
    if (d->temporary)
        og__remove_tree(d->temporary);
    if (d->lock > 0)
        close(d->lock);
    free(d->temporary);
    free(d->path);
    *d = (struct og_newdir){0};
}

/* The XDG specification says to ignore relative paths. */
char *og__cache_dir(void)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (xdg && xdg[0] == '/')
        return og__path_join(xdg, "outgrow");
    return home && home[0] == '/' ? og__path_join(home, ".cache/outgrow") : NULL;
}

char *og__nearest_there(const char *path)
{
    struct stat st;
    char *at = strdup(path);
    while (at && *at && stat(at, &st) < 0 && errno == ENOENT) {
        char *slash = strrchr(at, '/');
        if (!slash) {
            memcpy(at, ".", sizeof(".")); /* the name has a character at least */
            break;
        }
        slash[slash == at] = 0;
    }
    return at;
}

uint64_t og__disk_free(const char *path)
{
    struct statvfs fs;
    char *at = og__nearest_there(path);
    int rc = at ? statvfs(at, &fs) : -1;
    free(at);
    return rc < 0 ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
}

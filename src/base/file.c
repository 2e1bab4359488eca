#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char disk_hint[] = "free space on that disk, or write to another one";

char *og__path_join(const char *a, const char *b)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", a, b) < 0 ? NULL : path;
}

static int sync_parent(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (fd < 0)
        return -errno;
    int rc = fsync(fd) < 0 && errno != EINVAL ? -errno : 0; /* EINVAL: no such thing there */
    close(fd);
    return rc;
}

/* ---- one file ---- */

int og__newfile_open(struct og_newfile *f, const char *path, struct og_err *err)
{
    *f = (struct og_newfile){.fd = -1, .path = strdup(path)};
    if (!f->path || asprintf(&f->temporary, "%s.tmp-%d", path, (int)getpid()) < 0) {
        f->temporary = NULL;
        og__newfile_abandon(f);
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    }
    unlink(f->temporary); /* left by a dead process that had our number */
    f->fd = open(f->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (f->fd >= 0)
        return 0;
    int rc = og__fail_errno(err, -errno, NULL, "%s: cannot create", f->temporary);
    free(f->temporary);
    f->temporary = NULL;
    og__newfile_abandon(f);
    return rc;
}

int og__newfile_commit(struct og_newfile *f, struct og_err *err)
{
    int rc = 0;
    if (fsync(f->fd) < 0)
        rc = og__fail_errno(err, -errno, disk_hint, "%s: cannot flush", f->path);
    if (close(f->fd) < 0 && rc == 0)
        rc = og__fail_errno(err, -errno, disk_hint, "%s: cannot close", f->path);
    f->fd = -1;
    if (rc == 0 && rename(f->temporary, f->path) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s: cannot rename into place", f->path);
    if (rc == 0) {
        free(f->temporary);
        f->temporary = NULL;
        int synced = sync_parent(f->path);
        if (synced < 0)
            rc = og__fail_errno(err, synced, NULL, "%s: cannot flush its folder", f->path);
    }
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
            return og__fail(err, -EIO, "the file was cut short: make it anew",
                            "%s: ends at byte %lld, %zu bytes early", path, (long long)offset,
                            bytes);
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int og__read_text(const char *path, size_t max, char **out, size_t *len, struct og_err *err)
{
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot open", path);
    struct stat st;
    int rc = 0;
    char *text = NULL;
    if (fstat(fd, &st) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s", path);
    else if (!S_ISREG(st.st_mode))
        rc = og__fail(err, -EINVAL, NULL, "%s: not a plain file", path);
    else if ((size_t)st.st_size > max)
        rc = og__fail(err, -EFBIG, NULL, "%s: %lld bytes, at most %zu expected", path,
                      (long long)st.st_size, max);
    else if (!(text = malloc((size_t)st.st_size + 1)))
        rc = og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    else
        rc = og__read_all(fd, text, (size_t)st.st_size, 0, path, err);
    close(fd);
    if (rc < 0) {
        free(text);
        return rc;
    }
    text[st.st_size] = 0;
    *out = text;
    *len = (size_t)st.st_size;
    return 0;
}

int og__write_text(const char *path, const char *text, size_t len, struct og_err *err)
{
    struct og_newfile f;
    int rc = og__newfile_open(&f, path, err);
    if (rc < 0)
        return rc;
    rc = og__write_all(f.fd, text, len, 0, path, err);
    if (rc == 0)
        return og__newfile_commit(&f, err);
    og__newfile_abandon(&f);
    return rc;
}

/* ---- folders ---- */

int og__make_dirs(const char *path, struct og_err *err)
{
    char *copy = strdup(path);
    if (!copy)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    int rc = 0;
    for (char *p = copy + 1; rc == 0; p++) {
        if (*p != '/' && *p != 0)
            continue;
        bool last = *p == 0;
        *p = 0;
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            rc = og__fail_errno(err, -errno, NULL, "%s: cannot create folder", copy);
        if (last)
            break;
        *p = '/';
    }
    free(copy);
    return rc;
}

/* All in folder fd, to any depth; symbolic links go, what they point to stays. */
static void empty_folder(int fd)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), name, 0) == 0 || (errno != EISDIR && errno != EPERM))
            continue;
        int child = openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child >= 0)
            empty_folder(child);
        unlinkat(dirfd(dir), name, AT_REMOVEDIR);
    }
    if (dir)
        closedir(dir);
    else
        close(fd);
}

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_tree(const char *path)
{
    int fd = open_folder(path);
    if (fd >= 0)
        empty_folder(fd);
    rmdir(path);
}

/* <path>.tmp-<digits> whose maker is gone: it held a lock on the folder while it lived. */
static void remove_stale(const char *path)
{
    char *copy = strdup(path);
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const size_t len = strlen(base);
    if (!copy)
        return;
    copy[slash ? OG_MAX(slash - path, 1) : 0] = 0;
    const char *parent = slash ? copy : ".";
    DIR *dir = opendir(parent);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const char *rest = entry->d_name + len;
        if (strncmp(entry->d_name, base, len) != 0 || strncmp(rest, ".tmp-", 5) != 0 ||
            rest[5] == 0 || rest[5 + strspn(rest + 5, "0123456789")] != 0)
            continue;
        char *left = og__path_join(parent, entry->d_name);
        int fd = left ? open_folder(left) : -1;
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            remove_tree(left);
        if (fd >= 0)
            close(fd);
        free(left);
    }
    if (dir)
        closedir(dir);
    free(copy);
}

/* Another may take it for a stale one between mkdir and flock, and remove it. */
static int make_locked(struct og_newdir *d, struct og_err *err)
{
    enum { TRIES = 100 };
    struct stat st;
    for (int i = 0; i < TRIES; i++) {
        int rc = og__make_dirs(d->temporary, err);
        if (rc < 0)
            return rc;
        d->lock = open_folder(d->temporary);
        if (d->lock >= 0 && flock(d->lock, LOCK_EX | LOCK_NB) == 0 && fstat(d->lock, &st) == 0 &&
            st.st_nlink > 0)
            return 0;
        if (d->lock >= 0)
            close(d->lock);
        d->lock = -1;
    }
    return og__fail(err, -EBUSY, "choose another name", "%s: cannot be made, or is in use",
                    d->temporary);
}

int og__newdir_begin(struct og_newdir *d, const char *path, struct og_err *err)
{
    struct stat st;
    *d = (struct og_newdir){.lock = -1};
    if (lstat(path, &st) == 0)
        return og__fail(err, -EEXIST, "remove it or choose another name", "%s: exists already",
                        path);
    d->path = strdup(path);
    for (char *end = d->path ? d->path + strlen(d->path) - 1 : NULL; end > d->path && *end == '/';)
        *end-- = 0;
    if (!d->path || asprintf(&d->temporary, "%s.tmp-%d", d->path, (int)getpid()) < 0)
        d->temporary = NULL;
    if (d->temporary)
        remove_stale(d->path);
    int rc = d->temporary ? make_locked(d, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    if (rc < 0)
        og__newdir_abandon(d);
    return rc;
}

int og__newdir_commit(struct og_newdir *d, struct og_err *err)
{
    int rc = 0;
    if (rename(d->temporary, d->path) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s: cannot rename into place", d->path);
    else if ((rc = sync_parent(d->path)) < 0)
        og__fail_errno(err, rc, NULL, "%s: cannot flush its folder", d->path);
    if (rc == 0) {
        free(d->temporary);
        d->temporary = NULL;
    }
    og__newdir_abandon(d);
    return rc;
}

void og__newdir_abandon(struct og_newdir *d)
{
    if (!d || !d->path)
        return;
    if (d->temporary && d->lock >= 0)
        remove_tree(d->temporary);
    if (d->lock >= 0)
        close(d->lock);
    free(d->temporary);
    free(d->path);
    *d = (struct og_newdir){.lock = -1};
}

/* Relative names are to be ignored, says the XDG specification. */
char *og__cache_dir(void)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (xdg && xdg[0] == '/')
        return og__path_join(xdg, "outgrow");
    return home && home[0] == '/' ? og__path_join(home, ".cache/outgrow") : NULL;
}

uint64_t og__disk_free(const char *path)
{
    struct statvfs fs;
    char *at = strdup(path);
    int rc = -1;
    while (at && (rc = statvfs(*at ? at : "/", &fs)) < 0 && errno == ENOENT) {
        char *slash = strrchr(at, '/');
        if (!slash) {
            rc = statvfs(".", &fs);
            break;
        }
        *slash = 0;
    }
    free(at);
    return rc == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
}

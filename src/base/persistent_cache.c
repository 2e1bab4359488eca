#include "base/persistent_cache.h"

#include "base/file.h"
#include "base/file_lock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* ---- names ---- */

static bool is_kept_name(const struct og_persistent_cache_kind *kind, const char *name)
{
    enum { DIGITS = 16 };
    size_t len = strlen(name);
    size_t prefix = strlen(kind->prefix);
    return len >= prefix + DIGITS && len < sizeof((struct og_persistent_cache){0}.name) &&
           strncmp(name, kind->prefix, prefix) == 0 &&
           strspn(name + len - DIGITS, "0123456789abcdef") == DIGITS;
}

static bool is_its_file(const struct og_persistent_cache_kind *kind, const char *name)
{
    for (size_t i = 0; i < OG_COUNT(kind->files); i++)
        if (kind->files[i] && strncmp(name, kind->files[i], strlen(kind->files[i])) == 0)
            return true;
    return false;
}

/* ---- using ---- */

int og__persistent_cache_hold(const char *path)
{
    int fd = og__folder_open(AT_FDCWD, path);
    if (fd > 0 && og__file_lock_shared(fd) == 0) {
        futimens(fd, NULL);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return 0;
}

/* ---- listing ---- */

static int bytes_in(int at, const struct og_persistent_cache_kind *kind, uint64_t *bytes)
{
    DIR *dir = og__folder_list(at);
    const struct dirent *entry;
    struct stat st;
    *bytes = 0;
    if (!dir)
        return -errno;
    while ((entry = readdir(dir)))
        if (is_its_file(kind, entry->d_name) &&
            fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            *bytes += (uint64_t)st.st_size;
    closedir(dir);
    return 0;
}

/* 1; 0 where it went away meanwhile, or is not ours; negative where it cannot be looked into. */
static int look_at(int under, const struct og_persistent_cache_kind *kind, const char *name,
                   struct og_persistent_cache *out)
{
    struct stat st;
    if (fstatat(under, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return 0;
    int fd = og__folder_open(under, name);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    snprintf(out->name, sizeof(out->name), "%s", name);
    int rc = bytes_in(fd, kind, &out->bytes);
    out->used = (int64_t)st.st_mtim.tv_sec;
    out->in_use = og__file_lock(fd) < 0;
    close(fd);
    return rc < 0 ? rc : 1;
}

/* Appends an entry to the list, if the name is one of the kind. */
static int append(struct og_persistent_cache **list, size_t *n, int under,
                  const struct og_persistent_cache_kind *kind, const char *name)
{
    struct og_persistent_cache *more = realloc(*list, (*n + 1) * sizeof(**list));
    if (!more)
        return -ENOMEM;
    *list = more;
    int rc = look_at(under, kind, name, &more[*n]);
    *n += rc > 0;
    return OG_MIN(rc, 0);
}

static int compare_used(const void *a, const void *b)
{
    const struct og_persistent_cache *x = a;
    const struct og_persistent_cache *y = b;
    int by_time = (x->used > y->used) - (x->used < y->used);
    return by_time ? by_time : strcmp(x->name, y->name);
}

int og__persistent_cache_list(const char *under, const struct og_persistent_cache_kind *kind,
                              struct og_persistent_cache **list, size_t *n, struct og_err *err)
{
    DIR *dir = opendir(under);
    const struct dirent *entry;
    int rc = 0;
    *list = NULL;
    *n = 0;
    if (!dir)
        return errno == ENOENT ? 0 : og__fail_errno(err, -errno, NULL, "%s", under);
    while ((entry = readdir(dir)))
        if (is_kept_name(kind, entry->d_name))
            OG_TRY(append(list, n, dirfd(dir), kind, entry->d_name));
out:
    closedir(dir);
    if (rc >= 0 && *n > 0)
        qsort(*list, *n, sizeof(**list), compare_used);
    if (rc >= 0)
        return 0;
    free(*list);
    *list = NULL;
    *n = 0;
    return og__fail_errno(err, rc, NULL, "%s", under);
}

/* ---- removing ---- */

bool og__persistent_cache_remove(const char *under, const struct og_persistent_cache_kind *kind,
                                 const char *name)
{
    char *path = og__path_join(under, name);
    int fd = path ? og__folder_open(AT_FDCWD, path) : -1;
    bool ours = fd >= 0 && og__file_lock(fd) == 0;
    DIR *dir = ours ? og__folder_list(fd) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (is_its_file(kind, entry->d_name))
            unlinkat(fd, entry->d_name, 0);
    bool gone = dir && rmdir(path) == 0;
    if (dir)
        closedir(dir);
    if (fd >= 0)
        close(fd);
    free(path);
    return gone;
}

static void trim(const char *under, const char *mine, const struct og_persistent_cache_kind *kind,
                 uint64_t bytes, int64_t before, const struct og_log *log)
{
    struct og_persistent_cache *list;
    size_t n;
    uint64_t sum = 0;
    if (og__persistent_cache_list(under, kind, &list, &n, NULL) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        sum += list[i].bytes;
    for (size_t i = 0; i < n; i++) {
        bool old = list[i].used < before;
        if ((!old && sum <= bytes) || strcmp(list[i].name, mine) == 0 ||
            !og__persistent_cache_remove(under, kind, list[i].name))
            continue;
        sum -= list[i].bytes;
        og__say(log, OG__INFO, "%s/%s: removed: %s", under, list[i].name,
                old ? "not used for long" : "the longest unused, and there is too much of them");
    }
    free(list);
}

void og__persistent_cache_trim(const char *mine, const struct og_persistent_cache_kind *kind,
                               uint64_t bytes, int64_t seconds, const struct og_log *log)
{
    const char *slash = strrchr(mine, '/');
    char *under = og__folder_of(mine);
    if (under)
        trim(under, slash ? slash + 1 : mine, kind, bytes, (int64_t)time(NULL) - seconds, log);
    free(under);
}

uint64_t og__persistent_cache_bytes(const char *under)
{
    struct statvfs fs;
    char *at = og__nearest_there(under);
    int rc = at ? statvfs(at, &fs) : -1;
    free(at);
    return rc < 0 ? 0 : (uint64_t)fs.f_blocks * fs.f_frsize / 10;
}

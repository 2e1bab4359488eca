/* The maker creates, locks, and looks whether the name is still there; a remover locks, then
 * removes. Where the remover was quicker, the maker takes another number. */
#include "base/temporary.h"

#include "base/file_lock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TRIES = 1000 };

/* ---- removing ---- */

void og__remove_tree(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return;
    int fd = og__folder_open(AT_FDCWD, path);
    DIR *dir = fd < 0 ? NULL : og__folder_list(fd);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *child = og__path_join(path, entry->d_name);
        if (child)
            og__remove_tree(child);
        free(child);
    }
    if (dir)
        closedir(dir);
    if (fd >= 0)
        close(fd);
    rmdir(path);
}

/* <base>.tmp-<digits>, with or without -<digits> */
static bool is_temporary_of(const char *name, const char *base)
{
    static const char digits[] = "0123456789";
    static const char infix[] = ".tmp-";
    size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || strncmp(name + n, infix, sizeof(infix) - 1) != 0)
        return false;
    name += n + sizeof(infix) - 1;
    size_t pid = strspn(name, digits);
    if (pid == 0 || name[pid] == 0)
        return pid > 0;
    size_t number = strspn(name + pid + 1, digits);
    return name[pid] == '-' && number > 0 && name[pid + 1 + number] == 0;
}

static void remove_if_stale(const char *path)
{
    struct stat st;
    /* for writing if it can be: NFS grants readers no lock that excludes */
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == EISDIR)
        fd = og__folder_open(AT_FDCWD, path);
    if (fd < 0)
        return;
    bool ours = fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
                st.st_uid == geteuid();
    if (ours && og__file_lock(fd) == 0)
        og__remove_tree(path);
    close(fd);
}

void og__temporary_sweep(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    char *folder = og__folder_of(path);
    DIR *dir = folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!is_temporary_of(entry->d_name, base))
            continue;
        char *name = og__path_join(folder, entry->d_name);
        if (name)
            remove_if_stale(name);
        free(name);
    }
    if (dir)
        closedir(dir);
    free(folder);
}

/* ---- making ---- */

static int create(const char *name, bool folder)
{
    if (!folder)
        return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (mkdir(name, 0777) < 0)
        return -1;
    int fd = og__folder_open(AT_FDCWD, name);
    if (fd < 0) {
        int why = errno;
        rmdir(name);
        errno = why;
    }
    return fd;
}

/* Returns the descriptor, or -EAGAIN to try another number. */
static int create_locked(const char *name, bool folder, struct og_err *err)
{
    int fd = create(name, folder);
    if (fd < 0)
        return errno == EEXIST ? -EAGAIN
                               : og__fail_errno(err, -errno, NULL, "%s: cannot create", name);
    int rc;
    OG_TRY(og__file_lock_named(fd));
    return fd;
out:
    close(fd);
    if (rc == -EBUSY || rc == -EAGAIN) /* a remover has it, or had it */
        return -EAGAIN;
    og__remove_tree(name);
    return og__fail_errno(err, rc, NULL, "%s: cannot lock", name);
}

int og__temporary_make(const char *path, bool folder, char **name, struct og_err *err)
{
    og__temporary_sweep(path);
    for (int n = 0; n < MAX_TRIES; n++) {
        if (asprintf(name, "%s.tmp-%d-%d", path, (int)getpid(), n) < 0) {
            *name = NULL;
            return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
        }
        int rc = create_locked(*name, folder, err);
        if (rc >= 0)
            return rc;
        free(*name);
        *name = NULL;
        if (rc != -EAGAIN)
            return rc;
    }
    return og__fail_errno(err, -EEXIST, "remove what is called so", "%s.tmp-%d-*: cannot create",
                          path, (int)getpid());
}

int og__unnamed_file(const char *folder, struct og_err *err)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    /* no such files there: a named one, unnamed at once */
    char *path = og__path_join(folder, "unnamed.tmp");
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", folder);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = fd >= 0 ? fd : og__fail_errno(err, -errno, NULL, "%s: cannot create", path);
    if (fd >= 0)
        unlink(path);
    free(path);
    return rc;
}

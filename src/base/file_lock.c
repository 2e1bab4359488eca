#include "base/file_lock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int og__file_lock(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

int og__file_lock_shared(int fd)
{
    return flock(fd, LOCK_SH) == 0 ? 0 : -errno;
}

bool og__file_has_name(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

int og__file_lock_named(int fd)
{
    struct stat st;
    if (og__file_lock(fd) == -EBUSY)
        return -EBUSY;
    if (fstat(fd, &st) < 0)
        return -errno;
    return st.st_nlink > 0 ? 0 : -EAGAIN;
}

int og__folder_open(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

DIR *og__folder_list(int fd)
{
    int copy = og__folder_open(fd, ".");
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir && copy >= 0)
        close(copy);
    return dir;
}

char *og__folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, (size_t)OG_MAX(slash - path, 1)) : strdup(".");
}

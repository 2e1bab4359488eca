/* An early end, preloaded in commands that tests start. Calls that change files whose paths have
 * OG_ENDS_IN in them are counted. At the OG_ENDS_AT-th of them the process is killed, after half of
 * what it writes. With OG_ENDS_FULL the disk is full instead from then on. At its end a process
 * writes how many there were into OG_ENDS_TOLD. With OG_ENDS_ROOM disks have so many bytes free. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

static int is_meant(const char *path)
{
    const char *in = getenv("OG_ENDS_IN");
    return in && strstr(path, in) != NULL;
}

static int is_meant_file(int fd)
{
    char name[64];
    char path[4096] = "";
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return readlink(name, path, sizeof(path) - 1) > 0 && is_meant(path);
}

/* Is this the call? Then the process ends here, unless the disk is to be full. */
static int comes(int meant)
{
    const long at = number("OG_ENDS_AT");
    const long n = meant ? atomic_fetch_add(&calls, 1) + 1 : 0;
    if (at == 0 || n < at)
        return 0;
    if (getenv("OG_ENDS_FULL"))
        return 1;
    return n == at ? 2 : 0;
}

static void end(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    const int how = comes(is_meant_file(fd));
    const struct iovec all = {(void *)(size_t)data, how == 2 ? n / 2 : n};
    if (how == 1) {
        errno = ENOSPC;
        return -1;
    }
    const ssize_t done = pwritev(fd, &all, 1, at);
    if (how == 2)
        end();
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t n, off_t at)
{
    return pwrite(fd, data, n, at);
}

static void before(int meant)
{
    if (comes(meant) == 2)
        end();
}

int fsync(int fd)
{
    before(is_meant_file(fd));
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int rename(const char *from, const char *to)
{
    before(is_meant(to));
    return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to);
}

int link(const char *from, const char *to)
{
    before(is_meant(to));
    return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link"))(from, to);
}

int unlink(const char *path)
{
    before(is_meant(path));
    return ((int (*)(const char *))dlsym(RTLD_NEXT, "unlink"))(path);
}

int statvfs(const char *path, struct statvfs *fs)
{
    const long room = number("OG_ENDS_ROOM");
    const int rc = ((int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs"))(path, fs);
    if (rc == 0 && room > 0) {
        fs->f_frsize = 1;
        fs->f_bavail = (fsblkcnt_t)room;
    }
    return rc;
}

int statvfs64(const char *path, struct statvfs64 *fs)
{
    return statvfs(path, (struct statvfs *)fs);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("OG_ENDS_TOLD");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f)
        return;
    fprintf(f, "%ld\n", atomic_load(&calls));
    fclose(f);
}

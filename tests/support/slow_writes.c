/* Slow writes, preloaded in commands that tests start: in place of pwrite, one takes half
 * a millisecond more. What is written in the background is then late, as on a slow disk. */
#define _GNU_SOURCE

#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    const struct timespec late = {.tv_nsec = 500000};
    const struct iovec all = {(void *)(size_t)data, n};
    nanosleep(&late, NULL);
    return pwritev(fd, &all, 1, at);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off_t at)
{
    return pwrite(fd, data, n, at);
}

/* The input as a file, for parsers that read files. */
#ifndef OG_MEMORY_FILE_H
#define OG_MEMORY_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Its descriptor; path[32] names it while that is open. */
static inline int memory_file(const uint8_t *data, size_t size, char path[32])
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

#endif

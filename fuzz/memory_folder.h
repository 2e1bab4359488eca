/* A folder in memory, for parsers that read folders: made once, its files again for every input. */
#ifndef OG_MEMORY_FOLDER_H
#define OG_MEMORY_FOLDER_H

#include "dataset/graph.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char memory_folder_path[] = "/dev/shm/og-fuzz-XXXXXX";

static inline void memory_folder_remove(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -r %s", memory_folder_path);
    if (system(command) != 0)
        abort();
}

static inline const char *memory_folder(void)
{
    static bool made;
    if (!made && (!mkdtemp(memory_folder_path) || atexit(memory_folder_remove) != 0))
        abort();
    made = true;
    return memory_folder_path;
}

static inline void memory_folder_put(const char *name, const void *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", memory_folder(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
}

/* n numbers, each of a byte of the input, as an array of `type`: int64, int32 or float32. */
static inline void memory_folder_array(const char *name, enum og__npy_type type,
                                       const uint8_t *data, size_t n)
{
    const int64_t shape[2] = {(int64_t)n, 1};
    char file[4096 + 256 * 8];
    size_t at = og__npy_header(file, type, 1, shape, 64);
    for (size_t i = 0; i < n; i++, at += og__npy_size(type)) {
        const int64_t wide = data[i] < 128 ? data[i] : data[i] - 256;
        const int32_t narrow = (int32_t)wide;
        const float real = (float)wide / 4;
        memcpy(file + at,
               type == OG__NPY_I64   ? (const void *)&wide
               : type == OG__NPY_I32 ? (const void *)&narrow
                                     : (const void *)&real,
               og__npy_size(type));
    }
    memory_folder_put(name, file, at);
}

#endif

#include "support/files.h"

#include "support/testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool test_is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

char *test_read(const char *path, size_t *len)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    *len = (size_t)st.st_size;
    char *bytes = calloc(1, *len + 1);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, *len, 0), st.st_size);
    close(fd);
    return bytes;
}

void test_flip(const char *path, int64_t at)
{
    unsigned char byte = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x14;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

void test_write_npy(const char *folder, const char *name, enum og__npy_type type, int ndim,
                    int64_t rows, int64_t cols, const void *data)
{
    char path[1024], head[4096];
    const int64_t shape[2] = {rows, cols};
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    size_t n = og__npy_header(head, type, ndim, shape, 64);
    size_t count = (size_t)(ndim == 2 ? rows * cols : rows);
    assert_int_equal(fwrite(head, 1, n, f), n);
    assert_int_equal(fwrite(data, og__npy_size(type), count, f), count);
    assert_int_equal(fclose(f), 0);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int test_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    int n = 0;
    while (dir && (e = readdir(dir)))
        n += !is_dots(e->d_name);
    if (dir)
        closedir(dir);
    return n;
}

uint64_t test_bytes_under(const char *path)
{
    struct stat st;
    uint64_t bytes = 0;
    if (lstat(path, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return (uint64_t)st.st_size;
    DIR *dir = opendir(path);
    const struct dirent *e;
    while (dir && (e = readdir(dir))) {
        char inner[1024];
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        bytes += is_dots(e->d_name) ? 0 : test_bytes_under(inner);
    }
    if (dir)
        closedir(dir);
    return bytes;
}

void test_shell(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (system(line) != 0)
        fail_msg("%s", line);
}

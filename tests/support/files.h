/* What tests do with files and folders. All of these fail the test where they cannot. */
#ifndef OG_TEST_FILES_H
#define OG_TEST_FILES_H

#include "dataset/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool test_is_there(const char *path);
/* A whole file, with a NUL after it; free() it. */
char *test_read(const char *path, size_t *len);
/* Changes some bits of the byte at `at`. */
void test_flip(const char *path, int64_t at);
/* The array of this name in `folder`, of one dimension or of two. */
void test_write_npy(const char *folder, const char *name, enum og__npy_type type, int ndim,
                    int64_t rows, int64_t cols, const void *data);

/* Names in a folder, "." and ".." apart; 0 where there is none. */
int test_entries(const char *folder);
/* All files under `path`; those that go meanwhile count nothing. */
uint64_t test_bytes_under(const char *path);

/* A line for the shell, which must succeed. */
void test_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

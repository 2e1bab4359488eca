/* A file of tensors with all its data in memory, which the product never has. */
#ifndef OG_WHOLE_TENSORS_H
#define OG_WHOLE_TENSORS_H

#include "support/testing.h"

#include "base/file.h"
#include "nn/nn.h"

#include <stdlib.h>
#include <unistd.h>

/* Its bytes, to be freed once `t` is released. */
static inline char *whole_tensors(const char *path, struct og_tensors *t)
{
    uint64_t size = 0;
    struct og_err err = {0};
    int fd = og__open_plain(path, &size, &err);
    if (fd < 0)
        fail_msg("%s", err.message);
    char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(og__read_all(fd, bytes, (size_t)size, 0, path, NULL), 0);
    close(fd);
    if (og__tensors_parse(bytes, (size_t)size, path, t, &err) < 0)
        fail_msg("%s", err.message);
    return bytes;
}

#endif

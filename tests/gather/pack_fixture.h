/* Shared by tests of files next to the features. It has features whose every byte is known, and a
 * disk that fails on demand. Each defines the writes it counts. */
#ifndef OG_PACK_FIXTURE_H
#define OG_PACK_FIXTURE_H

#include "support/testing.h"

#include "base/file.h"
#include "dataset/graph.h"
#include "io/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- a disk that fails on demand ---- */

static atomic_int fail_writes_after = -1; /* counted writes; -1 = never */
static int failing_errno = EIO;
static int refuse_fallocate; /* with this errno; 0 = it works */
static bool refuse_direct;

int fallocate(int fd, int mode, off_t offset, off_t len)
{
    (void)mode;
    errno = refuse_fallocate ? refuse_fallocate : posix_fallocate(fd, offset, len);
    return errno ? -1 : 0;
}

static inline bool refused(int fd)
{
    if (!refuse_direct || !(fcntl(fd, F_GETFL) & O_DIRECT))
        return false;
    errno = EINVAL;
    return true;
}

/* Counts a write. */
static inline bool fails_now(void)
{
    int left = fail_writes_after;
    while (left > 0 && !atomic_compare_exchange_weak(&fail_writes_after, &left, left - 1))
        ;
    if (left != 0)
        return false;
    errno = failing_errno;
    return true;
}

/* ---- features ---- */

static const struct og_disk_profile profile = {
    .iops = 1e5, .bandwidth = 4e8, .depth = 8, .fault_threads = 2}; /* gap 4 kB */

/* The file, its rows from byte `offset` on: what it holds, malloc'ed. */
static inline unsigned char *write_features(const char *path, size_t size, off_t offset)
{
    unsigned char *bytes = malloc(size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((i * 2654435761u) >> 13);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(og__write_all(fd, bytes, size, offset, path, NULL), 0);
    /* whole blocks, so that no read ends early and the kernel's counts are ours */
    assert_int_equal(ftruncate(fd, (off_t)og__round_up((uint64_t)offset + size, 4096)), 0);
    close(fd);
    return bytes;
}

/* For a graph that has nothing but these. */
static inline struct og_group features_alone(struct og_graph *graph, char *dir, char *features,
                                             int64_t n_nodes, size_t row_bytes, off_t offset)
{
    graph->path = dir;
    return (struct og_group){.graph = graph,
                             .n_nodes = n_nodes,
                             .dim = (int)row_bytes,
                             .stored = OG_U8,
                             .dtype = OG_U8,
                             .contents = 0x1234567890ull,
                             .rows = {.fd = -1,
                                      .path = features,
                                      .type = OG__NPY_U8,
                                      .offset = offset,
                                      .shape = {n_nodes, (int64_t)row_bytes}}};
}

static inline int files_in(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

#endif

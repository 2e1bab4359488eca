/* What the io tests share: a scratch folder, a file whose every byte is known, row sets. */
#ifndef OG_IO_FIXTURE_H
#define OG_IO_FIXTURE_H

#include "support/testing.h"

#include "io/engine.h"
#include "support/draws.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
    char dir[256], path[300];
    unsigned char *bytes; // [size] what the file holds
    size_t size;
};

/* Never zero, so that a row nobody filled shows. */
static inline void scratch_open(struct scratch *s, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(s->dir, sizeof(s->dir), "%s/og-io-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(s->dir));
    assert_int_equal(chmod(s->dir, 0755), 0);
    snprintf(s->path, sizeof(s->path), "%s/data", s->dir);
    s->size = size;
    s->bytes = malloc(size + 1);
    assert_non_null(s->bytes);
    for (size_t i = 0; i < size; i++)
        s->bytes[i] = (unsigned char)(1 + test_scramble((uint32_t)i) % 255);
    int fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    for (size_t at = 0; at < size;) {
        ssize_t n = write(fd, s->bytes + at, size - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    assert_int_equal(fsync(fd), 0);
    close(fd);
}

static inline void scratch_close(struct scratch *s)
{
    unlink(s->path);
    assert_int_equal(rmdir(s->dir), 0);
    free(s->bytes);
}

/* Forget the file's pages, so that reads reach the disk. */
static inline void scratch_evict(const struct scratch *s)
{
    int fd = open(s->path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
}

enum row_set { SET_ALL, SET_EVEN, SET_SPARSE, SET_ONE, SET_ENDS, SET_EMPTY, N_SETS };

/* Ascending and distinct, into rows[n_rows]; returns how many. */
static inline size_t pick(enum row_set set, uint32_t n_rows, uint32_t *rows)
{
    size_t n = 0;
    for (uint32_t r = 0; r < n_rows; r++) {
        bool ends = r == 0 || r == n_rows - 1;
        bool in = set == SET_ALL || (set == SET_EVEN && r % 2 == 0) ||
                  (set == SET_SPARSE && test_scramble(r + 77) % 20 == 0) ||
                  (set == SET_ONE && r == n_rows / 3) || (set == SET_ENDS && ends);
        if (in)
            rows[n++] = r;
    }
    return n;
}

static inline void check_rows(const struct scratch *s, size_t offset, size_t row_bytes,
                              const struct og_read_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        if (memcmp(job->out + i * row_bytes, s->bytes + offset + job->rows[i] * row_bytes,
                   row_bytes) != 0)
            fail_msg("row %u (%zu bytes from %zu) differs", job->rows[i], row_bytes, offset);
}

/* Messages of the library, one after another. */
struct heard {
    char text[4096];
};
static inline void hear(void *arg, int level, const char *text)
{
    struct heard *h = arg;
    size_t n = strlen(h->text);
    (void)level;
    snprintf(h->text + n, sizeof(h->text) - n, "%s\n", text);
}

static const struct og_disk_profile test_profile = {
    .iops = 1e5, .bandwidth = 1e9, .depth = 32, .fault_threads = 4}; /* gap 10 kB */

#endif

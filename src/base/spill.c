/* The front of what is spilled lies in memory, the rest in the file:
 *
 *   | memory ............ | file ..................... |
 *                                                      ^ end                                    */
#include "base/spill.h"

#include "base/file.h"
#include "base/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct og_spill {
    struct og_spill_options opt;
    struct og_budget *budget;
    char *under;
    char *memory;
    struct og_scratch *scratch; /* NULL until the file is needed */
    char *path;
    int fd;
    uint64_t end; /* bytes appended */
    uint64_t written;
};

int og__spill_open(struct og_spill **out, const struct og_spill_options *opt, struct og_budget *b,
                   struct og_err *err)
{
    *out = NULL;
    struct og_spill *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", opt->part);
    s->opt = *opt;
    s->budget = b;
    s->fd = -1;
    s->under = strdup(opt->scratch);
    s->memory = s->under && opt->memory ? og__alloc(b, opt->memory, opt->part, err) : NULL;
    if (!s->under)
        og__fail_errno(err, -ENOMEM, NULL, "%s", opt->part);
    if (!s->under || (opt->memory && !s->memory)) {
        og__spill_close(s);
        return -ENOMEM;
    }
    *out = s;
    return 0;
}

void og__spill_close(struct og_spill *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    og__scratch_close(s->scratch);
    og__release(s->budget, s->memory, s->opt.memory, s->opt.part);
    free(s->under);
    free(s->path);
    free(s);
}

static int open_file(struct og_spill *s, struct og_err *err)
{
    int rc = og__scratch_open(&s->scratch, s->under, err);
    if (rc < 0)
        return rc;
    s->path = og__path_join(og__scratch_path(s->scratch), "spill");
    if (!s->path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", s->under);
    s->fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return s->fd < 0 ? og__fail_errno(err, -errno, NULL, "%s", s->path) : 0;
}

/* How much of [at, at + bytes) lies in memory. */
static size_t in_memory(const struct og_spill *s, uint64_t at, size_t bytes)
{
    return at < s->opt.memory ? (size_t)OG_MIN((uint64_t)bytes, s->opt.memory - at) : 0;
}

int og__spill_append(struct og_spill *s, const void *data, size_t bytes, struct og_err *err)
{
    size_t front = in_memory(s, s->end, bytes);
    size_t rest = bytes - front;
    int rc;
    OG_TRY(rest > 0 && s->fd < 0 ? open_file(s, err) : 0);
    if (rest > 0)
        OG_TRY(og__write_all(s->fd, (const char *)data + front, rest,
                             (off_t)(s->end + front - s->opt.memory), s->path, err));
    if (front > 0)
        memcpy(s->memory + s->end, data, front);
    s->end += bytes;
    s->written += rest;
    return 0;
out:
    return rc;
}

int og__spill_read(struct og_spill *s, uint64_t at, void *out, size_t bytes, uint64_t *read,
                   struct og_err *err)
{
    size_t front = in_memory(s, at, bytes);
    size_t rest = bytes - front;
    if (at > s->end || bytes > s->end - at)
        return og__fail(err, -EIO, NULL, "%s: %zu bytes read back at %llu of %llu", s->opt.part,
                        bytes, (unsigned long long)at, (unsigned long long)s->end);
    if (front > 0)
        memcpy(out, s->memory + at, front);
    if (rest == 0)
        return 0;
    off_t from = (off_t)(at + front - s->opt.memory);
    int rc = og__read_all(s->fd, (char *)out + front, rest, from, s->path, err);
    if (rc < 0)
        return rc;
    posix_fadvise(s->fd, from, (off_t)rest, POSIX_FADV_DONTNEED);
    *read += rest;
    return 0;
}

uint64_t og__spill_size(const struct og_spill *s)
{
    return s->end;
}

uint64_t og__spill_written(const struct og_spill *s)
{
    return s->written;
}

void og__spill_clear(struct og_spill *s)
{
    s->end = 0;
    if (s->fd >= 0)
        (void)!ftruncate(s->fd, 0);
}

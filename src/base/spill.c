/* The front of the spilled bytes is in memory, the rest in the file:
 *
 *   | memory ............ | unit | unit | unit | unit | un |
 *                                                          ^ end
 *   part 1 of 2           | unit |      | unit |      | un |
 *   part 2                       | unit |      | unit |
 *
 * A unit is as long as the kernel's readahead on a disk. A read of several units requests all at
 * once, so that one reader keeps all disks busy. */
#include "base/spill.h"

#include "base/file.h"
#include "base/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNIT = 1024 * 1024 };

struct og_spill {
    struct og_spill_options opt; /* its scratch is its own */
    struct og_budget *budget;
    char *memory;
    struct og_scratch *scratch; /* NULL until the file is needed */
    struct og_places path;      /* of its parts; */
    int fd[OG_MOST_PLACES];     /* -1 = closed */
    uint64_t end;               /* bytes appended */
    uint64_t written;
};

/* The bytes of a request that are in one unit. */
struct piece {
    uint32_t part;
    off_t at; /* of the part */
    size_t bytes;
};

static struct piece first_piece(const struct og_spill *s, uint64_t at, size_t bytes)
{
    const uint64_t unit = at / UNIT;
    const uint64_t into = at % UNIT;
    const uint32_t n = s->path.n;
    if (n == 1)
        return (struct piece){0, (off_t)at, bytes};
    return (struct piece){(uint32_t)(unit % n), (off_t)(unit / n * UNIT + into),
                          (size_t)OG_MIN((uint64_t)bytes, UNIT - into)};
}

int og__spill_open(struct og_spill **out, const struct og_spill_options *opt, struct og_budget *b,
                   struct og_err *err)
{
    *out = NULL;
    struct og_spill *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", opt->part);
    s->opt = *opt;
    s->opt.scratch = (struct og_places){0};
    s->budget = b;
    for (size_t i = 0; i < OG_COUNT(s->fd); i++)
        s->fd[i] = -1;
    int rc = og__places_copy(&s->opt.scratch, opt->scratch, err);
    if (rc == 0 && opt->memory && !(s->memory = og__alloc(b, opt->memory, opt->part, err)))
        rc = -ENOMEM;
    if (rc < 0)
        og__spill_close(s);
    else
        *out = s;
    return rc;
}

void og__spill_close(struct og_spill *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < OG_COUNT(s->fd); i++)
        if (s->fd[i] >= 0)
            close(s->fd[i]);
    og__scratch_close(s->scratch);
    og__release(s->budget, s->memory, s->opt.memory, s->opt.part);
    og__places_free(&s->opt.scratch);
    og__places_free(&s->path);
    free(s);
}

static int open_file(struct og_spill *s, struct og_err *err)
{
    int rc;
    if (s->opt.scratch.n == 0)
        return og__fail(err, -ENOMEM, NULL, "%s: no scratch folder, and memory is full",
                        s->opt.part);
    OG_TRY(og__scratch_open(&s->scratch, s->opt.scratch, err));
    rc = og__places_in(&s->path, og__scratch_places(s->scratch), "spill", err);
    if (rc < 0) { /* undone, so that the next call starts again */
        og__scratch_close(s->scratch);
        s->scratch = NULL;
        return rc;
    }
    for (uint32_t i = 0; i < s->path.n; i++) {
        const char *path = s->path.path[i];
        s->fd[i] = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        OG_TRY(s->fd[i] < 0 ? og__fail_errno(err, -errno, NULL, "%s", path) : 0);
    }
out:
    return rc;
}

/* The number of bytes of [at, at + bytes) that are in memory. */
static size_t in_memory(const struct og_spill *s, uint64_t at, size_t bytes)
{
    return at < s->opt.memory ? (size_t)OG_MIN((uint64_t)bytes, s->opt.memory - at) : 0;
}

static int write_file(struct og_spill *s, const char *data, size_t bytes, uint64_t at,
                      struct og_err *err)
{
    while (bytes > 0) {
        const struct piece p = first_piece(s, at, bytes);
        OG_DO(og__write_all(s->fd[p.part], data, p.bytes, p.at, s->path.path[p.part], err));
        data += p.bytes;
        at += p.bytes;
        bytes -= p.bytes;
    }
    return 0;
}

int og__spill_append(struct og_spill *s, const void *data, size_t bytes, struct og_err *err)
{
    size_t front = in_memory(s, s->end, bytes);
    size_t rest = bytes - front;
    OG_DO(rest > 0 && !s->scratch ? open_file(s, err) : 0);
    OG_DO(write_file(s, (const char *)data + front, rest, s->end + front - s->opt.memory, err));
    if (front > 0)
        memcpy(s->memory + s->end, data, front);
    s->end += bytes;
    s->written += rest;
    return 0;
}

static void advise(const struct og_spill *s, uint64_t at, size_t bytes, int advice)
{
    while (bytes > 0) {
        const struct piece p = first_piece(s, at, bytes);
        posix_fadvise(s->fd[p.part], p.at, (off_t)p.bytes, advice);
        at += p.bytes;
        bytes -= p.bytes;
    }
}

static int read_file(const struct og_spill *s, char *out, size_t bytes, uint64_t at,
                     struct og_err *err)
{
    if (bytes > first_piece(s, at, bytes).bytes)
        advise(s, at, bytes, POSIX_FADV_WILLNEED);
    for (size_t done = 0; done < bytes;) {
        const struct piece p = first_piece(s, at + done, bytes - done);
        OG_DO(og__read_all(s->fd[p.part], out + done, p.bytes, p.at, s->path.path[p.part], err));
        done += p.bytes;
    }
    advise(s, at, bytes, POSIX_FADV_DONTNEED);
    return 0;
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
    OG_DO(read_file(s, (char *)out + front, rest, at + front - s->opt.memory, err));
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
    for (uint32_t i = 0; i < s->path.n; i++)
        (void)!ftruncate(s->fd[i], 0);
}

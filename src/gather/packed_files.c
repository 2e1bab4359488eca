#include "gather/packed_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

_Static_assert((int)OG_MOST_PARTS == (int)OG_MOST_PLACES, "a part has a place");

const char og__pack_full_hint[] = "free space on that disk, or pack fewer batches at a time";

/* ---- placement ---- */

struct og_packed_spot og__packed_spot(const struct og_packed_lay *lay, uint64_t at)
{
    if (lay->blocks.parts <= 1)
        return (struct og_packed_spot){0, lay->aside + at, UINT64_MAX};
    const struct og_unit u = og__unit_of(&lay->blocks, at / OG__PACK_BLOCK);
    const uint64_t into = at - u.first * OG__PACK_BLOCK;
    return (struct og_packed_spot){u.part, lay->aside + u.at * OG__PACK_BLOCK + into,
                                   u.end * OG__PACK_BLOCK - at};
}

uint64_t og__packed_part_bytes(const struct og_packed_lay *lay, uint32_t part, uint64_t bytes)
{
    const uint64_t blocks = (bytes + OG__PACK_BLOCK - 1) / OG__PACK_BLOCK;
    return lay->aside + og__part_rows(&lay->blocks, part, blocks) * OG__PACK_BLOCK;
}

/* ---- creating files ---- */

static int open_direct(const struct og_newfile *file)
{
    _Alignas(OG__PACK_BLOCK) char block[OG__PACK_BLOCK] = {0};
    int fd = open(file->temporary, O_WRONLY | O_CLOEXEC | O_DIRECT | O_NOFOLLOW);
    if (fd >= 0 && pwrite(fd, block, OG__PACK_BLOCK, 0) != OG__PACK_BLOCK) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int create(struct og_packed_part *part, const char *path, uint64_t bytes, struct og_err *err)
{
    char size[32];
    int rc = og__newfile_open(&part->file, path, err);
    if (rc < 0 || bytes == 0)
        return rc;
    do
        rc = fallocate(part->file.fd, 0, 0, (off_t)bytes) < 0 ? -errno : 0;
    while (rc == -EINTR);
    if (rc < 0 && rc != -EOPNOTSUPP && rc != -ENOSYS)
        return og__fail_errno(err, rc, rc == -ENOSPC ? og__pack_full_hint : NULL,
                              "%s: no room for %s", path, og__human_bytes(size, (double)bytes));
    part->direct_fd = open_direct(&part->file);
    return 0;
}

int og__packed_create(struct og_packed_out *out, struct og_places at,
                      const struct og_packed_lay *lay, const uint64_t *bytes, struct og_err *err)
{
    out->lay = *lay;
    for (out->n = 0; out->n < at.n;) {
        const uint32_t i = out->n++;
        out->part[i].file.fd = out->part[i].direct_fd = -1;
        OG_DO(create(&out->part[i], at.path[i], bytes[i], err));
    }
    return 0;
}

bool og__packed_is_direct(const struct og_packed_out *out)
{
    bool all = true;
    for (uint32_t i = 0; i < out->n; i++)
        all &= out->part[i].direct_fd >= 0;
    return all;
}

int og__packed_commit(struct og_packed_out *out, struct og_err *err)
{
    for (uint32_t i = 0; i < out->n; i++)
        OG_DO(og__newfile_commit(&out->part[i].file, err));
    return 0;
}

void og__packed_abandon(struct og_packed_out *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->part[i].direct_fd >= 0)
            close(out->part[i].direct_fd);
        og__newfile_abandon(&out->part[i].file);
    }
    out->n = 0;
}

/* ---- writing ---- */

int og__packed_put(const struct og_packed_out *out, const void *data, uint64_t bytes, uint64_t at,
                   struct og_err *err)
{
    for (uint64_t done = 0, n; done < bytes; done += n) {
        const struct og_packed_spot spot = og__packed_spot(&out->lay, at + done);
        const struct og_newfile *file = &out->part[spot.part].file;
        n = OG_MIN(bytes - done, spot.n);
        OG_DO(
            og__write_all(file->fd, (const char *)data + done, n, (off_t)spot.at, file->path, err));
    }
    return 0;
}

void og__packed_push(const struct og_packed_part *part, uint64_t at, uint64_t bytes)
{
    sync_file_range(part->file.fd, (off_t)at, (off_t)bytes,
                    SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    posix_fadvise(part->file.fd, (off_t)at, (off_t)bytes, POSIX_FADV_DONTNEED);
}

/* Writes directly if possible; the remainder of a short write goes through the page cache. */
static int write_one(const struct og_packed_part *part, const char *data, uint64_t bytes,
                     uint64_t at, struct og_err *err)
{
    const int fd = part->direct_fd >= 0 ? part->direct_fd : part->file.fd;
    ssize_t done;
    do
        done = pwrite(fd, data, bytes, (off_t)at);
    while (done < 0 && errno == EINTR);
    if (done < 0)
        return og__fail_errno(err, -errno, errno == ENOSPC ? og__pack_full_hint : NULL,
                              "%s: cannot write at byte %llu", part->file.path,
                              (unsigned long long)at);
    int rc = og__write_all(part->file.fd, data + done, bytes - (uint64_t)done, (off_t)at + done,
                           part->file.path, err);
    if (rc == 0 && part->direct_fd < 0)
        og__packed_push(part, at, bytes);
    return rc;
}

/* The bytes of a write that belong to one part. */
struct share {
    const struct og_packed_out *out;
    const char *data;
    uint64_t bytes, at;
    uint32_t part;
    pthread_t thread;
    bool apart; /* in its own thread */
    int rc;
    struct og_err err;
};

static void *write_share(void *arg)
{
    struct share *s = arg;
    for (uint64_t done = 0, n; s->rc == 0 && done < s->bytes; done += n) {
        const struct og_packed_spot spot = og__packed_spot(&s->out->lay, s->at + done);
        n = OG_MIN(s->bytes - done, spot.n);
        if (spot.part == s->part)
            s->rc = write_one(&s->out->part[s->part], s->data + done, n, spot.at, &s->err);
    }
    return NULL;
}

int og__packed_write(const struct og_packed_out *out, const char *data, uint64_t bytes, uint64_t at,
                     struct og_err *err)
{
    struct share share[OG_MOST_PARTS];
    const bool one = bytes <= og__packed_spot(&out->lay, at).n;
    int rc = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        share[i] = (struct share){.out = out, .data = data, .bytes = bytes, .at = at, .part = i};
        share[i].apart =
            !one && i > 0 && pthread_create(&share[i].thread, NULL, write_share, &share[i]) == 0;
    }
    for (uint32_t i = 0; i < out->n; i++)
        if (!share[i].apart)
            write_share(&share[i]);
    for (uint32_t i = 0; i < out->n; i++) {
        if (share[i].apart)
            pthread_join(share[i].thread, NULL);
        if (share[i].rc < 0 && rc == 0)
            rc = og__fail(err, share[i].rc, share[i].err.hint, "%s", share[i].err.message);
    }
    return rc;
}

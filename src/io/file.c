/* A file opened for reading.
 *
 *     stat ──> O_DIRECT refused, or memory is its disk? ──yes──> buffered, align 1, readahead off
 *                │ no
 *              which alignment?  statx (Linux 6.1), else try 512, then 4096
 *                │
 *              one trial read of one block ──fails──> buffered
 *
 * Some file systems accept O_DIRECT at open and refuse it at the first read: hence the trial
 * read. */
#include "io/engine.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* statx's answer is newer than Debian 12's headers on some machines. */
static bool reported_alignment(int fd, size_t *offset, size_t *memory)
{
#ifdef STATX_DIOALIGN
    struct statx sx;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) < 0 || !(sx.stx_mask & STATX_DIOALIGN))
        return false;
    *offset = sx.stx_dio_offset_align;
    *memory = sx.stx_dio_mem_align;
    return true;
#else
    (void)fd, (void)offset, (void)memory;
    return false;
#endif
}

/* Does a direct read of the block after `block` bytes work (of the first one in small files)? */
static bool trial_read(const struct og_io_file *f, size_t block, size_t memory)
{
    void *buffer = NULL;
    if (posix_memalign(&buffer, OG_MAX(memory, sizeof(void *)), block) != 0)
        return false;
    off_t at = f->size >= 2 * block ? (off_t)block : 0;
    ssize_t n;
    do
        n = pread(f->fd, buffer, block, at);
    while (n < 0 && errno == EINTR);
    og__count_reads(1, n > 0 ? (uint64_t)n : 0);
    bool refused = n < 0 && errno == EINVAL; /* the reader reports EIO, with its offset */
    free(buffer);
    return !refused;
}

static bool usable(size_t align)
{
    return align > 0 && align <= 64 * OG_KIB && (align & (align - 1)) == 0;
}

static bool find_alignment(struct og_io_file *f)
{
    size_t offset = 0;
    size_t memory = 0;
    if (reported_alignment(f->fd, &offset, &memory)) {
        f->align_offset = offset;
        f->align_memory = memory;
        return usable(offset) && usable(memory) && trial_read(f, offset, memory);
    }
    static const size_t candidates[] = {512, PAGE};
    for (size_t i = 0; i < OG_COUNT(candidates); i++) {
        f->align_offset = f->align_memory = candidates[i];
        if (trial_read(f, candidates[i], candidates[i]))
            return true;
    }
    return false;
}

/* O_DIRECT on tmpfs is accepted by newer kernels and means nothing there. */
static bool lives_in_memory(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

static bool open_direct(struct og_io_file *f)
{
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (f->fd < 0)
        return false;
    f->direct = !lives_in_memory(f->fd) && find_alignment(f);
    if (!f->direct) {
        close(f->fd);
        f->fd = -1;
    }
    return f->direct;
}

static int open_buffered(struct og_io_file *f, struct og_err *err)
{
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot open", f->path);
    f->align_offset = f->align_memory = 1;
    (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);
    return 0;
}

int og__io_file_open(struct og_io_file *f, const char *path, bool want_direct,
                     const struct og_log *log, struct og_err *err)
{
    struct stat st;
    *f = (struct og_io_file){.fd = -1};
    if (stat(path, &st) < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot open", path);
    if (!S_ISREG(st.st_mode)) /* before open, which would wait for the writer of a pipe */
        return og__fail(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
                        "name a file: a folder, a pipe or a device will not do",
                        "%s: not a regular file", path);
    f->size = (uint64_t)st.st_size;
    f->path = strdup(path);
    if (!f->path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    if (want_direct && open_direct(f))
        return 0;
    int rc = open_buffered(f, err);
    if (rc < 0)
        og__io_file_close(f);
    else if (want_direct)
        og__say(log, OG__INFO,
                "%s: this file system has no direct reads; reading through the page cache", path);
    return rc;
}

void og__io_file_close(struct og_io_file *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    *f = (struct og_io_file){.fd = -1};
}

void og__io_file_drop(const struct og_io_file *f, uint64_t offset, size_t length)
{
    uint64_t first = offset & ~(uint64_t)(PAGE - 1);
    uint64_t end = og__round_up(offset + length, PAGE); /* the kernel keeps partial pages */
    (void)posix_fadvise(f->fd, (off_t)first, (off_t)(end - first), POSIX_FADV_DONTNEED);
}

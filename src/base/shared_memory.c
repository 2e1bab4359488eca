#include "base/shared_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/* Parts begin where huge pages may. */
enum { MOST_PARTS = 128, ALIGNED = 2 * OG_MIB };

struct board {
    uint64_t token;
    pthread_mutex_t lock; /* what is below */
    uint64_t end;         /* of the file's parts */
    uint32_t n;
    struct part {
        uint64_t key, at, bytes;
        uint32_t users; /* those that were killed included */
        bool full;
    } part[MOST_PARTS];
};

struct og_shared_memory {
    int fd;
    struct board *board;
};

static const char what[] = "shared memory";
#define NAME "outgrow"
#define LINK "/memfd:" NAME /* what the kernel calls such a file */

/* ---- make, open, close ---- */

static int map_board(struct og_shared_memory *c, struct og_err *err)
{
    void *p = mmap(NULL, sizeof(*c->board), PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
    if (p == MAP_FAILED)
        return og__fail_errno(err, -errno, NULL, "%s", what);
    c->board = p;
    return 0;
}

/* A holder may be killed: the next one has the lock then. */
static int make_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t how;
    int rc = pthread_mutexattr_init(&how);
    if (rc != 0)
        return -rc;
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    rc = pthread_mutex_init(lock, &how);
    pthread_mutexattr_destroy(&how);
    return -rc;
}

static int begin(struct og_shared_memory *c, struct og_err *err)
{
    int rc;
    c->fd = memfd_create(NAME, MFD_CLOEXEC);
    if (c->fd < 0 || ftruncate(c->fd, ALIGNED) < 0)
        return og__fail_errno(err, -errno, NULL, "%s", what);
    OG_TRY(map_board(c, err));
    if (getrandom(&c->board->token, sizeof(c->board->token), 0) != (ssize_t)sizeof(c->board->token))
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s", what));
    c->board->end = ALIGNED;
    rc = make_lock(&c->board->lock);
    if (rc < 0)
        og__fail_errno(err, rc, NULL, "%s", what);
out:
    return rc;
}

static struct og_shared_memory *new_shared_memory(struct og_err *err)
{
    struct og_shared_memory *c = calloc(1, sizeof(*c));
    if (c)
        c->fd = -1;
    else
        og__fail_errno(err, -ENOMEM, NULL, "%s", what);
    return c;
}

int og__shared_memory_make(struct og_shared_memory **out, struct og_err *err)
{
    struct og_shared_memory *c = *out = new_shared_memory(err);
    if (!c)
        return -ENOMEM;
    int rc = begin(c, err);
    if (rc < 0) {
        og__shared_memory_close(c);
        *out = NULL;
    }
    return rc;
}

struct og_shared_memory_place og__shared_memory_place(const struct og_shared_memory *c)
{
    return (struct og_shared_memory_place){getpid(), c->fd, c->board->token};
}

/* Another process may have that number here, and another file that one there. */
static int find(struct og_shared_memory *c, const struct og_shared_memory_place *place,
                struct og_err *err)
{
    char path[64];
    char is[64];
    snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long)place->pid, (long long)place->fd);
    const ssize_t n = readlink(path, is, sizeof(is));
    if (n < (ssize_t)strlen(LINK) || memcmp(is, LINK, strlen(LINK)) != 0)
        return og__fail(err, -ENOENT, NULL, "%s: %s is not there", what, path);
    c->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (c->fd < 0 || lseek(c->fd, 0, SEEK_END) < (off_t)sizeof(*c->board))
        return og__fail(err, -ENOENT, NULL, "%s: %s is not there", what, path);
    int rc = map_board(c, err);
    if (rc == 0 && c->board->token != place->token)
        rc = og__fail(err, -ENOENT, NULL, "%s: %s is something else", what, path);
    return rc;
}

int og__shared_memory_open(struct og_shared_memory **out,
                           const struct og_shared_memory_place *place, struct og_err *err)
{
    struct og_shared_memory *c = *out = new_shared_memory(err);
    if (!c)
        return -ENOMEM;
    int rc = find(c, place, err);
    if (rc < 0) {
        og__shared_memory_close(c);
        *out = NULL;
    }
    return rc;
}

void og__shared_memory_close(struct og_shared_memory *c)
{
    if (!c)
        return;
    if (c->board)
        munmap(c->board, sizeof(*c->board));
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}

/* ---- parts ---- */

static void lock(struct board *b)
{
    if (pthread_mutex_lock(&b->lock) == EOWNERDEAD) /* what it was filling is not full */
        pthread_mutex_consistent(&b->lock);
}

/* An existing part, or a new one to fill; NULL: the table is full. */
static struct part *find_part(struct board *b, const struct og_shared_memory_part *requested)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->part[i].key == requested->key && b->part[i].bytes == requested->bytes)
            return &b->part[i];
    if (b->n == MOST_PARTS)
        return NULL;
    b->part[b->n] = (struct part){.key = requested->key, .at = b->end, .bytes = requested->bytes};
    b->end += og__round_up(requested->bytes, ALIGNED);
    return &b->part[b->n++];
}

static void *map_part(const struct og_shared_memory *c, const struct part *p, void *place,
                      int protection)
{
    void *at = mmap(place, p->bytes, protection, MAP_SHARED | (place ? MAP_FIXED : 0), c->fd,
                    (off_t)p->at);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, p->bytes, MADV_HUGEPAGE); /* where the kernel has them for such files */
    return at;
}

static struct og_shared_memory_piece piece_of(struct og_shared_memory *c, const struct part *p,
                                              const void *place, const void *at)
{
    return (struct og_shared_memory_piece){.of = c,
                                           .number = (uint32_t)(p - c->board->part),
                                           .placed = place,
                                           .bytes = p->bytes,
                                           .at = at};
}

/* Nothing of what a process left that failed, or was killed, stays. */
static void clear_part(const struct og_shared_memory *c, const struct part *p)
{
    (void)!fallocate(c->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)p->at,
                     (off_t)og__round_up(p->bytes, ALIGNED));
}

/* Room is taken first: a page that cannot be had later would be a signal, not an error. */
static int fill_part(const struct og_shared_memory *c, struct part *p,
                     const struct og_shared_memory_part *requested, struct og_err *err)
{
    void *at = NULL;
    int rc = 0;
    clear_part(c, p);
    if (fallocate(c->fd, 0, (off_t)p->at, (off_t)p->bytes) < 0 ||
        !(at = map_part(c, p, requested->place, PROT_READ | PROT_WRITE)))
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s", what));
    OG_TRY(requested->fill(requested->arg, at, err));
    p->full = true;
out:
    if (at && !requested->place) /* else what is mapped next takes its place */
        munmap(at, p->bytes);
    if (rc < 0)
        clear_part(c, p);
    return rc;
}

int og__shared_memory_take(struct og_shared_memory *c, const struct og_shared_memory_part *part,
                           struct og_shared_memory_piece *out, struct og_err *err)
{
    int rc = 0;
    const void *at;
    *out = (struct og_shared_memory_piece){0};
    lock(c->board);
    struct part *p = find_part(c->board, part);
    if (!p)
        OG_TRY(og__fail(err, -ENOSPC, NULL, "%s: more than %d parts", what, MOST_PARTS));
    if (!p->full)
        OG_TRY(fill_part(c, p, part, err));
    at = map_part(c, p, part->place, PROT_READ);
    if (!at)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s", what));
    p->users++;
    *out = piece_of(c, p, part->place, at);
out:
    pthread_mutex_unlock(&c->board->lock);
    return rc;
}

/* ---- areas ---- */

/* Extends the file to the end of a part that has no pages yet. */
static int reach_end(const struct og_shared_memory *c, const struct part *p)
{
    const off_t end = (off_t)(p->at + p->bytes);
    const off_t is = lseek(c->fd, 0, SEEK_END);
    if (is < 0)
        return -errno;
    return is < end && ftruncate(c->fd, end) < 0 ? -errno : 0;
}

int og__shared_memory_area(struct og_shared_memory *c, uint64_t key, size_t bytes, void *place,
                           struct og_shared_memory_piece *out, struct og_err *err)
{
    const struct og_shared_memory_part requested = {.key = key, .bytes = bytes};
    void *at;
    int rc = 0;
    *out = (struct og_shared_memory_piece){0};
    lock(c->board);
    struct part *p = find_part(c->board, &requested);
    if (!p)
        OG_TRY(og__fail(err, -ENOSPC, NULL, "%s: more than %d parts", what, MOST_PARTS));
    rc = reach_end(c, p);
    if (rc < 0)
        OG_TRY(og__fail_errno(err, rc, NULL, "%s", what));
    at = mmap(place, bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_NORESERVE | (place ? MAP_FIXED : 0), c->fd, (off_t)p->at);
    if (at == MAP_FAILED)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s", what));
    p->full = true;
    p->users++;
    *out = piece_of(c, p, place, at);
out:
    pthread_mutex_unlock(&c->board->lock);
    return rc;
}

int og__shared_memory_room(const struct og_shared_memory_piece *p, size_t from, size_t bytes,
                           struct og_err *err)
{
    const uint64_t at = p->of->board->part[p->number].at;
    if (fallocate(p->of->fd, FALLOC_FL_KEEP_SIZE, (off_t)(at + from), (off_t)bytes) == 0)
        return 0;
    return og__fail_errno(err, -errno, NULL, "%s", what);
}

/* Counts present pages in /proc/self/pagemap: 8 bytes a page, the highest bit marks a present
 * one. */
size_t og__shared_memory_touched(const struct og_shared_memory_piece *p, size_t from, size_t bytes)
{
    enum { AT_ONCE = 512 };
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t last = ((uintptr_t)p->at + from + bytes + page_bytes - 1) / page_bytes;
    size_t page = ((uintptr_t)p->at + from) / page_bytes;
    size_t touched = 0;
    uint64_t entry[AT_ONCE];
    const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && page < last) {
        const size_t n = OG_MIN(last - page, (size_t)AT_ONCE) * sizeof(*entry);
        const ssize_t got = pread(fd, entry, n, (off_t)(page * sizeof(*entry)));
        if (got < (ssize_t)sizeof(*entry))
            break;
        for (size_t i = 0; i < (size_t)got / sizeof(*entry); i++)
            touched += entry[i] >> 63 ? page_bytes : 0;
        page += (size_t)got / sizeof(*entry);
    }
    if (fd >= 0)
        close(fd);
    return touched;
}

/* A reserved range is released as a whole, and no other mapping may take a part of it. */
static void leave(const struct og_shared_memory_piece *piece)
{
    if (piece->placed)
        (void)mmap((void *)piece->at, piece->bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    else
        munmap((void *)piece->at, piece->bytes);
}

void og__shared_memory_give(struct og_shared_memory_piece *piece)
{
    struct og_shared_memory *c = piece->of;
    if (!c)
        return;
    leave(piece);
    lock(c->board);
    struct part *p = &c->board->part[piece->number];
    if (--p->users == 0) {
        p->full = false;
        clear_part(c, p);
    }
    pthread_mutex_unlock(&c->board->lock);
    *piece = (struct og_shared_memory_piece){0};
}

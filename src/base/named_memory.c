#include "base/named_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the list ---- */

enum { MOST_PLACES = 256 }; /* further processes find it, but not through themselves */

struct list {
    int fd; /* of the locked file */
    size_t n;
    struct og_shared_memory_place place[MOST_PLACES];
};

/* 1: another process has removed the file meanwhile. */
static int lock_file(int *fd, const char *path, struct og_err *err)
{
    struct stat st;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0 || flock(*fd, LOCK_EX) < 0 || fstat(*fd, &st) < 0)
        return og__fail_errno(err, -errno, NULL, "%s", path);
    if (st.st_uid != geteuid() || !S_ISREG(st.st_mode))
        return og__fail(err, -EPERM, NULL, "%s: another user's", path);
    return st.st_nlink == 0;
}

static void close_list(struct list *l)
{
    if (l->fd >= 0)
        close(l->fd);
}

static int open_list(struct list *l, const char *path, struct og_err *err)
{
    int rc;
    while ((rc = lock_file(&l->fd, path, err)) != 0) {
        close_list(l);
        if (rc < 0)
            return rc;
    }
    const ssize_t got = pread(l->fd, l->place, sizeof(l->place), 0);
    l->n = got > 0 ? (size_t)got / sizeof(*l->place) : 0;
    return 0;
}

/* The file of an empty list is removed. */
static int write_list(const struct list *l, const char *path, struct og_err *err)
{
    const size_t bytes = l->n * sizeof(*l->place);
    const bool done = bytes == 0 ? unlink(path) == 0
                                 : pwrite(l->fd, l->place, bytes, 0) == (ssize_t)bytes &&
                                       ftruncate(l->fd, (off_t)bytes) == 0;
    return done ? 0 : og__fail_errno(err, errno ? -errno : -EIO, NULL, "%s", path);
}

/* ---- join, leave ---- */

/* Opens the segment by the first place that has it, and drops those that have not. */
static struct og_shared_memory *open_any(struct list *l)
{
    struct og_shared_memory *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct og_shared_memory *c;
        if (og__shared_memory_open(&c, &l->place[i], NULL) < 0)
            continue;
        l->place[n++] = l->place[i];
        if (found)
            og__shared_memory_close(c);
        else
            found = c;
    }
    l->n = n;
    return found;
}

int og__named_memory_join(struct og_named_memory *out, uint64_t number, struct og_err *err)
{
    struct list l;
    *out = (struct og_named_memory){0};
    snprintf(out->path, sizeof(out->path), "/dev/shm/outgrow-%u-%016llx", (unsigned)geteuid(),
             (unsigned long long)number);
    int rc = open_list(&l, out->path, err);
    if (rc < 0)
        return rc;
    out->memory = open_any(&l);
    if (!out->memory)
        OG_TRY(og__shared_memory_make(&out->memory, err));
    if (l.n < MOST_PLACES)
        l.place[l.n++] = og__shared_memory_place(out->memory);
    OG_TRY(write_list(&l, out->path, err));
out:
    if (rc < 0) {
        og__shared_memory_close(out->memory);
        out->memory = NULL;
    }
    close_list(&l);
    return rc;
}

void og__named_memory_leave(struct og_named_memory *n)
{
    struct list l;
    if (!n->memory)
        return;
    const struct og_shared_memory_place own = og__shared_memory_place(n->memory);
    if (open_list(&l, n->path, NULL) == 0) {
        size_t left = 0;
        for (size_t i = 0; i < l.n; i++)
            if (memcmp(&l.place[i], &own, sizeof(own)) != 0)
                l.place[left++] = l.place[i];
        l.n = left;
        (void)write_list(&l, n->path, NULL); /* a place that is left no longer opens */
        close_list(&l);
    }
    og__shared_memory_close(n->memory);
    *n = (struct og_named_memory){0};
}

/* Removal protocol: a scratch folder is in use while its lock file is locked. The kernel drops the
 * lock when the process ends. A remover takes the lock, so two never remove one folder at once.
 *
 *   the creator:  mkdir ──> create lock ──> flock ──> host's name ──> is it still there? ──> ours
 *   the remover:  open lock ──> flock ──> this host's? ──> empty the folder, lock last ──> rmdir
 *
 * If the remover was quicker at any arrow, the creator takes another number. It notices because its
 * folder is gone, or its lock file is locked or unlinked. NFS requires a writable descriptor for an
 * exclusive lock, and some mounts lock per host only. So only the host named in the lock file
 * removes the folder. */
#include "base/scratch.h"

#include "base/file.h"
#include "base/file_lock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lock_name[] = "lock";
enum { MAX_DEPTH = 8, MAX_TRIES = 1000, HOST = 256 };

/* A scratch folder on one disk. */
struct place {
    char *under, *path;
    char name[64];
    int under_fd, fd, lock_fd; /* -1 when closed */
    bool made_under;
};

struct og_scratch {
    uint32_t n;
    const char **path; /* [n] of the places */
    struct place place[];
};

/* ---- removing ---- */

/* Unlinks all in folder fd except `keep`. False: it could not be looked into. */
static bool empty_folder(int fd, const char *keep, int depth)
{
    DIR *dir = og__folder_list(fd);
    if (!dir)
        return false;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (keep && strcmp(name, keep) == 0))
            continue;
        if (unlinkat(fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM) || depth == 0)
            continue;
        int child = og__folder_open(fd, name);
        if (child < 0)
            continue;
        empty_folder(child, NULL, depth - 1);
        close(child);
        unlinkat(fd, name, AT_REMOVEDIR);
    }
    closedir(dir);
    return true;
}

/* Removes the folder `name` with its contents; the caller holds its lock. If it cannot be emptied,
 * its lock file stays, by which the next start recognises it. */
static void remove_folder(int under_fd, const char *name, int fd)
{
    if (!empty_folder(fd, lock_name, MAX_DEPTH))
        return;
    unlinkat(fd, lock_name, 0);
    unlinkat(under_fd, name, AT_REMOVEDIR);
}

/* outgrow-scratch-<digits>-<digits> */
static bool is_our_name(const char *name)
{
    static const char digits[] = "0123456789";
    static const char prefix[] = "outgrow-scratch-";
    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
        return false;
    name += sizeof(prefix) - 1;
    size_t pid = strspn(name, digits);
    if (pid == 0 || name[pid] != '-')
        return false;
    size_t n = strspn(name + pid + 1, digits);
    return n > 0 && name[pid + 1 + n] == 0;
}

static bool is_our_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

static void host_name(char name[HOST])
{
    memset(name, 0, HOST);
    if (gethostname(name, HOST - 1) < 0)
        name[0] = 0;
}

/* Does the lock file name this host, or none? The caller holds the lock. */
static bool is_of_this_host(int lock)
{
    char here[HOST];
    char there[HOST] = {0};
    host_name(here);
    ssize_t n = pread(lock, there, HOST - 1, 0);
    return n == 0 || (n > 0 && strcmp(here, there) == 0);
}

static void remove_if_stale(int under_fd, const char *name)
{
    int fd = og__folder_open(under_fd, name);
    if (fd < 0)
        return;
    int lock = openat(fd, lock_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (lock < 0 && errno == ENOENT)
        unlinkat(under_fd, name, AT_REMOVEDIR); /* its process ended right after mkdir, or it has
                                                 * other things in it and stays */
    if (lock >= 0 && is_our_file(lock) && og__file_lock(lock) == 0 && is_of_this_host(lock))
        remove_folder(under_fd, name, fd);
    if (lock >= 0)
        close(lock);
    close(fd);
}

static void remove_stale(int under_fd)
{
    DIR *dir = og__folder_list(under_fd);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (is_our_name(entry->d_name))
            remove_if_stale(under_fd, entry->d_name);
    if (dir)
        closedir(dir);
}

/* ---- making ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* On a full disk the name may be missing. The lock alone then marks the folder as in use. */
static void sign(int lock)
{
    char name[HOST];
    host_name(name);
    (void)!pwrite(lock, name, strlen(name), 0);
}

/* 0, or -EAGAIN when a remover took it for a stale one, or another error. */
static int make_named(struct place *s)
{
    if (mkdirat(s->under_fd, s->name, 0700) < 0)
        return errno == EEXIST ? -EAGAIN : -errno;
    s->fd = og__folder_open(s->under_fd, s->name);
    if (s->fd < 0) {
        int why = errno;
        unlinkat(s->under_fd, s->name, AT_REMOVEDIR);
        return why == ENOENT ? -EAGAIN : -why;
    }
    s->lock_fd = openat(s->fd, lock_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc;
    OG_TRY(s->lock_fd >= 0 ? 0 : errno == ENOENT ? -EAGAIN : -errno);
    OG_TRY(og__file_lock(s->lock_fd));
    sign(s->lock_fd);
    OG_TRY(og__file_has_name(s->lock_fd) ? 0 : -EAGAIN);
    return 0;
out:
    if (rc == -EBUSY)
        rc = -EAGAIN;
    if (rc != -EAGAIN) {
        unlinkat(s->fd, lock_name, 0);
        unlinkat(s->under_fd, s->name, AT_REMOVEDIR);
    }
    close_fd(&s->lock_fd);
    close_fd(&s->fd);
    return rc;
}

/* 0, -ENOENT when `under` went away meanwhile, or another error. */
static int make_folder(struct place *s)
{
    int rc = -EAGAIN;
    s->under_fd = open(s->under, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->under_fd < 0)
        return -errno;
    remove_stale(s->under_fd);
    for (int n = 0; rc == -EAGAIN && n < MAX_TRIES; n++) {
        snprintf(s->name, sizeof(s->name), "outgrow-scratch-%d-%d", (int)getpid(), n);
        rc = make_named(s);
    }
    if (rc < 0)
        close_fd(&s->under_fd);
    return rc;
}

/* Another process may have made `under` and remove it just now: then make it again. */
static int make_both(struct place *s, struct og_err *err)
{
    struct stat st;
    int rc = -ENOENT;
    for (int i = 0; rc == -ENOENT && i < MAX_TRIES; i++) {
        if (stat(s->under, &st) < 0 && errno == ENOENT)
            s->made_under = true;
        if ((rc = og__make_dirs(s->under, err)) < 0)
            return rc;
        rc = make_folder(s);
    }
    return rc < 0 ? og__fail_errno(err, rc, NULL, "%s: cannot make a scratch folder", s->under) : 0;
}

static int open_place(struct place *s, const char *under, struct og_err *err)
{
    *s = (struct place){.under = strdup(under), .under_fd = -1, .fd = -1, .lock_fd = -1};
    OG_DO(s->under ? make_both(s, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", under));
    if (!(s->path = og__path_join(s->under, s->name)))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", under);
    return 0;
}

static void close_place(struct place *s)
{
    if (s->fd >= 0)
        remove_folder(s->under_fd, s->name, s->fd);
    close_fd(&s->lock_fd);
    close_fd(&s->fd);
    close_fd(&s->under_fd);
    if (s->made_under)
        rmdir(s->under);
    free(s->under);
    free(s->path);
}

/* ---- all places ---- */

int og__scratch_open(struct og_scratch **out, struct og_places under, struct og_err *err)
{
    *out = NULL;
    struct og_scratch *s = calloc(1, sizeof(*s) + under.n * sizeof(s->place[0]));
    if (!s || !(s->path = calloc(OG_MAX(under.n, 1u), sizeof(char *)))) {
        free(s);
        return og__fail_errno(err, -ENOMEM, NULL, "scratch");
    }
    int rc = 0;
    while (s->n < under.n) {
        struct place *place = &s->place[s->n];
        rc = open_place(place, under.path[s->n], err);
        s->path[s->n++] = place->path;
        OG_TRY(rc);
    }
    *out = s;
    return 0;
out:
    og__scratch_close(s);
    return rc;
}

static void sweep(const char *under)
{
    int fd = open(under, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    remove_stale(fd);
    close(fd);
}

void og__scratch_sweep(struct og_places under)
{
    for (uint32_t i = 0; i < under.n; i++)
        sweep(under.path[i]);
}

struct og_places og__scratch_places(const struct og_scratch *s)
{
    return (struct og_places){s->n, s->path};
}

const char *og__scratch_path(const struct og_scratch *s)
{
    return s->path[0];
}

void og__scratch_clear(struct og_scratch *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        empty_folder(s->place[i].fd, lock_name, MAX_DEPTH);
}

void og__scratch_close(struct og_scratch *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n; i++)
        close_place(&s->place[i]);
    free(s->path);
    free(s);
}

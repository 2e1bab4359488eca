/* The baseline: features mapped and faulted in, as in PyG+ and in loaders with numpy.memmap. Made
 * as fast as possible: readahead is off, so a fault reads one page. The best number of threads for
 * the disk fault at once, so many reads are in flight.
 *
 *     thread ──> memcpy from the mapping ──page absent──> fault ──> disk (one page)
 *
 * A failed read of a mapping raises SIGBUS. Each submit checks the file's size; a failure or cut
 * between this check and the fault ends the process. The command first prints the cause
 * (cli/lost_file.c). Another program may handle SIGBUS as well, in any thread. (MADV_POPULATE_READ
 * returns an error instead, but doubles the cost of rows in memory: 0.6 instead of 1.2 million a
 * second. That would be no fair baseline.)
 *
 * The kernel reads pages, not rows, and caches them as it likes. So the counts are the kernel's,
 * for these threads. */
#include "io/workers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_THREADS = 1024 };

struct view {
    char *map; // [bytes]
    size_t bytes;
    _Atomic size_t bytes_now; /* the file's at the latest submit, at most `bytes` */
};

struct og_io_engine {
    const struct og_io_file *files; // [n_files]
    struct view *views;             // [n_files]
    int n_files;
    size_t page;
    struct og_workers *workers;
};

static void serve(void *arg, struct og_io_request *q)
{
    const struct og_io_engine *e = arg;
    const struct view *v = &e->views[q->file - e->files];
    size_t end = atomic_load_explicit(&v->bytes_now, memory_order_relaxed);
    size_t length = OG_MIN((size_t)q->length, end - OG_MIN(end, q->offset));
    if (length > 0)
        memcpy(q->data, v->map + q->offset, length);
    q->result = (int32_t)length;
}

static bool mmap_available(const char **reason)
{
    (void)reason;
    return true;
}

static void mmap_close(struct og_io_engine *e)
{
    if (!e)
        return;
    og__workers_close(e->workers);
    for (int i = 0; e->views && i < e->n_files; i++)
        if (e->views[i].map)
            munmap(e->views[i].map, e->views[i].bytes);
    free(e->views);
    free(e);
}

static int map_file(struct view *v, const struct og_io_file *file, struct og_err *err)
{
    v->bytes = file->size;
    if (v->bytes == 0)
        return 0;
    void *map = mmap(NULL, v->bytes, PROT_READ, MAP_SHARED, file->fd, 0);
    if (map == MAP_FAILED)
        return og__fail_errno(err, -errno, "use --io uring or pread", "%s: cannot map", file->path);
    v->map = map;
    if (madvise(map, v->bytes, MADV_RANDOM) < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot switch readahead off", file->path);
    return 0;
}

static int mmap_open(struct og_io_engine **out, const struct og_io_setup *s, struct og_err *err)
{
    *out = NULL;
    int rc = 0;
    struct og_io_engine *e = calloc(1, sizeof(*e));
    if (!e)
        return og__fail_errno(err, -ENOMEM, NULL, "mmap engine");
    e->files = s->files;
    e->n_files = s->n_files;
    e->page = (size_t)sysconf(_SC_PAGESIZE);
    e->views = calloc((size_t)e->n_files, sizeof(*e->views));
    OG_TRY(e->views ? 0 : og__fail_errno(err, -ENOMEM, NULL, "mmap engine"));
    for (int i = 0; i < e->n_files; i++)
        OG_TRY(map_file(&e->views[i], &e->files[i], err));
    OG_TRY(og__workers_open(&e->workers, OG_MIN(s->threads, MOST_THREADS), serve, e, err));
    *out = e;
    return 0;
out:
    mmap_close(e);
    return rc;
}

static int mmap_submit(struct og_io_engine *e, struct og_io_request **reqs, size_t n,
                       struct og_err *err)
{
    struct stat st;
    for (int i = 0; i < e->n_files; i++) {
        struct view *v = &e->views[i];
        if (fstat(e->files[i].fd, &st) < 0)
            return og__fail_errno(err, -errno, NULL, "%s", e->files[i].path);
        atomic_store_explicit(&v->bytes_now, OG_MIN((size_t)st.st_size, v->bytes),
                              memory_order_relaxed);
    }
    og__workers_submit(e->workers, reqs, n);
    return 0;
}

static int mmap_reap(struct og_io_engine *e, struct og_io_request **reqs, size_t min, size_t max,
                     struct og_err *err)
{
    (void)err;
    return (int)og__workers_reap(e->workers, reqs, min, max);
}

/* read_bytes of /proc/self/task/<id>/io: what this thread caused the disk to read. */
static bool thread_read_bytes(pid_t id, uint64_t *bytes)
{
    char path[64];
    char line[128];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/self/task/%d/io", (int)id);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof(line), f)) {
        found = strncmp(line, "read_bytes:", 11) == 0;
        if (found)
            *bytes = strtoull(line + 11, NULL, 10);
    }
    if (f)
        fclose(f);
    return found;
}

static bool mmap_kernel_counts(struct og_io_engine *e, struct og_io_counts *out)
{
    pid_t ids[MOST_THREADS];
    size_t n = og__workers_ids(e->workers, ids, OG_COUNT(ids));
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = 0;
        if (!thread_read_bytes(ids[i], &bytes))
            return false;
        total += bytes;
    }
    *out = (struct og_io_counts){.reads = total / e->page, .bytes = total};
    return true;
}

const struct og_io_ops og__io_mmap = {
    .name = "mmap",
    .available = mmap_available,
    .uses_page_cache = true,
    .never_merges_gaps = true,
    .open = mmap_open,
    .close = mmap_close,
    .submit = mmap_submit,
    .reap = mmap_reap,
    .kernel_counts = mmap_kernel_counts,
};

/* io_uring: one ring a reader.
 *
 *     submit: fills the submission queue, makes no system call
 *     reap:   one io_uring_enter both starts what submit queued and waits for completions
 *
 * A reader that tops up its depth by sixteen requests makes one system call for them. Files are
 * registered (no reference counting per read), and so is the reader's slab (no page pinning per
 * read). If RLIMIT_MEMLOCK refuses the slab, it is used unregistered.
 *
 * DEFER_TASKRUN completes reads when we poll for them, not by interrupts. It needs Linux 6.1 and
 * binds a ring to one thread. COOP_TASKRUN (5.19) is the next best; then neither. */
#include "io/engine.h"

#include <assert.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Times a read is put off, and milliseconds the ring takes nothing, before that is an error. */
enum { MOST_TRIES = 1000, MOST_REFUSALS = 10000 };
/* For lockable memory to come free. */
enum { MOST_WAITS = 10, WAIT_US = 5000 };

struct og_io_engine {
    struct og_io_setup setup; /* set at open, then constant */
    /* the ring and what it was granted */
    struct io_uring ring;
    bool open;
    bool fixed_files, fixed_buffers;
    pid_t owner; /* thread the ring is bound to, 0 = any */
    size_t in_flight;
    int refusals; /* in a row */
};

/* ---- opening ---- */

static const char *refusal(int rc)
{
    switch (-rc) {
    case ENOSYS:
        return "the kernel has no io_uring, or a container forbids it";
    case EPERM:
    case EACCES:
        return "forbidden by kernel.io_uring_disabled or by a container";
    case ENOMEM:
        return "too little lockable memory for a ring (ulimit -l)";
    default:
        return strerrordesc_np(-rc);
    }
}

/* Lockable memory is counted per user, and a closed ring's is released a moment later. So a refusal
 * right after a close may be temporary. */
static int init_patiently(unsigned entries, struct io_uring *ring, unsigned flags)
{
    int rc = io_uring_queue_init(entries, ring, flags);
    for (int i = 0; i < MOST_WAITS && rc == -ENOMEM; i++) {
        usleep(WAIT_US);
        rc = io_uring_queue_init(entries, ring, flags);
    }
    return rc;
}

static bool uring_available(const char **reason)
{
    struct io_uring ring;
    int rc = init_patiently(2, &ring, 0);
    if (rc < 0) {
        *reason = refusal(rc);
        return false;
    }
    struct io_uring_probe *probe = io_uring_get_probe_ring(&ring); /* NULL before Linux 5.6 */
    bool can_read = probe && io_uring_opcode_supported(probe, IORING_OP_READ);
    io_uring_free_probe(probe);
    io_uring_queue_exit(&ring);
    if (!can_read)
        *reason = "this kernel's io_uring is older than Linux 5.6";
    return can_read;
}

static int init_ring(struct og_io_engine *e)
{
    static const unsigned tries[] = {
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
        IORING_SETUP_COOP_TASKRUN,
        0,
    };
    int rc = -EINVAL;
    for (size_t i = 0; i < OG_COUNT(tries) && rc == -EINVAL; i++) {
        rc = init_patiently((unsigned)e->setup.depth, &e->ring, tries[i]);
        e->open = rc >= 0;
        e->owner = tries[i] & IORING_SETUP_SINGLE_ISSUER ? gettid() : 0;
    }
    return rc;
}

static bool register_files(struct og_io_engine *e)
{
    int fd[OG_MOST_PARTS];
    for (int i = 0; i < e->setup.n_files; i++)
        fd[i] = e->setup.files[i].fd;
    return io_uring_register_files(&e->ring, fd, (unsigned)e->setup.n_files) == 0;
}

static void register_files_and_buffers(struct og_io_engine *e)
{
    e->fixed_files = register_files(e);
    struct iovec slab = {e->setup.buffers, e->setup.buffer_bytes};
    e->fixed_buffers = slab.iov_len > 0 && io_uring_register_buffers(&e->ring, &slab, 1) == 0;
    if (slab.iov_len > 0 && !e->fixed_buffers)
        og__say(e->setup.log, OG__INFO,
                "%s: the limit of lockable memory (ulimit -l) refuses %zu KiB of registered "
                "buffers; reading into plain ones",
                e->setup.files[0].path, slab.iov_len / OG_KIB);
}

/* The kernel releases a closed ring later; the buffers must be free for the next one now. */
static void close_ring(struct og_io_engine *e)
{
    if (e->fixed_buffers)
        io_uring_unregister_buffers(&e->ring);
    io_uring_queue_exit(&e->ring);
    e->open = e->fixed_buffers = false;
}

static void uring_close(struct og_io_engine *e)
{
    if (!e)
        return;
    if (e->open)
        close_ring(e);
    free(e);
}

static int uring_open(struct og_io_engine **out, const struct og_io_setup *s, struct og_err *err)
{
    *out = NULL;
    struct og_io_engine *e = calloc(1, sizeof(*e));
    if (!e)
        return og__fail_errno(err, -ENOMEM, NULL, "io_uring engine");
    e->setup = *s;
    int rc = init_ring(e);
    if (rc < 0) {
        uring_close(e);
        return og__fail(err, rc, "use --io pread", "io_uring: %s", refusal(rc));
    }
    register_files_and_buffers(e);
    *out = e;
    return 0;
}

/* May this thread use the ring? Thread ids may be reused after a thread has ended; then only the
 * kernel knows. */
static bool is_ours(struct og_io_engine *e)
{
    if (e->owner == 0)
        return true;
    return e->owner == gettid() && (e->in_flight > 0 || io_uring_get_events(&e->ring) != -EEXIST);
}

/* A ring with DEFER_TASKRUN belongs to the thread that created it. A reader that moves to another
 * thread between two jobs (opened here, used in a loader thread) gets a new ring. */
static int bind_to_thread(struct og_io_engine *e, struct og_err *err)
{
    if (is_ours(e))
        return 0;
    if (e->in_flight > 0)
        return og__fail(err, -EBUSY, NULL, "io_uring: two threads use one reader at the same time");
    close_ring(e);
    int rc = init_ring(e);
    if (rc < 0)
        return og__fail(err, rc, "use --io pread", "io_uring: %s", refusal(rc));
    register_files_and_buffers(e);
    return 0;
}

/* ---- submission ---- */

static void fill_sqe(const struct og_io_engine *e, struct io_uring_sqe *sqe,
                     struct og_io_request *q)
{
    char *data = (char *)q->data + q->done;
    char *slab = e->setup.buffers;
    bool inside = data >= slab && data < slab + e->setup.buffer_bytes;
    int fd = e->fixed_files ? (int)(q->file - e->setup.files) : q->file->fd;
    unsigned length = q->length - q->done;
    uint64_t offset = q->offset + q->done;
    if (inside && e->fixed_buffers)
        io_uring_prep_read_fixed(sqe, fd, data, length, offset, 0);
    else
        io_uring_prep_read(sqe, fd, data, length, offset);
    if (e->fixed_files)
        sqe->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data(sqe, q);
}

/* The submission queue holds `depth` entries and no more are in flight, so there is room. */
static void queue_read(struct og_io_engine *e, struct og_io_request *q)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&e->ring);
    assert(sqe);
    fill_sqe(e, sqe, q);
}

static int uring_submit(struct og_io_engine *e, struct og_io_request **reqs, size_t n,
                        struct og_err *err)
{
    OG_DO(bind_to_thread(e, err));
    for (size_t i = 0; i < n; i++)
        queue_read(e, reqs[i]);
    e->in_flight += n;
    return 0;
}

/* ---- completion ---- */

/* True when the request is finished; else it is in the submission queue again. */
static bool completed(struct og_io_engine *e, struct og_io_request *q, int32_t res)
{
    bool later = res == -EAGAIN || res == -EINTR;
    if (later && ++q->tries < MOST_TRIES) {
        queue_read(e, q);
        return false;
    }
    if (res < 0) {
        q->result = res;
        return true;
    }
    if (og__io_advance(q->file, q, (uint32_t)res))
        return true;
    queue_read(e, q);
    return false;
}

static size_t drain(struct og_io_engine *e, struct og_io_request **reqs, size_t max)
{
    struct io_uring_cqe *cqe;
    unsigned head;
    unsigned seen = 0;
    size_t n = 0;
    io_uring_for_each_cqe(&e->ring, head, cqe)
    {
        if (n == max)
            break;
        struct og_io_request *q = io_uring_cqe_get_data(cqe);
        seen++;
        if (completed(e, q, cqe->res))
            reqs[n++] = q;
    }
    io_uring_cq_advance(&e->ring, seen);
    e->in_flight -= n;
    return n;
}

/* Start what is queued and wait until `wait` completions are there. */
static int enter(struct og_io_engine *e, size_t wait, struct og_err *err)
{
    if (wait == 0 && io_uring_sq_ready(&e->ring) == 0)
        return 0;
    int rc = io_uring_submit_and_wait(&e->ring, (unsigned)wait);
    bool no_memory = rc == -EAGAIN || rc == -EBUSY; /* for now; what is queued stays queued */
    e->refusals = no_memory ? e->refusals + 1 : 0;
    if (no_memory && e->refusals < MOST_REFUSALS) {
        usleep(1000);
        return 0;
    }
    if (rc >= 0 || rc == -EINTR)
        return 0;
    /* This would be another thread's ring, whose reads cannot be awaited here. They would write to
     * memory that may have been freed. */
    assert(rc != -EEXIST);
    return og__fail_errno(err, rc, "use --io pread", "%s: io_uring_enter", e->setup.files[0].path);
}

static int uring_reap(struct og_io_engine *e, struct og_io_request **reqs, size_t min, size_t max,
                      struct og_err *err)
{
    size_t n = 0;
    do {
        int rc = enter(e, min - OG_MIN(min, n), err);
        if (rc < 0) /* what is there already must not be lost; the next call fails at once */
            return n > 0 ? (int)n : rc;
        n += drain(e, reqs + n, max - n);
    } while (n < min);
    return (int)n;
}

const struct og_io_ops og__io_uring = {
    .name = "uring",
    .available = uring_available,
    .wants_direct = true,
    .descriptors = 1, /* the ring */
    .instead = &og__io_pread,
    .open = uring_open,
    .close = uring_close,
    .submit = uring_submit,
    .reap = uring_reap,
};

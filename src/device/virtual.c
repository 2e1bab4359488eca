/* A simulated device. Its memory is host memory, inaccessible to the host except while the device
 * works. The waiting thread runs its kernels. A pace decides when streams execute their work. */
#include "device/virtual_group.h"
#include "device/virtual_parts.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, MOST_DEVICES = 256 };

/* ==== settings ==== */

#define USUAL                                                                     \
    {                                                                             \
        .bytes_per_second = 12e9, .latency = 5e-6, .peer_bytes_per_second = 50e9, \
        .peer_latency = 5e-6                                                      \
    }
const struct og_virtual og__virtual_usual = USUAL;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* guarded by lock */
static struct og_virtual settings = USUAL;
static uint64_t calls;

void og__virtual_become(const struct og_virtual *v)
{
    pthread_mutex_lock(&lock);
    settings = *v;
    calls = 0;
    pthread_mutex_unlock(&lock);
}

uint64_t og__virtual_calls(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t n = calls;
    pthread_mutex_unlock(&lock);
    return n;
}

/* A call that may fail: does it now? */
static int called(const char *what, struct og_err *err)
{
    pthread_mutex_lock(&lock);
    const uint64_t number = ++calls;
    const bool fails = number == settings.fail;
    pthread_mutex_unlock(&lock);
    return fails ? og__fail(err, -EIO, NULL, "virtual device: call %llu, %s, was to fail",
                            (unsigned long long)number, what)
                 : 0;
}

/* ==== devices ==== */

static int virtual_count(char *why, size_t size)
{
    (void)why;
    (void)size;
    return MOST_DEVICES;
}

static int virtual_open(struct og_device **out, int number, struct og_err *err)
{
    *out = NULL;
    OG_DO(called("open", err));
    struct og_device *d = calloc(1, sizeof(*d));
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "virtual device");
    d->number = number;
    d->peer[d->n_peers++].device = d;
    pthread_mutex_init(&d->gate, NULL);
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_lock(&lock);
    d->is = settings;
    pthread_mutex_unlock(&lock);
    *out = d;
    return 0;
}

static void virtual_close(struct og_device *d)
{
    if (!d)
        return;
    og__crew_close(d->crew);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->gate);
    free(d);
}

/* ==== memory ==== */

static void *refuse(size_t bytes, const struct og_device *d, struct og_err *err)
{
    char need[32];
    char left[32];
    og__fail(err, -ENOMEM, "a smaller --batch or --hidden takes less",
             "virtual device: needs %s of memory, it has %s left",
             og__human_bytes(need, (double)bytes),
             og__human_bytes(left, (double)(d->is.capacity - d->counts.used)));
    return NULL;
}

/* Followed by a guard page. */
static char *map(size_t bytes)
{
    char *p =
        mmap(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (mprotect(p, bytes, PROT_READ | PROT_WRITE) == 0)
        return p;
    munmap(p, bytes + PAGE);
    return NULL;
}

/* Fills new memory with NaN. */
static void *take(struct og_device *d, size_t bytes, struct og_err *err)
{
    if (d->is.capacity && bytes > d->is.capacity - d->counts.used)
        return refuse(bytes, d, err);
    const size_t mapped = og__round_up(OG_MAX(bytes, (size_t)1), PAGE);
    if (d->n_blocks == MOST_BLOCKS) {
        og__fail(err, -ENOMEM, NULL, "virtual device: has %d pieces of memory, as many as it can",
                 MOST_BLOCKS);
        return NULL;
    }
    char *p = map(mapped);
    if (!p) {
        og__fail_errno(err, -ENOMEM, NULL, "virtual device");
        return NULL;
    }
    memset(p, 0xff, mapped);
    d->block[d->n_blocks++] = (struct block){p, bytes, mapped, ++d->taken, 1};
    d->counts.used += bytes;
    d->counts.peak = OG_MAX(d->counts.peak, d->counts.used);
    og__virtual_touch(d, &d->block[d->n_blocks - 1], false);
    return p;
}

static void *virtual_alloc(struct og_device *d, size_t bytes, struct og_err *err)
{
    if (called("alloc", err) < 0)
        return NULL;
    pthread_mutex_lock(&d->lock);
    pthread_mutex_lock(&d->gate);
    void *p = take(d, bytes, err);
    pthread_mutex_unlock(&d->gate);
    pthread_mutex_unlock(&d->lock);
    return p;
}

static void give(struct og_device *d, void *p, size_t bytes)
{
    for (int i = 0; p && i < d->n_blocks; i++) {
        if (d->block[i].start != p)
            continue;
        munmap(p, d->block[i].mapped + PAGE);
        d->block[i] = d->block[--d->n_blocks];
        d->counts.used -= bytes;
        return;
    }
}

static void virtual_release(struct og_device *d, void *p, size_t bytes)
{
    pthread_mutex_lock(&d->lock);
    pthread_mutex_lock(&d->gate);
    give(d, p, bytes);
    pthread_mutex_unlock(&d->gate);
    pthread_mutex_unlock(&d->lock);
}

static void *virtual_pin(struct og_device *d, size_t bytes, struct og_err *err)
{
    (void)d;
    if (called("pin", err) < 0)
        return NULL;
    void *p = aligned_alloc(64, og__round_up(OG_MAX(bytes, (size_t)1), 64));
    if (!p)
        og__fail_errno(err, -ENOMEM, NULL, "virtual device");
    return p;
}

static void virtual_unpin(struct og_device *d, void *p, size_t bytes)
{
    (void)d;
    (void)bytes;
    free(p);
}

/* ==== streams and events ==== */

/* Kernels read all memory of the host. */
static int virtual_lend(struct og_device *d, const void *p, size_t bytes, struct og_err *err)
{
    (void)d, (void)p, (void)bytes;
    return called("lend", err);
}

static void virtual_end_lending(struct og_device *d, const void *p, size_t bytes)
{
    (void)d, (void)p, (void)bytes;
}

static int virtual_reach(struct og_device *d, struct og_device *peer, struct og_err *err)
{
    int rc = called("reach", err);
    if (rc < 0 || d == peer)
        return rc;
    pthread_mutex_lock(&d->lock);
    if (d->n_peers == MOST_PEERS)
        rc = og__fail(err, -ENOMEM, NULL, "virtual device: reaches %d devices, as many as it can",
                      MOST_PEERS);
    else
        d->peer[d->n_peers++] = (struct peer){.device = peer};
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static int virtual_stream(struct og_device *d, struct og_stream **out, struct og_err *err)
{
    *out = NULL;
    OG_DO(called("stream", err));
    struct og_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "virtual device");
    s->device = d;
    s->end = &s->first;
    pthread_mutex_lock(&d->lock);
    if (d->n_streams < MOST_STREAMS)
        *out = d->stream[d->n_streams++] = s;
    pthread_mutex_unlock(&d->lock);
    if (*out)
        return 0;
    free(s);
    return og__fail(err, -ENOMEM, NULL, "virtual device: has %d streams, as many as it can",
                    MOST_STREAMS);
}

static void virtual_end_stream(struct og_stream *s)
{
    if (!s)
        return;
    struct og_device *d = s->device;
    pthread_mutex_lock(&d->lock);
    for (struct task *t = s->first, *next; t; t = next) { /* after a failure */
        next = t->next;
        free(t);
    }
    for (int i = 0; i < d->n_streams; i++)
        if (d->stream[i] == s)
            d->stream[i] = d->stream[--d->n_streams];
    pthread_mutex_unlock(&d->lock);
    free(s);
}

static int virtual_event(struct og_device *d, struct og_event **out, struct og_err *err)
{
    *out = NULL;
    OG_DO(called("event", err));
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return og__fail_errno(err, -ENOMEM, NULL, "virtual device");
    (*out)->device = d;
    return 0;
}

static void virtual_end_event(struct og_event *e)
{
    free(e);
}

static int virtual_record(struct og_event *e, struct og_stream *s, struct og_err *err)
{
    int rc = called("record", err);
    if (rc < 0)
        return rc;
    if (e->device->number != s->device->number)
        return og__fail(err, -EINVAL, NULL, "virtual device: an event of device %d, recorded on %d",
                        e->device->number, s->device->number);
    pthread_mutex_lock(&s->device->lock);
    const struct task t = {.kind = RECORD, .of.at = {e, atomic_load(&e->requested) + 1}};
    rc = og__virtual_put(s, &t, 0, err);
    if (rc == 0) { /* otherwise the recording never comes, and others would wait for it */
        atomic_store(&e->stream, s);
        atomic_fetch_add(&e->requested, 1);
    }
    pthread_mutex_unlock(&s->device->lock);
    return rc;
}

static int virtual_follow(struct og_stream *s, struct og_event *e, struct og_err *err)
{
    int rc = called("follow", err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&s->device->lock);
    const struct task t = {.kind = FOLLOW, .of.at = {e, atomic_load(&e->requested)}};
    rc = og__virtual_has_happened(e, t.of.at.number) ? 0 : og__virtual_put(s, &t, 0, err);
    pthread_mutex_unlock(&s->device->lock);
    return rc;
}

/* The stream that recorded it may be gone after the event has occurred. */
static int virtual_wait(struct og_event *e, struct og_err *err)
{
    const uint64_t number = atomic_load(&e->requested);
    if (!og__virtual_has_happened(e, number))
        og__virtual_drain(atomic_load(&e->stream), e, number);
    int rc = called("wait", err); /* after the work: a failing wait still completes it */
    return rc < 0 ? rc : og__virtual_told(e->device, err);
}

static int virtual_finish(struct og_stream *s, struct og_err *err)
{
    og__virtual_drain(s, NULL, 0);
    int rc = called("finish", err);
    return rc < 0 ? rc : og__virtual_told(s->device, err);
}

/* ==== work of streams ==== */

static int virtual_copy(struct og_stream *s, void *to, const void *from, size_t bytes,
                        enum og__way way, struct og_err *err)
{
    int rc = called("copy", err);
    const struct task t = {.kind = COPY, .of.copy = {to, from, bytes, way}};
    return rc < 0 ? rc : og__virtual_ask(s, &t, 0, err);
}

static int virtual_clear(struct og_stream *s, void *p, size_t bytes, struct og_err *err)
{
    int rc = called("clear", err);
    const struct task t = {.kind = CLEAR, .of.copy = {p, NULL, bytes, OG__TO_DEVICE}};
    return rc < 0 ? rc : og__virtual_ask(s, &t, 0, err);
}

static int virtual_launch(struct og_stream *s, const struct og_launch *l, struct og_err *err)
{
    int rc = called(l->kernel->name, err);
    if (rc < 0 || l->blocks == 0)
        return rc;
    if (l->bytes > OG__MOST_ARGS || l->threads > OG__MOST_THREADS)
        return og__fail(err, -EINVAL, NULL, "virtual device: kernel %s is too large",
                        l->kernel->name);
    if (l->peer_reads > 0 && s->device->n_peers == 1)
        return og__fail(err, -EINVAL, NULL,
                        "virtual device: kernel %s reads another device's memory, which this one "
                        "does not reach",
                        l->kernel->name);
    const struct task t = {.kind = LAUNCH, .of.launch = *l};
    return og__virtual_ask(s, &t, l->bytes, err);
}

static int virtual_multiply(struct og_stream *s, const struct og_product_of *p, struct og_err *err)
{
    int rc = called("multiply", err);
    const struct task t = {.kind = MULTIPLY, .of.product = *p};
    return rc < 0 ? rc : og__virtual_ask(s, &t, 0, err);
}

static size_t virtual_sort_bytes(struct og_device *d, size_t n)
{
    (void)d;
    return (65536 + 2 * n) * sizeof(uint32_t);
}

static int virtual_sort(struct og_stream *s, const struct og_sort *op, struct og_err *err)
{
    int rc = called("sort", err);
    const struct task t = {.kind = SORT, .of.sort = *op};
    return rc < 0 ? rc : og__virtual_ask(s, &t, 0, err);
}

/* ==== groups ==== */

static int virtual_identify(struct og_device *d, unsigned char id[OG__DEVICE_ID],
                            struct og_err *err)
{
    if (d->is.alone)
        return og__fail(err, -ENOTSUP, NULL, "virtual device: has no link to others");
    const int rc = called("identify", err);
    if (rc == 0)
        og__virtual_identify(id, d->number);
    return rc;
}

static int virtual_group_id(unsigned char id[OG__GROUP_ID], struct og_err *err)
{
    const int rc = called("group id", err);
    return rc < 0 ? rc : og__virtual_group_id(id, err);
}

static int virtual_group(struct og_device *d, struct og_device_ring **out, const unsigned char *id,
                         int rank, int n, struct og_err *err)
{
    struct og_device_ring *g = calloc(1, sizeof(*g));
    *out = NULL;
    int rc = g ? called("group", err) : og__fail_errno(err, -ENOMEM, NULL, "virtual device");
    rc = rc < 0 ? rc : og__virtual_synchronize(&g->comm, id, rank, n, err);
    if (rc < 0) {
        free(g);
        return rc;
    }
    g->device = d;
    *out = g;
    return 0;
}

static void virtual_end_group(struct og_device_ring *g)
{
    if (!g)
        return;
    og__comm_close(g->comm);
    free(g);
}

static int virtual_exchange(struct og_stream *s, struct og_device_ring *g,
                            const struct og_piece *send, const struct og_piece *receive,
                            struct og_err *err)
{
    struct og_message pieces[2 * OG__VIRTUAL_GROUP];
    const int n = g->comm->n;
    OG_DO(called("exchange", err));
    if (s->device != g->device)
        return og__fail(err, -EINVAL, NULL,
                        "virtual device: a group of device %d, a stream of device %d",
                        g->device->number, s->device->number);
    for (int i = 0; i < n; i++) {
        const bool other = i != g->comm->rank;
        pieces[i] = (struct og_message){send[i].at, other ? send[i].bytes : 0};
        pieces[n + i] = (struct og_message){receive[i].at, other ? receive[i].bytes : 0};
    }
    const struct task t = {.kind = EXCHANGE, .of.exchange = {g, pieces}};
    return og__virtual_ask(s, &t, 2 * (size_t)n * sizeof(*pieces), err);
}

static int virtual_drain(struct og_stream *s, struct og_device_ring *g, struct og_err *err)
{
    (void)g;
    return virtual_finish(s, err);
}

/* ==== counters ==== */

static void virtual_counts(struct og_device *d, struct og_device_counts *out)
{
    pthread_mutex_lock(&d->lock);
    *out = d->counts;
    pthread_mutex_unlock(&d->lock);
}

static size_t virtual_own_bytes(void)
{
    pthread_mutex_lock(&lock);
    const size_t own = settings.own;
    pthread_mutex_unlock(&lock);
    return own;
}

static size_t virtual_free_bytes(int number)
{
    (void)number;
    pthread_mutex_lock(&lock);
    const size_t bytes = settings.free;
    pthread_mutex_unlock(&lock);
    return bytes;
}

const struct og_device_ops og__device_virtual = {.version = OG__DEVICE_VERSION,
                                                 .name = "virtual",
                                                 .count = virtual_count,
                                                 .open = virtual_open,
                                                 .close = virtual_close,
                                                 .alloc = virtual_alloc,
                                                 .release = virtual_release,
                                                 .pin = virtual_pin,
                                                 .unpin = virtual_unpin,
                                                 .lend = virtual_lend,
                                                 .end_lending = virtual_end_lending,
                                                 .reach = virtual_reach,
                                                 .stream = virtual_stream,
                                                 .end_stream = virtual_end_stream,
                                                 .event = virtual_event,
                                                 .end_event = virtual_end_event,
                                                 .record = virtual_record,
                                                 .follow = virtual_follow,
                                                 .wait = virtual_wait,
                                                 .finish = virtual_finish,
                                                 .copy = virtual_copy,
                                                 .clear = virtual_clear,
                                                 .launch = virtual_launch,
                                                 .multiply = virtual_multiply,
                                                 .sort_bytes = virtual_sort_bytes,
                                                 .sort = virtual_sort,
                                                 .identify = virtual_identify,
                                                 .group_id = virtual_group_id,
                                                 .group = virtual_group,
                                                 .end_group = virtual_end_group,
                                                 .exchange = virtual_exchange,
                                                 .settle = virtual_drain,
                                                 .counts = virtual_counts,
                                                 .own_bytes = virtual_own_bytes,
                                                 .free_bytes = virtual_free_bytes};

/* Streams of virtual devices: execute queued work when their pace says so. A task can access only
 * its own memory, and only while it runs. */
#include "device/virtual_parts.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ==== memory ==== */

/* Opens a block to one more user, or closes it to one. */
void og__virtual_touch(const struct og_device *d, struct block *b, bool touch)
{
    const int shut = touch ? b->open++ : --b->open;
    if (!d->is.glass && shut == 0)
        mprotect(b->start, b->mapped, touch ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* Opens all blocks of a device to a kernel. Afterwards closes the same ones: others may have
 * allocated or released blocks meanwhile. */
static void let_touch_all(struct peer *p, bool touch)
{
    struct og_device *d = p->device;
    pthread_mutex_lock(&d->gate);
    if (touch)
        p->seen = d->taken;
    for (int i = 0; i < d->n_blocks; i++)
        if (d->block[i].number <= p->seen)
            og__virtual_touch(d, &d->block[i], touch);
    pthread_mutex_unlock(&d->gate);
}

/* The block that contains p, if it is device memory. */
static void let_touch_at(struct og_device *d, const void *p, bool touch)
{
    pthread_mutex_lock(&d->gate);
    for (int i = 0; i < d->n_blocks; i++)
        if ((uintptr_t)p - (uintptr_t)d->block[i].start < d->block[i].mapped)
            og__virtual_touch(d, &d->block[i], touch);
    pthread_mutex_unlock(&d->gate);
}

/* ==== tasks ==== */

static void let_touch_pieces(struct og_device *d, const struct task *t, bool touch)
{
    const int n = t->of.exchange.group->comm->n;
    for (int i = 0; i < 2 * n; i++)
        if (t->of.exchange.pieces[i].bytes > 0)
            let_touch_at(d, t->of.exchange.pieces[i].at, touch);
}

/* Opens a task's memory while it runs. Copies and exchanges: the blocks they name. Sorts: all
 * blocks of the device. Kernels and products: the peers' blocks as well. */
static void let_task_touch(struct og_device *d, const struct task *t, bool touch)
{
    switch (t->kind) {
    case COPY:
        let_touch_at(d, t->of.copy.from, touch);
        let_touch_at(d, t->of.copy.to, touch);
        break;
    case CLEAR:
        let_touch_at(d, t->of.copy.to, touch);
        break;
    case LAUNCH:
    case MULTIPLY:
        for (int i = 0; i < d->n_peers; i++)
            let_touch_all(&d->peer[i], touch);
        break;
    case SORT:
        let_touch_all(&d->peer[0], touch);
        break;
    case EXCHANGE:
        let_touch_pieces(d, t, touch);
        break;
    case RECORD:
    case FOLLOW:
        break;
    }
}

static int exchange_now(const struct task *t, struct og_err *err)
{
    struct og_comm *c = t->of.exchange.group->comm;
    return og__comm_exchange(c, t->of.exchange.pieces, t->of.exchange.pieces + c->n, err);
}

static int carry_out(struct og_device *d, struct task *t, struct og_err *err)
{
    int rc = 0;
    let_task_touch(d, t, true);
    switch (t->kind) {
    case COPY:
        memcpy(t->of.copy.to, t->of.copy.from, t->of.copy.bytes);
        break;
    case CLEAR:
        memset(t->of.copy.to, 0, t->of.copy.bytes);
        break;
    case LAUNCH:
        rc = og__fibres_run(&d->crew, &t->of.launch, d->is.order, err);
        break;
    case MULTIPLY:
        rc = og__virtual_multiply(&t->of.product, err);
        break;
    case SORT:
        og__virtual_sort(&t->of.sort);
        break;
    case EXCHANGE:
        rc = exchange_now(t, err);
        break;
    case RECORD:
        atomic_store(&t->of.at.event->happened, t->of.at.number);
        break;
    case FOLLOW:
        break;
    }
    let_task_touch(d, t, false);
    return rc;
}

bool og__virtual_has_happened(const struct og_event *e, uint64_t number)
{
    return atomic_load(&e->happened) >= number;
}

static bool is_ready(const struct task *t)
{
    return t->kind != FOLLOW || og__virtual_has_happened(t->of.at.event, t->of.at.number);
}

/* Runs the first task. The next wait reports a failure. */
static void do_first(struct og_stream *s)
{
    struct og_device *d = s->device;
    struct task *t = s->first;
    s->first = t->next;
    if (!s->first)
        s->end = &s->first;
    struct og_err err = {0};
    int rc = carry_out(d, t, &err);
    if (rc < 0 && d->failed == 0) {
        d->failed = rc;
        d->why = err;
    }
    free(t);
}

static uint32_t draw(struct og_device *d, uint32_t n)
{
    uint64_t x = d->is.seed + 0x9E3779B97F4A7C15u * ++d->draws;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((x ^ x >> 31) >> 32) % n;
}

/* Something that is ready, of any stream. */
static bool do_any(struct og_device *d)
{
    const uint32_t first = d->n_streams ? draw(d, (uint32_t)d->n_streams) : 0;
    for (int i = 0; i < d->n_streams; i++) {
        struct og_stream *s = d->stream[(first + (uint32_t)i) % (uint32_t)d->n_streams];
        if (s->first && is_ready(s->first)) {
            do_first(s);
            return true;
        }
    }
    return false;
}

static void await(struct og_device *d, const struct og_event *e, uint64_t number);

/* Runs tasks until the stream is empty, or the event, recorded in it, has occurred. Runs only what
 * that needs, or with a seeded pace anything. */
static void go_on(struct og_device *d, struct og_stream *s, const struct og_event *e,
                  uint64_t number)
{
    while (e ? !og__virtual_has_happened(e, number) : s->first != NULL) {
        if (d->is.pace == OG__SEEDED && do_any(d))
            continue;
        if (is_ready(s->first))
            do_first(s);
        else
            await(d, s->first->of.at.event, s->first->of.at.number);
    }
}

/* Runs in the waiting thread, and may run work that others queued. */
void og__virtual_drain(struct og_stream *s, const struct og_event *e, uint64_t number)
{
    pthread_mutex_lock(&s->device->lock);
    go_on(s->device, s, e, number);
    pthread_mutex_unlock(&s->device->lock);
}

/* Waits for an event of this device or of another; for another it releases this one's lock. */
static void await(struct og_device *d, const struct og_event *e, uint64_t number)
{
    struct og_stream *by = atomic_load(&e->stream);
    if (by->device == d) {
        go_on(d, by, e, number);
        return;
    }
    pthread_mutex_unlock(&d->lock);
    og__virtual_drain(by, e, number);
    pthread_mutex_lock(&d->lock);
}

/* A caller without `err` leaves the failure for the next one. */
int og__virtual_told(struct og_device *d, struct og_err *err)
{
    pthread_mutex_lock(&d->lock);
    const int rc = d->failed;
    const struct og_err why = d->why;
    d->counts.waits++;
    if (err)
        d->failed = 0;
    pthread_mutex_unlock(&d->lock);
    return rc < 0 ? og__fail(err, rc, why.hint, "virtual device: %s", why.message) : 0;
}

/* Copies the arguments that a task points to. */
static void keep_args(struct task *t, const struct task *wanted, size_t args)
{
    if (t->kind == LAUNCH)
        t->of.launch.args = memcpy(t->args, wanted->of.launch.args, args);
    if (t->kind == EXCHANGE)
        t->of.exchange.pieces = memcpy(t->args, wanted->of.exchange.pieces, args);
}

/* Appends a task, and runs it now or later. */
int og__virtual_put(struct og_stream *s, const struct task *wanted, size_t args, struct og_err *err)
{
    struct og_device *d = s->device;
    struct task *t = malloc(sizeof(*t));
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "virtual device");
    memcpy(t, wanted, offsetof(struct task, args));
    t->next = NULL;
    keep_args(t, wanted, args);
    *s->end = t;
    s->end = &t->next;
    if (d->is.pace == OG__EAGER)
        go_on(d, s, NULL, 0);
    for (uint32_t n = d->is.pace == OG__SEEDED ? draw(d, 3) : 0; n > 0; n--)
        do_any(d);
    return 0;
}

static void count_link(struct og_device *d, size_t bytes)
{
    d->counts.link_seconds += d->is.latency + (double)bytes / d->is.bytes_per_second;
}

static void count_peers(struct og_device *d, size_t bytes)
{
    d->counts.peer_seconds += d->is.peer_latency + (double)bytes / d->is.peer_bytes_per_second;
}

static void count_launch(struct og_device *d, const struct og_launch *l)
{
    d->counts.launches++;
    d->counts.threads += (uint64_t)l->blocks * l->threads;
    d->counts.reads += l->reads;
    d->counts.writes += l->writes;
    d->counts.peer_reads += l->peer_reads;
    if (l->reads + l->writes > 0)
        count_link(d, l->reads + l->writes);
    if (l->peer_reads > 0)
        count_peers(d, l->peer_reads);
}

/* Links between devices carry both ways at the same time. */
static void count_exchange(struct og_device *d, const struct task *t)
{
    const int n = t->of.exchange.group->comm->n;
    size_t out = 0;
    size_t in = 0;
    for (int i = 0; i < n; i++) {
        out += t->of.exchange.pieces[i].bytes;
        in += t->of.exchange.pieces[n + i].bytes;
    }
    d->counts.group_bytes += out + in;
    count_peers(d, OG_MAX(out, in));
}

static void count(struct og_device *d, const struct task *t)
{
    switch (t->kind) {
    case COPY:
        d->counts.copies++;
        *(t->of.copy.way == OG__TO_DEVICE ? &d->counts.bytes_to_device
                                          : &d->counts.bytes_to_host) += t->of.copy.bytes;
        count_link(d, t->of.copy.bytes);
        break;
    case LAUNCH:
        count_launch(d, &t->of.launch);
        break;
    case MULTIPLY:
        d->counts.products++;
        break;
    case SORT:
        d->counts.sorts++;
        break;
    case EXCHANGE:
        count_exchange(d, t);
        break;
    case CLEAR:
    case RECORD:
    case FOLLOW:
        break;
    }
}

int og__virtual_ask(struct og_stream *s, const struct task *wanted, size_t args, struct og_err *err)
{
    struct og_device *d = s->device;
    pthread_mutex_lock(&d->lock);
    count(d, wanted);
    const int rc = og__virtual_put(s, wanted, args, err);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

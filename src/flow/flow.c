#include "flow/flow.h"

#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- one run of the flow ---- */

enum { SAMPLED, PLANNED, LOADED, QUEUES }; /* named after what is in them */

struct og_flow_run {
    const struct og_flow *flow;
    atomic_uint_fast64_t next; /* the item that the next free thread of the source takes */
    atomic_uint_fast64_t made; /* batches */
    struct og_shelf works, staging;
    struct og_queue *queue[QUEUES];
    struct og_queue *ready; /* what the consumer takes from */
    struct og_work *seen[OG__MOST_WORKS];
    struct og_work *unseen; /* what the consumer is called with, if it has not looked at it */
    int n_seen; /* works that the consumer has looked at before their turn, the oldest first */
    pthread_mutex_t lock;
    /* guarded by lock */
    int rc;
    struct og_err err;
};

/* A thread of a stage. Its body runs until there is nothing more to do (0), the queues are shut
 * (OG__GIVEN_UP), or it fails. */
struct worker {
    struct og_flow_run *run;
    int (*body)(const struct worker *own, struct og_err *err);
    int number; /* among the threads of the batch source */
    pthread_t thread;
};

static void shut_all(struct og_flow_run *r)
{
    for (int i = 0; i < QUEUES; i++)
        og__queue_shut(r->queue[i]);
    og__shelf_shut(&r->works);
    og__shelf_shut(&r->staging);
    og__filling_give_up(r->flow->filling);
}

/* The first failure is the flow's; later ones are its echoes. */
static void fail_run(struct og_flow_run *r, int rc, const struct og_err *err)
{
    pthread_mutex_lock(&r->lock);
    if (r->rc == 0) {
        r->rc = rc;
        r->err = *err;
    }
    pthread_mutex_unlock(&r->lock);
    shut_all(r);
}

static void *run_worker(void *arg)
{
    const struct worker *own = arg;
    struct og_err err = {0};
    int rc = own->body(own, &err);
    if (rc < 0 && rc != OG__GIVEN_UP)
        fail_run(own->run, rc, &err);
    return NULL;
}

static int hand_on(struct og_flow_run *r, int queue, struct og_work *w)
{
    return og__queue_push(r->queue[queue], w->item, w) ? 0 : OG__GIVEN_UP;
}

static void span(struct og_flow_run *r, const char *stage, const struct og_work *w, double start)
{
    og__timeline_add(r->flow->timeline, stage, w->descriptor.batch, start, og__now());
}

/* ---- stage 1: batches ---- */

/* Which seeds the item has; everything else about it follows. */
static void begin_work(const struct og_flow *f, uint64_t item, struct og_work *w)
{
    w->item = item;
    w->descriptor = og__item_at(&f->items, item);
    w->number = (uint32_t)(item - f->items.first);
    og__seeds_take(&w->seeds, f->seeds, &w->descriptor);
    w->stored = false;
    w->rows = NULL;
    w->staging = -1;
    w->plan.n = w->plan.n_misses = w->plan.n_changes = 0;
    w->tiers.device_hits = w->tiers.host_hits = w->tiers.victim_hits = 0;
    w->tiers.n_pushed = w->tiers.n_dropped = w->tiers.n_moves = 0;
    w->link_bytes = w->link_bytes_back = w->peer_hits = w->peer_bytes = 0;
    w->read = w->trace_read = (struct og_io_counts){0};
    w->sampled_from = (struct og_sample_reads){0};
    w->lookahead = (struct og_lookahead_counts){0};
    w->sample_seconds = w->plan_seconds = w->gather_seconds = 0;
}

static int make_batch(const struct worker *own, uint64_t item, struct og_work *w,
                      struct og_err *err)
{
    const struct og_flow *f = own->run->flow;
    double start = og__now();
    begin_work(f, item, w);
    int rc = f->batches.make(f->batches.self, own->number, w, err);
    const double seconds = og__now() - start;
    w->sample_seconds += seconds;
    if (f->idle_hooks && rc == 0)
        f->idle_hooks->made(f->idle_hooks->self, own->number, seconds);
    span(own->run, f->batches.stage, w, start);
    return rc;
}

/* A free work; while there is none the thread is at rest. -1: the flow ends. */
static int take_work(const struct worker *own)
{
    struct og_flow_run *r = own->run;
    const struct og_idle_hooks *idle_hooks = r->flow->idle_hooks;
    int i = og__shelf_take(&r->works, !idle_hooks);
    if (!idle_hooks)
        return i;
    if (i < 0) {
        idle_hooks->rest(idle_hooks->self, own->number);
        i = og__shelf_take(&r->works, true);
    }
    idle_hooks->resume(idle_hooks->self, own->number);
    return i;
}

static int make_batches(const struct worker *own, struct og_err *err)
{
    struct og_flow_run *r = own->run;
    for (;;) {
        /* the work first, the number second: see base/thread.h on queues */
        int i = take_work(own);
        uint64_t item = i < 0 ? r->flow->items.last : atomic_fetch_add(&r->next, 1);
        if (item >= r->flow->items.last)
            return 0;
        struct og_work *w = &r->flow->works[i];
        OG_DO(make_batch(own, item, w, err));
        atomic_fetch_add(&r->made, 1);
        OG_DO(hand_on(r, SAMPLED, w));
    }
}

/* Until there is nothing left to make; then for good at rest. */
static int run_source(const struct worker *own, struct og_err *err)
{
    const struct og_idle_hooks *idle_hooks = own->run->flow->idle_hooks;
    if (idle_hooks)
        idle_hooks->resume(idle_hooks->self, own->number);
    int rc = make_batches(own, err);
    if (idle_hooks)
        idle_hooks->rest(idle_hooks->self, own->number);
    return rc;
}

/* ---- stage 2: plan ---- */

static int plan_batches(const struct worker *own, struct og_err *err)
{
    struct og_flow_run *r = own->run;
    const struct og_plan_source *plans = &r->flow->plans;
    int rc = 0;
    for (void *popped; og__queue_pop(r->queue[SAMPLED], &popped);) {
        struct og_work *w = popped;
        double start = og__now();
        OG_TRY(plans->make(plans->self, w, err));
        w->plan_seconds = og__now() - start;
        span(r, "plan", w, start);
        OG_TRY(hand_on(r, PLANNED, w));
    }
out:
    return rc;
}

/* ---- stage 3: load ----
 *
 * Reads of the next batch are queued before those of this one have come. So the disk is never idle
 * between two batches. */

struct loading {
    struct og_work *work; /* begun, not finished; NULL = none */
    double start;
};

static int finish_loading(struct og_flow_run *r, struct loading *l, struct og_err *err)
{
    struct og_work *w = l->work;
    if (!w)
        return 0;
    l->work = NULL;
    double start = og__now();
    int rc = r->flow->rows.ops->finish(r->flow->rows.self, w, err);
    w->gather_seconds += og__now() - start;
    span(r, "gather", w, l->start);
    return rc < 0 ? rc : hand_on(r, LOADED, w);
}

/* All that the batch has in the cache is there. The one before must be handed over first: filling
 * may wait for it to be trained. */
static int await_cache(struct og_flow_run *r, struct loading *l, struct og_work *w,
                       struct og_err *err)
{
    struct og_filling *filling = r->flow->filling;
    struct og_filled filled = {0};
    int rc;
    OG_TRY(og__filling_ready(filling, w->number) ? 0 : finish_loading(r, l, err));
    OG_TRY(og__filling_await(filling, w->number, &filled, err));
out:
    w->lookahead.read.reads += filled.read.reads;
    w->lookahead.read.bytes += filled.read.bytes;
    w->lookahead.gather_seconds += filled.seconds;
    return rc;
}

/* Without a free staging area, the batch before must be handed over first. It may hold the only
 * one. */
static int take_staging(struct og_flow_run *r, struct loading *l, struct og_work *w,
                        struct og_err *err)
{
    w->staging = og__shelf_take(&r->staging, false);
    if (w->staging >= 0)
        return 0;
    int rc;
    OG_TRY(finish_loading(r, l, err));
    w->staging = og__shelf_take(&r->staging, true);
out:
    return rc < 0 ? rc : w->staging < 0 ? OG__GIVEN_UP : 0;
}

static int begin_loading(struct og_flow_run *r, struct loading *l, struct og_work *w,
                         struct og_err *err)
{
    int rc;
    OG_TRY(await_cache(r, l, w, err));
    OG_TRY(take_staging(r, l, w, err));
    double start = og__now();
    rc = r->flow->rows.ops->begin(r->flow->rows.self, w, err);
    w->gather_seconds = og__now() - start;
    if (rc < 0)
        return rc;
    rc = finish_loading(r, l, err);
    *l = (struct loading){w, start};
out:
    return rc;
}

static int load_batches(const struct worker *own, struct og_err *err)
{
    struct og_flow_run *r = own->run;
    struct loading l = {0};
    int rc;
    for (void *popped;;) {
        if (!og__queue_ready(r->queue[PLANNED])) /* nothing to begin: deliver what is under way */
            OG_TRY(finish_loading(r, &l, err));
        OG_TRY(og__queue_pop(r->queue[PLANNED], &popped) ? 0 : OG__GIVEN_UP);
        OG_TRY(begin_loading(r, &l, popped, err));
    }
out:
    if (l.work)
        r->flow->rows.ops->give_up(r->flow->rows.self, l.work);
    return rc;
}

/* ---- the consumer, in the caller's thread ---- */

/* Rows that the batch read go to their slots, and all that it held is free. */
static void end_work(struct og_flow_run *r, struct og_work *w)
{
    const struct og_flow *f = r->flow;
    if (w->staging >= 0) {
        f->rows.ops->end(f->rows.self, w);
        og__filling_done(f->filling, (uint32_t)(w->item + 1 - f->items.first));
        og__shelf_put(&r->staging, w->staging);
    }
    og__shelf_put(&r->works, (int)(w - f->works));
}

/* Batches that are made in advance all wait. */
static uint64_t behind(struct og_flow_run *r, uint64_t item)
{
    const struct og_items *items = &r->flow->items;
    return r->flow->idle_hooks ? atomic_load(&r->made) - (item - items->first) - 1
                               : items->last - item - 1;
}

static int pop_work(struct og_flow_run *r, struct og_work **out)
{
    const double start = og__now();
    void *popped;
    if (!og__queue_pop(r->ready, &popped))
        return OG__GIVEN_UP;
    *out = popped;
    (*out)->stall_seconds = og__now() - start;
    return 0;
}

int og__upcoming_next(struct og_upcoming *u, struct og_work **out)
{
    struct og_flow_run *r = u->run;
    if (r && r->unseen) {
        *out = r->unseen;
        r->unseen = NULL;
        return 0;
    }
    int rc = r ? pop_work(r, out) : OG__GIVEN_UP;
    if (rc == 0)
        r->seen[r->n_seen++] = *out;
    return rc;
}

static int next_work(struct og_flow_run *r, struct og_work **out)
{
    r->unseen = NULL;
    if (r->n_seen == 0) {
        int rc = pop_work(r, out);
        r->unseen = rc == 0 ? *out : NULL;
        return rc;
    }
    *out = r->seen[0];
    memmove(r->seen, r->seen + 1, (size_t)--r->n_seen * sizeof(r->seen[0]));
    return 0;
}

static int consume_batches(struct og_flow_run *r, og_consumer *consumer, void *arg,
                           struct og_err *err)
{
    const struct og_flow *f = r->flow;
    for (uint64_t item = f->items.first; item < f->items.last; item++) {
        struct og_work *w;
        if (next_work(r, &w) < 0)
            return OG__GIVEN_UP;
        w->behind = behind(r, item);
        const double start = og__now();
        int rc =
            w->staging >= 0 && f->rows.ops->arrive ? f->rows.ops->arrive(f->rows.self, w, err) : 0;
        if (rc == 0 && f->groups)
            rc = og__places_show(&w->places, &w->sampled.batch, &w->rows, f->groups, err);
        rc = rc < 0 ? rc : consumer(arg, w, err);
        span(r, f->use, w, start);
        og__places_hide(&w->places, &w->sampled.batch, &w->rows);
        end_work(r, w);
        if (rc < 0)
            return rc;
        if (og__stop_requested(f->stop) && item + 1 < f->items.last)
            return og__fail(err, OG_INTERRUPTED, NULL, "interrupted");
    }
    return 0;
}

static int consume_ready(struct og_flow_run *r, struct og_queue *ready, og_consumer *consumer,
                         void *arg, struct og_err *err)
{
    struct og_upcoming *upcoming = r->flow->upcoming;
    r->ready = ready;
    if (upcoming)
        upcoming->run = r;
    int rc = consume_batches(r, consumer, arg, err);
    if (upcoming)
        upcoming->run = NULL;
    return rc;
}

/* ---- all of it ---- */

static int open_run(struct og_flow_run *r, struct og_err *err)
{
    const struct og_flow *f = r->flow;
    atomic_init(&r->next, f->items.first);
    atomic_init(&r->made, 0);
    pthread_mutex_init(&r->lock, NULL);
    og__shelf_init(&r->works, f->n_works);
    og__shelf_init(&r->staging, f->n_staging);
    for (int i = 0; i < QUEUES; i++)
        OG_DO(og__queue_open(&r->queue[i], (size_t)f->n_works, f->items.first, err));
    return 0;
}

static void close_run(struct og_flow_run *r)
{
    for (int i = 0; i < QUEUES; i++)
        og__queue_free(r->queue[i]);
    og__shelf_release(&r->works);
    og__shelf_release(&r->staging);
    pthread_mutex_destroy(&r->lock);
}

enum { STAGES = QUEUES - 1, MOST_WORKERS = OG__MOST_SAMPLERS + STAGES };

/* 0, or what pthread_create says. */
static int start_workers(struct og_flow_run *r, int n_stages, struct worker worker[MOST_WORKERS],
                         int *n)
{
    static int (*const stages[STAGES])(const struct worker *, struct og_err *) = {plan_batches,
                                                                                  load_batches};
    const int n_threads = r->flow->batches.n_threads;
    for (*n = 0; *n < n_threads + n_stages; ++*n) {
        struct worker *own = &worker[*n];
        own->run = r;
        own->number = *n;
        own->body = *n < n_threads ? run_source : stages[*n - n_threads];
        int failed = pthread_create(&own->thread, NULL, run_worker, own);
        if (failed)
            return failed;
    }
    return 0;
}

static void run_all(struct og_flow_run *r, og_consumer *consumer, void *arg)
{
    struct worker worker[MOST_WORKERS];
    const int n_stages = r->flow->plans.make ? STAGES : 0; /* what is not planned is not loaded */
    struct og_err err = {0};
    int n = 0;
    int rc = -start_workers(r, n_stages, worker, &n);
    if (rc < 0)
        og__fail_errno(&err, rc, "lower --threads", "cannot start a thread");
    else
        rc = consume_ready(r, r->queue[n_stages], consumer, arg, &err);
    if (rc < 0 && rc != OG__GIVEN_UP)
        fail_run(r, rc, &err);
    shut_all(r);
    for (int i = 0; i < n; i++)
        pthread_join(worker[i].thread, NULL);
}

int og__flow_run(const struct og_flow *flow, og_consumer *consumer, void *arg, struct og_err *err)
{
    struct og_flow_run run = {.flow = flow};
    int rc;
    OG_TRY(open_run(&run, err));
    if (flow->items.first < flow->items.last)
        run_all(&run, consumer, arg);
    if (run.rc < 0)
        OG_TRY(og__fail(err, run.rc, run.err.hint, "%s", run.err.message));
out:
    close_run(&run);
    return rc;
}

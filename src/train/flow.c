#include "train/flow.h"

#include "base/thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- a few things of which there are n: free works, free staging areas ---- */

struct shelf {
    pthread_mutex_t lock;
    pthread_cond_t put;
    int thing[OG__MOST_WORKS];
    int n;
    bool shut;
};

static void shelf_init(struct shelf *s, int n)
{
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->put, NULL);
    assert(n <= OG__MOST_WORKS);
    s->shut = false;
    s->n = n;
    for (int i = 0; i < n; i++)
        s->thing[i] = n - 1 - i;
}

static void shelf_release(struct shelf *s)
{
    pthread_cond_destroy(&s->put);
    pthread_mutex_destroy(&s->lock);
}

static void shelf_put(struct shelf *s, int thing)
{
    pthread_mutex_lock(&s->lock);
    s->thing[s->n++] = thing;
    pthread_cond_signal(&s->put);
    pthread_mutex_unlock(&s->lock);
}

/* -1 when shut, or when there is none and wait is false. */
static int shelf_take(struct shelf *s, bool wait)
{
    pthread_mutex_lock(&s->lock);
    while (s->n == 0 && wait && !s->shut)
        pthread_cond_wait(&s->put, &s->lock);
    int thing = s->n > 0 && !s->shut ? s->thing[--s->n] : -1;
    pthread_mutex_unlock(&s->lock);
    return thing;
}

static void shelf_shut(struct shelf *s)
{
    pthread_mutex_lock(&s->lock);
    s->shut = true;
    pthread_cond_broadcast(&s->put);
    pthread_mutex_unlock(&s->lock);
}

/* ---- one run of the flow ---- */

struct run {
    struct og_flow *flow;
    enum og__split pass;
    uint64_t first, last;
    atomic_uint_fast64_t next; /* the item the next free sampler takes */
    struct shelf works, staging;
    struct og_queue *sampled, *planned, *loaded;
    pthread_mutex_t lock;
    /* guarded by lock */
    int rc;
    struct og_err err;
};

static void shut_all(struct run *r)
{
    og__queue_shut(r->sampled);
    og__queue_shut(r->planned);
    og__queue_shut(r->loaded);
    shelf_shut(&r->works);
    shelf_shut(&r->staging);
    if (r->flow->filling)
        og__filling_give_up(r->flow->filling);
}

/* The first failure is the flow's; later ones are its echoes. */
static void fail_run(struct run *r, int rc, const struct og_err *err)
{
    pthread_mutex_lock(&r->lock);
    if (r->rc == 0) {
        r->rc = rc;
        r->err = *err;
    }
    pthread_mutex_unlock(&r->lock);
    shut_all(r);
}

static void span(struct run *r, const char *stage, const struct og_work *w, double start)
{
    og__timeline_add(r->flow->timeline, stage, w->turn.batch, start, og__now());
}

/* ---- stage 1: sample, or replay what was sampled ahead ---- */

static struct og_turn turn_at(const struct run *r, uint64_t item)
{
    const struct og_schedule *schedule = r->flow->schedule;
    return r->pass == OG__SPLITS ? og__schedule_at(schedule, item)
                                 : og__schedule_pass(schedule, r->pass, item);
}

static uint32_t kept_as(const struct run *r, uint64_t item)
{
    if (!r->flow->kept)
        return (uint32_t)(item - r->first);
    struct og_turn turn = turn_at(r, item);
    uint64_t n_train = og__schedule_batches(r->flow->schedule, OG__TRAIN);
    return turn.split == OG__TRAIN ? turn.drawn_batch : (uint32_t)n_train + turn.batch;
}

/* Which seeds the item has; everything else about it follows. */
static void take_turn(struct run *r, uint64_t item, struct og_work *w)
{
    w->turn = turn_at(r, item);
    w->kept_as = kept_as(r, item);
    og__seeds_take(&w->seeds, r->flow->seeds, &w->turn);
    w->staging = -1;
    w->ahead = item == r->first ? r->flow->ahead : (struct og_ahead_counts){0};
    w->sampled_from = (struct og_sample_reads){0};
    w->read = w->trace_read = (struct og_io_counts){0};
    w->made = false;
    w->plan_seconds = 0;
    w->plan.n = w->plan.n_misses = w->plan.n_changes = 0;
}

struct sampler_start {
    struct run *run;
    struct og_sampler *sampler;
};

static struct og_sample_key key_of(const struct og_turn *turn)
{
    /* Evaluation draws the same neighbours every time: its figures differ by the model alone. */
    if (turn->split != OG__TRAIN)
        return (struct og_sample_key){OG__STREAM_EVAL, (uint32_t)turn->split, turn->batch};
    return (struct og_sample_key){OG__STREAM_SAMPLE, turn->drawn_epoch, turn->drawn_batch};
}

/* Let the batch that this sampler will likely read next come meanwhile. */
static void expect_made(const struct run *r, uint64_t item)
{
    const struct og_flow *f = r->flow;
    uint64_t next = item + (uint64_t)f->n_samplers;
    struct og_turn turn = next < r->last ? turn_at(r, next) : (struct og_turn){0};
    if (next < r->last && turn.split == OG__TRAIN && !f->ids_only)
        og__samples_expect(f->offline->samples, og__offline_number(f->offline, &turn));
}

/* The seeds are known without the batch: that they agree tells that it is the turn's. What it is
 * judged by is taken for the turn, and has as many rows. */
static bool has_its_seeds(const struct og_work *w)
{
    const struct og_batch *b = &w->sampled.batch;
    return b->n_seeds == w->seeds.n &&
           memcmp(b->ids, w->seeds.node, b->n_seeds * sizeof(*b->ids)) == 0;
}

static int read_made(struct sampler_start *own, uint64_t item, struct og_work *w,
                     struct og_err *err)
{
    struct og_flow *f = own->run->flow;
    uint32_t number = og__offline_number(f->offline, &w->turn);
    int rc = og__samples_read(f->offline->samples, number, !f->ids_only, &w->sampled,
                              &w->trace_read, err);
    if (rc < 0)
        return rc;
    expect_made(own->run, item);
    w->made = true;
    if (!has_its_seeds(w))
        return og__fail(err, -EINVAL, "make it anew with `outgrow sample`",
                        "--samples %s: batch %u has not the seeds that it should have",
                        f->offline->dir, number);
    return 0;
}

static int sample_work(struct sampler_start *own, uint64_t item, struct og_work *w,
                       struct og_err *err)
{
    struct og_flow *f = own->run->flow;
    struct og_sample_key key = key_of(&w->turn);
    if (f->offline && own->run->pass == OG__SPLITS && w->turn.split == OG__TRAIN)
        return read_made(own, item, w, err);
    int rc = og__sample_begin(own->sampler, w->seeds.node, w->seeds.n, &w->sampled, err);
    for (int hop = 0; rc == 0 && hop < f->n_hops; hop++)
        rc = og__sample_hop(own->sampler, &key, hop, &w->sampled, err);
    w->sampled_from = og__sampler_reads(own->sampler);
    if (rc == 0)
        og__seeds_exclude(&w->seeds, &w->turn, &w->sampled.batch);
    return rc;
}

static int replay_work(struct run *r, uint64_t item, struct og_work *w, struct og_err *err)
{
    uint32_t next = item + 1 < r->last ? kept_as(r, item + 1) : UINT32_MAX;
    int rc =
        og__superbatch_replay(r->flow->replay, w->kept_as, next, &w->sampled, &w->trace_read, err);
    if (rc == 0 && !has_its_seeds(w))
        rc = og__fail(err, -EIO, "give this run a --scratch folder of its own",
                      "batch %u of what was sampled ahead has not the seeds that it should have",
                      w->kept_as);
    return rc;
}

/* The first epoch that trains on a batch is the one that had it sampled. */
static void tell_sampled(struct og_work *w, struct og_sampled_ahead *ahead)
{
    w->sample_seconds += ahead->seconds;
    w->sampled_from = ahead->from;
    ahead->seconds = 0;
    ahead->from = (struct og_sample_reads){0};
}

static int make_work(struct sampler_start *own, uint64_t item, struct og_work *w,
                     struct og_err *err)
{
    struct run *r = own->run;
    struct og_flow *f = r->flow;
    double start = og__now();
    take_turn(r, item, w);
    int rc = f->replay ? replay_work(r, item, w, err) : sample_work(own, item, w, err);
    w->sample_seconds = og__now() - start;
    span(r, f->replay ? "replay" : "sample", w, start);
    if (f->replay)
        tell_sampled(w, &f->sampled_ahead[w->kept_as]);
    return rc;
}

static void *run_sampler(void *arg)
{
    struct sampler_start *own = arg;
    struct run *r = own->run;
    bool going = true;
    while (going) {
        /* the work first, the number second: see base/thread.h on queues */
        int i = shelf_take(&r->works, true);
        if (i < 0)
            break;
        uint64_t item = atomic_fetch_add(&r->next, 1);
        if (item >= r->last) {
            shelf_put(&r->works, i);
            break;
        }
        struct og_err err = {0};
        struct og_work *w = &r->flow->works[i];
        int rc = make_work(own, item, w, &err);
        if (rc < 0) { /* the queues are shut: nobody waits for this number */
            fail_run(r, rc, &err);
            break;
        }
        going = og__queue_push(r->sampled, item, w);
    }
    return NULL;
}

/* ---- stage 2: plan, or fetch the plan that was made ahead ---- */

static int fetch_plan(struct og_flow *f, const struct og_batch *batch, struct og_work *w,
                      struct og_err *err)
{
    struct og_plan *plan = &w->plan;
    uint32_t n = batch->n_ids;
    uint64_t at = f->sampled_ahead[w->kept_as].codes_at;
    uint64_t bytes = 0;
    int rc = og__plan_reserve(plan, n, OG_MIN(n, f->n_slots), err);
    if (rc == 0)
        rc = og__spill_read(f->codes, at, plan->place, n * sizeof(*plan->place), &bytes, err);
    w->trace_read.reads += bytes > 0;
    w->trace_read.bytes += bytes;
    return rc < 0 ? rc
                  : og__plan_decode(f->planner, plan->place, batch->ids, n, f->n_slots, plan, err);
}

static int make_plan(struct og_flow *f, struct og_work *w, struct og_err *err)
{
    const struct og_batch *batch = &w->sampled.batch;
    if (!f->gather)
        return 0;
    if (f->replay)
        return fetch_plan(f, batch, w, err);
    return og__policy_plan(f->policy, f->planner, batch->ids, batch->n_ids, &w->plan, err);
}

static void *run_planner(void *arg)
{
    struct run *r = arg;
    for (uint64_t item = r->first; item < r->last; item++) {
        void *popped;
        if (!og__queue_pop(r->sampled, &popped))
            break;
        struct og_work *w = popped;
        struct og_err err = {0};
        double start = og__now();
        int rc = make_plan(r->flow, w, &err);
        w->plan_seconds += og__now() - start;
        span(r, "plan", w, start);
        if (rc < 0)
            fail_run(r, rc, &err);
        if (!og__queue_push(r->planned, item, w))
            break;
    }
    return NULL;
}

/* ---- stage 3: load ----
 *
 * Reads of the next batch are queued before those of this one have come, so that the disk is
 * never idle at the border between two batches. */

struct loading {
    struct og_work *work; /* begun, not finished; NULL = none */
    uint64_t item;
    double start;
};

static int finish_loading(struct run *r, struct loading *l, struct og_err *err)
{
    struct og_work *w = l->work;
    if (!w)
        return 0;
    l->work = NULL;
    double start = og__now();
    int rc = og__gather_finish(r->flow->gather, w->staging, &w->rows, &w->read, err);
    w->gather_seconds += og__now() - start;
    span(r, "gather", w, l->start);
    if (rc == 0 && !og__queue_push(r->loaded, l->item, w))
        rc = -ECANCELED;
    return rc;
}

/* All that the batch has in the cache is there. The one before must be handed over first: filling
 * may wait for it to be trained. */
static int await_cache(struct run *r, struct loading *l, struct og_work *w, struct og_err *err)
{
    struct og_filling *filling = r->flow->filling;
    struct og_filled filled = {0};
    int rc = og__filling_ready(filling, w->kept_as) ? 0 : finish_loading(r, l, err);
    if (rc == 0)
        rc = og__filling_await(filling, w->kept_as, &filled, err);
    if (rc < 0)
        return rc;
    w->ahead.read.reads += filled.read.reads;
    w->ahead.read.bytes += filled.read.bytes;
    w->ahead.gather_seconds += filled.seconds;
    return 0;
}

/* Take a staging area for w and start its reads. When there is none to be had at once, the batch
 * before must be handed over first: it may hold the only one. */
static int begin_loading(struct run *r, struct loading *l, uint64_t item, struct og_work *w,
                         struct og_err *err)
{
    int rc = r->flow->filling ? await_cache(r, l, w, err) : 0;
    if (rc < 0)
        return rc;
    w->staging = shelf_take(&r->staging, false);
    if (w->staging < 0) {
        rc = finish_loading(r, l, err);
        w->staging = rc == 0 ? shelf_take(&r->staging, true) : -1;
        if (w->staging < 0)
            return rc < 0 ? rc : -ECANCELED;
    }
    double start = og__now();
    rc = og__gather_begin(r->flow->gather, w->staging, &w->plan, w->kept_as, err);
    w->gather_seconds = og__now() - start;
    if (rc < 0)
        return rc;
    rc = finish_loading(r, l, err);
    *l = (struct loading){w, item, start};
    return rc;
}

static int load_all(struct run *r, struct loading *l, struct og_err *err)
{
    int rc = 0;
    for (uint64_t item = r->first; rc == 0 && item < r->last; item++) {
        void *popped;
        if (!og__queue_ready(r->planned))
            rc = finish_loading(r, l, err); /* nothing to begin: deliver what is under way */
        if (rc < 0 || !og__queue_pop(r->planned, &popped))
            return rc < 0 ? rc : -ECANCELED;
        if (r->flow->gather)
            rc = begin_loading(r, l, item, popped, err);
        else if (!og__queue_push(r->loaded, item, popped))
            rc = -ECANCELED;
    }
    return rc == 0 ? finish_loading(r, l, err) : rc;
}

static void *run_loader(void *arg)
{
    struct run *r = arg;
    struct og_err err = {0};
    struct loading l = {0};
    int rc = load_all(r, &l, &err);
    if (rc < 0 && rc != -ECANCELED)
        fail_run(r, rc, &err);
    if (l.work)
        og__gather_give_up(r->flow->gather, l.work->staging);
    return NULL;
}

/* ---- stage 4: the sink, in the caller's thread ---- */

static int drain(struct run *r, og_sink *sink, void *arg)
{
    struct og_flow *f = r->flow;
    for (uint64_t item = r->first; item < r->last; item++) {
        void *popped;
        double start = og__now();
        if (!og__queue_pop(r->loaded, &popped))
            return -ECANCELED;
        struct og_work *w = popped;
        w->stall_seconds = og__now() - start;
        struct og_err err = {0};
        start = og__now();
        int rc = sink(arg, w, &err);
        span(r, "train", w, start);
        if (f->gather)
            og__gather_change(f->gather, &w->plan);
        if (f->filling)
            og__filling_done(f->filling, (uint32_t)(item + 1 - r->first));
        if (w->staging >= 0)
            shelf_put(&r->staging, w->staging);
        w->staging = -1;
        shelf_put(&r->works, (int)(w - f->works));
        if (rc == 0 && f->stop && *f->stop && item + 1 < r->last)
            rc = og__fail(&err, OG_INTERRUPTED, NULL, "interrupted");
        if (rc < 0) {
            fail_run(r, rc, &err);
            return rc;
        }
    }
    return 0;
}

/* ---- all of it ---- */

static int open_run(struct run *r, struct og_err *err)
{
    struct og_flow *f = r->flow;
    atomic_init(&r->next, r->first);
    pthread_mutex_init(&r->lock, NULL);
    shelf_init(&r->works, f->n_works);
    shelf_init(&r->staging, f->n_staging);
    int rc = og__queue_open(&r->sampled, (size_t)f->n_works, r->first, err);
    if (rc == 0)
        rc = og__queue_open(&r->planned, (size_t)f->n_works, r->first, err);
    if (rc == 0)
        rc = og__queue_open(&r->loaded, (size_t)f->n_works, r->first, err);
    return rc;
}

static void close_run(struct run *r)
{
    og__queue_free(r->sampled);
    og__queue_free(r->planned);
    og__queue_free(r->loaded);
    shelf_release(&r->works);
    shelf_release(&r->staging);
    pthread_mutex_destroy(&r->lock);
}

int og__flow_run(struct og_flow *flow, enum og__split pass, uint64_t first, uint64_t last,
                 og_sink *sink, void *arg, struct og_err *err)
{
    struct run run = {.flow = flow, .pass = pass, .first = first, .last = last};
    struct sampler_start start[OG__MOST_SAMPLERS];
    pthread_t thread[OG__MOST_SAMPLERS + 2];
    int n_threads = 0;
    int failed = 0;
    int n_samplers = flow->replay ? 1 : flow->n_samplers;
    int rc = open_run(&run, err);
    if (rc < 0 || first >= last)
        goto out;
    for (int i = 0; !failed && i < n_samplers; i++) {
        start[i] =
            (struct sampler_start){.run = &run, .sampler = flow->replay ? NULL : flow->samplers[i]};
        failed = pthread_create(&thread[n_threads], NULL, run_sampler, &start[i]);
        n_threads += !failed;
    }
    void *(*const stages[])(void *) = {run_planner, run_loader};
    for (size_t i = 0; !failed && i < OG_COUNT(stages); i++) {
        failed = pthread_create(&thread[n_threads], NULL, stages[i], &run);
        n_threads += !failed;
    }
    if (failed)
        og__fail_errno(&run.err, run.rc = -failed, "lower --threads", "cannot start a thread");
    else
        (void)drain(&run, sink, arg);
    shut_all(&run);
    for (int i = 0; i < n_threads; i++)
        pthread_join(thread[i], NULL);
    rc = run.rc;
    if (rc < 0)
        og__fail(err, rc, run.err.hint, "%s", run.err.message);
out:
    close_run(&run);
    return rc;
}

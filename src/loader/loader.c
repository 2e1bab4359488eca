/* Starting epochs, restoring positions, and the next batch. */
#include "loader/loader.h"

#include "loader/loader_text.h"

#include <assert.h>
#include <string.h>
#include <time.h>

int og__loader_ours(const struct og_loader *l, struct og_err *err)
{
    if (og__buffer_pool_is_ours(l->buffer_pool))
        return 0;
    return og__fail(
        err, -ECHILD,
        "open it in the process that uses it; it prefetches in threads and needs no worker "
        "processes",
        "a loader cannot be used in a forked process");
}

static void lock(const struct og_loader *l)
{
    pthread_mutex_lock(&l->buffer_pool->lock);
}

static void unlock(const struct og_loader *l)
{
    pthread_mutex_unlock(&l->buffer_pool->lock);
}

/* ---- calls in progress ---- */

/* og_loader_close waits until all calls have left. Caller holds the lock. */
static void leave(struct og_loader *l)
{
    l->n_inside--;
    if (l->closing)
        pthread_cond_broadcast(&l->buffer_pool->changed);
}

static int refuse_closing(struct og_err *err)
{
    return og__fail(err, -ECANCELED, NULL, "the loader was closed");
}

static void end_steering(struct og_loader *l)
{
    pthread_mutex_unlock(&l->steering);
    lock(l);
    leave(l);
    unlock(l);
}

/* Waits for other calls that start or end runs. */
static int begin_steering(struct og_loader *l, struct og_err *err)
{
    lock(l);
    l->n_inside++;
    unlock(l);
    pthread_mutex_lock(&l->steering);
    lock(l);
    const bool closing = l->closing;
    unlock(l);
    if (!closing)
        return 0;
    end_steering(l);
    return refuse_closing(err);
}

/* ---- starting an epoch ---- */

/* A failure of a flow thread is permanent, because the contents of the cache are unknown. A run
 * that was ended has not failed. */
static int check_run(const struct og_loader *l, struct og_err *err)
{
    const struct og_loading_run *r = &l->run;
    lock(l);
    const bool failed = r->ended && r->rc < 0 && (r->begun || r->rc != OG_INTERRUPTED);
    unlock(l);
    return failed ? og__fail(err, r->rc, r->err.hint, "%s", r->err.message) : 0;
}

/* Whether the item is the run's next one anyway. Caller holds the lock. */
static bool follows(const struct og_loader *l, uint64_t item)
{
    const struct og_loading_run *r = &l->run;
    return r->begun && r->pass == OG__SPLITS && r->next == item && item < r->last;
}

/* Under one lock with the test of the run's position: og_loader_next may continue in other threads.
 */
static int set_going(struct og_loader *l, struct og_place to, struct og_err *err)
{
    const uint64_t batches = og__schedule_batches(&l->s->workload.schedule, OG__TRAIN);
    int rc = og__loader_begin_sums(l, to.epoch, err);
    l->going = (struct og_going){.on = rc == 0, .batch = to.batch, .batches = batches};
    l->epoch = to.epoch;
    l->batch = to.batch;
    l->lap = og__now();
    return rc;
}

/* Returns 1 if it is the next epoch anyway. */
static int follow(struct og_loader *l, struct og_place to, uint64_t item, struct og_err *err)
{
    lock(l);
    const bool next = follows(l, item);
    int rc = next ? set_going(l, to, err) : 0;
    unlock(l);
    return rc < 0 ? rc : next;
}

/* The last epoch of a run that begins with `first`: of those planned, else `epochs` from there.
 * Limited to the epochs of pre-sampled batches. first - 1: none. */
static uint32_t last_epoch(const struct og_loader *l, uint32_t first)
{
    const struct og_session *s = l->s;
    const struct og_schedule *schedule = &s->workload.schedule;
    const int64_t ahead = OG_MIN((int64_t)first + s->config.opt.epochs - 1, (int64_t)INT32_MAX - 1);
    const bool planned = (int64_t)first <= schedule->epochs;
    const uint32_t most = planned ? (uint32_t)schedule->epochs : (uint32_t)ahead;
    uint32_t last = first - 1;
    if (!s->offline)
        return OG_MAX(most, last);
    while (last < most && og__offline_has(s->offline, schedule, last + 1))
        last++;
    return last;
}

static uint64_t item_of(const struct og_schedule *schedule, struct og_place at)
{
    return og__schedule_start(schedule, at.epoch) + at.batch;
}

/* Past the last epoch there is nothing to run. */
static int begin_run(struct og_loader *l, struct og_place to, struct og_err *err)
{
    struct og_schedule *schedule = &l->s->workload.schedule;
    const uint32_t first =
        to.epoch + (to.batch == og__schedule_batches(schedule, OG__TRAIN) ? 1 : 0);
    const uint32_t last = last_epoch(l, first);
    if (last < first)
        return 0;
    schedule->epochs = OG_MAX(schedule->epochs, (int)last); /* which may move later epochs */
    return og__loader_run(l, OG__SPLITS, item_of(schedule, to),
                          og__schedule_start(schedule, last + 1), err);
}

static int steer(struct og_loader *l, struct og_place to, struct og_err *err)
{
    const struct og_session *s = l->s;
    const struct og_schedule *schedule = &s->workload.schedule;
    int rc = check_run(l, err);
    if (rc < 0)
        return rc;
    rc = s->offline ? og__offline_check(s->offline, schedule, to.epoch, err) : 0;
    if (rc < 0)
        return rc;
    rc = follow(l, to, item_of(schedule, to), err);
    if (rc != 0)
        return OG_MIN(rc, 0);
    og__loader_halt(l);
    rc = check_run(l, err);
    if (rc < 0)
        return rc;
    rc = begin_run(l, to, err);
    if (rc < 0)
        return rc;
    lock(l);
    rc = set_going(l, to, err);
    unlock(l);
    return rc;
}

static int go_to(struct og_loader *l, struct og_place to, struct og_err *err)
{
    int rc = begin_steering(l, err);
    if (rc < 0)
        return rc;
    rc = steer(l, to, err);
    end_steering(l);
    return rc;
}

int og_loader_start(struct og_loader *l, int epoch, struct og_err *err)
{
    OG_DO(og__loader_ours(l, err));
    if (epoch < 1 || epoch == INT32_MAX)
        return og__fail(err, -EINVAL, "epochs count from 1", "there is no epoch %d", epoch);
    return go_to(l, (struct og_place){.epoch = (uint32_t)epoch}, err);
}

int og_loader_restore(struct og_loader *l, const char *state, struct og_err *err)
{
    struct og_place place;
    int rc = og__loader_ours(l, err);
    if (rc < 0)
        return rc;
    rc = og__place_parse(l, state, &place, err);
    return rc < 0 ? rc : go_to(l, place, err);
}

/* ---- passes ---- */

/* The caller's own seeds have the place of the training split. */
static int pass_over(const struct og_loader *l, const char *split)
{
    const enum og__split named = og__split_named(split, strlen(split));
    if (named == OG__VALID || named == OG__TEST)
        return named;
    return strcmp(split, l->split) == 0 ? OG__TRAIN : -1;
}

/* Caller holds the lock. */
static void set_pass(struct og_loader *l, uint64_t batches)
{
    l->going = (struct og_going){.on = true, .pass = true, .batches = batches};
    l->lap = og__now();
}

/* Whether the evaluation of an epoch is what the run does next anyway. */
static bool follow_pass(struct og_loader *l, enum og__split split, uint64_t batches)
{
    const struct og_loading_run *r = &l->run;
    bool next = false;
    lock(l);
    if (r->begun && r->pass == OG__SPLITS && r->next < r->last) {
        const struct og_descriptor d = og__schedule_at(&l->s->workload.schedule, r->next);
        next = d.split == split && split != OG__TRAIN && d.batch == 0;
    }
    if (next)
        set_pass(l, batches);
    unlock(l);
    return next;
}

static int steer_pass(struct og_loader *l, enum og__split split, uint64_t batches,
                      struct og_err *err)
{
    int rc = check_run(l, err);
    if (rc < 0 || follow_pass(l, split, batches))
        return rc;
    og__loader_halt(l);
    rc = check_run(l, err);
    if (rc < 0)
        return rc;
    rc = og__loader_run(l, split, 0, batches, err);
    if (rc < 0)
        return rc;
    lock(l);
    set_pass(l, batches);
    unlock(l);
    return 0;
}

int og_loader_evaluate(struct og_loader *l, const char *split, struct og_err *err)
{
    int rc = og__loader_ours(l, err);
    if (rc < 0)
        return rc;
    const int64_t batches = split ? og_loader_batches(l, split) : -1;
    if (batches < 1)
        return og__fail(err, -EINVAL,
                        "use valid, test, or the split that the loader was opened with",
                        "split %s: there are no batches of it", split ? split : "(none)");
    rc = og__session_check_timed(l->s, (enum og__split)pass_over(l, split), err);
    if (rc < 0)
        return rc;
    rc = begin_steering(l, err);
    if (rc < 0)
        return rc;
    rc = steer_pass(l, (enum og__split)pass_over(l, split), (uint64_t)batches, err);
    end_steering(l);
    return rc;
}

int64_t og_loader_batches(const struct og_loader *l, const char *split)
{
    const int which = split ? pass_over(l, split) : OG__TRAIN;
    return which < 0
               ? -1
               : (int64_t)og__schedule_batches(&l->s->workload.schedule, (enum og__split)which);
}

/* ---- the next batch ---- */

static struct og_epoch_counters *sums(struct og_loader *l)
{
    return l->n_epochs > 0 ? &l->epochs[l->n_epochs - 1].counters : NULL;
}

/* The caller computed from the last batch until `requested`, and waited afterwards. */
static void count_time(struct og_loader *l, double requested)
{
    const double now = og__now();
    struct og_epoch_counters *c = sums(l);
    if (l->going.pass && c) {
        c->eval_seconds += now - l->lap;
    } else if (c) {
        c->seconds += now - l->lap;
        c->train_seconds += requested - l->lap;
        c->stall_seconds += now - requested;
    }
    l->lap = now;
}

static void count_batch(struct og_loader *l, const struct og_batch_buffer *p)
{
    struct og_epoch_counters *c = sums(l);
    if (l->going.pass) {
        if (c)
            c->eval_bytes_read += p->counters.bytes_read;
        return;
    }
    og__epoch_counters_add(c, &p->counters);
    l->epochs[l->n_epochs - 1].batches++;
    l->batch++;
}

static void deliver(struct og_loader *l, struct og_batch_buffer *p, double requested)
{
    l->buffer_pool->n_held++;
    atomic_store_explicit(&p->refs, 1, memory_order_relaxed);
    p->batch.stall_seconds = og__now() - requested;
    count_time(l, requested);
    count_batch(l, p);
    l->going.batch++;
    l->run.next++;
}

static void end_epoch(struct og_loader *l, double requested)
{
    count_time(l, requested);
    l->going.on = false;
    if (l->going.pass)
        return;
    l->epoch++;
    l->batch = 0;
}

static int refuse_to_hold(const struct og_loader *l, struct og_err *err)
{
    const int held = l->buffer_pool->n_held;
    char hint[96];
    snprintf(hint, sizeof(hint),
             "release batches, or open the loader with hold = %d (max_held in Python)", held);
    return og__fail(
        err, -ENOBUFS, hint,
        "%d batches are held, the loader has buffers for %d in addition to the next one", held,
        held - 1);
}

/* What to return at once: 1 and a batch, 1 and the end, or an error; 0 = wait. */
static int look(struct og_loader *l, double requested, const struct og_minibatch **out,
                struct og_err *err)
{
    if (l->closing)
        return refuse_closing(err);
    if (og__stop_requested(l->user_stop))
        return og__fail(err, OG_INTERRUPTED, NULL, "interrupted");
    if (!l->going.on)
        return 1;
    if (l->going.batch == l->going.batches) {
        end_epoch(l, requested);
        return 1;
    }
    if (l->buffer_pool->n_held > l->hold + l->buffer_pool->n_extra)
        return refuse_to_hold(l, err);
    struct og_batch_buffer *p = og__batch_buffers_take(&l->buffer_pool->ready);
    if (p) {
        deliver(l, p, requested);
        *out = &p->batch;
        return 1;
    }
    assert(!l->run.ended || l->run.rc < 0);
    return l->run.ended ? og__fail(err, l->run.rc, l->run.err.hint, "%s", l->run.err.message) : 0;
}

/* Waits for a change. A stop flag wakes nobody, so it is polled. */
static void wait_a_while(struct og_loader *l, double until)
{
    const double often = 0.05;
    const double end = l->user_stop ? OG_MIN(until, og__now() + often) : until;
    struct timespec at = {.tv_sec = (time_t)end};
    at.tv_nsec = (long)((end - (double)at.tv_sec) * 1e9);
    pthread_cond_timedwait(&l->buffer_pool->changed, &l->buffer_pool->lock, &at);
}

static int await(struct og_loader *l, double wait, const struct og_minibatch **out,
                 struct og_err *err)
{
    const double forever = 1e9; /* seconds; practically unlimited, and valid for the clock */
    const double requested = og__now();
    const double until = requested + (wait < 0 || wait > forever ? forever : wait);
    int rc = look(l, requested, out, err);
    while (rc == 0 && og__now() < until) {
        wait_a_while(l, until);
        rc = look(l, requested, out, err);
    }
    return rc == 0 ? -EAGAIN : OG_MIN(rc, 0);
}

int og_loader_next(struct og_loader *l, double wait, const struct og_minibatch **out,
                   struct og_err *err)
{
    *out = NULL;
    int rc = og__loader_ours(l, err);
    if (rc < 0)
        return rc;
    lock(l);
    l->n_inside++;
    rc = await(l, wait, out, err);
    leave(l);
    unlock(l);
    return rc;
}

int og_loader_grow(struct og_loader *l, struct og_err *err)
{
    int rc = og__loader_ours(l, err);
    return rc < 0 ? rc : og__buffer_pool_grow(l->buffer_pool, err);
}

/* ---- its position ---- */

int og_loader_state(struct og_loader *l, char **out, struct og_err *err)
{
    *out = NULL;
    OG_DO(og__loader_ours(l, err));
    lock(l);
    const struct og_place place = {l->epoch, l->batch};
    unlock(l);
    return og__place_print(l, place, out, err);
}

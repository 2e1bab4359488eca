/* Going to epochs and places, and the next batch. */
#include "loader/loader.h"

#include "loader/told.h"

#include <assert.h>
#include <string.h>
#include <time.h>

int og__loader_ours(const struct og_loader *l, struct og_err *err)
{
    if (og__depot_is_ours(l->depot))
        return 0;
    return og__fail(err, -ECHILD,
                    "open it in the process that uses it; it needs no worker processes, for it "
                    "reads ahead in threads of its own",
                    "a loader cannot be used in a process that was forked off");
}

static void lock(const struct og_loader *l)
{
    pthread_mutex_lock(&l->depot->lock);
}

static void unlock(const struct og_loader *l)
{
    pthread_mutex_unlock(&l->depot->lock);
}

/* ---- going somewhere ---- */

/* What a thread of the flow failed with is told again and again: what the cache holds is not known
 * any more. */
static int check_run(const struct og_loader *l, struct og_err *err)
{
    const struct og_loading_run *r = &l->run;
    lock(l);
    const bool failed = r->begun && r->ended && r->rc < 0;
    unlock(l);
    return failed ? og__fail(err, r->rc, r->err.hint, "%s", r->err.message) : 0;
}

/* Is it the item that the run's caller gets next anyway? */
static bool follows(const struct og_loader *l, uint64_t item)
{
    const struct og_loading_run *r = &l->run;
    lock(l);
    const bool next = r->begun && r->pass == OG__SPLITS && r->next == item && item < r->last;
    unlock(l);
    return next;
}

/* Epochs that are looked ahead to: as many as the options say, from there. */
static void look_ahead(struct og_schedule *schedule, uint32_t epoch, int epochs)
{
    const int64_t last = (int64_t)epoch + epochs - 1;
    if ((int64_t)epoch > schedule->epochs)
        schedule->epochs = (int)OG_MIN(last, (int64_t)INT32_MAX - 1);
}

static int steer(struct og_loader *l, struct og_place to, struct og_err *err)
{
    struct og_schedule *schedule = &l->s->facts.schedule;
    const uint64_t batches = og__schedule_batches(schedule, OG__TRAIN);
    const uint64_t item = og__schedule_start(schedule, to.epoch) + to.batch;
    int rc = check_run(l, err);
    if (rc < 0)
        return rc;
    if (!follows(l, item)) {
        og__loader_halt(l);
        look_ahead(schedule, to.epoch + (to.batch == batches), l->s->config.opt.epochs);
        rc = og__loader_run(l, OG__SPLITS, item, og__schedule_items(schedule), err);
        if (rc < 0)
            return rc;
    }
    lock(l);
    rc = og__loader_begin_sums(l, to.epoch, err);
    l->going = (struct og_going){.on = rc == 0, .batch = to.batch, .batches = batches};
    l->epoch = to.epoch;
    l->batch = to.batch;
    l->lap = og__now();
    unlock(l);
    return rc;
}

static int go_to(struct og_loader *l, struct og_place to, struct og_err *err)
{
    pthread_mutex_lock(&l->steering);
    int rc = steer(l, to, err);
    pthread_mutex_unlock(&l->steering);
    return rc;
}

int og_loader_start(struct og_loader *l, int epoch, struct og_err *err)
{
    int rc = og__loader_ours(l, err);
    if (rc < 0)
        return rc;
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

/* The run's own seeds have the place of the training split. */
static int pass_over(const struct og_loader *l, const char *split)
{
    if (strcmp(split, "valid") == 0)
        return OG__VALID;
    if (strcmp(split, "test") == 0)
        return OG__TEST;
    return strcmp(split, l->split) == 0 ? OG__TRAIN : -1;
}

static int steer_pass(struct og_loader *l, enum og__split split, uint64_t batches,
                      struct og_err *err)
{
    int rc = check_run(l, err);
    if (rc < 0)
        return rc;
    og__loader_halt(l);
    rc = og__loader_run(l, split, 0, batches, err);
    lock(l);
    l->going = (struct og_going){.on = rc == 0, .pass = true, .batches = batches};
    l->lap = og__now();
    unlock(l);
    return rc;
}

int og_loader_evaluate(struct og_loader *l, const char *split, struct og_err *err)
{
    int rc = og__loader_ours(l, err);
    if (rc < 0)
        return rc;
    const int64_t batches = split ? og_loader_batches(l, split) : -1;
    if (batches < 1)
        return og__fail(err, -EINVAL,
                        "a pass is over valid, test, or what the loader was opened for",
                        "split %s: there are no batches of it", split ? split : "(none)");
    pthread_mutex_lock(&l->steering);
    rc = steer_pass(l, (enum og__split)pass_over(l, split), (uint64_t)batches, err);
    pthread_mutex_unlock(&l->steering);
    return rc;
}

int64_t og_loader_batches(const struct og_loader *l, const char *split)
{
    const int which = split ? pass_over(l, split) : OG__TRAIN;
    return which < 0 ? -1
                     : (int64_t)og__schedule_batches(&l->s->facts.schedule, (enum og__split)which);
}

/* ---- the next batch ---- */

static struct og_epoch_counters *sums(struct og_loader *l)
{
    return l->n_epochs > 0 ? &l->epochs[l->n_epochs - 1].counters : NULL;
}

/* Since the last batch the caller computed until `asked`, and waited from then on. */
static void count_time(struct og_loader *l, double asked)
{
    const double now = og__now();
    struct og_epoch_counters *c = sums(l);
    if (l->going.pass && c) {
        c->eval_seconds += now - l->lap;
    } else if (c) {
        c->seconds += now - l->lap;
        c->train_seconds += asked - l->lap;
        c->stall_seconds += now - asked;
    }
    l->lap = now;
}

static void count_batch(struct og_loader *l, const struct og_parcel *p)
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

static void deliver(struct og_loader *l, struct og_parcel *p, double asked)
{
    l->depot->n_held++;
    atomic_store_explicit(&p->refs, 1, memory_order_relaxed);
    p->batch.stall_seconds = og__now() - asked;
    count_time(l, asked);
    count_batch(l, p);
    l->going.batch++;
    l->run.next++;
}

static void end_epoch(struct og_loader *l, double asked)
{
    count_time(l, asked);
    l->going.on = false;
    if (l->going.pass)
        return;
    l->epoch++;
    l->batch = 0;
}

static int refuse_to_hold(const struct og_loader *l, struct og_err *err)
{
    const int held = l->depot->n_held;
    char hint[96];
    snprintf(hint, sizeof(hint), "release batches, or open the loader with hold = %d", held);
    return og__fail(err, -ENOBUFS, hint,
                    "%d batches are held, the loader has room for %d beside the next one", held,
                    l->hold);
}

/* What to say at once: 1 and a batch, 1 and the end, or an error; 0 = wait. */
static int look(struct og_loader *l, double asked, const struct og_minibatch **out,
                struct og_err *err)
{
    if (l->closing)
        return og__fail(err, -ECANCELED, NULL, "the loader was closed");
    if (og__asked(l->user_stop))
        return og__fail(err, OG_INTERRUPTED, NULL, "interrupted");
    if (!l->going.on)
        return 1;
    if (l->going.batch == l->going.batches) {
        end_epoch(l, asked);
        return 1;
    }
    if (l->depot->n_held > l->hold)
        return refuse_to_hold(l, err);
    struct og_parcel *p = og__parcels_take(&l->depot->ready);
    if (p) {
        deliver(l, p, asked);
        *out = &p->batch;
        return 1;
    }
    assert(!l->run.ended || l->run.rc < 0);
    return l->run.ended ? og__fail(err, l->run.rc, l->run.err.hint, "%s", l->run.err.message) : 0;
}

/* Until something has changed. A flag that asks to stop wakes nobody: it is looked at now and then.
 */
static void wait_a_while(struct og_loader *l, double until)
{
    const double often = 0.05;
    const double end = l->user_stop ? OG_MIN(until, og__now() + often) : until;
    struct timespec at = {.tv_sec = (time_t)end};
    at.tv_nsec = (long)((end - (double)at.tv_sec) * 1e9);
    pthread_cond_timedwait(&l->depot->changed, &l->depot->lock, &at);
}

static int await(struct og_loader *l, double wait, const struct og_minibatch **out,
                 struct og_err *err)
{
    const double forever = 1e9; /* seconds: the clock takes it, and nobody lives to see it */
    const double asked = og__now();
    const double until = asked + (wait < 0 || wait > forever ? forever : wait);
    int rc = look(l, asked, out, err);
    while (rc == 0 && og__now() < until) {
        wait_a_while(l, until);
        rc = look(l, asked, out, err);
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
    l->n_inside--;
    if (l->closing)
        pthread_cond_broadcast(&l->depot->changed);
    unlock(l);
    return rc;
}

/* ---- its place ---- */

int og_loader_state(struct og_loader *l, char **out, struct og_err *err)
{
    *out = NULL;
    int rc = og__loader_ours(l, err);
    if (rc < 0)
        return rc;
    lock(l);
    const struct og_place place = {l->epoch, l->batch};
    unlock(l);
    return og__place_print(l, place, out, err);
}

/* The thread of a loader. */
#include "flow/count_work.h"
#include "loader/loader.h"

#include "ahead/ahead.h"
#include "loader/told.h"
#include "report/json.h"

/* ---- one batch ---- */

static const char *split_of(const struct og_loader *l, enum og__split split)
{
    static const char *const names[OG__SPLITS] = {
        [OG__TRAIN] = "train", [OG__VALID] = "valid", [OG__TEST] = "test"};
    return split == OG__TRAIN ? l->split : names[split];
}

/* Waits for a spare buffer. NULL: the run must end. */
static struct og_parcel *take_spare(struct og_loader *l)
{
    struct og_depot *d = l->depot;
    struct og_parcel *p = NULL;
    pthread_mutex_lock(&d->lock);
    while (!l->halting && !(p = og__parcels_take(&d->spare)))
        pthread_cond_wait(&d->changed, &d->lock);
    pthread_mutex_unlock(&d->lock);
    return p;
}

static void put(struct og_loader *l, struct og_parcels *list, struct og_parcel *p)
{
    struct og_depot *d = l->depot;
    pthread_mutex_lock(&d->lock);
    og__parcels_put(list, p);
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

/* The plan has memory for the largest expected batch; a larger one takes free memory. */
static int make_room(struct og_loader *l, struct og_parcel *p, size_t bytes, struct og_err *err)
{
    const size_t planned = l->s->facts.bytes.handed;
    const size_t charged = OG_MAX(p->arena.cap, planned);
    if (bytes > charged) {
        int rc = og__budget_charge(l->s->budget, bytes - charged, og__handed_part, err);
        if (rc < 0)
            return rc;
        l->charged += bytes - charged;
    }
    return og__parcel_reserve(p, OG_MAX(bytes, planned), err);
}

static int fill(struct og_loader *l, struct og_parcel *p, struct og_work *w, struct og_err *err)
{
    const struct og_descriptor *of = &w->descriptor;
    int rc = make_room(l, p, og__minibatch_measure(&l->maker, w), err);
    if (rc < 0)
        return rc;
    og__minibatch_fill(&l->maker, &p->batch, &p->arena, w);
    p->batch.split = split_of(l, of->split);
    p->batch.epoch = of->split == OG__TRAIN ? (int)of->epoch : 0; /* 0 in a pass */
    p->batch.batch = of->batch;
    p->batch.batches = (int64_t)og__schedule_batches(&l->s->facts.schedule, of->split);
    p->counters = (struct og_epoch_counters){0};
    og__count_work(&p->counters, w);
    p->counters.stall_seconds = 0; /* this is the thread's, not the caller's */
    return 0;
}

static int hand_over(void *arg, struct og_work *w, struct og_err *err)
{
    struct og_loader *l = arg;
    struct og_parcel *p = take_spare(l);
    if (!p)
        return og__fail(err, OG_INTERRUPTED, NULL, "the run was ended");
    og__loader_note_plan(l);
    int rc = fill(l, p, w, err);
    put(l, rc == 0 ? &l->depot->ready : &l->depot->spare, p);
    return rc;
}

/* ---- the run ---- */

static void *run(void *arg)
{
    struct og_loader *l = arg;
    struct og_loading_run *r = &l->run;
    struct og_err err = {0};
    int rc = og__run_batches(&l->s->path, r->pass, r->first, r->last, hand_over, l, &err);
    pthread_mutex_lock(&l->depot->lock);
    r->ended = true;
    r->rc = rc;
    r->err = err;
    pthread_cond_broadcast(&l->depot->changed);
    pthread_mutex_unlock(&l->depot->lock);
    return NULL;
}

int og__loader_run(struct og_loader *l, enum og__split pass, uint64_t first, uint64_t last,
                   struct og_err *err)
{
    struct og_loading_run *r = &l->run;
    *r = (struct og_loading_run){.pass = pass, .first = first, .next = first, .last = last};
    int failed = pthread_create(&r->thread, NULL, run, l);
    if (failed)
        return og__fail_errno(err, -failed, "lower --threads", "cannot start a thread");
    r->begun = true;
    return 0;
}

void og__loader_halt(struct og_loader *l)
{
    struct og_loading_run *r = &l->run;
    struct og_depot *d = l->depot;
    if (!r->begun)
        return;
    pthread_mutex_lock(&d->lock);
    l->halting = true;
    l->going.on = false;
    __atomic_store_n(&l->stop, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    pthread_join(r->thread, NULL);
    if (r->rc < 0)
        og__abandon_batches(&l->s->path);
    pthread_mutex_lock(&d->lock);
    for (struct og_parcel *p; (p = og__parcels_take(&d->ready));)
        og__parcels_put(&d->spare, p);
    l->halting = false;
    r->begun = false;
    pthread_mutex_unlock(&d->lock);
    __atomic_store_n(&l->stop, 0, __ATOMIC_RELAXED);
}

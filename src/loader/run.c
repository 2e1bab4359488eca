/* The thread of a loader. */
#include "flow/count_work.h"
#include "loader/loader.h"

#include "loader/loader_text.h"
#include "lookahead/lookahead.h"

/* ---- one batch ---- */

static const char *split_of(const struct og_loader *l, enum og__split split)
{
    static const char *const names[OG__SPLITS] = {
        [OG__TRAIN] = "train", [OG__VALID] = "valid", [OG__TEST] = "test"};
    return split == OG__TRAIN ? l->split : names[split];
}

/* Waits for a spare buffer. NULL: the run must end. */
static struct og_batch_buffer *take_spare(struct og_loader *l)
{
    struct og_buffer_pool *d = l->buffer_pool;
    struct og_batch_buffer *p = NULL;
    pthread_mutex_lock(&d->lock);
    while (!l->halting && !(p = og__batch_buffers_take(&d->spare)))
        pthread_cond_wait(&d->changed, &d->lock);
    pthread_mutex_unlock(&d->lock);
    return p;
}

static void put(struct og_loader *l, struct og_batch_buffers *list, struct og_batch_buffer *p)
{
    struct og_buffer_pool *d = l->buffer_pool;
    pthread_mutex_lock(&d->lock);
    og__batch_buffers_put(list, p);
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

/* The plan has memory for the largest expected batch; a larger one takes free memory. */
static int make_room(struct og_loader *l, struct og_batch_buffer *p, size_t bytes,
                     struct og_err *err)
{
    const size_t planned = l->s->workload.bytes.handed;
    const size_t charged = OG_MAX(p->arena.cap, planned);
    if (bytes > charged) {
        OG_DO(og__budget_charge(l->s->budget, bytes - charged, og__handed_part, err));
        l->charged += bytes - charged;
    }
    return og__batch_buffer_reserve(p, OG_MAX(bytes, planned), err);
}

static int fill(struct og_loader *l, struct og_batch_buffer *p, struct og_work *w,
                struct og_err *err)
{
    const struct og_descriptor *of = &w->descriptor;
    OG_DO(make_room(l, p, og__minibatch_measure(&l->maker, w), err));
    og__minibatch_fill(&l->maker, &p->batch, &p->arena, w);
    p->batch.split = split_of(l, of->split);
    p->batch.epoch = of->split == OG__TRAIN ? (int)of->epoch : 0; /* 0 in a pass */
    p->batch.batch = of->batch;
    const struct og_schedule whole = og__schedule_whole(&l->s->workload.schedule);
    p->batch.batches = (int64_t)og__schedule_batches(&whole, of->split);
    p->counters = (struct og_epoch_counters){0};
    og__count_work(&p->counters, w);
    p->counters.stall_seconds = 0; /* this is the thread's, not the caller's */
    return 0;
}

static int hand_over(void *arg, struct og_work *w, struct og_err *err)
{
    struct og_loader *l = arg;
    struct og_batch_buffer *p = take_spare(l);
    if (!p)
        return og__fail(err, OG_INTERRUPTED, NULL, "the run was ended");
    og__loader_note_plan(l);
    int rc = fill(l, p, w, err);
    put(l, rc == 0 ? &l->buffer_pool->ready : &l->buffer_pool->spare, p);
    return rc;
}

/* ---- while a superbatch is prepared ---- */

/* A run that was ended meanwhile has released a buffer already. */
int og__loader_release(void *arg, struct og_err *err)
{
    struct og_loader *l = arg;
    struct og_batch_buffer *p = l->released > 0 ? NULL : take_spare(l);
    if (!p)
        return l->released > 0 ? 0 : og__fail(err, OG_INTERRUPTED, NULL, "the run was ended");
    l->released = OG_MAX(p->arena.cap, l->s->workload.bytes.handed);
    og__arena_release(&p->arena);
    og__budget_uncharge(l->s->budget, l->released, og__handed_part);
    put(l, &l->buffer_pool->spare, p);
    return 0;
}

/* A buffer takes memory when it is filled. */
int og__loader_reclaim(void *arg, struct og_err *err)
{
    struct og_loader *l = arg;
    const size_t planned = l->s->workload.bytes.handed;
    OG_DO(og__budget_charge(l->s->budget, planned, og__handed_part, err));
    l->charged -= l->released - planned;
    l->released = 0;
    return 0;
}

/* ---- the run ---- */

static void *run(void *arg)
{
    struct og_loader *l = arg;
    struct og_loading_run *r = &l->run;
    struct og_err err = {0};
    int rc = og__run_batches(&l->s->path, r->pass, r->first, r->last, hand_over, l, &err);
    pthread_mutex_lock(&l->buffer_pool->lock);
    r->ended = true;
    r->rc = rc;
    r->err = err;
    pthread_cond_broadcast(&l->buffer_pool->changed);
    pthread_mutex_unlock(&l->buffer_pool->lock);
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
    struct og_buffer_pool *d = l->buffer_pool;
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
    for (struct og_batch_buffer *p; (p = og__batch_buffers_take(&d->ready));)
        og__batch_buffers_put(&d->spare, p);
    l->halting = false;
    r->begun = false;
    pthread_mutex_unlock(&d->lock);
    __atomic_store_n(&l->stop, 0, __ATOMIC_RELAXED);
}

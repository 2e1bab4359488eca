#include "loader/depot.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- lists ---- */

void og__parcels_put(struct og_parcels *list, struct og_parcel *p)
{
    p->next = NULL;
    if (list->last)
        list->last->next = p;
    else
        list->first = p;
    list->last = p;
}

struct og_parcel *og__parcels_take(struct og_parcels *list)
{
    struct og_parcel *p = list->first;
    if (!p)
        return NULL;
    list->first = p->next;
    if (!list->first)
        list->last = NULL;
    return p;
}

/* ---- buffers ---- */

const char og__handed_part[] = "batches handed over";

/* Allocated outside the session's budget, which the buffer may outlive. */
int og__parcel_reserve(struct og_parcel *p, size_t bytes, struct og_err *err)
{
    p->arena.used = 0;
    if (p->arena.base && p->arena.cap >= bytes)
        return 0;
    og__arena_release(&p->arena);
    return og__arena_init(&p->arena, og__host_memory(NULL), bytes, og__handed_part, err);
}

static void free_parcel(struct og_parcel *p)
{
    og__arena_release(&p->arena);
    free(p);
}

/* ---- the pool ---- */

bool og__depot_is_ours(const struct og_depot *d)
{
    return d->process == getpid();
}

static void free_all(struct og_parcels *list)
{
    for (struct og_parcel *p; (p = og__parcels_take(list));)
        free_parcel(p);
}

static void free_depot(struct og_depot *d)
{
    free_all(&d->spare);
    free_all(&d->ready);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static int add_parcel(struct og_depot *d, struct og_err *err)
{
    struct og_parcel *p = calloc(1, sizeof(*p));
    if (!p)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", og__handed_part);
    p->home = d;
    atomic_init(&p->refs, 0);
    og__parcels_put(&d->spare, p);
    return 0;
}

int og__depot_grow(struct og_depot *d, struct og_err *err)
{
    pthread_mutex_lock(&d->lock);
    int rc = add_parcel(d, err);
    d->n_extra += rc == 0;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

int og__depot_open(struct og_depot **out, int n, struct og_err *err)
{
    *out = NULL;
    struct og_depot *d = calloc(1, sizeof(*d));
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", og__handed_part);
    pthread_condattr_t attr;
    int rc = 0;
    d->process = getpid();
    d->n = n;
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->changed, &attr);
    pthread_condattr_destroy(&attr);
    for (int i = 0; i < n; i++)
        OG_TRY(add_parcel(d, err));
    *out = d;
out:
    if (rc < 0)
        free_depot(d);
    return rc;
}

void og__depot_close(struct og_depot *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->closed = true;
    free_all(&d->spare);
    free_all(&d->ready);
    const bool last = d->n_held == 0;
    pthread_mutex_unlock(&d->lock);
    if (last)
        free_depot(d);
}

/* ---- functions of the caller ---- */

static struct og_parcel *parcel_of(const struct og_minibatch *b)
{
    return (struct og_parcel *)(uintptr_t)b;
}

void og_minibatch_keep(const struct og_minibatch *b)
{
    if (b)
        atomic_fetch_add_explicit(&parcel_of(b)->refs, 1, memory_order_relaxed);
}

static void give_back(struct og_parcel *p)
{
    struct og_depot *d = p->home;
    pthread_mutex_lock(&d->lock);
    d->n_held--;
    const bool closed = d->closed;
    const bool last = closed && d->n_held == 0;
    const bool goes = closed || d->n_extra > 0;
    if (goes) {
        d->n_extra -= !closed;
    } else {
        og__parcels_put(&d->spare, p);
        pthread_cond_broadcast(&d->changed);
    }
    pthread_mutex_unlock(&d->lock);
    if (goes)
        free_parcel(p);
    if (last)
        free_depot(d);
}

/* In a forked process the lock may be held by a missing thread, and nobody waits for the buffer. */
void og_minibatch_release(const struct og_minibatch *b)
{
    if (!b)
        return;
    struct og_parcel *p = parcel_of(b);
    const bool last = atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1;
    if (last && og__depot_is_ours(p->home))
        give_back(p);
}

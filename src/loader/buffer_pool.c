#include "loader/buffer_pool.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- lists ---- */

void og__batch_buffers_put(struct og_batch_buffers *list, struct og_batch_buffer *p)
{
    p->next = NULL;
    if (list->last)
        list->last->next = p;
    else
        list->first = p;
    list->last = p;
}

struct og_batch_buffer *og__batch_buffers_take(struct og_batch_buffers *list)
{
    struct og_batch_buffer *p = list->first;
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
int og__batch_buffer_reserve(struct og_batch_buffer *p, size_t bytes, struct og_err *err)
{
    p->arena.used = 0;
    if (p->arena.base && p->arena.cap >= bytes)
        return 0;
    og__arena_release(&p->arena);
    return og__arena_init(&p->arena, og__host_memory(NULL), bytes, og__handed_part, err);
}

static void free_buffer(struct og_batch_buffer *p)
{
    og__arena_release(&p->arena);
    free(p);
}

/* ---- the pool ---- */

bool og__buffer_pool_is_ours(const struct og_buffer_pool *d)
{
    return d->process == getpid();
}

static void free_all(struct og_batch_buffers *list)
{
    for (struct og_batch_buffer *p; (p = og__batch_buffers_take(list));)
        free_buffer(p);
}

static void free_buffer_pool(struct og_buffer_pool *d)
{
    free_all(&d->spare);
    free_all(&d->ready);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static int add_buffer(struct og_buffer_pool *d, struct og_err *err)
{
    struct og_batch_buffer *p = calloc(1, sizeof(*p));
    if (!p)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", og__handed_part);
    p->home = d;
    atomic_init(&p->refs, 0);
    og__batch_buffers_put(&d->spare, p);
    return 0;
}

int og__buffer_pool_grow(struct og_buffer_pool *d, struct og_err *err)
{
    pthread_mutex_lock(&d->lock);
    int rc = add_buffer(d, err);
    d->n_extra += rc == 0;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

int og__buffer_pool_open(struct og_buffer_pool **out, int n, struct og_err *err)
{
    *out = NULL;
    struct og_buffer_pool *d = calloc(1, sizeof(*d));
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
        OG_TRY(add_buffer(d, err));
    *out = d;
out:
    if (rc < 0)
        free_buffer_pool(d);
    return rc;
}

void og__buffer_pool_close(struct og_buffer_pool *d)
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
        free_buffer_pool(d);
}

/* ---- functions of the caller ---- */

static struct og_batch_buffer *buffer_of(const struct og_minibatch *b)
{
    return (struct og_batch_buffer *)(uintptr_t)b;
}

void og_minibatch_keep(const struct og_minibatch *b)
{
    if (b)
        atomic_fetch_add_explicit(&buffer_of(b)->refs, 1, memory_order_relaxed);
}

static void give_back(struct og_batch_buffer *p)
{
    struct og_buffer_pool *d = p->home;
    pthread_mutex_lock(&d->lock);
    d->n_held--;
    const bool closed = d->closed;
    const bool last = closed && d->n_held == 0;
    const bool goes = closed || d->n_extra > 0;
    if (goes) {
        d->n_extra -= !closed;
    } else {
        og__batch_buffers_put(&d->spare, p);
        pthread_cond_broadcast(&d->changed);
    }
    pthread_mutex_unlock(&d->lock);
    if (goes)
        free_buffer(p);
    if (last)
        free_buffer_pool(d);
}

/* Gives nothing back in a forked process. There a missing thread may hold the lock, and nobody
 * waits for the buffer. */
void og_minibatch_release(const struct og_minibatch *b)
{
    if (!b)
        return;
    struct og_batch_buffer *p = buffer_of(b);
    const bool last = atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1;
    if (last && og__buffer_pool_is_ours(p->home))
        give_back(p);
}

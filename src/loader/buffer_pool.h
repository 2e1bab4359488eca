/* Pool of batch buffers of a loader. Their number is fixed; each has one batch and goes round:
 *
 *     spare ──> filled by the flow ──> ready ──> retained by the caller ──> spare
 *
 * The pool outlives its loader, as retained batches do; releasing the last one frees the pool.
 * Memory is reused, because page faults take longer than filling it. */
#ifndef OG_BUFFER_POOL_H
#define OG_BUFFER_POOL_H

#include <outgrow/outgrow.h>

#include "base/memory.h"
#include "report/counters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct og_buffer_pool;

/* A batch buffer: a batch, its arena and its counters. */
struct og_batch_buffer {
    struct og_minibatch batch; /* first member: the caller has a pointer to it */
    struct og_buffer_pool *home;
    atomic_uint refs; /* of the caller */
    struct og_arena arena;
    struct og_epoch_counters counters;
    struct og_batch_buffer *next; /* in a list of the pool */
};

struct og_batch_buffers { /* first in, first out */
    struct og_batch_buffer *first, *last;
};

struct og_buffer_pool {
    pid_t process; /* that opened it */
    int n;         /* buffers */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* uses the monotonic clock */
    /* guarded by lock, which is the loader's too */
    struct og_batch_buffers spare, ready;
    int n_held;  /* by the caller */
    int n_extra; /* buffers that were added; each release frees one */
    bool closed; /* the loader is closed */
};

extern const char og__handed_part[]; /* their name in budgets and messages */

/* Open a pool of n buffers without memory. */
OG_MUST_CHECK int og__buffer_pool_open(struct og_buffer_pool **out, int n, struct og_err *err);
/* Add a buffer. */
OG_MUST_CHECK int og__buffer_pool_grow(struct og_buffer_pool *d, struct og_err *err);
/* Close the pool for taking. Retained buffers keep it. */
void og__buffer_pool_close(struct og_buffer_pool *d);

/* Make space for `bytes` in a buffer's arena, whose contents are lost. */
OG_MUST_CHECK int og__batch_buffer_reserve(struct og_batch_buffer *p, size_t bytes,
                                           struct og_err *err);

void og__batch_buffers_put(struct og_batch_buffers *list, struct og_batch_buffer *p);
struct og_batch_buffer *og__batch_buffers_take(struct og_batch_buffers *list); /* NULL: empty */

/* Whether this process opened the pool. After fork its threads are missing, and with them locks and
 * flows. */
bool og__buffer_pool_is_ours(const struct og_buffer_pool *d);

#endif

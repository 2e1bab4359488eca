/* Threads: a pool for data-parallel loops, the bounded queue between stages, and a shelf of shared
 * items. */
#ifndef OG_THREAD_H
#define OG_THREAD_H

#include "base/base.h"

#include <pthread.h>

/* ---- pool ---- */

struct og_pool;

/* n_threads includes the caller: a pool of 1 starts none. */
OG_MUST_CHECK int og__pool_open(struct og_pool **out, int n_threads, struct og_err *err);
void og__pool_close(struct og_pool *pool);
int og__pool_threads(const struct og_pool *pool); /* 1 for NULL */

/* Runs fn(arg, task, thread) for every task in [0, n_tasks), and returns when all are done. The
 * argument `thread` is in [0, og__pool_threads). Any thread may get any task, so a result must
 * depend on `task` alone. The calling thread works too. One run at a time. NULL pool: the caller
 * does everything. */
void og__pool_run(struct og_pool *pool, size_t n_tasks,
                  void (*fn)(void *arg, size_t task, int thread), void *arg);

/* ---- queue ----
 *
 * Items carry sequence numbers 0, 1, 2, ... and leave in that order, whichever producer came first.
 * At most `capacity` are inside. A producer must own what it needs to finish an item BEFORE it
 * takes the item's number. Otherwise the holder of the lowest number could starve. */

struct og_queue;

OG_MUST_CHECK int og__queue_open(struct og_queue **out, size_t capacity, uint64_t first,
                                 struct og_err *err);
void og__queue_free(struct og_queue *q);

/* Both block; both return false once the queue was shut (items inside are dropped). */
bool og__queue_push(struct og_queue *q, uint64_t seq, void *item);
bool og__queue_pop(struct og_queue *q, void **item);

/* Would pop return at once? */
bool og__queue_ready(struct og_queue *q);

/* Wakes all waiters and refuses from now on: end of input, or an error in some stage. */
void og__queue_shut(struct og_queue *q);

/* ---- shelf: n items, numbered 0 .. n - 1, that threads take and put back ---- */

enum { OG__MOST_ON_SHELF = 64 };
struct og_shelf {
    pthread_mutex_t lock;
    pthread_cond_t put;
    int thing[OG__MOST_ON_SHELF];
    int n;
    bool shut;
};
void og__shelf_init(struct og_shelf *s, int n); /* all are there */
void og__shelf_release(struct og_shelf *s);
void og__shelf_put(struct og_shelf *s, int thing);
/* -1 after a shutdown, or if none is free and wait is false. */
int og__shelf_take(struct og_shelf *s, bool wait);
void og__shelf_shut(struct og_shelf *s); /* wakes everybody */

#endif

/* Pool of batch buffers of a loader. Their number is fixed; each has one batch and goes round:
 *
 *     spare ──> filled by the flow ──> ready ──> retained by the caller ──> spare
 *
 * The pool outlives its loader, as retained batches do; releasing the last one frees the pool.
 * Memory is reused, because page faults take longer than filling it. */
#ifndef OG_DEPOT_H
#define OG_DEPOT_H

#include <outgrow/outgrow.h>

#include "base/memory.h"
#include "report/counters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct og_depot;

/* A batch buffer: a batch, its arena and its counters. */
struct og_parcel {
    struct og_minibatch batch; /* first member: the caller has a pointer to it */
    struct og_depot *home;
    atomic_uint refs; /* of the caller */
    struct og_arena arena;
    struct og_epoch_counters counters;
    struct og_parcel *next; /* in a list of the pool */
};

struct og_parcels { /* first in, first out */
    struct og_parcel *first, *last;
};

struct og_depot {
    pid_t process; /* that opened it */
    int n;         /* buffers */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* uses the monotonic clock */
    /* guarded by lock, which is the loader's too */
    struct og_parcels spare, ready;
    int n_held;  /* by the caller */
    int n_extra; /* buffers that were added; each release frees one */
    bool closed; /* the loader is closed */
};

extern const char og__handed_part[]; /* their name in budgets and messages */

/* Open a pool of n buffers without memory. */
OG_MUST_CHECK int og__depot_open(struct og_depot **out, int n, struct og_err *err);
/* Add a buffer. */
OG_MUST_CHECK int og__depot_grow(struct og_depot *d, struct og_err *err);
/* Close the pool for taking. Retained buffers keep it. */
void og__depot_close(struct og_depot *d);

/* Make space for `bytes` in a buffer's arena, whose contents are lost; adds the growth to *grown.
 */
OG_MUST_CHECK int og__parcel_reserve(struct og_parcel *p, size_t bytes, struct og_err *err);

void og__parcels_put(struct og_parcels *list, struct og_parcel *p);
struct og_parcel *og__parcels_take(struct og_parcels *list); /* NULL: empty */

/* Whether this process opened the pool. After fork its threads are missing, and with them locks and
 * flows. */
bool og__depot_is_ours(const struct og_depot *d);

#endif

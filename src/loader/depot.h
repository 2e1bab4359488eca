/* depot: the arenas that batches for a caller lie in. There is a fixed number of them; each holds
 * one batch, and goes round:
 *
 *   spare ──> filled by the flow ──> ready ──> held by the caller ──> spare
 *
 * A depot outlives its loader, as batches do that are still held: the last of them takes it along.
 * Memory that was touched once is used again, for touching it takes longer than filling it. */
#ifndef OG_DEPOT_H
#define OG_DEPOT_H

#include <outgrow/outgrow.h>

#include "base/memory.h"
#include "report/counters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct og_depot;

/* A batch, the arena it lies in, and what it counts for. */
struct og_parcel {
    struct og_minibatch batch; /* the first member: what the caller has is a pointer to it */
    struct og_depot *home;
    atomic_uint refs; /* of the caller */
    struct og_arena arena;
    struct og_epoch_counters counters;
    struct og_parcel *next; /* in a list of the depot's */
};

struct og_parcels { /* the first in, the first out */
    struct og_parcel *first, *last;
};

struct og_depot {
    pid_t process; /* that opened it */
    int n;         /* parcels */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* by the monotonic clock */
    /* guarded by lock, which is the loader's too */
    struct og_parcels spare, ready;
    int n_held;  /* by the caller */
    bool closed; /* there is no loader any more */
};

extern const char og__handed_part[]; /* what they are called in budgets and messages */

/* Parcels without memory yet. */
OG_MUST_CHECK int og__depot_open(struct og_depot **out, int n, struct og_err *err);
/* Nobody takes any more. Parcels that are held keep it. */
void og__depot_close(struct og_depot *d);

/* Room for `bytes` in a parcel's arena, whose contents are lost; what it grows by is added to
 * *grown. */
OG_MUST_CHECK int og__parcel_reserve(struct og_parcel *p, size_t bytes, struct og_err *err);

void og__parcels_put(struct og_parcels *list, struct og_parcel *p);
struct og_parcel *og__parcels_take(struct og_parcels *list); /* NULL: it is empty */

/* Is this the process that opened it? Threads, and so locks and flows, are not there after fork. */
bool og__depot_is_ours(const struct og_depot *d);

#endif

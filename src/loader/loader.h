/* loader: the flow as a call that returns the next batch.
 *
 *     a thread:    og__run_batches ──> hand over: copy into a spare buffer ──> ready
 *     the caller:  og_loader_next <─────────────────────────────────────────────┘
 *
 * One run of the flow continues over the ends of epochs. It waits if no buffer is spare, so buffers
 * and batches in flight bound its lookahead. Starting any epoch but the next ends the run and
 * begins another.
 *
 *     open.c          opening and closing
 *     loader.c        starting epochs, restoring positions, the next batch
 *     run.c           the thread: what it runs, and ending it
 *     place.c         the position, as text and back
 *     counts.c        plan and counters, as text
 *     buffer_pool.c   batch buffers
 *     minibatch.c     copying into them; minibatch_types.c: heterogeneous graphs
 *     layout.c        placement of their arrays */
#ifndef OG_LOADER_H
#define OG_LOADER_H

#include "base/named_memory.h"
#include "loader/buffer_pool.h"
#include "loader/minibatch.h"
#include "session/session.h"

/* State of the thread's run. */
struct og_loading_run {
    pthread_t thread;
    bool begun;           /* the thread exists and must be joined */
    enum og__split pass;  /* OG__SPLITS: epochs */
    uint64_t first, last; /* items */
    /* guarded by lock */
    uint64_t next; /* index of the caller's next batch */
    bool ended;
    int rc;
    struct og_err err;
};

/* State of the caller's epoch or pass. */
struct og_going {
    bool on;                 /* until its end was returned */
    bool pass;               /* a pass over a split, else an epoch */
    uint64_t batch, batches; /* the next one, and their number */
};

struct og_epoch_sums {
    uint32_t epoch;
    uint64_t batches;
    struct og_epoch_counters counters;
};

struct og_loader {
    /* constant after opening */
    struct og_session *s;
    struct og_buffer_pool *buffer_pool;
    struct og_observer observer; /* of the session */
    const volatile sig_atomic_t *user_stop;
    struct og_named_memory shared; /* with ranks of this machine */
    int hold;
    const char *split;       /* "train", ..., or "seeds" */
    uint64_t seeds_checksum; /* of the caller's seeds */

    volatile sig_atomic_t stop;      /* of the session: ends a run */
    size_t charged;                  /* to the session's budget, for buffers; the run's thread */
    size_t released;                 /* of them while a superbatch is prepared; the run's thread */
    struct og_minibatch_maker maker; /* the run's thread */
    bool predicted;                  /* the plan has predicted reads; the run's thread */

    pthread_mutex_t
        steering; /* held by calls that start or end runs; taken before buffer_pool->lock */
    struct og_loading_run run;

    /* guarded by buffer_pool->lock */
    bool halting; /* the run must end */
    bool closing;
    int n_inside; /* threads in calls that wait */
    struct og_going going;
    uint32_t epoch; /* of the run's next batch, and */
    uint64_t batch; /* its number in the epoch */
    double lap;     /* when the caller got the last batch */
    char *plan;
    struct og_epoch_sums *epochs; /* [n_epochs] */
    size_t n_epochs;
};

/* -ECHILD in another process than the one that opened it. */
OG_MUST_CHECK int og__loader_ours(const struct og_loader *l, struct og_err *err);

/* ---- run.c ---- */

/* Start a run with item `first`; none may exist. Caller holds `steering`. */
OG_MUST_CHECK int og__loader_run(struct og_loader *l, enum og__split pass, uint64_t first,
                                 uint64_t last, struct og_err *err);
/* The functions of an og_handover; arg: the loader. */
OG_MUST_CHECK int og__loader_release(void *arg, struct og_err *err);
OG_MUST_CHECK int og__loader_reclaim(void *arg, struct og_err *err);
/* End the run, if there is one. Drops ready batches. Caller holds `steering`. */
void og__loader_halt(struct og_loader *l);

#endif

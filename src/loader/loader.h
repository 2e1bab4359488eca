/* loader: the flow turned inside out: a call that returns the next batch.
 *
 *   a thread:    og__run_batches ──> hand over: copy into a spare parcel ──> ready
 *   the caller:  og_loader_next <─────────────────────────────────────────────┘
 *
 * One run of the flow goes on over the ends of epochs. It waits where no parcel is spare, so it is
 * as far ahead as there are parcels, and batches in flight. Asked for another epoch than the next,
 * the run is ended and another begun there.
 *
 *   open.c       opening and closing
 *   loader.c     going to epochs and places, the next batch
 *   run.c        the thread: what it runs, and ending it
 *   place.c      which batch is next, as text and back
 *   counts.c     plan and counters, as text
 *   depot.c      parcels, which batches lie in
 *   minibatch.c  copying them there; minibatch_types.c: with types
 *   layout.c     where their arrays lie */
#ifndef OG_LOADER_H
#define OG_LOADER_H

#include "loader/depot.h"
#include "loader/minibatch.h"
#include "session/session.h"

/* What the thread goes through. */
struct og_loading_run {
    pthread_t thread;
    bool begun;           /* there is a thread, to be joined */
    enum og__split pass;  /* OG__SPLITS: epochs */
    uint64_t first, last; /* items */
    /* guarded by lock */
    uint64_t next; /* whose batch the caller gets next */
    bool ended;
    int rc;
    struct og_err err;
};

/* What the caller goes through. */
struct og_going {
    bool on;                 /* until its end was told */
    bool pass;               /* over a split, or else an epoch */
    uint64_t batch, batches; /* the next one, and how many there are */
};

struct og_epoch_sums {
    uint32_t epoch;
    uint64_t batches;
    struct og_epoch_counters counters;
};

struct og_loader {
    /* set while it is opened, then constant */
    struct og_session *s;
    struct og_depot *depot;
    struct og_observer seen; /* the session's */
    const volatile sig_atomic_t *user_stop;
    int hold;
    const char *split;       /* "train", ..., or "seeds" */
    uint64_t seeds_checksum; /* of the caller's own */

    volatile sig_atomic_t stop;      /* the session's: ends a run */
    size_t charged;                  /* of the session's budget, for parcels; the run's thread */
    struct og_minibatch_maker maker; /* the run's thread */
    bool predicted;                  /* the plan says what will be read; the run's thread */

    pthread_mutex_t steering; /* who begins or ends runs; taken before depot->lock */
    struct og_loading_run run;

    /* guarded by depot->lock */
    bool halting; /* the run is to end */
    bool closing;
    int n_inside; /* threads in calls that wait */
    struct og_going going;
    uint32_t epoch; /* of the next batch of the run, and */
    uint64_t batch; /* its number there */
    double lap;     /* when the caller got the last batch */
    char *plan;
    struct og_epoch_sums *epochs; /* [n_epochs] */
    size_t n_epochs;
};

/* -ECHILD in another process than the one that opened it. */
OG_MUST_CHECK int og__loader_ours(const struct og_loader *l, struct og_err *err);

/* ---- run.c ---- */

/* Begin with item `first`; no run is there. Caller holds `steering`. */
OG_MUST_CHECK int og__loader_run(struct og_loader *l, enum og__split pass, uint64_t first,
                                 uint64_t last, struct og_err *err);
/* End it, if there is one. Batches that are ready are dropped. Caller holds `steering`. */
void og__loader_halt(struct og_loader *l);

#endif

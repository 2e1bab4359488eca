/* Sources of mini-batches, plans and rows, a file each. A source is a struct of its own state, and
 * a function that makes the table which a flow takes. The struct must stay where it is until the
 * flow has run.
 *
 *   batches   sampled    drawn from the graph, each by itself
 *             together   drawn from the graph on disk, many at a time
 *             stored     of training: read from a folder of samples (--samples); others are sampled
 *             replayed   sampled ahead, with a superbatch; once, or in each epoch of a draw
 *   plans     of one cache, or of a device's over the host's (plans.c). They are made batch by
 *             batch, or with the superbatch, and spilled
 *   rows      gathered   from the host's cache and its disk
 *             device     and from there to a device (device_rows.h) */
#ifndef OG_SOURCE_H
#define OG_SOURCE_H

#include "base/spill.h"
#include "flow/filling.h"
#include "flow/flow.h"
#include "flow/offline.h"
#include "gather/gather.h"
#include "plan/policy.h"
#include "sample/group_sampling.h"
#include "sample/superbatch.h"

#include <pthread.h>

/* ---- batches ---- */

struct og_sampled_source {
    struct og_sampler **samplers; /* [n_samplers] one a thread */
    int n_samplers, n_hops;
};
struct og_batch_source og__source_sampled(struct og_sampled_source *s);

/* Sample groups. The first thread that needs a batch of a group samples the group, on all
 * threads, once the groups before it are taken. */
struct og_sample_group_source {
    const struct og_sampled_source *sampled;
    const struct og_seed_source *seeds;
    struct og_items items; /* of the flow */
    bool skips_training;   /* a folder has those batches */
    struct og_budget *budget;
    /* its own */
    struct og_group_sampling *group_sampling;
    struct og_seeds its_seeds;
    uint64_t *item; /* [most] of the group */
    uint32_t most;  /* batches of a group */
    struct og_group_sampling_counts counts;
    /* topology reads of the group that predicts an epoch; its batches, 0 = none, and those of
     * training. It is the first that had as many training batches as any */
    struct og_sample_reads told;
    uint32_t n_told, n_training;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t n, left; /* batches; not taken yet */
    uint64_t end;     /* items from here on are of no group so far */
    bool failed;
};
struct og_batch_source og__source_sample_groups(struct og_sample_group_source *s);
/* What is set above is; close also after a failed open. */
OG_MUST_CHECK int og__sample_group_source_open(struct og_sample_group_source *s,
                                               const struct og_topology *topology,
                                               const struct og_group_sampling_options *opt,
                                               struct og_err *err);
void og__sample_group_source_close(struct og_sample_group_source *s);

/* How a batch's draws are keyed. */
struct og_sample_key og__sample_key_of(const struct og_descriptor *descriptor);

struct og_stored_source {
    struct og_batch_source sampled; /* what the folder does not have */
    const struct og_offline *folder;
    struct og_items items; /* of the flow */
    bool ids_only;         /* only ids and counts are needed */
};
struct og_batch_source og__source_stored(struct og_stored_source *s);

/* What sampling one batch took, kept until it is replayed; counted once, however often it is. */
struct og_sampled_lookahead {
    double seconds;
    struct og_sample_reads from;
    uint64_t codes_at; /* where its plan was spilled to */
};

struct og_replayed_source {
    struct og_superbatch *batches;
    struct og_sampled_lookahead *lookahead; /* one for each of them */
    struct og_items items;                  /* of the flow */
    /* Whether they are the batches of one epoch, training and then validation. Then all epochs
     * train on them; else one is for each item. */
    bool by_draw;
    struct og_lookahead_counts prepared; /* counted with the first item */
};
struct og_batch_source og__source_replayed(struct og_replayed_source *s);

/* The seeds of an item are known without its batch: if they agree, the batch is the item's. What it
 * is judged by is taken for the item, and has as many rows. */
bool og__has_its_seeds(const struct og_work *w);

/* ---- plans ---- */

/* The batch's. */
OG_MUST_CHECK int og__planned_ids_of(struct og_work *w, const struct og_graph_types *groups,
                                     struct og_err *err);

/* By the path's policy, or tiers; those that were made ahead are in its stores. */
struct og_plans {
    struct og_data_path *path;
    const struct og_sampled_lookahead *lookahead; /* by number of the batch */
};
/* As og_plan_source has them: of one cache, */
OG_MUST_CHECK int og__plan_by_policy(void *plans, struct og_work *w, struct og_err *err);
OG_MUST_CHECK int og__read_back_codes(void *plans, struct og_work *w, struct og_err *err);
/* and of a device's over the host's, whose policies do not look ahead, or do. */
OG_MUST_CHECK int og__plan_by_tiers(void *plans, struct og_work *w, struct og_err *err);
OG_MUST_CHECK int og__read_back_tiers(void *plans, struct og_work *w, struct og_err *err);

/* ---- rows ---- */

struct og_row_store og__rows_gathered(struct og_gather *g); /* g is closed with it */

#endif

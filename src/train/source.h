/* Sources of mini-batches and of plans: a file each, a struct that is the source's own state, and a
 * function that makes the table of it which a flow takes. The struct must stay where it is until
 * the flow has run.
 *
 *   batches   sampled    drawn from the graph
 *             stored     of training: read from a folder of samples (--samples); others are sampled
 *             replayed   sampled ahead, with a superbatch; once, or in each epoch of a draw
 *   plans     policy     made batch by batch
 *             stored     made with the superbatch, and spilled */
#ifndef OG_SOURCE_H
#define OG_SOURCE_H

#include "base/spill.h"
#include "plan/policy.h"
#include "sample/superbatch.h"
#include "train/flow.h"
#include "train/offline.h"

/* ---- batches ---- */

struct og_sampled_source {
    struct og_sampler **samplers; /* [n_samplers] one a thread */
    int n_samplers, n_hops;
};
struct og_batch_source og__source_sampled(struct og_sampled_source *s);

struct og_stored_source {
    struct og_sampled_source sampled; /* what the folder does not have */
    const struct og_offline *folder;
    struct og_items items; /* of the flow */
    bool ids_only;         /* nothing but ids and counts is wanted */
};
struct og_batch_source og__source_stored(struct og_stored_source *s);

/* What sampling one batch took, kept until it is replayed; told once, however often it is. */
struct og_sampled_ahead {
    double seconds;
    struct og_sample_reads from;
    uint64_t codes_at; /* where its plan was spilled to */
};

struct og_replayed_source {
    struct og_superbatch *batches;
    struct og_sampled_ahead *ahead; /* one for each of them */
    struct og_items items;          /* of the flow */
    /* They are the batches of one epoch, training and then validation, for all epochs that train on
     * them; else one for each item. */
    bool by_draw;
    struct og_ahead_counts prepared; /* told with the first item */
};
struct og_batch_source og__source_replayed(struct og_replayed_source *s);

/* The seeds of an item are known without its batch: that they agree tells that the batch is the
 * item's. What it is judged by is taken for the item, and has as many rows. */
bool og__has_its_seeds(const struct og_work *w);

/* ---- plans ---- */

struct og_policy_plans {
    struct og_policy *policy;
    struct og_planner *planner;
};
struct og_plan_source og__plans_of_policy(struct og_policy_plans *p);

struct og_stored_plans {
    struct og_spill *codes;
    const struct og_sampled_ahead *ahead; /* by number of the batch */
    uint32_t n_slots;                     /* which they are for */
    struct og_planner *planner;
};
struct og_plan_source og__plans_stored(struct og_stored_plans *p);

#endif

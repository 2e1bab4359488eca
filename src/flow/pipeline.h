/* pipeline: a flow over a data path, and the sources that its batches and plans come from. Filled
 * in place by one of the functions below, and not moved until its flow has run. */
#ifndef OG_PIPELINE_H
#define OG_PIPELINE_H

#include "flow/data_path.h"
#include "flow/source.h"

struct og_pipeline {
    struct og_flow flow;
    struct og_data_path *path;
    bool group_sampling; /* batches come from that source */
    struct {
        struct og_sampled_source sampled;
        struct og_sample_group_source group_sampling;
        struct og_stored_source stored;
        struct og_replayed_source replayed;
    } batches;
    struct og_plans plans;
};

/* Runs its flow, once; as og__flow_run. */
OG_MUST_CHECK int og__pipeline_run(struct og_pipeline *p, og_consumer *consumer, void *arg,
                                   struct og_err *err);

/* Batches alone, sampled or read from --samples; nothing is planned or loaded. */
void og__pipeline_sample(struct og_pipeline *p, struct og_data_path *d, struct og_items items,
                         bool ids_only);
/* The same batches, planned by the policy as they come, and loaded. */
void og__pipeline_train(struct og_pipeline *p, struct og_data_path *d, struct og_items items);
/* Neither planned nor loaded, but by the consumer, which looks at batches before their turn. */
void og__pipeline_look_on(struct og_pipeline *p, struct og_upcoming *upcoming);
/* Batches and plans of the superbatch in its stores. */
void og__pipeline_replay(struct og_pipeline *p, struct og_data_path *d,
                         const struct og_replayed_source *batches, struct og_filling *filling);

#endif

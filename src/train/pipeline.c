#include "train/pipeline.h"

static struct og_flow flow_of(struct og_data_path *d, const struct og_items *items)
{
    return (struct og_flow){.items = *items,
                            .seeds = &d->facts->seeds,
                            .works = d->works,
                            .n_works = og__works(d->way),
                            .stop = og__stop_flag(d->config),
                            .timeline = d->timeline};
}

void og__pipeline_sample(struct og_pipeline *p, struct og_data_path *d, struct og_items items,
                         bool ids_only)
{
    struct og_stored_source *from = &p->batches.stored;
    *p = (struct og_pipeline){.flow = flow_of(d, &items)};
    *from = (struct og_stored_source){.sampled = {.samplers = d->samplers,
                                                  .n_samplers = og__samplers(d->way),
                                                  .n_hops = d->config->opt.n_fanout},
                                      .folder = d->offline,
                                      .items = items,
                                      .ids_only = ids_only};
    p->flow.batches = d->offline ? og__source_stored(from) : og__source_sampled(&from->sampled);
}

static void load_rows(struct og_flow *flow, const struct og_data_path *d)
{
    flow->gather = d->gather;
    flow->n_staging = d->memory->n_staging;
}

void og__pipeline_train(struct og_pipeline *p, struct og_data_path *d, struct og_items items)
{
    og__pipeline_sample(p, d, items, false);
    p->plans.of_policy = (struct og_policy_plans){.policy = d->policy, .planner = &d->planner};
    p->flow.plans = og__plans_of_policy(&p->plans.of_policy);
    load_rows(&p->flow, d);
}

void og__pipeline_replay(struct og_pipeline *p, struct og_data_path *d,
                         const struct og_replayed_source *batches, struct og_filling *filling)
{
    *p = (struct og_pipeline){.flow = flow_of(d, &batches->items)};
    p->batches.replayed = *batches;
    p->flow.batches = og__source_replayed(&p->batches.replayed);
    p->plans.stored = (struct og_stored_plans){.codes = d->stores.codes,
                                               .ahead = batches->ahead,
                                               .n_slots = d->memory->n_slots,
                                               .planner = &d->planner};
    p->flow.plans = og__plans_stored(&p->plans.stored);
    p->flow.filling = filling;
    load_rows(&p->flow, d);
}

#include "train/pipeline.h"

static struct og_flow flow_of(struct og_session *s, const struct og_items *items)
{
    return (struct og_flow){.items = *items,
                            .seeds = &s->facts.seeds,
                            .works = s->works,
                            .n_works = og__works(&s->way),
                            .stop = s->config.seen ? s->config.seen->stop : NULL,
                            .timeline = s->timeline};
}

void og__pipeline_sample(struct og_pipeline *p, struct og_session *s, struct og_items items,
                         bool ids_only)
{
    struct og_stored_source *from = &p->batches.stored;
    *p = (struct og_pipeline){.flow = flow_of(s, &items)};
    *from = (struct og_stored_source){.sampled = {.samplers = s->samplers,
                                                  .n_samplers = og__samplers(&s->way),
                                                  .n_hops = s->config.opt.n_fanout},
                                      .folder = s->offline,
                                      .items = items,
                                      .ids_only = ids_only};
    p->flow.batches = s->offline ? og__source_stored(from) : og__source_sampled(&from->sampled);
}

static void load_rows(struct og_flow *flow, const struct og_session *s)
{
    flow->gather = s->gather;
    flow->n_staging = s->memory.n_staging;
}

void og__pipeline_train(struct og_pipeline *p, struct og_session *s, struct og_items items)
{
    og__pipeline_sample(p, s, items, false);
    p->plans.of_policy = (struct og_policy_plans){.policy = s->policy, .planner = &s->planner};
    p->flow.plans = og__plans_of_policy(&p->plans.of_policy);
    load_rows(&p->flow, s);
}

void og__pipeline_replay(struct og_pipeline *p, struct og_session *s,
                         const struct og_replayed_source *batches, struct og_filling *filling)
{
    *p = (struct og_pipeline){.flow = flow_of(s, &batches->items)};
    p->batches.replayed = *batches;
    p->flow.batches = og__source_replayed(&p->batches.replayed);
    p->plans.stored = (struct og_stored_plans){.codes = s->codes,
                                               .ahead = batches->ahead,
                                               .n_slots = s->memory.n_slots,
                                               .planner = &s->planner};
    p->flow.plans = og__plans_stored(&p->plans.stored);
    p->flow.filling = filling;
    load_rows(&p->flow, s);
}

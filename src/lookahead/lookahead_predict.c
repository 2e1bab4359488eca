/* Predicts what an epoch will read, by the plans of the first superbatch. */
#include "choose/predict.h"
#include "lookahead/lookahead_parts.h"
#include "plan/count.h"

/* The first superbatch predicts what an epoch will read: its last epoch is the steadiest. */
bool og__lookahead_predicts(const struct og_lookahead *a, uint32_t b)
{
    const struct og_schedule *schedule = &a->path->workload->schedule;
    if (a->path->predicted->known || a->pass != OG__SPLITS)
        return false;
    if (a->by_draw)
        return b < og__schedule_batches(schedule, OG__TRAIN);
    struct og_descriptor descriptor = og__schedule_at(schedule, a->first + b);
    struct og_descriptor last = og__schedule_at(schedule, a->last - 1);
    return descriptor.split == OG__TRAIN && descriptor.epoch == last.epoch;
}

bool og__lookahead_trains(const struct og_lookahead *a, uint32_t b)
{
    const struct og_items items = {&a->path->workload->schedule, a->pass, a->first, a->last};
    return og__item_at(&items, a->first + b).split == OG__TRAIN;
}

uint32_t og__lookahead_reads_from(const struct og_lookahead *a, const struct og_trace *own)
{
    uint32_t n = own->n_batches;
    while (n > 0 && !og__lookahead_trains(a, n - 1))
        n--;
    return n;
}

static uint64_t predicting_seeds(const struct og_lookahead *a)
{
    const struct og_schedule *schedule = &a->path->workload->schedule;
    const uint64_t first =
        a->by_draw ? og__schedule_start(schedule, og__lookahead_drawn(a->path, a->first))
                   : a->first;
    uint64_t seeds = 0;
    for (uint64_t b = 0; b < a->own; b++)
        if (og__lookahead_predicts(a, (uint32_t)b))
            seeds += og__schedule_at(schedule, first + b).n_seeds;
    return seeds;
}

/* Batches that came with the tail of the superbatch before were counted there. */
void og__lookahead_end_prediction(struct og_lookahead *a)
{
    struct og_io_counts *sum = &a->prediction.sum.trace;
    const uint64_t n = a->prediction.batches;
    a->prediction.seeds = predicting_seeds(a);
    *sum = a->trace;
    if (a->n_traced > 0 && a->n_traced < n) {
        sum->reads = sum->reads * n / a->n_traced;
        sum->bytes = sum->bytes * n / a->n_traced;
    }
    og__predict_epoch(&a->prediction, a->path);
}

/* What batches read is known when segments are formed. */
int og__lookahead_predict_segments(struct og_lookahead *a, uint32_t k, struct og_segments *segments,
                                   uint32_t size, struct og_err *err)
{
    struct og_data_path *d = a->path;
    const struct og_lookahead_group *w = &a->group[k];
    const uint32_t n = w->misses.n_batches;
    const struct og_read_rule *rule = &d->size[w->group].rule;
    struct og_plan_cost sum = {0};
    if (d->predicted->known || d->exchange) /* rounds are not own batches */
        return 0;
    struct og_io_counts *io = og__alloc(d->budget, n * sizeof(*io), "superbatch", err);
    int rc;
    OG_TRY(io ? og__count_segments(segments, size, rule, io, err) : -ENOMEM);
    for (uint32_t b = 0; b < n; b++) {
        if (!og__lookahead_predicts(a, b))
            continue;
        sum.reads += io[b].reads;
        sum.bytes += io[b].bytes;
    }
    og__plan_cost_add(&a->prediction.sum.plan, &sum);
    og__plan_cost_add(&d->size[w->group].seen, &sum);
out:
    og__release(d->budget, io, n * sizeof(*io), "superbatch");
    return rc;
}

int og__lookahead_predict_batch(struct og_lookahead *a, uint32_t b, const uint32_t *ids,
                                struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_plan *plan = &d->works[0].plan;
    const struct og_predicted_batch batch = {true, true, &a->sampled[b].from};
    OG_DO(og__plan_misses(&d->planner, ids, d->memory->n_slots, plan, err));
    return og__predict_batch(&a->prediction, d, plan, &batch, err);
}

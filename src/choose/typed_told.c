#include "choose/typed_told.h"

#include "gather/gather.h"
#include "plan/count.h"

static const char part[] = "pilot";

int og__typed_rules(struct og_data_path *d, struct og_err *err)
{
    const struct og_graph_types *types = d->facts->types;
    int rc = 0;
    for (uint32_t t = 0; t < types->n_types; t++)
        if (og__has_features(&types->type[t]))
            OG_TRY(og__gather_read_rule(&d->facts->graph->group[t], d->config->opt.io, d->budget,
                                        &d->told[t].rule, err));
out:
    return rc;
}

/* ---- a batch ---- */

/* Slots of a type follow each other. */
static void count_hits(const struct og_typed_told *told, uint32_t n_types,
                       const struct og_plan *plan, uint32_t *hits)
{
    uint64_t end[OG_MOST_TYPES]; /* of its slots */
    uint64_t slots = 0;
    for (uint32_t t = 0; t < n_types; t++) {
        end[t] = slots += told[t].slots;
        hits[t] = 0;
    }
    for (uint32_t i = 0; i < plan->n; i++) {
        uint32_t t = 0;
        while (t < n_types && plan->place[i] >= end[t])
            t++;
        if (t < n_types)
            hits[t]++;
    }
}

static struct og_counting counting_of(const struct og_data_path *d,
                                      const struct og_typed_told *told)
{
    return (struct og_counting){
        .layout = og__layout_of(d->way->layout), .rule = &told->rule, .row_bytes = told->row_bytes};
}

/* Misses ascend, so those of a type follow each other; each is read by its number in the type,
 * which they are for the time being. */
void og__typed_count(const struct og_data_path *d, const struct og_plan *plan,
                     struct og_plan_cost *sum)
{
    const struct og_graph_types *types = d->facts->types;
    uint32_t hits[OG_MOST_TYPES];
    uint32_t i = 0;
    count_hits(d->told, types->n_types, plan, hits);
    for (uint32_t t = 0; t < types->n_types; t++) {
        const struct og_counting how = counting_of(d, &d->told[t]);
        const uint32_t first = og__first_id(types, t), begin = i;
        struct og_plan_cost cost = {0};
        for (; i < plan->n_misses && plan->misses[i] < types->type[t].end; i++)
            plan->misses[i] -= first;
        if (hits[t] + i > begin)
            og__count_batch(&how, hits[t] + i - begin, plan->misses + begin, i - begin, &cost);
        for (uint32_t k = begin; k < i; k++)
            plan->misses[k] += first;
        og__plan_cost_add(&d->told[t].seen, &cost);
        og__plan_cost_add(sum, &cost);
    }
}

void og__typed_count_part(const struct og_data_path *d, uint32_t k, const struct og_tiers_plan *of,
                          uint32_t batch, struct og_plan_cost *sum)
{
    struct og_typed_told *told = d->told;
    struct og_plan_cost cost = {0};
    for (uint32_t left = k; told->row_bytes == 0 || left > 0; told++)
        left -= told->row_bytes > 0;
    const struct og_counting how = counting_of(d, told);
    if (of->plan.n > 0)
        og__count_batch(&how, of->plan.n, of->plan.misses, of->plan.n_misses, &cost);
    og__plan_cost_add(&told->seen, &cost);
    og__plan_cost_add(sum, &cost);
    og__tiers_cost_add(&told->seen_tiers, og__tiers_part_setup(d->tiers, k), of, batch);
}

/* ---- the pilot's ---- */

static int tell_batch(struct og_data_path *d, const uint32_t *ids, uint32_t n, uint32_t *planned,
                      struct og_plan *plan, struct og_plan_cost *sum, struct og_err *err)
{
    uint32_t n_of[OG_MOST_TYPES];
    n = og__ids_with_features(d->facts->types, ids, n, planned, n_of);
    int rc;
    OG_TRY(og__policy_plan(d->policy, &d->planner, planned, n, plan, err));
    og__typed_count(d, plan, sum);
out:
    return rc;
}

int og__typed_tell(struct og_data_path *d, const struct og_pilot *pilot, struct og_err *err)
{
    struct og_plan plan;
    struct og_plan_cost sum = {0};
    size_t most = 1;
    for (uint32_t b = 0; b < pilot->n; b++)
        most = OG_MAX(most, (size_t)(pilot->ptr[b + 1] - pilot->ptr[b]));
    uint32_t *planned = og__alloc(d->budget, most * sizeof(*planned), part, err);
    int rc;
    og__plan_init(&plan, d->budget);
    OG_TRY(planned ? 0 : -ENOMEM);
    for (uint32_t b = 0; b < pilot->n; b++)
        OG_TRY(tell_batch(d, pilot->ids + pilot->ptr[b],
                          (uint32_t)(pilot->ptr[b + 1] - pilot->ptr[b]), planned, &plan, &sum,
                          err));
    rc = og__predict_from(d, pilot, &sum, NULL, err);
out:
    og__plan_release(&plan);
    og__release(d->budget, planned, most * sizeof(*planned), part);
    return rc;
}

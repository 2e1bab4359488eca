#include "train/typed_told.h"

#include "gather/typed_gather.h"
#include "plan/count.h"

#include <stdlib.h>

static const char part[] = "pilot";

struct teller {
    struct og_data_path *path;
    const struct og_graph_types *types;
    struct og_read_rule *rule; /* [n_types] of those with features */
    struct og_plan_cost *sum;  /* [n_types] of the pilot's batches */
    uint32_t *ids;             /* of a batch, those with features; [most] */
    uint32_t most;
    struct og_plan plan;
};

static bool has_features(const struct og_graph_type *t)
{
    return t->dim > 0 && !t->trained;
}

static int learn_rules(struct teller *t, struct og_err *err)
{
    const struct og_data_path *d = t->path;
    int rc = 0;
    for (uint32_t k = 0; k < t->types->n_types; k++)
        if (has_features(&t->types->type[k]))
            OG_TRY(og__typed_reader_rule(&d->facts->typed->type[k], d->config->opt.io, d->budget,
                                         &t->rule[k], err));
out:
    return rc;
}

/* Misses ascend, so those of a type follow each other; each type is read by its own numbers. */
static void count_misses(struct teller *t, uint32_t n_rows[])
{
    const struct og_plan *plan = &t->plan;
    uint32_t *miss = plan->misses;
    uint32_t i = 0;
    for (uint32_t k = 0; k < t->types->n_types; k++) {
        const uint32_t first = og__first_id(t->types, k), begin = i;
        const struct og_counting how = {.layout = OG__RAW, .rule = &t->rule[k]};
        for (; i < plan->n_misses && miss[i] < t->types->type[k].end; i++)
            miss[i] -= first;
        if (n_rows[k] > 0)
            og__count_batch(&how, n_rows[k], miss + begin, i - begin, &t->sum[k]);
    }
}

static int tell_batch(struct teller *t, const uint32_t *ids, uint32_t n, struct og_err *err)
{
    uint32_t n_rows[OG_MOST_TYPES] = {0};
    uint32_t planned = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = og__graph_type(t->types, ids[i]);
        if (!has_features(&t->types->type[k]))
            continue;
        t->ids[planned++] = ids[i];
        n_rows[k]++;
    }
    int rc;
    OG_TRY(og__policy_plan(t->path->policy, &t->path->planner, t->ids, planned, &t->plan, err));
    count_misses(t, n_rows);
out:
    return rc;
}

static int open_teller(struct teller *t, struct og_data_path *d, const struct og_pilot *pilot,
                       struct og_err *err)
{
    *t = (struct teller){.path = d, .types = d->facts->types};
    og__plan_init(&t->plan, d->budget);
    for (uint32_t b = 0; b < pilot->n; b++)
        t->most = OG_MAX(t->most, (uint32_t)(pilot->ptr[b + 1] - pilot->ptr[b]));
    t->rule = calloc(t->types->n_types, sizeof(*t->rule));
    t->sum = calloc(t->types->n_types, sizeof(*t->sum));
    if (!t->rule || !t->sum)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", d->facts->ds->path);
    t->ids = og__alloc(d->budget, t->most * sizeof(*t->ids), part, err);
    return t->ids ? learn_rules(t, err) : -ENOMEM;
}

static void close_teller(struct teller *t)
{
    og__plan_release(&t->plan);
    og__release(t->path->budget, t->ids, t->most * sizeof(*t->ids), part);
    free(t->rule);
    free(t->sum);
}

int og__typed_tell(struct og_data_path *d, const struct og_pilot *pilot, struct og_typed_told *told,
                   struct og_err *err)
{
    struct teller t;
    struct og_plan_cost all = {0};
    int rc;
    OG_TRY(open_teller(&t, d, pilot, err));
    for (uint32_t b = 0; b < pilot->n; b++)
        OG_TRY(tell_batch(&t, pilot->ids + pilot->ptr[b],
                          (uint32_t)(pilot->ptr[b + 1] - pilot->ptr[b]), err));
    for (uint32_t k = 0; k < t.types->n_types; k++) {
        told[k].epoch = og__predict_scaled(d, pilot, &t.sum[k]);
        og__plan_cost_add(&all, &t.sum[k]);
    }
    rc = og__predict_from(d, pilot, &all, NULL, err);
out:
    close_teller(&t);
    return rc;
}

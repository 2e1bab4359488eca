#include "learn/type_scores.h"

#include "nn/relational.h"

#include <string.h>

static const char part[] = "labels";

/* ==== memory ==== */

/* The first type from t on that has labels; NONE: there is none. */
enum { NONE = UINT32_MAX };
static uint32_t next_type(const struct og_workload *f, uint32_t t)
{
    const struct og_graph_type *type = f->types->type;
    for (; t < f->types->n_types; t++)
        if (type[t].target)
            return t;
    return NONE;
}

static uint32_t count_types(const struct og_workload *f)
{
    uint32_t n = 0;
    if (og__of_pairs(&f->shape) || !og__mixes_seeds(&f->shape))
        return 0;
    for (uint32_t t = next_type(f, 0); t != NONE; t = next_type(f, t + 1))
        n++;
    return n;
}

/* Nodes of the type in the larger held-out split. */
static size_t held_out_of(const struct og_workload *f, uint32_t type)
{
    size_t most = 0;
    for (enum og__split i = OG__VALID; i <= OG__TEST; i++) {
        size_t n = 0;
        for (int64_t k = 0; k < f->split[i].n; k++)
            n += og__graph_type(f->types, f->split[i].ids[k]) == type;
        most = OG_MAX(most, n);
    }
    return most;
}

static size_t table_bytes(uint32_t n)
{
    return n * sizeof(struct og_type_score);
}

static size_t part_bytes(uint32_t n, int ranks)
{
    return (size_t)ranks * n * sizeof(struct og_metrics);
}

size_t og__type_scores_bytes(const struct og_workload *f, int ranks)
{
    const uint32_t n = count_types(f);
    size_t bytes = 0;
    if (n == 0)
        return 0;
    for (uint32_t t = next_type(f, 0); t != NONE; t = next_type(f, t + 1)) {
        const struct og_pass_sizes s = og__pass_sizes(&f->shape, held_out_of(f, t));
        bytes += og__pass_bytes(&s);
    }
    return bytes + table_bytes(n) + part_bytes(n, ranks) + og__targets_bytes(f);
}

static int open_types(struct og_type_scores *c, struct og_err *err)
{
    const struct og_workload *f = c->workload;
    struct og_type_score *of = c->of;
    for (uint32_t t = next_type(f, 0); t != NONE; t = next_type(f, t + 1)) {
        of->name = f->types->type[t].name;
        of->type = t;
        OG_DO(og__scores_open(&of->scores, &f->shape, c->model, held_out_of(f, t), c->budget, err));
        of++;
    }
    return 0;
}

int og__type_scores_open(struct og_type_scores *c, const struct og_workload *f,
                         struct og_model *model, int ranks, int rank, struct og_budget *b,
                         struct og_err *err)
{
    *c = (struct og_type_scores){.workload = f,
                                 .model = model,
                                 .budget = b,
                                 .ranks = ranks,
                                 .rank = rank,
                                 .n = count_types(f)};
    if (c->n == 0)
        return 0;
    c->of = og__alloc(b, table_bytes(c->n), part, err);
    c->part = og__alloc(b, part_bytes(c->n, ranks), part, err);
    c->targets = og__alloc(b, og__targets_bytes(f), part, err);
    if (!c->of || !c->part || !c->targets)
        return -ENOMEM;
    memset(c->of, 0, table_bytes(c->n));
    memset(c->part, 0, part_bytes(c->n, ranks));
    return open_types(c, err);
}

void og__type_scores_close(struct og_type_scores *c)
{
    for (uint32_t k = 0; c->of && k < c->n; k++)
        og__scores_close(&c->of[k].scores);
    og__release(c->budget, c->of, table_bytes(c->n), part);
    og__release(c->budget, c->part, part_bytes(c->n, c->ranks), part);
    if (c->targets)
        og__release(c->budget, c->targets, og__targets_bytes(c->workload), part);
    *c = (struct og_type_scores){0};
}

void og__type_scores_clear(struct og_type_scores *c)
{
    for (uint32_t k = 0; k < c->n; k++) {
        c->of[k].sum = (struct og_metrics){0};
        og__scores_clear(&c->of[k].scores);
    }
}

/* ==== a pass ==== */

/* The batch's targets, with labels of other types unknown. */
static void keep_type(const struct og_type_scores *c, const struct og_batch *batch, uint32_t type,
                      const void *targets)
{
    const struct og_workload *f = c->workload;
    memcpy(c->targets, targets, og__seed_targets_bytes(f, batch->n_seeds));
    for (uint32_t i = 0; i < batch->n_seeds; i++) {
        const bool other = og__graph_type(f->types, batch->ids[i]) != type;
        if (other)
            og__forget_label(f->graph, c->targets, i);
    }
}

int og__type_scores_add(struct og_type_scores *c, const struct og_work *w, const void *targets,
                        struct og_err *err)
{
    const struct og_batch *batch = &w->sampled.batch;
    int rc = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        struct og_metrics *own = &c->part[(size_t)c->rank * c->n + k];
        *own = (struct og_metrics){0};
        keep_type(c, batch, c->of[k].type, targets);
        OG_TRY(og__model_judge(c->model, c->targets, batch->n_seeds, own, err));
        OG_TRY(og__scores_add(&c->of[k].scores, batch->n_seeds, c->targets, err));
    }
out:
    return rc;
}

void og__type_scores_take(struct og_type_scores *c, int rank)
{
    for (uint32_t k = 0; k < c->n; k++)
        og__metrics_add(&c->of[k].sum, &c->part[(size_t)rank * c->n + k]);
}

void og__type_scores_rank(struct og_type_scores *c)
{
    for (uint32_t k = 0; k < c->n; k++)
        og__scores_rank(&c->of[k].scores);
}

json_t *og__type_scores_json(const struct og_type_scores *c)
{
    json_t *all = c->n > 0 ? json_object() : json_null();
    for (uint32_t k = 0; k < c->n; k++) {
        const struct og_type_score *of = &c->of[k];
        json_t *row = json_pack("{s:I}", "nodes", (json_int_t)of->sum.counted);
        row = og__json_joined(row, og__scores_json(&of->scores, &of->sum));
        all = og__json_with(all, of->name, row);
    }
    return all;
}

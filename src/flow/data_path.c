#include "flow/data_path.h"

#include "base/scratch.h"
#include "flow/exchange.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is prepared ahead ---- */

int og__stores_name(struct og_stores *s, struct og_places places, struct og_err *err)
{
    og__places_free(&s->scratch);
    int rc = og__places_copy(&s->scratch, places, err);
    if (rc == 0)
        og__scratch_sweep(s->scratch);
    return rc;
}

int og__stores_hold_packs(struct og_stores *s, uint32_t n, struct og_err *err)
{
    s->pack = calloc(OG_MAX(n, 1u), sizeof(struct og_pack *));
    s->n_packs = s->pack ? n : 0;
    return s->pack ? 0 : og__fail_errno(err, -ENOMEM, NULL, "packing");
}

void og__stores_drop_packs(struct og_stores *s)
{
    for (uint32_t k = 0; k < s->n_packs; k++)
        og__pack_close(s->pack[k]);
    free(s->pack);
    s->pack = NULL;
    s->n_packs = 0;
}

void og__stores_close(struct og_stores *s)
{
    og__superbatch_close(s->superbatch);
    og__spill_close(s->codes);
    og__stores_drop_packs(s);
    og__scratch_close(s->pack_dir);
    og__packs_close(s->packs);
    og__places_free(&s->scratch);
    og__next_use_list_release(&s->uses);
    *s = (struct og_stores){0};
}

/* ---- samplers and works ---- */

static int sample_on_device(struct og_data_path *d, struct og_err *err)
{
    const struct og_plan_inputs given = {d->config, d->workload, d->exec};
    return og__device_sampling_open(&d->sampling, &given, &d->structure->topology, d->samplers,
                                    og__samplers(d->exec), d->budget, err);
}

/* Those that are closed. */
static int open_each(struct og_data_path *d, struct og_err *err)
{
    for (int i = 0; i < og__samplers(d->exec); i++)
        if (!d->samplers[i])
            OG_DO(og__structure_sampler(d->structure, &d->samplers[i], d->budget, err));
    return 0;
}

static void close_each(struct og_data_path *d)
{
    for (int i = 0; d->samplers && i < og__samplers(d->exec); i++) {
        og__sampler_close(d->samplers[i]);
        d->samplers[i] = NULL;
    }
}

static int open_samplers(struct og_data_path *d, struct og_err *err)
{
    d->samplers = calloc((size_t)og__samplers(d->exec), sizeof(struct og_sampler *));
    if (!d->samplers)
        return og__fail_errno(err, -ENOMEM, NULL, "samplers");
    OG_DO(open_each(d, err));
    if (d->config->opt.sample_on != OG_SAMPLE_ON_HOST)
        OG_DO(sample_on_device(d, err));
    return 0;
}

int og__data_path_begin_sampling(struct og_data_path *d, struct og_io_counts *read,
                                 uint64_t *written, struct og_err *err)
{
    OG_DO(og__structure_fetch(d->structure, read, written, err));
    return open_each(d, err);
}

void og__data_path_end_sampling(struct og_data_path *d)
{
    if (d->config->opt.sample_on == OG_SAMPLE_ON_HOST)
        close_each(d);
    og__structure_drop(d->structure);
}

static int open_works(struct og_data_path *d, unsigned want, struct og_err *err)
{
    const struct og_workload *f = d->workload;
    uint32_t rows = (uint32_t)og__input_rows(f);
    d->works = calloc((size_t)og__works(d->exec), sizeof(*d->works));
    if (!d->works)
        return og__fail_errno(err, -ENOMEM, NULL, "batches");
    for (int i = 0; i < og__works(d->exec); i++) {
        struct og_work *w = &d->works[i];
        og__batch_init(&w->sampled, d->budget);
        og__plan_init(&w->plan, d->budget);
        og__tiers_plan_init(&w->tiers, d->budget);
        w->planned = (struct og_planned_ids){.budget = d->budget};
        w->places.budget = d->budget;
        OG_DO(og__seeds_open(&w->seeds, &f->seeds, d->budget, err));
        OG_DO(og__batch_reserve(&w->sampled, &f->caps, f->trace.extras, err));
        if (!(want & OG__WANT_FEATURES))
            continue;
        OG_DO(d->stack->reserve(d, w, rows, err));
        OG_DO(og__planned_ids_reserve(&w->planned, f->planned_groups, rows, err));
    }
    return 0;
}

static void close_work(const struct og_data_path *d, struct og_work *w)
{
    og__batch_release(&w->sampled);
    og__planned_ids_release(&w->planned);
    og__places_release(&w->places);
    d->stack->release(w);
    og__seeds_close(&w->seeds);
}

/* ---- what is in slots before a batch ---- */

static int fill_slots(struct og_data_path *d, uint64_t *prefill, struct og_io_counts *counted,
                      struct og_err *err)
{
    uint32_t *nodes = malloc(2 * OG__FILL_ROWS * sizeof(*nodes));
    uint32_t *places = nodes ? nodes + OG__FILL_ROWS : NULL;
    int rc;
    OG_TRY(nodes ? 0 : og__fail_errno(err, -ENOMEM, NULL, "filling the cache"));
    for (uint32_t n; (n = d->stack->prefill(d, nodes, places, OG__FILL_ROWS)) > 0;) {
        *prefill += n;
        og__rows_of_own(d->config, nodes, n);
        OG_TRY(d->rows.ops->fill(d->rows.self, nodes, places, n, counted, err));
        OG_TRY(og__stopped(d->config, "stopped while filling caches", err));
    }
out:
    free(nodes);
    return rc;
}

int og__data_path_fill(struct og_data_path *d, uint64_t *prefill, struct og_io_counts *counted,
                       struct og_err *err)
{
    const int rc = fill_slots(d, prefill, counted, err);
    const int ended = d->rows.ops->fill_end(d->rows.self, counted, rc < 0 ? NULL : err);
    return rc < 0 ? rc : ended;
}

/* Static and learning policies learn that it begins; what they need in slots is read now. */
static int fill_first(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    struct og_io_counts counted = {0}; /* with all that is read before the first batch */
    const int rc = d->stack->begin(d, err);
    return rc < 0 ? rc : og__data_path_fill(d, prefill, &counted, err);
}

static int fill_unless_ahead(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    return og__samples_ahead(d->exec) ? 0 : fill_first(d, prefill, err);
}

struct filling_once {
    struct og_data_path *path;
    uint64_t *prefill;
};

static int fill_once(void *arg, void *at, struct og_err *err)
{
    (void)at; /* the cache's own place */
    const struct filling_once *f = arg;
    return fill_first(f->path, f->prefill, err);
}

/* ---- the host's cache alone ---- */

static int reserve_plan(const struct og_data_path *d, struct og_work *w, uint32_t rows,
                        struct og_err *err)
{
    const uint32_t slots = og__policy_admits(d->exec->policy) ? d->memory->n_slots : 0;
    return og__exchanges(d->config) ? 0
                                    : og__plan_reserve(&w->plan, rows, OG_MIN(rows, slots), err);
}

static void release_plan(struct og_work *w)
{
    og__plan_release(&w->plan);
}

static int begin_policy(struct og_data_path *d, struct og_err *err)
{
    uint32_t n;
    return og__policy_prepare(d->policy, NULL, &n, err);
}

static uint32_t prefill_policy(struct og_data_path *d, uint32_t *nodes, uint32_t *slots,
                               uint32_t most)
{
    return og__policy_prefill(d->policy, nodes, slots, most);
}

static void invalidate_policy(struct og_data_path *d, uint32_t first)
{
    og__policy_invalidate(d->policy, first);
}

/* Which features, and how they are kept. */
static uint64_t key_of_features(const struct og_workload *f)
{
    uint64_t key = f->row_graph->identity.contents;
    for (uint32_t t = 0; t < f->row_graph->n_groups; t++)
        key = key * 31 + 1 + (uint64_t)f->row_graph->group[t].dtype;
    return key;
}

/* All rows, in the order of their ids: whichever process comes first reads them. */
static int share_cache(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    struct filling_once f = {d, prefill};
    struct og_shared_memory *c = d->config->sharing.shared_memory;
    const uint64_t key = key_of_features(d->workload);
    return og__gather_share(d->gather, c, key, fill_once, &f, err);
}

uint64_t og__cache_key(uint32_t rank)
{
    static const char name[8] = "caches"; /* and in the last byte whose */
    uint64_t key;
    memcpy(&key, name, sizeof(key));
    return key + ((uint64_t)rank << 56);
}

/* A learnable row before its first update: its value, and a state of zeros. */
static void make_row(void *self, uint32_t group, uint32_t row, float *record)
{
    const struct og_data_path *d = self;
    og__row_draw(&d->row_init[group], row, record);
    memset(record + d->row_init[group].dim, 0,
           (size_t)d->workload->graph->group[group].state * sizeof(float));
}

static int know_fresh(struct og_data_path *d, struct og_err *err)
{
    const struct og_workload *f = d->workload;
    if (!d->config->stores_rows)
        return 0;
    d->row_init = calloc(f->graph->n_groups, sizeof(*d->row_init));
    if (!d->row_init)
        return og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    for (uint32_t k = 0; k < f->graph->n_groups; k++)
        if (f->graph->group[k].state > 0)
            d->row_init[k] = og__row_init(&f->shape, k, (uint64_t)d->config->opt.seed);
    d->fresh = (struct og_fresh_rows){d, make_row};
    og__gather_fresh(d->gather, &d->fresh);
    return 0;
}

uint32_t og__foreseen_batches(const struct og_data_path *d)
{
    const bool foreseen = d->config->stores_rows && og__policy_looks_ahead(d->exec->policy) &&
                          !og__keeps_batches(d->exec) && d->memory->superbatch <= OG__MOST_FORESEEN;
    return foreseen ? (uint32_t)d->memory->superbatch : 0;
}

/* Two batches are in flight: one reads again what the other evicts (plan/writes.h). */
_Static_assert(OG__MOST_STAGING == 2, "rows that leave before a batch are read again");

static int open_gather(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    const struct og_graph *g = d->workload->row_graph;
    uint32_t n_slots[OG_MOST_TYPES] = {0};
    uint32_t staging_rows[OG_MOST_TYPES] = {0};
    const struct og_gather_options opt = {
        .n_slots = n_slots,
        .staging_rows = staging_rows,
        .rows = (uint32_t)og__read_rows(d->workload),
        .n_released = d->memory->n_released,
        .fills_during_training = og__policy_fills_during_training(d->exec->policy),
        .n_staging = d->memory->n_staging,
        .foreseen = og__foreseen_batches(d),
        .n_processes = d->memory->whole ? d->config->sharing.n : d->memory->shown,
        .reader = og__reader_setup(d->config, &d->workload->profile),
    };
    for (uint32_t k = 0; k < g->n_groups; k++) {
        n_slots[k] = (uint32_t)d->size[k].slots;
        staging_rows[k] = (uint32_t)d->size[k].staging_rows;
    }
    int rc = og__gather_open(&d->gather, g->group, g->n_groups, &opt, d->budget, err);
    d->rows = og__rows_gathered(d->gather);
    if (rc == 0)
        rc = know_fresh(d, err);
    if (rc == 0 && d->memory->shown)
        rc = og__gather_show(d->gather, d->config->sharing.shared_memory,
                             og__cache_key(d->config->share.rank), err);
    if (rc == 0 && d->memory->whole)
        return share_cache(d, prefill, err);
    return rc < 0 ? rc : fill_unless_ahead(d, prefill, err);
}

static const struct og_stack_ops of_host = {.reserve = reserve_plan,
                                            .release = release_plan,
                                            .open = open_gather,
                                            .begin = begin_policy,
                                            .prefill = prefill_policy,
                                            .invalidate = invalidate_policy,
                                            .plan = og__plan_by_policy,
                                            .read_back = og__read_back_codes};

/* ---- a device's over it ---- */

static int reserve_tiers(const struct og_data_path *d, struct og_work *w, uint32_t rows,
                         struct og_err *err)
{
    const struct og_plan_inputs given = {d->config, d->workload, d->exec};
    const struct og_tiers_setup setup = og__plan_inputs_tiers(&given, d->memory->n_slots);
    return og__tiers_plan_reserve(&w->tiers, &setup, rows, err);
}

static void release_tiers(struct og_work *w)
{
    og__tiers_plan_release(&w->tiers);
}

/* As before a batch of no rows. */
static int begin_tiers(struct og_data_path *d, struct og_err *err)
{
    uint64_t ptr[] = {0, 0};
    uint32_t none = 0;
    const struct og_trace nothing = {1, ptr, &none};
    return og__tiers_prepare(d->tiers, &nothing, 1, err);
}

static uint32_t prefill_tiers(struct og_data_path *d, uint32_t *nodes, uint32_t *places,
                              uint32_t most)
{
    return og__tiers_prefill(d->tiers, nodes, places, most);
}

static void invalidate_tiers(struct og_data_path *d, uint32_t first)
{
    og__tiers_invalidate(d->tiers, first);
}

/* Part k of plans. */
static struct og_device_group group_of(const struct og_data_path *d, uint32_t k,
                                       const struct og_group *group, int n_rooms)
{
    const struct og_rows_known *known = &d->workload->group[k];
    const struct og_tiers_places at = og__tiers_places(d->tiers, k);
    const uint32_t slots = at.victim - at.host;
    return (struct og_device_group){
        .group = group,
        .rows = {.n_slots = at.host,
                 .n_rooms = n_rooms,
                 .room_rows = known->rows,
                 .row_bytes = known->row_bytes},
        .at = at,
        .n_slots = slots,
        .staging_rows =
            (uint32_t)OG_MIN(d->size[group - group->graph->group].staging_rows, known->rows),
        .gather = {.n_released = d->memory->n_released > 0 ? slots : 0,
                   .n_staging = d->memory->n_staging,
                   .reader = og__reader_setup(d->config, &d->workload->profile)}};
}

static int open_device_rows(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    const struct og_workload *f = d->workload;
    const struct og_plan_inputs given = {d->config, f, d->exec};
    const struct og_device_plan device = og__device_plan(&given);
    const struct og_graph *g = f->row_graph;
    struct og_device_group *group = calloc(g->n_groups, sizeof(*group));
    uint32_t n = 0;
    if (!group)
        return og__fail_errno(err, -ENOMEM, NULL, "device cache");
    for (uint32_t k = 0; k < g->n_groups; k++) {
        if (g->group[k].dim == 0)
            continue;
        group[n] = group_of(d, n, &g->group[k], device.rows.n_rooms);
        group[n++].view = k;
    }
    const struct og_device_rows_setup setup = {.ops = d->to.ops,
                                               .backend = d->to.backend,
                                               .devices = d->to.devices,
                                               .bound = device.of_rows,
                                               .group = group,
                                               .n_groups = n,
                                               .n_views = g->n_groups,
                                               .timeline = &d->timeline};
    int rc = og__device_rows_open(&d->device_rows, &setup, d->budget, err);
    free(group);
    if (rc < 0)
        return rc;
    d->rows = og__rows_on_device(d->device_rows);
    return fill_unless_ahead(d, prefill, err);
}

static const struct og_stack_ops of_device = {.reserve = reserve_tiers,
                                              .release = release_tiers,
                                              .open = open_device_rows,
                                              .begin = begin_tiers,
                                              .prefill = prefill_tiers,
                                              .invalidate = invalidate_tiers,
                                              .plan = og__plan_by_tiers,
                                              .read_back = og__read_back_tiers};

/* ---- all of it ---- */

int og__data_path_open(struct og_data_path *d, unsigned want, uint64_t *prefill, struct og_err *err)
{
    d->stack = d->exec->tiers ? &of_device : &of_host;
    OG_DO(open_samplers(d, err));
    OG_DO(open_works(d, want, err));
    if (want & OG__WANT_FEATURES)
        OG_DO(d->stack->open(d, prefill, err));
    return 0;
}

void og__data_path_close(struct og_data_path *d)
{
    og__exchange_close(d->exchange);
    og__stores_close(&d->stores); /* first: what a pack is reading goes to a staging area */
    if (d->rows.ops)
        d->rows.ops->close(d->rows.self);
    for (int i = 0; d->works && i < og__works(d->exec); i++)
        close_work(d, &d->works[i]);
    free(d->works);
    close_each(d);
    free(d->samplers);
    free(d->row_init);
    og__device_sampling_close(&d->sampling);
    og__planner_release(&d->planner);
    og__policy_close(d->policy);
    og__tiers_close(d->tiers);
}

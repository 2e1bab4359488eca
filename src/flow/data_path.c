#include "flow/data_path.h"

#include "base/scratch.h"
#include "dataset/features.h"
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
    *s = (struct og_stores){0};
}

/* ---- samplers and works ---- */

static int sample_on_device(struct og_data_path *d, struct og_err *err)
{
    const struct og_premises given = {d->config, d->facts, d->way};
    return og__device_sampling_open(&d->sampling, &given, &d->structure->topology, d->samplers,
                                    og__samplers(d->way), d->budget, err);
}

static int open_samplers(struct og_data_path *d, struct og_err *err)
{
    d->samplers = calloc((size_t)og__samplers(d->way), sizeof(struct og_sampler *));
    if (!d->samplers)
        return og__fail_errno(err, -ENOMEM, NULL, "samplers");
    int rc = 0;
    for (int i = 0; i < og__samplers(d->way); i++)
        OG_TRY(og__structure_sampler(d->structure, &d->samplers[i], d->budget, err));
    if (d->config->opt.sample_on != OG_SAMPLE_ON_HOST)
        OG_TRY(sample_on_device(d, err));
out:
    return rc;
}

static int reserve_tiers(const struct og_data_path *d, struct og_work *w, uint32_t rows,
                         struct og_err *err)
{
    const struct og_premises given = {d->config, d->facts, d->way};
    const struct og_tiers_setup setup = og__premised_tiers(&given, d->memory->n_slots);
    og__tiers_plan_init(&w->tiers, d->budget);
    return og__tiers_plan_reserve(&w->tiers, &setup, rows, err);
}

static int open_works(struct og_data_path *d, unsigned want, struct og_err *err)
{
    const struct og_facts *f = d->facts;
    uint32_t rows = (uint32_t)og__input_rows(f);
    uint32_t changes = og__policy_admits(d->way->policy) ? OG_MIN(rows, d->memory->n_slots) : 0;
    d->works = calloc((size_t)og__works(d->way), sizeof(*d->works));
    if (!d->works)
        return og__fail_errno(err, -ENOMEM, NULL, "batches");
    int rc = 0;
    for (int i = 0; i < og__works(d->way); i++) {
        struct og_work *w = &d->works[i];
        og__batch_init(&w->sampled, d->budget);
        og__plan_init(&w->plan, d->budget);
        w->planned = (struct og_planned_ids){.budget = d->budget};
        OG_TRY(og__seeds_open(&w->seeds, &f->seeds, d->budget, err));
        OG_TRY(og__batch_reserve(&w->sampled, &f->caps, f->trace.extras, err));
        if (d->way->tiers)
            OG_TRY(reserve_tiers(d, w, rows, err));
        else if ((want & OG__WANT_FEATURES) && !og__exchanges(d->config))
            OG_TRY(og__plan_reserve(&w->plan, rows, changes, err));
        if (want & OG__WANT_FEATURES)
            OG_TRY(og__planned_ids_reserve(&w->planned, f->types, rows, err));
    }
out:
    return rc;
}

static void close_work(const struct og_data_path *d, struct og_work *w)
{
    og__batch_release(&w->sampled);
    og__planned_ids_release(&w->planned);
    if (d->way->tiers)
        og__tiers_plan_release(&w->tiers);
    else
        og__plan_release(&w->plan);
    og__seeds_close(&w->seeds);
}

/* ---- features ---- */

/* Nodes by the policy's numbers. */
static int fill_piece(struct og_data_path *d, uint32_t *nodes, const uint32_t *slots, uint32_t n,
                      struct og_io_counts *counted, struct og_err *err)
{
    og__rows_of_own(d->config, nodes, n);
    return og__gather_fill(d->gather, nodes, slots, n, counted, err);
}

static int fill_rows(struct og_data_path *d, struct og_io_counts *counted, struct og_err *err)
{
    int rc;
    uint32_t *nodes = malloc(2 * OG__FILL_ROWS * sizeof(*nodes));
    uint32_t *slots = nodes ? nodes + OG__FILL_ROWS : NULL;
    OG_TRY(nodes ? 0 : og__fail_errno(err, -ENOMEM, NULL, "filling the cache"));
    for (uint32_t n; (n = og__policy_prefill(d->policy, nodes, slots, OG__FILL_ROWS)) > 0;) {
        OG_TRY(fill_piece(d, nodes, slots, n, counted, err));
        OG_TRY(og__stopped(d->config, "stopped while filling caches", err));
    }
out:
    free(nodes);
    return rc;
}

/* Static and learning policies are told that it begins; what they want in the cache is read now. */
static int fill_cache(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    struct og_io_counts counted = {0}; /* with all that is read before the first batch */
    uint32_t n_prefill = 0;
    int rc = og__policy_prepare(d->policy, NULL, &n_prefill, err);
    if (rc < 0)
        return rc;
    *prefill = n_prefill;
    rc = fill_rows(d, &counted, err);
    const int ended = og__gather_fill_end(d->gather, &counted, rc < 0 ? NULL : err);
    return rc < 0 ? rc : ended;
}

struct filling_once {
    struct og_data_path *path;
    uint64_t *prefill;
};

static int fill_once(void *arg, void *at, struct og_err *err)
{
    (void)at; /* the cache's own place */
    const struct filling_once *f = arg;
    return fill_cache(f->path, f->prefill, err);
}

/* Which features, and how they are kept. */
static uint64_t key_of_features(const struct og_facts *f)
{
    uint64_t key = f->graph->identity.contents;
    for (uint32_t t = 0; t < f->graph->n_groups; t++)
        key = key * 31 + 1 + (uint64_t)f->graph->group[t].kept;
    return key;
}

/* All rows, in the order of their ids: whoever of the sharers comes first reads them. */
static int share_cache(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    struct filling_once f = {d, prefill};
    struct og_common *c = d->config->sharers.common;
    const uint64_t key = key_of_features(d->facts);
    return og__gather_share(d->gather, c, key, fill_once, &f, err);
}

uint64_t og__cache_key(uint32_t rank)
{
    static const char name[8] = "caches"; /* and in the last byte whose */
    uint64_t key;
    memcpy(&key, name, sizeof(key));
    return key + ((uint64_t)rank << 56);
}

static int open_features(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    const struct og_graph *g = d->facts->graph;
    uint32_t n_slots[OG_MOST_TYPES] = {0};
    uint32_t staging_rows[OG_MOST_TYPES] = {0};
    const struct og_gather_options opt = {
        .n_slots = n_slots,
        .staging_rows = staging_rows,
        .rows = (uint32_t)og__read_rows(d->facts),
        .n_yielded = d->memory->n_yielded,
        .fills_beside = og__policy_fills_beside(d->way->policy),
        .n_staging = d->memory->n_staging,
        .sharers = d->memory->whole ? d->config->sharers.n : d->memory->shown,
        .reader = og__reader_setup(d->config, &d->facts->profile),
    };
    for (uint32_t k = 0; k < g->n_groups; k++) {
        n_slots[k] = (uint32_t)d->size[k].slots;
        staging_rows[k] = (uint32_t)d->size[k].staging_rows;
    }
    int rc = og__gather_open(&d->gather, g->group, g->n_groups, &opt, d->budget, err);
    d->rows = og__rows_gathered(d->gather);
    if (rc == 0 && d->memory->shown)
        rc = og__gather_show(d->gather, d->config->sharers.common,
                             og__cache_key(d->config->share.rank), err);
    if (rc == 0 && d->memory->whole)
        return share_cache(d, prefill, err);
    return rc < 0 || og__samples_ahead(d->way) ? rc : fill_cache(d, prefill, err);
}

/* ---- to a device ---- */

int og__data_path_fill_tiers(struct og_data_path *d, uint64_t *prefill,
                             struct og_io_counts *counted, struct og_err *err)
{
    uint32_t *nodes = malloc(2 * OG__FILL_ROWS * sizeof(*nodes));
    uint32_t *places = nodes ? nodes + OG__FILL_ROWS : NULL;
    int rc;
    OG_TRY(nodes ? 0 : og__fail_errno(err, -ENOMEM, NULL, "filling caches"));
    for (uint32_t n; (n = og__tiers_prefill(d->tiers, nodes, places, OG__FILL_ROWS)) > 0;) {
        *prefill += n;
        OG_TRY(og__device_rows_fill(d->device_rows, nodes, places, n, counted, err));
        OG_TRY(og__stopped(d->config, "stopped while filling caches", err));
    }
out:
    free(nodes);
    const int ended = og__device_rows_fill_end(d->device_rows, counted, rc < 0 ? NULL : err);
    return rc < 0 ? rc : ended;
}

/* As before a batch of no rows. */
static int fill_first(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    uint64_t ptr[] = {0, 0};
    uint32_t none = 0;
    const struct og_trace nothing = {1, ptr, &none};
    struct og_io_counts counted = {0}; /* with all that is read before the first batch */
    const int rc = og__tiers_prepare(d->tiers, &nothing, 1, err);
    return rc < 0 ? rc : og__data_path_fill_tiers(d, prefill, &counted, err);
}

/* Rows of part k of plans, of the type that is told; of a graph without types all there are. */
static struct og_device_width_setup width_of(const struct og_data_path *d, uint32_t k,
                                             const struct og_group *group,
                                             const struct og_rows_setup *rows)
{
    const struct og_group_size *size = &d->size[group - group->graph->group];
    const struct og_tiers_places at = og__tiers_places(d->tiers, k);
    const uint32_t slots = at.victim - at.host;
    const uint32_t first = og__tiers_first(d->tiers, k);
    struct og_device_width_setup w = {
        .group = group,
        .first = first,
        .end = first + (uint32_t)og__tiers_part_setup(d->tiers, k)->host.n_nodes,
        .rows = *rows,
        .at = at,
        .n_victims = at.misses - at.victim,
        .most = (uint32_t)rows->room_rows,
        .n_slots = slots,
        .staging_rows = (uint32_t)OG_MIN(size->staging_rows, rows->room_rows),
        .gather = {.n_yielded = d->memory->n_yielded > 0 ? slots : 0,
                   .n_staging = d->memory->n_staging,
                   .reader = og__reader_setup(d->config, &d->facts->profile)}};
    return w;
}

/* Each group with features, by its part of plans. */
static void set_widths(const struct og_data_path *d, const struct og_device_plan *device,
                       struct og_device_width_setup *width)
{
    const struct og_facts *f = d->facts;
    for (uint32_t g = 0, k = 0; g < f->graph->n_groups; g++) {
        if (f->graph->group[g].dim == 0)
            continue;
        const struct og_rows_setup rows = {.n_slots = og__tiers_places(d->tiers, k).host,
                                           .n_rooms = device->rows.n_rooms,
                                           .room_rows = f->width[k].rows,
                                           .row_bytes = f->width[k].row_bytes};
        width[k] = width_of(d, k, &f->graph->group[g], &rows);
        width[k++].view = g;
    }
}

static int open_device_features(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    const struct og_facts *f = d->facts;
    const struct og_premises given = {d->config, f, d->way};
    const struct og_device_plan device = og__device_plan(&given);
    struct og_device_width_setup *width = calloc(OG_MAX(f->n_widths, 1u), sizeof(*width));
    if (!width)
        return og__fail_errno(err, -ENOMEM, NULL, "device cache");
    set_widths(d, &device, width);
    const struct og_device_rows_setup setup = {.ops = d->to.ops,
                                               .backend = d->to.backend,
                                               .devices = d->to.devices,
                                               .bound = device.of_rows,
                                               .width = width,
                                               .n_widths = f->n_widths,
                                               .n_views = f->graph->n_groups,
                                               .timeline = &d->timeline};
    int rc = og__device_rows_open(&d->device_rows, &setup, d->budget, err);
    free(width);
    if (rc < 0)
        return rc;
    d->rows = og__rows_on_device(d->device_rows);
    return og__samples_ahead(d->way) ? 0 : fill_first(d, prefill, err);
}

/* ---- the cache, wherever it is ---- */

void og__data_path_from_packs(struct og_data_path *d, struct og_pack *const *packs)
{
    if (d->device_rows)
        og__device_rows_from_packs(d->device_rows, packs);
    else
        og__gather_from_packs(d->gather, packs);
}

int og__data_path_yield(const struct og_data_path *d, uint32_t n, struct og_err *err)
{
    if (d->device_rows)
        return og__device_rows_yield(d->device_rows, n, err);
    og__gather_yield(d->gather, n);
    return 0;
}

int og__data_path_reclaim(const struct og_data_path *d, size_t bytes, struct og_err *err)
{
    if (d->device_rows) /* all or none */
        return og__device_rows_reclaim(d->device_rows, err);
    return og__gather_reclaim(d->gather, og__gather_lacking(d->gather, bytes), err);
}

const char *og__data_path_engine(const struct og_data_path *d)
{
    return d->device_rows ? og__device_rows_engine(d->device_rows) : og__gather_engine(d->gather);
}

/* ---- all of it ---- */

int og__data_path_open(struct og_data_path *d, unsigned want, uint64_t *prefill, struct og_err *err)
{
    int rc;
    OG_TRY(open_samplers(d, err));
    OG_TRY(open_works(d, want, err));
    if ((want & OG__WANT_FEATURES) && d->way->tiers)
        OG_TRY(open_device_features(d, prefill, err));
    else if ((want & OG__WANT_FEATURES))
        OG_TRY(open_features(d, prefill, err));
out:
    return rc;
}

void og__data_path_close(struct og_data_path *d)
{
    og__exchange_close(d->exchange);
    og__stores_close(&d->stores); /* first: what a pack is reading goes to a staging area */
    og__gather_close(d->gather);
    og__device_rows_close(d->device_rows);
    for (int i = 0; d->works && i < og__works(d->way); i++)
        close_work(d, &d->works[i]);
    free(d->works);
    for (int i = 0; d->samplers && i < og__samplers(d->way); i++)
        og__sampler_close(d->samplers[i]);
    free(d->samplers);
    og__device_sampling_close(&d->sampling);
    og__planner_release(&d->planner);
    og__policy_close(d->policy);
    og__tiers_close(d->tiers);
}

/* A superbatch of a device's cache over the host's: planned as a whole before its first batch. And
 * which way plans are made, of that or of one cache. */
#include "flow/filling.h"
#include "flow/tiers_spill.h"
#include "lookahead/lookahead_parts.h"
#include "plan/simulate.h"

#include <stdlib.h>

static struct og_descriptor descriptor_of(const struct og_lookahead *a, uint32_t b)
{
    return og__schedule_at(&a->path->workload->schedule, a->first + b);
}

/* Its plan is read back when it is trained. */
static void note_plan(struct og_lookahead *a, uint32_t b, const struct og_tiers_plan *plan)
{
    const struct og_io_counts asks = og__tiers_get_asks(plan);
    if (!og__samples_ahead(a->path->exec) || a->path->memory->code_bytes > 0)
        return;
    a->spill_bytes += asks.bytes;
    if (!og__lookahead_predicts(a, b))
        return;
    a->trace.reads += asks.reads;
    a->trace.bytes += asks.bytes;
}

/* As nodes of all parts; once the plan is read back they are numbers of each again. */
static void name_misses(const struct og_data_path *d, struct og_tiers_plan *plan)
{
    for (uint32_t k = 0; k < plan->n_parts; k++) {
        const struct og_tiers_plan part = og__tiers_plan_part(plan, k);
        for (uint32_t i = 0; i < part.plan.n_misses; i++)
            part.plan.misses[i] += og__tiers_first(d->tiers, k);
    }
}

/* Counts the plan of batch b, which is the next, and packs its misses. `*out` stays valid until the
 * next call. */
static int plan_batch(struct og_lookahead *a, uint32_t b, const uint32_t *ids, uint32_t n,
                      const struct og_tiers_plan **out, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_tiers_plan *plan = &d->works[0].tiers;
    OG_DO(og__tiers_plan(d->tiers, &d->planner, ids, n, plan, err));
    if (og__lookahead_predicts(a, b))
        og__predict_tiers(&a->prediction, d, plan, descriptor_of(a, b).batch, &a->sampled[b].from);
    note_plan(a, b, plan);
    if (og__packs(d->exec)) {
        name_misses(d, plan);
        OG_DO(og__lookahead_add_misses(a, plan->plan.misses, NULL, plan->plan.n_misses, err));
    }
    *out = plan;
    return 0;
}

/* ---- which threshold ---- */

/* Whether a victim buffer gains under hybrid depends on its threshold. The preset whose system has
 * both tries several. It takes the one under which most rows of the first superbatch are found on
 * the device and in the buffer; lower tiers do not count. Where all are alike, or nothing can be
 * counted, it is an eighth of the window, as Park et al. 2024 have it (§4.2). */
static bool threshold_is_open(const struct og_data_path *d)
{
    const struct og_tiers_setup *s = og__tiers_setup(d->tiers);
    return d->config->opt.preset == OG_PRESET_LSM_GNN && s->device.kind == OG_POLICY_HYBRID &&
           s->device.evict == OG_EVICT_HYBRID && s->device.threshold == 0 && s->victim.n_rings > 0;
}

/* Limits sim to the first batches that fit. Counting over them takes the memory that is kept for
 * larger batches. */
static bool fit_batches(const struct og_data_path *d, const struct og_tiers_setup *setup,
                        struct og_simulation *sim)
{
    enum { LEAST = 16 };
    const uint64_t longest = og__input_rows(d->workload);
    while (sim->superbatch >= LEAST) {
        const uint64_t rows = sim->trace.ptr[sim->superbatch];
        if (og__simulate_tiers_bytes(sim, setup, rows, longest) <= d->memory->slack)
            break;
        sim->superbatch /= 2;
    }
    sim->trace.n_batches = sim->superbatch;
    return sim->superbatch >= LEAST;
}

static int find_threshold(const struct og_data_path *d, const struct og_trace *all,
                          uint32_t *threshold, struct og_err *err)
{
    static const uint32_t parts[] = {8, 4, 2};
    struct og_tiers_setup setup = *og__tiers_setup(d->tiers);
    struct og_simulation sim = {.trace = *all,
                                .n_nodes = d->workload->n_nodes,
                                .superbatch = all->n_batches,
                                .rule = d->size[0].rule,
                                .budget = d->budget,
                                .stop = og__stop_flag(d->config)};
    uint64_t most = 0;
    *threshold = OG_MAX(setup.device.window / parts[0], 1u);
    setup.host = (struct og_policy_setup){.kind = OG_POLICY_NONE, .n_nodes = setup.host.n_nodes};
    setup.device.groups = NULL;
    if (setup.device.n_groups > 0 || !fit_batches(d, &setup, &sim))
        return 0;
    for (size_t i = 0; i < OG_COUNT(parts); i++) {
        struct og_simulated_tiers of;
        setup.device.threshold = OG_MAX(setup.device.window / parts[i], 1u);
        OG_DO(og__simulate_tiers(&sim, &setup, NULL, NULL, &of, err));
        const uint64_t found = of.tiers.device_hits + of.tiers.victim_hits;
        if (found > most)
            *threshold = setup.device.threshold;
        most = OG_MAX(most, found);
    }
    return 0;
}

/* Both caches, for the own batches of `all`, which has a tail after them. */
static int prepare(struct og_lookahead *a, const struct og_trace *all, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_err none = {0};
    uint32_t threshold;
    int rc = 0;
    if (threshold_is_open(d)) {
        rc = find_threshold(d, all, &threshold, &none);
        if (rc < 0 && rc != -ENOMEM)
            return og__fail(err, rc, none.hint, "%s", none.message);
        og__tiers_set_threshold(d->tiers, threshold);
    }
    return og__tiers_prepare(d->tiers, all, og__lookahead_own(a).n_batches, err);
}

/* ---- plans ---- */

static int put_plan(struct og_lookahead *a, uint32_t b, const uint32_t *ids, uint32_t n,
                    struct og_err *err)
{
    struct og_spill *to = a->path->stores.codes;
    const struct og_tiers_plan *plan;
    OG_DO(og__lookahead_planned(a->path, &ids, &n, err));
    a->sampled[b].codes_at = og__spill_size(to);
    OG_DO(plan_batch(a, b, ids, n, &plan, err));
    OG_DO(og__tiers_put(to, plan, err));
    return og__lookahead_within_disk(a, err);
}

static int put_all(struct og_lookahead *a, struct og_err *err)
{
    const struct og_trace own = og__lookahead_own(a);
    a->prediction = (struct og_prediction){0};
    if (og__packs(a->path->exec))
        OG_DO(og__lookahead_begin_packing(a, &own, err));
    for (uint32_t b = 0; b < own.n_batches; b++)
        OG_DO(put_plan(a, b, own.ids + own.ptr[b], (uint32_t)(own.ptr[b + 1] - own.ptr[b]), err));
    if (a->path->exec->layout != OG_LAYOUT_SEGMENTED)
        og__lookahead_end_prediction(a);
    return 0;
}

/* ---- what enters the caches before the first batch, in phased memory ---- */

/* Its pieces lie before the plans. */
static int put_fills(struct og_lookahead *a, struct og_err *err)
{
    const struct og_data_path *d = a->path;
    const size_t bytes = 2 * OG__FILL_ROWS * sizeof(uint32_t);
    uint32_t *list = og__alloc(d->budget, bytes, "trace", err);
    struct og_fill_head head = {.n = 1};
    int rc;
    OG_TRY(list ? 0 : -ENOMEM);
    a->fills_at = og__spill_size(d->stores.codes);
    for (; head.n > 0; a->n_fills++) {
        head.n = og__tiers_prefill(d->tiers, list, list + OG__FILL_ROWS, OG__FILL_ROWS);
        OG_TRY(og__filling_put_piece(head, list, d->stores.codes, err));
    }
out:
    og__release(d->budget, list, bytes, "trace");
    return rc;
}

static int fill_piece(struct og_lookahead *a, uint64_t *at, struct og_fill_piece *piece,
                      struct og_lookahead_counts *done, struct og_err *err)
{
    struct og_data_path *d = a->path;
    OG_DO(og__filling_get(d->stores.codes, at, piece, &done->read.bytes, err));
    done->prefill += piece->head.n;
    OG_DO(d->rows.ops->fill(d->rows.self, piece->nodes, piece->slots, piece->head.n, &done->read,
                            err));
    return og__stopped(d->config, "stopped while filling caches", err);
}

int og__lookahead_fill_spilled(struct og_lookahead *a, struct og_lookahead_counts *done,
                               struct og_err *err)
{
    const double start = og__now();
    if (a->n_fills == 0)
        return 0;
    struct og_fill_piece *piece = malloc(sizeof(*piece));
    uint64_t at = a->fills_at;
    int rc;
    OG_TRY(piece ? 0 : og__fail_errno(err, -ENOMEM, NULL, "filling caches"));
    for (; a->n_fills > 0; a->n_fills--)
        OG_TRY(fill_piece(a, &at, piece, done, err));
out:
    free(piece);
    const struct og_row_store *to = &a->path->rows;
    const int ended = to->ops->fill_end(to->self, &done->read, rc < 0 ? NULL : err);
    done->gather_seconds = og__now() - start;
    og__timeline_add(a->path->timeline, "fill caches", 0, start, og__now());
    return rc < 0 ? rc : ended;
}

/* ---- all of it ---- */

/* Fills both caches before the first batch is planned; their contents are known when all is
 * prepared. With phased memory they are spilled, and filled once the host's cache has its
 * memory. */
static int fill_tiers(struct og_data_path *d, struct og_lookahead_counts *done, struct og_err *err)
{
    const double start = og__now();
    const int rc = og__data_path_fill(d, &done->prefill, &done->read, err);
    done->gather_seconds = og__now() - start;
    og__timeline_add(d->timeline, "fill caches", 0, start, og__now());
    return rc;
}

static int put_tiers(struct og_lookahead *a, struct og_lookahead_counts *done, struct og_err *err)
{
    struct og_data_path *d = a->path;
    const struct og_trace all = og__superbatch_trace(d->stores.superbatch);
    const bool alternates = d->memory->alternates;
    const double start = og__now();
    int rc;
    OG_TRY(prepare(a, &all, err));
    OG_TRY(alternates ? put_fills(a, err) : fill_tiers(d, done, err));
    OG_TRY(put_all(a, err));
    if (alternates)
        og__tiers_trim(d->tiers);
    done->plan_seconds = og__now() - start - done->gather_seconds;
    og__timeline_add(d->timeline, "plan ahead", 0, start, og__now());
out:
    return rc;
}

/* ---- what an epoch will read ---- */

/* One batch of two caches. With phased memory, what is put into them before the first one is
 * spilled. */
static int count_batch(struct og_lookahead *a, uint32_t b, const uint32_t *ids, uint32_t n,
                       uint32_t *list, struct og_err *err)
{
    const struct og_tiers_plan *ignored;
    uint64_t bytes = sizeof(struct og_fill_head);
    for (uint32_t k;
         (k = og__tiers_prefill(a->path->tiers, list, list + OG__FILL_ROWS, OG__FILL_ROWS)) > 0;)
        bytes += sizeof(struct og_fill_head) + 2 * k * sizeof(*list);
    if (b == 0 && a->path->memory->alternates)
        a->spill_bytes += bytes;
    return plan_batch(a, b, ids, n, &ignored, err);
}

/* As a run has them: a superbatch, or each batch by itself. */
static int count_tiers(struct og_lookahead *a, struct og_err *err)
{
    struct og_data_path *d = a->path;
    const struct og_trace all = og__superbatch_trace(d->stores.superbatch);
    const struct og_trace own = og__lookahead_own(a);
    const bool lookahead = og__samples_ahead(d->exec);
    const size_t bytes = 2 * OG__FILL_ROWS * sizeof(uint32_t);
    uint32_t *list = og__alloc(d->budget, bytes, "trace", err);
    int rc;
    OG_TRY(list ? 0 : -ENOMEM);
    if (og__packs(d->exec))
        OG_TRY(og__lookahead_begin_packing(a, &own, err));
    OG_TRY(lookahead ? prepare(a, &all, err) : 0);
    for (uint32_t b = 0; b < own.n_batches; b++) {
        const uint32_t *ids = own.ids + own.ptr[b];
        uint64_t ptr[] = {0, own.ptr[b + 1] - own.ptr[b]};
        const struct og_trace alone = {1, ptr, ids};
        OG_TRY(lookahead ? 0 : og__tiers_prepare(d->tiers, &alone, 1, err));
        OG_TRY(count_batch(a, b, ids, (uint32_t)ptr[1], list, err));
    }
out:
    og__release(d->budget, list, bytes, "trace");
    return rc;
}

/* ---- of one cache, or of both ---- */

const struct og_lookahead_plans *og__lookahead_plans(const struct og_data_path *d)
{
    static const struct og_lookahead_plans codes = {sizeof(uint32_t), og__lookahead_put_codes,
                                                    og__lookahead_count_codes};
    static const struct og_lookahead_plans tiers = {0, put_tiers, count_tiers};
    return d->tiers ? &tiers : &codes;
}

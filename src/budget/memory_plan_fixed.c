/* All that is fixed of a memory plan, and the smallest limit that would do. */
#include "budget/device_plan.h"
#include "budget/memory_plan_parts.h"

#include "plan/demand.h"
#include "plan/packing.h"
#include "sample/spilled.h"

enum { LEAST_SWEEP = 32 * OG_MIB, SWEEP_SHARE = 16, RINGS_SHARE = 4 };

/* The victim buffer, of each group. */
static size_t victim_bytes(const struct og_plan_inputs *p, const struct og_victim_setup *rings)
{
    const struct og_workload *f = p->workload;
    size_t all = 0;
    for (uint32_t k = 0; k < f->n_groups; k++)
        all += f->group[k].row_bytes + OG__VICTIM_META_BYTES;
    return (size_t)og__victim_places(rings) * all;
}

/* Must nodes be ranked for the device's policy, or to share its slots out among groups? */
static bool ranks_there(const struct og_plan_inputs *p)
{
    const int policy = p->exec->device_policy;
    return og__policy_wants_hotness(policy) ||
           (og__shares_slots(p->workload) && og__policy_caches(policy));
}

/* Tables of the policy for an empty superbatch, without slots yet. */
static void plan_policy(struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const int policy = p->exec->policy;
    const uint64_t rows = p->exec->tiers ? og__input_rows(p->workload) : 0; /* a batch at a time */
    const struct og_planned_size batch = {rows, rows > 0, rows};
    m->policy = og__plan_inputs_tables(p, 0, &batch);
    m->policy_training = og__trimmed_tables(p, 0);
    m->alternates = p->exec->alternate;
    size_t ranks = (size_t)p->workload->n_nodes * 4;
    bool prepares = og__policy_looks_ahead(policy) && !og__policy_fills_during_training(policy);
    bool shares = og__shares_slots(p->workload) && og__policy_caches(policy);
    if (og__policy_wants_hotness(policy) || prepares || shares) /* or to guess at misses */
        m->hotness = ranks;
    if (ranks_there(p))
        m->hotness += ranks;
    const int keep = og__policy_keeps_hotness(policy) + /* as long as the run */
                     og__policy_keeps_hotness(p->exec->device_policy);
    m->policy += (size_t)keep * ranks;
    m->policy_training += (size_t)keep * ranks;
}

static void plan_sampling(struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const struct og_sizes *of = &p->workload->bytes;
    m->samples = of->samples;
    m->topology = of->structure;
    m->topology_training = of->structure_training;
    m->seeds = of->seeds;
    m->labels = of->labels + of->scores;
    m->degrees = of->degrees;
    m->sampler = (size_t)og__samplers(p->exec) * (of->sampler + of->sampler_reading);
    m->sampler_training = p->config->opt.sample_on == OG_SAMPLE_ON_HOST ? 0 : m->sampler;
    m->batches = (size_t)og__works(p->exec) * of->batch;
    m->record = of->record;
    m->handed = (size_t)p->config->handover.n * of->handed;
    if (m->handed > 0 && p->config->want & OG__WANT_FEATURES && og__samples_ahead(p->exec))
        m->handed_released = of->handed;
    m->model = of->model;
    m->activations = of->activations + of->targets + of->sampling_staging;
}

/* Rows of the batch that is trained and of the next, and requests of others. Also where rows of the
 * batches in flight are, and lists from and to others. Where ranks read rows in place, each row
 * that is requested twice counts once, and numbers of rows replace rows. Some of them may be in the
 * owner's cache and need no copies (slots.c). */
static void plan_exchange(struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    enum { ROWS = 2, LISTS = 4 };
    const struct og_workload *f = p->workload;
    const uint32_t ranks = p->config->share.ranks;
    const uint64_t read = og__read_rows(f);
    const bool in_place = og__exchanges_in_place(p->config, f);
    const size_t number = sizeof(uint32_t);
    if (!og__exchanges(p->config))
        return;
    const size_t sent = (size_t)og__sent_rows(f, ranks);
    m->exchange = ROWS * (in_place ? og__input_rows(f) * number : f->bytes.input) +
                  LISTS * og__input_rows(f) * number + sent * number +
                  (in_place ? sent * number : f->bytes.sent) +
                  og__plan_bytes(read, og__policy_admits(p->exec->policy) ? read : 0) +
                  og__demand_bytes(ranks, f->n_nodes, 1, f->requested_rows);
    if (in_place)
        m->exchange += OG__COPIES * f->bytes.read;
    if (f->bytes.planned_ids > 0) /* of an own batch and of what others request */
        m->exchange += f->bytes.planned_ids + read * number;
}

/* Counts each group by itself, no more than all rows and batches have use for. */
static size_t least_sweep(const struct og_plan_inputs *p)
{
    const struct og_workload *f = p->workload;
    const uint64_t batches = og__longest_superbatch(p);
    const size_t most = og__sweep_most(f->n_nodes, f->bytes.widest, batches, f->bytes.input);
    return OG_MIN((size_t)LEAST_SWEEP, most);
}

/* Planning and reading, but for staging and cache. */
static void plan_reading(struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const struct og_workload *f = p->workload;
    const uint64_t rows = og__read_rows(f);
    const struct og_tiers_setup tiers = og__plan_inputs_tiers(p, 1);
    const struct og_reader_options opt = {.io = p->config->opt.io, .profile = f->profile};
    const size_t reader = f->bytes.reader;
    const struct og_reader_options own = {.io = p->config->opt.io,
                                          .profile = *og__packs_profile(f)};
    const struct og_reader_options made = {.io = p->config->opt.io, .profile = f->made};
    const size_t of_made = f->made.depth > 0 ? og__reader_bytes(&made) : 0;
    const size_t of_types = f->scratch_disks > 1 ? f->n_groups * og__reader_bytes(&own) : reader;
    const size_t of_packs = OG_MAX(of_types, f->n_groups * of_made);
    const int plans = og__exchanges(p->config) ? 0 : og__works(p->exec);
    m->plans = og__plan_inputs_plans(p, plans, rows) + og__planner_bytes(rows);
    m->victim_buffer = victim_bytes(p, &tiers.victim);
    plan_exchange(m, p);
    m->plans += (size_t)og__works(p->exec) * f->bytes.planned_ids +
                OG__MOST_STAGING * f->bytes.group_staging;
    if (f->bytes.planned_ids > 0)
        m->plans += og__policy_ids_bytes(rows);
    m->reader = reader;
    if (og__samples_ahead(p->exec))
        m->reader += og__spilled_reader_bytes();
    if (og__policy_fills_during_training(p->exec->policy))
        m->reader += og__shares_slots(f) ? reader : og__gather_extra_bytes(&opt, f->row_bytes);
    if (og__packs(p->exec)) { /* of packs, which the sweep may have before */
        m->reader += OG_MAX(reader, of_packs);
        m->sweep = least_sweep(p);
    }
    if (p->exec->layout == OG_LAYOUT_SEGMENTED) { /* and of shared rows, with their orders */
        m->reader += of_packs;
        m->plans += OG__MOST_STAGING * OG_MAX(rows, f->group_rows) * 2 * sizeof(uint32_t);
        m->sweep += (size_t)f->n_nodes * 3 / 16 + rows * 2 * sizeof(uint32_t);
    }
    plan_policy(m, p);
}

/* Hotness lives only while the cache is decided, when little else does. Finding it may take more
 * arrays of its size. */
static size_t while_deciding(const struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const bool walks = og__policy_hotness(p->exec->policy) == OG__HOTNESS_PAGERANK;
    return m->process + m->topology + m->seeds + m->labels + m->degrees + m->policy + m->hotness +
           (walks && m->hotness ? og__pagerank_bytes(p->workload->n_nodes) : 0);
}

/* A share of the limit, as far as that leaves as much to the others. */
static void widen_sweep(struct og_memory_plan *m)
{
    const size_t share = OG_MAX(m->limit / SWEEP_SHARE, (size_t)LEAST_SWEEP);
    const size_t spare = m->limit - OG_MIN(m->limit, m->smallest);
    m->sweep += OG_MIN(share - LEAST_SWEEP, spare / 2);
}

void og__memory_plan_fixed(struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const bool features = p->config->want & OG__WANT_FEATURES;
    *m = (struct og_memory_plan){.limit = og__own_memory(p->config),
                                 .parts = og__memory_parts(p->config),
                                 .trains = p->config->want & OG__WANT_TRAINING,
                                 .negatives = p->workload->seeds.edges &&
                                              p->workload->seeds.rule.rank_negatives > 0 &&
                                              p->config->want & OG__WANT_MODEL,
                                 .process = OG__PROCESS_BYTES + og__rest_bytes(p->workload->graph)};
    plan_sampling(m, p);
    if (features)
        plan_reading(m, p);
    const bool ahead = features && og__samples_ahead(p->exec);
    size_t fixed = OG_MAX(og__memory_plan_sum(m), ahead ? og__memory_plan_least_lookahead(m, p)
                                                        : og__memory_plan_without_rows(m));
    size_t staged = p->workload->bytes.read * (size_t)og__first_staging(p->exec);
    m->smallest = fixed + (features ? staged : 0);
    m->smallest = og__round_up(OG_MAX(m->smallest, while_deciding(m, p)), OG_MIB);
    if (m->sweep) /* the more memory, the fewer partitions */
        widen_sweep(m);
}

uint32_t og__memory_plan_victim_buffer(const struct og_plan_inputs *p)
{
    struct og_config shallow = *p->config; /* a row a ring */
    shallow.victim.depth = 1;
    const struct og_plan_inputs given = {&shallow, p->workload, p->exec};
    const uint32_t n_rings = og__plan_inputs_tiers(&given, 0).victim.n_rings;
    struct og_memory_plan m;
    og__memory_plan_fixed(&m, &given);
    const size_t a_row =
        m.victim_buffer + n_rings * sizeof(uint32_t); /* of each ring, with its node */
    const size_t share = (m.limit - OG_MIN(m.limit, m.smallest)) / RINGS_SHARE;
    shallow.victim.depth = 0;
    return (uint32_t)OG_MIN(1 + share / a_row,
                            (size_t)og__plan_inputs_tiers(&given, 0).victim.depth);
}

#include "choose/trial.h"

#include "budget/device_plan.h"
#include "sample/trace_files.h"

bool og__structure_may_move(const struct og_choice_inputs *in)
{
    return in->config->opt.topology == OG_TOPOLOGY_AUTO &&
           in->exec->topology == OG_TOPOLOGY_MEMORY && !in->samples &&
           !in->config->sharing.shared_memory &&
           og__structure_check_files(in->structure, NULL) == 0;
}

/* The cached share of the lists on disk, by bytes. Ginex' order of nodes serves more than that
 * share of requests. How much more is known only when all lists have been read. */
static double lists_cached(const struct og_choice_inputs *in, const struct og_trial *t)
{
    const size_t least = in->workload->bytes.neighbors_least;
    const size_t most = in->workload->bytes.neighbors_most;
    if (t->exec.topology != OG_TOPOLOGY_DISK || t->memory.neighbors <= least)
        return 0;
    return (double)(t->memory.neighbors - least) / (double)(most - least);
}

/* Both caches, as far as the device has one. */
static const struct og_tiers_setup *tiers_of(const struct og_choice_inputs *in, struct og_trial *t,
                                             const uint32_t *hotness)
{
    const struct og_plan_inputs plan_inputs = {in->config, in->workload, &t->exec};
    if (!t->exec.tiers)
        return NULL;
    t->tiers = og__plan_inputs_tiers(&plan_inputs, t->memory.n_slots);
    t->tiers.device.hotness = t->tiers.host.hotness = hotness;
    t->tiers.device.groups = t->there;
    t->tiers.host.groups = t->host;
    return &t->tiers;
}

/* Reads back a spilled batch: its blocks, ids unless they stay in memory, its plan. */
static uint64_t spilled_reads(const struct og_choice_inputs *in, const struct og_trial *t)
{
    const struct og_workload *f = in->workload;
    const bool upper = og__policy_admits(t->exec.device_policy);
    const bool admits = upper || og__policy_admits(t->exec.policy);
    const bool moves = upper && (t->exec.has_victim_buffer || og__policy_admits(t->exec.policy));
    struct og_batch b = {.n_hops = f->caps.n_hops, .n_ids = (uint32_t)og__input_rows(f)};
    for (uint32_t h = 0; h < b.n_hops; h++)
        b.hop[h] = (struct og_block){.n_dst = (uint32_t)f->caps.hop[h].n_dst,
                                     .n_src = (uint32_t)f->caps.hop[h].n_src,
                                     .n_edges = f->caps.hop[h].n_edges};
    const uint64_t blocks = og__trace_files_asks(&f->trace, &b, t->memory.ids_leave).reads;
    const struct og_plan_inputs plan_inputs = {in->config, in->workload, &t->exec};
    const bool requests = og__spilled_requests_bytes(&plan_inputs) > 0;
    return blocks + requests + (t->exec.tiers ? 2 + 2 * (uint64_t)admits + 2 * (uint64_t)moves : 1);
}

/* What each superbatch reads again. A file of offsets has 8 bytes for each 4 in memory. */
static uint64_t reload_bytes(const struct og_trial *t)
{
    const struct og_memory_plan *m = &t->memory;
    const bool on_disk = t->exec.topology == OG_TOPOLOGY_DISK;
    return (m->topology - m->topology_training) * (on_disk ? 2 : 1) + m->neighbors;
}

struct og_candidate og__trial_candidate(const struct og_choice_inputs *in, struct og_trial *t,
                                        const uint32_t *hotness)
{
    const struct og_memory_plan *m = &t->memory;
    const bool ahead = og__samples_ahead(&t->exec) || t->exec.layout != OG_LAYOUT_RAW;
    struct og_policy_setup policy =
        og__policy_setup(&in->config->opt, t->exec.policy, in->workload->n_nodes);
    policy.n_slots = m->n_slots;
    policy.hotness = hotness;
    policy.groups = t->host;
    policy.n_groups = in->workload->n_group_slots;
    uint64_t epoch = og__schedule_batches(&in->workload->schedule, OG__TRAIN);
    uint64_t run = epoch * (uint64_t)OG_MAX(in->config->opt.epochs, 1);
    const struct og_plan_inputs plan_inputs = {in->config, in->workload, &t->exec};
    const uint64_t requests = og__spilled_requests_bytes(&plan_inputs);
    const uint64_t spilled =
        ahead && !m->trace_blocks ? og__spilled_batch_bytes(in->workload) + requests : 0;
    const uint64_t plans = spilled ? og__input_rows(in->workload) * sizeof(uint32_t) + requests : 0;
    const uint64_t items = OG_MAX(og__schedule_items(&in->workload->schedule), run);
    uint64_t superbatch = OG_MIN(m->superbatch * run / items, run); /* without validation */
    if (in->config->opt.superbatch <= 0 && m->superbatch > 0)
        superbatch = OG_MAX(superbatch, og__even_part(epoch, m->superbatch));
    if (in->config->opt.resample_every > 1 && og__policy_is_steady(t->exec.policy))
        superbatch = epoch;
    return (struct og_candidate){
        .policy = policy,
        .tiers = tiers_of(in, t, hotness),
        .layout = og__layout_of(t->exec.layout),
        .resample_every = (uint32_t)in->config->opt.resample_every,
        .superbatch =
            ahead ? (uint32_t)OG_MIN(OG_MAX(superbatch, (uint64_t)1), (uint64_t)UINT32_MAX) : 0,
        .n_released = m->n_released,
        .group_sampling = m->sample_group.batches,
        .moves = t->exec.topology != in->exec->topology,
        .lists_cached = lists_cached(in, t),
        .load_bytes = m->alternates ? 0 : m->neighbors,
        .memory = og__memory_plan_sum(m),
        .sweep_memory = m->sweep,
        .reload_bytes = m->alternates ? reload_bytes(t) : 0,
        .written_batches = ahead ? (uint32_t)OG_MIN(m->superbatch, (uint64_t)UINT32_MAX) : 0,
        .spill_bytes = epoch * spilled,
        .spill_reads = spilled ? epoch * spilled_reads(in, t) : 0,
        .spilled_bytes = (m->superbatch + m->tail + m->lot) * (in->samples ? plans : spilled),
    };
}

/* The cache of neighbour lists for a topology on disk. It is sized before staging areas and feature
 * rows. */
#include "budget/memory_plan_parts.h"

/* Does a hop of so many batches read the whole file? It does if the blocks that it draws from are
 * near each other. Then lists in memory save little until nearly all are there. */
static bool sweeps(const struct og_workload *f, uint64_t batches)
{
    const uint64_t lists = f->caps.hop[f->caps.n_hops - 1].n_dst * batches;
    return f->list_bytes / OG_MAX(lists, (uint64_t)1) < og__profile_gap(&f->lists);
}

size_t og__memory_plan_lists_share(const struct og_memory_plan *m, const struct og_workload *f,
                                   size_t free)
{
    return m->alternates ? free : free / (sweeps(f, 1) ? 4 : 2);
}

/* Nothing, if the batches of a group together read the whole file. */
static size_t share_of(const struct og_memory_plan *m, const struct og_workload *f, size_t free)
{
    const bool shared = m->sample_group.batches > 1 && sweeps(f, m->sample_group.batches);
    return shared ? 0 : og__memory_plan_lists_share(m, f, free);
}

int og__memory_plan_neighbors(struct og_memory_plan *m, const struct og_plan_inputs *p,
                              struct og_err *err)
{
    if (p->exec->topology != OG_TOPOLOGY_DISK)
        return 0;
    const size_t free = og__memory_plan_free(m, p);
    const struct og_amount *requested = &p->config->opt.neighbor_cache;
    size_t capacity = share_of(m, p->workload, free);
    if (requested->unit == OG_BYTES)
        capacity = (size_t)requested->value;
    else if (requested->unit == OG_PERCENT)
        capacity = (size_t)((double)free * requested->value / 100);
    capacity = OG_MIN(capacity, p->workload->bytes.neighbors_most);
    m->neighbors = capacity > p->workload->bytes.neighbors_least ? capacity : 0;
    if (m->neighbors <= free)
        return 0;
    return og__fail(err, -ENOMEM, "give a smaller --neighbor-cache or more --memory",
                    "--neighbor-cache: %zu MiB requested, --memory has room for %zu",
                    m->neighbors / OG_MIB, free / OG_MIB);
}

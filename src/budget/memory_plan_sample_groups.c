/* Group sampling: how many batches share reads of a topology on disk, and its buffers in memory.
 *
 *   | fixed: bits of blocks, threads | ranges being read | nodes of each batch | what was drawn |
 *                                      a third at most     the more batches      the rest; what
 *                                                          the fewer passes      is over is spilled
 */
#include "budget/memory_plan_parts.h"

#include "dataset/times.h"

size_t og__memory_plan_free(const struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const struct og_workload *f = p->workload;
    const bool features = p->config->want & OG__WANT_FEATURES;
    const size_t staging = features ? f->bytes.read * (size_t)og__first_staging(p->exec) : 0;
    const size_t sweep = m->alternates ? 0 : m->sweep; /* else it comes when the cache has gone */
    const size_t used =
        og__memory_plan_without_rows(m) + sweep + staging + m->limit / OG__SLACK_SHARE;
    return m->limit - OG_MIN(m->limit, used);
}

/* Batches that one flow samples. */
static uint64_t most_batches(const struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const struct og_schedule *s = &p->workload->schedule;
    const int requested = p->config->opt.together;
    const uint64_t ahead = m->superbatch + m->tail + m->lot;
    const uint64_t most = ahead > 0 ? ahead : og__schedule_batches(s, OG__TRAIN);
    return requested == OG_TOGETHER_AUTO ? most : OG_MIN((uint64_t)requested, most);
}

/* Phased memory has all of it; else the rest is the feature cache's. */
static size_t capacity_of(const struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const struct og_amount *lists = &p->config->opt.neighbor_cache;
    const size_t requested = lists->unit == OG_BYTES ? (size_t)lists->value : 0;
    const size_t free = og__memory_plan_free(m, p);
    const size_t left = free - OG_MIN(free, requested);
    const bool alone = m->alternates || !(p->config->want & OG__WANT_FEATURES);
    return alone ? left : left / 4;
}

struct sizing {
    const struct og_workload *workload;
    struct og_reader_options reader;
    int samplers;
    size_t capacity;
};

static size_t bytes_of(const struct sizing *s, const struct og_group_sampling_sizes *sizes)
{
    return og__group_sampling_bytes(&s->workload->group_sampling, &s->workload->caps, sizes,
                                    s->samplers, &s->reader);
}

/* As many batches as fit, in equal groups; 0 where two do not. */
static uint64_t choose_batches(const struct sizing *s, struct og_group_sampling_sizes sizes,
                               uint64_t most)
{
    uint64_t low = 0;
    for (uint64_t high = OG_MIN(most, (uint64_t)UINT32_MAX); low < high;) {
        const uint64_t middle = low + (high - low + 1) / 2;
        sizes.batches = (uint32_t)middle;
        if (bytes_of(s, &sizes) <= s->capacity)
            low = middle;
        else
            high = middle - 1;
    }
    const uint64_t groups = (most + low - 1) / OG_MAX(low, (uint64_t)1);
    return low < 2 ? 0 : (most + groups - 1) / groups;
}

/* Limits a sample group's batches to those whose data fits in `memory` and on disk. On disk it
 * takes a quarter of --disk at most, and what batches sampled ahead leave of it. */
static uint64_t within_disk(const struct og_memory_plan *m, const struct og_plan_inputs *p,
                            size_t memory, uint64_t batches)
{
    const double each =
        (double)og__group_sampling_drawn_bytes(&p->workload->group_sampling, &p->workload->caps);
    const double disk = og__memory_plan_disk(p);
    const double left = OG_MAX(disk - og__memory_plan_sampled_disk(m, p), 0.0);
    const double most = (OG_MIN(disk / 4, left) + (double)memory) / OG_MAX(each, 1.0);
    return (double)batches <= most ? batches : (uint64_t)most;
}

bool og__memory_plan_takes_sample_groups(const struct og_plan_inputs *p)
{
    const struct og_sampling how = og__sampling_setup(&p->config->opt, p->workload->edge_units);
    return p->exec->topology == OG_TOPOLOGY_DISK && p->config->opt.together != 1 &&
           og__sampler_takes_groups(&how);
}

/* Is group sampling possible, and is there anything to read? A neighbour cache with every list
 * leaves nothing, unless there are lists that it does not serve. */
static bool reads_lists(const struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const struct og_workload *f = p->workload;
    const struct og_sampling how = og__sampling_setup(&p->config->opt, p->workload->edge_units);
    const bool all =
        (p->config->want & OG__WANT_FEATURES) && p->config->opt.neighbor_cache.unit == OG_UNSET &&
        og__memory_plan_lists_share(m, f, og__memory_plan_free(m, p)) >= f->bytes.neighbors_most &&
        !og__times_uncached(f->graph, how.time);
    return p->exec->topology == OG_TOPOLOGY_DISK && og__sampler_takes_groups(&how) && !all;
}

void og__memory_plan_sample_groups(struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const struct og_workload *f = p->workload;
    if (!reads_lists(m, p) || f->group_sampling.n_lists == 0)
        return;
    const int samplers = og__samplers(p->exec);
    const size_t saved = (size_t)samplers * f->bytes.sampler_reading;
    const struct sizing s = {.workload = f,
                             .reader = og__reader_setup(p->config, &f->lists),
                             .samplers = samplers,
                             .capacity = capacity_of(m, p) + saved};
    struct og_group_sampling_sizes sizes = {
        .shift = og__group_sampling_shift(&f->group_sampling, &s.reader, s.capacity)};
    const uint64_t fit = choose_batches(&s, sizes, most_batches(m, p));
    sizes.batches = (uint32_t)fit;
    const size_t left = s.capacity - OG_MIN(s.capacity, bytes_of(&s, &sizes));
    sizes.memory = OG_MIN(left, fit * og__group_sampling_drawn_bytes(&f->group_sampling, &f->caps));
    sizes.batches = (uint32_t)within_disk(m, p, sizes.memory, fit);
    if (sizes.batches < 2)
        return;
    m->sample_group = sizes;
    m->group_sampling = bytes_of(&s, &sizes) + sizes.memory;
    m->sampler -= saved;
    const uint64_t drawn =
        sizes.batches * og__group_sampling_drawn_bytes(&f->group_sampling, &f->caps);
    m->drawn = drawn - OG_MIN(drawn, (uint64_t)sizes.memory);
}

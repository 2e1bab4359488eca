/* What is left goes to caches: first of neighbour lists, where topology is on disk, then of feature
 * rows, with staging areas for those that the cache does not have.
 *
 *   | fixed | ahead | neighbour cache | staging areas | feature cache | slack |
 *                                     the more rows are cached the fewer are staged */
#include "budget/device_plan.h"
#include "budget/memory_plan_parts.h"

/* ---- of neighbour lists ---- */

/* Are the blocks that a hop of so many batches draws from so near each other that reading them is
 * reading through the whole file? Then lists in memory save little until nearly all are there; */
static bool sweeps(const struct og_facts *f, uint64_t batches)
{
    const uint64_t lists = f->caps.hop[f->caps.n_hops - 1].n_dst * batches;
    return f->list_bytes / OG_MAX(lists, (uint64_t)1) < og__profile_gap(&f->lists);
}

size_t og__memory_plan_lists_share(const struct og_memory_plan *m, const struct og_facts *f,
                                   size_t free)
{
    return m->alternates ? free : free / (sweeps(f, 1) ? 4 : 2);
}

/* where many batches share that, nothing. */
static size_t share_of(const struct og_memory_plan *m, const struct og_facts *f, size_t free)
{
    const bool shared = m->group.batches > 1 && sweeps(f, m->group.batches);
    return shared ? 0 : og__memory_plan_lists_share(m, f, free);
}

int og__memory_plan_neighbors(struct og_memory_plan *m, const struct og_premises *p,
                              struct og_err *err)
{
    if (p->way->topology != OG_TOPOLOGY_DISK)
        return 0;
    const size_t free = og__memory_plan_free(m, p);
    const struct og_amount *asked = &p->config->opt.neighbor_cache;
    size_t capacity = share_of(m, p->facts, free);
    if (asked->unit == OG_BYTES)
        capacity = (size_t)asked->value;
    else if (asked->unit == OG_PERCENT)
        capacity = (size_t)((double)free * asked->value / 100);
    capacity = OG_MIN(capacity, p->facts->bytes.neighbors_most);
    m->neighbors = capacity > p->facts->bytes.neighbors_least ? capacity : 0;
    if (m->neighbors <= free)
        return 0;
    return og__fail(err, -ENOMEM, "give a smaller --neighbor-cache or more --memory",
                    "--neighbor-cache: %zu MiB asked for, --memory has room for %zu",
                    m->neighbors / OG_MIB, free / OG_MIB);
}

/* ---- of feature rows ---- */

/* A cached row takes its slot and what the policy notes of it. */
static size_t slots_take(const struct og_memory_plan *m, const struct og_premises *p, uint64_t n)
{
    struct og_memory_plan with = *m;
    og__memory_plan_slots(&with, p, n);
    return n * p->facts->row_bytes +
           (m->alternates ? with.policy_training_slots : with.policy_slots);
}

/* The most rows that fit beside the staging areas, up to a limit. */
static uint64_t rows_left(const struct og_memory_plan *m, const struct og_premises *p, size_t room,
                          size_t staged, uint64_t limit)
{
    const size_t left = room - OG_MIN(room, staged);
    uint64_t low = 0;
    for (uint64_t high = OG_MIN(limit, left / p->facts->row_bytes); low < high;) {
        const uint64_t middle = low + (high - low + 1) / 2;
        if (slots_take(m, p, middle) <= left)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static int refuse_cache(const struct og_memory_plan *m, const struct og_premises *p, uint64_t want,
                        uint64_t have, struct og_err *err)
{
    const size_t short_of = (size_t)(want - have) * p->facts->row_bytes;
    const size_t before = m->limit - m->slack + short_of; /* and slack is a share of all */
    char hint[128];
    snprintf(hint, sizeof(hint), "give --memory %zuM, or a smaller --cache",
             og__memory_plan_all(m, before + before / (OG__SLACK_SHARE - 1)) / OG_MIB + 1);
    return og__fail(err, -ENOMEM, hint, "--cache: %llu rows asked for, --memory has room for %llu",
                    (unsigned long long)want, (unsigned long long)have);
}

/* In turns: what sampling, planning and packing leave beside so much staging; else all. */
static size_t left_before(const struct og_memory_plan *m, const struct og_premises *p,
                          size_t staging, uint64_t slots)
{
    struct og_memory_plan with = *m;
    with.staging = staging;
    og__memory_plan_slots(&with, p, slots);
    const size_t before = m->alternates ? og__memory_plan_before_training(&with) : 0;
    return m->limit - OG_MIN(m->limit, before);
}

/* Rows that give way to topology, trace and tables while batches are sampled ahead: all, where they
 * are pinned, for that is given back as a whole. */
static int settle_yielded(struct og_memory_plan *m, const struct og_way *way, size_t row,
                          struct og_err *err)
{
    size_t before = og__memory_plan_before_training(m) + m->slack;
    if (before > m->limit)
        return og__memory_plan_refuse_superbatch(m, way, before, err);
    const uint64_t fit = (m->limit - before) / row;
    const uint64_t kept = way->tiers && fit < m->n_slots ? 0 : fit;
    m->n_yielded = kept < m->n_slots ? m->n_slots - (uint32_t)kept : 0;
    return 0;
}

/* Rows that nobody changes, all of them, are the same for all who share memory: each at the slot of
 * its number, so nothing is missed, and nothing staged. */
static bool takes_whole(struct og_memory_plan *m, const struct og_premises *p, uint64_t limit,
                        size_t room)
{
    const struct og_sharers *with = &p->config->sharers;
    const uint64_t n = p->facts->n_nodes;
    if (!with->common || og__exchanges(p->config) || !og__policy_is_static(p->way->policy) ||
        og__samples_ahead(p->way) || limit < n || n > UINT32_MAX)
        return false;
    og__memory_plan_slots(m, p, n);
    const size_t slots = m->alternates ? m->policy_training_slots : m->policy_slots;
    m->cache = ((size_t)n * p->facts->row_bytes + (size_t)with->n - 1) / (size_t)with->n;
    m->whole = slots + m->cache <= room;
    m->n_staging = OG__MOST_STAGING;
    m->staging = m->staging_rows = 0;
    if (!m->whole) {
        og__memory_plan_slots(m, p, 0);
        m->cache = 0;
    }
    return m->whole;
}

/* Rows that a device keeps for good, which the host's cache then leaves out. */
static uint64_t kept_there(const struct og_premises *p)
{
    const bool stay =
        og__policy_is_static(p->way->device_policy) && og__policy_is_static(p->way->policy);
    return p->way->tiers && stay ? og__device_plan(p).rows.n_slots : 0;
}

/* Rows that come to a device by way of one staging area when its slots are filled: of `left` bytes
 * that nothing else has. */
static uint64_t filled_at_once(const struct og_premises *p, size_t left)
{
    enum { AREA = 4 << 20 };
    if (!p->way->tiers || p->way->alternate || !og__policy_prefills(p->way->device_policy))
        return 0;
    return OG_MIN(OG_MIN((size_t)AREA, left) / p->facts->row_bytes,
                  (size_t)og__device_plan(p).rows.n_slots);
}

/* Rows that nobody changes are read by others where they are, and only those that it has not are
 * copied to where all read them: they take so many times what is staged, instead of all that is
 * read. */
static uint64_t copies_of_misses(const struct og_premises *p)
{
    const bool stay = og__policy_is_static(p->way->policy) && !og__samples_ahead(p->way);
    const bool planned = p->config->want & OG__WANT_FEATURES;
    return planned && stay && og__exchanges_in_place(p->config, p->facts) ? OG__COPIES : 0;
}

int og__memory_plan_cache(struct og_memory_plan *m, const struct og_premises *p,
                          const struct og_misses *misses, struct og_err *err)
{
    og__memory_plan_slots(m, p, 0); /* known below */
    const size_t row = p->facts->row_bytes;
    const uint64_t copies = copies_of_misses(p);
    m->exchange -= copies * og__read_rows(p->facts) * row;
    const size_t free = m->limit - OG_MIN(m->limit, og__memory_plan_sum(m));
    const size_t need = (1 + copies) * og__read_rows(p->facts) * row;
    /* what batches larger than the pilot's may grow into, where there is that much */
    const size_t before = left_before(m, p, need, og__most_slots(p->facts, m->limit));
    const size_t spare = OG_MIN(free - OG_MIN(free, need), before);
    m->slack = OG_MIN(m->limit / OG__SLACK_SHARE, spare);
    const size_t room = free - m->slack;
    const uint64_t there = kept_there(p);
    const bool alike = p->way->device_policy == p->way->policy && !p->config->opt.device_policy;
    const uint64_t before_them = alike ? there : 0; /* rows that rank before the host's */
    const uint64_t most = og__nodes_known(p->config, p->facts->n_nodes);
    const uint64_t limit =
        og__policy_caches(p->way->policy) ? OG_MIN(p->facts->cache_rows, most - there) : 0;
    enum { LEAST = 1, MOST = OG__MOST_STAGING };
    if (takes_whole(m, p, limit, room))
        return 0;
    uint64_t staging = og__read_rows(p->facts);
    uint64_t slots = 0;
    int n_staging = LEAST;
    /* Grow the cache into what its own hits free of staging; a few rounds settle it, and a second
     * staging area as soon as the misses are few enough. Misses never grow with the cache, so each
     * round's staging suffices for the next round's larger cache. */
    for (int round = 0; round < 6; round++) {
        uint64_t two = rows_left(m, p, room, staging * MOST * row, limit);
        uint64_t one = rows_left(m, p, room, staging * (LEAST + copies) * row, limit);
        /* rows that are exchanged leave it before the next are read */
        bool fits_two = !og__exchanges(p->config) && staging * MOST <= room / row && two >= slots &&
                        left_before(m, p, staging * MOST * row, two) >= m->slack;
        uint64_t next = fits_two ? two : one;
        if (round > 0 && next <= slots && fits_two == (n_staging == MOST))
            break;
        n_staging = fits_two ? MOST : LEAST;
        slots = OG_MAX(slots, next);
        int rc = misses->worst(misses->arg, slots + before_them, &staging, err);
        if (rc < 0)
            return rc;
    }
    if (p->config->opt.cache.unit != OG_UNSET && slots < limit)
        return refuse_cache(m, p, limit, slots, err);
    og__memory_plan_slots(m, p, slots);
    const size_t taken = slots_take(m, p, slots) + staging * (size_t)n_staging * row;
    staging = OG_MAX(staging, filled_at_once(p, (room - OG_MIN(room, taken)) / (size_t)n_staging));
    m->staging_rows = (uint32_t)staging;
    m->n_staging = n_staging;
    m->staging = staging * (size_t)n_staging * row;
    m->cache = slots * row;
    m->shown = copies > 0 && slots > 0;
    m->exchange += copies * (m->shown ? staging : og__read_rows(p->facts)) * row;
    return m->alternates ? settle_yielded(m, p->way, row, err) : 0;
}

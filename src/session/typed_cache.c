#include "session/typed_cache.h"

#include "budget/memory_plan_parts.h"
#include "choose/hotness.h"
#include "options/options.h"
#include "plan/owners.h"
#include "plan/widths.h"
#include "session/session_parts.h"
#include "session/typed_tiers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_BLOCK = 512 };      /* whole ones are read */
enum { RADIX_BYTES = 1 << 19 }; /* while rows are ranked */

int og__typed_cache_check(int policy, struct og_err *err)
{
    if (og__policy_is_static(policy))
        return 0;
    return og__fail(err, -ENOTSUP, "use none, random, degree, presc, pagerank or file",
                    "--policy %s: its cache changes, and rows that are kept here stay",
                    og__option_word("policy", policy));
}

struct og_width og__typed_width(uint64_t end, size_t row_bytes, size_t file_row_bytes)
{
    return (struct og_width){
        .end = end, .row_bytes = row_bytes, .read_bytes = og__round_up(file_row_bytes, READ_BLOCK)};
}

struct og_width *og__typed_widths(const struct og_graph *g)
{
    struct og_width *width = calloc(g->n_groups, sizeof(*width));
    for (uint32_t t = 0; width && t < g->n_groups; t++) {
        const struct og_group *type = &g->group[t];
        width[t] = og__typed_width((uint64_t)(type->first + type->n_nodes), og__row_bytes(type),
                                   og__file_row_bytes(type));
    }
    return width;
}

/* By the policy's numbers of nodes: of own ones alone where rows are exchanged. */
static struct og_width *known_widths(const struct og_config *config, const struct og_graph *g)
{
    struct og_width *width = og__typed_widths(g);
    for (uint32_t t = 0; width && t < g->n_groups; t++)
        width[t].end = og__nodes_known(config, width[t].end);
    return width;
}

/* ---- what rows are worth ---- */

int og__typed_cache_weigh(const struct og_session *s, int policy, const struct og_options *opt,
                          uint32_t *worth, struct og_err *err)
{
    const struct og_graph *g = s->facts.graph;
    const int by = og__policy_ranked_like(policy);
    struct og_width *width = og__typed_widths(g);
    og_uses *uses;
    int rc;
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(og__hotness_uses(&s->structure, s->pool, by, opt, worth, &uses, err));
    og__widths_weigh(worth, uses, width, g->n_groups);
out:
    free(width);
    return rc;
}

/* As many of the worthiest as an amount of cache allows, of a graph of n_nodes, and those above
 * where these come first in the same ranking. */
static int count_allowed(const uint32_t *worth, const struct og_amount *cache, uint64_t n_nodes,
                         const struct og_width *width, uint32_t n_types,
                         const struct og_typed_above *above, struct og_budget *b, uint64_t *want,
                         struct og_err *err)
{
    const size_t bytes = above->first ? above->bytes : 0;
    const uint64_t rows = above->first ? above->rows : 0;
    const uint64_t asked = cache->unit == OG_BYTES ? (uint64_t)cache->value + bytes : UINT64_MAX;
    int rc = og__widths_fit(worth, width, n_types, asked, b, want, err);
    *want = OG_MIN(*want, og__cache_rows(cache, n_nodes, 0) + rows);
    return rc;
}

/* Those above are not the host's; where others stay there, slots for what is left of each type. */
static void leave_above(const struct og_typed_above *above, const struct og_width *width,
                        uint32_t n_types, uint64_t *slots)
{
    for (uint32_t t = 0; t < n_types; t++) {
        const uint64_t n_nodes = width[t].end - (t > 0 ? width[t - 1].end : 0);
        if (above->first)
            slots[t] -= above->slots[t];
        else if (above->stay)
            slots[t] = OG_MIN(slots[t], n_nodes - above->slots[t]);
    }
}

int og__typed_cache_slots(const uint32_t *worth, const struct og_amount *cache,
                          const struct og_width *width, uint32_t n_types,
                          const struct og_typed_above *above, struct og_budget *b, uint64_t *slots,
                          struct og_err *err)
{
    const uint64_t n_nodes = width[n_types - 1].end;
    uint64_t n = 0;
    size_t bytes;
    int rc;
    OG_TRY(count_allowed(worth, cache, n_nodes, width, n_types, above, b, &n, err));
    OG_TRY(og__widths_count(worth, width, n_types, n, b, &bytes, slots, err));
    leave_above(above, width, n_types, slots);
out:
    return rc;
}

/* ---- of one of several owners ---- */

/* Without --cache as many bytes as the session's own. */
static struct og_amount owned_amount(const struct og_session *s)
{
    const struct og_amount *asked = &s->config.opt.cache;
    return asked->unit != OG_UNSET ? *asked : (struct og_amount){OG_BYTES, (double)s->memory.cache};
}

int og__typed_owned_slots(const struct og_session *s, const uint32_t *worth, uint32_t rank,
                          uint64_t *slots, struct og_err *err)
{
    const struct og_graph *g = s->facts.graph;
    const uint32_t ranks = s->config.share.ranks;
    const struct og_amount cache = owned_amount(s);
    const struct og_typed_above nothing = {0};
    const uint64_t n = og__owned_nodes(ranks, rank, s->facts.n_nodes);
    struct og_width *width = og__typed_widths(g);
    uint32_t *own = og__alloc(s->budget, n * sizeof(*own), "hotness", err);
    uint64_t fit = 0;
    size_t bytes;
    int rc;
    OG_TRY(own ? 0 : -ENOMEM);
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    for (uint64_t i = 0; i < n; i++)
        own[i] = worth[og__owned_node(ranks, rank, (uint32_t)i)];
    for (uint32_t t = 0; t < g->n_groups; t++)
        width[t].end = og__owned_nodes(ranks, rank, width[t].end);
    OG_TRY(count_allowed(own, &cache, s->facts.n_nodes, width, g->n_groups, &nothing, s->budget,
                         &fit, err));
    OG_TRY(og__widths_count(own, width, g->n_groups, fit, s->budget, &bytes, slots, err));
out:
    og__release(s->budget, own, n * sizeof(*own), "hotness");
    free(width);
    return rc;
}

size_t og__typed_owned_bytes(const struct og_session *s)
{
    const uint64_t most = og__owned_nodes(s->config.share.ranks, 0, s->facts.n_nodes);
    return (size_t)most * sizeof(uint32_t) + og__placement_bytes(most) + RADIX_BYTES;
}

/* ---- a cache of some memory ---- */

/* What it follows from. */
struct sizing {
    const struct og_premises *given;
    const struct og_memory_plan *memory; /* as far as it goes */
    const uint32_t *worth;               /* of nodes by the policy's numbers */
    struct og_width *width;              /* [types] of the same; malloc'ed */
    struct og_typed_above above;
    struct og_budget *budget;
};

static int open_sizing(struct sizing *z, const struct og_premises *given,
                       const struct og_memory_plan *memory, const uint32_t *worth,
                       struct og_budget *b, struct og_err *err)
{
    *z = (struct sizing){.given = given,
                         .memory = memory,
                         .worth = worth,
                         .width = known_widths(given->config, given->facts->graph),
                         .budget = b};
    return z->width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache");
}

static uint32_t types_of(const struct sizing *z)
{
    return z->given->facts->graph->n_groups;
}

/* Bytes of the n worthiest rows; how many are of each type, where `slots` is not NULL. */
static int count_bytes(const struct sizing *z, uint64_t n, size_t *bytes, uint64_t *slots,
                       struct og_err *err)
{
    return og__widths_count(z->worth, z->width, types_of(z), n, z->budget, bytes, slots, err);
}

/* A limit that would do, short_of bytes above this one. */
static void suggest(const struct og_memory_plan *m, uint64_t short_of, char *hint, size_t size)
{
    snprintf(hint, size, "give --memory %zuM, or a smaller --cache",
             og__memory_plan_all(m, m->limit + (size_t)short_of) / OG_MIB + 1);
}

static int refuse_cache(const struct sizing *z, uint64_t want, uint64_t have, uint64_t bytes,
                        struct og_err *err)
{
    char hint[128];
    size_t need = 0;
    int rc = count_bytes(z, want, &need, NULL, err);
    if (rc < 0)
        return rc;
    suggest(z->memory, need - OG_MIN(need, bytes), hint, sizeof(hint));
    return og__fail(err, -ENOMEM, hint, "--cache: %llu rows asked for, --memory has room for %llu",
                    (unsigned long long)want, (unsigned long long)have);
}

/* Rows that --cache asks for: all, unless it is given. */
static int count_asked(const struct sizing *z, uint64_t *want, struct og_err *err)
{
    const struct og_amount *cache = &z->given->config->opt.cache;
    if (cache->unit != OG_UNSET)
        return count_allowed(z->worth, cache, z->given->facts->n_nodes, z->width, types_of(z),
                             &z->above, z->budget, want, err);
    *want = 0;
    for (uint32_t t = 0; t < types_of(z); t++)
        *want += z->width[t].row_bytes > 0 ? z->width[t].end - (t ? z->width[t - 1].end : 0) : 0;
    return 0;
}

/* Of those as many as fit, which are all of them where --cache is given. Of those above, which lie
 * in other memory, all do. */
static int count_fitting(const struct sizing *z, uint64_t bytes, uint64_t *fit, struct og_err *err)
{
    const uint64_t room = bytes + (z->above.first ? z->above.bytes : 0);
    uint64_t want = 0;
    int rc;
    OG_TRY(count_asked(z, &want, err));
    OG_TRY(og__widths_fit(z->worth, z->width, types_of(z), room, z->budget, fit, err));
    *fit = OG_MIN(*fit, want);
    if (z->given->config->opt.cache.unit != OG_UNSET && *fit < want)
        OG_TRY(refuse_cache(z, want, *fit, room, err));
out:
    return rc;
}

/* ---- of a session that writes rows down ---- */

/* Hotness, and finding it: of visits what one sampler takes, whose arrays are there twice for a
 * moment when they grow. */
static size_t ranking_bytes(const struct og_session *s)
{
    const struct og_facts *f = &s->facts;
    const size_t finding = og__hotness_bytes(f, s->config.opt.policy);
    const bool visits = og__policy_hotness(s->config.opt.policy) == OG__HOTNESS_VISITS;
    return (size_t)f->n_nodes * sizeof(uint32_t) + (visits ? 2 * finding : finding) +
           (visits ? f->bytes.sampler_reading + og__seeds_bytes(&f->seeds) : 0);
}

/* Without room to rank rows none is kept. */
static int keep_none(const struct og_session *s, size_t short_of, struct og_err *err)
{
    char hint[128];
    suggest(&s->memory, short_of, hint, sizeof(hint));
    return s->config.opt.cache.unit == OG_UNSET || s->facts.cache_rows == 0
               ? 0
               : og__fail(err, -ENOMEM, hint,
                          "--cache: --memory has no room to rank rows by --policy %s",
                          og__option_word("policy", s->config.opt.policy));
}

int og__typed_cache_place(struct og_session *s, struct og_placement *out, struct og_err *err)
{
    const size_t ranks = (size_t)s->facts.n_nodes * sizeof(uint32_t);
    const size_t fixed = og__placement_bytes(s->facts.n_nodes) + RADIX_BYTES;
    const size_t need = ranking_bytes(s) + fixed;
    const size_t free_bytes = og__memory_plan_free(&s->memory, &s->given);
    *out = (struct og_placement){0};
    if (!og__policy_caches(s->config.opt.policy))
        return 0;
    if (free_bytes < need)
        return keep_none(s, need - free_bytes, err);
    uint64_t fit = 0;
    struct sizing z = {0};
    uint32_t *hotness = og__alloc(s->budget, ranks, "hotness", err);
    if (!hotness)
        return -ENOMEM;
    int rc;
    OG_TRY(og__typed_cache_weigh(s, s->config.opt.policy, &s->config.opt, hotness, err));
    OG_TRY(open_sizing(&z, &s->given, &s->memory, hotness, s->budget, err));
    OG_TRY(count_fitting(&z, free_bytes - fixed, &fit, err));
    OG_TRY(og__placement_build(out, hotness, s->facts.n_nodes, fit, s->budget, err));
out:
    free(z.width);
    og__release(s->budget, hotness, ranks, "hotness");
    return rc;
}

/* ---- of a session that gathers them ---- */

uint32_t og__typed_ranges(const struct og_facts *f, const uint64_t *slots,
                          struct og_slot_range *ranges)
{
    uint32_t n = 0;
    for (uint32_t t = 0; n < f->n_ranges; t++) {
        if (f->graph->group[t].dim == 0)
            continue;
        ranges[n] = f->ranges[n];
        ranges[n++].n_slots = (uint32_t)slots[t];
    }
    return n;
}

uint32_t og__typed_cache_ranges(const struct og_session *s,
                                struct og_slot_range ranges[OG_MOST_TYPES])
{
    uint64_t slots[OG_MOST_TYPES];
    for (uint32_t t = 0; s->facts.n_ranges > 0 && t < s->facts.graph->n_groups; t++)
        slots[t] = s->told[t].slots;
    return og__typed_ranges(&s->facts, slots, ranges);
}

/* Their tables. */
static void plan_ranges(struct og_memory_plan *m, const struct og_premises *p,
                        const uint64_t *slots)
{
    struct og_slot_range ranges[OG_MOST_TYPES];
    (void)og__typed_ranges(p->facts, slots, ranges);
    og__memory_plan_ranges(m, p, ranges);
}

/* As many slots of each type as it has rows among those that a byte saves most by, whoever is to
 * lie in them. */
static int share_out(const struct sizing *z, struct og_memory_plan *m, uint64_t bytes,
                     uint64_t *slots, struct og_err *err)
{
    uint64_t fit = 0;
    int rc;
    OG_TRY(count_fitting(z, bytes, &fit, err));
    OG_TRY(count_bytes(z, fit, &m->cache, slots, err));
    leave_above(&z->above, z->width, types_of(z), slots);
    m->cache = 0;
    m->n_slots = 0;
    for (uint32_t t = 0; t < types_of(z); t++) {
        m->cache += (size_t)slots[t] * z->width[t].row_bytes;
        m->n_slots += (uint32_t)slots[t];
    }
    plan_ranges(m, z->given, slots);
out:
    return rc;
}

/* Slots for all rows there are; returns how many, whose bytes are *bytes. */
static uint64_t slots_for_all(const struct og_graph *g, uint64_t *slots, size_t *bytes)
{
    uint64_t n = 0;
    *bytes = 0;
    for (uint32_t t = 0; t < g->n_groups; t++) {
        slots[t] = g->group[t].dim > 0 ? (uint64_t)g->group[t].n_nodes : 0;
        *bytes += (size_t)slots[t] * og__row_bytes(&g->group[t]);
        n += slots[t];
    }
    return n;
}

/* Rows that nobody changes, all of them, are the same for all who share memory: nothing is missed,
 * and nothing staged. */
static int take_whole(const struct sizing *z, struct og_memory_plan *m, size_t room,
                      uint64_t *slots, struct og_err *err)
{
    const struct og_premises *p = z->given;
    const struct og_sharers *with = &p->config->sharers;
    size_t bytes;
    uint64_t want;
    int rc = 0;
    if (!with->common || og__exchanges(p->config) || !og__policy_is_static(p->way->policy) ||
        og__samples_ahead(p->way) || p->way->tiers)
        return 0;
    OG_TRY(count_asked(z, &want, err));
    const uint64_t n = slots_for_all(p->facts->graph, slots, &bytes);
    const size_t own = (bytes + (size_t)with->n - 1) / (size_t)with->n;
    plan_ranges(m, p, slots);
    m->whole = want >= n && n > 0 && n <= UINT32_MAX && own + m->policy_slots <= room;
    if (!m->whole)
        return 0; /* slots are counted anew */
    m->cache = own;
    m->n_slots = (uint32_t)n;
    m->n_staging = OG__MOST_STAGING;
    m->staging = m->staging_rows = 0;
    m->slack = OG_MIN(m->limit / OG__SLACK_SHARE, room - own - m->policy_slots);
out:
    return rc;
}

/* Of `bytes`, or of what there is before anything is staged. What fewer rows leave is enough for
 * their tables. */
static int size_slots(const struct sizing *z, struct og_memory_plan *m, size_t bytes,
                      size_t unstaged, uint64_t *slots, struct og_err *err)
{
    int rc;
    m->hotness = (size_t)z->given->facts->n_nodes * sizeof(uint32_t);
    OG_TRY(take_whole(z, m, unstaged, slots, err));
    if (m->whole)
        return 0;
    OG_TRY(share_out(z, m, bytes, slots, err));
    const size_t tables = m->alternates ? m->policy_training_slots : m->policy_slots;
    if (m->cache + tables > bytes)
        OG_TRY(share_out(z, m, bytes - OG_MIN(bytes, tables), slots, err));
out:
    return rc;
}

/* In turns: what sampling, planning and packing leave beside so much staging, with tables of as
 * many slots as `most` has; else all. */
static size_t left_before(const struct og_memory_plan *most, size_t staging)
{
    struct og_memory_plan with = *most;
    with.staging = staging;
    const size_t before = most->alternates ? og__memory_plan_before_training(&with) : 0;
    return most->limit - OG_MIN(most->limit, before);
}

/* Every row of a batch may be read: staging is for all of them, twice where there is room, and
 * rows do not leave it before the next are read, as those do that are exchanged. */
static size_t size_staging(struct og_memory_plan *m, const struct og_premises *p,
                           const struct og_memory_plan *most)
{
    const size_t input = p->facts->bytes.read;
    const size_t free_bytes = m->limit - OG_MIN(m->limit, og__memory_plan_sum(m));
    const size_t slack = m->limit / OG__SLACK_SHARE;
    const bool twice = !og__exchanges(p->config) && input <= free_bytes / (2 * OG__MOST_STAGING) &&
                       left_before(most, input * OG__MOST_STAGING) >= slack;
    m->n_staging = twice ? OG__MOST_STAGING : 1;
    m->staging_rows = (uint32_t)og__read_rows(p->facts);
    m->staging = input * (size_t)m->n_staging;
    const size_t left = free_bytes - OG_MIN(free_bytes, m->staging);
    m->slack = OG_MIN(slack, OG_MIN(left, left_before(most, m->staging)));
    return left - m->slack;
}

/* Slots, from the first, that so many bytes have room for. */
static uint32_t slots_within(const struct og_graph *g, const uint64_t *slots, size_t bytes)
{
    uint64_t n = 0;
    for (uint32_t t = 0; t < g->n_groups; t++) {
        const size_t row = og__row_bytes(&g->group[t]);
        const uint64_t fit = row > 0 ? OG_MIN(slots[t], bytes / row) : 0;
        n += fit;
        if (fit < slots[t])
            break;
        bytes -= (size_t)fit * row;
    }
    return (uint32_t)n;
}

/* The last ones give way to structure, trace and tables while batches are sampled ahead: all, where
 * they are pinned, for that is given back as a whole. */
static int settle_yielded(struct og_memory_plan *m, const struct og_premises *p,
                          const uint64_t *slots, struct og_err *err)
{
    const size_t before = og__memory_plan_before_training(m) + m->slack;
    if (before > m->limit)
        return og__memory_plan_refuse_superbatch(m, p->way, before, err);
    const uint32_t kept = slots_within(p->facts->graph, slots, m->limit - before);
    m->n_yielded = p->way->tiers && kept < m->n_slots ? m->n_slots : m->n_slots - kept;
    return 0;
}

int og__typed_cache_plan(struct og_memory_plan *m, const struct og_premises *p,
                         const uint32_t *worth, const struct og_typed_above *above, uint64_t *slots,
                         struct og_budget *b, struct og_err *err)
{
    const struct og_memory_plan most = *m;
    struct sizing z = {0};
    int rc = 0;
    memset(slots, 0, p->facts->graph->n_groups * sizeof(*slots));
    og__memory_plan_slots(m, p, 0); /* known below */
    const size_t taken = og__memory_plan_sum(m) + RADIX_BYTES;
    const size_t room = size_staging(m, p, &most);
    if (og__policy_caches(p->way->policy)) {
        OG_TRY(open_sizing(&z, p, m, worth, b, err));
        z.above = *above;
        OG_TRY(size_slots(&z, m, room - OG_MIN(room, (size_t)RADIX_BYTES),
                          m->limit - OG_MIN(m->limit, taken), slots, err));
    }
    if (m->alternates)
        OG_TRY(settle_yielded(m, p, slots, err));
out:
    free(z.width);
    return rc;
}

/* What rows are worth, of own ones alone where they are exchanged. */
static int weigh(struct og_session *s, struct og_err *err)
{
    const size_t ranks = (size_t)s->facts.n_nodes * sizeof(uint32_t);
    int rc;
    s->hotness = og__alloc(s->budget, ranks, "hotness", err);
    OG_TRY(s->hotness ? 0 : -ENOMEM);
    OG_TRY(og__typed_cache_weigh(s, s->way.policy, &s->config.opt, s->hotness, err));
    og__session_own_hotness(s);
out:
    return rc;
}

int og__typed_cache_size(struct og_session *s, struct og_err *err)
{
    struct og_typed_above above;
    uint64_t slots[OG_MOST_TYPES];
    int rc;
    OG_TRY(og__policy_caches(s->way.policy) ? weigh(s, err) : 0);
    OG_TRY(og__typed_tiers_size(s, &above, err));
    OG_TRY(og__typed_cache_plan(&s->memory, &s->given, s->hotness, &above, slots, s->budget, err));
    for (uint32_t t = 0; t < s->facts.graph->n_groups; t++)
        s->told[t].slots = slots[t];
out:
    return rc;
}

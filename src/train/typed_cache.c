#include "train/typed_cache.h"

#include "budget/memory_plan_parts.h"
#include "plan/widths.h"
#include "train/hotness.h"
#include "train/options.h"
#include "train/session_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { READ_BLOCK = 512 }; /* whole ones are read */

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

struct og_width *og__typed_widths(const struct og_typed *g)
{
    struct og_width *width = calloc(g->n_types, sizeof(*width));
    for (uint32_t t = 0; width && t < g->n_types; t++) {
        const struct og_node_type *type = &g->type[t];
        const bool has_rows = type->view.dim > 0;
        width[t] = og__typed_width((uint64_t)(type->first + type->view.n_nodes),
                                   has_rows ? og__row_bytes(&type->view) : 0,
                                   has_rows ? og__file_row_bytes(&type->view) : 0);
    }
    return width;
}

/* By the policy's numbers of nodes: of own ones alone where rows are exchanged. */
static struct og_width *known_widths(const struct og_session *s)
{
    const struct og_typed *g = s->facts.typed;
    struct og_width *width = og__typed_widths(g);
    for (uint32_t t = 0; width && t < g->n_types; t++)
        width[t].end = og__nodes_known(&s->config, width[t].end);
    return width;
}

/* Bytes of the n worthiest rows; how many are of each type, where `slots` is not NULL. */
static int count_bytes(const struct og_session *s, const uint32_t *worth, uint64_t n, size_t *bytes,
                       uint64_t *slots, struct og_err *err)
{
    struct og_width *width = known_widths(s);
    int rc = width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache");
    if (rc == 0)
        rc = og__widths_count(worth, width, s->facts.typed->n_types, n, s->budget, bytes, slots,
                              err);
    free(width);
    return rc;
}

/* ---- what --cache asks for ---- */

/* A limit that would do, short_of bytes above this one. */
static void suggest(const struct og_session *s, uint64_t short_of, char *hint, size_t size)
{
    snprintf(hint, size, "give --memory %zuM, or a smaller --cache",
             og__memory_plan_all(&s->memory, s->memory.limit + (size_t)short_of) / OG_MIB + 1);
}

static int refuse_cache(struct og_session *s, const uint32_t *worth, uint64_t want, uint64_t have,
                        uint64_t bytes, struct og_err *err)
{
    char hint[128];
    size_t need = 0;
    int rc = count_bytes(s, worth, want, &need, NULL, err);
    if (rc < 0)
        return rc;
    suggest(s, need - OG_MIN(need, bytes), hint, sizeof(hint));
    return og__fail(err, -ENOMEM, hint, "--cache: %llu rows asked for, --memory has room for %llu",
                    (unsigned long long)want, (unsigned long long)have);
}

int og__typed_cache_weigh(const struct og_session *s, int policy, const struct og_options *opt,
                          uint32_t *worth, struct og_err *err)
{
    const struct og_typed *g = s->facts.typed;
    const int by = og__policy_ranked_like(policy);
    struct og_width *width = og__typed_widths(g);
    og_uses *uses;
    int rc;
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(og__hotness_uses(&s->structure, s->pool, by, opt, worth, &uses, err));
    og__widths_weigh(worth, uses, width, g->n_types);
out:
    free(width);
    return rc;
}

static int weigh(const struct og_session *s, uint32_t *worth, struct og_err *err)
{
    return og__typed_cache_weigh(s, s->config.opt.policy, &s->config.opt, worth, err);
}

/* As many of the worthiest as an amount of cache allows, of a graph of n_nodes. */
static int count_allowed(const uint32_t *worth, const struct og_amount *cache, uint64_t n_nodes,
                         const struct og_width *width, uint32_t n_types, struct og_budget *b,
                         uint64_t *want, struct og_err *err)
{
    const uint64_t asked = cache->unit == OG_BYTES ? (uint64_t)cache->value : UINT64_MAX;
    int rc = og__widths_fit(worth, width, n_types, asked, b, want, err);
    *want = OG_MIN(*want, og__cache_rows(cache, n_nodes, 0));
    return rc;
}

static int count_asked(const struct og_session *s, const uint32_t *worth,
                       const struct og_amount *cache, uint64_t *want, struct og_err *err)
{
    struct og_width *width = known_widths(s);
    int rc = width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache");
    if (rc == 0)
        rc = count_allowed(worth, cache, s->facts.n_nodes, width, s->facts.typed->n_types,
                           s->budget, want, err);
    free(width);
    return rc;
}

int og__typed_cache_slots(const uint32_t *worth, const struct og_amount *cache,
                          const struct og_width *width, uint32_t n_types, struct og_budget *b,
                          uint64_t *slots, struct og_err *err)
{
    uint64_t n = 0;
    size_t bytes;
    int rc = count_allowed(worth, cache, width[n_types - 1].end, width, n_types, b, &n, err);
    return rc < 0 ? rc : og__widths_count(worth, width, n_types, n, b, &bytes, slots, err);
}

/* Of those as many as fit, which are all of them where --cache is given. */
static int count_fitting(struct og_session *s, const uint32_t *worth, uint64_t bytes, uint64_t *fit,
                         struct og_err *err)
{
    const struct og_typed *g = s->facts.typed;
    const struct og_amount *cache = &s->config.opt.cache;
    uint64_t want = 0;
    struct og_width *width = known_widths(s);
    int rc;
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(count_asked(s, worth, cache, &want, err));
    OG_TRY(og__widths_fit(worth, width, g->n_types, bytes, s->budget, fit, err));
    *fit = OG_MIN(*fit, want);
    if (cache->unit != OG_UNSET && *fit < want)
        OG_TRY(refuse_cache(s, worth, want, *fit, bytes, err));
out:
    free(width);
    return rc;
}

/* ---- of a session that writes rows down ---- */

enum { RADIX_BYTES = 1 << 19 }; /* while rows are ranked */

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
    suggest(s, short_of, hint, sizeof(hint));
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
    uint32_t *hotness = og__alloc(s->budget, ranks, "hotness", err);
    if (!hotness)
        return -ENOMEM;
    int rc;
    OG_TRY(weigh(s, hotness, err));
    OG_TRY(count_fitting(s, hotness, free_bytes - fixed, &fit, err));
    OG_TRY(og__placement_build(out, hotness, s->facts.n_nodes, fit, s->budget, err));
out:
    og__release(s->budget, hotness, ranks, "hotness");
    return rc;
}

/* ---- of a session that gathers them ---- */

uint32_t og__typed_cache_ranges(const struct og_session *s,
                                struct og_slot_range ranges[OG_MOST_TYPES])
{
    uint32_t n = 0;
    for (uint32_t t = 0; n < s->facts.n_ranges; t++) {
        if (s->told[t].row_bytes == 0)
            continue;
        ranges[n] = s->facts.ranges[n];
        ranges[n++].n_slots = (uint32_t)s->told[t].slots;
    }
    return n;
}

/* As many slots of each type as it has rows among those that a byte saves most by, whoever is to
 * lie in them. */
static int share_out(struct og_session *s, uint64_t bytes, struct og_err *err)
{
    struct og_memory_plan *m = &s->memory;
    struct og_slot_range ranges[OG_MOST_TYPES];
    uint64_t slots[OG_MOST_TYPES];
    uint64_t fit = 0;
    int rc;
    OG_TRY(count_fitting(s, s->hotness, bytes, &fit, err));
    OG_TRY(count_bytes(s, s->hotness, fit, &m->cache, slots, err));
    for (uint32_t t = 0; t < s->facts.typed->n_types; t++)
        s->told[t].slots = slots[t];
    m->n_slots = (uint32_t)fit;
    (void)og__typed_cache_ranges(s, ranges);
    og__memory_plan_ranges(m, &s->given, ranges);
out:
    return rc;
}

/* Slots for all rows there are; returns how many, whose bytes are *bytes. */
static uint64_t slots_for_all(struct og_session *s, size_t *bytes)
{
    struct og_slot_range ranges[OG_MOST_TYPES];
    uint64_t n = 0;
    *bytes = 0;
    for (uint32_t t = 0; t < s->facts.typed->n_types; t++) {
        struct og_typed_told *of = &s->told[t];
        of->slots = of->row_bytes > 0 ? (uint64_t)s->facts.typed->type[t].view.n_nodes : 0;
        *bytes += (size_t)of->slots * of->row_bytes;
        n += of->slots;
    }
    (void)og__typed_cache_ranges(s, ranges);
    og__memory_plan_ranges(&s->memory, &s->given, ranges);
    return n;
}

/* Rows that nobody changes, all of them, are the same for all who share memory: nothing is missed,
 * and nothing staged. */
static int take_whole(struct og_session *s, size_t room, struct og_err *err)
{
    const struct og_sharers *with = &s->config.sharers;
    struct og_memory_plan *m = &s->memory;
    size_t bytes;
    uint64_t want;
    int rc = 0;
    if (!with->common || og__exchanges(&s->config) || !og__policy_is_static(s->way.policy) ||
        og__samples_ahead(&s->way))
        return 0;
    OG_TRY(count_asked(s, s->hotness, &s->config.opt.cache, &want, err));
    const uint64_t n = slots_for_all(s, &bytes);
    const size_t own = (bytes + (size_t)with->n - 1) / (size_t)with->n;
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
static int size_slots(struct og_session *s, size_t bytes, size_t unstaged, struct og_err *err)
{
    const size_t ranks = (size_t)s->facts.n_nodes * sizeof(uint32_t);
    const struct og_memory_plan *m = &s->memory;
    int rc;
    s->memory.hotness = ranks;
    s->hotness = og__alloc(s->budget, ranks, "hotness", err);
    OG_TRY(s->hotness ? 0 : -ENOMEM);
    OG_TRY(weigh(s, s->hotness, err));
    og__session_own_hotness(s);
    OG_TRY(take_whole(s, unstaged, err));
    if (m->whole)
        return 0;
    OG_TRY(share_out(s, bytes, err));
    const size_t tables = m->alternates ? m->policy_training_slots : m->policy_slots;
    if (m->cache + tables > bytes)
        OG_TRY(share_out(s, bytes - OG_MIN(bytes, tables), err));
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
static size_t size_staging(struct og_session *s, const struct og_memory_plan *most)
{
    struct og_memory_plan *m = &s->memory;
    const size_t input = og__staged_bytes(&s->facts);
    const size_t free_bytes = m->limit - OG_MIN(m->limit, og__memory_plan_sum(m));
    const size_t slack = m->limit / OG__SLACK_SHARE;
    const bool twice = !og__exchanges(&s->config) && input <= free_bytes / (2 * OG__MOST_STAGING) &&
                       left_before(most, input * OG__MOST_STAGING) >= slack;
    m->n_staging = twice ? OG__MOST_STAGING : 1;
    m->staging_rows = (uint32_t)og__read_rows(&s->facts);
    m->staging = input * (size_t)m->n_staging;
    const size_t left = free_bytes - OG_MIN(free_bytes, m->staging);
    m->slack = OG_MIN(slack, OG_MIN(left, left_before(most, m->staging)));
    return left - m->slack;
}

/* Slots, from the first, that so many bytes have room for. */
static uint32_t slots_within(const struct og_session *s, size_t bytes)
{
    uint64_t n = 0;
    for (uint32_t t = 0; t < s->facts.typed->n_types; t++) {
        const struct og_typed_told *of = &s->told[t];
        const uint64_t fit = of->slots > 0 ? OG_MIN(of->slots, bytes / of->row_bytes) : 0;
        n += fit;
        if (fit < of->slots)
            break;
        bytes -= (size_t)fit * of->row_bytes;
    }
    return (uint32_t)n;
}

/* The last ones give way to structure, trace and tables while batches are sampled ahead. */
static int settle_yielded(struct og_session *s, struct og_err *err)
{
    struct og_memory_plan *m = &s->memory;
    const size_t before = og__memory_plan_before_training(m) + m->slack;
    if (before > m->limit)
        return og__memory_plan_refuse_superbatch(m, &s->way, before, err);
    m->n_yielded = m->n_slots - slots_within(s, m->limit - before);
    return 0;
}

int og__typed_cache_size(struct og_session *s, struct og_err *err)
{
    struct og_memory_plan *m = &s->memory;
    const struct og_memory_plan most = *m;
    int rc = 0;
    og__memory_plan_slots(m, &s->given, 0); /* known below */
    const size_t taken = og__memory_plan_sum(m) + RADIX_BYTES;
    const size_t room = size_staging(s, &most);
    if (og__policy_caches(s->way.policy))
        OG_TRY(size_slots(s, room - OG_MIN(room, (size_t)RADIX_BYTES),
                          m->limit - OG_MIN(m->limit, taken), err));
    if (m->alternates)
        OG_TRY(settle_yielded(s, err));
out:
    return rc;
}

#include "session/typed_cache.h"

#include "budget/memory_plan_parts.h"
#include "budget/slots.h"
#include "choose/hotness.h"
#include "options/options.h"
#include "plan/owners.h"
#include "session/session_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { RADIX_BYTES = 1 << 19 }; /* while rows are placed */

int og__typed_cache_check(int policy, struct og_err *err)
{
    if (og__policy_is_static(policy))
        return 0;
    return og__fail(err, -ENOTSUP, "use none, random, degree, presc, pagerank or file",
                    "--policy %s: its cache changes, and rows that are kept here stay",
                    og__option_word("policy", policy));
}

/* ---- what rows are worth ---- */

int og__typed_cache_weigh(const struct og_session *s, int policy, const struct og_options *opt,
                          uint32_t *worth, struct og_err *err)
{
    const struct og_graph *g = s->facts.graph;
    const int by = og__policy_ranked_like(policy);
    struct og_width *width = og__group_widths(g);
    og_uses *uses;
    int rc;
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(og__hotness_uses(&s->structure, s->pool, by, opt, worth, &uses, err));
    og__widths_weigh(worth, uses, width, g->n_groups);
out:
    free(width);
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
    const struct og_capacity room = og__amount_room(&cache, s->facts.n_nodes);
    const uint64_t n = og__owned_nodes(ranks, rank, s->facts.n_nodes);
    struct og_width *width = og__group_widths(g);
    uint32_t *own = og__alloc(s->budget, n * sizeof(*own), "hotness", err);
    int rc;
    OG_TRY(own ? 0 : -ENOMEM);
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    for (uint64_t i = 0; i < n; i++)
        own[i] = worth[og__owned_node(ranks, rank, (uint32_t)i)];
    for (uint32_t t = 0; t < g->n_groups; t++)
        width[t].end = og__owned_nodes(ranks, rank, width[t].end);
    OG_TRY(og__widths_fit(own, width, g->n_groups, &room, s->budget, slots, err));
out:
    og__release(s->budget, own, n * sizeof(*own), "hotness");
    free(width);
    return rc;
}

size_t og__typed_owned_bytes(const struct og_session *s)
{
    const uint64_t most = og__owned_nodes(s->config.share.ranks, 0, s->facts.n_nodes);
    return (size_t)most * sizeof(uint32_t) + OG__WIDTHS_FIT_BYTES;
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

/* A limit that would do, short_of bytes above this one. */
static void suggest(const struct og_memory_plan *m, uint64_t short_of, char *hint, size_t size)
{
    snprintf(hint, size, "give --memory %zuM, or a smaller --cache",
             og__memory_plan_all(m, m->limit + (size_t)short_of) / OG_MIB + 1);
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

/* Rows that are kept, of as many bytes as there are: those of --cache, or all. */
static int count_kept(const struct og_session *s, const uint32_t *worth, size_t bytes,
                      uint64_t *kept, struct og_err *err)
{
    const struct og_graph *g = s->facts.graph;
    const struct og_capacity asked = og__amount_room(&s->config.opt.cache, s->facts.n_nodes);
    const struct og_capacity room = {OG_MIN(asked.bytes, bytes), asked.rows};
    struct og_width *width = og__group_widths(g);
    uint64_t slots[OG_MOST_TYPES], want[OG_MOST_TYPES];
    uint64_t n_want = 0;
    size_t need = 0;
    char hint[128];
    int rc;
    *kept = 0;
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(og__widths_fit(worth, width, g->n_groups, &room, s->budget, slots, err));
    OG_TRY(og__widths_fit(worth, width, g->n_groups, &asked, s->budget, want, err));
    for (uint32_t k = 0; k < g->n_groups; k++) {
        *kept += slots[k];
        n_want += want[k];
        need += (size_t)want[k] * width[k].row_bytes;
    }
    suggest(&s->memory, need - OG_MIN(need, bytes), hint, sizeof(hint));
    if (s->config.opt.cache.unit != OG_UNSET && *kept < n_want)
        OG_TRY(og__fail(err, -ENOMEM, hint,
                        "--cache: %llu rows asked for, --memory has room for %llu",
                        (unsigned long long)n_want, (unsigned long long)*kept));
out:
    free(width);
    return rc;
}

int og__typed_cache_place(struct og_session *s, struct og_placement *out, struct og_err *err)
{
    const size_t ranks = (size_t)s->facts.n_nodes * sizeof(uint32_t);
    const size_t fixed = og__placement_bytes(s->facts.n_nodes) + RADIX_BYTES;
    const size_t need = ranking_bytes(s) + OG_MAX(fixed, (size_t)OG__WIDTHS_FIT_BYTES);
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
    OG_TRY(og__typed_cache_weigh(s, s->config.opt.policy, &s->config.opt, hotness, err));
    OG_TRY(count_kept(s, hotness, free_bytes - fixed, &fit, err));
    OG_TRY(og__placement_build(out, hotness, s->facts.n_nodes, fit, s->budget, err));
out:
    og__release(s->budget, hotness, ranks, "hotness");
    return rc;
}

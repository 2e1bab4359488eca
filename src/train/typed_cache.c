#include "train/typed_cache.h"

#include "budget/memory_plan_parts.h"
#include "plan/widths.h"
#include "train/hotness.h"
#include "train/options.h"

#include <stdlib.h>

enum { READ_BLOCK = 512 }; /* whole ones are read */

int og__typed_cache_check(int policy, struct og_err *err)
{
    const enum og_hotness by = og__policy_hotness(policy);
    const bool ranks =
        og__policy_is_static(policy) &&
        (by == OG__HOTNESS_NOISE || by == OG__HOTNESS_DEGREE || by == OG__HOTNESS_VISITS);
    if (ranks || !og__policy_caches(policy))
        return 0;
    return og__fail(err, -ENOTSUP, "use none, random, degree or presc",
                    "--policy %s: it does not rank rows of several widths",
                    og__option_word("policy", policy));
}

static struct og_width *widths_of(const struct og_typed *g)
{
    struct og_width *width = calloc(g->n_types, sizeof(*width));
    for (uint32_t t = 0; width && t < g->n_types; t++) {
        const struct og_node_type *type = &g->type[t];
        const size_t row = type->view.dim > 0 ? og__file_row_bytes(&type->view) : 0;
        width[t] = (struct og_width){.end = (uint64_t)(type->first + type->view.n_nodes),
                                     .row_bytes = row,
                                     .read_bytes = og__round_up(row, READ_BLOCK)};
    }
    return width;
}

/* How many of the worthiest fit, by hotness[N], which becomes what they are worth. */
static int rank(struct og_session *s, uint32_t *hotness, uint64_t bytes, uint64_t *fit,
                struct og_err *err)
{
    const struct og_typed *g = s->facts.typed;
    struct og_width *width = widths_of(g);
    int rc;
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(
        og__hotness_of(&s->structure, s->pool, s->config.opt.policy, &s->config.opt, hotness, err));
    og__widths_weigh(hotness, width, g->n_types);
    OG_TRY(og__widths_fit(hotness, width, g->n_types, bytes, s->budget, fit, err));
    *fit = OG_MIN(*fit, s->facts.cache_rows);
out:
    free(width);
    return rc;
}

/* What is left for rows, beside what holding and ranking them takes. */
static uint64_t bytes_for_rows(const struct og_session *s, size_t free_bytes, size_t fixed)
{
    const struct og_amount *cache = &s->config.opt.cache;
    const uint64_t bytes = free_bytes - OG_MIN(free_bytes, fixed);
    return cache->unit == OG_BYTES ? OG_MIN(bytes, (uint64_t)cache->value) : bytes;
}

enum { RADIX_BYTES = 1 << 19 }; /* while rows are ranked */

int og__typed_cache_place(struct og_session *s, struct og_placement *out, struct og_err *err)
{
    const size_t ranks = (size_t)s->facts.n_nodes * sizeof(uint32_t);
    const size_t fixed = og__placement_bytes(s->facts.n_nodes) + RADIX_BYTES;
    const size_t free_bytes = og__memory_plan_free(&s->memory, &s->given);
    *out = (struct og_placement){0};
    if (!og__policy_caches(s->config.opt.policy) || free_bytes < ranks + fixed)
        return 0;
    uint64_t fit = 0;
    uint32_t *hotness = og__alloc(s->budget, ranks, "hotness", err);
    if (!hotness)
        return -ENOMEM;
    int rc;
    OG_TRY(rank(s, hotness, bytes_for_rows(s, free_bytes, fixed), &fit, err));
    OG_TRY(og__placement_build(out, hotness, s->facts.n_nodes, fit, s->budget, err));
out:
    og__release(s->budget, hotness, ranks, "hotness");
    return rc;
}

/* ---- of a session that gathers them ---- */

/* Bytes of the n worthiest rows. */
static int count_bytes(struct og_session *s, uint64_t n, size_t *bytes, struct og_err *err)
{
    const struct og_typed *g = s->facts.typed;
    struct og_placement kept = {0};
    int rc = og__placement_build(&kept, s->hotness, s->facts.n_nodes, n, s->budget, err);
    if (rc < 0)
        return rc;
    *bytes = 0;
    for (uint32_t t = 0; t < g->n_types; t++) {
        const struct og_node_type *of = &g->type[t];
        const size_t row = og__file_row_bytes(&of->view);
        for (uint32_t v = 0; row > 0 && v < of->view.n_nodes; v++)
            *bytes += og__placement_has(&kept, (uint32_t)of->first + v) ? row : 0;
    }
    og__placement_release(&kept);
    return 0;
}

static int size_slots(struct og_session *s, uint64_t bytes, struct og_err *err)
{
    const size_t ranks = (size_t)s->facts.n_nodes * sizeof(uint32_t);
    struct og_memory_plan *m = &s->memory;
    uint64_t fit = 0;
    int rc;
    m->hotness = ranks;
    s->hotness = og__alloc(s->budget, ranks, "hotness", err);
    OG_TRY(s->hotness ? 0 : -ENOMEM);
    OG_TRY(rank(s, s->hotness, bytes, &fit, err));
    OG_TRY(count_bytes(s, fit, &m->cache, err));
    m->n_slots = (uint32_t)fit;
out:
    return rc;
}

/* Every row of a batch may be read: staging is for all of them, twice where there is room. */
int og__typed_cache_size(struct og_session *s, struct og_err *err)
{
    struct og_memory_plan *m = &s->memory;
    const size_t input = og__input_bytes(&s->facts);
    const size_t free_bytes = m->limit - OG_MIN(m->limit, og__memory_plan_sum(m));
    m->n_staging = input <= free_bytes / (2 * OG__MOST_STAGING) ? OG__MOST_STAGING : 1;
    m->staging_rows = (uint32_t)og__input_rows(&s->facts);
    m->staging = input * (size_t)m->n_staging;
    const size_t left = free_bytes - OG_MIN(free_bytes, m->staging);
    m->slack = OG_MIN(m->limit / OG__SLACK_SHARE, left);
    return og__policy_caches(s->way.policy)
               ? size_slots(s, bytes_for_rows(s, left - m->slack, RADIX_BYTES), err)
               : 0;
}

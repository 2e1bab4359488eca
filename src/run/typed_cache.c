#include "run/typed_cache.h"

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

/* The worthiest that fit, by hotness[N], which becomes what they are worth. */
static int place(struct og_session *s, uint32_t *hotness, uint64_t bytes, struct og_placement *out,
                 struct og_err *err)
{
    const struct og_typed *g = s->facts.typed;
    uint64_t fit = 0;
    struct og_width *width = widths_of(g);
    int rc;
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(
        og__hotness_of(&s->structure, s->pool, s->config.opt.policy, &s->config.opt, hotness, err));
    og__widths_weigh(hotness, width, g->n_types);
    OG_TRY(og__widths_fit(hotness, width, g->n_types, bytes, s->budget, &fit, err));
    fit = OG_MIN(fit, s->facts.cache_rows);
    OG_TRY(og__placement_build(out, hotness, s->facts.n_nodes, fit, s->budget, err));
out:
    free(width);
    return rc;
}

int og__typed_cache_place(struct og_session *s, struct og_placement *out, struct og_err *err)
{
    enum { RADIX_BYTES = 1 << 19 }; /* while rows are ranked */
    const struct og_amount *cache = &s->config.opt.cache;
    const size_t ranks = (size_t)s->facts.n_nodes * sizeof(uint32_t);
    const size_t fixed = og__placement_bytes(s->facts.n_nodes) + RADIX_BYTES;
    const size_t free_bytes = og__memory_plan_free(&s->memory, &s->given);
    *out = (struct og_placement){0};
    if (!og__policy_caches(s->config.opt.policy) || free_bytes < ranks + fixed)
        return 0;
    uint64_t bytes = free_bytes - fixed;
    if (cache->unit == OG_BYTES)
        bytes = OG_MIN(bytes, (uint64_t)cache->value);
    uint32_t *hotness = og__alloc(s->budget, ranks, "hotness", err);
    if (!hotness)
        return -ENOMEM;
    int rc = place(s, hotness, bytes, out, err);
    og__release(s->budget, hotness, ranks, "hotness");
    return rc;
}

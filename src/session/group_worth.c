#include "session/group_worth.h"

#include "budget/slots.h"
#include "choose/hotness.h"
#include "options/options.h"
#include "plan/owners.h"
#include "session/session_parts.h"

#include <stdlib.h>

/* ---- what rows are worth ---- */

int og__weigh_groups(const struct og_session *s, int policy, const struct og_options *opt,
                     uint32_t *worth, struct og_err *err)
{
    const struct og_graph *g = s->workload.row_graph;
    const int by = og__policy_ranked_like(policy);
    struct og_group_bytes *group = og__group_bytes_of_graph(g);
    og_uses *uses;
    int rc;
    OG_TRY(group ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(og__hotness_uses(&s->structure, s->pool, by, opt, worth, &uses, err));
    og__worth_weigh(worth, uses, group, g->n_groups);
out:
    free(group);
    return rc;
}

/* ---- of one of several owners ---- */

/* Without --cache as many bytes as the session's own. */
static struct og_amount owned_amount(const struct og_session *s)
{
    const struct og_amount *requested = &s->config.opt.cache;
    return requested->unit != OG_UNSET ? *requested
                                       : (struct og_amount){OG_BYTES, (double)s->memory.cache};
}

int og__owned_slots(const struct og_session *s, const uint32_t *worth, uint32_t rank,
                    uint64_t *slots, struct og_err *err)
{
    const struct og_graph *g = s->workload.row_graph;
    const uint32_t ranks = s->config.share.ranks;
    const struct og_amount cache = owned_amount(s);
    const struct og_capacity room = og__amount_room(&cache, s->workload.n_nodes);
    const uint64_t n = og__owned_nodes(ranks, rank, s->workload.n_nodes);
    struct og_group_bytes *group = og__group_bytes_of_graph(g);
    uint32_t *own = og__alloc(s->budget, n * sizeof(*own), "hotness", err);
    int rc;
    OG_TRY(own ? 0 : -ENOMEM);
    OG_TRY(group ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    og__owned_values(ranks, rank, n, worth, own);
    for (uint32_t t = 0; t < g->n_groups; t++)
        group[t].end = og__owned_nodes(ranks, rank, group[t].end);
    OG_TRY(og__worth_fit(own, group, g->n_groups, &room, s->budget, slots, err));
out:
    og__release(s->budget, own, n * sizeof(*own), "hotness");
    free(group);
    return rc;
}

size_t og__owned_slots_bytes(const struct og_session *s)
{
    const uint64_t most = og__owned_nodes(s->config.share.ranks, 0, s->workload.n_nodes);
    return (size_t)most * sizeof(uint32_t) + OG__WORTH_FIT_BYTES;
}

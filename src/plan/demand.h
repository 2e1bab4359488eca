/* demand: what one owner is asked for in rounds to come (plan/owners.h), and in which order each
 * worker wants it.
 *
 *   round           0               1                        of each round
 *   ids        | 8 12 6       | 3 7 1 5      |               own numbers, each once: a batch
 *   at         | 0 1 | 2 0    | 0 1 | 2 3 0  |               index in that of each row asked for
 *              by 0  | by 1     by 0| by 1                   by worker, as it asked
 *
 * `ids` are a trace, which any policy plans; `at` says of the rows of a planned batch what goes to
 * whom. */
#ifndef OG_DEMAND_H
#define OG_DEMAND_H

#include "plan/owners.h"
#include "sample/batch.h"

struct og_demand {
    struct og_owner owner;
    const uint32_t *end; /* [n_ends] of ranges of nodes: ids of a round come range by range */
    uint32_t n_ends;
    uint32_t n;             /* rounds */
    uint64_t *ptr, *at_ptr; /* [n + 1] */
    uint32_t *counts;       /* [n * owners] rows asked for by each worker */
    uint32_t *ids;          /* [ptr[n]] */
    uint32_t *at;           /* [at_ptr[n]] */
    uint32_t most;          /* rounds that there is room for */
    uint64_t room;          /* rows asked for, the same */
    struct og_budget *budget;
};

/* end[n_ends]: the graph's nodes in ranges, the last of which ends with them; borrowed. From the
 * budget as "exchange". Close it also after a failed open. */
OG_MUST_CHECK int og__demand_open(struct og_demand *d, uint32_t owners, uint32_t owner,
                                  const uint32_t *end, uint32_t n_ends, struct og_budget *b,
                                  struct og_err *err);
void og__demand_close(struct og_demand *d);
/* What it takes with room for so many rounds and rows. */
size_t og__demand_bytes(uint32_t owners, uint64_t n_nodes, uint64_t rounds, uint64_t rows);

/* Nothing is asked for. */
void og__demand_clear(struct og_demand *d);
/* Room for so many rounds, in which so many rows are asked for in all, with those that are there.
 */
OG_MUST_CHECK int og__demand_reserve(struct og_demand *d, uint32_t rounds, uint64_t rows,
                                     struct og_err *err);
/* The next round: worker i asks for nodes[i], of which there are n[i], all of them the owner's, and
 * range by range. */
void og__demand_add(struct og_demand *d, const uint32_t *const *nodes, const uint32_t *n);

static inline struct og_trace og__demand_trace(const struct og_demand *d)
{
    return (struct og_trace){d->n, d->ptr, d->ids};
}

/* A round, as it lies there. */
struct og_demanded {
    const uint32_t *ids, *at, *counts;
    uint32_t n, n_at;
};
static inline struct og_demanded og__demand_of(const struct og_demand *d, uint32_t round)
{
    return (struct og_demanded){.ids = d->ids + d->ptr[round],
                                .at = d->at + d->at_ptr[round],
                                .counts = d->counts + (size_t)round * d->owner.owners,
                                .n = (uint32_t)(d->ptr[round + 1] - d->ptr[round]),
                                .n_at = (uint32_t)(d->at_ptr[round + 1] - d->at_ptr[round])};
}

#endif

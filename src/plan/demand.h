/* demand: requests to one owner in coming rounds (plan/owners.h), and their order by worker.
 *
 *     round           0               1                        of each round
 *     ids        | 8 12 6       | 3 7 1 5      |               own numbers, each once: a batch
 *     at         | 0 1 | 2 0    | 0 1 | 2 3 0  |               its index for each requested row
 *                by 0  | by 1     by 0| by 1                   by worker, in request order
 *
 * `ids` are a trace, which any policy plans; `at` maps the rows of a planned batch to workers. */
#ifndef OG_DEMAND_H
#define OG_DEMAND_H

#include "base/allocs.h"
#include "plan/owners.h"
#include "sample/batch.h"

struct og_demand {
    struct og_owner owner;
    const uint32_t *end; /* [n_ends] of groups of nodes: ids of a round come group by group */
    uint32_t n_ends;
    uint32_t n;                          /* rounds */
    uint64_t *ptr, *at_ptr;              /* [n + 1] */
    uint32_t *counts;                    /* [n * owners] rows requested by each worker */
    uint32_t *ids;                       /* [ptr[n]] */
    uint32_t *at;                        /* [at_ptr[n]] */
    struct og_allocs of_rounds, of_rows; /* room: rounds; requested rows */
};

/* end[n_ends]: ends of the node groups, the last being the graph's; borrowed. Memory from the
 * budget as "exchange". Close it also after a failed open. */
OG_MUST_CHECK int og__demand_open(struct og_demand *d, uint32_t owners, uint32_t owner,
                                  const uint32_t *end, uint32_t n_ends, struct og_budget *b,
                                  struct og_err *err);
void og__demand_close(struct og_demand *d);
/* Memory for so many rounds and rows. */
size_t og__demand_bytes(uint32_t owners, uint64_t n_nodes, uint64_t rounds, uint64_t rows);

/* Removes all requests. */
void og__demand_clear(struct og_demand *d);
/* Releases ids and indices of all rounds. Their counts stay. */
void og__demand_release_rows(struct og_demand *d);
/* Makes room for so many rounds and requested rows in all, including present ones. */
OG_MUST_CHECK int og__demand_reserve(struct og_demand *d, uint32_t rounds, uint64_t rows,
                                     struct og_err *err);
/* Adds the next round: worker i requests nodes[i], n[i] of them, all of the owner's, group by
 * group. */
void og__demand_add(struct og_demand *d, const uint32_t *const *nodes, const uint32_t *n);

static inline struct og_trace og__demand_trace(const struct og_demand *d)
{
    return (struct og_trace){d->n, d->ptr, d->ids};
}

/* A round, as stored. ids and at are NULL once rows are released. */
struct og_demanded {
    const uint32_t *ids, *at, *counts;
    uint32_t n, n_at;
};
static inline struct og_demanded og__demand_of(const struct og_demand *d, uint32_t round)
{
    return (struct og_demanded){.ids = d->ids ? d->ids + d->ptr[round] : NULL,
                                .at = d->at ? d->at + d->at_ptr[round] : NULL,
                                .counts = d->counts + (size_t)round * d->owner.owners,
                                .n = (uint32_t)(d->ptr[round + 1] - d->ptr[round]),
                                .n_at = (uint32_t)(d->at_ptr[round + 1] - d->at_ptr[round])};
}

#endif

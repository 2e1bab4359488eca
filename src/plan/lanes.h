/* lanes: the state of each thread of a simulation. */
#ifndef OG_LANES_H
#define OG_LANES_H

#include "plan/plan.h"
#include "plan/simulate.h"

struct og_lane {
    struct og_planner planner;
    struct og_plan plan;
    uint8_t *level;           /* [longest batch] */
    struct og_plan_cost *sum; /* [n_sizes] */
    int rc;
    struct og_err err;
};

struct og_lanes {
    const struct og_simulation *sim;
    struct og_lane *lane;
    int n;
    uint32_t longest;
};

/* Allocates for the longest batch, so that no batch can run out of memory. Close accepts the state
 * after a failed open. */
OG_MUST_CHECK int og__lanes_open(struct og_lanes *l, const struct og_simulation *sim, int n,
                                 struct og_err *err);
void og__lanes_close(struct og_lanes *l);
size_t og__lane_bytes(uint64_t longest);
/* The first lane's failure, or OG_INTERRUPTED after *stop. */
OG_MUST_CHECK int og__lanes_failed(const struct og_lanes *l, struct og_err *err);

bool og__sim_stopped(const struct og_simulation *sim);
/* Maps nodes to their rows in the file. */
void og__sim_rows(const struct og_simulation *sim, uint32_t *nodes, uint32_t n);
/* Counts a batch of n rows with these misses, ascending. */
void og__lane_count(const struct og_simulation *sim, uint32_t n, const uint32_t *misses,
                    uint32_t n_misses, struct og_plan_cost *sum);

static inline uint32_t og__trace_rows(const struct og_trace *t, size_t batch)
{
    return (uint32_t)(t->ptr[batch + 1] - t->ptr[batch]);
}

uint32_t og__longest_batch(const struct og_trace *t); /* its rows */

/* ---- reading what is put into the cache ---- */

enum { OG__LOT = 1024 };

/* Rows to put into the cache, and their slots. */
static inline uint32_t og__lot_rows(const struct og_simulation *sim)
{
    return sim->fill_rows ? sim->fill_rows : OG__LOT;
}

static inline size_t og__lot_bytes(const struct og_simulation *sim)
{
    return 2 * (size_t)og__lot_rows(sim) * sizeof(uint32_t);
}

#endif

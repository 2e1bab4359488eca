/* plan: decides from where each row of each batch is read. Pure functions, no I/O.
 *
 *      trace (ids of batches) ─┐
 *      facts (degrees, N)      ├──> policy ──> plan ──> gather executes it
 *      capacities ─────────────┘                └────> verifier checks it
 *
 * Places are numbered across tiers, fastest first, for any number of tiers (gather/rows.h). So one
 * number identifies a place, and execution needs no look-up. Misses come last:
 *
 *      0                    n_slots                 n_slots + n_misses
 *      | host cache slots   | this batch's misses, ascending by node id | */
#ifndef OG_PLAN_H
#define OG_PLAN_H

#include "base/allocs.h"
#include "base/bits.h"
#include "dataset/graph.h"
#include "sample/batch.h"

/* ---- static placement: which nodes the host cache holds ----
 *
 * One bit a node, and the number of set bits before every 64th. Slots are numbered in the order of
 * node ids. So one scan of the file fills the cache, and the slot of a node is a rank. That is 3 N
 * / 16 bytes; a table of slots would take 4 N. */
struct og_placement {
    uint64_t n_nodes;
    uint32_t n_slots; /* resident nodes */
    uint64_t *bits;   /* [ceil(N / 64)] */
    uint32_t *rank;   /* [ceil(N / 64)] */
    struct og_budget *budget;
};
#define OG_NO_SLOT UINT32_MAX

/* Selects the `capacity` hottest nodes; ties go to smaller ids. hotness[N]; NULL = all equal.
 * Memory "placement" from the budget. */
OG_MUST_CHECK int og__placement_build(struct og_placement *p, const uint32_t *hotness,
                                      uint64_t n_nodes, uint64_t capacity, struct og_budget *b,
                                      struct og_err *err);
/* The same without the nodes whose bit is set in `without`, which may be NULL. */
OG_MUST_CHECK int og__placement_build_without(struct og_placement *p, const uint32_t *hotness,
                                              const uint64_t *without, uint64_t n_nodes,
                                              uint64_t capacity, struct og_budget *b,
                                              struct og_err *err);
void og__placement_release(struct og_placement *p);
size_t og__placement_bytes(uint64_t n_nodes);

static inline bool og__placement_has(const struct og_placement *p, uint32_t node)
{
    return og__bits_has(p->bits, node);
}

uint32_t og__placement_slot(const struct og_placement *p, uint32_t node);

/* The nodes of slots [first, first + n) in slot order, resuming from *cursor (0 at the start). */
void og__placement_nodes(const struct og_placement *p, uint64_t *cursor, uint32_t *nodes,
                         uint32_t n);

/* ---- hotness: one score a node, the hotter the sooner cached ---- */

/* Maps floats, except NaN, to numbers above 0 in the same order, and back; -0 is 0. */
uint32_t og__float_ordered(float x);
float og__ordered_float(uint32_t ordered);

/* Has one of x[n] `high` as its bits from `shift` on? */
bool og__any_begins(const uint32_t *x, size_t n, int shift, uint32_t high);

/* Passes of edges from og__topology_scan (og_scan_fn).
 *
 * Out-degree, the number of lists that can yield a node (PaGraph; Park et al. 2022, §2.3), is
 * og__topology_out_degrees. This estimates it from a sixteenth of the edges, added to hotness[N],
 * which is `arg`. */
int og__hotness_some_edges(void *arg, int64_t first, const uint32_t *ids, size_t n,
                           struct og_err *err);

/* Weighted reverse PageRank (Park et al. 2024, §4.2): the nodes that a surfer visits. The surfer
 * starts at a training node, and at each step restarts or moves to an in-neighbour. In a
 * heterogeneous graph the surfer first selects one of the relations in which the node has
 * in-neighbours. */
struct og_pagerank {
    const struct og_topology *t; /* for its degrees */
    const uint32_t *seeds;       /* [n_seeds] the training nodes */
    int64_t n_seeds;
    struct og_budget *budget;
    float *rank, *next; /* [N] */
    int round;
    /* lists that pass, */
    const struct og_topology *lists;
    const float *from; /* [lists] of their nodes, */
    float *to;         /* [sources] and of those in them; */
    uint64_t node;     /* of the current list */
};
/* Memory og__pagerank_bytes from the budget as "hotness". Close it, also after an error. */
OG_MUST_CHECK int og__pagerank_open(struct og_pagerank *p, const struct og_topology *t,
                                    const uint32_t *seeds, int64_t n_seeds, struct og_budget *b,
                                    struct og_err *err);
/* Starts another round and returns true, or false after the last. In a round all edges must pass
 * og__pagerank_edges, with p as `arg`: those of the topology, or of each relation after a call of
 * og__pagerank_pass. */
bool og__pagerank_round(struct og_pagerank *p);
void og__pagerank_pass(struct og_pagerank *p);
void og__pagerank_pass_relation(struct og_pagerank *p, uint32_t r);
int og__pagerank_edges(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err);
/* After the last round: positive floats as bits, which keep their order. */
void og__pagerank_scores(const struct og_pagerank *p, uint32_t *hotness);
void og__pagerank_close(struct og_pagerank *p);
size_t og__pagerank_bytes(uint64_t n_nodes);

/* Noise, for comparison. */
void og__hotness_random(uint64_t seed, uint64_t n_nodes, uint32_t *hotness);

/* ---- the plan of one batch ---- */

/* Freed by whoever initialised it; that of a work by its data path (flow/flow.h). */
struct og_plan {
    uint32_t n;        /* rows */
    uint32_t *place;   /* [n] slot, or n_slots + index of the miss */
    uint32_t n_misses; /* rows that are read from the feature file */
    uint32_t *misses;  /* [n_misses] node ids, ascending: file order */
    /* changeset: after the batch, its row change_row[i] enters slot change_slot[i] */
    uint32_t n_changes;
    uint32_t *change_row, *change_slot;
    /* memory */
    struct og_allocs of_rows, of_changes;
};
void og__plan_init(struct og_plan *p, struct og_budget *b);
/* Room for batches of so many rows, of which so many may enter the cache. */
OG_MUST_CHECK int og__plan_reserve(struct og_plan *p, uint32_t rows, uint32_t changes,
                                   struct og_err *err);
void og__plan_release(struct og_plan *p);
size_t og__plan_bytes(uint64_t rows, uint64_t changes);

/* Scratch of a planner, for the largest batch so far. */
struct og_planner {
    uint64_t *pairs, *spare; /* [rows] node id << 32 | row */
    struct og_allocs arrays;
};
void og__planner_init(struct og_planner *p, struct og_budget *b);
void og__planner_release(struct og_planner *p);
size_t og__planner_bytes(uint64_t rows);
OG_MUST_CHECK int og__planner_reserve(struct og_planner *p, uint32_t rows, struct og_err *err);

/* Rows whose place is OG_NO_SLOT are misses: numbers them after the slots, in file order.
 * O(rows). */
OG_MUST_CHECK int og__plan_misses(struct og_planner *planner, const uint32_t *ids, uint32_t n_slots,
                                  struct og_plan *out, struct og_err *err);

/* A plan in four bytes a row, for spilling: the row's slot. For a miss, the slot it enters
 * afterwards, if any. */
enum { OG__CODE_MISS = (int)0x80000000 };
#define OG__CODE_STAYS_OUT UINT32_MAX
/* codes[plan->n] of a plan whose misses are not numbered yet (place = OG_NO_SLOT). */
void og__plan_encode(const struct og_plan *plan, uint32_t *codes);
/* The reverse, with numbered misses. Codes may be out->place, if that is large enough. -EIO for a
 * slot beyond n_slots. */
OG_MUST_CHECK int og__plan_decode(struct og_planner *planner, const uint32_t *codes,
                                  const uint32_t *ids, uint32_t n, uint32_t n_slots,
                                  struct og_plan *out, struct og_err *err);

/* ---- what a plan will cost ---- */

struct og_plan_cost {
    uint64_t rows, hits, misses;
    uint64_t reads; /* requests after merging */
    uint64_t bytes; /* requested from the kernel */
};
void og__plan_cost_add(struct og_plan_cost *sum, const struct og_plan_cost *part);

#endif

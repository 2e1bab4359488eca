/* A batch's input: seed nodes or, in link prediction, the ends of its seed edges and negative
 * pairs. */
#ifndef OG_SEEDS_H
#define OG_SEEDS_H

#include "sample/balanced.h"
#include "sample/pairs.h"
#include "sample/sample.h"
#include "sample/schedule.h"

/* Shared, read only. */
struct og_seed_source {
    const struct og_schedule *schedule;
    const uint32_t *split[OG__SPLITS]; /* node ids; for edges, src and dst of each in sequence */
    bool repeats; /* the training split may list a node several times; others may not */
    const struct og_balanced *balanced; /* draws the seeds of training; NULL: each once an epoch */
    bool edges;
    struct og_pair_rule rule; /* with edges */
    /* Seeds begin disjoint trees, several of them at the same node too. `times`: one for each of
     * the split; NULL: those of the nodes. */
    bool trees;
    const int64_t *times[OG__SPLITS]; /* of edges: pairs see what was before */
};

/* The seeds of one batch; memory ("batches") for any. */
struct og_seeds {
    uint64_t *place; /* [turn.n_seeds] of the seeds in their split */
    const uint32_t *node;
    uint32_t n; /* distinct nodes */
    /* Set if the turn lists a node several times. Then next[v] is the next position of the node at
     * v, or OG__NO_ID; first[i] is the first one of node[i]. */
    uint32_t repeating; /* n; 0: each node is listed once, and these are not filled */
    uint32_t extra;     /* places of the turn beyond n */
    uint32_t *first, *next;
    const int64_t *time; /* [n] of their trees; NULL: those of the nodes */
    int64_t *own_time;
    struct og_id_table table; /* of og_id_place: node -> position */
    struct og_pairs pairs;
    uint32_t *own; /* `node` where seeds are nodes */
    struct og_allocs arrays;
};

OG_MUST_CHECK int og__seeds_open(struct og_seeds *s, const struct og_seed_source *source,
                                 struct og_budget *b, struct og_err *err);
void og__seeds_close(struct og_seeds *s);
size_t og__seeds_bytes(const struct og_seed_source *source);
uint32_t og__seeds_most(const struct og_seed_source *source); /* nodes of a batch */

/* The position of node i of the batch. Each seed is at its first position of the turn, other nodes
 * after the turn. */
static inline uint32_t og__turn_place(const struct og_seeds *s, uint32_t i)
{
    return i < s->repeating ? s->first[i] : i + s->extra;
}

void og__seeds_take(struct og_seeds *s, const struct og_seed_source *source,
                    const struct og_descriptor *descriptor);
/* Call after sampling: removes training targets from the blocks. */
void og__seeds_exclude(struct og_seeds *s, const struct og_descriptor *descriptor,
                       struct og_batch *batch);

#endif

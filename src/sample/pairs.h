/* Seed edges: what a batch of link prediction starts from.
 *
 *   edges of the batch ──> pairs that stand against them ──> distinct ends of all: seed nodes
 *                                                                │
 *   positions of the ends among the seeds <──────────────────────┘
 *
 *   pair   | edges | negatives            | rivals, in evaluation |
 *          0       n_edges                                        n
 *
 * In training each edge has as many negatives as the rule says: those of edge i are
 * n_edges + i * negatives and the following. Such a pair keeps one end of its edge (src, or in a
 * symmetric graph either) and has for the other a node drawn from all nodes, or the like end of
 * another edge of the batch. In evaluation each edge has one negative, both of whose ends are drawn
 * from all nodes, and is ranked among n_rivals pairs that keep its src: their other ends are drawn
 * once for the batch, so that a batch of B edges needs n_rivals more seeds, not B * n_rivals. A
 * pair drawn may happen to be an edge; none is a node with itself where that can be helped.
 *
 * Where edges are of several relations, nodes have types and an edge a direction: what is drawn for
 * an end is of the type of that end, and a pair is of its edge's relation. A training negative
 * keeps either end. An edge is ranked twice, among n_rivals pairs that keep its src and behind all
 * of these among as many that keep its dst (written dst -> rival: a score has no direction); a
 * rival that is an edge itself gives way to the edge's own end, which is none:
 *
 *   pair   | edges | negatives | rivals for each dst | rivals for each src |
 *
 * All is a pure function of (rule, edges, split, epoch, batch). */
#ifndef OG_SAMPLE_PAIRS_H
#define OG_SAMPLE_PAIRS_H

#include "base/id_table.h"
#include "base/memory.h"
#include "sample/batch.h"
#include "sample/triples.h"

struct og_pair_rule {
    uint64_t seed; /* of the run */
    uint32_t n_nodes;
    bool symmetric;              /* an edge has no direction */
    bool in_batch;               /* training negatives are made of the batch's own nodes */
    uint32_t negatives;          /* an edge, in training */
    uint32_t rivals;             /* an edge, in evaluation; of each end, of several relations */
    const struct og_triples *of; /* edges are of several relations; NULL: of one; borrowed */
};

struct og_pairs {
    uint32_t n_edges, n_negatives, n_rivals, n; /* n_negatives in all, n_rivals an edge */
    uint32_t *a, *b;                            /* [n] positions among the seeds: a -> b */
    uint32_t *relation;                         /* [n] of several relations; NULL: there is one */
    bool both_ends;                             /* are ranked: n_rivals each */
    uint32_t *seeds;                            /* [n_seeds] distinct, in the order met */
    uint32_t n_seeds;
    /* memory, for batches up to `most` edges */
    struct og_budget *budget;
    struct og_pair_sizes {
        size_t pairs, seeds, table, banned, relations, drawn;
    } size;
    uint32_t *drawn; /* [types][rivals] of several relations: positions of rivals, by types */
    struct og_id_table table; /* of og_id_place: node -> position */
    uint64_t *banned;         /* dst << 32 | src, ascending: edges that a block must not have */
};

/* Which batch. Evaluation epochs are 0. */
struct og_pair_key {
    bool training;
    uint32_t split, epoch, batch;
};

/* Memory ("batches") for batches up to `edges` edges; and what that takes. -EOVERFLOW for 2^31
 * pairs. */
OG_MUST_CHECK int og__pairs_open(struct og_pairs *p, const struct og_pair_rule *rule,
                                 uint32_t edges, struct og_budget *b, struct og_err *err);
void og__pairs_close(struct og_pairs *p);
size_t og__pairs_bytes(const struct og_pair_rule *rule, uint32_t edges);
/* The most seeds, and in training the most pairs, of a batch of `edges` edges. */
uint32_t og__pairs_most_seeds(const struct og_pair_rule *rule, uint32_t edges);
uint64_t og__pairs_most(const struct og_pair_rule *rule, uint32_t edges, bool training);

/* Edge i of the batch is ends[2 * place[i]] -> ends[2 * place[i] + 1]. */
void og__pairs_make(struct og_pairs *p, const struct og_pair_rule *rule, const uint32_t *ends,
                    const uint64_t *place, uint32_t n_edges, const struct og_pair_key *key);

/* Take the batch's own edges, and their reverses, out of the blocks that were sampled for it: what
 * is asked for must not be told. Both ends are seeds, so no node is lost by it. (A destination that
 * drew such an edge has one neighbour less, as in DGL.) */
void og__pairs_exclude(struct og_pairs *p, struct og_batch *batch);

#endif

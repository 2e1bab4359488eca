/* Seed edges: the input of a link prediction batch.
 *
 *   edges of the batch ──> their negative pairs ──> distinct ends of all: seed nodes
 *                                                                │
 *   positions of the ends among the seeds <──────────────────────┘
 *
 *   pair   | edges | negatives            | ranking negatives, in evaluation |
 *          0       n_edges                                                   n
 *
 * In training each edge has as many negatives as the rule says. Those of edge i are n_edges + i *
 * negatives and the following. A negative keeps one end of its edge: src, or in a symmetric graph
 * either. Its other end is a node drawn from all nodes, or the same end of another edge of the
 * batch.
 *
 * In evaluation each edge has one negative, with both ends drawn from all nodes. It is ranked among
 * n_rank_negatives pairs that keep its src. Their other ends are drawn once for the batch, so a
 * batch of B edges needs n_rank_negatives more seeds, not B * n_rank_negatives. A negative may be
 * an edge by chance; none is a self-loop if avoidable.
 *
 * With several relations, nodes have types and edges a direction. A drawn end has the type of the
 * end it replaces, and a pair has its edge's relation. A training negative keeps either end. An
 * edge is ranked twice, each time among n_rank_negatives pairs. The first keep its src, the second
 * its dst. One that is an edge is replaced by the edge itself, which does not count:
 *
 *   pair   | edges | negatives | dst replaced, ranked | src replaced, ranked |
 *
 * A split may have given negatives instead. Either there are k destinations for each edge, which
 * are its ranking negatives. Or there are m pairs for all P edges. Those of edge p are numbers p m
 * / P up to (p + 1) m / P; they are scored with the batch, and ranked when all are. Such pairs have
 * the relation of the edges, which is one:
 *
 *   pair   | edges | negatives | given |
 *
 * Edges with times have trees (trees.h). A seed is a node and a time: all pairs of an edge see what
 * was there before the edge. So the same node at the same time is one seed, and its draws are those
 * of each.
 *
 * Training edges may have given negatives too, as many each as the rule says. They are where drawn
 * ones would be, and may replace both ends.
 *
 * All is a pure function of (rule, edges, split, epoch, batch). */
#ifndef OG_SAMPLE_PAIRS_H
#define OG_SAMPLE_PAIRS_H

#include "base/id_table.h"
#include "base/memory.h"
#include "sample/arrivals.h"
#include "sample/batch.h"
#include "sample/triples.h"

/* Given negatives of a split of n_edges edges; borrowed. */
struct og_given_negatives {
    const uint32_t *ids; /* [n_edges][each] destinations, or [n][2] ends; NULL: none */
    uint64_t n_edges, n;
    uint32_t each; /* 0: pairs */
};

struct og_pair_rule {
    uint64_t seed; /* of the run */
    uint32_t n_nodes;
    bool symmetric;                     /* an edge has no direction */
    bool in_batch;                      /* training negatives use the batch's own nodes */
    bool keeps;                         /* blocks keep the edges of their batch */
    bool labelled;                      /* edges have labels, and no negatives */
    bool trees;                         /* seeds are distinct nodes and times, each with a tree */
    const bool *timed;                  /* with trees, [n_relations] edges have times; or NULL */
    const struct og_arrivals *arrivals; /* negatives are there at their edge's time; NULL: any */
    bool planted; /* each end is a seed of its own: first all sources, then all destinations */
    /* Planted edges that repeat the source of another. The first m = n / (1 + source_repeats)
     * of n edges have sources of their own. Edge i has that of edge i % m, and its tree. */
    uint32_t source_repeats;
    uint32_t negatives;          /* an edge, in training */
    uint32_t rank_negatives;     /* per edge, in evaluation; with several relations, per end */
    const struct og_triples *of; /* edges are of several relations; NULL: of one; borrowed */
    struct og_given_negatives given[OG__SPLITS];
};

struct og_pairs {
    uint32_t n_edges, n_negatives, n_rank_negatives, n_given,
        n;                      /* n_negatives and n_given in all, n_rank_negatives an edge */
    uint32_t *a, *b;            /* [n] positions among the seeds: a -> b */
    uint32_t *relation;         /* [n] of several relations; NULL: there is one */
    bool both_ends;             /* are ranked: n_rank_negatives each */
    bool ranks_given;           /* ranking negatives are given: each counts */
    bool held_out;              /* edges of evaluation */
    const void *targets;        /* of labelled edges, in the form of their task; NULL: none */
    const float *own;           /* and their features, a row each; NULL: none */
    bool keeps, trees, planted; /* the rule's */
    const bool *timed;
    int64_t *time; /* [n_seeds] of trees: no edge is later */
    int64_t now;   /* of the edge whose pairs are made, by: */
    const int64_t *times;
    const uint64_t *place;
    uint32_t n_sources; /* if planted: seeds that are sources; the others are destinations */
    uint32_t *seeds;    /* [n_seeds] distinct, in the order met */
    uint32_t n_seeds;
    /* memory, for batches up to `most` edges */
    struct og_allocs arrays;
    struct og_pair_sizes {
        size_t pairs, seeds, table, banned, relations, drawn, trees;
    } size;
    uint32_t *drawn; /* [types][rank_negatives] with several relations: positions, by type */
    struct og_id_table table; /* of og_id_place: node -> position */
    uint32_t *tree;           /* [size.trees] the same of node and time; OG__NO_ID: free */
    uint64_t *banned;         /* dst << 32 | src, ascending: edges to remove from blocks */
};

/* Identifies a batch. Evaluation epochs are 0. */
struct og_pair_key {
    bool training;
    uint32_t split, epoch, batch;
    const int64_t *times; /* of the split's edges, for trees; NULL: they see all */
};

/* Memory ("batches") for batches of up to `edges` edges; and its size. -EOVERFLOW for 2^31
 * pairs or seeds. */
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

/* Removes the batch's own edges and their reverses from its sampled blocks. So the input does not
 * reveal the targets. Both ends are seeds, so no node is lost. (A destination that drew such an
 * edge has one neighbour less, as in DGL.) */
void og__pairs_exclude(struct og_pairs *p, struct og_batch *batch);

#endif

/* A sampler's output: the blocks of one mini-batch and its input nodes.
 *
 *   ids   | seeds | found in hop 1 | found in hop 2 | ... |     distinct, in order of discovery
 *         0      n[0]             n[1]             n[2]  n[H]
 *
 *   hop[h] (h = 0 is nearest the seeds): its destinations are ids[0 .. n[h]), its sources
 *   ids[0 .. n[h+1]). So destinations are a prefix of the sources, and the output rows of layer
 *   L-h are the input rows of layer L-h+1.
 *
 * With disjoint trees the same holds for places, of which ids are the distinct nodes. */
#ifndef OG_SAMPLE_BATCH_H
#define OG_SAMPLE_BATCH_H

#include <outgrow/outgrow.h>

#include "base/choices.h"

#include <stdint.h>

/* Message-flow graph in CSR: edges from sampled in-neighbours to the node they update.
 *
 * In a heterogeneous graph edges are stored by relation, and within one by destination, without
 * empty lists. List i has edges indptr[i] to indptr[i + 1] of destination dst[i]; relation r has
 * lists relation[r] to relation[r + 1]. */
struct og_block {
    uint32_t n_dst, n_src;
    uint64_t n_edges;
    uint32_t *indptr; /* [n_dst + 1]; heterogeneous [n_lists + 1] */
    uint32_t *src;    /* [n_edges] positions in ids, < n_src */
    /* heterogeneous */
    uint32_t n_lists, n_relations;
    uint32_t *relation; /* [n_relations + 1]; NULL: homogeneous */
    uint32_t *dst;      /* [n_lists] positions in ids, < n_dst; ascending within a relation */
    /* [n_src - n_dst] the in-degree of each source beyond the destinations as a destination,
     * self-loops excluded. NULL unless og__sampler_keep_degrees was called. GCN normalises by
     * it. */
    uint32_t *degree;
    /* [n_edges] row of each edge among the batch's units (og_edge_unit). It is number * rows +
     * place in the unit; a relation's units have numbers of their own. Or the place itself, if
     * `places`. 0 in other relations without; NULL: none. */
    uint32_t *edge;
    /* [n_edges] edge weights for models that use them (PinSAGE's visit counts, LADIES' importance),
     * >= 0; NULL = all equal. */
    const float *weight;
    /* GCN with edge weights: og_weight_sums by the batch's ids. NULL: degrees count edges. */
    const float *mean_weight, *loop_weight; /* [n_src] each */
    uint32_t n_seen;   /* ladies: distinct in-neighbours that it drew from; else 0 */
    uint64_t n_listed; /* and of all lists together, how many */
};

struct og_batch {
    uint32_t n_hops;
    struct og_block hop[OG_MAX_HOPS];
    uint32_t n_ids;
    uint32_t *ids;    /* [n_ids] node ids, seeds first */
    uint32_t n_seeds; /* ids[0 .. n_seeds) */
    uint32_t n_units;
    uint32_t *units; /* [n_units] of the sampled edges, distinct, in order of discovery */
    /* Disjoint trees (trees.h): nodes of blocks are places, and several may have one id. */
    uint32_t n_places;
    uint32_t *row;  /* [n_places] of each its position in ids; NULL: place i has ids[i] */
    uint32_t *node; /* [n_places] ids[row[i]] */
};

/* The nodes of all blocks, the seeds first. */
static inline uint32_t og__n_places(const struct og_batch *b)
{
    return b->row ? b->n_places : b->n_ids;
}
static inline uint32_t *og__place_nodes(const struct og_batch *b)
{
    return b->row ? b->node : b->ids;
}
/* Fills node from row. */
static inline void og__name_places(struct og_batch *b)
{
    for (uint32_t i = 0; b->row && i < b->n_places; i++)
        b->node[i] = b->ids[b->row[i]];
}
/* The batch as models and their users see it: ids are those of places, and repeat. */
static inline struct og_batch og__batch_by_place(const struct og_batch *b)
{
    struct og_batch seen = *b;
    seen.ids = og__place_nodes(b);
    seen.n_ids = og__n_places(b);
    seen.row = NULL;
    return seen;
}

/* Rows of edges are read and cached in units of several. The edge at place p of a relation's
 * indices has row p mod rows of unit first + p div rows. */
struct og_edge_unit {
    uint32_t first; /* id of the relation's first unit */
    uint32_t rows;  /* 0: the relation's edges have none */
    bool places;    /* edges without units have their place, which fits */
};

/* The number of lists of a block. */
static inline uint32_t og__lists_of(const struct og_block *b)
{
    return b->relation ? b->n_lists : b->n_dst;
}
static inline uint32_t og__list_dst(const struct og_block *b, uint32_t list)
{
    return b->relation ? b->dst[list] : list;
}
/* The first list of a relation, and the end of its lists: of the only one, all. */
static inline uint32_t og__first_list(const struct og_block *b, uint32_t relation)
{
    return b->relation ? b->relation[relation] : 0;
}
static inline uint32_t og__end_of_lists(const struct og_block *b, uint32_t relation)
{
    return b->relation ? b->relation[relation + 1] : b->n_dst;
}

/* The input nodes of coming batches, in training order: a policy's knowledge of the future. */
struct og_trace {
    uint32_t n_batches;
    const uint64_t *ptr; /* [n_batches + 1] */
    const uint32_t *ids; /* [ptr[n_batches]]; batch i has the distinct ids[ptr[i] .. ptr[i + 1]) */
};

struct og_type_counts;

/* The maximum that one batch of a run needs, per hop; memory is planned by it. */
struct og_batch_caps {
    uint32_t n_hops, n_relations;
    struct {
        uint64_t n_dst, n_src, n_edges, n_lists, n_seen, n_listed;
        uint64_t n_drawn; /* of n_edges, those new in this hop */
    } hop[OG_MAX_HOPS];
    uint64_t n_units;                   /* of edges */
    uint64_t n_pairs, n_scores;         /* of link prediction: in training; in evaluation too */
    bool trees;                         /* of disjoint trees: nodes are places */
    bool rows_come;                     /* rows go to the compute device and need no buffer there */
    const struct og_type_counts *types; /* the same by node type; NULL: not counted; borrowed */
};

#endif

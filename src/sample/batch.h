/* What a sampler makes: the blocks of one mini-batch and its input nodes.
 *
 *   ids   | seeds | found in hop 1 | found in hop 2 | ... |     distinct, in order of discovery
 *         0      n[0]             n[1]             n[2]  n[H]
 *
 *   hop[h] (h = 0 is nearest the seeds): its destinations are ids[0 .. n[h]), its sources
 *   ids[0 .. n[h+1]), so destinations are a prefix of the sources and layer L-h's output rows are
 *   layer L-h+1's input rows. */
#ifndef OG_SAMPLE_BATCH_H
#define OG_SAMPLE_BATCH_H

#include <outgrow/outgrow.h>

#include "base/choices.h"

#include <stdint.h>

/* Message-flow graph in CSR: edges from sampled in-neighbours to the node they update.
 *
 * Of a typed graph edges lie relation by relation, and those of a relation by destination, without
 * the lists that would be empty: list i, of edges indptr[i] to indptr[i + 1], is destination
 * dst[i]'s, and relation r has the lists relation[r] to relation[r + 1]. */
struct og_block {
    uint32_t n_dst, n_src;
    uint64_t n_edges;
    uint32_t *indptr; /* [n_dst + 1]; of a typed graph [n_lists + 1] */
    uint32_t *src;    /* [n_edges] positions in ids, < n_src */
    /* of a typed graph */
    uint32_t n_lists, n_relations;
    uint32_t *relation; /* [n_relations + 1]; NULL: it is none */
    uint32_t *dst;      /* [n_lists] positions in ids, < n_dst; those of a relation ascend */
    /* [n_src - n_dst] in-degree that each source beyond the destinations would have, were it one,
     * without edges to itself; NULL unless the sampler was told to look. What GCN normalises by. */
    uint32_t *degree;
    /* [n_edges] how much each edge counts where a model weighs its neighbours (PinSAGE's visit
     * counts, LADIES' importance), >= 0; NULL = all alike. */
    const float *weight;
    uint32_t n_seen;   /* of ladies: distinct in-neighbours that it drew from; else 0 */
    uint64_t n_listed; /* and of all lists together, how many */
};

struct og_batch {
    uint32_t n_hops;
    struct og_block hop[OG_MAX_HOPS];
    uint32_t n_ids;
    uint32_t *ids;    /* [n_ids] node ids, seeds first */
    uint32_t n_seeds; /* ids[0 .. n_seeds) */
};

/* Lists that a block has, and what they are of. */
static inline uint32_t og__lists_of(const struct og_block *b)
{
    return b->relation ? b->n_lists : b->n_dst;
}
static inline uint32_t og__list_dst(const struct og_block *b, uint32_t list)
{
    return b->relation ? b->dst[list] : list;
}

/* The input nodes of coming batches, in the order in which they will be trained: all a policy needs
 * to know of the future. */
struct og_trace {
    uint32_t n_batches;
    const uint64_t *ptr; /* [n_batches + 1] */
    const uint32_t *ids; /* [ptr[n_batches]]; batch i has ids[ptr[i] .. ptr[i + 1]), distinct */
};

struct og_type_counts;

/* The most one batch of a run needs, per hop; what memory is planned by. */
struct og_batch_caps {
    uint32_t n_hops, n_relations;
    struct {
        uint64_t n_dst, n_src, n_edges, n_lists, n_seen, n_listed;
        uint64_t n_drawn; /* of n_edges, those that the hop before has not */
    } hop[OG_MAX_HOPS];
    uint64_t n_pairs, n_scores; /* of link prediction: in training; in evaluation too */
    bool rows_come;             /* to where a model computes, which needs no room for them */
    const struct og_type_counts *types; /* the same by types; NULL: there are none; borrowed */
};

#endif

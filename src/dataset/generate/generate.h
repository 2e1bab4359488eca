/* Synthetic graphs: two ways to draw an edge, one way to write a dataset.
 *
 * Everything about node v is a pure function of (seed, v), and everything about edge number i of
 * (seed, i), so nothing is kept but what is being written, and any number of threads makes the
 * same files. Nodes are numbered through a bijection: internally a node is (class, rank), the
 * rank telling how popular it is; outside, ids say nothing. */
#ifndef OG_GENERATE_H
#define OG_GENERATE_H

#include "base/random.h"
#include "base/thread.h"
#include "dataset/dataset.h"

/* Edges of one task; Philox gives a counter position 2^18 words before it would repeat. */
enum { OG__EDGES_A_TASK = 8192 };

struct og_graph_model {
    const struct og_generate *g;
    uint64_t n_nodes;
    uint32_t n_classes;
    unsigned bits;   /* of the smallest power of two >= n_nodes */
    uint32_t odd[2]; /* multipliers of the bijection, from the seed */
};
void og__graph_model_init(struct og_graph_model *m, const struct og_generate *g);

/* The bijection of [0, N): node id of an internal number, and back. */
uint32_t og__node_id(const struct og_graph_model *m, uint64_t internal);
uint64_t og__node_internal(const struct og_graph_model *m, uint32_t id);

static inline uint32_t og__node_class(const struct og_graph_model *m, uint32_t id)
{
    return (uint32_t)(og__node_internal(m, id) % m->n_classes);
}

/* Draw the edges of task number `task`: n of them, src[i] -> dst[i]. */
void og__rmat_edges(const struct og_graph_model *m, uint32_t task, uint32_t n, uint32_t *src,
                    uint32_t *dst);
/* Half of them drawn, each followed by its reverse. */
void og__planted_edges(const struct og_graph_model *m, uint32_t task, uint32_t n, uint32_t *src,
                       uint32_t *dst);

#endif

/* Parameters of a synthetic graph. Internally a node is (class, rank), the rank by popularity. A
 * bijection maps these to ids, which reveal neither. */
#ifndef OG_GRAPH_MODEL_H
#define OG_GRAPH_MODEL_H

#include "base/random.h"
#include "dataset/generate/options.h"
#include "dataset/graph.h"

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

#endif

/* Three ways to draw the edges of a synthetic graph: planted.c, rmat.c. */
#ifndef OG_GENERATE_EDGES_H
#define OG_GENERATE_EDGES_H

#include "dataset/generate/graph_model.h"

/* Edges of one task; Philox gives a counter position 2^18 words before it would repeat. */
enum { OG__EDGES_A_TASK = 8192 };

/* Draw the edges of task number `task`: n of them, src[i] -> dst[i], from nodes of one group to
 * nodes of one, whose classes are as many. */
typedef void og_draw_edges(const struct og_graph_model *from, const struct og_graph_model *to,
                           uint64_t seed, uint32_t task, uint32_t n, uint32_t *src, uint32_t *dst);

struct og_edge_model {
    og_draw_edges *draw;
    bool in_pairs; /* half of them are drawn, each followed by its reverse */
    bool simple;   /* without self loops, and each once */
};
extern const struct og_edge_model og__rmat;
/* Of the same class as often as homophily says: without types, and of relations. */
extern const struct og_edge_model og__planted;
extern const struct og_edge_model og__planted_between;

#endif

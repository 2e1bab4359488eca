/* Three models that draw the edges of a synthetic graph: planted.c, rmat.c. */
#ifndef OG_GENERATE_EDGES_H
#define OG_GENERATE_EDGES_H

#include "dataset/generate/graph_model.h"

/* Edges of one task; Philox gives a counter position 2^18 words before it would repeat. */
enum { OG__EDGES_A_TASK = 8192 };

/* Draws n edges src[i] -> dst[i] between nodes of two groups with equally many classes. `task` is
 * the number of the task. */
typedef void og_draw_edges(const struct og_graph_model *from, const struct og_graph_model *to,
                           uint64_t seed, uint32_t task, uint32_t n, uint32_t *src, uint32_t *dst);

struct og_edge_model {
    og_draw_edges *draw;
    bool in_pairs; /* draws half of them; each is followed by its reverse */
    bool simple;   /* without self loops, and each once */
};
extern const struct og_edge_model og__rmat;
/* Draw ends of equal class with probability homophily: homogeneous, and between groups. */
extern const struct og_edge_model og__planted;
extern const struct og_edge_model og__planted_between;

#endif

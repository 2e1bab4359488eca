/* Two ways to draw the edges of a synthetic graph: planted.c, rmat.c. */
#ifndef OG_GENERATE_EDGES_H
#define OG_GENERATE_EDGES_H

#include "dataset/generate/graph_model.h"

/* Edges of one task; Philox gives a counter position 2^18 words before it would repeat. */
enum { OG__EDGES_A_TASK = 8192 };

/* Draw the edges of task number `task`: n of them, src[i] -> dst[i]. */
void og__rmat_edges(const struct og_graph_model *m, uint32_t task, uint32_t n, uint32_t *src,
                    uint32_t *dst);
/* Half of them drawn, each followed by its reverse. */
void og__planted_edges(const struct og_graph_model *m, uint32_t task, uint32_t n, uint32_t *src,
                       uint32_t *dst);
/* n edges between nodes of two types, whose classes are as many: of the same class as often as
 * homophily says. */
void og__planted_between(const struct og_graph_model *from, const struct og_graph_model *to,
                         uint64_t seed, uint32_t task, uint32_t n, uint32_t *src, uint32_t *dst);

#endif

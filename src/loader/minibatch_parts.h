/* Parts of minibatch.c for heterogeneous graphs. */
#ifndef OG_MINIBATCH_PARTS_H
#define OG_MINIBATCH_PARTS_H

#include "loader/minibatch.h"

/* Place n rows of x. */
struct og_array og__lay_rows(struct og_layout *l, const struct og_group *g, int64_t n);
/* Place types and relations of `out`, whose n_hops is set. Returns memory for the number of each id
 * within its type, or NULL if only counting. */
uint32_t *og__lay_types(struct og_layout *l, const struct og_minibatch_shape *k,
                        struct og_minibatch *out);
/* Copies ids by type, in the order of the batch, repeated seeds to all positions. Into local[n_ids]
 * goes the position of each within its type. */
void og__copy_ids(const struct og_graph_types *g, const struct og_work *w, uint32_t *local,
                  const struct og_minibatch *out);

/* ---- places of edges ---- */

/* The features of a relation's edges, as far as batches have any. */
static inline const struct og_group *og__edge_group(const struct og_minibatch_shape *k,
                                                    uint32_t relation)
{
    const struct og_group *edges = k->edges ? &k->edges->relation[relation].edges : NULL;
    return edges && edges->dim > 0 ? edges : NULL;
}
/* The units of a batch by relation, in the order of their numbers. Those of relation r are
 * units[start[r] .. start[r + 1]). NULL: batches have none. */
struct og_edge_places {
    const struct og_edge_unit *of; /* [n_relations] */
    uint32_t *start, *units;
    struct og_edge_rows *rows; /* [n_relations] their features; NULL: batches have none */
};
/* Places edges first .. first + n of a block, which are of relation r. */
void og__copy_places(const struct og_edge_places *p, const struct og_block *b, uint32_t r,
                     uint32_t first, uint32_t n, int64_t *to);

/* Their features, in the same order. */
void og__copy_edge_rows(const struct og_edge_rows *rows, const struct og_block *b, uint32_t first,
                        uint32_t n, char *to);

/* ---- repeated seeds; without them these functions copy plainly ---- */

/* Copy the first n ids of the batch, less `minus`, to all their positions in the caller's batch.
 * The second copies rows [first, last). */
void og__spread_ids(const struct og_seeds *s, const uint32_t *from, uint32_t n, int64_t minus,
                    int64_t *to);
void og__spread_rows(const struct og_seeds *s, const struct og_rows *from, uint32_t first,
                     uint32_t last, char *to);
/* Number of edges of the lists [first, end) of a block that repeated destinations add; destinations
 * ascend. And all edges, with indptr and weights. local: positions within types, the first one for
 * seeds; NULL if homogeneous. */
int64_t og__repeated_edges(const struct og_seeds *s, const struct og_block *b, uint32_t first,
                           uint32_t end);
void og__spread_lists(const struct og_seeds *s, const struct og_block *from, uint32_t first,
                      uint32_t end, const uint32_t *local, const struct og_edge_places *places,
                      uint32_t relation, const struct og_minibatch_hop *to);

#endif

/* minibatch: copies a batch of the flow for a caller. Everything is in one arena, node ids and
 * positions as 64-bit integers, features dense.
 *
 *     arena          | ids, input_id | indptr of hop 0, 1, ... | edge_index | of edges | x | y |
 *                    | pairs |
 *     heterogeneous  | ids, input_id | types: ids, x, ... | relations: indptr, edge_index, ... | y
 *                    |
 *                    | pairs | */
#ifndef OG_MINIBATCH_H
#define OG_MINIBATCH_H

#include "flow/data_path.h"
#include "loader/layout.h"

/* Sizes of a batch's arrays. */
struct og_minibatch_shape {
    int64_t n_ids, n_seeds, n_pairs;
    int64_t n_units;           /* of edges, whose places the batch has */
    int64_t n_inputs;          /* seeds as listed; for links, edges */
    struct og_hops_shape hops; /* heterogeneous: only their number and form are used */
    int label;                 /* enum og_element of y */
    int width;                 /* of y; 0 = no labels */
    bool trees;                /* batches say whose neighbourhood a node is in */
    const struct og_graph_types *types;
    const struct og_type_counts *counts;
    const struct og_graph *graph; /* graph of the rows; NULL: no features */
    const struct og_graph *edges; /* graph of the rows of edges; NULL: not taken */
    /* Places the blocks and rows: of the whole batch, or by type and relation. Returns memory for
     * the number of each id within its type; NULL: not required, or only counted. */
    uint32_t *(*lay)(struct og_layout *l, const struct og_minibatch_shape *k,
                     struct og_minibatch *out);
};

/* Makes batches one by one, in one thread and those of the pool. */
struct og_minibatch_maker {
    const struct og_data_path *path;
    struct og_pool *pool;
    struct og_minibatch_shape shape; /* of the measured batch */
    struct og_type_counts by_type;   /* referred to by shape */
};
OG_MUST_CHECK int og__minibatch_maker_open(struct og_minibatch_maker *m,
                                           const struct og_data_path *path, struct og_pool *pool,
                                           struct og_err *err);
void og__minibatch_maker_close(struct og_minibatch_maker *m); /* accepts a zeroed one */

/* Bytes of an arena: for the largest expected batch of a run (want: OG__WANT_*). The second: for
 * the batch of the work, which is filled next. */
size_t og__minibatch_most(const struct og_workload *f, unsigned want);
size_t og__minibatch_measure(struct og_minibatch_maker *m, const struct og_work *w);

/* Fill `out` with the measured batch of the work, in an empty arena that is large enough. Does not
 * set epoch, batch and stall_seconds. */
void og__minibatch_fill(struct og_minibatch_maker *m, struct og_minibatch *out,
                        struct og_arena *arena, const struct og_work *w);

#endif

/* minibatch: from a batch of the flow to one that a caller can have: everything copied into one
 * arena, node ids and positions as 64-bit numbers, features dense.
 *
 *   arena       | ids, input_id | indptr of hop 0, 1, ... | edge_index | weights | y | pairs | x |
 *   with types  | ids, input_id | types: ids, x, ... | relations: indptr, edge_index, ... | y |
 * pairs | */
#ifndef OG_MINIBATCH_H
#define OG_MINIBATCH_H

#include "flow/data_path.h"
#include "loader/layout.h"

/* How large a batch's arrays are. */
struct og_minibatch_shape {
    int64_t n_ids, n_seeds, n_pairs;
    int64_t n_inputs;          /* seeds as the turn lists them; of links, its edges */
    struct og_hops_shape hops; /* with types only how many there are, and their form, count */
    size_t row;                /* bytes of a row of x; 0 = it has none */
    int dim;
    int label;                          /* enum og_element of y */
    int width;                          /* of y; 0 = it has none */
    int stored;                         /* enum og_dtype of x */
    const struct og_graph_types *types; /* NULL: there are none; else */
    const struct og_type_counts *counts;
    const struct og_graph *graph; /* whose rows; NULL: they have none */
};

/* Makes one batch after another, in one thread and those of the pool. */
struct og_minibatch_maker {
    const struct og_data_path *path;
    struct og_pool *pool;
    struct og_minibatch_shape shape; /* of the batch that was measured */
    struct og_type_counts by_type;   /* which it may refer to */
};
OG_MUST_CHECK int og__minibatch_maker_open(struct og_minibatch_maker *m,
                                           const struct og_data_path *path, struct og_pool *pool,
                                           struct og_err *err);
void og__minibatch_maker_close(struct og_minibatch_maker *m); /* also a zeroed one */

/* Bytes of an arena: for the largest batch that a run is thought to have (want: OG__WANT_*), and
 * for the work's, which is filled next. */
size_t og__minibatch_most(const struct og_facts *f, unsigned want);
size_t og__minibatch_measure(struct og_minibatch_maker *m, const struct og_work *w);

/* The work's batch, which was measured, into an empty arena that has room for it; but for whose
 * batch it is and what it was waited for. */
void og__minibatch_fill(struct og_minibatch_maker *m, struct og_minibatch *out,
                        struct og_arena *arena, const struct og_work *w);

#endif

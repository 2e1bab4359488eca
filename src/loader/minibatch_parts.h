/* What minibatch.c has of batches with types. */
#ifndef OG_MINIBATCH_PARTS_H
#define OG_MINIBATCH_PARTS_H

#include "loader/minibatch.h"

/* Rows that a thread copies at a time, and how many times that is. */
enum { OG__ROWS_A_TASK = 4096 };
static inline size_t og__row_tasks(int64_t rows)
{
    return ((size_t)rows + OG__ROWS_A_TASK - 1) / OG__ROWS_A_TASK;
}

/* Types and relations of `out`, whose n_hops is set. Room for the number of each id among those of
 * its type is returned, NULL where it is only counted. */
uint32_t *og__lay_types(struct og_layout *l, const struct og_minibatch_shape *k,
                        struct og_minibatch *out);
/* Into them, by the pool; local[n_ids] becomes those numbers. */
void og__copy_types(const struct og_minibatch_maker *m, const struct og_work *w, uint32_t *local,
                    struct og_minibatch *out);
/* Pairs, source first, by numbers within types. */
void og__copy_typed_pairs(const struct og_pairs *from, const uint32_t *local,
                          struct og_minibatch *out);

/* ---- seeds that repeat; of a batch that has none, what is said here is a plain copy ---- */

/* The first n ids of the batch less `minus`, and rows [first, last) of it, to all places that they
 * have in what is handed over. */
void og__spread_ids(const struct og_seeds *s, const uint32_t *from, uint32_t n, int64_t minus,
                    int64_t *to);
void og__spread_rows(const struct og_seeds *s, const struct og_rows *from, uint32_t first,
                     uint32_t last, char *to);
/* Edges of the lists [first, end) of a block, whose destinations ascend, beyond those that it has
 * itself; and all of them, indptr and weights too. local: places among the nodes of their types, of
 * seeds the first one; NULL without types. */
int64_t og__repeated_edges(const struct og_seeds *s, const struct og_block *b, uint32_t first,
                           uint32_t end);
void og__spread_lists(const struct og_seeds *s, const struct og_block *from, uint32_t first,
                      uint32_t end, const uint32_t *local, const struct og_minibatch_hop *to);

#endif

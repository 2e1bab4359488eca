/* minibatch: from a batch of the flow to one that a caller can have: everything copied into one
 * arena, node ids and positions as 64-bit numbers, features dense.
 *
 *   arena   | ids | indptr of hop 0, 1, ... | edge_index | weights | y | pairs | x | */
#ifndef OG_MINIBATCH_H
#define OG_MINIBATCH_H

#include "base/memory.h"
#include "train/data_path.h"

/* Bytes of an arena: for the largest batch that a run is thought to have (want: OG__WANT_*), and
 * for this one. */
size_t og__minibatch_most(const struct og_facts *f, unsigned want);
size_t og__minibatch_bytes(const struct og_data_path *d, const struct og_work *w);

/* The work's batch into an empty arena that has room for it, by all threads of the pool;
 * but for whose batch it is and what it was waited for. */
void og__minibatch_fill(struct og_minibatch *out, struct og_arena *arena,
                        const struct og_data_path *d, struct og_pool *pool,
                        const struct og_work *w);

#endif

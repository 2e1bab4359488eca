/* The rows of all types as one matrix, in the order of the batch's ids, for models whose
 * convolutions take the edges of all relations at once: behind it, types make no difference.
 *
 *   ids   | p7 a2 p3 | a9 ... |      rows   | x(p7) x(a2) x(p3) | x(a9) ... |
 *
 * So all rows are of one width, in_dim. Those without features have parameters for rows, and
 * features of another width pass a layer of their type first (PyTorch's Linear). */
#ifndef OG_NN_JOINED_H
#define OG_NN_JOINED_H

#include "dataset/meta.h"
#include "nn/model.h"

/* What types allow. */
OG_MUST_CHECK int og__joined_check(const struct og_model_config *c, struct og_err *err);
/* x: for each type its rows. */
OG_MUST_CHECK int og__joined_check_rows(const struct og_model *m, const struct og_batch *batch,
                                        const struct og_rows *x, struct og_err *err);
/* As those of workspace.c; numbers: of the host's. */
void og__carve_joined(const struct og_nn_ops *ops, const struct og_model_config *c, uint32_t n_ids,
                      bool training, struct og_arena *numbers, struct og_arena *arena,
                      struct og_workspace *out);
/* Of the partial sums of gradients of types' own layers, of batches of so many nodes. */
size_t og__projections_partial(const struct og_nn_ops *ops, const struct og_model_config *c,
                               uint32_t n_ids);
/* Makes the matrix of them, which becomes the input. step: NULL without dropout. */
OG_MUST_CHECK int og__join_rows(struct og_model *m, const struct og_batch *batch,
                                const struct og_rows *x, const struct og_step *step,
                                struct og_err *err);
/* Of rows that are parameters and of types' own layers, from that of the matrix, which gives way.
 */
OG_MUST_CHECK int og__joined_gradients(struct og_model *m, const struct og_batch *batch,
                                       struct og_err *err);

#endif

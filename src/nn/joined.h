/* The rows of all types as one matrix, in the order of the batch's ids. For models whose
 * convolutions take the edges of all relations at once; their layers do not distinguish types.
 *
 *   ids   | p7 a2 p3 | a9 ... |      rows   | x(p7) x(a2) x(p3) | x(a9) ... |
 *
 * All rows have one width, in_dim. Types without features have learnable rows. Features of another
 * width pass a linear layer of their type first (PyTorch's Linear). */
#ifndef OG_NN_JOINED_H
#define OG_NN_JOINED_H

#include "dataset/meta.h"
#include "nn/model.h"

/* Check a configuration against the types. -EINVAL. */
OG_MUST_CHECK int og__joined_check(const struct og_model_config *c, struct og_err *err);
/* Check the rows of a batch. x: the rows of each type. */
OG_MUST_CHECK int og__joined_check_rows(const struct og_model *m, const struct og_batch *batch,
                                        const struct og_rows *x, struct og_err *err);
/* Like those of workspace.c; numbers: in host memory. */
void og__suballoc_joined(const struct og_nn_ops *ops, const struct og_model_config *c,
                         uint32_t n_ids, bool training, struct og_arena *numbers,
                         struct og_arena *arena, struct og_workspace *out);
/* Bytes of the partial sums of gradients of the types' linear layers, for batches of so many nodes.
 */
size_t og__projections_partial(const struct og_nn_ops *ops, const struct og_model_config *c,
                               uint32_t n_ids);
/* Compute the joined matrix, the input of layer 0. step: NULL without dropout. */
OG_MUST_CHECK int og__join_rows(struct og_model *m, const struct og_batch *batch,
                                const struct og_rows *x, const struct og_step *step,
                                struct og_err *err);
/* Compute gradients of learnable rows and of linear layers from that of the matrix, which is
 * overwritten. */
OG_MUST_CHECK int og__joined_gradients(struct og_model *m, const struct og_batch *batch,
                                       struct og_err *err);

#endif

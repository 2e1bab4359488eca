/* What the files of the reference operators share. */
#ifndef OG_ORACLE_OPS_REFERENCE_PARTS_H
#define OG_ORACLE_OPS_REFERENCE_PARTS_H

#include "nn/ops.h"

/* x[r][j] */
double og__ref_element(const struct og_rows *x, uint32_t r, int j);

void og__ref_attend(struct og_nn_backend *be, const struct og_attend *op);
void og__ref_attend_back(struct og_nn_backend *be, const struct og_attend_back *op);
void og__ref_fold(struct og_nn_backend *be, const struct og_fold *op);
void og__ref_fold_back(struct og_nn_backend *be, const struct og_fold_back *op);
void og__ref_edge_fill(struct og_nn_backend *be, const struct og_edge_fill *op);
void og__ref_edge_sum(struct og_nn_backend *be, const struct og_edge_sum *op);
void og__ref_edge_sum_back(struct og_nn_backend *be, const struct og_edge_sum_back *op);
void og__ref_dots(struct og_nn_backend *be, const struct og_dots *op);
void og__ref_dots_back(struct og_nn_backend *be, const struct og_dots_back *op);
void og__ref_track(struct og_nn_backend *be, const struct og_track *op);
void og__ref_rstd(struct og_nn_backend *be, const struct og_rstd *op);
void og__ref_moments(struct og_nn_backend *be, const struct og_moments *op);
void og__ref_finish(struct og_nn_backend *be, const struct og_finish *op);
void og__ref_finish_back(struct og_nn_backend *be, const struct og_finish_back *op);

#endif

/* What the files of the reference operators share. */
#ifndef OG_ORACLE_OPS_REFERENCE_PARTS_H
#define OG_ORACLE_OPS_REFERENCE_PARTS_H

#include "nn/ops.h"

/* x[r][j] */
double og__ref_element(const struct og_rows *x, uint32_t r, int j);

#define OG__REFERENCE_OP(name, operands) \
    void og__ref_##name(struct og_nn_backend *be, const struct operands *op);
OG__PLAIN_OPS(OG__REFERENCE_OP)
OG__EDGE_OPS(OG__REFERENCE_OP)

#endif

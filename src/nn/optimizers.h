/* Optimizers: a table in the order of enum og_optimizer_kind. A row names the struct of its traits
 * and functions, og__optimizer_<name>. */
#ifndef OG_NN_OPTIMIZERS_H
#define OG_NN_OPTIMIZERS_H

#include "nn/ops.h"

/* clang-format off */
#define OG__OPTIMIZERS(row) \
    row(ADAM, adam) \
    row(SGD, sgd) \
    row(ADAMW, adamw)
/* clang-format on */

struct og_optimizer {
    bool moments;                  /* parameters have m and v */
    const char *const *parameters; /* options; ends with NULL; NULL: none */
    /* The numbers of step `step`, from 1, without arrays. */
    struct og_update (*numbers)(const struct og_pace *pace, uint64_t step);
    int (*run)(const struct og_nn_ops *ops, struct og_nn_backend *be, const struct og_update *op,
               struct og_err *err);
};
#define OG__OPTIMIZER_DECLARED(NAME, name) extern const struct og_optimizer og__optimizer_##name;
OG__OPTIMIZERS(OG__OPTIMIZER_DECLARED)

const struct og_optimizer *og__optimizer(int kind); /* a row of the table */

#endif

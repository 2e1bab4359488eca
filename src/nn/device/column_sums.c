/* Sums of columns: partial sums over rows, then over these, in their order. */
#include "nn/device/backend.h"

int og__device_add_parts(struct og_nn_backend *be, const struct og_k_columns *args,
                         struct og_err *err)
{
    return OG__EACH_ITEM(be, og__k_column_sums, args->cols, args, err);
}

int og__device_sum_columns(struct og_nn_backend *be, struct og_k_columns args, double *part,
                           struct og_err *err)
{
    args.part = part;
    args.step = args.cols;
    args.n_parts = og__parts_of(args.rows);
    int rc = OG__EACH_ITEM(be, og__k_column_parts, (uint64_t)args.n_parts * args.cols, &args, err);
    return rc < 0 ? rc : og__device_add_parts(be, &args, err);
}

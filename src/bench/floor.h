/* A lower bound of the time of one training step.
 *
 * Products take oneDNN's best rate for their shapes. Aggregation, gathering, gradients of ReLU and
 * the optimiser count as bytes at memory read bandwidth. Both are measured on each call, in a few
 * seconds. */
#ifndef OG_BENCH_FLOOR_H
#define OG_BENCH_FLOOR_H

#include "nn/nn.h"

struct og_floor {
    double flops, bytes;
    double bytes_per_second;
    double product_seconds, memory_seconds; /* their sum is the lower bound */
};
/* shape: the blocks of a typical batch. */
OG_MUST_CHECK int og__model_floor(const struct og_model_config *config,
                                  const struct og_batch_caps *shape, enum og_dtype dtype,
                                  struct og_pool *pool, struct og_floor *out, struct og_err *err);

#endif

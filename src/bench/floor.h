/* The floor: what one training step takes at the least.
 *
 * Products at the best rate oneDNN itself reaches for their shapes; aggregation, gathering,
 * gradients of ReLU and the optimiser as bytes at the bandwidth memory reads with. Both are
 * measured when called: a few seconds. */
#ifndef OG_BENCH_FLOOR_H
#define OG_BENCH_FLOOR_H

#include "nn/nn.h"

struct og_floor {
    double flops, bytes;
    double bytes_per_second;
    double product_seconds, memory_seconds; /* the floor is their sum */
};
/* shape: the blocks of a typical batch. */
OG_MUST_CHECK int og__model_floor(const struct og_model_config *config,
                                  const struct og_batch_caps *shape, enum og_dtype dtype,
                                  struct og_pool *pool, struct og_floor *out, struct og_err *err);

#endif

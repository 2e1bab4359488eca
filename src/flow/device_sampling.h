/* device sampling: hops of samplers on a device (--sample-on device), with the topology in its
 * memory. The model need not be there. */
#ifndef OG_DEVICE_SAMPLING_H
#define OG_DEVICE_SAMPLING_H

#include "budget/memory_plan.h"
#include "nn/ops.h"

struct og_device_sampling {
    const struct og_nn_ops *ops;
    struct og_nn_backend *backend; /* of its own: samplers work in parallel with the model */
    struct og_device_sampler *sampler;
};

/* Is it requested, and possible? -EINVAL or -ENOTSUP names what it does not support. */
OG_MUST_CHECK int og__device_sampling_check(const struct og_config *config, struct og_err *err);

/* Serves all n samplers from a topology in memory; within --device-memory what the plan sets
 * aside. */
OG_MUST_CHECK int og__device_sampling_open(struct og_device_sampling *d,
                                           const struct og_plan_inputs *p,
                                           const struct og_topology *t,
                                           struct og_sampler **samplers, int n, struct og_budget *b,
                                           struct og_err *err);
void og__device_sampling_close(struct og_device_sampling *d); /* once the samplers are closed */

#endif

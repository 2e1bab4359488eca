/* Uniform sampling on a device. The topology is in its memory, with edge weights if it has them,
 * hops are sampled there, and results are those of the CPU (kernel_sample.c).
 *
 *     ids ──> counts ──> sums ──> draws ──> neighbours ──> sort, firsts, sums ──> numbers ──> host
 *
 * Several samplers may share it. One hop at a time is sampled; on a heterogeneous graph, one
 * relation of it. */
#ifndef OG_NN_DEVICE_SAMPLER_H
#define OG_NN_DEVICE_SAMPLER_H

#include "nn/nn.h"
#include "sample/sample.h"

struct og_device_sampler;

/* Open on the backend's device, whose memory has the topology and the buffers of hops. */
OG_MUST_CHECK int og__device_sampler_open(struct og_device_sampler **out, struct og_nn_backend *be,
                                          const struct og_topology *t, bool pinned,
                                          struct og_err *err);
void og__device_sampler_close(struct og_device_sampler *d); /* NULL: no-op */
const struct og_elsewhere *og__device_sampler_hops(const struct og_device_sampler *d);
/* Bytes of the topology, and of batches with `ids` nodes and hops of `edges` edges. */
size_t og__device_sampler_bytes(const struct og_topology *t, bool pinned, uint64_t ids,
                                uint64_t edges);

#endif

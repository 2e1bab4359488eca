/* Uniform sampling on a device: the structure lies in its memory, hops are drawn there, and what
 * they found comes back as the processors would have it (kernel_sample.c).
 *
 *   ids ──> counts ──> sums ──> draws ──> neighbours ──> sort, firsts, sums ──> numbers ──> host
 *
 * Several samplers may share it: one hop at a time is drawn, of a graph with types a relation of
 * one. */
#ifndef OG_NN_DEVICE_SAMPLER_H
#define OG_NN_DEVICE_SAMPLER_H

#include "nn/nn.h"
#include "sample/sample.h"

struct og_device_sampler;

/* On the backend's device, whose memory holds the structure and what hops need. */
OG_MUST_CHECK int og__device_sampler_open(struct og_device_sampler **out, struct og_nn_backend *be,
                                          const struct og_topology *t, bool pinned,
                                          struct og_err *err);
void og__device_sampler_close(struct og_device_sampler *d); /* NULL: nothing */
const struct og_elsewhere *og__device_sampler_hops(const struct og_device_sampler *d);
/* Of the structure, and of batches with so many nodes and hops of so many edges. */
size_t og__device_sampler_bytes(const struct og_topology *t, bool pinned, uint64_t ids,
                                uint64_t edges);

#endif

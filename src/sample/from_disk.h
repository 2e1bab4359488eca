/* Sources of edges whose topology is on disk, fetched together. */
#ifndef OG_SAMPLE_FROM_DISK_H
#define OG_SAMPLE_FROM_DISK_H

#include "sample/hop.h"

void og__disk_sampler_close(struct og_sampler *s);

/* begin, which takes what this needs when it is first called, says where they are to come, want
 * that src[edge ..] are those at `positions` of the list of v (NULL = its first n), fetch brings
 * them; what was not wanted stays as it is. The window must be empty. */
OG_MUST_CHECK int og__fetch_begin(struct og_sampler *s, uint32_t *src, uint64_t n,
                                  struct og_err *err);
void og__fetch_want(struct og_sampler *s, uint32_t edge, uint32_t v, const uint32_t *positions,
                    uint32_t n);
OG_MUST_CHECK int og__fetch(struct og_sampler *s, struct og_err *err);
/* The n sources that were fetched behind the edges that the block has become positions. */
OG_MUST_CHECK int og__number_fetched(struct og_hop *h, uint64_t n, struct og_err *err);

#endif

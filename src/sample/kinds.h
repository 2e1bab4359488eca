/* The ways to draw, each in a file of its own: what sampler.c asks of them. */
#ifndef OG_SAMPLE_KINDS_H
#define OG_SAMPLE_KINDS_H

#include "sample/hop.h"

OG_MUST_CHECK int og__sample_hop_uniform(struct og_hop *h, struct og_err *err);

OG_MUST_CHECK int og__weighted_open(struct og_sampler *s, struct og_err *err);
void og__weighted_close(struct og_sampler *s);
OG_MUST_CHECK int og__sample_hop_weighted(struct og_hop *h, struct og_err *err);
OG_MUST_CHECK int og__walks_open(struct og_sampler *s, struct og_err *err);
void og__walks_close(struct og_sampler *s);
OG_MUST_CHECK int og__sample_hop_by_walks(struct og_hop *h, struct og_err *err);
OG_MUST_CHECK int og__sample_hop_labor(struct og_hop *h, struct og_err *err);
OG_MUST_CHECK int og__ladies_open(struct og_sampler *s, struct og_err *err);
void og__ladies_close(struct og_sampler *s);
size_t og__ladies_bytes(uint64_t seen); /* when a hop has that many in-neighbours to draw from */
OG_MUST_CHECK int og__sample_hop_ladies(struct og_hop *h, struct og_err *err);

#endif

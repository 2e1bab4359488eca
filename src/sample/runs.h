/* runs: what batches that are sampled together drew in a hop, in the order in which the structure
 * was read.
 *
 *   frontier of batch b:  node, node, ...      each draws positions in its list: by degrees alone
 *   wanted blocks:        | range 0 | range 1 | ... |          of all batches, each block once
 *   store:                | b 0 | b 1 | ... | b 0 | b 1 | ...  the neighbours of range 0, of range
 * 1
 *
 * A run is what one batch drew from one range: neighbours in the order of its frontier and, of a
 * node, of its draws. Draws are keyed, so whoever goes through the frontier again knows from
 * which run each neighbour comes, and that it is the next there: no run says which edges it is of.
 */
#ifndef OG_SAMPLE_RUNS_H
#define OG_SAMPLE_RUNS_H

#include "base/bits.h"
#include "base/spill.h"
#include "sample/hop.h"
#include "sample/ranges.h"

struct og_run {
    uint64_t at; /* byte of the store */
    uint32_t n;  /* neighbours */
};

/* One hop of all batches. */
struct og_pass {
    struct og_wanted_blocks wanted;
    uint64_t *bits; /* wanted.bits, while they are set */
    uint32_t *rank; /* of them */
    uint32_t n_batches;
    struct og_run *run; /* [og__ranges_of(&wanted)][n_batches] */
};

static inline struct og_run *og__run_of(const struct og_pass *p, uint32_t range, uint32_t batch)
{
    return &p->run[(size_t)range * p->n_batches + batch];
}

/* An array that grows and is kept. */
struct og_words {
    uint32_t *data;
    size_t capacity;
};
OG_MUST_CHECK int og__words_reserve(struct og_words *w, size_t n, struct og_budget *b,
                                    struct og_err *err);
void og__words_release(struct og_words *w, struct og_budget *b);

/* The blocks that the node draws from are wanted; how many neighbours it draws from them at most.
 * Any number of threads. */
uint32_t og__runs_want(const struct og_hop *h, struct og_pass *p, uint32_t v);

/* What the nodes drew from a range, behind *n words of `out`, which has room for all that they
 * draw. -EINVAL for an id that is none. The sampler's window must be empty. */
OG_MUST_CHECK int og__runs_gather(const struct og_hop *h, const struct og_pass *p,
                                  const struct og_range *range, const uint32_t *nodes, uint32_t n,
                                  uint32_t *out, uint32_t *n_out, struct og_err *err);

/* A batch's runs, for a sampler that puts it together: og_sampler.runs. */
struct og_runs {
    const struct og_pass *pass; /* a hop each */
    uint32_t batch;
    struct og_spill *store;
    struct og_words *drawn;  /* of the hop at hand, run after run */
    struct og_words *cursor; /* in it, one a run */
    uint64_t read;           /* bytes asked of the kernel for them */
};
/* In the place of its sampler's own hop. */
OG_MUST_CHECK int og__runs_hop(struct og_hop *h, struct og_err *err);

#endif

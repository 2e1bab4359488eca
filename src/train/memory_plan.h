/* How the budget is shared out, before anything large is taken.
 *
 *   fixed: process, topology, seeds, labels, samplers, batches, plans, read buffers, model,
 *          activations
 *   ahead: trace of a superbatch, tables of the policy
 *   rest:  staging areas for the misses of batches in flight | feature cache
 *
 * The more rows the cache holds the fewer miss, so staging and cache are settled together, from
 * the misses of the pilot batches. */
#ifndef OG_MEMORY_PLAN_H
#define OG_MEMORY_PLAN_H

#include "train/session.h"

/* Thread stacks, the heap, stdio, what JIT kernels take while running. */
#define OG__PROCESS_BYTES (12 * OG_MIB)

/* Batches sampled before the run to learn its sizes: input node ids, one batch after another. */
struct og_pilot {
    uint32_t *ids;
    uint64_t *end; /* [n] ids of batch i end here */
    uint32_t n;
    size_t bytes;
    uint64_t rows; /* of all of them */
    double seconds;
    struct og_sample_reads reads; /* what sampling the training batches read */
    struct og_batch_caps caps;    /* of these and of an evaluation batch; no margin */
    /* once it is noted: */
    struct og_growth {
        double distinct;       /* nodes of all its batches */
        double power, slowing; /* of k times as many batches they are k^power times as many; with
                                  each doubling the power grows by the factor `slowing` */
    } growth;
    bool ranked; /* hotness is that of og__pilot_rank */
};

/* With the session's topology (resident, or mapped for a first look). b as in the session. */
OG_MUST_CHECK int og__pilot_run(struct og_pilot *p, struct og_session *s, struct og_budget *b,
                                struct og_err *err);
/* The first training batches alone, as far as the limits let it, and at least one. */
struct og_pilot_limits {
    uint32_t epoch; /* whose they are */
    uint32_t batches;
    double seconds; /* none is begun later; 0 = no limit */
    size_t bytes;   /* none is begun with more ids; 0 = no limit */
};
OG_MUST_CHECK int og__pilot_sample(struct og_pilot *p, struct og_session *s,
                                   const struct og_pilot_limits *limits, struct og_budget *b,
                                   struct og_err *err);
void og__pilot_release(struct og_pilot *p, struct og_budget *b);

/* Make hotness, an array of N, the place of each node in the order of it, N - 1 the hottest, the
 * smaller id in front of equal ones. Memory plans made with such a pilot and that hotness count its
 * misses without a placement: for plans of many ways. */
void og__pilot_rank(struct og_pilot *p, uint64_t n_nodes, uint32_t *hotness);

/* Caps with a margin for batches larger than the pilot's, bounded by what the graph allows. */
struct og_batch_caps og__caps_with_margin(const struct og_batch_caps *seen,
                                          const struct og_session *s);

/* Fill everything but staging and cache, and `smallest`. */
void og__memory_plan_fixed(struct og_memory_plan *m, const struct og_session *s, unsigned want);
size_t og__memory_plan_sum(const struct og_memory_plan *m);

/* Refuse when the limit is below the smallest that would do. */
OG_MUST_CHECK int og__memory_plan_check(const struct og_memory_plan *m, struct og_err *err);

/* Distinct nodes among a pilot's batches, and how they grow: into p->growth, which is measured each
 * time it is needed where that is not known. */
OG_MUST_CHECK int og__pilot_growth(struct og_pilot *p, const struct og_session *s,
                                   struct og_err *err);

/* What a batch that is sampled ahead takes on disk: ids, both ends of its edges, its plan. */
size_t og__put_away_bytes(const struct og_session *s);

/* How many batches are sampled ahead together, and what that takes. */
OG_MUST_CHECK int og__memory_plan_ahead(struct og_memory_plan *m, const struct og_session *s,
                                        const struct og_pilot *pilot, struct og_err *err);

/* Size the cache of topology on disk: at most half of what is free; all of it where sampling has
 * the memory to itself; a quarter where a hop reads through the whole file anyway, so that lists in
 * memory save little. Or as the user says. */
OG_MUST_CHECK int og__memory_plan_neighbors(struct og_memory_plan *m, const struct og_session *s,
                                            struct og_err *err);

/* Settle staging and cache. hotness stands for what the policy will keep: NULL when that is not to
 * be known before the run, then every row may miss. `from`: the pilot's first batch that hotness
 * was not made of. */
OG_MUST_CHECK int og__memory_plan_cache(struct og_memory_plan *m, const struct og_session *s,
                                        const struct og_pilot *pilot, const uint32_t *hotness,
                                        uint32_t from, struct og_err *err);

#endif

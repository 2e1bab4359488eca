/* Hotness by which policies rank a graph's nodes. */
#ifndef OG_TRAIN_HOTNESS_H
#define OG_TRAIN_HOTNESS_H

#include "flow/structure.h"
#include "plan/worth.h"

/* A guess at the out-degrees, added to hotness. A scan of the edges. */
OG_MUST_CHECK int og__hotness_degree_guess(const struct og_topology *t, uint32_t *hotness,
                                           struct og_err *err);
/* Scores of PageRank (plan.h): a scan of the edges a round. */
OG_MUST_CHECK int og__hotness_pagerank(const struct og_topology *t, const uint32_t *seeds,
                                       int64_t n_seeds, struct og_budget *b, uint32_t *hotness,
                                       struct og_err *err);

/* Scores by which a policy, one that og__policy_wants_hotness, ranks nodes; opt: its parameters.
 * hotness[N] is zeroed on entry. For presc: visits of each node in --presc-epochs extra sampled
 * epochs, from a random stream of their own (Yang et al. 2022, §6.3). All threads of the pool that
 * memory allows sample. */
OG_MUST_CHECK int og__hotness_of(const struct og_structure *g, struct og_pool *pool, int policy,
                                 const struct og_options *opt, uint32_t *hotness,
                                 struct og_err *err);
/* The same as numbers that can be multiplied, which *uses takes from hotness (plan/worth.h).
 */
OG_MUST_CHECK int og__hotness_uses(const struct og_structure *g, struct og_pool *pool, int policy,
                                   const struct og_options *opt, uint32_t *hotness, og_uses **uses,
                                   struct og_err *err);
/* What rows of several groups are worth, by uses as the policy ranks nodes by them. Degrees, where
 * it ranks none. worth[N]. Groups get slots by it. */
OG_MUST_CHECK int og__hotness_worth(const struct og_structure *g, struct og_pool *pool, int policy,
                                    const struct og_options *opt, uint32_t *worth,
                                    struct og_err *err);
/* These where there is no session, of a policy whose hotness needs no graph. */
OG_MUST_CHECK int og__hotness_uses_bare(int policy, const struct og_options *opt, uint64_t n_nodes,
                                        uint32_t *hotness, og_uses **uses, struct og_err *err);
/* The first where there is no session, of a policy whose hotness needs no graph. */
OG_MUST_CHECK int og__hotness_without_graph(int policy, const struct og_options *opt,
                                            uint64_t n_nodes, uint32_t *hotness,
                                            struct og_err *err);
/* Is there all that it will be made of? Call it before the work begins. */
OG_MUST_CHECK int og__hotness_check(const struct og_options *opt, uint64_t n_nodes,
                                    struct og_err *err);
/* For policy file (hotness_scores.c): numbers in the file opt->scores, one a node. Returns -EINVAL
 * for another number of them, for NaN, and for types other than floats and integers. */
OG_MUST_CHECK int og__hotness_scores(const struct og_options *opt, uint64_t n_nodes,
                                     uint32_t *hotness, struct og_err *err);
OG_MUST_CHECK int og__hotness_scores_as_floats(const struct og_options *opt, uint64_t n_nodes,
                                               uint32_t *hotness, struct og_err *err);
OG_MUST_CHECK int og__hotness_scores_check(const struct og_options *opt, uint64_t n_nodes,
                                           struct og_err *err);
/* What finding it takes of the budget meanwhile. */
size_t og__hotness_bytes(const struct og_workload *f, int policy);
/* Is it made of the graph, which a trace has not? */
bool og__hotness_needs_graph(int policy);

#endif

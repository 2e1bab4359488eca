/* policy: what the feature cache holds while a run of batches is trained.
 *
 *   superbatch ──> foresee ──> prefill: rows put into slots before the first batch
 *   batch ───────> plan ─────> where each row is read from, and what enters the cache after it
 *
 * A policy is its own simulation: its tables say at each moment which node each slot holds, and it
 * moves on by one batch a call. Planning is a pure function of (setup, batches so far, what was
 * foreseen); when it is carried out is nobody's business here. One file a policy. */
#ifndef OG_POLICY_H
#define OG_POLICY_H

#include "plan/plan.h"

/* How one policy is to behave. Parameters that a policy does not have are ignored. */
struct og_policy_setup {
    int kind; /* enum og_policy_kind; not AUTO */
    uint64_t n_nodes;
    uint32_t n_slots;
    /* one score a node, borrowed: static policies rank by it, hybrid breaks ties by it; NULL = all
     * equal, the smaller id first */
    const uint32_t *hotness;
    /* set-associative policies (rr, hybrid) */
    uint32_t ways; /* slots a set */
    /* hybrid (lsm-gnn.txt §4.2) */
    uint32_t window;    /* batches looked ahead */
    uint32_t update;    /* batches between looks */
    uint32_t threshold; /* a reuse within so many batches is near; 0 = window / 8 */
    int evict;          /* enum og_evict_kind */
};

/* Rows put into slots outside any batch. */
struct og_prefill {
    uint32_t n;
    uint32_t *nodes; /* [n] ascending; the policy's until its next call */
    uint32_t *slots; /* [n] */
};

struct og_policy;

OG_MUST_CHECK int og__policy_open(struct og_policy **out, const struct og_policy_setup *setup,
                                  struct og_budget *b, struct og_err *err);
void og__policy_close(struct og_policy *p);

/* Does it need to foresee (frequency, belady, hybrid), and does its cache change with the batches?
 */
bool og__policy_looks_ahead(int kind);
bool og__policy_is_static(int kind);
/* Does it rank nodes by a hotness that is known before the batches are? */
bool og__policy_wants_hotness(int kind);

/* The coming batches, which og__policy_plan will then be called for in this order. `trace` stays
 * the caller's and valid until the last of them is planned. For policies that do not look ahead
 * the first call tells their prefill and later ones tell none. O(rows of the trace). */
OG_MUST_CHECK int og__policy_foresee(struct og_policy *p, const struct og_trace *trace,
                                     struct og_prefill *prefill, struct og_err *err);

/* The next batch. O(n), amortised over a superbatch. */
OG_MUST_CHECK int og__policy_plan(struct og_policy *p, struct og_planner *planner,
                                  const uint32_t *ids, uint32_t n, struct og_plan *out,
                                  struct og_err *err);

/* What a policy takes of the budget as "policy": slots cached, `rows` and `distinct` nodes in the
 * longest superbatch. */
size_t og__policy_bytes(const struct og_policy_setup *setup, uint64_t rows, uint64_t distinct);

#endif

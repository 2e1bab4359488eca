/* policy: the contents of the feature cache during a run of batches.
 *
 *     superbatch ──> prepare ──> prefill: rows put into slots before the first batch
 *     batch ───────> plan ─────> where each row is read from, and what enters the cache after it
 *                    prefill:    the sweep policy also prefills before some later batches
 *
 * A policy simulates itself: its tables hold each slot's node, and each call advances by one batch.
 * A plan is a pure function of (setup, batches so far, prepared batches), independent of its
 * execution. One file a policy, and one row of policies.h. */
#ifndef OG_POLICY_H
#define OG_POLICY_H

#include "plan/plan.h"

/* A group of nodes with slots of its own, as for rows of one of several sizes. */
struct og_group_slots {
    uint64_t first, end; /* nodes */
    uint32_t n_slots;
};

/* Settings of a policy; it ignores parameters that it does not have. */
struct og_policy_setup {
    int kind; /* enum og_policy_kind; not AUTO */
    uint64_t n_nodes;
    uint32_t n_slots; /* < 2^31 */
    /* one score a node; NULL = all equal, the smaller id first. Static policies rank by it in open;
     * hybrid uses it for ties while open. Borrowed. */
    const uint32_t *hotness;
    /* set-associative policies (rr, hybrid) */
    uint32_t ways; /* slots a set */
    /* hybrid (Park et al. 2024, §4.2) */
    uint32_t window;    /* batches looked ahead */
    uint32_t update;    /* batches between looks, at most OG__MOST_UPDATE */
    uint32_t threshold; /* a reuse within so many batches is near; 0 = window / 8 */
    int evict;          /* enum og_evict_kind */
    /* Swaps classes 0 and 1, for a policy with a victim buffer (§4.3.2). The buffer holds rows used
     * within the window, but not soon, so they leave first. */
    bool has_victims;
    /* one bit a node that static policies leave out, since another tier holds it; NULL = none.
     * Borrowed in open. */
    const uint64_t *without;
    /* NULL: any node may be in any slot. Else n_slots is the total, and a batch's ids come group by
     * group, in any order within one, without nodes outside of groups. Ids of a trace may have any
     * order. Borrowed while open. */
    const struct og_group_slots *groups;
    uint32_t n_groups;
};

/* The setup of group k alone, with nodes numbered from 0. And the batches of nodes [first, end) in
 * that numbering, into ptr[n_batches + 1] and ids; returns the number of ids. */
struct og_policy_setup og__policy_of_group(const struct og_policy_setup *all, uint32_t k);
uint64_t og__trace_of_group(const struct og_trace *t, uint64_t first, uint64_t end, uint64_t *ptr,
                            uint32_t *ids);

struct og_policy;

/* ---- traits: all that others ask of a kind of policy, answered by its row ---- */

/* Its name in options. og__policy_words: all of them, then "auto"; ends with NULL. */
const char *og__policy_word(int kind);
extern const char *const og__policy_words[];

/* Does it need the coming batches before it can plan them (frequency, belady, hybrid, sweep)? */
bool og__policy_looks_ahead(int kind);
/* Does its cache stay as it was filled? */
bool og__policy_is_static(int kind);
/* Or at least between superbatches (those, and frequency)? */
bool og__policy_is_steady(int kind);
/* May rows that a batch has read enter its cache after it (lru, rr, belady, hybrid)? */
bool og__policy_admits(int kind);
/* Has it a cache at all (not: none)? */
bool og__policy_caches(int kind);
/* Does it prefill its cache before batches (static ones, frequency, belady, sweep)? */
bool og__policy_prefills(int kind);
/* Does it prefill while batches are trained (sweep)? A batch then misses only rows without a
 * slot. */
bool og__policy_fills_during_training(int kind);
/* Does its cache hold the most recently used rows? Then one pass counts all sizes (lru; Mattson et
 * al. 1970). */
bool og__policy_is_stack(int kind);
/* Does it plan from a list of each node's uses (belady, hybrid)? The list takes longer to build
 * than counts. */
bool og__policy_lists_uses(int kind);
/* May it plan the lower of two caches and take rows that leave the upper one (belady;
 * plan/lower_belady.h)? */
bool og__policy_serves_as_lower(int kind);
/* May it take a given set of nodes, as packs made in advance require (frequency)? And which can. */
bool og__policy_adopts(int kind);
int og__policy_that_adopts(void);

/* The source of its hotness, known before any batch. For the implementations see
 * choose/hotness.c. */
enum og_hotness {
    OG__HOTNESS_NONE,
    OG__HOTNESS_NOISE,
    OG__HOTNESS_DEGREE,
    OG__HOTNESS_VISITS,
    OG__HOTNESS_PAGERANK,
    OG__HOTNESS_SCORES, /* from the user */
    OG__HOTNESS_KINDS
};
enum og_hotness og__policy_hotness(int kind);
bool og__policy_wants_hotness(int kind); /* any (random, degree, presc, pagerank, hybrid) */
bool og__policy_keeps_hotness(int kind); /* beyond its opening (hybrid) */

/* The static policy with the same ranking of nodes; degree, if it ranks none. */
int og__policy_ranked_like(int kind);

/* Does it use this option, a parameter of some policies? */
bool og__policy_takes(int kind, const char *option);
/* The option given at `place` after the policy's colon without its name ("presc:2"), or NULL. */
const char *og__policy_colon(int kind, int place);

/* Uses of a policy that --policy auto compares. */
struct og_policy_exec {
    int layout; /* enum og_layout_kind, not AUTO */
    bool alternate;
};
const struct og_policy_exec *og__policy_execs(int kind, int *n);

/* ---- a policy ---- */

/* Tables come from the budget as "policy". */
OG_MUST_CHECK int og__policy_open(struct og_policy **out, const struct og_policy_setup *setup,
                                  struct og_budget *b, struct og_err *err);
void og__policy_close(struct og_policy *p);
/* The slots of each group, after those of earlier groups. *n = 0: there are none. */
const struct og_group_slots *og__policy_groups(const struct og_policy *p, uint32_t *n);

/* The most batches prepared at once, and the most between two looks. */
enum { OG__MOST_FORESEEN = 60000, OG__MOST_UPDATE = 4096 };

/* The length of the tail it needs: batches after a superbatch. With it plans do not depend on where
 * superbatches end. 0, except for hybrid: its window. */
uint32_t og__policy_tail(const struct og_policy_setup *setup);

/* Prepares the coming batches; og__policy_plan is then called for them in order. That is for all of
 * them, or for a superbatch without its tail, which is prepared again with the next one. The caller
 * owns `trace`, which must be valid until the last of them is planned. Policies that do not look
 * ahead ignore it and accept NULL; they too need one call before the first batch. *n_prefill: rows
 * to prefill now. O(rows of the trace). */
OG_MUST_CHECK int og__policy_prepare(struct og_policy *p, const struct og_trace *trace,
                                     uint32_t *n_prefill, struct og_err *err);

/* For frequency, instead of prepare: holds exactly nodes [n], ascending. Each group has at most as
 * many as slots. Renumbers them in place. -ENOTSUP for others. */
OG_MUST_CHECK int og__policy_adopt(struct og_policy *p, uint32_t *nodes, uint32_t n,
                                   uint32_t *n_prefill, struct og_err *err);

/* The next rows to prefill before the next batch, nodes ascending, at most `most`; 0 = none left.
 * Call before each batch is planned. */
uint32_t og__policy_prefill(struct og_policy *p, uint32_t *nodes, uint32_t *slots, uint32_t most);
/* The number of batches of the superbatch after which the slots of the last prefilled rows are
 * free. They may be filled while others are trained. 0, except for sweep. */
uint32_t og__policy_free_after(const struct og_policy *p);

/* The next batch. O(n), amortised over a superbatch. */
OG_MUST_CHECK int og__policy_plan(struct og_policy *p, struct og_planner *planner,
                                  const uint32_t *ids, uint32_t n, struct og_plan *out,
                                  struct og_err *err);

/* The same for a plan to be spilled: og__plan_decode makes the plan from `codes` [n] later.
 * `scratch` is refilled. */
OG_MUST_CHECK int og__policy_code(struct og_policy *p, const uint32_t *ids, uint32_t n,
                                  struct og_plan *scratch, uint32_t *codes, struct og_err *err);

/* Sets setup.threshold from the next batch on, for policies with one: batches. */
void og__policy_set_threshold(struct og_policy *p, uint32_t batches);
/* Call when all prepared batches are planned: releases tables for planning. */
void og__policy_trim(struct og_policy *p);
/* Marks slots from `first` on as empty. Call between superbatches. */
void og__policy_invalidate(struct og_policy *p, uint32_t first);

/* Memory of a policy for superbatches of at most `rows` rows, `batches` batches and `distinct`
 * nodes. */
size_t og__policy_bytes(const struct og_policy_setup *setup, uint64_t rows, uint64_t batches,
                        uint64_t distinct);
/* Memory after og__policy_trim. */
size_t og__policy_trimmed_bytes(const struct og_policy_setup *setup);
/* Additional memory with groups, after planning a batch of so many rows. */
size_t og__policy_ids_bytes(uint64_t rows);

#endif

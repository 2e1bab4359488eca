/* policy: what the feature cache holds while a run of batches is trained.
 *
 *   superbatch ──> prepare ──> prefill: rows put into slots before the first batch
 *   batch ───────> plan ─────> where each row is read from, and what enters the cache after it
 *                  prefill: under sweep more of it comes before some of the later batches too
 *
 * A policy is its own simulation: its tables say at each moment which node each slot holds, and it
 * moves on by one batch a call. Planning is a pure function of (setup, batches so far, what was
 * prepared); when it is carried out is nobody's business here. One file a policy, and one row of
 * policies.h. */
#ifndef OG_POLICY_H
#define OG_POLICY_H

#include "plan/plan.h"

/* Nodes whose rows lie in slots of their own, as rows of one width do among those of others. */
struct og_slot_range {
    uint64_t first, end; /* nodes */
    uint32_t n_slots;
};

/* How one policy is to behave. Parameters that a policy does not have are ignored. */
struct og_policy_setup {
    int kind; /* enum og_policy_kind; not AUTO */
    uint64_t n_nodes;
    uint32_t n_slots; /* < 2^31 */
    /* one score a node: static policies rank by it while they open, hybrid breaks ties by it as
     * long as it is open; NULL = all equal, the smaller id first. Borrowed. */
    const uint32_t *hotness;
    /* set-associative policies (rr, hybrid) */
    uint32_t ways; /* slots a set */
    /* hybrid (Park et al. 2024, §4.2) */
    uint32_t window;    /* batches looked ahead */
    uint32_t update;    /* batches between looks, at most OG__MOST_UPDATE */
    uint32_t threshold; /* a reuse within so many batches is near; 0 = window / 8 */
    int evict;          /* enum og_evict_kind */
    bool has_victims;   /* classes 0 and 1 change places: what is known to be wanted, though not
                           soon, leaves first, since it is kept elsewhere (§4.3.2) */
    /* a bit a node that static policies leave out, since another tier holds it; NULL = none.
     * Borrowed while they open. */
    const uint64_t *without;
    /* NULL: any node may lie in any slot. Else n_slots is what they have in all, and each batch's
     * ids come range by range, in this order, within a range as they like, and nodes of none are
     * left out; those of a trace come as they like. Borrowed while they open. */
    const struct og_slot_range *ranges;
    uint32_t n_ranges;
};

/* The policy of range k alone, as if its nodes were all there are, numbered from 0; and the batches
 * of nodes [first, end) so numbered, into ptr[n_batches + 1] and ids: how many these are. */
struct og_policy_setup og__policy_of_range(const struct og_policy_setup *all, uint32_t k);
uint64_t og__trace_of_range(const struct og_trace *t, uint64_t first, uint64_t end, uint64_t *ptr,
                            uint32_t *ids);

struct og_policy;

/* ---- traits: all that others ask of a kind of policy, answered by its row ---- */

/* Its word, as users write it. og__policy_words: all of them, then "auto"; ends with NULL. */
const char *og__policy_word(int kind);
extern const char *const og__policy_words[];

/* Must the coming batches be known before it can plan them (frequency, belady, hybrid, sweep)? */
bool og__policy_looks_ahead(int kind);
/* Does its cache stay as it was filled? */
bool og__policy_is_static(int kind);
/* Or at least from one foresight to the next (those, and frequency)? */
bool og__policy_is_steady(int kind);
/* May rows that a batch has read enter its cache after it (lru, rr, belady, hybrid)? */
bool og__policy_admits(int kind);
/* Has it a cache at all (not: none)? */
bool og__policy_caches(int kind);
/* Are rows put into its cache ahead of batches (static ones, frequency, belady, sweep)? */
bool og__policy_prefills(int kind);
/* Does this go on beside training, so that a batch misses only what the cache has no room for
 * (sweep)? */
bool og__policy_fills_beside(int kind);
/* Does its cache hold just the rows used last, so that one pass counts all sizes (lru; Mattson et
 * al. 1970)? */
bool og__policy_is_stack(int kind);
/* Does it plan from a list of each node's uses, which takes longer to make than counts do (belady,
 * hybrid)? */
bool og__policy_lists_uses(int kind);
/* May its cache lie beneath another one and take what leaves that (belady; plan/beneath.h)? */
bool og__policy_lies_beneath(int kind);
/* May it be told which nodes to hold, as packs made beforehand do (frequency)? And which can. */
bool og__policy_adopts(int kind);
int og__policy_that_adopts(void);

/* What its hotness, known before any batch is, is made of. Who can make which: choose/hotness.c. */
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

/* The static policy that ranks nodes as this one does; degree, where it ranks none. */
int og__policy_ranked_like(int kind);

/* Does it look at this option, a parameter of some policies? */
bool og__policy_takes(int kind, const char *option);
/* The option that stands behind the policy's colon without its name ("presc:2"), or NULL. */
const char *og__policy_colon(int kind);

/* Ways to use a policy that --policy auto compares. */
struct og_policy_way {
    int layout; /* enum og_layout_kind, not AUTO */
    bool alternate;
};
const struct og_policy_way *og__policy_ways(int kind, int *n);

/* ---- a policy ---- */

/* Tables come from the budget as "policy". */
OG_MUST_CHECK int og__policy_open(struct og_policy **out, const struct og_policy_setup *setup,
                                  struct og_budget *b, struct og_err *err);
void og__policy_close(struct og_policy *p);
/* Where rows of each range lie: slots behind those of the ranges before. *n = 0: there are none. */
const struct og_slot_range *og__policy_ranges(const struct og_policy *p, uint32_t *n);

/* Most batches that can be prepared at once, and most between two looks. */
enum { OG__MOST_FORESEEN = 60000, OG__MOST_UPDATE = 4096 };

/* How many batches behind a superbatch it wants to see with it, the superbatch's tail: with that
 * many its plans are the same wherever superbatches end. 0, but for hybrid: its window. */
uint32_t og__policy_tail(const struct og_policy_setup *setup);

/* The coming batches; og__policy_plan is then called for them, in this order: for all of them, or
 * for a superbatch that a tail follows, and the tail's are prepared again with the next one.
 * `trace` stays the caller's and valid until the last of them is planned. Policies that do not look
 * ahead ignore it, and it may be NULL for them; they too are told once before the first batch.
 * *n_prefill: rows to be put into slots now. O(rows of the trace). */
OG_MUST_CHECK int og__policy_prepare(struct og_policy *p, const struct og_trace *trace,
                                     uint32_t *n_prefill, struct og_err *err);

/* In its place, of frequency: hold just these nodes [n], ascending, of each range no more than it
 * has slots. They are numbered anew where they lie. -ENOTSUP of others. */
OG_MUST_CHECK int og__policy_adopt(struct og_policy *p, uint32_t *nodes, uint32_t n,
                                   uint32_t *n_prefill, struct og_err *err);

/* The next rows to be put into slots before the next batch, nodes ascending, at most `most`; 0 =
 * that was all of them. To be taken before each batch is planned. */
uint32_t og__policy_prefill(struct og_policy *p, uint32_t *nodes, uint32_t *slots, uint32_t most);
/* Slots of the rows taken last are free once so many batches of the superbatch are done with: they
 * may be filled while others are trained. 0, but for sweep. */
uint32_t og__policy_free_after(const struct og_policy *p);

/* The next batch. O(n), amortised over a superbatch. */
OG_MUST_CHECK int og__policy_plan(struct og_policy *p, struct og_planner *planner,
                                  const uint32_t *ids, uint32_t n, struct og_plan *out,
                                  struct og_err *err);

/* The same for a plan that is spilled: og__plan_decode makes the plan of `codes` [n] when its
 * batch comes. `scratch` is refilled. */
OG_MUST_CHECK int og__policy_code(struct og_policy *p, const uint32_t *ids, uint32_t n,
                                  struct og_plan *scratch, uint32_t *codes, struct og_err *err);

/* From the next batch on, of a policy that has one: batches (setup.threshold). */
void og__policy_set_threshold(struct og_policy *p, uint32_t batches);
/* Once all that was prepared is planned: give tables back that only planning needs. */
void og__policy_trim(struct og_policy *p);
/* Slots from `first` on have lost their rows. Between superbatches. */
void og__policy_invalidate(struct og_policy *p, uint32_t first);

/* What a policy takes of the budget for superbatches of up to `rows` rows, `batches` batches and
 * `distinct` nodes. */
size_t og__policy_bytes(const struct og_policy_setup *setup, uint64_t rows, uint64_t batches,
                        uint64_t distinct);
/* What is left of it after og__policy_trim. */
size_t og__policy_trimmed_bytes(const struct og_policy_setup *setup);
/* And beside it of ranges, once it has planned a batch of so many rows. */
size_t og__policy_ids_bytes(uint64_t rows);

#endif

/* The table of a policy's functions, and code shared by several policies. */
#ifndef OG_POLICY_OPS_H
#define OG_POLICY_OPS_H

#include "plan/policies.h"
#include "plan/policy.h"

struct og_policy {
    const struct og_policy_ops *ops;
    struct og_policy_setup setup;
    struct og_budget *budget;
    struct og_allocs tables; /* released when it is closed */
    void *state;             /* the policy's own; zeros before open */
};

/* What the memory of a policy depends on, at most. */
struct og_superbatch_size {
    uint64_t rows, batches, distinct;
};

struct og_policy_ops {
    /* traits, described in policy.h */
    bool looks_ahead, is_static, is_steady, admits;
    bool caches_nothing, is_stack, lists_uses, keeps_hotness, serves_as_lower;
    enum og_hotness hotness;
    const char *const *parameters;      /* options, ends with NULL; first its colon's, or "" */
    const struct og_policy_exec *execs; /* that --policy auto compares */
    int n_execs;
    size_t state_bytes;
    /* functions */
    OG_MUST_CHECK int (*open)(struct og_policy *p, struct og_err *err);
    /* accepts what open left when it failed; NULL: nothing but tables */
    void (*close)(struct og_policy *p);
    OG_MUST_CHECK int (*prepare)(struct og_policy *p, const struct og_trace *trace,
                                 uint32_t *n_prefill, struct og_err *err); /* NULL: nothing to do */
    OG_MUST_CHECK int (*adopt)(struct og_policy *p, uint32_t *nodes, uint32_t n,
                               uint32_t *n_prefill, struct og_err *err); /* or NULL */
    uint32_t (*prefill)(struct og_policy *p, uint32_t *nodes, uint32_t *slots,
                        uint32_t most);                /* NULL: it starts empty */
    uint32_t (*free_after)(const struct og_policy *p); /* NULL = 0 always */
    /* Fills place[] with the slot of each cached row, else OG_NO_SLOT, and advances. Rows that
     * enter the cache after the batch go to change_row and change_slot. out->n is set. */
    OG_MUST_CHECK int (*step)(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                              struct og_err *err);
    size_t (*bytes)(const struct og_policy_setup *setup, const struct og_superbatch_size *most);
    void (*invalidate)(struct og_policy *p, uint32_t first);
    /* of policies that look ahead */
    uint32_t (*tail)(const struct og_policy_setup *setup); /* NULL = 0 always */
    void (*trim)(struct og_policy *p);
    size_t (*planned_bytes)(const struct og_policy_setup *setup);
};
#define OG__POLICY_DECLARED(NAME, name) extern const struct og_policy_ops og__policy_##name;
OG__POLICIES(OG__POLICY_DECLARED)
/* For setups with groups, with a policy of the kind for each; traits are the kind's. */
extern const struct og_policy_ops og__policy_of_groups;

static inline void og__plan_change(struct og_plan *plan, uint32_t row, uint32_t slot)
{
    plan->change_row[plan->n_changes] = row;
    plan->change_slot[plan->n_changes++] = slot;
}

/* ---- sets of a set-associative cache: a node may be in the slots of its set only ---- */

struct og_sets {
    uint32_t n_sets, n_slots;
};
static inline struct og_sets og__sets(uint32_t n_slots, uint32_t ways)
{
    return (struct og_sets){OG_MAX(n_slots / OG_MAX(ways, 1u), 1u), n_slots};
}

/* First slot of set number `set`; sets differ by one slot if ways do not divide the cache. */
static inline uint32_t og__set_start(const struct og_sets *s, uint32_t set)
{
    return (uint32_t)((uint64_t)set * s->n_slots / s->n_sets);
}

static inline uint32_t og__set_of(const struct og_sets *s, uint32_t node)
{
    uint32_t mixed = (uint32_t)((node * 0x9E3779B97F4A7C15ull) >> 32);
    return (uint32_t)((uint64_t)mixed * s->n_sets >> 32);
}

/* The slot of [start, end) that holds the node, or OG_NO_SLOT. */
static inline uint32_t og__set_find(const uint32_t *held, uint32_t start, uint32_t end,
                                    uint32_t node)
{
    for (uint32_t slot = start; slot < end; slot++)
        if (held[slot] == node)
            return slot;
    return OG_NO_SLOT;
}

/* ---- numbering the distinct nodes of a superbatch: a bit a node, ranks as in a placement ---- */

/* Marks every id of the trace. p was made by og__placement_build with capacity 0. */
void og__placement_mark(struct og_placement *p, const struct og_trace *trace);
/* Sets n_slots to the number of marks. Then og__placement_rank numbers the marked nodes. */
void og__placement_count(struct og_placement *p);
void og__placement_clear(struct og_placement *p);

/* Number of marked nodes before `node`, which is marked. */
static inline uint32_t og__placement_rank(const struct og_placement *p, uint32_t node)
{
    return og__bits_rank(p->bits, p->rank, node);
}

static inline void og__placement_prefetch(const struct og_placement *p, uint32_t node)
{
    __builtin_prefetch(&p->bits[node >> 6]);
    __builtin_prefetch(&p->rank[node >> 6]);
}

/* Next uses: for each row of the trace, the next batch with its node. Also each node's first batch.
 * One backward pass, O(rows). */
#define OG__NEVER UINT16_MAX
struct og_next_uses {
    uint16_t *next;      /* [rows] */
    uint64_t n_rows;     /* capacity, in rows */
    struct og_node_use { /* [distinct] by rank */
        uint16_t first;  /* batch of the first use */
        uint16_t visits; /* batches that have the node, at most UINT16_MAX */
    } * node;
    uint64_t n_distinct; /* capacity */
    struct og_placement nodes;
    struct og_budget *budget;
};
OG_MUST_CHECK int og__next_uses_open(struct og_next_uses *u, uint64_t n_nodes, struct og_budget *b,
                                     struct og_err *err);
void og__next_uses_close(struct og_next_uses *u);
void og__next_uses_trim(struct og_next_uses *u); /* all that grows with the superbatch */
OG_MUST_CHECK int og__next_uses_find(struct og_next_uses *u, const struct og_trace *trace,
                                     struct og_err *err);
size_t og__next_uses_bytes(uint64_t n_nodes, uint64_t rows, uint64_t distinct);

#endif

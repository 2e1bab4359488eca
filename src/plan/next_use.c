/* The next use of each row's node. One pass over the superbatch from its last batch to its first
 * finds it, with one number a distinct node. (Park et al. 2022, §3.4, use two passes and a list of
 * uses a node.) */
#include "plan/policy_ops.h"

#include <string.h>

static const char part[] = "policy";
enum { AHEAD = 16 };

/* ---- which nodes ---- */

void og__placement_mark(struct og_placement *p, const struct og_trace *trace)
{
    uint64_t rows = trace->ptr[trace->n_batches];
    for (uint64_t i = 0; i < rows; i++)
        og__bits_add(p->bits, trace->ids[i]);
}

/* ---- next uses ---- */

int og__next_uses_open(struct og_next_uses *u, uint64_t n_nodes, struct og_budget *b,
                       struct og_err *err)
{
    *u = (struct og_next_uses){.budget = b};
    return og__placement_build(&u->nodes, NULL, n_nodes, 0, b, err);
}

static void release_rows(struct og_next_uses *u)
{
    og__release(u->budget, u->next, u->n_rows * sizeof(*u->next), part);
    u->next = NULL;
    u->n_rows = 0;
}

static void release_nodes(struct og_next_uses *u)
{
    og__release(u->budget, u->node, u->n_distinct * sizeof(*u->node), part);
    u->node = NULL;
    u->n_distinct = 0;
}

void og__next_uses_trim(struct og_next_uses *u)
{
    release_rows(u);
    release_nodes(u);
}

void og__next_uses_close(struct og_next_uses *u)
{
    og__next_uses_trim(u);
    og__placement_release(&u->nodes);
}

size_t og__next_uses_bytes(uint64_t n_nodes, uint64_t rows, uint64_t distinct)
{
    return og__placement_bytes(n_nodes) + rows * sizeof(uint16_t) +
           distinct * sizeof(struct og_node_use);
}

static int reserve(struct og_next_uses *u, uint64_t rows, uint64_t distinct, struct og_err *err)
{
    if (rows > u->n_rows) {
        release_rows(u);
        u->next = og__alloc(u->budget, rows * sizeof(*u->next), part, err);
        if (!u->next)
            return -ENOMEM;
        u->n_rows = rows;
    }
    if (distinct <= u->n_distinct)
        return 0;
    release_nodes(u);
    u->node = og__alloc(u->budget, distinct * sizeof(*u->node), part, err);
    if (!u->node)
        return -ENOMEM;
    u->n_distinct = distinct;
    return 0;
}

/* Processes one batch, backwards. Computes ranks some rows ahead, and prefetches their entries. */
OG_CLONES static void pass_batch(struct og_next_uses *u, const uint32_t *ids, uint64_t n,
                                 uint16_t *next, uint16_t batch)
{
    uint32_t rank[AHEAD];
    for (uint64_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD) {
            struct og_node_use *node = &u->node[rank[i % AHEAD]];
            next[i - AHEAD] = node->first;
            node->first = batch;
            node->visits = (uint16_t)(node->visits + (node->visits < UINT16_MAX));
        }
        if (i + AHEAD < n)
            og__placement_prefetch(&u->nodes, ids[i + AHEAD]);
        if (i < n) {
            rank[i % AHEAD] = og__placement_rank(&u->nodes, ids[i]);
            __builtin_prefetch(&u->node[rank[i % AHEAD]], 1);
        }
    }
}

int og__next_uses_find(struct og_next_uses *u, const struct og_trace *trace, struct og_err *err)
{
    if (trace->n_batches > OG__MOST_FORESEEN)
        return og__fail(err, -EINVAL, "give a smaller --superbatch, or a larger --batch",
                        "%u batches at once, at most %d", trace->n_batches, OG__MOST_FORESEEN);
    og__placement_clear(&u->nodes);
    og__placement_mark(&u->nodes, trace);
    og__placement_count(&u->nodes);
    OG_DO(reserve(u, trace->ptr[trace->n_batches], u->nodes.n_slots, err));
    for (uint32_t r = 0; r < u->nodes.n_slots; r++)
        u->node[r] = (struct og_node_use){.first = OG__NEVER};
    for (uint32_t b = trace->n_batches; b-- > 0;) {
        uint64_t start = trace->ptr[b];
        pass_batch(u, trace->ids + start, trace->ptr[b + 1] - start, u->next + start, (uint16_t)b);
    }
    return 0;
}

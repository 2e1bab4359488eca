/* owners: partitions nodes among workers by id, worker v modulo n. No row is in two caches, so n
 * caches act as one of n times the size. Park et al. 2024, §4.1, have it as a communication layer
 * that hashes nodes by such a stride.
 *
 *     worker 0's batch   8 3 5 12 ─┬─> requests to owner 0   8 12 | 6 8 ──> 8 12 6
 *     worker 1's batch   6 8 1 3  ─┴─> requests to owner 1    3 5 | 1 3 ──> 3 5 1
 *
 * A round has a mini-batch of each worker. The requests to an owner in it form a batch that any
 * policy plans. It has each node once, in the order of the mini-batches and of their rows. An owner
 * numbers its nodes 0, 1, 2, ... in the graph's order, so that a policy's tables cover own nodes
 * alone. */
#ifndef OG_OWNERS_H
#define OG_OWNERS_H

#include "base/memory.h"

/* ---- owner and number of a node ---- */

static inline uint32_t og__owner_of(uint32_t owners, uint32_t node)
{
    return node % owners;
}

static inline uint32_t og__owned_number(uint32_t owners, uint32_t node)
{
    return node / owners;
}

static inline uint32_t og__owned_node(uint32_t owners, uint32_t owner, uint32_t number)
{
    return number * owners + owner;
}

/* Takes the values of the n nodes that it owns from those of all, maybe in place. */
static inline void og__owned_values(uint32_t owners, uint32_t owner, uint64_t n,
                                    const uint32_t *all, uint32_t *own)
{
    for (uint64_t i = 0; i < n; i++)
        own[i] = all[og__owned_node(owners, owner, (uint32_t)i)];
}

/* The number of the graph's nodes that it owns. */
static inline uint64_t og__owned_nodes(uint32_t owners, uint32_t owner, uint64_t n_nodes)
{
    return (n_nodes + owners - 1 - owner) / owners;
}

/* ---- requests to one owner ---- */

struct og_owner {
    uint32_t owners, owner;
    uint64_t n_nodes; /* its own */
    uint32_t *where;  /* [n_nodes] index in ids, for nodes that are there */
    uint32_t *ids;    /* [n] own numbers requested in this round so far; the caller's memory */
    uint32_t n;
    struct og_budget *budget;
};

/* n_nodes: of the graph. Memory from the budget as "owners". */
OG_MUST_CHECK int og__owner_open(struct og_owner *o, uint32_t owners, uint32_t owner,
                                 uint64_t n_nodes, struct og_budget *b, struct og_err *err);
void og__owner_close(struct og_owner *o);
size_t og__owner_bytes(uint32_t owners, uint64_t n_nodes);

/* Starts a round. ids: room for the owner's rows in all its mini-batches. */
void og__owner_begin(struct og_owner *o, uint32_t *ids);
/* Adds a mini-batch of the round, in graph ids. Skips other owners' nodes. at[], NULL or as long as
 * there are own ones, gets the index of each in o->ids. Returns the number of own ones. */
uint32_t og__owner_ask(struct og_owner *o, const uint32_t *nodes, uint32_t n, uint32_t *at);

#endif

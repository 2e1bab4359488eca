#include "plan/owners.h"

static const char part[] = "owners";

size_t og__owner_bytes(uint32_t owners, uint64_t n_nodes)
{
    return og__owned_nodes(owners, 0, n_nodes) * sizeof(uint32_t);
}

int og__owner_open(struct og_owner *o, uint32_t owners, uint32_t owner, uint64_t n_nodes,
                   struct og_budget *b, struct og_err *err)
{
    *o = (struct og_owner){.owners = owners,
                           .owner = owner,
                           .n_nodes = og__owned_nodes(owners, owner, n_nodes),
                           .budget = b};
    o->where = og__alloc(b, o->n_nodes * sizeof(*o->where), part, err);
    return o->where ? 0 : -ENOMEM;
}

void og__owner_close(struct og_owner *o)
{
    og__release(o->budget, o->where, o->n_nodes * sizeof(*o->where), part);
    *o = (struct og_owner){0};
}

void og__owner_begin(struct og_owner *o, uint32_t *ids)
{
    o->ids = ids;
    o->n = 0;
}

/* Indices of earlier rounds stay in the table: one holds if that node is there. */
static uint32_t index_of(struct og_owner *o, uint32_t number)
{
    const uint32_t known = o->where[number];
    if (known < o->n && o->ids[known] == number)
        return known;
    o->where[number] = o->n;
    o->ids[o->n] = number;
    return o->n++;
}

uint32_t og__owner_ask(struct og_owner *o, const uint32_t *nodes, uint32_t n, uint32_t *at)
{
    uint32_t requested = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (og__owner_of(o->owners, nodes[i]) != o->owner)
            continue;
        const uint32_t index = index_of(o, og__owned_number(o->owners, nodes[i]));
        if (at)
            at[requested] = index;
        requested++;
    }
    return requested;
}

#include "plan/demand.h"

#include <string.h>

static const char part[] = "exchange";

static size_t round_bytes(uint32_t owners)
{
    return 2 * sizeof(uint64_t) + owners * sizeof(uint32_t);
}

size_t og__demand_bytes(uint32_t owners, uint64_t n_nodes, uint64_t rounds, uint64_t rows)
{
    return og__owner_bytes(owners, n_nodes) + (rounds + 1) * round_bytes(owners) +
           rows * 2 * sizeof(uint32_t);
}

int og__demand_open(struct og_demand *d, uint32_t owners, uint32_t owner, const uint32_t *end,
                    uint32_t n_ends, struct og_budget *b, struct og_err *err)
{
    *d = (struct og_demand){.end = end, .n_ends = n_ends, .budget = b};
    int rc = og__owner_open(&d->owner, owners, owner, end[n_ends - 1], b, err);
    return rc < 0 ? rc : og__demand_reserve(d, 1, 0, err);
}

static void release_rounds(struct og_demand *d)
{
    const size_t n = d->most ? (size_t)d->most + 1 : 0;
    og__release(d->budget, d->ptr, n * sizeof(*d->ptr), part);
    og__release(d->budget, d->at_ptr, n * sizeof(*d->at_ptr), part);
    og__release(d->budget, d->counts, n * d->owner.owners * sizeof(*d->counts), part);
    d->ptr = d->at_ptr = NULL;
    d->counts = NULL;
    d->most = 0;
}

void og__demand_release_rows(struct og_demand *d)
{
    og__release(d->budget, d->ids, d->room * sizeof(*d->ids), part);
    og__release(d->budget, d->at, d->room * sizeof(*d->at), part);
    d->ids = d->at = NULL;
    d->room = 0;
}

void og__demand_close(struct og_demand *d)
{
    release_rounds(d);
    og__demand_release_rows(d);
    if (d->owner.where)
        og__owner_close(&d->owner);
    *d = (struct og_demand){0};
}

void og__demand_clear(struct og_demand *d)
{
    d->n = 0;
}

/* If there is nothing to preserve, releases the old arrays first: both at once exceed the memory
 * plan. */
static int grow_rounds(struct og_demand *d, uint32_t rounds, struct og_err *err)
{
    if (d->n == 0)
        release_rounds(d);
    const size_t n = (size_t)rounds + 1;
    const uint32_t owners = d->owner.owners;
    struct og_demand more = {.owner.owners = owners, .most = rounds, .budget = d->budget};
    more.ptr = og__alloc(d->budget, n * sizeof(*more.ptr), part, err);
    more.at_ptr = more.ptr ? og__alloc(d->budget, n * sizeof(*more.at_ptr), part, err) : NULL;
    more.counts =
        more.at_ptr ? og__alloc(d->budget, n * owners * sizeof(*more.counts), part, err) : NULL;
    if (!more.counts) {
        release_rounds(&more);
        return -ENOMEM;
    }
    more.ptr[0] = more.at_ptr[0] = 0;
    if (d->ptr) {
        memcpy(more.ptr, d->ptr, ((size_t)d->n + 1) * sizeof(*d->ptr));
        memcpy(more.at_ptr, d->at_ptr, ((size_t)d->n + 1) * sizeof(*d->at_ptr));
        memcpy(more.counts, d->counts, (size_t)d->n * owners * sizeof(*d->counts));
    }
    release_rounds(d);
    d->ptr = more.ptr;
    d->at_ptr = more.at_ptr;
    d->counts = more.counts;
    d->most = rounds;
    return 0;
}

static int grow_rows(struct og_demand *d, uint64_t rows, struct og_err *err)
{
    if (d->n == 0)
        og__demand_release_rows(d);
    struct og_demand more = {.room = rows, .budget = d->budget};
    more.ids = og__alloc(d->budget, rows * sizeof(*more.ids), part, err);
    more.at = more.ids ? og__alloc(d->budget, rows * sizeof(*more.at), part, err) : NULL;
    if (!more.at) {
        og__demand_release_rows(&more);
        return -ENOMEM;
    }
    if (d->ids) {
        memcpy(more.ids, d->ids, d->ptr[d->n] * sizeof(*d->ids));
        memcpy(more.at, d->at, d->at_ptr[d->n] * sizeof(*d->at));
    }
    og__demand_release_rows(d);
    d->ids = more.ids;
    d->at = more.at;
    d->room = rows;
    return 0;
}

int og__demand_reserve(struct og_demand *d, uint32_t rounds, uint64_t rows, struct og_err *err)
{
    int rc = 0;
    if (rounds > d->most)
        OG_TRY(grow_rounds(d, rounds, err));
    if (rows > d->room)
        OG_TRY(grow_rows(d, rows, err));
out:
    return rc;
}

/* The end of the nodes below `end` in nodes[n], from index `from` on. */
static uint32_t group_end(const uint32_t *nodes, uint32_t from, uint32_t n, uint32_t end)
{
    while (from < n && nodes[from] < end)
        from++;
    return from;
}

void og__demand_add(struct og_demand *d, const uint32_t *const *nodes, const uint32_t *n)
{
    const uint32_t owners = d->owner.owners;
    uint32_t *counts = d->counts + (size_t)d->n * owners;
    uint64_t requested = 0;
    memset(counts, 0, owners * sizeof(*counts));
    og__owner_begin(&d->owner, d->ids + d->ptr[d->n]);
    for (uint32_t k = 0; k < d->n_ends; k++) {
        requested = d->at_ptr[d->n];
        for (uint32_t i = 0; i < owners; requested += n[i++]) {
            const uint32_t last = group_end(nodes[i], counts[i], n[i], d->end[k]);
            og__owner_ask(&d->owner, nodes[i] + counts[i], last - counts[i],
                          d->at + requested + counts[i]);
            counts[i] = last;
        }
    }
    d->ptr[d->n + 1] = d->ptr[d->n] + d->owner.n;
    d->at_ptr[d->n + 1] = requested;
    d->n++;
}

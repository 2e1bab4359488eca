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
    *d = (struct og_demand){.end = end,
                            .n_ends = n_ends,
                            .of_rounds = og__allocs(b, part),
                            .of_rows = og__allocs(b, part)};
    int rc = og__owner_open(&d->owner, owners, owner, end[n_ends - 1], b, err);
    return rc < 0 ? rc : og__demand_reserve(d, 1, 0, err);
}

void og__demand_release_rows(struct og_demand *d)
{
    og__allocs_release(&d->of_rows);
    d->ids = d->at = NULL;
}

void og__demand_close(struct og_demand *d)
{
    og__allocs_release(&d->of_rounds);
    og__allocs_release(&d->of_rows);
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
        og__allocs_release(&d->of_rounds);
    const size_t n = (size_t)rounds + 1;
    const uint32_t owners = d->owner.owners;
    struct og_allocs more = og__allocs(d->of_rounds.budget, part);
    uint64_t *ptr = og__allocs_take(&more, n * sizeof(*ptr), err);
    uint64_t *at_ptr = og__allocs_take(&more, n * sizeof(*at_ptr), err);
    uint32_t *counts = og__allocs_take(&more, n * owners * sizeof(*counts), err);
    if (og__allocs_taken(&more) < 0)
        return -ENOMEM;
    ptr[0] = at_ptr[0] = 0;
    if (d->n > 0) {
        memcpy(ptr, d->ptr, ((size_t)d->n + 1) * sizeof(*ptr));
        memcpy(at_ptr, d->at_ptr, ((size_t)d->n + 1) * sizeof(*at_ptr));
        memcpy(counts, d->counts, (size_t)d->n * owners * sizeof(*counts));
    }
    og__allocs_release(&d->of_rounds);
    more.room = rounds;
    d->of_rounds = more;
    d->ptr = ptr;
    d->at_ptr = at_ptr;
    d->counts = counts;
    return 0;
}

static int grow_rows(struct og_demand *d, uint64_t rows, struct og_err *err)
{
    if (d->n == 0)
        og__demand_release_rows(d);
    struct og_allocs more = og__allocs(d->of_rows.budget, part);
    uint32_t *ids = og__allocs_take(&more, rows * sizeof(*ids), err);
    uint32_t *at = og__allocs_take(&more, rows * sizeof(*at), err);
    if (og__allocs_taken(&more) < 0)
        return -ENOMEM;
    if (d->ids) {
        memcpy(ids, d->ids, d->ptr[d->n] * sizeof(*ids));
        memcpy(at, d->at, d->at_ptr[d->n] * sizeof(*at));
    }
    og__allocs_release(&d->of_rows);
    more.room = rows;
    d->of_rows = more;
    d->ids = ids;
    d->at = at;
    return 0;
}

int og__demand_reserve(struct og_demand *d, uint32_t rounds, uint64_t rows, struct og_err *err)
{
    if (rounds > d->of_rounds.room)
        OG_DO(grow_rounds(d, rounds, err));
    if (rows > d->of_rows.room)
        OG_DO(grow_rows(d, rows, err));
    return 0;
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

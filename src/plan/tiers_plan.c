/* Plans of a device's cache over the host's: their memory, their parts, and what they cost. */
#include "plan/pair.h"

#include <stdlib.h>

bool og__tiers_exclusive(const struct og_tiers_setup *setup)
{
    return og__both_stay(setup) || (og__is_lower_belady(setup) && !og__has_victim_buffer(setup));
}

uint32_t og__tiers_tail(const struct og_tiers_setup *setup)
{
    const uint32_t rings = og__has_victim_buffer(setup) ? setup->victim.n_rings : 0;
    return OG_MAX(og__policy_tail(&setup->device), rings);
}

/* ---- what they cost ---- */

/* Slot s is on device s modulo the keepers (nn/ops.h). */
static void add_peers(struct og_tiers_cost *sum, const struct og_tiers_setup *setup,
                      const struct og_plan *p, uint32_t batch)
{
    const uint32_t own = batch % setup->keepers;
    for (uint32_t i = 0; i < p->n; i++)
        sum->peer_hits +=
            p->place[i] < setup->device.n_slots && p->place[i] % setup->keepers != own;
    for (uint32_t c = 0; c < p->n_changes; c++)
        sum->peer_entries +=
            p->change_slot[c] < setup->device.n_slots && p->change_slot[c] % setup->keepers != own;
}

void og__tiers_cost_add(struct og_tiers_cost *sum, const struct og_tiers_setup *setup,
                        const struct og_tiers_plan *p, uint32_t batch)
{
    if (setup->keepers > 1)
        add_peers(sum, setup, &p->plan, batch);
    sum->device_hits += p->device_hits;
    sum->host_hits += p->host_hits;
    sum->victim_hits += p->victim_hits;
    sum->demoted += p->n_moves - p->n_pushed;
    sum->victim_pushed += p->n_pushed;
    sum->victim_dropped += p->n_dropped;
}

void og__tiers_cost_sum(struct og_tiers_cost *sum, const struct og_tiers_cost *more)
{
    sum->device_hits += more->device_hits;
    sum->host_hits += more->host_hits;
    sum->victim_hits += more->victim_hits;
    sum->demoted += more->demoted;
    sum->victim_pushed += more->victim_pushed;
    sum->victim_dropped += more->victim_dropped;
    sum->peer_hits += more->peer_hits;
    sum->peer_entries += more->peer_entries;
}

/* ---- their memory ---- */

void og__tiers_plan_init(struct og_tiers_plan *p, struct og_budget *b)
{
    *p = (struct og_tiers_plan){.of_moves = og__allocs(b, "plans")};
    og__plan_init(&p->plan, b);
}

void og__tiers_plan_release(struct og_tiers_plan *p)
{
    og__allocs_release(&p->of_moves);
    free(p->part);
    p->part = NULL;
    p->n_parts = 0;
    og__plan_release(&p->plan);
}

/* A row may enter each cache that admits rows. The row it replaces on the device may go to the
 * victim buffer and to the host. */
static uint64_t most_changes(const struct og_tiers_setup *s, uint64_t n)
{
    return n * (uint64_t)(og__policy_admits(s->device.kind) + og__policy_admits(s->host.kind));
}

static uint64_t most_moves(const struct og_tiers_setup *s, uint64_t n)
{
    const int ways = og__is_lower_belady(s) + og__has_victim_buffer(s);
    return OG_MAX(og__policy_admits(s->device.kind) ? n * (uint64_t)ways : 0, (uint64_t)1);
}

size_t og__tiers_plan_bytes(const struct og_tiers_setup *setup, uint64_t n)
{
    return og__plan_bytes(n, most_changes(setup, n)) + most_moves(setup, n) * 2 * sizeof(uint32_t);
}

size_t og__tiers_spilled_bytes(const struct og_tiers_setup *setup, uint64_t n)
{
    const uint64_t pairs = most_changes(setup, n) + most_moves(setup, n);
    const size_t parts = OG_MAX(setup->host.n_groups, 1u);
    return parts * OG__TIERS_HEAD_BYTES + (n + 2 * pairs) * sizeof(uint32_t);
}

static int reserve_parts(struct og_tiers_plan *p, uint32_t n, struct og_err *err)
{
    if (n == p->n_parts)
        return 0;
    free(p->part);
    p->part = calloc(n, sizeof(*p->part));
    p->n_parts = p->part ? n : 0;
    return p->part ? 0 : og__fail_errno(err, -ENOMEM, NULL, "plans");
}

int og__tiers_plan_reserve(struct og_tiers_plan *p, const struct og_tiers_setup *setup, uint32_t n,
                           struct og_err *err)
{
    const uint32_t most = (uint32_t)most_moves(setup, n);
    int rc = reserve_parts(p, OG_MAX(setup->host.n_groups, 1u), err);
    if (rc == 0)
        rc = og__plan_reserve(&p->plan, n, (uint32_t)most_changes(setup, n), err);
    if (rc < 0 || og__allocs_fit(&p->of_moves, most))
        return rc;
    p->move_from = og__allocs_take(&p->of_moves, most * sizeof(*p->move_from), err);
    p->move_to = og__allocs_take(&p->of_moves, most * sizeof(*p->move_to), err);
    return og__allocs_taken(&p->of_moves);
}

/* ---- their parts ---- */

static void add(struct og_tiers_plan *sum, const struct og_tiers_part *of)
{
    sum->plan.n += of->n;
    sum->plan.n_misses += of->n_misses;
    sum->plan.n_changes += of->n_changes;
    sum->device_hits += of->device_hits;
    sum->host_hits += of->host_hits;
    sum->victim_hits += of->victim_hits;
    sum->n_moves += of->n_moves;
    sum->n_pushed += of->n_pushed;
    sum->n_dropped += of->n_dropped;
}

void og__tiers_plan_empty(struct og_tiers_plan *p)
{
    p->plan.n = p->plan.n_misses = p->plan.n_changes = 0;
    p->device_hits = p->host_hits = p->victim_hits = 0;
    p->n_moves = p->n_pushed = p->n_dropped = 0;
    for (uint32_t k = 0; k < p->n_parts; k++)
        p->part[k] = (struct og_tiers_part){0};
}

/* For an array that may be NULL if it is empty. */
static uint32_t *from(uint32_t *array, uint32_t i)
{
    return array ? array + i : NULL;
}

struct og_tiers_plan og__tiers_plan_part(const struct og_tiers_plan *p, uint32_t k)
{
    struct og_tiers_plan before = {0};
    struct og_tiers_plan of = {0};
    for (uint32_t i = 0; i < k; i++)
        add(&before, &p->part[i]);
    add(&of, &p->part[k]);
    of.plan.place = from(p->plan.place, before.plan.n);
    of.plan.misses = from(p->plan.misses, before.plan.n_misses);
    of.plan.change_row = from(p->plan.change_row, before.plan.n_changes);
    of.plan.change_slot = from(p->plan.change_slot, before.plan.n_changes);
    of.move_from = from(p->move_from, before.n_moves);
    of.move_to = from(p->move_to, before.n_moves);
    return of;
}

void og__tiers_plan_add(struct og_tiers_plan *p, uint32_t k, const struct og_tiers_plan *of)
{
    p->part[k] = (struct og_tiers_part){.n = of->plan.n,
                                        .n_misses = of->plan.n_misses,
                                        .n_changes = of->plan.n_changes,
                                        .n_moves = of->n_moves,
                                        .device_hits = of->device_hits,
                                        .host_hits = of->host_hits,
                                        .victim_hits = of->victim_hits,
                                        .n_pushed = of->n_pushed,
                                        .n_dropped = of->n_dropped};
    add(p, &p->part[k]);
}

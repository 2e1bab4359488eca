/* What the tables of a plan's policies take, of one cache or of a device's over the host's. */
#include "budget/device_plan.h"
#include "budget/memory_plan_parts.h"

/* The narrowest range that has no slots yet, or n_ranges. */
static uint32_t narrowest(const struct og_facts *f, const struct og_slot_range *ranges)
{
    uint32_t best = f->n_ranges;
    for (uint32_t k = 0; k < f->n_ranges; k++)
        if (ranges[k].n_slots == 0 && ranges[k].end > ranges[k].first &&
            (best == f->n_ranges || f->width[k].row_bytes < f->width[best].row_bytes))
            best = k;
    return best;
}

/* Of several widths narrow rows make most slots of so much memory. */
static void most_of_ranges(const struct og_facts *f, size_t memory, struct og_slot_range *ranges)
{
    for (uint32_t k = 0; k < f->n_ranges; k++)
        ranges[k] = f->ranges[k];
    for (uint32_t k; (k = narrowest(f, ranges)) < f->n_ranges;) {
        const size_t row = f->width[k].row_bytes;
        const uint64_t most = OG_MIN(memory / row, (size_t)(ranges[k].end - ranges[k].first));
        if (most == 0)
            break;
        ranges[k].n_slots = (uint32_t)most;
        memory -= (size_t)most * row;
    }
}

/* A device's slots are as many as there can be; room[n_ranges]. */
static struct og_tiers_setup most_tiers(const struct og_premises *p, uint64_t n_slots,
                                        struct og_slot_range *room)
{
    struct og_tiers_setup tiers = og__premised_tiers(p, n_slots);
    if (tiers.device.n_ranges > 0) {
        most_of_ranges(p->facts, og__device_plan(p).slots, room);
        tiers.device.ranges = room;
    }
    return tiers;
}

size_t og__premised_tables(const struct og_premises *p, uint64_t n_slots,
                           const struct og_planned_size *of)
{
    if (p->way->tiers) {
        struct og_slot_range room[OG_MOST_TYPES];
        const struct og_tiers_setup tiers = most_tiers(p, n_slots, room);
        const uint64_t longest = OG_MIN(of->rows, og__input_rows(p->facts));
        return og__tiers_bytes(&tiers, of->rows, longest, of->batches, of->distinct);
    }
    struct og_policy_setup setup = og__premised_policy(p);
    setup.n_slots = (uint32_t)n_slots;
    return og__policy_bytes(&setup, of->rows, of->batches, of->distinct);
}

size_t og__trimmed_tables(const struct og_premises *p, uint64_t n_slots)
{
    struct og_slot_range room[OG_MOST_TYPES];
    const struct og_tiers_setup tiers = most_tiers(p, n_slots, room);
    struct og_policy_setup setup = og__premised_policy(p);
    setup.n_slots = (uint32_t)n_slots;
    return p->way->tiers ? og__tiers_trimmed_bytes(&tiers) : og__policy_trimmed_bytes(&setup);
}

uint32_t og__premised_tail(const struct og_premises *p)
{
    const struct og_policy_setup setup = og__premised_policy(p);
    const struct og_tiers_setup tiers = og__premised_tiers(p, 0);
    return p->way->tiers ? og__tiers_tail(&tiers) : og__policy_tail(&setup);
}

void og__memory_plan_slots(struct og_memory_plan *m, const struct og_premises *p, uint64_t n)
{
    const struct og_planned_size nothing = {0};
    m->n_slots = (uint32_t)n;
    m->policy_slots = og__premised_tables(p, n, &nothing) - og__premised_tables(p, 0, &nothing);
    m->policy_training_slots = og__trimmed_tables(p, n) - og__trimmed_tables(p, 0);
}

/* Of a device's cache over the host's. */
static void plan_ranges_beneath(struct og_memory_plan *m, const struct og_premises *p,
                                const struct og_slot_range *ranges)
{
    const struct og_tiers_setup none = og__premised_tiers(p, 0);
    struct og_tiers_setup tiers = none;
    tiers.host.ranges = ranges;
    m->policy_slots = og__tiers_bytes(&tiers, 0, 0, 0, 0) - og__tiers_bytes(&none, 0, 0, 0, 0);
    m->policy_training_slots = og__tiers_trimmed_bytes(&tiers) - og__tiers_trimmed_bytes(&none);
}

void og__memory_plan_ranges(struct og_memory_plan *m, const struct og_premises *p,
                            const struct og_slot_range *ranges)
{
    const struct og_policy_setup none = og__premised_policy(p);
    struct og_policy_setup setup = none;
    if (p->way->tiers) {
        plan_ranges_beneath(m, p, ranges);
        return;
    }
    setup.ranges = ranges;
    m->policy_slots = og__policy_bytes(&setup, 0, 0, 0) - og__policy_bytes(&none, 0, 0, 0);
    m->policy_training_slots = og__policy_trimmed_bytes(&setup) - og__policy_trimmed_bytes(&none);
}

void og__memory_plan_most_slots(struct og_memory_plan *m, const struct og_premises *p,
                                size_t memory)
{
    const struct og_facts *f = p->facts;
    struct og_slot_range ranges[OG_MOST_TYPES];
    if (!f->types) {
        og__memory_plan_slots(m, p, og__most_slots(f, memory));
        return;
    }
    most_of_ranges(f, memory, ranges);
    og__memory_plan_ranges(m, p, ranges);
}

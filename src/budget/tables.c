/* What the tables of a plan's policies take, of one cache or of a device's over the host's. */
#include "budget/device_plan.h"
#include "budget/memory_plan_parts.h"

/* The narrowest group that has no slots yet, or n_group_slots. */
static uint32_t narrowest(const struct og_workload *f, const struct og_group_slots *groups)
{
    uint32_t best = f->n_group_slots;
    for (uint32_t k = 0; k < f->n_group_slots; k++)
        if (groups[k].n_slots == 0 && groups[k].end > groups[k].first &&
            (best == f->n_group_slots || f->group[k].row_bytes < f->group[best].row_bytes))
            best = k;
    return best;
}

/* With several sizes, narrow rows make the most slots of so much memory. */
static void most_of_groups(const struct og_workload *f, size_t memory,
                           struct og_group_slots *groups)
{
    for (uint32_t k = 0; k < f->n_group_slots; k++)
        groups[k] = f->group_slots[k];
    for (uint32_t k; (k = narrowest(f, groups)) < f->n_group_slots;) {
        const size_t row = f->group[k].row_bytes;
        const uint64_t most = OG_MIN(memory / row, (size_t)(groups[k].end - groups[k].first));
        if (most == 0)
            break;
        groups[k].n_slots = (uint32_t)most;
        memory -= (size_t)most * row;
    }
}

/* A device's slots are as many as there can be; room[n_group_slots]. */
static struct og_tiers_setup most_tiers(const struct og_plan_inputs *p, uint64_t n_slots,
                                        struct og_group_slots *room)
{
    struct og_tiers_setup tiers = og__plan_inputs_tiers(p, n_slots);
    most_of_groups(p->workload, og__device_plan(p).slots, room);
    tiers.device.groups = room;
    return tiers;
}

/* ---- of the host's cache alone, or of a device's over it ---- */

static size_t host_tables(const struct og_tiers_setup *s, const struct og_planned_size *of,
                          uint64_t longest)
{
    (void)longest;
    return og__policy_bytes(&s->host, of->rows, of->batches, of->distinct);
}

static size_t host_trimmed(const struct og_tiers_setup *s)
{
    return og__policy_trimmed_bytes(&s->host);
}

static uint32_t host_tail(const struct og_tiers_setup *s)
{
    return og__policy_tail(&s->host);
}

static size_t host_plan(const struct og_tiers_setup *s, uint64_t rows)
{
    return og__plan_bytes(rows, og__policy_admits(s->host.kind) ? rows : 0);
}

static size_t host_spilled(const struct og_tiers_setup *s, uint64_t rows)
{
    (void)s;
    return (size_t)rows * sizeof(uint32_t);
}

static size_t both_tables(const struct og_tiers_setup *s, const struct og_planned_size *of,
                          uint64_t longest)
{
    return og__tiers_bytes(s, of->rows, longest, of->batches, of->distinct);
}

struct stack_sizes {
    size_t (*tables)(const struct og_tiers_setup *s, const struct og_planned_size *of,
                     uint64_t longest); /* rows of a batch */
    size_t (*trimmed)(const struct og_tiers_setup *s);
    uint32_t (*tail)(const struct og_tiers_setup *s);
    size_t (*plan)(const struct og_tiers_setup *s, uint64_t rows);
    size_t (*spilled)(const struct og_tiers_setup *s, uint64_t rows);
    size_t entering; /* of a row that enters the host's slots */
};

static const struct stack_sizes *sizes_of(const struct og_plan_inputs *p)
{
    static const struct stack_sizes host = {host_tables, host_trimmed, host_tail,
                                            host_plan,   host_spilled, 0};
    static const struct stack_sizes both = {
        both_tables,          og__tiers_trimmed_bytes, og__tiers_tail,
        og__tiers_plan_bytes, og__tiers_spilled_bytes, OG__ENTERING_BYTES};
    return p->exec->tiers ? &both : &host;
}

size_t og__plan_inputs_tables(const struct og_plan_inputs *p, uint64_t n_slots,
                              const struct og_planned_size *of)
{
    struct og_group_slots room[OG_MOST_TYPES];
    const struct og_tiers_setup most = most_tiers(p, n_slots, room);
    return sizes_of(p)->tables(&most, of, OG_MIN(of->rows, og__input_rows(p->workload)));
}

size_t og__trimmed_tables(const struct og_plan_inputs *p, uint64_t n_slots)
{
    struct og_group_slots room[OG_MOST_TYPES];
    const struct og_tiers_setup most = most_tiers(p, n_slots, room);
    return sizes_of(p)->trimmed(&most);
}

uint32_t og__plan_inputs_tail(const struct og_plan_inputs *p)
{
    const struct og_tiers_setup none = og__plan_inputs_tiers(p, 0);
    return sizes_of(p)->tail(&none);
}

size_t og__plan_inputs_plans(const struct og_plan_inputs *p, int n, uint64_t rows)
{
    const struct stack_sizes *of = sizes_of(p);
    const struct og_tiers_setup some = og__plan_inputs_tiers(p, 1);
    return (size_t)n * of->plan(&some, rows) + rows * of->entering;
}

size_t og__plan_inputs_spilled(const struct og_plan_inputs *p, uint64_t rows)
{
    const struct og_tiers_setup none = og__plan_inputs_tiers(p, 0);
    return sizes_of(p)->spilled(&none, rows);
}

void og__memory_plan_slots(struct og_memory_plan *m, const struct og_plan_inputs *p, uint64_t n)
{
    const struct og_planned_size nothing = {0};
    m->n_slots = (uint32_t)n;
    m->policy_slots =
        og__plan_inputs_tables(p, n, &nothing) - og__plan_inputs_tables(p, 0, &nothing);
    m->policy_training_slots = og__trimmed_tables(p, n) - og__trimmed_tables(p, 0);
}

void og__memory_plan_group_slots(struct og_memory_plan *m, const struct og_plan_inputs *p,
                                 const struct og_group_slots *groups)
{
    const struct stack_sizes *of = sizes_of(p);
    const struct og_planned_size nothing = {0};
    const struct og_tiers_setup none = og__plan_inputs_tiers(p, 0);
    struct og_tiers_setup some = none;
    some.host.groups = groups;
    m->policy_slots = of->tables(&some, &nothing, 0) - of->tables(&none, &nothing, 0);
    m->policy_training_slots = of->trimmed(&some) - of->trimmed(&none);
}

void og__memory_plan_most_slots(struct og_memory_plan *m, const struct og_plan_inputs *p,
                                size_t memory)
{
    const struct og_workload *f = p->workload;
    struct og_group_slots groups[OG_MOST_TYPES];
    if (!og__shares_slots(f)) {
        og__memory_plan_slots(m, p, og__most_slots(f, memory));
        return;
    }
    most_of_groups(f, memory, groups);
    og__memory_plan_group_slots(m, p, groups);
}

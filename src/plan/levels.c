/* One pass over nodes or rows computes levels. Each batch is sorted by id once. It is then walked
 * once a size, each time over the misses of the previous size.
 *
 *   row ids      3  5  9 12 40 41      size 0 misses levels > 0:  3 5 9 40 41
 *   level        1  2  1  0  3  3      size 1 misses levels > 1:  5 40 41   and so on */
#include "plan/levels.h"

#include "plan/lanes.h"
#include "plan/stack_distance.h"

#include <string.h>

static const char part[] = "simulation";
enum { CHUNK = 1024 };

struct counting {
    struct og_lanes lanes;
    const uint8_t *of_node; /* level of each node, or NULL: */
    const uint8_t *of_row;  /* level of each row of the trace */
};

/* Rows by id into lane->plan.misses, their levels into lane->level. */
static int sort_batch(const struct counting *c, struct og_lane *lane, size_t batch)
{
    const struct og_trace *t = &c->lanes.sim->trace;
    const uint64_t start = t->ptr[batch];
    struct og_plan *plan = &lane->plan;
    plan->n = og__trace_rows(t, batch);
    plan->n_misses = 0;
    for (uint32_t i = 0; i < plan->n; i++)
        plan->place[i] = OG_NO_SLOT;
    OG_DO(og__plan_misses(&lane->planner, t->ids + start, 0, plan, &lane->err));
    for (uint32_t i = 0; i < plan->n; i++) {
        if (c->of_node)
            lane->level[i] = c->of_node[plan->misses[i]];
        else
            lane->level[plan->place[i]] = c->of_row[start + i];
    }
    og__sim_rows(c->lanes.sim, plan->misses, plan->n);
    return 0;
}

/* Keep the rows that this size misses; returns how many. */
static uint32_t keep_missed(uint32_t *rows, uint8_t *level, uint32_t n, uint32_t size)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        rows[kept] = rows[i];
        level[kept] = level[i];
        kept += level[i] > size;
    }
    return kept;
}

static void count_batch(void *arg, size_t batch, int thread)
{
    struct counting *c = arg;
    struct og_lane *lane = &c->lanes.lane[thread];
    const struct og_simulation *sim = c->lanes.sim;
    if (lane->rc < 0 || og__sim_stopped(sim))
        return;
    lane->rc = sort_batch(c, lane, batch);
    uint32_t left = lane->plan.n;
    for (uint32_t k = 0; lane->rc == 0 && k < sim->n_sizes; k++) {
        left = keep_missed(lane->plan.misses, lane->level, left, k);
        og__lane_count(sim, lane->plan.n, lane->plan.misses, left, &lane->sum[k]);
    }
}

static int count_levels(const struct og_simulation *sim, const uint8_t *of_node,
                        const uint8_t *of_row, struct og_simulated *out, struct og_err *err)
{
    struct counting c = {.of_node = of_node, .of_row = of_row};
    int rc;
    OG_TRY(og__lanes_open(&c.lanes, sim, og__pool_threads(sim->pool), err));
    og__pool_run(sim->pool, sim->trace.n_batches, count_batch, &c);
    OG_TRY(og__lanes_failed(&c.lanes, err));
    for (int i = 0; i < c.lanes.n; i++)
        for (uint32_t k = 0; k < sim->n_sizes; k++)
            og__plan_cost_add(&out[k].cost, &c.lanes.lane[i].sum[k]);
out:
    og__lanes_close(&c.lanes);
    return rc;
}

/* ---- static policies ---- */

static void set_level(const struct og_placement *p, uint8_t level, uint8_t *of_node)
{
    uint32_t nodes[CHUNK];
    uint64_t cursor = 0;
    for (uint32_t first = 0; first < p->n_slots; first += CHUNK) {
        uint32_t n = OG_MIN((uint32_t)CHUNK, p->n_slots - first);
        og__placement_nodes(p, &cursor, nodes, n);
        for (uint32_t i = 0; i < n; i++)
            of_node[nodes[i]] = level;
    }
}

/* Counts reads of the nodes of a placement, so many at once. */
static int count_fill(const struct og_simulation *sim, const struct og_placement *p,
                      struct og_io_counts *sum, struct og_err *err)
{
    if (sim->fill_rows == 0 || p->n_slots == 0)
        return 0;
    uint32_t *nodes = og__alloc(sim->budget, og__lot_bytes(sim), part, err);
    uint64_t cursor = 0;
    if (!nodes)
        return -ENOMEM;
    for (uint32_t first = 0, n; first < p->n_slots; first += n) {
        n = OG_MIN(sim->fill_rows, p->n_slots - first);
        og__placement_nodes(p, &cursor, nodes, n);
        og__sim_rows(sim, nodes, n);
        og__add_io(sum, og__read_rule_predict(&sim->rule, nodes, n));
    }
    og__release(sim->budget, nodes, og__lot_bytes(sim), part);
    return 0;
}

/* The level of a node is that of the smallest placement that has it. */
static int rank_nodes(const struct og_simulation *sim, const struct og_policy_setup *setup,
                      uint8_t *of_node, struct og_simulated *out, struct og_err *err)
{
    memset(of_node, (int)sim->n_sizes, sim->n_nodes);
    for (uint32_t k = sim->n_sizes; k-- > 0;) {
        struct og_placement p;
        uint64_t size = og__policy_caches(setup->kind) ? sim->size[k] : 0;
        int rc = og__placement_build(&p, setup->hotness, sim->n_nodes, size, sim->budget, err);
        if (rc < 0)
            return rc;
        set_level(&p, (uint8_t)k, of_node);
        out[k].prefill = p.n_slots;
        rc = count_fill(sim, &p, &out[k].fill, err);
        og__placement_release(&p);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int og__simulate_static(const struct og_simulation *sim, const struct og_policy_setup *setup,
                        struct og_simulated *out, struct og_err *err)
{
    uint8_t *of_node = og__alloc(sim->budget, sim->n_nodes, part, err);
    int rc;
    OG_TRY(of_node ? rank_nodes(sim, setup, of_node, out, err) : -ENOMEM);
    OG_TRY(count_levels(sim, of_node, NULL, out, err));
out:
    og__release(sim->budget, of_node, sim->n_nodes, part);
    return rc;
}

/* ---- lru ---- */

int og__simulate_stack(const struct og_simulation *sim, struct og_simulated *out,
                       struct og_err *err)
{
    const uint64_t rows = sim->trace.ptr[sim->trace.n_batches];
    uint8_t *of_row = og__alloc(sim->budget, rows, part, err);
    int rc;
    if (!of_row)
        return -ENOMEM;
    OG_TRY(og__stack_levels(sim, of_row, err));
    OG_TRY(count_levels(sim, NULL, of_row, out, err));
out:
    og__release(sim->budget, of_row, rows, part);
    return rc;
}

#include "plan/lanes.h"

#include "plan/count.h"
#include "plan/owners.h"

#include <stdlib.h>

static const char part[] = "simulation";

bool og__sim_stopped(const struct og_simulation *sim)
{
    return og__stop_requested(sim->stop);
}

void og__sim_rows(const struct og_simulation *sim, uint32_t *nodes, uint32_t n)
{
    for (uint32_t i = 0; i < n && sim->row; i++)
        nodes[i] = sim->row[nodes[i]];
    for (uint32_t i = 0; i < n && sim->owners > 1; i++)
        nodes[i] = og__owned_number(sim->owners, nodes[i]);
}

uint32_t og__longest_batch(const struct og_trace *t)
{
    uint32_t longest = 0;
    for (uint32_t b = 0; b < t->n_batches; b++)
        longest = OG_MAX(longest, og__trace_rows(t, b));
    return longest;
}

void og__lane_count(const struct og_simulation *sim, uint32_t n, const uint32_t *misses,
                    uint32_t n_misses, struct og_plan_cost *sum)
{
    const struct og_counting how = {.layout = sim->packed_row > 0 ? OG__PACKED : OG__RAW,
                                    .rule = &sim->rule,
                                    .row_bytes = sim->packed_row};
    og__count_batch(&how, n, misses, n_misses, sum);
}

size_t og__lane_bytes(uint64_t longest)
{
    return og__planner_bytes(longest) + og__plan_bytes(longest, longest) + longest;
}

void og__lanes_close(struct og_lanes *l)
{
    for (int i = 0; l->lane && i < l->n; i++) {
        struct og_lane *lane = &l->lane[i];
        og__planner_release(&lane->planner);
        og__plan_release(&lane->plan);
        og__release(l->sim->budget, lane->level, l->longest, part);
        free(lane->sum);
    }
    free(l->lane);
}

/* Everything is reserved for the longest batch, so that no batch can fail. */
static int open_lane(struct og_lanes *l, struct og_lane *lane, struct og_err *err)
{
    og__planner_init(&lane->planner, l->sim->budget);
    og__plan_init(&lane->plan, l->sim->budget);
    lane->sum = calloc(OG_MAX(l->sim->n_sizes, 1u), sizeof(*lane->sum));
    if (!lane->sum)
        return og__fail_errno(err, -ENOMEM, NULL, "simulation");
    lane->level = og__alloc(l->sim->budget, l->longest, part, err);
    int rc = lane->level ? og__planner_reserve(&lane->planner, l->longest, err) : -ENOMEM;
    return rc < 0 ? rc : og__plan_reserve(&lane->plan, l->longest, 0, err);
}

int og__lanes_open(struct og_lanes *l, const struct og_simulation *sim, int n, struct og_err *err)
{
    *l = (struct og_lanes){.sim = sim, .n = n, .longest = og__longest_batch(&sim->trace)};
    l->lane = calloc((size_t)n, sizeof(*l->lane));
    if (!l->lane)
        return og__fail_errno(err, -ENOMEM, NULL, "simulation");
    for (int i = 0; i < n; i++)
        OG_DO(open_lane(l, &l->lane[i], err));
    return 0;
}

/* The first lane's failure. */
int og__lanes_failed(const struct og_lanes *l, struct og_err *err)
{
    for (int i = 0; i < l->n; i++)
        if (l->lane[i].rc < 0)
            return og__fail(err, l->lane[i].rc, l->lane[i].err.hint, "%s", l->lane[i].err.message);
    return og__sim_stopped(l->sim) ? og__fail(err, OG_INTERRUPTED, NULL, "interrupted") : 0;
}

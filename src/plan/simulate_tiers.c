/* Counts a pair of policies over a trace: rows served by each tier, and rows moved between them. */
#include "plan/lanes.h"
#include "plan/simulate.h"

#include <string.h>

static const char part[] = "simulation";
enum { PLACEMENT_BYTES = 1 << 19 /* what building one takes meanwhile */ };

struct counting {
    const struct og_simulation *sim;
    struct og_tiers *tiers;
    struct og_planner planner;
    struct og_tiers_plan plan;
    uint64_t *ptr;  /* [batches + 1] */
    uint32_t *list; /* lot_bytes */
    struct og_simulated_tiers *out;
    og_missed *missed; /* may be NULL */
    void *arg;
};

/* Counts reads of n rows that enter one of the caches. */
static struct og_io_counts read_fill(const struct counting *c, uint32_t n)
{
    og__sim_rows(c->sim, c->list, n);
    return og__read_rule_predict(&c->sim->rule, c->list, n);
}

static void take_prefill(struct counting *c)
{
    const uint32_t most = og__lot_rows(c->sim);
    const uint32_t host = og__tiers_places(c->tiers, 0).host;
    uint32_t *places = c->list + most;
    for (uint32_t n; (n = og__tiers_prefill(c->tiers, c->list, places, most)) > 0;) {
        c->out->prefill += n;
        if (c->sim->fill_rows)
            og__add_io(&c->out->fill, read_fill(c, n));
        for (uint32_t i = 0; i < n; i++)
            c->out->device_prefill += places[i] < host;
    }
}

static int count_batch(struct counting *c, uint32_t batch, const uint32_t *ids, uint32_t n,
                       struct og_err *err)
{
    struct og_simulated_tiers *out = c->out;
    struct og_tiers_plan *p = &c->plan;
    const bool first = out->cost.rows == 0;
    take_prefill(c);
    if (first)
        out->first_fill = out->fill;
    OG_DO(og__tiers_plan(c->tiers, &c->planner, ids, n, p, err));
    for (uint32_t i = 0; i < p->plan.n_misses && c->sim->row; i++)
        p->plan.misses[i] = c->sim->row[p->plan.misses[i]];
    og__lane_count(c->sim, n, p->plan.misses, p->plan.n_misses, &out->cost);
    og__tiers_cost_add(&out->tiers, og__tiers_setup(c->tiers), p,
                       c->sim->epoch ? batch % c->sim->epoch : batch);
    return c->missed ? c->missed(c->arg, batch, p->plan.misses, p->plan.n_misses, err) : 0;
}

/* Batches [first, first + n), and those of the tail after them. */
static int count_superbatch(struct counting *c, const struct og_tiers_setup *setup, uint32_t first,
                            uint32_t n, struct og_err *err)
{
    const struct og_trace *t = &c->sim->trace;
    const uint32_t room = OG__MOST_FORESEEN - OG_MIN(n, (uint32_t)OG__MOST_FORESEEN);
    const uint32_t tail = OG_MIN(og__tiers_tail(setup), room);
    const uint32_t seen = n + OG_MIN(tail, t->n_batches - first - n);
    for (uint32_t b = 0; b <= seen; b++)
        c->ptr[b] = t->ptr[first + b] - t->ptr[first];
    const struct og_trace slice = {seen, c->ptr, t->ids + t->ptr[first]};
    int rc;
    if (c->sim->n_released > 0)
        og__tiers_invalidate(c->tiers,
                             setup->host.n_slots - OG_MIN(c->sim->n_released, setup->host.n_slots));
    OG_TRY(og__tiers_prepare(c->tiers, &slice, n, err));
    for (uint32_t b = 0; b < n && !og__sim_stopped(c->sim); b++)
        OG_TRY(count_batch(c, first + b, slice.ids + slice.ptr[b], og__trace_rows(&slice, b), err));
out:
    return rc;
}

int og__simulate_tiers(const struct og_simulation *sim, const struct og_tiers_setup *setup,
                       og_missed *missed, void *arg, struct og_simulated_tiers *out,
                       struct og_err *err)
{
    const uint32_t end = sim->trace.n_batches;
    const size_t bytes = ((size_t)end + 1) * sizeof(uint64_t);
    struct counting c = {.sim = sim, .out = out, .missed = missed, .arg = arg};
    int rc;
    memset(out, 0, sizeof(*out));
    og__planner_init(&c.planner, sim->budget);
    og__tiers_plan_init(&c.plan, sim->budget);
    c.ptr = og__alloc(sim->budget, bytes, part, err);
    c.list = og__alloc(sim->budget, og__lot_bytes(sim), part, err);
    OG_TRY(c.ptr && c.list ? 0 : -ENOMEM);
    OG_TRY(og__tiers_open(&c.tiers, setup, sim->budget, err));
    for (uint32_t b = 0; b < end && !og__sim_stopped(sim); b += OG_MIN(sim->superbatch, end - b))
        OG_TRY(count_superbatch(&c, setup, b, OG_MIN(sim->superbatch, end - b), err));
    if (og__sim_stopped(sim))
        rc = og__fail(err, OG_INTERRUPTED, NULL, "interrupted");
out:
    og__tiers_close(c.tiers);
    og__release(sim->budget, c.list, og__lot_bytes(sim), part);
    og__release(sim->budget, c.ptr, bytes, part);
    og__tiers_plan_release(&c.plan);
    og__planner_release(&c.planner);
    return rc;
}

size_t og__simulate_tiers_bytes(const struct og_simulation *sim, const struct og_tiers_setup *setup,
                                uint64_t rows, uint64_t longest)
{
    const uint64_t batches = (uint64_t)sim->superbatch + og__tiers_tail(setup);
    rows = OG_MIN(rows, batches * longest);
    return og__tiers_bytes(setup, rows, longest, batches, OG_MIN(rows, sim->n_nodes)) +
           og__planner_bytes(longest) + og__plan_bytes(longest, 4 * longest) + PLACEMENT_BYTES +
           og__lot_bytes(sim);
}

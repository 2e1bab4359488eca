/* Counts policies over a trace. Static ones and lru are counted by levels (levels.c). Others run
 * once for each size, several sizes in parallel. */
#include "plan/simulate.h"

#include "plan/count.h"
#include "plan/lanes.h"
#include "plan/levels.h"
#include "plan/policy_ops.h"
#include "plan/stack_distance.h"
#include "plan/write_count.h"

#include <string.h>

static const char part[] = "simulation";
enum { RADIX_BYTES = 1 << 19 /* what building a placement takes meanwhile */ };

struct running {
    struct og_lanes lanes;
    const struct og_policy_setup *setup;
    struct og_simulated *out;
};

/* Batches [first, last) as a trace of their own; ptr[last - first + 1]. */
static struct og_trace slice(const struct og_trace *t, uint32_t first, uint32_t last, uint64_t *ptr)
{
    for (uint32_t b = first; b <= last; b++)
        ptr[b - first] = t->ptr[b] - t->ptr[first];
    return (struct og_trace){last - first, ptr, t->ids + t->ptr[first]};
}

static int count_written(struct og_write_count *w, const struct og_plan *plan, const uint16_t *next,
                         struct og_plan_cost *cost, struct og_err *err)
{
    const struct og_writes_batch b = {.place = plan->place,
                                      .n = plan->n,
                                      .misses = plan->misses,
                                      .n_misses = plan->n_misses,
                                      .change_row = plan->change_row,
                                      .change_slot = plan->change_slot,
                                      .n_changes = plan->n_changes,
                                      .changed = true};
    struct og_io_counts again;
    const int rc = og__write_count_batch(w, &b, next, &again, err);
    cost->reads += again.reads;
    cost->bytes += again.bytes;
    return rc;
}

/* The policy's tables move on only as its prefill is taken. list: lot_bytes. *any: was there some?
 */
static int take_prefill(const struct og_simulation *sim, struct og_policy *p, uint32_t *list,
                        struct og_write_count *written, bool *any, struct og_simulated *sum,
                        struct og_err *err)
{
    const uint32_t most = og__lot_rows(sim);
    int rc = 0;
    *any = false;
    for (uint32_t n; (n = og__policy_prefill(p, list, list + most, most)) > 0;) {
        OG_TRY(og__write_count_fill(written, list, list + most, 0, n, err));
        *any = true;
        sum->prefill += n;
        og__sim_rows(sim, list, n);
        if (sim->fill_rows)
            og__add_io(&sum->fill, og__read_rule_predict(&sim->rule, list, n));
    }
out:
    return rc;
}

/* Receives the misses of each batch. */
struct told {
    og_missed *missed; /* may be NULL */
    void *arg;
    struct og_io_counts first_fill;
};

/* A superbatch on its way through a lane. */
struct superbatch {
    const struct og_simulation *sim;
    struct og_policy *policy;
    struct og_write_count *written;
    const struct og_next_use_list *uses;
    uint32_t first; /* batch of the trace */
    uint32_t *list; /* lot_bytes */
    struct told *told;
    struct og_simulated *out;
    struct og_io_counts before; /* reading what was put into the cache in those before */
    bool in_first;              /* window */
};

static int fill(void *arg, uint32_t b, struct og_err *err)
{
    struct superbatch *s = arg;
    struct og_simulated *out = s->out;
    const bool opens = b == 0;
    bool fills;
    OG_DO(take_prefill(s->sim, s->policy, s->list, s->written, &fills, out, err));
    if (opens && s->written->batches > 0) {
        struct og_io_counts read = {0};
        og__write_count_begin(s->written, &read);
        if (s->sim->fill_rows)
            og__add_io(&out->fill, read);
    }
    if (opens) {
        out->open.reads += out->fill.reads - s->before.reads;
        out->open.bytes += out->fill.bytes - s->before.bytes;
    }
    s->in_first &= opens || !fills;
    out->windows += opens || fills;
    out->open_batches += s->in_first;
    return 0;
}

static int count_planned(void *arg, uint32_t b, struct og_plan *plan, struct og_err *err)
{
    struct superbatch *s = arg;
    const bool foreseen = s->written->batches > 0;
    const uint16_t *next = foreseen ? s->uses->next + s->uses->ptr[b] : NULL;
    OG_DO(count_written(s->written, plan, next, &s->out->cost, err));
    og__sim_rows(s->sim, plan->misses, plan->n_misses);
    if (foreseen) /* what it reads was counted */
        og__plan_cost_add(&s->out->cost, &(struct og_plan_cost){.rows = plan->n,
                                                                .hits = plan->n - plan->n_misses,
                                                                .misses = plan->n_misses});
    else
        og__lane_count(s->sim, plan->n, plan->misses, plan->n_misses, &s->out->cost);
    return s->told->missed
               ? s->told->missed(s->told->arg, s->first + b, plan->misses, plan->n_misses, err)
               : 0;
}

/* The first n batches of t, followed by those of a tail; from number `first` on. */
static int run_superbatch(const struct og_simulation *sim, struct og_policy *p,
                          struct og_lane *lane, const struct og_trace *t, uint32_t n,
                          uint32_t first, struct told *told, struct og_write_count *written,
                          struct og_simulated *out)
{
    uint32_t ignored;
    struct og_next_use_list uses = {0};
    const struct og_trace own = {n, t->ptr, t->ids};
    struct superbatch s = {.sim = sim,
                           .policy = p,
                           .written = written,
                           .uses = &uses,
                           .first = first,
                           .told = told,
                           .out = out,
                           .before = out->fill,
                           .in_first = true};
    const struct og_walk walk = {.policy = p,
                                 .planner = &lane->planner,
                                 .plan = &lane->plan,
                                 .before = fill,
                                 .planned = count_planned,
                                 .arg = &s,
                                 .stop = sim->stop};
    s.list = og__alloc(sim->budget, og__lot_bytes(sim), part, &lane->err);
    int rc;
    OG_TRY(s.list ? og__policy_prepare(p, t, &ignored, &lane->err) : -ENOMEM);
    if (written->batches > 0)
        OG_TRY(og__write_count_foresee(written, &uses, &own, sim->budget, &lane->err));
    OG_TRY(og__walk_batches(&walk, t, n, &lane->err));
out:
    if (first == 0)
        told->first_fill = out->fill;
    og__next_use_list_release(&uses);
    og__release(sim->budget, s.list, og__lot_bytes(sim), part);
    return rc;
}

/* The most tail batches after a superbatch of so many. */
static uint32_t tail_of(const struct og_simulation *sim, uint32_t superbatch,
                        const struct og_policy_setup *setup)
{
    const uint32_t room = OG__MOST_FORESEEN - OG_MIN(superbatch, (uint32_t)OG__MOST_FORESEEN);
    const uint32_t wanted = og__policy_tail(setup);
    return OG_MIN(wanted - OG_MIN(sim->unseen, wanted), room);
}

/* The end of the superbatch that begins with batch b. */
static uint32_t end_of(const struct og_simulation *sim, uint32_t b)
{
    const uint32_t n = sim->trace.n_batches;
    for (uint32_t i = 0; i < sim->n_ends; i++)
        if (sim->end[i] > b)
            return OG_MIN(sim->end[i], n);
    return sim->n_ends > 0 ? n : b + OG_MIN(sim->superbatch, n - b);
}

/* As a run has chunks for. */
static uint32_t foreseen_batches(const struct og_simulation *sim)
{
    return sim->foreseen ? sim->superbatch : 0;
}

static int run_policy(const struct og_simulation *sim, struct og_policy_setup setup,
                      struct og_lane *lane, struct told *told, struct og_simulated *out)
{
    struct og_policy *policy = NULL;
    struct og_write_count written;
    const size_t bytes = ((size_t)sim->trace.n_batches + 1) * sizeof(uint64_t);
    uint64_t *ptr = og__alloc(sim->budget, bytes, part, &lane->err);
    int rc = og__write_count_open(&written, sim->written_row, sim->n_nodes, setup.n_slots,
                                  foreseen_batches(sim), sim->budget, &lane->err);
    OG_TRY(rc);
    OG_TRY(ptr ? og__policy_open(&policy, &setup, sim->budget, &lane->err) : -ENOMEM);
    const uint32_t end = sim->trace.n_batches;
    uint32_t last = 0;
    for (uint32_t b = 0; b < end && !og__sim_stopped(sim); b = last) {
        last = end_of(sim, b);
        const uint32_t seen = last + OG_MIN(tail_of(sim, last - b, &setup), end - last);
        const struct og_trace t = slice(&sim->trace, b, seen, ptr);
        if (sim->n_released > 0)
            og__policy_invalidate(policy, setup.n_slots - OG_MIN(sim->n_released, setup.n_slots));
        OG_TRY(run_superbatch(sim, policy, lane, &t, last - b, b, told, &written, out));
    }
    out->rows_written = written.tables.written;
    out->writes = written.writes;
out:
    og__policy_close(policy);
    og__write_count_close(&written);
    og__release(sim->budget, ptr, bytes, part);
    return rc;
}

/* A task is a lane, so that no more policies are in memory than there are lanes. */
static void run_lane(void *arg, size_t task, int thread)
{
    struct running *r = arg;
    struct og_lane *lane = &r->lanes.lane[task];
    const struct og_simulation *sim = r->lanes.sim;
    (void)thread;
    for (uint32_t k = (uint32_t)task; lane->rc == 0 && k < sim->n_sizes;
         k += (uint32_t)r->lanes.n) {
        struct og_policy_setup setup = *r->setup;
        struct told nobody = {0};
        setup.n_slots = sim->size[k];
        lane->rc = run_policy(sim, setup, lane, &nobody, &r->out[k]);
    }
}

/* For the largest size, over superbatches of the longest there can be. */
static size_t policy_bytes(const struct og_simulation *sim, const struct og_policy_setup *setup,
                           uint64_t rows, uint64_t longest)
{
    struct og_policy_setup largest = *setup;
    largest.n_slots = sim->n_sizes ? sim->size[sim->n_sizes - 1] : 0;
    const uint64_t batches = (uint64_t)sim->superbatch + tail_of(sim, sim->superbatch, setup);
    rows = OG_MIN(rows, batches * longest);
    const bool foreseen = sim->foreseen;
    const size_t uses = foreseen ? og__next_use_list_bytes(batches, rows) : 0;
    const size_t written =
        sim->written_row > 0
            ? og__write_count_bytes(sim->n_nodes, largest.n_slots, foreseen ? sim->superbatch : 0)
            : 0;
    return og__policy_bytes(&largest, rows, batches, OG_MIN(rows, sim->n_nodes)) + RADIX_BYTES +
           og__lot_bytes(sim) + written + uses;
}

static int simulate_others(const struct og_simulation *sim, const struct og_policy_setup *setup,
                           struct og_simulated *out, struct og_err *err)
{
    const struct og_trace *t = &sim->trace;
    uint64_t longest = og__longest_batch(t);
    size_t each = policy_bytes(sim, setup, t->ptr[t->n_batches], longest) + og__lane_bytes(longest);
    size_t fit = og__budget_left(sim->budget) / each;
    size_t n = OG_MIN((size_t)og__pool_threads(sim->pool), OG_MIN((size_t)sim->n_sizes, fit));
    struct running r = {.setup = setup, .out = out};
    int rc;
    OG_TRY(og__lanes_open(&r.lanes, sim, (int)OG_MAX(n, (size_t)1), err));
    og__pool_run(sim->pool, (size_t)r.lanes.n, run_lane, &r);
    OG_TRY(og__lanes_failed(&r.lanes, err));
out:
    og__lanes_close(&r.lanes);
    return rc;
}

int og__simulate_each(const struct og_simulation *sim, const struct og_policy_setup *setup,
                      og_missed *missed, void *arg, struct og_simulated *out,
                      struct og_io_counts *first_fill, struct og_err *err)
{
    struct og_lanes lanes;
    struct told told = {.missed = missed, .arg = arg};
    memset(out, 0, sizeof(*out));
    int rc;
    OG_TRY(og__lanes_open(&lanes, sim, 1, err));
    lanes.lane->rc = run_policy(sim, *setup, lanes.lane, &told, out);
    OG_TRY(og__lanes_failed(&lanes, err));
out:
    og__lanes_close(&lanes);
    if (first_fill)
        *first_fill = told.first_fill;
    return rc;
}

/* ---- all of them ---- */

int og__simulate(const struct og_simulation *sim, const struct og_policy_setup *setup,
                 struct og_simulated *out, struct og_err *err)
{
    memset(out, 0, sim->n_sizes * sizeof(*out));
    if (og__policy_is_static(setup->kind) && sim->written_row == 0)
        return og__simulate_static(sim, setup, out, err);
    if (og__policy_is_stack(setup->kind) && sim->written_row == 0)
        return og__simulate_stack(sim, out, err);
    return simulate_others(sim, setup, out, err);
}

size_t og__simulate_bytes(const struct og_simulation *sim, const struct og_policy_setup *setup,
                          uint64_t rows, uint64_t longest)
{
    size_t lanes = (size_t)og__pool_threads(sim->pool) * og__lane_bytes(longest);
    if (sim->written_row > 0)
        return og__lane_bytes(longest) + policy_bytes(sim, setup, rows, longest);
    if (og__policy_is_static(setup->kind))
        return sim->n_nodes + og__placement_bytes(sim->n_nodes) + RADIX_BYTES + og__lot_bytes(sim) +
               lanes;
    if (og__policy_is_stack(setup->kind))
        return rows + lanes + RADIX_BYTES + og__stack_bytes(sim->n_nodes, rows, longest);
    return og__lane_bytes(longest) + policy_bytes(sim, setup, rows, longest);
}

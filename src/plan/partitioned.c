#include "plan/partitioned.h"

#include "plan/lanes.h"
#include "plan/owners.h"

#include <string.h>

static const char part[] = "simulation";

uint32_t og__superbatch_of(int requested, uint32_t epoch)
{
    const uint32_t parts = (epoch + OG__MOST_FORESEEN - 1) / OG__MOST_FORESEEN;
    return requested > 0 ? (uint32_t)requested : (epoch + parts - 1) / OG_MAX(parts, 1u);
}

/* ---- ownership ---- */

static uint32_t worker_of(const struct og_partitioned *d, uint32_t batch)
{
    return d->worker ? d->worker[batch] : batch % d->epoch % d->workers;
}

/* The worker's batches of an epoch, or the rounds with requests for its nodes. */
static uint32_t own_epoch(const struct og_partitioned *d, uint32_t worker)
{
    return (d->epoch + d->workers - 1 - (d->exchange ? 0 : worker)) / d->workers;
}

uint64_t og__partitioned_rows(const struct og_trace *t, const struct og_partitioned *d,
                              uint64_t *requested)
{
    uint64_t kept = 0;
    memset(requested, 0, d->workers * sizeof(*requested));
    for (uint32_t b = 0; b < t->n_batches; b++)
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++) {
            const uint32_t owner = og__owner_of(d->workers, t->ids[i]);
            requested[owner]++;
            kept += owner == worker_of(d, b);
        }
    return kept;
}

/* ---- a worker: its batches, and as an owner its nodes ---- */

struct party {
    const struct og_partitioned *partitioned;
    uint32_t worker;
    struct og_simulation sim;
    uint32_t size[OG__MOST_SIZES];
    struct og_allocs arrays;
    uint64_t *ptr; /* [most batches + 1] */
    uint32_t *ids; /* [room] */
    uint64_t room;
    uint32_t n;              /* batches */
    uint32_t *row, *hotness; /* [sim.n_nodes] of an owner's nodes; hotness may be NULL */
};

/* A single worker uses all batches in place. */
static bool copies(const struct og_partitioned *d)
{
    return d->exchange || d->workers > 1;
}

static size_t ptr_bytes(uint32_t batches)
{
    return ((size_t)batches + 1) * sizeof(uint64_t);
}

static size_t batches_bytes(const struct og_partitioned *d, uint32_t batches, uint64_t rows)
{
    return copies(d) ? ptr_bytes(batches) + rows * sizeof(uint32_t) : 0;
}

static bool is_own_batch(const struct party *p, uint32_t batch)
{
    return worker_of(p->partitioned, batch) == p->worker;
}

/* Counts duplicates within a round. */
static uint64_t count_rows(const struct party *p, const struct og_trace *t)
{
    const struct og_partitioned *d = p->partitioned;
    uint64_t rows = 0;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        if (!d->exchange)
            rows += is_own_batch(p, b) ? og__trace_rows(t, b) : 0;
        for (uint64_t i = t->ptr[b]; d->exchange && i < t->ptr[b + 1]; i++)
            rows += og__owner_of(d->workers, t->ids[i]) == p->worker;
    }
    return rows;
}

static void end_batch(struct party *p, uint64_t rows)
{
    p->ptr[p->n + 1] = p->ptr[p->n] + rows;
    p->n++;
}

static void take_batches(struct party *p, const struct og_trace *t)
{
    for (uint32_t b = 0; b < t->n_batches; b++) {
        const uint32_t rows = og__trace_rows(t, b);
        if (!is_own_batch(p, b))
            continue;
        memcpy(p->ids + p->ptr[p->n], t->ids + t->ptr[b], rows * sizeof(*p->ids));
        end_batch(p, rows);
    }
}

static int take_rounds(struct party *p, const struct og_simulation *all, struct og_err *err)
{
    const struct og_trace *t = &all->trace;
    struct og_owner o;
    int rc;
    OG_TRY(og__owner_open(&o, p->partitioned->workers, p->worker, all->n_nodes, all->budget, err));
    for (uint32_t b = 0; b < t->n_batches; b++) {
        if (worker_of(p->partitioned, b) == 0)
            og__owner_begin(&o, p->ids + p->ptr[p->n]);
        (void)og__owner_ask(&o, t->ids + t->ptr[b], og__trace_rows(t, b), NULL);
        if (b + 1 == t->n_batches || worker_of(p->partitioned, b + 1) == 0)
            end_batch(p, o.n);
    }
out:
    og__owner_close(&o);
    return rc;
}

/* Maps its nodes to rows in the file, and their hotness. */
static int take_nodes(struct party *p, const uint32_t *hotness, struct og_err *err)
{
    const size_t table = p->sim.n_nodes * sizeof(uint32_t);
    p->row = og__allocs_take(&p->arrays, table, err);
    if (hotness)
        p->hotness = og__allocs_take(&p->arrays, table, err);
    if (og__allocs_taken(&p->arrays) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->sim.n_nodes; i++) {
        p->row[i] = og__owned_node(p->partitioned->workers, p->worker, i);
        if (hotness)
            p->hotness[i] = hotness[p->row[i]];
    }
    p->sim.row = p->partitioned->dense ? NULL : p->row;
    return 0;
}

static int open_party(struct party *p, const struct og_simulation *all, const uint32_t *hotness,
                      struct og_err *err)
{
    const struct og_partitioned *d = p->partitioned;
    p->sim = *all;
    if (d->exchange)
        p->sim.n_nodes = og__owned_nodes(d->workers, p->worker, all->n_nodes);
    for (uint32_t k = 0; k < all->n_sizes; k++)
        p->size[k] = (uint32_t)OG_MIN((uint64_t)all->size[k], p->sim.n_nodes);
    p->sim.size = p->size;
    if (all->n_ends == 0)
        p->sim.superbatch = og__superbatch_of(d->superbatch, own_epoch(d, p->worker));
    if (!copies(d))
        return 0;
    p->room = count_rows(p, &all->trace);
    p->arrays = og__allocs(all->budget, part);
    p->ptr = og__allocs_take(&p->arrays, ptr_bytes(all->trace.n_batches), err);
    p->ids = og__allocs_take(&p->arrays, p->room * sizeof(*p->ids), err);
    OG_DO(og__allocs_taken(&p->arrays));
    if (d->exchange) {
        OG_DO(take_rounds(p, all, err));
        OG_DO(take_nodes(p, hotness, err));
    } else {
        take_batches(p, &all->trace);
    }
    p->sim.trace = (struct og_trace){p->n, p->ptr, p->ids};
    return 0;
}

/* ---- all of them ---- */

static void add_counts(struct og_simulated *sum, const struct og_simulated *more)
{
    og__plan_cost_add(&sum->cost, &more->cost);
    sum->prefill += more->prefill;
    sum->rows_written += more->rows_written;
    sum->writes.reads += more->writes.reads;
    sum->writes.bytes += more->writes.bytes;
    og__add_io(&sum->fill, more->fill);
    og__add_io(&sum->open, more->open);
    sum->open_batches += more->open_batches;
    sum->windows += more->windows;
}

static int simulate_party(const struct og_simulation *all, const struct og_policy_setup *setup,
                          const struct og_partitioned *partitioned, uint32_t worker,
                          struct og_simulated *sum, struct og_err *err)
{
    struct og_simulated counted[OG__MOST_SIZES];
    struct og_policy_setup own = *setup;
    struct party p = {.partitioned = partitioned, .worker = worker};
    int rc;
    OG_TRY(open_party(&p, all, setup->hotness, err));
    own.n_nodes = p.sim.n_nodes;
    own.hotness = p.hotness ? p.hotness : setup->hotness;
    OG_TRY(og__simulate(&p.sim, &own, counted, err));
    for (uint32_t k = 0; k < all->n_sizes; k++)
        add_counts(&sum[k], &counted[k]);
out:
    og__allocs_release(&p.arrays);
    return rc;
}

int og__simulate_partitioned(const struct og_simulation *sim, const struct og_policy_setup *setup,
                             const struct og_partitioned *partitioned, struct og_simulated *out,
                             struct og_err *err)
{
    const uint64_t rows = sim->trace.ptr[sim->trace.n_batches];
    memset(out, 0, sim->n_sizes * sizeof(*out));
    for (uint32_t w = 0; w < partitioned->workers; w++)
        OG_DO(simulate_party(sim, setup, partitioned, w, out, err));
    for (uint32_t k = 0; k < sim->n_sizes; k++) { /* a second request in a round is a hit */
        out[k].cost.rows = rows;
        out[k].cost.hits = rows - out[k].cost.misses;
    }
    return 0;
}

/* ---- with a device each ---- */

static void add_tiers(struct og_simulated_tiers *sum, const struct og_simulated_tiers *more)
{
    og__plan_cost_add(&sum->cost, &more->cost);
    og__tiers_cost_sum(&sum->tiers, &more->tiers);
    sum->prefill += more->prefill;
    sum->device_prefill += more->device_prefill;
    og__add_io(&sum->fill, more->fill);
    og__add_io(&sum->first_fill, more->first_fill);
}

static int simulate_tiers_of(const struct og_simulation *all, const struct og_tiers_setup *setup,
                             const struct og_partitioned *partitioned, uint32_t worker,
                             struct og_simulated_tiers *sum, struct og_err *err)
{
    struct og_simulated_tiers counted;
    struct party p = {.partitioned = partitioned, .worker = worker};
    int rc;
    OG_TRY(open_party(&p, all, NULL, err));
    OG_TRY(og__simulate_tiers(&p.sim, setup, NULL, NULL, &counted, err));
    add_tiers(sum, &counted);
out:
    og__allocs_release(&p.arrays);
    return rc;
}

int og__simulate_tiers_partitioned(const struct og_simulation *sim,
                                   const struct og_tiers_setup *setup,
                                   const struct og_partitioned *partitioned,
                                   struct og_simulated_tiers *out, struct og_err *err)
{
    int rc = 0;
    memset(out, 0, sizeof(*out));
    for (uint32_t w = 0; w < partitioned->workers; w++)
        OG_TRY(simulate_tiers_of(sim, setup, partitioned, w, out, err));
out:
    return rc;
}

size_t og__simulate_tiers_partitioned_bytes(const struct og_simulation *sim,
                                            const struct og_tiers_setup *setup,
                                            const struct og_partitioned *partitioned,
                                            uint32_t batches, uint64_t rows, uint64_t longest)
{
    struct og_simulation own = *sim;
    own.superbatch = og__superbatch_of(partitioned->superbatch, own_epoch(partitioned, 0));
    return batches_bytes(partitioned, batches, rows) +
           og__simulate_tiers_bytes(&own, setup, rows, longest);
}

/* ---- one owner ---- */

/* Counts at the end of a round. */
struct noted {
    const struct og_simulated *counted;
    struct og_simulated *out;
    uint32_t rounds;
};

static int note_round(void *arg, uint32_t batch, const uint32_t *rows, uint32_t n,
                      struct og_err *err)
{
    const struct noted *note = arg;
    (void)rows;
    (void)n;
    (void)err;
    if (batch + 1 == note->rounds)
        *note->out = *note->counted;
    return 0;
}

int og__simulate_owner(const struct og_simulation *sim, const struct og_policy_setup *setup,
                       const struct og_partitioned *partitioned, uint32_t owner, uint32_t rounds,
                       struct og_simulated *out, struct og_err *err)
{
    struct og_simulated counted;
    struct og_policy_setup own = *setup;
    struct party p = {.partitioned = partitioned, .worker = owner};
    struct noted note = {&counted, out, rounds};
    int rc;
    *out = (struct og_simulated){0};
    OG_TRY(open_party(&p, sim, setup->hotness, err));
    own.n_nodes = p.sim.n_nodes;
    own.n_slots = (uint32_t)OG_MIN((uint64_t)own.n_slots, p.sim.n_nodes);
    own.hotness = p.hotness ? p.hotness : setup->hotness;
    OG_TRY(og__simulate_each(&p.sim, &own, note_round, &note, &counted, NULL, err));
out:
    og__allocs_release(&p.arrays);
    return rc;
}

size_t og__simulate_partitioned_bytes(const struct og_simulation *sim,
                                      const struct og_policy_setup *setup,
                                      const struct og_partitioned *partitioned, uint32_t batches,
                                      uint64_t rows, uint64_t longest)
{
    struct og_simulation own = *sim;
    struct og_policy_setup policy = *setup;
    size_t tables = 0;
    own.superbatch = og__superbatch_of(partitioned->superbatch, own_epoch(partitioned, 0));
    if (partitioned->exchange) {
        own.n_nodes = og__owned_nodes(partitioned->workers, 0, sim->n_nodes);
        longest = OG_MIN(longest * partitioned->workers, own.n_nodes);
        tables = 3 * og__owner_bytes(partitioned->workers, sim->n_nodes);
    }
    policy.n_nodes = own.n_nodes;
    return batches_bytes(partitioned, batches, rows) + tables +
           og__simulate_bytes(&own, &policy, rows, longest);
}

/* Counts candidates: runs every policy and layout over the trace, without reading data.
 *
 * Candidates with the same misses share one pass over the trace. Static ones and lru with the raw
 * layout share it for all cache sizes, since those nest (plan/simulate.h). Others share it if they
 * differ in layout alone:
 *
 *   trace ──> policy ──> misses, batch by batch ──> a superbatch's packing ──> packed
 *                            └──> raw                                     └──> segmented */
#include "plan/candidate_parts.h"

#include "plan/policy_ops.h"
#include "plan/segments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "simulation";

void og__candidate_refuse(struct og_estimate *e, const char *fmt, ...)
{
    va_list args;
    if (!e->possible)
        return;
    e->possible = false;
    va_start(args, fmt);
    vsnprintf(e->why, sizeof(e->why), fmt, args);
    va_end(args);
}

/* ---- what cannot be ---- */

/* Does a pack stay right when its batches come in another order? */
static bool cache_stays(const struct og_candidate *c)
{
    return og__policy_is_steady(c->policy.kind);
}

/* Why it makes no sense, or NULL. */
static const char *unsound(const struct og_cost_inputs *given, const struct og_candidate *c)
{
    bool reuses = og__candidate_writes(c) && c->resample_every > 1;
    if (c->resample_every == 0)
        return "each sample is trained at least once";
    if (c->superbatch == 0 && og__policy_looks_ahead(c->policy.kind))
        return "this policy needs batches sampled ahead";
    if (c->superbatch == 0 && c->layout != OG__RAW)
        return "this layout needs batches sampled ahead";
    if (OG_MIN(c->superbatch, given->trace.n_batches) > OG__MOST_FORESEEN)
        return "so many batches cannot be prepared at once";
    if (reuses && !cache_stays(c))
        return "a pack that is used again, in another order, needs a cache that stays as it is";
    if (reuses && c->superbatch < given->trace.n_batches)
        return "a pack that is used again has to hold all batches";
    return NULL;
}

/* ---- the trace, condensed ----
 *
 * Renumbers the trace's nodes 0, 1, 2, ... in file order. Policies that look ahead know only the
 * occurrences of a node, so their results are unchanged. Their tables then have the size of the
 * trace, not of the graph. */
struct condensed {
    struct og_trace trace;
    uint32_t *ids;   /* [rows] its ids */
    uint32_t *row;   /* [n] of the file */
    uint64_t *often; /* [batches + 1] the number of nodes in so many batches */
    uint64_t rows, n;
    struct og_allocs arrays;
};

static size_t often_bytes(const struct og_trace *t)
{
    return ((size_t)t->n_batches + 1) * sizeof(uint64_t);
}

/* Counts the nodes in 1, 2, ... batches. */
static int count_visits(struct condensed *c, struct og_budget *b, struct og_err *err)
{
    uint32_t *visits = og__alloc(b, c->n * sizeof(*visits), part, err);
    for (uint64_t i = 0; visits && i < c->rows; i++)
        visits[c->ids[i]]++;
    for (uint64_t v = 0; visits && v < c->n; v++)
        c->often[visits[v]]++;
    og__release(b, visits, c->n * sizeof(*visits), part);
    return visits ? 0 : -ENOMEM;
}

static int condense(struct condensed *c, const struct og_cost_inputs *given, struct og_err *err)
{
    const struct og_trace *t = &given->trace;
    struct og_placement nodes;
    uint64_t cursor = 0;
    *c =
        (struct condensed){.rows = t->ptr[t->n_batches], .arrays = og__allocs(given->budget, part)};
    int rc = og__placement_build(&nodes, NULL, given->n_nodes, 0, given->budget, err);
    if (rc < 0)
        return rc;
    og__placement_mark(&nodes, t);
    og__placement_count(&nodes);
    c->n = nodes.n_slots;
    c->ids = og__allocs_take(&c->arrays, c->rows * sizeof(*c->ids), err);
    c->row = og__allocs_take(&c->arrays, c->n * sizeof(*c->row), err);
    c->often = og__allocs_take(&c->arrays, often_bytes(t), err);
    rc = og__allocs_taken(&c->arrays);
    for (uint64_t i = 0; rc == 0 && i < c->rows; i++)
        c->ids[i] = og__placement_rank(&nodes, t->ids[i]);
    if (rc == 0)
        og__placement_nodes(&nodes, &cursor, c->row, (uint32_t)c->n);
    og__placement_release(&nodes);
    c->trace = (struct og_trace){t->n_batches, t->ptr, c->ids};
    return rc < 0 ? rc : count_visits(c, given->budget, err);
}

/* Expected misses of a cache of the most visited nodes if each batch's own visits did not count. A
 * node in k + 1 batches has k visits by others in each of them. Nodes with equally many visits have
 * equal chances of the remaining slots. */
static uint64_t held_out_misses(const struct condensed *c, uint32_t slots)
{
    const double n = c->trace.n_batches;
    double left = slots;
    double hits = 0;
    for (uint32_t k = c->trace.n_batches; k-- > 1;) {
        const double visits = (double)c->often[k + 1] * (k + 1);
        const double there = (double)c->often[k] * (1 - k / n) + visits / n;
        const double held = OG_MIN(there, left);
        hits += there > 0 ? visits * held / there : 0;
        left -= held;
    }
    return c->rows - (uint64_t)OG_MIN(hits, (double)c->rows);
}

static bool suits_condensed(const struct og_candidate *c)
{
    const int policy = c->policy.kind;
    return !c->tiers && og__policy_looks_ahead(policy) && !og__policy_wants_hotness(policy);
}

/* ---- passes: candidates that are counted together ---- */

struct pass {
    const struct og_cost_inputs *given;
    const struct condensed *seen;      /* the trace's nodes */
    const struct condensed *condensed; /* the same; NULL: the policy does not suit it */
    const struct og_candidate *candidates;
    struct og_estimate *out;
    uint32_t *member; /* [n] numbers of candidates; the first represents all */
    uint32_t n;
    bool levels;               /* sizes differ, see og__simulate */
    uint32_t superbatch;       /* batches */
    struct og_packing packing; /* of the superbatch, where a layout needs it */
    bool packs;
    int rc;
    struct og_err err;
};

static const struct og_candidate *first_of(const struct pass *p)
{
    return &p->candidates[p->member[0]];
}

static bool counts_by_level(const struct og_candidate *c)
{
    return !c->tiers && c->superbatch == 0 &&
           (og__policy_is_static(c->policy.kind) || og__policy_is_stack(c->policy.kind));
}

static bool same_policy(const struct og_policy_setup *a, const struct og_policy_setup *b)
{
    return a->kind == b->kind && a->hotness == b->hotness && a->ways == b->ways &&
           a->window == b->window && a->update == b->update && a->threshold == b->threshold &&
           a->evict == b->evict;
}

static bool same_pass(const struct og_cost_inputs *given, const struct og_candidate *a,
                      const struct og_candidate *b)
{
    const uint32_t n =
        given->trace.n_batches; /* as long as the trace is any superbatch, or shorter */
    if (a->tiers || b->tiers)   /* of two pairs little is the same */
        return a == b;
    if (!same_policy(&a->policy, &b->policy))
        return false;
    if (counts_by_level(a) && counts_by_level(b))
        return true;
    const bool one = a->superbatch >= n || a->superbatch == 0; /* nothing is released in between */
    return a->policy.n_slots == b->policy.n_slots && (one || a->n_released == b->n_released) &&
           OG_MIN(a->superbatch, n) == OG_MIN(b->superbatch, n);
}

/* Sorts the valid candidates into passes; member[] of all are consecutive in `members`. */
static uint32_t form_passes(const struct og_cost_inputs *given, const struct condensed *condensed,
                            const struct og_candidate *c, uint32_t n, struct og_estimate *out,
                            uint32_t *members, struct pass *pass)
{
    uint32_t n_passes = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!out[i].possible || out[i].counted)
            continue;
        struct pass *p = &pass[n_passes++];
        *p = (struct pass){.given = given,
                           .seen = condensed,
                           .condensed = suits_condensed(&c[i]) ? condensed : NULL,
                           .candidates = c,
                           .out = out,
                           .member = members + used,
                           .levels = counts_by_level(&c[i]),
                           .superbatch = OG_MAX(given->trace.n_batches, 1u)};
        if (c[i].superbatch > 0)
            p->superbatch = OG_MIN(p->superbatch, c[i].superbatch);
        for (uint32_t k = i; k < n; k++) {
            if (!out[k].possible || out[k].counted || !same_pass(given, &c[i], &c[k]))
                continue;
            out[k].counted = true;
            p->member[p->n++] = k;
            p->packs |= c[k].layout != OG__RAW;
        }
        used += p->n;
    }
    return n_passes;
}

/* More slots than nodes are no use. */
static uint32_t slots_of(const struct pass *p, uint32_t member)
{
    const uint64_t n_nodes = p->condensed ? p->condensed->n : p->given->n_nodes;
    return (uint32_t)OG_MIN((uint64_t)p->candidates[p->member[member]].policy.n_slots, n_nodes);
}

static struct og_policy_setup policy_of(const struct pass *p)
{
    struct og_policy_setup policy = first_of(p)->policy;
    policy.n_nodes = p->condensed ? p->condensed->n : p->given->n_nodes;
    policy.n_slots = slots_of(p, 0);
    return policy;
}

static struct og_simulation simulation_of(const struct pass *p)
{
    const struct og_cost_inputs *given = p->given;
    const struct og_candidate *c = first_of(p);
    const struct condensed *d = p->condensed;
    const uint32_t not_released = c->policy.n_slots - OG_MIN(c->n_released, c->policy.n_slots);
    const uint32_t slots = slots_of(p, 0);
    return (struct og_simulation){.trace = d ? d->trace : given->trace,
                                  .n_nodes = d ? d->n : given->n_nodes,
                                  .row = d ? d->row : NULL,
                                  .owners = given->owners,
                                  .superbatch = p->superbatch,
                                  .n_released = slots - OG_MIN(not_released, slots),
                                  .rule = given->rule,
                                  .fill_rows = given->fill_rows,
                                  .budget = given->budget,
                                  .stop = given->stop};
}

/* Does it hold what the coming batches visit most? */
static bool learns(int policy)
{
    return og__policy_looks_ahead(policy) && og__policy_is_steady(policy);
}

static void take_counts(struct pass *p, uint32_t member, const struct og_simulated *s,
                        struct og_io_counts first_fill)
{
    uint32_t number = p->member[member];
    struct og_candidate_counts *counts = &p->out[number].counts;
    counts->rows = s->cost.rows;
    counts->hits = s->cost.hits;
    counts->misses = s->cost.misses;
    const bool held = p->condensed && learns(first_of(p)->policy.kind);
    counts->held_out = held ? held_out_misses(p->condensed, slots_of(p, member)) : s->cost.misses;
    counts->prefill = s->prefill;
    counts->fill = s->fill;
    counts->first_fill = first_fill;
    counts->open = s->open;
    counts->open_batches = s->open_batches;
    counts->windows = s->windows;
    counts->superbatches = (p->given->trace.n_batches + p->superbatch - 1) / p->superbatch;
    if (p->candidates[number].layout == OG__RAW)
        counts->batches = (struct og_io_counts){s->cost.reads, s->cost.bytes};
}

/* ---- a pass over sizes ---- */

/* Members in the order of their caches. */
static void sort_by_slots(struct pass *p)
{
    for (uint32_t i = 1; i < p->n; i++)
        for (uint32_t k = i; k > 0 && slots_of(p, k) < slots_of(p, k - 1); k--) {
            uint32_t swap = p->member[k];
            p->member[k] = p->member[k - 1];
            p->member[k - 1] = swap;
        }
}

static int count_sizes(struct pass *p, struct og_err *err)
{
    uint32_t size[OG__MOST_SIZES];
    struct og_simulated counted[OG__MOST_SIZES];
    struct og_simulation sim = simulation_of(p);
    sort_by_slots(p);
    for (uint32_t i = 0; i < p->n; i++)
        size[i] = slots_of(p, i);
    sim.size = size;
    sim.n_sizes = p->n;
    sim.pool = p->given->pool;
    OG_DO(og__simulate(&sim, &first_of(p)->policy, counted, err));
    for (uint32_t i = 0; i < p->n; i++)
        take_counts(p, i, &counted[i], counted[i].fill);
    return 0;
}

/* ---- layouts of one superbatch ---- */

/* The rest of the disk limit for one packed file. */
static uint64_t packed_file_limit(const struct og_cost_inputs *given, const struct og_candidate *c)
{
    if (given->disk_limit == UINT64_MAX)
        return UINT64_MAX;
    return given->disk_limit - OG_MIN(given->disk_limit, c->spilled_bytes);
}

static void note_packed_file(uint64_t bytes, struct og_candidate_counts *counts)
{
    counts->written += bytes;
    counts->disk = OG_MAX(counts->disk, bytes);
}

/* The scan is the same for any output; *cost is the cost of packing. */
static int add_sweep(const struct pass *p, const struct og_candidate *c, struct og_estimate *e,
                     struct og_packing_cost *cost, struct og_err *err)
{
    char least[32];
    struct og_sweep sweep;
    *cost = (struct og_packing_cost){0};
    if (c->sweep_memory < og__sweep_least(&p->packing)) {
        og__candidate_refuse(e, "packing %u batches takes at least %s of memory",
                             p->packing.n_batches,
                             og__human_bytes(least, (double)og__sweep_least(&p->packing)));
        return 0;
    }
    int rc;
    OG_TRY(og__sweep_share(&p->packing, c->sweep_memory, &sweep, err));
    OG_TRY(og__packing_predict(&p->packing, &sweep, &p->given->rule, cost, err));
out:
    og__add_io(&e->counts.sweep, cost->sweep);
    return rc;
}

static int add_packed(const struct pass *p, const struct og_candidate *c, struct og_estimate *e,
                      struct og_err *err)
{
    struct og_packing_cost cost;
    int rc = add_sweep(p, c, e, &cost, err);
    og__add_io(&e->counts.batches, cost.back);
    note_packed_file(cost.bytes_written, &e->counts);
    return rc;
}

/* The reads of all its batches with segments of `size` batches. */
static int count_segments(const struct pass *p, struct og_segments *s, uint32_t size,
                          struct og_io_counts *sum, struct og_err *err)
{
    const uint32_t n = p->packing.n_batches;
    struct og_io_counts *io = og__alloc(p->given->budget, n * sizeof(*io), part, err);
    int rc;
    OG_TRY(io ? og__count_segments(s, size, &p->given->rule, io, err) : -ENOMEM);
    for (uint32_t b = 0; b < n; b++)
        og__add_io(sum, io[b]);
out:
    og__release(p->given->budget, io, n * sizeof(*io), part);
    return rc;
}

static int add_segmented(const struct pass *p, const struct og_candidate *c, struct og_estimate *e,
                         struct og_err *err)
{
    struct og_segments s;
    struct og_segment_cost cost = {0};
    struct og_packing_cost ignored;
    struct og_err no_room = {0};
    uint32_t size = 0;
    /* two files, and the position of each row of a batch (gather/shared.h) */
    const uint64_t head = og__packing_data_start(p->packing.n_batches) + OG__PACK_BLOCK;
    const uint64_t misses = p->packing.ptr[p->packing.n_batches];
    const uint64_t most = head + 2 * sizeof(uint32_t) * misses;
    const uint64_t limit = packed_file_limit(p->given, c);
    int rc = og__segments_open(&s, &p->packing, p->given->budget, err);
    if (rc < 0)
        return rc;
    rc = og__segments_choose(&s, limit - OG_MIN(limit, most), &size, &no_room);
    if (rc == -ENOSPC)
        og__candidate_refuse(e, "%s", no_room.message);
    else if (rc < 0)
        og__fail(err, rc, no_room.hint, "%s", no_room.message);
    OG_TRY(rc);
    OG_TRY(count_segments(p, &s, size, &e->counts.batches, err));
    e->counts.segment = e->counts.segment ? e->counts.segment : size;
    og__segments_space(&s, size, &cost);
    const uint64_t orders = sizeof(uint32_t) * (misses + cost.shared_reads);
    note_packed_file(head + cost.disk_bytes + orders, &e->counts);
    OG_TRY(add_sweep(p, c, e, &ignored, err));
out:
    og__segments_close(&s);
    return rc == -ENOSPC ? 0 : rc;
}

/* ---- a pass over misses ---- */

static int add_layouts(struct pass *p, struct og_err *err)
{
    int rc;
    OG_TRY(og__packing_finish(&p->packing, err));
    for (uint32_t i = 0; i < p->n; i++) {
        const struct og_candidate *c = &p->candidates[p->member[i]];
        struct og_estimate *e = &p->out[p->member[i]];
        if (!e->possible)
            continue;
        if (c->layout == OG__PACKED)
            OG_TRY(add_packed(p, c, e, err));
        else if (c->layout == OG__SEGMENTED)
            OG_TRY(add_segmented(p, c, e, err));
    }
out:
    og__packing_close(&p->packing);
    return rc;
}

static int batch_missed(void *arg, uint32_t batch, const uint32_t *rows, uint32_t n,
                        struct og_err *err)
{
    struct pass *p = arg;
    const struct og_cost_inputs *given = p->given;
    const bool last = (batch + 1) % p->superbatch == 0 || batch + 1 == given->trace.n_batches;
    if (!p->packs)
        return 0;
    if (!p->packing.ptr)
        OG_DO(og__packing_open(&p->packing, given->n_nodes, og__cached_row_bytes(given),
                               p->superbatch, given->budget, err));
    OG_DO(og__packing_add(&p->packing, rows, NULL, n, err));
    if (last)
        OG_DO(add_layouts(p, err));
    return 0;
}

/* ---- a pass over two caches ---- */

/* More slots than nodes are no use there either. */
static struct og_tiers_setup tiers_of(const struct pass *p)
{
    struct og_tiers_setup tiers = *first_of(p)->tiers;
    tiers.host = policy_of(p);
    tiers.device.n_slots = (uint32_t)OG_MIN((uint64_t)tiers.device.n_slots, tiers.device.n_nodes);
    return tiers;
}

static void count_tiers(struct pass *p)
{
    const struct og_simulation sim = simulation_of(p);
    const struct og_tiers_setup tiers = tiers_of(p);
    struct og_simulated_tiers s;
    p->rc = og__simulate_tiers(&sim, &tiers, batch_missed, p, &s, &p->err);
    if (p->packing.ptr)
        og__packing_close(&p->packing);
    if (p->rc < 0)
        return;
    const struct og_simulated counted = {.cost = s.cost, .prefill = s.prefill, .fill = s.fill};
    struct og_candidate_counts *counts = &p->out[p->member[0]].counts;
    take_counts(p, 0, &counted, s.first_fill);
    counts->tiers = s.tiers;
    if (learns(tiers.device.kind) && learns(tiers.host.kind))
        counts->held_out = held_out_misses(p->seen, tiers.device.n_slots + tiers.host.n_slots);
}

static void count_misses(void *arg, size_t number, int thread)
{
    struct pass *p = &((struct pass *)arg)[number];
    struct og_simulated counted;
    struct og_io_counts first_fill;
    (void)thread;
    if (p->levels)
        return;
    if (first_of(p)->tiers) {
        count_tiers(p);
        return;
    }
    struct og_simulation sim = simulation_of(p);
    struct og_policy_setup policy = policy_of(p);
    p->rc = og__simulate_each(&sim, &policy, batch_missed, p, &counted, &first_fill, &p->err);
    for (uint32_t i = 0; p->rc == 0 && i < p->n; i++)
        take_counts(p, i, &counted, first_fill);
    if (p->packing.ptr)
        og__packing_close(&p->packing);
}

/* ---- memory ---- */

/* The most memory of a pass over misses: the policy, a growing packing, segments. */
static size_t pass_bytes(const struct pass *p)
{
    const struct og_trace *t = &p->given->trace;
    const uint64_t rows = t->ptr[t->n_batches];
    uint64_t longest = 0;
    for (uint32_t b = 0; b < t->n_batches; b++)
        longest = OG_MAX(longest, t->ptr[b + 1] - t->ptr[b]);
    struct og_simulation sim = simulation_of(p);
    const uint32_t size = slots_of(p, 0);
    sim.size = &size;
    sim.n_sizes = 1;
    const uint64_t distinct = OG_MIN(rows, sim.n_nodes);
    size_t packing = (3 * rows + 2 * longest) * sizeof(uint32_t) + t->n_batches * 16 +
                     2 * og__placement_bytes(p->given->n_nodes);
    size_t layouts =
        (5 + og__cached_row_bytes(p->given) / OG__PACK_BLOCK + 1) * distinct * sizeof(uint32_t);
    const size_t packs = p->packs ? packing + layouts : 0;
    if (first_of(p)->tiers) {
        const struct og_tiers_setup tiers = tiers_of(p);
        return og__simulate_tiers_bytes(&sim, &tiers, rows, longest) + packs;
    }
    const struct og_policy_setup policy = policy_of(p);
    return og__simulate_bytes(&sim, &policy, rows, longest) + packs;
}

/* As many passes at a time as there are threads, unless memory is short. */
static struct og_pool *pool_for(const struct og_cost_inputs *given, const struct pass *pass,
                                uint32_t n)
{
    size_t most = 1;
    for (uint32_t i = 0; i < n; i++)
        most = OG_MAX(most, pass_bytes(&pass[i]));
    size_t fit = og__budget_left(given->budget) / most;
    return fit >= (size_t)og__pool_threads(given->pool) ? given->pool : NULL;
}

/* ---- all of them ---- */

static int run_passes(const struct og_cost_inputs *given, struct pass *pass, uint32_t n,
                      struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < n; i++)
        if (pass[i].levels)
            OG_TRY(count_sizes(&pass[i], err));
    og__pool_run(pool_for(given, pass, n), n, count_misses, pass);
    for (uint32_t i = 0; i < n; i++)
        if (pass[i].rc < 0)
            OG_TRY(og__fail(err, pass[i].rc, pass[i].err.hint, "%s", pass[i].err.message));
out:
    return rc;
}

int og__candidates_count_group(const struct og_cost_inputs *given, const struct og_candidate *c,
                               uint32_t n, struct og_estimate *out, struct og_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *reason = unsound(given, &c[i]);
        out[i] = (struct og_estimate){.candidate = i, .possible = true, .memory = c[i].memory};
        if (reason)
            og__candidate_refuse(&out[i], "%s", reason);
    }
    struct condensed condensed = {0};
    uint32_t *members = malloc(OG_MAX(n, 1u) * sizeof(*members));
    struct pass *pass = calloc(OG_MAX(n, 1u), sizeof(*pass));
    int rc;
    if (!members || !pass)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "candidates"));
    OG_TRY(condense(&condensed, given, err));
    OG_TRY(run_passes(given, pass, form_passes(given, &condensed, c, n, out, members, pass), err));
    for (uint32_t i = 0; i < n; i++) {
        out[i].counted &= out[i].possible;
        if (!out[i].counted)
            out[i].counts = (struct og_candidate_counts){0};
    }
out:
    og__allocs_release(&condensed.arrays);
    free(members);
    free(pass);
    return rc;
}

/* Slow and simple on purpose: it shares no code with what it checks. */
#include "oracles/tiers_verifier.h"

#include <stdlib.h>
#include <string.h>

#define WRONG(...) og__fail(err, -EINVAL, NULL, __VA_ARGS__)

/* sweep and frequency give slots up without filling them: what is left there counts for nothing. */
static bool leaves_traces(int kind)
{
    return og__policy_fills_during_training(kind) || og__policy_adopts(kind);
}

/* With rings the device's policy sees beyond its superbatch. */
static void open_most(struct og_tiers_verifier *v, const struct og_tiers_setup *setup)
{
    v->most[0].is_one = og__policy_adopts(setup->device.kind) && setup->victim.n_rings == 0;
    v->most[1].is_one = og__policy_adopts(setup->host.kind);
    for (int i = 0; i < 2; i++)
        v->most[i].requested = calloc(v->n_nodes, sizeof(*v->most[i].requested));
}

int og__tiers_verifier_open(struct og_tiers_verifier *v, const struct og_trace *run,
                            const struct og_tiers_setup *setup, struct og_tiers_places at,
                            struct og_err *err)
{
    *v = (struct og_tiers_verifier){.run = run,
                                    .n_nodes = setup->device.n_nodes,
                                    .victim = setup->victim,
                                    .at = at,
                                    .exclusive = og__tiers_exclusive(setup)};
    v->held = malloc((at.misses + 1) * sizeof(*v->held));
    v->filled = calloc(setup->victim.n_rings + 1, sizeof(*v->filled));
    v->where = malloc(v->n_nodes * sizeof(*v->where));
    v->before = calloc(setup->victim.n_rings + 1, sizeof(*v->before));
    v->strict = !leaves_traces(setup->device.kind) && !leaves_traces(setup->host.kind) &&
                (v->exclusive || setup->victim.n_rings == 0 ||
                 !og__policy_serves_as_lower(setup->host.kind));
    open_most(v, setup);
    if (!v->held || !v->filled || !v->before || !v->where || !v->most[0].requested ||
        !v->most[1].requested)
        return og__fail_errno(err, -ENOMEM, NULL, "verifier");
    memset(v->held, 0xff, at.misses * sizeof(*v->held));
    return 0;
}

void og__tiers_verifier_close(struct og_tiers_verifier *v)
{
    free(v->held);
    free(v->filled);
    free(v->before);
    free(v->where);
    free(v->most[0].requested);
    free(v->most[1].requested);
}

int og__tiers_verifier_prefill(struct og_tiers_verifier *v, uint32_t place, uint32_t node,
                               struct og_err *err)
{
    if (place >= v->at.victim)
        return WRONG("prefill: place %u of %u", place, v->at.victim);
    for (uint32_t p = v->at.host; p < v->at.victim && v->exclusive && place < v->at.host; p++)
        if (v->held[p] == node)
            v->held[p] = OG_NO_SLOT;
    v->held[place] = node;
    return 0;
}

static bool used_by(const struct og_tiers_verifier *v, uint32_t batch, uint32_t node)
{
    for (uint64_t i = v->run->ptr[batch]; i < v->run->ptr[batch + 1]; i++)
        if (v->run->ids[i] == node)
            return true;
    return false;
}

/* where[node]: the fastest place that holds it as this batch begins. */
static int find_all(struct og_tiers_verifier *v, struct og_err *err)
{
    const uint32_t ring = v->victim.n_rings ? v->batch % v->victim.n_rings : 0;
    memset(v->where, 0xff, v->n_nodes * sizeof(*v->where));
    if (v->victim.depth > 0)
        for (uint32_t i = 0; i < v->filled[ring]; i++) {
            const uint32_t place = v->at.victim + ring * v->victim.depth + i;
            v->where[v->held[place]] = place;
        }
    for (uint32_t place = v->at.victim; place-- > 0;) {
        const uint32_t node = v->held[place];
        if (node == OG_NO_SLOT)
            continue;
        const uint32_t other = v->where[node];
        const bool same_cache =
            other < v->at.victim && (other < v->at.host) == (place < v->at.host);
        if (same_cache && v->strict)
            return WRONG("node %u is in places %u and %u", node, place, other);
        if (v->exclusive && other < v->at.victim)
            return WRONG("node %u is in both caches, %u and %u", node, place, other);
        /* rings come before the host: their rows are on the device when the batch begins */
        if (other == OG_NO_SLOT || place < v->at.host)
            v->where[node] = place;
    }
    return 0;
}

/* The place where the row is expected. Where a policy leaves rows in slots that it has given up,
 * any place that holds the row will do. */
static uint32_t expected_place(const struct og_tiers_verifier *v, uint32_t node, uint32_t place)
{
    if (v->strict)
        return v->where[node];
    return place < v->at.misses ? (v->held[place] == node ? place : v->at.misses) : OG_NO_SLOT;
}

/* The host gets requests for what neither the device nor its rings have. */
static void note_requested(struct og_tiers_verifier *v, uint32_t node, uint32_t place)
{
    v->most[0].requested[node]++;
    v->most[0].hits += place < v->at.host;
    if (place < v->at.host || (place >= v->at.victim && place < v->at.misses))
        return;
    v->most[1].requested[node]++;
    v->most[1].hits += place < v->at.victim;
}

static int most_first(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

int og__tiers_verifier_end(struct og_tiers_verifier *v, struct og_err *err)
{
    const uint32_t slots[2] = {v->at.host, v->at.victim - v->at.host};
    for (int i = 0; i < 2; i++) {
        struct og_most_visited *m = &v->most[i];
        uint64_t best = 0;
        qsort(m->requested, v->n_nodes, sizeof(*m->requested), most_first);
        for (uint64_t k = 0; k < slots[i] && k < v->n_nodes; k++)
            best += m->requested[k];
        if (m->is_one && m->hits != best)
            return WRONG("the %s's cache of %u rows has %llu hits, of those visited most %llu",
                         i ? "host" : "device", slots[i], (unsigned long long)m->hits,
                         (unsigned long long)best);
        memset(m->requested, 0, v->n_nodes * sizeof(*m->requested));
        m->hits = 0;
    }
    return 0;
}

static int check_rows(struct og_tiers_verifier *v, const struct og_tiers_plan *p,
                      struct og_err *err)
{
    const uint32_t *ids = v->run->ids + v->run->ptr[v->batch];
    uint32_t count[4] = {0};
    for (uint32_t i = 0; i < p->plan.n; i++) {
        const uint32_t place = p->plan.place[i];
        const uint32_t expected = expected_place(v, ids[i], place);
        if (expected != OG_NO_SLOT && place != expected)
            return WRONG("row %u: place %u, but %u holds node %u", i, place, expected, ids[i]);
        if (expected == OG_NO_SLOT &&
            (place < v->at.misses || place - v->at.misses >= p->plan.n_misses ||
             p->plan.misses[place - v->at.misses] != ids[i]))
            return WRONG("row %u: node %u is a miss, its place %u is not", i, ids[i], place);
        note_requested(v, ids[i], place);
        count[(place >= v->at.host) + (place >= v->at.victim) + (place >= v->at.misses)]++;
    }
    for (uint32_t m = 1; m < p->plan.n_misses; m++)
        if (p->plan.misses[m - 1] >= p->plan.misses[m])
            return WRONG("miss %u does not ascend", m);
    if (count[0] != p->device_hits || count[1] != p->host_hits || count[2] != p->victim_hits ||
        count[3] != p->plan.n_misses)
        return WRONG("counted %u, %u, %u hits and %u misses, told %u, %u, %u and %u", count[0],
                     count[1], count[2], count[3], p->device_hits, p->host_hits, p->victim_hits,
                     p->plan.n_misses);
    v->device_hits += count[0];
    v->host_hits += count[1];
    v->victim_hits += count[2];
    v->misses += count[3];
    return 0;
}

/* A row of the device's cache, where its next use says. */
static int check_push(struct og_tiers_verifier *v, uint32_t from, uint32_t to, struct og_err *err)
{
    if (v->victim.depth == 0 || v->victim.n_rings == 0)
        return WRONG("place %u is one of rings that are not there", to);
    const uint32_t place = to - v->at.victim;
    const uint32_t ring = place / v->victim.depth;
    const uint32_t node = v->held[from];
    uint32_t next = v->batch + 1;
    while (next < v->run->n_batches && !used_by(v, next, node))
        next++;
    if (next == v->run->n_batches || next % v->victim.n_rings != ring ||
        next - v->batch > v->victim.n_rings)
        return WRONG("node %u, wanted by batch %u, goes to ring %u of %u", node, next, ring,
                     v->victim.n_rings);
    if (place % v->victim.depth < v->before[ring])
        return WRONG("ring %u holds %u, place %u is filled", ring, v->before[ring],
                     place % v->victim.depth);
    v->filled[ring]++;
    v->pushed++;
    return 0;
}

/* Rings are filled from the front, whatever the order of the moves. */
static int check_rings(const struct og_tiers_verifier *v, const struct og_tiers_plan *p,
                       struct og_err *err)
{
    for (uint32_t m = 0; m < p->n_moves && v->victim.depth > 0; m++) {
        const uint32_t to = p->move_to[m];
        const uint32_t place = to >= v->at.victim ? to - v->at.victim : 0;
        if (to >= v->at.victim && place % v->victim.depth >= v->filled[place / v->victim.depth])
            return WRONG("move %u: place %u leaves a gap in its ring", m, to);
    }
    return 0;
}

static int apply_moves(struct og_tiers_verifier *v, const struct og_tiers_plan *p,
                       uint32_t *targets, struct og_err *err)
{
    memcpy(v->before, v->filled, v->victim.n_rings * sizeof(*v->before));
    for (uint32_t m = 0; m < p->n_moves; m++) {
        const uint32_t from = p->move_from[m];
        const uint32_t to = p->move_to[m];
        int rc = 0;
        if (from >= v->at.host || v->held[from] == OG_NO_SLOT || to < v->at.host ||
            to >= v->at.misses)
            return WRONG("move %u: from place %u to place %u", m, from, to);
        if (targets[to]++)
            return WRONG("move %u: place %u is filled twice", m, to);
        if (to >= v->at.victim)
            rc = check_push(v, from, to, err);
        if (rc < 0)
            return rc;
        v->demoted += to < v->at.victim;
        v->held[to] = v->held[from];
    }
    return check_rings(v, p, err);
}

static int apply_changes(struct og_tiers_verifier *v, const struct og_tiers_plan *p,
                         uint32_t *targets, struct og_err *err)
{
    const uint32_t *ids = v->run->ids + v->run->ptr[v->batch];
    for (uint32_t c = 0; c < p->plan.n_changes; c++) {
        const uint32_t row = p->plan.change_row[c];
        const uint32_t to = p->plan.change_slot[c];
        if (row >= p->plan.n || to >= v->at.victim)
            return WRONG("change %u: row %u to place %u", c, row, to);
        if (targets[to]++)
            return WRONG("change %u: place %u is filled twice", c, to);
        const uint32_t place = p->plan.place[row];
        if (place < v->at.host || (to >= v->at.host && place < v->at.victim))
            return WRONG("change %u: row %u is in place %u already", c, row, place);
        v->held[to] = ids[row];
    }
    return 0;
}

/* What an exclusive host's cache gave up because the device took it. */
static void forget_taken(struct og_tiers_verifier *v, const struct og_tiers_plan *p,
                         const uint32_t *targets)
{
    for (uint32_t c = 0; v->exclusive && c < p->plan.n_changes; c++) {
        const uint32_t place = p->plan.place[p->plan.change_row[c]];
        if (p->plan.change_slot[c] < v->at.host && place >= v->at.host && place < v->at.victim &&
            !targets[place])
            v->held[place] = OG_NO_SLOT;
    }
}

int og__tiers_verifier_check(struct og_tiers_verifier *v, const struct og_tiers_plan *p,
                             struct og_err *err)
{
    const uint64_t n = v->run->ptr[v->batch + 1] - v->run->ptr[v->batch];
    uint32_t *targets = calloc(v->at.misses + 1, sizeof(*targets));
    int rc;
    if (!targets)
        return og__fail_errno(err, -ENOMEM, NULL, "verifier");
    OG_TRY(p->plan.n == n ? 0
                          : WRONG("the plan has %u rows, the batch %u", p->plan.n, (unsigned)n));
    OG_TRY(find_all(v, err));
    OG_TRY(check_rows(v, p, err));
    if (v->victim.depth > 0)
        v->filled[v->batch % v->victim.n_rings] = 0;
    OG_TRY(apply_moves(v, p, targets, err));
    OG_TRY(apply_changes(v, p, targets, err));
    forget_taken(v, p, targets);
    v->batch++;
out:
    free(targets);
    return rc;
}

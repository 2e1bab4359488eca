/* Counting policies over a trace.
 *
 * Of static policies and lru a row's level is all there is to know: the number of sizes that miss
 * it. Levels come from one pass over nodes or rows; then each batch is sorted by id once, and
 * walked once a size, each walk over what the size before it missed.
 *
 *   rows by id   3  5  9 12 40 41      size 0 misses those of level > 0:  3 5 9 40 41
 *   level        1  2  1  0  3  3      size 1              ... level > 1:  5 40 41   and so on
 *
 * Stack distances: a bit a moment stands where some node was used last. Between a node's last use
 * and now as many others were used as bits are set behind its own. All rows of a batch ask before
 * any of them moves, so the ranks of the bits are made once a batch and no tree is kept. */
#include "plan/simulate.h"

#include "plan/count.h"
#include "plan/policy_ops.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "simulation";
enum { CHUNK = 1024, RADIX_BYTES = 1 << 19 /* what building a placement takes meanwhile */ };
#define NEVER UINT32_MAX

static bool stopped(const struct og_simulation *sim)
{
    return og__asked(sim->stop);
}

static uint32_t batch_rows(const struct og_trace *t, size_t batch)
{
    return (uint32_t)(t->ptr[batch + 1] - t->ptr[batch]);
}

static uint32_t longest_batch(const struct og_trace *t)
{
    uint32_t longest = 0;
    for (uint32_t b = 0; b < t->n_batches; b++)
        longest = OG_MAX(longest, batch_rows(t, b));
    return longest;
}

static void count(const struct og_simulation *sim, uint32_t n, const uint32_t *misses,
                  uint32_t n_misses, struct og_plan_cost *sum)
{
    const struct og_counting how = {.layout = OG__RAW, .rule = &sim->rule};
    og__count_batch(&how, n, misses, n_misses, sum);
}

static void add_io(struct og_io_counts *sum, struct og_io_counts more)
{
    sum->reads += more.reads;
    sum->bytes += more.bytes;
}

/* Nodes become the rows that they are in the file. */
static void to_rows(const struct og_simulation *sim, uint32_t *nodes, uint32_t n)
{
    for (uint32_t i = 0; i < n && sim->row; i++)
        nodes[i] = sim->row[nodes[i]];
}

/* Rows that are put into the cache, and their slots. */
static uint32_t lot_rows(const struct og_simulation *sim)
{
    return sim->fill_rows ? sim->fill_rows : CHUNK;
}

static size_t lot_bytes(const struct og_simulation *sim)
{
    return 2 * (size_t)lot_rows(sim) * sizeof(uint32_t);
}

/* ---- lanes: what one thread works with ---- */

struct lane {
    struct og_planner planner;
    struct og_plan plan;
    uint8_t *level;           /* [longest batch] */
    struct og_plan_cost *sum; /* [n_sizes] */
    int rc;
    struct og_err err;
};

struct lanes {
    const struct og_simulation *sim;
    struct lane *lane;
    int n;
    uint32_t longest;
};

static size_t lane_bytes(uint64_t longest)
{
    return og__planner_bytes(longest) + og__plan_bytes(longest, longest) + longest;
}

static void close_lanes(struct lanes *l)
{
    for (int i = 0; l->lane && i < l->n; i++) {
        struct lane *lane = &l->lane[i];
        og__planner_release(&lane->planner);
        og__plan_release(&lane->plan);
        og__release(l->sim->budget, lane->level, l->longest, part);
        free(lane->sum);
    }
    free(l->lane);
}

/* Everything is reserved for the longest batch, so that no batch can fail. */
static int open_lane(struct lanes *l, struct lane *lane, struct og_err *err)
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

static int open_lanes(struct lanes *l, const struct og_simulation *sim, int n, struct og_err *err)
{
    *l = (struct lanes){.sim = sim, .n = n, .longest = longest_batch(&sim->trace)};
    l->lane = calloc((size_t)n, sizeof(*l->lane));
    if (!l->lane)
        return og__fail_errno(err, -ENOMEM, NULL, "simulation");
    int rc = 0;
    for (int i = 0; i < n; i++)
        OG_TRY(open_lane(l, &l->lane[i], err));
out:
    return rc;
}

/* The first lane's failure. */
static int lanes_failed(const struct lanes *l, struct og_err *err)
{
    for (int i = 0; i < l->n; i++)
        if (l->lane[i].rc < 0)
            return og__fail(err, l->lane[i].rc, l->lane[i].err.hint, "%s", l->lane[i].err.message);
    return stopped(l->sim) ? og__fail(err, OG_INTERRUPTED, NULL, "interrupted") : 0;
}

/* ---- counting by levels ---- */

struct counting {
    struct lanes lanes;
    const uint8_t *of_node; /* level of each node, or NULL: */
    const uint8_t *of_row;  /* level of each row of the trace */
};

/* Rows by id into lane->plan.misses, their levels into lane->level. */
static int sort_batch(const struct counting *c, struct lane *lane, size_t batch)
{
    const struct og_trace *t = &c->lanes.sim->trace;
    const uint64_t start = t->ptr[batch];
    struct og_plan *plan = &lane->plan;
    plan->n = batch_rows(t, batch);
    plan->n_misses = 0;
    for (uint32_t i = 0; i < plan->n; i++)
        plan->place[i] = OG_NO_SLOT;
    int rc = og__plan_misses(&lane->planner, t->ids + start, 0, plan, &lane->err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < plan->n; i++) {
        if (c->of_node)
            lane->level[i] = c->of_node[plan->misses[i]];
        else
            lane->level[plan->place[i]] = c->of_row[start + i];
    }
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
    struct lane *lane = &c->lanes.lane[thread];
    const struct og_simulation *sim = c->lanes.sim;
    if (lane->rc < 0 || stopped(sim))
        return;
    lane->rc = sort_batch(c, lane, batch);
    uint32_t left = lane->plan.n;
    for (uint32_t k = 0; lane->rc == 0 && k < sim->n_sizes; k++) {
        left = keep_missed(lane->plan.misses, lane->level, left, k);
        count(sim, lane->plan.n, lane->plan.misses, left, &lane->sum[k]);
    }
}

static int count_levels(const struct og_simulation *sim, const uint8_t *of_node,
                        const uint8_t *of_row, struct og_simulated *out, struct og_err *err)
{
    struct counting c = {.of_node = of_node, .of_row = of_row};
    int rc;
    OG_TRY(open_lanes(&c.lanes, sim, og__pool_threads(sim->pool), err));
    og__pool_run(sim->pool, sim->trace.n_batches, count_batch, &c);
    OG_TRY(lanes_failed(&c.lanes, err));
    for (int i = 0; i < c.lanes.n; i++)
        for (uint32_t k = 0; k < sim->n_sizes; k++)
            og__plan_cost_add(&out[k].cost, &c.lanes.lane[i].sum[k]);
out:
    close_lanes(&c.lanes);
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

/* Reading the nodes of a placement, so many at once. */
static int count_fill(const struct og_simulation *sim, const struct og_placement *p,
                      struct og_io_counts *sum, struct og_err *err)
{
    if (sim->fill_rows == 0 || p->n_slots == 0)
        return 0;
    uint32_t *nodes = og__alloc(sim->budget, lot_bytes(sim), part, err);
    uint64_t cursor = 0;
    if (!nodes)
        return -ENOMEM;
    for (uint32_t first = 0, n; first < p->n_slots; first += n) {
        n = OG_MIN(sim->fill_rows, p->n_slots - first);
        og__placement_nodes(p, &cursor, nodes, n);
        add_io(sum, og__read_rule_predict(&sim->rule, nodes, n));
    }
    og__release(sim->budget, nodes, lot_bytes(sim), part);
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

static int simulate_static(const struct og_simulation *sim, const struct og_policy_setup *setup,
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

struct stack {
    struct og_placement nodes;   /* numbers the nodes of the trace */
    struct og_placement moments; /* a bit where some node was used last */
    uint32_t *last;              /* [distinct] the moment of its last use, or NEVER */
    uint32_t *number;            /* [longest batch] */
    uint32_t now;                /* the next moment */
    uint32_t longest;
    struct og_budget *budget;
};

/* Moments until the ranks are renumbered. Twice the distinct nodes make that rare: once in as many
 * rows. */
static uint64_t moments_for(uint64_t distinct, uint64_t longest)
{
    return OG_MIN(2 * distinct + longest, (uint64_t)NEVER);
}

static void close_stack(struct stack *s)
{
    size_t distinct = s->nodes.n_slots;
    og__release(s->budget, s->last, distinct * sizeof(*s->last), part);
    og__release(s->budget, s->number, s->longest * sizeof(*s->number), part);
    og__placement_release(&s->moments);
    og__placement_release(&s->nodes);
}

static int open_stack(struct stack *s, const struct og_simulation *sim, struct og_err *err)
{
    *s = (struct stack){.budget = sim->budget, .longest = longest_batch(&sim->trace)};
    int rc = og__placement_build(&s->nodes, NULL, sim->n_nodes, 0, sim->budget, err);
    if (rc < 0)
        return rc;
    og__placement_mark(&s->nodes, &sim->trace);
    og__placement_count(&s->nodes);
    const uint64_t distinct = s->nodes.n_slots;
    if (distinct + s->longest > NEVER)
        return og__fail(err, -EINVAL, NULL, "lru: %llu distinct nodes are too many",
                        (unsigned long long)distinct);
    s->last = og__alloc(sim->budget, distinct * sizeof(*s->last), part, err);
    s->number = og__alloc(sim->budget, s->longest * sizeof(*s->number), part, err);
    if (!s->last || !s->number)
        return -ENOMEM;
    memset(s->last, 0xff, distinct * sizeof(*s->last));
    return og__placement_build(&s->moments, NULL, moments_for(distinct, s->longest), 0, sim->budget,
                               err);
}

static void set_bit(struct og_placement *p, uint32_t i)
{
    p->bits[i >> 6] |= (uint64_t)1 << (i & 63);
}

static void clear_bit(struct og_placement *p, uint32_t i)
{
    p->bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
}

/* The moments of last uses become 0, 1, 2, ... in their order. */
static void renumber(struct stack *s)
{
    og__placement_count(&s->moments);
    s->now = s->moments.n_slots;
    for (uint32_t v = 0; v < s->nodes.n_slots; v++)
        if (s->last[v] != NEVER)
            s->last[v] = og__placement_rank(&s->moments, s->last[v]);
    og__placement_clear(&s->moments);
    for (uint32_t i = 0; i < s->now; i++)
        set_bit(&s->moments, i);
}

/* How many of the sizes miss a row that so many others were used after. */
static uint8_t level_of(const struct og_simulation *sim, uint32_t distance)
{
    uint32_t k = 0;
    while (k < sim->n_sizes && sim->size[k] <= distance)
        k++;
    return (uint8_t)k;
}

OG_CLONES static void stack_batch(struct stack *s, const struct og_simulation *sim,
                                  const uint32_t *ids, uint32_t n, uint8_t *level)
{
    enum { AHEAD = 16 };
    if ((uint64_t)s->now + n > s->moments.n_nodes)
        renumber(s);
    og__placement_count(&s->moments);
    for (uint32_t i = 0; i < n; i++) {
        s->number[i] = og__placement_rank(&s->nodes, ids[i]);
        __builtin_prefetch(&s->last[s->number[i]], 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t last = s->last[s->number[i]];
        if (i + AHEAD < n && s->last[s->number[i + AHEAD]] != NEVER)
            __builtin_prefetch(&s->moments.bits[s->last[s->number[i + AHEAD]] >> 6], 1);
        uint32_t before = last == NEVER ? 0 : og__placement_rank(&s->moments, last);
        level[i] = level_of(sim, last == NEVER ? NEVER : s->moments.n_slots - 1 - before);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *last = &s->last[s->number[i]];
        if (*last != NEVER)
            clear_bit(&s->moments, *last);
        *last = s->now++;
        set_bit(&s->moments, *last);
    }
}

static int stack_batches(const struct og_simulation *sim, uint8_t *of_row, struct og_err *err)
{
    const struct og_trace *t = &sim->trace;
    struct stack s;
    int rc;
    OG_TRY(open_stack(&s, sim, err));
    for (uint32_t b = 0; b < t->n_batches && !stopped(sim); b++)
        stack_batch(&s, sim, t->ids + t->ptr[b], batch_rows(t, b), of_row + t->ptr[b]);
out:
    close_stack(&s);
    return rc;
}

static int simulate_lru(const struct og_simulation *sim, struct og_simulated *out,
                        struct og_err *err)
{
    const uint64_t rows = sim->trace.ptr[sim->trace.n_batches];
    uint8_t *of_row = og__alloc(sim->budget, rows, part, err);
    int rc;
    if (!of_row)
        return -ENOMEM;
    OG_TRY(stack_batches(sim, of_row, err));
    OG_TRY(count_levels(sim, NULL, of_row, out, err));
out:
    og__release(sim->budget, of_row, rows, part);
    return rc;
}

/* ---- any other policy: run as it is, a size a task ---- */

struct running {
    struct lanes lanes;
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

/* The policy's tables move on only as its prefill is taken. list: lot_bytes. Was there any? */
static bool take_prefill(const struct og_simulation *sim, struct og_policy *p, uint32_t *list,
                         struct og_simulated *sum)
{
    const uint32_t most = lot_rows(sim);
    const uint64_t before = sum->prefill;
    for (uint32_t n; (n = og__policy_prefill(p, list, list + most, most)) > 0;) {
        sum->prefill += n;
        to_rows(sim, list, n);
        if (sim->fill_rows)
            add_io(&sum->fill, og__read_rule_predict(&sim->rule, list, n));
    }
    return sum->prefill > before;
}

/* Who is told of what each batch misses. */
struct told {
    og_missed *missed; /* may be NULL */
    void *arg;
    struct og_io_counts first_fill;
};

/* A superbatch on its way through a lane. */
struct superbatch {
    const struct og_simulation *sim;
    struct og_policy *policy;
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
    const bool fills = take_prefill(s->sim, s->policy, s->list, out);
    (void)err;
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
    to_rows(s->sim, plan->misses, plan->n_misses);
    count(s->sim, plan->n, plan->misses, plan->n_misses, &s->out->cost);
    return s->told->missed
               ? s->told->missed(s->told->arg, s->first + b, plan->misses, plan->n_misses, err)
               : 0;
}

/* The first n batches of t, which has those of a tail behind them; from number `first` on. */
static int run_superbatch(const struct og_simulation *sim, struct og_policy *p, struct lane *lane,
                          const struct og_trace *t, uint32_t n, uint32_t first, struct told *told,
                          struct og_simulated *out)
{
    uint32_t ignored;
    struct superbatch s = {.sim = sim,
                           .policy = p,
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
    s.list = og__alloc(sim->budget, lot_bytes(sim), part, &lane->err);
    int rc;
    OG_TRY(s.list ? og__policy_prepare(p, t, &ignored, &lane->err) : -ENOMEM);
    OG_TRY(og__walk_batches(&walk, t, n, &lane->err));
out:
    if (first == 0)
        told->first_fill = out->fill;
    og__release(sim->budget, s.list, lot_bytes(sim), part);
    return rc;
}

/* Batches seen behind a superbatch, at most. */
static uint32_t tail_of(const struct og_simulation *sim, const struct og_policy_setup *setup)
{
    const uint32_t room = OG__MOST_FORESEEN - OG_MIN(sim->superbatch, (uint32_t)OG__MOST_FORESEEN);
    return OG_MIN(og__policy_tail(setup), room);
}

static int run_policy(const struct og_simulation *sim, struct og_policy_setup setup,
                      struct lane *lane, struct told *told, struct og_simulated *out)
{
    struct og_policy *policy = NULL;
    const size_t bytes = ((size_t)sim->trace.n_batches + 1) * sizeof(uint64_t);
    uint64_t *ptr = og__alloc(sim->budget, bytes, part, &lane->err);
    int rc;
    OG_TRY(ptr ? og__policy_open(&policy, &setup, sim->budget, &lane->err) : -ENOMEM);
    const uint32_t end = sim->trace.n_batches;
    uint32_t last = 0;
    for (uint32_t b = 0; b < end && !stopped(sim); b = last) {
        last = b + OG_MIN(sim->superbatch, end - b);
        const uint32_t seen = last + OG_MIN(tail_of(sim, &setup), end - last);
        const struct og_trace t = slice(&sim->trace, b, seen, ptr);
        if (sim->n_yielded > 0)
            og__policy_invalidate(policy, setup.n_slots - OG_MIN(sim->n_yielded, setup.n_slots));
        OG_TRY(run_superbatch(sim, policy, lane, &t, last - b, b, told, out));
    }
out:
    og__policy_close(policy);
    og__release(sim->budget, ptr, bytes, part);
    return rc;
}

/* A task is a lane, so that no more policies are in memory than there are lanes. */
static void run_lane(void *arg, size_t task, int thread)
{
    struct running *r = arg;
    struct lane *lane = &r->lanes.lane[task];
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
    const uint64_t batches = (uint64_t)sim->superbatch + tail_of(sim, setup);
    rows = OG_MIN(rows, batches * longest);
    return og__policy_bytes(&largest, rows, batches, OG_MIN(rows, sim->n_nodes)) + RADIX_BYTES +
           lot_bytes(sim);
}

static int simulate_others(const struct og_simulation *sim, const struct og_policy_setup *setup,
                           struct og_simulated *out, struct og_err *err)
{
    const struct og_trace *t = &sim->trace;
    uint64_t longest = longest_batch(t);
    size_t each = policy_bytes(sim, setup, t->ptr[t->n_batches], longest) + lane_bytes(longest);
    size_t fit = og__budget_left(sim->budget) / each;
    size_t n = OG_MIN((size_t)og__pool_threads(sim->pool), OG_MIN((size_t)sim->n_sizes, fit));
    struct running r = {.setup = setup, .out = out};
    int rc;
    OG_TRY(open_lanes(&r.lanes, sim, (int)OG_MAX(n, (size_t)1), err));
    og__pool_run(sim->pool, (size_t)r.lanes.n, run_lane, &r);
    OG_TRY(lanes_failed(&r.lanes, err));
out:
    close_lanes(&r.lanes);
    return rc;
}

int og__simulate_each(const struct og_simulation *sim, const struct og_policy_setup *setup,
                      og_missed *missed, void *arg, struct og_simulated *out,
                      struct og_io_counts *first_fill, struct og_err *err)
{
    struct lanes lanes;
    struct told told = {.missed = missed, .arg = arg};
    memset(out, 0, sizeof(*out));
    int rc;
    OG_TRY(open_lanes(&lanes, sim, 1, err));
    lanes.lane->rc = run_policy(sim, *setup, lanes.lane, &told, out);
    OG_TRY(lanes_failed(&lanes, err));
out:
    close_lanes(&lanes);
    if (first_fill)
        *first_fill = told.first_fill;
    return rc;
}

/* ---- all of them ---- */

int og__simulate(const struct og_simulation *sim, const struct og_policy_setup *setup,
                 struct og_simulated *out, struct og_err *err)
{
    memset(out, 0, sim->n_sizes * sizeof(*out));
    if (og__policy_is_static(setup->kind))
        return simulate_static(sim, setup, out, err);
    if (og__policy_is_stack(setup->kind))
        return simulate_lru(sim, out, err);
    return simulate_others(sim, setup, out, err);
}

size_t og__simulate_bytes(const struct og_simulation *sim, const struct og_policy_setup *setup,
                          uint64_t rows, uint64_t longest)
{
    uint64_t distinct = OG_MIN(rows, sim->n_nodes);
    size_t lanes = (size_t)og__pool_threads(sim->pool) * lane_bytes(longest);
    if (og__policy_is_static(setup->kind))
        return sim->n_nodes + og__placement_bytes(sim->n_nodes) + RADIX_BYTES + lot_bytes(sim) +
               lanes;
    if (og__policy_is_stack(setup->kind))
        return rows + lanes + og__placement_bytes(sim->n_nodes) + RADIX_BYTES + 4 * distinct +
               4 * longest + og__placement_bytes(moments_for(distinct, longest));
    return lane_bytes(longest) + policy_bytes(sim, setup, rows, longest);
}

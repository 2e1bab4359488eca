/* The order of this file: which rounds there are, their batches, and each owner in them.
 *
 *   items of all workers   | training of epoch 1 | ... until its last superbatch ends | tail |
 *                            what is counted          what a policy that looks ahead sees besides
 *
 * An owner has slots of each group of rows. A group's are counted alone, over its part of the
 * batches. */
#include "run/plan_exchange.h"

#include "base/json.h"
#include "choose/hotness.h"
#include "comm/comm.h"
#include "flow/pipeline.h"
#include "lookahead/lookahead.h"
#include "plan/partitioned.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "counting";

/* A group's rows. */
struct group {
    const struct og_group *of;
    struct og_read_rule rule;
    struct og_plan_cost did; /* by the first worker, as an owner */
};

struct counting {
    struct og_session *s;
    struct group *group; /* [n_groups] of groups with features; nodes ascend */
    uint32_t n_groups;
    uint64_t *slots; /* [workers][n_groups] of owners */
    struct og_schedule whole;
    uint32_t workers;
    uint32_t n_train;                 /* batches of an epoch, */
    uint32_t rounds;                  /* and its rounds, as far as they are counted */
    uint32_t n_items, n_rounds, most; /* of all; room for so many items */
    uint8_t *worker;                  /* [n_items] */
    uint32_t *end;                    /* [n_ends] rounds before which superbatches end */
    uint32_t n_ends;
    struct og_allocs arrays;
    /* the batches, once they are sampled */
    uint64_t *ptr; /* [n_items + 1] */
    uint32_t *ids;
    uint64_t room;
    uint32_t n;
    uint64_t *ptr_of; /* the same of a group, by its numbers; NULL: it has all, */
    uint32_t *ids_of;
    bool apart;                  /* unless there are several */
    struct og_sample_reads from; /* what sampling the first worker's batches of the epoch read */
};

/* ---- rounds ---- */

static uint64_t all_items(const struct counting *c)
{
    return og__schedule_stretch(&c->whole, 0);
}

/* Where the superbatch ends that begins with own item *at of the first worker. `*seen` is the end
 * of its lookahead. Both are items of all. */
static uint64_t superbatch_end(const struct counting *c, uint64_t *at, uint64_t *seen)
{
    const struct og_data_path *d = &c->s->path;
    const struct og_schedule *own = &d->workload->schedule;
    const uint64_t last = og__schedule_stretch(own, 0);
    const struct og_items items = {own, OG__SPLITS, 0, last};
    *at = og__superbatch_end(d, OG__SPLITS, *at, last);
    const uint64_t tail = *at + d->memory->tail;
    *seen = tail < last ? og__round_start(&items, tail) : all_items(c);
    return *at < last ? og__round_start(&items, *at) : all_items(c);
}

/* As far as memory allows: superbatches with the lookahead after the last. */
static void find_rounds(struct counting *c, uint32_t most)
{
    const struct og_items items = {&c->whole, OG__SPLITS, 0, all_items(c)};
    const bool ahead = og__samples_ahead(&c->s->exec);
    uint64_t own = 0;
    uint64_t seen = c->n_train;
    uint64_t end = ahead ? superbatch_end(c, &own, &seen) : c->n_train;
    uint64_t next;
    c->n_ends = c->n_rounds = c->rounds = c->n_items = 0;
    for (uint64_t item = 0; item < OG_MAX(seen, end); item = next) {
        next = og__round_end(&items, c->workers, item);
        if (next > most)
            return;
        for (uint64_t i = item; i < next; i++)
            c->worker[i] = (uint8_t)(og__item_at(&items, i).batch % c->workers);
        c->n_items = (uint32_t)next;
        c->n_rounds++;
        c->rounds += next <= c->n_train;
        if (next != end)
            continue;
        c->end[c->n_ends++] = c->n_rounds;
        if (end < c->n_train)
            end = superbatch_end(c, &own, &seen);
    }
}

/* ---- their batches ---- */

static int keep_batch(void *arg, struct og_work *w, struct og_err *err)
{
    struct counting *c = arg;
    const struct og_batch *batch = &w->sampled.batch;
    const uint32_t n_units = og__plans_units(&c->s->workload) ? batch->n_units : 0;
    uint32_t *to = c->ids + c->ptr[c->n];
    if ((uint64_t)batch->n_ids + n_units > c->room - c->ptr[c->n])
        return og__fail(err, -ENOMEM, "try another --seed",
                        "a batch has more rows than the profiling batches predicted");
    memcpy(to, batch->ids, batch->n_ids * sizeof(*to));
    if (n_units > 0)
        memcpy(to + batch->n_ids, batch->units, n_units * sizeof(*to));
    if (c->n < c->n_train && c->worker[c->n] == 0) {
        c->from.io.reads += w->sampled_from.io.reads;
        c->from.io.bytes += w->sampled_from.io.bytes;
    }
    c->n++;
    c->ptr[c->n] = c->ptr[c->n - 1] + batch->n_ids + n_units;
    return 0;
}

static int sample(struct counting *c, struct og_err *err)
{
    const struct og_items items = {&c->whole, OG__SPLITS, 0, c->n_items};
    struct og_pipeline p;
    c->ptr[0] = 0;
    og__pipeline_sample(&p, &c->s->path, items, true);
    return og__pipeline_run(&p, keep_batch, c, err);
}

/* ---- groups ---- */

static int open_groups(struct counting *c, struct og_err *err)
{
    const struct og_session *s = c->s;
    const struct og_graph *g = s->workload.row_graph;
    c->apart = g->n_groups > 1;
    c->group = calloc(g->n_groups, sizeof(*c->group));
    c->slots = calloc((size_t)c->workers * g->n_groups, sizeof(*c->slots));
    if (!c->group || !c->slots)
        return og__fail_errno(err, -ENOMEM, NULL, part);
    for (uint32_t k = 0; k < g->n_groups; k++) {
        struct group *w = &c->group[c->n_groups];
        w->of = &g->group[k];
        if (w->of->dim == 0)
            continue;
        w->rule = s->size[k].rule;
        c->n_groups++;
    }
    for (uint32_t i = 0; i < c->workers * c->n_groups; i++)
        c->slots[i] = s->memory.n_slots;
    return 0;
}

/* Whose rows the node's are; NULL: it has none. */
static struct group *group_of(const struct counting *c, uint32_t node)
{
    uint32_t k = c->n_groups;
    while (k > 0 && c->group[k - 1].of->first > node)
        k--;
    const struct og_group *of = k > 0 ? c->group[k - 1].of : NULL;
    return of && node < of->first + of->n_nodes ? &c->group[k - 1] : NULL;
}

/* ---- memory ---- */

static struct og_policy_setup policy_of(const struct counting *c, const struct group *w)
{
    const struct og_session *s = c->s;
    const uint64_t n_nodes = (uint64_t)w->of->n_nodes;
    struct og_policy_setup setup = og__policy_setup(&s->config.opt, s->exec.policy, n_nodes);
    setup.n_slots = (uint32_t)OG_MIN((uint64_t)s->memory.n_slots, n_nodes);
    return setup;
}

static struct og_simulation simulation_of(const struct counting *c, const struct group *w)
{
    const struct og_session *s = c->s;
    const struct og_policy_setup policy = policy_of(c, w);
    const uint32_t wanted = og__policy_tail(&policy);
    const struct og_trace all = {c->n, c->ptr, c->ids};
    const struct og_trace own = {c->n, c->ptr_of, c->ids_of};
    return (struct og_simulation){.trace = c->apart ? own : all,
                                  .n_nodes = (uint64_t)w->of->n_nodes,
                                  .superbatch = OG_MAX(c->n_rounds, 1u),
                                  .end = c->end,
                                  .n_ends = c->n_ends,
                                  .unseen =
                                      wanted - (uint32_t)OG_MIN((uint64_t)wanted, s->memory.tail),
                                  .size = &s->memory.n_slots,
                                  .n_sizes = 1,
                                  .rule = w->rule,
                                  .packed_row = og__packs(&s->exec) ? og__row_bytes(w->of) : 0,
                                  .pool = s->pool,
                                  .budget = s->budget,
                                  .stop = og__stop_flag(&s->config)};
}

static struct og_partitioned partitioned_of(const struct counting *c)
{
    return (struct og_partitioned){.workers = c->workers,
                                   .epoch = c->n_train,
                                   .superbatch = (int)OG_MIN(c->n_rounds, (uint32_t)INT32_MAX),
                                   .exchange = true,
                                   .worker = c->worker,
                                   .dense = c->s->config.own_rows};
}

/* ---- slots of the owners ---- */

/* Without --cache as many bytes as the session's own. */
static struct og_amount owned_amount(const struct og_session *s)
{
    const struct og_amount *requested = &s->config.opt.cache;
    return requested->unit != OG_UNSET ? *requested
                                       : (struct og_amount){OG_BYTES, (double)s->memory.cache};
}

/* Slots of each group of one rank, which keeps rows of its own nodes alone. Worths are of all. As
 * that rank would have them, but for what its batches take of memory that others do not. */
static int find_owned_slots(const struct og_session *s, const uint32_t *worth, uint32_t rank,
                            uint64_t *slots, struct og_err *err)
{
    const struct og_graph *g = s->workload.row_graph;
    const uint32_t ranks = s->config.share.ranks;
    const struct og_amount cache = owned_amount(s);
    const struct og_capacity room = og__amount_room(&cache, s->workload.n_nodes);
    const uint64_t n = og__owned_nodes(ranks, rank, s->workload.n_nodes);
    struct og_group_bytes *group = og__group_bytes_of_graph(g);
    uint32_t *own = og__alloc(s->budget, n * sizeof(*own), "hotness", err);
    int rc;
    OG_TRY(own ? 0 : -ENOMEM);
    OG_TRY(group ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    og__owned_values(ranks, rank, n, worth, own);
    for (uint32_t t = 0; t < g->n_groups; t++)
        group[t].end = og__owned_nodes(ranks, rank, group[t].end);
    OG_TRY(og__worth_fit(own, group, g->n_groups, &room, NULL, s->budget, slots, err));
out:
    og__release(s->budget, own, n * sizeof(*own), "hotness");
    free(group);
    return rc;
}

static size_t owned_slots_bytes(const struct og_session *s)
{
    const uint64_t most = og__owned_nodes(s->config.share.ranks, 0, s->workload.n_nodes);
    return (size_t)most * sizeof(uint32_t) + OG__WORTH_FIT_BYTES;
}

/* ---- what it takes ---- */

static size_t hotness_bytes(const struct counting *c)
{
    const bool wanted =
        og__shares_slots(&c->s->workload) || og__policy_wants_hotness(c->s->exec.policy);
    return wanted ? c->s->workload.n_nodes * sizeof(uint32_t) : 0;
}

static size_t ranking_bytes(const struct counting *c)
{
    const int policy = c->s->exec.policy;
    const size_t owned = og__shares_slots(&c->s->workload) ? owned_slots_bytes(c->s) : 0;
    const int by = og__shares_slots(&c->s->workload) ? og__policy_ranked_like(policy) : policy;
    return hotness_bytes(c) ? OG_MAX(og__hotness_bytes(&c->s->workload, by), owned) : 0;
}

static size_t batches_bytes(const struct counting *c)
{
    const uint64_t rows = og__input_rows(&c->s->workload) * c->n_items;
    return rows * sizeof(*c->ids) + ((size_t)c->n_items + 1) * sizeof(*c->ptr);
}

static size_t counting_bytes(const struct counting *c)
{
    const struct og_partitioned partitioned = partitioned_of(c);
    const uint64_t longest = og__input_rows(&c->s->workload);
    size_t running = 0;
    for (uint32_t k = 0; k < c->n_groups; k++) {
        const struct og_simulation sim = simulation_of(c, &c->group[k]);
        const struct og_policy_setup setup = policy_of(c, &c->group[k]);
        const uint64_t most = OG_MIN(longest, sim.n_nodes);
        const size_t bytes = og__simulate_partitioned_bytes(&sim, &setup, &partitioned, c->n_items,
                                                            most * c->n_items, most);
        running = OG_MAX(running, bytes);
    }
    if (c->apart)
        running += batches_bytes(c);
    return batches_bytes(c) + hotness_bytes(c) + OG_MAX(ranking_bytes(c), running);
}

static void open_batches(struct counting *c, uint64_t **ptr, uint32_t **ids, struct og_err *err)
{
    *ids = og__allocs_take(&c->arrays, c->room * sizeof(**ids), err);
    *ptr = og__allocs_take(&c->arrays, ((size_t)c->n_items + 1) * sizeof(**ptr), err);
}

/* As many rounds as memory has room for. */
static int open_counting(struct counting *c, struct og_err *err)
{
    struct og_budget *b = c->s->budget;
    uint64_t own = 0;
    uint64_t seen = 0;
    uint64_t end = 0;
    while (og__samples_ahead(&c->s->exec) && end < c->n_train)
        end = superbatch_end(c, &own, &seen);
    const uint64_t most = OG_MAX(OG_MAX(seen, end), (uint64_t)c->n_train);
    c->most = (uint32_t)OG_MIN(most, (uint64_t)UINT32_MAX / 2);
    c->arrays = og__allocs(b, part);
    c->worker = og__allocs_take(&c->arrays, c->most, err);
    c->end = og__allocs_take(&c->arrays, c->most * sizeof(*c->end), err);
    if (og__allocs_taken(&c->arrays) < 0)
        return -ENOMEM;
    for (uint32_t n = c->most; n > 0; n /= 2) {
        find_rounds(c, n);
        if (c->n_rounds > 0 && counting_bytes(c) <= og__budget_left(b))
            break;
        c->n_items = 0;
    }
    if (c->n_items == 0)
        return 0;
    c->room = og__input_rows(&c->s->workload) * c->n_items;
    open_batches(c, &c->ptr, &c->ids, err);
    if (c->apart)
        open_batches(c, &c->ptr_of, &c->ids_of, err);
    return og__allocs_taken(&c->arrays);
}

static void close_counting(struct counting *c)
{
    og__allocs_release(&c->arrays);
    free(c->group);
    free(c->slots);
}

/* ---- owners ---- */

struct owner_report {
    uint64_t requested, sent, received, bytes; /* of those received */
    struct og_plan_cost did;
    uint64_t prefill;
};

/* Rows of the epoch that go from one to another. */
static void count_rows(const struct counting *c, struct owner_report *report)
{
    const uint32_t n = OG_MIN(c->n_train, c->n_items);
    assert(c->workers > 1);
    for (uint32_t b = 0; b < n; b++)
        for (uint64_t i = c->ptr[b]; i < c->ptr[b + 1]; i++) {
            const uint32_t owner = og__owner_of(c->workers, c->ids[i]), by = c->worker[b];
            struct group *of = group_of(c, c->ids[i]);
            if (!of)
                continue;
            of->did.rows += owner == 0;
            report[owner].requested++;
            report[owner].sent += owner != by;
            report[by].received += owner != by;
            report[by].bytes += owner != by ? og__row_bytes(of->of) + sizeof(uint32_t) : 0;
        }
}

/* By what nodes are worth; and, of several groups, each owner's slots. */
static int rank_nodes(struct counting *c, uint32_t *hotness, struct og_err *err)
{
    struct og_session *s = c->s;
    const int policy = s->exec.policy;
    uint64_t slots[OG_MOST_TYPES];
    int rc = 0;
    if (!og__shares_slots(&c->s->workload))
        return og__hotness_of(&s->structure, s->pool, policy, &s->config.opt, hotness, err);
    OG_TRY(og__hotness_worth(&s->structure, s->pool, policy, &s->config.opt, hotness, err));
    if (!og__policy_caches(policy))
        return 0;
    for (uint32_t w = 0; w < c->workers; w++) {
        uint64_t *out = c->slots + (size_t)w * c->n_groups;
        OG_TRY(find_owned_slots(s, hotness, w, slots, err));
        for (uint32_t k = 0; k < c->n_groups; k++)
            out[k] = slots[c->group[k].of - s->workload.row_graph->group];
    }
out:
    return rc;
}

/* The remainder, modulo the owners, of the node numbers in a group that owner w has. Node 0 of
 * the group need not be the first owner's. */
static uint32_t owner_among(const struct counting *c, const struct group *of, uint32_t w)
{
    return (w + c->workers - (uint32_t)of->of->first % c->workers) % c->workers;
}

/* Slots of the group that phased memory does not release: the first ones of all groups. */
static uint32_t kept_slots(const struct counting *c, const uint64_t *slots, uint32_t k)
{
    uint64_t kept = c->s->memory.n_slots - c->s->memory.n_released;
    for (uint32_t i = 0; i < k; i++)
        kept -= OG_MIN(kept, slots[i]);
    return (uint32_t)OG_MIN(kept, slots[k]);
}

static int count_group(struct counting *c, uint32_t k, const uint32_t *hotness,
                       struct owner_report *report, struct og_err *err)
{
    struct group *of = &c->group[k];
    const struct og_trace all = {c->n, c->ptr, c->ids};
    const struct og_partitioned partitioned = partitioned_of(c);
    struct og_simulation sim = simulation_of(c, of);
    struct og_policy_setup setup = policy_of(c, of);
    int rc = 0;
    const uint64_t first = (uint64_t)of->of->first;
    if (c->apart)
        (void)og__trace_of_group(&all, first, first + sim.n_nodes, c->ptr_of, c->ids_of);
    setup.hotness = hotness ? hotness + first : NULL;
    for (uint32_t w = 0; w < c->workers; w++) {
        const uint64_t *slots = c->slots + (size_t)w * c->n_groups;
        const uint32_t owner = owner_among(c, of, w);
        struct og_simulated did;
        setup.n_slots = (uint32_t)OG_MIN(slots[k], og__owned_nodes(c->workers, owner, sim.n_nodes));
        sim.n_released = setup.n_slots - OG_MIN(kept_slots(c, slots, k), setup.n_slots);
        OG_TRY(og__simulate_owner(&sim, &setup, &partitioned, owner, c->rounds, &did, err));
        og__plan_cost_add(&report[w].did, &did.cost);
        report[w].prefill += did.prefill;
        if (w == 0)
            of->did = did.cost;
    }
    of->did.rows = 0; /* counted with those that are requested twice in a round */
out:
    return rc;
}

static int count_owners(struct counting *c, struct owner_report *report, struct og_err *err)
{
    struct og_session *s = c->s;
    uint32_t *hotness = NULL;
    int rc = 0;
    if (hotness_bytes(c) > 0) {
        hotness = og__alloc(s->budget, hotness_bytes(c), part, err);
        OG_TRY(hotness ? rank_nodes(c, hotness, err) : -ENOMEM);
    }
    for (uint32_t k = 0; k < c->n_groups; k++)
        OG_TRY(count_group(c, k, hotness, report, err));
    count_rows(c, report);
    OG_TRY(og__stopped(&s->config, "counting", err));
out:
    og__release(s->budget, hotness, hotness_bytes(c), part);
    return rc;
}

/* ---- results ---- */

static uint64_t scaled(const struct counting *c, uint64_t x)
{
    const uint32_t n = OG_MIN(c->n_train, c->n_items);
    return n == c->n_train ? x : (uint64_t)((double)x * c->n_train / n);
}

/* For segments it depends on how much of --disk is left when they are formed. */
static bool knows_reads(const struct counting *c)
{
    return c->s->exec.layout != OG_LAYOUT_SEGMENTED;
}

static uint64_t hits_of(const struct owner_report *t)
{
    return t->requested - t->did.misses; /* one requested twice in a round is a hit */
}

/* What the first worker does with rows of each type. */
static void tell_types(const struct counting *c)
{
    for (uint32_t k = 0; k < c->n_groups; k++) {
        const struct og_plan_cost *did = &c->group[k].did;
        c->s->size[c->group[k].of - c->s->workload.row_graph->group].epoch = (struct og_plan_cost){
            scaled(c, did->rows), scaled(c, did->rows - did->misses), scaled(c, did->misses),
            scaled(c, did->reads), scaled(c, did->bytes)};
    }
}

static void predict_first(const struct counting *c, const struct owner_report *t)
{
    const struct og_workload *f = &c->s->workload;
    const uint64_t own = og__schedule_batches(&f->schedule, OG__TRAIN);
    const bool spills = og__samples_ahead(&c->s->exec) && c->s->memory.trace_blocks == 0;
    const uint64_t a_batch = og__spilled_batch_bytes(f) + og__spilled_requests_bytes(&c->s->given);
    c->s->predicted = (struct og_predicted){
        .known = knows_reads(c),
        .plan = {scaled(c, t->requested), scaled(c, hits_of(t)), scaled(c, t->did.misses),
                 scaled(c, t->did.reads), scaled(c, t->did.bytes)},
        .topology_reads = scaled(c, c->from.io.reads),
        .topology_bytes = scaled(c, c->from.io.bytes),
        .trace.bytes = spills ? own * a_batch : 0};
    tell_types(c);
}

static json_t *read_json(const struct counting *c, uint64_t x)
{
    return knows_reads(c) ? json_integer((json_int_t)scaled(c, x)) : json_null();
}

static json_t *owner_json(const struct counting *c, uint32_t rank, const struct owner_report *t)
{
    const struct og_plan_cost *cost = &t->did;
    return json_pack(
        "{s:i s:I s:I s:I s:I s:o s:o s:I s:I}", "rank", (int)rank, "rows",
        (json_int_t)scaled(c, t->requested), "hits", (json_int_t)scaled(c, hits_of(t)), "misses",
        (json_int_t)scaled(c, cost->misses), "prefill", (json_int_t)t->prefill, "reads",
        read_json(c, cost->reads), "feature_bytes_read", read_json(c, cost->bytes), "rows_sent",
        (json_int_t)scaled(c, t->sent), "rows_received", (json_int_t)scaled(c, t->received));
}

static json_t *exchange_json(const struct counting *c, const struct owner_report *report)
{
    json_t *list = json_array();
    uint64_t moved = 0;
    uint64_t bytes = 0;
    for (uint32_t w = 0; w < c->workers; w++) {
        list = og__json_append(list, owner_json(c, w, &report[w]));
        moved += scaled(c, report[w].received);
        bytes += scaled(c, report[w].bytes);
    }
    return json_pack("{s:I s:I s:I s:o}", "batches", (json_int_t)OG_MIN(c->n_train, c->n_items),
                     "rows_exchanged", (json_int_t)moved, "exchanged_bytes", (json_int_t)bytes,
                     "workers", list);
}

int og__plan_exchange(struct og_session *s, json_t **out, struct og_err *err)
{
    struct owner_report report[OG__MOST_RANKS] = {0};
    struct counting c = {.s = s,
                         .whole = og__schedule_whole(&s->workload.schedule),
                         .workers = s->config.share.ranks};
    int rc;
    *out = NULL;
    c.n_train = (uint32_t)og__schedule_batches(&c.whole, OG__TRAIN);
    if (all_items(&c) < c.n_train) /* --epochs 0 */
        return 0;
    OG_TRY(open_groups(&c, err));
    OG_TRY(open_counting(&c, err));
    OG_TRY(c.n_items > 0 ? sample(&c, err) : -ENOMEM);
    OG_TRY(count_owners(&c, report, err));
    predict_first(&c, &report[0]);
    *out = exchange_json(&c, report);
    rc = *out ? 0 : og__fail_errno(err, -ENOMEM, NULL, "plan");
out:
    if (rc == -ENOMEM) { /* the run has room for what it does, which is not this */
        if (err)
            *err = (struct og_err){0};
        rc = 0;
        og__say(&s->config.log, OG__INFO,
                "--memory has no room for counting what workers exchange");
    }
    close_counting(&c);
    return rc;
}

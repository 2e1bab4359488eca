/* The order of this file: which rounds there are, their batches, and each owner in them.
 *
 *   items of all workers   | training of epoch 1 | ... until its last superbatch ends | tail |
 *                            what is told          what a policy that looks ahead sees besides */
#include "run/plan_exchange.h"

#include "ahead/ahead.h"
#include "base/json.h"
#include "comm/comm.h"
#include "plan/dealt.h"
#include "train/hotness.h"
#include "train/pipeline.h"

#include <assert.h>
#include <string.h>

static const char part[] = "counting";

struct counting {
    struct og_session *s;
    struct og_schedule whole;
    uint32_t workers;
    uint32_t n_train;                 /* batches of an epoch, */
    uint32_t rounds;                  /* and its rounds, as far as they are counted */
    uint32_t n_items, n_rounds, most; /* of all; room for so many items */
    uint8_t *worker;                  /* [n_items] */
    uint32_t *end;                    /* [n_ends] rounds before which superbatches end */
    uint32_t n_ends;
    /* the batches, once they are sampled */
    uint64_t *ptr; /* [n_items + 1] */
    uint32_t *ids;
    uint64_t room;
    uint32_t n;
    struct og_sample_reads from; /* what sampling the first worker's batches of the epoch read */
};

/* ---- rounds ---- */

static uint64_t all_items(const struct counting *c)
{
    return og__schedule_items(&c->whole);
}

/* Where the superbatch ends that begins with own item *at of the first worker, and what its policy
 * sees behind it: items of all. */
static uint64_t superbatch_end(const struct counting *c, uint64_t *at, uint64_t *seen)
{
    const struct og_data_path *d = &c->s->path;
    const struct og_schedule *own = &d->facts->schedule;
    const uint64_t last = og__schedule_items(own);
    const struct og_items items = {own, OG__SPLITS, 0, last};
    *at = og__superbatch_end(d, OG__SPLITS, *at, last);
    const uint64_t tail = *at + d->memory->tail;
    *seen = tail < last ? og__round_start(&items, tail) : all_items(c);
    return *at < last ? og__round_start(&items, *at) : all_items(c);
}

/* As far as there is room for: superbatches with what is seen behind the last. */
static void find_rounds(struct counting *c, uint32_t most)
{
    const struct og_items items = {&c->whole, OG__SPLITS, 0, all_items(c)};
    const bool ahead = og__samples_ahead(&c->s->way);
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
    if (batch->n_ids > c->room - c->ptr[c->n])
        return og__fail(err, -ENOMEM, "another --seed may have smaller ones",
                        "batches are larger than the first ones promised");
    memcpy(c->ids + c->ptr[c->n], batch->ids, batch->n_ids * sizeof(*c->ids));
    if (c->n < c->n_train && c->worker[c->n] == 0) {
        c->from.io.reads += w->sampled_from.io.reads;
        c->from.io.bytes += w->sampled_from.io.bytes;
    }
    c->n++;
    c->ptr[c->n] = c->ptr[c->n - 1] + batch->n_ids;
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

/* ---- memory ---- */

static struct og_policy_setup policy_of(const struct counting *c)
{
    const struct og_session *s = c->s;
    struct og_policy_setup setup =
        og__policy_setup(&s->config.opt, s->way.policy, s->facts.n_nodes);
    setup.n_slots = s->memory.n_slots;
    return setup;
}

static struct og_simulation simulation_of(const struct counting *c)
{
    const struct og_session *s = c->s;
    const struct og_policy_setup policy = policy_of(c);
    const uint32_t wanted = og__policy_tail(&policy);
    return (struct og_simulation){.trace = {c->n, c->ptr, c->ids},
                                  .n_nodes = s->facts.n_nodes,
                                  .superbatch = OG_MAX(c->n_rounds, 1u),
                                  .end = c->end,
                                  .n_ends = c->n_ends,
                                  .unseen =
                                      wanted - (uint32_t)OG_MIN((uint64_t)wanted, s->memory.tail),
                                  .size = &s->memory.n_slots,
                                  .n_sizes = 1,
                                  .rule = s->facts.read_rule,
                                  .packed_row = og__packs(&s->way) ? og__row_bytes(s->facts.ds) : 0,
                                  .pool = s->pool,
                                  .budget = s->budget,
                                  .stop = og__stop_flag(&s->config)};
}

static struct og_dealt dealt_of(const struct counting *c)
{
    return (struct og_dealt){.workers = c->workers,
                             .epoch = c->n_train,
                             .superbatch = (int)OG_MIN(c->n_rounds, (uint32_t)INT32_MAX),
                             .exchange = true,
                             .worker = c->worker,
                             .dense = c->s->config.own_rows};
}

static size_t hotness_bytes(const struct counting *c)
{
    return og__policy_wants_hotness(c->s->way.policy) ? c->s->facts.n_nodes * sizeof(uint32_t) : 0;
}

static size_t counting_bytes(const struct counting *c)
{
    const struct og_simulation sim = simulation_of(c);
    const struct og_policy_setup setup = policy_of(c);
    const struct og_dealt dealt = dealt_of(c);
    const uint64_t longest = og__input_rows(&c->s->facts);
    const uint64_t rows = longest * c->n_items;
    const size_t ranking = hotness_bytes(c) ? og__hotness_bytes(&c->s->facts, c->s->way.policy) : 0;
    return rows * sizeof(*c->ids) + ((size_t)c->n_items + 1) * sizeof(*c->ptr) + hotness_bytes(c) +
           OG_MAX(ranking,
                  og__simulate_dealt_bytes(&sim, &setup, &dealt, c->n_items, rows, longest));
}

/* As many rounds as memory has room for. */
static int open_counting(struct counting *c, struct og_err *err)
{
    struct og_budget *b = c->s->budget;
    uint64_t own = 0;
    uint64_t seen = 0;
    uint64_t end = 0;
    while (og__samples_ahead(&c->s->way) && end < c->n_train)
        end = superbatch_end(c, &own, &seen);
    const uint64_t most = OG_MAX(OG_MAX(seen, end), (uint64_t)c->n_train);
    c->most = (uint32_t)OG_MIN(most, (uint64_t)UINT32_MAX / 2);
    c->worker = og__alloc(b, c->most, part, err);
    c->end = c->worker ? og__alloc(b, c->most * sizeof(*c->end), part, err) : NULL;
    if (!c->end)
        return -ENOMEM;
    for (uint32_t n = c->most; n > 0; n /= 2) {
        find_rounds(c, n);
        if (c->n_rounds > 0 && counting_bytes(c) <= og__budget_left(b))
            break;
        c->n_items = 0;
    }
    if (c->n_items == 0)
        return 0;
    c->room = og__input_rows(&c->s->facts) * c->n_items;
    c->ids = og__alloc(b, c->room * sizeof(*c->ids), part, err);
    c->ptr = c->ids ? og__alloc(b, ((size_t)c->n_items + 1) * sizeof(*c->ptr), part, err) : NULL;
    return c->ptr ? 0 : -ENOMEM;
}

static void close_counting(struct counting *c)
{
    struct og_budget *b = c->s->budget;
    og__release(b, c->ids, c->room * sizeof(*c->ids), part);
    og__release(b, c->ptr, ((size_t)c->n_items + 1) * sizeof(*c->ptr), part);
    og__release(b, c->end, c->most * sizeof(*c->end), part);
    og__release(b, c->worker, c->most, part);
}

/* ---- owners ---- */

struct owner_told {
    uint64_t asked, sent, received;
    struct og_simulated did;
};

/* Rows of the epoch that go from one to another. */
static void count_rows(const struct counting *c, struct owner_told *told)
{
    const uint32_t n = OG_MIN(c->n_train, c->n_items);
    assert(c->workers > 1);
    for (uint32_t b = 0; b < n; b++)
        for (uint64_t i = c->ptr[b]; i < c->ptr[b + 1]; i++) {
            const uint32_t owner = og__owner_of(c->workers, c->ids[i]);
            told[owner].asked++;
            told[owner].sent += owner != c->worker[b];
            told[c->worker[b]].received += owner != c->worker[b];
        }
}

static int count_owners(const struct counting *c, struct owner_told *told, struct og_err *err)
{
    struct og_session *s = c->s;
    const struct og_simulation sim = simulation_of(c);
    const struct og_dealt dealt = dealt_of(c);
    struct og_policy_setup setup = policy_of(c);
    uint32_t *hotness = NULL;
    int rc = 0;
    if (hotness_bytes(c) > 0) {
        hotness = og__alloc(s->budget, hotness_bytes(c), part, err);
        OG_TRY(hotness ? og__hotness_of(&s->structure, s->pool, s->way.policy, &s->config.opt,
                                        hotness, err)
                       : -ENOMEM);
    }
    setup.hotness = hotness;
    for (uint32_t w = 0; w < c->workers; w++)
        OG_TRY(og__simulate_owner(&sim, &setup, &dealt, w, c->rounds, &told[w].did, err));
    count_rows(c, told);
    OG_TRY(og__stopped(&s->config, "counting", err));
out:
    og__release(s->budget, hotness, hotness_bytes(c), part);
    return rc;
}

/* ---- what is told ---- */

static uint64_t scaled(const struct counting *c, uint64_t x)
{
    const uint32_t n = OG_MIN(c->n_train, c->n_items);
    return n == c->n_train ? x : (uint64_t)((double)x * c->n_train / n);
}

/* Of segments it depends on how much of --disk is left when they are laid out. */
static bool knows_reads(const struct counting *c)
{
    return c->s->way.layout != OG_LAYOUT_SEGMENTED;
}

static uint64_t hits_of(const struct owner_told *t)
{
    return t->asked - t->did.cost.misses; /* one asked for twice in a round is a hit */
}

static void predict_first(const struct counting *c, const struct owner_told *t)
{
    const struct og_facts *f = &c->s->facts;
    const uint64_t own = og__schedule_batches(&f->schedule, OG__TRAIN);
    const bool spills = og__samples_ahead(&c->s->way) && c->s->memory.trace_blocks == 0;
    c->s->predicted = (struct og_predicted){
        .known = knows_reads(c),
        .plan = {scaled(c, t->asked), scaled(c, hits_of(t)), scaled(c, t->did.cost.misses),
                 scaled(c, t->did.cost.reads), scaled(c, t->did.cost.bytes)},
        .topology_reads = scaled(c, c->from.io.reads),
        .topology_bytes = scaled(c, c->from.io.bytes),
        .trace.bytes = spills ? own * og__spilled_batch_bytes(f) : 0};
}

static json_t *read_json(const struct counting *c, uint64_t x)
{
    return knows_reads(c) ? json_integer((json_int_t)scaled(c, x)) : json_null();
}

static json_t *owner_json(const struct counting *c, uint32_t rank, const struct owner_told *t)
{
    const struct og_plan_cost *cost = &t->did.cost;
    return json_pack(
        "{s:i s:I s:I s:I s:I s:o s:o s:I s:I}", "rank", (int)rank, "rows",
        (json_int_t)scaled(c, t->asked), "hits", (json_int_t)scaled(c, hits_of(t)), "misses",
        (json_int_t)scaled(c, cost->misses), "prefill", (json_int_t)t->did.prefill, "reads",
        read_json(c, cost->reads), "feature_bytes_read", read_json(c, cost->bytes), "rows_sent",
        (json_int_t)scaled(c, t->sent), "rows_received", (json_int_t)scaled(c, t->received));
}

static json_t *exchange_json(const struct counting *c, const struct owner_told *told)
{
    json_t *list = json_array();
    uint64_t moved = 0;
    for (uint32_t w = 0; w < c->workers; w++) {
        list = og__json_append(list, owner_json(c, w, &told[w]));
        moved += scaled(c, told[w].received);
    }
    return json_pack("{s:I s:I s:I s:o}", "batches", (json_int_t)OG_MIN(c->n_train, c->n_items),
                     "rows_exchanged", (json_int_t)moved, "exchanged_bytes",
                     (json_int_t)(moved * (c->s->facts.row_bytes + sizeof(uint32_t))), "workers",
                     list);
}

int og__plan_exchange(struct og_session *s, json_t **out, struct og_err *err)
{
    struct owner_told told[OG__MOST_RANKS] = {0};
    struct counting c = {
        .s = s, .whole = og__schedule_whole(&s->facts.schedule), .workers = s->config.share.ranks};
    int rc;
    *out = NULL;
    if (s->facts.types) { /* owners' slots are shared out among them by what each has */
        og__say(&s->config.log, OG__INFO,
                "--exchange: of graphs with types what workers will read and exchange is not "
                "counted beforehand");
        return 0;
    }
    c.n_train = (uint32_t)og__schedule_batches(&c.whole, OG__TRAIN);
    if (all_items(&c) < c.n_train) /* --epochs 0 */
        return 0;
    OG_TRY(open_counting(&c, err));
    OG_TRY(c.n_items > 0 ? sample(&c, err) : -ENOMEM);
    OG_TRY(count_owners(&c, told, err));
    predict_first(&c, &told[0]);
    *out = exchange_json(&c, told);
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

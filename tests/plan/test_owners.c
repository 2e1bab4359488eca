/* Nodes partitioned among owners: every policy's plans, followed over all of them. What simulate
 * counts of workers against the policies run by hand; and a verifier that finds what is wrong. */
#include "plan/policy_fixture.h"

#include "oracles/exchange.h"
#include "plan/demand.h"
#include "plan/partitioned.h"

enum { MOST_ROUNDS = 60, NODES = 90 };

static const int kinds[] = {
    OG_POLICY_NONE,      OG_POLICY_RANDOM, OG_POLICY_DEGREE, OG_POLICY_LRU,   OG_POLICY_RR,
    OG_POLICY_FREQUENCY, OG_POLICY_BELADY, OG_POLICY_HYBRID, OG_POLICY_SWEEP, OG_POLICY_SIEVE,
    OG_POLICY_TINYLFU,   OG_POLICY_S3FIFO, OG_POLICY_CLOCK};

/* ---- rounds, and what they ask of each owner ---- */

struct rounds {
    const struct og_trace *all;
    uint32_t owners, n;
    uint32_t first[MOST_ROUNDS], size[MOST_ROUNDS]; /* mini-batches */
    struct og_asking *asking;                       /* [batches] */
    uint32_t *at;                                   /* what those point into */
    struct trace of[OG__MOST_OWNERS];
};

static void list_rounds(struct rounds *r, uint32_t epoch)
{
    for (uint32_t start = 0; start < r->all->n_batches; start += epoch) {
        const uint32_t end = OG_MIN(start + epoch, r->all->n_batches);
        for (uint32_t b = start; b < end; b += r->owners) {
            r->first[r->n] = b;
            r->size[r->n++] = OG_MIN(r->owners, end - b);
        }
    }
}

/* The owner's nodes of a mini-batch, in its order. Returns how many. */
static uint32_t list_owned(const struct rounds *r, uint32_t owner, struct og_asking *a,
                           uint32_t *nodes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (og__owner_of(r->owners, a->ids[i]) == owner)
            nodes[n++] = a->ids[i];
    return n;
}

static void ask_round(struct rounds *r, struct og_demand *d, uint32_t k)
{
    static uint32_t lists[OG__MOST_OWNERS][NODES];
    const uint32_t *nodes[OG__MOST_OWNERS];
    uint32_t n[OG__MOST_OWNERS] = {0};
    uint64_t rows = d->at_ptr[d->n];
    for (uint32_t i = 0; i < r->owners; i++) {
        nodes[i] = lists[i];
        if (i < r->size[k])
            n[i] = list_owned(r, d->owner.owner, &r->asking[r->first[k] + i], lists[i]);
        rows += n[i];
    }
    assert_int_equal(og__demand_reserve(d, d->n + 1, rows, NULL), 0);
    og__demand_add(d, nodes, n);
}

/* By what an owner keeps of it when rows are exchanged (plan/demand.h). */
static void ask_owner(struct rounds *r, uint32_t owner, uint64_t n_nodes, uint32_t **at)
{
    struct trace *t = &r->of[owner];
    struct og_demand d;
    const uint32_t end = (uint32_t)n_nodes;
    assert_int_equal(og__demand_open(&d, r->owners, owner, &end, 1, NULL, NULL), 0);
    for (uint32_t k = 0; k < r->n; k++)
        ask_round(r, &d, k);
    const struct og_trace all = og__demand_trace(&d);
    t->ptr = calloc(r->n + 1, sizeof(*t->ptr));
    t->ids = calloc(all.ptr[r->n] + 1, sizeof(*t->ids));
    memcpy(t->ptr, all.ptr, (r->n + 1) * sizeof(*t->ptr));
    memcpy(t->ids, all.ids, all.ptr[r->n] * sizeof(*t->ids));
    t->view = (struct og_trace){r->n, t->ptr, t->ids};
    for (uint32_t k = 0; k < r->n; k++) {
        const struct og_demanded requested = og__demand_of(&d, k);
        const uint32_t *from = requested.at;
        assert_int_equal(requested.n, all.ptr[k + 1] - all.ptr[k]);
        for (uint32_t i = 0; i < r->size[k]; i++) {
            struct og_asking *a = &r->asking[r->first[k] + i];
            a->at[owner] = memcpy(*at, from, requested.counts[i] * sizeof(**at));
            a->n_at[owner] = requested.counts[i];
            *at += requested.counts[i];
            from += requested.counts[i];
        }
        assert_ptr_equal(from, requested.at + requested.n_at);
    }
    og__demand_close(&d);
}

static struct rounds make_rounds(const struct og_trace *all, uint32_t owners, uint32_t epoch,
                                 uint64_t n_nodes)
{
    struct rounds r = {.all = all, .owners = owners};
    list_rounds(&r, epoch);
    r.asking = calloc(all->n_batches, sizeof(*r.asking));
    for (uint32_t b = 0; b < all->n_batches; b++) {
        r.asking[b].ids = all->ids + all->ptr[b];
        r.asking[b].n = (uint32_t)(all->ptr[b + 1] - all->ptr[b]);
    }
    r.at = calloc(all->ptr[all->n_batches] + 1, sizeof(*r.at));
    uint32_t *at = r.at;
    for (uint32_t o = 0; o < owners; o++)
        ask_owner(&r, o, n_nodes, &at);
    return r;
}

static void drop_rounds(struct rounds *r)
{
    for (uint32_t o = 0; o < r->owners; o++)
        drop_trace(&r->of[o]);
    free(r->asking);
    free(r->at);
}

/* ---- all owners' policies, round by round ---- */

struct owners {
    struct og_exchange_verifier v;
    struct og_policy *policy[OG__MOST_OWNERS];
    struct og_policy_setup setup[OG__MOST_OWNERS];
    struct og_plan plan[OG__MOST_OWNERS];
    uint32_t *hotness[OG__MOST_OWNERS];
    struct og_planner planner;
};

static void open_owners(struct owners *w, const struct og_policy_setup *all, uint32_t owners)
{
    *w = (struct owners){.v.owners = owners};
    og__planner_init(&w->planner, NULL);
    for (uint32_t o = 0; o < owners; o++) {
        struct og_policy_setup *s = &w->setup[o];
        w->hotness[o] = calloc(all->n_nodes, sizeof(*w->hotness[o]));
        *s = *all;
        s->n_nodes = 0;
        for (uint32_t v = o; v < all->n_nodes; v += owners)
            w->hotness[o][s->n_nodes++] = all->hotness[v];
        s->hotness = w->hotness[o];
        s->n_slots = (uint32_t)OG_MIN((uint64_t)s->n_slots, s->n_nodes);
        og__plan_init(&w->plan[o], NULL);
        assert_int_equal(og__policy_open(&w->policy[o], s, NULL, NULL), 0);
        assert_int_equal(
            og__verifier_open(&w->v.cache[o], s->kind == OG_POLICY_NONE ? 0 : s->n_slots, NULL), 0);
    }
}

static void close_owners(struct owners *w)
{
    for (uint32_t o = 0; o < w->v.owners; o++) {
        og__verifier_close(&w->v.cache[o]);
        og__policy_close(w->policy[o]);
        og__plan_release(&w->plan[o]);
        free(w->hotness[o]);
    }
    og__planner_release(&w->planner);
}

static void plan_round(struct owners *w, const struct rounds *r, uint32_t k, struct tally *sum)
{
    struct og_serving serving[OG__MOST_OWNERS];
    struct og_err err = {0};
    for (uint32_t o = 0; o < r->owners; o++) {
        const struct trace *t = &r->of[o];
        prefill_slots(w->policy[o], &w->v.cache[o], NULL, sum);
        serving[o] = (struct og_serving){t->ids + t->ptr[k], (uint32_t)(t->ptr[k + 1] - t->ptr[k]),
                                         &w->plan[o]};
        assert_int_equal(og__policy_plan(w->policy[o], &w->planner, serving[o].ids, serving[o].n,
                                         &w->plan[o], &err),
                         0);
        sum->misses += w->plan[o].n_misses;
    }
    if (og__exchange_check(&w->v, r->asking + r->first[k], r->size[k], serving, &err) < 0)
        fail_msg("policy %d, round %u: %s", w->setup[0].kind, k, err.message);
}

/* In superbatches of `s` rounds. */
static struct tally run_owners(const struct rounds *r, const struct og_policy_setup *all,
                               uint32_t s)
{
    struct tally sum = {.rows = r->all->ptr[r->all->n_batches]};
    struct owners w;
    open_owners(&w, all, r->owners);
    for (uint32_t first = 0; first < r->n; first += s) {
        struct prepared p[OG__MOST_OWNERS];
        for (uint32_t o = 0; o < r->owners; o++)
            p[o] = prepare(w.policy[o], &w.setup[o], &r->of[o].view, first, s);
        for (uint32_t k = first; k < OG_MIN(first + s, r->n); k++)
            plan_round(&w, r, k, &sum);
        for (uint32_t o = 0; o < r->owners; o++) {
            free(p[o].ptr);
            og__policy_trim(w.policy[o]);
        }
    }
    close_owners(&w);
    return sum;
}

/* The batches of one worker, and how many of them an epoch has. */
struct share {
    uint64_t ptr[MOST_ROUNDS + 1];
    uint32_t *ids;
    uint32_t n_batches, an_epoch;
};

static struct share take_share(const struct og_trace *all, uint32_t workers, uint32_t epoch,
                               uint32_t w)
{
    struct share own = {.ids = calloc(all->ptr[all->n_batches] + 1, sizeof(*own.ids))};
    for (uint32_t b = 0; b < all->n_batches; b++) {
        const uint64_t rows = all->ptr[b + 1] - all->ptr[b], at = own.ptr[own.n_batches];
        if (b % epoch % workers != w)
            continue;
        own.an_epoch += b < epoch;
        memcpy(own.ids + at, all->ids + all->ptr[b], rows * sizeof(*own.ids));
        own.ptr[++own.n_batches] = at + rows;
    }
    return own;
}

/* Each worker with a cache of its own, over its batches. */
static struct tally run_workers(const struct og_trace *all, uint32_t workers, uint32_t epoch,
                                const struct og_policy_setup *setup, int superbatch)
{
    struct tally sum = {0};
    for (uint32_t w = 0; w < workers; w++) {
        struct share own = take_share(all, workers, epoch, w);
        const struct og_trace batches = {own.n_batches, own.ptr, own.ids};
        const struct tally t =
            run_policy(setup, &batches, superbatch > 0 ? (uint32_t)superbatch : own.an_epoch);
        sum.rows += t.rows;
        sum.misses += t.misses;
        sum.prefill += t.prefill;
        free(own.ids);
    }
    return sum;
}

/* ---- against what simulate counts ---- */

static void assert_counted(const struct og_simulation *sim, const struct og_policy_setup *setup,
                           const struct og_partitioned *partitioned, const struct tally *want)
{
    struct og_simulated out;
    struct og_err err = {0};
    if (og__simulate_partitioned(sim, setup, partitioned, &out, &err) < 0)
        fail_msg("policy %d: %s", setup->kind, err.message);
    assert_int_equal(out.cost.rows, want->rows);
    assert_int_equal(out.cost.misses, want->misses);
    assert_int_equal(out.cost.hits, want->rows - want->misses);
    assert_int_equal(out.prefill, want->prefill);
}

static void each_row_is_served_once_by_its_owner(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 31, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct og_budget *budget = og__budget_new(0);
    uint64_t misses = 0;
    for (int draw = 0; draw < 60; draw++) {
        const uint32_t workers = 1 + (uint32_t)draw % 5;
        const uint32_t epoch = workers + og__rng_below(&rng, 12);
        const uint32_t slots = og__rng_below(&rng, NODES / 2);
        uint32_t hotness[NODES];
        struct trace t = draw_trace(&rng, NODES, epoch + og__rng_below(&rng, 30), 40);
        for (uint32_t v = 0; v < NODES; v++)
            hotness[v] = og__rng_below(&rng, 9);
        struct rounds r = make_rounds(&t.view, workers, epoch, NODES);
        const struct og_simulation sim = {
            .trace = t.view,
            .n_nodes = NODES,
            .size = &slots,
            .n_sizes = 1,
            .rule = {.row_bytes = 48, .align = 64, .max_request = 4096},
            .budget = budget};
        struct og_partitioned partitioned = {.workers = workers,
                                             .epoch = epoch,
                                             .superbatch = (int)og__rng_below(&rng, 4),
                                             .exchange = true};
        const uint32_t s = partitioned.superbatch > 0 ? (uint32_t)partitioned.superbatch
                                                      : (epoch + workers - 1) / workers;
        for (size_t i = 0; i < OG_COUNT(kinds); i++) {
            const struct og_policy_setup setup = draw_setup(&rng, kinds[i], NODES, slots, hotness);
            const struct tally exchanged = run_owners(&r, &setup, s);
            partitioned.exchange = true;
            assert_counted(&sim, &setup, &partitioned, &exchanged);
            const struct tally own =
                run_workers(&t.view, workers, epoch, &setup, partitioned.superbatch);
            partitioned.exchange = false;
            assert_counted(&sim, &setup, &partitioned, &own);
            misses += exchanged.misses;
        }
        drop_rounds(&r);
        drop_trace(&t);
    }
    assert_true(misses > 10000);
    assert_int_equal(og__budget_used(budget), 0);
    og__budget_free(budget);
}

/* What each has by itself, added up. */
static void workers_have_a_device_each(void **state)
{
    (void)state;
    static const int above[] = {OG_POLICY_DEGREE, OG_POLICY_LRU, OG_POLICY_BELADY,
                                OG_POLICY_HYBRID};
    uint64_t hits[3] = {0};
    uint32_t hotness[NODES];
    struct og_rng rng;
    for (uint32_t draw = 0; draw < 40; draw++) {
        og__rng_at(&rng, 33, OG__STREAM_BENCH, draw, 0, 0, 0);
        const uint32_t workers = 1 + og__rng_below(&rng, 4);
        const uint32_t epoch = workers + og__rng_below(&rng, 6);
        struct trace t = draw_trace(&rng, NODES, 1 + og__rng_below(&rng, 3 * epoch), 40);
        for (uint32_t v = 0; v < NODES; v++)
            hotness[v] = og__rng_below(&rng, 9);
        const struct og_tiers_setup setup = {
            .device = draw_setup(&rng, above[draw % OG_COUNT(above)], NODES,
                                 og__rng_below(&rng, 20), hotness),
            .host = draw_setup(&rng, kinds[og__rng_below(&rng, OG_COUNT(kinds))], NODES,
                               og__rng_below(&rng, 20), hotness)};
        const struct og_partitioned partitioned = {
            .workers = workers, .epoch = epoch, .superbatch = (int)og__rng_below(&rng, 4)};
        struct og_simulation sim = {.trace = t.view,
                                    .n_nodes = NODES,
                                    .rule = {.row_bytes = 48, .align = 64, .max_request = 4096}};
        struct og_simulated_tiers told, one, sum = {0};
        assert_int_equal(og__simulate_tiers_partitioned(&sim, &setup, &partitioned, &told, NULL),
                         0);
        for (uint32_t w = 0; w < workers; w++) {
            struct share own = take_share(&t.view, workers, epoch, w);
            sim.trace = (struct og_trace){own.n_batches, own.ptr, own.ids};
            sim.superbatch =
                partitioned.superbatch > 0 ? (uint32_t)partitioned.superbatch : own.an_epoch;
            assert_int_equal(og__simulate_tiers(&sim, &setup, NULL, NULL, &one, NULL), 0);
            sum.cost.rows += one.cost.rows;
            sum.cost.misses += one.cost.misses;
            sum.cost.bytes += one.cost.bytes;
            sum.tiers.device_hits += one.tiers.device_hits;
            sum.tiers.host_hits += one.tiers.host_hits;
            sum.tiers.demoted += one.tiers.demoted;
            sum.prefill += one.prefill;
            sum.device_prefill += one.device_prefill;
            free(own.ids);
        }
        assert_int_equal(told.cost.rows, t.ptr[t.view.n_batches]);
        assert_int_equal(told.cost.rows, sum.cost.rows);
        assert_int_equal(told.cost.misses, sum.cost.misses);
        assert_int_equal(told.cost.bytes, sum.cost.bytes);
        assert_int_equal(told.tiers.device_hits, sum.tiers.device_hits);
        assert_int_equal(told.tiers.host_hits, sum.tiers.host_hits);
        assert_int_equal(told.tiers.demoted, sum.tiers.demoted);
        assert_int_equal(told.prefill, sum.prefill);
        assert_int_equal(told.device_prefill, sum.device_prefill);
        hits[0] += sum.tiers.device_hits;
        hits[1] += sum.tiers.host_hits;
        hits[2] += sum.tiers.demoted;
        drop_trace(&t);
    }
    assert_true(hits[0] > 100 && hits[1] > 100 && hits[2] > 0);
}

static void one_worker_is_one_process(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 32, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct trace t = draw_trace(&rng, NODES, 20, 40);
    const uint32_t sizes[] = {0, 5, 30, NODES};
    uint32_t hotness[NODES];
    for (uint32_t v = 0; v < NODES; v++)
        hotness[v] = og__rng_u32(&rng);
    struct og_simulation sim = {.trace = t.view,
                                .n_nodes = NODES,
                                .superbatch = 7,
                                .size = sizes,
                                .n_sizes = OG_COUNT(sizes),
                                .rule = {.row_bytes = 48, .align = 64, .max_request = 4096}};
    for (size_t i = 0; i < 2 * OG_COUNT(kinds); i++) {
        const struct og_policy_setup setup = draw_setup(&rng, kinds[i / 2], NODES, 0, hotness);
        const struct og_partitioned partitioned = {
            .workers = 1, .epoch = 10, .superbatch = 7, .exchange = i % 2};
        struct og_simulated want[OG_COUNT(sizes)];
        struct og_simulated out[OG_COUNT(sizes)];
        assert_int_equal(og__simulate(&sim, &setup, want, NULL), 0);
        assert_int_equal(og__simulate_partitioned(&sim, &setup, &partitioned, out, NULL), 0);
        for (size_t k = 0; k < OG_COUNT(sizes); k++) {
            assert_memory_equal(&out[k].cost, &want[k].cost, sizeof(want[k].cost));
            assert_int_equal(out[k].prefill, want[k].prefill);
        }
    }
    const struct og_partitioned alone = {
        .workers = 1, .epoch = 10, .superbatch = 7, .exchange = true};
    uint64_t requested[1];
    assert_int_equal(og__partitioned_rows(&t.view, &alone, requested), t.ptr[20]);
    assert_int_equal(requested[0], t.ptr[20]);
    drop_trace(&t);
}

/* Reads are of rows as they lie in the file of all nodes. */
static void what_owners_read_lies_where_the_file_has_it(void **state)
{
    (void)state;
    /* Two owners of 8 nodes: 0 has 0 2 4 6 as its 0 1 2 3. Owner 1 has 1 3 5 7. */
    static const uint32_t ids[] = {0, 2, 3, 4, 5, 6, 7, 1};
    static const uint64_t ptr[] = {0, 3, 8};
    const uint32_t size = 0;
    const struct og_simulation sim = {.trace = {2, ptr, ids},
                                      .n_nodes = 8,
                                      .size = &size,
                                      .n_sizes = 1,
                                      .rule = {.row_bytes = 64, .align = 64, .max_request = 4096}};
    static const int kept[] = {OG_POLICY_NONE, OG_POLICY_LRU, OG_POLICY_RR, OG_POLICY_BELADY};
    const struct og_partitioned partitioned = {.workers = 2, .epoch = 2, .exchange = true};
    for (size_t k = 0; k < OG_COUNT(kept); k++) {
        const struct og_policy_setup setup = {.kind = kept[k], .n_nodes = 8};
        struct og_simulated out;
        assert_int_equal(og__simulate_partitioned(&sim, &setup, &partitioned, &out, NULL), 0);
        assert_int_equal(out.cost.misses, 8);
        assert_int_equal(out.cost.reads, 8); /* none of an owner's rows touch */
        assert_int_equal(out.cost.bytes, 8 * 64);
    }
    uint64_t requested[2];
    assert_int_equal(og__partitioned_rows(&sim.trace, &partitioned, requested), 2 + 3);
    assert_int_equal(requested[0], 4);
    assert_int_equal(requested[1], 4);
}

/* ---- what the verifier finds ---- */

static void wrong_plans_are_found(void **state)
{
    (void)state;
    static const uint32_t ids[] = {4, 1, 2};
    static const uint32_t even[] = {2, 1};
    static const uint32_t odd[] = {0};
    uint32_t at_even[] = {0, 1};
    uint32_t at_odd[] = {0};
    uint32_t place[2][2] = {{1, 0}, {0}};
    uint32_t misses[2][2] = {{1, 2}, {0}};
    const struct og_plan plan[2] = {
        {.n = 2, .place = place[0], .n_misses = 2, .misses = misses[0]},
        {.n = 1, .place = place[1], .n_misses = 1, .misses = misses[1]}};
    struct og_serving serving[2] = {{even, 2, &plan[0]}, {odd, 1, &plan[1]}};
    struct og_asking asking = {ids, 3, {at_even, at_odd}, {2, 1}};
    struct og_exchange_verifier v = {.owners = 2};
    assert_int_equal(og__verifier_open(&v.cache[0], 0, NULL), 0);
    assert_int_equal(og__verifier_open(&v.cache[1], 0, NULL), 0);
    assert_int_equal(og__exchange_check(&v, &asking, 1, serving, NULL), 0);
    at_even[0] = 1; /* the other row */
    assert_int_equal(og__exchange_check(&v, &asking, 1, serving, NULL), -EINVAL);
    at_even[0] = 0;
    asking.n_at[0] = 1; /* one too few */
    assert_int_equal(og__exchange_check(&v, &asking, 1, serving, NULL), -EINVAL);
    asking.n = 2; /* one that nobody requests */
    struct og_err err = {0};
    assert_int_equal(og__exchange_check(&v, &asking, 1, serving, &err), -EINVAL);
    assert_non_null(strstr(err.message, "nobody asked"));
    asking.n_at[0] = 2;
    asking.n = 3;
    place[0][0] = 0; /* a miss of another node */
    assert_int_equal(og__exchange_check(&v, &asking, 1, serving, NULL), -EINVAL);
    og__verifier_close(&v.cache[0]);
    og__verifier_close(&v.cache[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_served_once_by_its_owner),
        cmocka_unit_test(one_worker_is_one_process),
        cmocka_unit_test(workers_have_a_device_each),
        cmocka_unit_test(what_owners_read_lies_where_the_file_has_it),
        cmocka_unit_test(wrong_plans_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Two caches, one over the other: every pair of policies against the verifier. Some pairs also
 * against exhaustive search and plain simulations that share no code with them. */
#include "plan/tiers_fixture.h"

#include "io/io.h"
#include "plan/simulate.h"
#include "support/runs.h"

/* ---- every pair ---- */

static struct og_tiers_setup draw_tiers(struct og_rng *rng, int device, int host, uint32_t n_nodes,
                                        const uint32_t *const hotness[2])
{
    const uint32_t n_device = og__rng_below(rng, n_nodes / 2 + 2);
    const uint32_t n_host = og__rng_below(rng, n_nodes / 2 + 2);
    struct og_tiers_setup s = {
        .device = draw_setup(rng, device, n_nodes, n_device, hotness[0]),
        .host = draw_setup(rng, host, n_nodes, n_host, hotness[og__rng_below(rng, 2)])};
    if (og__rng_below(rng, 2))
        s.victim = (struct og_victim_setup){s.device.window, 1 + og__rng_below(rng, 12),
                                            OG_MAX(s.device.update, 1u)};
    return s;
}

static void check_pair(struct og_rng *rng, int device, int host, const struct trace *t,
                       uint32_t n_nodes, const uint32_t *const hotness[2])
{
    const struct og_tiers_setup s = draw_tiers(rng, device, host, n_nodes, hotness);
    const struct tiers_tally sum = run_tiers(&s, &t->view, 1 + og__rng_below(rng, 8));
    assert_int_equal(sum.device_hits + sum.host_hits + sum.victim_hits + sum.misses, sum.rows);
    assert_int_equal(sum.rows, t->ptr[t->view.n_batches]);
    if (og__policy_is_static(device))
        assert_int_equal(sum.pushed + sum.dropped + sum.demoted, 0);
}

static void plans_of_every_pair_pass_the_verifier(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 51, OG__STREAM_BENCH, 0, 0, 0, 0);
    const int draws = 200 / (int)test_ways_step();
    for (int draw = 0; draw < draws; draw++) {
        const uint32_t n_nodes = 1 + og__rng_below(&rng, draw % 20 ? 40 : 500);
        uint32_t *hotness[2];
        for (int i = 0; i < 2; i++) {
            hotness[i] = calloc(n_nodes, sizeof(*hotness[i]));
            og__hotness_random(og__rng_u32(&rng), n_nodes, hotness[i]);
        }
        struct trace t = draw_trace(&rng, n_nodes, 1 + og__rng_below(&rng, 12),
                                    1 + og__rng_below(&rng, 2 * n_nodes));
        for (int device = 0; device < OG_POLICY_AUTO; device++)
            for (int host = 0; host < OG_POLICY_AUTO; host++)
                check_pair(&rng, device, host, &t, n_nodes, (const uint32_t *const *)hotness);
        drop_trace(&t);
        free(hotness[0]);
        free(hotness[1]);
    }
}

/* Without a device's cache the host's policy misses what it misses by itself; with a device's alone
 * likewise. */
static void a_tier_without_slots_changes_nothing(void **state)
{
    (void)state;
    struct og_rng rng;
    uint32_t hotness[200];
    og__rng_at(&rng, 52, OG__STREAM_BENCH, 0, 0, 0, 0);
    og__hotness_random(9, 200, hotness);
    for (int draw = 0; draw < 20; draw++) {
        struct trace t = draw_trace(&rng, 200, 12, 80);
        for (int kind = 0; kind < OG_POLICY_AUTO; kind++) {
            const struct og_policy_setup one = draw_setup(&rng, kind, 200, 60, hotness);
            const struct og_policy_setup empty =
                draw_setup(&rng, draw % OG_POLICY_AUTO, 200, 0, hotness);
            const uint64_t alone = run_policy(&one, &t.view, 12).misses;
            const struct og_tiers_setup on_device = {.device = one, .host = empty};
            const struct og_tiers_setup on_host = {.device = empty, .host = one};
            struct tiers_tally sum = run_tiers(&on_device, &t.view, 12);
            assert_int_equal(sum.misses, alone);
            assert_int_equal(sum.host_hits, 0);
            sum = run_tiers(&on_host, &t.view, 12);
            assert_int_equal(sum.misses, alone);
            assert_int_equal(sum.device_hits, 0);
        }
        drop_trace(&t);
    }
}

/* ---- two thresholds of one ranking ---- */

static void static_tiers_are_two_thresholds(void **state)
{
    (void)state;
    enum { NODES = 300 };
    struct og_rng rng;
    og__rng_at(&rng, 53, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 60; draw++) {
        uint32_t hotness[NODES];
        uint64_t hits[2] = {0};
        for (uint32_t v = 0; v < NODES; v++) /* many are alike */
            hotness[v] = og__rng_below(&rng, draw % 2 ? 8 : 100000);
        struct trace t = draw_trace(&rng, NODES, 10, 120);
        struct og_policy_setup one = draw_setup(&rng, OG_POLICY_DEGREE, NODES, 0, hotness);
        struct og_tiers_setup s = {.device = one, .host = one};
        s.device.n_slots = og__rng_below(&rng, NODES / 2);
        s.host.n_slots = og__rng_below(&rng, NODES);
        for (uint64_t i = 0; i < t.ptr[10]; i++) {
            const uint32_t v = t.ids[i];
            uint32_t rank = 0;
            for (uint32_t u = 0; u < NODES; u++)
                rank += hotness[u] > hotness[v] || (hotness[u] == hotness[v] && u < v);
            if (rank < s.device.n_slots + s.host.n_slots)
                hits[rank >= s.device.n_slots]++;
        }
        const struct tiers_tally sum = run_tiers(&s, &t.view, 4);
        assert_int_equal(sum.device_hits, hits[0]);
        assert_int_equal(sum.host_hits, hits[1]);
        drop_trace(&t);
    }
}

/* ---- lru, by lists ---- */

struct recency {
    uint32_t list[400], n, capacity;
};

static bool recent(const struct recency *r, uint32_t node)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->list[i] == node)
            return true;
    return false;
}

/* The rows of a batch in its order, the last one in front. */
static void use_all(struct recency *r, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = 0;
        while (at < r->n && r->list[at] != ids[i])
            at++;
        r->n += at == r->n;
        memmove(r->list + 1, r->list, at * sizeof(*r->list));
        r->list[0] = ids[i];
    }
    r->n = OG_MIN(r->n, r->capacity);
}

/* lru on the device; below it lru again, or what a ranking puts there. */
static void lru_over_another_equals_plain_lists(void **state)
{
    (void)state;
    enum { NODES = 200, BATCHES = 14 };
    struct og_rng rng;
    uint32_t hotness[NODES];
    og__rng_at(&rng, 54, OG__STREAM_BENCH, 0, 0, 0, 0);
    og__hotness_random(10, NODES, hotness);
    for (int draw = 0; draw < 80; draw++) {
        struct trace t = draw_trace(&rng, NODES, BATCHES, 90);
        const bool ranked = draw % 2;
        struct og_tiers_setup s = {
            .device = draw_setup(&rng, OG_POLICY_LRU, NODES, og__rng_below(&rng, 90), hotness),
            .host = draw_setup(&rng, ranked ? OG_POLICY_DEGREE : OG_POLICY_LRU, NODES,
                               og__rng_below(&rng, 120), hotness)};
        struct recency device = {.capacity = s.device.n_slots};
        struct recency host = {.capacity = s.host.n_slots};
        uint64_t hits[2] = {0};
        for (uint32_t b = 0; b < BATCHES; b++) {
            uint32_t missed[NODES];
            uint32_t n = 0;
            for (uint64_t i = t.ptr[b]; i < t.ptr[b + 1]; i++) {
                const uint32_t v = t.ids[i];
                uint32_t rank = 0;
                for (uint32_t u = 0; u < NODES; u++)
                    rank += hotness[u] > hotness[v] || (hotness[u] == hotness[v] && u < v);
                if (recent(&device, v)) {
                    hits[0]++;
                    continue;
                }
                hits[1] += ranked ? rank < s.host.n_slots : recent(&host, v);
                missed[n++] = v;
            }
            use_all(&device, t.ids + t.ptr[b], (uint32_t)(t.ptr[b + 1] - t.ptr[b]));
            use_all(&host, missed, n);
        }
        const struct tiers_tally sum = run_tiers(&s, &t.view, 1 + og__rng_below(&rng, BATCHES));
        assert_int_equal(sum.device_hits, hits[0]);
        assert_int_equal(sum.host_hits, hits[1]);
        drop_trace(&t);
    }
}

/* ---- two-tier belady ---- */

enum { FEW = 5, SETS = 1 << FEW, NEVER = INT32_MAX, A_MISS = 1000 };

static uint32_t size_of(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

static uint32_t set_of(const struct og_trace *t, uint32_t b)
{
    uint32_t set = 0;
    for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++)
        set |= 1u << t->ids[i];
    return set;
}

/* The minimum cost of any two caches of so many rows, whatever they hold at the start. A row that
 * neither has costs A_MISS, and one that goes over the link to the device costs 1, when it is used
 * or at any other time. All that is at hand may be put into either cache. */
struct least {
    uint32_t device, host;
    int cost[SETS][SETS], after[SETS][SETS]; /* by what the two hold; NEVER: they cannot */
};

/* Tries all that the device and the host may hold after a batch. Before it the device holds d and
 * the host h, at the cost that is known. */
static void try_all(struct least *l, uint32_t d, uint32_t h, uint32_t batch)
{
    const uint32_t at_hand = d | h | batch;
    const int paid =
        l->cost[d][h] + A_MISS * (int)size_of(batch & ~(d | h)) + (int)size_of(batch & ~d);
    for (uint32_t set = 0; set < SETS * SETS; set++) {
        const uint32_t e = set / SETS;
        const uint32_t g = set % SETS;
        const bool fits = size_of(e) <= l->device && size_of(g) <= l->host;
        if (fits && ((e | g) & ~at_hand) == 0)
            l->after[e][g] = OG_MIN(l->after[e][g], paid + (int)size_of(e & ~(d | batch)));
    }
}

static int least_cost(const struct og_trace *t, uint32_t device, uint32_t host)
{
    static struct least l;
    int least = NEVER;
    l.device = device;
    l.host = host;
    for (uint32_t set = 0; set < SETS * SETS; set++)
        l.cost[set / SETS][set % SETS] =
            size_of(set / SETS) <= device && size_of(set % SETS) <= host ? 0 : NEVER;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        for (uint32_t set = 0; set < SETS * SETS; set++)
            l.after[set / SETS][set % SETS] = NEVER;
        for (uint32_t set = 0; set < SETS * SETS; set++)
            if (l.cost[set / SETS][set % SETS] != NEVER)
                try_all(&l, set / SETS, set % SETS, set_of(t, b));
        memcpy(l.cost, l.after, sizeof(l.cost));
    }
    for (uint32_t set = 0; set < SETS * SETS; set++)
        least = OG_MIN(least, l.cost[set / SETS][set % SETS]);
    return least;
}

static struct og_tiers_setup two_belady(uint32_t n_nodes, uint32_t device, uint32_t host)
{
    const struct og_policy_setup one = {.kind = OG_POLICY_BELADY, .n_nodes = n_nodes};
    struct og_tiers_setup s = {.device = one, .host = one};
    s.device.n_slots = device;
    s.host.n_slots = host;
    return s;
}

static void two_tier_belady_reads_and_brings_least(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 55, OG__STREAM_BENCH, 0, 0, 0, 0);
    uint64_t misses = 0;
    uint64_t host_hits = 0;
    for (int draw = 0; draw < 60; draw++) {
        struct trace t = draw_trace(&rng, FEW, 2 + og__rng_below(&rng, 8), FEW);
        const struct og_tiers_setup s =
            two_belady(FEW, og__rng_below(&rng, 4), og__rng_below(&rng, 3));
        const struct tiers_tally sum = run_tiers(&s, &t.view, t.view.n_batches);
        const uint64_t cost = A_MISS * sum.misses + sum.rows - sum.device_hits;
        assert_int_equal(cost, least_cost(&t.view, s.device.n_slots, s.host.n_slots));
        misses += sum.misses;
        host_hits += sum.host_hits;
        drop_trace(&t);
    }
    assert_true(misses > 60 && host_hits > 60);
}

/* Each Belady is as good as if it were alone. The device's cache is as one of its size, both caches
 * together as one of their size. */
static void two_tier_belady_is_two_beladys(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 56, OG__STREAM_BENCH, 0, 0, 0, 0);
    uint64_t demoted = 0;
    for (int draw = 0; draw < 60; draw++) {
        const uint32_t n_nodes = 50 + og__rng_below(&rng, 3000);
        struct trace t = draw_trace(&rng, n_nodes, 2 + og__rng_below(&rng, 40), n_nodes / 2);
        const struct og_tiers_setup s =
            two_belady(n_nodes, og__rng_below(&rng, n_nodes / 4), og__rng_below(&rng, n_nodes / 4));
        struct og_policy_setup one = s.device;
        const struct tiers_tally sum = run_tiers(&s, &t.view, t.view.n_batches);
        assert_int_equal(sum.rows - sum.device_hits,
                         run_policy(&one, &t.view, t.view.n_batches).misses);
        one.n_slots += s.host.n_slots;
        assert_int_equal(sum.misses, run_policy(&one, &t.view, t.view.n_batches).misses);
        demoted += sum.demoted;
        drop_trace(&t);
    }
    assert_true(demoted > 1000);
}

/* ---- belady below any policy that lets rows in ---- */

enum { SOME = 7, MOST_BATCHES = 12 };

struct seen {
    uint32_t missed[MOST_BATCHES], held[MOST_BATCHES], n;
};

/* What the device missed, and all that it held while it did. */
static void see(void *arg, const struct og_tiers_verifier *v, const struct og_tiers_plan *p)
{
    struct seen *s = arg;
    const uint32_t *ids = v->run->ids + v->run->ptr[v->batch];
    uint32_t missed = 0;
    uint32_t held = 0;
    for (uint32_t i = 0; i < p->plan.n; i++)
        if (p->plan.place[i] >= v->at.host)
            missed |= 1u << ids[i];
    for (uint32_t place = 0; place < v->at.host; place++)
        if (v->held[place] != OG_NO_SLOT)
            held |= 1u << v->held[place];
    s->missed[s->n] = missed;
    s->held[s->n++] = held;
}

/* The fewest misses of a cache of `host` rows that gets these requests. It may keep whatever is at
 * hand. */
static uint32_t fewest_beneath(const struct seen *s, uint32_t host)
{
    enum { ALL = 1 << SOME };
    uint32_t cost[ALL];
    uint32_t after[ALL];
    uint32_t least = UINT32_MAX;
    for (uint32_t h = 0; h < ALL; h++)
        cost[h] = size_of(h) <= host ? 0 : UINT32_MAX;
    for (uint32_t b = 0; b < s->n; b++) {
        memset(after, 0xff, sizeof(after));
        for (uint32_t h = 0; h < ALL; h++) {
            if (cost[h] == UINT32_MAX)
                continue;
            const uint32_t paid = cost[h] + size_of(s->missed[b] & ~h);
            const uint32_t at_hand = h | s->missed[b] | s->held[b];
            for (uint32_t next = at_hand;; next = (next - 1) & at_hand) {
                if (size_of(next) <= host)
                    after[next] = OG_MIN(after[next], paid);
                if (next == 0)
                    break;
            }
        }
        memcpy(cost, after, sizeof(cost));
    }
    for (uint32_t h = 0; h < ALL; h++)
        least = OG_MIN(least, cost[h]);
    return least;
}

static void belady_beneath_is_optimal(void **state)
{
    (void)state;
    static const int above[] = {OG_POLICY_LRU,    OG_POLICY_RR,      OG_POLICY_CLOCK,
                                OG_POLICY_SIEVE,  OG_POLICY_TINYLFU, OG_POLICY_S3FIFO,
                                OG_POLICY_HYBRID, OG_POLICY_BELADY};
    struct og_rng rng;
    uint64_t demoted = 0;
    og__rng_at(&rng, 57, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 210; draw++) {
        struct trace t = draw_trace(&rng, SOME, 2 + og__rng_below(&rng, MOST_BATCHES - 1), 5);
        struct seen seen = {.n = 0};
        struct og_tiers_setup s = two_belady(SOME, 0, og__rng_below(&rng, 4));
        s.device = draw_setup(&rng, above[draw % 7], SOME, 1 + og__rng_below(&rng, 3), NULL);
        const struct tiers_tally sum = run_tiers_and(&s, &t.view, t.view.n_batches, see, &seen);
        assert_int_equal(sum.misses, fewest_beneath(&seen, s.host.n_slots));
        demoted += sum.demoted;
        drop_trace(&t);
    }
    assert_true(demoted > 50);
}

/* ---- numbers ---- */

static void more_places_than_numbers_are_refused(void **state)
{
    (void)state;
    struct og_tiers_setup s = two_belady(1000, 100, 100);
    struct og_tiers *t;
    struct og_err err = {0};
    s.victim = (struct og_victim_setup){60000, 100000, 4};
    assert_int_equal(og__tiers_open(&t, &s, NULL, &err), -EINVAL);
    assert_null(t);
    assert_non_null(strstr(err.message, "6000000200 places"));
}

/* ---- the simulation ---- */

static void simulation_counts_what_plans_have(void **state)
{
    (void)state;
    enum { NODES = 150, BATCHES = 12 };
    struct og_rng rng;
    uint32_t hotness[NODES];
    og__rng_at(&rng, 58, OG__STREAM_BENCH, 0, 0, 0, 0);
    og__hotness_random(11, NODES, hotness);
    const uint32_t *const both[] = {hotness, hotness};
    struct og_budget *budget = og__budget_new(0);
    for (int draw = 0; draw < 120; draw++) {
        struct trace t = draw_trace(&rng, NODES, BATCHES, 60);
        const struct og_tiers_setup s =
            draw_tiers(&rng, (int)og__rng_below(&rng, OG_POLICY_AUTO),
                       (int)og__rng_below(&rng, OG_POLICY_AUTO), NODES, both);
        const struct og_simulation sim = {
            .trace = t.view,
            .n_nodes = NODES,
            .superbatch = 1 + og__rng_below(&rng, BATCHES),
            .rule = {.row_bytes = 48, .align = 512, .gap = 100, .max_request = 65536},
            .budget = budget};
        struct og_simulated_tiers out;
        const struct tiers_tally sum = run_tiers(&s, &t.view, sim.superbatch);
        assert_int_equal(og__simulate_tiers(&sim, &s, NULL, NULL, &out, NULL), 0);
        assert_int_equal(out.cost.rows, sum.rows);
        assert_int_equal(out.cost.misses, sum.misses);
        assert_int_equal(out.cost.hits, sum.rows - sum.misses);
        assert_int_equal(out.tiers.device_hits, sum.device_hits);
        assert_int_equal(out.tiers.host_hits, sum.host_hits);
        assert_int_equal(out.tiers.victim_hits, sum.victim_hits);
        assert_int_equal(out.tiers.demoted, sum.demoted);
        assert_int_equal(out.tiers.victim_pushed, sum.pushed);
        assert_int_equal(out.tiers.victim_dropped, sum.dropped);
        assert_int_equal(og__budget_used(budget), 0);
        drop_trace(&t);
    }
    og__budget_free(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_every_pair_pass_the_verifier),
        cmocka_unit_test(a_tier_without_slots_changes_nothing),
        cmocka_unit_test(static_tiers_are_two_thresholds),
        cmocka_unit_test(lru_over_another_equals_plain_lists),
        cmocka_unit_test(two_tier_belady_reads_and_brings_least),
        cmocka_unit_test(two_tier_belady_is_two_beladys),
        cmocka_unit_test(belady_beneath_is_optimal),
        cmocka_unit_test(more_places_than_numbers_are_refused),
        cmocka_unit_test(simulation_counts_what_plans_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

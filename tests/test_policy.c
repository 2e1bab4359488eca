/* Policies against the verifier, against exhaustive search and against slow implementations that
 * share no code with them. */
#include "testing.h"

#include "base/file.h"
#include "base/random.h"
#include "oracles/verifier.h"
#include "plan/policy.h"
#include "sample/sample.h"
#include "support/folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- random traces ---- */

struct trace {
    struct og_trace view;
    uint64_t *ptr;
    uint32_t *ids;
};

/* Batches of up to `most` distinct nodes, low ids more often than high ones. */
static struct trace draw_trace(struct og_rng *rng, uint32_t n_nodes, uint32_t n_batches,
                               uint32_t most)
{
    struct trace t = {.ptr = calloc(n_batches + 1, sizeof(*t.ptr)),
                      .ids = calloc((size_t)n_batches * most + 1, sizeof(*t.ids))};
    bool *in = calloc(n_nodes, sizeof(*in));
    for (uint32_t b = 0; b < n_batches; b++) {
        uint64_t end = t.ptr[b];
        uint32_t tries = og__rng_below(rng, most + 1);
        memset(in, 0, n_nodes);
        for (uint32_t i = 0; i < tries; i++) {
            uint32_t v = og__rng_below(rng, 1 + og__rng_below(rng, n_nodes));
            if (in[v])
                continue;
            in[v] = true;
            t.ids[end++] = v;
        }
        t.ptr[b + 1] = end;
    }
    free(in);
    t.view = (struct og_trace){n_batches, t.ptr, t.ids};
    return t;
}

static void drop_trace(struct trace *t)
{
    free(t->ptr);
    free(t->ids);
}

/* ---- a run of a policy: every plan is verified ---- */

struct tally {
    uint64_t rows, misses, prefill;
};

/* `expected`: rows before the first batch. */
static void prefill_slots(struct og_policy *p, struct og_verifier *v, const uint32_t *expected,
                          struct tally *sum)
{
    uint32_t nodes[7];
    uint32_t slots[7];
    uint32_t last = 0;
    uint32_t total = 0;
    for (uint32_t n; (n = og__policy_prefill(p, nodes, slots, OG_COUNT(nodes))) > 0; total += n) {
        for (uint32_t i = 0; i < n; i++) {
            assert_true(total + i == 0 || nodes[i] > last);
            last = nodes[i];
            assert_int_equal(og__verifier_prefill(v, slots[i], nodes[i], NULL), 0);
        }
    }
    if (expected)
        assert_int_equal(total, *expected);
    sum->prefill += total;
}

static bool has(const struct og_trace *t, uint32_t batch, uint32_t node)
{
    for (uint64_t i = t->ptr[batch]; i < t->ptr[batch + 1]; i++)
        if (t->ids[i] == node)
            return true;
    return false;
}

/* Rows enter while batches of the window before are trained: those from number `after` on may be,
 * and none of them may want what the slot held. */
static void sweep_fills_only_what_is_free(void **state)
{
    (void)state;
    enum { NODES = 60, BATCHES = 30, ROWS = 20 };
    struct og_rng rng;
    uint32_t early = 0;
    og__rng_at(&rng, 31, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 200; draw++) {
        uint32_t held[NODES];
        struct trace t = draw_trace(&rng, NODES, 1 + og__rng_below(&rng, BATCHES), ROWS);
        struct og_policy_setup setup = {.kind = OG_POLICY_SWEEP,
                                        .n_nodes = NODES,
                                        .n_slots =
                                            ROWS / 2 + og__rng_below(&rng, NODES - ROWS / 2)};
        struct og_planner planner;
        struct og_policy *p;
        struct og_plan plan;
        uint32_t ignored;
        og__planner_init(&planner, NULL);
        og__plan_init(&plan, NULL);
        memset(held, 0xff, sizeof(held));
        assert_int_equal(og__policy_open(&p, &setup, NULL, NULL), 0);
        assert_int_equal(og__policy_prepare(p, &t.view, &ignored, NULL), 0);
        for (uint32_t b = 0; b < t.view.n_batches; b++) {
            uint32_t node;
            uint32_t slot;
            uint32_t last = 0;
            while (og__policy_prefill(p, &node, &slot, 1) > 0) {
                uint32_t after = og__policy_free_after(p);
                assert_true(after >= last && after <= b);
                for (uint32_t k = after; k < b; k++)
                    assert_false(has(&t.view, k, held[slot]));
                held[slot] = node;
                last = after;
                early += after < b;
            }
            uint32_t n = (uint32_t)(t.ptr[b + 1] - t.ptr[b]);
            assert_int_equal(og__policy_plan(p, &planner, t.ids + t.ptr[b], n, &plan, NULL), 0);
            if (n <= setup.n_slots)
                assert_int_equal(plan.n_misses, 0);
        }
        og__policy_close(p);
        og__planner_release(&planner);
        og__plan_release(&plan);
        drop_trace(&t);
    }
    assert_true(early > 1000);
}

/* Superbatch [first, first + s) is prepared, and the tail that the policy wants behind it. */
struct prepared {
    uint64_t *ptr; /* to be freed once its batches are planned */
    uint32_t n;    /* batches to be planned */
    uint32_t n_prefill;
};
static struct prepared prepare(struct og_policy *p, const struct og_policy_setup *setup,
                               const struct og_trace *t, uint32_t first, uint32_t s)
{
    struct prepared f = {.n = OG_MIN(s, t->n_batches - first)};
    const uint32_t seen = OG_MIN(f.n + og__policy_tail(setup), t->n_batches - first);
    /* its own ids, as a superbatch has them: ptr starts at 0 */
    f.ptr = calloc(seen + 1, sizeof(*f.ptr));
    for (uint32_t b = 0; b <= seen; b++)
        f.ptr[b] = t->ptr[first + b] - t->ptr[first];
    const struct og_trace part = {seen, f.ptr, t->ids + t->ptr[first]};
    assert_int_equal(og__policy_prepare(p, &part, &f.n_prefill, NULL), 0);
    return f;
}

/* In superbatches of `s` batches, between which slots from `kept` on lose their rows. */
static struct tally run_yielding(const struct og_policy_setup *setup, const struct og_trace *trace,
                                 uint32_t s, uint32_t kept)
{
    struct tally sum = {0};
    struct og_policy *p;
    struct og_planner planner;
    struct og_plan plan;
    struct og_verifier v;
    struct og_budget *budget = og__budget_new(0);
    og__planner_init(&planner, budget);
    og__plan_init(&plan, budget);
    assert_int_equal(og__policy_open(&p, setup, budget, NULL), 0);
    uint32_t n_slots = (uint32_t)OG_MIN((uint64_t)setup->n_slots, setup->n_nodes);
    assert_int_equal(og__verifier_open(&v, setup->kind == OG_POLICY_NONE ? 0 : n_slots, NULL), 0);
    for (uint32_t first = 0; first < trace->n_batches; first += s) {
        struct prepared f = prepare(p, setup, trace, first, s);
        for (uint32_t b = first; b < first + f.n; b++) {
            prefill_slots(p, &v, b == first ? &f.n_prefill : NULL, &sum);
            const uint32_t *ids = trace->ids + trace->ptr[b];
            uint32_t n = (uint32_t)(trace->ptr[b + 1] - trace->ptr[b]);
            struct og_err err = {0};
            assert_int_equal(og__policy_plan(p, &planner, ids, n, &plan, &err), 0);
            if (og__verifier_check(&v, ids, n, &plan, &err) < 0)
                fail_msg("policy %d, batch %u: %s", setup->kind, b, err.message);
            sum.rows += n;
            sum.misses += plan.n_misses;
        }
        free(f.ptr);
        og__policy_trim(p);
        og__policy_invalidate(p, OG_MIN(kept, n_slots));
        for (uint32_t slot = kept; slot < v.n_slots; slot++)
            v.held[slot] = OG_NO_SLOT;
    }
    og__verifier_close(&v);
    og__plan_release(&plan);
    og__planner_release(&planner);
    og__policy_close(p);
    assert_int_equal(og__budget_used(budget), 0);
    og__budget_free(budget);
    return sum;
}

static struct tally run_policy(const struct og_policy_setup *setup, const struct og_trace *trace,
                               uint32_t s)
{
    return run_yielding(setup, trace, s, UINT32_MAX);
}

static struct og_policy_setup draw_setup(struct og_rng *rng, int kind, uint32_t n_nodes,
                                         uint32_t n_slots, const uint32_t *hotness)
{
    return (struct og_policy_setup){.kind = kind,
                                    .n_nodes = n_nodes,
                                    .n_slots = n_slots,
                                    .hotness = hotness,
                                    .ways = 1 + og__rng_below(rng, 40),
                                    .window = 1 + og__rng_below(rng, 20),
                                    .update = 1 + og__rng_below(rng, 5),
                                    .threshold = og__rng_below(rng, 6),
                                    .evict = (int)og__rng_below(rng, 3)};
}

static void every_plan_passes_the_verifier(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 1, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 200; draw++) {
        uint32_t n_nodes = 1 + og__rng_below(&rng, draw % 2 ? 3000 : 60);
        uint32_t *hotness = calloc(n_nodes, sizeof(*hotness));
        og__hotness_random(og__rng_u32(&rng), n_nodes, hotness);
        struct trace t = draw_trace(&rng, n_nodes, 1 + og__rng_below(&rng, 12),
                                    1 + og__rng_below(&rng, 2 * n_nodes));
        uint32_t n_slots = og__rng_below(&rng, n_nodes + 3);
        for (int kind = 0; kind < OG_POLICY_AUTO; kind++) {
            struct og_policy_setup setup = draw_setup(&rng, kind, n_nodes, n_slots, hotness);
            run_policy(&setup, &t.view, 1 + og__rng_below(&rng, 8));
            run_yielding(&setup, &t.view, 1 + og__rng_below(&rng, 4),
                         og__rng_below(&rng, n_slots + 1));
        }
        drop_trace(&t);
        free(hotness);
    }
}

/* ---- belady ---- */

/* The fewest misses any cache of `capacity` rows can have, whatever it held at the start: every set
 * of nodes, batch after batch. */
static uint32_t fewest_misses(const struct og_trace *t, uint32_t n_nodes, uint32_t capacity)
{
    enum { MOST = 1 << 8 };
    uint32_t cost[MOST];
    uint32_t after[MOST];
    uint32_t sets = 1u << n_nodes;
    for (uint32_t set = 0; set < sets; set++)
        cost[set] = (uint32_t)__builtin_popcount(set) <= capacity ? 0 : UINT32_MAX;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        uint32_t batch = 0;
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++)
            batch |= 1u << t->ids[i];
        memset(after, 0xff, sizeof(after));
        for (uint32_t set = 0; set < sets; set++) {
            if (cost[set] == UINT32_MAX)
                continue;
            uint32_t misses = cost[set] + (uint32_t)__builtin_popcount(batch & ~set);
            for (uint32_t next = 0; next < sets; next++)
                if ((next & ~(set | batch)) == 0 && (uint32_t)__builtin_popcount(next) <= capacity)
                    after[next] = OG_MIN(after[next], misses);
        }
        memcpy(cost, after, sizeof(cost));
    }
    uint32_t best = UINT32_MAX;
    for (uint32_t set = 0; set < sets; set++)
        best = OG_MIN(best, cost[set]);
    return best;
}

static void belady_is_optimal(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 2, OG__STREAM_BENCH, 0, 0, 0, 0);
    uint64_t some = 0;
    for (int draw = 0; draw < 400; draw++) {
        uint32_t n_nodes = 2 + og__rng_below(&rng, 6);
        struct trace t = draw_trace(&rng, n_nodes, 1 + og__rng_below(&rng, 9), n_nodes);
        struct og_policy_setup setup = {
            .kind = OG_POLICY_BELADY, .n_nodes = n_nodes, .n_slots = og__rng_below(&rng, n_nodes)};
        struct tally sum = run_policy(&setup, &t.view, t.view.n_batches);
        assert_int_equal(sum.misses, fewest_misses(&t.view, n_nodes, setup.n_slots));
        some += sum.misses;
        drop_trace(&t);
    }
    assert_true(some > 400);
}

/* By the letter: after every batch the whole cache is looked at anew, O(batches * nodes). */
struct slow {
    const struct og_trace *t;
    uint32_t n_nodes, capacity;
    bool *candidate; /* per node: is its row in memory, so that it may stay */
    bool *cached;
};

static uint64_t slow_misses(const struct slow *s, uint32_t b)
{
    uint64_t n = 0;
    for (uint64_t i = s->t->ptr[b]; i < s->t->ptr[b + 1]; i++)
        n += !s->cached[s->t->ids[i]];
    return n;
}

/* Keep the candidates that are needed soonest: in the order in which the rest of the trace names
 * them. */
static void slow_choose(struct slow *s, uint32_t from)
{
    memset(s->cached, 0, s->n_nodes);
    uint64_t n_ids = s->t->ptr[s->t->n_batches];
    uint32_t room = s->capacity;
    for (uint64_t i = s->t->ptr[from]; i < n_ids && room > 0; i++) {
        uint32_t v = s->t->ids[i];
        if (s->candidate[v] && !s->cached[v]) {
            s->cached[v] = true;
            room--;
        }
    }
}

static uint64_t slow_belady(const struct og_trace *t, uint32_t n_nodes, uint32_t capacity)
{
    struct slow s = {t, n_nodes, capacity, malloc(n_nodes * sizeof(*s.candidate)),
                     calloc(n_nodes, sizeof(*s.cached))};
    memset(s.candidate, true, n_nodes); /* at the start everything may be prefilled */
    slow_choose(&s, 0);
    uint64_t misses = 0;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        misses += slow_misses(&s, b);
        memcpy(s.candidate, s.cached, n_nodes);
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++)
            s.candidate[t->ids[i]] = true;
        slow_choose(&s, b + 1);
    }
    free(s.candidate);
    free(s.cached);
    return misses;
}

static void belady_equals_a_slow_one(void **state)
{
    (void)state;
    static const uint32_t percent[] = {1, 3, 10, 30};
    struct og_rng rng;
    og__rng_at(&rng, 3, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct trace t = draw_trace(&rng, 20000, 60, 6000);
    for (size_t i = 0; i < OG_COUNT(percent); i++) {
        struct og_policy_setup setup = {
            .kind = OG_POLICY_BELADY, .n_nodes = 20000, .n_slots = 200 * percent[i]};
        struct tally sum = run_policy(&setup, &t.view, t.view.n_batches);
        assert_int_equal(sum.misses, slow_belady(&t.view, 20000, setup.n_slots));
    }
    drop_trace(&t);
}

/* The same on batches sampled from a real graph, where the shared data is there. */
static void belady_equals_a_slow_one_on_a_real_graph(void **state)
{
    (void)state;
    enum { BATCHES = 30, BATCH = 64 };
    static const uint32_t percent[] = {1, 3, 10, 30};
    static const int fanout[] = {10, 10};
    const char *data = getenv("OUTGROW_DATA");
    char root[TEST_PATH];
    char source[4096];
    char graph[64];
    snprintf(source, sizeof(source), "%s/coauthor-cs", data ? data : "../shared/data");
    if (access(source, R_OK) != 0)
        skip();
    assert_non_null(test_folder(root, "policy"));
    snprintf(graph, sizeof(graph), "%s/graph", root);
    struct og_import import;
    og_import_init(&import);
    import.symmetrize = true;
    assert_int_equal(og_import("npy", source, graph, &import, NULL, NULL), 0);
    struct og_dataset *ds;
    struct og_topology topology;
    struct og_sampler *sampler;
    struct og_batch_memory m;
    assert_int_equal(og__dataset_open(graph, &ds, NULL), 0);
    assert_int_equal(og__topology_load(ds, NULL, &topology, NULL), 0);
    assert_int_equal(og__sampler_open(&sampler, &topology, fanout, 2, 1, NULL, NULL), 0);
    og__batch_init(&m, NULL);
    uint32_t n_nodes = (uint32_t)ds->n_nodes;
    struct trace t = {.ptr = calloc(BATCHES + 1, sizeof(*t.ptr)),
                      .ids = malloc((size_t)BATCHES * n_nodes * sizeof(*t.ids))};
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint32_t seeds[BATCH];
        for (uint32_t i = 0; i < BATCH; i++)
            seeds[i] = (b * BATCH + i) * 7 % n_nodes;
        assert_int_equal(og__sample(sampler, seeds, BATCH, OG__STREAM_BENCH, 1, b, &m, NULL), 0);
        memcpy(t.ids + t.ptr[b], m.batch.ids, m.batch.n_ids * sizeof(*t.ids));
        t.ptr[b + 1] = t.ptr[b] + m.batch.n_ids;
    }
    t.view = (struct og_trace){BATCHES, t.ptr, t.ids};
    for (size_t i = 0; i < OG_COUNT(percent); i++) {
        struct og_policy_setup setup = {
            .kind = OG_POLICY_BELADY, .n_nodes = n_nodes, .n_slots = n_nodes * percent[i] / 100};
        uint64_t slow = slow_belady(&t.view, n_nodes, setup.n_slots);
        assert_int_equal(run_policy(&setup, &t.view, BATCHES).misses, slow);
        assert_true(slow > 0);
    }
    drop_trace(&t);
    og__batch_release(&m);
    og__sampler_close(sampler);
    og__topology_release(&topology);
    og__dataset_close(ds);
    struct og_newdir remove = {.path = strdup(graph), .temporary = strdup(root)};
    og__newdir_abandon(&remove);
}

/* A superbatch never reads a row it holds and wants, and the second run of the same batches needs
 * less prefill than the first. */
static void what_is_cached_carries_over(void **state)
{
    (void)state;
    static const int carriers[] = {OG_POLICY_BELADY, OG_POLICY_FREQUENCY};
    struct og_rng rng;
    og__rng_at(&rng, 4, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct trace once = draw_trace(&rng, 2000, 10, 800);
    struct trace twice = {.ptr = calloc(21, sizeof(uint64_t)),
                          .ids = malloc(2 * once.ptr[10] * sizeof(uint32_t) + 1)};
    for (uint32_t b = 0; b <= 20; b++)
        twice.ptr[b] = b <= 10 ? once.ptr[b] : once.ptr[10] + once.ptr[b - 10];
    memcpy(twice.ids, once.ids, once.ptr[10] * sizeof(uint32_t));
    memcpy(twice.ids + once.ptr[10], once.ids, once.ptr[10] * sizeof(uint32_t));
    twice.view = (struct og_trace){20, twice.ptr, twice.ids};
    for (size_t i = 0; i < OG_COUNT(carriers); i++) {
        struct og_policy_setup setup = {.kind = carriers[i], .n_nodes = 2000, .n_slots = 300};
        struct tally one = run_policy(&setup, &once.view, 10);
        struct tally two = run_policy(&setup, &twice.view, 10);
        assert_int_equal(one.prefill, 300);
        assert_true(two.prefill < one.prefill + 200);
        if (carriers[i] == OG_POLICY_FREQUENCY)
            assert_int_equal(two.prefill, one.prefill);
    }
    drop_trace(&once);
    drop_trace(&twice);
}

/* ---- the others ---- */

/* Recency as a list that is searched from its front. */
static uint64_t slow_lru(const struct og_trace *t, uint32_t capacity)
{
    uint64_t rows = t->ptr[t->n_batches];
    uint32_t *list = malloc((rows + 1) * sizeof(*list));
    uint32_t n = 0;
    uint64_t misses = 0;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++) {
            uint32_t at = 0;
            while (at < n && list[at] != t->ids[i])
                at++;
            misses += at >= OG_MIN(n, capacity);
        }
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++) {
            uint32_t at = 0;
            while (at < n && list[at] != t->ids[i])
                at++;
            n += at == n;
            memmove(list + 1, list, at * sizeof(*list));
            list[0] = t->ids[i];
        }
        n = OG_MIN(n, capacity);
    }
    free(list);
    return misses;
}

static void lru_equals_a_slow_one(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 5, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 100; draw++) {
        uint32_t n_nodes = 2 + og__rng_below(&rng, 300);
        struct trace t = draw_trace(&rng, n_nodes, 12, n_nodes);
        struct og_policy_setup setup = {
            .kind = OG_POLICY_LRU, .n_nodes = n_nodes, .n_slots = og__rng_below(&rng, n_nodes)};
        struct tally sum = run_policy(&setup, &t.view, 3);
        assert_int_equal(sum.misses, slow_lru(&t.view, setup.n_slots));
        drop_trace(&t);
    }
}

/* With one set as large as the cache round robin is first in, first out. */
static void rr_with_one_set_is_fifo(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 6, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct trace t = draw_trace(&rng, 200, 30, 40);
    uint32_t n_slots = 50;
    struct og_policy_setup setup = {
        .kind = OG_POLICY_RR, .n_nodes = 200, .n_slots = n_slots, .ways = n_slots};
    struct tally sum = run_policy(&setup, &t.view, 30);
    uint32_t queue[50];
    uint32_t turn = 0;
    uint64_t misses = 0;
    memset(queue, 0xff, sizeof(queue));
    for (uint32_t b = 0; b < 30; b++) {
        bool missed[200] = {false};
        for (uint64_t i = t.ptr[b]; i < t.ptr[b + 1]; i++) {
            bool found = false;
            for (uint32_t s = 0; s < n_slots; s++)
                found |= queue[s] == t.ids[i];
            missed[t.ids[i]] = !found;
            misses += !found;
        }
        for (uint64_t i = t.ptr[b]; i < t.ptr[b + 1]; i++)
            if (missed[t.ids[i]])
                queue[turn++ % n_slots] = t.ids[i];
    }
    assert_int_equal(sum.misses, misses);
    drop_trace(&t);
}

static int compare_counts(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

static void frequency_keeps_what_is_visited_most(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 7, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 50; draw++) {
        uint32_t visits[300] = {0};
        struct trace t = draw_trace(&rng, 300, 20, 200);
        struct og_policy_setup setup = {
            .kind = OG_POLICY_FREQUENCY, .n_nodes = 300, .n_slots = og__rng_below(&rng, 301)};
        for (uint64_t i = 0; i < t.ptr[20]; i++)
            visits[t.ids[i]]++;
        qsort(visits, 300, sizeof(*visits), compare_counts);
        uint64_t hits = 0;
        uint32_t held = 0;
        for (uint32_t v = 0; v < setup.n_slots; v++) {
            hits += visits[v];
            held += visits[v] > 0;
        }
        struct tally sum = run_policy(&setup, &t.view, 20);
        assert_int_equal(sum.rows - sum.misses, hits);
        assert_int_equal(sum.prefill, held);
        drop_trace(&t);
    }
}

/* ---- hybrid ---- */

/* LSM-GNN's cache as the paper tells it (2024, section 4.2), which knows the whole run: before
 * every `update`-th batch all that is cached is looked up in the window of the batches to come. */
struct paper {
    const struct og_policy_setup *setup;
    const struct og_trace *t;
    struct line {
        uint32_t node;
        uint32_t reuse; /* batch, as the last look found it; or one of: */
        bool fresh;     /* filled by this batch */
    } * line;           /* [n_slots] */
    uint64_t misses;
};
#define EMPTY         UINT32_MAX
#define NOT_IN_WINDOW (UINT32_MAX - 1)
#define NOT_KNOWN     UINT32_MAX

static void paper_looks(struct paper *p, uint32_t batch)
{
    for (uint32_t i = 0; i < p->setup->n_slots; i++) {
        struct line *l = &p->line[i];
        l->reuse = NOT_IN_WINDOW;
        for (uint32_t b = batch; b <= batch + p->setup->window && b < p->t->n_batches; b++)
            if (l->reuse == NOT_IN_WINDOW && has(p->t, b, l->node))
                l->reuse = b;
    }
}

/* Lines of the node's set; the hash is the cache's own. */
static uint32_t paper_set(const struct paper *p, uint32_t node, uint32_t *end)
{
    const uint64_t slots = p->setup->n_slots;
    const uint64_t sets = OG_MAX(slots / p->setup->ways, (uint64_t)1);
    const uint64_t set = ((node * 0x9E3779B97F4A7C15ull >> 32) & 0xffffffff) * sets >> 32;
    *end = (uint32_t)((set + 1) * slots / sets);
    return (uint32_t)(set * slots / sets);
}

/* What leaves first has the least. */
static uint64_t paper_priority(const struct paper *p, const struct line *l, uint32_t batch)
{
    const uint64_t score = p->setup->hotness[l->node];
    const bool known = l->reuse < NOT_IN_WINDOW;
    uint64_t level = 2;
    if (l->reuse == NOT_IN_WINDOW)
        level = 0;
    if (known)
        level = l->reuse > batch + p->setup->threshold ? 1 : 3;
    if (p->setup->evict == OG_EVICT_STATIC)
        return score;
    if (p->setup->evict == OG_EVICT_HYBRID)
        return level << 32 | score;
    return level << 32 | (known ? 1000000 - l->reuse : 0);
}

static struct line *paper_victim(const struct paper *p, uint32_t node, uint32_t batch)
{
    uint32_t end;
    struct line *victim = NULL;
    for (uint32_t i = paper_set(p, node, &end); i < end; i++) {
        struct line *l = &p->line[i];
        if (l->node == EMPTY)
            return l;
        if (!l->fresh &&
            (!victim || paper_priority(p, l, batch) < paper_priority(p, victim, batch)))
            victim = l;
    }
    return victim;
}

static void paper_batch(struct paper *p, uint32_t batch)
{
    const uint32_t *ids = p->t->ids + p->t->ptr[batch];
    const uint32_t n = (uint32_t)(p->t->ptr[batch + 1] - p->t->ptr[batch]);
    bool *hit = calloc(n + 1, sizeof(*hit));
    if (batch % p->setup->update == 0)
        paper_looks(p, batch);
    for (uint32_t i = 0; i < p->setup->n_slots; i++) {
        p->line[i].fresh = false;
        for (uint32_t k = 0; k < n; k++) {
            if (p->line[i].node != ids[k])
                continue;
            hit[k] = true;
            p->line[i].reuse = NOT_KNOWN;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        struct line *victim = hit[k] ? NULL : paper_victim(p, ids[k], batch);
        p->misses += !hit[k];
        if (victim)
            *victim = (struct line){ids[k], NOT_KNOWN, true};
    }
    free(hit);
}

/* Plans of src beside it, in superbatches of `s` batches, after every batch the same contents. */
static void follow_paper(const struct og_policy_setup *setup, const struct og_trace *t, uint32_t s)
{
    struct paper paper = {.setup = setup, .t = t};
    struct og_policy *p;
    struct og_planner planner;
    struct og_plan plan;
    uint32_t *held = malloc((setup->n_slots + 1) * sizeof(*held));
    paper.line = malloc((setup->n_slots + 1) * sizeof(*paper.line));
    memset(held, 0xff, setup->n_slots * sizeof(*held));
    memset(paper.line, 0xff, setup->n_slots * sizeof(*paper.line));
    og__planner_init(&planner, NULL);
    og__plan_init(&plan, NULL);
    assert_int_equal(og__policy_open(&p, setup, NULL, NULL), 0);
    struct prepared f = {0};
    uint64_t misses = 0;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        if (b % s == 0)
            free(f.ptr);
        if (b % s == 0)
            f = prepare(p, setup, t, b, s);
        const uint32_t *ids = t->ids + t->ptr[b];
        const uint32_t n = (uint32_t)(t->ptr[b + 1] - t->ptr[b]);
        assert_int_equal(og__policy_plan(p, &planner, ids, n, &plan, NULL), 0);
        paper_batch(&paper, b);
        misses += plan.n_misses;
        for (uint32_t c = 0; c < plan.n_changes; c++)
            held[plan.change_slot[c]] = ids[plan.change_row[c]];
        if (misses != paper.misses)
            fail_msg("superbatches of %u, batch %u: %llu misses so far, the paper has %llu", s, b,
                     (unsigned long long)misses, (unsigned long long)paper.misses);
        for (uint32_t i = 0; i < setup->n_slots; i++)
            if (held[i] != paper.line[i].node)
                fail_msg("superbatches of %u, batch %u: slot %u has %u, the paper has %u", s, b, i,
                         held[i], paper.line[i].node);
    }
    og__policy_close(p);
    og__planner_release(&planner);
    og__plan_release(&plan);
    free(f.ptr);
    free(held);
    free(paper.line);
}

/* However long superbatches are, up to three epochs at once, with windows shorter and longer than
 * an epoch. */
static void hybrid_is_the_paper_s_in_any_superbatch(void **state)
{
    (void)state;
    enum { NODES = 150, EPOCH = 12, EPOCHS = 3, ROWS = 40 };
    static const uint32_t slots[] = {1, 16, 40, 90};
    static const uint32_t windows[] = {1, 3, 8, EPOCH, 20, 256};
    struct og_rng rng;
    uint32_t hotness[NODES];
    og__rng_at(&rng, 32, OG__STREAM_BENCH, 0, 0, 0, 0);
    og__hotness_random(7, NODES, hotness);
    for (size_t i = 0; i < OG_COUNT(slots) * OG_COUNT(windows); i++) {
        const uint32_t window = windows[i / OG_COUNT(slots)];
        struct trace t = draw_trace(&rng, NODES, EPOCH * EPOCHS, ROWS);
        struct og_policy_setup setup = {.kind = OG_POLICY_HYBRID,
                                        .n_nodes = NODES,
                                        .n_slots = slots[i % OG_COUNT(slots)],
                                        .hotness = hotness,
                                        .ways = 1 + og__rng_below(&rng, 12),
                                        .window = window,
                                        .update = 1 + og__rng_below(&rng, 5),
                                        .threshold = 1 + og__rng_below(&rng, window),
                                        .evict = (int)i % 3};
        for (uint32_t s = 1; s <= EPOCH; s++)
            follow_paper(&setup, &t.view, s);
        follow_paper(&setup, &t.view, EPOCH * EPOCHS);
        drop_trace(&t);
    }
}

/* Knowing the window, hybrid with everything in one set and nothing but next uses to go by misses
 * no more than round robin does. */
static void hybrid_beats_round_robin(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 8, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct trace t = draw_trace(&rng, 5000, 80, 1000);
    uint64_t misses[3];
    static const int evict[] = {OG_EVICT_HYBRID, OG_EVICT_DYNAMIC};
    struct og_policy_setup setup = {.kind = OG_POLICY_RR,
                                    .n_nodes = 5000,
                                    .n_slots = 1000,
                                    .ways = 32,
                                    .window = 256,
                                    .update = 4};
    misses[0] = run_policy(&setup, &t.view, 80).misses;
    setup.kind = OG_POLICY_HYBRID;
    for (int i = 0; i < 2; i++) {
        setup.evict = evict[i];
        misses[i + 1] = run_policy(&setup, &t.view, 80).misses;
        assert_true(misses[i + 1] < misses[0]);
    }
    setup.kind = OG_POLICY_BELADY;
    assert_true(run_policy(&setup, &t.view, 80).misses < misses[1]);
    drop_trace(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_passes_the_verifier),
        cmocka_unit_test(sweep_fills_only_what_is_free),
        cmocka_unit_test(belady_is_optimal),
        cmocka_unit_test(belady_equals_a_slow_one),
        cmocka_unit_test(belady_equals_a_slow_one_on_a_real_graph),
        cmocka_unit_test(what_is_cached_carries_over),
        cmocka_unit_test(lru_equals_a_slow_one),
        cmocka_unit_test(rr_with_one_set_is_fifo),
        cmocka_unit_test(frequency_keeps_what_is_visited_most),
        cmocka_unit_test(hybrid_is_the_paper_s_in_any_superbatch),
        cmocka_unit_test(hybrid_beats_round_robin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

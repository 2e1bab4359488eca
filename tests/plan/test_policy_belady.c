/* Belady against exhaustive search and a slow implementation that shares no code with it. */
#include "dataset/import/options.h"
#include "plan/policy_fixture.h"

/* ---- belady ---- */

/* The fewest misses that any cache of `capacity` rows can have, whatever it held at the start.
 * Tries every set of nodes, batch after batch. */
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

/* By the letter: after every batch the whole cache is looked at again, O(batches * nodes). */
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

/* Keeps the candidates that are needed soonest. Their order is that in which the rest of the trace
 * names them. */
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
    og__import_init(&import);
    import.symmetrize = true;
    assert_int_equal(og_import("npy", source, graph, &import, NULL, NULL), 0);
    struct og_graph *ds;
    struct og_topology topology;
    struct og_sampler *sampler;
    struct og_batch_memory m;
    assert_int_equal(og__graph_open(graph, &ds, NULL), 0);
    assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &topology, NULL), 0);
    assert_int_equal(og__sampler_open(&sampler, &topology, fanout, 2, 1, NULL, NULL), 0);
    og__batch_init(&m, NULL);
    uint32_t n_nodes = (uint32_t)ds->n_nodes;
    struct trace t = {.ptr = calloc(BATCHES + 1, sizeof(*t.ptr)),
                      .ids = malloc((size_t)BATCHES * n_nodes * sizeof(*t.ids))};
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint32_t seeds[BATCH];
        for (uint32_t i = 0; i < BATCH; i++)
            seeds[i] = (b * BATCH + i) * 7 % n_nodes;
        assert_int_equal(
            og__sample(sampler, seeds, BATCH,
                       &(struct og_sample_key){.stream = OG__STREAM_BENCH, .epoch = 1, .batch = b},
                       &m, NULL),
            0);
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
    og__graph_close(ds);
    struct og_newdir remove = {.path = strdup(graph), .temporary = strdup(root)};
    og__newdir_abandon(&remove);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(belady_is_optimal),
        cmocka_unit_test(belady_equals_a_slow_one),
        cmocka_unit_test(belady_equals_a_slow_one_on_a_real_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

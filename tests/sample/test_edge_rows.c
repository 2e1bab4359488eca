/* Rows of sampled edges are those of the dataset's own arrays. In memory and on disk, by every
 * sampler, of relations, and from a superbatch. */
#include "sample/topology_fixture.h"

#include "sample/group_sampling.h"
#include "sample/superbatch.h"

enum { MOST_RELATIONS = RELATIONS, HOPS = 3, BATCHES = 3 };

/* The lists of a graph, and the units of its edges. */
struct lists {
    const struct og_graph *g;
    int64_t *indptr[MOST_RELATIONS], *indices[MOST_RELATIONS];
    struct og_edge_unit unit[MOST_RELATIONS];
};

static void open_lists(struct lists *l, const struct og_graph *g)
{
    static const uint32_t rows[MOST_RELATIONS] = {7, 0, 1, 64, 0, 10};
    const uint32_t with_places = 4;
    uint32_t first = (uint32_t)g->n_nodes;
    *l = (struct lists){.g = g};
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *of = &g->relation[r];
        l->indptr[r] = malloc((size_t)(of->n_nodes + 1) * 8);
        l->indices[r] = malloc((size_t)of->n_edges * 8 + 8);
        assert_int_equal(og__npy_read_int64(&of->indptr, 0, of->n_nodes + 1, l->indptr[r], NULL),
                         0);
        assert_int_equal(og__npy_read_int64(&of->indices, 0, of->n_edges, l->indices[r], NULL), 0);
        l->unit[r] = (struct og_edge_unit){first, rows[r], .places = r == with_places};
        first += rows[r] ? (uint32_t)(of->n_edges / rows[r]) + 1 : 0;
    }
}

static void close_lists(struct lists *l)
{
    for (uint32_t r = 0; r < l->g->n_relations; r++) {
        free(l->indptr[r]);
        free(l->indices[r]);
    }
}

/* A batch's units by relation: where in its list the n-th of each is. */
struct units {
    uint32_t *at[MOST_RELATIONS], n[MOST_RELATIONS];
    bool *used; /* [n_units] by an edge */
};

static uint32_t relation_of(const struct lists *l, uint32_t unit)
{
    uint32_t r = 0;
    while (r + 1 < l->g->n_relations && l->unit[r + 1].first <= unit)
        r++;
    return r;
}

static struct units sort_units(const struct lists *l, const struct og_batch *b)
{
    struct units u = {.used = calloc((size_t)b->n_units + 1, 1)};
    bool *seen = calloc((size_t)(l->g->n_nodes + l->g->n_edges) + MOST_RELATIONS, 1);
    for (uint32_t r = 0; r < l->g->n_relations; r++)
        u.at[r] = malloc(((size_t)b->n_units + 1) * sizeof(*u.at[r]));
    for (uint32_t i = 0; i < b->n_units; i++) {
        const uint32_t r = relation_of(l, b->units[i]);
        assert_non_null(u.at[r]);
        u.at[r][u.n[r]++] = i;
        assert_false(seen[b->units[i]]);
        seen[b->units[i]] = true;
    }
    free(seen);
    return u;
}

static void check_list(const struct lists *l, const struct og_batch *b, const struct og_block *k,
                       uint32_t list, uint32_t r, bool once, const struct units *u)
{
    const struct og_relation *of = &l->g->relation[r];
    const int64_t v = b->ids[og__list_dst(k, list)] - l->g->group[of->destination].first;
    bool *taken = calloc((size_t)(l->indptr[r][v + 1] - l->indptr[r][v]) + 1, 1);
    for (uint32_t e = k->indptr[list]; e < k->indptr[list + 1]; e++) {
        const uint32_t rows = l->unit[r].rows;
        int64_t place = k->edge[e];
        if (rows == 0 && !l->unit[r].places) {
            assert_int_equal(place, 0);
            continue;
        }
        if (rows > 0) {
            assert_true(k->edge[e] / rows < u->n[r]);
            const uint32_t at = u->at[r][k->edge[e] / rows];
            place = (int64_t)(b->units[at] - l->unit[r].first) * rows + k->edge[e] % rows;
            u->used[at] = true;
        }
        assert_in_range(place, l->indptr[r][v], l->indptr[r][v + 1] - 1);
        assert_int_equal(l->indices[r][place] + l->g->group[of->source].first, b->ids[k->src[e]]);
        assert_false(once && taken[place - l->indptr[r][v]]);
        taken[place - l->indptr[r][v]] = true;
    }
    free(taken);
}

/* once: an edge is in its list once at most. */
static void check_edges(const struct lists *l, const struct og_batch *b, bool once)
{
    struct units u = sort_units(l, b);
    for (uint32_t h = 0; h < b->n_hops; h++) {
        const struct og_block *k = &b->hop[h];
        assert_non_null(k->edge);
        for (uint32_t r = 0; r < l->g->n_relations; r++)
            for (uint32_t i = og__first_list(k, r); i < og__end_of_lists(k, r); i++)
                check_list(l, b, k, i, r, once, &u);
    }
    for (uint32_t i = 0; i < b->n_units; i++)
        assert_true(u.used[i]);
    assert_true(b->n_units > 0);
    for (uint32_t r = 0; r < l->g->n_relations; r++)
        free(u.at[r]);
    free(u.used);
}

static void assert_same_edges(const struct og_batch *a, const struct og_batch *b)
{
    assert_same_batch(a, b);
    assert_int_equal(a->n_units, b->n_units);
    assert_memory_equal(a->units, b->units, a->n_units * 4);
    for (uint32_t h = 0; h < a->n_hops; h++)
        if (a->hop[h].n_edges)
            assert_memory_equal(a->hop[h].edge, b->hop[h].edge, a->hop[h].n_edges * 4);
}

static struct og_sampler *open_sampler(const struct og_topology *t, const struct og_sampling *how,
                                       struct og_budget *b)
{
    static const int fanout[3] = {9, -1, 3};
    int all[RELATIONS * HOPS];
    struct og_sampler *s;
    struct og_err err = {0};
    typed_fanouts(fanout, all);
    if (og__sampler_open(&s, t, all, HOPS, 11, b, &err) < 0 || og__sampler_choose(s, how, &err) < 0)
        fail_msg("%s", err.message);
    return s;
}

static void sample(struct og_sampler *s, const struct og_graph *g, uint32_t batch,
                   struct og_batch_memory *out)
{
    struct og_err err = {0};
    uint32_t seeds[SEEDS];
    pick_seeds(g->n_nodes, batch, seeds);
    if (og__sample(s, seeds, SEEDS,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = batch},
                   out, &err) < 0)
        fail_msg("%s", err.message);
}

static struct og_superbatch *keep_batches(const struct og_graph *g, struct og_sampler *s,
                                          const struct og_sampling *how, size_t memory,
                                          bool plans_units)
{
    const unsigned form = g->has_types ? OG__WITH_RELATIONS : how->once ? OG__NESTED : 0u;
    const unsigned weights = og__sampling_weighs(how) ? OG__WITH_WEIGHTS : 0u;
    const struct og_superbatch_options opt = {.scratch = OG__ONE_PLACE(folder),
                                              .memory = memory,
                                              .n_hops = HOPS,
                                              .n_nodes = (uint64_t)g->n_nodes,
                                              .n_relations = g->has_types ? g->n_relations : 0,
                                              .extras = OG__WITH_EDGES | form | weights,
                                              .plans_units = plans_units};
    struct og_superbatch *kept;
    struct og_batch_memory m;
    og__batch_init(&m, NULL);
    assert_int_equal(og__superbatch_open(&kept, &opt, NULL, NULL), 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        sample(s, g, i, &m);
        assert_int_equal(og__superbatch_append(kept, &m.batch, NULL), 0);
    }
    assert_int_equal(og__superbatch_finish(kept, NULL), 0);
    og__batch_release(&m);
    return kept;
}

/* Those from `first` on are in the superbatch. Their units follow their ids in the trace, or not.
 */
static void check_kept(struct og_superbatch *kept, const struct og_graph *g, struct og_sampler *s,
                       uint32_t first, bool plans_units, bool has_trace)
{
    const struct og_trace trace = og__superbatch_trace(kept);
    struct og_batch_memory m[2];
    og__batch_init(&m[0], NULL);
    og__batch_init(&m[1], NULL);
    for (uint32_t i = BATCHES; i-- > first;) {
        struct og_io_counts read;
        const uint32_t at = i - first;
        sample(s, g, i, &m[0]);
        const struct og_batch *b = &m[0].batch;
        assert_int_equal(og__superbatch_replay(kept, at, at + 1, &m[1], &read, NULL), 0);
        for (int h = 0; h < HOPS; h++) /* which is not kept */
            m[1].batch.hop[h].n_seen = m[0].batch.hop[h].n_seen;
        assert_same_edges(b, &m[1].batch);
        const uint32_t *ids = trace.ids + trace.ptr[at];
        assert_int_equal(trace.ptr[at + 1] - trace.ptr[at],
                         b->n_ids + (plans_units ? b->n_units : 0));
        if (has_trace)
            assert_memory_equal(ids, b->ids, b->n_ids * 4);
        if (has_trace && plans_units)
            assert_memory_equal(ids + b->n_ids, b->units, b->n_units * 4);
    }
    og__batch_release(&m[0]);
    og__batch_release(&m[1]);
}

/* In memory, spilled, and in part. Then ids are released, and the first two batches dropped. */
static void replay(const struct og_graph *g, struct og_sampler *s, const struct og_sampling *how)
{
    static const size_t memory[] = {0, 60000, SIZE_MAX};
    struct og_batch_memory scratch;
    struct og_io_counts read;
    og__batch_init(&scratch, NULL);
    for (size_t k = 0; k < 2 * OG_COUNT(memory); k++) {
        const bool units = k % 2;
        struct og_superbatch *kept = keep_batches(g, s, how, memory[k / 2], units);
        check_kept(kept, g, s, 0, units, true);
        assert_int_equal(og__superbatch_release_ids(kept, 0, NULL), 0);
        check_kept(kept, g, s, 0, units, memory[k / 2] == SIZE_MAX);
        assert_int_equal(og__superbatch_drop(kept, 2, &scratch, &read, NULL), 0);
        assert_int_equal(og__superbatch_finish(kept, NULL), 0);
        check_kept(kept, g, s, 2, units, true);
        og__superbatch_close(kept);
    }
    og__batch_release(&scratch);
}

/* Sampled as a group. */
static void join(const struct og_graph *g, struct og_sampler *alone, const struct og_topology *disk,
                 const struct og_sampling *how, unsigned shift)
{
    struct og_sampler *s = open_sampler(disk, how, NULL);
    const struct og_group_sampling_options opt = {.sizes = {BATCHES, shift, OG_MIB},
                                                  .scratch = OG__ONE_PLACE(folder),
                                                  .samplers = &s,
                                                  .n_samplers = 1};
    struct og_group_sampling *group;
    struct og_group_sampling_counts counts;
    struct og_batch_memory m[2];
    assert_int_equal(og__group_sampling_open(&group, disk, &opt, NULL, NULL), 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        const struct og_sample_key key = {.stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = i};
        uint32_t seeds[SEEDS];
        pick_seeds(g->n_nodes, i, seeds);
        assert_int_equal(og__group_sampling_add(group, seeds, SEEDS, &key, NULL), 0);
    }
    assert_int_equal(og__group_sampling_sample(group, &counts, NULL), 0);
    og__batch_init(&m[0], NULL);
    og__batch_init(&m[1], NULL);
    for (uint32_t i = 0; i < BATCHES; i++) {
        struct og_io_counts read = {0};
        sample(alone, g, i, &m[0]);
        assert_int_equal(og__group_sampling_take(group, i, 0, &m[1], &read, NULL), 0);
        assert_same_edges(&m[0].batch, &m[1].batch);
    }
    og__batch_release(&m[0]);
    og__batch_release(&m[1]);
    og__group_sampling_close(group);
    og__sampler_close(s);
}

static void check_way(const struct lists *l, const struct og_topology *memory,
                      const struct og_topology *disk, const struct og_sampling *how)
{
    struct og_budget *b = og__budget_new(0);
    struct og_sampler *s[2] = {open_sampler(memory, how, b), open_sampler(disk, how, b)};
    struct og_batch_memory m[2];
    og__batch_init(&m[0], b);
    og__batch_init(&m[1], b);
    for (uint32_t i = 0; i < BATCHES; i++) {
        sample(s[0], l->g, i, &m[0]);
        sample(s[1], l->g, i, &m[1]);
        check_edges(l, &m[0].batch, !how->replace);
        assert_same_edges(&m[0].batch, &m[1].batch);
    }
    replay(l->g, s[0], how);
    assert_int_equal(og__sampler_takes_groups(how), how->kind == OG_SAMPLER_UNIFORM);
    if (og__sampler_takes_groups(how)) {
        join(l->g, s[0], disk, how, 0);
        join(l->g, s[0], disk, how, 9);
    }
    for (int i = 0; i < 2; i++) {
        og__sampler_close(s[i]);
        og__batch_release(&m[i]);
    }
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
}

static void check_graph(const char *name)
{
    struct og_graph *g = open_dataset(name);
    struct og_topology memory, disk = open_disk(g, NULL, whole_bytes(g) / 2, NULL, NULL);
    struct lists l;
    open_lists(&l, g);
    assert_int_equal(og__topology_load(g, OG__WEIGHT_TABLES, NULL, &memory, NULL), 0);
    for (size_t w = 0; w < 2 * OG_COUNT(ways); w++) {
        struct og_sampling how = ways[w / 2];
        how.weights = w % 2;
        how.edges = l.unit;
        if (how.kind != OG_SAMPLER_WALK)
            check_way(&l, &memory, &disk, &how);
    }
    og__topology_release(&memory);
    og__topology_release(&disk);
    close_lists(&l);
    og__graph_close(g);
}

static void rows_are_those_of_the_edges(void **state)
{
    (void)state;
    struct graph graph = make_graph(2600, 900);
    write_graph("plain", &graph, OURS);
    check_graph("plain");
    free_graph(&graph);
}

static void and_so_they_are_of_relations(void **state)
{
    (void)state;
    struct graph lists[RELATIONS];
    make_typed(lists);
    write_typed("typed", lists, OURS);
    check_graph("typed");
    free_typed(lists);
}

static void walks_have_no_edges(void **state)
{
    (void)state;
    struct graph graph = make_graph(2600, 900);
    struct og_topology memory;
    struct og_sampler *s;
    struct lists l;
    const int fanout[] = {3};
    write_graph("walks", &graph, OURS);
    struct og_graph *g = open_dataset("walks");
    open_lists(&l, g);
    assert_int_equal(og__topology_load(g, OG__NO_WEIGHTS, NULL, &memory, NULL), 0);
    struct og_sampling how = ways[2];
    how.edges = l.unit;
    assert_int_equal(og__sampler_open(&s, &memory, fanout, 1, 11, NULL, NULL), 0);
    assert_int_equal(og__sampler_choose(s, &how, NULL), -ENOTSUP);
    og__sampler_close(s);
    og__topology_release(&memory);
    close_lists(&l);
    og__graph_close(g);
    free_graph(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_edges),
        cmocka_unit_test(and_so_they_are_of_relations),
        cmocka_unit_test(walks_have_no_edges),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

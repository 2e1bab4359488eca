/* Group sampling from disk: batches are those that each would be alone in memory, bit for bit. The
 * topology is read at most once a hop. */
#include "sample/topology_fixture.h"
#include "support/runs.h"

#include "dataset/times.h"
#include "sample/group_sampling.h"

enum { BATCHES = 7, THREADS = 3 };

struct group {
    struct og_sampler *sampler[THREADS];
    struct og_group_sampling *together;
    struct og_budget *budget;
};

/* The groups. */
struct setting {
    uint32_t batches;
    unsigned shift;
    size_t memory;
    int threads;
};
static const struct setting settings[] = {
    {BATCHES, 12, OG_MIB * 64, 1}, {BATCHES, 5, 0, THREADS}, {3, 0, 5000, 2}, {1, 7, 0, 1}};
static const struct setting *const spilled = &settings[1];

static struct og_sampler *open_sampler(const struct og_topology *t, const struct og_sampling *how,
                                       const int *fanout, struct og_budget *b)
{
    struct og_sampler *s;
    assert_int_equal(og__sampler_open(&s, t, fanout, 3, 11, b, NULL), 0);
    og__sampler_keep_degrees(s);
    assert_int_equal(og__sampler_choose(s, how, NULL), 0);
    return s;
}

static struct group open_group(const struct og_topology *disk, const struct og_sampling *how,
                               const int *fanout, const struct setting *as)
{
    struct group g = {.budget = og__budget_new(0)};
    struct og_err err = {0};
    for (int i = 0; i < as->threads; i++)
        g.sampler[i] = open_sampler(disk, how, fanout, g.budget);
    const struct og_group_sampling_options opt = {.sizes = {as->batches, as->shift, as->memory},
                                                  .scratch = OG__ONE_PLACE(folder),
                                                  .samplers = g.sampler,
                                                  .n_samplers = as->threads};
    if (og__group_sampling_open(&g.together, disk, &opt, g.budget, &err) < 0)
        fail_msg("%s", err.message);
    return g;
}

static void close_group(struct group *g)
{
    og__group_sampling_close(g->together);
    for (int i = 0; i < THREADS; i++)
        og__sampler_close(g->sampler[i]);
    assert_int_equal(og__budget_used(g->budget), 0);
    og__budget_free(g->budget);
}

/* Times of the seeds of batch i, for trees; valid until the next call. */
static const int64_t *times_of_batch(uint32_t i)
{
    static int64_t times[SEEDS];
    for (uint32_t k = 0; k < SEEDS; k++)
        times[k] = (i * 7 + k * 3) % 50;
    return times;
}

/* Batches first .. first + n of the schedule. */
static struct og_group_sampling_counts sample_group(struct group *g, int64_t n_nodes,
                                                    uint32_t first, uint32_t n)
{
    struct og_group_sampling_counts counts;
    struct og_err err = {0};
    uint32_t seeds[SEEDS];
    og__group_sampling_clear(g->together);
    for (uint32_t i = first; i < first + n; i++) {
        const struct og_sample_key key = {
            .stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = i, .times = times_of_batch(i)};
        pick_seeds(n_nodes, i, seeds);
        assert_int_equal(og__group_sampling_add(g->together, seeds, SEEDS, &key, &err), 0);
    }
    if (og__group_sampling_sample(g->together, &counts, &err) < 0)
        fail_msg("%s", err.message);
    return counts;
}

static void check_batch(struct group *g, struct og_sampler *alone, int64_t n_nodes, uint32_t first,
                        uint32_t i, int thread)
{
    struct og_batch_memory m[2];
    struct og_io_counts read = {0};
    struct og_err err = {0};
    uint32_t seeds[SEEDS];
    pick_seeds(n_nodes, first + i, seeds);
    og__batch_init(&m[0], NULL);
    og__batch_init(&m[1], NULL);
    assert_int_equal(og__sample(alone, seeds, SEEDS,
                                &(struct og_sample_key){.stream = OG__STREAM_SAMPLE,
                                                        .epoch = 1,
                                                        .batch = first + i,
                                                        .times = times_of_batch(first + i)},
                                &m[0], &err),
                     0);
    if (og__group_sampling_take(g->together, i, thread, &m[1], &read, &err) < 0)
        fail_msg("%s", err.message);
    assert_same_batch(&m[0].batch, &m[1].batch);
    assert_int_equal(m[0].batch.n_places, m[1].batch.n_places);
    if (m[0].batch.n_places > 0)
        assert_memory_equal(m[0].batch.row, m[1].batch.row, m[0].batch.n_places * 4);
    for (uint32_t h = 0; h < m[0].batch.n_hops; h++)
        if (m[0].batch.hop[h].weight && m[0].batch.hop[h].n_edges > 0)
            assert_memory_equal(m[0].batch.hop[h].weight, m[1].batch.hop[h].weight,
                                m[0].batch.hop[h].n_edges * 4);
    og__batch_release(&m[0]);
    og__batch_release(&m[1]);
}

/* The bytes of a pass at most: each array once, and blocks that ranges share with their neighbours.
 * These are shared where lists are whole, where the elements begin off a block of the disk, and
 * where that is larger than ours. */
static uint64_t most_of_pass(const struct og_group_sampling_shape *shape, unsigned shift)
{
    const uint64_t ranges = (shape->array[0].n_blocks >> shift) + shape->n_lists;
    return og__group_sampling_list_bytes(shape) + shape->n_arrays * 4096 * (1 + 2 * ranges);
}

static void compare_as_alone(const struct og_graph *ds, const struct og_topology *memory,
                             const struct og_sampling *in_memory, const struct og_topology *disk,
                             const struct og_sampling *how, const int *fanout,
                             const struct setting *as)
{
    struct group g = open_group(disk, how, fanout, as);
    struct og_sampler *alone = open_sampler(memory, in_memory, fanout, NULL);
    for (uint32_t first = 0; first < BATCHES; first += as->batches) {
        const uint32_t n = OG_MIN(as->batches, BATCHES - first);
        struct og_io_counts made = og__io_made();
        const struct og_group_sampling_counts counts = sample_group(&g, ds->n_nodes, first, n);
        struct og_io_counts since = {0};
        og__io_add_since(&since, made);
        /* there is a reader for each hop and array. Each tries how its file takes direct reads,
         * which reads up to a block of the disk */
        const struct og_group_sampling_shape shape = og__group_sampling_shape(ds, disk, how);
        const uint64_t counted = counts.structure.io.bytes + counts.drawn.bytes;
        const uint64_t readers = (uint64_t)3 * shape.steps * shape.n_lists * shape.n_arrays;
        assert_in_range(since.bytes, counted, counted + readers * 4096);
        if (counts.drawn.bytes == 0)
            assert_in_range(since.reads, counts.structure.io.reads,
                            counts.structure.io.reads + 2 * readers);
        assert_true(counts.structure.io.bytes <= 3 * shape.steps * most_of_pass(&shape, as->shift));
        if (as->memory == 0)
            assert_true(counts.written > 0 || counts.structure.io.bytes == 0);
        else if (as->memory > OG_MIB)
            assert_int_equal(counts.written, 0);
        for (uint32_t i = n; i-- > 0;) /* in any order, and again */
            check_batch(&g, alone, ds->n_nodes, first, i, (int)i % as->threads);
        check_batch(&g, alone, ds->n_nodes, first, n / 2, 0);
    }
    og__sampler_close(alone);
    close_group(&g);
}

static void compare_together(const struct og_graph *ds, const struct og_topology *memory,
                             const struct og_topology *disk, const struct og_sampling *how,
                             const int *fanout, const struct setting *as)
{
    compare_as_alone(ds, memory, how, disk, how, fanout, as);
}

static const int fanouts[][3] = {{10, 10, 10}, {-1, 3, 1}, {60, 400, 2}, {3, -1, 7}};

/* With a cache of so many halves of the neighbours, without edge weights and with them. Uniform
 * batches in all settings, or some of them (test_ways_step); of others each fanout in one. */
static void compare_ways(const struct og_graph *ds, const struct og_topology *memory,
                         enum layout layout, size_t halves)
{
    const size_t step = test_ways_step_of(3), others = 4 * test_ways_step_of(2);
    struct og_topology disk = open_disk(ds, NULL, halves * whole_bytes(ds) / 2, NULL, NULL);
    int fanout[RELATIONS * 3];
    for (size_t w = 0; w < 2 * OG_COUNT(ways); w++) {
        struct og_sampling how = ways[w / 2];
        how.weights = w % 2 && how.kind != OG_SAMPLER_WALK;
        for (size_t f = 0; og__sampler_takes_groups(&how) && f < OG_COUNT(fanouts); f++)
            for (size_t i = 0; i < OG_COUNT(settings); i++)
                if ((w < 2 && layout == OURS && (i + f + halves) % step == 0) ||
                    ((f + w + layout) % 3 == halves && (i + f + w + layout) % others == 0)) {
                    typed_fanouts(fanouts[f], fanout);
                    compare_together(ds, memory, &disk, &how, fanout, &settings[i]);
                }
    }
    og__topology_release(&disk);
}

static void batches_are_those_of_memory(void **state)
{
    (void)state;
    struct graph graph = make_graph(2600, 900);
    for (int layout = 0; layout < LAYOUTS; layout++) {
        char name[32];
        snprintf(name, sizeof(name), "together-%d", layout);
        write_graph(name, &graph, (enum layout)layout);
        struct og_graph *ds = open_dataset(name);
        struct og_topology memory;
        assert_int_equal(og__topology_load(ds, OG__WEIGHT_TABLES, NULL, &memory, NULL), 0);
        for (size_t halves = 0; halves <= 2; halves++)
            compare_ways(ds, &memory, (enum layout)layout, halves);
        og__topology_release(&memory);
        og__graph_close(ds);
    }
    free_graph(&graph);
}

static void and_so_they_are_of_relations(void **state)
{
    (void)state;
    struct graph lists[RELATIONS];
    make_typed(lists);
    for (int layout = 0; layout < RAW_ODD; layout++) {
        char name[32];
        snprintf(name, sizeof(name), "typed-%d", layout);
        write_typed(name, lists, (enum layout)layout);
        struct og_graph *ds = open_dataset(name);
        struct og_topology memory;
        assert_int_equal(og__topology_load(ds, OG__WEIGHT_TABLES, NULL, &memory, NULL), 0);
        for (size_t halves = 0; halves <= 2; halves++)
            compare_ways(ds, &memory, (enum layout)layout, halves);
        og__topology_release(&memory);
        og__graph_close(ds);
    }
    free_typed(lists);
}

/* ---- trees with times ---- */

static void write_times(const char *file, int64_t n, uint32_t salt)
{
    int64_t *times = malloc((size_t)n * sizeof(*times));
    for (int64_t i = 0; i < n; i++)
        times[i] = test_scramble((uint32_t)i + salt) % 50;
    write_array(path_in(file), OG__NPY_I64, n, times, 4096);
    free(times);
}

static void compare_times(const struct og_graph *ds, const struct og_topology *memory,
                          const struct og_sampling *timed, size_t turn)
{
    struct og_topology disk = open_disk(ds, NULL, turn % 3 * whole_bytes(ds) / 2, NULL, NULL);
    struct og_times times[2];
    struct og_sampling how[2] = {*timed, *timed};
    int fanout[RELATIONS * 3];
    assert_int_equal(og__times_load(ds, timed->time, memory, NULL, &times[0], NULL), 0);
    assert_int_equal(og__times_load(ds, timed->time, &disk, NULL, &times[1], NULL), 0);
    for (int i = 0; i < 2; i++)
        how[i].times = timed->time != OG_TIMES_OFF ? &times[i] : NULL;
    typed_fanouts(fanouts[turn % OG_COUNT(fanouts)], fanout);
    compare_as_alone(ds, memory, &how[0], &disk, &how[1], fanout,
                     &settings[turn / 2 % OG_COUNT(settings)]);
    og__times_release(&times[0]);
    og__times_release(&times[1]);
    og__topology_release(&disk);
}

/* By times of nodes, of edges, or none. With a window, the last ones, weights, repeated draws. */
static void compare_all_times(const char *name, unsigned first)
{
    static const enum og_times_kind kinds[] = {OG_TIMES_OFF, OG_TIMES_NODE, OG_TIMES_EDGE};
    struct og_graph *ds = open_dataset(name);
    struct og_topology memory;
    assert_int_equal(og__topology_load(ds, OG__PLAIN_WEIGHTS, NULL, &memory, NULL), 0);
    for (unsigned w = first; w < 64; w += (unsigned)test_ways_step_of(7)) {
        const struct og_sampling how = {.kind = OG_SAMPLER_DISJOINT,
                                        .time = kinds[w % 5 == 0 ? 0 : 1 + w % 2],
                                        .window = w & 2 ? 9 : 0,
                                        .last = w & 4,
                                        .weights = w & 8,
                                        .once = w & 16,
                                        .replace = w & 32};
        compare_times(ds, &memory, &how, w + (w >> 3));
    }
    og__topology_release(&memory);
    og__graph_close(ds);
}

static void trees_know_no_future(void **state)
{
    (void)state;
    struct graph graph = make_graph(2600, 900);
    const enum layout layouts[] = {OURS, WIDE};
    for (size_t i = 0; i < OG_COUNT(layouts); i++) {
        write_graph("timed", &graph, layouts[i]);
        write_times("timed/node_times.npy", graph.n, 1);
        write_times("timed/edge_times.npy", graph.indptr[graph.n], 2);
        compare_all_times("timed", (unsigned)i);
    }
    free_graph(&graph);
}

static void nor_do_trees_of_relations(void **state)
{
    (void)state;
    struct graph lists[RELATIONS];
    make_typed(lists);
    write_typed("timed-types", lists, OURS);
    write_times("timed-types/node_times.npy", type_nodes[0] + type_nodes[1] + type_nodes[2], 1);
    for (int r = 0; r < RELATIONS; r += 3) { /* others have none */
        char file[64];
        snprintf(file, sizeof(file), "timed-types/rel%d_edge_times.npy", r);
        write_times(file, lists[r].indptr[lists[r].n], (uint32_t)r);
    }
    compare_all_times("timed-types", 2);
    free_typed(lists);
}

static void all_of_the_file_is_tail(void **state)
{
    (void)state;
    struct graph g = make_graph(1000, 1);
    memset(g.indptr, 0, 900 * 8);
    for (int v = 900; v <= 1000; v++)
        g.indptr[v] = 1;
    g.indices[0] = 42;
    write_graph("tail", &g, OURS);
    struct og_graph *ds = open_dataset("tail");
    struct og_topology memory;
    struct og_topology disk = open_disk(ds, NULL, 0, NULL, NULL);
    assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &memory, NULL), 0);
    compare_together(ds, &memory, &disk, &ways[0], fanouts[0], &settings[0]);
    og__topology_release(&disk);
    og__topology_release(&memory);
    og__graph_close(ds);
    free_graph(&g);
}

/* A second batch adds little to what the first had read. */
static void what_batches_share_is_read_once(void **state)
{
    (void)state;
    struct graph graph = make_graph(12000, 9000);
    write_graph("shared", &graph, OURS);
    struct og_graph *ds = open_dataset("shared");
    struct og_topology disk = open_disk(ds, NULL, 0, NULL, NULL);
    const struct setting as = {BATCHES, 6, OG_MIB, 2};
    struct group g = open_group(&disk, &ways[0], fanouts[0], &as);
    uint64_t alone = 0;
    for (uint32_t i = 0; i < BATCHES; i++)
        alone += sample_group(&g, ds->n_nodes, i, 1).structure.io.bytes;
    const uint64_t together = sample_group(&g, ds->n_nodes, 0, BATCHES).structure.io.bytes;
    assert_true(together < alone / 2);
    close_group(&g);
    og__topology_release(&disk);
    og__graph_close(ds);
    free_graph(&graph);
}

/* What sampling the graph says, for all that it read. */
static int fail_on(const char *name, const struct og_sampling *how, char *message, size_t n)
{
    struct og_group_sampling_counts counts;
    struct og_err err = {0};
    uint32_t seeds[SEEDS];
    const struct og_sample_key key = {.stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = 0};
    struct og_graph *ds = open_dataset(name);
    struct og_topology disk = open_disk(ds, NULL, 0, NULL, NULL);
    struct group g = open_group(&disk, how, fanouts[1], spilled);
    pick_seeds(ds->n_nodes, 0, seeds);
    assert_int_equal(og__group_sampling_add(g.together, seeds, SEEDS, &key, &err), 0);
    int rc = og__group_sampling_sample(g.together, &counts, &err);
    snprintf(message, n, "%s", err.message);
    close_group(&g);
    og__topology_release(&disk);
    og__graph_close(ds);
    return rc;
}

static void ids_out_of_range_are_told(void **state)
{
    (void)state;
    char message[800];
    struct graph graph = make_graph(2600, 900);
    const int64_t n_edges = graph.indptr[graph.n];
    for (int64_t e = 0; e < n_edges; e++)
        graph.indices[e] = (int32_t)graph.n;
    write_graph("bad-ids", &graph, OURS);
    for (size_t w = 0; w < OG_COUNT(ways); w++) {
        assert_int_equal(fail_on("bad-ids", &ways[w], message, sizeof(message)), -EINVAL);
        assert_non_null(strstr(message, "indices.npy"));
    }
    free_graph(&graph);
}

static void weights_that_are_none_are_told(void **state)
{
    (void)state;
    char message[800];
    struct graph graph = make_graph(2600, 900);
    write_graph("bad-weights", &graph, OURS);
    const int64_t n_edges = graph.indptr[graph.n];
    float *weights = malloc((size_t)n_edges * sizeof(*weights));
    for (int64_t e = 0; e < n_edges; e++)
        weights[e] = -1;
    write_array(path_in("bad-weights/weights.npy"), OG__NPY_F32, n_edges, weights, 4096);
    free(weights);
    for (size_t w = 0; w < 2 * OG_COUNT(ways); w++) {
        struct og_sampling how = ways[w / 2];
        how.weights = w % 2;
        if (how.kind == OG_SAMPLER_WALK || (how.kind != OG_SAMPLER_WEIGHTED && !how.weights))
            continue;
        assert_int_equal(fail_on("bad-weights", &how, message, sizeof(message)), -EINVAL);
        assert_non_null(strstr(message, "weights.npy"));
    }
    free_graph(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_those_of_memory),
        cmocka_unit_test(and_so_they_are_of_relations),
        cmocka_unit_test(trees_know_no_future),
        cmocka_unit_test(nor_do_trees_of_relations),
        cmocka_unit_test(all_of_the_file_is_tail),
        cmocka_unit_test(what_batches_share_is_read_once),
        cmocka_unit_test(ids_out_of_range_are_told),
        cmocka_unit_test(weights_that_are_none_are_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

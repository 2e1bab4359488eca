/* Topology on disk: the batches of memory, bit for bit. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "sample/topology_fixture.h"

static void batches_are_those_of_memory(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    for (int layout = 0; layout < LAYOUTS; layout++) {
        char name[32];
        snprintf(name, sizeof(name), "layout-%d", layout);
        write_graph(name, &g, (enum layout)layout);
        struct og_graph *ds = open_dataset(name);
        assert_int_equal(ds->relation->indices.offset % 512,
                         layout >= FOREIGN ? layout == RAW_ODD ? 3 : 128 : 0);
        compare_all(ds);
        og__graph_close(ds);
    }
    free_graph(&g);
}

static void a_hub_of_many(void **state)
{
    (void)state;
    struct graph g = make_graph(120000, 100000);
    write_graph("star", &g, OURS);
    struct og_graph *ds = open_dataset("star");
    struct og_topology memory;
    assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &memory, NULL), 0);
    static const int fanouts[][2] = {{10, 10}, {-1, 2}, {90000, 1}};
    for (size_t c = 0; c < 3; c++) {
        size_t capacity = c * whole_bytes(ds) / 2;
        struct og_topology disk = open_disk(ds, NULL, capacity, NULL, NULL);
        for (size_t f = 0; f < OG_COUNT(fanouts); f++)
            compare(ds, &memory, &disk, fanouts[f], 2, 2);
        og__topology_release(&disk);
    }
    og__topology_release(&memory);
    og__graph_close(ds);
    free_graph(&g);
}

static void generated_graphs(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        struct og_generate opt;
        struct og_err err = {0};
        og__generate_init(&opt);
        opt.model = model;
        opt.nodes = 4096;
        opt.dim = 1;
        opt.threads = 1;
        const char *name = model ? "generated-1" : "generated-0";
        if (og_generate(path_in(name), &opt, NULL, &err) < 0)
            fail_msg("%s", err.message);
        struct og_graph *ds = open_dataset(name);
        compare_all(ds);
        og__graph_close(ds);
    }
}

static void one_edge_alone(void **state)
{
    (void)state;
    struct graph g = make_graph(100, 1);
    memset(g.indptr, 0, 90 * 8);
    for (int v = 90; v <= 100; v++)
        g.indptr[v] = 1;
    g.indices[0] = 42; /* all of the file is tail */
    write_graph("tiny", &g, OURS);
    struct og_graph *ds = open_dataset("tiny");
    compare_all(ds);
    og__graph_close(ds);
    free_graph(&g);
}

/* However neighbours are drawn; the list of the hub is longer than what lists are read into. */
static void every_way_to_draw(void **state)
{
    static const int fanouts[][3] = {{10, 10, 10}, {-1, 3, 1}, {60, 400, 2}};
    (void)state;
    struct graph g = make_graph(12000, 9000);
    for (int layout = 0; layout < LAYOUTS; layout++) {
        char name[32];
        snprintf(name, sizeof(name), "ways-%d", layout);
        write_graph(name, &g, layout);
        struct og_graph *ds = open_dataset(name);
        struct og_topology memory;
        assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &memory, NULL), 0);
        assert_int_equal(og__relation_load_weights(ds->relation, OG__WEIGHT_TABLES, &memory, NULL),
                         0);
        for (size_t share = 0; share <= 2; share++) {
            size_t capacity = share * whole_bytes(ds) / 2;
            struct og_topology disk = open_disk(ds, NULL, capacity, NULL, NULL);
            for (size_t w = 0; w < 2 * OG_COUNT(ways); w++) {
                struct og_sampling how = ways[w / 2];
                how.weights = w % 2 && how.kind != OG_SAMPLER_WALK;
                for (size_t f = 0; f < OG_COUNT(fanouts); f++)
                    compare_as(ds, &memory, &disk, &how, fanouts[f], 3, 2);
            }
            og__topology_release(&disk);
        }
        og__topology_release(&memory);
        og__graph_close(ds);
    }
    free_graph(&g);
}

static void every_engine_and_all_at_once(void **state)
{
    (void)state;
    static const int kinds[] = {OG_IO_AUTO, OG_IO_PREAD, OG_IO_MMAP};
    struct graph g = make_graph(60000, 900);
    write_graph("engines", &g, OURS);
    struct og_graph *ds = open_dataset("engines");
    struct og_topology memory;
    const int fanout[3] = {10, 10, 10};
    assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &memory, NULL), 0);
    for (size_t k = 0; k < OG_COUNT(kinds); k++) {
        struct og_topology t = open_disk(ds, NULL, 0, NULL, NULL);
        t.disk->opt.reader = (struct og_reader_options){.io = kinds[k], .threads = 2};
        og__profile_load(folder, &t.disk->opt.reader.profile);
        for (size_t staging = 0; staging <= 1; staging++) { /* 8 MiB, then the least */
            t.disk->opt.staging_bytes = staging;
            compare(ds, &memory, &t, fanout, 3, 3);
        }
        og__topology_release(&t);
    }
    og__topology_release(&memory);
    og__graph_close(ds);
    free_graph(&g);
}

struct crowd {
    const struct og_topology *t;
    int64_t n;
    uint64_t sum[8]; /* of each batch */
};

static void sample_alone(void *arg, size_t task, int thread)
{
    struct crowd *c = arg;
    struct og_sampler *s;
    struct og_batch_memory m;
    const int fanout[2] = {10, 10};
    uint32_t seeds[SEEDS];
    (void)thread;
    pick_seeds(c->n, (uint32_t)task, seeds);
    og__batch_init(&m, NULL);
    if (og__sampler_open(&s, c->t, fanout, 2, 1, NULL, NULL) == 0 &&
        og__sample(s, seeds, SEEDS,
                   &(struct og_sample_key){
                       .stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = (uint32_t)task},
                   &m, NULL) == 0)
        c->sum[task] = XXH3_64bits(m.batch.ids, m.batch.n_ids * 4);
    og__sampler_close(s);
    og__batch_release(&m);
}

static void samplers_share_a_topology(void **state)
{
    (void)state;
    struct graph g = make_graph(60000, 900);
    write_graph("crowd", &g, OURS);
    struct og_graph *ds = open_dataset("crowd");
    struct og_topology t = open_disk(ds, NULL, whole_bytes(ds) / 2, NULL, NULL);
    struct og_pool *pool;
    struct crowd crowd = {.t = &t, .n = g.n};
    struct crowd alone = crowd;
    assert_int_equal(og__pool_open(&pool, 4, NULL), 0);
    og__pool_run(pool, OG_COUNT(crowd.sum), sample_alone, &crowd);
    og__pool_run(NULL, OG_COUNT(alone.sum), sample_alone, &alone);
    assert_memory_equal(crowd.sum, alone.sum, sizeof(crowd.sum));
    assert_true(crowd.sum[0] != 0 && crowd.sum[0] != crowd.sum[1]);
    og__pool_close(pool);
    og__topology_release(&t);
    og__graph_close(ds);
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_those_of_memory),
        cmocka_unit_test(a_hub_of_many),
        cmocka_unit_test(every_way_to_draw),
        cmocka_unit_test(generated_graphs),
        cmocka_unit_test(one_edge_alone),
        cmocka_unit_test(every_engine_and_all_at_once),
        cmocka_unit_test(samplers_share_a_topology),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

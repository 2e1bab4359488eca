/* A batch of trees from disk reads blocks of its draws, and those where a search looks. No block is
 * read twice for a hop. Trees are those from memory. */
#include "sample/topology_fixture.h"

#include "base/bits.h"
#include "dataset/times.h"

enum { NODES = 5000 };

/* ---- a graph whose lists are in order of time ---- */

/* One of 20 nodes has up to all others as neighbours. */
static struct graph make_hubs(void)
{
    struct graph g = {.n = NODES, .indptr = calloc(NODES + 1, 8)};
    for (uint32_t v = 0; v < NODES; v++)
        g.indptr[v + 1] = g.indptr[v] + test_scramble(v) % (v % 20 == 1 ? NODES : 40);
    g.indices = malloc((size_t)g.indptr[NODES] * 4);
    for (uint32_t v = 0; v < NODES; v++) {
        const int64_t degree = g.indptr[v + 1] - g.indptr[v];
        for (int64_t i = 0; i < degree; i++)
            g.indices[g.indptr[v] + i] = (int32_t)(i * NODES / degree);
    }
    return g;
}

/* Ids ascend in a list, and so do times. */
enum shape { EVEN, EQUAL, LATE, EXTREME, SHAPES };

static int64_t time_of(enum shape shape, int64_t v)
{
    switch (shape) {
    case EVEN:
        return v - NODES / 2;
    case EQUAL:
        return v / 900;
    case LATE:
        return v * v * v * v;
    default:
        return v < 9 ? INT64_MIN + 1 + v : v > NODES - 9 ? INT64_MAX - (NODES - v) : v / 2;
    }
}

static void write_times_of(const struct graph *g, enum shape shape)
{
    int64_t *times = malloc((size_t)g->indptr[g->n] * sizeof(*times));
    for (int64_t v = 0; v < g->n; v++)
        times[v] = time_of(shape, v);
    write_array(path_in("hubs/node_times.npy"), OG__NPY_I64, g->n, times, 4096);
    for (int64_t e = 0; e < g->indptr[g->n]; e++)
        times[e] = time_of(shape, g->indices[e]);
    write_array(path_in("hubs/edge_times.npy"), OG__NPY_I64, g->indptr[g->n], times, 4096);
    free(times);
}

/* ---- what is read ---- */

/* Distinct blocks of an array. */
struct blocks {
    uint64_t *bits;
    size_t element;
};

static void add_block(const struct blocks *b, const struct og_topology *t, int64_t edge)
{
    struct og_blocks lists = t->disk->lists;
    const uint64_t at = lists.skew + (uint64_t)edge * b->element;
    og__bits_add(b->bits, at / OG__LIST_BLOCK);
}

static uint64_t count(const struct blocks *b, const struct og_topology *t)
{
    const uint64_t n = (t->disk->lists.skew + (uint64_t)t->n_edges * b->element) / OG__LIST_BLOCK;
    uint64_t sum = 0;
    for (uint64_t at = og__bits_next(b->bits, n, 0); at < n; at = og__bits_next(b->bits, n, at + 1))
        sum++;
    return sum;
}

/* The most blocks that a search for an end looks at. A round looks at 4, or at all of a page. */
static uint64_t search_of(int64_t degree, size_t element, enum shape shape)
{
    uint64_t blocks = (uint64_t)degree * element / OG__LIST_BLOCK + 1, rounds = 2;
    for (uint64_t n = blocks; n > 1; n /= 2)
        rounds += shape == EVEN ? 0 : 3;
    return degree > 0 ? OG_MIN(blocks + 1, 4 * rounds) : 0;
}

struct bounds {
    uint64_t drawn, whole, searched;
};

/* Adds what one hop reads. */
static void add_hop(struct bounds *b, const struct graph *g, const struct og_topology *t,
                    const struct og_batch *batch, uint32_t hop, size_t element, enum shape shape,
                    bool window)
{
    const struct og_block *of = &batch->hop[hop];
    const size_t words = og__bits_words((uint64_t)t->n_edges * 8 / OG__LIST_BLOCK + 2);
    struct blocks drawn = {calloc(words, 8), sizeof(int32_t)};
    struct blocks whole = {calloc(words, 8), element};
    for (uint64_t e = 0; e < of->n_edges; e++)
        add_block(&drawn, t, of->edge[e]);
    for (uint32_t i = 0; i < of->n_dst; i++) {
        const uint32_t v = batch->node[i];
        for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
            add_block(&whole, t, e);
        b->searched +=
            search_of(g->indptr[v + 1] - g->indptr[v], element, shape) * (window ? 2 : 1);
    }
    b->drawn += count(&drawn, t);
    b->whole += count(&whole, t);
    free(drawn.bits);
    free(whole.bits);
}

static void check_bytes(const struct graph *g, const struct og_topology *t,
                        const struct og_batch *batch, struct og_sample_reads read,
                        const struct og_sampling *how, enum shape shape)
{
    const size_t element = how->time == OG_TIMES_EDGE ? sizeof(int64_t) : sizeof(int32_t);
    const uint64_t blocks = read.io.bytes / OG__LIST_BLOCK;
    struct bounds b = {0};
    for (uint32_t hop = 0; hop < batch->n_hops; hop++)
        add_hop(&b, g, t, batch, hop, element, shape, how->window > 0);
    const uint64_t searched = OG_MIN(b.searched, b.whole);
    if (how->time == OG_TIMES_OFF)
        assert_int_equal(blocks, b.drawn);
    else if (how->time == OG_TIMES_NODE)
        assert_true(b.drawn <= blocks && blocks <= OG_MIN(b.drawn + searched, b.whole));
    else /* times are in a file of their own; opening looks at 63 blocks */
        assert_true(b.drawn <= blocks && blocks <= b.drawn + searched + 63);
}

/* Seeds have short lists alone, or in two hops others too. */
static void compare_trees(const struct graph *g, const struct og_topology *memory,
                          const struct og_topology *disk, const struct og_sampling how[2],
                          const int fanout[2], int n_hops, enum shape shape, bool counts)
{
    struct og_batch_memory m[2];
    struct og_sampler *s[2];
    uint32_t seeds[SEEDS];
    int64_t times[SEEDS];
    for (uint32_t i = 0; i < SEEDS; i++) {
        seeds[i] = n_hops == 2 && i % 3 ? i * 20 + 1 : i * 60;
        times[i] = time_of(shape, test_scramble(i) % NODES) + i % 2;
    }
    times[0] = INT64_MAX;
    times[1] = INT64_MIN + 1;
    for (int i = 0; i < 2; i++) {
        struct og_err err = {0};
        const struct og_sample_key key = {
            .stream = OG__STREAM_EVAL, .epoch = 0, .batch = 0, .times = times};
        og__batch_init(&m[i], NULL);
        assert_int_equal(og__sampler_open(&s[i], i ? disk : memory, fanout, n_hops, 3, NULL, &err),
                         0);
        assert_int_equal(og__sampler_choose(s[i], &how[i], &err), 0);
        if (og__sample(s[i], seeds, SEEDS, &key, &m[i], &err) < 0)
            fail_msg("%s", err.message);
    }
    assert_same_batch(&m[0].batch, &m[1].batch);
    if (counts)
        check_bytes(g, disk, &m[1].batch, og__sampler_reads(s[1]), &how[1], shape);
    for (int i = 0; i < 2; i++) {
        og__sampler_close(s[i]);
        og__batch_release(&m[i]);
    }
}

static void compare_ways_of(const struct graph *g, const struct og_graph *ds,
                            const struct og_topology *memory, const struct og_topology *disk,
                            enum og_times_kind kind, enum shape shape, bool counts)
{
    static const int fanouts[][2] = {{10, 3}, {-1, 2}, {70, 1}};
    const struct og_edge_unit places = {.places = true};
    struct og_times times[2];
    assert_int_equal(og__times_load(ds, kind, memory, NULL, &times[0], NULL), 0);
    assert_int_equal(og__times_load(ds, kind, disk, NULL, &times[1], NULL), 0);
    if (kind != OG_TIMES_OFF) {
        assert_null(times[0].of[0].order);
        times[1].of[0].sorted = true; /* as meta.json would say */
        times[1].of[0].uncached = kind == OG_TIMES_EDGE;
    }
    for (int w = 0; w < 8; w++) {
        struct og_sampling how[2];
        for (int i = 0; i < 2; i++)
            how[i] = (struct og_sampling){.kind = OG_SAMPLER_DISJOINT,
                                          .time = kind,
                                          .times = kind != OG_TIMES_OFF ? &times[i] : NULL,
                                          .edges = &places,
                                          .window = w & 1 ? shape == EVEN ? 700 : 3 : 0,
                                          .last = w & 2,
                                          .replace = w & 4};
        for (size_t f = 0; f < 2 * OG_COUNT(fanouts); f++) {
            const int *fanout = fanouts[f / 2], hops = 1 + (int)(f % 2);
            compare_trees(g, memory, disk, how, fanout, hops, shape,
                          counts && (hops == 1 || fanout[0] > 0));
        }
    }
    og__times_release(&times[0]);
    og__times_release(&times[1]);
}

/* Where direct reads take 512 bytes. With a neighbour cache, or little room, only the trees. */
static void blocks_are_read_once(void **state)
{
    static const enum og_times_kind kinds[] = {OG_TIMES_OFF, OG_TIMES_NODE, OG_TIMES_EDGE};
    struct graph g = make_hubs();
    struct og_topology memory;
    struct og_io_file file;
    (void)state;
    write_graph("hubs", &g, OURS);
    for (enum shape shape = EVEN; shape < SHAPES; shape++) {
        write_times_of(&g, shape);
        struct og_graph *ds = open_dataset("hubs");
        assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &memory, NULL), 0);
        assert_int_equal(og__io_file_open(&file, ds->relation->indices.path, true, NULL, NULL), 0);
        for (size_t share = 0; share < 3; share++) {
            struct og_topology disk = open_disk(ds, NULL, share * whole_bytes(ds) / 2, NULL, NULL);
            const bool counts = share == 0 && file.align_offset <= OG__LIST_BLOCK;
            disk.disk->opt.staging_bytes = counts ? 0 : 1;
            for (size_t k = 0; k < OG_COUNT(kinds); k++)
                compare_ways_of(&g, ds, &memory, &disk, kinds[k], shape, counts);
            og__topology_release(&disk);
        }
        og__io_file_close(&file);
        og__topology_release(&memory);
        og__graph_close(ds);
    }
    free_graph(&g);
}

/* Bytes that a batch reads whose seeds have lists of 10 to 40 blocks. */
static uint64_t bytes_of(const struct graph *g, const struct og_topology *disk,
                         const struct og_sampling *how)
{
    const int fanout[1] = {10};
    const struct og_sample_key key = {.stream = OG__STREAM_EVAL};
    struct og_batch_memory m;
    struct og_sampler *s;
    uint32_t seeds[SEEDS], n = 0;
    for (uint32_t v = 0; v < NODES && n < SEEDS; v++)
        if (g->indptr[v + 1] - g->indptr[v] > 10 * OG__LIST_BLOCK / 4)
            seeds[n++] = v;
    assert_true(n > 20);
    og__batch_init(&m, NULL);
    assert_int_equal(og__sampler_open(&s, disk, fanout, 1, 3, NULL, NULL), 0);
    assert_int_equal(og__sampler_choose(s, how, NULL), 0);
    assert_int_equal(og__sample(s, seeds, n, &key, &m, NULL), 0);
    const uint64_t bytes = og__sampler_reads(s).io.bytes;
    og__sampler_close(s);
    og__batch_release(&m);
    return bytes;
}

/* A second request of a list takes as long as a gap that is read. */
static void lists_shorter_than_a_gap_are_read_once(void **state)
{
    struct graph g = make_hubs();
    struct og_times times;
    (void)state;
    write_graph("hubs", &g, OURS);
    write_times_of(&g, EVEN);
    struct og_graph *ds = open_dataset("hubs");
    struct og_topology disk = open_disk(ds, NULL, 0, NULL, NULL);
    disk.disk->opt.staging_bytes = 0;
    disk.disk->opt.reader.profile = (struct og_disk_profile){.bandwidth = 1e9, .iops = 1e9 / 20480};
    assert_int_equal(og__times_load(ds, OG_TIMES_NODE, &disk, NULL, &times, NULL), 0);
    struct og_sampling how = {.kind = OG_SAMPLER_DISJOINT, .time = OG_TIMES_NODE, .times = &times};
    const uint64_t whole = bytes_of(&g, &disk, &how);
    times.of[0].sorted = true;
    times.of[0].uncached = false;
    assert_true(bytes_of(&g, &disk, &how) <= whole);
    how.last = true;
    assert_true(bytes_of(&g, &disk, &how) < whole);
    og__times_release(&times);
    og__topology_release(&disk);
    og__graph_close(ds);
    free_graph(&g);
}

/* Some batches have no edges, and so no weights, also when their memory is new. */
static void weights_come_after_none(void **state)
{
    static const enum og_sampler_kind kinds[] = {OG_SAMPLER_DISJOINT, OG_SAMPLER_UNIFORM};
    const int fanout[1] = {10};
    struct graph g = make_hubs();
    uint32_t seed = 0;
    (void)state;
    write_graph("weighed", &g, OURS);
    struct og_graph *ds = open_dataset("weighed");
    struct og_topology disk = open_disk(ds, NULL, 0, NULL, NULL);
    while (g.indptr[seed] < g.indptr[seed + 1])
        seed++;
    for (size_t k = 0; k < OG_COUNT(kinds); k++) {
        const struct og_sampling how = {.kind = kinds[k], .weights = true};
        struct og_batch_memory m;
        struct og_sampler *s;
        og__batch_init(&m, NULL);
        assert_int_equal(og__sampler_open(&s, &disk, fanout, 1, 3, NULL, NULL), 0);
        assert_int_equal(og__sampler_choose(s, &how, NULL), 0);
        for (uint32_t batch = 0; batch < 4; batch++) {
            const uint32_t v = batch % 2 ? 21 : seed;
            const struct og_sample_key key = {.stream = OG__STREAM_EVAL, .batch = batch};
            assert_int_equal(og__sample(s, &v, 1, &key, &m, NULL), 0);
            assert_int_equal(m.batch.hop[0].n_edges, batch % 2 ? 10 : 0);
            for (uint32_t e = 0; e < m.batch.hop[0].n_edges; e++)
                assert_true(m.batch.hop[0].weight[e] >= 0 && m.batch.hop[0].weight[e] < 3);
            if (batch % 2)
                og__batch_release(&m);
        }
        og__sampler_close(s);
        og__batch_release(&m);
    }
    og__topology_release(&disk);
    og__graph_close(ds);
    free_graph(&g);
}

/* A hub whose list does not fit is an error. Later batches are sampled. */
static void small_batches_follow_one_that_does_not_fit(void **state)
{
    const int fanout[1] = {-1};
    const struct og_sampling how = {.kind = OG_SAMPLER_DISJOINT};
    const struct og_sample_key key = {.stream = OG__STREAM_EVAL};
    struct graph g = make_hubs();
    struct og_batch_memory m;
    struct og_sampler *s;
    uint32_t seeds[2000], n = 0, hub = 0;
    (void)state;
    write_graph("large", &g, OURS);
    struct og_graph *ds = open_dataset("large");
    struct og_topology disk = open_disk(ds, NULL, 0, NULL, NULL);
    struct og_budget *b = og__budget_new((size_t)1 << 30);
    for (uint32_t v = 0; v < NODES; v++) {
        const int64_t degree = g.indptr[v + 1] - g.indptr[v];
        if (degree < 40 && n < OG_COUNT(seeds))
            seeds[n++] = v;
        if (degree > g.indptr[hub + 1] - g.indptr[hub])
            hub = v;
    }
    og__batch_init(&m, NULL);
    assert_int_equal(og__sampler_open(&s, &disk, fanout, 1, 3, b, NULL), 0);
    assert_int_equal(og__sampler_choose(s, &how, NULL), 0);
    assert_int_equal(og__sample(s, seeds, n, &key, &m, NULL), 0);
    const size_t rest = og__budget_left(b) - 1024;
    void *filler = og__alloc(b, rest, "sampler", NULL);
    assert_non_null(filler);
    assert_int_equal(og__sample(s, &hub, 1, &key, &m, NULL), -ENOMEM);
    og__release(b, filler, rest, "sampler");
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(og__sample(s, seeds + i, 4, &key, &m, NULL), 0);
    og__sampler_close(s);
    og__batch_release(&m);
    og__topology_release(&disk);
    og__graph_close(ds);
    og__budget_free(b);
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_read_once),
        cmocka_unit_test(lists_shorter_than_a_gap_are_read_once),
        cmocka_unit_test(weights_come_after_none),
        cmocka_unit_test(small_batches_follow_one_that_does_not_fit),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

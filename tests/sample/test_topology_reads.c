/* Topology on disk: the neighbour cache is the best there is, and reads are no more than needed.
 * Sizes are predicted. */
#include "sample/topology_fixture.h"

/* ---- the choice ---- */

/* Lists of a relation, whose ends are nodes of the whole from there on. */
struct lists {
    const struct graph *g;
    int64_t first, first_source;
    bool *in;
};

struct rated {
    float score;
    int64_t degree;
    uint32_t relation, node;
};

static int better_first(const void *a, const void *b)
{
    const struct rated *x = a;
    const struct rated *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    if (x->relation != y->relation)
        return x->relation > y->relation ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static size_t bytes_of(int64_t degree)
{
    return (size_t)degree * (sizeof(uint32_t) + sizeof(float)) + sizeof(uint32_t);
}

/* Chooses lists by sorting: whole classes of equal score while they fit. When a class does not, it
 * takes what fits of it, by relation and id. */
static void choose_by_sorting(struct lists *l, uint32_t n_lists, int64_t n_nodes, size_t room)
{
    int64_t *out_degree = calloc((size_t)n_nodes, 8);
    size_t n = 0, most = 0;
    for (uint32_t r = 0; r < n_lists; most += (size_t)l[r++].g->n)
        for (int64_t e = 0; e < l[r].g->indptr[l[r].g->n]; e++)
            out_degree[l[r].first_source + l[r].g->indices[e]]++;
    struct rated *rated = malloc(most * sizeof(*rated));
    for (uint32_t r = 0; r < n_lists; r++)
        for (int64_t v = 0; v < l[r].g->n; v++) {
            const int64_t degree = l[r].g->indptr[v + 1] - l[r].g->indptr[v];
            const float uses = (float)out_degree[l[r].first + v];
            l[r].in[v] = false;
            if (degree > 0)
                rated[n++] = (struct rated){uses / (float)degree, degree, r, (uint32_t)v};
        }
    qsort(rated, n, sizeof(*rated), better_first);
    bool over = false;
    for (size_t i = 0, end; i < n && !over; i = end) {
        size_t all = 0;
        for (end = i; end < n && rated[end].score == rated[i].score; end++)
            all += bytes_of(rated[end].degree);
        over = all > room;
        for (size_t k = i; k < end; k++) {
            if (bytes_of(rated[k].degree) > room)
                continue;
            l[rated[k].relation].in[rated[k].node] = true;
            room -= bytes_of(rated[k].degree);
        }
    }
    free(rated);
    free(out_degree);
}

static void check_cached(const struct lists *l, const struct og_topology *t)
{
    for (int64_t v = 0; v < l->g->n; v++) {
        const int64_t first = l->g->indptr[v], n = l->g->indptr[v + 1] - first;
        const struct og_neighbors *c = t->disk ? &t->disk->cache : NULL;
        assert_int_equal(c && og__neighbors_has(c, (uint32_t)v), l->in[v]);
        if (!l->in[v])
            continue;
        assert_memory_equal(c->ids + og__neighbors_first(c, (uint32_t)v), l->g->indices + first,
                            (size_t)n * 4);
        for (int64_t i = 0; i < n; i++) {
            const float weight = (float)(test_scramble((uint32_t)(first + i)) % 8) * 0.3f;
            assert_true(og__neighbors_weights(c, (uint32_t)v)[i] == weight);
        }
    }
}

/* At every capacity. */
static void compare_choices(const char *name, struct lists *l, uint32_t n_lists)
{
    struct og_graph *ds = open_dataset(name);
    const size_t whole = whole_bytes(ds), fixed = og__neighbors_least_bytes(ds);
    for (uint32_t r = 0; r < n_lists; r++)
        l[r].in = malloc((size_t)l[r].g->n * sizeof(*l[r].in));
    for (size_t capacity = fixed + 1; capacity <= whole; capacity += whole / 41) {
        struct og_budget *b =
            og__budget_new(og__topology_disk_bytes(ds) + capacity + og__neighbors_build_bytes(ds));
        struct og_topology t = open_disk(ds, b, capacity, NULL, NULL);
        choose_by_sorting(l, n_lists, ds->n_nodes, capacity - fixed);
        for (uint32_t r = 0; r < n_lists; r++)
            check_cached(&l[r], og__relation_lists(&t, r));
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    for (uint32_t r = 0; r < n_lists; r++)
        free(l[r].in);
    og__graph_close(ds);
}

static void the_best_lists_are_cached(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    struct lists lists = {.g = &g};
    write_graph("choice", &g, OURS);
    compare_choices("choice", &lists, 1);
    free_graph(&g);
}

static void the_best_lists_of_all_relations_are_cached(void **state)
{
    (void)state;
    struct graph g[RELATIONS];
    struct lists lists[RELATIONS];
    int64_t first[TYPES] = {0};
    for (int t = 1; t < TYPES; t++)
        first[t] = first[t - 1] + type_nodes[t - 1];
    make_typed(g);
    write_typed("choices", g, WIDE);
    for (int r = 0; r < RELATIONS; r++)
        lists[r] = (struct lists){&g[r], first[relations[r].destination],
                                  first[relations[r].source], NULL};
    compare_choices("choices", lists, RELATIONS);
    free_typed(g);
}

/* ---- what is read ---- */

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int64_t find_edge(const struct graph *g, uint32_t v, uint32_t u)
{
    int64_t e = g->indptr[v];
    while (g->indices[e] != (int32_t)u)
        e++;
    assert_true(e < g->indptr[v + 1]);
    return e;
}

/* Blocks that a hop's edges need, from the batch alone; those of the tail are in memory. */
static size_t needed_blocks(const struct graph *g, const struct og_topology *t,
                            const struct og_batch *b, uint32_t hop, uint64_t *blocks)
{
    const struct og_block *k = &b->hop[hop];
    size_t n = 0;
    size_t distinct = 0;
    int64_t offset = t->disk->of->indices.offset;
    uint64_t base = (uint64_t)offset / 512 * 512;
    uint64_t whole = ((uint64_t)offset + (uint64_t)t->n_edges * 4 - base) / 512;
    for (uint32_t d = 0; d < k->n_dst; d++) {
        if (og__neighbors_has(&t->disk->cache, b->ids[d]))
            continue;
        for (uint32_t e = k->indptr[d]; e < k->indptr[d + 1]; e++) {
            int64_t edge = find_edge(g, b->ids[d], b->ids[k->src[e]]);
            uint64_t block = ((uint64_t)offset + (uint64_t)edge * 4 - base) / 512;
            if (block < whole)
                blocks[n++] = block;
        }
    }
    qsort(blocks, n, sizeof(*blocks), compare_u64);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || blocks[i] != blocks[i - 1])
            blocks[distinct++] = blocks[i];
    return distinct;
}

/* Requests of one round of blocks. Those that touch when rounded out to the file's alignment are
 * one, up to 256 KiB. */
static struct og_io_counts requests_for(const uint64_t *blocks, size_t n, uint64_t base,
                                        uint64_t align)
{
    struct og_io_counts c = {0};
    for (size_t i = 0, next; i < n; i = next) {
        uint64_t from = (base + blocks[i] * 512) / align * align;
        uint64_t end = base + blocks[i] * 512 + 512;
        for (next = i + 1; next < n; next++) {
            uint64_t start = base + blocks[next] * 512;
            uint64_t reached = (end + align - 1) / align * align;
            if (start / align * align > reached || start + 512 > from + 256 * OG_KIB)
                break;
            end = start + 512;
        }
        c.reads++;
        c.bytes += (end + align - 1) / align * align - from;
    }
    return c;
}

/* All system calls of a batch, from the batch alone. */
static struct og_sample_reads reads_for(const struct graph *g, const struct og_topology *t,
                                        const struct og_batch *b, uint64_t align)
{
    struct og_sample_reads all = {0};
    size_t round = OG_MAX(t->disk->opt.staging_bytes / 1024, (size_t)128);
    uint64_t *blocks = malloc(1000000 * sizeof(*blocks));
    for (uint32_t h = 0; h < b->n_hops; h++) {
        size_t n = needed_blocks(g, t, b, h, blocks);
        for (size_t at = 0; at < n; at += round) {
            struct og_io_counts c =
                requests_for(blocks + at, OG_MIN(n - at, round), t->disk->lists.base, align);
            all.io.reads += c.reads;
            all.io.bytes += c.bytes;
        }
        for (uint32_t d = 0; d < b->hop[h].n_dst; d++) {
            uint32_t v = b->ids[d];
            bool cached = og__neighbors_has(&t->disk->cache, v);
            bool has_list = g->indptr[v + 1] > g->indptr[v];
            all.lists_cached += has_list && cached;
            all.lists_read += has_list && !cached;
        }
    }
    free(blocks);
    return all;
}

static void check_reads(const struct graph *g, const struct og_topology *t, uint64_t align)
{
    const int fanout[3] = {10, 5, 5};
    struct og_sampler *s;
    struct og_batch_memory m;
    og__batch_init(&m, NULL);
    assert_int_equal(og__sampler_open(&s, t, fanout, 3, 3, NULL, NULL), 0);
    for (uint32_t batch = 0; batch < 3; batch++) {
        uint32_t seeds[SEEDS];
        pick_seeds(g->n, batch, seeds);
        assert_int_equal(og__sample(s, seeds, SEEDS,
                                    &(struct og_sample_key){
                                        .stream = OG__STREAM_EVAL, .epoch = 0, .batch = batch},
                                    &m, NULL),
                         0);
        struct og_sample_reads want = reads_for(g, t, &m.batch, align);
        struct og_sample_reads got = og__sampler_reads(s);
        assert_int_equal(got.io.reads, want.io.reads);
        assert_int_equal(got.io.bytes, want.io.bytes);
        assert_int_equal(got.lists_read, want.lists_read);
        assert_int_equal(got.lists_cached, want.lists_cached);
        assert_true((got.io.reads > 0) == (want.lists_read > 0));
    }
    og__sampler_close(s);
    og__batch_release(&m);
}

static void reads_are_those_needed(void **state)
{
    (void)state;
    struct graph g = make_graph(60000, 900);
    for (int foreign = 0; foreign < 2; foreign++) {
        const char *name = foreign ? "reads-1" : "reads-0";
        write_graph(name, &g, foreign ? FOREIGN : OURS);
        struct og_graph *ds = open_dataset(name);
        struct og_io_file file;
        assert_int_equal(og__io_file_open(&file, ds->relation->indices.path, true, NULL, NULL), 0);
        for (size_t share = 0; share <= 2; share++) {
            size_t capacity = share * whole_bytes(ds) / 2;
            struct og_topology t = open_disk(ds, NULL, capacity, NULL, NULL);
            t.disk->opt.staging_bytes = (size_t)1 << (16 + 3 * share);
            check_reads(&g, &t, file.align_offset);
            og__topology_release(&t);
        }
        og__io_file_close(&file);
        og__graph_close(ds);
    }
    free_graph(&g);
}

static int sample_within(const struct og_topology *t, const struct og_sampling *how,
                         const uint32_t *seeds, struct og_batch_memory *m, struct og_budget *b,
                         size_t *used, struct og_err *err)
{
    const int fanout[2] = {10, 10};
    struct og_sampler *s;
    int rc = og__sampler_open(&s, t, fanout, 2, 3, b, err);
    if (rc == 0)
        rc = og__sampler_choose(s, how, err);
    if (rc == 0)
        rc = og__sample(s, seeds, SEEDS,
                        &(struct og_sample_key){.stream = OG__STREAM_EVAL, .epoch = 0, .batch = 0},
                        m, err);
    *used = og__budget_used(b);
    og__sampler_close(s);
    return rc;
}

/* A sampler takes the predicted memory for the batches that it was sized for. Among them are lists
 * longer than what it reads into. */
static void check_sizes(const struct og_graph *ds, const struct og_topology *t,
                        const struct og_sampling *how)
{
    struct og_batch_memory m;
    struct og_batch_caps caps = {0};
    size_t used;
    uint32_t seeds[SEEDS];
    pick_seeds(ds->n_nodes, 1, seeds);
    og__batch_init(&m, NULL);
    assert_int_equal(sample_within(t, how, seeds, &m, NULL, &used, NULL), 0);
    og__caps_include(&caps, &m.batch);
    const uint64_t last = caps.hop[1].n_edges;
    assert_int_equal(caps.hop[0].n_drawn + caps.hop[1].n_drawn,
                     how->once ? last : last + caps.hop[0].n_edges); /* each edge is drawn once */
    size_t disk =
        og__sampler_disk_bytes(ds->relation, &t->disk->opt, &caps, how, og__longest_list(t)) +
        og__sampler_disk_state_bytes(how);
    struct og_budget *b = og__budget_new(og__sampler_bytes(&caps) + disk);
    assert_int_equal(sample_within(t, how, seeds, &m, b, &used, NULL), 0);
    assert_true(used > disk / 4);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    /* whatever the budget refuses is refused cleanly */
    for (size_t limit = 0; limit < og__sampler_bytes(&caps) + disk; limit += disk / 7) {
        b = og__budget_new(limit + 1);
        struct og_err err = {0};
        int rc = sample_within(t, how, seeds, &m, b, &used, &err);
        assert_true(rc == 0 || (rc == -ENOMEM && err.message[0]));
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    og__batch_release(&m);
}

static void sizes_are_told_beforehand(void **state)
{
    (void)state;
    struct graph g = make_graph(60000, 20000);
    write_graph("sizes", &g, OURS);
    struct og_graph *ds = open_dataset("sizes");
    struct og_topology t = open_disk(ds, NULL, 0, NULL, NULL);
    for (size_t w = 0; w < OG_COUNT(ways); w++)
        check_sizes(ds, &t, &ways[w]);
    og__topology_release(&t);
    og__graph_close(ds);
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_lists_are_cached),
        cmocka_unit_test(the_best_lists_of_all_relations_are_cached),
        cmocka_unit_test(reads_are_those_needed),
        cmocka_unit_test(sizes_are_told_beforehand),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

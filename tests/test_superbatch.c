/* sample: superbatches give back what the sampler made, wherever they were kept, and leave nothing
 * behind. */
#include "testing.h"

#include "base/file.h"
#include "base/scratch.h"
#include "sample/superbatch.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3000, HOPS = 3, SEEDS = 20, BATCHES = 40 };

static const int fanout[HOPS] = {5, -1, 4};

/* Node v has v % 9 in-neighbours anywhere, so some blocks are empty. */
struct graph {
    struct og_topology t;
    int64_t indptr[N + 1];
    int32_t indices[N * 9];
};

static void make_graph(struct graph *g, uint32_t seed)
{
    struct og_rng r;
    og__rng_at(&r, seed, OG__STREAM_BENCH, 0, 0, 0, 0);
    g->indptr[0] = 0;
    for (int v = 0; v < N; v++) {
        g->indptr[v + 1] = g->indptr[v] + v % 9;
        for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
            g->indices[e] = (int32_t)og__rng_below(&r, N);
    }
    g->t = (struct og_topology){
        .n_nodes = N, .n_edges = g->indptr[N], .indptr = g->indptr, .indices32 = g->indices};
}

/* A sampler on a random graph and what it makes. */
struct source {
    struct graph *graph;
    struct og_sampler *sampler;
    struct og_batch_memory made;
};

static void open_source(struct source *k, uint32_t seed, bool degrees)
{
    k->graph = malloc(sizeof(*k->graph));
    make_graph(k->graph, seed);
    assert_int_equal(og__sampler_open(&k->sampler, &k->graph->t, fanout, HOPS, seed, NULL, NULL),
                     0);
    if (degrees)
        og__sampler_keep_degrees(k->sampler);
    og__batch_init(&k->made, NULL);
}

static void close_source(struct source *k)
{
    og__sampler_close(k->sampler);
    og__batch_release(&k->made);
    free(k->graph);
}

/* Batch i of an epoch, afresh: what a replay must equal. Every third has one seed without
 * in-neighbours. */
static const struct og_batch *batch_of(struct source *k, uint32_t epoch, uint32_t i)
{
    uint32_t seeds[SEEDS];
    uint32_t n = i % 3 == 0 ? 1 : SEEDS;
    for (uint32_t j = 0; j < n; j++)
        seeds[j] = (i * SEEDS + j) * 9 % N;
    assert_int_equal(og__sample(k->sampler, seeds, n, OG__STREAM_SAMPLE, epoch, i, &k->made, NULL),
                     0);
    return &k->made.batch;
}

static void assert_same_batch(const struct og_batch *a, const struct og_batch *b)
{
    assert_int_equal(a->n_hops, b->n_hops);
    assert_int_equal(a->n_ids, b->n_ids);
    assert_int_equal(a->n_seeds, b->n_seeds);
    assert_memory_equal(a->ids, b->ids, a->n_ids * 4);
    for (uint32_t h = 0; h < a->n_hops; h++) {
        const struct og_block *x = &a->hop[h];
        const struct og_block *y = &b->hop[h];
        assert_int_equal(x->n_dst, y->n_dst);
        assert_int_equal(x->n_src, y->n_src);
        assert_int_equal(x->n_edges, y->n_edges);
        assert_memory_equal(x->indptr, y->indptr, ((size_t)x->n_dst + 1) * 4);
        if (x->n_edges)
            assert_memory_equal(x->src, y->src, x->n_edges * 4);
        assert_int_equal(x->degree == NULL, y->degree == NULL);
        if (x->degree && x->n_src > x->n_dst)
            assert_memory_equal(x->degree, y->degree, (size_t)(x->n_src - x->n_dst) * 4);
    }
}

static char *fresh_folder(void)
{
    char *path = strdup("/tmp/og-superbatch-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static int entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n - 2;
}

static void remove_empty(char *path)
{
    assert_int_equal(rmdir(path), 0); /* nothing was left in it */
    free(path);
}

static void append_epoch(struct og_superbatch *s, struct source *k, uint32_t epoch)
{
    for (uint32_t i = 0; i < BATCHES; i++)
        assert_int_equal(og__superbatch_append(s, batch_of(k, epoch, i), NULL), 0);
    assert_int_equal(og__superbatch_seal(s, NULL), 0);
}

static void check_trace(const struct og_superbatch *s, struct source *k, uint32_t epoch)
{
    struct og_trace t = og__superbatch_trace(s);
    assert_int_equal(t.n_batches, BATCHES);
    assert_int_equal(t.ptr[0], 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        const struct og_batch *b = batch_of(k, epoch, i);
        assert_int_equal(t.ptr[i + 1] - t.ptr[i], b->n_ids);
        assert_memory_equal(t.ids + t.ptr[i], b->ids, b->n_ids * 4);
    }
}

static struct og_io_counts replay_epoch(struct og_superbatch *s, struct source *k, uint32_t epoch,
                                        struct og_batch_memory *out)
{
    struct og_io_counts sum = {0};
    for (uint32_t i = 0; i < BATCHES; i++) {
        struct og_io_counts read;
        assert_int_equal(og__superbatch_replay(s, i, out, &read, NULL), 0);
        assert_same_batch(&out->batch, batch_of(k, epoch, i));
        sum.reads += read.reads;
        sum.bytes += read.bytes;
    }
    return sum;
}

/* For no, some and all batches in memory; used again after clear. */
static void replay_gives_back_what_was_sampled(void **state)
{
    (void)state;
    static const size_t shares[] = {0, 40000, SIZE_MAX};
    for (int run = 0; run < 6; run++) {
        bool degrees = run % 2;
        char *scratch = fresh_folder();
        struct source k;
        open_source(&k, (uint32_t)run + 1, degrees);
        struct og_budget *b = og__budget_new(64 * OG_MIB);
        const struct og_superbatch_options opt = {.scratch = scratch,
                                                  .memory = shares[run / 2],
                                                  .n_hops = HOPS,
                                                  .n_nodes = N,
                                                  .degrees = degrees};
        struct og_superbatch *s;
        struct og_batch_memory out;
        og__batch_init(&out, b);
        assert_int_equal(og__superbatch_open(&s, &opt, b, NULL), 0);
        uint64_t written = 0;
        for (uint32_t epoch = 0; epoch < 3; epoch++) {
            append_epoch(s, &k, epoch);
            check_trace(s, &k, epoch);
            for (int again = 0; again < 2; again++) {
                struct og_io_counts read = replay_epoch(s, &k, epoch, &out);
                assert_int_equal(read.bytes == 0, run / 2 == 2);
                assert_int_equal(read.reads == 0, run / 2 == 2);
                assert_true(read.bytes <= og__superbatch_written(s) - written);
            }
            assert_int_equal(og__superbatch_written(s) > written, run / 2 != 2);
            written = og__superbatch_written(s);
            og__superbatch_clear(s);
        }
        assert_int_equal(entries(scratch), run / 2 != 2);
        og__superbatch_close(s);
        og__batch_release(&out);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        close_source(&k);
        remove_empty(scratch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_gives_back_what_was_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

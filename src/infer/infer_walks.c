/* Neighbourhoods by random walks for --sampler walk, once per node.
 *
 *     graph ──walks──> indptr.npy, indices.npy, weights.npy      in the layout of a dataset
 *
 * In training PinSAGE samples neighbourhoods per batch. Here they depend on (seed, node) alone and
 * are the same in all layers. They are sampled again at each start, which is faster than the
 * layers, and leaves no stale files. */
#include "infer/infer_passes.h"

#include "dataset/on_disk.h"
#include "sample/sample.h"

#include <stdlib.h>
#include <string.h>

#define WALKED "walked lists"

enum { MOST_EDGES = 1 << 20, MOST_NODES = 1 << 14 };

struct walking {
    struct og_inference *f;
    struct og_topology topology;
    struct og_sampler *sampler;
    struct og_batch_memory sampled;
    struct og_npy_writer *indptr, *indices, *weights;
    uint32_t n_nodes; /* per group */
    /* per node, from the budget in one piece */
    uint64_t *list; /* [neighbours] node << 32 | bits of its weight */
    int64_t *ends;
    uint32_t *seeds, *ids;
    float *weight;
    int64_t n_edges; /* so far */
};

static size_t array_bytes(const struct walking *w)
{
    size_t most = (size_t)w->f->opt.neighbors, n = w->n_nodes;
    return most * 8 + n * 8 + n * 4 + n * most * 8;
}

/* ---- opening ---- */

static int open_topology(struct walking *w, struct og_err *err)
{
    struct og_inference *f = w->f;
    int how = f->opt.topology;
    bool fits = og__topology_bytes(f->ds, OG__NO_WEIGHTS) <= og__infer_left(f) / 2;
    if (how == OG_TOPOLOGY_MEMORY || (how == OG_TOPOLOGY_AUTO && fits))
        return og__topology_load(f->ds, OG__NO_WEIGHTS, f->budget, &w->topology, err);
    const struct og_topology_disk_options opt = {.reader = og__infer_reader_options(f),
                                                 .log = &f->log};
    return og__topology_open_disk(f->ds, &opt, f->budget, &w->topology, err);
}

static int open_sampler(struct walking *w, struct og_err *err)
{
    const struct og_options *opt = &w->f->opt;
    const struct og_sampling how = {.kind = (enum og_sampler_kind)opt->sampler,
                                    .walks = opt->walks,
                                    .walk_length = opt->walk_length,
                                    .restart = opt->walk_restart};
    int rc = og__sampler_open(&w->sampler, &w->topology, &opt->neighbors, 1, (uint64_t)opt->seed,
                              w->f->budget, err);
    return rc < 0 ? rc : og__sampler_choose(w->sampler, &how, err);
}

static int take_arrays(struct walking *w, struct og_err *err)
{
    size_t most = (size_t)w->f->opt.neighbors;
    w->n_nodes = (uint32_t)OG_MIN(MOST_EDGES / most, (size_t)MOST_NODES);
    w->list = og__alloc(w->f->budget, array_bytes(w), WALKED, err);
    if (!w->list)
        return -ENOMEM;
    w->ends = (int64_t *)(w->list + most);
    w->seeds = (uint32_t *)(w->ends + w->n_nodes);
    w->ids = w->seeds + w->n_nodes;
    w->weight = (float *)(w->ids + w->n_nodes * most);
    return 0;
}

static int open_walking(struct walking *w, struct og_err *err)
{
    const int64_t zero = 0;
    og__batch_init(&w->sampled, w->f->budget);
    OG_DO(open_topology(w, err));
    OG_DO(open_sampler(w, err));
    OG_DO(take_arrays(w, err));
    OG_DO(og__infer_array_new(w->f, "indptr.npy", OG__NPY_I64, 1, &w->indptr, err));
    OG_DO(og__infer_array_new(w->f, "indices.npy", OG__NPY_I32, 1, &w->indices, err));
    OG_DO(og__infer_array_new(w->f, "weights.npy", OG__NPY_F32, 1, &w->weights, err));
    return og__npy_append(w->indptr, &zero, 1, err);
}

static void close_walking(struct walking *w)
{
    if (w->list)
        og__release(w->f->budget, w->list, array_bytes(w), WALKED);
    og__batch_release(&w->sampled);
    og__sampler_close(w->sampler);
    og__topology_release(&w->topology);
    og__npy_discard(w->indptr);
    og__npy_discard(w->indices);
    og__npy_discard(w->weights);
}

/* ---- walking ---- */

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Stores the list of the batch's node i, ordered by node, at edge `at`. */
static void take_list(struct walking *w, uint32_t i, uint32_t at)
{
    const struct og_batch *batch = &w->sampled.batch;
    const struct og_block *b = &batch->hop[0];
    uint32_t first = b->indptr[i], n = b->indptr[i + 1] - first;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t bits;
        memcpy(&bits, &b->weight[first + k], sizeof(bits));
        w->list[k] = (uint64_t)batch->ids[b->src[first + k]] << 32 | bits;
    }
    qsort(w->list, n, sizeof(*w->list), ascending);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t bits = (uint32_t)w->list[k];
        w->ids[at + k] = (uint32_t)(w->list[k] >> 32);
        memcpy(&w->weight[at + k], &bits, sizeof(bits));
    }
}

/* The key is the same for all batches, so results do not depend on the grouping. */
static int walk_batch(struct walking *w, uint64_t first, uint32_t n, struct og_err *err)
{
    const struct og_block *b = &w->sampled.batch.hop[0];
    for (uint32_t i = 0; i < n; i++)
        w->seeds[i] = (uint32_t)first + i;
    OG_DO(og__sample(w->sampler, w->seeds, n,
                     &(struct og_sample_key){.stream = OG__STREAM_EVAL, .epoch = 0, .batch = 0},
                     &w->sampled, err));
    for (uint32_t i = 0; i < n; i++) {
        take_list(w, i, b->indptr[i]);
        w->ends[i] = w->n_edges + b->indptr[i + 1];
    }
    w->n_edges += (int64_t)b->n_edges;
    OG_DO(og__npy_append(w->indptr, w->ends, n, err));
    OG_DO(og__npy_append(w->indices, w->ids, (int64_t)b->n_edges, err));
    return og__npy_append(w->weights, w->weight, (int64_t)b->n_edges, err);
}

static int walk_all(struct walking *w, struct og_err *err)
{
    struct og_inference *f = w->f;
    const volatile sig_atomic_t *stop = f->observer ? f->observer->stop : NULL;
    uint64_t n_nodes = (uint64_t)f->ds->n_nodes;
    for (uint64_t first = 0; first < n_nodes; first += w->n_nodes) {
        uint32_t n = (uint32_t)OG_MIN(n_nodes - first, (uint64_t)w->n_nodes);
        OG_DO(walk_batch(w, first, n, err));
        og__infer_observe(f, "walk", 0, first + n, n_nodes);
        if (og__stop_requested(stop))
            return og__fail(err, OG_INTERRUPTED, "resume with --resume", "interrupted");
    }
    return 0;
}

/* ---- the graph of the walks ---- */

static int end_walking(struct walking *w, struct og_err *err)
{
    struct og_relation *walked = &w->f->walked;
    int rc;
    OG_TRY(og__infer_array_end(w->f, &w->indptr, "indptr.npy", &walked->indptr, err));
    OG_TRY(og__infer_array_end(w->f, &w->indices, "indices.npy", &walked->indices, err));
    OG_TRY(og__infer_array_end(w->f, &w->weights, "weights.npy", &walked->weights, err));
out:
    walked->n_edges = w->n_edges;
    return rc;
}

int og__infer_walk(struct og_inference *f, struct og_err *err)
{
    struct walking w = {.f = f};
    f->walked = (struct og_relation){.graph = f->ds,
                                     .name = "",
                                     .n_sources = f->ds->n_nodes,
                                     .n_nodes = f->ds->n_nodes,
                                     .indptr = {.fd = -1},
                                     .indices = {.fd = -1},
                                     .weights = {.fd = -1}};
    f->lists = &f->walked;
    int rc;
    OG_TRY(open_walking(&w, err));
    OG_TRY(walk_all(&w, err));
    OG_TRY(end_walking(&w, err));
out:
    close_walking(&w);
    return rc;
}

void og__infer_release_walks(struct og_inference *f)
{
    if (!f->walked.graph)
        return;
    og__npy_close(&f->walked.indptr);
    og__npy_close(&f->walked.indices);
    og__npy_close(&f->walked.weights);
}

/* Uniform k-hop sampling, without or with replacement.
 *
 * A hop is a stream of edges through a short pipeline. Each step accesses memory at random, so it
 * prefetches for the next one and moves on. A window of edges covers the latency:
 *
 *   ids[i] ──> indptr[id] ──> draw positions ──> indices[e] ──> number in this batch
 *          prefetch        Philox, Floyd      prefetch       prefetch   hash table
 *
 * Without the three prefetches a sampled edge costs 1.4 times as much (4 M nodes, 64 M edges). The
 * steps after drawing are in hop.c and serve every kind. On disk, all nodes of the hop draw, and
 * then the neighbours are read at once. */
#include "sample/from_disk.h"
#include "sample/kinds.h"

/* ---- in memory ---- */

/* Samples all of a node's neighbours, or `fanout` of them. */
static int sample_node(struct og_hop *h, int64_t begin, int64_t degree, struct og_rng *rng,
                       struct og_err *err)
{
    if (og__takes_all(h, degree)) {
        for (int64_t e = begin; e < begin + degree; e++)
            OG_DO(og__push_edge(h, e, err));
        return 0;
    }
    uint32_t k = (uint32_t)h->fanout;
    og__draw(h->s, rng, (uint32_t)degree, k);
    for (uint32_t i = 0; i < k; i++)
        OG_DO(og__push_edge(h, begin + h->s->pick[i], err));
    return 0;
}

static int sample_in_memory(struct og_hop *h, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    struct og_block *block = h->block;
    for (uint32_t i = h->first; i < block->n_dst; i++) {
        if (i + OG__PREFETCH_DISTANCE < block->n_dst)
            og__prefetch_degree(t, h->nodes[i + OG__PREFETCH_DISTANCE]);
        uint32_t v = h->nodes[i];
        struct og_rng rng;
        og__hop_rng(h, v, &rng);
        og__begin_list(h, i);
        OG_DO(sample_node(h, og__first_edge(t, v), og__degree(t, v), &rng, err));
    }
    return og__flush_edges(h, err);
}

/* ---- from disk ---- */

static const uint32_t *positions_of(const struct og_hop *h, uint32_t v)
{
    const int64_t degree = og__degree(h->s->topology, v);
    struct og_rng rng;
    if (og__takes_all(h, degree))
        return NULL;
    og__hop_rng(h, v, &rng);
    og__draw(h->s, &rng, (uint32_t)degree, (uint32_t)h->fanout);
    return h->s->pick;
}

static int draw_hop(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    const uint32_t before = (uint32_t)h->block->n_edges;
    uint32_t edge = 0;
    for (uint32_t i = h->first; i < h->block->n_dst; i++) {
        if (i + OG__PREFETCH_DISTANCE < h->block->n_dst)
            og__runs_prefetch(s->topology, h->nodes[i + OG__PREFETCH_DISTANCE]);
        uint32_t v = h->nodes[i];
        uint32_t k = og__drawn_of(h, og__degree(s->topology, v));
        const uint32_t *positions = k > 0 ? positions_of(h, v) : NULL;
        h->block->indptr[i] = before + edge;
        if (k > 0)
            og__fetch_want(s, edge, v, positions, k);
        OG_DO(
            og__number_places(h, before + edge, og__first_edge(s->topology, v), positions, k, err));
        edge += k;
    }
    return 0;
}

static int sample_from_disk(struct og_hop *h, struct og_err *err)
{
    const uint64_t before = h->block->n_edges, drawn = h->n_edges - before;
    OG_DO(og__fetch_begin(h->s, h->block->src + before, h->weight ? h->weight + before : NULL,
                          drawn, NULL, err));
    OG_DO(draw_hop(h, err));
    OG_DO(og__fetch(h->s, err));
    return og__number_fetched(h, drawn, err);
}

static int sample_hop(struct og_hop *h, struct og_err *err)
{
    return h->s->topology->disk ? sample_from_disk(h, err) : sample_in_memory(h, err);
}

static const char *const parameters[] = {"draw", "replace", NULL};

const struct og_sampler_ops og__sampler_uniform = {
    .parameters = parameters,
    .hop = sample_hop,
    .pass = &og__pass_by_positions,
    .positions = positions_of,
};

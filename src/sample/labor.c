/* LABOR-0 (Balin and Çatalyürek, "Layer-Neighbor Sampling", 2023). Every node draws one number for
 * a hop, shared by all destinations. A destination with d in-neighbours takes those with a number
 * of at most fanout / d, so fanout on average. Destinations see equal numbers and tend to take the
 * same nodes, so the hop finds fewer.
 *
 * It computes every in-neighbour's number: a hop costs the in-degrees of its nodes, not their
 * fanout.
 *
 * With --batch-dependency K a node keeps its number for K batches of training. So batches find many
 * of the same nodes (ibid., section 3.2, there with Gaussians). Where its K batches begin is a
 * random number of its own. In each batch numbers are independent and uniform, and one node in K
 * has a new one. */
#include "sample/kinds.h"
#include "sample/lists.h"

/* Counts of K batches, before which the node has had other numbers. */
static uint64_t turn_of(const struct og_hop *h, uint32_t hop, uint32_t node)
{
    const struct og_sampling *how = &h->s->how;
    uint32_t word[4];
    og__philox(h->seed, OG__STREAM_DEPENDENT, 0, UINT32_MAX, hop, node, 0, word);
    const uint64_t batch = (uint64_t)(h->epoch - 1) * how->batches + h->batch;
    return (batch + word[0] % how->dependency) / how->dependency;
}

/* 64 random bits. */
static uint64_t roll(const struct og_hop *h, uint32_t node)
{
    const struct og_sampling *how = &h->s->how;
    const uint32_t hop = how->one_layer ? 0 : h->number;
    uint32_t word[4];
    if (how->dependency > 1 && h->stream == OG__STREAM_SAMPLE) {
        const uint64_t turn = turn_of(h, hop, node);
        og__philox(h->seed, OG__STREAM_DEPENDENT, (uint32_t)(turn >> 32), (uint32_t)turn, hop, node,
                   0, word);
    } else {
        og__philox(h->seed, h->stream, h->epoch, h->batch, hop, node, 0, word);
    }
    return (uint64_t)word[0] << 32 | word[1];
}

/* Rolls up to here are taken: roll / 2^64 <= fanout / degree. */
static uint64_t limit_of(const struct og_hop *h, int64_t degree)
{
    return h->fanout < 0 || degree <= h->fanout
               ? UINT64_MAX
               : (uint64_t)(((unsigned __int128)(uint32_t)h->fanout << 64) /
                            (unsigned __int128)(uint64_t)degree);
}

static bool takes(const struct og_hop *h, uint64_t limit, uint32_t node)
{
    return limit == UINT64_MAX || roll(h, node) <= limit;
}

static int sample_node(struct og_hop *h, uint32_t v, const struct og_list *list, struct og_err *err)
{
    const int64_t begin = og__first_edge(h->s->topology, v);
    const uint64_t limit = limit_of(h, list->n);
    for (int64_t i = 0; i < list->n; i++) {
        uint32_t u = og__list_id(list, i);
        if (takes(h, limit, u))
            OG_DO(og__push_drawn(h, u, list->weights ? list->weights + i : NULL, begin + i, err));
    }
    return 0;
}

static int take(const struct og_hop *h, uint32_t v, uint32_t tree, const struct og_list *list,
                struct og_taken *out, struct og_err *err)
{
    (void)tree;
    const uint64_t limit = limit_of(h, list->n);
    for (int64_t i = 0; i < list->n; i++)
        if (takes(h, limit, og__list_id(list, i)))
            OG_DO(og__take_neighbor(h, v, list, i, out, err));
    return 0;
}

/* Inlined, or gcc drops it: it has no other effect. */
static inline __attribute__((always_inline)) void prefetch_list(const struct og_topology *t,
                                                                uint32_t v)
{
    if (!t->disk)
        og__prefetch_edge(t, og__first_edge(t, v));
}

static int sample_hop(struct og_hop *h, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    uint32_t n_dst = h->block->n_dst;
    uint32_t n = 0;
    for (uint32_t first = h->first; first < n_dst; first += n) {
        OG_DO(og__hop_lists(h, first, h->weight != NULL, &n, err));
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = first + i;
            if (at + OG__PREFETCH_DISTANCE < n_dst)
                og__prefetch_degree(t, h->nodes[at + OG__PREFETCH_DISTANCE]);
            if (at + OG__PREFETCH_DISTANCE / 2 < n_dst)
                prefetch_list(t, h->nodes[at + OG__PREFETCH_DISTANCE / 2]);
            struct og_list list = og__hop_list(h, first, i);
            og__begin_list(h, at);
            OG_DO(sample_node(h, h->nodes[at], &list, err));
        }
    }
    return og__number_window(h, err);
}

static const char *const parameters[] = {"draw", "batch-dependency", "layer-dependency", NULL};

const struct og_sampler_ops og__sampler_labor = {
    .edges_unknown = true, /* the fanout only on average */
    .parameters = parameters,
    .hop = sample_hop,
    .pass = &og__pass_by_lists,
    .take = take,
    .disk_bytes = og__source_lists_bytes,
};

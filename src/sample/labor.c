/* LABOR-0 (Balin and Çatalyürek, "Layer-Neighbor Sampling", 2023): every node of a hop rolls once,
 * for all destinations. One with d in-neighbours takes those whose roll is at most fanout / d, so
 * fanout of them on average; and since destinations see the same rolls they take the same nodes
 * where they can, and the hop finds fewer.
 *
 * Every in-neighbour's roll is looked at: a hop costs the in-degrees of its nodes, not their
 * fanout. */
#include "sample/sampler.h"

/* Of 64 bits. */
static uint64_t roll(const struct og_hop *h, uint32_t node)
{
    uint32_t word[4];
    og__philox(h->s->seed, h->stream, h->epoch, h->batch, h->number, node, 0, word);
    return (uint64_t)word[0] << 32 | word[1];
}

static int sample_node(struct og_hop *h, int64_t begin, int64_t degree, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    bool all = h->fanout < 0 || degree <= h->fanout;
    /* roll / 2^64 <= fanout / degree */
    uint64_t limit = all ? UINT64_MAX
                         : (uint64_t)(((unsigned __int128)(uint32_t)h->fanout << 64) /
                                      (unsigned __int128)(uint64_t)degree);
    int rc = 0;
    for (int64_t e = begin; rc == 0 && e < begin + degree; e++)
        if (all || roll(h, og__neighbor(t, e)) <= limit)
            rc = og__push_edge(h, e, err);
    return rc;
}

int og__sample_hop_labor(struct og_hop *h, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    uint32_t n_dst = h->block->n_dst;
    for (uint32_t i = 0; i < n_dst; i++) {
        if (i + OG__LOOKAHEAD < n_dst)
            og__prefetch_degree(t, h->ids[i + OG__LOOKAHEAD]);
        if (i + OG__LOOKAHEAD / 2 < n_dst)
            og__prefetch_edge(t, og__first_edge(t, h->ids[i + OG__LOOKAHEAD / 2]));
        uint32_t v = h->ids[i];
        og__begin_list(h, i);
        int rc = sample_node(h, og__first_edge(t, v), og__degree(t, v), err);
        if (rc < 0)
            return rc;
    }
    return og__flush_edges(h, err);
}

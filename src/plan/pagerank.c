/* Weighted reverse PageRank. Each round sends every node's rank to its in-neighbours, which
 * sampling reads next:
 *
 *     next[u] = (1 - D) start[u] + D * sum over v with u in N(v) of  rank[v] / |N(v)|
 *
 * In a heterogeneous graph, each non-empty list of v gets an equal part of rank[v]. Reason: a node
 * samples from each of its relations.
 *
 * A few rounds suffice: as many as a batch has hops. The last one omits the start: a training node
 * is a seed once an epoch, so starts do not predict visits. */
#include "dataset/on_disk.h"
#include "plan/plan.h"

#include <string.h>

enum { ROUNDS = 10 };
static const float damping = 0.85f;

/* Sends the share of one list, or of its part in the run: edges [from, to) of it. */
static void send_share(const struct og_pagerank *p, const uint32_t *ids, size_t from, size_t to,
                       size_t n)
{
    enum { AHEAD = 32 };
    int64_t degree = og__degree(p->lists, (uint32_t)p->node);
    float share = damping * p->from[p->node] / (float)degree;
    for (size_t i = from; i < to; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&p->to[ids[i + AHEAD]], 1);
        p->to[ids[i]] += share;
    }
}

int og__pagerank_edges(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err)
{
    struct og_pagerank *p = arg;
    int64_t end = first + (int64_t)n;
    (void)err;
    for (int64_t at = first; at < end;) {
        int64_t list_end = og__first_edge(p->lists, p->node + 1);
        int64_t to = OG_MIN(list_end, end);
        if (p->from[p->node] != 0)
            send_share(p, ids, (size_t)(at - first), (size_t)(to - first), n);
        at = to;
        p->node += list_end <= end;
    }
    return 0;
}

size_t og__pagerank_bytes(uint64_t n_nodes)
{
    return 2 * (size_t)n_nodes * sizeof(float);
}

/* The initial rank of each training node in a round. */
static void put_start(const struct og_pagerank *p, float *rank)
{
    float start = (1 - damping) * (float)p->t->n_nodes / (float)OG_MAX(p->n_seeds, (int64_t)1);
    for (int64_t i = 0; i < p->n_seeds; i++)
        rank[p->seeds[i]] = start;
}

static size_t bytes_of(const struct og_pagerank *p)
{
    return (size_t)p->t->n_nodes * sizeof(float);
}

int og__pagerank_open(struct og_pagerank *p, const struct og_topology *t, const uint32_t *seeds,
                      int64_t n_seeds, struct og_budget *b, struct og_err *err)
{
    *p = (struct og_pagerank){.t = t, .seeds = seeds, .n_seeds = n_seeds, .budget = b};
    p->rank = og__alloc(b, bytes_of(p), "hotness", err);
    p->next = og__alloc(b, bytes_of(p), "hotness", err);
    if (!p->rank || !p->next)
        return -ENOMEM;
    put_start(p, p->next);
    return 0;
}

/* Among the relations that have a list of it. They are counted in `next`, which is no sum yet. */
static void share_out(const struct og_pagerank *p)
{
    memset(p->next, 0, bytes_of(p));
    for (uint32_t r = 0; r < p->t->n_relations; r++) {
        const struct og_related_lists *of = &p->t->relation[r];
        for (uint32_t v = 0; of->lists.n_edges > 0 && v < of->lists.n_nodes; v++)
            p->next[of->first + v] += og__degree(&of->lists, v) > 0;
    }
    for (int64_t v = 0; v < p->t->n_nodes; v++)
        p->rank[v] /= OG_MAX(p->next[v], 1.0f);
}

bool og__pagerank_round(struct og_pagerank *p)
{
    float *swap = p->rank;
    p->rank = p->next;
    p->next = swap;
    if (p->round++ == ROUNDS)
        return false;
    if (p->t->relation)
        share_out(p);
    memset(p->next, 0, bytes_of(p));
    if (p->round < ROUNDS)
        put_start(p, p->next);
    return true;
}

void og__pagerank_pass(struct og_pagerank *p)
{
    p->lists = p->t;
    p->from = p->rank;
    p->to = p->next;
    p->node = 0;
}

void og__pagerank_pass_relation(struct og_pagerank *p, uint32_t r)
{
    const struct og_related_lists *of = &p->t->relation[r];
    p->lists = &of->lists;
    p->from = p->rank + of->first;
    p->to = p->next + of->first_source;
    p->node = 0;
}

void og__pagerank_scores(const struct og_pagerank *p, uint32_t *hotness)
{
    memcpy(hotness, p->rank, bytes_of(p));
}

void og__pagerank_close(struct og_pagerank *p)
{
    og__release(p->budget, p->rank, bytes_of(p), "hotness");
    og__release(p->budget, p->next, bytes_of(p), "hotness");
}

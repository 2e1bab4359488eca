/* Weighted reverse PageRank. Each round sends what every node has to its in-neighbours, which are
 * what sampling reads next:
 *
 *     next[u] = (1 - D) start[u] + D * sum over v with u in N(v) of  rank[v] / |N(v)|
 *
 * A few rounds are enough: a batch is as many hops deep. The last one leaves the start out: where
 * walks begin is no sign of how often they come by, a training node is a seed once an epoch. */
#include "plan/plan.h"

#include <string.h>

enum { ROUNDS = 10 };
static const float damping = 0.85f;

struct round {
    const struct og_topology *t;
    const float *rank;
    float *next;
    uint64_t node; /* whose list is passing */
};

/* One list, or as much of it as is in the run: edges [from, to) of it. */
static void send_share(const struct round *r, const uint32_t *ids, size_t from, size_t to, size_t n)
{
    enum { AHEAD = 32 };
    int64_t degree = og__degree(r->t, (uint32_t)r->node);
    float share = damping * r->rank[r->node] / (float)degree;
    for (size_t i = from; i < to; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&r->next[ids[i + AHEAD]], 1);
        r->next[ids[i]] += share;
    }
}

static int send(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err)
{
    struct round *r = arg;
    int64_t end = first + (int64_t)n;
    (void)err;
    for (int64_t at = first; at < end;) {
        int64_t list_end = og__first_edge(r->t, r->node + 1);
        int64_t to = OG_MIN(list_end, end);
        if (r->rank[r->node] != 0)
            send_share(r, ids, (size_t)(at - first), (size_t)(to - first), n);
        at = to;
        r->node += list_end <= end;
    }
    return 0;
}

size_t og__hotness_pagerank_bytes(uint64_t n_nodes)
{
    return 2 * (size_t)n_nodes * sizeof(float);
}

int og__hotness_pagerank(const struct og_topology *t, const uint32_t *seeds, int64_t n_seeds,
                         struct og_budget *b, uint32_t *hotness, struct og_err *err)
{
    size_t bytes = (size_t)t->n_nodes * sizeof(float);
    float *rank = og__alloc(b, bytes, "hotness", err);
    float *next = og__alloc(b, bytes, "hotness", err);
    int rc = rank && next ? 0 : -ENOMEM;
    float start = (1 - damping) * (float)t->n_nodes / (float)OG_MAX(n_seeds, (int64_t)1);
    for (int64_t i = 0; rc == 0 && i < n_seeds; i++)
        rank[seeds[i]] = start;
    for (int round = 0; rc == 0 && round < ROUNDS; round++) {
        memset(next, 0, bytes);
        bool last = round == ROUNDS - 1;
        for (int64_t i = 0; !last && i < n_seeds; i++)
            next[seeds[i]] = start;
        struct round r = {t, rank, next, 0};
        rc = og__topology_scan(t, send, &r, err);
        float *swap = rank;
        rank = next;
        next = swap;
    }
    if (rc == 0)
        memcpy(hotness, rank, bytes);
    og__release(b, rank, bytes, "hotness");
    og__release(b, next, bytes, "hotness");
    return rc;
}

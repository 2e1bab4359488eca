/* Weighted reverse PageRank. Each round sends what every node has to its in-neighbours, which are
 * what sampling reads next:
 *
 *     next[u] = (1 - D) start[u] + D * sum over v with u in N(v) of  rank[v] / |N(v)|
 *
 * A few rounds are enough: a batch is as many hops deep. */
#include "plan/plan.h"

#include <string.h>

enum { ROUNDS = 10 };
static const float damping = 0.85f;

static void send(const struct og_topology *t, const float *rank, float *next)
{
    enum { AHEAD = 32 };
    for (uint32_t v = 0; v < (uint64_t)t->n_nodes; v++) {
        int64_t degree = og__degree(t, v);
        if (rank[v] == 0)
            continue;
        float share = damping * rank[v] / (float)degree;
        for (int64_t e = t->indptr[v]; e < t->indptr[v] + degree; e++) {
            if (e + AHEAD < t->n_edges)
                __builtin_prefetch(&next[og__neighbor(t, e + AHEAD)], 1);
            next[og__neighbor(t, e)] += share;
        }
    }
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
        for (int64_t i = 0; i < n_seeds; i++)
            next[seeds[i]] = start;
        send(t, rank, next);
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

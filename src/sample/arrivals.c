#include "sample/arrivals.h"

#include "base/sort.h"

static const char part[] = "seeds";
enum { PIECE = 2048 };

static int by_time(const void *a, const void *b)
{
    const struct og_timed *x = a;
    const struct og_timed *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

int og__arrivals_open(struct og_arrivals *a, const struct og_graph *g, struct og_budget *b,
                      struct og_err *err)
{
    int64_t time[PIECE];
    *a = (struct og_arrivals){.n = (size_t)g->n_nodes, .budget = b};
    a->node = og__alloc(b, a->n * sizeof(*a->node), part, err);
    OG_DO(a->node ? 0 : -ENOMEM);
    for (int64_t first = 0, n; first < g->n_nodes; first += n) {
        n = OG_MIN(g->n_nodes - first, (int64_t)PIECE);
        OG_DO(og__npy_read(&g->node_times, first, n, time, err));
        for (int64_t i = 0; i < n; i++)
            a->node[first + i] = (struct og_timed){time[i], (uint32_t)(first + i)};
    }
    for (uint32_t k = 0; k < g->n_groups; k++)
        og__sort_in_place(a->node + g->group[k].first, (size_t)g->group[k].n_nodes,
                          sizeof(*a->node), by_time);
    return 0;
}

void og__arrivals_close(struct og_arrivals *a)
{
    og__release(a->budget, a->node, a->n * sizeof(*a->node), part);
    *a = (struct og_arrivals){0};
}

uint32_t og__arrived(const struct og_arrivals *a, uint32_t first, uint32_t n, int64_t time)
{
    uint32_t there = 0;
    while (n > 0) {
        const uint32_t half = n / 2;
        if (a->node[first + there + half].time <= time) {
            there += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return there;
}

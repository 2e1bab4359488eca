#include "dataset/alias.h"

#include "dataset/topology.h"

size_t og__alias_scratch_bytes(int64_t n)
{
    return (size_t)n * (sizeof(double) + sizeof(uint32_t));
}

/* Places that are worth less than a part, from the front, and others, from the back. */
struct piles {
    double *worth;
    uint32_t *pile;
    int64_t n_small, n_large, n;
};

static void put(struct piles *p, uint32_t i)
{
    if (p->worth[i] < 1)
        p->pile[p->n_small++] = i;
    else
        p->pile[p->n - ++p->n_large] = i;
}

static uint32_t heaviest(const float *weights, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (weights[i] > weights[best])
            best = i;
    return (uint32_t)best;
}

/* Less than all, and more than nothing for what has weight. */
static uint32_t share_of(double worth, float weight)
{
    uint64_t share = (uint64_t)(worth * 0x1p32);
    return weight > 0 ? (uint32_t)OG_MAX(OG_MIN(share, (uint64_t)UINT32_MAX), (uint64_t)1) : 0;
}

static void pair_up(struct piles *p, struct og_alias *out, const float *weights)
{
    while (p->n_small > 0 && p->n_large > 0) {
        uint32_t small = p->pile[--p->n_small];
        uint32_t large = p->pile[p->n - p->n_large--];
        out[small] = (struct og_alias){share_of(p->worth[small], weights[small]), large};
        p->worth[large] -= 1 - p->worth[small];
        put(p, large);
    }
}

void og__alias_make(struct og_alias *out, const float *weights, int64_t n, void *scratch)
{
    struct piles p = {.worth = scratch, .n = n};
    double sum = 0;
    p.pile = (uint32_t *)(void *)(p.worth + n);
    for (int64_t i = 0; i < n; i++)
        sum += (double)weights[i];
    uint32_t heavy = n > 0 && sum > 0 ? heaviest(weights, n) : OG__NO_OTHER;
    for (int64_t i = 0; i < n; i++) {
        /* full slots, up to rounding, unless paired */
        out[i] = (struct og_alias){weights[i] > 0 ? UINT32_MAX : 0, heavy};
        p.worth[i] = sum > 0 ? (double)weights[i] * ((double)n / sum) : 0;
        if (sum > 0)
            put(&p, (uint32_t)i);
    }
    pair_up(&p, out, weights);
}

size_t og__alias_list_scratch_bytes(int64_t longest)
{
    return (size_t)longest * sizeof(struct og_alias) + og__alias_scratch_bytes(longest);
}

void og__alias_list_make(const struct og_topology *t, uint32_t v, struct og_alias_edge *table,
                         void *scratch)
{
    int64_t first = og__first_edge(t, v);
    int64_t n = og__degree(t, v);
    struct og_alias *alias = scratch;
    og__alias_make(alias, t->weights + first, n, alias + n);
    for (int64_t i = 0; i < n; i++)
        table[first + i] = (struct og_alias_edge){
            .alias = alias[i],
            .node = og__neighbor(t, first + i),
            .other_node = alias[i].other == OG__NO_OTHER ? OG__NO_OTHER
                                                         : og__neighbor(t, first + alias[i].other)};
}

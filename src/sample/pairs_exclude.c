/* Exclusion: a training batch's own edges and their reverses are not in its blocks. */
#include "sample/pairs.h"

#include <stdlib.h>
#include <string.h>

static int compare_u64(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* Ends are positions among the seeds; of trees, where others have the same node, ids. */
static size_t list_banned(struct og_pairs *p)
{
    size_t n = 0;
    for (uint32_t i = 0; i < p->n_edges; i++) {
        const uint64_t a = p->trees ? p->seeds[p->a[i]] : p->a[i];
        const uint64_t b = p->trees ? p->seeds[p->b[i]] : p->b[i];
        p->banned[n++] = b << 32 | a;
        p->banned[n++] = a << 32 | b;
    }
    qsort(p->banned, n, sizeof(*p->banned), compare_u64);
    return n;
}

/* Bits of what is banned: what has none is not, and few others have one. */
enum { FILTER_BITS = 1 << 16 };
struct filter {
    uint64_t bits[FILTER_BITS / 64];
};

static uint32_t bit_of(uint64_t edge)
{
    return (uint32_t)(edge * 0x9E3779B97F4A7C15u >> 48) % FILTER_BITS;
}

static void fill_filter(struct filter *f, const uint64_t *banned, size_t n)
{
    memset(f, 0, sizeof(*f));
    for (size_t i = 0; i < n; i++)
        f->bits[bit_of(banned[i]) / 64] |= (uint64_t)1 << bit_of(banned[i]) % 64;
}

static bool may_be_banned(const struct filter *f, uint64_t edge)
{
    return f->bits[bit_of(edge) / 64] >> bit_of(edge) % 64 & 1;
}

static bool is_banned(const uint64_t *banned, size_t n, uint64_t edge)
{
    while (n > 0) {
        size_t half = n / 2;
        if (banned[half] == edge)
            return true;
        if (banned[half] < edge) {
            banned += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return false;
}

static void move_edges(struct og_block *b, uint64_t to, uint64_t from, uint64_t n)
{
    if (to == from || n == 0)
        return;
    memmove(b->src + to, b->src + from, n * sizeof(*b->src));
    if (b->weight)
        memmove((float *)b->weight + to, b->weight + from, n * sizeof(*b->weight));
    if (b->edge)
        memmove(b->edge + to, b->edge + from, n * sizeof(*b->edge));
}

/* Lists of the seeds are thinned in place; all that follows moves up. */
static void thin_block(const struct og_pairs *p, size_t n_banned, struct og_block *b)
{
    uint64_t to = 0;
    uint32_t begin = 0, v = 0;
    size_t at = 0;
    for (; v < OG_MIN(b->n_dst, p->n_seeds); v++) {
        uint32_t end = b->indptr[v + 1];
        size_t next = at;
        while (next < n_banned && p->banned[next] >> 32 == v)
            next++;
        b->indptr[v] = (uint32_t)to;
        for (uint32_t e = begin; e < end; e++) {
            if (is_banned(p->banned + at, next - at, (uint64_t)v << 32 | b->src[e]))
                continue;
            move_edges(b, to, e, 1);
            to++;
        }
        begin = end;
        at = next;
    }
    move_edges(b, to, begin, b->n_edges - begin);
    for (; v <= b->n_dst; v++)
        b->indptr[v] -= (uint32_t)(begin - to);
    b->n_edges -= begin - to;
}

/* Edges that stay, of which a run is moved at once. */
struct kept_edges {
    uint64_t to, from, n; /* the range, and its destination */
};

static void end_run(struct og_block *b, struct kept_edges *k, uint64_t next)
{
    move_edges(b, k->to, k->from, k->n);
    k->to += k->n;
    k->from = next;
    k->n = 0;
}

/* What is removed, and the nodes of a batch of trees. */
struct exclusion {
    const struct og_pairs *pairs;
    size_t n_banned;
    const uint32_t *node; /* [places]; NULL: ends are positions */
    struct filter filter;
};

static void keep_list(const struct exclusion *x, struct og_block *b, uint32_t v, uint32_t begin,
                      uint32_t end, struct kept_edges *k)
{
    if (!x->node && v >= x->pairs->n_seeds) {
        k->n += end - begin;
        return;
    }
    for (uint32_t e = begin; e < end; e++) {
        const uint64_t edge = x->node ? (uint64_t)x->node[v] << 32 | x->node[b->src[e]]
                                      : (uint64_t)v << 32 | b->src[e];
        if (may_be_banned(&x->filter, edge) && is_banned(x->pairs->banned, x->n_banned, edge))
            end_run(b, k, e + (uint64_t)1);
        else
            k->n++;
    }
}

/* Edges of trees that are later than the seed were not sampled. */
static bool is_timed(const struct og_pairs *p, uint32_t relation)
{
    return p->timed && p->timed[relation];
}

/* Removes edges from all lists of trees in a homogeneous block. */
static void thin_trees(const struct exclusion *x, struct og_block *b)
{
    struct kept_edges k = {0};
    uint32_t begin = 0;
    if (is_timed(x->pairs, 0))
        return;
    for (uint32_t v = 0; v < b->n_dst; v++) {
        const uint32_t end = b->indptr[v + 1];
        const uint64_t first = k.to + k.n;
        keep_list(x, b, v, begin, end, &k);
        b->indptr[v] = (uint32_t)first;
        begin = end;
    }
    end_run(b, &k, begin);
    b->indptr[b->n_dst] = (uint32_t)k.to;
    b->n_edges = k.to;
}

/* Removes edges from lists of seeds in a heterogeneous block, which omits empty lists. */
static void thin_lists(const struct exclusion *x, struct og_block *b)
{
    struct kept_edges k = {.from = b->indptr[0]};
    uint32_t lists = 0, begin = b->indptr[0], list = 0;
    for (uint32_t r = 0; r < b->n_relations; r++) {
        const uint32_t end_list = b->relation[r + 1];
        b->relation[r] = lists;
        for (; list < end_list; list++) {
            const uint32_t v = b->dst[list], end = b->indptr[list + 1];
            const uint64_t first = k.to + k.n;
            if (is_timed(x->pairs, r))
                k.n += end - begin;
            else
                keep_list(x, b, v, begin, end, &k);
            begin = end;
            if (k.to + k.n == first)
                continue;
            b->dst[lists] = v;
            b->indptr[lists++] = (uint32_t)first;
        }
    }
    end_run(b, &k, begin);
    b->relation[b->n_relations] = b->n_lists = lists;
    b->indptr[lists] = (uint32_t)k.to;
    b->n_edges = k.to;
}

void og__pairs_exclude(struct og_pairs *p, struct og_batch *batch)
{
    struct exclusion x = {
        .pairs = p, .n_banned = list_banned(p), .node = p->trees ? batch->node : NULL};
    struct og_block *last = &batch->hop[batch->n_hops - 1];
    const bool nested =
        batch->hop[0].indptr == last->indptr; /* then all are thinned with the last */
    fill_filter(&x.filter, p->banned, x.n_banned);
    for (struct og_block *b = nested ? last : batch->hop; b <= last; b++) {
        if (b->relation)
            thin_lists(&x, b);
        else if (x.node)
            thin_trees(&x, b);
        else
            thin_block(p, x.n_banned, b);
    }
    for (struct og_block *b = batch->hop; nested && b < last; b++)
        b->n_edges = b->indptr[b->n_dst];
}

/* Uniform k-hop sampling without replacement.
 *
 * A hop is a stream of edges through a short pipeline. Each step touches memory at random, so it
 * asks for what the next one needs and moves on; a window of edges covers the latency:
 *
 *   ids[i] ──> indptr[id] ──> draw positions ──> indices[e] ──> number in this batch
 *          prefetch        Philox, Floyd      prefetch       prefetch   hash table
 *
 * Without the three prefetches a sampled edge costs 1.4 times as much (4 M nodes, 64 M edges).
 *
 * The table from node id to position is open addressing with linear probing, at most 5/8 full,
 * cleared a batch. A direct table of N entries would be a cache miss an edge as well, and takes
 * memory by the graph instead of by the batch. */
#include "sample/sample.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 256,      /* edges in the pipeline at once: fits L1 several times over */
    LOOKAHEAD = 24,    /* destinations whose indptr is asked for ahead */
    LINEAR_FLOYD = 48, /* up to here a scan of what was drawn beats a set */
};
#define EMPTY UINT32_MAX /* no node has this id: dataset.h bounds N */

struct entry {
    uint32_t id, position;
};

struct og_sampler {
    const struct og_topology *topology; /* set at open, then constant */
    struct og_budget *budget;
    int fanout[OG_MAX_HOPS];
    int n_hops;
    bool keep_degrees;
    uint64_t seed;
    /* the table; size is a power of two */
    struct entry *table;
    size_t table_size;
    unsigned shift; /* 64 - log2(table_size) */
    /* Floyd's picks, and the set that tells them apart when there are many */
    uint32_t *pick, *set;
    size_t max_pick, set_size;
    /* the window */
    int64_t edge[WINDOW];
    uint32_t node[WINDOW];
    size_t filled;
};

/* ---- node id -> position in the batch ---- */

static size_t slot_of(const struct og_sampler *s, uint32_t id)
{
    return (size_t)((id * 0x9E3779B97F4A7C15ull) >> s->shift);
}

static void put(struct og_sampler *s, uint32_t id, uint32_t position)
{
    size_t i = slot_of(s, id);
    while (s->table[i].id != EMPTY)
        i = (i + 1) & (s->table_size - 1);
    s->table[i] = (struct entry){id, position};
}

/* Position of id, which becomes `fresh` when it was not there. */
static inline uint32_t find_or_put(struct og_sampler *s, uint32_t id, uint32_t fresh)
{
    size_t i = slot_of(s, id);
    for (;;) {
        struct entry *e = &s->table[i];
        if (e->id == id)
            return e->position;
        if (e->id == EMPTY) {
            *e = (struct entry){id, fresh};
            return fresh;
        }
        i = (i + 1) & (s->table_size - 1);
    }
}

static size_t table_size_for(uint64_t ids)
{
    size_t size = 1024;
    while (size * 5 / 8 < ids)
        size *= 2;
    return size;
}

static void clear_table(struct og_sampler *s)
{
    memset(s->table, 0xff, s->table_size * sizeof(*s->table));
}

/* Room for `ids` nodes; those of ids[0 .. n) are put anew. */
static int fit_table(struct og_sampler *s, uint64_t ids, const uint32_t *known, uint32_t n,
                     struct og_err *err)
{
    size_t size = table_size_for(ids);
    if (size <= s->table_size)
        return 0;
    og__release(s->budget, s->table, s->table_size * sizeof(*s->table), "sampler");
    s->table_size = 0;
    s->table = og__alloc(s->budget, size * sizeof(*s->table), "sampler", err);
    if (!s->table)
        return -ENOMEM;
    s->table_size = size;
    s->shift = 64 - (unsigned)__builtin_ctzll(size);
    clear_table(s);
    for (uint32_t i = 0; i < n; i++)
        put(s, known[i], i);
    return 0;
}

/* ---- draws ---- */

static bool picked_before(const uint32_t *pick, uint32_t n, uint32_t x)
{
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        found |= pick[i] == x;
    return found;
}

/* k of [0, degree) into s->pick, k < degree: Floyd's algorithm, k draws, every subset equally
 * likely. */
static void draw_few(struct og_sampler *s, struct og_rng *rng, uint32_t degree, uint32_t k)
{
    for (uint32_t n = 0; n < k; n++) {
        uint32_t last = degree - k + n;
        uint32_t x = og__rng_below(rng, last + 1);
        s->pick[n] = picked_before(s->pick, n, x) ? last : x;
    }
}

static bool set_add(struct og_sampler *s, uint32_t x)
{
    size_t i = (size_t)(x * 0x9E3779B1u) & (s->set_size - 1);
    while (s->set[i] != EMPTY) {
        if (s->set[i] == x)
            return false;
        i = (i + 1) & (s->set_size - 1);
    }
    s->set[i] = x;
    return true;
}

static void draw_many(struct og_sampler *s, struct og_rng *rng, uint32_t degree, uint32_t k)
{
    memset(s->set, 0xff, s->set_size * sizeof(*s->set));
    for (uint32_t n = 0; n < k; n++) {
        uint32_t last = degree - k + n;
        uint32_t x = og__rng_below(rng, last + 1);
        if (!set_add(s, x)) {
            x = last;
            set_add(s, x);
        }
        s->pick[n] = x;
    }
}

/* ---- the pipeline ---- */

struct hop {
    struct og_sampler *s;
    struct og_batch_memory *out;
    struct og_block *block;
    uint32_t *ids;
};

/* Edges in the window become neighbours, neighbours become positions. */
static int flush(struct hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct og_batch *batch = &h->out->batch;
    if ((batch->n_ids + s->filled) > s->table_size * 5 / 8) {
        int rc = fit_table(s, 2 * (uint64_t)(batch->n_ids + s->filled), h->ids, batch->n_ids, err);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < s->filled; i++) {
        s->node[i] = og__neighbor(s->topology, s->edge[i]);
        __builtin_prefetch(&s->table[slot_of(s, s->node[i])]);
    }
    uint32_t *src = h->block->src + h->block->n_edges;
    uint32_t n_ids = batch->n_ids;
    for (size_t i = 0; i < s->filled; i++) {
        src[i] = find_or_put(s, s->node[i], n_ids);
        h->ids[n_ids] = s->node[i]; /* kept only when it was new */
        n_ids += src[i] == n_ids;
    }
    batch->n_ids = n_ids;
    h->block->n_edges += s->filled;
    s->filled = 0;
    return 0;
}

static inline void prefetch_edge(const struct og_topology *t, int64_t e)
{
    if (t->indices32)
        __builtin_prefetch(&t->indices32[e]);
    else
        __builtin_prefetch(&t->indices64[e]);
}

static inline int push(struct hop *h, int64_t e, struct og_err *err)
{
    struct og_sampler *s = h->s;
    prefetch_edge(s->topology, e);
    s->edge[s->filled++] = e;
    return s->filled == WINDOW ? flush(h, err) : 0;
}

/* All of a node's neighbours, or `fanout` of them. */
static int sample_node(struct hop *h, int64_t begin, int64_t degree, int fanout, struct og_rng *rng,
                       struct og_err *err)
{
    int rc = 0;
    if (fanout < 0 || degree <= fanout) {
        for (int64_t e = begin; rc == 0 && e < begin + degree; e++)
            rc = push(h, e, err);
        return rc;
    }
    uint32_t k = (uint32_t)fanout;
    if (k <= LINEAR_FLOYD)
        draw_few(h->s, rng, (uint32_t)degree, k);
    else
        draw_many(h->s, rng, (uint32_t)degree, k);
    for (uint32_t i = 0; rc == 0 && i < k; i++)
        rc = push(h, begin + h->s->pick[i], err);
    return rc;
}

/* Where a hop draws from. */
struct key {
    enum og__stream stream;
    uint32_t epoch, batch, hop;
};

static int sample_hop(struct hop *h, int fanout, const struct key *key, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    struct og_block *block = h->block;
    for (uint32_t i = 0; i < block->n_dst; i++) {
        if (i + LOOKAHEAD < block->n_dst)
            __builtin_prefetch(&t->indptr[h->ids[i + LOOKAHEAD]]);
        uint32_t v = h->ids[i];
        struct og_rng rng;
        og__rng_at(&rng, h->s->seed, key->stream, key->epoch, key->batch, key->hop, v);
        /* Edges still in the window count: n_edges moves only when it is flushed. */
        block->indptr[i] = (uint32_t)(block->n_edges + h->s->filled);
        int rc = sample_node(h, t->indptr[v], og__degree(t, v), fanout, &rng, err);
        if (rc < 0)
            return rc;
    }
    int rc = flush(h, err);
    block->indptr[block->n_dst] = (uint32_t)block->n_edges;
    block->n_src = h->out->batch.n_ids;
    return rc;
}

void og__sampler_keep_degrees(struct og_sampler *s)
{
    s->keep_degrees = true;
}

/* What `fanout` leaves of the in-degrees of the nodes this hop found. */
static void look_up_degrees(const struct og_sampler *s, const uint32_t *ids, int fanout,
                            struct og_block *block)
{
    for (uint32_t i = block->n_dst; i < block->n_src; i++) {
        if (i + LOOKAHEAD < block->n_src)
            __builtin_prefetch(&s->topology->indptr[ids[i + LOOKAHEAD]]);
        int64_t degree = og__degree(s->topology, ids[i]);
        block->degree[i - block->n_dst] = (uint32_t)(fanout < 0 ? degree : OG_MIN(degree, fanout));
    }
}

/* ---- memory of a batch ---- */

void og__batch_init(struct og_batch_memory *m, struct og_budget *b)
{
    *m = (struct og_batch_memory){.budget = b};
}

/* At least `bytes`, the first `keep` of them preserved. */
static int grow(struct og_batch_memory *m, struct og_array *a, size_t bytes, size_t keep,
                struct og_err *err)
{
    if (bytes <= a->bytes)
        return 0;
    void *data = og__alloc(m->budget, bytes, "batches", err);
    if (!data)
        return -ENOMEM;
    if (keep)
        memcpy(data, a->data, keep);
    og__release(m->budget, a->data, a->bytes, "batches");
    *a = (struct og_array){data, bytes};
    return 0;
}

/* While the last hop is sampled every edge might still find a new node. */
static size_t ids_bytes(const struct og_batch_caps *caps)
{
    if (caps->n_hops == 0)
        return 0;
    uint32_t last = caps->n_hops - 1;
    return (caps->hop[last].n_dst + caps->hop[last].n_edges + WINDOW) * 4;
}

int og__batch_reserve(struct og_batch_memory *m, const struct og_batch_caps *caps, bool degrees,
                      struct og_err *err)
{
    int rc = 0;
    for (uint32_t h = 0; rc == 0 && h < caps->n_hops; h++) {
        rc = grow(m, &m->indptr[h], (caps->hop[h].n_dst + 1) * 4, 0, err);
        if (rc == 0)
            rc = grow(m, &m->src[h], caps->hop[h].n_edges * 4, 0, err);
        if (rc == 0 && degrees)
            rc = grow(m, &m->degree[h], caps->hop[h].n_src * 4, 0, err);
    }
    return rc == 0 ? grow(m, &m->ids, ids_bytes(caps), 0, err) : rc;
}

size_t og__batch_bytes(const struct og_batch_caps *caps, bool degrees)
{
    size_t bytes = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        bytes +=
            (caps->hop[h].n_dst + 1 + caps->hop[h].n_edges + (degrees ? caps->hop[h].n_src : 0)) *
            4;
    return bytes + ids_bytes(caps);
}

void og__batch_release(struct og_batch_memory *m)
{
    for (int h = 0; h < OG_MAX_HOPS; h++) {
        og__release(m->budget, m->indptr[h].data, m->indptr[h].bytes, "batches");
        og__release(m->budget, m->src[h].data, m->src[h].bytes, "batches");
        og__release(m->budget, m->degree[h].data, m->degree[h].bytes, "batches");
    }
    og__release(m->budget, m->ids.data, m->ids.bytes, "batches");
    og__batch_init(m, m->budget);
}

void og__caps_include(struct og_batch_caps *caps, const struct og_batch *batch)
{
    caps->n_hops = OG_MAX(caps->n_hops, batch->n_hops);
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        const struct og_block *block = &batch->hop[h];
        caps->hop[h].n_dst = OG_MAX(caps->hop[h].n_dst, block->n_dst);
        caps->hop[h].n_src = OG_MAX(caps->hop[h].n_src, block->n_src);
        caps->hop[h].n_edges = OG_MAX(caps->hop[h].n_edges, block->n_edges);
    }
}

/* Edges a hop will have: exact, because a batch that does not fit must be known before it is
 * written. The pass also brings indptr into the cache for the sampling that follows. */
static uint64_t count_edges(const struct og_topology *t, const uint32_t *ids, uint32_t n,
                            int fanout)
{
    uint64_t edges = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i + LOOKAHEAD < n)
            __builtin_prefetch(&t->indptr[ids[i + LOOKAHEAD]]);
        int64_t degree = og__degree(t, ids[i]);
        edges += (uint64_t)(fanout < 0 ? degree : OG_MIN(degree, fanout));
    }
    return edges;
}

/* ---- the sampler ---- */

int og__sampler_open(struct og_sampler **out, const struct og_topology *topology, const int *fanout,
                     int n_hops, uint64_t seed, struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_sampler *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "sampler");
    s->topology = topology;
    s->budget = b;
    s->n_hops = n_hops;
    s->seed = seed;
    memcpy(s->fanout, fanout, (size_t)n_hops * sizeof(*fanout));
    int most = 1;
    for (int h = 0; h < n_hops; h++)
        most = OG_MAX(most, fanout[h]);
    s->max_pick = (size_t)most;
    s->set_size = 64;
    while (s->set_size < 2 * s->max_pick)
        s->set_size *= 2;
    s->pick = og__alloc(b, s->max_pick * 4, "sampler", err);
    s->set = og__alloc(b, s->set_size * 4, "sampler", err);
    if (s->pick && s->set && fit_table(s, 1, NULL, 0, err) == 0) {
        *out = s;
        return 0;
    }
    og__sampler_close(s);
    return -ENOMEM;
}

void og__sampler_close(struct og_sampler *s)
{
    if (!s)
        return;
    og__release(s->budget, s->pick, s->max_pick * 4, "sampler");
    og__release(s->budget, s->set, s->set_size * 4, "sampler");
    og__release(s->budget, s->table, s->table_size * sizeof(*s->table), "sampler");
    free(s);
}

size_t og__sampler_bytes(const struct og_batch_caps *caps)
{
    uint64_t ids = caps->n_hops ? caps->hop[caps->n_hops - 1].n_src : 1;
    return table_size_for(2 * (ids + WINDOW)) * sizeof(struct entry) + OG_MIB / 2;
}

static int take_seeds(struct og_sampler *s, const uint32_t *seeds, uint32_t n,
                      struct og_batch_memory *out, struct og_err *err)
{
    int rc = grow(out, &out->ids, ((size_t)n + WINDOW) * 4, 0, err);
    if (rc == 0 && n > s->table_size * 5 / 8)
        rc = fit_table(s, 2 * (uint64_t)n, NULL, 0, err);
    if (rc < 0)
        return rc;
    clear_table(s);
    uint32_t *ids = out->ids.data;
    for (uint32_t i = 0; i < n; i++) {
        if (seeds[i] >= s->topology->n_nodes)
            return og__fail(err, -EINVAL, NULL, "seed %u: node %u of a graph of %lld", i, seeds[i],
                            (long long)s->topology->n_nodes);
        if (find_or_put(s, seeds[i], i) != i)
            return og__fail(err, -EINVAL, NULL, "seed %u: node %u is in the batch already", i,
                            seeds[i]);
        ids[i] = seeds[i];
    }
    out->batch = (struct og_batch){.ids = ids, .n_ids = n, .n_seeds = n};
    return 0;
}

int og__sample(struct og_sampler *s, const uint32_t *seeds, uint32_t n_seeds,
               enum og__stream stream, uint32_t epoch, uint32_t batch, struct og_batch_memory *out,
               struct og_err *err)
{
    int rc = take_seeds(s, seeds, n_seeds, out, err);
    s->filled = 0;
    for (int i = 0; rc == 0 && i < s->n_hops; i++) {
        struct og_batch *b = &out->batch;
        uint64_t edges = count_edges(s->topology, b->ids, b->n_ids, s->fanout[i]);
        uint64_t ids = b->n_ids + OG_MIN(edges, (uint64_t)s->topology->n_nodes - b->n_ids);
        if (edges > UINT32_MAX)
            return og__fail(err, -EOVERFLOW, "use a smaller --batch or --fanout",
                            "a batch with %llu edges in hop %d", (unsigned long long)edges, i + 1);
        OG_TRY(grow(out, &out->ids, (ids + WINDOW) * 4, (size_t)b->n_ids * 4, err));
        OG_TRY(grow(out, &out->indptr[i], ((size_t)b->n_ids + 1) * 4, 0, err));
        OG_TRY(grow(out, &out->src[i], edges * 4, 0, err));
        b->ids = out->ids.data;
        b->hop[i] = (struct og_block){
            .n_dst = b->n_ids, .indptr = out->indptr[i].data, .src = out->src[i].data};
        struct hop hop = {s, out, &b->hop[i], b->ids};
        struct key key = {stream, epoch, batch, (uint32_t)i};
        b->n_hops = (uint32_t)i + 1;
        OG_TRY(sample_hop(&hop, s->fanout[i], &key, err));
        if (!s->keep_degrees)
            continue;
        OG_TRY(grow(out, &out->degree[i], (size_t)b->hop[i].n_src * 4, 0, err));
        b->hop[i].degree = out->degree[i].data;
        look_up_degrees(s, b->ids, s->fanout[i], &b->hop[i]);
    }
out:
    return rc;
}

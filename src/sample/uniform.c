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
#include "sample/lists.h"

#include <stdlib.h>
#include <string.h>

/* ---- node id -> position in the batch ---- */

static size_t slot_of(const struct og_sampler *s, uint32_t id)
{
    return (size_t)((id * 0x9E3779B97F4A7C15ull) >> s->shift);
}

static void put(struct og_sampler *s, uint32_t id, uint32_t position)
{
    size_t i = slot_of(s, id);
    while (s->table[i].id != OG__NO_NODE)
        i = (i + 1) & (s->table_size - 1);
    s->table[i] = (struct og_table_entry){id, position};
}

/* Position of id, which becomes `fresh` when it was not there. */
static inline uint32_t find_or_put(struct og_sampler *s, uint32_t id, uint32_t fresh)
{
    size_t i = slot_of(s, id);
    for (;;) {
        struct og_table_entry *e = &s->table[i];
        if (e->id == id)
            return e->position;
        if (e->id == OG__NO_NODE) {
            *e = (struct og_table_entry){id, fresh};
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

/* ---- the pipeline ---- */

static const char too_many_hint[] = "use a smaller --batch or --fanout";

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

/* How many edges a hop has is not always known before: then its arrays grow. */
int og__grow_hop(struct og_hop *h, struct og_err *err)
{
    struct og_batch_memory *out = h->out;
    struct og_batch *b = &out->batch;
    uint64_t now = h->block->n_edges;
    uint64_t most = (now + OG__WINDOW) * 5 / 4;
    if (most > UINT32_MAX)
        return og__fail(err, -EOVERFLOW, too_many_hint,
                        "a batch with more than %llu edges in a hop", (unsigned long long)now);
    uint64_t ids = b->n_ids + OG_MIN(most - now, (uint64_t)h->s->topology->n_nodes - b->n_ids);
    int rc = grow(out, &out->ids, (ids + OG__WINDOW) * 4, (size_t)b->n_ids * 4, err);
    if (rc == 0)
        rc = grow(out, &out->src[h->number], most * 4, now * 4, err);
    b->ids = h->ids = out->ids.data;
    h->block->src = out->src[h->number].data;
    if (rc == 0 && h->weight) {
        rc = grow(out, &out->weight[h->number], most * 4, (now + h->s->filled) * 4, err);
        h->weight = out->weight[h->number].data;
    }
    if (rc == 0)
        h->n_edges = most;
    return rc;
}

/* Room for all that the window might find: in the block, and in the table. */
static inline int make_room(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    int rc = 0;
    bool full = h->block->n_edges + s->filled > h->n_edges ||
                (h->out->batch.n_ids + s->filled) * sizeof(*h->ids) > h->out->ids.bytes;
    if (OG_UNLIKELY(full))
        rc = og__grow_hop(h, err);
    uint64_t ids = h->out->batch.n_ids + s->filled;
    if (rc < 0 || ids <= s->table_size * 5 / 8)
        return rc;
    return fit_table(s, 2 * ids, h->ids, h->out->batch.n_ids, err);
}

static inline void number(struct og_hop *h)
{
    struct og_sampler *s = h->s;
    struct og_batch *batch = &h->out->batch;
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
}

int og__number_window(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    int rc = make_room(h, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->filled; i++)
        __builtin_prefetch(&s->table[slot_of(s, s->node[i])]);
    number(h);
    return 0;
}

int og__flush_edges(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    int rc = make_room(h, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->filled; i++) {
        s->node[i] = og__neighbor(s->topology, s->edge[i]);
        __builtin_prefetch(&s->table[slot_of(s, s->node[i])]);
    }
    number(h);
    return 0;
}

/* All of a node's neighbours, or `fanout` of them. */
static int sample_node(struct og_hop *h, int64_t begin, int64_t degree, struct og_rng *rng,
                       struct og_err *err)
{
    int rc = 0;
    if (h->fanout < 0 || degree <= h->fanout) {
        for (int64_t e = begin; rc == 0 && e < begin + degree; e++)
            rc = og__push_edge(h, e, err);
        return rc;
    }
    uint32_t k = (uint32_t)h->fanout;
    og__draw(h->s, rng, (uint32_t)degree, k);
    for (uint32_t i = 0; rc == 0 && i < k; i++)
        rc = og__push_edge(h, begin + h->s->pick[i], err);
    return rc;
}

static int sample_hop(struct og_hop *h, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    struct og_block *block = h->block;
    for (uint32_t i = 0; i < block->n_dst; i++) {
        if (i + OG__LOOKAHEAD < block->n_dst)
            og__prefetch_degree(t, h->ids[i + OG__LOOKAHEAD]);
        uint32_t v = h->ids[i];
        struct og_rng rng;
        og__hop_rng(h, v, &rng);
        og__begin_list(h, i);
        int rc = sample_node(h, og__first_edge(t, v), og__degree(t, v), &rng, err);
        if (rc < 0)
            return rc;
    }
    return og__flush_edges(h, err);
}

void og__sampler_keep_degrees(struct og_sampler *s)
{
    s->keep_degrees = true;
}

/* What `fanout` leaves of the in-degrees of the nodes this hop found. Edges of a node to itself are
 * none of its degree, as with destinations. */
static void look_up_degrees(const struct og_sampler *s, const uint32_t *ids, int fanout,
                            struct og_block *block)
{
    for (uint32_t i = block->n_dst; i < block->n_src; i++) {
        if (i + OG__LOOKAHEAD < block->n_src)
            og__prefetch_degree(s->topology, ids[i + OG__LOOKAHEAD]);
        int64_t degree = og__degree(s->topology, ids[i]) - og__loops_of(s->topology, ids[i]);
        block->degree[i - block->n_dst] = (uint32_t)(fanout < 0 ? degree : OG_MIN(degree, fanout));
    }
}

/* ---- memory of a batch ---- */

void og__batch_init(struct og_batch_memory *m, struct og_budget *b)
{
    *m = (struct og_batch_memory){.budget = b};
}

/* While the last hop is sampled every edge might still find a new node. */
static size_t ids_bytes(const struct og_batch_caps *caps)
{
    if (caps->n_hops == 0)
        return 0;
    uint32_t last = caps->n_hops - 1;
    return (caps->hop[last].n_dst + caps->hop[last].n_edges + OG__WINDOW) * 4;
}

int og__batch_reserve(struct og_batch_memory *m, const struct og_batch_caps *caps, unsigned extras,
                      struct og_err *err)
{
    int rc = 0;
    for (uint32_t h = 0; rc == 0 && h < caps->n_hops; h++) {
        rc = grow(m, &m->indptr[h], (caps->hop[h].n_dst + 1) * 4, 0, err);
        if (rc == 0)
            rc = grow(m, &m->src[h], caps->hop[h].n_edges * 4, 0, err);
        if (rc == 0 && (extras & OG__WITH_DEGREES))
            rc = grow(m, &m->degree[h], caps->hop[h].n_src * 4, 0, err);
        if (rc == 0 && (extras & OG__WITH_WEIGHTS))
            rc = grow(m, &m->weight[h], caps->hop[h].n_edges * 4, 0, err);
    }
    return rc == 0 ? grow(m, &m->ids, ids_bytes(caps), 0, err) : rc;
}

size_t og__batch_bytes(const struct og_batch_caps *caps, unsigned extras)
{
    size_t words = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        words += caps->hop[h].n_dst + 1 + caps->hop[h].n_edges +
                 (extras & OG__WITH_DEGREES ? caps->hop[h].n_src : 0) +
                 (extras & OG__WITH_WEIGHTS ? caps->hop[h].n_edges : 0);
    return words * 4 + ids_bytes(caps);
}

void og__batch_release(struct og_batch_memory *m)
{
    for (int h = 0; h < OG_MAX_HOPS; h++) {
        og__release(m->budget, m->indptr[h].data, m->indptr[h].bytes, "batches");
        og__release(m->budget, m->src[h].data, m->src[h].bytes, "batches");
        og__release(m->budget, m->degree[h].data, m->degree[h].bytes, "batches");
        og__release(m->budget, m->weight[h].data, m->weight[h].bytes, "batches");
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
        caps->hop[h].n_seen = OG_MAX(caps->hop[h].n_seen, block->n_seen);
    }
}

/* Edges a hop will have: exact, because a batch that does not fit must be known before it is
 * written. The pass also brings indptr into the cache for the sampling that follows. */
static uint64_t count_edges(const struct og_topology *t, const uint32_t *ids, uint32_t n,
                            int fanout)
{
    uint64_t edges = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i + OG__LOOKAHEAD < n)
            og__prefetch_degree(t, ids[i + OG__LOOKAHEAD]);
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
    int rc = s->pick && s->set ? fit_table(s, 1, NULL, 0, err) : -ENOMEM;
    if (rc == 0 && topology->disk)
        rc = og__disk_sampler_open(s, err);
    if (rc == 0)
        *out = s;
    else
        og__sampler_close(s);
    return rc;
}

void og__sampler_close(struct og_sampler *s)
{
    if (!s)
        return;
    og__disk_sampler_close(s);
    og__walks_close(s);
    og__ladies_close(s);
    og__lists_close(s->lists);
    og__weighted_close(s);
    og__release(s->budget, s->pick, s->max_pick * 4, "sampler");
    og__release(s->budget, s->set, s->set_size * 4, "sampler");
    og__release(s->budget, s->table, s->table_size * sizeof(*s->table), "sampler");
    free(s);
}

int og__sampler_choose(struct og_sampler *s, const struct og_sampling *how, struct og_err *err)
{
    s->how = *how;
    switch (how->kind) {
    case OG_SAMPLER_WEIGHTED:
        return og__weighted_open(s, err);
    case OG_SAMPLER_WALK:
        return og__walks_open(s, err);
    case OG_SAMPLER_LABOR:
        return og__source_lists_open(s, err);
    case OG_SAMPLER_LADIES:
        return og__ladies_open(s, err);
    default:
        return 0;
    }
}

bool og__sampling_weighs(enum og_sampler_kind kind)
{
    return kind == OG_SAMPLER_WALK || kind == OG_SAMPLER_LADIES;
}

size_t og__sampler_bytes(const struct og_batch_caps *caps)
{
    uint64_t ids = caps->n_hops ? caps->hop[caps->n_hops - 1].n_src : 1;
    uint64_t seen = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        seen = OG_MAX(seen, caps->hop[h].n_seen);
    return table_size_for(2 * (ids + OG__WINDOW)) * sizeof(struct og_table_entry) + OG_MIB / 2 +
           (seen ? og__ladies_bytes(seen) : 0);
}

struct og_sample_reads og__sampler_reads(const struct og_sampler *s)
{
    return s->reads;
}

static int take_seeds(struct og_sampler *s, const uint32_t *seeds, uint32_t n,
                      struct og_batch_memory *out, struct og_err *err)
{
    int rc = grow(out, &out->ids, ((size_t)n + OG__WINDOW) * 4, 0, err);
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

int og__sample_begin(struct og_sampler *s, const uint32_t *seeds, uint32_t n_seeds,
                     struct og_batch_memory *out, struct og_err *err)
{
    s->filled = 0;
    s->reads = (struct og_sample_reads){0};
    return take_seeds(s, seeds, n_seeds, out, err);
}

/* Is it known beforehand how many edges a hop may have? Labor's are that many on average, ladies'
 * as many as happen to be between those drawn. */
static bool is_counted(const struct og_sampler *s)
{
    return s->how.kind != OG_SAMPLER_LABOR && s->how.kind != OG_SAMPLER_LADIES;
}

/* Room for all that hop i can make; where that is not known, for a beginning. */
static int reserve_hop(struct og_sampler *s, int i, struct og_batch_memory *out, uint64_t *edges,
                       struct og_err *err)
{
    struct og_batch *b = &out->batch;
    *edges = s->how.kind == OG_SAMPLER_WALK
                 ? (uint64_t)b->n_ids * (uint64_t)s->fanout[i]
                 : count_edges(s->topology, b->ids, b->n_ids, s->fanout[i]);
    uint64_t ids = b->n_ids + OG_MIN(*edges, (uint64_t)s->topology->n_nodes - b->n_ids);
    if (*edges > UINT32_MAX)
        return og__fail(err, -EOVERFLOW, too_many_hint, "a batch with %llu edges in hop %d",
                        (unsigned long long)*edges, i + 1);
    int rc = grow(out, &out->ids, (ids + OG__WINDOW) * 4, (size_t)b->n_ids * 4, err);
    if (rc == 0)
        rc = grow(out, &out->indptr[i], ((size_t)b->n_ids + 1) * 4, 0, err);
    if (rc == 0)
        rc = grow(out, &out->src[i], *edges * 4, 0, err);
    if (rc == 0 && og__sampling_weighs(s->how.kind))
        rc = grow(out, &out->weight[i], *edges * 4, 0, err);
    b->ids = out->ids.data;
    return rc;
}

static int sample_hop_as(struct og_hop *h, struct og_err *err)
{
    switch (h->s->how.kind) {
    case OG_SAMPLER_WEIGHTED:
        return og__sample_hop_weighted(h, err);
    case OG_SAMPLER_WALK:
        return og__sample_hop_by_walks(h, err);
    case OG_SAMPLER_LABOR:
        return og__sample_hop_labor(h, err);
    case OG_SAMPLER_LADIES:
        return og__sample_hop_ladies(h, err);
    default:
        return h->s->disk ? og__sample_hop_from_disk(h, err) : sample_hop(h, err);
    }
}

int og__sample_hop(struct og_sampler *s, const struct og_sample_key *key, int i,
                   struct og_batch_memory *out, struct og_err *err)
{
    uint64_t edges;
    int rc = reserve_hop(s, i, out, &edges, err);
    if (rc < 0)
        return rc;
    struct og_batch *b = &out->batch;
    struct og_block *block = &b->hop[i];
    *block = (struct og_block){
        .n_dst = b->n_ids, .indptr = out->indptr[i].data, .src = out->src[i].data};
    bool weighs = og__sampling_weighs(s->how.kind);
    size_t room = out->src[i].bytes;
    if (weighs)
        room = OG_MIN(room, out->weight[i].bytes);
    struct og_hop hop = {.s = s,
                         .weight = weighs ? out->weight[i].data : NULL,
                         .out = out,
                         .block = block,
                         .ids = b->ids,
                         .n_edges = is_counted(s) ? edges : room / sizeof(*block->src),
                         .fanout = s->fanout[i],
                         .stream = key->stream,
                         .epoch = key->epoch,
                         .batch = key->batch,
                         .number = (uint32_t)i};
    b->n_hops = (uint32_t)i + 1;
    rc = sample_hop_as(&hop, err);
    if (rc < 0)
        return rc;
    block->indptr[block->n_dst] = (uint32_t)block->n_edges;
    block->n_src = b->n_ids;
    block->weight = hop.weight;
    if (!s->keep_degrees)
        return 0;
    rc = grow(out, &out->degree[i], (size_t)block->n_src * 4, 0, err);
    block->degree = out->degree[i].data;
    if (rc == 0)
        look_up_degrees(s, b->ids, s->fanout[i], block);
    return rc;
}

int og__sample(struct og_sampler *s, const uint32_t *seeds, uint32_t n_seeds,
               enum og__stream stream, uint32_t epoch, uint32_t batch, struct og_batch_memory *out,
               struct og_err *err)
{
    const struct og_sample_key key = {stream, epoch, batch};
    int rc = og__sample_begin(s, seeds, n_seeds, out, err);
    for (int hop = 0; rc == 0 && hop < s->n_hops; hop++)
        rc = og__sample_hop(s, &key, hop, out, err);
    return rc;
}

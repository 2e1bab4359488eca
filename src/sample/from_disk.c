/* Fetches the sources of edges from a topology on disk, all of a hop or of a walk step at once.
 *
 *   the sampler draws positions in lists, as in memory
 *       list in the neighbour cache ──> neighbour at once
 *       else ──> requests the block of indices.npy that holds the position
 *                     │
 *   requested blocks, each once, in file order ──> reader ──> rounds ──> neighbours
 *                                                                         │
 *   all neighbours, in the order of the edges ──> numbered, as in memory <┘
 *
 * Edges wait for their neighbours in the batch's own src array. An entry first holds where in its
 * block the edge's source is, then the source, and finally its position.
 *
 * Requested blocks are bits, one a block: E/1024 bytes for int32 indices (1.6 MB for 1.6 G edges),
 * and a few instructions an edge. Reading the bits out is the sort. The rank of a bit is the
 * block's position among the blocks read, so no search is needed. (A radix sort of the blocks of a
 * million edges takes as long as all the rest of the hop but reading.)
 *
 * A hop may read more than its buffers hold. So it reads in rounds, two of them in flight: the disk
 * works while one is processed. */
#include "sample/from_disk.h"
#include "sample/kinds.h"

#include "dataset/alias.h"
#include "dataset/on_disk.h"
#include "sample/lists.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2, LEAST_BLOCKS = 128 };
#define NO_BLOCK UINT32_MAX /* on_disk.c bounds their number */

static const char part[] = "sampler";

/* Some of the hop's requested blocks, in file order. */
struct round {
    struct og_read_job job;
    uint32_t *blocks; /* [round_blocks] */
    char *data;       /* [round_blocks] of OG__LIST_BLOCK bytes */
    uint32_t before;  /* requested blocks in earlier rounds */
};

struct og_disk_sampler {
    struct og_reader *reader;
    uint64_t n_blocks;
    uint32_t round_blocks;
    struct round round[ROUNDS];
    /* what is fetched */
    uint32_t *src; /* [n_edges] where in its block an edge's source is, then the source */
    uint64_t n_edges;
    uint64_t *wanted; /* over blocks */
    uint32_t *rank;   /* of requested blocks */
    uint32_t *block;  /* [edge_capacity] that holds the edge's source, or NO_BLOCK */
    size_t edge_capacity;
    /* the window: requested cached sources, and their edges */
    uint32_t edge[OG__WINDOW];
};

/* ---- sizes, open and close ---- */

/* No more than the file has. */
static uint32_t blocks_a_round(const struct og_topology_disk_options *opt, uint64_t n_blocks)
{
    size_t staging = opt->staging_bytes ? opt->staging_bytes : 8 * OG_MIB;
    size_t blocks = OG_MIN(staging, OG_GIB) / OG__LIST_BLOCK / ROUNDS;
    return (uint32_t)OG_MAX(OG_MIN(blocks, n_blocks), (size_t)LEAST_BLOCKS);
}

size_t og__sampler_disk_bytes(const struct og_relation *of,
                              const struct og_topology_disk_options *opt,
                              const struct og_batch_caps *caps, const struct og_sampling *how,
                              int64_t longest)
{
    uint64_t n_blocks = (uint64_t)of->indices.bytes / OG__LIST_BLOCK + 1;
    const struct og_sampler_ops *kind = og__sampler_ops(how->kind);
    uint64_t edges = kind->disk_edges ? kind->disk_edges(how) : 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        edges = OG_MAX(edges, caps->hop[h].n_drawn);
    const size_t bytes =
        og__bits_words(n_blocks) * 8 + og__bits_words(n_blocks) * 4 + (size_t)edges * 4 +
        (size_t)ROUNDS * blocks_a_round(opt, n_blocks) * (OG__LIST_BLOCK + sizeof(uint32_t)) +
        og__reader_bytes(&opt->reader);
    return bytes + (kind->disk_bytes ? kind->disk_bytes(of, opt, longest) : 0);
}

size_t og__sampler_disk_state_bytes(const struct og_sampling *how)
{
    const struct og_sampler_ops *kind = og__sampler_ops(how->kind);
    return kind->disk_state_bytes ? kind->disk_state_bytes(how) : 0;
}

size_t og__sampler_beside_bytes(const struct og_topology_disk_options *opt,
                                const struct og_sampling *how)
{
    const size_t readers = og__sampler_ops(how->kind)->reads_weights ? 2 : 1;
    return sizeof(struct og_disk_sampler) + readers * og__reader_beside_bytes(&opt->reader);
}

static int take_round(struct og_sampler *s, struct round *r, struct og_err *err)
{
    size_t n = s->disk->round_blocks;
    r->blocks = og__alloc(s->budget, n * sizeof(*r->blocks), part, err);
    r->data = og__alloc(s->budget, n * OG__LIST_BLOCK, part, err);
    return r->blocks && r->data ? 0 : -ENOMEM;
}

static int open_disk(struct og_sampler *s, struct og_err *err)
{
    const struct og_topology_disk *on_disk = s->topology->disk;
    const struct og_npy *a = &on_disk->of->indices;
    int rc = 0;
    struct og_disk_sampler *d = calloc(1, sizeof(*d));
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "sampler");
    s->disk = d;
    d->n_blocks = on_disk->lists.n_blocks;
    d->round_blocks = blocks_a_round(&on_disk->opt, d->n_blocks);
    for (int i = 0; i < ROUNDS; i++)
        OG_TRY(take_round(s, &d->round[i], err));
    d->wanted = og__alloc(s->budget, og__bits_words(d->n_blocks) * 8, part, err);
    d->rank = og__alloc(s->budget, og__bits_words(d->n_blocks) * 4, part, err);
    if (!d->wanted || !d->rank)
        OG_TRY(-ENOMEM);
    OG_TRY(og__reader_open(&d->reader, a->path, on_disk->lists.base, OG__LIST_BLOCK, d->n_blocks,
                           &on_disk->opt.reader, s->budget, err));
out:
    if (rc < 0)
        og__disk_sampler_close(s);
    return rc;
}

void og__disk_sampler_close(struct og_sampler *s)
{
    struct og_disk_sampler *d = s->disk;
    if (!d)
        return;
    og__reader_close(d->reader);
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = d->round_blocks;
        og__release(s->budget, d->round[i].blocks, n * sizeof(*d->round[i].blocks), part);
        og__release(s->budget, d->round[i].data, n * OG__LIST_BLOCK, part);
    }
    og__release(s->budget, d->wanted, og__bits_words(d->n_blocks) * 8, part);
    og__release(s->budget, d->rank, og__bits_words(d->n_blocks) * 4, part);
    og__release(s->budget, d->block, d->edge_capacity * sizeof(*d->block), part);
    free(d);
    s->disk = NULL;
}

static int reserve_edges(struct og_sampler *s, size_t n, struct og_err *err)
{
    struct og_disk_sampler *d = s->disk;
    if (n <= d->edge_capacity)
        return 0;
    og__release(s->budget, d->block, d->edge_capacity * sizeof(*d->block), part);
    d->edge_capacity = 0;
    d->block = og__alloc(s->budget, n * sizeof(*d->block), part, err);
    d->edge_capacity = d->block ? n : 0;
    return d->block ? 0 : -ENOMEM;
}

/* ---- requests ---- */

int og__fetch_begin(struct og_sampler *s, uint32_t *src, uint64_t n, struct og_err *err)
{
    int rc;
    OG_TRY(s->disk ? 0 : open_disk(s, err));
    OG_TRY(reserve_edges(s, n, err));
    struct og_disk_sampler *d = s->disk;
    d->src = src;
    d->n_edges = n;
    memset(d->wanted, 0, og__bits_words(d->n_blocks) * 8);
    if (n > 0)
        memset(d->block, 0xff, n * sizeof(*d->block)); /* NO_BLOCK */
out:
    return rc;
}

/* Cached sources in the window are fetched: their memory has arrived meanwhile. */
static void fetch_window(struct og_sampler *s)
{
    const uint32_t *ids = s->topology->disk->cache.ids;
    for (size_t i = 0; i < s->filled; i++)
        s->disk->src[s->disk->edge[i]] = ids[s->edge[i]];
    s->filled = 0;
}

static void want_cached(struct og_sampler *s, uint32_t edge, int64_t place)
{
    __builtin_prefetch(&s->topology->disk->cache.ids[place]);
    s->disk->edge[s->filled] = edge;
    s->edge[s->filled++] = place;
    if (s->filled == OG__WINDOW)
        fetch_window(s);
}

static void want_block(struct og_sampler *s, uint32_t edge, uint64_t first_byte)
{
    struct og_disk_sampler *d = s->disk;
    struct og_list_place p = og__list_place(&s->topology->disk->lists, first_byte);
    d->src[edge] = p.within;
    d->block[edge] = p.block;
    if (p.block < d->n_blocks)
        og__bits_add(d->wanted, p.block);
}

void og__fetch_want(struct og_sampler *s, uint32_t edge, uint32_t v, const uint32_t *positions,
                    uint32_t n)
{
    const struct og_neighbors *cache = &s->topology->disk->cache;
    if (og__neighbors_has(cache, v)) {
        int64_t first = og__neighbors_first(cache, v);
        for (uint32_t i = 0; i < n; i++)
            want_cached(s, edge + i, first + (positions ? positions[i] : i));
        s->reads.lists_cached++;
    } else {
        uint64_t first = (uint64_t)og__first_edge(s->topology, v);
        size_t size = og__npy_size(s->topology->disk->of->indices.type);
        for (uint32_t i = 0; i < n; i++)
            want_block(s, edge + i, (first + (positions ? positions[i] : i)) * size);
        s->reads.lists_read++;
    }
}

/* ---- reading ---- */

/* Stores the sources of the edges whose blocks are [low, high]. Block b is at data + (its rank -
 * before) * 512. Returns the first edge whose source is no node, or n_edges. */
OG_CLONES static uint64_t take_sources(const struct og_sampler *s, uint32_t low, uint32_t high,
                                       uint32_t before, const char *data)
{
    const struct og_disk_sampler *d = s->disk;
    uint32_t *src = d->src;
    uint64_t n_nodes = (uint64_t)og__sources(s->topology);
    bool wide = s->topology->disk->of->indices.type == OG__NPY_I64;
    for (uint64_t e = 0; e < d->n_edges; e++) {
        uint32_t b = d->block[e];
        if (b < low || b > high)
            continue;
        uint32_t place = b < d->n_blocks ? og__bits_rank(d->wanted, d->rank, b) - before : 0;
        const char *at = data + (size_t)place * OG__LIST_BLOCK + src[e];
        uint64_t id = 0;
        memcpy(&id, at, wide ? 8 : 4); /* little endian */
        if (id >= n_nodes)
            return e;
        src[e] = (uint32_t)id;
    }
    return d->n_edges;
}

static int take_blocks(const struct og_sampler *s, uint32_t low, uint32_t high, uint32_t before,
                       const char *data, struct og_err *err)
{
    uint64_t bad = take_sources(s, low, high, before, data);
    if (bad == s->disk->n_edges)
        return 0;
    const struct og_blocks *lists = &s->topology->disk->lists;
    return og__fail(
        err, -EINVAL, "the dataset is damaged: see `outgrow verify`, or import it again",
        "%s: a node out of range near byte %llu", lists->array->path,
        (unsigned long long)(lists->base + (uint64_t)s->disk->block[bad] * OG__LIST_BLOCK +
                             s->disk->src[bad]));
}

/* Requests blocks from *next on, as many as a round holds. */
static int start_round(struct og_disk_sampler *d, struct round *r, uint64_t *next, uint32_t *before,
                       struct og_err *err)
{
    uint32_t n = 0;
    for (uint64_t b = *next; n < d->round_blocks; b++) {
        b = og__bits_next(d->wanted, d->n_blocks, b);
        *next = b + 1;
        if (b >= d->n_blocks)
            break;
        r->blocks[n++] = (uint32_t)b;
    }
    r->before = *before;
    *before += n;
    r->job = (struct og_read_job){.rows = r->blocks, .n = n, .out = r->data};
    return og__reader_submit(d->reader, &r->job, err);
}

static int finish_round(struct og_sampler *s, struct round *r, struct og_err *err)
{
    int rc = og__reader_wait(s->disk->reader, &r->job, err);
    if (rc < 0)
        return rc;
    s->reads.io.reads += r->job.counts.reads;
    s->reads.io.bytes += r->job.counts.bytes;
    return take_blocks(s, r->blocks[0], r->blocks[r->job.n - 1], r->before, r->data, err);
}

/* Round i is taken apart while the other is read. */
static int take_turn(struct og_sampler *s, int i, uint64_t *next, uint32_t *before,
                     struct og_err *err)
{
    struct og_disk_sampler *d = s->disk;
    int rc;
    OG_TRY(start_round(d, &d->round[!i], next, before, err));
    OG_TRY(finish_round(s, &d->round[i], err));
    return 0;
out:
    if (og__reader_wait(d->reader, &d->round[!i].job, NULL) < 0)
        return rc; /* nothing is in flight any more; the first failure is reported */
    return rc;
}

static int read_rounds(struct og_sampler *s, struct og_err *err)
{
    struct og_disk_sampler *d = s->disk;
    uint64_t next = 0;
    uint32_t before = 0;
    int rc;
    s->reads.passes += og__bits_count(d->wanted, d->n_blocks, d->rank) > 0;
    OG_TRY(start_round(d, &d->round[0], &next, &before, err));
    for (int i = 0; d->round[i].job.n > 0; i = !i)
        OG_TRY(take_turn(s, i, &next, &before, err));
out:
    return rc;
}

int og__fetch(struct og_sampler *s, struct og_err *err)
{
    uint32_t tail = (uint32_t)s->disk->n_blocks;
    fetch_window(s);
    int rc = take_blocks(s, tail, tail, 0, s->topology->disk->lists.tail, err);
    return rc < 0 ? rc : read_rounds(s, err);
}

/* ---- numbering ---- */

int og__number_fetched(struct og_hop *h, uint64_t n, struct og_err *err)
{
    struct og_sampler *s = h->s;
    const uint64_t end = h->block->n_edges + n;
    int rc = 0;
    while (h->block->n_edges < end) {
        s->filled = OG_MIN((size_t)(end - h->block->n_edges), (size_t)OG__WINDOW);
        memcpy(s->node, h->block->src + h->block->n_edges, s->filled * sizeof(*s->node));
        for (size_t i = 0; h->base > 0 && i < s->filled; i++)
            s->node[i] += h->base;
        OG_TRY(og__number_window(h, err));
    }
out:
    return rc;
}

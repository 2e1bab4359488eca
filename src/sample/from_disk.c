/* Fetches the sources of edges from a topology on disk. All sources of a hop, or of a walk step,
 * are fetched at once.
 *
 *   the sampler draws positions in lists, as in memory
 *       list in the neighbour cache ──> neighbour at once
 *       else ──> requests the block of indices.npy that holds the position
 *                     │
 *   requested blocks, each once, in file order ──> reader ──> rounds ──> neighbours
 *                                                                         │
 *   all neighbours, in the order of the edges ──> numbered, as in memory <┘
 *
 * Weights of edges, if needed, come in the same way from weights.npy.
 *
 * Edges wait for their neighbours in the batch's own src array. An entry first holds where in its
 * block the source is, then the source, and in the end its position.
 *
 * Requested blocks are bits, one a block. They take E/1024 bytes for int32 indices (1.6 MB for 1.6
 * G edges), and a few instructions an edge. Reading the bits out is the sort. The rank of a bit is
 * the block's position among the blocks read, so no search is needed. (A radix sort of the blocks
 * of a million edges takes as long as all the rest of the hop but reading.)
 *
 * A hop may read more than its buffers hold. So it reads in rounds, two of them in flight: the disk
 * works while one is processed. */
#include "sample/from_disk.h"
#include "sample/kinds.h"

#include "dataset/on_disk.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2, LEAST_BLOCKS = 128 };
#define NO_BLOCK   UINT32_MAX /* on_disk.c bounds their number */
#define HELD(of)   ((uint32_t)(of)->n_blocks + 1)
#define INFINITE   0x7f800000ull /* bits of that weight: those of others are below */
#define MINUS_ZERO 0x80000000ull

static const char part[] = "sampler";

/* Some of the hop's requested blocks, in file order. */
struct round {
    struct og_read_job job;
    uint32_t *blocks; /* [round_blocks] */
    char *data;       /* [round_blocks] of OG__LIST_BLOCK bytes */
    uint32_t before;  /* requested blocks in earlier rounds */
};

/* Elements of an array on disk with one an edge, of 4 or 8 bytes: sources, or weights. */
struct fetching {
    const struct og_blocks *of; /* the array; NULL: not opened */
    size_t size;                /* of an element */
    uint64_t below, also;       /* elements are below the former, or the latter */
    struct og_reader *reader;
    uint32_t round_blocks;
    struct round round[ROUNDS];
    /* what is fetched */
    uint32_t *out; /* [n_edges] where in its block an edge's element is, then its low 4 bytes */
    uint64_t n_edges;
    uint64_t *requested; /* over blocks */
    uint32_t *rank;      /* of requested blocks */
    uint32_t *block;     /* [edge_capacity] that holds the edge's element, or NO_BLOCK */
    size_t edge_capacity;
    const struct og_held_blocks *held; /* in f->block: HELD(of) and where they are; NULL: none */
};

struct og_disk_sampler {
    struct fetching sources, weights;
    struct og_blocks weight_blocks;
    /* the window: cached sources that have been prefetched, and for which edge */
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

static size_t fetching_bytes(const struct og_npy *array, const struct og_topology_disk_options *opt,
                             uint64_t edges)
{
    const uint64_t n_blocks = (uint64_t)array->bytes / OG__LIST_BLOCK + 1;
    return og__bits_words(n_blocks) * 8 + og__bits_words(n_blocks) * 4 + (size_t)edges * 4 +
           (size_t)ROUNDS * blocks_a_round(opt, n_blocks) * (OG__LIST_BLOCK + sizeof(uint32_t)) +
           og__reader_bytes(&opt->reader);
}

/* Those who draw by weights have them from the lists that they look at. */
static bool fetches_weights(const struct og_sampling *how)
{
    return og__sampling_weights(how) == OG__PLAIN_WEIGHTS;
}

size_t og__sampler_disk_bytes(const struct og_relation *of,
                              const struct og_topology_disk_options *opt,
                              const struct og_batch_caps *caps, const struct og_sampling *how,
                              int64_t longest)
{
    const struct og_sampler_ops *kind = og__sampler_ops(how->kind);
    uint64_t edges = kind->disk_edges ? kind->disk_edges(how) : 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        edges = OG_MAX(edges, caps->hop[h].n_drawn);
    const size_t bytes = fetching_bytes(&of->indices, opt, edges) +
                         (fetches_weights(how) ? fetching_bytes(&of->weights, opt, edges) : 0);
    return bytes + (kind->disk_bytes ? kind->disk_bytes(of, how, opt, longest) : 0);
}

size_t og__sampler_disk_state_bytes(const struct og_sampling *how)
{
    const struct og_sampler_ops *kind = og__sampler_ops(how->kind);
    return kind->disk_state_bytes ? kind->disk_state_bytes(how) : 0;
}

size_t og__sampler_extra_bytes(const struct og_topology_disk_options *opt,
                               const struct og_sampling *how)
{
    const size_t readers = og__sampling_weights(how) != OG__NO_WEIGHTS ? 2 : 1;
    return sizeof(struct og_disk_sampler) + readers * og__reader_extra_bytes(&opt->reader);
}

static int take_round(struct og_sampler *s, const struct fetching *f, struct round *r,
                      struct og_err *err)
{
    size_t n = f->round_blocks;
    r->blocks = og__alloc(s->budget, n * sizeof(*r->blocks), part, err);
    r->data = og__alloc(s->budget, n * OG__LIST_BLOCK, part, err);
    return r->blocks && r->data ? 0 : -ENOMEM;
}

static int open_fetching(struct og_sampler *s, struct fetching *f, const struct og_blocks *of,
                         struct og_err *err)
{
    const struct og_topology_disk_options *opt = &s->topology->disk->opt;
    f->of = of;
    f->size = og__npy_size(of->array->type);
    f->round_blocks = blocks_a_round(opt, of->n_blocks);
    for (int i = 0; i < ROUNDS; i++)
        OG_DO(take_round(s, f, &f->round[i], err));
    f->requested = og__alloc(s->budget, og__bits_words(of->n_blocks) * 8, part, err);
    f->rank = og__alloc(s->budget, og__bits_words(of->n_blocks) * 4, part, err);
    if (!f->requested || !f->rank)
        OG_DO(-ENOMEM);
    return og__reader_open(&f->reader, of->array->path, of->base, OG__LIST_BLOCK, of->n_blocks,
                           &opt->reader, s->budget, err);
}

static void close_fetching(struct og_sampler *s, struct fetching *f)
{
    if (!f->of)
        return;
    og__reader_close(f->reader);
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = f->round_blocks;
        og__release(s->budget, f->round[i].blocks, n * sizeof(*f->round[i].blocks), part);
        og__release(s->budget, f->round[i].data, n * OG__LIST_BLOCK, part);
    }
    og__release(s->budget, f->requested, og__bits_words(f->of->n_blocks) * 8, part);
    og__release(s->budget, f->rank, og__bits_words(f->of->n_blocks) * 4, part);
    og__release(s->budget, f->block, f->edge_capacity * sizeof(*f->block), part);
}

static int open_disk(struct og_sampler *s, struct og_err *err)
{
    const struct og_topology_disk *on_disk = s->topology->disk;
    int rc = 0;
    struct og_disk_sampler *d = calloc(1, sizeof(*d));
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "sampler");
    s->disk = d;
    d->sources.below = (uint64_t)og__sources(s->topology);
    OG_TRY(open_fetching(s, &d->sources, &on_disk->lists, err));
    if (fetches_weights(&s->how)) {
        d->weights.below = INFINITE;
        d->weights.also = MINUS_ZERO;
        OG_TRY(og__blocks_lay(&d->weight_blocks, &on_disk->of->weights, err));
        OG_TRY(open_fetching(s, &d->weights, &d->weight_blocks, err));
    }
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
    close_fetching(s, &d->sources);
    close_fetching(s, &d->weights);
    free(d);
    s->disk = NULL;
}

static int reserve_edges(struct og_sampler *s, struct fetching *f, size_t n, struct og_err *err)
{
    if (n <= f->edge_capacity)
        return 0;
    og__release(s->budget, f->block, f->edge_capacity * sizeof(*f->block), part);
    f->edge_capacity = 0;
    f->block = og__alloc(s->budget, n * sizeof(*f->block), part, err);
    f->edge_capacity = f->block ? n : 0;
    return f->block ? 0 : -ENOMEM;
}

/* ---- requests ---- */

static int begin(struct og_sampler *s, struct fetching *f, uint32_t *out, uint64_t n,
                 struct og_err *err)
{
    OG_DO(reserve_edges(s, f, n, err));
    f->out = out;
    f->n_edges = n;
    memset(f->requested, 0, og__bits_words(f->of->n_blocks) * 8);
    if (n > 0)
        memset(f->block, 0xff, n * sizeof(*f->block)); /* NO_BLOCK */
    return 0;
}

int og__fetch_begin(struct og_sampler *s, uint32_t *src, float *weight, uint64_t n,
                    const struct og_held_blocks *held, struct og_err *err)
{
    OG_DO(s->disk ? 0 : open_disk(s, err));
    OG_DO(begin(s, &s->disk->sources, src, n, err));
    s->disk->sources.held = held;
    if (weight || (n == 0 && s->disk->weights.of)) /* a hop without edges has no array */
        OG_DO(begin(s, &s->disk->weights, (uint32_t *)(void *)weight, n, err));
    return 0;
}

/* Cached edges in the window are fetched: their memory has arrived meanwhile. */
static void fetch_window(struct og_sampler *s)
{
    const struct og_neighbors *cache = &s->topology->disk->cache;
    struct og_disk_sampler *d = s->disk;
    for (size_t i = 0; i < s->filled; i++)
        d->sources.out[d->edge[i]] = cache->ids[s->edge[i]];
    for (size_t i = 0; d->weights.of && i < s->filled; i++)
        memcpy(&d->weights.out[d->edge[i]], &cache->weights[s->edge[i]], sizeof(float));
    s->filled = 0;
}

static void want_cached(struct og_sampler *s, uint32_t edge, int64_t place)
{
    __builtin_prefetch(&s->topology->disk->cache.ids[place]);
    if (s->disk->weights.of)
        __builtin_prefetch(&s->topology->disk->cache.weights[place]);
    s->disk->edge[s->filled] = edge;
    s->edge[s->filled++] = place;
    if (s->filled == OG__WINDOW)
        fetch_window(s);
}

static void want_block(struct fetching *f, uint32_t edge, uint64_t number)
{
    struct og_list_place p = og__list_place(f->of, number * f->size);
    const uint32_t held = f->held ? og__held_place(f->held, p.block) : OG__NO_ID;
    f->out[edge] = p.within;
    f->block[edge] = held == OG__NO_ID ? p.block : HELD(f->of) + held;
    if (f->block[edge] < f->of->n_blocks)
        og__bits_add(f->requested, p.block);
}

static void want_blocks(struct fetching *f, uint32_t edge, uint64_t first,
                        const uint32_t *positions, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        want_block(f, edge + i, first + (positions ? positions[i] : i));
}

void og__fetch_want(struct og_sampler *s, uint32_t edge, uint32_t v, const uint32_t *positions,
                    uint32_t n)
{
    const struct og_neighbors *cache = &s->topology->disk->cache;
    struct og_disk_sampler *d = s->disk;
    const uint64_t begins = (uint64_t)og__first_edge(s->topology, v);
    if (og__neighbors_has(cache, v)) {
        int64_t first = og__neighbors_first(cache, v);
        for (uint32_t i = 0; i < n; i++)
            want_cached(s, edge + i, first + (positions ? positions[i] : i));
        s->reads.lists_cached++;
        return;
    }
    s->reads.lists_read++;
    want_blocks(&d->sources, edge, begins, positions, n);
    if (d->weights.of)
        want_blocks(&d->weights, edge, begins, positions, n);
}

/* ---- reading ---- */

/* Elements of the edges whose blocks are [low, high], where they now are in memory. Block b is at
 * data + (its rank - before) * 512; one that was not read, at data + (b - low) * 512. The first
 * edge with none that can be, or n_edges. */
OG_CLONES static uint64_t take_elements(const struct fetching *f, uint32_t low, uint32_t high,
                                        uint32_t before, const char *data)
{
    uint32_t *out = f->out;
    const uint64_t below = f->below, also = f->also;
    const bool wide = f->size == 8;
    for (uint64_t e = 0; e < f->n_edges; e++) {
        uint32_t b = f->block[e];
        if (b < low || b > high)
            continue;
        uint32_t place =
            b < f->of->n_blocks ? og__bits_rank(f->requested, f->rank, b) - before : b - low;
        const char *at = data + (size_t)place * OG__LIST_BLOCK + out[e];
        uint64_t element = 0;
        memcpy(&element, at, wide ? 8 : 4); /* little endian */
        if (element >= below && element != also)
            return e;
        out[e] = (uint32_t)element;
    }
    return f->n_edges;
}

static int take_blocks(const struct fetching *f, uint32_t low, uint32_t high, uint32_t before,
                       const char *data, struct og_err *err)
{
    uint64_t bad = take_elements(f, low, high, before, data);
    if (bad == f->n_edges)
        return 0;
    const uint32_t at = f->block[bad];
    const uint64_t block = at < HELD(f->of) ? at : f->held->block[at - HELD(f->of)];
    return og__fail(
        err, -EINVAL, "the dataset is damaged: see `outgrow verify`, or import it again",
        "%s: %s near byte %llu", f->of->array->path,
        f->also == MINUS_ZERO ? "not a finite weight of 0 or more" : "a node out of range",
        (unsigned long long)(f->of->base + block * OG__LIST_BLOCK + f->out[bad]));
}

/* Requests blocks from *next on, as many as a round holds. */
static int start_round(struct fetching *f, struct round *r, uint64_t *next, uint32_t *before,
                       struct og_err *err)
{
    const uint64_t n_blocks = f->of->n_blocks;
    uint32_t n = 0;
    for (uint64_t b = *next; n < f->round_blocks; b++) {
        b = og__bits_next(f->requested, n_blocks, b);
        *next = b + 1;
        if (b >= n_blocks)
            break;
        r->blocks[n++] = (uint32_t)b;
    }
    r->before = *before;
    *before += n;
    r->job = (struct og_read_job){.rows = r->blocks, .n = n, .out = r->data};
    return og__reader_submit(f->reader, &r->job, err);
}

static int finish_round(struct og_sampler *s, struct fetching *f, struct round *r,
                        struct og_err *err)
{
    OG_DO(og__reader_wait(f->reader, &r->job, err));
    s->reads.io.reads += r->job.counts.reads;
    s->reads.io.bytes += r->job.counts.bytes;
    return take_blocks(f, r->blocks[0], r->blocks[r->job.n - 1], r->before, r->data, err);
}

/* Round i is taken apart while the other is read. */
static int take_turn(struct og_sampler *s, struct fetching *f, int i, uint64_t *next,
                     uint32_t *before, struct og_err *err)
{
    int rc;
    OG_TRY(start_round(f, &f->round[!i], next, before, err));
    OG_TRY(finish_round(s, f, &f->round[i], err));
    return 0;
out:
    if (og__reader_wait(f->reader, &f->round[!i].job, NULL) < 0)
        return rc; /* nothing is in flight any more; the first failure is reported */
    return rc;
}

static int read_rounds(struct og_sampler *s, struct fetching *f, struct og_err *err)
{
    uint64_t next = 0;
    uint32_t before = 0;
    s->reads.passes += og__bits_count(f->requested, f->of->n_blocks, f->rank) > 0;
    OG_DO(start_round(f, &f->round[0], &next, &before, err));
    for (int i = 0; f->round[i].job.n > 0; i = !i)
        OG_DO(take_turn(s, f, i, &next, &before, err));
    return 0;
}

static int fetch(struct og_sampler *s, struct fetching *f, struct og_err *err)
{
    const uint32_t tail = (uint32_t)f->of->n_blocks, held = HELD(f->of);
    OG_DO(take_blocks(f, tail, tail, 0, f->of->tail, err));
    if (f->held && f->held->n > 0)
        OG_DO(take_blocks(f, held, held + f->held->n - 1, 0, f->held->data, err));
    return read_rounds(s, f, err);
}

int og__fetch(struct og_sampler *s, struct og_err *err)
{
    struct og_disk_sampler *d = s->disk;
    fetch_window(s);
    int rc = fetch(s, &d->sources, err);
    return rc < 0 || !d->weights.of ? rc : fetch(s, &d->weights, err);
}

/* ---- numbering ---- */

int og__number_fetched(struct og_hop *h, uint64_t n, struct og_err *err)
{
    struct og_sampler *s = h->s;
    const uint64_t end = h->block->n_edges + n;
    while (h->block->n_edges < end) {
        s->filled = OG_MIN((size_t)(end - h->block->n_edges), (size_t)OG__WINDOW);
        memcpy(s->node, h->block->src + h->block->n_edges, s->filled * sizeof(*s->node));
        for (size_t i = 0; h->base > 0 && i < s->filled; i++)
            s->node[i] += h->base;
        OG_DO(og__number_nodes(h, err));
    }
    return 0;
}

#include "nn/device/sampler.h"

#include "nn/device/backend.h"
#include "sample/hop.h"

#include <pthread.h>
#include <stdlib.h>

#define STRUCTURE "structure"
#define HOPS      "sampling"
enum { PIECE = 1 << 16 };

/* Arrays with an entry per position of a hop, or per destination. Positions are its nodes so far
 * and its edges. */
struct room {
    uint32_t *key, *value, *sorted, *moved; /* [places] */
    uint32_t *part;                         /* sums */
    float *weight;                          /* [places] of edges; NULL: no weights */
    void *sort;
    size_t sort_bytes, part_bytes;
    uint64_t places;
    uint32_t *ids;   /* [most ids] */
    uint32_t *start; /* [most destinations] */
    uint64_t n_ids;
};

/* Lists of all nodes, or of a relation's destinations. */
struct lists {
    uint64_t *first_edge;
    const void *indices;
    const float *weights;
    uint64_t n_nodes, n_edges;
    bool wide;  /* 64 bits per index */
    bool weigh; /* there are weights */
};

struct og_device_sampler {
    struct og_nn_backend *be;
    struct og_stream *stream;
    struct og_elsewhere elsewhere;
    struct lists *lists; /* [n_lists] of relations, or one */
    uint32_t n_lists;
    bool pinned;      /* indices and weights are in host memory, borrowed; else copied */
    bool weigh;       /* hops have weights */
    bool by_relation; /* sampling nodes are identified by numbers within a type */
    uint64_t n_nodes;
    pthread_mutex_t lock;
    struct room room; /* guarded by lock; */
    uint32_t n_ids;   /* also: a copy in flight after a failure ends here */
};

/* ---- memory ---- */

static size_t index_bytes(const struct lists *l)
{
    return (size_t)l->n_edges * (l->wide ? sizeof(int64_t) : sizeof(int32_t));
}

static size_t weight_bytes(const struct lists *l)
{
    return l->weigh ? (size_t)l->n_edges * sizeof(float) : 0;
}

static size_t offsets_bytes(const struct lists *l)
{
    return ((size_t)l->n_nodes + 1) * sizeof(*l->first_edge);
}

/* The lists before memory is allocated. */
static struct lists lists_of(const struct og_topology *t, uint32_t i)
{
    const struct og_topology *of = og__lists_seen(t, i);
    return (struct lists){.n_nodes = (uint64_t)of->n_nodes,
                          .n_edges = (uint64_t)of->n_edges,
                          .wide = of->indices64,
                          .weigh = of->weights};
}

static int push(struct og_device_sampler *d, void *on_backend, const void *host, size_t bytes,
                struct og_err *err)
{
    OG_DO(d->be->ops->copy(d->stream, on_backend, host, bytes, OG__TO_DEVICE, err));
    return d->be->ops->finish(d->stream, err);
}

/* Uploads offsets as integers, whatever their form on the host. */
static int push_offsets(struct og_device_sampler *d, const struct lists *l,
                        const struct og_topology *t, struct og_err *err)
{
    uint64_t *piece = malloc(PIECE * sizeof(*piece));
    int rc = piece ? 0 : og__fail_errno(err, -ENOMEM, NULL, "sampling on a device");
    for (uint64_t v = 0, n; rc == 0 && v <= l->n_nodes; v += n) {
        n = OG_MIN(l->n_nodes + 1 - v, (uint64_t)PIECE);
        for (uint64_t i = 0; i < n; i++)
            piece[i] = (uint64_t)og__first_edge(t, v + i);
        rc = push(d, l->first_edge + v, piece, n * sizeof(*piece), err);
    }
    free(piece);
    return rc;
}

/* Uses the host's array of edges, or a copy on the device. */
static int open_edges(struct og_device_sampler *d, const void *host, size_t bytes,
                      const void **on_backend, struct og_err *err)
{
    if (d->pinned) {
        const int rc = d->be->ops->lend(d->be->device, host, bytes, err);
        *on_backend = rc < 0 ? NULL : host;
        return rc;
    }
    void *own = og__device_take(d->be, bytes, STRUCTURE, err);
    *on_backend = own;
    return own ? push(d, own, host, bytes, err) : -ENOMEM;
}

static void close_edges(struct og_device_sampler *d, const void *on_backend, size_t bytes)
{
    if (d->pinned && on_backend)
        d->be->ops->end_lending(d->be->device, on_backend, bytes);
    else
        og__device_give(d->be, (void *)on_backend, bytes, STRUCTURE);
}

static void close_lists(struct og_device_sampler *d, struct lists *l)
{
    close_edges(d, l->indices, index_bytes(l));
    close_edges(d, l->weights, weight_bytes(l));
    og__device_give(d->be, l->first_edge, offsets_bytes(l), STRUCTURE);
}

/* A relation without edges is never sampled. */
static int open_lists(struct og_device_sampler *d, const struct og_topology *t, uint32_t i,
                      struct og_err *err)
{
    const struct og_topology *host = og__lists_seen(t, i);
    struct lists *l = &d->lists[i];
    const void *weights = NULL;
    *l = lists_of(t, i);
    if (l->n_edges == 0 && d->by_relation)
        return 0;
    l->first_edge = og__device_take(d->be, offsets_bytes(l), STRUCTURE, err);
    OG_DO(l->first_edge ? 0 : -ENOMEM);
    OG_DO(push_offsets(d, l, host, err));
    OG_DO(open_edges(d, l->wide ? (const void *)host->indices64 : host->indices32, index_bytes(l),
                     &l->indices, err));
    if (l->weigh)
        OG_DO(open_edges(d, host->weights, weight_bytes(l), &weights, err));
    l->weights = weights;
    d->weigh |= l->weigh;
    return 0;
}

static int open_all(struct og_device_sampler *d, const struct og_topology *t, struct og_err *err)
{
    OG_DO(d->be->ops->stream(d->be->device, &d->stream, err));
    d->lists = calloc(d->n_lists, sizeof(*d->lists));
    OG_DO(d->lists ? 0 : og__fail_errno(err, -ENOMEM, NULL, "sampling on a device"));
    for (uint32_t i = 0; i < d->n_lists; i++)
        OG_DO(open_lists(d, t, i, err));
    return 0;
}

static void release_places(struct og_device_sampler *d)
{
    struct room *r = &d->room;
    const size_t bytes = r->places * sizeof(uint32_t);
    og__device_give(d->be, r->key, bytes, HOPS);
    og__device_give(d->be, r->value, bytes, HOPS);
    og__device_give(d->be, r->sorted, bytes, HOPS);
    og__device_give(d->be, r->moved, bytes, HOPS);
    og__device_give(d->be, r->weight, bytes, HOPS);
    og__device_give(d->be, r->part, r->part_bytes, HOPS);
    og__device_give(d->be, r->sort, r->sort_bytes, HOPS);
    r->key = r->value = r->sorted = r->moved = r->part = r->sort = NULL;
    r->weight = NULL;
    r->places = 0;
}

static void release_ids(struct og_device_sampler *d)
{
    og__device_give(d->be, d->room.ids, d->room.n_ids * sizeof(uint32_t), HOPS);
    og__device_give(d->be, d->room.start, d->room.n_ids * sizeof(uint32_t), HOPS);
    d->room.ids = d->room.start = NULL;
    d->room.n_ids = 0;
}

static uint32_t *words(struct og_device_sampler *d, uint64_t n, struct og_err *err)
{
    return og__device_take(d->be, n * sizeof(uint32_t), HOPS, err);
}

static size_t part_bytes(uint64_t n)
{
    return ((size_t)(n / OG__SCAN_PART) + 2) * sizeof(uint32_t);
}

/* Allocates a quarter more than a batch needs; a sort may take twice the virtual device's. */
static uint64_t with_more(uint64_t n)
{
    return n + n / 4;
}

size_t og__device_sampler_bytes(const struct og_topology *t, bool pinned, uint64_t ids,
                                uint64_t edges)
{
    const uint64_t n = with_more(ids + edges); /* nodes so far, and edges */
    size_t structure = 0, weights = 0;
    for (uint32_t i = 0; i < og__n_lists(t); i++) {
        const struct lists l = lists_of(t, i);
        structure += offsets_bytes(&l) + (pinned ? 0 : index_bytes(&l) + weight_bytes(&l));
        weights += weight_bytes(&l);
    }
    return structure + (size_t)n * (weights > 0 ? 7 : 6) * sizeof(uint32_t) +
           2 * (part_bytes(n) + OG_MIB) + ((size_t)n * 2 + 65536) * sizeof(uint32_t);
}

static int reserve_places(struct og_device_sampler *d, uint64_t n, struct og_err *err)
{
    struct room *r = &d->room;
    if (n <= r->places)
        return 0;
    n = with_more(n);
    release_places(d);
    r->places = n;
    r->part_bytes = part_bytes(n);
    r->sort_bytes = d->be->ops->sort_bytes(d->be->device, n);
    r->key = words(d, n, err);
    r->value = r->key ? words(d, n, err) : NULL;
    r->sorted = r->value ? words(d, n, err) : NULL;
    r->moved = r->sorted ? words(d, n, err) : NULL;
    r->weight = r->moved && d->weigh ? (void *)words(d, n, err) : NULL;
    if (r->moved && (r->weight || !d->weigh))
        r->part = og__device_take(d->be, r->part_bytes, HOPS, err);
    r->sort = r->part ? og__device_take(d->be, r->sort_bytes, HOPS, err) : NULL;
    if (r->sort)
        return 0;
    release_places(d);
    return -ENOMEM;
}

/* Loses the batch's nodes on the device: each hop uploads them again. */
static int reserve_ids(struct og_device_sampler *d, uint64_t n, struct og_err *err)
{
    struct room *r = &d->room;
    if (n <= r->n_ids)
        return 0;
    release_ids(d);
    r->n_ids = with_more(n);
    r->ids = words(d, r->n_ids, err);
    r->start = r->ids ? words(d, r->n_ids, err) : NULL;
    if (r->start)
        return 0;
    release_ids(d);
    return -ENOMEM;
}

/* ---- launching ---- */

/* reads: of host memory. */
static int launch(struct og_device_sampler *d, int kernel, uint64_t threads, const void *args,
                  size_t bytes, size_t reads, struct og_err *err)
{
    const struct og_launch l = {.kernel = &og__kernels[kernel],
                                .blocks = (uint32_t)((threads + OG_THREADS - 1) / OG_THREADS),
                                .threads = OG_THREADS,
                                .args = args,
                                .bytes = bytes,
                                .reads = reads};
    return l.blocks > 0 ? d->be->ops->launch(d->stream, &l, err) : 0;
}
#define LAUNCH(d, kernel, threads, args, err) \
    launch(d, kernel##_number, threads, args, sizeof(*(args)), 0, err)

static int scan(struct og_device_sampler *d, const uint32_t *in, uint32_t *out, uint32_t n,
                uint32_t base, struct og_err *err)
{
    const struct og_k_scan args = {.n = n,
                                   .n_parts = (n + OG__SCAN_PART - 1) / OG__SCAN_PART,
                                   .base = base,
                                   .in = in,
                                   .out = out,
                                   .part = d->room.part};
    OG_DO(LAUNCH(d, og__k_scan_parts, args.n_parts, &args, err));
    OG_DO(LAUNCH(d, og__k_scan_sums, 1, &args, err));
    return LAUNCH(d, og__k_scan, args.n_parts, &args, err);
}

/* ---- a hop ---- */

/* Uploads the sampling nodes: those of the batch, or numbers. */
static int place_drawing(struct og_device_sampler *d, const struct og_hop *h, uint32_t n,
                         const uint32_t **nodes, struct og_err *err)
{
    struct room *r = &d->room;
    *nodes = d->by_relation ? r->value : r->ids + h->first; /* nothing else is in use yet */
    return d->by_relation ? push(d, r->value, h->nodes, n * sizeof(uint32_t), err) : 0;
}

/* Samples the neighbours, in room.moved, their weights, and the first edge of each destination, in
 * room.start. */
static int draw(struct og_device_sampler *d, const struct og_hop *h, uint32_t n, uint64_t n_edges,
                struct og_err *err)
{
    struct room *r = &d->room;
    const struct lists *l = &d->lists[h->relation];
    const size_t each =
        (l->wide ? sizeof(int64_t) : sizeof(int32_t)) + (h->weight ? sizeof(float) : 0);
    const size_t drawn = (size_t)n_edges * each;
    const uint32_t *nodes;
    OG_DO(place_drawing(d, h, n, &nodes, err));
    const struct og_k_hop args = {.first_edge = l->first_edge,
                                  .indices32 = l->wide ? NULL : l->indices,
                                  .indices64 = l->wide ? l->indices : NULL,
                                  .weights = h->weight ? l->weights : NULL,
                                  .nodes = nodes,
                                  .base = h->base,
                                  .n_dst = n,
                                  .fanout = h->fanout,
                                  .batch = h->batch,
                                  .epoch = h->epoch,
                                  .place = og__philox_place(h->stream, h->number),
                                  .seed = h->seed,
                                  .count = r->start,
                                  .start = r->start,
                                  .node = r->moved, /* until they are sorted */
                                  .weight = r->weight};
    OG_DO(LAUNCH(d, og__k_hop_counts, n, &args, err));
    OG_DO(scan(d, r->start, r->start, n, 0, err));
    return launch(d, og__k_hop_draw_number, n, &args, sizeof(args), d->pinned ? drawn : 0, err);
}

/* Numbers the nodes of the edges, in room.key; stores the number of nodes after room.part's parts.
 */
static int number(struct og_device_sampler *d, uint32_t n_ids, uint32_t n_edges, struct og_err *err)
{
    struct room *r = &d->room;
    const uint32_t all = n_ids + n_edges;
    struct og_k_number args = {.n_ids = n_ids,
                               .n_edges = n_edges,
                               .ids = r->ids,
                               .node = r->moved,
                               .key = r->key,
                               .value = r->value};
    const struct og_sort sort = {.n = all,
                                 .key = r->key,
                                 .value = r->value,
                                 .sorted = r->sorted,
                                 .moved = r->moved,
                                 .bound = (uint32_t)d->n_nodes,
                                 .room = r->sort};
    OG_DO(LAUNCH(d, og__k_hop_keys, all, &args, err));
    OG_DO(d->be->ops->sort(d->stream, &sort, err)); /* keys and values are then free */
    args.node = NULL;
    args.sorted = r->sorted;
    args.moved = r->moved;
    args.flag = r->value;
    args.number = r->value;
    args.src = r->key;
    OG_DO(LAUNCH(d, og__k_hop_firsts, all, &args, err));
    OG_DO(scan(d, r->value, r->value, all, 0, err));
    return LAUNCH(d, og__k_hop_numbers, all, &args, err);
}

static int fetch(struct og_device_sampler *d, void *host, const void *on_backend, uint64_t n,
                 struct og_err *err)
{
    return n > 0 ? d->be->ops->copy(d->stream, host, on_backend, n * sizeof(uint32_t), OG__TO_HOST,
                                    err)
                 : 0;
}

/* Offsets are those of the block, which may have edges already. */
static int fetch_hop(struct og_device_sampler *d, struct og_hop *h, uint32_t n, uint32_t n_edges,
                     struct og_err *err)
{
    struct og_batch *b = &h->out->batch;
    struct og_block *block = h->block;
    const struct room *r = &d->room;
    const uint32_t before = (uint32_t)block->n_edges;
    const uint32_t parts = (b->n_ids + n_edges + OG__SCAN_PART - 1) / OG__SCAN_PART;
    OG_DO(fetch(d, &d->n_ids, r->part + parts, 1, err));
    OG_DO(fetch(d, block->indptr + h->first, r->start, n, err));
    OG_DO(fetch(d, block->src + before, r->key, n_edges, err));
    if (h->weight)
        OG_DO(fetch(d, h->weight + before, r->weight, n_edges, err));
    OG_DO(d->be->ops->finish(d->stream, err));
    OG_DO(fetch(d, h->ids + b->n_ids, r->ids + b->n_ids, d->n_ids - b->n_ids, err));
    OG_DO(d->be->ops->finish(d->stream, err));
    for (uint32_t i = 0; i < n && before > 0; i++)
        block->indptr[h->first + i] += before;
    block->n_edges += n_edges;
    b->n_ids = d->n_ids;
    return 0;
}

static int sample_hop(struct og_device_sampler *d, struct og_hop *h, struct og_err *err)
{
    const uint32_t n_ids = h->out->batch.n_ids;
    const uint32_t n = h->block->n_dst - h->first;
    const uint64_t n_edges = h->n_edges - h->block->n_edges;
    int rc;
    if (n_ids + n_edges > UINT32_MAX)
        return og__fail(err, -EOVERFLOW, og__too_many_hint, "a batch with %llu edges in a hop",
                        (unsigned long long)n_edges);
    if (n == 0)
        return 0;
    OG_TRY(reserve_ids(d, n_ids + n_edges, err));
    OG_TRY(reserve_places(d, n_ids + n_edges, err));
    OG_TRY(push(d, d->room.ids, h->ids, n_ids * sizeof(uint32_t), err));
    OG_TRY(draw(d, h, n, n_edges, err));
    OG_TRY(number(d, n_ids, (uint32_t)n_edges, err));
    OG_TRY(fetch_hop(d, h, n, (uint32_t)n_edges, err));
out:
    if (rc < 0) /* no copy of it may arrive later */
        (void)!d->be->ops->finish(d->stream, NULL);
    return rc;
}

static int hop(void *self, struct og_hop *h, struct og_err *err)
{
    struct og_device_sampler *d = self;
    pthread_mutex_lock(&d->lock);
    const int rc = sample_hop(d, h, err);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

/* ---- open and close ---- */

int og__device_sampler_open(struct og_device_sampler **out, struct og_nn_backend *be,
                            const struct og_topology *t, bool pinned, struct og_err *err)
{
    struct og_device_sampler *d = calloc(1, sizeof(*d));
    *out = NULL;
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "sampling on a device");
    d->be = be;
    d->n_nodes = (uint64_t)t->n_nodes;
    d->n_lists = og__n_lists(t);
    d->by_relation = t->relation;
    d->pinned = pinned;
    d->elsewhere = (struct og_elsewhere){d, hop};
    pthread_mutex_init(&d->lock, NULL);
    int rc = open_all(d, t, err);
    if (rc < 0)
        og__device_sampler_close(d);
    else
        *out = d;
    return rc;
}

void og__device_sampler_close(struct og_device_sampler *d)
{
    if (!d)
        return;
    if (d->stream) /* whether it fails or not */
        (void)!d->be->ops->finish(d->stream, NULL);
    release_places(d);
    release_ids(d);
    for (uint32_t i = 0; d->lists && i < d->n_lists; i++)
        close_lists(d, &d->lists[i]);
    free(d->lists);
    d->be->ops->end_stream(d->stream);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

const struct og_elsewhere *og__device_sampler_hops(const struct og_device_sampler *d)
{
    return &d->elsewhere;
}

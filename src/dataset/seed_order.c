#include "dataset/seed_order.h"

#include "base/bits.h"
#include "base/file.h"
#include "base/random.h"
#include "base/sort.h"
#include "dataset/stream.h"

#include <unistd.h>

static const char part[] = "seeds";

/* ---- MinHash ---- */

/* Lists are read by pieces of so many nodes and edges. */
enum { NODES = 4096, EDGES = 64 * 1024 };

struct hashed {
    uint64_t hash; /* the smallest of its in-neighbours */
    uint32_t node, place;
};

static int compare_nodes(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

static int compare_hashes(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    const int order = (x->hash > y->hash) - (x->hash < y->hash);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* It is the same in all runs: an order belongs to the dataset. */
static uint64_t hash_of(uint32_t node)
{
    uint32_t word[4];
    og__philox(0, OG__STREAM_ORDER, 0, 0, 1, node, 0, word);
    return (uint64_t)word[0] << 32 | word[1];
}

struct hashing {
    const struct og_graph *g;
    const struct og_relation *of;
    struct hashed *seed, *end; /* of its destination, by node */
    int64_t *ptr;              /* [NODES + 1] of nodes from `node` on */
    int64_t node;
    int64_t *src; /* [EDGES] */
};

static int64_t own_node(const struct hashing *h, const struct hashed *seed)
{
    return (int64_t)seed->node - h->g->group[h->of->destination].first;
}

/* The first seed at or after `from` that is none of nodes [h->node, h->node + n). */
static struct hashed *end_of_piece(const struct hashing *h, struct hashed *from, int64_t n)
{
    while (from < h->end && own_node(h, from) < h->node + n)
        from++;
    return from;
}

/* Edges [begin, end) of the file are in src. */
static void hash_edges(const struct hashing *h, struct hashed *seed, int64_t begin, int64_t end)
{
    const int64_t at = own_node(h, seed) - h->node;
    const int64_t first = OG_MAX(h->ptr[at], begin), last = OG_MIN(h->ptr[at + 1], end);
    for (int64_t e = first; e < last; e++) {
        const int64_t source = h->g->group[h->of->source].first + h->src[e - begin];
        seed->hash = OG_MIN(seed->hash, hash_of((uint32_t)source));
    }
}

/* Seeds [seed, end) have their offsets in ptr. Reads from the first list to the last one. */
static int hash_piece(const struct hashing *h, struct hashed *seed, const struct hashed *end,
                      struct og_err *err)
{
    const int64_t last = h->ptr[own_node(h, end - 1) - h->node + 1];
    int64_t begin = h->ptr[own_node(h, seed) - h->node];
    for (int64_t n; begin < last; begin += n) {
        n = OG_MIN(last - begin, (int64_t)EDGES);
        OG_DO(og__read_indices(h->of, begin, n, h->src, err));
        while (seed < end && h->ptr[own_node(h, seed) - h->node] < begin + n) {
            hash_edges(h, seed, begin, begin + n);
            if (h->ptr[own_node(h, seed) - h->node + 1] > begin + n)
                break;
            seed++;
        }
    }
    return 0;
}

static int read_offsets(struct hashing *h, int64_t n, struct og_err *err)
{
    const struct og_relation *r = h->of;
    int rc = og__npy_read_int64(&r->indptr, h->node, n + 1, h->ptr, err);
    for (int64_t v = 0; rc == 0 && v < n; v++)
        if (h->ptr[v] < 0 || h->ptr[v] > h->ptr[v + 1] || h->ptr[v + 1] > r->n_edges)
            rc = og__bad_list(r, h->node + v, h->ptr[v], h->ptr[v + 1], err);
    return rc;
}

static int hash_relation(struct hashing *h, struct og_err *err)
{
    for (struct hashed *seed = h->seed, *end; seed < h->end; seed = end) {
        h->node = own_node(h, seed);
        const int64_t n = OG_MIN(h->of->n_nodes - h->node, (int64_t)NODES);
        OG_DO(read_offsets(h, n, err));
        end = end_of_piece(h, seed, n);
        OG_DO(hash_piece(h, seed, end, err));
    }
    return 0;
}

static int hash_graph(const struct og_graph *g, struct hashed *seed, uint32_t n, int64_t *buffer,
                      struct og_err *err)
{
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_group *to = &g->group[g->relation[r].destination];
        struct hashing h = {
            .g = g, .of = &g->relation[r], .ptr = buffer, .src = buffer + NODES + 1};
        h.seed = seed;
        while (h.seed < seed + n && h.seed->node < to->first)
            h.seed++;
        for (h.end = h.seed; h.end < seed + n && h.end->node < to->first + to->n_nodes;)
            h.end++;
        OG_DO(hash_relation(&h, err));
    }
    return 0;
}

int og__order_by_minhash(const struct og_graph *g, const uint32_t *nodes, uint32_t n,
                         struct og_budget *b, uint32_t *place, struct og_err *err)
{
    const size_t bytes = (size_t)n * sizeof(struct hashed);
    const size_t buffered = (NODES + 1 + EDGES) * sizeof(int64_t);
    struct hashed *seed = og__alloc(b, bytes, part, err);
    int64_t *buffer = og__alloc(b, buffered, part, err);
    int rc = seed && buffer ? 0 : -ENOMEM;
    OG_TRY(rc);
    for (uint32_t i = 0; i < n; i++)
        seed[i] = (struct hashed){UINT64_MAX, nodes[i], i};
    og__sort_in_place(seed, n, sizeof(*seed), compare_nodes);
    OG_TRY(hash_graph(g, seed, n, buffer, err));
    for (uint32_t i = 1; i < n; i++) /* a node that is listed again */
        if (seed[i].node == seed[i - 1].node)
            seed[i].hash = seed[i - 1].hash;
    og__sort_in_place(seed, n, sizeof(*seed), compare_hashes);
    for (uint32_t i = 0; i < n; i++)
        place[i] = seed[i].place;
out:
    og__release(b, buffer, buffered, part);
    og__release(b, seed, bytes, part);
    return rc;
}

/* ---- files ---- */

enum { CHUNK = 4096 };
static const char hint[] = "write one with `outgrow order`, or numpy.save of a permutation";

static int take_places(const struct og_npy *a, const char *what, uint64_t *seen, uint32_t *place,
                       struct og_err *err)
{
    const int64_t n = a->shape[0];
    int64_t chunk[CHUNK];
    for (int64_t first = 0, m; first < n; first += m) {
        m = OG_MIN(n - first, (int64_t)CHUNK);
        OG_DO(og__npy_read_int64(a, first, m, chunk, err));
        for (int64_t i = 0; i < m; i++) {
            if (chunk[i] < 0 || chunk[i] >= n || og__bits_has(seen, (uint64_t)chunk[i]))
                return og__fail(err, -EINVAL, hint,
                                "%s: row %lld: %lld. Each of the %lld %s is expected once, from 0",
                                a->path, (long long)(first + i), (long long)chunk[i], (long long)n,
                                what);
            og__bits_add(seen, (uint64_t)chunk[i]);
            place[first + i] = (uint32_t)chunk[i];
        }
    }
    return 0;
}

int og__order_read(const char *path, const char *what, uint32_t n, struct og_budget *b,
                   uint32_t *place, struct og_err *err)
{
    const size_t bytes = og__bits_words(n) * sizeof(uint64_t);
    uint64_t *seen = og__alloc(b, bytes, part, err);
    struct og_npy a = {.fd = -1};
    int rc = seen ? 0 : -ENOMEM;
    OG_TRY(rc);
    OG_TRY(og__npy_open(&a, path, err));
    if (!og__npy_is_integer(a.type) || a.ndim != 1 || a.shape[0] != n)
        OG_TRY(og__fail(err, -EINVAL, hint,
                        "%s: %lld x %lld of type %s. %u integers expected, one for each of the %s",
                        path, (long long)a.shape[0], (long long)a.shape[1], og__npy_name(a.type), n,
                        what));
    OG_TRY(take_places(&a, what, seen, place, err));
out:
    og__npy_close(&a);
    og__release(b, seen, bytes, part);
    return rc;
}

static int write_places(const struct og_newfile *f, const uint32_t *place, uint32_t n,
                        struct og_err *err)
{
    char header[4096];
    const int64_t shape[2] = {n, 1};
    int64_t chunk[CHUNK];
    off_t at = (off_t)og__npy_header(header, OG__NPY_I64, 1, shape, 64);
    OG_DO(og__write_all(f->fd, header, (size_t)at, 0, f->path, err));
    for (uint32_t first = 0, m; first < n; first += m) {
        m = OG_MIN(n - first, (uint32_t)CHUNK);
        for (uint32_t i = 0; i < m; i++)
            chunk[i] = place[first + i];
        OG_DO(og__write_all(f->fd, chunk, m * sizeof(*chunk), at, f->path, err));
        at += (off_t)(m * sizeof(*chunk));
    }
    return 0;
}

int og__order_write(const char *path, const uint32_t *place, uint32_t n, struct og_err *err)
{
    struct og_newfile f = {.fd = -1};
    int rc;
    OG_TRY(og__check_absent(path, err));
    OG_TRY(og__newfile_open(&f, path, err));
    OG_TRY(write_places(&f, place, n, err));
    OG_TRY(og__newfile_commit(&f, err));
out:
    og__newfile_abandon(&f);
    return rc;
}

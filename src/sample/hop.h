/* The state of a hop, shared by all samplers (kinds.h): its sampler, its draws, and the window. In
 * the window, edges become neighbours, and neighbours become positions in the batch.
 *
 *   drawn: edges ──> window of edges ──indices──> window of nodes ──table──> positions
 *          nodes ───────────────────────────────────────^ */
#ifndef OG_SAMPLE_HOP_H
#define OG_SAMPLE_HOP_H

#include "sample/sample.h"

#include "base/id_table.h"
#include "sample/trees.h"

#include <string.h>

enum {
    OG__PREFETCH_DISTANCE = 24, /* nodes whose degree is prefetched */
    OG__LINEAR_FLOYD = 48,      /* up to here a linear scan of the picks is faster than a set */
    /* of destinations that walk as a group from disk; one may have 128 * 16 */
    OG__MOST_VISITS = 1 << 18,
    OG__MOST_STEPS = 16, /* of a walk */
};
#define OG__NO_NODE OG__NO_ID /* dataset.h bounds N */

struct og_disk_sampler;
struct og_hop;
struct og_lists;
struct og_related;
struct og_runs;

struct og_sampler {
    /* source of the lists; set at open, later changed only to switch relations */
    const struct og_topology *topology;
    struct og_budget *budget;
    int fanout[OG_MAX_HOPS];
    int n_hops;
    bool keep_degrees;
    uint64_t seed;
    struct og_id_table table; /* of og_id_place: node id -> position in the batch */
    /* Floyd's picks, and the set that detects duplicates among many */
    uint32_t *pick, *set;
    size_t max_pick, set_size;
    struct og_id_table units; /* the same of units of edges; each relation has numbers of its own */
    uint32_t *n_units;        /* [n_relations] */
    uint32_t n_relations;     /* at least 1 */
    struct og_trees *trees;   /* NULL: the batch's seeds share one graph */
    /* other ways to draw */
    struct og_sampling how;
    void *state;                   /* its kind's */
    struct og_lists *lists;        /* on disk: weights for weighted, sources for labor, ladies, */
    struct og_lists *weight_lists; /* and their weights, if how.weights */
    /* the window */
    int64_t edge[OG__WINDOW]; /* places in the lists' array */
    uint32_t node[OG__WINDOW];
    size_t filled;
    /* topology on disk */
    struct og_disk_sampler *disk; /* NULL until a batch is sampled by itself */
    struct og_runs *runs; /* the batch's draws in group sampling (runs.h); NULL = sampled alone */
    const struct og_elsewhere *elsewhere; /* draws hops instead of the sampler; NULL: none */
    struct og_related *related;           /* NULL: of one relation (related.h) */
    /* where walks return if a relation's sources are of another type, and its reader; topology
     * NULL: none */
    bool between;
    struct og_way_back {
        const struct og_topology *topology;
        struct og_disk_sampler *disk;
    } back;
    struct og_sample_reads reads; /* of the batch */
};

/* The hop that is being sampled. */
struct og_hop {
    struct og_sampler *s;
    struct og_batch_memory *out;
    struct og_block *block;
    uint32_t *ids;            /* the batch's */
    const uint32_t *nodes;    /* [n_dst] that sample: ids; in a relation, numbers by type */
    const uint32_t *position; /* [n_dst] of these in the batch; NULL: i */
    uint32_t relation;        /* of the lists; 0 in a homogeneous graph */
    uint32_t base;            /* what lists hold are ids less this */
    uint64_t most_ids;        /* of a batch */
    uint32_t first;           /* earlier destinations have their lists from earlier hops */
    uint32_t array;           /* of out's, the block's arrays: og__arrays_at */
    uint64_t n_edges;         /* capacity; on disk, the final number */
    float *weight;            /* [n_edges], or NULL */
    uint32_t *edge;           /* [n_edges], or NULL */
    uint32_t n_requested;     /* on disk: edges drawn so far in this hop */
    int fanout;
    /* where it draws from */
    uint64_t seed;
    enum og__stream stream;
    uint32_t epoch, batch, number;
};

static inline void og__hop_rng(const struct og_hop *h, uint32_t node, struct og_rng *rng)
{
    og__rng_at(rng, h->seed, h->stream, h->epoch, h->batch, h->number, node);
}

/* ---- draws ----
 *
 * In the header, because the loop of each hop has to inline them. */

static inline bool og__picked_before(const uint32_t *pick, uint32_t n, uint32_t x)
{
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        found |= pick[i] == x;
    return found;
}

/* Floyd's algorithm: k draws. */
static inline void og__draw_few(struct og_sampler *s, struct og_rng *rng, uint32_t degree,
                                uint32_t k)
{
    for (uint32_t n = 0; n < k; n++) {
        uint32_t last = degree - k + n;
        uint32_t x = og__rng_below(rng, last + 1);
        s->pick[n] = og__picked_before(s->pick, n, x) ? last : x;
    }
}

static inline bool og__set_add(struct og_sampler *s, uint32_t x)
{
    size_t i = (size_t)(x * 0x9E3779B1u) & (s->set_size - 1);
    while (s->set[i] != OG__NO_NODE) {
        if (s->set[i] == x)
            return false;
        i = (i + 1) & (s->set_size - 1);
    }
    s->set[i] = x;
    return true;
}

static inline void og__draw_many(struct og_sampler *s, struct og_rng *rng, uint32_t degree,
                                 uint32_t k)
{
    memset(s->set, 0xff, s->set_size * sizeof(*s->set));
    for (uint32_t n = 0; n < k; n++) {
        uint32_t last = degree - k + n;
        uint32_t x = og__rng_below(rng, last + 1);
        if (!og__set_add(s, x)) {
            x = last;
            og__set_add(s, x);
        }
        s->pick[n] = x;
    }
}

static inline void og__draw_again(struct og_sampler *s, struct og_rng *rng, uint32_t degree,
                                  uint32_t k)
{
    for (uint32_t n = 0; n < k; n++)
        s->pick[n] = og__rng_below(rng, degree);
}

/* Draws k of [0, degree) into s->pick. With how.replace, one after another. Else k < degree, and
 * every subset is equally likely. */
static inline void og__draw(struct og_sampler *s, struct og_rng *rng, uint32_t degree, uint32_t k)
{
    if (s->how.replace)
        og__draw_again(s, rng, degree, k);
    else if (k <= OG__LINEAR_FLOYD)
        og__draw_few(s, rng, degree, k);
    else
        og__draw_many(s, rng, degree, k);
}

/* The number of neighbours that a node of this degree samples. */
static inline uint32_t og__drawn_of(const struct og_hop *h, int64_t degree)
{
    return (uint32_t)og__drawn_number(h->s->how.replace, h->fanout, degree);
}

/* Does it take the whole list, without a draw? */
static inline bool og__takes_all(const struct og_hop *h, int64_t degree)
{
    return h->fanout < 0 || degree == 0 || (!h->s->how.replace && degree <= h->fanout);
}

/* 53 bits, in (0, 1): the logarithm is finite. */
static inline double og__draw_open(struct og_rng *rng)
{
    uint64_t high = og__rng_u32(rng);
    uint64_t low = og__rng_u32(rng);
    return ((double)((high << 32 | low) >> 12) + 0.5) * 0x1p-52;
}

/* ---- the batch's nodes ---- */

/* Call after the batch's ids have moved; also updates `nodes` if those are the batch's. */
static inline void og__ids_moved(struct og_hop *h)
{
    struct og_batch *b = &h->out->batch;
    h->ids = b->ids = h->out->ids.data;
    if (h->s->trees) {
        b->row = h->out->row.data;
        b->node = h->out->node.data;
    }
    if (!h->s->related)
        h->nodes = og__place_nodes(b);
}

/* Checks that the current topology has the weights that the sampler reads. Opens the kind's state
 * unless it exists. */
OG_MUST_CHECK int og__sampler_begin(struct og_sampler *s, struct og_err *err);

/* Samples the hop into its block, by the sampler's kind or by s->elsewhere; or assembles it from
 * s->runs. */
OG_MUST_CHECK int og__draw_hop(struct og_hop *h, struct og_err *err);

/* Draws and times of the batch's trees. */
OG_MUST_CHECK int og__key_trees(struct og_sampler *s, const struct og_sample_key *key,
                                const uint32_t *seeds, uint32_t n, struct og_err *err);

/* Makes room for `ids` nodes; inserts known[0 .. n) again. */
OG_MUST_CHECK int og__fit_table(struct og_sampler *s, uint64_t ids, const uint32_t *known,
                                uint32_t n, struct og_err *err);

/* Stores the seeds as the first nodes; -EINVAL for one that is out of range or duplicated. */
OG_MUST_CHECK int og__take_seeds(struct og_sampler *s, const uint32_t *seeds, uint32_t n,
                                 struct og_batch_memory *out, struct og_err *err);

/* Makes room for the nodes that so many more edges may find. */
OG_MUST_CHECK int og__fit_ids(struct og_hop *h, uint64_t drawn, struct og_err *err);
/* Makes room for the draws of n nodes from h->first on. If their number is uncertain, for a first
 * part. */
OG_MUST_CHECK int og__reserve_edges(struct og_hop *h, uint32_t n, struct og_err *err);
/* Locates the block's edges, and their capacity if the number of edges is uncertain. */
void og__find_room(struct og_hop *h);

/* ---- the window ---- */

extern const char og__too_many_hint[]; /* more edges than a block can count */

/* Gives the window's nodes positions: existing or new ones. They are edges from block->n_edges
 * on. The first numbers these edges' units too. */
OG_MUST_CHECK int og__number_window(struct og_hop *h, struct og_err *err);
OG_MUST_CHECK int og__number_nodes(struct og_hop *h, struct og_err *err);

/* Turns edges of the window into neighbours, and these into positions. */
OG_MUST_CHECK int og__flush_edges(struct og_hop *h, struct og_err *err);

static inline void og__prefetch_edge(const struct og_topology *t, int64_t e)
{
    if (t->indices32)
        __builtin_prefetch(&t->indices32[e]);
    else
        __builtin_prefetch(&t->indices64[e]);
}

/* The next edge of the hop, whose weight is that of the edge. */
static inline int og__push_edge(struct og_hop *h, int64_t e, struct og_err *err)
{
    struct og_sampler *s = h->s;
    og__prefetch_edge(s->topology, e);
    if (h->weight)
        __builtin_prefetch(&s->topology->weights[e]);
    s->edge[s->filled++] = e;
    return s->filled == OG__WINDOW ? og__flush_edges(h, err) : 0;
}

/* The tree of destination i; and the next edge is of it. */
static inline uint32_t og__tree_of(const struct og_hop *h, uint32_t i)
{
    return h->s->trees->tree[h->position ? h->position[i] : i];
}
static inline void og__push_into(struct og_hop *h, uint32_t tree)
{
    h->s->trees->window[h->s->filled] = tree;
}

/* The node that the edge leads from. */
static inline int og__push_node(struct og_hop *h, uint32_t node, int64_t edge, struct og_err *err)
{
    struct og_sampler *s = h->s;
    s->edge[s->filled] = edge;
    s->node[s->filled++] = h->base + node;
    return s->filled == OG__WINDOW ? og__number_window(h, err) : 0;
}

/* Grows the block beyond its edges and those in the window. */
OG_MUST_CHECK int og__grow_hop(struct og_hop *h, struct og_err *err);

/* As og__push_node, with a weight; the capacity may be smaller than the number of draws. */
static inline int og__push_weighed(struct og_hop *h, uint32_t node, float weight, int64_t edge,
                                   struct og_err *err)
{
    uint64_t at = h->block->n_edges + h->s->filled;
    OG_DO(OG_UNLIKELY(at >= h->n_edges) ? og__grow_hop(h, err) : 0);
    h->weight[at] = weight;
    return og__push_node(h, node, edge, err);
}

/* The same for an edge that has a weight only with how.weights, else NULL. */
static inline int og__push_drawn(struct og_hop *h, uint32_t node, const float *weight, int64_t edge,
                                 struct og_err *err)
{
    return h->weight && weight ? og__push_weighed(h, node, *weight, edge, err)
                               : og__push_node(h, node, edge, err);
}

/* Numbers the units of n edges: their rows are stored from edge `at` on. The window
 * calls it, except where nodes come later than their edges. */
OG_MUST_CHECK int og__number_edges(struct og_hop *h, uint64_t at, const int64_t *edge, size_t n,
                                   struct og_err *err);
/* Edges first + positions; positions NULL: the first n. */
OG_MUST_CHECK int og__number_places(struct og_hop *h, uint64_t at, int64_t first,
                                    const uint32_t *positions, uint32_t n, struct og_err *err);

/* Starts the list of destination i. Edges in the window count: n_edges moves only on a flush. */
static inline void og__begin_list(struct og_hop *h, uint32_t i)
{
    h->block->indptr[i] = (uint32_t)(h->block->n_edges + h->s->filled);
}

#endif

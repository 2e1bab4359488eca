#include "dataset/neighbors_parts.h"

#include "dataset/stream.h"

#include <string.h>

enum { RADIX_BITS = 16, RADIX = 1 << RADIX_BITS };

static const char part[] = "neighbour cache";

/* ---- the relations ---- */

const struct og_topology *og__neighbors_lists(const struct og_caching *k, uint32_t r)
{
    const struct og_topology *lists = og__relation_lists(k->t, r);
    return lists->disk ? lists : NULL;
}

struct og_neighbors *og__neighbors_cache(const struct og_caching *k, uint32_t r)
{
    return &og__relation_lists(k->t, r)->disk->cache;
}

int og__neighbors_each(const struct og_caching *k, og_neighbors_fn *fn, void *arg,
                       struct og_err *err)
{
    int rc = 0;
    for (uint32_t r = 0; rc == 0 && r < og__n_lists(k->t); r++)
        if (og__neighbors_lists(k, r))
            rc = fn(k, r, arg, err);
    return rc;
}

/* ---- sizes ---- */

/* Bytes of a list of `degree`: its ids, their weights, and its offset. */
static uint64_t list_bytes(int64_t degree, bool weights)
{
    const uint64_t each = sizeof(uint32_t) + (weights ? sizeof(float) : 0);
    return (uint64_t)degree * each + sizeof(uint32_t);
}

/* Bytes of a relation's cache without lists; bases of offsets as for a list of every node. */
static size_t fixed_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * 8 + og__bits_words(n_nodes) * 4 + og__offsets_bytes(n_nodes) -
           (size_t)n_nodes * sizeof(uint32_t);
}

size_t og__neighbors_least_bytes(const struct og_graph *g)
{
    size_t bytes = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        bytes += g->relation[r].n_edges > 0 ? fixed_bytes((uint64_t)g->relation[r].n_nodes) : 0;
    return bytes;
}

size_t og__neighbors_whole_bytes(const struct og_graph *g, bool weights)
{
    size_t bytes = og__neighbors_least_bytes(g);
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *of = &g->relation[r];
        if (of->n_edges > 0)
            bytes += list_bytes(of->n_edges, weights) + ((size_t)of->n_nodes - 1) * 4;
    }
    return bytes;
}

size_t og__neighbors_bytes(const struct og_graph *g, bool weights, size_t capacity)
{
    capacity = OG_MIN(capacity, og__neighbors_whole_bytes(g, weights));
    return capacity > og__neighbors_least_bytes(g) ? capacity : 0;
}

size_t og__neighbors_build_bytes(const struct og_graph *g)
{
    return (size_t)g->n_nodes * 4 + RADIX * sizeof(uint64_t) + OG__CHUNK;
}

/* ---- choosing ---- */

/* What all relations are chosen by. */
struct choosing {
    const uint32_t *uses; /* [N] out-degrees */
    uint64_t *bytes;      /* [RADIX] of lists, by a half of their scores */
    bool low; /* by the low half, of scores whose high one is `high`; else by the high */
    uint32_t high;
    int64_t threshold;
    uint64_t left; /* capacity */
};

/* Out-degree / length as the bits of a float: they compare as the number does. `uses` is of the
 * relation's first destination; a list has a length. */
static uint32_t score_of(const uint32_t *uses, uint64_t v, int64_t degree)
{
    const float score = (float)uses[v] / (float)degree;
    uint32_t bits;
    memcpy(&bits, &score, sizeof(bits));
    return bits;
}

static const uint32_t *uses_of(const struct choosing *c, const struct og_caching *k, uint32_t r)
{
    return c->uses + (k->t->relation ? k->t->relation[r].first : 0);
}

static int weigh_relation(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err)
{
    const struct choosing *c = arg;
    const struct og_topology *t = og__neighbors_lists(k, r);
    const uint32_t *uses = uses_of(c, k, r);
    (void)err;
    for (uint64_t v = 0; v < (uint64_t)t->n_nodes; v++) {
        const int64_t degree = og__degree(t, (uint32_t)v);
        const uint32_t score = degree > 0 ? score_of(uses, v, degree) : 0;
        if (degree == 0 || (c->low && score >> RADIX_BITS != c->high))
            continue;
        const uint32_t bin = c->low ? (uint16_t)score : score >> RADIX_BITS;
        c->bytes[bin] += list_bytes(degree, k->opt.weights);
    }
    return 0;
}

/* Sums the bytes of lists by the high half of their scores or, if c->low, by the low. Returns the
 * highest bin that does not fit as a whole; -1 if all fit. Leaves the rest of the capacity in
 * c->left. */
static int find_bin(const struct og_caching *k, struct choosing *c, struct og_err *err)
{
    int bin = RADIX - 1;
    memset(c->bytes, 0, RADIX * sizeof(*c->bytes));
    if (og__neighbors_each(k, weigh_relation, c, err) < 0)
        return -1;
    while (bin >= 0 && c->bytes[bin] <= c->left)
        c->left -= c->bytes[bin--];
    return bin;
}

static int mark_relation(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err)
{
    struct choosing *c = arg;
    const struct og_topology *t = og__neighbors_lists(k, r);
    const uint32_t *uses = uses_of(c, k, r);
    (void)err;
    for (uint64_t v = 0; v < (uint64_t)t->n_nodes; v++) {
        const int64_t degree = og__degree(t, (uint32_t)v);
        const int64_t score = degree > 0 ? (int64_t)score_of(uses, v, degree) : -1;
        const bool equal = score == c->threshold;
        const uint64_t bytes = list_bytes(degree, k->opt.weights);
        if (degree == 0 || score < c->threshold || (equal && bytes > c->left))
            continue;
        c->left -= equal ? bytes : 0;
        og__bits_add(og__neighbors_cache(k, r)->bits, v);
    }
    return 0;
}

/* Lists above the threshold all fit; of those exactly at it, the first that do. Two weighing passes
 * find it without sorting. */
static int choose(const struct og_caching *k, struct choosing *c, struct og_err *err)
{
    c->threshold = -1;
    const int high = find_bin(k, c, err);
    if (high >= 0) {
        c->low = true;
        c->high = (uint32_t)high;
        c->threshold = (int64_t)high << RADIX_BITS | find_bin(k, c, err);
    }
    return og__neighbors_each(k, mark_relation, c, err);
}

/* ---- laying out ---- */

int og__neighbors_take_nodes(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err)
{
    struct og_neighbors *c = og__neighbors_cache(k, r);
    (void)arg;
    *c = (struct og_neighbors){.n_nodes = (uint64_t)og__neighbors_lists(k, r)->n_nodes,
                               .budget = k->t->budget};
    c->bits = og__alloc(c->budget, og__bits_words(c->n_nodes) * 8, part, err);
    c->rank = og__alloc(c->budget, og__bits_words(c->n_nodes) * 4, part, err);
    return c->bits && c->rank ? 0 : -ENOMEM;
}

/* Lists and ids that the marked nodes have. */
int og__neighbors_count_marked(const struct og_caching *k, uint32_t r, void *arg,
                               struct og_err *err)
{
    struct og_neighbors *c = og__neighbors_cache(k, r);
    (void)arg;
    (void)err;
    c->n_lists = og__bits_count(c->bits, c->n_nodes, c->rank);
    c->n_ids = 0;
    for (uint64_t v = 0; (v = og__bits_next(c->bits, c->n_nodes, v)) < c->n_nodes; v++)
        c->n_ids += (uint64_t)og__degree(og__neighbors_lists(k, r), (uint32_t)v);
    return 0;
}

/* Offsets of the marked nodes' lists, and room for their ids and weights. */
int og__neighbors_take_lists(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err)
{
    struct og_neighbors *c = og__neighbors_cache(k, r);
    uint64_t slot = 0;
    int64_t first = 0;
    int rc = og__offsets_init(&c->first, c->n_lists, c->budget, part, err);
    (void)arg;
    if (rc < 0)
        return rc;
    c->ids = og__alloc(c->budget, c->n_ids * sizeof(*c->ids), part, err);
    if (k->opt.weights && c->ids)
        c->weights = og__alloc(c->budget, c->n_ids * sizeof(*c->weights), part, err);
    bool near = true;
    for (uint64_t v = 0; (v = og__bits_next(c->bits, c->n_nodes, v)) < c->n_nodes; v++) {
        near = near && og__offsets_put(&c->first, slot++, first);
        first += og__degree(og__neighbors_lists(k, r), (uint32_t)v);
    }
    near = near && og__offsets_put(&c->first, slot, first);
    if (!near)
        return og__fail(err, -EOVERFLOW, "use a smaller neighbour cache",
                        "the neighbour cache's lists are too long to be counted");
    return c->n_ids > 0 && (!c->ids || (k->opt.weights && !c->weights)) ? -ENOMEM : 0;
}

static void release(struct og_neighbors *c)
{
    og__release(c->budget, c->bits, og__bits_words(c->n_nodes) * 8, part);
    og__release(c->budget, c->rank, og__bits_words(c->n_nodes) * 4, part);
    if (c->first.base)
        og__offsets_release(&c->first, c->budget, part);
    og__release(c->budget, c->ids, c->n_ids * sizeof(*c->ids), part);
    og__release(c->budget, c->weights, c->n_ids * sizeof(*c->weights), part);
    *c = (struct og_neighbors){0};
}

void og__neighbors_release(struct og_topology *t)
{
    for (uint32_t r = 0; r < og__n_lists(t); r++) {
        struct og_topology *lists = og__relation_lists(t, r);
        if (lists->disk)
            release(&lists->disk->cache);
    }
}

/* ---- building ---- */

struct copying {
    const struct og_topology *t;
    const struct og_neighbors *c;
    uint32_t *out;       /* ids of the cache, or its weights: both have 4 bytes an edge */
    uint64_t node, slot; /* the list under way */
};

/* The parts of a run of edges that belong to cached lists. */
static int copy_run(void *arg, int64_t first, const uint32_t *from_run, size_t n,
                    struct og_err *err)
{
    struct copying *k = arg;
    const struct og_neighbors *c = k->c;
    int64_t end = first + (int64_t)n;
    (void)err;
    while (k->node < c->n_nodes) {
        int64_t list = og__first_edge(k->t, k->node);
        int64_t list_end = og__first_edge(k->t, k->node + 1);
        int64_t from = OG_MAX(list, first);
        int64_t to = OG_MIN(list_end, end);
        if (from < to)
            memcpy(k->out + og__offset(&c->first, k->slot) + (from - list),
                   from_run + (from - first), (size_t)(to - from) * sizeof(*from_run));
        if (list_end > end)
            break;
        k->node = og__bits_next(c->bits, c->n_nodes, k->node + 1);
        k->slot++;
    }
    return 0;
}

static int copy_weights(void *arg, const void *data, int64_t first_byte, size_t bytes,
                        struct og_err *err)
{
    struct copying *k = arg;
    const int64_t first = first_byte / (int64_t)sizeof(float);
    const size_t n = bytes / sizeof(float);
    const int rc = og__check_weights(k->t->disk->of, data, first, n, err);
    return rc < 0 ? rc : copy_run(k, first, data, n, err);
}

static int copy_lists(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err)
{
    struct og_neighbors *c = og__neighbors_cache(k, r);
    const struct og_topology *t = og__neighbors_lists(k, r);
    struct copying ids = {t, c, c->ids, og__bits_next(c->bits, c->n_nodes, 0), 0};
    struct copying weights = ids;
    void *buffer = NULL;
    int rc;
    (void)arg;
    if (c->n_lists == 0)
        return 0;
    OG_TRY(og__topology_scan(t, copy_run, &ids, err));
    if (!c->weights)
        return 0;
    weights.out = (uint32_t *)(void *)c->weights;
    buffer = og__alloc(c->budget, OG__CHUNK, part, err);
    rc = buffer ? og__npy_stream(&t->disk->of->weights, buffer, copy_weights, &weights, err)
                : -ENOMEM;
out:
    og__release(c->budget, buffer, OG__CHUNK, part);
    return rc;
}

static int mark_all(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err)
{
    const struct og_topology *t = og__neighbors_lists(k, r);
    (void)arg;
    (void)err;
    for (uint64_t v = 0; v < (uint64_t)t->n_nodes; v++)
        if (og__degree(t, (uint32_t)v) > 0)
            og__bits_add(og__neighbors_cache(k, r)->bits, v);
    return 0;
}

/* Ranks lists by out-degree, which needs a scan of all. */
static int choose_best(const struct og_caching *k, struct og_err *err)
{
    struct og_budget *b = k->t->budget;
    const size_t uses_bytes = (size_t)k->t->n_nodes * sizeof(uint32_t);
    const size_t histogram_bytes = RADIX * sizeof(uint64_t);
    struct choosing c = {.left = k->opt.capacity - og__neighbors_least_bytes(k->g)};
    int rc = 0;
    uint32_t *uses = og__alloc(b, uses_bytes, part, err);
    c.uses = uses;
    c.bytes = uses ? og__alloc(b, histogram_bytes, part, err) : NULL;
    if (!c.bytes)
        OG_TRY(-ENOMEM);
    OG_TRY(og__topology_out_degrees(k->t, uses, err));
    OG_TRY(choose(k, &c, err));
out:
    og__release(b, uses, uses_bytes, part);
    og__release(b, c.bytes, histogram_bytes, part);
    return rc;
}

static int build(const struct og_caching *k, struct og_err *err)
{
    const bool all = k->opt.capacity >= og__neighbors_whole_bytes(k->g, k->opt.weights);
    OG_DO(og__neighbors_each(k, og__neighbors_take_nodes, NULL, err));
    OG_DO(all ? og__neighbors_each(k, mark_all, NULL, err) : choose_best(k, err));
    OG_DO(og__neighbors_each(k, og__neighbors_count_marked, NULL, err));
    OG_DO(og__neighbors_each(k, og__neighbors_take_lists, NULL, err));
    return og__neighbors_each(k, copy_lists, NULL, err);
}

/* ---- opening ---- */

static void try_to_save(const struct og_caching *k, uint64_t *written)
{
    struct og_err why = {0};
    if (og__neighbors_write_folder(k, written, &why) < 0)
        og__say(k->opt.log, OG__WARN, "%s; the neighbour cache will be built again next time",
                why.message);
}

int og__neighbors_open(struct og_topology *t, const struct og_graph *g,
                       const struct og_neighbors_options *opt, uint64_t *written,
                       struct og_err *err)
{
    struct og_caching k = {t, g, *opt};
    struct og_err why = {0};
    k.opt.capacity = og__neighbors_bytes(g, opt->weights, opt->capacity);
    if (k.opt.capacity == 0)
        return 0;
    int rc = opt->dir ? og__neighbors_read_folder(&k, &why) : -ENOENT;
    if (rc == 0)
        return 0;
    if (rc == -ENOENT)
        og__say(opt->log, OG__INFO, "building the neighbour cache");
    else if (rc != -ENOMEM)
        og__say(opt->log, OG__WARN, "%s; building the neighbour cache again", why.message);
    else
        og__fail(err, rc, why.hint, "%s", why.message);
    og__neighbors_release(t);
    if (rc != -ENOMEM)
        rc = build(&k, err);
    if (rc < 0)
        og__neighbors_release(t);
    else if (opt->dir)
        try_to_save(&k, written);
    return rc;
}

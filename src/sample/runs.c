#include "sample/runs.h"

#include "sample/kinds.h"

static const char part[] = "sampler";

int og__words_reserve(struct og_words *w, size_t n, struct og_budget *b, struct og_err *err)
{
    if (n <= w->capacity)
        return 0;
    og__words_release(w, b);
    w->data = og__alloc(b, n * sizeof(*w->data), part, err);
    w->capacity = w->data ? n : 0;
    return w->data ? 0 : -ENOMEM;
}

void og__words_release(struct og_words *w, struct og_budget *b)
{
    og__release(b, w->data, w->capacity * sizeof(*w->data), part);
    *w = (struct og_words){0};
}

/* ---- a node's list, as it lies on disk ---- */

struct list {
    const struct og_blocks *in;
    uint64_t begin;       /* byte of the array */
    size_t size;          /* of an element */
    uint32_t first, last; /* blocks */
    uint32_t drawn;
};

static struct list list_of(const struct og_hop *h, uint32_t v)
{
    const struct og_topology *t = h->s->topology;
    const int64_t degree = og__degree(t, v);
    struct list l = {.in = &t->disk->lists,
                     .size = og__npy_size(t->disk->ds->indices.type),
                     .drawn = og__drawn_of(h, degree)};
    l.begin = (uint64_t)og__first_edge(t, v) * l.size;
    if (degree > 0) {
        l.first = og__list_place(l.in, l.begin).block;
        l.last = og__list_place(l.in, l.begin + (uint64_t)degree * l.size - 1).block;
    }
    return l;
}

/* Where the i-th neighbour that is drawn lies. */
static struct og_list_place place_of(const struct list *l, const uint32_t *positions, uint32_t i)
{
    return og__list_place(l->in, l->begin + (uint64_t)(positions ? positions[i] : i) * l->size);
}

static const uint32_t *positions_of(const struct og_hop *h, uint32_t v)
{
    return og__sampler_ops(h->s->how.kind)->positions(h, v);
}

static bool is_cached(const struct og_hop *h, uint32_t v)
{
    return og__neighbors_has(&h->s->topology->disk->cache, v);
}

static void prefetch_node(const struct og_topology *t, uint32_t v)
{
    og__prefetch_degree(t, v);
    if (t->disk->cache.bits)
        __builtin_prefetch(&t->disk->cache.bits[v >> 6]);
}

/* The id of `size` bytes, little endian. */
static uint64_t id_at(const char *at, size_t size)
{
    uint64_t id = 0;
    memcpy(&id, at, size);
    return id;
}

static int bad_id(const struct og_topology *t, struct og_list_place p, struct og_err *err)
{
    const struct og_blocks *lists = &t->disk->lists;
    return og__fail(
        err, -EINVAL, "the dataset is damaged: see `outgrow verify`, or import it again",
        "%s: a node out of range near byte %llu", lists->array->path,
        (unsigned long long)(lists->base + (uint64_t)p.block * OG__LIST_BLOCK + p.within));
}

/* ---- what is wanted ---- */

/* Most are wanted already. */
static void want(struct og_pass *p, uint32_t block)
{
    const uint64_t bit = (uint64_t)1 << (block & 63);
    uint64_t *word = &p->bits[block >> 6];
    if (block < p->wanted.of->n_blocks && !(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

uint32_t og__runs_want(const struct og_hop *h, struct og_pass *p, uint32_t v)
{
    const struct list l = list_of(h, v);
    if (l.drawn == 0 || is_cached(h, v))
        return 0;
    if (l.first == l.last) {
        want(p, l.first);
        return l.drawn;
    }
    const uint32_t *positions = positions_of(h, v);
    for (uint32_t i = 0; i < l.drawn; i++)
        want(p, place_of(&l, positions, i).block);
    return l.drawn;
}

/* ---- from a range ----
 *
 * Where a neighbour lies in the range's memory is known a window before it is looked at. */

struct gathering {
    const struct og_hop *hop;
    const struct og_pass *pass;
    const struct og_range *range;
    const char *at[OG__WINDOW];
    size_t filled, size;
    uint32_t *out;
    uint32_t n;
};

static int take_window(struct gathering *g, struct og_err *err)
{
    const struct og_topology *t = g->hop->s->topology;
    const uint64_t n_nodes = (uint64_t)og__sources(t);
    for (size_t i = 0; i < g->filled; i++) {
        const uint64_t id = id_at(g->at[i], g->size);
        if (OG_UNLIKELY(id >= n_nodes)) {
            const size_t offset = (size_t)(g->at[i] - g->range->data);
            const struct og_list_place p = {g->range->block[offset / OG__LIST_BLOCK],
                                            (uint32_t)(offset % OG__LIST_BLOCK)};
            return bad_id(t, p, err);
        }
        g->out[g->n++] = (uint32_t)id;
    }
    g->filled = 0;
    return 0;
}

static int gather_place(struct gathering *g, struct og_list_place p, struct og_err *err)
{
    const uint32_t before = g->range->number << g->pass->wanted.shift;
    const uint32_t at = og__bits_rank(g->pass->wanted.bits, g->pass->rank, p.block) - before;
    const char *data = g->range->data + (size_t)at * OG__LIST_BLOCK + p.within;
    __builtin_prefetch(data);
    g->at[g->filled++] = data;
    return g->filled == OG__WINDOW ? take_window(g, err) : 0;
}

static int gather_node(struct gathering *g, uint32_t v, struct og_err *err)
{
    const uint32_t low = g->range->block[0], high = g->range->block[g->range->n - 1];
    const struct list l = list_of(g->hop, v);
    if (l.drawn == 0 || l.last < low || l.first > high || is_cached(g->hop, v))
        return 0;
    const uint32_t *positions = positions_of(g->hop, v);
    int rc = 0;
    for (uint32_t i = 0; i < l.drawn; i++) {
        const struct og_list_place p = place_of(&l, positions, i);
        if (p.block >= low && p.block <= high)
            OG_TRY(gather_place(g, p, err));
    }
out:
    return rc;
}

int og__runs_gather(const struct og_hop *h, const struct og_pass *p, const struct og_range *range,
                    const uint32_t *nodes, uint32_t n, uint32_t *out, uint32_t *n_out,
                    struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    struct gathering g = {.hop = h,
                          .pass = p,
                          .range = range,
                          .size = og__npy_size(t->disk->ds->indices.type),
                          .out = out,
                          .n = *n_out};
    int rc;
    for (uint32_t i = 0; i < n; i++) {
        if (i + OG__LOOKAHEAD < n)
            prefetch_node(t, nodes[i + OG__LOOKAHEAD]);
        OG_TRY(gather_node(&g, nodes[i], err));
    }
    OG_TRY(take_window(&g, err));
out:
    *n_out = g.n;
    return rc;
}

/* ---- together again ---- */

struct joining {
    struct og_hop *hop;
    const struct og_pass *pass;
    const uint32_t *drawn;
    uint32_t *cursor;
};

/* Scratch may have been written to by others. */
static int check_ids(const struct og_topology *t, const uint32_t *id, size_t n, struct og_err *err)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = OG_MAX(most, id[i]);
    return most < (uint64_t)og__sources(t)
               ? 0
               : og__fail(err, -EIO, "give this run a --scratch folder of its own",
                          "what was drawn from the structure is not what was spilled");
}

/* The runs of the hop, one behind another. */
static int bring_runs(const struct og_hop *h, const struct og_pass *p, struct og_err *err)
{
    struct og_runs *r = h->s->runs;
    const uint32_t n_ranges = og__ranges_of(&p->wanted);
    size_t n = 0;
    int rc;
    OG_TRY(og__words_reserve(r->cursor, n_ranges, h->s->budget, err));
    for (uint32_t i = 0; i < n_ranges; i++) {
        r->cursor->data[i] = (uint32_t)n;
        n += og__run_of(p, i, r->batch)->n;
    }
    OG_TRY(og__words_reserve(r->drawn, n, h->s->budget, err));
    for (uint32_t i = 0; i < n_ranges; i++) {
        const struct og_run *run = og__run_of(p, i, r->batch);
        OG_TRY(og__spill_read(r->store, run->at, r->drawn->data + r->cursor->data[i],
                              run->n * sizeof(uint32_t), &r->read, err));
    }
    OG_TRY(check_ids(h->s->topology, r->drawn->data, n, err));
out:
    return rc;
}

static uint32_t range_of(const struct joining *j, uint32_t block)
{
    return og__bits_rank(j->pass->wanted.bits, j->pass->rank, block) >> j->pass->wanted.shift;
}

static int join_cached(const struct joining *j, const struct list *l, uint32_t v,
                       struct og_err *err)
{
    const struct og_neighbors *cache = &j->hop->s->topology->disk->cache;
    const uint32_t *ids = cache->ids + og__neighbors_first(cache, v);
    const uint32_t *positions = positions_of(j->hop, v);
    int rc = 0;
    j->hop->s->reads.lists_cached++;
    for (uint32_t i = 0; i < l->drawn; i++)
        OG_TRY(og__push_node(j->hop, ids[positions ? positions[i] : i], err));
out:
    return rc;
}

/* What follows the whole blocks is in memory. */
static int join_tail(const struct joining *j, const struct list *l, struct og_list_place p,
                     struct og_err *err)
{
    const struct og_topology *t = j->hop->s->topology;
    const uint64_t id = id_at(l->in->tail + p.within, l->size);
    return id < (uint64_t)og__sources(t) ? og__push_node(j->hop, (uint32_t)id, err)
                                         : bad_id(t, p, err);
}

static int join_drawn(const struct joining *j, const struct list *l, uint32_t v, struct og_err *err)
{
    const uint32_t *positions = positions_of(j->hop, v);
    int rc = 0;
    for (uint32_t i = 0; i < l->drawn; i++) {
        const struct og_list_place p = place_of(l, positions, i);
        if (p.block == l->in->n_blocks)
            OG_TRY(join_tail(j, l, p, err));
        else
            OG_TRY(og__push_node(j->hop, j->drawn[j->cursor[range_of(j, p.block)]++], err));
    }
out:
    return rc;
}

/* A list in one range is the next of its run, whatever was drawn. */
static int join_node(const struct joining *j, uint32_t v, struct og_err *err)
{
    const struct list l = list_of(j->hop, v);
    int rc = 0;
    if (l.drawn == 0)
        return 0;
    if (is_cached(j->hop, v))
        return join_cached(j, &l, v, err);
    j->hop->s->reads.lists_read++;
    if (l.last == l.in->n_blocks || range_of(j, l.first) != range_of(j, l.last))
        return join_drawn(j, &l, v, err);
    uint32_t *cursor = &j->cursor[range_of(j, l.first)];
    for (uint32_t i = 0; i < l.drawn; i++)
        OG_TRY(og__push_node(j->hop, j->drawn[(*cursor)++], err));
out:
    return rc;
}

int og__runs_hop(struct og_hop *h, struct og_err *err)
{
    const struct og_runs *r = h->s->runs;
    const struct og_topology *t = h->s->topology;
    const struct og_pass *pass = &r->pass[h->number];
    int rc;
    OG_TRY(bring_runs(h, pass, err));
    const struct joining j = {h, pass, r->drawn->data, r->cursor->data};
    for (uint32_t i = h->first; i < h->block->n_dst; i++) {
        if (i + OG__LOOKAHEAD < h->block->n_dst)
            prefetch_node(t, h->ids[i + OG__LOOKAHEAD]);
        og__begin_list(h, i);
        OG_TRY(join_node(&j, h->ids[i], err));
    }
    OG_TRY(og__number_window(h, err));
out:
    return rc;
}

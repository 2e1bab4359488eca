/* Turns the window into positions in the batch, by a table that is cleared for each batch. */
#include "sample/hop.h"

/* ---- node id -> position in the batch ---- */

enum { STRIDE = sizeof(struct og_id_place) };
static const char part[] = "sampler";

int og__fit_table(struct og_sampler *s, uint64_t ids, const uint32_t *known, uint32_t n,
                  struct og_err *err)
{
    size_t size = og__id_table_size(ids);
    if (size <= s->table.size)
        return 0;
    og__id_table_close(&s->table, STRIDE, s->budget, part);
    OG_DO(og__id_table_open(&s->table, size, STRIDE, s->budget, part, err));
    for (uint32_t i = 0; i < n; i++)
        og__id_place(&s->table, known[i], i);
    return 0;
}

/* ---- units of edges ---- */

static int fit_table(struct og_sampler *s, uint64_t units, struct og_err *err)
{
    while (units > og__id_table_room(&s->units))
        OG_DO(og__id_table_grow(&s->units, STRIDE, s->budget, part, err));
    return 0;
}

static int fit_list(struct og_batch_memory *out, size_t more, struct og_err *err)
{
    struct og_batch *b = &out->batch;
    const size_t now = (size_t)b->n_units * sizeof(*b->units);
    const size_t need = now + more * sizeof(*b->units);
    const int rc =
        need > out->units.bytes ? og__batch_grow(out, &out->units, need + need / 4, now, err) : 0;
    b->units = out->units.data;
    return rc;
}

int og__number_edges(struct og_hop *h, uint64_t at, const int64_t *edge, size_t n,
                     struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct og_batch *b = &h->out->batch;
    const struct og_edge_unit of = s->how.edges[h->relation];
    uint32_t *n_units = &s->n_units[h->relation];
    if (of.rows == 0) {
        for (size_t i = 0; i < n; i++)
            h->edge[at + i] = of.places ? (uint32_t)edge[i] : 0;
        return 0;
    }
    OG_DO(fit_table(s, b->n_units + n, err));
    OG_DO(fit_list(h->out, n, err));
    if ((*n_units + n) * of.rows > UINT32_MAX)
        return og__fail(err, -EOVERFLOW, og__too_many_hint, "a batch with more than %u edge rows",
                        UINT32_MAX);
    for (size_t i = 0; i < n; i++)
        og__id_prefetch(&s->units, STRIDE, of.first + (uint32_t)(edge[i] / of.rows));
    for (size_t i = 0; i < n; i++) {
        const uint32_t unit = of.first + (uint32_t)(edge[i] / of.rows);
        const uint32_t number = og__id_place(&s->units, unit, *n_units);
        if (number == *n_units) {
            b->units[b->n_units++] = unit;
            ++*n_units;
        }
        h->edge[at + i] = number * of.rows + (uint32_t)(edge[i] % of.rows);
    }
    return 0;
}

int og__number_places(struct og_hop *h, uint64_t at, int64_t first, const uint32_t *positions,
                      uint32_t n, struct og_err *err)
{
    int64_t edge[OG__WINDOW];
    for (uint32_t done = 0, k; h->edge && done < n; done += k) {
        k = OG_MIN(n - done, (uint32_t)OG__WINDOW);
        for (uint32_t i = 0; i < k; i++)
            edge[i] = first + (positions ? positions[done + i] : done + i);
        OG_DO(og__number_edges(h, at + done, edge, k, err));
    }
    return 0;
}

/* ---- the window ---- */

const char og__too_many_hint[] = "use a smaller --batch or --fanout";

int og__fit_ids(struct og_hop *h, uint64_t drawn, struct og_err *err)
{
    struct og_batch_memory *out = h->out;
    const struct og_batch *b = &out->batch;
    const uint64_t ids = b->n_ids + OG_MIN(drawn, h->most_ids - b->n_ids) + OG__WINDOW;
    const size_t places = (size_t)(b->n_places + drawn + OG__WINDOW) * 4;
    OG_DO(og__batch_grow(out, &out->ids, ids * 4, (size_t)b->n_ids * 4, err));
    if (h->s->trees) {
        OG_DO(og__batch_grow(out, &out->row, places, (size_t)b->n_places * 4, err));
        OG_DO(og__batch_grow(out, &out->node, places, (size_t)b->n_places * 4, err));
    }
    return 0;
}

static bool places_fit(const struct og_hop *h)
{
    const struct og_batch_memory *out = h->out;
    return (out->batch.n_places + h->s->filled) * sizeof(uint32_t) <=
           OG_MIN(out->row.bytes, out->node.bytes);
}

/* The number of a hop's edges may be unknown in advance: then its arrays grow. */
int og__grow_hop(struct og_hop *h, struct og_err *err)
{
    struct og_batch_memory *out = h->out;
    uint64_t now = h->block->n_edges;
    uint64_t most = (now + OG__WINDOW) * 5 / 4;
    if (most > UINT32_MAX)
        return og__fail(err, -EOVERFLOW, og__too_many_hint,
                        "a batch with more than %llu edges in a hop", (unsigned long long)now);
    int rc;
    OG_TRY(og__fit_ids(h, most - now, err));
    OG_TRY(og__batch_grow(out, &out->src[h->array], most * 4, now * 4, err));
    /* by lists from disk, those of the window are written already */
    const uint64_t weights =
        OG_MIN((now + h->s->filled) * 4, (uint64_t)out->weight[h->array].bytes);
    if (h->weight)
        OG_TRY(og__batch_grow(out, &out->weight[h->array], most * 4, weights, err));
    if (h->edge)
        OG_TRY(og__batch_grow(out, &out->edge[h->array], most * 4, now * 4, err));
    h->n_edges = most;
out: /* the array may have moved */
    og__ids_moved(h);
    h->block->src = out->src[h->array].data;
    if (h->weight)
        h->weight = out->weight[h->array].data;
    if (h->edge)
        h->edge = out->edge[h->array].data;
    return rc;
}

/* Room for all that the window might find: in the block, and in the table. */
static inline int make_room(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    int rc = 0;
    bool full = h->block->n_edges + s->filled > h->n_edges ||
                (h->out->batch.n_ids + s->filled) * sizeof(*h->ids) > h->out->ids.bytes ||
                (s->trees && !places_fit(h));
    if (OG_UNLIKELY(full))
        rc = og__grow_hop(h, err);
    if (rc == 0 && s->trees)
        rc = og__trees_fit(s->trees, (uint64_t)h->out->batch.n_places + s->filled, &h->out->batch,
                           err);
    uint64_t ids = h->out->batch.n_ids + s->filled;
    if (rc < 0 || ids <= og__id_table_room(&s->table))
        return rc;
    return og__fit_table(s, 2 * ids, h->ids, h->out->batch.n_ids, err);
}

/* A place for each, and rows for those whose nodes are new to the batch. */
static void number_places(struct og_hop *h)
{
    struct og_sampler *s = h->s;
    struct og_trees *t = s->trees;
    struct og_batch *b = &h->out->batch;
    uint32_t *src = h->block->src + h->block->n_edges;
    for (size_t i = 0; i < s->filled; i++)
        og__tree_prefetch(t, s->node[i], t->window[i]);
    for (size_t i = 0; i < s->filled; i++) {
        const uint32_t node = s->node[i];
        const uint32_t place = og__tree_place(t, node, t->window[i], b->n_places);
        src[i] = place;
        if (place < b->n_places)
            continue;
        const uint32_t row = og__id_place(&s->table, node, b->n_ids);
        t->tree[place] = t->window[i];
        b->node[place] = node;
        b->row[place] = row;
        b->ids[row] = node;
        b->n_ids += row == b->n_ids;
        b->n_places++;
    }
    h->block->n_edges += s->filled;
    s->filled = 0;
}

static inline void number(struct og_hop *h)
{
    struct og_sampler *s = h->s;
    struct og_batch *batch = &h->out->batch;
    if (OG_UNLIKELY(s->trees != NULL)) {
        number_places(h);
        return;
    }
    uint32_t *src = h->block->src + h->block->n_edges;
    uint32_t n_ids = batch->n_ids;
    for (size_t i = 0; i < s->filled; i++) {
        src[i] = og__id_place(&s->table, s->node[i], n_ids);
        h->ids[n_ids] = s->node[i]; /* overwritten unless it was new */
        n_ids += src[i] == n_ids;
    }
    batch->n_ids = n_ids;
    h->block->n_edges += s->filled;
    s->filled = 0;
}

int og__number_window(struct og_hop *h, struct og_err *err)
{
    const struct og_sampler *s = h->s;
    OG_DO(make_room(h, err));
    if (h->edge)
        OG_DO(og__number_edges(h, h->block->n_edges, s->edge, s->filled, err));
    return og__number_nodes(h, err);
}

int og__number_nodes(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    OG_DO(make_room(h, err));
    for (size_t i = 0; i < s->filled; i++)
        og__id_prefetch(&s->table, STRIDE, s->node[i]);
    number(h);
    return 0;
}

/* Data in memory was checked when it was read. */
static int check_window(const struct og_sampler *s, struct og_err *err)
{
    for (size_t i = 0; i < s->filled; i++)
        OG_DO(og__mapped_edges(s->topology, s->edge[i], 1, err));
    return 0;
}

int og__flush_edges(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    OG_DO(make_room(h, err));
    if (OG_UNLIKELY(s->topology->mapped))
        OG_DO(check_window(s, err));
    for (size_t i = 0; i < s->filled; i++) {
        s->node[i] = h->base + og__neighbor(s->topology, s->edge[i]);
        og__id_prefetch(&s->table, STRIDE, s->node[i]);
    }
    for (size_t i = 0; h->weight && i < s->filled; i++)
        h->weight[h->block->n_edges + i] = s->topology->weights[s->edge[i]];
    if (h->edge)
        OG_DO(og__number_edges(h, h->block->n_edges, s->edge, s->filled, err));
    number(h);
    return 0;
}

/* ---- the first nodes ---- */

static int share_graph(struct og_sampler *s, const uint32_t *seeds, uint32_t n,
                       struct og_batch_memory *out, struct og_err *err)
{
    uint32_t *ids = out->batch.ids;
    for (uint32_t i = 0; i < n; i++) {
        if (og__id_place(&s->table, seeds[i], i) != i)
            return og__fail(err, -EINVAL, NULL, "seed %u: node %u is in the batch already", i,
                            seeds[i]);
        ids[i] = seeds[i];
    }
    out->batch.n_ids = n;
    return 0;
}

/* Each is the root of a tree, the same node again too. */
static int plant(struct og_sampler *s, const uint32_t *seeds, uint32_t n,
                 struct og_batch_memory *out, struct og_err *err)
{
    struct og_batch *b = &out->batch;
    const size_t bytes = ((size_t)n + OG__WINDOW) * 4;
    OG_DO(og__batch_grow(out, &out->row, bytes, 0, err));
    OG_DO(og__batch_grow(out, &out->node, bytes, 0, err));
    b->row = out->row.data;
    b->node = out->node.data;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = og__id_place(&s->table, seeds[i], b->n_ids);
        b->ids[row] = b->node[i] = seeds[i];
        b->row[i] = row;
        b->n_ids += row == b->n_ids;
    }
    b->n_places = n;
    return og__trees_begin(s->trees, seeds, n, err);
}

int og__take_seeds(struct og_sampler *s, const uint32_t *seeds, uint32_t n,
                   struct og_batch_memory *out, struct og_err *err)
{
    OG_DO(og__batch_grow(out, &out->ids, ((size_t)n + OG__WINDOW) * 4, 0, err));
    if (n > og__id_table_room(&s->table))
        OG_DO(og__fit_table(s, 2 * (uint64_t)n, NULL, 0, err));
    og__id_table_clear(&s->table, STRIDE);
    out->batch = (struct og_batch){.ids = out->ids.data, .n_seeds = n, .units = out->units.data};
    for (uint32_t i = 0; i < n; i++)
        if (seeds[i] >= s->topology->n_nodes)
            return og__fail(err, -EINVAL, NULL, "seed %u: node %u of a graph of %lld", i, seeds[i],
                            (long long)s->topology->n_nodes);
    OG_DO(s->trees ? plant(s, seeds, n, out, err) : share_graph(s, seeds, n, out, err));
    if (s->how.edges) {
        og__id_table_clear(&s->units, STRIDE);
        memset(s->n_units, 0, s->n_relations * sizeof(*s->n_units));
    }
    return 0;
}

#include "sample/batch_memory.h"

#include <string.h>

int og__batch_grow(struct og_batch_memory *m, struct og_growing *a, size_t bytes, size_t keep,
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
    *a = (struct og_growing){data, bytes};
    return 0;
}

void og__batch_init(struct og_batch_memory *m, struct og_budget *b)
{
    *m = (struct og_batch_memory){.budget = b};
}

/* While the last hop is sampled every edge of it might still find a new node. Nodes of edges that
 * were removed afterwards stay. */
static size_t ids_bytes(const struct og_batch_caps *caps, unsigned extras)
{
    if (caps->n_hops == 0)
        return 0;
    const uint32_t last = caps->n_hops - 1;
    const uint64_t found = caps->hop[og__arrays_at(extras, last)].n_dst + caps->hop[last].n_edges;
    return (OG_MAX(found, caps->hop[last].n_src) + OG__WINDOW) * sizeof(uint32_t);
}

/* While a hop is sampled every edge of it might find a new unit. Units of edges that were removed
 * afterwards stay. */
static size_t units_bytes(const struct og_batch_caps *caps, unsigned extras)
{
    uint64_t edges = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        edges = og__is_part(extras, h, caps->n_hops) ? 0 : edges + caps->hop[h].n_edges;
    edges = OG_MAX(edges + OG__WINDOW, caps->n_units);
    return extras & OG__WITH_EDGES ? edges * sizeof(uint32_t) : 0;
}

/* In a heterogeneous graph, every destination has room for one more list while a relation is
 * sampled. */
static size_t most_lists(const struct og_batch_caps *caps, unsigned extras, uint32_t h)
{
    return caps->hop[h].n_dst + (extras & OG__WITH_RELATIONS ? caps->hop[h].n_lists : 0);
}

static int reserve_relations(struct og_batch_memory *m, const struct og_batch_caps *caps,
                             unsigned extras, uint32_t h, struct og_err *err)
{
    OG_DO(og__batch_grow(m, &m->relation[h], ((size_t)caps->n_relations + 1) * 4, 0, err));
    return og__batch_grow(m, &m->dst[h], most_lists(caps, extras, h) * 4, 0, err);
}

int og__batch_reserve(struct og_batch_memory *m, const struct og_batch_caps *caps, unsigned extras,
                      struct og_err *err)
{
    for (uint32_t h = 0; h < caps->n_hops; h++) {
        const uint32_t at = og__arrays_at(extras, h);
        if ((extras & OG__WITH_DEGREES))
            OG_DO(og__batch_grow(m, &m->degree[h], caps->hop[h].n_src * 4, 0, err));
        if (og__is_part(extras, h, caps->n_hops))
            continue;
        OG_DO(og__batch_grow(m, &m->indptr[at], (most_lists(caps, extras, h) + 1) * 4, 0, err));
        OG_DO(og__batch_grow(m, &m->src[at], caps->hop[h].n_edges * 4, 0, err));
        if ((extras & OG__WITH_WEIGHTS))
            OG_DO(og__batch_grow(m, &m->weight[at], caps->hop[h].n_edges * 4, 0, err));
        if ((extras & OG__WITH_EDGES))
            OG_DO(og__batch_grow(m, &m->edge[at], caps->hop[h].n_edges * 4, 0, err));
        if ((extras & OG__WITH_RELATIONS))
            OG_DO(reserve_relations(m, caps, extras, h, err));
    }
    OG_DO(og__batch_grow(m, &m->ids, ids_bytes(caps, extras), 0, err));
    OG_DO(og__batch_grow(m, &m->units, units_bytes(caps, extras), 0, err));
    if (extras & OG__WITH_TREES) {
        OG_DO(og__batch_grow(m, &m->row, ids_bytes(caps, extras), 0, err));
        OG_DO(og__batch_grow(m, &m->node, ids_bytes(caps, extras), 0, err));
    }
    return 0;
}

size_t og__batch_bytes(const struct og_batch_caps *caps, unsigned extras)
{
    size_t words = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++) {
        words += extras & OG__WITH_DEGREES ? caps->hop[h].n_src : 0;
        if (!og__is_part(extras, h, caps->n_hops))
            words += most_lists(caps, extras, h) + 1 + caps->hop[h].n_edges +
                     (extras & OG__WITH_WEIGHTS ? caps->hop[h].n_edges : 0) +
                     (extras & OG__WITH_EDGES ? caps->hop[h].n_edges : 0);
        if (extras & OG__WITH_RELATIONS)
            words += caps->n_relations + 1 + most_lists(caps, extras, h);
    }
    return words * 4 + units_bytes(caps, extras) +
           ids_bytes(caps, extras) * (extras & OG__WITH_TREES ? 3 : 1);
}

void og__batch_release(struct og_batch_memory *m)
{
    for (int h = 0; h < OG_MAX_HOPS; h++) {
        og__release(m->budget, m->indptr[h].data, m->indptr[h].bytes, "batches");
        og__release(m->budget, m->src[h].data, m->src[h].bytes, "batches");
        og__release(m->budget, m->degree[h].data, m->degree[h].bytes, "batches");
        og__release(m->budget, m->weight[h].data, m->weight[h].bytes, "batches");
        og__release(m->budget, m->edge[h].data, m->edge[h].bytes, "batches");
        og__release(m->budget, m->relation[h].data, m->relation[h].bytes, "batches");
        og__release(m->budget, m->dst[h].data, m->dst[h].bytes, "batches");
    }
    og__release(m->budget, m->ids.data, m->ids.bytes, "batches");
    og__release(m->budget, m->units.data, m->units.bytes, "batches");
    og__release(m->budget, m->row.data, m->row.bytes, "batches");
    og__release(m->budget, m->node.data, m->node.bytes, "batches");
    og__batch_init(m, m->budget);
}

/* Blocks of nodes that sample once share arrays. */
static uint64_t drawn_in(const struct og_batch *batch, uint32_t h)
{
    const struct og_block *block = &batch->hop[h];
    const bool nested = h > 0 && block->src == batch->hop[h - 1].src;
    return block->n_edges - (nested ? batch->hop[h - 1].n_edges : 0);
}

void og__caps_include(struct og_batch_caps *caps, const struct og_batch *batch)
{
    caps->n_hops = OG_MAX(caps->n_hops, batch->n_hops);
    caps->n_units = OG_MAX(caps->n_units, (uint64_t)batch->n_units);
    caps->trees |= batch->row != NULL;
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        const struct og_block *block = &batch->hop[h];
        caps->hop[h].n_dst = OG_MAX(caps->hop[h].n_dst, block->n_dst);
        caps->hop[h].n_src = OG_MAX(caps->hop[h].n_src, block->n_src);
        caps->hop[h].n_edges = OG_MAX(caps->hop[h].n_edges, block->n_edges);
        caps->n_relations = OG_MAX(caps->n_relations, block->n_relations);
        caps->hop[h].n_lists = OG_MAX(caps->hop[h].n_lists, (uint64_t)block->n_lists);
        caps->hop[h].n_drawn = OG_MAX(caps->hop[h].n_drawn, drawn_in(batch, h));
        caps->hop[h].n_seen = OG_MAX(caps->hop[h].n_seen, block->n_seen);
        caps->hop[h].n_listed = OG_MAX(caps->hop[h].n_listed, block->n_listed);
    }
}

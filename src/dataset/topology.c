/* The topology of a graph: the lists of its relations, or of the only one if homogeneous. */
#include "dataset/relation.h"

#include "base/bits.h"
#include "dataset/on_disk.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "topology";

/* Lists of a relation without edges are never read. */
static bool has_edges(const struct og_graph *g, uint32_t r)
{
    return g->relation[r].n_edges > 0;
}

static bool is_reversed(const char *reverse, const char *name)
{
    static const char prefix[] = "rev_";
    const size_t n = sizeof(prefix) - 1;
    return strncmp(reverse, prefix, n) == 0 && strcmp(reverse + n, name) == 0;
}

static uint32_t find_back(const struct og_graph *g, uint32_t r)
{
    const struct og_relation *to = &g->relation[r];
    if (to->source == to->destination)
        return r;
    for (uint32_t q = 0; q < g->n_relations; q++) {
        const struct og_relation *from = &g->relation[q];
        if (from->source == to->destination && from->destination == to->source && has_edges(g, q) &&
            (is_reversed(from->name, to->name) || is_reversed(to->name, from->name)))
            return q;
    }
    return OG__NO_RELATION;
}

static int begin(const struct og_graph *g, struct og_budget *b, struct og_topology *out,
                 struct og_err *err)
{
    *out = (struct og_topology){
        .n_nodes = g->n_nodes, .n_edges = g->n_edges, .n_sources = g->n_nodes, .budget = b};
    const uint32_t n = og__related(g);
    out->relation = n > 0 ? calloc(n, sizeof(*out->relation)) : NULL;
    if (n > 0 && !out->relation)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    for (; out->n_relations < n; out->n_relations++) {
        const struct og_relation *r = &g->relation[out->n_relations];
        out->relation[out->n_relations] =
            (struct og_related_lists){.lists = {.n_nodes = r->n_nodes},
                                      .first = (uint32_t)g->group[r->destination].first,
                                      .first_source = (uint32_t)g->group[r->source].first,
                                      .back = find_back(g, out->n_relations)};
    }
    return 0;
}

static size_t listed_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * sizeof(uint64_t);
}

/* With hundreds of relations, most nodes have lists in few of them. A bit set finds these
 * faster. */
static void mark_listed(const struct og_topology *lists, uint64_t *listed)
{
    memset(listed, 0, listed_bytes((uint64_t)lists->n_nodes));
    for (uint32_t v = 0; v < lists->n_nodes; v++)
        if (og__degree(lists, v) > 0)
            og__bits_add(listed, v);
}

static int find_listed(struct og_topology *t, struct og_err *err)
{
    for (uint32_t r = 0; r < t->n_relations; r++) {
        struct og_related_lists *of = &t->relation[r];
        if (of->lists.n_edges == 0)
            continue;
        uint64_t *listed =
            og__alloc(t->budget, listed_bytes((uint64_t)of->lists.n_nodes), part, err);
        if (!listed)
            return -ENOMEM;
        mark_listed(&of->lists, listed);
        of->listed = listed;
    }
    return 0;
}

/* ---- in memory ---- */

static void release_lists(struct og_topology *t)
{
    og__topology_close_disk(t);
    og__loops_release(t);
    og__relation_release(t);
}

void og__topology_unload(struct og_topology *t)
{
    for (uint32_t r = 0; r < t->n_relations && !t->shared.of; r++) {
        struct og_related_lists *of = &t->relation[r];
        const int64_t n_nodes = of->lists.n_nodes;
        og__release(t->budget, (void *)of->listed, listed_bytes((uint64_t)n_nodes), part);
        release_lists(&of->lists);
        *of = (struct og_related_lists){.lists = {.n_nodes = n_nodes},
                                        .first = of->first,
                                        .first_source = of->first_source,
                                        .back = of->back};
    }
    if (!t->relation) {
        struct og_budget *b = t->budget;
        og__topology_release(t);
        t->budget = b;
    }
}

bool og__topology_is_loaded(const struct og_topology *t)
{
    bool any = t->indptr || (t->relation && t->n_edges == 0);
    for (uint32_t r = 0; t->relation && r < t->n_relations; r++)
        any |= t->relation[r].lists.n_edges > 0;
    return t->stored ? og__stored_is_loaded(t) : any;
}

int og__topology_reload(const struct og_graph *g, enum og_weights weights, struct og_topology *t,
                        struct og_err *err)
{
    int rc = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (has_edges(g, r))
            OG_TRY(og__relation_load(&g->relation[r], t->budget, og__relation_lists(t, r), err));
    OG_TRY(find_listed(t, err));
    for (uint32_t r = 0; r < g->n_relations && weights != OG__NO_WEIGHTS; r++)
        if (has_edges(g, r))
            OG_TRY(
                og__relation_load_weights(&g->relation[r], weights, og__relation_lists(t, r), err));
out:
    return rc;
}

int og__topology_load(const struct og_graph *g, enum og_weights weights, struct og_budget *b,
                      struct og_topology *out, struct og_err *err)
{
    int rc;
    OG_TRY(begin(g, b, out, err));
    OG_TRY(og__topology_reload(g, weights, out, err));
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

/* ---- in memory that processes share ---- */

/* Layout for relations with edges: the lists and, if heterogeneous, a bit a node with a list. */
static size_t listed_at(const struct og_relation *r, enum og_weights weights)
{
    return og__round_up(og__relation_placed_bytes(r, weights), 64);
}

/* Bytes of the bits; 0 if homogeneous. */
static size_t listed_of(const struct og_relation *r)
{
    const bool marked = og__related(r->graph) > 0 && r->n_edges > 0;
    return marked ? listed_bytes((uint64_t)r->n_nodes) : 0;
}

static size_t placed_bytes(const struct og_relation *r, enum og_weights weights)
{
    return r->n_edges > 0 ? listed_at(r, weights) + og__round_up(listed_of(r), 64) : 0;
}

static size_t all_placed_bytes(const struct og_graph *g, enum og_weights weights)
{
    size_t bytes = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        bytes += placed_bytes(&g->relation[r], weights);
    return bytes;
}

static size_t own_part(size_t bytes, int n_processes)
{
    const size_t n = (size_t)OG_MAX(n_processes, 1);
    return (bytes + n - 1) / n;
}

size_t og__topology_part_bytes(const struct og_graph *g, enum og_weights weights, int n_processes)
{
    return own_part(all_placed_bytes(g, weights), n_processes);
}

struct filling {
    const struct og_graph *graph;
    struct og_budget *budget;
    enum og_weights weights;
};

static int fill(void *arg, void *to, struct og_err *err)
{
    const struct filling *f = arg;
    const struct og_graph *g = f->graph;
    char *at = to;
    int rc = 0;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *of = &g->relation[r];
        struct og_topology lists = {0};
        if (!has_edges(g, r))
            continue;
        OG_TRY(og__relation_fill(of, f->weights, f->budget, at, err));
        og__relation_place(of, f->weights, at, &lists);
        if (listed_of(of) > 0)
            mark_listed(&lists, (uint64_t *)(void *)(at + listed_at(of, f->weights)));
        at += placed_bytes(of, f->weights);
    }
out:
    return rc;
}

static void place(const struct og_graph *g, enum og_weights weights, struct og_topology *t)
{
    const char *at = t->shared.at;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *of = &g->relation[r];
        if (!has_edges(g, r))
            continue;
        og__relation_place(of, weights, at, og__relation_lists(t, r));
        if (t->relation)
            t->relation[r].listed = (const uint64_t *)(const void *)(at + listed_at(of, weights));
        at += placed_bytes(of, weights);
    }
}

static int take(struct og_topology *t, const struct og_sharing *with,
                const struct og_shared_memory_part *wanted, struct og_err *err)
{
    const size_t charged = own_part(wanted->bytes, with->n);
    int rc = og__budget_charge(t->budget, charged, part, err);
    if (rc < 0)
        return rc;
    rc = og__shared_memory_take(with->shared_memory, wanted, &t->shared, err);
    if (rc < 0)
        og__budget_uncharge(t->budget, charged, part);
    else
        t->charged = charged;
    return rc;
}

int og__topology_share(const struct og_graph *g, enum og_weights weights,
                       const struct og_sharing *with, struct og_budget *b, struct og_topology *out,
                       struct og_err *err)
{
    struct filling f = {g, b, weights};
    const struct og_shared_memory_part wanted = {.key = g->lists * 3 + weights,
                                                 .bytes = all_placed_bytes(g, weights),
                                                 .fill = fill,
                                                 .arg = &f};
    int rc;
    OG_TRY(begin(g, b, out, err));
    OG_TRY(take(out, with, &wanted, err));
    place(g, weights, out);
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

/* ---- on disk, mapped ---- */

struct og_topology_disk_options og__relation_on_disk(const struct og_relation *r,
                                                     const struct og_topology_disk_options *opt)
{
    enum { STAGING = 8 * OG_MIB, REQUEST = 64 * OG_KIB, LEAST_DEPTH = 4, FEW = 4 };
    struct og_topology_disk_options own = *opt;
    const double edges = (double)r->n_edges / (double)r->graph->n_edges;
    const double share = OG_MIN(FEW * edges, 1.0); /* of the reader's depth */
    const int depth = opt->reader.depth > 0 ? opt->reader.depth : opt->reader.profile.depth;
    if (og__related(r->graph) == 0)
        return own;
    own.staging_bytes = OG_MAX((size_t)(STAGING * edges), (size_t)1); /* 0 is the usual */
    own.reader.depth = OG_MAX((int)(depth * share), OG_MIN(depth, LEAST_DEPTH));
    own.reader.threads = OG_MAX((int)(og__reader_threads(&opt->reader) * edges), 1);
    if (r->graph->n_relations > FEW)
        own.reader.max_request = REQUEST;
    return own;
}

int og__topology_open_disk(const struct og_graph *g, const struct og_topology_disk_options *opt,
                           struct og_budget *b, struct og_topology *out, struct og_err *err)
{
    int rc;
    OG_TRY(begin(g, b, out, err));
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_topology_disk_options own = og__relation_on_disk(&g->relation[r], opt);
        if (has_edges(g, r))
            OG_TRY(
                og__relation_open_disk(&g->relation[r], &own, b, og__relation_lists(out, r), err));
    }
    OG_TRY(find_listed(out, err));
    OG_TRY(og__stored_open(g, opt, out, err));
    OG_TRY(og__neighbors_load(out, err));
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

int og__topology_map(const struct og_graph *g, struct og_topology *out, struct og_err *err)
{
    int rc;
    OG_TRY(begin(g, NULL, out, err));
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (has_edges(g, r))
            OG_TRY(og__relation_map(&g->relation[r], og__relation_lists(out, r), err));
    out->mapped = g->relation;
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

void og__topology_release(struct og_topology *t)
{
    if (!t)
        return;
    og__stored_close(t);
    if (t->relation)
        og__topology_unload(t);
    free(t->relation);
    if (t->shared.of) {
        og__loops_release(t);
        og__shared_memory_give(&t->shared);
        og__budget_uncharge(t->budget, t->charged, part);
    } else {
        release_lists(t);
    }
    *t = (struct og_topology){0};
}

/* ---- sizes ---- */

static size_t sum(const struct og_graph *g, size_t (*of)(const struct og_relation *))
{
    size_t bytes = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        bytes += of(&g->relation[r]);
    return bytes;
}

size_t og__topology_bytes(const struct og_graph *g, enum og_weights weights)
{
    size_t bytes = sum(g, og__relation_bytes) + sum(g, listed_of);
    for (uint32_t r = 0; r < g->n_relations; r++)
        bytes += og__relation_weights_bytes(&g->relation[r], weights);
    return bytes;
}

size_t og__topology_offsets_bytes(const struct og_graph *g)
{
    return sum(g, og__relation_disk_bytes);
}

size_t og__topology_disk_bytes(const struct og_graph *g)
{
    return og__topology_offsets_bytes(g) + sum(g, listed_of) +
           og__related(g) * sizeof(struct og_topology_disk);
}

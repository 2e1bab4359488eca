#include "dataset/relations.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

/* One without edges is never looked at. */
static bool has_edges(const struct og_typed *g, uint32_t r)
{
    return g->relation[r].view.n_edges > 0;
}

static int begin(const struct og_typed *g, struct og_budget *b, struct og_topology *out,
                 struct og_err *err)
{
    *out =
        (struct og_topology){.n_nodes = g->nodes.n_nodes, .n_edges = g->nodes.n_edges, .budget = b};
    out->relation = calloc(g->n_relations, sizeof(*out->relation));
    if (!out->relation)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->nodes.path);
    for (; out->n_relations < g->n_relations; out->n_relations++) {
        const struct og_relation *r = &g->relation[out->n_relations];
        out->relation[out->n_relations] =
            (struct og_related_lists){.lists = {.n_nodes = r->view.n_nodes},
                                      .first = (uint32_t)g->type[r->destination].first,
                                      .first_source = (uint32_t)g->type[r->source].first};
    }
    return 0;
}

static size_t listed_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * sizeof(uint64_t);
}

/* Of hundreds of relations most nodes have lists of a few: who looks for them looks at bits. */
static int find_listed(struct og_topology *t, struct og_err *err)
{
    for (uint32_t r = 0; r < t->n_relations; r++) {
        struct og_related_lists *of = &t->relation[r];
        const size_t bytes = listed_bytes(of->lists.n_nodes);
        if (of->lists.n_edges == 0)
            continue;
        of->listed = og__alloc(t->budget, bytes, "topology", err);
        if (!of->listed)
            return -ENOMEM;
        memset(of->listed, 0, bytes);
        for (uint32_t v = 0; v < of->lists.n_nodes; v++)
            if (og__degree(&of->lists, v) > 0)
                og__bits_add(of->listed, v);
    }
    return 0;
}

void og__relations_unload(struct og_topology *t)
{
    for (uint32_t r = 0; r < t->n_relations; r++) {
        struct og_related_lists *of = &t->relation[r];
        const int64_t n_nodes = of->lists.n_nodes;
        og__release(t->budget, of->listed, listed_bytes((uint64_t)n_nodes), "topology");
        og__topology_release(&of->lists);
        *of = (struct og_related_lists){
            .lists = {.n_nodes = n_nodes}, .first = of->first, .first_source = of->first_source};
    }
}

bool og__relations_are_loaded(const struct og_topology *t)
{
    bool any = t->n_edges == 0;
    for (uint32_t r = 0; r < t->n_relations; r++)
        any |= t->relation[r].lists.n_edges > 0;
    return any;
}

void og__relations_release(struct og_topology *t)
{
    og__relations_unload(t);
    free(t->relation);
}

int og__relations_reload(const struct og_typed *g, struct og_topology *t, struct og_err *err)
{
    int rc = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (has_edges(g, r))
            OG_TRY(og__topology_load(&g->relation[r].view, t->budget, &t->relation[r].lists, err));
    rc = find_listed(t, err);
out:
    return rc;
}

int og__relations_load(const struct og_typed *g, struct og_budget *b, struct og_topology *out,
                       struct og_err *err)
{
    int rc;
    OG_TRY(begin(g, b, out, err));
    OG_TRY(og__relations_reload(g, out, err));
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

int og__relations_load_weights(const struct og_typed *g, struct og_topology *t, struct og_err *err)
{
    int rc = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (has_edges(g, r))
            OG_TRY(og__weights_load(&g->relation[r].view, &t->relation[r].lists, err));
out:
    return rc;
}

struct og_topology_disk_options og__relation_on_disk(const struct og_typed *g, uint32_t r,
                                                     const struct og_topology_disk_options *opt)
{
    enum { STAGING = 8 * OG_MIB, REQUEST = 64 * OG_KIB, LEAST_DEPTH = 4, FEW = 4 };
    struct og_topology_disk_options own = *opt;
    const double edges = (double)g->relation[r].view.n_edges / (double)g->nodes.n_edges;
    const double share = OG_MIN(FEW * edges, 1.0); /* of what is asked for at a time */
    const int depth = opt->reader.depth > 0 ? opt->reader.depth : opt->reader.profile.depth;
    own.staging_bytes = OG_MAX((size_t)(STAGING * edges), (size_t)1); /* 0 is the usual */
    own.reader.depth = OG_MAX((int)(depth * share), OG_MIN(depth, LEAST_DEPTH));
    own.reader.threads = OG_MAX((int)(og__reader_threads(&opt->reader) * edges), 1);
    if (g->n_relations > FEW)
        own.reader.max_request = REQUEST;
    return own;
}

static int open_on_disk(const struct og_typed *g, uint32_t r,
                        const struct og_topology_disk_options *opt, struct og_budget *b,
                        struct og_topology *out, struct og_err *err)
{
    const struct og_topology_disk_options own = og__relation_on_disk(g, r, opt);
    return og__topology_open_disk(&g->relation[r].view, &own, b, out, err);
}

int og__relations_open_disk(const struct og_typed *g, const struct og_topology_disk_options *opt,
                            struct og_budget *b, struct og_topology *out, struct og_err *err)
{
    int rc;
    OG_TRY(begin(g, b, out, err));
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (has_edges(g, r))
            OG_TRY(open_on_disk(g, r, opt, b, &out->relation[r].lists, err));
    rc = find_listed(out, err);
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

int og__relations_map(const struct og_typed *g, struct og_topology *out, struct og_err *err)
{
    int rc;
    OG_TRY(begin(g, NULL, out, err));
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (has_edges(g, r))
            OG_TRY(og__topology_map(&g->relation[r].view, &out->relation[r].lists, err));
    out->mapped = &g->nodes;
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

/* ---- sizes ---- */

static size_t sum(const struct og_typed *g, size_t (*of)(const struct og_dataset *))
{
    size_t bytes = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        bytes += of(&g->relation[r].view);
    return bytes;
}

static size_t listed_of(const struct og_dataset *relation)
{
    return relation->n_edges > 0 ? listed_bytes(relation->n_nodes) : 0;
}

size_t og__relations_bytes(const struct og_typed *g)
{
    return sum(g, og__topology_bytes) + sum(g, listed_of);
}

size_t og__relations_weights_bytes(const struct og_typed *g)
{
    return sum(g, og__weights_bytes);
}

size_t og__relations_disk_bytes(const struct og_typed *g)
{
    return sum(g, og__topology_disk_bytes) + sum(g, listed_of) +
           g->n_relations * sizeof(struct og_topology_disk);
}

#include "dataset/relations.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

/* One without edges is never looked at. */
static bool has_edges(const struct og_typed *g, uint32_t r)
{
    return g->relation[r].view.n_edges > 0;
}

static bool is_reversed(const char *reverse, const char *name)
{
    static const char prefix[] = "rev_";
    const size_t n = sizeof(prefix) - 1;
    return strncmp(reverse, prefix, n) == 0 && strcmp(reverse + n, name) == 0;
}

static uint32_t find_back(const struct og_typed *g, uint32_t r)
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
                                      .first_source = (uint32_t)g->type[r->source].first,
                                      .back = find_back(g, out->n_relations)};
    }
    return 0;
}

static size_t listed_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * sizeof(uint64_t);
}

/* Of hundreds of relations most nodes have lists of a few: who looks for them looks at bits. */
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
            og__alloc(t->budget, listed_bytes((uint64_t)of->lists.n_nodes), "topology", err);
        if (!listed)
            return -ENOMEM;
        mark_listed(&of->lists, listed);
        of->listed = listed;
    }
    return 0;
}

void og__relations_unload(struct og_topology *t)
{
    for (uint32_t r = 0; r < t->n_relations && !t->shared.of; r++) {
        struct og_related_lists *of = &t->relation[r];
        const int64_t n_nodes = of->lists.n_nodes;
        og__release(t->budget, (void *)of->listed, listed_bytes((uint64_t)n_nodes), "topology");
        og__topology_release(&of->lists);
        *of = (struct og_related_lists){.lists = {.n_nodes = n_nodes},
                                        .first = of->first,
                                        .first_source = of->first_source,
                                        .back = of->back};
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

/* ---- in memory that processes share ---- */

/* One behind the other, of relations that have edges: lists, and which nodes have one. */
static size_t listed_at(const struct og_dataset *relation, bool weighs)
{
    return og__round_up(og__topology_placed_bytes(relation, weighs), 64);
}

static size_t placed_bytes(const struct og_dataset *relation, bool weighs)
{
    return listed_at(relation, weighs) +
           og__round_up(listed_bytes((uint64_t)relation->n_nodes), 64);
}

static size_t all_placed_bytes(const struct og_typed *g, bool weighs)
{
    size_t bytes = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        bytes += has_edges(g, r) ? placed_bytes(&g->relation[r].view, weighs) : 0;
    return bytes;
}

struct filling {
    const struct og_typed *typed;
    struct og_budget *budget;
    bool weighs;
};

static int fill(void *arg, void *to, struct og_err *err)
{
    const struct filling *f = arg;
    char *at = to;
    int rc = 0;
    for (uint32_t r = 0; r < f->typed->n_relations; r++) {
        const struct og_dataset *of = &f->typed->relation[r].view;
        if (!has_edges(f->typed, r))
            continue;
        OG_TRY(og__topology_fill(of, f->weighs, f->budget, at, err));
        const struct og_topology lists = og__topology_at(of, f->weighs, at);
        mark_listed(&lists, (uint64_t *)(void *)(at + listed_at(of, f->weighs)));
        at += placed_bytes(of, f->weighs);
    }
out:
    return rc;
}

static void place(const struct og_typed *g, bool weighs, struct og_topology *t)
{
    const char *at = t->shared.at;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_dataset *of = &g->relation[r].view;
        if (!has_edges(g, r))
            continue;
        t->relation[r].lists = og__topology_at(of, weighs, at);
        t->relation[r].listed = (const uint64_t *)(const void *)(at + listed_at(of, weighs));
        at += placed_bytes(of, weighs);
    }
}

int og__relations_share(const struct og_typed *g, bool weighs, const struct og_sharers *with,
                        struct og_budget *b, struct og_topology *out, struct og_err *err)
{
    struct filling f = {g, b, weighs};
    const struct og_common_part wanted = {.key = g->contents * 3 + weighs,
                                          .bytes = all_placed_bytes(g, weighs),
                                          .fill = fill,
                                          .arg = &f};
    int rc;
    OG_TRY(begin(g, b, out, err));
    OG_TRY(og__topology_take(out, with, &wanted, err));
    place(g, weighs, out);
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

/* ---- on disk, mapped ---- */

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

size_t og__relations_part_bytes(const struct og_typed *g, bool weighs, int sharers)
{
    const size_t n = (size_t)OG_MAX(sharers, 1);
    return (all_placed_bytes(g, weighs) + n - 1) / n;
}

size_t og__relations_disk_bytes(const struct og_typed *g)
{
    return sum(g, og__topology_disk_bytes) + sum(g, listed_of) +
           g->n_relations * sizeof(struct og_topology_disk);
}

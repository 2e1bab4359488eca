/* GraphBolt's OnDiskDataset with types: graph.nodes with a type each, graph.edges with
 * "source:name:destination", features and sets with the type that they are of.
 *
 * The type of the sets becomes the first, the others follow in the file's order; so do relations.
 */
#include "dataset/import/graphbolt.h"

#include <string.h>

static const char edge_hint[] = "types of edges are source:name:destination, of types of nodes";

static int add_type(struct og_bolt *b, const struct og_gb_nodes *n, struct og_err *err)
{
    if (!og__gb_typed(n->type))
        return og__bolt_wrong(b, "all types of nodes have names, or there is one without",
                              "nodes without a type among several: ", n->type, err);
    return og__schema_add_group(&b->imp->graph, n->type, n->num, b->imp->src, err);
}

static bool is_labelled(const struct og_bolt *b, const struct og_gb_nodes *n)
{
    return b->labelled && n->type && strcmp(n->type, b->labelled) == 0;
}

static int add_types(struct og_bolt *b, struct og_err *err)
{
    const struct og_gb_graph *g = &b->meta->graph;
    int rc = 0;
    for (unsigned i = 0; i < g->n_nodes; i++)
        if (is_labelled(b, &g->nodes[i]))
            OG_TRY(add_type(b, &g->nodes[i], err));
    if (b->labelled && b->imp->graph.n_groups == 0)
        OG_TRY(og__bolt_wrong(b, "sets are of one of graph.nodes", "a set of type ", b->labelled,
                              err));
    for (unsigned i = 0; i < g->n_nodes; i++)
        if (!is_labelled(b, &g->nodes[i]))
            OG_TRY(add_type(b, &g->nodes[i], err));
out:
    return rc;
}

/* "author:writes:paper" */
static int add_relation(struct og_bolt *b, const char *type, struct og_err *err)
{
    char text[3 * (OG__TYPE_NAME_MAX + 1) + 1];
    if (!og__gb_typed(type) || strlen(type) >= sizeof(text))
        return og__bolt_wrong(b, edge_hint, "edges of type ", type, err);
    snprintf(text, sizeof(text), "%s", type);
    char *name = strchr(text, ':');
    char *to = name ? strchr(name + 1, ':') : NULL;
    if (!to)
        return og__bolt_wrong(b, edge_hint, "edges of type ", type, err);
    *name++ = *to++ = 0;
    const int source = og__schema_find(&b->imp->graph, text);
    const int destination = og__schema_find(&b->imp->graph, to);
    if (source < 0 || destination < 0)
        return og__bolt_wrong(b, edge_hint, "edges of type ", type, err);
    return og__schema_add_relation(&b->imp->graph, (uint32_t)source, name, (uint32_t)destination,
                                   b->imp->src, err);
}

static int import_edges(struct og_bolt *b, struct og_err *err)
{
    const struct og_gb_graph *g = &b->meta->graph;
    int rc = 0;
    for (unsigned i = 0; i < g->n_edges; i++)
        OG_TRY(add_relation(b, g->edges[i].type, err));
    OG_TRY(og__import_settle(b->imp, err));
    OG_TRY(og__import_take_piece(b->imp, err));
    OG_TRY(og__import_open_edges(b->imp, false, -1, err));
    for (unsigned i = 0; i < g->n_edges; i++) {
        OG_TRY(og__bolt_edges(b, &g->edges[i], err));
        OG_TRY(og__import_relation(b->imp, i, &b->edges, err));
        og__edges_close(&b->edges);
    }
    OG_TRY(og__import_close_edges(b->imp, err));
out:
    return rc;
}

static int import_features(struct og_bolt *b, struct og_err *err)
{
    int rc = 0;
    for (uint32_t t = 0; t < b->imp->graph.n_groups; t++) {
        OG_TRY(og__bolt_features(b, b->imp->graph.group[t].name, &b->features, err));
        OG_TRY(og__import_features(b->imp, t, b->features, NULL, err));
        og__table_close(b->features);
        b->features = NULL;
    }
out:
    return rc;
}

/* The sets' type is the first, so its ids are those of the whole. */
static int import_sets(struct og_bolt *b, struct og_err *err)
{
    int rc;
    OG_TRY(og__bolt_sets(b, err));
    for (int s = 0; s < 3; s++)
        if (b->seeds[s])
            OG_TRY(og__import_split(b->imp, b->seeds[s], b->imp->graph.group->n_nodes,
                                    og__bolt_splits[s], err));
    OG_TRY(og__bolt_labels(b, err));
out:
    return rc;
}

static int import_all(struct og_bolt *b, struct og_err *err)
{
    int rc;
    OG_TRY(add_types(b, err));
    OG_TRY(import_edges(b, err));
    OG_TRY(import_features(b, err));
    OG_TRY(import_sets(b, err));
out:
    return rc;
}

int og__import_bolt_typed(struct og_bolt *b, struct og_err *err)
{
    if (b->imp->opt->drop_types)
        return og__fail(err, -ENOTSUP, "leave out --drop-types",
                        "%s: --drop-types: nodes of types have files of their own", b->imp->src);
    for (int s = 0; b->task && s < 3 && !b->labelled; s++)
        if (b->task->n_sets[s] > 0 && og__gb_typed(b->task->set[s]->type))
            b->labelled = b->task->set[s]->type;
    int rc = og__import_with_types(b->imp, err);
    if (rc == 0)
        rc = import_all(b, err);
    return rc;
}

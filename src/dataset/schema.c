#include "dataset/schema.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups and relations ---- */

int og__schema_init(struct og_graph *g, struct og_err *err)
{
    *g = (struct og_graph){0};
    g->group = calloc(OG_MOST_TYPES, sizeof(*g->group));
    g->relation = calloc(OG_MOST_RELATIONS, sizeof(*g->relation));
    g->meta = json_array(); /* owns the names */
    if (g->group && g->relation && g->meta)
        return 0;
    og__schema_release(g);
    return og__fail_errno(err, -ENOMEM, NULL, "types");
}

void og__schema_release(struct og_graph *g)
{
    free(g->group);
    free(g->relation);
    json_decref(g->meta);
    *g = (struct og_graph){0};
}

int og__schema_find(const struct og_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_groups; i++)
        if (strcmp(g->group[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int copy_name(struct og_graph *g, const char *name, const char *said_by, const char **copy,
                     struct og_err *err)
{
    json_t *text = json_string(name);
    const int rc = og__check_type_name(name, said_by, err);
    *copy = json_string_value(text);
    if (json_array_append_new(g->meta, text) == 0 || rc < 0)
        return rc;
    return og__fail_errno(err, -ENOMEM, NULL, "%s", said_by);
}

static void put_group(struct og_graph *g, const char *name, int64_t n_nodes)
{
    g->group[g->n_groups++] =
        (struct og_group){.graph = g, .name = name, .first = g->n_nodes, .n_nodes = n_nodes};
    g->n_nodes += n_nodes;
}

static void put_relation(struct og_graph *g, uint32_t source, const char *name,
                         uint32_t destination)
{
    g->relation[g->n_relations++] = (struct og_relation){.graph = g,
                                                         .name = name,
                                                         .source = source,
                                                         .destination = destination,
                                                         .n_nodes = g->group[destination].n_nodes,
                                                         .n_sources = g->group[source].n_nodes};
}

static void put_one(struct og_graph *g, int64_t n_nodes, bool named)
{
    g->has_types = named;
    g->n_groups = g->n_relations = 0;
    g->n_nodes = 0;
    put_group(g, named ? "node" : "", n_nodes);
    put_relation(g, 0, named ? "to" : "", 0);
}

void og__schema_plain(struct og_graph *g, int64_t n_nodes)
{
    put_one(g, n_nodes, false);
}

void og__schema_single(struct og_graph *g, int64_t n_nodes)
{
    put_one(g, n_nodes, true);
}

int og__schema_add_group(struct og_graph *g, const char *name, int64_t n_nodes, const char *said_by,
                         struct og_err *err)
{
    const char *copy;
    OG_DO(copy_name(g, name, said_by, &copy, err));
    if (og__schema_find(g, name) >= 0)
        return og__fail(err, -EINVAL, "types have names of their own", "%s: type '%s' twice",
                        said_by, name);
    if (n_nodes < 1 || n_nodes >= UINT32_MAX - 1)
        return og__fail(err, -EINVAL, "a type has 1 to 4294967293 nodes; number types without gaps",
                        "%s: type '%s': %lld nodes", said_by, name, (long long)n_nodes);
    if (g->n_groups == OG_MOST_TYPES)
        return og__fail(err, -EINVAL, "256 types at most", "%s: too many types of nodes", said_by);
    g->has_types = true;
    put_group(g, copy, n_nodes);
    return 0;
}

int og__schema_add_relation(struct og_graph *g, uint32_t source, const char *name,
                            uint32_t destination, const char *said_by, struct og_err *err)
{
    const char *copy;
    OG_DO(copy_name(g, name, said_by, &copy, err));
    for (uint32_t i = 0; i < g->n_relations; i++) {
        const struct og_relation *r = &g->relation[i];
        if (r->source == source && r->destination == destination && strcmp(r->name, name) == 0)
            return og__fail(err, -EINVAL, "relations differ in source, name or destination",
                            "%s: relation '%s' from '%s' to '%s' twice", said_by, name,
                            g->group[source].name, g->group[destination].name);
    }
    if (g->n_relations == OG_MOST_RELATIONS)
        return og__fail(err, -EINVAL, "1024 relations at most, reverses among them",
                        "%s: too many relations", said_by);
    put_relation(g, source, copy, destination);
    return 0;
}

static int add_reverses(struct og_graph *g, const char *said_by, struct og_err *err)
{
    const uint32_t n = g->n_relations;
    for (uint32_t i = 0; i < n; i++) {
        const struct og_relation *r = &g->relation[i];
        char name[OG__TYPE_NAME_MAX + 8];
        snprintf(name, sizeof(name), "rev_%s", r->name);
        OG_DO(og__schema_add_relation(g, r->destination, name, r->source, said_by, err));
    }
    return 0;
}

int64_t og__schema_lists(const struct og_graph *g)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < g->n_relations; i++)
        n += g->relation[i].n_nodes;
    return n;
}

int og__schema_resolve(struct og_graph *g, bool reverses, const char *said_by, struct og_err *err)
{
    int rc = reverses ? add_reverses(g, said_by, err) : 0;
    if (rc < 0 || (g->n_nodes < UINT32_MAX - 1 && og__schema_lists(g) < UINT32_MAX - 1))
        return rc;
    return og__fail(err, -EINVAL, "fewer than 2^32 - 1 of each",
                    "%s: %lld nodes, %lld lists of all relations", said_by, (long long)g->n_nodes,
                    (long long)og__schema_lists(g));
}

/* ---- meta.json ---- */

json_t *og__schema_with_form(json_t *root, const struct og_sparse_rows *form)
{
    if (form->room == 0)
        return root;
    root = og__json_with(root, "feature_entries", json_integer(form->room));
    return og__json_with(root, "feature_entries_most", json_integer(form->longest));
}

static json_t *groups_json(const struct og_graph *g)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < g->n_groups; i++) {
        const struct og_group *of = &g->group[i];
        json_t *one = json_pack("{s:s s:I}", "name", of->name, "count", (json_int_t)of->n_nodes);
        if (of->dim > 0) {
            one = og__json_with(one, "feature_dim", json_integer(of->dim));
            one = og__json_with(one, "feature_dtype", json_string(og__dtype_name(of->stored)));
            one = og__schema_with_form(one, &of->sparse);
        }
        list = og__json_append(list, one);
    }
    return list;
}

json_t *og__schema_with_edges(json_t *root, const struct og_relation *r)
{
    if (r->edges.dim == 0)
        return root;
    root = og__json_with(root, "edge_feature_dim", json_integer(r->edges.dim));
    return og__json_with(root, "edge_feature_dtype", json_string(og__dtype_name(r->edges.stored)));
}

static json_t *relations_json(const struct og_graph *g)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < g->n_relations; i++) {
        const struct og_relation *r = &g->relation[i];
        json_t *one = json_pack("{s:s s:s s:s s:I}", "source", g->group[r->source].name, "name",
                                r->name, "destination", g->group[r->destination].name, "num_edges",
                                (json_int_t)r->n_edges);
        list = og__json_append(list, og__schema_with_edges(one, r));
    }
    return list;
}

json_t *og__schema_plain_json(const struct og_graph *g)
{
    json_t *root = json_pack("{s:i s:s}", "feature_dim", g->group->dim, "feature_dtype",
                             og__dtype_name(g->group->stored));
    root = og__schema_with_form(root, &g->group->sparse);
    root = og__schema_with_edges(root, g->relation);
    return g->symmetric ? og__json_with(root, "symmetric", json_true()) : root;
}

json_t *og__schema_typed_json(const struct og_graph *g)
{
    return json_pack("{s:o s:o}", "node_types", groups_json(g), "relations", relations_json(g));
}

json_t *og__schema_json(const struct og_graph *g)
{
    const struct og_form *form = og__form_of(g);
    return og__json_joined(json_pack("{s:i s:I s:I}", "format", form->format, "num_nodes",
                                     (json_int_t)g->n_nodes, "num_edges", (json_int_t)g->n_edges),
                           form->schema(g));
}

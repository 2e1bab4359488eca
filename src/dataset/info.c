/* og_info: what a dataset is, and what of it fits in which memory. */
#include "base/hex.h"
#include "dataset/files.h"
#include "dataset/node_names.h"
#include "dataset/relation.h"
#include "dataset/schema.h"
#include "dataset/stream.h"

#include <stdlib.h>

enum {
    EXACT = 1 << 16, /* degrees below are counted one by one, above by powers of two */
    COARSE = 64,
    PIECE = 64 * 1024,
};

struct degrees {
    uint64_t exact[EXACT], coarse[COARSE];
    uint64_t nodes;
    int64_t least, most;
};

static void count_degree(struct degrees *d, int64_t degree)
{
    d->least = d->nodes ? OG_MIN(d->least, degree) : degree;
    d->most = OG_MAX(d->most, degree);
    d->nodes++;
    if (degree < EXACT)
        d->exact[degree]++;
    else
        d->coarse[63 - __builtin_clzll((uint64_t)degree)]++;
}

static int read_degrees(const struct og_relation *r, struct degrees *d, struct og_err *err)
{
    int64_t ptr[1024];
    struct og_indptr_check check = {.of = r};
    for (int64_t first = 0, n; first <= r->n_nodes; first += n) {
        n = OG_MIN(r->n_nodes + 1 - first, (int64_t)OG_COUNT(ptr));
        int64_t before = check.last;
        OG_DO(og__npy_read_int64(&r->indptr, first, n, ptr, err));
        OG_DO(og__check_indptr(&check, ptr, first, (size_t)n, err));
        for (int64_t i = first == 0; i < n; i++)
            count_degree(d, ptr[i] - (i > 0 ? ptr[i - 1] : before));
    }
    return og__check_indptr_end(&check, err);
}

/* The degree that a share of the nodes does not exceed. Above 2^16 the power of two below it. */
static int64_t quantile(const struct degrees *d, double share)
{
    uint64_t rank = (uint64_t)(share * (double)(d->nodes - 1));
    uint64_t seen = 0;
    for (int64_t degree = 0; degree < EXACT; degree++)
        if ((seen += d->exact[degree]) > rank)
            return degree;
    for (int bit = 0; bit < COARSE; bit++)
        if ((seen += d->coarse[bit]) > rank)
            return (int64_t)1 << bit;
    return d->most;
}

static json_t *degrees_json(const struct og_graph *ds, const struct degrees *d)
{
    double nodes = (double)ds->n_nodes;
    return json_pack("{s:I s:f s:I s:I s:I s:I s:f}", "min", (json_int_t)d->least, "mean",
                     (double)ds->n_edges / nodes, "median", (json_int_t)quantile(d, 0.5), "p90",
                     (json_int_t)quantile(d, 0.9), "p99", (json_int_t)quantile(d, 0.99), "max",
                     (json_int_t)d->most, "share_of_zero", (double)d->exact[0] / nodes);
}

static double feature_bytes(const struct og_group *g)
{
    return (double)g->n_nodes * (double)og__file_row_bytes(g);
}

/* For each memory size: does the topology fit, and which share of the feature rows as well? */
static json_t *fits_json(double topology, double features)
{
    static const int sizes[] = {1, 4, 16, 64, 256};
    json_t *list = json_array();
    for (size_t i = 0; i < OG_COUNT(sizes); i++) {
        double left = sizes[i] * (double)OG_GIB - topology;
        double share = left > 0 ? OG_MIN(left / OG_MAX(features, 1.0), 1.0) : 0;
        char text[16];
        snprintf(text, sizeof(text), "%dG", sizes[i]);
        list = og__json_append(list, json_pack("{s:s s:b s:f}", "memory", text, "topology_fits",
                                               left >= 0, "feature_share", share));
    }
    return list;
}

static json_t *splits_json(struct og_graph *g)
{
    json_t *root = json_object();
    for (enum og__array a = OG__ARRAY_TRAIN; a < OG__ARRAYS; a++)
        root = og__json_with(root, og__array_name(a), json_integer(og__array_of(g, a)->shape[0]));
    return root;
}

/* Splits, and how large all is. */
static json_t *sizes_json(struct og_graph *g, json_t *more)
{
    json_int_t topology = 0;
    json_int_t weights = 0;
    double edges = 0;
    double features = 0;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_npy *w = &g->relation[r].weights;
        topology += (json_int_t)og__relation_bytes(&g->relation[r]);
        weights += w->fd >= 0 ? (json_int_t)w->bytes : 0;
        edges += feature_bytes(&g->relation[r].edges);
    }
    for (uint32_t k = 0; k < g->n_groups; k++)
        features += feature_bytes(&g->group[k]);
    json_t *root =
        json_pack("{s:o s:{s:I s:I s:I s:I s:I}}", "splits", splits_json(g), "bytes", "topology",
                  topology, "features", (json_int_t)features, "labels", (json_int_t)g->labels.bytes,
                  "weights", weights, "edge_features", (json_int_t)edges);
    root = og__json_joined(root, more);
    return og__json_with(root, "fits", fits_json((double)topology, features));
}

/* The locations of features on several disks. */
static json_t *parts_json(const struct og_npy *features)
{
    const struct og_npy_parts *parts = features->parts;
    json_t *list = json_array();
    for (uint32_t p = 0; p < parts->stripes.parts; p++) {
        const struct og_npy *a = &parts->part[p];
        json_t *part = og__json_with(json_object(), "path", og__json_text(a->path));
        part = og__json_with(part, "bytes", json_integer((json_int_t)a->bytes));
        list = og__json_append(list, part);
    }
    return list;
}

static int plain_json(struct og_graph *g, struct degrees *d, json_t **out, struct og_err *err)
{
    const struct og_group *rows = g->group;
    OG_DO(read_degrees(g->relation, d, err));
    json_t *root =
        json_pack("{s:i s:s s:i s:b s:b s:b}", "feature_dim", rows->dim, "feature_dtype",
                  og__dtype_name(rows->stored), "num_classes", g->n_classes, "multi_label",
                  g->multi_label, "regression", g->regression, "shares", g->shares);
    root = og__schema_with_form(root, &rows->sparse);
    root = og__schema_with_edges(root, g->relation);
    root =
        og__json_joined(root, sizes_json(g, json_pack("{s:o}", "in_degree", degrees_json(g, d))));
    *out = rows->rows.parts ? og__json_with(root, "feature_parts", parts_json(&rows->rows)) : root;
    return 0;
}

/* ---- of types ---- */

static json_t *types_json(const struct og_graph *g)
{
    json_t *list = json_array();
    for (uint32_t t = 0; t < g->n_groups; t++) {
        const struct og_group *type = &g->group[t];
        json_t *one =
            json_pack("{s:s s:I s:I s:i}", "name", type->name, "count", (json_int_t)type->n_nodes,
                      "first_id", (json_int_t)type->first, "feature_dim", type->dim);
        one = og__json_with(one, "feature_dtype",
                            type->dim ? json_string(og__dtype_name(type->stored)) : json_null());
        one = og__schema_with_form(one, &type->sparse);
        one = og__json_with(one, "feature_bytes", json_integer((json_int_t)feature_bytes(type)));
        if (type->rows.parts)
            one = og__json_with(one, "feature_parts", parts_json(&type->rows));
        list = og__json_append(list, one);
    }
    return list;
}

static int relations_json(const struct og_graph *g, struct degrees *d, json_t **out,
                          struct og_err *err)
{
    json_t *list = json_array();
    int rc = 0;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *rel = &g->relation[r];
        *d = (struct degrees){0};
        OG_TRY(read_degrees(rel, d, err));
        json_t *one = json_pack(
            "{s:s s:s s:s s:I s:f s:I s:f s:b}", "source", g->group[rel->source].name, "name",
            rel->name, "destination", g->group[rel->destination].name, "num_edges",
            (json_int_t)rel->n_edges, "mean_degree", (double)rel->n_edges / (double)rel->n_nodes,
            "max_degree", (json_int_t)d->most, "share_of_zero",
            (double)d->exact[0] / (double)rel->n_nodes, "weights", rel->weights.fd >= 0);
        list = og__json_append(list, og__schema_with_edges(one, rel));
    }
    *out = list;
    list = NULL;
out:
    json_decref(list);
    return rc;
}

static int typed_json(struct og_graph *g, struct degrees *d, json_t **out, struct og_err *err)
{
    json_t *relations;
    OG_DO(relations_json(g, d, &relations, err));
    json_t *root = json_pack("{s:i s:b s:b s:b s:o s:o}", "num_classes", g->n_classes,
                             "multi_label", g->multi_label, "regression", g->regression, "shares",
                             g->shares, "node_types", types_json(g), "relations", relations);
    *out = og__json_joined(root, sizes_json(g, json_object()));
    return 0;
}

/* ---- files ---- */

struct file_lists {
    json_t *used, *others;
};

static int list_file(void *arg, const char *name, struct og_err *err)
{
    struct file_lists *l = arg;
    const char *use = og__file_use(name);
    (void)err;
    if (use)
        l->used = og__json_append(
            l->used, og__json_with(og__json_with(json_object(), "file", og__json_text(name)),
                                   "used_by", json_string(use)));
    else
        l->others = og__json_append(l->others, og__json_text(name));
    return 0;
}

/* ---- names ---- */

static json_t *name_json(const struct og_node_names *names, int64_t v)
{
    const struct og_word name = og__node_name(names, v);
    return json_stringn(name.text, name.len);
}

/* The first and the last name of each group that has names. */
static int names_json(const struct og_graph *g, json_t **list, struct og_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && k < g->n_groups; k++) {
        struct og_node_names *names;
        rc = og__node_names_open(&names, g, k, err);
        if (names) {
            json_t *one = json_pack("{s:s}", "type", g->group[k].name);
            one = og__json_with(one, "first", name_json(names, 0));
            one = og__json_with(one, "last", name_json(names, g->group[k].n_nodes - 1));
            *list = og__json_append(*list ? *list : json_array(), one);
        }
        og__node_names_close(names);
    }
    return rc;
}

/* What nodes and classes are called, if that is known. */
static int with_names(const struct og_graph *g, json_t **root, struct og_err *err)
{
    json_t *classes = json_object_get(g->meta, "class_names");
    json_t *edge_classes = json_object_get(g->meta, "edge_class_names");
    json_t *list = NULL;
    const int rc = names_json(g, &list, err);
    if (list)
        *root = og__json_with(*root, "node_names", list);
    if (classes)
        *root = og__json_with(*root, "class_names", json_incref(classes));
    if (edge_classes)
        *root = og__json_with(*root, "edge_class_names", json_incref(edge_classes));
    return rc;
}

/* ---- either ---- */

static int describe(const char *dataset, struct degrees *d, json_t **root, struct og_err *err)
{
    struct og_graph *g;
    json_t *own;
    int rc = og__graph_open(dataset, &g, err);
    if (rc < 0)
        return rc;
    OG_TRY((g->has_types ? typed_json : plain_json)(g, d, &own, err));
    *root = json_pack("{s:s s:s s:I s:I}", "name", g->name, "path", g->path, "num_nodes",
                      (json_int_t)g->n_nodes, "num_edges", (json_int_t)g->n_edges);
    *root = og__json_with(og__json_joined(*root, own), "dataset_checksum",
                          og__json_hex(g->identity.contents));
    rc = with_names(g, root, err);
out:
    og__graph_close(g);
    return rc;
}

int og_info(const char *dataset, char **out, struct og_err *err)
{
    char *text = NULL;
    json_t *root = NULL;
    int rc;
    if (out)
        *out = NULL;
    struct degrees *d = calloc(1, sizeof(*d));
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", dataset);
    OG_TRY(describe(dataset, d, &root, err));
    struct file_lists lists = {json_array(), json_array()};
    rc = og__dataset_files(dataset, list_file, &lists, err);
    root = og__json_with(root, "files", lists.used);
    root = og__json_with(root, "files_not_used", lists.others);
    OG_TRY(rc);
    text = og__json_print(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    OG_TRY(text ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", dataset));
    if (out) {
        *out = text;
        text = NULL;
    }
out:
    free(text);
    json_decref(root);
    free(d);
    return rc;
}

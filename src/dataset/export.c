/* Exports a dataset to the layouts of other programs.
 *
 *   npy         edges.npy [E, 2], edge_weight.npy, edge_attr.npy, feat.npy, label.npy, <split>.npy,
 *               <split>_edges.npy, meta.json: the input of `import npy`. Heterogeneous graphs: ids
 *               of the whole graph, relation after relation, with edge_type.npy, node_type.npy,
 *               feat_<type>.npy, edge_attr_<source>__<name>__<destination>.npy,
 *               <split>_edge_type.npy, and the names in meta.json. With times: node_times.npy,
 *               edge_times.npy as edge_attr.npy, <split>_times.npy
 *   graphbolt   metadata.yaml, edges/edges.npy [2, E], data/feat.npy,
 *               set/<split>_{seeds,labels}.npy
 *
 * What a layout has no place for is reported. Arrays are copied in pieces. bf16 and types with
 * scales, which NumPy lacks, become float32. */
#include "base/file.h"
#include "base/option_rows.h"
#include "base/sized.h"
#include "dataset/convert.h"
#include "dataset/edge_walk.h"
#include "dataset/meta.h"
#include "dataset/node_names.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 4 * 1024 * 1024, PIECE_EDGES = 64 * 1024 };
static const char part[] = "export";
static const char feature_names[] = "feature_names";
static const char *const splits[OG__SPLITS] = {"train", "valid", "test"};

struct exporter {
    const struct og_graph *ds;
    const struct og_observer *observer;
    struct og_budget *budget;
    struct og_newdir dir;
};

/* ---- edges, relation after relation, in the order of their indices ---- */

/* The part of each edge to write: both ends in a row, or one of them. */
enum ends { BOTH, SOURCES, DESTINATIONS };

struct edge_files {
    const struct exporter *x;
    enum ends which;
    struct og_npy_writer *edges, *weights; /* weights: NULL = none */
    const struct og_relation *at;
    int64_t done, told;
};

static int append_list(void *arg, const struct og_edge_walk *walk, uint32_t dst, size_t from,
                       size_t to, struct og_err *err)
{
    struct edge_files *f = arg;
    const struct og_graph *g = f->x->ds;
    const int64_t first_src = g->group[f->at->source].first;
    const int64_t first_dst = g->group[f->at->destination].first;
    for (size_t i = from; i < to; i++) {
        const int64_t ends[] = {walk->src[i] + first_src, dst + first_dst};
        OG_DO(og__npy_append(f->edges, &ends[f->which == DESTINATIONS], 1, err));
    }
    if (f->weights)
        OG_DO(og__npy_append(f->weights, walk->weight + from, (int64_t)(to - from), err));
    f->done += (int64_t)(to - from);
    if (f->done < f->told + PIECE_EDGES && f->done < g->n_edges)
        return 0;
    f->told = f->done;
    return og__writing_goes_on(f->x->observer, "edges", "edges", f->done, g->n_edges, err);
}

static int append_all(struct edge_files *f, enum ends which, struct og_err *err)
{
    const struct og_graph *g = f->x->ds;
    int rc = 0;
    f->which = which;
    f->done = f->told = 0;
    for (uint32_t r = 0; rc == 0 && r < g->n_relations; r++) {
        struct og_edge_walk walk;
        f->at = &g->relation[r];
        rc = og__edge_walk_open(&walk, f->at, f->x->budget, err);
        if (rc == 0)
            rc = og__edge_walk(&walk, append_list, NULL, f, err);
        og__edge_walk_close(&walk);
    }
    return rc;
}

static bool all_weighted(const struct og_graph *g)
{
    bool all = true;
    for (uint32_t r = 0; r < g->n_relations; r++)
        all = all && g->relation[r].weights.fd >= 0;
    return all;
}

/* [E, 2] with the other edge arrays; or [2, E] alone: all sources, then all destinations. */
static int export_edges(const struct exporter *x, const char *name, bool two_rows,
                        struct og_err *err)
{
    struct edge_files f = {.x = x};
    const int width = two_rows ? 1 : 2;
    int rc;
    OG_TRY(og__array_create(&f.edges, x->dir.temporary, name, OG__NPY_I64, width, width, err));
    if (two_rows) {
        OG_TRY(append_all(&f, SOURCES, err));
        OG_TRY(append_all(&f, DESTINATIONS, err));
        og__npy_reshape(f.edges, 2, x->ds->n_edges);
    } else {
        if (all_weighted(x->ds))
            OG_TRY(og__array_create(&f.weights, x->dir.temporary, "edge_weight.npy", OG__NPY_F32, 1,
                                    1, err));
        OG_TRY(append_all(&f, BOTH, err));
    }
    OG_TRY(og__array_finish(&f.edges, NULL, NULL, err));
    OG_TRY(og__array_finish(&f.weights, NULL, NULL, err));
out:
    og__npy_discard(f.edges);
    og__npy_discard(f.weights);
    return rc;
}

/* ---- arrays as they are ---- */

/* Must values become float32, because NumPy lacks their type? */
static bool is_widened(const struct og_group *g)
{
    return g && (g->sparse.room > 0 || g->stored == OG_BF16 || og__dtype_scaled(g->stored));
}

static void widen_rows(const struct og_group *g, const char *in, int64_t n, float *out)
{
    const size_t row = og__file_row_bytes(g);
    const size_t dim = (size_t)g->dim;
    for (size_t i = 0; i < (size_t)n; i++)
        og__widen_row(out + i * dim, in + i * row, g->dim, g->stored, g->scale, og__row_form(g));
}

static int copy_rows(const struct exporter *x, const struct og_npy *a, const struct og_group *g,
                     const char *what, struct og_npy_writer *w, struct og_err *err)
{
    size_t row = (size_t)a->shape[1] * og__npy_size(a->type);
    int64_t rows = OG_MAX((int64_t)(PIECE_BYTES / OG_MAX(row, (size_t)1)), (int64_t)1);
    size_t bytes = og__round_up((size_t)rows * row, sizeof(float));
    const size_t wide = g && is_widened(g) ? (size_t)rows * (size_t)g->dim * sizeof(float) : 0;
    char *raw = og__alloc(x->budget, bytes + wide, part, err); /* as stored; wider */
    int rc;
    OG_TRY(raw ? 0 : -ENOMEM);
    for (int64_t first = 0, n; first < a->shape[0]; first += n) {
        n = OG_MIN(a->shape[0] - first, rows);
        OG_TRY(og__npy_read(a, first, n, raw, err));
        if (wide > 0)
            widen_rows(g, raw, n, (float *)(raw + bytes));
        OG_TRY(og__npy_append(w, wide > 0 ? raw + bytes : raw, n, err));
        OG_TRY(og__writing_goes_on(x->observer, what, "bytes", (first + n) * (int64_t)row,
                                   a->shape[0] * (int64_t)row, err));
    }
out:
    og__release(x->budget, raw, bytes + wide, part);
    return rc;
}

/* g: of features; else NULL. An absent array is no failure. */
static int export_values(const struct exporter *x, const struct og_npy *a, const struct og_group *g,
                         const char *name, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    int rc;
    if (!og__npy_there(a))
        return 0;
    OG_TRY(og__array_create(&w, x->dir.temporary, name, is_widened(g) ? OG__NPY_F32 : a->type,
                            a->ndim, g && is_widened(g) ? g->dim : a->shape[1], err));
    OG_TRY(copy_rows(x, a, g, name, w, err));
    OG_TRY(og__array_finish(&w, NULL, NULL, err));
out:
    og__npy_discard(w);
    return rc;
}

static int export_array(const struct exporter *x, const struct og_npy *a, const char *name,
                        struct og_err *err)
{
    return export_values(x, a, NULL, name, err);
}

static int export_rows(const struct exporter *x, const struct og_group *g, const char *name,
                       struct og_err *err)
{
    return export_values(x, &g->rows, g, name, err);
}

/* ---- npy ---- */

static int64_t nodes_of(const struct og_graph *g, uint32_t group)
{
    return g->group[group].n_nodes;
}

static int64_t edges_of(const struct og_graph *g, uint32_t relation)
{
    return g->relation[relation].n_edges;
}

/* The number of each of n groups or relations, as often as it has nodes or edges. */
static int export_numbers(const struct exporter *x, const char *name, enum og__npy_type type,
                          uint32_t n, int64_t (*of)(const struct og_graph *g, uint32_t k),
                          struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    int rc;
    OG_TRY(og__array_create(&w, x->dir.temporary, name, type, 1, 1, err));
    for (uint32_t k = 0; k < n; k++)
        OG_TRY(og__npy_repeat(w, (uint16_t)k, of(x->ds, k), err));
    OG_TRY(og__array_finish(&w, NULL, NULL, err));
out:
    og__npy_discard(w);
    return rc;
}

static int export_groups(const struct exporter *x, struct og_err *err)
{
    const struct og_graph *g = x->ds;
    char name[OG__TYPE_NAME_MAX + 16]; /* feat.npy, feat_paper.npy */
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && k < g->n_groups; k++) {
        const char *type = g->group[k].name;
        snprintf(name, sizeof(name), "feat%s%s.npy", *type ? "_" : "", type);
        rc = export_rows(x, &g->group[k], name, err);
    }
    return rc;
}

/* node_names.npy, node_names_paper.npy, or both files of long names. */
static int export_names(const struct exporter *x, struct og_err *err)
{
    const struct og_graph *g = x->ds;
    char prefix[OG__TYPE_NAME_MAX + 16];
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && k < g->n_groups; k++) {
        const char *type = g->group[k].name;
        struct og_node_names *names;
        snprintf(prefix, sizeof(prefix), "node_names%s%s", *type ? "_" : "", type);
        rc = og__node_names_open(&names, g, k, err);
        if (names)
            rc = og__node_names_copy(names, x->dir.temporary, prefix, NULL, err);
        og__node_names_close(names);
    }
    return rc;
}

/* A relation's file, with a number for each edge. */
struct edge_name {
    char text[3 * OG__TYPE_NAME_MAX + 32];
};

static struct edge_name name_of(const struct og_relation *r, const char *prefix)
{
    const struct og_graph *g = r->graph;
    struct edge_name name;
    snprintf(name.text, sizeof(name.text), "%s.npy", prefix);
    if (og__form_of(g)->by_relation)
        snprintf(name.text, sizeof(name.text), "%s_%s__%s__%s.npy", prefix,
                 g->group[r->source].name, r->name, g->group[r->destination].name);
    return name;
}

static int export_edge_arrays(const struct exporter *x, struct og_err *err)
{
    const struct og_graph *g = x->ds;
    for (uint32_t k = 0; k < g->n_relations; k++) {
        const struct og_relation *r = &g->relation[k];
        OG_DO(export_rows(x, &r->edges, name_of(r, "edge_attr").text, err));
        OG_DO(export_array(x, &r->edge_times, name_of(r, "edge_times").text, err));
    }
    return 0;
}

/* Names of features, which meta.json has by types. */
static json_t *columns_of_types(const struct og_graph *g)
{
    json_t *out = json_object();
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(g->meta, "node_types"), i, one)
    {
        json_t *names = json_object_get(one, feature_names);
        if (names)
            out = og__json_with(out, json_string_value(json_object_get(one, "name")),
                                json_incref(names));
    }
    return out;
}

static bool has_means(const struct og_graph *g)
{
    bool has = json_object_get(g->meta, "feature_means");
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(g->meta, "node_types"), i, one)
    {
        has = has || json_object_get(one, "feature_means");
    }
    return has;
}

/* Which types nodes and edges are of, and what these are called. */
static int with_types(const struct exporter *x, json_t **meta, struct og_err *err)
{
    const struct og_graph *g = x->ds;
    json_t *nodes = json_array();
    json_t *edges = json_array();
    json_t *columns = columns_of_types(g);
    for (uint32_t k = 0; k < g->n_groups; k++)
        nodes = og__json_append(
            nodes, json_pack("{s:I s:s}", "type", (json_int_t)k, "name", g->group[k].name));
    for (uint32_t r = 0; r < g->n_relations; r++)
        edges = og__json_append(
            edges, json_pack("{s:I s:s}", "edge_type", (json_int_t)r, "name", g->relation[r].name));
    *meta = og__json_with(*meta, "node_types", nodes);
    if (!columns || json_object_size(columns) > 0)
        *meta = og__json_with(*meta, feature_names, columns);
    else
        json_decref(columns);
    *meta = og__json_with(*meta, "edge_types", edges);
    const int rc = export_numbers(x, "node_type.npy", OG__NPY_U8, g->n_groups, nodes_of, err);
    return rc < 0 ? rc
                  : export_numbers(x, "edge_type.npy", OG__NPY_U16, g->n_relations, edges_of, err);
}

static int with_directions(const struct exporter *x, json_t **meta, struct og_err *err)
{
    (void)err;
    *meta = og__json_with(*meta, "directed", json_true());
    *meta = og__json_with(*meta, "symmetric", json_boolean(x->ds->symmetric));
    return 0;
}

static int write_meta(const struct exporter *x, struct og_err *err)
{
    static const char *const kept[] = {"class_names", "edge_class_names", "feature_names"};
    const struct og_graph *g = x->ds;
    json_t *meta =
        json_pack("{s:s s:I s:I s:i}", "name", g->name, "num_nodes", (json_int_t)g->n_nodes,
                  "num_edges", (json_int_t)g->n_edges, "num_classes", g->n_classes);
    const bool listed = og__form_of(g)->lists_relations;
    const int rc = (listed ? with_types : with_directions)(x, &meta, err);
    if (g->regression)
        meta =
            og__json_with(meta, "task", json_string(g->shares ? "node shares" : "node regression"));
    for (size_t i = 0; i < OG_COUNT(kept); i++) {
        json_t *const names = json_object_get(g->meta, kept[i]);
        if (names)
            meta = og__json_with(meta, kept[i], json_incref(names));
    }
    if (rc == 0)
        return og__meta_write(x->dir.temporary, meta, err);
    json_decref(meta);
    return rc;
}

static int export_npy(struct exporter *x, struct og_err *err)
{
    const struct og_graph *g = x->ds;
    OG_DO(export_edges(x, "edges.npy", false, err));
    OG_DO(export_groups(x, err));
    OG_DO(export_names(x, err));
    OG_DO(export_edge_arrays(x, err));
    OG_DO(export_array(x, &g->node_times, "node_times.npy", err));
    OG_DO(export_array(x, &g->labels, "label.npy", err));
    for (int s = 0; s < OG__SPLITS; s++) {
        char name[32];
        snprintf(name, sizeof(name), "%s.npy", splits[s]);
        OG_DO(export_array(x, &g->split[s], name, err));
        snprintf(name, sizeof(name), "%s_edges.npy", splits[s]);
        OG_DO(export_array(x, &g->edges[s], name, err));
        snprintf(name, sizeof(name), "%s_edge_type.npy", splits[s]); /* a type is a relation */
        OG_DO(export_array(x, &g->edge_relations[s], name, err));
        snprintf(name, sizeof(name), "%s.npy",
                 og__listed_name(OG__EDGE_LIST_LABELS, (enum og__split)s));
        OG_DO(export_array(x, &g->listed[OG__EDGE_LIST_LABELS][s], name, err));
        snprintf(name, sizeof(name), "%s_edge_attr.npy", splits[s]);
        OG_DO(export_array(x, &g->listed[OG__EDGE_LIST_ROWS][s], name, err));
        snprintf(name, sizeof(name), "%s.npy",
                 og__listed_name(OG__NODE_LIST_TIMES, (enum og__split)s));
        OG_DO(export_array(x, &g->listed[OG__NODE_LIST_TIMES][s], name, err));
        snprintf(name, sizeof(name), "%s.npy",
                 og__listed_name(OG__EDGE_LIST_TIMES, (enum og__split)s));
        OG_DO(export_array(x, &g->listed[OG__EDGE_LIST_TIMES][s], name, err));
        snprintf(name, sizeof(name), "%s.npy",
                 og__negatives_name((enum og__split)s, g->negatives_each[s]));
        OG_DO(export_array(x, &g->negatives[s], name, err));
    }
    return write_meta(x, err);
}

/* ---- graphbolt ---- */

/* Labels of a split's nodes, int64 or float32, in its order. */
static int export_labels(const struct exporter *x, enum og__split s, const char *name,
                         struct og_err *err)
{
    const struct og_graph *ds = x->ds;
    const bool floats = og__float_labels(ds);
    struct og_npy_writer *w = NULL;
    uint32_t *ids = NULL;
    void *labels = NULL;
    int64_t n = 0;
    int rc;
    OG_TRY(og__graph_split(ds, s, x->budget, &ids, &n, err));
    OG_TRY(og__graph_labels(ds, ids, n, x->budget, &labels, err));
    OG_TRY(og__array_create(&w, x->dir.temporary, name, floats ? OG__NPY_F32 : OG__NPY_I64,
                            floats ? 2 : 1, floats ? ds->n_classes : 1, err));
    if (floats)
        OG_TRY(og__npy_append(w, labels, n, err));
    for (int64_t i = 0; !floats && i < n; i++)
        OG_TRY(og__npy_append(w, (const int64_t[]){((const int32_t *)labels)[i]}, 1, err));
    OG_TRY(og__array_finish(&w, NULL, NULL, err));
out:
    og__npy_discard(w);
    og__release(x->budget, labels, og__labels_bytes(ds, n), "labels");
    og__release(x->budget, ids, (size_t)n * sizeof(*ids), "seeds");
    return rc;
}

struct text {
    FILE *file;
    bool lacking; /* something could not be added: the file itself does not remember */
};

static void OG_PRINTF(2, 3) say(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (vfprintf(t->file, fmt, ap) < 0)
        t->lacking = true;
    va_end(ap);
}

static void describe_set(struct text *t, const struct og_graph *ds, int s)
{
    static const char *const keys[OG__SPLITS] = {"train_set", "validation_set", "test_set"};
    if (ds->split[s].fd < 0)
        return;
    say(t, "    %s:\n      - data:\n", keys[s]);
    say(t, "          - {name: seeds, format: numpy, in_memory: true, path: set/%s_seeds.npy}\n",
        splits[s]);
    if (ds->labels.fd >= 0)
        say(t,
            "          - {name: labels, format: numpy, in_memory: true, path: "
            "set/%s_labels.npy}\n",
            splits[s]);
}

static void describe(struct text *t, const struct og_graph *ds, const char *name)
{
    say(t, "dataset_name: %s\n", name); /* JSON's quotes are YAML's */
    say(t, "graph:\n  nodes:\n    - num: %" PRId64 "\n", ds->n_nodes);
    say(t, "  edges:\n    - format: numpy\n      path: edges/edges.npy\n");
    say(t, "feature_data:\n");
    say(t,
        "  - {domain: node, name: feat, format: numpy, in_memory: false, path: data/feat.npy}\n");
    if (ds->relation->weights.fd >= 0)
        say(t, "  - {domain: edge, name: weight, format: numpy, in_memory: false, path: "
               "data/weight.npy}\n");
    if (ds->relation->edges.dim > 0)
        say(t, "  - {domain: edge, name: feat, format: numpy, in_memory: false, path: "
               "data/edge_feat.npy}\n");
    say(t, "tasks:\n  - name: node_%s\n    num_classes: %d\n",
        ds->shares       ? "shares"
        : ds->regression ? "regression"
                         : "classification",
        ds->n_classes);
    for (int s = 0; s < OG__SPLITS; s++)
        describe_set(t, ds, s);
}

static int write_yaml(const struct exporter *x, struct og_err *err)
{
    char *path = og__path_join(x->dir.temporary, "metadata.yaml");
    json_t *name = json_string(x->ds->name);
    char *quoted = og__json_print(name, JSON_ENCODE_ANY);
    char *text = NULL;
    size_t len = 0;
    struct text t = {path && quoted ? open_memstream(&text, &len) : NULL, false};
    if (t.file)
        describe(&t, x->ds, quoted);
    bool whole = t.file && fclose(t.file) == 0 && !t.lacking && text;
    int rc;
    OG_TRY(whole ? 0 : og__fail_errno(err, -ENOMEM, NULL, "metadata.yaml"));
    OG_TRY(og__write_text(path, text, len, err));
out:
    free(text);
    free(quoted);
    json_decref(name);
    free(path);
    return rc;
}

static int make_folders(const struct exporter *x, struct og_err *err)
{
    static const char *const names[] = {"edges", "data", "set"};
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        char *path = og__path_join(x->dir.temporary, names[i]);
        int rc =
            path ? og__make_dirs(path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", names[i]);
        free(path);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int export_graphbolt(struct exporter *x, struct og_err *err)
{
    const struct og_graph *ds = x->ds;
    OG_DO(make_folders(x, err));
    OG_DO(export_edges(x, "edges/edges.npy", true, err));
    OG_DO(export_rows(x, ds->group, "data/feat.npy", err));
    OG_DO(export_array(x, &ds->relation->weights, "data/weight.npy", err));
    OG_DO(export_rows(x, &ds->relation->edges, "data/edge_feat.npy", err));
    for (int s = 0; s < OG__SPLITS; s++) {
        char name[32];
        snprintf(name, sizeof(name), "set/%s_seeds.npy", splits[s]);
        OG_DO(export_array(x, &ds->split[s], name, err));
        snprintf(name, sizeof(name), "set/%s_labels.npy", splits[s]);
        if (ds->split[s].fd >= 0 && ds->labels.fd >= 0)
            OG_DO(export_labels(x, (enum og__split)s, name, err));
    }
    return write_yaml(x, err);
}

/* ---- what is left out ---- */

/* An array of some relation, or of some split. */
static bool has_of_relation(const struct og_graph *g, size_t array)
{
    bool some = false;
    for (uint32_t r = 0; r < g->n_relations; r++)
        some |= og__npy_there((const struct og_npy *)((const char *)&g->relation[r] + array));
    return some;
}

static bool has_of_split(const struct og_npy of[OG__SPLITS])
{
    bool some = false;
    for (int s = 0; s < OG__SPLITS; s++)
        some |= og__npy_there(&of[s]);
    return some;
}

static int has_names(const struct og_graph *g, struct og_err *err)
{
    int rc = 0, some = 0;
    for (uint32_t k = 0; rc == 0 && k < g->n_groups; k++) {
        struct og_node_names *names;
        rc = og__node_names_open(&names, g, k, err);
        some |= rc == 0 && names;
        og__node_names_close(names);
    }
    return rc < 0 ? rc : some;
}

static int find_label(const struct exporter *x, const bool *in_split, char *piece,
                      struct og_err *err)
{
    const struct og_npy *a = &x->ds->labels;
    const int64_t width = a->shape[1];
    const int64_t rows = OG_MAX((int64_t)(PIECE_BYTES / 8) / width, (int64_t)1);
    int rc = 0, some = 0;
    for (int64_t first = 0, n; !some && first < a->shape[0]; first += n) {
        n = OG_MIN(a->shape[0] - first, rows);
        OG_TRY(og__npy_read(a, first, n, piece, err));
        for (int64_t i = 0; i < n * width; i++) {
            const double y = og__number_at(a->type, piece, (size_t)i);
            some |= !in_split[first + i / width] && (og__float_labels(x->ds) ? !isnan(y) : y >= 0);
        }
    }
out:
    return rc < 0 ? rc : some;
}

/* Whether a node in no split has a label. */
static int has_other_labels(const struct exporter *x, struct og_err *err)
{
    const struct og_graph *g = x->ds;
    const size_t bytes = (size_t)g->n_nodes;
    int rc = 0;
    if (!og__npy_there(&g->labels))
        return 0;
    const size_t piece_bytes = OG_MAX((size_t)PIECE_BYTES, (size_t)g->labels.shape[1] * 8);
    bool *in_split = og__alloc(x->budget, bytes, part, err);
    char *piece = og__alloc(x->budget, piece_bytes, part, err);
    OG_TRY(in_split && piece ? 0 : -ENOMEM);
    for (int s = 0; s < OG__SPLITS; s++) {
        uint32_t *ids;
        int64_t n;
        OG_TRY(og__graph_split(g, (enum og__split)s, x->budget, &ids, &n, err));
        for (int64_t i = 0; i < n; i++)
            in_split[ids[i]] = true;
        og__release(x->budget, ids, (size_t)n * sizeof(*ids), "seeds");
    }
    rc = find_label(x, in_split, piece, err);
out:
    og__release(x->budget, piece, piece_bytes, part);
    og__release(x->budget, in_split, bytes, part);
    return rc;
}

/* Reports what the dataset has and the format does not take. */
static int say_left_out(const struct exporter *x, bool graphbolt, struct og_err *err)
{
    const struct og_graph *g = x->ds;
    const struct og_log log = {x->observer ? x->observer->message : NULL,
                               x->observer ? x->observer->arg : NULL};
    const int named = has_names(g, err);
    const int labelled = graphbolt && named >= 0 ? has_other_labels(x, err) : 0;
    char list[600] = "";
    const struct {
        bool is;
        const char *what;
    } left[] = {
        {!graphbolt && !all_weighted(g) &&
             has_of_relation(g, offsetof(struct og_relation, weights)),
         "edge weights, which only some relations have"},
        {g->node_ids.fd >= 0, "the source's ids of nodes"},
        {has_of_relation(g, offsetof(struct og_relation, edge_ids)),
         "the source's numbers of edges"},
        {graphbolt && named > 0, "names of nodes"},
        {graphbolt && json_object_get(g->meta, "class_names"), "names of classes"},
        {graphbolt && json_object_get(g->meta, feature_names), "names of features"},
        {labelled > 0, "labels of nodes in no split"},
        {has_means(g), "means and deviations of standardized features"},
        {graphbolt && og__npy_there(&g->node_times), "times of nodes"},
        {graphbolt && has_of_relation(g, offsetof(struct og_relation, edge_times)),
         "times of edges"},
        {graphbolt && (has_of_split(g->listed[OG__NODE_LIST_TIMES]) ||
                       has_of_split(g->listed[OG__EDGE_LIST_TIMES])),
         "times of seeds"},
        {graphbolt && has_of_split(g->edges), "edges of splits, with their labels and negatives"},
    };
    for (size_t i = 0; i < OG_COUNT(left); i++) {
        const size_t used = strlen(list);
        if (left[i].is)
            snprintf(list + used, sizeof(list) - used, "%s%s", used ? "; " : "", left[i].what);
    }
    if (named >= 0 && labelled >= 0 && *list)
        og__say(&log, OG__INFO, "%s leaves out: %s", graphbolt ? "graphbolt" : "npy", list);
    return OG_MIN(OG_MIN(named, labelled), 0);
}

/* ---- all ---- */

static int export_into(struct exporter *x, const char *format, struct og_err *err)
{
    const bool graphbolt = strcmp(format, "graphbolt") == 0;
    if (!graphbolt && strcmp(format, "npy") != 0)
        return og__fail(err, -EINVAL, "npy or graphbolt", "export %s: no such format", format);
    if (graphbolt && og__form_of(x->ds)->lists_relations)
        return og__fail(err, -EINVAL, "use `outgrow export npy`",
                        "export graphbolt: the graph is heterogeneous");
    const int rc = say_left_out(x, graphbolt, err);
    return rc < 0 ? rc : (graphbolt ? export_graphbolt : export_npy)(x, err);
}

int og_export(const char *format, const char *dataset, const char *out,
              const struct og_observer *observer, struct og_err *err)
{
    struct exporter x = {.observer = observer};
    struct og_graph *ds = NULL;
    int rc;
    OG_TRY(OG_SIZED(observer, "og_observer", err));
    OG_TRY(og__graph_open(dataset, &ds, err));
    x.ds = ds;
    if (!(x.budget = og__budget_new(og__memory_amount(&(struct og_amount){.unit = OG_UNSET}))))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "export"));
    OG_TRY(og__check_apart(dataset, out, err));
    OG_TRY(og__newdir_begin(&x.dir, out, err));
    OG_TRY(export_into(&x, format, err));
    OG_TRY(og__newdir_commit(&x.dir, err));
out:
    og__newdir_abandon(&x.dir);
    og__budget_free(x.budget);
    og__graph_close(ds);
    return rc;
}

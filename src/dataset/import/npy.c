/* The npy layout: edges.npy, feat.npy (or feat_indptr, feat_indices, feat_data), label.npy, and
 * splits. Types of nodes and edges and further files are in docs/reference/formats.md.
 *
 * The edges define the relations. A relation has the edges of one type from nodes of one type to
 * nodes of one type. Relations are ordered by edge type, then source and destination type. */
#include "dataset/import/npy.h"

#include "dataset/import/by_id.h"
#include "dataset/import/moments.h"

#include <string.h>

/* ---- files with two names: ours, and PyTorch Geometric's ---- */

enum { NAMES = 2 };

/* The one of a file's names that the source has; NULL = none. */
static int find_one_of(const struct og_importer *imp, const char *const names[NAMES],
                       const char **found, struct og_err *err)
{
    *found = NULL;
    for (size_t i = 0; i < NAMES && names[i]; i++) {
        const int rc = og__import_has(imp, names[i], err);
        if (rc < 0)
            return rc;
        if (rc > 0 && *found)
            return og__fail(err, -EINVAL, "remove one of them", "%s: both %s and %s", imp->src,
                            *found, names[i]);
        if (rc > 0)
            *found = names[i];
    }
    return 0;
}

/* The first of the names that the source has; NULL = none. Another is not read. */
static int find_first_of(const struct og_importer *imp, const char *const names[NAMES],
                         const char **found, struct og_err *err)
{
    *found = NULL;
    for (size_t i = 0; i < NAMES && names[i] && !*found; i++) {
        const int rc = og__import_has(imp, names[i], err);
        if (rc < 0)
            return rc;
        *found = rc > 0 ? names[i] : NULL;
    }
    return 0;
}

/* ---- edges: a row an edge, or a row of sources and one of destinations ----
 *
 *   shape            order     in the file
 *   [E, 2]           C         src dst src dst ...
 *   [E, 2]           Fortran   src src ... dst dst ...
 *   [2, E], E != 2   C         src src ... dst dst ...    PyTorch Geometric's edge_index
 *   [2, E], E != 2   Fortran   src dst src dst ...
 *
 * Two rows are read by two tables in parallel. [2, 2] is [E, 2]. */

static const char *const edges_files[NAMES] = {"edges.npy", "edge_index.npy"};

/* src is the file already. */
static int take_two_rows(const struct og_importer *imp, const char *file, struct og_edges *e,
                         struct og_err *err)
{
    bool fortran = false;
    OG_DO(og__import_open_as_stored(imp, file, &e->dst, &fortran, err));
    OG_DO(og__table_take_row(e->src, 0, err));
    return og__table_take_row(e->dst, 1, err);
}

static int open_edges(const struct og_importer *imp, struct og_edges *e, struct og_err *err)
{
    struct og_table *t;
    const char *file;
    bool fortran = false;
    int rc = find_first_of(imp, edges_files, &file, err);
    file = file ? file : edges_files[0];
    rc = rc < 0 ? rc : og__import_open_as_stored(imp, file, &t, &fortran, err);
    if (rc < 0)
        return rc;
    const int64_t rows = fortran ? t->columns : t->rows;
    const int64_t columns = fortran ? t->rows : t->columns;
    const bool in_pairs = (columns == 2) != fortran;
    if (in_pairs)
        e->pairs = t;
    else
        e->src = t;
    if (t->ndim != 2 || (rows != 2 && columns != 2))
        return og__fail(err, -EINVAL, "one row an edge: src, dst; weights go to edge_weight.npy",
                        "%s: shape [%lld, %lld], expected [E, 2] or [2, E]", t->name,
                        (long long)rows, (long long)columns);
    rc = in_pairs ? 0 : take_two_rows(imp, file, e, err);
    if (rc >= 0 && imp->opt->weight_column != 0)
        return og__import_open_npy(imp, "edge_weight.npy", true, &e->weights, err);
    return rc;
}

/* ---- opening ---- */

static const char *const features_files[NAMES] = {"feat.npy", "x.npy"};
static const char *const labels_files[NAMES] = {"label.npy", "y.npy"};
static const char features_by_id[] = "feat.csv";
static const char labels_by_id[] = "label.csv";
static const char nodes_by_id[] = "nodes.csv";

static void close_source(struct og_npy_source *s)
{
    og__edges_close(&s->edges);
    og__npy_close_types(s);
    og__table_close(s->features);
    og__table_close(s->values);
    og__table_close(s->labels);
    json_decref(s->said.root);
}

/* Opens the first of the names that is there; *t stays NULL where none is. */
static int open_first_of(const struct og_importer *imp, const char *const names[NAMES],
                         struct og_table **t, struct og_err *err)
{
    const char *file;
    const int rc = find_first_of(imp, names, &file, err);
    return rc < 0 || !file ? rc : og__import_open_npy(imp, file, false, t, err);
}

/* The array, or a sparse matrix by the first name; both stay NULL where neither is there. */
static int open_features(const struct og_importer *imp, const char *const names[NAMES],
                         struct og_table **features, struct og_table **values, struct og_err *err)
{
    char prefix[OG__NPY_PREFIX];
    snprintf(prefix, sizeof(prefix), "%.*s", (int)strlen(names[0]) - 4, names[0]);
    const int rc = open_first_of(imp, names, features, err);
    return rc < 0 || *features ? rc : og__npy_sparse(imp, prefix, features, values, err);
}

/* Opens the node data, except tables by id. Those take memory, so they are opened when needed. */
static int open_nodes(struct og_npy_source *s, struct og_err *err)
{
    OG_DO(og__npy_said(s->imp, &s->said, err));
    OG_DO(open_features(s->imp, features_files, &s->features, &s->values, err));
    return open_first_of(s->imp, labels_files, &s->labels, err);
}

/* N from the first file that determines it; later ones must agree. -1 = unknown. */
static int64_t rows_of_nodes(const struct og_npy_source *s)
{
    return s->said.nodes >= 0 ? s->said.nodes
           : s->features      ? s->features->rows
           : s->labels        ? s->labels->rows
                              : -1;
}

static const char *file_of(const struct og_table *t)
{
    const char *slash = strrchr(t->name, '/');
    return slash ? slash + 1 : t->name;
}

/* The file that determines N. */
static const char *nodes_from(const struct og_npy_source *s)
{
    return s->node_type         ? "node_type.npy"
           : s->said.nodes >= 0 ? "meta.json"
           : s->values   ? (strstr(s->values->name, ".npz:") ? "feat.npz" : "feat_indptr.npy")
           : s->features ? file_of(s->features)
           : s->labels   ? file_of(s->labels)
                         : features_by_id;
}

static int no_features(const struct og_npy_source *s, struct og_err *err)
{
    return og__fail(
        err, -ENOENT,
        "add feat.npy [N, F], or feat.npz by scipy.sparse.save_npz, or feat.csv; or give "
        "--drop-features, for learnable embeddings",
        "%s: no features: none of feat.npy, feat.npz, feat_indptr.npy and feat.csv", s->imp->src);
}

/* In a homogeneous graph all nodes have features. */
static int need_features(const struct og_npy_source *s, struct og_err *err)
{
    if (s->features || !og__form_of(&s->imp->graph)->needs_rows)
        return 0;
    const int has = og__by_id_has(s->imp, features_by_id, err);
    return has == 0 ? no_features(s, err) : OG_MIN(has, 0);
}

static int check_said(const struct og_npy_source *s, struct og_err *err)
{
    const int64_t n = s->imp->graph.n_nodes;
    if (s->said.nodes < 0 || s->said.nodes == n)
        return 0;
    return og__fail(err, -EINVAL, "correct meta.json, or remove it",
                    "%s/meta.json: \"num_nodes\" is %lld, %s has %lld nodes", s->imp->src,
                    (long long)s->said.nodes, s->node_type ? "node_type.npy" : "the edges' file",
                    (long long)n);
}

static int find_nodes(struct og_npy_source *s, struct og_err *err)
{
    int64_t n = rows_of_nodes(s);
    if (n < 0 && !s->node_type)
        OG_DO(og__by_id_count(s->imp, features_by_id, &n, err));
    if (n < 0 && !s->node_type && s->edge_type)
        return og__fail(err, -EINVAL, "add node_type.npy, or \"num_nodes\" to meta.json",
                        "%s: nothing says how many nodes there are", s->imp->src);
    if (n < 0 && !s->node_type)
        OG_DO(no_features(s, err));
    s->imp->nodes_from = nodes_from(s);
    OG_DO(og__npy_groups(s, n, err));
    return check_said(s, err);
}

/* A row for every node, or for every one of the first group. */
static int expect_rows(const struct og_npy_source *s, const struct og_table *t, const char *what,
                       struct og_err *err)
{
    const struct og_graph *g = &s->imp->graph;
    const int64_t first = g->group->n_nodes;
    const struct og_table *f = s->features;
    if (t && t != f && f && f->columns == t->rows && f->rows != t->rows)
        return og__fail(err, -EINVAL, "turn it round: array.T; a row has the features of a node",
                        "%s: [%lld, %lld], and %s has %lld %s", f->name, (long long)f->rows,
                        (long long)f->columns, file_of(t), (long long)t->rows, what);
    if (!t || t->rows == first || t->rows == g->n_nodes || first == g->n_nodes)
        return og__import_expect_rows(s->imp, t, t && t->rows == first ? first : g->n_nodes, what,
                                      err);
    return og__fail(err, -EINVAL, "a row for every node, or for every one of the first type",
                    "%s: %lld %s, the graph has %lld nodes%s, %lld of the first type", t->name,
                    (long long)t->rows, what, (long long)g->n_nodes, s->imp->nodes_by,
                    (long long)first);
}

static int tell_no_labels(const struct og_npy_source *s, struct og_err *err)
{
    const int labels = s->labels ? 1 : og__by_id_has(s->imp, labels_by_id, err);
    const int nodes = og__by_id_has(s->imp, nodes_by_id, err);
    if (labels == 0 && nodes >= 0)
        og__import_say(s->imp, "no %s: a graph without labels, for --task link and loaders",
                       nodes ? "column label in nodes.csv, nor another of --node-label"
                             : "label.npy or label.csv");
    return OG_MIN(OG_MIN(labels, nodes), 0);
}

static int open_source(struct og_npy_source *s, struct og_err *err)
{
    OG_DO(open_edges(s->imp, &s->edges, err));
    OG_DO(og__edges_check(&s->edges, err));
    OG_DO(open_nodes(s, err));
    OG_DO(og__npy_open_types(s, err));
    OG_DO(find_nodes(s, err));
    OG_DO(tell_no_labels(s, err));
    OG_DO(expect_rows(s, s->features, "rows", err));
    return expect_rows(s, s->labels, "labels", err);
}

/* ---- features ---- */

/* feat_<name>.npy of a group that has a name. */
static int open_own_features(const struct og_npy_source *s, uint32_t group, struct og_table **t,
                             struct og_table **values, struct og_err *err)
{
    const char *name = s->imp->graph.group[group].name;
    char file[OG__NPY_PREFIX + 4];
    snprintf(file, sizeof(file), "feat_%s.npy", name);
    return *name ? open_features(s->imp, (const char *const[NAMES]){file}, t, values, err) : 0;
}

/* Names of the columns, which meta.json has by types if there are several. */
static void note_feature_names(const struct og_npy_source *s, uint32_t group)
{
    const char *type = s->imp->graph.group[group].name;
    json_t *names = json_object_get(s->said.root, "feature_names");
    names = json_is_object(names) ? json_object_get(names, type) : names;
    if (names)
        og__column_note(s->imp, type, "feature_names", json_incref(names));
}

/* Imports a group's own features; or those of feat.npy, which covers all nodes or the first
 * group. */
static int import_group_features(struct og_npy_source *s, uint32_t group, struct og_err *err)
{
    const struct og_graph *g = &s->imp->graph;
    const bool all = s->features && s->features->rows == g->n_nodes;
    struct og_table *own = NULL;
    struct og_table *values = NULL;
    struct og_table *part = NULL;
    int rc;
    OG_TRY(open_own_features(s, group, &own, &values, err));
    if (!own && all && g->n_groups > 1)
        OG_TRY(og__npy_rows_of(&part, s, s->features, (int)group, err));
    struct og_table *const shared = part ? part : group == 0 ? s->features : NULL;
    note_feature_names(s, group);
    OG_TRY(og__import_features(s->imp, group, own ? own : shared, own ? values : s->values, err));
out:
    og__table_close(own);
    og__table_close(values);
    og__table_close(part);
    return rc;
}

static int import_features(struct og_npy_source *s, struct og_err *err)
{
    int rc = 0;
    if (!s->features)
        OG_TRY(og__by_id_open(s->imp, features_by_id, true, &s->features, err));
    for (uint32_t k = 0; k < s->imp->graph.n_groups; k++)
        OG_TRY(import_group_features(s, k, err));
out:
    og__table_close(s->features);
    s->features = NULL;
    return rc;
}

/* ---- features and times of edges ---- */

enum { EDGE_FILE = 3 * OG__TYPE_NAME_MAX + 32 };

/* Files with a row for each edge. */
static const struct edge_file {
    const char *names[NAMES]; /* in a homogeneous graph */
    const char *prefix;       /* of a relation's file */
    int (*import)(struct og_importer *imp, uint32_t relation, struct og_table *t,
                  struct og_err *err);
} edge_files[] = {
    /* lists may be sorted by times */
    {{"edge_times.npy", "edge_time.npy"}, "edge_times", og__import_edge_times},
    {{"edge_attr.npy", "edge_feat.npy"}, "edge_attr", og__import_edge_features},
};

/* Does the source name its files as a homogeneous graph does? With --drop-features the dataset has
 * a type and a relation all the same. */
static bool has_no_types(const struct og_npy_source *s)
{
    return !og__form_of(&s->imp->graph)->by_relation || (!s->node_type && !s->edge_type);
}

/* Names the relation's file. Returns 1, 0 if there is none, or an error. */
static int find_edge_file(const struct og_npy_source *s, const struct edge_file *of,
                          uint32_t relation, char name[EDGE_FILE], struct og_err *err)
{
    const struct og_graph *g = &s->imp->graph;
    const struct og_relation *r = &g->relation[relation];
    const char *found;
    if (!has_no_types(s)) {
        snprintf(name, EDGE_FILE, "%s_%s__%s__%s.npy", of->prefix, g->group[r->source].name,
                 r->name, g->group[r->destination].name);
        return og__import_has(s->imp, name, err);
    }
    const int rc = find_one_of(s->imp, of->names, &found, err);
    if (rc < 0 || !found)
        return rc;
    snprintf(name, EDGE_FILE, "%s", found);
    return 1;
}

/* Where relations have files of their own, one of the whole graph would be left out. */
static int refuse_common(const struct og_npy_source *s, const struct edge_file *of,
                         struct og_err *err)
{
    const struct og_graph *g = &s->imp->graph;
    const struct og_relation *r = g->relation;
    const char *found;
    int rc = 0;
    if (has_no_types(s))
        return 0;
    OG_TRY(find_one_of(s->imp, of->names, &found, err));
    if (found) {
        char hint[2 * EDGE_FILE];
        snprintf(hint, sizeof(hint), "name it %s_%s__%s__%s.npy, with a row for each edge of it",
                 of->prefix, g->group[r->source].name, r->name, g->group[r->destination].name);
        rc = og__fail(err, -EINVAL, hint, "%s/%s: a heterogeneous graph has a file per relation",
                      s->imp->src, found);
    }
out:
    return rc;
}

/* Rows follow their edges by number. */
static int number_edges(const struct og_npy_source *s, struct og_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(edge_files); i++)
        OG_TRY(refuse_common(s, &edge_files[i], err));
    for (size_t i = 0; i < OG_COUNT(edge_files); i++)
        for (uint32_t r = 0; r < s->imp->n_relations; r++) {
            char name[EDGE_FILE];
            OG_TRY(find_edge_file(s, &edge_files[i], r, name, err));
            s->imp->numbered |= rc > 0;
        }
    rc = 0;
out:
    return rc;
}

static int import_edge_rows(const struct og_npy_source *s, const struct edge_file *of,
                            uint32_t relation, const char *name, struct og_err *err)
{
    struct og_table *t = NULL;
    int rc;
    OG_TRY(og__import_open_npy(s->imp, name, false, &t, err));
    OG_TRY(of->import(s->imp, relation, t, err));
out:
    og__table_close(t);
    return rc;
}

static int import_edge_file(const struct og_npy_source *s, const struct edge_file *of,
                            struct og_err *err)
{
    int rc = 0;
    for (uint32_t r = 0; r < s->imp->n_relations; r++) {
        char name[EDGE_FILE];
        OG_TRY(find_edge_file(s, of, r, name, err));
        if (rc > 0)
            OG_TRY(import_edge_rows(s, of, r, name, err));
    }
    rc = 0;
out:
    return rc;
}

/* ---- times of nodes ---- */

static int import_times(struct og_npy_source *s, struct og_err *err)
{
    static const char *const names[NAMES] = {"node_times.npy", "node_time.npy"};
    static const char times_by_id[] = "node_times.csv";
    const int64_t n = s->imp->graph.n_nodes;
    const char *file;
    struct og_table *t = NULL;
    struct og_table *ours = NULL;
    int rc;
    OG_TRY(find_one_of(s->imp, names, &file, err));
    const int by_id = og__by_id_has(s->imp, times_by_id, err);
    OG_TRY(by_id);
    if (file && by_id)
        OG_TRY(og__fail(err, -EINVAL, "remove one of them", "%s: both %s and %s", s->imp->src, file,
                        times_by_id));
    if (!file && !by_id)
        return 0;
    OG_TRY(file ? og__import_open_npy(s->imp, file, false, &t, err)
                : og__by_id_open(s->imp, times_by_id, true, &t, err));
    OG_TRY(og__import_expect_rows(s->imp, t, n, "times", err));
    if (s->order.new_id)
        OG_TRY(og__npy_rows_of(&ours, s, t, -1, err));
    OG_TRY(og__import_times(s->imp, ours ? ours : t, og__array_name(OG__NODE_TIMES), n, err));
out:
    og__table_close(ours);
    og__table_close(t);
    return rc;
}

/* ---- labels ---- */

/* A label for each node, or for each of the first group, in the source's order. */
static int import_labels(struct og_npy_source *s, struct og_err *err)
{
    const struct og_graph *g = &s->imp->graph;
    struct og_table *ours = NULL;
    int rc = 0;
    if (!s->labels)
        OG_TRY(og__by_id_open(s->imp, labels_by_id, false, &s->labels, err));
    const bool first = s->labels && s->labels->rows == g->group->n_nodes;
    if (s->labels && !first && s->order.new_id)
        OG_TRY(og__npy_rows_of(&ours, s, s->labels, -1, err));
    OG_TRY(og__import_labels(s->imp, ours ? ours : s->labels,
                             first ? g->group->n_nodes : g->n_nodes, s->said.classes, err));
out:
    og__table_close(ours);
    return rc;
}

/* ---- names of nodes and classes ---- */

/* node_names.npy, or node_names_<type>.npy; or both files of long names. */
static int import_names(const struct og_npy_source *s, struct og_err *err)
{
    const struct og_graph *g = &s->imp->graph;
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && k < g->n_groups; k++) {
        const char *type = has_no_types(s) ? "" : g->group[k].name;
        char prefix[OG__NPY_PREFIX];
        struct og_node_names *names;
        snprintf(prefix, sizeof(prefix), "node_names%s%s", *type ? "_" : "", type);
        rc = og__import_find_names(s->imp, prefix, g->group[k].n_nodes, &names, err);
        if (names)
            rc = og__node_names_copy(names, s->imp->dir.temporary, og__node_names_prefix(g, k).text,
                                     s->imp->checksums, err);
        og__node_names_close(names);
    }
    return rc;
}

static void note_class_names(const struct og_npy_source *s)
{
    json_t *names = json_object_get(s->said.root, "class_names");
    const json_int_t classes = json_integer_value(json_object_get(s->imp->meta, "num_classes"));
    if (json_array_size(names) > 0 && classes > 0 && (json_int_t)json_array_size(names) != classes)
        og__import_warn(s->imp, "%s/meta.json: \"class_names\" has %zu names for %lld classes",
                        s->imp->src, json_array_size(names), (long long)classes);
    json_t *of_edges = json_object_get(s->said.root, "edge_class_names");
    if (names && !s->imp->class_names)
        og__import_note(s->imp, "class_names", json_incref(names));
    if (of_edges)
        og__import_note(s->imp, "edge_class_names", json_incref(of_edges));
}

/* ---- all of it ---- */

/* Names of meta.json for numbers of types that no node, or no edge, has. */
static void doubt_names(const struct og_npy_source *s, const char *list, const char *key,
                        const struct og_table *numbers, int64_t n)
{
    const json_t *said = json_object_get(s->said.root, list);
    const struct og_importer *imp = s->imp;
    struct og_names names = {.n = 0};
    size_t i;
    json_t *one;
    if (!numbers && json_array_size(said) > 1)
        og__import_warn(imp, "%s/meta.json: \"%s\" names %zu types, there is %s %.*s.npy", imp->src,
                        list, json_array_size(said),
                        imp->opt->drop_types ? "--drop-types, not" : "no", (int)strlen(list) - 1,
                        list);
    json_array_foreach(said, i, one)
    {
        if (numbers && json_integer_value(json_object_get(one, key)) >= n)
            og__names_add(&names, json_string_value(json_object_get(one, "name")));
    }
    if (names.n > 0)
        og__import_warn(imp, "%s/meta.json: \"%s\": of no %.4s: %s", imp->src, list, list,
                        og__names_text(&names));
}

static int import_lists(struct og_npy_source *s, struct og_err *err)
{
    int rc;
    OG_TRY(og__import_npy_splits(s->imp, err));
    for (enum og__split which = OG__TRAIN; which < OG__SPLITS; which++)
        OG_TRY(og__npy_edge_relations(s, which, err));
out:
    return rc;
}

static int import_nodes(struct og_npy_source *s, struct og_err *err)
{
    OG_DO(check_said(s, err));
    doubt_names(s, "node_types", "type", s->node_type, s->imp->graph.n_groups);
    doubt_names(s, "edge_types", "edge_type", s->edge_type, s->n_edge_types);
    OG_DO(import_features(s, err));
    OG_DO(import_labels(s, err));
    note_class_names(s);
    OG_DO(import_lists(s, err));
    return import_names(s, err);
}

int og__import_npy_rows(struct og_importer *imp, int64_t *rows, struct og_err *err)
{
    struct og_npy_source s = {.imp = imp};
    int rc = open_nodes(&s, err);
    *rows = rows_of_nodes(&s);
    imp->claimed = !s.features && !s.labels;
    close_source(&s);
    return rc;
}

static int import_beside_edges(struct og_importer *imp, struct og_err *err)
{
    struct og_npy_source s = {.imp = imp};
    int rc;
    OG_TRY(open_nodes(&s, err));
    OG_TRY(s.features ? 1 : og__by_id_has(imp, features_by_id, err));
    OG_TRY(rc > 0 ? tell_no_labels(&s, err) : 0);
    OG_TRY(import_times(&s, err));
    OG_TRY(import_nodes(&s, err));
out:
    close_source(&s);
    return rc;
}

int og__import_nodes_of(struct og_importer *imp, bool is_folder, struct og_err *err)
{
    if (is_folder)
        return import_beside_edges(imp, err);
    const int rc = og__import_features(imp, 0, NULL, NULL, err);
    return rc < 0 ? rc : og__import_labels(imp, NULL, 0, -1, err);
}

static int import_edges(struct og_npy_source *s, struct og_err *err)
{
    struct og_importer *imp = s->imp;
    OG_DO(og__npy_relations(s, err));
    OG_DO(need_features(s, err));
    OG_DO(number_edges(s, err));
    OG_DO(og__import_take_piece(imp, err));
    OG_DO(og__import_open_edges(imp, s->edges.weights != NULL, og__edges_rows(&s->edges), err));
    OG_DO(og__npy_add_edges(s, err));
    OG_DO(og__import_close_edges(imp, err));
    OG_DO(import_times(s, err));
    OG_DO(import_edge_file(s, &edge_files[0], err));
    OG_DO(imp->opt->by_time ? og__import_by_time(imp, err) : 0);
    return import_edge_file(s, &edge_files[1], err);
}

static int import_npy(struct og_importer *imp, struct og_err *err)
{
    struct og_npy_source s = {.imp = imp};
    int rc;
    OG_TRY(open_source(&s, err));
    OG_TRY(import_edges(&s, err));
    OG_TRY(import_nodes(&s, err));
    OG_TRY(og__npy_node_ids(&s, err));
out:
    close_source(&s);
    return rc;
}

const struct og_format og__format_npy = {
    .info =
        {.size = sizeof(struct og_import_format),
         .name = "npy",
         .files =
             "SRC is a folder with edges.npy or edge_index.npy, integers [E,2] of src,dst, or "
             "[2,E]. [2,2] is [E,2]. It has feat.npy or x.npy ([N,F]), or "
             "feat_indptr.npy, feat_indices.npy and feat_data.npy (CSR), or feat.npz by "
             "scipy.sparse.save_npz. It has label.npy or y.npy, "
             "train.npy, valid.npy and test.npy. Optional are edge_weight.npy, edge_attr.npy "
             "([E,D]) and "
             "meta.json. For --time there are node_times.npy [N], edge_times.npy [E], and "
             "train_times.npy and its relatives, a number a node of the split, or "
             "train_edge_times.npy, a number an edge of it. "
             "For --task link there are train_edges.npy, valid_edges.npy and test_edges.npy, or "
             "train_pos.npy, valid_pos.npy and test_pos.npy. Without the first all edges are "
             "learned. There are, "
             "for --task edge also train_edge_labels.npy and its relatives. "
             "Given negatives: valid_neg_edges.npy [m,2] or valid_neg_dst.npy "
             "[edges,k], test_... and train_... alike. A "
             "heterogeneous graph has node_type.npy and edge_type.npy, numbers that meta.json "
             "names. Its edge lists have train_edge_type.npy, valid_edge_type.npy and "
             "test_edge_type.npy. examples/export_dgl.py and export_pyg.py write this layout "
             "from DGL and PyTorch Geometric.",
         .signs = (const char *const[]){"edges.npy", "edge_index.npy", NULL},
         .node_arrays = true},
    .read = import_npy,
    .takes = OG__TAKES_WEIGHTS | OG__TAKES_TIMES,
    .deep = 0};

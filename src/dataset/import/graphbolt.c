/* GraphBolt's OnDiskDataset, from its raw files: metadata.yaml and the files that it names.
 *
 *   graph.nodes          the number of each type
 *   graph.edges          csv: src,dst a line; numpy: [2, E]; of each source:name:destination
 *   feature_data         domain node: the one named feat, or the only one of a type, [N, F]
 *   feature_data, edge   likewise, [E, F]; one called weight has the edges' weights, [E]
 *   tasks[0]             train_set, validation_set, test_set: seeds (node ids) and labels, which
 *                        are values if its name says so
 *
 * Labels are stored with their seeds, in three files; other nodes have no label. The type of the
 * sets becomes the first; the others follow in the file's order. So do relations. preprocessed/ is
 * pickled and not read. */
#include "dataset/import/columns.h"
#include "dataset/import/graphbolt_meta.h"
#include "dataset/import/import.h"

#include "dataset/convert.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "import";
static const char meta_file[] = "metadata.yaml";
static const char *const splits[3] = {"train.npy", "valid.npy", "test.npy"};

struct bolt {
    struct og_importer *imp;
    struct og_gb_meta *meta;
    const struct og_gb_task *task;         /* NULL = none */
    const char *labelled;                  /* the type of the sets, or NULL without sets */
    bool weighted;                         /* edges of all types have weights, which are read */
    struct og_table *features;             /* of the first group */
    struct og_table *seeds[3], *labels[3]; /* NULL = absent */
};

/* "metadata.yaml: WHAT VALUE" */
static int wrong(const struct bolt *b, const char *hint, const char *what, const char *value,
                 struct og_err *err)
{
    return og__fail(err, -EINVAL, hint, "%s/%s: %s%s", b->imp->src, meta_file, what,
                    value ? value : "(nothing)");
}

/* ---- opening ---- */

static int open_data(const struct bolt *b, const struct og_gb_data *d, enum og__npy_type csv_type,
                     int64_t columns, struct og_table **out, struct og_err *err)
{
    const char *format = d->format ? d->format : "";
    int rc;
    if (!d->path)
        return wrong(b, "every file has a path", "an entry without path: ", d->name, err);
    char *path;
    if ((rc = og__import_named(b->imp, d->path, meta_file, &path, err)) < 0)
        return rc;
    if (strcmp(format, "numpy") == 0)
        rc = og__table_npy(out, path, err);
    else if (strcmp(format, "csv") == 0)
        rc = og__table_csv(out, path, csv_type, columns, b->imp->budget, err);
    else
        rc = wrong(b, "csv and numpy are read; torch.load and numpy.save make the one of another",
                   "a file of format ", d->format, err);
    free(path);
    return rc;
}

/* "" and NULL are no type. */
static bool is_type(const char *type, const char *wanted)
{
    return wanted && *wanted ? type && strcmp(type, wanted) == 0 : !og__gb_typed(type);
}

/* Weights of the edges of a type; NULL: none. Those of the sampling graph go first. */
static const struct og_gb_data *weights_of(const struct bolt *b, const char *type)
{
    const struct og_gb_graph *g = &b->meta->graph;
    for (unsigned i = 0; i < g->n_features + b->meta->n_features; i++) {
        const struct og_gb_data *d =
            i < g->n_features ? &g->features[i] : &b->meta->features[i - g->n_features];
        if (d->domain && strcmp(d->domain, "edge") == 0 && is_type(d->type, type) && d->name &&
            og__column_of(d->name) == OG__COLUMN_WEIGHT)
            return d;
    }
    return NULL;
}

static void choose_weights(struct bolt *b)
{
    const uint32_t n = b->imp->n_relations;
    uint32_t found = 0;
    for (uint32_t r = 0; r < n; r++)
        found += weights_of(b, b->meta->graph.edges[r].type) != NULL;
    b->weighted = found == n && b->imp->opt->weight_column != 0;
    if (found > 0 && found < n)
        og__import_warn(b->imp, "%s/%s: weights of edges are not read: only some types have them",
                        b->imp->src, meta_file);
}

static int open_edges(void *bolt, uint32_t relation, struct og_edges *e, struct og_err *err)
{
    const struct bolt *b = bolt;
    const struct og_gb_data *d = &b->meta->graph.edges[relation];
    if (b->weighted)
        OG_DO(open_data(b, weights_of(b, d->type), OG__NPY_F64, 1, &e->weights, err));
    if (d->format && strcmp(d->format, "csv") == 0)
        return open_data(b, d, OG__NPY_I64, 2, &e->pairs, err);
    OG_DO(open_data(b, d, OG__NPY_I64, 2, &e->src, err));
    OG_DO(open_data(b, d, OG__NPY_I64, 2, &e->dst, err));
    return og__edges_two_rows(e, err);
}

/* Is it what features are called? Edges have times, weights and labels too. */
static bool is_feature(const struct og_gb_data *d, bool edges)
{
    const enum og_column what = edges && d->name ? og__column_of(d->name) : OG__COLUMN_UNKNOWN;
    return what == OG__COLUMN_UNKNOWN || what == OG__COLUMN_OTHER;
}

/* Chooses the features of a type, for its nodes or edges. Without any, and where those of edges are
 * unclear, *out is NULL. */
static int choose_features(const struct bolt *b, const char *type, bool edges,
                           const struct og_gb_data **out, struct og_err *err)
{
    const char *const domain = edges ? "edge" : "node";
    int candidates = 0;
    *out = NULL;
    for (unsigned i = 0; i < b->meta->n_features; i++) {
        const struct og_gb_data *d = &b->meta->features[i];
        if (!d->domain || strcmp(d->domain, domain) != 0 || !is_type(d->type, type) ||
            !is_feature(d, edges))
            continue;
        bool named = d->name && strcmp(d->name, "feat") == 0;
        candidates += named ? 1000 : 1;
        if (named || !*out)
            *out = d;
    }
    if (candidates <= 1 || candidates >= 1000)
        return 0;
    *out = NULL;
    return edges ? 0
                 : wrong(b, "call the one to train on feat", "several node features, none named ",
                         "feat", err);
}

static int find_features(const struct bolt *b, const char *type, bool edges, struct og_table **out,
                         struct og_err *err)
{
    const struct og_gb_data *chosen;
    const int rc = choose_features(b, type, edges, &chosen, err);
    return rc < 0 || !chosen ? rc : open_data(b, chosen, OG__NPY_F64, 0, out, err);
}

static int number_edges(const struct bolt *b, struct og_err *err)
{
    const struct og_gb_data *features;
    for (uint32_t r = 0; r < b->imp->n_relations; r++) {
        OG_DO(choose_features(b, b->meta->graph.edges[r].type, true, &features, err));
        b->imp->numbered |= features != NULL;
    }
    return 0;
}

static int import_edge_features(struct bolt *b, struct og_err *err)
{
    struct og_table *t = NULL;
    int rc = 0;
    for (uint32_t r = 0; r < b->imp->n_relations; r++) {
        OG_TRY(find_features(b, b->meta->graph.edges[r].type, true, &t, err));
        if (t)
            OG_TRY(og__import_edge_features(b->imp, r, t, err));
        og__table_close(t);
        t = NULL;
    }
out:
    og__table_close(t);
    return rc;
}

/* The first group's features are open already. */
static int open_features(void *bolt, uint32_t group, struct og_table **out, struct og_err *err)
{
    struct bolt *b = bolt;
    if (group > 0)
        return find_features(b, b->imp->graph.group[group].name, false, out, err);
    *out = b->features;
    b->features = NULL;
    return 0;
}

static int open_set(struct bolt *b, int split, struct og_err *err)
{
    const struct og_gb_set *set = b->task->set[split];
    if (b->task->n_sets[split] == 0)
        return 0;
    if (b->task->n_sets[split] > 1 || !is_type(set->type, b->labelled))
        return wrong(b, "sets of nodes of one type are read, the same in all",
                     "a set of another type: ", set->type, err);
    for (unsigned i = 0; i < set->n_data; i++) {
        const char *name = set->data[i].name ? set->data[i].name : "";
        const bool seeds = strcmp(name, "seeds") == 0 || strcmp(name, "seed_nodes") == 0;
        struct og_table **to = seeds                         ? &b->seeds[split]
                               : strcmp(name, "labels") == 0 ? &b->labels[split]
                                                             : NULL;
        if (to && !*to)
            OG_DO(open_data(b, &set->data[i], to == &b->seeds[split] ? OG__NPY_I64 : OG__NPY_F64,
                            to == &b->seeds[split], to, err));
    }
    if (!b->seeds[split])
        OG_DO(wrong(b, "a set has seeds: node ids", "a set without seeds: ", splits[split], err));
    return 0;
}

/* ---- labels: a table in the order of nodes, filled from the sets a range at a time ---- */

struct label_table {
    struct og_table t;
    const struct bolt *b;
    int64_t first, n, room; /* nodes in rows */
    double *rows;           /* [room, columns] */
};

enum { PIECE = 4096 };

/* Rows of one set that fall into the range. */
static int fill_from(struct label_table *l, struct og_table *seeds, struct og_table *labels,
                     struct og_err *err)
{
    const size_t width = (size_t)l->t.columns;
    const int64_t step = OG_MAX((int64_t)PIECE / l->t.columns, (int64_t)1);
    int64_t ids[PIECE];
    int64_t n = 0;
    int64_t m = 0;
    size_t bytes = (size_t)step * og__table_row_bytes(labels);
    char *raw = og__alloc(l->b->imp->budget, bytes, part, err);
    int rc;
    OG_TRY(raw ? og__table_rewind(seeds, err) : -ENOMEM);
    OG_TRY(og__table_rewind(labels, err));
    for (;;) {
        OG_TRY(og__table_read(seeds, ids, step, &n, err));
        if (n == 0)
            break;
        OG_TRY(og__table_read(labels, raw, n, &m, err));
        if (m != n)
            OG_TRY(og__fail(err, -EINVAL, "a label for every seed", "%s: ends before %s",
                            labels->name, seeds->name));
        for (int64_t i = 0; i < n; i++) {
            int64_t v = og__integer_at(seeds->type, ids, (size_t)i) - l->first;
            for (size_t j = 0; v >= 0 && v < l->n && j < width; j++)
                l->rows[(size_t)v * width + j] =
                    og__number_at(labels->type, raw, (size_t)i * width + j);
        }
    }
    OG_TRY(og__table_read(labels, raw, 1, &m, err));
    if (m > 0)
        OG_TRY(og__fail(err, -EINVAL, "a label for every seed", "%s: has more rows than %s",
                        labels->name, seeds->name));
out:
    og__release(l->b->imp->budget, raw, bytes, part);
    return rc;
}

static int fill_range(struct label_table *l, struct og_err *err)
{
    const size_t width = (size_t)l->t.columns;
    for (size_t i = 0; i < (size_t)l->n * width; i++)
        l->rows[i] = NAN;
    for (int s = 0; s < 3; s++)
        if (l->b->seeds[s] && l->b->labels[s])
            OG_DO(fill_from(l, l->b->seeds[s], l->b->labels[s], err));
    return 0;
}

static int label_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    struct label_table *l = (struct label_table *)t;
    const size_t width = (size_t)t->columns;
    for (*got = 0; *got < want;) {
        int64_t v = t->next + *got;
        if (v >= l->first + l->n) {
            l->first = v;
            l->n = OG_MIN(l->room, t->rows - v);
            OG_DO(fill_range(l, err));
        }
        int64_t n = OG_MIN(want - *got, l->first + l->n - v);
        memcpy((double *)out + (size_t)*got * width, l->rows + (size_t)(v - l->first) * width,
               (size_t)n * width * sizeof(double));
        *got += n;
    }
    return 0;
}

static int label_rewind(struct og_table *t, struct og_err *err)
{
    struct label_table *l = (struct label_table *)t;
    (void)err;
    l->first = l->n = 0;
    return 0;
}

static void label_close(struct og_table *t)
{
    (void)t; /* lives in import_labels */
}

static const struct og_table_ops label_ops = {label_read, label_rewind, label_close, NULL};

static int check_labels(const struct bolt *b, int64_t *columns, struct og_err *err)
{
    *columns = 0;
    for (int s = 0; s < 3; s++) {
        const struct og_table *seeds = b->seeds[s];
        const struct og_table *labels = b->labels[s];
        if (seeds && (!og__npy_is_integer(seeds->type) || seeds->columns != 1))
            return og__fail(err, -EINVAL, "sets of nodes are read: integers [n]",
                            "%s: seeds of %s [%lld, %lld]", seeds->name, og__npy_name(seeds->type),
                            (long long)seeds->rows, (long long)seeds->columns);
        if (!labels || !seeds)
            continue;
        if (*columns > 0 && labels->columns != *columns)
            return og__fail(err, -EINVAL, "labels of all sets have as many columns",
                            "%s: %lld columns, others have %lld", labels->name,
                            (long long)labels->columns, (long long)*columns);
        if (labels->columns < 1 || labels->columns > INT32_MAX / 8 ||
            (labels->rows >= 0 && seeds->rows >= 0 && labels->rows != seeds->rows))
            return og__fail(err, -EINVAL, "a label for every seed",
                            "%s: [%lld, %lld] for %lld seeds", labels->name,
                            (long long)labels->rows, (long long)labels->columns,
                            (long long)seeds->rows);
        *columns = labels->columns;
    }
    return 0;
}

static int import_labels(struct bolt *b, struct og_err *err)
{
    int64_t said = b->task ? b->task->num_classes : -1;
    struct og_budget *budget = b->imp->budget;
    int64_t columns;
    int rc;
    OG_TRY(check_labels(b, &columns, err));
    if (columns == 0)
        return og__import_labels(b->imp, NULL, 0, said, err);
    size_t row = (size_t)columns * sizeof(double);
    char name[PATH_MAX];
    snprintf(name, sizeof(name), "%s/%s: labels of the sets", b->imp->src, meta_file);
    int64_t fits = (int64_t)(og__budget_left(budget) / 4 / row);
    struct label_table l = {.t = {.ops = &label_ops,
                                  .name = name,
                                  .type = OG__NPY_F64,
                                  .ndim = columns > 1 ? 2 : 1,
                                  .rows = b->imp->graph.n_nodes,
                                  .columns = columns},
                            .b = b,
                            .room = OG_MAX(OG_MIN(fits, b->imp->graph.n_nodes), (int64_t)1)};
    l.rows = og__alloc(budget, (size_t)l.room * row, part, err);
    rc = l.rows ? og__import_labels(b->imp, &l.t, l.t.rows, said, err) : -ENOMEM;
    og__release(budget, l.rows, (size_t)l.room * row, part);
out:
    return rc;
}

/* ---- groups and relations ---- */

static const char edge_hint[] = "types of edges are source:name:destination, of types of nodes";

static int add_type(struct bolt *b, const struct og_gb_nodes *n, struct og_err *err)
{
    if (!og__gb_typed(n->type))
        return wrong(b, "all types of nodes have names, or there is one without",
                     "nodes without a type among several: ", n->type, err);
    return og__schema_add_group(&b->imp->graph, n->type, n->num, b->imp->src, err);
}

static bool is_labelled(const struct bolt *b, const struct og_gb_nodes *n)
{
    return b->labelled && n->type && strcmp(n->type, b->labelled) == 0;
}

static int add_types(struct bolt *b, struct og_err *err)
{
    const struct og_gb_graph *g = &b->meta->graph;
    for (unsigned i = 0; i < g->n_nodes; i++)
        if (is_labelled(b, &g->nodes[i]))
            OG_DO(add_type(b, &g->nodes[i], err));
    if (b->labelled && b->imp->graph.n_groups == 0)
        OG_DO(wrong(b, "sets are of one of graph.nodes", "a set of type ", b->labelled, err));
    for (unsigned i = 0; i < g->n_nodes; i++)
        if (!is_labelled(b, &g->nodes[i]))
            OG_DO(add_type(b, &g->nodes[i], err));
    return 0;
}

/* "author:writes:paper" */
static int add_relation(struct bolt *b, const char *type, struct og_err *err)
{
    char text[3 * (OG__TYPE_NAME_MAX + 1) + 1];
    if (!og__gb_typed(type) || strlen(type) >= sizeof(text))
        return wrong(b, edge_hint, "edges of type ", type, err);
    snprintf(text, sizeof(text), "%s", type);
    char *name = strchr(text, ':');
    char *to = name ? strchr(name + 1, ':') : NULL;
    if (!to)
        return wrong(b, edge_hint, "edges of type ", type, err);
    *name++ = *to++ = 0;
    const int source = og__schema_find(&b->imp->graph, text);
    const int destination = og__schema_find(&b->imp->graph, to);
    if (source < 0 || destination < 0)
        return wrong(b, edge_hint, "edges of type ", type, err);
    return og__schema_add_relation(&b->imp->graph, (uint32_t)source, name, (uint32_t)destination,
                                   b->imp->src, err);
}

static const char *type_of_sets(const struct bolt *b)
{
    const struct og_gb_task *t = b->task;
    for (int s = 0; t && s < 3; s++)
        if (t->n_sets[s] > 0 && og__gb_typed(t->set[s]->type))
            return t->set[s]->type;
    return NULL;
}

/* Is there one node type and one edge type, both without names? */
static bool is_plain(const struct og_gb_graph *g)
{
    return g->n_nodes == 1 && g->n_edges == 1 && !og__gb_typed(g->nodes->type) &&
           !og__gb_typed(g->edges->type);
}

static int find_groups(struct bolt *b, struct og_err *err)
{
    const struct og_gb_graph *g = &b->meta->graph;
    if (is_plain(g))
        return og__import_set_nodes(b->imp, g->nodes->num, err);
    if (b->imp->opt->drop_types)
        return og__fail(err, -ENOTSUP, "leave out --drop-types",
                        "%s: --drop-types: nodes of types have files of their own", b->imp->src);
    b->labelled = type_of_sets(b);
    OG_DO(og__import_with_types(b->imp, err));
    OG_DO(add_types(b, err));
    for (unsigned i = 0; i < g->n_edges; i++)
        OG_DO(add_relation(b, g->edges[i].type, err));
    return og__import_resolve(b->imp, err);
}

/* ---- all ---- */

static int read_meta(struct bolt *b, struct og_err *err)
{
    char *path = og__import_source(b->imp, meta_file);
    char *text = NULL;
    size_t len = 0;
    int rc;
    OG_TRY(path ? og__read_text(path, OG_MIB, &text, &len, err)
                : og__fail_errno(err, -ENOMEM, NULL, "%s", meta_file));
    OG_TRY(og__gb_meta_parse(&b->meta, text, len, path, err));
    og__import_set_name(b->imp, b->meta->name);
    b->imp->nodes_from = meta_file;
    if (b->meta->n_tasks > 0)
        b->task = b->meta->tasks;
    og__import_task(b->imp, b->task ? b->task->name : NULL);
    if (b->meta->unread.n > 0)
        og__import_warn(b->imp, "%s: keys that are not read: %s", path,
                        og__names_text(&b->meta->unread));
    if (b->meta->n_tasks > 1)
        og__import_warn(b->imp, "%s: the first of its tasks is read", path);
out:
    free(text);
    free(path);
    return rc;
}

static int open_all(struct bolt *b, struct og_err *err)
{
    struct og_importer *imp = b->imp;
    int rc;
    OG_TRY(read_meta(b, err));
    OG_TRY(find_groups(b, err));
    OG_TRY(number_edges(b, err));
    choose_weights(b);
    OG_TRY(find_features(b, imp->graph.group->name, false, &b->features, err));
    imp->claimed = imp->claimed || !b->features || b->features->rows < 0;
    OG_TRY(og__import_expect_rows(imp, b->features, imp->graph.group->n_nodes, "rows", err));
    for (int s = 0; b->task && s < 3; s++)
        OG_TRY(open_set(b, s, err));
out:
    return rc;
}

/* Splits of the first group. */
static int import_splits(struct bolt *b, struct og_err *err)
{
    for (int s = 0; s < 3; s++) {
        if (!b->seeds[s])
            continue;
        OG_DO(og__table_rewind(b->seeds[s], err));
        OG_DO(og__import_split(b->imp, b->seeds[s], b->imp->graph.group->n_nodes, splits[s], err));
    }
    return 0;
}

static int import_all(struct bolt *b, struct og_err *err)
{
    struct og_importer *imp = b->imp;
    OG_DO(open_all(b, err));
    OG_DO(og__import_count_edges(imp, open_edges, b, err));
    OG_DO(og__import_relations(imp, open_edges, b->weighted, b, err));
    OG_DO(import_edge_features(b, err));
    OG_DO(og__import_groups(imp, open_features, b, err));
    const bool last = imp->graph.has_types;
    OG_DO(last ? 0 : import_labels(b, err));
    OG_DO(import_splits(b, err));
    return last ? import_labels(b, err) : 0;
}

static int import_graphbolt(struct og_importer *imp, struct og_err *err)
{
    struct bolt b = {.imp = imp};
    const int rc = import_all(&b, err);
    og__table_close(b.features);
    for (int s = 0; s < 3; s++) {
        og__table_close(b.seeds[s]);
        og__table_close(b.labels[s]);
    }
    og__gb_meta_free(b.meta);
    return rc;
}

const struct og_format og__format_graphbolt = {
    .info = {.size = sizeof(struct og_import_format),
             .name = "graphbolt",
             .files = "SRC holds metadata.yaml and the csv and numpy files it names.",
             .signs = (const char *const[]){"metadata.yaml", NULL}},
    .read = import_graphbolt,
    .deep = 4,
    .takes = OG__TAKES_WEIGHTS};

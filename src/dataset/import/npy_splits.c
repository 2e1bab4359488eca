/* Splits of NumPy's files: lists of nodes and of edges, and what has a row for each. */
#include "dataset/import/by_id.h"
#include "dataset/import/npy.h"

#include <stdio.h>
#include <string.h>

/* Are the numbers in it ids or rows? */
static int doubtful(const struct og_importer *imp, const struct og_table *t, const char *split,
                    struct og_err *err)
{
    if (!imp->ids.list)
        return 0;
    char hint[160];
    snprintf(hint, sizeof(hint), "write the ids to %s.csv, one a line", split);
    return og__fail(err, -EINVAL, hint,
                    "%s: rows or ids? Nodes are renumbered, and CSV files have ids", t->name);
}

/* Files that a split may be in: one of them, or none. */
static const struct split {
    const char *name; /* in the dataset */
    const char *file[9];
} splits[] = {
    {"train", {"train.npy", "train_idx.npy", "train_mask.npy", "train.csv"}},
    {"valid",
     {"valid.npy", "val.npy", "valid_idx.npy", "val_idx.npy", "valid_mask.npy", "val_mask.npy",
      "valid.csv", "val.csv"}},
    {"test", {"test.npy", "test_idx.npy", "test_mask.npy", "test.csv"}},
    {"train_edges", {"train_edges.npy", "train_pos.npy"}},
    {"valid_edges", {"valid_edges.npy", "val_edges.npy", "valid_pos.npy", "val_pos.npy"}},
    {"test_edges", {"test_edges.npy", "test_pos.npy"}},
};
static const struct split *const edges_of = &splits[OG_COUNT(splits) - OG__SPLITS];
static const struct split graph_edges = {"edges", {"edges.npy", "edge_index.npy"}};

/* Given negatives of edges: pairs [m, 2] for all of them, or destinations [edges, k] for each.
 * Files without an ending that says which are of either form. */
static const struct split negatives[OG__SPLITS] = {
    [OG__TRAIN] = {"train_edges", {"train_neg_edges.npy", "train_neg_dst.npy", "train_neg.npy"}},
    [OG__VALID] = {"valid_edges",
                   {"valid_neg_edges.npy", "val_neg_edges.npy", "valid_neg_dst.npy",
                    "val_neg_dst.npy", "valid_neg.npy", "val_neg.npy"}},
    [OG__TEST] = {"test_edges", {"test_neg_edges.npy", "test_neg_dst.npy", "test_neg.npy"}},
};

static bool is_text(const char *file)
{
    return strcmp(file + strlen(file) - 4, ".csv") == 0;
}

/* file = NULL if absent. */
static int find_split(const struct og_importer *imp, const struct split *s, const char **file,
                      struct og_err *err)
{
    int rc = 0;
    *file = NULL;
    for (size_t i = 0; s->file[i]; i++) {
        rc = is_text(s->file[i]) ? og__by_id_has(imp, s->file[i], err)
                                 : og__import_has(imp, s->file[i], err);
        if (rc < 0)
            return rc;
        if (rc > 0 && *file)
            return og__fail(err, -EINVAL, "remove one of them", "%s: both %s and %s", imp->src,
                            *file, s->file[i]);
        if (rc > 0)
            *file = s->file[i];
    }
    return 0;
}

/* The file of a split's edges. Where other edges are held out and none named to train on, these are
 * the graph's own. */
static int find_edges(const struct og_importer *imp, enum og__split which, const char **file,
                      struct og_err *err)
{
    const char *valid, *test;
    int rc;
    OG_TRY(find_split(imp, &edges_of[which], file, err));
    if (*file || which != OG__TRAIN || imp->ids.list)
        return 0;
    OG_TRY(find_split(imp, &edges_of[OG__VALID], &valid, err));
    OG_TRY(find_split(imp, &edges_of[OG__TEST], &test, err));
    OG_TRY(og__import_has(imp, "edge_type.npy", err));
    if (rc == 0 && (valid || test))
        OG_TRY(find_split(imp, &graph_edges, file, err));
out:
    return rc;
}

static int import_edges(struct og_importer *imp, enum og__split which, struct og_err *err)
{
    char name[32];
    struct og_table *t = NULL;
    const char *file;
    int rc = find_edges(imp, which, &file, err);
    if (rc < 0 || !file)
        return rc;
    snprintf(name, sizeof(name), "%s.npy", edges_of[which].name);
    OG_TRY(og__import_open_pairs(imp, file, &t, err));
    OG_TRY(doubtful(imp, t, edges_of[which].name, err));
    OG_TRY(og__import_edge_split(imp, t, name, err));
    if (file == graph_edges.file[0] || file == graph_edges.file[1])
        og__import_say(imp, "%s: all are training edges, as others are held out", t->name);
out:
    og__table_close(t);
    return rc;
}

static int import_split(struct og_importer *imp, const struct split *s, struct og_err *err)
{
    char name[32];
    struct og_table *t = NULL;
    const char *file;
    int rc = find_split(imp, s, &file, err);
    if (rc < 0 || !file)
        return rc;
    snprintf(name, sizeof(name), "%s.npy", s->name);
    if (is_text(file))
        OG_TRY(og__by_id_list(imp, file, &t, err));
    else
        OG_TRY(og__import_open_npy(imp, file, false, &t, err));
    if (!t)
        return 0;
    if (!is_text(file))
        OG_TRY(doubtful(imp, t, s->name, err));
    rc = og__import_split(imp, t, imp->graph.n_nodes, name, err);
out:
    og__table_close(t);
    return rc;
}

/* Edges of the source's list; -1: there is none. */
static int count_edges(struct og_importer *imp, enum og__split which, int64_t *n,
                       struct og_err *err)
{
    struct og_table *t = NULL;
    const char *file;
    int rc = find_edges(imp, which, &file, err);
    *n = -1;
    if (rc < 0 || !file)
        return rc;
    rc = og__import_open_pairs(imp, file, &t, err);
    *n = rc < 0 ? -1 : t->rows;
    og__table_close(t);
    return rc;
}

static int import_negatives(struct og_importer *imp, enum og__split which, struct og_err *err)
{
    struct og_table *t = NULL;
    const char *file;
    int64_t edges;
    int rc = find_split(imp, &negatives[which], &file, err);
    if (rc < 0 || !file)
        return rc;
    OG_TRY(count_edges(imp, which, &edges, err));
    OG_TRY(og__import_open_npy(imp, file, false, &t, err));
    OG_TRY(doubtful(imp, t, "edges", err));
    const bool said_edges = strstr(file, "_edges"), said_each = strstr(file, "_dst");
    const bool each = said_each || (!said_edges && t->columns != 2);
    OG_TRY(og__import_negatives(imp, t, which, each, edges, err));
    og__import_say(imp, "%s: %lld negatives for %s", t->name,
                   (long long)(each ? t->columns : t->rows), each ? "each edge" : "all edges");
out:
    og__table_close(t);
    return rc;
}

/* Files with a row per edge of a list. */
static const struct split edge_labels[OG__SPLITS] = {
    {"train_edges", {"train_edge_labels.npy", "train_edge_label.npy"}},
    {"valid_edges",
     {"valid_edge_labels.npy", "valid_edge_label.npy", "val_edge_labels.npy",
      "val_edge_label.npy"}},
    {"test_edges", {"test_edge_labels.npy", "test_edge_label.npy"}}};
static const struct split edge_rows[OG__SPLITS] = {
    {"train_edges", {"train_edge_attr.npy"}},
    {"valid_edges", {"valid_edge_attr.npy", "val_edge_attr.npy"}},
    {"test_edges", {"test_edge_attr.npy"}}};
static const struct split edge_times[OG__SPLITS] = {
    {"train_edges", {"train_edge_times.npy", "train_edge_time.npy"}},
    {"valid_edges",
     {"valid_edge_times.npy", "valid_edge_time.npy", "val_edge_times.npy", "val_edge_time.npy"}},
    {"test_edges", {"test_edge_times.npy", "test_edge_time.npy"}}};

static const struct split edge_types[OG__SPLITS] = {
    {"train_edges", {"train_edge_type.npy"}},
    {"valid_edges", {"valid_edge_type.npy", "val_edge_type.npy"}},
    {"test_edges", {"test_edge_type.npy"}}};

int og__npy_edge_types_file(const struct og_importer *imp, enum og__split which, const char **file,
                            struct og_err *err)
{
    return find_split(imp, &edge_types[which], file, err);
}

typedef int import_row_fn(struct og_importer *imp, struct og_table *t, enum og__split split,
                          int64_t edges, struct og_err *err);

static int import_of_edges(struct og_importer *imp, const struct split *of, enum og__split which,
                           import_row_fn *rows, struct og_err *err)
{
    struct og_table *t = NULL;
    const char *file;
    int64_t edges;
    int rc = find_split(imp, of, &file, err);
    if (rc < 0 || !file)
        return rc;
    OG_TRY(count_edges(imp, which, &edges, err));
    OG_TRY(og__import_open_npy(imp, file, false, &t, err));
    OG_TRY(doubtful(imp, t, "edges", err));
    rc = rows(imp, t, which, edges, err);
out:
    og__table_close(t);
    return rc;
}

/* A time of each node of a split, in the order of its list. */
static int import_split_times(struct og_importer *imp, enum og__split which, struct og_err *err)
{
    struct og_table *t = NULL;
    struct og_table *list = NULL;
    const char *file;
    char name[32];
    int rc;
    snprintf(name, sizeof(name), "%s.npy", og__listed_name(OG__NODE_LIST_TIMES, which));
    OG_TRY(og__import_open_npy(imp, name, true, &t, err));
    if (!t)
        return 0;
    OG_TRY(find_split(imp, &splits[which], &file, err));
    if (!file || strstr(file, "mask") || strstr(file, ".csv"))
        OG_TRY(og__fail(err, -EINVAL, "store the split as a list of nodes",
                        "%s: times require a list of node ids, the split is a mask or CSV",
                        t->name));
    OG_TRY(og__import_open_npy(imp, file, false, &list, err));
    if (t->rows != list->rows)
        OG_TRY(og__fail(err, -EINVAL, "a time per node of the list, in its order",
                        "%s: %lld times for %lld nodes of %s", t->name, (long long)t->rows,
                        (long long)list->rows, file));
    OG_TRY(og__import_times(imp, t, og__listed_name(OG__NODE_LIST_TIMES, which), list->rows, err));
out:
    og__table_close(list);
    og__table_close(t);
    return rc;
}

int og__import_npy_splits(struct og_importer *imp, struct og_err *err)
{
    int rc = 0;
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
        OG_TRY(import_split(imp, &splits[s], err));
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
        OG_TRY(import_edges(imp, s, err));
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++) {
        OG_TRY(import_negatives(imp, s, err));
        OG_TRY(import_of_edges(imp, &edge_labels[s], s, og__import_edge_labels, err));
        OG_TRY(import_of_edges(imp, &edge_rows[s], s, og__import_edge_rows, err));
        OG_TRY(import_of_edges(imp, &edge_times[s], s, og__import_edge_list_times, err));
        OG_TRY(import_split_times(imp, s, err));
    }
    if (!imp->has_splits && !imp->opt->split)
        og__import_say(imp,
                       "no train.npy or train.csv with the ids of training nodes, nor --split: "
                       "for predict, --task link and loaders");
out:
    return rc;
}

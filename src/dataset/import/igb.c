/* The Illinois Graph Benchmark's papers and citations: SRC/processed/...
 *
 *   paper/node_feat.npy                     [N, 1024] float32
 *   paper/node_label_19.npy                 or _2K: a class a paper, as float32
 *   paper__cites__paper/edge_index.npy      [E, 2]
 *
 * and, in the heterogeneous sets, <type>/node_feat.npy and
 * <source>__<name>__<destination>/edge_index.npy of others.
 *
 * In the two largest sets, features and labels are named .npy but have no header. The magic
 * distinguishes them. Their labels may be fewer than the nodes; the rest has none. IGB publishes no
 * splits. All sizes use those of its loader for the full set: the first 60 % of the labelled
 * papers, then 20 % and 20 %. SRC may have train.npy, valid.npy, test.npy instead. */
#include "dataset/import/folders.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 1024 };
static const char default_labels[] = "node_label_19.npy";

static int open_either(const struct og_importer *imp, const char *name, enum og__npy_type type,
                       int64_t columns, struct og_table **out, struct og_err *err)
{
    bool npy = false;
    char *path = og__import_source(imp, name);
    int rc;
    OG_TRY(path ? og__is_npy(path, &npy, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", name));
    OG_TRY(npy ? og__table_npy(out, path, err) : og__table_raw(out, path, type, columns, err));
out:
    free(path);
    return rc;
}

/* The full set: how many papers have labels (IGB's own count). */
static int64_t labelled(int64_t nodes, const char *labels)
{
    if (nodes != 269346174)
        return nodes;
    return strstr(labels, "2K") ? 157675969 : 227130858;
}

static int open_labels(struct og_importer *imp, int64_t nodes, struct og_table **out,
                       struct og_err *err)
{
    const char *labels = imp->opt->labels ? imp->opt->labels : default_labels;
    char *name = NULL;
    int rc;
    OG_TRY(og__import_inside(labels, "--labels", err)); /* the user's word: links are his too */
    if (asprintf(&name, "processed/paper/%s", labels) < 0) {
        name = NULL;
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src));
    }
    OG_TRY(open_either(imp, name, OG__NPY_F32, 1, out, err));
    assert(*out); /* open_either */
    if ((*out)->rows > nodes)
        OG_TRY(og__fail(err, -EINVAL, "labels may end before the nodes do, not after them",
                        "%s: %lld labels, there are %lld nodes", (*out)->name,
                        (long long)(*out)->rows, (long long)nodes));
    (*out)->rows = OG_MIN((*out)->rows, labelled(nodes, labels));
out:
    free(name);
    return rc;
}

static int write_range(struct og_importer *imp, const char *name, int64_t first, int64_t end,
                       struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    int rc;
    OG_TRY(og__array_create(&w, imp->dir.temporary, name, OG__NPY_I64, 1, 1, err));
    for (int64_t v = first; v < end; v++)
        OG_TRY(og__npy_append(w, &v, 1, err));
    rc = og__array_finish(&w, name, imp->checksums, err);
out:
    og__npy_discard(w);
    return rc;
}

static int import_splits(struct og_importer *imp, int64_t n, struct og_err *err)
{
    int64_t train = n / 10 * 6 + n % 10 * 6 / 10;
    int64_t valid = n / 10 * 8 + n % 10 * 8 / 10;
    int rc = og__import_has(imp, "train.npy", err);
    if (rc != 0)
        return rc < 0 ? rc : og__import_npy_splits(imp, err);
    if (imp->opt->split)
        return 0;
    OG_TRY(write_range(imp, "train.npy", 0, train, err));
    OG_TRY(write_range(imp, "valid.npy", train, valid, err));
    OG_TRY(write_range(imp, "test.npy", valid, n, err));
out:
    return rc;
}

/* ---- all ---- */

static int open_edges(const struct og_importer *imp, const char *name, struct og_edges *e,
                      struct og_err *err)
{
    return open_either(imp, name, OG__NPY_I64, 2, &e->pairs, err);
}

static int open_features(const struct og_importer *imp, const char *name, struct og_table **out,
                         struct og_err *err)
{
    return open_either(imp, name, OG__NPY_F32, COLUMNS, out, err);
}

static int import_igb(struct og_importer *imp, struct og_err *err)
{
    static const struct og_folder_layout layout = {.join = "__",
                                                   .only = "paper__cites__paper",
                                                   .labelled = "paper",
                                                   .open_edges = open_edges,
                                                   .open_features = open_features};
    struct og_folders *f = NULL;
    struct og_table *labels = NULL;
    int rc;
    OG_TRY(og__folders_open(&f, imp, &layout, err));
    OG_TRY(open_labels(imp, imp->graph.group->n_nodes, &labels, err));
    OG_TRY(og__import_count_edges(imp, og__folders_edges, f, err));
    OG_TRY(og__import_relations(imp, og__folders_edges, false, f, err));
    OG_TRY(og__import_groups(imp, og__folders_features, f, err));
    OG_TRY(og__import_labels(imp, labels, labels->rows, -1, err));
    OG_TRY(import_splits(imp, labels->rows, err));
out:
    og__folders_close(f);
    og__table_close(labels);
    return rc;
}

const struct og_format og__format_igb = {
    .info = {.size = sizeof(struct og_import_format),
             .name = "igb",
             .files =
                 "SRC is one size of the Illinois Graph Benchmark, with .npy or headerless files.",
             .signs = (const char *const[]){"processed/paper__cites__paper/edge_index.npy", NULL}},
    .read = import_igb,
    .deep = 4,
    .takes = OG__TAKES_LABELS};

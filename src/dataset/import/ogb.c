/* The Open Graph Benchmark's node datasets, as its archives unpack.
 *
 *   ogbn-*        raw/edge.csv.gz, num-node-list.csv.gz, node-feat.csv.gz, node-label.csv.gz
 *   papers100M    raw/data.npz: edge_index [2,E], node_feat; raw/node-label.npz: node_label
 *   both          split/<name>/{train,valid,test}.csv.gz
 *   MAG240M       processed/paper/{node_feat,node_label}.npy,
 *                 processed/paper___cites___paper/edge_index.npy [2,E]; splits as train.npy,
 *                 valid.npy, test.npy in SRC, which examples/mag240m_splits.py writes
 *
 * A label of NaN is none. Datasets of several node types other than MAG240M's papers are refused.
 */
#include "dataset/import/ogb.h"

#include "dataset/import/typed_folders.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct ogb {
    struct og_importer *imp;
    struct og_edges edges;
    struct og_table *features, *labels;
    int64_t said_edges; /* -1 = not said */
};

/* ---- opening ---- */

/* `name` is there, or nothing like it: not unpacked, without its .gz. */
static int check_packed(const struct og_importer *imp, const char *name, struct og_err *err)
{
    char plain[256];
    snprintf(plain, sizeof(plain), "%.*s", (int)(strlen(name) - strlen(".gz")), name);
    int rc = og__import_has(imp, name, err);
    if (rc == 0)
        rc = og__import_has(imp, plain, err);
    else
        rc = OG_MIN(rc, 0);
    return rc <= 0 ? rc
                   : og__fail(err, -ENOENT, "pack it again: gzip FILE", "%s/%s: not there, %s is",
                              imp->src, name, plain);
}

int og__ogb_csv(const struct og_importer *imp, const char *name, enum og__npy_type type,
                int64_t columns, struct og_table **out, struct og_err *err)
{
    int rc = check_packed(imp, name, err);
    if (rc < 0)
        return rc;
    char *path = og__import_source(imp, name);
    rc = path ? og__table_csv(out, path, type, columns, imp->budget, err)
              : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    free(path);
    return rc;
}

static int open_member(const struct og_importer *imp, const char *name, const char *member,
                       struct og_table **out, struct og_err *err)
{
    char *path = og__import_source(imp, name);
    int rc = path ? og__table_zip(out, path, member, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    free(path);
    return rc;
}

/* The one number in a table, a count. Closes it. */
int og__ogb_number(struct og_table *t, int64_t *n, struct og_err *err)
{
    int64_t raw[2] = {0};
    int64_t got = 0;
    int rc = 0;
    if (og__npy_is_integer(t->type) && t->columns == 1)
        OG_TRY(og__table_read(t, raw, 2, &got, err));
    if (got != 1)
        OG_TRY(og__fail(err, -EINVAL, "datasets of one graph are read", "%s: one number expected",
                        t->name));
    og__npy_widen(t->type, raw, 1, n);
    if (*n < 0)
        OG_TRY(og__fail(err, -EINVAL, "fetch the file again: it says how many there are",
                        "%s: %lld", t->name, (long long)*n));
out:
    og__table_close(t);
    return rc;
}

/* ---- ogbn-*: CSV ---- */

/* These list an edge once for both directions, says OGB's own table (add_inverse_edge). */
static bool lists_edges_once(const char *src)
{
    size_t len = strlen(src);
    while (len > 0 && src[len - 1] == '/')
        len--;
    const char *slash = memrchr(src, '/', len);
    const char *name = slash ? slash + 1 : src;
    return strstr(name, "products") || strstr(name, "proteins");
}

static int open_counts(struct ogb *o, struct og_err *err)
{
    struct og_table *t;
    int64_t nodes = 0;
    int rc;
    OG_TRY(og__ogb_csv(o->imp, "raw/num-node-list.csv.gz", OG__NPY_I64, 1, &t, err));
    OG_TRY(og__ogb_number(t, &nodes, err));
    o->imp->nodes_from = "num-node-list.csv.gz";
    OG_TRY(og__import_set_nodes(o->imp, nodes, err));
    OG_TRY(og__import_has(o->imp, "raw/num-edge-list.csv.gz", err));
    if (rc == 0)
        return 0;
    OG_TRY(og__ogb_csv(o->imp, "raw/num-edge-list.csv.gz", OG__NPY_I64, 1, &t, err));
    OG_TRY(og__ogb_number(t, &o->said_edges, err));
out:
    return rc;
}

static int open_text(struct ogb *o, struct og_err *err)
{
    int rc;
    OG_TRY(open_counts(o, err));
    OG_TRY(og__ogb_csv(o->imp, "raw/edge.csv.gz", OG__NPY_I64, 2, &o->edges.pairs, err));
    OG_TRY(og__import_has(o->imp, "raw/node-feat.csv.gz", err));
    if (rc == 1)
        OG_TRY(og__ogb_csv(o->imp, "raw/node-feat.csv.gz", OG__NPY_F64, 0, &o->features, err));
    OG_TRY(og__ogb_csv(o->imp, "raw/node-label.csv.gz", OG__NPY_F64, 0, &o->labels, err));
    if (lists_edges_once(o->imp->src)) {
        og__import_say(o->imp, "every edge is added in both directions, as OGB does");
        o->imp->both_ways = true;
    }
    OG_TRY(og__import_has(o->imp, "raw/edge-feat.csv.gz", err));
    if (rc == 1)
        og__import_say(o->imp, "raw/edge-feat.csv.gz: edge features are left out");
    return 0;
out:
    return rc;
}

/* ---- papers100M: archives ---- */

/* The archive may be without it. */
static int read_said_edges(struct ogb *o, const char *archive, struct og_err *err)
{
    struct og_table *t;
    struct og_err why = {0};
    int rc = open_member(o->imp, archive, "num_edges_list.npy", &t, &why);
    if (rc == -ENOENT)
        return 0;
    return rc < 0 ? og__fail(err, rc, why.hint, "%s", why.message)
                  : og__ogb_number(t, &o->said_edges, err);
}

static int open_archives(struct ogb *o, struct og_err *err)
{
    static const char data[] = "raw/data.npz";
    struct og_table *t;
    int64_t nodes = 0;
    int rc;
    OG_TRY(open_member(o->imp, data, "num_nodes_list.npy", &t, err));
    OG_TRY(og__ogb_number(t, &nodes, err));
    OG_TRY(og__import_set_nodes(o->imp, nodes, err));
    OG_TRY(read_said_edges(o, data, err));
    OG_TRY(open_member(o->imp, data, "edge_index.npy", &o->edges.src, err));
    OG_TRY(open_member(o->imp, data, "edge_index.npy", &o->edges.dst, err));
    OG_TRY(og__edges_two_rows(&o->edges, err));
    OG_TRY(open_member(o->imp, data, "node_feat.npy", &o->features, err));
    OG_TRY(open_member(o->imp, "raw/node-label.npz", "node_label.npy", &o->labels, err));
out:
    return rc;
}

/* ---- MAG240M: its papers ---- */

static const char mag_edges[] = "processed/paper___cites___paper/edge_index.npy";

static int open_mag(struct ogb *o, struct og_err *err)
{
    int rc;
    OG_TRY(og__import_open_npy(o->imp, mag_edges, false, &o->edges.src, err));
    OG_TRY(og__import_open_npy(o->imp, mag_edges, false, &o->edges.dst, err));
    OG_TRY(og__edges_two_rows(&o->edges, err));
    OG_TRY(og__import_open_npy(o->imp, "processed/paper/node_feat.npy", false, &o->features, err));
    OG_TRY(og__import_open_npy(o->imp, "processed/paper/node_label.npy", false, &o->labels, err));
    og__import_say(o->imp, "papers and the citations between them are read");
    OG_TRY(og__import_has(o->imp, "train.npy", err));
    if (rc == 0)
        og__import_say(o->imp, "no splits: examples/mag240m_splits.py writes them as .npy");
    OG_TRY(og__import_set_nodes(o->imp, o->features->rows, err));
out:
    return rc;
}

/* With authors, institutions and how they belong together. */
static int open_mag_edges(const struct og_importer *imp, const char *name, struct og_edges *e,
                          struct og_err *err)
{
    int rc;
    OG_TRY(og__import_open_npy(imp, name, false, &e->src, err));
    OG_TRY(og__import_open_npy(imp, name, false, &e->dst, err));
    OG_TRY(og__edges_two_rows(e, err));
out:
    return rc;
}

static int open_mag_features(const struct og_importer *imp, const char *name, struct og_table **out,
                             struct og_err *err)
{
    return og__import_open_npy(imp, name, false, out, err);
}

static int open_mag_labels(struct og_importer *imp, int64_t nodes, struct og_table **out,
                           struct og_err *err)
{
    int rc = og__import_open_npy(imp, "processed/paper/node_label.npy", false, out, err);
    if (rc == 0 && (*out)->rows != nodes)
        rc = og__fail(err, -EINVAL, "one for every paper, NaN where there is none",
                      "%s: %lld labels for %lld nodes", (*out)->name, (long long)(*out)->rows,
                      (long long)nodes);
    return rc;
}

static int import_mag_splits(struct og_importer *imp, const struct og_table *labels,
                             struct og_err *err)
{
    (void)labels;
    int there = og__import_has(imp, "train.npy", err);
    if (there == 0)
        og__import_say(imp, "no splits: examples/mag240m_splits.py writes them as .npy");
    return there < 0 ? there : og__import_npy_splits(imp, err); /* of papers, the first type */
}

static const struct og_folder_layout mag240m = {.join = "___",
                                                .only = "paper___cites___paper",
                                                .labelled = "paper",
                                                .open_edges = open_mag_edges,
                                                .open_features = open_mag_features,
                                                .open_labels = open_mag_labels,
                                                .import_splits = import_mag_splits};

/* ---- splits ---- */

/* Name of the one folder in split/, malloc'ed. */
int og__ogb_split(const struct og_importer *imp, char **name, struct og_err *err)
{
    char *path = og__import_source(imp, "split");
    DIR *dir = path ? opendir(path) : NULL;
    int why = path ? errno : ENOMEM;
    const struct dirent *entry;
    int n = 0;
    *name = NULL;
    if (!dir && why != ENOENT) {
        free(path);
        return og__fail_errno(err, -why, NULL, "%s/split", imp->src);
    }
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        n++;
        free(*name);
        *name = strdup(entry->d_name);
    }
    if (dir)
        closedir(dir);
    int rc = 0;
    if (n != 1)
        rc = og__fail(err, -EINVAL, "split/ holds one folder, such as split/time",
                      "%s/split: %d folders", imp->src, n);
    else if (!*name)
        rc = og__fail_errno(err, -ENOMEM, NULL, "%s/split", imp->src);
    free(path);
    return rc;
}

static int import_split(struct og_importer *imp, const char *folder, const char *split,
                        struct og_err *err)
{
    struct og_table *t = NULL;
    char *name = NULL;
    char out[16];
    int rc;
    snprintf(out, sizeof(out), "%s.npy", split);
    if (asprintf(&name, "split/%s/%s.csv.gz", folder, split) < 0)
        name = NULL;
    OG_TRY(name ? og__ogb_csv(imp, name, OG__NPY_I64, 1, &t, err)
                : og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src));
    OG_TRY(og__import_split(imp, t, imp->graph.n_nodes, out, err));
out:
    og__table_close(t);
    free(name);
    return rc;
}

static int import_splits(struct og_importer *imp, struct og_err *err)
{
    static const char *const splits[] = {"train", "valid", "test"};
    char *folder;
    int rc;
    OG_TRY(og__ogb_split(imp, &folder, err));
    for (size_t i = 0; i < OG_COUNT(splits); i++)
        OG_TRY(import_split(imp, folder, splits[i], err));
out:
    free(folder);
    return rc;
}

/* ---- all ---- */

static int import_all(struct ogb *o, bool is_mag, struct og_err *err)
{
    const struct og_table *edges = o->edges.pairs ? o->edges.pairs : o->edges.src;
    int rc;
    OG_TRY(og__import_labels(o->imp, o->labels, o->imp->graph.n_nodes, -1,
                             err)); /* first: it proves N */
    OG_TRY(og__import_take_piece(o->imp, err));
    OG_TRY(og__import_open_edges(o->imp, false, og__edges_rows(&o->edges), err));
    OG_TRY(og__import_relation(o->imp, 0, &o->edges, err));
    OG_TRY(og__import_close_edges(o->imp, err));
    if (o->said_edges >= 0 && edges->next != o->said_edges)
        OG_TRY(og__fail(err, -EINVAL, "fetch the files again: they belong together",
                        "%s: %lld edges where num-edge-list.csv.gz says %lld", edges->name,
                        (long long)edges->next, (long long)o->said_edges));
    OG_TRY(og__import_features(o->imp, 0, o->features, NULL, err));
    OG_TRY(is_mag ? og__import_npy_splits(o->imp, err) : import_splits(o->imp, err));
out:
    return rc;
}

static int import_ogb(struct og_importer *imp, struct og_err *err)
{
    struct ogb o = {.imp = imp, .said_edges = -1};
    int is_mag = og__import_has(imp, mag_edges, err);
    int is_typed = og__import_has(imp, "raw/num-node-dict.csv.gz", err);
    int is_zipped = og__import_has(imp, "raw/data.npz", err);
    int rc = OG_MIN(is_mag, OG_MIN(is_typed, is_zipped));
    bool with_types = false;
    if (rc < 0)
        return rc;
    if (is_typed)
        return imp->opt->drop_types
                   ? og__fail(err, -ENOTSUP, "leave out --drop-types",
                              "%s: --drop-types: nodes of types have files of their own", imp->src)
                   : og__import_ogb_typed(imp, err);
    if (is_mag && !imp->opt->drop_types)
        OG_TRY(og__folders_typed(imp, &mag240m, &with_types, err));
    if (with_types)
        return og__import_folders(imp, &mag240m, err);
    OG_TRY(is_mag ? open_mag(&o, err) : is_zipped ? open_archives(&o, err) : open_text(&o, err));
    OG_TRY(import_all(&o, is_mag, err));
out:
    og__edges_close(&o.edges);
    og__table_close(o.features);
    og__table_close(o.labels);
    return rc;
}

const struct og_format og__format_ogb = {
    .info = {.name = "ogb",
             .files =
                 "SRC is an unpacked node dataset of the Open Graph Benchmark, ogbn-papers100M, "
                 "ogbn-mag and MAG240M among them.",
             .signs = (const char *const[]){"processed/paper___cites___paper/edge_index.npy",
                                            "raw/data.npz", "raw/edge.csv.gz",
                                            "raw/num-node-dict.csv.gz", "raw/num-node-list.csv.gz",
                                            "raw/edge.csv", NULL}},
    .read = import_ogb,
    .deep = 4};

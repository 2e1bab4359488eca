/* The Open Graph Benchmark's node datasets, in the layout of its archives.
 *
 *   ogbn-*        raw/edge.csv.gz, num-node-list.csv.gz, node-feat.csv.gz, node-label.csv.gz,
 *                 edge-feat.csv.gz, node_year.csv.gz: times of nodes;
 *                 split/<name>/{train,valid,test}.csv.gz
 *   ogbl-*        the same without labels. Splits are train_edges.npy and its relatives in SRC,
 *                 which the Python package makes of split/<name>/{train,valid,test}.pt
 *   ogbn-mag and other heterogeneous ones:
 *                 raw/num-node-dict.csv.gz          names of types; nodes of each
 *                 raw/triplet-type-list.csv.gz      source,name,destination: a relation a line
 *                 raw/nodetype-has-label.csv.gz     names of types; True or False
 *                 raw/relations/<source>___<name>___<destination>/edge.csv.gz
 *                 raw/node-feat/<type>/node-feat.csv.gz, raw/node-label/<type>/node-label.csv.gz
 *                 split/<name>/<type>/{train,valid,test}.csv.gz
 *   papers100M    raw/data.npz: edge_index [2,E], node_feat; raw/node-label.npz: node_label; splits
 *                 as those of ogbn-*
 *   MAG240M       processed/paper/{node_feat,node_label}.npy,
 *                 processed/paper___cites___paper/edge_index.npy [2,E]. Splits are train.npy,
 *                 valid.npy, test.npy in SRC, which examples/mag240m_splits.py writes. Other types
 *                 and relations have folders (folders.c).
 *
 * A label of NaN is none. The type with labels becomes the first; the others follow in the file's
 * order. Relations keep the file's order. */
#include "dataset/import/ogb.h"

#include "dataset/import/folders.h"
#include "dataset/import/text.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct ogb {
    struct og_importer *imp;
    struct og_words *nodes, *triplets, *has_label; /* heterogeneous; else NULL */
    struct og_folders *folders;                    /* of MAG240M */
    struct og_table *labels;                       /* of the first group, or NULL */
};

/* Lists of edges to learn: then nodes have neither labels nor splits. */
static const char links_sign[] = "train_edges.npy";

/* ---- tables ---- */

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

/* The source's files name the types, so this refuses links that lead out of the source. */
static int open_csv(const struct og_importer *imp, enum og__npy_type type, int64_t columns,
                    struct og_table **out, struct og_err *err, const char *fmt, ...)
    OG_PRINTF(6, 7);

static int open_csv(const struct og_importer *imp, enum og__npy_type type, int64_t columns,
                    struct og_table **out, struct og_err *err, const char *fmt, ...)
{
    char name[512];
    char *path = NULL;
    int rc;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof(name), fmt, ap);
    va_end(ap);
    OG_TRY(check_packed(imp, name, err));
    if (imp->graph.has_types)
        OG_TRY(og__import_named(imp, name, imp->src, &path, err));
    else
        OG_TRY((path = og__import_source(imp, name))
                   ? 0
                   : og__fail_errno(err, -ENOMEM, NULL, "%s", name));
    rc = og__table_csv(out, path, type, columns, imp->budget, err);
out:
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
static int take_number(struct og_table *t, int64_t *n, struct og_err *err)
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

/* ---- text ---- */

/* The folder of a group's or relation's files: "raw/node-feat/paper", or "raw" if homogeneous. */
struct folder {
    char text[3 * (OG__TYPE_NAME_MAX + 1) + 64];
};

static struct folder group_folder(const struct ogb *o, const char *what, uint32_t group)
{
    struct folder f;
    snprintf(f.text, sizeof(f.text), o->triplets ? "raw/%s/%s" : "raw", what,
             o->imp->graph.group[group].name);
    return f;
}

static struct folder relation_folder(const struct ogb *o, uint32_t relation)
{
    const struct og_graph *g = &o->imp->graph;
    const struct og_relation *r = &g->relation[relation];
    struct folder f;
    snprintf(f.text, sizeof(f.text), o->triplets ? "raw/relations/%s___%s___%s" : "raw",
             g->group[r->source].name, r->name, g->group[r->destination].name);
    return f;
}

static struct folder edge_file(const struct ogb *o, uint32_t relation)
{
    struct folder f = relation_folder(o, relation);
    const size_t n = strlen(f.text);
    snprintf(f.text + n, sizeof(f.text) - n, "/edge-feat.csv.gz");
    return f;
}

/* Does the name have the word by itself, as ogbl-ddi has ddi? */
static bool has_word(const char *name, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = name; (at = strstr(at, word)); at++)
        if ((at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]))
            return true;
    return false;
}

/* These list an edge once for both directions, by OGB's own table (add_inverse_edge). */
static bool lists_edges_once(const char *src)
{
    size_t len = strlen(src);
    while (len > 0 && src[len - 1] == '/')
        len--;
    const char *slash = memrchr(src, '/', len);
    const char *name = slash ? slash + 1 : src;
    static const char *const once[] = {"products", "proteins", "ppa", "ppassoc", "collab", "ddi"};
    for (size_t i = 0; i < OG_COUNT(once); i++)
        if (has_word(name, once[i]))
            return true;
    return false;
}

static int count_nodes(struct ogb *o, struct og_err *err)
{
    struct og_table *t;
    int64_t nodes = 0;
    OG_DO(open_csv(o->imp, OG__NPY_I64, 1, &t, err, "raw/num-node-list.csv.gz"));
    OG_DO(take_number(t, &nodes, err));
    o->imp->nodes_from = "num-node-list.csv.gz";
    return og__import_set_nodes(o->imp, nodes, err);
}

static int add_type(struct ogb *o, size_t i, struct og_err *err)
{
    uint64_t count;
    const char *text = o->nodes->line[1].word[i];
    const char *end = og__parse_id(text, &count);
    if (!end || (*end && strcmp(end, ".0") != 0))
        return og__words_wrong(o->nodes, "a number of nodes for each type expected", err);
    return og__schema_add_group(&o->imp->graph, o->nodes->line[0].word[i], (int64_t)count,
                                o->nodes->path, err);
}

static int add_types(struct ogb *o, struct og_err *err)
{
    const struct og_words_line *names = &o->nodes->line[0];
    size_t labelled = names->n;
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(og__words_value(o->has_label, names->word[i]), "True") != 0)
            continue;
        if (labelled < names->n)
            return og__fail(err, -ENOTSUP, "one type may have labels",
                            "%s: several types have them", o->has_label->path);
        labelled = i;
    }
    if (labelled < names->n)
        OG_DO(add_type(o, labelled, err));
    for (size_t i = 0; i < names->n; i++)
        if (i != labelled)
            OG_DO(add_type(o, i, err));
    return 0;
}

static int add_relations(struct ogb *o, struct og_err *err)
{
    for (size_t i = 0; i < o->triplets->n; i++) {
        char *const *word = o->triplets->line[i].word;
        if (o->triplets->line[i].n != 3)
            OG_DO(og__words_wrong(o->triplets, "source,name,destination expected", err));
        const int source = og__schema_find(&o->imp->graph, word[0]);
        const int destination = og__schema_find(&o->imp->graph, word[2]);
        if (source < 0 || destination < 0)
            OG_DO(og__words_wrong(o->triplets, "a type that num-node-dict.csv.gz does not have",
                                  err));
        OG_DO(og__schema_add_relation(&o->imp->graph, (uint32_t)source, word[1],
                                      (uint32_t)destination, o->triplets->path, err));
    }
    return 0;
}

static int read_words(struct ogb *o, struct og_err *err)
{
    struct og_importer *imp = o->imp;
    OG_DO(og__import_with_types(imp, err));
    OG_DO(og__words_table(imp, "raw/num-node-dict.csv.gz", &o->nodes, err));
    OG_DO(og__words_table(imp, "raw/nodetype-has-label.csv.gz", &o->has_label, err));
    OG_DO(og__words_read(imp, "raw/triplet-type-list.csv.gz", &o->triplets, err));
    OG_DO(add_types(o, err));
    OG_DO(add_relations(o, err));
    return og__import_resolve(imp, err);
}

/* Only the first type may have labels; in a homogeneous graph all nodes do, or links are learned.
 */
static int has_labels(const struct ogb *o, struct og_err *err)
{
    if (o->has_label)
        return strcmp(og__words_value(o->has_label, o->imp->graph.group->name), "True") == 0;
    const int links = og__import_has(o->imp, links_sign, err);
    return links < 0 ? links : !links;
}

static int open_text(struct ogb *o, struct og_err *err)
{
    int with_types = og__import_has(o->imp, "raw/num-node-dict.csv.gz", err);
    int rc = OG_MIN(with_types, 0);
    OG_TRY(rc);
    if (with_types && o->imp->opt->drop_types)
        OG_TRY(og__fail(err, -ENOTSUP, "leave out --drop-types",
                        "%s: --drop-types: nodes of types have files of their own", o->imp->src));
    OG_TRY(with_types ? read_words(o, err) : count_nodes(o, err));
    if (lists_edges_once(o->imp->src)) {
        og__import_say(o->imp, "every edge is added in both directions, as OGB does");
        o->imp->both_ways = true;
    } else if (!with_types && !o->imp->opt->symmetrize)
        og__import_say(o->imp, "edges are stored as they are listed: --symmetrize adds the other "
                               "direction");
    for (uint32_t r = 0; r < o->imp->n_relations; r++) {
        OG_TRY(og__import_has(o->imp, edge_file(o, r).text, err));
        o->imp->numbered |= rc > 0;
    }
    rc = 0;
out:
    return rc;
}

static int text_edge_features(struct ogb *o, uint32_t relation, struct og_table **out,
                              struct og_err *err)
{
    const struct folder f = edge_file(o, relation);
    const int there = og__import_has(o->imp, f.text, err);
    return there > 0 ? open_csv(o->imp, OG__NPY_F64, 0, out, err, "%s", f.text) : there;
}

static int text_labels(struct ogb *o, struct og_err *err)
{
    const int there = has_labels(o, err);
    return there > 0 ? open_csv(o->imp, OG__NPY_F64, 0, &o->labels, err, "%s/node-label.csv.gz",
                                group_folder(o, "node-label", 0).text)
                     : there;
}

/* Times of the nodes of a homogeneous graph. */
static int text_times(struct ogb *o, struct og_err *err)
{
    static const char years[] = "raw/node_year.csv.gz";
    const struct og_graph *g = &o->imp->graph;
    struct og_table *t = NULL;
    int rc = o->triplets ? 0 : og__import_has(o->imp, years, err);
    if (rc <= 0)
        return rc;
    OG_TRY(open_csv(o->imp, OG__NPY_I64, 1, &t, err, "%s", years));
    OG_TRY(og__import_times(o->imp, t, og__array_name(OG__NODE_TIMES), g->n_nodes, err));
out:
    og__table_close(t);
    return rc;
}

static int text_edges(void *ogb, uint32_t relation, struct og_edges *e, struct og_err *err)
{
    const struct ogb *o = ogb;
    const struct folder f = relation_folder(o, relation);
    struct og_table *t;
    char name[sizeof(f.text) + 32];
    int rc;
    snprintf(name, sizeof(name), "%s/num-edge-list.csv.gz", f.text);
    OG_TRY(og__import_has(o->imp, name, err));
    if (rc == 1) {
        OG_TRY(open_csv(o->imp, OG__NPY_I64, 1, &t, err, "%s", name));
        OG_TRY(take_number(t, &e->said, err));
        e->said_by = "num-edge-list.csv.gz";
    }
    OG_TRY(open_csv(o->imp, OG__NPY_I64, 2, &e->pairs, err, "%s/edge.csv.gz", f.text));
out:
    return rc;
}

static int text_features(void *ogb, uint32_t group, struct og_table **out, struct og_err *err)
{
    const struct ogb *o = ogb;
    const struct folder f = group_folder(o, "node-feat", group);
    char name[sizeof(f.text) + 32];
    snprintf(name, sizeof(name), "%s/node-feat.csv.gz", f.text);
    const int there = og__import_has(o->imp, name, err);
    return there > 0 ? open_csv(o->imp, OG__NPY_F64, 0, out, err, "%s", name) : there;
}

/* ---- papers100M: archives ---- */

static const char data[] = "raw/data.npz";

static int open_archives(struct ogb *o, struct og_err *err)
{
    struct og_table *t;
    int64_t nodes = 0;
    OG_DO(open_member(o->imp, data, "num_nodes_list.npy", &t, err));
    OG_DO(take_number(t, &nodes, err));
    return og__import_set_nodes(o->imp, nodes, err);
}

static int archive_labels(struct ogb *o, struct og_err *err)
{
    return open_member(o->imp, "raw/node-label.npz", "node_label.npy", &o->labels, err);
}

/* The archive may be without it. */
static int read_said_edges(const struct ogb *o, int64_t *said, struct og_err *err)
{
    struct og_table *t;
    struct og_err why = {0};
    int rc = open_member(o->imp, data, "num_edges_list.npy", &t, &why);
    if (rc == -ENOENT)
        return 0;
    return rc < 0 ? og__fail(err, rc, why.hint, "%s", why.message) : take_number(t, said, err);
}

static int archive_edges(void *ogb, uint32_t relation, struct og_edges *e, struct og_err *err)
{
    const struct ogb *o = ogb;
    (void)relation;
    OG_DO(read_said_edges(o, &e->said, err));
    e->said_by = "num_edges_list.npy";
    OG_DO(open_member(o->imp, data, "edge_index.npy", &e->src, err));
    OG_DO(open_member(o->imp, data, "edge_index.npy", &e->dst, err));
    return og__edges_two_rows(e, err);
}

static int archive_features(void *ogb, uint32_t group, struct og_table **out, struct og_err *err)
{
    const struct ogb *o = ogb;
    (void)group;
    return open_member(o->imp, data, "node_feat.npy", out, err);
}

/* ---- splits of both ---- */

/* Name of the one folder in split/, malloc'ed. */
static int find_split(const struct og_importer *imp, char **name, struct og_err *err)
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

static int import_splits(struct ogb *o, struct og_err *err)
{
    static const char *const splits[] = {"train", "valid", "test"};
    const struct og_group *first = o->imp->graph.group;
    struct og_table *t = NULL;
    char *folder = NULL;
    int rc = og__import_has(o->imp, links_sign, err);
    if (rc != 0)
        return rc < 0 ? rc : og__import_npy_splits(o->imp, err);
    OG_TRY(find_split(o->imp, &folder, err));
    for (size_t i = 0; i < OG_COUNT(splits); i++) {
        char out[16];
        snprintf(out, sizeof(out), "%s.npy", splits[i]);
        OG_TRY(open_csv(o->imp, OG__NPY_I64, 1, &t, err, "split/%s/%s%s%s.csv.gz", folder,
                        o->triplets ? first->name : "", o->triplets ? "/" : "", splits[i]));
        OG_TRY(og__import_split(o->imp, t, first->n_nodes, out, err));
        og__table_close(t);
        t = NULL;
    }
out:
    og__table_close(t);
    free(folder);
    return rc;
}

/* ---- MAG240M ---- */

static const char mag_edges[] = "processed/paper___cites___paper/edge_index.npy";

static int open_mag_edges(const struct og_importer *imp, const char *name, struct og_edges *e,
                          struct og_err *err)
{
    OG_DO(og__import_open_npy(imp, name, false, &e->src, err));
    OG_DO(og__import_open_npy(imp, name, false, &e->dst, err));
    return og__edges_two_rows(e, err);
}

static int open_mag_features(const struct og_importer *imp, const char *name, struct og_table **out,
                             struct og_err *err)
{
    return og__import_open_npy(imp, name, false, out, err);
}

static int open_mag(struct ogb *o, struct og_err *err)
{
    static const struct og_folder_layout layout = {.join = "___",
                                                   .only = "paper___cites___paper",
                                                   .labelled = "paper",
                                                   .open_edges = open_mag_edges,
                                                   .open_features = open_mag_features};
    OG_DO(og__folders_open(&o->folders, o->imp, &layout, err));
    if (!o->imp->graph.has_types)
        og__import_say(o->imp, "papers and the citations between them are read");
    return 0;
}

static int mag_labels(struct ogb *o, struct og_err *err)
{
    return og__import_open_npy(o->imp, "processed/paper/node_label.npy", false, &o->labels, err);
}

static int mag_edges_of(void *ogb, uint32_t relation, struct og_edges *e, struct og_err *err)
{
    return og__folders_edges(((struct ogb *)ogb)->folders, relation, e, err);
}

static int mag_features_of(void *ogb, uint32_t group, struct og_table **out, struct og_err *err)
{
    return og__folders_features(((struct ogb *)ogb)->folders, group, out, err);
}

/* Splits of papers, the first type. */
static int import_mag_splits(struct ogb *o, struct og_err *err)
{
    int there = og__import_has(o->imp, "train.npy", err);
    if (there == 0)
        og__import_say(o->imp, "no splits: examples/mag240m_splits.py writes them as .npy");
    return there < 0 ? there : og__import_npy_splits(o->imp, err);
}

/* ---- all ---- */

struct layout {
    int (*open)(struct ogb *o, struct og_err *err); /* groups and relations */
    og_open_edges *edges;
    og_open_features *features;
    int (*open_labels)(struct ogb *o, struct og_err *err);
    int (*import_splits)(struct ogb *o, struct og_err *err);
    /* Opens a relation's, or leaves NULL if it has none; NULL: none has any. */
    int (*edge_features)(struct ogb *o, uint32_t relation, struct og_table **out,
                         struct og_err *err);
    int (*times)(struct ogb *o, struct og_err *err); /* of nodes; NULL: none */
};

static const struct layout text = {open_text,     text_edges,         text_features, text_labels,
                                   import_splits, text_edge_features, text_times};
static const struct layout archives = {
    open_archives, archive_edges, archive_features, archive_labels, import_splits, NULL, NULL};
static const struct layout mag = {
    open_mag, mag_edges_of, mag_features_of, mag_labels, import_mag_splits, NULL, NULL};

static int import_edge_features(struct ogb *o, const struct layout *of, struct og_err *err)
{
    struct og_table *t = NULL;
    int rc = 0;
    for (uint32_t r = 0; of->edge_features && r < o->imp->n_relations; r++) {
        OG_TRY(of->edge_features(o, r, &t, err));
        if (t)
            OG_TRY(og__import_edge_features(o->imp, r, t, err));
        og__table_close(t);
        t = NULL;
    }
out:
    og__table_close(t);
    return rc;
}

static int import_labels(struct ogb *o, struct og_err *err)
{
    return og__import_labels(o->imp, o->labels, o->imp->graph.group->n_nodes, -1, err);
}

static int import_all(struct ogb *o, const struct layout *of, struct og_err *err)
{
    struct og_importer *imp = o->imp;
    OG_DO(of->open(o, err));
    OG_DO(og__import_count_edges(imp, of->edges, o, err));
    OG_DO(of->open_labels(o, err));
    OG_DO(og__import_expect_rows(imp, o->labels, imp->graph.group->n_nodes, "labels", err));
    const bool proven = !imp->graph.has_types; /* by the labels: how many nodes there are */
    if (proven)
        OG_DO(import_labels(o, err));
    OG_DO(og__import_relations(imp, of->edges, false, o, err));
    OG_DO(of->times ? of->times(o, err) : 0);
    OG_DO(imp->opt->by_time ? og__import_by_time(imp, err) : 0);
    OG_DO(import_edge_features(o, of, err));
    OG_DO(og__import_groups(imp, of->features, o, err));
    if (!proven)
        OG_DO(import_labels(o, err));
    return of->import_splits(o, err);
}

static int import_ogb(struct og_importer *imp, struct og_err *err)
{
    struct ogb o = {.imp = imp};
    int is_mag = og__import_has(imp, mag_edges, err);
    int is_zipped = og__import_has(imp, "raw/data.npz", err);
    int rc = OG_MIN(is_mag, is_zipped);
    if (rc >= 0)
        rc = import_all(&o, is_mag ? &mag : is_zipped ? &archives : &text, err);
    og__folders_close(o.folders);
    og__table_close(o.labels);
    og__words_free(o.nodes);
    og__words_free(o.triplets);
    og__words_free(o.has_label);
    return rc;
}

const struct og_format og__format_ogb = {
    .info = {.size = sizeof(struct og_import_format),
             .name = "ogb",
             .files =
                 "SRC is an unpacked node dataset of the Open Graph Benchmark, ogbn-papers100M, "
                 "ogbn-mag and MAG240M among them. With the Python package also ogbl-citation2, "
                 "-collab, -ppa and -ddi.",
             .signs = (const char *const[]){"processed/paper___cites___paper/edge_index.npy",
                                            "raw/data.npz", "raw/edge.csv.gz",
                                            "raw/num-node-dict.csv.gz", "raw/num-node-list.csv.gz",
                                            "raw/edge.csv", NULL}},
    .read = import_ogb,
    .takes = OG__TAKES_TIMES,
    .deep = 4};

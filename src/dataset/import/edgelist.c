/* Edge lists in text, as SNAP publishes them, and CSV.
 *
 *   first scan    the set of ids              bitmap, list, or runs on disk
 *   second scan   ids -> 0, 1, 2, ...    ──>  sorter
 *
 * Ids that are words are numbered by dataset/word_map.h, in the same two readings.
 *
 * Reading the text twice is worth it: edges go to the disk once, with their final numbers. New
 * numbers keep the order of ids. SRC is a file, or a folder with edges.txt, .tsv, .csv or .el,
 * perhaps gzipped, and node data. With arrays as in the npy layout, ids are their rows, and one
 * scan suffices. With CSV by id, its nodes are added. */
#include "dataset/import/by_id.h"
#include "dataset/import/edge_text.h"
#include "dataset/import/ids.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct edge_list {
    struct og_importer *imp;
    struct og_edge_text pairs;
    struct og_ids ids;
    struct og_word_map words;
    struct og_err no_number; /* the first id that is no whole number */
    bool zeros;
    bool is_folder, renumber;
    bool by_id; /* there is CSV by id */
    int64_t edges;
};

/* Files with nodes that may have no edges. */
static const char *const by_id_nodes[] = {"nodes.csv", "feat.csv", "label.csv", "node_times.csv"};

/* ---- first reading ---- */

static void mark_part(void *arg, size_t task, int thread)
{
    struct edge_list *l = arg;
    const struct og_edge_text_part *p = &l->pairs.part[task];
    (void)thread;
    if (og__ids_mark(&l->ids, p->src, p->n, NULL) < 0 ||
        og__ids_mark(&l->ids, p->dst, p->n, NULL) < 0)
        abort(); /* a bitmap that covers them needs nothing */
}

/* What else a first reading ends with: ids do not fit a bitmap, or are no numbers. */
enum { IDS_ARE_LARGE = 1, IDS_ARE_WORDS };

/* IDS_ARE_LARGE, or 0. */
static int mark_block(struct edge_list *l, struct og_err *err)
{
    uint64_t most = 0;
    int rc = 0;
    for (size_t i = 0; i < l->pairs.parts; i++) {
        most = OG_MAX(most, l->pairs.part[i].most);
        l->zeros = l->zeros || l->pairs.part[i].zeros;
        l->edges += (int64_t)l->pairs.part[i].n;
    }
    if (!l->renumber) {
        l->ids.most = OG_MAX(l->ids.most, most);
        return 0;
    }
    if (!og__ids_cover(&l->ids, most))
        return IDS_ARE_LARGE;
    if (!l->ids.wide) {
        og__pool_run(l->imp->pool, l->pairs.parts, mark_part, l);
        return 0;
    }
    for (size_t i = 0; i < l->pairs.parts; i++) {
        const struct og_edge_text_part *p = &l->pairs.part[i];
        OG_TRY(og__ids_mark(&l->ids, p->src, p->n, err));
        OG_TRY(og__ids_mark(&l->ids, p->dst, p->n, err));
    }
out:
    return rc;
}

static int tell(const struct edge_list *l, const char *stage, struct og_err *err)
{
    return og__writing_goes_on(l->imp->observer, stage, "bytes",
                               (int64_t)og__text_done(&l->pairs.text),
                               (int64_t)l->pairs.text.file_bytes, err);
}

/* Notes why an id is no number, and leaves the question to those that follow. */
static int met_word(struct edge_list *l, struct og_err *err)
{
    if (err) {
        l->no_number = *err;
        *err = (struct og_err){0};
    }
    return IDS_ARE_WORDS;
}

static int read_edge_ids(struct edge_list *l, struct og_err *err)
{
    int rc = 0;
    l->edges = 0;
    do {
        rc = og__edge_text_next(&l->pairs, err);
        if (rc < 0 && l->pairs.met_word)
            return met_word(l, err);
        OG_TRY(rc);
        OG_TRY(mark_block(l, err));
        if (rc > 0)
            return rc;
        OG_TRY(tell(l, "finding nodes", err));
    } while (l->pairs.parts > 0);
out:
    return rc;
}

static int mark_rows(struct edge_list *l, const uint64_t *ids, int64_t n, struct og_err *err)
{
    uint64_t most = 0;
    for (int64_t i = 0; i < n; i++)
        most = OG_MAX(most, ids[i]);
    if (!l->renumber) {
        l->ids.most = OG_MAX(l->ids.most, most);
        return 0;
    }
    return og__ids_cover(&l->ids, most) ? og__ids_mark(&l->ids, ids, (size_t)n, err)
                                        : IDS_ARE_LARGE;
}

/* Adds the nodes of a CSV file, with or without edges. */
static int read_node_ids(struct edge_list *l, const char *name, struct og_err *err)
{
    struct og_table *t;
    struct og_piece p = {0};
    int rc = og__by_id_text(l->imp, name, true, &t, err);
    if (rc < 0 || !t)
        return rc;
    l->by_id = true;
    OG_TRY(og__piece_take(&p, t, l->imp->budget, err));
    for (int64_t n = 1; n > 0 && rc == 0;) {
        rc = og__table_read(t, p.raw, p.room, &n, err);
        if (rc < 0 && l->pairs.takes_words && og__table_csv_met_word(t))
            rc = met_word(l, err);
        else if (rc == 0 && !l->imp->named.words)
            rc = mark_rows(l, (const uint64_t *)p.raw, n, err);
        OG_TRY(rc);
    }
out:
    og__piece_give(&p);
    og__table_close(t);
    return rc;
}

static int read_ids(struct edge_list *l, struct og_err *err)
{
    int rc;
    OG_TRY(read_edge_ids(l, err));
    for (size_t i = 0; rc == 0 && l->is_folder && i < OG_COUNT(by_id_nodes); i++)
        OG_TRY(read_node_ids(l, by_id_nodes[i], err));
    if (rc == IDS_ARE_LARGE) {
        OG_TRY(og__ids_widen(&l->ids, err));
        OG_TRY(og__edge_text_rewind(&l->pairs, err));
        return read_ids(l, err);
    }
    if (rc == 0 && l->renumber)
        OG_TRY(og__ids_resolve(&l->ids, err));
out:
    return rc;
}

/* Ids on disk: another reading puts all of them, so that their places can be found. */
static int place_ids(struct edge_list *l, struct og_err *err)
{
    int rc = og__edge_text_rewind(&l->pairs, err);
    if (rc < 0)
        return rc;
    og__import_say(l->imp, "the ids do not fit --memory: they are sorted on disk");
    do {
        OG_TRY(og__edge_text_next(&l->pairs, err));
        for (size_t i = 0; i < l->pairs.parts; i++) {
            const struct og_edge_text_part *p = &l->pairs.part[i];
            OG_TRY(og__ids_put(&l->ids, p->src, p->n, err));
            OG_TRY(og__ids_put(&l->ids, p->dst, p->n, err));
        }
        OG_TRY(tell(l, "placing nodes", err));
    } while (l->pairs.parts > 0);
    OG_TRY(og__ids_find(&l->ids, err));
out:
    return rc;
}

/* ---- ids that are words ---- */

enum { WORDS = 512, ZIPPED = 8 }; /* at a time; about how much longer a gzipped text is */

static int put_ends(struct edge_list *l, const uint64_t *id, size_t n, struct og_err *err)
{
    struct og_word word[WORDS];
    int rc = 0;
    for (size_t first = 0, some; first < n; first += some) {
        some = OG_MIN(n - first, (size_t)WORDS);
        og__edge_text_words(&l->pairs, id + first, some, word);
        OG_TRY(og__word_map_put(&l->words, word, some, true, err));
    }
out:
    return rc;
}

static int put_edges(struct edge_list *l, struct og_err *err)
{
    int rc;
    OG_TRY(og__edge_text_rewind(&l->pairs, err));
    l->edges = 0;
    do {
        OG_TRY(og__edge_text_next(&l->pairs, err));
        for (size_t i = 0; i < l->pairs.parts; i++) {
            const struct og_edge_text_part *p = &l->pairs.part[i];
            og__add_kinds(&l->imp->named.kinds, &p->kinds);
            OG_TRY(put_ends(l, p->src, p->n, err));
            OG_TRY(put_ends(l, p->dst, p->n, err));
            l->edges += (int64_t)p->n;
        }
        OG_TRY(tell(l, "finding names", err));
    } while (l->pairs.parts > 0);
out:
    return rc;
}

/* Nodes of edges and of CSV files; and lists, which have no others. */
static int name_nodes(struct edge_list *l, struct og_err *err)
{
    struct og_importer *imp = l->imp;
    int rc;
    l->pairs.words = true;
    OG_TRY(og__word_map_open(&l->words, imp->dir.temporary,
                             (l->pairs.text.zipped ? ZIPPED : 1) * l->pairs.text.file_bytes,
                             imp->budget, err));
    imp->named.words = &l->words;
    OG_TRY(put_edges(l, err));
    if (l->is_folder) {
        for (size_t i = 0; i < OG_COUNT(by_id_nodes); i++)
            OG_TRY(read_node_ids(l, by_id_nodes[i], err));
        for (size_t i = 0; og__by_id_lists[i]; i++)
            OG_TRY(read_node_ids(l, og__by_id_lists[i], err));
    }
    rc = og__named_resolve(imp, &l->no_number, err);
out:
    return rc;
}

static int no_edges(const struct edge_list *l, struct og_err *err)
{
    return og__fail(err, -EINVAL, og__no_edges_hint, "%s: an empty graph: no edges",
                    l->pairs.text.path);
}

/* node_ids.npy: the id of each node. */
static int write_ids(struct edge_list *l, struct og_err *err)
{
    enum { IDS = 8192 };
    int64_t ids[IDS];
    struct og_npy_writer *w = NULL;
    uint64_t at = 0;
    size_t n;
    int rc;
    OG_TRY(og__array_create(&w, l->imp->dir.temporary, "node_ids.npy", OG__NPY_I64, 1, 1, err));
    do {
        OG_TRY(og__ids_list(&l->ids, &at, ids, IDS, &n, err));
        OG_TRY(og__npy_append(w, ids, (int64_t)n, err));
    } while (n > 0);
    rc = og__array_finish(&w, "node_ids.npy", l->imp->checksums, err);
out:
    og__npy_discard(w);
    return rc;
}

/* N, and the map of ids where there is one. */
static int find_nodes(struct edge_list *l, struct og_err *err)
{
    struct og_importer *imp = l->imp;
    int rc;
    OG_TRY(og__ids_open(&l->ids, l->pairs.text.file_bytes, imp->dir.temporary, imp->budget, err));
    OG_TRY(read_ids(l, err));
    if (rc == IDS_ARE_WORDS) {
        og__ids_close(&l->ids);
        OG_TRY(name_nodes(l, err));
    }
    if (l->edges == 0)
        OG_TRY(no_edges(l, err));
    if (imp->named.words)
        return 0;
    if (l->zeros)
        og__import_warn(imp, "%s: ids begin with 0: 007 and 7 are one node", l->pairs.text.path);
    if (!l->renumber || og__ids_dense(&l->ids)) {
        l->renumber = false;
        return og__import_set_nodes(imp, (int64_t)OG_MIN(l->ids.most, (uint64_t)UINT32_MAX) + 1,
                                    err);
    }
    OG_TRY(og__import_set_nodes(imp, l->ids.n, err));
    OG_TRY(write_ids(l, err));
    og__import_say(imp, "nodes are renumbered, %lld of ids up to %llu: node_ids.npy has the ids",
                   (long long)l->ids.n, (unsigned long long)l->ids.most);
    if (l->ids.far)
        OG_TRY(place_ids(l, err));
out:
    return rc;
}

/* ---- second reading ---- */

/* The part's ids are replaced by their numbers, in the lower half of their own memory. */
static void rank_part(void *arg, size_t task, int thread)
{
    struct edge_list *l = arg;
    const struct og_edge_text_part *p = &l->pairs.part[task];
    uint64_t *const lists[] = {p->src, p->dst};
    (void)thread;
    for (size_t i = 0; i < OG_COUNT(lists); i++) {
        uint32_t *out = (uint32_t *)lists[i];
        enum { STEP = 512 };
        uint32_t rank[STEP];
        for (size_t first = 0; first < p->n; first += STEP) {
            size_t n = OG_MIN(p->n - first, (size_t)STEP);
            if (l->renumber)
                og__ids_rank(&l->ids, lists[i] + first, n, rank);
            else
                for (size_t k = 0; k < n; k++)
                    rank[k] = (uint32_t)lists[i][first + k];
            memcpy(out + first, rank, n * sizeof(*rank));
        }
    }
}

/* Renumbers words, and ids on disk. */
static int take_part(struct edge_list *l, const struct og_edge_text_part *p, struct og_err *err)
{
    uint64_t *const lists[] = {p->src, p->dst};
    enum { STEP = 512 };
    uint32_t rank[STEP];
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(lists); i++) {
        for (size_t first = 0; first < p->n; first += STEP) {
            size_t n = OG_MIN(p->n - first, (size_t)STEP);
            OG_TRY(l->imp->named.words ? og__word_map_take(&l->words, rank, n, err)
                                       : og__ids_take(&l->ids, lists[i] + first, n, rank, err));
            memcpy((uint32_t *)lists[i] + first, rank, n * sizeof(*rank));
        }
    }
out:
    return rc;
}

static int rank_block(struct edge_list *l, struct og_err *err)
{
    if (!l->imp->named.words && (!l->renumber || !l->ids.far)) {
        og__pool_run(l->imp->pool, l->pairs.parts, rank_part, l);
        return 0;
    }
    int rc = 0;
    for (size_t i = 0; i < l->pairs.parts; i++)
        OG_TRY(take_part(l, &l->pairs.part[i], err));
out:
    return rc;
}

static int add_block(struct edge_list *l, struct og_err *err)
{
    const bool reverse = l->imp->opt->reverse;
    int rc;
    OG_TRY(rank_block(l, err));
    for (size_t i = 0; i < l->pairs.parts; i++) {
        const struct og_edge_text_part *p = &l->pairs.part[i];
        const uint32_t *from = (const uint32_t *)(reverse ? p->dst : p->src);
        const uint32_t *to = (const uint32_t *)(reverse ? p->src : p->dst);
        OG_TRY(og__import_add_edges(l->imp, 0, from, to, p->weight, p->n, err));
        l->edges += (int64_t)p->n;
    }
out:
    return rc;
}

/* Reads the text once more, for columns of edges. */
static int import_values(struct edge_list *l, enum og_edge_values kind,
                         int (*import)(struct og_importer *imp, uint32_t relation,
                                       struct og_table *t, struct og_err *err),
                         struct og_err *err)
{
    struct og_table *t = NULL;
    int rc;
    OG_TRY(og__edge_text_values(&l->pairs, kind, l->edges, &t, err));
    if (t)
        OG_TRY(import(l->imp, 0, t, err));
out:
    og__table_close(t);
    return rc;
}

static int read_edges(struct edge_list *l, struct og_err *err)
{
    int64_t expected = l->edges > 0 ? l->edges : -1;
    int rc;
    OG_TRY(og__edge_text_next(&l->pairs, err)); /* sets whether there are weights */
    OG_TRY(og__import_open_edges(l->imp, l->pairs.weight >= 0, expected, err));
    l->words.last = true;
    for (l->edges = 0; l->pairs.parts > 0;) {
        OG_TRY(add_block(l, err));
        OG_TRY(tell(l, "edges", err));
        OG_TRY(og__edge_text_next(&l->pairs, err));
    }
    l->words.last = false; /* rows of nodes are read several times */
    if (l->pairs.unread.n > 0)
        og__import_warn(l->imp, "%s: columns that are not read: %s", l->pairs.text.path,
                        og__names_text(&l->pairs.unread));
    if (l->pairs.left.n > 0)
        og__import_warn(l->imp, "%s: columns that * of --edge-features leaves out: %s",
                        l->pairs.text.path, og__names_text(&l->pairs.left));
    og__import_tell_rounded(l->imp, l->pairs.text.path, l->pairs.n_rounded, l->pairs.most_rounded);
    if (l->edges == 0)
        OG_TRY(no_edges(l, err));
    og__ids_close(&l->ids); /* the sorter has all its memory, but writers want some */
    OG_TRY(og__import_close_edges(l->imp, err));
    OG_TRY(import_values(l, OG__EDGE_TIME, og__import_edge_times, err));
    OG_TRY(l->imp->opt->by_time ? og__import_by_time(l->imp, err) : 0);
    OG_TRY(import_values(l, OG__EDGE_FEATURE, og__import_edge_features, err));
out:
    return rc;
}

/* ---- which file ---- */

static int find_file(const struct og_importer *imp, char **path, bool *is_folder,
                     struct og_err *err)
{
    static const char *const names[] = {"edges.txt",    "edges.tsv",    "edges.csv",
                                        "edges.el",     "edges.txt.gz", "edges.tsv.gz",
                                        "edges.csv.gz", "edges.el.gz"};
    struct stat st;
    *is_folder = stat(imp->src, &st) == 0 && S_ISDIR(st.st_mode);
    int has = 0;
    size_t i = 0;
    while (*is_folder && i < OG_COUNT(names) && (has = og__import_has(imp, names[i], err)) == 0)
        i++;
    if (has < 0)
        return has;
    if (*is_folder && !has)
        return og__fail(err, -ENOENT,
                        "call the list of edges edges.csv, .tsv, .txt or .el, perhaps .gz",
                        "%s: no list of edges", imp->src);
    *path = *is_folder ? og__import_source(imp, names[has ? i : 0]) : strdup(imp->src);
    return *path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
}

/* If CSV files name nodes by id and nodes were renumbered. */
static int load_ids(struct edge_list *l, struct og_err *err)
{
    bool listed = l->by_id;
    int rc = 0;
    for (size_t i = 0; l->is_folder && !listed && og__by_id_lists[i]; i++) {
        OG_TRY(og__by_id_has(l->imp, og__by_id_lists[i], err));
        listed = rc > 0;
    }
    return listed && l->renumber && !l->imp->named.words ? og__node_ids_load(l->imp, err) : 0;
out:
    return rc;
}

static int import_file(struct edge_list *l, struct og_err *err)
{
    struct og_importer *imp = l->imp;
    int64_t rows = -1;
    int rc = 0;
    if (l->is_folder)
        OG_TRY(og__import_npy_rows(imp, &rows, err));
    if (rows >= 0) {
        OG_TRY(og__import_set_nodes(imp, rows, err));
        l->pairs.limit = (uint64_t)rows;
    } else {
        l->renumber = l->pairs.takes_words = !imp->opt->keep_ids;
        imp->claimed = imp->opt->keep_ids;
        OG_TRY(find_nodes(l, err));
        OG_TRY(og__edge_text_rewind(&l->pairs, err));
    }
    OG_TRY(read_edges(l, err));
    OG_TRY(load_ids(l, err));
    OG_TRY(og__import_nodes_of(imp, l->is_folder, err));
out:
    return rc;
}

static int import_edgelist(struct og_importer *imp, struct og_err *err)
{
    struct edge_list l = {.imp = imp};
    char *path = NULL;
    int rc;
    OG_TRY(find_file(imp, &path, &l.is_folder, err));
    OG_TRY(og__edge_text_open(&l.pairs, path, imp->budget, imp->pool, err));
    l.pairs.weight_column = imp->opt->weight_column;
    l.pairs.names = imp->opt->columns;
    l.pairs.reverse = imp->opt->reverse && !imp->opt->columns;
    l.pairs.ends = imp->opt->id_columns;
    l.pairs.values[OG__EDGE_TIME] = imp->opt->edge_time;
    l.pairs.values[OG__EDGE_FEATURE] = imp->opt->edge_features;
    imp->numbered |= imp->opt->edge_time || imp->opt->edge_features;
    rc = import_file(&l, err);
    og__ids_close(&l.ids);
    og__named_drop(imp);
    og__edge_text_close(&l.pairs);
out:
    free(path);
    return rc;
}

const struct og_format og__format_edgelist = {
    .info = {.size = sizeof(struct og_import_format),
             .name = "edgelist",
             .files =
                 "SRC is a text file, gzipped or not, with an edge a line as SNAP publishes "
                 "them, or CSV. Ids may be sparse: nodes are numbered in the order of their "
                 "ids, which node_ids.npy stores. Or SRC is a folder with edges.txt (.tsv, "
                 ".csv, .el, .gz) and node data. These are nodes.csv, whose first line names its "
                 "columns: id, label (or y), split (train, valid, test or empty) or train_mask and "
                 "its relatives, node_time, and features. Or feat.csv, label.csv, node_times.csv, "
                 "train.csv, valid.csv and test.csv, where a line is an id and that node's data. "
                 "Or arrays as for npy, whose rows are the ids.",
             .signs = (const char *const[]){"edges.txt", "edges.tsv", "edges.csv", "edges.el",
                                            "edges.txt.gz", "edges.tsv.gz", "edges.csv.gz",
                                            "edges.el.gz", NULL},
             .begins = "",
             .node_arrays = true},
    .read = import_edgelist,
    .takes = OG__TAKES_COLUMNS | OG__TAKES_WEIGHTS | OG__TAKES_TIMES,
    .deep = 0};

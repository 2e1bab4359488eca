/* Shared by importers: a dataset in creation in a new folder, array by array. A homogeneous source
 * has one node group and one relation (dataset/schema.h). Each file calls those below it:
 *
 *     import.c   the command: formats by name (formats.h), meta.json
 *     options.c  the table of options
 *     npy.c ogb.c igb.c graphbolt.c edgelist.c mtx.c metis.c   one format each: names of files
 *     npy_meta.c npy_types.c npy_rows.c npy_sparse.c   parts of npy
 *     ogb_words.c   a part of ogb
 *     folders.c  shared by MAG240M and IGB
 *     by_id.c    node data in CSV, by id
 *     classes.c  labels in CSV that are words
 *     named.c    ids that are words
 *     means.c    features of groups without any
 *     moments.c  means and deviations of columns: --standardize
 *     build_edges.c build_features.c build_labels.c build_splits.c   tables -> arrays of a kind
 *     build_times.c   times of nodes, edges and seeds
 *     build_by_time.c lists in the order of these
 *     edge_rows.c   rows of a table, in the order of a relation's edges
 *     build.c    the new dataset: keys of meta.json, arrays, node groups
 *     source.c   the source's files, and those not read
 *     unused.c   options of other formats, or without effect
 *     tell.c     messages to the user
 *
 * The following are independent of importers:
 *
 *     table.c table_zip.c table_csv.c   rows of numbers in .npy, headerless, .npz and CSV files
 *     edge_text.c edge_values.c   edge lists in text, one edge a line
 *     text.c     text files, gzipped or not
 *     ids.c      sparse node ids -> 0, 1, 2, ... */
#ifndef OG_IMPORT_H
#define OG_IMPORT_H

#include "base/file.h"
#include "base/thread.h"
#include "dataset/import/options.h"
#include "dataset/import/table.h"
#include "dataset/import/text.h"
#include "dataset/node_names.h"
#include "dataset/schema.h"
#include "dataset/word_map.h"
#include "dataset/writer.h"

/* The source's ids of the nodes. */
struct og_node_ids {
    int64_t n;
    int64_t *list; /* [n] ascending; NULL = their numbers */
};

/* Ids that are words: their numbers, by the occurrences in the source's files. */
struct og_named_ids {
    struct og_word_map *words;   /* NULL = ids are whole numbers */
    struct og_node_names *names; /* of the nodes, for messages; NULL until they are written */
    struct og_word_kinds kinds;
    struct {
        char file[64];
        uint64_t first; /* occurrence */
    } of[8];
    size_t n;
};

/* Values changed by conversion to the stored type: their number, and the largest difference. */
struct og_changed {
    int64_t n, row, column; /* row and column of the largest difference */
    double most;
};
static inline void og__changed_by(struct og_changed *c, int64_t row, int64_t column,
                                  double difference)
{
    c->n++;
    if (difference > c->most) {
        c->most = difference;
        c->row = row;
        c->column = column;
    }
}

/* The nodes of a written split. */
struct og_split_seen {
    uint64_t *seen; /* a bit a node of the source */
    char name[16], file[64];
};

struct og_importer {
    const struct og_import *opt;
    const struct og_observer *observer;
    const char *src;
    struct og_budget *budget;
    struct og_pool *pool;
    struct og_newdir dir;
    json_t *meta, *checksums; /* of the dataset being made */
    struct og_graph graph;    /* its groups and relations; one of each if homogeneous */
    uint32_t n_relations;     /* of the source; with --reverse-relations half of the graph's */
    int64_t n_counted;        /* edges of the source, or -1 */
    struct og_edge_sorter *sorter;
    struct og_edge_piece *piece; /* of tables of edges */
    bool weighted;
    bool numbered;                      /* edges have numbers: edge_ids.npy is written */
    int64_t n_added[OG_MOST_RELATIONS]; /* edges of the source, by relation */
    bool both_ways;                     /* every edge of the source stands for its reverse too */
    const char *nodes_from;             /* the file that determines the number of nodes, or NULL */
    char nodes_by[64];                  /* " by <nodes_from>", for messages; or "" */
    double began;
    struct og_node_ids ids;
    struct og_named_ids named;
    json_t *class_names;    /* of labels that are words, by class; else NULL */
    json_t *columns;        /* of features, {group: {key of meta.json: list}} */
    json_t *theirs;         /* meta.json of --standardize-as, or NULL */
    int64_t standardized;   /* columns */
    bool of_arrays;         /* the source may have node arrays and meta.json */
    bool claimed;           /* the number of nodes is only declared: no array has as many rows */
    const char *symmetric;  /* says why edges have reverses, which is looked at; or NULL */
    bool values;            /* labels are values to predict, not classes */
    bool shares;            /* these values are shares of classes */
    const uint32_t *new_id; /* [nodes] of the source's nodes if types reorder them */
    uint64_t *labelled;     /* one bit a node: does it have a label? NULL = unknown */
    struct og_split_seen split[3];
    unsigned n_splits;
    bool has_splits;
    /* of the source, for options without effect */
    bool many_masks;               /* a mask has several columns */
    bool linked;                   /* features are used in place */
    bool dropped_types;            /* it has types, which are left out */
    bool has_rows, has_edge_rows;  /* nodes, or edges, have features */
    int64_t link_width;            /* columns of the features of split edges; 0 = none yet */
    struct og_source_files *files; /* of the source, those that were opened */
};

/* What a format makes something of, besides what all take. */
enum og_format_takes {
    OG__TAKES_COLUMNS = 1, /* options that name or count columns of edges */
    OG__TAKES_LABELS = 2,  /* --labels */
    OG__TAKES_WEIGHTS = 4, /* --weight-column 0 */
    OG__TAKES_TIMES = 8,   /* it may have times of nodes and edges */
};

/* A format: reads imp->src and writes everything except meta.json, whose keys it sets. */
struct og_format {
    struct og_import_format info;
    int (*read)(struct og_importer *imp, struct og_err *err);
    int deep;       /* depth of folders below SRC with its files */
    unsigned takes; /* og_format_takes */
};

/* ---- the neutral layout (npy.c), for other formats that have some of its files ---- */

/* Imports the node features, labels and splits that are there, as .npy or as CSV by id. For formats
 * that have only edges; a SRC that is one file has no features and labels. */
OG_MUST_CHECK int og__import_nodes_of(struct og_importer *imp, bool is_folder, struct og_err *err);
/* SRC itself, or the file `name` or `name`.gz in the folder SRC; malloc'ed. */
OG_MUST_CHECK int og__import_graph_file(const struct og_importer *imp, const char *name,
                                        char **path, bool *is_folder, struct og_err *err);
/* The number of nodes in these files; -1 = none of them is there. */
OG_MUST_CHECK int og__import_npy_rows(struct og_importer *imp, int64_t *rows, struct og_err *err);
/* Imports train.npy (or train.csv), valid.npy and test.npy of the source, and train_edges.npy, ...,
 * as far as they are there. */
OG_MUST_CHECK int og__import_npy_splits(struct og_importer *imp, struct og_err *err);

/* ---- edges (build_edges.c): groups and relations are known ---- */

extern const char og__no_edges_hint[];

struct og_edges {
    struct og_table *pairs;            /* [E, 2]: src, dst; or */
    struct og_table *src, *dst;        /* [E] each */
    struct og_table *weights;          /* [E], or NULL */
    int64_t n_sources, n_destinations; /* ids are below these */
    int64_t said;                      /* declared number of edges, or -1: og__import_relations */
    const char *said_by;               /* the file that does */
};
void og__edges_close(struct og_edges *e);
/* Rows, -1 = known at the end. */
static inline int64_t og__edges_rows(const struct og_edges *e)
{
    return e->pairs ? e->pairs->rows : e->src->rows;
}
/* [2, E], opened twice as e->src and e->dst: each becomes a row of it. */
OG_MUST_CHECK int og__edges_two_rows(struct og_edges *e, struct og_err *err);
/* Checks that ids are integers, with as many sources as destinations. */
OG_MUST_CHECK int og__edges_check(const struct og_edges *e, struct og_err *err);

enum { OG__EDGES_A_PIECE = 64 * 1024 };
struct og_edge_piece {
    int64_t raw[2 * OG__EDGES_A_PIECE]; /* as stored: src, dst pairs, or all src, then all dst */
    int64_t raw_weight[OG__EDGES_A_PIECE];
    uint32_t src[OG__EDGES_A_PIECE], dst[OG__EDGES_A_PIECE];
    float weight[OG__EDGES_A_PIECE];
    struct og_changed changed; /* weights of all pieces so far */
};
/* Passes all edges to `each` in order, a piece of n edges at a time. */
typedef int og_edge_piece_fn(void *arg, struct og_edge_piece *p, size_t n, struct og_err *err);
OG_MUST_CHECK int og__edges_pass(struct og_importer *imp, struct og_edges *e,
                                 og_edge_piece_fn *each, void *arg, struct og_err *err);

/* open ──> edges of all relations ──> close. The sorter takes all remaining memory, so a reader of
 * tables takes its piece before. expected = edges in the source, to refuse at once what exceeds the
 * disk; -1 = unknown. */
OG_MUST_CHECK int og__import_take_piece(struct og_importer *imp, struct og_err *err);
OG_MUST_CHECK int og__import_open_edges(struct og_importer *imp, bool weighted, int64_t expected,
                                        struct og_err *err);
/* Adds n edges by ids within the relation's groups, and their reverses if requested. */
OG_MUST_CHECK int og__import_add_edges(struct og_importer *imp, uint32_t relation,
                                       const uint32_t *src, const uint32_t *dst,
                                       const float *weight, size_t n, struct og_err *err);
/* Adds all edges of a relation, by ids within its groups. */
OG_MUST_CHECK int og__import_relation(struct og_importer *imp, uint32_t relation,
                                      struct og_edges *e, struct og_err *err);
OG_MUST_CHECK int og__import_close_edges(struct og_importer *imp, struct og_err *err);
/* Does all of the above for relations with tables of their own. `open` opens one relation's, all
 * with weights or none. Count them first: that opens each once, and reports missing files at once.
 */
typedef int og_open_edges(void *source, uint32_t relation, struct og_edges *e, struct og_err *err);
OG_MUST_CHECK int og__import_count_edges(struct og_importer *imp, og_open_edges *open, void *source,
                                         struct og_err *err);
OG_MUST_CHECK int og__import_relations(struct og_importer *imp, og_open_edges *open, bool weighted,
                                       void *source, struct og_err *err);
void og__import_drop_edges(struct og_importer *imp); /* what is open of them */

/* ---- what nodes have (build_features.c, build_labels.c, build_splits.c) ---- */

/* Writes features.npy, or features_<group>.npy if heterogeneous, from a row a node. With
 * --in-place, writes a reference to the source's file. `values` has the same numbers, faster to
 * scan, or is NULL. t NULL: no features; a homogeneous graph then gets one constant feature,
 * without information. */
OG_MUST_CHECK int og__import_features(struct og_importer *imp, uint32_t group, struct og_table *t,
                                      struct og_table *values, struct og_err *err);
/* Writes edge_features.npy, or rel<r>_edge_features.npy of a relation of the source, and of its
 * reverse. The table has a row for each of its edges. The edges are written already, with
 * numbers. */
OG_MUST_CHECK int og__import_edge_features(struct og_importer *imp, uint32_t relation,
                                           struct og_table *t, struct og_err *err);
/* Views such a table in the order of the relation's edges. The caller owns `base`, and nobody else
 * reads it meanwhile. */
/* Writes times of edges likewise. And times of `rows` nodes or seeds in our order, as an array of
 * this name. */
OG_MUST_CHECK int og__import_edge_times(struct og_importer *imp, uint32_t relation,
                                        struct og_table *t, struct og_err *err);
OG_MUST_CHECK int og__import_times(struct og_importer *imp, struct og_table *t, const char *array,
                                   int64_t rows, struct og_err *err);
/* Sorts all lists by the written times of edges, else of their sources (--by-time). */
OG_MUST_CHECK int og__import_by_time(struct og_importer *imp, struct og_err *err);
OG_MUST_CHECK int og__edge_rows_of(struct og_table **out, const struct og_importer *imp,
                                   uint32_t relation, struct og_table *base, struct og_err *err);
/* Writes the features of all groups; `open` opens one group's, or leaves NULL if it has none. */
typedef int og_open_features(void *source, uint32_t group, struct og_table **out,
                             struct og_err *err);
OG_MUST_CHECK int og__import_groups(struct og_importer *imp, og_open_features *open, void *source,
                                    struct og_err *err);
/* Takes the source's task, or NULL. The word "regression" means values, "shares" those of classes.
 */
void og__import_task(struct og_importer *imp, const char *task);
/* Writes labels.npy: one column is classes, several are multi-label; or values, with imp->values.
 * The first `rows` nodes have a row; others have no label. n_classes -1 = as found. t NULL: no
 * labels. */
OG_MUST_CHECK int og__import_labels(struct og_importer *imp, struct og_table *t, int64_t rows,
                                    int64_t n_classes, struct og_err *err);
/* Writes split `name`, such as train.npy, of the first `nodes` nodes. The table is a list of ids,
 * or a mask: bool, or 0 and 1, an entry a node. For a mask [N, K] it uses opt->split_column. Warns
 * of nodes in several splits. */
OG_MUST_CHECK int og__import_split(struct og_importer *imp, struct og_table *t, int64_t nodes,
                                   const char *name, struct og_err *err);
void og__import_drop_splits(struct og_importer *imp);
/* As og__import_split, for edges: src, dst a row. */
/* Imports given negatives of a held-out list of `edges` edges; -1: there is no such list. With
 * `each` a row has destinations for its edge; else it is a pair for all edges. */
OG_MUST_CHECK int og__import_negatives(struct og_importer *imp, struct og_table *t,
                                       enum og__split split, bool each, int64_t edges,
                                       struct og_err *err);
OG_MUST_CHECK int og__import_edge_split(struct og_importer *imp, struct og_table *t,
                                        const char *name, struct og_err *err);
/* Imports labels, or features, of a list of `edges` edges; -1: there is no such list. */
OG_MUST_CHECK int og__import_edge_labels(struct og_importer *imp, struct og_table *t,
                                         enum og__split split, int64_t edges, struct og_err *err);
OG_MUST_CHECK int og__import_edge_rows(struct og_importer *imp, struct og_table *t,
                                       enum og__split split, int64_t edges, struct og_err *err);
OG_MUST_CHECK int og__import_edge_list_times(struct og_importer *imp, struct og_table *t,
                                             enum og__split split, int64_t edges,
                                             struct og_err *err);

/* ---- the dataset being made (build.c) ---- */

/* Sets `key` of meta.json; takes the reference. Without memory imp->meta becomes NULL, and writing
 * it fails. */
void og__import_note(struct og_importer *imp, const char *key, json_t *value);
/* The dataset's name, or NULL; a long one is truncated. */
void og__import_set_name(struct og_importer *imp, const char *name);

/* Path of `name` in the new folder; malloc'ed, NULL on lack of memory. */
char *og__import_target(const struct og_importer *imp, const char *name);

/* Call when the groups of imp->graph are known: -EINVAL unless they have 1 <= n < 2^32 - 2
 * nodes. */
OG_MUST_CHECK int og__import_check_nodes(struct og_importer *imp, struct og_err *err);
/* Sets one group of n nodes and one relation; checks n. */
OG_MUST_CHECK int og__import_set_nodes(struct og_importer *imp, int64_t n, struct og_err *err);
/* Declares a heterogeneous source: -EINVAL if an option is for homogeneous graphs. */
OG_MUST_CHECK int og__import_with_types(const struct og_importer *imp, struct og_err *err);
/* Call when all groups and relations are in imp->graph. */
OG_MUST_CHECK int og__import_resolve(struct og_importer *imp, struct og_err *err);
/* Sets the keys of meta.json for groups and relations, as far as they are known. */
void og__import_note_schema(struct og_importer *imp);
/* -EINVAL unless `rows`, -1 = unknown, equals `nodes`; the message names `what`. */
OG_MUST_CHECK int og__import_check_rows(const struct og_importer *imp, const struct og_table *t,
                                        int64_t rows, int64_t nodes, const char *what,
                                        struct og_err *err);
enum { OG__MOST_COLUMNS = INT32_MAX / 8 };
OG_MUST_CHECK int og__import_check_columns(const struct og_table *t, const char *what,
                                           struct og_err *err);
/* Checks rows and columns of a table as far as known, before anything is written. NULL passes. */
OG_MUST_CHECK int og__import_expect_rows(const struct og_importer *imp, const struct og_table *t,
                                         int64_t nodes, const char *what, struct og_err *err);

/* ---- the source (source.c) ---- */

/* Path of `name` in the source, and marks it as read; malloc'ed, NULL on lack of memory. */
char *og__import_source(const struct og_importer *imp, const char *name);
/* The set of files that were read; NULL on lack of memory. */
struct og_source_files *og__source_files_new(void);
void og__source_files_free(struct og_source_files *f);
/* Warns of files of the source that were not read, in SRC and `deep` levels of its folders. */
OG_MUST_CHECK int og__import_tell_unread(const struct og_importer *imp, int deep,
                                         struct og_err *err);
/* 1, 0, or a negative errno if the lookup fails otherwise. */
OG_MUST_CHECK int og__import_has(const struct og_importer *imp, const char *name,
                                 struct og_err *err);

/* Opens names of n nodes in the source, by the prefix of their files. NULL if there are none, or if
 * the dataset has its own. */
OG_MUST_CHECK int og__import_find_names(const struct og_importer *imp, const char *prefix,
                                        int64_t n, struct og_node_names **out, struct og_err *err);

/* Checks a name from a file of the source: -EINVAL if it leads out of the source's folder. */
OG_MUST_CHECK int og__import_inside(const char *name, const char *said_by, struct og_err *err);
/* Such a name's path, malloc'ed: -EINVAL also if a symbolic link leads out. */
OG_MUST_CHECK int og__import_named(const struct og_importer *imp, const char *name,
                                   const char *said_by, char **path, struct og_err *err);

/* Opens `name` of the source as .npy. With `optional`, absence leaves NULL and is no failure. */
OG_MUST_CHECK int og__import_open_npy(const struct og_importer *imp, const char *name,
                                      bool optional, struct og_table **out, struct og_err *err);
/* As og__table_npy_pairs. */
OG_MUST_CHECK int og__import_open_pairs(const struct og_importer *imp, const char *name,
                                        struct og_table **out, struct og_err *err);
/* As og__table_npy_as_stored. */
OG_MUST_CHECK int og__import_open_as_stored(const struct og_importer *imp, const char *name,
                                            struct og_table **out, bool *columns,
                                            struct og_err *err);

/* ---- the user (tell.c) ---- */

/* Warns of numbers that changed, where some did. */
void og__import_tell_changed(const struct og_importer *imp, const struct og_table *t,
                             const struct og_changed *c, const char *stored_as);

/* The same of weights in a text. */
void og__import_tell_rounded(const struct og_importer *imp, const char *name, int64_t n,
                             double most);

/* Warns of a probable mistake; shown with --quiet too. */
void og__import_warn(const struct og_importer *imp, const char *fmt, ...) OG_PRINTF(2, 3);
/* A remark. */
void og__import_say(const struct og_importer *imp, const char *fmt, ...) OG_PRINTF(2, 3);

#endif

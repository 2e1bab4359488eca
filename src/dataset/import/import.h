/* What importers share: a dataset being made in a new folder, array by array. Each file calls those
 * below it:
 *
 *   import.c   the command: formats by name (formats.h), meta.json
 *   npy.c ogb.c igb.c graphbolt.c edgelist.c mtx.c metis.c   one format each: which file is what
 *   by_id.c    what nodes have, in CSV by their ids
 *   typed.c typed_npy.c typed_ogb.c typed_folders.c typed_graphbolt.c   the same with types
 *   of_type.c  rows of one table by types
 *   means.c    rows of types that have none
 *   build_edges.c build_features.c build_labels.c build_splits.c   tables -> arrays of a kind
 *   build.c    the dataset being made: keys of its meta.json, arrays, number of nodes
 *   source.c   the files it is made from, and those that were not read
 *   tell.c     remarks to the user
 *
 * and beside them, knowing nothing of importers:
 *
 *   table.c table_zip.c table_csv.c   rows of numbers in .npy, headerless, .npz and CSV files
 *   edge_text.c   edge lists in text, one edge a line
 *   text.c     text files, gzipped or not
 *   ids.c      sparse node ids -> 0, 1, 2, ... */
#ifndef OG_IMPORT_H
#define OG_IMPORT_H

#include "base/file.h"
#include "base/thread.h"
#include "dataset/import/table.h"
#include "dataset/meta.h"
#include "dataset/typing.h"
#include "dataset/writer.h"

/* What the source calls the nodes. */
struct og_node_ids {
    int64_t n;
    int64_t *list; /* [n] ascending; NULL = their numbers */
};

/* Numbers of a source that the dataset stores in another type: how many differ, and by how much. */
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

/* Which nodes a list that was written has. */
struct og_split_seen {
    uint64_t *seen; /* a bit a node of the source */
    char file[64];
};

struct og_importer {
    const struct og_import *opt;
    const struct og_observer *seen;
    const char *src;
    struct og_budget *budget;
    struct og_pool *pool;
    struct og_newdir dir;
    json_t *meta, *checksums; /* of the dataset being made */
    int64_t n_nodes, n_edges;
    const char *nodes_from; /* the file that says how many nodes there are, or NULL */
    char nodes_by[64];      /* " by <nodes_from>", for messages; or "" */
    double began;
    struct og_node_ids ids;
    bool claimed; /* n_nodes is a mere number in the source: no array there has as many rows */
    bool said_symmetric;    /* by the source; the edges are looked at */
    bool values;            /* labels are numbers to be told, not classes */
    const uint32_t *new_id; /* [n_nodes] of the source's nodes where types change their order */
    uint64_t *labelled;     /* a bit a node: has it a label? NULL = not known */
    struct og_split_seen split[3];
    unsigned n_splits;
    bool has_splits;
    struct og_source_files *files; /* of the source, those that were opened */
};

/* A format: reads imp->src and writes everything but meta.json, whose keys it sets. */
struct og_format {
    struct og_import_format info;
    int (*read)(struct og_importer *imp, struct og_err *err);
    int deep; /* folders below SRC that its files lie in */
};

/* ---- the neutral layout (npy.c), for other formats that have some of its files ---- */

/* For formats that have only edges, when SRC is a folder: node features, labels and splits, those
 * that are there, as .npy or as CSV by id. */
OG_MUST_CHECK int og__import_npy_nodes(struct og_importer *imp, struct og_err *err);
/* The same, or where SRC is one file a graph without features and labels. */
OG_MUST_CHECK int og__import_nodes_of(struct og_importer *imp, bool is_folder, struct og_err *err);
/* SRC itself, or in the folder SRC the file `name` or `name`.gz: malloc'ed. */
OG_MUST_CHECK int og__import_graph_file(const struct og_importer *imp, const char *name,
                                        char **path, bool *is_folder, struct og_err *err);
/* How many nodes these say there are; -1 = none of them is there. */
OG_MUST_CHECK int og__import_npy_rows(struct og_importer *imp, int64_t *rows, struct og_err *err);
/* train.npy (or train.csv), valid.npy and test.npy of the source, and train_edges.npy, ..., those
 * that are there. */
OG_MUST_CHECK int og__import_npy_splits(struct og_importer *imp, struct og_err *err);

/* ---- edges (build_edges.c): imp->n_nodes is set first ---- */

struct og_edges {
    struct og_table *pairs;            /* [E, 2]: src, dst; or */
    struct og_table *src, *dst;        /* [E] each */
    struct og_table *weights;          /* [E], or NULL */
    bool both_ways;                    /* every edge stands for its reverse too */
    int64_t n_sources, n_destinations; /* ids are below these; 0 = imp->n_nodes */
};
/* Is it whole: whole numbers, as many of each? */
OG_MUST_CHECK int og__edges_check(const struct og_edges *e, struct og_err *err);
/* The next of them, from the budget as a whole: ids and weights. `done` were read before, *n = 0 at
 * the end. */
enum { OG__EDGES_A_PIECE = 64 * 1024 };
struct og_edge_piece {
    int64_t raw[2 * OG__EDGES_A_PIECE]; /* as stored: src, dst in turn, or all src, then all dst */
    int64_t raw_weight[OG__EDGES_A_PIECE];
    uint32_t src[OG__EDGES_A_PIECE], dst[OG__EDGES_A_PIECE];
    float weight[OG__EDGES_A_PIECE];
    struct og_changed changed; /* weights of all pieces so far */
};
OG_MUST_CHECK int og__edges_next(const struct og_importer *imp, const struct og_edges *e,
                                 int64_t done, struct og_edge_piece *p, int64_t *n,
                                 struct og_err *err);

OG_MUST_CHECK int og__import_edges(struct og_importer *imp, const struct og_edges *e,
                                   struct og_err *err);
/* For edges that come otherwise: a sorter as the options want it, and its end. expected = edges
 * that will be added, to refuse at once what the disk cannot hold; -1 = not known. */
OG_MUST_CHECK int og__import_sorter(struct og_importer *imp, bool weighted, int64_t expected,
                                    struct og_edge_sorter **out, struct og_err *err);
/* -EINVAL for very many nodes, or lists of them, that few edges know of: a number costs a few bytes
 * to write and eight bytes a node to believe. */
OG_MUST_CHECK int og__import_believe(const struct og_importer *imp, int64_t nodes, int64_t edges,
                                     struct og_err *err);
/* The same for so many nodes, whichever they are. */
OG_MUST_CHECK int og__import_sorter_of(struct og_importer *imp, int64_t n_nodes,
                                       bool drop_self_loops, bool weighted, int64_t expected,
                                       struct og_edge_sorter **out, struct og_err *err);
OG_MUST_CHECK int og__import_sorted(struct og_importer *imp, struct og_edge_sorter *sorter,
                                    bool weighted, struct og_err *err);

/* ---- what nodes have (build_features.c, build_labels.c, build_splits.c) ---- */

/* features.npy from a row a node; or, with --link, a reference to the file they are in. `values`
 * holds the same numbers where they are quicker to look through; else NULL. */
OG_MUST_CHECK int og__import_features(struct og_importer *imp, struct og_table *t,
                                      struct og_table *values, struct og_err *err);
/* The same as features_<type>.npy; what they are is noted in `typing`. */
OG_MUST_CHECK int og__import_type_features(struct og_importer *imp, struct og_table *t,
                                           struct og_table *values, struct og_typing *typing,
                                           uint32_t type, struct og_err *err);
/* For sources that have none: one constant feature, which tells a model nothing. */
OG_MUST_CHECK int og__import_no_features(struct og_importer *imp, struct og_err *err);
/* labels.npy: one column is classes, more are several labels a node; or values, with imp->values.
 * n_classes -1 = as found. With `partly`, nodes beyond the table's end have no label. */
OG_MUST_CHECK int og__import_labels(struct og_importer *imp, struct og_table *t, int64_t n_classes,
                                    bool partly, struct og_err *err);
/* n_classes as the source says it, -1 = it does not. */
void og__import_no_labels(struct og_importer *imp, int64_t n_classes);
/* A list of node ids as `name`, train.npy say; or a mask: bool, or 0 and 1, an entry a node. Of a
 * mask [N, K] opt->split_column is taken. Warns of nodes that a list before has too. */
OG_MUST_CHECK int og__import_split(struct og_importer *imp, struct og_table *t, const char *name,
                                   struct og_err *err);
void og__import_drop_splits(struct og_importer *imp);
/* The same of edges: src, dst a row. */
OG_MUST_CHECK int og__import_edge_split(struct og_importer *imp, struct og_table *t,
                                        const char *name, struct og_err *err);

/* ---- the dataset being made (build.c) ---- */

/* meta.json gets `key`, whose reference is taken; without memory imp->meta becomes NULL, which
 * fails when it is written. */
void og__import_note(struct og_importer *imp, const char *key, json_t *value);
/* The dataset's name, or NULL: as it is called; of a very long one the beginning. */
void og__import_set_name(struct og_importer *imp, const char *name);

/* Path of `name` in the new folder; malloc'ed, NULL on lack of memory. */
char *og__import_target(const struct og_importer *imp, const char *name);
/* An array of it; finish records its checksum. */
OG_MUST_CHECK int og__import_create(struct og_importer *imp, struct og_npy_writer **w,
                                    const char *name, enum og__npy_type type, int ndim, int64_t row,
                                    struct og_err *err);
OG_MUST_CHECK int og__import_finish(struct og_importer *imp, struct og_npy_writer *w,
                                    const char *name, struct og_err *err);

/* -EINVAL unless 1 <= n < 2^32 - 2. */
OG_MUST_CHECK int og__import_set_nodes(struct og_importer *imp, int64_t n, struct og_err *err);
/* -EINVAL unless so many rows, -1 = not known yet, are one a node; `what` they are. */
OG_MUST_CHECK int og__import_check_rows(const struct og_importer *imp, const struct og_table *t,
                                        int64_t rows, const char *what, struct og_err *err);
enum { OG__MOST_COLUMNS = INT32_MAX / 8 };
OG_MUST_CHECK int og__import_check_columns(const struct og_table *t, const char *what,
                                           struct og_err *err);
/* Both of a table, as far as it knows: before anything is written. t may be NULL. */
OG_MUST_CHECK int og__import_expect_rows(const struct og_importer *imp, const struct og_table *t,
                                         const char *what, struct og_err *err);

/* ---- the source (source.c) ---- */

/* Path of `name` in it, which is going to be read; malloc'ed, NULL on lack of memory. */
char *og__import_source(const struct og_importer *imp, const char *name);
/* Files whose path was asked for; NULL on lack of memory. */
struct og_source_files *og__source_files_new(void);
void og__source_files_free(struct og_source_files *f);
/* Warns of files of the source that were not read. Below `deep` folders, 0 = beside each other. */
OG_MUST_CHECK int og__import_tell_unread(const struct og_importer *imp, int deep,
                                         struct og_err *err);
/* 1, 0, or negative where it cannot be told. */
OG_MUST_CHECK int og__import_has(const struct og_importer *imp, const char *name,
                                 struct og_err *err);

/* A name that comes from a file of the source: -EINVAL when it would leave the source's folder. */
OG_MUST_CHECK int og__import_inside(const char *name, const char *said_by, struct og_err *err);
/* Such a name's path, malloc'ed: also -EINVAL when a symbolic link on its way leads out. */
OG_MUST_CHECK int og__import_named(const struct og_importer *imp, const char *name,
                                   const char *said_by, char **path, struct og_err *err);

/* Opens `name` of the source as .npy. With `optional`, absence leaves NULL and is no failure. */
OG_MUST_CHECK int og__import_open_npy(const struct og_importer *imp, const char *name,
                                      bool optional, struct og_table **out, struct og_err *err);
/* As og__table_npy_as_stored. */
OG_MUST_CHECK int og__import_open_as_stored(const struct og_importer *imp, const char *name,
                                            struct og_table **out, bool *columns,
                                            struct og_err *err);

/* ---- the user (tell.c) ---- */

/* Warns of numbers that changed, where some did. */
void og__import_tell_changed(const struct og_importer *imp, const struct og_table *t,
                             const struct og_changed *c, const char *stored_as);

/* What is probably not as the user wants it: shown with --quiet too. */
void og__import_warn(const struct og_importer *imp, const char *fmt, ...) OG_PRINTF(2, 3);
/* A remark. */
void og__import_say(const struct og_importer *imp, const char *fmt, ...) OG_PRINTF(2, 3);

#endif

/* What importers share: a dataset being made in a new folder, array by array. A source without
 * types of nodes has one group of them, and one relation (dataset/schema.h). Each file calls those
 * below it:
 *
 *     import.c   the command: formats by name (formats.h), meta.json
 *     options.c  what it may be told
 *     npy.c ogb.c igb.c graphbolt.c edgelist.c mtx.c metis.c   one format each: which file is what
 *     npy_meta.c npy_types.c npy_rows.c npy_sparse.c   parts of npy
 *     ogb_words.c   a part of ogb
 *     folders.c  what MAG240M and IGB have in common
 *     by_id.c    what nodes have, in CSV by their ids
 *     means.c    rows of groups that have none
 *     build_edges.c build_features.c build_labels.c build_splits.c   tables -> arrays of a kind
 *     build.c    the dataset being made: keys of its meta.json, arrays, groups of nodes
 *     source.c   the files it is made from, and those that were not read
 *     tell.c     remarks to the user
 *
 * and beside them, knowing nothing of importers:
 *
 *     table.c table_zip.c table_csv.c   rows of numbers in .npy, headerless, .npz and CSV files
 *     edge_text.c   edge lists in text, one edge a line
 *     text.c     text files, gzipped or not
 *     ids.c      sparse node ids -> 0, 1, 2, ... */
#ifndef OG_IMPORT_H
#define OG_IMPORT_H

#include "base/file.h"
#include "base/thread.h"
#include "dataset/import/options.h"
#include "dataset/import/table.h"
#include "dataset/schema.h"
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
    struct og_graph graph;    /* its groups and relations; without types one of each */
    uint32_t n_relations;     /* of the source; with --reverse-relations half of the graph's */
    int64_t n_counted;        /* edges of the source, or -1 */
    struct og_edge_sorter *sorter;
    struct og_edge_piece *piece; /* of tables of edges */
    bool weighted;
    bool both_ways;         /* every edge of the source stands for its reverse too */
    const char *nodes_from; /* the file that says how many nodes there are, or NULL */
    char nodes_by[64];      /* " by <nodes_from>", for messages; or "" */
    double began;
    struct og_node_ids ids;
    bool claimed; /* how many nodes there are is a mere number: no array there has as many rows */
    bool said_symmetric;    /* by the source; the edges are looked at */
    bool values;            /* labels are numbers to be told, not classes */
    const uint32_t *new_id; /* [nodes] of the source's nodes where types change their order */
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

/* ---- edges (build_edges.c): groups and relations are known ---- */

struct og_edges {
    struct og_table *pairs;            /* [E, 2]: src, dst; or */
    struct og_table *src, *dst;        /* [E] each */
    struct og_table *weights;          /* [E], or NULL */
    int64_t n_sources, n_destinations; /* ids are below these */
    int64_t said;        /* how many the source says there are, or -1: og__import_relations */
    const char *said_by; /* the file that does */
};
void og__edges_close(struct og_edges *e);
/* Rows, -1 = known at the end. */
static inline int64_t og__edges_rows(const struct og_edges *e)
{
    return e->pairs ? e->pairs->rows : e->src->rows;
}
/* [2, E], opened twice as e->src and e->dst: each becomes a row of it. */
OG_MUST_CHECK int og__edges_two_rows(struct og_edges *e, struct og_err *err);
/* Is it whole: whole numbers, as many of each? */
OG_MUST_CHECK int og__edges_check(const struct og_edges *e, struct og_err *err);

enum { OG__EDGES_A_PIECE = 64 * 1024 };
struct og_edge_piece {
    int64_t raw[2 * OG__EDGES_A_PIECE]; /* as stored: src, dst in turn, or all src, then all dst */
    int64_t raw_weight[OG__EDGES_A_PIECE];
    uint32_t src[OG__EDGES_A_PIECE], dst[OG__EDGES_A_PIECE];
    float weight[OG__EDGES_A_PIECE];
    struct og_changed changed; /* weights of all pieces so far */
};
/* All of them, from the front: `each` gets a piece of n edges at a time. */
typedef int og_edge_piece_fn(void *arg, struct og_edge_piece *p, size_t n, struct og_err *err);
OG_MUST_CHECK int og__edges_pass(struct og_importer *imp, struct og_edges *e,
                                 og_edge_piece_fn *each, void *arg, struct og_err *err);

/* open ──> edges of all relations ──> close. The sorter takes all memory that is left: who reads
 * edges from tables takes a piece before. expected = edges that the source has, to refuse at once
 * what the disk cannot hold; -1 = not known. */
OG_MUST_CHECK int og__import_take_piece(struct og_importer *imp, struct og_err *err);
OG_MUST_CHECK int og__import_open_edges(struct og_importer *imp, bool weighted, int64_t expected,
                                        struct og_err *err);
/* n edges by ids within the relation's groups, and their reverses where those are wanted. */
OG_MUST_CHECK int og__import_add_edges(struct og_importer *imp, uint32_t relation,
                                       const uint32_t *src, const uint32_t *dst,
                                       const float *weight, size_t n, struct og_err *err);
/* All edges of a relation, by ids within its groups. */
OG_MUST_CHECK int og__import_relation(struct og_importer *imp, uint32_t relation,
                                      struct og_edges *e, struct og_err *err);
OG_MUST_CHECK int og__import_close_edges(struct og_importer *imp, struct og_err *err);
/* All that, where each relation has tables of its own: `open` opens those of one, without weights.
 * Count them first: it opens each once, so that what is missing is told at once. */
typedef int og_open_edges(void *source, uint32_t relation, struct og_edges *e, struct og_err *err);
OG_MUST_CHECK int og__import_count_edges(struct og_importer *imp, og_open_edges *open, void *source,
                                         struct og_err *err);
OG_MUST_CHECK int og__import_relations(struct og_importer *imp, og_open_edges *open, void *source,
                                       struct og_err *err);
void og__import_drop_edges(struct og_importer *imp); /* what is open of them */

/* ---- what nodes have (build_features.c, build_labels.c, build_splits.c) ---- */

/* features.npy, or with types features_<group>.npy, from a row a node; or, with --link, a reference
 * to the file they are in. `values` holds the same numbers where they are quicker to look through;
 * else NULL. t NULL: there are none; without types one constant feature, which tells a model
 * nothing. */
OG_MUST_CHECK int og__import_features(struct og_importer *imp, uint32_t group, struct og_table *t,
                                      struct og_table *values, struct og_err *err);
/* Those of all groups; `open` opens one's, and leaves NULL where it has none. */
typedef int og_open_features(void *source, uint32_t group, struct og_table **out,
                             struct og_err *err);
OG_MUST_CHECK int og__import_groups(struct og_importer *imp, og_open_features *open, void *source,
                                    struct og_err *err);
/* labels.npy: one column is classes, more are several labels a node; or values, with imp->values.
 * The first `rows` nodes have a row, the others no label. n_classes -1 = as found. t NULL: there
 * are none. */
OG_MUST_CHECK int og__import_labels(struct og_importer *imp, struct og_table *t, int64_t rows,
                                    int64_t n_classes, struct og_err *err);
/* A list of ids of the first `nodes` nodes as `name`, train.npy say; or a mask: bool, or 0 and 1,
 * an entry a node. Of a mask [N, K] opt->split_column is taken. Warns of nodes that a list before
 * has too. */
OG_MUST_CHECK int og__import_split(struct og_importer *imp, struct og_table *t, int64_t nodes,
                                   const char *name, struct og_err *err);
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

/* Groups of imp->graph are known: -EINVAL unless these have 1 <= n < 2^32 - 2 nodes. */
OG_MUST_CHECK int og__import_check_nodes(struct og_importer *imp, struct og_err *err);
/* One group of n nodes and one relation; checks n. */
OG_MUST_CHECK int og__import_set_nodes(struct og_importer *imp, int64_t n, struct og_err *err);
/* The source has types of nodes: -EINVAL where an option is for a graph without. */
OG_MUST_CHECK int og__import_with_types(const struct og_importer *imp, struct og_err *err);
/* All its groups and relations are in imp->graph. */
OG_MUST_CHECK int og__import_settle(struct og_importer *imp, struct og_err *err);
/* Format 2: the keys of meta.json that tell of groups and relations, whatever is known of them. */
void og__import_note_types(struct og_importer *imp);
/* -EINVAL unless so many rows, -1 = not known yet, are as many as the nodes; `what` they are. */
OG_MUST_CHECK int og__import_check_rows(const struct og_importer *imp, const struct og_table *t,
                                        int64_t rows, int64_t nodes, const char *what,
                                        struct og_err *err);
enum { OG__MOST_COLUMNS = INT32_MAX / 8 };
OG_MUST_CHECK int og__import_check_columns(const struct og_table *t, const char *what,
                                           struct og_err *err);
/* Both of a table, as far as it knows: before anything is written. t may be NULL. */
OG_MUST_CHECK int og__import_expect_rows(const struct og_importer *imp, const struct og_table *t,
                                         int64_t nodes, const char *what, struct og_err *err);

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

/* graph: a dataset, a folder of plain .npy files that any NumPy user can open
 * (docs/reference/formats.md).
 *
 *     meta.json      counts, dtypes, dims, classes, checksums
 *     indptr.npy     int64 [N+1]        CSC: in-neighbours of v are indices[indptr[v]:indptr[v+1]]
 *     indices.npy    int32|int64 [E]    sorted within each list
 *     weights.npy    float32 [E]        optional
 *     edge_features.npy  as features.npy [E,D]  optional
 *     edge_ids.npy   int64 [E]          optional: number of each edge in the source
 *     edge_times.npy int64 [E]          optional: when each edge came to be
 *     node_times.npy int64 [N]          optional: likewise; INT64_MIN in types without
 *     features.npy   f32|f16|u8|i8 [N,F]  bf16 as uint16 and e4m3 as uint8, named in meta.json
 *                    . Sparse rows are uint8 [N,bytes] (dataset/sparse_rows.h)
 *     feature_scales.npy  float32 [F]   of i8 and e4m3; optional of f32 (dataset/features.h)
 *     labels.npy     int64 [N], -1 = none | float32 [N,C], multi-label or, if meta.json's task is
 *                    node regression, values; NaN = none. If it is node shares, of C classes:
 *                    values of at least 0, none of a node NaN or all
 *     train.npy valid.npy test.npy      int64 node ids
 *     train_edges.npy ...               int32|int64 [n,2] src, dst: optional, of link prediction
 *
 * In a heterogeneous graph (format 2) each node type has its features, and each relation its lists.
 * Ids of a type are one range:
 *
 *   ids     | group 0         | group 1    | group 2 |
 *           0                first        first      N
 *
 * A homogeneous graph has one group and one relation.
 *
 * Opening reads headers and checks sizes. It also reads a few hundred pages of each array to
 * identify the dataset (dataset/identity.h). It never reads all of a larger array. An open graph is
 * read-only, so any number of threads may share it. */
#ifndef OG_DATASET_GRAPH_H
#define OG_DATASET_GRAPH_H

#include "base/memory.h"
#include "dataset/sparse_rows.h"

enum og__array {
    OG__INDPTR,
    OG__INDICES,
    OG__WEIGHTS,
    OG__EDGE_IDS,
    OG__EDGE_FEATURES,
    OG__EDGE_TIMES,
    OG__RELATION_ARRAYS,
    OG__FEATURES = OG__RELATION_ARRAYS,
    OG__LABELS,
    OG__NODE_TIMES,
    OG__ARRAY_TRAIN,
    OG__ARRAY_VALID,
    OG__ARRAY_TEST,
    OG__ARRAY_TRAIN_EDGES,
    OG__ARRAY_VALID_EDGES,
    OG__ARRAY_TEST_EDGES,
    OG__ARRAYS
};
const char *og__array_name(enum og__array array); /* "indptr" */

/* Identifies a dataset independently of its path, and the state of its files (dataset/identity.h).
 * Heterogeneous graphs have no states: `array` is zeros. */
struct og_identity {
    uint64_t contents; /* hash of all arrays and of other data that affects results */
    struct og_array_state {
        uint64_t contents;
        uint64_t file;    /* 0 = unknown to the file system, or there is no such array */
        uint64_t written; /* the same until it is written to */
    } array[OG__ARRAYS];
};

enum {
    OG_MOST_TYPES = 256,
    OG_MOST_RELATIONS = 1024, /* each has its own files, all open at once */
    OG__TYPE_NAME_MAX = 63,   /* bytes of a name */
};

enum og__split { OG__TRAIN, OG__VALID, OG__TEST, OG__SPLITS };

/* Feature rows of one size, for the nodes [first, first + n_nodes). Or for a relation's edges, from
 * 0 in the order of its indices; where batches take them, units of edges stand for nodes. */
struct og_group {
    const struct og_graph *graph; /* that it is of */
    const char *name;             /* of the node type, or the relation; "" if homogeneous */
    uint32_t relation;            /* of edges: theirs */
    int64_t first, n_nodes;
    int dim;                      /* 0: no rows */
    int state;                    /* of these, optimizer state at the end of a learnable row */
    bool learnt;                  /* rows are learnable, or of a checkpoint that has them */
    struct og_sparse_rows sparse; /* the form of sparse rows */
    enum og_dtype stored;         /* in the file */
    enum og_dtype dtype;          /* in memory and in packs (dataset/features.h) */
    struct og_npy rows;   /* [n_nodes, dim]; sparse: bytes; a worker's share has its nodes' rows */
    struct og_npy scales; /* [dim] of the columns, or absent; as numbers, the graph's: */
    float *scale;
    struct og_npy rest; /* of sparse rows: entries that have no room in them, or absent */
    char *rest_bytes;   /* in memory, the graph's; also in `sparse` */
    uint64_t contents;  /* hash of the rows; packs of them store it */
};

/* Edges of one type: CSC lists, one a destination node, of source nodes. Both are counted from 0
 * within their groups. */
struct og_relation {
    const struct og_graph *graph; /* that it is of */
    const char *name;             /* "" if homogeneous */
    uint32_t source, destination; /* groups */
    int64_t n_nodes, n_sources;   /* of the destination, of the source */
    int64_t n_edges;
    struct og_npy indptr, indices, weights;
    struct og_npy edge_ids;   /* [n_edges] of each edge, its number in the source */
    struct og_npy edge_times; /* [n_edges] int64 (times.h) */
    struct og_group edges;    /* their features; dim 0: none */
};

/* Arrays with a row for each seed of a split, in the order of its list. */
enum og__listed {
    OG__EDGE_LIST_LABELS, /* of edges (edge_labels.h), */
    OG__NODE_LIST_TIMES,  /* of nodes, int64, */
    OG__EDGE_LIST_ROWS,   /* features of edges, float32, */
    OG__EDGE_LIST_TIMES,  /* and their times, int64 */
    OG__LISTED
};

struct og_graph {
    char *path, *name;
    bool has_types;  /* format 2; otherwise one group and one relation, without names */
    int64_t n_nodes; /* N, < 2^32 - 1: node ids are u32 inside a batch */
    int64_t n_edges; /* E, of all relations */
    uint32_t n_groups, n_relations;
    struct og_group *group;       /* [n_groups] in the order of ids */
    struct og_relation *relation; /* [n_relations] */
    uint32_t workers, worker;     /* a worker's share: features of its own nodes only; 0: all */

    int n_classes; /* C */
    bool multi_label;
    bool regression; /* labels are C values; then not multi_label */
    bool shares;     /* these values are shares of classes */
    bool symmetric;  /* declared to hold every edge in both directions */
    struct og_npy labels, split[OG__SPLITS];
    struct og_npy node_times;        /* [n_nodes] int64 (times.h) */
    struct og_npy edges[OG__SPLITS]; /* for link prediction; held-out edges are not in the graph */
    struct og_npy edge_relations[OG__SPLITS];     /* of these edges (typed_edges.h), or absent */
    struct og_npy listed[OG__LISTED][OG__SPLITS]; /* of the seeds of a split, or absent */
    /* Given negatives of edges, or absent. Each: [edges, k], k destinations for each edge. Else [m,
     * 2], pairs for all held-out edges; of training edges those of each one after another. */
    struct og_npy negatives[OG__SPLITS];
    bool negatives_each[OG__SPLITS];
    struct og_npy node_ids; /* what the source called each node, or absent */
    struct og_identity identity;
    uint64_t lists;      /* identifies the lists; without held-out edges they are others */
    struct json_t *meta; /* meta.json, which has the names */
    /* A model's class of each label of the files, -1: none (model_classes.c). NULL: the same. And
     * what the dataset calls its labels. */
    int32_t *class_of;
    struct json_t *label_names;
};

struct og_meta;

/* What the two formats differ in. */
struct og_form {
    int format;           /* of meta.json and pack.json */
    const char *group;    /* name of a group's features, by number */
    const char *scales;   /* and of their scales */
    const char *rest;     /* and of the rest of sparse ones */
    const char *relation; /* names of a relation's arrays, by number and array */
    const char *list;     /* key of the list of groups in pack.json; NULL: the one is not listed */
    const char *group_ends; /* name of the ends of batches among a group's recorded rows, or NULL */
    bool needs_rows;        /* every group has features */
    bool lists_relations;   /* lists of edges have 64-bit ids and, next to them, relations */
    bool by_relation;       /* a batch has the edges of each relation by themselves (batch.h) */
    int (*identify)(struct og_graph *g, const struct og_meta *m, struct og_err *err);
    uint64_t (*group_contents)(const struct og_graph *g, uint32_t group);
    struct json_t *(*schema)(const struct og_graph *g); /* of meta.json */
};
extern const struct og_form og__forms[]; /* homogeneous, heterogeneous */
static inline const struct og_form *og__form_of(const struct og_graph *g)
{
    return &og__forms[g->has_types];
}

/* Opens either format; -EINVAL for a worker's share. */
OG_MUST_CHECK int og__graph_open(const char *path, struct og_graph **out, struct og_err *err);
/* As og__graph_open, and accepts a worker's share (g->workers). */
OG_MUST_CHECK int og__graph_open_share(const char *path, struct og_graph **out, struct og_err *err);
/* Reads meta.json alone: is the dataset heterogeneous? */
OG_MUST_CHECK int og__graph_has_types(const char *path, bool *has, struct og_err *err);
/* -EINVAL for a heterogeneous graph, for commands that do not support one. */
OG_MUST_CHECK int og__graph_refuse_types(const struct og_graph *g, struct og_err *err);
/* Replaces g by `left`, which was made from it. `left` takes its path and identity, and g is
 * closed. */
void og__graph_replace(struct og_graph *left, struct og_graph *g);
void og__graph_close(struct og_graph *g);
/* Refuses an output path that is one of the graph's files. NULL and absent paths are fine. */
OG_MUST_CHECK int og__graph_spare(const struct og_graph *g, const char *path, struct og_err *err);

/* An array of a homogeneous graph; of a heterogeneous one, only labels and edge lists. */
struct og_npy *og__array_of(struct og_graph *g, enum og__array array);

/* Names of arrays without .npy: "indices", in a heterogeneous graph "rel2_indices"; "features" or
 * "features_2". */
struct og_array_name {
    char text[32];
};
struct og_array_name og__relation_array(const struct og_graph *g, uint32_t r, enum og__array a);
struct og_array_name og__group_array(const struct og_graph *g, uint32_t group);
struct og_array_name og__scales_array(const struct og_graph *g, uint32_t group);
struct og_array_name og__rest_array(const struct og_graph *g, uint32_t group);
/* Bytes of all groups' rests, which are in memory from opening on. */
size_t og__rest_bytes(const struct og_graph *g);

/* The relations that batches have by themselves; 0: of one, whose edges are all there are. */
static inline uint32_t og__related(const struct og_graph *g)
{
    return g->n_relations * og__form_of(g)->by_relation;
}

/* The group that a node is of. */
uint32_t og__group_of(const struct og_graph *g, uint32_t node);

/* Bytes of a feature row in memory and in packs; and in the feature file. */
static inline size_t og__row_bytes(const struct og_group *g)
{
    return og__row_size(g->dim, g->dtype, g->sparse.room);
}
/* What a model sees of a row. */
static inline int og__row_dim(const struct og_group *g)
{
    return g->dim - g->state;
}
static inline size_t og__file_row_bytes(const struct og_group *g)
{
    return og__row_size(g->dim, g->stored, g->sparse.room);
}
/* The form of a group's sparse rows; NULL: they are dense. */
static inline const struct og_sparse_rows *og__row_form(const struct og_group *g)
{
    return g->sparse.room > 0 ? &g->sparse : NULL;
}
/* The scales by which rows in memory are multiplied, or NULL. */
static inline const float *og__row_scale(const struct og_group *g)
{
    return og__dtype_scaled(g->dtype) ? g->scale : NULL;
}
/* -EINVAL for edges with features or ids. */
OG_MUST_CHECK int og__graph_refuse_edge_features(const struct og_graph *g, const char *what,
                                                 struct og_err *err);

/* Bytes in memory of all nodes' rows. And the most that rows of every group take a whole number of.
 */
size_t og__feature_bytes(const struct og_graph *g);
size_t og__row_unit(const struct og_graph *g); /* at least 1 */

/* Loads the node ids of a split, [*count] u32 in file order, from the budget as "seeds". Refuses
 * ids out of range and duplicates. Release with og__release(b, ids, *count * 4, "seeds"). An absent
 * split has count 0 and NULL. */
OG_MUST_CHECK int og__graph_split(const struct og_graph *g, enum og__split split,
                                  struct og_budget *b, uint32_t **ids, int64_t *count,
                                  struct og_err *err);

/* As og__graph_split, for a split's name, "unlabelled", a file or one node (node_lists.c). Refuses
 * an empty list. groups: those of which nodes may be named; NULL: all. */
OG_MUST_CHECK int og__graph_nodes(const struct og_graph *g, const char *which, const bool *groups,
                                  struct og_budget *b, uint32_t **ids, int64_t *count,
                                  struct og_err *err);
/* The node of a group by its id in node_ids.npy, else its number, as digits. -1: none. */
OG_MUST_CHECK int og__graph_find_id(const struct og_graph *g, uint32_t group, const char *digits,
                                    int64_t *node, struct og_err *err);
/* The split of this name of n characters, also "val" or "validation"; OG__SPLITS: none. */
enum og__split og__split_named(const char *name, size_t n);

/* As og__graph_split, for a caller's list [n]; *repeats: some node occurs more than once. */
OG_MUST_CHECK int og__graph_seeds(const struct og_graph *g, const int64_t *list, int64_t n,
                                  struct og_budget *b, uint32_t **ids, bool *repeats,
                                  struct og_err *err);

/* Loads the edges of a split for link prediction: [*count][2] u32, src and dst. They are from the
 * budget as "seeds": release with og__release(b, ends, *count * 8, "seeds"). An absent split has
 * count 0 and NULL. */
OG_MUST_CHECK int og__graph_edges(const struct og_graph *g, enum og__split split,
                                  struct og_budget *b, uint32_t **ends, int64_t *count,
                                  struct og_err *err);

/* Counts held-out edges of a list that the graph has. A model sees these in training.
 * Looks at `*looked` of them, evenly spaced. An absent list has none. */
OG_MUST_CHECK int og__held_out_in_graph(const struct og_graph *g, enum og__split which,
                                        int64_t *looked, int64_t *found, struct og_err *err);

/* Loads the given negatives of a split from the budget as "seeds". They are *rows of *width ids in
 * the order of the file; absent: 0 and NULL. Release with og__release(b, ids, *rows * *width * 4,
 * "seeds"). */
OG_MUST_CHECK int og__graph_negatives(const struct og_graph *g, enum og__split split,
                                      struct og_budget *b, uint32_t **ids, int64_t *rows,
                                      int64_t *width, struct og_err *err);
/* Numbers of a row: of all given negatives of a training edge. */
int64_t og__negatives_width(const struct og_graph *g, enum og__split split);
/* "valid_neg_edges" or, of negatives for each edge, "valid_neg_dst". */
const char *og__negatives_name(enum og__split split, bool each);
const char *og__listed_name(enum og__listed what, enum og__split split); /* "train_times" */
/* ---- classes of a model (model_classes.c) ---- */

/* The names of classes are from here on the model's, and labels become its classes by name.
 * `judged`: a message says where labels have no names. */
OG_MUST_CHECK int og__graph_take_classes(struct og_graph *g, bool of_edges, struct json_t *names,
                                         const struct og_log *judged, struct og_err *err);
/* The model's class of a row's label, -1 = none. -EINVAL for one that it does not know. */
OG_MUST_CHECK int og__graph_class(const struct og_graph *g, const char *path, int64_t row,
                                  int64_t label, int32_t *out, struct og_err *err);
/* Likewise, of several labels in a row. */
OG_MUST_CHECK int og__graph_label_row(const struct og_graph *g, const char *path, int64_t row,
                                      const float *label, float *out, struct og_err *err);

/* What is known of the columns of features, for a checkpoint; NULL on lack of memory. And
 * -EINVAL where a graph's columns have other names than the checkpoint's, in another order for
 * example. Warns where they were standardized otherwise (model_columns.c). */
OG_MUST_CHECK struct json_t *og__graph_columns(const struct og_graph *g);
OG_MUST_CHECK int og__graph_same_columns(const struct og_graph *g, const struct json_t *theirs,
                                         const struct og_log *log, struct og_err *err);

/* Whether there is a row for each edge of a split's list, not for each node. */
static inline bool og__is_of_edges(enum og__listed what)
{
    return what != OG__NODE_LIST_TIMES;
}

/* Loads the labels of `count` nodes in the order of ids, from the budget as "labels". They are
 * int32 [count] class, -1 = none; or float32 [count, C] for multi-label graphs and values. Refuses
 * classes out of range. Release with og__release(b, labels, og__labels_bytes(g, count),
 * "labels"). */
OG_MUST_CHECK int og__graph_labels(const struct og_graph *g, const uint32_t *ids, int64_t count,
                                   struct og_budget *b, void **labels, struct og_err *err);
static inline bool og__float_labels(const struct og_graph *g)
{
    return g->multi_label || g->regression;
}
static inline size_t og__labels_bytes(const struct og_graph *g, int64_t count)
{
    return (size_t)count * (og__float_labels(g) ? (size_t)g->n_classes * 4 : 4);
}

#endif

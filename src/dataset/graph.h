/* graph: a dataset, a folder of plain .npy files that any NumPy user can open
 * (docs/reference/formats.md).
 *
 *   meta.json      counts, dtypes, dims, classes, checksums
 *   indptr.npy     int64 [N+1]        CSC: in-neighbours of v are indices[indptr[v]:indptr[v+1]]
 *   indices.npy    int32|int64 [E]    sorted within each list
 *   weights.npy    float32 [E]        optional
 *   features.npy   f32|f16|u8 [N,F]   bf16 as uint16, named in meta.json
 *   labels.npy     int64 [N], -1 = none | float32 [N,C], multi-label or, where meta.json's task is
 *                  node regression, values; NaN = none
 *   train.npy valid.npy test.npy      int64 node ids
 *   train_edges.npy ...               int32|int64 [n,2] src, dst: optional, of link prediction
 *
 * With types of nodes and of edges (format 2) each type has its features, and each relation its
 * lists. Ids of a type are one range:
 *
 *   ids     | group 0         | group 1    | group 2 |
 *           0                first        first      N
 *
 * A graph without types has one group and one relation.
 *
 * Opening reads headers, checks sizes, and looks at a few hundred pages of each array to know the
 * dataset again (dataset/identity.h); it never reads all of an array that is larger than that. Read
 * only, so any number of threads may share an open graph. */
#ifndef OG_DATASET_GRAPH_H
#define OG_DATASET_GRAPH_H

#include "base/memory.h"
#include "dataset/npy.h"

enum og__array {
    OG__INDPTR,
    OG__INDICES,
    OG__WEIGHTS,
    OG__FEATURES,
    OG__LABELS,
    OG__ARRAY_TRAIN,
    OG__ARRAY_VALID,
    OG__ARRAY_TEST,
    OG__ARRAY_TRAIN_EDGES,
    OG__ARRAY_VALID_EDGES,
    OG__ARRAY_TEST_EDGES,
    OG__ARRAYS
};
const char *og__array_name(enum og__array array); /* "indptr" */

/* Which dataset it is, wherever it lies, and which files in what state (dataset/identity.h). With
 * types there are no states: `array` is zeros. */
struct og_identity {
    uint64_t contents; /* of all arrays, and of what else decides numbers */
    struct og_array_state {
        uint64_t contents;
        uint64_t file;    /* 0 = the file system does not tell, or there is no such array */
        uint64_t written; /* the same until it is written to */
    } array[OG__ARRAYS];
};

enum {
    OG_MOST_TYPES = 256,
    OG_MOST_RELATIONS = 1024, /* each has files of its own, which are open together */
    OG__TYPE_NAME_MAX = 63,   /* bytes of a name */
};

enum og__split { OG__TRAIN, OG__VALID, OG__TEST, OG__SPLITS };

/* Feature rows of one width: of the nodes [first, first + n_nodes). */
struct og_group {
    const struct og_graph *graph; /* that it is of */
    const char *name;             /* of the type; "" without types */
    int64_t first, n_nodes;
    int dim;              /* 0: no rows */
    enum og_dtype stored; /* in the file */
    enum og_dtype kept;   /* in memory and in packs (dataset/features.h) */
    struct og_npy rows;   /* [n_nodes, dim], or of a worker's share those of its nodes */
    uint64_t contents;    /* number of the rows, which is in packs made of them */
};

/* Edges of one type: CSC lists of the destination's nodes with nodes of the source, both counted
 * from 0 within their groups. */
struct og_relation {
    const struct og_graph *graph; /* that it is of */
    const char *name;             /* "" without types */
    uint32_t source, destination; /* groups */
    int64_t n_nodes, n_sources;   /* of the destination, of the source */
    int64_t n_edges;
    struct og_npy indptr, indices, weights;
};

struct og_graph {
    char *path, *name;
    bool has_types;  /* format 2; else one group and one relation, without names */
    int64_t n_nodes; /* N, < 2^32 - 1: node ids are u32 inside a batch */
    int64_t n_edges; /* E, of all relations */
    uint32_t n_groups, n_relations;
    struct og_group *group;       /* [n_groups] in the order of ids */
    struct og_relation *relation; /* [n_relations] */
    uint32_t workers, worker;     /* rows of the nodes that this one of them owns; 0: of all */

    int n_classes; /* C */
    bool multi_label;
    bool regression; /* labels are C values; then not multi_label */
    bool symmetric;  /* said to hold every edge in both directions */
    struct og_npy labels, split[OG__SPLITS];
    struct og_npy edges[OG__SPLITS]; /* of link prediction; those held out are not in the graph */
    struct og_npy edge_relations[OG__SPLITS]; /* of them, with types (typed_edges.h), or absent */
    struct og_npy node_ids;                   /* what the source called each node, or absent */
    struct og_identity identity;
    struct json_t *meta; /* meta.json, which has the names */
};

/* Of either format; one of a worker's share is -EINVAL. */
OG_MUST_CHECK int og__graph_open(const char *path, struct og_graph **out, struct og_err *err);
/* The same, but it may be a worker's share (g->workers). */
OG_MUST_CHECK int og__graph_open_share(const char *path, struct og_graph **out, struct og_err *err);
/* What of it is known before it is opened: its meta.json alone is looked at. */
OG_MUST_CHECK int og__graph_has_types(const char *path, bool *has, struct og_err *err);
/* -EINVAL for one with types, of a command that takes none. */
OG_MUST_CHECK int og__graph_refuse_types(const struct og_graph *g, struct og_err *err);
/* `left` was made of g, which it stands for from here on, closing it: under its path and identity.
 */
void og__graph_replace(struct og_graph *left, struct og_graph *g);
void og__graph_close(struct og_graph *g);
/* Refuses an output that is one of the graph's own files. NULL, and what is not there yet, may be
 * written. */
OG_MUST_CHECK int og__graph_spare(const struct og_graph *g, const char *path, struct og_err *err);

/* An array of a graph without types; with types also labels and lists. */
struct og_npy *og__array_of(struct og_graph *g, enum og__array array);

/* Names of arrays, without .npy: "indices", or with types "rel2_indices"; "features", or
 * "features_2". */
struct og_array_name {
    char text[32];
};
struct og_array_name og__relation_array(const struct og_graph *g, uint32_t r, enum og__array a);
struct og_array_name og__group_array(const struct og_graph *g, uint32_t group);

/* The group that a node is of. */
uint32_t og__group_of(const struct og_graph *g, uint32_t node);

/* Of a feature row as it is kept, in memory and in packs; and of one in the feature file. */
static inline size_t og__row_bytes(const struct og_group *g)
{
    return (size_t)g->dim * og__dtype_size(g->kept);
}
static inline size_t og__file_row_bytes(const struct og_group *g)
{
    return (size_t)g->dim * og__dtype_size(g->stored);
}
/* Rows of all nodes, as they are kept. */
size_t og__feature_bytes(const struct og_graph *g);

/* Node ids of a split, [*count] u32 in file order, from the budget as "seeds". Ids out of range or
 * doubled are refused. Release with og__release(b, ids, *count * 4, "seeds"). An absent split has
 * count 0 and NULL. */
OG_MUST_CHECK int og__graph_split(const struct og_graph *g, enum og__split split,
                                  struct og_budget *b, uint32_t **ids, int64_t *count,
                                  struct og_err *err);

/* A list of the caller's own [n] in their place; *repeats: it lists a node several times. */
OG_MUST_CHECK int og__graph_seeds(const struct og_graph *g, const int64_t *list, int64_t n,
                                  struct og_budget *b, uint32_t **ids, bool *repeats,
                                  struct og_err *err);

/* The edges of a split for link prediction: src and dst of one after another, [*count][2] u32, from
 * the budget as "seeds". Release with og__release(b, ends, *count * 8, "seeds"). An absent split
 * has count 0 and NULL. */
OG_MUST_CHECK int og__graph_edges(const struct og_graph *g, enum og__split split,
                                  struct og_budget *b, uint32_t **ends, int64_t *count,
                                  struct og_err *err);

/* Labels of `count` nodes in the order of ids, from the budget as "labels": int32 [count] class, -1
 * = none; or float32 [count, C] when multi-label or values. Classes out of range are refused.
 * Release with og__release(b, labels, og__labels_bytes(g, count), "labels"). */
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

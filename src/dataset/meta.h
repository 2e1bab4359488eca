/* Reads and writes meta.json.
 *
 *     {"format": 1, "name": ..., "num_nodes": N, "num_edges": E,
 *      "feature_dim": F, "feature_dtype": "f32", "edge_feature_dim": D,
 *      "edge_feature_dtype": "f32", "num_classes": C, "multi_label": false,
 *      "task": "node classification", "symmetric": false,
 *      "checksums": {"indptr.npy": "16 hex digits: XXH3-64 of the file", ...},
 *      "files": {"features": {"path": "/big/paper.npy"},              any .npy, or in parts:
 *                "features": {"unit": 2048, "parts": [{"path": "/disk1/p.npy", "checksum": ...,
 *                                                      "contents": ...}, ...]},
 *                "features": {"path": "features.npy", "workers": 4, "worker": 0,   own rows only
 *                             "contents": ...},                                  or headerless:
 *                "labels":   {"path": "labels.bin", "dtype": "int64", "shape": [N], "offset": 0}},
 *      "provenance": {...}}
 *
 * Only "format" and "num_classes" are required. Counts come from the arrays; declared ones must
 * agree with them. Arrays not named in "files" are NAME.npy in the dataset's folder.
 *
 * Format 2 has node types and edge types:
 *
 *     {"format": 2, "name": ..., "num_nodes": N, "num_edges": E, "num_classes": C, ...,
 *      "node_types": [{"name": "paper", "count": 1000, "feature_dim": 128, "feature_dtype": "f32"},
 *                     {"name": "author", "count": 5000}, ...],
 *      "relations": [{"source": "author", "name": "writes", "destination": "paper",
 *                     "num_edges": 7000}, ...]}
 *
 * Ids of a type are one range, in the order of node_types. Relation r is rel<r>_indptr.npy,
 * rel<r>_indices.npy and, with weights, rel<r>_weights.npy. A relation may have "edge_feature_dim"
 * and "edge_feature_dtype", of rel<r>_edge_features.npy. Features of type t are
 * features_<t>.npy. "files" may name other paths, as in format 1. */
#ifndef OG_DATASET_META_H
#define OG_DATASET_META_H

#include "base/json.h"
#include "dataset/graph.h"

/* The declared location of an array that is not in NAME.npy. */
struct og_meta_file {
    const char *path; /* NULL = not declared; relative to the dataset; valid as long as the meta */
    struct og_stripes stripes; /* parts > 0: in parts (og__meta_part), without a path */
    const json_t *parts;       /* [stripes.parts] */
    int64_t whole;             /* bytes of the original single file, header included; -1 */
    uint32_t workers, worker;  /* a worker's share: the feature rows of its own nodes; else 0 */
    uint64_t contents;         /* contents of all nodes' rows */
    bool raw;                  /* headerless: the rest is filled */
    enum og__npy_type type;
    int ndim;
    int64_t shape[2], offset;
};

enum {
    OG__META_MAX = 1024 * 1024,
    OG__FORMAT_PLAIN = 1,
    OG__FORMAT_TYPED = 2,
};

/* A homogeneous graph has one of each, called "". */
struct og_type_meta {
    const char *name;
    int64_t count, dim;    /* -1 = absent */
    int dtype;             /* enum og_dtype, or -1 */
    int64_t room, longest; /* of sparse rows; -1 = absent */
    bool has_rows;         /* else they may be absent */
};
struct og_relation_meta {
    const char *name;
    uint32_t source, destination; /* types */
    int64_t n_edges, edge_dim;    /* -1 = absent */
    int edge_dtype;               /* enum og_dtype, or -1 */
};

struct og_meta {
    json_t *root; /* owns every string below */
    int format;
    const char *name;                    /* NULL = absent */
    const char *task;                    /* NULL = absent */
    int64_t n_nodes, n_edges, n_classes; /* -1 = absent */
    int multi_label;                     /* -1 = absent */
    bool symmetric;                      /* false = absent, or heterogeneous */
    uint32_t n_types, n_relations;
    struct og_type_meta *type;         /* [n_types] */
    struct og_relation_meta *relation; /* [n_relations] */
    struct og_meta_file file[OG__ARRAYS];
};

/* -EINVAL names the wrong key, or another format. Release after success only. */
OG_MUST_CHECK int og__meta_parse(struct og_meta *m, const char *text, size_t len, const char *name,
                                 struct og_err *err);
void og__meta_release(struct og_meta *m);
/* Reads and parses a folder's meta.json. Another kind of folder gets a message that says so. */
OG_MUST_CHECK int og__meta_open(struct og_meta *m, const char *folder, struct og_err *err);

/* Is this a valid name of a type or relation? It occurs in names of files and parameters
 * (source__name__destination) and in options. Else -EINVAL; the message names `said_by`. */
OG_MUST_CHECK int og__check_type_name(const char *name, const char *said_by, struct og_err *err);

/* The entry of "files" for array `key`, such as "features" or "rel2_indices". */
OG_MUST_CHECK int og__meta_find_file(const struct og_meta *m, const char *key,
                                     struct og_meta_file *f, const char *name, struct og_err *err);

/* One file of an array in parts. */
struct og_meta_part {
    const char *path;
    const char *checksum; /* XXH3-64 of the file, 16 hexadecimal digits; NULL = absent */
    uint64_t contents;    /* as of an array (dataset/identity.h); 0 = absent */
};
struct og_meta_part og__meta_part(const struct og_meta_file *f, uint32_t part);

/* Writes `root` as `folder`/meta.json; takes the reference, also on failure. A NULL root fails with
 * -ENOMEM. */
OG_MUST_CHECK int og__meta_write(const char *folder, json_t *root, struct og_err *err);

#endif

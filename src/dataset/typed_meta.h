/* meta.json of a typed dataset: format 2.
 *
 *   {"format": 2, "name": ..., "num_nodes": N, "num_edges": E, "num_classes": C, ...,
 *    "node_types": [{"name": "paper", "count": 1000, "feature_dim": 128, "feature_dtype": "f32"},
 *                   {"name": "author", "count": 5000}, ...],
 *    "relations": [{"source": "author", "name": "writes", "destination": "paper",
 *                   "num_edges": 7000}, ...]}
 *
 * Ids of a type are one range, in the order of node_types. Relation r is rel<r>_indptr.npy,
 * rel<r>_indices.npy and, with weights, rel<r>_weights.npy; features of type t features_<t>.npy.
 * "files" may have them elsewhere, as in format 1. */
#ifndef OG_DATASET_TYPED_META_H
#define OG_DATASET_TYPED_META_H

#include "dataset/meta.h"

enum {
    OG_MOST_TYPES = 256,
    OG_MOST_RELATIONS = 1024, /* each has files of its own, which are open together */
    OG__TYPE_NAME_MAX = 63,   /* bytes of a name */
};

struct og_type_meta {
    const char *name;
    int64_t count, dim; /* dim -1 = not said */
    int dtype;          /* enum og_dtype, or -1 */
};
struct og_relation_meta {
    const char *name;
    uint32_t source, destination; /* types */
    int64_t n_edges;              /* -1 = not said */
};
struct og_typed_meta {
    struct og_meta plain;
    uint32_t n_types, n_relations;
    struct og_type_meta *type;         /* [n_types] names live in plain.root */
    struct og_relation_meta *relation; /* [n_relations] */
};

/* -EINVAL with the key that is wrong. Release after success only. */
OG_MUST_CHECK int og__typed_meta_parse(struct og_typed_meta *m, const char *text, size_t len,
                                       const char *name, struct og_err *err);
void og__typed_meta_release(struct og_typed_meta *m);

/* Is the text of a meta.json that of a typed dataset? *is is false as well where it is of none.
 * Fails on lack of memory alone. */
OG_MUST_CHECK int og__meta_is_typed(const char *text, size_t len, bool *is, struct og_err *err);

/* May a type or relation have this name? It stands in names of files, of parameters
 * (source__name__destination) and in options. Else -EINVAL; `said_by` is for the message. */
OG_MUST_CHECK int og__check_type_name(const char *name, const char *said_by, struct og_err *err);

#endif

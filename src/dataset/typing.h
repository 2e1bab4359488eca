/* Making a typed dataset: its types and relations, and the relations' structures out of one sorter.
 *
 *   add types ──> add relations ──> settle ──> edges of relation r to the sorter, as
 *                     (id within the source type, row of r + id within the destination type)
 *              ──> finish the sorter ──> og__typing_split cuts what it wrote at the rows
 *
 * So one pass over the edges is enough, in whatever order relations come. */
#ifndef OG_DATASET_TYPING_H
#define OG_DATASET_TYPING_H

#include "dataset/meta.h"
#include "dataset/writer.h"

struct og_typing {
    uint32_t n_types, n_relations;
    struct og_typing_type {
        char *name;
        int64_t count;
        int64_t first;       /* id; once settled */
        int64_t dim;         /* 0 = no features */
        enum og_dtype dtype; /* of these */
    } * type;                /* [OG_MOST_TYPES] */
    struct og_typing_relation {
        char *name;
        uint32_t source, destination;
        int64_t row; /* of the sorter, where its lists begin; once settled */
        int64_t n_edges;
    } * relation; /* [OG_MOST_RELATIONS] */
    int64_t n_nodes, n_rows, n_edges;
    uint32_t n_forward; /* relations behind these are their reverses, in their order */
};

OG_MUST_CHECK int og__typing_init(struct og_typing *t, struct og_err *err);
void og__typing_release(struct og_typing *t); /* also a zeroed one */

/* The name is copied; `said_by` is for messages. -EINVAL: not a name, twice, too many, no nodes. */
OG_MUST_CHECK int og__typing_add_type(struct og_typing *t, const char *name, int64_t count,
                                      const char *said_by, struct og_err *err);
OG_MUST_CHECK int og__typing_add_relation(struct og_typing *t, uint32_t source, const char *name,
                                          uint32_t destination, const char *said_by,
                                          struct og_err *err);
/* The type of that name, or -1. */
int og__typing_find(const struct og_typing *t, const char *name);

/* All are there; with `reverses` each relation gets another, backwards, as rev_<name>. -EINVAL
 * where ids would not fit 32 bits. */
OG_MUST_CHECK int og__typing_settle(struct og_typing *t, bool reverses, const char *said_by,
                                    struct og_err *err);
/* For the sorter. */
int64_t og__typing_sorted_nodes(const struct og_typing *t);
/* n edges, by their relations and ids within the types, and their reverses where there are such.
 * `rows` is room for n; weights may be NULL. */
struct og_typed_edges {
    const uint32_t *relation, *src, *dst; /* [n] */
    const float *weight;
    uint32_t *rows;
    size_t n;
};
OG_MUST_CHECK int og__typing_add_edges(const struct og_typing *t, struct og_edge_sorter *sorter,
                                       const struct og_typed_edges *e, struct og_err *err);
/* indptr.npy, indices.npy and weights.npy that the sorter left in `folder` become rel<r>_*.npy,
 * with checksums, and are removed. */
OG_MUST_CHECK int og__typing_split(struct og_typing *t, const char *folder, bool weighted,
                                   json_t *checksums, struct og_err *err);

/* "node_types" and "relations" of meta.json; NULL on lack of memory. */
json_t *og__typing_types_json(const struct og_typing *t);
json_t *og__typing_relations_json(const struct og_typing *t);

#endif

/* Visits every edge once, list by list, with buffers of a fixed size. Used by edge_split.c and
 * export.c. */
#ifndef OG_DATASET_EDGE_WALK_H
#define OG_DATASET_EDGE_WALK_H

#include "base/allocs.h"
#include "base/json.h"
#include "dataset/graph.h"

struct og_edge_walk {
    const struct og_relation *of;
    int64_t first; /* of a piece of lists, its first edge, */
    int64_t *src;  /* sources */
    float *weight; /* the same; NULL: edges have none */
    int64_t *ptr;
    struct og_allocs arrays;
};

/* Visits sources w->src[from .. to) of node dst; another call may follow for the same node. */
typedef int og_edge_visit(void *arg, const struct og_edge_walk *w, uint32_t dst, size_t from,
                          size_t to, struct og_err *err);

/* Buffers come from the budget as "edge split". */
OG_MUST_CHECK int og__edge_walk_open(struct og_edge_walk *w, const struct og_relation *r,
                                     struct og_budget *b, struct og_err *err);
void og__edge_walk_close(struct og_edge_walk *w); /* also a zeroed one */
/* `end`, or NULL, comes after each list. */
OG_MUST_CHECK int og__edge_walk(struct og_edge_walk *w, og_edge_visit *visit, og_edge_visit *end,
                                void *arg, struct og_err *err);

/* The lists of a graph or relation without the held-out edges, and their files. */
struct og_thinned_files {
    const char *indptr, *indices, *weights;
    const char *rows; /* of features of edges; NULL: without */
};
struct og_npy_writer;
struct og_thinned {
    struct og_npy_writer *indptr, *indices, *weights, *rows;
    int64_t kept; /* edges so far */
    /* features of edges [first, first + n) */
    char *row;
    size_t bytes;
    int64_t first, n;
    struct og_budget *budget;
};
/* With weights, and with `files->rows` features, if the walked edges have them. */
OG_MUST_CHECK int og__thinned_create(struct og_thinned *t, const struct og_edge_walk *w,
                                     const char *folder, const struct og_thinned_files *files,
                                     struct og_err *err);
/* Keeps edge w->src[i] with its weight and features; its id keeps the input's dtype. */
OG_MUST_CHECK int og__thinned_keep(struct og_thinned *t, const struct og_edge_walk *w, size_t i,
                                   struct og_err *err);
OG_MUST_CHECK int og__thinned_end_list(struct og_thinned *t, struct og_err *err);
OG_MUST_CHECK int og__thinned_finish(struct og_thinned *t, const struct og_thinned_files *files,
                                     json_t *checksums, struct og_err *err);
void og__thinned_discard(struct og_thinned *t); /* also a finished or zeroed one */
/* Files of edge ends by split: the remaining edges and the held-out ones. */
extern const char *const og__edge_files[OG__SPLITS];

/* The entry for an array in "files" of meta.json. */
OG_MUST_CHECK int og__file_json(const struct og_npy *a, json_t **out, struct og_err *err);

#endif

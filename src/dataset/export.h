/* What exports of datasets with and without types share (export.c, export_typed.c). */
#ifndef OG_DATASET_EXPORT_H
#define OG_DATASET_EXPORT_H

#include "base/file.h"
#include "dataset/meta.h"
#include "dataset/stream.h"
#include "dataset/writer.h"

struct og_exporter {
    const struct og_graph *ds;
    const struct og_observer *seen;
    struct og_budget *budget;
    struct og_newdir dir;
};

OG_MUST_CHECK int og__export_create(const struct og_exporter *x, const char *name,
                                    enum og__npy_type type, int ndim, int64_t row,
                                    struct og_npy_writer **w, struct og_err *err);
/* An array as `name`, bf16 as float32; an absent one is no failure. */
OG_MUST_CHECK int og__export_array(const struct og_exporter *x, const struct og_npy *a, bool bfloat,
                                   const char *name, struct og_err *err);
OG_MUST_CHECK int og__export_rows(const struct og_exporter *x, const struct og_group *g,
                                  const char *name, struct og_err *err);

/* Edges in the order of the indices. Zeros, but for `of` and check.of. */
enum { OG__WALK_EDGES = 64 * 1024, OG__WALK_OFFSETS = 8192 };
struct og_edge_walk {
    const struct og_relation *of;
    struct og_indptr_check check;
    int64_t edge, node;            /* comes next; its list holds `edge`, or a later one does */
    int64_t first, n;              /* offsets in ptr */
    int64_t ptr[OG__WALK_OFFSETS]; /* indptr[first ...] */
    int64_t src[OG__WALK_EDGES], dst[OG__WALK_EDGES];
};
/* The next edges to src and dst; 0 at the end. */
OG_MUST_CHECK int og__walk_edges(struct og_edge_walk *w, int64_t *count, struct og_err *err);

OG_MUST_CHECK int og__export_typed(struct og_exporter *x, const char *format, struct og_err *err);

#endif

#include "nn/sparse.h"

static bool has_loops(enum og__aggregate kind)
{
    return kind == OG__SYMMETRIC || kind == OG__MEAN_AND_SELF || kind == OG__SUM_AND_SELF;
}

struct og_sparse og__aggregation(const struct og_block *b, enum og__aggregate kind,
                                 const float *scale)
{
    struct og_sparse s = {.n_rows = b->n_dst,
                          .n_left = b->n_dst,
                          .left = scale,
                          .n_loops = has_loops(kind) ? b->n_dst : 0,
                          .diagonal = kind == OG__SUM_AND_SELF,
                          .indptr = b->indptr,
                          .col = b->src,
                          .loop = kind == OG__SYMMETRIC ? b->loop_weight : NULL,
                          .weight = b->weight};
    if (kind == OG__SYMMETRIC) {
        s.n_right = og__n_scales(b, kind);
        s.right = scale;
    } else if (kind == OG__BETWEEN) {
        s.n_right = b->n_src;
        s.right = scale + b->n_dst;
    }
    return s;
}

struct og_sparse og__aggregation_back(const struct og_block *b, enum og__aggregate kind,
                                      const float *scale, const uint32_t *indptr,
                                      const uint32_t *col, const uint32_t *edge)
{
    struct og_sparse s = og__aggregation(b, kind, scale);
    s.n_rows = b->n_src;
    s.n_left = s.n_right; /* the transpose swaps the ends */
    s.left = s.right;
    s.n_right = b->n_dst;
    s.right = scale;
    s.indptr = indptr;
    s.col = col;
    s.edge = edge;
    return s;
}

#include "nn/sparse.h"

#include <math.h>
#include <string.h>

static uint32_t degree_of(const struct og_block *b, uint32_t v)
{
    return b->indptr[v + 1] - b->indptr[v];
}

static uint32_t degree_with_loop(const struct og_block *b, uint32_t v)
{
    uint32_t degree = 1;
    for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
        degree += b->src[e] != v;
    return degree;
}

static float weight_sum(const struct og_block *b, uint32_t v)
{
    float sum = b->weight ? 0 : (float)degree_of(b, v);
    for (uint32_t e = b->indptr[v]; b->weight && e < b->indptr[v + 1]; e++)
        sum += b->weight[e];
    return sum;
}

/* Beyond them a scale is 1, which is what og_sparse takes beyond n_left, n_right. */
static uint32_t n_scales(const struct og_block *b, enum og__aggregate kind)
{
    return kind == OG__SYMMETRIC && b->degree ? b->n_src : b->n_dst;
}

void og__aggregate_scale(const struct og_block *b, enum og__aggregate kind, float *scale)
{
    for (uint32_t v = 0; v < b->n_dst; v++) {
        float sum = 1;
        if (kind == OG__SYMMETRIC)
            sum = sqrtf((float)degree_with_loop(b, v));
        else if (kind == OG__MEAN)
            sum = (float)degree_of(b, v);
        else if (kind == OG__MEAN_AND_SELF)
            sum = (float)degree_with_loop(b, v);
        else if (kind == OG__WEIGHTED_MEAN)
            sum = weight_sum(b, v);
        scale[v] = sum > 0 ? 1.0f / sum : 0.0f;
    }
    for (uint32_t v = b->n_dst; v < n_scales(b, kind); v++)
        scale[v] = 1.0f / sqrtf((float)b->degree[v - b->n_dst] + 1);
}

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
                          .loop_weight = 1,
                          .diagonal = kind == OG__SUM_AND_SELF,
                          .indptr = b->indptr,
                          .col = b->src,
                          .weight = kind == OG__WEIGHTED_MEAN ? b->weight : NULL};
    if (kind == OG__SYMMETRIC) {
        s.n_right = n_scales(b, kind);
        s.right = scale;
    }
    return s;
}

struct og_sparse og__aggregation_back(const struct og_block *b, enum og__aggregate kind,
                                      const float *scale, const uint32_t *indptr,
                                      const uint32_t *col, const uint32_t *edge)
{
    struct og_sparse s = og__aggregation(b, kind, scale);
    s.n_rows = b->n_src;
    s.n_right = b->n_dst;
    s.right = scale;
    s.n_left = kind == OG__SYMMETRIC ? n_scales(b, kind) : 0;
    s.indptr = indptr;
    s.col = col;
    s.edge = edge;
    return s;
}

/* Counts land one place late, so that placing edges moves every start to where it belongs:
 * no second array of positions. */
void og__block_transpose(const struct og_block *b, uint32_t *indptr, uint32_t *col, uint32_t *edge)
{
    memset(indptr, 0, ((size_t)b->n_src + 1) * sizeof(*indptr));
    uint32_t *next = indptr + 1;
    for (uint64_t e = 0; e < b->n_edges; e++)
        next[b->src[e]]++;
    uint32_t start = 0;
    for (uint32_t u = 0; u < b->n_src; u++) {
        uint32_t count = next[u];
        next[u] = start;
        start += count;
    }
    for (uint32_t v = 0; v < b->n_dst; v++) {
        for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++) {
            uint32_t at = next[b->src[e]]++;
            col[at] = v;
            if (edge)
                edge[at] = e;
        }
    }
}

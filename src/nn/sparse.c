#include "nn/sparse.h"

#include <math.h>
#include <string.h>

void og__mean_scale(const struct og_block *b, float *scale)
{
    for (uint32_t v = 0; v < b->n_dst; v++) {
        uint32_t degree = b->indptr[v + 1] - b->indptr[v];
        scale[v] = degree ? 1.0f / (float)degree : 0.0f;
    }
}

void og__gcn_scale(const struct og_block *b, float *scale)
{
    for (uint32_t v = 0; v < b->n_dst; v++) {
        uint32_t degree = 1;
        for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
            degree += b->src[e] != v;
        scale[v] = 1.0f / sqrtf((float)degree);
    }
    for (uint32_t v = b->n_dst; b->degree && v < b->n_src; v++)
        scale[v] = 1.0f / sqrtf((float)b->degree[v - b->n_dst] + 1);
}

uint32_t og__n_scales(const struct og_block *b, int kind)
{
    return kind == OG_MODEL_GCN && b->degree ? b->n_src : b->n_dst;
}

struct og_sparse og__aggregation(const struct og_block *b, int kind, const float *scale)
{
    struct og_sparse s = {
        .n_rows = b->n_dst, .n_left = b->n_dst, .left = scale, .indptr = b->indptr, .col = b->src};
    if (kind == OG_MODEL_GCN) {
        s.n_right = og__n_scales(b, kind);
        s.n_loops = b->n_dst;
        s.right = scale;
    }
    return s;
}

struct og_sparse og__aggregation_back(const struct og_block *b, int kind, const float *scale,
                                      const uint32_t *indptr, const uint32_t *col)
{
    struct og_sparse s = {
        .n_rows = b->n_src, .n_right = b->n_dst, .right = scale, .indptr = indptr, .col = col};
    if (kind == OG_MODEL_GCN) {
        s.n_left = og__n_scales(b, kind);
        s.n_loops = b->n_dst;
        s.left = scale;
    }
    return s;
}

/* Counts land one place late, so that placing edges moves every start to where it belongs:
 * no second array of positions. */
void og__block_transpose(const struct og_block *b, uint32_t *indptr, uint32_t *col)
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
    for (uint32_t v = 0; v < b->n_dst; v++)
        for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
            col[next[b->src[e]]++] = v;
}

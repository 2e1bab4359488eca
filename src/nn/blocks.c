/* CPU operators on blocks and pairs only: degrees, and counting sorts. */
#include "nn/ops_cpu.h"
#include "nn/scales.h"
#include "nn/sparse.h"

#include <string.h>

/* ==== scales ==== */

void og__cpu_scale(struct og_nn_backend *be, const struct og_scale *op)
{
    (void)be;
    const struct og_block *b = op->block;
    const uint32_t n = og__n_scales(b, op->kind);
    for (uint32_t v = 0; v < n; v++)
        op->scale[v] = og_scale_of(b, op->kind, v);
}

/* ==== transposition ==== */

/* Counts are stored one position late, so that placing edges moves every start to its final value.
 * This saves a second array of positions. */
void og__cpu_transpose(struct og_nn_backend *be, const struct og_transpose *op)
{
    (void)be;
    const struct og_block *b = op->block;
    uint32_t *indptr = op->indptr;
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
            op->col[at] = v;
            if (op->edge)
                op->edge[at] = e;
        }
    }
}

/* ==== lists of pairs ==== */

/* A stable counting sort. */
void og__cpu_pair_list(struct og_nn_backend *be, const struct og_pair_list *op)
{
    (void)be;
    uint32_t *first = op->first;
    memset(first, 0, ((size_t)op->n_rows + 1) * sizeof(*first));
    for (uint32_t i = 0; i < op->n; i++) {
        first[op->a[i] + 1]++;
        first[op->b[i] + 1]++;
    }
    for (uint32_t r = 0; r < op->n_rows; r++)
        first[r + 1] += first[r];
    for (uint32_t i = 0; i < op->n; i++) {
        op->pair[first[op->a[i]]++] = 2 * i;
        op->pair[first[op->b[i]]++] = 2 * i + 1;
    }
    memmove(first + 1, first, op->n_rows * sizeof(*first)); /* back to the starts of lists */
    first[0] = 0;
}

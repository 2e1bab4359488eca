/* The best rates of oneDNN with its own threads and whole matrices. `bench gemm` compares with
 * them, and `bench train` computes lower bounds. */
#ifndef OG_BENCH_ONEDNN_H
#define OG_BENCH_ONEDNN_H

#include "base/base.h"

/* x[rows, k] w[k, n], or the sum over rows dy[rows, k]^T x[rows, n]. */
struct og_bench_product {
    bool over_rows;
    uint32_t rows;
    int k, n;
};

static inline double og__bench_flops(const struct og_bench_product *p)
{
    return 2.0 * (double)p->rows * (double)p->k * (double)p->n;
}

/* Operations per second: the best of four. These are its matmul with plain and with packed weights,
 * its sgemm and, over rows, its inner product's weight gradient. Takes about a fifth of a
 * second. */
OG_MUST_CHECK int og__bench_onednn(const struct og_bench_product *p, int threads, double *rate,
                                   struct og_err *err);

#endif
